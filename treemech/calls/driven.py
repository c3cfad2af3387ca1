"""Inverse dynamics with drives on chosen speeds: what the C extension needs to know of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.calls.driven import Driven
from treemech.topology import TreemechError

from ..analyses.cut_hinges import split
from ..analyses.inverse_dynamics import weights_of
from ..analyses.states import left_free
from ..results.naming import as_names

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def driven(mech: Mechanism, actuated: Sequence[str] | None, weights: Any) -> Driven | str:
    """Return the drives of an inverse dynamics; "" if they go the general way: cut hinges, or names that are refused."""
    if actuated is None:
        chosen = ~left_free(mech, {}) if mech._core.layout.chords.rows else np.ones(mech.nu, dtype=bool)
    else:
        try:
            of_tree, of_cut = split(mech, dict.fromkeys(as_names(actuated, "actuated")))
        except TreemechError:
            return ""
        if of_cut:
            return ""
        chosen = ~left_free(mech, of_tree, driven=False)
    speeds = np.flatnonzero(chosen).tolist()
    try:
        found = weights_of(mech, weights, [mech.speeds[k] for k in speeds])
    except (TreemechError, TypeError, ValueError):
        return ""
    return Driven(tuple(speeds), tuple(found.tolist()))
