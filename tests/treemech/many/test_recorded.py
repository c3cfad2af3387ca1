"""Recorded numbers give the numbers of many designs; a decision that comes out otherwise is noticed."""

import numpy as np
import pytest

import treemech as tm
from treemech.many.recorded import Recorded, Tape

COLUMN = np.array([0.3, 0.7, 0.9])
UNARY = [
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "sqrt",
    "cbrt",
    "exp",
    "log",
    "abs",
    "negative",
]


def along(function):
    """Return what a function gives on the tape for three values, and whether it holds there."""
    tape = Tape()
    made = function(tape.parameter("x", 0.5))
    found, good = tape.numbers([made.number], {"x": COLUMN}, 3)
    return found[:, 0], good


@pytest.mark.parametrize("name", UNARY)
def test_functions_are_those_of_numpy(name):
    found, good = along(getattr(np, name))
    np.testing.assert_array_equal(found, getattr(np, name)(COLUMN))
    assert good.all()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 2.0 * x - x / 3.0 + 1.0 / x - (4.0 - x) * x, lambda x: x**3 + 2.0**x, lambda x: np.hypot(x, 2.0) + np.arctan2(1.0, x),
        lambda x: (np.array([[x, 0.0], [1.0, x]]) @ np.array([x, 2.0]))[1], lambda x: np.linalg.norm(np.array([x, x * x, 1.0])),
        lambda x: np.cross(np.array([x, 1.0, 0.0]), np.array([0.0, x, 2.0 * x]))[2],
    ],
)  # fmt: skip
def test_arithmetic_and_arrays(function):
    found, good = along(function)
    np.testing.assert_allclose(found, [float(function(x)) for x in COLUMN], rtol=1e-15)
    assert good.all()


@pytest.mark.parametrize(
    "condition", [lambda x: x > 0.6, lambda x: 0.6 <= x, lambda x: bool(x - 0.7), lambda x: x == 0.7]
)
def test_a_decision_that_comes_out_otherwise_is_noticed(condition):
    tape = Tape()
    x = tape.parameter("x", 0.5)
    expected = condition(x)
    _, good = tape.numbers([x.number], {"x": COLUMN}, 3)
    assert good.tolist() == [bool(condition(v)) == expected for v in COLUMN] and not good.all()


def test_what_asks_for_one_number_is_refused():
    x = Tape().parameter("x", 0.5)
    for ask in (
        float,
        int,
        lambda x: np.array([x]).astype(float),
        lambda x: np.isnan(np.array([x], dtype=object)),
    ):
        with pytest.raises(TypeError):
            ask(x)
    assert isinstance(np.maximum(x, 0.1), Recorded)


def body_with(**numbers):
    """Return a swinging body made of parameters, and its mechanism."""
    p = {name: tm.Parameter(name, value) for name, value in numbers.items()}
    system = tm.System("designs", gravity=(0, 0, -9.81))
    return system, p


def checked(mech, designs):
    """Compare runs of designs with those of mechanisms made one by one."""
    count = len(next(iter(designs.values())))
    runs = mech.simulate_many((0, 0.2), mech.state(q={"A": 0.5}), designs)
    for k in range(count):
        values = {n: float(x[k]) for n, x in designs.items()}
        try:
            own = mech.with_parameters(**values).simulate((0, 0.2), mech.state(q={"A": 0.5}))
        except tm.TreemechError as error:
            assert (
                not runs.success[k]
                and str(error) in runs.failures[[f.run for f in runs.failures].index(k)].message
            )
        else:
            np.testing.assert_allclose(runs["q"][k], own.q[-1], rtol=1e-12)
    return runs


def test_impossible_designs_are_failures_with_the_message_of_a_build():
    system, p = body_with(m=1.0, a=0.4, b=0.5, c=0.0)
    bob = system.body("bob", mass=p["m"], inertia=(0.2, p["a"], p["b"], p["c"], 0, 0), com=(0, 0, -1.0))
    system.connect("A", tm.Revolute("y"), system.ground, bob)
    designs = {
        "m": np.array([1.0, -1.0, 2.0, 1.0, 1.5]), "a": np.array([0.4, 0.4, 9.0, 0.4, 0.45]), "b": np.array([0.5, 0.5, 0.5, 0.5, 0.45]),
        "c": np.array([0.0, 0.0, 0.0, 5.0, 0.01]),
    }  # fmt: skip
    runs = checked(system.build(), designs)
    assert runs.success.tolist() == [True, False, False, False, True]


def test_solids_directions_and_springs_of_parameters():
    system, p = body_with(l=1.0, r=0.1, k=5.0, x=0.2)
    drum = tm.solids.cylinder(radius=p["r"], length=0.3, axis="y", mass=2.0).moved((0, 0, -p["l"]))
    rod = tm.solids.rod((0, 0, 0), (0, 0, -p["l"]), mass=0.4)
    bob = system.body("bob", **(rod + drum).properties)
    system.connect("A", tm.Revolute("y"), system.ground, bob)
    spring = tm.Spring(stiffness=p["k"], damping=0.1 * p["k"], length=0.5 + p["r"])
    system.connect("spring", spring, bob.at((p["x"], 0, -p["l"])), system.ground.at((0.4, 0, 0)))
    rng = np.random.default_rng(0)
    designs = {n: v.value * rng.uniform(0.8, 1.2, 6) for n, v in p.items()}
    designs["l"][3] = -1.0  # a rod the other way round
    designs["r"][4] = 0.0  # refused
    runs = checked(system.build(), designs)
    assert runs.success.tolist() == [True] * 4 + [False, True]


def test_a_parameter_that_is_zero_counts():
    """Values next to zero are looked at: at zero itself nothing would show that a place depends on it."""
    system, p = body_with(x=0.0)
    bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(p["x"], 0, -1.0))
    system.connect("A", tm.Revolute("y"), system.ground, bob)
    checked(system.build(), {"x": np.array([0.0, 0.3, -0.2])})
