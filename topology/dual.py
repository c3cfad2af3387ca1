"""Numbers that carry their derivative by one parameter: a model made of them has its own exact derivative.

They stand wherever numbers stand: in arithmetic, in numpy's functions, in arrays of objects, which numpy
adds, multiplies and turns as any others. They never become plain numbers by themselves: what asks for a float
is refused, so that no derivative is lost unseen. `values` and `derivatives` take them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import is_dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .arrays import Floats

_NUMBERS = (float, int, np.floating, np.integer)


def _of_numbers(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Make an operation of two dual numbers; the second may also be a plain number."""

    def apply(self: Dual, other: Any) -> Any:
        if not isinstance(other, Dual):
            if not isinstance(other, _NUMBERS):
                return NotImplemented
            other = Dual(float(other), 0.0)
        return operation(self, other)

    return apply


class Dual:
    """A number and its derivative. Comparisons look at the number, so every branch is the one plain numbers take.

    >>> x = Dual(3.0, 1.0)
    >>> x * x, np.sqrt(x + 1), x > 2
    (Dual(9.0, 6.0), Dual(2.0, 0.25), True)
    """

    __slots__ = ("derivative", "value")
    __hash__ = None  # type: ignore[assignment]
    is_dual: ClassVar[bool] = True

    def __init__(self, value: float, derivative: float) -> None:
        self.value, self.derivative = value, derivative

    def __repr__(self) -> str:
        return f"Dual({float(self.value)!r}, {float(self.derivative)!r})"

    def __format__(self, how: str) -> str:
        return format(self.value, how)

    def __float__(self) -> float:
        raise TypeError(f"{self!r} carries a derivative and is no plain number: use numpy's functions on it.")

    def __int__(self) -> int:
        raise TypeError(f"{self!r} carries a derivative and is no whole number.")

    __index__ = __trunc__ = __floor__ = __ceil__ = __round__ = __int__

    def __complex__(self) -> complex:
        return complex(float(self))

    def __bool__(self) -> bool:
        return bool(self.value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a numpy function; its loops call methods of the first argument, so all become Dual."""
        return getattr(ufunc, method)(*map(dual_array, inputs), **options)

    # ------------------------------------------------------------ comparisons
    def __eq__(self, other: Any) -> bool:
        return bool(self.value == _value(other))

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < _value(other))

    def __le__(self, other: Any) -> bool:
        return bool(self.value <= _value(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > _value(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self.value >= _value(other))

    # ------------------------------------------------------------ arithmetic
    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.derivative)

    def __pos__(self) -> Dual:
        return self

    def __abs__(self) -> Dual:
        return self if self.value >= 0.0 else -self

    @_of_numbers
    def __add__(self, other: Dual) -> Dual:
        return Dual(self.value + other.value, self.derivative + other.derivative)

    @_of_numbers
    def __sub__(self, other: Dual) -> Dual:
        return Dual(self.value - other.value, self.derivative - other.derivative)

    @_of_numbers
    def __mul__(self, other: Dual) -> Dual:
        return Dual(self.value * other.value, self.derivative * other.value + self.value * other.derivative)

    @_of_numbers
    def __truediv__(self, other: Dual) -> Dual:
        quotient = self.value / other.value
        return Dual(quotient, (self.derivative - quotient * other.derivative) / other.value)

    @_of_numbers
    def __pow__(self, other: Dual) -> Dual:
        x, n = self.value, other.value
        power = x**n
        if isinstance(power, complex):
            raise ArithmeticError(f"{self!r} has no real power {n!r}.")
        derivative = n * x ** (n - 1.0) * self.derivative if n != 0.0 else 0.0
        if other.derivative != 0.0:
            derivative += power * _log(x) * other.derivative
        return Dual(power, derivative)

    @_of_numbers
    def __rsub__(self, other: Dual) -> Any:
        return other - self

    @_of_numbers
    def __rtruediv__(self, other: Dual) -> Any:
        return other / self

    @_of_numbers
    def __rpow__(self, other: Dual) -> Any:
        return other**self

    __radd__, __rmul__ = __add__, __mul__

    # ------------------------------------------------------------ functions, as numpy calls them
    def conjugate(self) -> Dual:
        return self

    @staticmethod
    def array(numbers: Any) -> NDArray[np.object_]:
        return dual_array(numbers)

    @_of_numbers
    def arctan2(self, x: Dual) -> Dual:
        angle, square = np.arctan2(self.value, x.value), self.value * self.value + x.value * x.value
        return Dual(float(angle), (self.derivative * x.value - self.value * x.derivative) / square)

    @_of_numbers
    def hypot(self, y: Dual) -> Dual:
        size = float(np.hypot(self.value, y.value))
        return Dual(size, (self.value * self.derivative + y.value * y.derivative) / size)


def _function(name: str, derivative: Callable[[float, float], float]) -> Callable[[Dual], Dual]:
    def apply(self: Dual) -> Dual:
        y = float(getattr(np, name)(self.value))
        return Dual(y, derivative(self.value, y) * self.derivative)

    apply.__doc__ = f"Return the value and derivative of numpy.{name}."
    return apply


# Derivatives as functions of the argument x and the result y. Where no derivative exists, they divide by zero
_DERIVATIVES: dict[str, Callable[[float, float], float]] = {
    "sin": lambda x, y: float(np.cos(x)),
    "cos": lambda x, y: -float(np.sin(x)),
    "tan": lambda x, y: 1.0 + y * y,
    "arcsin": lambda x, y: 1.0 / float(np.sqrt(1.0 - x * x)),
    "arccos": lambda x, y: -1.0 / float(np.sqrt(1.0 - x * x)),
    "arctan": lambda x, y: 1.0 / (1.0 + x * x),
    "sinh": lambda x, y: float(np.cosh(x)),
    "cosh": lambda x, y: float(np.sinh(x)),
    "tanh": lambda x, y: 1.0 - y * y,
    "sqrt": lambda x, y: 0.5 / y,
    "cbrt": lambda x, y: 1.0 / (3.0 * y * y),
    "exp": lambda x, y: y,
    "log": lambda x, y: 1.0 / float(x),
}
for _name, _derivative in _DERIVATIVES.items():
    setattr(Dual, _name, _function(_name, _derivative))


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Dual) else x


def _log(x: float) -> float:
    if not x > 0.0:
        raise ArithmeticError(f"a power of {x!r} has no derivative by its exponent.")
    return float(np.log(x))


def dual(x: Any) -> Dual:
    """Return a number as a dual number."""
    if isinstance(x, Dual):
        return x
    if not isinstance(x, _NUMBERS):
        raise TypeError(f"{x!r} is no number.")
    return Dual(float(x), 0.0)


# ---------------------------------------------------------------- arrays
def dual_array(numbers: Any) -> NDArray[np.object_]:
    """Return an array in which every entry is a dual number."""
    found = np.array(numbers, dtype=object)
    for k in np.ndindex(found.shape):
        found[k] = dual(found[k])
    return found


def values(thing: Any) -> Any:
    """Return a number, an array or an object without derivatives; the same object if it has none."""
    if isinstance(thing, Dual):
        return float(thing.value)
    if isinstance(thing, np.ndarray):
        if thing.dtype != object:
            return thing
        other = next((x for x in thing.flat if hasattr(x, "plain_array")), None)
        if other is not None:  # numbers of many designs
            return other.plain_array(thing)
        return np.array([float(_value(x)) for x in thing.flat], dtype=np.float64).reshape(thing.shape)
    if isinstance(thing, (tuple, list)):
        parts = [values(x) for x in thing]
        if all(a is b for a, b in zip(parts, thing, strict=True)):
            return thing
        return type(thing)(*parts) if hasattr(thing, "_fields") else type(thing)(parts)
    if is_dataclass(thing) and not isinstance(thing, type):
        changed = {name: new for name, x in vars(thing).items() if (new := values(x)) is not x}
        if changed:
            thing = copy(thing)
            for name, new in changed.items():
                object.__setattr__(thing, name, new)
    return thing


def derivatives(array: Any) -> Floats:
    """Return the derivatives of the numbers of an array; zero for plain numbers."""
    if array.dtype != object:
        return np.zeros(array.shape)
    found = [float(x.derivative) if isinstance(x, Dual) else 0.0 for x in array.flat]
    return np.array(found, dtype=np.float64).reshape(array.shape)


def joined(numbers: Floats, derivatives: Floats) -> NDArray[np.object_]:
    """Join an array of numbers and one of their derivatives to an array of dual numbers."""
    found = np.empty(np.shape(numbers), dtype=object)
    for k in np.ndindex(found.shape):
        found[k] = Dual(float(numbers[k]), float(derivatives[k]))
    return found


def solved(A: Any, b: Any) -> NDArray[np.object_]:
    """Solve A x = b for x, and A x' = b' - A' x for its derivative."""
    plain, x = values(A), np.linalg.solve(values(A), values(b))
    return joined(x, np.linalg.solve(plain, derivatives(b) - derivatives(A) @ x))
