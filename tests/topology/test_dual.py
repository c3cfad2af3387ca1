"""Numbers that carry their derivative: every operation against the complex step or differences, and what they refuse."""

import math
import operator

import numpy as np
import pytest

from tests.support.tolerances import ROUND
from treemech.topology import ElementError, Parameter
from treemech.topology.dual import Dual, derivatives, dual_array, joined, solved, values
from treemech.topology.parameter import _FUNCTIONS, as_float, as_floats, plain

TINY = 1e-200  # imaginary step: f(x + i h) = f(x) + i h f'(x), without any difference
A, DA, B, DB = 0.37, 1.3, 0.81, -0.6
ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
TWO = {"arctan2", "hypot", "minimum", "maximum"}


def complex_step(f, *pairs):
    y = f(*(complex(x, TINY * d) for x, d in pairs))
    return y.real, y.imag / TINY


def close(found, value, derivative):
    assert isinstance(found, Dual)
    np.testing.assert_allclose((found.value, found.derivative), (value, derivative), rtol=ROUND, atol=0)


@pytest.mark.parametrize("op", ARITHMETIC)
def test_arithmetic(op):
    x, y = Dual(A, DA), Dual(B, DB)
    close(op(x, y), *complex_step(op, (A, DA), (B, DB)))
    for number in (B, np.float64(B), np.float32(0.75), 3, np.int64(3)):
        close(op(x, number), *complex_step(op, (A, DA), (float(number), 0.0)))
        close(op(number, x), *complex_step(op, (float(number), 0.0), (A, DA)))


@pytest.mark.parametrize("op", ARITHMETIC)
def test_arithmetic_of_numpy_and_its_arrays(op):
    x, y = Dual(A, DA), np.array([0.4, 1.2])
    for found, first in ((op(x, y), True), (op(y, x), False), (op(dual_array([x, x]), y), True)):
        assert found.shape == (2,)
        for k in range(2):
            pairs = ((A, DA), (y[k], 0.0))
            close(found[k], *complex_step(op, *(pairs if first else pairs[::-1])))


@pytest.mark.parametrize(
    ("number", "power", "derivative"),
    [(-2.0, 3, 12.0), (0.0, 2, 0.0), (0.0, 1, 1.0), (5.0, 0, 0.0), (-2.0, -1, -0.25), (4.0, 0.5, 0.25)],
)
def test_powers(number, power, derivative):
    close(Dual(number, 1.0) ** power, number**power, derivative)
    close(Dual(number, 1.0) ** Dual(power, 0.0), number**power, derivative)


def test_signs_and_absolute_values():
    x = Dual(-A, DA)
    close(-x, A, -DA)
    close(+x, -A, DA)
    close(abs(x), A, -DA)
    close(np.abs(x), A, -DA)
    close(abs(-x), A, -DA)
    assert np.sign(x) == -1


@pytest.mark.parametrize("name", sorted(set(_FUNCTIONS) - TWO))
def test_functions(name):
    function, x = getattr(np, name), Dual(A, DA)
    if name == "cbrt":
        value, derivative = np.cbrt(A), DA * np.cbrt(A) / (3 * A)
    else:
        value, derivative = complex_step(function, (A, DA))
    close(function(x), value, derivative)
    assert function(x).value == function(A)  # as a plain model has it
    for entry in function(np.array([x, x], dtype=object)):
        close(entry, value, derivative)


def test_functions_of_two_numbers():
    x, y, square = Dual(A, DA), Dual(B, DB), A * A + B * B
    close(np.arctan2(x, y), np.arctan2(A, B), (DA * B - A * DB) / square)
    close(np.arctan2(x, B), np.arctan2(A, B), DA * B / square)
    close(np.arctan2(A, y), np.arctan2(A, B), -A * DB / square)
    close(np.hypot(x, y), np.hypot(A, B), (A * DA + B * DB) / np.sqrt(square))
    close(np.hypot(A, y), np.hypot(A, B), B * DB / np.sqrt(square))
    for function in (np.minimum, min):
        close(function(x, y), A, DA)
        close(function(y, x), A, DA)
    for function in (np.maximum, max):
        close(function(x, y), B, DB)
        close(function(y, x), B, DB)
    close(np.maximum(x, B), B, 0.0)
    close(np.minimum(0.1, x), 0.1, 0.0)


def test_comparisons_look_at_numbers():
    x = Dual(A, DA)
    assert x < B and x <= A and x > 0 and x >= A and x == A and x != B and not x == B
    assert B > x and np.float64(B) > x and A == x and x == Dual(A, 0.0) and x < Dual(B, 5.0)
    assert bool(x) and not Dual(0.0, 1.0)
    assert (np.array([x, x], dtype=object) > 0.1).dtype == bool
    assert f"{x:.1f}" == "0.4"


PLAIN = [
    float, int, complex, round, range, hash, math.sin, math.sqrt, math.hypot, math.floor, math.ceil, math.trunc,
    np.float64, np.isfinite, np.floor, np.round, operator.index, lambda x: np.array([x], dtype=np.float64),
    lambda x: np.array([x]).astype(float), lambda x: np.zeros(2).__setitem__(0, x), lambda x: np.full(2, 1.0).fill(x),
    lambda x: np.add(1.0, x, out=np.zeros(())), lambda x: [1, 2][x], lambda x: {x: 1}, lambda x: x // 2,
    lambda x: x % 1, lambda x: np.linalg.inv(dual_array([[x]])), lambda x: np.interp(x, [0, 1], [0, 1]), lambda x: x + "a",
    lambda x: x * None,
]  # fmt: skip


@pytest.mark.parametrize("use", PLAIN)
def test_no_derivative_is_lost_unseen(use):
    with pytest.raises(TypeError):
        use(Dual(A, DA))


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.sqrt(Dual(0.0, 1.0)),
        lambda: np.cbrt(Dual(0.0, 0.0)),
        lambda: np.arcsin(Dual(1.0, 1.0)),
        lambda: np.hypot(Dual(0.0, 1.0), 0.0),
        lambda: np.arctan2(Dual(0.0, 1.0), 0.0),
        lambda: Dual(0.0, 1.0) ** 0.5,
        lambda: Dual(-1.0, 1.0) ** 0.5,
        lambda: Dual(-1.0, 1.0) ** Dual(2.0, 1.0),
        lambda: 1.0 / Dual(0.0, 1.0),
    ],
)
def test_where_there_is_no_derivative_they_refuse(make):
    with pytest.raises(ArithmeticError):
        make()


# ---------------------------------------------------------------- arrays
def two_ways(f, *arrays):
    """f of arrays that vary, and of the complex numbers in their place."""
    found = np.asarray(f(*(joined(a, d) for a, d in arrays)))
    wanted = f(*(a + 1j * TINY * d for a, d in arrays))
    return (values(found), derivatives(found)), (np.real(wanted), np.imag(wanted) / TINY)


@pytest.mark.parametrize(
    "f",
    [
        lambda M, N: M @ N,
        lambda M, N: np.cross(M[0], N[1]),
        lambda M, N: np.outer(M[0], N[1]),
        lambda M, N: np.einsum("ij,jk->ik", M, N),
        lambda M, N: np.sqrt(M[0] @ M[0]) * N,
        lambda M, N: np.sum(M * N, axis=0) + np.cumsum(M[1]) + np.trace(N),
        lambda M, N: np.column_stack((M[0], np.diff(N, axis=0)[0] / N[1], N[:, 2])).T,
        lambda M, N: np.mean([M, N], axis=0) - np.diag(M[0]),
    ],
)
def test_arrays(f):
    rng = np.random.default_rng(3)
    found, wanted = two_ways(f, *((rng.uniform(1, 2, (3, 3)), rng.normal(size=(3, 3))) for _ in range(2)))
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a, b, rtol=ROUND, atol=ROUND)


def test_norms_and_solutions():
    rng = np.random.default_rng(4)
    a, d, b = rng.uniform(1, 2, (4, 4)), rng.normal(size=(4, 4)), rng.normal(size=(4, 2))
    sizes = np.linalg.norm(joined(a, d), axis=1)
    np.testing.assert_allclose(
        derivatives(sizes), np.sum(a * d, axis=1) / np.linalg.norm(a, axis=1), rtol=ROUND
    )
    one = np.linalg.norm(joined(a, d)[0])
    np.testing.assert_allclose(one.derivative, derivatives(sizes)[0], rtol=ROUND)
    x = solved(joined(a, d), joined(b, 2 * b))
    wanted = np.linalg.solve(a + 1j * TINY * d, b + 2j * TINY * b)
    np.testing.assert_allclose(values(x), wanted.real, rtol=ROUND)
    np.testing.assert_allclose(derivatives(x), wanted.imag / TINY, rtol=1e-11)  # two routes through a matrix
    assert not np.any(derivatives(solved(a, joined(b, 0 * b))))


# ---------------------------------------------------------------- among plain numbers
def test_plain_numbers_stay_what_they_are():
    array = np.ones(3)
    assert plain(array) is array and as_floats(array) is not array and type(as_float(2)) is float
    assert plain([1, (2.0, "a")]) == [1, (2.0, "a")]
    with pytest.raises(TypeError):
        as_floats([1.0, object()])
    with pytest.raises(TypeError):
        as_floats([Dual(A, DA), None])


def test_one_varied_number_makes_all_of_an_array_vary():
    x = Dual(A, DA)
    found = as_floats([(1, x), (np.float64(2), 3.0)])
    assert all(isinstance(n, Dual) for n in found.flat)
    assert values(found).tolist() == [[1, A], [2, 3]] and derivatives(found).tolist() == [[0, DA], [0, 0]]
    assert as_float(x) is x and plain(x) == A and type(plain(x)) is float
    assert plain((x, [x, "a"])) == (A, [A, "a"])


def test_expressions_give_varied_numbers():
    a, b = Parameter("a", A), Parameter("b", B)
    made = np.arctan2(1.0, a * b) + np.minimum(a, b) ** 2 / np.sqrt(a) - abs(-b) + 2 * np.hypot(a, 1)
    wanted = [made.at({"a": A + k * 1e-3}) for k in (-3, -2, -1, 1, 2, 3)]
    derivative = np.dot([-1, 9, -45, 45, -9, 1], wanted) / 60e-3
    found = made.at({"a": Dual(A, 1.0)})
    assert found.value == made.value
    np.testing.assert_allclose(found.derivative, derivative, rtol=1e-10)
    assert type(made.at({})) is float and type((2 * b).at({"a": Dual(A, 1.0)})) is float
    with pytest.raises(ElementError, match="is not a finite number"):
        np.sqrt(a).at({"a": Dual(0.0, 1.0)})
