"""Methods of integration of simulate(method=...): order, cost beside scipy's, output, stiffness, reports."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

import treemech as tm
from tests.dynamics.simulation.test_integrator import Runaway, cart
from tests.laws.test_singular import slider_crank
from tests.laws.test_unilateral import flight, platform
from tests.support.mechanisms import random_mechanism
from tests.support.models import KINDS, any_hinge, inertia, random_state, random_system, rotation
from treemech.benchmarks.families.trees import double_pendulum
from treemech.benchmarks.runs.stiff import Direct, Governor, governor_tree, measure, measure_runs
from treemech.benchmarks.runs.stiff_chains import linkage
from treemech.dynamics.equations import lu
from treemech.dynamics.integrators import layout as m
from treemech.dynamics.simulation.integrator import NAMES
from treemech.kinematics.kernel.status import OK

OWN = ("Radau", "Adams", "auto")
# Tolerances with which methods of low order are as accurate as the others
STEP = {
    "RK4": {"max_step": 2e-3}, "alpha3": {"rtol": 1e-11, "atol": 1e-11}, "alpha2": {"rtol": 1e-11, "atol": 1e-11},
}  # fmt: skip


def pendulum():
    mech = double_pendulum().build()
    return mech, mech.state(q=np.radians([45.0, -15.0]))


def closed_chain():
    """A planar loop with one freedom and no singular position on its way."""
    made = random_mechanism(0, planar=True)
    mech = made.system.build()
    return mech, mech.assemble(guess=made.q)


def chain():
    """Revolute, ball, free: Euler parameters and plain coordinates; a lively state."""
    rng = np.random.default_rng(3)
    system = tm.System("chain")
    previous = system.ground
    for k, kind in enumerate(("Revolute", "Ball", "Free")):
        body = system.body(f"b{k}", 1.0, inertia(rng, 1.0), com=rng.uniform(-0.2, 0.2, 3))
        end = previous.at(rng.uniform(-0.3, 0.3, 3), rotation(rng))
        system.connect(kind, any_hinge(rng, kind), end, body.at((0, 0, 0.3)))
        previous = body
    mech = system.build()
    return mech, replace(random_state(mech, 4), t=0.0)


MODELS = {"pendulum": pendulum, "closed chain": closed_chain, "chain": chain}


@pytest.fixture(scope="module")
def models():
    """Return name -> (mechanism, start, end, states at eleven times by the default method, fine tolerance)."""
    found = {}
    for name, make in MODELS.items():
        mech, start = make()
        end = 1.0 if name != "pendulum" else 3.0
        times = np.linspace(0.0, end, 11)
        found[name] = mech, start, end, mech.simulate((0, end), start, rtol=1e-13, atol=1e-14, t_eval=times)
    return found


def distance(run, fine):
    return float(np.max(np.abs(np.hstack((run.q[-1] - fine.q[-1], run.u[-1] - fine.u[-1])))))


# ---------------------------------------------------------------- order
@pytest.mark.parametrize("model", ["pendulum", "closed chain"])
def test_rk4_has_order_four(models, model):
    mech, start, end, fine = models[model]
    errors = []
    for count in (100, 200, 400):
        run = mech.simulate((0, end), start, "RK4", max_step=end / count)
        assert run.statistics["steps"] == count
        errors.append(distance(run, fine))
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert errors[-1] > 1e-12 and slopes[-1] > 3.8, (errors, slopes)


@pytest.mark.parametrize("model", ["pendulum", "closed chain"])
def test_radau_has_order_five(models, model):
    """The error estimate has order three: errors fall with tolerance^(5/4), steps grow with tolerance^(-1/4)."""
    mech, start, end, fine = models[model]
    runs = [mech.simulate((0, end), start, "Radau", rtol=r, atol=r) for r in (1e-5, 1e-6, 1e-7, 1e-8)]
    errors, steps = [distance(run, fine) for run in runs], [run.statistics["steps"] for run in runs]
    slope = np.log(errors[0] / errors[-1]) / np.log(steps[-1] / steps[0])
    assert errors[-1] > 1e-12 and slope > 4.5, (errors, steps, slope)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("method", OWN)
def test_errors_follow_the_tolerance(models, model, method):
    mech, start, end, fine = models[model]
    errors = [
        distance(mech.simulate((0, end), start, method, rtol=r, atol=r), fine) for r in (1e-4, 1e-6, 1e-8)
    ]
    # one error may be smaller than it should by luck, then the next is less than ten times smaller
    assert errors[1] < 0.1 * errors[0] and errors[2] < min(errors[1], 1e-2 * errors[0]), errors


def test_adams_raises_its_order_with_the_tolerance(models):
    """Six more digits for less than four times the evaluations: an order of at least 10 all the way."""
    mech, start, end, _ = models["pendulum"]
    coarse, fine = (mech.simulate((0, end), start, "Adams", rtol=r, atol=r) for r in (1e-6, 1e-12))
    assert fine.statistics["evaluations"] < 4 * coarse.statistics["evaluations"]


# ---------------------------------------------------------------- next to scipy, on the same right-hand side
@pytest.mark.parametrize("model", ["pendulum", "chain"])
@pytest.mark.parametrize("rtol", [1e-5, 1e-8])
@pytest.mark.parametrize(
    "own, theirs, most",
    [("DOP853", "DOP853", 1.05), ("DP5", "RK45", 1.05), ("Radau", "Radau", 1.2), ("Adams", "LSODA", 1.0)],
)
def test_error_and_evaluations_are_those_of_scipy(models, model, rtol, own, theirs, most):
    mech, start, end, fine = models[model]
    ours = mech.simulate((0, end), start, own, rtol=rtol, atol=rtol)
    other = mech.simulate((0, end), start, f"scipy:{theirs}", rtol=rtol, atol=rtol)
    assert ours.success and other.success
    assert ours.statistics["evaluations"] < most * other.statistics["evaluations"]
    assert distance(ours, fine) < 3.0 * max(distance(other, fine), 0.1 * rtol)


@pytest.mark.parametrize("method", [name for name in NAMES if name not in ("CVODE", "IDA")])
@pytest.mark.parametrize("model", MODELS)
def test_every_method_gives_the_same_motion(models, model, method):
    mech, start, end, fine = models[model]
    options = {"t_eval": fine.t, "rtol": 1e-8, "atol": 1e-8, **STEP.get(method, {})}
    run = mech.simulate((0, end), start, method, **options)
    assert run.success, run.message
    np.testing.assert_allclose(run.q, fine.q, atol=1e-5)
    np.testing.assert_allclose(run.u, fine.u, atol=1e-4)
    assert np.max(run.residual.position) < 1e-9


@pytest.mark.parametrize("method", ["CVODE", "IDA"])
def test_methods_of_sundials_run_or_say_what_is_missing(models, method):
    mech, start, end, fine = models["pendulum"]
    try:
        import sksundae  # noqa: F401
    except ImportError:
        with pytest.raises(tm.TreemechError, match="scikit-sundae"):
            mech.simulate((0, 1), start, method)
        return
    run = mech.simulate((0, end), start, method, rtol=1e-9, atol=1e-10, t_eval=fine.t)
    np.testing.assert_allclose(run.q, fine.q, atol=1e-5)


@pytest.mark.parametrize("method", ["Radau", "Adams"])
@pytest.mark.parametrize("seed", range(3))
def test_every_hinge_kind_moves_the_same(seed, method):
    mech = random_system(seed, n=13, kinds=tuple(kind for kind in KINDS if kind != "Curve")).build()
    state = random_state(mech, seed, speed=0.5)
    fine, run = (
        mech.simulate((state.t, state.t + 0.3), state, name, rtol=rtol)
        for name, rtol in (("DOP853", 1e-11), (method, 1e-8))
    )
    assert run.success and distance(run, fine) < 1e-6


@pytest.mark.parametrize("method", ["Radau", "Adams"])
@pytest.mark.parametrize("seed", range(6))
def test_random_closed_chains_move_the_same(seed, method):
    made = random_mechanism(seed, planar=seed % 2 == 0, n_loops=1 + seed % 3)
    mech = made.system.build()
    state = mech.assemble(guess=made.q)
    fine, run = (
        mech.simulate((0, 0.2), state, name, rtol=rtol) for name, rtol in (("DOP853", 1e-10), (method, 1e-8))
    )
    assert run.success and np.max(run.residual.position) < 1e-9
    assert distance(run, fine) < 1e-6


# ---------------------------------------------------------------- output
@pytest.mark.parametrize("method", [*OWN, "RK4", "scipy:LSODA"])
@pytest.mark.parametrize("span", [(0.0, 1.0), (0.0, -1.0)])
def test_dense_output_agrees_with_output_times_and_step_ends(models, method, span):
    mech, start, _, _ = models["chain"]
    times = np.linspace(*span, 57)
    options = {"rtol": 1e-8, **STEP.get(method, {})}
    run = mech.simulate(span, start, method, dense_output=True, **options)
    output = mech.simulate(span, start, method, t_eval=times, **options)
    for (q, u), other in ((run.sol(times), output), (run.sol(run.t), run)):
        np.testing.assert_allclose(q, other.q, atol=1e-10)
        np.testing.assert_allclose(u, other.u, atol=1e-10)


@pytest.mark.parametrize("method", [*OWN, "RK4"])
def test_output_at_step_ends_is_the_step_itself(models, method):
    mech, start, _, _ = models["chain"]
    options = {"rtol": 1e-8, **STEP.get(method, {})}
    steps = mech.simulate((0, 1), start, method, **options)
    output = mech.simulate((0, 1), start, method, t_eval=steps.t, **options)
    np.testing.assert_array_equal(output.q, steps.q)
    np.testing.assert_array_equal(output.u, steps.u)


@pytest.mark.parametrize("method", [*OWN, "RK4"])
@pytest.mark.parametrize("model", MODELS)
def test_interpolated_output_is_as_accurate_as_the_steps(models, model, method):
    """Interpolants of Radau and RK4 have order three: the tolerance or the step bounds their errors."""
    mech, start, end, fine = models[model]
    run = mech.simulate((0, end), start, method, rtol=1e-8, atol=1e-8, t_eval=fine.t, **STEP.get(method, {}))
    assert np.max(np.abs(run.q - fine.q)) < 1e-7
    assert np.max(run.residual.position) < 1e-12


@pytest.mark.parametrize("method", [*OWN, "RK4"])
def test_euler_parameters_keep_their_length(models, method):
    mech, start, _, _ = models["chain"]
    run = mech.simulate((0, 3), start, method, rtol=1e-4, dense_output=True, **STEP.get(method, {}))
    for q in (run.q, run.sol(np.linspace(0, 3, 100))[0]):
        for a in mech._lagrange.euler_parameters:
            assert np.max(np.abs(np.linalg.norm(q[:, a : a + 4], axis=1) - 1.0)) < 1e-14


@pytest.mark.parametrize("method", [*OWN, "RK4", "scipy:BDF"])
def test_prescribed_motions_and_their_breaks(method):
    system = double_pendulum()
    name = next(iter(system.connections))
    system.prescribe(name, tm.Spline([0.0, 0.4, 1.0], [0.0, 0.5, 0.2]))
    mech = system.build()
    fine = mech.simulate((0, 1), rtol=1e-12)
    run = mech.simulate((0, 1), None, method, rtol=1e-7, **STEP.get(method, {}))
    assert run.success and distance(run, fine) < 1e-5


@pytest.mark.parametrize("method", ["DOP853", "Radau", "Adams", "RK4", "auto"])
def test_unilateral_constraints_let_go_and_hold_again(method):
    mech, state = platform()
    off, on = flight()
    run = mech.simulate(
        (0, on + 0.05), state, method, rtol=1e-9, **{"max_step": 0.02, **STEP.get(method, {})}
    )
    assert run.success, run.message
    assert [holds for _, _, holds in run.switched] == [False, True]
    assert abs(run.switched[0].t - off) < 1e-7 and abs(run.switched[1].t - on) < 1e-6
    if method == "DOP853":  # without an active row there is no pivot to compare later ones with
        assert run.statistics["evaluations"] < 2000


# ---------------------------------------------------------------- stiffness, the loop alone
def compiled(function, jacobian=False):
    """Return the address of rhs(t, y, dy) of two numbers, and the object that keeps it alive."""
    from numba import carray, cfunc, njit, types

    inner, size = njit(function), 4 if jacobian else 2

    def entry(t, y, dy, context):
        inner(t, carray(y, 2), carray(dy, size))
        return 1

    pointer = types.CPointer(types.float64)
    made = cfunc(types.int32(types.float64, pointer, pointer, types.int64))(entry)
    return made.address, made


EPSILON = 1e-6


def van_der_pol(t, y, dy):
    dy[0] = y[1]
    dy[1] = ((1.0 - y[0] * y[0]) * y[1] - y[0]) / EPSILON


def van_der_pol_jacobian(t, y, J):  # column by column
    J[0], J[1] = 0.0, (-2.0 * y[0] * y[1] - 1.0) / EPSILON
    J[2], J[3] = 1.0, (1.0 - y[0] * y[0]) / EPSILON


VAN_DER_POL_AT_2 = (1.706167732170483, -0.8928097010247975)  # test set for IVP solvers, vdpol


def test_radau_solves_van_der_pol():
    rhs, kept = compiled(van_der_pol)
    direct = Direct(rhs, 2)
    errors = []
    for rtol in (1e-4, 1e-6, 1e-8):
        status, _, y = direct.integrate("radau_integrate", (0.0, 2.0), (2.0, 0.0), rtol, rtol)
        assert status == OK
        errors.append(np.max(np.abs(y[-1] - VAN_DER_POL_AT_2) / np.abs(VAN_DER_POL_AT_2)))
    assert all(e < 20 * r for e, r in zip(errors, (1e-4, 1e-6, 1e-8))), errors


def test_radau_costs_what_scipys_does_on_van_der_pol():
    from scipy.integrate import solve_ivp

    rhs, kept = compiled(van_der_pol)
    direct = Direct(rhs, 2)
    fun, calls = direct.function()
    for rtol in (1e-4, 1e-7):
        direct.integrate("radau_integrate", (0.0, 2.0), (2.0, 0.0), rtol, rtol)
        calls[0] = 0
        solve_ivp(fun, (0.0, 2.0), (2.0, 0.0), "Radau", rtol=rtol, atol=rtol)
        assert direct.count[m.EVALUATIONS] < 1.1 * calls[0]


def test_an_exact_jacobian_saves_evaluations_and_gives_the_same():
    rhs, kept = compiled(van_der_pol)
    jacobian, kept_too = compiled(van_der_pol_jacobian, jacobian=True)
    results, counts = [], []
    for direct in (Direct(rhs, 2), Direct(rhs, 2, jacobian=jacobian)):
        _, _, y = direct.integrate("radau_integrate", (0.0, 2.0), (2.0, 0.0), 1e-7, 1e-7)
        results.append(y[-1])
        counts.append(int(direct.count[m.EVALUATIONS]))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)
    assert counts[1] < counts[0]


@pytest.mark.parametrize("loop", ["radau_integrate", "adams_integrate", "integrate"])
def test_a_pause_after_every_step_changes_nothing(loop):
    rhs, kept = compiled(oscillate)
    whole, paused = Direct(rhs, 2), Direct(rhs, 2)
    paused.pause = 1
    times = np.linspace(0.0, 5.0, 23)
    one, other = (d.integrate(loop, (0.0, 5.0), (1.0, 0.0), 1e-7, 1e-7, times) for d in (whole, paused))
    np.testing.assert_array_equal(one[2], other[2])
    np.testing.assert_array_equal(whole.count, paused.count)
    np.testing.assert_allclose(one[2][:, 0], np.cos(times), atol=1e-5)


def oscillate(t, y, dy):
    dy[0] = y[1]
    dy[1] = -y[0]


@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_lu_solves_badly_scaled_systems(n):
    factor, solve, complex_factor, complex_solve = (
        getattr(f, "py_func", f) for f in (lu.factor, lu.solve, lu.complex_factor, lu.complex_solve)
    )
    rng = np.random.default_rng(n)
    scale = 10.0 ** rng.uniform(-6, 6, (n, 1))
    A, B = (scale * rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.7) for _ in range(2))
    A += scale * np.eye(n)
    x = rng.normal(size=n) + 1j * rng.normal(size=n)
    pivots, size = np.zeros(n, dtype=int), np.zeros(n)
    a, b = np.array(A.T), np.array(B.T)  # column by column
    right = (A + 1j * B) @ x
    re, im = right.real.copy(), right.imag.copy()
    assert complex_factor(a, b, n, pivots, size)
    complex_solve(a, b, n, pivots, re, im)
    bound = 1e-14 * n * np.linalg.cond((A + 1j * B) / scale)
    np.testing.assert_allclose(re + 1j * im, x, rtol=0, atol=bound)
    a, right = np.array(A.T), A @ x.real
    assert factor(a, n, pivots, size)
    solve(a, n, pivots, right)
    np.testing.assert_allclose(right, x.real, rtol=0, atol=1e-14 * n * np.linalg.cond(A / scale))
    singular = np.ones((2, 2))
    assert not factor(singular, 2, np.zeros(2, dtype=int), np.zeros(2))


# ---------------------------------------------------------------- stiffness, mechanisms
@dataclass(frozen=True)
class Anchor(tm.Load):
    """A spring and damper between the end and a height above it."""

    stiffness: float
    damping: float
    height: float

    def evaluate(self, end, t, load):
        load.force[0] = -self.stiffness * (end.position[0] - self.height) - self.damping * end.velocity[0]


def springs(ratio):
    """Three masses in a row on springs of 1 and `ratio` N/m; the stiff one is well damped."""
    system = tm.System("springs", gravity=(1.0, 0, 0))
    previous = system.ground
    laws = ((1.0, 0.01), (ratio, np.sqrt(ratio)), (3.0, 0.1))
    for k, (stiffness, damping) in enumerate(laws):
        mass = system.body(f"m{k}", 1.0 + 0.3 * k, (1, 1, 1))
        system.connect(f"x{k}", tm.Prismatic("x"), previous, mass)
        system.load(f"s{k}", Anchor(stiffness, damping, 0.1 * k), mass)
        previous = mass
    mech = system.build()
    return mech, mech.state(q=[0.5, 0.1, 0.2])


def positions_of(mech, state, ratio, t):
    """Closed form: every mass on its own spring; absolute positions."""
    masses = np.array([1.0, 1.3, 1.6])
    laws = ((1.0, 0.01), (ratio, np.sqrt(ratio)), (3.0, 0.1))
    out = []
    for mass, (k, c), x0, height in zip(masses, laws, np.cumsum(state.q), (0.0, 0.1, 0.2)):
        rest = height + mass / k
        r1, r2 = np.roots([mass, c, k])
        a = (x0 - rest) * r2 / (r2 - r1)
        out.append(rest + (a * np.exp(r1 * t) + (x0 - rest - a) * np.exp(r2 * t)).real)
    return np.array(out)


@pytest.mark.parametrize("ratio", [1e4, 1e8, 1e12])
def test_auto_turns_to_radau_on_a_stiff_chain_and_ends_soon(ratio):
    mech, state = springs(ratio)
    run = mech.simulate((0, 20), state, "auto", rtol=1e-6, atol=1e-8)
    implicit = mech.simulate((0, 20), state, "Radau", rtol=1e-6, atol=1e-8)
    assert run.success and run.statistics["switches"] >= 1 and "Radau" in run.message
    assert (
        run.statistics["evaluations"] < 2 * implicit.statistics["evaluations"] + 2500
    )  # 100 explicit steps and trials
    for found in (run, implicit):
        np.testing.assert_allclose(np.cumsum(found.q[-1]), positions_of(mech, state, ratio, 20.0), atol=1e-4)


def test_auto_stays_explicit_where_that_is_better(models):
    mech, start, _, _ = models["pendulum"]
    run, explicit = (mech.simulate((0, 20), start, method, rtol=1e-9) for method in ("auto", "DOP853"))
    assert run.statistics["switches"] == 0 and run.statistics["jacobians"] > 0
    assert run.statistics["evaluations"] < 1.1 * explicit.statistics["evaluations"]


@pytest.mark.parametrize("method", ["Radau", "auto"])
def test_a_stiff_closed_chain_costs_little(method):
    system = tm.System("four-bar", gravity=(0, -9.81, 0))
    crank, _, _ = linkage(system)
    system.load("s", Anchor(2e4, 2e5, 0.3), crank.at((1, 0, 0)))  # overdamped: it creeps towards x = 0.3
    mech = system.build()
    state = mech.assemble(fix={"A": 0.8})
    fine = mech.simulate((0, 0.2), state, rtol=1e-9)
    run = mech.simulate((0, 0.2), state, method, rtol=1e-6)
    assert run.success and np.max(run.residual.position) < 1e-12
    assert distance(run, fine) < 1e-5
    assert 5 * run.statistics["evaluations"] < fine.statistics["evaluations"]


def test_the_governor_tree_is_that_of_the_reference():
    governor = Governor()
    y = governor.y0
    expected = governor_tree().build().momentum((0.0, y[:4], y[4:])).angular[2]
    assert expected == pytest.approx(53.86899865842, rel=1e-11)


def test_radau_solves_the_governor():
    governor = Governor()
    status, times, states = governor.direct.integrate(
        "radau_integrate", (0.0, 10.0), governor.y0, 1e-8, 1e-8, (0.5, 1.0, 5.0, 10.0)
    )
    assert status == OK and governor.error(times, states) < 1e-7
    assert governor.direct.count[m.EVALUATIONS] < 25000


@pytest.mark.slow
@pytest.mark.parametrize("measured", [measure, measure_runs])
def test_radau_is_12_times_as_fast_as_scipys_on_the_governor(measured):
    for row in measured(repeats=2):
        assert row["error"] < 1.5 * row["scipy_error"]
        assert row["evaluations"] < 1.1 * row["scipy_evaluations"]
        assert row["ratio"] > 12.0, row


# ---------------------------------------------------------------- failure
@pytest.mark.parametrize("method", ["Radau", "Adams", "auto"])
def test_a_solution_that_blows_up_is_reported_with_coordinate_and_time(method):
    mech = cart(Runaway(1.1))
    run = mech.simulate((0, 3), mech.state(q={"rail": 1.0}, u={"rail": np.sqrt(0.5)}), method)
    assert not run.success
    assert "rail" in run.message and "swing" not in run.message and "1.414" in run.message, run.message
    assert run.t[-1] == pytest.approx(np.sqrt(2.0), abs=1e-3)


@dataclass(frozen=True)
class Wall(tm.Load):
    """Not a number beyond x = edge; or, if stubborn, a force for which Newton's method does not converge."""

    edge: float
    stubborn: float = 0.0

    def evaluate(self, end, t, load):
        if end.position[0] > self.edge:
            load.force[0] = (
                1e300 * self.stubborn * np.sin(1e12 * end.position[0]) if self.stubborn else np.nan
            )


def test_newton_that_does_not_converge_is_reported_with_coordinate_time_and_step():
    mech = cart(Wall(1.0, 1.0))
    run = mech.simulate((0, 3), mech.state(u={"rail": 1.0}), "Radau")
    assert not run.success and "Newton" in run.message
    # the load pushes both; their increments are infinite
    assert re.search(r"(rail|swing)\.u = \S+ moves most", run.message), run.message
    assert "t = 1 s" in run.message and "step of" in run.message, run.message
    assert run.t[-1] == pytest.approx(1.0, abs=1e-11)  # exact derivatives do not look beyond the wall


@pytest.mark.parametrize("method", ["Radau", "Adams", "DOP853"])
def test_a_load_that_is_no_number_is_named_with_its_time(method):
    mech = cart(Wall(1.0))
    with pytest.raises(tm.ElementError, match=r"'push' \(Wall\).*not a finite number at t = 1 s") as caught:
        mech.simulate((0, 3), mech.state(u={"rail": 1.0}), method)
    assert caught.value.partial.t[-1] == pytest.approx(1.0, abs=2e-8)


@dataclass(frozen=True)
class Fuse(tm.Load):
    """Load that raises after a while."""

    end: float

    def evaluate(self, end, t, load):
        if t > self.end:
            raise ValueError("blown")


@pytest.mark.parametrize("method", ["Radau", "Adams", "RK4", "auto", "scipy:LSODA"])
def test_an_element_that_raises_is_named(method):
    mech = cart(Fuse(0.5))
    with pytest.raises(tm.ElementError, match="push") as caught:
        mech.simulate((0, 1), mech.state(u={"swing": 3.0}), method, max_step=0.05)
    assert 0.3 < caught.value.partial.t[-1] <= 0.5
    assert "blown" in str(caught.value.__cause__)


@pytest.mark.parametrize("method", ["Radau", "Adams"])
def test_dop853_passes_singular_positions_for_methods_that_cannot(method):
    mech, fix, guess, rates = slider_crank()
    state = mech.assemble(fix=fix, guess=guess, rates=rates)
    run, fine = (mech.simulate((0, 3), state, name, rtol=1e-9) for name in (method, "DOP853"))
    assert run.success and len(run.singular) == len(fine.singular) > 0
    assert distance(run, fine) < 1e-5


def test_auto_passes_singular_positions():
    mech, fix, guess, rates = slider_crank()
    state = mech.assemble(fix=fix, guess=guess, rates=rates)
    run, fine = (mech.simulate((0, 3), state, method, rtol=1e-9) for method in ("auto", "DOP853"))
    assert run.success and len(run.singular) == len(fine.singular)
    assert distance(run, fine) < 1e-5


def test_methods_of_other_libraries_refuse_what_must_switch():
    mech, state = platform()
    with pytest.raises(tm.TreemechError, match="'platform' is unilateral.*DOP853"):
        mech.simulate((0, 1), state, "scipy:LSODA")


def test_unknown_methods_are_refused_with_a_list():
    with pytest.raises(tm.TreemechError) as caught:
        cart().simulate((0, 1), method="Euler")
    assert all(name in str(caught.value) for name in NAMES)


def test_rk4_asks_for_its_step():
    mech = cart()
    with pytest.raises(tm.TreemechError, match="max_step"):
        mech.simulate((0, 1), method="RK4")
    assert mech.simulate((0, 1), method="RK4", first_step=0.1).statistics["steps"] == 10
