"""Simulate a fuel pump and a four-bar; leave animations, curves, a table beside the thesis and the runs in a folder."""

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from . import DONE, NO, Outcome

EXAMPLES = ("treemech demo", "treemech demo --out results --time 3")
CODES = {NO: "a simulation did not reach its end"}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--out", default="out", help="folder for the results (default: out)")
    parser.add_argument(
        "--time", type=float, default=10.0, help="simulated time of the four-bar [s] (default: 10)"
    )


def run(given: Namespace) -> Outcome:
    from treemech.topology import TreemechError

    from ..view.demo import NEXT, run_demo

    if not 0.0 < given.time < float("inf"):
        raise TreemechError(f"--time is {given.time:g}; wanted a positive number of seconds.")
    written = list(run_demo(Path(given.out), given.time))
    summary = json.loads((Path(given.out) / "demo.json").read_text())
    lines = [
        *(f"  {path}  {what}" for path, what in written),
        "",
        "Try next:",
        *(f"  {line}" for line in NEXT),
    ]
    data = {"files": {str(path): what for path, what in written}, **summary}
    return Outcome(lines, data, DONE if summary["success"] else NO)
