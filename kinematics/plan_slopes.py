"""Derivatives of the Plan's numbers by one parameter of the model."""

from typing import NamedTuple

from .plan import Floats


class PlanSlopes(NamedTuple):
    """Derivatives of the Plan's numbers, in their places."""

    constants: Floats
    gravity: Floats
    end_points: Floats
    parameters: Floats
    places: Floats
    exact: bool
