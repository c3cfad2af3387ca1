"""Elements (ch. 3), which join and drive bodies. Built-in elements use no API that user elements cannot use.

A file is loaded when one of its names is first used, so a model with two hinges loads two hinges only. The
one list of names and files is __init__.pyi, which type checkers read too.
"""

from importlib import import_module
from os.path import dirname as _dirname
from typing import Any

# Groups of elements that are built into the library, by the contract of their role
_GROUPS = {
    "HINGES": "Hinge",
    "SIGNALS": "Signal",
    "LOADS": "Load",
    "CONSTRAINTS": "Constraint",
    "COUPLINGS": "Coupling",
    "ENERGETIC": "Energetic",
    "ASSEMBLED": "Element",
}


def _read_list() -> dict[str, str]:
    """Return the file of every name, from the lines ``from .file import name as name`` of the list."""
    with open(f"{_dirname(__file__)}/__init__.pyi", encoding="utf-8") as file:
        words = [line.split() for line in file if line.startswith("from ")]
    return {line[3]: line[1] for line in words}


_FILE_OF = _read_list()
__all__ = sorted([*_GROUPS, *_FILE_OF])


def _is_built(cls: Any) -> bool:
    """Tell whether the library holds this class.

    It holds no contracts (they are no dataclasses), no elements with an author's function, and no elements
    with any number of ends.
    """
    fields = vars(cls).get("__dataclass_fields__") if isinstance(cls, type) else None
    element = fields is not None and issubclass(cls, __getattr__("Element"))
    return element and "function" not in fields and getattr(cls, "n_ends", 0) is not None


def _group(name: str) -> tuple[Any, ...]:
    """Return the built elements of one role; those made of other elements have a group of their own."""
    contract, assembled = __getattr__(_GROUPS[name]), name == "ASSEMBLED"
    listed = dict.fromkeys(__getattr__(element) for element in _FILE_OF)  # some have two names
    return tuple(
        cls
        for cls in listed
        if _is_built(cls) and issubclass(cls, contract) and hasattr(cls, "sizes_at") == assembled
    )


def __getattr__(name: str) -> Any:
    value: Any
    if name in _GROUPS:
        value = _group(name)
    elif name in _FILE_OF:
        value = getattr(import_module(_FILE_OF[name], __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
