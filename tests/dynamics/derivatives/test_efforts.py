"""Derivatives of models with energetic elements, compared with differences of high order.

The elements have ends, hinge coordinates, states and inputs.
"""

from dataclasses import dataclass
from math import sin, sqrt, tanh

import numpy as np
import pytest

import treemech as tm
from tests.dynamics.analyses.test_derivatives import agrees, along
from tests.laws.test_random_loops import moving
from tests.support.mechanisms import random_mechanism
from tests.support.models import KINDS, random_state, random_system
from treemech.dynamics.model.tree_derivatives import TreeDerivatives
from treemech.dynamics.native import entry_points as native
from treemech.kinematics.manifold import move
from treemech.topology.arrays import address


@dataclass(frozen=True)
class Muscle(tm.Energetic):
    """Element whose force and moments depend on every number it sees; its two states have different units."""

    stiffness: float
    n_states = 2
    input_names = ("drive", "rate")

    def evaluate(self, motion, t, out):
        p, v, w, x = motion.position, motion.velocity, motion.angular_velocity, motion.x
        s = 0.0
        for k in range(3):
            s += (p[1, k] - p[0, k]) ** 2
        size = sqrt(s + 0.1)
        pull = self.stiffness * (size - 0.3) + tanh(x[0]) + 1e-3 * x[1] * motion.inputs[0]
        for k in range(3):
            f = pull * (p[1, k] - p[0, k]) / size + 0.2 * (v[1, k] - v[0, k]) * motion.inputs[1]
            m = 0.3 * (w[1, k] - w[0, k]) + 0.1 * motion.rotation[0, k, 0] * motion.rotation[1, k, 1]
            out.force[0, k] = f
            out.force[1, k] = -f
            out.moment[0, k] = m
            out.moment[1, k] = -m
        out.rates[0] = motion.inputs[0] - 3.0 * x[0] + 0.2 * size * v[0, 0]
        out.rates[1] = 100.0 * sin(size) - 5.0 * x[1] + x[0] * w[1, 2]


@dataclass(frozen=True)
class Servo(tm.Energetic):
    """Element on a hinge coordinate, with a state."""

    gain: float
    n_ends = 0
    n_coordinates = 1
    n_deformations = 1
    n_states = 1

    def effort(self, now, t, out):
        out.effort[0] = self.gain * sin(now.deformation[0]) + 0.3 * now.rate[0] ** 2 + 2.0 * now.x[0]
        out.rates[0] = now.deformation[0] - 0.1 * now.rate[0] * now.x[0]


@dataclass(frozen=True)
class Triangle(tm.Energetic):
    """Element with three ends and one deformation, differentiated by jets."""

    stiffness: float
    n_ends = 3
    n_deformations = 1

    def deformation(self, position, rotation, t, eps):
        a = 0.0
        for k in range(3):
            a += (position[1, k] - position[0, k]) * (
                position[2, k] + 0.3 * rotation[2, k, 0] - position[0, k]
            )
        eps[0] = a

    def effort(self, now, t, out):
        out.effort[0] = self.stiffness * now.deformation[0] + 0.1 * now.rate[0]


def one_speed(system):
    """Return the names of hinges with one coordinate."""
    return [n for n, c in system.connections.items() if c.element.kind in ("Revolute", "Prismatic", "Screw")]


def sprung_tree(seed, n=14):
    system = random_system(seed, n=n, kinds=KINDS)
    rng = np.random.default_rng(seed)
    bodies = [system.bodies[k] for k in rng.choice(len(system.bodies), 6, replace=False)]
    ends = [b.at(rng.uniform(-0.3, 0.3, 3)) for b in bodies]
    A, B = one_speed(system)[:2]
    system.connect("spring", tm.Spring(30.0, 0.7, 0.2), ends[0], ends[1])
    system.connect("anchor", tm.Spring(20.0, 0.3, 0.4), system.ground.at((0.3, 0.2, 2.0)), ends[2])
    system.connect("muscle", Muscle(4.0), ends[2], ends[3], inputs={"drive": f"{A}.q", "rate": f"{B}.u"})
    system.connect("servo", Servo(2.0), system.connections[A])
    system.connect("triangle", Triangle(1.5), ends[3], ends[4], ends[5])
    return system


def with_states(mech, state, seed):
    x = np.random.default_rng(seed).uniform(-0.5, 0.5, mech._core.nx)
    return mech.state(t=state.t, q=state.q, u=state.u, x=x)


def seen(mech, state):
    """Return (ud, x') as a function of changes of (q, u, x)."""
    n, core = mech.nu, mech._core

    def at(d):
        q, u, z = move(mech._lagrange, state.q, d[:n]), state.u + d[n : 2 * n], state.z
        z[: core.nx] += d[2 * n :]
        core.work.z[: core.nz] = z
        ud = core.forward_dynamics(state.t, q, u)
        return np.concatenate((ud, core.state_rates(state.t, q, u, z)[: core.nx]))

    return at


@pytest.mark.parametrize("seed", range(8))
def test_springs_and_elements_with_states_on_random_trees(seed):
    mech = sprung_tree(seed).build()
    state, n = with_states(mech, random_state(mech, seed + 9), seed), mech.nu
    found = mech.derivatives(state)
    want = along(seen(mech, state), 2 * n + mech._core.nx)
    assert agrees(found.ud, mech.forward_dynamics(state).ud, 1e-13)
    for got, block in (
        (found.ud_q, want[:n, :n]),
        (found.ud_u, want[:n, n : 2 * n]),
        (found.ud_x, want[:n, 2 * n :]),
        (found.x_rates_q, want[n:, :n]),
        (found.x_rates_u, want[n:, n : 2 * n]),
        (found.x_rates_x, want[n:, 2 * n :]),
    ):
        assert np.any(block)
        assert agrees(got, block)
    assert np.array_equal(
        found.x_rates, mech._core.state_rates(state.t, state.q, state.u, state.z)[: mech._core.nx]
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_jacobian_of_the_integrator_covers_states(seed):
    """It is exact, or has forward differences of the elements, which Radau takes."""
    mech = sprung_tree(seed).build()
    state, core = with_states(mech, random_state(mech, seed + 9), seed), mech._core
    y = core.pack(state.q, state.u, state.z)

    def rhs(x):
        moved, dy = y + x, np.zeros(len(y))
        assert native.entry("rhs")(state.t, address(moved), address(dy), core.context_address) == 1
        return dy

    want = along(rhs, len(y))
    assert agrees(TreeDerivatives(core).jacobian(state.t, y), want)
    assert agrees(TreeDerivatives(core, rough=True).jacobian(state.t, y), want, 1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_springs_in_closed_chains(seed):
    planar, loops = seed % 2 == 0, 1 + (seed // 2) % 3
    mechanism = random_mechanism(seed, planar, loops)
    rng, system = np.random.default_rng(seed), mechanism.system
    bodies = [system.bodies[k] for k in rng.choice(len(system.bodies), 2, replace=False)]
    ends = [b.at(rng.uniform(-0.3, 0.3, 3)) for b in bodies]
    system.connect("spring", tm.Spring(30.0, 0.7, 0.2), *ends)
    system.connect(
        "muscle", Muscle(4.0), system.ground.at((0, 0, 1)), ends[0], inputs={"drive": 0.3, "rate": 0.5}
    )
    mech = system.build()
    state = moving(mechanism, mech, seed)
    n, core = mech.nu, mech._core
    found = mech.derivatives(state)
    chosen = core.loops.kept[core.loops.work.masked[: core.loops.n_kept] == 0]
    mech.constraints(state)
    near, pivot = core.chord_work.q.copy(), core.chord_work.pivot.copy()

    def solution(d):
        core.chord_work.q[:], core.chord_work.pivot[:] = near, pivot
        core.work.z[:] = state.z
        core.work.z[: core.nx] += d[2 * n :]
        q = move(mech._lagrange, state.q, d[:n])
        now, A = (
            core.constraints(state.t, q, state.u + d[n : 2 * n], loaded=True),
            core.mass_matrix(state.t, q),
        )
        P, rates = now.partials[chosen], core.work.zd[: core.nx].copy()
        K = np.block([[A, -P.T], [P, np.zeros((len(P), len(P)))]])
        return np.concatenate((np.linalg.solve(K, np.concatenate((-now.loads, -now.bias[chosen]))), rates))

    want, m = along(solution, 2 * n + core.nx), len(chosen)
    got = np.vstack((np.hstack((found.ud_q, found.ud_u, found.ud_x)),
                     np.hstack((found.multipliers_q, found.multipliers_u, found.multipliers_x))[chosen],
                     np.hstack((found.x_rates_q, found.x_rates_u, found.x_rates_x))))  # fmt: skip
    assert agrees(got[:n], want[:n])
    assert agrees(got[n : n + m], want[n : n + m])
    assert agrees(got[n + m :], want[n + m :])


def chain(n=6, mass=1.5, stiffness=240.0, damping=3.0):
    """Make masses between two walls, with springs between neighbours."""
    system = tm.System("chain", gravity=(0, 0, 0))
    spring = tm.Spring(stiffness=stiffness, damping=damping, length=1.0)
    previous = system.ground.at()
    for k in range(1, n + 1):
        body = system.body(f"mass {k}", mass=mass, inertia=(0, 0, 0))
        system.connect(f"x{k}", tm.Prismatic("x"), system.ground.at((k, 0, 0)), body)
        system.connect(f"spring {k}", spring, previous, body)
        previous = body.at()
    system.connect("last spring", spring, previous, system.ground.at((n + 1, 0, 0)))
    return system.build()


def test_eigenvalues_of_a_chain_of_springs_are_those_of_the_closed_form():
    n, mass, stiffness, damping = 6, 1.5, 240.0, 3.0
    got = chain(n, mass, stiffness, damping).linearize((0.0, np.zeros(n), np.zeros(n))).eigenvalues
    shape = 4.0 * np.sin(np.arange(1, n + 1) * np.pi / (2 * (n + 1))) ** 2 / mass
    real = -0.5 * damping * shape
    want = real + 1j * np.sqrt(stiffness * shape - real**2)
    got = np.array(sorted(got[got.imag > 0], key=np.imag))
    assert len(got) == n
    assert np.max(np.abs(got - want) / np.abs(want)) < 1e-10
    assert got[0] == pytest.approx(-0.19806226419516174 + 5.625898471420166j, rel=1e-10)


@dataclass(frozen=True)
class Maxwell(tm.Energetic):
    """Spring and damper in series between two points; the state is the stretch of the damper."""

    stiffness: float
    damping: float
    length: float
    n_deformations = 1
    n_states = 1

    def deformation(self, position, rotation, t, eps):
        s = 0.0
        for k in range(3):
            s += (position[1, k] - position[0, k]) ** 2
        eps[0] = sqrt(s) - self.length

    def effort(self, now, t, out):
        out.effort[0] = self.stiffness * (now.deformation[0] - now.x[0])
        out.rates[0] = out.effort[0] / self.damping


def hung(*elements):
    system = tm.System("hung", gravity=(0, 0, -9.81))
    body = system.body("body", mass=2.0, inertia=(0.1, 0.1, 0.1))
    system.connect("slide", tm.Prismatic("z"), system.ground, body)
    for k, element in enumerate(elements):
        system.connect(f"e{k}", element, system.ground.at((0, 0, 1)), body)
    return system.build()


def test_small_motions_and_equilibrium_with_a_state():
    mech = hung(tm.Spring(50.0, 0.0, 0.8), Maxwell(30.0, 4.0, 0.5))
    found = mech.equilibrium(mech.state(q={"slide": -0.1}))
    stretch = 2.0 * 9.81 / 50.0
    assert found.state["slide"][0] == pytest.approx(1.0 - 0.8 - stretch, abs=1e-10)
    assert found.state.x[0] == pytest.approx(0.8 + stretch - 0.5, abs=1e-10)  # the damper has given way
    assert found.linearization.states == ["slide", "slide'", "e1.x[0]"]
    k, d, m = 30.0, 4.0, 2.0
    want = np.array([[0, 1, 0], [-(50.0 + k) / m, 0, -k / m], [-k / d, 0, -k / d]])  # downwards stretches
    assert np.allclose(found.linearization.A, want, atol=1e-9)
    assert found.stable


@dataclass(frozen=True)
class Integral(tm.Energetic):
    """Controller that holds a coordinate by the integral of its error, without stiffness of its state."""

    gain: float
    place: float
    n_ends = 0
    n_coordinates = 1
    n_deformations = 1
    n_states = 1

    def effort(self, now, t, out):
        out.effort[0] = self.gain * now.x[0] + 5.0 * now.rate[0]
        out.rates[0] = now.deformation[0] - self.place


def test_a_state_without_stiffness_of_its_own_finds_what_holds():
    system = tm.System("held", gravity=(0, 0, -9.81))
    body = system.body("body", mass=2.0, inertia=(0.1, 0.1, 0.1))
    slide = system.connect("slide", tm.Prismatic("z"), system.ground, body)
    system.connect("controller", Integral(10.0, 0.25), slide)
    mech = system.build()
    found = mech.equilibrium(mech.state())
    assert found.state["slide"][0] == pytest.approx(0.25, abs=1e-10)
    assert found.state.x[0] == pytest.approx(-2.0 * 9.81 / 10.0, rel=1e-10)


@pytest.mark.parametrize("audit", [False, True])
def test_radau_with_the_exact_jacobian_meets_dop853(audit):
    mech = hung(tm.Spring(50.0, 0.5, 0.8), Maxwell(3000.0, 40.0, 0.5))
    state = mech.state(q={"slide": -0.1})
    options = {"rtol": 1e-10, "atol": 1e-12, "t_eval": [0.0, 1.0, 2.0], "audit": audit}
    assert mech._core.jacobian_workspace is None
    implicit = mech.simulate((0.0, 2.0), state, method="Radau", **options)
    assert mech._core.jacobian_workspace is not None and implicit.statistics["jacobians"] > 0
    explicit = mech.simulate((0.0, 2.0), state, method="DOP853", **options)
    assert np.max(np.abs(implicit.connection("slide").q - explicit.connection("slide").q)) < 1e-8
    assert np.max(np.abs(implicit.element("e1").x - explicit.element("e1").x)) < 1e-8
