"""Accelerations under many columns of loads: they solve A X = -B, and A^-1 is that of A."""

import numpy as np
import pytest

import treemech as tm
from treemech.benchmarks.families.trees import FAMILIES, random_states, random_tree
from treemech.dynamics.derivatives import layout
from treemech.dynamics.model.tree_derivatives import TreeDerivatives

# Backward error of one equation, relative to its terms. About one reference point lever arms of up to 30 links add
# to the 1e-16 of an operation.
BACKWARD = 1e-12

HINGES = (tm.Revolute, tm.Prismatic, tm.Ball, tm.Universal, tm.Cylindrical, tm.Rigid, tm.Free, tm.Planar)


def several_branches(seed):
    """Return a tree with many short and long branches, several of them on the ground, and all sorts of hinges."""
    rng = np.random.default_rng(seed)
    parents = [int(rng.integers(-1, k)) if rng.random() < 0.5 else k - 1 for k in range(24)]
    return random_tree("branches", parents, lambda k: HINGES[int(rng.integers(len(HINGES)))](), seed)


def with_springs(seed):
    """Return such a tree with springs between bodies of different branches: columns far from the rows of their body."""
    system = several_branches(seed)
    bodies = [body for body in system.bodies if body is not system.ground]
    for k in range(0, 20, 4):
        system.connect(f"s{k}", tm.Spring(40.0, damping=2.0), bodies[k], bodies[23 - k])
    return system


def prescribed(seed):
    """Return such a tree with some coordinates prescribed."""
    system = several_branches(seed)
    names = [
        c.name for c in system.connections.values() if isinstance(c.element, tm.Revolute | tm.Cylindrical)
    ]
    for name in names[::2]:
        system.prescribe(name, tm.Polynomial([0.3, 0.2, 0.7]))
    return system


def backward_error(A, X, B):
    """Return the largest error of an equation A X + B = 0, relative to the largest terms in its row."""
    terms = np.max(np.abs(A) @ np.abs(X) + np.abs(B), axis=1)
    return np.max(np.max(np.abs(A @ X + B), axis=1) / terms)


def solved(mech, q, u):
    """Return (X, A^-1, A, B) of the free speeds: X by the sweeps, A and B without them."""
    own = TreeDerivatives(mech._core)
    ud, *by, inverse = own.forward(0.0, q, u)
    *loads, A = own.inverse_dynamics(0.0, q, u, ud)
    return np.hstack(by), inverse, A, np.hstack(loads)


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "chain 300"])
def test_families(family):
    mech = FAMILIES[family]().build()
    q, u, _ = random_states(mech, 1)
    X, inverse, A, B = solved(mech, q[0], u[0])
    assert backward_error(A, X, B) < BACKWARD
    assert backward_error(A, inverse, -np.eye(mech.nu)) < BACKWARD
    assert np.array_equal(inverse, inverse.T)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("model", [several_branches, with_springs])
def test_branches_and_elements_between_them(model, seed):
    mech = model(seed).build()
    q, u, _ = random_states(mech, 1, seed)
    X, inverse, A, B = solved(mech, q[0], u[0])
    assert backward_error(A, X, B) < BACKWARD
    assert backward_error(A, inverse, -np.eye(mech.nu)) < BACKWARD


def test_prescribed_speeds_have_no_rows():
    mech = prescribed(1).build()
    q, u, _ = random_states(mech, 1, 1)
    X, inverse, A, B = solved(mech, q[0], u[0])
    free = np.setdiff1d(np.arange(mech.nu), mech._core.layout.plan.prescribed[:, 1])
    rest = np.setdiff1d(np.arange(mech.nu), free)
    assert len(rest) and not X[rest].any() and not inverse[rest].any() and not inverse[:, rest].any()
    assert backward_error(A[np.ix_(free, free)], X[free], B[free]) < BACKWARD
    assert backward_error(A[np.ix_(free, free)], inverse[np.ix_(free, free)], -np.eye(len(free))) < BACKWARD


def test_blocks_of_columns_do_not_matter():
    """A hinge with several speeds across the edge of a block, and more columns than one block."""
    n = layout.WIDTH // 3 + 9
    mech = random_tree("balls", range(-1, n - 1), lambda k: tm.Ball(), 3).build()
    q, u, _ = random_states(mech, 1)
    X, inverse, A, B = solved(mech, q[0], u[0])
    assert mech.nu > layout.WIDTH and layout.WIDTH % 3
    assert backward_error(A, X, B) < BACKWARD
    assert backward_error(A, inverse, -np.eye(mech.nu)) < BACKWARD
