"""Power balance over a run: what elements store, lose and are supplied with adds up, element by element."""

import numpy as np
import pytest

import treemech as tm
from tests.support import driven

RNG = np.random.default_rng(2)
ROOT = RNG.normal(size=(6, 6))


def fairground():
    """Return one of each smooth passive element in one model: a chain of bodies, three free ones, a wheel."""
    system = tm.System("fairground", gravity=(0, 0, -9.81))
    ground = system.ground
    arm = system.body("arm", mass=2.0, inertia=(0.1, 0.3, 0.3), com=(0.5, 0, 0))
    fore = system.body("fore", mass=1.0, inertia=(0.1, 0.2, 0.2), com=(0.4, 0, 0))
    system.connect("A", tm.Revolute("y"), ground, arm)
    B = system.connect("B", tm.Revolute("x"), arm.at((1, 0, 0)), fore)
    free = [system.body(f"free {k}", mass=1.0, inertia=(0.2, 0.2, 0.3)) for k in range(3)]
    for k, body in enumerate(free):
        system.connect(f"F{k}", tm.Free(), ground, body)
    beam = dict(
        length=1.0,
        axial_stiffness=500.0,
        bending_stiffness=(20.0, 30.0),
        torsion_stiffness=10.0,
        damping=0.01,
    )
    system.connect(
        "spring",
        tm.Spring(stiffness=80.0, damping=0.4, length=0.7, force=tm.Harmonic(5.0, 3.0)),
        arm.at((0.6, 0, 0)),
        ground.at((0, 1, 1)),
    )
    table = [(0.5, -30.0), (1.0, -5.0), (1.6, 0.0), (2.0, 30.0), (3.0, 60.0)]
    system.connect("table", tm.TableSpring(table, damping=0.2), fore.at((0.8, 0, 0)), ground.at((1, -1, 1)))
    system.connect(
        "rotational", tm.RotationalSpring(stiffness=6.0, damping=0.1, torque=tm.Harmonic(2.0, 5.0)), B
    )
    system.connect(
        "bushing", tm.Bushing(30 * ROOT @ ROOT.T, damping=np.full(6, 0.3)), ground.at((-1, 0, 0)), free[0]
    )
    system.connect("beam", tm.Beam(**beam), free[0], free[1].at((0.1, 0, 0)))
    system.connect("corotational", tm.CorotationalBeam(**beam), free[1], free[2])
    triangle = [(0, 0), (1.0, 0.0), (0.5, 0.8)]
    system.connect(
        "sheet",
        tm.PlaneElement(triangle, 300.0, 0.3, 1.0, damping=0.01),
        free[0].at((0, 0.5, 0)),
        free[1].at((0, 0.5, 0)),
        free[2].at((0, 1.0, 0)),
    )
    system.load("drag", tm.Drag(linear=0.2, wind_y=2.0), fore.at((0.8, 0, 0)))
    system.load(
        "push", tm.ForceFunction(lambda t, q, u: (q[0], 0.1 * u[1], 1.0)), arm.at((1, 0, 0)), "A", "B"
    )
    mech = system.build()
    poses = {f"free {k}": (-1.0 + k, 0.0, 0.0) for k in range(3)}
    return mech, mech.assemble(
        guess={"A": 0.3}, poses=poses, rates={"B": 1.0, "F2": (0.1, 0.5, -0.4, 1.0, 0.2, 0.3)}
    )


def workshop():
    """Return one of each smooth element with states, inputs, laws or a path, in one model."""
    system = tm.System("workshop", gravity=(0, 0, -9.81))
    ground = system.ground
    hinges, arms = [], []
    for k in range(5):
        arm = system.body(f"arm {k}", mass=1.0 + k, inertia=(0.1, 0.3, 0.3), com=(0.4, 0, 0))
        hinges.append(system.connect(f"H{k}", tm.Revolute("y"), ground.at((0, k, 0)), arm))
        system.connect(f"hold {k}", tm.RotationalSpring(stiffness=20.0 + 5 * k, damping=0.3), hinges[k])
        arms.append(arm)
    tip = [arm.at((0.8, 0, 0)) for arm in arms]
    above = [ground.at((0.5, k, 1.2)) for k in range(5)]
    system.connect(
        "viscoelastic", tm.Viscoelastic(20.0, [30.0, 10.0], [0.2, 2.0], length=1.0), above[0], tip[0]
    )
    system.connect(
        "fung", tm.Fung(40.0, [0.3, 0.2], [0.1, 1.0], length=1.0, stiffening=1.5), above[1], tip[1]
    )
    system.connect("softening", tm.RambergOsgood(300.0, 50.0, length=1.0, exponent=3.0), above[2], tip[2])
    system.connect(
        "cylinder",
        tm.HydraulicActuator(1e-3, 20.0),
        above[3],
        tip[3],
        inputs={"pressure": tm.Harmonic(1e4, 2.0)},
    )
    system.connect("muscle", tm.Muscle(max_force=60.0, optimal_length=0.6, tendon_length=0.6), above[4], tip[4],
                   inputs={"excitation": tm.Harmonic(0.3, 2.0, offset=0.5)})  # fmt: skip
    system.connect(
        "motor", tm.ElectricMotor(0.8, 2.0, 0.05), hinges[0], inputs={"voltage": tm.Harmonic(8.0, 3.0)}
    )
    system.connect(
        "servo", tm.PositionServo(5.0, 0.8, 2.0, 0.05), hinges[1], inputs={"setpoint": tm.Harmonic(0.3, 1.0)}
    )
    system.connect(
        "pid", tm.Pid(20.0, 5.0, 2.0, filter=0.05), hinges[2], inputs={"setpoint": tm.Harmonic(0.2, 2.0)}
    )
    system.connect(
        "friction",
        tm.Friction(0.1, radius=0.05, load=tm.Harmonic(5.0, 2.0, offset=20.0), threshold=0.05),
        hinges[3],
    )
    system.connect("cord", tm.Path(stiffness=30.0, damping=0.2, length=0.5), above[0], tip[1], above[2])
    series = tm.Composite(ends=("a", "b"), points={"n": 1}, viscous=["n"])
    series.connect("damper", tm.Spring(stiffness=30.0, damping=8.0, length=0.5), "a", "n")
    series.connect("spring", tm.Spring(stiffness=80.0, length=0.4), "n", "b")
    system.connect("composite", series, above[3], tip[4])
    mech = system.build()
    return mech, mech.assemble(guess={"H0": 0.3, "H2": -0.2}, rates={"H1": 0.5, "H4": -0.4})


@pytest.mark.parametrize("model", [fairground, workshop])
def test_balance_of_smooth_elements_closes_over_five_seconds(model):
    mech, state = model()
    run = mech.simulate((0, 5), state, rtol=1e-11, atol=1e-12, audit=True, t_eval=np.linspace(0, 5, 11))
    assert run.success, run.message
    work, total, size = 0.0, 0.0, 0.0
    for name, audit in run.audit.items():
        stored = run.element(name).energy - run.element(name).energy[0]
        terms = np.array([audit.work, stored, audit.dissipated, -audit.supplied])
        assert np.abs(terms).max() > 1e-3, name
        if not name.startswith("composite"):  # the parts of a composite balance together
            assert np.abs(terms.sum(axis=0)).max() < 1e-9 * max(np.abs(terms).max(), 1.0), name
        work, total, size = work + audit.work, total + terms.sum(axis=0), max(size, np.abs(terms).max())
    assert np.abs(total).max() < 1e-9 * size
    mechanical = run.energy.total - sum(run.element(n).energy for n in run.audit)
    assert np.abs(mechanical - mechanical[0] - work).max() < 1e-9 * np.abs(work).max()


def test_balance_of_elements_with_corners_closes():
    """A damped rope, a bouncing ball with friction, a tire, friction by the load of its own hinge."""
    system = tm.System("corners", gravity=(0, 0, -9.81))
    rod = system.body("rod", mass=1.0, inertia=(0.01, 0.1, 0.1), com=(0.5, 0, 0))
    pin = system.connect("pin", tm.Revolute("y"), system.ground, rod)
    system.connect("friction", tm.Friction(0.2, radius=0.05, threshold=1e-2), pin)
    rope = tm.Spring(stiffness=40.0, damping=0.5, length=0.7, only="tension")
    system.connect("rope", rope, rod.at((1, 0, 0)), system.ground.at((1, 0, 0.5)))
    ball = system.body("ball", mass=1.0, inertia=(0.004, 0.004, 0.004))
    system.connect("flight", tm.Free(), system.ground, ball)
    touch = tm.SpherePlane(0.1, stiffness=1e5, damping=0.1, friction=0.3, slip_speed=1e-2)
    system.connect("bounce", touch, system.ground.at((0, 3, -2)), ball)
    wheel = system.body("wheel", mass=10.0, inertia=(0.4, 0.4, 0.8))
    system.connect(
        "roll", tm.Free(), system.ground.at((0, -3, 0.29), [[1, 0, 0], [0, 0, -1], [0, 1, 0]]), wheel
    )
    tire = tm.Tire(0.3, stiffness=2e4, damping=100.0, longitudinal=3e3, lateral=2e3)
    system.connect("tire", tire, system.ground.at((0, -3, 0)), wheel)
    mech = system.build()
    state = mech.assemble(
        fix={"pin": -0.5, "flight": (0, 3, -1.5, 1, 0, 0, 0)},
        rates={"flight": (0.5, 0, 0, 0, 3.0, 0), "roll": (2.0, 0, 0, 0, 0, -3.0)},
    )
    run = mech.simulate((0, 2), state, rtol=1e-9, audit=True)
    assert run.success, run.message
    for name, audit in run.audit.items():
        stored = run.element(name).energy - run.element(name).energy[0]
        terms = np.array([audit.work, stored, audit.dissipated, -audit.supplied])
        assert np.abs(terms).max() > 1e-2, name
        assert np.abs(terms.sum(axis=0)).max() < 1e-6 * max(np.abs(terms).max(), 1.0), name


def test_balance_of_one_sided_elements_closes():
    """A rope and stops: the load has corners, the balance does not suffer much."""
    system = tm.System("stops", gravity=(0, 0, -9.81))
    rod = system.body("rod", mass=1.0, inertia=(0, 0.1, 0.1), com=(0.5, 0, 0))
    A = system.connect("A", tm.Revolute("y"), system.ground, rod)
    system.connect("stop", tm.HingeStop(lower=-0.8, upper=0.3, stiffness=3e3, damping=0.2), A)
    system.connect(
        "rope",
        tm.Spring(stiffness=40.0, length=0.7, only="tension"),
        rod.at((1, 0, 0)),
        system.ground.at((1, 0, 0.5)),
    )
    mech = system.build()
    run = mech.simulate((0, 5), mech.state(u={"A": 4.0}), rtol=1e-10, atol=1e-12, audit=True)
    for name, audit in run.audit.items():
        terms = np.array([audit.work, run.element(name).energy, audit.dissipated])
        assert np.abs(terms).max() > 0.1, name
        assert np.abs(terms.sum(axis=0) - terms[:, 0].sum()).max() < 1e-6 * np.abs(terms).max()


def test_balance_of_bristles_oil_films_and_colliding_balls_closes():
    system = tm.System("more corners", gravity=(0, 0, -9.81))
    rod = system.body("rod", mass=1.0, inertia=(0.01, 0.1, 0.1), com=(0.5, 0, 0))
    pin = system.connect("pin", tm.Revolute("y"), system.ground, rod)
    system.connect("bristles", tm.BristleFriction(0.3, radius=0.05, load=20.0), pin)
    shaft = system.body("shaft", mass=2.0, inertia=(0.01, 0.01, 0.01))
    system.connect("float", tm.Planar("z"), system.ground.at((0, 5, 0)), shaft)
    system.connect("bearing", tm.JournalBearing(0.02, 0.02, 2e-4, 0.05), system.ground.at((0, 5, 0)), shaft)
    balls = [system.body(f"ball {k}", mass=1.0, inertia=(0.004, 0.004, 0.004)) for k in range(2)]
    for k, ball in enumerate(balls):
        system.connect(f"flight {k}", tm.Free(), system.ground.at((0.25 * k, -5, 0)), ball)
    touch = tm.SphereSphere(0.1, 0.1, stiffness=1e5, damping=0.1, friction=0.2, slip_speed=1e-2)
    system.connect("clash", touch, *balls)
    disks = [system.body(f"disk {k}", mass=1.0, inertia=(0.01, 0.01, 0.01)) for k in range(2)]
    for k, disk in enumerate(disks):
        system.connect(f"axle {k}", tm.Revolute("z"), system.ground.at((0.03 * k, 8, 0)), disk)
    system.connect("film", tm.EhdTraction(radius=0.012, width=0.014, curvature=1 / 0.018, load=200.0), *disks)
    mech = system.build()
    rates = {"axle 0": 20.0, "pin": 3.0, "float": (0, 0, 30.0), "flight 0": (1.0, 0.05, 0, 0, 0, 2.0)}
    run = mech.simulate((0, 0.5), mech.assemble(rates=rates), rtol=1e-9, audit=True)
    assert run.success, run.message
    for name, audit in run.audit.items():
        stored = run.element(name).energy - run.element(name).energy[0]
        terms = np.array([audit.work, stored, audit.dissipated, -audit.supplied])
        assert np.abs(terms).max() > 1e-2, name
        assert np.abs(terms.sum(axis=0)).max() < 1e-6 * max(np.abs(terms).max(), 1.0), name


def test_an_audit_of_a_mechanism_without_elements_is_empty():
    system = tm.System("pendulum", gravity=(0, 0, -9.81))
    system.connect("A", tm.Revolute("y"), system.ground, system.body("bob", 1.0, (0, 0, 0), com=(0, 0, -1)))
    assert system.build().simulate((0, 1), audit=True).audit == {}


def test_calls_after_an_audited_run_are_those_before_it():
    """The numbers of the audit stayed in the state of the model: a batch could not be made."""
    mech, state = driven.rubbing(0)
    ahead, stepper = mech.step(state, 0.01), mech.stepper(state, 0.01)
    mech.simulate((0, 0.1), state, audit=True)
    assert np.array_equal(mech.batch(3, state).q, np.tile(state.q, (3, 1)))
    assert np.array_equal(mech.step(state, 0.01).q, ahead.q)
    mech.simulate((0, 0.1), state, audit=True)
    assert np.array_equal(stepper.step().q, ahead.q)
