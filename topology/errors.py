"""Exceptions of the library. Every message names the objects of the user and tells what to do."""

from collections.abc import Iterable
from typing import Any


class TreemechError(Exception):
    """Base class of all errors of treemech; catch it to catch them all."""


class TopologyError(TreemechError):
    """The bodies and connections do not make a mechanism (ch. 4)."""


class ElementError(TreemechError, ValueError):
    """An element breaks its contract, or raises an exception during an analysis.

    ``partial`` holds the results that the analysis had computed before, if there are any.
    """

    partial: Any = None


class SingularError(TreemechError):
    """A mass matrix or a set of constraints loses rank: it has no unique solution (8.2)."""


class ConvergenceError(TreemechError):
    """An iteration does not converge."""


def unknown(kind: str, name: object, known: Iterable[str]) -> str:
    """Return the sentence for a name that does not exist; it offers the most similar name that does.

    >>> unknown("hinge", "shoulde", ["shoulder", "elbow"])
    "there is no hinge 'shoulde': did you mean 'shoulder'?"
    >>> unknown("body", "x", ["arm"])
    "there is no body 'x': there are 'arm'."
    """
    from difflib import get_close_matches  # only needed when something went wrong

    names = list(known)
    close = get_close_matches(str(name), names, n=1)
    if close:
        return f"there is no {kind} {name!r}: did you mean {close[0]!r}?"
    if not names:
        return f"there is no {kind} {name!r}: the system has none."
    listed = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
    return f"there is no {kind} {name!r}: there are {listed}."
