"""Loads of all connections at one state, or at many: each is made when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.dynamics.analyses.reactions import coupling_loads
from treemech.topology.arrays import Floats

from ..analyses.closed_chains import load_is_unique
from ..analyses.evaluation import Reaction, reactions
from ..analyses.states import as_rows, unpack
from ..results.computed import Unique
from ..results.model_info import ChordInfo
from ..results.state import State

if TYPE_CHECKING:
    from ..mechanism import Mechanism


class Loads(NamedTuple):
    """Motion of the bodies with the loads of their hinges, loads of the chords, multipliers."""

    trace: Floats  # (nb+1, 30), columns in dynamics.model.trace
    chords: Floats  # (nc, 6)
    multipliers: Floats

    def named(self, mech: Mechanism, state: Any) -> Reactions:
        """Return the loads by the names of the connections."""
        return Reactions(mech, state, self)


class Reactions(Mapping[str, Reaction]):
    """Loads by the name of the connection, see `Mechanism.reactions`."""

    __slots__ = ("_found", "_loads", "_mech", "_rest", "_state")

    def __init__(self, mech: Mechanism, state: Any, loads: Loads) -> None:
        self._mech, self._state, self._loads = mech, state, loads
        self._found: dict[str, Reaction] = {}
        self._rest: tuple[Floats, Floats] | None = None

    def __getitem__(self, name: str) -> Reaction:
        if name not in self._found:
            self._found[name] = self._make(name)
        return self._found[name]

    def _make(self, name: str) -> Reaction:
        info = self._mech._info
        place = next((k for k, c in enumerate(info.connections) if c.name == name), None)
        if place is None:
            raise KeyError(name)
        end, trace = info.connections[place], self._loads.trace[None]
        if isinstance(end, ChordInfo):
            load = self._loads.chords[place - len(info.hinges)][None]
            force, moment = load[:, :3], load[:, 3:]
        else:
            force, moment = end.load(trace)
        local, (unique, couplings) = end.local(trace, force, moment), self._others()
        joined = dict[str, float]()
        if isinstance(end, ChordInfo):
            joined = {n: float(couplings[end.first + k]) for k, n in enumerate(end.joins)}
        return Reaction(
            force[0],
            moment[0],
            Unique.of(unique[place, :6]),
            local[0][0],
            local[1][0],
            Unique.of(unique[place, 6:]),
            joined,
        )

    def _others(self) -> tuple[Floats, Floats]:
        """Return which components of the loads are unique, and the loads of the couplings."""
        if self._rest is None:
            mech, core = self._mech, self._mech._core
            if core.loops is None:
                self._rest = np.ones((len(mech._info.hinges), 12)), np.zeros(0)
            else:
                t, q, u = as_rows(mech, self._state, "reactions")
                with core.unloaded():
                    core.constraints(float(t[0]), q[0], u[0])
                unique = load_is_unique(mech, t, q, core.chord_work.q[None].copy())
                unpack(mech, self._state, "reactions")
                loads = coupling_loads(core, t, q, u, self._loads.multipliers[None])
                self._rest = unique, loads[0]
        return self._rest

    def __iter__(self) -> Iterator[str]:
        return (c.name for c in self._mech._info.connections)

    def __len__(self) -> int:
        return len(self._mech._info.connections)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> Any:
        """Send the numbers alone to another process."""
        return dict, (dict(self),)


def general_reactions(mech: Mechanism, state: State | tuple[Any, ...]) -> Mapping[str, Reaction]:
    """Return the loads of all connections in the general way, see `Mechanism.reactions`."""
    from ..analyses.evaluation import loads_of_regular

    found = loads_of_regular(mech, state)
    return reactions(mech, state) if found is None else Reactions(mech, state, Loads(*found))
