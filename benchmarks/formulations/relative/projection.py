"""Relative coordinates, projection after every step and nothing else."""

from .relative import Relative


class Projection(Relative):
    """As relative-kkt without what that does near singular positions."""

    name = "relative-projection"
    source = "E. Eich, SIAM J. Numer. Anal. 30 (1993) 1467"
    trees = False
    stabilisation = "projection"
