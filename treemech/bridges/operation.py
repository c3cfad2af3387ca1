"""A function of arrays with derivatives, evaluated row by row of leading axes; every framework wraps this one form."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from treemech.topology.arrays import Floats

Shape = tuple[int, ...]


class Operation(ABC):
    """Function of arrays.

    Attributes
    ----------
    shapes : shapes of one row of the arguments
    results : shapes of one row of the results
    slopes : shapes of one row of what `pullback` needs
    """

    shapes: tuple[Shape, ...]
    results: tuple[Shape, ...]
    slopes: tuple[Shape, ...]

    @abstractmethod
    def row(self, *arguments: Floats) -> tuple[Floats, ...]:
        """Return the results of one row."""

    @abstractmethod
    def row_slopes(self, *arguments: Floats) -> tuple[Floats, ...]:
        """Return the results of one row, then its slopes."""

    @abstractmethod
    def pullback(self, slopes: Sequence[Floats], of_results: Sequence[Floats]) -> tuple[Floats, ...]:
        """Return derivatives by the arguments of what has derivatives `of_results`; leading axes go along."""

    def values(self, *arguments: Any) -> tuple[Floats, ...]:
        """Return the results, with the leading axes of the arguments."""
        return self._rows(self.row, self.results, arguments)

    def with_slopes(self, *arguments: Any) -> tuple[Floats, ...]:
        """Return the results and the slopes, with the leading axes of the arguments."""
        return self._rows(self.row_slopes, (*self.results, *self.slopes), arguments)

    def _rows(self, one: Any, shapes: Sequence[Shape], arguments: Sequence[Any]) -> tuple[Floats, ...]:
        given = [np.asarray(a, dtype=np.float64) for a in arguments]
        lead = given[0].shape[: given[0].ndim - len(self.shapes[0])]
        count = int(np.prod(lead))
        flat = [a.reshape(count, *shape) for a, shape in zip(given, self.shapes, strict=True)]
        found = [np.empty((count, *shape)) for shape in shapes]
        for k in range(count):
            for array, value in zip(found, one(*(a[k] for a in flat)), strict=True):
                array[k] = value
        return tuple(a.reshape(*lead, *shape) for a, shape in zip(found, shapes, strict=True))


def split(row: Floats, sizes: Sequence[int]) -> tuple[Floats, ...]:
    """Return the parts of the last axis, of these sizes."""
    return tuple(np.split(row, np.cumsum(sizes)[:-1].tolist(), axis=-1))
