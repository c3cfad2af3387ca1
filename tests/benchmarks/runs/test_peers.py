"""The same problems in other libraries: they move alike, and what is missing is said."""

import math

import numpy as np
import pytest

from treemech.benchmarks.runs import peers


@pytest.mark.parametrize(
    "tool, package", [("treemech", "treemech"), ("Pinocchio", "pinocchio"), ("MuJoCo", "mujoco")]
)
def test_peers_move_the_four_bar_alike(tool, package):
    pytest.importorskip(package)
    found = peers.run_one(tool, "four-bar", 0.3, repeats=1)
    assert not found["failure"] and min(r["error"] for r in found["ladder"] if r["error"] is not None) < 1e-4
    assert found["build_s"] > 0 and math.isfinite(found["first_run_s"])


def test_drake_moves_a_tree_alike_and_a_closed_chain_to_first_order():
    pytest.importorskip("pydrake")
    tree = peers.run_one("Drake", "double pendulum", 1.0, repeats=1)
    assert tree["kind"] == "rtol" and min(r["error"] for r in tree["ladder"]) < 1e-8
    loop = peers.run_one("Drake", "A02 N = 2", 0.3, repeats=1)
    errors = [r["error"] for r in loop["ladder"] if r["error"] is not None]
    assert loop["kind"] == "step" and errors[-1] < 0.5 * errors[0] < 0.01
    assert loop["cpu_s"] is None and "first order" in loop["note"]
    text = peers.report({
        "machine": {"cpu": "x", "cores": 2, "versions": {}}, "allowed_s": 1, "rows": [loop], "missing": {}
    })  # fmt: skip
    assert "does not reach 1e-6" in text


def test_drake_has_the_same_equations():
    pytest.importorskip("pydrake")
    from treemech.benchmarks.families.trees import hanging_chain, random_states
    from treemech.benchmarks.peers.drake import DrakeModel

    mech = hanging_chain(4).build()
    model = DrakeModel(mech)
    q, u, ud = (x[0] for x in random_states(mech, 1))
    np.testing.assert_allclose(model.inverse_dynamics(q, u, ud), mech.inverse_dynamics((q, u), ud), rtol=1e-9)
    np.testing.assert_allclose(model.positions(q)[0], mech.attitude((q, u)).position, atol=1e-12)


def test_a_peer_that_is_not_installed_is_skipped_with_a_line(monkeypatch):
    def absent(model, allowed):
        raise ImportError("no module")

    monkeypatch.setitem(peers.TOOLS, "Drake", (absent, "rtol"))
    found = peers.run_one("Drake", "double pendulum", 0.1)
    assert found["failure"].startswith("not installed")
    text = peers.report({
        "machine": {"cpu": "x", "cores": 2, "versions": {}}, "allowed_s": 1, "rows": [], "missing": {"Drake": found["failure"]}
    })  # fmt: skip
    assert "Drake was skipped" in text


def test_every_tool_runs_in_a_process_of_its_own():
    lines = []
    result = peers.measure(["double pendulum"], ["treemech"], 0.2, lines.append)
    (row,) = result["rows"]
    assert lines == ["double pendulum: treemech"] and not row["failure"]
    assert min(rung["error"] for rung in row["ladder"]) < 1e-8
