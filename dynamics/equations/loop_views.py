# mypy: ignore-errors
"""LoopPlan and LoopWork as compiled code sees them: the arrays behind the loop context."""

from numba import types

from treemech.kinematics.kernel.language import member
from treemech.kinematics.plan.chord_views import N_CHORD_CONTEXT

from .loop_arrays import LoopPlan, LoopWork

_NAMES = (*LoopPlan._fields, *LoopWork._fields)
# Places in the sparse matrices are never negative. As unsigned numbers they need no test for negative
# indices, which takes a quarter of the time of a factorisation.
_PLACES = (
    "slot", "used", "used_row", "used_speed", "used_slot", "added_row", "added_a", "added_b", "added_slot", "diagonal",
    "Ap", "Ai", "Lp", "Li", "Rp", "Ri", "Rs", "entry_row", "entry_speed", "speed_row", "speed_column",
)  # fmt: skip
N_LOOP_CONTEXT = N_CHORD_CONTEXT + 2 * len(_NAMES)


def _view(name, place=False):
    k = _NAMES.index(name)
    integer = name in LoopPlan._fields or name in ("masked", "off", "held", "independent")
    dtype = types.uint64 if place or name in _PLACES else types.int64 if integer else types.float64
    return member(dtype, N_CHORD_CONTEXT + len(_NAMES) + k, (N_CHORD_CONTEXT + k, 0))


packed_rows, kept_rows, fixed_speeds = _view("packed"), _view("kept"), _view("fixed")
held_speeds, independents = _view("held"), _view("independent")
unilaterals, off_rows = _view("unilateral"), _view("off")
entry_rows, entry_speeds = _view("entry_row"), _view("entry_speed")
speed_rows, speed_columns = _view("speed_row"), _view("speed_column")
added_rows, added_slots = _view("added_row"), _view("added_slot")
added_entries_a, added_entries_b = _view("added_a"), _view("added_b")
used_entries, used_rows = _view("used"), _view("used_row")
used_speeds, used_slots = _view("used_speed"), _view("used_slot")
slots, diagonals, perms = _view("slot"), _view("diagonal"), _view("perm")
orders = _view("perm", place=True)  # perms as indices
matrix_starts, matrix_rows = _view("Ap"), _view("Ai")
factor_starts, factor_rows = _view("Lp"), _view("Li")
factor_row_starts, factor_columns, factor_slots = _view("Rp"), _view("Ri"), _view("Rs")
packed_mass, matrix, factor, pivots, scratch = _view("A"), _view("Ax"), _view("Lx"), _view("D"), _view("Y")
inverses = _view("inverse")
right_sides, solutions, permuted = _view("right"), _view("x"), _view("b")
row_scales, masks, monitors = _view("scale"), _view("masked"), _view("monitor")
reaction_workspace, reaction_bases = _view("reaction"), _view("base")
workspace_q, workspace_u, workspace_rows = _view("workspace_q"), _view("workspace_u"), _view("workspace_rows")
