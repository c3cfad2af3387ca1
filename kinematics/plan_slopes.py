"""Derivatives of the numbers of a Plan by one parameter, as the Plan has them."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from treemech.topology.varied import slopes, values

from .layout import Layout
from .plan import Floats

AGREES = 1e-6  # an exact slope that a difference confirms to this part of it is kept


class PlanSlopes(NamedTuple):
    """d(number)/d(parameter) of all numbers of a Plan."""

    constants: Floats  # as plan.constants
    gravity: Floats  # (3,)
    end_points: Floats  # as plan.end_points
    parameters: Floats  # as layout.parameters: the records of all elements and signals
    places: Floats  # as layout.chords.plan.place
    exact: bool  # to rounding; else some of them are differences between neighbouring models


def numbers_of(layout: Layout) -> dict[str, Floats]:
    """The arrays that have slopes; signals stand in the records as zeros."""
    plan, parameters = layout.plan, layout.parameters.copy()
    for _, place in plan.links:
        parameters[place : place + 3] = 0.0
    return {
        "constants": plan.constants,
        "gravity": plan.gravity,
        "end_points": plan.end_points,
        "parameters": parameters,
        "places": layout.chords.plan.place,
    }


def exact_slopes(varied: Layout, layout: Layout) -> PlanSlopes:
    """The slopes of a layout of numbers that carry them; refused unless it is the layout of the model otherwise."""
    own, found = numbers_of(layout), dict[str, Floats]()
    for name, a in numbers_of(varied).items():
        b = own[name]
        if a.shape != b.shape or not np.allclose(values(a), b, rtol=AGREES, atol=1e-9 * _size(b)):
            raise ArithmeticError(f"made with a varying parameter it has other {name}")
        found[name] = slopes(a)
        if not np.all(np.isfinite(found[name])):
            raise ArithmeticError(f"its {name} have no derivative")
    return PlanSlopes(**found, exact=True)


def confirmed_slopes(exact: PlanSlopes | None, differences: Mapping[str, Floats]) -> PlanSlopes:
    """Differences between neighbouring models, and in their place the exact slopes they confirm."""
    found = dict(differences)
    for name, d in differences.items():
        e = d if exact is None else getattr(exact, name)
        found[name] = np.where(np.abs(e - d) <= AGREES * np.abs(d), e, d)
    return PlanSlopes(**found, exact=False)


def _size(numbers: Floats) -> float:
    """The largest of them, addresses not counted."""
    return float(np.max(np.abs(numbers), where=np.abs(numbers) < 1e12, initial=0.0))
