"""Search of a tree in compiled code: the tables that it takes, and what it finds."""

from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.native import entry_points as native
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.plan.columns import target
from treemech.topology.arrays import Floats, address, addresses

from .ends import Ends
from .limits import Limits

if TYPE_CHECKING:
    from ..mechanism import Mechanism


class Compiled:
    """The iteration of `search.reach` in compiled code (kinematics.tree.reach), for trees without prescribed motion."""

    def __init__(self, mech: "Mechanism", t: float, ends: Ends, limits: Limits, longest: float) -> None:
        n, rows = mech.nu, ends.count
        self._core, self._t, self._entry = mech._core, float(t), native.entry("reach")
        self._q, self._u = np.zeros(max(mech.nq, 1)), np.zeros(n)
        self._targets, self._limits = ends.table(), np.zeros((len(limits), target.N_LIMIT))
        places = (limits.q, limits.u, limits.low, limits.high)
        for k, numbers in zip(
            (target.LIMIT_Q, target.LIMIT_U, target.LIMIT_LOW, target.LIMIT_HIGH), places, strict=True
        ):
            self._limits[:, k] = numbers
        # of kinematics.tree.reach: two quadratic functions, partials, what belongs to speeds, gaps, a position
        self._work = np.zeros(2 * n * n + rows * n + 7 * n + 2 * rows + mech.nq)
        self._numbers = np.zeros(target.N_NUMBERS)
        self._numbers[target.LONGEST] = longest
        self._table = np.zeros(target.N_SEARCH, dtype=np.int64)
        self._table[[target.TARGETS, target.ROWS, target.LIMITS]] = len(self._targets), rows, len(limits)
        arrays = (self._targets, self._limits, self._q, self._work, self._numbers)
        self._table[target.TARGETS_AT : target.NUMBERS_AT + 1] = addresses(arrays)
        self._at: Any = (address(self._u), address(self._table), self._core.context_address)

    def reach(self, q: Floats, tolerance: float, most: int) -> tuple[Floats, float, int, bool]:
        """Return where the search from q ended: position, sum of squared gaps, iterations, whether all is reached."""
        self._q[: len(q)] = q
        self._numbers[target.TOLERANCE], self._table[target.MOST] = tolerance, most
        status = self._entry(self._t, *self._at)
        if status != OK:
            self._core.fail(status, self._t, None)
        done, reached = int(self._table[target.DONE]), bool(self._table[target.REACHED])
        return self._q[: len(q)].copy(), float(self._numbers[target.COST]), done, reached
