"""Mechanism: a built system, and the analyses on it. An analysis is loaded by the first call that needs it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treemech.dynamics.calls.calls import NO_CALLS, Calls, Kinds, NoCalls
from treemech.dynamics.model.core import Constraints, Core
from treemech.dynamics.model.workspaces import Workspaces
from treemech.kinematics.layout.lagrange import Lagrange
from treemech.kinematics.layout.layout import Layout, Prescription
from treemech.topology import (
    Tree,
    chord_location_matrix,
    connection_graph,
    draw,
    location_matrix,
    tree_matrix,
)
from treemech.topology.arrays import Floats
from treemech.topology.user_code import user_code

from .analyses.element_states import placed_points, points_to_place
from .analyses.equations_of_motion import ForwardDynamics, forward_dynamics, load_column, mass_matrix
from .analyses.recorded_starts import recorded
from .analyses.states import make_state
from .description.inertia_check import check_inertia
from .description.parameters import Origin, Refilling, origin_of, with_parameters
from .description.wiring import Wiring
from .results.computed import Energy, Momentum, Pose, Velocity
from .results.model_info import ModelInfo, model_info
from .results.naming import named_coordinates
from .results.run import Run
from .results.state import State
from .results.text import Text

if TYPE_CHECKING:
    from pathlib import Path

    from treemech.dynamics.analyses.derivatives import Derivatives
    from treemech.dynamics.analyses.equilibrium import Equilibrium
    from treemech.dynamics.analyses.linearization import Linearization
    from treemech.dynamics.model.loop_plan import Pattern
    from treemech.kinematics.mobility import Mobility

    from .analyses.body_motion import Attitude
    from .analyses.ends import End
    from .analyses.evaluation import Reaction
    from .bridges.jax_functions import JaxFunctions
    from .bridges.torch_functions import TorchFunctions
    from .design.sensitivities import Sensitivities
    from .design.starts import Start
    from .many.batch import Batch
    from .many.runs import ManyRuns
    from .simulation.stepper import Stepper
    from .system import System
    from .view.live.live import LiveView


def _rebuilt(content: bytes) -> Mechanism:
    import pickle

    origin: Origin = pickle.loads(content)
    return origin.build({})


class Mechanism:
    """A built system: the tree, its coordinates, and every analysis.

    Several threads may use one mechanism at the same time: each computes with arrays of its own, and gets
    what it would get alone, to the bit.
    """

    def __init__(
        self,
        name: str,
        tree: Tree,
        coordinates: Lagrange,
        layout: Layout,
        prescriptions: tuple[Prescription, ...] = (),
        wiring: Wiring | None = None,
        pattern: Pattern | None = None,
    ) -> None:
        self._wiring, self._layout = wiring or Wiring(), layout
        self.name, self.tree, self._lagrange, self._prescriptions = name, tree, coordinates, prescriptions
        self._known: list[Any] = [coordinates]  # what states of this mechanism may refer to
        me = ref(self)
        calls = partial(
            Calls,
            kinds=_kinds,
            known=self._known,
            states=partial(_state_table, me),
            place=partial(_place, me),
        )
        self._workspaces = Workspaces(partial(Core, tree, coordinates, layout, pattern), calls)
        self.nq, self.nu = coordinates.nq, coordinates.nu
        self._points_to_place = points_to_place(layout.efforts)
        self._origin: Origin | None = None
        self._system: ref[System] | None = None  # and the number of its calls when this was built
        self._calls = 0
        # calls of the thread that used them last, which return None in every other thread
        self._home: Calls | NoCalls = NO_CALLS
        self._refilling = Refilling(self)
        check_inertia(self)

    def __repr__(self) -> str:
        return (
            f"Mechanism({self.name!r}: {len(self.tree.branches)} bodies, {len(self.tree.chords)} chords, "
            f"nq = {self.nq}, nu = {self.nu})"
        )

    def __copy__(self) -> Mechanism:
        """Build a copy anew: the core holds addresses of its own arrays."""
        if self._origin is None:
            raise TypeError(f"{self!r} was not made by System.build() and cannot be copied.")
        return self._origin.build({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Mechanism:
        return self.__copy__()

    def __reduce__(self) -> Any:
        """Send the description to another process, which builds the mechanism anew."""
        if self._origin is None:
            raise TypeError(f"{self!r} was not made by System.build() and cannot be copied.")
        from .description.sending import packed

        return _rebuilt, (packed(self._origin),)

    @cached_property
    def _info(self) -> ModelInfo:
        found = model_info(
            self.name, self.tree, self._lagrange, self._layout, self._prescriptions, self._wiring.seen()
        )
        self._known.append(found)
        return found

    @property
    def _core(self) -> Core:
        """The arrays of the model that belong to this thread."""
        return self._workspaces.own.core

    @property
    def _fast(self) -> Calls:
        """Calls of the core of this thread with little overhead: they return None where they cannot take a state."""
        calls: Calls = self._workspaces.by_depth[user_code.depth].calls
        return calls

    def _settle(self) -> Calls:
        """Return the calls of this thread. They are taken first from now on, unless a function of the user is running."""
        calls = self._fast
        if not user_code.depth:
            self._home = calls
        return calls

    def _general(
        self,
        name: Any,
        one: Callable[..., Any],
        state: State | tuple[Any, ...],
        inputs: Sequence[Any] = (),
        out: Floats | None = None,
        threads: int | None = None,
        many: Callable[..., Any] | None = None,
    ) -> Any:
        """Return an analysis in the general way: of a state, or of each of many (by `many`, if it can)."""
        if self._fast is not self._home:
            found = self._settle().one(name)(state, *inputs, *(() if out is None else (out,)))
            if found is not None:
                return found
        from .calls.rows import answer

        return answer(self, name, one, state, inputs, out, threads, many)

    @cached_property
    def _named(self) -> dict[str, str]:
        """Names of coordinates, "pose.roll", and what they stand for, "pose[4]"."""
        hinges = [(c.name, c.hinge) for c in self._lagrange.hinges]
        hinges += [(c.name, c.element) for c in self.tree.chords if c.is_hinge]
        return {alias: place for hinge in hinges for alias, place in named_coordinates(*hinge).items()}

    def _numbered(self, given: Any) -> Any:
        """Return what is given by name, or names, with the numbers of coordinates in place of their names."""
        if not self._named:
            return given
        if isinstance(given, str):
            return self._named.get(given, given)
        if isinstance(given, (list, tuple)):
            return type(given)(self._named.get(x, x) if isinstance(x, str) else x for x in given)
        if not isinstance(given, Mapping):
            return given
        return {self._named.get(key, key) if isinstance(key, str) else key: x for key, x in given.items()}

    def _by_given_names(self, found: Mapping[str, float], *given: Any) -> dict[str, float]:
        """Return numbers by the names of coordinates that were given for them."""
        names = {self._named[x]: x for each in given for x in each or () if x in self._named}
        return {names.get(key, key): number for key, number in found.items()}

    def _warn_of_changes(self) -> None:
        """Warn once if the system was changed after this mechanism was built."""
        if self._system is None:
            return
        system = None if self._system is None else self._system()
        later = [] if system is None else [c for c in system.calls[self._calls :] if c.method != "measure"]
        if later:
            self._system = None
            what = f"{later[0].method}({', '.join(repr(a) for a in later[0].args[:1])}, ...)"
            warnings.warn(
                f"system {self.name!r} was changed after this mechanism was built, by {what}, which the mechanism does not "
                "have: build it again, system.build().",
                stacklevel=3,
            )

    # ------------------------------------------------------------ topology
    @property
    def coordinates(self) -> list[str]:
        """Names of the coordinates q in the public order."""
        return self._lagrange.q_names

    @property
    def info(self) -> ModelInfo:
        """Names and constants of the model: bodies, hinges, chords, prescribed coordinates."""
        return self._info

    @property
    def speeds(self) -> list[str]:
        """Names of the speeds u in the public order."""
        return self._lagrange.u_names

    def location_matrix(self, chords: bool = False) -> NDArray[np.int64]:
        """Return L, or L^C of the chords (4.3.1)."""
        return chord_location_matrix(self.tree) if chords else location_matrix(self.tree)

    def tree_matrix(self) -> NDArray[np.int64]:
        """Return T (4.3.6)."""
        return tree_matrix(self.tree)

    @property
    def graph(self) -> Any:
        """The networkx MultiGraph of bodies and kinematic connections."""
        bodies = sorted(self.tree.bodies, key=lambda body: body.number)
        connections = [c.connection for c in self._lagrange.hinges] + list(self.tree.chords)
        return connection_graph(bodies, connections)

    def draw(self, path: str | None = None) -> str:
        """Return the tree as text: branches, chords, and the springs, motors and loads on them.

        With a path also draw a picture, as in figures 4.4 to 4.6 (needs matplotlib).

        Examples
        --------
        >>> import treemech as tm
        >>> mech, start = tm.examples.four_bar().mechanism, tm.examples.four_bar().state
        >>> print(mech.draw())
        ground
        ├── crank  [A: Revolute]
        │   └── coupler  [B: Revolute]
        └── rocker  [D: Revolute]
        chords
            coupler ┄┄ [C: Revolute] ┄┄ rocker
        springs, motors, loads
            spring: Spring, crank ╌╌ ground
        """
        from .description.listing import element_lines

        if path is not None:
            from .plots.tree import draw_tree

            draw_tree(self, path)
        return Text("\n".join((draw(self.tree), *element_lines(self._wiring))))

    def _repr_html_(self) -> str:
        """Return the tree and its coordinates, for notebooks."""
        from .notebook.html import mechanism_html

        return mechanism_html(self)

    def show(self, state: State | None = None, path: str | Path | None = None, **options: Any) -> Path:
        """Show a state (default: the reference position) in the browser; return the path of the page.

        With a path the page (.html) or picture (.png) is written there, and nothing is opened. Options as in
        `Run.animate`.
        """
        from .view.animate import show_state

        return show_state(self, state, path, **options)

    def live(
        self,
        state: State | None = None,
        *,
        run: Run | None = None,
        host: str = "127.0.0.1",
        port: int = 8080,
        **options: Any,
    ) -> LiveView:
        """Open a page that moves the mechanism by hand: sliders, points to drag, runs, parameters. Needs viser (treemech[view]).

        Loops stay closed, on the branch of the state it starts at. Returns the view: `.url`, `.state` (what is shown
        now), `.move("A", 0.4)`, `.drag(end, position)`, `.change(l=2.0)`, `.play(run)`, `.wait()`, `.close()`. Options
        as in `Run.animate`.
        """
        from .view.live.live import open_live

        return open_live(self, state, run, host, port, **options)

    # ------------------------------------------------------------ parameters
    @property
    def parameters(self) -> dict[str, float]:
        """Values of the parameters by name."""
        return dict(origin_of(self).values)

    def with_parameters(self, **values: Any) -> Mechanism:
        """Return the same mechanism with other values of some parameters, as if built with them.

        Nothing is compiled. `assemble` keeps the chains of the new mechanism on the branch on which they close with the
        declared values: it follows them along the straight line of the parameters.

        Examples
        --------
        >>> import treemech as tm
        >>> l, system = tm.Parameter("l", 1.0), tm.System("pendulum")
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -l))
        >>> _ = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> mech = system.build()
        >>> mech.with_parameters(l=2.0).parameters, mech.parameters
        ({'l': 2.0}, {'l': 1.0})
        """
        return with_parameters(self, values)

    # ------------------------------------------------------------ states
    def state(self, t: float = 0.0, q: Any = None, u: Any = None, x: Any = None) -> State:
        """Make a state from numbers in the public order or by name: ``q={"A": 0.3, "B[1]": 2.0}``.

        Coordinates that are not given are at the reference position, speeds at rest; prescribed coordinates
        follow their signals; a number given for one of them must agree with its signal. Viscous points of
        composites are put where they are in equilibrium. Cut hinges follow
        from the others: numbers given for them must fit, and choose whole turns. `assemble` finds states that
        fit. Numbers with leading axes, also by name, make many states: q (..., nq) and u (..., nu), which all
        analyses of a state take (docs/calls.md).

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("pendulum", gravity=(0, 0, -9.81))
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -2))
        >>> pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> mech = system.build()
        >>> mech.state(q={"pin": 0.3}, u={"pin": -1.0})
        State(t=0, q={'pin': 0.3}, u={'pin': -1})
        """
        self._warn_of_changes()
        if x is None and not self._points_to_place:
            made: State | None = self._home.state(t, q, u)
            if made is None and self._fast is not self._home:
                made = self._settle().state(t, q, u)
            if made is not None:
                return made
        from .calls.many_states import leading_axes_of, many_states

        lead = leading_axes_of(self, t, q, u, x)
        if lead:
            return many_states(self, lead, t, q, u, x)
        q, u = self._numbered(q), self._numbered(u)
        state = make_state(self, t, q, u, x)
        if self._prescriptions or isinstance(q, Mapping):
            from .analyses.given import refuse_contradictions, warn_of_degrees

            refuse_contradictions(self, state, q, u)
            warn_of_degrees(self, q)
        return placed_points(self._core, state) if self._points_to_place else state

    @recorded
    def assemble(
        self,
        t: float = 0.0,
        fix: Mapping[Any, Any] | None = None,
        guess: Mapping[Any, Any] | None = None,
        poses: Mapping[Any, Any] | None = None,
        rates: Mapping[Any, Any] | None = None,
        states: Mapping[str, Any] | None = None,
        weights: Mapping[Any, Any] | None = None,
        rate_weights: Mapping[str, Any] | None = None,
        open: Collection[str] = (),
        momentum: Any = None,
    ) -> State:
        """Find a consistent state: positions (KSP/0), then velocities (KSP/1).

        A start is described by coordinates of hinges, cut or not, ``{"A": 0.3, "B[1]": 2.0}``, and by places of
        bodies: the position of a point, ``{rod.at((1, 0, 0)): (0.2, None, 0)}`` with None for free components, or
        a pose, ``{plate: (position, rotation)}``. What is in `fix` holds. What is in `guess`, and the `poses` of
        bodies (by name too), are estimates: the closed position nearest to all of them is found. It minimises
        the sum of the squares of the distances: differences of coordinates, of positions [m], and 2 sin(angle /
        2) between attitudes. So estimates that fit together are kept exactly, and those of other branches are
        left alone; an estimate that is left by more than 1 rad, or a quarter of a link, is named in a warning. Without estimates
        the search starts at the poses that bodies were described with, and at the reference position of other
        hinges.

        ``weights={"A": 10.0, "B[1]": 0.1, rod.at((1, 0, 0)): 5.0}`` multiply the squares; with them the
        coordinates of all hinges count, cut or not, also those that are not guessed. The default weight is 1; 0
        leaves a coordinate free.

        `rates` hold, also of cut hinges and of ends: the velocity of a point, or (velocity, angular velocity).
        Rates of hinges named in `rate_weights` are aimed at, not held. ``momentum=0`` chooses rates without
        momentum and angular momentum, for bodies that float freely; ``momentum=(linear, angular)`` gives them,
        about the world origin, None for what is free. Other rates are the least ones. `states` gives states of
        elements by name; other states that an element calls ``settled`` start in equilibrium.

        Unilateral constraints touch, except those named in `open`; these must not be passed through.

        A mechanism with other values of its parameters (`with_parameters`) is closed on the branch of the declared values, unless
        estimates are given. Where that branch ends on the way, this is an error that says at which values.

        Examples
        --------
        >>> import treemech as tm
        >>> mech, start = tm.examples.four_bar().mechanism, tm.examples.four_bar().state
        >>> mech.assemble(fix={"A": -0.6}, guess={"B": -0.1, "D": -1.7}, rates={"A": 1.0})["D"][0].round(6).tolist()
        [-1.715541]
        >>> mech.assemble(fix={"A": -0.6}, guess={"B": 1.7, "D": 2.1})["D"][0].round(6).tolist()  # the other way
        [2.131647]
        """
        from .analyses.given import warn_of_degrees
        from .assembly.branch import assemble

        self._warn_of_changes()
        fix, guess, rates = self._numbered(fix), self._numbered(guess), self._numbered(rates)
        weights, rate_weights = self._numbered(weights), self._numbered(rate_weights)
        warn_of_degrees(self, fix)
        warn_of_degrees(self, guess)
        return assemble(
            self,
            open,
            t=t,
            fix=fix,
            guess=guess,
            poses=poses,
            rates=rates,
            states=states,
            weights=weights,
            rate_weights=rate_weights,
            momentum=momentum,
        )

    def assemblies(
        self,
        t: float = 0.0,
        fix: Mapping[Any, Any] | None = None,
        guess: Mapping[Any, Any] | None = None,
        poses: Mapping[Any, Any] | None = None,
        rates: Mapping[Any, Any] | None = None,
        states: Mapping[str, Any] | None = None,
        weights: Mapping[Any, Any] | None = None,
        rate_weights: Mapping[str, Any] | None = None,
        open: Collection[str] = (),
        momentum: Any = None,
        attempts: int = 64,
    ) -> list[State]:
        """Return the distinct closed positions that are found, the nearest to the estimates first.

        Arguments as in `assemble`. The search starts from `attempts` positions, always the same ones; more may
        find more. Positions are distinct if a body stands elsewhere; whole turns do not count. If freedoms are
        left, each position is the one nearest to the start on its branch.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("slider-crank")
        >>> crank, rod, slider = (system.body(n, 1.0, (0.1, 0.1, 0.1)) for n in ("crank", "rod", "slider"))
        >>> _ = system.connect("A", tm.Revolute("z"), system.ground, crank)
        >>> _ = system.connect("B", tm.Revolute("z"), crank.at((1, 0, 0)), rod)
        >>> _ = system.connect("C", tm.Revolute("z"), rod.at((2, 0, 0)), slider)
        >>> _ = system.connect("D", tm.Prismatic("x"), system.ground, slider)
        >>> [round(float(state["D"][0][0]), 6) for state in system.build().assemblies(fix={"A": 0.5})]
        [2.81927, -1.064105]
        """
        from .analyses.given import warn_of_degrees
        from .assembly.assemblies import assemblies

        self._warn_of_changes()
        fix, guess, rates = self._numbered(fix), self._numbered(guess), self._numbered(rates)
        weights, rate_weights = self._numbered(weights), self._numbered(rate_weights)
        warn_of_degrees(self, fix)
        warn_of_degrees(self, guess)
        return assemblies(
            self,
            attempts,
            open,
            t=t,
            fix=fix,
            guess=guess,
            poses=poses,
            rates=rates,
            states=states,
            weights=weights,
            rate_weights=rate_weights,
            momentum=momentum,
        )

    def inverse_kinematics(
        self,
        targets: Any,
        state: State | tuple[Any, ...] | None = None,
        *,
        weights: Mapping[Any, Any] | None = None,
        limits: Any = None,
        posture: Any = None,
        solutions: int | None = None,
        attempts: int | None = None,
        tolerance: float = 1e-10,
    ) -> Any:
        """Find a position that brings ends to their targets, next to a state; in trees and closed chains.

        ``targets={end: wanted}``: an end is a body, an attachment, or the name of a frame or a body; wanted is a
        position with None for free components, a rotation, or (position, rotation) with None for what is free.
        Where no position reaches them, the nearest pose is found: the least sum of squares of the gaps [m, 2
        sin(angle / 2)] times the `weights` of the ends, one number or two, of position and rotation. The result
        has .state, .success, .message, .gaps and .reached by name, .limits, .iterations.

        Coordinates stay within `limits`, {coordinate: (lower, upper)}: None are those of the system
        (`System.limit`), False none. Freedoms that the targets leave stay where short steps from the state lead,
        or go to the nearest to `posture`, a state or coordinates by name (its weights: names of hinges in
        `weights`). Prescribed coordinates stay at their signals.

        The search starts at the state, then at others, `attempts` (48) in all, always the same ones. ``solutions=n``
        returns a list of at most n distinct positions, the nearest to the state first, of 64 attempts. Targets
        with a leading axis, or a list of targets, are a path: its points are found one after another on the
        branch of the first one.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("two links")
        >>> upper, lower = (system.body(n, 1.0, (0.1, 0.1, 0.1)) for n in ("upper", "lower"))
        >>> _ = system.connect("A", tm.Revolute("z"), system.ground, upper)
        >>> _ = system.connect("B", tm.Revolute("z"), upper.at((1, 0, 0)), lower)
        >>> mech, tool = system.build(), lower.at((1, 0, 0))
        >>> found = mech.inverse_kinematics({tool: (1, 1, None)}, mech.state(q={"A": 0.2, "B": 1.0}))
        >>> found.success, round(float(found.q[1]), 6)
        (True, 1.570796)
        >>> mech.inverse_kinematics({tool: (3, 0, 0)}).message
        "'lower.at((1, 0, 0))' is out of reach: the nearest pose leaves 1 m (from 48 starts)."
        """
        from .inverse_kinematics.call import inverse_kinematics

        self._warn_of_changes()
        return inverse_kinematics(
            self, targets, state, weights, limits, posture, solutions, attempts, tolerance
        )

    def mobility(self, state: State) -> Mobility:
        """Return degrees of freedom by rank (8.2), redundant rows, singular directions, suitable coordinates by name.

        Examples
        --------
        >>> import treemech as tm
        >>> mech, start = tm.examples.four_bar().mechanism, tm.examples.four_bar().state
        >>> print(mech.mobility(start))
        1 degree of freedom (-2 by counting, rank 2); redundant rows at C; prescribe B
        """
        from .analyses.constraints import mobility

        return mobility(self, state)

    def constraints(self, state: State | tuple[Any, ...], *, threads: int | None = None) -> Constraints:
        """Return f, P, P u + P0, P00 of all chords (5.3.17), and -Q without reaction-dependent elements."""
        found: Constraints | None = self._home.constraints(state)
        if found is not None:
            return found
        from .analyses.constraints import constraints

        general: Constraints = self._general("constraints", constraints, state, threads=threads)
        return general

    # ------------------------------------------------------------ dynamics
    def forward_dynamics(
        self,
        state: State | tuple[Any, ...],
        loads: Any = None,
        *,
        out: Floats | None = None,
        threads: int | None = None,
    ) -> ForwardDynamics:
        """Return ud and multipliers: A ud = Q + P^T lambda, P ud + P00 = 0 (6.3.6).

        `loads` act on the speeds, by name or (nu,). Trees take O(n); closed chains use sparse factors of
        their matrix. This and other analyses of a state take many states as well, with leading axes, by as
        many `threads` as are given, at most (docs/calls.md). `out` is an array for ud.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("pendulum", gravity=(0, 0, -9.81))
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -2))
        >>> pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> mech = system.build()
        >>> mech.forward_dynamics(mech.state(q={"pin": 0.5}), loads={"pin": 2.0}).ud.round(4).tolist()  # (2 - m g l sin q) / m l^2
        [-1.8516]
        """
        found: ForwardDynamics | None = self._home.forward_dynamics(state, loads, out)
        if found is not None:
            return found
        general: ForwardDynamics = self._general(
            "forward_dynamics", forward_dynamics, state, (self._numbered(loads),), out, threads
        )
        return general

    def inverse_dynamics(
        self,
        state: State | tuple[Any, ...],
        ud: Any,
        actuated: Sequence[str] | None = None,
        weights: Any = None,
        *,
        out: Floats | None = None,
        threads: int | None = None,
    ) -> Floats:
        """Return the loads on the speeds that make the accelerations ud (nu,).

        They are A ud - Q, with closed chains A ud - Q - P^T lambda. Only `actuated` speeds carry loads, by
        name; the default is every speed in a tree, the prescribed ones with closed chains (couplings and
        constraints close chains too). A cut hinge may be
        actuated too: its load is returned as loads on the speeds of the tree, and `drive_loads` gives it by
        name. If more speeds are actuated than there are freedoms, they get the least sum of squared loads
        times `weights` (by name or (nu,), default 1): a larger weight means a smaller load. If fewer are,
        give as many accelerations by name: the passive coordinates follow (hybrid dynamics). Accelerations
        given by name are completed from the chains; prescribed ones follow their signals.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("pendulum", gravity=(0, 0, -9.81))
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -2))
        >>> pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> mech = system.build()
        >>> mech.inverse_dynamics(mech.state(q={"pin": 0.5}), [0.0]).round(4).tolist()  # m g l sin q holds it
        [9.4063]
        """
        name: Any = "inverse_dynamics"
        ud, actuated, weights = self._numbered(ud), self._numbered(actuated), self._numbered(weights)
        if actuated is None and weights is None:
            found: Floats | None = self._home.inverse_dynamics(state, ud, out)
        else:
            name = partial(_driven, self, actuated, weights)
            found = self._home.with_drives(actuated, weights, name)(state, ud, out)
        if found is not None:
            return found
        from .analyses.inverse_dynamics import inverse_dynamics

        one = partial(inverse_dynamics, actuated=actuated, weights=weights)
        if callable(name):
            name = name()
        general: Floats = self._general(name, one, state, (ud,), out, threads)
        return general

    def drive_loads(
        self,
        state: State | tuple[Any, ...],
        ud: Any,
        actuated: Sequence[str] | None = None,
        weights: Any = None,
    ) -> dict[str, float]:
        """Return the loads of `inverse_dynamics` by name: of every drive, on the coordinate of its hinge, cut or not."""
        from .analyses.inverse_dynamics import drive_loads

        by = self._numbered
        return self._by_given_names(drive_loads(self, state, by(ud), by(actuated), by(weights)), actuated)

    def mass_matrix(
        self, state: State | tuple[Any, ...], *, out: Floats | None = None, threads: int | None = None
    ) -> Floats:
        """Return A (nu, nu) of (6.2.12).

        Examples
        --------
        >>> import treemech as tm
        >>> mech, start = tm.examples.four_bar().mechanism, tm.examples.four_bar().state
        >>> mech.mass_matrix(start).round(3).tolist()
        [[21.297, 13.482, 0.0], [13.482, 9.0, 0.0], [0.0, 0.0, 5.208]]
        """
        found: Floats | None = self._home.mass_matrix(state, out)
        if found is not None:
            return found
        general: Floats = self._general("mass_matrix", mass_matrix, state, (), out, threads)
        return general

    def load_column(
        self, state: State | tuple[Any, ...], *, out: Floats | None = None, threads: int | None = None
    ) -> Floats:
        """Return Q (nu,): external, internal and inertia loads on the speeds (6.2.12)."""
        found: Floats | None = self._home.load_column(state, out)
        if found is not None:
            return found
        general: Floats = self._general("load_column", load_column, state, (), out, threads)
        return general

    def energy(self, state: State | tuple[Any, ...], *, threads: int | None = None) -> Energy:
        """Return kinetic, potential and stored energy; heights count from the world origin.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("pendulum", gravity=(0, 0, -9.81))
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -2))
        >>> pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> mech = system.build()
        >>> mech.energy(mech.state(u={"pin": 3.0}))  # m l^2 u^2 / 2, and the height from the origin of the world
        Energy(kinetic=18.0, potential=-19.62, stored=0.0)
        """
        found: Energy | None = self._home.energy(state)
        if found is not None:
            return found
        from .analyses.body_motion import energy

        general: Energy = self._general("energy", energy, state, threads=threads)
        return general

    def momentum(self, state: State | tuple[Any, ...], *, threads: int | None = None) -> Momentum:
        """Return momentum, and angular momentum about the world origin."""
        found: Momentum | None = self._home.momentum(state)
        if found is not None:
            return found
        from .analyses.body_motion import momentum

        general: Momentum = self._general("momentum", momentum, state, threads=threads)
        return general

    def reactions(
        self, state: State | tuple[Any, ...], *, threads: int | None = None
    ) -> Mapping[str, Reaction]:
        """Return the load every hinge exerts on the body of its end b, at the point of that end, world components.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("pendulum", gravity=(0, 0, -9.81))
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -2))
        >>> pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> mech = system.build()
        >>> mech.reactions(mech.state(u={"pin": 3.0}))["pin"].force.round(6).tolist()  # m g + m l u^2, on the bob
        [0.0, 0.0, 27.81]
        """
        found: Any = self._home.reactions(state)
        if found is None and self._fast is not self._home:
            found = self._settle().reactions(state)
        if found is not None:
            named: Mapping[str, Reaction] = found.named(self, state)
            return named
        from .calls.reactions import general_reactions, many_reactions

        general: Mapping[str, Reaction] = self._general(
            "", general_reactions, state, threads=threads, many=many_reactions
        )
        return general

    def attitude(self, state: State | tuple[Any, ...]) -> Attitude:
        """Return z, Z, z0, z00 of all bodies (5.2.30), (5.2.31)."""
        from .analyses.body_motion import attitude
        from .calls.bodies import many_attitudes

        found: Attitude = self._general("", attitude, state, many=many_attitudes)
        return found

    # ------------------------------------------------------------ ends: bodies, attachments, names of frames or bodies
    def pose(self, end: End, state: State | tuple[Any, ...], *, threads: int | None = None) -> Pose:
        """Return (position, rotation) of an end in world axes.

        An end is a body, an attachment, body.at(...), or the name of a frame (`System.frame`) or a body.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("pendulum")
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -1.0))
        >>> _ = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> mech = system.build()
        >>> mech.pose(bob.at((0, 0, -1.0)), mech.state(q={"pin": np.pi / 2})).position.round(9).tolist()
        [-1.0, 0.0, -0.0]
        """
        home = self._home
        try:
            one = home.poses.get(end) or home.end("pose", end)
        except TypeError:  # it cannot be looked up
            one = home.end("pose", end)
        found: Pose | None = one(state)
        if found is not None:
            return found
        from .analyses.ends import pose

        general: Pose = self._general(("pose", end), partial(pose, end=end), state, threads=threads)
        return general

    def velocity(self, end: End, state: State | tuple[Any, ...], *, threads: int | None = None) -> Velocity:
        """Return (linear, angular) velocity of an end in world axes.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("pendulum", gravity=(0, 0, -9.81))
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -2))
        >>> pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> mech = system.build()
        >>> velocity = mech.velocity(bob.at((0, 0, -2)), mech.state(u={"pin": 3.0}))
        >>> velocity.linear.tolist(), velocity.angular.tolist()
        ([-6.0, 0.0, 0.0], [0.0, 3.0, 0.0])
        """
        home = self._home
        try:
            one = home.velocities.get(end) or home.end("velocity", end)
        except TypeError:  # it cannot be looked up
            one = home.end("velocity", end)
        found: Velocity | None = one(state)
        if found is not None:
            return found
        from .analyses.ends import velocity

        general: Velocity = self._general(
            ("velocity", end), partial(velocity, end=end), state, threads=threads
        )
        return general

    def jacobian(
        self,
        end: End,
        state: State | tuple[Any, ...],
        *,
        out: Floats | None = None,
        threads: int | None = None,
    ) -> Floats:
        """Return velocity of a point and angular velocity of its body per unit speed (6, nu), world axes.

        Prescribed speeds have their columns too.
        """
        home = self._home
        try:
            one = home.jacobians.get(end) or home.end("end_jacobian", end)
        except TypeError:  # it cannot be looked up
            one = home.end("end_jacobian", end)
        found: Floats | None = one(state, out)
        if found is not None:
            return found
        from .analyses.ends import jacobian

        general: Floats = self._general(
            ("end_jacobian", end), partial(jacobian, end=end), state, (), out, threads
        )
        return general

    # ------------------------------------------------------------ steps
    def step(
        self,
        state: State | tuple[Any, ...],
        dt: float,
        inputs: Mapping[str, float] | Floats | None = None,
        method: str = "DOP853",
        rtol: float = 1e-6,
        atol: Any = None,
    ) -> State:
        """Return the state that follows dt later.

        `inputs` are held over the step: by name, of inputs declared without a signal, ``system.input("torque")``,
        or of controllers; or all of them in an array. "RK4" takes one step of fixed size, the other methods as
        many as the tolerance asks for. The answer depends on nothing but what is given. A loop is quicker with
        `stepper`.
        """
        from .simulation.stepper import step

        return step(self, state, dt, inputs, method, rtol, atol)

    def stepper(
        self,
        state: State | tuple[Any, ...],
        dt: float,
        method: str = "DOP853",
        rtol: float = 1e-6,
        atol: Any = None,
    ) -> Stepper:
        """Return a motion that goes on by dt with every ``stepper.step(inputs)``; arguments as in `step`.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("pendulum", gravity=(0, 0, -9.81))
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -1.0))
        >>> _ = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> _ = system.connect("drive", tm.Actuator(upper=20.0), "pin", inputs={"command": "torque"})
        >>> _ = system.input("torque")
        >>> mech = system.build()
        >>> motion = mech.stepper(mech.state(q={"pin": 0.5}), dt=0.01)
        >>> for _ in range(200):
        ...     _ = motion.step({"torque": -5.0 * motion.q[0] - 3.0 * motion.u[0]})
        >>> round(motion.t, 9), bool(abs(motion.q[0]) < 0.05)
        (2.0, True)
        """
        from .simulation.stepper import Stepper

        return Stepper(self, state, dt, method, rtol, atol)

    # ------------------------------------------------------------ simulation
    def kinematics(self, t_eval: ArrayLike, state: State | None = None) -> Run:
        """Find positions, velocities and accelerations of a prescribed motion over a time grid (KSP, 8.3).

        The motion starts at the closed position next to `state`, or to the reference position, and stays on
        that branch, also through singular positions. Speeds that only nonholonomic rows decide are
        integrated. The loads of the run, and `run.drive(name)`, make this motion.

        Returns
        -------
        Run
            With ``success`` False if the mechanism locks on the way: ``message`` says when and where.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("pendulum", gravity=(0, 0, -9.81))
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -2))
        >>> pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> drive = system.prescribe("pin", tm.Harmonic(amplitude=0.4, frequency=2.0))
        >>> run = system.build().kinematics([0.0, 0.5, 1.0])
        >>> run.connection("pin").q.round(4).tolist()
        [0.0, 0.3366, 0.3637]
        """
        from .simulation.kinematics import kinematics

        return kinematics(self, t_eval, state)

    def simulate(
        self,
        t_span: tuple[float, float],
        state: State | None = None,
        method: str | tuple[str, float] = "DOP853",
        rtol: float = 1e-6,
        atol: Any = None,
        t_eval: ArrayLike | None = None,
        events: Any = None,
        max_step: float = np.inf,
        first_step: float | None = None,
        dense_output: bool = False,
        progress: bool | Callable[[float], None] = False,
        stabilisation: str | tuple[str, float] = "default",
        on_singular: str = "pass",
        audit: bool = False,
        checkpoint: str | Path | None = None,
        checkpoint_every: float = 60.0,
        resume: str | Path | None = None,
        max_steps: int | None = None,
    ) -> Run:
        """Simulate the motion over t_span (DSP, 8.4). Arguments as in `scipy.integrate.solve_ivp`.

        Parameters
        ----------
        state : State
            The start; its t is replaced by t_span[0]. Default: the reference position at rest, or the closed
            position next to it.
        method : str or (str, float)
            Explicit: "DOP853" (order 8), "DP5" (order 5), "Adams" (orders 1 to 12, few evaluations), "RK4"
            (fixed step max_step). Stiff: "Radau" (order 5, implicit); generalized-alpha (order 2, implicit),
            "alpha3" with the constraints on positions, "alpha2" on positions and speeds, ("alpha3", 0.6) with
            a spectral radius at infinity other than 0.8; steps of one size, without error control, if
            first_step == max_step. "auto": DOP853 or Radau, whichever gets further. Methods of other
            libraries, slow, for comparison: "scipy:RK45", "scipy:DOP853", "scipy:Radau", "scipy:BDF",
            "scipy:LSODA", "scipy:RK23"; with scikit-sundae "CVODE" and "IDA". Our own
            methods pass singular positions, Radau, Adams and generalized-alpha with a few steps of DOP853.
        rtol : float
            Relative error of one step, in positions, speeds and states. With "alpha3" and "alpha2", of order 2,
            the error of a whole motion is about 0.1 to 3 rtol^(2/3), of loads somewhat more; with other
            methods about rtol.
        atol : float, array (nq + nu,) or dict by name
            Default rtol / 1000, at least 1e-14. By name: ``{"A": 1e-9, "A.u": 1e-6}``; "A" stands for both.
        t_eval : array
            Output times; default every step, and every event.
        events : Event, function f(t, state), str, or a list of them
            Events to detect, see `Event`; ``run.events`` has their times. Functions may have the attributes
            ``terminal`` and ``direction``, as in scipy, and ``action``.
        dense_output : bool
            Makes ``run.sol(t)`` available.
        progress : bool or callable
            A bar on stderr, or a function of the fraction done.
        stabilisation : str
            How closed chains are kept closed. "default": every step is projected onto the constraints, near
            singular positions every stage. For comparison: "projection" (of steps alone), "baumgarte" or
            ("baumgarte", gain [1/s]), "partitioning" (dependent coordinates follow the independent ones),
            "none".
        on_singular : "pass", "warn" or "stop"
            How to treat positions where the constraints lose rank. Passed positions are in ``run.singular``.
        audit : bool
            Integrate work, dissipation and supply of every element along, with error control: ``run.audit``.
        checkpoint : path
            Save what is needed to continue a long run in this file: every `checkpoint_every` seconds, and on
            Ctrl-C.
        resume : path
            Continue from such a file, bit by bit the same. Model, start and all other arguments must be those
            of the saved run.
        max_steps : int
            Give up after so many accepted steps; default no limit. A run whose steps do not get on, because a
            load jumps to and fro (chatter) or rates are rounding noise, is given up in any case, with a
            message that names the load or coordinate. Without t_eval at most 256 MB of steps are kept: of
            longer runs every second, fourth, ... step.

        Returns
        -------
        Run
            With ``success`` False and a report in ``message`` if the end was not reached. An element that
            raises becomes an `ElementError` with what was computed in its ``partial``.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("pendulum", gravity=(0, 0, -9.81))
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -2))
        >>> pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> mech = system.build()
        >>> run = mech.simulate((0, 10), mech.state(q={"pin": 0.5}), rtol=1e-9)
        >>> run.success, bool(abs(run.energy.total[-1] - run.energy.total[0]) < 1e-6)
        (True, True)
        """
        from .simulation.simulate import simulate

        self._warn_of_changes()
        return simulate(
            self,
            t_span,
            state,
            method,
            rtol,
            atol,
            t_eval,
            events,
            max_step,
            first_step,
            dense_output,
            progress,
            stabilisation,
            on_singular,
            audit,
            checkpoint,
            checkpoint_every,
            resume,
            max_steps,
        )

    # ------------------------------------------------------------ many at once
    def batch(
        self,
        size: int,
        state: State | tuple[Any, ...] | None = None,
        method: str = "RK4",
        rtol: float = 1e-6,
        atol: Any = None,
        threads: int | None = None,
    ) -> Batch:
        """Return many motions of this mechanism in arrays with a row for each, which go on together step by step.

        `state` is where all rows start, or has a leading axis with a start for each; default: the reference
        position, closed. "RK4" takes a step of fixed size, "DP5" and "DOP853" as many as the tolerance asks
        for. At most so many `threads` share the rows (small work takes fewer); the numbers do not depend on it.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("pendulum", gravity=(0, 0, -9.81))
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -1.0))
        >>> _ = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> _ = system.connect("drive", tm.Actuator(upper=20.0), "pin", inputs={"command": "torque"})
        >>> _ = system.input("torque")
        >>> batch = system.build().batch(1000)
        >>> batch["pin"].q[:] = np.linspace(-1.0, 1.0, 1000)
        >>> for _ in range(200):
        ...     batch.inputs["torque"][:] = -5.0 * batch["pin"].q - 3.0 * batch["pin"].u
        ...     _ = batch.step(0.01)
        >>> bool(np.abs(batch.q).max() < 0.1), batch.failed
        (True, {})
        """
        from .many.batch import Batch

        return Batch(self, size, state, method, rtol, atol, threads)

    def simulate_many(
        self,
        t_span: tuple[float, float],
        states: Any = None,
        parameters: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        t_eval: ArrayLike | None = None,
        measures: Any = None,
        executor: Any = None,
        workers: int | None = None,
        path: str | Path | None = None,
        progress: bool | Callable[[float], None] = False,
        block: int | None = None,
        **options: Any,
    ) -> ManyRuns:
        """Simulate many motions, each as `simulate` does, over the cores of this machine or of a cluster.

        Parameters
        ----------
        states : State with a leading axis, list of states, one state, or function of the mechanism
            Where the runs start; a function makes a start for every design, ``lambda mech:
            mech.assemble(fix={"A": 0.3})``. Default: as in `simulate`.
        parameters, inputs : dict of arrays (N,)
            Values for every run, of parameters and of inputs declared without a signal.
        t_eval : array
            Output times of all runs. Without them the end is kept.
        measures : list or dict by name
            What is kept of a run: "max A.q" (or final, min, mean, rms), "A.q" over t_eval, the name of a
            measure, or a function of the Run. Default: q and u.
        executor : "threads", "processes" or Executor
            Any `concurrent.futures.Executor`; ``client.get_executor()`` of a dask.distributed.Client runs on a
            cluster. Threads are the default. Worker processes make the mechanism from its description.
        workers : int
            How many threads or processes; default all cores.
        path : folder
            Write blocks of runs there as they are finished, each whole or not at all, instead of keeping them in
            memory: "study" is a folder of NetCDF files, "study.zarr" a Zarr store (needs zarr). The same call goes on
            where an interrupted one ended.
        progress : bool or callable
            A line on stderr with runs a second and time left, or a function of the fraction done.
        block : int
            Runs in a block: what is computed by one worker in one go, and written as one file.
        options
            rtol, atol, method, events, max_step, max_steps, ... as in `simulate`.

        Returns
        -------
        ManyRuns
            In the order of the inputs. A run that fails is a record in ``failures`` with its message, and the
            others go on. Ctrl-C keeps what there is.

        Examples
        --------
        >>> import treemech as tm
        >>> l, system = tm.Parameter("l", 1.0), tm.System("pendulum", gravity=(0, 0, -9.81))
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -l))
        >>> _ = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> mech = system.build()
        >>> runs = mech.simulate_many((0, 1), mech.state(q={"pin": 0.1}), {"l": [0.5, 1.0, 2.0]}, measures=["min pin.u"])
        >>> runs["min pin.u"].round(3).tolist()
        [-0.443, -0.313, -0.221]
        """
        from .many.simulate_many import simulate_many

        self._warn_of_changes()
        return simulate_many(
            self, t_span, states, parameters, inputs, t_eval, measures, executor, workers, path, progress, block, options
        )  # fmt: skip

    # ------------------------------------------------------------ derivatives
    def derivatives(
        self,
        state: State | tuple[Any, ...],
        loads: Any = None,
        parameters: Sequence[str] = (),
        *,
        threads: int | None = None,
    ) -> Derivatives:
        """Return ud, multipliers, x' and their derivatives by q, u, loads on the speeds, states and inputs of elements.

        Inputs have the names that `system.input` and controllers gave them; an input given directly is
        "element.input". Directions in q follow the speeds, q' = N(q) u: plain partial derivatives where u =
        q'; for Euler parameters, rotations as the relative angular velocity measures them (base of end a).
        Rows of prescribed speeds are zero. Derivatives by `parameters` are taken at fixed q, u; prescribed
        coordinates follow their signals.
        """
        from .analyses.small_motions import derivatives

        return derivatives(self, state, self._numbered(loads), parameters, threads)

    def linearize(
        self,
        state: State | tuple[Any, ...],
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        hold: Sequence[str] = (),
        loads: Any = None,
        coordinates: Sequence[str] | None = None,
    ) -> Linearization:
        """Return A, B, C, D of small motions about a state, in independent coordinates and element states.

        The result has eigenvalues and modes too.

        `inputs` names speeds that carry a load, and inputs of elements; `outputs` names speeds whose
        displacement is observed; both also of cut hinges; the default is all speeds of the tree. `hold` names
        coordinates that keep to their motion. `loads` on the speeds act constantly. `coordinates` names the
        independent coordinates, in this order (default: those that determine the others best); names that
        depend on each other in this position are refused.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("pendulum", gravity=(0, 0, -9.81))
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -2))
        >>> pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> mech = system.build()
        >>> mode = mech.linearize(mech.state()).modes[0]
        >>> round(mode.frequency, 4)  # sqrt(g / l) / 2 pi
        0.3525
        """
        from .analyses.small_motions import linearize

        given = (self._numbered(x) for x in (inputs, outputs, hold, loads, coordinates))
        return linearize(self, state, *given)

    def equilibrium(
        self,
        state: State | None = None,
        fix: Mapping[str, Any] | None = None,
        rates: Mapping[str, Any] | None = None,
        free: Sequence[str] = (),
        method: str = "Newton",
    ) -> Equilibrium:
        """Find a position in which nothing accelerates, next to `state` (default: the reference position, closed).

        `fix` holds coordinates at given values, by loads that the result names. `rates` drives coordinates at
        constant rates; they stay where the state has them (relative equilibrium), and all coordinates that do
        not follow them stand still. `free` names rates among these that are unknowns, starting from the given
        values; there are no loads then, so fixed coordinates must balance as well. States of elements are at
        rest there, x' = 0. The result says whether it is stable: True, False, or None if it is neutral.

        `method`: "Newton" finds the balance near the state, stable or not, with shortened steps, and takes
        the loads in parts where one go fails; "energy" goes downhill to a position of least energy, a stable balance if there is one; "settling" releases the
        mechanism, simulates it, and stops it at every peak of its kinetic energy until it stays at rest.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("pendulum", gravity=(0, 0, -9.81))
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -2))
        >>> pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> mech = system.build()
        >>> found = mech.equilibrium(mech.state(q={"pin": 0.5}))
        >>> abs(round(float(found.state["pin"][0][0]), 6)), found.stable
        (0.0, True)
        """
        from .analyses.equilibrium import equilibrium

        by = self._numbered
        found = equilibrium(self, state, by(fix), by(rates), by(free), method)
        return replace(found, loads=self._by_given_names(found.loads, fix, rates)) if self._named else found

    def sensitivities(
        self,
        t_span: tuple[float, float],
        start: Start = None,
        parameters: Sequence[str] | None = None,
        t_eval: ArrayLike | None = None,
        rtol: float = 1e-8,
        method: str = "DOP853",
        atol: Any = None,
    ) -> Sensitivities:
        """Simulate, and find how the motion changes with parameters (default: all).

        `start` is a state that does not depend on the parameters, or a function of the mechanism that makes
        it, ``lambda mech: mech.assemble(fix={"A": 0.3})``: with closed chains the function decides what stays
        constant when a parameter changes. If it fixes all freedoms of the position, the change of the start
        follows exactly from the constraints, otherwise it is differenced. First the motion is integrated by
        `method`, then, along it, the differentiated equations of motion (dynamics.analyses.sensitivity), each
        to rtol; `error` of the result estimates what the second step leaves. The motion must be smooth: no
        contact that switches, no singular position passed, no prescribed rate that jumps, no element with
        memory. Output is at `t_eval`; the default is the steps of the motion.
        """
        from .design.sensitivities import sensitivities

        return sensitivities(self, t_span, start, parameters, t_eval, rtol, method, atol)

    def kinematic_sensitivities(
        self, t_eval: ArrayLike, start: Start = None, parameters: Sequence[str] | None = None
    ) -> Sensitivities:
        """Run `kinematics` over given times, and find how the motion changes with parameters (default: all).

        Positions and their derivatives follow from the constraints: they are exact except for rounding.
        """
        from .design.sensitivities import kinematic_sensitivities

        return kinematic_sensitivities(self, t_eval, start, parameters)

    # ------------------------------------------------------------ bridges
    def to_jax(
        self,
        parameters: Sequence[str] | None = None,
        inputs: Sequence[str] | None = None,
        independent: Sequence[str] | None = None,
        method: str = "DOP853",
        rtol: float = 1e-10,
        atol: Any = None,
    ) -> JaxFunctions:
        """Return forward dynamics, a step and a whole motion as functions of JAX arrays, with exact gradients.

        `parameters` (default: all) and `inputs` (declared without a signal; default: all) name what their arrays
        hold. `independent` names the coordinates that a start of a closed chain keeps when a parameter
        changes; without parameters the best ones of each position are taken. Needs jax (docs/bridges.md).
        """
        from .bridges.model import Model, framework

        model = Model(self, parameters, inputs, independent, method, rtol, atol)
        made: JaxFunctions = framework("jax").JaxFunctions(model)
        return made

    def to_torch(
        self,
        parameters: Sequence[str] | None = None,
        inputs: Sequence[str] | None = None,
        independent: Sequence[str] | None = None,
        method: str = "DOP853",
        rtol: float = 1e-10,
        atol: Any = None,
    ) -> TorchFunctions:
        """Return forward dynamics, a step and a whole motion as functions of PyTorch tensors, see `to_jax`."""
        from .bridges.model import Model, framework

        model = Model(self, parameters, inputs, independent, method, rtol, atol)
        made: TorchFunctions = framework("torch").TorchFunctions(model)
        return made

    def to_fmu(
        self,
        path: str | Path,
        state: State | None = None,
        inputs: Sequence[str] | None = None,
        parameters: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        kinds: Sequence[str] = ("model exchange", "co-simulation"),
        independent: Sequence[str] | None = None,
        method: str = "DOP853",
        rtol: float = 1e-8,
    ) -> Path:
        """Write an FMU (FMI 3.0) that starts at a state (default: the closed reference position); return its path.

        It has the inputs declared without a signal, parameters, coordinates, speeds and states of elements,
        and measures as outputs; `inputs`, `parameters`, `outputs` name fewer. Steps of co-simulation are
        those of `step` with `method` and `rtol`; the states of model exchange are independent coordinates and
        speeds (`independent` names those of closed chains). It carries the model as JSON and needs treemech in
        the Python that runs it (docs/fmi.md). Needs pythonfmu3.
        """
        from .bridges.fmu_writing import write_fmu

        return write_fmu(self, path, state, inputs, parameters, outputs, kinds, independent, method, rtol)

    # ------------------------------------------------------------ export
    def to_urdf(self, path: str | Path, strict: bool = True) -> Path:
        """Write a tree as URDF; return the path.

        Coordinates keep their names and signs; the axes of a link are those of the joint that carries it. What
        URDF cannot say (closed chains, other joints, springs, loads) is refused by name; with ``strict=False``
        elements and couplings are left out.
        """
        from .exports.urdf import write_urdf

        return write_urdf(self, path, strict)

    def summary(self, style: str = "markdown", state: State | None = None) -> str:
        """Return the model on one page, in "markdown" or "latex": sizes, bodies, connections, coordinates, elements.

        Rank and degrees of freedom are those at `state` (default: the closed reference position).
        """
        from .exports.summary import summary

        return summary(self, style, state)

    # ------------------------------------------------------------ drives


def _state_table(mech: ref[Mechanism]) -> Any:
    """Return what `Mechanism.state` needs to make plain states quickly; None if all go the general way."""
    own = mech()
    if own is None or own._prescriptions:
        return None
    from .calls.plain_states import state_table

    return state_table(own)


_NONE = np.zeros(0)


def _kinds() -> Kinds:
    """Return the classes of results, once a call makes one."""
    from .calls.loads import Loads

    return Kinds(State, ForwardDynamics, Constraints, Momentum, Energy, Loads, Pose, Velocity)


def _driven(mech: Mechanism, actuated: Sequence[str] | None, weights: Any) -> Any:
    """Return what an inverse dynamics with drives is called in the tables of the extension; "" if it has none."""
    from .calls.driven import driven

    return driven(mech, actuated, weights)


def _place(mech: ref[Mechanism], name: str, end: Any) -> tuple[int, Floats]:
    """Return the body of an end, and its place there, for an analysis of it."""
    from .analyses.ends import place_of

    own = mech()
    assert own is not None
    return place_of(own, end, name.removeprefix("end_"))
