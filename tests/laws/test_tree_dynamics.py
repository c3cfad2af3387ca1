"""The compiled sweeps against the dense formulas of chapters 5 and 6, on random trees with every hinge kind."""

import numpy as np
import pytest

import treemech as tm
from tests.support.models import KINDS, random_state, random_system
from tests.support.reference import dense
from tests.support.tolerances import ROUND
from treemech.dynamics.model import trace as columns

SEEDS = range(12)


def largest(x):
    return max(1.0, float(np.max(np.abs(x), initial=0.0)))


@pytest.fixture(scope="module", params=SEEDS)
def case(request):
    seed = request.param
    mech = random_system(seed, n=16).build()
    state = random_state(mech, seed + 100)
    return mech, state, dense(mech, state.t, state.q, state.u, mech._core.layout.efforts.applied)


def test_random_trees_hold_every_hinge_kind_in_both_directions():
    seen = set()
    for seed in SEEDS:
        for c in random_system(seed, n=16).build()._lagrange.hinges:
            seen.add((c.hinge.kind, c.forward))
    assert seen == {(kind, forward) for kind in KINDS for forward in (True, False)}


def test_positions_velocities_and_biases_match_the_dense_formulas(case):
    mech, state, ref = case
    trace, _ = mech._core.trace(
        np.array([state.t]), state.q[None].copy(), state.u[None].copy(), np.zeros((1, mech.nu))
    )
    trace = trace[0]
    for name, got, want in (
        ("rotation", trace[:, columns.ROTATION], np.array([R.ravel() for R in ref.R])),
        ("position", trace[:, columns.POSITION], ref.r),
        ("omega", trace[:, columns.OMEGA], ref.omega),
        ("velocity", trace[:, columns.VELOCITY], ref.rdot),
        ("alpha", trace[1:, columns.ALPHA], ref.omega_bias.reshape(-1, 3)),
        ("acceleration", trace[1:, columns.ACCELERATION], ref.r_bias.reshape(-1, 3)),
    ):
        assert np.max(np.abs(got - want)) < ROUND * largest(want), name


def test_attitude_partials_match_u_and_w(case):
    mech, state, ref = case
    z = mech.attitude(state)
    nb = len(mech.tree.branches)
    Z = z.partials.reshape(mech.nu, nb, 6)
    assert np.max(np.abs(Z[:, :, :3].reshape(mech.nu, -1) - ref.UT)) < ROUND * largest(ref.UT)
    assert np.max(np.abs(Z[:, :, 3:].reshape(mech.nu, -1) - ref.WT)) < ROUND * largest(ref.WT)
    rate = z.partials.T @ state.u + z.drift
    assert np.max(np.abs(rate.reshape(nb, 6)[:, :3] - ref.rdot[1:])) < ROUND * largest(ref.rdot)


def test_mass_matrix_matches_z_j_z(case):
    mech, state, ref = case
    assert np.max(np.abs(mech.mass_matrix(state) - ref.A)) < ROUND * largest(ref.A)


def test_load_column_matches_external_and_inertia_loads(case):
    mech, state, ref = case
    assert np.max(np.abs(mech.load_column(state) - ref.Q)) < ROUND * largest(ref.terms)


def test_inverse_dynamics_is_a_ud_minus_q(case):
    mech, state, ref = case
    ud = np.random.default_rng(5).normal(size=mech.nu)
    want = ref.A @ ud - ref.Q
    assert np.max(np.abs(mech.inverse_dynamics(state, ud) - want)) < ROUND * largest(ref.terms)


def test_forward_dynamics_leaves_no_residual(case):
    mech, state, ref = case
    ud = mech.forward_dynamics(state).ud
    scale = max(largest(ref.terms), float(np.max(np.abs(ref.A) @ np.abs(ud))))
    assert np.max(np.abs(ref.A @ ud - ref.Q)) < ROUND * scale


def test_applied_loads_on_speeds_enter_forward_dynamics(case):
    mech, state, ref = case
    tau = np.random.default_rng(6).normal(size=mech.nu)
    ud = mech.forward_dynamics(state, tau).ud
    scale = max(largest(ref.terms), float(np.max(np.abs(ref.A) @ np.abs(ud))))
    assert np.max(np.abs(ref.A @ ud - ref.Q - tau)) < ROUND * scale


def test_energies_match_and_mass_matrix_reproduces_kinetic_energy(case):
    mech, state, ref = case
    energy = mech.energy(state)
    assert abs(energy.kinetic - ref.kinetic) < ROUND * largest(ref.kinetic)
    assert abs(energy.potential - ref.potential) < ROUND * largest(ref.potential)


@pytest.mark.parametrize("seed", range(4))
def test_kinetic_energy_of_a_scleronomic_tree_is_half_u_a_u(seed):
    kinds = tuple(k for k in KINDS if k != "Moving")
    mech = random_system(seed, n=14, kinds=kinds).build()
    state = random_state(mech, seed)
    want = 0.5 * state.u @ mech.mass_matrix(state) @ state.u
    assert abs(mech.energy(state).kinetic - want) < ROUND * largest(want)


@pytest.mark.parametrize("seed", range(4))
def test_built_in_hinges_through_the_address_table_give_the_same(seed):
    system = random_system(seed, n=15)
    inline, table = system.build(), system.build(inline=False)
    state = random_state(inline, seed)
    A = inline.mass_matrix(state)
    assert np.max(np.abs(A - table.mass_matrix(state))) < ROUND * largest(A)
    ud, other = inline.forward_dynamics(state).ud, table.forward_dynamics(state).ud
    assert np.max(np.abs(A @ (ud - other))) < ROUND * max(
        largest(A @ ud), float(np.max(np.abs(A) @ np.abs(ud)))
    )


@pytest.mark.parametrize("seed", range(3))
def test_declaring_hinges_in_another_order_only_renames_the_coordinates(seed):
    first, second = random_system(seed, n=10), random_system(seed, n=10)
    second.connections = dict(sorted(second.connections.items()))
    a, b = first.build(), second.build()
    state = random_state(a, seed)
    q = {c.name: state.q[c.q_slice] for c in a._lagrange.hinges if c.hinge.n_coordinates}
    u = {c.name: state.u[c.u_slice] for c in a._lagrange.hinges if c.hinge.n_speeds}
    ud_a, ud_b = a.forward_dynamics(state).ud, b.forward_dynamics(b.state(state.t, q, u)).ud
    scale = largest(ud_a)
    for c in a._lagrange.hinges:
        other = next(d for d in b._lagrange.hinges if d.name == c.name)
        assert np.max(np.abs(ud_a[c.u_slice] - ud_b[other.u_slice]), initial=0.0) < 1e-9 * scale


def test_fifty_ball_joints_leave_a_residual_below_1e_11():
    worst = 0.0
    for seed in range(20):
        mech = random_system(seed, n=50, kinds=("Ball",), reverse=0.0, loads=False, branching=0).build()
        state = random_state(mech, seed)
        ud = mech.forward_dynamics(state).ud
        residual = mech.inverse_dynamics(state, ud)
        terms = np.abs(mech.mass_matrix(state)) * np.abs(ud)
        scale = max(float(np.max(terms)), float(np.max(np.abs(mech.load_column(state)))))
        worst = max(worst, float(np.max(np.abs(residual))) / scale)
    assert worst < 1e-11


def test_a_massless_carrier_is_legal_between_two_hinges():
    system = tm.System("cardan")
    carrier = system.body("carrier", 0.0, (0, 0, 0))
    bob = system.body("bob", 1.0, (0.1, 0.2, 0.3), com=(0, 0, -0.5))
    system.connect("x", tm.Revolute("x"), system.ground, carrier)
    system.connect("y", tm.Revolute("y"), carrier, bob)
    mech = system.build()
    twin = tm.System("universal")
    bob = twin.body("bob", 1.0, (0.1, 0.2, 0.3), com=(0, 0, -0.5))
    twin.connect("xy", tm.Universal(), twin.ground, bob)
    other = twin.build()
    q, u = [0.3, -0.7], [1.1, 0.4]
    got, want = (
        mech.forward_dynamics(mech.state(q=q, u=u)).ud,
        other.forward_dynamics(other.state(q=q, u=u)).ud,
    )
    assert np.max(np.abs(got - want)) < ROUND * largest(want)
