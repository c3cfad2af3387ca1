"""Find speeds that meet no inertia: the mass matrix has no inverse then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.kernel.status import OK
from treemech.kinematics.plan.columns import body, speed
from treemech.topology import SingularError
from treemech.topology.arrays import Floats, address

from ..native import entry_points as native

if TYPE_CHECKING:
    from .core import Core


def refuse_weightless(core: Core, t: float, q: Floats) -> None:
    """Raise SingularError, with the name of the speed, if a speed meets no inertia at this position."""
    weakest = _weakest(core, t, q)
    if weakest >= 0:
        name = core.coordinates.u_names[weakest]
        raise SingularError(
            f"the speed {name!r} meets no inertia in this position (t = {t:.6g} s), so no acceleration follows from "
            "the loads. Give the bodies it moves some inertia in that direction, or use another hinge."
        )


def weightless_speeds(A: Floats) -> NDArray[np.bool_]:
    """Return the mask of the speeds that take part in a motion without inertia: a null vector of A."""
    if not len(A) or not np.all(np.isfinite(A)):
        return np.zeros(len(A), dtype=bool)
    values, vectors = np.linalg.eigh(_scaled(A))
    return np.asarray(np.any(np.abs(vectors[:, values <= 1e-13 * values[-1]]) > 1e-6, axis=1))


def _scaled(A: Floats) -> Floats:
    """Return A with ones on its diagonal, so that light parts beside heavy ones count; zeros stay."""
    inertia = np.diag(A)
    root = np.sqrt(np.where(inertia > 1e-24 * np.max(inertia, initial=0.0), inertia, 1.0))
    return np.asarray(A / root / root[:, None])


def _weakest(core: Core, t: float, q: Floats) -> int:
    """Return the free speed, in the public order, that meets no inertia at this position, or -1.

    What chords hold needs no inertia of its own.
    """
    free = np.flatnonzero(core.free_speeds())
    A = core.inertia(t, q)[np.ix_(free, free)]
    if not len(free) or not np.all(np.isfinite(A)):
        return -1
    values, vectors = np.linalg.eigh(_scaled(A))
    return -1 if values[0] > 1e-13 * values[-1] else int(free[np.argmax(np.abs(vectors[:, 0]))])


def speed_without_inertia(core: Core, q: Floats) -> tuple[int, int] | None:
    """Return (body, column) of a free speed that meets no inertia at q, or None."""
    if core.loops is not None and len(core.loops.plan.added_row):
        weakest = _weakest(core, 0.0, q)
        regular = np.flatnonzero(core.layout.plan.dof[:, speed.PUBLIC] == weakest).tolist()
        return next(
            (
                (int(owner), int(column))
                for owner, column in core.layout.plan.dof[regular][:, [speed.OWNER, speed.COLUMN]]
            ),
            None,
        )
    y = np.concatenate((q, np.zeros(core.nu), core.layout.efforts.start))
    dy = np.zeros(len(y))
    with core.unloaded(), core.guard() as failure:  # the entry a simulation needs anyway
        status = native.entry("rhs")(0.0, address(y), address(dy), core.context_address)
    if status != OK:
        core.fail(status, 0.0, failure)
    plan, W, S = core.layout.plan, core.work.body, core.work.speed
    arms = np.abs(
        plan.constants[:, [*range(body.PLACE_P, body.PLACE_P + 3), *range(body.COM, body.COM + 3)]]
    ).max(axis=1)
    totals = np.array([[b.mass, float(np.trace(b.inertia))] for b in core.tree.bodies])
    for i in range(core.rows - 1, 0, -1):  # subtree: mass, inertia, largest arm
        parent = core.tree.parent[i]
        totals[parent] += totals[i]
        if parent > 0:
            arms[parent] = max(arms[parent], arms[i])
    for i in range(core.rows - 1, 0, -1):  # tips first: a pivot of zero makes all later pivots useless
        entry = plan.body[i]
        scale = (
            totals[i, 0] * max(arms[i] ** 2, 1.0 if entry[body.KIND] == body.PRISMATIC else 0.0)
            + totals[i, 1]
        )
        weak = _weak_direction(S, int(entry[body.DOF]), int(entry[body.N_FREE]))
        if weak is not None and entry[body.KIND] not in (body.REVOLUTE, body.PRISMATIC):
            return i, int(plan.dof[weak, speed.COLUMN])
        for d in range(entry[body.DOF], entry[body.DOF] + entry[body.N_FREE]):
            one = entry[body.KIND] in (body.REVOLUTE, body.PRISMATIC)
            with np.errstate(divide="ignore"):
                pivot = 1.0 / W[i, body.D_INV] if one else S[d, speed.PIVOT]
            if not pivot > 1e-13 * scale:
                return i, int(plan.dof[d, speed.COLUMN])
    return None


def _weak_direction(S: Floats, first: int, count: int) -> int | None:
    """Return the speed with the largest part in a direction of a hinge that meets no inertia, or None.

    The last pivot of such a hinge is rounding divided by the pivots before it, which may be small. The smallest
    eigenvalue of the inertias L D L^T, each relative to its own speed, is rounding alone.
    """
    if count < 2:
        return None
    own = S[first : first + count]
    L = np.tril(own[:, speed.FACTOR : speed.FACTOR + count], -1) + np.eye(count)
    D = (L * own[:, speed.PIVOT]) @ L.T
    size = np.sqrt(np.abs(np.diag(D)))
    if not np.all(np.isfinite(D)) or not np.all(size > 0.0):
        return None  # the pivots tell
    values, vectors = np.linalg.eigh(D / np.outer(size, size))
    return first + int(np.argmax(np.abs(vectors[:, 0]))) if values[0] < 3e-15 else None
