"""What a model of this folder holds: how it is made, where it starts, and what is known of its motion.

A model is a file `<group>/<name>.py`, or one in a subgroup. Nothing is registered: files are found by looking (`catalogue`), `tm.examples.<name>()` and
`treemech example <name>` run them, the tests hold each to its known values, its constraints and its power balance. It has

    a docstring                              what it is; where its numbers come from: printed, recomputed, chosen by us
    system(...) -> tm.System                 the model; parameters are keywords with defaults
    state(mech) -> tm.State                  where it starts; with CASES: state(mech, case)
    CASES = ("slow", "fast")                 optional: several starts, the first by default

An example adds what it wants of

    DURATION = 10.0                          simulated time [s]; with a REFERENCE its t_end
    SIMULATE = {"rtol": 1e-10}               keywords of `mech.simulate`
    run(mech, state) -> tm.Run               if the run is more than `mech.simulate((0, DURATION), state, **SIMULATE)`
    KNOWN = {name: (value, tolerance, source)}   known values, absolute tolerances, where each comes from
    measured(mech, run) -> {name: value}     ours, by the same names
    PLOTS = [("crank.q", "slider.u"), ...]   signals worth looking at, one picture each: texts of `run.measure`, or "energy.total"
    SLOW = True                              the run takes more than a second or two: its tests are marked slow

A problem with a complete known answer has instead of KNOWN, or besides

    REFERENCE = load("file")                 the JSON file in benchmarks/reference, without its ending
    observe(run) -> {name: values}           quantities by the names of the reference: rows over run.t, or one value
    SAMPLES = 1001                           optional: equally spaced outputs besides the times of the reference

where `name_slow` in the reference is `name` of the case "slow". `problems()` returns these. What a reference expects and `observe`
does not offer is reported as open.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from treemech.topology.arrays import Floats

from .catalogue import catalogue

FOLDER = Path(__file__).resolve().parent.parent / "reference"
_AT = re.compile(r"(?P<name>.*)\(t=(?P<time>[^()]+)\)$")


@dataclass(frozen=True, eq=False)
class Expected:
    """One entry of a reference: a quantity at a time, or at all times (conserved, or of the whole motion)."""

    key: str
    name: str
    time: float | None
    value: Floats

    @classmethod
    def parse(cls, key: str, value: Any) -> "Expected":
        """
        >>> Expected.parse("tip(t=0.5)", [1, 2]).time
        0.5
        >>> Expected.parse("total_energy", 3.0).name
        'total_energy'
        """
        found = _AT.match(key)
        name, time = (found["name"], float(found["time"])) if found else (key, None)
        return cls(key, name, time, np.asarray(value, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Reference:
    """A file of benchmarks/reference."""

    file: str
    name: str
    source: str
    parameters: Mapping[str, Any]
    initial: Mapping[str, Any]
    gravity: list[float]
    t_end: float
    expect: Mapping[str, Any]
    digits: int
    notes: str

    def entries(self) -> list[Expected]:
        """Return the expected values, entry by entry."""
        return [Expected.parse(key, value) for key, value in self.expect.items()]

    @property
    def tolerance(self) -> float:
        """Return the largest error accepted: 1e-8, or what the digits of the reference allow."""
        return max(1e-8, 10.0**-self.digits)


@cache
def load(file: str) -> Reference:
    """Return a reference by the name of its file, without ".json".

    >>> load("double_pendulum").t_end
    5.0
    """
    content = json.loads((FOLDER / f"{file}.json").read_text(encoding="utf-8"))
    given = {key: content.get(key) for key in Reference.__dataclass_fields__ if key != "file"}
    return Reference(file=file, **given)


def references() -> list[str]:
    """Return the names of all reference files."""
    return sorted((path.stem for path in FOLDER.glob("*.json")), key=str.lower)


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem with a known answer."""

    name: str
    file: str
    system: Callable[[], Any]
    state: Callable[..., Any]
    observe: Callable[[Any], dict[str, Any]]
    cases: tuple[str, ...] = ("",)
    samples: int = 0

    def reference(self) -> Reference:
        """Return the known answer."""
        return load(self.file)

    @property
    def t_end(self) -> float:
        return self.reference().t_end

    def start(self, mech: Any, case: str = "") -> Any:
        """Return the initial state of a case."""
        return self.state(mech, case) if case else self.state(mech)

    def times(self, samples: int = 0) -> Floats:
        """Return the output times: start, end, times of the reference, samples the observables ask for, at least so many."""
        asked = [e.time for e in self.reference().entries() if e.time is not None]
        times = np.unique([0.0, self.t_end, *asked])
        grid = np.linspace(0.0, self.t_end, max(self.samples, samples))
        apart = [g for g in grid if np.min(np.abs(times - g)) > 1e-9 * self.t_end]
        return np.sort(np.concatenate((times, apart)))


@dataclass(frozen=True)
class Comparison:
    """One entry of a reference against one run."""

    key: str
    case: str
    error: float


def compare(problem: Problem, runs: Mapping[str, Any]) -> tuple[list[Comparison], list[str]]:
    """Return (comparisons, entries not offered) of the runs of all cases.

    The error is the largest deviation divided by max(1, |expected|), |.| the length of the vector. An entry
    without a time must hold at all times.
    """
    seen = {case: problem.observe(run) for case, run in runs.items()}
    found: list[Comparison] = []
    missing: list[str] = []
    for entry in problem.reference().entries():
        count = len(found)
        for case, values in seen.items():
            got = offered(entry, values, runs[case], case, tuple(seen))
            if got is None:
                continue
            scale = max(1.0, float(np.linalg.norm(entry.value)))
            deviation = np.abs(got - entry.value)
            error = float(np.max(deviation)) / scale if np.all(np.isfinite(deviation)) else np.inf
            found.append(Comparison(entry.key, case, error))
        if len(found) == count:
            missing.append(entry.key)
    return found, missing


def offered(
    entry: Expected, values: Mapping[str, Any], run: Any, case: str, cases: tuple[str, ...]
) -> Floats | None:
    """Return what `observe` gave for an entry of the reference: at its time, or all values; None if nothing."""
    plain = entry.name.removesuffix(f"_{case}") if case else entry.name
    if plain not in values or any(entry.name.endswith(f"_{c}") for c in cases if c and c != case):
        return None
    got = np.asarray(values[plain], dtype=np.float64)
    return got if entry.time is None else np.asarray(got[_row(run.t, entry.time)])


def _row(t: Floats, time: float) -> int:
    row = int(np.argmin(np.abs(t - time)))
    if t[row] != time:
        raise ValueError(f"the run has no output at t = {time}; the nearest is {t[row]}")
    return row


def problem_of(name: str, module: Any) -> Problem:
    """Return the problem a module with a REFERENCE describes."""
    return Problem(
        name,
        module.REFERENCE.file,
        module.system,
        module.state,
        module.observe,
        getattr(module, "CASES", ("",)),
        getattr(module, "SAMPLES", 0),
    )


def problems() -> dict[str, Problem]:
    """Return all problems with a reference, by name."""
    modules = {name: entry.module() for name, entry in catalogue().items()}
    return {name: problem_of(name, m) for name, m in modules.items() if hasattr(m, "REFERENCE")}


# ---------------------------------------------------------------- quantities of a run
def momentum(run: Any) -> tuple[Floats, Floats]:
    """Return momentum and angular momentum about the world origin over a run (n, 3), world components."""
    linear, angular = np.zeros((len(run.t), 3)), np.zeros((len(run.t), 3))
    for info in run._info.bodies[1:]:
        body = run.body(info.name)
        centre = body.point(info.com)
        p = info.mass * centre.velocity
        R, w = body.rotation, body.angular_velocity
        linear += p
        angular += np.cross(centre.position, p)
        angular += np.einsum("nij,jk,nlk,nl->ni", R, np.array(info.inertia), R, w)
    return linear, angular


def body_components(rotation: Floats, vectors: Floats) -> Floats:
    """Return world vectors (n, 3) in body axes."""
    return np.asarray(np.einsum("nji,nj->ni", rotation, vectors))


def zero_crossings(t: Floats, y: Floats) -> Floats:
    """Return the times where y passes zero between samples: roots of the polynomial through ten samples.

    >>> t = np.linspace(0.0, 4.0, 201)
    >>> zero_crossings(t, np.cos(t)).round(12).tolist()
    [1.570796326795]
    """
    roots = []
    for k in np.flatnonzero(y[:-1] * y[1:] < 0.0).tolist():
        first = min(max(k - 4, 0), len(t) - 10)
        near, scale = slice(first, first + 10), t[k + 1] - t[k]
        c = np.polynomial.Polynomial(np.polynomial.polynomial.polyfit((t[near] - t[k]) / scale, y[near], 9))
        x, slope = y[k] / (y[k] - y[k + 1]), c.deriv()
        for _ in range(8):
            x -= c(x) / slope(x)
        roots.append(t[k] + scale * x)
    return np.array(roots)
