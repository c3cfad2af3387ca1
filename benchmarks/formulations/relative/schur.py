"""Relative coordinates, dense: multipliers by the Schur complement."""

from . import kernels as k
from .relative import OwnSolution


class Schur(OwnSolution):
    """Cholesky of A (nu x nu), then of P A^-1 P^T (m x m) (6.3.6), by LAPACK."""

    name = "relative-schur-dense"
    source = "Sol (6.3.6)"
    mode = k.SCHUR
