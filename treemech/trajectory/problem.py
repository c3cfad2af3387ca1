"""Trajectories that satisfy the equations of motion and minimise something: `tm.Trajectory`."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.elements import Constant
from treemech.topology import ConvergenceError, ElementError, TreemechError, unknown
from treemech.topology.arrays import Floats

from ..results.run import Run
from ..results.state import State
from .interior_point import minimise
from .points import Points, refuse_unsuitable
from .program import Condition, Cost, Transcribed
from .sampled import Sampled
from .schemes import SCHEMES, Grid, grid
from .solution import Optimum

if TYPE_CHECKING:
    from ..mechanism import Mechanism

Limits = float | tuple[float | None, float | None]


class Trajectory:
    """An optimal-control problem: inputs that bring a mechanism from a start to an end, as well as possible.

    Parameters
    ----------
    mech : Mechanism
        Its inputs are those declared without a signal, ``system.input("force")``, for instance of a `tm.Actuator`.
    duration : float, (shortest, longest), or list of these
        Fixed or free; a list has one for each phase.
    start, end : dict, or State
        Values or (low, high) by name: coordinates "A", speeds "A.u", states of elements, or any signal, "tool.position[2]". In a
        closed chain independent coordinates suffice, the others follow.
    inputs : names, or dict
        Inputs that are sought, with limits: ``{"force": (-20, 20)}``. Default: all that are open.
    bounds : dict
        Limits of coordinates, speeds or signals along the whole way, by name.
    path : list of (function, low, high)
        Limits of functions of a Run that return one number for every time.
    via : list of dicts
        Conditions between phases, as for the start: one for every phase but the last.
    periodic : names
        Coordinates and speeds that end where they start.
    objective : "effort", "time", or dict
        "effort" is the integral of the squares of all inputs, "time" the duration. A dict has weights, {"effort": 0.1, "time": 1},
        {"effort": {"force": 1.0}}, and functions of a Run: "integral", one number for every time, "terminal", its last one.
    intervals : int, or list by phase
    scheme : str
        "hermite-simpson" (order 4), "trapezoid" (2), "lobatto" (6), "radau" (5), or "shooting" (multiple shooting, RK4 with
        `substeps` steps an interval, inputs linear in between).
    guess : dict of functions of s in [0, 1], Run or None
        Where the search starts, by the name of a coordinate, speed or input; default: straight from start to end.

    Examples
    --------
    >>> import treemech as tm
    >>> system = tm.System("cart")
    >>> cart = system.body("cart", 1.0, (1, 1, 1))
    >>> _ = system.connect("slide", tm.Prismatic("x"), system.ground, cart)
    >>> _ = system.connect("motor", tm.Actuator(), "slide", inputs={"command": "force"})
    >>> _ = system.input("force")
    >>> rest = {"slide.u": 0}
    >>> best = tm.Trajectory(system.build(), 1.0, {"slide": 0, **rest}, {"slide": 1, **rest}, intervals=8).solve()
    >>> round(best.objective, 6)  # 12 m d^2 / T^3
    12.0
    """

    def __init__(
        self,
        mech: "Mechanism",
        duration: Any,
        start: Mapping[str, Limits] | State,
        end: Mapping[str, Limits] | None = None,
        *,
        inputs: Mapping[str, Limits] | Sequence[str] | None = None,
        bounds: Mapping[str, Limits] | None = None,
        path: Sequence[tuple[Callable[[Run], Any], float | None, float | None]] = (),
        via: Sequence[Mapping[str, Limits]] = (),
        periodic: Sequence[str] = (),
        objective: Any = "effort",
        intervals: int | Sequence[int] = 30,
        scheme: str = "hermite-simpson",
        substeps: int = 4,
        guess: Any = None,
    ) -> None:
        refuse_unsuitable(mech)
        self.mech = mech
        if scheme not in SCHEMES:
            raise ElementError(f"trajectory: {unknown('scheme', scheme, SCHEMES)}")
        self.durations = _durations(duration)
        self.intervals = _intervals(intervals, len(self.durations))
        if isinstance(substeps, bool) or not isinstance(substeps, (int, np.integer)) or substeps < 1:
            raise ElementError(f"trajectory: substeps is {substeps!r}; wanted a whole number, 1 or more.")
        self.scheme, self.substeps = scheme, int(substeps)
        if any(a < b for a, b in self.durations) and any(
            not isinstance(s, Constant) for s in mech._core.layout.signals
        ):
            raise ElementError(
                "trajectory: with a free duration a model that depends on time (signals) cannot be optimised: give a duration."
            )
        open_inputs = list(mech._core.layout.efforts.held)
        named = open_inputs if inputs is None else list(inputs)
        for name in named:
            if name not in open_inputs:
                raise ElementError(
                    f"trajectory: {unknown('open input', name, open_inputs)} Declare it without a signal, system.input({name!r}), and "
                    "give it to an element, a tm.Actuator for instance."
                )
        if not named:
            raise TreemechError(
                f"trajectory: {mech.name!r} has no open input: connect a tm.Actuator(..., inputs={{'command': 'force'}}) and system.input('force')."
            )
        self.inputs = named
        self._limits = (
            {n: _limits(x, f"input {n!r}") for n, x in inputs.items()} if isinstance(inputs, Mapping) else {}
        )
        self.start, self.end, self.via = start, end or {}, list(via)
        if len(self.via) != len(self.durations) - 1:
            raise ElementError(
                f"trajectory: via has {len(self.via)} entries; wanted {len(self.durations) - 1}, one between any two phases."
            )
        self.bounds, self.path, self.periodic = (
            dict(bounds or {}),
            [_limited(p) for p in path],
            list(periodic),
        )
        self.objective, self.guess = objective, guess
        self._near = self._first_state()
        self.points = Points(mech, self.inputs, self._near)
        x_names = mech._core.layout.efforts.z_names[: mech._core.nx]
        self.names = [*mech.speeds, *(f"{n}.u" for n in mech.speeds), *x_names, *self.inputs]
        self._refuse_guess()

    def with_scheme(
        self, scheme: str, intervals: int | Sequence[int] | None = None, guess: Any = None
    ) -> "Trajectory":
        """Return the same problem with another transcription, for confirmation."""
        inputs = {n: self._limits.get(n, (None, None)) for n in self.inputs}
        return Trajectory(
            self.mech, list(self.durations), self.start, self.end, inputs=inputs, bounds=self.bounds, path=self.path, via=self.via,
            periodic=self.periodic, objective=self.objective, intervals=self.intervals if intervals is None else intervals,
            scheme=scheme, substeps=self.substeps, guess=self.guess if guess is None else guess,
        )  # fmt: skip

    # ------------------------------------------------------------ description
    def place(self, name: str) -> int | None:
        """Return the place of a coordinate, speed, state or input in a point; None if it is another signal."""
        plain = name[:-2] if name.endswith(".q") else name
        plain = plain.replace(".q[", "[").replace(".u[", "[") + (".u" if ".u[" in plain else "")
        return self.names.index(plain) if plain in self.names else None

    def _refuse_guess(self) -> None:
        """Refuse guesses that would not be used."""
        if self.guess is None or isinstance(self.guess, (Run, Optimum)):
            return
        if not isinstance(self.guess, Mapping):
            raise ElementError(
                f"trajectory: guess is of type {type(self.guess).__name__}; wanted a dict of functions of s by name, a Run, or an optimum."
            )
        for name in self.guess:
            if name not in self.names:
                raise ElementError(
                    f"trajectory: guess: {unknown('coordinate, speed, state or input', name, self.names)}"
                )

    def _first_state(self) -> State:
        """Return a closed state near the start."""
        if isinstance(self.start, State):
            return self.start
        speeds, q, u = set(self.mech.speeds), dict[str, float](), dict[str, float]()
        for name, given in self.start.items():
            low, high = _limits(given, f"start of {name!r}")
            value = low if np.isfinite(low) else high
            if not np.isfinite(value):
                continue
            plain = name.removesuffix(".q")
            if plain in speeds:
                q[plain] = value
            elif name.endswith(".u") and name[:-2] in speeds:
                u[name[:-2]] = value
        if self.mech._core.loops is None:
            return self.mech.state(q=q, u=u)
        return self.mech.assemble(fix=q, rates=u)

    def _conditions(self, layout: Grid, lower: Floats, upper: Floats) -> list[Condition]:
        """Write limits of coordinates, speeds and inputs; return those of other signals as conditions."""
        found = list[Condition]()
        nz, everywhere = self.points.nz, list(range(layout.size))
        start: Mapping[str, Any] = self._of_state(self.start) if isinstance(self.start, State) else self.start
        end: Mapping[str, Any] = self._of_state(self.end) if isinstance(self.end, State) else self.end
        given: list[tuple[str, Mapping[str, Any], list[int]]] = [
            ("bounds", self.bounds, everywhere),
            ("inputs", self._limits, everywhere),
            ("start", start, [0]),
        ]
        given += [(f"via {k + 1}", v, [layout.first[k + 1]]) for k, v in enumerate(self.via)]
        given += [("end", end, [layout.size - 1])]
        for where, limits, members in given:
            for name, x in limits.items():
                low, high = _limits(x, f"{where} of {name!r}")
                place = self.place(name)
                if place is None:
                    sampled = Sampled(self.points, name, f"trajectory: {where} of {name!r}")
                    found.append(Condition(sampled, members, low, high))
                    continue
                at = np.asarray(members) * nz + place
                lower[at], upper[at] = np.maximum(lower[at], low), np.minimum(upper[at], high)
                if np.any(lower[at] > upper[at]):
                    raise ElementError(
                        f"trajectory: limits of {name!r} contradict each other: {where} wants {x!r}."
                    )
        for function, a, b in self.path:
            found.append(Condition(Sampled(self.points, function, "trajectory: path"), everywhere, a, b))
        return found

    def _of_state(self, state: State) -> dict[str, float]:
        """Return the independent numbers of a state by name."""
        y = np.concatenate((state.q, state.u, state.x if len(state.x) else np.zeros(self.points.nx)))
        places = self.points.independent(state.t, state.q, state.u)
        return {self.names[k]: float(y[k]) for k in places}

    def _cost(self) -> Cost:
        given = self.objective
        if not isinstance(given, (str, Mapping)):
            raise ElementError(
                f"trajectory: objective is of type {type(given).__name__}; wanted 'effort', 'time', or a dict: a function of a Run "
                "goes under {'integral': function} or {'terminal': function}."
            )
        terms: dict[str, Any] = {given: 1.0} if isinstance(given, str) else dict(given)
        for name in terms:
            if name not in ("effort", "time", "integral", "terminal"):
                raise ElementError(
                    f"trajectory: {unknown('term of the objective', name, ['effort', 'time', 'integral', 'terminal'])}"
                )
        effort = terms.get("effort", 0.0)
        for name in effort if isinstance(effort, Mapping) else ():
            if name not in self.inputs:
                raise ElementError(f"trajectory: effort: {unknown('input', name, self.inputs)}")
        weights = (
            [effort.get(n, 0.0) for n in self.inputs]
            if isinstance(effort, Mapping)
            else [effort] * len(self.inputs)
        )
        functions = [
            None if terms.get(n) is None else Sampled(self.points, terms[n], f"trajectory: {n}")
            for n in ("integral", "terminal")
        ]
        return Cost(np.array(weights, dtype=np.float64), float(terms.get("time", 0.0)), *functions)

    # ------------------------------------------------------------ transcription
    def transcribe(self) -> tuple[Transcribed, Floats]:
        """Return the nonlinear program and where its search starts."""
        layout = grid(SCHEMES[self.scheme], self.intervals)
        n = layout.size * self.points.nz
        lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
        conditions = self._conditions(layout, lower, upper)
        low, high = np.array(self.durations).T
        lower, upper = np.concatenate((lower, low)), np.concatenate((upper, high))
        periodic = []
        for name in self.periodic:
            place = self.place(name)
            if place is None:
                raise ElementError(
                    f"trajectory: periodic: {unknown('coordinate or speed', name, self.names)}"
                )
            periodic.append(place)
        T = np.where(np.isfinite(high), 0.5 * (low + high), np.maximum(2 * low, 1.0))
        T = np.where(low == high, low, T)
        Z = self._guessed(layout, lower, upper, T)
        t = layout.times(T)
        nq = self.points.n
        independent = [
            self.points.independent(float(t[m[0]]), Z[m[0], :nq], Z[m[0], nq : 2 * nq])
            for m in layout.members
        ]
        made = Transcribed(
            self.points, layout, self._cost(), lower, upper, conditions, periodic, independent, self.substeps
        )
        slacks = [c.sampled.values(t[c.where], Z[c.where]) for c in conditions]
        return made, np.concatenate((Z.ravel(), T, *slacks))

    def _guessed(self, layout: Grid, lower: Floats, upper: Floats, T: Floats) -> Floats:
        """Return first values of all points: straight between what is fixed, closed chains closed."""
        nz, n, N = self.points.nz, self.points.n, layout.size
        t = layout.times(T)
        s = t / t[-1]
        Z = np.zeros((N, nz))
        if isinstance(self.guess, Optimum):
            return self.guess.resampled(t, s)
        Z[:, :n] = self._near.q
        knots = layout.first
        given = dict(self.guess) if isinstance(self.guess, Mapping) else {}
        known = []
        for place, name in enumerate(self.names):
            fixed = [k for k in knots if lower[k * nz + place] == upper[k * nz + place]]
            if fixed:
                Z[:, place] = np.interp(t, t[fixed], lower[[k * nz + place for k in fixed]])
                if place < n:
                    known.append(place)
            if name in given:
                f = given[name]
                Z[:, place] = (
                    [float(f(x)) for x in s] if callable(f) else np.interp(s, np.linspace(0, 1, len(f)), f)
                )
                if place < n and place not in known:
                    known.append(place)
        if isinstance(self.guess, Run):
            run, scaled = self.guess, s * (self.guess.t[-1] - self.guess.t[0]) + self.guess.t[0]
            for k in range(n):
                Z[:, k], Z[:, n + k] = (
                    np.interp(scaled, run.t, run.q[:, k]),
                    np.interp(scaled, run.t, run.u[:, k]),
                )
        for place, name in enumerate(self.names[:n]):
            if f"{name}.u" not in given and not isinstance(self.guess, Run):
                Z[:, n + place] = np.gradient(Z[:, place], t)
        if self.mech._core.loops is not None and not isinstance(self.guess, Run):
            self._close(Z, known, t)
        return Z

    def _close(self, Z: Floats, known: list[int], t: Floats) -> None:
        """Close the chains of a guess, point by point, on one branch."""
        n, state, names = self.points.n, self._near, self.mech.speeds
        fixed = self.points.independent_with(0.0, state.q, state.u, known)
        for k in range(len(Z)):
            fix = {names[j]: float(Z[k, j]) for j in fixed}
            rates = {names[j]: float(Z[k, n + j]) for j in fixed}
            guess = {names[j]: float(state.q[j]) for j in range(n) if j not in fixed}
            try:
                state = self.mech.assemble(float(t[k]), fix=fix, guess=guess, rates=rates)
            except TreemechError as error:
                raise ConvergenceError(
                    f"trajectory: the guess does not close at t = {t[k]:.3g} s: {error} Give guess=."
                ) from error
            Z[k, :n], Z[k, n : 2 * n] = state.q, state.u

    # ------------------------------------------------------------ solution
    def solve(
        self,
        tolerance: float = 1e-8,
        iterations: int = 300,
        solver: str = "interior-point",
        progress: bool | Callable[[str], None] = False,
    ) -> Optimum:
        """Return the optimum next to the guess.

        `solver`: "interior-point" (own, exact second derivatives), "trust-constr" of scipy, or "ipopt" (needs casadi).
        """
        if not (0.0 < tolerance < 1.0):
            raise ElementError(f"trajectory: tolerance is {tolerance!r}; wanted a number between 0 and 1.")
        made, X = self.transcribe()
        tell = print if progress is True else (progress if callable(progress) else None)
        if solver == "interior-point":
            found = minimise(made.program(), X, tolerance, iterations, tell)
        elif solver in ("trust-constr", "ipopt"):
            from .other_solvers import ipopt, trust_constr

            found = (ipopt if solver == "ipopt" else trust_constr)(made.program(), X, tolerance, iterations)
        else:
            raise ElementError(
                f"trajectory: {unknown('solver', solver, ['interior-point', 'trust-constr', 'ipopt'])}"
            )
        return Optimum(self, made, found)

    def __repr__(self) -> str:
        return f"Trajectory({self.mech.name!r}: {self.scheme}, {sum(self.intervals)} intervals, inputs {', '.join(self.inputs)})"


def _limits(given: Any, what: str) -> tuple[float, float]:
    try:
        low, high = given if isinstance(given, (tuple, list)) else (given, given)
        found = (-np.inf if low is None else float(low)), (np.inf if high is None else float(high))
    except (TypeError, ValueError):
        raise ElementError(f"trajectory: {what} is {given!r}; wanted a number or (low, high).") from None
    if not found[0] <= found[1] or np.isnan(found).any():
        raise ElementError(f"trajectory: {what} is {given!r}; wanted the lower limit first.")
    return found


def _limited(given: Any) -> tuple[Callable[[Run], Any], float, float]:
    """Return (function, low, high) of a path condition."""
    if not (isinstance(given, (tuple, list)) and len(given) == 3 and callable(given[0])):
        raise ElementError(
            f"trajectory: path has {given!r}; wanted (function of a Run, low, high), None for an open side."
        )
    return given[0], *_limits(tuple(given[1:]), "path")


def _durations(given: Any) -> list[tuple[float, float]]:
    many = given if isinstance(given, list) else [given]
    found = [_limits(x, "duration") for x in many]
    if not found or any(low <= 0.0 and high <= 0.0 for low, high in found):
        raise ElementError(f"trajectory: duration is {given!r}; wanted positive times.")
    return [(max(low, 1e-6), high) for low, high in found]


def _intervals(given: Any, phases: int) -> list[int]:
    many = [given] * phases if isinstance(given, (int, np.integer)) else list(given)
    if len(many) != phases or any(not isinstance(k, (int, np.integer)) or k < 1 for k in many):
        raise ElementError(
            f"trajectory: intervals is {given!r}; wanted a whole number, or one for each of {phases} phases."
        )
    return [int(k) for k in many]
