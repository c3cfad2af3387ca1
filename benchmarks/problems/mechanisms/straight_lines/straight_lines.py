"""Four straight-line linkages side by side: Roberts, Chebyshev, Watt, and Scott Russell (Peaucellier has a file of its own).

The first three are four-bars, each with a point of its coupler that follows a line nearly; Roberts' and Chebyshev's pass
through three points of it exactly. Scott Russell's slider-crank is exact. Proportions are the classical ones (Roberts:
cranks 1.2 times half the base), sizes ours. Known paths come from two circles that meet, without the library.
"""

from typing import NamedTuple

import numpy as np

import treemech as tm


class FourBar(NamedTuple):
    """A four-bar with a pen, its first pivot in the origin; the line, and how the crank is driven to and fro."""

    pivot: tuple[float, float]  # the second one
    crank: float
    coupler: float
    pen: tuple[float, float]  # on the coupler: along it, and to its left
    side: int  # of the line from crank to second pivot on which the coupler ends
    across: tuple[int, float]  # the coordinate that the line keeps, and its value
    drive: tuple[float, float]  # least and largest crank angle


FOUR_BARS = {
    "Roberts": FourBar((2, 0), 1.2, 1.0, (0.5, -np.sqrt(1.2**2 - 0.25)), 1, (1, 0.0), (0.60, 1.40)),
    "Chebyshev": FourBar((4, 0), 5.0, 2.0, (1.0, 0.0), -1, (1, 4.0), (0.66, 1.56)),
    "Watt": FourBar((3, 1), 1.5, 1.0, (0.5, 0.0), 1, (0, 1.5), (-0.36, 0.36)),
}
DURATION = 2.0
PLOTS = [(f"deviation of {name}",) for name in FOUR_BARS]


def system() -> tm.System:
    system = tm.System("straight-line linkages", gravity=(0, 0, 0))
    pin = tm.Revolute("z")

    def bar(name, length):
        return system.body(name, **tm.solids.rod((0, 0, 0), (length, 0, 0), mass=length).properties)

    for k, (name, f) in enumerate(FOUR_BARS.items()):
        at = np.array([6.0 * k, 0, 0])
        crank, coupler, rocker = (
            bar(f"{name} crank", f.crank),
            bar(name, f.coupler),
            bar(f"{name} rocker", f.crank),
        )
        system.connect(f"{name} A", pin, system.ground.at(at), crank)
        system.connect(f"{name} B", pin, crank.at((f.crank, 0, 0)), coupler)
        system.connect(f"{name} C", pin, coupler.at((f.coupler, 0, 0)), rocker.at((f.crank, 0, 0)))
        system.connect(f"{name} D", pin, system.ground.at(at + (*f.pivot, 0)), rocker)
        middle, swing = sum(f.drive) / 2, (f.drive[1] - f.drive[0]) / 2
        system.prescribe(f"{name} A", tm.Harmonic(swing, np.pi, offset=middle))
        system.measure(f"deviation of {name}", lambda run, name=name: deviation(run, name))
    crank, rod = bar("Scott Russell crank", 1.0), bar("Scott Russell", 2.0)
    slider = system.body("slider", **tm.solids.box((0.3, 0.2, 0.2), mass=1.0).properties)
    system.connect("E", pin, system.ground.at((18, 0, 0)), crank)
    system.connect("F", pin, crank.at((1, 0, 0)), rod.at((1, 0, 0)))
    system.connect("H", pin, rod, slider)
    system.connect("slide", tm.Prismatic("x"), system.ground.at((18, 0, 0)), slider)
    system.prescribe("E", tm.Harmonic(0.8, np.pi, offset=0.2))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    guess: dict[str, float] = {"F": np.pi - 0.4, "slide": 1.96}
    for name, f in FOUR_BARS.items():
        guess[f"{name} B"] = path(f, sum(f.drive) / 2)[1] - sum(f.drive) / 2
    return mech.assemble(guess=guess)


def path(f: FourBar, angle: float) -> tuple[np.ndarray, float]:
    """Return the pen and the angle of the coupler at a crank angle: two circles round crank end and second pivot."""
    end = f.crank * np.array([np.cos(angle), np.sin(angle)])
    gap = np.array(f.pivot) - end
    d = np.hypot(*gap)
    x = (d**2 + f.coupler**2 - f.crank**2) / (2 * d)
    along = (x * gap + f.side * np.sqrt(f.coupler**2 - x**2) * np.array([-gap[1], gap[0]])) / d / f.coupler
    left = np.array([-along[1], along[0]])
    return end + f.pen[0] * along + f.pen[1] * left, float(np.arctan2(along[1], along[0]))


def pen(run: tm.Run, name: str) -> np.ndarray:
    shift = (6.0 * list(FOUR_BARS).index(name), 0)
    return run.point(name, (*FOUR_BARS[name].pen, 0)).position[:, :2] - shift


def deviation(run: tm.Run, name: str) -> np.ndarray:
    """Return how far the pen is from its line."""
    axis, value = FOUR_BARS[name].across
    return pen(run, name)[:, axis] - value


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    found = {
        "Scott Russell: off the line": np.abs(run.point("Scott Russell", (2, 0, 0)).position[:, 0] - 18).max()
    }
    for name, f in FOUR_BARS.items():
        closed = np.array([path(f, a)[0] for a in run.connection(f"{name} A").q])
        found[f"{name}: off its path"] = np.abs(pen(run, name) - closed).max()
        found[f"{name}: off the line, of the stroke"] = np.abs(deviation(run, name)).max() / np.ptp(
            closed[:, 1 - f.across[0]]
        )
    return found


KNOWN = {
    "Scott Russell: off the line": (
        0.0,
        1e-11,
        "Thales: the ends of the rod and the pivot make a right angle",
    ),
    **{f"{name}: off its path": (0.0, 1e-10, "closed form: two circles") for name in FOUR_BARS},
}
