"""Springs and stops on hinge coordinates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

import treemech as tm
from tests.support.tolerances import ROUND


def wheel(element, inertia=0.5, at=0.0, speed=0.0, t=2.0, **options):
    """A wheel on a fixed axle with an element on its angle."""
    system = tm.System("wheel", gravity=(0, 0, 0))
    body = system.body("wheel", mass=1.0, inertia=(1, 1, inertia))
    axle = system.connect("A", tm.Revolute("z"), system.ground, body)
    system.connect("element", element, axle)
    mech = system.build()
    return mech.simulate((0, t), mech.state(q={"A": at}, u={"A": speed}), rtol=1e-10, atol=1e-12, **options)


def test_torsional_oscillation_starts_two_turns_away_from_rest():
    I, k, c, rest, torque = 0.5, 8.0, 0.6, 0.3, 1.2
    start = 4 * np.pi + 0.1
    run = wheel(
        tm.RotationalSpring(stiffness=k, damping=c, angle=rest, torque=torque),
        I,
        at=start,
        t_eval=np.linspace(0, 2, 21),
    )
    middle, a = rest - torque / k, c / (2 * I)
    w = np.sqrt(k / I - a * a)
    q = middle + np.exp(-a * run.t) * (start - middle) * (np.cos(w * run.t) + a / w * np.sin(w * run.t))
    assert_allclose(run.connection("A").q, q, atol=1e-7)
    assert_allclose(run.element("element").energy, 0.5 * k * (q - rest) ** 2, atol=1e-5)


def test_turns_count_for_a_hinge_inside_a_closed_chain():
    """The spring keeps its hinge a branch: a crank driven over two turns winds it up."""
    system = tm.System("four-bar", gravity=(0, 0, 0))
    crank = system.body("crank", mass=1.0, inertia=(0.1, 0.1, 0.1))
    coupler = system.body("coupler", mass=1.0, inertia=(0.1, 0.1, 0.1))
    rocker = system.body("rocker", mass=1.0, inertia=(0.1, 0.1, 0.1))
    A = system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.connect("B", tm.Revolute("z"), crank.at((1, 0, 0)), coupler)
    system.connect("C", tm.Revolute("z"), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)))
    system.connect("D", tm.Revolute("z"), system.ground.at((3.5, 0, 0)), rocker)
    system.connect("spring", tm.RotationalSpring(stiffness=2.0), A)
    system.prescribe("A", lambda t: 2 * np.pi * t)
    mech = system.build()
    state = mech.assemble(guess={"B": 0.5, "D": 1.5})
    run = mech.simulate((0, 2), state, t_eval=[0.0, 2.0])
    assert_allclose(run.element("spring").effort[-1], 2.0 * 4 * np.pi, rtol=1e-9)


def test_table_on_a_hinge():
    rows = [(-1.0, -1.0), (0.0, 0.0), (2 * np.pi, 3.0), (4 * np.pi, 10.0)]
    spring = tm.RotationalSpring(table=rows, interpolation="linear")
    run = wheel(spring, at=3 * np.pi, t=1e-3)
    assert_allclose(run.element("element").effort[0], 6.5, rtol=ROUND)
    assert_allclose(run.element("element").load[0], [-6.5], rtol=ROUND)
    assert_allclose(run.element("element").energy[0], 3 * np.pi + np.pi * (3.0 + 6.5) / 2, rtol=ROUND)


def restitution(damping, speed):
    """e of a Hunt-Crossley contact, from v dv / (1 + a v) = -k d^n dd / m."""
    a = damping * speed
    return brentq(lambda e: a * (1 + e) - np.log((1 + a) / (1 - a * e)), 1e-9, min(1.0, 1 / a) - 1e-12)


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("speed", [1.0, -2.0])
def test_stop_throws_back_with_the_restitution_of_its_damping(exponent, speed):
    stop = tm.HingeStop(lower=-0.2, upper=0.4, stiffness=2e4, damping=0.3, exponent=exponent)
    gap = 0.4 if speed > 0 else 0.2
    run = wheel(stop, speed=speed, t=2.5 * gap / abs(speed), audit=True)
    e = restitution(0.3, abs(speed))
    assert_allclose(run.connection("A").u[-1], -e * speed, rtol=1e-7)
    lost = 0.5 * 0.5 * speed**2 * (1 - e**2)
    assert_allclose(run.audit["element"].dissipated[-1], lost, rtol=1e-6)
    assert run.element("element").energy[-1] == 0.0


def test_stop_never_pulls():
    stop = tm.HingeStop(upper=0.0, stiffness=100.0, damping=2.0)
    run = wheel(stop, at=0.5, speed=-3.0, t=0.5)
    assert run.element("element").load.max() <= 0.0
    assert run.connection("A").q[-1] < 0.0


def test_stop_holds_a_pendulum_at_the_depth_of_its_weight():
    system = tm.System("pendulum", gravity=(0, 0, -9.81))
    rod = system.body("rod", mass=2.0, inertia=(0, 0.1, 0.1), com=(0.5, 0, 0))
    pin = system.connect("A", tm.Revolute("y"), system.ground, rod)
    system.connect("stop", tm.HingeStop(upper=0.0, stiffness=1e5, damping=50.0), pin)
    system.connect("brake", tm.RotationalSpring(damping=20.0), pin)
    mech = system.build()
    run = mech.simulate((0, 2), mech.state())
    depth = (2.0 * 9.81 * 0.5 / 1e5) ** (1 / 1.5)
    assert_allclose(run.connection("A").q[-1], depth, rtol=1e-4)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: tm.RotationalSpring(stiffness=None), "RotationalSpring.stiffness is None"),
        (lambda: tm.RotationalSpring(table=[(1, 0), (0, 1)]), "RotationalSpring.table is not increasing"),
        (lambda: tm.HingeStop(), "HingeStop has no limit"),
        (lambda: tm.HingeStop(lower=1.0, upper=0.0), "lower 1 is not below upper 0"),
        (lambda: tm.HingeStop(upper=1.0, stiffness=-1.0), "HingeStop.stiffness is -1: wanted a positive"),
        (lambda: tm.HingeStop(upper=1.0, exponent=0.5), "exponent 0.5"),
    ],
)
def test_bad_hinge_elements_are_refused(make, message):
    with pytest.raises(tm.ElementError, match=message):
        make()
