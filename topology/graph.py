"""Graph of a system: bodies are vertices, kinematic connections are edges (4.1); for reports.

networkx is imported only when one of these functions is called, because its import takes a quarter of a second.
The modules on the way from a model to its first result (:mod:`.chord`, :mod:`.tree`) use plain lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .body import Body
from .connection import Connection, check_model

if TYPE_CHECKING:
    import networkx as nx  # type: ignore[import-untyped, unused-ignore]


def connection_graph(bodies: Sequence[Body], connections: Sequence[Connection]) -> nx.MultiGraph:
    """Return the graph of figure 4.2 as a networkx MultiGraph.

    Vertices are body numbers, with attributes ``name`` and ``body``. Edges carry the index of the connection
    as key and ``name``, ``connection``, ``kind`` ("hinge" or "constraint") and ``n_coordinates`` as
    attributes. Any number of edges may join the same two bodies. Energetic and active connections are left
    out.
    """
    import networkx as nx

    check_model(bodies, connections)
    graph = nx.MultiGraph()
    for body in bodies:
        graph.add_node(body.number, name=body.name, body=body)
    for index, connection in enumerate(connections):
        if connection.is_kinematic:
            graph.add_edge(
                connection.body_a.number,
                connection.body_b.number,
                key=index,
                name=connection.name,
                connection=connection,
                kind=connection.kind,
                n_coordinates=connection.n_coordinates,
            )
    return graph


def isolated_subgraphs(graph: nx.MultiGraph) -> tuple[tuple[int, ...], ...]:
    """Return body numbers of every part that no path of hinges connects to the ground (4.2), in order.

    Constraints make no path: a body held by constraints alone is isolated.
    """
    import networkx as nx

    parts = (tuple(sorted(part)) for part in nx.connected_components(_hinges_of(graph)))
    return tuple(sorted(part for part in parts if part[0] != 0))


def closed_subgraphs(graph: nx.MultiGraph) -> tuple[tuple[int, ...], ...]:
    """Return the connection indices of every closed subgraph: hinges whose bodies two paths connect (4.2).

    Closed chains that share a hinge belong to one subgraph, chains that share no more than a body (often the
    ground) to different ones: the blocks of the graph with more than one edge. Constraints are chords from
    the start and close nothing.
    """
    import networkx as nx

    hinges = _hinges_of(graph)
    found = []
    for block in nx.biconnected_component_edges(nx.Graph(hinges)):
        edges = sorted(key for a, b in block for key in hinges[a][b])
        if len(edges) > 1:
            found.append(tuple(edges))
    return tuple(sorted(found))


def _hinges_of(graph: nx.MultiGraph) -> nx.MultiGraph:
    import networkx as nx

    hinges = nx.MultiGraph()
    hinges.add_nodes_from(graph.nodes)
    hinges.add_edges_from(
        (a, b, key) for a, b, key, kind in graph.edges(keys=True, data="kind") if kind == "hinge"
    )
    return hinges
