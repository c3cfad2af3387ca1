"""Coupling elements: equations between coordinates of different hinges (gears, racks, differentials)."""

from copy import copy
from math import prod
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology.arrays import Floats
from treemech.topology.body import as_vector
from treemech.topology.errors import ElementError

from .element import Element


class CouplingRows(NamedTuple):
    """Equations of a coupling, one row each. Arrives zeroed.

    velocity        partials . u  + drift = 0
    acceleration    partials . u' + bias  = 0
    """

    residual: Floats  # (n,), zero in nonholonomic rows
    drift: Floats  # (n,)
    bias: Floats  # (n,)
    partials: Floats  # (n, k)


def coupling_layout(n_rows: int, n_arguments: int) -> list[tuple[str, tuple[int, ...], int]]:
    """Return (name, shape, start) of each quantity in the flat record of a coupling."""
    layout, start = [], 0
    for name in CouplingRows._fields:
        shape: tuple[int, ...] = (n_rows, n_arguments) if name == "partials" else (n_rows,)
        layout.append((name, shape, start))
        start += prod(shape)
    return layout


def coupling_size(n_rows: int, n_arguments: int) -> int:
    """Return the length of the flat record of a coupling."""
    return n_rows * (3 + n_arguments)


def coupling_views(record: Floats, n_rows: int, n_arguments: int) -> CouplingRows:
    """Return the flat record as CouplingRows of views."""
    layout = coupling_layout(n_rows, n_arguments)
    return CouplingRows(*(record[start : start + prod(shape)].reshape(shape) for _, shape, start in layout))


class Coupling(Element):
    """The contract of a coupling. A subclass is a frozen dataclass; its fields are its parameters.

    1. ``n_holonomic`` and ``n_nonholonomic`` count the equations on coordinates and on speeds.
       ``n_arguments`` is the number of coordinates that it joins; None: as many as `system.couple` gives it.
    2. Write ``residual(self, q, t, f)``: n_holonomic equations f = 0 between the coordinates q, in the order
       given to `system.couple`; and, for equations on speeds, ``slip(self, q, u, t, f)``: n_nonholonomic
       equations f = 0, linear in u. f arrives zeroed; a signal field is a number. The rows follow exactly
       from the same source compiled for jet numbers.
    3. Or write ``evaluate(self, q, u, t, rows)``: it fills in all CouplingRows, the equations of ``residual``
       first. Here a signal field has value, rate and acceleration. If residual or slip exist too, `tm.check`
       compares them with evaluate.
    4. ``partials`` (P) and ``drift`` (P0) do not depend on u; ``bias`` (P00) is the remainder for u' = 0
       (5.3.17).
    5. Plain scalar Python is enough and best. It must depend on its arguments and fields only.
    6. Optional: ``sample(rng, t)`` (coordinates for the check).

    `tm.check(coupling)` checks all of this.
    """

    n_holonomic: int = 1
    n_nonholonomic: int = 0
    n_arguments: int | None = None
    is_coupling: ClassVar[bool] = True
    author_methods = ("residual", "slip")

    @property
    def n_rows(self) -> int:
        return self.n_holonomic + self.n_nonholonomic

    def evaluate(self, q: Floats, u: Floats, t: float, rows: CouplingRows) -> None:
        raise ElementError(f"{self.kind} has neither evaluate() nor residual() or slip(): write one of them.")

    def joining(self, n_arguments: int) -> Self:
        """Return this coupling for `n_arguments` coordinates: itself, or a copy that stores the number.

        >>> Coupling().joining(3).n_arguments
        3
        """
        if self.n_arguments == n_arguments:
            return self
        if self.n_arguments is not None:
            raise ElementError(f"{self.kind} joins {self.n_arguments} coordinates, got {n_arguments}.")
        other = copy(self)
        object.__setattr__(other, "n_arguments", n_arguments)
        return other

    def sample(self, rng: "np.random.Generator", t: float) -> Floats:
        """Return random coordinates for `tm.check`; they need not satisfy the coupling."""
        return rng.uniform(-1.0, 1.0, self.n_arguments or 0)

    def rows(self, q: ArrayLike, u: ArrayLike | None = None, t: float = 0.0) -> CouplingRows:
        """Evaluate the rows at q, u, t once and return them.

        Python evaluates them, or the compiled function if the author wrote residual and slip.
        """
        if self.n_arguments is None:
            return self.joining(len(np.atleast_1d(q))).rows(q, u, t)
        k = self.n_arguments
        numbers = as_vector(q, f"{self.kind}: q", k)
        speeds = np.zeros(k) if u is None else as_vector(u, f"{self.kind}: u", k)
        record = np.zeros(coupling_size(self.n_rows, k))
        rows = coupling_views(record, self.n_rows, k)
        if type(self).evaluate is Coupling.evaluate:
            from .compilation.entry import call  # imported here because it compiles

            call(self, "coupling", numbers, speeds, t, record)
        else:
            from .compilation.callback import python_self

            type(self).evaluate(python_self(self, t), numbers, speeds, t, rows)
        return rows
