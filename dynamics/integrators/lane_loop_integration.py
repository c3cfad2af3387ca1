# mypy: ignore-errors
"""Error-controlled integration of closed chains on lanes: each lane has its own time and step, and is projected by itself.

The formulas are those of `runge_kutta.py` for chains that are far from singular positions, on the frame of
`lane_integration.py`. A row that comes near such a position, that opens, or whose outputs have to be found by shorter
steps is left as it was, with a status: the caller lets the scalar integrator take it from its start.
"""

from math import isfinite, sqrt

from treemech.elements.lanes.numbers import LANES, select
from treemech.kinematics.kernel.language import (
    address_of,
    call_rates,
    floats,
    ints2,
    kernel,
    number_size,
    numbers,
)
from treemech.kinematics.kernel.status import (
    CHAIN_OPEN,
    NOT_FINITE,
    OK,
    PAUSED,
    SINGULAR_POSITION,
    STEP_TOO_SMALL,
)

from ..equations import watch
from ..equations.lane_chords import choose_complements
from ..equations.loop_views import monitors
from . import layout
from .lane_integration import (
    ACCEPTED,
    END,
    FRACTION,
    FRESH,
    N3,
    N5,
    N_LANE_CONTROL,
    N_ROWS,
    NEXT,
    REJECTED,
    STEP,
    TIME,
    TRIED,
    WANTS,
    Y,
    dense_lanes,
    fill_lane,
    first_rates,
    first_steps,
    interpolate_lanes,
    numbers_of,
    row_at,
    stage_lanes,
    write_reached,
)
from .loop_step import GIVEN_UP, growth, usual_reach
from .passage import follow_turns, turns_too_far
from .runge_kutta_step import DP5, retract, square_norm
from .step_control import end_of_step, largest_step, limit_step, note_usual_step

# Numbers of lanes behind those of lane_integration: pivots (largest of the run, at the start of the step, at its end),
# spin at both ends, what `follow_turns`, `note_usual_step` and `growth` remember, and the pivots of the stages
LARGEST, START, AFTER, SPIN, SPIN_AFTER, TURNS, USUAL, BEFORE, SOUND, WISH = range(
    N_LANE_CONTROL, N_LANE_CONTROL + 10
)
STAGES = WISH + 1
N_LOOP_CONTROL = STAGES + 14


@kernel
def _error(method, m, h, n5, n3):
    """Return the error of a step relative to the tolerance, as `norm` does."""
    if method == DP5:
        return abs(h) * sqrt(n5 / m)
    if n5 == 0.0 and n3 == 0.0:
        return 0.0
    return abs(h) * n5 / sqrt((n5 + 0.01 * n3) * m)


@kernel
def _astray(plan, m, rtol, atol, raw, moved, way, times):
    """Return how far the projection moved the states, where that is more than way + times their tolerance: above 1.

    Prescribed numbers, whose tolerance is infinite, are not moved by it.
    """
    most = 0.0 * raw[0]
    for i in range(m):
        if isfinite(atol[i]):
            allowed = way * (1.0 + abs(raw[i])) + times * (atol[i] + rtol * abs(raw[i]))
            gap = abs(moved[i] - raw[i]) / allowed
            most = select(gap > most, gap, most)
            most = select(gap == gap, most, 1e300)
    return most


@kernel
def _closed(plan, loops, n, m, rtol, atol, at, raw, way, times, time, fresh, project, own, context):
    """Project the states at an address. Returns a status; own[SOUND] is below 1 in the lanes that moved little."""
    new, before = numbers(plan, at, n), numbers(plan, raw, n)
    for i in range(n):
        before[i] = new[i]
    monitors(loops)[watch.FRESH] = fresh
    status = call_rates(project, time, at, address_of(own) + number_size(plan) * SOUND, context)
    if status == OK:
        moved = _astray(plan, m, rtol, atol, before, new, way, times)
        own[SOUND] = select(own[SOUND] < 1.0, moved, 1e300)
    return status


@kernel
def _leave(k, status, rows, states):
    """Leave the row of lane k to the scalar integrator."""
    states[rows[k, 0]] = status
    rows[k, 0] = -1


@kernel
def integrate_lane_loops(
    plan, loops, method, rhs, project, near, count, n, m, t_, y_, end_, most, rtol, atol, euler, n_out, t_out, out_, room,
    table, spare, watched, budget, counts, states, context,
):  # fmt: skip
    """Integrate rows from t to end; every row has a status.

    The workspace has N_ROWS n numbers, then the control. The rows of t, y and of the outputs are written where the status is
    OK. After `rhs` the monitor says in STAGED in which lanes the chains are closed and the rows independent, after `project` in
    SPIN what `note_spin` does. A singular position is near below the part `near` of the largest pivot.
    """
    t, y, end, outputs = (
        floats(t_, count),
        floats(y_, n * count),
        floats(end_, count),
        floats(out_, n * n_out * count),
    )
    order, last = (5, 6) if method == DP5 else (8, 12)
    base, size = row_at(plan, room, n, N_ROWS), number_size(plan)
    rows = ints2(base + size * N_LOOP_CONTROL, LANES, 2)  # row of every lane or -1, outputs written
    own, monitor = numbers(plan, base, N_LOOP_CONTROL), monitors(loops)
    state_at, new_at, old_at = (
        row_at(plan, room, n, Y),
        row_at(plan, room, n, layout.NEW),
        row_at(plan, room, n, layout.OLD),
    )
    last_at, out_at = row_at(plan, room, n, last), row_at(plan, room, n, layout.OUT)
    state, new, K, K_last = (
        numbers(plan, state_at, n),
        numbers(plan, new_at, n),
        numbers(plan, room, n),
        numbers(plan, last_at, n),
    )
    e5 = numbers(plan, row_at(plan, room, n, layout.E5), n)
    e3 = numbers(plan, row_at(plan, room, n, layout.E3), n)
    doubles, result = floats(state_at, n * LANES), floats(out_at, n * LANES)
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
    n5, n3, largest, start = (
        numbers_of(base, N5),
        numbers_of(base, N3),
        numbers_of(base, LARGEST),
        numbers_of(base, START),
    )
    after, spin, spin_after, turns = (
        numbers_of(base, AFTER),
        numbers_of(base, SPIN),
        numbers_of(base, SPIN_AFTER),
        numbers_of(base, TURNS),
    )
    usual, before, sound, wish = (
        numbers_of(base, USUAL),
        numbers_of(base, BEFORE),
        numbers_of(base, SOUND),
        numbers_of(base, WISH),
    )
    lowest = numbers_of(address_of(monitor), watch.STEP_PIVOT)
    closed, rate_at = numbers_of(address_of(monitor), watch.STAGED), row_at(plan, room, n, layout.E3)
    for k in range(LANES):
        rows[k, 0], fresh[k], tried[k], step[k] = -1, 0.0, 0.0, 0.0
        time[k], aim[k], rejected[k] = t[0], end[0], 0.0
        largest[k], start[k], spin[k], turns[k], usual[k], before[k] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        fill_lane(k, 0, n, y, doubles, table)
    watched[watch.WATCHED] = 1.0
    following = 0
    while True:
        opened, running = False, 0
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
                choose_complements(loops, k)
                largest[k], spin[k], turns[k], usual[k], before[k] = 0.0, 0.0, 0.0, 0.0, 0.0
                counts[row, 0] = 2
                opened = True
            if rows[k, 0] >= 0:
                running += 1
        if running == 0:
            break
        status = OK
        if opened:
            monitor[watch.LARGEST_PIVOT] = own[LARGEST]
            status = first_rates(plan, rhs, n, euler, room, own, context)
            own[AFTER] = monitor[watch.LAST_PIVOT]
            for k in range(LANES):
                if fresh[k] > 0.0 and status == OK:
                    start[k] = after[k]
                    largest[k] = after[k]
                    if not closed[k] > 0.0:
                        _leave(k, SINGULAR_POSITION, rows, states)
                        fresh[k] = 0.0
            if status == OK:
                status = first_steps(plan, rhs, n, m, order, rtol, atol, most, room, own, context)
            for k in range(LANES):
                if rows[k, 0] >= 0 and counts[rows[k, 0], 1] == 0:
                    usual[k] = step[k] if usual[k] == 0.0 else usual[k]
                    write_reached(k, n, n_out, t_out, outputs, doubles, time, rows)
        for k in range(LANES):
            tried[k], next_[k] = 0.0, time[k]
            if rows[k, 0] < 0 or status != OK or time[k] == aim[k]:
                continue
            row = rows[k, 0]
            if start[k] < near * largest[k]:
                _leave(k, SINGULAR_POSITION, rows, states)
                continue
            watched[watch.SPIN], watched[watch.TURNS], spare[layout.MAX_STEP] = spin[k], turns[k], most
            h, vanishes = limit_step(
                time[k], step[k], 1.0, 0.0, largest_step(spare, watched), rejected[k] > 0.0, spare
            )
            if vanishes or not isfinite(h) or counts[row, 1] + counts[row, 2] >= budget:
                failed = STEP_TOO_SMALL if vanishes else NOT_FINITE if not isfinite(h) else PAUSED
                _leave(k, failed, rows, states)
                continue
            next_[k] = end_of_step(time[k], h, 1.0, aim[k], 0.0)
            tried[k] = next_[k] - time[k]
        if status == OK:
            monitor[watch.LARGEST_PIVOT] = own[LARGEST]
            monitor[watch.STEP_PIVOT] = 1e300
            status = stage_lanes(
                plan,
                method,
                rhs,
                n,
                room,
                own,
                address_of(monitor) + size * watch.LAST_PIVOT,
                base + size * STAGES,
                context,
            )
        projects = False
        if status == OK:
            own[N5] = square_norm(e5, state, new, m, rtol, atol)
            own[N3] = square_norm(e3, state, new, m, rtol, atol) if method != DP5 else own[N5]
            for k in range(LANES):
                if rows[k, 0] >= 0 and tried[k] != 0.0:
                    if lowest[k] < near * largest[k]:
                        _leave(k, SINGULAR_POSITION, rows, states)
                    elif _error(method, m, tried[k], n5[k], n3[k]) < 1.0:
                        projects = True
        if projects:
            monitor[watch.LARGEST_PIVOT] = own[LARGEST]
            status = _closed(
                plan,
                loops,
                n,
                m,
                rtol,
                atol,
                new_at,
                old_at,
                usual_reach(rtol),
                0.0,
                own[NEXT],
                1.0,
                project,
                own,
                context,
            )
            own[SPIN_AFTER] = monitor[watch.SPIN]
            for k in range(LANES):
                if tried[k] != 0.0 and _error(method, m, tried[k], n5[k], n3[k]) < 1.0:
                    choose_complements(loops, k)
            if status == OK:
                status = call_rates(rhs, own[NEXT], new_at, last_at, context)
            own[AFTER] = monitor[watch.LAST_PIVOT]
        dense = False
        for k in range(LANES):
            accepted[k], wants[k] = 0.0, 0.0
            row = rows[k, 0]
            if row < 0 or status != OK or tried[k] == 0.0:
                continue
            h, error, open_ = tried[k], _error(method, m, tried[k], n5[k], n3[k]), False
            counts[row, 0] += last
            if error < 1.0:
                counts[row, 0] += 2
                open_ = not sound[k] < 1.0
                error = 2.0 if open_ else error
            watched[watch.SPIN], watched[watch.TURNS] = spin_after[k], turns[k]
            if error < 1.0 and turns_too_far(spin[k], h, watched):
                step[k], rejected[k] = 0.6 * h, 1.0
                counts[row, 2] += 1
            elif error < 1.0:
                spare[layout.ACCEPTED_ERROR], spare[layout.USUAL_STEP] = before[k], usual[k]
                factor = growth(order, error, spare)
                if rejected[k] > 0.0:
                    factor = min(1.0, factor)
                note_usual_step(h, rejected[k] > 0.0, spare)
                before[k], usual[k] = spare[layout.ACCEPTED_ERROR], spare[layout.USUAL_STEP]
                largest[k] = max(largest[k], after[k])
                if method != DP5:
                    watched[watch.START_PIVOT], watched[watch.STAGE_PIVOTS] = after[k], start[k]
                    for s in (6, 9, 10):
                        watched[watch.STAGE_PIVOTS + s] = numbers_of(base, STAGES + s)[k]
                    follow_turns(h, watched)
                    turns[k] = watched[watch.TURNS]
                start[k], spin[k] = after[k], spin_after[k]
                step[k], accepted[k], rejected[k] = h * factor, 1.0, 0.0
                counts[row, 1] += 1
                if rows[k, 1] < n_out and t_out[rows[k, 1]] < next_[k]:
                    wants[k], dense = 1.0, True
            else:
                shrink = 0.9 * error ** (-1.0 / order)
                step[k], rejected[k] = h * (shrink if shrink > 0.2 else 0.2), 1.0
                counts[row, 2] += 1
                if open_ and step[k] < GIVEN_UP * usual[k]:
                    _leave(k, CHAIN_OPEN, rows, states)
        if dense:
            status = dense_lanes(plan, method, rhs, n, room, own, context)
            for k in range(LANES):
                if wants[k] > 0.0 and method != DP5:
                    counts[rows[k, 0], 0] += 3
        while dense and status == OK:
            for k in range(LANES):
                fraction[k], wish[k] = 0.0, time[k]
                if wants[k] > 0.0:
                    wish[k] = t_out[rows[k, 1]]
                    fraction[k] = (wish[k] - time[k]) / tried[k]
            interpolate_lanes(plan, method, n, room, own, euler)
            monitor[watch.LARGEST_PIVOT] = own[LARGEST]
            status = _closed(
                plan,
                loops,
                n,
                m,
                rtol,
                atol,
                out_at,
                rate_at,
                0.0,
                10.0,
                own[WISH],
                0.0,
                project,
                own,
                context,
            )
            dense = False
            for k in range(LANES):
                if wants[k] > 0.0 and status == OK:
                    if not sound[k] < 1.0:
                        _leave(k, SINGULAR_POSITION, rows, states)
                        wants[k] = 0.0
                        continue
                    at = n * (n_out * rows[k, 0] + rows[k, 1])
                    for i in range(n):
                        outputs[at + i] = result[LANES * i + k]
                    rows[k, 1] += 1
                    wants[k] = 1.0 if rows[k, 1] < n_out and t_out[rows[k, 1]] < next_[k] else 0.0
                    dense = dense or wants[k] > 0.0
        if status != OK:
            for k in range(LANES):
                if rows[k, 0] >= 0:
                    _leave(k, status, rows, states)
                fresh[k] = 0.0
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
    return OK
