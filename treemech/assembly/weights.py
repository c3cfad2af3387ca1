"""Weights of wishes by name: how much each distance counts."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import ElementError, TopologyError, unknown
from treemech.topology.arrays import Floats

from ..results.naming import as_place
from .targets import EndTarget, as_end, end_label

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def hinge_weights(
    mech: "Mechanism", given: Mapping[str, Any], held: Mapping[Any, Any] | None, what: str
) -> dict[str, Floats]:
    """Return weights of the speeds of every hinge by name; 1 where none is given."""
    hinges = {c.name: c.hinge for c in mech._lagrange.hinges}
    hinges |= {c.name: c.element for c in mech.tree.chords if c.is_hinge}
    weights = {name: np.ones(hinge.n_speeds) for name, hinge in hinges.items()}
    for key, value in given.items():
        place = as_place(str(key), hinges)
        name = place.owner
        if name not in weights:
            raise TopologyError(f"weight of {key!r}: {unknown('hinge', name, hinges)}")
        for other in (n for n in held or {} if isinstance(n, str) and as_place(n, hinges).owner == name):
            raise ElementError(
                f"{other!r} is fixed and has a weight: leave it out of {what} or of the weights."
            )
        try:
            weights[name][place.selection] = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError, IndexError):
            raise ElementError(
                f"the weight of {key!r} is {value!r}; {name!r} has {len(weights[name])} speeds."
            ) from None
        if not (np.all(np.isfinite(weights[name])) and np.all(weights[name] >= 0.0)):
            raise ElementError(f"the weight of {key!r} is {value!r}; wanted a number of at least 0.")
    return weights


def end_weights(mech: "Mechanism", given: Mapping[Any, Any], ends: Sequence[EndTarget]) -> list[Floats]:
    """Return the weights of every number of wished places of ends; 1 where none is given."""
    found = [np.ones(end.count) for end in ends]
    for key, value in given.items():
        place = as_end(mech, key, "weights")
        mine = [k for k, end in enumerate(ends) if end.is_at(place)]
        if not mine:
            raise ElementError(
                f"{end_label(key)} has a weight, but neither a guess nor a pose to be near to."
            )
        for k in mine:
            try:
                found[k][:] = np.asarray(value, dtype=np.float64)
            except (TypeError, ValueError):
                found[k][:] = np.nan
            if not (np.all(np.isfinite(found[k])) and np.all(found[k] >= 0.0)):
                raise ElementError(
                    f"the weight of {end_label(key)} is {value!r}; wanted one number of at least 0, or {ends[k].count}."
                )
    return found
