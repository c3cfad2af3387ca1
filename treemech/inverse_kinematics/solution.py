"""What inverse kinematics found: a state, whether every end is at its target, and the gaps by name."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from treemech.topology.arrays import Floats

from ..results.state import State
from .ends import Gap

_TOLD = 1e-12  # [m, rad] a smaller part of a gap is left out of messages


@dataclass(frozen=True, eq=False)
class Solution:
    """A state with the ends at their targets, or as near to them as was found."""

    state: State
    success: bool
    message: str
    gaps: dict[str, Gap] = field(repr=False)  # (distance [m], angle [rad]) by the name of the end
    reached: dict[str, bool]
    limits: tuple[str, ...]  # coordinates that are at a limit
    iterations: int

    @property
    def q(self) -> Floats:
        """The coordinates of the state."""
        return self.state.q


@dataclass(frozen=True, eq=False)
class SolutionPath:
    """Solutions along a path of targets, one after another."""

    solutions: list[Solution] = field(repr=False)
    success: bool
    message: str

    def __getitem__(self, index: int) -> Solution:
        return self.solutions[index]

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.solutions)

    def __len__(self) -> int:
        return len(self.solutions)

    @property
    def states(self) -> list[State]:
        """The states along the path."""
        return [one.state for one in self.solutions]

    @property
    def q(self) -> Floats:
        """The coordinates along the path (n, nq)."""
        return np.array([one.state.q for one in self.solutions])


def told(
    gaps: dict[str, Gap], reached: dict[str, bool], limits: Sequence[str], attempts: int, rates: Sequence[str]
) -> str:
    """Say in words whether every end is at its target, and what is left."""
    left = [name for name, there in reached.items() if not there]
    if not left:
        return "every end is at its target"
    parts = []
    for name in left:
        sizes = [f"{gaps[name].distance:.3g} m"] if gaps[name].distance > _TOLD else []
        sizes += [f"{gaps[name].angle:.3g} rad"] if gaps[name].angle > _TOLD else []
        parts.append(f"{name!r} is out of reach: the nearest pose leaves {' and '.join(sizes)}")
    message = f"{'; '.join(parts)} (from {attempts} start{'s' if attempts > 1 else ''})."
    if limits:
        message += f" At a limit: {', '.join(map(repr, limits))}."
    if rates:
        message += f" Prescribed, and not moved: {', '.join(map(repr, rates[:6]))}."
    return message
