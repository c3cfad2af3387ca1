"""Mechanism: a built system, and the analyses on it."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treemech.dynamics.analyses.reactions import (
    add_chord_loads,
    add_element_loads,
    smallest_multipliers,
    unique_loads,
)
from treemech.dynamics.model import trace as columns
from treemech.dynamics.model.core import Constraints, Core
from treemech.dynamics.model.loops import ClosedMotion
from treemech.dynamics.simulation.integrator import Released
from treemech.elements import Hinge
from treemech.kinematics.layout.lagrange import Lagrange
from treemech.kinematics.layout.layout import Layout, Prescription
from treemech.kinematics.mobility import Mobility, mobility, regular_rank
from treemech.topology import (
    Attachment,
    Body,
    ElementError,
    SingularError,
    TopologyError,
    Tree,
    TreemechError,
    chord_location_matrix,
    connection_graph,
    draw,
    location_matrix,
    tree_matrix,
    unknown,
)
from treemech.topology.arrays import Floats
from treemech.topology.body import as_pose

from .analyses.assembly import Assembly, cut_numbers, not_cut, split
from .analyses.contacts import contacts, hinting, open_contacts, refuse_passed, without
from .analyses.element_states import element_states, equilibrium_states
from .description.parameters import ByParameter, Origin, origin_of, with_parameters
from .description.wiring import Wiring
from .results.elements import stored_energy
from .results.model_info import energies, model_info
from .results.naming import Place, as_place
from .results.run import Energy, Results, Run
from .results.state import State, fill, find, reference_state
from .simulation.simulate import simulate

if TYPE_CHECKING:
    from treemech.dynamics.analyses.derivatives import Derivatives
    from treemech.dynamics.analyses.equilibrium import Equilibrium
    from treemech.dynamics.analyses.linearization import Linearization
    from treemech.dynamics.model.tree_derivatives import TreeDerivatives
    from treemech.kinematics.kinematic_simulation import Drive

    from .design.sensitivities import Sensitivities, Start


class ForwardDynamics(NamedTuple):
    """Solution of the equations of motion: accelerations, and the multipliers of the chords."""

    ud: Floats
    multipliers: Floats


class Attitude(NamedTuple):
    """Attitude coordinates of all bodies and how they follow from the speeds (5.2.30).

    z' = Z^T u + z0, z'' = Z^T ud + z00, with z' = (velocity, angular velocity) of body 1, 2, ...; world axes.
    """

    position: Floats  # (nb, 3)
    rotation: Floats  # (nb, 3, 3)
    partials: Floats  # Z (nu, 6 nb)
    drift: Floats  # z0 (6 nb,)
    bias: Floats  # z00 (6 nb,)


@dataclass(frozen=True, eq=False)
class Reaction:
    """Load a connection exerts on the body of its end b, at the point of end b, world components: force, moment.

    Where it is not `unique`, constraints are redundant: it is the least of those that are possible.
    """

    force: Floats
    moment: Floats
    unique: bool = True

    def __iter__(self) -> Iterator[Floats]:
        return iter((self.force, self.moment))


class Momentum(NamedTuple):
    """Momentum, and angular momentum about the world origin."""

    linear: Floats
    angular: Floats


def _rebuilt(origin: Origin) -> "Mechanism":
    return origin.build({})


class Mechanism:
    """What `System.build` returns: the tree, its coordinates, and every analysis."""

    def __init__(
        self,
        name: str,
        tree: Tree,
        coordinates: Lagrange,
        layout: Layout,
        prescriptions: tuple[Prescription, ...] = (),
        wiring: Wiring | None = None,
    ) -> None:
        self._wiring = wiring or Wiring()
        self.name, self.tree, self._lagrange, self._prescriptions = name, tree, coordinates, prescriptions
        self._core = Core(tree, coordinates, layout)
        self._info = model_info(name, tree, coordinates, layout, prescriptions, self._wiring.seen())
        self.nq, self.nu = coordinates.nq, coordinates.nu
        self._origin: Origin | None = None
        self._by_parameter = ByParameter.empty()
        self._tree_derivatives: TreeDerivatives | None = None
        self._check_inertia()

    def __repr__(self) -> str:
        return (
            f"Mechanism({self.name!r}: {len(self.tree.branches)} bodies, {len(self.tree.chords)} chords, "
            f"nq = {self.nq}, nu = {self.nu})"
        )

    def __reduce__(self) -> Any:
        """Copies, and what goes to another process, are built anew: the core is full of addresses of this one's arrays."""
        if self._origin is None:
            raise TypeError(f"{self!r} was not made by System.build() and cannot be copied.")
        return _rebuilt, (self._origin,)

    # ------------------------------------------------------------ topology
    @property
    def coordinates(self) -> list[str]:
        """Names of the coordinates q in the public order."""
        return self._lagrange.q_names

    @property
    def speeds(self) -> list[str]:
        """Names of the speeds u in the public order."""
        return self._lagrange.u_names

    def location_matrix(self, chords: bool = False) -> NDArray[np.int64]:
        """L, or L^C of the chords (4.3.1)."""
        return chord_location_matrix(self.tree) if chords else location_matrix(self.tree)

    def tree_matrix(self) -> NDArray[np.int64]:
        """T (4.3.6)."""
        return tree_matrix(self.tree)

    @property
    def graph(self) -> Any:
        """The networkx MultiGraph of bodies and kinematic connections."""
        bodies = sorted(self.tree.bodies, key=lambda body: body.number)
        connections = [c.connection for c in self._lagrange.hinges] + list(self.tree.chords)
        return connection_graph(bodies, connections)

    def draw(self, path: str | None = None) -> str:
        """The tree as text, branches and chords; with a path also as a picture (needs matplotlib)."""
        if path is not None:
            from .view.plot import draw_tree

            draw_tree(self.tree, path)
        return draw(self.tree)

    # ------------------------------------------------------------ parameters
    @property
    def parameters(self) -> dict[str, float]:
        """Values of the parameters by name."""
        return dict(origin_of(self).values)

    def with_parameters(self, **values: Any) -> "Mechanism":
        """The same mechanism with other values of some parameters: as if built with them, and nothing is compiled.

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
        """A state from numbers in the public order or by name: ``q={"A": 0.3, "B[1]": 2.0}``.

        What is not given is the reference position, at rest; prescribed coordinates follow their signals.
        """
        start = reference_state(self._lagrange, t)
        near: dict[str, Any] = {}
        if isinstance(q, Mapping):
            q, cut = split(self, q)
            near = cut_numbers(self, cut, "q")
        full_q = fill(self._lagrange, start.q, q, "q")
        full_u = fill(self._lagrange, start.u, u, "u")
        z = element_states(self._core.layout.efforts, x)
        time = float(t)
        if not np.isfinite(time):
            raise ElementError(f"t is {t}; wanted a finite time.")
        for p in self._prescriptions:
            c = find(self._lagrange, p.hinge)
            try:
                now = p.signal.at(time)
            except ElementError as error:
                raise ElementError(f"prescribed motion of {p.hinge!r}: {error}") from error
            full_q[c.q + p.coordinate], full_u[c.u + p.coordinate] = now.value, now.rate
        return self._state(time, full_q, full_u, z, near)

    def _state(
        self, t: float, q: Floats, u: Floats, z: Floats, near: Mapping[str, Any] | None = None
    ) -> State:
        """A state with the coordinates of cut hinges next to given ones, else where they were last."""
        x, memory = z[: self._core.nx], z[self._core.nx :]
        if not self._info.chords:
            return State(t, q, u, x, memory, coordinates=self._lagrange)
        work = self._core.chord_work
        with self._core.unloaded():  # positions only, also where states of elements are not known yet
            if near is not None:
                self._fit_chords(t, q, near)
            self._core.constraints(t, q, u)
        cut = {
            c.name: (work.q[c.q : c.q + c.nq].copy(), work.u[c.u : c.u + c.nu].copy())
            for c in self._info.chords
        }
        return State(t, q, u, x, memory, coordinates=self._lagrange, cut=cut)

    def _fit_chords(self, t: float, q: Floats, near: Mapping[str, Any]) -> None:
        """Coordinates of cut hinges that fit the pose, next to given ones; where they do not, from other starts."""
        rng, work, best, least = np.random.default_rng(0), self._core.chord_work, None, np.inf
        last = work.q.copy()
        hinges = [c for c in self.tree.chords if c.is_hinge and c.name not in near]
        for attempt in range(8 if hinges else 1):
            self._core.reset_chords(near)
            if attempt == 1:
                work.q[:] = np.where(np.isfinite(last), last, work.q)
            elif attempt > 1:
                self._core.reset_chords({**{c.name: c.element.sample(rng) for c in hinges}, **near})
            start = work.q.copy()
            gap = float(np.max(np.abs(self._core.constraints(t, q, np.zeros(self.nu)).residual), initial=0.0))
            if gap < least or best is None:
                best, least = start, gap
            if not gap > 1e-9:
                break
        work.q[:] = best
        work.pivot[:] = -1

    def assemble(
        self,
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
        """A consistent state: positions (KSP/0), then velocities (KSP/1).

        In a tree every position is consistent, so `fix` and `guess` are taken as they are; `poses` of bodies,
        given themselves or by name, become hinge coordinates where both bodies of a hinge are given (the ground always is). With
        closed chains `fix` and `rates` hold (cut hinges too), the rest is found next to `guess`. A rate may also be
        that of a point: ``{rod.at((1, 0, 0)): (0.2, None, 0)}``, None for what is free. `states` gives states of elements
        by name; of those not given, the ones an element calls ``settled`` start in equilibrium.

        ``weights={"A": 10.0, "B[1]": 0.1}`` asks for the closed position nearest to the guess, in the sum of weighted squares
        over the coordinates of all hinges, cut or not (1 where none is given, 0: free). `rate_weights` does the same for
        rates: those of hinges named there are wished for, not held.

        Unilateral constraints touch, but for those named in `open`, which are not to be passed through.
        """
        for what, given in (
            ("fix", fix),
            ("guess", guess),
            ("poses", poses),
            ("rates", rates),
            ("states", states),
        ):
            if given is not None and not isinstance(given, Mapping):
                raise ElementError(
                    f"assemble: {what} is {given!r}; wanted what is given by name, {{'A': ...}}."
                )
        search = Assembly(self, float(t), fix, rates, guess, weights, rate_weights)
        q, near = split(self, guess)
        if poses:
            q.update(self._from_poses(float(t), poses, q))
        q.update(search.fix)
        for p in self._prescriptions:
            if p.hinge in search.fix or str(Place(p.hinge, str(p.coordinate))) in search.fix:
                raise ElementError(
                    f"{p.hinge!r} is prescribed and cannot be fixed as well: change its signal."
                )
        start = self.state(t, {**q, **near, **split(self, fix)[1]}, search.rates, states)
        if self._info.chords or search.points:
            with self._core.unloaded(), without(self, open), hinting(self):
                closed = search.close(start)
            start = self._state(float(t), *closed, start.z)
            refuse_passed(self, start, open)
        return equilibrium_states(self._core, start, states or {})

    def _free(self, given: dict[str, Any], driven: bool = True) -> NDArray[np.bool_]:
        """Which speeds are neither prescribed (if `driven` counts) nor among the given names."""
        free = np.ones(self.nu, dtype=bool)
        for p in self._prescriptions if driven else ():
            free[find(self._lagrange, p.hinge).u + p.coordinate] = False
        known = {c.name for c in self._lagrange.hinges}
        for key in given:
            place = as_place(str(key), known)
            c, k = find(self._lagrange, place.owner), place.selection
            free[slice(c.u + k, c.u + k + 1) if isinstance(k, int) else c.u_slice] = False
        return free

    def mobility(self, state: State) -> Mobility:
        """Degrees of freedom by rank (8.2), redundant rows, singular directions and suitable coordinates by name."""
        t, q, u = self._unpack(state, "mobility")
        with without(self, open_contacts(self, t, q, u)):
            return self._mobility(state)

    def _mobility(self, state: State) -> Mobility:
        free, nonholonomic = self._free({}), self._nonholonomic()
        P = self.constraints(state).partials
        for k in np.flatnonzero(~np.all(np.isfinite(P), axis=1))[:1]:
            raise SingularError(
                f"{self._core.layout.chords.rows[k][0]!r} has no finite equations in this position: its ends cannot be as they are. "
                "Make the state with mech.assemble(...)."
            )
        regular = regular_rank(
            self._lagrange, self._holonomic(state.t), state.q, free, ~nonholonomic, self._scale()
        )
        on = np.ones(len(P), dtype=bool) if self._core.left_out is None else ~self._core.left_out
        rows = [row for row, holds in zip(self._core.layout.chords.rows, on, strict=True) if holds]
        return mobility(P[on], rows, self.speeds, free, nonholonomic[on], regular)

    def _nonholonomic(self) -> NDArray[np.bool_]:
        """Which rows restrict rates only."""
        return self._core.layout.chords.nonholonomic

    def _holonomic(self, t: float) -> Callable[[Floats, Floats], Constraints]:
        """q, u -> constraints at a time, without the rows that leave positions free."""
        holonomic = ~self._nonholonomic()

        def evaluate(q: Floats, u: Floats) -> Constraints:
            with self._core.unloaded():
                now = self._core.constraints(t, q, u)
            return now._replace(residual=now.residual * holonomic, partials=now.partials * holonomic[:, None])

        return evaluate

    def _scale(self) -> float:
        """Size of the mechanism, one metre at least: what residuals are compared with."""
        return 1.0 + float(np.max(np.abs(self._core.layout.plan.constants[:, 9:12]), initial=0.0))

    def constraints(self, state: State) -> Constraints:
        """f, P, P u + P0, P00 of all chords (5.3.17), and -Q without elements that depend on a reaction."""
        t, q, u = self._unpack(state, "constraints")
        if self._core.loops is None:
            return Constraints(
                np.zeros(0), np.zeros((0, self.nu)), np.zeros(0), np.zeros(0), -self.load_column(state)
            )
        return self._core.constraints(t, q, u)

    def _from_poses(self, t: float, poses: Mapping[Any, Any], guess: Mapping[str, Any]) -> dict[str, Any]:
        """Hinge coordinates that bring the bodies to given poses."""
        names = [body.name for body in self.tree.bodies]
        known: dict[str, tuple[Floats, Floats]] = {"ground": (np.zeros(3), np.eye(3))}
        for given, pose in poses.items():
            name = given.name if isinstance(given, Body) else given
            if name not in names:
                raise TopologyError(unknown("body", name, names))
            known[name] = as_pose(pose, f"pose of body {name!r}")
        start = self.state(t, dict(guess))
        found = {}
        for c in self._lagrange.hinges:
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

    def _near(self, state: State) -> None:
        """Cut hinges are sought where the state has them: whole turns count for a screw."""
        if state.cut:
            self._core.reset_chords({name: q for name, (q, _) in state.cut.items()})

    def _unpack(self, state: State | tuple[Any, ...], what: str) -> tuple[float, Floats, Floats]:
        start = self._core.layout.efforts.start
        if isinstance(state, State):
            state.check_sizes(self.nq, self.nu, self._core.nz, {c.name for c in self._info.chords}, what)
        self._core.work.z[: self._core.nz] = (
            state.z if isinstance(state, State) and len(state.x) + len(state.memory) else start
        )
        if isinstance(state, State):
            self._near(state)
            return state.t, state.q, state.u
        if isinstance(state, tuple) and len(state) in (2, 3):
            t, q, u = (0.0, *state) if len(state) == 2 else state
            if np.shape(q) != (self.nq,) or np.shape(u) != (self.nu,):  # which would be broadcast
                raise ElementError(
                    f"{what}: q, u have shapes {np.shape(q)}, {np.shape(u)}; wanted ({self.nq},), ({self.nu},)."
                )
            return t, q, u
        raise ElementError(
            f"{what}: {state!r} is not a state; wanted mech.state(...), or a tuple (q, u) or (t, q, u)."
        )

    def _rows(self, state: State | tuple[Any, ...], what: str) -> tuple[Floats, Floats, Floats]:
        t, q, u = self._unpack(state, what)
        q, u = np.array(q, dtype=np.float64), np.array(u, dtype=np.float64)
        return np.array([float(t)]), q[None], u[None]

    def _loads(self, loads: Any) -> Floats | None:
        if isinstance(loads, Mapping):
            not_cut(self, loads)
        return None if loads is None else fill(self._lagrange, np.zeros(self.nu), loads, "u")

    # ------------------------------------------------------------ dynamics
    def forward_dynamics(self, state: State | tuple[Any, ...], loads: Any = None) -> ForwardDynamics:
        """ud and multipliers: A ud = Q + P^T lambda, P ud + P00 = 0 (6.3.6); `loads` on the speeds by name or (nu,).

        In O(n) for trees; closed chains by the sparse factors of their matrix.
        """
        t, q, u = self._unpack(state, "forward_dynamics")
        if self._core.loops is not None:
            tau = self._loads(loads)
            with contacts(self, float(t), q, u, tau):
                self._core.loops.choose(float(t), np.asarray(q, dtype=np.float64))
                found = self._closed(*self._rows(state, "forward_dynamics"), tau)
            return ForwardDynamics(found.ud[0], found.multipliers[0])
        ud = self._core.forward_dynamics(t, q, u, self._loads(loads))
        if not np.isfinite(ud).all():
            self._core.refuse_weightless(float(t), np.asarray(q, dtype=np.float64))
        return ForwardDynamics(ud, _NONE)

    def inverse_dynamics(
        self,
        state: State | tuple[Any, ...],
        ud: Any,
        actuated: Sequence[str] | None = None,
        weights: Any = None,
    ) -> Floats:
        """Loads on the speeds that make the accelerations ud (nu,): A ud - Q, with closed chains A ud - Q - P^T lambda.

        In a tree every speed carries its load. With closed chains only `actuated` speeds do, by name; default: the
        prescribed ones. A cut hinge may be actuated too: what its load comes to on the speeds of the tree is returned
        then, and `drive_loads` gives it by name. More of them than freedoms share the smallest loads there are: the least
        sum of squares, times `weights` by name or (nu,), default 1; a larger weight means a smaller load. Accelerations
        given by name are completed by those that follow from the chains; prescribed ones follow their signals.
        """
        if self._core.layout.chords.rows:
            from .analyses.inverse_dynamics import drives

            return drives(self, state, ud, actuated, weights).loads
        if actuated is not None or weights is not None:
            raise ElementError(
                "inverse_dynamics: actuated= and weights= are for closed chains; in a tree every speed carries a load."
            )
        t, q, u = self._rows(state, "inverse_dynamics")
        full = fill(self._lagrange, np.zeros(self.nu), ud, "u")
        loads: Floats = self._core.inverse_dynamics(t, q, u, full[None])[0]
        return loads

    def drive_loads(
        self,
        state: State | tuple[Any, ...],
        ud: Any,
        actuated: Sequence[str] | None = None,
        weights: Any = None,
    ) -> dict[str, float]:
        """As `inverse_dynamics`, by name: the load of every drive, on the coordinate of its hinge, cut or not."""
        if self._core.layout.chords.rows:
            from .analyses.inverse_dynamics import drives

            return drives(self, state, ud, actuated, weights).by_name
        loads = self.inverse_dynamics(state, ud)
        chosen = self.speeds if actuated is None else actuated
        return {name: float(loads[self.speeds.index(name)]) for name in chosen}

    def mass_matrix(self, state: State | tuple[Any, ...]) -> Floats:
        """A (nu, nu) of (6.2.12)."""
        t, q, _ = self._rows(state, "mass_matrix")
        return self._core.mass_matrix(float(t[0]), q[0])

    def load_column(self, state: State | tuple[Any, ...]) -> Floats:
        """Q (nu,): external, internal and inertia loads on the speeds (6.2.12)."""
        t, q, u = self._rows(state, "load_column")
        from treemech.dynamics.model.reaction_dependent import ReactionDependent

        reaction_dependent = ReactionDependent(self._core)
        if reaction_dependent:  # they see the reactions of this state's own motion
            self.forward_dynamics(state)
        with reaction_dependent.held():
            Q: Floats = -self._core.inverse_dynamics(t, q, u, np.zeros((1, self.nu)))[0]
        return Q

    def energy(self, state: State | tuple[Any, ...]) -> Energy:
        """Kinetic and potential energy; heights count from the world origin."""
        trace, _ = self._trace(state, None)
        stored = (
            stored_energy(self._core.work.effort_records[None], self._info)
            if self._info.elements
            else np.zeros(1)
        )
        return Energy(*(float(e[0]) for e in (*energies(trace, self._info), stored)))

    def momentum(self, state: State | tuple[Any, ...]) -> Momentum:
        """Momentum and angular momentum about the world origin."""
        trace = self._trace(state, None, "momentum")[0][0]
        linear, angular = np.zeros(3), np.zeros(3)
        for row, body in zip(trace[1:], self.tree.bodies[1:], strict=True):
            R = row[columns.ROTATION].reshape(3, 3)
            arm, w = R @ body.com, row[columns.OMEGA]
            p = body.mass * (row[columns.VELOCITY] + np.cross(w, arm))
            linear += p
            angular += np.cross(row[columns.POSITION] + arm, p) + R @ body.inertia @ R.T @ w
        return Momentum(linear, angular)

    def reactions(self, state: State | tuple[Any, ...]) -> dict[str, Reaction]:
        """Load every hinge exerts on the body of its end b, at the point of that end, world components."""
        t, q, u = self._rows(state, "reactions")
        with contacts(self, float(t[0]), q[0], u[0]):
            off = () if self._core.loops is None else self._core.loops.released()
        results = self._results(t, q, u, released=((-np.inf, off),))
        loads = [h.load(results.trace) for h in self._info.hinges]
        loads += [(load[:, :3], load[:, 3:]) for load in results.chord_loads.transpose(1, 0, 2)]
        names = [h.name for h in self._info.hinges] + [c.name for c in self._info.chords]
        return {
            name: Reaction(force[0], moment[0], bool(unique))
            for name, (force, moment), unique in zip(names, loads, results.unique, strict=True)
        }

    def attitude(self, state: State | tuple[Any, ...]) -> Attitude:
        """z, Z, z0, z00 of all bodies (5.2.30), (5.2.31)."""
        t, q, u = self._rows(state, "attitude")
        n = self.nu
        many_u = np.vstack((u, np.zeros((1, n)), np.eye(n)))
        trace, _ = self._core.trace(
            np.repeat(t, n + 2), np.repeat(q, n + 2, axis=0), many_u, np.zeros((n + 2, n))
        )
        rates = np.concatenate((trace[:, 1:, columns.VELOCITY], trace[:, 1:, columns.OMEGA]), axis=2)
        rates = rates.reshape(n + 2, -1)
        bias = np.concatenate((trace[0, 1:, columns.ACCELERATION], trace[0, 1:, columns.ALPHA]), axis=1)
        return Attitude(
            trace[0, 1:, columns.POSITION],
            trace[0, 1:, columns.ROTATION].reshape(-1, 3, 3),
            rates[2:] - rates[1],
            rates[1],
            bias.ravel(),
        )

    def jacobian(self, end: Body | Attachment, state: State | tuple[Any, ...]) -> Floats:
        """(6, nu): velocity of a point and angular velocity of its body per unit speed, world axes."""
        place = end.at() if isinstance(end, Body) else end
        if not isinstance(place, Attachment):
            raise TopologyError(f"jacobian: {end!r} is neither a body nor an attachment, body.at(...).")
        if place.body.name not in self.tree.numbers:
            raise TopologyError(f"jacobian: {unknown('body', place.body.name, self.tree.numbers)}")
        number = self.tree.numbers[place.body.name]
        if number == 0:
            return np.zeros((6, self.nu))
        z = self.attitude(state)
        block = z.partials[:, 6 * (number - 1) : 6 * number]
        arm = z.rotation[number - 1] @ place.offset
        return np.vstack((block[:, :3].T + np.cross(block[:, 3:], arm).T, block[:, 3:].T))

    def _trace(
        self, state: State | tuple[Any, ...], ud: Floats | None, what: str = "energy"
    ) -> tuple[Floats, Floats]:
        t, q, u = self._rows(state, what)
        return self._core.trace(t, q, u, np.zeros((1, self.nu)) if ud is None else ud)

    def _results(
        self,
        t: Floats,
        q: Floats,
        u: Floats,
        cut: Floats | None = None,
        z: Floats | None = None,
        released: Released = ((-np.inf, ()),),
    ) -> Results:
        """Everything that follows from many states; `released`: from which time which unilateral chords let go."""
        if self._core.loops is None:
            with self._core.seeing(z):
                ud = self._core.accelerations(t, q, u)
            return self._tree_results(t, q, u, ud, z)
        parts, edges = [], [*(time for time, _ in released[1:]), np.inf]
        for (start, names), stop in zip(released, edges, strict=True):
            own = (t >= start) & (t < stop)
            if np.any(own):
                if cut is not None:
                    self._core.chord_work.q[:] = cut[own][0]
                with without(self, names), self._core.seeing(None if z is None else z[own]):
                    self._core.loops.choose(float(t[own][0]), q[own][0])
                    parts.append(
                        self._closed(t[own], q[own], u[own], None, None if cut is None else cut[own])
                    )
        found = (
            ClosedMotion(*map(np.concatenate, zip(*parts, strict=True))) if parts else self._closed(t, q, u)
        )
        with self._core.seeing(z):
            trace, _ = self._core.trace(t, q, u, found.ud)
        add_chord_loads(self._core, trace, found.loads)
        add_element_loads(self._core, trace, found.elements)
        return Results(
            found.ud, trace, found.tau, found.multipliers, found.loads, found.residual, found.cut_q, found.cut_u,
            found.cut_ud, self._unique(t, q, found.cut_q), found.elements,
        )  # fmt: skip

    def _tree_results(self, t: Floats, q: Floats, u: Floats, ud: Floats, z: Floats | None = None) -> Results:
        n = len(t)
        none, unique = np.zeros((n, 0)), np.ones(len(self._info.hinges))
        with self._core.seeing(z):
            trace, tau = self._core.trace(t, q, u, ud)
        elements = self._core.elements(t, q, u, z) if self._info.elements else none
        return Results(
            ud, trace, tau, none, np.zeros((n, 0, 6)), np.zeros((n, 3)), none, none, none, unique, elements
        )

    def _closed(
        self, t: Floats, q: Floats, u: Floats, loads: Floats | None = None, cut: Floats | None = None
    ) -> ClosedMotion:
        """Accelerations of closed chains; redundant multipliers are the least ones."""
        loops = self._core.loops
        if loops is None:
            raise AssertionError("no chords")
        tau = None if loads is None else np.tile(loads, (len(t), 1))
        found = loops.solve(t, q, u, cut, tau)
        if loops.selected:
            smallest_multipliers(self._core, t, q, found)
        return found

    def _unique(self, t: Floats, q: Floats, cut: Floats) -> Floats:
        """Which loads the model decides, at the first of many states: of hinges, then of chords."""
        if not len(t):
            return np.ones(len(self._info.hinges) + len(self._info.chords))
        self._core.chord_work.q[:] = cut[0]
        chords, bodies = unique_loads(self._core, float(t[0]), q[0])
        return np.array([*(bodies[h.number] for h in self._info.hinges), *chords], dtype=np.float64)

    # ------------------------------------------------------------ simulation
    def kinematics(self, t_eval: ArrayLike, state: State | None = None) -> Run:
        """Positions, velocities and accelerations over a time grid of a mechanism whose motion is prescribed (KSP, 8.3).

        Starts where the chains close next to `state`, or to the reference position, and stays on that branch,
        through singular positions too. Speeds that only nonholonomic rows decide are integrated. Loads of the run,
        and `run.drive(name)`, are those that make this motion.

        Returns
        -------
        Run
            With ``success`` False if the mechanism locks on the way: ``message`` says when and where.
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
    ) -> Run:
        """Simulate the motion over t_span (DSP, 8.4). Arguments as in `scipy.integrate.solve_ivp`.

        Parameters
        ----------
        state : State
            Where it starts; its t is replaced by t_span[0]. Default: the reference position at rest, or the closed one
            next to it.
        method : str or (str, float)
            Explicit: "DOP853" (order 8), "DP5" (order 5), "Adams" (orders 1 to 12, few evaluations), "RK4" (fixed step
            max_step). Stiff: "Radau" (order 5, implicit); generalized-alpha (order 2, implicit), "alpha3" with the
            constraints on positions, "alpha2" on positions and speeds, ("alpha3", 0.6) with a spectral radius at
            infinity other than 0.8; steps of one size, without error control, if first_step == max_step. "auto": DOP853
            or Radau, whichever gets further. Of other libraries, slow, for comparison: "scipy:RK45", "scipy:DOP853",
            "scipy:Radau", "scipy:BDF", "scipy:LSODA", "scipy:RK23"; with scikit-sundae "CVODE" and "IDA". Singular
            positions are passed by DOP853, DP5, auto and alpha3.
        rtol : float
        atol : float, array (nq + nu,) or dict by name
            Default rtol / 1000, with closed chains rtol. By name: ``{"A": 1e-9, "A.u": 1e-6}``; "A" stands for both.
        t_eval : array
            Output times; default every step, and every event.
        events : Event, function f(t, state), str, or a list of them
            What to notice, see `Event`; ``run.events`` says when each came. Functions may have the attributes ``terminal`` and
            ``direction``, as in scipy, and ``action``.
        dense_output : bool
            Makes ``run.sol(t)`` available.
        progress : bool or callable
            A bar on stderr, or a function of the fraction done.
        stabilisation : str
            How closed chains are kept closed. "default": every step is projected onto the constraints, near
            singular positions every stage. For comparison: "projection" (of steps alone), "baumgarte" or ("baumgarte",
            gain [1/s]), "partitioning" (dependent coordinates follow the independent ones), "none".
        on_singular : "pass", "warn" or "stop"
            What happens where the constraints lose rank. Passed positions are in ``run.singular``.
        audit : bool
            Integrate work, dissipation and supply of every element along, with error control: ``run.audit``.
        checkpoint : path
            Keep what a long run needs to go on in this file: every `checkpoint_every` seconds, and on Ctrl-C.
        resume : path
            Go on from such a file, to the bit. Model, start and all other arguments must be those of the run it is of.

        Returns
        -------
        Run
            With ``success`` False and a report in ``message`` if the end was not reached. An element that raises
            becomes an `ElementError` with what was computed in its ``partial``.
        """
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
        )

    # ------------------------------------------------------------ derivatives
    def derivatives(
        self, state: State | tuple[Any, ...], loads: Any = None, parameters: Sequence[str] = ()
    ) -> "Derivatives":
        """ud, multipliers and their derivatives by q, u, loads on the speeds, states and inputs of elements; x' and its own.

        Inputs are known by the names `system.input` and controllers gave them; one given as it stands is "element.input".
        Directions in q are those of the speeds, q' = N(q) u: plain partial derivatives where u = q', rotations as the
        relative angular velocity measures them (base of end a) for Euler parameters. Rows of prescribed speeds are zero.
        Derivatives by `parameters` are those at fixed q, u; prescribed coordinates follow their signals.
        """
        from .analyses.small_motions import derivatives

        return derivatives(self, state, loads, parameters)

    def linearize(
        self,
        state: State | tuple[Any, ...],
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        hold: Sequence[str] = (),
        loads: Any = None,
    ) -> "Linearization":
        """A, B, C, D of small motions about a state, in independent coordinates and states of elements; eigenvalues, modes.

        `inputs`: speeds that carry a load, and inputs of elements, `outputs`: speeds whose displacement is seen, by name, those
        of cut hinges too; default: all speeds of the tree. `hold`:
        coordinates that keep to their motion; `loads` on the speeds act on all states alike.
        """
        from .analyses.small_motions import linearize

        return linearize(self, state, inputs, outputs, hold, loads)

    def equilibrium(
        self,
        state: State | None = None,
        fix: Mapping[str, Any] | None = None,
        rates: Mapping[str, Any] | None = None,
        free: Sequence[str] = (),
        method: str = "Newton",
    ) -> "Equilibrium":
        """A position in which nothing accelerates, next to `state` (default: the reference position, closed).

        `fix`: coordinates held where they are given, by loads the result names. `rates`: coordinates driven at constant
        rates, which stay where the state has them (relative equilibrium). `free`: of those, rates that are sought
        themselves, from the given ones on; as there are no loads then, what is fixed must balance as well.
        States of elements are at rest there, x' = 0.

        `method`: "Newton" finds the balance near the state, stable or not, with shortened steps; "energy" goes against the
        loads, to a place of least energy, a stable balance if there is any; "settling" lets the mechanism go, simulates it,
        and stops it at every peak of its kinetic energy until it stays.
        """
        from .analyses.equilibrium import equilibrium

        return equilibrium(self, state, fix, rates, free, method)

    def sensitivities(
        self,
        t_span: tuple[float, float],
        start: "Start" = None,
        parameters: Sequence[str] | None = None,
        t_eval: ArrayLike | None = None,
        rtol: float = 1e-8,
    ) -> "Sensitivities":
        """A simulation and how it changes with parameters (default: all).

        `start`: a state that does not depend on the parameters, or a function of the mechanism that makes it,
        ``lambda mech: mech.assemble(fix={"A": 0.3})``: with closed chains the function says what stays when a parameter
        changes. First the motion is integrated, then, along it, the differentiated equations of motion
        (dynamics.analyses.sensitivity), each to rtol. The motion must be smooth: no contact that switches, no singular position
        passed, no prescribed rate that jumps, no element that remembers. Output at `t_eval`, default the steps of the motion.
        """
        from .design.sensitivities import sensitivities

        return sensitivities(self, t_span, start, parameters, t_eval, rtol)

    def kinematic_sensitivities(
        self, t_eval: ArrayLike, start: "Start" = None, parameters: Sequence[str] | None = None
    ) -> "Sensitivities":
        """A kinematic run over given times (`kinematics`), and how it changes with parameters (default: all).

        Every position follows from the constraints, and so do its derivatives: exact but for rounding.
        """
        from .design.sensitivities import kinematic_sensitivities

        return kinematic_sensitivities(self, t_eval, start, parameters)

    def _check_inertia(self) -> None:
        """Every free hinge direction must meet some inertia: not found at two general positions is an error."""
        if not self.nu:
            return
        for place in (_generic_place, _random_place):
            q = np.concatenate([np.zeros(0), *place([c.hinge for c in self._lagrange.hinges])])
            try:
                weak = self._core.speed_without_inertia(q)
            except ElementError:
                return  # an element that refuses a random position; the analysis will say so by name
            if weak is None:
                return
            number, column = weak
        c = next(c for c in self._lagrange.hinges if c.number == number)
        bodies = [self.tree.bodies[j].name for j in range(number, int(self.tree.subtree_end[number]))]
        listed = ", ".join(map(repr, bodies[:4])) + (", ..." if len(bodies) > 4 else "")
        which = f"speed {column} of hinge" if c.hinge.n_speeds > 1 else "hinge"
        raise SingularError(
            f"{which} {c.name!r} ({c.hinge.kind}) moves no inertia: {listed} can follow it without any mass or "
            "moment of inertia moving. Give one of them mass or inertia in that direction, prescribe the "
            "coordinate, or use a hinge without it."
        )

    # ------------------------------------------------------------ drives
    def _drives(self) -> "list[Drive]":
        """The prescribed coordinates."""
        from treemech.kinematics.kinematic_simulation import Drive

        hinges = {c.name: c for c in self._lagrange.hinges}
        return [
            Drive(hinges[p.hinge].q + p.coordinate, hinges[p.hinge].u + p.coordinate, p.signal)
            for p in self._prescriptions
        ]


def _generic_place(hinges: list[Hinge]) -> list[Floats]:
    """Coordinates in general positions, by golden sections of the domains: numpy.random would take longer than the build."""
    if any(type(hinge).sample is not Hinge.sample for hinge in hinges):
        return _random_place(hinges)
    found, k = [], 1
    for hinge in hinges:
        low, high = (np.asarray(x, dtype=np.float64) for x in hinge.domain())
        q = low + (high - low) * np.mod(0.6180339887498949 * np.arange(k, k + hinge.n_coordinates), 1.0)
        if hinge.euler_parameters is not None:
            e = q[hinge.euler_parameters : hinge.euler_parameters + 4]
            e /= np.linalg.norm(e)
        found.append(q)
        k += hinge.n_coordinates
    return found


def _random_place(hinges: list[Hinge]) -> list[Floats]:
    rng = np.random.default_rng(1)
    return [hinge.sample(rng) for hinge in hinges]


_NONE = np.zeros(0)
