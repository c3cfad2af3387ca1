"""Choice of the chords: the hinges of closed chains that are cut (4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from .body import Body
from .connection import Connection, check_model
from .deferred import dataclass
from .errors import TopologyError

MAX_PASSES = 20  # of the exchanges; two or three are usual, the bound is for pathological graphs


def choose_chords(bodies: Sequence[Body], connections: Sequence[Connection]) -> tuple[int, ...]:
    """Return the indices of the chords: all constraints, and one hinge of every closed chain.

    The rule, in this order:

    1. ``role=`` decides; prescribed and coupled hinges (``stays_branch``) are not cut;
    2. cut the hinge with most coordinates: it becomes a constraint with fewest rows, np = 6 - nq (4.2);
    3. keep the tree shallow: the smallest sum of the depths of all bodies. That sum is the number of ones in
       the tree matrix T (4.3.6), so this decides how sparse the mass matrix is;
    4. cut the hinge declared last.

    1 and 2 for all chains at once require a *minimum spanning tree* with the coordinates as weights: in a
    minimum tree, and only in such a tree, every cut hinge is a heaviest one of the chain that it closes.
    Among the minimum trees, 3 is approached in two steps:

    - Prim's algorithm from the ground: of the lightest hinges that reach a new body take the one whose near
      body is shallowest, then the one declared first. Any such growth gives a minimum tree. If all hinges
      weigh the same it is a breadth-first search, where every body has its least possible depth, and the
      choice is the best there is.
    - With hinges of different weights a group of light hinges may have been entered at a bad place. So
      exchange a chord for an equally heavy branch of its chain while this makes the sum of the depths
      smaller, or leaves it and cuts a hinge declared later. A single closed chain ends at the best choice;
      for many chains it is a local optimum (the exact one is out of reach of fast algorithms).

    The cost is that of a sort for the first step, and the sum of the lengths of the chains for the second.

    Bodies that no hinge connects to the ground are no error: the first declared body of each isolated
    subgraph is its root, where :func:`~treemech.topology.build_tree` puts a free hinge.

    Raises
    ------
    TopologyError
        If hinges that must stay branches form a closed chain, or ``role="chord"`` cuts a body off.
    """
    check_model(bodies, connections)
    hinges = {i: c for i, c in enumerate(connections) if c.is_hinge}
    _refuse_closed_branches(len(bodies), hinges)

    order = {i: (0 if c.must_branch else 1, c.n_coordinates) for i, c in hinges.items() if c.role != "chord"}
    rank = {key: r for r, key in enumerate(sorted(set(order.values())))}
    edges = {
        i: _Edge(c.body_a.number, c.body_b.number, rank[order[i]], i) for i, c in hinges.items() if i in order
    }

    forest = _Forest(len(bodies), edges)
    for part in connected_parts(len(bodies), [(c.body_a.number, c.body_b.number) for c in hinges.values()]):
        forest.grow(part[0])
        _refuse_cut_off(bodies, part, hinges, forest.depth)
    if len(rank) > 1:  # else breadth-first, and nothing can be better
        forest.make_shallower()
    kept = {edge.index for edge in forest.edge if edge is not None}
    return tuple(i for i, c in enumerate(connections) if c.is_kinematic and i not in kept)


@dataclass(frozen=True)
class _Edge:
    a: int
    b: int
    weight: int
    index: int

    def other(self, body: int) -> int:
        return self.b if body == self.a else self.a


class _Forest:
    """Spanning forest that can change: parent, edge to it, depth and subtree size of every body."""

    def __init__(self, n: int, edges: dict[int, _Edge]) -> None:
        self.edges = edges
        self.incident: list[list[_Edge]] = [[] for _ in range(n)]
        for edge in edges.values():
            self.incident[edge.a].append(edge)
            self.incident[edge.b].append(edge)
        self.parent = [-1] * n
        self.edge: list[_Edge | None] = [None] * n
        self.depth = [-1] * n  # -1: not reached
        self.size = [1] * n

    def grow(self, root: int) -> None:
        """Grow a tree by Prim's algorithm: lightest hinge first, then shallowest, then first declared."""
        queue: list[tuple[int, int, int, int]] = []
        depth, found, new = self.depth, [root], root
        depth[root] = 0
        while True:
            for edge in self.incident[new]:
                if depth[edge.other(new)] < 0:
                    heappush(queue, (edge.weight, depth[new], edge.index, new))
            while queue:
                _, above, index, near = heappop(queue)
                new = self.edges[index].other(near)
                if depth[new] < 0:
                    break
            else:
                break
            self.parent[new], self.edge[new], depth[new] = near, self.edges[index], above + 1
            found.append(new)
        for body in reversed(found[1:]):
            self.size[self.parent[body]] += self.size[body]

    def make_shallower(self) -> None:
        """Exchange chords for equally heavy branches while this makes the tree better."""
        for _ in range(MAX_PASSES):
            branches = {edge.index for edge in self.edge if edge is not None}
            changed = False
            for chord in [edge for i, edge in self.edges.items() if i not in branches]:
                changed |= self._exchange(chord)
            if not changed:
                break

    def _exchange(self, chord: _Edge) -> bool:
        """Cut the best branch in the chain of this chord instead of it, if there is a better one."""
        ends = [chord.a, chord.b]
        depth = [self.depth[chord.a], self.depth[chord.b]]
        below, changes, steps = [0, 0], [0, 0], [0, 0]
        best, best_side, best_body = (0, -chord.index), -1, -1
        while ends[0] != ends[1]:
            # Go up from the deeper of the two until they meet. Without the branch above ``body``, its subtree
            # hangs on the chord: after i steps a body that was at depth d - i comes to depth e + 1 + i.
            side = 0 if depth[0] - steps[0] >= depth[1] - steps[1] else 1
            body, i = ends[side], steps[side]
            rise = depth[1 - side] + 1 - depth[side] + 2 * i
            changes[side] += (self.size[body] - below[side]) * rise
            below[side] = self.size[body]
            branch = self.edge[body]
            if branch is not None and branch.weight == chord.weight and (changes[side], -branch.index) < best:
                best, best_side, best_body = (changes[side], -branch.index), side, body
            ends[side], steps[side] = self.parent[body], i + 1
        if best_side < 0:
            return False
        inner, outer = (chord.a, chord.b) if best_side == 0 else (chord.b, chord.a)
        self._move(best_body, chord, inner, outer)
        return True

    def _move(self, top: int, chord: _Edge, inner: int, outer: int) -> None:
        """Take the subtree of ``top`` off its branch and hang it on ``outer`` by the chord at ``inner``."""
        moved = self.size[top]
        body = self.parent[top]
        while body >= 0:
            self.size[body] -= moved
            body = self.parent[body]
        # Reverse the branches from ``inner`` up to ``top``.
        body, above, edge = inner, outer, chord
        while True:
            next_body, next_edge = self.parent[body], self.edge[body]
            self.parent[body], self.edge[body] = above, edge
            if body == top or next_edge is None:
                break
            body, above, edge = next_body, body, next_edge
        # Depths downward, sizes upward.
        found = [inner]
        for body in found:
            self.depth[body] = self.depth[self.parent[body]] + 1
            self.size[body] = 1
            for edge in self.incident[body]:
                far = edge.other(body)
                if self.edge[far] is edge and self.parent[far] == body:
                    found.append(far)
        for body in reversed(found[1:]):
            self.size[self.parent[body]] += self.size[body]
        body = outer
        while body >= 0:
            self.size[body] += moved
            body = self.parent[body]


def connected_parts(n: int, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the connected parts of the graph on 0 .. n-1, sorted, in the order of their first member.

    >>> connected_parts(5, [(3, 1), (4, 0)])
    [[0, 4], [1, 3], [2]]
    """
    near: list[list[int]] = [[] for _ in range(n)]
    for a, b in pairs:
        near[a].append(b)
        near[b].append(a)
    parts, seen = [], [False] * n
    for first in range(n):
        if seen[first]:
            continue
        seen[first], part = True, [first]
        for body in part:
            for other in near[body]:
                if not seen[other]:
                    seen[other] = True
                    part.append(other)
        parts.append(sorted(part))
    return parts


def _refuse_closed_branches(n: int, hinges: dict[int, Connection]) -> None:
    """Refuse a closed chain of hinges that must stay branches; name all hinges of the first one found."""
    near: list[list[tuple[int, Connection]]] = [[] for _ in range(n)]
    group = list(range(n))  # union-find

    def find(body: int) -> int:
        while group[body] != body:
            group[body] = group[group[body]]
            body = group[body]
        return body

    for hinge in hinges.values():
        if not hinge.must_branch:
            continue
        a, b = hinge.body_a.number, hinge.body_b.number
        if find(a) == find(b):
            chain = [*_path(near, a, b), hinge]
            reasons = ", ".join(f"{c.name!r} ({_why_branch(c)})" for c in chain)
            raise TopologyError(
                f"hinges that must all be branches form a closed chain: {reasons}. Let go of one of "
                "them, so that the chain can be cut there."
            )
        group[find(a)] = find(b)
        near[a].append((b, hinge))
        near[b].append((a, hinge))


def _why_branch(hinge: Connection) -> str:
    return "role='branch'" if hinge.role == "branch" else "prescribed or coupled"


def _path(near: list[list[tuple[int, Connection]]], a: int, b: int) -> list[Connection]:
    """Return the hinges from a to b in a forest."""
    back: dict[int, tuple[int, Connection]] = {}
    found = [a]
    for body in found:
        for other, hinge in near[body]:
            if other != a and other not in back:
                back[other] = (body, hinge)
                found.append(other)
    path = []
    while b != a:
        b, hinge = back[b]
        path.append(hinge)
    return path[::-1]


def _refuse_cut_off(
    bodies: Sequence[Body], part: list[int], hinges: dict[int, Connection], depth: list[int]
) -> None:
    """Refuse a body that only hinges with ``role="chord"`` connect to the root of its part."""
    lost = [body for body in part if depth[body] < 0]
    if not lost:
        return
    root, first = bodies[part[0]].name, bodies[lost[0]].name
    inside = set(lost)
    cuts = [c.name for c in hinges.values() if (c.body_a.number in inside) != (c.body_b.number in inside)]
    raise TopologyError(
        f"body {first!r} cannot be reached from {root!r}: role='chord' cuts {', '.join(map(repr, cuts))}. "
        f"Leave role out for one of them, or give {first!r} six coordinates of its own by a Free hinge to "
        "the ground."
    )
