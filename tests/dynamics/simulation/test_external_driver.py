"""Integrators of scipy and SUNDIALS: events, actions, impacts and interruption as with our own methods."""

from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ellipk

import treemech as tm
from tests.support.driven import G, L, four_bar, pendulum, thrown
from treemech.dynamics.simulation.integrator import SCIPY

NEEDED = pytest.mark.skipif(find_spec("sksundae") is None, reason="scikit-sundae is not installed")
SUNDIALS = [pytest.param(name, marks=NEEDED) for name in ("CVODE", "IDA")]
METHODS = [*(f"scipy:{name}" for name in SCIPY), *SUNDIALS]
FEW = ["scipy:DOP853", "scipy:LSODA", *SUNDIALS]


@pytest.mark.parametrize("method", METHODS)
def test_a_pendulum_passes_its_lowest_point_at_the_times_of_the_elliptic_integral(method):
    mech, amplitude = pendulum(), 1.1
    period = 4 * np.sqrt(L / G) * ellipk(np.sin(amplitude / 2) ** 2)
    texts = ["A.q == 0", "A.q > 0", "A.q < 0", lambda t, state: state["A"][1][0]]
    rtol = 1e-7 if method in ("scipy:RK23", "scipy:Radau", "scipy:BDF") else 1e-9
    run = mech.simulate((0, 2.2 * period), mech.state(q={"A": amplitude}), method, events=texts, rtol=rtol)
    both, up, down, turning = (e.t for e in run.events)
    k = np.arange(4)
    assert_allclose(both, (0.25 + 0.5 * k) * period, atol=1e3 * rtol)
    assert_allclose(down, both[::2], rtol=1e-14)
    assert_allclose(up, both[1::2], rtol=1e-14)
    assert_allclose(turning, 0.5 * (k + 1) * period, atol=1e3 * rtol)
    assert np.all(np.isin(both, run.t)) and np.all(np.diff(run.t) > 0)


@pytest.mark.parametrize("method", METHODS)
def test_a_terminal_event_is_reached_exactly(method):
    """z = 10 t - 5 t^2. The event function is zero to rounding at the state, whatever the error of the time."""
    mech = thrown()
    start = mech.state(u={"z": 10.0})
    run = mech.simulate(
        (0, 5), start, method, rtol=1e-8, events=[tm.Event("z.q == 3.75", terminal=2, name="level")]
    )
    assert run.success and "'level' ended the run" in run.message
    assert_allclose(run.events[0].t, [0.5, 1.5], atol=1e-5)
    assert run.t[-1] == run.events[0].t[-1] and abs(run.q[-1, 0] - 3.75) < 1e-13
    run = mech.simulate(
        (0, 5),
        start,
        method,
        rtol=1e-8,
        events=tm.Event("z.q < 0", terminal=True),
        t_eval=np.arange(0.0, 5.0, 0.3),
    )
    assert_allclose(run.t, np.arange(0.0, 2.0, 0.3))
    assert_allclose(run.q[:, 0], 10 * run.t - 5 * run.t**2, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_an_action_starts_from_a_state_as_accurate_as_the_run(method):
    mech = pendulum()
    stop = tm.Event("A.q < 0.4", action=lambda t, s: {"A.u": 0.0})
    rtol = 1e-6 if method in ("scipy:RK23", "scipy:Radau", "scipy:BDF") else 1e-9
    run = mech.simulate((0, 0.6), mech.state(q={"A": 1.2}), method, events=stop, dense_output=True, rtol=rtol)
    (t,), before, after = run.events[0].t, run.events[0].states[0], run.events[0].after[0]
    assert abs(before["A"][0][0] - 0.4) < 1e-13  # to rounding, not to the accuracy of an interpolant
    speed = np.sqrt(2 * G / L * (np.cos(0.4) - np.cos(1.2)))
    assert_allclose(before["A"][1], -speed, atol=1e3 * rtol)
    assert after["A"][1] == 0.0 and np.array_equal(after.q, before.q)
    (first, second) = np.flatnonzero(run.t == t)
    assert run.u[first, 0] == before.u[0] and run.u[second, 0] == 0.0
    energy = 0.5 * (L * run.u[:, 0]) ** 2 - G * L * np.cos(run.q[:, 0])
    assert_allclose(energy[run.t > t], -G * L * np.cos(0.4), atol=1e4 * rtol)
    assert_allclose(run.sol(t)[1], 0.0, atol=1e-15)
    assert run.sol(np.nextafter(t, 0))[1][0] < -0.9 * speed


@pytest.mark.parametrize("method", FEW)
def test_bounces_are_those_of_the_closed_form(method):
    mech = thrown()
    floor = tm.Impact.at_limit("z", lower=0.0, restitution=0.8)
    run = mech.simulate((0, 4), mech.state(q={"z": 5.0}), method, events=floor, rtol=1e-9)
    flights = 2 * 0.8 ** np.arange(1, len(run.events[0].t))
    assert len(run.events[0].t) >= 3 and run.success, run.message
    assert_allclose(run.events[0].t, 1.0 + np.append(0, np.cumsum(flights)), atol=1e-7)
    assert run.q.min() > -1e-12
    rest = mech.simulate((0, 20), mech.state(q={"z": 5.0}), method, events=floor, rtol=1e-6)
    assert not rest.success and "comes to rest" in rest.message and abs(rest.t[-1] - 9.0) < 1e-3


@pytest.mark.parametrize("method", FEW)
def test_closed_chains_have_the_events_of_our_own_methods(method):
    mech, state = four_bar()
    events = ["tip > 0.9", "D.q > -2.0", tm.Event("A.q > 1", action=lambda t, s: {"A.u": 1.0})]
    ours = mech.simulate((0, 1.5), state, rtol=1e-10, events=events)
    run = mech.simulate((0, 1.5), state, method, rtol=1e-9, events=events)
    assert len(ours.events[2].t) >= 1
    for one, two in zip(ours.events, run.events, strict=True):
        assert_allclose(two.t, one.t, atol=1e-5)
    assert_allclose(run.q[-1], ours.q[-1], atol=1e-5)
    assert run.residual.position.max() < 1e-9
    for state in run.events[2].after:
        assert np.abs(mech.constraints(mech.state(state.t, state.q, state.u)).velocity).max() < 1e-9


@pytest.mark.parametrize("method", FEW)
def test_a_run_that_is_watched_is_the_run_that_is_not(method):
    mech = pendulum()
    start = mech.state(q={"A": 1.1})
    plain = mech.simulate((0, 3), start, method, t_eval=np.linspace(0, 3, 40))
    seen = mech.simulate(
        (0, 3), start, method, t_eval=np.linspace(0, 3, 40), events=["A.q > 0", "height > -0.6"]
    )
    assert sum(len(e.t) for e in seen.events) > 2
    if method.startswith("scipy"):
        assert np.array_equal(plain.q, seen.q) and plain.statistics == seen.statistics
    assert_allclose(plain.q, seen.q, atol=1e-4)


@pytest.mark.parametrize("method", FEW)
def test_interruption_keeps_steps_and_events(method):
    mech, calls = pendulum(), []

    def stop(fraction):
        calls.append(fraction)
        if fraction > 0.5:
            raise KeyboardInterrupt

    run = mech.simulate((0, 4), mech.state(q={"A": 1.0}), method, events="A.q == 0", progress=stop)
    assert not run.success and "interrupted" in run.message and calls[0] < 0.5 < calls[-1]
    assert 2.0 < run.t[-1] < 3.0 and len(run.events[0].t) >= 2

    def held(t, state):
        if t > 2.0:
            raise KeyboardInterrupt
        return state.q[0]

    run = mech.simulate((0, 4), mech.state(q={"A": 1.0}), method, events=held)
    assert not run.success and "interrupted" in run.message and 0.5 < run.t[-1] <= 2.0


@pytest.mark.parametrize("method", FEW)
def test_an_event_that_fails_carries_what_was_computed(method):
    mech = pendulum()
    broken = tm.Event("A.q < 0.5", action=lambda t, s: 1 / 0, name="broken")
    with pytest.raises(tm.ElementError, match=r"action of event 'broken'.*ZeroDivisionError") as caught:
        mech.simulate((0, 1), mech.state(q={"A": 1.0}), method, events=broken)
    assert 0.0 < caught.value.partial.t[-1] < 1.0 and caught.value.partial.q[-1, 0] == pytest.approx(0.5)


@pytest.mark.parametrize("method", ["scipy:DOP853", "scipy:BDF", *SUNDIALS])
def test_backwards_events_come_in_the_order_of_the_run(method):
    mech = thrown()
    start = mech.state(1.5, q={"z": 3.75}, u={"z": -5.0})
    run = mech.simulate((1.5, 0), start, method, rtol=1e-9, events="z.q == 4.0")
    assert_allclose(run.events[0].t, 1.0 + np.sqrt(0.2) * np.array([1, -1]), atol=1e-6)
    assert np.all(np.diff(run.t) < 0)


def test_jumps_of_controllers_and_events_at_breaks():
    system = tm.System("sampled", gravity=(0, 0, 0))
    wheel = system.body("wheel", 1.0, (0.02, 0.02, 0.02))
    axle = system.connect("axle", tm.Revolute("z"), system.ground, wheel)
    system.controller("switch", lambda t: 1.0 if round(t / 0.1) % 4 < 2 else -1.0, 0.1, (), ("volts",))
    system.connect("drive", tm.ElectricMotor(0.3, 1.5, 0.03), axle, inputs={"voltage": "volts"})
    mech = system.build()
    events = [tm.Event(lambda t, s: s.memory[-1], name="volts"), "drive.x[0] > 0.2"]
    ours = mech.simulate((0, 1), events=events, rtol=1e-10)
    run = mech.simulate((0, 1), None, "scipy:DOP853", events=events, rtol=1e-9)
    assert_allclose(run.events[0].t, [0.2, 0.4, 0.6, 0.8], rtol=1e-14)
    assert_allclose(run.events[1].t, ours.events[1].t, atol=1e-6)


def test_checkpoints_are_refused_by_name(tmp_path):
    with pytest.raises(tm.TreemechError, match="scipy:RK45.*no checkpoints"):
        pendulum().simulate((0, 1), method="scipy:RK45", checkpoint=tmp_path / "long")


@pytest.mark.parametrize("method", ["scipy:LSODA", "CVODE"])
def test_a_failure_of_another_library_has_a_reason(method):
    """Three parallel cranks: where they lie in line constraints lose rank."""
    if method == "CVODE":
        pytest.importorskip("sksundae")
    system = tm.System("three cranks")
    coupler = system.body("coupler", mass=2.0, inertia=(0.1, 0.1, 0.1))
    for k in range(3):
        crank = system.body(f"crank {k}", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.2, 0, 0))
        system.connect(f"A{k}", tm.Revolute("y"), system.ground.at((k, 0, 0)), crank)
        system.connect(f"B{k}", tm.Revolute("y"), crank.at((0.4, 0, 0)), coupler.at((k, 0, 0)))
    mech = system.build()
    start = mech.assemble(guess={f"A{k}": 0.3 for k in range(3)}, rates={"A0": 12.0})
    run = mech.simulate((0, 5), start, method=method, rtol=1e-7)
    assert run.success or "DOP853" in run.message
