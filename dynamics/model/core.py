"""One model in the compiled core: arrays in, arrays out. The last Python before the addresses."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.elements import Energetic
from treemech.elements.compilation.callback import Entry, catching
from treemech.elements.compilation.methods import role_of
from treemech.elements.energetic import motion_views
from treemech.kinematics.kernel.status import (
    CHORD_FAILED,
    EFFORT_NOT_FINITE,
    HINGE_FAILED,
    LOAD_FAILED,
    OK,
    POINT_LOST,
    REACTION_LOST,
    SIGNAL_FAILED,
    split,
)
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
from treemech.kinematics.plan.columns import body, chord, effort, point, row, speed
from treemech.topology import Attachment, ElementError, SingularError, Tree, TreemechError
from treemech.topology.arrays import Floats, address

from ..native import entry_points as native
from .loops import Loops

N_TRACE = 30
_NONE = np.zeros(0)
_WHAT = {
    EFFORT_NOT_FINITE: "gives a load or a rate that is not a finite number",
    REACTION_LOST: "and the load it depends on have no common solution",
    POINT_LOST: "has no internal equilibrium near the last one: look at the stiffness behind its points,",
}
# Columns of a trace, world components
ROTATION, POSITION, OMEGA = slice(0, 9), slice(9, 12), slice(12, 15)
VELOCITY, ALPHA, ACCELERATION = slice(15, 18), slice(18, 21), slice(21, 24)
MOMENT, FORCE = slice(24, 27), slice(27, 30)


class Constraints(NamedTuple):
    """The constraints of the chords at a state (5.3.17)."""

    residual: Floats  # f (m,)
    partials: Floats  # P (m, nu)
    velocity: Floats  # P u + P0
    bias: Floats  # P ud + P00
    loads: Floats  # A ud - Q (nu,)


class Rest(NamedTuple):
    """What the integrator carries besides q and u: states of elements with their memory, cut hinges, energy audit."""

    z: Floats
    cut: Floats
    audit: Floats


class Core:
    """Plan, Work and context of one model, and the entry points on them. Not for two threads at once."""

    def __init__(self, tree: Tree, coordinates: Lagrange, layout: Layout) -> None:
        self.tree, self.coordinates, self.layout = tree, coordinates, layout
        self.nq, self.nu, self.rows = coordinates.nq, coordinates.nu, len(tree.bodies)
        self.foreign = self._may_raise()
        efforts = layout.efforts
        self.nz, self.nx, self.n_cut, self.n_audit = efforts.nz, efforts.nx, len(layout.chords.start), 0
        self.work = make_work(layout.plan, self.nq, layout.parameters, efforts.workspace, self.nz)
        self.work.z[: self.nz] = efforts.start
        self.forget_points()
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
        # one state at fixed addresses, so that a single call takes no address
        self._t, self._q, self._u = np.zeros(1), np.zeros(self.nq), np.zeros(self.nu)
        self._tau, self._ud, self._zero = np.zeros(self.nu), np.zeros(self.nu), np.zeros(self.nu)
        self._at = tuple(address(x) for x in (self._t, self._q, self._u, self._tau, self._ud))
        self._forward: Any = None
        order = np.argsort(layout.plan.dof[:, speed.PUBLIC])  # public -> regular; None if they are the same
        self._regular = None if np.array_equal(order, np.arange(self.nu)) else np.ix_(order, order)
        # whether an element writes something down after every step
        self.remembers = bool(np.any(layout.plan.efforts[:, effort.REMEMBER]))
        self.left_out: NDArray[np.bool_] | None = None  # rows that do not count now
        self.loops: Loops | None = Loops(self) if len(layout.chords.plan.chord) else None
        self.jacobian_workspace: Any = None  # a TreeDerivatives, once an integrator asks for one
        self.components: Any = None  # its independent parts (column_groups), once an integrator asks for them
        self._dual_entries: list[Entry] | None = None

    def serve_dual_addresses(self) -> None:
        """Elements on numbers with a derivative, for the derivatives of this core; once."""
        if self._dual_entries is None:
            self._dual_entries = serve_dual_addresses(self.layout, self.work.parameter_duals)
            if np.any(self.layout.chords.plan.chord[:, chord.DUAL]):
                address = native.address("chord_duals")
                for context in (self.chord_context, *((self.loops.context,) if self.loops else ())):
                    context[CHORD_DUALS] = address

    @property
    def has_jacobian(self) -> bool:
        """Whether the core itself has the derivatives integrators ask for: not with internal points, nor with elements that
        wait for a reaction."""
        reaction_dependent = bool(np.any(self.layout.plan.efforts[:, effort.REACTION] >= 0))
        return not self.layout.efforts.composites and not reaction_dependent

    @property
    def state_names(self) -> list[str]:
        """Of the integrator's y."""
        c = self.coordinates
        return [
            *(f"{n}.q" for n in c.q_names),
            *(f"{n}.u" for n in c.u_names),
            *self.layout.efforts.z_names[: self.nx],
            *(f"audit {k}" for k in range(self.n_audit)),
            *self.layout.efforts.z_names[self.nx :],
            *(f"cut coordinate {k}" for k in range(self.n_cut)),
        ]

    def free_speeds(self) -> NDArray[np.bool_]:
        """Return the mask (nu,) of the speeds that are not prescribed."""
        free = np.ones(self.nu, dtype=bool)
        free[self.layout.plan.prescribed[:, speed.PRESCRIBED_U]] = False
        return free

    def audit(self, wanted: bool) -> None:
        """Whether the energy audit is integrated along."""
        self.n_audit = effort.N_AUDIT * len(self.layout.plan.efforts) if wanted else 0
        self.context[AUDIT] = self.n_audit

    def forget_points(self) -> None:
        """Internal points of composites start anew: where the user says, or in the middle of their ends."""
        for entry, name in zip(self.work.point, self.layout.efforts.point_names, strict=True):
            composite = next(c for c in self.layout.efforts.composites if c.name == name.composite)
            start = composite.start.get(name.name, np.array([np.nan]))
            entry[:] = 0.0
            entry[point.P : point.P + 3] = start
            entry[point.S] = start[0]
            entry[[point.R, point.R + 4, point.R + 8]] = 1.0

    @contextmanager
    def seeing(self, z: Floats | None) -> Iterator[None]:
        """Elements have these states: z of one state, or of the many states (rows) of the calls inside."""
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

    def _may_raise(self) -> bool:
        """Whether an element may raise: one that does not come from the built library, or has such a member."""
        joining = [*(b.connection.element for b in self.tree.branches), *self.layout.chords.elements]
        members = [
            entry
            for x in joining
            for entry in (*getattr(x, "_entries", ()), getattr(x, "_entry", None))
            if entry
        ]
        return self.layout.foreign or any(entry.way != "library" for entry in members)

    def guard(self) -> AbstractContextManager[Any]:
        """Catches what a foreign element raises; free for models without one."""
        return catching() if self.foreign else nullcontext()

    def forward_dynamics(self, t: float, q: Floats, u: Floats, tau: Floats | None = None) -> Floats:
        """ud of one state."""
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
        """An entry point over len(t) states."""
        function, times = native.entry(name), np.array(t, dtype=np.float64)
        for array in arrays:
            if array.dtype != np.float64 or not array.flags.c_contiguous:
                raise AssertionError("the core takes C-contiguous float64 arrays")
        with self.guard() as failure:
            status = function(len(times), address(times), *(address(x) for x in arrays), self.context_address)
        if status != OK:
            self.fail(status, float(times[0]), failure)

    def inverse_dynamics(self, t: Floats, q: Floats, u: Floats, ud: Floats) -> Floats:
        """tau = A ud - Q of every state (rows)."""
        tau = np.zeros((len(t), self.nu))
        self.many("inverse_dynamics", t, q, u, ud, tau)
        return tau

    def accelerations(self, t: Floats, q: Floats, u: Floats, tau: Floats | None = None) -> Floats:
        """ud of every state (rows)."""
        ud = np.zeros((len(t), self.nu))
        self.many("forward_dynamics", t, q, u, np.zeros((len(t), self.nu)) if tau is None else tau, ud)
        return ud

    def mass_matrix(self, t: float, q: Floats) -> Floats:
        """A, full and symmetric, in the public order."""
        lower = np.zeros((self.nu, self.nu))
        self.many("mass_matrix", np.array([t]), np.ascontiguousarray(q), self._zero, lower)
        A = lower + lower.T
        A.reshape(-1)[:: self.nu + 1] *= 0.5
        return A if self._regular is None else A[self._regular]

    def pack(self, q: Floats, u: Floats, z: Floats = _NONE, cut: Floats = _NONE) -> Floats:
        """The integrator's y of one state: q, speeds, states of elements, audit, what they remember, cut hinges.

        Angular speeds that go with Euler parameters are in the base of the outer body.
        """
        y = np.concatenate((q, u, z[: self.nx], np.zeros(self.n_audit), z[self.nx :], cut))
        for c in self.coordinates.hinges:
            k = c.hinge.euler_parameters
            if k is not None and c.forward:
                at = slice(self.nq + c.u + k, self.nq + c.u + k + 3)
                y[at] = c.hinge.motion(q[c.q_slice]).rotation.T @ y[at]
        return y

    def unpack(self, y: Floats) -> "Rest":
        """What stands behind q and u in integrator states."""
        a = self.nq + self.nu
        b = a + self.nx
        c, d = b + self.n_audit, b + self.n_audit + self.nz - self.nx
        return Rest(np.concatenate((y[..., a:b], y[..., c:d]), axis=-1), y[..., d:], y[..., b:c])

    def elements(self, t: Floats, q: Floats, u: Floats, z: Floats | None) -> Floats:
        """Records of all elements at every state (rows)."""
        out = np.zeros((len(t), len(self.work.effort_records)))
        with self.seeing(z):
            self.many("elements", t, np.ascontiguousarray(q), np.ascontiguousarray(u), out)
        return out

    def remember_start(self, t: float, y: Floats) -> None:
        """Elements write down the start, unless they remember something already: the state goes on from a run before."""
        if not self.remembers or not np.array_equal(
            self.unpack(y).z[self.nx :], self.layout.efforts.start[self.nx :]
        ):
            return
        with self.guard() as failure:
            status = native.entry("remember")(t, address(y), address(y), self.context_address)
        if status != OK:
            self.fail(status, t, failure)

    def states(self, t: Floats, y: Floats) -> tuple[Floats, Floats]:
        """(q, u) of integrator states (rows)."""
        y = y[:, : self.nq + self.nu]
        if not len(self.layout.plan.prescribed) and not self.coordinates.euler_parameters:
            return y[:, : self.nq].copy(), y[:, self.nq :].copy()
        q, u = np.zeros((len(t), self.nq)), np.zeros((len(t), self.nu))
        self.many("states", t, np.ascontiguousarray(y), q, u)
        return q, u

    @contextmanager
    def leaving_out(self, rows: NDArray[np.bool_]) -> Iterator[None]:
        """Within, `constraints` has zeros in these rows: chords that have let go."""
        before, self.left_out = self.left_out, np.asarray(rows, dtype=bool)
        try:
            yield
        finally:
            self.left_out = before

    @contextmanager
    def unloaded(self) -> Iterator[None]:
        """Without elements and loads."""
        at = SIZES.index("efforts")
        count, self.context[at] = int(self.context[at]), 0
        try:
            yield
        finally:
            self.context[at] = count

    def state_rates(self, t: float, q: Floats, u: Floats, z: Floats) -> Floats:
        """Rates of z at one state."""
        self.elements(np.array([t]), q[None], u[None], z[None])
        return self.work.zd.copy()

    def trace(self, t: Floats, q: Floats, u: Floats, ud: Floats) -> tuple[Floats, Floats]:
        """(trace, tau): motion and hinge load of every body (count, nb+1, 30), loads on the speeds (count, nu).

        Prescribed entries of q, u, ud are overwritten with what their signals say.
        """
        out, tau = np.zeros((len(t), self.rows, N_TRACE)), np.zeros((len(t), self.nu))
        self.many("trace", t, q, u, ud, tau, out)
        return out, tau

    def reset_chords(self, given: Mapping[str, Floats] | None = None) -> None:
        """Coordinates of cut hinges and auxiliary unknowns as a start for their fit: the reference, or by name.

        Where a number given is nan the reference stays.
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
        """(row, speed in public order) of every entry of P, as they stand one chord behind the other."""
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

    def constraints(self, t: float, q: Floats, u: Floats, ud: Floats | None = None) -> Constraints:
        """f, P, velocity residual P u + P0, and P ud + P00 of all chords, in the public order of the speeds."""
        work = self.chord_work
        q, u = np.array(q, dtype=np.float64), np.array(u, dtype=np.float64)
        given = np.zeros(self.nu) if ud is None else np.array(ud, dtype=np.float64)
        tau = np.zeros(self.nu)
        with self.guard() as failure:
            status = native.entry("constraints")(
                float(t), address(q), address(u), address(given), address(tau), address(self.chord_context)
            )
        if status != OK:
            self.fail(status, t, failure)
        P, places = np.zeros((len(self.layout.chords.rows), self.nu)), self.entry_places
        P[places] = work.partials[: len(places[0])]
        found = Constraints(
            work.row[:, row.POSITION].copy(),
            P,
            work.row[:, row.VELOCITY].copy(),
            work.row[:, row.BIAS].copy(),
            tau,
        )
        if self.left_out is not None:
            for rows in found[:4]:
                rows[self.left_out] = 0.0
        return found

    def refuse_weightless(self, t: float, q: Floats) -> None:
        """Say which speed meets no inertia at this position, if there is one: the mass matrix has no inverse there."""
        free = np.flatnonzero(self.free_speeds())
        A = self.mass_matrix(t, q)[np.ix_(free, free)]
        if not len(free) or not np.all(np.isfinite(A)):
            return
        values, vectors = np.linalg.eigh(A)
        if values[0] <= 1e-13 * values[-1]:
            name = self.coordinates.u_names[free[int(np.argmax(np.abs(vectors[:, 0])))]]
            raise SingularError(
                f"the speed {name!r} meets no inertia in this position (t = {t:.6g} s), so no acceleration follows from "
                "the loads. Give the bodies it moves some inertia in that direction, or use another hinge."
            )

    def speed_without_inertia(self, q: Floats) -> tuple[int, int] | None:
        """(body, column) of a free speed that meets no inertia at q, or None."""
        y = np.concatenate((q, self._zero, self.layout.efforts.start))
        dy = np.zeros(len(y))
        with self.unloaded(), self.guard() as failure:  # the entry a simulation needs anyway
            status = native.entry("rhs")(0.0, address(y), address(dy), self.context_address)
        if status != OK:
            self.fail(status, 0.0, failure)
        plan, W, S = self.layout.plan, self.work.body, self.work.speed
        arms = np.abs(
            plan.constants[:, [*range(body.PLACE_P, body.PLACE_P + 3), *range(body.COM, body.COM + 3)]]
        ).max(axis=1)
        totals = np.array([[b.mass, float(np.trace(b.inertia))] for b in self.tree.bodies])
        for i in range(self.rows - 1, 0, -1):  # subtree: mass, inertia, largest arm
            parent = self.tree.parent[i]
            totals[parent] += totals[i]
            if parent > 0:
                arms[parent] = max(arms[parent], arms[i])
        for i in range(self.rows - 1, 0, -1):  # tips first: what has no inertia spoils everything below it
            entry = plan.body[i]
            scale = (
                totals[i, 0] * max(arms[i] ** 2, 1.0 if entry[body.KIND] == body.PRISMATIC else 0.0)
                + totals[i, 1]
            )
            for d in range(entry[body.DOF], entry[body.DOF] + entry[body.N_FREE]):
                one = entry[body.KIND] in (body.REVOLUTE, body.PRISMATIC)
                with np.errstate(divide="ignore"):
                    pivot = 1.0 / W[i, body.D_INV] if one else S[d, speed.PIVOT]
                if not pivot > 1e-13 * scale:
                    return i, int(plan.dof[d, speed.COLUMN])
        return None

    def strike(self, before: float, after: float, y: Floats) -> Floats:
        """y after a jump of prescribed rates between two times an instant apart.

        Free speeds jump so that their momenta, the derivatives of the kinetic energy by them, do not, but for the impulses
        of the chords, which keep P u + P0 = 0. A prescribed motion that jumps itself is refused.
        """
        jump = False
        for k in self.layout.kinematic:
            old, new = self.layout.signals[k].at(before), self.layout.signals[k].at(after)
            if abs(new.value - old.value) > 1e-9 * (1.0 + abs(old.value)):
                raise TreemechError(
                    f"signal {self.layout.signals[k]!r} jumps from {old.value:.6g} to {new.value:.6g} at "
                    f"t = {after:.6g} s: a prescribed motion must be continuous."
                )
            jump = jump or abs(new.rate - old.rate) > 1e-9 * (1.0 + abs(old.rate))
        if not jump:
            return y
        q, u = (x[0] for x in self.states(np.array([before]), y[None]))
        _, v = (x[0] for x in self.states(np.array([after]), y[None]))
        free = self.free_speeds()
        if free.any():
            A = self.mass_matrix(after, q)[np.ix_(free, free)]
            change = self.driven_momenta(after, q) - self.driven_momenta(before, q)
            v[free] = u[free] - np.linalg.solve(A, change[free])
            if self.loops is not None:
                now = self.constraints(after, q, v)
                P = now.partials[:, free]
                step = np.linalg.solve(A, P.T)
                v[free] -= step @ np.linalg.lstsq(P @ step, now.velocity, rcond=1e-10)[0]
        return np.concatenate((self.pack(q, v)[: self.nq + self.nu], y[self.nq + self.nu :]))

    def driven_momenta(self, t: float, q: Floats) -> Floats:
        """Momenta of the free speeds while all of them are zero: what prescribed and moving hinges cause."""
        n = self.nu
        u, rows = np.vstack((np.zeros((1, n)), np.eye(n))), np.repeat(np.asarray(q)[None], n + 1, axis=0)
        trace, _ = self.trace(np.full(n + 1, float(t)), rows, u, np.zeros((n + 1, n)))
        bodies = self.tree.bodies
        com, mass = np.array([b.com for b in bodies]), np.array([b.mass for b in bodies])
        R = trace[:, :, ROTATION].reshape(n + 1, self.rows, 3, 3)
        J = np.einsum("bij,bjk,blk->bil", R[0], np.array([b.inertia for b in bodies]), R[0])
        w = trace[:, :, OMEGA]
        v = trace[:, :, VELOCITY] + np.cross(w, np.einsum("nbij,bj->nbi", R, com))
        translation = np.einsum("kbi,b,bi->k", v[1:] - v[0], mass, v[0])
        return np.asarray(translation + np.einsum("kbi,bij,bj->k", w[1:] - w[0], J, w[0]))

    def fail(self, status: int, t: float, failure: Any, partial: Any = None) -> None:
        """Raise for the element a status names."""
        error = ElementError(
            f"{self.culprit(status)} {_WHAT.get(split(status)[0], 'failed')} at t = {t:.6g} s{self.reason(status)}."
        )
        cause = getattr(failure, "exception", None) if split(status)[0] not in _WHAT else None
        if cause is not None:
            error = ElementError(
                f"{self.culprit(status)} failed at t = {t:.6g} s: {type(cause).__name__}: {cause}"
            )
        error.partial = partial
        raise error from cause

    def reason(self, status: int) -> str:
        """What an element without a finite load has met, if its record tells."""
        code, index = split(status)
        if code != EFFORT_NOT_FINITE:
            return ""
        applied, first = (
            self.layout.efforts.applied[index],
            self.layout.efforts.rows[index][effort.MOTION_RECORD],
        )
        if not isinstance(applied.element, Energetic):
            return ""
        seen = motion_views(
            self.work.effort_records[first : first + applied.sizes.motion_size], applied.sizes
        )
        told = applied.element.obstacle(seen)
        ends = (end.body.name if isinstance(end, Attachment) else end.name for end in applied.ends)
        return f": {told} (its ends: {', '.join(f'{k} {n!r}' for k, n in enumerate(ends))})" if told else ""

    def _owners(self, signal: Any) -> Iterator[str]:
        """Whatever has this signal, by the user's names."""

        def has(element: Any) -> bool:
            return any(value is signal for value in getattr(element, "__dict__", {}).values())

        for applied in self.layout.efforts.applied:
            if has(applied.element) or any(given is signal for given in applied.inputs):
                yield f"{'load' if role_of(applied.element) == 'load' else 'element'} {applied.name!r}"
        for branch in self.tree.branches:
            if has(branch.connection.element):
                yield f"hinge {branch.connection.name!r}"
        for name, element in zip(self.layout.chords.names, self.layout.chords.elements, strict=True):
            if has(element):
                yield f"{role_of(element)} {name!r}"
        for entry in self.layout.plan.prescribed:
            if self.layout.signals[entry[speed.PRESCRIBED_SIGNAL]] is signal:
                yield f"the prescribed {self.coordinates.u_names[entry[speed.PRESCRIBED_U]]!r}"

    def culprit(self, status: int) -> str:
        """The element a status is about, by the user's name."""
        code, index = split(status)
        if code == HINGE_FAILED:
            connection = self.tree.branches[index - 1].connection
            return f"hinge {connection.name!r} ({type(connection.element).__name__})"
        if code == CHORD_FAILED:
            element = self.layout.chords.elements[index]
            return f"{role_of(element)} {self.layout.chords.names[index]!r} ({element.kind})"
        if code in (LOAD_FAILED, EFFORT_NOT_FINITE, REACTION_LOST):
            applied = self.layout.efforts.applied[index]
            return f"{'load' if role_of(applied.element) == 'load' else 'element'} {applied.name!r} ({applied.element.kind})"
        if code == POINT_LOST:
            return f"composite {self.layout.efforts.composites[index].name!r}"
        if code == SIGNAL_FAILED:
            signal = self.layout.signals[index]
            owners = " and ".join(self._owners(signal))
            return f"signal of {owners} ({type(signal).__name__})" if owners else f"signal {signal!r}"
        return f"the core (status {status})"
