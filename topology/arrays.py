"""Types of arrays, and addresses of arrays."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def address(array: NDArray) -> int:
    """Return the address of the first number of an array."""
    start: int = array.__array_interface__["data"][0]
    return start


def addresses(arrays: Iterable[NDArray]) -> list[int]:
    """Return the address of the first number of each array."""
    return [array.__array_interface__["data"][0] for array in arrays]
