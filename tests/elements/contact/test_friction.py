"""Friction in hinges: sliding as Coulomb says, sticking without creep, normal load given or that of the hinge."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import treemech as tm
from tests.support.balance import assert_balance

MASS, G = 3.0, 9.81


def incline(slope, element, force=None):
    """A block on a slope, z axis of the hinge downhill."""
    system = tm.System("incline", gravity=(0, 0, -G))
    block = system.body("block", mass=MASS, inertia=(1, 1, 1))
    downhill = (np.cos(slope), 0, -np.sin(slope))
    way = system.connect("way", tm.Prismatic(downhill), system.ground, block)
    system.connect("friction", element, way)
    if force is not None:
        system.load("push", tm.Force(*force), block)
    return system.build()


def normal(slope):
    return MASS * G * np.cos(slope)


@pytest.mark.parametrize("given", [True, False])
def test_block_slides_down_as_coulomb_says(given):
    slope, mu = 0.7, 0.3
    mech = incline(slope, tm.Friction(mu, load=normal(slope) if given else None, threshold=1e-6))
    run = mech.simulate((0, 1), mech.assemble(rates={"way": 1.0}), rtol=1e-10, audit=True)
    a = G * (np.sin(slope) - mu * np.cos(slope))
    assert_allclose(run.connection("way").u, 1.0 + a * run.t, rtol=1e-4 if not given else 1e-8)
    energy = run.energy.total + run.audit["friction"].dissipated
    assert_allclose(energy, energy[0], atol=1e-8)


@pytest.mark.parametrize("given", [True, False])
def test_block_sticks_on_an_incline(given):
    """Below the static limit it moves by less than the presliding displacement, and then not at all."""
    slope = np.arctan(0.33)
    load = normal(slope) if given else None
    mech = incline(slope, tm.BristleFriction(0.3, static=0.4, load=load, presliding=1e-4, damping=60.0))
    t = np.array([0.0, 1.0, 2.5, 5.0])
    run = mech.simulate((0, 5), mech.assemble(), t_eval=t, rtol=1e-8, atol=1e-12)
    q = run.connection("way").q
    assert 0.5e-4 < q[1] < 1e-4
    assert np.ptp(q[1:]) < 1e-9


def test_block_breaks_loose_above_the_static_limit():
    slope = np.arctan(0.42)
    mech = incline(slope, tm.BristleFriction(0.3, static=0.4, load=normal(slope)))
    run = mech.simulate((0, 1), mech.assemble(), rtol=1e-8)
    u = run.connection("way").u
    late = u > 0.5  # sliding: the Stribeck effect is over
    a = G * (np.sin(slope) - 0.3 * np.cos(slope))
    assert np.count_nonzero(late) > 2
    assert_allclose(np.diff(u[late]) / np.diff(run.t[late]), a, rtol=1e-3)


def creep(elastic):
    """How far a block on a slope has gone after 2 s of shaking below the limit, from 0.5 s on."""
    slope = 0.2
    shake = tm.Harmonic(amplitude=0.12 * normal(slope), frequency=60.0)
    element = tm.BristleFriction(0.4, load=normal(slope), elastic=elastic, presliding=1e-4)
    mech = incline(slope, element, force=(shake, 0.0, 0.0))
    t = 0.5 + 2 * np.pi / 60.0 * np.arange(15)
    q = mech.simulate((0, 3), mech.assemble(), t_eval=t, rtol=1e-8, atol=1e-12).connection("way").q
    return q[-1] - q[0]


def test_shaking_does_not_make_it_creep():
    """LuGre's bristles (elastic = 0) creep under shaking; elasto-plastic ones do not."""
    assert abs(creep(0.9)) < 1e-8
    assert creep(0.0) > 1e-6


def test_it_breaks_loose_at_the_static_force():
    system = tm.System("pulled", gravity=(0, 0, 0))
    block = system.body("block", mass=MASS, inertia=(1, 1, 1))
    way = system.connect("way", tm.Prismatic("x"), system.ground, block)
    system.connect("friction", tm.BristleFriction(0.3, static=0.5, load=100.0, presliding=1e-5), way)
    system.load("pull", tm.Force(lambda t: 10.0 * t, 0.0, 0.0), block)
    mech = system.build()
    t = np.linspace(0, 6, 601)
    q = mech.simulate((0, 6), mech.assemble(), t_eval=t, rtol=1e-8, atol=1e-12).connection("way").q
    loose = t[np.argmax(q > 2e-5)]
    assert loose == pytest.approx(5.0, rel=0.02)  # 0.5 x 100 N at 10 N/s


@pytest.mark.parametrize("element", [tm.Friction, tm.BristleFriction])
def test_a_flywheel_runs_down_linearly(element):
    system = tm.System("flywheel", gravity=(0, 0, 0))
    wheel = system.body("wheel", mass=5.0, inertia=(0.1, 0.1, 0.2))
    axle = system.connect("axle", tm.Revolute("z"), system.ground, wheel)
    system.connect("friction", element(0.2, radius=0.03, load=40.0), axle)
    mech = system.build()
    run = mech.simulate((0, 5), mech.assemble(rates={"axle": 10.0}), rtol=1e-9, t_eval=np.linspace(1, 5, 9))
    want = 10.0 - 0.2 * 0.03 * 40.0 / 0.2 * run.t
    assert_allclose(run.connection("axle").u, want, rtol=1e-4)


@pytest.mark.parametrize("load", [None, 40.0])
def test_the_hinge_may_be_given_by_its_name(load, tmp_path):
    def wheels(handle):
        system = tm.System("flywheel")
        wheel = system.body("wheel", mass=5.0, inertia=(0.1, 0.1, 0.2))
        axle = system.connect("axle", tm.Revolute("y"), system.ground, wheel)
        system.connect("friction", tm.Friction(0.2, radius=0.03, load=load), axle if handle else "axle")
        return system

    systems = wheels(True), wheels(False), tm.read(wheels(False).save(tmp_path / "wheels.json"))
    mechs = [system.build() for system in systems]
    runs = [mech.simulate((0, 1), mech.assemble(rates={"axle": 10.0})) for mech in mechs]
    assert runs[0].connection("axle").u[-1] < 10.0
    assert all(np.array_equal(run.u, runs[0].u) for run in runs)


def test_pin_friction_follows_the_load_of_the_pin():
    """A swinging rod: the moment is mu radius |force of the pin|, in every position."""
    system = tm.System("pendulum", gravity=(0, 0, -G))
    rod = system.body("rod", mass=2.0, inertia=(0.1, 0.2, 0.1), com=(0.5, 0, 0))
    pin = system.connect("pin", tm.Revolute("y"), system.ground, rod)
    system.connect("friction", tm.Friction(0.3, radius=0.05, threshold=1e-4), pin)
    mech = system.build()
    run = mech.simulate((0, 1.5), mech.assemble(rates={"pin": 1.0}), rtol=1e-9, audit=True)
    force, u = run.connection("pin").force, run.connection("pin").u
    moment = run.element("friction").moment[:, 1, 1]
    slip = 0.05 * u
    want = -0.3 * 0.05 * np.linalg.norm(force, axis=1) * slip / np.sqrt(slip**2 + 1e-8)
    assert_allclose(moment, want, atol=1e-3 * np.abs(want).max())  # the load is rounded off by 1e-3 N
    energy = run.energy.total + run.audit["friction"].dissipated
    assert_allclose(energy, energy[0], atol=1e-6 * np.ptp(run.energy.kinetic))


def test_ball_friction_opposes_the_relative_rotation():
    element = tm.Friction(0.2, radius=0.1, load=50.0, threshold=1e-9)
    rng = np.random.default_rng(3)
    from tests.support.balance import random_motion

    motion = random_motion(element, rng, 0.0)
    w = motion.angular_velocity[1] - motion.angular_velocity[0]
    assert_allclose(element.at(motion).moment[1], -0.2 * 50.0 * 0.1 * w / np.linalg.norm(w), rtol=1e-9)


def loads(motion, rng):
    motion.reaction[:] *= 20.0
    return motion


def bent(motion, rng):
    """Bristles within their full bend, slip over some decades."""
    motion.x[:] = rng.uniform(-1, 1, 3) / np.sqrt(3) * 1e-4
    for v in (motion.velocity, motion.angular_velocity):
        v *= 10.0 ** rng.uniform(-4, 0)
    return loads(motion, rng)


@pytest.mark.parametrize("load", [None, lambda t: 5.0 + t * t])
@pytest.mark.parametrize("radius", [0.0, 0.2])
def test_power_balance(load, radius):
    assert_balance(tm.Friction(0.3, static=0.5, load=load, radius=radius, viscous=0.1, span=0.2), loads)
    hard = tm.BristleFriction(0.3, static=0.5, load=load, radius=radius, damping=8 * 0.3 / 0.01)
    assert_balance(hard, bent)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: tm.Friction(0.0), "Friction.coulomb"),
        (lambda: tm.Friction(0.3, static=0.2), "at least coulomb"),
        (lambda: tm.Friction(0.3, load=-1.0), "Friction.load"),
        (lambda: tm.Friction(0.3, radius=-1.0), "Friction.radius"),
        (lambda: tm.BristleFriction(0.3, damping=1000.0), "gain energy"),
        (lambda: tm.BristleFriction(0.3, elastic=1.0), "BristleFriction.elastic"),
        (lambda: tm.BristleFriction(0.3, presliding=0.0), "BristleFriction.presliding"),
    ],
)
def test_bad_numbers_are_named(make, message):
    with pytest.raises(tm.ElementError, match=message):
        make()


def test_a_body_by_its_name_is_refused_as_a_body():
    system = tm.System("pair")
    system.body("block", mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(tm.TopologyError, match="'spring' .* 'block' is a name. Pass the body itself"):
        system.connect("spring", tm.Spring(1.0), "block", system.ground)
