"""Modes of small motions: eigenvalues with their shapes, as a motion and as a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import index
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from treemech.topology import ElementError, TreemechError
from treemech.topology.arrays import Floats

_FRAMES = 48  # outputs in a period
_SLOW = 2.0  # seconds a mode that does not oscillate is shown for, to and fro

# times, displacements of the speeds (rows), their rates -> a run
Mover = Callable[[Floats, Floats, Floats], Any]


class Mode(NamedTuple):
    """An eigenvalue and its shape: the part of every coordinate, the largest being 1."""

    eigenvalue: complex
    shape: dict[str, complex]  # displacements by the names of the speeds, those of cut hinges too

    @property
    def frequency(self) -> float:
        """Frequency of the oscillation [Hz]; 0 if it does not oscillate."""
        return abs(self.eigenvalue.imag) / (2.0 * np.pi)

    @property
    def damping_ratio(self) -> float:
        """Part of the critical damping; 1 for a motion that dies out without oscillating, -1 for one that grows so."""
        size = abs(self.eigenvalue)
        return -self.eigenvalue.real / size if size > 0.0 else 0.0


class Modes(list[Mode]):
    """The modes in the order of `Linearization.eigenvalues`; they can be moved, animated and drawn."""

    def __init__(self, modes: Iterable[Mode], speeds: list[str], mover: Mover | None = None) -> None:
        super().__init__(modes)
        self._speeds, self._mover = speeds, mover

    def motion(self, number: int, amplitude: float = 0.2, periods: int = 3) -> Any:
        """Return a Run of the oscillation in one mode, without its growth or decay.

        `amplitude` is the displacement of the coordinate that moves most [rad or m]. Closed chains are closed again at
        every output, so large amplitudes leave the shape of the mode.
        """
        mode = self._mode(number)
        if self._mover is None:
            raise TreemechError("these modes do not know their mechanism: use mech.linearize(state).modes.")
        if not amplitude > 0.0 or periods < 1:
            raise ElementError(
                f"modes.motion: amplitude is {amplitude!r}, periods {periods!r}; wanted positive numbers."
            )
        rate = 2.0 * np.pi * mode.frequency or 2.0 * np.pi / _SLOW
        t = np.linspace(0.0, periods * 2.0 * np.pi / rate, periods * _FRAMES + 1)
        shape = amplitude * np.array([mode.shape[name] for name in self._speeds])
        turn = np.exp(1j * rate * t)[:, None]
        return self._mover(t, (turn * shape).real, (1j * rate * turn * shape).real)

    def animate(self, number: int, path: str | Path, amplitude: float = 0.2, periods: int = 3) -> Path:
        """Write the animation of one mode, as `Run.animate` does; return the path of the page."""
        found: Path = self.motion(number, amplitude, periods).animate(path)
        return found

    def _mode(self, number: int) -> Mode:
        try:
            return self[index(number)]
        except (TypeError, IndexError):
            raise ElementError(f"there is no mode {number!r}: there are {len(self)}, from 0.") from None
