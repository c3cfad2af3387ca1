"""Motion of the bodies at one state: attitude, Jacobian, momentum and energy."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.dynamics.model import trace as columns
from treemech.dynamics.model.trace import N_TRACE
from treemech.topology.arrays import Floats

from ..results.computed import Energy, Momentum
from ..results.state import State
from .states import as_rows

if TYPE_CHECKING:
    from ..mechanism import Mechanism


_MOST = 4_000_000  # numbers of the motions that are in memory at a time


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
    return Attitude(*(part[0] for part in attitudes(mech, *as_rows(mech, state, "attitude"))))


def attitudes(mech: "Mechanism", t: Floats, q: Floats, u: Floats) -> Attitude:
    """Return the same of many states, row by row, in one crossing (or several, if the rows are very many)."""
    n, count, core = mech.nu, len(t), mech._core
    most = max(1, _MOST // ((n + 2) * core.rows * N_TRACE))
    if count > most:
        parts = [
            attitudes(mech, t[k : k + most], q[k : k + most], u[k : k + most]) for k in range(0, count, most)
        ]
        return Attitude(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    with core.unloaded():
        core.trace(t, q, u, np.zeros((count, n)))  # prescribed entries of q, u are those of their signals now
        # as it moves, with no speed, and with each speed alone; accelerations of drives belong to ud, not to z00
        speeds = np.empty((count, n + 2, n))
        speeds[:, 0], speeds[:, 1], speeds[:, 2:] = u, 0.0, np.eye(n)
        with core.undriven():
            trace, _ = core.trace(
                np.repeat(t, n + 2),
                np.repeat(q, n + 2, axis=0),
                speeds.reshape(count * (n + 2), n),
                np.zeros((count * (n + 2), n)),
            )
    bodies = trace.reshape(count, n + 2, core.rows, N_TRACE)[:, :, 1:]
    z = np.concatenate((bodies[..., columns.VELOCITY], bodies[..., columns.OMEGA]), axis=3)
    z = z.reshape(count, n + 2, -1)
    now = bodies[:, 0]
    bias = np.concatenate((now[..., columns.ACCELERATION], now[..., columns.ALPHA]), axis=2)
    return Attitude(
        now[..., columns.POSITION],
        now[..., columns.ROTATION].reshape(count, -1, 3, 3),
        z[:, 2:] - z[:, 1:2],
        z[:, 1],
        bias.reshape(count, -1),
    )


def trace_of(
    mech: "Mechanism", state: State | tuple[Any, ...], ud: Floats | None, what: str = "energy"
) -> tuple[Floats, Floats]:
    """Return (trace, loads on the speeds) of one state with these accelerations, default 0."""
    t, q, u = as_rows(mech, state, what)
    return mech._core.trace(t, q, u, np.zeros((1, mech.nu)) if ud is None else ud)
