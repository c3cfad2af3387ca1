"""Topology (ch. 2, 4): bodies, connections, their graph, the choice of chords and the regular-numbered tree."""

from . import solids
from .body import (
    Attachment,
    Body,
    as_axis,
    as_inertia,
    as_number,
    as_pose,
    as_rotation,
    as_vector,
    make_body,
)
from .chord import choose_chords
from .connection import Connection, Role
from .errors import (
    ConvergenceError,
    ElementError,
    SingularError,
    TopologyError,
    TreemechError,
    unknown,
)
from .graph import closed_subgraphs, connection_graph, isolated_subgraphs
from .location import chord_location_matrix, location_matrix, submatrices, tree_matrix
from .parameter import Expression, Parameter
from .tree import Branch, Tree, build_tree, draw

__all__ = [
    "Attachment",
    "Body",
    "Branch",
    "Connection",
    "ConvergenceError",
    "ElementError",
    "Expression",
    "Parameter",
    "Role",
    "SingularError",
    "TopologyError",
    "Tree",
    "TreemechError",
    "as_axis",
    "as_inertia",
    "as_number",
    "as_pose",
    "as_rotation",
    "as_vector",
    "build_tree",
    "choose_chords",
    "chord_location_matrix",
    "closed_subgraphs",
    "connection_graph",
    "draw",
    "isolated_subgraphs",
    "location_matrix",
    "make_body",
    "solids",
    "submatrices",
    "tree_matrix",
    "unknown",
]
