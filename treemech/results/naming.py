"""Names of numbers, read and written in one place: "A", "A[1]", "A.q[1]", "A.q > 1.2".

A place is a connection or an element, or one of its numbers: "A", "A[1]". A quantity adds what is meant of
it: "A.q", "rod.position[2]". A comparison has one of them, or a number, on each side.
"""

import re
from collections.abc import Container, Iterable, Mapping
from typing import Any, NamedTuple

from treemech.topology import ElementError
from treemech.topology.deferred import dataclass

# Texts, so that a pattern is compiled when it is first needed
_PLACE = r"(?s)(.+)\[([^\[\]]*)\]"
_QUANTITY = r"(?s)(.+)\.(\w+)((?:\[\d+\])*)"
_COMPARISON = r"\s*(.+?)\s*(>=|<=|==|>|<)\s*(.+?)\s*"


@dataclass(frozen=True)
class Place:
    """Name of all numbers of a connection or an element, "A", or of one of them, "A[1]"."""

    owner: str
    index: str | None = None  # the text between the brackets; None: all numbers

    def __str__(self) -> str:
        return self.owner if self.index is None else f"{self.owner}[{self.index}]"

    @property
    def selection(self) -> int | slice:
        """Index of the meant numbers among those of the owner.

        Raises ValueError if the brackets hold no number.
        """
        return slice(None) if self.index is None else int(self.index)

    @property
    def number(self) -> int | None:
        """The index as a number; None if all numbers are meant or the brackets hold no number."""
        try:
            return int(self.index or "")
        except ValueError:
            return None

    def below(self, count: int) -> int | None:
        """Return the index if it is one of 0 to count - 1; else None."""
        number = self.number
        return number if number is not None and 0 <= number < count else None


class Quantity(NamedTuple):
    """Name of a quantity of a connection, body or element, "A.q", or of one of its numbers, "A.q[1]"."""

    owner: str
    quantity: str
    indices: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.owner}.{self.quantity}" + "".join(f"[{k}]" for k in self.indices)

    @property
    def place(self) -> Place:
        """The owner with the first index: "A[1]" of "A.q[1]"."""
        return Place(self.owner, str(self.indices[0]) if self.indices else None)


class Comparison(NamedTuple):
    """A comparison of two sides: "A.q > 1.2"."""

    left: str
    sign: str  # ">", "<", ">=", "<=" or "=="
    right: str


def as_names(given: Any, what: str) -> list[str]:
    """Return names given in a list, or one alone. `what` is the argument that a message names.

    >>> as_names("pin", "hold"), as_names(("pin", "rail"), "hold")
    (['pin'], ['pin', 'rail'])
    """
    if isinstance(given, str):
        return [given]
    names = list(given) if isinstance(given, Iterable) else [given]
    if any(not isinstance(name, str) for name in names):
        raise ElementError(f"{what} is {given!r}; wanted a list of names, ['A', 'B'].")
    return names


def as_numbers_by_name(given: Any, what: str) -> Mapping[Any, Any]:
    """Return numbers by name, none for None."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ElementError(f"{what} is {given!r}; wanted numbers by name, {{'A': 0.3}}.")
    return given


def as_place(text: str, known: Container[str] = ()) -> Place:
    """Read "A" or "A[1]". A known name is taken whole, brackets included.

    >>> as_place("A[1]")
    Place(owner='A', index='1')
    >>> as_place("leg[0]", known=["leg[0]"])
    Place(owner='leg[0]', index=None)
    """
    match = None if text in known else re.fullmatch(_PLACE, text)
    return Place(text) if match is None else Place(match[1], match[2])


def named_coordinates(owner: str, element: Any) -> dict[str, str]:
    """Return the names of coordinates an element gives: "pose.roll" for "pose[4]" of a Series with named members."""
    names = getattr(element, "coordinate_names", ())
    if getattr(element, "euler_parameters", None) is not None:  # speeds have other numbers than coordinates
        return {}
    return {f"{owner}.{name}": f"{owner}[{k}]" for k, name in enumerate(names)}


def as_quantity(text: str) -> Quantity | None:
    """Read "A.q" or "rod.position[2]". Return None if the text has another form.

    >>> as_quantity("rod.position[2]")
    Quantity(owner='rod', quantity='position', indices=(2,))
    """
    match = re.fullmatch(_QUANTITY, text)
    if match is None:
        return None
    return Quantity(match[1], match[2], tuple(int(k) for k in re.findall(r"\d+", match[3])))


def as_coordinate(text: str) -> Quantity | None:
    """Read a coordinate or a speed of a hinge, "A.q", "A.u[1]". Return None if the text has another form."""
    found = as_quantity(text)
    return found if found is not None and found.quantity in ("q", "u") and len(found.indices) < 2 else None


def as_comparison(text: str) -> Comparison | None:
    """Read "A.q > 1.2". Return None if the text is not one comparison.

    >>> as_comparison("A.q > 1.2")
    Comparison(left='A.q', sign='>', right='1.2')
    """
    match = re.fullmatch(_COMPARISON, text)
    return None if match is None or re.search("[<>=]", match[3]) else Comparison(*match.groups())


def numbered(owner: str, count: int) -> list[str]:
    """Return the names of all numbers of a connection or an element: "A", or, if there are several, "A[0]", "A[1]", ...

    >>> numbered("A", 1), numbered("C", 2)
    (['A'], ['C[0]', 'C[1]'])
    """
    return [owner] if count == 1 else [f"{owner}[{k}]" for k in range(count)]
