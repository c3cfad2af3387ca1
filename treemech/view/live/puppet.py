"""A mechanism whose position is changed by hand: by one coordinate, by one point, by a parameter. It stays closed."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import TreemechError, unknown

from ...results.naming import numbered
from ..animate import run_of_state

if TYPE_CHECKING:
    from ...mechanism import Mechanism
    from ...results.run import Run
    from ...results.state import State

STRIDE = 0.1  # [rad, m] of a coordinate between two neighbours: short enough to stay on the branch
SHORTEST = 1e-4  # of the way that is left, when it is halved because the chain does not close


class Puppet:
    """A mechanism and the state it is held in. Every change is found from the state before."""

    def __init__(self, mech: "Mechanism", state: "State | None" = None) -> None:
        self.mech = mech
        self.state: State = mech.assemble() if state is None else state
        self.message = ""

    @property
    def coordinates(self) -> dict[str, int]:
        """Coordinates that a slider can move, by name, with their places in q.

        Prescribed ones follow their signals, and Euler parameters are no lengths or angles.
        """
        info = self.mech._info
        driven = {(hinge, k) for hinge, k, _ in info.prescribed}
        return {
            numbered(h.name, h.nu)[k]: h.q + k
            for h in info.hinges
            if h.euler_parameters is None
            for k in range(h.nq)
            if (h.name, k) not in driven
        }

    def value(self, coordinate: str) -> float:
        """Return the value of a coordinate now."""
        return float(self.state.q[self._place(coordinate)])

    def unit(self, coordinate: str) -> str:
        """Return its unit."""
        place = self._place(coordinate)
        hinge = next(h for h in self.mech._info.hinges if h.q <= place < h.q + h.nq)
        return hinge.units[place - hinge.q] if len(hinge.units) > place - hinge.q else ""

    def move(self, coordinate: str, value: float) -> bool:
        """Bring one coordinate to a value, the others to the nearest closed position; return whether it was reached.

        The way is gone in strides, each found from its neighbour, so that the mechanism stays on its branch. Where
        the chain does not close, the mechanism stops there: a dead point, or the end of its travel.
        """
        place, wanted = self._place(coordinate), float(value)
        if not np.isfinite(wanted):
            raise TreemechError(f"{coordinate} = {value!r}: wanted a finite number.")
        stride, self.message = STRIDE, ""
        while (left := wanted - self.state.q[place]) != 0.0:
            step = float(np.clip(left, -stride, stride))
            target = wanted if step == left else float(self.state.q[place]) + step
            found = self._near(coordinate, target)
            if found is not None:
                self.state = found
            elif abs(step) < SHORTEST:
                self.message = (
                    f"{coordinate} stops at {self.value(coordinate):.4g}: the chain does not close beyond."
                )
                return False
            else:
                stride = 0.5 * abs(step)
        return True

    def drag(self, end: Any, position: Any) -> bool:
        """Bring a point to a position, or as near as the mechanism reaches; return whether it is there."""
        found = self.mech.inverse_kinematics({end: position}, self.state, attempts=1)
        self.state, self.message = found.state, "" if found.success else str(found.message)
        return bool(found.success)

    def hold(self, state: "State") -> None:
        """Take over a state of a run."""
        self.state, self.message = state, ""

    def change(self, **values: float) -> bool:
        """Change parameters; the position is closed again next to where it was. Return whether that was possible."""
        try:
            mech = self.mech.with_parameters(**values)
            places = self.coordinates
            guess = {name: float(self.state.q[k]) for name, k in places.items()}
            state = mech.assemble(self.state.t, guess=guess) if guess else mech.assemble(self.state.t)
        except TreemechError as error:
            self.message = str(error)
            return False
        self.mech, self.state, self.message = mech, state, ""
        return True

    def view(self) -> "Run":
        """Return a run of this one state, for the scene."""
        return run_of_state(self.mech, self.state)

    def _place(self, coordinate: str) -> int:
        places = self.coordinates
        if coordinate not in places:
            raise TreemechError(unknown("coordinate", coordinate, places))
        return places[coordinate]

    def _near(self, coordinate: str, value: float) -> "State | None":
        """Return the closed position with that coordinate nearest to the state, at rest; None if there is none."""
        places = self.coordinates
        if not self.mech.tree.chords:
            q = self.state.q.copy()
            q[places[coordinate]] = value
            return self.mech.state(q=q, t=self.state.t)
        others = {name: float(self.state.q[k]) for name, k in places.items() if name != coordinate}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the neighbour is an estimate, and may be left
            try:
                return self.mech.assemble(self.state.t, fix={coordinate: value}, guess=others)
            except TreemechError:
                return None
