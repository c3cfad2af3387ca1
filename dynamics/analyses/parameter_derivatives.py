"""Derivatives of the equations of motion by parameters of the model (implicit function theorem).

d ud / dp and d lambda / dp follow from the equations A ud - Q - P^T lambda = 0 and P ud + P00 = 0,
differentiated by p at fixed q, u, ud, lambda: the same matrix as for any other derivative, with another right
side. This right side is exact if all elements have derivatives: the equations run once on dual numbers, from
the derivatives of the model's numbers (dual_model). Otherwise it is a central difference of sixth order
between whole models. Masses and inertias enter the equations linearly, lengths as polynomials of low degree,
so a step (0.05 % of the value) leaves only rounding, about 1e-12 of the terms.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import NamedTuple, Protocol

import numpy as np

from treemech.kinematics.plan.arrays import REACTIONS
from treemech.kinematics.plan.columns import chord, row, speed
from treemech.topology.arrays import Floats

from ..model.core import Core
from ..model.reaction_dependent import ReactionDependent
from .displacement import Motion, magnitude, moved

STEP = 5e-4
CENTRAL = (-3, -2, -1, 1, 2, 3)
AHEAD = (0, 1, 2, 3, 4, 5, 6)


class Equations(NamedTuple):
    """Residual of the equations, rates of element states, prescribed motion and loads of chords.

    Given are q, u, x, ud and multipliers. The same class holds the derivatives of all this by a parameter.
    """

    loads: Floats  # (nu,) A ud - Q - P^T lambda
    bias: Floats  # (m,) P ud + P00
    x_rates: Floats  # (nx,)
    position: Floats  # (m,) f, zero for rows that restrict rates only
    velocity: Floats  # (m,) P u + P0
    prescribed: Floats  # (3, nu) prescribed displacements, speeds, accelerations; zero elsewhere
    chord_loads: Floats  # (chords, 6) force and moment on the body of end b, at that end


class Direction(Protocol):
    """Parameter of one model, along which its equations are differentiated."""

    def equations(
        self, t: float, q: Floats, u: Floats, ud: Floats, multipliers: Floats, s: Floats | None = None
    ) -> Equations:
        """Return the derivatives of the residual at the state that the core evaluated last.

        They include the derivatives along s if it is given.
        """


class Stencil:
    """One model with several values of a parameter: the weighted sum of any result is its derivative."""

    def __init__(self, leader: Core, cores: tuple[Core, ...], weights: Floats) -> None:
        self.leader, self.cores, self.weights = leader, cores, weights

    def equations(
        self, t: float, q: Floats, u: Floats, ud: Floats, multipliers: Floats, s: Floats | None = None
    ) -> Equations:
        leader = self.leader
        here = Motion(
            np.array([t]), q[None], u[None], leader.work.z[None].copy(), leader.chord_work.q[None].copy()
        )
        found = self._sum(self.weights, [residual(c, here, ud, multipliers, leader) for c in self.cores])
        if s is None:
            return found
        step = STEP / magnitude(leader, s[None], here)
        there = [moved(leader, here, k * step * s[None]) for k in CENTRAL]
        along = self._sum(
            weights(CENTRAL) / step, [residual(leader, x, ud, multipliers, leader) for x in there]
        )
        residual(leader, here, ud, multipliers, leader)
        return Equations(*(a + b for a, b in zip(found, along, strict=True)))

    @staticmethod
    def _sum(weights: Floats, each: list[Equations]) -> Equations:
        return Equations(*(sum_of(weights, part) for part in zip(*each, strict=True)))


def residual(core: Core, y: Motion, ud: Floats, multipliers: Floats, leader: Core) -> Equations:
    """Return the residual of one model at one state, with the rows and near the cut hinges of the leader."""
    t, q, u, given = float(y.t[0]), y.q[0], y.u[0], ud.copy()
    prescribed = np.zeros((3, core.nu))
    for entry in core.layout.plan.prescribed:
        prescribed[:, entry[speed.PRESCRIBED_U]] = core.layout.signals[entry[speed.PRESCRIBED_SIGNAL]].at(t)
        given[entry[speed.PRESCRIBED_U]] = prescribed[2, entry[speed.PRESCRIBED_U]]
    core.work.z[:] = y.z[0]
    if core is not leader:
        core.work.point[:], core.work.effort_records[:] = leader.work.point, leader.work.effort_records
    none = np.zeros(0)
    if core.loops is None:
        loads = core.inverse_dynamics(np.array([t]), q[None], u[None], given[None])[0]
        x_rates = core.work.zd[: core.nx].copy()
        return Equations(loads, none, x_rates, none, none, prescribed, np.zeros((0, 6)))
    core.chord_work.q[:], core.chord_work.pivot[:] = y.cut[0], leader.chord_work.pivot
    with ReactionDependent(core).held():
        now = core.constraints(t, q, u, given, loaded=True)
    return Equations(
        now.loads - now.partials.T @ multipliers,
        now.bias,
        core.work.zd[: core.nx].copy(),
        now.residual * ~core.layout.chords.nonholonomic,
        now.velocity,
        prescribed,
        loads_of_chords(core, core.chord_work.row, multipliers),
    )


def loads_of_chords(core: Core, rows: Floats, multipliers: Floats) -> Floats:
    """Return the loads (chords, 6) from the wrenches in the rows.

    They are zero in models without reaction-dependent elements.
    """
    found = np.zeros((len(core.layout.chords.names), 6))
    if not core.context[REACTIONS]:
        return found
    for load, plan_chord in zip(found, core.layout.chords.plan.chord, strict=True):
        own = slice(plan_chord[chord.FIRST_ROW], plan_chord[chord.FIRST_ROW] + plan_chord[chord.N_ROWS])
        load[:] = multipliers[own] @ rows[own, row.F : row.F + 6]
    return found


def equations_by_parameters(
    core: Core,
    directions: Sequence[Direction],
    t: float,
    q: Floats,
    u: Floats,
    ud: Floats,
    multipliers: Floats,
) -> Equations:
    """Return the derivatives of the residual, one column (last index) for every parameter."""
    each = [x.equations(t, q, u, ud, multipliers) for x in directions]
    if not each:
        m, chords = len(core.layout.chords.rows), len(core.layout.chords.names)
        shapes = ((core.nu,), (m,), (core.nx,), (m,), (m,), (3, core.nu), (chords, 6))
        return Equations(*(np.zeros((*shape, 0)) for shape in shapes))
    parts = (np.array(part) for part in zip(*each, strict=True))
    return Equations(*(part.transpose(*range(1, part.ndim), 0) for part in parts))


def weights(nodes: tuple[int, ...]) -> Floats:
    """Return the weights of values at the nodes for the derivative at 0.

    It is exact for polynomials of a degree below the number of nodes.

    >>> (60 * weights(CENTRAL)).round(9).tolist()
    [-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]
    """
    found = []
    for x in nodes:  # derivative at 0 of the polynomial that is 1 at x and 0 at the other nodes, in integers
        others = [y for y in nodes if y != x]
        slope = sum(prod(-y for y in others if y != left) for left in others)
        found.append(float(Fraction(slope, prod(x - y for y in others))))
    return np.array(found)


def sum_of(weights: Floats, values: tuple[Floats, ...]) -> Floats:
    """Return the weighted sum of differences to the middle value, exactly zero if all values are equal."""
    middle = values[len(values) // 2]
    return np.asarray(np.tensordot(weights, np.array([v - middle for v in values]), axes=1))
