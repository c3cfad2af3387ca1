"""Closed chains through singular positions: the N-four-bar mechanism A02, against the peers in the same run.

CPU time of this process against the error of the position of B0 at 10 s, the exact answer for every N being a
pendulum (problems/a02_double_four_bar.py). Ours is the model as anybody would write it, with plain `Revolute` hinges.
Everybody runs a ladder of settings from coarse to fine. The time to an error of 1e-6 is that of the first setting
which reaches it together with the next two finer ones: near a singular position one good run proves little. A peer
that reaches it without the finer ones is listed as not sustained, and we are compared with that time as well.

A02 hanging is the same mechanism under gravity upwards: it swings and never comes near a singular position. Ours is
measured at the terms of the IFToMM library as well: N = 40, 20 s, errors of position and velocity of B0 over 400 outputs.
"""

import argparse
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from treemech.dynamics.native import entry_points as native
from treemech.topology.arrays import Floats

from ..peers.loops import END, PEERS, TOLERANCES, L, Solve, Tool, TooSlow
from ..problems.mechanisms.a02_double_four_bar import exact_motion, exact_position, four_bars, state
from ..timing import machine, say, table

TARGET = 1e-6  # m
SUSTAINED = 2  # finer settings that must reach it too
WINDOWS = (2, 10, 40)
LARGE = 200  # ours only
SECONDS = 6.0  # CPU time a peer may take for one run
FAMILIES = {"A02": False, "A02 hanging": True}
OFFICIAL = {"windows": 40, "end": 20.0, "outputs": 400, "threshold": 1e-3, "errors": (1e-1, 1e-3)}


def treemech(windows: int, allowed: float = math.inf, hanging: bool = False) -> Solve:
    """Solve by treemech, with the tolerances of the peers: atol = rtol."""
    mech = four_bars(windows, hanging).build()
    start = state(mech)
    mech.simulate((0.0, 0.01), start)  # compiles, where nothing was built

    def solve(rtol: float) -> Floats:
        run = mech.simulate((0.0, END), start, rtol=rtol, atol=rtol, t_eval=[END])
        if not run.success:
            raise ArithmeticError(run.message)
        angle = run.q[-1, 0]  # of A0, the hinge declared first
        return L * np.array([-np.sin(angle), np.cos(angle), 0.0])

    return solve


OURS = Tool("treemech", treemech, "rtol", TOLERANCES)


def best_run(
    solve: Solve, setting: float, allowed: float, repeats: int, enough: float
) -> tuple[dict[str, Any], Floats | None]:
    """Run one setting up to `repeats` times, or until the runs took `enough` CPU seconds.

    Returns the least CPU time with what failed, and the last answer (None: there is none).
    """
    rung: dict[str, Any] = {"setting": setting, "error": None, "cpu_s": math.inf, "failure": ""}
    spent, end = 0.0, None
    for _ in range(repeats):
        began = time.process_time()
        try:
            end = solve(setting)
        except TooSlow:
            rung["failure"] = f"more than {allowed:g} s"
        except Exception as error:  # each peer stops in its own way
            rung["failure"] = f"{type(error).__name__}: {error}".splitlines()[0]
        seconds = time.process_time() - began
        rung["cpu_s"], spent = min(rung["cpu_s"], seconds), spent + seconds
        if rung["failure"] or spent > enough:
            break
    return rung, end


def climb(
    tool: Tool, windows: int, allowed: float = SECONDS, repeats: int = 5, hanging: bool = False
) -> list[dict[str, Any]]:
    """Measure error and CPU time at every setting; the least of `repeats`, of fewer when a run takes long."""
    solve, exact, rungs = tool.make(windows, allowed, hanging), exact_position(windows, END, hanging), []
    for setting in tool.ladder:
        rung, end = best_run(solve, setting, allowed, repeats, 0.5 * allowed)
        if end is not None:
            rung["error"] = float(np.linalg.norm(end - exact))
        rungs.append(rung)
        if tool.setting == "step" and 2.0 * rung["cpu_s"] > allowed:
            break  # half the step takes twice as long
    return rungs


def reached(rungs: Sequence[dict[str, Any]]) -> tuple[int | None, bool]:
    """Return (rung that reaches the error wanted, whether finer ones do too): the first sustained, else the
    cheapest.

    >>> ladder = [{"error": e, "cpu_s": float(k)} for k, e in enumerate([1e-3, 9e-7, 1e-5, 1e-7, 1e-8, 1e-8])]
    >>> reached(ladder), reached(ladder[:4]), reached(ladder[:1])
    ((3, True), (1, False), (None, False))
    """
    good = [rung["error"] is not None and rung["error"] <= TARGET for rung in rungs]
    for k in range(len(rungs) - SUSTAINED):
        if all(good[k : k + SUSTAINED + 1]):
            return k, True
    return min((k for k, ok in enumerate(good) if ok), key=lambda k: rungs[k]["cpu_s"], default=None), False


def measure_tool(
    tool: Tool, windows: int, allowed: float, repeats: int = 5, family: str = "A02"
) -> dict[str, Any] | None:
    """Measure the ladder of a tool and its time to the error wanted; None if the tool is not installed."""
    try:
        rungs = climb(tool, windows, allowed, repeats, FAMILIES[family])
    except ImportError:
        say(f"{tool.name} is not installed: its rows are missing")
        return None
    k, sustained = reached(rungs)
    return {
        "family": family, "windows": windows, "tool": tool.name, "kind": tool.setting, "ladder": rungs, "sustained": sustained,
        "setting": None if k is None else rungs[k]["setting"], "cpu_s": None if k is None else rungs[k]["cpu_s"],
    }  # fmt: skip


def ratio(rows: Sequence[dict[str, Any]], windows: int, family: str = "A02") -> dict[str, Any]:
    """Return our time over that of the fastest peer that reaches the error, sustained and at all.

    The value is None without such a peer.
    """
    here = [
        row for row in rows
        if (row["family"], row["windows"]) == (family, windows) and row["cpu_s"] is not None
    ]  # fmt: skip
    ours = [row["cpu_s"] for row in here if row["tool"] == OURS.name and row["sustained"]]
    found: dict[str, Any] = {"family": family, "windows": windows}
    for name, which in ("sustained", [r for r in here if r["sustained"]]), ("at all", here):
        peers = [row for row in which if row["tool"] != OURS.name]
        best = min(peers, key=lambda row: row["cpu_s"], default=None)
        found[name] = ours[0] / best["cpu_s"] if ours and best else None
        found[f"peer {name}"] = best["tool"] if best else None
    return found


def growth(rows: Sequence[dict[str, Any]], small: int = WINDOWS[-1], large: int = LARGE) -> float | None:
    """Return our CPU time with `large` windows over that with `small`, at the coarsest rtol good for both."""
    pair = [
        row for w in (small, large) for row in rows
        if (row["family"], row["windows"], row["tool"]) == ("A02", w, OURS.name)
    ]  # fmt: skip
    if len(pair) < 2 or not all(row["sustained"] for row in pair):
        return None
    rtol = min(row["setting"] for row in pair)
    a, b = (next(r["cpu_s"] for r in row["ladder"] if r["setting"] == rtol) for row in pair)
    return float(b / a)


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process on one core, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def measure(
    windows: Sequence[int] = WINDOWS,
    large: int | None = LARGE,
    allowed: float = SECONDS,
    peers: Sequence[Tool] = PEERS,
    repeats: int = 5,
    log: Callable[[str], None] = say,
    families: Sequence[str] = tuple(FAMILIES),
    official_terms: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Measure everything; return what the JSON file holds."""
    rows: list[dict[str, Any]] = []
    missing: set[str] = set()
    with one_core():
        cases = [(family, w, peers) for family in families for w in windows]
        for family, w, tools in [*cases, *([("A02", large, ())] if large else [])]:
            for tool in (OURS, *tools):
                if tool.name in missing:
                    continue
                log(f"{family}, {w} windows: {tool.name}")
                row = measure_tool(tool, w, allowed, repeats, family)
                if row is None:
                    missing.add(tool.name)
                else:
                    rows.append(row)
        terms = []
        if official_terms is not None:
            log("A02 at the terms of the IFToMM library")
            terms = official(**official_terms)
    where = machine()
    try:
        where["versions"]["exudyn"] = version("exudyn")
    except PackageNotFoundError:
        where["versions"]["exudyn"] = "absent"
    return {
        "machine": where,
        "way": native.way(),
        "target_m": TARGET,
        "allowed_s": allowed,
        "rows": rows,
        "ratios": [ratio(rows, w, family) for family in families for w in windows],
        "official": terms,
        "terms": ", ".join(f"{name} {value}" for name, value in (official_terms or {}).items()),
        "growth": None if large is None else growth(rows, max(windows), large),
        "missing": sorted(missing),
    }


def official(
    windows: int, end: float, outputs: int, threshold: float, errors: Sequence[float]
) -> list[dict[str, Any]]:
    """Return the least CPU time of ours for each error wanted at the terms of the IFToMM library.

    The error is the root of the mean square, over outputs and components of position and velocity of B0, of the
    differences relative to the exact number, or to the threshold where that is larger.
    """
    mech = four_bars(windows).build()
    start, t = state(mech), np.linspace(0.0, end, outputs + 1)
    exact = _motion(np.array([exact_motion(windows, x) for x in t]).T)
    rungs = []
    for rtol in (10.0 ** (-0.5 * k) for k in range(4, 19)):
        seconds = math.inf
        for _ in range(5):
            began = time.process_time()
            run = mech.simulate((0.0, end), start, rtol=rtol, atol=rtol, t_eval=t)
            seconds = min(seconds, time.process_time() - began)
        error = math.inf
        if run.success:
            apart = (_motion(np.array([-run.q[:, 0], -run.u[:, 0]])) - exact) / np.maximum(
                np.abs(exact), threshold
            )
            error = float(np.sqrt(np.mean(apart**2)))
        rungs.append({"rtol": rtol, "error": error, "cpu_s": seconds})
    found = []
    for wanted in errors:
        good = [
            k for k in range(len(rungs) - SUSTAINED)
            if all(rung["error"] <= wanted for rung in rungs[k : k + SUSTAINED + 1])
        ]  # fmt: skip
        found.append(
            {"wanted": wanted, **(rungs[good[0]] if good else dict.fromkeys(("rtol", "error", "cpu_s")))}
        )
    return found


def _motion(turn: Floats) -> Floats:
    """Return x, y and their rates of B0 for angles clockwise from the vertical and their rates (2, n)."""
    phi, rate = turn
    x, y = np.sin(phi), np.cos(phi)
    return L * np.array([x, y, rate * y, -rate * x])


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    where = result["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in where["versions"].items())
    parts = [
        f"# Closed chains: A02, N four-bar windows, 10 s\n\n{where['cpu']}, {where['cores']} cores, one used; {versions}; "
        f"core: {result['way']}. CPU time, without building the model. A peer has {result['allowed_s']:g} s for a run.",
        f"## CPU time to an error of {result['target_m']:g} m\n\n"
        + table(
            ["family", "N", "tool", "setting", "CPU ms", "sustained", "least error", "in CPU ms"],
            [_summary(row) for row in result["rows"]],
        ),
        "## Ours over the fastest peer\n\n"
        + table(
            ["family", "N", "sustained", "peer", "also not sustained", "peer"],
            [
                [
                    r["family"],
                    r["windows"],
                    r["sustained"],
                    r["peer sustained"],
                    r["at all"],
                    r["peer at all"],
                ]
                for r in result["ratios"]
            ],
        ),
    ]
    if result["official"]:
        parts.append(
            f"## A02 at the terms of the IFToMM library\n\nPosition and velocity of B0: {result['terms']}.\n\n"
            + table(
                ["error wanted", "rtol", "error", "CPU ms"],
                [
                    [r["wanted"], r["rtol"], r["error"], None if r["cpu_s"] is None else 1e3 * r["cpu_s"]]
                    for r in result["official"]
                ],
            )
        )
    if result["growth"] is not None:
        sizes = sorted({row["windows"] for row in result["rows"]})[-2:]
        parts.append(f"Ours from N = {sizes[0]} to {sizes[1]}: {result['growth']:.2f} times the CPU time.")
    if result["missing"]:
        parts.append(f"Not installed: {', '.join(result['missing'])}.")
    for family, w in dict.fromkeys((row["family"], row["windows"]) for row in result["rows"]):
        rows = [
            [row["tool"], f"{row['kind']} {r['setting']:.3g}", r["error"], 1e3 * r["cpu_s"], r["failure"] or ""]
            for row in result["rows"] if (row["family"], row["windows"]) == (family, w)
            for r in row["ladder"]
        ]  # fmt: skip
        parts.append(
            f"## Ladders, {family}, N = {w}\n\n" + table(["tool", "setting", "error m", "CPU ms", ""], rows)
        )
    return "\n\n".join(parts) + "\n"


def _summary(row: dict[str, Any]) -> list[Any]:
    done = [rung for rung in row["ladder"] if rung["error"] is not None]
    best = min(done, key=lambda rung: rung["error"], default=None)
    setting = None if row["setting"] is None else f"{row['kind']} {row['setting']:.3g}"
    cpu = None if row["cpu_s"] is None else 1e3 * row["cpu_s"]
    sustained = None if cpu is None else "yes" if row["sustained"] else "no"
    least = [None, None] if best is None else [best["error"], 1e3 * best["cpu_s"]]
    return [row["family"], row["windows"], row["tool"], setting, cpu, sustained, *least]


def main(argv: list[str]) -> int:
    """Run the command ``python -m treemech.benchmarks loops``."""
    parser = argparse.ArgumentParser(prog="treemech.benchmarks loops", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/loops.json"), help="where the JSON file goes")
    parser.add_argument("--windows", nargs="+", type=int, default=list(WINDOWS), metavar="N")
    parser.add_argument("--large", type=int, default=LARGE, metavar="N", help="ours only; 0: none")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="CPU time a peer may take for one run")
    parser.add_argument("--alone", action="store_true", help="without peers")
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    given = parser.parse_args(argv)
    if given.quick:
        terms = OFFICIAL | {"windows": 2, "end": 1.0}
        result = measure([1], 2, 0.05, () if given.alone else PEERS, 1, official_terms=terms)
    else:
        peers = () if given.alone else PEERS
        result = measure(given.windows, given.large or None, given.seconds, peers, official_terms=OFFICIAL)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(result, indent=1) + "\n")
    print(report(result))
    return 0
