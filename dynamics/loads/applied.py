# mypy: ignore-errors
"""Applied loads of a state: energetic elements, external loads, composite connections."""

from treemech.kinematics.kernel.language import call_part, kernel
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.plan.arrays import COMPOSITE
from treemech.kinematics.plan.columns import body, effort, point
from treemech.kinematics.plan.views import (
    body_work,
    composite_table,
    effort_table,
    own_effort,
    own_u,
    speed_work,
)
from treemech.kinematics.tree.sweep import origin_velocities

from .efforts import call, gather, scatter


@kernel
def apply_efforts(plan, t):
    """Apply all elements except reaction-dependent ones, after `velocities`.

    Returns a status code (kernel.status).
    """
    W, S, on_speeds, table = body_work(plan), speed_work(plan), own_effort(plan), effort_table(plan)
    composites, last = composite_table(plan), table.shape[0]
    origin_velocities(plan, W, S, own_u(plan))
    for i in range(W.shape[0]):
        for k in range(6):
            W[i, body.APPLIED_N + k] = 0.0
    for k in range(on_speeds.shape[0]):
        on_speeds[k] = 0.0
    if composites.shape[0] > 0:
        last = composites[0, point.FIRST_PART]
    for e in range(last):
        gather(plan, e)
        if table[e, effort.REACTION] < 0:
            status = call(plan, e, t)
            if status != OK:
                return status
            scatter(plan, e)
    for c in range(composites.shape[0]):
        status = call_part(plan[COMPOSITE], c, t, plan)
        if status != OK:
            return status
    return OK
