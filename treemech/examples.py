"""Models that come with the library, ready to run: `tm.examples.four_bar().run()`.

Each is a file of benchmarks/problems; `benchmarks/problems/problem.py` says what such a file holds. `dir(tm.examples)` lists them.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from importlib.util import find_spec
from inspect import cleandoc, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.topology import TreemechError, unknown

if TYPE_CHECKING:
    from .mechanism import Mechanism
    from .results.run import Run
    from .results.state import State
    from .system import System

OUTPUTS = 601  # equally spaced, where an example does not say
RTOL = 1e-9


class Known(NamedTuple):
    """A known value: what it is, how far ours may lie from it (absolutely), and where it comes from."""

    value: Any
    tolerance: float
    source: str


def names() -> list[str]:
    """Return the names of all examples."""
    return list(_catalogue())


class Listed(NamedTuple):
    """An example in a list: its title is the first sentence of its description."""

    name: str
    group: str
    title: str


def listed() -> list[Listed]:
    """Return name, group and title of all examples; none of them is imported."""
    return [Listed(name, entry.group, entry.title()) for name, entry in _catalogue().items()]


def find(name: str, **parameters: Any) -> "Example":
    """Return an example by name. `parameters` go to the function that makes its system.

    >>> find("four_bar").system.name
    'four-bar'
    """
    if name not in _catalogue():
        raise TreemechError(unknown("example", name, names()))
    return Example(name, **parameters)


def _catalogue() -> Mapping[str, Any]:
    from treemech.benchmarks.problems.catalogue import catalogue

    return catalogue()


class Example:
    """A model, its start, its run, and what is known of it.

    Attributes
    ----------
    name, group, description : str
    parameters : dict
        Keywords with which the system is made; empty for the model as it is described. Known values hold
        for that one only.
    cases : tuple of str
        Names of the starts to choose from: ``tm.examples.NAME(case="slow")``; ("",) if there is one.

    Examples
    --------
    >>> import treemech as tm
    >>> example = tm.examples.four_bar()
    >>> example.mechanism
    Mechanism('four-bar': 3 bodies, 1 chords, nq = 3, nu = 3)
    >>> bool(example.run().success)
    True
    """

    def __init__(self, name: str, case: str | None = None, **parameters: Any) -> None:
        entry = _catalogue()[name]
        self.name, self.group, self._module = name, entry.group, entry.module()
        self.description = cleandoc(self._module.__doc__ or "")
        self.cases: tuple[str, ...] = tuple(getattr(self._module, "CASES", ("",)))
        self.case = self.cases[0] if case is None else case
        if self.case not in self.cases:
            raise TreemechError(unknown(f"case of example {name!r}", self.case, self.cases))
        accepted = list(signature(self._module.system).parameters)
        for key in parameters:
            if key not in accepted:
                raise TreemechError(f"example {name!r}: {unknown('parameter', key, accepted)}")
        self.parameters = parameters
        self._run: Run | None = None

    def __repr__(self) -> str:
        given = "".join(f", {key}={value!r}" for key, value in self.parameters.items())
        return f"Example({self.name!r}{given}): {self.description.splitlines()[0]}"

    @cached_property
    def system(self) -> "System":
        """The system, as the file makes it."""
        system: System = self._module.system(**self.parameters)
        return system

    @cached_property
    def mechanism(self) -> "Mechanism":
        """The mechanism, built once."""
        return self.system.build()

    @cached_property
    def state(self) -> "State":
        """The state in which it starts."""
        state: State = self._module.state(self.mechanism, *([self.case] if self.case else []))
        return state

    @cached_property
    def _problem(self) -> Any:
        """The problem of the benchmarks, if the example has a reference; else None."""
        if not hasattr(self._module, "REFERENCE"):
            return None
        from treemech.benchmarks.problems import problem_of

        return problem_of(self.name, self._module)

    @property
    def duration(self) -> float:
        """Simulated time [s]."""
        default = 10.0 if self._problem is None else self._problem.t_end
        return float(getattr(self._module, "DURATION", default))

    @property
    def slow(self) -> bool:
        """Whether a run takes more than a second or two."""
        return bool(getattr(self._module, "SLOW", False))

    @property
    def options(self) -> dict[str, Any]:
        """Keywords of `mech.simulate`."""
        default: dict[str, Any] = {"rtol": RTOL, "audit": True}
        if self._problem is None:
            default["t_eval"] = np.linspace(0.0, self.duration, OUTPUTS)
        else:
            default |= {"rtol": 1e-11, "t_eval": self._problem.times(OUTPUTS)}
        return default | dict(getattr(self._module, "SIMULATE", {}))

    def run(self, **options: Any) -> "Run":
        """Return the run, simulated on the first call. With `options` for `mech.simulate` it is another run, which is not kept."""
        own = getattr(self._module, "run", None)
        if options:
            begin, end = span = options.pop("t_span", (0.0, self.duration))
            options.setdefault("t_eval", np.linspace(float(begin), float(end), OUTPUTS))
            return self.mechanism.simulate(span, self.state, **self.options | options)
        if self._run is None:
            mech, state = self.mechanism, self.state
            made: Run = (
                own(mech, state)
                if own is not None
                else mech.simulate((0.0, self.duration), state, **self.options)
            )
            self._run = made
        return self._run

    # ------------------------------------------------------------ what is known
    @cached_property
    def known(self) -> dict[str, Known]:
        """Known values by name; none if parameters or case are not those of the description."""
        if self.parameters:
            return {}
        given = getattr(self._module, "KNOWN", {}) if self.case == self.cases[0] else {}
        own = {name: Known(*entry) for name, entry in given.items()}
        if self._problem is None:
            return own
        reference = self._problem.reference()
        return own | {
            e.key: Known(
                e.value, reference.tolerance * max(1.0, float(np.linalg.norm(e.value))), reference.source
            )
            for e in reference.entries()
            if not any(c != self.case and e.name.endswith(f"_{c}") for c in self.cases if c)
        }

    def measured(self, run: "Run | None" = None) -> dict[str, Any]:
        """Return our values by the names of the known ones, of a run (default: the example's own)."""
        run = self.run() if run is None else run
        measure = getattr(self._module, "measured", None)
        found = {} if measure is None or self.case != self.cases[0] else dict(measure(self.mechanism, run))
        if self._problem is None:
            return found
        from treemech.benchmarks.problems.problem import offered

        values = self._problem.observe(run)
        for entry in self._problem.reference().entries():
            got = offered(entry, values, run, self.case, self.cases)
            if got is not None:
                found[entry.key] = _farthest(got, entry.value) if entry.time is None else got
        return found

    def deviations(self) -> dict[str, float]:
        """Return how far each of our values lies from the known one, as a part of what is allowed."""
        ours = self.measured()
        return {
            name: _distance(ours[name], known.value) / known.tolerance
            for name, known in self.known.items()
            if name in ours
        }

    def imbalance(self) -> float:
        """Return how far the run is from its power balance, as a part of the energy of the motion: the largest kinetic energy, work or
        change of potential energy.

        The work of all elements, loads and drives must be what the bodies gain in kinetic and potential energy, and each
        element must store what it neither loses nor gives away. Not a number if actions of events changed the state or if the run kept
        no audit.
        """
        run = self.run()
        if any(
            np.any(a.u != b.u) or np.any(a.q != b.q)
            for e in run.events
            for a, b in zip(e.states, e.after, strict=True)
        ):
            return float("nan")
        try:
            audit = run.audit
        except TreemechError:
            return float("nan")
        gained = run.energy.kinetic + run.energy.potential
        left = gained - gained[0]
        scale = max(np.max(run.energy.kinetic), np.ptp(run.energy.potential))
        for name, part in audit.items():
            left = left - part.work
            scale = max(scale, *(np.max(np.abs(x), initial=0.0) for x in part.__dict__.values()))
            if any(e.name == name for e in run.info.elements):
                stored = run.element(name).energy
                own = part.work + stored - stored[0] + part.dissipated - part.supplied
                left = np.where(np.abs(own) > np.abs(left), own, left)
        return float(np.max(np.abs(left)) / scale) if scale > 0.0 else 0.0

    # ------------------------------------------------------------ to look at
    def table(self) -> str:
        """Return our values beside the known ones, as text."""
        ours = self.measured()
        sources = _footnotes([self.known[name].source for name in ours if name in self.known])
        rows = [
            (name, _text(value), _text(known.value), f"{_distance(value, known.value):.1e}", f"{known.tolerance:.1e}",
             sources.get(known.source, known.source))
            for name, value in ours.items()
            if (known := self.known.get(name))
        ]  # fmt: skip
        rows += [
            (name, _text(value), "", "", "", "") for name, value in ours.items() if name not in self.known
        ]
        run = self.run()
        lines = [self.description.splitlines()[0], f"{run}", run.message]
        if rows:
            lines += ["", *_columns([("", "ours", "known", "deviation", "allowed", "source"), *rows])]
            lines += [f"{mark} {source}" for source, mark in sources.items()]
        balance = self.imbalance()
        if not np.isnan(balance):
            lines += ["", f"power balance: {balance:.1e} of the energy of the motion is unaccounted for"]
        if run.info.chords:
            lines += [
                f"constraints: at most {float(np.max(run.residual.position, initial=0.0)):.1e} from being closed"
            ]
        return "\n".join(lines)

    @property
    def plots(self) -> list[tuple[str, ...]]:
        """Signals worth looking at, picture by picture."""
        given = getattr(self._module, "PLOTS", [])
        return [(signals,) if isinstance(signals, str) else tuple(signals) for signals in given]

    def _has(self, names: Sequence[str]) -> bool:
        """Return whether the run has these signals: other parameters may leave parts of the model out."""
        from .plots.signals import signals

        try:
            return not self.parameters or all(signals(self.run(), name) for name in names)
        except TreemechError:
            return False

    def save(self, folder: str | Path) -> list[tuple[Path, str]]:
        """Write animation, table and pictures (if matplotlib is there) into a folder; return (path, what it is)."""
        folder, run = Path(folder), self.run()
        folder.mkdir(parents=True, exist_ok=True)
        written = [(run.animate(folder / f"{self.name}.html"), "animation: open it in a browser")]
        table = folder / f"{self.name}.txt"
        table.write_text(self.table() + "\n", encoding="utf-8")
        written.append((table, "our values beside the known ones"))
        if find_spec("matplotlib") is not None:
            for k, signals in enumerate(filter(self._has, self.plots)):
                picture = folder / f"{self.name}-{k + 1}.png"
                run.plot(*signals, path=picture)
                written.append((picture, ", ".join(signals)))
        return written


def _distance(ours: Any, known: Any) -> float:
    deviation = np.abs(np.asarray(ours, dtype=np.float64) - np.asarray(known, dtype=np.float64))
    return float(np.max(deviation)) if np.all(np.isfinite(deviation)) else float("inf")


def _farthest(values: Any, wanted: Any) -> Any:
    """Return the row that deviates most from what should hold at all times."""
    if np.shape(values) == np.shape(wanted):
        return values
    deviation = np.abs(np.asarray(values) - wanted).reshape(len(values), -1).max(axis=1)
    return values[int(np.argmax(deviation))]


def _text(value: Any) -> str:
    array = np.asarray(value)
    text = np.array2string(
        array,
        precision=9 if array.size <= 4 else 6,
        separator=", ",
        max_line_width=10_000,
        threshold=8,
        suppress_small=True,
    )
    return " ".join(text.split())


def _footnotes(sources: Sequence[str]) -> dict[str, str]:
    """Return marks for long sources of several rows.

    >>> _footnotes(["closed form", "the same long source of two rows", "the same long source of two rows"])
    {'the same long source of two rows': '[1]'}
    """
    several = [source for source in dict.fromkeys(sources) if len(source) > 24 and sources.count(source) > 1]
    return {source: f"[{k}]" for k, source in enumerate(several, 1)}


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _catalogue():
        raise AttributeError(unknown("example", name, names()))
    make = partial(find, name)
    make.__doc__ = cleandoc(_catalogue()[name].module().__doc__ or "")
    return make


def __dir__() -> list[str]:
    return names()
