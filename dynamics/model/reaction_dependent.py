"""Elements that depend on the load of a chord (`reaction_of=`), for a given motion.

Inverse dynamics, equilibrium and derivatives need them. While the loads they see are held, they are elements
like all others. The solution is found when the loads they see equal those that follow from the multipliers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.plan.columns import body, chord, effort, row, speed
from treemech.topology import ConvergenceError
from treemech.topology.arrays import Floats
from treemech.topology.differences import Central, adaptive_difference

from .composite_derivatives import speeds_before
from .core import Core

_STEPS = 50
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
        applied, names = core.layout.efforts.applied, core.layout.chords.names
        self.numbers = [k for k, a in enumerate(applied) if a.reaction_of is not None]
        self.chords = [names.index(str(applied[k].reaction_of)) for k in self.numbers]
        self.names = [applied[k].name for k in self.numbers]
        rows = plan.efforts[self.numbers]
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

    def wrenches(self) -> Floats:
        """Return (rows, 6 k): the loads that the elements see per multiplier, at the rows computed last."""
        work, chords = self.core.chord_work, self.core.layout.chords.plan.chord
        found = np.zeros((len(work.row), 6 * len(self.numbers)))
        for k, c in enumerate(self.chords):
            rows = slice(chords[c, chord.FIRST_ROW], chords[c, chord.FIRST_ROW] + chords[c, chord.N_ROWS])
            found[rows, 6 * k : 6 * k + 6] = work.row[rows, row.F : row.F + 6]
        return found

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

    def follow(self, by: Floats, chord_loads_q: Floats, P: Floats, balanced: NDArray[np.bool_]) -> Floats:
        """Return the derivatives of the loads seen (6 k, .), from those of A ud - Q, `by`.

        The first columns are by q. Loads on the balanced speeds are carried by the multipliers alone.
        """
        seen = np.zeros((self.places.size, by.shape[1]))
        seen[:, : self.core.nu] = chord_loads_q[self.chords].reshape(-1, self.core.nu)
        answer = self.wrenches().T @ np.linalg.pinv(P[:, balanced].T, rcond=1e-10)
        matrix = np.eye(len(seen)) + answer @ self.derivatives()[balanced]
        return np.asarray(np.linalg.solve(matrix, seen + answer @ by[balanced]))

    def solve_reactions(
        self, evaluate: Callable[[], Floats], respond: Callable[[Floats], Floats]
    ) -> ReactionSolution:
        """Solve for the loads that the elements see, by Newton's method with the derivatives of the elements.

        `evaluate()` returns A ud - Q with the loads seen now, `respond` the multipliers for it, a linear
        function.
        """
        workspace, last, zero = self.core.work.effort_records, np.inf, np.zeros(self.core.nu)
        for _ in range(_STEPS):
            with self.held():
                required = evaluate()
            multipliers, wrenches = respond(required), self.wrenches()
            seen = multipliers @ wrenches
            gap = seen - workspace[self.places].ravel()
            size, scale = float(np.max(np.abs(gap))), max(1.0, float(np.max(np.abs(seen))))
            if size <= 1e-14 * scale or (size <= 1e-10 * scale and size >= 0.25 * last):
                return ReactionSolution(required, multipliers)
            base = respond(zero)
            answers = np.array([respond(-column) - base for column in self.derivatives().T])
            try:
                step = np.linalg.solve(np.eye(len(gap)) - (answers @ wrenches).T, gap)
            except np.linalg.LinAlgError:
                break
            workspace[self.places] += step.reshape(self.places.shape)
            last = size
        workspace[self.places] = 0.0
        first = self.core.layout.efforts.applied[self.numbers[0]]
        raise ConvergenceError(
            f"element {first.name!r} and the load of {first.reaction_of!r} it depends on have no common solution for this motion."
        )
