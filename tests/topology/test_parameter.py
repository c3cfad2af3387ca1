"""Parameters and expressions of them: arithmetic as with numbers, plain data, errors that name them."""

import json
import math
import operator

import numpy as np
import pytest

import treemech as tm
from treemech.topology.declared import mapped, parameters_in, remade
from treemech.topology.parameter import Expression, Parameter, from_data

OPERATIONS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
UFUNCS = [np.sin, np.cos, np.tan, np.arctan, np.sqrt, np.exp, np.log, np.tanh, np.absolute, np.negative]


def random_expression(rng, depth, parameters):
    """An expression and the same as a function of plain numbers."""
    if depth == 0:
        if rng.random() < 0.3:
            number = float(rng.uniform(0.5, 2.0))
            return number, lambda _: number
        p = parameters[rng.integers(len(parameters))]
        return p, lambda values: values[p.name]
    if rng.random() < 0.25:
        f = UFUNCS[rng.integers(len(UFUNCS))]
        a, of_a = random_expression(rng, depth - 1, parameters)
        return f(abs(a) + 1.0), lambda values: float(f(abs(of_a(values)) + 1.0))
    f = OPERATIONS[rng.integers(len(OPERATIONS))]
    (a, of_a), (b, of_b) = (random_expression(rng, depth - 1, parameters) for _ in range(2))
    return f(abs(a) + 1.0, abs(b) + 0.5), lambda values: f(abs(of_a(values)) + 1.0, abs(of_b(values)) + 0.5)


@pytest.mark.parametrize("seed", range(20))
def test_an_expression_is_what_its_numbers_give_bit_for_bit_also_after_json(seed):
    rng = np.random.default_rng(seed)
    parameters = [Parameter(name, rng.uniform(0.5, 2.0)) for name in ("a", "b", "c")]
    made, plain = random_expression(rng, 3, parameters)
    made = made + 0 * parameters[0]
    other = {name: float(rng.uniform(0.5, 2.0)) for name in ("a", "b", "c")}
    again = from_data(json.loads(json.dumps(made.to_data())))
    own = {p.name: p.value for p in parameters}
    assert made.value == again.value == plain(own) + 0 * own["a"]
    assert made.at(other) == again.at(other) == plain(other) + 0 * other["a"]
    assert repr(again) == repr(made)


@pytest.mark.parametrize("seed", range(10))
def test_the_text_of_an_expression_is_python_that_makes_it(seed):
    rng = np.random.default_rng(seed)
    parameters = {name: Parameter(name, rng.uniform(0.5, 2.0)) for name in "abc"}
    made, _ = random_expression(rng, 3, list(parameters.values()))
    names = {f.__name__: f for f in UFUNCS}
    again = eval(repr(made), {**parameters, **names, "abs": abs})
    assert getattr(again, "value", again) == getattr(made, "value", made)


def test_expressions_stand_in_arrays_tuples_and_with_numpy_scalars():
    a = Parameter("a", 2.0)
    assert remade(np.array([a, 1.0, 0.0]) * 3, {}) == [6.0, 3.0, 0.0]
    assert remade(a * np.array([1.0, 2.0]), {}) == [2.0, 4.0]
    assert remade(np.array([1.0, 2.0]) - a, {"a": 1.0}) == [0.0, 1.0]
    assert (np.float64(3) * a).value == 6.0 and (3 / a).value == 1.5 and (2**a).value == 4.0
    assert remade({"x": [(a, -a)], "y": "text"}, {}) == {"x": [(2.0, -2.0)], "y": "text"}
    assert remade(np.sqrt(np.array([a, 4 * a])), {}) == [np.sqrt(2.0), np.sqrt(8.0)]
    assert [p.name for p in parameters_in((a, {"k": [a + 1]}, np.array([a, 0])))] == ["a", "a", "a"]


def test_containers_are_copied_so_that_what_the_user_changes_later_does_not_count():
    numbers, inner = np.arange(3.0), [1.0]
    kept = mapped((numbers, [inner]), lambda x: x)
    numbers[0], inner[0] = 9.0, 9.0
    assert kept[0].tolist() == [0.0, 1.0, 2.0] and kept[1] == [[1.0]]


def test_what_cannot_be_done_with_parameters_says_so():
    a = Parameter("a", 2.0)
    with pytest.raises(TypeError, match="use numpy's functions on it"):
        math.sin(a)
    with pytest.raises(TypeError, match="plain number"):
        np.array([a, 0.0], dtype=float)
    with pytest.raises(TypeError):
        a + "text"
    with pytest.raises(tm.ElementError, match=r"1 / \(a - 2\) is not a finite number with a = 2"):
        _ = (1 / (a - 2)).value
    with pytest.raises(tm.ElementError, match="not a finite number"):
        _ = ((a - 3) ** 0.5).value
    with pytest.raises(tm.ElementError, match="wanted a name like 'l1'"):
        Parameter("two words", 1.0)
    with pytest.raises(tm.ElementError, match="parameter 'a' is nan; wanted a finite number"):
        Parameter("a", float("nan"))
    with pytest.raises(tm.ElementError, match="no operation 'spam'"):
        Expression("spam", 1.0)
