"""Inverse dynamics (6.3.8): loads of the drives and multipliers for given accelerations.

Where the drives do no work the motion is passive: Z^T (A ud - Q) = 0 for the rates Z that the constraints
allow and no drive moves. If fewer accelerations are given than there are freedoms, these equations decide the
others (hybrid dynamics: a driven cart, a pole that follows).
"""

from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.kernel.status import OK
from treemech.kinematics.plan.columns import chord, row
from treemech.kinematics.rank import complete, null_space, rank
from treemech.kinematics.rows import freedoms, quoted, worst_row
from treemech.topology import SingularError
from treemech.topology.arrays import Floats, addresses

from ..equations.loop_arrays import room_of_drives
from ..model.core import Core
from ..model.reaction_dependent import ReactionDependent
from ..native import entry_points as native
from .reactions import add_element_loads


def _largest(x: Floats) -> float:
    return float(np.max(np.abs(x), initial=0.0))


class DriveLoads(NamedTuple):
    """A ud = Q + P^T multipliers + loads, with loads = S actuated."""

    loads: Floats  # (nu,)
    actuated: Floats  # (k,)
    multipliers: Floats  # (m,)
    left: float  # largest part of A ud - Q that neither drives nor chords can carry
    size: float  # largest of A ud - Q


def drive_loads(required: Floats, P: Floats, S: Floats, weights: Floats) -> DriveLoads:
    """Return the smallest loads and multipliers that together give `required` = A ud - Q.

    S (nu, k): effect of every drive on the speeds. On the rates that the constraints allow, only the drives
    do work: N^T required = N^T S actuated. Smallest means the least sum of squares, times `weights` (k,).
    The compiled way decides where all ranks are clear and the drives move all freedoms; else singular values do.
    """
    root = 1.0 / np.sqrt(weights)
    actuated = _compiled(required, P, S, root)
    if actuated is None:
        N = null_space(P)
        actuated = root * (np.linalg.pinv(N.T @ S * root, rcond=1e-9) @ (N.T @ required))
    loads = S @ actuated
    multipliers = np.linalg.pinv(P.T, rcond=1e-9) @ (required - loads) if P.size else np.zeros(len(P))
    left = required - loads - P.T @ multipliers
    return DriveLoads(loads, actuated, multipliers, _largest(left), _largest(required))


def _compiled(required: Floats, P: Floats, S: Floats, root: Floats) -> Floats | None:
    """Return the smallest loads by the entry point `drive_loads`; None where it leaves them to singular values."""
    (n, k), m = S.shape, len(P)
    arrays = [np.ascontiguousarray(x, dtype=np.float64) for x in (P, S.T, root, required)]
    actuated, room = np.zeros(k), np.zeros(room_of_drives(n, m, k))
    status = native.entry("drive_loads")(n, m, k, *addresses((*arrays, actuated, room)))
    return actuated if status == OK else None


def inverse_dynamics(
    core: Core, t: float, q: Floats, u: Floats, ud: Floats, S: Floats, weights: Floats
) -> DriveLoads:
    """Return the drive loads of one state with known accelerations, also with reaction-dependent elements."""
    now, reaction_dependent = core.constraints(t, q, u, ud, loaded=True), ReactionDependent(core)
    required = now.loads
    if reaction_dependent:

        def respond(x: Floats) -> Floats:
            return drive_loads(x, now.partials, S, weights).multipliers

        required = reaction_dependent.solve_reactions(
            lambda: core.constraints(t, q, u, ud, loaded=True).loads, respond
        ).required
    return drive_loads(required, now.partials, S, weights)


def undriven(P: Floats, S: Floats) -> Floats:
    """Return orthonormal columns Z that span the rates which P allows and on which no drive does work."""
    return null_space(np.vstack((P, S.T)))


def refuse_under_actuation(P: Floats, S: Floats, chosen: list[str], names: list[str]) -> NoReturn:
    """Raise an error that names speeds which, actuated as well, move all freedoms."""
    N = null_space(P)
    missing = N.shape[1] - rank(S.T @ N, 1.0)
    k, all_names = S.shape[1], np.array(names)
    more = [j - k for j in complete(np.vstack((S.T @ N, N)), list(range(k)))]
    have = f"{quoted(np.array(chosen))} as actuated" if chosen else "nothing actuated"
    raise SingularError(
        f"inverse_dynamics: under-actuated, with {have}, {freedoms(missing)} of {N.shape[1]} cannot be driven as asked. "
        f"Actuate {quoted(all_names[more])} as well (actuated=[...], or system.prescribe), or give fewer accelerations by "
        "name: the others follow."
    )


def complete_accelerations(
    core: Core,
    t: float,
    q: Floats,
    u: Floats,
    ud: Floats,
    free: NDArray[np.bool_],
    more: Floats,
    wanted: Floats,
    Z: Floats,
) -> Floats:
    """Return ud with P ud + P00 = 0 (6.3.5) and `more` ud = `wanted`. The free entries follow.

    If these leave freedoms open, Z^T A ud = Z^T Q decides them.
    """
    now, ud = core.constraints(t, q, u, ud, loaded=Z.shape[1] > 0), ud.copy()
    rows, all_rows = core.layout.chords.rows, np.vstack((now.partials, more))
    if _largest(now.velocity) > 1e-6 * (1.0 + _largest(u)):
        name, gap = worst_row(rows, now.velocity)
        raise SingularError(
            f"the state is inconsistent: its rates open {name!r} with {gap:.3g} (m/s, rad/s). Make it with mech.assemble(...)."
        )
    largest = float(np.linalg.norm(now.partials, 2)) if now.partials.size else 0.0
    dof = int(np.sum(free)) - rank(all_rows[:, free], largest)
    gap_of = np.concatenate((now.bias, more @ ud - wanted))
    if dof and Z.shape[1]:
        passive, left = Z.T @ core.mass_matrix(t, q), Z.T @ now.loads
        size = np.linalg.norm(passive, axis=1)
        all_rows, gap_of = (
            np.vstack((all_rows, passive / size[:, None])),
            np.concatenate((gap_of, left / size)),
        )
        dof = int(np.sum(free)) - rank(all_rows[:, free], largest)
    F = all_rows[:, free]
    if dof:
        N, names = null_space(all_rows), np.array(core.coordinates.u_names)
        open_ = quoted(names[complete(N, np.flatnonzero(~free).tolist())])
        raise SingularError(f"the accelerations leave {freedoms(dof)} open: give those of {open_} as well.")
    if F.size:
        ud[free] -= np.linalg.lstsq(F, gap_of, rcond=1e-10)[0]
    left = np.concatenate((core.constraints(t, q, u, ud).bias, more @ ud - wanted))
    scale = 1.0 + _largest(ud) + _largest(now.bias)
    if _largest(left) > 1e-8 * scale:
        name, gap = worst_row([*rows, *(("a cut hinge", 0) for _ in wanted)], left)
        raise SingularError(
            f"the accelerations do not fit together: {name!r} would open with {gap:.3g} (m/s2, rad/s2). Give fewer by "
            "name, and the others follow."
        )
    return ud


def is_passive(core: Core, t: float, q: Floats, u: Floats, ud: Floats, Z: Floats) -> bool:
    """Tell whether the accelerations need no load on the rates Z, where no drive does work."""
    loads = core.constraints(t, q, u, ud, loaded=True).loads
    size = _largest(core.constraints(t, q, u, loaded=True).loads) + _largest(core.mass_matrix(t, q) @ ud)
    return _largest(Z.T @ loads) <= 1e-8 * size


def driven_results(
    core: Core, t: Floats, q: Floats, u: Floats, ud: Floats, actuated: NDArray[np.bool_]
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return the results of many states with known accelerations.

    They are (trace, loads on the speeds, multipliers, chord loads, records of elements). In a singular
    position the loads may have no finite value; they are nan there.
    """
    n, chords, S = len(t), core.layout.chords.plan.chord, np.eye(core.nu)[:, actuated]
    trace, tau = core.trace(t, q, u, ud)
    multipliers, loads = np.zeros((n, len(core.layout.chords.rows))), np.zeros((n, len(chords), 6))
    records = np.zeros((n, len(core.work.effort_records)))
    for k in range(n):
        found = inverse_dynamics(core, float(t[k]), q[k], u[k], ud[k], S, np.ones(S.shape[1]))
        records[k] = core.work.effort_records
        scale = _largest(core.mass_matrix(float(t[k]), q[k])) * _largest(u[k]) ** 2 + found.size
        if found.left > 1e-6 * scale:
            found = found._replace(loads=found.loads + np.nan, multipliers=found.multipliers + np.nan)
        tau[k], multipliers[k] = found.loads, found.multipliers
        wrench = core.chord_work.row[:, row.F : row.F + 6] * multipliers[k][:, None]
        for c, index in enumerate(chords):
            loads[k, c] = wrench[index[chord.FIRST_ROW] : index[chord.FIRST_ROW] + index[chord.N_ROWS]].sum(
                axis=0
            )
    core.carry_chord_loads(loads, trace)
    add_element_loads(core, trace, records)
    return trace, tau, multipliers, loads, records
