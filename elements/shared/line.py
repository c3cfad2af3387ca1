# mypy: ignore-errors
"""Line between two points (3.4.13-16), for elements that pull along it."""

from math import nan, sqrt

from treemech.topology.errors import ElementError

SIDES = {None: 0.0, "tension": 1.0, "compression": -1.0}


def side_of(element):
    """Return +1, -1 or 0: the element acts in tension only, in compression only, or both ways."""
    if element.only not in SIDES:
        raise ElementError(
            f"{element.kind}.only is {element.only!r}; wanted 'tension', 'compression' or None."
        )
    return SIDES[element.only]


def line_between(position, velocity):
    """Return the length, its rate and the direction from end 0 to end 1.

    The direction is NaN where the ends coincide.
    """
    x, y, z = (
        position[1, 0] - position[0, 0],
        position[1, 1] - position[0, 1],
        position[1, 2] - position[0, 2],
    )
    size = sqrt(x * x + y * y + z * z)
    if size == 0.0:
        return size, nan, nan, nan, nan
    x, y, z = x / size, y / size, z / size
    rate = (
        x * (velocity[1, 0] - velocity[0, 0])
        + y * (velocity[1, 1] - velocity[0, 1])
        + z * (velocity[1, 2] - velocity[0, 2])
    )
    return size, rate, x, y, z


def pull(tension, x, y, z, force):
    """Apply a tension that pulls both ends together along the line."""
    force[0, 0] = tension * x
    force[0, 1] = tension * y
    force[0, 2] = tension * z
    force[1, 0] = -tension * x
    force[1, 1] = -tension * y
    force[1, 2] = -tension * z


def one_sided(side, elastic, viscous):
    """Return elastic + viscous, or 0 where it would act on the forbidden side (side = 0: none is)."""
    total = elastic + viscous
    return 0.0 if side * total < 0.0 else total
