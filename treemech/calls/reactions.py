"""Loads of all connections at one state, or at many: each is made when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.analyses.reactions import coupling_loads
from treemech.topology.arrays import Floats

from ..analyses.closed_chains import load_is_unique
from ..analyses.evaluation import Reaction, reactions
from ..analyses.states import as_rows, unpack
from ..results.computed import Unique
from ..results.model_info import ChordInfo
from ..results.state import State
from .loads import Loads
from .rows import Rows, of_rows, stacked

if TYPE_CHECKING:
    from ..mechanism import Mechanism


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


class ManyReactions(Mapping[str, Reaction]):
    """Loads of many states by the name of the connection; its arrays have the leading axes of the states."""

    __slots__ = ("_alone", "_loads", "_mech", "_rows")

    def __init__(self, mech: Mechanism, rows: Rows, loads: Loads) -> None:
        n = len(rows.t)
        self._mech, self._rows = mech, rows
        self._loads = Loads(*(part.reshape(n, *part.shape[len(rows.lead) :]) for part in loads))
        self._alone: list[Reactions] | None = None

    def __getitem__(self, name: str) -> Reaction:
        if name not in self._names:
            raise KeyError(name)
        lead, info = self._rows.lead, self._mech._info
        if info.chords:  # what is unique is a question of each position
            found: Reaction = stacked([one[name] for one in self._each()], lead)
            return found
        end = info.hinges[self._names.index(name)]
        force, moment = end.load(self._loads.trace)
        local = end.local(self._loads.trace, force, moment)
        force, moment, *local = (x.reshape(*lead, 3) for x in (force, moment, *local))
        return Reaction(force, moment, Unique(), local[0], local[1])

    def _each(self) -> list[Reactions]:
        """Return the loads of every state."""
        if self._alone is None:
            self._alone = [
                Reactions(self._mech, self._rows.row(k)[0], Loads(*(part[k] for part in self._loads)))
                for k in range(len(self._rows.t))
            ]
        return self._alone

    @property
    def _names(self) -> list[str]:
        return [c.name for c in self._mech._info.connections]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> Any:
        """Send the numbers alone to another process."""
        return dict, (dict(self),)


class _Irregular(Exception):
    """Some state has no loads without a choice of rows."""


def _loads_of_regular(mech: Mechanism, state: State) -> Loads:
    from ..analyses.evaluation import loads_of_regular

    found = loads_of_regular(mech, state)
    if found is None:
        raise _Irregular
    return Loads(*found)


def many_reactions(mech: Mechanism, rows: Rows, threads: int | None) -> Mapping[str, Reaction] | None:
    """Return the loads of every state from one crossing; None if rows of constraints have to be chosen at any."""
    if mech._fast.table("reactions") is None:
        return None
    try:
        return ManyReactions(mech, rows, of_rows(mech, "reactions", _loads_of_regular, rows, None, threads))
    except _Irregular:
        return None


def general_reactions(mech: Mechanism, state: State | tuple[Any, ...]) -> Mapping[str, Reaction]:
    """Return the loads of all connections in the general way, see `Mechanism.reactions`."""
    from ..analyses.evaluation import loads_of_regular

    found = loads_of_regular(mech, state)
    return reactions(mech, state) if found is None else Reactions(mech, state, Loads(*found))
