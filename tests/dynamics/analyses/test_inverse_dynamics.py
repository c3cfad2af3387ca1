"""Inverse dynamics of closed chains: loads on actuated speeds, completed accelerations, refused input."""

import numpy as np
import pytest

import treemech as tm
from tests.dynamics.equations.test_loops import CUT, closed
from tests.support.models import random_state, random_system
from tests.treemech.simulation.test_kinematics import four_bar, slider_crank
from treemech.analyses.closed_chains import closed_motion


def consistent(kind, seed):
    """A random closed chain in a closed position with consistent rates."""
    mech, t, q, u = closed(kind, seed)
    c = mech._core.constraints(t, q, u)
    return mech, mech.state(t, q, u - np.linalg.pinv(c.partials, rcond=1e-9) @ c.velocity)


@pytest.mark.parametrize("kind", CUT)
def test_forward_dynamics_under_the_loads_found_gives_the_accelerations_back(kind):
    mech, state = consistent(kind, 5)
    rng, free = np.random.default_rng(6), mech.mobility(state).suitable
    wanted = {name: float(rng.normal()) for name in free}
    loads = mech.inverse_dynamics(state, wanted, actuated=free)
    ud = mech.forward_dynamics(state, loads).ud
    scale = 1.0 + np.max(np.abs(ud))
    for name, value in wanted.items():
        assert abs(ud[mech.speeds.index(name)] - value) < 1e-9 * scale
    assert all(loads[k] == 0.0 for k, name in enumerate(mech.speeds) if name not in free)
    again = mech.inverse_dynamics(state, ud, actuated=free)
    assert np.max(np.abs(again - loads)) < 1e-8 * (1.0 + np.max(np.abs(loads)))


@pytest.mark.parametrize("kind", CUT[::3])
def test_inverse_dynamics_finds_the_loads_that_were_applied(kind):
    mech, state = consistent(kind, 9)
    rng, free = np.random.default_rng(7), mech.mobility(state).suitable
    tau = np.zeros(mech.nu)
    tau[[mech.speeds.index(name) for name in free]] = rng.normal(size=len(free))
    ud = mech.forward_dynamics(state, tau).ud
    assert np.max(np.abs(mech.inverse_dynamics(state, ud, actuated=free) - tau)) < 1e-8 * (
        1.0 + np.max(np.abs(ud))
    )


@pytest.mark.parametrize("actuated", [["A", "D"], ["A", "B", "D"]])
def test_more_actuators_than_freedoms_share_the_smallest_loads(actuated):
    mech = four_bar()
    state = mech.assemble(fix={"A": 0.4}, guess={"B": 0.6, "D": 1.6}, rates={"A": 2.0})
    loads = mech.inverse_dynamics(state, {"A": 3.0}, actuated=actuated)
    assert abs(mech.forward_dynamics(state, loads).ud[0] - 3.0) < 1e-10
    single = mech.inverse_dynamics(state, {"A": 3.0}, actuated=["A"])
    rates = state.u / state.u[0]
    assert abs(loads @ rates - single[0]) < 1e-9  # the same power
    chosen = np.array([name in actuated for name in mech.speeds])
    want = single[0] * rates * chosen / np.sum((rates * chosen) ** 2)  # along the rates: smallest norm
    assert np.max(np.abs(loads - want)) < 1e-9


def least_loads(mech, state, ud, chosen, weights):
    """Return loads on the chosen speeds with the least sum of weighted squares, by the KKT conditions."""
    P = mech.constraints(state).partials
    n, m = mech.nu, len(P)
    S = np.eye(n)[:, chosen]
    # unknowns: loads, multipliers, and those of the equations of motion S tau + P^T lambda = A ud - Q
    K = np.block([
        [np.diag(weights[chosen]), np.zeros((len(S.T), m)), S.T],
        [np.zeros((m, len(S.T) + m)), P],
        [S, P.T, np.zeros((n, n))],
    ])  # fmt: skip
    required = mech.mass_matrix(state) @ ud - mech.load_column(state)
    x = np.linalg.lstsq(K, np.concatenate((np.zeros(len(S.T) + m), required)), rcond=1e-11)[0]
    return S @ x[: len(S.T)]


@pytest.mark.parametrize("actuated", [["A"], ["A", "D"], ["A", "B", "D"]])
@pytest.mark.parametrize("weights", [{}, {"A": 2.0}, {"A": 0.1, "D": 30.0}])
def test_weighted_loads_of_a_four_bar_meet_the_conditions_of_optimality(actuated, weights):
    mech = four_bar()
    state = mech.assemble(fix={"A": 0.4}, guess={"B": 0.6, "D": 1.6}, rates={"A": 2.0})
    loads = mech.inverse_dynamics(state, {"A": 3.0}, actuated=actuated, weights=weights)
    ud = mech.forward_dynamics(state, loads).ud
    assert abs(ud[0] - 3.0) < 1e-10
    chosen = [k for k, name in enumerate(mech.speeds) if name in actuated]
    numbers = np.array([weights.get(name, 1.0) for name in mech.speeds])
    want = least_loads(mech, state, ud, chosen, numbers)
    assert np.max(np.abs(loads - want)) < 1e-9 * np.max(np.abs(want))
    again = mech.inverse_dynamics(state, {"A": 3.0}, actuated=actuated, weights=numbers)
    assert np.array_equal(again, loads)


def five_bar():
    """Two freedoms, five hinges."""
    system = tm.System("five-bar", gravity=(0, 0, -9.81))
    links = [
        system.body(f"link {k}", mass=1.0 + 0.2 * k, inertia=(0.01, 0.05, 0.05), com=(0.3, 0, 0.05))
        for k in range(4)
    ]
    system.connect("A", tm.Revolute("y"), system.ground, links[0])
    system.connect("B", tm.Revolute("y"), links[0].at((0.6, 0, 0)), links[1])
    system.connect("E", tm.Revolute("y"), system.ground.at((0.8, 0, 0)), links[3])
    system.connect("D", tm.Revolute("y"), links[3].at((0.6, 0, 0)), links[2])
    system.connect("C", tm.Revolute("y"), links[1].at((0.7, 0, 0)), links[2].at((0.7, 0, 0)))
    return system.build()


@pytest.mark.parametrize("actuated", [["A", "E"], ["A", "B", "E"], ["A", "B", "D", "E"]])
def test_weighted_loads_of_a_redundantly_actuated_five_bar(actuated):
    mech = five_bar()
    state = mech.assemble(
        fix={"A": -2.0, "E": -1.1}, guess={"B": 1.2, "D": -1.0}, rates={"A": 1.0, "E": -0.6}
    )
    weights = {"A": 1.0, "B": 5.0, "D": 0.5, "E": 2.0}
    loads = mech.inverse_dynamics(state, {"A": 2.0, "E": -1.0}, actuated=actuated, weights=weights)
    ud = mech.forward_dynamics(state, loads).ud
    assert abs(ud[mech.speeds.index("A")] - 2.0) + abs(ud[mech.speeds.index("E")] + 1.0) < 1e-9
    chosen = [k for k, name in enumerate(mech.speeds) if name in actuated]
    numbers = np.array([weights[name] for name in mech.speeds])
    want = least_loads(mech, state, ud, chosen, numbers)
    assert np.max(np.abs(loads - want)) < 1e-9 * np.max(np.abs(want))
    if len(actuated) > 2:
        plain = mech.inverse_dynamics(state, {"A": 2.0, "E": -1.0}, actuated=actuated)
        assert numbers @ plain**2 > (1.0 + 1e-6) * numbers @ loads**2
        assert plain @ plain < loads @ loads


def test_a_cut_hinge_may_be_driven_too():
    mech = four_bar()
    cut = mech.tree.chords[0].name
    state = mech.assemble(fix={"A": 0.4}, guess={"B": 0.6, "D": 1.6}, rates={"A": 2.0})
    rates = dict(zip(mech.speeds, state.u / 2.0, strict=True)) | {cut: float(state.cut[cut][1][0]) / 2.0}
    single = mech.drive_loads(state, {"A": 3.0}, actuated=["A"])["A"]
    alone = mech.drive_loads(state, {"A": 3.0}, actuated=[cut])
    assert list(alone) == [cut] and alone[cut] * rates[cut] == pytest.approx(single, rel=1e-9)
    ud = mech.forward_dynamics(state, mech.inverse_dynamics(state, {"A": 3.0}, actuated=[cut])).ud
    assert ud[mech.speeds.index("A")] == pytest.approx(3.0, rel=1e-10)
    weights = {"A": 2.0, cut: 0.5}
    shared = mech.drive_loads(state, {"A": 3.0}, actuated=["A", cut, "D"], weights=weights)
    power = {n: rates[n] / weights.get(n, 1.0) for n in shared}  # the least loads go with these
    total = sum(rates[n] * power[n] for n in shared)
    for name, load in shared.items():
        assert load == pytest.approx(single * power[name] / total, rel=1e-9)


def test_the_acceleration_of_a_cut_hinge_may_be_given():
    mech = four_bar()
    cut = mech.tree.chords[0].name
    state = mech.assemble(fix={"A": 0.4}, guess={"B": 0.6, "D": 1.6}, rates={"A": 2.0})
    loads = mech.inverse_dynamics(state, {cut: 1.7}, actuated=["A"])
    mech._core.loops.choose(state.t, state.q, state.u)
    found = closed_motion(mech._core, np.array([state.t]), state.q[None], state.u[None], loads)
    assert found.cut_ud[0, 0] == pytest.approx(1.7, rel=1e-9)


def test_weights_must_be_positive():
    mech = four_bar()
    state = mech.assemble(fix={"A": 0.4}, guess={"B": 0.6, "D": 1.6})
    with pytest.raises(tm.ElementError, match="wanted positive"):
        mech.inverse_dynamics(state, {"A": 1.0}, actuated=["A", "D"], weights={"D": 0.0})


def test_the_load_of_a_slider_crank_is_that_of_virtual_work():
    """A slow chain: the torque holds the weights, whatever is cut."""
    for roles in ({"C": "chord"}, {"B": "chord"}, {"D": "chord"}):
        mech = slider_crank(gravity=(0, -9.81, 0), roles=roles)
        free = {"B": -0.9, "C": 0.3, "D": 5.0}
        guess = {n: v for n, v in free.items() if n in [c.name for c in mech._lagrange.hinges]}
        state = mech.assemble(fix={"A": 0.5}, guess=guess)
        loads = mech.inverse_dynamics(state, {"A": 0.0}, actuated=["A"])
        # heights: crank sin a, rod at half of the crank pin's height
        want = 9.81 * (2.0 * np.cos(0.5) * 1.0 + 3.0 * np.cos(0.5) * 1.0)
        assert abs(loads[mech.speeds.index("A")] - want) < 1e-9


def test_prescribed_coordinates_are_the_actuated_ones():
    motion = tm.Harmonic(0.5, 3.0, 0.2, 0.5)
    mech = four_bar(motion)
    state = mech.assemble(0.3, guess={"B": 0.6, "D": 1.6})
    drive = mech.inverse_dynamics(state, {})
    free = four_bar()
    loads = free.inverse_dynamics((0.3, state.q, state.u), {"A": motion.at(0.3).acceleration}, actuated=["A"])
    assert drive[0] != 0.0 and np.max(np.abs(drive - loads)) < 1e-10


def test_a_tree_gives_the_load_on_every_speed():
    mech = random_system(4, n=6).build()
    state = random_state(mech, 2)
    ud = np.random.default_rng(3).normal(size=mech.nu)
    want = mech.mass_matrix(state) @ ud - mech.load_column(state)
    assert np.max(np.abs(mech.inverse_dynamics(state, ud) - want)) < 1e-12 * np.max(np.abs(want))
    assert np.max(np.abs(mech.inverse_dynamics(state, ud, actuated=mech.speeds) - want)) < 1e-12 * np.max(
        np.abs(want)
    )
    assert mech.drive_loads(state, ud) == mech.drive_loads(state, ud, actuated=mech.speeds)


@pytest.mark.parametrize("seed", range(6))
def test_passive_coordinates_of_a_tree_follow_the_driven_ones(seed):
    """Hybrid dynamics: A_pp ud_p = Q_p - A_pa ud_a, and the loads on the driven speeds make both."""
    mech = random_system(seed, n=8).build()
    state, rng = random_state(mech, seed), np.random.default_rng(seed)
    driven = np.sort(rng.choice(mech.nu, mech.nu // 2, replace=False))
    names = [mech.speeds[k] for k in driven]
    wanted = {name: float(rng.normal()) for name in names}
    loads = mech.inverse_dynamics(state, wanted, actuated=names)
    A, Q = mech.mass_matrix(state), mech.load_column(state)
    passive = np.setdiff1d(np.arange(mech.nu), driven)
    ud = np.zeros(mech.nu)
    ud[driven] = list(wanted.values())
    ud[passive] = np.linalg.solve(
        A[np.ix_(passive, passive)], Q[passive] - A[np.ix_(passive, driven)] @ ud[driven]
    )
    want = (A @ ud - Q)[driven]
    assert np.max(np.abs(loads[driven] - want)) < 1e-9 * (1.0 + np.max(np.abs(want)))
    assert not np.any(loads[passive])
    assert np.max(np.abs(mech.forward_dynamics(state, loads).ud - ud)) < 1e-8 * (1.0 + np.max(np.abs(ud)))
    full = mech.inverse_dynamics(state, ud, actuated=names)  # all accelerations, and they fit
    assert np.max(np.abs(full - loads)) < 1e-8 * (1.0 + np.max(np.abs(loads)))
    with pytest.raises(tm.SingularError, match="under-actuated.*cannot be driven as asked"):
        mech.inverse_dynamics(state, ud + 1.0, actuated=names)


def test_a_pole_is_balanced_by_its_cart_alone():
    """The acceleration of a passive coordinate may be the one that is given (non-collocated)."""
    system = tm.System("cart-pole", gravity=(0, 0, -9.81))
    cart, pole = system.body("cart", 2.0, (1, 1, 1)), system.body("pole", 0.5, (0, 0, 0), com=(0, 0, 0.8))
    system.connect("x", tm.Prismatic("x"), system.ground, cart)
    system.connect("A", tm.Revolute("y"), cart, pole)
    mech = system.build()
    state = mech.state(q={"A": 0.3})
    loads = mech.drive_loads(state, {"A": 0.0}, actuated=["x"])
    assert loads == {"x": pytest.approx(2.5 * 9.81 * np.tan(0.3), rel=1e-12)}
    with pytest.raises(tm.SingularError, match="'x' as actuated.*Actuate 'A'"):
        mech.drive_loads(state, {"x": 0.0, "A": 0.0}, actuated=["x"])
    with pytest.raises(tm.SingularError, match="leave 1 degree of freedom open"):
        mech.drive_loads(state, {}, actuated=["x"])


def test_prescribed_coordinates_of_a_tree_keep_their_drive():
    system = tm.System("arm", gravity=(0, 0, -9.81))
    a, b, c = (system.body(n, 1.0, (0.1, 0.1, 0.1), com=(0.4, 0, 0.1)) for n in "abc")
    system.connect("A", tm.Revolute("y"), system.ground, a)
    system.connect("B", tm.Revolute("y"), a.at((1, 0, 0)), b)
    system.connect("C", tm.Revolute("y"), b.at((1, 0, 0)), c)
    system.prescribe("A", tm.Harmonic(0.5, 3.0, 0.2, 0.5))
    mech = system.build()
    state = mech.state(0.2, q={"B": 0.4, "C": -0.3}, u={"B": 1.0})
    found = mech.drive_loads(state, {"B": 0.7}, actuated=["B"])
    ud = mech.forward_dynamics(state, {"B": found["B"]}).ud
    assert set(found) == {"A", "B"} and ud[1] == pytest.approx(0.7, rel=1e-10)
    assert found["A"] == pytest.approx(mech.inverse_dynamics(state, ud)[0], rel=1e-10)


def test_under_actuated_chains_follow_too():
    mech = five_bar()
    state = mech.assemble(
        fix={"A": -2.0, "E": -1.1}, guess={"B": 1.2, "D": -1.0}, rates={"A": 1.0, "E": -0.6}
    )
    loads = mech.inverse_dynamics(state, {"A": 2.0}, actuated=["A"])
    assert np.flatnonzero(loads).tolist() == [mech.speeds.index("A")]
    assert mech.forward_dynamics(state, loads).ud[mech.speeds.index("A")] == pytest.approx(2.0, rel=1e-9)


# ---------------------------------------------------------------- refused input
def test_under_actuation_says_how_many_are_missing_and_which_are_suitable():
    mech = four_bar()
    state = mech.assemble(fix={"A": 0.4}, guess={"B": 0.6, "D": 1.6})
    with pytest.raises(
        tm.SingularError, match=r"nothing actuated, 1 degree of freedom of 1.*Actuate '[ABD]'"
    ):
        mech.inverse_dynamics(state, {"A": 1.0})
    system = tm.System("two loops", gravity=(0, -9.81, 0))
    for side in "LR":
        crank = system.body(f"crank {side}", 1.0, (0, 0.1, 0.1), com=(0.5, 0, 0))
        rod = system.body(f"rod {side}", 1.0, (0, 0.1, 0.1), com=(1.0, 0, 0))
        slider = system.body(f"slider {side}", 1.0, (0.1, 0.1, 0.1))
        system.connect(f"A{side}", tm.Revolute("z"), system.ground, crank)
        system.connect(f"B{side}", tm.Revolute("z"), crank.at((1, 0, 0)), rod)
        system.connect(f"C{side}", tm.Revolute("z"), rod.at((2, 0, 0)), slider)
        system.connect(f"D{side}", tm.Prismatic("x"), system.ground, slider)
    mech = system.build()
    state = mech.assemble(fix={"AL": 0.4, "AR": 0.8}, guess={"BL": -0.5, "BR": -1.0, "DL": 2.9, "DR": 2.5})
    with pytest.raises(
        tm.SingularError, match=r"'AL' as actuated, 1 degree of freedom of 2.*Actuate '[ABD]R'"
    ):
        mech.inverse_dynamics(state, {"AL": 1.0, "AR": 0.0}, actuated=["AL"])
    with pytest.raises(tm.SingularError, match=r"'AL', 'BL' as actuated, 1 degree of freedom of 2.*'[ABD]R'"):
        mech.inverse_dynamics(state, {"AL": 1.0, "AR": 0.0}, actuated=["AL", "BL"])
    with pytest.raises(tm.SingularError, match=r"leave 1 degree of freedom open: give those of '[ABD]R'"):
        mech.inverse_dynamics(state, {"AL": 1.0}, actuated=["AL", "AR"])


def test_accelerations_and_rates_that_do_not_fit_name_the_joint():
    mech = four_bar()
    state = mech.assemble(fix={"A": 0.4}, guess={"B": 0.6, "D": 1.6}, rates={"A": 2.0})
    cut = mech.tree.chords[0].name
    with pytest.raises(tm.SingularError, match=f"accelerations do not fit together: '{cut}' would open"):
        mech.inverse_dynamics(state, np.ones(mech.nu), actuated=["A"])
    with pytest.raises(tm.SingularError, match=f"accelerations do not fit together: '{cut}' would open"):
        mech.inverse_dynamics(state, {"A": 1.0, "D": 1.0}, actuated=["A"])
    broken = mech.state(q=state.q, u={"A": 1.0})
    with pytest.raises(tm.SingularError, match=f"its rates open '{cut}'"):
        mech.inverse_dynamics(broken, {"A": 1.0}, actuated=["A"])
    with pytest.raises(tm.TopologyError, match="there is no hinge 'X'"):
        mech.inverse_dynamics(state, {"A": 1.0}, actuated=["X"])
