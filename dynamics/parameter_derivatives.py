"""Derivatives of the equations of motion by parameters of the model (implicit function theorem).

d ud / dp and d lambda / dp follow from the equations themselves, A ud - Q - P^T lambda = 0 and P ud + P00 = 0, differentiated
by p at fixed q, u, ud, lambda: the same matrix as for any other derivative, another right side. That right side is a central
difference of sixth order between whole models. Masses and inertias enter the equations linearly, lengths as polynomials
of low degree, so that a step (0.05 % of the value) leaves rounding only, about 1e-12 of the terms.
"""

from fractions import Fraction
from math import prod
from typing import NamedTuple

import numpy as np

from treemech.kinematics.plan import PRESCRIBED_SIGNAL, PRESCRIBED_U

from .core import Core, Floats

STEP = 5e-4
CENTRAL = (-3, -2, -1, 1, 2, 3)
AHEAD = (0, 1, 2, 3, 4, 5, 6)


class Stencil(NamedTuple):
    """The same model with some values of one parameter; sum of weights times anything is its derivative there."""

    cores: tuple[Core, ...]
    weights: Floats


class Equations(NamedTuple):
    """What must vanish, and the rates of states of elements, at given q, u, x, ud, multipliers."""

    loads: Floats  # (nu,) A ud - Q - P^T lambda
    bias: Floats  # (m,) P ud + P00
    x_rates: Floats  # (nx,)
    position: Floats  # (m,) f, zero for rows that restrict rates only
    velocity: Floats  # (m,) P u + P0


def weights(nodes: tuple[int, ...]) -> Floats:
    """Of values at the nodes, for the derivative at 0; exact for polynomials up to the number of nodes less one.

    >>> (60 * weights(CENTRAL)).round(9).tolist()
    [-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]
    """
    found = []
    for x in nodes:  # slope at 0 of the polynomial that is 1 at x and 0 at the other nodes, in whole numbers
        others = [y for y in nodes if y != x]
        slope = sum(prod(-y for y in others if y != left) for left in others)
        found.append(float(Fraction(slope, prod(x - y for y in others))))
    return np.array(found)


def equations(
    core: Core, t: float, q: Floats, u: Floats, z: Floats, ud: Floats, multipliers: Floats, leader: Core
) -> Equations:
    """Residual of the equations of one model; cut hinges next to those of the leader, rows chosen as there."""
    given = ud.copy()
    for row in core.layout.plan.prescribed:
        given[row[PRESCRIBED_U]] = core.layout.signals[row[PRESCRIBED_SIGNAL]].at(t).acceleration
    core.work.z[:], core.work.point[:] = z, leader.work.point
    none = np.zeros(0)
    if core.loops is None:
        loads = core.inverse_dynamics(np.array([t]), q[None], u[None], given[None])[0]
        return Equations(loads, none, core.work.zd[: core.nx].copy(), none, none)
    core.chord_work.q[:], core.chord_work.pivot[:] = leader.chord_work.q, leader.chord_work.pivot
    now = core.constraints(t, q, u, given)
    return Equations(
        now.loads - now.partials.T @ multipliers,
        now.bias,
        core.work.zd[: core.nx].copy(),
        now.residual * ~core.layout.chords.nonholonomic,
        now.velocity,
    )


def equations_by_parameters(
    core: Core, stencils: tuple[Stencil, ...], t: float, q: Floats, u: Floats, ud: Floats, multipliers: Floats
) -> Equations:
    """The derivatives of the residual, one column for every parameter."""
    z = core.work.z.copy()
    columns = []
    for stencil in stencils:
        each = [equations(c, t, q, u, z, ud, multipliers, core) for c in stencil.cores]
        columns.append([sum_of(stencil.weights, part) for part in zip(*each, strict=True)])
    if not columns:
        m = 0 if core.loops is None else core.loops.n_rows
        return Equations(*(np.zeros((n, 0)) for n in (core.nu, m, core.nx, m, m)))
    return Equations(*(np.array(part).T.reshape(-1, len(stencils)) for part in zip(*columns, strict=True)))


def prescribed_motion(core: Core, stencils: tuple[Stencil, ...], t: float) -> Floats:
    """(3, nu, np): derivatives of prescribed displacements, speeds and accelerations by the parameters."""
    found = np.zeros((3, core.nu, len(stencils)))
    for row in core.layout.plan.prescribed:
        for j, stencil in enumerate(stencils):
            signals = (c.layout.signals[row[PRESCRIBED_SIGNAL]] for c in stencil.cores)
            found[:, row[PRESCRIBED_U], j] = sum_of(
                stencil.weights, tuple(np.array(s.at(t)) for s in signals)
            )
    return found


def prescribed_accelerations(core: Core, stencils: tuple[Stencil, ...], t: float) -> Floats:
    """(nu, np) of ud."""
    found: Floats = prescribed_motion(core, stencils, t)[2]
    return found


def sum_of(weights: Floats, values: tuple[Floats, ...]) -> Floats:
    """Differences to the middle first, so that what does not depend on the parameter stays zero."""
    middle = values[len(values) // 2]
    return np.asarray(np.tensordot(weights, np.array([v - middle for v in values]), axes=1))
