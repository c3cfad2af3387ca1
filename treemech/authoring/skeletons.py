"""Elements to start from, one of each kind, with their tests: what `treemech new` writes, Mine renamed."""

HINGE = '''"""A hinge of your own: how end b can move relative to end a."""

from dataclasses import dataclass
from math import cos, sin

import treemech as tm


@dataclass(frozen=True)
class Mine(tm.Hinge):
    """Turn about the z axis of end a and rise along it, on a thread that gets steeper.

    Parameters
    ----------
    pitch : float [m/rad]
    growth : float [m/rad^2]
    """

    # The fields are the parameters: numbers, arrays or signals. With defaults `treemech check` can make one.
    pitch: float = 0.1
    growth: float = 0.02
    n_coordinates = 1

    def pose(self, q, t, offset, rotation):
        # Where end b is, in the base of end a. offset arrives as zero, rotation as the identity: write what differs.
        # All derivatives follow from these lines, exactly. Plain Python: numbers, loops, math functions.
        offset[2] = self.pitch * q[0] + self.growth * q[0] ** 2
        rotation[0, 0] = cos(q[0])
        rotation[0, 1] = -sin(q[0])
        rotation[1, 0] = sin(q[0])
        rotation[1, 1] = cos(q[0])
'''

HINGE_TEST = """
def test_energy_is_kept():
    system = tm.System("mine")
    nut = system.body("nut", mass=1.0, inertia=(0.01, 0.01, 0.02))
    system.connect("thread", Mine(), system.ground, nut)
    mech = system.build()
    run = mech.simulate((0, 1), mech.state(u={"thread": 2.0}), rtol=1e-10)
    assert run.success
    assert abs(run.energy.total - run.energy.total[0]).max() < 1e-7
"""

CONSTRAINT = '''"""A constraint of your own: equations on the position of end b relative to end a."""

from dataclasses import dataclass

import treemech as tm


@dataclass(frozen=True)
class Mine(tm.Constraint):
    """The point of end b stays on a bowl z = (x^2 + y^2) / (2 radius) of end a.

    Parameters
    ----------
    radius : float [m]
        Of the bowl at its lowest point.
    """

    # The fields are the parameters: numbers, arrays or signals. With defaults `treemech check` can make one.
    radius: float = 0.5
    n_holonomic = 1  # equations on position; n_nonholonomic: on velocity, in slip()

    def residual(self, offset, rotation, s, t, f):
        # f = 0, from where end b is (offset, rotation in the base of end a). All derivatives follow, exactly.
        # s: unknowns of the element itself, n_auxiliary of them.
        f[0] = offset[2] - (offset[0] ** 2 + offset[1] ** 2) / (2.0 * self.radius)
'''

CONSTRAINT_TEST = """
def test_a_ball_rolls_in_the_bowl():
    system = tm.System("mine")
    ball = system.body("ball", mass=1.0, inertia=(0.01, 0.01, 0.01))
    system.connect("free", tm.Translation(), system.ground, ball)
    system.connect("bowl", Mine(), system.ground, ball)
    mech = system.build()
    start = mech.assemble(guess={"free": [0.3, 0.0, 0.09]}, rates={"free[1]": 0.5})
    run = mech.simulate((0, 1), start, rtol=1e-10)
    x, y, z = run.body("ball").position.T
    assert abs(z - (x**2 + y**2)).max() < 1e-9
    assert abs(run.energy.total - run.energy.total[0]).max() < 1e-7
"""

COUPLING = '''"""A coupling of your own: equations between coordinates of hinges."""

from dataclasses import dataclass

import treemech as tm


@dataclass(frozen=True)
class Mine(tm.Coupling):
    """A gear whose ratio grows with the angle: q_b = ratio q_a + growth q_a^2.

    Parameters
    ----------
    ratio : float
    growth : float [1/rad]
    """

    # The fields are the parameters: numbers, arrays or signals. With defaults `treemech check` can make one.
    ratio: float = 0.5
    growth: float = 0.1
    n_arguments = 2  # coordinates it joins; None: as many as it is given
    n_holonomic = 1  # equations on coordinates; n_nonholonomic: on speeds, in slip()

    def residual(self, q, t, f):
        # f = 0, in the order of system.couple("name", Mine(), "A", "B"). All derivatives follow, exactly.
        f[0] = q[1] - self.ratio * q[0] - self.growth * q[0] ** 2
'''

COUPLING_TEST = """
def test_the_wheels_keep_their_relation():
    system = tm.System("mine", gravity=(0, 0, 0))
    a, b = (system.body(name, mass=1.0, inertia=(1, 1, 1)) for name in "ab")
    system.connect("A", tm.Revolute("z"), system.ground, a)
    system.connect("B", tm.Revolute("z"), system.ground, b)
    system.couple("gear", Mine(), "A", "B")
    mech = system.build()
    start = mech.assemble(rates={"A": 1.0})
    run = mech.simulate((0, 1), start, rtol=1e-10)
    qa, qb = run.connection("A").q, run.connection("B").q
    assert abs(qb - 0.5 * qa - 0.1 * qa**2).max() < 1e-9
"""

SPRING = '''"""An energetic element of your own: a load between ends, with the energy it stores and the power it dissipates."""

from dataclasses import dataclass
from math import sqrt

import treemech as tm


@dataclass(frozen=True)
class Mine(tm.Energetic):
    """A spring that gets stiffer, with a damper, between two points: tension k e + c e^3 + d e'.

    Parameters
    ----------
    stiffness : float [N/m]
    hardening : float [N/m^3]
    damping : float [N s/m]
    length : float [m]
        Without tension.
    """

    # The fields are the parameters: numbers, arrays or signals. With defaults `treemech check` can make one.
    stiffness: float = 100.0
    hardening: float = 500.0
    damping: float = 1.0
    length: float = 0.5
    n_ends = 2  # the default; None: as many as it is given
    n_deformations = 1

    def deformation(self, position, rotation, t, eps):
        # From the points (n, 3) and bases (n, 3, 3) of its ends in the world. Its rate and the loads on the bodies follow.
        x = position[1, 0] - position[0, 0]
        y = position[1, 1] - position[0, 1]
        z = position[1, 2] - position[0, 2]
        eps[0] = sqrt(x * x + y * y + z * z) - self.length

    def effort(self, now, t, out):
        # The effort on the element, positive where it does work as the deformation grows: what pulls a spring apart.
        e, rate = now.deformation[0], now.rate[0]
        out.effort[0] = self.stiffness * e + self.hardening * e**3 + self.damping * rate
        # Power to the bodies + energy' + dissipated - supplied = 0: `treemech check` holds it to this.
        out.energy[0] = 0.5 * self.stiffness * e**2 + 0.25 * self.hardening * e**4
        out.dissipated[0] = self.damping * rate**2
'''

SPRING_TEST = """
def test_it_carries_a_weight():
    system = tm.System("mine")
    weight = system.body("weight", mass=1.0, inertia=(0.01, 0.01, 0.01))
    system.connect("rail", tm.Prismatic("z"), system.ground, weight)
    system.connect("spring", Mine(damping=20.0), system.ground, weight)
    mech = system.build()
    run = mech.simulate((0, 10), mech.state(q={"rail": -0.55}), rtol=1e-9)
    assert abs(run.element("spring").effort[-1] - 9.81) < 1e-6


def test_without_damping_energy_is_kept():
    system = tm.System("mine")
    weight = system.body("weight", mass=1.0, inertia=(0.01, 0.01, 0.01))
    system.connect("rail", tm.Prismatic("z"), system.ground, weight)
    system.connect("spring", Mine(damping=0.0), system.ground, weight)
    mech = system.build()
    run = mech.simulate((0, 1), mech.state(q={"rail": -0.6}), rtol=1e-10)
    assert abs(run.energy.total - run.energy.total[0]).max() < 1e-7
"""

ACTIVE = '''"""An active element of your own: inputs from outside and states of its own."""

from dataclasses import dataclass

import treemech as tm


@dataclass(frozen=True)
class Mine(tm.Energetic):
    """A drive on a hinge coordinate whose torque follows its command with a lag, and tires.

    States x: torque [N m] and fatigue (0 to 1)::

        x0' = (command (1 - x1) - x0) / lag          x1' = tiring |x0| - recovery x1

    Parameters
    ----------
    lag : float [s]
    tiring : float [1/(N m s)]
    recovery : float [1/s]
    """

    # The fields are the parameters: numbers, arrays or signals. With defaults `treemech check` can make one.
    lag: float = 0.05
    tiring: float = 0.1
    recovery: float = 0.2
    n_ends = 0  # it acts on a hinge: system.connect("drive", Mine(), hinge, inputs={"command": 2.0})
    n_coordinates = n_deformations = 1
    n_states = 2
    input_names = ("command",)

    def initial(self):
        return [0.0, 0.0]

    def effort(self, now, t, out):
        # now.deformation, now.rate: coordinate and speed of the hinge. The effort acts on the element, its opposite
        # on the hinge: a drive that pushes with the torque x0 has the effort -x0.
        out.effort[0] = -now.x[0]
        out.rates[0] = (now.inputs[0] * (1.0 - now.x[1]) - now.x[0]) / self.lag
        out.rates[1] = self.tiring * abs(now.x[0]) - self.recovery * now.x[1]
        # Power to the bodies + energy' + dissipated - supplied = 0: what it gives comes from outside.
        out.supplied[0] = now.x[0] * now.rate[0]
'''

ACTIVE_TEST = """
def test_its_torque_follows_the_command():
    system = tm.System("mine", gravity=(0, 0, 0))
    wheel = system.body("wheel", mass=1.0, inertia=(1, 1, 1))
    hinge = system.connect("axle", tm.Revolute("z"), system.ground, wheel)
    system.connect("drive", Mine(tiring=0.0), hinge, inputs={"command": 2.0})
    run = system.build().simulate((0, 1), rtol=1e-9)
    torque, speed = run.element("drive").x[-1, 0], run.connection("axle").u[-1]
    assert abs(torque - 2.0 * (1.0 - exp(-1.0 / 0.05))) < 1e-6
    assert abs(speed - (2.0 - 0.05 * torque)) < 1e-6
"""

LOAD = '''"""An external load of your own: a force and a moment on a body, from outside the system."""

from dataclasses import dataclass
from math import sqrt

import treemech as tm


@dataclass(frozen=True)
class Mine(tm.Load):
    """Drag of a sphere in still air, against its velocity and with its square.

    Parameters
    ----------
    factor : float [kg/m]
        Half the density times the area times the drag coefficient.
    """

    # The fields are the parameters: numbers, arrays or signals. With defaults `treemech check` can make one.
    factor: float = 0.1

    def evaluate(self, end, t, load):
        # From position, rotation, velocity, angular_velocity of the loaded end: force and moment, world components.
        v = end.velocity
        speed = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        for k in range(3):
            load.force[k] = -self.factor * speed * v[k]
'''

LOAD_TEST = """
def test_a_falling_body_reaches_its_speed():
    system = tm.System("mine")
    drop = system.body("drop", mass=1.0, inertia=(0.01, 0.01, 0.01))
    system.connect("free", tm.Translation(), system.ground, drop)
    system.load("drag", Mine(), drop)
    run = system.build().simulate((0, 10), rtol=1e-9)
    assert abs(run.body("drop").velocity[-1, 2] + sqrt(9.81 / 0.1)) < 1e-3
"""

SKELETONS = {
    "hinge": (HINGE, HINGE_TEST, ""),
    "constraint": (CONSTRAINT, CONSTRAINT_TEST, ""),
    "coupling": (COUPLING, COUPLING_TEST, ""),
    "spring": (SPRING, SPRING_TEST, ""),
    "active": (ACTIVE, ACTIVE_TEST, "from math import exp\n\n"),
    "load": (LOAD, LOAD_TEST, "from math import sqrt\n\n"),
}

TEST_HEAD = '''"""Tests of mine.py: run `pytest`."""

{imports}import treemech as tm
from mine import Mine


def test_it_keeps_its_contract():
    tm.check(Mine())

'''
