"""Check of the power balance of an energetic element: to the bodies + dE/dt + dissipated - supplied = 0."""

from typing import NamedTuple

import numpy as np

from treemech.topology.arrays import Floats

from .energetic_subject import Finding, Sample, Subject, refuse_rough, scale_of, slope
from .report import FIRST, ROUND, TINY, Report, Row


def check_dissipated(subject: Subject, taken: list[Sample], report: Report) -> list[Finding]:
    """Check that the dissipated power is not negative."""
    scale = scale_of(subject, taken, "dissipated")
    low, where = min((float(subject.load(s.out).dissipated[0]), k) for k, s in enumerate(taken))
    report.rows.append(Row("dissipated power is not negative", max(0.0, -low) / (scale + TINY), ROUND))
    if low >= -ROUND * scale:
        return []
    s = taken[where]
    return [
        Finding(2, f"dissipated of {subject.kind} is {low:.6g} {subject.at(s.record, s.t)}: a power lost is not negative; "
                "what comes from outside belongs in out.supplied", f"dissipated ({low:.2g} < 0)")
    ]  # fmt: skip


class Balance(NamedTuple):
    """Terms of the power balance at one sample: to the bodies, dE/dt, dissipated, supplied; their size."""

    given: float
    stored: float
    dissipated: float
    supplied: float
    size: float

    def gap(
        self, given: float = 1.0, stored: float = 1.0, dissipated: float = 1.0, supplied: float = 1.0
    ) -> float:
        """Return the error of the balance over the largest term, with a factor for each term."""
        total = (
            given * self.given
            + stored * self.stored
            + dissipated * self.dissipated
            - supplied * self.supplied
        )
        return abs(total) / (self.size + TINY)


def balance(subject: Subject, s: Sample) -> Balance | None:
    """Return the terms of the power balance; None if the energy is not smooth there."""
    m, out = subject.motion(s.record), subject.load(s.out)
    terms = np.concatenate(
        [
            (a * b).ravel()
            for a, b in ((out.force, m.velocity), (out.moment, m.angular_velocity), (out.load, m.u))
        ]
    )
    fastest = max(
        float(np.max(np.abs(x), initial=0.0)) for x in (m.velocity, m.angular_velocity, m.u, out.rates)
    )
    pace = 1.0 / max(1.0, fastest)

    def energy(h: float) -> Floats:
        after = subject.moved(s.record, pace * h, out.rates)
        return subject.load(subject.ask(after, s.t + pace * h)[: subject.n.load_size]).energy.copy()

    found = slope(energy, (1,))
    if found is None:
        return None
    D, S = float(out.dissipated[0]), float(out.supplied[0])
    size = float(np.sum(np.abs(terms))) + abs(D) + abs(S) + float(found[1][0]) / pace
    return Balance(float(np.sum(terms)), float(found[0][0]) / pace, D, S, size)


def check_power(subject: Subject, taken: list[Sample], report: Report) -> list[Finding]:
    """Check that power to the bodies + dE/dt + dissipated - supplied = 0.

    Then the effort is the gradient of the energy.
    """
    if not any(scale_of(subject, taken, name) for name in ("energy", "dissipated", "supplied")):
        report.rows.append(Row("power balance: skipped, it states no energy and no powers", 0.0, 0.0))
        return []
    pairs = [(b, s) for s in taken if (b := balance(subject, s)) is not None]
    refuse_rough(subject, "energy", len(pairs), taken)
    worst, s = max(pairs, key=lambda pair: pair[0].gap())
    report.rows.append(Row("power to bodies + dE/dt + dissipated - supplied = 0", worst.gap(), FIRST))
    if worst.gap() <= FIRST:
        return []
    missing = worst.given + worst.stored + worst.dissipated - worst.supplied
    return [
        Finding(4, f"power balance of {subject.kind}: power to the bodies {worst.given:.6g} + dE/dt {worst.stored:.6g} + "
                f"dissipated {worst.dissipated:.6g} - supplied {worst.supplied:.6g} = {missing:.6g}, wanted 0"
                f"{power_hint([b for b, _ in pairs])}, {subject.at(s.record, s.t)}", f"power balance (by {missing:.2g})")
    ]  # fmt: skip


def power_hint(found: list[Balance]) -> str:
    """Find the one term that, with another factor, closes the balance everywhere."""
    says = {
        "given": "the loads look {}: the effort acts on the element, its opposite on the bodies",
        "stored": "the energy looks {}: the effort is not its gradient",
        "dissipated": "dissipated looks {}",
        "supplied": "supplied looks {}",
    }
    sizes = np.array([b.size for b in found])
    missing = np.array([b.given + b.stored + b.dissipated - b.supplied for b in found])
    for name, text in says.items():
        terms = np.array([getattr(b, name) * (-1.0 if name == "supplied" else 1.0) for b in found])
        if not np.any(np.abs(terms) > FIRST * sizes):
            continue
        factor = -float((missing - terms) @ terms) / float(terms @ terms)
        opposite = abs(factor + 1.0) < 1e-6
        if abs(factor) < 1e-6 or (name == "given" and not opposite):  # of two terms, prefer the energy
            continue
        if all(b.gap(**{name: factor}) <= 10.0 * FIRST for b in found):
            wrong = "to have the wrong sign" if opposite else f"{1.0 / factor:.6g} times too large"
            return "; " + text.format(wrong)
    return ""
