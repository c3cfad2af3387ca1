"""Refuse prescribed motions that jump, or whose rate jumps, at times the integrator does not know.

Jets differentiate a function of time where it is evaluated; a jump between two evaluations leaves no trace in
its rates. At declared breaks jumps are taken care of (`dynamics.model.prescribed_jump`).
"""

from itertools import pairwise
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from treemech.elements import Function, Signal
from treemech.topology import ElementError

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_SAMPLES = 128  # over the span of a run, besides the breaks
_LOOKED_AT = 4  # places that are examined, those where the samples bend most
_JUMP = 1e-6  # smallest jump, relative to the size of the values
_examined: WeakKeyDictionary[Function, tuple[float, float]] = WeakKeyDictionary()


def check_motions(mech: "Mechanism", t0: float, t1: float) -> None:
    """Refuse motions given as Python functions that jump between t0 and t1 elsewhere than at their breaks."""
    layout = mech._core.layout
    for k in sorted(layout.kinematic):
        signal = layout.signals[k]
        if isinstance(signal, Function):
            for a, b, samples in _unknown(signal, min(t0, t1), max(t0, t1)):
                try:
                    fault = _fault(signal, a, b, samples)
                except ElementError:  # of the function itself: the run tells it, and keeps what came before
                    fault = ""
                if fault:
                    raise ElementError(f"{_owner(mech, signal)}: {fault}")
            low, high = _examined.get(signal, (t0, t0))
            _examined[signal] = min(low, t0, t1), max(high, t0, t1)


def _unknown(signal: Function, t0: float, t1: float) -> list[tuple[float, float, int]]:
    """Return the parts of a span that no run before has examined, with numbers of samples.

    Many short runs one after the other then cost little.
    """
    if signal not in _examined:
        return [(t0, t1, _SAMPLES)]
    low, high = _examined[signal]
    whole = max(high, t1) - min(low, t0)
    parts = ((t0, min(low, t1)), (max(high, t0), t1))
    return [(a, b, 4 + int(_SAMPLES * (b - a) / whole)) for a, b in parts if b > a]


def _fault(signal: Function, t0: float, t1: float, samples: int) -> str:
    """Return what is wrong with a motion, or an empty text."""
    inner = [b for b in signal.breaks if t0 < b < t1]
    for a, b in pairwise([t0, *sorted(inner), t1]):
        start = float(np.nextafter(a, b)) if a in signal.breaks else a
        end = float(np.nextafter(b, a)) if b in signal.breaks else b
        for order, name in enumerate(("value", "rate")):
            place = _jump(signal, order, start, end, samples)
            if place is None:
                continue
            t, before, after = place
            if not np.isfinite(after - before):
                return f"the prescribed motion has no finite {name} at t = {t:.6g} s: it must be smooth."
            what = (
                f"the {name} of the prescribed motion jumps from {before:.6g} to {after:.6g} at t = {t:.6g} s"
            )
            if order == 0:
                return f"{what}: nothing moves at once. Give a smooth motion, tm.Spline(times, values) for example."
            return f"{what}: tell the integrator, tm.Function(function, break_times=({t:.6g},)), or give a smooth motion."
    return ""


def _jump(signal: Signal, order: int, a: float, b: float, samples: int) -> tuple[float, float, float] | None:
    """Return (time, left, right) of a jump of the value (order 0) or the rate (1) of a signal, or None.

    The halves of an interval in which a function changes more are followed to the last digits of the time: a
    continuous function does not change there any more.
    """
    if not b > a:
        return None
    t = np.linspace(a, b, samples + 1)
    x = np.array([signal.at(s)[order] for s in t.tolist()])
    for k in np.flatnonzero(~np.isfinite(x))[:1]:
        return float(t[k]), 0.0, float(x[k])
    bend = np.abs(np.diff(x, n=2))
    places = {k for j in np.argsort(bend)[-_LOOKED_AT:].tolist() for k in (j, j + 1)}
    size = _JUMP * (1.0 + float(np.max(np.abs(x))))
    for k in sorted(places):
        low, high, left, right = float(t[k]), float(t[k + 1]), float(x[k]), float(x[k + 1])
        while abs(right - left) > size:
            middle = 0.5 * (low + high)
            if not low < middle < high:
                return high, left, right
            value = float(signal.at(middle)[order])
            if not np.isfinite(value):
                return middle, left, value
            if abs(value - left) > abs(right - value):
                high, right = middle, value
            else:
                low, left = middle, value
    return None


def _owner(mech: "Mechanism", signal: Signal) -> str:
    """Return whose motion a signal is."""
    for p in mech._prescriptions:
        if p.signal is signal:
            return f"hinge {p.hinge!r}"
    for connection in (*(b.connection for b in mech.tree.branches), *mech.tree.chords):
        if any(value is signal for value in vars(connection.element).values()):
            return f"connection {connection.name!r}"
    return f"signal {signal!r}"
