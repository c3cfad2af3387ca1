"""Dataclasses whose methods are written when one of them is first used.

Python writes and compiles the methods of a dataclass while it makes the class, which takes 0.4 ms. A process imports many more of
them than it uses, and this was a fifth of the time to a first result. Once used, a class is what ``dataclasses.dataclass`` makes of it.
"""

import dataclasses
import sys
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any

_ALWAYS = {
    "init": True,
    "repr": False,
    "eq": False,
}  # what almost every class needs is written before the rest
_REST = ["__dataclass_params__", *(["__replace__"] if sys.version_info >= (3, 13) else [])]
_lock = RLock()


class _Deferred:
    """Stand for one attribute of a class; the first one that is asked for has its group of them written."""

    def __init__(self, cls: Any, name: str, write: partial[None]) -> None:
        self.cls, self.name, self.write = cls, name, write

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        self.write()
        if self.name not in vars(self.cls):  # a field without a default leaves nothing in its class
            raise AttributeError(f"type object {self.cls.__name__!r} has no attribute {self.name!r}")
        made = vars(self.cls)[self.name]
        return made.__get__(instance, owner) if hasattr(type(made), "__get__") else made


def _write(cls: Any, names: list[str], original: dict[str, Any], options: dict[str, Any]) -> None:
    """Replace what stands for these attributes by those of a twin, so that other threads meet no half of a class."""
    with _lock:
        waiting = [name for name in names if isinstance(vars(cls).get(name), _Deferred)]
        if not waiting:
            return
        twin = vars(dataclasses.dataclass(**options)(type(cls.__name__, cls.__bases__, original.copy())))
        for name in waiting:
            if name in twin:
                setattr(cls, name, twin[name])
            else:
                delattr(cls, name)


def _freeze(cls: Any) -> None:
    """Refuse to set and delete fields. The methods of the twin would name the twin."""

    def refuse(self: Any, name: str, what: str) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise dataclasses.FrozenInstanceError(f"cannot {what} field {name!r}")

    def set_attribute(self: Any, name: str, value: Any) -> None:
        refuse(self, name, "assign to")
        super(cls, self).__setattr__(name, value)

    def delete_attribute(self: Any, name: str) -> None:
        refuse(self, name, "delete")
        super(cls, self).__delattr__(name)

    cls.__setattr__, cls.__delattr__ = set_attribute, delete_attribute


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options):
        """Make a class a dataclass at its first use, with the options of ``dataclasses.dataclass`` but slots and order.

        >>> @dataclass(frozen=True)
        ... class Gap:
        ...     low: float = 0.0
        >>> Gap(1.0) == Gap(1.0), repr(Gap())
        (True, 'Gap(low=0.0)')
        """
        if cls is None:
            return partial(dataclass, **options)
        original = {name: x for name, x in vars(cls).items() if name not in ("__dict__", "__weakref__")}
        eq, frozen = options.get("eq", True), options.get("frozen", False)
        fields = [name for name, x in original.items() if isinstance(x, dataclasses.Field)]
        always = ["__init__", "__match_args__", "__dataclass_fields__", *fields]
        rest = [*_REST, *(["__repr__"] if options.get("repr", True) else []), *(["__eq__"] if eq else [])]
        if eq and "__hash__" not in original:
            if frozen:
                rest.append("__hash__")
            else:
                cls.__hash__ = None
        for names, how in ((always, options | _ALWAYS), (rest, options)):
            write = partial(_write, cls, names, original, how)
            for name in names:
                if name not in original or name in fields:
                    setattr(cls, name, _Deferred(cls, name, write))
        if frozen:
            _freeze(cls)
        return cls
