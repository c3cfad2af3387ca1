"""Posture: what hinges should be near to with the freedoms that the targets leave."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import ElementError
from treemech.topology.arrays import Floats

from ..analyses.cut_hinges import connection_names, cut_numbers, split
from ..assembly.targets import HingeTarget, hinge_targets, measure, stacked
from ..assembly.weights import hinge_weights
from ..results.naming import as_place
from ..results.state import State, fill
from .ends import Ends
from .problem import Problem
from .search import Deviation, Found, descend, problem_found

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def posture_of(
    mech: "Mechanism", t: float, given: Any, weights: Mapping[str, Any], start: State
) -> Deviation:
    """Return the weighted distances from a posture, a state or coordinates by name, as a function of q."""
    if isinstance(given, State):
        given.check_sizes(mech.nq, mech.nu, mech._core.nz, {c.name for c in mech._info.chords}, "posture")
        targets = hinge_targets(mech, {c.name: given.q[c.q_slice] for c in mech._lagrange.hinges}, {})
    elif isinstance(given, Mapping):
        branches, cut = split(mech, mech._numbered(given))
        full = fill(mech._lagrange, start.q, branches, "q")
        targets = hinge_targets(mech, _asked(mech, full, branches), cut_numbers(mech, cut, "q"))
    else:
        raise ElementError(
            f"inverse_kinematics: posture is {given!r}; wanted a state, or coordinates by name, {{'elbow': 0.5}}."
        )
    roots = np.concatenate([np.zeros(0), *(_roots(mech, x, weights) for x in targets)])
    measured = measure(mech, t, targets)

    def deviation(q: Floats) -> tuple[Floats, Floats]:
        gaps, partials = stacked(measured(q), mech.nu)
        return roots * gaps, roots[:, None] * partials

    return deviation


def _asked(mech: "Mechanism", q: Floats, given: Mapping[str, Any]) -> dict[str, Floats]:
    """Return the coordinates of the hinges given by name, nan where nothing is given."""
    found: dict[str, Floats] = {}
    places = [as_place(name, connection_names(mech)) for name in given]
    for c in mech._lagrange.hinges:
        asked = np.zeros(c.hinge.n_coordinates, dtype=bool)
        for place in places:
            if place.owner == c.name:
                asked[place.selection] = True
        k = c.hinge.euler_parameters
        if k is not None:  # they are given together
            asked[k : k + 4] = np.any(asked[k : k + 4])
        if np.any(asked):
            found[c.name] = np.where(asked, q[c.q_slice], np.nan)
    return found


def _roots(mech: "Mechanism", target: HingeTarget, weights: Mapping[str, Any]) -> Floats:
    own = hinge_weights(mech, weights, None, "posture")[target.name]
    k = target.hinge.euler_parameters
    wanted = ~np.isnan(target.wanted)
    if k is not None:
        wanted = np.concatenate((wanted[:k], wanted[k + 1 :]))
    return np.asarray(np.sqrt(own[wanted]))


def settle(problem: Problem, posture: Deviation, found: Found, tolerance: float) -> Found:
    """Move to the posture as far as the ends may stay where they are."""
    ends = Ends(problem.mech, problem.t, problem.ends.moved(found.q))

    def rows(q: Floats) -> tuple[Floats, Floats]:
        f, P = problem.chords(q)
        gaps, J = ends.measure(q)
        return np.concatenate((f, gaps)), np.vstack((P, J))

    q, done = descend(problem, posture, rows, found.q, held=True)
    return problem_found(problem, q, tolerance, found.iterations + done)
