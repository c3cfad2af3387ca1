"""Constraint rows in messages: the chord that is farthest from closing, names, counts."""

import numpy as np

from treemech.kinematics.rows import freedoms, quoted, worst_row

ROWS = [("A", 0), ("A", 1), ("B", 0)]


def test_the_worst_chord_is_found_by_all_its_rows():
    assert worst_row(ROWS, np.array([3.0, -4.0, 4.5])) == ("A", 5.0)
    assert worst_row(ROWS, np.array([3.0, 0.0, -4.5])) == ("B", 4.5)


def test_an_infinite_gap_is_the_worst():
    assert worst_row(ROWS, np.array([3.0, 1.0, np.inf])) == ("B", np.inf)


def test_words_of_messages():
    assert quoted(np.array(["A", "B[1]"])) == "'A', 'B[1]'"
    assert [freedoms(n) for n in (0, 1, 2)] == [
        "0 degrees of freedom",
        "1 degree of freedom",
        "2 degrees of freedom",
    ]
