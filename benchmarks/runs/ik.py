"""Inverse kinematics: success and time, beside the iteration of Pinocchio's documentation in the same run.

`python -m treemech.benchmarks ik`. Random poses of an arm with seven axes, all of them reachable within its limits, from one start; then a delta
robot and a Stewart platform, closed chains that this iteration cannot do. Times are of one call, CPU time.
"""

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import treemech as tm

from ..problems.robots import delta_robot, stewart_platform
from ..timing import cpu_seconds

LIMIT = 2.8  # [rad] of all axes
# Place of every axis on the link before (Bryant angles), along z: shoulder, elbow and wrist with an offset
AXES = [
    ((0, 0, 0.34), (0, 0, 0)),
    ((0, 0, 0), (-np.pi / 2, 0, 0)),
    ((0, -0.20, 0), (np.pi / 2, 0, 0)),
    ((0.03, 0, 0.20), (np.pi / 2, 0, 0)),
    ((0, 0.19, 0), (-np.pi / 2, 0, 0)),
    ((0, 0, 0.21), (-np.pi / 2, 0, 0)),
    ((0.02, 0, 0), (np.pi / 2, 0, 0)),
]
TOOL = (0.0, 0.0, 0.126)
EPS, MOST, DT, DAMPING = 1e-4, 1000, 1e-1, 1e-12  # of Pinocchio's documentation
STARTS = 48


class Row(NamedTuple):
    """What one way of solving did on all targets."""

    name: str
    reached: float  # part of the targets
    within: float  # part of those reached that keep the limits
    median: float  # [s]
    mean: float
    gap: float  # [m] largest of those reached


def rotation(angles: Any) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_euler("XYZ", angles).as_matrix())


def arm() -> tm.Mechanism:
    """Return the arm with its limits and its tool."""
    system = tm.System("arm with seven axes")
    last = system.ground
    for k, (at, angles) in enumerate(AXES):
        link = system.body(f"link {k}", 1.0, (0.01, 0.01, 0.01))
        system.connect(f"axis {k}", tm.Revolute("z"), last.at(at, rotation(angles)), link)
        system.limit(f"axis {k}", -LIMIT, LIMIT)
        last = link
    system.frame("tool", last.at(TOOL))
    return system.build()


class Pinocchio:
    """The same arm, and the damped least-squares iteration of Pinocchio's documentation."""

    def __init__(self) -> None:
        import pinocchio as pin

        self.pin, self.model = pin, pin.Model()
        joint = 0
        for k, (at, angles) in enumerate(AXES):
            placement = pin.SE3(rotation(angles), np.array(at, dtype=float))
            joint = self.model.addJoint(joint, pin.JointModelRZ(), placement, f"axis {k}")
        place = pin.SE3(np.eye(3), np.array(TOOL))
        frame = pin.Frame("tool", joint, 0, place, pin.FrameType.OP_FRAME)
        self.tool = self.model.addFrame(frame)
        self.data = self.model.createData()

    def pose(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the pose of the tool."""
        self.pin.framesForwardKinematics(self.model, self.data, q)
        return self.data.oMf[self.tool].translation.copy(), self.data.oMf[self.tool].rotation.copy()

    def solve(self, target: tuple[np.ndarray, np.ndarray], q: np.ndarray) -> np.ndarray | None:
        """Return coordinates that reach the target, or None after all iterations."""
        pin, model, data, tool = self.pin, self.model, self.data, self.tool
        wanted = pin.SE3(target[1], target[0])
        for _ in range(MOST):
            pin.framesForwardKinematics(model, data, q)
            left = data.oMf[tool].actInv(wanted)
            error = pin.log(left).vector
            if np.linalg.norm(error) < EPS:
                return q
            J = -pin.Jlog6(left.inverse()) @ pin.computeFrameJacobian(model, data, q, tool)
            rate = -J.T @ np.linalg.solve(J @ J.T + DAMPING * np.eye(6), error)
            q = pin.integrate(model, q, rate * DT)
        return None

    def solve_from_many(self, target: tuple[np.ndarray, np.ndarray], q: np.ndarray) -> np.ndarray | None:
        """Return coordinates that reach the target from any of as many starts as ours has."""
        rng = np.random.default_rng(0)
        for _ in range(STARTS):
            found = self.solve(target, q)
            if found is not None:
                return found
            q = rng.uniform(-LIMIT, LIMIT, len(AXES))
        return None


def row(
    name: str, solve: Callable[[Any], Any], check: Callable[[Any, Any], tuple[float, bool]], targets: Any
) -> Row:
    """Solve for all targets; `check` returns (gap, whether limits are kept) of what was found."""
    times, gaps, within = [], [], []
    solve(targets[0])
    for target in targets:
        kept: list[Any] = []
        times.append(cpu_seconds(lambda target=target, kept=kept: kept.append(solve(target))))  # type: ignore[misc]
        if kept[0] is not None:
            gap, inside = check(kept[0], target)
            gaps.append(gap)
            within.append(inside)
    part = float(np.mean(within)) if within else 0.0
    return Row(
        name,
        len(gaps) / len(targets),
        part,
        float(np.median(times)),
        float(np.mean(times)),
        max(gaps, default=np.nan),
    )


def arms(count: int) -> list[Row]:
    """Compare on random poses of the arm."""
    mech, rng = arm(), np.random.default_rng(0)
    end, start = mech._wiring.frames["tool"], np.full(len(AXES), 0.1)
    first, number = mech.state(q=start), mech.tree.numbers["link 6"] - 1

    def pose(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = mech.attitude(mech.state(q=q))
        return z.position[number] + z.rotation[number] @ end.offset, z.rotation[number]

    def check(q: np.ndarray, target: Any) -> tuple[float, bool]:
        return float(np.linalg.norm(pose(q)[0] - target[0])), bool(np.all(np.abs(q) <= LIMIT + 1e-9))

    def ours(**options: Any) -> Callable[[Any], Any]:
        def solve(target: Any) -> Any:
            found = mech.inverse_kinematics({"tool": target}, first, **options)
            return found.q if found.success else None

        return solve

    targets = [pose(q) for q in rng.uniform(-LIMIT, LIMIT, (count, len(AXES)))]
    rows = [
        row("treemech", ours(), check, targets),
        row("treemech, without limits", ours(limits=False), check, targets),
        row("treemech, one start", ours(attempts=1), check, targets),
    ]
    try:
        peer = Pinocchio()
    except ImportError:
        print("Pinocchio is not installed: its rows are left out (pip install pin).")
        return rows
    q = rng.uniform(-LIMIT, LIMIT, len(AXES))
    assert np.allclose(peer.pose(q)[0], pose(q)[0]) and np.allclose(peer.pose(q)[1], pose(q)[1])
    rows.append(row("Pinocchio's documentation, no limits", lambda x: peer.solve(x, start), check, targets))
    rows.append(row(f"the same, {STARTS} starts", lambda x: peer.solve_from_many(x, start), check, targets))
    return rows


def chains(count: int) -> list[Row]:
    """Measure a delta robot and a Stewart platform on random poses of their plates."""
    rows, rng = [], np.random.default_rng(1)
    delta, platform = delta_robot.system(False).build(), stewart_platform.system("free").build()
    places = rng.uniform((-0.1, -0.1, -0.6), (0.1, 0.1, -0.4), (count, 3))
    middle = np.array([0.0, 0.0, stewart_platform.HEIGHT])
    poses = [
        (middle + rng.uniform(-0.15, 0.15, 3), rotation(rng.uniform(-0.25, 0.25, 3))) for _ in range(count)
    ]
    for name, mech, targets in (("delta robot", delta, list(places)), ("Stewart platform", platform, poses)):
        start = mech.assemble()

        def solve(target: Any, mech: tm.Mechanism = mech, start: tm.State = start) -> Any:
            found = mech.inverse_kinematics({"plate": target}, start)
            return found if found.success else None

        def check(found: Any, target: Any, mech: tm.Mechanism = mech) -> tuple[float, bool]:
            opened = float(np.max(np.abs(mech.constraints(found.state).residual)))
            return max(found.gaps["plate"].distance, opened), True

        rows.append(row(name, solve, check, targets))
    return rows


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="treemech.benchmarks ik", description=__doc__)
    parser.add_argument("--targets", type=int, default=1000, help="random poses of the arm")
    parser.add_argument("--closed", type=int, default=100, help="random poses of each closed chain")
    given = parser.parse_args(argv)
    print(f"{'':38s}{'reached':>9s}{'in limits':>11s}{'median':>11s}{'mean':>11s}{'largest gap':>13s}")
    for one in (*arms(given.targets), *chains(given.closed)):
        print(
            f"{one.name:38s}{100 * one.reached:8.1f}%{100 * one.within:10.1f}%{1e3 * one.median:8.2f} ms{1e3 * one.mean:8.2f} ms"
            f"{one.gap:11.1e} m"
        )
    return 0
