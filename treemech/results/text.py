"""Text of several lines, shown as it is where an object would show its repr."""

from collections.abc import Iterable


class Text(str):
    """A string whose repr is its text, so that a drawing reads well at a prompt and in a notebook.

    >>> Text("a\\nb")
    a
    b
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def contents(thing: object, names: Iterable[str]) -> str:
    """Return a repr that says what a result has, without computing it: the numbers of a whole run are no text.

    >>> contents(Text(), ["q", "u"])
    'Text(q, u)'
    """
    name = getattr(thing, "__dict__", {}).get("name")
    owner = "" if name is None else f"{name!r}: "
    return f"{type(thing).__name__}({owner}{', '.join(n for n in names if n != 'name')})"
