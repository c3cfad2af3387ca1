"""The path of tools along a curve, on one branch.

Every point is sought from the point before alone. A step that goes farther than first derivatives foretell has
left the branch, or is about to: the targets between are then sought as well.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import ElementError
from treemech.topology.arrays import Floats
from treemech.topology.rotation import rotation_vector

from .problem import Problem
from .search import Found, descend, problem_found, reach
from .solution import Solution, SolutionPath
from .solve import Solver
from .targets import Wanted, end_of, read_targets

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_HALVINGS = 8
_MORE = 0.5  # a step may be longer than foretold by this part of it,
_ALWAYS = 0.02  # [rad, m] and by this


def points_of(mech: "Mechanism", targets: Any) -> list[Mapping[Any, Any]] | None:
    """Return the targets of every point of a path, a list or arrays with a leading axis; None for one target."""
    if isinstance(targets, Mapping):
        lengths = {end_of(mech, key)[0]: _length(value) for key, value in targets.items()}
        if not any(lengths.values()):
            return None
        known = {n for n in lengths.values() if n}
        if len(known) > 1:
            shown = ", ".join(f"{name!r}: {n}" for name, n in lengths.items())
            raise ElementError(
                f"inverse_kinematics: the paths of the ends have different numbers of points: {shown}."
            )
        return [{key: _at(value, k) for key, value in targets.items()} for k in range(known.pop())]
    if isinstance(targets, Sequence) and not isinstance(targets, str):
        if not targets:
            raise ElementError(
                "inverse_kinematics: the path has no points; wanted a list of {end: position or pose}."
            )
        for k, one in enumerate(targets):
            if not isinstance(one, Mapping) or any(_length(x) for x in one.values()):
                raise ElementError(
                    f"inverse_kinematics: point {k} of the path is {one!r}; wanted {{end: position or pose}}."
                )
        return list(targets)
    return None


def _parts(value: Any) -> tuple[Any, Any] | None:
    """Return (positions, rotations) of a pair that is not three numbers."""
    if isinstance(value, tuple | list) and len(value) == 2 and _shape(value) != (2, 3):
        return value[0], value[1]
    return None


def _length(value: Any) -> int:
    """Return the number of points of a path of one end; 0 if it is one target."""
    pair = _parts(value)
    position, rotation = pair if pair is not None else (value, None)
    if (pair is None and _shape(value)[1:] == (3, 3)) or _shape(value) == (3, 3):
        position, rotation = None, value
    rotations, positions = _shape(rotation), _shape(position)
    if len(rotations) == 3:
        return rotations[0]
    return positions[0] if len(positions) == 2 and positions[1] == 3 else 0


def _at(value: Any, k: int) -> Any:
    """Return the target at point k; what has no leading axis stays."""
    if not _length(value):
        return value
    pair = _parts(value)
    if pair is None:
        return _array(value)[k]
    position, rotation = pair
    if len(_shape(position)) == 2:
        position = position[k]
    if len(_shape(rotation)) == 3:
        rotation = _array(rotation)[k]
    return position, rotation


def _array(value: Any) -> Any:
    return value.as_matrix() if hasattr(value, "as_matrix") else value


def _shape(value: Any) -> tuple[int, ...]:
    try:
        return np.shape(_array(value))
    except ValueError:
        return ()


def solve_path(
    mech: "Mechanism",
    points: Sequence[Mapping[Any, Any]],
    state: Any,
    weights: Any,
    limits: Any,
    posture: Any,
    attempts: int,
    tolerance: float,
) -> SolutionPath:
    """Follow a path of targets: the first point as alone, then every point from the one before."""
    solver = Solver(mech, state, weights, limits, posture, tolerance)
    found, made, before = None, list[Solution](), list[Wanted]()
    with solver.searching():
        for point in points:
            wanted = read_targets(mech, point, weights)
            problem = solver.problem(wanted)
            if found is None:
                found, count = solver.best(problem, solver.start.q, attempts)
                found = solver.settled(problem, found)
            else:
                last = found.q
                mech._core.chord_work.q[:] = found.chords
                found, count = _follow(solver, before, wanted, found, 0), 1
                if solver.posture is not None:
                    found = solver.settled(problem, found)
                else:
                    found = _unturned(problem, found, last, solver.tolerance)
            before = wanted
            made.append(solver.solution(problem, found, count))
            mech._core.chord_work.q[:] = found.chords
    missed = [k for k, one in enumerate(made) if not one.success]
    message = f"all {len(made)} points are reached"
    if missed:
        message = (
            f"{len(missed)} of {len(made)} points are not reached, the first of them point {missed[0]}: "
            f"{made[missed[0]].message}"
        )
    return SolutionPath(made, not missed, message)


def _unturned(problem: Problem, found: Found, last: Floats, tolerance: float) -> Found:
    """Return the position with whole turns next to the point before."""
    q = problem.near(found.q, last)
    return found if q is found.q else problem_found(problem, q, tolerance, found.iterations)


def _follow(solver: Solver, before: list[Wanted], wanted: list[Wanted], start: Found, halvings: int) -> Found:
    """Go from the position at one point of the path to the next one, through points between where it is far."""
    problem = solver.problem(wanted)
    expected = _foretold(problem, start.q)
    found = reach(problem, start.q, solver.tolerance)
    most = (1.0 + _MORE) * expected + _ALWAYS * problem.scale
    alike = [x.name for x in before] == [x.name for x in wanted]
    if (not found.reached or _largest(problem, found.q, start.q) > most) and halvings < _HALVINGS and alike:
        between = [_between(a, b) for a, b in zip(before, wanted, strict=True)]
        if start.reached:
            problem.mech._core.chord_work.q[:] = start.chords
            half = _follow(solver, before, between, start, halvings + 1)
            if half.reached:
                problem.mech._core.chord_work.q[:] = half.chords
                return _follow(solver, between, wanted, half, halvings + 1)
    if found.reached:
        return found
    q, done = descend(problem, problem.ends.measure, problem.chords, found.q)
    return problem_found(problem, q, solver.tolerance, found.iterations + done)


def _foretold(problem: Problem, q: Floats) -> float:
    """Return the largest change of a coordinate that first derivatives foretell."""
    gaps, J = problem.ends.measure(q)
    N = problem.allowed(problem.chords(q)[1])
    if not N.shape[1]:
        return 0.0
    return float(np.max(np.abs(N @ np.linalg.lstsq(J @ N, gaps, rcond=1e-6)[0]), initial=0.0))


def _largest(problem: Problem, q: Floats, start: Floats) -> float:
    change = np.abs(problem.near(q, start) - start)
    for first, _ in problem.lagrange.places.attitudes:
        change[first : first + 4] *= 2.0
    return float(np.max(change, initial=0.0))


def _between(a: Wanted, b: Wanted) -> Wanted:
    """Return the target in the middle: of positions, and of the turn from one rotation to the other."""
    rotation = b.rotation
    if a.rotation is not None and b.rotation is not None:
        from scipy.spatial.transform import Rotation

        turn = rotation_vector(b.rotation @ a.rotation.T)
        rotation = Rotation.from_rotvec(0.5 * turn).as_matrix() @ a.rotation
    return b._replace(position=0.5 * (a.position + b.position), rotation=rotation)
