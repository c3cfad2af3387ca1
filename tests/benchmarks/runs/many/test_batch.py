"""The run of batches gives states, steps and runs, with peers beside them."""

import json

import pytest

from treemech.benchmarks.runs.many import batch


def test_a_quick_run_measures_states_steps_and_runs(tmp_path, capsys):
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    out = tmp_path / "batch.json"
    assert batch.main(["--quick", "--out", str(out)]) == 0
    result = json.loads(out.read_text())
    rows = {(row["model"], row["what"]): row for row in result["states"]}
    assert rows["chain 7", "forward dynamics"]["pin.abaInParallel"] > 0.0
    assert (
        rows["chain 7", "RK4 step"]["mujoco.rollout"] > 0.0
        and rows["A02 N = 2", "RK4 step"]["treemech"] > 0.0
    )
    own = rows[batch.OWN, "RK4 step"]
    assert own["treemech"] > 0.0 and own["row by row"] > 0.0
    assert result["runs"][0]["mujoco.rollout"] > 0.0 and result["growth"][0]["failed"] == 0
    assert "## growth" in capsys.readouterr().out
