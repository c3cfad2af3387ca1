"""Augmented Lagrangian in Cartesian coordinates: penalties, made exact by iteration of the multipliers."""

from typing import Any

import numpy as np

import treemech as tm
from treemech.dynamics.equations import kkt, watch
from treemech.dynamics.model.ordering import analyse
from treemech.kinematics.kernel.language import address_of, floats, ints, kernel
from treemech.kinematics.kernel.status import CHAIN_OPEN, OK
from treemech.topology.arrays import Floats

from .. import dense
from ..compiled import RHS, c_function
from . import kernels as k
from . import views as views
from .cartesian import Cartesian

PENALTY = 1e4  # times the largest mass: an iteration leaves about 1e-4 of the residual
_PENALTY = 1  # place in `factors`


@kernel
def assemble(C):  # type: ignore[no-untyped-def]
    """Write the values of M + alpha B^T B, lower half: bodies, then rows."""
    B, J, n, joined, v, at, alpha = (
        views.body_(C),
        views.jacobian_(C),
        views.row_ints(C),
        views.block_bodies(C),
        views.values_(C),
        0,
        views.factors_(C)[_PENALTY],
    )
    for i in range(1, C[views.BODIES] + 1):
        for _ in range(3):
            v[at] = B[i, 0]
            at += 1
        for a in range(3):
            for b in range(a + 1):
                v[at] = B[i, 1 + 3 * a + b]
                at += 1
    for r in range(C[views.ROWS]):
        first = n[r, views.FIRST]
        for p in range(first, n[r, views.STOP]):
            if joined[p] == 0:
                continue
            for a in range(6):
                x = alpha * J[p, a]
                for o in range(first, p):
                    if joined[o] > 0:
                        for b in range(6):
                            v[at] = x * J[o, b]
                            at += 1
                for b in range(a + 1):
                    v[at] = x * J[p, b]
                    at += 1


@kernel
def factorise(C):  # type: ignore[no-untyped-def]
    n, M = C[views.SIZE], views.matrix_(C)
    if C[views.SPARSE] == 1:
        x = address_of(views.scratch_(C))
        kkt.factorise(
            n, n, views.Ap_(C), views.Ai_(C), M, views.Lp_(C), views.Li_(C), views.Up_(C), views.Ui_(C), views.stack_(C), views.order_(C),
            floats(x, 0), views.Lx_(C), floats(x, n), floats(x + 8 * n, n), floats(x + 16 * n, n),
        )  # fmt: skip
        return OK
    return OK if dense.cholesky(C[views.POTRF], views.whole_(C), n, address_of(M)) else k.SINGULAR


@kernel
def back(C):  # type: ignore[no-untyped-def]
    """Solve the system: right <- matrix^-1 right."""
    n, b = C[views.SIZE], views.right_(C)
    if C[views.SPARSE] == 1:
        order, x = views.order_(C), address_of(views.scratch_(C))
        y = floats(x + 16 * n, n)
        for i in range(n):
            y[i] = b[order[i]]
        kkt.solve(n, views.Lp_(C), views.Li_(C), views.Lx_(C), floats(x + 8 * n, n), y)
        for i in range(n):
            b[order[i]] = y[i]
        return
    dense.cholesky_solve(C[views.POTRS], views.whole_(C), n, address_of(views.matrix_(C)), 1, address_of(b))


@kernel
def push(C, r, s):  # type: ignore[no-untyped-def]
    """Add s times a row to the right side: right += s B_r^T."""
    n, J, joined, b = views.row_ints(C), views.jacobian_(C), views.block_bodies(C), views.right_(C)
    for p in range(n[r, views.FIRST], n[r, views.STOP]):
        i = joined[p]
        if i > 0:
            for j in range(6):
                b[6 * (i - 1) + j] += s * J[p, j]


@kernel
def pull(C, r, x):  # type: ignore[no-untyped-def]
    """Return B_r x."""
    n, J, joined, total = views.row_ints(C), views.jacobian_(C), views.block_bodies(C), 0.0
    for p in range(n[r, views.FIRST], n[r, views.STOP]):
        i = joined[p]
        if i > 0:
            for j in range(6):
                total += J[p, j] * x[6 * (i - 1) + j]
    return total


@kernel
def prepare(C, t, y):  # type: ignore[no-untyped-def]
    status = k.evaluate(C, t, y)
    if status != OK:
        return status
    assemble(C)
    k.fill(C)
    return factorise(C)


@c_function(RHS)
def motion(t, y, dy, context):  # type: ignore[no-untyped-def]
    """Solve (M + alpha B^T B) a = Q + B^T (alpha gamma - lambda), lambda += alpha (B a - gamma), by
    iteration.
    """
    C = ints(context, views.N_CARTESIAN)
    status = prepare(C, t, y)
    if status != OK:
        return np.int32(status)
    nb, V, lam, b, F = (
        C[views.BODIES],
        views.level_(C),
        views.multipliers_(C),
        views.right_(C),
        views.applied_(C),
    )
    alpha, size = views.factors_(C)[_PENALTY], 1.0
    for r in range(C[views.ROWS]):
        lam[r] = 0.0
        size = max(size, abs(V[r, views.GAMMA]))
    before = 1e300
    for _ in range(12):
        for i in range(1, nb + 1):
            moment = k.inner_torque(C, i)
            for j in range(3):
                b[6 * (i - 1) + j], b[6 * (i - 1) + 3 + j] = F[i, j], moment[j]
        for r in range(C[views.ROWS]):
            push(C, r, alpha * V[r, views.GAMMA] + lam[r])
        back(C)
        gap = 0.0
        for r in range(C[views.ROWS]):
            rest = pull(C, r, b) - V[r, views.GAMMA]
            lam[r] -= alpha * rest
            gap = max(gap, abs(rest))
        if gap <= 1e-13 * size or not gap < 0.5 * before:
            break
        before = gap
    k.rates(C, dy)
    return np.int32(OK)


@kernel
def step(C, y, column):  # type: ignore[no-untyped-def]
    """Correct positions or velocities once, with the last factors (mass-orthogonal projection)."""
    nb, b, V, S, alpha = (
        C[views.BODIES],
        views.right_(C),
        views.level_(C),
        views.state_(C),
        views.factors_(C)[_PENALTY],
    )
    for i in range(C[views.SIZE]):
        b[i] = 0.0
    for r in range(C[views.ROWS]):
        push(C, r, -alpha * V[r, column])
    back(C)
    q, v = floats(y, C[views.NQ]), floats(y + 8 * C[views.NQ], C[views.NV])
    if column == views.PHI_RATE:
        for i in range(C[views.NV]):
            v[i] += b[i]
        return
    for i in range(nb):
        for j in range(3):
            q[7 * i + j] += b[6 * i + j]
        L = k.lmatrix(
            S[i + 1, views.EULER],
            S[i + 1, views.EULER + 1],
            S[i + 1, views.EULER + 2],
            S[i + 1, views.EULER + 3],
        )
        s = 0.0
        for j in range(4):
            q[7 * i + 3 + j] += 0.5 * (
                L[j] * b[6 * i + 3] + L[4 + j] * b[6 * i + 4] + L[8 + j] * b[6 * i + 5]
            )
            s += q[7 * i + 3 + j] ** 2
        for j in range(4):
            q[7 * i + 3 + j] /= s**0.5


@c_function(RHS)
def project(t, y, rank, context):  # type: ignore[no-untyped-def]
    """Bring the state onto the constraints."""
    C = ints(context, views.N_CARTESIAN)
    status = OK
    if not views.monitor_(C)[watch.FRESH] > 0.0:
        status = prepare(C, t, y)
    if status != OK:
        return np.int32(status)
    for column in (views.PHI, views.PHI_RATE):
        before = 1e300
        for _ in range(10):
            gap = k.largest(C, column)
            if gap < 1e-15 or not gap < 0.5 * before:
                break
            before = gap
            step(C, y, column)
            k.evaluate(C, t, y)
    k.keep_carried(C, y)
    return np.int32(OK if k.largest(C, views.PHI) < 1e-8 else CHAIN_OPEN)


@c_function(RHS)
def part(t, y, what, context):  # type: ignore[no-untyped-def]
    """Compute a part, for timing and the start: 1 rows and values, 2 also factors, 3 fill and factors."""
    C = ints(context, views.N_CARTESIAN)
    status = k.evaluate(C, t, y) if what < 3 else OK
    if status == OK and what < 3:
        assemble(C)
    if status == OK and what >= 2:
        k.fill(C)
        status = factorise(C)
    return np.int32(status)


class Dense(Cartesian):
    """M + alpha B^T B (6 b, positive definite) by Cholesky (LAPACK), with projection after every step.

    Redundant rows share their loads; nothing is selected.
    """

    name = "augmented-lagrangian-dense"
    source = (
        "E. Bayo, J. Garcia de Jalon, M. A. Serna, Comp. Meth. Appl. Mech. Eng. 71 (1988) 183; E. Bayo, R. Ledesma, "
        "Nonlinear Dynamics 9 (1996) 113"
    )
    RHS = motion
    PROJECT = project
    PART = part

    def entries(self) -> tuple[list[int], list[int], int]:
        rows: list[int] = []
        cols: list[int] = []
        for i in range(self.nb):
            pairs = [(j, j) for j in range(3)] + [(3 + a, 3 + b) for a in range(3) for b in range(a + 1)]
            rows += [6 * i + a for a, _ in pairs]
            cols += [6 * i + b for _, b in pairs]
        for r in range(len(self.rows)):
            at = [6 * (i - 1) + j if i else -1 for i in self.joined(r) for j in range(6)]
            for a in range(len(at)):
                for b in range(a + 1):
                    if at[a] >= 0 and at[b] >= 0:
                        rows.append(max(at[a], at[b]))
                        cols.append(min(at[a], at[b]))
        return rows, cols, 6 * self.nb

    def _activate(self, active: Any) -> None:
        del active
        everything = np.arange(len(self.rows))
        if not self.sparse:
            super()._activate(everything)
            rows, cols, _ = self.entries()
            self.nonzeros = 2 * len(set(zip(rows, cols, strict=True))) - self.size
        else:
            rows, cols, n = self.entries()
            pattern, A = analyse(n, 0, rows, cols), self.arrays
            self.sparse = False  # type: ignore[misc]
            super()._activate(everything)
            self.sparse = True  # type: ignore[misc]
            A["slot"], A["matrix"], A["Ai"] = pattern.slot, np.zeros(len(pattern.Ai)), pattern.Ai
            A["Ap"], A["order"], A["Lp"], A["Li"] = pattern.Ap, pattern.perm, pattern.Lp, pattern.Li
            A["Up"], A["Ui"], A["stack"] = pattern.Rp, pattern.Ri, pattern.Rs
            A["Lx"], A["Ux"] = np.zeros(max(pattern.nnz, 1)), np.zeros(1)
            self.nonzeros = 2 * len(pattern.Ai) - n
            self._address()
        self.arrays["factors"][_PENALTY] = PENALTY * max(b.mass for b in self.system.bodies)

    def _select(self, t: float, y: Floats, state: tm.State | None = None) -> None:
        if self._call(part, t, y, 2, fail=False) != OK:
            raise tm.SingularError(f"{self.name}: the matrix is singular at t = {t:.6g} s.")


class Sparse(Dense):
    """The same matrix by LDL^T on its pattern."""

    name = "augmented-lagrangian-sparse"
    assembly_note = (
        "six rows a body whatever joins them; bodies joined to the ground only are blocks of their own"
    )
    sparse = True
