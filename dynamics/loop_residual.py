# mypy: ignore-errors
"""Development: the entry point `loop_residual`."""

import numpy as np

from treemech.kinematics.chord_coordinates import chord_rates, settle
from treemech.kinematics.chord_motion import constraint_rows
from treemech.kinematics.chord_views import chord_q
from treemech.kinematics.kernel import floats, ints
from treemech.kinematics.plan import N_CONTEXT, PRESCRIBED_Q, PRESCRIBED_SIGNAL, PRESCRIBED_U
from treemech.kinematics.status import CHORD_FAILED, OK
from treemech.kinematics.sweep import columns, coordinate_rates, origin_velocities, turn_speeds
from treemech.kinematics.views import (
    body_work,
    counts,
    n_audit,
    n_efforts,
    n_states,
    own_q,
    own_u,
    own_ud,
    prescriptions,
    signal_values,
    speed_work,
)

from .entries import _begin_loops, _state_rates
from .loop_views import N_LOOP_CONTEXT
from .virtual_work import evaluate_motion
from .virtual_work import inverse_dynamics as load_tree


def loop_residual(t, y, dy, loops):
    """As `loop_rhs`, backwards: for given rates of the speeds, in dy, the loads A ud - Q they need, in their place.

    Prescribed speeds have the rates of their signals, and no load. Rates of all else as there; the constraint rows of the
    state are left behind, the coordinates of the cut hinges settled.
    """
    chords = ints(loops, N_LOOP_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    status = _begin_loops(plan, chords, t, y)
    if status != OK:
        return np.int32(status)
    q, u, ud = own_q(plan), own_u(plan), own_ud(plan)
    W, S = body_work(plan), speed_work(plan)
    status = evaluate_motion(plan, W, S, t, q, u)
    if status != OK:
        return np.int32(status)
    tau, rates = floats(dy + 8 * nq, nu), floats(dy, nq)
    for k in range(nu):
        ud[k] = tau[k]
    turn_speeds(plan, q, ud, -1.0)
    prescribed, values = prescriptions(plan), signal_values(plan)
    for k in range(prescribed.shape[0]):
        ud[prescribed[k, PRESCRIBED_U]] = values[prescribed[k, PRESCRIBED_SIGNAL], 2]
    load_tree(plan, W, S, ud, tau)
    turn_speeds(plan, q, tau, 1.0)
    coordinate_rates(plan, q, u, rates)
    for k in range(prescribed.shape[0]):
        rates[prescribed[k, PRESCRIBED_Q]] = 0.0
        tau[prescribed[k, PRESCRIBED_U]] = 0.0
    origin_velocities(plan, W, S, u)
    columns(plan, W, S)
    failed = constraint_rows(plan, chords, W, S, t)
    if failed >= 0:
        return np.int32(CHORD_FAILED + 16 * failed)
    if n_efforts(plan) > 0:
        _state_rates(plan, dy)
    settle(chords)
    chord_rates(chords, floats(dy + 8 * (nq + nu + nz + n_audit(plan)), chord_q(chords).shape[0]))
    return np.int32(OK)
