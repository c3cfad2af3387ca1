# mypy: ignore-errors
"""Entry points of closed chains on lanes: accelerations, steps of RK4, integration with error control.

Their models have numbers of their own in each lane. Every row has a status of its own; where that is not OK its results are
left alone, and the caller takes the way of a single state: the chain is open, a singular position is near, an element failed.
"""

import numpy as np
from numba import types

from treemech.elements.lanes import functions as _functions  # noqa: F401  teaches numba sin, floor, ... of lanes
from treemech.elements.lanes.numbers import LANES, both, from_rows, lane_of, select, some, to_rows
from treemech.kinematics.chords.coordinates import chord_rates
from treemech.kinematics.kernel.language import (
    call_rates,
    floats,
    inlined,
    ints,
    ints2,
    kernel,
    number_size,
    numbers,
    varied_context,
)
from treemech.kinematics.kernel.status import OK, SINGULAR_POSITION
from treemech.kinematics.plan.arrays import N_LANE_CONTEXT
from treemech.kinematics.plan.chord_views import chord_q
from treemech.kinematics.plan.columns import row
from treemech.kinematics.plan.views import (
    body_work,
    counts,
    n_audit,
    n_efforts,
    n_states,
    own_q,
    own_required,
    own_tau,
    own_u,
    speed_work,
)
from treemech.kinematics.tree.sweep import coordinate_rates, turn_speeds

from ..equations import watch
from ..equations.lane_chords import N_LANE_LOOP_CONTEXT, choose_complements, element_rows
from ..equations.lane_loops import accelerate, factorise, largest, project, spin_of, take_back
from ..equations.loop_views import kept_rows, monitors, solutions
from ..equations.loops import evaluate
from ..integrators import layout
from ..integrators.lane_integration import fill_lane
from ..integrators.lane_loop_integration import integrate_lane_loops
from ..integrators.lane_steps import rk4_rest
from ..integrators.runge_kutta_step import retract
from .begin import begin_loops, hold_prescribed, state_rates
from .lanes import mark, read, take_states, write

OPEN, REGULAR, NEAR = 1e-6, 1e-8, 1e-2  # as in dynamics.model.loops
_CLOSED = 1e-7  # what a projection must come to, as in equations.loops


@inlined
def _contexts(address):
    """Return the contexts of the tree and of the chords."""
    loops = varied_context(address, N_LANE_LOOP_CONTEXT)
    return varied_context(loops[0], N_LANE_CONTEXT), loops


@kernel
def _rate(plan, loops, t, y, dy):
    """Compute y' as `loop_rhs` does. Returns a status."""
    status = begin_loops(plan, loops, t, y)
    if status != OK:
        return status
    _, nq, nu = counts(plan)
    nz, _ = n_states(plan)
    q, u, size = own_q(plan), own_u(plan), number_size(plan)
    status = evaluate(plan, loops, body_work(plan), speed_work(plan), t, q, u)
    if status != OK:
        return status
    rates, ud = numbers(plan, dy, nq), numbers(plan, dy + size * nq, nu)
    accelerate(plan, loops, own_tau(plan), ud)
    coordinate_rates(plan, q, u, rates)
    turn_speeds(plan, q, ud, 1.0)
    hold_prescribed(plan, rates, ud)
    if n_efforts(plan) > 0:
        state_rates(plan, dy)
    cut = dy + size * (nq + nu + nz + n_audit(plan))
    chord_rates(loops, numbers(plan, cut, chord_q(loops).shape[0]))
    return status


@inlined
def _mark_lanes(states, k, last, fine, otherwise):
    """Write the status of every row of a block: OK in the lanes that are fine."""
    number = select(fine, 1.0, 0.0)
    for j in range(last + 1):
        states[k + j] = OK if lane_of(number, j) > 0.0 else otherwise


@inlined
def _note_regular(loops):
    """Note in the monitor (STAGED) in which lanes chains are closed, stay closed, and have independent rows: 1, else 0."""
    monitor = monitors(loops)
    closed = both(largest(loops, row.POSITION) <= OPEN, largest(loops, row.VELOCITY) <= OPEN)
    monitor[watch.STAGED] = select(both(closed, monitor[watch.LAST_PIVOT] > REGULAR), 1.0, 0.0)


@inlined
def _finite(values, n):
    """Return the lanes in which all of n numbers are finite."""
    total = 0.0 * values[0]
    for j in range(1, n):
        total += 0.0 * values[j]
    return total == 0.0


def lane_chord(c, t, loops):
    """Compute the rows of chord c as `chord_element` does; t is an address."""
    plan, chords = _contexts(loops)
    return np.int32(element_rows(plan, chords, c, numbers(plan, t, 1)[0]))


def lane_loop_rhs(t, y, dy, loops):
    """Compute y' as `loop_rhs` does, of states side by side; t is an address. Notes which lanes are regular."""
    plan, chords = _contexts(loops)
    status = _rate(plan, chords, numbers(plan, t, 1)[0], y, dy)
    _note_regular(chords)
    return np.int32(status)


def lane_loop_project(t, y, gap, loops):
    """Project states onto the constraints as `loop_project` does; t is an address.

    If the monitor says FRESH, they were evaluated last. At the address `gap`: what is left of the gaps, as a part of what is
    allowed. The monitor notes the spin.
    """
    plan, chords = _contexts(loops)
    time, monitor, status = numbers(plan, t, 1)[0], monitors(chords), OK
    W, S = body_work(plan), speed_work(plan)
    if not some(monitor[watch.FRESH] > 0.0):
        status = begin_loops(plan, chords, time, y)
        if status == OK:
            status = evaluate(plan, chords, W, S, time, own_q(plan), own_u(plan))
        if status == OK:
            factorise(chords)
    if status == OK:
        status, left = project(plan, chords, W, S, time)
        numbers(plan, gap, 1)[0] = left / _CLOSED
        monitor[watch.SPIN] = spin_of(plan, chords, W)
        take_back(plan, chords, y)
    return np.int32(status)


def lane_loop_dynamics(count, t, q, u, z, tau, start, ud, multipliers, state, loops):
    """Compute ud and multipliers of each row under the loads tau on the speeds; cut hinges begin at `start`."""
    plan, chords = _contexts(loops)
    states, loads, out = ints(state, count), own_tau(plan), own_required(plan)
    _, nq, nu = counts(plan)
    kept, x, cut, monitor = kept_rows(chords), solutions(chords), chord_q(chords), monitors(chords)
    m, near, W, S = kept.shape[0], floats(start, chord_q(chords).shape[0]), body_work(plan), speed_work(plan)
    for k in range(0, count, LANES):
        last = min(LANES, count - k) - 1
        time = from_rows(t + 8 * k, 8, last)
        status = take_states(plan, time, q, u, z, k, last)
        if status == OK:
            for j in range(cut.shape[0]):
                cut[j] = near[j]
            for lane in range(LANES):
                choose_complements(chords, lane)
            status = evaluate(plan, chords, W, S, time, own_q(plan), own_u(plan))
        mark(states, k, last, status)
        if status == OK:
            monitor[watch.LARGEST_PIVOT] = 1e300  # always refine
            read(loads, tau + 8 * nu * k, last)
            accelerate(plan, chords, loads, out)
            closed = largest(chords, row.POSITION) <= OPEN
            fine = both(both(closed, monitor[watch.LAST_PIVOT] > REGULAR), _finite(out, nu))
            _mark_lanes(states, k, last, fine, SINGULAR_POSITION)
            write(out, nu, ud + 8 * nu * k, last)
            for r in range(m):
                value = x[0] - x[0]  # zero, and not minus zero
                if kept[r] >= 0:
                    value = -x[nu + kept[r]]
                to_rows(value, multipliers + 8 * (m * k + r), 8 * m, last)
    for j in range(nu):
        loads[j] = 0.0
    return np.int32(OK)


def lane_loop_rk4(count, steps, dt, t, y, n, n_euler, euler, rhs, room, n_table, table, state, loops):
    """Take steps of RK4, each projected onto the constraints, as `lane_rk4` does for trees.

    A lane goes on as long as its chains are closed at the start and no stage is near a singular position.
    """
    plan, chords = _contexts(loops)
    states, step, euler_, size = ints(state, count), floats(dt, 1)[0], ints(euler, n_euler), number_size(plan)
    at = room + 5 * size * n
    own, given, fills = numbers(plan, at, n), floats(y, n * count), ints2(table, n_table, 6)
    doubles, K, monitor = floats(at, LANES * n), numbers(plan, room, n), monitors(chords)
    W, S, times = body_work(plan), speed_work(plan), floats(t, count)
    for k in range(0, count, LANES):
        last = min(LANES, count - k) - 1
        time, status = from_rows(t + 8 * k, 8, last), np.int32(OK)
        for lane in range(LANES):
            fill_lane(lane, k + min(lane, last), n, given, doubles, fills)
        fine = time == time
        for _ in range(steps):
            if status == OK:
                end = time + step
                retract(own, K, euler_, n_euler)
                for lane in range(LANES):
                    choose_complements(chords, lane)
                monitor[watch.LARGEST_PIVOT] = 0.0
                status = call_rates(rhs, time, at, room, loops)
                if status == OK:
                    fine = both(fine, monitor[watch.STAGED] > 0.0)
                    usual = monitor[watch.LARGEST_PIVOT]
                    monitor[watch.STEP_PIVOT] = 1e300
                    status = rk4_rest(plan, rhs, n, time, end - time, own, room, loops)
                if status == OK:
                    status = call_rates(rhs, end, at, room, loops)
                if status == OK:
                    monitor[watch.LARGEST_PIVOT] = usual
                    fine = both(fine, monitor[watch.STEP_PIVOT] >= NEAR * usual)
                    status, gap = project(plan, chords, W, S, end)
                    fine = both(fine, gap < _CLOSED)
                if status == OK:
                    take_back(plan, chords, at)
                    retract(own, K, euler_, n_euler)
                time = end
        mark(states, k, last, status)
        if status == OK:
            fine = both(fine, _finite(own, n))
            _mark_lanes(states, k, last, fine, SINGULAR_POSITION)
            number = select(fine, 1.0, 0.0)
            for lane in range(last + 1):
                if lane_of(number, lane) > 0.0:
                    for j in range(n):
                        given[n * (k + lane) + j] = doubles[LANES * j + lane]
                    times[k + lane] = lane_of(time, lane)
    return np.int32(OK)


def lane_loop_integrate(
    method, rhs, count, n, m, t, y, end, control, atol, n_euler, euler, n_out, t_out, out, room, n_table, table, spare,
    budget, counts, state, loops,
):  # fmt: skip
    """Integrate rows with error control (`integrate_lane_loops`); control: rtol, largest step, entry that projects.

    `spare` has room for the control and the monitor of one integration.
    """
    plan, chords = _contexts(loops)
    given = floats(control, 2)
    return np.int32(
        integrate_lane_loops(
            plan,
            chords,
            method,
            rhs,
            ints(control, 3)[2],
            NEAR,
            count,
            n,
            m,
            t,
            y,
            end,
            given[1],
            given[0],
            floats(atol, m),
            ints(euler, n_euler),
            n_out,
            floats(t_out, n_out),
            out,
            room,
            ints2(table, n_table, 6),
            floats(spare, layout.N_CONTROL),
            floats(spare + 8 * layout.N_CONTROL, watch.N_MONITOR),
            budget,
            ints2(counts, count, 3),
            ints(state, count),
            loops,
        )
    )


_n, _status = types.int64, types.int32
# name -> function, C signature
LANE_LOOP_ENTRIES = {
    "lane_chord": (lane_chord, _status(*[_n] * 3)),
    "lane_loop_rhs": (lane_loop_rhs, _status(*[_n] * 4)),
    "lane_loop_project": (lane_loop_project, _status(*[_n] * 4)),
    "lane_loop_integrate": (lane_loop_integrate, _status(*[_n] * 23)),
    "lane_loop_dynamics": (lane_loop_dynamics, _status(*[_n] * 11)),
    "lane_loop_rk4": (lane_loop_rk4, _status(*[_n] * 14)),
}
