"""The comparison of formulations: it runs, writes, and says what goes wrong."""

import csv
import json

import pytest

from tests.support.places import ROOT
from treemech.benchmarks import page
from treemech.benchmarks.__main__ import main
from treemech.benchmarks.families.loops import GROWTH
from treemech.benchmarks.formulations import formulations
from treemech.benchmarks.runs import compare

TWO = ("relative-recursion", "nikravesh-3-sparse")


def test_a_small_comparison_writes_what_it_found(tmp_path, capsys):
    arguments = [
        "compare",
        "--problem",
        "double_pendulum",
        "--formulation",
        *TWO,
        "relative-kkt",
        "--rtol",
        "1e-6",
        "1e-9",
    ]
    assert main([*arguments, "--jobs", "1", "--out", str(tmp_path)]) == 0
    result = json.loads((tmp_path / "compare.json").read_text())
    rows = {row["formulation"]: row for row in result["problems"][0]["rows"]}
    assert result["problems"][0]["published"] < 1e-8
    for name in TWO:
        coarse, fine = rows[name]["cells"]
        assert fine["error"] < 1e-7 < 1e-2 and fine["error"] < coarse["error"]
        assert (
            fine["cpu_s"] > 0 and fine["evaluations"] > coarse["evaluations"] and fine["energy_drift"] < 1e-7
        )
    assert "is for closed chains" in rows["relative-kkt"]["failure"]
    with (tmp_path / "compare.csv").open() as stream:
        assert len(list(csv.DictReader(stream))) == 5
    assert (tmp_path / "work_double_pendulum.png").stat().st_size > 5000
    printed = capsys.readouterr()
    assert "nikravesh-3-sparse" in printed.out and "1/1" in printed.err


def test_a_cell_that_takes_too_long_says_so():
    found = compare.run_problem("double_pendulum", ("index-3-alpha",), (1e-4, 1e-12), 0.02)
    cells = found["rows"][0]["cells"]
    assert "more than 0.02 s" in cells[-1]["failure"] and cells[-1]["error"] is None


def test_an_unknown_name_is_refused_with_those_there_are(capsys):
    assert main(["compare", "--problem", "double_pendulm"]) == 2
    assert "double_pendulum" in capsys.readouterr().err


def test_list_names_everything(capsys):
    assert main(["compare", "--list"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in [*formulations(), *GROWTH, "haug_quick_return"])


def test_growth_is_measured_and_reported(tmp_path):
    found = compare.run_growth("chain", TWO, 16)
    for name in TWO:
        curve = found["curves"][name]
        assert [p["bodies"] for p in curve["points"]] == [4, 8, 16]
        assert curve["exponent"] is not None and curve["exponent"] < 2.0
    text = compare.report({
        "machine": {"cpu": "x", "cores": 2, "versions": {}}, "allowed_s": 1, "wall_s": 1, "problems": [], "growth": [found]
    })  # fmt: skip
    assert "exponent" in text and "relative-recursion" in text


def test_assembly_above_two_factorisations_is_reported_with_its_reason():
    rows = [
        {"formulation": name, "work": {"assembly": ratio, "factorization": 1.0}} for name, ratio in (("a", 1.9), ("b", 2.5))
    ]  # fmt: skip
    result = {"problems": [{"problem": "p", "rows": rows}], "assembly_notes": {"b": "small matrix"}}
    assert compare.assembly_lines(result) == "- b (small matrix): p 2.5"


def test_the_time_to_an_error_counts_only_what_finer_runs_confirm():
    def row(*pairs):
        return {"cells": [{"error": e, "cpu_s": c, "failure": ""} for e, c in pairs]}

    assert compare.to_target(row((1e-3, 1.0), (1e-7, 2.0), (1e-4, 3.0))) is None
    assert compare.to_target(row((1e-7, 1.0), (1e-8, 2.0))) == 1.0
    assert compare.to_target(row((1e-7, 1.0), (None, 2.0))) is None


def test_page_keeps_what_stands_around_its_tables():
    text = page.filled(
        "# A\n<!-- t -->\nold\n<!-- end -->\nrest <!-- s --><!-- end -->", {"t": "new", "s": "two"}
    )
    assert (
        text.startswith("# A\n<!-- t -->\n\nnew") and "old" not in text and "rest" in text and "two" in text
    )
    with pytest.raises(ValueError, match="other"):
        page.filled(text, {"other": "x"})


def test_page_of_the_documentation_has_places_for_all_tables():

    text = (ROOT / "docs" / "formulations.md").read_text()
    for name in ("machine", "target", "cost", "exponents", "growth", "peers"):
        assert f"<!-- {name} -->" in text


# ---------------------------------------------------------------- what it guards
@pytest.mark.slow
@pytest.mark.parametrize("family, name, most", [
    ("chain", "relative-recursion", 1.2), ("N-four-bar", "relative-kkt", 1.25), ("binary tree", "relative-recursion", 1.2),
])  # fmt: skip
def test_recursion_and_sparse_loops_grow_linearly(family, name, most):
    for _ in range(3):  # a busy machine gets three attempts
        found = compare.run_growth(family, (name,), 10**6)["curves"][name]["exponent"]
        if found < most:
            return
    raise AssertionError(found)
