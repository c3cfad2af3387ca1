# mypy: ignore-errors
"""Gaps of ends from their targets, and their partials by the speeds.

A gap is the world position less the wanted one, and 2 sin(angle / 2) n of the rotation from the wanted attitude,
both times the root of a weight. The partials are the geometric Jacobian (5.2.7), (5.2.23).
"""

from treemech.kinematics.kernel.language import kernel, load3, load9
from treemech.kinematics.kernel.vector import add, cross, multiply, rotate, sub
from treemech.kinematics.plan.columns import body, speed, target
from treemech.kinematics.plan.views import bodies, dofs


@kernel
def euler_parameters(M):
    """Return Euler parameters of a rotation, the scalar first and not negative."""
    xx, yy, zz = M[0], M[4], M[8]
    trace = xx + yy + zz
    if trace >= xx and trace >= yy and trace >= zz:
        a = 0.5 * (1.0 + trace) ** 0.5
        s = 0.25 / a
        return a, s * (M[7] - M[5]), s * (M[2] - M[6]), s * (M[3] - M[1])
    if xx >= yy and xx >= zz:
        b = 0.5 * (1.0 + xx - yy - zz) ** 0.5
        s = 0.25 / b
        a, c, d = s * (M[7] - M[5]), s * (M[1] + M[3]), s * (M[2] + M[6])
    elif yy >= zz:
        c = 0.5 * (1.0 + yy - zz - xx) ** 0.5
        s = 0.25 / c
        a, b, d = s * (M[2] - M[6]), s * (M[1] + M[3]), s * (M[5] + M[7])
    else:
        d = 0.5 * (1.0 + zz - xx - yy) ** 0.5
        s = 0.25 / d
        a, b, c = s * (M[3] - M[1]), s * (M[2] + M[6]), s * (M[5] + M[7])
    return (a, b, c, d) if a >= 0.0 else (-a, -b, -c, -d)


@kernel
def end_gaps(W, targets, gaps):
    """Write the gaps of all targets (kinematics.plan.columns.target), after `positions`."""
    row = 0
    for k in range(targets.shape[0]):
        i = int(targets[k, target.NUMBER])
        R = load9(W, i, body.R)
        here = add(load3(W, i, body.P), rotate(R, load3(targets, k, target.OFFSET)))
        apart = sub(here, load3(targets, k, target.POSITION))
        for j in range(3):
            if targets[k, target.WANTED + j] != 0.0:
                gaps[row] = targets[k, target.ROOTS] * apart[j]
                row += 1
        if targets[k, target.TURNED] != 0.0:
            e0, x, y, z = euler_parameters(multiply(R, load9(targets, k, target.FROM_WANTED)))
            root = 2.0 * targets[k, target.ROOTS + 1]
            gaps[row], gaps[row + 1], gaps[row + 2] = root * x, root * y, root * z
            row += 3


@kernel
def end_partials(plan, W, S, targets, J):
    """Write the partials (rows of the gaps, nu) of `end_gaps` in the public order, after `columns`."""
    plan_body, dof = bodies(plan), dofs(plan)
    for row in range(J.shape[0]):
        for d in range(J.shape[1]):
            J[row, d] = 0.0
    first = 0
    for k in range(targets.shape[0]):
        i = int(targets[k, target.NUMBER])
        R = load9(W, i, body.R)
        here = add(load3(W, i, body.P), rotate(R, load3(targets, k, target.OFFSET)))
        e0, x, y, z = euler_parameters(multiply(R, load9(targets, k, target.FROM_WANTED)))
        turned, root, turning = (
            targets[k, target.TURNED] != 0.0,
            targets[k, target.ROOTS],
            targets[k, target.ROOTS + 1],
        )
        while i > 0:
            arm = sub(here, load3(W, i, body.P))
            for d in range(plan_body[i, body.DOF], plan_body[i, body.DOF] + plan_body[i, body.NU]):
                w, public, row = load3(S, d, speed.PARTIAL_W), dof[d, speed.PUBLIC], first
                v = add(load3(S, d, speed.PARTIAL_V), cross(w, arm))
                for j in range(3):
                    if targets[k, target.WANTED + j] != 0.0:
                        J[row, public] = root * v[j]
                        row += 1
                if turned:  # (2 v)' = e0 w + w x v
                    v = cross(w, (x, y, z))
                    for j in range(3):
                        J[row + j, public] = turning * (e0 * w[j] + v[j])
            i = plan_body[i, body.PARENT]
        for j in range(3):
            if targets[k, target.WANTED + j] != 0.0:
                first += 1
        if turned:
            first += 3


@kernel
def reached(targets, gaps, tolerance):
    """Tell whether the gaps without their weights are within a tolerance; those of weight 0 do not count."""
    row = 0
    for k in range(targets.shape[0]):
        count = 0
        for j in range(3):
            if targets[k, target.WANTED + j] != 0.0:
                count += 1
        for j in range(row, row + count):
            if abs(gaps[j]) > tolerance * targets[k, target.ROOTS]:
                return False
        row += count
        if targets[k, target.TURNED] != 0.0:
            for j in range(row, row + 3):
                if abs(gaps[j]) > tolerance * targets[k, target.ROOTS + 1]:
                    return False
            row += 3
    return True
