"""The gallery in the table of the reference problems; tests/treemech/test_examples.py holds every example itself."""

import json

import treemech as tm
from treemech.benchmarks.problems.mechanisms.haug import haug_rack_and_pinion as rack
from treemech.benchmarks.runs import reference
from treemech.benchmarks.runs.gallery import gallery, hold, table


def test_every_example_with_known_values_is_in_the_gallery():
    names = gallery()
    assert (
        {"four_bar", "haug_governor", "car_axis", "haug_slider_crank"} <= set(names) <= set(dir(tm.examples))
    )
    assert "heavy_top" not in names  # a reference alone


def test_an_example_is_run_and_compared(tmp_path, capsys):
    out = tmp_path / "gallery.json"
    assert reference.main(["--problem", "haug_rack_and_pinion", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "haug_rack_and_pinion" in printed and "nearest to its limit" in printed
    (held,) = json.loads(out.read_text())["gallery"]
    assert held["passed"] and held["quantities"] == len(rack.KNOWN) and 0.0 < held["worst"] < 1.0


def test_a_missed_value_and_a_run_that_breaks_are_told(capsys, monkeypatch):
    known = "rates of rack and pinion"
    monkeypatch.setitem(rack.KNOWN, known, ((0.0968246, -1.4523), 6e-8, "misread"))
    assert reference.main(["--problem", "haug_rack_and_pinion"]) == 1
    assert f"{known}  MISSED" in capsys.readouterr().out
    monkeypatch.setitem(rack.KNOWN, "teeth", (20, 1, "nowhere"))
    assert "offers nothing for teeth" in hold("haug_rack_and_pinion").failure

    def broken(mech):
        raise tm.ElementError("no such luck")

    monkeypatch.setattr(rack, "state", broken)
    assert "FAILED: ElementError: no such luck" in table([hold("haug_rack_and_pinion")])
