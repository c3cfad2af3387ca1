"""Jump of the speeds where the rate of a prescribed motion jumps."""

import numpy as np

from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from .core import Core
from .trace import OMEGA, ROTATION, VELOCITY


def speed_jump(core: Core, before: float, after: float, y: Floats) -> Floats:
    """Return y after a jump of prescribed rates between two times one instant apart.

    The momenta of the free speeds (derivatives of the kinetic energy by the speeds) do not jump, except for
    the impulses of the chords, which keep P u + P0 = 0. A prescribed motion whose value jumps is refused.
    """
    jump = False
    for k in core.layout.kinematic:
        old, new = core.layout.signals[k].at(before), core.layout.signals[k].at(after)
        if abs(new.value - old.value) > 1e-9 * (1.0 + abs(old.value)):
            raise TreemechError(
                f"signal {core.layout.signals[k]!r} jumps from {old.value:.6g} to {new.value:.6g} at "
                f"t = {after:.6g} s: a prescribed motion must be continuous."
            )
        jump = jump or abs(new.rate - old.rate) > 1e-9 * (1.0 + abs(old.rate))
    if not jump:
        return y
    q, u = (x[0] for x in core.states(np.array([before]), y[None]))
    _, v = (x[0] for x in core.states(np.array([after]), y[None]))
    free = core.free_speeds()
    if free.any():
        A = core.inertia(after, q)[np.ix_(free, free)]
        change = _driven_momenta(core, after, q) - _driven_momenta(core, before, q)
        v[free] = u[free] - np.linalg.solve(A, change[free])
        if core.loops is not None:
            now = core.constraints(after, q, v)
            P = now.partials[:, free]
            step = np.linalg.solve(A, P.T)
            v[free] -= step @ np.linalg.lstsq(P @ step, now.velocity, rcond=1e-10)[0]
    return np.concatenate((core.pack(q, v)[: core.nq + core.nu], y[core.nq + core.nu :]))


def _driven_momenta(core: Core, t: float, q: Floats) -> Floats:
    """Return the momenta that prescribed and moving hinges cause, by free speeds that are all zero."""
    n = core.nu
    u, rows = np.vstack((np.zeros((1, n)), np.eye(n))), np.repeat(np.asarray(q)[None], n + 1, axis=0)
    with core.unloaded():
        trace, _ = core.trace(np.full(n + 1, float(t)), rows, u, np.zeros((n + 1, n)))
    bodies = core.tree.bodies
    com, mass = np.array([b.com for b in bodies]), np.array([b.mass for b in bodies])
    R = trace[:, :, ROTATION].reshape(n + 1, core.rows, 3, 3)
    J = np.einsum("bij,bjk,blk->bil", R[0], np.array([b.inertia for b in bodies]), R[0])
    w = trace[:, :, OMEGA]
    v = trace[:, :, VELOCITY] + np.cross(w, np.einsum("nbij,bj->nbi", R, com))
    translation = np.einsum("kbi,b,bi->k", v[1:] - v[0], mass, v[0])
    return np.asarray(translation + np.einsum("kbi,bij,bj->k", w[1:] - w[0], J, w[0]))
