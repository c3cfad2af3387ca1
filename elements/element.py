"""Base of all elements: a frozen dataclass whose numeric fields are its parameters.

The compiled core sees an element as an address and a record of numbers. The record holds the scalars and
signals in the order of the fields, then the arrays, each preceded by its shape. One compiled method therefore
serves every instance of a class, whatever the length of its arrays.
"""

from dataclasses import MISSING, field, fields, is_dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.declared import Declarable
from treemech.topology.errors import ElementError
from treemech.topology.parameter import as_floats, plain

from .field_names import refuse_taken_names


class SignalValue(NamedTuple):
    """Signal at the current time; a method of an element finds it in place of a signal field."""

    value: float
    rate: float
    acceleration: float


class Parameter(NamedTuple):
    """One field of an element in its record. Its kind is 'scalar', 'signal', 'array1', 'array2', ..."""

    name: str
    kind: str
    value: Any


class Element(metaclass=Declarable):
    """Base of hinges, signals, loads and all other elements; see the contract in the base class of each role.

    Its fields may hold Parameters in place of numbers. Optional for every element: a classmethod
    ``example()`` that returns an instance with typical numbers. Built-in elements with fields that have no
    default write one; the library is built from the examples and the tests check them.
    """

    author_methods: ClassVar[tuple[str, ...]] = ()  # methods of the role that an author may write

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        refuse_taken_names(cls, Element)

    @property
    def kind(self) -> str:
        return type(self).__name__

    def complete(self, numbers: Floats, signals: list[tuple[int, Any]]) -> None:
        """Complete the record of this element with values that are known only when the record is made.

        An element made of other elements writes their addresses and appends their signals. A record of
        objects serves for inspection only (its numbers carry derivatives): write nan in place of an address
        there.
        """


def required(cls: type) -> list[str]:
    """Return the names of the fields that have no default."""
    if not is_dataclass(cls):
        return []
    return [f.name for f in fields(cls) if f.init and f.default is MISSING and f.default_factory is MISSING]


def example_of(cls: type[Element]) -> Any:
    """Return the example of an element class: its own ``example()``, else an instance without arguments.

    `Element` has no method `example`, so that an author may give this name to a field.
    """
    own = getattr(cls, "example", None)
    if callable(own) and "example" not in getattr(cls, "__dataclass_fields__", ()):
        return own()
    if required(cls):
        raise ElementError(
            f"{cls.__name__} has no example, and {', '.join(required(cls))} without a default: write a classmethod "
            f"example() that returns one, {cls.__name__}(...) with typical numbers."
        )
    return cls()


def structure(**options: Any) -> Any:
    """Declare a dataclass field that shapes the element (an axis, a name) and is not part of its record."""
    return field(metadata={"structure": True}, **options)


def parameters(element: Element) -> list[Parameter]:
    """Return the numeric fields of an element: scalars and signals first, then arrays."""
    if not is_dataclass(element):
        return []
    scalars, arrays = [], []
    for f in fields(element):
        value = getattr(element, f.name)
        if f.metadata.get("structure") or value is None or isinstance(value, str) or callable(value):
            continue
        if getattr(value, "is_signal", False):
            scalars.append(Parameter(f.name, "signal", value))
            continue
        try:
            numbers = as_floats(value)
        except (TypeError, ValueError):
            raise ElementError(
                f"{element.kind}.{f.name} is {value!r}: wanted a number, an array of numbers or a signal. "
                "A field that only shapes the element is declared with tm.structure()."
            ) from None
        if not np.all(np.isfinite(plain(numbers))):
            raise ElementError(f"{element.kind}.{f.name} is {value!r}: wanted finite numbers.")
        if f.name.startswith("_"):  # compiled code reads the record by these names
            raise ElementError(
                f"{element.kind} has a field named {f.name!r}: a field that holds numbers cannot start with an underscore; call "
                f"it {f.name.lstrip('_')!r}, or declare it with tm.structure() if only Python uses it."
            )
        if numbers.ndim == 0:
            scalars.append(Parameter(f.name, "scalar", numbers.item()))
        else:
            arrays.append(Parameter(f.name, f"array{numbers.ndim}", np.ascontiguousarray(numbers)))
    return scalars + arrays


def record(element: Element) -> tuple[Floats, list[tuple[int, Any]]]:
    """Return (numbers, signals): the parameter record and the place of each signal in it (three numbers)."""
    numbers: list[float] = []
    signals: list[tuple[int, Any]] = []
    for parameter in parameters(element):
        if parameter.kind == "signal":
            signals.append((len(numbers), parameter.value))
            numbers += [0.0, 0.0, 0.0]
        elif parameter.kind == "scalar":
            numbers.append(parameter.value)
        else:
            numbers += [float(n) for n in parameter.value.shape]
            numbers += parameter.value.ravel().tolist()
    whole = as_floats(numbers)
    element.complete(whole, signals)
    return whole, signals


def kinds(element: Element) -> tuple[str, ...]:
    """Return the kind of every parameter; the compiled method depends on these besides the class."""
    return tuple(p.kind for p in parameters(element))
