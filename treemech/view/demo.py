"""The demonstration: Sol's fuel pump on its oil films, beside the numbers of the thesis, and a four-bar with a spring."""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

PLOTS = {"four_bar": ("A.q", "A.u", "spring.effort")}
NEXT = (
    "treemech example pump --set pressure=80e6 --out out/high    the pump under the pressure of a modern one",
    "treemech example                                            all models that come with the library",
    "docs/tutorial.md                                            a model of your own, step by step",
)


def run_demo(folder: Path, duration: float = 10.0) -> Iterator[tuple[Path, str]]:
    """Simulate both and write; yields (path, what it is). The four-bar moves for `duration` [s]."""
    from .. import examples

    folder.mkdir(parents=True, exist_ok=True)
    summary: dict[str, Any] = {"success": True}
    table = []
    options: dict[str, dict[str, Any]] = {
        "pump": {"audit": False, "t_eval": np.linspace(0.0, examples.find("pump").duration, 4321)},
        "four_bar": {"t_span": (0.0, duration)},
    }
    for name, given in options.items():
        example = examples.find(name)
        mech = example.mechanism
        print(f"{example.description.splitlines()[0]}\n{mech.draw()}")
        run = example.run(**given)
        print(f"{name}: {run.message}")
        summary["success"] = bool(summary["success"] and run.success)
        summary[name] = {"success": run.success, "message": run.message, **run.statistics}
        yield run.animate(folder / f"{name}.html"), "animation: open it in a browser"
        yield run.save(folder / f"{name}.npz"), "the whole run: treemech.read() brings it back"
        if not run.success:
            continue
        ours = example.measured(run)
        table += comparison(
            f"{name}: our values beside those of the thesis and of closed forms", ours, example.known
        )
        summary[name]["values"] = {key: float(value) for key, value in ours.items()}
        if find_spec("matplotlib") is None:  # an extra
            print("no curves: pip install treemech[plot]")
        elif name == "pump":
            from treemech.benchmarks.runs.pump import figures

            yield from (
                (path, "figures of the thesis; dashed: what it prints") for path in figures(folder, run)
            )
        else:
            run.plot(*PLOTS[name], path=folder / f"{name}.png")
            yield folder / f"{name}.png", "curves: " + ", ".join(PLOTS[name])
    (folder / "demo.txt").write_text("\n".join(table) + "\n", encoding="utf-8")
    print("\n" + "\n".join(table))
    yield folder / "demo.txt", "our values beside the known ones"
    (folder / "demo.json").write_text(json.dumps(summary, indent=1), encoding="utf-8")
    yield folder / "demo.json", "summary"


def comparison(title: str, ours: dict[str, Any], known: dict[str, Any]) -> list[str]:
    """Return a table of our values, known values and where these come from, as lines."""
    rows = [
        (
            name,
            f"{float(value):.6g}",
            f"{float(known[name].value):.6g}" if name in known else "",
            known[name].source if name in known else "",
        )
        for name, value in ours.items()
    ]
    rows.insert(0, ("", "ours", "known", "where from"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return [title, *(f"  {line}" for line in lines), ""]
