"""Names of the fields of an element: a name that its contract uses for something else is refused."""

import inspect
from typing import Any

from treemech.topology.errors import ElementError

USED = ("declared", "sizes_at", "members_at", "author_methods")  # of every element, by the machinery


def refuse_taken_names(cls: Any, contract: type) -> None:
    """Refuse fields and class attributes that take the name of a method of the contract, when a class is made.

    A field named as a method would take the method for its default value, or replace it by a number.
    """
    noted = inspect.get_annotations(cls)
    fields = [name for name, note in noted.items() if "ClassVar" not in str(note)]
    replaced = [
        name
        for name, value in vars(cls).items()
        if name not in noted and not callable(value) and not isinstance(value, (classmethod, staticmethod))
    ]
    for name in (*fields, *replaced):
        use = use_of(name, cls, contract, name in fields)
        if use:
            what = "a field" if name in fields else "a class attribute"
            raise ElementError(
                f"{cls.__name__} has {what} named {name!r}, a name that is taken: {use}. Choose another name, for example "
                f"{name + '_'!r}."
            )


def use_of(name: str, cls: Any, contract: type, field: bool) -> str:
    """Return what the contract uses a name for; empty if an author may give it to a field or an attribute."""
    for base in cls.__mro__[1:]:
        if base is object or not issubclass(base, contract) or name not in vars(base):
            continue
        if name in vars(base).get("__dataclass_fields__", ()):
            return ""
        found = vars(base)[name]
        if inspect.isfunction(found) or isinstance(found, (classmethod, staticmethod)):
            return f"{base.__name__}.{name}() is a method of every {base.__name__}"
        if isinstance(found, property) and field:
            return f"{base.__name__}.{name} is a property of every {base.__name__}"
        if field and name.startswith("is_"):
            return f"{base.__name__}.{name} tells what kind of element it is"
    if any(name in vars(base).get("author_methods", ()) for base in cls.__mro__[1:]):
        return f"it is a method that an author may write, {name}(...)"
    if field and name in USED:
        return "treemech keeps its own data under it"
    return ""
