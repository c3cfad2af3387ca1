"""External loads (6.2.8): a force or a moment on one end, from outside the system."""

from typing import ClassVar, NamedTuple

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from .element import Element


class EndMotion(NamedTuple):
    """Motion of the loaded end, in world components."""

    position: Floats  # (3,)
    rotation: Floats  # (3, 3), the end base in the world
    velocity: Floats  # (3,)
    angular_velocity: Floats  # (3,)


class EndLoad(NamedTuple):
    """Load on the end, in world components. Arrives zeroed."""

    force: Floats  # (3,), through the end point
    moment: Floats  # (3,)


class Load(Element):
    """The contract of a load. A subclass is a frozen dataclass; its fields are its parameters.

    1. Write ``evaluate(self, end, t, load)``: from the motion `end` of the loaded end (EndMotion) and the
       time it fills in `load.force` and `load.moment` on the body, in world components.
    2. Write plain scalar Python, which is compiled without changes. It must depend on its arguments and
       fields only.
    """

    is_load: ClassVar[bool] = True

    def evaluate(self, end: EndMotion, t: float, load: EndLoad) -> None:
        raise ElementError(f"{self.kind} has no evaluate(): write it.")
