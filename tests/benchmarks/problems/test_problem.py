"""Problems with known answers: reached, converging, and as accurate as scipy's integrators on the same equations."""

import json
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import treemech as tm
from treemech.analyses.evaluation import results_of_states
from treemech.benchmarks.problems import Expected, compare, load, problems, references
from treemech.benchmarks.problems.problem import momentum, zero_crossings
from treemech.benchmarks.runs import reference as reference_runs
from treemech.dynamics.native import entry_points as native
from treemech.results.run import Run
from treemech.topology.arrays import address

PROBLEMS = problems()
RTOLS = (1e-5, 1e-7, 1e-9, 1e-11)
TREES = (
    "a01_simple_pendulum", "double_pendulum", "free_chain_planar", "free_rigid_body_intermediate_axis",
    "gyroscope_steady_precession", "heavy_top", "spherical_triple_pendulum", "spring_damper_chain",
)  # fmt: skip
DRIVEN = ("peaucellier_linkage", "slider_crank_driven")  # nothing is left to move freely
LOOPS = (
    "a02_double_four_bar", "a03_andrews_squeezer", "a04_bricard", "chaplygin_sleigh", "rolling_disk", "skate_on_incline",
    "slider_crank_singular", "spatial_slider_crank", "spatial_slider_crank_iftomm",
)  # fmt: skip


def worst(problem, runs):
    return max(c.error for c in compare(problem, runs)[0])


def runs_of(problem, rtol, method, **options):
    """Return the runs of all cases."""
    mech = problem.system().build()
    return {
        case: mech.simulate(
            (0.0, problem.t_end), problem.start(mech, case), method, rtol, t_eval=problem.times(), **options
        )
        for case in problem.cases
    }


def scipy_runs(problem, rtol, method, first_step):
    """Return the same by scipy, which calls our compiled right-hand side."""
    mech, rhs, runs = problem.system().build(), native.entry("rhs"), {}
    y, dy = np.zeros(mech.nq + mech.nu), np.zeros(mech.nq + mech.nu)
    at = (address(y), address(dy), mech._core.context_address)

    def slope(t, state):
        y[:] = state
        assert rhs(t, *at) == 1
        return dy.copy()

    for case in problem.cases:
        start = problem.start(mech, case)
        found = solve_ivp(
            slope, (0.0, problem.t_end), mech._core.pack(start.q, start.u), method, problem.times(),
            rtol=rtol, atol=1e-3 * rtol, first_step=first_step,
        )  # fmt: skip
        q, u = mech._core.states(found.t, found.y.T)
        results = partial(results_of_states, mech)
        runs[case] = Run(mech._info, found.t, q, u, found.success, found.message, tracer=results)
    return runs


def test_every_problem_is_found():
    assert {*TREES, *DRIVEN, *LOOPS, "a05_flyball_governor"} <= set(PROBLEMS)
    assert {problem.file for problem in PROBLEMS.values()} == set(references())


@pytest.mark.parametrize("file", references())
def test_every_reference_can_be_read(file):
    reference = load(file)
    assert reference.name and reference.source and reference.digits >= 8 and reference.entries()
    for entry in reference.entries():
        assert np.all(np.isfinite(entry.value)), entry.key
        assert entry.time is None or 0.0 <= entry.time <= reference.t_end, entry.key


def test_names_and_times_are_taken_from_the_keys():
    entry = Expected.parse("P1.position(t=0.25)", [1, 2, 3])
    assert (entry.name, entry.time, entry.value.shape) == ("P1.position", 0.25, (3,))
    assert Expected.parse("spin(lean=20deg,yaw=2)", 1).time is None


@pytest.mark.parametrize("name", PROBLEMS)
def test_answers_are_reached(name):
    problem = PROBLEMS[name]
    found, missing = compare(problem, runs_of(problem, 1e-11, "DOP853"))
    late = {c.key: c.error for c in found if not c.error <= problem.reference().tolerance}
    assert not late
    assert not missing


@pytest.mark.parametrize("name", ["a05_flyball_governor", "spring_damper_chain"])
def test_spring_problems_agree_to_all_digits_of_their_references(name):
    problem = PROBLEMS[name]
    allowed = max(
        10.0 ** -problem.reference().digits, 2e-13
    )  # 15 digits of a closed form are more than rtol gives
    assert worst(problem, runs_of(problem, 1e-12, "DOP853")) < allowed


@pytest.mark.parametrize("name", TREES)
def test_errors_fall_with_rtol(name):
    problem = PROBLEMS[name]
    floor = 10.0 * 10.0 ** -problem.reference().digits
    errors = [worst(problem, runs_of(problem, rtol, "DOP853")) for rtol in RTOLS]
    for coarse, fine in pairwise(errors):
        assert fine < max(coarse, floor), errors
    assert errors[-1] < 1e-4 * errors[0], errors


@pytest.mark.parametrize("name", LOOPS)
def test_errors_of_closed_chains_fall_with_rtol(name):
    problem = PROBLEMS[name]
    coarse, fine = (worst(problem, runs_of(problem, rtol, "DOP853")) for rtol in (1e-5, 1e-11))
    assert fine < 1e-4 * coarse


@pytest.mark.parametrize("rtol", [1e-4, 1e-10])
@pytest.mark.parametrize("name", DRIVEN)
def test_a_driven_mechanism_is_exact_whatever_the_tolerance(name, rtol):
    """Every step ends with a projection on the constraints, and they leave nothing open."""
    problem = PROBLEMS[name]
    assert worst(problem, runs_of(problem, rtol, "DOP853")) < 1e-11


@pytest.mark.parametrize("name", (*DRIVEN, *LOOPS))
def test_constraints_hold_at_every_output_of_a_coarse_run(name):
    problem = PROBLEMS[name]
    mech = problem.system().build()
    run = mech.simulate((0, problem.t_end), problem.start(mech), rtol=1e-5)  # outputs at every step
    assert run.success, run.message
    for t, q, u in zip(run.t, run.q, run.u):
        found = mech.constraints(mech.state(t, q, u))
        assert np.max(np.abs(found.residual)) < 1e-12 and np.max(np.abs(found.velocity)) < 1e-11, t


@pytest.mark.parametrize("ours, theirs, rtols", [("DOP853", "DOP853", RTOLS), ("DP5", "RK45", RTOLS[:3])])
@pytest.mark.parametrize("name", TREES)
def test_errors_are_those_of_scipy(name, ours, theirs, rtols):
    problem = PROBLEMS[name]
    # The first step is given: from rest, roundoff in the error estimate decides how the first few steps grow.
    first = 1e-3 * problem.t_end
    for rtol in rtols:
        error = worst(problem, runs_of(problem, rtol, ours, first_step=first))
        assert error < 3.0 * max(worst(problem, scipy_runs(problem, rtol, theirs, first)), 1e-13), rtol


def test_evaluations_are_those_of_scipy():
    problem = PROBLEMS["double_pendulum"]
    mech = problem.system().build()
    run = mech.simulate((0, 5), problem.start(mech), rtol=1e-8)
    rhs, y, dy = native.entry("rhs"), np.zeros(4), np.zeros(4)

    def slope(t, state):
        y[:] = state
        rhs(t, address(y), address(dy), mech._core.context_address)
        return dy.copy()

    start = problem.start(mech)
    found = solve_ivp(slope, (0, 5), np.r_[start.q, start.u], "DOP853", rtol=1e-8, atol=1e-11)
    assert abs(run.statistics["evaluations"] - found.nfev) < 0.05 * found.nfev


@pytest.mark.parametrize("reverse", [False, True], ids=["ground to body", "body to ground"])
def test_a_free_body_near_its_intermediate_axis_is_exact_however_it_is_declared(reverse):
    """The separatrix magnifies errors by 1e5; the integrator carries the speeds in the base of the body."""
    problem = PROBLEMS["free_rigid_body_intermediate_axis"]
    reference = problem.reference()
    system = tm.System("free body", gravity=(0, 0, 0))
    body = system.body("body", reference.parameters["mass"], reference.parameters["inertia_principal"])
    ends = (body, system.ground) if reverse else (system.ground, body)
    system.connect("free", tm.Free(), *ends)
    mech = system.build()
    omega = np.array(reference.initial["omega_body"])
    start = mech.state(u={"free": [0, 0, 0, *(-omega if reverse else omega)]})
    run = mech.simulate((0, 20), start, rtol=1e-11, t_eval=problem.times())
    assert worst(problem, {"": run}) < 1e-9


def test_momentum_over_a_run_is_that_of_its_states():
    problem = PROBLEMS["spherical_triple_pendulum"]
    mech = problem.system().build()
    run = mech.simulate((0, 0.3), problem.start(mech), t_eval=[0.0, 0.3])
    linear, angular = momentum(run)
    for k in range(2):
        want = mech.momentum((run.t[k], run.q[k], run.u[k]))
        np.testing.assert_allclose(linear[k], want.linear, atol=1e-13)
        np.testing.assert_allclose(angular[k], want.angular, atol=1e-13)


def test_zero_crossings_are_found_between_samples():
    t = np.linspace(0.0, 7.0, 301)
    np.testing.assert_allclose(zero_crossings(t, np.sin(t + 0.5)), np.pi * np.arange(1, 3) - 0.5, atol=1e-12)


def test_command_prints_a_table_and_writes_json(tmp_path, capsys):
    out = tmp_path / "reference.json"
    assert (
        reference_runs.main(["--problem", "a01_simple_pendulum", "free_chain_planar", "--out", str(out)]) == 0
    )
    printed = capsys.readouterr().out
    assert "a01_simple_pendulum" in printed and "digits" in printed
    content = json.loads(out.read_text())
    assert [r["problem"] for r in content["results"]] == ["a01_simple_pendulum", "free_chain_planar"]
    assert all(r["passed"] and r["evaluations"] > 0 and r["cpu_seconds"] > 0 for r in content["results"])


def test_command_fails_when_an_answer_is_missed(capsys):
    assert reference_runs.main(["--problem", "double_pendulum", "--rtol", "1e-4"]) == 1
    assert "misses 1e-08" in capsys.readouterr().out


def test_command_lists_references_without_a_problem(capsys, monkeypatch):
    monkeypatch.setattr(reference_runs, "REPEATS", 1)
    monkeypatch.setattr(reference_runs, "problems", lambda: {"heavy_top": PROBLEMS["heavy_top"]})
    monkeypatch.setattr(reference_runs, "gallery", list)
    assert reference_runs.main([]) == 0
    printed = capsys.readouterr().out
    assert all(file in printed for file in references())


def test_command_reports_a_run_that_fails(capsys, monkeypatch):
    def broken():
        raise tm.ElementError("no such luck")

    problem = PROBLEMS["double_pendulum"]
    twin = type(problem)(problem.name, problem.file, broken, problem.state, problem.observe)
    monkeypatch.setattr(reference_runs, "problems", lambda: {"double_pendulum": twin})
    monkeypatch.setattr(reference_runs, "gallery", list)
    assert reference_runs.main([]) == 1
    assert "FAILED: ElementError: no such luck" in capsys.readouterr().out


def test_command_suggests_the_name_that_was_meant(capsys):
    assert reference_runs.main(["--problem", "heavy_tops"]) == 2
    assert "heavy_top" in capsys.readouterr().err
