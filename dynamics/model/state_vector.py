"""The integrator's state vector y of a model::

    y = (q, u, element states x, energy audit, what elements remember, coordinates of cut hinges)

Angular speeds that go with Euler parameters are in the base of the outer body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treemech.kinematics.plan.columns import speed
from treemech.topology.arrays import Floats
from treemech.topology.rotation import euler_rotation

if TYPE_CHECKING:
    from .core import Core


class Rest(NamedTuple):
    """Everything in y behind q and u."""

    z: Floats  # states of elements, then what they remember
    cut: Floats  # coordinates of cut hinges
    audit: Floats  # energy audit


def state_names(core: Core) -> list[str]:
    """Return a name for every entry of y."""
    c = core.coordinates
    return [
        *(f"{n}.q" for n in c.q_names),
        *(f"{n}.u" for n in c.u_names),
        *core.layout.efforts.z_names[: core.nx],
        *(f"audit {k}" for k in range(core.n_audit)),
        *core.layout.efforts.z_names[core.nx :],
        *(f"cut coordinate {k}" for k in range(core.n_cut)),
    ]


def pack(core: Core, q: Floats, u: Floats, z: Floats, cut: Floats) -> Floats:
    """Return y of one state."""
    y = np.concatenate((q, u, z[: core.nx], np.zeros(core.n_audit), z[core.nx :], cut))
    for c in core.coordinates.hinges:
        k = c.hinge.euler_parameters
        if k is not None and c.forward:
            at = slice(core.nq + c.u + k, core.nq + c.u + k + 3)
            y[at] = euler_rotation(q[c.q + k : c.q + k + 4]).T @ y[at]
    return y


def unpack(core: Core, y: Floats) -> Rest:
    """Return the parts of y behind q and u, for one state or many."""
    a = core.nq + core.nu
    b = a + core.nx
    c, d = b + core.n_audit, b + core.n_audit + core.nz - core.nx
    return Rest(np.concatenate((y[..., a:b], y[..., c:d]), axis=-1), y[..., d:], y[..., b:c])


def without_prescribed(core: Core, atol: Floats) -> Floats:
    """Return the tolerances with infinity for prescribed coordinates and speeds.

    Their signals give them: they have no error, and no size that a step could be measured by.
    """
    atol, prescribed = atol.copy(), core.layout.plan.prescribed
    atol[prescribed[:, speed.PRESCRIBED_Q]] = atol[core.nq + prescribed[:, speed.PRESCRIBED_U]] = np.inf
    return atol


def states(core: Core, t: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return (q, u) of many states (rows of y), with prescribed entries as their signals give them."""
    y = y[:, : core.nq + core.nu]
    if not len(core.layout.plan.prescribed) and not core.coordinates.euler_parameters:
        return y[:, : core.nq].copy(), y[:, core.nq :].copy()
    q, u = np.zeros((len(t), core.nq)), np.zeros((len(t), core.nu))
    core.many("states", t, np.ascontiguousarray(y), q, u)
    return q, u
