"""Forward sensitivities: how a motion changes with parameters of the model, s = dy/dp along y = (q, u, x).

They obey the equations of motion differentiated along the motion::

    s_q' = s_u + H s_q      s_u' = d ud / d(q, u, x) s + d ud / dp      s_x' = d x' / d(q, u, x) s + d x' / dp

with displacements in the directions of the speeds (H is omega x for Euler parameters, zero otherwise): linear equations, solved
by Gauss collocation of order 10 on the steps of the motion, which are halved until two solutions agree. The Jacobian is the
exact one; with closed chains it is a central difference of sixth order of the compiled equations where that agrees
with the exact one, which takes much longer. With closed chains s obeys the constraints as well, P s_q + df/dp = 0 and its
rate.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.topology import ConvergenceError

from .core import Core, Floats
from .derivatives import derivatives, free_speeds
from .linearization import turning
from .parameter_derivatives import CENTRAL, STEP, Stencil, prescribed_motion, sum_of, weights
from .tree_room import TreeDerivatives

_CENTRAL = weights(CENTRAL)
_RANK = 1e-9  # singular values of the constraints below this part of the largest are those of redundant rows
_AGREE = 1e-9  # how well differences must meet the exact Jacobian
_ROWS = 4096  # states evaluated at once
_STAGES = 5
_FEW = 8  # speeds of a closed chain up to which differences of many states at once are faster than exact derivatives of each
_HALVINGS = 6


class Motion(NamedTuple):
    """States along a motion (rows); `cut`: coordinates of cut hinges."""

    t: Floats
    q: Floats
    u: Floats
    z: Floats
    cut: Floats

    def at(self, rows: slice | list[int]) -> "Motion":
        return Motion(*(part[rows] for part in self))


class Variation:
    """The equations of s for some parameters; s is (nu + nu + nx, np): displacements, speeds, states of elements."""

    def __init__(self, core: Core, room: TreeDerivatives, stencils: Sequence[Stencil]) -> None:
        self.core, self.room, self.stencils = core, room, tuple(stencils)
        self.free: NDArray[np.bool_] = free_speeds(core)
        self._step: float | None = None
        self._agree = 0.0

    def solve(self, motion: Callable[[Floats], Motion], edges: Floats, start: Floats, rtol: float) -> Floats:
        """s at the edges (steps of the motion, and wherever it breaks): (edges, 2 nu + nx, np), to rtol."""
        self._agree, self._step = max(_AGREE, 0.1 * rtol), None
        coarse = self._collocated(motion, edges, start, 1)
        for halving in range(1, _HALVINGS):
            fine = self._collocated(motion, edges, start, 2**halving)
            sizes = np.max(np.abs(fine), axis=0, initial=0.0)
            sizes = np.maximum(sizes, np.max(sizes, axis=0))
            if np.all(np.abs(fine - coarse) <= rtol * sizes):
                return fine
            coarse = fine
        raise ConvergenceError(
            f"sensitivities do not settle to rtol = {rtol:g} on steps of the motion cut by {2**halving}: the motion is not "
            "smooth, or so sensitive that its rounding shows. Ask for less, or a shorter time."
        )

    def _collocated(
        self, motion: Callable[[Floats], Motion], edges: Floats, start: Floats, parts: int
    ) -> Floats:
        n = len(start)
        fine = np.unique(
            np.concatenate([edges, *((edges[:-1] + k / parts * np.diff(edges)) for k in range(parts))])
        )
        h = np.diff(fine)
        nodes, a, b = _gauss(_STAGES)
        J, f = self.linear(motion((fine[:-1, None] + h[:, None] * nodes).ravel()))
        J, f = J.reshape(len(h), _STAGES, n, n), f.reshape(len(h), _STAGES, n, -1)
        # K_i = J_i (s + h sum a_ij K_j) + f_i, for s = each unit vector and for f
        system = np.eye(_STAGES * n) - np.einsum("m,ij,mikl->mikjl", h, a, J).reshape(len(h), _STAGES * n, -1)
        right = np.concatenate((J, f), axis=3).reshape(len(h), _STAGES * n, -1)
        K = np.linalg.solve(system, right).reshape(len(h), _STAGES, n, -1)
        change = np.einsum("m,i,mikl->mkl", h, b, K)
        s, found = start, [start]
        for step in change:
            s = s + step[:, :n] @ s + step[:, n:]
            found.append(s)
        return np.array(found)[np.searchsorted(fine, edges)]

    def linear(self, y: Motion) -> tuple[Floats, Floats]:
        """J, f of s' = J s + f at many states: (states, n, n) and (states, n, np)."""
        n, nx = self.core.nu, self.core.nx
        size = 2 * n + nx
        J, f = np.zeros((len(y.t), size, size)), np.zeros((len(y.t), size, len(self.stencils)))
        J[:, :n, n : 2 * n] = np.eye(n)
        if self.core.coordinates.euler_parameters:
            J[:, :n, :n] = [turning(self.core, u) for u in y.u]
        J[:, n:] = self._jacobians(y)
        J[:, n:, np.flatnonzero(np.tile(~self.free, 2))] = 0.0  # prescribed motions are in f already
        for j, stencil in enumerate(self.stencils):
            f[:, n:, j] = sum_of(stencil.weights, tuple(evaluate(core, y) for core in stencil.cores))
        return J, f

    def _jacobians(self, y: Motion) -> Floats:
        """Of (ud, x') by displacements, speeds and states of elements."""
        if self.core.loops is None or self.core.nu > _FEW:
            return np.array([self.exact(y, k) for k in range(len(y.t))])
        if self._step is None:
            self._step = self._safe_step(y)
        if not self._step:
            return np.array([self.exact(y, k) for k in range(len(y.t))])
        return self._differences(y, self._step)

    def exact(self, y: Motion, k: int) -> Floats:
        """At one of the states."""
        core = self.core
        core.work.z[: core.nz] = y.z[k]
        if core.loops is not None:
            core.chord_work.q[:], core.chord_work.pivot[:] = y.cut[k], -1
        d = derivatives(core, self.room, float(y.t[k]), y.q[k], y.u[k])
        return np.block([[d.ud_q, d.ud_u, d.ud_x], [d.x_rates_q, d.x_rates_u, d.x_rates_x]])

    def _safe_step(self, y: Motion) -> float:
        """A step with which differences agree with the exact Jacobian at the start, middle and end, or 0."""
        some = sorted({0, len(y.t) // 2, len(y.t) - 1})
        exact = np.array([self.exact(y, k) for k in some])
        size = np.max(np.abs(exact), axis=(1, 2), keepdims=True)
        for step in (STEP, STEP / 4, STEP / 16, STEP / 64):
            if np.all(np.abs(self._differences(y.at(some), step) - exact) <= self._agree * size):
                return step
        return 0.0

    def _differences(self, y: Motion, step: float) -> Floats:
        n, nx = self.core.nu, self.core.nx
        size = 2 * n + nx
        J = np.zeros((len(y.t), n + nx, size))
        lengths = np.repeat((1.0, 1.0 + np.max(np.abs(y.u), initial=0.0), 1.0), (n, n, nx))
        for column in range(size):
            d = np.zeros(size)
            d[column] = step * lengths[column]
            each = [evaluate(self.core, moved(self.core, y, np.tile(k * d, (len(y.t), 1)))) for k in CENTRAL]
            J[:, :, column] = sum_of(_CENTRAL, tuple(each)) / d[column]
        return J

    # ------------------------------------------------------------ constraints
    def closed(self, y: Motion, s: Floats) -> Floats:
        """s at many states with the least change that meets the constraints; prescribed entries follow their signals."""
        core, n, s = self.core, self.core.nu, s.copy()
        for k, t in enumerate(y.t):
            given = prescribed_motion(core, self.stencils, float(t))
            s[k, :n][~self.free], s[k, n : 2 * n][~self.free] = given[0][~self.free], given[1][~self.free]
            if core.loops is not None:
                self._close(y, k, s[k])
        return s

    def _close(self, y: Motion, k: int, s: Floats) -> None:
        core, n = self.core, self.core.nu
        holonomic = ~core.layout.chords.nonholonomic
        P, _ = _constraints(core, y, k)
        own = [sum_of(x.weights, tuple(_constraints(c, y, k)[1] for c in x.cores)) for x in self.stencils]
        for j, by_p in enumerate(own):
            gap = P[:, self.free] @ s[:n, j][self.free] + by_p[: len(P)]
            s[:n, j] -= self._least(P[holonomic], gap[holonomic])
            step = STEP / magnitude(core, s[None, :, j], y.at([k]))
            there = [moved(core, y.at([k]), i * step * s[None, :, j]) for i in CENTRAL]
            rates = sum_of(_CENTRAL, tuple(_constraints(core, x, 0)[1][len(P) :] for x in there)) / step
            s[n : 2 * n, j] -= self._least(P, rates + by_p[len(P) :])

    def _least(self, P: Floats, gap: Floats) -> Floats:
        """Least change of the free entries that closes a gap."""
        change = np.zeros(self.core.nu)
        change[self.free] = np.linalg.lstsq(P[:, self.free], gap, rcond=_RANK)[0]
        return change


def moved(core: Core, y: Motion, step: Floats) -> Motion:
    """States after small steps (rows) in the directions of s."""
    n = core.nu
    q, z = displaced(core, y.q, step[:, :n]), y.z.copy()
    z[:, : core.nx] += step[:, 2 * n :]
    return Motion(y.t, q, y.u + step[:, n : 2 * n], z, y.cut)


def displaced(core: Core, q: Floats, step: Floats) -> Floats:
    """Coordinates after small motions (rows) in the directions of the speeds."""
    there = np.zeros_like(q)
    for c in core.coordinates.hinges:
        x, d = q[:, c.q_slice], step[:, c.u_slice]
        k = c.hinge.euler_parameters
        if k is None:
            there[:, c.q_slice] = x + d
            continue
        e0, e, half = x[:, k, None], x[:, k + 1 : k + 4], 0.5 * d[:, k : k + 3]
        turned = np.hstack((e0 - np.sum(half * e, axis=1)[:, None], e + e0 * half + np.cross(half, e)))
        turned /= np.linalg.norm(turned, axis=1)[:, None]
        there[:, c.q_slice] = np.hstack((x[:, :k] + d[:, :k], turned, x[:, k + 4 :] + d[:, k + 3 :]))
    return there


def difference(core: Core, a: Floats, b: Floats) -> Floats:
    """(nu,) the small motion from coordinates a to b, to first order."""
    step = np.zeros(core.nu)
    for c in core.coordinates.hinges:
        k, x, y = c.hinge.euler_parameters, a[c.q_slice], b[c.q_slice]
        if k is None:
            step[c.u_slice] = y - x
            continue
        own = step[c.u_slice]
        own[:k], own[k + 3 :] = (y - x)[:k], (y - x)[k + 4 :]
        (e0, e), (f0, f) = (x[k], x[k + 1 : k + 4]), (y[k], y[k + 1 : k + 4])
        turn = e0 * f - f0 * e - np.cross(f, e)  # vector part of the turn between them
        own[k : k + 3] = 2.0 * np.sign(e0 * f0 + e @ f) * turn
    return step


def evaluate(core: Core, y: Motion) -> Floats:
    """(ud, x') of many states (rows)."""
    parts = [_evaluate(core, y.at(slice(k, k + _ROWS))) for k in range(0, len(y.t), _ROWS)]
    return np.concatenate(parts)


def _evaluate(core: Core, y: Motion) -> Floats:
    q, u = np.ascontiguousarray(y.q), np.ascontiguousarray(y.u)
    with core.seeing(y.z):
        if core.loops is None:
            ud = core.accelerations(y.t, q, u)
        else:
            core.chord_work.q[:], core.chord_work.pivot[:] = y.cut[0], -1
            if core.loops.leader is not None:
                core.loops.choose(float(y.t[0]), q[0])
            ud = core.loops.solve(y.t, q, u, y.cut).ud
    if not core.nx:
        return ud
    rates = [core.state_rates(float(t), *row)[: core.nx] for t, *row in zip(y.t, q, u, y.z, strict=True)]
    return np.hstack((ud, np.array(rates)))


def _constraints(core: Core, y: Motion, k: int) -> tuple[Floats, Floats]:
    """P, and f and P u + P0 in one column, at one of the states."""
    core.chord_work.q[:], core.chord_work.pivot[:] = y.cut[k], -1
    now = core.constraints(float(y.t[k]), y.q[k], y.u[k])
    return now.partials, np.concatenate((now.residual, now.velocity))


def magnitude(core: Core, s: Floats, y: Motion) -> float:
    """How large changes s (rows) are, compared with 1 for coordinates and with 1 + size for speeds and states."""
    n, x = core.nu, y.z[:, : core.nx]
    parts = (
        (s[:, :n], 0.0),
        (s[:, n : 2 * n], np.max(np.abs(y.u), initial=0.0)),
        (s[:, 2 * n :], np.max(np.abs(x), initial=0.0)),
    )
    return max(*(float(np.max(np.abs(d), initial=0.0)) / (1.0 + float(size)) for d, size in parts), 1e-300)


def _gauss(stages: int) -> tuple[Floats, Floats, Floats]:
    """Nodes in (0, 1), coefficients a and weights b of Gauss collocation, order 2 stages."""
    x, w = np.polynomial.legendre.leggauss(stages)
    c = 0.5 * (x + 1.0)
    powers = np.arange(1, stages + 1)
    # sum_j a_ij c_j^(k-1) = c_i^k / k
    a = np.linalg.solve(np.vander(c, increasing=True).T, (c[:, None] ** powers / powers).T).T
    return c, np.asarray(a, dtype=np.float64), 0.5 * w
