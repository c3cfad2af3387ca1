"""Prescribed attitude coordinates (5.4.1): components of offset and rotation of end b follow signals."""

from dataclasses import dataclass, field
from math import cos, sin
from typing import Any

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.body import as_axis
from treemech.topology.errors import ElementError

from ..constraint import Constraint
from ..element import structure
from ..fields import make_signals
from .orientation import turn_gap


@dataclass(frozen=True, eq=False)
class PrescribedPose(Constraint):
    """Any subset of the attitude coordinates of end b relative to end a is a given function of time.

    One holonomic row for each given coordinate: f = y - z_s(t) (5.4.1). An offset is prescribed directly. The
    rotation is R = Rx(a) Ry(b) Rz(c), Bryant angles, or R is a turn by one angle about an axis::

        all of it       Rodrigues vector of C R^T                        3 rows, no gimbal lock
        a alone         C_yz cos a + C_zz sin a = 0                      }
        b alone         C_xz - sin b = 0                                 } while cos b is not 0
        c alone         C_xy cos c + C_xx sin c = 0                      }

    The Rodrigues vector is undefined where C is exactly half a turn from R: assemble from another guess.

    Parameters
    ----------
    x, y, z : signal, number or None
        Offset in the base of end a [m]; None leaves it free.
    rotation : (a, b, c) or (axis, angle), optional
        Three Bryant angles [rad], each a signal, a number or None (free); or an axis ("x", "y", "z" or
        vector, in the base of end a) and the angle [rad] about it, a signal or a number.

    Examples
    --------
    >>> PrescribedPose(z=lambda t: 0.1 * t).n_holonomic
    1
    >>> PrescribedPose(x=0.0, y=0.0, rotation=("z", lambda t: 3.0 * t)).n_holonomic
    5
    """

    x: Any = structure(default=None)
    y: Any = structure(default=None)
    z: Any = structure(default=None)
    rotation: Any = structure(default=None)
    offset_x: Any = field(default=0.0, init=False, repr=False)
    offset_y: Any = field(default=0.0, init=False, repr=False)
    offset_z: Any = field(default=0.0, init=False, repr=False)
    turn_x: Any = field(default=0.0, init=False, repr=False)
    turn_y: Any = field(default=0.0, init=False, repr=False)
    turn_z: Any = field(default=0.0, init=False, repr=False)
    axis: Any = field(default=(0.0, 0.0, 0.0), init=False, repr=False)  # zero: Bryant angles
    given: Any = field(default=None, init=False, repr=False)  # (6,) 1 where prescribed

    @classmethod
    def example(cls) -> "PrescribedPose":
        return cls(x=0.0)

    @classmethod
    def examples(cls) -> "list[PrescribedPose]":
        """Return one of every number of rows: the library holds them all."""
        turns = ((None, None, None), (0.1, None, None), (0.1, 0.2, None), (0.1, 0.2, 0.3))
        return [cls(x=0.0, rotation=r) for r in turns[1:]] + [
            cls(x=0.0),
            *(cls(x=0.0, y=0.0, z=z, rotation=turns[3]) for z in (None, 0.0)),
        ]

    def __post_init__(self) -> None:
        turns = self._turns()
        values = dict(zip(("offset_x", "offset_y", "offset_z"), (self.x, self.y, self.z), strict=True))
        values |= dict(zip(("turn_x", "turn_y", "turn_z"), turns, strict=True))
        given = np.array([value is not None for value in values.values()], dtype=np.float64)
        if not given.any():
            raise ElementError("PrescribedPose prescribes nothing: give x, y, z or rotation.")
        for name, value in values.items():
            object.__setattr__(self, name, 0.0 if value is None else value)
        make_signals(self, *values)
        object.__setattr__(self, "given", given)
        object.__setattr__(self, "n_holonomic", int(given.sum()))

    def _turns(self) -> tuple[Any, Any, Any]:
        """Return the three angles; a turn about an axis is stored as the last angle, the others are 0."""
        if self.rotation is None:
            return None, None, None
        try:
            turns = tuple(self.rotation)
        except TypeError:
            turns = ()
        if len(turns) == 2:
            object.__setattr__(self, "axis", as_axis(turns[0], "PrescribedPose: axis of rotation"))
            return 0.0, 0.0, turns[1]
        if len(turns) != 3 or isinstance(self.rotation, str):
            raise ElementError(
                f"PrescribedPose.rotation is {self.rotation!r}: wanted three Bryant angles or (axis, angle)."
            )
        return turns

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        row = 0
        if self.given[0] > 0.5:
            f[row] = offset[0] - self.offset_x
            row += 1
        if self.given[1] > 0.5:
            f[row] = offset[1] - self.offset_y
            row += 1
        if self.given[2] > 0.5:
            f[row] = offset[2] - self.offset_z
            row += 1
        if self.given[3] + self.given[4] + self.given[5] > 2.5:
            if self.axis[0] == 0.0 and self.axis[1] == 0.0 and self.axis[2] == 0.0:
                x, y, z = bryant_rows(self.turn_x, self.turn_y, self.turn_z)
            else:
                x, y, z = axis_rows(self.axis, self.turn_z)
            f[row], f[row + 1], f[row + 2] = turn_gap(rotation, x, y, z)
            return
        if self.given[3] > 0.5:
            f[row] = rotation[1, 2] * cos(self.turn_x) + rotation[2, 2] * sin(self.turn_x)
            row += 1
        if self.given[4] > 0.5:
            f[row] = rotation[0, 2] - sin(self.turn_y)
            row += 1
        if self.given[5] > 0.5:
            f[row] = rotation[0, 1] * cos(self.turn_z) + rotation[0, 0] * sin(self.turn_z)


def bryant_rows(a, b, c):  # type: ignore[no-untyped-def]
    """Return the rows of Rx(a) Ry(b) Rz(c)."""
    ca, sa, cb, sb, cc, sc = cos(a), sin(a), cos(b), sin(b), cos(c), sin(c)
    return (
        (cb * cc, -cb * sc, sb),
        (ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb),
        (sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb),
    )


def axis_rows(e, angle):  # type: ignore[no-untyped-def]
    """Return the rows of the rotation by an angle about the unit vector e."""
    c, s = cos(angle), sin(angle)
    x, y, z = (1.0 - c) * e[0], (1.0 - c) * e[1], (1.0 - c) * e[2]
    return (
        (c + x * e[0], x * e[1] - s * e[2], x * e[2] + s * e[1]),
        (y * e[0] + s * e[2], c + y * e[1], y * e[2] - s * e[0]),
        (z * e[0] - s * e[1], z * e[1] + s * e[0], c + z * e[2]),
    )
