"""Starts of measured motions whose values are unknown: a state from independent numbers, and how it changes with them.

In a tree the independent numbers are all coordinates and speeds. In a closed chain the others follow from the
constraints, and so do their changes, from the constraints differentiated::

    P s_q + df/dp = 0,   P s_u + d(P u + P0)/dp = 0      independent entries given
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.analyses.displacement import displaced
from treemech.dynamics.analyses.parameter_derivatives import Direction
from treemech.kinematics.rank import allowed, preferring
from treemech.topology import ElementError, unknown
from treemech.topology.arrays import Floats

from ..analyses.constraints import nonholonomic
from ..analyses.states import unpack
from ..results.state import State

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_RANK = 1e-9
_NUMBER = re.compile(r"\.[qu](?=$|\[)")  # of a coordinate or speed: A.q, A.u[1]


def independent_speeds(mech: "Mechanism", state: State, preferred: Sequence[str] = ()) -> list[int]:
    """Return the places of speeds whose coordinates decide the position: the preferred ones as far as they are independent.

    `preferred` are names of coordinates, speeds or hinges, "A", "A.q", "A.u[1]"; others are passed over.
    """
    free = np.flatnonzero(mech._core.free_speeds())
    if mech._core.loops is None:
        return [int(k) for k in free]
    if np.any(nonholonomic(mech)):
        raise ElementError(
            "constraints on rates alone (rolling, skates) allow no start values to be estimated."
        )
    t, q, u = unpack(mech, state, "fit")
    N = allowed(mech._core.constraints(t, q, u).partials, mech._core.free_speeds())
    plain = [_NUMBER.sub("", n) for n in preferred]
    return preferring(N, [k for n in plain for k, own in enumerate(mech.speeds) if n in (own, _owner(own))])


class Start:
    """A start made of independent coordinates and speeds, some of which are unknowns."""

    def __init__(self, mech: "Mechanism", base: State, chosen: Sequence[int]) -> None:
        self.base, self.chosen, n = base, list(chosen), mech.nu
        self.plain = [
            c.hinge.euler_parameters is None
            for c in mech._lagrange.hinges
            for _ in range(c.u_slice.stop - c.u_slice.start)
        ]
        self._q = np.zeros(n)  # values at the base, zero for rotations
        for c in mech._lagrange.hinges:
            if c.hinge.euler_parameters is None:
                self._q[c.u_slice] = base.q[c.q_slice]
        self.names = [mech.speeds[k] for k in self.chosen] + [f"{mech.speeds[k]}.u" for k in self.chosen]

    @property
    def values(self) -> Floats:
        """The independent numbers at the base."""
        return np.concatenate((self._q[self.chosen], self.base.u[self.chosen]))

    def places(self, asked: bool | Sequence[str], what: str) -> list[int]:
        """Return which of the independent numbers are asked for."""
        if isinstance(asked, bool):
            return list(range(len(self.names))) if asked else []
        found = []
        for name in [asked] if isinstance(asked, str) else asked:
            plain = name[:-2] if name.endswith(".q") else name
            own = [k for k, n in enumerate(self.names) if plain in (n, _owner(n))]
            if not own:
                raise ElementError(f"{what}: {unknown('independent start value', name, self.names)}")
            found += own
        return list(dict.fromkeys(found))

    def state(self, mech: "Mechanism", t: float, values: Floats, near: State | None = None) -> State:
        """Return the start with these independent numbers, of a closed chain on the branch of `near` (default: the base)."""
        k = len(self.chosen)
        base, names = self.base, [mech.speeds[j] for j in self.chosen]
        if mech._core.loops is None:
            step, u = np.zeros(mech.nu), base.u.copy()
            step[self.chosen] = values[:k] - self._q[self.chosen]
            u[self.chosen] = values[k:]
            q = displaced(mech._core, base.q[None], step[None])[0]
            return mech.state(t, q, u, base.x if len(base.x) else None)
        beside = base if near is None else near
        known = {h: beside[h][0] for h in (c.name for c in mech._lagrange.hinges)}
        return mech.assemble(
            t,
            fix=dict(zip(names, values[:k].tolist(), strict=True)),
            rates=dict(zip(names, values[k:].tolist(), strict=True)),
            guess={
                h: q
                for h, q in known.items()
                if np.size(q) and not any(n == h or _owner(n) == h for n in names)
            },
        )

    def derivative(
        self,
        mech: "Mechanism",
        state: State,
        along: Sequence[Direction],
        still: Direction,
        asked: Sequence[int],
    ) -> Floats:
        """Return the change (2 nu + nx, parameters + asked) of the start with parameters and unknown numbers."""
        core, n, k = mech._core, mech.nu, len(self.chosen)
        s = np.zeros((2 * n + core.nx, len(along) + len(asked)))
        for j, place in enumerate(asked):
            s[self.chosen[place] if place < k else n + self.chosen[place - k], len(along) + j] = 1.0
        directions = [*along, *([still] * len(asked))]
        for column, direction in zip(s.T, directions, strict=True):
            closed(mech, state, column, direction, self.chosen)
        return s


def closed(mech: "Mechanism", state: State, s: Floats, direction: Direction, chosen: Sequence[int]) -> None:
    """Let the other entries of a change s of a state follow from those of the chosen speeds, in place."""
    core, n, free = mech._core, mech.nu, mech._core.free_speeds()
    t, q, u = unpack(mech, state, "fit")
    P = core.constraints(t, q, u).partials if core.loops is not None else np.zeros((0, n))
    at = (t, q, u, np.zeros(n), np.zeros(len(P)))
    now = direction.equations(*at, s)
    driven = np.flatnonzero(~free)
    s[driven], s[n + driven] = now.prescribed[:2, driven]
    if core.loops is None:
        return
    others = np.setdiff1d(np.flatnonzero(free), np.asarray(chosen, dtype=np.int64))
    holonomic = ~nonholonomic(mech)
    gap = direction.equations(*at, s).position[holonomic]
    s[others] -= np.linalg.lstsq(P[holonomic][:, others], gap, rcond=_RANK)[0]
    gap = direction.equations(*at, s).velocity
    s[n + others] -= np.linalg.lstsq(P[:, others], gap, rcond=_RANK)[0]


def _owner(name: Any) -> str:
    plain = str(name)
    return plain.partition("[")[0] + (".u" if plain.endswith(".u") and "[" in plain else "")
