"""Close the chains of many designs together: the search of `kinematics/closure.py`, a row for each design."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treemech.dynamics.calls.row_constraints import RowConstraints
from treemech.kinematics.branch import least, moved
from treemech.kinematics.closure import CLOSED, ROUNDOFF, disturbances
from treemech.topology.arrays import Floats

if TYPE_CHECKING:
    from ..mechanism import Mechanism

Mask = NDArray[np.bool_]
_ATTEMPTS = 9  # starts; searches that need more are done one by one


def closed_positions(
    mech: Mechanism,
    at: RowConstraints,
    t: float,
    q: Floats,
    free: Mask,
    numbers: Floats | None,
    sizes: Floats,
) -> tuple[Floats, Mask]:
    """Return closed positions next to q, found from the starts of `closure.starts`, and which rows closed."""
    found, closed = q.copy(), np.zeros(len(q), dtype=bool)
    for disturbed in islice(disturbances(mech.nu), _ATTEMPTS):
        left = np.flatnonzero(~closed)
        if not len(left):
            break
        start = moved(mech._lagrange, q[left], np.tile(free * disturbed, (len(left), 1)))
        own = None if numbers is None else numbers[left]
        found[left], closed[left] = nearest_closed(mech, at, t, start, free, own, sizes[left])
    return found, closed


def nearest_closed(
    mech: Mechanism,
    at: RowConstraints,
    t: float,
    q: Floats,
    free: Mask,
    numbers: Floats | None,
    sizes: Floats,
) -> tuple[Floats, Mask]:
    """Return positions nearest to closing, as `closure.nearest` finds them, and which rows closed."""
    holonomic = ~mech._core.layout.chords.nonholonomic
    rest = np.zeros((len(q), mech.nu))

    def evaluate(q: Floats, which: NDArray[np.int64]) -> tuple[Floats, Floats]:
        now = at.constraints(t, q, rest[: len(q)], None if numbers is None else numbers[which])
        return now.residual * holonomic, now.partials * (holonomic[:, None] & free)

    q, everything = q.copy(), np.arange(len(q))
    residual, P = evaluate(q, everything)
    size = np.linalg.norm(residual, axis=1)
    going = np.isfinite(size) & np.isfinite(P).all(axis=(1, 2)) & (size >= ROUNDOFF * sizes)
    for _ in range(200):
        active = np.flatnonzero(going)
        if not len(active):
            break
        step = -least(P[active], residual[active]) * free
        largest = np.abs(step).max(axis=1, initial=0.0)
        step *= np.minimum(1.0, 0.5 / np.where(largest > 0.0, largest, 0.5))[:, None]
        # steps that do not help are cut back
        left, helped = active, np.zeros(len(q), dtype=bool)
        for _ in range(12):
            trial = moved(mech._lagrange, q[left], step)
            then, partials = evaluate(trial, left)
            then_size = np.linalg.norm(then, axis=1)
            better = then_size < size[left]
            enough = then_size < size[left] * (1.0 - 1e-9)
            taken = left[enough]
            q[taken], residual[taken], P[taken], size[taken] = (
                trial[enough],
                then[enough],
                partials[enough],
                then_size[enough],
            )
            helped[taken] = True
            left, step = left[~better], 0.4 * step[~better]
            if not len(left):
                break
        going &= helped & (size >= ROUNDOFF * sizes)
    return q, size < 1e3 * CLOSED * sizes


def closed_rates(
    at: RowConstraints, t: float, q: Floats, u: Floats, free: Mask, numbers: Floats | None
) -> tuple[Floats, Mask]:
    """Return rates that keep the chains closed, nearest to u, and which rows have them (`closure.close_velocities`)."""
    for _ in range(3):
        now = at.constraints(t, q, u, numbers)
        u = u - free * least(now.partials * free, now.velocity)
    left = np.abs(at.constraints(t, q, u, numbers).velocity).max(axis=1, initial=0.0)
    together: Mask = left <= 1e-9 * (1.0 + np.abs(u).max(axis=1, initial=0.0))
    return u, together
