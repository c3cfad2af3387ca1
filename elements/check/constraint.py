"""Check of a constraint: its rows against differences along random relative motions."""

import numpy as np

from treemech.topology.arrays import Floats

from ..constraint import Constraint, Rows, rows_views
from .equations import Block, Place, Quantities, Sample, Subject, check_equations
from .python_forms import relative_motion
from .report import FIRST, Report, shown


def check_constraint(constraint: Constraint, samples: int, rng: np.random.Generator, report: Report) -> None:
    """Check a constraint; broken duties raise an ElementError."""
    n, na = constraint.n_rows, constraint.n_auxiliary
    blocks = [
        Block("force", slice(0, 3), "offset", "velocity", "v"),
        Block("moment", slice(3, 6), "a turn (C' = [w x] C)", "angular_velocity", "w"),
        Block("auxiliary", slice(6, 6 + na), "s", "s_rate", "s'"),
    ]

    def gathered(rows: Rows) -> Quantities:
        partials = np.hstack((rows.force, rows.moment, rows.auxiliary))
        return Quantities(rows.residual, rows.drift, rows.bias, partials)

    def pack(place: Place, rates: Floats) -> tuple[Floats, Floats]:
        offset, rotation, s = place
        return np.concatenate((offset, rotation.ravel(), rates[:6])), np.concatenate((s, rates[6:]))

    subject = Subject(
        constraint,
        tuple(blocks if na else blocks[:2]),
        lambda place, rates, t: gathered(constraint.rows(relative_motion(place, rates), t)),
        lambda record: gathered(rows_views(record, n, na)),
        pack,
        moved,
        at,
        hint,
    )
    check_equations(subject, samples, rng, report)


def moved(place: Place, step: Floats) -> Place:
    """Return the pose moved by step[:3], turned by step[3:6], with s changed by the rest."""
    offset, rotation, s = place
    a, b, c = step[3:6]
    x, angle = np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]]), float(np.linalg.norm(step[3:6]))
    half = np.sinc(0.5 * angle / np.pi)
    turn = np.eye(3) + np.sinc(angle / np.pi) * x + 0.5 * half * half * x @ x
    return offset + step[:3], turn @ rotation, s + step[6:]


def at(place: Place, rates: Floats, t: float) -> str:
    """Describe a position and its rates for a message."""
    offset, rotation, s = place
    more = f", s = {shown(s)}" if len(s) else ""
    return (
        f"at offset = {shown(offset)}, rotation = {shown(rotation)}{more}, velocity = {shown(rates[:3])}, "
        f"angular_velocity = {shown(rates[3:6])}, t = {t:.6g}"
    )


def hint(sample: Sample, name: str) -> str:
    """Recognise a wrong sign, or components in the wrong base."""
    columns = {"force": slice(0, 3), "moment": slice(3, 6)}.get(name)
    if columns is None:
        return ""
    says, finds = sample.says.partials[:, columns], sample.finds.partials[:, columns]
    size = FIRST * float(np.max(sample.size))
    if np.allclose(-says, finds, 0.0, size):
        return "; its sign looks wrong"
    if np.allclose(says @ sample.place[1].T, finds, 0.0, size):
        return "; it looks written in the base of end b, wanted that of end a"
    return ""
