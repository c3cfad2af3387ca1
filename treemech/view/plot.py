"""Pictures by matplotlib (an extra): the tree of a mechanism, and curves of a run."""

from pathlib import Path
from typing import Any

import numpy as np

from treemech.topology import Tree, TreemechError

from ..files.atomic import as_path
from ..results.naming import numbered


def _pyplot() -> Any:
    try:
        import matplotlib

        matplotlib.use("Agg", force=False)
        import matplotlib.pyplot as plt
    except ImportError:
        raise TreemechError("pictures need matplotlib: pip install treemech[plot].") from None
    return plt


def picture_path(path: object, what: str) -> Path:
    """Return the path of a picture, with .png added if it has no suffix; refuse suffixes matplotlib does not write."""
    target = as_path(path, what)
    if not target.suffix:
        return target.with_name(target.name + ".png")
    from matplotlib.backend_bases import FigureCanvasBase

    kinds = sorted(FigureCanvasBase.get_supported_filetypes())
    if target.suffix[1:].lower() not in kinds:
        raise TreemechError(
            f"{what}: {target.name!r} is no picture that matplotlib writes; the first argument is a path that ends in "
            f"{', '.join('.' + kind for kind in kinds)}."
        )
    return target


def draw_tree(tree: Tree, path: str | Path) -> Path:
    """Draw the tree: bodies by depth, branches solid, chords dotted (figure 4.4)."""
    plt = _pyplot()
    target = picture_path(path, "mech.draw")
    n = len(tree.bodies)
    width = np.zeros(n)
    leaf = 0.0
    for k in range(n - 1, -1, -1):  # leaves side by side, every parent over the middle of its children
        children = [j for j in range(k + 1, n) if tree.parent[j] == k]
        if children:
            width[k] = np.mean([width[j] for j in children])
        else:
            width[k], leaf = leaf, leaf - 1.0
    figure, axes = plt.subplots(figsize=(1.5 + 1.3 * max(-leaf, 1), 1.5 + 1.1 * (int(tree.depth.max()) + 1)))
    for k in range(1, n):
        p, branch = int(tree.parent[k]), tree.branches[k - 1]
        x, y = (width[p], width[k]), (-tree.depth[p], -tree.depth[k])
        axes.plot(x, y, "-", color="#2b5d8a", zorder=1)
        arrow = "" if branch.forward else " (reversed)"
        axes.text(np.mean(x), np.mean(y), f"{branch.connection.name}{arrow}", fontsize=8, color="#2b5d8a")
    for chord in tree.chords:
        ends = [tree.numbers[end.body.name] for end in chord.ends]
        x, y = tuple(width[k] for k in ends), tuple(-tree.depth[k] for k in ends)
        axes.plot(x, y, ":", color="#b3401f", zorder=1)
        axes.text(np.mean(x), np.mean(y), chord.name, fontsize=8, color="#b3401f")
    for k, body in enumerate(tree.bodies):
        axes.text(
            width[k], -tree.depth[k], body.name, ha="center", va="center", zorder=2,
            bbox={"boxstyle": "round", "facecolor": "white", "edgecolor": "#444"},
        )  # fmt: skip
    axes.set_axis_off()
    axes.margins(0.2)
    figure.savefig(target, dpi=150, bbox_inches="tight")
    plt.close(figure)
    return target


def plot_signals(t: Any, curves: dict[str, Any], path: str | Path, title: str) -> Path:
    """Plot named signals over time into one picture."""
    plt = _pyplot()
    target = picture_path(path, "plot_signals")
    figure, axes = plt.subplots(figsize=(8, 4))
    for name, values in curves.items():
        axes.plot(t, values, label=name)
    axes.set_xlabel("t [s]")
    axes.set_title(title)
    axes.legend(fontsize=8)
    figure.savefig(target, dpi=120, bbox_inches="tight")
    plt.close(figure)
    return target


def plot_run(run: Any, path: str | Path | None = None) -> Any:
    """Plot coordinates, speeds and energies over time."""
    plt = _pyplot()
    target = None if path is None else picture_path(path, "run.plot")
    figure, (top, middle, bottom) = plt.subplots(3, 1, sharex=True, figsize=(8, 8))
    for hinge in run._info.hinges[:12]:
        for k, label in enumerate(numbered(hinge.name, hinge.nq)):
            top.plot(run.t, run.q[:, hinge.q + k], label=label)
        for k in range(hinge.nu):
            middle.plot(run.t, run.u[:, hinge.u + k])
    energy = run.energy
    for label in ("kinetic", "potential", "total"):
        bottom.plot(run.t, getattr(energy, label), label=label)
    top.set_ylabel("q")
    middle.set_ylabel("u")
    bottom.set_ylabel("energy [J]")
    bottom.set_xlabel("t [s]")
    top.legend(fontsize=8, ncols=4)
    bottom.legend(fontsize=8)
    top.set_title(run._info.name)
    if target is not None:
        figure.savefig(target, dpi=120, bbox_inches="tight")
        plt.close(figure)
    return figure
