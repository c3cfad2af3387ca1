"""One model in the compiled core: arrays in, arrays out. Below it are only addresses."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.elements.compilation.callback import Entry, catching
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.layout.chords import by_address
from treemech.kinematics.layout.dual_addresses import serve_dual_addresses
from treemech.kinematics.layout.lagrange import Lagrange
from treemech.kinematics.layout.layout import Layout
from treemech.kinematics.layout.work import make_chord_context, make_chord_work, make_context, make_work
from treemech.kinematics.plan.arrays import (
    APPLIED_LOADS,
    AUDIT,
    COMPOSITE,
    GENERAL_HINGE,
    REACTIONS,
    SIZES,
    Z_ROWS,
)
from treemech.kinematics.plan.chord_arrays import CHORD_DUALS, CHORD_ELEMENT
from treemech.kinematics.plan.columns import body, chord, effort, row, speed
from treemech.topology import Tree
from treemech.topology.arrays import Floats, address, addresses

from ..native import entry_points as native
from . import failures, state_vector
from .trace import N_TRACE

if TYPE_CHECKING:
    from .loop_plan import Pattern
    from .loops import Loops

_NONE = np.zeros(0)


class Constraints(NamedTuple):
    """Constraints of the chords at a state (5.3.17)."""

    residual: Floats  # f (m,)
    partials: Floats  # P (m, nu)
    velocity: Floats  # P u + P0
    bias: Floats  # P ud + P00
    loads: Floats  # A ud - Q (nu,), nan unless asked for


class Core:
    """Plan, Work and context of one model, with the entry points that work on them.

    Not for two threads at once: every thread has a core of its own (`workspaces`). What is common to the
    cores of a model, its layout, is copied and stays unchanged.
    """

    def __init__(
        self, tree: Tree, coordinates: Lagrange, layout: Layout, pattern: "Pattern | None" = None
    ) -> None:
        """Make the arrays; `pattern` is that of a model of the same structure, taken over where it fits."""
        self.tree, self.coordinates, self.layout = tree, coordinates, (layout := layout.copy())
        self.nq, self.nu, self.rows = coordinates.nq, coordinates.nu, len(tree.bodies)
        ways = self._ways()
        self.foreign = ways != {"library"} and bool(
            ways
        )  # only elements and members of the library never raise
        self.interpreted = "python" in ways
        efforts = layout.efforts
        self.nz, self.nx, self.n_cut, self.n_audit = efforts.nz, efforts.nx, len(layout.chords.start), 0
        self.work = make_work(layout.plan, self.nq, layout.parameters, efforts.workspace, self.nz)
        self.work.z[: self.nz] = efforts.start
        self.context = make_context(layout.plan, self.work, self.nq, self.nz, self.nx)
        self.context_address = address(self.context)
        if np.any(layout.plan.body[:, body.KIND] == body.BY_ADDRESS):
            self.context[GENERAL_HINGE] = native.address("general_hinge")
        if len(layout.plan.efforts):
            self.context[APPLIED_LOADS] = native.address("applied_loads")
        if len(layout.plan.composites):
            self.context[COMPOSITE] = native.address("composite")
        if np.any(layout.plan.efforts[:, effort.REACTION] >= 0):
            self.context[REACTIONS] = native.address("reactions")
        self.chord_work = make_chord_work(layout.chords)
        self.chord_context = make_chord_context(self.context_address, layout.chords, self.chord_work)
        if any(by_address(element) for element in layout.chords.elements):
            self.chord_context[CHORD_ELEMENT] = native.address("chord_element")
        # One state at fixed addresses: a single call then need not ask for addresses
        self._t, self._q, self._u = np.zeros(1), np.zeros(self.nq), np.zeros(self.nu)
        self._tau, self._ud, self._zero = np.zeros(self.nu), np.zeros(self.nu), np.zeros(self.nu)
        self._at = tuple(addresses((self._t, self._q, self._u, self._tau, self._ud)))
        self._forward: Any = None
        order = np.argsort(layout.plan.dof[:, speed.PUBLIC])  # public -> regular; None if they are the same
        self.public_order = layout.plan.dof[:, speed.PUBLIC]  # regular -> public
        self._regular = None if np.array_equal(order, np.arange(self.nu)) else np.ix_(order, order)
        # Whether an element remembers something of every step
        self.remembers = bool(np.any(layout.plan.efforts[:, effort.REMEMBER]))
        # Elements whose load begins and ends somewhere: steps end there
        applied = enumerate(layout.efforts.applied)
        self.one_sided = [k for k, a in applied if getattr(a.element, "one_sided", False)]
        self.left_out: NDArray[np.bool_] | None = None  # rows that `constraints` sets to zero
        self.loops: "Loops | None" = None
        if len(layout.chords.plan.chord):
            from .loops import Loops

            self.loops = Loops(self, pattern)
        self.jacobian_workspace: Any = None  # a TreeDerivatives, once an integrator asks for one
        self.components: Any = None  # independent parts (jacobian_groups), once an integrator asks for them
        self._dual_entries: list[Entry] | None = None
        self.lanes: Any = None  # models on lanes, once many states are asked for; False if there are none

    def serve_dual_addresses(self) -> None:
        """Write the addresses of elements on dual numbers into the contexts, once: derivatives need them."""
        if self._dual_entries is None:
            self._dual_entries = serve_dual_addresses(self.layout, self.work.parameter_duals)
            if np.any(self.layout.chords.plan.chord[:, chord.DUAL]):
                address = native.address("chord_duals")
                for context in (self.chord_context, *((self.loops.context,) if self.loops else ())):
                    context[CHORD_DUALS] = address

    @property
    def has_jacobian(self) -> bool:
        """Whether the core computes the Jacobians for integrators itself.

        It does not for models with internal points or with reaction-dependent elements.
        """
        reaction_dependent = bool(np.any(self.layout.plan.efforts[:, effort.REACTION] >= 0))
        return not self.layout.efforts.composites and not reaction_dependent

    def free_speeds(self) -> NDArray[np.bool_]:
        """Return the mask (nu,) of the speeds that are not prescribed."""
        free = np.ones(self.nu, dtype=bool)
        free[self.layout.plan.prescribed[:, speed.PRESCRIBED_U]] = False
        return free

    def audit(self, wanted: bool) -> None:
        """Include the energy audit in the integrator's state, or leave it out."""
        self.n_audit = effort.N_AUDIT * len(self.layout.plan.efforts) if wanted else 0
        self.context[AUDIT] = self.n_audit

    def forget(self) -> None:
        """Forget what an evaluation leaves behind for the next one: where cut hinges were."""
        if self.loops is not None:
            self.reset_chords()

    @contextmanager
    def seeing(self, z: Floats | None) -> Iterator[None]:
        """Give elements the states z within the block: of one state, or of many (rows)."""
        if z is None or not self.nz:
            yield
            return
        if z.ndim == 1:
            self.work.z[:] = z
            yield
            return
        rows = np.ascontiguousarray(z)
        self.context[Z_ROWS] = address(rows)
        try:
            yield
        finally:
            self.context[Z_ROWS] = 0

    def _ways(self) -> set[str]:
        """Return the ways by which elements and their members are called: library, numba, python."""
        joining = [*(b.connection.element for b in self.tree.branches), *self.layout.chords.elements]
        members = [
            entry
            for x in joining
            for entry in (*getattr(x, "_entries", ()), getattr(x, "_entry", None))
            if entry
        ]
        return {entry.way for entry in (*self.layout.entries, *members)}

    def guard(self) -> AbstractContextManager[Any]:
        """Catch what a foreign element raises. This costs nothing in models without foreign elements."""
        return catching() if self.foreign else nullcontext()

    def forward_dynamics(self, t: float, q: Floats, u: Floats, tau: Floats | None = None) -> Floats:
        """Return ud of one state."""
        if self._forward is None:
            self._forward = native.entry("forward_dynamics")
        self._t[0] = t
        self._q[:] = q
        self._u[:] = u
        self._tau[:] = self._zero if tau is None else tau
        a, b, c, d, e = self._at
        if self.foreign:
            with self.guard() as failure:
                status = self._forward(1, a, b, c, d, e, self.context_address)
            if status != OK:
                self.fail(status, float(self._t[0]), failure)
        else:
            status = self._forward(1, a, b, c, d, e, self.context_address)
            if status != OK:
                self.fail(status, t, None)
        return self._ud.copy()

    def many(self, name: str, t: Floats, *arrays: Floats) -> None:
        """Call an entry point for len(t) states."""
        function, times = native.entry(name), np.array(t, dtype=np.float64)
        for array in arrays:
            if array.dtype != np.float64 or not array.flags.c_contiguous:
                raise AssertionError("the core takes C-contiguous float64 arrays")
        with self.guard() as failure:
            status = function(len(times), *addresses((times, *arrays)), self.context_address)
        if status != OK:
            self.fail(status, float(times[0]), failure)

    def inverse_dynamics(self, t: Floats, q: Floats, u: Floats, ud: Floats) -> Floats:
        """Return tau = A ud - Q of every state (rows)."""
        tau = np.zeros((len(t), self.nu))
        self.many("inverse_dynamics", t, q, u, ud, tau)
        return tau

    def accelerations(self, t: Floats, q: Floats, u: Floats, tau: Floats | None = None) -> Floats:
        """Return ud of every state (rows)."""
        ud = np.zeros((len(t), self.nu))
        self.many("forward_dynamics", t, q, u, np.zeros((len(t), self.nu)) if tau is None else tau, ud)
        return ud

    def mass_matrix(self, t: float, q: Floats) -> Floats:
        """Return A, full and symmetric, in the public order of the speeds."""
        lower = np.zeros((self.nu, self.nu))
        self.many("mass_matrix", np.array([t]), np.ascontiguousarray(q), self._zero, lower)
        A = lower + lower.T
        A.reshape(-1)[:: self.nu + 1] *= 0.5
        return A if self._regular is None else A[self._regular]

    def inertia(self, t: float, q: Floats) -> Floats:
        """Return A, with a part added for the frames without mass that chords hold (`Loops.inertia`)."""
        if self.loops is None or not len(self.loops.plan.added_row):
            return self.mass_matrix(t, q)
        return self.loops.inertia(t, q, self.constraints(t, q, self._zero).partials)

    def elements(self, t: Floats, q: Floats, u: Floats, z: Floats | None) -> Floats:
        """Return the records of all elements at every state (rows)."""
        out = np.zeros((len(t), len(self.work.effort_records)))
        with self.seeing(z):
            self.many("elements", t, np.ascontiguousarray(q), np.ascontiguousarray(u), out)
        return out

    def remember_start(self, t: float, y: Floats) -> None:
        """Let elements remember the start, unless the state continues an earlier run, which they remember."""
        if not self.remembers or not np.array_equal(
            self.unpack(y).z[self.nx :], self.layout.efforts.start[self.nx :]
        ):
            return
        with self.guard() as failure:
            status = native.entry("remember")(t, address(y), address(y), self.context_address)
        if status != OK:
            self.fail(status, t, failure)

    @contextmanager
    def leaving_out(self, rows: NDArray[np.bool_]) -> Iterator[None]:
        """Set these rows of `constraints` to zero within the block: those of chords that have let go."""
        before, self.left_out = self.left_out, np.asarray(rows, dtype=bool)
        try:
            yield
        finally:
            self.left_out = before

    @contextmanager
    def unloaded(self) -> Iterator[None]:
        """Leave out elements and loads within the block."""
        at = SIZES.index("efforts")
        count, self.context[at] = int(self.context[at]), 0
        try:
            yield
        finally:
            self.context[at] = count

    @contextmanager
    def undriven(self) -> Iterator[None]:
        """Let prescribed coordinates and speeds take the values given to a call within the block.

        Their signals overwrite them otherwise, so that a unit speed would move nothing.
        """
        at = SIZES.index("prescribed")
        count, self.context[at] = int(self.context[at]), 0
        try:
            yield
        finally:
            self.context[at] = count

    def state_rates(self, t: float, q: Floats, u: Floats, z: Floats) -> Floats:
        """Return the rates of z at one state."""
        self.elements(np.array([t]), q[None], u[None], z[None])
        return self.work.zd.copy()

    def trace(self, t: Floats, q: Floats, u: Floats, ud: Floats) -> tuple[Floats, Floats]:
        """Return motion and hinge load of every body (count, nb+1, 30), and loads on the speeds (count, nu).

        The columns of a trace are in model.trace. Prescribed entries of q, u, ud are overwritten by their
        signals.
        """
        out, tau = np.zeros((len(t), self.rows, N_TRACE)), np.zeros((len(t), self.nu))
        self.many("trace", t, q, u, ud, tau, out)
        return out, tau

    def reset_chords(self, given: Mapping[str, Floats] | None = None) -> None:
        """Set the start for the fit of cut hinges and auxiliary unknowns: the reference, or by chord name.

        Where a given number is nan, the reference stays.
        """
        chords = self.layout.chords
        self.chord_work.q[:] = chords.start
        for name, q in (given or {}).items():
            entry = chords.plan.chord[chords.names.index(name)]
            own = self.chord_work.q[entry[chord.FIRST_Q] : entry[chord.FIRST_Q] + entry[chord.NQ]]
            own[:] = np.where(np.isnan(q), own, q)
        self.chord_work.pivot[:] = -1

    @cached_property
    def entry_places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (row, speed in public order) of every entry of P, in the order of the core."""
        layout, public = self.layout.chords, self.layout.plan.dof[:, speed.PUBLIC]
        rows, speeds = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for entry in layout.plan.chord:
            path = layout.plan.path[entry[chord.PATH_START] : entry[chord.PATH_END], chord.SPEED]
            rows.append(
                np.tile(
                    np.arange(entry[chord.FIRST_ROW], entry[chord.FIRST_ROW] + entry[chord.N_ROWS]), len(path)
                )
            )
            speeds.append(np.repeat(public[path], entry[chord.N_ROWS]))
        return np.concatenate(rows), np.concatenate(speeds)

    @cached_property
    def energy_places(self) -> NDArray[np.int64]:
        """Return the places of the stored energies of all elements in their records."""
        efforts = self.layout.efforts
        energies = [next(at for name, _, at in a.sizes.load if name == "energy") for a in efforts.applied]
        return np.array(energies, dtype=np.int64) + efforts.rows[: len(energies), effort.LOAD_RECORD]

    @cached_property
    def chord_ends(self) -> tuple[NDArray, ...]:
        """Return bodies of both ends of the chords, their end b, and where hinges end in bodies; their parents."""
        numbers = self.tree.numbers
        chords = self.tree.chords
        ends = np.array([[numbers[e.body.name] for e in c.ends[:2]] for c in chords], dtype=np.int64)
        points = np.array([c.ends[1].offset for c in chords], dtype=np.float64)
        frames = self.layout.plan.frames
        inner = -np.einsum("bji,bj->bi", frames[:, :9].reshape(-1, 3, 3), frames[:, 9:])
        parents = np.ascontiguousarray(self.layout.plan.body[:, body.PARENT])
        return ends.reshape(-1, 2), points.reshape(-1, 3), np.ascontiguousarray(inner), parents

    def energy(self, t: Floats, q: Floats, u: Floats) -> Floats:
        """Return kinetic, potential and stored energy of every state (rows)."""
        out, places = np.zeros((len(t), 3)), self.energy_places
        function = native.entry("energy")
        with self.guard() as failure:
            at = addresses((t, q, u))
            status = function(len(t), *at, len(places), address(places), address(out), self.context_address)
        if status != OK:
            self.fail(status, float(t[0]), failure)
        return out

    def momentum(self, t: Floats, q: Floats, u: Floats) -> Floats:
        """Return momentum and angular momentum of every state (rows)."""
        out = np.zeros((len(t), 6))
        self.many("momentum", t, q, u, out)
        return out

    def end(self, name: str, t: Floats, q: Floats, u: Floats, number: int, place: Floats) -> Floats:
        """Return pose (12), velocity (6) or end_jacobian (6 nu) of an end of a body at every state (rows)."""
        out, times = np.zeros((len(t), {"pose": 12, "velocity": 6}.get(name, 6 * self.nu))), t.copy()
        with self.guard() as failure:
            at = addresses((times, q, u))
            status = native.entry(name)(
                len(t), *at, number, address(place), address(out), self.context_address
            )
        if status != OK:
            self.fail(status, float(times[0]), failure)
        return out

    def carry_chord_loads(self, loads: Floats, trace: Floats) -> None:
        """Add the chord loads to the hinge loads of a trace (8.5.6): a chord relieves the hinges before it."""
        ends, points, inner, parents = self.chord_ends
        own = np.ascontiguousarray(
            loads[:, : len(ends)]
        )  # without couplings; kept until the call has returned
        tables = addresses((ends, points, inner, parents))
        native.entry("carry_chord_loads")(
            len(trace), address(own), address(trace), len(ends), *tables, self.rows
        )

    def constraints(
        self, t: float, q: Floats, u: Floats, ud: Floats | None = None, loaded: bool = False
    ) -> Constraints:
        """Return f, P, P u + P0 and P ud + P00 of all chords, in the public order of the speeds.

        Elements and loads are evaluated only if `loaded`; else A ud - Q is nan.
        """
        work = self.chord_work
        q, u = np.array(q, dtype=np.float64), np.array(u, dtype=np.float64)
        given = np.zeros(self.nu) if ud is None else np.array(ud, dtype=np.float64)
        tau = np.zeros(self.nu)
        with self.guard() as failure, nullcontext() if loaded else self.unloaded():
            status = native.entry("constraints")(float(t), *addresses((q, u, given, tau, self.chord_context)))
        if status != OK:
            self.fail(status, t, failure)
        P, places = np.zeros((len(self.layout.chords.rows), self.nu)), self.entry_places
        P[places] = work.partials[: len(places[0])]
        found = Constraints(
            work.row[:, row.POSITION].copy(),
            P,
            work.row[:, row.VELOCITY].copy(),
            work.row[:, row.BIAS].copy(),
            tau if loaded else tau + np.nan,
        )
        if self.left_out is not None:
            for rows in found[:4]:
                rows[self.left_out] = 0.0
        return found

    # ------------------------------------------------------------ state vector of the integrators
    @property
    def state_names(self) -> list[str]:
        """Name every entry of the integrator's y."""
        return state_vector.state_names(self)

    def pack(self, q: Floats, u: Floats, z: Floats = _NONE, cut: Floats = _NONE) -> Floats:
        """Return the integrator's y of one state."""
        return state_vector.pack(self, q, u, z, cut)

    def unpack(self, y: Floats) -> state_vector.Rest:
        """Return the parts of integrator states behind q and u."""
        return state_vector.unpack(self, y)

    def states(self, t: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return (q, u) of integrator states (rows)."""
        return state_vector.states(self, t, y)

    # ------------------------------------------------------------ errors
    def fail(self, status: int, t: float, failure: Any, partial: Any = None) -> None:
        """Raise ElementError for the element that a status names."""
        failures.fail(self, status, t, failure, partial)

    def culprit(self, status: int) -> str:
        """Name the element that a status is about."""
        return failures.culprit(self, status)
