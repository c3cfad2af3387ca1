"""Active elements in whole models: closed forms, energy, set-points, muscles as one element and as parts."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import treemech as tm

RUN = 1e-9  # a run at rtol 1e-12 next to its closed form, relative to the largest value
BALANCE = 1e-9  # work + change of energy + dissipated - supplied, relative to the largest of them


def rotor(element, inputs, inertia=0.02):
    """Return a wheel about z, driven by the element on its hinge."""
    system = tm.System("rotor", gravity=(0, 0, 0))
    wheel = system.body("wheel", 1.0, (inertia, inertia, inertia))
    hinge = system.connect("axle", tm.Revolute("z"), system.ground, wheel)
    system.connect("drive", element, hinge, inputs=inputs)
    return system


def sledge(element, inputs, start=0.0, mass=2.0):
    """Return a mass on the x axis, with the element between the origin and it."""
    system = tm.System("sledge", gravity=(0, 0, 0))
    body = system.body("mass", mass, (1, 1, 1))
    system.connect("rail", tm.Prismatic("x"), system.ground, body)
    system.connect("drive", element, system.ground, body, inputs=inputs)
    return system


def imbalance(run, name):
    """Return the largest error of an element's energy account, relative to its largest entry (at least 1 nJ)."""
    audit, energy = run.audit[name], run.element(name).energy
    entries = np.array([audit.work, energy - energy[0], audit.dissipated, -audit.supplied])
    return np.max(np.abs(entries.sum(axis=0))) / max(np.max(np.abs(entries)), 1e-9)


# ------------------------------------------------------------ hydraulic actuator
def test_a_hydraulic_actuator_pushes_a_mass_to_the_speed_its_friction_allows():
    area, damping, pressure, mass = 2e-3, 40.0, 5e4, 2.0
    mech = sledge(tm.HydraulicActuator(area, damping), {"pressure": pressure}, mass=mass).build()
    t = np.linspace(0.0, 0.3, 7)
    run = mech.simulate((0, 0.3), mech.state(q={"rail": 0.5}), rtol=1e-12, t_eval=t)
    final = area * pressure / damping
    assert_allclose(run.connection("rail").u, final * (1.0 - np.exp(-damping * t / mass)), atol=RUN * final)
    assert_allclose(run.element("drive").supplied, area * pressure * run.connection("rail").u, rtol=RUN)


# ------------------------------------------------------------ motor, servo
def test_a_motor_answers_a_voltage_step_with_the_closed_form():
    c, r, l, J, V = 0.1, 2.0, 0.05, 0.002, 12.0
    mech = rotor(tm.ElectricMotor(c, r, l), {"voltage": V}, J).build()
    t = np.linspace(0.0, 1.0, 21)
    run = mech.simulate((0, 1), rtol=1e-12, t_eval=t)
    s1, s2 = np.roots([J * l, J * r, c * c])
    speed = V / c * (1.0 - (s2 * np.exp(s1 * t) - s1 * np.exp(s2 * t)) / (s2 - s1))
    current = J * V / c**2 * s1 * s2 * (np.exp(s2 * t) - np.exp(s1 * t)) / (s2 - s1)
    assert_allclose(run.connection("axle").u, speed.real, atol=RUN * V / c)
    assert_allclose(run.element("drive").x[:, 0], current.real, atol=RUN * np.max(np.abs(current)))


def test_a_servo_goes_to_its_set_point_as_the_linear_system_does():
    b, c, r, l, J, goal = 6.0, 0.5, 2.0, 0.05, 0.02, 0.8
    mech = rotor(tm.PositionServo(b, c, r, l), {"setpoint": goal}, J).build()
    t = np.linspace(0.0, 4.0, 41)
    run = mech.simulate((0, 4), rtol=1e-12, t_eval=t)
    A = np.array([[0, 1, 0], [0, 0, c / J], [-b / l, -c / l, -r / l]])
    exact = np.array([goal + (expm(A * ti) @ [-goal, 0, 0])[0] for ti in t])
    assert_allclose(run.connection("axle").q, exact, atol=RUN)
    assert abs(run.connection("axle").q[-1] - goal) < 1e-3


@dataclass(frozen=True)
class PrintedMotor(tm.Energetic):
    """(3.5.7-8) as printed; F turns the hinge (way = 1) or acts on the element (way = -1)."""

    c: float
    r: float
    l: float
    b: float
    way: float
    n_ends = 0
    n_coordinates = 1
    n_deformations = 1
    n_states = 1
    input_names = ("i",)

    def effort(self, now, t, out):
        x, V = now.x[0], now.inputs[0] - self.b * now.deformation[0]
        out.effort[0] = -self.way * self.c * x
        out.rates[0] = (V - self.r * x + self.c * now.rate[0]) / self.l
        out.energy[0] = 0.5 * self.l * x * x
        out.dissipated[0] = self.r * x * x
        out.supplied[0] = V * x


def test_motor_and_servo_as_printed_make_energy_or_run_away():
    def run(b, way):
        mech = rotor(PrintedMotor(0.1, 2.0, 0.05, b, way), {"i": 1.0}).build()
        return mech.simulate((0, 2), rtol=1e-10, audit=True)

    assert imbalance(run(0.0, 1.0), "drive") > 0.01
    backwards, away = run(0.0, -1.0), run(3.0, -1.0)
    assert imbalance(backwards, "drive") < 1e-8 and backwards.connection("axle").q[-1] < 0.0
    assert abs(away.connection("axle").q[-1] - 1.0 / 3.0) > 1.0


# ------------------------------------------------------------ PID
PID = {"proportional": 4.0, "integral": 6.0, "derivative": 0.5, "filter": 0.02}


def test_a_pid_drive_inside_its_limit_is_the_linear_system_and_leaves_no_offset():
    J, goal, push = 0.05, 0.7, 0.3
    system = rotor(tm.Pid(**PID), {"setpoint": goal}, J)
    system.load("push", tm.Moment(z=push), system.bodies[1])
    mech = system.build()
    t = np.linspace(0.0, 6.0, 31)
    run = mech.simulate((0, 6), mech.assemble(rates={"axle": 0.4}), rtol=1e-12, t_eval=t)
    kp, ki, kd, tau = PID.values()
    A = np.array([[0, 1, 0, 0], [-kp / J, 0, 1 / J, -kd / J], [-ki, 0, 0, 0], [0, 1 / tau, 0, -1 / tau]])
    rest = np.array([goal, 0.0, -push, 0.0])  # where it all stands still
    start = np.array([0.0, 0.4, 0.0, 0.4])  # the filtered speed starts at the speed
    exact = np.array([rest + expm(A * ti) @ (start - rest) for ti in t])
    assert_allclose(run.connection("axle").q, exact[:, 0], atol=RUN)
    assert_allclose(run.element("drive").x, exact[:, 2:], atol=10 * RUN)
    assert abs(run.connection("axle").q[-1] - goal) < 1e-3


def test_a_pid_drive_at_its_limit_does_not_wind_up():
    J, goal, limit = 0.05, 2.0, 0.4

    def run(**more):
        mech = rotor(tm.Pid(**PID, limit=limit, **more), {"setpoint": goal}, J).build()
        return mech.simulate((0, 8), rtol=1e-11, t_eval=np.linspace(0, 8, 400))

    def right(t, y, tracking):
        kp, ki, kd, tau = PID.values()
        wanted = kp * (goal - y[0]) + y[2] - kd * y[3]
        load = np.clip(wanted, -limit, limit)
        return [y[1], load / J, ki * (goal - y[0]) + (load - wanted) / tracking, (y[1] - y[3]) / tau]

    held, wound = run(), run(tracking=1e9)
    for found, tracking in ((held, 4.0 / 6.0), (wound, 1e9)):
        exact = solve_ivp(
            right, (0, 8), [0, 0, 0, 0], "DOP853", found.t, rtol=1e-11, atol=1e-13, args=(tracking,)
        )
        assert_allclose(found.connection("axle").q, exact.y[0], atol=1e-7)  # kinks: both step over them
        assert np.max(np.abs(found.element("drive").load)) <= limit
    assert np.max(held.connection("axle").q) < np.max(wound.connection("axle").q) - 0.5


# ------------------------------------------------------------ muscle
MUSCLE = {"max_force": 1000.0, "optimal_length": 0.1, "tendon_length": 0.2}


def isometric(excitation, length):
    """Return the muscle at a fixed length, where it starts."""
    system = sledge(tm.Muscle(**MUSCLE), {"excitation": excitation})
    system.prescribe("rail", length)
    mech = system.build()
    return mech.simulate((0, 0.01), mech.assemble(), rtol=1e-10)


@pytest.mark.parametrize("excitation", [0.0, 0.1, 0.6, 1.0])
@pytest.mark.parametrize("fibre", [0.055, 0.08, 0.1, 0.125, 0.15])
def test_a_muscle_starts_on_its_isometric_curve(excitation, fibre):
    l = fibre / 0.1
    force = 1000.0 * (excitation * np.exp(-(((l - 1.0) / 0.67) ** 2)) + (max(l - 1.0, 0.0) / 0.6) ** 2)
    length = fibre + 0.2 * (1.0 + 0.04 * np.sqrt(force / 1000.0))
    found = isometric(excitation, length).element("drive")
    assert_allclose(found.effort, force, rtol=1e-8, atol=1e-9 * 1000.0)
    assert_allclose(found.x[:, 0], excitation, atol=1e-12)
    if force > 0.0:
        assert_allclose(found.x[:, 1], fibre, rtol=1e-9)


@pytest.mark.parametrize("length", [0.22, 0.26, 0.3, 0.34, 0.4])
@pytest.mark.parametrize("excitation", [0.02, 1.0])
def test_a_muscle_finds_its_equilibrium_at_any_length(length, excitation):
    run = isometric(excitation, length)
    fibre = run.element("drive").x[:, 1]
    assert np.max(np.abs(fibre - fibre[0])) < 1e-9


def forearm(composite, excitation):
    """Return a forearm lifted against gravity by a muscle, one element or three."""
    system = tm.System("forearm", gravity=(0, 0, -9.81))
    arm = system.body("arm", 2.0, (0.01, 0.02, 0.02), com=(0.15, 0, 0))
    system.connect("elbow", tm.Revolute("y"), system.ground, arm)
    muscle = tm.Muscle(**MUSCLE, damping=0.1)
    ends = system.ground.at((0, 0, 0.3)), arm.at((0.05, 0, 0))
    if not composite:
        system.connect("biceps", muscle, *ends, inputs={"excitation": excitation})
        return system
    whole = tm.Composite(ends=("origin", "insertion"), points={"n": 1}, viscous=("n",))
    contractile, parallel, tendon = muscle.parts()
    whole.connect("contractile", contractile, "origin", "n", inputs={"excitation": excitation})
    whole.connect("parallel", parallel, "origin", "n")
    whole.connect("tendon", tendon, "n", "insertion")
    system.connect("biceps", whole, *ends)
    return system


def test_a_composite_muscle_equals_the_hand_eliminated_equation():
    excitation = tm.Harmonic(amplitude=0.25, frequency=4.0, offset=0.3)
    t = np.linspace(0.0, 2.0, 81)
    runs = []
    for composite in (False, True):
        mech = forearm(composite, excitation).build()
        runs.append(mech.simulate((0, 2), mech.assemble(), rtol=1e-12, t_eval=t))
    one, three = runs
    assert np.ptp(one.connection("elbow").q) > 0.1
    assert_allclose(three.connection("elbow").q, one.connection("elbow").q, atol=1e-9)
    assert_allclose(
        three.connection("elbow").u,
        one.connection("elbow").u,
        atol=1e-9 * np.max(np.abs(one.connection("elbow").u)),
    )
    assert_allclose(three.element("biceps.tendon").effort, one.element("biceps").effort, atol=1e-9 * 1000.0)
    assert_allclose(three.element("biceps.contractile").deformation, one.element("biceps").x[:, 1], atol=1e-9)
    assert_allclose(three.element("biceps.contractile").x[:, 0], one.element("biceps").x[:, 0], atol=1e-9)


# ------------------------------------------------------------ path
def elbow_with_pulley(element, inputs=None):
    """Return a forearm on a cord from the shoulder through a via point round a cylinder at the elbow."""
    system = tm.System("elbow", gravity=(0, 0, -9.81))
    upper = system.body("upper", 2.0, (0.02, 0.02, 0.01), com=(0, 0, -0.15))
    lower = system.body("lower", 1.5, (0.01, 0.01, 0.005), com=(0, 0, -0.12))
    turned = np.array([[0, 1.0, 0], [0, 0, 1.0], [1.0, 0, 0]])  # its z axis along y
    system.connect("shoulder", tm.Revolute("y"), system.ground, upper)
    system.connect("elbow", tm.Revolute("y"), upper.at((0, 0, -0.3)), lower)
    system.connect(
        "cord", element, system.ground.at((0.05, 0.01, 0.05)), upper.at((0.04, 0, -0.1)), upper.at((0, 0, -0.3), turned),
        lower.at((0.03, -0.01, -0.1)), inputs=inputs,
    )  # fmt: skip
    return system


CORD = tm.Path(stiffness=200.0, damping=2.0, length=0.02, wraps={2: tm.WrapCylinder(0.045, side=-1)})
PULLED = tm.Path(actuated=True, wraps={2: tm.WrapSphere(0.045)})
MUSCLE_PATH = tm.MusclePath(
    max_force=120.0, optimal_length=0.15, tendon_length=0.22, wraps={2: tm.WrapCylinder(0.045, side=-1)}
)


def test_a_cord_that_lifts_off_its_cylinder_keeps_the_energy():
    mech = elbow_with_pulley(
        tm.Path(stiffness=800.0, length=0.3, wraps={2: tm.WrapCylinder(0.025, side=-1)})
    ).build()
    run = mech.simulate((0, 5), mech.assemble(fix={"shoulder": 0.2, "elbow": 0.9}), rtol=1e-12)
    on_pulley = np.linalg.norm(run.element("cord").force[:, 2], axis=1)
    assert np.any(on_pulley == 0.0) and np.any(on_pulley > 1.0)  # it leaves the cylinder and comes back
    total = run.energy.total
    assert np.max(np.abs(total - total[0])) < BALANCE * np.max(np.abs(run.energy.kinetic))


SWING = tm.Harmonic(amplitude=0.4, frequency=3.0, offset=0.5)
MODELS = {
    "HydraulicActuator": lambda: (sledge(tm.HydraulicActuator(2e-3, 5.0), {"pressure": tm.Harmonic(4e3, 5.0)}), {"rail": 1.0}),
    "ElectricMotor": lambda: (rotor(tm.ElectricMotor(0.1, 2.0, 0.05), {"voltage": tm.Harmonic(6.0, 4.0)}), {}),
    "PositionServo": lambda: (rotor(tm.PositionServo(3.0, 0.1, 2.0, 0.05), {"setpoint": SWING}), {}),
    "Actuator": lambda: (rotor(tm.Actuator(2.0, -1.0, 1.2), {"command": tm.Harmonic(0.5, 4.0)}), {}),
    "Pid": lambda: (rotor(tm.Pid(**PID), {"setpoint": SWING}), {}),
    "Muscle": lambda: (forearm(False, SWING), {}),
    "Composite": lambda: (forearm(True, SWING), {}),
    "Path": lambda: (elbow_with_pulley(CORD), {"elbow": 0.9}),
    "pulled Path": lambda: (elbow_with_pulley(PULLED, {"tension": tm.Harmonic(20.0, 3.0, offset=25.0)}), {"elbow": 0.9}),
    "MusclePath": lambda: (elbow_with_pulley(MUSCLE_PATH, {"excitation": SWING}), {"elbow": 0.3}),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_power_balance_closes_over_five_seconds(name):
    system, fixed = MODELS[name]()
    mech = system.build()
    run = mech.simulate((0, 5), mech.assemble(fix=fixed), rtol=1e-12, audit=True)
    assert run.success
    if "Path" in name:  # on the surface and off it
        assert 0.0 < np.mean(np.linalg.norm(run.element("cord").force[:, 2], axis=1) > 0.0) < 1.0
    for element in run.audit:
        assert imbalance(run, element) < BALANCE
    total = run.energy.total - run.energy.total[0]
    given = sum(a.supplied for a in run.audit.values())
    lost = sum(a.dissipated for a in run.audit.values())
    entries = np.array([total, lost, -given])
    assert np.max(np.abs(entries.sum(axis=0))) < BALANCE * max(
        np.max(np.abs(entries)), np.max(run.energy.kinetic)
    )


def test_missing_and_unknown_inputs_are_refused_by_name():
    with pytest.raises(tm.ElementError, match="'drive' \\(ElectricMotor\\) needs its input 'voltage'"):
        rotor(tm.ElectricMotor(), {})
    with pytest.raises(tm.ElementError, match="'drive' \\(ElectricMotor\\).*'volts'"):
        rotor(tm.ElectricMotor(), {"voltage": 1.0, "volts": 2.0})
    with pytest.raises(tm.TopologyError, match="input 'voltage' of element 'drive'.*'batery'"):
        rotor(tm.ElectricMotor(), {"voltage": "batery"}).build()


def three_cranks():
    """Return a coupler on three parallel cranks, one more than needed: rows are redundant.

    A motor has its current as a state.
    """
    system = tm.System("three cranks", gravity=(0, 0, -9.81))
    coupler = system.body("coupler", mass=2.0, inertia=(0.1, 0.1, 0.1))
    for k in range(3):
        crank = system.body(f"crank {k}", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.2, 0, 0))
        system.connect(f"A{k}", tm.Revolute("y"), system.ground.at((k, 0, 0)), crank)
        system.connect(f"B{k}", tm.Revolute("y"), crank.at((0.4, 0, 0)), coupler.at((k, 0, 0)))
    system.connect("motor", tm.ElectricMotor(2.0, 1.0, 0.5), "A0", inputs={"voltage": 30.0})
    return system.build()


def test_redundant_constraints_leave_the_states_of_elements_as_they_are_given():
    mech = three_cranks()
    state = mech.assemble(guess={f"A{k}": 0.3 for k in range(3)}, states={"motor": [4.0]})
    assert mech.mobility(state).redundant
    run = mech.simulate((0, 0.1), state, rtol=1e-9)
    assert run.element("motor").x[0, 0] == 4.0
    assert np.allclose(run.ud[0], mech.forward_dynamics(state).ud, rtol=1e-9)


def test_redundant_constraints_leave_the_turns_of_cut_hinges_as_they_are():
    mech = three_cranks()
    start = mech.assemble(guess={f"A{k}": 0.3 for k in range(3)}, rates={"A0": 12.0})
    whole = mech.simulate((0, 1.5), start, rtol=1e-10, t_eval=[0.0, 1.0, 1.5])
    assert abs(whole.connection("A0").q[1]) > 2 * np.pi
    rest = mech.simulate((1.0, 1.5), whole.state(1), rtol=1e-10, t_eval=[1.0, 1.5])
    for name in (c.name for c in mech._info.chords):
        assert np.allclose(rest.connection(name).q, whole.connection(name).q[1:], atol=1e-6)
    assert np.allclose(rest.element("motor").x, whole.element("motor").x[1:], atol=1e-6)
