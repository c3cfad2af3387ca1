"""Constraints and mass matrices of many designs of one model, row by row in one crossing."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.plan.columns import chord, row
from treemech.topology.arrays import Floats, address

from ..model.core import Core
from ..model.loops import ROUNDING, SMALL
from .calls import Calls
from .row_steps import Numbers


class Rows(NamedTuple):
    """Constraints of rows: f, P, P u + P0, and the coordinates of cut hinges."""

    residual: Floats  # (B, m)
    partials: Floats  # (B, m, nu)
    velocity: Floats  # (B, m)
    cut: Floats  # (B, n_cut)


class RowConstraints:
    """Constraints and mass matrices of rows by one core; one thread at a time."""

    def __init__(self, core: Core, calls: Calls, numbers: Numbers | None = None) -> None:
        pack, loops, work = calls.pack, core.loops, core.chord_work
        assert pack is not None
        self.core, self.numbers = core, numbers
        nu, rest = core.nu, pack.zeros(core.nu)
        steps, inputs = [], []
        if numbers is not None:
            values = pack.zeros(len(numbers.at))
            inputs.append(values)
            steps.append(pack.step("scatter", len(values), values, pack.keep(numbers.at), numbers.base))
        lower, full, zero = pack.zeros(nu, nu), pack.zeros(nu, nu), pack.zeros(nu, nu)
        both = [
            *steps, pack.step("mass_matrix", 1, pack.t, pack.q, rest, lower, core.context_address),
            pack.step("symmetric", nu, lower, pack.keep(core.public_order.copy()), full),
        ]  # fmt: skip
        self._inertia = pack.call(both, (full,), None, tuple(inputs), pack.copy(lower, zero))
        self._none = np.zeros(max(core.nq, core.nu, core.nz, 1))
        if loops is None:
            return
        self.loops, m, places = loops, loops.n_rows, core.entry_places
        tau, cut = pack.zeros(nu), pack.zeros(max(core.n_cut, 1))
        P, flat = pack.zeros(m, nu), pack.keep(places[0] * nu + places[1])
        residual, velocity = pack.zeros(m), pack.zeros(m)
        own = [
            *steps,
            pack.step("constraints", pack.q, pack.u, rest, tau, core.chord_context, with_time=True),
            pack.step("scatter", len(flat), work.partials, flat, P),
            pack.step("gather", m, work.row.reshape(-1)[row.POSITION :], row.N_COLUMNS, residual),
            pack.step("gather", m, work.row.reshape(-1)[row.VELOCITY :], row.N_COLUMNS, velocity),
        ]
        if core.n_cut:
            own.append(pack.step("gather", core.n_cut, work.q, 1, cut))
        self._constraints = pack.call(own, (residual, P, velocity, cut), None, tuple(inputs))

    def constraints(self, t: float, q: Floats, u: Floats, numbers: Floats | None) -> Rows:
        """Return the constraints of rows; nan where an element refuses."""
        core, n = self.core, len(q)
        found = Rows(
            np.full((n, self.loops.n_rows), np.nan), np.full((n, self.loops.n_rows, core.nu), np.nan),
            np.full((n, self.loops.n_rows), np.nan), np.full((n, max(core.n_cut, 1)), np.nan),
        )  # fmt: skip
        with core.unloaded():
            self._go(self._constraints, t, q, u, numbers, found)
        return found._replace(cut=found.cut[:, : core.n_cut])

    def _all_partials(self, q: Floats, numbers: Floats | None) -> Floats:
        """Return P with the rows that vanish in the model: in a design they may not."""
        skip = self.core.layout.chords.plan.chord[:, chord.SKIP]
        kept = skip.copy()
        skip[:] = 0
        try:
            return self.constraints(0.0, q, np.zeros((len(q), self.core.nu)), numbers).partials
        finally:
            skip[:] = kept
            self.core.chord_work.partials[:] = 0.0

    def mass_matrix(self, q: Floats, numbers: Floats | None) -> Floats:
        """Return the mass matrices (B, nu, nu) of rows."""
        found = np.full((len(q), self.core.nu, self.core.nu), np.nan)
        self._go(self._inertia, 0.0, q, np.zeros((len(q), self.core.nu)), numbers, (found,))
        return found

    def _go(
        self,
        call: object,
        t: float,
        q: Floats,
        u: Floats,
        numbers: Floats | None,
        results: tuple[Floats, ...],
    ) -> None:
        q, u, time = np.ascontiguousarray(q), np.ascontiguousarray(u), np.array([t])
        given: list[tuple[int, int]] = []
        if self.numbers is not None:
            assert numbers is not None
            numbers = np.ascontiguousarray(numbers)
            given.append((address(numbers), numbers.shape[1]))
        none, n, first = (address(self._none), 0), len(q), 0
        with self.core.guard():
            while first < n:  # a row that fails is left out
                done: int = call.c.many(  # type: ignore[attr-defined]
                    first, n, (address(time), 0), (address(q), q.shape[1]) if q.shape[1] else none, (address(u), u.shape[1]), none,
                    none, tuple(given), tuple((address(x), x[0].size) for x in results),
                )  # fmt: skip
                first = done + 1

    def weighty(self, count: int, numbers: Floats | None) -> NDArray[np.bool_]:
        """Tell in which designs of a tree every motion meets inertia, at a random position."""
        rng, free = np.random.default_rng(1), self.core.free_speeds()
        q = np.concatenate([np.zeros(0), *(c.hinge.sample(rng) for c in self.core.coordinates.hinges)])
        return _weighty(self.mass_matrix(np.tile(q, (count, 1)), numbers)[:, free][:, :, free])

    def scales(self, count: int, numbers: Floats | None) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the usual size of every row that is kept (`Loops` has the formula), and which designs have its pattern."""
        loops, core = self.loops, self.core
        free, chords = core.free_speeds(), core.layout.chords.plan.chord
        scale, usual = np.full((count, loops.n_rows), np.nan), np.zeros((count, loops.n_rows))
        good = np.ones(count, dtype=bool)
        for q, _ in loops.pattern.samples.places:
            places = np.tile(q, (count, 1))
            P = self._all_partials(places, numbers)
            A = self.mass_matrix(places, numbers)
            inertia = np.diagonal(A, axis1=1, axis2=2)
            largest = np.maximum(np.nan_to_num(A).max(axis=(1, 2)), 1e-300)[:, None]
            mobility = 1.0 / np.where(inertia > 1e-13 * largest, inertia, largest)
            good &= _weighty(A[:, free][:, :, free])
            scale = np.fmax(scale, np.einsum("bij,bj->bi", P**2, mobility))
            for entry in chords:
                own = slice(entry[chord.FIRST_ROW], entry[chord.FIRST_ROW] + entry[chord.N_ROWS])
                rows = np.where(np.isfinite(P[:, own]), P[:, own], 0.0)
                moved = np.where(np.any(rows != 0.0, axis=1), mobility, 0.0).max(axis=1)
                most = np.einsum("bij,bj->bi", rows**2, mobility).max(axis=1, initial=0.0)
                usual[:, own] = np.fmax(usual[:, own], np.fmax(most, moved)[:, None])
        scale = np.where(np.isfinite(scale), scale, 1.0)
        good &= np.all((scale <= ROUNDING**2 * usual) == loops.vanishing, axis=1)
        kept = loops.kept
        return np.maximum(scale[:, kept], SMALL**2 * np.maximum(usual[:, kept], 1e-300)), good


def _weighty(A: Floats) -> NDArray[np.bool_]:
    """Tell of which mass matrices every motion meets inertia; those that cannot be told are looked at alone."""
    if not A.shape[1]:
        return np.ones(len(A), dtype=bool)
    finite = np.asarray(np.isfinite(A).all(axis=(1, 2)))
    A = np.where(finite[:, None, None], A, np.eye(A.shape[1]))
    root = np.sqrt(np.maximum(np.diagonal(A, axis1=1, axis2=2), 1e-300))
    values = np.linalg.eigvalsh(A / root[:, :, None] / root[:, None, :])
    found: NDArray[np.bool_] = finite & (values[:, 0] > 1e-12 * values[:, -1])
    return found
