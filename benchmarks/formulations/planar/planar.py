"""Planar Cartesian coordinates: x, y, phi of every body (Haug, chapters 3, 6 and 7)."""

from typing import Any, ClassVar

import numpy as np

import treemech as tm
from treemech.dynamics.model import trace as columns
from treemech.kinematics.kernel.language import floats, ints
from treemech.kinematics.kernel.status import OK
from treemech.topology.arrays import Floats

from ..cartesian import joint_rows as spatial
from ..cartesian import kernels as k
from ..cartesian import views as views
from ..cartesian.cartesian import Cartesian
from ..cartesian.joint_rows import Row
from ..compiled import RHS, c_function
from ..formulation import Bodies, Inexpressible
from . import kernels as p

_FLAT = 1e-9
_PARALLEL = (
    spatial.N1, spatial.POINT, spatial.N2, spatial.LENGTH, spatial.ANGLE, spatial.EDGE, spatial.TURN, spatial.ELEMENT,
    spatial.JOINED, spatial.FITTED,
)  # fmt: skip


@c_function(RHS)
def motion(t, y, dy, context):  # type: ignore[no-untyped-def]
    """Write y' of the equations of motion."""
    return np.int32(p.motion(ints(context, views.N_CARTESIAN), t, y, dy))


@c_function(RHS)
def project(t, y, rank, context):  # type: ignore[no-untyped-def]
    """Correct the state after a step."""
    return np.int32(p.onto(ints(context, views.N_CARTESIAN), t, y))


@c_function(RHS)
def part(t, y, what, context):  # type: ignore[no-untyped-def]
    """Compute a part: 0 rows, 1 also matrix values, 2 also factors, 3 fill and factors alone, 4 rows and
    partition.
    """
    C = ints(context, views.N_CARTESIAN)
    n, status = 3 * C[views.BODIES], OK
    if what != 3:
        k.take_states(C, y + 16 * n)
        status = p.evaluate(C, t, floats(y, n), floats(y + 8 * n, n))
    if status == OK and (what == 1 or what == 2):
        status = p.apply(C, t)
        p.assemble(C)
    if status == OK and (what == 2 or what == 3):
        k.fill(C)
        status = k.factorise(C)
    if status == OK and what == 4:
        status = p.choose(C)
    return np.int32(status)


class Planar(Cartesian):
    """[M Phi^T; Phi 0] with 3 b coordinates and m rows (6.3.18), by sparse LU; subclasses treat the constraint error.

    The plane is found from the axes of the hinges at the start; a motion out of it is refused by name.
    """

    sparse = True
    partitioned: ClassVar[bool] = False
    stabilised: ClassVar[bool] = False
    RHS = motion
    PROJECT = project
    PART = part

    def __init__(self, system: tm.System) -> None:
        super().__init__(system)
        self.normal = _normal(system, self.rows)
        self.nq = self.nv = 3 * self.nb
        self._address()

    # ------------------------------------------------------------ rows in the plane
    def initial(self, state: tm.State) -> Floats:
        trace = self._trace(state)
        tree, bodies = self.mech.tree, self.system.bodies
        self.R0 = np.array([trace[tree.numbers[b.name]][columns.ROTATION].reshape(3, 3) for b in bodies])
        body, along = self.normal
        n = self.R0[body] @ along
        e1 = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
        e1 /= np.linalg.norm(e1)
        self.E = E = np.array([e1, np.cross(n, e1), n])
        A = self.arrays
        A["frame"][:] = E.ravel()
        A["start"][:] = self.R0.reshape(-1, 9)
        A["flat"][0, p.COS] = 1.0
        self._check_axes(n)
        y = np.concatenate((np.zeros(2 * self.nq), self._tail(state)))
        for i, b in enumerate(bodies[1:]):
            line = trace[tree.numbers[b.name]]
            R, w = self.R0[i + 1], line[columns.OMEGA]
            x = E @ (line[columns.POSITION] + R @ b.com)
            v = E @ (line[columns.VELOCITY] + np.cross(w, R @ b.com))
            w = E @ w
            if abs(v[2]) > _FLAT or np.max(np.abs(w[:2])) > _FLAT:
                raise Inexpressible(f"body {b.name!r} moves out of the plane.")
            y[3 * i : 3 * i + 2], y[self.nq + 3 * i : self.nq + 3 * i + 2] = x[:2], v[:2]
            y[self.nq + 3 * i + 2] = w[2]
            A["body"][i + 1, 10], A["body"][i + 1, 11] = n @ R @ b.inertia @ R.T @ n, x[2]
        self._flatten(state)
        self._select(state.t, y, state)
        if self.partitioned or self.stabilised:
            self._call(part, state.t, y, 4)
        return y

    def _check_axes(self, n: Floats) -> None:
        """Check that turns are about the normal, slides along the plane."""
        for name, connection in self.system.connections.items():
            if not connection.is_hinge or isinstance(connection.element, tm.Rigid):
                continue
            for end in connection.ends:
                z = self.R0[end.body.number] @ (end.rotation @ connection.element.base())[:, 2]
                off = (
                    z @ n if isinstance(connection.element, tm.Prismatic) else np.linalg.norm(np.cross(z, n))
                )
                if abs(off) > _FLAT:
                    raise Inexpressible(f"hinge {name!r} ({connection.element.kind}) leads out of the plane.")

    def _flatten(self, state: tm.State) -> None:
        """Turn the spatial rows that matter in the plane into planar ones."""
        whole, constants = self.arrays["row_ints"], self.arrays["row_constants"]
        signals = self.mech._core.layout.signals
        found: dict[int, tuple[int, Floats]] = {}
        for r, row in enumerate(self.rows):
            flat = self._flat(row, state)
            if flat is not None:
                found[r] = flat
        self.kinds = found
        for r, (kind, line) in found.items():
            row = self.rows[r]
            signal = next((n for n, s in enumerate(signals) if s is row.signal), -1)
            whole[r, views.ROW_KIND], whole[r, views.SIGNAL] = kind, signal
            constants[r] = line

    def _flat(self, row: Row, state: tm.State) -> tuple[int, Floats] | None:
        E, Ri, Rj = self.E, self.R0[row.i], self.R0[row.j]
        bodies = self.system.bodies
        line = np.zeros(20)
        line[6:8] = (E @ Ri @ (row.point_i - bodies[row.i].com))[:2]
        line[9:11] = (E @ Rj @ (row.point_j - bodies[row.j].com))[:2]
        a = E @ (row.a if row.kind == spatial.POINT else Ri @ row.a)
        b = E @ Rj @ row.b
        if row.kind in (spatial.ELEMENT, spatial.JOINED, spatial.FITTED):
            line[18:] = row.number, self.elements.chord_of(row)
            return row.kind, line
        if row.kind == spatial.POINT:
            # the three components of a coincidence: two in the plane
            k_ = int(np.argmax(np.abs(row.a)))
            if k_ == 2:
                return None
            line[:2] = np.eye(2)[k_]
            return p.POINT, line
        if row.kind == spatial.N1:
            if abs(a[2]) > 1 - _FLAT or abs(b[2]) > 1 - _FLAT:
                return None  # holds in the plane by itself
            if max(abs(a[2]), abs(b[2])) > _FLAT:
                raise Inexpressible(f"{row.connection!r} has a vector that is oblique to the plane.")
            return p.TURN, line  # no relative turn: the angles are counted from the start
        if row.kind == spatial.N2:
            if abs(a[2]) > 1 - _FLAT:
                return None
            if abs(a[2]) > _FLAT:
                raise Inexpressible(f"{row.connection!r} has a vector that is oblique to the plane.")
            line[:2] = a[:2]
            return p.LINE, line
        if row.kind in (spatial.ANGLE, spatial.TURN):
            if abs(a[2]) < 1 - _FLAT:
                raise Inexpressible(f"{row.connection!r} turns about an axis that leads out of the plane.")
            line[18], line[19] = (0.0 if row.signal is None else row.signal.at(state.t).value), np.sign(a[2])
            return p.TURN, line
        if row.kind == spatial.LENGTH:
            heights = self.arrays["body"][:, 11]
            apart = E @ (Rj @ (row.point_j - bodies[row.j].com) - Ri @ (row.point_i - bodies[row.i].com))
            if abs(heights[row.j] - heights[row.i] + apart[2]) > _FLAT:
                raise Inexpressible(f"{row.connection!r} joins points at two heights above the plane.")
            line[18] = row.number
            return p.LENGTH, line
        line[3:5] = b[:2]
        return p.EDGE, line

    def entries(self) -> tuple[list[int], list[int], int]:
        rows = list(range(3 * self.nb))
        cols = list(rows)
        first = 3 * self.nb
        for r, number in enumerate(self.active):
            for i in self.joined(number):
                for j in range(3 if i > 0 else 0):
                    rows += [first + r, 3 * (i - 1) + j]
                    cols += [3 * (i - 1) + j, first + r]
        return rows, cols, first + len(self.active)

    def _activate(self, active: Any) -> None:
        if hasattr(self, "kinds"):
            active = [r for r in np.asarray(active).tolist() if r in self.kinds]
        super()._activate(active)
        capacity = max(len(self.arrays["Lx"]), (3 * self.nb) * max(len(self.active), 1) + 1)
        self.allocate_factors(capacity)
        self.arrays["scratch"] = np.zeros(3 * self.size + 18 * (self.nb + 4))
        self.arrays["pivots"] = np.zeros(self.size + 1, np.int64)
        self.arrays["factors"][p.PARTITIONED] = self.partitioned
        self.arrays["factors"][p.STABILISED] = self.stabilised
        self._address()

    def jacobian(self, t: float, y: Floats) -> Floats:
        self._call(part, t, y, 0)
        J = np.zeros((len(self.active), 3 * self.nb))
        for r, number in enumerate(self.active):
            for block, i in enumerate(self.joined(number), self.blocks[number]):
                if i > 0:
                    J[r, 3 * i - 3 : 3 * i] += self.arrays["jacobian"][block, :3]
        return J

    def _candidates(self) -> list[int]:
        return sorted(self.kinds)

    def _factorise_start(self, t: float, y: Floats) -> None:
        self._call(part, t, y, 2)

    # ------------------------------------------------------------ as the others
    def options(self, setting: float) -> dict[str, Any]:
        self.arrays["factors"][p.TOLERANCE] = 10.0 * setting
        projected = (self.partitioned or self.stabilised) and len(self.active) > 0
        return {
            "project": self.PROJECT.address if projected else 0,
            "monitor": self.arrays["monitor"],
            "controlled": 2 * self.nq + self.forces.nx,
        }

    def bodies(self, t: Floats, y: Floats) -> Bodies:
        n, nb, E = len(t), self.nb, self.E
        q, v = y[:, : self.nq].reshape(n, nb, 3), y[:, self.nq : 2 * self.nq].reshape(n, nb, 3)
        c, s, zero, one = np.cos(q[:, :, 2]), np.sin(q[:, :, 2]), np.zeros((n, nb)), np.ones((n, nb))
        turn = np.stack(
            [np.stack(line, axis=-1) for line in ([c, -s, zero], [s, c, zero], [zero, zero, one])], axis=-2
        )
        R = np.einsum("ai,nbac,cj,bjk->nbik", E, turn, E, self.R0[1:])
        height = self.arrays["body"][1:, 11]
        x = q[:, :, :2] @ E[:2] + height[None, :, None] * E[2]
        w = v[:, :, 2:] * E[2]
        arm = np.einsum("nbij,bj->nbi", R, np.array([b.com for b in self.system.bodies[1:]]).reshape(nb, 3))
        return Bodies(x - arm, R, v[:, :, :2] @ E[:2] - np.cross(w, arm), w)

    def reactions(self, t: float, y: Floats) -> dict[str, tuple[Floats, Floats]]:
        """Return forces in the plane and moments about its normal; the loads across it are not known."""
        self.rhs(t, y)
        A = self.arrays
        found: dict[str, tuple[Floats, Floats]] = {
            name: (np.zeros(3), np.zeros(3)) for name in self.system.connections
        }
        for number in self.active:
            row = self.rows[number]
            if row.kind == spatial.JOINED:
                continue
            lam, J = A["multipliers"][number], A["jacobian"][self.blocks[number] + 1]
            force, moment = lam * J[:2], lam * J[2]
            c, s = A["flat"][row.j, p.COS], A["flat"][row.j, p.SIN]
            x, y_ = A["row_constants"][number, 9:11]
            about = moment - ((c * x - s * y_) * force[1] - (s * x + c * y_) * force[0])
            found[row.connection][0][:] += force @ self.E[:2]
            found[row.connection][1][:] += about * self.E[2]
        return self._with_elements(found)

    def residuals(self, t: Floats, y: Floats) -> Floats:
        found, holonomic = (
            np.zeros((len(t), 2)),
            [r for r in self.active if self.rows[r].holonomic],
        )
        for n, (time_, state) in enumerate(zip(t, y, strict=True)):
            self._call(part, time_, state, 0)
            level = np.abs(self.arrays["level"])
            found[n] = (
                np.max(level[holonomic, views.PHI], initial=0.0),
                np.max(level[self.active, views.PHI_RATE], initial=0.0),
            )
        return found


def _normal(system: tm.System, rows: list[Row]) -> tuple[int, Floats]:
    """Return (body, direction in it) of the normal of the plane: the axis of the first hinge that turns in
    one.
    """
    allowed = (tm.Revolute, tm.Prismatic, tm.Planar, tm.Polar, tm.Rigid)
    found: tuple[int, Floats] | None = None
    for name, connection in system.connections.items():
        element = connection.element
        if connection.is_hinge and not isinstance(element, allowed):
            raise Inexpressible(f"{name!r} ({element.kind}) is not a joint of planar mechanisms.")
        if isinstance(element, (tm.Revolute, tm.Planar, tm.Polar)) and found is None:
            a = connection.ends[0]
            found = a.body.number, (a.rotation @ element.base())[:, 2]
    if found is None:
        raise Inexpressible("no hinge says which plane the system moves in.")
    for row in rows:
        if row.kind not in _PARALLEL:
            raise Inexpressible(f"{row.connection!r} is not planar.")
    return found
