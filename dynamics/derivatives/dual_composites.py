# mypy: ignore-errors
"""Composite connections on dual numbers: derivatives of their internal points, already in equilibrium.

The loads on the points vanish, R(w, p) = 0; so (dR/dw) w* = -R*, where R* is the change with the unknowns w
held (implicit function theorem). Every column of dR/dw is one evaluation on dual numbers.
"""

from treemech.elements.dual.numbers import dual_number, lane, value_of
from treemech.kinematics.kernel.language import kernel
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.plan.columns import point
from treemech.kinematics.plan.views import composite_table, effort_records, point_table

from ..loads.composites import act, eliminate, load_points, move_point, place_points, point_residual


@kernel
def differentiate_points(plan, c, t):
    """Find the derivatives of the points of composite c, then apply its parts.

    Returns a status code (kernel.status).
    """
    composites, points, m = composite_table(plan), point_table(plan), effort_records(plan)
    n, at = composites[c, point.N_UNKNOWNS], composites[c, point.WORKSPACE]
    base, width, first = at + n * (n + 1), n + 1, composites[c, point.FIRST_POINT]
    place_points(plan, c)
    status = load_points(plan, c, t)
    point_residual(plan, c, m, base)
    for row in range(n):
        m[at + row * width + n] = lane(m[base + row], 0)
    column = 0
    for p in range(first, first + composites[c, point.N_POINTS]):
        for k in range(points[p, point.COORDINATES]):
            move_point(plan, c, p, k, dual_number(0.0, 1.0))
            if status == OK:
                status = load_points(plan, c, t)
            point_residual(plan, c, m, base + n)
            move_point(plan, c, p, k, dual_number(0.0, -1.0))
            for row in range(n):
                m[at + row * width + column] = lane(m[base + n + row], 0) - lane(m[base + row], 0)
            column += 1
    if status != OK:
        return status
    eliminate(m, at, n)
    row = 0
    for p in range(first, first + composites[c, point.N_POINTS]):
        for k in range(points[p, point.COORDINATES]):
            move_point(plan, c, p, k, dual_number(0.0, -value_of(m[at + row * width + n])))
            row += 1
    status = load_points(plan, c, t)
    act(plan, c)
    return status
