"""Muscle curves: isometric, force against velocity, activation; fields that are refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

import treemech as tm
from tests.elements.cords.test_path import motion_of

FIBRES = tm.ContractileElement(max_force=1000.0, optimal_length=0.1, max_velocity=8.0, damping=1e-3)


def contracting(length, speed, activation=1.0):
    """Tension of the fibres without their viscous part [max_force]; speed in largest shortening speeds."""
    velocity = np.array([[0, 0, 0], [0, 0.8 * speed, 0]])
    motion = motion_of(FIBRES, [[0, 0, 0], [0, length, 0]], velocity=velocity, x=[activation], inputs=[1.0])
    return FIBRES.at(motion).effort[0] / 1000.0 - 1e-3 * speed


def test_the_isometric_curve_is_a_bell_about_the_optimal_length():
    for length in (0.06, 0.1, 0.13):
        bell = np.exp(-(((length - 0.1) / 0.067) ** 2))
        assert_allclose(contracting(length, 0.0, 0.4), 0.4 * bell, rtol=1e-12)


def test_shortening_follows_hills_equation_and_lengthening_saturates():
    for speed in np.linspace(-1.0, 0.0, 6):
        force, a = contracting(0.1, speed), 0.25  # (F + a)(v + b) = (F0 + a) b, b = a vmax / F0
        assert_allclose((force + a) * (-speed + a), (1.0 + a) * a, rtol=1e-12)
    assert_allclose(contracting(0.1, 1e6), 1.4, rtol=1e-6)
    h = 1e-6
    slopes = [(contracting(0.1, s * h) - contracting(0.1, 0.0)) / (s * h) for s in (1, -1)]
    assert_allclose(slopes, 5.0, rtol=1e-4)


def test_the_speed_of_the_fibres_in_a_muscle_balances_tendon_and_fibres():
    muscle = tm.Muscle(max_force=1000.0, optimal_length=0.1, tendon_length=0.2, max_velocity=8.0)
    fibres, parallel, tendon = muscle.parts()
    rng = np.random.default_rng(2)
    for _ in range(30):
        fibre, activation, pull = rng.uniform(0.06, 0.14), rng.uniform(0.05, 1.0), rng.uniform(0.0, 1.8)
        length = fibre + 0.2 * (1.0 + 0.04 * np.sqrt(pull))

        def left(speed, fibre=fibre, activation=activation, pull=pull):
            velocity = np.array([[0, 0, 0], [speed, 0, 0]])
            ends = [[0, 0, 0], [fibre, 0, 0]]
            active = fibres.at(
                motion_of(fibres, ends, velocity=velocity, x=[activation], inputs=[1.0])
            ).effort[0]
            return active + parallel.at(motion_of(parallel, ends)).effort[0] - 1000.0 * pull

        out = muscle.at(motion_of(muscle, [[0, 0, 0], [length, 0, 0]], x=[activation, fibre], inputs=[1.0]))
        speed = brentq(left, -100.0, 100.0, xtol=1e-14, rtol=1e-13)
        assert_allclose(out.rates[1], speed, rtol=1e-9, atol=1e-12)
        assert_allclose(out.effort[0], 1000.0 * pull, rtol=1e-10)


def test_activation_rises_and_falls_with_its_times_between_0_and_1():
    def rate(activation, excitation):
        motion = motion_of(FIBRES, [[0, 0, 0], [0, 0.1, 0]], x=[activation], inputs=[excitation])
        return FIBRES.at(motion).rates[0]

    assert_allclose(rate(0.0, 1.0), 1.0 / 0.01, rtol=1e-12)
    assert_allclose(rate(1.0, 0.0), -1.0 / 0.04, rtol=1e-12)
    assert_allclose([rate(0.2, 3.0), rate(0.2, -2.0)], [rate(0.2, 1.0), rate(0.2, 0.0)], rtol=1e-12)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: tm.Muscle(max_force=0.0), "Muscle.max_force is 0"),
        (lambda: tm.Muscle(tendon_length=-0.1), "Muscle.tendon_length is -0.1"),
        (lambda: tm.Muscle(eccentric=0.9), "Muscle.eccentric is 0.9; wanted more than 1"),
        (lambda: tm.ContractileElement(damping=0.0), "ContractileElement.damping is 0"),
        (lambda: tm.Tendon(strain="4%"), "Tendon.strain is '4%'"),
        (lambda: tm.ElectricMotor(inductance=0.0), "ElectricMotor.inductance is 0"),
        (lambda: tm.PositionServo(resistance=-1.0), "PositionServo.resistance is -1"),
        (lambda: tm.HydraulicActuator(area=0.0), "HydraulicActuator.area is 0"),
        (lambda: tm.Pid(filter=-0.1), "Pid.filter is -0.1"),
    ],
)
def test_wrong_fields_are_refused_by_kind_and_name(wrong, message):
    with pytest.raises(tm.ElementError, match=message):
        wrong()


PENNATE = tm.Muscle(
    max_force=1000.0, optimal_length=0.1, tendon_length=0.2, max_velocity=8.0, damping=0.05, pennation=0.5
)


def test_pennate_fibres_balance_the_tendon_along_its_line_at_constant_thickness():
    """The geometry is done by angles here, and the speed of the fibres found by a root finder."""
    fibres, rng = FIBRES.__class__(1000.0, 0.1, 8.0, 0.05), np.random.default_rng(3)
    for _ in range(20):
        fibre, activation, pull = rng.uniform(0.07, 0.14), rng.uniform(0.1, 1.0), rng.uniform(0.05, 1.5)
        angle = np.arcsin(0.1 * np.sin(0.5) / fibre)
        length = fibre * np.cos(angle) + 0.2 * (1.0 + 0.04 * np.sqrt(pull))
        passive = max(fibre / 0.1 - 1.0, 0.0) ** 2 / 0.6**2

        def left(speed, fibre=fibre, activation=activation, angle=angle, pull=pull, passive=passive):
            velocity = np.array([[0, 0, 0], [0, 0.8 * speed, 0]])
            motion = motion_of(
                fibres, [[0, 0, 0], [0, fibre, 0]], velocity=velocity, x=[activation], inputs=[1.0]
            )
            return (fibres.at(motion).effort[0] / 1000.0 + passive) * np.cos(angle) - pull

        speed = brentq(left, -3.0, 300.0, xtol=1e-13)
        out = PENNATE.at(motion_of(PENNATE, [[0, 0, 0], [0, length, 0]], x=[activation, fibre], inputs=[1.0]))
        assert_allclose(out.effort[0], 1000.0 * pull, rtol=1e-9)
        assert_allclose(out.rates[1], 0.8 * speed, atol=1e-7)


def test_without_pennation_nothing_changes_and_more_of_it_pulls_less():
    def held(pennation):
        muscle = tm.Muscle(max_force=1000.0, optimal_length=0.1, tendon_length=0.2, pennation=pennation)
        system = tm.System("held", gravity=(0, 0, 0))
        ring = system.body("ring", 1.0, (1, 1, 1))
        system.connect("slide", tm.Prismatic("x"), system.ground, ring)
        # at the optimal length the fibres pull with max_force, and the tendon takes the part along its line
        part = np.cos(pennation)
        length = 0.1 * part + 0.2 * (1.0 + 0.04 * np.sqrt(part))
        system.prescribe("slide", length)
        system.connect("muscle", muscle, system.ground, ring, inputs={"excitation": 1.0})
        mech = system.build()
        return mech.simulate((0, 1.0), mech.assemble(), rtol=1e-9).element("muscle").effort[-1]

    for pennation in (0.0, 0.3, 0.6):
        assert_allclose(held(pennation), 1000.0 * np.cos(pennation), rtol=1e-5)


def test_a_pennation_that_is_no_angle_is_refused_and_has_no_parts():
    for wrong in (-0.1, np.pi / 2, 30.0):
        with pytest.raises(
            tm.ElementError, match=r"Muscle.pennation is .*wanted an angle from 0 to less than pi/2"
        ):
            tm.Muscle(pennation=wrong)
    with pytest.raises(tm.ElementError, match="pennate fibres"):
        PENNATE.parts()
