"""Equations of motion at one state: A ud = Q + P^T lambda, P ud + P00 = 0 (6.3.6)."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.dynamics.model.inertia_check import refuse_weightless
from treemech.kinematics.plan.arrays import REACTIONS
from treemech.topology.arrays import Floats

from ..results.state import State
from .states import as_rows, loads_on_speeds, unpack

if TYPE_CHECKING:
    from ..mechanism import Mechanism


class ForwardDynamics(NamedTuple):
    """Solution of the equations of motion: accelerations, and the multipliers of the chords."""

    ud: Floats
    multipliers: Floats


def forward_dynamics(mech: "Mechanism", state: State | tuple[Any, ...], loads: Any = None) -> ForwardDynamics:
    """Return accelerations and multipliers, see `Mechanism.forward_dynamics`."""
    t, q, u = unpack(mech, state, "forward_dynamics")
    core = mech._core
    if core.loops is not None:
        from .closed_chains import closed_motion
        from .contacts import contacts, unilateral

        tau = loads_on_speeds(mech, loads)
        if not unilateral(mech) and not core.context[REACTIONS]:
            whole = core.loops.regular(
                float(t), np.array(q, dtype=np.float64), np.array(u, dtype=np.float64), tau
            )
            if whole is not None:
                return ForwardDynamics(whole.ud[0], whole.multipliers[0])
            unpack(mech, state, "forward_dynamics")
        with contacts(mech, float(t), q, u, tau):
            rows = as_rows(mech, state, "forward_dynamics")
            core.loops.choose(float(t), rows[1][0], rows[2][0])
            found = closed_motion(core, *rows, tau)
        return ForwardDynamics(found.ud[0], found.multipliers[0])
    ud = core.forward_dynamics(t, q, u, loads_on_speeds(mech, loads))
    if not np.isfinite(ud).all():
        refuse_weightless(core, float(t), np.asarray(q, dtype=np.float64))
    return ForwardDynamics(ud, np.zeros(0))


def mass_matrix(mech: "Mechanism", state: State | tuple[Any, ...]) -> Floats:
    """Return A (nu, nu) of (6.2.12)."""
    t, q, _ = as_rows(mech, state, "mass_matrix")
    return mech._core.mass_matrix(float(t[0]), q[0])


def load_column(mech: "Mechanism", state: State | tuple[Any, ...]) -> Floats:
    """Return Q (nu,) of (6.2.12), see `Mechanism.load_column`."""
    t, q, u = as_rows(mech, state, "load_column")
    from treemech.dynamics.model.reaction_dependent import ReactionDependent

    reaction_dependent = ReactionDependent(mech._core)
    if reaction_dependent:  # they depend on the reactions in the motion from this state
        mech.forward_dynamics(state)
    with reaction_dependent.held():
        Q: Floats = -mech._core.inverse_dynamics(t, q, u, np.zeros((1, mech.nu)))[0]
    return Q
