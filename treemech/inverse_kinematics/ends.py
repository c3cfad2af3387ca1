"""Gaps of ends from their targets, and their partials by the speeds, from one placement of the bodies.

A gap is the world position less the wanted one, and 2 sin(angle / 2) n of the rotation from the wanted attitude,
as in `assemble`: 1 m counts as much as 1 rad. The partials are the geometric Jacobian (5.2.7), (5.2.23): the
axes of the hinges on the way to the body, which the core stores where it places the bodies.
"""

from collections.abc import Sequence
from math import asin, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.dynamics.native import entry_points as native
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.plan.columns import body, speed, target
from treemech.topology.arrays import Floats, addresses
from treemech.topology.rotation import euler_parameters

from .targets import Wanted

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_NEXT, _OVER = [1, 2, 0], [2, 0, 1]


class Gap(NamedTuple):
    """How far an end is from its target."""

    distance: float  # [m] of the wanted components of the position
    angle: float  # [rad]


class _Way(NamedTuple):
    """The speeds that move a body, and where a target stands on it."""

    number: int
    regular: NDArray[np.int64]  # speeds in the order of the core
    public: NDArray[np.int64]
    owner: NDArray[np.int64]  # bodies in whose hinges they are
    offset: Floats  # of the end in the core's base of the body
    rotation: Floats
    from_wanted: Floats  # rotation from the wanted attitude to that of the end, if the body had no rotation
    wanted: NDArray[np.int64]  # components of the position
    position: Floats
    turned: bool  # whether a rotation is wanted
    root: tuple[float, float]
    rows: int


class Ends:
    """Places of all targets of one search at a time t."""

    def __init__(self, mech: "Mechanism", t: float, targets: Sequence[Wanted]) -> None:
        core = mech._core
        self.core, self.nu, self.targets = core, mech.nu, targets
        self._t, self._q, self._u = np.array([t]), np.zeros(max(mech.nq, 1)), np.zeros(max(mech.nu, 1))
        self._at = addresses((self._t, self._q, self._u))
        self._place: Any = native.entry("positions")
        plan = core.layout.plan
        self._owner = plan.dof[:, speed.OWNER]
        kind = plan.body[self._owner, body.KIND]
        self._kinds: list[tuple[int, Any]] = []
        for one, column in ((body.REVOLUTE, 0), (body.PRISMATIC, 3)):
            k = np.flatnonzero(kind == one)
            if len(k):
                sign = plan.constants[self._owner[k], body.SIGN][:, None]
                self._kinds.append((column, (k, self._owner[k], sign)))
        self._others = np.flatnonzero((kind != body.REVOLUTE) & (kind != body.PRISMATIC))
        self._axes = np.zeros((mech.nu, 6))  # angular, then linear
        self._axis = [body.R + 2, body.R + 5, body.R + 8]
        self._ways = [self._way(plan, x) for x in targets]
        self.count = sum(x.rows for x in self._ways)
        self._roots = np.concatenate([np.repeat(x.root, (len(x.wanted), 3 * (x.turned))) for x in self._ways])
        self._counts = self._roots > 0.0
        self._plain = bool(np.all(self._roots == 1.0))

    def _way(self, plan: Any, x: Wanted) -> _Way:
        on, i = np.zeros(len(plan.body), dtype=bool), x.number
        while i > 0:
            on[i], i = True, int(plan.body[i, body.PARENT])
        regular = np.flatnonzero(on[self._owner])
        frame = plan.frames[x.number]
        base = frame[:9].reshape(3, 3)
        wanted = np.flatnonzero(~np.isnan(x.position))
        return _Way(
            x.number,
            regular,
            plan.dof[regular, speed.PUBLIC],
            self._owner[regular],
            frame[9:] + base @ x.end.offset,
            base @ x.end.rotation,
            base @ x.end.rotation @ (np.eye(3) if x.rotation is None else x.rotation.T),
            wanted,
            x.position[wanted],
            x.rotation is not None,
            x.root,
            len(wanted) + 3 * (x.rotation is not None),
        )

    def table(self) -> Floats:
        """Return the targets as the compiled search takes them (kinematics.plan.columns.target)."""
        found = np.zeros((len(self._ways), target.N_TARGET))
        for row, way in zip(found, self._ways, strict=True):
            row[target.NUMBER], row[target.TURNED] = way.number, way.turned
            row[target.WANTED + way.wanted] = 1.0
            row[target.POSITION + way.wanted] = way.position
            row[target.OFFSET : target.OFFSET + 3] = way.offset
            row[target.FROM_WANTED : target.FROM_WANTED + 9] = way.from_wanted.ravel()
            row[target.ROOTS : target.ROOTS + 2] = way.root
        return found

    def place(self, q: Floats) -> Floats:
        """Place the bodies; return the core's array of bodies."""
        core = self.core
        self._q[: len(q)] = q
        if core.foreign:
            with core.guard() as failure:
                status = self._place(1, *self._at, core.context_address)
        else:
            failure, status = None, self._place(1, *self._at, core.context_address)
        if status != OK:
            core.fail(status, float(self._t[0]), failure)
        return core.work.body

    def bodies(self, q: Floats) -> Floats:
        """Return rotations and positions of all bodies as one row of numbers."""
        return self.place(q)[1:, : body.P + 3].ravel().copy()

    def measure(self, q: Floats) -> tuple[Floats, Floats]:
        """Return all gaps times the roots of their weights, and their partials (rows, nu)."""
        W, axes = self.place(q), self._axes
        for column, (k, owner, sign) in self._kinds:
            axes[k, column : column + 3] = sign * W[owner][:, self._axis]
        if len(self._others):
            axes[self._others] = self.core.work.speed[self._others, :6]
        gaps, J, first = np.zeros(self.count), np.zeros((self.count, self.nu)), 0
        for way in self._ways:
            R = W[way.number, body.R : body.R + 9].reshape(3, 3)
            here = W[way.number, body.P : body.P + 3] + R @ way.offset
            own = axes[way.regular].T
            w, n = own[:3], len(way.wanted)
            if n:
                a = here[:, None] - W[way.owner, body.P : body.P + 3].T
                partials = own[3:] + w[_NEXT] * a[_OVER] - w[_OVER] * a[_NEXT]
                gaps[first : first + n] = way.root[0] * (here[way.wanted] - way.position)
                J[first : first + n, way.public] = way.root[0] * partials[way.wanted]
                first += n
            if way.turned:
                e0, x, y, z = _euler(R @ way.from_wanted)
                gaps[first : first + 3] = (2.0 * way.root[1]) * np.array((x, y, z))
                slope = way.root[1] * np.array(((e0, z, -y), (-z, e0, x), (y, -x, e0)))
                J[first : first + 3, way.public] = slope @ w
                first += 3
        return gaps, J

    def reached(self, gaps: Floats, tolerance: float) -> bool:
        """Tell whether weighted gaps are within a tolerance; those of weight 0 do not count."""
        if not self._plain:
            gaps = gaps[self._counts] / self._roots[self._counts]
        return not len(gaps) or float(np.abs(gaps).max()) <= tolerance

    def gaps(self, q: Floats) -> list[Gap]:
        """Return distance and angle of every end from its target, without weights."""
        W, found = self.place(q), []
        for way in self._ways:
            R = W[way.number, body.R : body.R + 9].reshape(3, 3)
            here = W[way.number, body.P : body.P + 3] + R @ way.offset
            angle = 0.0
            if way.turned:
                e0, x, y, z = _euler(R @ way.from_wanted)
                s = sqrt(x * x + y * y + z * z)
                angle = 2.0 * asin(min(1.0, s)) if s < 0.7 else 2.0 * float(np.arctan2(s, e0))
            found.append(Gap(float(np.linalg.norm(here[way.wanted] - way.position)), angle))
        return found

    def moved(self, q: Floats) -> "list[Wanted]":
        """Return targets of the same kinds at the places where the ends are now."""
        W, found = self.place(q), []
        for way, x in zip(self._ways, self.targets, strict=True):
            R = W[way.number, body.R : body.R + 9].reshape(3, 3)
            here = W[way.number, body.P : body.P + 3] + R @ way.offset
            rotation = None if x.rotation is None else R @ way.rotation
            found.append(x._replace(position=np.where(np.isnan(x.position), np.nan, here), rotation=rotation))
        return found


def _euler(M: Floats) -> tuple[float, float, float, float]:
    """Return Euler parameters with e0 >= 0 of a rotation; the common case in plain numbers."""
    (a, b, c), (d, e, f), (g, h, i) = M.tolist()
    square = 1.0 + a + e + i
    if square > 0.5:
        e0 = 0.5 * sqrt(square)
        k = 0.25 / e0
        return e0, k * (h - f), k * (c - g), k * (d - b)
    e0, x, y, z = euler_parameters(M).tolist()
    return (e0, x, y, z) if e0 >= 0.0 else (-e0, -x, -y, -z)
