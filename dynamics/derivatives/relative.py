# mypy: ignore-errors
"""Exact derivatives of the motion of end b of a chord seen from end a, by the speeds between them.

They follow from the workspace of the derivatives of the tree (dynamics.derivatives.tree): s, y, z, e of every
speed and V, A of the two bodies, all moved to the point of b. Seen from a, a speed of the branch to b (side
1) displaces b by s, a speed of the branch to a (side -1) by -s. With V, A the motion of b less that of a, as
the derivatives of tree bodies::

    dV = side (y + s x Vb)        dA = side (z + y x Vb + s x Ab) - Va x dV        dA/du = side (e + s x Vb - Va x s)

Seen from a, the motions s_k themselves change with the coordinate j by the turn of the bodies between and of
a.
"""

from treemech.kinematics.kernel.language import floats, floats2, inlined, kernel, load3, load9, store
from treemech.kinematics.kernel.vector import add, cross, dot, multiply, rotate, scale, sub, unrotate
from treemech.kinematics.plan.chord_views import chord_paths, chords, places
from treemech.kinematics.plan.columns import body, chord, speed
from treemech.kinematics.plan.views import bodies, constants, dofs

from ..equations.spatial import column, motion_cross
from . import layout


@kernel
def reference_point(plan_body, W, i):
    """Return the reference point of the spatial vectors of body i.

    It is the origin of the first body of its branch from the ground.
    """
    while i > 0 and plan_body[i, body.PARENT] > 0:
        i = plan_body[i, body.PARENT]
    return load3(W, i, body.P)


@inlined
def _at(Z, k, d, arm):
    """Return a motion of speed d at a point `arm` away from the reference point."""
    w = column(Z, k, d)
    return w, add(column(Z, k + 3, d), cross(w, arm))


@inlined
def _of_body(Y, i, k, arm):
    w = load3(Y, i, k)
    return w, add(load3(Y, i, k + 3), cross(w, arm))


@inlined
def end_base(W, place, c, a):
    """Return the base of end a."""
    return multiply(load9(W, a, body.R), load9(place, c, chord.PLACE_A))


@kernel
def relative_derivatives(plan, loops, W, Y, Z, c, out):
    """Write the derivatives (speeds between the ends, N_RELATIVE) of chord c to `out`."""
    plan_body, plan_chord, path, place = bodies(plan), chords(loops), chord_paths(loops), places(loops)
    a, b, first, last = (
        plan_chord[c, chord.BODY_A],
        plan_chord[c, chord.BODY_B],
        plan_chord[c, chord.PATH_START],
        plan_chord[c, chord.PATH_END],
    )
    to = floats2(out, last - first, layout.N_RELATIVE)
    Ra = end_base(W, place, c, a)
    point = add(load3(W, b, body.P), rotate(load9(W, b, body.R), load3(place, c, chord.PLACE_B + 9)))
    arm_a, arm_b = sub(point, reference_point(plan_body, W, a)), sub(point, reference_point(plan_body, W, b))
    wa, va = _of_body(Y, a, layout.VELOCITY, arm_a)
    wb, vb = _of_body(Y, b, layout.VELOCITY, arm_b)
    ea, aa = _of_body(Y, a, layout.ACCELERATION, arm_a)
    eb, ab = _of_body(Y, b, layout.ACCELERATION, arm_b)
    w, v = sub(wb, wa), sub(vb, va)
    xw, xv = motion_cross(wa, va, w, v)
    alpha = sub(sub(eb, ea), xw)
    for k in range(first, last):
        d, side = path[k, chord.SPEED], 1.0 * path[k, chord.SIDE]
        arm = arm_b if side > 0.0 else arm_a
        sw, sv = _at(Z, layout.SPEED_S, d, arm)
        yw, yv = _at(Z, layout.SPEED_Y, d, arm)
        zw, zv = _at(Z, layout.SPEED_Z, d, arm)
        uw, uv = _at(Z, layout.SPEED_E, d, arm)
        sbw, sbv = motion_cross(sw, sv, wb, vb)
        dw, dv = scale(side, add(yw, sbw)), scale(side, add(yv, sbv))
        xw, xv = motion_cross(yw, yv, wb, vb)
        tw, tv = motion_cross(sw, sv, eb, ab)
        cw, cv = motion_cross(wa, va, dw, dv)
        aw, av = sub(scale(side, add(zw, add(xw, tw))), cw), sub(scale(side, add(zv, add(xv, tv))), cv)
        xw, xv = motion_cross(wa, va, sw, sv)
        uw, uv = scale(side, sub(add(uw, sbw), xw)), scale(side, sub(add(uv, sbv), xv))
        turn, shift = scale(side, sw), scale(side, sv)
        rate = add(dv, cross(w, shift))
        acceleration = add(add(av, cross(alpha, shift)), add(cross(dw, v), cross(w, rate)))
        uv = add(uv, add(cross(turn, v), cross(w, shift)))
        j = k - first
        store(to, j, layout.DISPLACEMENT, unrotate(Ra, shift))
        store(to, j, layout.DISPLACEMENT + 3, unrotate(Ra, turn))
        store(to, j, layout.RATE_Q, unrotate(Ra, rate))
        store(to, j, layout.RATE_Q + 3, unrotate(Ra, dw))
        store(to, j, layout.ACCELERATION_Q, unrotate(Ra, acceleration))
        store(to, j, layout.ACCELERATION_Q + 3, unrotate(Ra, aw))
        store(to, j, layout.ACCELERATION_U, unrotate(Ra, uv))
        store(to, j, layout.ACCELERATION_U + 3, unrotate(Ra, uw))


@kernel
def _three(own, at):
    return (own[at], own[at + 1], own[at + 2])


@kernel
def _own_change(plan, W, S, i, j, k, point, table, force, moment):
    """Return the work of a load at a point on the change of motion k of hinge i by its coordinate j."""
    plan_body, dof, C = bodies(plan), dofs(plan), constants(plan)
    turned = dot(cross(load3(S, j, speed.PARTIAL_V), load3(S, k, speed.PARTIAL_W)), force)
    if plan_body[i, body.KIND] != body.BY_ADDRESS:
        return turned
    T = multiply(load9(W, plan_body[i, body.PARENT], body.R), load9(C, i, body.PLACE_R))
    own = floats(table + 8 * layout.N_OWN * (6 * i + dof[j, speed.COLUMN]), layout.N_OWN)
    at = 12 + 3 * dof[k, speed.COLUMN]
    dv, dw = rotate(T, _three(own, at)), rotate(T, _three(own, at + 3 * plan_body[i, body.NU]))
    arm = sub(point, load3(W, i, body.P))
    return turned + dot(dw, moment) + dot(add(dv, cross(dw, arm)), force)


@kernel
def load_derivatives(plan, loops, W, S, c, relative, force, moment, table, turned, out):
    """Set out[j, k] to the work of the load of chord c (base of a) on the change of motion k by coordinate j.

    `relative` comes from `relative_derivatives`; `table` is the address of the derivatives of the hinges by
    their own coordinates; `turned` (speeds, 6) is the change of the load itself in the base of a.
    """
    dof, plan_chord, path, place = dofs(plan), chords(loops), chord_paths(loops), places(loops)
    plan_body, first = bodies(plan), plan_chord[c, chord.PATH_START]
    n, b = plan_chord[c, chord.PATH_END] - first, plan_chord[c, chord.BODY_B]
    D = floats2(relative, n, layout.N_RELATIVE)
    Ra = end_base(W, place, c, plan_chord[c, chord.BODY_A])
    point = add(load3(W, b, body.P), rotate(load9(W, b, body.R), load3(place, c, chord.PLACE_B + 9)))
    F, M = rotate(Ra, force), rotate(Ra, moment)
    for j in range(n):
        dj, side_j = path[first + j, chord.SPEED], 1.0 * path[first + j, chord.SIDE]
        shift, turn = load3(D, j, layout.DISPLACEMENT), load3(D, j, layout.DISPLACEMENT + 3)
        by_turn = scale(side_j, add(cross(moment, turn), cross(force, shift)))
        by_shift = scale(side_j, cross(force, turn))
        rest_turn = add(cross(shift, force), load3(turned, j, 3))
        rest_shift = load3(turned, j, 0)
        for k in range(n):
            dk, side_k = path[first + k, chord.SPEED], 1.0 * path[first + k, chord.SIDE]
            same = dof[dj, speed.OWNER] == dof[dk, speed.OWNER]
            sign = 0.0
            if side_j > 0.0:
                if side_k > 0.0 and j < k and not same:
                    sign = 1.0
            elif side_k > 0.0 or same or j >= k:
                sign = -1.0
            x = dot(load3(D, k, layout.DISPLACEMENT), add(rest_shift, scale(sign, by_shift)))
            x += dot(load3(D, k, layout.DISPLACEMENT + 3), add(rest_turn, scale(sign, by_turn)))
            if same and (
                plan_body[dof[dj, speed.OWNER], body.NU] > 1
                or plan_body[dof[dj, speed.OWNER], body.KIND] == body.BY_ADDRESS
            ):
                x += side_k * _own_change(plan, W, S, dof[dj, speed.OWNER], dj, dk, point, table, F, M)
            out[j, k] = x
