"""Samples of parameters: at random, by Latin hypercubes, by the sequences of Sobol and Halton."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from treemech.topology import ElementError, TreemechError
from treemech.topology.arrays import Floats

_METHODS = ("random", "latin", "sobol", "halton")


class Samples(dict[str, Floats]):
    """Values of parameters by name, (N,) each: row k of all of them is one design."""

    @property
    def count(self) -> int:
        """Number of designs."""
        return len(next(iter(self.values()))) if self else 0


def sample(ranges: Mapping[str, Any], n: int, method: str = "sobol", seed: Any = None) -> Samples:
    """Return n designs from ranges of parameters, for `sweep`, and for ``mech.simulate_many(parameters=)``.

    Parameters
    ----------
    ranges : dict
        By name (low, high), between which all values are equally likely, or a frozen distribution of `scipy.stats`,
        ``{"l": (0.9, 1.1), "k": scipy.stats.norm(40, 2)}``.
    n : int
        Number of designs. Sobol's sequence is balanced for powers of two.
    method : str
        "random" (Monte Carlo), "latin" (Latin hypercube), "sobol" or "halton" (scrambled sequences: fewer designs
        for the same accuracy of a mean).
    seed : int or Generator
        The same seed gives the same designs.

    Examples
    --------
    >>> designs = sample({"l": (0.9, 1.1), "k": (20.0, 60.0)}, 8, method="latin", seed=1)
    >>> designs["k"].shape, bool((designs["l"] > 0.9).all())
    ((8,), True)
    """
    if not ranges:
        raise ElementError("sample: there are no ranges.")
    if method not in _METHODS:
        raise TreemechError(f"sample: method is {method!r}; wanted one of {', '.join(_METHODS)}.")
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise TreemechError(f"sample: the number of designs is {n!r}; wanted a whole number from 1.")
    points = _unit(method, len(ranges), int(n), seed)
    return Samples(
        {name: _scaled(name, given, points[:, k]) for k, (name, given) in enumerate(ranges.items())}
    )


def _unit(method: str, d: int, n: int, seed: Any) -> Floats:
    """Return points of the unit cube (n, d)."""
    if method == "random":
        return np.random.default_rng(seed).random((n, d))
    from scipy.stats import qmc

    if method == "latin":
        return np.asarray(qmc.LatinHypercube(d, rng=seed).random(n))
    if method == "halton":
        return np.asarray(qmc.Halton(d, rng=seed).random(n))
    power = max(0, int(np.ceil(np.log2(n))))
    return np.asarray(qmc.Sobol(d, rng=seed).random_base2(power)[:n])


def _scaled(name: str, given: Any, points: Floats) -> Floats:
    if hasattr(given, "ppf"):
        return np.asarray(given.ppf(points), dtype=np.float64)
    low, high = bounds(name, given)
    return low + (high - low) * points


def bounds(name: str, given: Any) -> tuple[float, float]:
    """Return the two ends of a range."""
    try:
        low, high = (float(x) for x in given)
    except (TypeError, ValueError):
        raise ElementError(
            f"the range of {name!r} is {given!r}; wanted (low, high) or a frozen distribution of scipy.stats."
        ) from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ElementError(f"the range of {name!r} is ({low:g}, {high:g}); wanted low < high.")
    return low, high


def grid(values: Mapping[str, Any]) -> Samples:
    """Return all combinations of values, the last parameter varying fastest.

    >>> grid({"l": [1, 2], "k": [5, 6, 7]})["k"].tolist()
    [5.0, 6.0, 7.0, 5.0, 6.0, 7.0]
    """
    columns = [np.atleast_1d(np.asarray(x, dtype=np.float64)) for x in values.values()]
    for name, x in zip(values, columns, strict=True):
        if x.ndim != 1 or not len(x):
            raise ElementError(f"values of {name!r} are {values[name]!r}; wanted numbers.")
    crossed = np.meshgrid(*columns, indexing="ij") if columns else []
    return Samples({name: x.ravel() for name, x in zip(values, crossed, strict=True)})
