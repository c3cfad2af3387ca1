"""Derivatives of the numbers of a Plan: exact, and as differences between models show them."""

import numpy as np
import pytest

import treemech as tm
from treemech.dynamics.parameter_derivatives import sum_of, weights
from treemech.kinematics.plan_slopes import numbers_of

from ..parametric import VALUES, four_bar, spatial, tree

NODES = (-4, -3, -2, -1, 1, 2, 3, 4)
STEP = 2e-3  # of the value: eighth order leaves rounding, 1e-16 / STEP
TIGHT = 1e-9  # of the largest slope in an array


def differences(mech, name, step=STEP):
    value = mech.parameters[name]
    step = step * (abs(value) or 1.0)
    near = [mech.origin.build({name: value + k * step}, checked=False).core.layout for k in NODES]
    arrays = [numbers_of(layout) for layout in near]
    return {part: sum_of(weights(NODES) / step, tuple(a[part] for a in arrays)) for part in arrays[0]}


def compare(mech, name, exact=True, step=STEP):
    """The slopes of a mechanism, after they were compared with differences."""
    (found,) = mech.plan_slopes([name])
    assert found.exact is exact
    for part, wanted in differences(mech, name, step).items():
        slope = getattr(found, part)
        assert slope.dtype == np.float64 and slope.shape == wanted.shape
        np.testing.assert_allclose(slope, wanted, rtol=0, atol=TIGHT * np.max(np.abs(wanted), initial=0.0))
    return found


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("model", [tree, four_bar, spatial])
def test_slopes_of_whole_models_are_those_of_differences(model, name):
    found = compare(model().build(), name)
    moved = {"g": "gravity", "m": "constants", "k": "parameters", "c": "parameters"}.get(name)
    assert moved is None or np.any(getattr(found, moved))


def test_slopes_of_a_model_with_an_element_of_somebody_else_are_exact():
    for name in ("k", "l"):
        compare(tree(foreign=True).build(), name)


def test_slopes_are_made_once_and_belong_to_the_values_of_the_mechanism():
    mech = four_bar().build()
    found = mech.plan_slopes(["l", "m"])
    assert mech.plan_slopes(iter(["m"]))[0] is found[1]
    longer = mech.with_parameters(l=1.3).plan_slopes(["l"])[0]
    assert not np.array_equal(longer.constants, found[0].constants)


def test_unknown_names_are_refused():
    with pytest.raises(tm.ElementError, match="there is no parameter 'l1': there are 'a', 'c'"):
        four_bar().build().plan_slopes(["l", "l1"])
