"""Lanes: every operator and function gives in each lane what it gives for a double, to the bit."""

import math

import numpy as np
import pytest
from numba import TypingError, config, njit

from treemech.elements.lanes import functions as _functions  # noqa: F401
from treemech.elements.lanes.numbers import LANES, both, every, select, some
from treemech.kinematics.kernel.language import OPTIONS, floats, ints, lane_context, numbers
from treemech.kinematics.kernel.vector import sincos
from treemech.topology.arrays import address

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="lanes exist in compiled code only")


def many(x, y, out):
    """Use operators and functions of all kinds; x is positive."""
    out[0] = x + y
    out[1] = 2.0 - x * y
    out[2] = x / (1 + y * y)
    out[3] = -x
    out[4] = math.sqrt(x)
    out[5] = abs(y) - math.fabs(x - 3)
    out[6] = min(x, y)
    out[7] = max(y, 0.0)
    out[8], out[21] = (
        x**2,
        y**3,
    )  # alone: whether numba fuses them with a sum depends on who asked for powers first
    out[9] = x**1.7
    out[10] = math.sin(x) + math.cos(y) * math.tan(x)
    out[11] = math.exp(-x) + math.log(x) + math.tanh(y)
    out[12] = math.atan2(y, x) + math.hypot(x, y)
    out[13] = math.asin(x / 1e9) + math.acos(x / 1e9) + math.atan(y)
    out[14], out[15] = sincos(x)
    out[16], out[17] = sincos(y)
    out[18] = select(x < y, x, 2.0)
    out[19] = select(both(x < 2.0, y != 0.5), y, x)
    total = 0.0
    for k in range(3):
        total += k * x
    out[20] = total


N = 22


def on(make):
    """Return a function that runs `many` on numbers behind a context."""
    inner = njit(**OPTIONS)(many)

    def run(given, out):
        plan = make(given, 1)
        x = numbers(plan, given, 2)
        inner(x[0], x[1], numbers(plan, out, N))

    return njit(**OPTIONS)(run)


def test_every_lane_has_the_digits_of_a_double():
    one, lanes = on(ints), on(lane_context)
    rng = np.random.default_rng(0)
    for size in (1.0, 30.0, 1e6, 3e8):
        given = np.ascontiguousarray([size * rng.uniform(size=LANES), size * rng.normal(size=LANES)])
        together, alone = np.zeros((N, LANES)), np.zeros(N)
        lanes(address(given), address(together))
        for k in range(LANES):
            own = np.ascontiguousarray(given[:, k])
            one(address(own), address(alone))
            assert together[:, k].tobytes() == alone.tobytes()


def test_sines_of_one_lane_do_not_depend_on_its_neighbours():
    """Beyond 1e7 the C library takes over, for that lane alone."""
    lanes = on(lane_context)
    found = []
    for neighbour in (0.1, 1e9):
        given = np.full((2, LANES), 0.7)
        given[:, 1:] = neighbour
        out = np.zeros((N, LANES))
        lanes(address(given), address(out))
        found.append(out[:, 0].tobytes())
    assert found[0] == found[1]


def test_masks_are_asked_about_some_and_all_lanes():
    @njit(**OPTIONS)
    def ask(given, out):
        x = numbers(lane_context(given, 1), given, 1)[0]
        to = floats(out, 4)
        to[0], to[1] = some(x > 2.0), every(x > 2.0)
        to[2], to[3] = some(x > 0.0), every(x > 0.0)

    given, out = np.arange(1.0, 1.0 + LANES), np.zeros(4)
    ask(address(given), address(out))
    assert out.tolist() == [1.0, 0.0, 1.0, 1.0]


def test_a_branch_on_a_mask_does_not_compile():
    def branch(given, out):
        x = numbers(lane_context(given, 1), given, 1)[0]
        if x > 0.0:
            floats(out, 1)[0] = 1.0

    with pytest.raises(TypingError):
        njit(**OPTIONS)(branch).compile("void(int64, int64)")


def test_plain_numbers_have_the_same_words():
    assert select(True, 1.0, 2.0) == 1.0 and some(True) and not every(False) and both(True, True)
