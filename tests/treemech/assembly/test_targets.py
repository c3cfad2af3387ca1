"""One description of a start: coordinates, cut hinges, points and poses, each fixed or guessed; nothing is dropped."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.optimize import least_squares

import treemech as tm

LENGTHS = (1.0, 3.0, 2.5, 3.5)  # crank, coupler, rocker, ground
PINS = ("A", "B", "C", "D")


def turn(a):
    c, s = np.cos(a), np.sin(a)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def four_bar(cut="C", posed=None):
    """Angles A and D from the ground, B from crank to coupler, C from coupler to rocker."""
    crank, coupler, rocker, ground = LENGTHS
    s = tm.System("four-bar")
    bodies = [
        s.body(name, 1.0, (0.1, 0.1, 0.1), com=(x / 2, 0, 0), pose=None if posed is None else posed[name])
        for name, x in (("a", crank), ("b", coupler), ("c", rocker))
    ]
    a, b, c = bodies
    role = {pin: "chord" if pin == cut else None for pin in PINS}
    s.connect("A", tm.Revolute("z"), s.ground, a, role=role["A"])
    s.connect("B", tm.Revolute("z"), a.at((crank, 0, 0)), b, role=role["B"])
    s.connect("C", tm.Revolute("z"), b.at((coupler, 0, 0)), c.at((rocker, 0, 0)), role=role["C"])
    s.connect("D", tm.Revolute("z"), s.ground.at((ground, 0, 0)), c, role=role["D"])
    return s.build(), a, b, c


def closed(A):
    """The two positions of the four-bar in closed form: angles of all pins."""
    crank, coupler, rocker, ground = LENGTHS
    p = crank * np.array([np.cos(A), np.sin(A)])
    d = np.array([ground, 0.0]) - p
    r = np.linalg.norm(d)
    along = (r**2 + coupler**2 - rocker**2) / (2 * r)
    found = []
    for side in (1, -1):
        x = p + along * d / r + side * np.sqrt(coupler**2 - along**2) * np.array([-d[1], d[0]]) / r
        b = np.arctan2(*(x - p)[::-1])
        c = np.arctan2(x[1], x[0] - ground)
        found.append({"A": A, "B": wrap(b - A), "C": wrap(c - b), "D": c})
    return found


def wrap(x):
    return (x + np.pi) % (2 * np.pi) - np.pi


def off(state, want):
    return max(abs(wrap(state[pin][0][0] - want[pin])) for pin in PINS)


@pytest.fixture(autouse=True)
def nothing_is_left():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "assemble")
        yield


@pytest.mark.parametrize("cut", PINS)
@pytest.mark.parametrize("branch", [0, 1])
@pytest.mark.parametrize("A", [0.6, -1.9, 2.8])
def test_exact_guesses_of_any_hinges_return_exactly_their_position(cut, branch, A):
    mech, want = four_bar(cut)[0], closed(A)[branch]
    for n in (1, 2, 3):
        for names in itertools.combinations("BCD", n):
            state = mech.assemble(fix={"A": A}, guess={pin: want[pin] for pin in names})
            assert off(state, want) < 1e-13, names
            for pin in names:  # not another turn either
                assert abs(state[pin][0][0] - want[pin]) < 1e-13
    free = mech.assemble(guess={"A": A, "C": want["C"]})  # nothing fixed: they still fit together
    assert off(free, want) < 1e-12


@pytest.mark.parametrize("cut", PINS)
def test_rough_guesses_keep_their_branch_whichever_hinge_is_cut(cut):
    mech, rng = four_bar(cut)[0], np.random.default_rng(1)
    for A in rng.uniform(-3, 3, 6):
        for want, other in itertools.permutations(closed(A)):
            pin = rng.choice(["B", "C", "D"])
            guess = {pin: want[pin] + rng.uniform(-0.2, 0.2)}
            if abs(wrap(other[pin] - guess[pin])) < 0.4:
                continue  # not nearest for sure
            assert off(mech.assemble(fix={"A": A}, guess=guess), want) < 1e-12


@pytest.mark.parametrize("cut", PINS)
@pytest.mark.parametrize("branch", [0, 1])
def test_points_and_poses_fix_and_guess(cut, branch):
    A = 0.9
    (mech, _, b, c), want = four_bar(cut), closed(A)[branch]
    joint = np.array([np.cos(A) + 3 * np.cos(A + want["B"]), np.sin(A) + 3 * np.sin(A + want["B"]), 0.0])
    pose = ((np.cos(A), np.sin(A), 0), turn(A + want["B"]))
    for given in (
        {"fix": {"A": A}, "guess": {b.at((3, 0, 0)): joint}},
        {"fix": {"A": A}, "guess": {c.at((2.5, 0, 0)): (None, joint[1] + 0.05, None)}},
        {"fix": {b.at((3, 0, 0)): (*joint[:2], None)}, "guess": {"A": A - 0.1}},
        {"fix": {"A": A}, "guess": {b: pose}},
        {"fix": {"A": A}, "poses": {"b": pose}},
        {"fix": {"A": A}, "poses": {b.at((3, 0, 0), turn(0.7)): (joint, turn(A + want["B"] + 0.7))}},
        {"fix": {b: pose}},
        {"poses": {b: pose}},
    ):  # fmt: skip
        assert off(mech.assemble(**given), want) < 1e-11, given


def test_noisy_poses_are_closed_to_the_nearest_position_of_the_stated_metric():
    """Against scipy on A and D with its own formulas: positions plus 4 sin^2 of half the angle, over all poses."""
    (mech, *_), rng = four_bar("C"), np.random.default_rng(5)
    for _ in range(4):
        A = rng.uniform(-1, 2)
        want = closed(A)[int(rng.integers(2))]
        angles = {"a": A, "b": A + want["B"], "c": want["D"]}
        at = {"a": np.zeros(3), "b": np.array([np.cos(A), np.sin(A), 0.0]), "c": np.array([3.5, 0.0, 0.0])}
        noisy = {
            n: (at[n] + 0.05 * rng.normal(size=3) * [1, 1, 0], turn(angles[n] + 0.1 * rng.normal()))
            for n in at
        }
        state = mech.assemble(poses=noisy)
        assert np.max(np.abs(mech.constraints(state).residual)) < 1e-13

        def deviations(x, noisy=noisy, want=want):
            w = min(closed(x[0]), key=lambda w: abs(wrap(w["D"] - want["D"])))
            theta = {"a": x[0], "b": x[0] + w["B"], "c": w["D"]}
            place = {
                "a": np.zeros(3),
                "b": np.array([np.cos(x[0]), np.sin(x[0]), 0.0]),
                "c": np.array([3.5, 0.0, 0.0]),
            }
            out = []
            for n, (p, R) in noisy.items():
                out += list(place[n] - p)
                out.append(2 * np.sin(0.5 * (theta[n] - np.arctan2(R[1, 0], R[0, 0]))))
            return np.array(out)

        best = least_squares(deviations, [A], xtol=1e-15, ftol=1e-15, gtol=1e-15).x[0]
        assert abs(wrap(state["A"][0][0] - best)) < 1e-6


def test_poses_of_a_tree_may_be_approximate():
    s = tm.System("arm")
    one, two = (s.body(n, 1.0, (0.1, 0.1, 0.1)) for n in ("one", "two"))
    s.connect("A", tm.Revolute("z"), s.ground, one)
    s.connect("B", tm.Revolute("z"), one.at((1, 0, 0)), two)
    mech = s.build()
    state = mech.assemble(poses={"two": ((np.cos(0.7), np.sin(0.7), 0.03), turn(0.2))})
    np.testing.assert_allclose([state["A"][0][0], state["B"][0][0]], [0.7, -0.5], atol=1e-9)
    reached = mech.assemble(fix={two.at((1, 0, 0)): (1.2, 0.8, 0.0)}, guess={"B": 1.3})  # inverse kinematics
    np.testing.assert_allclose(np.cos(reached["B"][0][0]), (1.2**2 + 0.8**2 - 2) / 2, atol=1e-12)
    assert reached["B"][0][0] > 0
    with pytest.raises(
        tm.ConvergenceError, match=r"does not close at \"the point \[1.0, 0.0, 0.0\] of body 'two'\""
    ):
        mech.assemble(fix={two.at((1, 0, 0)): (3.0, 0.0, 0.0)})


def test_poses_that_bodies_are_described_with_are_the_estimate_if_nothing_else_is_given():
    for want, other in itertools.permutations(closed(0.8)):
        posed = {
            "a": ((0, 0, 0), turn(0.8)),
            "b": ((np.cos(0.8) + 0.02, np.sin(0.8), 0), turn(0.8 + want["B"] - 0.05)),
            "c": ((3.5, 0, 0), turn(want["D"] + 0.05)),
        }
        found = []
        for cut in PINS:
            mech = four_bar(cut, posed)[0]
            found.append([mech.assemble()[pin][0][0] for pin in PINS])
            assert off(mech.assemble(), want) < 0.1
            assert off(mech.assemble(fix={"A": 0.8}), want) < 1e-12
            assert off(mech.assemble(fix={"A": 0.8}, guess={"D": other["D"]}), other) < 1e-12
        assert np.ptp(wrap(np.array(found) - found[0]), axis=0).max() < 1e-9  # whichever hinge is cut
    s = tm.System("free")
    s.body("box", 1.0, (1, 1, 1), pose=((1, 2, 3), turn(0.5)))
    mech = s.build()
    state = mech.assemble()
    np.testing.assert_allclose(mech.attitude(state).position[0], (1, 2, 3), atol=1e-12)
    np.testing.assert_allclose(mech.attitude(state).rotation[0], turn(0.5), atol=1e-12)


def test_a_guess_that_is_left_is_named_with_its_distance():
    mech, _, b, _ = four_bar()
    with pytest.warns(UserWarning, match=r"the guess of 'D' was left by 1\.\d+ \(m, rad\)"):
        mech.assemble(fix={"A": 0.6}, guess={"D": 0.0})
    with pytest.warns(UserWarning, match="the guess of body 'b' was left by 9"):
        mech.assemble(fix={"A": 0.6}, guess={b: (10.0, 0, 0)})


@pytest.mark.parametrize(
    "given, message",
    [
        ({"fix": {3: 0.1}}, "3 is neither the name of a hinge nor a body"),
        ({"guess": {"point": 0.1}}, "there is no hinge 'point': there are 'A', 'B', 'D', 'C'"),
        ({"fix": {"end": (1, 2)}}, "three numbers or None"),
        ({"fix": {"end": "here"}}, "three numbers or None"),
        ({"fix": {"end": ((1, 2, 3), np.ones((3, 3)))}}, "not orthonormal"),
        ({"weights": {"end": 2.0}}, "has a weight, but neither a guess nor a pose"),
        ({"guess": {"end": (1, 2, 3)}, "weights": {"end": -2.0}}, "wanted one number of at least 0, or 3"),
        (
            {"fix": {"A": 0.5, "B": 0.5, "C": 0.1}},
            "3 coordinates are fixed.*mechanism has 1 degree of freedom",
        ),
    ],
)
def test_what_makes_no_sense_is_named(given, message):
    mech, _, b, _ = four_bar()
    given = {k: {b if n == "end" else n: v for n, v in d.items()} for k, d in given.items()}
    with pytest.raises(tm.TreemechError, match=message):
        mech.assemble(**given)


def test_an_end_of_another_mechanism_is_refused():
    mech, other = four_bar()[0], tm.System("other").body("stranger", 1.0, (1, 1, 1))
    for given in ({"fix": {other: (1, 2, 3)}}, {"guess": {other: (1, 2, 3)}}, {"rates": {other: (1, 2, 3)}}):
        with pytest.raises(tm.TopologyError, match="no body 'stranger'"):
            mech.assemble(**given)


def test_weights_of_points_and_poses_pull():
    (mech, _, b, _), far = four_bar(), (1.5, 2.0, 0.0)
    left = []
    for w in (0.0, 1.0, 1e2, 1e6):
        state = mech.assemble(guess={b.at((3, 0, 0)): far, "A": 2.0}, weights={b.at((3, 0, 0)): w})
        left.append(abs(np.linalg.norm(np.array([3.5, 0]) - _joint(state)) - 2.5))
        last = np.linalg.norm(_joint(state) - far[:2])
    assert max(left) < 1e-12  # on the circle of the rocker always
    nearest = abs(np.hypot(2.0, 2.0) - 2.5)
    assert abs(last - nearest) < 1e-4


def _joint(state):
    A, B = state["A"][0][0], state["B"][0][0]
    return np.array([np.cos(A) + 3 * np.cos(A + B), np.sin(A) + 3 * np.sin(A + B)])


def stewart():
    """Six legs of variable length between a plate and the ground; five spherical joints are cut."""
    s = tm.System("Stewart platform")
    plate = s.body("plate", 5.0, (0.3, 0.3, 0.5))
    for k in range(6):
        a = 2 * np.pi * (k // 2) / 3 + (0.2 if k % 2 else -0.2)
        b = 2 * np.pi * (k // 2) / 3 + (0.85 if k % 2 else -0.85)
        low, high = s.body(f"low{k}", 0.5, (0.1, 0.1, 0.1)), s.body(f"high{k}", 0.5, (0.1, 0.1, 0.1))
        s.connect(f"U{k}", tm.Universal(), s.ground.at((np.cos(a), np.sin(a), 0)), low)
        s.connect(f"L{k}", tm.Prismatic("z"), low, high)
        s.connect(f"S{k}", tm.Ball(), high, plate.at((0.6 * np.cos(b), 0.6 * np.sin(b), 0)))
    return s, plate


def tilted(rng):
    e = np.array([1.0, *0.15 * rng.normal(size=3)])
    e /= np.linalg.norm(e)
    v = e[1:]
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + 2 * e[0] * cross + 2 * cross @ cross


def test_the_plate_of_a_platform_stands_where_it_is_asked_to_whether_a_hinge_leads_to_it_or_not():
    system, plate = stewart()
    mech, rng = system.build(), np.random.default_rng(3)
    number = mech.tree.numbers["plate"] - 1
    for _ in range(3):
        p, R = np.array([0.0, 0.0, 1.1]) + 0.1 * rng.normal(size=3), tilted(rng)
        for given in ({"guess": {plate: (p, R)}}, {"poses": {"plate": (p, R)}}, {"fix": {plate: (p, R)}}):
            state = mech.assemble(**given)
            z = mech.attitude(state)
            np.testing.assert_allclose(z.position[number], p, atol=1e-11)
            np.testing.assert_allclose(z.rotation[number], R, atol=1e-11)
    system, plate = stewart()  # the same with a free hinge that reads the pose and is cut
    system.connect("pose", tm.Free(), system.ground, plate)
    mech = system.build()
    assert "pose" in {c.name for c in mech.tree.chords}
    q = mech.assemble(poses={"plate": (p, R)})["pose"][0]
    again = mech.assemble(guess={"pose": q})
    np.testing.assert_allclose(mech.attitude(again).position[number], p, atol=1e-11)


def bennett(cut):
    """Four revolutes, neither parallel nor meeting in a point: rank 2 of 5 rows when closed."""
    s, (a, b), twist = tm.System("Bennett"), (1.0, 1.5), 0.6
    links = [s.ground, *(s.body(f"link{k}", 1.0, (1, 1, 1), com=(0.3, 0, 0)) for k in range(3))]
    twists = (twist, np.arcsin(np.sin(twist) * b / a))
    for k in range(4):
        c, n = np.cos(twists[k % 2]), np.sin(twists[k % 2])
        end = links[k].at(((a, b)[k % 2], 0, 0), [[1, 0, 0], [0, c, -n], [0, n, c]])
        s.connect(f"J{k}", tm.Revolute("z"), end, links[(k + 1) % 4], role="chord" if k == cut else None)
    return s.build()


@pytest.mark.parametrize("cut", range(4))
def test_an_overconstrained_chain_takes_exact_angles_and_rounded_ones(cut):
    names = [f"J{k}" for k in range(4)]
    first = bennett(3).assemble(fix={"J0": 0.5}, guess={"J1": 3.0, "J2": 5.8})
    angles, mech = {n: first[n][0][0] for n in names}, bennett(cut)
    for leave in names:
        given = {n: angles[n] for n in names if n != leave}
        for how in ("fix", "guess"):
            state = mech.assemble(**{how: given})
            assert max(abs(wrap(state[n][0][0] - angles[n])) for n in names) < 1e-11
        rounded = {n: round(x, 4) for n, x in given.items()}
        state = mech.assemble(guess=rounded)
        assert max(abs(wrap(state[n][0][0] - angles[n])) for n in names) < 1e-3
        with pytest.raises(
            tm.ConvergenceError, match="3 coordinates are fixed .*1 degree of freedom: give fewer"
        ):
            mech.assemble(fix=rounded)


def test_the_state_of_a_cut_hinge_is_checked():
    mech, want = four_bar()[0], closed(0.7)[0]
    state = mech.state(q=want)
    assert abs(state["C"][0][0] - want["C"]) < 1e-14
    turned = mech.state(q={**want, "C": want["C"] + 4 * np.pi})
    assert abs(turned["C"][0][0] - want["C"] - 4 * np.pi) < 1e-13
    rates = mech.assemble(fix={"A": 0.7}, guess=want, rates={"A": 2.0})
    given = {pin: rates[pin][1] for pin in PINS}
    assert np.array_equal(mech.state(q=want, u=given).u, rates.u)
    for wrong, message in (
        ({"q": {"C": 0.1}}, "'C' are given, which is cut, but the others leave it open by 2"),
        ({"q": {**want, "C": 0.1}}, r"q of 'C' is given as 0\.1, but it is cut, and the others make it"),
        ({"q": want, "u": {**given, "C": 9.0}}, "u of 'C' is given as 9, but it is cut"),
        ({"q": want, "u": {"C": 1.0}}, "u of 'C' is given as 1, but it is cut, and the others make it 0"),
        ({"q": want, "u": {"A": 1.0, "C": 1.0}}, "opening at a rate of .*mech.assemble"),
        ({"q": {mech.tree.bodies[1]: 1.0}}, "a state is made of numbers of hinges"),
    ):
        with pytest.raises(tm.ElementError, match=message):
            mech.state(**wrong)


def test_the_attitude_of_a_cut_ball_is_a_rotation_or_four_numbers():
    system, plate = stewart()
    mech = system.build()
    cut = mech.tree.chords[0].name
    state = mech.assemble(poses={plate: ((0.1, 0.0, 1.1), turn(0.1))})
    e = state[cut][0]
    w, v = e[0], e[1:]
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    R = np.eye(3) + 2 * w * cross + 2 * cross @ cross
    guess = {c.name: state[c.name][0] for c in mech._lagrange.hinges}
    for value in (e, -e, R):
        assert np.max(np.abs(mech.state(q={**guess, cut: value}).q - state.q)) < 1e-12
    with pytest.raises(tm.ElementError, match="some of its Euler parameters"):
        mech.assemble(guess={f"{cut}[1]": 0.1})


def test_the_unknown_of_a_constraint_says_where_it_is_sought():
    """A state tells the unknowns of constraints, and takes them back."""
    system = tm.System("bead")
    bead = system.body("bead", 1.0, (0.1, 0.1, 0.1))
    system.connect("slide", tm.Translation(), system.ground, bead)
    outline = tm.PointOnCurve([(1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0), (0.5, -0.8, 0)], degree=3)
    system.connect("wire", outline, system.ground, bead)
    mech = system.build()
    place = mech.assemble(guess={"slide": (0.0, 1.0, 0.0)})
    s = place.cut["wire"][0]
    again = mech.state(q={"slide": place["slide"][0], "wire": s})
    assert np.array_equal(again.q, place.q) and again.cut["wire"][0] == pytest.approx(s, abs=1e-12)
    with pytest.raises(tm.ElementError, match="q of 'wire' is 'far'; 'wire' has 1 numbers in q"):
        mech.state(q={"wire": "far"})
