"""Motion of the bodies at one state: attitude, Jacobian, momentum and energy."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.dynamics.model import trace as columns
from treemech.topology import Attachment, Body, TopologyError, unknown
from treemech.topology.arrays import Floats

from ..results.computed import Energy
from ..results.elements import stored_energy
from ..results.model_info import energies
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


class Momentum(NamedTuple):
    """Momentum, and angular momentum about the world origin."""

    linear: Floats
    angular: Floats


def energy(mech: "Mechanism", state: State | tuple[Any, ...]) -> Energy:
    """Return kinetic, potential and stored energy, see `Mechanism.energy`."""
    trace, _ = trace_of(mech, state, None)
    stored = (
        stored_energy(mech._core.work.effort_records[None], mech._info)
        if mech._info.elements
        else np.zeros(1)
    )
    return Energy(*(float(e[0]) for e in (*energies(trace, mech._info), stored)))


def momentum(mech: "Mechanism", state: State | tuple[Any, ...]) -> Momentum:
    """Return momentum and angular momentum, see `Mechanism.momentum`."""
    trace = trace_of(mech, state, None, "momentum")[0][0]
    linear, angular = np.zeros(3), np.zeros(3)
    for row, body in zip(trace[1:], mech.tree.bodies[1:], strict=True):
        R = row[columns.ROTATION].reshape(3, 3)
        arm, w = R @ body.com, row[columns.OMEGA]
        p = body.mass * (row[columns.VELOCITY] + np.cross(w, arm))
        linear += p
        angular += np.cross(row[columns.POSITION] + arm, p) + R @ body.inertia @ R.T @ w
    return Momentum(linear, angular)


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


def jacobian(mech: "Mechanism", end: Body | Attachment, state: State | tuple[Any, ...]) -> Floats:
    """Return the velocities of an end per unit speed, see `Mechanism.jacobian`."""
    place = end.at() if isinstance(end, Body) else end
    if not isinstance(place, Attachment):
        raise TopologyError(f"jacobian: {end!r} is neither a body nor an attachment, body.at(...).")
    if place.body.name not in mech.tree.numbers:
        raise TopologyError(f"jacobian: {unknown('body', place.body.name, mech.tree.numbers)}")
    number = mech.tree.numbers[place.body.name]
    if number == 0:
        return np.zeros((6, mech.nu))
    z = mech.attitude(state)
    block = z.partials[:, 6 * (number - 1) : 6 * number]
    arm = z.rotation[number - 1] @ place.offset
    return np.vstack((block[:, :3].T + np.cross(block[:, 3:], arm).T, block[:, 3:].T))


def trace_of(
    mech: "Mechanism", state: State | tuple[Any, ...], ud: Floats | None, what: str = "energy"
) -> tuple[Floats, Floats]:
    """Return (trace, loads on the speeds) of one state with these accelerations, default 0."""
    t, q, u = as_rows(mech, state, what)
    return mech._core.trace(t, q, u, np.zeros((1, mech.nu)) if ud is None else ud)
