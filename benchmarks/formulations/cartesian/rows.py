# mypy: ignore-errors
"""Constraint rows between two bodies: partials, residual, its rate and gamma#, compiled.

Rows are those of Nikravesh, Table 11.1 in its corrected form: on (v_i, w_i, v_j, w_j), which is [Phi_r, Phi_p L^T / 2],
with gamma#. A row also measures: without a given f(t), ANGLE and N2 are the coordinates of a hinge (`measure`).
"""

from math import atan2, pi

import numpy as np

from treemech.kinematics.kernel.language import kernel, load3, load9, store
from treemech.kinematics.kernel.vector import add, cross, dot, rotate, scale, sub, unrotate

from .joint_rows import ANGLE, EDGE, LENGTH, N1, N2, N2B, POINT, SCREW, TRIPLE, TURN
from .views import (
    BODY_I,
    BODY_J,
    FIRST,
    GAMMA,
    OMEGA,
    PHI,
    PHI_RATE,
    PLACE,
    ROW_KIND,
    SIGNAL,
    VELOCITY,
    jacobian_,
    level_,
    row_constants,
    row_ints,
    state_,
    turn_,
)


@kernel
def wrapped(x):
    """Return the angle between -pi and pi."""
    return x - 2.0 * pi * np.floor(x / (2.0 * pi) + 0.5)


@kernel
def row(C, r, given):
    """Compute one row: on the velocities of its bodies, residual, its rate, gamma#."""
    n, c, S, T, B, V = row_ints(C), row_constants(C), state_(C), turn_(C), jacobian_(C), level_(C)
    kind, i, j, signal, p = n[r, ROW_KIND], n[r, BODY_I], n[r, BODY_J], n[r, SIGNAL], n[r, FIRST]
    Ri, Rj = load9(T, i, 0), load9(T, j, 0)
    wi, wj = load3(S, i, OMEGA), load3(S, j, OMEGA)
    f, fd, fdd = 0.0, 0.0, 0.0
    if signal >= 0:
        f, fd, fdd = given[signal, 0], given[signal, 1], given[signal, 2]
    if kind == N1:
        a, b = rotate(Ri, load3(c, r, 0)), rotate(Rj, load3(c, r, 3))
        m = cross(b, a)
        store(B, p, 0, (0.0, 0.0, 0.0))
        store(B, p, 3, scale(-1.0, unrotate(Ri, m)))
        store(B, p + 1, 0, (0.0, 0.0, 0.0))
        store(B, p + 1, 3, unrotate(Rj, m))
        da, db = cross(wi, a), cross(wj, b)
        V[r, PHI] = dot(a, b)
        V[r, PHI_RATE] = dot(sub(wj, wi), m)
        V[r, GAMMA] = -(2.0 * dot(da, db) + dot(a, cross(wj, db)) + dot(b, cross(wi, da)))
        return
    si, sj = rotate(Ri, load3(c, r, 6)), rotate(Rj, load3(c, r, 9))
    d = sub(add(load3(S, j, PLACE), sj), add(load3(S, i, PLACE), si))
    dsi, dsj = cross(wi, si), cross(wj, sj)
    dd = sub(add(load3(S, j, VELOCITY), dsj), add(load3(S, i, VELOCITY), dsi))
    bend = sub(cross(wj, dsj), cross(wi, dsi))
    a, mi, mj = load3(c, r, 0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)  # direction; moments on i and j besides
    phi, rate, gamma = 0.0, 0.0, 0.0
    if kind == POINT:
        phi, rate, gamma = dot(a, d), dot(a, dd), -dot(a, bend)
    elif kind == LENGTH:
        l0 = 1.0 / c[r, 18]
        a = scale(l0, d)
        phi = 0.5 * l0 * (dot(d, d) - f * f)
        rate = dot(a, dd) - l0 * f * fd
        gamma = -l0 * (dot(dd, dd) + dot(d, bend)) + l0 * (fd * fd + f * fdd)
    elif kind == EDGE:
        a = rotate(Rj, load3(c, r, 3))
        rate = dot(a, dd)
        gamma = -(dot(cross(wj, a), dd) + dot(a, bend))
    elif kind == N2B:
        a = rotate(Rj, load3(c, r, 3))
        da = cross(wj, a)
        phi, rate = dot(a, d), dot(a, dd) + dot(da, d)
        gamma = -(2.0 * dot(da, dd) + dot(d, cross(wj, da)) + dot(a, bend))
        mj = cross(a, d)
    elif kind == TRIPLE:
        e, b = rotate(Ri, a), rotate(Rj, load3(c, r, 3))
        de, db = cross(wi, e), cross(wj, b)
        a, da = cross(e, b), add(cross(de, b), cross(e, db))
        dde, ddb = cross(wi, de), cross(wj, db)
        dda = add(add(cross(dde, b), scale(2.0, cross(de, db))), cross(e, ddb))
        phi, rate = dot(a, d) - f, dot(a, dd) + dot(da, d) - fd
        gamma = fdd - (dot(a, bend) + 2.0 * dot(da, dd) + dot(dda, d))
        mi, mj = cross(e, cross(b, d)), cross(b, cross(d, e))
    elif kind == TURN:
        x_axis = rotate(Ri, load3(c, r, 12))
        y_axis, b = cross(rotate(Ri, a), x_axis), rotate(Rj, load3(c, r, 3))
        dx, dy, db = cross(wi, x_axis), cross(wi, y_axis), cross(wj, b)
        x, y = dot(x_axis, b), dot(y_axis, b)
        x_rate, y_rate = dot(dx, b) + dot(x_axis, db), dot(dy, b) + dot(y_axis, db)
        size = 1.0 / (x * x + y * y)
        g = sub(scale(x, y_axis), scale(y, x_axis))
        dg = add(sub(scale(x_rate, y_axis), scale(y_rate, x_axis)), sub(scale(x, dy), scale(y, dx)))
        mj = scale(size, cross(b, g))
        dm = sub(
            scale(size, add(cross(db, g), cross(b, dg))), scale(2.0 * size * (x * x_rate + y * y_rate), mj)
        )
        phi, rate = wrapped(atan2(y, x) - f), dot(mj, sub(wj, wi)) - fd
        gamma = fdd - dot(dm, sub(wj, wi))
        mi, a = scale(-1.0, mj), (0.0, 0.0, 0.0)
    else:
        a = rotate(Ri, a)
        da = cross(wi, a)
        angle, turning, drift = 0.0, 0.0, 0.0
        if kind != N2:
            xi, xj = rotate(Ri, load3(c, r, 12)), rotate(Rj, load3(c, r, 15))
            angle = atan2(dot(cross(xi, xj), a), dot(xi, xj))
            turning, drift = dot(a, sub(wj, wi)), dot(da, sub(wj, wi))
        if kind == ANGLE:
            phi, rate, gamma = wrapped(angle - f), turning - fd, fdd - drift
            mi, mj = scale(-1.0, a), a
            a = (0.0, 0.0, 0.0)
        else:  # N2, SCREW
            phi, rate = dot(a, d) - f, dot(a, dd) + dot(da, d) - fd
            gamma = fdd - (2.0 * dot(da, dd) + dot(d, cross(wi, da)) + dot(a, bend))
            mi = cross(a, d)
            if kind == SCREW:
                pitch = c[r, 18]
                phi = pitch * wrapped(phi / pitch - angle)
                rate -= pitch * turning
                gamma += pitch * drift
                mi, mj = add(mi, scale(pitch, a)), scale(-pitch, a)
    store(B, p, 0, scale(-1.0, a))
    store(B, p, 3, unrotate(Ri, sub(mi, cross(si, a))))
    store(B, p + 1, 0, a)
    store(B, p + 1, 3, unrotate(Rj, add(mj, cross(sj, a))))
    V[r, PHI], V[r, PHI_RATE], V[r, GAMMA] = phi, rate, gamma
