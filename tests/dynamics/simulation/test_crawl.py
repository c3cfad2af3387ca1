"""Runs that do not get on are given up by name; stiff ones are not."""

import numpy as np
import pytest

import treemech as tm
from treemech.dynamics.simulation import crawl, driver


def dry(t, q, u):
    return (-5.0 if u[0] > 0.0 else 5.0, 0.0, 0.0)


def sliding(t, q, u):
    return (-5.0 if u[0] + 2.0 * q[0] > 0.0 else 5.0, 0.0, 0.0)


def steep(t, q, u):
    return (-5.0 * np.tanh(u[0] / 1e-4), 0.0, 0.0)


def brake(t, q, u):
    return (0.0, 0.0, -30.0 if u[0] > 0.0 else 30.0)


def slider(force, gravity=0.0):
    system = tm.System("slider", gravity=(gravity, 0, 0))
    block = system.body("block", 1.0, (1, 1, 1))
    system.connect("x", tm.Prismatic("x"), system.ground, block)
    system.load("rubbing", tm.ForceFunction(force), block, "x")
    return system.build()


def four_bar():
    system = tm.System("four-bar", gravity=(0, -9.81, 0))
    bars = [
        system.body(name, 1.0, (0.1, 0.1, 0.1), com=(length / 2, 0, 0))
        for name, length in (("a", 1.0), ("b", 3.0), ("c", 2.5))
    ]
    system.connect("A", tm.Revolute("z"), system.ground, bars[0])
    system.connect("B", tm.Revolute("z"), bars[0].at((1, 0, 0)), bars[1])
    system.connect("C", tm.Revolute("z"), bars[1].at((3, 0, 0)), bars[2].at((2.5, 0, 0)))
    system.connect("D", tm.Revolute("z"), system.ground.at((3.5, 0, 0)), bars[2])
    system.load("brake", tm.MomentFunction(brake), bars[0], "A")
    mech = system.build()
    return mech, mech.assemble(fix={"A": 0.8}, rates={"A": 3.0})


@pytest.mark.parametrize(
    "method", ["DOP853", "DP5", "Adams", "Radau", "auto", "alpha3", "alpha2", "scipy:RK45"]
)
@pytest.mark.parametrize("options", [{}, {"t_eval": [0.0, 0.5, 1.0]}], ids=["steps", "times"])
def test_chatter_of_a_slider_ends_the_run_with_the_name_of_the_load(method, options):
    mech = slider(dry)
    run = mech.simulate((0, 1), mech.state(u={"x": 1.0}), method, rtol=1e-8, **options)
    assert not run.success and run.report.load == "rubbing"
    assert run.report.t == pytest.approx(0.2, abs=1e-5)
    assert run.statistics["steps"] < 5000
    assert "'rubbing'" in run.message and "tm.Friction" in run.message and "tm.Event" in run.message


@pytest.mark.parametrize("method", ["DOP853", "Radau", "Adams", "alpha2"])
def test_chatter_in_a_closed_chain_is_named(method):
    mech, start = four_bar()
    run = mech.simulate((0, 5), start, method)
    assert not run.success and run.report.load == "brake"


def test_steps_that_all_end_on_one_side_of_the_jump_are_recognised():
    mech = slider(sliding)
    run = mech.simulate((0, 5), mech.state(q={"x": 1.0}), rtol=1e-9)
    assert not run.success and run.report.load == "rubbing"
    run = slider(dry, gravity=3.0).simulate((0, 2))
    assert not run.success and run.report.load == "rubbing" and "jumps between" in run.message


@pytest.mark.parametrize("method", ["Radau", "Adams", "scipy:Radau", "scipy:BDF"])
def test_a_driven_chain_that_locks_ends_the_run_at_the_end_of_its_travel(method):
    """Two links of length 1 are stretched until they lock at 2: the speed of the elbow grows as (t* - t)^-1/2."""
    system = tm.System("reach", gravity=(0, 0, -9.81))
    a, b = (system.body(n, 1.0, (0.1, 0.1, 0.1), com=(0.5, 0, 0)) for n in "ab")
    block = system.body("block", 1.0, (1, 1, 1))
    system.connect("A", tm.Revolute("y"), system.ground, a)
    system.connect("B", tm.Revolute("y"), a.at((1, 0, 0)), b)
    system.connect("C", tm.Revolute("y"), b.at((1, 0, 0)), block)
    system.connect("x", tm.Prismatic("x"), system.ground, block)
    system.prescribe("x", tm.Polynomial([1.2, 1.0]))
    mech = system.build()
    start = mech.assemble(guess={"A": -0.9, "B": 1.8})
    run = mech.simulate((0, 2), start, method=method, rtol=1e-10, max_steps=20000)
    assert not run.success and "singular" in run.message and "max_steps" not in run.message
    assert run.t[-1] == pytest.approx(0.8, abs=1e-5)


def test_speeds_that_grow_in_a_regular_position_do_not_count_as_a_lock():
    mech, state = four_bar()
    core = mech._core
    mech.forward_dynamics(state)
    y = core.pack(state.q, state.u, core.work.z[: core.nz], core.chord_work.q)
    speeds = slice(core.nq, core.nq + core.nu)

    def rates(t, y):
        found = np.zeros(len(y))
        found[speeds] = 1e12 * y[speeds]
        return found

    times, states = np.array([0.0, 1e-13]), np.array([y, y])
    assert crawl._lock(core, times, states, 1.0, rates) is None


def whirl(most):
    """Return a point whose velocity turns 2,000 times faster than it grows: 1 / (1 - t) m/s, or up to `most`."""

    def feed(t, q, u):
        speed = np.sqrt(u[0] * u[0] + u[1] * u[1])
        grow, turn = speed * (1.0 - speed / most), 2000.0 * speed
        return (grow * u[0] - turn * u[1], grow * u[1] + turn * u[0], 0.0)

    system = tm.System("whirl", gravity=(0, 0, 0))
    point = system.body("point", 1.0, (1, 1, 1))
    system.connect("x", tm.Translation(), system.ground, point)
    system.load("feed", tm.ForceFunction(feed), point, "x[0]", "x[1]")
    return system.build()


def paced(time, end, steps, speed=lambda n: np.exp(n / 10_000)):
    """Return the pace of a run that reaches `time(n)` after n steps, noted every 700 steps."""
    pace = crawl.Pace(0.0, end, 6)
    for n in range(700, steps, 700):
        pace.slow(time(n), n, speed(n))
    return pace


def test_a_motion_that_becomes_ever_faster_ends_with_the_name_of_its_speed():
    """Steps that shrink with the time left before an instant take many for every digit of it."""
    pace = paced(lambda n: 1.0 - np.exp(-n / 10_000), 2.0, 250_000)
    assert pace.vanishes()
    mech = whirl(np.inf)
    core = mech._core
    y = core.pack(np.zeros(3), np.array([3.0, -4e7, 0.0]), np.zeros(core.nz), core.chord_work.q)
    found = crawl._runaway(core, np.array([0.9, 0.9 + 1e-9]), np.array([y, y]), pace)
    assert found.coordinate == "x[1]" and "ever faster" in found.message and "-4e+07" in found.message


@pytest.mark.parametrize(
    "time",
    [
        lambda n: n / 1e6,  # evenly, at last too slowly
        lambda n: 1e-3 * np.sqrt(n),  # ever more slowly, but on and on
        lambda n: 1.0 - np.exp(-n / 10_000) if n < 60_000 else 1.0 - np.exp(-6.0) + (n - 60_000) * 2e-7,
        lambda n: 10.0 - np.exp(-n / 10_000),  # the end is near
    ],
)
def test_short_steps_that_do_get_on_are_no_runaway(time):
    assert not paced(time, 10.0, 250_000).vanishes()


def test_rebounds_that_die_away_are_no_runaway():
    assert not paced(
        lambda n: 1.0 - np.exp(-n / 10_000), 2.0, 250_000, lambda n: np.exp(-n / 10_000)
    ).vanishes()


def test_a_motion_that_becomes_faster_for_a_while_goes_on(monkeypatch):
    monkeypatch.setattr(crawl, "_AHEAD", 0.0)
    mech = whirl(30.0)
    run = mech.simulate((0, 1.3), mech.state(u={"x": [1.0, 0.0, 0.0]}), rtol=1e-9)
    assert run.success and np.hypot(run.u[-1, 0], run.u[-1, 1]) == pytest.approx(30.0, rel=1e-2)


def test_a_stiff_motion_is_not_given_up_but_told_at_max_steps(monkeypatch):
    monkeypatch.setattr(crawl, "_AHEAD", 0.0)  # every run is looked at
    seen = []
    real = driver.examine
    monkeypatch.setattr(driver, "examine", lambda *given: seen.append(real(*given)) or seen[-1])
    mech = slider(steep, gravity=3.0)
    run = mech.simulate((0, 2), mech.state(u={"x": 0.1}))
    assert run.success and len(seen) > 0 and not any(seen)
    few = mech.simulate((0, 10), mech.state(u={"x": 0.1}), max_steps=2000)
    assert not few.success and few.statistics["steps"] == 2000 and few.report.steps == 2000
    assert "max_steps = 2000" in few.message and "stiff" in few.message and "Radau" in few.message


def test_smooth_motions_with_euler_parameters_are_not_given_up(monkeypatch):
    monkeypatch.setattr(crawl, "_AHEAD", 0.0)
    system = tm.System("top", gravity=(0, 0, -9.81))
    top = system.body("top", 15.0, (0.234375, 0.234375, 0.46875), com=(0, 0, 1.0))
    system.connect("tip", tm.Ball(), system.ground, top)
    mech = system.build()
    run = mech.simulate(
        (0, 2), mech.state(q={"tip": (0.92, 0.38, 0, 0)}, u={"tip": (0, 4, 150)}), "DP5", rtol=1e-9
    )
    assert run.success, run.message


@pytest.mark.parametrize("method", ["DOP853", "Adams", "Radau", "alpha3", "RK4", "scipy:DOP853"])
def test_max_steps_counts_accepted_steps_in_every_method(method):
    mech = slider(steep)
    options = {"max_step": 1e-3} if method == "RK4" else {"rtol": 1e-7}
    run = mech.simulate((0, 10), mech.state(u={"x": 1.0}), method, max_steps=10, **options)
    assert not run.success and run.statistics["steps"] == 10 and "max_steps = 10" in run.message
    assert run.t[-1] == run.report.t > 0.0
    for wrong in (0, -3, 2.5, "many"):
        with pytest.raises(tm.TreemechError, match="max_steps"):
            mech.simulate((0, 10), max_steps=wrong)


def test_a_run_that_just_fits_max_steps_succeeds():
    mech = slider(steep)
    run = mech.simulate((0, 1), mech.state(u={"x": 1.0}))
    again = mech.simulate((0, 1), mech.state(u={"x": 1.0}), max_steps=run.statistics["steps"])
    assert again.success and np.array_equal(again.q, run.q)


def test_memory_of_steps_is_bounded_and_the_rest_evenly_spread(monkeypatch):
    mech = slider(steep)
    start = mech.state(u={"x": 1.0})
    whole = mech.simulate((0, 1), start, rtol=1e-9, max_step=1e-4)
    monkeypatch.setattr(driver, "_STORED", 6000)
    run = mech.simulate((0, 1), start, rtol=1e-9, max_step=1e-4)
    assert run.success and 3 * len(run.t) <= 2 * 6000 < 3 * len(whole.t)
    assert "step was kept" in run.message
    assert np.array_equal(run.q[-1], whole.q[-1]) and run.t[0] == 0.0 and run.t[-1] == 1.0
    assert set(run.t) <= set(whole.t) and np.all(np.diff(run.t) > 0.0)
    assert np.max(np.diff(run.t)) < 0.1
    dense = mech.simulate((0, 1), start, rtol=1e-9, max_step=1e-4, dense_output=True)
    assert not dense.success and "t_eval" in dense.message and "dense_output" in dense.message
