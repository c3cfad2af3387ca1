"""Draw docs/hinges.png: what the coordinates of every hinge measure. Run `python docs/site/hinges.py` after a change.

Every hinge is shown as the moves and turns that its coordinates make, one after the other, with the number of the
coordinate beside each; the script checks that they end where the hinge itself ends.
"""

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patheffects import withStroke

import treemech as tm

X, Y, Z = np.eye(3)
X_LEFT = np.array((-1.1, 0.2, 0.9))  # up and left in the picture
N = np.array((0.3, 0.5, 0.81)) / np.linalg.norm((0.3, 0.5, 0.81))  # the axis of a turn of a ball
PATH = [(0, 0, 0), (0.4, 0.3, 0), (0.8, 0.2, 0.2), (1.1, 0.5, 0.4), (1.3, 0.9, 0.4), (1.2, 1.2, 0.2)]


def euler(angle: float) -> list[float]:
    return [np.cos(angle / 2), *(np.sin(angle / 2) * N)]


# title, what is below it, the hinge, q, and the steps: (kind, direction in the base so far, amount, label)
HINGES: tuple[tuple[str, str, Any, list[float], list[tuple[str, Any, float, str]]], ...] = (
    ('Revolute("z")', "an angle", tm.Revolute("z"), [0.7], [("turn", Z, 0.7, "q")]),
    ('Prismatic("x")', "a distance", tm.Prismatic("x"), [0.8], [("move", X, 0.8, "q")]),
    ('Cylindrical("z")', "angle, distance", tm.Cylindrical("z"), [0.7, 0.6],
     [("turn", Z, 0.7, "q[0]"), ("move", Z, 0.6, "q[1]")]),
    ("Screw(pitch=0.6)", "an angle; advance = pitch times angle", tm.Screw(pitch=0.6), [0.9],
     [("turn", Z, 0.9, "q"), ("move", Z, 0.54, "pitch q")]),
    ("Universal()", "angle about x of a, then about y of b", tm.Universal(), [0.6, 0.6],
     [("turn", X, 0.6, "q[0]"), ("turn", Y, 0.6, "q[1]")]),
    ("Planar()", "x, y, then the angle about z", tm.Planar(), [0.8, 0.5, 0.6],
     [("move", X, 0.8, "q[0]"), ("move", Y, 0.5, "q[1]"), ("turn", Z, 0.6, "q[2]")]),
    ("Polar()", "angle, distance; the angle of b to a", tm.Polar(), [0.6, 0.9, 0.9],
     [("turn", Z, 0.6, "q[0]"), ("move", X, 0.9, "q[1]"), ("back", Z, -0.6, ""), ("turn", Z, 0.9, "q[2]")]),
    ("Translation()", "x, y, z", tm.Translation(), [0.7, 0.5, 0.5],
     [("move", X, 0.7, "q[0]"), ("move", Y, 0.5, "q[1]"), ("move", Z, 0.5, "q[2]")]),
    ("BallBryant()", "angles about x, then y, then z of b", tm.BallBryant(), [0.5, 0.5, 0.5],
     [("turn", X, 0.5, "q[0]"), ("turn", Y, 0.5, "q[1]"), ("turn", Z, 0.5, "q[2]")]),
    ("Ball()", "q = cos(φ/2), n sin(φ/2)", tm.Ball(), euler(0.9), [("turn", N, 0.9, "φ")]),
    ("Free()", "x, y, z, then q[3:7] as Ball()", tm.Free(), [0.6, 0.5, 0.4, *euler(0.9)],
     [("move", X, 0.6, "q[0]"), ("move", Y, 0.5, "q[1]"), ("move", Z, 0.4, "q[2]"), ("turn", N, 0.9, "φ")]),
    ("Curve(points)", "the way along the curve, nearly", tm.Curve(PATH), [1.0], []),
)  # fmt: skip
COLORS = ("#c0392b", "#2e8b57", "#2b5d8a")
INK = "#222222"
HALO = [withStroke(linewidth=3.5, foreground="white")]  # letters stay readable on lines


def turning(axis: np.ndarray, angle: float) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_rotvec(angle * axis).as_matrix()


def base(axes: Any, at: np.ndarray, rotation: np.ndarray, size: float, faint: bool, letter: str) -> None:
    """Draw three axes with the name of their end."""
    for k, color in enumerate(COLORS):
        tip = size * rotation[:, k]
        axes.quiver(
            *at, *tip, color=color, alpha=0.4 if faint else 1.0, arrow_length_ratio=0.16, linewidth=1.6
        )
        axes.text(
            *(at + 1.13 * tip), "xyz"[k], color=color, alpha=0.6 if faint else 1.0, fontsize=9, ha="center"
        )
    axes.text(
        *(at + 0.11 * (X_LEFT if letter == "b" else -rotation.sum(axis=1))), letter, fontsize=12, weight="bold", ha="center",
        va="center", path_effects=HALO,
    )  # fmt: skip


def across(direction: np.ndarray) -> np.ndarray:
    """Return the direction across an axis from which its arc starts."""
    if direction is N:
        own = np.cross(N, Z)
        return own / np.linalg.norm(own)
    return Y if direction is X else X


def turn(
    axes: Any, at: np.ndarray, axis: np.ndarray, first: np.ndarray, angle: float, label: str, rank: int
) -> None:
    """Draw an arc about an axis, with an arrow at its end."""
    second, radius = np.cross(axis, first), 0.4 + 0.22 * rank
    s = np.linspace(0.0, angle, 30)[:, None]
    arc = at + radius * (np.cos(s) * first + np.sin(s) * second)
    axes.plot(*arc.T, color=INK, linewidth=2.2)
    axes.quiver(*arc[-6], *(1.15 * (arc[-1] - arc[-6])), color=INK, arrow_length_ratio=0.9, linewidth=2.2)
    axes.plot(*np.column_stack((at, at + 0.75 * axis)), ":", color=INK, linewidth=1.0)
    middle = arc[15] + 0.17 * (arc[15] - at) / radius
    axes.text(*middle, label, fontsize=12, color=INK, ha="center", va="center", path_effects=HALO)


def move(axes: Any, at: np.ndarray, way: np.ndarray, label: str, part: float) -> None:
    """Draw a way with an arrow at its end."""
    axes.quiver(*at, *way, color=INK, arrow_length_ratio=0.12 / np.linalg.norm(way), linewidth=2.2)
    beside = np.array((0.24, -0.05, 0.0) if abs(way[2]) > 0.5 * np.linalg.norm(way) else (0.0, 0.0, -0.14))
    middle = at + part * way + beside
    axes.text(*middle, label, fontsize=12, color=INK, ha="center", va="center", path_effects=HALO)


def main() -> None:
    figure = plt.figure(figsize=(13.5, 11))
    for number, (title, what, hinge, q, steps) in enumerate(HINGES):
        axes = figure.add_subplot(3, 4, number + 1, projection="3d", computed_zorder=False)
        own = hinge.base()
        found = hinge.motion(q=q)
        offset, rotation = own @ found.offset, own @ found.rotation @ own.T
        at, R, turns = np.zeros(3), np.eye(3), 0
        base(axes, at, R, 1.0, True, "a")
        for kind, direction, amount, label in steps:
            if kind == "move":
                move(axes, at, amount * (R @ direction), label, 0.75 if turns else 0.45)
                at, turns = at + amount * (R @ direction), 0
            else:
                if kind == "turn":
                    turn(axes, at, R @ direction, R @ across(direction), amount, label, turns)
                R, turns = R @ turning(direction, amount), turns + 1
        if steps:
            assert np.allclose(at, offset) and np.allclose(R, rotation), title
        else:
            path = np.array([hinge.motion(q=[s]).offset for s in np.linspace(0, 1.9, 60)])
            axes.plot(*path.T, color="#888888")
            reached = np.array([hinge.motion(q=[s]).offset for s in np.linspace(0, q[0], 30)])
            axes.plot(*reached.T, color=INK, linewidth=2.6)
            axes.text(*(reached[15] + (0.0, 0.0, 0.12)), "q", fontsize=12)
        base(axes, offset, rotation, 0.72, False, "b" if np.linalg.norm(offset) > 0 else "")
        axes.set(xlim=(-0.1, 1.3), ylim=(-0.1, 1.3), zlim=(-0.15, 1.25))
        axes.text2D(
            0.5,
            0.985,
            title,
            transform=axes.transAxes,
            ha="center",
            fontsize=13,
            weight="bold",
            family="monospace",
        )
        axes.text2D(0.5, 0.915, what, transform=axes.transAxes, ha="center", fontsize=11)
        axes.set_box_aspect((1, 1, 1), zoom=1.12)
        for artist in axes.get_children():
            artist.set_clip_on(False)
        axes.set_axis_off()
        axes.view_init(24, -52)
    figure.text(0.5, 0.012, "faint: axes of end a; full: axes of end b", ha="center", fontsize=12)
    figure.subplots_adjust(0.0, 0.03, 1.0, 0.97, 0.0, 0.06)
    figure.savefig(Path(__file__).resolve().parents[1] / "hinges.png", dpi=110)


if __name__ == "__main__":
    main()
