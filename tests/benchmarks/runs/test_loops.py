"""The benchmark of closed chains: its exact answer, its bookkeeping, and (slow) what it is there to guard."""

import json

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from treemech.benchmarks.__main__ import main
from treemech.benchmarks.peers import loops as peers_loops
from treemech.benchmarks.problems.mechanisms.a02_double_four_bar import (
    exact_angle,
    exact_motion,
    exact_position,
    four_bars,
    state,
)
from treemech.benchmarks.runs import loops

CONVERGED = 1e-10  # of DOP853 at rtol 1e-13 over 10 s
PARALLEL = 1e-9  # rad; roundoff magnified next to a singular position


@pytest.mark.parametrize("windows", [1, 2, 10, 40, 200])
def test_exact_answer_solves_the_equation_of_the_pendulum(windows):
    k = 3 * 9.81 * (3 * windows + 1) / (8 * windows + 2)
    found = solve_ivp(
        lambda t, y: [y[1], k * np.sin(y[0])],
        (0, 10),
        [0, 1],
        "DOP853",
        [0.5, 3.0, 10.0],
        rtol=1e-13,
        atol=1e-14,
    )
    for t, phi in zip(found.t, found.y[0], strict=True):
        assert abs(exact_angle(windows, t) - phi) < CONVERGED


@pytest.mark.parametrize("windows", [1, 2, 40])
@pytest.mark.parametrize("hanging", [False, True])
def test_exact_rates_are_those_of_the_exact_angle(windows, hanging):
    k = 3 * 9.81 * (3 * windows + 1) / (8 * windows + 2) * (-1 if hanging else 1)
    assert exact_motion(windows, 0.0, hanging) == pytest.approx((0.0, 1.0), abs=1e-12)
    for t in (0.3, 2.0, 9.0, 20.0):
        phi, rate = exact_motion(windows, t, hanging)
        assert rate**2 == pytest.approx(1.0 + 2.0 * k * (1.0 - np.cos(phi)), rel=1e-9, abs=1e-9)
        ahead, back = (exact_angle(windows, t + h, hanging) for h in (1e-5, -1e-5))
        assert (ahead - back) / 2e-5 == pytest.approx(rate, rel=1e-7, abs=1e-7)


def test_hanging_bars_swing_as_the_exact_answer_says():
    mech = four_bars(3, True).build()
    run = mech.simulate((0.0, 10.0), state(mech), rtol=1e-10, atol=1e-10, t_eval=[4.0, 10.0])
    for t, angle in zip(run.t, -run.q[:, 0], strict=True):
        assert abs(angle - exact_angle(3, t, True)) < 1e-7


def test_official_terms_count_all_outputs():
    found = loops.official(2, 2.0, 100, 1e-3, (1e-1, 1e-3))
    assert [row["wanted"] for row in found] == [1e-1, 1e-3]
    assert all(row["error"] <= row["wanted"] and row["cpu_s"] > 0.0 for row in found)
    assert found[0]["rtol"] >= found[1]["rtol"]


@pytest.mark.parametrize("windows", [1, 3, 10])
def test_equation_of_the_pendulum_is_that_of_the_mechanism(windows):
    mech = four_bars(windows).build()
    k = 3 * 9.81 * (3 * windows + 1) / (8 * windows + 2)
    for phi in np.random.default_rng(windows).uniform(-1.2, 1.2, 4):
        guess = {f"A{i}": -phi for i in range(1, windows + 1)} | {f"B{i}": phi for i in range(windows)}
        closed = mech.assemble(fix={"A0": -phi}, guess=guess, rates={"A0": -2.0})
        bars = mech.forward_dynamics(closed).ud[: windows + 1]  # A0 .. AN are declared first, turns about +z
        np.testing.assert_allclose(bars, -k * np.sin(phi), rtol=1e-10, atol=1e-10)


def test_mechanism_starts_with_all_bars_turning_alike():
    mech = four_bars(3).build()
    start = state(mech)
    np.testing.assert_allclose(start.q, 0.0, atol=1e-14)
    np.testing.assert_allclose(start.u, [-1.0] * 4 + [1.0] * 3, atol=1e-14)


def tool(errors, name="toy", setting="rtol"):
    """Return a tool with given errors; an exception stands for a run that fails."""

    def make(windows, allowed, hanging):
        def solve(k):
            if isinstance(errors[int(k)], Exception):
                raise errors[int(k)]
            return exact_position(windows, 10.0) + [errors[int(k)], 0, 0]

        return solve

    return peers_loops.Tool(name, make, setting, tuple(float(k) for k in range(len(errors))))


def test_an_error_counts_only_when_two_finer_settings_reach_it_too():
    row = loops.measure_tool(tool([1e-3, 5e-7, 2e-6, 9e-7, 1e-8, 1e-9]), 2, 1.0)
    assert row["sustained"] and row["setting"] == 3.0
    row = loops.measure_tool(tool([1e-3, 5e-7, 2e-6, 9e-7, 1e-8]), 2, 1.0)
    assert not row["sustained"] and row["setting"] in (1.0, 3.0, 4.0)
    assert loops.measure_tool(tool([1e-3, 1e-5]), 2, 1.0)["cpu_s"] is None


def test_a_setting_that_fails_is_recorded_and_breaks_no_ladder():
    row = loops.measure_tool(
        tool([ArithmeticError("stopped"), peers_loops.TooSlow(), 1e-7, 1e-8, 1e-9]), 2, 1.0
    )
    assert [rung["error"] is None for rung in row["ladder"]] == [True, True, False, False, False]
    assert "stopped" in row["ladder"][0]["failure"] and "more than 1 s" in row["ladder"][1]["failure"]
    assert row["sustained"] and row["setting"] == 2.0


def test_a_peer_that_is_not_installed_is_named_and_left_out(capsys):
    def absent(windows, allowed, hanging):
        raise ImportError("No module named 'peer'")

    peer = peers_loops.Tool("peer", absent, "rtol", (1.0,))
    found = loops.measure([1, 2], None, 1.0, [peer], 1)
    assert found["missing"] == ["peer"] and all(row["tool"] == "treemech" for row in found["rows"])
    assert "peer is not installed" in capsys.readouterr().err
    assert "Not installed: peer." in loops.report(found)


def test_ratio_is_to_the_fastest_peer_that_reaches_the_error():
    def row(name, cpu, sustained, windows=2):
        return {"family": "A02", "windows": windows, "tool": name, "cpu_s": cpu, "sustained": sustained}

    rows = [row("treemech", 1.0, True), row("a", 10.0, True), row("b", 8.0, True), row("c", 4.0, False)]
    rows += [row("d", None, False), row("e", 0.1, True, windows=10)]
    found = loops.ratio(rows, 2)
    assert (found["sustained"], found["peer sustained"]) == (0.125, "b")
    assert (found["at all"], found["peer at all"]) == (0.25, "c")
    assert loops.ratio(rows, 10)["sustained"] is None  # ours did not run


def test_quick_run_writes_json_and_a_report(tmp_path, capsys):
    out = tmp_path / "new" / "loops.json"
    assert main(["loops", "--quick", "--alone", "--out", str(out)]) == 0
    result = json.loads(out.read_text())
    assert {row["windows"] for row in result["rows"]} == {1, 2} and result["growth"] > 0
    for row in result["rows"]:
        assert row["sustained"] and len(row["ladder"]) == len(peers_loops.TOLERANCES)
    printed = capsys.readouterr().out
    for part in (
        "CPU time to an error",
        "Ours over the fastest peer",
        "Ladders, A02, N = 2",
        "Ladders, A02 hanging, N = 1",
        "terms of the IFToMM library",
    ):
        assert part in printed


@pytest.mark.parametrize("peer, setting, error", [
    ("pinocchio", 1e-9, 1e-6), ("exudyn", 2e-3, 1e-3), ("mujoco", 1e-3, 1e-2),
])  # fmt: skip
def test_peers_simulate_the_same_mechanism(peer, setting, error):
    pytest.importorskip(peer)
    for tool in peers_loops.PEERS:
        if tool.name.lower().startswith(peer):
            for hanging in (False, True):
                if "lcaba" in tool.name and not hanging:
                    continue  # it leaves the branch in the first singular position
                found = tool.make(2, 5.0, hanging)(setting)
                assert np.linalg.norm(found - exact_position(2, 10.0, hanging)) < error, (tool.name, hanging)


# ---------------------------------------------------------------- what it guards
@pytest.mark.slow
@pytest.mark.parametrize("windows", [2, 10, 40])
def test_no_tolerance_leaves_the_branch(windows):
    """On every other branch some bar turns against the others; errors along the branch are those of the tolerance."""
    mech = four_bars(windows).build()
    start = state(mech)
    for rtol in peers_loops.TOLERANCES:
        run = mech.simulate((0, 10), start, rtol=rtol, t_eval=np.linspace(0.0, 10.0, 101))
        assert run.success, run.message
        bars = run.q[:, : windows + 1]
        assert np.max(np.ptp(bars, axis=1)) < PARALLEL, rtol
        assert abs(-bars[-1, 0] - exact_angle(windows, 10.0)) < 3000 * rtol + 1e-7, rtol


@pytest.mark.slow
@pytest.mark.parametrize("windows", [2, 10, 40])
def test_an_eighth_of_the_time_of_the_fastest_peer(windows):
    pytest.importorskip("pinocchio")
    for _ in range(3):  # a busy machine gets three attempts
        result = loops.measure([windows], None, families=["A02"])
        found = result["ratios"][0]
        if found["sustained"] is not None and found["sustained"] <= 1 / 8:
            return
    raise AssertionError(f"{found} (core: {result['way']})")


@pytest.mark.slow
def test_time_grows_with_the_number_of_windows():
    for _ in range(3):
        found = loops.measure([40], 200, peers=(), families=["A02"])["growth"]
        if found is not None and found <= 6.0:
            return
    raise AssertionError(f"40 to 200 windows: {found} times")
