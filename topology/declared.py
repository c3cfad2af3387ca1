"""Objects whose arguments contain parameters: they hold plain numbers and, in addition, their declaration.

The layers below see numbers only, and every such object can be made again with other parameter values.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import wraps
from inspect import Signature, signature
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .parameter import Expression, Parameter

F = TypeVar("F", bound=Callable[..., Any])


class Declaration(NamedTuple):
    """Declaration of an object: ``make(*args, **options)``, with expressions among the arguments."""

    make: Callable[..., Any]
    args: tuple[Any, ...]
    options: Mapping[str, Any]


def mapped(thing: Any, leaf: Callable[[Any], Any]) -> Any:
    """Copy nested tuples, lists, dicts and arrays, and replace every other thing in them by leaf(thing)."""
    if isinstance(thing, tuple):
        parts = [mapped(x, leaf) for x in thing]
        return type(thing)(*parts) if hasattr(thing, "_fields") else type(thing)(parts)
    if isinstance(thing, list):
        return [mapped(x, leaf) for x in thing]
    if isinstance(thing, dict):
        return {mapped(key, leaf): mapped(x, leaf) for key, x in thing.items()}
    if isinstance(thing, np.ndarray):
        return mapped(thing.tolist(), leaf) if thing.dtype == object else thing.copy()
    return leaf(thing)


Making = Callable[[Declaration, Mapping[str, float]], Any]


def made_again(declared: Declaration, values: Mapping[str, float]) -> Any:
    """Make a declared object again with other numbers."""
    return declared.make(*remade(declared.args, values), **remade(declared.options, values))


def remade(thing: Any, values: Mapping[str, float], making: Making = made_again) -> Any:
    """Replace expressions by numbers, and make objects that were declared with expressions again."""

    def leaf(x: Any) -> Any:
        if isinstance(x, Expression):
            return x.at(values)
        declared = getattr(x, "declared", None)
        if isinstance(declared, Declaration):
            return making(declared, values)
        return x

    return mapped(thing, leaf)


def parameters_in(thing: Any) -> Iterator[Parameter]:
    """Yield the parameters on which a thing depends, as often as they occur."""
    if isinstance(thing, Expression):
        yield from thing.parameters()
    elif isinstance(thing, (tuple, list)):
        for x in thing:
            yield from parameters_in(x)
    elif isinstance(thing, dict):
        for key, x in thing.items():
            yield from parameters_in(key)
            yield from parameters_in(x)
    elif isinstance(thing, np.ndarray):
        if thing.dtype == object:
            yield from parameters_in(thing.tolist())
    else:
        declared = getattr(thing, "declared", None)
        if isinstance(declared, Declaration):
            yield from parameters_in((*declared.args, *declared.options.values()))


def depends(thing: Any) -> bool:
    """Tell whether a thing contains a parameter."""
    return next(parameters_in(thing), None) is not None


class Property:
    """Property of an object that depends on parameters; it is read when these have values."""

    def __init__(self, thing: Any, name: str) -> None:
        self.declared = Declaration(getattr, (thing, name), {})


def declarable(make: F) -> F:
    """Let a function accept parameters for numbers; it returns frozen dataclasses with a field `declared`."""

    @wraps(make)
    def call(*args: Any, **options: Any) -> Any:
        if not depends((args, options)):
            return make(*args, **options)
        made = make(*remade(args, {}), **remade(options, {}))
        return replace(made, declared=Declaration(call, args, options))

    return call  # type: ignore[return-value]


class Declarable(type):
    """Class of classes whose objects take parameters for numbers; `declared` then holds their declaration."""

    @property
    def __signature__(cls) -> Signature:
        """Return the signature of the fields of the class, for `help` and editors."""
        own = signature(cls.__init__)  # type: ignore[misc]
        return own.replace(parameters=list(own.parameters.values())[1:], return_annotation=Signature.empty)

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if not depends((args, options)):
            return super().__call__(*args, **options)
        made = super().__call__(*remade(args, {}), **remade(options, {}))
        object.__setattr__(made, "declared", Declaration(cls, args, options))
        return made
