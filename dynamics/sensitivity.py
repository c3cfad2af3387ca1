"""Forward sensitivities: how a motion changes with parameters of the model, s = dy/dp along y = (q, u, x).

They obey the equations of motion differentiated along the motion::

    s_q' = s_u + H s_q      s_u' = d ud / d(q, u, x) s + d ud / dp      s_x' = d x' / d(q, u, x) s + d x' / dp

with displacements in the directions of the speeds (H is omega x for Euler parameters, zero otherwise). Products of the Jacobian
with s and derivatives by p are central differences of sixth order of the compiled equations along that direction: with steps of
0.4 % of the size of the motion they are exact to about 1e-12, far below what the integration leaves. With closed chains s
obeys the constraints differentiated in the same way, P s_q + df/dp = 0 and its rate.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .core import Core, Floats
from .derivatives import free_speeds
from .linearization import turning
from .parameter_derivatives import CENTRAL, STEP, Stencil, prescribed_motion, sum_of, weights

_CENTRAL = weights(CENTRAL)
_RANK = 1e-9  # singular values of the constraints below this part of the largest are those of redundant rows


class Variation:
    """Equations of s for some parameters; s is (nu + nu + nx, np): displacements, speeds, states of elements."""

    def __init__(self, core: Core, stencils: Sequence[Stencil]) -> None:
        self.core, self.stencils = core, tuple(stencils)
        self.free: NDArray[np.bool_] = free_speeds(core)

    def rates(self, t: float, q: Floats, u: Floats, z: Floats, near: Floats, s: Floats) -> Floats:
        """s' at one state; `near`: its cut hinges."""
        n, nx = self.core.nu, self.core.nx
        rates = np.zeros_like(s)
        rates[:n] = s[n : 2 * n] + turning(self.core, u) @ s[:n]
        for j, stencil in enumerate(self.stencils):
            step = STEP / _size(s[:, j], u, z[:nx], n)
            moved = [self.moved(q, u, z, k * step * s[:, j]) for k in CENTRAL]
            each = evaluate(self.core, t, *(np.array(part) for part in zip(*moved, strict=True)), near)
            rates[n:, j] = sum_of(_CENTRAL, tuple(each)) / step
            beside = [evaluate(c, t, q[None], u[None], z[None], near)[0] for c in stencil.cores]
            rates[n:, j] += sum_of(stencil.weights, tuple(beside))
        return rates

    def moved(self, q: Floats, u: Floats, z: Floats, step: Floats) -> tuple[Floats, Floats, Floats]:
        """The state after a small step along the directions of s."""
        n, nx = self.core.nu, self.core.nx
        there = z.copy()
        there[:nx] += step[2 * n :]
        return displaced(self.core, q, step[:n]), u + step[n : 2 * n], there

    def closed(self, t: float, q: Floats, u: Floats, near: Floats, s: Floats) -> Floats:
        """s with the least change that meets the differentiated constraints; prescribed entries follow their signals."""
        core, n = self.core, self.core.nu
        s = s.copy()
        given = prescribed_motion(core, self.stencils, t)
        s[:n][~self.free], s[n : 2 * n][~self.free] = given[0][~self.free], given[1][~self.free]
        if core.loops is None:
            return s
        holonomic = ~core.layout.chords.nonholonomic
        P = _constraints(core, t, q, u, near)[0]
        by_p = [
            sum_of(x.weights, tuple(_constraints(c, t, q, u, near)[1] for c in x.cores)) for x in self.stencils
        ]
        m = len(P)
        for j, own in enumerate(by_p):
            s[:n, j] -= self._least(P[holonomic], P[holonomic] @ s[:n, j] + own[:m][holonomic])
            step = STEP / _size(s[:, j], u, np.zeros(0), n)
            ways = (
                (displaced(core, q, k * step * s[:n, j]), u + k * step * s[n : 2 * n, j]) for k in CENTRAL
            )
            turned = sum_of(_CENTRAL, tuple(_constraints(core, t, *way, near)[1][m:] for way in ways)) / step
            s[n : 2 * n, j] -= self._least(P, turned + own[m:])
        return s

    def _least(self, P: Floats, gap: Floats) -> Floats:
        """Least change of the free entries that closes a gap."""
        change = np.zeros(self.core.nu)
        change[self.free] = np.linalg.lstsq(P[:, self.free], gap, rcond=_RANK)[0]
        return change


def displaced(core: Core, q: Floats, step: Floats) -> Floats:
    """Coordinates after a small motion in the directions of the speeds; rows of many, or one."""
    if not core.coordinates.euler_parameters:
        return np.asarray(q + step)
    return np.concatenate(
        [np.zeros(0), *(c.hinge.move(q[c.q_slice], step[c.u_slice]) for c in core.coordinates.hinges)]
    )


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


def evaluate(core: Core, t: float, q: Floats, u: Floats, z: Floats, near: Floats) -> Floats:
    """(ud, x') of many states of one time (rows)."""
    times = np.full(len(q), t)
    q, u = np.ascontiguousarray(q), np.ascontiguousarray(u)
    with core.seeing(z):
        if core.loops is None:
            ud = core.accelerations(times, q, u)
        else:
            core.chord_work.q[:], core.chord_work.pivot[:] = near, -1
            if core.loops.leader is not None:
                core.loops.choose(t, q[0])
            ud = core.loops.solve(times, q, u, np.tile(near, (len(q), 1))).ud
    if not core.nx:
        return ud
    x_rates = [core.state_rates(t, *row)[: core.nx] for row in zip(q, u, z, strict=True)]
    return np.hstack((ud, np.array(x_rates)))


def _constraints(core: Core, t: float, q: Floats, u: Floats, near: Floats) -> tuple[Floats, Floats]:
    """P, and f and P u + P0 in one column."""
    core.chord_work.q[:], core.chord_work.pivot[:] = near, -1
    now = core.constraints(t, q, u)
    return now.partials, np.concatenate((now.residual, now.velocity))


def _size(s: Floats, u: Floats, x: Floats, n: int) -> float:
    """How large a change s is, compared with 1 for coordinates and with 1 + size for the others."""
    parts = ((s[:n], 0.0 * u), (s[n : 2 * n], u), (s[2 * n :], x))
    sizes = [
        np.max(np.abs(d), initial=0.0) / (1.0 + np.max(np.abs(size), initial=0.0)) for d, size in parts
    ]
    return max(*(float(size) for size in sizes), 1e-300)
