"""Derivatives through the internal points of composite connections (7.3), by the implicit function theorem.

The loads on the points vanish: R(y, q, u, x, i) = 0. The motion y of the points follows from their unknowns w
and, for points on the line between two ends, from the motion of these ends. So dw = -R_w^-1 (R_q dq + ...),
and from it the change of the loads on the bodies.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treemech.kinematics.plan.columns import body, effort, point
from treemech.topology.arrays import Floats

from ..derivatives import layout
from .core import Core
from .element_derivatives import element_derivatives

if TYPE_CHECKING:
    from .tree_derivatives import TreeDerivatives

Input = Sequence[
    tuple[int, int]
]  # (element, number of its input) of all element inputs that get the same signal


class EndMotion(NamedTuple):
    """Position of a point of a body, and derivatives of its motion by the speeds (3, nu), regular order."""

    position: Floats
    displacement: Floats
    velocity_q: Floats


class Change(NamedTuple):
    """Terms that the points of all composites add; columns (q, u, x, inputs), speeds in regular order."""

    tau: Floats  # (nu, .) to the derivatives of tau = A ud - Q
    rates: Floats  # (nx, .) to those of the rates of element states


def through_points(tree: "TreeDerivatives", t: float, inputs: Sequence[Input] = ()) -> Change:
    """Return the terms through the points, after a call of the tree's derivatives at this state.

    J, tau_x, rates and rates_x of that call are overwritten.
    """
    core = tree.core
    n, nx = core.nu, core.nx
    found = Change(
        np.zeros((n, 2 * n + nx + len(inputs))),
        np.zeros((nx, 2 * n + nx + len(inputs))),
    )
    for c in range(len(core.layout.plan.composites)):
        _composite(tree, t, c, inputs, found)
    return found


def _composite(tree: "TreeDerivatives", t: float, c: int, inputs: Sequence[Input], found: Change) -> None:
    core, plan = tree.core, tree.core.layout.plan
    row, n, width = plan.composites[c], tree.core.nu, found.tau.shape[1]
    first, points = int(row[point.FIRST_POINT]), int(row[point.N_POINTS])
    load, load_y, load_c = (
        np.zeros(6 * points),
        np.zeros((6 * points, 12 * points)),
        np.zeros((6 * points, width)),
    )
    tau_y, rates_y = np.zeros((n, 12 * points)), np.zeros((core.nx, 12 * points))
    for e in range(row[point.FIRST_PART], row[point.FIRST_PART] + row[point.N_PARTS]):
        derivatives, part = element_derivatives(tree, t, e), plan.efforts[e]
        ends, own, states = (
            int(part[effort.N_ENDS]),
            int(part[effort.FIRST_STATE]),
            int(part[effort.N_STATES]),
        )
        loads = derivatives.motion.shape[1]
        by = np.zeros((len(derivatives.base), width))
        by[:, :n], by[:, n : 2 * n] = derivatives.by_q, derivatives.by_u
        by[:, 2 * n + own : 2 * n + own + states] = derivatives.partials[
            derivatives.first_state : derivatives.first_input
        ].T
        for k, members in enumerate(inputs):
            for element, number in members:
                if element == e:
                    by[:, 2 * n + core.nx + k] += derivatives.partials[derivatives.first_input + number]
        inner = [
            (k, -1 - int(plan.ends[part[effort.FIRST_END] + k, 0]) - first)
            for k in range(ends)
            if plan.ends[part[effort.FIRST_END] + k, 0] < 0
        ]
        for k, p in inner:
            own_loads = [*range(3 * k, 3 * k + 3), *range(3 * (ends + k), 3 * (ends + k) + 3)]
            at = slice(6 * p, 6 * p + 6)
            load[at] += derivatives.base[own_loads]
            load_c[at] += by[own_loads]
            for j, other in inner:
                load_y[at, 12 * other : 12 * other + 12] += derivatives.partials[
                    12 * j : 12 * j + 12, own_loads
                ].T
            of = slice(12 * p, 12 * p + 12)
            tau_y[:, of] -= derivatives.motion @ derivatives.partials[12 * k : 12 * k + 12, :loads].T
            rates_y[own : own + states, of] += derivatives.partials[12 * k : 12 * k + 12, loads:].T
    y_w, y_c = np.zeros((12 * points, row[point.N_UNKNOWNS])), np.zeros((12 * points, width))
    residual_y, residual_c = (
        np.zeros((row[point.N_UNKNOWNS], 12 * points)),
        np.zeros((row[point.N_UNKNOWNS], width)),
    )
    rates_w, place = [], 0
    for p in range(points):
        count, state = (int(x) for x in plan.points[first + p, [point.COORDINATES, point.STATE]])
        w, y, f = slice(place, place + count), 12 * p, slice(6 * p, 6 * p + count)
        if count == 1:
            d, d_q, y_c[y : y + 12] = _on_line(tree, c, first + p, width)
            f = slice(6 * p, 6 * p + 3)
            residual_y[w], residual_c[w] = d @ load_y[f], d @ load_c[f]
            residual_c[w, :n] += load[f] @ d_q
            y_w[y + (6 if state >= 0 else 0) : y + (9 if state >= 0 else 3), place] = d
            if state >= 0:
                y_c[y : y + 3, 2 * n + state] += d
        else:
            residual_y[w], residual_c[w] = load_y[f], load_c[f]
            moved = y + 6 if state >= 0 else y
            y_w[moved : moved + count, w] = np.eye(count)
            if state >= 0:
                y_c[y : y + 3, 2 * n + state : 2 * n + state + 3] = np.eye(3)
        if state >= 0:
            rates_w += [(state + k, place + k) for k in range(count)]
        place += count
    w_c = -np.linalg.solve(residual_y @ y_w, residual_c + residual_y @ y_c)
    motion = y_w @ w_c + y_c
    found.tau[:] += tau_y @ motion
    found.rates[:] += rates_y @ motion
    for k, unknown in rates_w:
        found.rates[k] += w_c[unknown]


def _on_line(tree: "TreeDerivatives", c: int, p: int, width: int) -> tuple[Floats, Floats, Floats]:
    """Differentiate a point on the line between two ends, at a fixed distance and rate.

    Returns the direction d, its derivatives by q, and those of the motion of the point by q and u.
    """
    core, row = tree.core, tree.core.layout.plan.composites[c]
    n, number = core.nu, core.work.point[p]
    a, b = end_motion(tree, int(row[point.LINE_A])), end_motion(tree, int(row[point.LINE_B]))
    line = b.position - a.position
    size = float(np.linalg.norm(line))
    d = line / size
    d_q = (np.eye(3) - np.outer(d, d)) @ (b.displacement - a.displacement) / size
    motion = np.zeros((12, width))
    motion[:3, :n] = a.displacement + number[point.S] * d_q
    motion[6:9, :n] = a.velocity_q + number[point.RATE] * d_q
    motion[6:9, n : 2 * n] = a.displacement
    return d, d_q, motion


def end_motion(tree: "TreeDerivatives", j: int) -> EndMotion:
    """Return the motion of end j of an element, after a call of the tree's derivatives."""
    core, plan, W = tree.core, tree.core.layout.plan, tree.core.work.body
    i = int(plan.ends[j, 0])
    position = W[i, body.P : body.P + 3] + W[i, body.R : body.R + 9].reshape(3, 3) @ plan.end_points[j, 9:12]
    found = EndMotion(position, np.zeros((3, core.nu)), np.zeros((3, core.nu)))
    w, v = np.split(tree.bodies[i, layout.VELOCITY : layout.VELOCITY + 6], 2)
    arm = position - W[tree.roots[i], body.P : body.P + 3]
    for d in speeds_before(core, i):
        turn, shift = np.split(tree.speeds[layout.SPEED_S : layout.SPEED_S + 6, d], 2)
        own_w, own_v = np.split(tree.speeds[layout.SPEED_Y : layout.SPEED_Y + 6, d], 2)
        moved = shift + np.cross(turn, arm)
        dw, dv = np.cross(turn, w) + own_w, np.cross(turn, v) + np.cross(shift, w) + own_v
        found.displacement[:, d] = moved
        found.velocity_q[:, d] = dv + np.cross(dw, arm) + np.cross(w, moved)
    return found


def speeds_before(core: Core, i: int) -> list[int]:
    """Return the regular numbers of the speeds between a body and the ground."""
    plan_body, found = core.layout.plan.body, list[int]()
    while i > 0:
        found += range(plan_body[i, body.DOF], plan_body[i, body.DOF] + plan_body[i, body.NU])
        i = int(plan_body[i, body.PARENT])
    return found
