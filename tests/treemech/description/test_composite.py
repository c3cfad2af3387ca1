"""Composite connections: internal points in equilibrium, viscous ones as states, loads on them."""

import numpy as np
import pytest
from scipy.optimize import fsolve

import treemech as tm


def slider(composite, length=1.0):
    system = tm.System("slider", gravity=(0, 0, 0))
    block = system.body("block", mass=2.0, inertia=(1, 1, 1))
    system.connect("rail", tm.Prismatic("x"), system.ground.at((length, 0, 0)), block)
    handle = system.connect("muscle", composite, system.ground, block)
    return system, handle


def two_springs(coordinates):
    composite = tm.Composite(ends=("a", "b"), points={"n1": coordinates})
    composite.connect("one", tm.Spring(stiffness=100.0, length=0.5), "a", "n1")
    composite.connect("two", tm.Spring(stiffness=50.0, length=0.5), "n1", "b")
    return composite


@pytest.mark.parametrize("coordinates", [1, 3])
def test_two_springs_in_series_are_one(coordinates):
    mech = slider(two_springs(coordinates))[0].build()
    for q in (0.3, 0.01, 0.7):
        ud = mech.forward_dynamics(mech.state(q={"rail": q})).ud
        assert ud[0] == pytest.approx(-(100.0 / 3.0) * q / 2.0, rel=1e-11)
    run = mech.simulate((0, 3), mech.state(q={"rail": 0.3}), rtol=1e-10)
    energy = run.energy.total
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
    np.testing.assert_allclose(run.element("muscle.one").effort, run.element("muscle.two").effort, atol=1e-10)


def test_a_load_on_an_internal_point_is_carried_by_the_springs():
    system, muscle = slider(two_springs(3))
    system.load("weight", tm.Force(z=-8.0, x=2.0), muscle.point("n1"))
    mech = system.build()
    ud = mech.forward_dynamics(mech.state(q={"rail": 0.4})).ud[0]

    def balance(p):
        a, b = p, p - np.array([1.4, 0.0])
        fa, fb = (
            -100.0 * (np.hypot(*a) - 0.5) * a / np.hypot(*a),
            -50.0 * (np.hypot(*b) - 0.5) * b / np.hypot(*b),
        )
        return fa + fb + np.array([2.0, -8.0])

    p = fsolve(balance, [0.7, -0.1], xtol=1e-14)
    b = p - np.array([1.4, 0.0])
    pull = 50.0 * (np.hypot(*b) - 0.5) * b[0] / np.hypot(*b)
    assert ud == pytest.approx(pull / 2.0, rel=1e-9)


def test_a_viscous_point_is_a_state():
    composite = tm.Composite(ends=("a", "b"), points={"n1": 1}, viscous=["n1"])
    composite.connect("spring", tm.Spring(stiffness=100.0, length=0.5), "a", "n1")
    composite.connect("damper", tm.Spring(stiffness=20.0, damping=5.0, length=0.5), "n1", "b")
    system, _ = slider(composite)
    system.prescribe("rail", 0.3)
    mech = system.build()
    state = mech.assemble()
    assert state.x[0] == pytest.approx(0.5 + 20.0 * 0.3 / 120.0, rel=1e-10)  # at rest in equilibrium
    run = mech.simulate((0, 0.2), mech.assemble(states={"muscle.n1": 0.6}), rtol=1e-10)
    rest, rate = 0.5 + 6.0 / 120.0, 120.0 / 5.0  # 5 s' = -(100 + 20) (s - rest)
    np.testing.assert_allclose(run.z[:, 0], rest + (0.6 - rest) * np.exp(-rate * run.t), atol=1e-9)


@pytest.mark.parametrize("coordinates", [1, 3])
def test_states_made_of_numbers_have_viscous_points_in_equilibrium_too(coordinates):
    """They had none (NaN), and every analysis said that a spring gave a load that is not finite."""
    composite = tm.Composite(ends=("a", "b"), points={"n1": coordinates}, viscous=["n1"])
    composite.connect("one", tm.Spring(stiffness=100.0, length=0.5, damping=3.0), "a", "n1")
    composite.connect("two", tm.Spring(stiffness=50.0, length=0.5), "n1", "b")
    if coordinates == 3:  # damped across the line too
        composite.connect("pad", tm.Bushing(np.zeros((6, 6)), damping=np.ones(6)), "a", "n1")
    mech = slider(composite)[0].build()
    state = mech.state(q={"rail": 0.3})
    assert state.x[0] == pytest.approx(0.6, abs=1e-12)  # a third of the stretch
    assert np.allclose(mech.assemble(fix={"rail": 0.3}).x, state.x, atol=1e-12)
    assert mech.forward_dynamics(state).ud[0] == pytest.approx(-5.0, rel=1e-11)
    many = mech.state(q={"rail": np.array([0.0, 0.3])})
    assert np.allclose(many.x[:, 0], [0.5, 0.6], atol=1e-12)
    assert mech.state(q={"rail": 0.3}, x=[0.7] + [0.0] * (coordinates - 1)).x[0] == 0.7
    given = mech.state(q={"rail": 0.3}, x={"muscle.n1": [0.7] + [0.0] * (coordinates - 1)})
    assert given.x[0] == 0.7


def test_a_frame_of_six_coordinates_is_held_by_turn_and_position():
    class Bushing(tm.Energetic):
        """Stiff in offset and (small) turn."""

        n_deformations = 6

        def deformation(self, position, rotation, t, eps):
            for i in range(3):
                s = 0.0
                for k in range(3):
                    s += rotation[0, k, i] * (position[1, k] - position[0, k])
                eps[i] = s
                j, m = (i + 1) % 3, (i + 2) % 3
                a = 0.0
                for k in range(3):
                    a += rotation[0, k, m] * rotation[1, k, j] - rotation[0, k, j] * rotation[1, k, m]
                eps[3 + i] = 0.5 * a

        def effort(self, now, t, out):
            for k in range(6):
                out.effort[k] = 10.0 * now.deformation[k]

    composite = tm.Composite(ends=("a", "b"), points={"n1": 6})
    composite.connect("one", Bushing(), "a", "n1")
    composite.connect("two", Bushing(), "n1", "b")
    system = tm.System("turn", gravity=(0, 0, 0))
    disk = system.body("disk", mass=1.0, inertia=(1, 1, 1))
    system.connect("axle", tm.Revolute("z"), system.ground, disk)
    system.connect("bushings", composite, system.ground, disk)
    mech = system.build()
    ud = mech.forward_dynamics(mech.state(q=[0.6])).ud[0]
    assert ud == pytest.approx(-10.0 * np.sin(0.3) * np.cos(0.3), rel=1e-8)  # both turn by half the angle


def test_location_matrix():
    assert two_springs(3).location_matrix().tolist() == [[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 0]]


def test_a_composite_without_equilibrium_is_named():
    composite = tm.Composite(ends=("a", "b"), points={"n1": 3})
    composite.connect("push", tm.Force(x=1.0), "n1")
    mech = slider(composite)[0].build()
    with pytest.raises(tm.ElementError, match="composite 'muscle' has no internal equilibrium"):
        mech.forward_dynamics(mech.state())


def test_what_makes_no_composite_is_refused():
    with pytest.raises(tm.ElementError, match="wanted 1, 3 or 6"):
        tm.Composite(points={"n1": 2})
    composite = tm.Composite(points={"n1": 3})
    with pytest.raises(tm.TopologyError, match="there is no end or point 'n2'"):
        composite.connect("s", tm.Spring(stiffness=1.0), "a", "n2")
    with pytest.raises(tm.TopologyError, match="has no elements"):
        slider(composite)
    composite.connect("s", tm.Spring(stiffness=1.0), "a", "b")
    with pytest.raises(tm.TopologyError, match="no element holds the point 'n1'"):
        slider(composite)
    system, handle = slider(two_springs(1))
    with pytest.raises(tm.TopologyError, match="carries nothing across"):
        handle.point("n1")
    with pytest.raises(tm.TopologyError, match="did you mean 'n1'"):
        handle.point("n")


def spun():
    """Return a rotor with a slide whose strut has buckled: its middle point can be on either side."""
    system = tm.System("spun", gravity=(0, 0, 0))
    rotor = system.body("rotor", mass=1.0, inertia=(0.3, 0.3, 0.3), com=(0.5, 0, 0))
    block = system.body("block", mass=0.5, inertia=(0.1, 0.1, 0.1))
    system.connect("axle", tm.Revolute("x"), system.ground, rotor)
    system.connect("slide", tm.Prismatic("x"), rotor.at((1, 0, 0)), block)
    strut = tm.Composite(ends=("a", "b", "c"), points={"middle": 3}, start={"middle": (0.5, 0.0, -0.5)})
    strut.connect("one", tm.Spring(stiffness=100.0, length=0.8), "a", "middle")
    strut.connect("two", tm.Spring(stiffness=100.0, length=0.8), "middle", "b")
    strut.connect("aside", tm.Spring(stiffness=5.0, length=0.1), "c", "middle")
    system.connect("strut", strut, rotor, block, rotor.at((0.5, 0, 0.3)))
    system.connect("hold", tm.RotationalSpring(40.0), "slide")
    mech = system.build()
    return mech, mech.state(u={"axle": 2.0})


def test_results_stand_on_the_equilibrium_that_the_run_was_on():
    """Half a turn later the start of the point lies on the other side, where there is another equilibrium."""
    mech, state = spun()
    run = mech.simulate((0, np.pi / 2), state, t_eval=[0.0, np.pi / 2], rtol=1e-10)
    assert run.success, run.message
    energy = run.energy.total
    np.testing.assert_allclose(energy, energy[0], rtol=1e-8)
    lengths = np.linalg.norm(np.diff(run.element("strut.aside").position, axis=1)[:, 0], axis=1)
    assert lengths[0] > 0.75 and lengths[1] > 0.75  # the far side, always
    assert np.array_equal(mech.forward_dynamics(run.state(-1)).ud, run.ud[-1])


def test_the_same_state_gives_the_same_internal_points():
    mech, state = spun()
    want = mech.forward_dynamics(state).ud
    mech.forward_dynamics(mech.state(q={"axle": np.pi, "slide": 0.2}))
    np.testing.assert_array_equal(mech.forward_dynamics(state).ud, want)
    mech.simulate((0, 1.5), state)
    np.testing.assert_array_equal(mech.forward_dynamics(state).ud, want)
