"""The pump's benchmark: its figures are drawn, its tables printed; (slow) it is ten times as fast as scipy's Radau."""

import numpy as np
import pytest

from treemech.benchmarks.problems.machines import pump
from treemech.benchmarks.runs import pump as runs


def test_slip_changes_its_sign_later_with_a_heavier_roller():
    light, heavy = (runs.slip_row(runs.simulate(1.0, 360, spin=spin)) for spin in (0.5, 2.0))
    assert heavy["line ends"] > light["line ends"] > 0.0 > light["most backwards"] > heavy["most backwards"]


def test_the_kinematic_run_covers_the_lift():
    turn, run = runs.kinematic_run(81)
    assert run.success
    assert (turn[0], turn[-1]) == (100.0, 260.0)
    assert np.max(run.connection("plunger").q) == pytest.approx(pump.LIFT)


def test_figures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    assert [path.name for path in runs.figures(tmp_path)] == [
        "pump-9-6.png",
        "pump-9-7.png",
        "pump-9-10.png",
        "pump-9-11.png",
    ]
    assert all(path.stat().st_size > 10_000 for path in tmp_path.iterdir())


@pytest.mark.slow
def test_scipys_radau_takes_ten_times_as_long_to_the_same_error():
    rows = runs.measure(ours=(1e-6,), scipy=(1e-8, 1e-9, 1e-10), repeats=1)
    assert rows[0]["scipy's error"] <= rows[0]["error"] < 1e-3
    assert rows[0]["ratio"] > 10.0


@pytest.mark.slow
def test_tables_are_printed(capsys, monkeypatch):
    monkeypatch.setattr(runs, "measure", lambda repeats: [{"ratio": 1.0}])
    assert runs.main([]) == 0
    printed = capsys.readouterr().out
    assert "roller at the top" in printed and "changes sign" in printed and "ratio 1" in printed
