"""ChordPlan and ChordWork: the chords of a model as flat arrays, and the workspace their evaluation needs."""

from typing import NamedTuple

from treemech.topology.arrays import Floats, Ints

from .columns import chord, row

# Places in the loop context of the entry points that only models with elements by address need: their rows,
# and the derivatives of their rows
CHORD_ELEMENT, CHORD_DUALS = 8, 9


class ChordPlan(NamedTuple):
    """Arrays that describe the chords: read-only by convention."""

    chord: Ints  # (nc, chord.N_COLUMNS)
    place: Floats  # (nc, chord.N_PLACE)
    path: Ints  # (npath, chord.N_PATH_COLUMNS)


class ChordWork(NamedTuple):
    """Arrays of the evaluation at hand."""

    row: Floats  # (m, row.N_COLUMNS)
    chord: Floats  # (nc, chord.N_WORK)
    partials: Floats  # entries of P: per chord, per speed of its path, per row
    record: Floats  # motion of hinges by address; rows and weights of constraints; arguments and rows of couplings
    q: Floats  # coordinates of the cut hinges and auxiliary unknowns: a fit starts from them and updates them
    u: Floats  # their rates
    pivot: Ints  # (nc, 6) unit directions a complement is made from (hinges by address, auxiliary unknowns)


def partials_size(index: Ints) -> int:
    """Count the doubles for the derivatives of the rows of a chord (chords.partials), workspace included."""
    count, n = int(index[chord.N_ROWS]), int(index[chord.PATH_END] - index[chord.PATH_START])
    if index[chord.KIND] == chord.COUPLING:
        made = n * count * (n + 3) + 4 * count * (n + 2) + 2 * n
        return made + count * (n + 2) + 2 * (2 * n + count * (3 + n))
    made = count * (12 + 6 * chord.N_LOCAL) + 4 * count * chord.N_LOCAL + count * row.N_COLUMNS + chord.N_KEPT
    own = int(index[chord.N_ROWS] + index[chord.NU])
    record = (
        own * (9 + 2 * int(index[chord.NU]) + int(index[chord.HOLONOMIC])) + 24 + 6 * int(index[chord.NU])
    )
    return (
        made
        + count * chord.N_LOCAL
        + chord.N_COLUMNS
        + 6
        + 2 * (chord.N_WORK + 7 + record + count * row.N_COLUMNS)
    )  # the last term: workspace of chords.duals
