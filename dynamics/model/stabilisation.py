"""Ways to keep chains closed during an integration (8.4)."""

import numpy as np

from treemech.topology import TreemechError

STABILISATIONS = ("default", "projection", "baumgarte", "partitioning", "none")
_BAUMGARTE = 20.0  # gain [1/s] unless given


def stabilisation(how: str | tuple[str, float]) -> tuple[str, float]:
    """Check a way to keep chains closed and return (name, gain)."""
    pair = (how, _BAUMGARTE) if isinstance(how, str) else how
    name, gain = pair if isinstance(pair, tuple) and len(pair) == 2 else (None, _BAUMGARTE)
    if name not in STABILISATIONS:
        raise TreemechError(f"stabilisation is {how!r}; wanted one of {', '.join(STABILISATIONS)}.")
    if not (isinstance(gain, (int, float, np.number)) and np.isfinite(gain) and gain > 0.0):
        raise TreemechError(
            f"the gain of Baumgarte's stabilisation is {gain}; wanted a positive number [1/s]."
        )
    return name, gain
