"""Relative coordinates, Baumgarte's stabilisation."""

from .relative import Relative


class Baumgarte(Relative):
    """P ud + P00 + 2 g (P u + P0) + g^2 f = 0 with g = 20 1/s, no projection."""

    name = "relative-baumgarte"
    source = "J. Baumgarte, Comp. Meth. Appl. Mech. Eng. 1 (1972) 1"
    trees = False
    stabilisation = ("baumgarte", 20.0)
