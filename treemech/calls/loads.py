"""Numbers that the loads of all connections are made of. They stand alone, as the first state needs no more than their class."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from treemech.topology.arrays import Floats

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from .reactions import Reactions


class Loads(NamedTuple):
    """Motion of the bodies with the loads of their hinges, loads of the chords, multipliers."""

    trace: Floats  # (nb+1, 30), columns in dynamics.model.trace
    chords: Floats  # (nc, 6)
    multipliers: Floats

    def named(self, mech: Mechanism, state: Any) -> Reactions:
        """Return the loads by the names of the connections."""
        return _named()(mech, state, self)


@cache
def _named() -> type[Reactions]:
    """Return the class of loads by name. It is looked up once: an import statement takes half a microsecond of every call."""
    from .reactions import Reactions

    return Reactions
