"""Pictures of studies: one result over another, and every run as a line over parameters and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import ElementError
from treemech.topology.arrays import Floats

from .pictures import pyplot

if TYPE_CHECKING:
    from ..many.runs import ManyRuns

_MOST = 2000  # lines; more are not told apart


def _column(runs: ManyRuns, name: str) -> Floats:
    values = np.asarray(runs[name], dtype=np.float64)
    if values.ndim != 1:
        raise ElementError(f"{name!r} has several numbers for a run, {values.shape[1:]}; wanted one.")
    return values


def scatter(runs: ManyRuns, x: str, y: str, color: str | None = None, ax: Any = None) -> Any:
    """Draw one column over another, coloured by a third; return the Axes."""
    plt = pyplot()
    ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")[1] if ax is None else ax
    shade = None if color is None else _column(runs, color)
    marks = ax.scatter(
        _column(runs, x),
        _column(runs, y),
        c=shade,
        s=max(2.0, min(25.0, 8000 / len(runs))),
        cmap="viridis",
        linewidths=0,
    )
    ax.set(xlabel=x, ylabel=y)
    if color is not None:
        ax.figure.colorbar(marks, ax=ax, label=color)
    failed = len(runs) - int(runs.success.sum())
    if failed:
        ax.set_title(f"{failed} of {len(runs)} runs failed and are not shown", fontsize="small")
    return ax


def parallel_coordinates(
    runs: ManyRuns, color: str, columns: Sequence[str] | None = None, ax: Any = None
) -> Any:
    """Draw every run as a line over its parameters and results, each on an axis of its own; return the Axes."""
    plt = pyplot()
    names = list(columns) if columns is not None else [
        *runs.parameters, *(n for n in runs.variables if np.ndim(runs[n]) == 1)
    ]  # fmt: skip
    if len(names) < 2:
        raise ElementError(f"parallel coordinates need two columns or more; there are {names}.")
    table = np.column_stack([_column(runs, name) for name in names])
    shade = _column(runs, color)
    good = np.flatnonzero(np.isfinite(table).all(axis=1) & np.isfinite(shade))
    if not len(good):
        raise ElementError("no run has all of these columns.")
    shown = good[np.linspace(0, len(good) - 1, min(len(good), _MOST)).astype(int)]
    shown = shown[np.argsort(shade[shown])]
    low, high = table[good].min(axis=0), table[good].max(axis=0)
    scaled = (table - low) / np.where(high > low, high - low, 1.0)
    ax = plt.subplots(figsize=(1.6 + 1.5 * len(names), 4.5), layout="constrained")[1] if ax is None else ax
    from matplotlib.collections import LineCollection

    places = np.arange(len(names), dtype=np.float64)
    lines = LineCollection(
        [np.column_stack((places, scaled[k])) for k in shown], cmap="viridis", alpha=max(0.2, min(0.9, 120 / len(shown))), linewidths=1.0
    )  # fmt: skip
    lines.set_array(shade[shown])
    ax.add_collection(lines)
    for place, a, b in zip(places, low, high, strict=True):
        ax.axvline(place, color="black", lw=0.8)
        for number, height, above in ((a, 0.0, -1), (b, 1.0, 1)):
            ax.annotate(
                f"{number:.4g}", (place, height), xytext=(0, 3 * above), textcoords="offset points", ha="center",
                va="bottom" if above > 0 else "top", fontsize="small", bbox={"fc": ax.get_facecolor(), "ec": "none", "pad": 1.0},
            )  # fmt: skip
    ax.set(xlim=(-0.2, len(names) - 0.8), ylim=(-0.1, 1.1), yticks=[])
    ax.set_xticks(places, names)
    ax.tick_params(axis="x", length=0, pad=8)
    for side in ax.spines.values():
        side.set_visible(False)
    bar = ax.figure.colorbar(lines, ax=ax, label=color)
    bar.solids.set(alpha=1)
    return ax
