"""Motion of all bodies at many states, in one crossing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..analyses.body_motion import Attitude, attitudes
from .rows import Rows

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def many_attitudes(mech: Mechanism, rows: Rows, threads: int | None) -> Attitude | None:
    """Return the attitude of every state, with the leading axes; None if there are states that are none."""
    if not (np.isfinite(rows.t).all() and np.isfinite(rows.q).all() and np.isfinite(rows.u).all()):
        return None  # row by row, which names what is wrong
    found = attitudes(mech, rows.t.copy(), rows.q.copy(), rows.u.copy())
    return Attitude(*(part.reshape(*rows.lead, *part.shape[1:]) for part in found))
