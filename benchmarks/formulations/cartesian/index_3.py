"""Index-3 integration in Cartesian coordinates: positions obey the constraints, nothing is differentiated.

Both methods take steps of one size; their Newton iteration needs the matrices of formulations III and I and the derivatives of
the loads of force elements (`force_derivatives`); what else the derivatives hold is smaller by the square of the step.
"""

import math
import time
from abc import abstractmethod
from math import cos, sin, sqrt
from typing import Any, ClassVar

import numpy as np

import treemech as tm
from treemech.kinematics.kernel.language import address_of, floats, ints, kernel, load9
from treemech.kinematics.kernel.status import OK, split
from treemech.kinematics.kernel.vector import rotate
from treemech.topology.arrays import Floats

from ..compiled import c_function, data
from ..compiled_formulation import CompiledFormulation
from ..formulation import Integration, TooSlow
from . import kernels as k
from . import views as views
from .cartesian import Cartesian
from .force_derivatives import derivatives, forget_derivatives

NOT_CONVERGED = 13
_ITERATIONS = 25
_NOISE = 1e-11  # of positions: an iteration that stands still there has converged
SIGNATURE = "int32(int64, int64, int64, int64, int64, int64)"


@kernel
def turned(q, at, x, y, z, out):  # type: ignore[no-untyped-def]
    """Turn the Euler parameters at q[at:] by the rotation vector (x, y, z) in body axes, to out[at:]."""
    angle = sqrt(x * x + y * y + z * z)
    half = 0.5 - angle * angle / 48.0 if angle < 1e-3 else sin(0.5 * angle) / angle
    c, x, y, z = cos(0.5 * angle), half * x, half * y, half * z
    a, b, d, e = q[at], q[at + 1], q[at + 2], q[at + 3]
    out[at] = a * c - b * x - d * y - e * z
    out[at + 1] = a * x + b * c + d * z - e * y
    out[at + 2] = a * y - b * z + d * c + e * x
    out[at + 3] = a * z + b * y - d * x + e * c


@kernel
def unbalance(C, a, mu, b):  # type: ignore[no-untyped-def]
    """Compute b <- load - M a - B^T mu, in (r'', w') of kind 3."""
    B, F, J, n = views.body_(C), views.applied_(C), views.jacobian_(C), views.row_ints(C)
    active, joined, nb = views.active_(C), views.block_bodies(C), C[views.BODIES]
    for i in range(1, nb + 1):
        at = 6 * (i - 1)
        moment = k.inner_torque(C, i)
        turn = rotate(load9(B, i, 1), (a[at + 3], a[at + 4], a[at + 5]))
        for j in range(3):
            b[at + j] = F[i, j] - B[i, 0] * a[at + j]
            b[at + 3 + j] = moment[j] - turn[j]
    for r in range(C[views.ACTIVE]):
        number = active[r]
        for p in range(n[number, views.FIRST], n[number, views.STOP]):
            i = joined[p]
            if i > 0:
                for j in range(6):
                    b[6 * (i - 1) + j] -= mu[r] * J[p, j]


@kernel
def hermite(n, x, h, y0, d0, y1, d1, out):  # type: ignore[no-untyped-def]
    """Interpolate between two states with their rates, by a cubic."""
    a, b = x * x * (3.0 - 2.0 * x), x * x * (x - 1.0) * h
    c = x * (1.0 - x) * (1.0 - x) * h
    for i in range(n):
        out[i] = y0[i] + a * (y1[i] - y0[i]) + c * d0[i] + b * d1[i]


@kernel
def rates(C, a, dy):  # type: ignore[no-untyped-def]
    """Write y' to an address, with the given accelerations of bodies."""
    b = views.right_(C)
    for i in range(C[views.NV]):
        b[i] = a[i]
    k.rates(C, dy)


@kernel
def alpha_step(C, t, h, y, a, vd, mu, new, workspace, rho):  # type: ignore[no-untyped-def]
    """Take a step of generalized-alpha from y to new; a (auxiliary), vd, mu go on. Returns a status code."""
    nb, nq, nv, m = C[views.BODIES], C[views.NQ], C[views.NV], C[views.ACTIVE]
    am, af = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
    gamma = 0.5 + af - am
    beta = 0.25 * (gamma + 0.5) ** 2
    mass, rate = (1.0 - am) / (beta * h * h * (1.0 - af)), gamma / (beta * h)
    v, b, V, active = address_of(y) + 8 * nq, views.right_(C), views.level_(C), views.active_(C)
    old, kinds = floats(v, nv), views.row_ints(C)
    move = floats(address_of(workspace), nv)  # displacement of the step
    out = floats(address_of(new) + 8 * nq, nv)
    for i in range(nv):
        ahead = (af * vd[i] - am * a[i]) / (1.0 - am)
        move[i] = h * old[i] + h * h * ((0.5 - beta) * a[i] + beta * ahead)
        out[i] = old[i] + h * ((1.0 - gamma) * a[i] + gamma * ahead)
        a[i] = ahead
        vd[i] = 0.0
    first = C[views.SIZE] - m
    before = 1e300
    for i in range(nq + nv, nq + nv + C[views.CARRIED]):
        new[i] = y[i]
    for iteration in range(_ITERATIONS):
        for i in range(nb):
            for j in range(3):
                new[7 * i + j] = y[7 * i + j] + move[6 * i + j]
            turned(y, 7 * i + 3, move[6 * i + 3], move[6 * i + 4], move[6 * i + 5], new)
        status = k.evaluate(C, t + h, address_of(new))
        if status == OK and iteration % 4 == 0:
            k.assemble(C)
            status = derivatives(C, t + h, address_of(new), 1.0 / mass, rate)
            k.fill(C)
            forget_derivatives(C)
            if status == OK:
                status = k.factors(C)
        if status != OK:
            return status
        unbalance(C, vd, mu, b)
        for r in range(m):
            b[first + r] = -mass * V[active[r], views.PHI]
            if kinds[active[r], views.RATE_ONLY] == 1:
                b[first + r] = -mass / rate * V[active[r], views.PHI_RATE]
        k.back(C)
        change, size = 0.0, 1e-300
        for i in range(nv):
            vd[i] += b[i]
            out[i] += rate / mass * b[i]
            move[i] += b[i] / mass
            change, size = max(change, abs(b[i])), max(size, abs(vd[i]))
        for r in range(m):
            mu[r] += b[first + r]
        if change <= 1e-11 * size or (change <= _NOISE * mass and not change < 0.5 * before):
            for i in range(nv):
                a[i] += (1.0 - af) / (1.0 - am) * vd[i]
            for i in range(nb):
                for j in range(3):
                    new[7 * i + j] = y[7 * i + j] + move[6 * i + j]
                turned(y, 7 * i + 3, move[6 * i + 3], move[6 * i + 4], move[6 * i + 5], new)
            k.keep_carried(C, address_of(new))
            return OK
        before = change
    return NOT_CONVERGED


@kernel
def outputs(C, n, t, h, y, dy, new, dnew, times, out, written):  # type: ignore[no-untyped-def]
    """Write the states at the output times up to t + h. Returns how many are written by then."""
    while written < times.shape[0] and times[written] <= t + h * (1.0 + 1e-9):
        hermite(n, (times[written] - t) / h, h, y, dy, new, dnew, floats(out + 8 * n * written, n))
        written += 1
    return written


@kernel
def weak(C):  # type: ignore[no-untyped-def]
    """Return whether other rows should be chosen before the next step."""
    f, Up, Ux, smallest = views.factors_(C), views.Up_(C), views.Ux_(C), 1e300
    for j in range(C[views.SIZE]):
        smallest = min(smallest, abs(Ux[Up[j + 1] - 1]))
    return smallest < f[k.LEAST]


@kernel
def commit(control, h, y, new):  # type: ignore[no-untyped-def]
    """Take over the new state and count the step."""
    for i in range(y.shape[0]):
        y[i] = new[i]
    control[0] += h
    control[2] -= 1.0
    control[5] += 1.0


@c_function(SIGNATURE)
def alpha_run(context, control_, work, n_out, t_out, out):  # type: ignore[no-untyped-def]
    """Take steps until the budget is used or the end is reached.

    control: time, step, steps to go, budget, written, done steps, rho, iterations. work: rows of 20 b numbers.
    """
    C, control = ints(context, views.N_CARTESIAN), floats(control_, 8)
    n = C[views.NQ] + C[views.NV] + C[views.CARRIED]
    row = 8 * (n + C[views.SIZE])
    y, a, vd, mu = (
        floats(work, n),
        floats(work + row, n),
        floats(work + 2 * row, n),
        floats(work + 3 * row, n),
    )
    new, workspace, dy, dnew = (
        floats(work + 4 * row, n), floats(work + 5 * row, n), floats(work + 6 * row, n), floats(work + 7 * row, n),
    )  # fmt: skip
    times, h = floats(t_out, n_out), control[1]
    for _ in range(int(control[3])):
        if not control[2] > 0.5:
            return np.int32(OK)
        k.place(C, work)
        rates(C, vd, work + 6 * row)
        status = alpha_step(C, control[0], h, y, a, vd, mu, new, workspace, control[6])
        if status != OK:
            return np.int32(status)
        k.place(C, work + 4 * row)
        rates(C, vd, work + 7 * row)
        control[4] = outputs(C, n, control[0], h, y, dy, new, dnew, times, out, int(control[4]))
        commit(control, h, y, new)
        if weak(C):
            return np.int32(k.RESELECT)
    return np.int32(7)  # paused


class _Stepping(Cartesian):
    """Steps of one size; a tolerance is turned into one by whoever compares (`step_for`)."""

    setting = "step"
    sparse = True
    order: ClassVar[int] = 2
    fewest: ClassVar[int] = 1  # steps

    def __init__(self, system: tm.System) -> None:
        super().__init__(system)
        self.forces.refuse_states(self.name)

    def derivative_entries(self) -> tuple[list[int], list[int]]:
        return self.forces.derivative_entries(7 if self.kind == 1 else 6)

    def integrate(
        self,
        t_span: tuple[float, float],
        y0: Floats,
        setting: float,
        t_eval: Floats,
        allowed: float = math.inf,
    ) -> Integration:
        t0, t1 = t_span
        steps = max(self.fewest, math.ceil((t1 - t0) / setting))
        return self._march(t0, (t1 - t0) / steps, steps, y0, t_eval, allowed)

    @abstractmethod
    def _march(
        self, t: float, h: float, steps: int, y0: Floats, t_eval: Floats, allowed: float
    ) -> Integration:
        """Take steps of size h from y0 at t."""

    def _forget(self, work: Floats) -> Floats:
        """Return the workspace of a run without the multipliers, whose number may have changed."""
        size, n = work.shape[1], self.nq + self.nv + self.elements.carried
        if n + self.size != size:
            work = np.hstack((work[:, :n], np.zeros((len(work), self.size))))
        row = 3 if self.kind == 3 else 4
        work[row, 0 if self.kind == 3 else self.nq :] = 0.0
        return np.ascontiguousarray(work)

    def _run(
        self,
        function: Any,
        t: float,
        y0: Floats,
        h: float,
        steps: int,
        t_eval: Floats,
        allowed: float,
        work: Floats,
        control: Floats,
    ) -> Integration:
        times = np.ascontiguousarray(t_eval, dtype=np.float64)
        out = np.zeros((max(len(times), 1), len(y0)))
        control[:4] = t, h, steps, 64
        while control[4] < len(times) and times[int(control[4])] <= t:
            out[int(control[4])] = y0
            control[4] += 1
        until, status = time.process_time() + allowed, 7
        while status in (7, k.RESELECT):
            if status == k.RESELECT:
                self._reselect(float(control[0]), work[0, : len(y0)].copy())
                work = self._forget(work)
            began = time.process_time()
            status = function(
                data(self.context), data(control), data(work), len(times), data(times), data(out)
            )
            if time.process_time() > until:
                raise TooSlow
            if time.process_time() - began < 0.05:
                control[3] *= 2
        why = {NOT_CONVERGED: "Newton's iteration does not converge", k.SINGULAR: "the matrix is singular"}
        message = f"{why.get(split(status)[0], f'status {status}')} at t = {control[0]:.6g} s."
        written, done = int(control[4]), int(control[5])
        return Integration(
            times[:written], out[:written], done, done, 0, status == OK, "the end was reached." if status == OK else message
        )  # fmt: skip


class GeneralizedAlpha(_Stepping):
    """Generalized-alpha on the rotations themselves, rho = 0.9; order 2."""

    name = "index-3-alpha"
    source = (
        "M. Arnold, O. Bruels, Multibody System Dynamics 18 (2007) 185; O. Bruels, A. Cardona, M. Arnold, Mechanism and "
        "Machine Theory 48 (2012) 121"
    )
    kind = 3
    rho = 0.9

    def _march(
        self, t: float, h: float, steps: int, y0: Floats, t_eval: Floats, allowed: float
    ) -> Integration:
        dy, work, control = self.rhs(t, y0), np.zeros((8, len(y0) + self.size)), np.zeros(8)
        work[0, : len(y0)] = y0
        work[1, : self.nv] = work[2, : self.nv] = dy[self.nq : self.nq + self.nv]
        work[3, : len(self.active)] = -self.arrays["multipliers"][self.active]
        control[6] = self.rho
        return self._run(alpha_run, t, y0, h, steps, t_eval, allowed, work, control)


# ---------------------------------------------------------------- BDF
_BACK = (48.0 / 25.0, -36.0 / 25.0, 16.0 / 25.0, -3.0 / 25.0)
_BETA = 12.0 / 25.0


@kernel
def unbalance_euler(C, x, b):  # type: ignore[no-untyped-def]
    """Compute b <- right - K x for the loads of kind 1, x = (q'', sigma, mu)."""
    B, S, J, n, active, joined, nb = (
        views.body_(C),
        views.state_(C),
        views.jacobian_(C),
        views.row_ints(C),
        views.active_(C),
        views.block_bodies(C),
        C[views.BODIES],
    )
    k.loads(C)
    first = C[views.SIZE] - C[views.ACTIVE]
    for i in range(1, nb + 1):
        at = 7 * (i - 1)
        L = k.lmatrix(S[i, views.EULER], S[i, views.EULER + 1], S[i, views.EULER + 2], S[i, views.EULER + 3])
        w0 = w1 = w2 = 0.0
        for j in range(4):
            e = 2.0 * x[at + 3 + j]
            w0 += L[j] * e
            w1 += L[4 + j] * e
            w2 += L[8 + j] * e
        h = rotate(load9(B, i, 1), (w0, w1, w2))
        for j in range(3):
            b[at + j] -= B[i, 0] * x[at + j]
        for j in range(4):
            b[at + 3 + j] -= 2.0 * (L[j] * h[0] + L[4 + j] * h[1] + L[8 + j] * h[2])
            b[at + 3 + j] -= S[i, views.EULER + j] * x[7 * nb + i - 1]
    for r in range(C[views.ACTIVE]):
        number, mu = active[r], x[first + r]
        for p in range(n[number, views.FIRST], n[number, views.STOP]):
            i = joined[p]
            if i == 0:
                continue
            at = 7 * (i - 1)
            L = k.lmatrix(
                S[i, views.EULER], S[i, views.EULER + 1], S[i, views.EULER + 2], S[i, views.EULER + 3]
            )
            for j in range(3):
                b[at + j] -= mu * J[p, j]
            for j in range(4):
                b[at + 3 + j] -= 2.0 * mu * (L[j] * J[p, 3] + L[4 + j] * J[p, 4] + L[8 + j] * J[p, 5])


@kernel
def bdf_step(C, t, h, history, row, x, new, workspace):  # type: ignore[no-untyped-def]
    """Take a step of order 4 from four states, the last one first.

    x = (q'', sigma, mu) is kept for the next step. Returns a status code.
    """
    nb, nq, m = C[views.BODIES], C[views.NQ], C[views.ACTIVE]
    b, V, active, first = views.right_(C), views.level_(C), views.active_(C), C[views.SIZE] - C[views.ACTIVE]
    for i in range(2 * nq):
        s = 0.0
        for p in range(4):
            s += _BACK[p] * floats(history + row * p, 2 * nq)[i]
        workspace[i] = s
    c, before, kinds, last = _BETA * h, 1e300, views.row_ints(C), floats(history, 2 * nq + C[views.CARRIED])
    for i in range(2 * nq, 2 * nq + C[views.CARRIED]):
        new[i] = last[i]
    for iteration in range(_ITERATIONS):
        for i in range(nq):
            new[nq + i] = workspace[nq + i] + c * x[i]
            new[i] = workspace[i] + c * new[nq + i]
        status = k.evaluate(C, t + h, address_of(new))
        if status == OK and iteration % 4 == 0:
            k.assemble(C)
            status = derivatives(C, t + h, address_of(new), c * c, 1.0 / c)
            k.fill(C)
            forget_derivatives(C)
            if status == OK:
                status = k.factors(C)
        if status != OK:
            return status
        unbalance_euler(C, x, b)
        for i in range(nb):
            s = -1.0
            for j in range(4):
                s += new[7 * i + 3 + j] ** 2
            b[7 * nb + i] = -0.5 * s / (c * c)
        for r in range(m):
            b[first + r] = -V[active[r], views.PHI] / (c * c)
            if kinds[active[r], views.RATE_ONLY] == 1:
                b[first + r] = -V[active[r], views.PHI_RATE] / c
        k.back(C)
        change, size = 0.0, 1e-300
        for i in range(C[views.SIZE]):
            x[i] += b[i]
        for i in range(nq):
            change, size = max(change, abs(b[i])), max(size, abs(x[i]))
        if change <= 1e-11 * size or (change * c * c <= _NOISE and not change < 0.5 * before):
            for i in range(nq):
                new[nq + i] = workspace[nq + i] + c * x[i]
                new[i] = workspace[i] + c * new[nq + i]
            k.keep_carried(C, address_of(new))
            return OK
        before = change
    return NOT_CONVERGED


@c_function(SIGNATURE)
def bdf_run(context, control_, work, n_out, t_out, out):  # type: ignore[no-untyped-def]
    """Take steps to the budget or the end; work: four states, x, new state, workspace, rates."""
    C, control = ints(context, views.N_CARTESIAN), floats(control_, 8)
    n = 2 * C[views.NQ] + C[views.CARRIED]
    row = 8 * (n + C[views.SIZE])
    x, new, workspace = floats(work + 4 * row, n), floats(work + 5 * row, n), floats(work + 6 * row, n)
    dy, dnew, y = floats(work + 7 * row, n), floats(work + 8 * row, n), floats(work, n)
    times, h = floats(t_out, n_out), control[1]
    for _ in range(int(control[3])):
        if not control[2] > 0.5:
            return np.int32(OK)
        for i in range(C[views.NQ]):
            dy[i], dy[C[views.NQ] + i] = y[C[views.NQ] + i], x[i]
        k.give_rates(C, work + 7 * row + 16 * C[views.NQ])
        status = bdf_step(C, control[0], h, work, row, x, new, workspace)
        if status != OK:
            return np.int32(status)
        for i in range(C[views.NQ]):
            dnew[i], dnew[C[views.NQ] + i] = new[C[views.NQ] + i], x[i]
        k.give_rates(C, work + 8 * row + 16 * C[views.NQ])
        control[4] = outputs(C, n, control[0], h, y, dy, new, dnew, times, out, int(control[4]))
        for p in range(3, 0, -1):
            a, b = floats(work + row * p, n), floats(work + row * (p - 1), n)
            for i in range(n):
                a[i] = b[i]
        commit(control, h, y, new)
        if weak(C):
            return np.int32(k.RESELECT)
    return np.int32(7)


class BDF(_Stepping):
    """Backward differences of order 4 on q, q', with Euler parameters; the first three steps by DOP853 (formulation I)."""

    name = "index-3-bdf"
    source = "C. W. Gear, IEEE Trans. Circuit Theory 18 (1971) 89; Kelem (4.3), the stiff integrator of ADAMS"
    kind = 1
    order = 4
    fewest = 4

    def _march(
        self, t: float, h: float, steps: int, y0: Floats, t_eval: Floats, allowed: float
    ) -> Integration:
        t0, times = t, np.asarray(t_eval, dtype=np.float64)
        early = times[(times > t0) & (times <= t0 + 3 * h)]
        wanted = np.unique(np.concatenate((t0 + h * np.arange(1, 4), early)))
        begin = CompiledFormulation.integrate(self, (t0, t0 + 3.1 * h), y0, 1e-11, wanted, allowed)
        if not begin.success:
            return begin
        work, control = np.zeros((9, len(y0) + self.size)), np.zeros(8)
        states = [y0, *(begin.y[int(np.searchsorted(wanted, t0 + h * p))] for p in (1, 2, 3))]
        for p in range(4):
            work[p, : len(y0)] = states[3 - p]
        self.rhs(t0 + 3 * h, states[3])
        work[4, : self.size] = self.arrays["right"]
        late = times[times > t0 + 3 * h]
        found = self._run(bdf_run, t0 + 3 * h, states[3], h, steps - 3, late, allowed, work, control)
        head = [
            y0 if time_ <= t0 else begin.y[int(np.searchsorted(wanted, time_))]
            for time_ in times
            if time_ <= t0 + 3 * h
        ]
        y = np.concatenate((np.array(head).reshape(len(head), len(y0)), found.y))
        return Integration(
            times[: len(y)], y, begin.evaluations + found.evaluations, found.steps + 3, 0, found.success, found.message
        )  # fmt: skip
