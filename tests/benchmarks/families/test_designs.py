"""Design studies and optimization: Kelem's lens polisher, synthesis of a four-bar path, sweeps as tables."""

import csv

import numpy as np
import pytest
from numba import config
from scipy.optimize import least_squares

import treemech as tm
from tests.support.parametric import four_bar, four_bar_start
from treemech.analyses.states import left_free
from treemech.benchmarks.families.designs import path, path_four_bar, turn_of_crank
from treemech.benchmarks.problems.mechanisms.kelem import lens_polisher, lens_polisher_study
from treemech.design.study import DesignTable, Trial


# ---------------------------------------------------------------- Kelem's tables
def test_sensitivities_between_trials_are_those_printed_by_kelem():
    """Tables of the two design studies: forward, central over both neighbours, backward difference."""
    printed = {
        "vx": (
            [18.510, 20.320, 21.246, 21.819, 22.324],
            [0.0014307, 0.0010812, 0.00059244, 0.00042596, 0.00039885],
        ),
        "spin": ([4680.6, 5652.2, 5967.5, 6066.2, 15972], [0.76787, 0.50853, 0.16360, 3.9536, 7.8292]),
    }
    for name, (values, sensitivities) in printed.items():
        rows = [
            Trial({"density": x}, {name: y}) for x, y in zip(lens_polisher_study.TRIALS, values, strict=True)
        ]
        found = DesignTable(["density"], [name], rows).differences(name, "density")
        assert np.allclose(
            found, sensitivities, rtol=2e-3
        )  # values printed to five digits, differences of them to three


def test_the_polisher_moves_as_its_geometry_says():
    """x = x_A - sqrt(L'^2 - D^2) over a turn, and the derivatives of that by both lengths."""
    mech, times = lens_polisher.system(torque=0.0, turns=1.0).build(), np.arange(8) / 8.0
    found = mech.kinematic_sensitivities(
        times, lambda m: m.assemble(guess={"slider": -0.03, "A": [1.1, 0]}), ["length", "radius"]
    )
    r, length = mech.parameters["radius"], mech.parameters["length"]
    angle = np.arctan2(0.26, 0.0086) + 2 * np.pi * times
    drop = 0.22 + 0.018 + r * np.sin(angle)
    root = np.sqrt(length**2 - 0.245**2 - drop**2)
    assert np.max(np.abs(found.run.connection("slider").q - (r * np.cos(angle) - root))) < 1e-10
    want = np.column_stack((-length / root, np.cos(angle) + drop * np.sin(angle) / root))
    assert np.max(np.abs(found.of("slider.q") - want)) < 1e-8 * np.max(np.abs(want))


def test_the_derivative_of_the_largest_speed_is_that_of_differences():
    """The slider of the coasting polisher, by the density of its crank (the study is an example: lens_polisher_study)."""
    objective = tm.Objective(
        lens_polisher_study.system().build(), lens_polisher_study.coasting(0.06), "max slider.u", ["density"]
    )
    value, slope = objective([5270.5])
    there, back = objective.value([5275.5]), objective.value([5265.5])
    assert abs(slope[0] - (there - back) / 10) < 1e-5 * slope[0] and slope[0] > 0.0 and value > 20.0


# ---------------------------------------------------------------- synthesis
def test_a_four_bar_that_draws_a_given_path():
    """Twelve points of a known four-bar are recovered, and with them its six lengths, from a start up to 10 % off."""
    wanted, turn = path_four_bar(), turn_of_crank()
    points = path(turn.run(wanted))
    first = path_four_bar(ground=1.05, crank=0.33, coupler=0.95, rocker=0.85, along=0.45, across=0.45)
    objective = tm.Objective(first, turn, lambda run: path(run) - points)
    found = least_squares(
        objective.value, objective.x0, objective.jacobian, xtol=1e-12, ftol=1e-14, gtol=1e-14
    )
    assert found.cost < 1e-24 and found.nfev < 12
    assert np.max(np.abs(found.x - [wanted.parameters[name] for name in objective.parameters])) < 1e-9


def test_the_reduced_gradient_is_what_the_chain_leaves_of_the_whole_gradient():
    """grad_p - grad_q P^-1 df/dp (Kelem 4.5.13) of a function of one position, q the dependent variables."""
    mech, times = path_four_bar(), np.array([0.1])
    experiment = turn_of_crank()
    objective = tm.Objective(
        mech, tm.Experiment(cycle=times, start=experiment.start), lambda r: float(r.q[0] @ r.q[0])
    )
    gradient = objective(objective.x0)[1]
    run = objective.experiment.run(mech)
    q, free = run.q[0], left_free(mech, {})
    P = mech._core.constraints(0.1, q, run.u[0]).partials[:, free]
    for j, name in enumerate(objective.parameters):
        h = 1e-6
        gaps = [
            mech.with_parameters(**{name: mech.parameters[name] + x})
            ._core.constraints(0.1, q, run.u[0])
            .residual
            for x in (h, -h)
        ]
        reduced = -2 * q[free] @ np.linalg.lstsq(P, (gaps[0] - gaps[1]) / (2 * h), rcond=1e-9)[0]
        assert abs(gradient[j] - reduced) < 1e-8 * max(1.0, abs(reduced)), name


# ---------------------------------------------------------------- tables
def test_a_table_of_designs_with_derivatives_failures_and_files(tmp_path):
    mech = four_bar().build()
    experiment = tm.Experiment((0, 0.3), start=four_bar_start)
    done = []
    table = tm.design_study(
        mech, experiment, {"l": [1.0, 9.0], "k": [20.0, 40.0]}, ["final A.q", "max height"], True, done.append
    )
    assert len(table) == 4 and done == [0.25, 0.5, 0.75, 1.0]
    assert table["l"].tolist() == [1, 1, 9, 9] and table["k"].tolist() == [20, 40, 20, 40]
    assert len(table.failures) == 2 and "does not close" in table.failures[0].message
    assert np.isnan(table["final A.q"][2]) and np.isfinite(table["final A.q/k"][:2]).all()
    text, rows = str(table), table.markdown().splitlines()
    assert "does not close" in text and len(rows) == 6 and rows[1].startswith("| --- |")
    with table.to_csv(tmp_path / "study.csv").open() as file:
        read = list(csv.DictReader(file))
    assert float(read[1]["final A.q/l"]) == table["final A.q/l"][1] and "close" in read[3]["message"]
    bad = tm.design_study(mech, experiment, [{"m": -1.0}, {"m": 2.0}], {"end": lambda run: run.q[-1, 0]})
    assert "mass of body 'crank' is -1" in bad.trials[0].message and not bad.trials[1].message
    with pytest.raises(tm.ElementError, match="there is no parameter 'spam'"):
        tm.design_study(mech, experiment, {"spam": [1.0]}, ["final A.q"])
    with pytest.raises(tm.ElementError, match="there is no column 'speed'"):
        table["speed"]


@pytest.mark.skipif(config.DISABLE_JIT, reason="counts compilations")
@pytest.mark.parametrize("count", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_sweep_compiles_nothing_and_equals_rebuilding(count):
    from treemech.kinematics.kernel.language import compilations

    mech, values = four_bar().build(), np.linspace(20.0, 40.0, count)
    experiment = tm.Experiment((0, 0.2), start=four_bar_start)
    tm.design_study(mech, experiment, {"k": values[:1]}, ["final A.q"])
    with compilations() as compiled:
        table = tm.design_study(mech, experiment, {"k": values}, ["final A.q"])
    assert not compiled.buffer and not table.failures
    every = max(count // 20, 1)
    rebuilt = [experiment.run(four_bar(plain=True, k=k).build()).q[-1, 0] for k in values[::every]]
    # designs are closed from the position of the declared values, a rebuilt mechanism from its own: equal to rounding
    np.testing.assert_allclose(table["final A.q"][::every], rebuilt, rtol=1e-12)


def test_a_study_that_cannot_be_meant_is_refused_before_it_runs():
    mech, experiment = four_bar().build(), tm.Experiment((0, 0.1), start=four_bar_start)

    def study(designs=None, measures=("final A.q",), model=mech):
        return tm.design_study(
            model, experiment, designs or {"l": [1.0]}, measures, progress=lambda done: pytest.fail("it ran")
        )

    with pytest.raises(tm.ElementError, match="no measure 'heigt': did you mean 'height'"):
        study(measures=["max heigt"])
    with pytest.raises(tm.TreemechError, match="no connection, body or element 'Z'"):
        study(measures=["max Z.q"])
    with pytest.raises(tm.ElementError, match="'l' are 'long'; wanted numbers"):
        study({"l": "long"})
    with pytest.raises(tm.ElementError, match="no values of 'l'"):
        study({"l": []})
    with pytest.raises(tm.TreemechError, match=r"no mechanism; wanted system\.build"):
        study(model=four_bar())


def test_a_study_takes_one_text_and_functions_by_their_names():
    mech, experiment = four_bar().build(), tm.Experiment((0, 0.1), start=four_bar_start)

    def end(run):
        return run.q[-1, 0]

    (one,) = tm.design_study(mech, experiment, {"l": [1.0]}, "final A.q")
    (two,) = tm.design_study(mech, experiment, {"l": [1.0]}, [end])
    assert one.measures["final A.q"] == two.measures["end"]
    (none,) = tm.design_study(mech, experiment, {"l": [1.0]}, {"end": lambda run: None})
    assert "gives None" in none.message


@pytest.mark.parametrize("derivatives", [False, True])
def test_an_interrupted_study_stops_and_keeps_what_it_has(derivatives):
    """Ctrl-C within a run of the second design: a simulation keeps it to itself, the study must not go on."""
    runs = []

    def interrupted(mech):  # by the run itself
        runs.append(mech)
        state = four_bar_start(mech)
        if mech.parameters["k"] == 30.0:
            plain = mech.simulate

            def stop(done):  # no signal: where tests run in the background Python ignores it
                raise KeyboardInterrupt

            def simulate(*args, **options):
                return plain(*args, **options, progress=stop)

            mech.simulate = simulate
        return state

    mech = four_bar().build()
    table = tm.design_study(
        mech,
        tm.Experiment((0, 0.3), start=interrupted),
        {"k": [20.0, 30.0, 40.0]},
        ["final A.q"],
        derivatives,
    )
    assert [bool(trial.message) for trial in table] == [False, True, True]
    assert "interrupted" in table.trials[2].message and table["k"].tolist() == [20, 30, 40]
    assert all(m.parameters["k"] < 40.0 for m in runs)


def test_a_measure_that_raises_marks_its_design_and_the_study_goes_on():
    mech, experiment = four_bar().build(), tm.Experiment((0, 0.1), start=four_bar_start)

    def choosy(run):
        end = float(run.q[-1, 0])
        if stiffness.pop(0) == 30.0:
            raise ValueError("no peak in sight")
        return end

    stiffness = [20.0, 30.0, 40.0]
    table = tm.design_study(mech, experiment, {"k": stiffness.copy()}, {"end": "final A.q", "choosy": choosy})
    assert [bool(trial.message) for trial in table] == [False, True, False]
    assert np.isfinite(table["end"]).all() and np.isnan(table["choosy"]).tolist() == [False, True, False]
    told = table.failures[0].message
    assert told.startswith("measure 'choosy': ValueError: no peak in sight (test_designs.py, line ")
    assert table.summary == f"1 of 3 designs failed: {told}" and str(table).endswith(table.summary)


def test_a_start_function_that_raises_marks_its_design():
    def start(mech):
        if mech.parameters["k"] == 30.0:
            raise LookupError("nothing tabulated")
        return four_bar_start(mech)

    table = tm.design_study(
        four_bar().build(), tm.Experiment((0, 0.1), start=start), {"k": [30.0, 20.0, 30.0]}, ["final A.q"]
    )
    assert [bool(trial.message) for trial in table] == [True, False, True]
    assert "2 of 3 designs failed: 2 times: LookupError: nothing tabulated" in table.summary


def test_ctrl_c_in_a_measure_ends_the_study():
    def interrupted(run):
        raise KeyboardInterrupt

    mech, experiment = four_bar().build(), tm.Experiment((0, 0.1), start=four_bar_start)
    table = tm.design_study(mech, experiment, {"k": [20.0, 30.0]}, {"end": interrupted})
    assert ["interrupted" in trial.message for trial in table] == [True, True]


def test_a_table_that_cannot_be_written_leaves_the_file_as_it_was(tmp_path):
    target = tmp_path / "study.csv"
    target.write_text("the last study")
    broken = DesignTable(["a"], ["m"], [Trial({"a": 1.0}, {"m": 1.0}), Trial({})])
    with pytest.raises(KeyError):
        broken.to_csv(target)
    assert target.read_text() == "the last study" and list(tmp_path.iterdir()) == [target]
    with pytest.raises(FileNotFoundError, match="make it first"):
        DesignTable(["a"], ["m"], []).to_csv(tmp_path / "no" / "study.csv")


def test_objectives_that_cannot_be_meant_are_refused_when_they_are_made():
    mech, experiment = four_bar().build(), tm.Experiment((0, 0.1), start=four_bar_start)
    for what in ("minimum height", None, "max heigt"):
        with pytest.raises(tm.ElementError, match="not one number|neither a text|did you mean"):
            tm.Objective(mech, experiment, what, ["l"])
    with pytest.raises(tm.TreemechError, match="without parameters"):
        tm.Objective(mech, experiment, "max height", [])
    with pytest.raises(tm.TreemechError, match="1 values; wanted 2: l, k"):
        tm.Objective(mech, experiment, "max height", ["l", "k"]).value([1.0])
