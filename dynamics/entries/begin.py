# mypy: ignore-errors
"""How an entry point begins: signals, and the state in the work arrays; and what it leaves of elements."""

from treemech.kinematics.kernel.language import floats, inlined
from treemech.kinematics.kernel.status import OK, SIGNAL_FAILED
from treemech.kinematics.plan.arrays import Z_ROWS
from treemech.kinematics.plan.chord_views import chord_q
from treemech.kinematics.plan.views import (
    counts,
    n_audit,
    n_efforts,
    n_states,
    own_effort,
    own_q,
    own_u,
    own_z,
    own_zd,
)
from treemech.kinematics.tree.sweep import prescribe, signals, turn_speeds

from ..loads.efforts import audit


@inlined
def begin(plan, t, q, u):
    """Signals at t, and the state at the addresses q, u copied to the work arrays; a status."""
    failed = signals(plan, t)
    if failed >= 0:
        return SIGNAL_FAILED + 16 * failed
    rows, nq, nu = counts(plan)
    prescribe(plan, floats(q, nq), floats(u, nu))
    return OK


@inlined
def begin_row(plan, t, q, u, k):
    """As `_begin` for state k of many, with its own z if there are any."""
    if plan[Z_ROWS] != 0:
        nz, nx = n_states(plan)
        z, given = own_z(plan), floats(plan[Z_ROWS] + 8 * nz * k, nz)
        for j in range(nz):
            z[j] = given[j]
    rows, nq, nu = counts(plan)
    return begin(plan, t, q + 8 * nq * k, u + 8 * nu * k)


@inlined
def begin_states(plan, t, y):
    """As `_begin` for an integrator state (q, speeds, x, audit, memory): speeds turned to the public base."""
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    status = begin(plan, t, y, y + 8 * nq)
    if status != OK:
        return status
    turn_speeds(plan, own_q(plan), own_u(plan), -1.0)
    z, given, remembered = (
        own_z(plan),
        floats(y + 8 * (nq + nu), nx),
        floats(y + 8 * (nq + nu + n_audit(plan)), nz),
    )
    for k in range(nz):
        z[k] = given[k] if k < nx else remembered[k]
    return OK


@inlined
def state_rates(plan, dy):
    """Rates of the states of elements and of the audit; what elements remember stands still."""
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    zd, rates, remembered = (
        own_zd(plan),
        floats(dy + 8 * (nq + nu), nx),
        floats(dy + 8 * (nq + nu + n_audit(plan)), nz),
    )
    for k in range(nx):
        rates[k] = zd[k]
    for k in range(nx, nz):
        remembered[k] = 0.0
    if n_audit(plan) > 0:
        audit(plan, floats(dy + 8 * (nq + nu + nx), n_audit(plan)))


@inlined
def loads_on_speeds(plan, tau):
    """tau and the loads of elements."""
    if n_efforts(plan) == 0:
        return tau
    effort = own_effort(plan)
    for k in range(effort.shape[0]):
        effort[k] += tau[k]
    return effort


@inlined
def begin_loops(plan, chords, t, y):
    """As `_begin_states` for an integrator state with the coordinates of cut hinges behind it."""
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    status = begin_states(plan, t, y)
    if status != OK:
        return status
    cut = chord_q(chords)
    given = floats(y + 8 * (nq + nu + nz + n_audit(plan)), cut.shape[0])
    for k in range(cut.shape[0]):
        cut[k] = given[k]
    return OK
