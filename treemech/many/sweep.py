"""Studies over many runs: sweeps over designs, and Sobol's indices of what depends on what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import ElementError, TreemechError
from treemech.topology.arrays import Floats

from ..design.experiment import Experiment
from ..design.sampling import Samples, bounds, grid
from .runs import ManyRuns
from .simulate_many import simulate_many

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def sweep(
    mech: Mechanism,
    experiment: Experiment,
    designs: Mapping[str, Any] | Sequence[Mapping[str, float]],
    measures: Any,
    executor: Any = None,
    workers: int | None = None,
    path: str | Path | None = None,
    progress: bool | Callable[[float], None] = False,
    block: int | None = None,
) -> ManyRuns:
    """Run an experiment with many designs over the cores of this machine or of a cluster.

    Like `design_study`, for numbers of designs that no table shows: results are arrays, kept in memory or in blocks
    on the disk, and go on after an interruption (`Mechanism.simulate_many` explains executor, workers, path, progress,
    block).

    Parameters
    ----------
    designs : dict, samples or list of dicts
        ``{"l": [0.9, 1.1], "k": [20, 40, 60]}`` means all combinations, the last varying fastest; or what
        `tm.sample` returns; or one dict for every design.
    measures : list or dict by name
        "max A.q" and the like, measures over the output times, or functions of the Run.

    Examples
    --------
    >>> import treemech as tm
    >>> l, system = tm.Parameter("l", 1.0), tm.System("pendulum", gravity=(0, 0, -9.81))
    >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -l))
    >>> _ = system.connect("pin", tm.Revolute("y"), system.ground, bob)
    >>> mech = system.build()
    >>> swing = tm.Experiment(t_span=(0, 1), start=mech.state(q={"pin": 0.1}))
    >>> runs = tm.sweep(mech, swing, tm.sample({"l": (0.5, 2.0)}, 16, seed=1), ["min pin.u"])
    >>> len(runs), runs["min pin.u"].shape, bool(np.corrcoef(runs["l"], runs["min pin.u"])[0, 1] > 0.9)
    (16, (16,), True)
    """
    if not isinstance(experiment, Experiment):
        raise TreemechError(f"sweep: {experiment!r} is no tm.Experiment.")
    cycle = None if experiment.cycle is None else np.asarray(experiment.cycle, dtype=np.float64)
    span = experiment.t_span or (float(cycle[0]), float(cycle[-1]))  # type: ignore[index]
    options = {"rtol": experiment.rtol, "method": experiment.method, "atol": experiment.atol}
    return simulate_many(
        mech, span, experiment.start, as_samples(mech, designs), None, experiment.t_eval, measures, executor, workers, path,
        progress, block, options, cycle,
    )  # fmt: skip


def as_samples(mech: Mechanism, designs: Any) -> Samples:
    """Return designs as columns: samples as they are, a grid of values, or one dict for each design."""
    if isinstance(designs, Samples):
        return designs
    if isinstance(designs, Mapping):
        return grid(designs)
    rows = [dict(d) for d in designs]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not rows:
        raise ElementError("sweep: there are no designs.")
    known = mech.parameters
    return Samples({n: np.array([float(row[n] if n in row else known[n]) for row in rows]) for n in names})


@dataclass(frozen=True)
class SobolIndices:
    """Parts of the variance of a result that parameters explain.

    `first` alone, `total` with everything they do together with others; the intervals of 95 % confidence are plus and
    minus the numbers in `first_interval` and `total_interval`. `runs` has the runs themselves.
    """

    parameters: tuple[str, ...]
    first: Floats
    total: Floats
    first_interval: Floats
    total_interval: Floats
    runs: ManyRuns

    def __str__(self) -> str:
        head = f"{'':>12}  {'first':>8}        {'total':>8}"
        rows = [
            f"{name:>12}  {a:8.4f} ± {b:.4f}  {c:8.4f} ± {d:.4f}"
            for name, a, b, c, d in zip(
                self.parameters, self.first, self.first_interval, self.total, self.total_interval, strict=True
            )
        ]
        return "\n".join([head, *rows])


def sobol_indices(
    mech: Mechanism,
    experiment: Experiment,
    ranges: Mapping[str, Any],
    measure: Any,
    n: int = 256,
    seed: int | None = None,
    **options: Any,
) -> SobolIndices:
    """Return Sobol's indices of one number of a run by parameters that vary independently (needs SALib).

    They take n (d + 2) runs for d parameters, n a power of two. Options as in `sweep`. A run that fails is refused:
    the indices need all of them.
    """
    try:
        from SALib.analyze import sobol as analysis
        from SALib.sample import sobol as sampling
    except ImportError:
        raise TreemechError("Sobol's indices need SALib: pip install treemech[sensitivity].") from None
    names = list(ranges)
    problem = {
        "num_vars": len(names), "names": names, "bounds": [(0.0, 1.0) if hasattr(r, "ppf") else bounds(k, r) for k, r in ranges.items()],
    }  # fmt: skip
    points = sampling.sample(problem, n, calc_second_order=False, seed=seed)
    designs = Samples(
        {
            name: np.asarray(
                r.ppf(np.clip(points[:, k], 1e-12, 1 - 1e-12)) if hasattr(r, "ppf") else points[:, k]
            )
            for k, (name, r) in enumerate(ranges.items())
        }
    )
    runs = sweep(mech, experiment, designs, {"result": measure}, **options)
    if not runs.success.all():
        raise TreemechError(f"sobol_indices: {runs.summary} Take narrower ranges.")
    if not np.ptp(runs["result"]) > 0.0:
        raise TreemechError(
            "sobol_indices: the measure is the same number in all runs: nothing varies that parameters could explain."
        )
    found = analysis.analyze(problem, runs["result"], calc_second_order=False, seed=seed)
    first, total, first_interval, total_interval = (
        np.asarray(found[key]) for key in ("S1", "ST", "S1_conf", "ST_conf")
    )
    return SobolIndices(tuple(names), first, total, first_interval, total_interval, runs)
