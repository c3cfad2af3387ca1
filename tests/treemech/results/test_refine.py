"""States between the steps of a run are as exact as the run."""

import numpy as np

import treemech as tm
from treemech.results.refine import refined


def pendulum(hinge, **start):
    system = tm.System("p")
    body = system.body("b", **tm.solids.box((0.1, 0.2, 0.6), mass=2.0).moved((0, 0, -0.4)).properties)
    system.connect("A", hinge, system.ground, body)
    mech = system.build()
    return mech, mech.state(**start)


def compared(mech, state, **options):
    run = mech.simulate((0, 3), state, rtol=1e-8, **options)
    fine = refined(run)
    exact = mech.simulate((0, 3), state, rtol=1e-12, t_eval=fine.t)
    assert len(fine.t) > 900 and np.all(np.diff(fine.t) > 0) and set(run.t) <= set(fine.t)
    scale = 1.0 + np.max(np.abs(exact.u))
    return np.max(np.abs(fine.q - exact.q)) / scale, np.max(np.abs(fine.u - exact.u)) / scale, fine, exact


def test_angles_and_euler_parameters():
    for hinge, start in (
        (tm.Revolute("y"), {"q": {"A": 1.0}}),
        (tm.Ball(), {"u": {"A": [1.0, 2.0, 3.0]}}),
        (tm.Free(), {"u": {"A": [0.1, 0, 0, 3, 2, 1]}}),
    ):
        q, u, fine, exact = compared(*pendulum(hinge, **start))
        assert q < 2e-6 and u < 2e-5, (hinge, q, u)
        assert np.max(np.abs(fine.body("b").position - exact.body("b").position)) < 1e-5


def test_the_interpolant_of_the_run_is_used():
    q, u, _, _ = compared(*pendulum(tm.Revolute("y"), q={"A": 1.0}), dense_output=True)
    assert q < 1e-7 and u < 1e-6


def test_a_fast_drive_is_evaluated_not_interpolated():
    system = tm.System("drive")
    a, b = (system.body(n, 1.0, (0.1, 0.1, 0.1)) for n in "ab")
    system.connect("A", tm.Revolute("z"), system.ground, a)
    system.connect("B", tm.Revolute("z"), system.ground, b)
    system.prescribe("A", tm.Harmonic(0.1, 40.0))
    mech = system.build()
    fine = refined(mech.simulate((0, 1), mech.state(u={"B": 1.0})))
    exact = 0.1 * np.sin(40.0 * fine.t)
    assert np.max(np.abs(fine.connection("A").q - exact)) < 1e-12


def test_outputs_that_were_asked_for_are_left_alone():
    mech, state = pendulum(tm.Revolute("y"), q={"A": 1.0})
    run = mech.simulate((0, 20), state, t_eval=[0, 10, 20])
    assert refined(run) is run
    many = mech.simulate((0, 3), state, t_eval=np.linspace(0, 3, 1500))
    assert refined(many) is many


def test_a_jump_stays_a_jump():
    system = tm.System("ball")
    ball = system.body("ball", 1.0, (0.1, 0.1, 0.1))
    system.connect("A", tm.Prismatic("z"), system.ground, ball)
    mech = system.build()
    bounce = tm.Event("A.q < 0", action=lambda t, state: {"A.u": -state.u[0]})
    run = mech.simulate((0, 1.0), mech.state(q={"A": 1.0}), events=bounce)
    fine = refined(run)
    assert np.min(fine.q) > -1e-9 and len(fine.t) > 900
    fall = fine.t < run.events[0].t[0]
    assert np.max(np.abs(fine.q[fall, 0] - (1.0 - 0.5 * 9.81 * fine.t[fall] ** 2))) < 1e-9
