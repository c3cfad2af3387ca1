"""Regular-numbered tree structure (4.2): branches, chords, location column, paths and subtrees."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .body import Body
from .chord import choose_chords, connected_parts
from .connection import Connection, check_model
from .deferred import dataclass
from .errors import TopologyError, unknown


@dataclass(frozen=True)
class Branch:
    """Hinge in the tree; ``forward`` if end a is on the side of the ground and end b on body k."""

    connection: Connection
    forward: bool


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """Regular-numbered tree structure: body k hangs on the ground side by branch k, and ``parent[k] < k``.

    The numbering is depth-first, children in the order in which their hinges were declared, so the
    descendants of a body are the range ``k .. subtree_end[k] - 1`` and every tree on the ground is a range as
    well.

    Attributes
    ----------
    bodies : tuple of Body
        By regular number; row 0 is the ground.
    parent : (nb+1,) array
        Sol's location column l (4.3.5); ``parent[0]`` is -1.
    branches : tuple of Branch
        Branch k is ``branches[k - 1]``.
    chords : tuple of Connection
        Cut hinges and constraints, in the order of declaration.
    numbers : dict
        Regular number of every body by name.
    depth, subtree_end : (nb+1,) arrays
        Number of branches on the path from the ground; one more than the last descendant.
    free_bodies : tuple of str
        Bodies with a free hinge, because nothing connects them to the ground.
    """

    bodies: tuple[Body, ...]
    parent: NDArray[np.int64]
    branches: tuple[Branch, ...]
    chords: tuple[Connection, ...]
    numbers: dict[str, int]
    depth: NDArray[np.int64]
    subtree_end: NDArray[np.int64]
    free_bodies: tuple[str, ...]

    def path(self, k: int | str) -> tuple[int, ...]:
        """Return the numbers of the branches from the ground to body k (number or name), in that order.

        A branch has the number of the body in which it ends, so these are the bodies on the path, too.
        """
        if isinstance(k, str) and k not in self.numbers:
            raise TopologyError(unknown("body", k, self.numbers))
        body = self.numbers[k] if isinstance(k, str) else int(k)
        if not 0 <= body < len(self.bodies):
            raise TopologyError(f"there is no body {body}: the numbers run from 0 to {len(self.bodies) - 1}.")
        found = []
        while body > 0:
            found.append(body)
            body = int(self.parent[body])
        return tuple(reversed(found))

    def __repr__(self) -> str:
        return f"Tree({len(self.branches)} bodies, {len(self.chords)} chords, depth {int(self.depth.max())})"


def build_tree(
    bodies: Sequence[Body],
    connections: Sequence[Connection],
    make_free_hinge: Callable[[Body], Connection] | None = None,
) -> Tree:
    """Cut the closed chains, connect the isolated subgraphs and number the bodies (4.2).

    Parameters
    ----------
    bodies : sequence of Body
        The ground first; ``bodies[i].number == i``.
    connections : sequence of Connection
        Connections of every kind; all except hinges and constraints are ignored.
    make_free_hinge : callable, optional
        Makes the hinge with six coordinates between the ground and the first declared body of an isolated
        subgraph. Without it an isolated subgraph is an error.
    """
    chords = set(choose_chords(bodies, connections))
    hinges = [c for i, c in enumerate(connections) if c.is_hinge and i not in chords]
    pairs = [(c.body_a.number, c.body_b.number) for c in hinges]
    isolated = connected_parts(len(bodies), pairs)[1:]
    if isolated and make_free_hinge is None:
        _refuse_isolated(bodies, isolated[0], [connections[i] for i in chords])
    free = [bodies[part[0]] for part in isolated]
    if make_free_hinge is not None:
        hinges += [_checked_free(make_free_hinge(body), bodies[0], body) for body in free]
        check_model(bodies, [*connections, *hinges[len(pairs) :]])

    order, parent, branches = _number(bodies, hinges)
    depth = np.zeros(len(bodies), dtype=np.int64)
    subtree_end = np.arange(1, len(bodies) + 1, dtype=np.int64)
    for k in range(1, len(bodies)):
        depth[k] = depth[parent[k]] + 1
    for k in range(len(bodies) - 1, 0, -1):
        subtree_end[parent[k]] = max(subtree_end[parent[k]], subtree_end[k])
    location = np.array(parent, dtype=np.int64)
    for array in (location, depth, subtree_end):
        array.setflags(write=False)
    return Tree(
        bodies=tuple(bodies[i] for i in order),
        parent=location,
        branches=tuple(branches),
        chords=tuple(c for i, c in enumerate(connections) if i in chords),
        numbers={bodies[i].name: k for k, i in enumerate(order)},
        depth=depth,
        subtree_end=subtree_end,
        free_bodies=tuple(body.name for body in free),
    )


def _number(
    bodies: Sequence[Body], hinges: Sequence[Connection]
) -> tuple[list[int], list[int], list[Branch]]:
    """Number depth-first. Returns declared numbers in regular order, parents, branches."""
    near: list[list[tuple[int, Branch]]] = [[] for _ in bodies]
    for hinge in hinges:
        a, b = hinge.body_a.number, hinge.body_b.number
        near[a].append((b, Branch(hinge, forward=True)))
        near[b].append((a, Branch(hinge, forward=False)))
    order: list[int] = []
    parent: list[int] = []
    branches: list[Branch] = []
    stack: list[tuple[int, int, Branch | None]] = [(0, -1, None)]
    while stack:
        body, above, branch = stack.pop()
        if branch is not None:
            branches.append(branch)
        k = len(order)
        order.append(body)
        parent.append(above)
        for other, onward in reversed(near[body]):  # so that the stack returns the first declared first
            if branch is None or onward.connection is not branch.connection:
                stack.append((other, k, onward))
    return order, parent, branches


def _refuse_isolated(bodies: Sequence[Body], part: list[int], chords: Sequence[Connection]) -> None:
    inside = {bodies[i] for i in part}
    nothing = "no hinge" if any((c.body_a in inside) != (c.body_b in inside) for c in chords) else "nothing"
    names = [bodies[i].name for i in part]
    listed = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    raise TopologyError(
        f"body {names[-1]!r} cannot be reached from {bodies[0].name!r}: {nothing} joins {{{listed}}} to it. "
        f"Add a hinge, or build with free_isolated=True (the default) to give {names[0]!r} six "
        "coordinates of its own."
    )


def _checked_free(hinge: Connection, ground: Body, body: Body) -> Connection:
    if not hinge.is_hinge or {hinge.body_a, hinge.body_b} != {ground, body}:
        raise TopologyError(
            f"the free hinge made for body {body.name!r} is {hinge!r}; "
            f"wanted a hinge between {ground.name!r} and it."
        )
    return hinge


def draw(tree: Tree, max_bodies: int = 200) -> str:
    """Draw the tree as text: bodies with their hinges, then the chords, dotted.

    A hinge that runs towards the ground (its end a is on the outer body) is marked ``reversed``.
    """
    shown = min(len(tree.bodies), max(1, max_bodies))
    last = np.zeros(len(tree.bodies), dtype=bool)  # last child of its parent
    seen = np.zeros(len(tree.bodies), dtype=bool)
    for k in range(len(tree.bodies) - 1, 0, -1):
        last[k] = not seen[tree.parent[k]]
        seen[tree.parent[k]] = True

    rows, indents = [tree.bodies[0].name], [""]
    for k in range(1, shown):
        branch, indent = tree.branches[k - 1], indents[tree.parent[k]]
        mark = "" if branch.forward else ", reversed"
        label = f"{tree.bodies[k].name}  [{_label(branch.connection)}{mark}]"
        rows.append(indent + ("└── " if last[k] else "├── ") + label)
        indents.append(indent + ("    " if last[k] else "│   "))
    if shown < len(tree.bodies):
        rows.append(f"... and {len(tree.bodies) - shown} bodies more")
    if tree.chords:
        rows.append("chords")
    for chord in tree.chords[: max(1, max_bodies)]:
        rows.append(f"    {chord.body_a.name} ┄┄ [{_label(chord)}] ┄┄ {chord.body_b.name}")
    if len(tree.chords) > max(1, max_bodies):
        rows.append(f"... and {len(tree.chords) - max_bodies} chords more")
    return "\n".join(rows)


def _label(connection: Connection) -> str:
    return f"{connection.name}: {type(connection.element).__name__}"
