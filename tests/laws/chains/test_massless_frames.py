"""Frames without mass that constraints hold: the mass matrix is singular, the equations of motion are not."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import treemech as tm

TIMES = np.linspace(0.0, 1.0, 6)


def bar(mass, length):
    return {
        "mass": mass,
        "inertia": (0.01, mass * length**2 / 12, mass * length**2 / 12),
        "com": (length / 2, 0, 0),
    }


def four_bar(coupler, cut="C"):
    """A four-bar whose coupler is a frame without mass ("frame") or a distance between its ends ("distance")."""
    system = tm.System("four-bar", gravity=(0, -9.81, 0))
    crank, rocker = system.body("crank", **bar(1.0, 1.0)), system.body("rocker", **bar(2.0, 2.5))
    system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.connect("D", tm.Revolute("z"), system.ground.at((3.5, 0, 0)), rocker)
    ends = crank.at((1, 0, 0)), rocker.at((2.5, 0, 0))
    if coupler == "distance":
        system.connect("rod", tm.Distance(3.0), *ends)
    else:
        frame = system.body("coupler", 0.0, (0, 0, 0))
        for name, pair in (("B", (ends[0], frame)), ("C", (frame.at((3, 0, 0)), ends[1]))):
            system.connect(name, tm.Revolute("z"), *pair, role="chord" if name == cut else None)
    mech = system.build()
    return mech, mech.assemble(fix={"A": 0.6}, guess={"D": 1.8}, rates={"A": 0.7})


@pytest.mark.parametrize(
    ("method", "cut"),
    [
        ("DOP853", "B"),
        ("DOP853", "C"),
        ("Radau", "C"),
        ("Adams", "C"),
        ("alpha2", "B"),
        ("scipy:DOP853", "B"),
    ],
)
def test_a_coupler_without_mass_is_a_distance(method, cut):
    runs = []
    for coupler in ("distance", "frame"):
        mech, state = four_bar(coupler, cut)
        runs.append(mech.simulate((0, 1), state, rtol=1e-10, t_eval=TIMES, method=method))
    want, got = runs
    assert want.success and got.success
    near = 2e-6 if method.startswith("alpha") else 1e-8
    for name in ("A", "D"):
        np.testing.assert_allclose(got.connection(name).q, want.connection(name).q, atol=near)
    assert np.max(np.abs(got.residual.position)) < 1e-11


def test_accelerations_loads_and_energy_are_those_of_the_distance():
    (one, state), (two, other) = four_bar("distance"), four_bar("frame")
    assert two.mobility(other).dof == 1
    want, got = one.forward_dynamics(state).ud, two.forward_dynamics(other).ud
    np.testing.assert_allclose(got[[two.speeds.index(n) for n in ("A", "D")]], want, rtol=1e-11)
    assert two.energy(other).total == pytest.approx(one.energy(state).total, rel=1e-13)
    loads = [mech.reactions(s) for mech, s in ((one, state), (two, other))]
    for name in ("A", "D"):
        np.testing.assert_allclose(loads[1][name].force, loads[0][name].force, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(loads[1]["C"].force, loads[0]["rod"].force, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(loads[1]["C"].moment, 0.0, atol=1e-9)


def test_energy_is_conserved_with_a_frame_without_mass():
    mech, state = four_bar("frame")
    run = mech.simulate((0, 5), state, rtol=1e-11)
    assert run.success
    assert np.ptp(run.energy.total) < 1e-8 * np.ptp(run.energy.kinetic)


def test_inverse_dynamics_returns_the_loads_of_forward_dynamics():
    mech, state = four_bar("frame")
    loads = {"A": 3.0}
    ud = mech.forward_dynamics(state, loads).ud
    assert mech.drive_loads(state, ud, actuated=["A"])["A"] == pytest.approx(3.0, rel=1e-10)


def test_derivatives_of_a_frame_without_mass_match_differences():
    mech, state = four_bar("frame")
    found = mech.derivatives(state)
    step = 1e-6
    rate = mech.assemble(
        fix={"A": state["A"][0][0]}, guess={"D": 1.8}, rates={"A": 1.0}
    ).u  # an allowed motion
    ahead, back = (
        mech.assemble(
            fix={"A": state["A"][0][0] + h * rate[mech.speeds.index("A")]}, guess={"D": state["D"][0][0]}
        ).q
        for h in (step, -step)
    )
    want = [mech.forward_dynamics((0.0, q, np.zeros(mech.nu))).ud for q in (ahead, back)]
    at_rest = mech.derivatives(mech.state(q=state.q))
    np.testing.assert_allclose(at_rest.ud_q @ rate, (want[0] - want[1]) / (2 * step), rtol=1e-6, atol=1e-6)
    assert np.all(np.isfinite(found.ud_u))


def caster(mass):
    system = tm.System("caster", gravity=(0, 0, 0))
    cart, fork = system.body("cart", 1.0, (1, 1, 1)), system.body("fork", mass, (mass, mass, mass))
    system.connect("P", tm.Planar("z"), system.ground, cart)
    system.connect("Q", tm.Revolute("z"), cart, fork)
    system.connect("edge", tm.KnifeEdge(), system.ground, fork.at((-0.1, 0, 0)))
    mech = system.build()
    return mech, mech.assemble(fix={"Q": 0.5}, rates={"P[0]": 1.0, "P[1]": 0.2, "P[2]": 0.1})


def test_a_knife_edge_decides_the_turn_of_a_fork_without_mass():
    mech, state = caster(0.0)
    run = mech.simulate((0, 2), state, rtol=1e-11, t_eval=[0.0, 1.0, 2.0])
    assert run.success

    def turning(t, theta):  # the edge trails 0.1 m behind the pivot, which moves straight on
        return (-np.sin(theta) * 1.0 + np.cos(theta) * 0.2) / 0.1

    want = solve_ivp(turning, (0, 2), [0.5], rtol=1e-12, atol=1e-13, t_eval=[0.0, 1.0, 2.0]).y[0]
    np.testing.assert_allclose(run.connection("P").q[:, 2] + run.connection("Q").q, want, atol=1e-9)
    np.testing.assert_allclose(
        run.connection("P").q[-1], [2.0, 0.4, 0.2], atol=1e-9
    )  # nothing loads the cart


def test_a_frame_without_mass_that_nothing_holds_is_refused():
    with pytest.raises(tm.SingularError, match="'Q'.*'fork'"):
        system = tm.System("free fork")
        cart, fork = system.body("cart", 1.0, (1, 1, 1)), system.body("fork", 0.0, (0, 0, 0))
        system.connect("P", tm.Planar("z"), system.ground, cart)
        system.connect("rod", tm.Distance(1.0), system.ground.at((1, 0, 0)), cart)
        system.connect("Q", tm.Revolute("z"), cart, fork)
        system.build()
