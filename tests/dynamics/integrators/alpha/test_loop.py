"""Generalized-alpha, index 3 and index 2: order, dissipation, closed chains, stiffness, singular positions, what it refuses."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import treemech as tm
from tests.dynamics.loads.test_reactions import Pin
from tests.dynamics.loads.test_reactions import pendulum as pendulum_with_friction
from tests.dynamics.simulation.test_integrate import (
    Anchor,
    Wall,
    chain,
    closed_chain,
    distance,
    pendulum,
    positions_of,
    springs,
)
from tests.dynamics.simulation.test_integrator import cart
from tests.laws.test_energetic_models import Filtered, wheel
from tests.laws.test_random_loops import moving
from tests.laws.test_singular import MODELS as SINGULAR
from tests.laws.test_singular import off_the_branch
from tests.laws.test_unilateral import flight, platform
from tests.support.mechanisms import random_mechanism
from tests.support.models import KINDS, random_state, random_system
from treemech.benchmarks.formulations import formulations
from treemech.benchmarks.problems.classics import rolling_disk, skate_on_incline
from treemech.benchmarks.runs.stiff_chains import linkage
from treemech.dynamics.integrators.alpha import layout as m

METHODS = ("alpha3", "alpha2")
CLOSED = 1e-12  # a gap that counts as closed


def driven():
    """A closed chain whose crank is prescribed."""
    system = tm.System("driven", gravity=(0, -9.81, 0))
    crank, coupler, _ = linkage(system)
    tip = system.body("tip", 0.3, (0.01, 0.01, 0.01), com=(0.2, 0, 0))
    system.connect("swing", tm.Revolute("z"), coupler.at((1.5, 0, 0)), tip)
    system.prescribe("A", lambda t: 0.8 + np.sin(2.0 * t))
    mech = system.build()
    return mech, mech.assemble()


def filtered():
    """An element with states of its own drives a hinge, and what hangs on it."""
    system = wheel(command=tm.Harmonic(3.0, 2.0))
    arm = system.body("arm", 1.0, (0.1, 0.1, 0.1), com=(0.4, 0, 0))
    system.connect("arm", tm.Revolute("x"), system.bodies[1].at((0.5, 0, 0)), arm.at((0, 0, 0.3)))
    mech = system.build()
    return mech, mech.state(u={"axle": 1.0})


def spatial_loop():
    """Two spatial loops, Euler parameters in them; they come near a singular position, within 2 ms at t = 0.79 s."""
    made = random_mechanism(8, planar=False, n_loops=2)
    mech = made.system.build()
    return mech, mech.assemble(guess=made.q)


MODELS = {
    "pendulum": pendulum, "closed chain": closed_chain, "chain": chain, "driven": driven, "filtered": filtered,
    "spatial loop": spatial_loop,
}  # fmt: skip


# steps in a second: enough of them within the shortest time anything takes
COUNTS = {"spatial loop": (800, 1600, 3200)}


def fixed(mech, span, start, method, count, **options):
    step = abs(span[1] - span[0]) / count
    return mech.simulate(span, start, method, max_step=step, first_step=step, **options)


def own_multipliers(mech):
    """Those of the last step, as the method found them; in the order of run.multipliers, rows that vanish left out."""
    return -mech._core.loops.work.x[mech.nu :]


# ---------------------------------------------------------------- order
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", MODELS)
def test_order_two_of_coordinates_speeds_states_and_multipliers(model, method):
    mech, start = MODELS[model]()
    fine = mech.simulate((0, 1), start, rtol=1e-13, atol=1e-13)
    errors = []
    for count in COUNTS.get(model, (100, 200, 400)):
        run = fixed(mech, (0, 1), start, method, count, rtol=1e-9)
        assert run.success and run.statistics["steps"] == count, run.message
        error = [np.max(np.abs(run.q[-1] - fine.q[-1])), np.max(np.abs(run.u[-1] - fine.u[-1]))]
        if mech._core.loops is not None:
            lam, kept = own_multipliers(mech), mech._core.loops.kept
            want = fine.multipliers[-1][kept]
            error += [np.max(np.abs(lam - want)), np.max(np.abs(run.multipliers[-1][kept] - want))]
        if model == "filtered":
            error.append(np.max(np.abs(run.element("drive").x[-1] - fine.element("drive").x[-1])))
        errors.append(error)
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(slopes[-1] > 1.9), (errors, slopes)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", MODELS)
def test_errors_follow_the_tolerance_with_steps_of_any_size(model, method):
    """Error control of order 3, method of order 2: errors fall with the tolerance to the power 2/3, steps grow with -1/3."""
    mech, start = MODELS[model]()
    fine = mech.simulate((0, 1), start, rtol=1e-12, atol=1e-12)
    tolerances = (1e-5, 1e-7, 1e-9)
    runs = [mech.simulate((0, 1), start, method, rtol=r, atol=r) for r in tolerances]
    errors, steps = [distance(run, fine) for run in runs], [run.statistics["steps"] for run in runs]
    assert all(b < a / 100 ** (2 / 3) * 3 for a, b in pairwise(errors)), errors
    assert steps[-1] < 1.3 * 10 ** (4 / 3) * steps[0], steps
    assert errors[-1] < 0.3 * tolerances[-1] ** (2 / 3) * 10 * max(1.0, np.max(np.abs(fine.u))), errors


@pytest.mark.parametrize("model", ["closed chain", "driven", "spatial loop"])
def test_index_3_is_not_disturbed_by_steps_of_another_size(model):
    """Speeds and accelerations normal to the constraints, as the next size wants them: else they swing, steps are rejected for it."""
    mech, start = MODELS[model]()
    three, two = (mech.simulate((0, 1), start, method, rtol=1e-8, atol=1e-8).statistics for method in METHODS)
    assert three["rejected"] < 0.05 * three["steps"] and three["steps"] < 1.05 * two["steps"], (three, two)


@pytest.mark.parametrize("model", ["closed chain", "driven", "spatial loop"])
def test_index_3_holds_as_far_as_rounding_allows(model):
    """To rtol 1e-11: there gaps of a few 1e-16, divided by the step, are the tolerance of the speeds. Beyond, with a note, index 2."""
    mech, start = MODELS[model]()
    fine = mech.simulate((0, 1), start, rtol=1e-13, atol=1e-13)
    runs = [mech.simulate((0, 1), start, "alpha3", rtol=r, atol=r) for r in (1e-9, 1e-10, 1e-12)]
    assert all(run.success for run in runs)
    errors = [distance(run, fine) for run in runs]
    assert errors[1] < 0.35 * errors[0] and errors[2] < 0.1 * errors[1], errors
    opening = [np.median(run.residual.velocity) for run in runs]
    assert opening[0] > opening[1] > 1e-9 and opening[2] < 1e-13, opening
    assert "index 2" not in runs[0].message and "steps had index 2" in runs[2].message
    assert "rounding of closed positions" in runs[2].message


def test_a_step_of_another_size_does_not_disturb_the_order():
    """Steps that jump between h and h / 3 by force: the end at a break every few steps."""
    errors = []
    for count in (30, 60, 120):
        system = wheel(command=tm.Spline(np.linspace(0, 1, 7), np.cos(np.arange(7))))
        mech = system.build()
        fine = mech.simulate((0, 1), rtol=1e-12)
        errors.append(distance(fixed(mech, (0, 1), None, "alpha3", count * 1.37), fine))
    assert np.log2(errors[0] / errors[-1]) > 3.6, errors


# ---------------------------------------------------------------- dissipation
def amplification(rho, w):
    """Of (q, h u, h^2 a) in a step of length 1 with frequency w: Chung and Hulbert (1993), their equations at the weighted times."""
    am, af = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
    gamma = 0.5 - am + af
    beta = 0.25 * (1 - am + af) ** 2
    new = np.array([[1, 0, -beta], [0, 1, -gamma], [(1 - af) * w**2, 0, 1 - am]])
    old = np.array([[1, 1, 0.5 - beta], [0, 1, 1 - gamma], [-af * w**2, 0, -am]])
    return np.linalg.solve(new, old)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("w", [0.1, 1.0, 30.0, 1e3, 1e4])
def test_an_oscillator_is_damped_as_the_spectral_radius_says(rho, w):
    system = tm.System("oscillator", gravity=(0, 0, 0))
    mass = system.body("mass", 1.0, (1, 1, 1))
    system.connect("x", tm.Prismatic("x"), system.ground, mass)
    system.load("spring", Anchor(w**2, 0.0, 0.0), mass)
    mech = system.build()
    run = fixed(mech, (0, 25), mech.state(q=[1.0]), ("alpha3", rho), 25, rtol=1e-6, atol=1e-6)
    matrix, y = amplification(rho, w), np.array([1.0, 0.0, -(w**2)])
    want = [y]
    for _ in range(25):
        want.append(matrix @ want[-1])
    got = np.stack((run.q[:, 0], run.u[:, 0]), axis=1)
    want = np.array(want)[:, :2]
    np.testing.assert_allclose(got, want, atol=1e-8 * np.max(np.abs(want)))
    if w >= 1e3 and rho > 0:
        assert np.max(np.abs(np.linalg.eigvals(matrix))) == pytest.approx(rho, abs=0.03)


@pytest.mark.parametrize("rho", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("k", [0.3, 20.0, 1e5, 1e9])
def test_fast_states_of_elements_decay_with_the_same_radius(rho, k):
    """x' = -k x in steps of length 1 against the matrix of Jansen, Whiting and Hulbert (2000), by (x, auxiliary rate)."""
    system = tm.System("wheel", gravity=(0, 0, 0))
    axle = system.connect("axle", tm.Revolute("z"), system.ground, system.body("disk", 1.0, (1, 1, 2.0)))
    system.connect("drive", Filtered(k), axle, inputs={"command": 0.0})
    run = fixed(system.build(), (0, 12), None, ("alpha2", rho), 12, rtol=1e-7, atol=1e-7)
    am, af = 0.5 * (3 - rho) / (1 + rho), 1 / (1 + rho)
    gamma = 0.5 + am - af
    new, old = np.array([[1, -gamma], [af * k, am]]), np.array([[1, 1 - gamma], [(af - 1) * k, am - 1]])
    matrix, want = np.linalg.solve(new, old), [np.array([0.1, -0.1 * k])]
    for _ in range(12):
        want.append(matrix @ want[-1])
    np.testing.assert_allclose(run.element("drive").x[:, 0], np.array(want)[:, 0], atol=1e-7)
    if k >= 1e5:
        assert np.max(np.abs(np.linalg.eigvals(matrix))) == pytest.approx(rho, abs=0.02)


def test_coefficients_are_those_of_the_literature():
    for rho in (0.0, 0.5, 0.9, 1.0):
        c = m.coefficients(rho)
        assert c[m.GAMMA] == pytest.approx(0.5 - c[m.ALPHA_M] + c[m.ALPHA_F])  # order 2
        assert c[m.GAMMA_X] == pytest.approx(0.5 - c[m.ALPHA_X] + c[m.ALPHA_F])
        assert c[m.ALPHA_M] <= c[m.ALPHA_F] <= 0.5  # stable whatever the frequency
        assert c[m.BETA] == pytest.approx(0.25 * (c[m.GAMMA] + 0.5) ** 2)
        assert min(abs(c[k]) for k in (m.ERROR_Q, m.ERROR_U, m.ERROR_X)) > 0.05  # every error is seen


# ---------------------------------------------------------------- next to others
@pytest.mark.parametrize("problem", ["mechanisms.a02_double_four_bar", "classics.spherical_triple_pendulum"])
def test_errors_are_those_of_the_same_method_in_cartesian_coordinates(problem):
    """Steps of the same size, the same spectral radius; 6 coordinates a body and no tree there."""
    from importlib import import_module

    module = import_module(f"treemech.benchmarks.problems.{problem}")
    system = module.system()
    mech, other = system.build(), formulations()["index-3-alpha"](module.system())
    state, times, count = module.state(mech), np.linspace(0.0, 0.5, 6), 500
    fine = mech.simulate((0, 0.5), state, rtol=1e-12, atol=1e-12, t_eval=times)
    theirs = other.simulate((0.0, 0.5), state, 0.5 / count, times)
    ours = fixed(mech, (0, 0.5), state, ("alpha3", 0.9), count, t_eval=times)

    def error(position):
        want = np.stack([fine.body(b.name).position for b in system.bodies[1:]], axis=1)
        return np.max(np.abs(position - want))

    mine = error(np.stack([ours.body(b.name).position for b in system.bodies[1:]], axis=1))
    assert mine < 3.0 * error(theirs.bodies.position)
    assert ours.statistics["evaluations"] < 10 * count


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", ["closed chain", "spatial loop", "driven"])
def test_steps_stay_on_the_constraints(model, method):
    mech, start = MODELS[model]()
    run = mech.simulate((0, 1), start, method, rtol=1e-6)
    assert np.max(run.residual.position) < CLOSED and np.median(run.residual.position) < 1e-14
    # with index 2 to the tolerance of Newton's iteration, sqrt(rtol) of that of the speeds
    assert np.max(run.residual.velocity) < (
        1e-8 * max(1.0, np.max(np.abs(run.u))) if method == "alpha2" else 1e-3
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("problem", [rolling_disk, skate_on_incline])
def test_constraints_on_rates_alone_hold_on_their_level(problem, method):
    mech = problem.system().build()
    start = problem.state(mech)
    fine = mech.simulate((0, 0.5), start, rtol=1e-10)
    errors = []
    for count in (200, 400):
        run = fixed(mech, (0, 0.5), start, method, count)
        assert run.success, run.message
        rows = mech._core.layout.chords.nonholonomic
        for k in (count // 2, count):
            now = mech.constraints(replace(start, t=float(run.t[k]), q=run.q[k], u=run.u[k]))
            assert np.max(np.abs(now.velocity[rows]), initial=0.0) < 1e-8
        errors.append(distance(run, fine))
    assert errors[1] < 0.3 * errors[0] and errors[1] < 1e-2, errors


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(6))
def test_random_closed_chains_move_the_same(seed, method):
    made = random_mechanism(seed, planar=seed % 2 == 0, n_loops=1 + seed % 3)
    mech = made.system.build()
    state = mech.assemble(guess=made.q)
    fine = mech.simulate((0, 0.2), state, rtol=1e-10)
    run = mech.simulate((0, 0.2), state, method, rtol=1e-9)
    assert run.success and np.max(run.residual.position) < CLOSED, run.message
    assert distance(run, fine) < 1e-4


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("count", [25, 50, 100, 200])
def test_steps_far_too_long_are_solved_all_the_same(method, count):
    """Multipliers grow four hundredfold within 10 ms: derivatives where such a step would end with the rates it starts with are of no use."""
    mech, start = spatial_loop()
    run = fixed(mech, (0, 1), start, method, count, rtol=1e-9)
    assert run.success, run.message
    assert run.statistics["steps"] < count + 10 and np.max(run.residual.position) < CLOSED
    assert run.statistics["evaluations"] < 6000


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("seed", "planar", "loops"), [(3, False, 1), (60, False, 2), (60, False, 3), (52, False, 2)]
)
def test_random_closed_chains_that_once_failed(method, seed, planar, loops):
    """Short times in which the multipliers grow a thousandfold, speeds up to 400 1/s."""
    made = random_mechanism(seed, planar=planar, n_loops=loops)
    mech = made.system.build()
    state = mech.assemble(guess=made.q)
    fine = mech.simulate((0, 1), state, rtol=1e-11)
    for options in ({"rtol": 1e-4}, {"rtol": 1e-6}, {"rtol": 1e-9, "max_step": 5e-3, "first_step": 5e-3}):
        run = mech.simulate((0, 1), state, method, **options)
        assert run.success and np.max(run.residual.position) < CLOSED, (options, run.message)
        if len(options) == 1:
            error = np.max(np.abs(run.q[-1] - fine.q[-1]))
            assert error < 30 * options["rtol"] ** (2 / 3) * max(1.0, np.max(np.abs(fine.q)))


@pytest.mark.parametrize("seed", range(3))
def test_every_hinge_kind_moves_the_same(seed):
    mech = random_system(seed, n=13, kinds=tuple(kind for kind in KINDS if kind != "Curve")).build()
    state = random_state(mech, seed, speed=0.5)
    fine = mech.simulate((state.t, state.t + 0.3), state, rtol=1e-11)
    run = mech.simulate((state.t, state.t + 0.3), state, "alpha3", rtol=1e-10)
    assert run.success and distance(run, fine) < 1e-4


# ---------------------------------------------------------------- stiffness
@pytest.mark.parametrize("ratio", [1e4, 1e8, 1e12])
def test_a_stiff_chain_costs_no_more_than_a_soft_one(ratio):
    mech, state = springs(ratio)
    run = mech.simulate((0, 20), state, "alpha3", rtol=1e-6, atol=1e-8)
    assert run.success and run.statistics["evaluations"] < 15000
    np.testing.assert_allclose(np.cumsum(run.q[-1]), positions_of(mech, state, ratio, 20.0), atol=1e-3)


def test_order_two_with_a_stiff_spring():
    mech, state = springs(1e10)
    errors = []
    for count in (100, 200, 400):
        run = fixed(mech, (0, 10), state, "alpha3", count)
        errors.append(np.max(np.abs(np.cumsum(run.q[-1]) - positions_of(mech, state, 1e10, 10.0))))
    assert np.log2(errors[1] / errors[2]) > 1.9, errors


@pytest.mark.parametrize("method", METHODS)
def test_a_stiff_closed_chain_takes_far_longer_steps_than_explicit_methods_can(method):
    system = tm.System("four-bar", gravity=(0, -9.81, 0))
    crank, coupler, _ = linkage(system)
    system.load("s", Anchor(2e4, 2e5, 0.3), crank.at((1, 0, 0)))
    mech = system.build()
    state = mech.assemble(fix={"A": 0.8})
    fine = mech.simulate((0, 0.2), state, rtol=1e-9)
    run = mech.simulate((0, 0.2), state, method, rtol=1e-6, atol=1e-6)
    assert run.success and np.max(run.residual.position) < 1e-12
    assert distance(run, fine) < 1e-5
    assert 100 * run.statistics["evaluations"] < fine.statistics["evaluations"]
    assert np.max(np.diff(run.t)) > 100 * np.max(np.diff(fine.t))


# ---------------------------------------------------------------- singular positions
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["A02, N = 2", "slider-crank", "parallelogram"])
@pytest.mark.parametrize("options", [{"rtol": 1e-6, "atol": 1e-6}, {"max_step": 1e-3, "first_step": 1e-3}])
def test_singular_positions_are_passed_on_the_right_branch_and_noted(name, options, method):
    mech, fix, guess, rates = SINGULAR[name]()
    state = mech.assemble(fix=fix, guess=guess, rates=rates)
    times = np.linspace(0.0, 10.0, 41)
    fine = mech.simulate((0, 10), state, rtol=1e-11, t_eval=times)
    run = mech.simulate((0, 10), state, method, **options)
    assert run.success, run.message
    assert off_the_branch(name, run) < 1e-9 and np.max(run.residual.position) < CLOSED
    # DOP853 with steps that turn no hinge by more than 0.2 rad: its long ones, of a motion this smooth, may miss some
    noted = mech.simulate((0, 10), state, rtol=1e-11, max_step=0.05).singular
    assert len(run.singular) == len(noted) > 0
    for (t, joint), (want, other) in zip(run.singular, noted, strict=True):
        k = np.searchsorted(run.t, want)
        assert abs(t - want) < max(run.t[k] - run.t[k - 1], 2e-3) and joint == other
    output = mech.simulate((0, 10), state, method, t_eval=times, **options)
    np.testing.assert_allclose(output.q, fine.q, atol=2e-2)
    assert output.singular == run.singular


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["A02, N = 2", "slider-crank"])
def test_random_runs_through_singular_positions_stay_on_their_branch(name, method):
    mech, fix, guess, rates = SINGULAR[name]()
    rng = np.random.default_rng(7)
    for k in range(20):
        factor, step, rtol = (
            rng.uniform(0.6, 2.0),
            10.0 ** rng.uniform(-3.5, -2.5),
            10.0 ** rng.uniform(-8, -5),
        )
        options = {"rtol": rtol} if k % 2 == 0 else {"max_step": step, "first_step": step}
        state = mech.assemble(fix=fix, guess=guess, rates={k: factor * v for k, v in rates.items()})
        run = mech.simulate((0.0, 10.0), state, method, **options)
        assert run.success, (factor, options, run.message)
        assert off_the_branch(name, run) < 1e-9, (factor, options)
        assert np.max(np.diff(run.t)) < (np.inf if k % 2 == 0 else 1.5 * step)


@pytest.mark.parametrize("method", METHODS)
def test_a_singular_position_can_be_warned_of_or_stopped_at(method):
    mech, fix, guess, rates = SINGULAR["slider-crank"]()
    state = mech.assemble(fix=fix, guess=guess, rates=rates)
    with pytest.warns(UserWarning, match=r"passed singular positions at t = 0\.42"):
        mech.simulate((0.0, 1.0), state, method, on_singular="warn")
    stopped = mech.simulate((0.0, 3.0), state, method, rtol=1e-7, on_singular="stop")
    assert not stopped.success and 0.4 < stopped.t[-1] < 0.424
    assert "lose rank at t = 0.42" in stopped.message and "'C'" in stopped.message
    assert "on_singular='pass'" in stopped.message


def test_nothing_is_noted_where_nothing_is_singular():
    mech, start = spatial_loop()  # near one, but not in one
    for options in ({"rtol": 1e-5}, {"rtol": 1e-7}, {"max_step": 1e-3, "first_step": 1e-3}):
        assert mech.simulate((0, 1), start, "alpha3", **options).singular == []


# ---------------------------------------------------------------- outputs, pauses, switches
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("span", [(0.0, 1.0), (0.0, -1.0)])
def test_outputs_agree_with_steps_and_the_dense_output(method, span):
    mech, start = chain()
    times = np.linspace(*span, 57)
    run = mech.simulate(span, start, method, rtol=1e-7, dense_output=True)
    output = mech.simulate(span, start, method, rtol=1e-7, t_eval=times)
    at_steps = mech.simulate(span, start, method, rtol=1e-7, t_eval=run.t)
    for (q, u), other in ((run.sol(times), output), (run.sol(run.t), run)):
        np.testing.assert_allclose(q, other.q, atol=1e-10)
        np.testing.assert_allclose(u, other.u, atol=1e-10)
    np.testing.assert_array_equal(at_steps.q, run.q)
    for a in mech._lagrange.euler_parameters:
        assert np.max(np.abs(np.linalg.norm(output.q[:, a : a + 4], axis=1) - 1.0)) < 1e-14


@pytest.mark.parametrize("method", METHODS)
def test_outputs_between_steps_are_closed_and_as_accurate(method):
    mech, start = closed_chain()
    times = np.linspace(0, 1, 101)
    fine = mech.simulate((0, 1), start, rtol=1e-11, t_eval=times)
    run = mech.simulate((0, 1), start, method, rtol=1e-6, atol=1e-6, t_eval=times)
    assert run.statistics["steps"] < 100 and np.max(run.residual.position) < 1e-12
    assert np.max(np.abs(run.q - fine.q)) < 3.0 * np.max(np.abs(run.q[-20:] - fine.q[-20:]))


@pytest.mark.parametrize("method", METHODS)
def test_unilateral_constraints_let_go_and_hold_again(method):
    mech, state = platform()
    off, on = flight()
    run = mech.simulate((0, on + 0.05), state, method, rtol=1e-8, max_step=0.02)
    assert run.success, run.message
    assert [holds for _, _, holds in run.switched] == [False, True]
    assert abs(run.switched[0].t - off) < 1e-4 and abs(run.switched[1].t - on) < 1e-4


def test_the_audit_is_integrated_along():
    mech, start = filtered()
    fine = mech.simulate((0, 1), start, rtol=1e-10, audit=True)
    run = mech.simulate((0, 1), start, "alpha3", rtol=1e-8, audit=True)
    want, got = (r._audit[-1] for r in (fine, run))
    assert np.max(np.abs(want)) > 0.1
    np.testing.assert_allclose(got, want, atol=1e-4)


# ---------------------------------------------------------------- elements that depend on a reaction
def pin_friction():
    mech = pendulum_with_friction(0.4)
    return mech, mech.assemble(fix={"pin": 0.3, "elbow": -0.5}, rates={"pin": 2.0, "elbow": -1.0})


def two_frictions(coefficient=0.3):
    """A closed chain, friction by the forces in two of its hinges."""
    system = tm.System("four-bar", gravity=(0, 0, -9.81))
    crank = system.body("crank", mass=1.0, inertia=(0.01, 1 / 12, 1 / 12), com=(0.5, 0, 0))
    coupler = system.body("coupler", mass=3.0, inertia=(0.01, 9 / 4, 9 / 4), com=(1.5, 0, 0))
    rocker = system.body("rocker", mass=2.5, inertia=(0.01, 1.3, 1.3), com=(1.25, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, crank)
    system.connect("B", tm.Ball(), crank.at((1, 0, 0)), coupler)
    C = system.connect("C", tm.Ball(), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)))
    D = system.connect("D", tm.Revolute("y"), system.ground.at((3.5, 0, 0)), rocker)
    system.connect("friction C", Pin(coefficient, 0.02, 1e-2), C)
    system.connect("friction D", Pin(coefficient, 0.04, 1e-2), D)
    mech = system.build()
    return mech, mech.assemble(fix={"A": -0.344}, guess={"D": -1.7476}, rates={"A": 3.0})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", [pin_friction, two_frictions])
def test_friction_by_the_load_of_a_hinge_keeps_order_two(model, method):
    mech, start = model()
    fine = mech.simulate((0, 0.3), start, rtol=1e-12, audit=True)
    errors = []
    for count in (100, 200, 400):
        run = fixed(mech, (0, 0.3), start, method, count, rtol=1e-9, audit=True)
        assert run.success and run.statistics["steps"] == count, run.message
        lam, kept = own_multipliers(mech), mech._core.loops.kept
        lost, want = (sum(r.audit[n].dissipated[-1] for n in r.audit) for r in (run, fine))
        errors.append(
            [distance(run, fine), np.max(np.abs(lam - fine.multipliers[-1][kept])), abs(lost - want)]
        )
    assert want > 0.01 and np.all(np.log2(np.array(errors[1]) / errors[2]) > 1.9), errors


@pytest.mark.parametrize("method", METHODS)
def test_newton_knows_how_friction_answers_to_the_multipliers(method):
    """A hundred times the friction costs no more; without the derivatives of its loads half as much again."""
    costs = []
    for coefficient in (0.1, 10.0):
        mech, start = two_frictions(coefficient)
        fine = mech.simulate((0, 0.3), start, rtol=1e-11)
        run = fixed(mech, (0, 0.3), start, method, 100, rtol=1e-9)
        assert run.success and distance(run, fine) < 1e-4
        costs.append(run.statistics["evaluations"])
    assert costs[1] < 1.2 * costs[0], costs


# ---------------------------------------------------------------- what it refuses, how it fails
def test_steps_of_one_size_take_no_notice_of_the_tolerance():
    mech, start = pendulum()
    coarse, fine = (fixed(mech, (0, 1), start, "alpha2", 50, rtol=r) for r in (1e-5, 1e-10))
    assert coarse.statistics["steps"] == fine.statistics["steps"] == 50
    np.testing.assert_allclose(coarse.q, fine.q, atol=1e-5)


@pytest.mark.parametrize(
    "method", [("alpha3", 1.5), ("alpha3", -0.1), ("Radau", 0.5), ("alpha3",), ("alpha3", "a")]
)
def test_a_spectral_radius_is_between_0_and_1_and_alphas_alone(method):
    with pytest.raises(tm.TreemechError, match="rho between 0 and 1"):
        cart().simulate((0, 1), method=method)


def test_other_ways_to_keep_chains_closed_are_refused():
    mech, start = closed_chain()
    with pytest.raises(tm.TreemechError, match="alpha3 closes the chains itself.*'baumgarte'"):
        mech.simulate((0, 1), start, "alpha3", stabilisation="baumgarte")


@pytest.mark.parametrize("method", METHODS)
def test_newton_that_does_not_converge_is_reported_with_coordinate_time_step_and_advice(method):
    """A force beyond x = 1 that no step meets; 1e-3 of the size of steps is as short as they become."""
    mech = cart(Wall(1.0, 1.0))
    run = mech.simulate((0, 3), mech.state(u={"rail": 1.0}), method, max_step=0.01, first_step=0.01)
    found = run.report
    assert (
        not run.success
        and run.message == found.message
        and "Newton's iteration does not converge" in run.message
    )
    assert run.t[-1] == found.t == pytest.approx(1.0, abs=2e-5) and f"at t = {found.t:.6g} s" in run.message
    assert 0 < found.step < 1e-5 and f"a step of {found.step:.2g} s" in run.message
    assert (
        found.coordinate in ("rail.q", "rail.u")
        and f"{found.coordinate} = {found.value:.6g} moves most" in run.message
    )
    assert found.steps == run.statistics["steps"] >= 100 and found.rejected >= 10
    assert (
        "an unbounded load there; else try a shorter max_step" in found.advice[0]
        and found.advice[0] in run.message
    )


@pytest.mark.parametrize("options", [{}, {"max_step": 0.01, "first_step": 0.01}])
@pytest.mark.parametrize("method", METHODS)
def test_a_motion_beyond_the_end_of_the_travel_is_reported_with_the_joint(method, options):
    """The slider is drawn away until crank and rod are in line, at t = 0.5 s."""
    system = tm.System("stretched", gravity=(0, -9.81, 0))
    crank, link = (system.body(n, 1.0, (0, 1 / 12, 1 / 12), com=(0.5, 0, 0)) for n in ("crank", "rod"))
    slider = system.body("slider", 0.5, (0.01, 0.01, 0.01))
    system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.connect("B", tm.Revolute("z"), crank.at((1, 0, 0)), link)
    system.connect("C", tm.Revolute("z"), link.at((1, 0, 0)), slider)
    system.connect("S", tm.Prismatic("x"), system.ground, slider)
    system.prescribe("S", lambda t: 1.5 + t)
    mech = system.build()
    run = mech.simulate((0, 1), mech.assemble(guess={"A": 0.7, "B": -1.4, "C": 0.7}), method, **options)
    found = run.report
    assert not run.success and run.t[-1] == pytest.approx(0.5, abs=1e-4)
    assert "lose rank at t = 0.5 s: the position is singular, look at 'C'" in run.message
    assert found.connection == "C"
    assert "beyond the end of the travel" in found.advice[0] and found.advice[0] in run.message


def test_a_load_that_is_no_number_is_named_with_its_time():
    mech = cart(Wall(1.0))
    with pytest.raises(tm.ElementError, match=r"'push' \(Wall\).*not a finite number at t = 1 s"):
        mech.simulate((0, 3), mech.state(u={"rail": 1.0}), "alpha3")


@pytest.mark.parametrize("method", ["alpha3", "alpha2"])
def test_where_all_motion_is_prescribed_steps_stay_on_their_branch(method):
    """A spatial four-bar whose coupler turns fast for a moment: long steps lead to another branch, whatever the tolerance."""
    system = tm.System("driven", gravity=(0, 0, -9.81))
    crank = system.body("crank", 1.0, (0.1, 0.1, 0.1), com=(0.1, 0, 0))
    coupler = system.body("coupler", 2.0, (0.1, 0.2, 0.2), com=(0.5, 0, 0))
    rocker = system.body("rocker", 1.0, (0.1, 0.1, 0.1), com=(0.2, 0, 0))
    system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.connect("U", tm.Universal(), crank.at((0.2, 0, 0)), coupler)
    system.connect("S", tm.Ball(), coupler.at((1.0, 0, 0)), rocker.at((0.4, 0, 0)))
    system.connect("B", tm.Revolute("y"), system.ground.at((0.7, 0.5, 0.2)), rocker)
    system.prescribe("A", lambda t: 1.0 + 3.0 * t + 0.5 * np.sin(4.0 * t))
    mech = system.build()
    start = mech.assemble(guess={"B": 0.3})
    for rtol in (1e-3, 1e-4, 1e-6, 1e-8):
        run = mech.simulate((0, 2), start, method=method, rtol=rtol)
        assert run.success and np.abs(run.q - mech.kinematics(run.t, start).q).max() < 1e-11, rtol


@pytest.mark.parametrize("method", METHODS)
def test_error_of_the_motion(method):
    """What docs/integrators.md says of rtol: the error of a motion is a few rtol^(2/3), in speeds as in positions."""
    found = []
    for seed in range(1, 13):
        mechanism = random_mechanism(seed, seed % 2 == 0)
        mech = mechanism.system.build()
        state, times = moving(mechanism, mech, seed), np.linspace(0.0, 0.4, 5)
        want = mech.simulate((0, 0.4), state, rtol=1e-11, t_eval=times)
        for rtol in (1e-5, 1e-7):
            run = mech.simulate((0, 0.4), state, rtol=rtol, method=method, t_eval=times)
            assert run.success, run.message
            off = [np.abs(run.q - want.q).max(), np.abs(run.u - want.u).max() / (1.0 + np.abs(want.u).max())]
            found.append(np.array(off) / rtol ** (2 / 3))
    assert np.all(np.median(found, axis=0) < 0.5)
    assert np.max(found) < 10.0
