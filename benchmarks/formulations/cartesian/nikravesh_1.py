"""Nikravesh's formulation I in Cartesian coordinates with Euler parameters."""

from .cartesian import Cartesian

SOURCE = "P. E. Nikravesh, Computer-Aided Analysis of Mechanical Systems (1988), chapter 11"


class Dense(Cartesian):
    """Unknowns q'' (7 b), sigma (b) of the normalisation and -lambda (m): 8 b + m, symmetric (11.42). LU with partial pivoting (LAPACK)."""

    name = "nikravesh-1-dense"
    source = SOURCE
    kind = 1


class Sparse(Cartesian):
    """The same matrix, factorised on its pattern (sparse_lu)."""

    name = "nikravesh-1-sparse"
    source = SOURCE
    kind = 1
    sparse = True
