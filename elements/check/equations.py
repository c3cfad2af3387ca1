"""Common part of the checks of constraints and couplings: rows against differences along random motions.

Both state equations between velocities and accelerations, with the rates (v, w, s') or u::

    partials . rates + drift = 0        partials . rates' + bias = 0        (5.3.17)

With constant rates, with time alone, or with both, the equations themselves give all quantities::

    rows of residual f:     partials_k = df with unit rate k     drift = df with time     bias = ddf with both
    rows of slip g:         partials_k = g(unit rate k) - g(0)   drift = g(0)             bias = dg  with both

If only `evaluate` is written, the only equation of the rows of slip is partials . rates + drift.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError, TreemechError

from ..compilation.entry import call, make_entry
from ..compilation.methods import methods_of, role_of
from .blame import blame
from .differences import Differences, differences
from .python_forms import n_rates, python_equations, sampled
from .report import (
    FIRST,
    RANK,
    ROUND,
    SECOND,
    TINY,
    Report,
    Row,
    check_guard,
    guarded,
    locked,
    random_time,
)

Place = tuple[Floats, ...]


class Quantities(NamedTuple):
    """Quantities of the rows, as the element states them or as differences find them."""

    residual: Floats  # (n,)
    drift: Floats  # (n,)
    bias: Floats  # (n,)
    partials: Floats  # (n, n_rates)


class Block(NamedTuple):
    """Part of the partials with its own name."""

    name: str
    columns: slice
    position: str  # df / d position
    rate: str  # dg / d rate
    symbol: str


class Sample(NamedTuple):
    """Quantities at one position, as the element states them and as differences find them."""

    place: Place
    rates: Floats
    t: float
    says: Quantities
    finds: Quantities
    size: Floats  # (n,) largest term in each row


@dataclass(frozen=True)
class Subject:
    """Constraint or coupling under check."""

    element: Any
    blocks: tuple[Block, ...]
    rows: Callable[[Place, Floats, float], Quantities]  # by Python, or through the address
    unpack: Callable[[Floats], Quantities]  # from the flat record
    pack: Callable[[Place, Floats], tuple[Floats, Floats]]  # the two array arguments of the address
    move: Callable[[Place, Floats], Place]
    at: Callable[[Place, Floats, float], str]
    hint: Callable[[Sample, str], str]  # describes a wrong quantity

    @property
    def position_rows(self) -> slice:
        """Return the rows on positions."""
        return slice(0, self.element.n_rows - self.element.n_nonholonomic)

    @property
    def velocity_rows(self) -> slice:
        """Return the rows on velocities only."""
        return slice(self.position_rows.stop, self.element.n_rows)

    def says(self, place: Place, rates: Floats, t: float) -> Quantities:
        """Return the rows, checked to be finite; report failures of the author's method with their line."""
        if "evaluate" not in methods_of(self.element):
            self.equations(place, rates, t)  # only Python checks bounds
        with self.blaming(place, rates, t):
            q = self.rows(place, rates, t)
        if not all(np.all(np.isfinite(x)) for x in q):
            name, value = next((name, x) for name, x in self.named(q) if not np.all(np.isfinite(x)))
            where = self.at(place, rates, t)
            raise ElementError(f"check: {name} of {self.element.kind} is {value.tolist()} {where}.")
        return q

    def equations(self, place: Place, rates: Floats, t: float) -> tuple[Floats | None, Floats | None]:
        """Return (residual, slip) by Python; None for a method that is not written beside evaluate."""
        with self.blaming(place, rates, t):
            return python_equations(self.element, place, locked(rates), t)

    @contextmanager
    def blaming(self, place: Place, rates: Floats, t: float) -> Iterator[None]:
        """Turn a failure of the author's method into an ElementError with its place."""
        try:
            yield
        except Exception as error:
            cause = error.__cause__ if isinstance(error, TreemechError) else error
            if cause is None:
                raise
            where = self.at(place, rates, t)
            raise ElementError(f"check: {blame(self.element, cause)} Met {where}.") from cause

    def named(self, q: Quantities) -> list[tuple[str, Floats]]:
        """Return (name, numbers) pairs, the most basic first."""
        parts = [(block.name, q.partials[:, block.columns]) for block in self.blocks]
        return [("residual", q.residual), *parts, ("drift", q.drift), ("bias", q.bias)]


def check_equations(subject: Subject, samples: int, rng: np.random.Generator, report: Report) -> None:
    """Check rows, rates, rank, repetition and compiled code of a constraint or coupling."""
    element = subject.element
    taken: list[Sample] = []
    rough = ""
    for attempt in range(10 * samples):
        t = random_time(element, rng)
        place = sampled(element, rng, t)
        rates = locked(rng.uniform(-1.0, 1.0, n_rates(element)) * (attempt > 0))
        sample = take_sample(subject, place, rates, t)
        if sample is None:
            rough = subject.at(place, rates, t)
            continue
        taken.append(sample)
        if len(taken) == samples:
            break
    if len(taken) < samples:
        raise ElementError(
            f"check: the equations of {element.kind} are not twice differentiable at "
            f"{10 * samples - len(taken)} of {10 * samples} places: differences with steps from 0.01 to 4e-5 "
            f"disagree, last {rough}."
        )
    check_repeatable(subject, taken, report)
    check_rates(subject, taken, rng, report)
    judge(subject, taken, report)
    check_rank(subject, taken, report)
    check_compiled(subject, taken, report)


def take_sample(subject: Subject, place: Place, rates: Floats, t: float) -> Sample | None:
    """Compare the element with differences at one place. Returns None if these do not converge."""
    m, first, last = len(rates), subject.position_rows, subject.velocity_rows
    says = subject.says(place, rates, t)
    slip = subject.equations(place, rates, t)[1]
    finds = Quantities(*(x.copy() for x in says))
    size = np.maximum(np.abs(says.residual), np.max(np.abs(says.partials), axis=1, initial=0.0))
    rough = 0.0

    def along(
        f: Callable[[Place, float], Floats], step: Floats, time: float, rows: slice, order: int
    ) -> Differences:
        nonlocal rough
        n = rows.stop - rows.start
        d = differences(lambda eps: f(subject.move(place, eps * step), t + eps * time), (1,) * n, order)
        size[rows] = np.maximum(size[rows], d.size)
        rough = max(rough, d.error)
        return d

    def position(x: Place, time: float) -> Floats:
        f, _ = subject.equations(x, rates, time)
        return subject.says(x, rates, time).residual[first] if f is None else f

    def velocity(x: Place, time: float) -> Floats:
        _, g = subject.equations(x, rates, time)
        if g is not None:
            return g
        q = subject.says(x, rates, time)
        return np.asarray((q.partials @ rates + q.drift)[last])

    if first.stop > 0:
        finds.residual[first] = position(place, t)
        for k in range(m):
            finds.partials[first, k] = along(position, np.eye(m)[k], 0.0, first, 1).first
        finds.drift[first] = along(position, np.zeros(m), 1.0, first, 1).first
        finds.bias[first] = along(position, rates, 1.0, first, 2).second
    if last.stop > last.start:
        finds.residual[last] = 0.0
        if slip is not None:
            still = np.asarray(subject.equations(place, np.zeros(m), t)[1])
            finds.drift[last] = still
            for k in range(m):
                finds.partials[last, k] = np.asarray(subject.equations(place, np.eye(m)[k], t)[1]) - still
        finds.bias[last] = along(velocity, rates, 1.0, last, 1).first
    return None if rough > 1.0 else Sample(place, rates, t, says, finds, size)


# ---------------------------------------------------------------- the verdict
class Deviation(NamedTuple):
    """Largest deviation of one quantity in some of the rows. `ratio` > 1: more than allowed."""

    name: str
    ratio: float
    size: float
    where: str
    sample: Sample


def allowance(name: str) -> float:
    """Return the allowed relative deviation of a quantity."""
    return {"bias": SECOND, "residual": ROUND}.get(name, FIRST)


def worst(subject: Subject, name: str, taken: list[Sample], rows: slice) -> Deviation:
    """Find the sample in which one quantity of the element deviates most from the differences."""
    result: Deviation | None = None
    for s in taken:
        says, finds = (dict(subject.named(q))[name][rows] for q in (s.says, s.finds))
        gap = np.abs(says - finds)
        ratio = gap / (allowance(name) * s.size[rows] + TINY).reshape(-1, *(1,) * (gap.ndim - 1))
        largest = float(np.max(ratio, initial=0.0))
        if result is None or largest > result.ratio:
            where, size = "", 0.0
            if gap.size:
                index = np.unravel_index(int(np.argmax(ratio)), gap.shape)
                component = f"component {index[1]} of " if len(index) > 1 else ""
                where, size = f"{component}row {rows.start + int(index[0])}", float(gap[index])
            result = Deviation(name, largest, size, where, s)
    assert result is not None
    return result


def meaning(subject: Subject, source: str, alone: bool) -> dict[str, str]:
    """Describe the required value of every quantity of these rows; empty if there is nothing to compare."""
    if source == "residual":
        result = {"residual": "" if alone else "residual()", "bias": "the second derivative of residual"}
        result |= {b.name: f"the derivative of residual with respect to {b.position}" for b in subject.blocks}
        return result | {"drift": "the derivative of residual with respect to time"}
    result = {"residual": "zero in the rows of slip"}
    if alone:
        terms = " + ".join(f"{b.name} . {b.symbol}" for b in subject.blocks)
        return result | {
            "bias": f"the derivative of {terms} + drift (a slip() beside evaluate() would tell which)"
        }
    result |= {b.name: f"the derivative of slip with respect to {b.rate}" for b in subject.blocks}
    return result | {"drift": "slip at rest", "bias": "the derivative of slip along the motion"}


def judge(subject: Subject, taken: list[Sample], report: Report) -> None:
    """Compare every quantity; report the most basic wrong one first, then the others."""
    kind = subject.element.kind
    names = [name for name, _ in subject.named(taken[0].says)]
    written = subject.equations(*taken[0][:3])
    findings: list[tuple[int, str, str]] = []  # (rank, sentence, short form)
    for rows, source, equation in zip(
        (subject.position_rows, subject.velocity_rows), ("residual", "slip"), written, strict=True
    ):
        if rows.start == rows.stop:
            continue
        found, wrong = meaning(subject, source, equation is None), []
        for name in (n for n in names if found.get(n)):
            d = worst(subject, name, taken, rows)
            report.rows.append(Row(f"{name} is {found[name]}", d.ratio * allowance(name), allowance(name)))
            if d.ratio > 1.0:
                wrong.append(d)
        away = [f"by {d.size:.2g} ({d.where}) {subject.at(*d.sample[:3])}" for d in wrong]
        if source == "residual" and len(wrong) > 1 and fits_itself(subject, taken):
            findings.append(
                (0, f"residual of {kind} does not fit its derivatives: {wrong[0].name} differs from "
                 f"{found[wrong[0].name]} {away[0]}, while {', '.join(names[1:])} fit one another", "residual")
            )  # fmt: skip
            continue
        for d, by in zip(wrong, away, strict=True):
            sentence = f"{d.name} of {kind} differs from {found[d.name]} {by}{subject.hint(d.sample, d.name)}"
            findings.append((names.index(d.name), sentence, f"{d.name} (by {d.size:.2g}, {d.where})"))
    if findings:
        findings.sort(key=lambda finding: finding[0])
        others = ", ".join(short for _, _, short in findings[1:])
        raise ElementError(f"check: {findings[0][1]}." + (f" Also wrong: {others}." if others else ""))


def fits_itself(subject: Subject, taken: list[Sample]) -> bool:
    """Tell whether the bias is the derivative of the stated velocity equation, for any residual."""
    rows = subject.position_rows
    for s in taken:

        def velocity(eps: float, s: Sample = s) -> Floats:
            q = subject.says(subject.move(s.place, eps * s.rates), s.rates, s.t + eps)
            return np.asarray((q.partials @ s.rates + q.drift)[rows])

        d = differences(velocity, (1,) * rows.stop, orders=1)
        if d.error <= 1.0 and np.any(
            np.abs(d.first - s.says.bias[rows]) > SECOND * np.maximum(s.size[rows], d.size)
        ):
            return False
    return True


# ---------------------------------------------------------------- other duties
def check_rates(subject: Subject, taken: list[Sample], rng: np.random.Generator, report: Report) -> None:
    """Check that only the bias depends on velocities and that slip is linear in them."""
    kind, bent, blocks = subject.element.kind, 0.0, subject.blocks
    for s in taken:
        other = locked(rng.uniform(-1.0, 1.0, len(s.rates)))
        here, there = (subject.named(q)[:-1] for q in (s.says, subject.says(s.place, other, s.t)))
        for (name, x), (_, y) in zip(here, there, strict=True):
            gap = float(np.max(np.abs(x - y), initial=0.0))
            if gap > ROUND * float(np.max(s.size)) + TINY:
                raise ElementError(
                    f"check: {name} of {kind} depends on velocity: it differs by {gap:.2g} between "
                    f"{subject.at(s.place, s.rates, s.t)} and {subject.at(s.place, other, s.t)}. Only bias may."
                )
        g = subject.equations(s.place, s.rates, s.t)[1]
        if g is not None:
            rows = subject.velocity_rows
            linear = (s.finds.partials @ s.rates + s.finds.drift)[rows]
            gap = float(np.max(np.abs(g - linear) / s.size[rows], initial=0.0))
            if gap > FIRST:
                raise ElementError(
                    f"check: slip of {kind} is not linear in {' and '.join(b.rate for b in blocks[:2])}: it differs "
                    f"from its linear part by {gap:.2g} {subject.at(s.place, s.rates, s.t)}."
                )
            bent = max(bent, gap)
    report.rows.append(Row("velocity equation linear in the rates", bent, FIRST))


def check_rank(subject: Subject, taken: list[Sample], report: Report) -> None:
    """Check that the rows are independent and determine the auxiliary unknowns."""
    kind, n = subject.element.kind, subject.element.n_rows
    na, smallest = getattr(subject.element, "n_auxiliary", 0), 1.0
    for s in taken:
        parts = [("rows", s.says.partials, n, "Leave an equation out")]
        if na:
            parts.append(("columns of auxiliary", s.says.partials[:, -na:].T, na, "Leave an unknown out"))
        for what, G, wanted, advice in parts:
            lengths = np.linalg.norm(G, axis=1)
            unit = G / np.where(lengths > TINY, lengths, 1.0)[:, None]
            values = np.zeros(wanted)
            found = np.linalg.svd(unit, compute_uv=False)
            values[: len(found)] = found[:wanted]
            smallest = min(smallest, float(values[-1]))
            if values[-1] < RANK:
                raise ElementError(
                    f"check: the {what} of {kind} are not independent: rank {int(np.sum(values >= RANK))}, wanted "
                    f"{wanted}, {subject.at(*s[:3])}. {advice}, or keep singular positions out of sample()."
                )
    report.rows.append(Row(f"rank {n}: one over its smallest singular value", 1.0 / smallest, 1.0 / RANK))


def check_repeatable(subject: Subject, taken: list[Sample], report: Report) -> None:
    """Check that the element gives the same result again after other calls."""
    for s in taken:
        again = subject.says(*s[:3])
        for (name, x), (_, y) in zip(subject.named(s.says), subject.named(again), strict=True):
            if x.tobytes() != y.tobytes():
                raise ElementError(
                    f"check: {name} of {subject.element.kind} is not the same when asked twice "
                    f"{subject.at(*s[:3])}: it differs by {np.max(np.abs(x - y)):.2g}. It must depend on its "
                    "arguments and fields only."
                )
    report.rows.append(Row("same arguments, same result", 0.0, 0.0))


def check_compiled(subject: Subject, taken: list[Sample], report: Report) -> None:
    """Check that the compiled element gives the same result and writes nowhere else."""
    element, largest = subject.element, 0.0
    report.way = make_entry(element).way
    for s in taken:
        where = subject.at(*s[:3])
        a, b = subject.pack(s.place, s.rates)
        before = a.tobytes(), b.tobytes()
        buffer, record = guarded(sum(x.size for x in s.says))
        call(element, role_of(element), a, b, s.t, record)
        if (a.tobytes(), b.tobytes()) != before:
            raise ElementError(
                f"check: {element.kind} changes the motion it is given {where}: it is for reading only."
            )
        check_guard(element, buffer, where)
        compiled, expected = subject.unpack(record), s.says
        f, _ = subject.equations(*s[:3])
        if f is not None and "evaluate" not in methods_of(
            element
        ):  # the other quantities come from compiled code anyway
            expected = expected._replace(residual=np.concatenate((f, np.zeros(element.n_nonholonomic))))
        for (name, x), (_, y) in zip(subject.named(compiled), subject.named(expected), strict=True):
            gap = float(np.max(np.abs(x - y), initial=0.0)) / (float(np.max(s.size)) + TINY)
            if not gap <= ROUND:
                raise ElementError(
                    f"check: compiled, {name} of {element.kind} differs from the same source run by Python by "
                    f"{gap:.2g} {where}. Module constants are frozen when compiled; integers wrap."
                )
            largest = max(largest, gap)
    report.rows.append(Row("through its address: equal to Python, writes inside its arrays", largest, ROUND))
