"""Parameters: named numbers of a model, and arithmetic on them as plain trees of an operation and its arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import ElementError

_SIGNS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
    "neg": operator.neg,
    "abs": abs,
}
_FUNCTIONS = (
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "sqrt", "cbrt", "exp", "log",
    "hypot", "minimum", "maximum",
)  # fmt: skip
_OF_UFUNC = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/", "power": "**", "negative": "neg",
    "absolute": "abs", **{name: name for name in _FUNCTIONS},
}  # fmt: skip
_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "neg": 3, "**": 4}


class Expression:
    """A number that depends on parameters: an operation and its arguments, expressions or plain numbers.

    Arithmetic and numpy's functions make it (``np.sin(angle)``; functions of `math` take plain numbers only).
    It is not a number itself; `value` is the number for the declared values of the parameters.

    >>> l1 = Parameter("l1", 0.3)
    >>> half = 0.5 * l1 + 1
    >>> half, half.value, half.at({"l1": 1.0})
    (0.5 * l1 + 1, 1.15, 1.5)
    """

    __slots__ = ("args", "op")

    def __init__(self, op: str, *args: Expression | float) -> None:
        if op not in _SIGNS and op not in _FUNCTIONS:
            raise ElementError(f"there is no operation {op!r} of parameters.")
        self.op = op
        self.args = tuple(a if isinstance(a, Expression) else _plain(a, op) for a in args)

    @property
    def value(self) -> float:
        """Evaluate with the declared values of the parameters."""
        return self.at({})

    def at(self, values: Mapping[str, float]) -> float:
        """Evaluate with other values of some parameters, by name."""
        numbers = [a.at(values) if isinstance(a, Expression) else a for a in self.args]
        try:
            with np.errstate(all="ignore"):
                made = _SIGNS[self.op](*numbers) if self.op in _SIGNS else getattr(np, self.op)(*numbers)
            number = as_float(made)
        except (ArithmeticError, TypeError):  # 1 / 0; (-1) ** 0.5 is complex
            number = np.nan
        if not finite(number):
            shown = ", ".join(f"{p.name} = {p.at(values):g}" for p in self.parameters())
            raise ElementError(f"{self!r} is not a finite number with {shown}.")
        return number

    def parameters(self) -> Iterator[Parameter]:
        """Yield the parameters of the expression, as often as they occur."""
        for a in self.args:
            if isinstance(a, Expression):
                yield from a.parameters()

    def to_data(self) -> dict[str, Any]:
        """Return the tree as plain data for JSON.

        >>> (2 * Parameter("l1", 0.3)).to_data()
        {'op': '*', 'args': [2, {'parameter': 'l1', 'value': 0.3}]}
        """
        return {"op": self.op, "args": [a.to_data() if isinstance(a, Expression) else a for a in self.args]}

    def __repr__(self) -> str:
        if self.op not in _BINDING:
            return f"{self.op}({', '.join(map(repr, self.args))})"
        first, *rest = (self._inner(a, k > 0) for k, a in enumerate(self.args))
        return f"{first} {self.op} {rest[0]}" if rest else f"-{first}"

    def _inner(self, a: Expression | float, right: bool) -> str:
        own = _BINDING[self.op]
        if isinstance(a, Expression):
            inner = _BINDING.get(a.op, 9)
        else:
            inner = 9 if a >= 0 else 3
        bare = inner > own or (inner == own and not right and own < 3)
        return repr(a) if bare else f"({a!r})"

    def __float__(self) -> float:
        raise TypeError(
            f"{self!r} depends on parameters and is no plain number here: use numpy's functions on it, np.sin(...), or "
            "its .value."
        )

    def __bool__(self) -> bool:
        return self.value != 0.0

    # ------------------------------------------------------------ arithmetic
    __array_priority__ = 100.0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options or ufunc.__name__ not in _OF_UFUNC:
            return NotImplemented
        op = _OF_UFUNC[ufunc.__name__]
        if all(np.ndim(x) == 0 for x in inputs if not isinstance(x, Expression)):
            return Expression(op, *inputs)
        arrays = np.broadcast_arrays(*(np.asarray(x, dtype=object) for x in inputs))
        made = np.empty(arrays[0].shape, dtype=object)
        for k in np.ndindex(made.shape):
            made[k] = Expression(op, *(a[k] for a in arrays))  # type: ignore[arg-type]
        return made

    def __add__(self, other: Any) -> Any:
        return _combined("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return _combined("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return _combined("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _combined("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return _combined("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _combined("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _combined("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _combined("/", other, self)

    def __pow__(self, other: Any) -> Any:
        return _combined("**", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _combined("**", other, self)

    def __neg__(self) -> Expression:
        return Expression("neg", self)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return Expression("abs", self)


class Parameter(Expression):
    """A named number of a model. It can be used wherever a number can, and in arithmetic.

    A built mechanism takes other values by name, ``mech.with_parameters(l1=0.31)``, without any compilation.

    >>> l1 = Parameter("l1", 0.3)
    >>> l1 / 2
    l1 / 2
    """

    __slots__ = ("_value", "name")

    def __init__(self, name: str, value: float) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise ElementError(f"a parameter is named {name!r}; wanted a name like 'l1' or 'mass_rod'.")
        self.op, self.args = "parameter", ()
        self.name, self._value = name, as_value(name, value)

    def at(self, values: Mapping[str, float]) -> float:
        return as_float(values.get(self.name, self._value))

    def parameters(self) -> Iterator[Parameter]:
        yield self

    def to_data(self) -> dict[str, Any]:
        return {"parameter": self.name, "value": self._value}

    def __repr__(self) -> str:
        return self.name


def as_value(name: str, value: Any) -> float:
    """Return the value of a parameter as a finite number."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = as_float(value)
    except (TypeError, ValueError):
        raise ElementError(f"parameter {name!r} is {value!r}; wanted a number.") from None
    if not isfinite(number):
        raise ElementError(f"parameter {name!r} is {number}; wanted a finite number.")
    return number


def as_float(value: Any) -> float:
    """Return float(value); a dual number (`dual.Dual`) is returned unchanged. Texts are no numbers: "3" is refused."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{value!r} is a text")
    try:
        return float(value)
    except OverflowError:  # a whole number that no float holds
        return inf if value > 0 else -inf
    except TypeError:
        if not getattr(value, "is_dual", False):
            raise
        number: float = value
        return number


def as_floats(numbers: Any) -> NDArray[np.float64]:
    """Return a new array of floats, or of dual numbers (dtype object) if one of them is dual.

    Texts are no numbers: "3" is refused.
    """
    given = np.asarray(numbers)
    if given.dtype.kind in "US" or (
        given.dtype.kind == "O" and any(isinstance(x, (str, bytes)) for x in given.flat)
    ):
        raise TypeError(f"{numbers!r} holds a text")
    try:
        return np.array(given, dtype=np.float64)
    except OverflowError:
        raise ValueError(f"{numbers!r} holds a whole number that is too large") from None
    except TypeError:
        carried = (x for x in np.array(numbers, dtype=object).flat if getattr(x, "is_dual", False))
        first: Any = next(carried, None)
        if first is None:
            raise
        return first.array(numbers)  # type: ignore[no-any-return]


def plain(thing: Any) -> Any:
    """Return a thing without derivatives, for checks, decisions and other uses that need only the numbers."""
    if isinstance(thing, float) or (isinstance(thing, np.ndarray) and thing.dtype != object):
        return thing
    from .dual import values

    return values(thing)


def finite(thing: Any) -> bool:
    """Tell whether a number or all numbers of an array are finite."""
    if isinstance(thing, float):
        return isfinite(thing)
    numbers = np.asarray(thing)
    if numbers.dtype != object:
        return bool(np.isfinite(numbers).all())
    return decided(_all_finite, numbers.reshape(-1))


def _all_finite(numbers: Any) -> Any:
    return np.isfinite(numbers).all(axis=-1)


def decided(condition: Callable[[Any], Any], numbers: Any) -> bool:
    """Return whether numbers satisfy a condition, which takes an array of them, or a stack of such arrays.

    Numbers that stand for those of many designs keep the condition, so that it is looked at for each.
    """
    if isinstance(numbers, np.ndarray) and numbers.dtype == object:
        carried = next((x for x in numbers.flat if hasattr(x, "decide")), None)
        if carried is not None:
            return bool(carried.decide(condition, numbers))
    return bool(condition(plain(numbers)))


def pictured(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the plain numbers of an array for a picture, which nothing else depends on."""
    if array.dtype != object:
        return array
    return np.array([float(getattr(x, "value", x)) for x in array.flat]).reshape(array.shape)


def component(vector: NDArray[np.float64], which: Callable[..., Any]) -> int:
    """Return the number of the largest (np.argmax) or smallest (np.argmin) component of a vector."""

    def is_it(k: int) -> Callable[[Any], Any]:
        return lambda v: which(np.abs(v), axis=-1) == k

    return next(k for k in range(len(vector)) if decided(is_it(k), vector))


def from_data(data: Any) -> Expression | float:
    """Return the expression that `Expression.to_data` wrote, or a plain number.

    >>> from_data({"op": "/", "args": [{"parameter": "l1", "value": 0.3}, 2]})
    l1 / 2
    """
    if isinstance(data, Mapping):
        if "parameter" in data:
            return Parameter(data["parameter"], data["value"])
        return Expression(data["op"], *(from_data(a) for a in data["args"]))
    number: float = data
    return number


def _combined(op: str, a: Any, b: Any) -> Any:
    for x in (a, b):
        if isinstance(x, (str, bytes)) or not (isinstance(x, Expression) or np.isscalar(x)):
            return NotImplemented
    return Expression(op, a, b)


def _plain(value: Any, op: str) -> float:
    """Return a number for JSON; an int stays an int."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{value!r} cannot be an argument of {op!r} with parameters; wanted a number.")
    number: float = value.item() if isinstance(value, np.generic) else value
    return number


def _method(name: str) -> Callable[..., Expression]:
    def apply(self: Expression, *others: Any) -> Expression:
        return Expression(name, self, *others)

    apply.__doc__ = f"What numpy.{name} calls for the entries of an array."
    return apply


for _name in _FUNCTIONS:
    setattr(Expression, _name, _method(_name))
