"""Crawls: runs whose steps stay far below their usual size, and what keeps them short.

A load that jumps where the motion drives it back at once (dry friction written as a sign) makes a motion chatter:
every step that crosses the jump has an error of the size of its length, so steps fall to the tolerance divided by
the jump, and the run never ends. The same happens where rates are rounding noise, because a speed meets hardly any
inertia, and where a driven chain comes to the end of its travel: there its speeds grow without bound. Stiff motions
need short steps too, but do get on: they are not stopped, unless the rest would take 1e10 steps more.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from treemech.kinematics.plan.columns import effort
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from ..model.core import Core

_WINDOW = 512  # steps over which the pace is measured
_AHEAD = 2e6  # numbers that the rest of the run must compute (steps times states) for a closer look
LOOKED_AT = 64  # steps that are examined
_OFTEN = 0.25  # part of these steps in which the rates must jump
_CHANGE = 1e-2  # part of its largest value by which a rate must change within a step
_ROUNDED = 1e-6  # part of the largest rate below which the noise of a load may be all there is
_REACH = 10.0  # steps ahead of each that are looked at
_HALVINGS, _SAMPLES = 24, 8  # bisections of a step, and steps that are bisected
_NOISE = 1e-4  # relative change of rates that rounding of the state may cause
_HOPELESS = 1e10  # steps that the rest would take, above which a run is given up
_SOON = 1e-4  # part of the rest of the way within which speeds double, where a chain locks
_ENDING = 1e-2  # part of the rest of the way within which steps that shrink would vanish, time after time

Rates = Callable[[float, Floats], Floats]


class Crawl(NamedTuple):
    """Why a run was given up before its end."""

    message: str
    load: str = ""  # element whose load jumps
    coordinate: str = ""  # whose rate is rounding noise
    advice: tuple[str, ...] = ()


class Pace:
    """Mean size of the last steps, compared with the rest of the way."""

    def __init__(self, t: float, end: float, n: int) -> None:
        self.t, self.end, self.n = t, end, n
        self.steps, self.next, self.mean = 0, _WINDOW, np.inf
        # time, mean size of the steps, largest speed, each time the number of steps has doubled
        self._looks: list[tuple[float, float, float]] = []
        self._doubled = _WINDOW

    def slow(self, t: float, steps: int, speed: float) -> bool:
        """Note the time reached after so many steps, and the largest speed. Return whether the last steps should be examined."""
        done = steps - self.steps
        if done < _WINDOW:
            return False
        self.mean = abs(t - self.t) / done
        self.t, self.steps = t, steps
        if steps >= self._doubled:
            self._looks, self._doubled = [*self._looks[-2:], (t, self.mean, speed)], 2 * steps
        if steps < self.next or self.n * abs(self.end - t) < _AHEAD * self.mean:
            return False
        self.next = 2 * steps  # examinations stay a small part of the whole
        return True

    def vanishes(self) -> bool:
        """Tell whether steps have been shrinking towards zero at a time soon to come while their number doubled twice.

        Speeds must have grown meanwhile: rebounds that die away follow each other ever faster too.
        """
        if len(self._looks) < 3 or not self._looks[-1][2] > 2.0 * self._looks[0][2]:
            return False
        for (ta, a, _), (tb, b, _) in zip(self._looks, self._looks[1:], strict=False):
            if not (b < 0.5 * a and b * abs(tb - ta) < _ENDING * abs(self.end - tb) * (a - b)):
                return False
        return True


def largest_speed(core: Core, y: Floats) -> float:
    """Return the largest speed of a state."""
    return float(np.max(np.abs(y[core.nq : core.nq + core.nu]), initial=0.0))


def examine(core: Core, times: Floats, states: Floats, rates: Rates, pace: Pace) -> Crawl | None:
    """Return what keeps the steps between these states short, or None if they do get on.

    `rates(t, y)` evaluates the model, so it must be possible to restore its arrays.
    """
    end = pace.end
    try:
        with np.errstate(all="ignore"):
            return (
                _noise(core, times, states, rates)
                or _lock(core, times, states, end, rates)
                or _chatter(core, times, states, rates)
                or _runaway(core, times, states, pace)
                or _hopeless(core, times, states, end, pace.mean)
            )
    except TreemechError:  # a state between two steps has no rates
        return _hopeless(core, times, states, end, pace.mean)


def _noise(core: Core, times: Floats, states: Floats, rates: Rates) -> Crawl | None:
    """Tell whether rounding of the last state changes its rates noticeably."""
    from .diagnosis import diagnose_state

    t, y = float(times[-1]), states[-1]
    rng, base = np.random.default_rng(0), rates(t, y)
    change = np.zeros(len(y))
    for _ in range(3):
        change = np.fmax(change, np.abs(rates(t, y * (1.0 + 4e-16 * rng.choice((-1.0, 1.0), len(y)))) - base))
    speeds = slice(core.nq, core.nq + core.nu)
    size = float(np.max(np.abs(base[speeds]), initial=0.0))
    if not np.max(change[speeds], initial=0.0) > _NOISE * size:
        return None
    found = diagnose_state(core, t, y)
    if not found.singular:
        return None
    name = found.weakest or core.state_names[core.nq + int(np.argmax(change[speeds]))]
    what = "position" if core.loops is not None else "choice of coordinates"
    advice = (
        f"The {what} is singular there, or {name!r} moves hardly any inertia: give the bodies it moves some inertia in that "
        "direction, or use another hinge.",
    )
    text = (
        f"the motion cannot be followed beyond t = {t:.9g} s: the conditioning is {found.conditioning:.2g}, rounding of the "
        f"state changes the rates by {100.0 * float(np.max(change[speeds])) / max(size, 1e-300):.2g} %, and the steps fell to "
        f"{_mean(times):.2g} s. {advice[0]}"
    )
    return Crawl(text, "", name, advice)


def _lock(core: Core, times: Floats, states: Floats, end: float, rates: Rates) -> Crawl | None:
    """Tell whether the speeds of a driven chain grow without bound towards a singular position, its end of travel."""
    from .diagnosis import diagnose_state

    if core.loops is None:
        return None
    t, y, speeds = float(times[-1]), states[-1], slice(core.nq, core.nq + core.nu)
    u, ud = y[speeds], rates(t, y)[speeds]
    fastest = int(np.argmax(np.abs(ud)))
    doubling = u[fastest] / ud[fastest] * float(np.sign(end - t))  # (t* - t)^-1/2 doubles within 1.5 (t* - t)
    if not 0.0 < doubling < _SOON * abs(end - t):
        return None
    found = diagnose_state(core, t, y)
    if not found.singular:
        return None
    where = f", look at {found.weakest!r}" if found.weakest else ""
    advice = (
        "No step leads through it: a prescribed motion may lead beyond the end of the travel, where the mechanism locks; else "
        "prescribe another coordinate.",
    )
    text = (
        f"the motion cannot be followed beyond t = {t:.9g} s: the position is singular{where}, {core.coordinates.u_names[fastest]!r} "
        f"doubles its speed within {doubling:.2g} s, and the steps fell to {_mean(times):.2g} s. {advice[0]}"
    )
    return Crawl(text, "", core.coordinates.u_names[fastest], advice)


def _runaway(core: Core, times: Floats, states: Floats, pace: Pace) -> Crawl | None:
    """Tell whether the motion becomes ever faster, so that its steps vanish before the end of the run.

    A load that feeds a whirl lets it turn ever faster within a finite time: every turn takes steps, without end.
    """
    if not core.nu or not pace.vanishes():
        return None
    u = states[-1, core.nq : core.nq + core.nu]
    first = int(np.argmax(np.abs(u)))
    name = core.coordinates.u_names[first]
    advice = (
        f"Look at what drives {name!r}: a load or a prescribed motion feeds it without bound; give it damping or a limit, or end "
        "the run before.",
    )
    text = (
        f"the motion cannot be followed beyond t = {float(times[-1]):.9g} s: it becomes ever faster, the speed of {name!r} has reached "
        f"{u[first]:.3g}, and the steps fell to {_mean(times):.2g} s and go on shrinking. {advice[0]}"
    )
    return Crawl(text, "", name, advice)


def _chatter(core: Core, times: Floats, states: Floats, rates: Rates) -> Crawl | None:
    """Tell whether rates jump in or next to many of the steps, and find the load that does.

    Steps may end on one side of a jump, their stages on the other. So some steps ahead are looked at as well.
    """
    h, begin = np.diff(times), slice(0, -1)
    at_ends = np.array([rates(t, y) for t, y in zip(times.tolist(), states, strict=True)])
    later, beyond = times[begin] + _REACH * h, states[begin] + _REACH * h[:, None] * at_ends[begin]
    at_later = np.array([rates(t, y) for t, y in zip(later.tolist(), beyond, strict=True)])
    size = np.max(np.abs(at_ends), axis=0, initial=0.0)
    size = np.maximum(size, max(_ROUNDED * float(np.max(size, initial=0.0)), 1e-300))
    within = _largest(np.diff(at_ends, axis=0) / size, core.nq)
    ahead = _largest((at_later - at_ends[begin]) / size, core.nq)
    often = np.flatnonzero(np.fmax(within, ahead) > _CHANGE)
    if len(often) < _OFTEN * len(h):
        return None
    looked = often[np.linspace(0, len(often) - 1, min(_SAMPLES, len(often))).astype(int)]
    jumps = [
        _jump(
            core, times[k], states[k],
            *((times[k + 1], states[k + 1]) if within[k] > _CHANGE else (later[k], beyond[k])),
            rates, size[core.nq :],
        )
        for k in looked.tolist()
    ]  # fmt: skip
    real = [jump for jump in jumps if jump is not None]
    if 2 * len(real) < len(looked):
        return None
    names = [jump[0] for jump in real]
    name, before, after = real[names.index(max(set(names), key=names.count))]
    t = float(times[-1])
    if not name:
        text = f"the rates jump next to {len(often)} of {len(times) - 1} steps at t = {t:.9g} s, which fell to {_mean(times):.2g} s"
        advice: tuple[str, ...] = (
            "Smooth what jumps there, or switch it by an event (tm.Event with an action).",
        )
    else:
        text = (
            f"the motion chatters at t = {t:.9g} s: the load of {name!r} jumps between {before:.4g} and {after:.4g} at "
            f"{len(often)} of {len(times) - 1} steps, which fell to {_mean(times):.2g} s"
        )
        advice = (
            f"Smooth the load of {name!r} over a small range of its speed or position, such as tanh(v / 0.001), with "
            "method='Radau'; use tm.Friction for dry friction; or switch it by an event (tm.Event with an action).",
        )
    return Crawl(f"{text}. {advice[0]}", name, "", advice)


def _hopeless(core: Core, times: Floats, states: Floats, end: float, pace: float) -> Crawl | None:
    """Tell whether the rest would take more steps than any computer takes, for whatever reason.

    Steps that are short for a while only, after an impact, are no reason: those before them had the mean size `pace`.
    """
    from .diagnosis import diagnose_state

    t, mean = float(times[-1]), max(_mean(times), pace)
    if not abs(end - t) > _HOPELESS * mean:
        return None
    found = diagnose_state(core, t, states[-1])
    left = f"{abs(end - t) / mean:.1g}" if mean else "endless"
    near = (
        f"The conditioning is {found.conditioning:.2g}, look at {found.weakest!r}. " if found.weakest else ""
    )
    advice = (
        f"{near}Look at the loads and at the position there; else try another method, or a larger rtol or atol.",
    )
    text = (
        f"the motion cannot be followed beyond t = {t:.9g} s: the steps fell to {mean:.2g} s, and the rest, to {end:.6g} s, would "
        f"take {left} of them. {advice[0]}"
    )
    return Crawl(text, "", found.weakest, advice)


def _jump(
    core: Core, ta: float, ya: Floats, tb: float, yb: Floats, rates: Rates, size: Floats
) -> tuple[str, float, float] | None:
    """Bisect the way between two states. Return name and both values of the load that jumps there, or None.

    A continuous change is halved with every bisection, a jump stays as it is.
    """

    def look(t: float, y: Floats) -> tuple[Floats, Floats]:
        return rates(t, y)[core.nq :] / size, core.work.effort_records.copy()

    a, b = look(ta, ya), look(tb, yb)
    whole = float(np.max(np.abs(b[0] - a[0])))
    for _ in range(_HALVINGS):
        t, y = 0.5 * (ta + tb), 0.5 * (ya + yb)
        c = look(t, y)
        if np.max(np.abs(c[0] - a[0])) > np.max(np.abs(b[0] - c[0])):
            tb, yb, b = t, y, c
        else:
            ta, ya, a = t, y, c
    if np.max(np.abs(b[0] - a[0])) < 0.1 * whole:
        return None
    best, change, values = "", 1e-3, (0.0, 0.0)
    for applied, row in zip(core.layout.efforts.applied, core.layout.plan.efforts, strict=True):
        first = int(row[effort.LOAD_RECORD])
        own = slice(first, first + 6 * int(row[effort.N_ENDS]) + int(row[effort.N_ACTED]))
        before, after = a[1][own], b[1][own]
        scale = max(float(np.linalg.norm(before)), float(np.linalg.norm(after)), 1e-300)
        k = int(np.argmax(np.abs(after - before))) if len(before) else -1
        if k >= 0 and abs(after[k] - before[k]) > change * scale:
            best, change, values = applied.name, abs(after[k] - before[k]) / scale, (before[k], after[k])
    return best, float(values[0]), float(values[1])


def _largest(changes: Floats, nq: int) -> Floats:
    """Return the largest change of a rate of speeds or states in every row; 0 if it is unknown."""
    found: Floats = np.nan_to_num(np.max(np.abs(changes[:, nq:]), axis=1, initial=0.0), nan=0.0, posinf=0.0)
    return found


def _mean(times: Floats) -> float:
    return abs(float(times[-1] - times[0])) / max(len(times) - 1, 1)
