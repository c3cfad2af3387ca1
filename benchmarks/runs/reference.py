"""Problems with known answers, run and compared: `python -m treemech.benchmarks reference`.

Every problem of benchmarks/problems is simulated; every entry of its reference that it offers is compared. CPU
time is that of the simulation alone, the least of a few, without compilation. References without a problem file
are listed as not expressed yet. The gallery follows: examples with known values, at their own settings (`gallery`).
"""

import argparse
import json
import math
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import treemech as tm
from treemech.dynamics.native import entry_points as native
from treemech.topology import TreemechError, unknown

from ..problems import Comparison, Problem, compare, load, problems, references
from .gallery import gallery, hold
from .gallery import table as gallery_table

REPEATS = 3
NOT_YET = "no problem file"


@dataclass
class Result:
    """How one problem went."""

    problem: str
    file: str
    quantities: int = 0
    worst_error: float = math.inf
    worst_quantity: str = ""
    digits: float = 0.0
    reference_digits: int = 0
    tolerance: float = 1e-8
    cpu_seconds: float = math.nan
    evaluations: int = 0
    steps: int = 0
    not_offered: list[str] = field(default_factory=list)
    errors: dict[str, float] = field(default_factory=dict)
    failure: str = ""

    @property
    def passed(self) -> bool:
        return not self.failure and self.worst_error <= self.tolerance


def simulate(
    problem: Problem, rtol: float, method: str = "DOP853", atol: Any = None, repeats: int = 1
) -> tuple[dict[str, Any], float]:
    """Return (run of every case, CPU time of all cases together: the least of `repeats`)."""
    mech = problem.system().build()
    times, runs, seconds = problem.times(), {}, 0.0
    for case in problem.cases:
        start, least = problem.start(mech, case), math.inf
        for _ in range(repeats):
            began = time.process_time()
            runs[case] = mech.simulate((0.0, problem.t_end), start, method, rtol, atol, times)
            least = min(least, time.process_time() - began)
        seconds += least
    return runs, seconds


def run_problem(
    problem: Problem, rtol: float = 1e-11, method: str = "DOP853", repeats: int = REPEATS
) -> Result:
    """Simulate and compare; a failure is told in `failure`."""
    reference = problem.reference()
    result = Result(
        problem.name, problem.file, reference_digits=reference.digits, tolerance=reference.tolerance
    )
    try:
        runs, result.cpu_seconds = simulate(problem, rtol, method, repeats=repeats)
        lost = [f"{case}: {run.message}".lstrip(": ") for case, run in runs.items() if not run.success]
        if lost:
            result.failure = "; ".join(lost)
            return result
        comparisons, result.not_offered = compare(problem, runs)
    except Exception as error:
        result.failure = f"{type(error).__name__}: {error}"
        return result
    if not comparisons:
        result.failure = "observe() offers nothing the reference expects"
        return result
    worst = max(comparisons, key=lambda c: c.error)
    result.quantities, result.errors = len(comparisons), {_label(c): c.error for c in comparisons}
    result.worst_error, result.worst_quantity = worst.error, _label(worst)
    result.digits = -math.log10(max(worst.error, 1e-17))
    result.evaluations = sum(run.statistics["evaluations"] for run in runs.values())
    result.steps = sum(run.statistics["steps"] for run in runs.values())
    return result


def _label(comparison: Comparison) -> str:
    return f"{comparison.key} [{comparison.case}]" if comparison.case else comparison.key


def table(results: Sequence[Result]) -> str:
    """Return the results, one line each."""
    head = f"{'problem':36} {'quantities':>10} {'worst error':>11} {'digits':>6} {'CPU ms':>8} {'evaluations':>11}"
    lines = [head, "-" * len(head)]
    for r in results:
        if r.failure:
            lines.append(f"{r.problem:36} FAILED: {r.failure}")
            continue
        lines.append(
            f"{r.problem:36} {r.quantities:10d} {r.worst_error:11.1e} {r.digits:6.1f} {1e3 * r.cpu_seconds:8.2f} "
            f"{r.evaluations:11d}" + ("" if r.passed else f"  misses {r.tolerance:.0e} in {r.worst_quantity}")
        )
    for r in results:
        if r.not_offered and not r.failure:
            lines.append(f"  {r.problem} does not offer: {', '.join(r.not_offered)}")
    return "\n".join(lines)


def chosen(names: Sequence[str] | None) -> dict[str, Problem]:
    """Return problems by name, or all."""
    known = problems()
    for name in names or ():
        if name not in known and name not in gallery():
            raise TreemechError(unknown("problem", name, [*known, *gallery()]))
    return {name: known[name] for name in names or known if name in known}


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, and answer 0 if every problem reached its tolerance."""
    parser = argparse.ArgumentParser(
        prog="treemech.benchmarks reference", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--problem", nargs="+", action="extend", metavar="NAME", help="only these")
    parser.add_argument("--rtol", type=float, default=1e-11)
    parser.add_argument("--method", default="DOP853")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="write the results here too")
    options = parser.parse_args(argv)
    try:
        todo = chosen(options.problem)
    except TreemechError as error:
        print(error, file=sys.stderr)
        return 2
    results = [run_problem(problem, options.rtol, options.method) for problem in todo.values()]
    print(f"{options.method}, rtol {options.rtol:g}, core: {native.way()}\n")
    if results:
        print(table(results))
    held = [hold(name) for name in gallery() if not options.problem or name in options.problem]
    if held:
        print(f"\nGallery:\n\n{gallery_table(held)}")
    expressed = {problem.file for problem in problems().values()}
    open_cases = {} if options.problem else {f: NOT_YET for f in references() if f not in expressed}
    if open_cases:
        print(f"\nNot expressed yet ({NOT_YET}):")
        for file in open_cases:
            print(f"  {file:36} {load(file).name}")
    if options.out:
        content = {
            "method": options.method,
            "rtol": options.rtol,
            "core": native.way(),
            "repeats": REPEATS,
            "treemech": tm.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "machine": platform.platform(),
            "results": [{**asdict(r), "passed": r.passed} for r in results],
            "not_expressed": open_cases,
            "gallery": [{**asdict(h), "passed": h.passed} for h in held],
        }
        options.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 0 if all(r.passed for r in results) and all(h.passed for h in held) else 1
