"""Inverse kinematics: reachable and unreachable targets, limits, posture, branches, closed chains, paths, bad input."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import treemech as tm
from treemech.benchmarks.problems.robots import delta_robot, stewart_platform

ARM = Path(__file__).parents[1] / "imports" / "models" / "arm7.urdf"


@pytest.fixture(scope="module")
def arm():
    system = tm.read(ARM)
    return system, system.build()


def planar(lengths=(1.0, 1.0), limits=()):
    """Return a planar arm, its mechanism and its tool."""
    system = tm.System("planar arm")
    last, at = system.ground, (0, 0, 0)
    for k, length in enumerate(lengths):
        link = system.body(f"link {k}", 1.0, (0.1, 0.1, 0.1))
        system.connect(f"J{k}", tm.Revolute("z"), last.at(at), link)
        last, at = link, (length, 0, 0)
    for k, (low, high) in limits:
        system.limit(f"J{k}", low, high)
    system.frame("tool", last.at(at))
    return system, system.build()


def four_bar():
    system = tm.System("four-bar")
    crank, coupler, rocker = (system.body(n, 1.0, (0.1, 0.1, 0.1)) for n in ("crank", "coupler", "rocker"))
    system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.connect("B", tm.Revolute("z"), crank.at((1, 0, 0)), coupler)
    system.connect("C", tm.Revolute("z"), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)))
    system.connect("D", tm.Revolute("z"), system.ground.at((3, 0, 0)), rocker)
    system.frame("pen", coupler.at((1.5, 1.0, 0)))
    return system.build()


def where(mech, body, state):
    """Return position and rotation of a body, by an analysis of its own."""
    z, k = mech.attitude(state), mech.tree.numbers[body] - 1
    return z.position[k], z.rotation[k]


def place(mech, end, state):
    position, rotation = where(mech, end.body.name, state)
    return position + rotation @ end.offset, rotation @ end.rotation


def open_by(mech, state):
    return float(np.max(np.abs(mech.constraints(state).residual), initial=0.0))


# ---------------------------------------------------------------- trees
def test_random_reachable_poses_of_a_seven_axis_arm_are_reached_within_its_limits(arm):
    system, mech = arm
    rng, tool = np.random.default_rng(3), system.frames["tool"]
    for _ in range(40):
        wanted = place(mech, tool, mech.state(q=rng.uniform(-2.7, 2.7, 7)))
        found = mech.inverse_kinematics({"tool": wanted})
        position, rotation = place(mech, tool, found.state)
        assert found.success, found.message
        assert np.max(np.abs(position - wanted[0])) < 1e-9
        assert np.max(np.abs(rotation - wanted[1])) < 1e-9
        assert np.all(np.abs(found.q[:6]) <= 2.8)


def test_ends_are_named_by_frame_body_and_attachment(arm):
    system, mech = arm
    tool = system.frames["tool"]
    wanted = place(mech, tool, mech.state(q=np.full(7, 0.4)))
    by_frame = mech.inverse_kinematics({"tool": wanted}, mech.state(q=np.full(7, 0.3)))
    by_end = mech.inverse_kinematics(
        {tool.body.at(tool.offset, tool.rotation): wanted}, mech.state(q=np.full(7, 0.3))
    )
    assert np.allclose(by_frame.q, by_end.q, atol=1e-12)
    body = tool.body
    wanted = where(mech, body.name, mech.state(q=np.full(7, 0.4)))
    assert mech.inverse_kinematics({body.name: wanted}).success
    assert list(mech.inverse_kinematics({body: wanted}).gaps) == [body.name]


def test_free_components_and_a_rotation_alone(arm):
    system, mech = arm
    tool = system.frames["tool"]
    R = Rotation.from_rotvec([0.3, 2.0, 0.4])
    turned = place(mech, tool, mech.inverse_kinematics({"tool": R}).state)[1]
    assert np.allclose(turned, R.as_matrix(), atol=1e-9)
    found = mech.inverse_kinematics({"tool": (None, 0.1, 0.5)})
    assert np.allclose(place(mech, tool, found.state)[0][1:], (0.1, 0.5), atol=1e-9)
    found = mech.inverse_kinematics({"tool": ((0.2, None, 0.5), R)})
    position, rotation = place(mech, tool, found.state)
    assert np.allclose(position[[0, 2]], (0.2, 0.5), atol=1e-9)
    assert np.allclose(rotation, R.as_matrix(), atol=1e-9)
    only = mech.inverse_kinematics({"tool": ((0.2, 0.1, 0.5), None)})
    assert np.allclose(place(mech, tool, only.state)[0], (0.2, 0.1, 0.5), atol=1e-9)


def test_free_bodies_balls_slides_and_a_hinge_by_address():
    system = tm.System("mixed")
    base, slide, ball, screw = (
        system.body(n, 1.0, (0.1, 0.1, 0.1)) for n in ("base", "slide", "ball", "screw")
    )
    system.connect("float", tm.Free(), system.ground, base)
    system.connect("P", tm.Prismatic("x"), base.at((0.1, 0.2, 0)), slide)
    system.connect("S", tm.Ball(), slide.at((0, 0, 0.3)), ball)
    system.connect("H", tm.Screw(0.1), ball.at((0.4, 0, 0)), screw)
    mech, tip = system.build(), screw.at((0.2, 0.1, 0.3))
    R = Rotation.from_rotvec([1.0, -0.5, 0.7]).as_matrix()
    targets = {base: (0.1, 0.0, None), tip: ((0.5, 0.6, 0.7), R)}
    found = mech.inverse_kinematics(targets)
    assert found.success, found.message
    assert np.allclose(where(mech, "base", found.state)[0][:2], (0.1, 0.0), atol=1e-9)
    position, rotation = place(mech, tip, found.state)
    assert np.allclose(position, (0.5, 0.6, 0.7), atol=1e-9)
    assert np.allclose(rotation, R, atol=1e-9)


@pytest.mark.parametrize("limited", [False, True])
def test_unreachable_targets_give_the_nearest_pose(limited):
    limits = [(0, (-0.4, 0.9)), (1, (0.3, 1.2)), (2, (-0.5, 0.5))]
    _, mech = planar((1.0, 0.8, 0.5), limits if limited else ())

    def tip(q):
        a = np.cumsum(q)
        return np.array([np.cos(a), np.sin(a)]) @ (1.0, 0.8, 0.5)

    rng = np.random.default_rng(5)
    for _ in range(6):
        angle, far = rng.uniform(-np.pi, np.pi), rng.uniform(2.6, 5.0)
        target = far * np.array([np.cos(angle), np.sin(angle)])
        found = mech.inverse_kinematics({"tool": (*target, None)})
        box = [limit for _, limit in limits] if limited else [(-7.0, 7.0)] * 3
        starts = [rng.uniform(*np.array(box).T) for _ in range(12)]
        best = min(
            np.sqrt(minimize(lambda q, x=target: np.sum((tip(q) - x) ** 2), s, bounds=box, tol=1e-14).fun)
            for s in starts
        )
        assert not found.success
        assert found.gaps["tool"].distance == pytest.approx(best, abs=1e-7)
        assert found.gaps["tool"].distance == pytest.approx(np.linalg.norm(tip(found.q) - target), abs=1e-12)
        if limited:
            assert all(low <= q <= high for q, (low, high) in zip(found.q, box, strict=True))
            assert found.limits and "At a limit" in found.message
        else:
            assert best == pytest.approx(far - 2.3, abs=1e-7)
        assert "'tool' is out of reach" in found.message


def test_weights_choose_between_ends_that_cannot_both_be_reached():
    system, mech = planar((1.0, 1.0))
    elbow = system.bodies[2].at((0, 0, 0))
    targets = {elbow: (2.0, 0.0, None), "tool": (0.0, 2.0, None)}

    def left(weights):
        return mech.inverse_kinematics(targets, weights=weights)

    # the least of w |elbow - a|^2 + |tool - b|^2, by scipy
    def cost(q, w):
        e = np.array([np.cos(q[0]), np.sin(q[0])])
        t = e + [np.cos(q.sum()), np.sin(q.sum())]
        return w * np.sum((e - (2, 0)) ** 2) + np.sum((t - (0, 2)) ** 2)

    for w in (0.1, 1.0, 10.0):
        found = left({elbow: w})
        best = min(
            minimize(cost, s, args=(w,), tol=1e-14).fun for s in np.random.default_rng(0).normal(size=(10, 2))
        )
        own = sum(x * gap.distance**2 for x, gap in zip((w, 1.0), found.gaps.values(), strict=True))
        assert own == pytest.approx(best, rel=1e-7)
    assert left({elbow: 0}).reached["tool"]


def test_limits_of_the_system_hold_and_can_be_replaced_or_left_out():
    _, mech = planar((1.0, 1.0), [(1, (0.0, 3.0))])
    start = mech.state(q=[0.5, -0.0])
    wanted = {"tool": (1.2, 0.4, None)}
    assert mech.inverse_kinematics(wanted, start).q[1] > 0.0
    below = mech.inverse_kinematics(wanted, start, limits={"J1": (None, 0.0)})
    assert below.success and below.q[1] < 0.0
    near = mech.state(q=[1.5, -1.5])
    assert mech.inverse_kinematics(wanted, near, limits=False).q[1] < 0.0
    assert mech.inverse_kinematics(wanted, near).q[1] > 0.0


# ---------------------------------------------------------------- redundancy
def test_posture_is_the_nearest_of_all_positions_that_reach_the_target():
    _, mech = planar((1.0, 0.8, 0.5, 0.4))
    posture, weights = np.array([0.6, -0.5, 0.9, 0.2]), np.array([1.0, 4.0, 0.5, 2.0])

    def tip(q):
        a = np.cumsum(q)
        return np.array([np.cos(a), np.sin(a)]) @ (1.0, 0.8, 0.5, 0.4)

    found = mech.inverse_kinematics(
        {"tool": (1.5, 0.7, None)},
        mech.state(q=[0.1, 0.2, 0.3, 0.4]),
        posture={f"J{k}": posture[k] for k in range(4)},
        weights={f"J{k}": weights[k] for k in range(4)},
    )
    assert found.success
    own = minimize(
        lambda q: weights @ (q - posture) ** 2,
        found.q + 0.01,
        constraints={"type": "eq", "fun": lambda q: tip(q) - (1.5, 0.7)},
        tol=1e-14,
        options={"maxiter": 500},
    )
    assert np.allclose(found.q, own.x, atol=1e-6)
    state = mech.state(q=posture)
    plain = mech.inverse_kinematics({"tool": (1.5, 0.7, None)}, posture=state)
    assert plain.success and np.linalg.norm(plain.q - posture) <= np.linalg.norm(found.q - posture)


def test_posture_keeps_limits_and_a_posture_that_fits_is_taken():
    _, mech = planar((1.0, 0.8, 0.5))
    goal = np.array([0.3, 0.9, -0.6])
    wanted = {"tool": (*place(mech, mech._wiring.frames["tool"], mech.state(q=goal))[0][:2], None)}
    found = mech.inverse_kinematics(wanted, mech.state(q=[0.6, 0.6, 0.1]), posture=mech.state(q=goal))
    assert np.allclose(found.q, goal, atol=1e-8)
    held = mech.inverse_kinematics(
        wanted, mech.state(q=[0.6, 0.6, 0.1]), posture=mech.state(q=goal), limits={"J2": (-0.2, 2.0)}
    )
    assert held.success and held.q[2] == pytest.approx(-0.2, abs=1e-9) and held.limits == ("J2",)


# ---------------------------------------------------------------- several solutions
def test_both_positions_of_two_links_are_found_the_nearest_first():
    _, mech = planar((1.0, 1.0))
    found = mech.inverse_kinematics({"tool": (1.0, 1.0, None)}, mech.state(q=[0.2, 1.0]), solutions=5)
    assert np.allclose([one.q for one in found], [[0.0, np.pi / 2], [np.pi / 2, -np.pi / 2]], atol=1e-9)
    other = mech.inverse_kinematics({"tool": (1.0, 1.0, None)}, mech.state(q=[1.2, -1.0]), solutions=1)
    assert np.allclose(other[0].q, [np.pi / 2, -np.pi / 2], atol=1e-9)
    one = mech.inverse_kinematics({"tool": (1.0, 1.0, None)}, solutions=5, limits={"J1": (0, 3)})
    assert len(one) == 1 and one[0].q[1] > 0
    none = mech.inverse_kinematics({"tool": (3.0, 0.0, None)}, solutions=5)
    assert len(none) == 1 and none[0].gaps["tool"].distance == pytest.approx(1.0, abs=1e-9)


# ---------------------------------------------------------------- closed chains
def test_coupler_point_of_a_four_bar_and_its_nearest_place():
    mech = four_bar()
    pen = mech._wiring.frames["pen"]
    for angle in (0.4, 1.9, 3.3, 5.0):
        state = mech.assemble(fix={"A": angle})
        wanted = place(mech, pen, state)[0]
        start = mech.assemble(fix={"A": angle - 0.3}, guess={"B": float(state["B"][0][0])})
        found = mech.inverse_kinematics({"pen": wanted}, start)
        assert found.success, found.message
        assert open_by(mech, found.state) < 1e-11
        assert np.allclose(place(mech, pen, found.state)[0], wanted, atol=1e-9)
    target = place(mech, pen, mech.assemble(fix={"A": 1.0}))[0] + [0.3, 0.4, 0.0]
    found = mech.inverse_kinematics({"pen": target}, mech.assemble(fix={"A": 1.0}))
    assert not found.success and open_by(mech, found.state) < 1e-11
    slope = mech.jacobian(pen, found.state)[:3]
    P = mech.constraints(found.state).partials
    null = np.linalg.svd(P)[2][np.linalg.matrix_rank(P, 1e-9) :]
    pull = null @ slope.T @ (place(mech, pen, found.state)[0] - target)
    assert np.max(np.abs(pull)) < 1e-7  # no allowed motion brings the pen nearer


def test_limits_hold_at_a_cut_hinge_too():
    mech = four_bar()
    cut = mech._info.chords[0].name
    start = mech.assemble(fix={"A": 1.0})
    wanted = place(
        mech, mech._wiring.frames["pen"], mech.assemble(fix={"A": 1.6}, guess={"B": float(start["B"][0][0])})
    )[0]
    free = mech.inverse_kinematics({"pen": wanted}, start, limits=False)
    here, there = float(start[cut][0][0]), float(free.state[cut][0][0])
    middle = 0.5 * (here + there)
    bounds = (middle, None) if here > there else (None, middle)
    held = mech.inverse_kinematics({"pen": wanted}, start, limits={cut: bounds}, attempts=1)
    assert free.success and not held.success
    assert float(held.state[cut][0][0]) == pytest.approx(middle, abs=1e-9) and held.limits == (cut,)
    assert open_by(mech, held.state) < 1e-11


def test_delta_robot_agrees_with_its_closed_form():
    mech = delta_robot.system(False).build()
    start, rng = mech.assemble(), np.random.default_rng(0)
    for wanted in rng.uniform((-0.1, -0.1, -0.6), (0.1, 0.1, -0.4), (8, 3)):
        found = mech.inverse_kinematics({"plate": wanted}, start)
        arms = [float(found.state[f"arm {k}"][0][0]) for k in range(3)]
        assert found.success and open_by(mech, found.state) < 1e-11
        assert np.allclose(
            np.angle(np.exp(1j * (arms - delta_robot.angles(wanted[None])[0]))), 0.0, atol=1e-8
        )


def test_stewart_platform_agrees_with_the_lengths_of_its_legs():
    mech = stewart_platform.system("free").build()
    start, rest = mech.assemble(), np.array([0.0, 0.0, stewart_platform.HEIGHT])
    rng = np.random.default_rng(1)
    for _ in range(4):
        R = Rotation.from_rotvec(rng.uniform(-0.2, 0.2, 3)).as_matrix()
        p = rest + rng.uniform(-0.1, 0.1, 3)
        found = mech.inverse_kinematics({"plate": (p, R)}, start)
        legs = [float(found.state[f"leg {k}"][0][0]) for k in range(6)]
        own = [
            np.linalg.norm(R @ j + p - f)
            for j, f in zip(stewart_platform.JOINTS, stewart_platform.FEET, strict=True)
        ]
        assert found.success and open_by(mech, found.state) < 1e-10
        assert np.allclose(legs, own, atol=1e-8)


# ---------------------------------------------------------------- paths
def test_a_path_keeps_its_branch_where_the_other_is_near():
    _, mech = planar((1.0, 0.9))
    angles = np.linspace(0.0, 2.0 * np.pi, 25)
    curve = np.column_stack((1.45 + 0.4 * np.cos(angles), 0.4 * np.sin(angles), 0 * angles))
    for start, sign in (([-0.2, 0.7], 1.0), ([0.2, -0.7], -1.0)):
        path = mech.inverse_kinematics({"tool": curve}, mech.state(q=start))
        assert path.success, path.message
        assert len(path) == 25 and path.q.shape == (25, 2)
        assert np.all(np.sign(path.q[:, 1]) == sign)
        assert np.allclose(path.q[0], path.q[-1], atol=1e-8)
    as_list = mech.inverse_kinematics([{"tool": (x, y, None)} for x, y, _ in curve], mech.state(q=start))
    assert np.allclose(as_list.q, path.q, atol=1e-8)


def test_a_path_follows_poses_of_the_arm_and_tells_the_first_point_out_of_reach(arm):
    system, mech = arm
    tool, start = system.frames["tool"], mech.state(q=[0.1, 0.5, 0.2, 1.0, 0.1, 0.6, 0.0])
    position, rotation = place(mech, tool, start)
    s = np.linspace(0.0, 0.2, 9)
    positions = position + np.outer(s, (0.3, 1.0, -0.2))
    rotations = Rotation.from_rotvec(np.outer(s, (0.0, 1.0, 0.5))) * Rotation.from_matrix(rotation)
    path = mech.inverse_kinematics({"tool": (positions, rotations)}, start)
    assert path.success, path.message
    assert np.max(np.abs(np.diff(path.q, axis=0))) < 0.3
    assert np.allclose(place(mech, tool, path.states[-1])[1], rotations[-1].as_matrix(), atol=1e-9)
    away = mech.inverse_kinematics({"tool": position + np.outer((0.0, 5.0), (1, 0, 0))}, start)
    assert not away.success and "1 of 2 points are not reached, the first of them point 1" in away.message


def test_a_path_of_a_closed_chain():
    mech = delta_robot.system(False).build()
    times = np.linspace(0.0, 1.0, 12)
    path = mech.inverse_kinematics({"plate": delta_robot.path(times)}, mech.assemble())
    arms = np.array([[one.state[f"arm {k}"][0][0] for k in range(3)] for one in path])
    assert path.success
    assert np.allclose(
        np.angle(np.exp(1j * (arms - delta_robot.angles(delta_robot.path(times))))), 0.0, atol=1e-8
    )


def test_prescribed_coordinates_stay_at_their_signals():
    system = tm.System("driven")
    a, b, c = (system.body(n, 1.0, (0.1, 0.1, 0.1)) for n in "abc")
    system.connect("A", tm.Revolute("z"), system.ground, a)
    system.connect("B", tm.Revolute("z"), a.at((1, 0, 0)), b)
    system.connect("C", tm.Revolute("z"), b.at((1, 0, 0)), c)
    system.prescribe("A", tm.Harmonic(0.5, 1.0))
    mech = system.build()
    state = mech.state(t=0.7)
    found = mech.inverse_kinematics({c.at((1, 0, 0)): (1.0, 1.2, None)}, state)
    assert found.success
    assert found.state.q[0] == state.q[0] and found.state.u[0] == state.u[0]
    away = mech.inverse_kinematics({c.at((1, 0, 0)): (9.0, 1.2, None)}, state)
    assert "Prescribed, and not moved: 'A'" in away.message


# ---------------------------------------------------------------- bad input
BAD = [
    ({"tol": (0, 0, 0)}, {}, "no frame or body 'tol': did you mean 'tool'"),
    ({3: (0, 0, 0)}, {}, "3 is no end"),
    ({}, {}, "no target"),
    (None, {}, "None is no target"),
    ([], {}, "path has no points"),
    ({"tool": (0, 0)}, {}, "'tool' is wanted"),
    ({"tool": "there"}, {}, "'tool' is wanted"),
    ({"tool": (0, float("nan"), 0)}, {}, "'tool' is wanted"),
    ({"tool": ((0, 0, 0), 2 * np.eye(3))}, {}, "rotation wanted of 'tool' is not orthonormal"),
    ({"tool": np.ones((3, 3))}, {}, "a path of three positions is given as a list"),
    ({"ground": (0, 0, 0)}, {}, "'ground' is on the ground"),
    ({"tool": (0, 0, 0)}, {"weights": {"link 0": 2.0}}, "'link 0' has a weight, but no target"),
    ({"tool": (0, 0, 0)}, {"weights": {"tool": -1.0}}, "weight of 'tool' is -1.0"),
    ({"tool": (0, 0, 0)}, {"weights": {"J0": 1.0}}, "'J0' has a weight, but no posture"),
    ({"tool": (0, 0, 0)}, {"weights": 3}, "weights is 3"),
    ({"tool": (0, 0, 0)}, {"limits": {"J9": (0, 1)}}, "no hinge 'J9'"),
    ({"tool": (0, 0, 0)}, {"limits": {"J0": (1, 0)}}, "limits of 'J0' are"),
    ({"tool": (0, 0, 0)}, {"limits": {"J0[2]": (0, 1)}}, "'J0[2]' cannot be limited"),
    ({"tool": (0, 0, 0)}, {"limits": 4}, "limits is 4"),
    ({"tool": (0, 0, 0)}, {"posture": 4}, "posture is 4"),
    ({"tool": (0, 0, 0)}, {"solutions": 0}, "solutions is 0"),
    ({"tool": (0, 0, 0)}, {"attempts": 1.5}, "attempts is 1.5"),
    ({"tool": (0, 0, 0)}, {"tolerance": 0.0}, "tolerance is 0.0"),
    ({"tool": np.zeros((4, 3)), "link 0": np.zeros((5, 3))}, {}, "different numbers of points"),
    ({"tool": np.zeros((4, 3))}, {"solutions": 2}, "a path keeps one branch"),
]


@pytest.mark.parametrize(("targets", "options", "message"), BAD, ids=[m for *_, m in BAD])
def test_bad_input_is_named(targets, options, message):
    _, mech = planar()
    with pytest.raises(tm.TreemechError) as error:
        mech.inverse_kinematics(targets, **options)
    assert message in str(error.value)
