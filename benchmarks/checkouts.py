"""Two checkouts of treemech against each other: whether a change has made the compiled core slower, or its numbers others.

``python -m treemech.benchmarks checkouts OLD NEW`` runs the analyses of `core` and the closed chains of `loops` in new processes, in turns, and keeps
the least CPU time of every row. Each folder is a checkout with its library built (make library); it is run by its own .venv, or by this Python.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from .timing import say, table

MEAN, ROW = 1.02, 1.05  # how much slower all together, and one row, may be
ANALYSES = ("positions", "inverse_dynamics", "mass_matrix", "forward_dynamics")
# Runs in either checkout: what it imports is there since the families stand in a folder of their own
CHILD = """
import hashlib, json, sys, time
import numpy as np
from treemech.benchmarks.families.trees import FAMILIES
from treemech.benchmarks.runs.core import Ours
from treemech.benchmarks.runs.loops import treemech as chains
from treemech.benchmarks.timing import least_times
from treemech.dynamics.native import entry_points
trees, windows, analyses, blocks = json.loads(sys.argv[1])
def digest(x):
    return hashlib.sha256(np.ascontiguousarray(x).tobytes()).hexdigest()[:12]
rows = {}
for name in trees or FAMILIES:
    ours = Ours(FAMILIES[name]().build(), 20)
    for of in analyses:
        work = ours.work(of)
        seconds = least_times({of: work}, blocks)[of] / ours.states(of)
        ours.out[:], ours.A[:] = 0.0, 0.0
        work()
        rows[f"{name}, {of}"] = [seconds, digest(ours.A if of == "mass_matrix" else ours.out)]
for n in windows:
    solve, best = chains(n), 1e300
    for _ in range(5):
        began = time.process_time()
        end = solve(1e-8)
        best = min(best, time.process_time() - began)
    rows[f"{n} four-bars, 10 s"] = [best, digest(end)]
print(json.dumps({"way": entry_points.way(), "rows": rows}))
"""

Rows = dict[str, tuple[float, str]]


def measured(folder: Path, trees: Sequence[str], windows: Sequence[int], blocks: int) -> Rows:
    """Return (CPU seconds, digest of the results) by row, of one new process on a checkout."""
    own = folder / ".venv" / "bin" / "python"
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TREEMECH_JIT", "NUMBA_"))}
    done = subprocess.run(
        [own if own.exists() else sys.executable, "-c", CHILD, json.dumps([trees, windows, ANALYSES, blocks])],
        cwd=folder, env={**environment, "PYTHONPATH": str(folder)}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{folder} does not run: is it a checkout of treemech?")
    found = json.loads(done.stdout.splitlines()[-1])
    if found["way"] != "library":
        raise SystemExit(f"{folder} has no library for its sources: run make library there")
    return {name: (seconds, digest) for name, (seconds, digest) in found["rows"].items()}


def least(processes: Sequence[Rows]) -> Rows:
    """Return the least time of every row; results of one library must be the same in every process."""
    differing = [name for name in processes[0] if len({rows[name][1] for rows in processes}) > 1]
    if differing:
        raise SystemExit(f"results change from process to process: {', '.join(differing)}")
    return {name: min(rows[name] for rows in processes) for name in processes[0]}


def compared(old: Mapping[str, tuple[float, str]], new: Mapping[str, tuple[float, str]]) -> tuple[str, bool]:
    """Return a table, and whether the new one is as fast: all together within 2 %, each row within 5 %."""
    ratios = {name: new[name][0] / old[name][0] for name in old if name in new}
    rows = [
        [
            name,
            1e6 * old[name][0],
            1e6 * new[name][0],
            x,
            "same" if old[name][1] == new[name][1] else "differ",
        ]
        for name, x in ratios.items()
    ]
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    slowest = max(ratios, key=lambda name: ratios[name])
    verdict = f"geometric mean {mean:.3f} (at most {MEAN}), slowest row {slowest}: {ratios[slowest]:.3f} (at most {ROW})"
    text = table(["row", "old us", "new us", "new / old", "bits"], rows)
    return f"{text}\n\n{verdict}", mean <= MEAN and ratios[slowest] <= ROW


def main(argv: Sequence[str]) -> int:
    """Compare two checkouts; 1 if the second one is slower."""
    parser = argparse.ArgumentParser(prog="treemech.benchmarks checkouts", description=__doc__.split("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--processes", type=int, default=10, help="of each (default: 10)")
    parser.add_argument("--trees", nargs="*", default=[], help="only these families (default: all)")
    parser.add_argument(
        "--windows", nargs="*", type=int, default=[2, 10, 40], help="four-bars in a row (default: 2 10 40)"
    )
    parser.add_argument(
        "--blocks", type=int, default=40, help="repeats of each tree's work in a process (default: 40)"
    )
    given = parser.parse_args(argv)
    found: dict[Path, list[Rows]] = {folder.resolve(): [] for folder in (given.old, given.new)}
    for k in range(given.processes):
        say(f"processes {k + 1} of {given.processes}")
        for folder, rows in found.items():
            rows.append(measured(folder, given.trees, given.windows, given.blocks))
    both = [least(rows) for rows in found.values()]
    text, good = compared(both[0], both[-1])
    print(text)
    return 0 if good else 1
