"""One integrator for all explicit formulations: the engine's own compiled DOP853, with their right-hand sides.

A formulation that projects its states onto the constraints after every step hands over a second function,
``project(t, y, rank, context)``; the integrator then is the one of closed chains, without what that does near singular
positions, since the pivots it would look at are not there.
"""

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from treemech.dynamics.equations import watch
from treemech.dynamics.integrators import layout as m
from treemech.dynamics.native import entry_points as native
from treemech.kinematics.kernel.status import OK, PAUSED, STEP_TOO_SMALL, split
from treemech.topology.arrays import Floats

from .cartesian.kernels import RESELECT
from .compiled import data
from .formulation import Integration, TooSlow

_STEPS = 64  # between two looks at the clock, at the start


def integrate(
    rhs: int,
    context: int,
    t_span: tuple[float, float],
    y0: Floats,
    rtol: float,
    t_eval: Floats,
    allowed: float = float("inf"),
    project: int = 0,
    monitor: Floats | None = None,
    euler: tuple[int, ...] = (),
    controlled: int | None = None,
    reselect: Callable[[float, Floats], bool] | None = None,
) -> Integration:
    """Integrate y' = rhs from y0; rhs, context and project are addresses.

    euler: where four Euler parameters start, which are brought back to length 1 after every step. controlled: how many
    of the first components count in the error. monitor[FRESH] tells `project` that the state is the one evaluated last.
    reselect(t, y) is asked for other constraint rows where the right-hand side wants them.
    """
    n, y = len(y0), np.array(y0, dtype=np.float64)
    control, count = np.zeros(m.N_CONTROL), np.zeros(m.N_COUNT, dtype=np.int64)
    control[m.TIME], control[m.END], control[m.RTOL], control[m.MAX_STEP] = *t_span, rtol, np.inf
    count[m.CONTROLLED] = n if controlled is None else controlled
    absolute = np.full(n, rtol)
    work = np.zeros(m.N_LOOP_WORK_ROWS * n)
    starts: NDArray[np.int64] = np.array([*euler, 0], dtype=np.int64)
    times, out = np.ascontiguousarray(t_eval), np.zeros((max(len(t_eval), 1), n))
    monitor = np.zeros(watch.N_MONITOR) if monitor is None else monitor
    hooks = np.zeros(m.N_HOOKS, dtype=np.int64)
    hooks[[m.PROJECT, m.MONITOR]] = project, data(monitor)
    run = native.entry("loop_integrate" if project else "integrate")
    until, budget, status, none = time.process_time() + allowed, _STEPS, OK, np.zeros(n)
    asked, asked_at = 0, -np.inf
    while True:
        began = time.process_time()
        status = run(
            0, rhs, context, n, data(control), data(count), data(y), data(absolute), data(work), len(euler), data(starts),
            len(times), data(times), data(out), 1, data(none), data(none), 0, budget, data(hooks),
        )  # fmt: skip
        now = time.process_time()
        if status == RESELECT and reselect is not None and asked < 20:
            asked = asked + 1 if control[m.TIME] == asked_at else 0
            asked_at = control[m.TIME]
            reselect(float(control[m.TIME]), y)
            count[m.STARTED], control[m.STEP] = 0, control[m.STEP] * (0.5 if asked else 1.0)
            continue
        if status != PAUSED:
            break
        if now > until:
            raise TooSlow
        if now - began < 0.05:
            budget *= 2
    written = int(count[m.WRITTEN])
    code, index = split(status)
    at = f"t = {control[m.TIME]:.6g} s"
    message = {
        OK: "the end was reached.",
        STEP_TOO_SMALL: f"the step size fell to {abs(control[m.STEP]):.2g} s at {at}.",
    }.get(code, f"stopped at {at} with status {code}, {index}.")
    return Integration(
        times[:written].copy(), out[:written].copy(), int(count[m.EVALUATIONS]), int(count[m.STEPS]),
        int(count[m.REJECTED]), status == OK, message,
    )  # fmt: skip
