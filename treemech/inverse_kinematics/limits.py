"""Limits of coordinates of hinges, cut or not, as bounds on steps."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.elements import Hinge
from treemech.kinematics.manifold import turns
from treemech.topology import ElementError, TopologyError, unknown
from treemech.topology.arrays import Floats

from ..analyses.cut_hinges import connection_names, cut_partials
from ..results.naming import as_place

if TYPE_CHECKING:
    from ..mechanism import Mechanism


class Limits:
    """Bounds of coordinates: of the tree, then of cut hinges, at a time t."""

    def __init__(self, mech: "Mechanism", t: float, given: Any) -> None:
        self.mech, self.t = mech, t
        own = _of_system(mech) if given is None else {} if given is False else _by_name(mech, given)
        own = {place: pair for place, pair in own.items() if np.any(np.isfinite(pair))}
        tree, cut = {c.name: c for c in mech._lagrange.hinges}, {c.name: c for c in mech._info.chords}
        held = {(p.hinge, p.coordinate) for p in mech._prescriptions}
        in_tree = [p for p in own if p[0] in tree and p not in held]
        in_cut = [p for p in own if p[0] in cut]
        self.q = np.array([tree[n].q + k for n, k in in_tree], dtype=np.int64)
        self.u = np.array([tree[n].u + _speed(tree[n].hinge, k) for n, k in in_tree], dtype=np.int64)
        self.cut_q = np.array([cut[n].q + k for n, k in in_cut], dtype=np.int64)
        self.cut_u = np.array([cut[n].u + _speed(_element(mech, n), k) for n, k in in_cut], dtype=np.int64)
        self.names = [f"{n}[{k}]" if _count(mech, n) > 1 else n for n, k in (*in_tree, *in_cut)]
        pairs = np.array([own[p] for p in (*in_tree, *in_cut)]).reshape(-1, 2)
        self.cut = bool(in_cut)
        self.low, self.high = pairs[:, 0], pairs[:, 1]
        self._places = (*in_tree, *in_cut)
        self._unit = np.zeros((len(self.q), mech.nu))
        self._unit[np.arange(len(self.q)), self.u] = 1.0

    def __len__(self) -> int:
        return len(self.low)

    @cached_property
    def turn(self) -> Floats:
        """Return 2 pi for every limited coordinate that leads to the same pose after a turn, 0 for the others."""
        return np.array([turns(_hinge(self.mech, n))[k] for n, k in self._places], dtype=np.float64)

    def values(self, q: Floats) -> Floats:
        """Return the limited coordinates; those of cut hinges are where the core was last.

        Cut hinges count their turns from the middle between their limits.
        """
        here = q[self.q]
        if not len(self.cut_q):
            return np.asarray(here)
        n = len(here)
        cut = self.mech._core.chord_work.q[self.cut_q].copy()
        both = np.isfinite(self.low[n:]) & np.isfinite(self.high[n:]) & (self.turn[n:] > 0.0)
        turn, middle = self.turn[n:][both], 0.5 * (self.low[n:] + self.high[n:])[both]
        cut[both] -= turn * np.round((cut[both] - middle) / turn)
        return np.concatenate((here, cut))

    def partials(self, q: Floats) -> Floats:
        """Return the speeds of the limited coordinates per unit of each speed."""
        if not len(self.cut_q):
            return self._unit
        return np.vstack((self._unit, cut_partials(self.mech._core, self.t, q)[self.cut_u]))

    def within(self, q: Floats) -> Floats:
        """Return q with the coordinates of the tree between their limits, by whole turns where that leads there."""
        n = len(self.q)
        x, low, high = q[self.q], self.low[:n], self.high[:n]
        if ((x >= low) & (x <= high)).all():
            return q
        q, turn = np.array(q), self.turn[:n]
        k = np.flatnonzero((turn > 0.0) & ((x < low) | (x > high)))
        up = x[k] < low[k]
        near = np.where(up, low[k], high[k])
        shift = turn[k] * np.where(up, np.ceil((near - x[k]) / turn[k]), np.floor((near - x[k]) / turn[k]))
        moved = x[k] + shift
        fits = (moved >= low[k]) & (moved <= high[k])
        x[k[fits]] = moved[fits]
        q[self.q] = np.clip(x, low, high)
        return q

    def at(self, values: Floats) -> list[str]:
        """Return the names of the coordinates that are at a limit."""
        near = (values < self.low + 1e-9) | (values > self.high - 1e-9)
        return [name for name, there in zip(self.names, near, strict=True) if there]


def _element(mech: "Mechanism", name: str) -> Hinge:
    found: Hinge = next(c.element for c in mech.tree.chords if c.name == name)
    return found


def _hinge(mech: "Mechanism", name: str) -> Hinge:
    return next((c.hinge for c in mech._lagrange.hinges if c.name == name), None) or _element(mech, name)


def _count(mech: "Mechanism", name: str) -> int:
    return int(_hinge(mech, name).n_coordinates)


def _speed(hinge: Hinge, k: int) -> int:
    """Return the number of the speed of a plain coordinate."""
    e = hinge.euler_parameters
    return k - 1 if e is not None and k > e else k


def _of_system(mech: "Mechanism") -> dict[tuple[str, int], tuple[float, float]]:
    return {
        place: (-np.inf if x.lower is None else x.lower, np.inf if x.upper is None else x.upper)
        for place, x in mech._wiring.limits.items()
    }


def _by_name(mech: "Mechanism", given: Any) -> dict[tuple[str, int], tuple[float, float]]:
    """Read {coordinate: (lower, upper)}, None for what is not limited."""
    if not isinstance(given, Mapping):
        raise ElementError(
            f"inverse_kinematics: limits is {given!r}; wanted {{coordinate: (lower, upper)}}, False for none, or None for those "
            "of the system."
        )
    found = {}
    hinges = [c.name for c in mech._info.hinges] + [c.name for c in mech._info.chords if c.nq]
    for key, value in given.items():
        place = as_place(str(mech._numbered({key: 0}).popitem()[0]), connection_names(mech))
        if place.owner not in hinges:
            raise TopologyError(f"inverse_kinematics: limits: {unknown('hinge', place.owner, hinges)}")
        hinge = _hinge(mech, place.owner)
        e, n = hinge.euler_parameters, hinge.n_coordinates
        plain = [k for k in range(n) if e is None or not e <= k < e + 4]
        if place.index is None:
            k = 0 if n == 1 else None
        else:
            k = place.below(n)
        if k is None or k not in plain:
            names = [place.owner if n == 1 else f"{place.owner}[{j}]" for j in plain]
            raise ElementError(
                f"inverse_kinematics: {key!r} cannot be limited; {place.owner!r} has the coordinates "
                f"{', '.join(map(repr, names)) or 'of an attitude alone'}."
            )
        try:
            if not isinstance(value, Sequence | np.ndarray) or len(value) != 2:
                raise ValueError
            low = -np.inf if value[0] is None else float(value[0])
            high = np.inf if value[1] is None else float(value[1])
            if not low <= high:
                raise ValueError
        except (TypeError, ValueError):
            raise ElementError(
                f"inverse_kinematics: the limits of {key!r} are {value!r}; wanted (lower, upper) with lower <= upper, None for "
                "what is free."
            ) from None
        found[place.owner, k] = (low, high)
    return found
