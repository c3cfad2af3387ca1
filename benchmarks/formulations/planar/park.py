"""Planar Cartesian coordinates, Park's hybrid of stabilisation and partitioning."""

from .planar import Planar


class Hybrid(Planar):
    """Stabilised equations (7.3.8); dependent coordinates are corrected where the constraints are off by 10 times the tolerance."""

    name = "planar-park"
    source = "T. Park, J. Mech. Trans. Autom. Design 108 (1986) 211; Haug (1989), 7.3"
    gain = 20.0
    stabilised = True
