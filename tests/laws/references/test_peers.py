"""Random trees in Pinocchio and MuJoCo: positions, mass matrix, inverse and forward dynamics agree with ours."""

import numpy as np
import pytest

import treemech as tm
from tests.support.models import KINDS, random_state, random_system
from tests.support.tolerances import PEER
from treemech.benchmarks.families import trees as families
from treemech.benchmarks.peers.models import NoSuchJoint, mujoco_model, pin_model

MUJOCO_KINDS = tuple(k for k in KINDS if k not in ("Curve", "Moving", "Screw"))
PIN_KINDS = (*MUJOCO_KINDS, "Screw")
PEERS = {"pinocchio": (pin_model, PIN_KINDS), "mujoco": (mujoco_model, MUJOCO_KINDS)}
SEEDS = range(8)


@pytest.fixture(
    scope="module", params=[(peer, seed) for peer in PEERS for seed in SEEDS], ids=lambda p: f"{p[0]}-{p[1]}"
)
def case(request):
    name, seed = request.param
    pytest.importorskip(name)
    make, kinds = PEERS[name]
    mech = random_system(seed, n=14, kinds=kinds, loads=False).build()
    return mech, make(mech), random_state(mech, seed + 50)


def agrees(got, want, scale=None):
    scale = float(np.max(np.abs(want), initial=1e-300)) if scale is None else scale
    return np.max(np.abs(got - want), initial=0.0) < PEER * scale


@pytest.mark.parametrize("peer", PEERS)
def test_every_kind_a_peer_has_is_met_in_both_directions(peer):
    seen = set()
    for seed in SEEDS:
        mech = random_system(seed, n=14, kinds=PEERS[peer][1], loads=False).build()
        seen |= {(c.hinge.kind, c.forward) for c in mech._lagrange.hinges}
    assert seen == {(kind, forward) for kind in PEERS[peer][1] for forward in (True, False)}


def test_positions_agree(case):
    mech, peer, state = case
    z = mech.attitude(state)
    position, rotation = peer.positions(state.q)
    assert agrees(z.position, position)
    assert agrees(z.rotation, rotation)


def test_mass_matrices_agree(case):
    mech, peer, state = case
    assert agrees(mech.mass_matrix(state), peer.mass_matrix(state.q))


def test_inverse_dynamics_agrees(case):
    mech, peer, state = case
    ud = np.random.default_rng(3).normal(size=mech.nu)
    assert agrees(mech.inverse_dynamics(state, ud), peer.inverse_dynamics(state.q, state.u, ud))


def test_forward_dynamics_agrees(case):
    mech, peer, state = case
    tau = np.random.default_rng(4).normal(size=mech.nu)
    assert agrees(mech.forward_dynamics(state, tau).ud, peer.forward_dynamics(state.q, state.u, tau))


@pytest.mark.parametrize("family", ["chain 7", "chain 30", "tree 127", "humanoid"])
@pytest.mark.parametrize("peer", PEERS)
def test_families_of_the_benchmark_agree(peer, family):
    pytest.importorskip(peer)
    mech = families.FAMILIES[family]().build()
    other = PEERS[peer][0](mech)
    q, u, ud = (x[0] for x in families.random_states(mech, 1))
    assert agrees(mech.attitude((q, u)).position, other.positions(q)[0])
    assert agrees(mech.mass_matrix((q, u)), other.mass_matrix(q))
    assert agrees(mech.inverse_dynamics((q, u), ud), other.inverse_dynamics(q, u, ud))
    assert agrees(mech.forward_dynamics((q, u)).ud, other.forward_dynamics(q, u, np.zeros(mech.nu)))


@pytest.mark.parametrize("peer", PEERS)
def test_a_hinge_a_peer_lacks_is_refused_by_name(peer):
    pytest.importorskip(peer)
    system = tm.System("curved")
    bead = system.body("bead", 1.0, (1, 1, 1))
    system.connect("wire", tm.Curve([[k, k * k, 0] for k in range(6)]), system.ground, bead)
    with pytest.raises(NoSuchJoint, match="wire"):
        PEERS[peer][0](system.build())
