# mypy: ignore-errors
"""Entry points of the core on dual numbers: the same kernels, compiled for a context of dual numbers.

All numbers of the model and of the state may change along one direction; all results have a derivative along
it. Elements are called on dual numbers too (elements.compilation.entry).
"""

import numpy as np
from numba import types

from treemech.elements.dual.numbers import dual_number
from treemech.kinematics.chords.element import element_rows, fit_element
from treemech.kinematics.chords.motion import constraint_rows
from treemech.kinematics.kernel.language import dual_context, duals, floats, inlined, ints
from treemech.kinematics.kernel.status import CHORD_FAILED, OK, SIGNAL_FAILED
from treemech.kinematics.plan.arrays import N_CONTEXT
from treemech.kinematics.plan.chord_views import N_CHORD_CONTEXT, chord_pivots, chord_q, chord_records
from treemech.kinematics.plan.views import (
    body_work,
    counts,
    effort_records,
    n_states,
    own_q,
    own_u,
    own_ud,
    own_z,
    point_work,
    signal_values,
    speed_work,
)
from treemech.kinematics.tree.general_hinge import place_hinge
from treemech.kinematics.tree.sweep import columns, coordinate_rates, origin_velocities, prescribe, signals

from ..derivatives.dual_composites import differentiate_points
from ..equations.virtual_work import evaluate_motion, inverse_dynamics
from ..loads.applied import apply_efforts
from .begin import prescribe_accelerations

_f, _n, _status = types.float64, types.int64, types.int32


def dual_hinge(i, t, context):
    """Place body i as `general_hinge` does, on dual numbers."""
    return np.int32(1) if place_hinge(dual_context(context, N_CONTEXT), i, t) else np.int32(0)


def dual_loads(i, t, context):
    """Apply elements and external loads as `applied_loads` does, on dual numbers."""
    return np.int32(apply_efforts(dual_context(context, N_CONTEXT), t))


def dual_composite(c, t, context):
    """Apply composite c as `composite` does, on dual numbers; its points are in equilibrium already."""
    return np.int32(differentiate_points(dual_context(context, N_CONTEXT), c, t))


def dual_chord(c, t, loops):
    """Evaluate the rows of chord c as `chord_element` does, on dual numbers.

    Coordinates of a cut hinge and unknowns of a constraint are fitted already.
    """
    chords = dual_context(loops, N_CHORD_CONTEXT)
    plan = dual_context(chords[0], N_CONTEXT)
    worked = fit_element(plan, chords, c, t) and element_rows(plan, chords, c, t)
    return np.int32(1) if worked else np.int32(0)


@inlined
def _copy(numbers, to):
    """Copy numbers; their derivatives are zero."""
    for k in range(to.shape[0]):
        to[k] = numbers[k]


@inlined
def _copy_rows(numbers, to):
    for i in range(to.shape[0]):
        for k in range(to.shape[1]):
            to[i, k] = numbers[i, k]


@inlined
def _stand(plan, chords, source, cut, s):
    """Copy the state of the core (source, cut) to the work arrays of the dual numbers, with its change s.

    The change consists of displacements, speeds and states.
    """
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    change = floats(s, 2 * nu + nx + nq)
    q, u, z, rate = own_q(source), own_u(source), own_z(source), floats(s + 8 * (2 * nu + nx), nq)
    coordinate_rates(source, q, change, rate)
    to_q, to_u, to_z = own_q(plan), own_u(plan), own_z(plan)
    for k in range(nq):
        to_q[k] = dual_number(q[k], rate[k])
    for k in range(nu):
        to_u[k] = dual_number(u[k], change[nu + k])
    for k in range(nz):
        to_z[k] = dual_number(z[k], change[2 * nu + k] if k < nx else 0.0)
    _copy(effort_records(source), effort_records(plan))
    _copy_rows(point_work(source), point_work(plan))
    _copy_rows(signal_values(source), signal_values(plan))
    _copy(chord_q(cut), chord_q(chords))
    _copy(chord_records(cut), chord_records(chords))
    _copy_rows(chord_pivots(cut), chord_pivots(chords))


def dual_equations(t, s, ud, tau, core, loops):
    """Evaluate constraint rows and tau = A ud - Q with their derivatives, at the state `core` evaluated last.

    `core` and `loops` are the chord contexts of plain and of dual numbers; s is the change of the state,
    followed by nq numbers of workspace. Prescribed coordinates, speeds and accelerations follow their
    signals. tau are dual numbers.
    """
    cut, chords = ints(core, N_CHORD_CONTEXT), dual_context(loops, N_CHORD_CONTEXT)
    source, plan = ints(cut[0], N_CONTEXT), dual_context(chords[0], N_CONTEXT)
    rows, nq, nu = counts(plan)
    _stand(plan, chords, source, cut, s)
    failed = signals(plan, t)
    if failed >= 0:
        return np.int32(SIGNAL_FAILED + 16 * failed)
    prescribe(plan, own_q(plan), own_u(plan))
    W, S, state_u = body_work(plan), speed_work(plan), own_u(plan)
    status = evaluate_motion(plan, W, S, t, own_q(plan), state_u)
    if status != OK:
        return np.int32(status)
    own = own_ud(plan)
    _copy(floats(ud, nu), own)
    prescribe_accelerations(plan, own)
    inverse_dynamics(plan, W, S, own, duals(tau, nu))
    origin_velocities(plan, W, S, state_u)
    columns(plan, W, S)
    failed = constraint_rows(plan, chords, W, S, t)
    return np.int32(OK if failed < 0 else CHORD_FAILED + 16 * failed)


# name -> function, C signature
DUAL_ENTRIES = {
    "dual_hinge": (dual_hinge, _status(_n, _f, _n)),
    "dual_loads": (dual_loads, _status(_n, _f, _n)),
    "dual_composite": (dual_composite, _status(_n, _f, _n)),
    "dual_chord": (dual_chord, _status(_n, _f, _n)),
    "dual_equations": (dual_equations, _status(_f, *[_n] * 5)),
}
