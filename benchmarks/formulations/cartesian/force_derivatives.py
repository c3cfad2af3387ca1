# mypy: ignore-errors
"""Derivatives of the loads of force elements by places and velocities of bodies, for implicit integration.

One difference for place and velocity together: an implicit step changes both in a fixed ratio.
"""

from treemech.dynamics.loads.efforts import call
from treemech.kinematics.kernel.language import address_of, floats, ints, kernel, load3, store
from treemech.kinematics.kernel.status import CHORD_FAILED, OK
from treemech.kinematics.plan.arrays import N_CONTEXT

from .force_kernels import apply, gather, scatter
from .kernels import lmatrix, place_body, spin
from .views import (
    BASE,
    CORE,
    ENTRIES,
    EULER,
    KIND,
    LOADS,
    NQ,
    NV,
    PLACE,
    SPIN,
    VELOCITY,
    applied_,
    scratch_,
    state_,
    touched_,
    touched_from,
    values_,
)

_STEP = 1e-7  # of a place, an angle or an Euler parameter


@kernel
def moved(C, v, i, j, dx, dv):
    """Move body i along its coordinate j by dx, its velocity by dv; v: velocities of the kind."""
    S = state_(C)
    if j < 3:
        S[i, PLACE + j] += dx
        S[i, VELOCITY + j] += dv
        return
    p0, p1, p2, p3 = S[i, EULER], S[i, EULER + 1], S[i, EULER + 2], S[i, EULER + 3]
    a, b, c = S[i, SPIN], S[i, SPIN + 1], S[i, SPIN + 2]
    if C[KIND] == 3:
        L, h = lmatrix(p0, p1, p2, p3), 0.5 * dx
        a += dv if j == 3 else 0.0
        b += dv if j == 4 else 0.0
        c += dv if j == 5 else 0.0
        n = 4 * (j - 3)
        place_body(C, i, p0 + h * L[n], p1 + h * L[n + 1], p2 + h * L[n + 2], p3 + h * L[n + 3], (a, b, c))
        return
    at = 7 * (i - 1) + 3
    e0, e1 = 1.0 if j == 3 else 0.0, 1.0 if j == 4 else 0.0
    e2, e3 = 1.0 if j == 5 else 0.0, 1.0 if j == 6 else 0.0
    p0, p1, p2, p3 = p0 + dx * e0, p1 + dx * e1, p2 + dx * e2, p3 + dx * e3
    w = spin(p0, p1, p2, p3, v[at] + dv * e0, v[at + 1] + dv * e1, v[at + 2] + dv * e2, v[at + 3] + dv * e3)
    place_body(C, i, p0, p1, p2, p3, w)


@kernel
def loads_of(C, core, e, t, out):
    """Write the loads of element e on its bodies, in coordinates of the kind. Returns a status code."""
    F, S, touched, bounds, n = applied_(C), state_(C), touched_(C), touched_from(C), 6 if C[KIND] == 3 else 7
    for k in range(bounds[e], bounds[e + 1]):
        for c in range(6):
            F[touched[k], c] = 0.0
    status = call(core, e, t) if gather(C, core, e, t) else CHORD_FAILED
    if status != OK:
        return status
    scatter(C, core, e)
    for k in range(bounds[e], bounds[e + 1]):
        i, at = touched[k], n * (k - bounds[e])
        for c in range(3):
            out[at + c] = F[i, c]
        if n == 6:
            for c in range(3, 6):
                out[at + c] = F[i, c]
        else:
            L = lmatrix(S[i, EULER], S[i, EULER + 1], S[i, EULER + 2], S[i, EULER + 3])
            for c in range(4):
                out[at + 3 + c] = 2.0 * (L[c] * F[i, 3] + L[4 + c] * F[i, 4] + L[8 + c] * F[i, 5])
    return OK


@kernel
def derivatives(C, t, y, factor, ratio):
    """Write the entries behind those of the formulation: derivatives of the loads, negative.

    An unknown moves its coordinate by `factor` and the velocity of that by `ratio` times as much. Bodies and applied
    loads are left as they were. Returns a status code.
    """
    S, touched, bounds, value, at = state_(C), touched_(C), touched_from(C), values_(C), C[BASE]
    if C[LOADS] == 0:
        return OK
    n, core, v = 6 if C[KIND] == 3 else 7, ints(C[CORE], N_CONTEXT), floats(y + 8 * C[NQ], C[NV])
    workspace = address_of(scratch_(C))
    for e in range(C[LOADS]):
        count = n * (bounds[e + 1] - bounds[e])
        before, after = floats(workspace, count), floats(workspace + 8 * count, count)
        status = loads_of(C, core, e, t, before)
        for k in range(bounds[e], bounds[e + 1]):
            i = touched[k]
            x, speed, w = load3(S, i, PLACE), load3(S, i, VELOCITY), load3(S, i, SPIN)
            for j in range(n):
                moved(C, v, i, j, _STEP, ratio * _STEP)
                status = max(status, loads_of(C, core, e, t, after))
                store(S, i, PLACE, x)
                store(S, i, VELOCITY, speed)
                place_body(C, i, S[i, EULER], S[i, EULER + 1], S[i, EULER + 2], S[i, EULER + 3], w)
                for c in range(count):
                    value[at] = (before[c] - after[c]) * (factor / _STEP)
                    at += 1
    return max(status, apply(C, t))


@kernel
def forget_derivatives(C):
    """Remove the derivatives from the matrix, which then is that of the equations of motion."""
    value = values_(C)
    for k in range(C[BASE], C[ENTRIES]):
        value[k] = 0.0
