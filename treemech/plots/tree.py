"""Picture of the tree of a mechanism, as in figures 4.4 to 4.6 of the thesis.

Bodies are circles with their regular numbers, branches solid lines, chords dotted, springs, motors and loads dashed.
A deep tree is folded into several columns, so that sixty links in a row stay readable; a tree with many leaves lies on its side, its
names below each other.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import Connection, Tree

from ..description.listing import joined_bodies
from ..results.naming import as_place
from .pictures import picture_path, pyplot, save_picture

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_BRANCH, _CHORD, _ELEMENT = "#2b5d8a", "#b3401f", "#5c7f45"
_MOST_ROWS = 13  # levels of the tree in one column
_MOST_LEAVES = 9  # side by side; a tree with more of them lies on its side
_LYING = (3.3, 0.45)  # inches between levels and between leaves of one that lies


def draw_tree(mech: "Mechanism", path: str | Path) -> Path:
    """Draw the tree of a mechanism into a file; return its path."""
    target = picture_path(path, "mech.draw")
    places = _places(mech.tree)
    wide, high = places.max(axis=0) - places.min(axis=0) if len(places) > 1 else (0.0, 0.0)
    if wide + 1 > _MOST_LEAVES and high < _MOST_ROWS:
        places, text = np.column_stack((-places[:, 1], -places[:, 0])), 8.5
        inches = 1.0 + _LYING[0] * (high + 1), 0.6 + _LYING[1] * (wide + 1)
    else:
        size = float(np.clip(12.0 / max(wide + 1, high + 1, 6.0), 0.6, 1.4))  # inches between neighbours
        inches, text = (1.0 + size * 1.4 * (wide + 1), 0.6 + size * (high + 1)), 8.5 if size > 0.9 else 7.0
    figure, axes = pyplot().subplots(figsize=inches)
    axes.set_xlim(places[:, 0].min() - 0.4, places[:, 0].max() + 0.9)
    axes.set_ylim(places[:, 1].min() - 0.4, places[:, 1].max() + 0.4)
    labels = _Labels(axes, text)
    for place, body in zip(places, mech.tree.bodies, strict=True):
        labels.take(place, "00", text, "center")
        labels.take(
            axes.transData.inverted().transform(labels.pixels(place) + 1.6 * text),
            body.name,
            1.1 * text,
            "left",
        )
    _draw_connections(axes, mech.tree, places, labels)
    _draw_elements(axes, mech, places, labels)
    for k, body in enumerate(mech.tree.bodies):
        x, y = places[k]
        ground = {"facecolor": "#d8d8d8", "boxstyle": "square,pad=0.35"}
        moving = {"facecolor": "white", "boxstyle": "circle,pad=0.3"}
        box = {"edgecolor": "#333333"} | (moving if k else ground)
        axes.text(x, y, str(k), ha="center", va="center", fontsize=text, zorder=3, bbox=box)
        axes.annotate(
            body.name, (x, y), (0.9 * text, 0.9 * text), textcoords="offset points", fontsize=text, zorder=4, weight="bold",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.2, "alpha": 0.8},
        )  # fmt: skip
    axes.set_axis_off()
    axes.set_title(mech.name, fontsize=text + 2)
    return save_picture(figure, target, dpi=150)


class _Labels:
    """Where text stands in a picture, so that new text finds a free place."""

    def __init__(self, axes: Any, text: float) -> None:
        self.axes, self.text, self._taken = axes, text, list[tuple[float, float, float, float]]()
        self.unit = axes.figure.dpi / 72.0  # pixels in a point

    def pixels(self, place: Any) -> Any:
        return self.axes.transData.transform(place)

    def box(self, place: Any, label: str, size: float, ha: str) -> tuple[float, float, float, float]:
        """Return the box of a text in pixels: left, right, bottom, top."""
        (x, y), wide, high = (
            self.pixels(place),
            0.56 * size * len(label) * self.unit,
            0.6 * size * self.unit,
        )
        left = x if ha == "left" else x - 0.5 * wide
        return left, left + wide, y - high, y + high

    def take(self, place: Any, label: str, size: float, ha: str) -> None:
        self._taken.append(self.box(place, label, size, ha))

    def free(self, places: Sequence[Any], label: str, ha: str) -> Any:
        """Return the first of some places where a text covers no other one, and keep it; the first of all if none is free."""
        for place in places:
            a = self.box(place, label, self.text - 1, ha)
            if not any(a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3] for b in self._taken):
                break
        else:
            place = places[0]
        self.take(place, label, self.text - 1, ha)
        return place


def _places(tree: Tree) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return where every body is drawn: leaves side by side, parents over the middle of their children, folded."""
    n = len(tree.bodies)
    width, leaf = np.zeros(n), 0.0
    children: list[list[int]] = [[] for _ in range(n)]
    for k in range(1, n):
        children[int(tree.parent[k])].append(k)
    for k in range(n - 1, -1, -1):  # regular numbering: children come before their parents here
        if children[k]:
            width[k] = np.mean([width[j] for j in children[k]])
        else:
            width[k], leaf = leaf, leaf - 1.0
    width -= width.min()
    depth = np.asarray(tree.depth, dtype=np.int64)
    columns = -(-(int(depth.max()) + 1) // _MOST_ROWS)
    rows = -(-(int(depth.max()) + 1) // columns)
    column, row = depth // rows, depth % rows
    x = width + column * (width.max() + 1.4)
    return np.column_stack((x, -np.where(column % 2, rows - 1 - row, row).astype(np.float64)))


def _draw_connections(axes: Any, tree: Tree, places: Any, labels: _Labels) -> None:
    for k, branch in enumerate(tree.branches, 1):
        arrow = "" if branch.forward else " (reversed)"
        _line(
            axes, places[tree.parent[k]], places[k], "-", _BRANCH, _label(branch.connection) + arrow, labels
        )
    seen: dict[tuple[int, ...], int] = {}
    for chord in tree.chords:
        a, b = (tree.numbers[end.body.name] for end in chord.ends)
        between = tuple(sorted((a, b)))
        seen[between] = seen.get(between, 0) + 1
        _line(axes, places[a], places[b], ":", _CHORD, _label(chord), labels, bend=0.22 * seen[between])


def _draw_elements(axes: Any, mech: "Mechanism", places: Any, labels: _Labels) -> None:
    """Draw springs, motors and loads: dashed, between bodies, or on the hinge whose coordinate they act on."""
    tree, count, text = mech.tree, dict[Any, int](), labels.text
    owners: dict[str, tuple[int, ...]] = {
        b.connection.name: (int(tree.parent[k]), k) for k, b in enumerate(tree.branches, 1)
    }
    owners |= {c.name: tuple(tree.numbers[e.body.name] for e in c.ends) for c in tree.chords}
    for element in mech._wiring.elements.values():
        bodies = [tree.numbers[name] for name in joined_bodies(element) if name in tree.numbers]
        label = f"{element.name}: {element.element.kind}"
        if len(bodies) > 1:
            key = tuple(sorted(bodies[:2]))
            count[key] = count.get(key, 0) + 1
            for a, b in pairwise(bodies):
                _line(axes, places[a], places[b], "--", _ELEMENT, label, labels, bend=-0.2 * count[key])
                label = ""
            continue
        hinges = [as_place(name).owner for name, _ in element.coordinates]
        ends = owners.get(hinges[0]) if hinges else None
        at = np.mean([places[k] for k in ends], axis=0) if ends else places[bodies[0]] if bodies else None
        if at is not None:
            key = tuple(at)
            count[key] = count.get(key, 0) + 1
            axes.annotate(
                label, at, (5.0 * text, -2.0 * text * count[key]), textcoords="offset points", fontsize=text, color=_ELEMENT,
                arrowprops={"arrowstyle": "-", "linestyle": "--", "color": _ELEMENT, "linewidth": 1.0},
            )  # fmt: skip


def _line(
    axes: Any, a: Any, b: Any, style: str, color: str, label: str, labels: _Labels, bend: float = 0.0
) -> None:
    """Draw a line, or an arc, between two places, with its label in the middle or where there is room."""
    axes.annotate(
        "", b, a, zorder=1, annotation_clip=False,
        arrowprops={"arrowstyle": "-", "linestyle": style, "color": color, "linewidth": 1.5,
                    "connectionstyle": f"arc3,rad={bend}"},
    )  # fmt: skip
    if label:
        text, p, r = labels.text, labels.pixels(a), labels.pixels(b)
        away = bend * np.array([r[1] - p[1], p[0] - r[0]])
        along = (0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78)  # of the arc, which is a parabola
        arc = [(1.0 - s) * p + s * r + 2.0 * s * (1.0 - s) * away for s in along]
        spots = labels.axes.transData.inverted().transform(arc)
        level = bend == 0.0 and abs(p[1] - r[1]) < 0.1 * abs(p[0] - r[0])
        level = level and abs(p[0] - r[0]) < 2.0 * labels.unit * 72.0  # over a long line there is room on it
        ha = "left" if bend == 0.0 and abs(p[1] - r[1]) > 0.7 * abs(p[0] - r[0]) else "center"
        axes.text(
            *labels.free(spots, label, ha), label, fontsize=text - 1, color=color, ha=ha,
            va="bottom" if level else "center", zorder=2, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3, "alpha": 0.75},
        )  # fmt: skip


def _label(connection: Connection) -> str:
    return f" {connection.name}: {type(connection.element).__name__}"
