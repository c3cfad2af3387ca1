"""Drag, and loads written as functions of time and hinge coordinates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import treemech as tm

ACCURATE = dict(rtol=1e-10, atol=1e-12)


def thrown(drag, mass=2.0, velocity=(0, 0, 0), gravity=0.0, t=2.0):
    system = tm.System("thrown", gravity=(0, 0, -gravity))
    body = system.body("ball", mass=mass, inertia=(1, 1, 1))
    system.connect("T", tm.Translation(), system.ground, body)
    system.load("drag", drag, body)
    mech = system.build()
    return mech.simulate(
        (0, t), mech.state(u={"T": velocity}), t_eval=np.linspace(0, t, 11), audit=True, **ACCURATE
    )


def test_linear_drag_slows_exponentially():
    run = thrown(tm.Drag(linear=0.8), 2.0, (3, -1, 2))
    assert_allclose(run.connection("T").u, np.exp(-0.4 * run.t)[:, None] * (3, -1, 2), rtol=1e-8)
    lost = 0.5 * 2.0 * 14.0 * (1 - np.exp(-0.8 * run.t))
    assert_allclose(run.audit["drag"].dissipated, lost, atol=1e-8)


def test_falling_body_reaches_its_terminal_velocity():
    m, g = 2.0, 9.81
    final = np.sqrt(2 * m * g / (1.225 * 0.5 * 0.4))
    run = thrown(tm.Drag(coefficient=0.5, area=0.4), m, gravity=g, t=3.0)
    assert_allclose(run.connection("T").u[:, 2], -final * np.tanh(g * run.t / final), atol=1e-8 * final)


def test_wind_carries_a_body_along_and_supplies_the_power():
    run = thrown(tm.Drag(linear=1.0, wind_x=5.0), 2.0)
    assert_allclose(run.connection("T").u[:, 0], 5 * (1 - np.exp(-0.5 * run.t)), atol=1e-8)
    audit = run.audit["drag"]
    assert_allclose(audit.work, audit.supplied - audit.dissipated, atol=1e-9)
    assert audit.supplied[-1] > 20.0


def two_sliders(element, *coordinates, t=2.0):
    """Two masses on guides along x; the load acts on the second and may read both."""
    system = tm.System("two", gravity=(0, 0, 0))
    one = system.body("one", mass=1.0, inertia=(1, 1, 1))
    two = system.body("two", mass=2.0, inertia=(1, 1, 1))
    system.connect("A", tm.Prismatic("x"), system.ground, one)
    system.connect("B", tm.Planar(), system.ground, two)
    system.load("push", element, two.at((0.0, 0.0, 0.0)), *coordinates)
    mech = system.build()
    state = mech.state(q={"B": (0.3, 0, 0)}, u={"A": 0.5})
    return mech.simulate((0, t), state, t_eval=np.linspace(0, t, 21), audit=True, **ACCURATE)


def test_force_function_as_a_spring_on_one_coordinate():
    run = two_sliders(tm.ForceFunction(lambda t, q, u: (-8.0 * q[0], 0.0, 0.0)), "B[0]")
    assert_allclose(run.connection("B").q[:, 0], 0.3 * np.cos(2 * run.t), atol=1e-8)
    assert np.all(run.element("push").load == 0.0)
    assert_allclose(run.audit["push"].work, run.audit["push"].supplied, atol=1e-12)


def test_force_function_reads_several_coordinates_and_acts_on_its_end_only():
    """m x'' = t + 3 qA + 2 uA with qA = t / 2: x = 0.3 + t^2 / 4 + 5/24 t^3."""

    def push(t, q, u):
        return 1.0 * t + 3.0 * q[1] + 2.0 * u[1] + 0.0 * q[0], 0.0, 0.0

    run = two_sliders(tm.ForceFunction(push), "B[0]", "A")
    t = run.t
    assert_allclose(run.connection("B").q[:, 0], 0.3 + t**2 / 4 + 5 / 24 * t**3, atol=1e-9)
    assert_allclose(run.connection("A").u, 0.5, rtol=1e-12)


def test_force_function_without_coordinates_is_a_function_of_time():
    run = two_sliders(tm.ForceFunction(lambda t, q, u: (0.0, 6.0 * t, 0.0)))
    assert_allclose(run.connection("B").q[:, 1], run.t**3 / 2, atol=1e-9)


def test_moment_function_and_body_fixed_force():
    """A body spun up by a moment; a force fixed in it turns with it: a' = (cos, sin) of a quarter of t squared."""
    system = tm.System("spinning", gravity=(0, 0, 0))
    body = system.body("body", mass=2.0, inertia=(3, 3, 4))
    B = system.connect("B", tm.Planar(), system.ground, body)
    system.load(
        "spin",
        tm.MomentFunction(lambda t, q, u: (0.0, 0.0, 2.0 + 0.0 * q[2] + 0.0 * u[0])),
        body,
        "B[0]",
        "B[1]",
        "B[2]",
    )
    system.load("push", tm.ForceFunction(lambda t, q, u: (3.0, 0.0, 0.0), frame="body"), body)
    assert B.n_coordinates == 3
    mech = system.build()
    run = mech.simulate((0, 3), mech.state(), **ACCURATE)
    assert_allclose(run.connection("B").q[:, 2], run.t**2 / 4, atol=1e-8)
    angle = run.t**2 / 4
    wanted = 1.5 * np.column_stack((np.cos(angle), np.sin(angle)))
    assert_allclose(run.body("body").acceleration[:, :2], wanted, atol=1e-8)


def test_hinge_may_be_named_by_its_handle():
    system = tm.System("handle", gravity=(0, 0, 0))
    body = system.body("body", mass=2.0, inertia=(1, 1, 1))
    A = system.connect("A", tm.Prismatic("x"), system.ground, body)
    handle = system.load("pull", tm.ForceFunction(lambda t, q, u: (-q[0], 0.0, 0.0)), body, A)
    assert handle.coordinates == (("A", 0),)
    assert len(handle.ends) == 1


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: tm.Drag(), "Drag has no drag"),
        (lambda: tm.Drag(linear=-1.0), "Drag.linear is -1"),
        (lambda: tm.ForceFunction(3.0), "ForceFunction.function is 3.0: wanted a function of t, q, u"),
        (lambda: tm.ForceFunction(lambda t: (0, 0, t)), "takes 1 arguments; wanted a function of t, q, u"),
        (lambda: tm.MomentFunction(lambda t, q, u: (0, 0, t), frame="local"), "frame is 'local'"),
    ],
)
def test_bad_loads_are_refused(make, message):
    with pytest.raises(tm.ElementError, match=message):
        make()


def test_function_that_gives_two_components_is_refused():
    with pytest.raises(tm.ElementError, match="ForceFunction.*not enough values to unpack"):
        two_sliders(tm.ForceFunction(lambda t, q, u: (1.0, 2.0)))


def test_function_that_reads_a_coordinate_it_was_not_given_is_refused():
    with pytest.raises(tm.ElementError, match="ForceFunction"):
        two_sliders(tm.ForceFunction(lambda t, q, u: (q[1], 0.0, 0.0)), "A")
