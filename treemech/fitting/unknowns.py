"""The unknowns of a fit: parameters of the model, start values, offsets; and free variables that stand for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from treemech.topology import ElementError, unknown
from treemech.topology.arrays import Floats

from .inertia import Group, from_theta, groups, to_theta


@dataclass(eq=False)
class Unknowns:
    """Names, start values and bounds of the unknowns; the parameters of the model come first.

    The variables of the search equal the unknowns, but for complete groups of inertial parameters, which are
    functions of ten others (inertia.from_theta).
    """

    names: list[str]
    start: Floats
    parameters: list[str]
    lower: Floats = field(init=False)
    upper: Floats = field(init=False)
    groups: list[Group] = field(init=False)

    def __post_init__(self) -> None:
        self.lower, self.upper = np.full(len(self.names), -np.inf), np.full(len(self.names), np.inf)
        self.groups = groups(self.parameters)

    @property
    def in_groups(self) -> list[int]:
        """Places of all parameters in groups."""
        return [k for group in self.groups for k in group.places]

    def bound(self, bounds: Mapping[str, tuple[float | None, float | None]]) -> None:
        """Take bounds by name; None leaves a side open."""
        for name, given in bounds.items():
            if name not in self.names:
                raise ElementError(f"bounds: {unknown('unknown', name, self.names)}")
            k = self.names.index(name)
            if k in self.in_groups:
                raise ElementError(
                    f"bounds: {name!r} belongs to a body whose inertia is kept physical as a whole: give a prior instead."
                )
            try:
                low, high = given
                self.lower[k] = -np.inf if low is None else float(low)
                self.upper[k] = np.inf if high is None else float(high)
            except (TypeError, ValueError):
                raise ElementError(f"bounds of {name!r} are {given!r}; wanted (lowest, highest).") from None
            if not self.lower[k] < self.upper[k]:
                raise ElementError(f"bounds of {name!r} are {given!r}; wanted the lower one first.")
            if not self.lower[k] <= self.start[k] <= self.upper[k]:
                raise ElementError(
                    f"bounds of {name!r} are {given!r}, and it starts at {self.start[k]:g}: start inside"
                    f"{f', mech.with_parameters({name}=...)' if name in self.parameters else ''}."
                )

    def values(self, variables: Floats) -> Floats:
        """Return the unknowns of the variables of the search."""
        found = variables.copy()
        for group in self.groups:
            found[group.places] = from_theta(variables[group.places])[0]
        return found

    def slopes(self, variables: Floats) -> Floats:
        """Return the derivatives of the unknowns by the variables."""
        found = np.eye(len(variables))
        for group in self.groups:
            found[np.ix_(group.places, group.places)] = from_theta(variables[group.places])[1]
        return found

    def variables(self, values: Floats) -> Floats:
        """Return the variables of the search of given unknowns."""
        found = values.copy()
        for group in self.groups:
            found[group.places] = to_theta(values[group.places])
        return found

    def scales(self, values: Floats) -> Floats:
        """Return the size of every unknown, by which changes are judged: of a group by mass and radius of gyration."""
        found = np.maximum(np.abs(values), 1e-3)
        for group in self.groups:
            m, J = values[group.places[0]], np.abs(values[group.places[4:7]])
            length = np.sqrt(max(float(np.max(J)), 1e-300) / m)
            found[group.places] = m * np.array([1.0, *[length] * 3, *[length**2] * 6])
        return found

    def more(self, names: Sequence[str], start: Sequence[float]) -> "Unknowns":
        """Return these unknowns and some more behind them."""
        found = Unknowns([*self.names, *names], np.concatenate((self.start, start)), self.parameters)
        found.lower[: len(self.names)], found.upper[: len(self.names)] = self.lower, self.upper
        return found
