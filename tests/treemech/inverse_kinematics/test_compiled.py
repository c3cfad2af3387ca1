"""The compiled search takes the same way as the one in Python: two routes, the bounds by two other methods."""

import numpy as np
import pytest

import treemech as tm
from tests.support.models import random_system
from treemech.inverse_kinematics import problem as problems
from treemech.inverse_kinematics import search
from treemech.inverse_kinematics.solve import Solver
from treemech.inverse_kinematics.targets import read_targets

HINGES = (
    "Rigid",
    "Revolute",
    "Prismatic",
    "Cylindrical",
    "Universal",
    "Planar",
    "Translation",
    "Ball",
    "Free",
    "Polar",
)
SAME = 1e-7  # of coordinates after some thirty steps whose quadratic functions were solved in two ways


def model(seed):
    return random_system(seed, n=9, kinds=HINGES, loads=False).build()


def problem_of(mech, seed, limits, weights=None, spread=0.8):
    """Return (problem, start): two ends, one of them with its rotation, at a pose that can be reached."""
    rng = np.random.default_rng(seed)
    start = mech.state()
    there = np.array(start.q)
    there = search.move(mech._lagrange, there, rng.normal(scale=spread, size=mech.nu))
    state = mech.state(q=there)
    tip, other = mech.tree.bodies[-1], mech.tree.bodies[-3]
    targets = {tip.name: tuple(mech.pose(tip, state)), other.name: mech.pose(other, state).position}
    solver = Solver(mech, start, weights, limits, None, 1e-10)
    return solver.problem(read_targets(mech, targets, weights)), start.q, targets


def by_both(problem, q):
    """Return what both searches find."""
    compiled = search.reach(problem, q, 1e-10)
    kept, problem.compiled = problem.compiled, None
    try:
        return compiled, search.reach(problem, q, 1e-10)
    finally:
        problem.compiled = kept


def narrow(mech, seed, q):
    """Return limits that hold at q but stop many coordinates before they come where they would go."""
    rng = np.random.default_rng(seed + 50)
    places = zip(mech._lagrange.q_names, q, strict=True)
    attitudes = {k for c in mech._lagrange.hinges for k in _attitude(c)}
    return {
        name: (x - rng.uniform(0.0, 0.3), x + rng.uniform(0.0, 0.3))
        for k, (name, x) in enumerate(places)
        if k not in attitudes and rng.random() < 0.5
    }


def _attitude(c):
    k = c.hinge.euler_parameters
    return () if k is None else range(c.q + k, c.q + k + 4)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("limited", [False, True])
def test_both_searches_take_the_same_way(seed, limited):
    mech = model(seed)
    limits = narrow(mech, seed, mech.state().q) if limited else False
    problem, q, targets = problem_of(mech, seed, limits, {next(iter(mech.tree.bodies[-1:])).name: 2.0})
    assert problem.compiled is not None
    compiled, plain = by_both(problem, q)
    assert compiled.reached == plain.reached
    assert compiled.cost == pytest.approx(plain.cost, rel=1e-6, abs=1e-18)
    if limited:
        x = compiled.q[problem.limits.q]
        assert np.all(x >= problem.limits.low) and np.all(x <= problem.limits.high)
    if compiled.reached:
        assert np.max(np.abs(compiled.q - plain.q)) < SAME


def test_limits_stop_some_searches_and_not_others():
    """The test above sees both: targets out of reach between narrow limits, and all of them without."""
    found = []
    for seed in range(6):
        mech = model(seed)
        for limits in (False, narrow(mech, seed, mech.state().q)):
            problem, q, _ = problem_of(mech, seed, limits)
            found.append((bool(limits), search.reach(problem, q, 1e-10).reached))
    assert (True, False) in found and (False, True) in found


def test_what_it_reaches_is_where_the_ends_should_be():
    mech = model(1)
    problem, q, targets = problem_of(mech, 1, False, spread=0.3)
    found = search.reach(problem, q, 1e-10)
    assert found.reached
    state = mech.state(q=found.q)
    for name, target in targets.items():
        position, rotation = mech.pose(name, state)
        wanted = target if isinstance(target, np.ndarray) else target[0]
        assert np.max(np.abs(position - wanted)) < 2e-10
        if not isinstance(target, np.ndarray):
            assert np.max(np.abs(rotation - target[1])) < 2e-10


def test_what_is_not_plain_is_left_to_python():
    """Prescribed coordinates stay in the search that knows the allowed rates."""
    system = tm.System("driven")
    body = system.body("arm", 1.0, (1, 1, 1))
    system.connect("pin", tm.Revolute("z"), system.ground, body)
    other = system.body("hand", 1.0, (1, 1, 1))
    system.connect("wrist", tm.Revolute("z"), body.at((1, 0, 0)), other)
    system.prescribe("pin", 0.3)
    mech = system.build()
    solver = Solver(mech, None, None, None, None, 1e-10)
    problem = solver.problem(read_targets(mech, {"hand": np.eye(3)}, None))
    assert isinstance(problem, problems.Problem) and problem.compiled is None
