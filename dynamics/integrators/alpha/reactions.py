# mypy: ignore-errors
"""Reaction-dependent elements in generalized-alpha: their loads are functions of the unknown multipliers.

Newton's matrix contains the derivatives of these loads besides - P^T, by differences: one residual for every
multiplier.
"""

from math import sqrt

from treemech.kinematics.kernel.language import floats, floats2, ints, kernel
from treemech.kinematics.kernel.status import OK

from ...equations.loop_views import N_LOOP_CONTEXT, masks
from .. import layout
from . import layout as alpha
from .residual import INDEX_2, linearise, residual
from .state import by_multipliers, row_of, sizes

_EPSILON = 2.0**-52


@kernel
def derive(table, n, t, h, y, rank, control, count, work, rhs, jacobian, context):
    """Compute all derivatives of the residual at the end that the rates at the start predict (`linearise`).

    Returns a status.
    """
    status = linearise(INDEX_2, table, n, t, h, y, rank, control, count, work, rhs, jacobian, context)
    if status != OK or table[alpha.REACTION_DEPENDENT] == 0:
        return status
    return _derivatives(table, n, t + h, count, work, rhs, context)


@kernel
def _derivatives(table, n, t, count, work, rhs, context):
    """Compute derivatives by the multipliers, at the state in E3 with the rates at the start.

    Returns a status.
    """
    nq, ns, m, size, nu = sizes(table)
    L, masked = floats2(by_multipliers(table, n), m, size), masks(ints(context, N_LOOP_CONTEXT))
    multipliers, start = (
        floats(row_of(table, n, alpha.MULTIPLIERS), m),
        floats(row_of(table, n, alpha.START), size),
    )
    moved, largest = floats(row_of(table, n, alpha.RESIDUALS), size), 1.0
    state = work + 8 * n * layout.E3
    status = residual(
        INDEX_2, table, n, t, state, work, multipliers, row_of(table, n, alpha.START), rhs, context
    )
    count[layout.EVALUATIONS] += 1
    for k in range(m):
        largest = max(largest, abs(multipliers[k]))
    for k in range(m):
        if status != OK or masked[k] == 1:
            continue
        value = multipliers[k]
        multipliers[k] = value + sqrt(_EPSILON) * largest
        amount = multipliers[k] - value
        status = residual(
            INDEX_2, table, n, t, state, work, multipliers, row_of(table, n, alpha.RESIDUALS), rhs, context
        )
        count[layout.EVALUATIONS] += 1
        multipliers[k] = value
        for i in range(ns):
            L[k, i] = (moved[i] - start[i]) / amount
    return status
