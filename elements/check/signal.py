"""Check of a signal: rates against differences, jumps only at the breaks."""

from collections.abc import Callable

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from ..compilation.entry import call, make_entry
from ..signal import Signal
from .blame import blame
from .differences import differences
from .report import (
    FIRST,
    ROUND,
    SECOND,
    TINY,
    Report,
    Row,
    check_guard,
    guarded,
    random_time,
    shown,
)


def check_signal(signal: Signal, samples: int, rng: np.random.Generator, report: Report) -> None:
    """Check rates and accelerations against differences, jumps only at breaks, compiled equal to Python."""
    breaks = signal.breaks

    def says(t: float) -> Floats:
        try:
            value = np.array(signal.at(t))
        except Exception as error:
            cause = error.__cause__ or error
            raise ElementError(f"check: {blame(signal, cause)} Met at t = {t:.6g}.") from cause
        if not np.all(np.isfinite(value)):
            raise ElementError(f"check: {signal.kind} gives {shown(value)} at t = {t:.6g}.")
        return value

    found = {1: 0.0, 2: 0.0}
    taken: list[float] = []
    tried = 0
    while len(taken) < samples and tried < 10 * samples:
        tried += 1
        t = random_time(signal, rng)
        d = differences(lambda eps, t=t: says(t + eps)[:1], (1,))  # type: ignore[misc]
        if d.error > 1.0 or any(abs(t - b) < 0.05 for b in breaks if d.error > 0.1):
            continue
        here = says(t)
        if here.tobytes() != says(t).tobytes():
            raise ElementError(f"check: {signal.kind} is not the same when asked twice at t = {t:.6g}.")
        taken.append(t)
        for order, name, value, allowed in (
            (1, "rate", d.first, FIRST),
            (2, "acceleration", d.second, SECOND),
        ):
            gap = abs(float(here[order] - value[0]))
            if gap > allowed * d.size[0] + TINY:
                of = "derivative" if order == 1 else "second derivative"
                raise ElementError(
                    f"check: {name} of {signal.kind} differs from the {of} of its value by {gap:.2g} at t = {t:.6g}."
                )
            found[order] = max(found[order], gap / (float(d.size[0]) + TINY))
    if len(taken) < samples:
        raise ElementError(f"check: {signal.kind} is not twice differentiable away from its breaks {breaks}.")
    report.rows.append(Row("rate is the derivative of value", found[1], FIRST))
    report.rows.append(Row("acceleration is the second derivative of value", found[2], SECOND))
    low, high = (min(breaks) - 1.0, max(breaks) + 1.0) if breaks else (0.0, 10.0)
    for order, name in ((0, "value"), (1, "rate")):
        jump = find_jump(says, order, low, high, breaks)
        if jump is not None:
            raise ElementError(
                f"check: {name} of {signal.kind} jumps by {jump[1]:.2g} at t = {jump[0]:.6g}, which is not among its "
                f"breaks {breaks}."
            )
    report.way = make_entry(signal).way
    largest = 0.0
    for t in taken:
        buffer, out = guarded(3)
        call(signal, "signal", out, out, t, out)
        check_guard(signal, buffer, f"at t = {t:.6g}")
        here = says(t)
        gap = float(np.max(np.abs(out - here))) / (float(np.max(np.abs(here))) + TINY)
        if gap > ROUND:
            raise ElementError(
                f"check: compiled, {signal.kind} differs from Python by {gap:.2g} at t = {t:.6g}."
            )
        largest = max(largest, gap)
    report.rows.append(Row("through its address: equal to Python, writes inside its arrays", largest, ROUND))


def find_jump(
    f: Callable[[float], Floats], order: int, low: float, high: float, breaks: tuple[float, ...]
) -> tuple[float, float] | None:
    """Return (t, size) of a jump of f[order] away from the breaks.

    It is searched where a step differs most from the prediction by f[order + 1], by halving down to 1e-10.
    """
    grid = np.linspace(low, high, 257)
    values = np.array([f(float(t)) for t in grid])
    predicted = 0.5 * (values[1:, order + 1] + values[:-1, order + 1]) * np.diff(grid)
    surprise = np.abs(np.diff(values[:, order]) - predicted)
    scale = float(np.max(np.abs(values[:, order])))
    for k in np.argsort(surprise)[:-6:-1]:
        a, b = float(grid[k]), float(grid[k + 1])
        fa, fb = float(values[k, order]), float(values[k + 1, order])
        while b - a > 1e-10 * max(1.0, abs(b)):
            middle = 0.5 * (a + b)
            fm = float(f(middle)[order])
            a, b, fa, fb = (a, middle, fa, fm) if abs(fm - fa) > abs(fb - fm) else (middle, b, fm, fb)
        if abs(fb - fa) > 1e-5 * scale + TINY and not any(
            abs(t - b) < 1e-8 * max(1.0, abs(b)) for t in breaks
        ):
            return b, abs(fb - fa)
    return None
