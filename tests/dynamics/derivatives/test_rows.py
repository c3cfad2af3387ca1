"""Derivatives of the constraint rows of chords of every kind, compared with differences of high order."""

from dataclasses import dataclass

import numpy as np
import pytest

import treemech as tm
from tests.dynamics.analyses.test_derivatives import agrees, along
from tests.kinematics.chords.test_element import CONSTRAINTS, COUPLINGS, WAVE, closed, hinges, two_bodies
from tests.support.models import KINDS, any_hinge, rotation
from treemech.dynamics.model.row_derivatives import row_derivatives
from treemech.dynamics.model.tree_derivatives import TreeDerivatives
from treemech.kinematics.manifold import move
from treemech.kinematics.plan.columns import row

ROUGH = 1e-6  # one forward difference of an element, 1.5e-8 long, relative to the largest entry
CUT = tuple(kind for kind in KINDS if kind != "Free")  # that has no rows
# every number of rows of it compiles anew
SLOW = ("PrescribedPose, two angles", "PrescribedPose, one angle")


def cut_hinge(kind, seed, swap):
    """Make two bodies, on a Ball hinge from end b and a Free hinge, with a chord of a kind that fits between."""
    rng = np.random.default_rng(seed)
    system, bodies = two_bodies(seed)
    a, b = bodies[::-1] if swap else bodies
    tree = system.build()
    q, t, u = np.concatenate([c.hinge.sample(rng) for c in tree._lagrange.hinges]), 0.4, rng.normal(size=9)
    hinge = any_hinge(rng, kind)
    s = hinge.sample(rng)
    motion, axes, poses, number = (
        hinge.motion(q=s, t=t),
        hinge.base(),
        tree.attitude(tree.state(t, q, u)),
        tree.tree.numbers,
    )
    (pa, Ra), (pb, Rb) = (
        (poses.position[number[x.name] - 1], poses.rotation[number[x.name] - 1]) for x in (a, b)
    )
    Ba, ba = rotation(rng), rng.uniform(-0.3, 0.3, 3)
    point, base = pa + Ra @ (ba + Ba @ axes @ motion.offset), Ra @ Ba @ axes @ motion.rotation @ axes.T
    system.connect("between", hinge, a.at(ba, Ba), b.at(Rb.T @ (point - pb), Rb.T @ base), role="chord")
    mech = system.build()
    assert [c.name for c in mech.tree.chords] == ["between"]
    mech._core.reset_chords({"between": s})
    return mech, t, q, u


def rows_and_differences(mech, t, q, u, seed=1):
    """Return derivatives (exact, rough, by differences).

    They are those of P^T lambda, P u + P0, P ud + P00 by q, of the last by u, and of the loads of chords by
    q.
    """
    core, rng, n = mech._core, np.random.default_rng(seed), mech.nu
    ud, multipliers = rng.normal(size=n), rng.normal(size=len(core.layout.chords.rows))
    core.constraints(t, q, u, ud)
    near, pivot = core.chord_work.q.copy(), core.chord_work.pivot.copy()
    spans = [(index[9], index[9] + index[10]) for index in core.layout.chords.plan.chord]

    def at(dq, du):
        core.chord_work.q[:], core.chord_work.pivot[:] = near, pivot
        now = core.constraints(t, move(mech._lagrange, q, dq), u + du, ud)
        loads = [multipliers[a:b] @ core.chord_work.row[a:b, row.F : row.F + 6] for a, b in spans]
        return np.concatenate((now.partials.T @ multipliers, now.velocity, now.bias, *loads))

    m, zero = len(multipliers), np.zeros(n)
    by_q, by_u = along(lambda x: at(x, zero), n), along(lambda x: at(zero, x), n)
    want = [by_q[:n], by_q[n : n + m], by_q[n + m : n + 2 * m], by_u[n + m : n + 2 * m], by_q[n + 2 * m :]]
    found = []
    for rough in (False, True):
        core.chord_work.q[:], core.chord_work.pivot[:] = near, pivot
        tree = TreeDerivatives(core, rough)
        tree.inverse_dynamics(t, q, u, ud)
        now = row_derivatives(core, tree, t, q, u, ud, multipliers)
        before = core.chord_work.row.copy()
        assert np.array_equal(core.chord_work.pivot, pivot) and agrees(core.chord_work.q, near, 1e-12)
        core.constraints(t, q, u, ud)
        assert agrees(before, core.chord_work.row, 1e-12)  # the work of the rows is left as it was
        found.append([now.loads_q, now.velocity_q, now.bias_q, now.bias_u, now.chord_loads_q.reshape(-1, n)])
    return *found, want


def assert_agreement(mech, t, q, u, columns=slice(None)):
    exact, rough, want = rows_and_differences(mech, t, q, u)
    for k, (a, b, w) in enumerate(zip(exact, rough, want, strict=True)):
        w = w[:, columns]
        if np.max(np.abs(w), initial=0.0) < 1e-8:  # nothing but rounding
            assert np.max(np.abs(a[:, columns]), initial=0.0) < 1e-8
            continue
        assert agrees(a[:, columns], w), k
        if k < 4:  # no integrator asks for the loads of chords
            assert agrees(b[:, columns], w, ROUGH), k


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("kind", CUT)
def test_rows_of_every_hinge_that_is_cut(kind, swap):
    mech, t, q, u = cut_hinge(kind, 4 + len(kind), swap)
    assert np.max(np.abs(mech._core.constraints(t, q, u).residual)) < 1e-12
    assert_agreement(mech, t, q, u)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in CONSTRAINTS]
)
def test_rows_of_every_constraint(name, swap):
    assert_agreement(*closed(*CONSTRAINTS[name], 2 + len(name), swap))


@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize("name", COUPLINGS)
def test_rows_of_every_coupling(name, driven):
    element, (system, names) = COUPLINGS[name], hinges(driven=driven)
    system.couple("joined", element, *names[: element.n_arguments or 3])
    mech, rng = system.build(), np.random.default_rng(5)
    t, q = 0.4, np.concatenate([c.hinge.sample(rng) for c in mech._lagrange.hinges])
    u = rng.normal(size=mech.nu)
    if driven:
        q[0], u[0], _ = WAVE.at(t)
    assert_agreement(mech, t, q, u, slice(1 if driven else 0, None))


@dataclass(frozen=True)
class Narrow(tm.Constraint):
    """Constraint that works at its position and fails beside it."""

    length: float
    n_holonomic = 1

    def residual(self, offset, rotation, s, t, f):
        if self.length + 1e-4 < offset[0] < self.length + 0.1:
            raise ValueError("outside")
        f[0] = offset[0] - self.length


@dataclass(frozen=True)
class Narrower(tm.Constraint):
    """The same constraint with an array of floats inside, so that differences are needed."""

    length: float
    n_holonomic = 1

    def evaluate(self, motion, t, rows):
        kept = np.zeros(1)
        kept[0] = motion.offset[0]
        if self.length + 1e-4 < kept[0] < self.length + 0.1:
            raise ValueError("outside")
        rows.residual[0], rows.force[0, 0] = kept[0] - self.length, 1.0


def on_a_rail(element):
    system = tm.System("rail")
    bob = system.body("bob", 1.0, (0.1, 0.1, 0.1))
    system.connect("free", tm.Free(), system.ground, bob, role="branch")
    system.connect("narrow", element, system.ground, bob)
    mech = system.build()
    state = mech.state(q={"free": [0.2, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]})
    assert mech.forward_dynamics(state).ud is not None
    return mech, state


def test_an_element_is_differentiated_where_it_is():
    mech, state = on_a_rail(Narrow(0.2))
    assert np.all(np.isfinite(mech.derivatives(state).ud_q))


def test_an_element_that_fails_beside_its_place_is_named_if_it_is_differenced():
    mech, state = on_a_rail(Narrower(0.2))
    with pytest.raises(tm.ElementError, match="'narrow'.*ValueError"):
        mech.derivatives(state)
