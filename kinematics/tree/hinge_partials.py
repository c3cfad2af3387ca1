# mypy: ignore-errors
"""Derivatives of the record of a hinge (partials, drifts, biases) by its own coordinates and speeds.

By the speeds they are exact, because a bias is a polynomial of second degree in them. By the coordinates,
along the motion of each speed, they come from one call on dual numbers (elements.compilation.entry, part
"dual"). A hinge that has no such form (it works with floats only, or runs in Python) is differenced: central
differences of sixth order of the record; the step starts at 2^-7 and is reduced to a quarter until the error
is below 1e-12 of the record.
"""

from ..kernel.differences import ENOUGH, sixth_order
from ..kernel.language import address_of, call_element, duals, floats, kernel
from ..plan.columns import body
from ..plan.views import bodies, own_q, own_u, parameter_duals, parameters, records
from .general_hinge import clear_record, evaluate_record, reverse
from .sweep import rates_of_hinge

_FIRST_STEP = 2.0**-7
_LEVELS = 4
_GAIN = 4.0**6  # factor by which a quarter of the step reduces the error


@kernel
def _displace(plan_body, i, q, base, rates, h):
    """Set q = base + h rates of hinge i; Euler parameters keep length 1."""
    first, euler = plan_body[i, body.Q], plan_body[i, body.EULER]
    for k in range(plan_body[i, body.NQ]):
        q[first + k] = base[k] + h * rates[k]
    if euler >= 0:
        a = first + euler
        s = (q[a] * q[a] + q[a + 1] * q[a + 1] + q[a + 2] * q[a + 2] + q[a + 3] * q[a + 3]) ** -0.5
        for k in range(a, a + 4):
            q[k] *= s


@kernel
def _difference(plan, i, t, base, rates, h, out):
    """Difference the record along rates by the step h into out. Returns False if the hinge failed."""
    plan_body, record, q = bodies(plan), records(plan), own_q(plan)
    o, n = plan_body[i, body.RECORD], 24 + 6 * plan_body[i, body.NU]
    for k in range(n):
        out[k] = 0.0
    for side in range(6):
        displacement, weight = sixth_order(side, h)
        _displace(plan_body, i, q, base, rates, displacement)
        if not evaluate_record(plan_body, record, parameters(plan), i, t, q, own_u(plan)):
            return False
        for k in range(n):
            out[k] += weight * record[o + k]
    return True


@kernel
def _on_duals(plan, i, t, base, rates, D, out):
    """Differentiate the record along rates into out by one call on dual numbers (D: workspace).

    Returns False if there is no derivative.
    """
    plan_body, u = bodies(plan), own_u(plan)
    n, nq, size = plan_body[i, body.NU], plan_body[i, body.NQ], out.shape[0]
    for k in range(nq):
        D[2 * k], D[2 * k + 1] = base[k], rates[k]
    for k in range(n):
        D[2 * (nq + k)], D[2 * (nq + k) + 1] = u[plan_body[i, body.U] + k], 0.0
    first = 2 * (nq + n)
    clear_record(out, 0, n)
    for k in range(size):
        D[first + 2 * k], D[first + 2 * k + 1] = out[k], 0.0
    own = parameter_duals(plan)
    status = call_element(
        plan_body[i, body.DUAL], D, 0, D, 2 * nq, t, own, plan_body[i, body.PARAMETER], D, first
    )
    if plan_body[i, body.REVERSED] == 1:
        reverse(duals(address_of(D) + 8 * first, size), 0, n, u, plan_body[i, body.U])
    total = 0.0
    for k in range(size):
        out[k] = D[first + 2 * k + 1]
        total += 0.0 * out[k]
    return status == 1 and total == 0.0


@kernel
def _differenced(plan, i, t, base, rates, kept, coarse, fine):
    """Differentiate the record along rates into coarse by differences. Returns False if the hinge failed."""
    size, h = kept.shape[0], _FIRST_STEP
    worked = _difference(plan, i, t, base, rates, h, coarse)
    for level in range(_LEVELS):
        worked = worked and _difference(plan, i, t, base, rates, 0.25 * h, fine)
        gap, scale = 0.0, 0.0
        for k in range(size):
            gap = max(gap, abs(fine[k] - coarse[k]))
            scale = max(scale, abs(fine[k]), abs(kept[k]))
        if gap <= ENOUGH * scale:
            break
        for k in range(size):
            coarse[k] = fine[k]
        h *= 0.25
        if gap <= ENOUGH * _GAIN * scale:
            break
    return worked


@kernel
def record_partials(plan, i, t, own, stride, workspace):
    """Differentiate the record of hinge i along each of its speeds: at `own`, `stride` doubles each.

    First 24 + 6 n numbers, the record by the coordinate; then six, the biases by the speed. `workspace`: 7 x
    60 doubles. The record is restored. Returns False if the hinge failed.
    """
    plan_body, record, q, u = bodies(plan), records(plan), own_q(plan), own_u(plan)
    o, n, nq = plan_body[i, body.RECORD], plan_body[i, body.NU], plan_body[i, body.NQ]
    size = 24 + 6 * n
    first_q, first_u = plan_body[i, body.Q], plan_body[i, body.U]
    base, rates, unit = floats(workspace, 10), floats(workspace + 80, 10), floats(workspace + 160, 10)
    kept, coarse, fine = (
        floats(workspace + 480, size),
        floats(workspace + 960, size),
        floats(workspace + 1440, size),
    )
    D = floats(workspace + 1920, 180)
    for k in range(nq):
        base[k] = q[first_q + k]
    for k in range(size):
        kept[k] = record[o + k]
    worked = True
    for j in range(n):
        out = floats(own + 8 * stride * j, size + 6)
        for k in range(n):
            unit[k] = 1.0 if k == j else 0.0
        rates_of_hinge(base, 0, nq, unit, 0, plan_body[i, body.EULER], rates)
        if plan_body[i, body.DUAL] == 0 or not _on_duals(plan, i, t, base, rates, D, coarse):
            worked = worked and _differenced(plan, i, t, base, rates, kept, coarse, fine)
            _displace(plan_body, i, q, base, rates, 0.0)
        for k in range(size):
            out[k] = coarse[k]
        speed = u[first_u + j]
        for side in range(2):
            sign = 1.0 - 2.0 * side
            u[first_u + j] = speed + sign
            worked = worked and evaluate_record(plan_body, record, parameters(plan), i, t, q, u)
            for k in range(6):
                half = 0.5 * sign * record[o + size - 6 + k]
                out[size + k] = half if side == 0 else out[size + k] + half
        u[first_u + j] = speed
    for k in range(nq):
        q[first_q + k] = base[k]
    for k in range(size):
        record[o + k] = kept[k]
    return worked
