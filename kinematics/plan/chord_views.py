# mypy: ignore-errors
"""ChordPlan and ChordWork in compiled code: the arrays behind the loop context (`loops`)."""

from numba import types

from ..kernel.language import member
from . import chord_arrays as _c
from .columns import chord, row

# The loop context: address of the tree context, sizes, the entry points for elements by address, then
# addresses
TREE, N_CHORDS, N_PATH, N_ALL_ROWS, N_ENTRIES, N_RECORDS, N_CHORD_Q, N_CHORD_U = range(8)
CHORD_ELEMENT, CHORD_DUALS = _c.CHORD_ELEMENT, _c.CHORD_DUALS
FIRST_ARRAY = CHORD_DUALS + 1
_FIELDS = {
    name: FIRST_ARRAY + k
    for k, name in enumerate((*_c.ChordPlan._fields, *("work_" + n for n in _c.ChordWork._fields)))
}
N_CHORD_CONTEXT = FIRST_ARRAY + len(_FIELDS)
_F, _I = types.float64, types.int64

chords = member(_I, _FIELDS["chord"], (N_CHORDS, 0), chord.N_COLUMNS)
places = member(_F, _FIELDS["place"], (N_CHORDS, 0), chord.N_PLACE)
chord_paths = member(_I, _FIELDS["path"], (N_PATH, 0), chord.N_PATH_COLUMNS)
rows = member(_F, _FIELDS["work_row"], (N_ALL_ROWS, 0), row.N_COLUMNS)
chord_work = member(_F, _FIELDS["work_chord"], (N_CHORDS, 0), chord.N_WORK)
partials = member(_F, _FIELDS["work_partials"], (N_ENTRIES, 0))
chord_records = member(_F, _FIELDS["work_record"], (N_RECORDS, 0))
chord_q = member(_F, _FIELDS["work_q"], (N_CHORD_Q, 0))
chord_u = member(_F, _FIELDS["work_u"], (N_CHORD_U, 0))
chord_pivots = member(_I, _FIELDS["work_pivot"], (N_CHORDS, 0), 6)
