"""Elements that depend on a reaction, where the motion is given or differentiated: against differences and closed forms."""

from dataclasses import dataclass
from math import sqrt, tanh

import numpy as np
import pytest

import treemech as tm
from tests.dynamics.analyses.test_derivatives import agrees, along
from tests.dynamics.analyses.test_parameter_derivatives import by_differences
from tests.dynamics.loads.test_reactions import Pin, incline, pendulum
from tests.laws.test_random_loops import moving
from tests.support.mechanisms import random_mechanism
from treemech.description.parameters import directions
from treemech.dynamics.analyses.displacement import difference
from treemech.dynamics.analyses.dual_model import DualModel
from treemech.kinematics.manifold import move


@dataclass(frozen=True)
class Warm(tm.Energetic):
    """Friction of a pin whose coefficient falls with its temperature, a state that its own power raises."""

    coefficient: float
    radius: float
    n_reactions = 1
    n_states = 1

    def evaluate(self, motion, t, out):
        R, w = motion.rotation, motion.angular_velocity
        rate, square = 0.0, 0.0
        for k in range(3):
            rate += R[0, k, 2] * (w[1, k] - w[0, k])
            square += motion.reaction[0, k] * motion.reaction[0, k]
        moment = (
            -self.coefficient * self.radius * sqrt(square + 1.0) * tanh(rate / 0.5) / (1.0 + motion.x[0] ** 2)
        )
        for k in range(3):
            out.moment[1, k] = moment * R[0, k, 2]
            out.moment[0, k] = -moment * R[0, k, 2]
        out.rates[0] = -moment * rate - 0.3 * motion.x[0] + 0.01 * sqrt(square + 1.0)


def solutions(mech, state):
    """Return (ud, multipliers, x') as functions of changes of (q, u, loads, x), by the compiled solution."""
    n, core = mech.nu, mech._core
    mech.constraints(state)
    near, pivot = core.chord_work.q.copy(), core.chord_work.pivot.copy()
    core.loops.rank = core.loops.n_kept  # of redundant rows those chosen stay

    def at(d):
        core.chord_work.q[:], core.chord_work.pivot[:] = near, pivot
        core.work.z[:] = state.z if len(state.z) else 0.0
        core.work.z[: core.nx] += d[3 * n :]
        q = move(mech._lagrange, state.q, d[:n])
        found = core.loops.solve(
            np.array([state.t]),
            q[None],
            (state.u + d[n : 2 * n])[None],
            near[None],
            d[None, 2 * n : 3 * n].copy(),
        )
        return np.concatenate((found.ud[0], found.multipliers[0], core.work.zd[: core.nx]))

    return at


def check(mech, state):
    found, n = mech.derivatives(state), mech.nu
    want = along(solutions(mech, state), 3 * n + mech._core.nx)
    m = len(found.multipliers)
    assert agrees(np.hstack((found.ud_q, found.ud_u, found.ud_load, found.ud_x)), want[:n])
    of = (found.multipliers_q, found.multipliers_u, found.multipliers_load, found.multipliers_x)
    assert agrees(np.hstack(of), want[n : n + m])
    x_rates = np.hstack((found.x_rates_q, found.x_rates_u, want[n + m :, 2 * n : 3 * n], found.x_rates_x))
    assert agrees(x_rates, want[n + m :])
    assert np.max(np.abs(want[:n])) > 0.0


def test_a_block_on_an_incline():
    mech = incline(0.7, 0.3)
    check(mech, mech.assemble(rates={"way": 1e-3}))


def test_a_pendulum_with_friction_in_its_pin():
    mech = pendulum(0.4)
    check(mech, mech.assemble(fix={"pin": 0.3, "elbow": -0.5}, rates={"pin": 0.01, "elbow": -1.0}))


def test_friction_in_the_middle_of_a_turning_chain():
    """Both bodies of the cut hinge turn: its load turns with them."""
    system = tm.System("arm", gravity=(0.5, 0.2, -9.81))
    base = system.body("base", mass=2.0, inertia=(0.2, 0.3, 0.4), com=(0.1, 0.0, 0.2))
    rod = system.body("rod", mass=2.0, inertia=(0.1, 0.2, 0.1), com=(0.5, 0, 0))
    bob = system.body("bob", mass=1.0, inertia=(0.05, 0.05, 0.05), com=(0.4, 0, 0.1))
    system.connect("turn", tm.Revolute((0.2, 0.1, 1.0)), system.ground, base)
    pin = system.connect("pin", tm.Revolute("y"), base.at((0.3, 0.1, 0.2)), rod)
    system.connect("elbow", tm.Revolute("x"), rod.at((1, 0, 0)), bob)
    system.connect("friction", Warm(0.4, 0.05), pin)
    mech = system.build()
    state = mech.assemble(
        fix={"pin": 0.3, "elbow": -0.5, "turn": 0.2},
        rates={"pin": 0.4, "elbow": -1.0, "turn": 1.3},
        states={"friction": 0.4},
    )
    check(mech, state)


@pytest.mark.parametrize("seed", range(8))
def test_friction_in_closed_chains(seed):
    mechanism = random_mechanism(seed, seed % 2 == 0, 1 + (seed // 2) % 3)
    hinges = [c for c in mechanism.system.connections.values() if c.element.kind == "Revolute"][:2]
    for k, hinge in enumerate(hinges):
        friction = Warm(0.02 if seed == 0 else 0.3, 0.1)  # 0 jams at 0.166 (test_reactions.py)
        mechanism.system.connect(f"friction {k}", friction, hinge)
    mech = mechanism.system.build()
    state = moving(mechanism, mech, seed)
    x = np.random.default_rng(seed).uniform(-0.5, 0.5, mech._core.nx)
    cut = {name: q for name, (q, _) in state.cut.items()}
    given = {c.name: state.q[c.q_slice] for c in mech._lagrange.hinges}
    check(mech, mech.state(state.t, {**given, **cut}, state.u, x))


# ---------------------------------------------------------------- a pendulum whose pin turns it as its force is
@dataclass(frozen=True)
class Grip(tm.Energetic):
    """A moment against the axis of a pin, an arm times the size of the force through it."""

    arm: float
    n_reactions = 1

    def evaluate(self, motion, t, out):
        square = 0.0
        for k in range(3):
            square += motion.reaction[0, k] * motion.reaction[0, k]
        for k in range(3):
            out.moment[1, k] = -self.arm * sqrt(square + 1e-20) * motion.rotation[0, k, 2]
            out.moment[0, k] = self.arm * sqrt(square + 1e-20) * motion.rotation[0, k, 2]


MASS, LENGTH, INERTIA, ARM, G = 2.0, 0.5, 0.2, 0.3, 9.81


def gripped(arm=ARM):
    system = tm.System("gripped", gravity=(0, 0, -G))
    rod = system.body("rod", mass=MASS, inertia=(0.1, INERTIA, 0.1), com=(LENGTH, 0, 0))
    pin = system.connect("pin", tm.Revolute("y"), system.ground, rod)
    system.connect("grip", Grip(arm), pin)
    return system.build()


def pin_force(q, u, ud):
    """Of the pin on the rod, x and z."""
    along, across = np.array([np.cos(q), -np.sin(q)]), np.array([-np.sin(q), -np.cos(q)])
    return MASS * LENGTH * (ud * across - u**2 * along) + np.array([0.0, MASS * G])


def turning_speed(mech):
    """Return the speed of the rod about y: its cut pin left it a free hinge."""
    J = mech.jacobian(mech.tree.bodies[1], mech.state())
    return mech.speeds[int(np.argmax(np.abs(J[4])))]


def test_equilibrium_and_small_motions_with_a_load_that_depends_on_a_reaction():
    mech = gripped()
    rest = np.arccos(ARM / LENGTH)
    found = mech.equilibrium(mech.assemble(fix={"pin": rest - 0.4}))
    assert found.state.cut["pin"][0][0] == pytest.approx(rest, abs=1e-9)
    # (J + m l^2) q'' = m g l cos q - arm |F|, and |F| = m g - m l q'' cos q next to rest
    square = (
        MASS * G * LENGTH * np.sin(rest) / (INERTIA + MASS * LENGTH**2 - ARM * MASS * LENGTH * np.cos(rest))
    )
    assert found.eigenvalues.imag[-1] == pytest.approx(np.sqrt(square), rel=1e-9)
    assert found.stable


def test_inverse_dynamics_sees_what_depends_on_a_reaction():
    mech = gripped()
    q, u, ud = 0.7, 1.6, -2.3
    state, speed = mech.assemble(fix={"pin": q}, rates={"pin": u}), turning_speed(mech)
    loads = mech.inverse_dynamics(state, {speed: ud}, actuated=[speed])
    inertia = INERTIA + MASS * LENGTH**2
    want = inertia * ud - MASS * G * LENGTH * np.cos(q) + ARM * np.linalg.norm(pin_force(q, u, ud))
    assert loads[mech.speeds.index(speed)] == pytest.approx(want, rel=1e-10)
    assert mech.forward_dynamics(state, loads).ud[mech.speeds.index(speed)] == pytest.approx(ud, rel=1e-9)
    # the pin was cut for its load, and is driven by its name
    assert mech.drive_loads(state, {"pin": ud}, actuated=["pin"])["pin"] == pytest.approx(want, rel=1e-10)


def test_the_load_column_has_what_depends_on_a_reaction():
    for mech, state in (
        (gripped(), gripped().assemble(fix={"pin": 0.7}, rates={"pin": 1.6})),
        (pendulum(0.4), pendulum(0.4).assemble(fix={"pin": 0.3, "elbow": -0.5}, rates={"pin": 2.0})),
    ):
        found = mech.forward_dynamics(state)
        P = mech.constraints(state).partials
        left = mech.mass_matrix(state) @ found.ud - P.T @ found.multipliers
        assert agrees(mech.load_column(state), left)


@pytest.mark.parametrize("seed", [1, 3, 5, 7, 9])
def test_the_drives_of_closed_chains_work_against_friction(seed):
    mechanism = random_mechanism(seed, seed % 2 == 0, 1 + (seed // 2) % 3)
    hinges = [c for c in mechanism.system.connections.values() if c.element.kind == "Revolute"][:2]
    for k, hinge in enumerate(hinges):
        mechanism.system.connect(f"friction {k}", Pin(0.3, 0.1, 0.5), hinge)
    mech = mechanism.system.build()
    state = moving(mechanism, mech, seed)
    assert not mech.mobility(state).redundant  # else the load a hinge carries is not unique
    rng, free = np.random.default_rng(seed), mech.mobility(state).suitable
    tau = np.zeros(mech.nu)
    tau[[mech.speeds.index(name) for name in free]] = rng.normal(size=len(free))
    ud = mech.forward_dynamics(state, tau).ud
    got = mech.inverse_dynamics(state, ud, actuated=free)
    assert np.max(np.abs(got - tau)) < 1e-8 * (1.0 + np.max(np.abs(ud)))


def test_a_reaction_and_an_internal_point_do_not_go_together():
    system = tm.System("both")
    rod = system.body("rod", 1.0, (1, 1, 1))
    system.connect("pin", tm.Revolute("y"), system.ground, rod)
    composite = tm.Composite(ends=("a", "b"), points={"knot": 3})
    composite.connect("one", tm.Spring(stiffness=10.0, length=0.1), "a", "knot")
    handle = system.connect("net", composite, system.ground, rod.at((1, 0, 0)))
    with pytest.raises(tm.ElementError, match="'friction'.*'pin'.*internal point"):
        system.connect("friction", Pin(0.1, 0.1, 0.1), rod, handle.point("knot"), reaction_of="pin")


def test_a_driven_run_shows_friction_in_its_drive():
    system = tm.System("slider-crank", gravity=(0, 0, 0))
    crank = system.body("crank", mass=1.0, inertia=(0.01, 0.02, 0.01), com=(0, 0, 0))
    rod = system.body("rod", mass=0.5, inertia=(0.01, 0.01, 0.01), com=(0.4, 0, 0))
    block = system.body("block", mass=2.0, inertia=(0.1, 0.1, 0.1))
    system.connect("A", tm.Revolute("y"), system.ground, crank)
    system.connect("B", tm.Revolute("y"), crank.at((0.3, 0, 0)), rod)
    C = system.connect("C", tm.Revolute("y"), rod.at((0.8, 0, 0)), block)
    system.connect("D", tm.Prismatic("x"), system.ground, block)
    system.connect("friction", Pin(0.4, 0.05, 1e-3), C)
    system.prescribe("A", tm.Polynomial([0.3, 4.0]))
    mech = system.build()
    run = mech.kinematics(np.linspace(0.0, 1.0, 41), mech.assemble(guess={"D": 1.0}))
    # power of the drive = rate of the kinetic energy + what friction takes
    friction, pin = run.element("friction"), run.connection("C")
    want = 0.4 * 0.05 * np.linalg.norm(pin.force, axis=1) * np.tanh(np.abs(pin.u.ravel()) / 1e-3)
    np.testing.assert_allclose(np.abs(friction.moment[:, 1, 1]), want, rtol=1e-8)
    taken = np.abs(pin.u.ravel()) * want
    kinetic = sum(
        mass * np.sum(run.point(name, com).velocity * run.point(name, com).acceleration, axis=1)
        + inertia * np.sum(run.body(name).angular_velocity * run.body(name).angular_acceleration, axis=1)
        for name, mass, com, inertia in (
            ("crank", 1.0, (0, 0, 0), 0.02), ("rod", 0.5, (0.4, 0, 0), 0.01), ("block", 2.0, (0, 0, 0), 0.1)
        )
    )  # fmt: skip
    np.testing.assert_allclose(
        run.drive("A").ravel() * 4.0, kinetic + taken, atol=1e-8 * np.max(np.abs(kinetic))
    )


@pytest.mark.parametrize("closed", [False, True])
def test_parameters_of_models_with_elements_that_depend_on_a_reaction(closed):
    """Of the element itself, of the bodies and of the points it acts at, against differences of the solutions."""
    m, c, l = tm.Parameter("m", 2.0), tm.Parameter("c", 0.4), tm.Parameter("l", 0.8)
    system = tm.System("slider-crank", gravity=(0.5, 0.2, -9.81))
    crank = system.body("crank", mass=m, inertia=(0.1, 0.2 * l, 0.1), com=(0.1, 0.05, l / 4))
    rod = system.body("rod", mass=0.5, inertia=(0.1, 0.1, 0.1), com=(l / 2, 0, 0.1))
    pin = system.connect("A", tm.Revolute("y"), system.ground, crank)
    system.connect("B", tm.Revolute("y"), crank.at((l / 3, 0, 0)), rod)
    if closed:
        block = system.body("block", mass=m, inertia=(0.1, 0.1, 0.1))
        pin = system.connect("C", tm.Revolute("y"), rod.at((l, 0, 0)), block)
        system.connect("D", tm.Prismatic("x"), system.ground, block)
    system.connect("friction", Warm(c, 0.05 * l), pin)
    mech, names = system.build(), ["m", "c", "l"]

    def start(mech):
        rates = {"A": 1.5} if closed else {"A": 1.5, "B": -0.7}
        guess = {"D": 1.0} if closed else {"B": 0.6}
        return mech.assemble(fix={"A": 0.4}, guess=guess, rates=rates, states={"friction": 0.3})

    state = start(mech)
    d = mech.derivatives(state, parameters=names)
    assert all(isinstance(x, DualModel) for x in directions(mech, names))
    for j, name in enumerate(names):

        def motion(mech):
            s = start(mech)
            found = mech.derivatives(s)
            step = difference(mech._core, state.q, s.q)
            return np.concatenate((found.ud, step, s.u, found.multipliers, found.x_rates))

        n, k = mech.nu, len(d.multipliers)
        ud, s_q, s_u, multipliers, x_rates = np.split(
            by_differences(mech, name, motion), np.cumsum([n, n, n, k])
        )
        for got, want in (
            (d.ud_p[:, j] + d.ud_q @ s_q + d.ud_u @ s_u, ud),
            (d.multipliers_p[:, j] + d.multipliers_q @ s_q + d.multipliers_u @ s_u, multipliers),
            (d.x_rates_p[:, j] + d.x_rates_q @ s_q + d.x_rates_u @ s_u, x_rates),
        ):
            assert np.max(np.abs(got - want)) < 1e-9 * max(np.max(np.abs(want)), 1e-3), name
