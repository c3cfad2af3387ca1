# mypy: ignore-errors
"""Spatial vectors in the derivatives: pairs (angular part, part at the reference point), columns of rows by component."""

from treemech.kinematics.kernel.language import kernel
from treemech.kinematics.kernel.vector import add, cross, scale, sub, symmetric


@kernel
def column(Z, k, d):
    """Three components, from row k on, of column d"""
    return (Z[k, d], Z[k + 1, d], Z[k + 2, d])


@kernel
def put_column(Z, k, d, a, b):
    """A pair into column d, from row k on"""
    for j in range(3):
        Z[k + j, d] = a[j]
        Z[k + 3 + j, d] = b[j]


@kernel
def motion_cross(w, v, a, b):
    """(w, v) x (a, b) of two motions"""
    return cross(w, a), add(cross(w, b), cross(v, a))


@kernel
def inertia_times(m, h, J, w, v):
    """(moment, force) = I (w, v) of mass m, first moment h, inertia J about the reference point"""
    return add(symmetric(J, w), cross(h, v)), sub(scale(m, v), cross(h, w))
