"""Check of an energetic element: loads against deformation and energy, rigid motion, states, memory.

Along a motion of its ends and coordinates (v, w, u), of its states (x') and of time, with constant memory and
inputs::

    loads on the bodies = -G^T F                                    G = deps/dz            (3.4.12)
    power to the bodies + dE/dt + dissipated - supplied = 0         dissipated >= 0
    sum F = 0     sum (M + r x F) = 0     the same after a rigid motion of all ends        (3.2.20, 3.2.23)
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from ..compilation.methods import remembers
from ..energetic import EndsLoad, Energetic
from .blame import blame
from .energetic_subject import Finding, Sample, Subject, refuse_rough, scale_of, slope, take_sample, turn
from .given_derivatives import check_given_derivatives
from .power import check_dissipated, check_power
from .python_forms import python_eps, python_law, python_load, python_memory
from .report import FIRST, PROPER, ROUND, TINY, Report, Row, locked, shown

_OWN = ("effort", "rates", "energy", "dissipated", "supplied")  # filled in by the author's effort()


def check_energetic(element: Energetic, samples: int, rng: np.random.Generator, report: Report) -> None:
    """Check an energetic element; broken duties raise an ElementError."""
    subject = Subject(element)
    taken = [take_sample(subject, rng, k) for k in range(samples)]
    report.way = subject.entries[""].way
    report.rows.append(Row("finite: loads, x', energy and powers", 0.0, 0.0))
    check_repeatable(subject, taken, report)
    check_compiled(subject, taken, report)
    findings = [
        *check_dissipated(subject, taken, report),
        *check_resultant(subject, taken, report),
        *check_rigid_motion(subject, taken, rng, report),
        *check_partials(subject, taken, report),
        *check_power(subject, taken, report),
        *check_derivatives(subject, taken, report),
        *check_given_derivatives(subject, taken, report),
    ]
    if remembers(element):
        check_memory(subject, taken, report)
    if findings:
        first, *others = sorted(findings, key=lambda finding: finding.rank)
        also = ", ".join(finding.short for finding in others)
        raise ElementError(f"check: {first.sentence}." + (f" Also wrong: {also}." if also else ""))


# ---------------------------------------------------------------- repeated, and compiled
def check_repeatable(subject: Subject, taken: list[Sample], report: Report) -> None:
    """Check that the element gives the same result again after other calls."""
    for s in taken:
        again = subject.by_python(s.record, s.t), subject.ask(s.record, s.t)[: subject.n.load_size]
        for before, after in zip((s.python, s.out), again, strict=True):
            for name, x, y in zip(EndsLoad._fields, subject.load(before), subject.load(after), strict=True):
                if x.tobytes() != y.tobytes():
                    raise ElementError(
                        f"check: {name} of {subject.kind} is not the same when asked twice "
                        f"{subject.at(s.record, s.t)}: it differs by {np.max(np.abs(x - y)):.2g}. It must depend on its "
                        "arguments and fields only; what it has to remember, it writes in remember()."
                    )
    report.rows.append(Row("same arguments, same result", 0.0, 0.0))


def check_compiled(subject: Subject, taken: list[Sample], report: Report) -> None:
    """Check that compiled and Python results agree, and that the effort solves an implicit law."""
    jets, law = subject.by_jets and "deformation" in subject.methods, "law" in subject.methods
    names = ("deformation", *_OWN) if subject.by_jets else EndsLoad._fields
    allowed, largest = ROUND, 0.0
    for name in names:
        if law and name == "effort":
            continue
        allowed = (
            10.0 * FIRST if jets and name in _OWN else ROUND
        )  # the rate of eps is a difference in Python
        scale = scale_of(subject, taken, name)
        for s in taken:
            python = s.python
            if law:
                python = python_load(subject.element, s.record, s.t, subject.rate(s.record, s.t) if jets else None,
                                     subject.load(s.out).effort)  # fmt: skip
            gap = np.max(
                np.abs(getattr(subject.load(s.out), name) - getattr(subject.load(python), name)), initial=0.0
            )
            if gap > allowed * scale + TINY:
                raise ElementError(
                    f"check: compiled, {name} of {subject.kind} differs from the same source run by Python by {gap:.2g} "
                    f"{subject.at(s.record, s.t)}. Module constants are frozen when compiled; integers wrap."
                )
            largest = max(largest, float(gap) / (allowed * scale + TINY))
    report.rows.append(
        Row("through its address: equal to Python, writes inside its arrays", largest * allowed, allowed)
    )
    if law:
        worst = max((law_error(subject, s), k) for k, s in enumerate(taken))
        if worst[0] > FIRST:
            s = taken[worst[1]]
            raise ElementError(
                f"check: the effort {shown(subject.load(s.out).effort)} of {subject.kind} does not solve its law: it is "
                f"{worst[0]:.2g} of itself away {subject.at(s.record, s.t)}."
            )
        report.rows.append(Row("the effort solves the law f = 0 (3.4.5)", worst[0], FIRST))


def law_error(subject: Subject, s: Sample) -> float:
    """Return the relative error of the effort as solution of its law: f over its change with F."""
    rate = subject.rate(s.record, s.t) if "deformation" in subject.methods else None
    F = subject.load(s.out).effort
    f = python_law(subject.element, s.record, s.t, rate, F)
    size = max(1e-3 * float(np.max(np.abs(F))), 1e-6)
    change = np.full(len(f), TINY)
    for k in range(len(F)):
        step = np.zeros(len(F))
        step[k] = size
        change = np.maximum(change, np.abs(python_law(subject.element, s.record, s.t, rate, F + step) - f))
    return float(np.max(np.abs(f) / change)) * 1e-3


# ---------------------------------------------------------------- partials
def lanes(subject: Subject, record: Floats) -> list[Callable[[float], Floats]]:
    """Return functions that move the record by s along each displacement or turn of an end, or coordinate."""
    n = subject.n

    def end(k: int, i: int, s: float) -> Floats:
        after = record.copy()
        m, step = subject.motion(after), s * np.eye(6)[i]
        turn(m.position[k], m.rotation[k], step[:3], step[3:])
        return locked(after)

    def coordinate(c: int, s: float) -> Floats:
        after = record.copy()
        subject.motion(after).q[c] += s
        return locked(after)

    ends = [partial(end, k, i) for k in range(n.ends) for i in range(6)]
    return [*ends, *(partial(coordinate, c) for c in range(n.coordinates))]


def lane_name(subject: Subject, lane: int) -> str:
    """Name the load that acts along a lane."""
    end, component = divmod(lane, 6)
    if end >= subject.n.ends:
        return f"load on coordinate {lane - 6 * subject.n.ends}"
    return f"{('force', 'moment')[component // 3]} (component {component % 3}) on end {end}"


def check_partials(subject: Subject, taken: list[Sample], report: Report) -> list[Finding]:
    """Check that the loads are -G^T F.

    With evaluate() this holds only if all loads act along deformations; additional friction does not.
    """
    n = subject.n
    if not n.deformations or not any(np.any(subject.load(s.out).effort) for s in taken):
        return []
    if subject.by_jets and "deformation" not in subject.methods:
        return []  # the deformations are the coordinates themselves

    def eps(move: Callable[[float], Floats], t: float, h: float) -> Floats:
        if subject.by_jets:
            return python_eps(subject.element, move(h), t)
        return subject.load(subject.ask(move(h), t)[: n.load_size]).deformation.copy()

    worst, smooth = (0.0, "", taken[0]), 0
    for s in taken:
        out = subject.load(s.out)
        says = np.concatenate((np.hstack((out.force, out.moment)).ravel(), out.load))
        found = [slope(partial(eps, move, s.t), (1,) * n.deformations) for move in lanes(subject, s.record)]
        if any(f is None for f in found):
            continue
        smooth += 1
        G, size = (np.array([f[j] for f in found if f is not None]) for j in (0, 1))
        wanted = -G @ out.effort
        gap, scale = np.abs(says - wanted), float(np.max(size @ np.abs(out.effort)))
        beside = says - G @ np.linalg.lstsq(G, says, rcond=None)[0]
        if not subject.by_jets and np.max(np.abs(beside)) > FIRST * np.max(np.abs(says)):
            continue
        k, allowed = int(np.argmax(gap)), FIRST * scale + TINY
        if gap[k] / allowed > worst[0]:
            hint = "; its sign looks wrong" if np.allclose(says, -wanted, FIRST) else ""
            text = f"{lane_name(subject, k)} is {says[k]:.6g}, -G^T F is {wanted[k]:.6g}{hint}"
            worst = float(gap[k]) / allowed, text, s
    refuse_rough(subject, "deformation", smooth, taken)
    report.rows.append(Row("loads on the bodies are -G^T F (3.4.12)", worst[0] * FIRST, FIRST))
    if worst[0] <= 1.0:
        return []
    return [
        Finding(3, f"the loads of {subject.kind} do not fit its deformation and effort: {worst[1]}, G the derivative of "
                f"the deformation, {subject.at(worst[2].record, worst[2].t)}", "loads (not -G^T F)")
    ]  # fmt: skip


# ---------------------------------------------------------------- rigid motion
def check_resultant(subject: Subject, taken: list[Sample], report: Report) -> list[Finding]:
    """Check that the loads have no resultant force and moment (3.2.20)."""
    if subject.element.world:
        report.rows.append(Row("world = True: resultant and rigid motion skipped", 0.0, 0.0))
        return []
    if not subject.n.ends:
        return []
    worst, text = 0.0, ""
    for s in taken:
        p, out = subject.motion(s.record).position, subject.load(s.out)
        arms = np.cross(p, out.force)
        total = np.sum(out.force, axis=0), np.sum(out.moment + arms, axis=0)
        sizes = np.max(np.abs(out.force)), max(np.max(np.abs(out.moment)), np.max(np.abs(arms)))
        for name, x, size in zip(("force", "moment"), total, sizes, strict=True):
            ratio = float(np.max(np.abs(x)) / (size + TINY))
            if ratio > max(worst, PROPER):
                text = f"a resultant {name} {shown(x)} {subject.at(s.record, s.t)}"
            worst = max(worst, ratio)
    report.rows.append(Row("no resultant force or moment (3.2.20)", worst, PROPER))
    if not text:
        return []
    return [
        Finding(1, f"the loads of {subject.kind} have {text}: wanted sum F = 0 and sum (M + r x F) = 0 (3.2.20). If it acts "
                "against something else, say world = True", f"{text.split(' [')[0]} (3.2.20)")
    ]  # fmt: skip


def check_rigid_motion(
    subject: Subject, taken: list[Sample], rng: np.random.Generator, report: Report
) -> list[Finding]:
    """Move all ends as one rigid body; check that the loads rotate with it and nothing else changes."""
    if subject.element.world or not subject.n.ends:
        return []
    scales = {name: scale_of(subject, taken, name) for name in EndsLoad._fields}
    findings: list[Finding] = []
    worst = 0.0
    for moving in (False, True):
        for s in taken:
            axis, step, spin, drift = rng.uniform(-1.0, 1.0, (4, 3))
            after = s.record.copy()
            m, Q, origin = subject.motion(after), np.eye(3), np.zeros(3)
            turn(origin, Q, step, 3.0 * axis)
            m.position[:] = m.position @ Q.T + step
            m.rotation[:] = Q @ m.rotation
            m.velocity[:], m.angular_velocity[:] = m.velocity @ Q.T, m.angular_velocity @ Q.T
            if moving:
                m.velocity[:] += drift + np.cross(spin, m.position)
                m.angular_velocity[:] += spin
            m.reaction[:, :3], m.reaction[:, 3:] = m.reaction[:, :3] @ Q.T, m.reaction[:, 3:] @ Q.T
            out = subject.load(subject.ask(locked(after), s.t)[: subject.n.load_size])
            for name, was, now in zip(EndsLoad._fields, subject.load(s.out), out, strict=True):
                turned = was @ Q.T if name in ("force", "moment") else was
                ratio = float(np.max(np.abs(now - turned), initial=0.0)) / (scales[name] + TINY)
                worst = max(worst, ratio)
                if ratio > FIRST and not findings:
                    how = "a rigid motion with velocity" if moving else "a rigid displacement"
                    findings = [
                        Finding(3, f"{name} of {subject.kind} does not follow {how} of all its ends (3.2.23): it differs "
                                f"by {ratio:.2g} of its size, {subject.at(s.record, s.t)}. If it acts against something "
                                "else, say world = True", f"{name} (does not follow {how})")
                    ]  # fmt: skip
    report.rows.append(Row("follows a rigid motion of all ends (3.2.23)", worst, FIRST))
    return findings


# ---------------------------------------------------------------- reaction, memory
def check_derivatives(subject: Subject, taken: list[Sample], report: Report) -> list[Finding]:
    """Check derivatives of the loads by the reaction (by jets) against differences of the Python source."""
    n = subject.n
    if not n.reactions:
        return []

    def loads(s: Sample, k: int, h: float) -> Floats:
        after = s.record.copy()
        subject.motion(after).reaction[0, k] += h
        out = subject.load(python_load(subject.element, locked(after), s.t))
        return np.concatenate((out.force.ravel(), out.moment.ravel(), out.load))

    worst = 0.0
    for s in taken:
        derivatives = subject.ask(s.record, s.t)[n.load_size :].reshape(-1, 6)
        for k in range(6):
            found = slope(partial(loads, s, k), (3 * n.ends, 3 * n.ends, n.coordinates))
            if found is None:
                return [
                    Finding(3, f"the loads of {subject.kind} are not differentiable with respect to reaction[0, {k}] "
                            f"{subject.at(s.record, s.t)}: use smooth functions of it", "slopes")
                ]  # fmt: skip
            gap = np.abs(derivatives[:, k] - found[0])
            worst = max(worst, float(np.max(gap / (found[1] + TINY), initial=0.0)))
            if worst > FIRST:
                return [
                    Finding(3, f"compiled, the partials of the loads of {subject.kind} to reaction[0, {k}] differ from "
                            f"differences by {np.max(gap):.2g} {subject.at(s.record, s.t)}", "slopes")
                ]  # fmt: skip
    report.rows.append(Row("partials of the loads to the reaction", worst, FIRST))
    return []


def check_memory(subject: Subject, taken: list[Sample], report: Report) -> None:
    """Check that remember() writes finite numbers to its memory only, equal by Python and compiled."""
    largest = 0.0
    for s in taken:
        motion, results = subject.motion(s.record), []
        for _ in range(2):
            try:
                results.append(python_memory(subject.element, s.record, s.t))
            except Exception as error:
                raise ElementError(
                    f"check: {blame(subject.element, error)} Met {subject.at(s.record, s.t)}."
                ) from error
        if not np.all(np.isfinite(results[0])):
            raise ElementError(
                f"check: {subject.kind}.remember writes {shown(results[0])} {subject.at(s.record, s.t)}: wanted finite "
                "numbers."
            )
        if results[0].tobytes() != results[1].tobytes():
            raise ElementError(
                f"check: what {subject.kind}.remember writes is not the same when asked twice "
                f"{subject.at(s.record, s.t)}."
            )
        compiled = subject.ask(s.record, s.t, "remember", motion.memory)
        scale = float(np.max(np.abs(results[0]), initial=0.0))
        gap = float(np.max(np.abs(compiled - results[0]), initial=0.0)) / (scale + TINY)
        largest = max(largest, gap)
        if gap > ROUND:
            raise ElementError(
                f"check: compiled, {subject.kind}.remember differs from Python by {gap:.2g} {subject.at(s.record, s.t)}."
            )
    report.rows.append(Row("remember() writes its memory only, equal to Python", largest, ROUND))
