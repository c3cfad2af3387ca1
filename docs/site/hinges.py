"""Draw docs/hinges.png: what the coordinates of every hinge measure. Run `python docs/site/hinges.py` after a change."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import treemech as tm

HINGES = (
    ("Revolute('z')", tm.Revolute("z"), [0.6], "angle"),
    ("Prismatic('x')", tm.Prismatic("x"), [0.9], "distance"),
    ("Cylindrical('z')", tm.Cylindrical("z"), [0.6, 0.5], "angle, distance"),
    ("Screw(pitch=0.5)", tm.Screw(pitch=0.5), [1.0], "angle; advance = pitch * angle"),
    ("Universal()", tm.Universal(), [0.5, 0.5], "about x of a, about y of b"),
    ("Planar()", tm.Planar(), [0.7, 0.4, 0.5], "x, y, angle about z"),
    ("Translation()", tm.Translation(), [0.6, 0.5, 0.4], "x, y, z"),
    ("Polar()", tm.Polar(), [0.7, 0.8, 0.5], "angle, distance, turn"),
    ("Ball()", tm.Ball(), [0.92, 0.2, 0.2, 0.26], "Euler parameters"),
    ("BallBryant()", tm.BallBryant(), [0.3, 0.4, 0.5], "angles about x, y, z"),
    ("Free()", tm.Free(), [0.6, 0.4, 0.3, 0.95, 0.1, 0.2, 0.2], "x, y, z, Euler parameters"),
    ("Curve(points)", tm.Curve([(0, 0, 0), (0.4, 0.3, 0), (0.8, 0.2, 0.2), (1.1, 0.5, 0.4), (1.3, 0.9, 0.4), (1.2, 1.2, 0.2)]), [1.0], "along the curve"),
)  # fmt: skip
COLORS = ("#c0392b", "#2e8b57", "#2b5d8a")


def base(axes: plt.Axes, at: np.ndarray, rotation: np.ndarray, size: float, faint: bool) -> None:
    """Draw three axes."""
    for k, color in enumerate(COLORS):
        axes.quiver(
            *at, *(size * rotation[:, k]), color=color, alpha=0.35 if faint else 1.0, arrow_length_ratio=0.2
        )


def main() -> None:
    figure = plt.figure(figsize=(12, 8.6))
    for k, (title, hinge, q, what) in enumerate(HINGES):
        axes = figure.add_subplot(3, 4, k + 1, projection="3d")
        q = np.array(q)
        if hinge.euler_parameters is not None:
            e = slice(hinge.euler_parameters, hinge.euler_parameters + 4)
            q[e] /= np.linalg.norm(q[e])
        turn, motion = hinge.base(), hinge.motion(q=q)
        offset, rotation = turn @ motion.offset, turn @ motion.rotation @ turn.T
        base(axes, np.zeros(3), np.eye(3), 0.9, True)
        base(axes, offset, rotation, 0.7, False)
        if isinstance(hinge, tm.Curve):
            path = np.array([hinge.motion(q=[s]).offset for s in np.linspace(0, 1.9, 60)])
            axes.plot(*path.T, color="#888888")
        elif np.linalg.norm(offset) > 0:
            axes.plot(*np.column_stack((np.zeros(3), offset)), "--", color="#888888")
        axes.set(xlim=(-0.2, 1.25), ylim=(-0.2, 1.25), zlim=(-0.2, 1.25))
        axes.set_title(f"{title}\n{what}", fontsize=11, y=0.93)
        axes.set_box_aspect((1, 1, 1), zoom=1.2)
        axes.set_axis_off()
        axes.view_init(22, -50)
    figure.text(
        0.5,
        0.01,
        "faint: base of end a; full: base of end b.  x red, y green, z blue",
        ha="center",
        fontsize=11,
    )
    figure.subplots_adjust(0, 0.03, 1, 0.95, 0, 0.12)
    figure.savefig(Path(__file__).resolve().parents[1] / "hinges.png", dpi=90)


if __name__ == "__main__":
    main()
