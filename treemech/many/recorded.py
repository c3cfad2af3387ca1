"""Numbers that record how they are made: a description repeated once with them gives the numbers of many designs at once.

They stand wherever numbers stand, as dual numbers do (`topology/dual.py`). Every operation on them is written on a tape,
and so is every decision that is taken by them: a comparison, a check. `Tape.numbers` goes through the tape with a column of
values for every parameter; designs for which a decision comes out otherwise are named, and are made one by one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treemech.topology.arrays import Floats
from treemech.topology.parameter import finite

_NUMBERS = (float, int, np.floating, np.integer)
_FUNCTIONS = (
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "sqrt", "cbrt", "exp", "log",
)  # fmt: skip
_PAIRS = ("arctan2", "hypot")
_DO: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": np.power,
    "neg": operator.neg, "abs": np.abs, **{name: getattr(np, name) for name in (*_FUNCTIONS, *_PAIRS)},
}  # fmt: skip
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Tape:
    """Operations on recorded numbers, in the order in which they were made, and the decisions taken by them."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, tuple[int | float, ...]]] = []  # an int is the number of a step
        self.names: dict[str, int] = {}
        self._known: dict[Any, Recorded] = {}
        # a condition on numbers, their shape, and how it came out
        self.decisions: list[tuple[Callable[[Any], Any], tuple[int | float, ...], tuple[int, ...], bool]] = []

    def parameter(self, name: str, value: float) -> Recorded:
        """Return a number that is given for every design."""
        self.names[name] = len(self.steps)
        self.steps.append(("parameter", ()))
        return Recorded(self, self.names[name], value)

    def made(self, name: str, *args: Recorded) -> Recorded:
        """Return what an operation gives, made once."""
        with np.errstate(all="ignore"):
            value = float(_DO[name](*(np.float64(a.value) for a in args)))
        if all(a.number is None for a in args):
            return Recorded(self, None, value)
        places = tuple(a.place for a in args)
        key = (name, places)
        if key not in self._known:
            self._known[key] = Recorded(self, len(self.steps), value)
            self.steps.append((name, places))
        return self._known[key]

    def decide(self, condition: Callable[[Any], Any], numbers: Any) -> bool:
        """Return how a condition on an array of numbers comes out, and keep it for other designs."""
        array = Recorded.array(numbers)
        each: list[Any] = list(array.flat)
        plain = np.array([x.value for x in each]).reshape(array.shape)
        found = bool(condition(plain))
        if any(x.number is not None for x in each):
            self.decisions.append((condition, tuple(x.place for x in each), array.shape, found))
        return found

    def numbers(
        self, wanted: Sequence[int], columns: Mapping[str, Floats], count: int
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the numbers (count, n) of steps for columns of parameters, and for which designs they hold."""
        needed, stack = set[int](), [
            *wanted, *(p for d in self.decisions for p in d[1] if isinstance(p, int)),
        ]  # fmt: skip
        while stack:
            k = stack.pop()
            if k not in needed:
                needed.add(k)
                stack += [p for p in self.steps[k][1] if isinstance(p, int)]
        found: dict[int, Any] = {k: columns[name] for name, k in self.names.items()}
        good = np.ones(count, dtype=bool)
        with np.errstate(all="ignore"):
            for k in sorted(needed - found.keys()):
                name, args = self.steps[k]
                found[k] = _DO[name](*(found[a] if isinstance(a, int) else a for a in args))
            for condition, places, shape, expected in self.decisions:
                stacked = np.empty((count, len(places)))
                for column, p in enumerate(places):
                    stacked[:, column] = found[p] if isinstance(p, int) else p
                good &= np.asarray(condition(stacked.reshape(count, *shape))) == expected
        out = np.empty((count, len(wanted)))
        for column, k in enumerate(wanted):
            out[:, column] = found[k]
        return out, good & np.isfinite(out).all(axis=1)


def _other(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Make an operation of two recorded numbers; the second may also be a plain number."""

    def apply(self: Recorded, other: Any) -> Any:
        if not isinstance(other, Recorded):
            if not isinstance(other, _NUMBERS):
                return NotImplemented
            other = Recorded(self.tape, None, float(other))
        return operation(self, other)

    return apply


class Recorded:
    """A number on a tape; a plain one has no place there.

    >>> tape = Tape()
    >>> x = tape.parameter("x", 3.0)
    >>> y = np.sqrt(x * x + 16.0)
    >>> y, tape.numbers([y.number], {"x": np.array([0.0, 3.0])}, 2)[0].ravel().tolist()
    (Recorded(5.0), [4.0, 5.0])
    """

    __slots__ = ("number", "tape", "value")
    __hash__ = None  # type: ignore[assignment]
    is_dual: ClassVar[bool] = True  # takes the ways of numbers that are more than a float

    def __init__(self, tape: Tape, number: int | None, value: float) -> None:
        self.tape, self.number, self.value = tape, number, value

    @property
    def place(self) -> int | float:
        return self.value if self.number is None else self.number

    @staticmethod
    def array(numbers: Any) -> NDArray[np.object_]:
        """Return an array in which every entry is recorded."""
        found = np.array(numbers, dtype=object)
        tape = next(x.tape for x in found.flat if isinstance(x, Recorded))
        for k in np.ndindex(found.shape):
            if not isinstance(found[k], Recorded):
                if not isinstance(found[k], _NUMBERS):
                    raise TypeError(f"{found[k]!r} is no number.")
                found[k] = Recorded(tape, None, float(found[k]))
        return found

    def decide(self, condition: Callable[[Any], Any], numbers: Any) -> bool:
        """Take a decision by numbers of which this is one."""
        return self.tape.decide(condition, numbers)

    @property
    def plain(self) -> float:
        """Refuse to be taken for one number: what is decided by it would be decided for all designs."""
        if self.number is None:
            return self.value
        raise TypeError(f"{self!r} stands for the numbers of many designs.")

    @staticmethod
    def plain_array(array: NDArray[np.object_]) -> Any:
        """Return numbers of which nothing is asked but whether they are finite."""
        return Recorded.array(array).view(_Seen)

    def __repr__(self) -> str:
        return f"Recorded({self.value!r})"

    def __format__(self, how: str) -> str:
        return format(self.value, how)

    def __float__(self) -> float:
        return self.plain

    def __int__(self) -> int:
        return int(self.plain)

    __index__ = __trunc__ = __floor__ = __ceil__ = __round__ = __int__

    def __bool__(self) -> bool:
        return self.decide(_nonzero, self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a numpy function; its loops call methods of the first argument, so all become recorded."""
        if ufunc is np.isfinite and len(inputs) == 1:
            return finite(np.asarray(self, dtype=object))
        carried = np.array(
            [x for given in inputs for x in np.ravel(np.asarray(given, dtype=object))], dtype=object
        )
        tape = next(x.tape for x in carried if isinstance(x, Recorded))
        return getattr(ufunc, method)(*(_on(tape, x) for x in inputs), **options)

    # ------------------------------------------------------------ arithmetic
    def __neg__(self) -> Recorded:
        return self.tape.made("neg", self)

    def __pos__(self) -> Recorded:
        return self

    def __abs__(self) -> Recorded:
        return self.tape.made("abs", self)

    @_other
    def __add__(self, other: Recorded) -> Recorded:
        if other._is(0.0):
            return self
        return other if self._is(0.0) else self.tape.made("+", self, other)

    @_other
    def __sub__(self, other: Recorded) -> Recorded:
        return self if other._is(0.0) else self.tape.made("-", self, other)

    @_other
    def __mul__(self, other: Recorded) -> Recorded:
        if self._is(1.0) or other._is(0.0):  # numbers of a model are finite
            return other
        return self if other._is(1.0) or self._is(0.0) else self.tape.made("*", self, other)

    @_other
    def __truediv__(self, other: Recorded) -> Recorded:
        return self if other._is(1.0) else self.tape.made("/", self, other)

    @_other
    def __pow__(self, other: Recorded) -> Recorded:
        return self.tape.made("**", self, other)

    @_other
    def __rsub__(self, other: Recorded) -> Any:
        return other - self

    @_other
    def __rtruediv__(self, other: Recorded) -> Any:
        return other / self

    @_other
    def __rpow__(self, other: Recorded) -> Any:
        return other**self

    __radd__, __rmul__ = __add__, __mul__

    def _is(self, value: float) -> bool:
        return self.number is None and self.value == value

    def conjugate(self) -> Recorded:
        return self


class _Seen(np.ndarray):
    """Recorded numbers where plain ones are wanted."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc is not np.isfinite or method != "__call__" or options:
            raise TypeError(f"{ufunc.__name__} of the numbers of many designs")
        return np.full(self.shape, finite(np.asarray(self)))


def _on(tape: Tape, given: Any) -> NDArray[np.object_]:
    """Return numbers in which every entry is on a tape."""
    found = np.array(given, dtype=object)
    for k in np.ndindex(found.shape):
        if not isinstance(found[k], Recorded):
            found[k] = Recorded(tape, None, float(found[k]))
    return found


def _nonzero(x: Any) -> Any:
    return x != 0.0


def _comparison(name: str) -> Callable[[Recorded, Any], Any]:
    def condition(pair: Any) -> Any:
        return _COMPARE[name](pair[..., 0], pair[..., 1])

    def compare(self: Recorded, other: Recorded) -> bool:
        return self.decide(condition, [self, other])

    return _other(compare)


def _function(name: str) -> Callable[..., Recorded]:
    def apply(self: Recorded) -> Recorded:
        return self.tape.made(name, self)

    def both(self: Recorded, other: Recorded) -> Recorded:
        return self.tape.made(name, self, other)

    made = apply if name in _FUNCTIONS else _other(both)
    made.__doc__ = f"What numpy.{name} calls for the entries of an array."
    return made


for _name in (*_FUNCTIONS, *_PAIRS):
    setattr(Recorded, _name, _function(_name))
for _symbol, _method in (
    ("==", "__eq__"),
    ("<", "__lt__"),
    ("<=", "__le__"),
    (">", "__gt__"),
    (">=", "__ge__"),
):
    setattr(Recorded, _method, _comparison(_symbol))
