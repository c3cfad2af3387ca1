# mypy: ignore-errors
"""Beginning and end of entry points: signals, states in the work arrays, rates and prescribed entries."""

from treemech.kinematics.kernel.language import inlined, number_size, numbers
from treemech.kinematics.kernel.status import HINGE_FAILED, OK, SIGNAL_FAILED
from treemech.kinematics.plan.arrays import Z_ROWS
from treemech.kinematics.plan.chord_views import chord_q
from treemech.kinematics.plan.columns import speed
from treemech.kinematics.plan.views import (
    body_work,
    counts,
    n_audit,
    n_efforts,
    n_states,
    own_effort,
    own_q,
    own_u,
    own_z,
    own_zd,
    prescriptions,
    signal_values,
    speed_work,
)
from treemech.kinematics.tree.sweep import coordinate_rates, prescribe, signals, turn_speeds
from treemech.kinematics.tree.sweep import positions as place

from ..equations.articulated import forward_dynamics
from ..equations.virtual_work import evaluate_motion
from ..loads.efforts import audit


@inlined
def begin(plan, t, q, u):
    """Evaluate the signals at t and copy the state at the addresses q, u to the work arrays.

    Returns a status code (kernel.status).
    """
    failed = signals(plan, t)
    if failed >= 0:
        return SIGNAL_FAILED + 16 * failed
    rows, nq, nu = counts(plan)
    prescribe(plan, numbers(plan, q, nq), numbers(plan, u, nu))
    return OK


@inlined
def begin_row(plan, t, q, u, k):
    """Begin state k of many, with its own z if there are any. Returns a status code, as `begin`."""
    if plan[Z_ROWS] != 0:
        nz, nx = n_states(plan)
        z, given = own_z(plan), numbers(plan, plan[Z_ROWS] + 8 * nz * k, nz)
        for j in range(nz):
            z[j] = given[j]
    rows, nq, nu = counts(plan)
    return begin(plan, t, q + 8 * nq * k, u + 8 * nu * k)


@inlined
def evaluate_row(plan, W, S, times, q, u, k):
    """Evaluate the motion of state k of many. Returns a status code (kernel.status).

    On failure times[0] becomes the time of the state, for the message to the user.
    """
    status = begin_row(plan, times[k], q, u, k)
    if status == OK:
        status = evaluate_motion(plan, W, S, times[k], own_q(plan), own_u(plan))
    if status != OK:
        times[0] = times[k]
    return status


@inlined
def place_row(plan, W, S, times, q, u, k):
    """Place the bodies in state k of many. Returns a status code, as `evaluate_row`."""
    rows, nq, nu = counts(plan)
    status = begin(plan, times[k], q + 8 * nq * k, u + 8 * nu * k)
    if status == OK:
        failed = place(plan, W, S, times[k], own_q(plan))
        status = OK if failed < 0 else HINGE_FAILED + 16 * failed
    if status != OK:
        times[0] = times[k]
    return status


@inlined
def begin_states(plan, t, y):
    """Begin an integrator state (q, speeds, x, audit, memory), with the speeds turned to the public base.

    Returns a status code, as `begin`.
    """
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    size = number_size(plan)
    status = begin(plan, t, y, y + size * nq)
    if status != OK:
        return status
    turn_speeds(plan, own_q(plan), own_u(plan), -1.0)
    z, given, remembered = (
        own_z(plan),
        numbers(plan, y + size * (nq + nu), nx),
        numbers(plan, y + size * (nq + nu + n_audit(plan)), nz),
    )
    for k in range(nz):
        z[k] = given[k] if k < nx else remembered[k]
    return OK


@inlined
def state_rates(plan, dy):
    """Write the rates of the states of elements and of the audit; memory of elements has the rate zero."""
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    size = number_size(plan)
    zd, rates, remembered = (
        own_zd(plan),
        numbers(plan, dy + size * (nq + nu), nx),
        numbers(plan, dy + size * (nq + nu + n_audit(plan)), nz),
    )
    for k in range(nx):
        rates[k] = zd[k]
    for k in range(nx, nz):
        remembered[k] = 0.0
    if n_audit(plan) > 0:
        audit(plan, numbers(plan, dy + size * (nq + nu + nx), n_audit(plan)))


@inlined
def tree_rates(plan, t, y, dy):
    """Compute y' of an integrator state at the address y of a tree, on numbers of any type. Returns a status code."""
    rows, nq, nu = counts(plan)
    status = begin_states(plan, t, y)
    if status != OK:
        return status
    q, u = own_q(plan), own_u(plan)
    ud, rates = numbers(plan, dy + number_size(plan) * nq, nu), numbers(plan, dy, nq)
    W, S = body_work(plan), speed_work(plan)
    status = evaluate_motion(plan, W, S, t, q, u)
    if status != OK:
        return status
    forward_dynamics(plan, W, S, own_effort(plan), ud)
    if n_efforts(plan) > 0:
        state_rates(plan, dy)
    coordinate_rates(plan, q, u, rates)
    turn_speeds(plan, q, ud, 1.0)
    hold_prescribed(plan, rates, ud)
    return status


@inlined
def hold_prescribed(plan, rates, ud):
    """Set the rates of prescribed coordinates and speeds to zero: the integrator leaves them alone."""
    prescribed = prescriptions(plan)
    for k in range(prescribed.shape[0]):
        rates[prescribed[k, speed.PRESCRIBED_Q]] = 0.0
        ud[prescribed[k, speed.PRESCRIBED_U]] = 0.0


@inlined
def prescribe_accelerations(plan, ud):
    """Set the accelerations of prescribed speeds to those of their signals."""
    prescribed, values = prescriptions(plan), signal_values(plan)
    for k in range(prescribed.shape[0]):
        ud[prescribed[k, speed.PRESCRIBED_U]] = values[prescribed[k, speed.PRESCRIBED_SIGNAL], 2]


@inlined
def loads_on_speeds(plan, tau):
    """Return tau plus the loads of elements on the speeds."""
    if n_efforts(plan) == 0:
        return tau
    effort = own_effort(plan)
    for k in range(effort.shape[0]):
        effort[k] += tau[k]
    return effort


@inlined
def begin_loops(plan, chords, t, y):
    """Begin an integrator state that ends with the coordinates of cut hinges.

    Returns a status code, as `begin`.
    """
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    status = begin_states(plan, t, y)
    if status != OK:
        return status
    cut = chord_q(chords)
    given = numbers(plan, y + number_size(plan) * (nq + nu + nz + n_audit(plan)), cut.shape[0])
    for k in range(cut.shape[0]):
        cut[k] = given[k]
    return OK
