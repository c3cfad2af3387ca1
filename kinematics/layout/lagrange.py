"""Lagrange coordinates of a system (5.1): the numbers of q and u that belong to each hinge."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.elements import Hinge
from treemech.topology import Connection, Tree
from treemech.topology.deferred import dataclass


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Coordinates of one hinge in the public order.

    forward: whether the tree runs from end a to end b; number: number of the body in which the hinge ends.
    """

    connection: Connection
    hinge: Hinge
    number: int
    forward: bool
    q: int
    u: int

    @property
    def name(self) -> str:
        return self.connection.name

    @property
    def q_slice(self) -> slice:
        return slice(self.q, self.q + self.hinge.n_coordinates)

    @property
    def u_slice(self) -> slice:
        return slice(self.u, self.u + self.hinge.n_speeds)


class Places(NamedTuple):
    """Places of plain coordinates in q and in u, and of Euler parameters in q with their angular speeds in u."""

    q: NDArray[np.int64]
    u: NDArray[np.int64]
    attitudes: list[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Lagrange:
    """All Lagrange coordinates, in the order in which the hinges were declared; the tree does not matter."""

    hinges: tuple[Coordinates, ...]
    nq: int
    nu: int

    @property
    def q_names(self) -> list[str]:
        """Name every coordinate: 'A', or 'A[0]', 'A[1]', ... for a hinge with several."""
        return [name for c in self.hinges for name in _names(c.name, c.hinge.n_coordinates)]

    @property
    def u_names(self) -> list[str]:
        """Name every speed, like `q_names`."""
        return [name for c in self.hinges for name in _names(c.name, c.hinge.n_speeds)]

    @cached_property
    def places(self) -> Places:
        """Return where plain coordinates stand, and where attitudes do."""
        q, u, attitudes = list[int](), list[int](), list[tuple[int, int]]()
        for c in self.hinges:
            own, k = np.arange(c.hinge.n_speeds), c.hinge.euler_parameters
            if k is not None:
                attitudes.append((c.q + k, c.u + k))
                own = np.concatenate((own[:k], own[k + 3 :]))
            u += (c.u + own).tolist()
            q += (c.q + own + (0 if k is None else 1 * (own > k))).tolist()
        return Places(np.array(q, dtype=np.int64), np.array(u, dtype=np.int64), attitudes)

    @property
    def euler_parameters(self) -> list[int]:
        """Return the places in q at which four Euler parameters start."""
        return [c.q + c.hinge.euler_parameters for c in self.hinges if c.hinge.euler_parameters is not None]


def _names(name: str, n: int) -> list[str]:
    return [name] if n == 1 else [f"{name}[{k}]" for k in range(n)]


def lagrange(tree: Tree, connections: list[Connection]) -> Lagrange:
    """Number the coordinates of the branches in the order of `connections`; free hinges come last."""
    where = {branch.connection.name: (k + 1, branch) for k, branch in enumerate(tree.branches)}
    order = [c.name for c in connections if c.name in where]
    order += [name for name in where if name not in set(order)]
    hinges, nq, nu = [], 0, 0
    for name in order:
        number, branch = where[name]
        hinge = branch.connection.element
        hinges.append(Coordinates(branch.connection, hinge, number, branch.forward, nq, nu))
        nq += hinge.n_coordinates
        nu += hinge.n_speeds
    return Lagrange(tuple(hinges), nq, nu)
