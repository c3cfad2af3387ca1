"""tm.compare: errors against a checked reference, ranking, words, what is left out and why; and its command."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

import treemech as tm
from treemech.command import main
from treemech.comparison import model_in
from treemech.results.comparison import Comparison, Reference, Row

FEW = ["relative-recursion", "relative-kkt", "nikravesh-3-sparse", "planar-partitioning"]


def tree(name="tree"):
    """Return three pendulums, two hanging on one, with a spring: a tree in space."""
    system = tm.System(name, gravity=(0, 0, -9.81))
    inertia = (0.02, 0.02, 0.005)
    a, b, c = (system.body(k, mass=1.0, com=(0, 0, -0.3), inertia=inertia) for k in "abc")
    system.connect("A", tm.Revolute(axis="y"), system.ground, a)
    system.connect("B", tm.Revolute(axis="y"), a.at((0, 0, -0.6)), b)
    system.connect("C", tm.Revolute(axis="x"), a.at((0, 0, -0.6)), c)
    system.connect(
        "S", tm.Spring(stiffness=20.0, length=1.0), system.ground.at((1, 0, 0)), b.at((0, 0, -0.6))
    )
    return system


def swinging(mech):
    return mech.state(q={"A": 0.5, "C": 0.3}, u={"B": 1.0})


@pytest.fixture(scope="module")
def of_tree():
    return tm.compare(tree(), swinging, (0, 1), [1e-3, 1e-5, 1e-7, 1e-9], FEW, ["DOP853", "Adams"], 20.0)


@pytest.fixture(scope="module")
def of_loop():
    example = tm.examples.four_bar()
    return tm.compare(
        example.system, example.state, (0, 1), [1e-4, 1e-6, 1e-8, 1e-10], FEW, ["DOP853", "RK4"], 20.0
    )


def test_the_name_is_the_function_however_it_is_loaded():
    assert callable(tm.compare) and tm.compare.__name__ == "compare" and "compare" in tm.__all__


def test_a_model_with_couplings_is_compared_from_an_assembled_start():
    system = tree("geared")
    system.couple("mesh", tm.Gear(2.0), "B", "C")
    found = tm.compare(
        system, lambda mech: mech.assemble(rates={"B": 1.0}), (0, 1), [1e-4, 1e-8], FEW, ["DOP853"], 20.0
    )
    assert {row.formulation for row in found} == {"relative-kkt", "nikravesh-3-sparse"}
    assert not found.failures and found.confirmed.error < 1e-7


# ---------------------------------------------------------------- numbers
@pytest.mark.parametrize("which", ["of_tree", "of_loop"])
def test_finer_tolerances_cost_more_and_reach_smaller_errors(which, request):
    found = request.getfixturevalue(which)
    assert not found.failures and not found.dropped
    for name in {row.label for row in found}:
        ladder = [row for row in found if row.label == name]
        assert len(ladder) == 4
        assert ladder[-1].error < 1e-7 and ladder[-1].error < 1e-2 * ladder[0].error
        assert ladder[-1].evaluations > ladder[0].evaluations > 0
        assert all(row.cpu_s > 0 and row.constraint < 1e-4 for row in ladder)


@pytest.mark.parametrize("which", ["of_tree", "of_loop"])
def test_the_reference_is_confirmed_by_another_integrator_and_by_other_equations(which, request):
    found = request.getfixturevalue(which)
    assert found.reference.checked_by.startswith("Adams") and 0 < found.reference.uncertainty < 1e-9
    assert found.confirmed.coordinates in ("Cartesian", "planar") and found.confirmed.error < 1e-8


def test_errors_are_those_of_the_run_a_user_would_write(of_tree):
    """The error of a row is recomputed from `mech.simulate` with the call it names, against scipy's DOP853."""
    row = next(r for r in of_tree if r.integrator == "Adams" and r.rtol == 1e-5)
    mech = tree().build()
    state = swinging(mech)
    times = np.linspace(0, 1, 41)
    run = eval(row.call.replace(", method", ", t_eval=times, method"))  # the call the row tells
    exact = mech.simulate((0, 1), state, method="scipy:DOP853", rtol=1e-12, atol=1e-12, t_eval=times)
    worst = max(
        max(
            np.max(np.abs(run.body(k).position - exact.body(k).position)) / scale,
            np.max(np.abs(run.body(k).rotation - exact.body(k).rotation)),
        )
        for scale in [max(1.0, *(np.max(np.linalg.norm(exact.body(k).position, axis=1)) for k in "abc"))]
        for k in "abc"
    )
    assert row.error == pytest.approx(worst, rel=1e-3) and run.statistics["evaluations"] == row.evaluations


def test_what_cannot_express_the_model_says_why(of_tree, of_loop):
    assert "is for closed chains" in of_tree.reasons["relative-kkt by DOP853"]
    assert "'C'" in of_tree.reasons["planar-partitioning by DOP853"]
    assert "is for trees" in of_loop.reasons["relative-recursion by DOP853"]
    assert of_tree.reasons["planar-partitioning by DOP853"] in of_tree.table()


def test_steps_of_a_method_without_error_control_follow_the_tolerance(of_loop):
    steps = [row.step for row in of_loop if row.integrator == "RK4"]
    assert steps == sorted(steps, reverse=True) and steps[0] > 10 * steps[-1]
    assert all(row.step is None for row in of_loop if row.integrator == "DOP853")


# ---------------------------------------------------------------- ranking and words, on rows that are known
def row(formulation, rtol, cpu, error, coordinates="relative", **more):
    return Row(formulation, coordinates, "DOP853", rtol, None, cpu, round(1e6 * (cpu or 0)), 5, error, **more)


def known(**more):
    rows = [
        row("x", 1e-4, 1e-3, 1e-7), row("x", 1e-6, 2e-3, 1e-5), row("x", 1e-8, 4e-3, 1e-8),  # a lucky hit first
        row("y", 1e-4, 2e-3, 1e-4, "Cartesian"), row("y", 1e-6, 3e-3, 1e-7, "Cartesian"),
        row("z", 1e-4, None, None, failure="it broke"),
    ]  # fmt: skip
    return Comparison(
        "m", (0.0, 1.0), Reference("DOP853", 1e-13, "Adams at rtol 1e-12", 1e-11), rows, {"w by DOP853": "no form"},
        {"y by DOP853": "at rtol 1e-08 more than 1 s"}, {"z by DOP853": "at rtol 1e-04: it broke"}, **more,
    )  # fmt: skip


def test_the_best_is_the_cheapest_that_finer_runs_confirm():
    found = known()
    assert [(r.formulation, r.rtol) for r in found.ranking(1e-6)] == [("y", 1e-6), ("x", 1e-8)]
    assert found.best(1e-3).formulation == "x" and found.best(1e-3).rtol == 1e-4
    assert found.best(5e-8).formulation == "x" and found.best(error=5e-8).rtol == 1e-8


def test_an_error_that_none_reaches_or_none_can_tell_is_refused_in_words():
    found = known()
    with pytest.raises(
        tm.TreemechError, match=r"no candidate reaches .* 1.0e-08, of x by DOP853 at rtol 1e-08"
    ):
        found.best(1e-9)
    with pytest.raises(tm.TreemechError, match="Adams at rtol 1e-12 is 1.0e-11 from the reference"):
        found.best(1e-12)
    for wrong in (0.0, -1.0, float("nan"), "small", None):
        with pytest.raises(tm.TreemechError, match="wanted a positive number"):
            found.best(wrong)
    assert "no candidate reaches" in found.verdict_at(1e-9) and "cannot be told" in found.verdict_at(1e-12)


def test_the_verdict_says_what_is_best_how_far_the_others_are_and_how_sure_that_is():
    text = known().verdict
    assert (
        "best is Cartesian coordinates, y by DOP853 at rtol 1e-06: 3 ms of CPU time, 3000 evaluations."
        in text
    )
    assert (
        "Next is x by DOP853 at rtol 1e-08, 1.33 times the time (1.3 times the evaluations, each 1 times the time)"
        in text
    )
    assert "At 1e-03: x by DOP853 at rtol 1e-04, 1 ms of CPU time." in text
    assert "from which Adams at rtol 1e-12 is 1.0e-11, and y by DOP853 (other equations) 1.0e-07" in text
    assert (
        "1 of 4 cannot express" in text and "1 of 4 were stopped for time" in text and "1 of 4 failed" in text
    )


def test_near_equal_times_are_told_as_equal():
    found = known()
    rows = [*found.rows, row("v", 1e-6, 3.1e-3, 1e-7)]
    assert "as good as equal" in replace(found, rows=rows).verdict


def test_tables_hold_every_candidate():
    found = known()
    ranked, everything = found.table().splitlines(), found.table(None).splitlines()
    assert [line.split()[0] for line in ranked] == ["formulation", "y", "x", "z", "w"]
    assert len(everything) == 1 + len(found.rows) and "it broke" in everything[-1]
    assert "no form" in ranked[-1] and "it broke" in ranked[-2]
    assert "does not reach 1e-07" in found.table(5e-8).replace("5e-08", "1e-07")
    page = found._repr_html_()
    assert page.count("<tr>") == 5 and "best is Cartesian" in page and "no form" in page
    assert "formulation" in str(found) and "best is" in str(found)


def test_without_a_check_the_verdict_says_so():
    found = replace(known(), reference=Reference("DOP853", 1e-13))
    assert "no second integrator could check" in found.verdict and found.best(1e-6).formulation == "y"


# ---------------------------------------------------------------- files
def test_rows_are_written_with_all_digits_and_refused_ones_with_their_reason(tmp_path):
    path = known().to_csv(tmp_path / "rows")
    with path.open() as stream:
        rows = list(csv.DictReader(stream))
    assert path.suffix == ".csv" and len(rows) == 7
    assert (
        float(rows[0]["error"]) == 1e-7
        and rows[-1]["failure"] == "no form"
        and rows[-1]["formulation"] == "w"
    )


def test_the_diagram_has_a_curve_for_every_candidate_with_runs(of_tree, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    axes = of_tree.plot()
    told = [text.get_text() for text in axes.get_legend().get_texts()]
    assert set(told) == {row.label for row in of_tree} | {"uncertainty of the reference"}
    line = next(one for one in axes.lines if one.get_label() == told[0])
    mine = sorted(row.error for row in of_tree if row.label == told[0])
    assert np.allclose(line.get_xdata(), mine) and axes.get_xscale() == axes.get_yscale() == "log"
    own = pyplot.figure().subplots()
    assert of_tree.plot(axes=own, most=1) is own and len(own.lines) == 2
    pyplot.close("all")
    of_tree.plot(tmp_path / "work")
    assert (tmp_path / "work.png").stat().st_size > 5000 and not pyplot.get_fignums()


# ---------------------------------------------------------------- what goes wrong
def test_candidates_out_of_time_are_named_and_the_others_stay(monkeypatch):
    from treemech.benchmarks.runs import own_model

    slow, run = [], own_model.ByEngine.run

    def counted(self, setting, allowed):
        if self.method == "DP5":
            slow.append(setting)
            raise own_model.TooSlow
        return run(self, setting, allowed)

    monkeypatch.setattr(own_model.ByEngine, "run", counted)
    monkeypatch.setattr(own_model.ByEngine, "warm_up", lambda self: None)
    found = tm.compare(
        tree(), swinging, (0, 0.5), [1e-4, 1e-6], "relative-recursion", ["DP5", "DOP853"], 20.0
    )
    assert "at rtol 1e-04 more than" in found.dropped["relative-recursion by DP5"] and set(slow) == {1e-4}
    assert found.best(1e-4).integrator == "DOP853" and "left out for time" in found.verdict


def test_a_candidate_that_fails_does_not_lose_the_others(monkeypatch):
    from treemech.benchmarks.runs import own_model

    def broken(self, kind, task):
        raise ZeroDivisionError("no luck")

    monkeypatch.setattr(own_model.ByFormulation, "__init__", broken)
    found = tm.compare(tree(), swinging, (0, 0.5), [1e-4, 1e-6], FEW[:3], "DOP853", 20.0)
    assert found.failures == {"nikravesh-3-sparse by DOP853": "ZeroDivisionError: no luck"}
    assert found.best(1e-3).formulation == "relative-recursion"


def test_an_interrupt_keeps_what_is_there(monkeypatch):
    from treemech.benchmarks.runs import own_model

    def interrupted(self, setting, allowed):
        raise KeyboardInterrupt

    monkeypatch.setattr(own_model.ByFormulation, "run", interrupted)
    found = tm.compare(tree(), swinging, (0, 0.5), [1e-4], FEW[:3], "DOP853", 20.0)
    assert found.dropped == {"nikravesh-3-sparse by DOP853": "the comparison was interrupted"}
    assert len(found) == 1 and "relative-kkt by DOP853" in found.reasons


def test_time_left_over_goes_to_those_that_were_stopped(monkeypatch):
    from treemech.benchmarks.runs import own_model

    shares, go = {}, own_model.Climb.go

    def short_at_first(self, exact, share, budget, result):
        seen = shares.setdefault(self.candidate.label, [])
        seen.append(share)
        go(self, exact, share if len(seen) > 1 else 0.0, budget, result)

    monkeypatch.setattr(own_model.Climb, "go", short_at_first)
    found = tm.compare(tree(), swinging, (0, 0.5), [1e-4, 1e-6], FEW[0], ["DOP853", "DP5"], 20.0)
    assert not found.dropped and len(found) == 4 and all(len(seen) == 2 for seen in shares.values())


def test_a_motion_that_takes_too_long_is_refused_with_what_to_do():
    with pytest.raises(tm.TreemechError, match="no reference motion of 'tree'.*shorter time"):
        tm.compare(tree(), swinging, (0, 1e5), seconds=0.04)


@pytest.mark.parametrize(
    "arguments, says",
    [
        ({"t_span": (1, 1)}, "t_span"), ({"t_span": 3}, "t_span"), ({"t_span": (0, float("inf"))}, "t_span"), ({"rtols": [2.0]}, "rtols"),
        ({"rtols": []}, "rtols"), ({"rtols": "fine"}, "rtols"), ({"formulations": "nikravsh"}, "nikravsh"), ({"formulations": [3]}, "wanted names"),
        ({"integrators": "DOP835"}, "did you mean 'DOP853'"), ({"seconds": 0}, "seconds"), ({"seconds": "long"}, "seconds"),
        ({"points": 1}, "points"), ({"points": 2.5}, "points"), ({"state": 3}, "the start is int"), ({"state": lambda mech: 3}, "returned int"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused_by_name(arguments, says):
    with pytest.raises(tm.TreemechError, match=says):
        tm.compare(tree(), **arguments)


def test_what_is_no_system_or_no_state_of_it_is_refused():
    with pytest.raises(tm.TreemechError, match="not a Mechanism"):
        tm.compare(tree().build())
    with pytest.raises(tm.TreemechError, match="wanted a System"):
        tm.compare("tree")
    with pytest.raises(tm.TreemechError, match="another mechanism"):
        tm.compare(tree(), tm.examples.four_bar().state)


# ---------------------------------------------------------------- the command
MODEL = """
import treemech as tm

DURATION = 0.5


def system():
    made = tm.System("pendulum", gravity=(0, 0, -9.81))
    rod = made.body("rod", mass=1.0, com=(0, 0, -0.3), inertia=(0.02, 0.02, 0.005))
    made.connect("A", tm.Revolute(axis="y"), made.ground, rod)
    return made


def state(mech):
    return mech.state(q={"A": 1.0})
"""
QUICK = [
    "--formulation",
    "relative-recursion",
    "nikravesh-3-sparse",
    "--integrator",
    "DOP853",
    "--rtol",
    "1e-5",
    "1e-8",
]


@pytest.fixture
def model(tmp_path):
    (tmp_path / "my_model.py").write_text(MODEL)
    return tmp_path / "my_model.py"


def test_the_command_compares_a_file(model, tmp_path, capsys):
    assert main(["compare", str(model), *QUICK, "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    assert (
        "pendulum, 0 to 0.5 s, error 1e-06: best is relative coordinates" in said.out
        and "nikravesh-3-sparse" in said.out
    )
    assert (tmp_path / "out" / "compare.csv").exists() and "compare" in said.err


def test_the_command_takes_saved_models_starts_and_times(model, tmp_path, capsys):
    saved = model_in(model)[0].save(tmp_path / "model.json")
    arguments = [
        "compare",
        str(saved),
        *QUICK,
        "--time",
        "0",
        "0.2",
        "--start",
        "A=0.3",
        "A.u=2",
        "--all",
        "--json",
    ]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["t_span"] == [0.0, 0.2] and len(found["rows"]) == 4
    assert found["reference"]["uncertainty"] < 1e-9 and found["rows"][1]["error"] < 1e-6


ROBOT = """<robot name="swing">
  <link name="base"/>
  <link name="rod"><inertial><origin xyz="0 0 -0.3"/><mass value="1"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.005" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="pivot" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint>
</robot>"""


def test_the_command_takes_robots(tmp_path, capsys):
    (tmp_path / "swing.urdf").write_text(ROBOT)
    assert (
        main(["compare", str(tmp_path / "swing.urdf"), *QUICK, "--time", "0", "0.2", "--start", "pivot=0.3"])
        == 0
    )
    assert "swing, 0 to 0.2 s, error 1e-06: best is relative" in capsys.readouterr().out


def test_the_command_says_no_if_none_reaches_the_error(model, capsys):
    assert main(["compare", str(model), *QUICK[:-1], "1e-4", "--error", "1e-8"]) == 1
    assert "no candidate reaches an error of 1.0e-08" in capsys.readouterr().out
    assert main(["compare", str(model), *QUICK, "--error", "1e-15"]) == 1
    assert "cannot be told" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text, says",
    [
        ("x = 1", "has no `system`"), ("system = 3", "`system` is int"), ("def system():\n    return 3", "`system` is int"),
        ("def system():\n    raise ValueError('no')", "ValueError: no"), ("import nowhere_at_all", "cannot be imported"),
        (MODEL.replace("0.5", "-1", 1), "DURATION"),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_model_is_refused(text, says, tmp_path, capsys):
    file = tmp_path / "wrong_model.py"
    file.write_text(text)
    assert main(["compare", str(file)]) == 2
    assert says in capsys.readouterr().err


def test_a_missing_file_a_run_and_a_wrong_start_are_refused(model, tmp_path, capsys):
    assert main(["compare", str(tmp_path / "nowhere.py")]) == 2
    assert main(["compare", str(tmp_path / "nowhere.json")]) == 2
    assert main(["compare", str(model), "--start", "A:3"]) == 2
    assert "NAME=VALUE" in capsys.readouterr().err
    assert main(["compare", str(model), "--start", "X=3"]) == 2
    assert "'X'" in capsys.readouterr().err
    mech = model_in(model)[0].build()
    saved = mech.simulate((0, 0.1)).save(tmp_path / "run")
    with pytest.raises(tm.TreemechError, match="holds a Run"):
        model_in(saved)
