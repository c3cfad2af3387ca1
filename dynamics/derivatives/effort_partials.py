# mypy: ignore-errors
"""Derivatives of the loads and rates of an element by the motion, states and inputs it sees.

Directions are displacement, turn, velocity and angular velocity of every end (12), then q, u of its
coordinates, its states and its inputs. Each derivative is one call of the element on dual numbers, exact to
rounding (elements.compilation.entry).

If an element has no such form, or it gives nan (the derivative of the root at zero), central differences of
sixth order replace it. The step starts at 2^-7 and is cut to a quarter until the error is below 1e-12 of the
loads (for rates: of each rate by itself); the best differences are kept. In rough mode, for Newton's method
in an integrator, forward differences with one call each are enough.
"""

from treemech.elements import energetic
from treemech.kinematics.kernel.differences import ENOUGH, ROUGH_STEP, sixth_order
from treemech.kinematics.kernel.language import call_element, floats, kernel
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.kernel.vector import euler_rotation, multiply
from treemech.kinematics.plan.columns import effort
from treemech.kinematics.plan.views import effort_records, effort_table, end_table, parameter_duals

from ..loads.efforts import call, gather

_FIRST_STEP = 2.0**-7
_LEVELS = 6
_GAIN = 4.0**6


@kernel
def effort_sizes(plan, e):
    """Return the numbers of (ends, coordinates, states, loads, outputs, directions) of element e."""
    table = effort_table(plan)
    n, nc, ns = table[e, effort.N_ENDS], table[e, effort.N_ACTED], table[e, effort.N_STATES]
    return n, nc, ns, 6 * n + nc, 6 * n + nc + ns, 12 * n + 2 * nc + ns + table[e, effort.N_INPUTS]


@kernel
def duals(plan, e):
    """Return the number of doubles of the motion and load records of element e as dual numbers."""
    table = effort_table(plan)
    return 2 * (table[e, effort.LOAD_RECORD] - table[e, effort.MOTION_RECORD] + table[e, effort.N_LOAD])


@kernel
def _on_duals(plan, e, t, direction, D, best):
    """Write the derivative along a direction, from one call on dual numbers, to `best`; D is workspace.

    Returns whether there is one.
    """
    m, table = effort_records(plan), effort_table(plan)
    n, at, load = table[e, effort.N_ENDS], table[e, effort.MOTION_RECORD], table[e, effort.LOAD_RECORD]
    seen, size = load - at, table[e, effort.N_LOAD]
    for k in range(seen):
        D[2 * k] = m[at + k]
        D[2 * k + 1] = 0.0
    for k in range(size):
        D[2 * (seen + k)] = 0.0
        D[2 * (seen + k) + 1] = 0.0
    end, c = direction // 12, direction % 12
    if end >= n:
        D[2 * (6 * n + direction) + 1] = 1.0
    elif c < 3:
        D[2 * (3 * end + c) + 1] = 1.0
    elif c < 6:  # [e_c x] B
        b, k, l = energetic.ROTATION * n + 9 * end, (c - 2) % 3, (c - 1) % 3
        for j in range(3):
            D[2 * (b + 3 * k + j) + 1] = -m[at + b + 3 * l + j]
            D[2 * (b + 3 * l + j) + 1] = m[at + b + 3 * k + j]
    elif c < 9:
        D[2 * (energetic.VELOCITY * n + 3 * end + c - 6) + 1] = 1.0
    else:
        D[2 * (energetic.ANGULAR_VELOCITY * n + 3 * end + c - 9) + 1] = 1.0
    own, first = parameter_duals(plan), table[e, effort.PARAMETER]
    status = call_element(table[e, effort.DUAL], D, 0, D, 24, t, own, first, D, 2 * seen)
    total = 0.0
    for j in range(best.shape[0]):
        best[j] = D[2 * (seen + j) + 1]
        total += 0.0 * best[j]
    return status == 1 and total == 0.0


@kernel
def _displace(m, at, n, kept, direction, h):
    """Set the motion record at `at` to the kept one, moved by h along a direction."""
    for k in range(kept.shape[0]):
        m[at + k] = kept[k]
    end, c = direction // 12, direction % 12
    if end >= n:
        m[at + 6 * n + direction] += h
    elif c < 3:
        m[at + 3 * end + c] += h
    elif c < 6:
        b = energetic.ROTATION * n + 9 * end
        B = (
            kept[b], kept[b + 1], kept[b + 2], kept[b + 3], kept[b + 4], kept[b + 5], kept[b + 6], kept[b + 7], kept[b + 8]
        )  # fmt: skip
        x, y, z = 0.5 * h if c == 3 else 0.0, 0.5 * h if c == 4 else 0.0, 0.5 * h if c == 5 else 0.0
        B = multiply(euler_rotation(1.0, x, y, z), B)
        for k in range(9):
            m[at + b + k] = B[k]
    elif c < 9:
        m[at + energetic.VELOCITY * n + 3 * end + c - 6] += h
    else:
        m[at + energetic.ANGULAR_VELOCITY * n + 3 * end + c - 9] += h


@kernel
def _difference(plan, e, t, kept, direction, h, out):
    """Compute the difference of sixth order with the step h. Returns a status code (kernel.status)."""
    m, table = effort_records(plan), effort_table(plan)
    n, at, load = table[e, effort.N_ENDS], table[e, effort.MOTION_RECORD], table[e, effort.LOAD_RECORD]
    for j in range(out.shape[0]):
        out[j] = 0.0
    for side in range(6):
        displacement, weight = sixth_order(side, h)
        _displace(m, at, n, kept, direction, displacement)
        status = call(plan, e, t)
        if status != OK:
            return status
        for j in range(out.shape[0]):
            out[j] += weight * m[load + j]
    return OK


@kernel
def _exact(plan, e, t, kept, direction, first, loads, base, coarse, fine, gap, best):
    """Write the difference along a direction to `best`. Returns a status code (kernel.status)."""
    h, outputs = first, base.shape[0]
    status = _difference(plan, e, t, kept, direction, h, coarse)
    for j in range(outputs):
        gap[j], best[j] = 1e300, coarse[j]
    for level in range(_LEVELS):
        if status == OK:
            status = _difference(plan, e, t, kept, direction, 0.25 * h, fine)
        if status != OK:
            return status
        scale, worst, largest = 1e-300, 0.0, 0.0
        for j in range(outputs):
            change = abs(fine[j] - coarse[j])
            if j < loads:
                scale, largest = max(scale, abs(fine[j]), abs(base[j])), max(largest, change)
            elif change > 0.0:
                worst = max(worst, change / max(abs(fine[j]), abs(base[j])))
            if change < gap[j]:  # if two agree to rounding, the one with the longer step is better
                gap[j], best[j] = change, coarse[j]
        worst = max(worst, largest / scale)
        if worst <= ENOUGH:
            return OK
        if worst <= ENOUGH * _GAIN:
            for j in range(outputs):
                best[j] = fine[j]
            return OK
        for j in range(outputs):
            coarse[j] = fine[j]
        h *= 0.25
    return OK


@kernel
def effort_partials(plan, e, t, rough, G):
    """Write loads and rates of element e and their derivatives (directions, outputs) to the address G.

    Its record stays as it is at the state in the work arrays. Ends on the ground are skipped. Returns a
    status code (kernel.status).
    """
    m, table, ends = effort_records(plan), effort_table(plan), end_table(plan)
    n, nc, ns, loads, outputs, directions = effort_sizes(plan, e)
    at, load, seen = table[e, effort.MOTION_RECORD], table[e, effort.LOAD_RECORD], directions + 6 * n
    base = floats(G, outputs)
    more = G + 8 * outputs * (directions + 1)
    coarse, fine, gap = (
        floats(more, outputs),
        floats(more + 8 * outputs, outputs),
        floats(more + 16 * outputs, outputs),
    )
    kept = floats(more + 24 * outputs, seen)
    D = floats(more + 24 * outputs + 8 * seen, duals(plan, e))
    gather(plan, e)
    for k in range(seen):
        kept[k] = m[at + k]
    status = call(plan, e, t)
    if status != OK:
        return status
    for j in range(outputs):
        base[j] = m[load + j]
    for direction in range(directions):
        best = floats(G + 8 * outputs * (direction + 1), outputs)
        if direction < 12 * n and ends[table[e, effort.FIRST_END] + direction // 12, 0] == 0:
            continue
        if table[e, effort.DUAL] != 0 and _on_duals(plan, e, t, direction, D, best):
            continue
        size = 1.0 if direction < 12 * n else max(1.0, abs(kept[6 * n + direction]))
        if rough == 1:
            h = ROUGH_STEP * size
            _displace(m, at, n, kept, direction, h)
            status = call(plan, e, t)
            for j in range(outputs):
                best[j] = (m[load + j] - base[j]) / h
        else:
            status = _exact(
                plan, e, t, kept, direction, _FIRST_STEP * size, loads, base, coarse, fine, gap, best
            )
        if status != OK:
            return status
    _displace(m, at, n, kept, 0, 0.0)
    return call(plan, e, t)
