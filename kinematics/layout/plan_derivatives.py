"""Derivatives of the numbers of a Plan by one parameter, in arrays of the same shape."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.dual import derivatives, values

from .layout import Layout

AGREES = 1e-6  # relative difference between two right values of a number
HUGE = 1e12  # larger numbers (addresses, limits at infinity) do not count for the size of the others


class PlanDerivatives(NamedTuple):
    """Derivatives d(number)/d(parameter) of all numbers of a Plan."""

    constants: Floats  # as plan.constants
    gravity: Floats  # (3,)
    end_points: Floats  # as plan.end_points
    parameters: Floats  # as layout.parameters: the records of all elements and signals
    places: Floats  # as layout.chords.plan.place
    exact: bool  # whether exact to rounding; else some of them are differences between neighbouring models


def numbers_of(layout: Layout) -> dict[str, Floats]:
    """Return the arrays that have derivatives."""
    return {
        "constants": layout.plan.constants,
        "gravity": layout.plan.gravity,
        "end_points": layout.plan.end_points,
        "parameters": layout.parameters,
        "places": layout.chords.plan.place,
    }


def carried_derivatives(dual: Layout, layout: Layout) -> PlanDerivatives:
    """Return the derivatives in a layout of dual numbers; exact if its values are those of the model."""
    exact, own, found = True, numbers_of(layout), dict[str, Floats]()
    for name, a in numbers_of(dual).items():
        b, found[name] = own[name], derivatives(a)
        if a.shape != b.shape:
            raise ValueError(f"with a varying parameter there are other {name}")
        known = np.array([not (isinstance(x, float) and np.isnan(x)) for x in a.flat], dtype=bool)
        numbers, wanted = values(a).ravel()[known], b.ravel()[known]  # without addresses
        size = np.max(np.abs(wanted), where=np.abs(wanted) < HUGE, initial=0.0)
        exact &= np.allclose(numbers, wanted, rtol=AGREES, atol=1e-9 * float(size))
        exact &= bool(np.all(np.isfinite(found[name])))
    return PlanDerivatives(**found, exact=exact)


def confirmed_derivatives(
    carried: PlanDerivatives | None, differences: Mapping[str, Floats]
) -> PlanDerivatives:
    """Return differences between neighbouring models, or the carried derivatives that they confirm."""
    found = dict(differences)
    for name, d in differences.items():
        c = d if carried is None else getattr(carried, name)
        found[name] = np.where(np.abs(c - d) <= AGREES * np.abs(d), c, d)
    return PlanDerivatives(**found, exact=False)
