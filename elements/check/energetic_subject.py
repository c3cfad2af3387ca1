"""Energetic element under check: called through its address and in Python, at sampled motions."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from treemech.topology.arrays import Floats, addresses
from treemech.topology.errors import ElementError

from ..compilation.callback import C_ELEMENT, Entry, catching
from ..compilation.entry import make_entry
from ..compilation.methods import methods_of
from ..element import record as parameter_record
from ..energetic import EndsLoad, EndsMotion, Energetic, load_views, motion_views
from .blame import blame
from .constraint import moved as moved_pose
from .differences import differences
from .python_forms import python_eps, python_load, sampled_motion
from .report import PROPER, check_guard, guarded, locked, random_time, shown

_NEARER = (
    1.0,
    1e-2,
    1e-4,
)  # lengths of the path for differences, tried in turn: a contact is smooth on a short path


class Sample(NamedTuple):
    """Results of the element at one motion, by Python and through its address."""

    record: Floats
    t: float
    python: Floats  # the whole record with evaluate(), else the part that effort() fills in
    out: Floats


class Finding(NamedTuple):
    """Broken duty; findings of lower rank are named first."""

    rank: int
    sentence: str
    short: str


class Subject:
    """Element under check, called through its address and in Python."""

    def __init__(self, element: Energetic) -> None:
        self.element, self.n, self.kind = element, element.n, element.kind
        self.methods = methods_of(element)
        self.entries: dict[str, Entry] = {}
        self.by_jets = "evaluate" not in self.methods

    def motion(self, record: Floats) -> EndsMotion:
        """Return the motion record by names."""
        return motion_views(record, self.n)

    def load(self, out: Floats) -> EndsLoad:
        """Return the load record by names."""
        return load_views(out, self.n)

    def by_python(self, record: Floats, t: float) -> Floats:
        """Return the load record by Python, checked to be finite; report every failure with its line."""
        try:
            rate = self.rate(record, t) if "deformation" in self.methods else None
            out = python_load(self.element, record, t, rate)
        except ElementError:
            raise
        except Exception as error:
            raise ElementError(f"check: {blame(self.element, error)} Met {self.at(record, t)}.") from error
        return self.finite(out, record, t)

    def finite(self, out: Floats, record: Floats, t: float) -> Floats:
        """Return the load record, checked to be finite."""
        load = self.load(out)._asdict()
        for name in ("deformation", "effort", *EndsLoad._fields):  # the causes before their consequences
            value = load[name]
            if not np.all(np.isfinite(value)):
                raise ElementError(
                    f"check: {name} of {self.kind} is {value.tolist()} {self.at(record, t)}: wanted finite numbers."
                )
        return out

    def rate(self, record: Floats, t: float) -> Floats:
        """Return eps' by differences along the motion, or 0 if they do not converge (see `partials`)."""

        def eps(s: float) -> Floats:
            return python_eps(self.element, self.moved(record, s), t + s)

        found = slope(eps, (1,) * self.n.deformations)
        return np.zeros(self.n.deformations) if found is None else found[0]

    def ask(self, record: Floats, t: float, part: str = "", start: Floats | None = None) -> Floats:
        """Return a load record with its derivatives, or the memory, computed through the address."""
        if part not in self.entries:
            self.entries[part] = make_entry(self.element, part)
        numbers, signals = parameter_record(self.element)
        for at, signal in signals:
            numbers[at : at + 3] = signal.at(t)
        buffer, out = guarded(self.n.memory if part else self.n.load_size + self.n.duals_size)
        if start is not None:
            out[:] = start
        seen = record.copy()
        with catching() as failure:
            pointers = addresses((seen, seen, numbers, out))
            status = C_ELEMENT(self.entries[part].address)(
                pointers[0], pointers[1], float(t), pointers[2], pointers[3]
            )
        where = self.at(record, t)
        if status != 1:
            raise ElementError(
                f"check: {self.kind} failed {where}: {failure.exception}"
            ) from failure.exception
        if seen.tobytes() != record.tobytes():
            raise ElementError(
                f"check: {self.kind} changes the motion it is given, for reading only, {where}."
            )
        check_guard(self.element, buffer, where)
        return out

    def moved(self, record: Floats, s: float, rates: Floats | None = None) -> Floats:
        """Return the record after a time s of its motion; `rates` is x'."""
        after = record.copy()
        m = self.motion(after)
        for k in range(self.n.ends):
            turn(m.position[k], m.rotation[k], s * m.velocity[k], s * m.angular_velocity[k])
        m.q[:] += s * m.u
        if rates is not None:
            m.x[:] += s * rates
        return locked(after)

    def at(self, record: Floats, t: float) -> str:
        """Describe a motion for a message."""
        m = self.motion(record)
        names = [
            name for name in EndsMotion._fields if name not in ("rotation", "angular_velocity", "memory")
        ]
        parts = [f"{name} = {shown(getattr(m, name))}" for name in names if getattr(m, name).size]
        return f"at {', '.join([*parts, f't = {t:.6g}'])}"


def turn(position: Floats, rotation: Floats, step: Floats, angle: Floats) -> None:
    """Move and turn one end, in place."""
    position[:], rotation[:], _ = moved_pose(
        (position.copy(), rotation.copy(), np.zeros(0)), np.concatenate((step, angle))
    )


def slope(path: Callable[[float], Floats], groups: tuple[int, ...]) -> tuple[Floats, Floats] | None:
    """Return (derivative, size of the largest term) of a path at 0; None if differences do not converge."""
    for near in _NEARER:
        try:
            d = differences(lambda s: path(near * s), groups, orders=1)  # noqa: B023
        except ElementError:  # outside the domain of the element
            continue
        if d.error <= 1.0:
            return d.first / near, d.size / near
    return None


def take_sample(subject: Subject, rng: np.random.Generator, number: int) -> Sample:
    """Evaluate the element at one random motion; the first one is at rest."""
    element, n = subject.element, subject.n
    t = random_time(element, rng)
    record = sampled_motion(element, rng, t)
    m = subject.motion(record)
    for R in m.rotation:
        if np.max(np.abs(R @ R.T - np.eye(3))) > PROPER or np.linalg.det(R) < 0.0:
            raise ElementError(
                f"check: {element.kind}.sample(rng, t) gives a rotation that is none: {shown(R)}."
            )
    if number == 0 and type(element).sample is Energetic.sample:  # at rest, as a run may start
        still = record.copy()
        for x in (
            subject.motion(still).velocity,
            subject.motion(still).angular_velocity,
            subject.motion(still).u,
        ):
            x[:] = 0.0
        record = locked(still)
    python = subject.by_python(record, t)
    out = subject.finite(subject.ask(record, t)[: n.load_size], record, t)
    return Sample(record, t, python, out)


def scale_of(subject: Subject, taken: list[Sample], name: str) -> float:
    """Return the largest number of one kind in all samples."""
    return max(float(np.max(np.abs(getattr(subject.load(s.out), name)), initial=0.0)) for s in taken)


def refuse_rough(subject: Subject, what: str, smooth: int, taken: list[Sample]) -> None:
    """Refuse an element that is smooth at fewer than half of the samples."""
    if 2 * smooth < len(taken):
        raise ElementError(
            f"check: the {what} of {subject.kind} is not differentiable at {len(taken) - smooth} of {len(taken)} places: "
            f"differences with steps from 0.01 to 4e-9 disagree, last {subject.at(taken[-1].record, taken[-1].t)}. If they "
            "are places it is not made for, write sample(rng, t) with others."
        )
