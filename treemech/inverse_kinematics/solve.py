"""Inverse kinematics of trees and closed chains, see `Mechanism.inverse_kinematics`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import ElementError
from treemech.topology.arrays import Floats
from treemech.topology.body import as_number

from ..analyses.contacts import open_contacts, refuse_passed, unilateral, without
from ..analyses.states import make_state, state_at, unpack
from ..results.state import State, reference_state
from .ends import Ends
from .limits import Limits
from .posture import posture_of, settle
from .problem import Problem
from .search import Deviation, Found, descend, problem_found, reach
from .solution import Solution, told
from .targets import Wanted, is_end, read_targets

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_SAME = 1e-5  # positions and entries of rotations of bodies that differ by less are the same, in sizes
_POLISHED = 3  # of the starts that do not reach the targets, so many are followed to the nearest pose


class Solver:
    """What is common to all solutions of one call."""

    def __init__(
        self, mech: "Mechanism", state: Any, weights: Any, limits: Any, posture: Any, tolerance: Any
    ) -> None:
        self.mech, self.weights = mech, weights
        self.start = _start(mech, state)
        self.t = self.start.t
        self.tolerance = as_number(tolerance, "inverse_kinematics: tolerance")
        if not self.tolerance > 0.0:
            raise ElementError(
                f"inverse_kinematics: tolerance is {tolerance!r}; wanted a positive number [m, rad]."
            )
        self.near = {name: q for name, (q, _) in self.start.cut.items()} if self.start.cut else {}
        self.limits = Limits(mech, self.t, limits)
        given = weights if isinstance(weights, Mapping) else {}
        of_hinges = {k: w for k, w in given.items() if not is_end(mech, k)}
        if of_hinges and posture is None:
            raise ElementError(
                f"inverse_kinematics: {next(iter(of_hinges))!r} has a weight, but no posture is given: posture=state, or by name."
            )
        self.posture: Deviation | None = None
        if posture is not None:
            self.posture = posture_of(mech, self.t, posture, mech._numbered(of_hinges), self.start)

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Leave out loads, and the unilateral constraints that are open at the start, within the context."""
        mech, start = self.mech, self.start
        unpack(mech, start, "inverse_kinematics")
        self.open = open_contacts(mech, start.t, start.q, start.u)
        with mech._core.unloaded(), without(mech, self.open):
            yield

    def problem(self, targets: list[Wanted]) -> Problem:
        """Return the search for these targets."""
        return Problem(self.mech, self.t, Ends(self.mech, self.t, targets), self.limits)

    def best(self, problem: Problem, q: Floats, attempts: int) -> tuple[Found, int]:
        """Return the first position found that reaches the targets, else the nearest; and the number of starts."""
        missed: list[Found] = []
        count = 0
        for count, start in enumerate(problem.starts(q, self.near), 1):
            if len(start):
                found = reach(problem, start, self.tolerance)
                if found.reached:
                    return found, count
                missed.append(found)
            if count >= attempts:
                break
        if not missed:
            raise self.unclosed(attempts)
        polished = [
            self.nearest(problem, one) for one in sorted(missed, key=lambda one: one.cost)[:_POLISHED]
        ]
        least = min(one.cost for one in polished)
        return next(one for one in polished if one.cost <= least * (1.0 + 1e-9)), count

    def unclosed(self, attempts: int) -> Exception:
        """Return the error for chains that cannot be closed within the limits."""
        from treemech.topology import ConvergenceError

        named = (
            f" within the limits of {', '.join(map(repr, self.limits.names[:6]))}" if len(self.limits) else ""
        )
        return ConvergenceError(
            f"inverse_kinematics: the chains of {self.mech.name!r} do not close{named}, from {attempts} starts: give a state of "
            "mech.assemble(...), or other limits."
        )

    def nearest(self, problem: Problem, found: Found) -> Found:
        """Follow what does not reach the targets to the nearest pose around."""
        problem.mech._core.chord_work.q[:] = found.chords
        q, done = descend(problem, problem.ends.measure, problem.chords, found.q)
        return problem_found(problem, q, self.tolerance, found.iterations + done)

    def settled(self, problem: Problem, found: Found) -> Found:
        """Move to the posture, if one is given, with whole turns next to the start."""
        problem.mech._core.chord_work.q[:] = found.chords
        if self.posture is not None:
            settled = settle(problem, self.posture, found, self.tolerance)
            if settled.reached or not found.reached:
                found = settled
        q = problem.near(found.q, self.start.q)
        return found if q is found.q else problem_found(problem, q, self.tolerance, found.iterations)

    def solution(self, problem: Problem, found: Found, attempts: int) -> Solution:
        """Return the result for the user."""
        mech, ends, core = self.mech, problem.ends, self.mech._core
        gaps = {x.name: gap for x, gap in zip(ends.targets, ends.gaps(found.q), strict=True)}
        reached = {
            x.name: (x.root[0] == 0.0 or gaps[x.name].distance <= 2.0 * self.tolerance)
            and (x.root[1] == 0.0 or gaps[x.name].angle <= 2.0 * self.tolerance)
            for x in ends.targets
        }
        core.chord_work.q[:] = found.chords
        at = self.limits.at(self.limits.values(found.q)) if len(self.limits) else []
        rates = [str(mech.speeds[k]) for k in np.flatnonzero(~problem.free)]
        success = all(reached.values())
        message = told(gaps, reached, at, attempts, rates)
        return Solution(self.state(found), success, message, gaps, reached, tuple(at), found.iterations)

    def state(self, found: Found) -> State:
        """Return the state of a position, at rest but for what is prescribed."""
        mech, start = self.mech, self.start
        if not mech._core.layout.chords.rows:
            u = start.u if mech._prescriptions else np.zeros(mech.nu)
            return State(self.t, found.q, u, start.x, start.memory, coordinates=mech._lagrange)
        from ..assembly.speeds import Speeds

        u = Speeds(mech, self.t, None, None, None).find(found.q, start.u)
        mech._core.chord_work.q[:] = found.chords
        made = state_at(mech, self.t, found.q, u, start.z)
        if unilateral(mech):
            refuse_passed(mech, made, self.open)
        return made


def solve(
    mech: "Mechanism",
    targets: Any,
    state: Any,
    weights: Any,
    limits: Any,
    posture: Any,
    attempts: int,
    tolerance: float,
) -> Solution:
    """Find one position that brings the ends to their targets."""
    solver = Solver(mech, state, weights, limits, posture, tolerance)
    with solver.searching():
        problem = solver.problem(read_targets(mech, targets, weights))
        found, count = solver.best(problem, solver.start.q, attempts)
        return solver.solution(problem, solver.settled(problem, found), count)


def solve_all(
    mech: "Mechanism",
    targets: Any,
    state: Any,
    weights: Any,
    limits: Any,
    posture: Any,
    attempts: int,
    tolerance: float,
    count: int,
) -> list[Solution]:
    """Find several positions, the nearest to the start first; the nearest pose alone if none reaches the targets."""
    solver = Solver(mech, state, weights, limits, posture, tolerance)
    with solver.searching():
        problem = solver.problem(read_targets(mech, targets, weights))
        kept: list[tuple[float, Found, Floats]] = []
        used = 0
        for used, start in enumerate(problem.starts(solver.start.q, solver.near), 1):
            found = reach(problem, start, solver.tolerance) if len(start) else None
            if found is not None and found.reached:
                found = solver.settled(problem, found)
                there = problem.ends.bodies(found.q)
                if all(np.max(np.abs(there - other)) > _SAME * problem.scale for _, _, other in kept):
                    kept.append((_far(problem, found.q, solver.start.q), found, there))
            if used >= attempts:
                break
        if not kept:
            found, used = solver.best(problem, solver.start.q, attempts)
            return [solver.solution(problem, solver.settled(problem, found), used)]
        kept.sort(key=lambda one: one[0])
        return [solver.solution(problem, found, used) for _, found, _ in kept[:count]]


def _far(problem: Problem, q: Floats, start: Floats) -> float:
    """Return the sum of squares of the differences of coordinates; Euler parameters count as half angles."""
    difference = q - start
    for first, _ in problem.lagrange.places.attitudes:
        difference[first : first + 4] *= 2.0
    return float(difference @ difference)


def _start(mech: "Mechanism", state: Any) -> State:
    """Return the state to start from, with prescribed coordinates at their signals, at rest."""
    if state is None:
        if mech._prescriptions or mech._info.chords or mech._core.nz:
            return make_state(mech)
        return reference_state(mech._lagrange, 0.0)
    t, q, u = unpack(mech, state, "inverse_kinematics")
    x, memory = (state.x, state.memory) if isinstance(state, State) else (np.zeros(0), np.zeros(0))
    cut = state.cut if isinstance(state, State) else {}
    q, u = np.array(q, dtype=np.float64), np.zeros(mech.nu)
    if mech._prescriptions:
        driven = make_state(mech, t)
        for p in mech._prescriptions:
            c = next(c for c in mech._lagrange.hinges if c.name == p.hinge)
            q[c.q + p.coordinate] = driven.q[c.q + p.coordinate]
            u[c.u + p.coordinate] = driven.u[c.u + p.coordinate]
    return State(float(t), q, u, x, memory, coordinates=mech._lagrange, cut=cut)
