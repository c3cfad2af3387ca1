"""Objectives for optimizers: one number of a run as a function of parameters, with its gradient."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from ..description.parameters import origin_of
from .experiment import Experiment, Quantity, check_quantity, gradient, value

if TYPE_CHECKING:
    from ..mechanism import Mechanism


@dataclass(frozen=True)
class Gradients:
    """What a worker needs for values of an objective, and derivatives by some of the parameters."""

    mech: "Mechanism"
    experiment: Experiment
    what: Quantity

    def block(self, task: tuple[dict[str, float], tuple[str, ...]]) -> Any:
        """Return (value, gradient) of a design, or a message."""
        values, names = task
        try:
            design = self.mech.with_parameters(**values)
            if not names:
                return value(self.what, self.experiment.run(design)), None
            found = self.experiment.sensitivities(design, names)
            return value(self.what, found.run), gradient(self.what, found)
        except TreemechError as error:
            return str(error)


class Objective:
    """Quantity of a run as a function of parameters, for ``scipy.optimize.minimize(objective, objective.x0, jac=True)``.

    Called with values of the parameters it returns (value, gradient). `value` and `jacobian` give one of
    them, for constraints, and for ``scipy.optimize.least_squares(objective.value, objective.x0,
    objective.jacobian)`` where the function gives several numbers.

    Parameters
    ----------
    mech : Mechanism
    experiment : Experiment
    what : str or function of a Run
        "max A.q", "final rod.position[0]", "mean ...", "min ...", "rms ..." or any smooth function of the
        run.
    parameters : names
        Default: all.
    workers, executor
        Share the parameters of a gradient, and the designs of `values`, among threads, processes or the workers of
        a cluster, as in `Mechanism.simulate_many`. Sensitivities are computed in Python for the most part: processes
        gain more than threads.
    """

    def __init__(
        self,
        mech: "Mechanism",
        experiment: Experiment,
        what: Quantity,
        parameters: Sequence[str] | None = None,
        workers: int | None = 1,
        executor: Any = None,
    ) -> None:
        check_quantity(mech, what)
        self.mech, self.experiment, self.what = mech, experiment, what
        self.workers, self.executor = workers, executor
        if isinstance(parameters, str):
            parameters = [parameters]
        self.parameters = list(mech.parameters) if parameters is None else list(parameters)
        origin_of(mech, self.parameters)
        if not self.parameters:
            raise TreemechError(
                f"an objective of {mech.name!r} without parameters: make some numbers tm.Parameter."
            )
        self.x0: Floats = np.array([mech.parameters[name] for name in self.parameters])

    def __call__(self, x: ArrayLike) -> tuple[Any, Floats]:
        with self._naming(x):
            if self.executor is not None or self.workers != 1:
                return self._shared_gradient(x)
            found = self.experiment.sensitivities(self.design(x), self.parameters)
            return value(self.what, found.run), gradient(self.what, found)

    def value(self, x: ArrayLike) -> Any:
        """Return the value alone."""
        with self._naming(x):
            return value(self.what, self.experiment.run(self.design(x)))

    def values(self, designs: ArrayLike) -> Floats:
        """Return the value at every row of `designs` (N, np), nan where a design fails.

        Population methods take them all at once: ``differential_evolution(lambda x: objective.values(x.T), bounds,
        vectorized=True, updating="deferred")``.
        """
        rows = np.atleast_2d(np.asarray(designs, dtype=np.float64))
        self.mech._refilling.announce(self.parameters)
        found = self._computed([(self._named(x), ()) for x in rows])
        return np.array([np.nan if isinstance(f, str) else f[0] for f in found])

    def _shared_gradient(self, x: ArrayLike) -> tuple[Any, Floats]:
        """Return value and gradient, the parameters shared among workers."""
        names, values = self.parameters, self._named(x)
        with self._team() as team:
            count = max(1, min(team.count, len(names)))
            parts = [names[len(names) * k // count : len(names) * (k + 1) // count] for k in range(count)]
            found = self._computed([(values, tuple(part)) for part in parts], team)
        for message in found:
            if isinstance(message, str):
                raise TreemechError(message)
        return found[0][0], np.concatenate([g for _, g in found], axis=-1)

    def _team(self) -> Any:
        from ..many.schedule import executing

        return executing(self.executor, self.workers)

    def _computed(self, tasks: list[tuple[dict[str, float], tuple[str, ...]]], team: Any = None) -> list[Any]:
        """Return (value, gradient) of every task, a design and names of parameters; or a message."""
        from ..many.schedule import compute

        if team is None:
            with self._team() as own:
                return self._computed(tasks, own)
        found: dict[int, Any] = {}
        team.use(Gradients(self.mech, self.experiment, self.what))
        if not compute(team, range(len(tasks)), lambda k: tasks[k], found.__setitem__):
            raise KeyboardInterrupt
        return [found[k] for k in range(len(tasks))]

    def jacobian(self, x: ArrayLike) -> Floats:
        """Return the gradient alone."""
        return self(x)[1]

    def design(self, x: ArrayLike) -> "Mechanism":
        """Return the mechanism with these values."""
        return self.mech.with_parameters(**self._named(x))

    def _named(self, x: ArrayLike) -> dict[str, float]:
        values = np.asarray(x, dtype=np.float64).ravel().tolist()
        if len(values) != len(self.parameters):
            raise TreemechError(
                f"the objective is given {len(values)} values; wanted {len(self.parameters)}: {', '.join(self.parameters)}."
            )
        return dict(zip(self.parameters, values, strict=True))

    @contextmanager
    def _naming(self, x: ArrayLike) -> Iterator[None]:
        """Name the design in errors."""
        named = self._named(x)
        try:
            yield
        except TreemechError as error:
            shown = ", ".join(f"{name} = {v:.6g}" for name, v in named.items())
            raise type(error)(f"{shown}: {error}") from error
