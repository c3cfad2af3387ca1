"""Assembly by name (KSP/0, KSP/1 of 8.3): what is fixed, guessed or given as a rate.

Branches are fixed by leaving their coordinates out of the search. Cut hinges and points of bodies have no
coordinates of the tree: each requirement on them becomes an equation beside those of the chords. With
weights, the closed position nearest to the guess is found: the least sum of weighted squares over all hinges,
cut or not.
"""

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.model.core import Constraints
from treemech.dynamics.model.trace import VELOCITY
from treemech.kinematics.closure import (
    close_positions,
    close_velocities,
    nearest_positions,
    nearest_velocities,
)
from treemech.topology import Attachment, Body, ElementError, TopologyError, TreemechError, unknown
from treemech.topology.arrays import Floats
from treemech.topology.body import as_pose

from ..results.naming import Place, as_place
from ..results.state import State, fill
from .body_motion import trace_of
from .constraints import holonomic, size
from .contacts import hinting, refuse_passed, without
from .cut_hinges import connection_names, cut_numbers, cut_partials, split
from .element_states import equilibrium_states
from .states import left_free, state_at

if TYPE_CHECKING:
    from ..mechanism import Mechanism

Evaluate = Callable[[Floats, Floats], Constraints]


def assemble(
    mech: "Mechanism",
    t: float = 0.0,
    fix: Mapping[str, Any] | None = None,
    guess: Mapping[str, Any] | None = None,
    poses: Mapping[Any, Any] | None = None,
    rates: Mapping[str, Any] | None = None,
    states: Mapping[str, Any] | None = None,
    weights: Mapping[str, Any] | None = None,
    rate_weights: Mapping[str, Any] | None = None,
    open: Collection[str] = (),
) -> State:
    """Find a consistent state: positions (KSP/0), then velocities (KSP/1), see `Mechanism.assemble`."""
    for what, given in (
        ("fix", fix),
        ("guess", guess),
        ("poses", poses),
        ("rates", rates),
        ("states", states),
    ):
        if given is not None and not isinstance(given, Mapping):
            raise ElementError(f"assemble: {what} is {given!r}; wanted what is given by name, {{'A': ...}}.")
    search = Assembly(mech, float(t), fix, rates, guess, weights, rate_weights)
    q, near = split(mech, guess)
    if poses:
        q.update(_from_poses(mech, float(t), poses, q))
    q.update(search.fix)
    for p in mech._prescriptions:
        if p.hinge in search.fix or str(Place(p.hinge, str(p.coordinate))) in search.fix:
            raise ElementError(f"{p.hinge!r} is prescribed and cannot be fixed as well: change its signal.")
    start = mech.state(t, {**q, **near, **split(mech, fix)[1]}, search.rates, states)
    if mech._info.chords or search.points:
        with mech._core.unloaded(), without(mech, open), hinting(mech):
            closed = search.close(start)
        start = state_at(mech, float(t), *closed, start.z)
        refuse_passed(mech, start, open)
    return equilibrium_states(mech._core, start, states or {})


class Assembly:
    """One search for a closed position and its rates."""

    def __init__(
        self,
        mechanism: "Mechanism",
        t: float,
        fix: Mapping[Any, Any] | None,
        rates: Mapping[Any, Any] | None,
        guess: Mapping[Any, Any] | None = None,
        weights: Mapping[str, Any] | None = None,
        rate_weights: Mapping[str, Any] | None = None,
    ) -> None:
        self.mechanism, self.t, self.core = mechanism, t, mechanism._core
        self.weights = self._weights(weights, fix, "fix")
        self.rate_weights = self._weights(rate_weights, None, "rates")
        known = connection_names(mechanism)
        soft = {as_place(str(name), known).owner for name in rate_weights or {}}
        wishes = {n: v for n, v in (rates or {}).items() if as_place(str(n), known).owner in soft}
        rates = {n: v for n, v in (rates or {}).items() if n not in wishes}
        self.cut_guess = cut_numbers(mechanism, split(mechanism, guess)[1], "q")
        branch_wishes, cut_wishes = split(mechanism, wishes)
        self.rate_wishes = fill(mechanism._lagrange, np.zeros(mechanism.nu), branch_wishes, "u")
        self.cut_rate_wishes = cut_numbers(mechanism, cut_wishes, "u")
        self.fix, cut_fix = split(mechanism, fix)
        self.rates, cut_rates = split(mechanism, rates)
        self.cut_fix = cut_numbers(mechanism, cut_fix, "q")
        self.cut_rates = cut_numbers(mechanism, cut_rates, "u")
        self.points = {k: v for k, v in (rates or {}).items() if isinstance(k, (Body, Attachment))}
        self.chords = {c.name: c for c in mechanism._info.chords}
        self.rows = list(self.core.layout.chords.rows)

    def close(self, start: State) -> tuple[Floats, Floats]:
        """Return (q, u), closed, nearest to the start."""
        mech, scale = self.mechanism, size(self.mechanism)
        rows = self.rows + [(name, k) for name, row in self.cut_fix.items() for k in range(len(row))]
        q = close_positions(mech._lagrange, self._positions, rows, start.q, left_free(mech, self.fix), scale)
        if self.weights is not None:
            q = nearest_positions(
                mech._lagrange, self._positions, self._deviation(start.q), q, left_free(mech, self.fix), scale
            )
        rows = self.rows + [(n, k) for n, row in self.cut_rates.items() for k in range(len(row))]
        rows += [(_label(end), k) for end in self.points for k in range(3)]
        free = left_free(mech, self.rates)
        u = close_velocities(self._velocities, rows, q, start.u, free)
        if self.rate_weights is not None:
            u = nearest_velocities(self._velocities, q, u, free, lambda u: self._rate_deviation(q, u))
        return q, u

    def _weights(
        self, given: Mapping[str, Any] | None, held: Mapping[Any, Any] | None, what: str
    ) -> dict[str, Floats] | None:
        """Return weights of the speeds of every hinge by name; 1 where none is given."""
        if given is None:
            return None
        mech = self.mechanism
        hinges = {c.name: c.hinge for c in mech._lagrange.hinges}
        hinges |= {c.name: c.element for c in mech.tree.chords if c.is_hinge}
        weights = {name: np.ones(hinge.n_speeds) for name, hinge in hinges.items()}
        for key, value in given.items():
            place = as_place(str(key), hinges)
            name = place.owner
            if name not in weights:
                raise TopologyError(f"weight of {key!r}: {unknown('hinge', name, hinges)}")
            for other in (n for n in held or {} if as_place(str(n), hinges).owner == name):
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

    def _deviation(self, guess: Floats) -> Callable[[Floats], tuple[Floats, Floats]]:
        """Return a function of q: (distances of hinges from the guess, partials by the speeds), times roots of weights."""
        mech, weights = self.mechanism, self.weights or {}
        targets = {}
        for c in (c for c in mech.tree.chords if c.is_hinge):
            target = c.element.reference()
            given = self.cut_guess.get(c.name, np.full(len(target), np.nan))
            targets[c.name] = np.where(np.isnan(given), target, given)

        def deviation(q: Floats) -> tuple[Floats, Floats]:
            d, J = [np.zeros(0)], [np.zeros((0, mech.nu))]
            for c in mech._lagrange.hinges:
                root = np.sqrt(weights[c.name])
                gap, slope = _distance(c.hinge, q[c.q_slice], guess[c.q_slice])
                partials = np.zeros((len(gap), mech.nu))
                partials[:, c.u_slice] = slope
                d.append(root * gap)
                J.append(root[:, None] * partials)
            if targets:
                self._positions(q, np.zeros(mech.nu))
                here, speeds = self.core.chord_work.q.copy(), self._cut_partials(q)
                for name, target in targets.items():
                    chord, root = self.chords[name], np.sqrt(weights[name])
                    gap, slope = _distance(self._hinge(name), here[chord.q : chord.q + chord.nq], target)
                    d.append(root * gap)
                    J.append(root[:, None] * (slope @ speeds[chord.u : chord.u + chord.nu]))
            return np.concatenate(d), np.vstack(J)

        return deviation

    def _rate_deviation(self, q: Floats, u: Floats) -> tuple[Floats, Floats]:
        """Return (rates less the wished ones, partials by the speeds), times the roots of the weights."""
        mech, weights = self.mechanism, self.rate_weights or {}
        root = np.sqrt(np.concatenate([np.zeros(0), *(weights[c.name] for c in mech._lagrange.hinges)]))
        d, J = [root * (u - self.rate_wishes)], [np.diag(root)]
        for name in (c.name for c in mech.tree.chords if c.is_hinge and c.element.n_speeds):
            chord, root = self.chords[name], np.sqrt(weights[name])
            self.core.constraints(self.t, q, u)
            now = self.core.chord_work.u[chord.u : chord.u + chord.nu].copy()
            wish = np.nan_to_num(self.cut_rate_wishes.get(name, np.zeros(chord.nu)))
            d.append(root * (now - wish))
            J.append(root[:, None] * self._cut_partials(q)[chord.u : chord.u + chord.nu])
        return np.concatenate(d), np.vstack(J)

    def _positions(self, q: Floats, u: Floats) -> Constraints:
        """Return the constraints on positions, with the fixed coordinates of cut hinges."""
        now = holonomic(self.mechanism, self.t)(q, u)
        if not self.cut_fix:
            return now
        gaps, speeds = [now.residual], self._cut_partials(q)
        partials, here = [now.partials], self.core.chord_work.q.copy()
        for name, target in self.cut_fix.items():
            c = self.chords[name]
            gap = _difference(self._hinge(name), here[c.q : c.q + c.nq], target)
            given = ~np.isnan(gap)
            gaps.append(np.where(given, gap, 0.0))
            partials.append(speeds[c.u : c.u + c.nu] * given[:, None])
        return now._replace(residual=_padded(gaps, self.cut_fix), partials=_stacked(partials, self.cut_fix))

    def _velocities(self, q: Floats, u: Floats) -> Constraints:
        """Return the constraints on rates, with the given rates of cut hinges and points."""
        now = self.core.constraints(self.t, q, u)
        gaps, partials, here = [now.velocity], [now.partials], self.core.chord_work.u.copy()
        speeds = self._cut_partials(q) if self.cut_rates else np.zeros((0, self.core.nu))
        for name, target in self.cut_rates.items():
            c = self.chords[name]
            given = ~np.isnan(target)
            gaps.append(np.where(given, here[c.u : c.u + c.nu] - np.where(given, target, 0.0), 0.0))
            partials.append(speeds[c.u : c.u + c.nu] * given[:, None])
        for end, value in self.points.items():
            wanted = np.array([np.nan if x is None else float(x) for x in value])
            if wanted.shape != (3,):
                raise ElementError(
                    f"the rate of {_label(end)} has {len(wanted)} numbers; wanted 3: its velocity [m/s]."
                )
            given = ~np.isnan(wanted)
            place = end.at() if isinstance(end, Body) else end
            state = State(self.t, q, u)
            gaps.append(
                np.where(
                    given, _point_velocity(self.mechanism, place, state) - np.where(given, wanted, 0.0), 0.0
                )
            )
            partials.append(self.mechanism.jacobian(place, state)[:3] * given[:, None])
        return now._replace(velocity=np.concatenate(gaps), partials=np.vstack(partials))

    def _cut_partials(self, q: Floats) -> Floats:
        return cut_partials(self.core, self.t, q)

    def _hinge(self, name: str) -> Any:
        return next(c.element for c in self.mechanism.tree.chords if c.name == name)


def _from_poses(
    mech: "Mechanism", t: float, poses: Mapping[Any, Any], guess: Mapping[str, Any]
) -> dict[str, Any]:
    """Return hinge coordinates that bring the bodies to given poses."""
    names = [body.name for body in mech.tree.bodies]
    known: dict[str, tuple[Floats, Floats]] = {"ground": (np.zeros(3), np.eye(3))}
    for given, pose in poses.items():
        name = given.name if isinstance(given, Body) else given
        if name not in names:
            raise TopologyError(unknown("body", name, names))
        known[name] = as_pose(pose, f"pose of body {name!r}")
    start = mech.state(t, dict(guess))
    found = {}
    for c in mech._lagrange.hinges:
        a, b = c.connection.ends
        if a.body.name in known and b.body.name in known:
            (pa, Ra), (pb, Rb) = known[a.body.name], known[b.body.name]
            base = c.hinge.base()
            A, B = Ra @ a.rotation @ base, Rb @ b.rotation @ base
            offset = A.T @ (pb + Rb @ b.offset - pa - Ra @ a.offset)
            try:
                found[c.name] = c.hinge.coordinates(offset, A.T @ B, start.q[c.q_slice], t)
            except TreemechError as error:
                raise type(error)(f"hinge {c.name!r} does not fit the given poses: {error}") from None
    return found


def _padded(gaps: list[Floats], fixed: Mapping[str, Floats]) -> Floats:
    """Return residuals with one entry per given number (Euler parameters: three of the four)."""
    rows = [gaps[0]] + [
        np.pad(g, (0, len(t) - len(g))) for g, t in zip(gaps[1:], fixed.values(), strict=True)
    ]
    return np.concatenate(rows)


def _stacked(partials: list[Floats], fixed: Mapping[str, Floats]) -> Floats:
    rows = [partials[0]]
    rows += [
        np.pad(p, ((0, len(t) - len(p)), (0, 0))) for p, t in zip(partials[1:], fixed.values(), strict=True)
    ]
    return np.vstack(rows)


def _difference(hinge: Any, q: Floats, target: Floats) -> Floats:
    """Return q less the target, as a motion in the speeds; nan where nothing is given."""
    k = getattr(hinge, "euler_parameters", None)
    if k is None:
        return q - target
    a, b = q[k : k + 4], target[k : k + 4] / np.linalg.norm(target[k : k + 4])
    turn = a[0] * b[0] + a[1:] @ b[1:]
    vector = b[0] * a[1:] - a[0] * b[1:] - np.cross(a[1:], b[1:])  # vector part of a b*
    return np.concatenate(
        (q[:k] - target[:k], 2.0 * np.sign(turn or 1.0) * vector, q[k + 4 :] - target[k + 4 :])
    )


def _distance(hinge: Any, q: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Return (q less the target as a motion in the speeds, its partials with respect to them)."""
    gap, k = _difference(hinge, q, target), getattr(hinge, "euler_parameters", None)
    slope = np.eye(len(gap))
    if k is not None:  # e' = (0, w) e / 2: twice the vector part v of e e0* has the rate s w + w x v
        v = 0.5 * gap[k : k + 3]
        s = np.sqrt(max(0.0, 1.0 - float(v @ v)))
        x, y, z = v
        slope[k : k + 3, k : k + 3] = s * np.eye(3) - np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return gap, slope


def _label(end: Body | Attachment) -> str:
    return f"a point of body {(end if isinstance(end, Body) else end.body).name!r}"


def _point_velocity(mechanism: "Mechanism", end: Attachment, state: State) -> Floats:
    trace = trace_of(mechanism, state, None)[0][0, mechanism.tree.numbers[end.body.name]]
    arm = trace[:9].reshape(3, 3) @ end.offset
    return np.asarray(trace[VELOCITY] + np.cross(trace[12:15], arm))
