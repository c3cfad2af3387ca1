"""Measurements: what was measured in one experiment, and what is known of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology import ElementError, TreemechError
from treemech.topology.arrays import Floats

from ..analyses.evaluation import empty_run
from ..plots.signals import signals
from ..results.state import State

if TYPE_CHECKING:
    from ..mechanism import Mechanism


class Channel(NamedTuple):
    """One measured number over time: the signal it belongs to, its place there, its samples, its standard deviation."""

    label: str
    signal: str
    column: int
    t: Floats
    y: Floats
    sigma: float | None
    offset: bool


@dataclass(frozen=True, eq=False)
class Measurement:
    """One experiment: measured signals of a motion, or loads measured along a known motion.

    Parameters
    ----------
    signals : dict
        Values by the name of a signal, as `Run.plot` takes it: "A.q", "A.u", "A.ud", "tool.position" (n, 3),
        "tool.position[2]", "C.force[0]", a measure, ... Values (n,) at the times `t`, or a pair (times, values) for a
        signal with times of its own. nan stands for a missing sample. "A.drive" is the load of a drive along a
        known `motion`.
    t : times (n,)
        Increasing.
    start : State, or function of a Mechanism
        Start of the motion, at the first time; or where `estimate` starts looking. As in `Mechanism.sensitivities`.
    estimate : True, or names
        Start values that are unknown: "A" its coordinate, "A.u" its speed; True for all independent ones.
    offsets : names of signals
        That have an unknown constant offset.
    sigma : float, or dict by signal
        Standard deviation of the noise. Default: unknown, found from the residuals, for each number of a signal.
    inputs : dict
        Known signals of inputs by name: a signal, a number, a function of time or a table (times, values);
        ``tm.Steps(times, values)`` for what a digital controller held.
    motion : dict
        A known motion, of all independent coordinates: (q, u, ud), arrays (n,) each at the times `t`, by the
        name of a coordinate. The model is not simulated then: "A.drive" is compared with inverse dynamics, and
        positions, rotations and velocities of bodies with those of the motion.
    name : str
        For reports.
    """

    signals: Mapping[str, Any]
    t: ArrayLike | None = None
    start: "State | Callable[[Mechanism], State] | None" = None
    estimate: bool | Sequence[str] = ()
    offsets: Sequence[str] = ()
    sigma: float | Mapping[str, float] | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    motion: Mapping[str, Any] | None = None
    name: str = ""

    def channels(self, mech: "Mechanism", what: str) -> list[Channel]:
        """Return the measured numbers, checked against a mechanism."""
        if not isinstance(self.signals, Mapping) or not self.signals:
            raise ElementError(f"{what}: signals is {self.signals!r}; wanted {{name of a signal: values}}.")
        for given, which in ((self.offsets, "offsets"), (self.sigma, "sigma")):
            names = given if isinstance(given, (Mapping, Sequence)) else ()
            for name in [names] if isinstance(names, str) else names:
                if name not in self.signals:
                    raise ElementError(
                        f"{what}: {which} names {name!r}, which is not among the signals measured: {', '.join(self.signals)}."
                    )
        found, run = list[Channel](), empty_run(mech)
        for name, given in self.signals.items():
            own = isinstance(given, tuple) and len(given) == 2 and np.ndim(given[1]) > 0
            t = times_of(given[0] if own else self.t, f"{what}: times of {name!r}")
            y = _columns(given[1] if own else given, f"{what}: {name!r}")
            if len(y) != len(t):
                raise ElementError(f"{what}: {name!r} has {len(y)} values for {len(t)} times.")
            labels = [name] if name.endswith(".drive") else [s.label for s in signals(run, name)]
            if y.shape[1] != len(labels):
                raise ElementError(
                    f"{what}: {name!r} has {y.shape[1]} columns; wanted {len(labels)}: {', '.join(labels)}."
                )
            for k, label in enumerate(labels):
                there = np.isfinite(y[:, k])
                if not there.any():
                    raise ElementError(f"{what}: all samples of {label!r} are missing (nan).")
                found.append(
                    Channel(
                        label, name, k, t[there], y[there, k], self._sigma(name, what), name in self.offsets
                    )
                )
        return found

    def begun(self, mech: "Mechanism", what: str) -> "State | None":
        """Return the start of a mechanism, if there is one."""
        found = self.start(mech) if callable(self.start) else self.start
        if found is not None and not isinstance(found, State):
            raise ElementError(
                f"{what}: start is {found!r}; wanted a State, or a function of the mechanism that makes one."
            )
        return found

    def _sigma(self, name: str, what: str) -> float | None:
        given = self.sigma.get(name) if isinstance(self.sigma, Mapping) else self.sigma
        if given is None:
            return None
        try:
            sigma = float(given)
        except (TypeError, ValueError):
            sigma = np.nan
        if not (np.isfinite(sigma) and sigma > 0.0):
            raise ElementError(f"{what}: sigma of {name!r} is {given!r}; wanted a positive number.")
        return sigma


def times_of(given: Any, what: str) -> Floats:
    """Return increasing, finite times."""
    if given is None:
        raise ElementError(f"{what} are missing: give t=, or the pair (times, values).")
    try:
        t = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ElementError(f"{what} are {given!r}; wanted numbers.") from None
    if t.ndim != 1 or not len(t) or not np.all(np.isfinite(t)):
        raise ElementError(f"{what} have shape {t.shape}; wanted a column of finite numbers.")
    back = np.flatnonzero(np.diff(t) <= 0.0)
    if len(back):
        k = int(back[0])
        raise ElementError(f"{what} are out of order: {t[k]:g} s is followed by {t[k + 1]:g} s.")
    return t


def _columns(given: Any, what: str) -> Floats:
    try:
        y = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ElementError(f"{what} is {given!r}; wanted numbers over time.") from None
    if y.ndim not in (1, 2) or not y.size:
        raise ElementError(
            f"{what} has shape {y.shape}; wanted one number, or a row of numbers, for each time."
        )
    if np.isinf(y).any():
        raise ElementError(f"{what} is infinite somewhere; nan stands for a missing sample.")
    return y[:, None] if y.ndim == 1 else y


def as_measurements(given: Any) -> list[Measurement]:
    """Return one or several experiments as a list."""
    many = [given] if isinstance(given, Measurement) else given
    if not isinstance(many, Sequence) or not many or not all(isinstance(m, Measurement) for m in many):
        raise TreemechError(
            f"fit: measurements is of type {type(given).__name__}; wanted a tm.Measurement, or a list of them."
        )
    return list(many)
