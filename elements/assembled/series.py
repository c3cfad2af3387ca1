"""Hinges in series as one hinge: a kinematic assembly of hinge elements (7.2), reduced by rank.

Between the members are massless frames. The motions of the members, one after the other (5.2), give the
motion of end b as a function of all their coordinates (7.2.4). Coordinates that do not move it, such as the
spin of a rod between two balls, are redundant: they stay at their reference.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology.arrays import Floats
from treemech.topology.body import as_rotation, as_vector
from treemech.topology.errors import ElementError
from treemech.topology.parameter import as_float, plain

from ..compilation.members import address_at, call_element, stack_array
from ..element import record, structure
from ..hinge import Hinge, Motion, axis_base
from ..hinges.ball import Ball
from ..hinges.ball_bryant import BallBryant
from ..hinges.free import Free
from ..hinges.revolute import Revolute
from ..hinges.translation import Translation

_RANK = 1e-8  # a partial counts if this part of it is independent of the others


class Member(NamedTuple):
    """Hinge of a series: the place of its first end in the frame before it, and whether this is its end b.

    A member without a hinge is a fixed step to the next frame of the same body.
    """

    name: str
    hinge: Hinge | None
    offset: Floats
    rotation: Floats
    backward: bool = False
    base: Floats | None = None  # replaces the base of the hinge

    def axes(self) -> Floats:
        """Return the constant rotation of both end bases in which the hinge is written."""
        if self.hinge is None:
            return np.eye(3)
        return self.hinge.base() if self.base is None else self.base


class Frame(NamedTuple):
    """Pose of a frame in the base of end a, and the partials of all speeds there (n, 3)."""

    offset: Floats
    rotation: Floats
    v: Floats
    w: Floats


# Columns of a member in `numbers`: its address (0: no hinge), where its record, coordinates and speeds begin
ADDRESS, RECORD, NQ, NU, BACKWARD, OFFSET, BEFORE, AFTER, COORDINATES, SPEEDS = (
    0,
    1,
    2,
    3,
    4,
    5,
    8,
    17,
    26,
    27,
)
N_MEMBER = 28
# Columns of the motion of a frame: pose, velocity, acceleration for ud = 0, velocity for u = 0, partials of six
# speeds
X, R, V, W, A, ALPHA, V0, W0, PARTIAL_V, PARTIAL_W = 0, 3, 12, 15, 18, 21, 24, 27, 30, 48


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Series(Hinge):
    """Hinges in a row, without mass between them.

    ``Series(hinge, offset, hinge, (offset, rotation), hinge)``: an offset, or an offset and a rotation, leads
    from end b of one hinge to end a of the next, or to end b of the series. The coordinates are those of the
    members in their order, without the redundant ones (``redundant``, by name). One ball keeps its Euler
    parameters: the last that is not reduced. The others have Bryant angles, with the third axis along their
    spin if the spin is redundant (so they are singular where the second angle is +-90 degrees).

    Parameters
    ----------
    parts : hinges, offsets [m], (offset, rotation)
    names : names of the hinges, for `coordinate_names` and `redundant`; default "1", "2", ...

    Examples
    --------
    >>> rod = Series(Ball(), (0, 0, 0.5), Ball(), names=("A", "B"))  # figure 7.2
    >>> rod.n_speeds, rod.redundant, rod.coordinate_names
    (5, ('A[2]',), ('A[0]', 'A[1]', 'B[0]', 'B[1]', 'B[2]', 'B[3]'))
    """

    numbers: Any
    members: tuple[Member, ...] = structure()
    reduced: tuple[Member, ...] = (
        structure()
    )  # as they are evaluated: plain, their redundant coordinates locked
    rank: int = structure()
    coordinate_names: tuple[str, ...] = structure()
    redundant: tuple[str, ...] = structure()
    _reference: Floats = structure()
    _places: tuple[tuple[int, Hinge], ...] = structure()
    _entries: list[Any] = structure()
    sizes_at: ClassVar[tuple[int, ...]] = (2,)  # index of the number of speeds in the record

    def __init__(self, *parts: Any, names: Sequence[str] | None = None) -> None:
        self._set("members", as_members(parts, names))
        self._reduce(euler=True)

    @classmethod
    def of(cls, members: Sequence[Member], euler: bool = True) -> "Series":
        """Return a series of members, the last one without a hinge.

        With `euler` one of them may keep its Euler parameters.
        """
        series = cls.__new__(cls)
        series._set("members", tuple(members))
        series._reduce(euler)
        return series

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        names = " - ".join(f"{m.name} ({m.hinge.kind})" for m in self.members if m.hinge is not None)
        return f"Series({names})"

    @classmethod
    def example(cls) -> "Series":
        return cls(Revolute(), (1.0, 0.0, 0.0))

    # ------------------------------------------------------------ reduction by rank
    def _reduce(self, euler: bool) -> None:
        """Find the coordinates that are kept, and write the numbers of the series."""
        simple = aligned([p for m in self.members for p in plainly(m)])
        rank, kept = independent(plain(simple))
        runs, k, start = list[tuple[Member, list[Member], list[bool]]](), 0, 0
        for m in self.members:
            parts = simple[k : k + len(plainly(m))]
            n = sum(speeds_of(p) for p in parts)
            runs.append((m, parts, kept[start : start + n]))
            k, start = k + len(parts), start + n
        attitudes = [i for i, (m, _, keep) in enumerate(runs) if has_attitude(m) and all(keep)]
        keeper = attitudes[-1] if attitudes and euler else -1
        used, flags = list[Member](), list[list[bool]]()
        for i, (m, parts, keep) in enumerate(runs):
            for part in [m] if i == keeper else parts:
                n = speeds_of(part)
                used.append(part)
                flags.append(keep[:n])
                keep = keep[n:]
                if has_attitude(part) and i != keeper:
                    raise ElementError(
                        f"{self!r}: one hinge may have Euler parameters here, and none of them redundant or coupled; write "
                        f"{m.name!r} ({part.hinge.kind}) in angles."  # type: ignore[union-attr]
                    )
        self._lay_out(used, flags, rank)

    def _lay_out(self, members: list[Member], flags: list[list[bool]], rank: int) -> None:
        """Set the coordinates, their names, and the numbers that the compiled method reads."""
        bases = [m.axes() for m in members]
        geometry = (x for m, base in zip(members, bases, strict=True) for x in (m.offset, m.rotation, base))
        rows = np.zeros((len(members), N_MEMBER), dtype=np.result_type(*geometry))
        names, redundant, tail, tail_at = list[str](), list[str](), list[float](), 2 + rows.size
        nq = nu = 0
        euler, reference, places, counts = None, list[float](), list[tuple[int, Hinge]](), dict[str, int]()
        for row, m, base, keep in zip(rows, members, bases, flags, strict=True):
            row[OFFSET : OFFSET + 3] = m.offset
            row[BEFORE : BEFORE + 9] = (m.rotation @ base).ravel()
            row[AFTER : AFTER + 9] = base.T.ravel()
            if m.hinge is None:
                continue
            hinge, whole = m.hinge, all(keep)
            row[[NQ, NU, BACKWARD]] = hinge.n_coordinates, hinge.n_speeds, m.backward
            row[COORDINATES] = tail_at + len(tail)
            own = hinge.reference()
            total = sum(x.hinge.n_coordinates for x in members if x.hinge is not None and x.name == m.name)
            for k in range(hinge.n_coordinates):
                count = counts.get(m.name, 0)
                counts[m.name] = count + 1
                label = m.name if total == 1 else f"{m.name}[{count}]"
                if whole or keep[k]:
                    tail += [float(nq), 0.0]
                    if k == hinge.euler_parameters:
                        euler = nq
                    nq, names, reference = nq + 1, [*names, label], [*reference, as_float(own[k])]
                else:
                    tail += [-1.0, as_float(own[k])]
                    redundant.append(label)
            row[SPEEDS] = tail_at + len(tail)
            for k in range(hinge.n_speeds):
                tail.append(float(nu) if keep[k] else -1.0)
                nu += keep[k]
            row[RECORD] = tail_at + len(tail)
            places.append((int(row[RECORD]), hinge))
            tail += record(hinge)[0].tolist()
        self._set("numbers", np.concatenate(([len(members), nu], rows.ravel(), tail)))
        self._set("n_coordinates", nq)
        self._set("euler_parameters", euler)
        self._set("rank", rank)
        self._set("coordinate_names", tuple(names))
        self._set("redundant", tuple(redundant))
        self._set("reduced", tuple(members))
        self._set("_reference", np.array(reference))
        self._set("_places", tuple(places))
        self._set("_entries", [])

    def complete(self, numbers: Floats, signals: list[tuple[int, Any]]) -> None:
        self.complete_at(numbers, 1, signals)

    def complete_at(self, numbers: Floats, start: int, signals: list[tuple[int, Any]]) -> None:
        """Write the addresses and append the signals of the members; `self.numbers` begin at `start`."""
        from ..compilation.entry import make_entry

        if not self._entries and numbers.dtype != object:
            self._set("_entries", [make_entry(hinge) for _, hinge in self._places])
        addresses = [entry.address for entry in self._entries] or [np.nan] * len(self._places)
        rows = [k for k, m in enumerate(self.reduced) if m.hinge is not None]
        for k, address, (at, hinge) in zip(rows, addresses, self._places, strict=True):
            numbers[start + 2 + N_MEMBER * k + ADDRESS] = address
            signals += [(start + at + place, signal) for place, signal in record(hinge)[1]]

    def members_at(self, start: int) -> list[tuple[int, Hinge]]:
        """Return the members with the index of each address; the record of the series begins at `start`."""
        rows = [k for k, m in enumerate(self.reduced) if m.hinge is not None]
        found = list[tuple[int, Hinge]]()
        for k, (at, hinge) in zip(rows, self._places, strict=True):
            found.append((start + 1 + 2 + N_MEMBER * k + ADDRESS, hinge))
            if isinstance(hinge, Series):
                found += hinge.members_at(start + 1 + at)
        return found

    # ------------------------------------------------------------ contract
    def reference(self) -> Floats:
        return np.array(self._reference)

    def sample(self, rng: "np.random.Generator") -> Floats:
        full = [m.hinge.sample(rng) for m in self.reduced if m.hinge is not None]
        return np.array(
            [
                x
                for x, at in zip(np.concatenate([np.zeros(0), *full]), self._sources(), strict=True)
                if at >= 0
            ]
        )

    def domain(self) -> tuple[ArrayLike, ArrayLike]:
        ends = [
            [np.asarray(x, dtype=np.float64) for x in m.hinge.domain()]
            for m in self.reduced
            if m.hinge is not None
        ]
        keep = np.array(self._sources()) >= 0
        return tuple(np.concatenate([np.zeros(0), *(e[k] for e in ends)])[keep] for k in range(2))  # type: ignore[return-value]

    def _sources(self) -> list[float]:
        """Return the index in q of every coordinate of all members, or -1."""
        rows = self.numbers[2 : 2 + N_MEMBER * len(self.reduced)].reshape(-1, N_MEMBER)
        return [self.numbers[int(r[COORDINATES]) + 2 * k] for r in rows for k in range(int(r[NQ]))]

    def evaluate(self, q: Floats, u: Floats, t: float, motion: Motion) -> None:
        frame = stack_array("float", 1, (66,))
        if follow(self.numbers, 0, int(self.numbers[0]), q, u, t, frame) != 1:
            raise RuntimeError("a hinge of the series failed")
        for j in range(3):
            motion.offset[j] = frame[X + j]
            motion.translation_drift[j] = frame[V0 + j]
            motion.rotation_drift[j] = frame[W0 + j]
            motion.translation_bias[j] = frame[A + j]
            motion.rotation_bias[j] = frame[ALPHA + j]
            for i in range(3):
                motion.rotation[i, j] = frame[R + 3 * i + j]
        for k in range(int(self.numbers[1])):
            for j in range(3):
                motion.translation_partials[k, j] = frame[PARTIAL_V + 3 * k + j]
                motion.rotation_partials[k, j] = frame[PARTIAL_W + 3 * k + j]


# ---------------------------------------------------------------- members
def as_members(parts: Sequence[Any], names: Sequence[str] | None) -> tuple[Member, ...]:
    """Return the hinges with the step that leads to each, and a last member with the step to end b."""
    members, offset, rotation = list[Member](), np.zeros(3), np.eye(3)
    count = sum(isinstance(p, Hinge) for p in parts)
    given = [str(k + 1) for k in range(count)] if names is None else [str(n) for n in names]
    if not count or len(given) != count:
        raise ElementError(
            f"Series has {count} hinges and {len(given)} names; wanted hinges, and a name for each."
        )
    for part in parts:
        if isinstance(part, type) and issubclass(part, Hinge):
            raise ElementError(f"Series: {part.__name__} is a class; wanted {part.__name__}(...).")
        if isinstance(part, Hinge):
            members.append(Member(given[len(members)], part, offset, rotation))
            offset, rotation = np.zeros(3), np.eye(3)
            continue
        pair = isinstance(part, tuple) and len(part) == 2
        step = as_vector(part[0] if pair else part, "Series: offset between hinges")
        offset = offset + rotation @ step
        if pair:
            rotation = rotation @ as_rotation(part[1], "Series: rotation between hinges")
    return (*members, Member("", None, offset, rotation))


def speeds_of(m: Member) -> int:
    """Return the number of speeds of a member."""
    return m.hinge.n_speeds if m.hinge is not None else 0


def has_attitude(m: Member) -> bool:
    """Tell whether a member has Euler parameters."""
    return m.hinge is not None and m.hinge.euler_parameters is not None


def plainly(m: Member) -> tuple[Member, ...]:
    """Replace a ball or free hinge by hinges whose speeds are the rates of their coordinates."""
    zero, one = np.zeros(3), np.eye(3)
    if type(m.hinge) is Ball:
        return (m._replace(hinge=BallBryant()),)
    if type(m.hinge) is Free:
        turn, shift = Member(m.name, BallBryant(), zero, one), Member(m.name, Translation(), zero, one)
        parts = (turn, shift) if m.backward else (shift, turn)
        parts = tuple(p._replace(backward=m.backward) for p in parts)  # type: ignore[assignment]
        return (parts[0]._replace(offset=m.offset, rotation=m.rotation), parts[1])
    return (m,)


def aligned(members: list[Member]) -> list[Member]:
    """Turn the third axis of the first ball with a redundant spin along this spin."""
    still = plain(members)
    Y = partials(still, references(still))
    s, null = np.linalg.svd(Y)[1:]
    null = null[int(np.sum(s > _RANK * max(s[0], 1e-300))) :] if Y.shape[1] else null
    start = 0
    for k, m in enumerate(members):
        n = speeds_of(m)
        block = null[:, start : start + n]
        if type(m.hinge) is BallBryant and len(null) == 1 and np.linalg.norm(block) > 1e-6:
            size = np.abs(block[0])
            if (
                block[0, np.argmax(size > 0.5 * size.max())] < 0.0
            ):  # either sign solves Y n = 0: always the same one
                null, block = -null, -block
            spin = block[0] if still is members else carried(members, Y, null[0])[start : start + n]
            return [*members[:k], m._replace(base=axis_base(spin, "spin")), *members[k + 1 :]]
        start += n
    return members


def carried(members: list[Member], Y: Floats, null: Floats) -> Floats:
    """Return the speeds n that do not move end b, as dual numbers: Y n = 0, Y n' = -Y' n, n' normal to n."""
    from treemech.topology.dual import derivatives, joined

    rate = derivatives(partials(members, references(members), object))
    return joined(null, -np.linalg.pinv(Y, rcond=_RANK) @ rate @ null)  # type: ignore[return-value]


def references(members: Sequence[Member]) -> list[Floats]:
    """Return the reference coordinates of all hinges."""
    return [m.hinge.reference() for m in members if m.hinge is not None]


def frames(members: Sequence[Member], q: Sequence[Floats], kind: Any = np.float64) -> list[Frame]:
    """Return all frames from end a on, at the coordinates q (5.2); `kind` is the type of the numbers."""
    n = sum(speeds_of(m) for m in members)
    found = [Frame(np.zeros(3), np.eye(3), np.zeros((n, 3), dtype=kind), np.zeros((n, 3), dtype=kind))]
    numbers, first = list(q), 0
    for m in members:
        x, R_, v, w = found[-1]
        step = R_ @ m.offset
        x, v, R_ = x + step, v + np.cross(w, step), R_ @ m.rotation
        if m.hinge is not None:
            base, own = m.axes(), m.hinge.motion(numbers.pop(0), kind=kind)
            c, C, pv, pw = own.offset, own.rotation, own.translation_partials, own.rotation_partials
            if m.backward:
                pv, pw = -(pv - np.cross(pw, c)) @ C, -pw @ C
                c, C = -C.T @ c, C.T
            R_ = R_ @ base
            step, k = R_ @ c, m.hinge.n_speeds
            x, v, w = x + step, v + np.cross(w, step), w.copy()
            v[first : first + k], w[first : first + k] = pv @ R_.T, pw @ R_.T
            R_, first = R_ @ C @ base.T, first + k
        found.append(Frame(x, R_, v, w))
    return found


def partials(members: Sequence[Member], q: Sequence[Floats], kind: Any = np.float64) -> Floats:
    """Return Y of (7.2.5): partials of the motion of end b (6, n), lengths divided by the assembly's size."""
    all_frames = frames(members, q, kind)
    size = max(float(np.max(np.abs(plain(f.offset)))) for f in all_frames)
    return np.vstack((all_frames[-1].v.T / (size or 1.0), all_frames[-1].w.T))


def independent(members: Sequence[Member]) -> tuple[int, list[bool]]:
    """Return (rank in a general position, flags of the speeds that are kept).

    From the last speed on, those are kept that move end b in a new way. The reference position decides,
    unless it is singular.
    """
    rng = np.random.default_rng(0)
    hinges = [m.hinge for m in members if m.hinge is not None]
    places = [partials(members, [h.sample(rng) for h in hinges]) for _ in range(4)]
    here = partials(members, references(members))
    rank = max((rank_of(Y) for Y in (*places, here)), default=0)
    Y = here if rank_of(here) == rank else next(Y for Y in places if rank_of(Y) == rank)
    kept, base = [False] * Y.shape[1], np.zeros((6, 0))
    for k in range(Y.shape[1] - 1, -1, -1):
        size = float(np.linalg.norm(Y[:, k]))
        left = Y[:, k] - base @ (base.T @ Y[:, k])
        left = left - base @ (base.T @ left)
        if np.linalg.norm(left) > _RANK * max(size, 1e-300) and size > _RANK:
            kept[k], base = True, np.column_stack((base, left / np.linalg.norm(left)))
    return rank, kept


def rank_of(Y: Floats) -> int:
    """Return the rank of the partials.

    >>> rank_of(np.ones((6, 2)))
    1
    """
    if not Y.size:
        return 0
    s = np.linalg.svd(Y, compute_uv=False)
    return int(np.sum(s > _RANK * max(float(s[0]), 1e-300)))


# ---------------------------------------------------------------- compiled
def follow(numbers, at, stages, q, u, t, frame):  # type: ignore[no-untyped-def]
    """Compute the motion of the frame behind the first `stages` members (5.2).

    The numbers of the series begin at `at`. Returns 1, or 0 if a member fails.
    """
    record = stack_array("float", 1, (60,))
    own_q = stack_array("float", 1, (8,))
    own_u = stack_array("float", 1, (8,))
    n = int(numbers[at + 1])
    for k in range(66):
        frame[k] = 0.0
    for k in range(3):
        frame[R + 4 * k] = 1.0
    for m in range(stages):
        row = at + 2 + N_MEMBER * m
        carry(frame, turned(frame, R, three(numbers, row + OFFSET)), n)
        turn(frame, numbers, row + BEFORE)
        address, nu = address_at(numbers, row + ADDRESS), int(numbers[row + NU])
        if address == 0:
            continue
        for k in range(int(numbers[row + NQ])):
            source = at + int(numbers[row + COORDINATES]) + 2 * k
            own_q[k] = q[int(numbers[source])] if numbers[source] >= 0.0 else numbers[source + 1]
        for k in range(nu):
            source = at + int(numbers[row + SPEEDS]) + k
            own_u[k] = u[int(numbers[source])] if numbers[source] >= 0.0 else 0.0
        for k in range(60):
            record[k] = 0.0
        for k in range(3):
            record[3 + 4 * k] = 1.0
        if (
            call_element(address, own_q, 0, own_u, 0, t, numbers, at + int(numbers[row + RECORD]), record, 0)
            != 1
        ):
            return 0
        if numbers[row + BACKWARD] > 0.5:
            turn_round(record, nu, own_u)
        add_hinge(frame, record, nu, own_u, numbers, at + int(numbers[row + SPEEDS]), n)
        turn(frame, record, 3)
        turn(frame, numbers, row + AFTER)
    return 1


def add_hinge(frame, record, nu, u, numbers, speeds, n):  # type: ignore[no-untyped-def]
    """Go from end a of a hinge to its end b: add its relative motion to the frame's (5.2.8), (5.2.18)."""
    pv, pw, rest = 12, 12 + 3 * nu, 12 + 6 * nu
    v0, w0 = three(record, rest), three(record, rest + 3)
    v, w = v0, w0
    for k in range(nu):
        v = plus(v, times(u[k], three(record, pv + 3 * k)))
        w = plus(w, times(u[k], three(record, pw + 3 * k)))
    carry(frame, turned(frame, R, three(record, 0)), n)
    v, w, omega = turned(frame, R, v), turned(frame, R, w), three(frame, W)
    coriolis = times(2.0, cross(omega, v))
    put(frame, A, plus(coriolis, turned(frame, R, three(record, rest + 6))))
    put(frame, ALPHA, plus(cross(omega, w), turned(frame, R, three(record, rest + 9))))
    put(frame, V, v)
    put(frame, W, w)
    put(frame, V0, turned(frame, R, v0))
    put(frame, W0, turned(frame, R, w0))
    for k in range(nu):
        if numbers[speeds + k] >= 0.0:
            place = 3 * int(numbers[speeds + k])
            put(frame, PARTIAL_V + place, turned(frame, R, three(record, pv + 3 * k)))
            put(frame, PARTIAL_W + place, turned(frame, R, three(record, pw + 3 * k)))


def carry(frame, step, n):  # type: ignore[no-untyped-def]
    """Go to another point of the same frame."""
    omega = three(frame, W)
    put(frame, X, step)
    put(frame, V, cross(omega, step))
    put(frame, A, plus(cross(three(frame, ALPHA), step), cross(omega, cross(omega, step))))
    put(frame, V0, cross(three(frame, W0), step))
    for k in range(n):
        put(frame, PARTIAL_V + 3 * k, cross(three(frame, PARTIAL_W + 3 * k), step))


def turn(frame, matrix, at):  # type: ignore[no-untyped-def]
    """Multiply R by the matrix at `at`."""
    for i in range(3):
        row = three(frame, R + 3 * i)
        for j in range(3):
            frame[R + 3 * i + j] = (
                row[0] * matrix[at + j] + row[1] * matrix[at + 3 + j] + row[2] * matrix[at + 6 + j]
            )


def turn_round(record, n, u):  # type: ignore[no-untyped-def]
    """Turn the motion record of a hinge to how end b sees it: c = -C^T c, C = C^T, and their derivatives."""
    pv, pw, rest = 12, 12 + 3 * n, 12 + 6 * n
    c, velocity, omega = three(record, 0), three(record, rest), three(record, rest + 3)
    for k in range(n):
        velocity = plus(velocity, times(u[k], three(record, pv + 3 * k)))
        omega = plus(omega, times(u[k], three(record, pw + 3 * k)))
    for k in range(n + 1):  # the partials, then the drift
        av, aw = (pv + 3 * k, pw + 3 * k) if k < n else (rest, rest + 3)
        v, w = three(record, av), three(record, aw)
        set_three(record, av, times(-1.0, turned_back(record, 3, plus(v, cross(c, w)))))
        set_three(record, aw, times(-1.0, turned_back(record, 3, w)))
    v00, w00 = three(record, rest + 6), three(record, rest + 9)
    inner = plus(cross(omega, c), times(-2.0, velocity))
    bias = plus(plus(v00, cross(c, w00)), cross(omega, inner))
    set_three(record, rest + 6, times(-1.0, turned_back(record, 3, bias)))
    set_three(record, rest + 9, times(-1.0, turned_back(record, 3, w00)))
    set_three(record, 0, times(-1.0, turned_back(record, 3, c)))
    for i in range(3):
        for j in range(i):
            a, b = record[3 + 3 * i + j], record[3 + 3 * j + i]
            record[3 + 3 * i + j] = b
            record[3 + 3 * j + i] = a


def three(x, k):  # type: ignore[no-untyped-def]
    return (x[k], x[k + 1], x[k + 2])


def put(x, k, v):  # type: ignore[no-untyped-def]
    """Add v to x[k:k+3]."""
    x[k] += v[0]
    x[k + 1] += v[1]
    x[k + 2] += v[2]


def set_three(x, k, v):  # type: ignore[no-untyped-def]
    x[k] = v[0]
    x[k + 1] = v[1]
    x[k + 2] = v[2]


def turned(x, k, v):  # type: ignore[no-untyped-def]
    """Return the matrix at x[k] times v."""
    return (
        x[k] * v[0] + x[k + 1] * v[1] + x[k + 2] * v[2],
        x[k + 3] * v[0] + x[k + 4] * v[1] + x[k + 5] * v[2],
        x[k + 6] * v[0] + x[k + 7] * v[1] + x[k + 8] * v[2],
    )


def turned_back(x, k, v):  # type: ignore[no-untyped-def]
    """Return the transpose of the matrix at x[k] times v."""
    return (
        x[k] * v[0] + x[k + 3] * v[1] + x[k + 6] * v[2],
        x[k + 1] * v[0] + x[k + 4] * v[1] + x[k + 7] * v[2],
        x[k + 2] * v[0] + x[k + 5] * v[1] + x[k + 8] * v[2],
    )


def cross(a, b):  # type: ignore[no-untyped-def]
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def plus(a, b):  # type: ignore[no-untyped-def]
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def times(s, a):  # type: ignore[no-untyped-def]
    return (s * a[0], s * a[1], s * a[2])
