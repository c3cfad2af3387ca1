"""Units of coordinates and quantities, for the axes of plots and the labels of data sets.

The unit of a coordinate belongs to the class of its hinge: an author may write ``units = ("rad", "m")`` in the class, one
for every speed times seconds. Without it the motion space decides: a coordinate that turns is in rad, one that only
shifts in m.
"""

from typing import Any

import numpy as np

from treemech.topology import ElementError

UNKNOWN = "unknown"
# Of the speeds of a hinge, times seconds; with Euler parameters, the coordinates have others
_OF_HINGES = {
    "Rigid": (),
    "Revolute": ("rad",),
    "Prismatic": ("m",),
    "Cylindrical": ("rad", "m"),
    "Screw": ("rad",),
    "Universal": ("rad", "rad"),
    "Planar": ("m", "m", "rad"),
    "Translation": ("m", "m", "m"),
    "Ball": ("rad", "rad", "rad"),
    "BallBryant": ("rad", "rad", "rad"),
    "Free": ("m", "m", "m", "rad", "rad", "rad"),
    "Polar": ("rad", "m", "rad"),
    "Curve": ("m",),
}
# Of quantities that have the same unit in every connection, body or element
QUANTITIES = {
    "position": "m",
    "com": "m",
    "velocity": "m/s",
    "acceleration": "m/s²",
    "angular_velocity": "rad/s",
    "angular_acceleration": "rad/s²",
    "force": "N",
    "local_force": "N",
    "moment": "N m",
    "local_moment": "N m",
    "energy": "J",
    "kinetic": "J",
    "potential": "J",
    "stored": "J",
    "total": "J",
    "power": "W",
    "dissipated": "W",
    "supplied": "W",
}
_RATES = {"q": "", "u": "/s", "ud": "/s²"}


def hinge_units(hinge: Any) -> tuple[str, ...]:
    """Return the units of the speeds of a hinge, times seconds: one for every speed.

    >>> from treemech import Cylindrical
    >>> hinge_units(Cylindrical())
    ('rad', 'm')
    """
    given = getattr(hinge, "units", None)
    if given is not None:
        if (
            isinstance(given, str)
            or len(given) != hinge.n_speeds
            or not all(isinstance(x, str) for x in given)
        ):
            raise ElementError(
                f"{hinge.kind}.units is {given!r}; wanted a tuple of {hinge.n_speeds} texts, one for every speed times "
                "seconds, like ('rad', 'm')."
            )
        return tuple(str(x) for x in given)
    if hinge.kind in _OF_HINGES and type(hinge).__module__.startswith("treemech."):
        return _OF_HINGES[str(hinge.kind)]
    try:
        turning = hinge.motion(hinge.reference()).rotation_partials
    except ElementError:  # it cannot be evaluated alone, as a hinge that moves with a signal of the model
        return (UNKNOWN,) * int(hinge.n_speeds)
    return tuple("rad" if np.any(row) else "m" for row in turning)


def unit_of(units: tuple[str, ...] | list[str], euler_parameters: int | None, quantity: str, k: int) -> str:
    """Return the unit of number k of "q", "u" or "ud" of a hinge; "" if it is not known.

    >>> unit_of(("m",), None, "ud", 0), unit_of(("rad", "rad", "rad"), 0, "q", 3)
    ('m/s²', '1')
    """
    if quantity == "q" and euler_parameters is not None and k >= euler_parameters:
        return "1"
    known = units[k] if k < len(units) else UNKNOWN
    return "" if known == UNKNOWN else known + _RATES[quantity]
