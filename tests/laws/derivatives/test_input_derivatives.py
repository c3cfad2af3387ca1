"""Derivatives by inputs of elements: against differences of models with other inputs, and a closed form."""

from dataclasses import dataclass
from math import cos, exp, sin, sqrt

import numpy as np
import pytest

import treemech as tm
from tests.dynamics.analyses.test_derivatives import agrees
from tests.dynamics.model.test_composite_derivatives import slow_net
from tests.laws.test_random_loops import moving
from tests.support.mechanisms import random_mechanism
from tests.support.models import random_state, random_system


@dataclass(frozen=True)
class Winch(tm.Energetic):
    """Pulls as its inputs and its state say."""

    stiffness: float
    n_states = 1
    input_names = ("drive", "rate")

    def evaluate(self, motion, t, out):
        p, drive, rate = motion.position, motion.inputs[0], motion.inputs[1]
        s = 0.0
        for k in range(3):
            s += (p[1, k] - p[0, k]) ** 2
        size = sqrt(s + 0.1)
        pull = self.stiffness * (size - 0.2 * sin(3.0 * drive)) * exp(rate) + motion.x[0] * drive
        for k in range(3):
            f = pull * (p[1, k] - p[0, k]) / size
            out.force[0, k] = f
            out.force[1, k] = -f
        out.rates[0] = cos(drive) * size - rate * motion.x[0]


STEP = 2.0**-6
WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


def pulled(system, drive, rate, seed):
    """Return two muscles with a common input, one with an input as it stands, a net with a muscle in it."""
    rng = np.random.default_rng(seed)
    bodies = [system.bodies[k] for k in rng.permutation(len(system.bodies))]
    ends = [b.at(rng.uniform(-0.3, 0.3, 3)) for b in bodies[:2]]
    high, low = system.ground.at((0.3, 0.2, 1.5)), system.ground.at((-1.0, 0.4, -0.7))
    system.input("drive", drive)
    system.connect("one", Winch(4.0), high, ends[0], inputs={"drive": "drive", "rate": rate})
    system.connect("two", Winch(3.0), ends[0], ends[1], inputs={"drive": "drive", "rate": 0.2})
    composite = slow_net()
    composite.connect("inner", Winch(2.0), "knot", "a", inputs={"drive": "drive", "rate": 0.4})
    system.connect("net", composite, high, ends[1], ends[0], low)


def differences(make):
    """of (ud, multipliers, x') by (drive, rate of one) with models of other inputs."""
    columns = []
    for which in (0, 1):
        total = 0.0
        for k, w in WEIGHTS.items():
            for sign in (1, -1):
                values = [0.3, 0.5]
                values[which] += sign * k * STEP
                total = total + sign * w / STEP * make(*values)
        columns.append(total)
    return np.array(columns).T


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loops", [0, 1, 2])
def test_inputs_of_elements(loops, seed):
    def build(drive, rate):
        if not loops:
            system = random_system(seed, n=8)
            pulled(system, drive, rate, seed)
            mech = system.build()
            state = random_state(mech, seed)
        else:
            mechanism = random_mechanism(seed, False, loops)
            pulled(mechanism.system, drive, rate, seed)
            mech = mechanism.system.build()
            state = moving(mechanism, mech, seed)
        x = np.random.default_rng(seed).uniform(-0.5, 0.5, mech._core.nx)
        cut = {name: q for name, (q, _) in state.cut.items()}
        q = {c.name: state.q[c.q_slice] for c in mech._lagrange.hinges}
        return mech, mech.state(state.t, {**q, **cut}, state.u, x)

    def solution(drive, rate):
        mech, state = build(drive, rate)
        found = mech.forward_dynamics(state)
        return np.concatenate((found.ud, found.multipliers, mech._core.work.zd[: mech._core.nx]))

    mech, state = build(0.3, 0.5)
    found, want = mech.derivatives(state), differences(solution)
    assert found.inputs == (
        "drive",
        "one.rate",
        "two.rate",
        "net.pull.drive",
        "net.pull.rate",
        "net.inner.rate",
    )
    n, m = mech.nu, len(found.multipliers)
    assert agrees(found.ud_input[:, :2], want[:n])
    assert agrees(found.multipliers_input[:, :2], want[n : n + m])
    assert agrees(found.x_rates_input[:, :2], want[n + m :])
    assert np.max(np.abs(found.x_rates_input[:, 2:])) > 0.0


def test_small_motions_answer_to_an_input():
    system = tm.System("driven", gravity=(0, 0, 0))
    block = system.body("block", mass=2.0, inertia=(1, 1, 1))
    system.connect("rail", tm.Prismatic("x"), system.ground, block)
    system.input("drive", 0.3)
    ends, inputs = (system.ground.at((-1, 0, 0)), block), {"drive": "drive", "rate": 0.1}
    system.connect("winch", Winch(4.0), *ends, inputs=inputs)
    mech = system.build()
    small = mech.linearize(mech.state(), inputs=["drive", "rail"])
    assert small.inputs == ["drive", "rail"] and small.states == ["rail", "rail'", "winch.x[0]"]
    size = np.sqrt(1.1)
    by_drive = 4.0 * 0.6 * np.cos(0.9) * np.exp(0.1) / size / 2.0  # it pulls less, against x
    want = [[0.0, 0.0], [by_drive, 0.5], [-np.sin(0.3) * size, 0.0]]
    assert np.max(np.abs(small.B - want)) < 1e-11
