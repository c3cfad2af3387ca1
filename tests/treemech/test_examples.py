"""Every example, whoever wrote it: it runs to its end, keeps its constraints, energies and known values, however it is cut.

A file of benchmarks/problems is tested by being there; tests/benchmarks/problems holds those with a reference to more.
"""

import ast
import re
import warnings
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import treemech as tm
from treemech.plots.signals import signals as signals_of
from treemech.system import System

CLOSED = (
    1e-9  # constraints in their own units [m, rad]; outputs are projected on them, so roundoff and a margin
)
BALANCE = 3e-6  # of the energy of the motion, at the tolerance the example asks for
SHARE = 0.02  # of the run compared for another cut: where motions are chaotic, later parts only show how fast roundoff grows


@cache
def example(name):
    return tm.examples.find(name)


def named(slow_too=True):
    return [
        pytest.param(name, marks=[pytest.mark.slow] if example(name).slow else [])
        for name in dir(tm.examples)
    ]


@pytest.mark.parametrize("name", named())
def test_it_runs_to_its_end(name):
    ex = example(name)
    run = ex.run()
    assert run.success, run.message
    assert np.all(np.isfinite(run.q)) and np.all(np.isfinite(run.u)) and len(run.t) > 1
    assert len(ex.description) > 40 and ex.description[0].isupper()
    told = re.search(
        r"\b(printed|prints|recomputed|chosen|ours?|data|test set)\b", ex.description, re.IGNORECASE
    )
    assert told, "say where its numbers come from"


@pytest.mark.parametrize("name", named())
def test_its_constraints_hold(name):
    ex = example(name)
    residual = ex.run().residual
    reach = max(1.0, float(np.max(np.abs(ex.run().q), initial=0.0)))
    rate = max(1.0, float(np.max(np.abs(ex.run().u), initial=0.0)))
    assert np.max(residual.position, initial=0.0) < CLOSED * reach
    assert np.max(residual.velocity, initial=0.0) < CLOSED * rate


@pytest.mark.parametrize("name", named())
def test_its_power_balance_closes(name):
    imbalance = example(name).imbalance()
    if np.isnan(imbalance):
        pytest.skip("events change the state, or its own run keeps no audit")
    assert imbalance < BALANCE


@pytest.mark.parametrize("name", named())
def test_its_known_values_are_reached(name):
    ex = example(name)
    assert not set(ex.known) - set(ex.measured())
    far = {key: part for key, part in ex.deviations().items() if not part <= 1.0}
    assert not far, f"deviations as parts of what is allowed: {far}"
    for key, known in ex.known.items():
        assert known.source and 0.0 < known.tolerance < np.inf, key


def cut_elsewhere(ex):
    """Yield mechanisms of the same system with another hinge cut; where the file says which, in place of one of those."""
    mech = ex.mechanism
    cut, original = {c.name for c in mech.tree.chords}, System.connect
    said = [c.name for c in mech.tree.chords if c.role == "chord"]
    hinges = [b.connection for b in reversed(mech.tree.branches)]
    for hinge, spared in product(hinges, said or [None]):
        if hinge.role is not None or hinge.stays_branch:
            continue

        def connect(self, name, *arguments, chosen=hinge.name, spared=spared, **options):
            if name in (chosen, spared):
                options["role"] = "chord" if name == chosen else None
            return original(self, name, *arguments, **options)

        try:
            System.connect = connect
            other = ex._module.system().build(free_isolated=False)
        except tm.TreemechError:
            continue  # a bridge: the tree would fall apart
        finally:
            System.connect = original
        if {c.name for c in other.tree.chords} != cut and len(other.tree.chords) == len(cut):
            yield other


@pytest.mark.parametrize("name", named())
def test_another_cut_gives_the_same_motion(name):
    ex = example(name)
    if not any(c.is_hinge for c in ex.mechanism.tree.chords):
        pytest.skip("nothing to choose: no hinge is cut")
    other = next(cut_elsewhere(ex), None)
    if other is None:
        pytest.skip("no other hinge can be cut")
    span = SHARE * ex.duration
    options = ex.options | {"t_eval": np.linspace(0.0, span, 5), "audit": False}
    start = ex._module.state(other, *([ex.case] if ex.case else []))
    ours, theirs = (
        m.simulate((0.0, span), s, **options) for m, s in ((ex.mechanism, ex.state), (other, start))
    )
    for body in ex.mechanism.info.bodies[1:]:
        a, b = ours.body(body.name), theirs.body(body.name)
        size = 1.0 + np.max(np.abs(a.position))
        np.testing.assert_allclose(b.position, a.position, rtol=0, atol=1e-7 * size, err_msg=body.name)
        np.testing.assert_allclose(b.rotation, a.rotation, rtol=0, atol=1e-7, err_msg=body.name)


def test_examples_are_found_by_name_and_take_parameters():
    assert "four_bar" in dir(tm.examples)
    ex = tm.examples.four_bar(stiffness=60.0)
    assert ex.system.name == "four-bar" and ex.group == "mechanisms" and not ex.known
    assert "cosine rule" in tm.examples.four_bar.__doc__
    with pytest.raises(AttributeError, match="did you mean 'four_bar'"):
        tm.examples.four_bars
    with pytest.raises(tm.TreemechError, match="did you mean 'four_bar'"):
        tm.examples.find("fourbar")
    with pytest.raises(tm.TreemechError, match="did you mean 'stiffness'"):
        tm.examples.four_bar(stifness=60.0)
    with pytest.raises(tm.TreemechError, match="case"):
        tm.examples.four_bar(case="fast")


def test_a_spring_of_other_stiffness_gives_another_motion_and_a_damper_loses_energy():
    ex = tm.examples.four_bar(damping=0.5)
    run = ex.run()
    assert run.energy.total[-1] < run.energy.total[0] - 0.01
    assert ex.imbalance() < BALANCE
    assert not np.allclose(run.q[-1], example("four_bar").run().q[-1])


@pytest.mark.parametrize("name", named())
def test_it_can_be_looked_at(name):
    """Enough states for an animation, and something to plot."""
    ex = example(name)
    assert len(ex.run().t) > 20 and ex.plots
    for label in {label for signals in ex.plots for label in signals}:
        curves = signals_of(ex.run(), label)
        assert curves and all(np.all(np.isfinite(curve.values)) for curve in curves), label


def test_known_values_are_told_in_one_line_each_and_long_sources_once():
    text = example("me751_driven_pendulum").table()
    assert "[[ 6.761684, 5.854881], [ -9.141117, 15.376605]" in text
    text = example("a01_simple_pendulum").table()
    source = example("a01_simple_pendulum").known["period"].source
    assert text.count(source) == 1 and f"[1] {source}" in text.splitlines()
    assert max(len(line) for line in text.splitlines() if not line.startswith("[1]")) < 160


def test_a_wrong_value_is_seen(monkeypatch):
    ex = tm.examples.four_bar()
    monkeypatch.setitem(
        ex._module.KNOWN, "crank, first acceleration", (-26.65, 1e-4, "wrong in the third decimal")
    )
    assert ex.deviations()["crank, first acceleration"] > 10.0


@pytest.mark.parametrize("parameters", [{"rpm": 1500.0}, {"films": False}])
def test_another_pump_is_written_too(parameters, tmp_path):
    """What a parameter takes out of the model is not drawn: without films there is no bearing."""
    ex = tm.examples.pump(**parameters)
    assert "plunger" in ex.table()
    assert {path.suffix for path, _ in ex.save(tmp_path)} >= {".html", ".txt"}


def test_results_are_written(tmp_path):
    ex = example("four_bar")
    written = ex.save(tmp_path / "new")
    assert {path.name for path, _ in written} >= {"four_bar.html", "four_bar.txt"}
    assert all(path.stat().st_size for path, _ in written)
    assert "Eksergian" in (tmp_path / "new" / "four_bar.txt").read_text()


def test_an_example_with_few_known_times_is_shown_as_it_moves(tmp_path):
    """The times of its four known values alone would give an animation that jumps."""
    ex = example("double_pendulum")
    assert len(ex._problem.times()) < 10 < 500 < len(ex.run().t)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ex.save(tmp_path)


def model_lines(module):
    """Return how many lines describe the model: the function `system` and those of its file that it needs, without docstrings."""
    source = Path(module.__file__).read_text(encoding="utf-8").splitlines()
    own = {
        node.name: node
        for node in ast.parse("\n".join(source)).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
    lines, open_, seen = set(), ["system"], set()
    while open_:
        node = own.get(open_.pop())
        if node is None or node.name in seen:
            continue
        seen.add(node.name)
        documented = ast.get_docstring(node) is not None
        said = range(node.body[0].lineno, node.body[0].end_lineno + 1) if documented else ()
        lines |= set(range(node.lineno, node.end_lineno + 1)) - set(said)
        open_ += [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
    return sum(bool(source[n - 1].strip()) and not source[n - 1].strip().startswith("#") for n in lines)


@pytest.mark.parametrize("name", dir(tm.examples))
def test_its_model_is_read_top_to_bottom(name):
    """People copy examples: at most 60 lines of model, with the helpers of the same file."""
    assert 1 <= model_lines(example(name)._module) <= 60
