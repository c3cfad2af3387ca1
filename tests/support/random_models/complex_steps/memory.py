"""Memory of the core for complex numbers: beside every array of floats one of Python numbers, found by the same addresses."""

import ctypes
from bisect import bisect_right, insort
from typing import Any

import numpy as np


class Memory:
    """Arrays of Python numbers in the place of arrays of floats, from now on: what they hold is copied."""

    def __init__(self, *owners: Any):
        self.blocks: list[tuple[int, int, Any]] = []  # (start, end, numbers)
        self.views: dict[tuple[int, int], Any] = {}
        for array in arrays_of(owners):
            self.add(array)

    def add(self, array: Any) -> Any:
        """Take in an array of floats. Return the numbers in its place, in its shape."""
        start = address(array)
        numbers = array.reshape(-1).astype(object)
        self.blocks += [
            (start, start + array.nbytes, numbers),
            (address(numbers), address(numbers) + numbers.nbytes, numbers),
        ]
        self.blocks.sort(key=lambda block: block[0])
        return numbers.reshape(array.shape)

    def know(self, numbers: Any) -> None:
        """Take in numbers by their own address."""
        start = address(numbers)
        insort(self.blocks, (start, start + numbers.nbytes, numbers.reshape(-1)), key=first)

    def of(self, array: Any) -> Any:
        """Return the numbers in the place of an array."""
        return self.view(address(array), array.size).reshape(array.shape)

    def view(self, start: int, n: int) -> Any:
        """Return the n numbers at an address, or those that there are: assembled elements do not know how many."""
        key = (start, n)
        found = self.views.get(key)
        if found is None:
            found = self.views[key] = self._find(start, n)
        return found

    def _find(self, start: int, n: int) -> Any:
        k = bisect_right(self.blocks, start, key=first) - 1
        begin, end, numbers = self.blocks[k] if k >= 0 else (0, 0, None)
        if not n:
            return np.zeros(0, dtype=object)
        if not begin <= start < end:
            raise LookupError(f"{n} numbers at {start:#x} belong to no known array")
        at = (start - begin) // 8
        return numbers[at : at + n]


def first(block: tuple[int, int, Any]) -> int:
    return block[0]


def address(array: Any) -> int:
    start: int = array.__array_interface__["data"][0]
    return start


def arrays_of(owners: Any) -> list[Any]:
    """Return all contiguous arrays of floats that objects hold, each once and whole, even if a part of it is held."""
    found, seen, left = dict[int, Any](), set[int](), list(owners)
    while left:
        owner = left.pop()
        if isinstance(owner, np.ndarray):
            while isinstance(owner.base, np.ndarray):
                owner = owner.base
            if owner.dtype == np.float64 and owner.size and owner.flags.c_contiguous:
                found[address(owner)] = owner
            continue
        if id(owner) in seen:
            continue
        seen.add(id(owner))
        if isinstance(owner, (tuple, list)):
            left += owner
        elif isinstance(owner, dict):
            left += owner.values()
        elif type(owner).__module__.startswith("treemech.") and hasattr(owner, "__dict__"):
            left += vars(owner).values()
    return list(found.values())


# ---------------------------------------------------------------- in place of functions of the library
active: list[Memory] = []  # the memory in use is the last one; without any, numbers are floats


def floats(start: int, n: int) -> Any:
    """Return the n numbers at an address."""
    n = int(n)
    if active:
        return active[-1].view(int(start), n)
    return np.ctypeslib.as_array((ctypes.c_double * n).from_address(int(start))) if n else np.zeros(0)


def floats2(start: int, n: int, m: int) -> Any:
    return floats(start, n * m).reshape(n, m)


def stack_array(kind: str, K: int, shape: tuple[int, ...]) -> Any:
    """Return an array of zeros, for the time of an evaluation."""
    if not active:
        return np.zeros(shape)
    zeros = np.full(shape, 0.0, dtype=object)
    active[-1].know(zeros)
    return zeros
