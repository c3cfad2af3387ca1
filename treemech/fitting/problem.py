"""The least-squares problem of a fit: residuals, their derivatives, weights, and the search."""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

from treemech.topology import ElementError, TreemechError
from treemech.topology.arrays import Floats

from ..description.parameters import origin_of
from .identifiability import unseen
from .known_motion import KnownMotion
from .unexcited import nearest_to_start
from .unknowns import Unknowns

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_LINEAR = 1e-7  # change of the derivatives, relative, below which predictions are linear in the parameters
_HOLD = 1e-6  # of a standard deviation of the best known direction: what holds directions that nothing measured moves


class Search(NamedTuple):
    """What a search found: values of the unknowns, whether it converged, and how."""

    values: Floats
    success: bool
    message: str
    evaluations: int


class Prediction(NamedTuple):
    """Predictions by experiment and channel, derivatives by the unknowns, and gaps between segments."""

    y: list[list[Floats]]
    J: list[list[Floats]]
    gaps: Floats
    by_gaps: Floats


class Problem:
    """Experiments, unknowns and weights."""

    def __init__(
        self,
        mech: "Mechanism",
        mechanisms: "list[Mechanism]",
        experiments: list[Any],
        unknowns: Unknowns,
        offsets: dict[tuple[int, int], int],
        priors: list[tuple[int, float, float]],
        progress: Callable[[float], None] | None,
    ) -> None:
        self.mech, self.mechanisms, self.experiments, self.unknowns = mech, mechanisms, experiments, unknowns
        self.offsets, self.priors, self.progress = offsets, priors, progress
        self.gap: float | None = None
        self.sigma = [
            [
                c.sigma
                if c.sigma is not None
                else max(float(np.std(c.y)), 1e-9 * (1.0 + float(np.max(np.abs(c.y)))))
                for c in e.channels
            ]
            for e in experiments
        ]
        self.estimated = any(c.sigma is None for e in experiments for c in e.channels)
        self._regressor: dict[int, tuple[Floats, Any]] = {}  # experiments that are linear in the parameters
        self._kept: dict[tuple[bytes, bool], Prediction] = {}

    @property
    def count(self) -> int:
        """Number of samples."""
        return sum(len(c.t) for e in self.experiments for c in e.channels)

    def mechanism(self, experiment: int, values: Floats) -> "Mechanism":
        """Return the mechanism of an experiment with these parameters."""
        names = self.unknowns.parameters
        return origin_of(self.mechanisms[experiment]).build(
            dict(zip(names, values[: len(names)].tolist(), strict=True))
        )

    def predict(self, values: Floats, slopes: bool) -> Prediction:
        """Return all predictions at these values of the unknowns; those of the last values are kept, as weights change."""
        key = values.tobytes()
        if (key, True) in self._kept:
            return self._kept[key, True]
        if (key, slopes) not in self._kept:
            if len(self._kept) > 3:
                self._kept.clear()
            self._kept[key, slopes] = self._predicted(values, slopes)
        return self._kept[key, slopes]

    def _predicted(self, values: Floats, slopes: bool) -> Prediction:
        y, J, gaps, by_gaps = [], [], [], []
        for e, experiment in enumerate(self.experiments):
            if e in self._regressor:
                at, (y0, J0, g, b) = self._regressor[e]
                found = (
                    [a + D @ (values - at) for a, D in zip(y0, J0, strict=True)],
                    [D.copy() for D in J0],
                    g,
                    b,
                )
            else:
                found = experiment.evaluate(
                    self.mechanism(e, values), self.unknowns.parameters, values, slopes
                )
                found = ([a.copy() for a in found[0]], *found[1:])
            for c in range(len(experiment.channels)):
                if (e, c) in self.offsets:
                    found[0][c] += values[self.offsets[e, c]]
                    found[1][c][:, self.offsets[e, c]] = 1.0
            y.append(found[0])
            J.append(found[1])
            gaps.append(found[2])
            by_gaps.append(found[3])
        return Prediction(y, J, np.concatenate(gaps), np.vstack(by_gaps))

    def prepare(self, values: Floats) -> None:
        """Find which experiments are linear in the parameters; they are evaluated here once and for all."""
        self._regressor = {}
        self._kept.clear()
        for e, experiment in enumerate(self.experiments):
            if not isinstance(experiment, KnownMotion):
                continue
            names = self.unknowns.parameters
            at = values.copy()
            at[[k for pair, k in self.offsets.items() if pair[0] == e]] = 0.0
            first = experiment.evaluate(self.mechanism(e, at), names, at, True)
            moved = at.copy()
            variables = self.unknowns.variables(at)
            step = 0.02 * np.cos(
                np.arange(len(names))
            )  # differs from unknown to unknown; inertias stay physical
            variables[: len(names)] += step * np.where(
                np.isin(range(len(names)), self.unknowns.in_groups),
                1.0,
                np.maximum(np.abs(at[: len(names)]), 0.01),
            )
            variables = np.clip(variables, self.unknowns.lower, self.unknowns.upper)
            moved = self.unknowns.values(variables)
            try:
                second = experiment.evaluate(self.mechanism(e, moved), names, moved, True)
            except TreemechError:
                continue
            size = max(max(float(np.max(np.abs(J), initial=0.0)) for J in first[1]), 1e-300)
            gap = max(
                float(np.max(np.abs(a - b), initial=0.0)) for a, b in zip(first[1], second[1], strict=True)
            )
            if gap < _LINEAR * size:
                self._regressor[e] = (at, first)

    @property
    def linear(self) -> list[str]:
        """Names of the experiments whose predictions are linear in the parameters."""
        return [self.experiments[e].what for e in sorted(self._regressor)]

    def residuals(self, values: Floats, slopes: bool) -> tuple[Floats, Floats]:
        """Return (prediction - measured) / sigma of all samples, and the derivatives by the unknowns."""
        found = self.predict(values, slopes)
        r, J = [], []
        for e, experiment in enumerate(self.experiments):
            for c, channel in enumerate(experiment.channels):
                r.append((found.y[e][c] - channel.y) / self.sigma[e][c])
                if slopes:
                    J.append(found.J[e][c] / self.sigma[e][c])
        if self.gap is not None:
            r.append(found.gaps / self.gap)
            if slopes:
                J.append(found.by_gaps / self.gap)
        return np.concatenate(r), np.vstack(J) if slopes else np.zeros((0, len(values)))

    def prior_rows(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the residuals of the priors, and their derivatives."""
        r, J = np.zeros(len(self.priors)), np.zeros((len(self.priors), len(values)))
        for row, (k, value, sigma) in enumerate(self.priors):
            r[row], J[row, k] = (values[k] - value) / sigma, 1.0 / sigma
        return r, J

    def refuse_idle(self, values: Floats, grouped: bool) -> None:
        """Refuse parameters that move nothing that was measured; those of inertias are only reported."""
        _, J = self.residuals(values, True)
        _, also = self.prior_rows(values)
        J = np.vstack((J, also)) * self.unknowns.scales(values)
        if not np.all(np.isfinite(J)):
            raise TreemechError("fit: the derivatives are not finite at the start values.")
        sizes, known = np.max(np.abs(J), axis=0), set(self.unknowns.in_groups)
        idle = [
            name
            for k, name in enumerate(self.unknowns.names)
            if k not in known and sizes[k] <= 1e-12 * max(float(np.max(sizes)), 1e-300)
        ]
        if idle:
            raise ElementError(
                f"fit: {', '.join(map(repr, idle))} moves nothing that was measured: leave it out of parameters=, measure what "
                "it moves, or give it a prior."
            )

    def search(self, values: Floats, loss: str, loss_scale: float, iterations: int) -> Search:
        """Minimise, from these values of the unknowns."""
        unknowns, kept = self.unknowns, dict[bytes, tuple[Floats, Floats]]()
        start = np.clip(unknowns.variables(values), unknowns.lower, unknowns.upper)
        samples = self._samples(unknowns.values(start), loss, loss_scale)
        size = unknowns.scales(unknowns.values(start))
        _, J0 = samples(unknowns.values(start), True)
        hold = _HOLD * (float(np.linalg.norm(J0 * size, 2)) if J0.size else 1.0) / size
        hold[unknowns.in_groups] *= size[unknowns.in_groups]  # their variables have no units

        def rows(x: Floats, slopes: bool) -> tuple[Floats, Floats]:
            values = unknowns.values(x)
            r, J = samples(values, slopes)
            p, by = self.prior_rows(values)
            r = np.concatenate((r, p, hold * (x - start)))
            if not slopes:
                return r, J
            return r, np.vstack((np.vstack((J, by)) @ unknowns.slopes(x), np.diag(hold)))

        def fun(x: Floats) -> Floats:
            if self.progress is not None:
                self.progress(0.0)
            try:
                r, _ = rows(x, False)
            except TreemechError:  # no such model, or it does not get to the end: a shorter step is tried
                return np.full(len(J0) + len(self.priors) + len(x), np.inf)
            return r

        def jac(x: Floats) -> Floats:
            key = x.tobytes()
            if key not in kept:
                kept.clear()
                kept[key] = rows(x, True)
            return kept[key][1]

        rows(start, False)  # which says what is wrong there
        with warnings.catch_warnings():  # of models on the way; the model that is found warns for itself
            warnings.simplefilter("ignore")
            found = least_squares(
                fun, start, jac, bounds=(unknowns.lower, unknowns.upper), method="trf", x_scale="jac", ftol=1e-8, xtol=1e-8, gtol=1e-12,
                max_nfev=iterations,
            )  # fmt: skip
        return Search(unknowns.values(found.x), bool(found.status > 0), str(found.message), int(found.nfev))

    def _samples(
        self, at: Floats, loss: str, scale: float
    ) -> Callable[[Floats, bool], tuple[Floats, Floats]]:
        """Return the function that gives rows whose squares add up to the loss of all samples, and their derivatives.

        Many linear rows r + J d become few by R of J, r = Q R: |r + J d| = |R (d, 1)|.
        """

        def all_rows(values: Floats, slopes: bool) -> tuple[Floats, Floats]:
            r, J = self.residuals(values, slopes)
            if loss == "linear":
                return r, J
            r, weight = _robust(r, loss, scale)
            return r, J * weight[:, None] if slopes else J

        if loss != "linear" or len(self._regressor) < len(self.experiments):
            return all_rows
        r, J = self.residuals(at, True)
        R = np.asarray(np.linalg.qr(np.column_stack((J, r)), mode="r"))
        return lambda values, slopes: (R[:, :-1] @ (values - at) + R[:, -1], R[:, :-1])

    def back_to_start(self, search: Search, loss: str, loss_scale: float, iterations: int) -> Search:
        """Let inertias that nothing measured decides return to where they started; predictions stay as they are."""
        if not self.unknowns.groups:
            return search
        W = np.vstack((self.residuals(search.values, True)[1], self.prior_rows(search.values)[1]))
        N = unseen(W, self.unknowns.scales(search.values))
        there = nearest_to_start(self.unknowns, search.values, N)
        if len(self._regressor) == len(self.experiments):
            return search._replace(values=there)
        again = self.search(there, loss, loss_scale, iterations)  # elsewhere other derivatives may hold
        return again._replace(evaluations=search.evaluations + again.evaluations)

    def leverages(self, values: Floats) -> list[list[float]]:
        """Return how many unknowns every channel decides: the sum of the leverages of its samples."""
        _, J = self.residuals(values, True)
        U, sizes, _ = np.linalg.svd(J * self.unknowns.scales(values), full_matrices=False)
        of_samples = np.sum(U[:, sizes > 1e-7 * max(float(sizes[0]), 1e-300)] ** 2, axis=1)
        ends = np.cumsum([len(c.t) for e in self.experiments for c in e.channels])
        each = iter(float(np.sum(part)) for part in np.split(of_samples, ends[:-1]))
        return [[next(each) for _ in e.channels] for e in self.experiments]

    def freedom(self, values: Floats) -> float:
        """Return the degrees of freedom of the estimated noise: of the channel that has fewest, if it has its own sigma."""
        taken = self.leverages(values)
        own = [
            len(c.t) - h
            for e, per in zip(self.experiments, taken, strict=True)
            for c, h in zip(e.channels, per, strict=True)
            if c.sigma is None
        ]
        return max(min(own, default=np.inf), 1.0)

    def reweigh(self, search: Search, loss: str) -> bool:
        """Estimate unknown standard deviations from the residuals; tell whether they changed.

        A channel of n samples that decides h unknowns has the variance sum r^2 / (n - h). With a robust loss it
        comes from the median, which outliers do not move.
        """
        if not self.estimated:
            return False
        found, changed, taken = self.predict(search.values, False), False, self.leverages(search.values)
        for e, experiment in enumerate(self.experiments):
            for c, channel in enumerate(experiment.channels):
                if channel.sigma is None:
                    left = found.y[e][c] - channel.y
                    least = 1e-12 * (1.0 + float(np.max(np.abs(channel.y))))
                    free = max(1.0 - taken[e][c] / len(left), 1e-3)
                    rms = np.sqrt(np.mean(left**2)) if loss == "linear" else 1.4826 * np.median(np.abs(left))
                    sigma = max(float(rms / np.sqrt(free)), least)
                    changed |= abs(sigma - self.sigma[e][c]) > 0.01 * self.sigma[e][c]
                    self.sigma[e][c] = sigma
        return changed


def _robust(r: Floats, loss: str, scale: float) -> tuple[Floats, Floats]:
    """Return residuals whose squares are the robust loss, and their derivatives by the plain ones."""
    z = (r / scale) ** 2
    if loss == "huber":
        rho, slope = (
            np.where(z <= 1, z, 2 * np.sqrt(np.maximum(z, 1.0)) - 1),
            np.where(z <= 1, 1.0, np.maximum(z, 1.0) ** -0.5),
        )
    elif loss == "soft_l1":
        rho, slope = 2 * (np.sqrt(1 + z) - 1), (1 + z) ** -0.5
    elif loss == "cauchy":
        rho, slope = np.log1p(z), 1 / (1 + z)
    else:
        rho, slope = np.arctan(z), 1 / (1 + z**2)
    size = np.sqrt(np.maximum(rho, 1e-300))
    weight = np.where(z > 1e-12, slope * np.sqrt(z) / size, 1.0)
    return np.sign(r) * scale * size, weight


def influence(r: Floats, loss: str, scale: float) -> tuple[Floats, Floats]:
    """Return psi = rho'/2 and its derivative, for the covariance of robust estimates.

    >>> influence(np.array([0.5]), "linear", 1.0)
    (array([0.5]), array([1.]))
    """
    if loss == "linear":
        return r, np.ones_like(r)

    def psi(x: Floats) -> Floats:
        value, weight = _robust(x, loss, scale)
        return value * weight

    h = 1e-5 * scale
    return psi(r), (psi(r + h) - psi(r - h)) / (2 * h)
