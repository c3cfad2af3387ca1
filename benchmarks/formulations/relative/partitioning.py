"""Relative coordinates, coordinate partitioning."""

from .relative import Relative


class Partitioning(Relative):
    """Independent speeds are chosen at every step, dependent coordinates follow them at every stage."""

    name = "relative-partitioning"
    source = "R. A. Wehage, E. J. Haug, J. Mech. Design 104 (1982) 247; Sol (8.4)"
    trees = False
    stabilisation = "partitioning"
