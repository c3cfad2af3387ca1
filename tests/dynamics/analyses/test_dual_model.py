"""Equations on dual numbers: all numbers of random models and of their states change along a random direction.

The oracle is a difference of the same model with moved numbers of its Plan.
"""

import numpy as np
import pytest
from numba import config

import treemech as tm
from tests.dynamics.analyses.test_derivatives import agrees, along, constrained, loaded_tree
from tests.dynamics.derivatives.test_efforts import sprung_tree, with_states
from tests.dynamics.derivatives.test_rows import CUT, SLOW, cut_hinge
from tests.dynamics.model.test_composite_derivatives import join
from tests.kinematics.chords.test_element import CONSTRAINTS, COUPLINGS, closed, hinges
from tests.laws.derivatives.test_dual_elements import change_of
from tests.laws.derivatives.test_reaction_derivatives import Warm
from tests.laws.test_random_loops import moving
from tests.support.mechanisms import random_mechanism
from tests.support.models import KINDS, any_hinge, random_state, random_system
from treemech.dynamics.analyses.displacement import Motion, moved
from treemech.dynamics.analyses.dual_model import DualModel, obstacle
from treemech.dynamics.analyses.parameter_derivatives import residual
from treemech.kinematics.layout.chords import by_address
from treemech.kinematics.layout.plan_derivatives import PlanDerivatives
from treemech.kinematics.plan.columns import body, chord, effort, signal, speed

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="in compiled code only")


def random_derivatives(core, rng):
    """A direction in which all numbers of a Plan change; signs, choices, shapes and addresses do not."""
    layout = core.layout
    constants = 0.3 * rng.normal(size=layout.plan.constants.shape)
    constants[:, body.SIGN] = 0.0
    parameters = np.zeros(len(layout.parameters))
    records = [(h, layout.plan.body[n, body.PARAMETER]) for n, h in layout.hinges.items()]
    records += [
        (a.element, row[effort.PARAMETER])
        for a, row in zip(layout.efforts.applied, layout.plan.efforts, strict=True)
    ]
    chords = zip(layout.chords.elements, layout.chords.plan.chord, strict=True)
    records += [(e, row[chord.PARAMETER]) for e, row in chords if by_address(e)]
    records += [
        (s, row[signal.PARAMETER]) for s, row in zip(layout.signals, layout.plan.signals, strict=True)
    ]
    for element, start in records:
        own = 0.1 * change_of(element, rng)
        parameters[start : start + len(own)] = own
    for _, start in layout.plan.links:  # signals are written there
        parameters[start : start + 3] = 0.0
    shapes = layout.plan.gravity.shape, layout.plan.end_points.shape, layout.chords.plan.place.shape
    gravity, ends, places = (0.3 * rng.normal(size=s) for s in shapes)
    return PlanDerivatives(constants, gravity, ends, parameters, places, True)


def check(mech, t, q, u, seed=3):
    """Compare at a state whose cut hinges and z are in the core."""
    core, rng, n = mech._core, np.random.default_rng(seed), mech.nu
    derivatives = random_derivatives(core, rng)
    assert obstacle(core.layout, derivatives) is None
    ud, s = rng.normal(size=n), rng.normal(size=2 * n + core.nx)
    multipliers = rng.normal(size=len(core.layout.chords.rows))
    cut, pivot = core.chord_work.q.copy(), core.chord_work.pivot
    here = Motion(np.array([t]), q[None], u[None], core.work.z[None].copy(), cut[None])
    residual(core, here, ud, multipliers, core)
    here = here._replace(cut=core.chord_work.q[None].copy())
    assert np.all(pivot >= -1)
    found = DualModel(core, derivatives).equations(t, q, u, ud, multipliers, s)

    numbers = (
        (core.layout.plan.constants, derivatives.constants), (core.layout.plan.gravity, derivatives.gravity),
        (core.layout.plan.end_points, derivatives.end_points), (core.work.parameters, derivatives.parameters),
        (core.layout.chords.plan.place, derivatives.places),
    )  # fmt: skip
    base = [array.copy() for array, _ in numbers]

    def at(h):
        for (array, derivative), start in zip(numbers, base, strict=True):
            array[...] = start + h[0] * derivative
        y = moved(core, here, h[0] * s[None])
        for row in core.layout.plan.prescribed:  # by the numbers that were moved
            signal = core.layout.signals[row[speed.PRESCRIBED_SIGNAL]]
            residual(core, y, ud, multipliers, core)
            object.__setattr__(
                signal, "at", lambda _, now=core.work.signal[row[speed.PRESCRIBED_SIGNAL]].copy(): now
            )
        now = residual(core, y, ud, multipliers, core)
        for row in core.layout.plan.prescribed:
            object.__delattr__(core.layout.signals[row[speed.PRESCRIBED_SIGNAL]], "at")
        return np.concatenate([np.ravel(x) for x in now])

    want, size = along(at, 1)[:, 0], np.abs(at(np.zeros(1)))
    at(np.zeros(1))
    ends = np.cumsum([np.size(x) for x in found])
    for name, got, w, level in zip(
        found._fields, found, np.split(want, ends[:-1]), np.split(size, ends[:-1]), strict=True
    ):
        scale = max(np.max(np.abs(w), initial=0.0), np.max(level, initial=0.0))
        assert np.max(np.abs(np.ravel(got) - w), initial=0.0) <= 1e-9 * scale, name
    assert np.max(np.abs(found.loads)) > 0.0


@pytest.mark.parametrize("seed", range(4))
def test_trees_with_every_hinge(seed):
    mech = loaded_tree(seed)
    state = random_state(mech, seed)
    check(mech, state.t, state.q, state.u)


@pytest.mark.parametrize("seed", range(4))
def test_trees_with_springs_and_elements_with_states(seed):
    mech = sprung_tree(seed).build()
    state = with_states(mech, random_state(mech, seed), seed)
    mech._core.work.z[:] = state.z
    check(mech, state.t, state.q, state.u)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("kind", CUT)
def test_every_hinge_that_is_cut(kind, swap):
    check(*cut_hinge(kind, 4 + len(kind), swap))


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in CONSTRAINTS]
)
def test_every_constraint(name):
    check(*closed(*CONSTRAINTS[name], 2 + len(name), False))


@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize("name", COUPLINGS)
def test_every_coupling(name, driven):
    element, (system, names) = COUPLINGS[name], hinges(driven=driven)
    system.couple("joined", element, *names[: element.n_arguments or 3])
    mech, rng = system.build(), np.random.default_rng(5)
    q = np.concatenate([c.hinge.sample(rng) for c in mech._lagrange.hinges])
    check(mech, 0.4, q, rng.normal(size=mech.nu))


@pytest.mark.parametrize("seed", range(6))
def test_closed_chains_with_composites(seed):
    mechanism = random_mechanism(seed, seed % 2 == 0, 1 + (seed // 2) % 3)
    join(mechanism.system, np.random.default_rng(seed))
    mech = mechanism.system.build()
    state = with_states(mech, moving(mechanism, mech, seed), seed)
    mech.constraints(state)
    mech._core.work.z[:] = state.z
    check(mech, state.t, state.q, state.u)


@pytest.mark.parametrize("seed", range(4))
def test_closed_chains_with_elements_that_depend_on_a_reaction(seed):
    mechanism = random_mechanism(seed, seed % 2 == 0, 1 + (seed // 2) % 3)
    turning = [c for c in mechanism.system.connections.values() if c.element.kind == "Revolute"][:2]
    for k, hinge in enumerate(turning):
        friction = Warm(0.02 if seed == 0 else 0.3, 0.1)  # 0 jams at 0.166 (test_reactions.py)
        mechanism.system.connect(f"friction {k}", friction, hinge)
    mech = mechanism.system.build()
    state = moving(mechanism, mech, seed)
    mech.forward_dynamics(state)
    mech._core.work.z[: mech._core.nz] = np.random.default_rng(seed).uniform(-0.5, 0.5, mech._core.nz)
    check(mech, state.t, state.q, state.u)


def test_nonholonomic_rows_and_couplings():
    mech = constrained()
    state = mech.assemble(fix={"A": 0.3, "planar": [0.2, 0.1, 0.4]}, rates={"A": 0.7, "planar[2]": 0.9})
    check(mech, state.t, state.q, state.u)


def test_hinges_met_from_end_b_and_prescribed_coordinates():
    system = random_system(5, n=10, reverse=1.0)
    name = next(n for n, c in system.connections.items() if c.element.kind == "Revolute")
    system.prescribe(name, tm.Harmonic(amplitude=0.4, frequency=2.0, phase=0.3))
    mech = system.build()
    state = random_state(mech, 5)
    check(mech, 0.3, state.q, state.u)


def test_every_kind_of_hinge_is_met():
    met = {c.element.kind for seed in range(4) for c in random_system(seed, n=14).connections.values()}
    assert {type(any_hinge(np.random.default_rng(0), kind)).__name__ for kind in KINDS} <= met | {"Rigid"}


def test_the_model_itself_is_left_alone():
    mech = sprung_tree(1).build()
    state = with_states(mech, random_state(mech, 1), 1)
    before = mech.derivatives(state)
    derivatives = random_derivatives(mech._core, np.random.default_rng(0))
    DualModel(mech._core, derivatives).equations(state.t, state.q, state.u, before.ud, np.zeros(0))
    after = mech.derivatives(state)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert agrees(after.ud, mech.forward_dynamics(state).ud)
