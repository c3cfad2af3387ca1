# mypy: ignore-errors
"""Error-controlled integration of many rows on lanes: each lane has its own time and step; one that arrives takes the next row.

The formulas of DP5 and DOP853, of their step control and of their interpolants are those of `runge_kutta.py`, evaluated
in the same order, so every row has the steps and the digits of its run alone. What is not plain integration (a lane whose
equations fail) ends the rows of the block with a status; the caller lets the scalar integrator take them from their
start.
"""

from math import isfinite, sqrt

from treemech.elements.lanes.numbers import LANES, select
from treemech.kinematics.kernel.language import (
    address_of,
    call_rates,
    floats,
    inlined,
    ints2,
    kernel,
    number_size,
    numbers,
)
from treemech.kinematics.kernel.status import NOT_FINITE, OK, PAUSED, STEP_TOO_SMALL

from . import layout
from .lane_steps import combine_lanes, weigh_lanes
from .runge_kutta_step import (
    _A5,
    _A8,
    _D8,
    _EC,
    _P5,
    C5,
    C8,
    COEFFICIENTS,
    DP5,
    E3C,
    E5C,
    retract,
    square_norm,
)
from .step_control import end_of_step, limit_step

# Rows of n numbers of the workspace, besides those of `layout`; numbers of lanes in the control behind them
Y, N_ROWS = 29, 30
TIME, STEP, TRIED, NEXT, END, N5, N3, ACCEPTED, REJECTED, FRESH, FRACTION, WANTS, N_LANE_CONTROL = range(13)


@kernel
def fill_lane(lane, row, n, y, own, table):
    """Take the state of a row, and its numbers of the model, into a lane.

    A row of the table says where the numbers of all rows are, where they go, how many there are, and how far apart
    the numbers of one lane are, the lanes, and the rows.
    """
    for j in range(n):
        own[LANES * j + lane] = y[n * row + j]
    for k in range(table.shape[0]):
        count, apart, lanes = table[k, 2], table[k, 3], table[k, 4]
        source, to = floats(table[k, 0] + 8 * table[k, 5] * row, count), floats(table[k, 1], count * LANES)
        for j in range(count):
            to[apart * j + lanes * lane] = source[j]


@kernel
def first_rates(plan, rhs, n, euler, room, own, context):
    """Evaluate the rates of fresh lanes, as `open_leg` does. Returns a status."""
    at_new, at_old = row_at(plan, room, n, layout.NEW), row_at(plan, room, n, layout.OLD)
    y, K = numbers(plan, row_at(plan, room, n, Y), n), numbers(plan, room, n)
    new, old = numbers(plan, at_new, n), numbers(plan, at_old, n)
    fresh = own[FRESH] > 0.0
    for i in range(n):
        new[i] = y[i]
    retract(new, old, euler, euler.shape[0])
    for i in range(n):
        y[i] = select(fresh, new[i], y[i])
    status = call_rates(rhs, own[TIME], address_of(y), at_old, context)
    if status != OK:
        return status
    for i in range(n):
        K[i] = select(fresh, old[i], K[i])
    return status


@kernel
def first_steps(plan, rhs, n, m, order, rtol, atol, most, room, own, context):
    """Choose the first steps of fresh lanes, as `open_leg` does. Returns a status."""
    at_new, at_e5 = row_at(plan, room, n, layout.NEW), row_at(plan, room, n, layout.E5)
    y, K = numbers(plan, row_at(plan, room, n, Y), n), numbers(plan, room, n)
    new, e5 = numbers(plan, at_new, n), numbers(plan, at_e5, n)
    own[N5], own[N3] = square_norm(y, y, y, m, rtol, atol), square_norm(K, y, y, m, rtol, atol)
    base = address_of(own)
    t, end, step, flag = (
        numbers_of(base, TIME),
        numbers_of(base, END),
        numbers_of(base, STEP),
        numbers_of(base, FRESH),
    )
    n5, n3, h0 = numbers_of(base, N5), numbers_of(base, N3), numbers_of(base, TRIED)
    for k in range(LANES):
        h0[k] = 0.0
        if flag[k] > 0.0:
            d0, d1 = sqrt(n5[k] / m), sqrt(n3[k] / m)
            h = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
            h0[k] = min(h, abs(end[k] - t[k]))
    for i in range(n):
        new[i] = y[i] + own[TRIED] * K[i]
    status = call_rates(rhs, own[TIME] + own[TRIED], at_new, at_e5, context)
    if status != OK:
        return status
    for i in range(n):
        new[i] = e5[i] - K[i]
    own[N5] = square_norm(new, y, y, m, rtol, atol)
    for k in range(LANES):
        if flag[k] > 0.0:
            span, d1, d2 = abs(end[k] - t[k]), sqrt(n3[k] / m), sqrt(n5[k] / m) / h0[k]
            if d1 <= 1e-15 and d2 <= 1e-15:
                h1 = max(1e-6, h0[k] * 1e-3)
            else:
                h1 = (0.01 / max(d1, d2)) ** (1.0 / order)
            step[k] = min(min(100.0 * h0[k], h1), min(span, most))
            flag[k] = 0.0
    return status


@kernel
def row_at(plan, room, n, row):
    """Return the address of a row of the workspace."""
    return room + number_size(plan) * n * row


@inlined
def numbers_of(base, k):
    """Return the numbers of all lanes of one entry of the control."""
    return floats(base + 8 * LANES * k, LANES)


@kernel
def stage_lanes(plan, method, rhs, n, room, own, pivot, pivots, context):
    """Compute the stages of a step, the new state and the estimates of its error. Returns a status.

    With chords, `pivot` is the address of the last one, and those of the stages are noted at the address `pivots`.
    """
    last, table, nodes = (6, _A5, C5) if method == DP5 else (12, _A8, C8)
    new, y = numbers(plan, row_at(plan, room, n, layout.NEW), n), numbers(plan, row_at(plan, room, n, Y), n)
    for s in range(1, last + 1):
        combine_lanes(plan, new, n, y, own[TRIED], room, table + s)
        time = own[TIME] + COEFFICIENTS[nodes + s] * own[TRIED]
        status = call_rates(rhs, time, address_of(new), row_at(plan, room, n, s), context)
        if status != OK:
            return status
        if pivot != 0:
            numbers(plan, pivots, s + 1)[s] = numbers(plan, pivot, 1)[0]
    row = (_EC if method == DP5 else E5C) + 0 * n  # not a literal, so that `weigh_lanes` is compiled once
    weigh_lanes(plan, numbers(plan, row_at(plan, room, n, layout.E5), n), n, room, row)
    if method != DP5:
        weigh_lanes(plan, numbers(plan, row_at(plan, room, n, layout.E3), n), n, room, row + E3C - E5C)
    return status


@kernel
def dense_lanes(plan, method, rhs, n, room, own, context):
    """Compute the interpolants of the lanes, as `dense` does. Returns a status."""
    new, y = numbers(plan, row_at(plan, room, n, layout.NEW), n), numbers(plan, row_at(plan, room, n, Y), n)
    if method == DP5:
        for r in range(4):
            f = numbers(plan, row_at(plan, room, n, layout.DENSE + r), n)
            weigh_lanes(plan, f, n, room, _P5 + r)
            for i in range(n):
                f[i] *= own[TRIED]
        return OK
    scratch = numbers(plan, row_at(plan, room, n, layout.OUT), n)
    for s in range(13, 16):
        combine_lanes(plan, scratch, n, y, own[TRIED], room, _A8 + s)
        time = own[TIME] + COEFFICIENTS[C8 + s] * own[TRIED]
        status = call_rates(rhs, time, address_of(scratch), row_at(plan, room, n, s), context)
        if status != OK:
            return status
    rate, last = numbers(plan, room, n), numbers(plan, row_at(plan, room, n, 12), n)
    F0, F1, F2 = (
        numbers(plan, row_at(plan, room, n, layout.DENSE), n),
        numbers(plan, row_at(plan, room, n, layout.DENSE + 1), n),
        numbers(plan, row_at(plan, room, n, layout.DENSE + 2), n),
    )
    h = own[TRIED]
    for i in range(n):
        d = new[i] - y[i]
        F0[i] = d
        F1[i] = h * rate[i] - d
        F2[i] = 2.0 * d - h * (last[i] + rate[i])
    for r in range(4):
        f = numbers(plan, row_at(plan, room, n, layout.DENSE + 3 + r), n)
        weigh_lanes(plan, f, n, room, _D8 + r)
        for i in range(n):
            f[i] *= h
    return OK


@kernel
def interpolate_lanes(plan, method, n, room, own, euler):
    """Compute the states at the fractions FRACTION of the steps into the row OUT."""
    x, y = own[FRACTION], numbers(plan, row_at(plan, room, n, Y), n)
    out, spare = (
        numbers(plan, row_at(plan, room, n, layout.OUT), n),
        numbers(plan, row_at(plan, room, n, layout.E5), n),
    )
    for i in range(n):
        out[i] = 0.0
    for r in range(3 if method == DP5 else 6, -1, -1):
        f = numbers(plan, row_at(plan, room, n, layout.DENSE + r), n)
        if method != DP5 and r % 2 == 1:
            for i in range(n):
                out[i] = (out[i] + f[i]) * (1.0 - x)
        else:
            for i in range(n):
                out[i] = (out[i] + f[i]) * x
    for i in range(n):
        out[i] += y[i]
    retract(out, spare, euler, euler.shape[0])


@kernel
def _judge(method, m, rtol, base, rows, counts):
    """Accept or reject the step of every lane, and choose the size of its next one."""
    order = 5 if method == DP5 else 8
    n5, n3, tried, step = (
        numbers_of(base, N5),
        numbers_of(base, N3),
        numbers_of(base, TRIED),
        numbers_of(base, STEP),
    )
    accepted, rejected = numbers_of(base, ACCEPTED), numbers_of(base, REJECTED)
    for k in range(LANES):
        accepted[k] = 0.0
        row = rows[k, 0]
        if row < 0:
            continue
        h = tried[k]
        if method == DP5:
            error = abs(h) * sqrt(n5[k] / m)
        elif n5[k] == 0.0 and n3[k] == 0.0:
            error = 0.0
        else:
            error = abs(h) * n5[k] / sqrt((n5[k] + 0.01 * n3[k]) * m)
        if error < 1.0:
            factor = 10.0 if error == 0.0 else min(10.0, 0.9 * error ** (-1.0 / order))
            if rejected[k] > 0.0:
                factor = min(1.0, factor)
            step[k], accepted[k], rejected[k] = h * factor, 1.0, 0.0
            counts[row, 1] += 1
        else:
            shrink = 0.9 * error ** (-1.0 / order)
            step[k], rejected[k] = h * (shrink if shrink > 0.2 else 0.2), 1.0
            counts[row, 2] += 1
        counts[row, 0] += 6 if method == DP5 else 12


@kernel
def integrate_lanes(
    plan, method, rhs, count, n, m, t_, y_, end_, most, rtol, atol, euler, n_out, t_out, out_, room, table, spare, budget,
    counts, states, context,
):  # fmt: skip
    """Integrate rows from t to end; every row has a status. The workspace has N_ROWS n numbers, then the control.

    The rows of t, y and of the outputs are written where the status is OK.
    """
    t, y, end, outputs = (
        floats(t_, count),
        floats(y_, n * count),
        floats(end_, count),
        floats(out_, n * n_out * count),
    )
    order = 5 if method == DP5 else 8
    last = 6 if method == DP5 else 12
    base = row_at(plan, room, n, N_ROWS)
    rows = ints2(base + 8 * LANES * N_LANE_CONTROL, LANES, 2)  # row of every lane or -1, outputs written
    own = numbers(plan, base, N_LANE_CONTROL)
    state, new = (
        numbers(plan, row_at(plan, room, n, Y), n),
        numbers(plan, row_at(plan, room, n, layout.NEW), n),
    )
    K, K_last = numbers(plan, room, n), numbers(plan, row_at(plan, room, n, last), n)
    e5, e3 = (
        numbers(plan, row_at(plan, room, n, layout.E5), n),
        numbers(plan, row_at(plan, room, n, layout.E3), n),
    )
    doubles, result = (
        floats(address_of(state), n * LANES),
        floats(row_at(plan, room, n, layout.OUT), n * LANES),
    )
    time, aim, fresh, step = (
        numbers_of(base, TIME),
        numbers_of(base, END),
        numbers_of(base, FRESH),
        numbers_of(base, STEP),
    )
    tried, next_, rejected = numbers_of(base, TRIED), numbers_of(base, NEXT), numbers_of(base, REJECTED)
    accepted, fraction, wants = (
        numbers_of(base, ACCEPTED),
        numbers_of(base, FRACTION),
        numbers_of(base, WANTS),
    )
    for k in range(LANES):
        rows[k, 0], fresh[k], tried[k], step[k] = -1, 0.0, 0.0, 0.0
        time[k], aim[k], rejected[k] = t[0], end[0], 0.0
        fill_lane(k, 0, n, y, doubles, table)
    following, running = 0, 0
    while True:
        opened = False
        for k in range(LANES):
            while rows[k, 0] < 0 and following < count:
                row = following
                following += 1
                if not end[row] > t[row] or not isfinite(end[row]):
                    states[row] = NOT_FINITE
                    continue
                fill_lane(k, row, n, y, doubles, table)
                rows[k, 0], rows[k, 1] = row, 0
                time[k], aim[k], rejected[k], fresh[k] = t[row], end[row], 0.0, 1.0
                counts[row, 0] = 2
                running += 1
                opened = True
        if running == 0:
            break
        status = OK
        if opened:
            status = first_rates(plan, rhs, n, euler, room, own, context)
            if status == OK:
                status = first_steps(plan, rhs, n, m, order, rtol, atol, most, room, own, context)
            for k in range(LANES):
                if rows[k, 0] >= 0 and counts[rows[k, 0], 1] == 0:
                    write_reached(k, n, n_out, t_out, outputs, doubles, time, rows)
        # the ends of the steps
        for k in range(LANES):
            tried[k], next_[k] = 0.0, time[k]
            if rows[k, 0] >= 0 and status == OK:
                if time[k] == aim[k]:
                    continue
                h, vanishes = limit_step(time[k], step[k], 1.0, 0.0, most, rejected[k] > 0.0, spare)
                if vanishes or not isfinite(h) or counts[rows[k, 0], 1] + counts[rows[k, 0], 2] >= budget:
                    states[rows[k, 0]] = (
                        STEP_TOO_SMALL if vanishes else NOT_FINITE if not isfinite(h) else PAUSED
                    )
                    rows[k, 0] = -1
                    running -= 1
                    continue
                next_[k] = end_of_step(time[k], h, 1.0, aim[k], 0.0)
                tried[k] = next_[k] - time[k]
        if status == OK:
            status = stage_lanes(plan, method, rhs, n, room, own, 0, 0, context)
        if status == OK:
            own[N5] = square_norm(e5, state, new, m, rtol, atol)
            own[N3] = square_norm(e3, state, new, m, rtol, atol) if method != DP5 else own[N5]
            _judge(method, m, rtol, base, rows, counts)
            dense = False
            for k in range(LANES):
                wants[k] = 0.0
                if accepted[k] > 0.0 and rows[k, 1] < n_out and t_out[rows[k, 1]] < next_[k]:
                    wants[k], dense = 1.0, True
            if dense:
                status = dense_lanes(plan, method, rhs, n, room, own, context)
                for k in range(LANES):
                    if wants[k] > 0.0 and method != DP5:
                        counts[rows[k, 0], 0] += 3
            while dense and status == OK:
                for k in range(LANES):
                    fraction[k] = 0.0
                    if wants[k] > 0.0:
                        fraction[k] = (t_out[rows[k, 1]] - time[k]) / tried[k]
                interpolate_lanes(plan, method, n, room, own, euler)
                dense = False
                for k in range(LANES):
                    if wants[k] > 0.0:
                        at = n * (n_out * rows[k, 0] + rows[k, 1])
                        for i in range(n):
                            outputs[at + i] = result[LANES * i + k]
                        rows[k, 1] += 1
                        wants[k] = 1.0 if rows[k, 1] < n_out and t_out[rows[k, 1]] < next_[k] else 0.0
                        dense = dense or wants[k] > 0.0
        if status != OK:
            for k in range(LANES):
                if rows[k, 0] >= 0:
                    states[rows[k, 0]] = status
                    rows[k, 0] = -1
                fresh[k] = 0.0
            running = 0
            continue
        retract(new, K_last, euler, euler.shape[0])
        taken = own[ACCEPTED] > 0.0
        for i in range(n):
            state[i] = select(taken, new[i], state[i])
            K[i] = select(taken, K_last[i], K[i])
        for k in range(LANES):
            row = rows[k, 0]
            if row < 0 or accepted[k] == 0.0:
                continue
            time[k] = next_[k]
            write_reached(k, n, n_out, t_out, outputs, doubles, time, rows)
            if time[k] == aim[k]:
                t[row], states[row] = time[k], OK
                for i in range(n):
                    y[n * row + i] = doubles[LANES * i + k]
                rows[k, 0] = -1
                running -= 1
    return OK


@kernel
def write_reached(k, n, n_out, t_out, outputs, doubles, time, rows):
    """Write the outputs of lane k at the time it has reached."""
    while rows[k, 1] < n_out and t_out[rows[k, 1]] == time[k]:
        at = n * (n_out * rows[k, 0] + rows[k, 1])
        for i in range(n):
            outputs[at + i] = doubles[LANES * i + k]
        rows[k, 1] += 1
