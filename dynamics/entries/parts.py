# mypy: ignore-errors
"""Entry points that the core calls through their addresses: hinges, loads, composites, reactions, chords.

They are parts of the equations of motion. Each is compiled once, not again inside every entry point that
needs it.
"""

import numpy as np

from treemech.kinematics.chords.element import element_rows
from treemech.kinematics.kernel.language import ints
from treemech.kinematics.plan.arrays import N_CONTEXT
from treemech.kinematics.plan.chord_views import N_CHORD_CONTEXT
from treemech.kinematics.tree.general_hinge import place_hinge

from ..equations.loop_views import N_LOOP_CONTEXT
from ..loads.applied import apply_efforts
from ..loads.composites import solve_points
from ..loads.reactions import apply_reactions, solve_reactions


def general_hinge(i, t, context):
    """Place body i, whose hinge is called through its address. The sweep over positions calls this."""
    return np.int32(1) if place_hinge(ints(context, N_CONTEXT), i, t) else np.int32(0)


def applied_loads(i, t, context):
    """Apply elements and external loads at the state in Work. The equations of motion call this."""
    return np.int32(apply_efforts(ints(context, N_CONTEXT), t))


def composite(c, t, context):
    """Bring the points of composite c into equilibrium and apply its loads. Applied loads call this."""
    return np.int32(solve_points(ints(context, N_CONTEXT), c, t))


def reactions(i, t, loops):
    """Apply the reaction-dependent elements. The equations of motion call this.

    If i is 0 the multipliers are found as well, if i is 1 they are given.
    """
    chords = ints(loops, N_LOOP_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    if i == 1:
        return np.int32(apply_reactions(plan, chords, t))
    return np.int32(solve_reactions(plan, chords, t))


def chord_element(c, t, loops):
    """Evaluate the rows of chord c, whose element is called by address. The constraint rows call this."""
    chords = ints(loops, N_CHORD_CONTEXT)
    return np.int32(1) if element_rows(ints(chords[0], N_CONTEXT), chords, c, t) else np.int32(0)
