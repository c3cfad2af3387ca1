"""Objectives for optimizers: one number of a run as a function of parameters, with its gradient."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from ..description.parameters import origin_of
from .experiment import Experiment, Quantity, check_quantity, gradient, value

if TYPE_CHECKING:
    from ..mechanism import Mechanism


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
    """

    def __init__(
        self,
        mech: "Mechanism",
        experiment: Experiment,
        what: Quantity,
        parameters: Sequence[str] | None = None,
    ) -> None:
        check_quantity(mech, what)
        self.mech, self.experiment, self.what = mech, experiment, what
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
            found = self.experiment.sensitivities(self.design(x), self.parameters)
            return value(self.what, found.run), gradient(self.what, found)

    def value(self, x: ArrayLike) -> Any:
        """Return the value alone."""
        with self._naming(x):
            return value(self.what, self.experiment.run(self.design(x)))

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
