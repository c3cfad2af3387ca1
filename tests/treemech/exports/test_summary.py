"""The summary of a model: the numbers are those of the model, in Markdown and LaTeX."""

import re

import pytest

import treemech as tm
from tests.support import parametric


def test_the_tables_tell_bodies_chords_and_sizes():
    mech = parametric.four_bar().build()
    text = str(mech.summary())
    assert (
        "| degrees of freedom | 1 |" in text and "| parameters" not in text.lower().split("## parameters")[0]
    )
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert any("| coupler | 3 | 1.5, 0, 0.2 | 0, 2.25, 2.25, 0, 0, 0 |" == row for row in rows)
    assert sum(row.endswith("| branch | 1 |") for row in rows) == 3
    assert sum("| chord |" in row for row in rows) == 1 and "| spring | Spring |" in text
    assert f"A {mech.nu} x {mech.nu}" in text


def test_latex_is_balanced_and_escaped():
    system = tm.System("a_b & 50%")
    system.connect("x_1", tm.Revolute("z"), system.ground, system.body("b#", 1.0, (1, 1, 1)))
    text = str(system.build().summary("latex"))
    assert r"a\_b \& 50\%" in text and r"x\_1" in text and r"b\#" in text
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") >= 3
    for part in re.findall(r"\\begin\{tabular\}\{(l+)\}\n(.*?)\\end", text, re.S):
        assert all(
            row.replace(r"\&", "").count("&") == len(part[0]) - 1
            for row in part[1].splitlines()
            if row != r"\hline"
        )


def test_the_pump_has_a_summary():
    assert "degrees of freedom" in str(tm.examples.pump().mechanism.summary())


def test_another_style_is_refused():
    with pytest.raises(tm.TreemechError, match="'markdown' or 'latex'"):
        parametric.four_bar().build().summary("html")
