# mypy: ignore-errors
"""The line between two points (3.4.13-16), as elements that pull along it see it."""

from math import nan, sqrt

from treemech.topology.errors import ElementError

SIDES = {None: 0.0, "tension": 1.0, "compression": -1.0}


def side_of(element):
    """+1, -1 or 0 for an element that acts in tension only, in compression only, or both ways."""
    if element.only not in SIDES:
        raise ElementError(
            f"{element.kind}.only is {element.only!r}; wanted 'tension', 'compression' or None."
        )
    return SIDES[element.only]


def line_between(position, velocity):
    """Length, its rate and the direction from end 0 to end 1; where the ends coincide there is none: not a number."""
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
    """Draw both ends together along the line."""
    force[0, 0] = tension * x
    force[0, 1] = tension * y
    force[0, 2] = tension * z
    force[1, 0] = -tension * x
    force[1, 1] = -tension * y
    force[1, 2] = -tension * z


def one_sided(side, elastic, viscous):
    """What is left of elastic + viscous when it may act on one side only; side = 0: all of it."""
    total = elastic + viscous
    return 0.0 if side * total < 0.0 else total
