"""Rates of a start (KSP/1): held or wished for, of hinges, cut or not, of ends, and by momentum."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.model.core import Constraints
from treemech.dynamics.model.trace import OMEGA, VELOCITY
from treemech.kinematics.closure import close_velocities, nearest_velocities
from treemech.topology import Attachment, Body, ElementError
from treemech.topology.arrays import Floats

from ..analyses.body_motion import attitude, momentum, trace_of
from ..analyses.cut_hinges import connection_names, cut_numbers, cut_partials, split
from ..analyses.ends import jacobian
from ..analyses.states import left_free
from ..results.naming import as_numbers_by_name, as_place
from ..results.state import State, fill
from .targets import as_end, end_label
from .weights import hinge_weights

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_MOMENTUM = "momentum"


class Speeds:
    """What is asked of the rates of a start."""

    def __init__(
        self,
        mech: "Mechanism",
        t: float,
        rates: Mapping[Any, Any] | None,
        weights: Mapping[str, Any] | None,
        momentum: Any,
    ) -> None:
        self.mech, self.t, self.core = mech, t, mech._core
        known = connection_names(mech)
        if weights is not None:
            as_numbers_by_name(weights, "rate_weights")
        soft = {as_place(str(name), known).owner for name in weights or {}}
        wishes = {n: v for n, v in (rates or {}).items() if as_place(str(n), known).owner in soft}
        held = {n: v for n, v in (rates or {}).items() if n not in wishes}
        self.weights = None if weights is None else hinge_weights(mech, weights, None, "rates")
        branch_wishes, cut_wishes = split(mech, wishes)
        self.wishes = fill(mech._lagrange, np.zeros(mech.nu), branch_wishes, "u")
        self.cut_wishes = cut_numbers(mech, cut_wishes, "u")
        self.held, cut_held = split(mech, held)
        self.cut_held = cut_numbers(mech, cut_held, "u")
        self.ends = {
            as_end(mech, k, "rates"): (end_label(k), _rate(k, v))
            for k, v in held.items()
            if not isinstance(k, str)
        }
        self.momentum = None if momentum is None else _six(momentum, "momentum", "linear", "angular")
        self.chords = {c.name: c for c in mech._info.chords}

    def find(self, q: Floats, u: Floats) -> Floats:
        """Return rates that satisfy the constraints and everything held, nearest to u or to the wishes."""
        if not (self.core.layout.chords.rows or self.ends or self.momentum is not None or self.weights):
            return u
        rows = list(self.core.layout.chords.rows)
        rows += [(n, k) for n, row in self.cut_held.items() for k in range(len(row))]
        rows += [(label, k) for label, _ in self.ends.values() for k in range(6)]
        rows += [] if self.momentum is None else [(_MOMENTUM, k) for k in range(6)]
        free = left_free(self.mech, self.held)
        u = close_velocities(self._constraints, rows, q, u, free)
        if self.weights is not None:
            u = nearest_velocities(self._constraints, q, u, free, lambda u: self._deviation(q, u))
        return u

    def _constraints(self, q: Floats, u: Floats) -> Constraints:
        """Return the constraints on rates, with the given rates of cut hinges and ends, and the momentum."""
        mech, now = self.mech, self.core.constraints(self.t, q, u)
        gaps, partials, here = [now.velocity], [now.partials], self.core.chord_work.u.copy()
        speeds = cut_partials(self.core, self.t, q) if self.cut_held else np.zeros((0, self.core.nu))
        state = State(self.t, q, u)

        def ask(found: Floats, wanted: Floats, J: Floats) -> None:
            given = ~np.isnan(wanted)
            gaps.append(np.where(given, found - np.where(given, wanted, 0.0), 0.0))
            partials.append(J * given[:, None])

        for name, wanted in self.cut_held.items():
            c = self.chords[name]
            ask(here[c.u : c.u + c.nu], wanted, speeds[c.u : c.u + c.nu])
        for end, (_, wanted) in self.ends.items():
            ask(_velocity(mech, end, state), wanted, jacobian(mech, state, end))
        if self.momentum is not None:
            mass = sum(body.mass for body in mech.tree.bodies[1:]) or 1.0  # a velocity, as in the other rows
            found = np.concatenate(momentum(mech, state))
            ask(found / mass, self.momentum / mass, _momentum_partials(mech, state) / mass)
        return now._replace(velocity=np.concatenate(gaps), partials=np.vstack(partials))

    def _deviation(self, q: Floats, u: Floats) -> tuple[Floats, Floats]:
        """Return (rates less the wished ones, partials by the speeds), times the roots of the weights."""
        mech, weights = self.mech, self.weights or {}
        root = np.sqrt(np.concatenate([np.zeros(0), *(weights[c.name] for c in mech._lagrange.hinges)]))
        d, J = [root * (u - self.wishes)], [np.diag(root)]
        cut = [c.name for c in mech.tree.chords if c.is_hinge and c.element.n_speeds]
        if cut:
            self.core.constraints(self.t, q, u)
            now, speeds = self.core.chord_work.u.copy(), cut_partials(self.core, self.t, q)
        for name in cut:
            c, root = self.chords[name], np.sqrt(weights[name])
            wish = np.nan_to_num(self.cut_wishes.get(name, np.zeros(c.nu)))
            d.append(root * (now[c.u : c.u + c.nu] - wish))
            J.append(root[:, None] * speeds[c.u : c.u + c.nu])
        return np.concatenate(d), np.vstack(J)


def _rate(key: Body | Attachment, value: Any) -> Floats:
    """Read the rate of an end: its velocity, three numbers or None, or (velocity, angular velocity)."""
    point = isinstance(value, Sequence | np.ndarray) and len(value) == 3
    return _six(
        (value, None) if point else value, f"the rate of {end_label(key)}", "velocity", "angular velocity"
    )


def _six(value: Any, what: str, first: str, second: str) -> Floats:
    """Return six numbers, nan for None, from 0 or a pair of three numbers each, either of which may be None."""
    try:
        if isinstance(value, int | float) and value == 0:
            return np.zeros(6)
        pair = [3 * [None] if part is None else list(part) for part in value]
        numbers = np.array([[np.nan if x is None else float(x) for x in part] for part in pair])
        if numbers.shape == (2, 3) and not np.any(np.isinf(numbers)):
            return numbers.ravel()
    except (TypeError, ValueError):
        pass
    raise ElementError(
        f"{what} is {value!r}; wanted 0 or ({first}, {second}), three numbers each, None for what is free."
    )


def _velocity(mech: "Mechanism", end: Attachment, state: State) -> Floats:
    """Return velocity of the point and angular velocity of the body of an end."""
    trace = trace_of(mech, state, None)[0][0, mech.tree.numbers[end.body.name]]
    arm = trace[:9].reshape(3, 3) @ end.offset
    return np.concatenate((trace[VELOCITY] + np.cross(trace[OMEGA], arm), trace[OMEGA]))


def _momentum_partials(mech: "Mechanism", state: State) -> Floats:
    """Return momentum and angular momentum about the world origin per unit of each speed (6, nu)."""
    z, found = attitude(mech, state), np.zeros((6, mech.nu))
    for k, body in enumerate(mech.tree.bodies[1:]):
        v, w = z.partials[:, 6 * k : 6 * k + 3], z.partials[:, 6 * k + 3 : 6 * k + 6]
        R = z.rotation[k]
        arm = R @ body.com
        p = body.mass * (v + np.cross(w, arm))
        found[:3] += p.T
        found[3:] += (np.cross(z.position[k] + arm, p) + w @ (R @ body.inertia @ R.T).T).T
    return found
