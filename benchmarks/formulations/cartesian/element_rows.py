# mypy: ignore-errors
"""Rows of constraint elements, general hinges and couplings in Cartesian coordinates, compiled.

The element is called as the engine calls it for a chord, with tables of our own (`elements`): for a constraint or a hinge the
motion of end b relative to end a, taken from the bodies; for a coupling the coordinates that rows measure. Auxiliary unknowns
(the place of a contact on a curve) are solved for by Gauss-Newton and eliminated. A row comes back as a wrench at the point of
end b, or as partials by the coordinates, each a row on two bodies; here it becomes a row on the velocities of the bodies.

Counted angles and places on curves depend on the past. They are carried in y behind the states of force elements: their
rates are integrated, and after a step they are replaced by those of the pose.
"""

from treemech.kinematics.chords.motion import relative_motion
from treemech.kinematics.kernel.language import call_part, floats, ints, kernel, load3, load9, store
from treemech.kinematics.kernel.status import CHORD_FAILED, OK
from treemech.kinematics.kernel.vector import add, cross, dot, multiply, rotate, scale, sub, unrotate
from treemech.kinematics.plan.arrays import N_CONTEXT
from treemech.kinematics.plan.chord_views import (
    CHORD_ELEMENT,
    N_CHORD_CONTEXT,
    chord_paths,
    chord_q,
    chord_records,
    chord_work,
    chords,
    partials,
    places,
)
from treemech.kinematics.plan.chord_views import rows as wrenches
from treemech.kinematics.plan.columns import body, chord
from treemech.kinematics.plan.columns import row as column
from treemech.kinematics.plan.views import own_q, own_u, own_ud, signal_values

from .joint_rows import ANGLE, FITTED
from .rows import row, wrapped
from .views import (
    ACTIVE,
    CHORDS,
    CORE,
    FIRST,
    GAMMA,
    OMEGA,
    PHI,
    PHI_RATE,
    PLACE,
    ROW_KIND,
    ROWS,
    SIGNAL,
    STOP,
    VELOCITY,
    active_,
    argument_blocks,
    element_rows,
    jacobian_,
    level_,
    poses_,
    row_constants,
    row_ints,
    state_,
    turn_,
    turn_rows,
    turns_,
)


@kernel
def pose(C, i):
    """Show body i to the engine: accelerations are zero, so that biases are what remains without them."""
    W, S = poses_(C), state_(C)
    store(W, i, body.R, load9(turn_(C), i, 0))
    store(W, i, body.P, load3(S, i, PLACE))
    store(W, i, body.VELOCITY, load3(S, i, VELOCITY))
    store(W, i, body.OMEGA, load3(S, i, OMEGA))


@kernel
def put(C, r, i, j, force, moment, point):
    """Write row r: a wrench at a point (world) on body j, and its opposite on body i."""
    S, T, B, p = state_(C), turn_(C), jacobian_(C), row_ints(C)[r, FIRST]
    si, sj = sub(point, load3(S, i, PLACE)), sub(point, load3(S, j, PLACE))
    store(B, p, 0, scale(-1.0, force))
    store(B, p, 3, scale(-1.0, unrotate(load9(T, i, 0), add(moment, cross(si, force)))))
    store(B, p + 1, 0, force)
    store(B, p + 1, 3, unrotate(load9(T, j, 0), add(moment, cross(sj, force))))


@kernel
def between_ends(C, L, c, t):
    """Compute the rows of chord c, an element between two ends. Returns whether it worked."""
    plan, Y, mine, V = chords(L), wrenches(L), element_rows(C), level_(C)
    i, j = plan[c, chord.BODY_A], plan[c, chord.BODY_B]
    pose(C, i)
    pose(C, j)
    Ra, point = relative_motion(poses_(C), chord_work(L), places(L), c, i, j)
    if call_part(L[CHORD_ELEMENT], c, t, L) != 1:
        return False
    for k in range(plan[c, chord.FIRST_ROW], plan[c, chord.FIRST_ROW] + plan[c, chord.N_ROWS]):
        force, moment = rotate(Ra, load3(Y, k, column.F)), rotate(Ra, load3(Y, k, column.M))
        r = mine[k]
        if r < 0:
            continue  # the hinge has rows of its own, and is here to be measured
        put(C, r, i, j, force, moment, point)
        V[r, PHI], V[r, PHI_RATE] = Y[k, column.POSITION], Y[k, column.VELOCITY]
        V[r, GAMMA] = -Y[k, column.BIAS]
    return True


# ---------------------------------------------------------------- coordinates
@kernel
def fitted(C, r, t):
    """Compute a row that is a coordinate of a general hinge, less f(t). Returns whether it worked.

    The speeds u of the hinge make the relative motion, y' = sum u_k p_k + v0. Row k is the combination G of the p that gives u_k:
    G . p_j is 1 for j = k, else 0. The engine left the p in the record of the hinge, and orthonormal rows Q that span them.
    """
    L, n, c = ints(C[CHORDS], N_CHORD_CONTEXT), row_ints(C), row_constants(C)
    chord_number, number, signal = int(c[r, 19]), int(c[r, 18]), n[r, SIGNAL]
    if not between_ends(C, L, chord_number, t):
        return False
    plan, X, record = chords(L)[chord_number], chord_work(L), chord_records(L)
    count, at = plan[chord.NU], plan[chord.RECORD] + 12
    force, moment = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for k in range(count):
        v = (record[at + 3 * k], record[at + 3 * k + 1], record[at + 3 * k + 2])
        o = at + 3 * (count + k)
        w = (record[o], record[o + 1], record[o + 2])
        qv = load3(X, chord_number, chord.BASE + 6 * k)
        qw = load3(X, chord_number, chord.BASE + 6 * k + 3)
        size = (1.0 if k == number else 0.0) - dot(v, force) - dot(w, moment)
        size /= dot(v, qv) + dot(w, qw)
        force, moment = add(force, scale(size, qv)), add(moment, scale(size, qw))
    f, fd, fdd = 0.0, 0.0, 0.0
    if signal >= 0:
        given = signal_values(ints(C[CORE], N_CONTEXT))
        f, fd, fdd = given[signal, 0], given[signal, 1], given[signal, 2]
    S, T, i = state_(C), turn_(C), plan[chord.BODY_A]
    place, R = places(L), load9(T, i, 0)
    base = multiply(R, load9(place, chord_number, chord.PLACE_A))
    j = plan[chord.BODY_B]
    point = add(load3(S, j, PLACE), rotate(load9(T, j, 0), load3(place, chord_number, chord.PLACE_B + 9)))
    put(C, r, i, j, rotate(base, force), rotate(base, moment), point)
    V = level_(C)
    V[r, PHI] = chord_q(L)[plan[chord.FIRST_Q] + number] - f
    V[r, PHI_RATE] = X[chord_number, chord.SPEEDS + number] - fd
    V[r, GAMMA] = fdd - X[chord_number, chord.SPEED_RATES + number]
    return True


@kernel
def measure(C, r, t):
    """Measure a hinge coordinate and its rate, to `level`. Angles continue from their last value. Returns whether it worked."""
    kind = row_ints(C)[r, ROW_KIND]
    if kind == FITTED:
        return fitted(C, r, t)
    row(C, r, signal_values(ints(C[CORE], N_CONTEXT)))
    if kind == ANGLE:
        V, seen = level_(C), turns_(C)
        seen[r] += wrapped(V[r, PHI] - seen[r])
        V[r, PHI] = seen[r]
    return True


@kernel
def between_coordinates(C, L, c, t):
    """Compute the rows of chord c, a coupling: combinations of the rows that measure its coordinates. Returns
    whether it worked.
    """
    plan, path, Y, mine, entry = chords(L), chord_paths(L), wrenches(L), element_rows(C), partials(L)
    n, B, V, blocks, core = row_ints(C), jacobian_(C), level_(C), argument_blocks(C), ints(L[0], N_CONTEXT)
    q, u, ud = own_q(core), own_u(core), own_ud(core)
    first, stop = plan[c, chord.PATH_START], plan[c, chord.PATH_END]
    for a in range(first, stop):
        number = path[a, chord.COORDINATE]
        r = C[ROWS] + number
        if not measure(C, r, t):
            return False
        q[number], u[number], ud[number] = V[r, PHI], V[r, PHI_RATE], -V[r, GAMMA]
    if call_part(L[CHORD_ELEMENT], c, t, L) != 1:
        return False
    count = plan[c, chord.N_ROWS]
    for k in range(count):
        r = mine[plan[c, chord.FIRST_ROW] + k]
        for p in range(n[r, FIRST], n[r, STOP]):
            for m in range(6):
                B[p, m] = 0.0
        for a in range(first, stop):
            partial = entry[plan[c, chord.FIRST_ENTRY] + count * (a - first) + k]
            source = n[C[ROWS] + path[a, chord.COORDINATE], FIRST]
            for side in range(2):
                if blocks[a, side] >= 0:
                    for m in range(6):
                        B[n[r, FIRST] + blocks[a, side], m] += partial * B[source + side, m]
        y = plan[c, chord.FIRST_ROW] + k
        V[r, PHI], V[r, PHI_RATE] = Y[y, column.POSITION], Y[y, column.VELOCITY]
        V[r, GAMMA] = -Y[y, column.BIAS]
    return True


@kernel
def rows_of_elements(C, t):
    """Compute the rows of all elements at the bodies as they are placed. Returns a status code."""
    if C[CHORDS] == 0:
        return OK
    L = ints(C[CHORDS], N_CHORD_CONTEXT)
    plan = chords(L)
    mine, active, n = element_rows(C), active_(C), row_ints(C)
    for c in range(plan.shape[0]):
        if plan[c, chord.KIND] == chord.COUPLING:
            if not between_coordinates(C, L, c, t):
                return CHORD_FAILED + 16 * c
        elif plan[c, chord.N_ROWS] > 0 and mine[plan[c, chord.FIRST_ROW]] >= 0:
            if not between_ends(C, L, c, t):
                return CHORD_FAILED + 16 * c
    for k in range(C[ACTIVE]):
        if n[active[k], ROW_KIND] == FITTED and not fitted(C, active[k], t):
            return CHORD_FAILED
    return OK


# ---------------------------------------------------------------- what is carried
@kernel
def take_carried(C, z):
    """Read counted angles and unknowns of chords from the address z."""
    rows, seen = turn_rows(C), turns_(C)
    n = rows.shape[0]
    given = floats(z, n)
    for k in range(n):
        seen[rows[k]] = given[k]
    if C[CHORDS] != 0:
        s = chord_q(ints(C[CHORDS], N_CHORD_CONTEXT))
        given = floats(z + 8 * n, s.shape[0])
        for k in range(s.shape[0]):
            s[k] = given[k]


@kernel
def give_carried(C, z):
    """Write counted angles and unknowns of chords, as evaluated last, to the address z."""
    rows, seen = turn_rows(C), turns_(C)
    n = rows.shape[0]
    out = floats(z, n)
    for k in range(n):
        out[k] = seen[rows[k]]
    if C[CHORDS] != 0:
        s = chord_q(ints(C[CHORDS], N_CHORD_CONTEXT))
        out = floats(z + 8 * n, s.shape[0])
        for k in range(s.shape[0]):
            out[k] = s[k]


@kernel
def give_carried_rates(C, zd):
    """Write the rates of what is carried, as evaluated last, to the address zd. Euler parameters wait for the step's end."""
    rows, V = turn_rows(C), level_(C)
    n = rows.shape[0]
    out = floats(zd, n)
    for k in range(n):
        out[k] = V[rows[k], PHI_RATE]
    if C[CHORDS] == 0:
        return
    L = ints(C[CHORDS], N_CHORD_CONTEXT)
    plan, X = chords(L), chord_work(L)
    for c in range(plan.shape[0]):
        out = floats(zd + 8 * (n + plan[c, chord.FIRST_Q]), plan[c, chord.NQ])
        for k in range(plan[c, chord.NQ]):
            out[k] = X[c, chord.SPEEDS + k] if plan[c, chord.EULER] < 0 else 0.0
