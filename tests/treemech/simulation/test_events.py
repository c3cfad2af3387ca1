"""Events: found where they are, without disturbing the run; actions restart it from a state that fits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import treemech as tm
from tests.support.driven import MODELS, G, L, four_bar, pendulum, thrown
from tests.support.models import random_state, random_system
from tests.support.tolerances import ROUND

METHODS = ("DOP853", "DP5", "Adams", "Radau", "auto", "RK4")


def closed(mech, state):
    """Largest residual of positions and rates."""
    now = mech.constraints(mech.state(state.t, state.q, state.u))
    return max(np.abs(now.residual).max(), np.abs(now.velocity).max())


# ---------------------------------------------------------------- where they are
@pytest.mark.parametrize("method", METHODS)
def test_a_pendulum_passes_its_lowest_point_at_the_times_of_the_elliptic_integral(method):
    mech, amplitude = pendulum(), 1.1
    period = 4 * np.sqrt(L / G) * ellipk(np.sin(amplitude / 2) ** 2)
    options = {"max_step": 1e-3} if method == "RK4" else {"rtol": 1e-11}
    texts = ["A.q == 0", "A.q > 0", "A.q < 0", lambda t, state: state["A"][1][0]]
    run = mech.simulate((0, 4.2 * period), mech.state(q={"A": amplitude}), method, events=texts, **options)
    both, up, down, turning = (e.t for e in run.events)
    k = np.arange(8)
    limit = 1e-8 if method == "Radau" else 1e-9
    assert_allclose(both, (0.25 + 0.5 * k) * period, atol=limit)
    assert_allclose(down, both[::2], rtol=1e-15)
    assert_allclose(up, both[1::2], rtol=1e-15)
    assert_allclose(turning, 0.5 * (k + 1) * period, atol=limit)
    assert np.all(np.isin(both, run.t)) and np.all(np.diff(run.t) > 0)


def test_event_times_are_those_of_scipy_on_the_same_right_hand_side():
    system = random_system(5, n=4, kinds=("Revolute", "Prismatic", "Cylindrical"), loads=False)
    mech = system.build()
    start = random_state(mech, 3)
    y0 = np.concatenate((start.q, start.u))

    def rhs(t, y):
        q, u = y[: mech.nq], y[mech.nq :]
        return np.concatenate((u, mech.forward_dynamics((t, q, u)).ud))

    def first(t, y):
        return y[0] + 1.0

    def fast(t, y):
        return y[mech.nq :] @ y[mech.nq :] - 130.0

    fast.direction = 1
    span = (start.t, start.t + 2.0)
    scipys = solve_ivp(rhs, span, y0, "DOP853", rtol=1e-11, atol=1e-13, events=[first, fast])
    speed = tm.Event(lambda t, s: s.u @ s.u - 130.0, direction=1)
    run = mech.simulate(span, start, rtol=1e-11, events=[lambda t, s: s.q[0] + 1.0, speed])
    assert sum(len(t) for t in scipys.t_events) > 2
    for ours, theirs in zip(run.events, scipys.t_events, strict=True):
        assert_allclose(ours.t, theirs, atol=1e-8)


def test_two_crossings_within_one_step_are_found():
    mech = thrown()
    up, down = 1.0 - np.sqrt(0.1), 1.0 + np.sqrt(0.1)  # z = 10 t - 5 t^2 = 4.5
    run = mech.simulate((0, 2.5), mech.state(u={"z": 10.0}), first_step=2.5, rtol=1e-3, events=["z.q == 4.5"])
    assert run.statistics["steps"] < 4
    assert_allclose(run.events[0].t, [up, down], rtol=ROUND)
    assert_allclose([s["z"][0][0] for s in run.events[0].states], 4.5, rtol=ROUND)


def test_measures_points_and_cut_hinges_are_seen_by_name():
    mech, state = four_bar()
    sides = ["tip > 0.9", "D.q > -2.0", "tip < D.q", "C.q > B.q", "D.u < 0"]
    run = mech.simulate((0, 2), state, rtol=1e-9, events=sides)
    fine = mech.simulate((0, 2), state, rtol=1e-9, t_eval=np.linspace(0, 2, 20001))
    D, tip = fine.connection("D"), fine.measure("tip")
    series = [tip - 0.9, D.q + 2.0, D.q - tip, fine.connection("C").q - fine.connection("B").q, -D.u]
    for event, values in zip(run.events, series, strict=True):
        at = np.flatnonzero((values[:-1] <= 0) & (values[1:] > 0))
        assert len(event.t) == len(at)
        assert np.all(np.abs(event.t - fine.t[at]) < 1.1e-4)
    assert sum(len(e.t) for e in run.events) >= 5


def test_states_of_closed_chains_at_events_are_closed():
    mech, state = four_bar()
    seen = []

    def look(t, s):
        seen.append((s, s["D"][0][0]))
        return s["A"][0][0] - 1.0

    run = mech.simulate((0, 1), state, rtol=1e-6, events=look)
    assert len(run.events[0].t) and max(closed(mech, s) for s, _ in seen[::7]) < 1e-9
    assert max(closed(mech, s) for s in run.events[0].states) < 1e-9
    assert_allclose([s["A"][0][0] for s in run.events[0].states], 1.0, atol=1e-12)
    assert run.residual.position.max() < 1e-9


# ---------------------------------------------------------------- without disturbing
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", ["tree", "four_bar", "elements", "platform"])
def test_events_that_only_look_leave_the_run_as_it_is_to_the_bit(model, method):
    mech, state = MODELS[model]()
    span = (state.t, state.t + (0.4 if model == "platform" else 1.0))
    options = {"method": method, "rtol": 1e-7, **({"max_step": 2e-3} if method == "RK4" else {})}
    name = mech._info.hinges[0].name
    events = [lambda t, s: s.u[0] - 0.5, lambda t, s: np.sin(40 * t), f"{name}.u[0] > 0.3"]
    bare, seen = mech.simulate(span, state, **options), mech.simulate(span, state, events=events, **options)
    assert sum(len(e.t) for e in seen.events) >= 4
    steps = np.isin(seen.t, bare.t)
    for name in ("t", "q", "u"):
        assert np.array_equal(getattr(bare, name), getattr(seen, name)[steps])
    assert np.all(np.isin(seen.t[~steps], np.concatenate([e.t for e in seen.events])))
    assert bare.statistics == seen.statistics
    times = np.linspace(*span, 41)
    bare = mech.simulate(span, state, t_eval=times, **options)
    seen = mech.simulate(span, state, t_eval=times, events=events, **options)
    assert np.array_equal(seen.t, times) and np.array_equal(bare.q, seen.q) and np.array_equal(bare.u, seen.u)
    assert bare.statistics == seen.statistics


# ---------------------------------------------------------------- ends and actions
def test_terminal_events_end_the_run_where_they_come():
    mech = thrown()
    start = mech.state(u={"z": 10.0})
    run = mech.simulate((0, 5), start, events=[tm.Event("z.q == 3.75", terminal=2, name="level")])
    assert run.success and "'level' ended the run" in run.message
    assert_allclose(run.events[0].t, [0.5, 1.5], rtol=1e-14)
    assert run.t[-1] == run.events[0].t[-1] and abs(run.q[-1, 0] - 3.75) < 1e-14

    def ground(t, state):
        return state["z"][0][0]

    ground.terminal, ground.direction = True, -1
    run = mech.simulate((0, 5), start, events=ground, t_eval=np.arange(0.0, 5.0, 0.3))
    assert_allclose(run.events[0].t, 2.0, rtol=1e-14)
    assert_allclose(run.t, np.arange(0.0, 2.0, 0.3))


@pytest.mark.parametrize("method", METHODS)
def test_an_action_starts_from_a_state_as_accurate_as_the_run(method):
    """A pendulum that is stopped at an angle and goes on from there: energies on both sides are those of the closed form."""
    mech = pendulum()
    options = {"max_step": 2e-3} if method == "RK4" else {"rtol": 1e-10}
    stop = tm.Event("A.q < 0.4", action=lambda t, s: {"A.u": 0.0})
    run = mech.simulate((0, 0.6), mech.state(q={"A": 1.2}), method, events=stop, dense_output=True, **options)
    assert len(run.events[0].t) == 1
    (t,), before, after = run.events[0].t, run.events[0].states[0], run.events[0].after[0]
    assert abs(before["A"][0][0] - 0.4) < 1e-14  # to rounding, not to the accuracy of an interpolant
    speed = np.sqrt(2 * G / L * (np.cos(0.4) - np.cos(1.2)))
    assert_allclose(before["A"][1], -speed, atol=1e-8)
    assert after["A"][1] == 0.0 and np.array_equal(after.q, before.q)
    (first, second) = np.flatnonzero(run.t == t)
    assert run.u[first, 0] == before.u[0] and run.u[second, 0] == 0.0
    later = run.t > t
    energy = 0.5 * (L * run.u[:, 0]) ** 2 - G * L * np.cos(run.q[:, 0])
    assert_allclose(energy[later], -G * L * np.cos(0.4), atol=1e-7)
    assert_allclose(run.sol(t)[1], 0.0, atol=1e-15)  # continuous from the right
    assert run.sol(np.nextafter(t, 0))[1][0] < -0.9 * speed
    times = run.t[[first - 1, second + 1]].mean(), t + 0.01
    q, u = run.sol(np.array(times))
    assert np.all(np.isfinite(q)) and u[1, 0] < 0.0


def test_an_output_at_the_instant_of_an_action_is_the_state_after_it():
    mech = thrown()
    turn = tm.Event(lambda t, s: t - 0.5, action=lambda t, s: {"z.u": 3.0, "z.q": 7.0})
    run = mech.simulate((0, 1), mech.state(), events=turn, t_eval=[0.25, 0.5, 0.75])
    assert_allclose(run.q[:, 0], [-0.3125, 7.0, 7.0 + 0.75 - 0.3125], atol=1e-12)
    assert_allclose(run.u[:, 0], [-2.5, 3.0, 0.5], atol=1e-12)


def test_an_action_with_the_end_of_the_run_leaves_its_state_last():
    mech = thrown()
    catch = tm.Event("z.q < -1", action=lambda t, s: {"z.u": 0.0}, terminal=True)
    run = mech.simulate((0, 2), mech.state(), events=catch, dense_output=True)
    assert run.success and run.t[-1] == run.t[-2] and run.u[-1, 0] == 0.0 and run.u[-2, 0] < -4.0
    assert_allclose(run.sol(run.t[-1])[1], 0.0, atol=0.0)


def test_actions_may_give_a_state_or_nothing():
    mech = random_system(3, n=6, kinds=("Revolute", "Ball", "Free"), loads=False).build()
    start = random_state(mech, 1)
    span = (start.t, start.t + 0.5)

    def again(t, state):
        return mech.state(t, start.q, start.u)

    middle = span[0] + 0.25
    run = mech.simulate(span, start, rtol=1e-10, events=tm.Event(lambda t, s: t - middle, action=again))
    plain = mech.simulate(span, start, rtol=1e-10, t_eval=[middle, span[1]])
    assert_allclose(run.q[-1], plain.q[0], atol=1e-8)  # it has started once more (nothing depends on time)
    assert_allclose(run.events[0].after[0].q, start.q, atol=1e-15)
    assert_allclose(run.events[0].after[0].u, start.u, atol=1e-14)
    seen = []
    run = mech.simulate(
        span, start, rtol=1e-10, events=tm.Event(lambda t, s: t - middle, action=lambda t, s: seen.append(t))
    )
    assert_allclose(seen, middle, rtol=1e-15)
    assert_allclose(run.q[-1], plain.q[1], atol=1e-8)


def test_changed_speeds_of_a_closed_chain_fit_its_constraints():
    mech, state = four_bar()

    def act(change):
        event = tm.Event("A.q > 0.2", action=lambda t, s: change(s), terminal=True)
        run = mech.simulate((0, 1), state, rtol=1e-9, events=event)
        return run.events[0].states[0], run.events[0].after[0]

    before, after = act(lambda s: {"A.u": 2.5})
    assert_allclose(after["A"][1], 2.5, rtol=1e-15)
    assert closed(mech, after) < 1e-12 and np.array_equal(before.q, after.q)
    wish = np.array([1.0, -2.0, 0.5])
    before, after = act(lambda s: tm.State(s.t, s.q, s.u + wish))
    A, P = mech.mass_matrix(before), mech.constraints(before).partials
    kkt = np.block([[A, P.T], [P, np.zeros((len(P), len(P)))]])
    right = np.concatenate((A @ (before.u + wish), np.zeros(len(P))))
    assert_allclose(after.u, np.linalg.lstsq(kkt, right, rcond=1e-12)[0][:3], atol=1e-11)
    before, after = act(lambda s: {"A.q": 0.5})
    assert_allclose(after["A"][0], 0.5, rtol=1e-15)
    assert closed(mech, mech.state(after.t, after.q, after.u)) < 1e-10
    with pytest.raises(tm.ElementError, match=r"(?s)event 'A.q > 0.2'.*'A', 'B'.*opens at") as caught:
        act(lambda s: {"A.u": 1.0, "B.u": 1.0})
    assert caught.value.partial.t[-1] > 0.0


def test_states_of_elements_go_on_through_an_action():
    system = tm.System("motor", gravity=(0, 0, 0))
    wheel = system.body("wheel", 1.0, (0.02, 0.02, 0.02))
    axle = system.connect("axle", tm.Revolute("z"), system.ground, wheel)
    system.input("volts", 3.0)
    system.connect("drive", tm.ElectricMotor(0.3, 1.5, 0.03), axle, inputs={"voltage": "volts"})
    mech = system.build()
    stall = tm.Event(lambda t, s: t - 0.1, action=lambda t, s: {"axle.u": 0.0})
    run = mech.simulate((0, 0.2), events=stall, rtol=1e-9, audit=True)
    first, second = np.flatnonzero(run.t == run.events[0].t[0])
    x = run.element("drive").x[:, 0]
    assert x[first] == x[second] != 0.0
    work = run.audit["drive"].work
    assert work[first] == work[second] != 0.0


# ---------------------------------------------------------------- edges
def test_a_function_that_is_zero_for_a_while_changes_its_sign_once():
    mech = thrown()

    def flat(t, s):
        return min(t - 0.3, 0.0) + max(t - 0.7, 0.0)

    run = mech.simulate((0, 1), mech.state(), max_step=0.05, events=[flat, lambda t, s: max(t - 0.5, 0.0)])
    assert_allclose(run.events[0].t, [0.7], atol=1e-12)
    assert len(run.events[1].t) == 0  # it has never had another sign


def test_a_zero_at_the_start_is_no_event():
    mech = thrown()
    run = mech.simulate((0, 3), mech.state(u={"z": 10.0}), events=["z.q == 0", "z.q < 0", "z.u < 10"])
    assert [len(e.t) for e in run.events] == [1, 1, 0]
    assert_allclose(run.events[0].t, 2.0, rtol=1e-14)


def test_backwards_events_come_in_the_order_of_the_run():
    mech = thrown()
    forward = mech.simulate((0, 1.5), mech.state(u={"z": 10.0}), rtol=1e-10, events="z.q == 4.0")
    end = mech.state(1.5, q=forward.q[-1], u=forward.u[-1])
    back = mech.simulate((1.5, 0), end, rtol=1e-10, events="z.q == 4.0")
    assert_allclose(back.events[0].t[::-1], forward.events[0].t, atol=1e-12)
    assert np.all(np.diff(back.t) < 0)


def test_jumps_make_events_too():
    """Of another event's action, in the same instant; and of what a controller holds."""
    mech = thrown()
    bounce = tm.Event("z.q < 0", action=lambda t, s: {"z.u": -s.u[0]})
    counted = tm.Event("z.u > 0")
    run = mech.simulate((0, 5), mech.state(q={"z": 1.0}), events=[counted, bounce], rtol=1e-10)
    assert len(run.events[0].t) == len(run.events[1].t) > 3
    assert np.array_equal(run.events[0].t, run.events[1].t)

    system = tm.System("sampled", gravity=(0, 0, 0))
    wheel = system.body("wheel", 1.0, (0.02, 0.02, 0.02))
    axle = system.connect("axle", tm.Revolute("z"), system.ground, wheel)
    system.controller("switch", lambda t: 1.0 if round(t / 0.1) % 4 < 2 else -1.0, 0.1, (), ("volts",))
    system.connect("drive", tm.ElectricMotor(0.3, 1.5, 0.03), axle, inputs={"voltage": "volts"})
    mech = system.build()
    volts, amperes = tm.Event(lambda t, s: s.memory[-1], name="volts"), "drive.x[0] > 0.2"
    run = mech.simulate((0, 1), events=[volts, amperes], rtol=1e-10)
    assert_allclose(run.events[0].t, [0.2, 0.4, 0.6, 0.8], rtol=1e-14)
    fine = mech.simulate((0, 1), rtol=1e-10, t_eval=np.linspace(0, 1, 10001))
    x = fine.element("drive").x[:, 0] - 0.2
    assert_allclose(run.events[1].t, fine.t[:-1][(x[:-1] <= 0) & (x[1:] > 0)], atol=1.01e-4)


@pytest.mark.parametrize("restitution", [0.1, 0.2, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("span", [3.0, 300.0])
def test_rebounds_by_an_action_end_the_run_rather_than_pass_through(restitution, span):
    mech = thrown()
    bounce = tm.Event("z.q < 0", action=lambda t, s: {"z.u": -restitution * s.u[0]}, name="bounce")
    run = mech.simulate((0, span), mech.state(q={"z": 0.1}), events=bounce, rtol=1e-8)
    end = (1 + restitution) / (1 - restitution) * np.sqrt(2 * 0.1 / 10.0)
    assert not run.success and "'bounce'" in run.message
    assert abs(run.t[-1] - end) < 1e-6 and run.q.min() > -1e-12


def test_actions_that_accumulate_end_the_run_with_the_name_of_the_event():
    mech = thrown()
    bounce = tm.Event("z.q < 0", action=lambda t, s: {"z.u": -0.5 * s.u[0]}, name="bounce")
    run = mech.simulate((0, 5), mech.state(q={"z": 5.0}), events=bounce)
    assert not run.success and "'bounce'" in run.message and "unilateral" in run.message
    assert abs(run.t[-1] - 3.0) < 1e-6  # 1 s, and 1/2 + 1/4 + ... twice that
    assert run.q.min() > -1e-12


def test_actions_that_undo_each_other_end_the_run_as_well():
    mech = thrown()
    ping = tm.Event("z.q < 1", action=lambda t, s: {"z.q": 3.0}, name="ping")
    pong = tm.Event("z.q > 2", action=lambda t, s: {"z.q": 0.0}, name="pong")
    run = mech.simulate((0, 1), mech.state(q={"z": 1.5}), events=[ping, pong])
    assert not run.success and "'ping'" in run.message and abs(run.t[-1] - np.sqrt(0.1)) < 1e-12


def test_a_tiny_rebound_within_a_step_is_not_missed():
    mech = thrown()
    bounce = tm.Event("z.q < 0", action=lambda t, s: {"z.u": -0.01 * s.u[0]})
    run = mech.simulate((0, 1.05), mech.state(q={"z": 5.0}), events=bounce, first_step=1.0)
    assert_allclose(run.events[0].t[:4], 1.0 + 2 * np.array([0, 0.01, 0.0101, 0.010101]), rtol=1e-13)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("AA.q > 1", r"'AA\.q > 1'.*there is no"),
        ("A.q > heigt", r"did you mean 'height'"),
        ("A.speed > 0", r"'A' has no 'speed'"),
        ("A.q[1] > 0", r"hinge 'A' has 1 numbers in q"),
        ("A.q", r"no comparison"),
        ("0 < A.q < 1", r"no comparison"),
        (3.0, r"neither a function"),
    ],
    ids=str,
)
def test_events_that_mean_nothing_are_refused_by_name(event, message):
    mech = pendulum()
    with pytest.raises(tm.TreemechError, match=message):
        mech.simulate((0, 1), events=[event])


def test_an_event_that_fails_carries_what_was_computed():
    mech = pendulum()

    def late(t, s):
        if t > 0.5:
            raise RuntimeError("too late")
        return 1.0

    state = mech.state(q={"A": 1.0})
    with pytest.raises(
        tm.ElementError, match=r"event 'late' failed at t = 0\.5.*RuntimeError: too late"
    ) as caught:
        mech.simulate((0, 1), state, events=late, max_step=0.01)
    assert 0.2 < caught.value.partial.t[-1] <= 0.5
    with pytest.raises(tm.ElementError, match=r"gives nan at t = 0\.5"):
        mech.simulate((0, 1), state, events=lambda t, s: np.nan if t > 0.5 else 1.0, max_step=0.01)
    broken = tm.Event("A.q < 0.5", action=lambda t, s: 1 / 0, name="broken")
    with pytest.raises(tm.ElementError, match=r"action of event 'broken'.*ZeroDivisionError") as caught:
        mech.simulate((0, 1), state, events=broken)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    wrong = tm.Event("A.q < 0.5", action=lambda t, s: {"A": 0.0})
    with pytest.raises(tm.ElementError, match=r"changes 'A'; wanted"):
        mech.simulate((0, 1), state, events=wrong)


def test_an_interrupted_run_keeps_its_events():
    mech = pendulum()
    calls = []

    def stop(fraction):
        calls.append(fraction)
        if len(calls) == 6:
            raise KeyboardInterrupt

    whole = mech.simulate((0, 100), mech.state(q={"A": 1.0}), events="A.q > 0")
    run = mech.simulate((0, 100), mech.state(q={"A": 1.0}), events="A.q > 0", progress=stop)
    assert not run.success and "interrupted" in run.message
    n = len(run.events[0].t)
    assert 0 < n < len(whole.events[0].t) and np.array_equal(run.events[0].t, whole.events[0].t[:n])
    assert np.array_equal(run.t, whole.t[: len(run.t)])

    def held(t, state):
        if t > 3.0:
            raise KeyboardInterrupt
        return state.q[0]

    run = mech.simulate((0, 100), mech.state(q={"A": 1.0}), events=held)
    assert not run.success and "interrupted" in run.message and 1.0 < run.t[-1] <= 3.0


def test_events_are_kept_with_the_run(tmp_path):
    mech, state = four_bar()
    slow = tm.Event("A.q > 1", action=lambda t, s: {"A.u": 1.0})
    run = mech.simulate((0, 1), state, events=[slow, "A.q > 100"])
    again = tm.read(run.save(tmp_path / "run"))
    assert [e.name for e in again.events] == ["A.q > 1", "A.q > 100"] and len(run.events[0].t)
    for one, two in zip(run.events, again.events, strict=True):
        assert np.array_equal(one.t, two.t)
        for s, r in zip(one.states + one.after, two.states + two.after, strict=True):
            assert s.t == r.t and np.array_equal(s.q, r.q) and np.array_equal(s.u, r.u)


@pytest.mark.parametrize("model", ["tree", "loops", "elements"])
def test_random_functions_have_the_events_their_outputs_show(model):
    mech, state = MODELS[model]()
    rng, span = np.random.default_rng(7), (state.t, state.t + 1.0)
    weights = rng.normal(size=(6, mech.nq + mech.nu))
    fine = mech.simulate(span, state, rtol=1e-9, t_eval=np.linspace(*span, 4001))
    series = np.hstack((fine.q, fine.u)) @ weights.T
    levels = np.quantile(series, 0.6, axis=0)
    directions = (0, 1, -1, 0, 1, -1)

    def function(w, level):
        return lambda t, s: w @ np.concatenate((s.q, s.u)) - level

    events = [tm.Event(function(*x), direction=d) for *x, d in zip(weights, levels, directions, strict=True)]
    run = mech.simulate(span, state, rtol=1e-9, events=events)
    total = 0
    for k, (points, d) in enumerate(zip(run.events, directions, strict=True)):
        above = series[:, k] > levels[k]
        up, down = np.flatnonzero(~above[:-1] & above[1:]), np.flatnonzero(above[:-1] & ~above[1:])
        at = np.sort(np.concatenate(([up] if d >= 0 else []) + ([down] if d <= 0 else [])))
        assert len(points.t) == len(at)
        assert np.all((points.t >= fine.t[at] - 1e-7) & (points.t <= fine.t[at + 1] + 1e-7))
        total += len(at)
    assert total >= 4


def test_events_meet_the_instants_of_controllers_and_the_breaks_of_signals():
    system = tm.System("sampled", gravity=(0, 0, 0))
    wheel = system.body("wheel", 1.0, (0.02, 0.02, 0.02))
    axle = system.connect("axle", tm.Revolute("z"), system.ground, wheel)
    calls = []
    system.controller("count", lambda t: float(calls.append(t) is None), 0.1, (), ("volts",))
    system.connect("drive", tm.ElectricMotor(0.3, 1.5, 0.03), axle, inputs={"voltage": "volts"})
    mech = system.build()
    brake = tm.Event(lambda t, s: t - 0.2, action=lambda t, s: {"axle.u": 0.0}, name="brake")
    early = tm.Event(lambda t, s: t - 0.15, action=lambda t, s: {"axle.u": 0.0})
    run = mech.simulate((0, 0.4), events=[brake, early], rtol=1e-10)
    assert_allclose(calls, [0.0, 0.1, 0.2, 0.3], rtol=1e-14)
    assert_allclose([run.events[0].t, run.events[1].t], [[0.2], [0.15]], rtol=1e-14)
    # from a stop of the same wheel with the same current on, the same motion
    after = run.events[0].after[0]
    again = mech.simulate((0.2, 0.4), mech.state(0.2, q=after.q, u=after.u, x=after.x), rtol=1e-10)
    assert_allclose(run.q[-1], again.q[-1], atol=1e-9)


# ---------------------------------------------------------------- mistakes are told
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "gives None"),
        (np.zeros(2), "wanted a number"),
        ("high", "'high'"),
        (1j, "1j"),
        (True, "truth value"),
    ],
)
def test_an_event_that_gives_no_number_says_what_it_gives(given, words):
    def odd(t, state):
        return given

    with pytest.raises(tm.ElementError, match=f"event 'odd'.*{words}"):
        pendulum().simulate((0, 1), events=odd)


def test_one_number_in_an_array_is_a_number():
    mech = pendulum()
    start = mech.state(q={"A": 1.1})
    run = mech.simulate((0, 3), start, events=[lambda t, state: state["A"][1], "A.u == 0"])
    assert len(run.events[0].t) == 3 and np.array_equal(run.events[0].t, run.events[1].t)


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ("", "''.*comparison"),
        ("abs(A.q) > 1", r"event 'abs\(A.q\) > 1'.*function"),
        ("A.q + A.u > 1", r"event 'A.q \+ A.u > 1'.*function"),
        ("A.speed > 1", r"event 'A.speed > 1'.*it has 'force'"),
        ("bobb.position[0] > 1", "did you mean 'bob'"),
    ],
)
def test_a_comparison_that_is_not_understood_is_named(events, words):
    with pytest.raises(tm.ElementError, match=words):
        pendulum().simulate((0, 1), events=events)


@pytest.mark.parametrize("direction", ["up", np.nan, None])
def test_a_direction_is_a_number(direction):
    with pytest.raises(tm.ElementError, match="direction of event 'A.q > 0'"):
        tm.Event("A.q > 0", direction=direction)


def test_a_count_may_be_one_of_numpy():
    mech = pendulum()
    run = mech.simulate(
        (0, 9), mech.state(q={"A": 1.1}), events=tm.Event("A.q == 0", terminal=np.arange(3)[2])
    )
    assert len(run.events[0].t) == 2 and run.t[-1] == run.events[0].t[1]


def test_the_one_coordinate_of_a_hinge_is_at_place_0_whether_it_is_cut_or_not():
    mech, state = four_bar()
    span = (state.t, state.t + 2)
    half_way = mech.simulate(span, state, t_eval=[span[0], state.t + 0.1])
    for hinge in "ABCD":
        place = half_way.connection(hinge).q[1]
        run = mech.simulate(span, state, events=[f"{hinge}.q == {place}", f"{hinge}.q[0] == {place}"])
        assert len(run.events[0].t) and np.array_equal(run.events[0].t, run.events[1].t)
        assert np.array_equal(run.measure(f"{hinge}.q[0]"), run.connection(hinge).q)
        with pytest.raises(tm.ElementError, match=r"no place \[1\]"):
            run.measure(f"{hinge}.q[1]")


def test_an_action_on_a_prescribed_coordinate_is_refused():
    system = tm.System("driven")
    bob = system.body("bob", 1.3, (0.1, 0.1, 0.1), com=(0, 0, -0.7))
    system.connect("A", tm.Universal(), system.ground, bob)
    system.prescribe("A", tm.Harmonic(0.3, 2.0), coordinate=1)
    mech = system.build()
    run = mech.simulate((0, 1), events=tm.Event(lambda t, state: t - 0.5, lambda t, state: {"A.u[0]": 2.0}))
    assert run.events[0].after[0]["A"][1][0] == 2.0
    for name in ("A.u[1]", "A.q"):
        change = tm.Event(
            lambda t, state: t - 0.5, lambda t, state, name=name: {name: [0.0, 2.0]}, name="push"
        )
        with pytest.raises(
            tm.ElementError, match=r"action of event 'push'.*'A(\[1\])?', which is prescribed"
        ):
            mech.simulate((0, 1), events=change)


def test_an_action_that_writes_into_the_state_is_told_that_this_changes_nothing():
    def stop(t, state):
        state.u[:] = 0.0

    mech = pendulum()
    with pytest.raises(tm.ElementError, match="action of event 'A.q < 0.4'.*read-only"):
        mech.simulate((0, 1), mech.state(q={"A": 1.1}), events=tm.Event("A.q < 0.4", action=stop))


@pytest.mark.parametrize("x", [[0.1, 0.2], [np.nan]])
def test_an_action_that_gives_a_state_with_other_states_of_elements_is_refused(x):
    system = tm.System("motor")
    arm = system.body("arm", 2.0, (0.1, 0.1, 0.1), com=(0.3, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, arm)
    system.connect("motor", tm.ElectricMotor(0.5, 2.0, 0.01), "A", inputs={"voltage": 6.0})
    event = tm.Event(lambda t, s: t - 0.5, lambda t, s: tm.State(t, s.q, s.u, np.array(x)), name="odd")
    with pytest.raises(tm.ElementError, match="action of event 'odd'.*the State it gives"):
        system.build().simulate((0, 1), events=event)


def test_events_of_a_run_that_was_read_answer_by_name(tmp_path):
    mech, state = four_bar()
    run = mech.simulate((state.t, state.t + 1), state, events=tm.Event(lambda t, s: t - 0.3, name="then"))
    (kept,) = tm.read(run.save(tmp_path / "run.npz")).events
    for hinge in "ABCD":
        for a, b in zip(run.events[0].states[0][hinge], kept.states[0][hinge], strict=True):
            assert np.array_equal(a, b)
    with pytest.raises(tm.TopologyError, match="there is no hinge 'E': there are 'A', 'B', 'D', 'C'"):
        kept.states[0]["E"]
    go_on = (run.events[0].t[0], state.t + 1)
    assert np.array_equal(
        mech.simulate(go_on, kept.states[0]).q, mech.simulate(go_on, run.events[0].states[0]).q
    )
