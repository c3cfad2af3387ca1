"""External loads written as a plain Python function of time and hinge coordinates (6.2.8)."""

from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

from treemech.topology.errors import ElementError

from ..couplings.relation import bind
from ..element import structure
from ..energetic import Energetic
from .force import place


class LoadFunction(Energetic):
    """Base class of ForceFunction and MomentFunction, which read coordinates and act on their end."""

    frame: str
    n_ends = 1
    world = True

    def reading(self, n_coordinates: int) -> Self:
        """Return this load for the given number of coordinates."""
        other = copy(self)
        object.__setattr__(other, "n_coordinates", n_coordinates)
        return other

    def __post_init__(self) -> None:
        if self.frame not in ("world", "body"):
            raise ElementError(f"{self.kind}: frame is {self.frame!r}; wanted 'world' or 'body'.")
        object.__setattr__(self, "turns", float(self.frame == "body"))


@dataclass(frozen=True, eq=False)
class ForceFunction(LoadFunction):
    """Force through the end point, as a function of time and of hinge coordinates.

    ``system.load("wind", tm.ForceFunction(f), body.at((1, 0, 0)), "A", "B[1]")`` applies (x, y, z) = f(t, q,
    u) [N]. q holds the coordinates named after the end, in their order, and u their speeds.

    Parameters
    ----------
    function : callable
        Function of t, q and u that returns three numbers; it is compiled.
    frame : "world" or "body"
        Base of the components: of the world, or of the loaded end.

    Examples
    --------
    >>> follower = ForceFunction(lambda t, q, u: (0.0, 0.0, -2.0 * q[0]), frame="body")
    >>> follower.reading(1).n.coordinates
    1
    """

    function: Any = structure()
    frame: str = structure(default="world")
    turns: float = field(default=0.0, init=False, repr=False)

    @classmethod
    def example(cls) -> "ForceFunction":
        return cls(lambda t, q, u: (1.0, 0.0, -2.0 * t))

    def __post_init__(self) -> None:
        super().__post_init__()
        bind(self, "evaluate", _push, ("t", "q", "u"))


@dataclass(frozen=True, eq=False)
class MomentFunction(LoadFunction):
    """Moment [N m] as a function of time and of hinge coordinates; otherwise as `ForceFunction`.

    >>> MomentFunction(lambda t, q, u: (0.0, 0.0, -0.1 * u[0])).frame
    'world'
    """

    function: Any = structure()
    frame: str = structure(default="world")
    turns: float = field(default=0.0, init=False, repr=False)

    @classmethod
    def example(cls) -> "MomentFunction":
        return cls(lambda t, q, u: (0.0, 0.0, 0.1 * t))

    def __post_init__(self) -> None:
        super().__post_init__()
        bind(self, "evaluate", _twist, ("t", "q", "u"))


function: Any = None  # in the methods below it stands for the author's function


def _push(self, motion, t, out):  # type: ignore[no-untyped-def]
    x, y, z = function(t, motion.q, motion.u)
    place(x, y, z, self.turns, motion.rotation[0], out.force[0])
    for k in range(3):
        out.supplied[0] += out.force[0, k] * motion.velocity[0, k]


def _twist(self, motion, t, out):  # type: ignore[no-untyped-def]
    x, y, z = function(t, motion.q, motion.u)
    place(x, y, z, self.turns, motion.rotation[0], out.moment[0])
    for k in range(3):
        out.supplied[0] += out.moment[0, k] * motion.angular_velocity[0, k]
