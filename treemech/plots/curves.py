"""Curves of a run by matplotlib: signals over time or over each other, with their units."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import ElementError

from ..results.naming import as_place
from ..results.refine import refined
from .pictures import picture_path, pyplot, save_picture
from .signals import Signal, signals

if TYPE_CHECKING:
    from ..results.run import Run

_PICTURES = (".png", ".pdf", ".svg")
_MOST = 12  # curves in one overview


def plot_run(
    run: "Run",
    names: Sequence[Any],
    x: str = "t",
    path: str | Path | None = None,
    smooth: bool = True,
    axes: Any = None,
) -> Any:
    """Draw signals of a run; return the Axes, or an array of them if the signals have several units."""
    names, path = _without_path(names, path)
    target = None if path is None else picture_path(path, "run.plot")
    shown = refined(run) if smooth else run
    along = signals(shown, x)
    if len(along) != 1:
        raise ElementError(f"run.plot: x={x!r} stands for {len(along)} numbers: add a place, '{x}[0]'.")
    panels = _by_unit(shown, names) if names else _overview(shown)
    panels = [[_at_outputs(run, shown, signal) for signal in panel] for panel in panels]
    return _draw(panels, along[0], run._info.name, axes, target)


def plot_phase(
    run: "Run", name: str, path: str | Path | None = None, smooth: bool = True, axes: Any = None
) -> Any:
    """Draw the speed of a coordinate over the coordinate."""
    if not isinstance(name, str):
        raise ElementError(
            f"run.phase: name is {name!r}; wanted the name of a coordinate, such as 'A' or 'A[1]'."
        )
    place = as_place(name, {c.name for c in run._info.connections})
    index = "" if place.index is None else f"[{place.index}]"
    target = None if path is None else picture_path(path, "run.phase")
    shown = refined(run) if smooth else run
    q, u = (signals(shown, f"{place.owner}.{quantity}{index}") for quantity in "qu")
    if len(q) != 1 or len(u) != 1:
        raise ElementError(
            f"run.phase: {name!r} has {len(q)} coordinates: add the number of one, {name!r} + '[0]'."
        )
    return _draw([u], q[0], run._info.name, axes, target)


def _at_outputs(run: "Run", shown: "Run", signal: Signal) -> Signal:
    """Return a balance as it is at the outputs, joined smoothly: between them it would show the error of the polynomials.

    The total energy is constant to many digits, and residuals are rounding; coordinates, loads and the other energies
    change, and are known between the outputs to more digits than a picture shows.
    """
    if shown is run or not (signal.label == "energy.total" or signal.label.startswith("residual.")):
        return signal
    (whole,) = signals(run, signal.label)
    values = whole.values
    order = np.sign(run.t[-1] - run.t[0])
    if np.all(order * np.diff(run.t) > 0.0):
        from scipy.interpolate import PchipInterpolator

        return signal._replace(values=PchipInterpolator(order * run.t, values)(order * shown.t))
    return signal._replace(values=np.interp(order * shown.t, order * run.t, values))


def _without_path(names: Sequence[Any], path: Any) -> tuple[Sequence[Any], Any]:
    """Take a path out of the names: a Path, or one text that ends as a picture does."""
    if (
        len(names) == 1
        and path is None
        and not (isinstance(names[0], str) and not names[0].lower().endswith(_PICTURES))
    ):
        return (), names[0]
    return names, path


def _by_unit(run: "Run", names: Sequence[str]) -> list[list[Signal]]:
    """Return the signals in groups of one unit, in the order in which units come first."""
    panels: dict[str, list[Signal]] = {}
    for name in names:
        found = signals(run, name)
        if not found:
            raise ElementError(f"run.plot: {name!r} has no numbers.")
        for signal in found:
            panels.setdefault(signal.unit, []).append(signal)
    return list(panels.values())


def _overview(run: "Run") -> list[list[Signal]]:
    """Return all coordinates, all speeds, and the energies: three groups."""
    panels: list[list[Signal]] = []
    for quantity in ("q", "u"):
        panels.append([])
        for connection in run._info.connections:
            if connection.nq and len(panels[-1]) < _MOST:
                panels[-1] += signals(run, f"{connection.name}.{quantity}")
    stored = ["stored"] if np.any(run.energy.stored) else []
    energies = [
        s for part in ("kinetic", "potential", *stored, "total") for s in signals(run, f"energy.{part}")
    ]
    return [panel for panel in (*panels, energies) if panel]


def _draw(panels: list[list[Signal]], along: Signal, title: str, axes: Any, target: Path | None) -> Any:
    """Draw every group of signals in a panel of its own, or all of them in the given axes."""
    plt = pyplot()
    if axes is not None and not hasattr(axes, "plot"):
        raise ElementError(f"axes is {axes!r}; wanted Axes of matplotlib.")
    if axes is not None:
        panels = [[signal for panel in panels for signal in panel]]
        figure, grid = axes.figure, [axes]
    else:
        figure, made = plt.subplots(
            len(panels),
            1,
            sharex=True,
            squeeze=False,
            figsize=(7.0, 1.4 + 2.2 * len(panels)),
            layout="constrained",
        )
        grid = list(made[:, 0])
    for panel, one in zip(panels, grid, strict=True):
        for signal in panel:
            one.plot(along.values, signal.values, label=signal.label)
        one.set_ylabel(_axis(panel))
        one.grid(True, alpha=0.25)
        if len(panel) > 1:
            one.legend(fontsize=8, ncols=1 + len(panel) // 6)
    grid[-1].set_xlabel(_axis([along]))
    if axes is None:
        grid[0].set_title(title)
    if target is not None:
        save_picture(figure, target, close=axes is None)
    return grid[0] if len(grid) == 1 else np.array(grid, dtype=object)


def _axis(panel: list[Signal]) -> str:
    """Return the text beside an axis: the name of one signal, or what several have in common, and the unit."""
    units = list(dict.fromkeys(signal.unit for signal in panel))
    unit = units[0] if len(units) == 1 else ""
    quantities = list(dict.fromkeys(signal.label.rpartition(".")[2].partition("[")[0] for signal in panel))
    owners = list(dict.fromkeys(signal.label.partition(".")[0] for signal in panel))
    text = panel[0].label if len(panel) == 1 else (quantities if len(quantities) == 1 else [*owners, ""])[0]
    if len(panel) > 1 and len(quantities) > 1 and len(owners) > 1:
        text = ""
    return (f"{text} [{unit}]" if unit not in ("", "1") else text).strip()
