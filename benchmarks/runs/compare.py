"""Formulations side by side on the same problems: ``python -m treemech.benchmarks compare``.

Every pair of a problem and a formulation is run over a ladder of tolerances with the same integrator (index-3 methods: of step
sizes). CPU time is that of the integration alone: neither building, nor compiling, nor evaluating results. The error is the largest
deviation of any body, in place and attitude, from a reference motion: this engine at rtol 1e-13, whose own error
against the published answer of the problem stands beside it. A pair that fails says why.

Growth: CPU time of one evaluation of the right-hand side over the size of a family, and its exponent.
"""

import argparse
import csv
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import treemech as tm
from treemech.topology import TreemechError, unknown

from ..formulations import Bodies, Formulation, Inexpressible, TooSlow, conservative, formulations
from ..page import fill_page
from ..timing import machine, say, table

RTOLS = (1e-4, 1e-6, 1e-8, 1e-10)
TARGET = 1e-6
SECONDS = 1.0  # CPU time for one integration
POINTS = 21  # output times
SPANS = {
    "a05_flyball_governor": 1.0
}  # s, in place of the end of the reference: stiff, so that explicit methods get there too
# what the page of the documentation shows
PAGE = (
    "double_pendulum", "spherical_triple_pendulum", "chain_10", "binary_tree_15", "a02_double_four_bar",
    "a03_andrews_squeezer", "a04_bricard", "a05_flyball_governor", "slider_crank_singular", "spatial_slider_crank_iftomm", "haug_quick_return",
    "ladder_4", "stewart_1",
)  # fmt: skip
LARGEST = 1200  # rows of a matrix that growth still tries
SLOW = 0.02  # s; an evaluation that takes longer ends the growth of its formulation
_STEP = {
    2: 1 / 60,
    4: 1 / 12,
}  # of a step of DOP853 at rtol 1e-6, by order: the step of a method at rtol 1e-4


@dataclass(frozen=True)
class Case:
    """A problem as this comparison sees it."""

    name: str
    system: Callable[[], tm.System]
    state: Callable[[tm.Mechanism], tm.State]
    t_end: float
    published: Callable[[], float] | None = None


@dataclass
class Cell:
    """One run."""

    problem: str
    formulation: str
    rtol: float
    setting: float = math.nan
    cpu_s: float | None = None
    error: float | None = None
    energy_drift: float | None = None
    constraint: float | None = None
    constraint_rate: float | None = None
    evaluations: int = 0
    steps: int = 0
    size: int = 0
    nonzeros: int = 0
    failure: str = ""


@dataclass
class Row:
    """A formulation on a problem: its cells and what one evaluation costs."""

    problem: str
    formulation: str
    cells: list[Cell] = field(default_factory=list)
    work: dict[str, float] = field(default_factory=dict)
    failure: str = ""
    inexpressible: bool = False


def cases() -> dict[str, Case]:
    """Return all problems with a known answer, and short motions of the families."""
    from ..families.loops import at_start, ladder, moving, stewart
    from ..families.trees import binary_tree, chain
    from ..problems import problems

    found = {}
    for name, problem in problems().items():
        found[name] = Case(
            name,
            problem.system,
            partial(problem.start, case=problem.cases[0]),
            SPANS.get(name, problem.t_end),
            partial(_published, problem),
        )
    found["chain_10"] = Case("chain_10", partial(chain, 10), moving, 0.5)
    found["binary_tree_15"] = Case("binary_tree_15", partial(binary_tree, 4), moving, 0.5)
    found["ladder_4"] = Case("ladder_4", partial(ladder, 4), at_start, 2.0)
    found["stewart_1"] = Case("stewart_1", partial(stewart, 1), at_start, 0.4)
    return found


def _published(problem: Any) -> float:
    """Return the error of this engine against the published answer."""
    from .reference import run_problem

    return float(run_problem(problem, 1e-12, repeats=1).worst_error)


def reference(case: Case, times: Any) -> tuple[Bodies, float]:
    """Return (motion of the bodies, mean step of DOP853 at rtol 1e-6)."""
    system = case.system()
    mech = system.build()
    state = case.state(mech)
    run = mech.simulate((0.0, case.t_end), state, rtol=1e-13, atol=1e-13, t_eval=times)
    if not run.success:
        raise TreemechError(f"the reference motion of {case.name!r} stops: {run.message}")
    coarse = mech.simulate((0.0, case.t_end), state, rtol=1e-6, t_eval=times)
    motion = [run.body(b.name) for b in system.bodies[1:]]
    bodies = Bodies(*(
        np.stack([getattr(m, name) for m in motion], axis=1)
        for name in ("position", "rotation", "velocity", "angular_velocity")
    ))  # fmt: skip
    return bodies, case.t_end / max(coarse.statistics["steps"], 1)


def run_cell(
    made: Formulation, case: Case, state: tm.State, rtol: float, setting: float, exact: Bodies, allowed: float
) -> Cell:
    """Integrate once and compare."""
    cell = Cell(case.name, made.name, rtol, setting)
    times, y0 = np.linspace(0.0, case.t_end, POINTS), made.initial(state)
    cell.size, cell.nonzeros = made.size, made.nonzeros
    best, spent, found = math.inf, 0.0, None
    try:
        for _ in range(3):
            began = time.process_time()
            found = made.integrate((0.0, case.t_end), y0, setting, times, allowed)
            seconds = time.process_time() - began
            best, spent = min(best, seconds), spent + seconds
            if spent > 0.1 * allowed or not found.success:
                break
            y0 = made.initial(state)
    except TooSlow:
        cell.failure = f"more than {allowed:g} s"
        return cell
    except Exception as error:
        cell.failure = f"{type(error).__name__}: {error}".splitlines()[0]
        return cell
    assert found is not None
    cell.cpu_s, cell.evaluations, cell.steps = best, found.evaluations, found.steps
    if not found.success:
        cell.failure = found.message
        return cell
    from ..formulations import Solution

    solution = Solution(
        made.name,
        found,
        made.bodies(found.t, found.y),
        made.residuals(found.t, found.y),
        made.size,
        made.nonzeros,
    )
    cell.error = solution.error(exact)
    cell.constraint, cell.constraint_rate = (float(x) for x in solution.residual.max(axis=0))
    if conservative(made.system):
        energy = solution.energy(made.system)
        cell.energy_drift = float(np.max(np.abs(energy - energy[0])) / max(1.0, np.max(np.abs(energy))))
    return cell


def run_row(
    case: Case, kind: type[Formulation], rtols: Sequence[float], exact: Bodies, step: float, allowed: float
) -> Row:
    """Run a formulation on a problem."""
    row = Row(case.name, kind.name)
    try:
        made = kind(case.system())
        state = case.state(made.mech)
        y0 = made.initial(state)
        short = 1e-4 * case.t_end  # compiles
        made.integrate(
            (0.0, short), y0, 1e-3 if made.setting == "rtol" else short / 5, np.array([short]), math.inf
        )
        row.work = made.work(state)
    except Inexpressible as error:
        row.failure, row.inexpressible = str(error), True
        return row
    except Exception as error:
        row.failure = f"{type(error).__name__}: {error}".splitlines()[0]
        return row
    for rtol in rtols:
        setting = (
            rtol if made.setting == "rtol" else step * _STEP[made.order] * (rtol / 1e-4) ** (1 / made.order)
        )
        before = row.cells[-1] if row.cells else None
        if (
            made.setting == "step"
            and before
            and (before.cpu_s or 0.0) * before.setting > 1.2 * allowed * setting
        ):
            cell = Cell(
                case.name,
                made.name,
                rtol,
                setting,
                failure=f"more than {allowed:g} s, to judge by the longer step",
            )
            cell.size, cell.nonzeros = made.size, made.nonzeros
        else:
            cell = run_cell(made, case, state, rtol, setting, exact, allowed)
        row.cells.append(cell)
        if cell.failure.startswith("more than"):
            break  # finer settings take longer still
    return row


def run_problem(name: str, kinds: Sequence[str], rtols: Sequence[float], allowed: float) -> dict[str, Any]:
    """Run all formulations on a problem; return what the JSON file holds."""
    _one_thread()
    case, known = cases()[name], formulations()
    found: dict[str, Any] = {"problem": name, "t_end": case.t_end, "rows": [], "failure": ""}
    try:
        exact, step = reference(case, np.linspace(0.0, case.t_end, POINTS))
        found["published"] = None if case.published is None else case.published()
    except Exception as error:
        found["failure"] = f"{type(error).__name__}: {error}".splitlines()[0]
        return found
    for kind in kinds:
        found["rows"].append(asdict(run_row(case, known[kind], rtols, exact, step, allowed)))
    return found


# ---------------------------------------------------------------- growth
def run_growth(family: str, kinds: Sequence[str], largest: int) -> dict[str, Any]:
    """Measure the CPU seconds of one evaluation over the sizes of a family."""
    from ..families.loops import GROWTH

    _one_thread()
    make, start, sizes, what = GROWTH[family]
    known = formulations()
    found: dict[str, Any] = {"family": family, "what": what, "curves": {}}
    for name in kinds:
        if known[name].setting == "step":
            continue  # the matrix of another formulation
        curve: list[dict[str, Any]] = []
        for size in sizes:
            if size > largest or (curve and _next(curve[-1], size) > LARGEST and "sparse" not in name):
                break
            try:
                made = known[name](make(size))
                state = start(made.mech)
                work = made.work(state)
            except Exception as error:
                if not curve:
                    found.setdefault("failures", {})[name] = f"{type(error).__name__}: {error}".splitlines()[
                        0
                    ]
                break
            curve.append({
                "size": size, "bodies": len(made.system.bodies) - 1, "matrix": made.size, "nonzeros": made.nonzeros, **work,
            })  # fmt: skip
            if work["evaluation"] > SLOW:
                break
        if curve:
            found["curves"][name] = {"points": curve, "exponent": exponent(curve)}
    return found


def _next(point: dict[str, Any], size: int) -> float:
    """Estimate the rows of the matrix at the next size."""
    return float(point["matrix"] * size / point["size"])


def exponent(curve: Sequence[dict[str, Any]]) -> float | None:
    """Return the exponent of the time over the number of bodies, from the last three sizes.

    >>> exponent([{"bodies": n, "evaluation": 2e-6 * n**2} for n in (4, 8, 16, 32)])
    2.0
    """
    last = [p for p in curve if p["bodies"] >= 4][-3:]
    if len(last) < 2:
        return None
    x, y = (np.log([p[k] for p in last]) for k in ("bodies", "evaluation"))
    return round(float(np.polyfit(x, y, 1)[0]), 2)


# ---------------------------------------------------------------- all together
def _one_thread() -> None:
    """Keep BLAS of this process on one thread, where that is possible."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def measure(
    problems: Sequence[str],
    kinds: Sequence[str],
    rtols: Sequence[float] = RTOLS,
    allowed: float = SECONDS,
    growth: Sequence[str] = (),
    jobs: int = 1,
    largest: int = 10**6,
    log: Callable[[str], None] = say,
) -> dict[str, Any]:
    """Measure everything; return what the JSON file holds."""
    _one_thread()
    works = [(run_problem, (name, tuple(kinds), tuple(rtols), allowed)) for name in problems]
    works += [(run_growth, (family, tuple(kinds), largest)) for family in growth]  # type: ignore[arg-type,misc]
    began, parts = time.perf_counter(), []
    for number, part in enumerate(_each(works, jobs), start=1):
        parts.append(part)
        filled = round(30 * number / len(works))
        log(
            f"[{'#' * filled}{'.' * (30 - filled)}] {number}/{len(works)} {part.get('problem') or part['family']} "
            f"({time.perf_counter() - began:.0f} s)"
        )
    return {
        "machine": machine(),
        "rtols": list(rtols),
        "allowed_s": allowed,
        "wall_s": time.perf_counter() - began,
        "sources": {name: kind.source for name, kind in formulations().items() if name in kinds},
        "assembly_notes": {
            name: kind.assembly_note for name, kind in formulations().items() if name in kinds
        },
        "problems": [p for p in parts if "problem" in p],
        "growth": [p for p in parts if "family" in p],
    }


def _each(works: Sequence[tuple[Any, tuple[Any, ...]]], jobs: int) -> Iterator[dict[str, Any]]:
    if jobs <= 1:
        for function, arguments in works:
            yield function(*arguments)
        return
    from multiprocessing import get_context

    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        futures = [pool.submit(function, *arguments) for function, arguments in works]
        for future in futures:
            yield future.result()


# ---------------------------------------------------------------- reports
def to_target(row: dict[str, Any], target: float = TARGET) -> float | None:
    """Return the CPU seconds of the cheapest run that reaches the error wanted, as do all finer ones.

    >>> to_target({"cells": [{"error": 1e-3, "cpu_s": 1.0}, {"error": 1e-7, "cpu_s": 2.0}, {"error": 1e-9, "cpu_s": 3.0}]})
    2.0
    """
    best = None
    for cell in reversed(row["cells"]):
        if cell["error"] is None:
            steps = cell.get("setting") != cell.get("rtol")
            if steps and cell["failure"].startswith("more than"):
                continue  # shorter steps take longer, as they must
            return best
        if cell["error"] > target:
            break
        best = cell["cpu_s"]
    return best


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    where = result["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in where["versions"].items() if v != "absent")
    parts = [
        f"# Formulations side by side\n\n{where['cpu']}, {where['cores']} cores; {versions}. CPU times of the integration alone, "
        f"at most {result['allowed_s']:g} s each; the whole took {result['wall_s']:.0f} s."
    ]
    if result["problems"]:
        parts.append(f"## CPU ms to an error of {TARGET:g}\n\n{target_table(result)}")
        parts.append(f"## One evaluation, us\n\n{cost_table(result)}")
        parts.append(f"## Assembly above two factorisations\n\n{assembly_lines(result)}")
    for p in result["problems"]:
        parts.append(_problem_report(p))
    for g in result["growth"]:
        parts.append(_growth_report(g))
    return "\n\n".join(parts) + "\n"


def _by_problem(
    result: dict[str, Any], number: Callable[[dict[str, Any]], Any], only: Sequence[str] = ()
) -> str:
    """Return a table of a number: formulations down, problems (all or some) across."""
    shown = [p for p in result["problems"] if not only or p["problem"] in only]
    names = list(dict.fromkeys(row["formulation"] for p in shown for row in p["rows"]))
    rows = [{row["formulation"]: row for row in p["rows"]} for p in shown]
    lines = [[n, *(None if n not in r or r[n]["failure"] else number(r[n]) for r in rows)] for n in names]
    return table(["formulation", *(p["problem"].replace("_", " ") for p in shown)], lines)


def target_table(result: dict[str, Any], only: Sequence[str] = ()) -> str:
    """Return the table of CPU ms to the error wanted."""

    def number(row: dict[str, Any]) -> float | None:
        seconds = to_target(row)
        return None if seconds is None else 1e3 * seconds

    return _by_problem(result, number, only)


def cost_table(result: dict[str, Any], only: Sequence[str] = ()) -> str:
    """Return the table of us per evaluation, with the size of the matrix."""
    return _by_problem(
        result,
        lambda row: (
            f"{1e6 * row['work']['evaluation']:.3g} ({row['cells'][0]['size']})"
            if row["work"] and row["cells"]
            else None
        ),
        only,
    )


def assembly_lines(result: dict[str, Any]) -> str:
    """List formulations whose assembly costs more than two factorisations of their matrix, where, and why."""
    found: dict[str, list[str]] = {}
    for p in result["problems"]:
        for row in p["rows"]:
            w = row["work"]
            if "assembly" in w and w["assembly"] > 2.0 * w["factorization"]:
                ratio = w["assembly"] / max(w["factorization"], 1e-9)
                found.setdefault(row["formulation"], []).append(f"{p['problem']} {ratio:.1f}")
    lines = [
        f"- {name} ({result['assembly_notes'].get(name) or 'no reason given'}): {', '.join(where)}"
        for name, where in found.items()
    ]
    return "\n".join(lines) or "None."


def growth_table(result: dict[str, Any]) -> str:
    """Return the table of exponents of all families."""
    names = list(dict.fromkeys(n for g in result["growth"] for n in g["curves"]))
    lines = [
        [n, *(g["curves"][n]["exponent"] if n in g["curves"] else None for g in result["growth"])]
        for n in names
    ]
    return table(["formulation", *(g["family"] for g in result["growth"])], lines)


def page_tables(result: dict[str, Any]) -> dict[str, str]:
    """Return the tables of docs/formulations.md."""
    where = result["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in where["versions"].items() if v != "absent")
    tables = {"machine": f"{where['cpu']}, {where['cores']} cores; {versions}."}
    if result["problems"]:
        tables |= {"target": target_table(result, PAGE), "cost": cost_table(result, PAGE)}
    if result["growth"]:
        tables |= {
            "exponents": growth_table(result),
            "growth": "\n\n".join(map(_growth_report, result["growth"])).replace("## ", "### "),
        }
    return tables


def _problem_report(p: dict[str, Any]) -> str:
    if p["failure"]:
        return f"## {p['problem']}\n\n{p['failure']}"
    checked = (
        ""
        if p["published"] is None
        else f"; reference motion against the published answer: {p['published']:.1e}"
    )
    heads = [
        "formulation", "n", "nonzeros", "us assembly", "us factors", "us evaluation", "rtol", "CPU ms", "error", "evaluations",
        "energy drift", "constraints", "",
    ]  # fmt: skip
    lines: list[list[Any]] = []
    for row in p["rows"]:
        w = row["work"]
        cost = [1e6 * w[key] if key in w else None for key in ("assembly", "factorization", "evaluation")]
        if row["failure"]:
            lines.append([row["formulation"], *[None] * 11, row["failure"]])
        for number, c in enumerate(row["cells"]):
            head = [row["formulation"], c["size"], c["nonzeros"], *cost] if number == 0 else ["", *[None] * 5]
            lines.append([
                *head, f"{c['rtol']:.0e}", None if c["cpu_s"] is None else 1e3 * c["cpu_s"], c["error"], c["evaluations"],
                c["energy_drift"], c["constraint"], c["failure"],
            ])  # fmt: skip
    return f"## {p['problem']}\n\n{p['t_end']:g} s{checked}.\n\n" + table(heads, lines)


def _growth_report(g: dict[str, Any]) -> str:
    sizes = sorted({p["bodies"] for c in g["curves"].values() for p in c["points"]})
    lines = []
    for name, curve in g["curves"].items():
        times = {p["bodies"]: 1e6 * p["evaluation"] for p in curve["points"]}
        lines.append([name, *(times.get(s) for s in sizes), curve["exponent"]])
    text = f"## Growth: {g['family']} ({g['what']})\n\nus of one evaluation over the number of bodies; exponent from the last three.\n\n"
    text += table(["formulation", *(str(s) for s in sizes), "exponent"], lines)
    refused = "".join(f"\n- {name}: {why}" for name, why in g.get("failures", {}).items())
    return text + ("\n" + refused if refused else "")


def write(result: dict[str, Any], out: Path, plots: bool = True) -> list[Path]:
    """Write Markdown, JSON, CSV, and diagrams where matplotlib is installed. Returns the files written."""
    out.mkdir(parents=True, exist_ok=True)
    files = [out / "compare.md", out / "compare.json", out / "compare.csv"]
    files[0].write_text(report(result), encoding="utf-8")
    files[1].write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    with files[2].open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(Cell.__dataclass_fields__))
        writer.writeheader()
        for p in result["problems"]:
            for row in p["rows"]:
                writer.writerows(row["cells"])
                if row["failure"]:
                    writer.writerow({k: row[k] for k in ("problem", "formulation", "failure")})
    if plots:
        try:
            files += diagrams(result, out)
        except ImportError:
            say("matplotlib is not installed: no diagrams")
    return files


def diagrams(result: dict[str, Any], out: Path) -> list[Path]:
    """Draw work over precision of every problem, time over size of every family."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    files = []
    names = list(formulations())
    colours = {n: plt.get_cmap("tab20")(k % 20) for k, n in enumerate(names)}
    marks = {n: "osv^<>DPX*"[k % 10] for k, n in enumerate(names)}

    def draw(name: str, title: str, curves: dict[str, list[tuple[float, float]]], x: str, y: str) -> None:
        if not curves:
            return
        figure, axes = plt.subplots(figsize=(9, 5.5))
        for label, points in curves.items():
            axes.loglog(
                *zip(*points, strict=True), marker=marks[label], color=colours[label], label=label, lw=1, ms=5
            )
        axes.set(xlabel=x, ylabel=y, title=title)
        axes.grid(True, which="major", alpha=0.3)
        axes.legend(fontsize=7, bbox_to_anchor=(1.01, 1.0), loc="upper left")
        figure.tight_layout()
        files.append(out / f"{name}.png")
        figure.savefig(files[-1], dpi=110)
        plt.close(figure)

    for p in result["problems"]:
        curves = {}
        for row in p["rows"]:
            points = [(max(c["error"], 1e-16), 1e3 * c["cpu_s"]) for c in row["cells"] if c["error"]]
            if points:
                curves[row["formulation"]] = points
        draw(f"work_{p['problem']}", f"{p['problem']}: work and precision", curves, "error", "CPU ms")
    for g in result["growth"]:
        curves = {
            n: [(q["bodies"], 1e6 * q["evaluation"]) for q in c["points"]] for n, c in g["curves"].items()
        }
        file = "growth_" + g["family"].replace(" ", "_")
        draw(file, f"{g['family']}: one evaluation", curves, "bodies", "CPU us")
    return files


def chosen(kind: str, given: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """Return the names given, or all; a part of a formulation's name stands for all that have it."""
    if not given:
        return list(known)
    found: list[str] = []
    for name in given:
        hits = [name] if name in known else [k for k in known if name in k]
        if not hits:
            raise TreemechError(unknown(kind, name, list(known)))
        found += [h for h in hits if h not in found]
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command ``python -m treemech.benchmarks compare``."""
    from ..families.loops import GROWTH

    _one_thread()
    parser = argparse.ArgumentParser(
        prog="treemech.benchmarks compare", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--problem", nargs="+", action="extend", metavar="P", help="only these (or parts of names)"
    )
    parser.add_argument(
        "--formulation", nargs="+", action="extend", metavar="F", help="only these (or parts of names)"
    )
    parser.add_argument("--rtol", nargs="+", type=float, default=list(RTOLS), metavar="R")
    parser.add_argument(
        "--growth", nargs="*", metavar="FAMILY", help="only these families; none: --growth without a name"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="CPU time allowed for one integration")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes")
    parser.add_argument("--out", type=Path, default=Path("out/compare"), help="folder of the results")
    parser.add_argument("--page", type=Path, help="put the tables into this page (docs/formulations.md)")
    parser.add_argument("--no-plots", action="store_true")
    parser.add_argument("--list", action="store_true", help="names of problems and formulations, and leave")
    given = parser.parse_args(argv)
    if given.list:
        print("problems:", *cases(), sep="\n  ")
        print("formulations:", *(f"{n:28s}{k.source}" for n, k in formulations().items()), sep="\n  ")
        print("families:", *GROWTH, sep="\n  ")
        return 0
    try:
        problems = chosen("problem", given.problem, list(cases()))
        kinds = chosen("formulation", given.formulation, list(formulations()))
        if given.growth is None:
            growth = [] if given.problem else list(GROWTH)
        else:
            growth = chosen("family", given.growth, list(GROWTH)) if given.growth else []
    except TreemechError as error:
        print(error, file=sys.stderr)
        return 2
    if given.growth and not given.problem:
        problems = []
    result = measure(problems, kinds, given.rtol, given.seconds, growth, given.jobs)
    files = write(result, given.out, not given.no_plots)
    if given.page:
        fill_page(given.page, page_tables(result))
    print(report(result))
    print("written:", *files, sep="\n  ")
    return 0
