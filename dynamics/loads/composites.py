# mypy: ignore-errors
"""Composite connections (7.3): internal points without mass, in equilibrium.

The unknowns of a point are its position (and turn). A viscous point, whose position is a state, has its
velocity as unknown. The loads on all points vanish; Newton's method with differences solves this down to
rounding.
"""

from math import sqrt

from treemech.kinematics.kernel.language import accumulate, kernel, load3, load9, store
from treemech.kinematics.kernel.status import OK, POINT_LOST
from treemech.kinematics.kernel.vector import (
    add,
    cross,
    dot,
    euler_rotation,
    multiply,
    rotate,
    scale,
    sub,
    transpose,
)
from treemech.kinematics.plan.columns import body, effort, point
from treemech.kinematics.plan.views import (
    body_work,
    composite_table,
    effort_records,
    effort_table,
    end_points,
    end_table,
    own_z,
    own_zd,
    point_table,
    point_work,
)
from treemech.kinematics.tree.ends import euler_parameters

from .efforts import call, gather, scatter

_ITERATIONS, _STEP = 60, 1e-7


@kernel
def load_points(plan, c, t):
    """Add up the loads of the parts of composite c on its points. Returns a status code (kernel.status)."""
    composites, inner, m, table, ends = (
        composite_table(plan),
        point_work(plan),
        effort_records(plan),
        effort_table(plan),
        end_table(plan),
    )
    first = composites[c, point.FIRST_POINT]
    for p in range(first, first + composites[c, point.N_POINTS]):
        for k in range(6):
            inner[p, point.F + k] = 0.0
    for e in range(
        composites[c, point.FIRST_PART], composites[c, point.FIRST_PART] + composites[c, point.N_PARTS]
    ):
        gather(plan, e)
        status = call(plan, e, t)
        if status != OK:
            return status
        n, at = table[e, effort.N_ENDS], table[e, effort.LOAD_RECORD]
        for k in range(n):
            i = ends[table[e, effort.FIRST_END] + k, 0]
            if i < 0:
                f, g = at + 3 * k, at + 3 * n + 3 * k
                accumulate(inner, -1 - i, point.F, (m[f], m[f + 1], m[f + 2]))
                accumulate(inner, -1 - i, point.N, (m[g], m[g + 1], m[g + 2]))
    return OK


@kernel
def _end(plan, j):
    """Return position and velocity of an end on a body."""
    W, ends, places = body_work(plan), end_table(plan), end_points(plan)
    i = ends[j, 0]
    arm = rotate(load9(W, i, body.R), load3(places, j, 9))
    return add(load3(W, i, body.P), arm), add(load3(W, i, body.VELOCITY), cross(load3(W, i, body.OMEGA), arm))


@kernel
def _line(plan, c):
    """Return origin, direction and length of the line between the first two ends of composite c.

    The velocity of the origin comes last.
    """
    composites = composite_table(plan)
    origin, velocity = _end(plan, composites[c, point.LINE_A])
    end, _ = _end(plan, composites[c, point.LINE_B])
    d = sub(end, origin)
    size = sqrt(dot(d, d))
    return origin, scale(1.0 / size if size > 0.0 else 0.0, d), size, velocity


@kernel
def _half_way(plan, c):
    """Return the base half-way between those of the first two ends of composite c."""
    composites, W, ends, places = composite_table(plan), body_work(plan), end_table(plan), end_points(plan)
    i, j = composites[c, point.LINE_A], composites[c, point.LINE_B]
    A = multiply(load9(W, ends[i, 0], body.R), load9(places, i, 0))
    B = multiply(load9(W, ends[j, 0], body.R), load9(places, j, 0))
    a, b, c, d = euler_parameters(A)
    w, x, y, z = euler_parameters(multiply(transpose(A), B))
    return multiply(euler_rotation(a, b, c, d), euler_rotation(1.0 + w, x, y, z))


@kernel
def move_point(plan, c, p, k, step):
    """Change unknown k of point p."""
    inner, table = point_work(plan), point_table(plan)
    viscous = table[p, point.STATE] >= 0
    if table[p, point.COORDINATES] == 1:
        origin, direction, size, velocity = _line(plan, c)
        if viscous:
            inner[p, point.RATE] += step
            accumulate(inner, p, point.V, scale(step, direction))
        else:
            inner[p, point.S] += step
            accumulate(inner, p, point.P, scale(step, direction))
    elif viscous:
        inner[p, point.V + k] += step
    elif k < 3:
        inner[p, point.P + k] += step
    else:
        half = 0.5 * step
        turn = euler_rotation(1.0, half if k == 3 else 0.0, half if k == 4 else 0.0, half if k == 5 else 0.0)
        Rp = multiply(turn, load9(inner, p, point.R))
        for j in range(9):
            inner[p, point.R + j] = Rp[j]


@kernel
def begin_points(plan, c):
    """Set the unknowns of the points of composite c to those that are remembered in z.

    Before anything is remembered, the points are in the middle of the ends, turned half-way from the first to
    the second, and move with the first one. So what is found depends on the state alone, and not on the axes of
    the world.
    """
    composites, inner, points, z = composite_table(plan), point_work(plan), point_table(plan), own_z(plan)
    origin, direction, size, velocity = _line(plan, c)
    first = composites[c, point.FIRST_POINT]
    for p in range(first, first + composites[c, point.N_POINTS]):
        at, viscous = points[p, point.SOUGHT], points[p, point.STATE] >= 0
        known = z[at] > 0.5
        n = points[p, point.COORDINATES]
        inner[p, point.S], inner[p, point.RATE] = 0.5 * size, 0.0
        store(inner, p, point.P, add(origin, scale(0.5 * size, direction)))
        for k in range(3):
            inner[p, point.V + k] = velocity[k] if viscous else 0.0
            inner[p, point.W + k] = 0.0
        turn = _half_way(plan, c) if n == 6 else euler_rotation(1.0, 0.0, 0.0, 0.0)
        store(inner, p, point.R, turn)
        if known and n == 1:
            inner[p, point.RATE if viscous else point.S] = z[at + 1]
        elif known:
            for k in range(3):
                inner[p, (point.V if viscous else point.P) + k] = z[at + 1 + k]
        if known and n == 6 and z[at + 4] * z[at + 4] + z[at + 5] * z[at + 5] + z[at + 6] * z[at + 6] > 0.0:
            for k in range(9):
                inner[p, point.R + k] = z[at + 4 + k]


@kernel
def remember_points(plan, z):
    """Write the unknowns of all points into z: the next step starts from them."""
    inner, points = point_work(plan), point_table(plan)
    for p in range(points.shape[0]):
        at, viscous, n = points[p, point.SOUGHT], points[p, point.STATE] >= 0, points[p, point.COORDINATES]
        z[at] = 1.0
        if n == 1:
            z[at + 1] = inner[p, point.RATE if viscous else point.S]
        else:
            for k in range(3):
                z[at + 1 + k] = inner[p, (point.V if viscous else point.P) + k]
        if n == 6:
            for k in range(9):
                z[at + 4 + k] = inner[p, point.R + k]


@kernel
def place_points(plan, c):
    """Place the points of composite c by their unknowns and states."""
    composites, inner, points, z = composite_table(plan), point_work(plan), point_table(plan), own_z(plan)
    origin, direction, size, velocity = _line(plan, c)
    first = composites[c, point.FIRST_POINT]
    for p in range(first, first + composites[c, point.N_POINTS]):
        at = points[p, point.STATE]
        if points[p, point.COORDINATES] == 1:
            if at >= 0:
                inner[p, point.S] = z[at]
            store(inner, p, point.P, add(origin, scale(inner[p, point.S], direction)))
            store(inner, p, point.V, add(velocity, scale(inner[p, point.RATE], direction)))
        elif at >= 0:
            store(inner, p, point.P, (z[at], z[at + 1], z[at + 2]))


@kernel
def point_residual(plan, c, out, at):
    """Write the loads on the points as one column into `out`. Returns the sum of squares."""
    composites, inner, points = composite_table(plan), point_work(plan), point_table(plan)
    origin, direction, size, velocity = _line(plan, c)
    first, total, row = composites[c, point.FIRST_POINT], 0.0, at
    for p in range(first, first + composites[c, point.N_POINTS]):
        for k in range(points[p, point.COORDINATES]):
            out[row] = inner[p, point.F + k]
            if points[p, point.COORDINATES] == 1:
                out[row] = dot(load3(inner, p, point.F), direction)
            total += out[row] * out[row]
            row += 1
    return total


@kernel
def eliminate(m, at, n):
    """Replace column n of the n x (n + 1) matrix in m by the solution, with row exchanges."""
    w = n + 1
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(m[at + i * w + k]) > abs(m[at + p * w + k]):
                p = i
        for j in range(k, w):
            x = m[at + k * w + j]
            m[at + k * w + j] = m[at + p * w + j]
            m[at + p * w + j] = x
        for i in range(k + 1, n):
            factor = m[at + i * w + k] / m[at + k * w + k]
            for j in range(k + 1, w):
                m[at + i * w + j] -= factor * m[at + k * w + j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            m[at + k * w + n] -= m[at + k * w + j] * m[at + j * w + n]
        m[at + k * w + n] /= m[at + k * w + k]


@kernel
def _advance(plan, c, m, at, factor):
    """Move all unknowns by a part of the step in the last column."""
    composites, points = composite_table(plan), point_table(plan)
    n, row = composites[c, point.N_UNKNOWNS], 0
    first = composites[c, point.FIRST_POINT]
    for p in range(first, first + composites[c, point.N_POINTS]):
        for k in range(points[p, point.COORDINATES]):
            move_point(plan, c, p, k, -factor * m[at + row * (n + 1) + n])
            row += 1


@kernel
def _derivatives(plan, c, t, m, at, base, beside):
    """Find the matrix of Newton's method by differences: loads on the points by their unknowns.

    Returns a status code (kernel.status).
    """
    composites, points = composite_table(plan), point_table(plan)
    n, first, column = composites[c, point.N_UNKNOWNS], composites[c, point.FIRST_POINT], 0
    for p in range(first, first + composites[c, point.N_POINTS]):
        for k in range(points[p, point.COORDINATES]):
            move_point(plan, c, p, k, _STEP)
            status = load_points(plan, c, t)
            point_residual(plan, c, m, beside)
            move_point(plan, c, p, k, -_STEP)
            if status != OK:
                return status
            for row in range(n):
                m[at + row * (n + 1) + column] = (m[beside + row] - m[base + row]) / _STEP
            column += 1
    for row in range(n):
        m[at + row * (n + 1) + n] = m[base + row]
    return OK


@kernel
def _solve_points(plan, c, t):
    """Find the unknowns by Newton's method with halved steps. Returns a status code (kernel.status)."""
    composites, m = composite_table(plan), effort_records(plan)
    n, at = composites[c, point.N_UNKNOWNS], composites[c, point.WORKSPACE]
    base = at + n * (n + 1)  # behind the matrix: the loads at the point of expansion, then those beside it
    begin_points(plan, c)
    place_points(plan, c)
    status = load_points(plan, c, t)
    if status != OK:
        return status
    norm, last = point_residual(plan, c, m, base), 1e300
    for _ in range(_ITERATIONS):
        status = _derivatives(plan, c, t, m, at, base, base + n)
        if status != OK:
            return status
        eliminate(m, at, n)
        size, finite = 0.0, 0.0
        for row in range(n):
            size = max(size, abs(m[at + row * (n + 1) + n]))
            finite += 0.0 * m[at + row * (n + 1) + n]
        if finite != 0.0:
            return POINT_LOST + 16 * c
        factor = 1.0
        _advance(plan, c, m, at, factor)
        status = load_points(plan, c, t)
        fresh = point_residual(plan, c, m, base) if status == OK else 1e300
        while not fresh <= norm * (1.0 - 1e-4 * factor) and factor > 1e-3 and size > 1e-9:
            _advance(plan, c, m, at, -0.5 * factor)
            factor *= 0.5
            status = load_points(plan, c, t)
            fresh = point_residual(plan, c, m, base) if status == OK else 1e300
        if status != OK:
            return status
        norm = fresh
        if factor == 1.0 and (size < 1e-15 or (size < 1e-9 and size >= 0.5 * last) or norm == 0.0):
            return OK
        last = size
    return POINT_LOST + 16 * c


@kernel
def solve_points(plan, c, t):
    """Bring the points of composite c into equilibrium, then apply its parts.

    Returns a status code (kernel.status).
    """
    status = _solve_points(plan, c, t)
    if status == OK:
        act(plan, c)
    return status


@kernel
def act(plan, c):
    """Apply the loads of the parts of composite c and set the rates of its points that are states.

    The points are in equilibrium already.
    """
    composites, points, inner, zd = composite_table(plan), point_table(plan), point_work(plan), own_zd(plan)
    first = composites[c, point.FIRST_POINT]
    for p in range(first, first + composites[c, point.N_POINTS]):
        at = points[p, point.STATE]
        if at >= 0 and points[p, point.COORDINATES] == 1:
            zd[at] = inner[p, point.RATE]
        elif at >= 0:
            for k in range(3):
                zd[at + k] = inner[p, point.V + k]
    for e in range(
        composites[c, point.FIRST_PART], composites[c, point.FIRST_PART] + composites[c, point.N_PARTS]
    ):
        scatter(plan, e)
