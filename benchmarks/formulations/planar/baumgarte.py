"""Planar Cartesian coordinates, Baumgarte's constraint stabilisation."""

from .planar import Planar


class Baumgarte(Planar):
    """Phi'' + 2 g Phi' + g^2 Phi = 0 with g = 20 1/s (7.3.8); nothing is corrected."""

    name = "planar-baumgarte"
    source = "J. Baumgarte, Comp. Meth. Appl. Mech. Eng. 1 (1972) 1; Haug (1989), 7.3"
    gain = 20.0
