"""The oracle of derivatives itself: functions of complex numbers, and that a wrong derivative is found."""

import math

import numpy as np
import pytest

from tests.support.random_models.blueprint import Blueprint
from tests.support.random_models.complex_steps.number import OF_COMPLEX, STEP, Number, atan2
from tests.support.random_models.derivatives import derivatives
from tests.support.random_models.outcomes import Wrong
from tests.support.random_models.recipe import Recipe

SLOPES = {
    "sin": math.cos, "exp": math.exp, "expm1": math.exp, "sinh": math.cosh, "cosh": math.sinh,
    "cos": lambda x: -math.sin(x), "tan": lambda x: 1.0 / math.cos(x) ** 2, "tanh": lambda x: 1.0 / math.cosh(x) ** 2,
    "asin": lambda x: (1.0 - x * x) ** -0.5, "acos": lambda x: -((1.0 - x * x) ** -0.5), "atan": lambda x: 1.0 / (1.0 + x * x),
    "asinh": lambda x: (1.0 + x * x) ** -0.5, "atanh": lambda x: 1.0 / (1.0 - x * x), "sqrt": lambda x: 0.5 / math.sqrt(x),
    "log": lambda x: 1.0 / x, "log1p": lambda x: 1.0 / (1.0 + x), "log2": lambda x: 1.0 / (x * math.log(2.0)),
    "log10": lambda x: 1.0 / (x * math.log(10.0)), "erf": lambda x: 2.0 / math.sqrt(math.pi) * math.exp(-x * x),
    "erfc": lambda x: -2.0 / math.sqrt(math.pi) * math.exp(-x * x),
}  # fmt: skip


@pytest.mark.parametrize("name", SLOPES)
def test_functions_carry_their_derivative_to_rounding(name):
    found = Number(OF_COMPLEX[name](complex(0.3, 2.0 * STEP)))
    assert found.value == pytest.approx(getattr(math, name)(0.3), rel=1e-15)
    assert found.derivative == pytest.approx(2.0 * SLOPES[name](0.3), rel=1e-14)


@pytest.mark.parametrize("angle", np.linspace(-3.1, 3.1, 9))
def test_the_angle_of_a_point_carries_its_derivative_in_all_quadrants(angle):
    y, x = 2.0 * math.sin(angle), 2.0 * math.cos(angle)
    found = atan2(Number(complex(y, 0.3 * STEP)), Number(complex(x, -0.7 * STEP)))
    assert found.value == pytest.approx(angle, rel=1e-15)
    assert found.derivative == pytest.approx((0.3 * x + 0.7 * y) / 4.0, abs=1e-15)


def test_an_iteration_ends_when_the_derivative_is_small_too():
    x = Number(complex(1e-16, 1e-3 * STEP))
    assert not x < 1e-12
    assert x < 0.5  # no iteration: numbers are compared
    assert not x > 1e-12
    assert max(0.0, abs(x), abs(Number(complex(2e-16, 0.0)))).derivative == pytest.approx(1e-3)


# Loops, jets, an implicit law, an inner equilibrium, states of elements, a reaction-dependent element, a parameter
MANY = Recipe(
    3, chains=(("Revolute", "Universal", "BallBryant", "Cylindrical"),), branches=("Ball", "Curve"), parameters=True,
    elements=("Muscle", "RambergOsgood", "Composite", "ReactionFriction", "ElectricMotor", "Bushing"),
)  # fmt: skip


@pytest.mark.parametrize("wrong", ("ud_q", "ud_u", "ud_x", "ud_load", "ud_p", "multipliers_q", "x_rates_x"))
def test_a_wrong_derivative_is_found(wrong):
    blueprint = Blueprint(MANY)
    derivatives(blueprint)
    assert not blueprint.notes  # not by differences

    class Faulty:
        def __getattr__(self, name):
            return getattr(Blueprint(MANY).mech, name)

        def derivatives(self, *args, **options):
            found = blueprint.mech.derivatives(*args, **options)
            return found._replace(**{wrong: (1.0 + 1e-4) * getattr(found, wrong)})

    faulty = Blueprint(MANY)
    faulty.state
    faulty.__dict__["mech"] = Faulty()
    with pytest.raises(Wrong, match="derivatives of"):
        derivatives(faulty)
