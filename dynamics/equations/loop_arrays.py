"""Arrays of the equations of motion with constraints: a static sparse pattern and its numbers (6.3.4-6)."""

from typing import NamedTuple

from treemech.topology.arrays import Floats, Ints


class LoopPlan(NamedTuple):
    """Structure of the KKT matrix; all int64."""

    packed: Ints  # (nu+1,) start of the row of each speed in the packed lower triangle of A
    kept: Ints  # (m,) number of a constraint row in the matrix, or -1 if it vanishes identically
    fixed: Ints  # (nu,) 1 for prescribed speeds
    unilateral: Ints  # (2 ns,) first row and number of rows of every chord that may let go
    entry_row: Ints  # of each entry of P
    entry_speed: Ints
    speed_row: Ints  # of each packed entry of A
    speed_column: Ints
    slot: Ints  # place in the matrix to which each entry of A is added
    used: Ints  # entries of P in rows of the matrix,
    used_row: Ints  # these rows
    used_speed: Ints
    used_slot: Ints  # and the places to which they are added
    added_row: Ints  # of each product of two entries of P that is added to A: its kept row,
    added_a: Ints  # the two entries
    added_b: Ints
    added_slot: Ints  # and its place in the matrix
    diagonal: Ints
    perm: Ints
    Ap: Ints
    Ai: Ints
    Lp: Ints
    Li: Ints
    Rp: Ints
    Ri: Ints
    Rs: Ints


class LoopWork(NamedTuple):
    """Numbers of the KKT matrix and its factors."""

    A: Floats
    Ax: Floats
    Lx: Floats
    D: Floats
    inverse: Floats
    Y: Floats
    right: Floats
    x: Floats
    b: Floats
    scale: Floats  # (kept,) usual size of P A^-1 P^T, to compare a pivot with
    monitor: Floats  # pivots and more (dynamics.equations.watch)
    workspace_q: Floats  # (nq,)
    workspace_u: Floats  # (nu,)
    workspace_rows: Floats  # (kept, nu), for the selection of rows
    reaction: (
        Floats  # (n, n + 1) Newton's matrix for the n components of load that elements depend on; workspace
    )
    base: Floats  # right side without these elements
    masked: Ints  # (kept,) 1 for rows taken out as redundant
    held: (
        Ints  # (nu,) 1 for speeds that do not move: prescribed, and in position corrections independent ones
    )
    off: Ints  # (m,) 1 for rows of chords that have let go
    independent: Ints  # (nu,) 1 for the independent speeds of coordinate partitioning


def room_of_drives(n: int, m: int, k: int) -> int:
    """Return how many numbers the loads of k drives on n speeds with m rows take as workspace (`entries.drives`)."""
    return m * n + (k + 1) * n + n * k + 3 * n + k + max(m, n)
