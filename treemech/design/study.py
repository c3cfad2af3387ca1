"""Design studies: the same experiment with many designs, as a table."""

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import product
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import ElementError, TreemechError, unknown
from treemech.topology.arrays import Floats

from ..description.parameters import origin_of
from ..files.atomic import atomic, with_suffix
from ..simulation.progress import ProgressBar
from .experiment import Experiment, Quantity, check_quantity, gradient, scalar

if TYPE_CHECKING:
    from ..mechanism import Mechanism


@dataclass(frozen=True)
class Trial:
    """One design: its values, measures, derivatives by measure and parameter, and the reason if something is missing."""

    values: Mapping[str, float]
    measures: Mapping[str, float] = field(default_factory=dict)
    derivatives: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    message: str = ""


class DesignTable:
    """The trials of a design study, in their order; ``print(table)`` shows them."""

    def __init__(self, parameters: Sequence[str], measures: Sequence[str], trials: Sequence[Trial]) -> None:
        self.parameters, self.measures, self.trials = list(parameters), list(measures), list(trials)

    def __len__(self) -> int:
        return len(self.trials)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    def __getitem__(self, name: str) -> Floats:
        """Return the column of a parameter, a measure, or a derivative "measure/parameter".

        Failed trials have nan.
        """
        return np.array([self._cell(trial, name) for trial in self.trials])

    def _cell(self, trial: Trial, name: str) -> float:
        if name in self.parameters:
            return trial.values[name]
        if name in self.measures:
            return trial.measures.get(name, np.nan)
        measure, _, parameter = name.rpartition("/")
        if measure not in self.measures or parameter not in self.parameters:
            raise ElementError(unknown("column", name, self.columns))
        return trial.derivatives.get(measure, {}).get(parameter, np.nan)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        known = any(trial.derivatives for trial in self.trials)
        by = [f"{m}/{p}" for m in self.measures for p in self.parameters] if known else []
        return [*self.parameters, *self.measures, *by]

    @property
    def failures(self) -> list[Trial]:
        """Trials in which results are missing; each has the reason in its message."""
        return [trial for trial in self.trials if trial.message]

    @property
    def summary(self) -> str:
        """Number of failed designs, and the reasons, the most frequent first.

        >>> DesignTable(["a"], ["m"], [Trial({"a": 1.0}, {"m": 2.0}), Trial({"a": 0.0}, message="no.")]).summary
        '1 of 2 designs failed: no.'
        """
        reasons = Counter(trial.message for trial in self.failures).most_common()
        told = " ".join(message if n == 1 else f"{n} times: {message}" for message, n in reasons[:3])
        more = f" ... ({len(reasons) - 3} more reasons)" if len(reasons) > 3 else ""
        return f"{len(self.failures)} of {len(self)} designs failed" + (f": {told}{more}" if reasons else ".")

    def differences(self, measure: str, parameter: str) -> Floats:
        """Return the sensitivity from neighbouring trials, as in Kelem: over both neighbours, at the ends over one.

        >>> trials = [Trial({"a": float(a)}, {"m": a**2.0}) for a in range(4)]
        >>> DesignTable(["a"], ["m"], trials).differences("m", "a").tolist()
        [1.0, 2.0, 4.0, 5.0]
        """
        x, y = self[parameter], self[measure]
        low, high = np.maximum(np.arange(len(x)) - 1, 0), np.minimum(np.arange(len(x)) + 1, len(x) - 1)
        return np.asarray((y[high] - y[low]) / (x[high] - x[low]))

    def to_pandas(self) -> Any:
        """Return a pandas table with all columns; the last one says why a trial failed (needs pandas)."""
        from ..files.tables import pandas

        table = {name: self[name] for name in self.columns}
        return pandas().DataFrame(table | {"message": [trial.message for trial in self.trials]})

    def _repr_html_(self) -> str:
        """Return the table, for notebooks."""
        from ..notebook.html import table_html

        return table_html(self._texts(""), self.summary if self.failures else "")

    def to_csv(self, path: str | Path) -> Path:
        """Write all columns with all digits; the last one says why a trial failed."""
        target, text = with_suffix(path, ".csv", "to_csv"), StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow([*self.columns, "message"])
        for trial in self.trials:
            writer.writerow([*(repr(float(self._cell(trial, c))) for c in self.columns), trial.message])
        with atomic(target) as stream:
            stream.write(text.getvalue().encode())
        return target

    def markdown(self) -> str:
        """Return the table in Markdown."""
        return "\n".join("| " + " | ".join(row) + " |" for row in self._texts("---"))

    def __str__(self) -> str:
        rows = self._texts("")
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(text.rjust(w) for text, w in zip(row, widths, strict=True)) for row in rows]
        said = [self.summary] if self.failures else []
        return "\n".join([*(line.rstrip() for line in lines if line.strip()), *said])

    def __repr__(self) -> str:
        return f"DesignTable({len(self)} trials, {len(self.failures)} failed; {', '.join(self.columns)})"

    def _texts(self, rule: str) -> list[list[str]]:
        said = ["failure"] if self.failures else []
        head = [*self.columns, *said]
        rows = [
            [*(f"{self._cell(trial, c):.6g}" for c in self.columns), *(said and [trial.message])]
            for trial in self.trials
        ]
        return [head, [rule] * len(head), *rows]


def design_study(
    mech: "Mechanism",
    experiment: Experiment,
    designs: Mapping[str, Any] | Sequence[Mapping[str, float]],
    measures: Mapping[str, Quantity] | Sequence[Quantity] | Quantity,
    derivatives: bool = False,
    progress: bool | Callable[[float], None] = False,
    workers: int | None = 1,
    executor: Any = None,
) -> DesignTable:
    """Run an experiment with every design and tabulate what it is judged by.

    Parameters
    ----------
    designs : dict of values by parameter, or a list of dicts
        ``{"l1": [0.3, 0.4], "l2": [1, 2, 3]}`` means all 6 combinations, the last parameter varying fastest.
    measures : dict of scalars by name, or a list of them
        "max A.q" and the like, or functions of a Run that give one number.
    derivatives : bool
        Of all measures by all parameters varied, at every design.
    progress : bool or callable
        A bar on stderr, or a function of the fraction done.
    workers, executor
        Share the designs among threads, processes or the workers of a cluster, as in `Mechanism.simulate_many`;
        the table does not depend on it. The default is one after the other.

    Returns
    -------
    DesignTable
        A design that cannot be built, assembled or run has a row with the reason. So has a design for which
        a measure fails, beside its other results, and so have designs left out after Ctrl-C; `summary` counts
        them. Nothing is compiled for a new design.
    """
    wanted = wanted_quantities(measures)
    for what in wanted.values():
        check_quantity(mech, what)
    if isinstance(designs, Mapping):
        given = [_values(name, v) for name, v in designs.items()]
        trials = [dict(zip(designs, values, strict=True)) for values in product(*given)]
    else:
        trials = [dict(design) for design in designs]
    names = list(dict.fromkeys(name for design in trials for name in design))
    origin_of(mech, names)
    bar = ProgressBar(mech.name) if progress is True else None
    tell = bar or (progress if callable(progress) else None)
    mech._refilling.announce(names if len(trials) > 2 else ())
    job = Trials(mech, experiment, names, wanted, derivatives)
    found: dict[int, Trial] = {}

    def keep(k: int, trial: Trial) -> None:
        found[k] = trial
        if tell is not None:
            tell(len(found) / len(trials))

    try:
        if executor is None and workers == 1:
            for k, design in enumerate(trials):
                keep(k, job.block(design))
        else:
            from ..many.schedule import compute, executing

            with executing(executor, workers) as team:
                team.use(job)
                compute(team, range(len(trials)), lambda k: trials[k], keep)
    except KeyboardInterrupt:
        pass
    finally:
        if bar is not None:
            bar.close()
    rows = [
        found.get(k) or Trial({**mech.parameters, **design}, message="not run: the study was interrupted.")
        for k, design in enumerate(trials)
    ]
    return DesignTable(names, list(wanted), rows)


@dataclass(frozen=True)
class Trials:
    """What a worker needs for the designs of a study."""

    mech: "Mechanism"
    experiment: Experiment
    names: list[str]
    wanted: Mapping[str, Quantity]
    derivatives: bool

    def block(self, design: Mapping[str, float]) -> Trial:
        """Return one design."""
        own = {**self.mech.parameters, **design}
        return _trial(self.mech, self.experiment, own, self.names, self.wanted, self.derivatives)


def wanted_quantities(
    measures: Mapping[str, Quantity] | Sequence[Quantity] | Quantity,
) -> dict[str, Quantity]:
    """Return the quantities by name; functions without a given name have their own."""
    if isinstance(measures, Mapping):
        return dict(measures)
    many = [measures] if isinstance(measures, str) or callable(measures) else list(measures)
    wanted = {what if isinstance(what, str) else getattr(what, "__name__", repr(what)): what for what in many}
    if len(wanted) < len(many):
        raise ElementError("design_study: two measures have one name; give them as a dict, {name: function}.")
    return wanted


def _values(name: str, given: Any) -> list[float]:
    """Return the values of one parameter."""
    try:
        values = np.atleast_1d(np.asarray(given, dtype=np.float64)).tolist()
    except (TypeError, ValueError):
        raise ElementError(f"design_study: values of {name!r} are {given!r}; wanted numbers.") from None
    if not values:
        raise ElementError(f"design_study: there are no values of {name!r}.")
    return list(values)


def _trial(
    mech: "Mechanism",
    experiment: Experiment,
    values: Mapping[str, float],
    names: list[str],
    wanted: Mapping[str, Quantity],
    derivatives: bool,
) -> Trial:
    own = {name: values[name] for name in names}
    measured, by, faults = dict[str, float](), dict[str, dict[str, float]](), list[str]()
    try:
        design = mech.with_parameters(**own)
        found = experiment.sensitivities(design, names) if derivatives else None
        run = experiment.run(design) if found is None else found.run
    except Exception as error:  # Ctrl-C is no failure
        return Trial(own, message=told(error))
    for name, what in wanted.items():
        try:
            number = scalar(what, run)
            if found is not None:
                by[name] = dict(zip(names, gradient(what, found).tolist(), strict=True))
            measured[name] = number
        except Exception as error:
            faults.append(f"measure {name!r}: {told(error)}")
    return Trial(own, measured, by, " ".join(faults))


def told(error: Exception) -> str:
    """Return the message of an error; for a user's function also the kind of error and its place."""
    if isinstance(error, TreemechError):
        return str(error)
    place = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"
