"""Checks of the fields of an element when it is made: signals, positive numbers, directions."""

import warnings
from typing import Any

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.body import as_axis
from treemech.topology.errors import ElementError
from treemech.topology.parameter import as_float, as_floats, plain

from .signal import as_signal


def make_signals(element: Any, *names: str) -> None:
    """Turn these fields of a frozen element into signals."""
    for name in names:
        object.__setattr__(element, name, as_signal(getattr(element, name), f"{element.kind}.{name}"))


def make_directions(element: Any, *names: str) -> None:
    """Turn these fields ("x", "y", "z" or a vector) into unit vectors."""
    for name in names:
        object.__setattr__(element, name, as_axis(getattr(element, name), f"{element.kind}.{name}"))


def make_numbers(element: Any, *names: str) -> None:
    """Turn these fields into finite floats."""
    for name in names:
        value = getattr(element, name)
        try:
            if isinstance(value, (bool, np.bool_)):
                raise TypeError
            number = as_float(value)
        except (TypeError, ValueError):
            raise ElementError(f"{element.kind}.{name} is {value!r}: wanted a number.") from None
        if not np.isfinite(plain(number)):
            raise ElementError(f"{element.kind}.{name} is {value!r}: wanted a finite number.")
        object.__setattr__(element, name, number)


def as_numbers(given: Any, what: str, wanted: str, *shapes: tuple[int | None, ...]) -> Floats:
    """Return finite numbers in an array of one of the shapes (None: any length); `wanted` describes them."""
    try:
        numbers = as_floats(given)
    except (TypeError, ValueError):
        raise ElementError(f"{what} is {given!r}: wanted {wanted}.") from None
    fits = any(
        len(shape) == numbers.ndim and all(n in (None, m) for n, m in zip(shape, numbers.shape, strict=True))
        for shape in shapes
    )
    if not fits or not np.all(np.isfinite(plain(numbers))):
        met = f"has shape {numbers.shape}" if not fits else "holds numbers that are not finite"
        raise ElementError(f"{what} {met}: wanted {wanted}.")
    return numbers


def refuse_unless_positive(element: Any, *names: str, instead: str = "") -> None:
    """Refuse a number or a constant signal that is not positive; `instead` tells the user what to do."""
    from .signals.formulas import Constant  # which imports this file

    for name in names:
        value = getattr(element, name)
        if isinstance(value, Constant):
            value = value.level
        if isinstance(value, float) and not value > 0.0:
            raise ElementError(
                f"{element.kind}.{name} is {value:g}: wanted a positive number{'; ' if instead else ''}{instead}."
            )


def refuse_negative(element: Any, *names: str) -> None:
    """Refuse numbers below zero."""
    for name in names:
        if getattr(element, name) < 0.0:
            raise ElementError(
                f"{element.kind}.{name} is {getattr(element, name):g}: wanted a number of at least 0."
            )


def warn_negative(element: Any, *names: str) -> None:
    """Warn of a stiffness or damping below zero: it supplies energy, which is seldom meant."""
    for name in names:
        if plain(getattr(element, name)) < 0.0:
            warnings.warn(
                f"{element.kind}.{name} is {plain(getattr(element, name)):g}: a negative {name} drives its ends apart instead of "
                "holding them. If it is meant, silence this warning (warnings.filterwarnings).",
                stacklevel=6,
            )


def refuse_zero(element: Any, *names: str, instead: str = "") -> None:
    """Refuse a number that is zero."""
    for name in names:
        if getattr(element, name) == 0.0:
            raise ElementError(
                f"{element.kind}.{name} is 0: wanted a number other than 0{'; ' if instead else ''}{instead}."
            )
