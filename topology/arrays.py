"""Types of arrays, and the address of an array."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def address(array: NDArray) -> int:
    """Return the address of the first number of an array."""
    start: int = array.__array_interface__["data"][0]
    return start
