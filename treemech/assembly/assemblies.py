"""All closed positions that a search from many starts finds, so that a branch can be chosen by looking."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.kinematics.closure import is_closed, search, starts, unwound
from treemech.topology import ConvergenceError, ElementError
from treemech.topology.arrays import Floats

from ..results.state import State
from .assembly import Assembly
from .estimate import place

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_SAME = 1e-5  # positions of bodies and entries of their rotations that differ by less are the same position


def assemblies(mech: "Mechanism", attempts: int, open: Collection[str] = (), **given: Any) -> list[State]:
    """Find distinct closed positions, see `Mechanism.assemblies`."""
    if not (isinstance(attempts, (int, np.integer)) and 0 < attempts < 2**31):
        raise ElementError(f"assemblies: attempts is {attempts!r}; wanted a positive whole number.")
    sought = Assembly(mech, **given)
    with sought.searching(open):
        found = _all_positions(sought, attempts)
        if not found:
            q = sought.positions()  # which says why there is none
            found = [(q, sought.fitted)]
        closed = [(q, sought.speeds.find(q, sought.start.u), fitted) for q, fitted in found]
    made = []
    for q, u, fitted in closed:
        try:
            made.append(sought.state(q, u, open, fitted))
        except ConvergenceError:  # on the wrong side of a contact
            continue
    return made


def _all_positions(sought: Assembly, attempts: int) -> list[tuple[Floats, Floats]]:
    """Return the distinct closed positions found from so many starts, the nearest to the wishes first.

    With each the numbers of the chords that belong to it.
    """
    mech, lagrange, scale = sought.mech, sought.mech._lagrange, sought.scale
    wished, roots = list(sought.wished), list(sought.roots)
    if not sought.weighted:  # where freedoms are left, stay near the start
        hinges = sought.all_hinges()
        wished, roots = [*wished, *hinges], [*roots, *(np.full(x.count, 1e-2) for x in hinges)]
    wishes = sought.deviation(wished, roots)
    if wishes is None:  # nothing can move
        return []
    found: list[tuple[float, Floats, Floats, Floats]] = []
    ways = starts(lagrange, sought.start.q, sought.free, scale)
    for attempt, q in zip(range(attempts), ways, strict=False):
        mech._core.reset_chords(sought.near)
        one = search(lagrange, sought.constraints, q, sought.free, scale, wishes, together=attempt == 0)
        if not is_closed(one, scale):
            continue
        q = unwound(lagrange, sought.constraints, one.q, sought.start.q, scale)
        fitted = sought.fit(q)
        there = np.concatenate([x.ravel() for x in place(mech, sought.t, q)])
        if all(np.max(np.abs(there - other)) > _SAME * scale for _, _, _, other in found):
            left = wishes(q)[0]
            found.append((float(left @ left), q, fitted, there))
    return [(q, fitted) for _, q, fitted, _ in sorted(found, key=lambda one: one[0])]
