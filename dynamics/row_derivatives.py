"""Derivatives of the constraint rows of closed chains by coordinates and speeds.

The motion of end b relative to end a is differentiated exactly, from what the derivatives of the tree left in their room
(dynamics.tree_derivatives): s, y, z, e of every speed and V, A of the two bodies. Seen from end a a speed of the branch to b
displaces b by s, one of the branch to a by -s. All rows of cut Rigid, Revolute, Prismatic and Ball hinges are then exact.

Elements called through their address bring rows that vary with the relative pose: their derivatives by the pose (by the
coordinates of a coupling) are central differences of eighth order of the element's rows, the step cut until two agree (about
1e-12 of the rows); by rates they are exact, the rows being polynomials of second degree in them.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.chord_plan import (
    ACCELERATION,
    BIAS,
    BODY_A,
    BODY_B,
    COORDINATE,
    COUPLING,
    FIRST_ENTRY,
    FIRST_ROW,
    KIND,
    N_ROWS,
    OFFSET,
    PATH_END,
    PATH_START,
    PLACE_A,
    PLACE_B,
    RATE,
    ROTATION,
    ROW_F,
    SIDE,
    SPEED,
    TURN_RATE,
    VELOCITY,
)
from treemech.kinematics.plan import (
    BALL,
    COLUMN,
    DOF,
    OWNER,
    PARENT,
    PARTIAL_V,
    PARTIAL_W,
    PLACE_R,
    PRISMATIC,
    PUBLIC,
    REVOLUTE,
    RIGID,
    TABLE,
    P,
    R,
)
from treemech.kinematics.plan import KIND as HINGE_KIND
from treemech.kinematics.plan import NU as HINGE_NU
from treemech.kinematics.status import CHORD_FAILED

from . import native
from .core import Core, Floats, data
from .derivative_plan import ACCELERATION as SPATIAL_A
from .derivative_plan import SPEED_E, SPEED_S, SPEED_Y, SPEED_Z
from .derivative_plan import VELOCITY as SPATIAL_V
from .tree_room import TreeDerivatives

_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
_FIRST_STEP, _LEVELS = 2.0**-6, 8
_ENOUGH = 1e-12
# Unit directions (translation, rotation) of the rows of cut hinges with a path of their own in the core
_DIRECTIONS = {
    RIGID: (0, 1, 2, 3, 4, 5),
    REVOLUTE: (0, 1, 2, 3, 4),
    PRISMATIC: (0, 1, 3, 4, 5),
    BALL: (0, 1, 2),
}


class RowDerivatives(NamedTuple):
    """Of the rows at given ud and multipliers, columns in the public order."""

    partials: Floats  # P (m, nu) itself
    loads_q: Floats  # d(P^T lambda)/dq (nu, nu)
    velocity_q: Floats  # d(P u + P0)/dq (m, nu)
    bias_q: Floats  # d(P ud + P00)/dq (m, nu)
    bias_u: Floats  # d(P ud + P00)/du (m, nu)
    chord_loads_q: Floats  # (nc, 6, nu) of the load of every chord on end b, world, multipliers given


class _Local(NamedTuple):
    """Rows of one chord by the relative motion in the base of end a: pose, rates, accelerations of six each."""

    wrench: Floats  # (rows, 6)
    wrench_pose: Floats  # (rows, 6, 6), the last by the displacement
    velocity_pose: Floats  # (rows, 6)
    bias_pose: Floats
    bias_rate: Floats


class _Relative(NamedTuple):
    """Motion of end b seen from end a by the speeds between them, in the base of a: (number of speeds, 6) each."""

    displacement: Floats
    rate_q: Floats
    acceleration_q: Floats
    acceleration_u: Floats
    motion: Floats  # of the speeds at the point of b, seen from a: (translation, rotation)
    motion_q: Floats  # (speeds j, speeds k, 6): how that of k changes with coordinate j


def derivative(f: Callable[[float], Floats]) -> Floats:
    """f'(0) by central differences; the step is cut to a half until two derivatives agree."""
    size = float(np.max(np.abs(f(0.0)), initial=0.0))
    best, least, before = np.zeros(0), np.inf, None
    for level in range(_LEVELS):
        h = _FIRST_STEP * 0.5**level
        terms = [w * (f((k + 1) * h) - f(-(k + 1) * h)) for k, w in enumerate(_WEIGHTS)]
        now = np.asarray(sum(terms[1:], terms[0]) / h)
        if before is not None:
            gap = float(np.max(np.abs(now - before), initial=0.0))
            if gap < least:
                best, least = now, gap
            if gap <= _ENOUGH * max(size, float(np.max(np.abs(now), initial=0.0))):
                break
        before = now
    return best


def row_derivatives(
    core: Core, tree: TreeDerivatives, t: float, q: Floats, u: Floats, ud: Floats, multipliers: Floats
) -> RowDerivatives:
    """Derivatives at a state whose cut hinges stand in the work arrays; after tree.inverse_dynamics of that state."""
    chords, nu, m = core.layout.chords, core.nu, len(core.layout.chords.rows)
    public = core.layout.plan.dof[:, PUBLIC]
    here = core.constraints(t, q, u, ud)
    found = RowDerivatives(
        here.partials,
        np.zeros((nu, nu)),
        np.zeros((m, nu)),
        np.zeros((m, nu)),
        np.zeros((m, nu)),
        np.zeros((len(chords.plan.chord), 6, nu)),
    )
    for c, row in enumerate(chords.plan.chord):
        rows = slice(row[FIRST_ROW], row[FIRST_ROW] + row[N_ROWS])
        path = chords.plan.path[row[PATH_START] : row[PATH_END]]
        at = public[path[:, SPEED]]
        if row[KIND] == COUPLING:
            loads, velocity_q, bias_q, bias_u = _coupling(core, t, c, multipliers[rows])
        else:
            local, relative = _local(core, t, c), _relative(core, tree, c)
            velocity_q = relative.displacement @ local.velocity_pose.T + relative.rate_q @ local.wrench.T
            bias_q = relative.displacement @ local.bias_pose.T + relative.rate_q @ local.bias_rate.T
            bias_q += relative.acceleration_q @ local.wrench.T
            side = path[:, SIDE].astype(float)
            rates_u = side[:, None] * relative.motion
            bias_u = rates_u @ local.bias_rate.T + relative.acceleration_u @ local.wrench.T
            turned = relative.displacement @ np.einsum("r,rkd->dk", multipliers[rows], local.wrench_pose)
            loads = relative.motion_q @ (multipliers[rows] @ local.wrench) + turned @ relative.motion.T
            loads *= side
            found.chord_loads_q[c][:, at] = turned.T
            _turn_loads(core, tree, c, multipliers[rows] @ local.wrench, found.chord_loads_q[c])
        found.loads_q[np.ix_(at, at)] += loads.T
        found.velocity_q[rows, at], found.bias_q[rows, at] = velocity_q.T, bias_q.T
        found.bias_u[rows, at] = bias_u.T
    return found


def _turn_loads(core: Core, tree: TreeDerivatives, c: int, load: Floats, by: Floats) -> None:
    """Derivatives of the load of chord c from the base of end a to world axes, which turns with its body."""
    body, place = core.layout.plan.body, core.layout.chords.plan.place[c]
    i = int(core.layout.chords.plan.chord[c, BODY_A])
    Ra = core.work.body[i, R : R + 9].reshape(3, 3) @ place[PLACE_A : PLACE_A + 9].reshape(3, 3)
    by[:3], by[3:] = Ra @ by[:3], Ra @ by[3:]
    force, moment = Ra @ load[:3], Ra @ load[3:]
    while i > 0:
        for d in range(body[i, DOF], body[i, DOF] + body[i, HINGE_NU]):
            turn, public = tree.speeds[SPEED_S : SPEED_S + 3, d], core.layout.plan.dof[d, PUBLIC]
            by[:3, public] += np.cross(turn, force)
            by[3:, public] += np.cross(turn, moment)
        i = int(body[i, PARENT])


# ---------------------------------------------------------------- exact: the motion of b seen from a
def _cross(a: Floats, b: Floats) -> Floats:
    """Of two motions (rotation, translation)."""
    w, v = (
        np.cross(a[..., :3], b[..., :3]),
        np.cross(a[..., :3], b[..., 3:]) + np.cross(a[..., 3:], b[..., :3]),
    )
    return np.concatenate((w, v), axis=-1)


def _shifted(motion: Floats, arm: Floats) -> Floats:
    """A motion at a point `arm` away."""
    return np.concatenate((motion[..., :3], motion[..., 3:] + np.cross(motion[..., :3], arm)), axis=-1)


def _relative(core: Core, tree: TreeDerivatives, c: int) -> _Relative:
    plan, chords, W = core.layout.plan, core.layout.chords.plan, core.work.body
    row, place = chords.chord[c], chords.place[c]
    path = chords.path[row[PATH_START] : row[PATH_END]]
    speeds, on_a = path[:, SPEED], path[:, SIDE] < 0
    a, b = int(row[BODY_A]), int(row[BODY_B])
    Ra = W[a, R : R + 9].reshape(3, 3) @ place[PLACE_A : PLACE_A + 9].reshape(3, 3)
    point = W[b, P : P + 3] + W[b, R : R + 9].reshape(3, 3) @ place[PLACE_B + 9 : PLACE_B + 12]
    owners = plan.dof[speeds, OWNER]
    arms = point - W[tree.roots[owners], P : P + 3]
    s, y, z, e = (
        _shifted(tree.speeds[k : k + 6, speeds].T, arms) for k in (SPEED_S, SPEED_Y, SPEED_Z, SPEED_E)
    )

    def body(i: int, k: int) -> Floats:
        return _shifted(tree.bodies[i, k : k + 6], point - W[tree.roots[i], P : P + 3])

    Va, Vb, Aa, Ab = body(a, SPATIAL_V), body(b, SPATIAL_V), body(a, SPATIAL_A), body(b, SPATIAL_A)
    V, A = Vb - Va, Ab - Aa - _cross(Va, Vb - Va)
    side = on_a[:, None]
    dV = np.where(side, -_cross(s, Vb) - y, y + _cross(s, Vb))
    dA = np.where(
        side,
        -_cross(s, Ab) - z - _cross(y, Va) - _cross(y, V),
        z + _cross(y, Vb) + _cross(s, Ab),
    ) - _cross(Va, dV)
    dA_u = np.where(
        side, -e - _cross(s, Va) - _cross(s, V) + _cross(Va, s), e + _cross(s, Vb) - _cross(Va, s)
    )
    moved, dV_u = np.where(side, -s, s), np.where(side, -s, s)
    w, v, alpha, dx = V[:3], V[3:], A[:3], moved[:, 3:]
    rate = dV[:, 3:] + np.cross(w, dx)
    acceleration = dA[:, 3:] + np.cross(alpha, dx) + np.cross(dV[:, :3], v) + np.cross(w, rate)
    acceleration_u = dA_u[:, 3:] + np.cross(dV_u[:, :3], v) + np.cross(w, dV_u[:, 3:])
    # how the motion of speed k changes, seen from a, with coordinate j: [j, k]
    turned = _cross(s[:, None], s[None])
    order = np.arange(len(path))
    before = order[:, None] < order[None]
    same = owners[:, None] == owners[None]
    both_b, both_a = ~on_a[:, None] & ~on_a[None], on_a[:, None] & on_a[None]
    away = (on_a[:, None] & ~on_a[None]) | (both_a & (same | ~before))
    change = np.where((both_b & before & ~same)[..., None], turned, 0.0) - np.where(
        away[..., None], turned, 0.0
    )
    for i in np.unique(owners):
        own = np.flatnonzero(owners == i)
        change[np.ix_(own, own)] += _own_change(core, tree, int(i), speeds[own], point)
    change[..., 3:] += np.cross(s[None, :, :3], moved[:, None, 3:])

    def seen(rotation: Floats, translation: Floats) -> Floats:
        return np.concatenate((translation @ Ra, rotation @ Ra), axis=-1)

    return _Relative(
        seen(moved[:, :3], dx),
        seen(dV[:, :3], rate),
        seen(dA[:, :3], acceleration),
        seen(dA_u[:, :3], acceleration_u),
        seen(s[:, :3], s[:, 3:]),
        seen(change[..., :3], change[..., 3:]),
    )


def _own_change(
    core: Core, tree: TreeDerivatives, i: int, speeds: NDArray[np.int64], point: Floats
) -> Floats:
    """(n, n, 6): how the motion of each speed of hinge i, at a point, changes with each of its coordinates."""
    plan, W, S = core.layout.plan, core.work.body, core.work.speed
    n = len(speeds)
    change = np.zeros((n, n, 6))
    if n < 2 and plan.body[i, HINGE_KIND] != TABLE:
        return change
    v, w = S[speeds, PARTIAL_V : PARTIAL_V + 3], S[speeds, PARTIAL_W : PARTIAL_W + 3]
    change[..., 3:] = np.cross(v[:, None], w[None])
    if plan.body[i, HINGE_KIND] == TABLE:
        T = W[plan.body[i, PARENT], R : R + 9].reshape(3, 3) @ plan.constants[
            i, PLACE_R : PLACE_R + 9
        ].reshape(3, 3)
        columns, all_speeds = plan.dof[speeds, COLUMN], int(plan.body[i, HINGE_NU])
        own = tree.own[i, columns]
        dv = own[:, 12 : 12 + 3 * all_speeds].reshape(n, -1, 3)[:, columns] @ T.T
        dw = own[:, 12 + 3 * all_speeds : 12 + 6 * all_speeds].reshape(n, -1, 3)[:, columns] @ T.T
        change[..., :3] += dw
        change[..., 3:] += dv + np.cross(dw, point - W[i, P : P + 3])
    return change


# ---------------------------------------------------------------- rows of an element
def _local(core: Core, t: float, c: int) -> _Local:
    row = core.layout.chords.plan.chord[c]
    directions = _DIRECTIONS.get(int(row[KIND]))
    count = int(row[N_ROWS])
    if directions is not None:
        none = np.zeros((count, 6))
        return _Local(np.eye(6)[list(directions)], np.zeros((count, 6, 6)), none, none, none)
    work, first = core.chord_work, int(row[FIRST_ROW])
    near, pivot, motion = work.q.copy(), work.pivot.copy(), work.chord[c, : TURN_RATE + 3].copy()
    kept = work.row.copy()

    def rows(step: Floats, rates: Floats) -> Floats:
        """Wrenches, velocities and biases with b displaced and its rates changed, in the base of a."""
        work.q[:], work.pivot[:] = near, pivot
        X = work.chord[c]
        X[: TURN_RATE + 3] = motion
        X[OFFSET : OFFSET + 3] += step[:3]
        X[ROTATION : ROTATION + 9] = (
            _rotation(step[3:]) @ motion[ROTATION : ROTATION + 9].reshape(3, 3)
        ).ravel()
        X[RATE:ACCELERATION] += rates
        _call(core, c, t)
        own = work.row[first : first + count]
        return np.hstack((own[:, ROW_F : ROW_F + 6], own[:, [VELOCITY, BIAS]]))

    still = np.zeros(6)
    base = rows(still, still)
    pose = np.array([derivative(lambda h, e=e: rows(h * e, still)) for e in np.eye(6)])  # type: ignore[misc]
    rate = np.array([0.5 * (rows(still, e) - rows(still, -e))[:, 7] for e in np.eye(6)])
    rows(still, still)
    work.row[:] = kept
    return _Local(base[:, :6], pose[:, :, :6].transpose(1, 2, 0), pose[:, :, 6].T, pose[:, :, 7].T, rate.T)


def _call(core: Core, c: int, t: float) -> None:
    """Rows of chord c anew, by its element."""
    with core.guard() as failure:
        status = native.entry("chord_element")(c, t, data(core.chord_context))
    if status != 1:
        core.fail(CHORD_FAILED + 16 * c, t, failure)


def _rotation(turn: Floats) -> Floats:
    """A rotation that begins like the turn: the Cayley transform."""
    x, y, z = 0.5 * turn
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + 2.0 / (1.0 + x * x + y * y + z * z) * (skew + skew @ skew))


def _coupling(core: Core, t: float, c: int, multipliers: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """(d(P^T lambda)/dq, d velocity/dq, d bias/dq, d bias/du) of a coupling: by coordinate, the loads (by, of)."""
    row, work = core.layout.chords.plan.chord[c], core.chord_work
    path = core.layout.chords.plan.path[row[PATH_START] : row[PATH_END]]
    count, first, entry = int(row[N_ROWS]), int(row[FIRST_ROW]), int(row[FIRST_ENTRY])
    places = path[:, COORDINATE]
    numbers = core.layout.plan.dof[path[:, SPEED], PUBLIC]
    q, u = core.work.q.copy(), core.work.u.copy()

    def rows(dq: Floats, du: Floats) -> Floats:
        core.work.q[: len(q)], core.work.u[: len(u)] = q, u
        core.work.q[places] += dq
        core.work.u[numbers] += du
        _call(core, c, t)
        own = work.row[first : first + count]
        P = work.partials[entry : entry + count * len(path)].reshape(len(path), count)
        return np.concatenate((P @ multipliers, own[:, VELOCITY], own[:, BIAS]))

    n, still = len(path), np.zeros(len(path))
    by_q = np.array([derivative(lambda h, e=e: rows(h * e, still)) for e in np.eye(n)])  # type: ignore[misc]
    by_u = np.array([0.5 * (rows(still, e) - rows(still, -e)) for e in np.eye(n)])
    rows(still, still)
    return by_q[:, :n], by_q[:, n : n + count], by_q[:, n + count :], by_u[:, n + count :]
