"""Functions of time as users write them: several in a line, in loops, and those that cannot be compiled."""

import math
from functools import partial

import numpy as np
import pytest
from numba import config
from numpy.testing import assert_allclose
from scipy.interpolate import CubicSpline

import treemech as tm
from tests.support.tolerances import ROUND


def pushed(*forces):
    """Where a mass of 1 kg is after a second, at rest before, pushed by three forces along x, y, z."""
    system = tm.System("pushed", gravity=(0, 0, 0))
    body = system.body("body", mass=1.0, inertia=(1, 1, 1))
    system.connect("free", tm.Translation(), system.ground, body)
    system.load("push", tm.Force(*forces), body)
    return system.build().simulate((0, 1), rtol=1e-10).q[-1]


def test_functions_that_stand_in_one_line_are_not_mistaken_for_each_other():
    # fmt: off
    found = pushed(lambda t: 1.0 + 0.0 * t, lambda t: 6.0 * t, lambda t: 12.0 * t * t)
    # fmt: on
    assert_allclose(found, [0.5, 1.0, 1.0], rtol=ROUND)


def test_functions_that_differ_in_their_defaults_are_not_mistaken_for_each_other():
    found = pushed(*[lambda t, k=k: 2.0 * k + 0.0 * t for k in (1.0, 2.0, 3.0)])
    assert_allclose(found, [1.0, 2.0, 3.0], rtol=ROUND)


def test_functions_that_differ_in_what_they_enclose_are_not_mistaken_for_each_other():
    def constant(k):
        return lambda t: 2.0 * k + 0.0 * t

    assert_allclose(pushed(*map(constant, (1.0, 2.0, 3.0))), [1.0, 2.0, 3.0], rtol=ROUND)


def test_functions_that_differ_in_an_array_by_default_are_not_mistaken_for_each_other():
    found = pushed(*[lambda t, k=np.array([k, 0.0]): 2.0 * k[0] + 0.0 * t for k in (1.0, 2.0, 3.0)])
    assert_allclose(found, [1.0, 2.0, 3.0], rtol=ROUND)


def test_functions_of_math_and_numpy_serve_as_they_are():
    for function in (math.sin, np.sin):
        system = tm.System("driven")
        body = system.body("body", mass=1.0, inertia=(1, 1, 1))
        system.connect("slide", tm.Prismatic("x"), system.ground, body)
        system.prescribe("slide", function)
        now = system.build().state(t=0.7)["slide"]
        assert_allclose(np.ravel(now), [np.sin(0.7), np.cos(0.7)], rtol=ROUND)


class Motion:
    def __call__(self, t):
        return t

    def method(self, t):
        return t


@pytest.mark.parametrize(
    "given, said",
    [
        (CubicSpline([0, 1, 2], [0, 1, 4]), "tm.Spline"),
        (Motion(), "tm.Spline"),
        (Motion().method, "tm.Spline"),
        (partial(lambda a, t: a * t, 2.0), "tm.Spline"),
        (lambda t, q: t * q, "a function of t, q"),
        (lambda: 1.0, "a function of nothing"),
    ],
    ids=["spline", "object", "method", "partial", "two", "none"],
)
def test_what_is_no_function_of_time_is_refused_by_name_where_it_is_given(given, said):
    system = tm.System("driven")
    body = system.body("body", mass=1.0, inertia=(1, 1, 1))
    system.connect("slide", tm.Prismatic("x"), system.ground, body)
    with pytest.raises(tm.ElementError, match=f"'slide' .*{said}"):
        system.prescribe("slide", given)
    with pytest.raises(tm.ElementError, match=f"'wind' .*{said}"):
        system.input("wind", given)
    with pytest.raises(tm.ElementError, match=f"Force.x .*{said}"):
        tm.Force(given)


TIMES, VALUES = np.linspace(0, 1, 5), np.linspace(0, 2, 5)


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.filterwarnings("ignore::treemech.ElementCompileWarning")
def test_a_motion_that_cannot_be_compiled_is_named_with_what_to_do():
    system = tm.System("driven")
    body = system.body("body", mass=1.0, inertia=(1, 1, 1))
    system.connect("slide", tm.Prismatic("x"), system.ground, body)
    system.prescribe("slide", lambda t: np.interp(t, TIMES, VALUES))
    with pytest.raises(tm.ElementError, match="prescribed motion of 'slide': .*tm.Spline"):
        system.build()


@pytest.mark.filterwarnings("ignore::treemech.ElementCompileWarning")
def test_a_load_that_cannot_be_compiled_runs_as_python():
    def pull(t):
        return {"force": np.interp(t, TIMES, VALUES)}["force"]  # 2 t

    found = pushed(pull, lambda t: float(np.heaviside(t, 1.0)), 0.0)
    assert_allclose(found, [2.0 / 6.0, 0.5, 0.0], rtol=1e-9, atol=1e-12)


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.parametrize("function", [lambda t: None, lambda t: "fast"], ids=["none", "text"])
def test_a_function_that_gives_no_number_is_refused_with_its_place(function):
    with pytest.raises(tm.ElementError, match=r"Function \(test_signal.py, line \d+\) gives no number"):
        pushed(function, 0.0, 0.0)


def test_steps_hold_each_value_until_the_next_time():
    steps = tm.Steps([0.0, 0.5, 1.5], [2.0, -1.0, 4.0])
    assert [steps.at(t).value for t in (-1.0, 0.0, 0.4999, 0.5, 1.4, 1.5, 9.0)] == [2, 2, 2, -1, -1, 4, 4]
    assert steps.at(0.7).rate == 0.0 and steps.breaks == (0.5, 1.5)
    with pytest.raises(tm.ElementError, match="times increasing"):
        tm.Steps([0.0, 0.0], [1.0, 2.0])


def motored(force):
    """Return a sledge of 2 kg that a motor pushes."""
    system = tm.System("sledge")
    sledge = system.body("sledge", mass=2.0, inertia=(1, 1, 1))
    system.connect("rail", tm.Prismatic("x"), system.ground, sledge)
    system.connect("motor", tm.Actuator(), "rail", inputs={"command": "force"})
    system.input("force", *(() if force is None else (force,)))
    return system


def test_an_input_takes_a_table_as_a_curve_or_as_steps(tmp_path):
    """Steps are what a stepper holds; a table is a spline, also after a file."""
    times, values = np.array([0.0, 0.2, 0.5, 0.9]), np.array([1.0, -2.0, 3.0, 0.5])
    run = motored(tm.Steps(times, values)).build().simulate((0, 1), t_eval=[*times, 1.0])
    mech, u = motored(None).build(), 0.0
    state = mech.state()
    for k, f in enumerate(values):
        state = mech.step(state, [*times, 1.0][k + 1] - times[k], {"force": f})
        u += 0.5 * f * ([*times, 1.0][k + 1] - times[k])
        assert run.u[k + 1, 0] == pytest.approx(u, abs=1e-12) == state.u[0]
    system = motored((times, values))
    area = CubicSpline(times, values).integrate(0.0, 0.9)
    for made in (system, tm.read(system.save(tmp_path / "sledge.json"))):
        assert made.build().simulate((0, 0.9), rtol=1e-11).u[-1, 0] == pytest.approx(0.5 * area, abs=1e-10)
    with pytest.raises(
        tm.ElementError, match=r"array\(.*\.\.\..*wanted a signal, a number, a function of t, or a table"
    ):
        motored(np.arange(500.0))
