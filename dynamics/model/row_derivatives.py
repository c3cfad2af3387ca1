"""Derivatives of the constraint rows of closed chains, in a workspace at fixed addresses."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treemech.kinematics.kernel.status import OK
from treemech.topology.arrays import Floats, address, addresses

from ..derivatives import layout
from ..native import entry_points as native
from .core import Core

if TYPE_CHECKING:
    from .tree_derivatives import TreeDerivatives


class RowDerivatives(NamedTuple):
    """Derivatives of the rows at given ud and multipliers, columns in the public order."""

    partials: Floats  # P (m, nu) itself
    loads_q: Floats  # d(P^T lambda)/dq (nu, nu)
    velocity_q: Floats  # d(P u + P0)/dq (m, nu)
    bias_q: Floats  # d(P ud + P00)/dq (m, nu)
    bias_u: Floats  # d(P ud + P00)/du (m, nu)
    chord_loads_q: Floats  # (nc, 6, nu) of the load of every chord on end b, world axes, multipliers fixed


class RowWorkspace:
    """Workspace at fixed addresses. `chord_loads`: whether derivatives of the chord loads are wanted."""

    def __init__(self, core: Core, chord_loads: bool) -> None:
        chords, n, m = core.layout.chords, core.nu, len(core.layout.chords.rows)
        self.multipliers, self.loads_q = np.zeros(m), np.zeros((n, n))
        self.velocity_q, self.bias_q, self.bias_u = (np.zeros((m, n)) for _ in range(3))
        self.chord_loads_q = np.zeros((len(chords.plan.chord) if chord_loads else 0, 6, n))
        self.workspace = np.zeros(layout.rows_workspace_size(chords.plan.chord))
        arrays = (self.multipliers, self.loads_q, self.velocity_q, self.bias_q, self.bias_u)
        self.table = np.array(
            [
                *addresses(arrays),
                address(self.chord_loads_q) if chord_loads else 0,
                address(self.workspace),
            ],
            dtype=np.int64,
        )


def row_derivatives(
    core: Core, tree: "TreeDerivatives", t: float, q: Floats, u: Floats, ud: Floats, multipliers: Floats
) -> RowDerivatives:
    """Return the derivatives at a state, after tree.inverse_dynamics. Work has its cut hinges."""
    workspace, loops = tree.rows, core.loops
    if workspace is None or loops is None:
        raise AssertionError("no chords")
    here = core.constraints(t, q, u, ud)
    workspace.multipliers[:] = multipliers
    with core.guard() as failure:
        status = native.entry("row_derivatives")(t, tree.address, address(loops.context))
    if status != OK:
        core.fail(status, t, failure)
    order = np.arange(core.nu) if tree.order is None else tree.order
    return RowDerivatives(
        here.partials,
        workspace.loads_q[np.ix_(order, order)],
        workspace.velocity_q[:, order],
        workspace.bias_q[:, order],
        workspace.bias_u[:, order],
        workspace.chord_loads_q[:, :, order],
    )
