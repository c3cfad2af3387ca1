"""Point on a surface that is given by a plain Python function."""

from dataclasses import dataclass
from typing import Any

from ..constraint import Constraint
from ..couplings.relation import bind
from ..element import structure


@dataclass(frozen=True, eq=False)
class PointOnImplicitSurface(Constraint):
    """The point of end b stays where a function of its position in the base of end a is zero.

    One holonomic row; the gradient of the function must not vanish on the surface::

        f = function(c_x, c_y, c_z)

    Parameters
    ----------
    function : callable
        Function of x, y, z [m], compiled without changes. Its derivatives come from jet numbers.

    Examples
    --------
    >>> bowl = PointOnImplicitSurface(lambda x, y, z: z - x * x - 2.0 * y * y)
    >>> bowl.n_holonomic
    1
    """

    function: Any = structure()
    n_holonomic = 1

    @classmethod
    def example(cls) -> "PointOnImplicitSurface":
        return cls(lambda x, y, z: z - x * x - 2.0 * y * y)

    def __post_init__(self) -> None:
        bind(self, "residual", _residual, ("x", "y", "z"))


function: Any = None  # the method below uses this name; `bind` gives it the author's function


def _residual(self, offset, rotation, s, t, f):  # type: ignore[no-untyped-def]
    f[0] = function(offset[0], offset[1], offset[2])
