"""Plain states: numbers in full, or by name, that need no other checks than the C extension makes."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import ref

import numpy as np

from treemech.dynamics.calls.calls import States

from ..results.naming import numbered
from ..results.state import ROUNDED, reference_state

if TYPE_CHECKING:
    from ..analyses.cut_hinges import CutMotion
    from ..mechanism import Mechanism

_LIKE_DEGREES = 15.0  # from here on a warning looks closer (analyses.given)


def state_table(mech: Mechanism) -> States:
    """Return what the extension needs to make states of a mechanism without prescribed coordinates."""
    lagrange, places = mech._lagrange, (dict[str, int](), dict[str, int]())
    for c in lagrange.hinges:
        for place, first, n in ((places[0], c.q, c.hinge.n_coordinates), (places[1], c.u, c.hinge.n_speeds)):
            place[c.name] = first + (n << 32)
            place |= {name: first + k + (1 << 32) for k, name in enumerate(numbered(c.name, n)) if n > 1}
        if c.hinge.euler_parameters == 0 and c.hinge.n_coordinates == 4:
            del places[0][c.name]  # it may be a rotation
    for alias, name in mech._named.items():
        for place in places:
            if name in place:
                place[alias] = place[name]
    cut: type[CutMotion] | None = None
    if mech._info.chords:
        from ..analyses.cut_hinges import CutMotion

        cut = CutMotion
    return States(
        tuple(lagrange.euler_parameters), ROUNDED, _LIKE_DEGREES, reference_state(lagrange, 0.0).q, places,
        np.zeros(0, dtype=bool), cut, ref(mech), lagrange,
    )  # fmt: skip
