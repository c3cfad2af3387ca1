# mypy: ignore-errors
"""Entry point of inverse kinematics of trees."""

import numpy as np

from treemech.kinematics.kernel.language import ints
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.plan.arrays import N_CONTEXT
from treemech.kinematics.plan.columns import target
from treemech.kinematics.plan.views import body_work, counts, speed_work
from treemech.kinematics.tree.reach import reach as search

from .begin import begin


def reach(t, u, table, context):
    """Bring the ends of the table of a search to their targets (kinematics.tree.reach). u are the prescribed speeds."""
    plan, numbers = ints(context, N_CONTEXT), ints(table, target.N_SEARCH)
    rows, nq, nu = counts(plan)
    status = begin(plan, t, numbers[target.Q_AT], u)
    if status == OK:
        status = search(plan, body_work(plan), speed_work(plan), t, nu, numbers)
    return np.int32(status)
