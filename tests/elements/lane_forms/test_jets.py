"""Jets on lanes: every rule gives in each lane what it gives for one state, to the bit."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config

import treemech as tm
from treemech.elements.compilation.entry import make_entry
from treemech.elements.lane_forms.entry import make_lane_entry
from treemech.elements.lane_forms.probe import LANES, PARTED, call_both, same, sample

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="lanes exist in compiled code only")


@dataclass(frozen=True)
class Everything(tm.Energetic):
    """Deformations by every function that jets on lanes have, with numbers, parameters, signals and time."""

    size: float = 1.3
    power: float = 2.2
    turn: Any = 0.4
    n_deformations = 16

    def deformation(self, position, rotation, t, eps):
        x, y = position[1, 0] - position[0, 0], position[1, 1] * rotation[0, 0, 1] + 0.3 * t
        r = math.sqrt(1.0 + x * x + y * y)
        eps[0] = math.sin(x) * math.cos(y) - math.tan(0.1 * x)
        eps[1] = math.asin(x / r) + math.acos(y / r) + math.atan(self.size * x)
        eps[2] = math.sinh(0.1 * x) - math.cosh(0.1 * y) + math.tanh(x)
        eps[3] = math.asinh(x) + math.acosh(r + 0.5) + math.atanh(0.5 * y / r)
        eps[4] = math.exp(-x * x) + math.expm1(0.1 * y) - math.log(r) + math.log1p(x * x)
        eps[5] = math.log10(r) + math.log2(r) + math.erf(x) - math.erfc(y)
        eps[6] = abs(x) - math.fabs(y) + math.degrees(0.01 * x) + math.radians(y)
        eps[7] = math.atan2(y, x) + math.atan2(x, self.size) + math.hypot(x, 2.0)
        eps[8] = math.copysign(x, y) + math.copysign(self.size, x)
        eps[9] = x**2 + x**3 - y**0 + r**-2 + r**self.power + r**0.5 + math.pow(r, 1.5) + self.size**x
        eps[10] = r / x - 2.0 / r + x / self.size - self.size / r + x / 3
        eps[11] = -x + +y - (self.turn * x) + (2 - y) + float(x)
        eps[12] = rotation[1, 2, 0] * self.turn - rotation[0, 1, 1] * t
        eps[13] = 1.0
        total = 0.0
        for k in range(3):
            total += k * x * y
        eps[14] = total
        if r > 1.0:
            eps[15] = math.floor(0.0 * x) + x * int(0.0 * y + 2.5)

    def effort(self, now, t, out):
        for k in range(16):
            out.effort[k] = self.size * now.deformation[k] + 0.1 * now.rate[k]


@dataclass(frozen=True)
class Chosen(tm.Hinge):
    """A pose that takes the smaller of two curves, with a signal."""

    lift: Any = 0.1
    n_coordinates = 2

    def pose(self, q, t, offset, rotation):
        offset[0] = min(q[0] + self.lift, q[1] ** 2)
        offset[1] = max(q[0] * q[1], 0.2 * t, -1.0)
        c, s = math.cos(q[0]), math.sin(q[0])
        rotation[0, 0] = rotation[1, 1] = c
        rotation[0, 1] = -s
        rotation[1, 0] = s


def both_forms(element, rows, common=True):
    lanes = make_lane_entry(element)
    assert lanes is not None
    return call_both(make_entry(element).address, lanes.address, rows, common)


@pytest.mark.parametrize("turn", [0.4, tm.Harmonic(0.3, 2.0)], ids=["number", "signal"])
def test_every_function_has_the_digits_of_one_state(turn):
    element, rng, together = Everything(turn=turn), np.random.default_rng(2), 0
    for _ in range(20):
        status, found, wanted = both_forms(element, [sample(element, rng) for _ in range(LANES)])
        if status == 1:
            together += 1
            assert same(found, wanted), np.argwhere(found != wanted)
    assert together == 20


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-3.0, 3.0), min_size=4 * LANES, max_size=4 * LANES), st.booleans())
def test_a_pose_with_branches_has_the_digits_of_one_state_or_parts(numbers, signal):
    element = Chosen(tm.Harmonic(0.3, 2.0)) if signal else Chosen()
    rng, rows = np.random.default_rng(0), []
    for k in range(LANES):
        q, u, t, record, out = sample(element, rng)
        rows.append(
            (np.array(numbers[4 * k : 4 * k + 2]), np.array(numbers[4 * k + 2 : 4 * k + 4]), t, record, out)
        )
    status, found, wanted = both_forms(element, rows)
    assert status in (1, PARTED)
    assert status == PARTED or same(found, wanted)
    for row in rows:
        status, found, wanted = both_forms(element, [row] * LANES)
        assert status == 1 and same(found, wanted)


@dataclass(frozen=True)
class Rounded(tm.Hinge):
    """A pose with a function that jets on lanes do not have."""

    n_coordinates = 1

    def pose(self, q, t, offset, rotation):
        offset[2] = q[0] + math.ceil(0.0 * q[0])


def test_what_jets_on_lanes_do_not_have_is_called_lane_by_lane():
    assert make_entry(Rounded()).way == "numba" and make_lane_entry(Rounded()) is None
