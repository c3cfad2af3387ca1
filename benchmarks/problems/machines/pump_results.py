"""What the pump is held to: closed forms of its kinematics, film and stress in the contact of a run.

The closed forms are written out for the profile's parts and know nothing of the elements in `pump`.
"""

from math import acos, cos, sin, sqrt, tan
from typing import Any, NamedTuple

import numpy as np

from treemech.topology.arrays import Floats

from . import pump

EDGE = 1e-7  # [rad] beside the edges of the profile, where accelerations jump


class Shape(NamedTuple):
    """The profile: radius and distance of the centre of the transition circle [m], turns of the shaft at the edges [rad]."""

    small: float
    middle: float
    line_ends: float
    top_begins: float


class Radius(NamedTuple):
    """Distance of the roller's centre from the shaft, by the angle in the cam (9.1.1), and the curvature under the roller."""

    value: float
    slope: float
    bend: float
    curvature: float


def shape() -> Shape:
    """Return the profile that lets the roller reach FASTEST at the end of the tangent line.

    >>> [round(1e3 * x, 4) for x in shape()[:2]], [round(float(np.degrees(x)), 3) for x in shape()[2:]]
    ([2.4459, 23.5541], [137.527, 157.869])
    """
    R, r = pump.BASE + pump.ROLLER, pump.ROLLER
    tangent = sqrt(pump.FASTEST * r / (1000 * np.pi / 30) / R - 1.0)  # of the angle that the line spans
    # the right triangle shaft, centre of the transition circle, foot on the tangent's normal: legs R tangent and BASE - small
    small = (pump.LIFT * (2 * pump.BASE + pump.LIFT) - (R * tangent) ** 2) / (2 * pump.LIFT)
    middle = pump.BASE + pump.LIFT - small
    slope = acos((pump.BASE - small) / middle)
    return Shape(small, middle, pump.LINE + float(np.arctan(tangent)), pump.LINE + slope)


def radius(turn: float) -> Radius:
    """Return r, dr/dphi and d2r/dphi2 of the roller's centre when the shaft has turned, phi = 90 degrees + turn (9.2.15)."""
    s, R = shape(), pump.BASE + pump.ROLLER
    turn = turn % (2 * np.pi)
    sign = 1.0 if turn <= np.pi else -1.0
    up = turn if turn <= np.pi else 2 * np.pi - turn
    if up <= pump.LINE:
        return Radius(R, 0.0, 0.0, 1 / pump.BASE)
    if up <= s.line_ends:
        psi = up - pump.LINE
        r = R / cos(psi)
        return Radius(r, sign * r * tan(psi), r * (1 + 2 * tan(psi) ** 2), 0.0)
    if up <= s.top_begins:
        a, rho = up - s.top_begins, s.small + pump.ROLLER
        root = sqrt(rho**2 - (s.middle * sin(a)) ** 2)
        d_root = -(s.middle**2) * sin(a) * cos(a) / root
        dd_root = (-(s.middle**2) * cos(2 * a) - d_root**2) / root
        return Radius(
            s.middle * cos(a) + root,
            sign * (-s.middle * sin(a) + d_root),
            -s.middle * cos(a) + dd_root,
            1 / s.small,
        )
    return Radius(R + pump.LIFT, 0.0, 0.0, 1 / (pump.BASE + pump.LIFT))


def rolling(turn: float) -> tuple[float, float]:
    """Return the speed of a roller that rolls, per unit speed of the shaft, and its derivative by the turn (9.2.17, 9.2.18).

    The roller's centre moves on the cam at sqrt(r^2 + r'^2).
    """
    r = radius(turn)
    speed = sqrt(r.value**2 + r.slope**2)
    return speed / pump.ROLLER, (r.value * r.slope + r.slope * r.bend) / speed / pump.ROLLER


class Film(NamedTuple):
    """The contact of cam and roller over a run, by formulas of its own."""

    turn: Floats  # of the shaft since the cam pointed down [degrees]
    load: Floats  # [N]
    slip: Floats  # of the cam's surface past the roller's [m/s], positive while the roller is too slow
    mean: Floats  # speed of the film [m/s]
    thickness: Floats  # least, after Dowson and Higginson [m]
    stress: Floats  # Hertz's largest pressure [Pa]


def film(run: Any, modulus: float = 1.154e11) -> Film:
    """Return film and stress in the contact over a run of the dynamic model, from its motion and the load on the roller."""
    q, u = run.connection("roller").q, run.connection("roller").u
    force = np.linalg.norm(run.connection("cam").force, axis=1)
    places = [radius(phi - np.pi / 2) for phi in q[:, 0]]
    r, slope, curvature = (
        np.array([getattr(p, name) for p in places]) for name in ("value", "slope", "curvature")
    )
    centre = u[:, 0] * np.sqrt(r**2 + slope**2)  # speed of the roller's centre along the cam
    slip = centre - pump.ROLLER * u[:, 2]
    k = 1 / pump.ROLLER + curvature
    mean = np.abs(centre / (1 + pump.ROLLER * curvature) - 0.5 * slip)
    w = force / pump.WIDTH
    G, U, W = (
        2 * pump.OIL["alpha"] * modulus,
        pump.OIL["viscosity"] * mean * k / (2 * modulus),
        w * k / (2 * modulus),
    )
    with np.errstate(divide="ignore"):
        thickness = 2.65 * G**0.54 * U**0.7 / W**0.13 / k
    turn = -np.degrees(run.connection("shaft").q)
    return Film(turn, force, slip, mean, thickness, np.sqrt(w * k * modulus / np.pi))


def kinematic(mech: Any) -> dict[str, float]:
    """Return what the kinematic model finds at the edges of the profile."""
    s, start, rate = shape(), pump.START, -mech.state().u[0]
    places = {
        "base": pump.START, "line begins": pump.LINE + EDGE, "line ends": s.line_ends - EDGE,
        "transition begins": s.line_ends + EDGE, "transition ends": s.top_begins - EDGE, "top": np.pi,
    }  # fmt: skip
    run = mech.kinematics((np.array(list(places.values())) - start) / rate, pump.state(mech))
    roller, plunger = run.connection("roller"), run.connection("plunger")
    at = {name: k for k, name in enumerate(places)}
    return {
        "roller on the base circle [rad/s]": roller.u[at["base"], 2],
        "roller at the top [rad/s]": roller.u[at["top"], 2],
        "roller at the end of the tangent line [rad/s]": roller.u[at["line ends"], 2],
        "lift [mm]": 1e3 * plunger.q[at["top"]],
        "plunger, largest speed [m/s]": plunger.u[at["line ends"]],
        "plunger, acceleration, tangent line begins [m/s2]": plunger.ud[at["line begins"]],
        "plunger, acceleration, tangent line ends [m/s2]": plunger.ud[at["line ends"]],
        "plunger, deceleration, transition begins [m/s2]": -plunger.ud[at["transition begins"]],
        "plunger, deceleration, transition ends [m/s2]": -plunger.ud[at["transition ends"]],
    }


def dynamic(run: Any, clearance: float = 6e-6) -> dict[str, float]:
    """Return what the last revolution of a run of the dynamic model shows."""
    f = film(run)
    last = f.turn > f.turn[-1] - 360.0
    turn, lifted = (
        f.turn[last] % 360.0,
        np.flatnonzero((f.turn[last] % 360.0 > 100.0) & (f.turn[last] % 360.0 < 260.0)),
    )
    slip, ratio, thin = f.slip[last], (f.slip / f.mean)[last], f.thickness[last]
    rising = [k for k in lifted[:-1] if slip[k] > 0.0 >= slip[k + 1] and turn[k] < 180.0]
    crossing = [float(turn[k] + slip[k] / (slip[k] - slip[k + 1]) * (turn[k + 1] - turn[k])) for k in rising]
    eccentricity = np.hypot(*run.element("hd").deformation[last].T) / clearance
    line = (turn > np.degrees(pump.LINE)) & (turn < np.degrees(shape().line_ends))
    return {
        "slip changes its sign at [degrees]": -crossing[0] if crossing else float("nan"),
        "slip on the tangent line, largest [% of the film's speed]": 100 * float(np.max(ratio[line])),
        "slip at the top [% of the film's speed]": 100 * float(ratio[np.argmin(np.abs(turn - 180.0))]),
        "EHD film, average from 100 to 260 degrees [um]": 1e6 * float(np.mean(thin[lifted])),
        "EHD film, least [um]": 1e6 * float(np.min(thin[lifted])),
        "Hertz stress, peak [N/mm2]": 1e-6 * float(np.max(f.stress[last])),
        "HD eccentricity ratio, least [%]": 100 * float(np.min(eccentricity)),
        "HD eccentricity ratio, largest [%]": 100 * float(np.max(eccentricity)),
    }
