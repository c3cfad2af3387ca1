"""What a comparison of formulations, integrators and tolerances on one model found: rows, ranking, verdict."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from io import StringIO
from pathlib import Path
from typing import Any

from treemech.topology import TreemechError

ERROR = 1e-6  # where a ranking is asked for without saying at which error
EQUAL = 1.15  # times closer than this are within the noise of timing


@dataclass(frozen=True)
class Row:
    """One run: what was run, and what it cost and reached. `failure` says why numbers are missing."""

    formulation: str
    coordinates: str
    integrator: str
    rtol: float
    step: float | None = None  # s; of methods that are told a step, the one that goes with rtol
    cpu_s: float | None = None
    evaluations: int = 0
    steps: int = 0
    error: float | None = None
    constraint: float | None = None
    failure: str = ""
    call: str = ""  # the same run by mech.simulate, if it is one of its own

    @property
    def label(self) -> str:
        """Formulation and integrator: the candidate."""
        return label(self.formulation, self.integrator)

    @property
    def setting(self) -> str:
        """The tolerance or step, in words."""
        return f"rtol {self.rtol:.0e}" if self.step is None else f"steps of {self.step:.2g} s"


def label(formulation: str, integrator: str) -> str:
    """Return the name of a candidate.

    >>> label("relative-kkt", "Adams")
    'relative-kkt by Adams'
    """
    return f"{formulation} by {integrator}"


@dataclass(frozen=True)
class Reference:
    """The motion that errors are taken from: how it was computed, and how far a second method is from it."""

    method: str
    rtol: float
    checked_by: str = ""
    uncertainty: float = float("nan")
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `tm.compare` found.

    Attributes
    ----------
    rows : list of Row
        Every run, in the order in which candidates were tried; failed ones have the reason.
    reference : Reference
        What errors are taken from, and its own uncertainty: the deviation of a second method.
    reasons : dict
        Candidates that cannot express the model, and why.
    dropped : dict
        Candidates that were left out, or stopped at some tolerance, to end in the time given, and why.
    failures : dict
        Candidates that failed, and the first reason.
    """

    model: str
    t_span: tuple[float, float]
    reference: Reference
    rows: list[Row] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    cpu_s: float = 0.0  # all runs together

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __repr__(self) -> str:
        return f"Comparison({self.model!r}: {len(self.rows)} runs of {len(self.candidates)} candidates)"

    def __str__(self) -> str:
        return f"{self.table()}\n\n{self.verdict}"

    @property
    def candidates(self) -> list[str]:
        """All candidates, in the order tried."""
        names = [row.label for row in self.rows]
        return list(dict.fromkeys([*names, *self.failures, *self.dropped, *self.reasons]))

    # ------------------------------------------------------------ ranking
    def ranking(self, error: float = ERROR) -> list[Row]:
        """Return the cheapest run of every candidate that reaches an error, the fastest first.

        A run counts only if all finer ones of the candidate that ended reach the error too: no lucky hits.
        """
        self._check(error)
        found = []
        for name in dict.fromkeys(row.label for row in self.rows):
            kept: list[Row] = []
            for row in reversed(self._ladder(name)):
                if row.error is None or row.error > error:
                    break
                kept.append(row)
            if kept:
                found.append(min(kept, key=_seconds))
        return sorted(found, key=_seconds)

    def best(self, error: float = ERROR) -> Row:
        """Return the cheapest run that reaches an error; a `TreemechError` says how far the others got if none does."""
        ranking = self.ranking(error)
        if ranking:
            return ranking[0]
        reached = [row for row in self.rows if row.error is not None]
        nearest = min(reached, key=lambda row: row.error or 0.0, default=None)
        said = (
            "no run ended: see .failures and .dropped"
            if nearest is None
            else f"the smallest error is {nearest.error:.1e}, of {nearest.label} at {nearest.setting}"
        )
        raise TreemechError(
            f"compare: no candidate reaches an error of {error:.1e} reliably; {said}. Give finer rtols or more seconds."
        )

    def _ladder(self, name: str) -> list[Row]:
        """Return the runs of a candidate that ended, the coarsest first."""
        mine = [row for row in self.rows if row.label == name and row.error is not None]
        return sorted(mine, key=lambda row: -row.rtol)

    def _check(self, error: float) -> None:
        try:
            good = 0.0 < float(error) < float("inf")
        except (TypeError, ValueError):
            good = False
        if not good:
            raise TreemechError(f"compare: the error is {error!r}; wanted a positive number.")
        if error < self.reference.uncertainty:
            raise TreemechError(
                f"compare: an error of {error:.1e} cannot be told, since {self.reference.checked_by} is "
                f"{self.reference.uncertainty:.1e} from the reference. Ask for a larger error, or compare over a shorter time."
            )

    @property
    def confirmed(self) -> Row | None:
        """The run in other coordinates that comes closest to the reference: it confirms the equations."""
        others = [row for row in self.rows if row.error is not None and row.coordinates != "relative"]
        return min(others, key=lambda row: row.error or 0.0, default=None)

    # ------------------------------------------------------------ in words
    @property
    def verdict(self) -> str:
        """What is best for this model at an error of 1e-6, how far the others are, and how sure that is."""
        return self.verdict_at(ERROR)

    def verdict_at(self, error: float) -> str:
        """Return the verdict for an error."""
        lines = [self._winner(error)]
        for other in (1e-3, 1e-6, 1e-9):
            if other != error:
                lines.append(f"At {other:.0e}: {self._short(other)}")
        return "\n".join([*lines, self._trust(), *self._left_out()])

    def _winner(self, error: float) -> str:
        begin, end = self.t_span
        head = f"{self.model}, {begin:g} to {end:g} s, error {error:.0e}: "
        try:
            ranking = self.ranking(error)
            best = self.best(error)
        except TreemechError as reason:
            return head + str(reason).removeprefix("compare: ")
        lines = [
            f"{head}best is {best.coordinates} coordinates, {best.label} at {best.setting}: {_ms(best)}, {best.evaluations} evaluations."
        ]
        if len(ranking) > 1:
            lines.append(f"Next is {ranking[1].label} at {ranking[1].setting}, {_ratio(ranking[1], best)}.")
        for what in dict.fromkeys(row.coordinates for row in ranking if row.coordinates != best.coordinates):
            other = next(row for row in ranking if row.coordinates == what)
            lines.append(
                f"Best in {what} coordinates is {other.label} at {other.setting}, {_ratio(other, best)}."
            )
        own = next((row for row in ranking if row.call), None)
        if own is not None:
            lines.append(f"Write {own.call}" + ("." if own is best else f": {_ms(own)}."))
        return "\n".join(lines)

    def _short(self, error: float) -> str:
        try:
            best = self.best(error)
        except TreemechError as reason:
            return str(reason).removeprefix("compare: ")
        return f"{best.label} at {best.setting}, {_ms(best)}."

    def _trust(self) -> str:
        ref = self.reference
        text = f"Errors are deviations of the bodies from {ref.method} at rtol {ref.rtol:.0e}, "
        text += (
            f"from which {ref.checked_by} is {ref.uncertainty:.1e}"
            if ref.checked_by
            else "which no second integrator could check in the time given"
        )
        other = self.confirmed
        if other is not None:
            text += f", and {other.label} (other equations) {other.error:.1e}"
        return text + "." + "".join(f" {note}" for note in ref.notes)

    def _left_out(self) -> list[str]:
        run = {row.label for row in self.rows}
        several = (
            (self.reasons, "cannot express the model"), (set(self.dropped) - run, "were left out for time"),
            (set(self.dropped) & run, "were stopped for time at a fine tolerance"), (self.failures, "failed, at some tolerance at least"),
        )  # fmt: skip
        return [f"{len(group)} of {len(self.candidates)} {what}." for group, what in several if group]

    # ------------------------------------------------------------ tables
    def table(self, error: float | None = ERROR) -> str:
        """Return the ranking at an error as text, those that do not reach it below; all runs if error is None."""
        texts = self._texts(error)
        widths = [max(len(row[k]) for row in texts) for k in range(len(texts[0]))]
        return "\n".join(
            "  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in texts
        )

    def _texts(self, error: float | None) -> list[list[str]]:
        head = ["formulation", "coordinates", "integrator", "rtol", "CPU ms", "evaluations", "error", ""]
        if error is None:
            return [head, *(_cells(row, row.failure) for row in self.rows)]
        ranking = self.ranking(error)
        lines = [head, *(_cells(row, "") for row in ranking)]
        told = {row.label for row in ranking}
        for name in dict.fromkeys(row.label for row in self.rows):
            ladder = self._ladder(name)
            if name not in told and ladder:
                nearest = min(ladder, key=lambda row: row.error or 0.0)
                lines.append(_cells(nearest, f"does not reach {error:.0e}: {self._why(name)}"))
                told.add(name)
        for name in self.candidates:
            if name not in told:
                formulation, _, integrator = name.partition(" by ")
                lines.append([formulation, "", integrator, "", "", "", "", self._why(name)])
        return lines

    def _why(self, name: str) -> str:
        for group in (self.reasons, self.failures, self.dropped):
            if name in group:
                return group[name]
        return "finer tolerances are wanted"

    def _repr_html_(self) -> str:
        """Return ranking and verdict, for notebooks."""
        from html import escape

        from ..notebook.html import table_html

        try:
            rows = self._texts(ERROR)
        except TreemechError:
            rows = self._texts(None)
        return table_html(rows, self.model) + f"<pre>{escape(self.verdict)}</pre>"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "model": self.model, "t_span": list(self.t_span), "reference": asdict(self.reference), "rows": [asdict(r) for r in self.rows],
            "reasons": self.reasons, "dropped": self.dropped, "failures": self.failures, "cpu_s": self.cpu_s, "verdict": self.verdict,
        }  # fmt: skip

    def to_csv(self, path: str | Path) -> Path:
        """Write all runs with all digits, and one line for every candidate without a run."""
        from ..files.atomic import atomic, with_suffix

        target, text = with_suffix(path, ".csv", "to_csv"), StringIO(newline="")
        names = [f.name for f in fields(Row)]
        writer = csv.DictWriter(text, fieldnames=names)
        writer.writeheader()
        writer.writerows(asdict(row) for row in self.rows)
        run = {row.label for row in self.rows}
        for name in self.candidates:
            if name not in run:
                formulation, _, integrator = name.partition(" by ")
                writer.writerow(
                    {"formulation": formulation, "integrator": integrator, "failure": self._why(name)}
                )
        with atomic(target) as stream:
            stream.write(text.getvalue().encode())
        return target

    def plot(self, path: str | Path | None = None, most: int = 12, axes: Any = None) -> Any:
        """Draw CPU time over error of the `most` best candidates (needs matplotlib); return the Axes.

        `path` saves the picture. `axes` draws into Axes of yours.
        """
        from ..plots.work_precision import plot_comparison

        return plot_comparison(self, path, most, axes)


def _seconds(row: Row) -> float:
    return float("inf") if row.cpu_s is None else row.cpu_s


def _ms(row: Row) -> str:
    return f"{1e3 * _seconds(row):.3g} ms of CPU time"


def _ratio(row: Row, best: Row) -> str:
    """Return how much more time a run takes, and whether that comes from more or from dearer evaluations."""
    ratio = _seconds(row) / max(_seconds(best), 1e-9)
    if ratio < EQUAL:
        return f"as good as equal ({_ms(row)})"
    text = f"{ratio:.3g} times the time"
    if row.evaluations and best.evaluations:
        number = row.evaluations / best.evaluations
        text += f" ({number:.2g} times the evaluations, each {ratio / number:.2g} times the time)"
    return text


def _cells(row: Row, remark: str) -> list[str]:
    return [
        row.formulation, row.coordinates, row.integrator, f"{row.rtol:.0e}" if row.step is None else f"dt {row.step:.2g}",
        "" if row.cpu_s is None else f"{1e3 * row.cpu_s:.3g}", str(row.evaluations or ""),
        "" if row.error is None else f"{row.error:.1e}", remark,
    ]  # fmt: skip


def order(comparison: Comparison) -> Sequence[str]:
    """Return the candidates that have runs, the best first: by CPU time at the smallest of the usual errors they reach."""
    places: list[str] = []
    for error in (1e-6, 1e-9, 1e-3):
        if not error < comparison.reference.uncertainty:
            places += [row.label for row in comparison.ranking(error)]
    return list(dict.fromkeys([*places, *(row.label for row in comparison.rows if row.error is not None)]))
