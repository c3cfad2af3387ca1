# mypy: ignore-errors
"""Entry points of trees: the equations of motion as an integrator sees them, and at many states."""

import numpy as np

from treemech.kinematics.kernel.language import floats, ints
from treemech.kinematics.kernel.status import OK, ONLY_POINTS
from treemech.kinematics.plan.arrays import N_CONTEXT
from treemech.kinematics.plan.columns import effort
from treemech.kinematics.plan.views import (
    body_work,
    counts,
    effort_table,
    n_audit,
    n_states,
    own_q,
    own_u,
    speed_work,
)
from treemech.kinematics.tree.sweep import columns

from ..equations.articulated import forward_dynamics as solve_tree
from ..equations.virtual_work import evaluate_motion
from ..equations.virtual_work import inverse_dynamics as load_tree
from ..equations.virtual_work import mass_matrix as assemble_mass_matrix
from ..loads.composites import remember_points
from ..loads.efforts import remember as write_down
from .begin import begin_states, evaluate_row, loads_on_speeds, place_row, tree_rates


def rhs(t, y, dy, context):
    """Compute y' of y = (q, speeds, states of elements, audit, memory of elements), the equations of motion.

    Angular speeds of Euler parameters are in the base of the outer body. Prescribed entries have the rate
    zero.
    """
    plan = ints(context, N_CONTEXT)
    return np.int32(tree_rates(plan, t, y, dy))


def remember(t, y, dy, context):
    """Write what elements and internal points remember into the z of the state y, after an accepted step.

    dy is not used. If no element remembers anything, the points of the last evaluation are written, and
    ONLY_POINTS is returned: the rates of y are the same.
    """
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    z, table = floats(y + 8 * (nq + nu + n_audit(plan)), nz), effort_table(plan)
    status = ONLY_POINTS
    for e in range(table.shape[0]):
        if table[e, effort.REMEMBER] != 0:
            status = OK
    if status == OK:
        status = begin_states(plan, t, y)
        if status == OK:
            status = evaluate_motion(plan, body_work(plan), speed_work(plan), t, own_q(plan), own_u(plan))
        if status == OK:
            status = write_down(plan, t, z)
    remember_points(plan, z)
    return np.int32(status)


def forward_dynamics(count, t, q, u, tau, ud, context):
    """Compute ud of each state under the loads tau on the speeds."""
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    W, S, times = body_work(plan), speed_work(plan), floats(t, count)
    for k in range(count):
        status = evaluate_row(plan, W, S, times, q, u, k)
        if status != OK:
            return np.int32(status)
        solve_tree(
            plan, W, S, loads_on_speeds(plan, floats(tau + 8 * nu * k, nu)), floats(ud + 8 * nu * k, nu)
        )
    return np.int32(OK)


def inverse_dynamics(count, t, q, u, ud, tau, context):
    """Compute tau = A ud - Q of each state."""
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    W, S, times = body_work(plan), speed_work(plan), floats(t, count)
    for k in range(count):
        status = evaluate_row(plan, W, S, times, q, u, k)
        if status != OK:
            return np.int32(status)
        load_tree(plan, W, S, floats(ud + 8 * nu * k, nu), floats(tau + 8 * nu * k, nu))
    return np.int32(OK)


def mass_matrix(count, t, q, u, A, context):
    """Compute the lower triangle of A of each state, in the regular order of the speeds.

    The caller sets A to zero before.
    """
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    W, S, times = body_work(plan), speed_work(plan), floats(t, count)
    for k in range(count):
        status = place_row(plan, W, S, times, q, u, k)
        if status != OK:
            return np.int32(status)
        columns(plan, W, S)
        assemble_mass_matrix(plan, W, S, A + 8 * nu * nu * k, False)
    return np.int32(OK)


def positions(count, t, q, u, context):
    """Place all bodies. The poses stay in Work; benchmarks time this."""
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    W, S, times = body_work(plan), speed_work(plan), floats(t, count)
    for k in range(count):
        status = place_row(plan, W, S, times, q, u, k)
        if status != OK:
            return np.int32(status)
    return np.int32(OK)
