"""Statements: the calls that described a system, with all arguments by name."""

from collections.abc import Iterator
from inspect import signature
from typing import Any, NamedTuple

from ..description.composite import Composite
from ..description.recording import Journal
from ..system import System


class Statement(NamedTuple):
    """A call of a method: its name, the name it gives, the other arguments by name (unnamed ones as a tuple)."""

    method: str
    name: str
    options: dict[str, Any]


def statements(journal: Journal) -> Iterator[Statement]:
    """Return the calls of a system or a composite as statements, in their order."""
    for call in journal.calls:
        method = getattr(type(journal), call.method)
        _, named, *rest = signature(method).bind(journal, *call.args, **call.options).arguments.items()
        name = getattr(named[1], "name", named[1])  # a hinge is written as its name
        options = dict(rest)
        if isinstance(journal, System) and isinstance(options.get("element"), Composite):
            options["element"] = journal.assemblies.get(name, options["element"])
        yield Statement(call.method, name, options)
