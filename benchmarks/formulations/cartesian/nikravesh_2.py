"""Nikravesh's formulation II in Cartesian coordinates with Euler parameters."""

from .cartesian import Cartesian

SOURCE = "P. E. Nikravesh, Computer-Aided Analysis of Mechanical Systems (1988), chapter 11"


class Dense(Cartesian):
    """Unknowns q'' (7 b) and -lambda (m): 7 b + m, not symmetric (11.45). LU with partial pivoting (LAPACK)."""

    name = "nikravesh-2-dense"
    source = SOURCE
    kind = 2


class Sparse(Cartesian):
    """The same matrix, factorised on its pattern (sparse_lu)."""

    name = "nikravesh-2-sparse"
    source = SOURCE
    kind = 2
    sparse = True
