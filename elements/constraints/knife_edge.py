"""Knife edge: a skate that moves only along its blade (3.3.20)."""

from dataclasses import dataclass

from treemech.topology.arrays import Floats

from ..constraint import Constraint


@dataclass(frozen=True)
class KnifeEdge(Constraint):
    """The point of end b does not move sideways: its velocity has no component along the y axis of end b.

    One nonholonomic row. The blade is along the x axis of end b, and the ice is fixed to end a. Other
    connections (a Planar hinge, or InPlane) keep the blade in the plane of the ice. With y the second column
    of C::

        y . v = 0            in the plane, for a heading q3:  -v_x sin(q3) + v_y cos(q3) = 0       (3.3.20)

    >>> KnifeEdge().n_nonholonomic
    1
    """

    n_nonholonomic = 1

    def slip(
        self,
        offset: Floats,
        rotation: Floats,
        velocity: Floats,
        angular_velocity: Floats,
        s: Floats,
        t: float,
        f: Floats,
    ) -> None:
        f[0] = rotation[0, 1] * velocity[0] + rotation[1, 1] * velocity[1] + rotation[2, 1] * velocity[2]
