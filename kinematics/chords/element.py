# mypy: ignore-errors
"""Rows of chords whose element is called through its address; only models with such a chord compile this."""

from ..kernel.language import kernel
from ..plan.chord_views import (
    chord_paths,
    chord_pivots,
    chord_q,
    chord_records,
    chord_work,
    chords,
    partials,
    rows,
)
from ..plan.columns import chord
from ..plan.views import dofs, own_q, own_u, own_ud, parameters
from .equations import constraint_element, coupling_element, fit_unknowns
from .hinge import fit_hinge, hinge_rows


@kernel
def element_rows(plan, loops, c, t):
    """Compute the rows of chord c, with wrenches in the base of end a, or with the partials of a coupling.

    Returns False if the element failed.
    """
    plan_chord, X, Y, record = chords(loops), chord_work(loops), rows(loops), chord_records(loops)
    parameter, pivot, q = parameters(plan), chord_pivots(loops), chord_q(loops)
    if plan_chord[c, chord.KIND] == chord.COUPLING:
        return coupling_element(
            plan_chord, chord_paths(loops), dofs(plan), Y, record, partials(loops), parameter, c, own_q(plan), own_u(plan),
            own_ud(plan), t,
        )  # fmt: skip
    if plan_chord[c, chord.KIND] == chord.CONSTRAINT:
        return constraint_element(plan_chord, Y, X, record, q, pivot, parameter, c, t)
    return hinge_rows(plan_chord, Y, X, record, q, pivot, parameter, c, t)


@kernel
def fit_element(plan, loops, c, t):
    """Take one Gauss-Newton step for the coordinates or auxiliary unknowns of chord c.

    If they solve their equations, a step on dual numbers gives their derivatives (implicit function theorem).
    Returns False if the element failed.
    """
    plan_chord, X, record = chords(loops), chord_work(loops), chord_records(loops)
    parameter, q, kind = parameters(plan), chord_q(loops), plan_chord[c, chord.KIND]
    if plan_chord[c, chord.NU] == 0 or kind == chord.COUPLING:
        return True
    if kind == chord.CONSTRAINT:
        return fit_unknowns(plan_chord, X, record, q, parameter, c, t)
    return fit_hinge(plan_chord, X, record, q, parameter, c, t)
