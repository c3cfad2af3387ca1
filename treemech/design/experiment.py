"""Experiment with a design: one run, and the scalars by which it is judged."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology import ElementError, TreemechError
from treemech.topology.arrays import Floats

from ..analyses.evaluation import empty_run
from ..results.measures import check_measures, find_measure
from ..results.run import Run, not_interrupted
from .sensitivities import Sensitivities
from .starts import Start

if TYPE_CHECKING:
    from ..mechanism import Mechanism

Quantity = str | Callable[[Run], Any]  # "max A.q", or a function of a Run
_STATISTICS = ("final", "max", "min", "mean", "rms")


@dataclass(frozen=True, eq=False)
class Experiment:
    """A simulation over `t_span`, or a kinematic run over the times `cycle`, of any mechanism with the right names.

    Parameters
    ----------
    t_span : (start, end)
    cycle : times
        For a mechanism whose motion is prescribed; instead of t_span.
    start : function of the mechanism, or State
        ``lambda mech: mech.assemble(fix={"A": 0.3})``; default: assembled next to the reference position.
    t_eval : times
        Output times; default every step. More times make integrals and means more accurate.
    rtol, method, atol
        As in `Mechanism.simulate`; ``method="Radau"`` for a stiff mechanism.

    Examples
    --------
    >>> Experiment(t_span=(0, 2), rtol=1e-9).rtol
    1e-09
    """

    t_span: tuple[float, float] | None = None
    cycle: ArrayLike | None = None
    start: Start = None
    t_eval: ArrayLike | None = None
    rtol: float = 1e-8
    method: str = "DOP853"
    atol: Any = None

    def __post_init__(self) -> None:
        if (self.t_span is None) == (self.cycle is None):
            raise ElementError("Experiment: give t_span (a simulation) or cycle (times of a kinematic run).")

    def run(self, mech: "Mechanism") -> Run:
        """Return the run; raise an error if it does not reach its end."""
        state = self.start(mech) if callable(self.start) else self.start
        if self.t_span is None:
            run = mech.kinematics(np.asarray(self.cycle), state)
        else:
            run = mech.simulate(self.t_span, state, self.method, self.rtol, self.atol, self.t_eval)
        if not not_interrupted(run).success:
            raise TreemechError(run.message)
        return run

    def sensitivities(self, mech: "Mechanism", parameters: Any = None) -> Sensitivities:
        """Return the run, and how it changes with parameters."""
        if self.t_span is None:
            return mech.kinematic_sensitivities(np.asarray(self.cycle), self.start, parameters)
        return mech.sensitivities(
            self.t_span, self.start, parameters, self.t_eval, self.rtol, self.method, self.atol
        )


def value(what: Quantity, run: Run) -> Any:
    """Return a quantity of a run: "max A.q" (or final, min, mean, rms of a measure), or the value of a function."""
    if isinstance(what, str):
        statistic, measure = _parts(what)
        return _statistic(statistic, run.t, run.measure(measure))[0]
    given = what(run)
    try:
        found = np.asarray(given if given is not None else "nothing", dtype=np.float64)
    except (TypeError, ValueError):
        raise ElementError(f"a function of the run gives {given!r}; wanted numbers.") from None
    return found if found.ndim else float(found)


def scalar(what: Quantity, run: Run) -> float:
    """Return `value` as one number; refuse several."""
    found = value(what, run)
    if not isinstance(found, float):
        raise ElementError(f"a function of the run gives shape {found.shape}; wanted one number.")
    return found


def gradient(what: Quantity, found: Sensitivities) -> Floats:
    """Return its derivatives by the parameters (..., np)."""
    if callable(what):
        return found.of(what)
    statistic, measure = _parts(what)
    return _statistic(statistic, found.run.t, found.run.measure(measure))[1] @ found.of(measure)


def statistic_of(name: str, t: Floats, y: Floats) -> float:
    """Return one number of a measure over time: final, max, min, mean or rms."""
    return _statistic(name, t, y)[0]


def is_statistic(what: Any) -> bool:
    """Tell whether a text asks for one number of a run, "max A.q", and not for a measure over time."""
    return isinstance(what, str) and what.partition(" ")[0] in _STATISTICS and bool(what.partition(" ")[2])


def check_quantity(mech: "Mechanism", what: Quantity) -> None:
    """Refuse a quantity that runs of this mechanism do not have."""
    from ..mechanism import Mechanism

    if not isinstance(mech, Mechanism):
        raise TreemechError(f"{mech!r} is no mechanism; wanted system.build().")
    if callable(what):
        return
    if not isinstance(what, str):
        raise ElementError(f"{what!r} is neither a text like 'max A.q' nor a function of a Run.")
    measure = find_measure(mech._wiring.measures, _parts(what)[1])
    if measure.text is not None:
        check_measures([measure], empty_run(mech))


def _parts(what: str) -> tuple[str, str]:
    statistic, _, measure = what.partition(" ")
    if statistic not in _STATISTICS or not measure:
        raise ElementError(
            f"{what!r} is not one number of a run: wanted {', '.join(_STATISTICS)} of a measure, 'max A.q', or a function."
        )
    return statistic, measure


def _statistic(name: str, t: Floats, y: Floats) -> tuple[float, Floats]:
    """Return a statistic of y, and its derivative by every value of y."""
    if name == "final":
        return float(y[-1]), np.eye(len(y))[-1]
    if name in ("max", "min"):
        return _peak(t, y, 1.0 if name == "max" else -1.0)
    w = np.zeros(len(t))
    w[:-1] += 0.5 * np.diff(t)
    w[1:] += 0.5 * np.diff(t)
    w /= t[-1] - t[0]
    if name == "mean":
        return float(w @ y), w
    rms = float(np.sqrt(w @ y**2))
    return rms, w * y / max(rms, 1e-300)


def _peak(t: Floats, y: Floats, sign: float) -> tuple[float, Floats]:
    """Return the extreme value between samples, on the polynomial through the five samples next to the largest one.

    Its position may change with a parameter: to first order that does not change its value.
    """
    k = int(np.argmax(sign * y))
    weights = np.zeros(len(y))
    first = min(max(k - 2, 0), max(len(y) - 5, 0))
    x = (t[first : first + 5] - t[k]) / (t[min(k + 1, len(t) - 1)] - t[max(k - 1, 0)] or 1.0)
    p = np.polynomial.Polynomial(np.linalg.solve(np.vander(x, increasing=True), y[first : first + 5]))
    inside = [r.real for r in p.deriv().roots() if abs(r.imag) < 1e-9 and x.min() <= r.real <= x.max()]
    best = max([0.0, *inside], key=lambda r: sign * float(p(r)))
    if not x[max(k - 1 - first, 0)] <= best <= x[min(k + 1 - first, len(x) - 1)]:
        best = 0.0
    if best == 0.0:  # at a sample no polynomial is needed
        weights[k] = 1.0
        return float(y[k]), weights
    weights[first : first + 5] = np.linalg.solve(np.vander(x, increasing=True).T, best ** np.arange(len(x)))
    return float(p(best)), weights
