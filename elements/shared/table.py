"""Tables of a force over a length, an angle or a speed: piecewise linear or a C2 spline, and their integral."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError
from treemech.topology.parameter import plain

from ..fields import as_numbers

# Columns of a piece: its start, the cubic in x - START, the integral up to START. Before the first row and
# after the last one the table continues as a straight line.
START, VALUE, SLOPE, SQUARE, CUBE, AREA, COLUMNS = 0, 1, 2, 3, 4, 5, 6


def make_table(rows: ArrayLike | None, interpolation: str, what: str) -> Floats:
    """Return the pieces of a table given by rows (x, y). Without rows the table is 0 everywhere."""
    if interpolation not in ("spline", "linear"):
        raise ElementError(f"{what}: interpolation is {interpolation!r}; wanted 'spline' or 'linear'.")
    if rows is None:
        return np.zeros((2, COLUMNS))
    given = as_numbers(rows, what, "at least two rows of two finite numbers", (None, 2))
    if len(given) < 2:
        raise ElementError(f"{what} has one row: wanted at least two rows of two finite numbers.")
    x, y = given.T
    falling = np.flatnonzero(np.diff(x) <= 0.0)
    if len(falling):
        k = int(falling[0])
        raise ElementError(
            f"{what} is not increasing: row {k + 1} has {x[k + 1]:g} after {x[k]:g}; sort its first column."
        )
    pieces = np.zeros((len(x) + 1, COLUMNS), dtype=given.dtype)
    pieces[0, START], pieces[1:, START] = x[0], x
    pieces[0, VALUE], pieces[1:, VALUE] = y[0], y
    if interpolation == "linear":
        pieces[1:-1, SLOPE] = np.diff(y) / np.diff(x)
        last = pieces[-2, SLOPE]
    else:
        from .splines import cubic_coefficients, end_slope

        c = cubic_coefficients(x, y, "natural")
        pieces[1:-1, [CUBE, SQUARE, SLOPE]] = c[:3].T
        last = end_slope(x, c)
    pieces[0, SLOPE], pieces[-1, SLOPE] = pieces[1, SLOPE], last
    h = np.diff(x)
    a, b, c, d = pieces[1:-1, VALUE : CUBE + 1].T
    pieces[2:, AREA] = np.cumsum(h * (a + h * (b / 2 + h * (c / 3 + h * d / 4))))
    return pieces


def zero_of(pieces: Floats) -> float | None:
    """Find the first zero of a table between its first and last row. Returns None if there is none."""
    numbers = plain(pieces)
    for k in range(1, len(numbers) - 1):
        start, stop = numbers[k, START], numbers[k + 1, START]
        if numbers[k, VALUE] == 0.0:
            return _moving(pieces, k, float(start))
        roots = np.roots(numbers[k, CUBE : VALUE - 1 : -1])
        inside = [r.real for r in roots if abs(r.imag) < 1e-12 and 0.0 < r.real <= stop - start]
        if inside:
            return _moving(pieces, k, float(start + min(inside)))
    return None


def _moving(pieces: Floats, k: int, zero: float) -> float:
    """Return a zero in piece k, with its derivative (by one Newton step) if the table holds dual numbers."""
    if pieces.dtype != object:
        return zero
    before, after = (
        piece[SLOPE] + h * (2.0 * piece[SQUARE] + h * 3.0 * piece[CUBE])
        for piece, h in ((p, zero - p[START]) for p in pieces[[k - 1, k]])
    )
    if zero == pieces[k, START] and abs(after - before) > 1e-9 * abs(after):
        raise ArithmeticError("a table with its zero in a corner")
    moved: float = zero - table_value(pieces, zero) / plain(after)
    return moved


def shifted(pieces: Floats, x: float) -> Floats:
    """Return the same table with its integral counted from x."""
    area = table_area(pieces, x)
    other = pieces.astype(np.result_type(pieces, np.asarray(area)))
    other[:, AREA] -= area
    return other


def piece_at(table: Any, x: Any) -> int:
    """Return the number of the piece that contains x."""
    if x < table[0, START]:
        return 0
    low, high = 1, len(table)
    while high - low > 1:
        middle = (low + high) // 2
        if table[middle, START] <= x:
            low = middle
        else:
            high = middle
    return low


def table_value(table, x):  # type: ignore[no-untyped-def]
    """Return the value of the table at x."""
    k = piece_at(table, x)
    h = x - table[k, START]
    return table[k, VALUE] + h * (table[k, SLOPE] + h * (table[k, SQUARE] + h * table[k, CUBE]))


def table_slopes(table, x):  # type: ignore[no-untyped-def]
    """Return the value of the table at x, its slope and its second derivative."""
    k = piece_at(table, x)
    h = x - table[k, START]
    a, b, c, d = table[k, VALUE], table[k, SLOPE], table[k, SQUARE], table[k, CUBE]
    return a + h * (b + h * (c + h * d)), b + h * (2.0 * c + h * 3.0 * d), 2.0 * c + h * 6.0 * d


def table_area(table, x):  # type: ignore[no-untyped-def]
    """Return the integral of the table up to x."""
    k = piece_at(table, x)
    h = x - table[k, START]
    a, b, c, d = table[k, VALUE], table[k, SLOPE], table[k, SQUARE], table[k, CUBE]
    return table[k, AREA] + h * (a + h * (b / 2.0 + h * (c / 3.0 + h * d / 4.0)))
