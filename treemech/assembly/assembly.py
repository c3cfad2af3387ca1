"""Assembly by name (KSP/0, KSP/1 of 8.3): what is fixed, guessed or given as a rate.

Branches are fixed by leaving their coordinates out of the search. Cut hinges and ends of bodies have no
coordinates of the tree: each requirement on them becomes an equation beside those of the chords. What is
guessed is wished for: the closed position with the least sum of weighted squares of the distances from all
guesses is found (assembly.targets has the measure of distance).
"""

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.model.core import Constraints
from treemech.kinematics.closure import Deviation, close_positions
from treemech.topology import ElementError
from treemech.topology.arrays import Floats
from treemech.topology.body import as_number

from ..analyses.constraints import holonomic, size
from ..analyses.contacts import hinting, refuse_passed, without
from ..analyses.cut_hinges import connection_names, cut_numbers, split
from ..analyses.element_states import equilibrium_states
from ..analyses.states import left_free, make_state, state_at
from ..results.naming import Place, as_place
from ..results.state import State, fill
from .estimate import coordinates_from_poses
from .speeds import Speeds
from .targets import EndTarget, HingeTarget, Target, ends_of, hinge_targets, measure, pose_target, stacked
from .weights import end_weights, hinge_weights

if TYPE_CHECKING:
    from ..mechanism import Mechanism

# A guess that is left by more is told: coordinates [rad, m], ends [lengths of links, 2 sin(angle / 2)]
_LEFT, _LEFT_BY_ENDS = 1.0, 0.25

Given = Mapping[Any, Any] | None


class Assembly:
    """One search for closed positions and their rates."""

    def __init__(
        self,
        mech: "Mechanism",
        t: float = 0.0,
        fix: Given = None,
        guess: Given = None,
        poses: Given = None,
        rates: Given = None,
        states: Given = None,
        weights: Given = None,
        rate_weights: Given = None,
        momentum: Any = None,
    ) -> None:
        _by_name(fix=fix, guess=guess, poses=poses, rates=rates, states=states, weights=weights)
        self.mech, self.t, self.fix_given = mech, as_number(t, "assemble: t"), fix
        self.chosen = bool(guess or poses or weights)  # a branch is chosen by estimates
        self.states, self.scale = states or {}, size(mech)
        self.speeds = Speeds(mech, self.t, rates, rate_weights, momentum)
        self.fix, cut_fix = split(mech, fix)
        for p in mech._prescriptions:
            if p.hinge in self.fix or str(Place(p.hinge, str(p.coordinate))) in self.fix:
                raise ElementError(
                    f"{p.hinge!r} is prescribed and cannot be fixed as well: change its signal."
                )
        self.free = left_free(mech, self.fix)
        cut = cut_numbers(mech, cut_fix, "q")
        self.fixed: list[Target] = [*hinge_targets(mech, {}, cut), *ends_of(mech, fix, "fix")]
        branches, cut_guess = split(mech, guess)
        self.cut_guess = cut_numbers(mech, cut_guess, "q")
        described = {body: body.pose for body in mech.tree.bodies[1:] if body.pose is not None}
        placed = [pose_target(mech, key, pose) for key, pose in (poses or described).items()]
        self.start = self._start(branches, placed)
        self.near = {**self.cut_guess, **cut}
        self.fitted = mech._core.layout.chords.start  # of the positions found
        ends = [*ends_of(mech, guess, "guess"), *(placed if poses else [])]
        guessed = _only(mech, fill(mech._lagrange, self.start.q, branches, "q"), branches)
        self.guesses: list[Target] = [*hinge_targets(mech, guessed, self.cut_guess), *ends]
        self.weighted = weights is not None
        self.wished: Sequence[Target] = self.guesses or placed
        self.roots = [np.ones(x.count) for x in self.wished]
        if weights is not None:
            of_ends = {k: w for k, w in weights.items() if not isinstance(k, str)}
            by_name = {k: w for k, w in weights.items() if isinstance(k, str)}
            own = hinge_weights(mech, by_name, fix, "fix")
            hinges = self.all_hinges()
            self.wished = [*hinges, *ends]
            counted = [*(own[x.name] for x in hinges), *end_weights(mech, of_ends, ends)]
            self.roots = [np.sqrt(w) for w in counted]

    def _start(self, branches: Mapping[str, Any], placed: Sequence[EndTarget]) -> State:
        """Return where the search starts: at the guesses, else at poses, else at the reference position."""
        mech = self.mech
        start = make_state(mech, self.t, {**branches, **self.fix}, self.speeds.held, self.states)
        if not placed:
            return start
        known = connection_names(mech)
        keep = {as_place(n, known).owner for n in (*branches, *self.fix)}
        poses = {x.end.body.name: _pose_of_body(x) for x in placed}
        q = coordinates_from_poses(mech, self.t, start.q, poses, keep)
        return make_state(mech, self.t, q, start.u, self.states)

    def all_hinges(self) -> list[HingeTarget]:
        """Return targets of all hinges, cut or not: what is guessed, else where the search starts."""
        mech, cut = self.mech, {}
        for c in (c for c in mech.tree.chords if c.is_hinge):
            target = c.element.reference()
            given = self.cut_guess.get(c.name, np.full(len(target), np.nan))
            cut[c.name] = np.where(np.isnan(given), target, given)
        return hinge_targets(mech, {c.name: self.start.q[c.q_slice] for c in mech._lagrange.hinges}, cut)

    @contextmanager
    def searching(self, open: Collection[str]) -> Iterator[None]:
        """Leave out loads, and the unilateral constraints named, within the context."""
        self.mech._core.reset_chords(self.near)
        with self.mech._core.unloaded(), without(self.mech, open), hinting(self.mech):
            yield

    def positions(self) -> Floats:
        """Return the closed position nearest to the wishes."""
        mech = self.mech
        if not (mech._info.chords or self.fixed or any(isinstance(x, EndTarget) for x in self.wished)):
            return self.start.q  # a tree is consistent in every position
        named = [
            (x.name if isinstance(x, HingeTarget) else x.label) for x in self.fixed for _ in range(x.count)
        ]
        rows = [*mech._core.layout.chords.rows, *((name, 0) for name in named)]
        wishes = self.deviation(self.wished, self.roots)
        return close_positions(
            mech._lagrange,
            self.constraints,
            rows,
            self.start.q,
            self.free,
            self.scale,
            wishes,
            named,
            self.fit,
        )

    def deviation(self, wished: Sequence[Target], roots: Sequence[Floats]) -> Deviation | None:
        """Return the distances from what is wished for, times the roots of the weights, as a function of q."""
        if not wished:
            return None
        measured, weight, nu = measure(self.mech, self.t, wished), np.concatenate(roots), self.mech.nu

        def wishes(q: Floats) -> tuple[Floats, Floats]:
            gaps, partials = stacked(measured(q), nu)
            return weight * gaps, weight[:, None] * partials

        return wishes

    def constraints(self, q: Floats, u: Floats) -> Constraints:
        """Return the constraints on positions, with what is fixed at cut hinges and ends."""
        now = holonomic(self.mech, self.t)(q, u)
        if not self.fixed:
            return now
        gaps, partials = stacked(measure(self.mech, self.t, self.fixed)(q), self.mech.nu)
        return now._replace(
            residual=np.concatenate((now.residual, gaps)), partials=np.vstack((now.partials, partials))
        )

    def tell_what_is_left(self, q: Floats) -> None:
        """Warn of guesses far from the position found."""
        if self.weighted or not self.guesses:
            return
        arm = float(np.max(np.abs(self.mech._core.layout.plan.constants[:, 9:12]), initial=0.0)) or 1.0
        for x, (gap, _) in zip(self.guesses, measure(self.mech, self.t, self.guesses)(q), strict=True):
            left = float(np.max(np.abs(gap), initial=0.0))
            limit = np.full(len(gap), _LEFT)
            if isinstance(x, EndTarget):
                limit[:] = _LEFT_BY_ENDS
                limit[: x.lengths] *= arm
            far = np.abs(gap) > limit
            if np.any(far):
                warnings.warn(
                    f"assemble: the guess of {x.label} was left by {left:.3g} (m, rad): no closed position nearer to all guesses "
                    "was found. Fix it, give it a weight, or choose among mech.assemblies(...).",
                    stacklevel=4,
                )

    def fit(self, q: Floats) -> Floats:
        """Keep and return the numbers of the chords in closed positions q that the search has just come to.

        Auxiliary unknowns that count turns (gears in mesh) are known from the way there alone.
        """
        self.constraints(q, np.zeros(self.mech.nu))
        self.fitted = self.mech._core.chord_work.q.copy()
        return self.fitted

    def state(self, q: Floats, u: Floats, open: Collection[str], fitted: Floats) -> State:
        """Return the state of closed positions and rates, with whole turns of cut hinges as they are asked for."""
        self.mech._core.chord_work.q[:] = fitted
        found = state_at(self.mech, self.t, q, u, self.start.z, self.near)
        refuse_passed(self.mech, found, open)
        return equilibrium_states(self.mech._core, found, self.states)


def _by_name(**given: Any) -> None:
    for what, value in given.items():
        if value is not None and not isinstance(value, Mapping):
            raise ElementError(f"assemble: {what} is {value!r}; wanted what is given by name, {{'A': ...}}.")


def _pose_of_body(target: EndTarget) -> tuple[Floats, Floats]:
    """Return the pose of the body whose end is at its target."""
    assert target.rotation is not None
    rotation = target.rotation @ target.end.rotation.T
    return target.position - rotation @ target.end.offset, rotation


def _only(mech: "Mechanism", q: Floats, given: Mapping[str, Any]) -> dict[str, Floats]:
    """Return coordinates of the hinges given by name, nan where nothing is given."""
    wanted = {}
    for c in mech._lagrange.hinges:
        asked = np.zeros(c.hinge.n_coordinates, dtype=bool)
        for one in (as_place(n, connection_names(mech)) for n in given):
            if one.owner == c.name:
                asked[one.selection] = True
        k = c.hinge.euler_parameters
        if k is not None:  # they are given together
            asked[k : k + 4] = np.any(asked[k : k + 4])
        if np.any(asked):
            wanted[c.name] = np.where(asked, q[c.q_slice], np.nan)
    return wanted
