"""Constraint rows as the core evaluates them, and the words for them in messages."""

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np

from treemech.topology.arrays import Floats

Rows = list[tuple[str, int]]  # (connection, number within it) of every row


class Constraints(Protocol):
    """Constraint rows at a state with given accelerations: f, P, P u + P0, P ud + P00."""

    @property
    def residual(self) -> Floats: ...
    @property
    def partials(self) -> Floats: ...
    @property
    def velocity(self) -> Floats: ...
    @property
    def bias(self) -> Floats: ...


Evaluate = Callable[[Floats, Floats], Constraints]  # q, u -> constraints


def worst_row(rows: Rows, residual: Floats) -> tuple[str, float]:
    """Return (connection, gap) of the chord that is farthest from closing; ("", 0) without rows.

    >>> worst_row([("A", 0), ("B", 0), ("A", 1)], np.array([3.0, 4.5, 4.0]))
    ('A', 5.0)
    """
    gaps: dict[str, float] = {}
    for (name, _), value in zip(rows, residual, strict=True):
        gaps[name] = float(np.hypot(gaps.get(name, 0.0), value))
    name = max(gaps, key=lambda n: gaps[n], default="")
    return name, gaps.get(name, 0.0)


def quoted(names: Iterable[str]) -> str:
    """Join names for a message.

    >>> quoted(["A", "B"])
    "'A', 'B'"
    """
    return ", ".join(repr(str(name)) for name in names)


def freedoms(n: int) -> str:
    """Count degrees of freedom in words.

    >>> freedoms(1)
    '1 degree of freedom'
    """
    return f"{n} degree{'' if n == 1 else 's'} of freedom"
