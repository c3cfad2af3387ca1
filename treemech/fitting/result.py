"""Result of a fit: values with intervals, what cannot be told apart, residuals, report and picture."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from treemech.topology import ElementError, unknown
from treemech.topology.arrays import Floats

from ..description.parameters import origin_of
from .identifiability import Combination, identify
from .motion import STILL
from .problem import Problem, Search, influence

if TYPE_CHECKING:
    from ..mechanism import Mechanism


class FittedChannel(NamedTuple):
    """One measured number over time, and what the fitted model predicts."""

    experiment: str
    label: str
    t: Floats
    measured: Floats
    fitted: Floats
    sigma: float

    @property
    def residual(self) -> Floats:
        """Measured less fitted."""
        return self.measured - self.fitted


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters found from measurements.

    Attributes
    ----------
    mechanism : Mechanism
        The mechanism with the values found.
    values, errors : dict
        By name, of parameters, start values and offsets; errors are standard errors, inf where the measurements
        do not decide.
    intervals : dict
        (low, high) by name, at the level `confidence`.
    covariance : array
        Of the unknowns in the order of `names`; nan beside those that are not determined.
    combinations : list of Combination
        Changes of unknowns that nothing measured can see.
    singular_values : array
        Of the weighted derivatives by the unknowns, each measured by its own size.
    channels : list of FittedChannel
        Measured and fitted values; times, residuals and sigma.
    success, message : bool, str
        Whether the search converged.
    linear : list of str
        Experiments whose predictions are linear in the parameters, of which the regressor was used.
    chi2, freedom : float, int
        Sum of the squares of residuals over sigma, and samples less unknowns: about equal if the model is right and sigma known.
    """

    mechanism: "Mechanism"
    name: str
    names: list[str]
    parameter_names: list[str]
    values: dict[str, float]
    errors: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    at_bounds: list[str]
    covariance: Floats
    combinations: list[Combination]
    singular_values: Floats
    channels: list[FittedChannel]
    success: bool
    message: str
    evaluations: int
    linear: list[str]
    chi2: float
    freedom: int
    confidence: float
    loss: str
    sigma_known: bool
    _start: dict[str, float] = field(repr=False)

    @classmethod
    def of(
        cls, problem: Problem, search: Search, name: str, confidence: float, loss: str, loss_scale: float
    ) -> "Fit":
        """Make the result of a search, with its statistics."""
        u, x = problem.unknowns, search.values
        r, J = problem.residuals(x, True)
        _, by_priors = problem.prior_rows(x)
        psi, slope = influence(r, loss, loss_scale)
        W = np.vstack((J * np.sqrt(np.maximum(slope, 0.0))[:, None], by_priors))
        M = np.vstack((J * psi[:, None], by_priors)) if loss != "linear" else W
        room = 1e-9 * u.scales(x)
        bound = (x - u.lower < room) | (u.upper - x < room)
        W, M = W * ~bound, M * ~bound
        told = identify(W, M.T @ M, u.names, u.scales(x))
        errors = np.sqrt(np.maximum(np.diag(told.covariance), 0.0))
        errors[bound] = np.nan
        freedom = max(problem.count - len(u.names), 1)
        estimated = problem.estimated
        level = 0.5 * (1.0 + confidence)
        factor = float(student.ppf(level, problem.freedom(x)) if estimated else norm.ppf(level))
        found = problem.predict(x, False)
        channels = [
            FittedChannel(e.what, c.label, c.t, c.y, y, s)
            for e, own, sigmas in zip(problem.experiments, found.y, problem.sigma, strict=True)
            for c, y, s in zip(e.channels, own, sigmas, strict=True)
        ]
        of_parameters = dict(zip(u.parameters, x.tolist(), strict=False))
        origin = origin_of(problem.mech)
        values = {n: v for n, v in origin.values.items() if n != STILL}
        combinations = [
            c
            for c in told.combinations
            if not set(c.changes) <= {n for n, b in zip(u.names, bound, strict=True) if b}
        ]
        return cls(
            origin._replace(values={**values, **of_parameters}).build({}), name, list(u.names), list(u.parameters),
            dict(zip(u.names, x.tolist(), strict=True)), dict(zip(u.names, errors.tolist(), strict=True)),
            {n: (float(v - factor * e), float(v + factor * e)) for n, v, e in zip(u.names, x, errors, strict=True)},
            [n for n, b in zip(u.names, bound, strict=True) if b], told.covariance, combinations,
            told.singular_values, channels, search.success, search.message, search.evaluations, problem.linear, float(r @ r), freedom,
            confidence, loss, not estimated, dict(zip(u.names, u.start.tolist(), strict=True)),
        )  # fmt: skip

    @property
    def parameters(self) -> dict[str, float]:
        """Values of the parameters of the model, for ``mech.with_parameters(**found.parameters)``."""
        return {n: self.values[n] for n in self.parameter_names}

    @property
    def correlation(self) -> Floats:
        """Correlations of the unknowns, in the order of `names`."""
        size = np.sqrt(np.diag(self.covariance))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.covariance / np.outer(size, size))

    def residual(self, label: str, experiment: str | None = None) -> Floats:
        """Return measured less fitted of one number, "A.q" or "tool.position.x"."""
        for c in self.channels:
            if c.label == label and experiment in (None, c.experiment):
                return c.residual
        raise ElementError(unknown("measured number", label, [c.label for c in self.channels]))

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The table of the unknowns: name, value, standard error, interval, start."""
        head = ("unknown", "value", "standard error", f"{100 * self.confidence:g} % interval", "start")
        rows: list[tuple[str, ...]] = [head]
        for n in self.names:
            error, (low, high) = self.errors[n], self.intervals[n]
            shown = f"{low:.6g} ... {high:.6g}" if np.isfinite(error) else "not determined"
            if n in self.at_bounds:
                shown = "at its bound"
            rows.append(
                (
                    n,
                    f"{self.values[n]:.6g}",
                    f"{error:.2g}" if np.isfinite(error) else "",
                    shown,
                    f"{self._start[n]:.6g}",
                )
            )
        return rows

    def _labelled(self, channel: FittedChannel) -> str:
        several = len({c.experiment for c in self.channels}) > 1
        return f"{channel.experiment}: {channel.label}" if several else channel.label

    @property
    def remarks(self) -> list[str]:
        """What else there is to say: what cannot be told apart, how well the model fits, how the search ended."""
        said = []
        samples = sum(len(c.t) for c in self.channels)
        said.append(
            f"{samples} samples of {len(self.channels)} measured numbers, {len(self.names)} unknowns, {self.freedom} degrees of freedom."
        )
        if self.linear:
            said.append(f"Linear in the parameters (regressor): {', '.join(self.linear)}.")
        if self.sigma_known and self.loss == "linear":
            ratio = float(np.sqrt(self.chi2 / self.freedom))
            fault = (
                ": the model or sigma is wrong"
                if ratio > 1.5
                else (": sigma is too large" if ratio < 0.6 else "")
            )
            said.append(f"Residuals are {ratio:.3g} times the given standard deviations{fault}.")
        elif not self.sigma_known:
            said.append(
                "Noise found: "
                + ", ".join(f"{self._labelled(c)} {c.sigma:.3g}" for c in self.channels[:12])
                + "."
            )
        if self.combinations:
            said.append("Not told apart by these measurements:")
            alone = [next(iter(c.changes)) for c in self.combinations if len(c.changes) == 1]
            if alone:
                verb = (
                    "move nothing that was measured, none of them"
                    if len(alone) > 1
                    else "moves nothing that was measured"
                )
                said.append(f"  {', '.join(alone)}: {verb}")
            said += [f"  {c}" for c in self.combinations if len(c.changes) > 1]
        with np.errstate(invalid="ignore"):
            near = np.argwhere(np.triu(np.abs(self.correlation) > 0.99, 1))
        said += [
            f"{self.names[i]} and {self.names[j]} are nearly told apart only (correlation {self.correlation[i, j]:.4f})."
            for i, j in near[:6]
        ]
        if not self.success:
            said.append(f"The search did not converge: {self.message}")
        return said

    @property
    def report(self) -> str:
        """The table and the remarks as text."""
        rows = self.rows
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = [
            "  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        return "\n".join([f"fit of {self.name!r}", *lines, *self.remarks])

    def __str__(self) -> str:
        return self.report

    def __repr__(self) -> str:
        shown = ", ".join(f"{n} = {self.values[n]:.6g}" for n in self.parameter_names[:6])
        return f"Fit({self.name!r}: {shown}{', ...' if len(self.parameter_names) > 6 else ''})"

    def _repr_html_(self) -> str:
        """Return the table and the remarks, for notebooks."""
        from html import escape

        from ..notebook.html import table_html

        said = "".join(f"<div>{escape(line)}</div>" for line in self.remarks)
        return f"<div><b>fit of {escape(self.name)}</b></div>{table_html(self.rows)}{said}"

    def plot(self, path: str | Path | None = None, most: int = 8) -> Any:
        """Draw measured and fitted values, and beside them the residuals over sigma; return the axes."""
        from .picture import draw

        return draw(self, path, most)

    def save_html(self, path: str | Path) -> Path:
        """Write the report with its picture as one page."""
        from .picture import page

        return page(self, path)
