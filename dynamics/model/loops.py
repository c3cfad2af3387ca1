"""Chords of one model in the compiled core: arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.kernel.status import OK
from treemech.kinematics.manifold import move
from treemech.kinematics.plan.columns import chord, effort, row, speed
from treemech.kinematics.rank import pivoted
from treemech.kinematics.rows import worst_row
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats, addresses

from ..equations import watch
from ..native import entry_points as native
from .inertia_check import refuse_weightless, weightless_speeds
from .loop_plan import Pattern, Samples, extend_context, make_loop_plan, make_loop_work
from .stabilisation import stabilisation

if TYPE_CHECKING:
    from .core import Core

REGULAR = 1e-8  # pivots above this part of their usual size: the rows are independent
_RANK = 1e-6  # singular values below this part of the largest count as zero
ROUNDING = 1e-10  # a row below this part of its usual size is zero but for rounding, of the data too
OPEN = 1e-6  # [m, rad] a larger gap is no closed position
SMALL = 1e-3  # a row below this part of its usual size is small, and not the measure of its own pivot
_NEAR = 1e-2  # part of the largest pivot below which a singular position is near
_FIRST_LOOK, _LAST_LOOK = 1e-6, 0.5  # [rad] turns from such a start within which usual pivots are looked for
_FAR, _AT_POSITION = (
    5e-2,
    1e-4,
)  # pivot of a position that is far enough, of a start that is beside a singular one


class ClosedMotion(NamedTuple):
    """Solution of the equations of motion with chords (6.3.6) for many states."""

    ud: Floats
    multipliers: Floats
    residual: Floats  # (n, 3) the largest of f, P u + P0, P ud + P00
    cut_q: Floats  # coordinates of cut hinges
    cut_u: Floats
    cut_ud: Floats
    loads: Floats  # (n, nc, 6) of every chord, on the body of end b, at that end
    tau: Floats  # loads of the drives: what the speeds need beyond the loads that act
    elements: Floats  # (n, .) records of all elements


class Loops:
    """Pattern, factors and work arrays of the constraint equations, with their context."""

    def __init__(self, core: Core, pattern: Pattern | None = None) -> None:
        rng, layout = np.random.default_rng(2), core.layout.chords
        scale, usual = np.full(len(layout.rows), np.nan), np.zeros(len(layout.rows))
        plan, weightless, free = core.layout.plan, np.ones(core.nu, dtype=bool), core.free_speeds()
        hinges = [c.hinge for c in core.coordinates.hinges], [c for c in core.tree.chords if c.is_hinge]
        samples = None if pattern is None else pattern.samples_of(*hinges)
        samples = samples or Samples.of(*hinges, rng)
        for q, cut in samples.places:  # a row that is zero at three random positions is zero everywhere
            core.reset_chords(cut)
            P, A = core.constraints(0.0, q, np.zeros(core.nu)).partials, core.mass_matrix(0.0, q)
            inertia, largest = np.diag(A), float(np.max(A, initial=1e-300))
            mobility = 1.0 / np.where(inertia > 1e-13 * largest, inertia, largest)
            weightless[free] &= weightless_speeds(A[np.ix_(free, free)])
            scale = np.fmax(scale, P**2 @ mobility)
            usual = np.fmax(usual, _usual_scale(P, mobility, layout.plan.chord))
        scale = np.where(np.isfinite(scale), scale, 1.0)  # rows that cannot be evaluated there
        self.vanishing = scale <= ROUNDING**2 * usual
        for entry in layout.plan.chord:
            own = self.vanishing[entry[chord.FIRST_ROW] : entry[chord.FIRST_ROW] + entry[chord.N_ROWS]]
            entry[chord.SKIP] = sum(1 << k for k in np.flatnonzero(own).tolist())
        core.chord_work.partials[:] = 0.0
        light = (weightless & free)[plan.dof[:, speed.PUBLIC]]
        if pattern is None or not pattern.fits(self.vanishing, light):
            pattern = Pattern(
                make_loop_plan(plan, layout, self.vanishing, light), self.vanishing, light, samples
            )
        self.pattern, self.plan = pattern, pattern.plan
        self.work = make_loop_work(self.plan, core.nq, int(np.sum(plan.efforts[:, effort.REACTION] >= 0)))
        self.kept = np.flatnonzero(~self.vanishing)
        self.core, self.n_rows, self.n_kept = core, len(layout.rows), len(self.kept)
        self.usual = np.maximum(usual[self.kept], 1e-300)
        self.work.scale[: self.n_kept] = np.maximum(scale[self.kept], SMALL**2 * self.usual)
        self.context = extend_context(core.chord_context, self.plan, self.work)
        self.rank = self.n_kept
        self.leader: Loops | None = None
        core.reset_chords()

    def follow(self, leader: Loops) -> None:
        """Choose the rows that another core of the same model chooses.

        Difference steps need this: their positions may be open.
        """
        self.leader = leader

    @property
    def selected(self) -> int:
        """Rank if rows have to be selected, 0 if all are independent."""
        return self.rank if self.rank < self.n_kept - int(np.sum(self.work.off[self.kept])) else 0

    def regular(self, t: float, q: Floats, u: Floats, tau: Floats | None = None) -> ClosedMotion | None:
        """Solve one state with all rows. Return None if it is not closed, or if its rows have to be chosen."""
        self.work.masked[: self.n_kept] = self.work.off[self.kept]
        self.work.monitor[: watch.STAGE_PIVOTS] = 0.0
        self.rank = self.n_kept
        found = self.solve(np.array([t]), q[None], u[None], None, None if tau is None else tau[None])
        closed = found.residual[0, 0] <= OPEN and np.isfinite(found.ud).all()
        return found if closed and self.work.monitor[watch.LAST_PIVOT] > REGULAR else None

    def choose(self, t: float, q: Floats, u: Floats, closed: bool = False) -> int:
        """Choose independent rows at a closed position and mask the others.

        Return the rank of the constraints. Elements and loads are not evaluated: the rows do not depend on
        them. Open positions are refused; if `closed`, so are speeds that open the chain.
        """
        core = self.core
        if self.leader is not None:
            self.work.masked[:] = self.leader.work.masked
            self.rank = self.leader.rank
            return self.rank
        masked, off = self.work.masked[: self.n_kept], self.work.off[self.kept]
        self.work.monitor[:] = 0.0
        masked[:] = off
        self.rank = self.n_kept
        with core.unloaded():
            found = self.solve(np.array([t]), q[None], u[None])
        self._refuse_open(row.POSITION, float(found.residual[0, 0]), "open by")
        if not np.isfinite(found.ud).all():
            refuse_weightless(core, t, q)
        if closed:
            self._refuse_open(row.VELOCITY, float(found.residual[0, 1]), "opening at a rate of")
        self.rank = self.n_kept - int(np.sum(off))
        if self.rank and not self.work.monitor[watch.LAST_PIVOT] > REGULAR:
            P = core.constraints(t, q, u).partials
            weighted = self._weighted(t, q, P) * ((1 - off) / np.sqrt(self.usual))[:, None]
            values = np.linalg.svd(weighted, compute_uv=False)
            self.rank = int(np.sum(values > _RANK * max(float(values.max(initial=0.0)), 1e-300)))
            masked[:] = 1
            masked[pivoted(weighted)[: self.rank]] = 0
        self.work.monitor[watch.LARGEST_PIVOT] = (
            0.0 if self.selected else self._largest_around(t, q, u, found.ud[0])
        )
        return self.rank

    def _largest_around(self, t: float, q: Floats, u: Floats, ud: Floats) -> float:
        """Return the largest pivot on the way that speeds or accelerations lead, if that of the last position is small; else 0.

        Pivots are compared with the largest so far. At a start beside a singular position that is the pivot there,
        beside which the position would look regular.
        """
        core, monitor = self.core, self.work.monitor
        here = largest = float(monitor[watch.LAST_PIVOT])
        if not 0.0 < here < _AT_POSITION:
            return 0.0
        cut = core.chord_work.q.copy()
        axes = np.linalg.norm(core.work.speed[:, speed.PARTIAL_W : speed.PARTIAL_W + 3], axis=1)
        public = core.layout.plan.dof[:, speed.PUBLIC]
        for way, hurry in ((u, 1.0), (ud, 0.0)):
            turn = float(np.max(axes * np.abs(way[public]), initial=0.0)) or float(
                np.max(np.abs(way), initial=0.0)
            )
            step, before = _FIRST_LOOK / turn if turn > 0.0 else np.inf, here
            while step * turn <= _LAST_LOOK and largest < _FAR:
                with core.unloaded():
                    self.solve(
                        np.array([t + hurry * step]), move(core.coordinates, q, step * way)[None], u[None]
                    )
                found = float(monitor[watch.LAST_PIVOT])
                largest = max(largest, found)
                if found > 4.0 * here and found < 1.5 * before:
                    break
                step, before = 2.0 * step, found
        core.chord_work.q[:] = cut
        return largest

    def _refuse_open(self, level: int, largest: float, what: str) -> None:
        if largest > OPEN:
            residual = self.core.chord_work.row[:, level] * (1 - self.work.off[: self.n_rows])
            name, gap = worst_row(self.core.layout.chords.rows, residual)
            raise TreemechError(
                f"the chain is {what} {gap:.3g} at {name!r}: make the state with mech.assemble(...)."
            )

    def _weighted(self, t: float, q: Floats, P: Floats) -> Floats:
        """Return P L^-T with A = L L^T, for free speeds and rows that do not vanish.

        The rank is that of this matrix (8.2).
        """
        free = self.core.free_speeds()
        try:
            L = np.linalg.cholesky(self.inertia(t, q, P)[np.ix_(free, free)])
        except np.linalg.LinAlgError:
            refuse_weightless(self.core, t, q)
            raise
        return np.asarray(np.linalg.solve(L, P[self.kept][:, free].T).T)

    def inertia(self, t: float, q: Floats, P: Floats) -> Floats:
        """Return A, with P^T D P added for frames without mass, which chords hold: it has an inverse.

        Solutions of A x = Q + P^T lambda with P x given are the same with both.
        """
        A = self.core.mass_matrix(t, q)
        rows = self.kept[np.unique(self.plan.added_row)]
        rows = rows[self.work.off[rows] == 0]
        D = 1.0 / self.work.scale[self.plan.kept[rows]]
        return np.asarray(A + (P[rows].T * D) @ P[rows])

    def stabilise(self, how: str | tuple[str, float]) -> bool:
        """Set how the constraints are kept. Return whether states are projected."""
        name, gain = stabilisation(how)
        monitor = self.work.monitor
        monitor[watch.NEAR] = _NEAR if name == "default" else 0.0
        monitor[watch.GAIN] = gain if name == "baumgarte" else 0.0
        monitor[watch.PARTITIONED] = float(name == "partitioning")
        monitor[watch.WATCHED], monitor[watch.LAST_PASSED] = 1.0, np.inf
        self.work.independent[:] = (
            0  # chosen after the first step: the choice of another run may be a bad one here
        )
        projects = name in ("default", "projection", "partitioning")
        if len(self.plan.unilateral) and not projects:
            first = self.core.layout.chords.rows[self.plan.unilateral[0]][0]
            raise TreemechError(f"{first!r} is unilateral: it cannot switch with stabilisation={name!r}.")
        return projects

    def solve(
        self, t: Floats, q: Floats, u: Floats, cut: Floats | None = None, tau: Floats | None = None
    ) -> ClosedMotion:
        """Return accelerations, multipliers and the loads of the chords for many states (6.3.6).

        Coordinates of cut hinges that are not given (nan) are found near those of the previous state. Among
        redundant rows only independent ones carry loads (`reactions.smallest_multipliers` distributes them).
        """
        core, n = self.core, len(t)
        if not core.nu:
            first = core.tree.chords[0].name
            raise TreemechError(
                f"nothing can move, and {first!r} closes a chain of rigid hinges: their loads are not decided. Leave it out."
            )
        self.work.monitor[[watch.GAIN, watch.PARTITIONED]] = 0.0
        largest, self.work.monitor[watch.LARGEST_PIVOT] = (
            self.work.monitor[watch.LARGEST_PIVOT],
            1e300,
        )  # always refine
        nc, work = len(core.layout.chords.plan.chord), core.chord_work
        times, q, u = np.array(t, dtype=np.float64), np.ascontiguousarray(q), np.ascontiguousarray(u)
        found = ClosedMotion(
            np.zeros((n, core.nu)),
            np.zeros((n, self.n_rows)),
            np.zeros((n, 3)),
            np.full((n, len(work.q)), np.nan) if cut is None else np.array(cut, dtype=np.float64),
            np.zeros((n, len(work.u))),
            np.zeros((n, len(work.u))),
            np.zeros((n, nc, 6)),
            np.zeros((n, core.nu)),
            np.zeros((n, len(core.work.effort_records))),
        )
        load = np.zeros((n, core.nu)) if tau is None else np.ascontiguousarray(tau)
        with core.guard() as failure:
            status = native.entry("loop_dynamics")(
                n, *addresses((times, q, u, found.cut_q, load)), self.selected,
                *addresses((
                    found.ud, found.multipliers, found.residual, found.cut_u, found.cut_ud, found.loads, found.tau,
                    found.elements, self.context,
                )),
            )  # fmt: skip
        self.work.monitor[watch.LARGEST_PIVOT] = largest
        if status != OK:
            core.fail(status, float(times[0]), failure)
        return found

    def release(self, names: Collection[str]) -> None:
        """Let go exactly these unilateral chords; all others hold."""
        for first, count in self.plan.unilateral.reshape(-1, 2):
            self.work.off[first : first + count] = self.core.layout.chords.rows[first][0] in names

    def released(self) -> tuple[str, ...]:
        """Return the unilateral chords that have let go."""
        firsts = self.plan.unilateral[::2].tolist()
        return tuple(self.core.layout.chords.rows[first][0] for first in firsts if self.work.off[first])

    def switch(self, number: int) -> tuple[str, bool]:
        """Let a unilateral chord (its number among them) go, or let it hold.

        Return its name and whether it holds now.
        """
        first, count = self.plan.unilateral[2 * number : 2 * number + 2]
        self.work.off[first : first + count] ^= 1
        return self.core.layout.chords.rows[first][0], not self.work.off[first]

    def row_name(self, kept: int) -> str:
        """Return the connection of a row of the matrix."""
        return self.core.layout.chords.rows[int(self.kept[kept])][0]

    def take_passed(self) -> list[tuple[float, str]]:
        """Take over (time, connection) of the singular positions passed since the last call."""
        count = int(self.work.monitor[watch.N_PASSED])
        pairs = self.work.monitor[watch.PASSED : watch.PASSED + 2 * count].reshape(-1, 2)
        self.work.monitor[watch.N_PASSED] = 0.0
        return [(float(t), self.row_name(int(entry))) for t, entry in pairs]


def _usual_scale(P: Floats, mobility: Floats, chords: NDArray[np.int64]) -> Floats:
    """Return for every row the sum of P^2 / A that is usual for its chord: of its largest row, at least of 1 m or 1 rad.

    Only speeds that move the chord count: masses of other parts of a model do not decide which rows are small.
    """
    usual = np.zeros(len(P))
    for entry in chords:
        own = slice(entry[chord.FIRST_ROW], entry[chord.FIRST_ROW] + entry[chord.N_ROWS])
        rows = np.where(np.isfinite(P[own]), P[own], 0.0)
        moved = mobility[np.any(rows != 0.0, axis=0)]
        usual[own] = max(float(np.max(rows**2 @ mobility, initial=0.0)), float(np.max(moved, initial=0.0)))
    return usual
