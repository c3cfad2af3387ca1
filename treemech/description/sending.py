"""Mechanisms for another process: the calls that described them, as bytes.

Python sends functions and classes by name. What has no name that leads back to it (a lambda, a function or
class inside a function) is sent as code if cloudpickle is installed, and refused by name if not.
"""

import importlib
import pickle
from collections.abc import Iterator
from inspect import isfunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treemech.elements import Element
from treemech.topology import TreemechError
from treemech.topology.declared import mapped

if TYPE_CHECKING:
    from .parameters import Origin


def packed(origin: "Origin") -> bytes:
    """Return where a mechanism comes from as bytes, which `pickle.loads` reads."""
    try:
        return pickle.dumps(origin)
    except Exception as error:  # pickle raises many kinds
        try:
            by_code: bytes = importlib.import_module("cloudpickle").dumps(origin)
        except Exception:
            raise TreemechError(_refusal(origin, error)) from error
        return by_code


def _refusal(origin: "Origin", error: Exception) -> str:
    """Name the call and the thing in it that cannot be sent, and say what to do."""
    for call in origin.calls:
        for thing in _leaves((call.args, call.options)):
            if not _can_be_sent(thing):
                name = getattr(call.args[0], "name", call.args[0]) if call.args else call.options.get("name")
                return (
                    f"mechanism {origin.name!r} cannot be sent to another process: {call.method} {name!r} holds "
                    f"{_described(thing)}, which Python cannot find there by its name. Define it at the top of a module, "
                    "or install cloudpickle, which sends its code."
                )
    return f"mechanism {origin.name!r} cannot be sent to another process: {type(error).__name__}: {error}"


def _leaves(thing: Any) -> Iterator[Any]:
    """Yield what nested tuples, lists, dicts and elements contain, the innermost first."""
    found: list[Any] = []
    mapped(thing, found.append)
    for leaf in found:
        if isinstance(leaf, Element):
            yield from _leaves(dict(vars(leaf)))
        yield leaf


def _can_be_sent(thing: Any) -> bool:
    try:
        pickle.dumps(thing)
    except Exception:
        return False
    return True


def _described(thing: Any) -> str:
    """Return a name of a function, or of the class of another thing, and where it is defined."""
    if not isfunction(thing):
        return f"a {type(thing).__qualname__} of the module {type(thing).__module__!r}"
    code = thing.__code__
    return f"{thing.__qualname__} ({Path(code.co_filename).name}, line {code.co_firstlineno})"
