"""Elements on lanes: every number is that of the form for one state, to the bit; where lanes part, the caller is told."""

from dataclasses import dataclass
from math import atan2, cos, exp, floor, sin, sqrt, tanh
from typing import Any

import numpy as np
import pytest
from numba import config

import treemech as tm
from tests.support import own_elements as mine
from tests.support.models import inertia
from treemech.dynamics.calls.lane_model import lane_model, served
from treemech.dynamics.native import pieces
from treemech.elements.compilation.entry import make_entry
from treemech.elements.lane_forms.entry import make_lane_entry
from treemech.elements.lane_forms.probe import LANES, PARTED, call_both, same, sample

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="lanes exist in compiled code only")
BUILT_IN = [e for e in pieces.builtin_elements() if pieces.built_for_lanes(e)]
OWN = [
    mine.Slide(), mine.Cam(), mine.Band(), mine.Lag(), mine.Torsion.example(), mine.Wind(), mine.Bowl(), mine.Level(), mine.Skate(),
    mine.Ovals().joining(2), mine.Rack().joining(2), tm.Function(lambda t: 0.2 + sin(3.0 * t)),
]  # fmt: skip


@dataclass(frozen=True)
class Wobble(tm.Hinge):
    """A hinge by evaluate, with a branch, a loop over a table, and functions."""

    table: Any
    limit: float = 0.5
    n_coordinates = 1

    @classmethod
    def example(cls):
        return cls(np.array([0.1, -0.2, 0.05]))

    def evaluate(self, q, u, t, motion):
        x, y, slope, bend = q[0], 0.0, 0.0, 0.0
        for k in range(len(self.table)):
            y += self.table[k] * x**k
            if k > 0:
                slope += k * self.table[k] * x ** (k - 1)
            if k > 1:
                bend += k * (k - 1) * self.table[k] * x ** (k - 2)
        if x > self.limit:
            y += 0.1 * (x - self.limit) ** 2
            slope += 0.2 * (x - self.limit)
            bend += 0.2
        motion.offset[0] = y
        motion.offset[2] = x
        motion.rotation[0, 0] = cos(x)
        motion.rotation[0, 1] = -sin(x)
        motion.rotation[1, 0] = sin(x)
        motion.rotation[1, 1] = cos(x)
        motion.translation_partials[0, 0] = slope
        motion.translation_partials[0, 2] = 1.0
        motion.translation_bias[0] = bend * u[0] ** 2
        motion.rotation_partials[0, 2] = 1.0


def _soft(x, k):
    """Return a force that every function has a part in."""
    return k * tanh(x) + 0.1 * exp(-x * x) + 0.05 * sqrt(1.0 + x * x) + 0.02 * atan2(x, 1.0 + x * x)


@dataclass(frozen=True)
class Elastic(tm.Energetic):
    """A torsion spring by evaluate: helpers, not, and, min, max, a whole number of turns."""

    stiffness: float
    dead: float = 0.3
    n_ends = 0
    n_coordinates = 1

    @classmethod
    def example(cls):
        return cls(30.0)

    def evaluate(self, motion, t, out):
        x, rate = motion.q[0], motion.u[0]
        turns = floor(x / 6.0)
        force = _soft(x - 6.0 * turns, self.stiffness)
        if not abs(x) < self.dead and rate != 0.0:
            force += 0.5 * max(rate, 0.0) + 0.25 * min(rate, 0.0)
        out.load[0] = -force * (1.0 + 0.1 * t)


def on_lanes(element, rows, common=True):
    """Return the status and the results of the form for lanes, and the results of the form for one state."""
    entry = make_lane_entry(element)
    assert entry is not None
    return call_both(make_entry(element).address, entry.address, rows, common)


@pytest.mark.parametrize("common", [True, False])
@pytest.mark.parametrize(
    "element", [*BUILT_IN, *OWN, Wobble.example(), Elastic.example()], ids=lambda e: e.kind
)
def test_every_lane_has_the_numbers_of_one_state(element, common):
    rng, together = np.random.default_rng(7), 0
    for _ in range(12):
        rows = [sample(element, rng) for _ in range(LANES)]
        for own in (rows, [rows[0]] * LANES):
            status, found, wanted = on_lanes(element, own, common)
            if status == PARTED:
                continue
            assert status == 1
            together += 1
            assert same(found, wanted), np.argwhere(found != wanted)
    assert together >= (12 if common or not has_tables(element) else 0)


def has_tables(element):
    return any(np.ndim(x) for x in vars(element).values())


@pytest.mark.parametrize("element", [Wobble.example(), Elastic.example()], ids=lambda e: e.kind)
def test_lanes_that_want_different_branches_part(element):
    rng = np.random.default_rng(7)
    rows = [sample(element, rng) for _ in range(LANES)]
    for k, row in enumerate(rows):
        row[0][...] = 0.1 if k else 2.0
    assert on_lanes(element, rows)[0] == PARTED


@pytest.mark.skipif(not served(), reason="the library has no lanes")
def test_a_tree_of_foreign_elements_is_on_lanes_what_it_is_alone():
    system = tm.System("foreign")
    body, rng = system.ground, np.random.default_rng(3)
    for k in range(3):
        outer = system.body(f"b{k}", 1.0, inertia(rng, 1.0), com=(0.1, 0.0, -0.2))
        hinge = (Wobble.example(), tm.Screw(pitch=0.1), tm.Universal())[k]
        system.connect(f"h{k}", hinge, body, outer)
        body = outer
    system.connect("spring", Elastic(20.0), "h0")
    mech = system.build()
    core, count = mech._core, 11
    t, q, u = rng.uniform(size=count), rng.normal(size=(count, mech.nq)), rng.normal(size=(count, mech.nu))
    together = mech.forward_dynamics(mech.state(t, q=q, u=u)).ud
    alone = [mech.forward_dynamics(mech.state(*s[:1], q=s[1], u=s[2])).ud for s in zip(t, q, u, strict=True)]
    assert together.tobytes() == np.array(alone).tobytes()
    pairs = list(lane_model(core)._pairs.values())
    assert len(pairs) == 4 and all(pair[1] for pair in pairs)


class Unlucky(tm.Hinge):
    """A hinge whose method compiles for one state only: an array of its own."""

    n_coordinates = 1

    def evaluate(self, q, u, t, motion):
        own = np.zeros(1)
        own[0] = q[0]
        motion.offset[2] = own[0]
        motion.translation_partials[0, 2] = 1.0


def test_what_cannot_be_compiled_for_lanes_has_no_form_for_them():
    assert make_entry(Unlucky()).way == "numba"
    assert make_lane_entry(Unlucky()) is None


class Grumpy(Wobble):
    """A hinge that raises at some states."""

    @classmethod
    def example(cls):
        return cls(np.array([0.1, -0.2, 0.05]))

    def evaluate(self, q, u, t, motion):
        if q[0] > 0.7:
            raise ValueError("too far")
        motion.offset[2] = q[0] ** 3
        motion.translation_partials[0, 2] = 3.0 * q[0] ** 2
        motion.translation_bias[2] = 6.0 * q[0] * u[0] ** 2


def test_an_element_that_raises_says_so_in_its_own_words():
    system = tm.System("grumpy")
    system.connect("h", Grumpy.example(), system.ground, system.body("b", 1.0, (1.0, 1.0, 1.0)))
    mech = system.build()
    good = np.array([[0.1], [0.2], [0.3], [0.4], [0.5]])
    one = [mech.forward_dynamics((q, [1.0])).ud for q in good]
    many = mech.forward_dynamics(mech.state(q=good, u=np.ones_like(good))).ud
    assert many.tobytes() == np.array(one).tobytes()
    good[3] = 0.9
    with pytest.raises(tm.TreemechError, match="too far"):
        mech.forward_dynamics(mech.state(q=good, u=np.ones_like(good)))
