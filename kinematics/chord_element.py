# mypy: ignore-errors
"""Rows of the chords whose element is called through its address; only models that have one need (and compile) this."""

from .chord_equations import constraint_element, coupling_element
from .chord_plan import CONSTRAINT, COUPLING, KIND
from .chord_table import hinge_rows
from .chord_views import chord_paths, chord_pivots, chord_q, chord_records, chord_work, chords, partials, rows
from .kernel import kernel
from .views import dofs, own_q, own_u, own_ud, parameters


@kernel
def element_rows(plan, loops, c, t):
    """Rows of chord c from its relative motion, wrenches in the base of end a; a coupling's with its partials.

    Whether the element worked.
    """
    chord, X, Y, record = chords(loops), chord_work(loops), rows(loops), chord_records(loops)
    parameter, pivot, q = parameters(plan), chord_pivots(loops), chord_q(loops)
    if chord[c, KIND] == COUPLING:
        return coupling_element(
            chord, chord_paths(loops), dofs(plan), Y, record, partials(loops), parameter, c, own_q(plan), own_u(plan),
            own_ud(plan), t,
        )  # fmt: skip
    if chord[c, KIND] == CONSTRAINT:
        return constraint_element(chord, Y, X, record, q, pivot, parameter, c, t)
    return hinge_rows(chord, Y, X, record, q, pivot, parameter, c, t)
