"""Fits recover planted parameters within their stated confidence; derivatives agree with differences; bad input is refused."""

import numpy as np
import pytest
from scipy.stats import binom, chi2

import treemech as tm
from tests.treemech.fitting.planted import (
    ARM,
    FOUR_BAR,
    NOISE,
    arm,
    arm_start,
    four_bar,
    four_bar_start,
    shaken,
    swing,
)
from treemech.fitting.motion import MeasuredMotion, Options, with_still
from treemech.fitting.problem import Problem
from treemech.fitting.unknowns import Unknowns

TIMES = np.linspace(0, 1.0, 41)


def of_four_bar(rng, t=TIMES, **options):
    seen = swing(four_bar(**FOUR_BAR), four_bar_start, ["A.q", "rocker.com"], t, rng)
    return tm.Measurement(seen, t, start=four_bar_start, **options)


def of_arm(rng, t=TIMES, **options):
    seen = swing(arm(**ARM), arm_start, ["shoulder.q", "elbow.q", "elbow.u"], t, rng)
    return tm.Measurement(seen, t, start=arm_start(arm()), **options)


def z_of(found, planted):
    return np.array([(found.values[n] - x) / found.errors[n] for n, x in planted.items()])


@pytest.mark.parametrize(
    ("model", "measured", "planted", "estimate"),
    [(four_bar, of_four_bar, FOUR_BAR, ["A", "A.u"]), (arm, of_arm, ARM, ["elbow"])],
    ids=["four-bar", "arm"],
)
def test_planted_parameters_are_found(model, measured, planted, estimate):
    found = tm.fit(model(), measured(np.random.default_rng(1), estimate=estimate))
    assert found.success
    assert chi2.cdf(np.sum(z_of(found, planted) ** 2), 4) < 0.999
    for channel in found.channels:
        assert abs(channel.sigma / NOISE - 1.0) < 0.45  # from 41 samples, 4 standard errors
    again = model().with_parameters(**found.parameters)
    assert again.parameters == found.mechanism.parameters == found.parameters


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "measured", "planted", "estimate"),
    [(four_bar, of_four_bar, FOUR_BAR, ["A", "A.u"]), (arm, of_arm, ARM, ["elbow"])],
    ids=["four-bar", "arm"],
)
def test_intervals_hold_what_was_planted_as_often_as_they_say(model, measured, planted, estimate):
    seeds = 100
    inside, z = [], []
    for seed in range(seeds):
        found = tm.fit(model(), measured(np.random.default_rng(seed), estimate=estimate))
        inside.append([low < planted[n] < high for n, (low, high) in found.intervals.items() if n in planted])
        z.append(z_of(found, {n: planted[n] for n in found.intervals if n in planted}))
    hits = np.sum(inside, axis=0)
    print("hits of 100:", hits, "mean square of z:", np.mean(np.square(z), axis=0).round(2))
    low, high = binom.ppf([0.0005, 0.9995], seeds, 0.95)
    assert np.all((hits >= low) & (hits <= high)), hits
    low, high = chi2.ppf([0.0005, 0.9995], seeds) / seeds
    assert np.all((np.mean(np.square(z), axis=0) > low) & (np.mean(np.square(z), axis=0) < high))


def loads_along(mech, motion, t):
    """Return the loads of the drives along a motion, by inverse dynamics."""
    names = list(motion)
    found = []
    for k, x in enumerate(t):
        state = mech.assemble(
            x, fix={n: motion[n][0][k] for n in names}, rates={n: motion[n][1][k] for n in names}
        )
        loads = mech.drive_loads(state, {n: motion[n][2][k] for n in names}, actuated=names)
        found.append([loads[n] for n in names])
    return np.array(found)


def test_intervals_of_loads_hold_what_was_planted():
    """30 seeds with a known sigma: the squares of the errors follow chi squared."""
    rng, t = np.random.default_rng(0), np.linspace(0, 2, 25)
    motion = shaken(["shoulder", "elbow"], t, rng)
    tau = loads_along(arm(**ARM), motion, t)
    size = 0.0
    for _ in range(30):
        seen = tau + 0.05 * rng.normal(size=tau.shape)
        given = tm.Measurement(
            {"shoulder.drive": seen[:, 0], "elbow.drive": seen[:, 1]}, t, motion=motion, sigma=0.05
        )
        found = tm.fit(arm(**ARM | {"d0": 0.1, "d1": 0.1}), given, ["d0", "d1"])
        error = np.array([found.values[n] - ARM[n] for n in ("d0", "d1")])
        assert found.linear == ["experiment 1"]
        size += error @ np.linalg.solve(found.covariance, error)
    assert 0.001 < chi2.cdf(size, 60) < 0.999


def test_loads_of_a_closed_chain_give_masses_and_lengths():
    t = np.linspace(0, 2, 8)
    motion = {"A": (-0.6 + 0.5 * np.sin(3 * t), 1.5 * np.cos(3 * t), -4.5 * np.sin(3 * t))}
    tau = loads_along(four_bar(**FOUR_BAR), motion, t)[:, 0]
    given = tm.Measurement({"A.drive": tau}, t, motion=motion, start=four_bar_start)
    found = tm.fit(four_bar(), given)
    for name, value in FOUR_BAR.items():
        assert found.values[name] == pytest.approx(value, rel=1e-5), name
    assert not found.linear  # a length is among them


def test_geometry_is_calibrated_along_a_known_motion():
    t = np.linspace(0, 2, 6)
    motion = {"A": (-0.6 + 0.5 * np.sin(3 * t), 0 * t, 0 * t)}
    true, seen = four_bar(**FOUR_BAR), []
    for x, q in zip(t, motion["A"][0], strict=True):
        seen.append(true.pose("rocker", true.assemble(x, fix={"A": q})).rotation)
    angle = np.array([np.arctan2(R[0, 2], R[0, 0]) for R in seen])
    given = tm.Measurement({"D.q": angle - 0.2}, t, motion=motion, offsets=["D.q"], start=four_bar_start)
    found = tm.fit(four_bar(), given, ["l"])
    assert found.values["l"] == pytest.approx(FOUR_BAR["l"], rel=1e-5)
    assert found.values["experiment 1: offset of D.q"] == pytest.approx(-0.2, abs=1e-5)


@pytest.mark.parametrize(
    ("model", "measured"), [(four_bar, of_four_bar), (arm, of_arm)], ids=["four-bar", "arm"]
)
def test_derivatives_agree_with_differences(model, measured):
    mech = with_still(model())
    given = measured(np.random.default_rng(0), np.linspace(0, 0.5, 11), estimate=True)
    names = list(model().parameters)
    one = MeasuredMotion(mech, given, given.channels(mech, "one"), "one", Options("DOP853", 1e-11, None))
    own, values = one.own_unknowns()
    start = np.array([*(mech.parameters[n] for n in names), *values])
    one.cut(len(names), 2)
    unknowns, more = Unknowns(names + own, start, names), one.cut(len(names), 2)
    unknowns = unknowns.more(*more)
    problem = Problem(mech, [mech], [one], unknowns, {}, [], None)
    problem.gap = 1.0
    x = unknowns.start * 1.01
    _, J = problem.residuals(x, True)
    for k in range(len(x)):
        h = 1e-5 * max(abs(x[k]), 1.0)
        ahead, behind = (problem.residuals(x + s * h * np.eye(len(x))[k], False)[0] for s in (1, -1))
        want = (ahead - behind) / (2 * h)
        assert np.max(np.abs(J[:, k] - want)) < 2e-4 * np.max(np.abs(J)), unknowns.names[k]


@pytest.mark.slow
def test_multiple_shooting_finds_what_single_shooting_misses():
    """A pendulum seen over many turns: with a wrong length a single motion gets out of step."""

    def pendulum(g):
        system = tm.System("pendulum", gravity=(0, 0, -9.81))
        bob = system.body("bob", 1.0, (0, 0, 0), com=(0, 0, -tm.Parameter("length", g)))
        system.connect("pin", tm.Revolute("y"), system.ground, bob)
        return system.build()

    true, t = pendulum(0.8), np.linspace(0, 12, 121)
    seen = swing(true, lambda m: m.state(q={"pin": 2.5}), ["pin.q"], t, np.random.default_rng(0))
    guess = pendulum(1.6)
    given = tm.Measurement(seen, t, start=guess.state(q={"pin": 2.5}))
    single, multiple = tm.fit(guess, given), tm.fit(guess, given, segments=10)
    assert abs(single.values["length"] - 0.8) > 0.05  # lost
    low, high = multiple.intervals["length"]
    assert low - (high - low) < 0.8 < high + (high - low)
    assert multiple.values["length"] == pytest.approx(0.8, abs=1e-4)


def test_missing_samples_and_rates_of_their_own():
    rng = np.random.default_rng(3)
    slow = swing(arm(**ARM), arm_start, ["elbow.q"], TIMES[::5], rng)["elbow.q"]
    fast = swing(arm(**ARM), arm_start, ["shoulder.q"], TIMES, rng)["shoulder.q"]
    fast[7:20] = np.nan
    given = tm.Measurement(
        {"elbow.q": (TIMES[::5], slow), "shoulder.q": fast}, TIMES, start=arm_start(arm()), sigma=NOISE
    )
    found = tm.fit(arm(), [given, of_arm(rng)])
    assert sum(len(c.t) for c in found.channels) == 9 + 28 + 3 * 41
    assert chi2.cdf(np.sum(z_of(found, ARM) ** 2), 4) < 0.999


@pytest.mark.slow
def test_outliers_move_a_robust_fit_less():
    given = of_arm(np.random.default_rng(4))
    given.signals["elbow.q"][::9] += 0.5
    plain, robust = tm.fit(arm(), given), tm.fit(arm(), given, loss="cauchy")
    assert np.max(np.abs(z_of(robust, ARM))) < 5
    for name, value in ARM.items():
        assert abs(robust.values[name] - value) < 0.5 * abs(plain.values[name] - value) + 1e-3, name


def test_priors_and_bounds():
    given = of_arm(np.random.default_rng(5), np.linspace(0, 0.2, 5))
    held = tm.fit(arm(), given, priors={"m1": (1.2, 1e-6)})
    assert held.values["m1"] == pytest.approx(1.2, abs=1e-4)
    bounded = tm.fit(arm(), given, bounds={"d0": (0.0, 0.21)})
    assert bounded.values["d0"] <= 0.21 + 1e-12


def two_masses():
    """A slide that carries two masses: only their sum counts."""
    system = tm.System("slide")
    a, b = (system.body(n, tm.Parameter(f"mass_{n}", 1.0), (0.1, 0.1, 0.1)) for n in "ab")
    system.connect("slide", tm.Prismatic("x"), system.ground, a)
    system.connect("glue", tm.Rigid(), a.at((0, 0, 1)), b)
    system.connect("spring", tm.Spring(30.0, 0.0, 0.5), system.ground.at((-1, 0, 0)), a)
    return system.build()


def test_what_cannot_be_told_apart_is_named():
    mech, t = two_masses(), np.linspace(0, 2, 41)
    q = mech.with_parameters(mass_a=1.5).simulate((0, 2), mech.state(), t_eval=t).connection("slide").q
    found = tm.fit(mech, tm.Measurement({"slide.q": q}, t, start=mech.state(), sigma=1e-3))
    (only,) = found.combinations
    assert set(only.changes) == {"mass_a", "mass_b"}
    assert sum(only.changes.values()) == pytest.approx(0.0, abs=1e-4)
    assert found.errors["mass_a"] == found.errors["mass_b"] == np.inf
    assert found.values["mass_a"] + found.values["mass_b"] == pytest.approx(2.5, abs=1e-6)
    assert "mass_a" in found.report and "not determined" in found.report


def test_inertias_of_bodies_stay_physical_and_repeat_the_loads():
    from treemech.fitting.inertia import part_names, pseudo_inertia

    rng, t = np.random.default_rng(2), np.linspace(0, 2, 60)
    motion = shaken(["shoulder", "elbow"], t, rng)
    tau = loads_along(arm(**ARM), motion, t) + 0.3 * rng.normal(size=(60, 2))
    given = tm.Measurement({"shoulder.drive": tau[:, 0], "elbow.drive": tau[:, 1]}, t, motion=motion)
    found = tm.fit(arm(**ARM), given, ["d0"], bodies=["upper", "fore"])
    for body in ("upper", "fore"):
        numbers = np.array([found.values[n] for n in part_names(body)])
        assert np.linalg.eigvalsh(pseudo_inertia(numbers))[0] > 0.0
    assert found.mechanism.parameters["fore_m"] == found.values["fore_m"]
    assert found.linear == ["experiment 1"]
    # elbow y: first moments and one moment of inertia of the fore arm, grouped ones of the upper arm
    determined = [n for n, e in found.errors.items() if np.isfinite(e)]
    assert {"d0", "fore_hx", "fore_hz", "fore_Jyy"} <= set(determined)
    assert not np.isfinite(found.errors["fore_hy"])


def test_inertias_that_nothing_excites_stay_near_their_start():
    """Ten numbers of the upper arm, of which a motion shows one: a heavy start and a light one keep their masses."""
    rng, t = np.random.default_rng(2), np.linspace(0, 2, 60)
    motion = shaken(["shoulder", "elbow"], t, rng)
    tau = loads_along(arm(**ARM), motion, t) + 0.05 * rng.normal(size=(60, 2))
    given = tm.Measurement({"shoulder.drive": tau[:, 0], "elbow.drive": tau[:, 1]}, t, motion=motion)
    found = tm.fit(arm(**ARM), given, [], bodies=["upper", "fore"])
    assert found.values["upper_m"] == pytest.approx(2.0, rel=0.2)
    assert found.values["fore_m"] == pytest.approx(ARM["m1"], rel=0.2)
    sizes = [np.sqrt(np.mean(c.residual**2)) for c in found.channels]
    assert sizes == pytest.approx([0.05, 0.05], rel=0.3)


def test_two_angles_of_a_chain_of_one_freedom():
    """Both are measured, one of them decides the start: that which is estimated."""
    seen = swing(four_bar(**FOUR_BAR), four_bar_start, ["A.q", "D.q"], TIMES, np.random.default_rng(7))
    mech = four_bar(**FOUR_BAR | {"k": 40.0})
    given = tm.Measurement(seen, TIMES, start=four_bar_start(mech), estimate="A.u", sigma=NOISE)
    found = tm.fit(mech, given, ["k"])
    assert list(found.values) == ["k", "experiment 1: start of A.u"]
    assert chi2.cdf(np.sum(z_of(found, {"k": 46.0, "experiment 1: start of A.u": 2.0}) ** 2), 2) < 0.999


def test_known_inputs_of_an_experiment():
    system, k = tm.System("driven"), tm.Parameter("k", 30.0)
    mass = system.body("mass", 1.0, (0.1, 0.1, 0.1))
    system.connect("slide", tm.Prismatic("x"), system.ground, mass)
    system.connect("spring", tm.Spring(k, 0.5, 1.0), system.ground.at((-1, 0, 0)), mass)
    system.connect("push", tm.Actuator(), "slide", inputs={"command": "force"})
    system.input("force")
    mech, t = system.build(), np.linspace(0, 2, 41)
    from treemech.design.inputs import with_inputs

    true = with_inputs(mech.with_parameters(k=42.0), {"force": tm.Harmonic(5.0, 3.0)})
    q = true.simulate((0, 2), true.state(), t_eval=t, rtol=1e-10).connection("slide").q
    given = tm.Measurement({"slide.q": q}, t, start=mech.state(), inputs={"force": tm.Harmonic(5.0, 3.0)})
    found = tm.fit(mech, given)
    assert found.values["k"] == pytest.approx(42.0, rel=1e-6)
    assert "force" in [str(c.args[0]) for c in found.mechanism._origin.calls if c.method == "input"]


def _bad(**changes):
    t = np.linspace(0, 1, 5)
    given = {"signals": {"elbow.q": np.zeros(5)}, "t": t, **changes}
    return tm.Measurement(**given)


@pytest.mark.parametrize(
    ("given", "options", "says"),
    [
        (lambda: _bad(signals={"knee.q": np.zeros(5)}), {}, "knee"),
        (lambda: _bad(signals={"elbow.speed": np.zeros(5)}), {}, "speed"),
        (lambda: _bad(t=[0, 0.2, 0.1, 0.3, 0.4]), {}, "out of order: 0.2 s is followed by 0.1"),
        (lambda: _bad(t=[0, 1]), {}, "5 values for 2 times"),
        (lambda: _bad(signals={}), {}, "signals"),
        (lambda: _bad(signals={"elbow.q": np.full(5, np.nan)}), {}, "missing"),
        (lambda: _bad(signals={"elbow.q": [0, 1, np.inf, 0, 0]}), {}, "infinite"),
        (lambda: _bad(signals={"fore.position": np.zeros((5, 2))}), {}, "2 columns; wanted 3"),
        (lambda: _bad(sigma=0.0), {}, "sigma"),
        (lambda: _bad(offsets=["shoulder.q"]), {}, "shoulder.q"),
        (lambda: _bad(estimate=["wrist"]), {}, "wrist"),
        (lambda: _bad(inputs={"torque": 1.0}), {}, "torque"),
        (lambda: _bad(signals={"elbow.drive": np.zeros(5)}), {}, "motion="),
        (lambda: _bad(signals={"elbow.drive": np.zeros(5)}, motion={"elbow": (0, 0, 0)}), {}, "shoulder"),
        (lambda: _bad(start=3), {}, "start is 3"),
        (lambda: _bad(signals={"elbow.drive": np.zeros(5)}, motion={}, start=lambda mech: 3), {}, "start is 3"),
        (lambda: [], {}, "wanted a tm.Measurement"),
        (_bad, {"parameters": ["mass"]}, "no parameter 'mass'"),
        (_bad, {"bodies": ["hand"]}, "hand"),
        (_bad, {"bounds": {"m1": (2.0, 3.0)}}, "starts at 1"),
        (_bad, {"bounds": {"m1": 3.0}}, "wanted (lowest, highest)"),
        (_bad, {"priors": {"m1": (1.0, 0.0)}}, "positive deviation"),
        (_bad, {"loss": "l1"}, "loss"),
        (_bad, {"segments": 0}, "segments"),
        (_bad, {"max_iterations": 0}, "max_iterations is 0"),
        (lambda: {"elbow.q": np.zeros(5)}, {}, "measurements is of type dict"),
        (_bad, {"confidence": 95.0}, "between 0 and 1"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_by_name(given, options, says):
    with pytest.raises(tm.TreemechError, match=says.replace("(", r"\(").replace(")", r"\)")):
        tm.fit(arm(), given(), **options)


def test_a_parameter_that_moves_nothing_is_refused():
    system = tm.System("two")
    for name in "ab":
        body = system.body(name, tm.Parameter(f"m_{name}", 1.0), (0.1, 0.1, 0.1))
        system.connect(name.upper(), tm.Prismatic("x"), system.ground, body)
        system.connect(f"s{name}", tm.Spring(30.0, 0.0, 0.5), system.ground.at((-1, 0, 0)), body)
    mech, t = system.build(), np.linspace(0, 1, 11)
    q = mech.simulate((0, 1), mech.state(), t_eval=t).connection("A").q
    with pytest.raises(tm.TreemechError, match="'m_b' moves nothing that was measured"):
        tm.fit(mech, tm.Measurement({"A.q": q}, t, start=mech.state()))


def test_a_model_without_parameters_is_refused():
    system = tm.System("bare")
    system.connect("A", tm.Prismatic("x"), system.ground, system.body("a", 1.0, (1, 1, 1)))
    with pytest.raises(tm.TreemechError, match="no parameters to find"):
        tm.fit(system.build(), tm.Measurement({"A.q": [0.0, 0.0]}, [0, 1]))


def test_report_page_and_picture(tmp_path):
    found = tm.fit(arm(), of_arm(np.random.default_rng(6), TIMES[::6]))
    assert "m1" in str(found) and "95 % interval" in found.report and "<table>" in found._repr_html_()
    pytest.importorskip("matplotlib")
    axes = found.plot(tmp_path / "fit.png", most=2)
    assert axes.shape == (2, 2) and (tmp_path / "fit.png").stat().st_size > 1000
    page = found.save_html(tmp_path / "fit").read_text()
    assert "data:image/png;base64" in page and "m1" in page
