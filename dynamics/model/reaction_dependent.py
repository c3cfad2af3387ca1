"""Elements that depend on the load of a chord (`reaction_of=`), for a given motion.

Inverse dynamics, equilibrium and derivatives need them. While the loads they see are held, they are elements
like all others. The solution is found when the loads they see equal those that follow from the multipliers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.plan.columns import body, chord, effort, row, speed
from treemech.topology import ConvergenceError, ElementError
from treemech.topology.arrays import Floats
from treemech.topology.differences import Central, adaptive_difference

from .composite_derivatives import speeds_before
from .core import Core
from .row_derivatives import row_derivatives

if TYPE_CHECKING:
    from .tree_derivatives import TreeDerivatives

_STEPS, _SMALLEST = 50, 1e-3
_SWAYED = 1e-8  # change of load per load seen, above which an element acts otherwise
_FIRST_STEP, _LEVELS, _ENOUGH = 2.0**-6, 8, 1e-12


class ReactionSolution(NamedTuple):
    """Loads that agree with those that the elements see."""

    required: Floats  # A ud - Q (nu,)
    multipliers: Floats


def _derivative(f: Callable[[float], Floats]) -> Floats:
    """Return f'(0) by central differences; the step is halved until two derivatives agree."""

    def compare(now: Central, before: Central) -> tuple[float, bool]:
        gap = float(np.max(np.abs(now.first - before.first), initial=0.0))
        size = max(float(np.max(np.abs(x), initial=0.0)) for x in (now.value, now.first))
        return gap, gap <= _ENOUGH * size

    return adaptive_difference(f, _FIRST_STEP, _LEVELS, compare)[0].first


class ReactionDependent:
    """Reaction-dependent elements of one model; most models have none."""

    def __init__(self, core: Core) -> None:
        self.core, plan = core, core.layout.plan
        applied = core.layout.efforts.applied
        self.numbers = [k for k, a in enumerate(applied) if a.reaction_of is not None]
        rows = plan.efforts[self.numbers]
        self.chords, self.frames = rows[:, effort.REACTION].tolist(), rows[:, effort.FRAME].tolist()
        before = [at for k in self.numbers for name, _, at in applied[k].sizes.motion if name == "reaction"]
        first = rows[:, effort.MOTION_RECORD] + np.array(before, dtype=np.int64)
        self.places = first[:, None] + np.arange(6)  # of the loads they see, in the records

    def __bool__(self) -> bool:
        return bool(self.numbers)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let the elements see the loads they saw last within the block: they act with all others then."""
        rows = self.core.layout.plan.efforts
        rows[self.numbers, effort.REACTION] = -1
        try:
            yield
        finally:
            rows[self.numbers, effort.REACTION] = self.chords

    def _rows(self, k: int) -> slice:
        """Return the rows of the chord that element k depends on."""
        entry = self.core.layout.chords.plan.chord[self.chords[k]]
        return slice(entry[chord.FIRST_ROW], entry[chord.FIRST_ROW] + entry[chord.N_ROWS])

    def _seen_part(self, frame: int) -> Floats:
        """Return the matrix (6, 6) that leaves out loads along the motions of the hinge of a frame."""
        entry, S = self.core.layout.plan.body[frame], self.core.work.speed
        own = slice(entry[body.DOF], entry[body.DOF] + entry[body.NU] if frame else entry[body.DOF])
        return _across(
            np.hstack(
                (S[own, speed.PARTIAL_V : speed.PARTIAL_V + 3], S[own, speed.PARTIAL_W : speed.PARTIAL_W + 3])
            )
        )

    def wrenches(self) -> Floats:
        """Return (rows, 6 k): the loads that the elements see per multiplier, at the rows computed last."""
        work = self.core.chord_work
        found = np.zeros((len(work.row), 6 * len(self.numbers)))
        for k, frame in enumerate(self.frames):
            rows = self._rows(k)
            found[rows, 6 * k : 6 * k + 6] = work.row[rows, row.F : row.F + 6] @ self._seen_part(frame)
        return found

    def seen_multipliers(self, multipliers: Floats) -> Floats:
        """Return the multipliers of the loads that the elements see, at the rows computed last.

        They differ from those given in chords that close frames.
        """
        found = multipliers.copy()
        for k, frame in enumerate(self.frames):
            rows = self._rows(k)
            F = self.core.chord_work.row[rows, row.F : row.F + 6]  # orthonormal rows
            found[rows] = F @ self._seen_part(frame) @ F.T @ multipliers[rows] if frame else multipliers[rows]
        return found

    def loads_by_q(
        self, tree: "TreeDerivatives", t: float, q: Floats, u: Floats, ud: Floats, multipliers: Floats
    ) -> Floats:
        """Return the derivatives (6 k, nu) of the loads seen by q, multipliers fixed, after tree.inverse_dynamics."""
        if not self:
            return np.zeros((0, self.core.nu))
        seen = self.seen_multipliers(multipliers)
        found = row_derivatives(self.core, tree, t, q, u, ud, seen).chord_loads_q[self.chords]
        for k, frame in enumerate(self.frames):
            if frame:
                rows = self._rows(k)
                load = multipliers[rows] @ self.core.chord_work.row[rows, row.F : row.F + 6]
                self._add_turning(found[k], frame, q, load)
        return np.asarray(found.reshape(-1, self.core.nu))

    def _add_turning(self, found: Floats, frame: int, q: Floats, load: Floats) -> None:
        """Add the derivatives of the part of a load that is seen while the motions of the hinge turn in its end b."""
        own = next(c for c in self.core.coordinates.hinges if c.number == frame)
        if own.hinge.euler_parameters is not None:  # all directions of rotation: the part is constant
            return
        R = self.core.work.body[frame, body.R : body.R + 9].reshape(3, 3)
        here, at = q[own.q_slice], np.concatenate((R.T @ load[:3], R.T @ load[3:]))

        def part(h: float, j: int) -> Floats:
            there = here.copy()
            there[j] += h
            motion = own.hinge.motion(q=there)
            C = motion.rotation
            return _across(np.hstack((motion.translation_partials @ C, motion.rotation_partials @ C))) @ at

        for j in range(own.hinge.n_speeds):
            by = _derivative(lambda h, j=j: part(h, j))  # type: ignore[misc]
            found[:, own.u + j] += np.concatenate((R @ by[:3], R @ by[3:]))

    def derivatives(self) -> Floats:
        """Return (nu, 6 k): loads on the speeds (public order) by the loads seen, at the last state."""
        core, plan, W, S = self.core, self.core.layout.plan, self.core.work.body, self.core.work.speed
        found = np.zeros((core.nu, 6 * len(self.numbers)))
        public = plan.dof[:, speed.PUBLIC]
        for k, e in enumerate(self.numbers):
            row, own = plan.efforts[e], found[:, 6 * k : 6 * k + 6]
            n, nc = int(row[effort.N_ENDS]), int(row[effort.N_ACTED])
            first = row[effort.LOAD_RECORD] + row[effort.N_LOAD]
            loads = core.work.effort_records[first : first + 6 * (6 * n + nc)].reshape(-1, 6)
            for j in range(n):
                i = int(plan.ends[row[effort.FIRST_END] + j, 0])
                arm = (
                    W[i, body.R : body.R + 9].reshape(3, 3) @ plan.end_points[row[effort.FIRST_END] + j, 9:12]
                )
                force, moment = loads[3 * j : 3 * j + 3], loads[3 * (n + j) : 3 * (n + j) + 3]
                for d in speeds_before(core, i):
                    v, w = (
                        S[d, speed.PARTIAL_V : speed.PARTIAL_V + 3],
                        S[d, speed.PARTIAL_W : speed.PARTIAL_W + 3],
                    )
                    about = W[i, body.P : body.P + 3] + arm - W[plan.dof[d, speed.OWNER], body.P : body.P + 3]
                    own[public[d]] += (v + np.cross(w, about)) @ force + w @ moment
            for j in range(nc):
                own[plan.acted[row[effort.FIRST_ACTED] + j, effort.ACTED_U]] += loads[6 * n + j]
        return found

    def swayed(self, change: Floats, act: Callable[[], Floats]) -> list[int]:
        """Return the elements that act otherwise if they see this change of the multipliers, at the last state.

        `act` returns A ud - Q at this state.
        """
        records, seen, found = self.core.work.effort_records, change @ self.wrenches(), []
        with self.held():
            before = act()
            for k, place in enumerate(self.places):
                there = records[place].copy()
                records[place] = there + seen[6 * k : 6 * k + 6]
                if np.max(np.abs(act() - before), initial=0.0) > _SWAYED * np.max(np.abs(records[place])):
                    found.append(self.numbers[k])
                records[place] = there
        return found

    def rate_derivatives(self, t: float, q: Floats, u: Floats) -> Floats:
        """Return (nx, 6 k): rates of element states by the loads seen."""
        core = self.core
        found, z = np.zeros((core.nx, self.places.size)), core.work.z.copy()
        if not np.any(core.layout.plan.efforts[self.numbers, effort.N_STATES]):
            return found
        with self.held():
            for k, place in enumerate(self.places.ravel().tolist()):
                there = core.work.effort_records[place]

                def rates(h: float, place: int = place, there: float = there) -> Floats:
                    core.work.effort_records[place] = there + h * max(1.0, abs(there))
                    return core.state_rates(t, q, u, z)[: core.nx]

                found[:, k] = _derivative(rates) / max(1.0, abs(there))
                core.work.effort_records[place] = there
            core.state_rates(t, q, u, z)
        return found

    def follow(self, by: Floats, seen_q: Floats, P: Floats, balanced: NDArray[np.bool_]) -> Floats:
        """Return the derivatives of the loads seen (6 k, .), from those of A ud - Q, `by`.

        The first columns are by q; `seen_q` has those at fixed multipliers. Loads on the balanced speeds are
        carried by the multipliers alone.
        """
        seen = np.zeros((self.places.size, by.shape[1]))
        seen[:, : self.core.nu] = seen_q
        answer = self.wrenches().T @ np.linalg.pinv(P[:, balanced].T, rcond=1e-10)
        matrix = np.eye(len(seen)) + answer @ self.derivatives()[balanced]
        return np.asarray(np.linalg.solve(matrix, seen + answer @ by[balanced]))

    def solve_reactions(
        self, evaluate: Callable[[], Floats], respond: Callable[[Floats], Floats]
    ) -> ReactionSolution:
        """Solve for the loads that the elements see, by Newton's method with the derivatives of the elements.

        `evaluate()` returns A ud - Q with the loads seen now, `respond` the multipliers for it, a linear
        function. The start is the solution without the elements, so that the result is a function of the
        motion alone; a step that leads away is halved.
        """
        workspace, zero = self.core.work.effort_records, np.zeros(self.core.nu)

        def gap_at(seen: Floats) -> tuple[ReactionSolution, Floats, float]:
            workspace[self.places] = seen.reshape(self.places.shape)
            with self.held():
                required = evaluate()
            multipliers = respond(required)
            found = multipliers @ self.wrenches()
            return ReactionSolution(required, multipliers), found - seen, max(1.0, _largest(found))

        required = evaluate()  # without the elements
        seen, last = respond(required) @ self.wrenches(), np.inf
        solution, gap, scale = gap_at(seen)
        for _ in range(_STEPS):
            size = _largest(gap)
            if size <= 1e-14 * scale or (size <= 1e-10 * scale and size >= 0.25 * last):
                return solution
            base, wrenches, last = respond(zero), self.wrenches(), size
            answers = np.array([respond(-column) - base for column in self.derivatives().T])
            try:
                step = np.linalg.solve(np.eye(len(gap)) - (answers @ wrenches).T, gap)
            except np.linalg.LinAlgError:
                break
            factor = 1.0
            while True:
                try:
                    solution, gap, scale = gap_at(seen + factor * step)
                    good = _largest(gap) <= max(last, 1e-10 * scale)
                except ElementError:
                    good = False
                    if factor < _SMALLEST:
                        raise
                if good or factor < _SMALLEST:
                    break
                factor *= 0.5
            seen = seen + factor * step
        first = self.core.layout.efforts.applied[self.numbers[0]]
        raise ConvergenceError(
            f"element {first.name!r} and the load of {first.reaction_of!r} it depends on have no common solution for this motion."
        )


def _largest(x: Floats) -> float:
    return float(np.max(np.abs(x), initial=0.0))


def _across(motions: Floats) -> Floats:
    """Return the matrix (6, 6) that projects loads onto those across the motions (n, 6)."""
    Q = np.linalg.qr(motions.T)[0]
    return np.asarray(np.eye(6) - Q @ Q.T)
