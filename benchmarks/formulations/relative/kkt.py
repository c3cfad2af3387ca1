"""Relative coordinates, sparse KKT matrix: what this engine does with closed chains."""

from .relative import Relative


class SparseKKT(Relative):
    """LDL^T of [A P^T; P -e] on a static pattern, projection of steps, of stages near singular positions."""

    name = "relative-kkt"
    source = "Sol (6.3.4), (6.3.5); this engine"
    trees = False
