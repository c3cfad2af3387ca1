"""Motion of the bodies at one state: attitude, Jacobian, momentum and energy."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.dynamics.model import trace as columns
from treemech.topology.arrays import Floats

from ..results.computed import Energy, Momentum
from ..results.state import State
from .states import as_rows

if TYPE_CHECKING:
    from ..mechanism import Mechanism


class Attitude(NamedTuple):
    """Attitude coordinates of all bodies and how they follow from the speeds (5.2.30).

    z' = Z^T u + z0, z'' = Z^T ud + z00, with z' = (velocity, angular velocity) of body 1, 2, ...; world axes.
    Prescribed speeds are among u, so that Z has their rows like all others.
    """

    position: Floats  # (nb, 3)
    rotation: Floats  # (nb, 3, 3)
    partials: Floats  # Z (nu, 6 nb)
    drift: Floats  # z0 (6 nb,)
    bias: Floats  # z00 (6 nb,)


def energy(mech: "Mechanism", state: State | tuple[Any, ...]) -> Energy:
    """Return kinetic, potential and stored energy, see `Mechanism.energy`."""
    return Energy(*mech._core.energy(*as_rows(mech, state, "energy"))[0].tolist())


def momentum(mech: "Mechanism", state: State | tuple[Any, ...]) -> Momentum:
    """Return momentum and angular momentum, see `Mechanism.momentum`."""
    return Momentum(mech._core.momentum(*as_rows(mech, state, "momentum"))[0])


def attitude(mech: "Mechanism", state: State | tuple[Any, ...]) -> Attitude:
    """Return z, Z, z0, z00 of all bodies (5.2.30), see `Mechanism.attitude`."""
    t, q, u = as_rows(mech, state, "attitude")
    n, core = mech.nu, mech._core
    with core.unloaded():
        core.trace(t, q, u, np.zeros((1, n)))  # prescribed entries of q, u are those of their signals now
        many_u = np.vstack((u, np.zeros((1, n)), np.eye(n)))
        with core.undriven():
            trace, _ = core.trace(
                np.repeat(t, n + 2), np.repeat(q, n + 2, axis=0), many_u, np.zeros((n + 2, n))
            )
    rates = np.concatenate((trace[:, 1:, columns.VELOCITY], trace[:, 1:, columns.OMEGA]), axis=2)
    rates = rates.reshape(n + 2, -1)
    bias = np.concatenate((trace[0, 1:, columns.ACCELERATION], trace[0, 1:, columns.ALPHA]), axis=1)
    return Attitude(
        trace[0, 1:, columns.POSITION],
        trace[0, 1:, columns.ROTATION].reshape(-1, 3, 3),
        rates[2:] - rates[1],
        rates[1],
        bias.ravel(),
    )


def trace_of(
    mech: "Mechanism", state: State | tuple[Any, ...], ud: Floats | None, what: str = "energy"
) -> tuple[Floats, Floats]:
    """Return (trace, loads on the speeds) of one state with these accelerations, default 0."""
    t, q, u = as_rows(mech, state, what)
    return mech._core.trace(t, q, u, np.zeros((1, mech.nu)) if ud is None else ud)
