"""Elements that depend on the load of a hinge: solved together with the multipliers."""

import warnings
from dataclasses import dataclass
from math import exp, sqrt, tanh

import numpy as np
import pytest

import treemech as tm
from tests.laws.test_random_loops import moving
from tests.support.mechanisms import random_mechanism


@dataclass(frozen=True)
class Sliding(tm.Energetic):
    """Coulomb friction along the z axis of a prismatic hinge, smooth around zero speed."""

    coefficient: float
    speed: float
    n_reactions = 1

    def evaluate(self, motion, t, out):
        R = motion.rotation
        axis = (R[0, 0, 2], R[0, 1, 2], R[0, 2, 2])
        rate, along, square = 0.0, 0.0, 0.0
        for k in range(3):
            rate += axis[k] * (motion.velocity[1, k] - motion.velocity[0, k])
            along += axis[k] * motion.reaction[0, k]
            square += motion.reaction[0, k] * motion.reaction[0, k]
        force = -self.coefficient * sqrt(square - along * along + 1e-20) * tanh(rate / self.speed)
        for k in range(3):
            out.force[1, k] = force * axis[k]
            out.force[0, k] = -force * axis[k]
        out.dissipated[0] = -force * rate


@dataclass(frozen=True)
class Pin(tm.Energetic):
    """Friction moment of a pin: coefficient, radius and the size of the force through it."""

    coefficient: float
    radius: float
    speed: float
    n_reactions = 1

    def evaluate(self, motion, t, out):
        R, w = motion.rotation, motion.angular_velocity
        rate, square = 0.0, 0.0
        for k in range(3):
            rate += R[0, k, 2] * (w[1, k] - w[0, k])
            square += motion.reaction[0, k] * motion.reaction[0, k]
        moment = -self.coefficient * self.radius * sqrt(square + 1e-20) * tanh(rate / self.speed)
        for k in range(3):
            out.moment[1, k] = moment * R[0, k, 2]
            out.moment[0, k] = -moment * R[0, k, 2]
        out.dissipated[0] = -moment * rate


def incline(slope, coefficient):
    system = tm.System("incline", gravity=(0, 0, -9.81))
    block = system.body("block", mass=3.0, inertia=(1, 1, 1))
    way = system.connect("way", tm.Prismatic((np.cos(slope), 0, -np.sin(slope))), system.ground, block)
    system.connect("friction", Sliding(coefficient, 1e-3), way)
    return system.build()


def test_block_slides_down_an_incline_as_coulomb_says():
    slope, coefficient = 0.7, 0.3
    mech = incline(slope, coefficient)
    run = mech.simulate((0, 1), mech.assemble(rates={"way": 1.0}), rtol=1e-10)
    a = 9.81 * (np.sin(slope) - coefficient * np.cos(slope))
    np.testing.assert_allclose(run.connection("way").u, 1.0 + a * run.t, rtol=1e-9)
    normal = 3.0 * 9.81 * np.cos(slope)
    np.testing.assert_allclose(np.linalg.norm(run.connection("way").force, axis=1), normal, rtol=1e-9)
    audit_run = mech.simulate((0, 1), mech.assemble(rates={"way": 1.0}), rtol=1e-10, audit=True)
    energy, lost = audit_run.energy.total, audit_run.audit["friction"].dissipated
    np.testing.assert_allclose(energy + lost, energy[0], atol=1e-8)


def pendulum(coefficient, tip=1.0):
    system = tm.System("pendulum", gravity=(0, 0, -9.81))
    rod = system.body("rod", mass=2.0, inertia=(0.1, 0.2, 0.1), com=(0.5, 0, 0))
    bob = system.body("bob", mass=tip, inertia=(0.05, 0.05, 0.05), com=(0.4, 0, 0.1))
    pin = system.connect("pin", tm.Revolute("y"), system.ground, rod)
    system.connect("elbow", tm.Revolute("y"), rod.at((1, 0, 0)), bob)
    system.connect("friction", Pin(coefficient, 0.05, 1e-2), pin)
    return system.build()


def test_friction_of_a_pin_is_what_its_reaction_says():
    mech = pendulum(0.4)
    state = mech.assemble(fix={"pin": 0.3, "elbow": -0.5}, rates={"pin": 2.0, "elbow": -1.0})
    run = mech.simulate((0, 2), state, rtol=1e-9)
    assert run.success, run.message
    pin, friction = run.connection("pin"), run.element("friction")
    want = -0.4 * 0.05 * np.linalg.norm(pin.force, axis=1) * np.tanh(pin.u / 1e-2)
    np.testing.assert_allclose(friction.moment[:, 1] @ [0, 1, 0], want, atol=1e-9)
    # free body: all forces on both bodies make their momentum change
    total = np.zeros((len(run.t), 3))
    for name, mass, com in (("rod", 2.0, (0.5, 0, 0)), ("bob", 1.0, (0.4, 0, 0.1))):
        total += mass * (run.point(name, com).acceleration - np.array([0, 0, -9.81]))
    np.testing.assert_allclose(pin.force, total, atol=1e-8 * np.abs(total).max())


def test_hinge_loads_beyond_the_friction_balance_a_body():
    mech = pendulum(0.4)
    state = mech.assemble(fix={"pin": 0.3, "elbow": -0.5}, rates={"pin": 2.0, "elbow": -1.0})
    run = mech.simulate((0, 0.5), state, rtol=1e-9)
    elbow = run.connection("elbow")
    force = 1.0 * (run.point("bob", (0.4, 0, 0.1)).acceleration - np.array([0, 0, -9.81]))
    np.testing.assert_allclose(elbow.force, force, atol=1e-8 * np.abs(force).max())


def test_without_friction_the_cut_pin_moves_like_the_branch():
    mech = pendulum(0.0)
    state = mech.assemble(fix={"pin": 0.3}, rates={"pin": 2.0})
    plain = tm.System("pendulum", gravity=(0, 0, -9.81))
    rod = plain.body("rod", mass=2.0, inertia=(0.1, 0.2, 0.1), com=(0.5, 0, 0))
    bob = plain.body("bob", mass=1.0, inertia=(0.05, 0.05, 0.05), com=(0.4, 0, 0.1))
    plain.connect("pin", tm.Revolute("y"), plain.ground, rod)
    plain.connect("elbow", tm.Revolute("y"), rod.at((1, 0, 0)), bob)
    tree = plain.build()
    end = mech.simulate((0, 2), state, rtol=1e-10).connection("pin").q[-1]
    want = (
        tree.simulate((0, 2), tree.state(q={"pin": 0.3}, u={"pin": 2.0}), rtol=1e-10).connection("pin").q[-1]
    )
    assert end == pytest.approx(want, abs=1e-8)


def test_two_elements_on_two_hinges_of_a_loop():
    system = tm.System("four-bar", gravity=(0, 0, -9.81))
    crank = system.body("crank", mass=1.0, inertia=(0.01, 1 / 12, 1 / 12), com=(0.5, 0, 0))
    coupler = system.body("coupler", mass=3.0, inertia=(0.01, 9 / 4, 9 / 4), com=(1.5, 0, 0))
    rocker = system.body("rocker", mass=2.5, inertia=(0.01, 1.3, 1.3), com=(1.25, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, crank)
    system.connect("B", tm.Ball(), crank.at((1, 0, 0)), coupler)
    C = system.connect("C", tm.Ball(), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)))
    D = system.connect("D", tm.Revolute("y"), system.ground.at((3.5, 0, 0)), rocker)
    system.connect("friction C", Pin(0.3, 0.02, 1e-2), C)
    system.connect("friction D", Pin(0.3, 0.04, 1e-2), D)
    mech = system.build()
    state = mech.assemble(guess={"A": -0.6}, rates={"A": 3.0})
    run = mech.simulate((0, 1), state, rtol=1e-8, audit=True)
    assert run.success, run.message
    energy = run.energy.total + sum(a.dissipated for a in run.audit.values())
    np.testing.assert_allclose(energy, energy[0], rtol=1e-6)
    for name, radius in (("C", 0.02), ("D", 0.04)):
        moment = np.linalg.norm(run.element(f"friction {name}").moment[:, 1], axis=1)
        assert np.all(
            moment <= 0.3 * radius * np.linalg.norm(run.connection(name).force, axis=1) * (1 + 1e-9)
        )


def test_friction_under_the_load_of_a_constraint():
    """A block that slides on a floor, which is a constraint: mu m g slows it down."""
    system = tm.System("floor", gravity=(0, 0, -9.81))
    block = system.body("block", mass=3.0, inertia=(1, 1, 1))
    system.connect("way", tm.Translation(), system.ground, block)
    floor = system.connect("floor", tm.InPlane(), system.ground, block)
    system.connect("friction", tm.Friction(0.3, threshold=1e-9, soft=1e-9), floor)
    mech = system.build()
    state = mech.assemble(rates={"way[0]": 3.0, "way[1]": 4.0})
    np.testing.assert_allclose(
        mech.forward_dynamics(state).ud, -0.3 * 9.81 * np.array([0.6, 0.8, 0.0]), atol=1e-7
    )


def test_the_traction_of_a_cam_follower_takes_its_load():
    """EhdTraction under the load of the cam equals the same traction under that load, given (9.3.8-12)."""
    loads = []
    for given in (None, "load"):
        system = tm.System("cam", gravity=(0, -9.81, 0))
        cam, roller = system.body("cam", 1.0, (1e-4,) * 3), system.body("roller", 0.06, (5e-6,) * 3)
        system.connect("shaft", tm.Revolute("z"), system.ground, cam)
        system.connect("guide", tm.Planar("z"), system.ground, roller)
        profile = tm.Profile.circle(0.016, (0.002, 0))
        system.connect("touch", tm.CamFollower(profile, "roller", radius=0.012), cam, roller)
        system.connect("press", tm.Spring(2e3, length=0.1), system.ground.at((0, 0.06, 0)), roller)
        if given is None:
            film, keywords = tm.EhdTraction(0.012, 0.014, 1 / 0.016), {"reaction_of": "touch"}
        else:
            film, keywords = tm.EhdTraction(0.012, 0.014, 1 / 0.016, load=loads[0]), {}
        end = cam.at((0.002, 0, 0))  # the centre of the circle: the normal runs through it
        system.connect("film", film, end, roller, **keywords)
        mech = system.build()
        state = mech.assemble(
            guess={"guide[0]": 0.0, "guide[1]": 0.028}, rates={"shaft": 50.0, "guide[2]": 3.0}
        )
        run = mech.simulate((0, 1e-4), state, t_eval=[0.0, 1e-4])
        force = run.connection("touch").force[0]
        loads.append(float(np.linalg.norm(force)) if given is None else run.element("film").force[0, 1])
        traction = run.element("film").force[0, 1]
    np.testing.assert_allclose(traction, loads[1])
    assert np.linalg.norm(traction) > 0.0


@dataclass(frozen=True)
class Journal(tm.Energetic):
    """Friction moment of a pin by the force across it; a chain in the plane does not decide the force along it."""

    coefficient: float
    n_reactions = 1

    def evaluate(self, motion, t, out):
        R, w, F = motion.rotation, motion.angular_velocity, motion.reaction
        rate, square, along = 0.0, 0.0, 0.0
        for k in range(3):
            rate += R[0, k, 2] * (w[1, k] - w[0, k])
            square += F[0, k] * F[0, k]
            along += R[0, k, 2] * F[0, k]
        moment = -0.1 * self.coefficient * sqrt(square - along * along + 1e-20) * tanh(rate / 0.5)
        for k in range(3):
            out.moment[1, k] = moment * R[0, k, 2]
            out.moment[0, k] = -moment * R[0, k, 2]


def rubbing(seed, coefficient):
    """Return a random closed chain in the plane with friction in two of its pins, a moving state, and the pins."""
    mechanism = random_mechanism(seed, planar=True, n_loops=1 + (seed // 2) % 3)
    pins = [c for c in mechanism.system.connections.values() if c.element.kind == "Revolute"][:2]
    for k, pin in enumerate(pins):
        mechanism.system.connect(f"friction {k}", Journal(coefficient), pin)
    mech = mechanism.system.build()
    return mech, moving(mechanism, mech, seed), pins


def moments_of_friction(seed):
    """Return how the moments of friction follow from themselves, without the solver of reactions.

    F(M, c) gives the moments that the pins would show under moments M; ud(M) the accelerations.
    """
    mech, state, pins = rubbing(seed, 0.0)
    loops = mech._core.loops
    mech.constraints(state)
    chords, turns, effects = [c.name for c in mech.tree.chords], [], []
    for pin in pins:
        a, b = (end.body for end in pin.ends)
        ends = ((b, 1.0), (a, -1.0))
        J = sum(sign * mech.jacobian(end, state)[5] for end, sign in ends if end.name != "ground")
        effects.append(J)
        turns.append(np.tanh(J @ state.u / 0.5))
    forces = np.array([chords.index(pin.name) for pin in pins])

    def solved(M):
        tau = np.array(M) @ np.array(effects)
        found = loops.solve(np.array([state.t]), state.q[None], state.u[None], None, tau[None])
        return found.ud[0], found.loads[0, forces, :2]

    base = solved([0.0, 0.0])[1]
    slopes = [solved(M)[1] - base for M in np.eye(2)]

    def F(M, c):
        size = np.linalg.norm(base + M[0] * slopes[0] + M[1] * slopes[1], axis=1)
        return -0.1 * c * np.sqrt(size**2 + 1e-20) * turns

    def growth(M):
        return -0.1 * np.linalg.norm(M[0] * slopes[0] + M[1] * slopes[1], axis=1) * turns

    return F, growth, lambda M: solved(M)[0]


@pytest.mark.parametrize("seed", [0, 6])
def test_friction_is_solved_up_to_the_coefficient_at_which_the_chain_jams(seed):
    """Painleve's paradox: where friction raises the load that it follows from without bound, nothing solves both.

    The moments that grow in proportion to themselves, M = c G(M), say at which coefficient this begins.
    """
    F, growth, ud = moments_of_friction(seed)
    M = F(np.zeros(2), 1.0)
    for _ in range(200):
        M, ratio = growth(M / np.abs(M).max()), np.abs(M).max()
    limit = 1.0 / ratio
    for part in (0.3, 0.9, 0.99, 0.999):
        mech, state, _ = rubbing(seed, part * limit)
        M = np.zeros(2)
        for _ in range(int(40 / (1.0 - part))):
            M = F(M, part * limit)
        assert np.max(np.abs(F(M, part * limit) - M)) < 1e-9 * np.max(np.abs(M))
        want, found = ud(M), mech.forward_dynamics(state).ud
        assert np.max(np.abs(found - want)) < 1e-8 / (1.0 - part) * np.max(np.abs(want))
    for part in (1.001, 1.5):
        mech, state, _ = rubbing(seed, part * limit)
        with pytest.raises(tm.ElementError, match="'friction .' .*no common solution.*jams"):
            mech.forward_dynamics(state)


def test_reaction_of_an_unknown_connection_is_refused_by_name():
    system = tm.System("free")
    rod = system.body("rod", mass=2.0, inertia=(0.1, 0.2, 0.1), com=(0.5, 0, 0))
    system.connect("pin", tm.Revolute("y"), system.ground, rod)
    with pytest.raises(tm.TopologyError, match="'friction'.*'pim'.*'pin'"):
        system.connect("friction", Pin(0.1, 0.05, 1e-2), system.ground, rod, reaction_of="pim")


@dataclass(frozen=True)
class Wild(tm.Energetic):
    """A moment that grows so fast with the load of the pin that it overflows."""

    n_reactions = 1

    def evaluate(self, motion, t, out):
        rate = motion.angular_velocity[1, 1] - motion.angular_velocity[0, 1]
        square = 1e-12
        for k in range(3):
            square += motion.reaction[0, k] * motion.reaction[0, k]
        moment = -1e-3 * exp(sqrt(square) / 100.0) * tanh(rate)
        out.moment[1, 1], out.moment[0, 1] = moment, -moment
        out.dissipated[0] = -moment * rate


def test_a_failed_evaluation_leaves_no_trace():
    system = tm.System("wild", gravity=(0, 0, -9.81))
    rod = system.body("rod", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0, 0))
    pin = system.connect("pin", tm.Revolute("y"), system.ground, rod)
    system.connect("rub", Wild(), pin)
    mech = system.build()
    good, wild = (mech.assemble(rates={"pin": rate}) for rate in (1.0, 500.0))
    want, drive = mech.forward_dynamics(good).ud, mech.inverse_dynamics(good, {"pin": 0.0}, ["pin"])
    for _ in range(2):
        with pytest.raises(tm.TreemechError, match="'rub'"):
            mech.forward_dynamics(wild)
        np.testing.assert_array_equal(mech.forward_dynamics(good).ud, want)
        with pytest.raises(tm.TreemechError, match="'rub'"):
            mech.inverse_dynamics(wild, {"pin": 0.0}, ["pin"])
        np.testing.assert_array_equal(mech.inverse_dynamics(good, {"pin": 0.0}, ["pin"]), drive)


def test_the_same_state_gives_the_same_digits():
    """The loads found last are no start: the answer is a function of the state."""
    mech = pendulum(0.4)
    rng = np.random.default_rng(3)
    states = [
        mech.assemble(fix={"pin": a, "elbow": b}, rates={"pin": c, "elbow": d})
        for a, b, c, d in rng.uniform(-2.0, 2.0, (6, 4))
    ]
    first = [mech.forward_dynamics(state).ud for state in states]
    for k in rng.permutation(6):
        np.testing.assert_array_equal(mech.forward_dynamics(states[k]).ud, first[k])


def test_the_hinge_must_be_named():
    system = tm.System("free")
    rod = system.body("rod", mass=2.0, inertia=(0.1, 0.2, 0.1), com=(0.5, 0, 0))
    system.connect("pin", tm.Revolute("y"), system.ground, rod)
    with pytest.raises(tm.ElementError, match="reaction_of="):
        system.connect("friction", Pin(0.1, 0.05, 1e-2), system.ground, rod)


def rubbing_four_bar(offset, follower, pivot, also=False):
    """Return a four-bar linkage about y with friction in a hinge and a coupler whose mass is off the plane, and a start.

    If `also`, there is friction in a second hinge, which is cut too.
    """
    system = tm.System("four-bar", gravity=(0.0, 0.0, -9.81))
    inertia = (0.1, 0.1, 0.1)
    crank = system.body("crank", 1.0, inertia, com=(0.5, 0, 0))
    coupler = system.body("coupler", 2.0, inertia, com=(0.7, offset, 0))
    rocker = system.body("rocker", 1.0, inertia, com=(0.6, 0, 0))
    A = system.connect("A", tm.Revolute("y"), system.ground, crank)
    system.connect("B", tm.Revolute("y"), crank.at((1.0, 0, 0)), coupler)
    system.connect("C", follower, coupler.at((2.0, 0, 0)), rocker.at((1.5, 0, 0)))
    D = system.connect("D", pivot, system.ground.at((2.0, 0, 0)), rocker)
    for hinge in (A, D) if also else (A,):
        system.connect(
            "rub" if hinge is A else "rub too", tm.Friction(0.1, radius=0.1, threshold=0.05), hinge
        )
    mech = system.build()
    return mech, mech.assemble(guess={"A": -0.8}, rates={"A": 1.0})


def test_friction_by_a_load_that_is_not_decided_is_told():
    """Plain revolutes leave open how they share what is across the plane: nothing if all is in it."""
    plain = tm.Revolute("y"), tm.Revolute("y")
    mech, start = rubbing_four_bar(0.2, *plain)
    with pytest.warns(UserWarning, match="element 'rub' depends on the load of 'A', part of which"):
        mech.simulate((0, 0.5), start)
    for decided in (rubbing_four_bar(0.0, *plain), rubbing_four_bar(0.2, tm.Ball(), tm.Cylindrical("y"))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            decided[0].simulate((0, 0.5), decided[1])


@pytest.mark.parametrize("offset", [0.0, 0.2])
def test_inverse_dynamics_sees_the_load_that_forward_dynamics_saw(offset):
    """Also where the load is not decided: with the coupler off the plane friction depends on the shares of the hinges."""
    mech, start = rubbing_four_bar(offset, tm.Revolute("y"), tm.Revolute("y"), also=True)
    driven = mech.mobility(start).suitable
    tau = np.where(np.isin(mech.speeds, driven), 3.0, 0.0)
    found = mech.inverse_dynamics(start, mech.forward_dynamics(start, tau).ud, actuated=driven)
    np.testing.assert_allclose(found, tau, rtol=0.0, atol=1e-11)
