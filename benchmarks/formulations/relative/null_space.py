"""Relative coordinates, dense: the null space of the constraints."""

from . import kernels as k
from .relative import OwnSolution


class NullSpace(OwnSolution):
    """P^T = Q R by Householder; N^T A N (free x free) by Cholesky (LAPACK). No multipliers in the equations of motion."""

    name = "relative-null-space-dense"
    source = "S. S. Kim, M. J. Vanderploeg, J. Mech. Trans. Autom. Design 108 (1986) 176"
    mode = k.NULLSPACE
    trees = False
