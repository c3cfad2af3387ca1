"""Every function of arrays: its slopes are the differences of its values, row by row, for all arguments."""

import numpy as np
import pytest

from tests.support import parametric
from tests.support.arrays_of_state import differences, driven_arm, driven_four_bar
from treemech.bridges.accelerations import ForwardDynamics
from treemech.bridges.model import Model
from treemech.bridges.motions import Simulation

TIMES = np.array([0.0, 0.1, 0.25])


def arm():
    model = Model(driven_arm().build(), ("m", "k"))
    q, u = [0.8, 0.2, -0.5, 0.3, 0.4], [1.0, 2.0, -1.0, 3.0]
    return model, [q, u, [0.2], [1.5], model.nominal, [0.3, -0.2, 0.5, 1.0]]


def prescribed_tree():
    mech = parametric.tree().build()
    start = parametric.tree_start(mech)
    model = Model(mech, ("l", "a"))
    return model, [1.1 * start.q, start.u, [], [], model.nominal, np.zeros(5)]


def four_bar():
    mech = driven_four_bar().build()
    start = parametric.four_bar_start(mech)
    model = Model(mech, ("l", "k"), independent=("A",))
    off = np.array([0.0, 0.02, -0.01])  # the chain need not be closed: the rest follows from A
    return model, [start.q + off, start.u + off, [], [2.0], model.nominal, [1.0, 0.0, 0.5]]


def spatial():
    mech = parametric.spatial().build()
    start = parametric.spatial_start(mech)
    model = Model(mech, ("a", "m"), independent=("A",))
    return model, [start.q, start.u, [], [], model.nominal, np.linspace(-1, 1, mech.nu)]


CASES = [arm, prescribed_tree, four_bar, spatial]


def matrix(operation, arguments, k):
    """Return the derivatives of all results by argument k, from pullbacks of unit vectors."""
    (*results,) = operation.with_slopes(*arguments)
    n = len(operation.results)
    values, slopes = results[:n], results[n:]
    rows = []
    for which, value in enumerate(values):
        for j in range(value.size):
            of = [np.zeros_like(v) for v in values]
            of[which].flat[j] = 1.0
            rows.append(operation.pullback(slopes, of)[k].ravel())
    return np.array(rows)


def flat(operation):
    return lambda *arguments: np.concatenate([r.ravel() for r in operation.values(*arguments)])


@pytest.mark.parametrize(
    ("case", "what"),
    [
        *((case, what) for case in CASES for what in ("forward", "simulate")),
        (arm, "steps"), (four_bar, "steps"),
    ],
    ids=lambda x: getattr(x, "__name__", x),
)  # fmt: skip
def test_slopes_are_differences_of_values(case, what):
    model, given = case()
    arguments = [np.array(a, dtype=np.float64) for a in (*given, 0.1)]
    if what == "forward":
        operation = ForwardDynamics(model)
    else:
        operation = Simulation(model, TIMES, what == "steps")
        del arguments[5]
        if what == "steps":
            arguments[3] = np.array([arguments[3], -0.5 * arguments[3]])
    size = 1.0
    assert np.all(
        np.isnan(matrix(operation, arguments, len(arguments) - 1))
    )  # derivatives by time are not known
    for k in range(len(arguments) - 1):
        found = matrix(operation, arguments, k)
        wanted = differences(flat(operation), arguments, k).reshape(found.shape)
        size = max(size, np.max(np.abs(wanted), initial=0.0))
        assert np.max(np.abs(found - wanted), initial=0.0) < 1e-7 * size, k


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_leading_axes_are_rows(case):
    model, given = case()
    for operation in (ForwardDynamics(model), Simulation(model, TIMES, False)):
        arguments = [np.array(a, dtype=np.float64) for a in (*given, 0.2)]
        if len(operation.shapes) == 6:
            del arguments[5]
        many = [np.stack([a, a, a]).reshape(3, 1, *a.shape) for a in arguments]
        many[1] = many[1] * np.array([1.0, 1.001, 0.9]).reshape(3, 1, 1)
        together = operation.values(*many)
        with_slopes = operation.with_slopes(*many)
        for row in range(3):
            alone = operation.values(*(a[row, 0] for a in many))
            for a, b, c, shape in zip(together, alone, with_slopes, operation.results, strict=False):
                assert a.shape == (3, 1, *shape)
                assert np.allclose(a[row, 0], b, rtol=1e-12, atol=1e-12)
                assert np.allclose(c[row, 0], b, rtol=1e-9, atol=1e-12)
        cotangents = [np.ones_like(r) for r in together]
        back = operation.pullback(with_slopes[len(together) :], cotangents)
        for row in range(3):
            of_row = operation.pullback(
                [s[row, 0] for s in with_slopes[len(together) :]], [c[row, 0] for c in cotangents]
            )
            for a, b in zip(back, of_row, strict=True):
                assert np.allclose(a[row, 0], b, rtol=1e-12, atol=1e-12, equal_nan=True)


def test_values_are_those_of_the_mechanism():
    model, (q, u, x, inputs, p, loads) = arm()
    mech = model.mech
    state = model.with_inputs(mech, mech.state(0.0, q, u), np.array(x), np.array(inputs))
    ud, multipliers, rates = ForwardDynamics(model).values(q, u, x, inputs, p, loads, 0.0)
    assert np.array_equal(ud, mech.forward_dynamics(state, loads).ud) and multipliers.shape == (0,)
    assert np.array_equal(rates, mech.derivatives(state, loads).x_rates)
    found = Simulation(model, TIMES, False).values(q, u, x, inputs, p, 0.0)
    run = mech.simulate((0, 0.25), state, rtol=1e-10, t_eval=TIMES)
    assert np.allclose(found[0], run.q, rtol=0, atol=1e-13) and np.allclose(
        found[1], run.u, rtol=0, atol=1e-12
    )
    by_steps = Simulation(model, TIMES, True).values(q, u, x, [inputs, inputs], p, 0.0)
    assert np.allclose(by_steps[0], run.q, rtol=0, atol=1e-8)
