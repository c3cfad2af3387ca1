"""Find speeds that meet no inertia: the mass matrix has no inverse then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treemech.kinematics.kernel.status import OK
from treemech.kinematics.plan.columns import body, speed
from treemech.topology import SingularError
from treemech.topology.arrays import Floats, address

from ..native import entry_points as native

if TYPE_CHECKING:
    from .core import Core


def refuse_weightless(core: Core, t: float, q: Floats) -> None:
    """Raise SingularError, with the name of the speed, if a speed meets no inertia at this position."""
    free = np.flatnonzero(core.free_speeds())
    A = core.mass_matrix(t, q)[np.ix_(free, free)]
    if not len(free) or not np.all(np.isfinite(A)):
        return
    values, vectors = np.linalg.eigh(A)
    if values[0] <= 1e-13 * values[-1]:
        name = core.coordinates.u_names[free[int(np.argmax(np.abs(vectors[:, 0])))]]
        raise SingularError(
            f"the speed {name!r} meets no inertia in this position (t = {t:.6g} s), so no acceleration follows from "
            "the loads. Give the bodies it moves some inertia in that direction, or use another hinge."
        )


def speed_without_inertia(core: Core, q: Floats) -> tuple[int, int] | None:
    """Return (body, column) of a free speed that meets no inertia at q, or None."""
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
        for d in range(entry[body.DOF], entry[body.DOF] + entry[body.N_FREE]):
            one = entry[body.KIND] in (body.REVOLUTE, body.PRISMATIC)
            with np.errstate(divide="ignore"):
                pivot = 1.0 / W[i, body.D_INV] if one else S[d, speed.PIVOT]
            if not pivot > 1e-13 * scale:
                return i, int(plan.dof[d, speed.COLUMN])
    return None
