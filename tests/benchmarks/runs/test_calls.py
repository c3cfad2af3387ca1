"""The run of call times gives a row for every analysis, with peers beside it where they are installed."""

import json

import pytest

from treemech.benchmarks.runs import calls


def test_a_quick_run_measures_every_analysis(tmp_path, capsys):
    pytest.importorskip("pinocchio")
    out = tmp_path / "calls.json"
    assert calls.main(["--quick", "--out", str(out)]) == 0
    result = json.loads(out.read_text())
    rows = {(row["model"], row["analysis"]): row for row in result["rows"]}
    for analysis in ("forward_dynamics", "pose", "jacobian", "reactions", "state"):
        assert rows["chain 7", analysis]["ours_us"] > 0.0
    assert rows["chain 7", "forward_dynamics"]["pinocchio_call"] == "aba"
    assert rows["A02 N = 2", "forward_dynamics"]["pinocchio_us"] > 0.0
    assert "## A02 N = 2" in capsys.readouterr().out
