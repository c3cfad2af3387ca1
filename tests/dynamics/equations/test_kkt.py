"""Sparse LDL^T of the augmented equations: order of elimination, factors, refinement."""

import time
from dataclasses import fields

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.support.tolerances import ROUND
from treemech.dynamics.equations import kkt
from treemech.dynamics.model.ordering import analyse

# Two routes to one solution; L D L^T does not pivot, condition up to 1e3
SOLUTION = 1e-11


@numba.njit
def factor(size, n, Ap, Ai, Ax, Lp, Li, Rp, Ri, Rs, perm, scale, Lx, D, inverse, Y):
    kkt.factorise(size, n, Ap, Ai, Ax, Lp, Li, Rp, Ri, Rs, perm, scale, Lx, D, inverse, Y)


@numba.njit
def substitute(size, Lp, Li, Lx, inverse, b):
    kkt.solve(size, Lp, Li, Lx, inverse, b)


@numba.njit
def remainder(size, Ap, Ai, Ax, b, x, r):
    kkt.residual(size, Ap, Ai, Ax, b, x, r)


factorise = getattr(kkt.factorise, "py_func", kkt.factorise)


class Solver:
    """Kernels with their arrays, for entries (rows, cols, values) of the lower half. Rows with a scale are regularised."""

    def __init__(self, n, m, rows, cols, values, diagonal=(), scale=None, **options):
        self.pattern = p = analyse(n, m, rows, cols, **options)
        self.Ax = np.zeros(len(p.Ai))
        np.add.at(self.Ax, p.slot, values)
        for index, value in diagonal:
            self.Ax[p.diagonal[index]] += value
        self.scale = np.zeros(m) if scale is None else scale
        self.Lx = np.empty(p.nnz)
        self.D, self.inverse, Y = (np.empty(p.size) for _ in range(3))
        factor(
            p.size, p.n, p.Ap, p.Ai, self.Ax, p.Lp, p.Li, p.Rp, p.Ri, p.Rs, p.perm, self.scale, self.Lx, self.D,
            self.inverse, Y,
        )  # fmt: skip

    def residual(self, b, x):
        p, r = self.pattern, np.empty(self.pattern.size)
        remainder(p.size, p.Ap, p.Ai, self.Ax, b[p.perm], x[p.perm], r)
        return r[p.inverse]

    def solve(self, b, refinements=0):
        p = self.pattern
        x = b[p.perm]
        substitute(p.size, p.Lp, p.Li, self.Lx, self.inverse, x)
        x = x[p.inverse]
        for _ in range(refinements):
            x = x + self.solve(self.residual(b, x))
        return x


def tree_matrix(rng, n):
    """Make a positive definite matrix of a tree: A_ij is there if i lies on the path of j to the root."""
    parent = [-1] + [max(0, k - 1 - int(rng.integers(4))) for k in range(1, n)]
    J = np.zeros((n, n))
    for k in range(n):
        i = k
        while i >= 0:
            J[k, i] = rng.normal()
            i = parent[i]
    return np.eye(n) + J.T @ J


def random_rows(rng, n, loops, rows, width):
    """Make loops of some rows each, on the same few coordinates; they are clearly independent."""
    while True:
        P = np.zeros((loops * rows, n))
        for k in range(loops):
            P[np.ix_(range(k * rows, (k + 1) * rows), rng.choice(n, width, replace=False))] = rng.normal(
                size=(rows, width)
            )
        if np.linalg.svd(P, compute_uv=False)[-1] > 0.1:
            return P


def entries(A, P, where=None):
    r, c = np.nonzero(np.tril(A))
    s, d = np.nonzero(P if where is None else where)
    return np.concatenate([r, s + len(A)]), np.concatenate([c, d]), np.concatenate([A[r, c], P[s, d]])


def augmented(A, P):
    return np.block([[A, P.T], [P, np.zeros((len(P), len(P)))]])


def ladder(N, rows=2, angle=0.3):
    """Make N four-bars in a row: bars on the ground, a rod on each, its end tied to the next bar.

    Lengths and masses are 1. The rods are level, so the first row of a loop has a zero in its pattern.
    """
    n = 2 * N + 1
    A, P, where = np.zeros((n, n)), np.zeros((rows * N, n)), np.zeros((rows * N, n), bool)
    bar, rod = np.array([np.cos(angle), -np.sin(angle)]), np.array([0.0, 1.0])
    for i in range(0, n, 2):
        A[i, i] = 1 / 3
        if i < n - 1:
            A[i, i] += 1.0
            A[i + 1, i + 1] = 1 / 3
            A[i + 1, i] = A[i, i + 1] = 0.5 * bar @ rod
            k = rows * i // 2
            P[k : k + 2, i], P[k : k + 2, i + 1], P[k : k + 2, i + 2] = bar, rod, -bar
            where[k : k + rows, i : i + 3] = True
    return A, P, where


@pytest.mark.parametrize("loops, rows, width", [(8, 1, 4), (6, 2, 4), (4, 3, 5), (0, 0, 0)])
@pytest.mark.parametrize("seed", range(10))
def test_solution_is_that_of_the_dense_solver(seed, loops, rows, width):
    rng = np.random.default_rng(seed)
    A, P = tree_matrix(rng, 30), random_rows(rng, 30, loops, rows, width) if loops else np.zeros((0, 30))
    b = rng.normal(size=len(A) + len(P))
    wanted = np.linalg.solve(augmented(A, P), b)
    solver = Solver(len(A), len(P), *entries(A, P))
    assert_allclose(solver.solve(b), wanted, rtol=0, atol=SOLUTION * abs(wanted).max())
    # As many negative pivots as rows: the order never meets a pivot of the wrong sign
    assert_array_equal(solver.D < 0, solver.pattern.perm >= len(A))


def test_plain_python_gives_the_same_factors():
    rng = np.random.default_rng(3)
    A, P = tree_matrix(rng, 12), random_rows(rng, 12, 2, 2, 4)
    solver = Solver(12, 4, *entries(A, P))
    p, Li = solver.pattern, solver.pattern.Li
    Lx, D, inverse = (np.empty_like(x) for x in (solver.Lx, solver.D, solver.D))
    factorise(
        p.size, p.n, p.Ap, p.Ai, solver.Ax, p.Lp, Li, p.Rp, p.Ri, p.Rs, p.perm, solver.scale, Lx, D, inverse,
        np.empty(p.size),
    )  # fmt: skip
    assert_allclose(inverse * D, 1.0, rtol=ROUND)
    assert_allclose(Lx, solver.Lx, rtol=ROUND, atol=ROUND)
    L = np.eye(p.size)
    for j in range(p.size):
        L[Li[p.Lp[j] : p.Lp[j + 1]], j] = Lx[p.Lp[j] : p.Lp[j + 1]]
    K = augmented(A, P)
    assert_allclose(L * D @ L.T, K[np.ix_(p.perm, p.perm)], rtol=0, atol=ROUND * abs(K).max())


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_multiplier_waits_for_its_coordinates(seed, early):
    rng = np.random.default_rng(seed)
    A, P = tree_matrix(rng, 40), random_rows(rng, 40, 5, 2, 4)
    P[3] = 0.0
    pattern = analyse(40, 10, *entries(A, P)[:2], early=early)
    assert_array_equal(np.sort(pattern.perm), np.arange(50))
    assert_array_equal(pattern.perm[pattern.inverse], np.arange(50))
    assert pattern.perm[-1] == 43  # a row without entries
    for r in np.flatnonzero(P.any(axis=1)):
        places = pattern.inverse[np.flatnonzero(P[r])]
        assert (places.min() if early else places.max()) < pattern.inverse[40 + r]


def test_pattern_holds_every_entry_once():
    rng = np.random.default_rng(1)
    A, P = tree_matrix(rng, 20), random_rows(rng, 20, 3, 2, 4)
    rows, cols, values = entries(A, P)
    p = analyse(20, 6, rows, cols)
    for f in fields(p):
        array = getattr(p, f.name)
        if f.name not in ("n", "m"):
            assert array.dtype == np.int64 and array.flags.c_contiguous and array.ndim == 1, f.name
    column = np.repeat(np.arange(p.size), np.diff(p.Ap))
    assert_array_equal(np.sort([p.inverse[rows], p.inverse[cols]], axis=0), [p.Ai[p.slot], column[p.slot]])
    assert_array_equal(p.Ai[p.diagonal], p.inverse)
    assert_array_equal(column[p.diagonal], p.inverse)
    assert len(p.Ai) == len(values) + 6
    assert all((np.diff(p.Ai[p.Ap[k] : p.Ap[k + 1]]) > 0).all() for k in range(p.size))


def test_entries_given_twice_add_up():
    rng = np.random.default_rng(2)
    A, P = tree_matrix(rng, 15), random_rows(rng, 15, 3, 2, 4)
    rows, cols, values = entries(A, P)
    b = rng.normal(size=21)
    mixed = rng.permutation(2 * len(rows))
    twice = [
        np.concatenate(pair)[mixed] for pair in ((rows, rows), (cols, cols), (0.3 * values, 0.7 * values))
    ]
    wanted = np.linalg.solve(augmented(A, P), b)
    assert_allclose(Solver(15, 6, *twice).solve(b), wanted, rtol=0, atol=SOLUTION * abs(wanted).max())


@pytest.mark.parametrize("N", [10, 200])
def test_ladder_of_four_bars_fills_in_proportion(N):
    A, P, where = ladder(N)
    n, m = len(A), len(P)
    assert analyse(n, m, *entries(A, P, where)[:2]).nnz <= 12 * N
    assert analyse(n, m, *entries(A, P, where)[:2], early=True).nnz <= 8 * N
    A, P, where = ladder(N, rows=5)
    assert analyse(n, 5 * N, *entries(A, P, where)[:2]).nnz <= 52 * N


@pytest.mark.parametrize("rows", [2, 5])
def test_analysis_of_200_four_bars_is_quick(rows):
    A, P, where = ladder(200, rows)
    r, c, _ = entries(A, P, where)

    def least(work):  # CPU time of three
        spent = []
        for _ in range(3):
            start = time.process_time()
            work()
            spent.append(time.process_time() - start)
        return min(spent)

    yardstick = least(lambda: sum(k * k % 7 for k in range(100_000)))
    assert least(lambda: analyse(len(A), len(P), r, c)) < 50 * yardstick


@pytest.mark.parametrize("angle", [0.3, 0.0, 1.5])
def test_ladder_of_four_bars_is_solved(angle):
    A, P, where = ladder(40, angle=angle)
    b = np.random.default_rng(0).normal(size=len(A) + len(P))
    wanted = np.linalg.solve(augmented(A, P), b)
    solver = Solver(len(A), len(P), *entries(A, P, where))
    assert_allclose(solver.solve(b, 1), wanted, rtol=0, atol=SOLUTION * abs(wanted).max())


def test_residual_leaves_regularisation_out():
    rng = np.random.default_rng(4)
    A, P = tree_matrix(rng, 20), random_rows(rng, 20, 3, 2, 4)
    b, x = rng.normal(size=(2, 26))
    P[4] = 0.0
    K = augmented(A, P)
    K[24, 24] = -1.0
    solver = Solver(20, 6, *entries(A, P), diagonal=[(24, -1.0)], scale=np.full(6, 1e9))
    assert abs(solver.D).min() > 1e-6  # every row was regularised
    assert_allclose(solver.residual(b, x), b - K @ x, rtol=0, atol=ROUND * abs(K).max() * abs(x).sum())


def test_sound_rows_are_not_regularised():
    """Only pivots below 1e-6 of their usual size are: a solution needs no refinement beyond."""
    rng = np.random.default_rng(5)
    A, P = tree_matrix(rng, 30), random_rows(rng, 30, 6, 2, 4)
    usual = (P**2 / np.diag(A)).sum(axis=1)
    plain, sound = (Solver(30, 12, *entries(A, P), scale=scale) for scale in (None, usual))
    assert_array_equal(plain.D, sound.D)


def test_refinement_removes_regularisation():
    rng = np.random.default_rng(5)
    A, P = tree_matrix(rng, 30), random_rows(rng, 30, 6, 2, 4)
    b = rng.normal(size=42)
    wanted = np.linalg.solve(augmented(A, P), b)
    solver = Solver(30, 12, *entries(A, P), scale=np.full(12, 1e8))  # every pivot is small beside that
    error = [abs(solver.solve(b, k) - wanted).max() / abs(wanted).max() for k in (0, 1, 3)]
    assert error[0] > 1e-8 and error[1] < 1e-3 * error[0] and error[2] < SOLUTION


@pytest.mark.parametrize("seed", range(5))
def test_dependent_rows_stay_finite_when_regularised(seed):
    rng = np.random.default_rng(seed)
    A, P = tree_matrix(rng, 30), random_rows(rng, 30, 4, 2, 4)
    # One row again, a sum of two, and one without any entry
    P = np.vstack([P, P[0], P[1] + P[4], 0 * P[0]])
    n, m = 30, len(P)
    usual = (P**2 / np.diag(A)).sum(axis=1)
    b = np.concatenate([rng.normal(size=n), P @ rng.normal(size=n)])
    solver = Solver(n, m, *entries(A, P), scale=usual + 1e-3 * usual.max())
    x = solver.solve(b, 1)
    assert np.isfinite(x).all()
    # Multipliers are not determined; accelerations are
    wanted = np.linalg.lstsq(augmented(A, P), b, rcond=1e-10)[0][:n]
    assert_allclose(x[:n], wanted, rtol=0, atol=1e-6 * abs(wanted).max())


def test_masked_rows_carry_no_multiplier():
    rng = np.random.default_rng(6)
    A, P = tree_matrix(rng, 30), random_rows(rng, 30, 6, 2, 4)
    masked = np.isin(np.arange(12), (1, 6, 7))
    n, m = 30, 12
    b = rng.normal(size=n + m)
    b[n:][masked] = 0.0
    solver = Solver(
        n, m, *entries(A, np.where(masked[:, None], 0.0, P), P != 0),
        diagonal=[(n + r, -1.0) for r in np.flatnonzero(masked)],
    )  # fmt: skip
    kept = np.concatenate([np.ones(n, bool), ~masked])
    wanted = np.linalg.solve(augmented(A, P[~masked]), b[kept])
    for refinements in (0, 1):
        x = solver.solve(b, refinements)
        assert_array_equal(x[~kept], 0.0)
        assert_allclose(x[kept], wanted, rtol=0, atol=SOLUTION * abs(wanted).max())


def test_waiting_for_one_coordinate_is_not_enough():
    """Rows of one loop share their coordinates: after a single one the second row has a zero pivot."""
    rng = np.random.default_rng(7)
    failed = 0
    for _ in range(20):
        A, P = tree_matrix(rng, 24), random_rows(rng, 24, 5, 2, 4)
        b = rng.normal(size=34)
        wanted = np.linalg.solve(augmented(A, P), b)
        with np.errstate(all="ignore"):
            x = Solver(24, 10, *entries(A, P), early=True).solve(b)
        failed += not abs(x - wanted).max() < SOLUTION * abs(wanted).max()
    assert failed > 0


@pytest.mark.parametrize("rows, cols", [([0, 3], [0, 0]), ([2], [2]), ([0], [-1]), ([0, 1], [0])])
def test_entries_out_of_place_are_refused(rows, cols):
    with pytest.raises(ValueError, match="entries reach|one of each"):
        analyse(2, 1, rows, cols)


def test_nothing_to_order_is_no_error():
    assert analyse(0, 0, [], []).nnz == 0
    assert_array_equal(analyse(0, 2, [], []).perm, [0, 1])
