"""Designs of a closed chain stay on the branch of their declared values, or are told that it ends; each by itself."""

import pickle

import numpy as np
import pytest

import treemech as tm
from tests.treemech.many.models import closed, four_bar
from treemech.kinematics.branch import follow

START = -1.0


def slider_crank():
    """Return a crank whose slider can stand on either side of it."""
    a, b, e = (tm.Parameter(*given) for given in (("a", 0.3), ("b", 1.0), ("e", 0.1)))
    system = tm.System("slider-crank", gravity=(0, 0, -9.81))
    crank = system.body("crank", **tm.solids.rod((0, 0, 0), (a, 0, 0), mass=1.0).properties)
    rod = system.body("rod", **tm.solids.rod((0, 0, 0), (b, 0, 0), mass=1.0).properties)
    slider = system.body("slider", mass=2.0, inertia=(0.1, 0.1, 0.1))
    system.connect("A", tm.Revolute("y"), system.ground, crank)
    system.connect("B", tm.Revolute("y"), crank.at((a, 0, 0)), rod)
    system.connect("C", tm.Revolute("y"), rod.at((b, 0, 0)), slider)
    system.connect("D", tm.Prismatic("x"), system.ground.at((0, 0, e)), slider)
    return system.build()


def turned(mech):
    return mech.assemble(fix={"A": START})


def sides(designs):
    """Return where the slider stands on either side of the crank, in closed form."""
    a, b, e = (np.asarray(designs[name]) for name in "abe")
    away = np.sqrt(b**2 - (e + a * np.sin(START)) ** 2)
    return a * np.cos(START) + away, a * np.cos(START) - away


def random_designs(mech, count, width, seed=5):
    rng = np.random.default_rng(seed)
    return {n: v * rng.uniform(1.0 - width, 1.0 + width, count) for n, v in mech.parameters.items()}


def place(mech, state):
    """Return where the slider is, whichever hinge is cut."""
    return float(mech.pose(mech.tree.bodies[3].at(), state).position[0])


def test_the_slider_stays_on_its_side():
    """Without the way from the declared values 37 of 100 such designs were on the other side."""
    mech = slider_crank()
    designs = random_designs(mech, 40, 0.6)
    right, left = sides(mech.parameters)
    side = 0 if abs(place(mech, turned(mech)) - right) < abs(place(mech, turned(mech)) - left) else 1
    for k, wanted in enumerate(sides(designs)[side]):
        own = mech.with_parameters(**{n: float(x[k]) for n, x in designs.items()})
        assert place(own, turned(own)) == pytest.approx(wanted, abs=1e-10)


def test_runs_together_have_the_branches_of_runs_alone():
    mech = slider_crank()
    designs = random_designs(mech, 12, 0.6)
    runs = mech.simulate_many((0, 0.05), turned, designs, t_eval=[0.0, 0.05], block=5)
    for k in range(12):
        own = mech.with_parameters(**{n: float(x[k]) for n, x in designs.items()})
        np.testing.assert_allclose(runs["q"][k, 0], turned(own).q, rtol=0, atol=1e-12)
    alone = mech.simulate_many((0, 0.05), turned, {n: x[3:4] for n, x in designs.items()}, t_eval=[0.0, 0.05])
    np.testing.assert_allclose(alone["q"][0], runs["q"][3], rtol=0, atol=1e-12)


def test_the_position_depends_on_the_design_alone():
    mech, far = slider_crank(), {"a": 0.45, "b": 0.6, "e": -0.1}
    wanted = turned(mech.with_parameters(**far)).q
    by_steps = mech.with_parameters(a=0.15).with_parameters(b=1.5).with_parameters(**far)
    sent = pickle.loads(pickle.dumps(mech.with_parameters(**far)))
    for other in (by_steps, sent):
        np.testing.assert_allclose(turned(other).q, wanted, rtol=0, atol=1e-12)
    base = mech.with_parameters(
        e=-0.1
    )  # where some parameters have other values than declared, runs agree too
    runs = base.simulate_many((0, 0.01), turned, {"a": [0.45], "b": [0.6]}, t_eval=[0.0, 0.01])
    np.testing.assert_allclose(runs["q"][0, 0], wanted, rtol=0, atol=1e-12)
    runs = mech.with_parameters(**far).simulate_many(
        (0, 0.01), turned, inputs={}, parameters={"a": [0.45]}, t_eval=[0.0]
    )
    np.testing.assert_allclose(runs["q"][0, 0], wanted, rtol=0, atol=1e-12)


def test_a_branch_that_ends_is_told_with_its_place():
    """On the way from a short rod below the slider's guide to one above it the rod is shorter than its distance."""
    mech = slider_crank()

    def low(own):
        return own.assemble(fix={"A": 0.0})

    beyond = mech.with_parameters(b=-1.0)  # the other side of the crank, through a rod of no length
    with pytest.raises(
        tm.TreemechError, match=r"'slider-crank' come to a singular position.*behind b = 0\.1"
    ):
        low(beyond)
    assert low(beyond.with_parameters(b=0.9)).q is not None
    chosen = beyond.assemble(fix={"A": 0.0}, guess={"D": -0.7})
    assert abs(abs(place(beyond, chosen) - 0.3) - np.sqrt(1.0 - 0.01)) < 1e-10
    runs = mech.simulate_many((0, 0.01), low, {"b": [1.1, -1.0]})
    assert runs.success.tolist() == [True, False] and "behind b = 0.1" in runs.failures[0].message


def test_chains_that_do_not_close_at_all_say_so():
    with pytest.raises(tm.TreemechError, match="the chain does not close at"):
        closed(four_bar().with_parameters(l=9.0))


def test_declared_values_and_estimates_go_straight():
    mech = slider_crank()
    assert np.array_equal(turned(mech.with_parameters(a=0.3)).q, turned(mech).q)
    own = mech.with_parameters(a=0.2)
    ends = [place(own, own.assemble(fix={"A": START}, guess={"B": x})) for x in (1.2, -2.3)]
    sought = sides(own.parameters)
    np.testing.assert_allclose(ends, sought, rtol=0, atol=1e-10)


def test_a_platform_on_six_legs_keeps_its_side():
    """Legs that end in the base plane hold a plate above it or below it."""
    length, system = tm.Parameter("length", 1.35), tm.System("platform", gravity=(0, 0, -9.81))
    r = tm.Parameter("r", 0.6)
    plate = system.body("plate", mass=3.0, inertia=(1, 1, 1.5))
    system.connect("motion", tm.Free(), system.ground.at((0, 0, 1.2)), plate)
    for k in range(6):
        middle, side = (k // 2) * 2 * np.pi / 3, 2 * (k % 2) - 1
        low, high = middle + 0.25 * side, middle + (np.pi / 3 - 0.25) * side
        foot, joint = ((np.cos(x), np.sin(x), 0.0) for x in (low, high))
        system.connect(
            f"leg {k}", tm.Distance(length), system.ground.at(foot), plate.at(tuple(r * x for x in joint))
        )
    mech = system.build()
    known = {}
    for value in (1.35, 0.85, 2.2):
        own = mech.with_parameters(length=value)
        known[value] = own.pose(own.tree.bodies[1].at(), own.assemble()).position
        angle = np.pi / 3 - 0.5  # between a foot and its joint
        flat = 1.0 + 0.36 - 2 * 0.6 * np.cos(angle)
        np.testing.assert_allclose(known[value], [0, 0, np.sqrt(value**2 - flat)], rtol=0, atol=1e-9)


def test_a_way_stops_where_the_next_position_is_not_near():
    """The root of x^2 = 1 - 2 s vanishes at s = 1/2; that of x^2 = 1 + 8 s goes to 3."""

    class Line:
        class places:
            q, u, attitudes = np.array([0]), np.array([0]), ()

    rate = np.array([-2.0, 8.0])

    def evaluate(q, which, s):
        return q**2 - (1.0 + rate[which] * s)[:, None], 2.0 * q[:, :, None]

    found = follow(Line, np.array([[1.0], [1.0]]), evaluate)
    assert found.reached[1] == 1.0 and found.q[1, 0] == pytest.approx(3.0, abs=1e-7)
    assert 0.45 < found.reached[0] < 0.5 and found.q[0, 0] > 0.0
