"""Text of several lines, shown as it is where an object would show its repr."""


class Text(str):
    """A string whose repr is its text, so that a drawing reads well at a prompt and in a notebook.

    >>> Text("a\\nb")
    a
    b
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
