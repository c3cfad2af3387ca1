"""Derivatives of one element by the motion it sees, from derivatives of a tree with this element alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treemech.kinematics.plan.arrays import N_SIZES, SIZES, Plan
from treemech.kinematics.plan.columns import effort
from treemech.topology.arrays import Floats, address

from ..derivatives import layout
from .core import Core

if TYPE_CHECKING:
    from .tree_derivatives import TreeDerivatives

_COUNT, _COMPOSITES = SIZES.index("efforts"), SIZES.index("composites")
_TABLE = N_SIZES + Plan._fields.index("efforts")


class ElementDerivatives(NamedTuple):
    """Derivatives of the outputs of one element.

    Outputs: forces and moments on its ends, loads on its coordinates, rates of its states. Directions:
    displacement, rotation, velocity and angular velocity of every end (12), then q and u of its coordinates,
    its states and its inputs. Columns of speeds are in regular order; internal points stand still.
    """

    base: Floats  # (outputs,) values
    partials: Floats  # (directions, outputs)
    motion: Floats  # (nu, loads) virtual displacement of every load by the speeds
    by_q: Floats  # (outputs, nu), without the rotation of a load with its body
    by_u: Floats
    first_state: int  # the first direction that is a state
    first_input: int


@contextmanager
def _alone(core: Core, e: int) -> Iterator[None]:
    """Let the core see only element e within the block."""
    kept = core.context[[_COUNT, _COMPOSITES, _TABLE]].copy()
    rows = core.layout.plan.efforts
    core.context[[_COUNT, _COMPOSITES, _TABLE]] = 1, 0, address(rows) + rows.itemsize * effort.N_COLUMNS * e
    try:
        yield
    finally:
        core.context[[_COUNT, _COMPOSITES, _TABLE]] = kept


def element_derivatives(tree: "TreeDerivatives", t: float, e: int) -> ElementDerivatives:
    """Return the derivatives of element e at the state of the last call.

    What that call left of elements (J, tau_x, rates, rates_x) is overwritten.
    """
    core = tree.core
    with _alone(core, e):
        tree._call(t, 0, tree.q, tree.u)
    row, nu = core.layout.plan.efforts[e], core.nu
    n, nc, ns, ni = (int(row[k]) for k in (effort.N_ENDS, effort.N_ACTED, effort.N_STATES, effort.N_INPUTS))
    loads, outputs, directions = 6 * n + nc, 6 * n + nc + ns, 12 * n + 2 * nc + ns + ni
    workspace = tree.workspace[tree.first_own + core.rows * 6 * layout.N_OWN :]
    at = 0

    def take(rows: int, columns: int) -> Floats:
        nonlocal at
        found = workspace[at : at + rows * columns].reshape(rows, columns).copy()
        at += rows * columns
        return found

    base, partials = take(1, outputs)[0], take(directions, outputs)
    take(
        1,
        3 * outputs
        + directions
        + 6 * n
        + 2 * int(row[effort.LOAD_RECORD] - row[effort.MOTION_RECORD] + row[effort.N_LOAD]),
    )
    slot = take(1, nu)[0].view(np.int64)
    take(1, nu + loads)
    motion, by_q, by_u = take(nu, loads), take(outputs, nu), take(outputs, nu)
    met = slot >= 0
    own = slot[met]

    def spread(found: Floats) -> Floats:
        full = np.zeros(found.shape)
        full[:, met] = found[:, own]
        return full

    for k in range(n):  # the core skips ends on the ground
        if core.layout.plan.ends[row[effort.FIRST_END] + k, 0] == 0:
            partials[12 * k : 12 * k + 12] = 0.0
    first = 12 * n + 2 * nc
    return ElementDerivatives(
        base, partials, spread(motion.T).T, spread(by_q), spread(by_u), first, first + ns
    )
