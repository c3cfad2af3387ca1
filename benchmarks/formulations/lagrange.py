"""Lagrange's equations, derived symbolically from kinetic and potential energy (6.1.5): the independent third way.

Poses of the bodies as functions of q are written down here once more, hinge by hinge; velocities, the equations of motion and
the rows of chords follow by differentiation (SymPy). The result becomes a module of its own in the cache of compiled code, so
that a second process neither derives nor compiles. For systems with few coordinates: the expressions grow fast.
"""

import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import qr

import treemech as tm
from treemech.kinematics.plan.columns import speed
from treemech.results.state import find
from treemech.topology.arrays import Floats

from .cartesian.joint_rows import EDGE, LENGTH, N1, N2, POINT, Row, rows_of
from .compiled import RHS, Compiled, data, folder
from .compiled_formulation import CompiledFormulation
from .formulation import Inexpressible, refuse_composites, signals_of
from .relative.relative import Relative, loads_of

MOST = 4  # coordinates


def _turn(sp: Any, axis: int, angle: Any) -> Any:
    c, s = sp.cos(angle), sp.sin(angle)
    return [
        sp.Matrix([[1, 0, 0], [0, c, -s], [0, s, c]]),
        sp.Matrix([[c, 0, s], [0, 1, 0], [-s, 0, c]]),
        sp.Matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
    ][axis]


# class -> (c, C) of its coordinates q (3.3.23)
_POSES: dict[type, Callable[[Any, Any, Any], tuple[Any, Any]]] = {
    tm.Rigid: lambda sp, h, q: (sp.zeros(3, 1), sp.eye(3)),
    tm.Revolute: lambda sp, h, q: (sp.zeros(3, 1), _turn(sp, 2, q[0])),
    tm.Prismatic: lambda sp, h, q: (sp.Matrix([0, 0, q[0]]), sp.eye(3)),
    tm.Cylindrical: lambda sp, h, q: (sp.Matrix([0, 0, q[1]]), _turn(sp, 2, q[0])),
    tm.Screw: lambda sp, h, q: (sp.Matrix([0, 0, float(h.pitch) * q[0]]), _turn(sp, 2, q[0])),
    tm.Planar: lambda sp, h, q: (sp.Matrix([q[0], q[1], 0]), _turn(sp, 2, q[2])),
    tm.Translation: lambda sp, h, q: (sp.Matrix(list(q)), sp.eye(3)),
    tm.Universal: lambda sp, h, q: (sp.zeros(3, 1), _turn(sp, 0, q[0]) * _turn(sp, 1, q[1])),
    tm.BallBryant: lambda sp, h, q: (
        sp.zeros(3, 1),
        _turn(sp, 0, q[0]) * _turn(sp, 1, q[1]) * _turn(sp, 2, q[2]),
    ),
}

_TEMPLATE = '''# written by treemech.benchmarks.formulations.lagrange
import numpy as np
from math import cos, sin, sqrt, pi
from treemech.kinematics.kernel.language import floats, ints, kernel
from treemech.kinematics.plan.arrays import N_CONTEXT
from treemech.kinematics.plan.columns import speed
from treemech.kinematics.kernel.status import CHAIN_OPEN, OK
from treemech.kinematics.tree.sweep import signals
from treemech.kinematics.plan.views import prescriptions, signal_values
N, M, S = {n}, {m}, {n} + {m}

@kernel
def terms(q, u, out):
    """Lower half of the mass matrix, loads, P, P00, residual, P u."""
{body}

@kernel
def gauss(K, b):
    for c in range(S):
        p, best = c, abs(K[S * c + c])
        for r in range(c + 1, S):
            if abs(K[S * r + c]) > best:
                p, best = r, abs(K[S * r + c])
        if not best > 0.0:
            return False
        if p != c:
            for j in range(c, S):
                K[S * c + j], K[S * p + j] = K[S * p + j], K[S * c + j]
            b[c], b[p] = b[p], b[c]
        for r in range(c + 1, S):
            f = K[S * r + c] / K[S * c + c]
            if f != 0.0:
                for j in range(c + 1, S):
                    K[S * r + j] -= f * K[S * c + j]
                b[r] -= f * b[c]
    for c in range(S - 1, -1, -1):
        for j in range(c + 1, S):
            b[c] -= K[S * c + j] * b[j]
        b[c] /= K[S * c + c]
    return True

@kernel
def matrix(D, out, K, masked, fixed):
    for i in range(S * S):
        K[i] = 0.0
    at = 0
    for i in range(N):
        for j in range(i + 1):
            K[S * i + j] = K[S * j + i] = out[at]
            at += 1
    at += N
    for r in range(M):
        for j in range(N):
            if masked[r] == 0.0:
                K[S * (N + r) + j] = K[S * j + N + r] = out[at + N * r + j]
        if masked[r] != 0.0:
            K[S * (N + r) + N + r] = 1.0
    for s in range(N):
        if fixed[s] != 0.0:
            for j in range(S):
                K[S * s + j] = K[S * j + s] = 0.0
            K[S * s + s] = 1.0

@kernel
def begin(D, t, y):
    plan = ints(D[0], N_CONTEXT)
    q, u = floats(D[1], N), floats(D[2], N)
    given = floats(D[6], N)
    state = floats(y, 2 * N)
    for i in range(N):
        q[i], u[i], given[i] = state[i], state[N + i], 0.0
    if signals(plan, t) >= 0:
        return False
    table, values = prescriptions(plan), signal_values(plan)
    for k in range(table.shape[0]):
        s, z = table[k, speed.PRESCRIBED_SIGNAL], table[k, speed.PRESCRIBED_Q]
        q[z], u[z], given[z] = values[s, 0], values[s, 1], values[s, 2]
    terms(q, u, floats(D[3], {size}))
    return True

def rhs(t, y, dy, context):
    D = ints(context, 8)
    if not begin(D, t, y):
        return np.int32(4)
    out, K, b, u = floats(D[3], {size}), floats(D[4], S * S), floats(D[5], S), floats(D[2], N)
    masked, fixed, given = floats(D[7], M), floats(D[7] + 8 * M, N), floats(D[6], N)
    matrix(D, out, K, masked, fixed)
    half = N * (N + 1) // 2
    for i in range(N):
        total = out[half + i]
        for j in range(N):
            total -= out[(i * (i + 1) // 2 + j) if j <= i else (j * (j + 1) // 2 + i)] * given[j]
        b[i] = 0.0 if fixed[i] != 0.0 else total
    for r in range(M):
        total = -out[half + N + N * M + r]
        for j in range(N):
            total -= out[half + N + N * r + j] * given[j]
        b[N + r] = 0.0 if masked[r] != 0.0 else total
    if not gauss(K, b):
        return np.int32(CHAIN_OPEN)
    rates = floats(dy, 2 * N)
    for i in range(N):
        rates[i] = 0.0 if fixed[i] != 0.0 else u[i]
        rates[N + i] = 0.0 if fixed[i] != 0.0 else b[i]
        given[i] += b[i]
    return np.int32(OK)

def project(t, y, rank, context):
    D, state = ints(context, 8), floats(y, 2 * N)
    out, K, b = floats(D[3], {size}), floats(D[4], S * S), floats(D[5], S)
    masked, fixed = floats(D[7], M), floats(D[7] + 8 * M, N)
    first = N * (N + 1) // 2 + N + N * M + M
    for level in range(2):
        before = 1e300
        for _ in range(8):
            if not begin(D, t, y):
                return np.int32(4)
            gap = 0.0
            for r in range(M):
                if masked[r] == 0.0:
                    gap = max(gap, abs(out[first + M * level + r]))
            if gap < 1e-15 or not gap < 0.5 * before:
                break
            before = gap
            matrix(D, out, K, masked, fixed)
            for i in range(N):
                b[i] = 0.0
            for r in range(M):
                b[N + r] = 0.0 if masked[r] != 0.0 else -out[first + M * level + r]
            if not gauss(K, b):
                return np.int32(CHAIN_OPEN)
            for i in range(N):
                state[N * level + i] += b[i]
        if level == 0 and not gap < 1e-8:
            return np.int32(CHAIN_OPEN)
    return np.int32(OK)
'''


class Lagrange(CompiledFormulation, Relative):
    """y = (q, u); M(q) and the loads from T and V, multipliers for the chords; projection after every step."""

    name = "lagrange-symbolic"
    source = "Sol (6.1.3)-(6.1.5)"

    def __init__(self, system: tm.System) -> None:
        super().__init__(system)
        if self.mech.nu > MOST:
            raise Inexpressible(f"{self.mech.nu} coordinates: {self.name} is for {MOST} at most.")
        for c in self.mech._lagrange.hinges:
            if type(c.hinge) not in _POSES:
                raise Inexpressible(f"hinge {c.name!r} ({c.hinge.kind}) has no symbolic pose here.")
        chords = {c.name for c in self.mech.tree.chords}
        self.rows = [row for row in rows_of(system) if row.connection in chords]
        for row in self.rows:
            if row.kind not in (POINT, N1, N2, LENGTH, EDGE) or (row.kind == N2 and row.signal is not None):
                raise Inexpressible(f"the rows of {row.connection!r} have no symbolic form here.")
        refuse_composites(system)
        for name, coupled in system.couplings.items():
            raise Inexpressible(f"coupling {name!r} ({coupled.element.kind}) has no symbolic form here.")
        for load in system.wiring.elements.values():
            if not _symbolic(load.element):
                raise Inexpressible(f"element {load.name!r} ({load.element.kind}) has no symbolic form here.")
        n, m = self.mech.nu, len(self.rows)
        module = _module(self._key(), lambda: derive(system, self.mech, self.rows))
        self.RHS, self.PROJECT = Compiled(module.rhs, RHS), Compiled(module.project, RHS)
        self.size = n + m
        self.nonzeros = self.size**2
        count = n * (n + 1) // 2 + n + n * m + 3 * m
        self.memory = [np.zeros(k) for k in (n, n, count, self.size**2, self.size, n, m + n)]
        self.memory[6][m + self.core.layout.plan.prescribed[:, speed.PRESCRIBED_Q]] = 1.0
        self.context = np.array(
            [self.core.context_address, *(data(x) if x.size else 0 for x in self.memory)], dtype=np.int64
        )

    def _key(self) -> str:
        """Return all that the derived module depends on."""
        lines = [repr(np.asarray(self.system.gravity).tolist())]
        for b in self.system.bodies:
            lines.append(repr((b.name, b.mass, b.inertia.tolist(), b.com.tolist())))
        described: list[Any] = [*self.system.connections.values(), *self.system.wiring.elements.values()]
        for c in described:
            ends = c.ends
            lines.append(
                repr(
                    (
                        c.name,
                        c.element,
                        getattr(c, "coordinates", ()),
                        [(e.body.name, e.offset.tolist(), e.rotation.tolist()) for e in ends],
                    )
                )
            )
        lines.append(repr([(c.name, c.forward) for c in self.mech._lagrange.hinges]))
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:20]

    def initial(self, state: tm.State) -> Floats:
        super().initial(state)  # rows of the engine, for the loads
        n, m = self.mech.nu, len(self.rows)
        y = np.concatenate((state.q, state.u))
        self.memory[6][:m] = 0.0
        if m:
            dy = np.zeros(2 * n)
            self.RHS(state.t, data(y), data(dy), data(self.context))
            P = self.memory[2][n * (n + 1) // 2 + n :][: n * m].reshape(m, n)
            free = self.memory[6][m:] == 0.0
            _, R, order = qr(P[:, free].T, mode="economic", pivoting=True)
            rank = int(np.sum(np.abs(np.diag(R)) > 1e-9))
            self.memory[6][:m] = 1.0
            self.memory[6][order[:rank]] = 0.0
            self.size = n + rank
        return y

    def options(self, setting: float) -> dict[str, Any]:
        return {"project": self.PROJECT.address if self.rows else 0}

    def states(self, t: Floats, y: Floats) -> tuple[Floats, Floats]:
        return self.core.states(
            np.asarray(t, dtype=np.float64), np.ascontiguousarray(y[:, : 2 * self.mech.nu])
        )

    def reactions(self, t: float, y: Floats) -> dict[str, tuple[Floats, Floats]]:
        self.rhs(t, y)
        q, u = (x[0] for x in self.states(np.array([t]), y[None]))
        return loads_of(self.mech, t, q, u, self.memory[5].copy(), self.core.chord_work.q.copy())

    def residuals(self, t: Floats, y: Floats) -> Floats:
        n, m, found = self.mech.nu, len(self.rows), np.zeros((len(t), 2))
        first = n * (n + 1) // 2 + n + n * m + m
        for k in range(len(t) if m else 0):
            self.rhs(t[k], y[k])
            out = np.abs(self.memory[2])
            found[k] = out[first : first + m].max(), out[first + m :].max()
        return found


def _module(key: str, source: Callable[[], str]) -> Any:
    """Return the module of a derivation; write it if it does not exist yet."""
    name = f"treemech_lagrange_{key}"
    if name in sys.modules:
        return sys.modules[name]
    path = folder() / f"{name}.py"
    if not path.exists():
        rest = path.with_suffix(f".{os.getpid()}")
        rest.write_text(source(), encoding="utf-8")
        rest.replace(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise AssertionError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def derive(system: tm.System, mech: tm.Mechanism, rows: list[Row]) -> str:
    """Return the source of the compiled equations of motion."""
    try:
        import sympy as sp
    except ImportError:
        raise Inexpressible("lagrange-symbolic needs SymPy, which is not installed.") from None
    n, m = mech.nu, len(rows)
    q, u = sp.symbols(f"q0:{n}"), sp.symbols(f"u0:{n}")
    pose = _bodies(sp, system, mech, q)
    T, V, Q = sp.Integer(0), sp.Integer(0), sp.zeros(n, 1)
    speed = sp.Matrix(u)
    partial: dict[int, tuple[Any, Any]] = {}
    for number, (r, R) in pose.items():
        body = system.bodies[number]
        if number == 0:
            continue
        com = r + R * _column(sp, body.com)
        v = com.jacobian(list(q)) * speed
        turning = sp.zeros(3, n)  # in body axes: R^T dR/dq_k
        for k in range(n):
            W = R.T * R.diff(q[k])
            turning[:, k] = sp.Matrix([W[2, 1], W[0, 2], W[1, 0]])
        w = turning * speed
        partial[number] = r, turning
        T += body.mass * (v.T * v)[0] / 2 + (w.T * _matrix(sp, body.inertia) * w)[0] / 2
        V -= body.mass * (com.T * _column(sp, system.gravity))[0]
    for load in system.wiring.elements.values():
        Q += _load(sp, mech, load, pose, partial, q, u)
    momentum = sp.Matrix([sp.diff(T, x) for x in u])  # (6.1.5)
    mass = momentum.jacobian(list(u))
    rest = momentum.jacobian(list(q)) * speed - sp.Matrix([sp.diff(T - V, x) for x in q])
    load_column = Q - rest
    phi, P = sp.zeros(m, 1), sp.zeros(m, n)
    for k, row in enumerate(rows):
        (ri, Ri), (rj, Rj) = pose[row.i], pose[row.j]
        d = rj + Rj * _column(sp, row.point_j) - ri - Ri * _column(sp, row.point_i)
        if row.kind == EDGE:
            P[k, :] = (Rj * _column(sp, row.b)).T * d.jacobian(list(q))
            continue
        a = _column(sp, row.a) if row.kind == POINT else Ri * _column(sp, row.a)
        if row.kind == LENGTH:
            phi[k] = ((d.T * d)[0] - row.number**2) / (2 * row.number)
        else:
            phi[k] = (a.T * (Rj * _column(sp, row.b) if row.kind == N1 else d))[0]
        P[k, :] = phi[k : k + 1, :].jacobian(list(q))
    rate = P * speed
    bias = rate.jacobian(list(q)) * speed if m else sp.zeros(0, 1)
    lower = [mass[i, j] for i in range(n) for j in range(i + 1)]
    wanted = [*lower, *load_column, *P, *bias, *phi, *rate]
    common, left = sp.cse(wanted, symbols=sp.numbered_symbols("x"), order="none")
    printed = [f"    {', '.join(map(str, q))}, = {', '.join(f'q[{k}]' for k in range(n))},"]
    printed.append(f"    {', '.join(map(str, u))}, = {', '.join(f'u[{k}]' for k in range(n))},")
    code = sp.printing.pycode
    printed += [f"    {name} = {code(e, fully_qualified_modules=False)}" for name, e in common]
    printed += [f"    out[{k}] = {code(e, fully_qualified_modules=False)}" for k, e in enumerate(left)]
    return _TEMPLATE.format(n=n, m=m, size=len(wanted), body="\n".join(printed))


def _column(sp: Any, x: Any) -> Any:
    return sp.Matrix([_number(sp, v) for v in np.asarray(x, dtype=np.float64)])


def _matrix(sp: Any, x: Any) -> Any:
    return sp.Matrix(3, 3, [_number(sp, v) for v in np.asarray(x, dtype=np.float64).ravel()])


def _number(sp: Any, v: float) -> Any:
    """Return whole numbers as integers, so that terms that vanish do so."""
    return sp.Integer(round(v)) if abs(v - round(v)) < 1e-15 else sp.Float(float(v), 17)


def _bodies(sp: Any, system: tm.System, mech: tm.Mechanism, q: Any) -> dict[int, tuple[Any, Any]]:
    """Return origin and rotation of every body by its number in the System."""
    pose = {0: (sp.zeros(3, 1), sp.eye(3))}
    for c in sorted(mech._lagrange.hinges, key=lambda c: c.number):
        a, b = c.connection.ends
        base = c.hinge.base()
        offset, C = _POSES[type(c.hinge)](sp, c.hinge, q[c.q : c.q + c.hinge.n_coordinates])
        A, B = _matrix(sp, a.rotation @ base), _matrix(sp, b.rotation @ base)
        pa, pb = _column(sp, a.offset), _column(sp, b.offset)
        if c.forward:
            r, R = pose[a.body.number]
            turn = R * A * C * B.T
            pose[b.body.number] = r + R * (pa + A * offset) - turn * pb, turn
        else:
            r, R = pose[b.body.number]
            turn = R * B * C.T * A.T
            pose[a.body.number] = r + R * pb - turn * (pa + A * offset), turn
    return pose


def _symbolic(element: Any) -> bool:
    """Return whether an element is a constant force or moment, or a linear spring."""
    if isinstance(element, (tm.Force, tm.Moment)):
        return not signals_of(element)
    if type(element) is tm.Spring:
        return element.only is None and not signals_of(element)
    return type(element) is tm.RotationalSpring and element.table is None and not signals_of(element)


def _load(sp: Any, mech: Any, load: Any, pose: Any, partial: Any, q: Any, u: Any) -> Any:
    """Return the generalized loads of an element (6.1.4)."""
    element = load.element
    if isinstance(element, tm.RotationalSpring):
        ((hinge, number),) = load.coordinates
        c, found = find(mech._lagrange, hinge), sp.zeros(len(q), 1)
        turned = q[c.q + number] - _number(sp, element.angle)
        found[c.u + number] = -(
            _number(sp, element.stiffness) * turned
            + _number(sp, element.damping) * u[c.u + number]
            + _number(sp, element.torque.level)
        )
        return found
    if isinstance(element, tm.Spring):
        a, b = (pose[e.body.number][0] + pose[e.body.number][1] * _column(sp, e.offset) for e in load.ends)
        length = sp.sqrt(((b - a).T * (b - a))[0])
        slope = sp.Matrix([length]).jacobian(list(q))
        tension = _number(sp, element.stiffness) * (length - _number(sp, element.length))
        tension += _number(sp, element.damping) * (slope * sp.Matrix(u))[0] + _number(sp, element.force.level)
        return -tension * slope.T
    body = load.ends[0].body
    given = _column(sp, [s.level for s in (element.x, element.y, element.z)])
    r, R = pose[body.number]
    if element.frame == "body":
        given = R * _matrix(sp, load.ends[0].rotation) * given
    if isinstance(element, tm.Force):
        return (r + R * _column(sp, load.ends[0].offset)).jacobian(list(q)).T * given
    return (R * partial[body.number][1]).T * given
