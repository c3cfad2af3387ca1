"""Optima against closed forms, a second transcription and the motion that their inputs make; derivatives against differences."""

import numpy as np
import pytest

import treemech as tm
from treemech.trajectory.schemes import SCHEMES

REST = {"slide.u": 0.0}


def cart(**options):
    system = tm.System("cart")
    system.connect("slide", tm.Prismatic("x"), system.ground, system.body("cart", 2.0, (1, 1, 1)))
    system.connect("motor", tm.Actuator(), "slide", inputs={"command": "force"})
    system.input("force")
    return system.build()


def cart_pole():
    system = tm.System("cart-pole", gravity=(0, 0, -9.81))
    mass = system.body("cart", 1.0, (0.1, 0.1, 0.1))
    pole = system.body("pole", 0.3, (0, 0, 0), com=(0, 0, -0.5))
    system.connect("slide", tm.Prismatic("x"), system.ground, mass)
    system.connect("pin", tm.Revolute("y"), mass, pole)
    system.connect("motor", tm.Actuator(), "slide", inputs={"command": "force"})
    system.input("force")
    return system.build()


def swing_up(scheme, intervals):
    rest = {"slide.u": 0.0, "pin.u": 0.0}
    return tm.Trajectory(
        cart_pole(), 2.0, {"slide": 0, "pin": 0, **rest}, {"slide": 1, "pin": np.pi, **rest},
        inputs={"force": (-20, 20)}, bounds={"slide": (-2, 2)}, intervals=intervals, scheme=scheme,
    )  # fmt: skip


def four_bar():
    system = tm.System("four-bar", gravity=(0, 0, -9.81))
    crank = system.body("crank", **tm.solids.rod((0, 0, 0), (1, 0, 0), mass=1.0).properties)
    coupler = system.body("coupler", mass=3.0, inertia=(0, 9 / 4, 9 / 4), com=(1.5, 0, 0))
    rocker = system.body("rocker", mass=2.5, inertia=(0, 1.3, 1.3), com=(1.25, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, crank)
    system.connect("B", tm.Revolute("y"), crank.at((1, 0, 0)), coupler)
    system.connect("C", tm.Revolute("y"), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)))
    system.connect("D", tm.Revolute("y"), system.ground.at((3.5, 0, 0)), rocker)
    system.connect("motor", tm.Actuator(), "A", inputs={"command": "torque"})
    system.input("torque")
    return system.build()


def half_turn(scheme, intervals, **options):
    return tm.Trajectory(
        four_bar(), 1.5, {"A": -0.6, "A.u": 0}, {"A": -0.6 - np.pi, "A.u": 0},
        inputs={"torque": (-150, 150)}, intervals=intervals, scheme=scheme, **options,
    )  # fmt: skip


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_least_effort_of_a_cart_is_known(scheme):
    """m x'' = f, least integral of f^2: a cubic, 12 m^2 d^2 / T^3; the trapezoid is off by about 4 / N^2."""
    best = tm.Trajectory(
        cart(), 2.0, {"slide": 0, **REST}, {"slide": 3, **REST}, intervals=10, scheme=scheme
    ).solve()
    assert best.success
    known = 12 * 2.0**2 * 3.0**2 / 2.0**3
    assert best.objective == pytest.approx(known, rel=0.04 if scheme == "trapezoid" else 1e-8)
    assert best.closing_error < (0.05 if scheme == "trapezoid" else 1e-5)
    if scheme != "trapezoid":
        np.testing.assert_allclose(best.input("force", [0.0, 1.0, 2.0]), [9.0, 0.0, -9.0], atol=1e-6)


def test_the_least_time_of_a_cart_is_known():
    """Full force, then full brake: T = 2 sqrt(m d / f)."""
    problem = tm.Trajectory(
        cart(), (0.5, 10.0), {"slide": 0, **REST}, {"slide": 3, **REST}, inputs={"force": (-4, 4)}, objective="time",
        intervals=40, scheme="trapezoid",
    )  # fmt: skip
    best = problem.solve()
    assert best.success
    assert best.durations[0] == pytest.approx(2 * np.sqrt(2.0 * 3.0 / 4.0), rel=2e-3)


def test_phases_meet_at_a_place_and_a_limit_on_a_function_holds():
    problem = tm.Trajectory(
        cart(), [(0.2, 5.0), (0.2, 5.0)], {"slide": 0, **REST}, {"slide": 0, **REST}, via=[{"cart.position[0]": 1.0}],
        objective={"effort": 0.1, "time": 1.0}, path=[(lambda run: run.connection("slide").u, -0.9, 0.9)], intervals=[8, 12],
    )  # fmt: skip
    best = problem.solve()
    assert best.success
    middle = best._made.grid.first[1]
    assert best["slide"][middle] == pytest.approx(1.0, abs=1e-7)
    assert np.max(np.abs(best["slide.u"])) < 0.9 + 1e-6
    assert best.durations[0] == pytest.approx(best.durations[1], rel=0.05)  # there and back


def test_terms_of_the_objective_and_periodic_motion():
    """A mass on a spring swings by itself: a periodic motion of a given amplitude takes no effort at its own frequency."""
    system = tm.System("oscillator")
    mass = system.body("mass", 1.0, (1, 1, 1))
    system.connect("slide", tm.Prismatic("x"), system.ground, mass)
    system.connect("spring", tm.Spring(4.0, 0.0, 5.0), system.ground.at((-5, 0, 0)), mass)
    system.connect("motor", tm.Actuator(), "slide", inputs={"command": "force"})
    system.input("force")
    problem = tm.Trajectory(
        system.build(), (2.0, 5.0), {"slide": 1.0}, periodic=["slide", "slide.u"], intervals=16, scheme="lobatto",
        objective={"effort": 1.0, "integral": lambda run: 1e-3 * run.connection("slide").ud ** 0, "terminal": lambda run: 0 * run.t},
        guess={"slide": lambda s: np.cos(2 * np.pi * s)},
    )  # fmt: skip
    best = problem.solve()
    assert best.success
    assert best["slide"][-1] == pytest.approx(1.0, abs=1e-6)
    assert best.objective == pytest.approx(1e-3 * best.durations[0], rel=0.02)


@pytest.mark.parametrize(
    "problem",
    [
        lambda: swing_up("hermite-simpson", 4), lambda: swing_up("shooting", 2), lambda: half_turn("radau", 3),
        lambda: reach(2, path=[(lambda run: run.body("fore").com[:, 0] * run.connection("E").u, -0.3, None)]),
    ],
    ids=["collocation", "shooting", "closed chain", "limits in space"],
)  # fmt: skip
def test_derivatives_agree_with_differences(problem):
    made, X = problem().transcribe()
    program, rng = made.program(), np.random.default_rng(0)
    X = X + 0.02 * rng.normal(size=len(X))
    d, h = rng.normal(size=len(X)), 1e-6
    y = rng.normal(size=len(program.constraints(X)))

    def rate(function):
        return (function(X + h * d) - function(X - h * d)) / (2 * h)

    for exact, want in (
        (program.jacobian(X) @ d, rate(program.constraints)),
        (program.gradient(X) @ d, rate(program.objective)),
        (program.hessian(X, y) @ d, rate(lambda x: program.gradient(x) + program.jacobian(x).T @ y)),
    ):
        np.testing.assert_allclose(exact, want, atol=1e-6 * max(1.0, float(np.max(np.abs(want)))))


def test_a_cart_swings_its_pole_up_and_another_transcription_confirms_it():
    best, other = swing_up("hermite-simpson", 24).solve(), swing_up("radau", 20).solve()
    assert best.success and other.success
    assert best.objective == pytest.approx(other.objective, rel=2e-3)
    assert max(best.feasibility, best.stationarity, best.complementarity) < 1e-7
    apart = best.input("force", other.t) - other.inputs["force"]
    assert np.sqrt(np.mean(apart**2)) < 0.2  # of 20 N
    assert np.max(np.abs(best.inputs["force"])) <= 20.0


def test_a_four_bar_turns_and_another_transcription_confirms_it():
    best = half_turn("hermite-simpson", 16).solve()
    other = best.problem.with_scheme("radau", 14, guess=best).solve()
    assert best.success and other.success
    assert best.objective == pytest.approx(other.objective, rel=2e-3)
    assert np.max(np.abs(best.points.residual.position)) < 1e-7  # every point is closed
    assert best.closing_error < 0.02


@pytest.mark.slow
def test_swing_up_and_four_bar_by_all_transcriptions():
    """Objectives agree to 1e-4 with enough intervals, to 1e-3 for the trapezoid with many."""
    for make, counts in (
        (swing_up, {"hermite-simpson": 60, "lobatto": 30, "radau": 40, "shooting": 60, "trapezoid": 400}),
        (half_turn, {"hermite-simpson": 40, "lobatto": 24, "radau": 30, "shooting": 40, "trapezoid": 200}),
    ):
        found = {scheme: make(scheme, n).solve() for scheme, n in counts.items()}
        print({s: (o.objective, o.iterations, o.closing_error) for s, o in found.items()})
        for scheme, best in found.items():
            assert best.success, scheme
            rel = 1e-3 if scheme == "trapezoid" else 1e-4
            assert best.objective == pytest.approx(found["radau"].objective, rel=rel), scheme


def test_other_solvers_find_the_same():
    problem = tm.Trajectory(
        cart(), 2.0, {"slide": 0, **REST}, {"slide": 3, **REST}, inputs={"force": (-15, 15)}, intervals=6
    )
    own, theirs = problem.solve(), problem.solve(solver="trust-constr", tolerance=1e-6, iterations=300)
    assert theirs.objective == pytest.approx(own.objective, rel=1e-4)
    pytest.importorskip("casadi")
    assert problem.solve(solver="ipopt").objective == pytest.approx(own.objective, rel=1e-6)


def arm():
    system = tm.System("arm", gravity=(0, 0, -9.81))
    upper = system.body("upper", **tm.solids.rod((0, 0, 0), (0, 0, -0.5), mass=1.0).properties)
    fore = system.body("fore", **tm.solids.rod((0, 0, 0), (0, 0, -0.5), mass=0.8).properties)
    system.connect("S", tm.Revolute("y"), system.ground, upper)
    system.connect("E", tm.Revolute("y"), upper.at((0, 0, -0.5)), fore)
    for n in "SE":
        system.connect(f"motor {n}", tm.Actuator(), n, inputs={"command": f"torque_{n}"})
        system.input(f"torque_{n}")
    return system.build()


def reach(intervals, **options):
    """Bring the hand of an arm to a place; the straight guess knows nothing of it."""
    rest = {"S.u": 0, "E.u": 0}
    return tm.Trajectory(
        arm(), 1.0, {"S": 0.1, "E": 0.2, **rest}, {"fore.com[0]": 0.4, "fore.com[2]": 0.3, **rest},
        inputs={"torque_S": (-30, 30), "torque_E": (-15, 15)}, intervals=intervals, **options,
    )  # fmt: skip


def test_a_place_of_the_hand_is_reached():
    best = reach(10).solve(iterations=150)
    assert best.success, best.message
    np.testing.assert_allclose(best.points.body("fore").com[-1, [0, 2]], [0.4, 0.3], atol=1e-7)


@pytest.mark.slow
def test_a_wall_is_kept_off_and_another_transcription_confirms_it():
    best = reach(20, path=[(lambda run: run.body("fore").com[:, 0], -0.3, None)]).solve()
    other = best.problem.with_scheme("radau", 16, guess=best).solve()
    assert best.success and other.success
    assert np.min(best.points.body("fore").com[:, 0]) > -0.3 - 1e-7
    assert other.objective == pytest.approx(best.objective, rel=0.05)


def test_report_and_picture(tmp_path):
    best = tm.Trajectory(cart(), 2.0, {"slide": 0, **REST}, {"slide": 3, **REST}, intervals=4).solve()
    assert "optimum of 'cart'" in str(best) and "<pre>" in best._repr_html_()
    assert best.points.body("cart").position[-1, 0] == pytest.approx(3.0)
    pytest.importorskip("matplotlib")
    assert len(best.plot(tmp_path / "best.png")) == 3


def ball():
    system = tm.System("ball")
    system.connect("B", tm.Ball(), system.ground, system.body("a", 1.0, (1, 1, 1)))
    return system.build()


def bare():
    system = tm.System("bare")
    system.connect("slide", tm.Prismatic("x"), system.ground, system.body("a", 1.0, (1, 1, 1)))
    return system.build()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: tm.Trajectory(ball(), 1.0, {}), "BallBryant"),
        (lambda: tm.Trajectory(bare(), 1.0, {}), "no open input"),
        (lambda: tm.Trajectory(cart(), 1.0, {}, inputs=["torque"]), "torque"),
        (lambda: tm.Trajectory(cart(), 0.0, {}), "positive times"),
        (lambda: tm.Trajectory(cart(), (3.0, 1.0), {}), "lower limit first"),
        (lambda: tm.Trajectory(cart(), 1.0, {}, scheme="euler"), "euler"),
        (lambda: tm.Trajectory(cart(), 1.0, {}, intervals=0), "whole number"),
        (lambda: tm.Trajectory(cart(), [1.0, 1.0], {}), "via has 0 entries; wanted 1"),
        (lambda: tm.Trajectory(cart(), 1.0, {"slide": "far"}).transcribe(), "far"),
        (lambda: tm.Trajectory(cart(), 1.0, {"slade": 0.0}).transcribe(), "slade"),
        (lambda: tm.Trajectory(cart(), 1.0, {"slide": 0}, bounds={"slide": (1, 2)}).transcribe(), "contradict"),
        (lambda: tm.Trajectory(cart(), 1.0, {}, periodic=["cart.position"]).transcribe(), "periodic"),
        (lambda: tm.Trajectory(cart(), 1.0, {}, objective={"speed": 1.0}).transcribe(), "speed"),
        (lambda: tm.Trajectory(cart(), 1.0, {}).solve(solver="snopt"), "snopt"),
        (lambda: tm.Trajectory(cart(), 1.0, {}).solve(tolerance=0.0), "tolerance is 0.0"),
        (lambda: tm.Trajectory(cart(), 1.0, {}, substeps=0), "substeps is 0"),
        (lambda: tm.Trajectory(cart(), 1.0, {}, guess={"slade": lambda s: s}), "guess.*'slade'.*'slide'"),
        (lambda: tm.Trajectory(cart(), 1.0, {}, guess=np.zeros(3)), "guess is of type ndarray"),
        (lambda: tm.Trajectory(cart(), 1.0, {}, path=[lambda run: run.t]), r"wanted \(function of a Run, low, high\)"),
        (lambda: tm.Trajectory(cart(), 1.0, {}, path=[(lambda run: run.t, 2, 1)]), "lower limit first"),
        (lambda: tm.Trajectory(cart(), 1.0, {}, objective=lambda run: 1).transcribe(), "objective is of type function"),
        (lambda: tm.Trajectory(cart(), 1.0, {}, objective={"effort": {"torque": 1}}).transcribe(), "effort.*'torque'"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_by_name(make, says):
    with pytest.raises(tm.TreemechError, match=says):
        make()


def test_what_cannot_be_done_is_told():
    best = tm.Trajectory(
        cart(), 1.0, {"slide": 0, **REST}, {"slide": 3, **REST}, inputs={"force": (-1, 1)}, intervals=4
    ).solve(iterations=60)  # fmt: skip
    assert not best.success and best.feasibility > 1e-3
    assert "NO OPTIMUM" in best.report
