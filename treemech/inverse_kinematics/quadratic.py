"""Smallest value of a convex quadratic function between bounds."""

import numpy as np

from treemech.topology.arrays import Floats

_BEYOND = 1e-12  # by how much a bound may be passed, in parts of one


def smallest(H: Floats, g: Floats, C: Floats, low: Floats, high: Floats) -> Floats | None:
    """Return y with the least y H y / 2 + g y and low <= C y <= high; None if no y is between the bounds.

    H is positive definite. Where the free minimum passes bounds, the point of the allowed region that is
    nearest to it in the norm of H is found by nonnegative least squares (Lawson and Hanson, least distance
    programming).
    """
    from scipy.linalg import lapack

    L, failed = lapack.dpotrf(H, lower=1, clean=1)
    if failed:
        raise np.linalg.LinAlgError("not positive definite")
    y: Floats = -lapack.dpotrs(L, g, lower=1)[0]
    if not len(low):
        return y
    now = C @ y
    if (now >= low - _BEYOND).all() and (now <= high + _BEYOND).all():
        return y
    from scipy.optimize import nnls

    G, h = np.vstack((C, -C)), np.concatenate((low - now, now - high))  # G (y' - y) >= h
    counts = np.isfinite(h)
    G, h = lapack.dtrtrs(L, G[counts].T, lower=1)[0].T, h[counts]  # of x = L^T (y' - y), in the norm of H
    lengths = np.linalg.norm(G, axis=1)
    flat = lengths < 1e-14 * max(float(np.max(lengths)), 1e-300)
    if np.any(h[flat] > 1e-9):
        return None
    G, h = G[~flat] / lengths[~flat, None], h[~flat] / lengths[~flat]
    size = float(np.max(h))
    E = np.vstack((G.T, h / size))
    target = np.zeros(len(E))
    target[-1] = 1.0
    try:
        found, left = nnls(E, target)
    except RuntimeError:  # its iterations are used up
        return None
    r = E @ found - target
    if not left > 1e-10:
        return None
    x = -r[:-1] / r[-1] * size
    return np.asarray(y + lapack.dtrtrs(L, x, lower=1, trans=1)[0])
