"""The exception family: every message names the user's objects and says what to do."""

from collections.abc import Iterable
from typing import Any


class TreemechError(Exception):
    """Anything treemech refuses to do; catch this one to catch all."""


class TopologyError(TreemechError):
    """Bodies and connections that do not make a mechanism (ch. 4)."""


class ElementError(TreemechError, ValueError):
    """An element that breaks its contract, or raises while an analysis runs.

    ``partial`` holds what the analysis had computed until then, if anything.
    """

    partial: Any = None


class SingularError(TreemechError):
    """Rank loss: a mass matrix or a set of constraints without a unique solution (8.2)."""


class ConvergenceError(TreemechError):
    """An iteration that does not reach its goal."""


def unknown(kind: str, name: object, known: Iterable[str]) -> str:
    """The sentence for a name that does not exist, with the nearest one that does.

    >>> unknown("hinge", "shoulde", ["shoulder", "elbow"])
    "there is no hinge 'shoulde': did you mean 'shoulder'?"
    >>> unknown("body", "x", ["arm"])
    "there is no body 'x': there are 'arm'."
    """
    from difflib import get_close_matches  # only where something went wrong

    names = list(known)
    close = get_close_matches(str(name), names, n=1)
    if close:
        return f"there is no {kind} {name!r}: did you mean {close[0]!r}?"
    if not names:
        return f"there is no {kind} {name!r}: the system has none."
    listed = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
    return f"there is no {kind} {name!r}: there are {listed}."
