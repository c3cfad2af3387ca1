"""Step control that all integration loops share: bounds of the step size, the end of a leg, the usual step."""

import numpy as np
import pytest

from treemech.benchmarks.families.trees import double_pendulum
from treemech.dynamics.equations.watch import N_MONITOR, SPIN
from treemech.dynamics.integrators import layout, step_control
from treemech.dynamics.integrators.passage import TURN

METHODS = ("DOP853", "DP5", "RK4", "Radau", "Adams", "alpha3", "alpha2")
NONE = np.zeros(0)  # the monitor of a tree


def plain(name):
    """The Python function behind a kernel."""
    kernel = getattr(step_control, name)
    return getattr(kernel, "py_func", kernel)


limit_step, end_of_step, largest_step, note_usual_step = (
    plain(name) for name in ("limit_step", "end_of_step", "largest_step", "note_usual_step")
)


def control(**values):
    found = np.zeros(layout.N_CONTROL)
    for name, value in values.items():
        found[getattr(layout, name)] = value
    return found


# ---------------------------------------------------------------- bounds
@pytest.mark.parametrize("direction", [1.0, -1.0])
@pytest.mark.parametrize("rejected", [False, True])
def test_a_size_between_the_bounds_is_kept(direction, rejected):
    memory = control()
    assert limit_step(1.0, 0.1 * direction, direction, 0.0, 0.5, rejected, memory) == (0.1 * direction, False)
    assert limit_step(1.0, 0.7 * direction, direction, 0.0, 0.5, rejected, memory) == (0.5 * direction, False)
    assert limit_step(1.0, 0.7 * direction, direction, 0.0, np.inf, rejected, memory)[0] == 0.7 * direction
    assert not memory.any()


@pytest.mark.parametrize("direction", [1.0, -1.0])
@pytest.mark.parametrize("t", [0.0, 3.0, -3.0])
def test_a_step_is_at_least_ten_rounding_units_long(direction, t):
    smallest = 10.0 * max(2.0**-52 * abs(t), 2.0**-1022)
    h, vanishes = limit_step(t, 0.3 * direction * smallest, direction, 0.0, 1.0, False, control())
    assert (h, vanishes) == (direction * smallest, False)


def test_a_rejected_step_that_becomes_too_short_is_reported_with_its_size():
    memory = control()
    assert limit_step(3.0, 1e-16, 1.0, 0.0, 1.0, True, memory) == (1e-16, True)
    assert memory[layout.STEP] == 1e-16


def test_a_bound_from_below_ends_rejected_steps_only():
    """Steps of one size: a first step that is shorter, at the end of a leg, is as good as any."""
    memory = control()
    assert limit_step(3.0, 1e-3, 1.0, 1e-2, 1.0, False, memory) == (1e-3, False)
    assert limit_step(3.0, 1e-3, 1.0, 1e-2, 1.0, True, memory) == (1e-3, True)


def test_a_fast_hinge_bounds_the_step():
    monitor = np.zeros(N_MONITOR)
    assert largest_step(control(MAX_STEP=0.2), NONE) == 0.2
    assert largest_step(control(MAX_STEP=0.2), monitor) == 0.2
    monitor[SPIN] = 100.0
    assert largest_step(control(MAX_STEP=0.2), monitor) == TURN / 100.0
    assert largest_step(control(MAX_STEP=0.002), monitor) == 0.002


# ---------------------------------------------------------------- end of a leg
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_no_step_ends_beyond_its_leg(direction):
    t, end = 2.0 * direction, 3.0 * direction
    assert end_of_step(t, 0.4 * direction, direction, end, 0.0) == 2.4 * direction
    assert end_of_step(t, 1.4 * direction, direction, end, 0.0) == end


def test_a_rest_of_rounding_is_not_left_to_another_step():
    h = 1.0 - 1e-9
    assert end_of_step(2.0, h, 1.0, 3.0, 0.0) == 2.0 + h
    assert end_of_step(2.0, h, 1.0, 3.0, 1e-6) == 3.0
    assert end_of_step(2.0, 0.9, 1.0, 3.0, 1e-6) == 2.9


# ---------------------------------------------------------------- usual step
def test_the_usual_step_follows_those_that_were_not_rejected():
    memory = control()
    note_usual_step(-0.1, True, memory)
    assert memory[layout.USUAL_STEP] == 0.1  # there is no other yet
    note_usual_step(0.2, True, memory)
    assert memory[layout.USUAL_STEP] == 0.1
    note_usual_step(-0.2, False, memory)
    assert memory[layout.USUAL_STEP] == pytest.approx(0.8 * 0.1 + 0.2 * 0.2)


# ---------------------------------------------------------------- in the loops
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("span", [(0.0, 0.7), (0.7, 0.0)])
def test_every_loop_keeps_to_the_largest_step_and_ends_exactly(method, span):
    mech = double_pendulum().build()
    run = mech.simulate(span, mech.state(q=[0.3, -0.2]), method, max_step=0.03, rtol=1e-3)
    assert run.success and run.t[0] == span[0] and run.t[-1] == span[1]
    steps = np.abs(np.diff(run.t))
    assert np.all(steps > 0.0) and np.max(steps) <= 0.03 * (1 + 1e-6 if method == "RK4" else 1.05)
    assert len(steps) == run.statistics["steps"]


@pytest.mark.parametrize("method", [name for name in METHODS if name != "RK4"])
def test_every_loop_starts_with_the_step_that_is_given(method):
    mech = double_pendulum().build()
    run = mech.simulate((0.0, 0.5), mech.state(q=[0.3, -0.2]), method, first_step=1e-4)
    assert run.t[1] == 1e-4
