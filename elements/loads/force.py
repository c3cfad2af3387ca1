"""Force and moment on an end."""

from dataclasses import dataclass, field
from typing import Any

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from ..element import structure
from ..load import EndLoad, EndMotion, Load
from ..signal import as_signal


def _signals(element: Any, names: tuple[str, str, str]) -> None:
    if element.frame not in ("world", "body"):
        raise ElementError(f"{element.kind}: frame is {element.frame!r}; wanted 'world' or 'body'.")
    for name in names:
        object.__setattr__(element, name, as_signal(getattr(element, name), f"{element.kind}.{name}"))
    object.__setattr__(element, "turns", float(element.frame == "body"))


@dataclass(frozen=True)
class Force(Load):
    """Force through the end point.

    Parameters
    ----------
    x, y, z : signal or number
        Components [N].
    frame : "world" or "body"
        Base of the components: of the world, or of the loaded end.

    Examples
    --------
    >>> Force(z=-5.0).frame
    'world'
    """

    x: Any = 0.0
    y: Any = 0.0
    z: Any = 0.0
    frame: str = structure(default="world")
    turns: float = field(default=0.0, init=False, repr=False)

    @classmethod
    def example(cls) -> "Force":
        return cls(x=1.0, z=-9.81)

    def __post_init__(self) -> None:
        _signals(self, ("x", "y", "z"))

    def evaluate(self, end: EndMotion, t: float, load: EndLoad) -> None:
        place(self.x.value, self.y.value, self.z.value, self.turns, end.rotation, load.force)


@dataclass(frozen=True)
class Moment(Load):
    """Moment [N m]; parameters as for `Force`.

    >>> Moment(x=1.0, frame="body").turns
    1.0
    """

    x: Any = 0.0
    y: Any = 0.0
    z: Any = 0.0
    frame: str = structure(default="world")
    turns: float = field(default=0.0, init=False, repr=False)

    @classmethod
    def example(cls) -> "Moment":
        return cls(z=0.5)

    def __post_init__(self) -> None:
        _signals(self, ("x", "y", "z"))

    def evaluate(self, end: EndMotion, t: float, load: EndLoad) -> None:
        place(self.x.value, self.y.value, self.z.value, self.turns, end.rotation, load.moment)


def place(x: float, y: float, z: float, turns: float, R: Floats, out: Floats) -> None:
    """Write components given in the world, or in the base R if `turns` is 1, as world components."""
    if turns > 0.5:
        for k in range(3):
            out[k] = R[k, 0] * x + R[k, 1] * y + R[k, 2] * z
    else:
        out[0] = x
        out[1] = y
        out[2] = z
