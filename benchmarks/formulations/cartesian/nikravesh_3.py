"""Nikravesh's formulation III in Cartesian coordinates with Euler parameters."""

from .cartesian import Cartesian

SOURCE = "P. E. Nikravesh, Computer-Aided Analysis of Mechanical Systems (1988), chapter 11"


class Dense(Cartesian):
    """Unknowns r'', w' (6 b) and -lambda (m): 6 b + m, symmetric, with constant masses (11.49). LU with partial pivoting (LAPACK)."""

    name = "nikravesh-3-dense"
    source = SOURCE
    kind = 3


class Sparse(Cartesian):
    """The same matrix, factorised on its pattern (sparse_lu)."""

    name = "nikravesh-3-sparse"
    source = SOURCE
    kind = 3
    sparse = True
