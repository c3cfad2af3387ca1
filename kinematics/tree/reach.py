# mypy: ignore-errors
"""Bring ends of a tree to their targets: Gauss-Newton, damped with the square of what is left.

The same iteration as in treemech/inverse_kinematics/search.py, which also takes closed chains: each step is the
smallest value of a quadratic function between the limits; its damping (Levenberg, Marquardt) follows the sum of
squared gaps, so that it converges quadratically, also next to singular positions.
"""

from math import cos, sin

from treemech.kinematics.kernel.language import floats, floats2, kernel
from treemech.kinematics.kernel.status import HINGE_FAILED, OK
from treemech.kinematics.plan.columns import body, target
from treemech.kinematics.plan.views import bodies, own_q

from .box import smallest_in_box
from .ends import end_gaps, end_partials, reached
from .sweep import columns, positions

_FAR = 1e300  # no bound
_SLOW, _HARDLY, _TRIALS = 6, 0.97, 12  # as in search.py


@kernel
def _moved(plan, q, step, out):
    """Write the coordinates after a small motion along the speeds, on the manifold of each hinge."""
    plan_body = bodies(plan)
    for i in range(1, plan_body.shape[0]):
        iq, iu, euler = plan_body[i, body.Q], plan_body[i, body.U], plan_body[i, body.EULER]
        for k in range(plan_body[i, body.NQ] if euler < 0 else euler):
            out[iq + k] = q[iq + k] + step[iu + k]
        if euler < 0:
            continue
        a, b = iq + euler, iu + euler
        x, y, z = step[b], step[b + 1], step[b + 2]
        angle = (x * x + y * y + z * z) ** 0.5
        c = cos(0.5 * angle)
        s = sin(0.5 * angle) / angle if angle > 0.0 else 0.5
        x, y, z = s * x, s * y, s * z
        e0, e1, e2, e3 = q[a], q[a + 1], q[a + 2], q[a + 3]
        out[a] = c * e0 - x * e1 - y * e2 - z * e3
        out[a + 1] = c * e1 + e0 * x + y * e3 - z * e2
        out[a + 2] = c * e2 + e0 * y + z * e1 - x * e3
        out[a + 3] = c * e3 + e0 * z + x * e2 - y * e1
        for k in range(euler + 4, plan_body[i, body.NQ]):
            out[iq + k] = q[iq + k] + step[iu + k - 1]


@kernel
def _squares(gaps):
    x = 0.0
    for k in range(gaps.shape[0]):
        x += gaps[k] * gaps[k]
    return x


@kernel
def _quadratic(J, gaps, H, g):
    """Write H = J^T J and g = J^T gaps. Return the largest entries of the diagonal and of g."""
    m, n = J.shape
    largest, pull = 0.0, 0.0
    for i in range(n):
        for j in range(i + 1):
            x = 0.0
            for k in range(m):
                x += J[k, i] * J[k, j]
            H[i, j] = x
            H[j, i] = x
        x = 0.0
        for k in range(m):
            x += J[k, i] * gaps[k]
        g[i] = x
        largest, pull = max(largest, H[i, i]), max(pull, abs(x))
    return largest, pull


@kernel
def reach(plan, W, S, t, nu, table):
    """Bring the ends to their targets from the coordinates of the table, as far as first derivatives lead.

    The coordinates, the sum of squared gaps and the iterations stand in the table afterwards
    (kinematics.plan.columns.target). Evaluate the signals before. Returns a status code (kernel.status).
    """
    count, rows, limited = table[target.TARGETS], table[target.ROWS], table[target.LIMITS]
    targets = floats2(table[target.TARGETS_AT], count, target.N_TARGET)
    limits = floats2(table[target.LIMITS_AT], limited, target.N_LIMIT)
    numbers, q = floats(table[target.NUMBERS_AT], target.N_NUMBERS), own_q(plan)
    nq = q.shape[0]
    best, at = floats(table[target.Q_AT], nq), table[target.WORK_AT]
    H, J = floats2(at, nu, nu), floats2(at + 8 * nu * nu, rows, nu)
    at += 8 * (nu * nu + rows * nu)
    g, y, low, high = (
        floats(at, nu),
        floats(at + 8 * nu, nu),
        floats(at + 16 * nu, nu),
        floats(at + 24 * nu, nu),
    )
    side, at = floats(at + 32 * nu, nu), at + 40 * nu
    gaps, then, at = floats(at, rows), floats(at + 8 * rows, rows), at + 16 * rows
    failed = positions(plan, W, S, t, q)
    if failed >= 0:
        return HINGE_FAILED + 16 * failed
    columns(plan, W, S)
    end_gaps(W, targets, gaps)
    end_partials(plan, W, S, targets, J)
    cost, weight, slow, done, better = _squares(gaps), 1.0, 0, 0, True
    while (
        done < table[target.MOST]
        and slow < _SLOW
        and better
        and not reached(targets, gaps, numbers[target.TOLERANCE])
    ):
        largest, pull = _quadratic(J, gaps, H, g)
        if not largest > 0.0 or not pull > 1e-15 * largest:
            break
        for d in range(nu):
            low[d], high[d] = -_FAR, _FAR
        for k in range(limited):
            d, x = int(limits[k, target.LIMIT_U]), best[int(limits[k, target.LIMIT_Q])]
            low[d] = min(limits[k, target.LIMIT_LOW] - x, 0.0)
            high[d] = max(limits[k, target.LIMIT_HIGH] - x, 0.0)
        better, after = False, cost
        for trial in range(_TRIALS):
            damping = weight * min(cost, largest) + 1e-12 * largest
            if smallest_in_box(H, damping, g, low, high, y, side, at):
                longest = 0.0
                for d in range(nu):
                    longest = max(longest, abs(y[d]))
                if longest > numbers[target.LONGEST]:
                    for d in range(nu):
                        y[d] *= numbers[target.LONGEST] / longest
                _moved(plan, best, y, q)
                for k in range(limited):
                    a = int(limits[k, target.LIMIT_Q])
                    q[a] = min(max(q[a], limits[k, target.LIMIT_LOW]), limits[k, target.LIMIT_HIGH])
                failed = positions(plan, W, S, t, q)
                if failed >= 0:
                    return HINGE_FAILED + 16 * failed
                end_gaps(W, targets, then)
                after = _squares(then)
                if after < cost:
                    better = True
                    break
            weight *= 8.0
        if not better:
            break
        done += 1
        slow = slow + 1 if after > _HARDLY * cost else 0
        weight = max(weight * (0.2 if after < 0.3 * cost else 0.7), 1e-3)
        cost = after
        for k in range(nq):
            best[k] = q[k]
        for k in range(rows):
            gaps[k] = then[k]
        columns(plan, W, S)
        end_partials(plan, W, S, targets, J)
    numbers[target.COST] = cost
    table[target.DONE] = done
    table[target.REACHED] = 1 if reached(targets, gaps, numbers[target.TOLERANCE]) else 0
    return OK
