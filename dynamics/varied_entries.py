# mypy: ignore-errors
"""Entry points of the core on pairs (number, derivative): the same kernels, compiled for a context of pairs.

All numbers of the model and of the state may change along one direction; what follows from them comes with its derivative
along it. Elements are called through their slopes (elements.entry).
"""

import numpy as np
from numba import types

from treemech.kinematics.chord_element import element_rows, fit_element
from treemech.kinematics.chord_motion import constraint_rows
from treemech.kinematics.chord_views import N_CHORD_CONTEXT
from treemech.kinematics.kernel import call_element, inlined, pair_context, pairs
from treemech.kinematics.plan import (
    LINK_PARAMETER,
    LINK_SIGNAL,
    N_CONTEXT,
    PRESCRIBED_SIGNAL,
    PRESCRIBED_U,
    SIGNAL_ADDRESS,
    SIGNAL_PARAMETER,
)
from treemech.kinematics.status import CHORD_FAILED, OK, SIGNAL_FAILED
from treemech.kinematics.sweep import columns, origin_velocities, prescribe
from treemech.kinematics.table_hinge import place_hinge
from treemech.kinematics.views import (
    body_work,
    counts,
    own_q,
    own_u,
    own_ud,
    parameters,
    prescriptions,
    signal_links,
    signal_table,
    signal_values,
    speed_work,
)

from .applied_loads import apply_efforts
from .varied_points import vary_points
from .virtual_work import evaluate_motion, inverse_dynamics

_f, _n, _status = types.float64, types.int64, types.int32


def varied_hinge(i, t, context):
    """As `table_hinge`."""
    return np.int32(1) if place_hinge(pair_context(context, N_CONTEXT), i, t) else np.int32(0)


def varied_loads(i, t, context):
    """As `applied_loads`."""
    return np.int32(apply_efforts(pair_context(context, N_CONTEXT), t))


def varied_composite(c, t, context):
    """As `composite`; the points are settled already."""
    return np.int32(vary_points(pair_context(context, N_CONTEXT), c, t))


def varied_chord(c, t, loops):
    """As `chord_element`; coordinates of a cut hinge, unknowns of a constraint are fitted already."""
    chords = pair_context(loops, N_CHORD_CONTEXT)
    plan = pair_context(chords[0], N_CONTEXT)
    worked = fit_element(plan, chords, c, t) and element_rows(plan, chords, c, t)
    return np.int32(1) if worked else np.int32(0)


@inlined
def _signals(plan, t):
    """Signals that change, and all of them copied into the records that hold one; -1, or the one that failed.

    Those without an address stand where they are.
    """
    table, links, values, record = signal_table(plan), signal_links(plan), signal_values(plan), parameters(plan)
    for k in range(table.shape[0]):
        address, first = table[k, SIGNAL_ADDRESS], table[k, SIGNAL_PARAMETER]
        if address != 0 and call_element(address, record, 0, record, 0, t, record, first, values, 3 * k) != 1:
            return k
    for k in range(links.shape[0]):
        for j in range(3):
            record[links[k, LINK_PARAMETER] + j] = values[links[k, LINK_SIGNAL], j]
    return -1


def varied_equations(t, q, u, ud, tau, loops):
    """As `constraints`: constraint rows of one state and tau = A ud - Q, all with their derivatives.

    Prescribed coordinates, speeds and accelerations follow their signals.
    """
    chords = pair_context(loops, N_CHORD_CONTEXT)
    plan = pair_context(chords[0], N_CONTEXT)
    rows, nq, nu = counts(plan)
    failed = _signals(plan, t)
    if failed >= 0:
        return np.int32(SIGNAL_FAILED + 16 * failed)
    prescribe(plan, pairs(q, nq), pairs(u, nu))
    W, S, state_u = body_work(plan), speed_work(plan), own_u(plan)
    status = evaluate_motion(plan, W, S, t, own_q(plan), state_u)
    if status != OK:
        return np.int32(status)
    given, own = pairs(ud, nu), own_ud(plan)
    for k in range(nu):
        own[k] = given[k]
    prescribed, values = prescriptions(plan), signal_values(plan)
    for k in range(prescribed.shape[0]):
        own[prescribed[k, PRESCRIBED_U]] = values[prescribed[k, PRESCRIBED_SIGNAL], 2]
    inverse_dynamics(plan, W, S, own, pairs(tau, nu))
    origin_velocities(plan, W, S, state_u)
    columns(plan, W, S)
    failed = constraint_rows(plan, chords, W, S, t)
    return np.int32(OK if failed < 0 else CHORD_FAILED + 16 * failed)


# name -> function, C signature
VARIED_ENTRIES = {
    "varied_hinge": (varied_hinge, _status(_n, _f, _n)),
    "varied_loads": (varied_loads, _status(_n, _f, _n)),
    "varied_composite": (varied_composite, _status(_n, _f, _n)),
    "varied_chord": (varied_chord, _status(_n, _f, _n)),
    "varied_equations": (varied_equations, _status(_f, *[_n] * 5)),
}
