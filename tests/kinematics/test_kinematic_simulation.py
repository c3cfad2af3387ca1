"""KSP on constraints written by hand: branches, singular positions, lock-up, nonholonomic rows."""

from dataclasses import dataclass
from math import asin, cos, pi, sin

import numpy as np
import pytest

import treemech as tm
from treemech.kinematics.kinematic_simulation import Drive, Kinematics


@dataclass
class Rows:
    residual: np.ndarray
    partials: np.ndarray
    velocity: np.ndarray
    bias: np.ndarray


def coordinates(*hinges):
    """Return the Lagrange coordinates of a chain of hinges."""
    system, last = tm.System(), None
    for k, hinge in enumerate(hinges):
        body = system.body(f"b{k}", 1.0, (1, 1, 1))
        system.connect(f"h{k}", hinge, last or system.ground, body)
        last = body
    return system.build()._lagrange


def rod(length):
    """Haug's slider on a rod (ex. 3.7.3): f = (q - cos t)^2 + sin^2 t - l^2, one unknown, driven by time itself."""

    def constraints(t, q, u, ud):
        (x,), (v,), (a,) = q, u, ud
        P, P0 = 2 * (x - cos(t)), 2 * x * sin(t)
        P00 = 2 * (v + sin(t)) * v + 2 * v * sin(t) + 2 * x * cos(t)
        f = (x - cos(t)) ** 2 + sin(t) ** 2 - length**2
        return Rows(np.array([f]), np.array([[P]]), np.array([P * v + P0]), np.array([P * a + P00]))

    none = np.zeros(1, dtype=bool)
    return Kinematics(coordinates(tm.Prismatic("x")), constraints, [("rod", 0)], none, (), (), 1.0)


def test_positions_velocities_and_accelerations_of_haugs_table():
    times = np.array([0.0, 0.4, 0.45, 0.5, 0.52, 0.523, 0.5235])
    found = rod(0.5).trajectory(times, np.array([1.5]))
    table = [  # recomputed (prob. 3.7.3)
        (1.234674, -1.533113, -7.313469), (1.147034, -2.023305, -13.652287), (1.019537, -3.443296, -66.56633),
        (0.923588, -8.228878, -1081.944), (0.889092, -19.50491, -15887.62), (0.875323, -47.31365, -237011.6),
    ]  # fmt: skip
    got = np.hstack((found.q, found.u, found.ud))[1:]
    assert np.max(np.abs(got / np.array(table) - 1.0)) < 1e-6
    c = np.cos(times)
    root = np.sqrt(c**2 + 0.25 - 1.0)
    assert np.max(np.abs(found.q[:, 0] - c - root)) < 1e-13
    rates = -np.sin(times) * (1 + c / root)
    assert np.max(np.abs(found.u[1:, 0] / rates[1:] - 1.0)) < 1e-10


@pytest.mark.parametrize("length", [0.3, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("count", [2, 33])
def test_lock_up_is_found_where_the_rod_ends(length, count):
    times = np.linspace(0.0, 2.0, count)
    found = rod(length).trajectory(times, np.array([1.0 + length]))
    lock = asin(length)
    assert len(found.t) == np.sum(times < lock)
    assert abs(float(found.message.split("t = ")[1].split()[0]) - lock) < 1e-8
    assert "'rod' will not close" in found.message


def test_a_bifurcation_is_passed_with_continuous_velocity_at_every_grid():
    rng = np.random.default_rng(1)
    grids = [
        np.linspace(0.0, 3 * pi, 7),
        np.linspace(0.0, 3 * pi, 200),
        np.array([0.0, pi / 2, 3 * pi / 2, 6.0]),
    ]
    grids += [np.concatenate(([0.0], np.sort(rng.uniform(0.0, 9.0, 20)))) for _ in range(10)]
    for times in grids:
        found = rod(1.0).trajectory(times, np.array([2.0]))
        assert np.max(np.abs(found.q[:, 0] - 2 * np.cos(times))) < 1e-11
        assert np.max(np.abs(found.u[:, 0] + 2 * np.sin(times))) < 1e-9
        assert np.max(np.abs(found.ud[:, 0] + 2 * np.cos(times))) < 1e-6
        passed = [pi / 2 * k for k in (1, 3, 5) if pi / 2 * k < times[-1]]
        np.testing.assert_allclose([t for t, _ in found.singular], passed, atol=1e-7)


@pytest.mark.parametrize("excess", [1e-7, 1e-5, 1e-3, 1e-1])
@pytest.mark.parametrize("count", [2, 30])
def test_next_to_a_bifurcation_the_branch_is_kept_too(excess, count):
    """A rod slightly longer than the crank never reaches the singular position: it stays on its own side."""
    length, times = 1.0 + excess, np.linspace(0.0, 3.0, count)
    found = rod(length).trajectory(times, np.array([1.0 + length]))
    want = np.cos(times) + np.sqrt(np.cos(times) ** 2 + length**2 - 1.0)
    assert not found.message and not found.singular
    assert np.max(np.abs(found.q[:, 0] - want)) < 1e-11


def test_a_dead_point_is_passed_by_its_harmonic_drive():
    """x = cos a is driven as cos 2 t: the crank passes both dead points, where x does not determine it."""

    def constraints(t, q, u, ud):
        (x, a), w = q, u[1]
        P = np.array([[1.0, sin(a)]])
        return Rows(np.array([x - cos(a)]), P, P @ u, P @ ud + cos(a) * w * w)

    crank = Kinematics(
        coordinates(tm.Prismatic("x"), tm.Revolute("z")), constraints, [("pin", 0)], np.zeros(1, dtype=bool),
        [Drive(0, 0, tm.Harmonic(1.0, 2.0, pi / 2))], (), 1.0,
    )  # fmt: skip
    times = np.linspace(0.3, 5.0, 23)
    found = crank.trajectory(times, np.array([cos(0.6), 0.6]))
    assert np.max(np.abs(found.q[:, 1] - 2 * times)) < 1e-10
    assert np.max(np.abs(found.u[:, 1] - 2.0)) < 1e-7
    np.testing.assert_allclose([t for t, _ in found.singular], [pi / 2, pi, 3 * pi / 2], atol=1e-6)
    with pytest.raises(tm.SingularError, match=r"prescribing 'h0' is unsuitable.*Prescribe 'h1' instead"):
        crank.trajectory(times - 0.3, np.array([1.0, 0.0]))


def test_speeds_that_nonholonomic_rows_decide_are_integrated():
    """A skate is steered and pushed: y' = x' tan a. It carries a tilting frame with Euler parameters."""

    def constraints(t, q, u, ud):
        a, (x1, y1, a1) = q[2], u[:3]
        P = np.zeros((4, 6))
        P[0, :2] = -sin(a), cos(a)
        P[1:, 3:] = np.eye(3)  # angular velocity of the frame: (a', 0, 1), not integrable
        P[1, 2] = -1.0
        drift, bias = np.array([0.0, 0.0, 0.0, -1.0]), np.zeros(4)
        bias[0] = -(cos(a) * x1 + sin(a) * y1) * a1
        return Rows(np.zeros(4), P, P @ u + drift, P @ ud + bias)

    lagrange = coordinates(tm.Planar("z"), tm.Ball())
    drives = [Drive(0, 0, tm.Polynomial([0.0, 1.0])), Drive(2, 2, tm.Polynomial([0.0, 0.5]))]
    skate = Kinematics(
        lagrange, constraints, [("skate", k) for k in range(4)], np.ones(4, dtype=bool), drives, (), 1.0
    )
    times = np.linspace(0.0, 2.0, 9)
    found = skate.trajectory(times, np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]))
    assert np.max(np.abs(found.q[:, 1] + 2 * np.log(np.cos(0.5 * times)))) < 1e-9
    assert np.max(np.abs(found.ud[:, 1] - 0.5 / np.cos(0.5 * times) ** 2)) < 1e-9
    axis = np.array([0.5, 0.0, 1.0])  # constant: a turn about it
    angle = np.linalg.norm(axis) * times
    want = np.column_stack((np.cos(angle / 2), np.sin(angle / 2)[:, None] * axis / np.linalg.norm(axis)))
    assert np.max(np.abs(found.q[:, 3:] - want)) < 1e-9


def test_rows_that_leave_a_position_open_are_named():
    def constraints(t, q, u, ud):
        P = np.array([[1.0, 1.0, 0.0]])
        return Rows(P @ q, P, P @ u, P @ ud)

    lagrange = coordinates(tm.Prismatic("x"), tm.Prismatic("y"), tm.Revolute("z"))
    none = np.zeros(1, dtype=bool)
    one = Kinematics(
        lagrange, constraints, [("r", 0)], none, [Drive(0, 0, tm.Polynomial([0.0, 1.0]))], (), 1.0
    )
    with pytest.raises(tm.SingularError, match=r"1 degree of freedom stay open.*Prescribe 'h2'"):
        one.trajectory(np.array([0.0, 1.0]), np.zeros(3))
    both = [Drive(k, k, tm.Polynomial([0.0, 1.0])) for k in range(2)]
    with pytest.raises(tm.SingularError, match=r"prescribing 'h1' is unsuitable.*Prescribe 'h2' instead"):
        Kinematics(lagrange, constraints, [("r", 0)], none, both, (), 1.0).trajectory(
            np.array([0.0, 1.0]), np.zeros(3)
        )
