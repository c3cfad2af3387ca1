"""Measurements along a known motion: loads of drives by inverse dynamics, and positions of bodies.

With rows P of the closed chains, S the drives and dA, ... derivatives by a parameter at a fixed motion of the
independent coordinates::

    A ud - Q - P^T lambda = S tau      P ud + P00 = 0
    d(A ud - Q - P^T lambda) + A dud - P^T dlambda = S dtau      d(P ud + P00) + P dud = 0

Loads are linear in masses, first moments, inertias, and coefficients of friction and springs: their derivatives are the
regressor, which does not change during a fit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.analyses.displacement import Motion
from treemech.topology import ElementError, TreemechError, unknown
from treemech.topology.arrays import Floats

from ..analyses.evaluation import results_of_states
from ..analyses.states import unpack
from ..description.parameters import directions
from ..plots.signals import signals
from ..results.naming import as_quantity
from ..results.run import Run
from ..results.state import State
from .measurement import Channel, Measurement, times_of
from .motion import differenced
from .starts import Start, closed, independent_speeds

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_KINEMATIC = ("position", "rotation", "velocity", "angular_velocity", "euler_parameters", "com", "q", "u")


class KnownMotion:
    """One experiment along a known motion: predictions of its channels, and their derivatives."""

    def __init__(self, mech: "Mechanism", given: Measurement, channels: list[Channel], what: str) -> None:
        self.channels, self.what, self.first = channels, what, 0
        self.t = times_of(given.t, f"{what}: times of the motion")
        assert given.motion is not None
        rows = {str(name).removesuffix(".q"): self._rows(name, x) for name, x in given.motion.items()}
        for c in channels:
            if not np.isin(c.t, self.t).all():
                raise ElementError(f"{what}: {c.label!r} has samples at times for which no motion is given.")
        self.mech, self.names = mech, list(rows)
        for name in rows:
            if name not in mech.speeds:
                raise ElementError(f"{what}: motion: {unknown('coordinate', name, mech.speeds)}")
        first = {name: float(x[0, 0]) for name, x in rows.items()}
        begun = given.begun(mech, what)
        if mech._core.loops is not None:
            guess = {} if begun is None else {
                c.name: begun[c.name][0] for c in mech._lagrange.hinges if c.name not in first and begun[c.name][0].size
            }  # fmt: skip
            begun = mech.assemble(float(self.t[0]), fix=first, guess=guess)
        elif begun is None:
            begun = mech.state(float(self.t[0]), q=first)
        chosen = independent_speeds(mech, begun, self.names)
        names = [mech.speeds[k] for k in chosen]
        if sorted(names) != sorted(self.names):
            left = [n for n in names if n not in rows] or [n for n in rows if n not in names]
            raise ElementError(
                f"{what}: motion gives {', '.join(map(repr, rows))}, which is not the motion of all independent coordinates: "
                f"see {', '.join(map(repr, left))}."
            )
        self.chosen, self.begun = chosen, begun
        q, u, ud = (np.array([rows[n][:, k] for n in names]).T for k in range(3))
        self.q, self.u, self.ud = q, u, ud
        self.drives: dict[int, int] = {}
        self.others: list[int] = []
        for k, c in enumerate(channels):
            owner, _, quantity = c.signal.rpartition(".")
            if quantity == "drive":
                if owner not in names:
                    raise ElementError(
                        f"{what}: {c.signal!r}: {unknown('coordinate of the motion', owner, names)}"
                    )
                self.drives[k] = names.index(owner)
                continue
            asked = as_quantity(c.signal)
            if asked is None or asked.quantity not in _KINEMATIC:
                raise ElementError(
                    f"{what}: {c.signal!r} does not follow from a motion alone; wanted the load of a drive ({names[0]}.drive), or "
                    f"one of {', '.join(_KINEMATIC)} of a body or hinge."
                )
            self.others.append(k)

    def _rows(self, name: Any, given: Any) -> Floats:
        try:
            rows = np.array([np.broadcast_to(np.asarray(x, dtype=np.float64), self.t.shape) for x in given]).T
        except (TypeError, ValueError):
            rows = np.zeros((0, 0))
        if rows.shape != (len(self.t), 3) or not np.isfinite(rows).all():
            raise ElementError(
                f"{self.what}: motion of {name!r}: wanted (q, u, ud), three columns of {len(self.t)} finite numbers."
            )
        return rows

    def own_unknowns(self) -> tuple[list[str], list[float]]:
        """A known motion has no unknown start."""
        return [], []

    def cut(self, first: int, segments: int) -> tuple[list[str], list[float]]:
        """A known motion is not cut."""
        return [], []

    def states(self, mech: "Mechanism") -> list[State]:
        """Return the closed states along the motion."""
        found, near = [], self.begun
        for t, q, u in zip(self.t.tolist(), self.q, self.u, strict=True):
            near = Start(mech, near, self.chosen).state(mech, t, np.concatenate((q, u)))
            found.append(near)
        return found

    def evaluate(
        self, mech: "Mechanism", parameters: Sequence[str], values: Floats, slopes: bool
    ) -> tuple[list[Floats], list[Floats], Floats, Floats]:
        """Return predictions of the channels, their derivatives by all unknowns, and no gaps."""
        try:
            states = self.states(mech)
        except TreemechError as error:
            raise type(error)(f"{self.what}: {error}") from None
        n, k, core = len(self.t), len(parameters), mech._core
        tau, by = np.zeros((n, len(self.chosen))), np.zeros((n, len(self.chosen), k))
        s = np.zeros((n, 2 * mech.nu + core.nx, k))
        along = directions(mech, parameters) if slopes else []
        for j, state in enumerate(states):
            tau[j] = self._drives(mech, state, j, along, s[j], by[j])
        predicted, derived = [np.zeros(0)] * len(self.channels), [np.zeros((0, 0))] * len(self.channels)
        for c, drive in self.drives.items():
            predicted[c], derived[c] = tau[:, drive], by[:, drive]
        if self.others:
            motion = Motion(
                self.t, np.array([x.q for x in states]), np.array([x.u for x in states]), np.array([x.z for x in states]),
                np.array([np.concatenate([np.zeros(0), *(q for q, _ in x.cut.values())]) for x in states]),
            )  # fmt: skip
            run = Run(
                mech._info, self.t, motion.q, motion.u, True, "", "", tracer=lambda t, q, u, *_: results_of_states(mech, t, q, u, None, motion.z),
                z=motion.z, measures=mech._wiring.measures,
            )  # fmt: skip

            def sampled(other: Run) -> Floats:
                return np.array(
                    [
                        signals(other, self.channels[c].signal)[self.channels[c].column].values
                        for c in self.others
                    ]
                )

            here = sampled(run)
            there = (
                differenced(mech, run, motion, s, parameters, sampled)
                if slopes
                else np.zeros((len(here), n, 0))
            )
            for row, c in enumerate(self.others):
                predicted[c], derived[c] = here[row], there[row]
        rows = [np.searchsorted(self.t, c.t) for c in self.channels]
        wide = [np.zeros((len(r), len(values))) for r in rows]
        if slopes:
            for J, D, r in zip(wide, derived, rows, strict=True):
                J[:, :k] = D[r]
        none = np.zeros((0, len(values)))
        return [y[r] for y, r in zip(predicted, rows, strict=True)], wide, np.zeros(0), none

    def _drives(
        self, mech: "Mechanism", state: State, j: int, along: Sequence[Any], s: Floats, by: Floats
    ) -> Floats:
        """Return the loads of the drives in one state; write the changes of state and loads with every parameter."""
        core, n, free = mech._core, mech.nu, mech._core.free_speeds()
        chosen = np.asarray(self.chosen, dtype=np.int64)
        others = np.setdiff1d(np.flatnonzero(free), chosen)
        ud = np.zeros(n)
        ud[chosen] = self.ud[j]
        if core.loops is not None:
            core.loops.choose(state.t, state.q, state.u)
        t, q, u = unpack(mech, state, "fit")
        if core.loops is None:
            loads = core.inverse_dynamics(np.array([t]), q[None], u[None], ud[None])[0]
            for i, direction in enumerate(along):
                by[:, i] = direction.equations(t, q, u, ud, np.zeros(0)).loads[chosen]
            return np.asarray(loads[chosen])
        now = core.constraints(t, q, u, ud)
        P = now.partials
        ud[others] -= np.linalg.lstsq(P[:, others], now.bias, rcond=1e-9)[0]
        now = core.constraints(t, q, u, ud, loaded=True)
        multipliers = np.linalg.lstsq(P[:, others].T, now.loads[others], rcond=1e-9)[0]
        tau = (now.loads - P.T @ multipliers)[chosen]
        if along:
            A = core.mass_matrix(t, q)
            core.constraints(t, q, u, ud, loaded=True)
        for i, direction in enumerate(along):
            closed(mech, state, s[:, i], direction, self.chosen)
            core.constraints(t, q, u, ud, loaded=True)
            change = direction.equations(t, q, u, ud, multipliers, s[:, i])
            dud = np.zeros(n)
            dud[others] = -np.linalg.lstsq(P[:, others], change.bias, rcond=1e-9)[0]
            left = change.loads + A @ dud
            left -= P.T @ np.linalg.lstsq(P[:, others].T, left[others], rcond=1e-9)[0]
            by[:, i] = left[chosen]
        return np.asarray(tau)
