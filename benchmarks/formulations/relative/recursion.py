"""Relative coordinates, recursion: forward dynamics of trees in O(n)."""

from .relative import Relative


class Recursion(Relative):
    """Articulated bodies, tips first: no matrix at all."""

    name = "relative-recursion"
    source = "R. Featherstone, Int. J. Robotics Research 2 (1983) 13; this engine"
    loops = False
