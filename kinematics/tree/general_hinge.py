# mypy: ignore-errors
"""General hinge: a hinge called through its address (elements.compilation.entry), foreign or rare built-in.

It is an entry point of its own that the sweep over positions calls by address. A model without such hinges
need not compile it.
"""

from ..kernel.language import apply_element, kernel, load3, load9, store
from ..kernel.vector import add, cross, multiply, rotate, scale, sub, unrotate
from ..plan.columns import body, speed
from ..plan.views import bodies, body_work, constants, dofs, own_q, own_u, parameters, records, speed_work


@kernel
def place_hinge(plan, i, t):
    """Place body i, with the partials, drifts and biases of its hinge in world components.

    Returns False if the hinge failed.
    """
    plan_body, record, W = bodies(plan), records(plan), body_work(plan)
    if not evaluate_record(plan_body, record, parameters(plan), i, t, own_q(plan), own_u(plan)):
        return False
    C, p = constants(plan), plan_body[i, body.PARENT]
    Rp = load9(W, p, body.R)
    T = multiply(Rp, load9(C, i, body.PLACE_R))
    r = rotate(Rp, load3(C, i, body.PLACE_P))
    r = _place_general(plan_body, dofs(plan), record, W, speed_work(plan), i, T, r)
    store(W, i, body.ARM, r)
    store(W, i, body.P, add(load3(W, p, body.P), r))
    return True


@kernel
def _three(record, o):
    return (record[o], record[o + 1], record[o + 2])


@kernel
def clear_record(record, o, n):
    """Prepare a motion record for an element: all zero, rotation = 1."""
    for k in range(24 + 6 * n):
        record[o + k] = 0.0
    record[o + 3] = 1.0
    record[o + 7] = 1.0
    record[o + 11] = 1.0


@kernel
def evaluate_record(plan_body, record, parameter, i, t, q, u):
    """Evaluate the motion record of hinge i by its address; reverse it if the tree runs from end b to end a.

    Returns False if the hinge failed.
    """
    o, n = plan_body[i, body.RECORD], plan_body[i, body.NU]
    clear_record(record, o, n)
    status = apply_element(
        plan_body[i, body.ADDRESS], q, plan_body[i, body.Q], plan_body[i, body.NQ], u, plan_body[i, body.U], n, t,
        parameter, plan_body[i, body.PARAMETER], record, o, 24 + 6 * n,
    )  # fmt: skip
    if status != 1:
        return False
    if plan_body[i, body.REVERSED] == 1:
        reverse(record, o, n, u, plan_body[i, body.U])
    return True


@kernel
def _put3(record, o, v):
    record[o] = v[0]
    record[o + 1] = v[1]
    record[o + 2] = v[2]


@kernel
def reverse(record, o, n, u, first):
    """Refer a motion record to end b: c' = -C^T c, C' = C^T, and their derivatives."""
    c = _three(record, o)
    C = (
        record[o + 3], record[o + 4], record[o + 5], record[o + 6], record[o + 7], record[o + 8],
        record[o + 9], record[o + 10], record[o + 11],
    )  # fmt: skip
    ov = o + 12
    ow = ov + 3 * n
    od = ow + 3 * n  # drifts v0, w0, then biases v00, w00
    velocity, omega = _three(record, od), _three(record, od + 3)
    for k in range(n):
        v, w = _three(record, ov + 3 * k), _three(record, ow + 3 * k)
        velocity = add(velocity, scale(u[first + k], v))
        omega = add(omega, scale(u[first + k], w))
        _put3(record, ov + 3 * k, scale(-1.0, unrotate(C, sub(v, cross(w, c)))))
        _put3(record, ow + 3 * k, scale(-1.0, unrotate(C, w)))
    v0, w0 = _three(record, od), _three(record, od + 3)
    v00, w00 = _three(record, od + 6), _three(record, od + 9)
    _put3(record, od, scale(-1.0, unrotate(C, sub(v0, cross(w0, c)))))
    _put3(record, od + 3, scale(-1.0, unrotate(C, w0)))
    bias = add(sub(v00, cross(w00, c)), cross(omega, sub(cross(omega, c), scale(2.0, velocity))))
    _put3(record, od + 6, scale(-1.0, unrotate(C, bias)))
    _put3(record, od + 9, scale(-1.0, unrotate(C, w00)))
    _put3(record, o, scale(-1.0, unrotate(C, c)))
    _put3(record, o + 3, (C[0], C[3], C[6]))
    _put3(record, o + 6, (C[1], C[4], C[7]))
    _put3(record, o + 9, (C[2], C[5], C[8]))


@kernel
def _place_general(plan_body, dof, record, W, S, i, T, r0):
    """Store rotation, partials, drifts and biases in world components. Returns the arm of the hinge."""
    o, n = plan_body[i, body.RECORD], plan_body[i, body.NU]
    C = (
        record[o + 3], record[o + 4], record[o + 5], record[o + 6], record[o + 7], record[o + 8],
        record[o + 9], record[o + 10], record[o + 11],
    )  # fmt: skip
    store(W, i, body.R, multiply(T, C))
    r = add(r0, rotate(T, _three(record, o)))
    ov = o + 12
    ow = ov + 3 * n
    od = ow + 3 * n
    d = plan_body[i, body.DOF]
    for k in range(n):
        column = dof[d + k, speed.COLUMN]
        store(S, d + k, speed.PARTIAL_W, rotate(T, _three(record, ow + 3 * column)))
        store(S, d + k, speed.PARTIAL_V, rotate(T, _three(record, ov + 3 * column)))
    store(W, i, body.DRIFT_V, rotate(T, _three(record, od)))
    store(W, i, body.DRIFT_W, rotate(T, _three(record, od + 3)))
    store(W, i, body.HINGE_BIAS_V, rotate(T, _three(record, od + 6)))
    store(W, i, body.HINGE_BIAS_W, rotate(T, _three(record, od + 9)))
    return r
