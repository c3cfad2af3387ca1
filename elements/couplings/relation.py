"""Relations between coordinates, written as a plain Python function."""

import inspect
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import Any

from treemech.topology.errors import ElementError

from ..coupling import Coupling
from ..element import structure


@dataclass(frozen=True, eq=False)
class Relation(Coupling):
    """Equation between coordinates and time; its derivatives come from jet numbers.

    One holonomic row::

        function(q, t) = 0

    Parameters
    ----------
    function : callable
        Function of the column q of coordinates, in the order given to `system.couple`, and of t. It is
        compiled without changes.

    Examples
    --------
    >>> circle = Relation(lambda q, t: q[0] * q[0] + q[1] * q[1] - 25.0)
    >>> circle.rows(q=[3.0, 4.0]).partials.tolist()
    [[6.0, 8.0]]
    """

    function: Any = structure()

    @classmethod
    def example(cls) -> "Relation":
        return cls(lambda q, t: q[0] * q[0] + q[1] * q[1] - 25.0)

    def __post_init__(self) -> None:
        bind(self, "residual", _residual, ("q", "t"))


@dataclass(frozen=True, eq=False)
class VelocityRelation(Coupling):
    """Equation between coordinates, speeds and time that is linear in the speeds.

    One nonholonomic row::

        function(q, u, t) = 0

    Parameters
    ----------
    function : callable
        Function of the columns q and u, in the order given to `system.couple`, and of t. It is compiled
        without changes.

    Examples
    --------
    >>> cone = VelocityRelation(lambda q, u, t: u[1] - q[0] * u[0])  # a gear whose ratio depends on q
    >>> cone.rows(q=[3.0, 0.0], u=[1.0, 3.0]).partials.tolist()
    [[-3.0, 1.0]]
    """

    function: Any = structure()
    n_holonomic = 0
    n_nonholonomic = 1

    @classmethod
    def example(cls) -> "VelocityRelation":
        return cls(lambda q, u, t: u[1] - q[0] * u[0])

    def __post_init__(self) -> None:
        bind(self, "slip", _slip, ("q", "u", "t"))


function: Any = None  # the methods below use this name; `bound` gives it the author's function


def _residual(self, q, t, f):  # type: ignore[no-untyped-def]
    f[0] = function(q, t)


def _slip(self, q, u, t, f):  # type: ignore[no-untyped-def]
    f[0] = function(q, u, t)


def bind(element: Any, name: str, method: Any, arguments: tuple[str, ...]) -> None:
    """Give an element the method that calls its function, in a subclass that is shared per function."""
    wanted = f"a function of {', '.join(arguments)}"
    if not inspect.isfunction(element.function):
        raise ElementError(f"{element.kind}.function is {element.function!r}: wanted {wanted}.")
    count = len(inspect.signature(element.function).parameters)
    if count != len(arguments):
        raise ElementError(
            f"{element.kind}: {element.function.__name__} takes {count} arguments; wanted {wanted}."
        )
    cls: Any = type(element)
    object.__setattr__(element, "__class__", bound(cls, name, method, element.function))


@lru_cache(maxsize=256)
def bound(cls: Any, name: str, method: Any, author: Any) -> Any:
    """Return a subclass whose method finds the author's function under the global name `function`.

    The subclass belongs to the author's module, because the built library holds the elements of this module
    but cannot hold the author's function.
    """
    scope = {**method.__globals__, "function": author}
    own = FunctionType(method.__code__, scope, name)
    return type(cls.__name__, (cls,), {name: own, "__module__": author.__module__, "__doc__": cls.__doc__})
