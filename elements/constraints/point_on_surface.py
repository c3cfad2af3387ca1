"""Point on a surface: plane, sphere, cylinder, torus."""

from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from ..constraint import Constraint
from ..element import structure
from ..fields import make_signals, refuse_unless_positive

SURFACES = ("plane", "sphere", "cylinder", "torus")


@dataclass(frozen=True)
class PointOnSurface(Constraint):
    """The point of end b stays on a surface fixed to end a; end b turns freely.

    One holonomic row. It is scaled so that, where it holds, it is the unit normal of the surface. With
    rho = sqrt(x^2 + y^2)::

        plane       z                                              (the same as InPlane)
        sphere      (x^2 + y^2 + z^2 - R^2) / (2 R)                (the same as Distance)
        cylinder    (rho^2 - R^2) / (2 R)                          about the z axis
        torus       ((rho - R)^2 + z^2 - r^2) / (2 r)              about the z axis

    Parameters
    ----------
    surface : "plane", "sphere", "cylinder" or "torus"
    radius : signal or number
        R [m], positive; a plane has none.
    tube : signal or number
        r, the radius of the tube of the torus [m], positive; the other surfaces have none.
    unilateral : bool
        Whether the surface only pushes, outwards.

    Examples
    --------
    >>> PointOnSurface("torus", radius=1.0, tube=0.2).n_holonomic
    1
    """

    surface: str = structure()
    radius: Any = 0.0
    tube: Any = 0.0
    unilateral: bool = structure(default=False)
    number: float = field(default=0.0, init=False, repr=False)
    n_holonomic = 1

    @classmethod
    def example(cls) -> "PointOnSurface":
        return cls("plane")

    def __post_init__(self) -> None:
        if self.surface not in SURFACES:
            raise ElementError(
                f"PointOnSurface.surface is {self.surface!r}; wanted one of {', '.join(SURFACES)}."
            )
        make_signals(self, "radius", "tube")
        sizes = {"plane": (), "torus": ("radius", "tube")}.get(self.surface, ("radius",))
        refuse_unless_positive(self, *sizes)
        for name in {"radius", "tube"} - set(sizes):
            if getattr(getattr(self, name), "level", None) != 0.0:
                raise ElementError(f"PointOnSurface: a {self.surface} has no {name}; leave it out.")
        object.__setattr__(self, "number", float(SURFACES.index(self.surface)))

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        x, y, z = offset[0], offset[1], offset[2]
        if self.number < 0.5:
            f[0] = z
        elif self.number < 1.5:
            f[0] = 0.5 * ((x * x + y * y + z * z) / self.radius - self.radius)
        elif self.number < 2.5:
            f[0] = 0.5 * ((x * x + y * y) / self.radius - self.radius)
        else:
            out = sqrt(x * x + y * y) - self.radius
            f[0] = 0.5 * ((out * out + z * z) / self.tube - self.tube)
