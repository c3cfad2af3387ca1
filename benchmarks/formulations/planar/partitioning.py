"""Planar Cartesian coordinates, generalized coordinate partitioning."""

from .planar import Planar


class Partitioning(Planar):
    """Dependent coordinates and velocities are solved for at every stage; the partition is chosen anew after every step.

    Independent coordinates are those full pivoting leaves over.
    """

    name = "planar-partitioning"
    source = "R. A. Wehage, E. J. Haug, J. Mech. Design 104 (1982) 247; Haug, Computer-Aided Kinematics and Dynamics (1989), 7.2"
    partitioned = True
