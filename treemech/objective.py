"""Objectives for optimizers: one number of a run as a function of parameters, with its gradient."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treemech.topology import TreemechError

from .experiment import Experiment, Scalar, gradient, scalar

if TYPE_CHECKING:
    from .mechanism import Mechanism

Floats = NDArray[np.float64]


class Objective:
    """A number of a run as a function of parameters, for ``scipy.optimize.minimize(objective, objective.x0, jac=True)``.

    Called with values of the parameters it returns (value, gradient). `value` gives the number alone, `jacobian` the
    gradient alone: with both it serves as a constraint as well.

    Parameters
    ----------
    mech : Mechanism
    experiment : Experiment
    what : str or function of a Run
        "max A.q", "final rod.position[0]", "mean ...", "min ...", "rms ..." or any function of the run that gives one number.
    parameters : names
        Default: all.
    """

    def __init__(
        self,
        mech: "Mechanism",
        experiment: Experiment,
        what: Scalar,
        parameters: Sequence[str] | None = None,
    ) -> None:
        self.mech, self.experiment, self.what = mech, experiment, what
        self.parameters = list(mech.parameters) if parameters is None else list(parameters)
        self.x0: Floats = np.array([mech.parameters[name] for name in self.parameters])

    def __call__(self, x: ArrayLike) -> tuple[float, Floats]:
        mech = self.design(x)
        try:
            found = self.experiment.sensitivities(mech, self.parameters)
            return scalar(self.what, found.run), gradient(self.what, found)
        except TreemechError as error:
            raise type(error)(f"{self._shown(x)}: {error}") from error

    def value(self, x: ArrayLike) -> float:
        """The number alone."""
        try:
            return scalar(self.what, self.experiment.run(self.design(x)))
        except TreemechError as error:
            raise type(error)(f"{self._shown(x)}: {error}") from error

    def jacobian(self, x: ArrayLike) -> Floats:
        """The gradient alone."""
        return self(x)[1]

    def design(self, x: ArrayLike) -> "Mechanism":
        """The mechanism with these values."""
        return self.mech.with_parameters(**self._named(x))

    def _named(self, x: ArrayLike) -> Mapping[str, Any]:
        return dict(zip(self.parameters, np.asarray(x, dtype=np.float64).ravel().tolist(), strict=True))

    def _shown(self, x: ArrayLike) -> str:
        return ", ".join(f"{name} = {value:.6g}" for name, value in self._named(x).items())
