"""Recording of the calls that describe a system, to repeat them with other values of its parameters."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, NamedTuple, TypeVar

from treemech.topology import Attachment, Body, Connection, ElementError, TopologyError, TreemechError
from treemech.topology.declared import Making, Property, made_again, mapped, parameters_in, remade
from treemech.topology.parameter import Expression, Parameter

F = TypeVar("F", bound=Callable[..., Any])


class Call(NamedTuple):
    """A call of a method, its arguments as they were at that time."""

    method: str
    args: tuple[Any, ...]
    options: dict[str, Any]


class Journal:
    """Base of classes that record calls: methods marked `recorded` accept parameters instead of numbers."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.parameters: dict[str, Parameter] = {}
        self._inside = False

    def _known(self, thing: Any, where: str) -> bool:
        """Keep the parameters in a thing by name, one value each; whether there are any."""
        found = list(parameters_in(thing))
        for p in found:
            other = self.parameters.setdefault(p.name, p)
            if other.value != p.value:
                raise ElementError(
                    f"{where}: two parameters are named {p.name!r}, with the values {other.value:g} and {p.value:g}: give "
                    "each a name of its own, or use the same one."
                )
        return bool(found)


def _refuse_nameless(method: str, name: Any) -> None:
    """Refuse what is neither a name nor a thing that has one."""
    if not isinstance(name if isinstance(name, str) else getattr(name, "name", None), str):
        raise TopologyError(f"{method}: the name is {name!r}; wanted a text.")


def recorded(method: F) -> F:
    """Decorate a method: it gets numbers for parameters.

    Its calls are recorded unless another such method makes them.
    """

    names = method.__code__.co_varnames[1:2] == ("name",)

    @wraps(method)
    def call(self: Journal, *args: Any, **options: Any) -> Any:
        if self._inside:
            return method(self, *args, **options)
        if names and (args or "name" in options):
            _refuse_nameless(method.__name__, args[0] if args else options["name"])
        kept = Call(method.__name__, mapped(args, _lasting), mapped(options, _lasting))
        given: tuple[Any, Any] = (kept.args, kept.options)
        if self._known(given, f"{method.__name__} {args[0] if args else ''!r}"):
            given = _numbers(given)
        self._inside = True
        try:
            result = method(self, *given[0], **given[1])
        finally:
            self._inside = False
        self.calls.append(kept)
        return result

    return call  # type: ignore[return-value]


def replay(
    calls: Iterable[Call],
    target: Journal,
    values: Mapping[str, float],
    of: Callable[[Any], Any],
    making: Making = made_again,
) -> None:
    """Repeat the calls on another object.

    of(handle) returns the body, hinge, ... of that object which corresponds to one of the first object.
    """

    def leaf(x: Any) -> Any:
        if isinstance(x, Attachment):
            if x.declared is not None:
                start, offset, rotation = x.declared.args
                return leaf(start).at(remade(offset, values), remade(rotation, values))
            return Attachment(of(x.body), x.offset, x.rotation)
        return of(x) if isinstance(x, (Body, Connection)) else remade(of(x), values, making)

    for call in calls:
        try:
            args, options = mapped(call.args, leaf), mapped(call.options, leaf)
        except TreemechError as error:
            raise type(error)(f"{call.method} {call.args[0]!r}: {error}") from None
        getattr(target, call.method)(*args, **options)


def _lasting(x: Any) -> Any:
    return list(x) if isinstance(x, Iterator) else x


def _numbers(thing: Any) -> Any:
    """Return the arguments with the declared values of parameters.

    Elements and attachments have numbers already.
    """
    return mapped(thing, lambda x: remade(x, {}) if isinstance(x, (Expression, Property)) else x)
