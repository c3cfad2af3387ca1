"""Inverse kinematics as it is called: one solution, several, or a path."""

from typing import TYPE_CHECKING, Any

from treemech.topology import ElementError

from .path import points_of, solve_path
from .solution import Solution, SolutionPath
from .solve import solve, solve_all

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_ATTEMPTS, _MANY = 48, 64


def inverse_kinematics(
    mech: "Mechanism",
    targets: Any,
    state: Any,
    weights: Any,
    limits: Any,
    posture: Any,
    solutions: int | None,
    attempts: int | None,
    tolerance: float,
) -> Solution | list[Solution] | SolutionPath:
    """Find positions that bring ends to their targets, see `Mechanism.inverse_kinematics`."""
    for name, number in (("solutions", solutions), ("attempts", attempts)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
            raise ElementError(
                f"inverse_kinematics: {name} is {number!r}; wanted a whole number of at least 1."
            )
    points = points_of(mech, targets)
    once = attempts or _ATTEMPTS
    if points is None and solutions is None:
        return solve(mech, targets, state, weights, limits, posture, once, tolerance)
    if points is None:
        many = attempts or _MANY
        assert solutions is not None
        return solve_all(mech, targets, state, weights, limits, posture, many, tolerance, solutions)
    if solutions is not None:
        raise ElementError(
            "inverse_kinematics: a path keeps one branch: leave out solutions=, and choose the branch by the state it starts at."
        )
    return solve_path(mech, points, state, weights, limits, posture, once, tolerance)
