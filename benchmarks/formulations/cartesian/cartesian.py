"""Cartesian coordinates with Euler parameters: what the formulations in them share, around the compiled kernels."""

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import qr

import treemech as tm
from treemech.dynamics.equations import watch
from treemech.dynamics.model import trace as columns
from treemech.kinematics.kernel.language import ints
from treemech.kinematics.kernel.status import OK, split
from treemech.kinematics.plan.columns import body as column
from treemech.topology.arrays import Floats
from treemech.topology.rotation import euler_parameters

from .. import sparse_lu
from ..compiled import RHS, c_function
from ..compiled_formulation import CompiledFormulation
from ..formulation import Bodies
from . import kernels as k
from . import views as views
from .elements import Elements, Measured
from .forces import ForceElements
from .joint_rows import JOINED, Row, rows_of

_RANK = 1e-9  # rows whose pivot is smaller depend on the others
_WEAK = 1e-2  # part of the smallest pivot below which other rows are chosen


@c_function(RHS)
def motion(t, y, dy, context):  # type: ignore[no-untyped-def]
    """Write y' of the equations of motion."""
    return np.int32(k.motion(ints(context, views.N_CARTESIAN), t, y, dy))


@c_function(RHS)
def project(t, y, rank, context):  # type: ignore[no-untyped-def]
    """Bring the state onto the constraints."""
    C = ints(context, views.N_CARTESIAN)
    return np.int32(k.onto(C, t, y, views.monitor_(C)[watch.FRESH] > 0.0))


@c_function(RHS)
def evaluate(t, y, what, context):  # type: ignore[no-untyped-def]
    """Compute the rows of a state.

    `what` 1: also the values of the matrix, 2: also its factors, 3: fill and factors alone.
    """
    C = ints(context, views.N_CARTESIAN)
    status = k.evaluate(C, t, y) if what < 3 else OK
    if status == OK and 1 <= what <= 2:
        k.assemble(C)
    if status == OK and what >= 1:
        k.fill(C)
    if status == OK and what >= 2:
        status = k.factorise(C)
    return np.int32(status)


class Cartesian(CompiledFormulation):
    """A formulation in Cartesian coordinates; kind and way of factorisation are those of the subclass.

    kind 1: q = (r, p), q' (14 b); unknowns q'', sigma, lambda. kind 2: the same; q'', lambda. kind 3: q, (r', w)
    (13 b); r'', w', lambda. Of redundant rows an independent set is chosen at the start (the rows of
    the hinges of the tree, and of the others what QR with pivoting finds), and anew where they nearly become dependent.
    """

    kind: ClassVar[int] = 3
    sparse: ClassVar[bool] = False
    projects: ClassVar[bool] = True
    gain: ClassVar[float] = 0.0
    RHS = motion
    PROJECT = project
    PART = evaluate

    def __init__(self, system: tm.System) -> None:
        super().__init__(system)
        self.rows = rows_of(system)
        self.mech = system.build()
        self.nb = len(system.bodies) - 1
        self.measured = Measured(system, len(self.rows))
        self.forces = ForceElements(system, self.mech, self.measured)
        self.elements = Elements(system, self.mech, self.rows, self.measured)
        measured = [*self.rows, *self.measured.rows]
        self.blocks, joined = [0], []  # where the blocks of each row start, and their bodies
        for row in measured:
            joined += self.elements.bodies[row.connection] if row.kind == JOINED else [row.i, row.j]
            self.blocks.append(len(joined))
        body = np.zeros((self.nb + 1, 16))
        for i, b in enumerate(system.bodies):
            body[i, 0], body[i, 1:10] = b.mass, b.inertia.ravel()
        signals = self.mech._core.layout.signals
        row_ints = np.zeros((max(len(measured), 1), 7), dtype=np.int64)
        row_constants = np.zeros((max(len(measured), 1), 20))
        for r, row in enumerate(measured):
            signal = next((n for n, s in enumerate(signals) if s is row.signal), -1)
            row_ints[r] = row.kind, row.i, row.j, signal, not row.holonomic, *self.blocks[r : r + 2]
            com_i, com_j = system.bodies[row.i].com, system.bodies[row.j].com
            row_constants[r, :18] = np.concatenate(
                (row.a, row.b, row.point_i - com_i, row.point_j - com_j, row.x_i, row.x_j)
            )
            row_constants[r, 18:] = row.number, self.elements.chord_of(row)
        turn, state = np.zeros((self.nb + 1, 9)), np.zeros((self.nb + 1, 16))
        turn[0, [0, 4, 8]], state[0, views.EULER] = 1.0, 1.0
        self.arrays = {
            "body": body, "gravity": np.array(system.gravity), "row_ints": row_ints, "row_constants": row_constants,
            **self.forces.arrays, "turn": turn, "state": state, "turns": np.zeros(len(row_ints)),
            "turn_rows": np.array(self.measured.turns, dtype=np.int64), "element_rows": self.elements.numbers,
            "argument_blocks": self.elements.blocks, "poses": np.zeros((self.nb + 1, column.N_WORK)),
            "block_bodies": np.array(joined, dtype=np.int64),
            "applied": np.zeros((self.nb + 1, 6)), "jacobian": np.zeros((max(len(joined), 1), 6)),
            "level": np.zeros((len(row_ints), 3)), "multipliers": np.zeros(len(row_ints)), "whole": np.zeros(8, np.int64),
            "monitor": np.zeros(watch.N_MONITOR), "factors": np.zeros(8), "start": np.zeros((self.nb + 1, 9)), "frame": np.zeros(9),
            "flat": np.zeros((self.nb + 1, 8)),
            "independent": np.zeros(max(7 * self.nb, 1), np.int64),
        }  # fmt: skip
        self.arrays["factors"][0] = self.gain
        self.context = np.zeros(views.N_CARTESIAN, dtype=np.int64)
        self.nq = 7 * self.nb
        self.nv = (7 if self.kind <= 2 else 6) * self.nb
        self._chosen: dict[Any, list[int]] = {}  # rows of the start asked for last
        self._activate(np.arange(len(self.rows)))

    def joined(self, r: int) -> list[int]:
        """Return the bodies of the blocks of a row; 0 is the ground."""
        found: list[int] = self.arrays["block_bodies"][self.blocks[r] : self.blocks[r + 1]].tolist()
        return found

    # ------------------------------------------------------------ the matrix
    def entries(self) -> tuple[list[int], list[int], int]:
        """Return (rows, columns, size) of the entries, in the order in which the kernel gives their values."""
        nb, m, kind = self.nb, len(self.active), self.kind
        n = {1: 7, 2: 7, 3: 6}[kind]
        rows: list[int] = []
        cols: list[int] = []

        def put(r: int, c: int) -> None:
            rows.append(r)
            cols.append(c)

        # II: the seven equations of a body stand together, six of motion and its normalisation
        first = {1: 8 * nb, 2: 7 * nb, 3: 6 * nb}[kind]
        for i in range(nb):
            at = load = n * i
            normal = 7 * i + 6 if kind == 2 else 7 * nb + i
            for j in range(3):
                put(load + j, at + j)
            for a in range(4 if kind == 1 else 3):
                for b in range(3 if kind == 3 else 4):
                    put(load + 3 + a, at + 3 + b)
            for j in range(4 if kind <= 2 else 0):
                put(normal, at + 3 + j)
                if kind == 1:
                    put(at + 3 + j, normal)
        for r, number in enumerate(self.active):
            for i in self.joined(number):
                if i == 0:
                    continue
                at = n * (i - 1)
                if kind == 2:
                    for j in range(3):
                        put(first + r, at + j)
                        put(at + j, first + r)
                    for j in range(3):
                        put(at + 3 + j, first + r)
                    for j in range(4):
                        put(first + r, at + 3 + j)
                else:
                    for j in range(n):
                        put(first + r, at + j)
                        put(at + j, first + r)
        return rows, cols, first + m

    def derivative_entries(self) -> tuple[list[int], list[int]]:
        """Return (rows, columns) of the derivatives of loads, for implicit integration."""
        return [], []

    def _activate(self, active: Any) -> None:
        """Use these rows: make entries, pattern, memory for the matrix and its factors."""
        self.active = np.asarray(active, dtype=np.int64)
        rows, cols, n = self.entries()
        self.base = len(rows)
        for places, more in zip((rows, cols), self.derivative_entries(), strict=True):
            places += more
        A, self.size = self.arrays, n
        A["active"] = np.zeros(max(len(self.rows), 1), dtype=np.int64)
        A["active"][: len(self.active)] = self.active
        A["values"] = np.zeros(max(len(rows), 1))
        for name in ("right", "workspace"):
            A[name] = np.zeros(n)
        A["scratch"], A["stack"], A["mark"] = (
            np.zeros(3 * n + 16),
            np.zeros(3 * n + 16, np.int64),
            np.zeros(n, np.int64),
        )
        A["pivots"], A["pinv"], A["order"] = (
            np.zeros(n, np.int64),
            np.zeros(2 * n, np.int64),
            np.zeros(n, np.int64),
        )
        A["Ap"], A["Lp"], A["Up"] = (np.zeros(n + 1, np.int64) for _ in range(3))
        self.nonzeros = len(set(zip(rows, cols, strict=True)))
        if self.sparse:
            waiting = len(self.active) if self.kind == 3 else 0
            A["Ap"], A["Ai"], A["slot"], A["order"] = sparse_lu.analyse(n, rows, cols, waiting)
            A["matrix"] = np.zeros(len(A["Ai"]))
            self.allocate_factors(8 * len(A["Ai"]) + 4 * n)
        else:
            A["slot"] = np.array(rows, dtype=np.int64) * n + np.array(cols, dtype=np.int64)
            A["matrix"], A["Ai"] = np.zeros(n * n), np.zeros(1, np.int64)
            self.allocate_factors(1)
        self._address()

    def _address(self) -> None:
        A, C = self.arrays, self.context
        C[[views.BODIES, views.ROWS, views.ACTIVE, views.KIND, views.SPARSE, views.SIZE]] = (
            self.nb, len(self.rows), len(self.active), self.kind, self.sparse, self.size,
        )  # fmt: skip
        C[[views.MEASURED, views.ENDS, views.ACTED, views.SOURCES, views.STATES, views.TOUCHED, views.BASE]] = (
            len(self.rows) + len(self.measured.rows), len(A["end_bodies"]), len(A["acted_rows"]), len(A["source_rows"]),
            self.forces.nx, len(A["touched"]), self.base,
        )  # fmt: skip
        C[[views.ENTRIES, views.CORE, views.LOADS, views.MATRIX, views.CAPACITY, views.FACTORED, views.NQ, views.NV, views.FULL]] = (
            len(A["slot"]), self.mech._core.context_address, len(self.forces), len(A["matrix"]), len(A["Li"]), 0, self.nq,
            self.nv, 3 * self.size,
        )  # fmt: skip
        C[[views.BLOCKS, views.CHORDS, views.N_PLACES, views.N_ELEMENT_ROWS, views.TURNS, views.CARRIED]] = (
            len(A["block_bodies"]), self.elements.address, len(A["argument_blocks"]), len(A["element_rows"]), len(A["turn_rows"]),
            self.elements.carried,
        )  # fmt: skip
        self.write_addresses(views)

    # ------------------------------------------------------------ states
    def initial(self, state: tm.State) -> Floats:
        trace = self._trace(state)
        y = np.concatenate((np.zeros(self.nq + self.nv), self._tail(state)))
        for i, body in enumerate(self.system.bodies[1:]):
            line = trace[self.mech.tree.numbers[body.name]]
            R, w = line[columns.ROTATION].reshape(3, 3), line[columns.OMEGA]
            p, arm = euler_parameters(R), R @ body.com
            y[7 * i : 7 * i + 3] = line[columns.POSITION] + arm
            y[7 * i + 3 : 7 * i + 7] = p
            v, inner = line[columns.VELOCITY] + np.cross(w, arm), R.T @ w
            at = self.nq + (7 if self.kind <= 2 else 6) * i
            y[at : at + 3] = v
            if self.kind <= 2:
                L = np.array(k.lmatrix.py_func(*p)).reshape(3, 4)
                y[at + 3 : at + 7] = 0.5 * L.T @ inner
            else:
                y[at + 3 : at + 6] = inner
        self._select(state.t, y, state)
        return y

    def _tail(self, state: tm.State) -> Floats:
        """Return what stands behind coordinates and velocities: states of elements, and what is carried."""
        return np.concatenate((state.x, self.elements.start(self.mech, state)))

    def _trace(self, state: tm.State) -> Floats:
        """Return the motion of the bodies as the engine computes it."""
        core = self.mech._core
        one = [np.array([state.t]), state.q[None].copy(), state.u[None].copy(), np.zeros((1, self.mech.nu))]
        found: Floats = core.trace(*one)[0][0]
        return found

    def jacobian(self, t: float, y: Floats) -> Floats:
        """Return the active rows on the velocities (r', w) of all bodies."""
        self._call(evaluate, t, y, 0)
        J = np.zeros((len(self.active), 6 * self.nb))
        for r, number in enumerate(self.active):
            for block, i in enumerate(self.joined(number), self.blocks[number]):
                if i > 0:
                    J[r, 6 * i - 6 : 6 * i] += self.arrays["jacobian"][block]
        return J

    def _select(self, t: float, y: Floats, state: tm.State | None = None) -> None:
        """Select independent rows at a state. If all are independent, they stay, whatever the pivots.

        A start that was asked for before keeps its rows.
        """
        self.arrays["factors"][k.LEAST] = 0.0
        key = None if state is None else (state.t, state.q.tobytes(), state.u.tobytes())
        if key is None or key not in self._chosen:
            self._use(self._candidates())
            found = self._independent(self.jacobian(t, y), self._candidates())
            if key is not None:
                self._chosen = {key: found}
        else:
            found = self._chosen[key]
        self._use(found)
        self.context[views.FACTORED] = 0  # no pivots of a run before
        self._factorise_start(t, y)

    def _factorise_start(self, t: float, y: Floats) -> None:
        """Make the first factors, and the pivot below which other rows are chosen."""
        while True:
            status = self._call(evaluate, t, y, 2, fail=False)
            if status == OK:
                break
            code, why = split(status)
            if code != k.SINGULAR or why != 1:
                raise tm.SingularError(f"{self.name}: the matrix is singular at t = {t:.6g} s.")
            self.allocate_factors(2 * len(self.arrays["Li"]))
            self._address()
        if len(self.active) < len(self.rows):
            self.arrays["factors"][k.LEAST] = _WEAK * self.arrays["factors"][k.SMALLEST]

    def _candidates(self) -> list[int]:
        """Return the rows to choose from."""
        return list(range(len(self.rows)))

    def _use(self, rows: list[int]) -> None:
        """Activate these rows, unless they are."""
        if not np.array_equal(self.active, rows):
            self._activate(rows)

    def _independent(self, J: Floats, numbers: Any) -> list[int]:
        """Return independent rows of J: all of the branches of the tree, and others that add to the rank."""
        chords = {c.closes or c.name for c in self.mech.tree.chords} | set(self.system.couplings)
        cut = np.array([self.rows[r].connection in chords for r in numbers], dtype=bool)
        if not cut.any():
            return list(numbers)
        Q, _ = np.linalg.qr(J[~cut].T)
        rest = J[cut] - (J[cut] @ Q) @ Q.T
        chosen = [r for r, c in zip(numbers, cut, strict=True) if not c]
        _, R, order = qr(rest.T, mode="economic", pivoting=True)
        rank = int(np.sum(np.abs(np.diag(R)) > _RANK))
        others = [r for r, c in zip(numbers, cut, strict=True) if c]
        chosen += [others[n] for n in order[:rank]]
        return sorted(chosen)

    def _reselect(self, t: float, y: Floats) -> bool:
        """Choose other rows where the rows in use have nearly become dependent."""
        self._select(t, y)
        return True

    def options(self, setting: float) -> dict[str, Any]:
        projected = self.projects and (len(self.active) > 0 or self.kind <= 2)
        return {
            "project": self.PROJECT.address if projected else 0,
            "monitor": self.arrays["monitor"],
            "euler": tuple(7 * i + 3 for i in range(self.nb)),
            "controlled": self.nq + self.nv + self.forces.nx,
            "reselect": self._reselect,
        }

    # ------------------------------------------------------------ results
    def bodies(self, t: Floats, y: Floats) -> Bodies:
        n, nb = len(t), self.nb
        q = y[:, : self.nq].reshape(n, nb, 7)
        v = y[:, self.nq : self.nq + self.nv].reshape(n, nb, -1)
        p = q[:, :, 3:] / np.linalg.norm(q[:, :, 3:], axis=2, keepdims=True)
        R = rotations(p)
        com = np.array([b.com for b in self.system.bodies[1:]]).reshape(nb, 3)
        arm = np.einsum("nbij,bj->nbi", R, com)
        inner = v[:, :, 3:6]
        if self.kind <= 2:
            inner = 2.0 * np.einsum("nbij,nbj->nbi", lmatrices(p), v[:, :, 3:])
        w = np.einsum("nbij,nbj->nbi", R, inner)
        return Bodies(q[:, :, :3] - arm, R, v[:, :, :3] - np.cross(w, arm), w)

    def reactions(self, t: float, y: Floats) -> dict[str, tuple[Floats, Floats]]:
        self.rhs(t, y)
        A = self.arrays
        loads: dict[str, tuple[Floats, Floats]] = {
            n: (np.zeros(3), np.zeros(3)) for n in self.system.connections
        }
        for number in self.active:
            row = self.rows[number]
            if row.kind != JOINED:
                force, moment = self._of_row(number, row, A["multipliers"][number])
                loads[row.connection][0][:] += force
                loads[row.connection][1][:] += moment
        return self._with_elements(loads)

    def _with_elements(self, loads: dict[str, tuple[Floats, Floats]]) -> dict[str, tuple[Floats, Floats]]:
        """Add to the loads what elements on hinge coordinates, and couplings, do to the body of end b."""
        multipliers = np.where(
            np.isin(np.arange(len(self.rows)), self.active), self.arrays["multipliers"][: len(self.rows)], 0.0
        )
        joined = self.elements.on_coordinates(multipliers)
        for number, row, load in [*self.forces.on_coordinates(self.mech), *joined]:
            force, moment = self._of_row(number, row, load)
            loads[row.connection][0][:] += force
            loads[row.connection][1][:] += moment
        return loads

    def _of_row(self, number: int, row: Row, size: float) -> tuple[Floats, Floats]:
        """Return (force, moment) of a row with a load of this size, on the body of end b, at that end."""
        J, turn = (
            size * self.arrays["jacobian"][self.blocks[number] :][:2],
            self.arrays["turn"].reshape(-1, 3, 3),
        )
        if row.j == 0:  # what the ground gets is minus what the other body does, about the same point
            force, moment = -J[0, :3], -turn[row.i] @ J[0, 3:]
            arm = row.point_j - self.arrays["state"][row.i, views.PLACE : views.PLACE + 3]
        else:
            force, moment = J[1, :3], turn[row.j] @ J[1, 3:]
            arm = turn[row.j] @ (row.point_j - self.system.bodies[row.j].com)
        return force, moment - np.cross(arm, force)

    def residuals(self, t: Floats, y: Floats) -> Floats:
        """Return the residuals of all rows, redundant ones too; nonholonomic ones have none in position."""
        found = np.zeros((len(t), 2))
        keep = self.context[views.ACTIVE], self.arrays["active"].copy()
        if self.rows:
            self.context[views.ACTIVE] = len(self.rows)
            self.arrays["active"][:] = np.arange(len(self.rows))
            holonomic = np.array([row.holonomic for row in self.rows])
            for n, (time_, state) in enumerate(zip(t, y, strict=True)):
                self._call(evaluate, time_, state, 0)
                level = np.abs(self.arrays["level"][: len(self.rows)])
                found[n] = np.max(level[:, views.PHI] * holonomic), np.max(level[:, views.PHI_RATE])
            self.context[views.ACTIVE], self.arrays["active"][:] = keep
        return found


def lmatrices(p: Floats) -> Floats:
    """Return L (..., 3, 4) of Euler parameters (..., 4)."""
    e0, e1, e2, e3 = np.moveaxis(p, -1, 0)
    rows = [[-e1, e0, e3, -e2], [-e2, -e3, e0, e1], [-e3, e2, -e1, e0]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def rotations(p: Floats) -> Floats:
    """Return A = G L^T (..., 3, 3) of Euler parameters of length 1."""
    e0, e1, e2, e3 = np.moveaxis(p, -1, 0)
    rows = [[-e1, e0, -e3, e2], [-e2, e3, e0, -e1], [-e3, -e2, e1, e0]]
    G = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    return G @ np.swapaxes(lmatrices(p), -1, -2)
