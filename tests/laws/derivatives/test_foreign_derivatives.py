"""Derivatives of closed chains made of somebody else's elements: hinge, spring, constraint and coupling from this file."""

from dataclasses import dataclass
from math import cos, sin, sqrt

import numpy as np
import pytest

import treemech as tm
from tests.dynamics.analyses.test_derivatives import agrees, along
from treemech.kinematics.manifold import move


@dataclass(frozen=True)
class Cam(tm.Hinge):
    """Turns about z while it is shifted along a curve; only its pose is written."""

    lift: float
    n_coordinates = 1

    def pose(self, q, t, offset, rotation):
        offset[0] = self.lift * sin(2.0 * q[0])
        offset[2] = self.lift * q[0] * q[0]
        rotation[0, 0] = cos(q[0])
        rotation[0, 1] = -sin(q[0])
        rotation[1, 0] = sin(q[0])
        rotation[1, 1] = cos(q[0])


@dataclass(frozen=True)
class Hardening(tm.Energetic):
    """A spring whose force grows with the cube of its stretch, by its deformation."""

    stiffness: float
    length: float
    n_deformations = 1

    def deformation(self, position, rotation, t, eps):
        s = 0.0
        for k in range(3):
            s += (position[1, k] - position[0, k]) ** 2
        eps[0] = sqrt(s) - self.length

    def effort(self, now, t, out):
        e = now.deformation[0]
        out.effort[0] = self.stiffness * (e + 3.0 * e * e * e) + 0.2 * now.rate[0]


@dataclass(frozen=True)
class OnEgg(tm.Constraint):
    """A point of b on an egg about a; only its residual is written."""

    size: float
    n_holonomic = 1

    def residual(self, offset, rotation, s, t, f):
        x, y, z = offset[0], offset[1], offset[2]
        f[0] = x * x + 0.7 * y * y + 0.5 * z * z + 0.2 * x * z - self.size * self.size


@dataclass(frozen=True)
class Bent(tm.Coupling):
    """Two coordinates that follow each other along a curve."""

    ratio: float
    n_arguments = 2

    def residual(self, q, t, f):
        f[0] = q[0] - self.ratio * sin(q[1]) - 0.1 * q[1] * q[1]


def machine(cam):
    """Return a loop with a cam, cut or as a branch, a spring, a point on an egg, a coupling."""
    system = tm.System("foreign", gravity=(0.4, -0.3, -9.81))
    bodies = [
        system.body(f"b{k}", 1.0 + 0.3 * k, (0.1, 0.2 + 0.02 * k, 0.25), com=(0.2, 0.05, 0.1 * k))
        for k in range(5)
    ]
    system.connect("A", tm.Revolute("z"), system.ground, bodies[0])
    system.connect("B", tm.Ball(), bodies[0].at((0.5, 0.1, 0)), bodies[1])
    system.connect("cam", Cam(0.15), bodies[2].at((0.1, 0.2, 0.3)), bodies[1].at((0.4, 0, 0.1)), role=cam)
    system.connect("D", tm.Ball(), system.ground.at((0.9, 0.2, 0.1)), bodies[2])
    system.connect("E", Cam(0.1), bodies[0].at((0.2, 0, 0.2)), bodies[3])
    system.connect("F", tm.Universal(), bodies[3].at((0.3, 0, 0.1)), bodies[4])
    system.connect("spring", Hardening(8.0, 0.3), bodies[1].at((0.1, 0.2, 0)), bodies[4].at((0.2, 0, 0)))
    system.connect("egg", OnEgg(0.8), system.ground, bodies[4].at((0.4, 0.1, 0)))
    system.couple("bent", Bent(0.6), "A", "E")
    return system.build()


@pytest.mark.parametrize("cam", ["chord", "branch"])
def test_foreign_elements_in_a_closed_chain(cam):
    mech = machine(cam)
    assert ("cam" in [c.name for c in mech.tree.chords]) == (cam == "chord")
    still = mech.assemble(guess={"A": 0.2, "E": 0.3, "F": [0.3, -0.2]})
    rng = np.random.default_rng(1)
    N = np.linalg.svd(mech.constraints(still).partials)[2][
        np.linalg.matrix_rank(mech.constraints(still).partials) :
    ]
    state = mech.state(
        still.t,
        {
            **{c.name: still.q[c.q_slice] for c in mech._lagrange.hinges},
            **{n: q for n, (q, _) in still.cut.items() if len(q)},
        },
        N.T @ rng.normal(size=len(N)),
    )
    found, n, core = mech.derivatives(state), mech.nu, mech._core
    chosen = core.loops.kept[core.loops.work.masked[: core.loops.n_kept] == 0]
    mech.constraints(state)
    near, pivot = core.chord_work.q.copy(), core.chord_work.pivot.copy()

    def solution(d):
        core.chord_work.q[:], core.chord_work.pivot[:] = near, pivot
        q = move(mech._lagrange, state.q, d[:n])
        now, A = (
            core.constraints(state.t, q, state.u + d[n : 2 * n], loaded=True),
            core.mass_matrix(state.t, q),
        )
        P = now.partials[chosen]
        K = np.block([[A, -P.T], [P, np.zeros((len(P), len(P)))]])
        return np.linalg.solve(K, np.concatenate((d[2 * n :] - now.loads, -now.bias[chosen])))

    want = along(solution, 3 * n)
    assert agrees(np.hstack((found.ud_q, found.ud_u, found.ud_load)), want[:n])
    of = np.hstack((found.multipliers_q, found.multipliers_u, found.multipliers_load))
    assert agrees(of[chosen], want[n:])
    small = mech.linearize(state)
    assert len(small.eigenvalues) == 2 * len(N)
