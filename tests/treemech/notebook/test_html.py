"""What notebooks show: names are escaped, nothing is fetched from elsewhere."""

import re

import pytest

import treemech as tm
from treemech.notebook.completion import complete, install


@pytest.fixture(scope="module")
def made():
    system = tm.System("<script>alert(1)</script>")
    body = system.body("a<b>", 1.0, (0.1, 0.1, 0.1), com=(0, 0, -1))
    system.connect("A & B", tm.Universal(), system.ground, body)
    system.connect("k", tm.Spring(3.0), system.ground.at((0, 0, 1)), body)
    mech = system.build()
    state = mech.state(q={"A & B": [0.3, 0.1]})
    return system, mech, state, mech.simulate((0, 0.2), state)


def test_objects_show_their_names_escaped(made):
    system, mech, state, run = made
    for thing in (system, mech, state, mech.mobility(state), run):
        page = thing._repr_html_()
        own = re.sub(r'<iframe srcdoc="[^"]*"', "<iframe", page)
        assert "<script>" not in own and "a<b>" not in own and "http" not in own
    assert "a&lt;b&gt;" in system._repr_html_() and "A &amp; B[1]" in mech._repr_html_()
    assert "k: Spring" in system._repr_html_() and "k: Spring" in mech._repr_html_()
    assert "0.3, 0.1" in state._repr_html_()


def test_a_run_brings_its_animation(made):
    page = made[3]._repr_html_()
    assert page.count("<iframe") == 1 and 'sandbox="allow-scripts"' in page and "&lt;canvas" in page


def test_names_are_completed(made):
    _, mech, state, run = made
    space = {"run": run, "box": type("Box", (), {"run": run, "mech": mech})()}
    assert complete('run.connection("A', space) == ["A & B"]
    assert complete("box.run.body('", space) == ["ground", "a<b>"]
    assert "energy.total" in complete('run.plot("A & B.q", "energy.t', space)
    assert complete('box.mech.state(q={"A &', space, "&") == ["& B"]
    assert complete('run.element("', space) == ["k"]
    assert complete('nothing.connection("', space) == [] and complete("run.connection(", space) == []
    assert state._ipython_key_completions_() == ["A & B"]


def test_without_ipython_nothing_is_installed():
    import sys

    if "IPython" not in sys.modules:
        assert install() is False
