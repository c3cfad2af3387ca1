"""Sampled control: functions called exactly at their instants, their outputs held in between."""

from collections.abc import Callable, Mapping
from math import ceil, isfinite
from typing import TYPE_CHECKING

import numpy as np

from treemech.topology import ElementError, TopologyError
from treemech.topology.arrays import Floats
from treemech.topology.user_code import user_code

from ..results.measures import Measure, find_measure

if TYPE_CHECKING:
    from ..description.wiring import Controller
    from ..results.run import Run


def described(controllers: "Mapping[str, Controller]") -> list[list[object]]:
    """Return the controllers as data for JSON, without the code of their functions."""
    return [[c.name, c.period, list(c.measures), list(c.inputs)] for c in controllers.values()]


def _measure(measures: Mapping[str, Measure], name: str, controller: str) -> Measure:
    try:
        return find_measure(measures, name)
    except ElementError as error:
        raise ElementError(f"controller {controller!r}: {error}") from None


def _is_finite(value: object) -> bool:
    return isinstance(value, float) and isfinite(value)


class Sampling:
    """All controllers of a mechanism over one simulation.

    `look(t, y)` returns a Run of the one integrator state y; `places` has the index in y of each held input;
    `place` that of a measure which is a number of y, None for others.
    """

    def __init__(
        self,
        controllers: "Mapping[str, Controller]",
        measures: Mapping[str, Measure],
        look: "Callable[[float, Floats], Run]",
        places: Mapping[str, int],
        place: Callable[[Measure], int | None] = lambda measure: None,
    ) -> None:
        self.controllers, self.look, self.places = list(controllers.values()), look, places
        self.measures = [[_measure(measures, n, c.name) for n in c.measures] for c in self.controllers]
        found = [
            [place(m) for m in own] for own in self.measures
        ]  # in y, where all of a controller's have one
        self._seen = [[k for k in own if k is not None] for own in found]
        self._direct = [None not in own for own in found]
        self.looks = not all(self._direct)  # whether the model is evaluated for a call
        for c in self.controllers:
            for name in c.inputs:
                if name not in places:
                    raise TopologyError(
                        f"controller {c.name!r} sets {name!r}, which no element takes as an input."
                    )

    def instants(self, t0: float, t1: float) -> tuple[float, ...]:
        """Return the times of the calls, multiples of the periods: from t0, before t1."""
        low, high = min(t0, t1), max(t0, t1)
        times = set[float]()
        for c in self.controllers:
            first = ceil(low / c.period - 1e-12)
            times |= {k * c.period for k in range(first, ceil(high / c.period))}
        return tuple(sorted(times))

    def __call__(self, t: float, y: Floats) -> None:
        """Call those whose instant t is, and write their outputs into y."""
        run: Run | None = None
        for c, measures, seen_at, direct in zip(
            self.controllers, self.measures, self._seen, self._direct, strict=True
        ):
            count = t / c.period
            if abs(count - round(count)) > 1e-9 * max(1.0, abs(count)):
                continue
            if direct:
                seen = [float(y[k]) for k in seen_at]
            else:
                run = self.look(t, y) if run is None else run
                seen = [float(m.of(run)[0]) for m in measures]
            try:
                with user_code:
                    given = c.function(t, *seen)
            except Exception as error:
                raise ElementError(
                    f"controller {c.name!r} failed at t = {t:.6g} s: {type(error).__name__}: {error}"
                ) from error
            plain = (given,) if isinstance(given, float) else given  # the common case without arrays
            if (
                isinstance(plain, tuple | list)
                and len(plain) == len(c.inputs)
                and all(map(_is_finite, plain))
            ):
                for name, value in zip(c.inputs, plain, strict=True):
                    y[self.places[name]] = value
                continue
            try:
                values = np.atleast_1d(np.asarray(given, dtype=np.float64))
            except (TypeError, ValueError):
                values = np.full(1, np.nan)
            if values.shape != (len(c.inputs),) or not np.all(np.isfinite(values)):
                raise ElementError(
                    f"controller {c.name!r} gives {given!r} at t = {t:.6g} s; wanted {len(c.inputs)} finite numbers: "
                    f"{', '.join(c.inputs)}."
                )
            for name, value in zip(c.inputs, values, strict=True):
                y[self.places[name]] = value
