"""ChordPlan and ChordWork: the chords of a model as flat arrays, and the workspace their evaluation needs."""

from typing import NamedTuple

from treemech.topology.arrays import Floats, Ints

from .columns import chord, row

# Places in the loop context of the entry points that only models with elements by address need: their rows, and the
# slopes of those
CHORD_ELEMENT, CHORD_DUALS = 8, 9


class ChordPlan(NamedTuple):
    """What the chords ARE."""

    chord: Ints  # (nc, N_CHORD)
    place: Floats  # (nc, N_PLACE)
    path: Ints  # (npath, 3)


class ChordWork(NamedTuple):
    """What is computed NOW."""

    row: Floats  # (m, N_ROW)
    chord: Floats  # (nc, N_CHORD_WORK)
    partials: Floats  # entries of P: per chord, per speed of its path, per row
    record: (
        Floats  # motion of TABLE hinges; rows of constraints and their weights; arguments, rows of couplings
    )
    q: Floats  # coordinates of the cut hinges, auxiliary unknowns: where a fit starts and ends
    u: Floats  # their speeds, rates
    pivot: Ints  # (nc, 6) unit directions a complement is made from (TABLE hinges, auxiliary unknowns)


def partials_size(index: Ints) -> int:
    """Doubles for the derivatives of the rows of a chord (chord_partials), and the room they take to make."""
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
    )  # chord_duals
