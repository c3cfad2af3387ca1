"""Starts that depend on parameters, and how: by the implicit function theorem on their assembly.

A start function calls `mech.assemble(...)`; what it fixes there is known, so that the change of the closed
position follows from the constraints alone, exactly, also next to a dead point::

    P s_q + df/dp = 0,   fixed coordinates: s_q = d(given number)/dp           (positions)
    P s_u + d(P u + P0)/dp = 0,   given rates likewise; free rates are the least ones that the rows allow

Given numbers are explicit functions of the parameters, mostly constant: their differences are harmless. A
start that does something else (an equilibrium, a search for the nearest position, poses, weights) is differenced
as a whole, with an estimate of the error.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.dynamics.analyses.displacement import difference, displaced
from treemech.dynamics.analyses.parameter_derivatives import CENTRAL, Direction, sum_of, weights
from treemech.kinematics.rank import rank
from treemech.topology import ConvergenceError, TreemechError
from treemech.topology.arrays import Floats

from ..analyses.constraints import nonholonomic
from ..analyses.cut_hinges import cut_numbers, cut_partials, split
from ..analyses.recorded_starts import recording
from ..analyses.states import left_free, unpack
from ..description.parameters import Neighbours
from ..results.state import State, fill

if TYPE_CHECKING:
    from ..mechanism import Mechanism

Start = State | Callable[["Mechanism"], State] | None
_JUMP = 0.5  # a start that moves more with a step of a parameter is on another branch
_UNDERSTOOD = {"t", "fix", "guess", "rates", "states", "open"}  # arguments of assemble with known derivatives
_SECOND_STEPS = weights((-2, -1, 1, 2))
_TOLERABLE = 1e-5  # error of a differenced start, relative to its largest derivative


class StartDerivative(NamedTuple):
    """State at the start of a run, its change with every parameter, and the estimated error of this."""

    state: State
    s: Floats  # (2 nu + nx, np): displacements, speeds, states of elements
    error: Floats  # (np,) relative to the largest entry


class _Call(NamedTuple):
    """A call of `assemble`: its number among the calls of a start function, and its arguments."""

    number: int
    given: Mapping[str, Any]


def start_derivative(
    mech: "Mechanism",
    start: Start,
    t: float,
    beside: Sequence[Neighbours],
    along: Sequence[Direction],
    names: Sequence[str],
) -> StartDerivative:
    """Return the start of a run, and how it changes with the parameters."""
    s = np.zeros((2 * mech.nu + mech._core.nx, len(names)))
    if isinstance(start, State):
        if mech._core.loops is not None:
            raise TreemechError(
                "sensitivities: with closed chains a start cannot stay as it is when a parameter changes. Give it as a "
                "function, start=lambda mech: mech.assemble(fix={...})."
            )
        return StartDerivative(start, s, np.zeros(len(names)))
    if start is not None and not callable(start):
        raise TreemechError(
            f"sensitivities: start is {start!r}; wanted a State or a function, start=lambda mech: mech.state(...)."
        )
    make = (lambda mech: mech.assemble(t)) if start is None else start
    with recording() as made:
        state = make(mech)
    if not isinstance(state, State):
        raise TreemechError(
            f"sensitivities: start gives {state!r}; wanted a State, lambda mech: mech.state(...)."
        )
    last = next((k for k, found in enumerate(made.found) if found is state), None)
    call = None if last is None else _Call(last, made.given[last])
    error = np.zeros(len(names))
    exact = None if call is None or mech._core.loops is None else _Exact.of(mech, state, call)
    for j, name in enumerate(names):
        found = None if exact is None else exact.derivative(make, beside[j], along[j])
        if found is None:
            found, error[j] = _differenced(mech, make, state, beside[j], name)
        s[:, j] = found
    return StartDerivative(state, s, error)


class _Exact:
    """Closed state with everything fixed that the constraints leave open."""

    def __init__(self, mech: "Mechanism", state: State, call: _Call) -> None:
        self.mech, self.state, self.call, self.core = mech, state, call, mech._core
        self.t, self.q, self.u = unpack(mech, state, "sensitivities")
        self.driven = ~left_free(mech, {})
        self.fix, self.cut_fix = self._given("fix")
        self.rates, self.cut_rates = self._given("rates")
        self.held, self.held_rates = ~left_free(mech, self.fix), ~left_free(mech, self.rates)
        self.V = cut_partials(self.core, self.t, self.q)
        self._stand()
        self.P = self.core.constraints(self.t, self.q, self.u).partials
        self.cut_q, self.cut_u = (
            self._numbers(x, w) for x, w in ((self.cut_fix, "q"), (self.cut_rates, "u"))
        )

    @classmethod
    def of(cls, mech: "Mechanism", state: State, call: _Call) -> "_Exact | None":
        """Return the start if its position is decided by what is fixed; None if a search decided it."""
        asked = {name for name, value in call.given.items() if value}
        keys = [k for part in ("fix", "rates") for k in call.given.get(part) or {}]
        if asked - _UNDERSTOOD or not all(isinstance(k, str) for k in keys):
            return None
        made = cls(mech, state, call)
        if any(c.nq != c.nu and c.name in {*made.cut_fix, *made.cut_rates} for c in mech._info.chords):
            return None
        free = ~made.held
        rows = np.vstack((made.P[~nonholonomic(mech)], made.V[np.isfinite(made.cut_q)]))
        largest = float(np.linalg.norm(rows, 2)) if rows.size else 1.0
        decided = rank(rows[:, free], min(largest, 1.0)) == int(np.sum(free))
        return made if decided else None

    def _given(self, part: str) -> tuple[dict[str, Any], dict[str, Any]]:
        return split(self.mech, self.call.given.get(part))

    def _numbers(self, given: Mapping[str, Any], what: str) -> Floats:
        """Return the numbers given for cut hinges, nan for all others."""
        numbers = cut_numbers(self.mech, given, what)
        each = (numbers.get(c.name, np.full(c.nu, np.nan)) for c in self.mech._info.chords)
        return np.concatenate([np.zeros(0), *each])

    def _stand(self) -> None:
        """Give the core the element states and cut hinges of the start."""
        unpack(self.mech, self.state, "sensitivities")

    def derivative(
        self, make: Callable[["Mechanism"], State], beside: Neighbours, along: Direction
    ) -> Floats | None:
        """Return the change (2 nu + nx,) of the start with one parameter; None if it is not known exactly."""
        given = self._given_numbers(make, beside)
        if given is None or (self.core.nx and self._settles()):
            return None
        n, mech, t, q, u = self.mech.nu, self.mech, self.t, self.q, self.u
        zero, m, s = np.zeros(n), len(self.P), np.zeros(2 * n + self.core.nx)
        self._stand()
        self.core.constraints(t, q, u)
        now = along.equations(t, q, u, zero, np.zeros(m))
        s[:n] = np.where(self.driven, now.prescribed[0], given.q)
        s[n : 2 * n] = np.where(self.driven, now.prescribed[1], given.u)
        cut = np.isfinite(self.cut_q)
        cut_q, _ = self._cut_changes(beside, 0.0 * zero)
        holonomic = ~nonholonomic(mech)
        rows = np.vstack((self.P[holonomic], self.V[cut]))
        gaps = np.concatenate((now.position[holonomic], (cut_q - given.cut_q)[cut])) + rows @ s[:n]
        s[:n][~self.held] = -_solve(rows[:, ~self.held], gaps)
        return self._rates(beside, along, given, s)

    def _rates(self, beside: Neighbours, along: Direction, given: "_Numbers", s: Floats) -> Floats:
        """Add the change of the rates: u is the least one with P u + P0 = 0 and given rates held."""
        n, t, q, u, zero = self.mech.nu, self.t, self.q, self.u, np.zeros(self.mech.nu)
        free, cut, m = ~self.held_rates, np.isfinite(self.cut_u), len(self.P)
        rows = np.vstack((self.P, self.V[cut]))
        F = rows[:, free]
        # u_f = F^T mu, differentiated: du_f - F^T dmu = dF^T mu, F du_f = -d(P u + P0)
        mu = _solve(F.T, u[free])
        self._stand()
        self.core.constraints(t, q, u)
        velocity = along.equations(t, q, u, zero, np.zeros(m), s).velocity
        turned = np.zeros(int(np.sum(free)))
        if rank(F, 1.0) < int(np.sum(free)):
            if np.any(cut):
                raise ConvergenceError(
                    "sensitivities: the start gives rates of cut hinges and leaves others to be found: give all of them."
                )
            still = along.equations(t, q, u, zero, np.zeros(m), s).loads
            turned = (still - along.equations(t, q, u, zero, mu[:m], s).loads)[free]
        _, cut_u = self._cut_changes(beside, s[:n])
        gaps = np.concatenate((velocity, (cut_u - given.cut_u)[cut] + self.V[cut] @ s[n : 2 * n]))
        N = np.eye(F.shape[1]) - np.linalg.pinv(F, rcond=1e-9) @ F if F.size else np.eye(F.shape[1])
        s[n : 2 * n][free] = -_solve(F, gaps) + N @ turned
        return s

    def _cut_changes(self, beside: Neighbours, s: Floats) -> tuple[Floats, Floats]:
        """Return the changes of coordinates and speeds of cut hinges at fixed u, the position moved along s.

        Where the chain is not closed they follow from the tree explicitly, so that differences are harmless.
        """
        found: list[list[Floats]] = [[], []]
        if not np.any(np.isfinite(np.concatenate((self.cut_q, self.cut_u)))):
            none = np.zeros(len(self.cut_q))
            return none, none
        nodes, near = self._nodes(beside), self.core.chord_work.q.copy()
        for k, other in zip(nodes, beside.mechanisms, strict=True):
            core = other._core
            core.chord_work.q[:], core.chord_work.pivot[:] = near, -1
            with core.unloaded():
                core.constraints(self.t, displaced(core, self.q[None], k * s[None])[0], self.u)
            for values, mine in zip(found, (core.chord_work.q, core.chord_work.u), strict=True):
                values.append(mine.copy())
        q = sum_of(beside.stencil.weights, tuple(found[0]))
        return self._plain(q), sum_of(beside.stencil.weights, tuple(found[1]))

    def _plain(self, q: Floats) -> Floats:
        """Return numbers of cut coordinates in the order of their speeds; cut hinges with attitudes have zeros."""
        chords = self.mech._info.chords
        return np.concatenate(
            [np.zeros(0), *(q[c.q : c.q + c.nq] if c.nq == c.nu else np.zeros(c.nu) for c in chords)]
        )

    def _nodes(self, beside: Neighbours) -> list[float]:
        """Return the steps of the parameter from here to its neighbours."""
        (name,) = (
            n for n, v in self.mech.parameters.items() if beside.mechanisms[0].parameters[n] != v
            or beside.mechanisms[-1].parameters[n] != v
        )  # fmt: skip
        return [m.parameters[name] - self.mech.parameters[name] for m in beside.mechanisms]

    def _settles(self) -> bool:
        """Tell whether element states of the start were found by the assembly."""
        start = self.core.layout.efforts.start[: self.core.nx]
        return not self.call.given.get("states") and not np.array_equal(self.state.x, start)

    def _given_numbers(self, make: Callable[["Mechanism"], State], beside: Neighbours) -> "_Numbers | None":
        """Return the changes of the numbers that the start function gives; None if it calls something else."""
        each: list[tuple[Floats, ...]] = []
        for other in beside.mechanisms:
            with recording(self.call.number) as made:
                try:
                    make(other)
                except TreemechError:
                    return None
            if len(made.given) != self.call.number + 1:
                return None
            given = made.given[-1]
            (fix, cut_fix), (rates, cut_rates) = (
                split(self.mech, given.get(part)) for part in ("fix", "rates")
            )
            if (set(fix), set(cut_fix), set(rates), set(cut_rates)) != tuple(
                map(set, (self.fix, self.cut_fix, self.rates, self.cut_rates))
            ):
                return None
            q = difference(self.core, self.q, fill(self.mech._lagrange, self.q, fix, "q"))
            u = fill(self.mech._lagrange, np.zeros(self.mech.nu), rates, "u")
            numbers = (self._numbers(cut_fix, "q"), self._numbers(cut_rates, "u"))
            each.append((q * self.held, u * self.held_rates, *(np.nan_to_num(x) for x in numbers)))
        return _Numbers(*(sum_of(beside.stencil.weights, part) for part in zip(*each, strict=True)))


class _Numbers(NamedTuple):
    """Changes of what a start function gives: coordinates and rates of branches, and of cut hinges."""

    q: Floats
    u: Floats
    cut_q: Floats
    cut_u: Floats


def _solve(rows: Floats, gaps: Floats) -> Floats:
    """Return the least solution; redundant rows agree."""
    if not rows.size:
        return np.zeros(rows.shape[1])
    return np.asarray(np.linalg.lstsq(rows, gaps, rcond=1e-9)[0])


def _differenced(
    mech: "Mechanism", make: Callable[["Mechanism"], State], state: State, beside: Neighbours, name: str
) -> tuple[Floats, float]:
    """Return differences of a start function, and their error relative to the largest of them."""
    n = mech.nu
    states = [make(m) for m in beside.mechanisms]
    steps = [
        np.concatenate((difference(mech._core, state.q, x.q), x.u - state.u, x.x - state.x)) for x in states
    ]
    if max(float(np.max(np.abs(step[:n]), initial=0.0)) for step in steps) > _JUMP:
        raise TreemechError(
            f"sensitivities: the start jumps when {name!r} changes a little: fix what it depends on, or give a guess."
        )
    found = sum_of(beside.stencil.weights, tuple(steps))
    error, size = 0.0, float(np.max(np.abs(found), initial=0.0))
    if len(steps) == len(CENTRAL) and size > 0.0:
        step = weights(CENTRAL)[-1] / beside.stencil.weights[-1]
        rough = sum_of(_SECOND_STEPS / step, tuple(steps[1:-1]))
        error = float(np.max(np.abs(rough - found))) / size
    if error > _TOLERABLE:
        raise TreemechError(
            f"sensitivities: the start bends too much with {name!r} to be differenced (two differences are {error:.1e} apart): give "
            "start=lambda mech: mech.assemble(fix={...}), which fixes all freedoms, so that its change follows exactly."
        )
    return found, error
