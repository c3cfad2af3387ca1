"""Progress of long work: a bar with the time that is left, tqdm's where it is installed, or the user's own function."""

import sys

import numpy as np
import pytest

import treemech as tm
from tests.support.driven import four_bar
from tests.support.parametric import four_bar as parametric_four_bar
from tests.support.parametric import four_bar_start


def test_without_tqdm_a_bar_shows_how_far_it_is_and_what_is_left(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    mech, start = four_bar()
    run = mech.simulate((0, 2), start, progress=True)
    told = capsys.readouterr().err
    assert (
        run.success and "four-bar [" in told and "100%" in told and "s left" in told and told.endswith("\n")
    )


def test_with_tqdm_the_bar_is_tqdms(monkeypatch, capsys):
    tqdm = pytest.importorskip("tqdm")
    made, own = [], tqdm.tqdm

    class Bar(own):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            made.append(self)

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    mech, start = four_bar()
    run = mech.simulate((0, 2), start, progress=True)
    assert run.success and len(made) == 1 and made[0].n == pytest.approx(1.0)
    assert "four-bar" in capsys.readouterr().err


def test_a_function_gets_fractions_that_rise_to_one(capsys):
    mech, start = four_bar()
    seen = []
    mech.simulate((0, 2), start, progress=seen.append)
    assert np.all(np.diff(seen) >= 0.0) and seen[-1] == pytest.approx(1.0) and 0.0 <= seen[0]
    mech.simulate((0, 2), start, progress=False)
    assert capsys.readouterr().err == ""


def test_a_study_shows_its_progress(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    mech, swing = parametric_four_bar().build(), tm.Experiment((0, 0.1), start=four_bar_start)
    tm.design_study(mech, swing, {"k": [20.0, 30.0]}, ["final A.q"], progress=True)
    assert "100%" in capsys.readouterr().err
