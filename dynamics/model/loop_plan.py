"""Static sparse pattern and workspace for the equations of motion with constraints (6.3.4-6)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.plan.arrays import Plan
from treemech.kinematics.plan.columns import chord, speed
from treemech.topology.arrays import Floats, Ints, addresses

from ..equations import watch
from ..equations.loop_arrays import LoopPlan, LoopWork
from .ordering import analyse

if TYPE_CHECKING:
    from treemech.kinematics.layout.chords import ChordLayout


def _added_products(
    chords: "ChordLayout", kept: Ints, weightless: NDArray[np.bool_]
) -> list[tuple[int, int, int, int, int]]:
    """Return (kept row, entry, entry, speed, speed) of the products of entries of P that are added to A.

    They belong to the chords that hold frames without mass.
    """
    found = []
    for row in chords.plan.chord:
        path = chords.plan.path[row[chord.PATH_START] : row[chord.PATH_END], chord.SPEED].tolist()
        if not weightless[path].any():
            continue
        first, n = int(row[chord.FIRST_ENTRY]), int(row[chord.N_ROWS])
        for j in range(n):
            r = int(kept[row[chord.FIRST_ROW] + j])
            for k, a in enumerate(path if r >= 0 else ()):
                for l, b in enumerate(path):
                    if l <= k or a == b:  # the lower half of a symmetric matrix
                        found.append((r, first + k * n + j, first + l * n + j, a, b))
    return found


def make_loop_plan(
    plan: Plan, chords: "ChordLayout", vanishing: NDArray[np.bool_], weightless: NDArray[np.bool_]
) -> LoopPlan:
    """Make the pattern and its ordering.

    `vanishing` marks constraint rows that are zero in all positions, `weightless` the speeds, in regular
    order, that take part in a motion without inertia.
    """
    nu = len(plan.dof)
    packed = [0]
    a_row: list[int] = []
    a_column: list[int] = []
    for d in range(nu):
        for start, stop in plan.runs[plan.run_start[d] : plan.run_start[d + 1]]:
            a_row += [d] * int(stop - start)
            a_column += range(int(start), int(stop))
        packed.append(len(a_row))
    kept = np.where(vanishing, -1, np.cumsum(~vanishing) - 1).astype(np.int64)
    p_row: list[int] = []
    p_speed: list[int] = []
    for row in chords.plan.chord:
        for d in chords.plan.path[row[chord.PATH_START] : row[chord.PATH_END], chord.SPEED]:
            p_row += range(int(row[chord.FIRST_ROW]), int(row[chord.FIRST_ROW] + row[chord.N_ROWS]))
            p_speed += [int(d)] * int(row[chord.N_ROWS])
        if row[chord.FIRST_ENTRY] + (row[chord.PATH_END] - row[chord.PATH_START]) * row[chord.N_ROWS] != len(
            p_row
        ):
            raise AssertionError("entries of P out of step")
    used = [k for k, r in enumerate(p_row) if kept[r] >= 0]
    used_row, used_speed = [int(kept[p_row[k]]) for k in used], [p_speed[k] for k in used]
    added = _added_products(chords, kept, weightless)
    pattern = analyse(
        nu,
        int(np.sum(~vanishing)),
        np.array(a_row + [nu + r for r in used_row] + [h[3] for h in added], dtype=np.int64),
        np.array(a_column + used_speed + [h[4] for h in added], dtype=np.int64),
    )
    fixed = np.zeros(nu, dtype=np.int64)
    fixed[plan.prescribed[:, speed.PRESCRIBED_DOF]] = 1
    switches = [
        int(x)
        for row, element in zip(chords.plan.chord, chords.elements, strict=True)
        if getattr(element, "unilateral", False)
        for x in (row[chord.FIRST_ROW], row[chord.N_ROWS])
    ]
    slot, used_slot, added_slot = np.split(pattern.slot, np.cumsum([len(a_row), len(used)]))
    arrays = (
        packed, kept, fixed, switches, p_row, p_speed, a_row, a_column, slot, used, used_row, used_speed, used_slot,
        [h[0] for h in added], [h[1] for h in added], [h[2] for h in added], added_slot, pattern.diagonal, pattern.perm,
        pattern.Ap, pattern.Ai, pattern.Lp, pattern.Li, pattern.Rp, pattern.Ri, pattern.Rs,
    )  # fmt: skip
    return LoopPlan(*(np.ascontiguousarray(a, dtype=np.int64) for a in arrays))


class Samples(NamedTuple):
    """Random positions at which rows are looked at, and the hinges that gave them."""

    hinges: tuple[Any, ...]
    places: tuple[tuple[Floats, dict[str, Floats]], ...]  # q, coordinates of cut hinges

    @classmethod
    def of(cls, hinges: Sequence[Any], cut: Sequence[Any], rng: "np.random.Generator") -> "Samples":
        """Choose three positions."""
        places = []
        for _ in range(3):
            q = np.concatenate([np.zeros(0), *(hinge.sample(rng) for hinge in hinges)])
            places.append((q, {c.name: c.element.sample(rng) for c in cut}))
        return cls((*hinges, *(c.element for c in cut)), tuple(places))


class Pattern(NamedTuple):
    """Pattern with its ordering, and what it was made for. It is never written to: cores of one structure share it."""

    plan: LoopPlan
    vanishing: NDArray[np.bool_]
    weightless: NDArray[np.bool_]
    samples: Samples

    def samples_of(self, hinges: Sequence[Any], cut: Sequence[Any]) -> Samples | None:
        """Return the positions if these are the hinges that gave them."""
        own = (*hinges, *(c.element for c in cut))
        same = len(own) == len(self.samples.hinges)
        return (
            self.samples
            if same and all(a is b for a, b in zip(own, self.samples.hinges, strict=True))
            else None
        )

    def fits(self, vanishing: NDArray[np.bool_], weightless: NDArray[np.bool_]) -> bool:
        """Tell whether a model of the same structure has this pattern."""
        return bool(np.array_equal(self.vanishing, vanishing) and np.array_equal(self.weightless, weightless))


def make_loop_work(plan: LoopPlan, nq: int, n_reactions: int) -> LoopWork:
    """Make the work arrays for a pattern."""
    size, m = len(plan.perm), int(np.sum(plan.kept >= 0))
    zeros, ints = np.zeros, lambda n: np.zeros(max(n, 1), dtype=np.int64)
    nnz = int(plan.Lp[-1])
    return LoopWork(
        A=zeros(max(len(plan.speed_row), 1)), Ax=zeros(len(plan.Ai)), Lx=zeros(max(nnz, 1)), D=zeros(size), inverse=zeros(size),
        Y=zeros(size),
        right=zeros(size), x=zeros(size), b=zeros(size), scale=np.ones(max(m, 1)), monitor=zeros(watch.N_MONITOR),
        workspace_q=zeros(max(nq, 1)), workspace_u=zeros(max(len(plan.fixed), 1)), workspace_rows=zeros(max(m, 1) * len(plan.fixed) + 1),
        reaction=zeros(6 * n_reactions * (6 * n_reactions + 2) + 48), base=zeros(size),
        masked=ints(m),
        off=ints(len(plan.kept)), held=plan.fixed.copy(), independent=ints(len(plan.fixed)),
    )  # fmt: skip


def extend_context(chord_context: Ints, plan: LoopPlan, work: LoopWork) -> Ints:
    """Return the loop context: that of the chords, then sizes and addresses of these arrays."""
    arrays = (*plan, *work)
    sizes = [len(a) for a in arrays]
    return np.array([*chord_context, *sizes, *addresses(arrays)], dtype=np.int64)
