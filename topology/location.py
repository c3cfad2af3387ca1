"""Sol's graph matrices (4.3): location matrices L, L^C, their submatrices and the tree matrix T.

Dense and of whole numbers, for reports and as an oracle in tests; computations use ``tree.parent`` instead.
Branches are directed away from the ground, whichever end of the hinge is called a; chords are directed from
end a to end b.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .tree import Tree

Integers = NDArray[np.int64]


def location_matrix(tree: Tree) -> Integers:
    """Return L (nb+1, nb): +1 where branch k ends in body i, -1 where it starts (4.3.1); column k-1 is branch k."""
    nb = len(tree.branches)
    matrix = np.zeros((nb + 1, nb), dtype=np.int64)
    k = np.arange(1, nb + 1)
    matrix[tree.parent[1:], k - 1] = -1
    matrix[k, k - 1] = 1
    return matrix


def chord_location_matrix(tree: Tree) -> Integers:
    """Return L^C (nb+1, nc): the same for chords, in the order of ``tree.chords`` (4.3.1)."""
    matrix = np.zeros((len(tree.bodies), len(tree.chords)), dtype=np.int64)
    for k, chord in enumerate(tree.chords):
        matrix[tree.numbers[chord.body_a.name], k] = -1
        matrix[tree.numbers[chord.body_b.name], k] = 1
    return matrix


def submatrices(location: Integers) -> tuple[Integers, Integers]:
    """Return S0 (the row of the ground) and S (the rest) of L, or S0^C and S^C of L^C (4.3.2)."""
    return location[0], location[1:]


def tree_matrix(tree: Tree) -> Integers:
    """Return T (nb, nb): +1 where branch k lies on the path from the ground to body i (4.3.6).

    Never -1, since the branches of a regular-numbered tree are directed away from the ground. The inverse of
    S: S T = T S = 1, and every column of S0 T is -1 (4.3.8).
    """
    nb = len(tree.branches)
    matrix = np.zeros((nb, nb), dtype=np.int64)
    for k in range(1, nb + 1):
        matrix[k - 1, k - 1 : tree.subtree_end[k] - 1] = 1  # depth-first: a subtree is a range
    return matrix
