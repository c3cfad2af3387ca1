"""Sampled control: called exactly at its instants, closed loop equal to the exact discrete-time system."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm

import treemech as tm

C, R, L, J = 0.3, 1.5, 0.03, 0.02
PERIOD = 0.05
GAIN = np.array([1.8, 0.35, 0.1])


def motor(controller, period=PERIOD):
    """A wheel on a motor whose voltage the controller sets from angle, speed and current."""
    system = tm.System("controlled", gravity=(0, 0, 0))
    wheel = system.body("wheel", 1.0, (J, J, J))
    axle = system.connect("axle", tm.Revolute("z"), system.ground, wheel)
    system.measure("speed", "axle.u")
    system.controller("regulator", controller, period, ("axle.q", "speed", "drive.x[0]"), ("volts",))
    system.connect("drive", tm.ElectricMotor(C, R, L), axle, inputs={"voltage": "volts"})
    return system


def discrete(period):
    """(A, b) of x[k + 1] = A x[k] + b V[k], exact for a held voltage: from one matrix exponential."""
    M = np.zeros((4, 4))
    M[:3] = [[0, 1, 0, 0], [0, 0, C / J, 0], [0, -C / L, -R / L, 1 / L]]
    E = expm(M * period)
    return E[:3, :3], E[:3, 3]


def test_the_closed_loop_is_the_exact_discrete_system():
    mech = motor(lambda t, *x: -GAIN @ x).build()
    t = PERIOD * np.arange(81)
    run = mech.simulate((0, 4), mech.state(q={"axle": 1.0}), rtol=1e-12, t_eval=t)
    A, b = discrete(PERIOD)
    x = [np.array([1.0, 0.0, 0.0])]
    for _ in t[1:]:
        x.append(A @ x[-1] - b * (GAIN @ x[-1]))
    exact = np.array(x)
    found = np.column_stack(
        [run.connection("axle").q, run.connection("axle").u, run.element("drive").x[:, 0]]
    )
    assert_allclose(found, exact, atol=1e-9 * np.max(np.abs(exact)))
    assert np.linalg.norm(exact[-1]) < 0.05  # and it regulates


def test_it_is_called_once_at_every_instant_in_order_and_held_in_between():
    calls = []

    def count(t, *x):
        calls.append(t)
        return float(len(calls))

    mech = motor(count, 0.1).build()
    run = mech.simulate((0.25, 1.0), mech.state(t=0.25), rtol=1e-8, t_eval=np.linspace(0.26, 0.99, 200))
    assert_allclose(calls, 0.1 * np.arange(3, 10), rtol=1e-14)
    held = np.floor(run.t / 0.1 + 1e-9) - 2.0
    assert_allclose(run.input("volts"), np.maximum(held, 0.0), atol=0.0)


def test_the_state_it_sees_is_that_of_its_instant():
    seen = []

    def look(t, q, u, x):
        seen.append((t, q, u, x))
        return 2.0

    mech = motor(look).build()
    mech.simulate((0, 1), rtol=1e-12)
    A, b = discrete(PERIOD)
    x = np.zeros(3)
    for _, *found in seen:
        assert_allclose(found, x, atol=1e-10)
        x = A @ x + 2.0 * b


@pytest.mark.parametrize("periods", [(0.1, 0.03)])
def test_two_controllers_keep_their_own_instants(periods):
    calls = {0: [], 1: []}

    def of(k):
        def function(t):
            calls[k].append(t)
            return 0.0

        return function

    system = tm.System("two", gravity=(0, 0, 0))
    wheel = system.body("wheel", 1.0, (J, J, J))
    axle = system.connect("axle", tm.Revolute("z"), system.ground, wheel)
    for k in (0, 1):
        system.controller(f"c{k}", of(k), periods[k], (), (f"v{k}",))
        system.connect(f"drive{k}", tm.ElectricMotor(C, R, L), axle, inputs={"voltage": f"v{k}"})
    system.build().simulate((0, 0.61), rtol=1e-8)
    assert_allclose(calls[0], 0.1 * np.arange(7), atol=1e-15)
    assert_allclose(calls[1], 0.03 * np.arange(21), atol=1e-15)


def test_a_controller_that_fails_is_named_with_its_time():
    def wrong(t, *x):
        return [1.0, 2.0] if t > 0.12 else 1.0

    with pytest.raises(
        tm.ElementError, match="controller 'regulator' gives .* at t = 0.15 s; wanted 1 finite"
    ):
        motor(wrong).build().simulate((0, 1))


def test_what_a_controller_looks_at_leaves_the_run_as_it_is():
    """A mass in flight over a platform that has let go of it: measures of loads are made for the state, and for nothing else."""

    def model(controlled):
        system = tm.System("platform", gravity=(0, 0, -9.81))
        mass = system.body("mass", 2.0, (0.1, 0.1, 0.1))
        guide = system.connect("guide", tm.Prismatic("z"), system.ground, mass)
        system.connect(
            "platform", tm.InPlane(distance=tm.Harmonic(0.1, 14.0), unilateral=True), system.ground, mass
        )
        if controlled:
            system.controller(
                "look",
                lambda t, force: 0.0 if seen.append((t, force)) is None else 1.0,
                0.01,
                ("platform.force[2]",),
                ("volts",),
            )
        else:
            system.input("volts", 0.0)
        system.connect("drive", tm.ElectricMotor(1e-3, 1.5, 0.03), guide, inputs={"voltage": "volts"})
        mech = system.build()
        return mech.simulate((0, 0.38), mech.assemble(), rtol=1e-9, max_step=0.01)

    seen = []
    plain, looked = model(False), model(True)
    assert len(plain.switched) == 2
    assert [s.holds for s in looked.switched] == [False, True]
    assert_allclose([s.t for s in looked.switched], [s.t for s in plain.switched], atol=1e-7)
    off, on = plain.switched[0].t, plain.switched[1].t
    for t, force in seen:
        assert (abs(force) < 1e-9) == (off < t < on)


def test_a_leg_between_two_calls_finds_no_address_again(monkeypatch):
    """Finding the addresses of all arrays took longer than the leg itself."""
    from treemech.dynamics.simulation import integrator

    found, own = [], integrator.address
    monkeypatch.setattr(integrator, "address", lambda array: found.append(1) or own(array))
    system, counts = tm.System("held", gravity=(0, 0, -9.81)), []
    bob = system.body("bob", 1.0, (0.1, 0.1, 0.1), com=(0, 0, -0.5))
    system.connect("A", tm.Revolute("y"), system.ground, bob)
    system.connect("motor", tm.Actuator(), "A", inputs={"command": "torque"})
    system.controller("regulator", lambda t, q, u: -5.0 * q - u, 0.01, ("A.q", "A.u"), ("torque",))
    mech = system.build()
    for end in (0.5, 1.0):
        found.clear()
        mech.simulate((0.0, end), mech.state(q={"A": 0.5}), t_eval=[end])
        counts.append(len(found))
    assert counts[0] == counts[1] < 20
