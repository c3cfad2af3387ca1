"""Derivatives of the equations of motion: against differences of high order, Pinocchio, and laws they must obey."""

import time
from dataclasses import dataclass
from math import sqrt

import numpy as np
import pytest

import treemech as tm
from tests.laws.test_random_loops import moving
from tests.support.mechanisms import random_mechanism
from tests.support.models import KINDS, random_state, random_system
from tests.support.tolerances import PEER
from treemech.analyses.states import left_free
from treemech.benchmarks.families import trees as families
from treemech.benchmarks.peers.models import pin_model
from treemech.dynamics.model.tree_derivatives import TreeDerivatives
from treemech.dynamics.native import entry_points as native
from treemech.elements.check.differences import differences
from treemech.kinematics.manifold import move
from treemech.topology.arrays import address

EXACT = 1e-9  # relative to the largest entry; the differences are accurate to about 1e-12


def along(f, n):
    """Return the derivatives of f(x) at x = 0 by every component, by differences that choose their step."""
    columns = [differences(lambda h, e=e: f(h * e), (len(f(0.0 * e)),), orders=1).first for e in np.eye(n)]
    return np.array(columns).T


def agrees(got, want, tolerance=EXACT):
    scale = np.max(np.abs(want), initial=1e-300)
    return np.max(np.abs(got - want), initial=0.0) < tolerance * scale


@dataclass(frozen=True)
class Bungee(tm.Load):
    stiffness: float
    length: float
    damping: float

    def evaluate(self, end, t, load):
        x, y, z = end.position[0] - 0.3, end.position[1] + 0.2, end.position[2] - 2.0
        d = sqrt(x * x + y * y + z * z)
        f = -self.stiffness * (d - self.length) / d
        load.force[0] = f * x - self.damping * end.velocity[0] * d
        load.force[1] = f * y - self.damping * end.velocity[1]
        load.force[2] = f * z - self.damping * end.velocity[2] * end.velocity[2]
        for k in range(3):
            load.moment[k] = end.rotation[k, 0] * z - self.damping * end.angular_velocity[k]


def loaded_tree(seed, n=14, kinds=KINDS):
    system = random_system(seed, n=n, kinds=kinds)
    body = system.bodies[n - 2]
    system.load("bungee", Bungee(3.0, 0.4, 0.2), body.at((0.1, -0.2, 0.3)))
    return system.build()


@pytest.mark.parametrize("seed", range(10))
def test_derivatives_of_a_tree_with_every_hinge_agree_with_differences(seed):
    mech = loaded_tree(seed)
    state, n = random_state(mech, seed + 9), mech.nu
    ud = np.random.default_rng(seed).normal(size=n)
    tau_q, tau_u, A = TreeDerivatives(mech._core).inverse_dynamics(state.t, state.q, state.u, ud)

    def loads(dq, du):
        return mech.inverse_dynamics((state.t, move(mech._lagrange, state.q, dq), state.u + du), ud)

    zero = np.zeros(n)
    assert agrees(A, mech.mass_matrix(state), 1e-13)
    assert agrees(tau_q, along(lambda x: loads(x, zero), n))
    assert agrees(tau_u, along(lambda x: loads(zero, x), n))
    found, tau = mech.derivatives(state, loads=ud), ud

    def accelerations(dq, du, more):
        at = (state.t, move(mech._lagrange, state.q, dq), state.u + du)
        return mech.forward_dynamics(at, tau + more).ud

    assert agrees(found.ud, accelerations(zero, zero, zero), 1e-13)
    assert agrees(found.ud_q, along(lambda x: accelerations(x, zero, zero), n))
    assert agrees(found.ud_u, along(lambda x: accelerations(zero, x, zero), n))
    assert agrees(found.ud_load, along(lambda x: accelerations(zero, zero, x), n))
    assert found.multipliers_q.shape == (0, n)


def test_all_kinds_are_met_in_both_directions():
    seen = {(c.hinge.kind, c.forward) for seed in range(10) for c in loaded_tree(seed)._lagrange.hinges}
    assert seen == {(kind, forward) for kind in KINDS for forward in (True, False)}


@pytest.mark.parametrize("seed", range(4))
def test_built_in_hinges_through_their_address_give_the_same(seed):
    kinds = ("Rigid", "Revolute", "Prismatic", "Ball", "Free")
    system = random_system(seed, n=8, kinds=kinds)
    mech, table = system.build(), system.build(inline=False)
    state = random_state(mech, seed)
    one, other = (TreeDerivatives(m._core) for m in (mech, table))
    for a, b in zip(
        one.forward(state.t, state.q, state.u), other.forward(state.t, state.q, state.u), strict=True
    ):
        assert agrees(b, a, 1e-11)


def test_prescribed_speeds_have_no_derivatives_and_the_others_those_of_their_accelerations():
    def build(shift):
        system = random_system(3, n=9, kinds=("Revolute", "Cylindrical", "Prismatic"))
        system.prescribe("h2", tm.Polynomial([0.2 + shift, 1.0, 0.3]))
        cylinder = next(
            n for n, c in system.connections.items() if c.element.kind == "Cylindrical" and n != "h2"
        )
        system.prescribe(cylinder, tm.Harmonic(0.3, 2.0), coordinate=1)
        return system.build()

    mech = build(0.0)
    state, n = random_state(mech, 5), mech.nu
    found, zero = mech.derivatives(state), np.zeros(n)
    given = np.array([mech.speeds.index("h2")])
    free = left_free(mech, {})
    assert (
        not found.ud_q[~free].any() and not found.ud_load[~free].any() and not found.ud_load[:, ~free].any()
    )

    def accelerations(dq, du):
        return mech.forward_dynamics((state.t, move(mech._lagrange, state.q, dq), state.u + du)).ud

    assert agrees(found.ud_q[:, free], along(lambda x: accelerations(x, zero), n)[:, free])
    assert agrees(found.ud_u[:, free], along(lambda x: accelerations(zero, x), n)[:, free])
    shifted = differences(
        lambda h: build(h).forward_dynamics((state.t, state.q, state.u)).ud, (n,), orders=1
    ).first
    assert agrees(found.ud_q[:, given[0]], shifted)


@pytest.mark.parametrize("seed", range(10))
def test_the_jacobian_of_the_integrator_agrees_with_differences_of_its_right_hand_side(seed):
    mech = loaded_tree(seed)
    state, core = random_state(mech, seed + 9), mech._core
    y = core.pack(state.q, state.u)
    y[: mech.nq] *= 1.01 if seed % 2 else 1.0  # Euler parameters need not be of length 1

    def rhs(x):
        moved, dy = y + x, np.zeros(len(y))
        assert native.entry("rhs")(state.t, address(moved), address(dy), core.context_address) == 1
        return dy

    assert agrees(TreeDerivatives(core).jacobian(state.t, y), along(rhs, len(y)))


def test_the_jacobian_has_no_part_in_prescribed_coordinates():
    system = random_system(3, n=6, kinds=("Revolute", "Free", "Prismatic"))
    system.prescribe("h2", tm.Polynomial([0.2, 1.0, 0.3]))
    mech = system.build()
    state, core = random_state(mech, 5), mech._core
    y = core.pack(state.q, state.u)

    def rhs(x):
        moved, dy = y + x, np.zeros(len(y))
        assert native.entry("rhs")(state.t, address(moved), address(dy), core.context_address) == 1
        return dy

    assert agrees(TreeDerivatives(core).jacobian(state.t, y), along(rhs, len(y)))


@pytest.mark.parametrize("seed", range(8))
def test_pinocchio_agrees(seed):
    pin = pytest.importorskip("pinocchio")
    mech = random_system(seed, n=9, kinds=("Revolute", "Prismatic"), loads=False).build()
    peer, state = pin_model(mech), random_state(mech, seed)
    S, _ = peer.speed_map(state.q, state.u)
    tau = np.random.default_rng(seed).normal(size=mech.nu)
    want = pin.computeABADerivatives(
        peer.model, peer.data, peer.coordinates(state.q), S @ state.u, np.linalg.solve(S.T, tau)
    )
    inverse = np.triu(want[2]) + np.triu(want[2], 1).T
    found, back = mech.derivatives(state, loads=tau), np.linalg.inv(S)
    assert agrees(found.ud_q, back @ want[0] @ S, PEER)
    assert agrees(found.ud_u, back @ want[1] @ S, PEER)
    assert agrees(found.ud_load, back @ inverse @ back.T, PEER)


@pytest.mark.slow
def test_a_chain_takes_no_longer_than_pinocchio():
    """Compare CPU times of one thread, least of many blocks, both called from Python on existing arrays."""
    pin = pytest.importorskip("pinocchio")
    mech = families.FAMILIES["chain 30"]().build()
    peer, workspace = pin_model(mech), TreeDerivatives(mech._core)
    q, u, _ = (x[0] for x in families.random_states(mech, 1))
    workspace.forward(0.0, q, u)
    entry, zero = native.entry("derivatives"), np.zeros(mech.nu)
    works = (
        lambda: entry(0.0, 1, workspace.address),
        lambda: pin.computeABADerivatives(peer.model, peer.data, q, u, zero),
    )
    least = [np.inf, np.inf]
    for _ in range(300):
        for k, work in enumerate(works):
            start = time.thread_time_ns()
            for _ in range(4):
                work()
            least[k] = min(least[k], time.thread_time_ns() - start)
    assert least[0] <= least[1]


@pytest.mark.parametrize("seed", range(24))
def test_derivatives_of_closed_chains_agree_with_differences(seed):
    planar, loops = seed % 2 == 0, 1 + (seed // 2) % 3
    mechanism = random_mechanism(seed, planar, loops)
    mech = mechanism.system.build()
    state, n, core = moving(mechanism, mech, seed), mech.nu, mech._core
    found = mech.derivatives(state)
    again = mech.forward_dynamics(state)
    assert agrees(found.ud, again.ud, 1e-9)
    chosen = core.loops.kept[core.loops.work.masked[: core.loops.n_kept] == 0]
    mech.constraints(state)  # with them the choice of rows
    near, pivot = core.chord_work.q.copy(), core.chord_work.pivot.copy()

    def solution(dq, du, load):
        core.chord_work.q[:], core.chord_work.pivot[:] = near, pivot
        q = move(mech._lagrange, state.q, dq)
        now, A = core.constraints(state.t, q, state.u + du, loaded=True), core.mass_matrix(state.t, q)
        P = now.partials[chosen]
        K = np.block([[A, -P.T], [P, np.zeros((len(P), len(P)))]])
        return np.linalg.solve(K, np.concatenate((load - now.loads, -now.bias[chosen])))

    zero = np.zeros(n)
    for got, multipliers, want in (
        (found.ud_q, found.multipliers_q, along(lambda x: solution(x, zero, zero), n)),
        (found.ud_u, found.multipliers_u, along(lambda x: solution(zero, x, zero), n)),
        (found.ud_load, found.multipliers_load, along(lambda x: solution(zero, zero, x), n)),
    ):
        assert agrees(got, want[:n])
        assert agrees(np.vstack((got, multipliers[chosen])), want)


def constrained():
    """A rolling wheel on an arm with a gear: constraint elements, nonholonomic rows, a coupling."""
    system = tm.System("cart", gravity=(0.3, -0.2, -9.81))
    cart = system.body("cart", 2.0, (0.3, 0.4, 0.5), com=(0.05, 0.02, 0.1))
    arm = system.body("arm", 1.0, (0.1, 0.2, 0.3), com=(0.3, 0.0, 0.1))
    tip = system.body("tip", 0.5, (0.05, 0.04, 0.03), com=(0.2, 0.1, 0.0))
    system.connect("planar", tm.Planar("z"), system.ground, cart)
    system.connect("A", tm.Revolute("x"), cart.at((0.2, 0, 0.1)), arm)
    system.connect("B", tm.Revolute((0.3, 1.0, 0.2)), arm.at((0.5, 0, 0)), tip)
    system.connect("blade", tm.KnifeEdge(), system.ground, cart.at((0.1, 0.0, 0.0)))
    system.couple("gear", tm.Mimic(1.7), "A", "B")
    return system.build()


def test_nonholonomic_rows_and_couplings():
    mech = constrained()
    state = mech.assemble(fix={"A": 0.3, "planar": [0.2, 0.1, 0.4]}, rates={"A": 0.7, "planar[2]": 0.9})
    found, n, core = mech.derivatives(state), mech.nu, mech._core

    def accelerations(dq, du):
        q = move(mech._lagrange, state.q, dq)
        now, A = core.constraints(state.t, q, state.u + du, loaded=True), core.mass_matrix(state.t, q)
        K = np.block([[A, -now.partials.T], [now.partials, np.zeros((len(now.bias), len(now.bias)))]])
        return np.linalg.solve(K, np.concatenate((-now.loads, -now.bias)))

    zero = np.zeros(n)
    assert agrees(np.vstack((found.ud_q, found.multipliers_q)), along(lambda x: accelerations(x, zero), n))
    assert agrees(np.vstack((found.ud_u, found.multipliers_u)), along(lambda x: accelerations(zero, x), n))
