"""Derivatives through internal points: the implicit function theorem against differences."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import treemech as tm
from tests.dynamics.analyses.test_derivatives import agrees, along
from tests.dynamics.derivatives.test_efforts import Muscle, hung, seen, sprung_tree, with_states
from tests.laws.test_random_loops import moving
from tests.support.mechanisms import random_mechanism
from tests.support.models import random_state
from treemech.kinematics.manifold import move


def net():
    """Four ends, a point that hangs between them and one on the line between the first two."""
    composite = tm.Composite(
        ends=("a", "b", "c", "d"), points={"knot": 3, "bead": 1}, start={"knot": (0.1, 0.3, 0.2)}
    )
    for name, stiffness in (("a", 30.0), ("b", 45.0), ("c", 25.0), ("d", 20.0)):
        composite.connect(f"knot {name}", tm.Spring(stiffness=stiffness, length=0.03), name, "knot")
    composite.connect("bead a", tm.Spring(stiffness=30.0, length=0.02), "a", "bead")
    composite.connect("bead b", tm.Spring(stiffness=40.0, length=0.03), "bead", "b")
    composite.connect("bead c", tm.Spring(stiffness=5.0, length=0.02), "bead", "c")
    composite.connect("between", tm.Spring(stiffness=12.0, length=0.01), "bead", "knot")
    return composite


def slow_net():
    """The same with dashpots: the points are states; a muscle with a state of its own pulls at one."""
    composite = tm.Composite(
        ends=("a", "b", "c", "d"), points={"knot": 3, "bead": 1}, viscous=["knot", "bead"]
    )
    for name, damping in (("a", 3.0), ("b", 2.0), ("c", 4.0), ("d", 1.5)):
        composite.connect(f"knot {name}", tm.Spring(20.0, damping, 0.2), name, "knot")
    composite.connect("bead a", tm.Spring(30.0, 2.0, 0.1), "a", "bead")
    composite.connect("bead b", tm.Spring(40.0, 1.0, 0.2), "bead", "b")
    composite.connect("pull", Muscle(4.0), "knot", "d", inputs={"drive": 0.3, "rate": 0.5})
    return composite


def framed(start=None):
    """A frame of six coordinates between two bushings."""
    composite = tm.Composite(ends=("a", "b"), points={"frame": 6}, start=start)
    composite.connect("one", tm.Bushing((30.0, 40.0, 50.0, 6.0, 7.0, 8.0)), "a", "frame")
    composite.connect("two", tm.Bushing((35.0, 45.0, 25.0, 9.0, 5.0, 4.0)), "frame", "b")
    return composite


def join(system, rng):
    """Composites of all kinds between random bodies and the ground."""
    bodies = [system.bodies[k] for k in rng.permutation(len(system.bodies))]

    def end(k):
        return bodies[k % len(bodies)].at(rng.uniform(-0.3, 0.3, 3))

    high = system.ground.at((0.3, 0.2, 1.5))
    fast = system.connect("net", net(), end(0), end(1), high, end(2))
    system.load("weight", tm.Force(x=0.5, y=0.3, z=-0.8), fast.point("knot"))
    system.connect("framed", framed(), high, end(4))
    system.connect("slow net", slow_net(), high, end(3), end(1), system.ground.at((-1.0, 0.4, -0.7)))


@pytest.mark.parametrize("seed", range(6))
def test_composites_on_random_trees(seed):
    system = sprung_tree(seed, n=8)
    join(system, np.random.default_rng(seed))
    mech = system.build()
    state = with_states(mech, random_state(mech, seed), seed)
    found, n = mech.derivatives(state), mech.nu
    want = along(seen(mech, state), 2 * n + mech._core.nx)
    assert agrees(np.hstack((found.ud_q, found.ud_u, found.ud_x)), want[:n])
    assert agrees(np.hstack((found.x_rates_q, found.x_rates_u, found.x_rates_x)), want[n:])
    assert agrees(found.ud, mech.forward_dynamics(state).ud)


@pytest.mark.parametrize("seed", range(6))
def test_composites_in_closed_chains(seed):
    planar, loops = seed % 2 == 0, 1 + (seed // 2) % 3
    mechanism = random_mechanism(seed, planar, loops)
    join(mechanism.system, np.random.default_rng(seed))
    mech = mechanism.system.build()
    state = with_states(mech, moving(mechanism, mech, seed), seed)
    n, core = mech.nu, mech._core
    found = mech.derivatives(state)
    chosen = core.loops.kept[core.loops.work.masked[: core.loops.n_kept] == 0]
    mech.constraints(state)
    near, pivot = core.chord_work.q.copy(), core.chord_work.pivot.copy()

    def solution(d):
        core.chord_work.q[:], core.chord_work.pivot[:] = near, pivot
        core.work.z[:] = state.z
        core.work.z[: core.nx] += d[2 * n :]
        q = move(mech._lagrange, state.q, d[:n])
        now, A = (
            core.constraints(state.t, q, state.u + d[n : 2 * n], loaded=True),
            core.mass_matrix(state.t, q),
        )
        P, rates = now.partials[chosen], core.work.zd[: core.nx].copy()
        K = np.block([[A, -P.T], [P, np.zeros((len(P), len(P)))]])
        return np.concatenate((np.linalg.solve(K, np.concatenate((-now.loads, -now.bias[chosen]))), rates))

    want, m = along(solution, 2 * n + core.nx), len(chosen)
    assert agrees(np.hstack((found.ud_q, found.ud_u, found.ud_x)), want[:n])
    multipliers = np.hstack((found.multipliers_q, found.multipliers_u, found.multipliers_x))[chosen]
    assert agrees(multipliers, want[n : n + m])
    assert agrees(np.hstack((found.x_rates_q, found.x_rates_u, found.x_rates_x)), want[n + m :])


@pytest.mark.parametrize("start", [None, {"frame": (0.0, 0.05, 0.2)}])
@pytest.mark.parametrize("angle", [0.4, 2.0, np.pi])
def test_frames_are_found_however_the_whole_is_turned(angle, start):
    """They are sought half-way between the ends, not along the axes of the world: there half a turn was too far."""

    def rate_of(turn):
        axes = Rotation.from_rotvec(turn).as_matrix()
        system = tm.System("turned", gravity=axes @ (0.5, 0.0, -9.81))
        body = system.body("body", 1.0, (0.1, 0.1, 0.1))
        system.connect("hinge", tm.Revolute("x"), system.ground.at((0, 0, 0), axes), body)
        given = None if start is None else {"frame": axes @ start["frame"]}
        ends = system.ground.at(axes @ (0, 0, 0.2), axes), body.at((0, 0.1, 0.2))
        system.connect("framed", framed(given), *ends)
        mech = system.build()
        return mech.forward_dynamics(mech.state(q={"hinge": 0.3})).ud[0]

    upright = rate_of(np.zeros(3))
    for axis in np.vstack((np.eye(3), [[0.6, 0.0, 0.8]])):
        assert rate_of(angle * axis) == pytest.approx(upright, rel=1e-9)


def test_springs_in_series_swing_and_hang_like_one():
    composite = tm.Composite(ends=("a", "b"), points={"knot": 1})
    composite.connect("upper", tm.Spring(stiffness=300.0, length=0.2), "a", "knot")
    composite.connect("lower", tm.Spring(stiffness=600.0, length=0.2), "knot", "b")
    one, two = hung(tm.Spring(stiffness=200.0, length=0.4)), hung(composite)
    got, want = two.equilibrium(two.state()), one.equilibrium(one.state())
    assert np.max(np.abs(got.state.q - want.state.q)) < 1e-10
    assert np.max(np.abs(got.eigenvalues - want.eigenvalues)) < 1e-8 * np.max(np.abs(want.eigenvalues))


def test_parameters_act_through_internal_points():
    """Springs in series: ud = -k1 k2 / (k1 + k2) stretch / m."""
    stiffness = tm.Parameter("k", 300.0)
    composite = tm.Composite(ends=("a", "b"), points={"knot": 1})
    composite.connect("upper", tm.Spring(stiffness=stiffness, length=0.2), "a", "knot")
    composite.connect("lower", tm.Spring(stiffness=600.0, length=0.2), "knot", "b")
    mech = hung(composite)
    found = mech.derivatives(mech.state(), parameters=["k"])
    stretch = 1.0 - 0.4
    assert found.ud_p[0, 0] == pytest.approx(600.0**2 / 900.0**2 * stretch / 2.0, rel=1e-9)
