# mypy: ignore-errors
"""Spatial vectors in the derivatives: (angular part, part at the reference point), one row per component.

A vector stands in a column, so that loops over speeds run along memory.
"""

from treemech.kinematics.kernel.language import kernel
from treemech.kinematics.kernel.vector import add, cross, scale, sub, symmetric


@kernel
def column(Z, k, d):
    """Return three components of column d, from row k on."""
    return (Z[k, d], Z[k + 1, d], Z[k + 2, d])


@kernel
def put_column(Z, k, d, a, b):
    """Write a spatial vector (a, b) into column d, from row k on."""
    for j in range(3):
        Z[k + j, d] = a[j]
        Z[k + 3 + j, d] = b[j]


@kernel
def motion_cross(w, v, a, b):
    """Return (w, v) x (a, b) of two motions."""
    return cross(w, a), add(cross(w, b), cross(v, a))


@kernel
def inertia_times(m, h, J, w, v):
    """Return (moment, force) = I (w, v) of mass m, first moment h, inertia J about the reference point."""
    return add(symmetric(J, w), cross(h, v)), sub(scale(m, v), cross(h, w))
