"""Check of a hinge.

A hinge is sampled at random q, u, t in its domain. Along the motion q(eps) = move(q, eps u), t + eps the
speeds are constant, so the first and second derivative of the pose give every other quantity (3.3.24-34)::

    v_k = dc     w_k = axial(dC C^T)      moving with unit speed k
    v0  = dc     w0  = axial(dC C^T)      with time alone
    v00 = ddc    w00 = axial(ddC C^T)     with u and time together

Differences are of eighth order. The step is halved until two results agree; a sample where none agree (a
break of a spline) is replaced by another.
"""

import inspect
from typing import Any, NamedTuple

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError, TreemechError
from treemech.topology.rotation import axial, rotation_vector

from ..compilation.entry import call, make_entry
from ..hinge import Hinge, Motion, has_pose, motion_views
from .blame import blame
from .differences import Differences, differences
from .python_forms import python_pose
from .report import (
    FIRST,
    PROPER,
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
    shown,
)


class Sample(NamedTuple):
    """Quantities at one position, as the hinge states them and as differences of its pose find them."""

    q: Floats
    u: Floats
    t: float
    says: Motion
    finds: Motion  # offset and rotation as given
    transposed: Motion  # the differences if C is replaced by its transpose
    length: float  # largest length, velocity, acceleration: scale of the translations
    turn: float  # the same for the rotation


def at(q: Floats, u: Floats, t: float) -> str:
    """Describe a position and its speeds for a message."""
    return f"at q = {shown(q)}, u = {shown(u)}, t = {t:.6g}"


def check_hinge(hinge: Hinge, samples: int, rng: np.random.Generator, report: Report) -> None:
    """Check a hinge; broken duties raise an ElementError."""
    low, half = check_description(hinge)
    same_twice(hinge, _position(hinge, rng, low, half), _position(hinge, rng, low, half))
    taken: list[Sample] = []
    rough = ""
    for attempt in range(10 * samples):
        q, u, t = _position(hinge, rng, low, half)
        sample, why = take_sample(hinge, q, 0.0 * u if attempt == 0 else u, t, half)
        if sample is None:
            rough = why
            continue
        taken.append(sample)
        if len(taken) == samples:
            break
    if len(taken) < samples:
        raise ElementError(
            f"check: the pose of {hinge.kind} is not twice differentiable at {10 * samples - len(taken)} of "
            f"{10 * samples} places: differences with steps from 0.01 to 4e-5 disagree, last {rough}."
        )
    judge(hinge, taken, report)
    check_rank(hinge, taken, report)
    check_repeatable(hinge, taken, report)
    check_coordinates(hinge, taken[:5], rng, report)
    check_compiled(hinge, taken, report)


def check_description(hinge: Hinge) -> tuple[Floats, Floats]:
    """Return (middle, half width) of the domain; refuse a wrong domain, reference or base."""
    n, k = hinge.n_coordinates, hinge.euler_parameters
    try:
        low, high = (np.broadcast_to(np.asarray(x, dtype=np.float64), (n,)) for x in hinge.domain())
    except (TypeError, ValueError) as error:
        raise ElementError(
            f"check: {hinge.kind}.domain() gives {hinge.domain()!r}; wanted lowest and highest q, {n} numbers each."
        ) from error
    if not np.all(low <= high) or not np.all(np.isfinite(high - low)):
        raise ElementError(f"check: {hinge.kind}.domain() runs from {shown(low)} to {shown(high)}.")
    reference = np.asarray(hinge.reference(), dtype=np.float64)
    if reference.shape != (n,) or not np.all(np.isfinite(reference)):
        raise ElementError(f"check: {hinge.kind}.reference() is {shown(reference)}; wanted {n} numbers.")
    if k is not None and abs(np.linalg.norm(reference[k : k + 4]) - 1.0) > PROPER:
        raise ElementError(f"check: {hinge.kind}.reference(): q[{k}:{k + 4}] = {shown(reference[k : k + 4])}; "
                           "wanted Euler parameters of length 1.")  # fmt: skip
    B = np.asarray(hinge.base(), dtype=np.float64)
    if B.shape != (3, 3) or np.max(np.abs(B @ B.T - np.eye(3))) > PROPER or np.linalg.det(B) < 0.0:
        raise ElementError(f"check: {hinge.kind}.base() is not a rotation (3, 3): {B.tolist()}.")
    half = 0.5 * (high - low)
    return low + half, half


def _position(
    hinge: Hinge, rng: np.random.Generator, middle: Floats, half: Floats
) -> tuple[Floats, Floats, float]:
    """Return random q, u, t such that the motion stays inside the domain during the differences."""
    q, k = hinge.sample(rng), hinge.euler_parameters
    inside = np.ones(len(q), dtype=bool)
    if k is not None:
        inside[k : k + 4] = False
    q[inside] = middle[inside] + 0.9 * (q - middle)[inside]
    u = rng.uniform(-1.0, 1.0, hinge.n_speeds) * _speeds(hinge, half)
    return q, u, random_time(hinge, rng)


def _speeds(hinge: Hinge, half: Floats) -> Floats:
    """Return speeds that change q in unit time by at most the half width of the domain, and at most 1."""
    k = hinge.euler_parameters
    scale = np.where(half > 0.0, np.minimum(half, 1.0), 1.0)
    return scale if k is None else np.concatenate((scale[:k], np.ones(3), scale[k + 4 :]))


def evaluated(hinge: Hinge, q: Floats, u: Floats, t: float) -> Motion:
    """Return the motion; turn a failure of the author's method into an ElementError with its place."""
    try:
        if has_pose(hinge):
            python_pose(hinge, locked(q), t)  # only Python checks bounds
        motion = hinge.motion(q, u, t)
    except TreemechError as error:
        if error.__cause__ is None:
            raise
        raise ElementError(f"check: {blame(hinge, error.__cause__)} Met {at(q, u, t)}.") from error.__cause__
    except Exception as error:
        raise ElementError(f"check: {blame(hinge, error)} Met {at(q, u, t)}.") from error
    for name, value in zip(Motion._fields, motion, strict=True):
        if not np.all(np.isfinite(value)):
            raise ElementError(f"check: {name} of {hinge.kind} is {value.tolist()} {at(q, u, t)}.")
    return motion


def pose(hinge: Hinge, q: Floats, u: Floats, t: float) -> Floats:
    """Return offset and rotation in one row of 12, by Python."""
    if has_pose(hinge):
        offset, rotation = python_pose(hinge, q, t)
    else:
        motion = hinge.motion(q, u, t)
        offset, rotation = motion.offset, motion.rotation
    return np.concatenate((offset, rotation.ravel()))


def take_sample(hinge: Hinge, q: Floats, u: Floats, t: float, half: Floats) -> tuple[Sample | None, str]:
    """Sample the hinge at one position. Returns None and the place if its pose is not smooth there."""
    says = evaluated(hinge, q, u, t)
    finds, transposed = (motion_views(np.zeros(24 + 6 * len(u)), len(u)) for _ in range(2))
    finds.offset[:], finds.rotation[:], transposed.rotation[:] = says.offset, says.rotation, says.rotation.T
    C = says.rotation
    length, turn = float(np.max(np.abs(says.offset))), 1.0

    def along(step: Floats, time: float) -> Differences:
        nonlocal length, turn

        def path(eps: float) -> Floats:
            try:
                return pose(hinge, hinge.move(q, eps * step), u, t + eps * time)
            except Exception as error:
                moved = at(hinge.move(q, eps * step), u, t + eps * time)
                raise ElementError(f"check: {blame(hinge, error)} Met {moved}.") from error

        d = differences(path, (3, 9))
        length, turn = max(length, d.size[0]), max(turn, d.size[3])
        return d

    rough = 0.0
    speeds = _speeds(hinge, half)
    for k in range(len(u)):
        d = along(speeds[k] * np.eye(len(u))[k], 0.0)
        finds.translation_partials[k] = d.first[:3] / speeds[k]
        finds.rotation_partials[k] = axial(d.first[3:].reshape(3, 3) @ C.T) / speeds[k]
        transposed.rotation_partials[k] = axial(d.first[3:].reshape(3, 3).T @ C) / speeds[k]
        length = max(length, float(np.max(np.abs(finds.translation_partials[k]))))
        turn = max(turn, float(np.max(np.abs(finds.rotation_partials[k]))))
        rough = max(rough, d.error)
    d = along(0.0 * u, 1.0)
    finds.translation_drift[:], finds.rotation_drift[:] = d.first[:3], axial(d.first[3:].reshape(3, 3) @ C.T)
    transposed.rotation_drift[:] = axial(d.first[3:].reshape(3, 3).T @ C)
    rough = max(rough, d.error)
    d = along(u, 1.0)
    finds.translation_bias[:], finds.rotation_bias[:] = d.second[:3], axial(d.second[3:].reshape(3, 3) @ C.T)
    transposed.rotation_bias[:] = axial(d.second[3:].reshape(3, 3).T @ C)
    if max(rough, d.error) > 1.0:
        return None, at(q, u, t)
    return Sample(q, u, t, says, finds, transposed, length, turn), ""


# ---------------------------------------------------------------- the verdict on the quantities
class Deviation(NamedTuple):
    """Largest deviation of one quantity. `ratio` > 1: more than allowed."""

    name: str
    ratio: float
    size: float
    where: str  # component
    sample: Sample

    def __str__(self) -> str:
        s = self.sample
        return f"by {self.size:.2g} ({self.where}) {at(s.q, s.u, s.t)}"


def worst(name: str, taken: list[Sample], finds: str = "finds") -> Deviation:
    """Find the sample in which one quantity of the hinge deviates most from the differences."""
    allowed = SECOND if name.endswith("bias") else FIRST
    result: Deviation | None = None
    for s in taken:
        gap = np.abs(getattr(s.says, name) - getattr(getattr(s, finds), name))
        scale = allowed * (s.length if name.startswith("translation") else s.turn) + TINY
        size = float(np.max(gap, initial=0.0))
        if result is None or size / scale > result.ratio:
            where = "none"
            if gap.size:
                index = np.unravel_index(int(np.argmax(gap)), gap.shape)
                where = f"component {index[-1]}" + (f" of row {index[0]}" if len(index) > 1 else "")
            result = Deviation(name, size / scale, size, where, s)
    assert result is not None
    return result


def judge(hinge: Hinge, taken: list[Sample], report: Report) -> None:
    """Compare every quantity; report the most basic wrong one first, then the others."""
    kind = hinge.kind
    findings: list[tuple[int, str, str]] = []  # (rank, sentence, short form)
    broken, proper = check_rotation(taken)
    if proper:
        findings.append((1, proper.format(kind=kind), "rotation"))
    report.rows.append(Row("rotation is orthonormal, det +1", broken, PROPER))
    for family, base in (("translation", "offset"), ("rotation", "rotation")):
        names = [f"{family}_{part}" for part in ("partials", "drift", "bias")]
        found = [worst(name, taken) for name in names]
        _, drift, bias = found
        for d in found:
            allowed = SECOND if d is bias else FIRST
            order = "second derivative" if d is bias else "derivative"
            report.rows.append(Row(f"{d.name} is the {order} of {base}", d.ratio * allowed, allowed))
        wrong = [d for d in found if d.ratio > 1.0]
        if not wrong or (family == "rotation" and proper):
            continue
        if family == "rotation" and all(worst(name, taken, "transposed").ratio <= 1.0 for name in names):
            turned = "rotation looks transposed: it fits the transpose of C"
            if all(
                np.allclose(-s.says.rotation_partials, s.finds.rotation_partials, 0.0, 1e-6) for s in taken
            ):
                turned += ", or rotation_partials has the wrong sign"
            findings.append(
                (1, f"rotation of {kind}: {wrong[0].name} differs from its derivative {wrong[0]}. {turned} "
                 "(C maps components in the base of end b to end a, 3.3.24)", f"rotation ({turned})")
            )  # fmt: skip
        elif bias in wrong and len(wrong) > 1 and fits_itself(hinge, family, taken):
            findings.append(
                (0 if base == "offset" else 1,
                 f"{base} of {kind} does not fit its derivatives: {wrong[0].name} differs from the derivative of "
                 f"{base} {wrong[0]}, while {', '.join(names[:2])} and {names[2]} fit one another", base)
            )  # fmt: skip
        else:
            for d in wrong:
                against = f"the derivative of {base}"
                if d is bias:
                    against = f"the second derivative of {base}"
                    if d is wrong[0]:
                        drifts = max(float(np.max(np.abs(getattr(s.says, names[1])))) for s in taken) > 0.0
                        against = f"the derivative of {names[0]}" + (f" and {names[1]}" if drifts else "")
                elif d is drift:
                    against = f"the derivative of {base} with respect to time"
                findings.append(
                    (2 + names.index(d.name), f"{d.name} of {kind} differs from {against} {d}",
                     f"{d.name} (by {d.size:.2g}, {d.where})")
                )  # fmt: skip
    if findings:
        findings.sort(key=lambda finding: finding[0])
        others = ", ".join(short for _, _, short in findings[1:])
        raise ElementError(f"check: {findings[0][1]}." + (f" Also wrong: {others}." if others else ""))


def check_rotation(taken: list[Sample]) -> tuple[float, str]:
    """Return (largest deviation of C from a rotation, description of the error or "")."""
    largest, text = 0.0, ""
    for s in taken:
        C = s.says.rotation
        gap = np.abs(C @ C.T - np.eye(3))
        size = float(np.max(gap))
        if size > PROPER and size > largest:
            i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
            text = (
                f"rotation of {{kind}} is not orthonormal: C C^T differs from 1 by {size:.2g} "
                f"(component {i}, {j}) {at(s.q, s.u, s.t)}"
            )
        elif not text and np.linalg.det(C) < 0.0:
            text = f"rotation of {{kind}} is a reflection: det C = -1, wanted +1, {at(s.q, s.u, s.t)}"
        largest = max(largest, size)
    return largest, text


def fits_itself(hinge: Hinge, family: str, taken: list[Sample]) -> bool:
    """Tell whether the bias is the derivative of the velocity that the hinge states, for any pose."""
    for s in taken:

        def velocity(eps: float, s: Sample = s) -> Floats:
            m = hinge.motion(hinge.move(s.q, eps * s.u), s.u, s.t + eps)
            return np.asarray(getattr(m, family + "_partials").T @ s.u + getattr(m, family + "_drift"))

        d = differences(velocity, (3,), orders=1)
        gap = np.max(np.abs(d.first - getattr(s.says, family + "_bias")))
        if d.error <= 1.0 and gap > SECOND * max(1.0, float(d.size[0])):
            return False
    return True


def check_rank(hinge: Hinge, taken: list[Sample], report: Report) -> None:
    """Check that the speeds are necessary and independent (3.3.36)."""
    n = hinge.n_speeds
    if n == 0:
        return
    smallest = 1.0
    for s in taken:
        y = np.hstack((s.says.translation_partials, s.says.rotation_partials))
        lengths = np.linalg.norm(y, axis=1)
        y = y / np.where(lengths > TINY, lengths, 1.0)[:, None]
        left, values, _ = np.linalg.svd(y)
        smallest = min(smallest, float(values[-1]))
        if values[-1] < RANK:
            nothing = left[:, -1] / np.where(lengths > TINY, lengths, 1.0)
            raise ElementError(
                f"check: the coordinates of {hinge.kind} are not independent: [v w] has rank "
                f"{int(np.sum(values >= RANK))}, wanted {n} (3.3.36), {at(s.q, s.u, s.t)}: the speeds "
                f"{shown(nothing / np.max(np.abs(nothing)))} move nothing. Leave a coordinate out, or keep "
                "singular positions out of domain()."
            )
    report.rows.append(
        Row(f"[v w] has rank {n}: one over its smallest singular value", 1.0 / smallest, 1.0 / RANK)
    )


# ---------------------------------------------------------------- depends on its arguments only
def same_twice(hinge: Hinge, here: tuple[Floats, Floats, float], there: tuple[Floats, Floats, float]) -> None:
    """Check that the hinge gives the same result twice, and again after another call."""
    first = evaluated(hinge, *here)
    second = evaluated(hinge, *here)
    evaluated(hinge, *there)
    _compare_exactly(hinge, first, second, *here)
    _compare_exactly(hinge, first, evaluated(hinge, *here), *here)


def check_repeatable(hinge: Hinge, taken: list[Sample], report: Report) -> None:
    """Check that the hinge gives the same result again after other calls."""
    for s in taken:
        _compare_exactly(hinge, s.says, evaluated(hinge, s.q, s.u, s.t), s.q, s.u, s.t)
    report.rows.append(Row("same arguments, same result", 0.0, 0.0))


def _compare_exactly(hinge: Hinge, a: Motion, b: Motion, q: Floats, u: Floats, t: float) -> None:
    for name in Motion._fields:
        x, y = getattr(a, name), getattr(b, name)
        if x.tobytes() != y.tobytes():
            gap = np.abs(x - y)
            raise ElementError(
                f"check: {name} of {hinge.kind} is not the same when asked twice {at(q, u, t)}: it differs by "
                f"{np.max(gap):.2g}. A hinge must depend on its arguments and fields only."
            )


# ---------------------------------------------------------------- inverse and compiled form
def check_coordinates(hinge: Hinge, taken: list[Sample], rng: np.random.Generator, report: Report) -> None:
    """Check that coordinates() reproduces the pose from a nearby guess."""
    accepted = inspect.signature(hinge.coordinates).parameters
    largest = 0.0
    for s in taken:
        guess = hinge.move(s.q, 1e-3 * rng.uniform(-1.0, 1.0, len(s.u)))
        options: dict[str, Any] = {k: v for k, v in (("guess", guess), ("t", s.t)) if k in accepted}
        where = f"of {hinge.kind} for the pose {at(s.q, s.u, s.t)}"
        try:
            q = hinge.coordinates(s.says.offset.copy(), s.says.rotation.copy(), **options)
        except Exception as error:
            raise ElementError(
                f"check: coordinates() {where} raised {type(error).__name__}: {error}"
            ) from error
        if np.shape(q) != s.q.shape or not np.all(np.isfinite(q)):
            raise ElementError(f"check: coordinates() {where} gives {q!r}; wanted {len(s.q)} numbers.")
        m = hinge.motion(q, t=s.t)
        gap = max(
            float(np.max(np.abs(m.offset - s.says.offset))) / (s.length + TINY),
            float(np.max(np.abs(rotation_vector(m.rotation @ s.says.rotation.T)))),
        )
        if gap > FIRST:
            raise ElementError(
                f"check: coordinates() {where} gives q = {shown(q)}, whose pose is {gap:.2g} away from it."
            )
        largest = max(largest, gap)
    report.rows.append(Row("coordinates() inverts the pose", largest, FIRST))


def check_compiled(hinge: Hinge, taken: list[Sample], report: Report) -> None:
    """Check that the compiled hinge gives the same result and writes nowhere else."""
    n = hinge.n_speeds
    report.way = make_entry(hinge).way
    largest = 0.0
    for s in taken:
        q, u = s.q.copy(), s.u.copy()
        buffer, record = guarded(24 + 6 * n)
        compiled = motion_views(record, n)
        compiled.rotation[:] = np.eye(3)
        call(hinge, "hinge", q, u, s.t, record)
        if q.tobytes() != s.q.tobytes() or u.tobytes() != s.u.tobytes():
            raise ElementError(
                f"check: {hinge.kind} changes q or u {at(s.q, s.u, s.t)}: they are for reading only."
            )
        check_guard(hinge, buffer, at(s.q, s.u, s.t))
        expected = s.says
        if has_pose(hinge):  # the other quantities come from compiled code anyway
            offset, rotation = python_pose(hinge, s.q, s.t)
            expected = expected._replace(offset=offset, rotation=rotation)
        for name in Motion._fields:
            gap = np.abs(getattr(compiled, name) - getattr(expected, name))
            size = float(np.max(gap, initial=0.0))
            scale = s.length if name.startswith(("translation", "offset")) else s.turn
            if not size <= ROUND * scale + TINY:
                raise ElementError(
                    f"check: compiled, {name} of {hinge.kind} differs from the same source run by Python by "
                    f"{size:.2g} {at(s.q, s.u, s.t)}. Module constants are frozen when compiled; integers wrap."
                )
            largest = max(largest, size / (scale + TINY))
    report.rows.append(Row("through its address: equal to Python, writes inside its arrays", largest, ROUND))
