"""Impacts at one instant: symmetry, complementarity, energy that never grows, impulses through rows of balls."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

import treemech as tm
from tests.dynamics.simulation.test_external_driver import NEEDED
from treemech.dynamics.simulation.impulse import solve_impact

G = 9.81


def box(points, restitution, planar=False):
    """A free box above the ground, and impacts of points of it."""
    system = tm.System("box", gravity=(0, 0, -G))
    body = system.body("box", 2.0, (0.05, 0.07, 0.09))
    hinge = tm.Planar("y") if planar else tm.Free()
    system.connect("flight", hinge, system.ground.at((0, 0, 0.6)), body)
    each = np.broadcast_to(restitution, len(points))
    impacts = [
        tm.Impact.between(
            system.ground, body.at(p), normal=(0, 0, 1), restitution=float(e), name=f"corner {k}"
        )
        for k, (p, e) in enumerate(zip(points, each, strict=True))
    ]
    return system.build(), impacts


EDGE = [(-0.2, 0, -0.1), (0.2, 0, -0.1)]
CORNERS = [(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]


@pytest.mark.parametrize("points", [EDGE, CORNERS], ids=["edge", "corners"])
@pytest.mark.parametrize("e", [0.3, 0.9, 1.0])
@pytest.mark.parametrize("method", ["DOP853", "Radau", "scipy:DOP853", pytest.param("CVODE", marks=NEEDED)])
def test_a_box_that_lands_flat_rebounds_without_turning(points, e, method):
    mech, impacts = box(points, e)
    run = mech.simulate((0, 0.45), None, method, rtol=1e-9, events=impacts)
    assert run.success, run.message
    fall = np.sqrt(2 * 0.5 / G)
    for event in run.events:
        assert_allclose(event.t[0], fall, atol=1e-8)
        assert_allclose(event.after[0].u, [0, 0, e * G * fall, 0, 0, 0], atol=1e-7)
    assert np.array_equal(run.events[0].t, run.events[-1].t)
    assert np.abs(run.u[:, 3:]).max() < 1e-7
    assert sum(run.t == run.events[0].t[0]) == 2  # one jump


def test_a_box_that_comes_to_rest_names_an_impact():
    mech, impacts = box(EDGE, 0.0)
    run = mech.simulate((0, 1), events=impacts)
    assert not run.success and "'corner" in run.message and "comes to rest" in run.message
    assert_allclose(run.u[-1], 0.0, atol=1e-12)


def test_a_box_stays_on_two_unilateral_constraints():
    system = tm.System("box", gravity=(0, 0, -G))
    body = system.body("box", 2.0, (0.05, 0.07, 0.09))
    system.connect("flight", tm.Planar("y"), system.ground, body)
    for name, x in (("left", -0.2), ("right", 0.2)):
        system.connect(name, tm.InPlane(unilateral=True), system.ground, body.at((x, 0, 0)))
    mech = system.build()
    upwards = np.array([mech.energy(mech.state(q=np.eye(3)[k])).potential for k in range(3)]) / (2.0 * G)
    impacts = [tm.Impact.of(name, restitution=0.4) for name in ("left", "right")]
    run = mech.simulate((0, 2), mech.state(q=0.5 * upwards), rtol=1e-9, events=impacts)
    assert run.success, run.message
    assert {s.name for s in run.switched if s.holds} == {"left", "right"}
    assert np.array_equal(*(e.t for e in run.events)) and len(run.events[0].t) > 5
    for name in ("left", "right"):
        assert_allclose(run.connection(name).force[-1], [0, 0, G], atol=1e-6)
    assert np.abs(run.u[:, 2]).max() < 1e-7  # never turns


@pytest.mark.parametrize("seed", range(6))
def test_corners_with_restitutions_of_their_own_never_gain_energy(seed):
    """With more points than the box has freedoms too: every gap opens at least as fast as by its own impact."""
    rng = np.random.default_rng(seed)
    e = rng.uniform(0.1, 1.0, 4)
    mech, impacts = box(CORNERS, e)
    run = mech.simulate((0, 0.33), rtol=1e-9, events=impacts)
    assert run.success, run.message
    ends = [p for p in mech.tree.bodies if p.name == "box"]
    for event, point, own in zip(run.events, CORNERS, e, strict=True):
        J = mech.jacobian(ends[0].at(point), event.states[0])[2]
        assert J @ event.after[0].u >= -own * (J @ event.states[0].u) - 1e-9
    kinetic = [mech.energy(s).kinetic for s in (run.events[0].states[0], run.events[0].after[0])]
    assert kinetic[1] <= kinetic[0] * (1 + 1e-12)


def balls(masses, speeds, restitution, gap=0.0):
    """Return the speeds of balls on one line after all impacts; balls with equal speeds touch."""
    system, bodies = tm.System("row", gravity=(0, 0, 0)), []
    for k, m in enumerate(masses):
        bodies.append(system.body(f"ball {k}", m, (0.01, 0.01, 0.01)))
        system.connect(f"x{k}", tm.Prismatic("x"), system.ground, bodies[-1])
    each = np.broadcast_to(restitution, len(masses) - 1)
    impacts = [
        tm.Impact.between(a, b, distance=0.1, restitution=float(e))
        for a, b, e in zip(bodies[:-1], bodies[1:], each, strict=True)
    ]
    mech, places = system.build(), [0.0]
    for before, after in pairwise(speeds):
        places.append(places[-1] + 0.1 + (gap if before == after else 0.5))
    state = mech.state(
        q={f"x{k}": x for k, x in enumerate(places)}, u={f"x{k}": float(v) for k, v in enumerate(speeds)}
    )
    run = mech.simulate((0, 2.0), state, rtol=1e-9, events=impacts)
    assert run.success, run.message
    return run


@pytest.mark.parametrize("gap", [0.0, 1e-6])
@pytest.mark.parametrize("moving", [1, 2, 3])
def test_as_many_balls_leave_a_row_as_arrive(moving, gap):
    """Newton's cradle."""
    run = balls([1.0] * 5, [1.0] * moving + [0.0] * (5 - moving), 1.0, gap)
    assert_allclose(run.u[-1], [0.0] * (5 - moving) + [1.0] * moving, atol=1e-9)


def test_balls_from_both_sides_are_thrown_back_alike():
    run = balls([1.0, 3.0, 1.0], [1.0, 0.0, -1.0], 0.6)
    assert_allclose(run.u[-1], [-0.6, 0.0, 0.6], atol=1e-12)
    assert run.events[0].t[0] == run.events[1].t[0]


@pytest.mark.parametrize("seed", range(8))
def test_two_blows_on_one_ball_obey_their_laws(seed):
    rng = np.random.default_rng(seed)
    masses, e = rng.uniform(0.3, 3.0, 3), rng.uniform(0.2, 1.0, 2)
    run = balls(masses, [1.0, 0.0, -1.0], e)
    before, after = run.events[0].states[0].u, run.events[0].after[0].u
    v, w = np.diff(before), np.diff(after)  # rates of the gaps
    assert_allclose(masses @ after, masses @ before, atol=1e-12)
    assert np.all(w >= -e * v - 1e-12)
    L = np.array([masses[0] * (before[0] - after[0]), masses[2] * (after[2] - before[2])])
    assert np.all(L >= -1e-12) and np.abs(L * (w + e * v)).max() < 1e-12
    assert masses @ after**2 <= masses @ before**2 + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_impulses_are_complementary(seed):
    """Random closing gaps of a random system, also more gaps than freedoms."""
    rng = np.random.default_rng(seed)
    n, k = rng.integers(1, 6), rng.integers(1, 8)
    J, u, M = rng.normal(size=(k, n)), rng.normal(size=n), rng.normal(size=(n, n))
    J[J @ u > 0] *= -1.0
    A, e = M @ M.T + np.eye(n), np.full(k, rng.uniform(0, 1))
    W, v = J @ np.linalg.solve(A, J.T), J @ u
    found = solve_impact(W, v, e)
    w = v + W @ found.impulses + e * v
    assert np.all(found.impulses >= 0.0) and w.min() > -1e-9 and np.abs(w * found.impulses).max() < 1e-8
    assert found.missing.max() < 1e-9
    after = u + np.linalg.solve(A, J.T @ found.impulses)
    assert_allclose(after @ A @ after - u @ A @ u, (1 - e[0]) * (v @ found.impulses), atol=1e-8)


def test_limits_of_a_closed_chain_that_are_met_together_keep_it_closed():
    from tests.support.driven import four_bar

    mech, state = four_bar()
    plain = mech.simulate((0, 0.2), state, rtol=1e-10)
    q, u = plain.q[-1], plain.u[-1]
    limits = [
        tm.Impact.at_limit(name, restitution=e, **{"upper" if u[k] > 0 else "lower": float(q[k])})
        for k, (name, e) in enumerate([("A", 0.5), ("B", 0.8)])
    ]
    run = mech.simulate((0, 0.21), state, rtol=1e-10, events=limits)
    first, second = run.events
    assert first.t[0] == pytest.approx(0.2, abs=1e-9) and second.t[0] == pytest.approx(0.2, abs=1e-9)
    after = first.after[0]
    assert np.abs(mech.constraints(mech.state(after.t, after.q, after.u)).velocity).max() < 1e-10
    before = first.states[0]
    back = -after.u[:2] / before.u[:2]
    assert np.all(back >= [0.5 - 1e-9, 0.8 - 1e-9]) and back.min() < 0.8 + 1e-9
    assert mech.energy(after).kinetic < mech.energy(before).kinetic


def test_backwards_a_box_falls_up_as_it_came():
    mech, impacts = box(EDGE, 0.8)
    there = mech.simulate((0, 0.6), rtol=1e-11, events=impacts)
    back = mech.simulate((0.6, 0), mech.state(0.6, there.q[-1], there.u[-1]), rtol=1e-11, events=impacts)
    assert_allclose(back.q[-1], mech.state().q, atol=1e-8)
    assert_allclose(back.u[-1], 0.0, atol=1e-8)


# ---------------------------------------------------------------- limits of cut hinges
def chain(cut):
    system = tm.System("four-bar", gravity=(0, 0, -G))
    crank = system.body("crank", mass=1.0, inertia=(0, 1 / 12, 1 / 12), com=(0.5, 0, 0))
    coupler = system.body("coupler", mass=3.0, inertia=(0, 9 / 4, 9 / 4), com=(1.5, 0, 0))
    rocker = system.body("rocker", mass=2.5, inertia=(0, 1.3, 1.3), com=(1.25, 0, 0))
    ends = {
        "A": (system.ground, crank),
        "B": (crank.at((1, 0, 0)), coupler),
        "C": (coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0))),
        "D": (system.ground.at((3.5, 0, 0)), rocker),
    }
    for name, (a, b) in ends.items():
        system.connect(name, tm.Revolute("y"), a, b, role="chord" if name == cut else "branch")
    mech = system.build()
    return mech, mech.assemble(fix={"A": -0.6}, guess={"B": 1.4, "C": 1.7, "D": 2.5}, rates={"A": 6.0})


@pytest.mark.parametrize("cut", ["B", "C"])
def test_a_limit_of_a_cut_hinge_is_that_of_the_same_hinge_in_the_tree(cut):
    runs = []
    for other in ("A", cut):
        mech, state = chain(other)
        free = mech.simulate((0, 0.5), state, rtol=1e-10, t_eval=np.linspace(0, 0.5, 101)).connection(cut).q
        limit = float(round(0.5 * (free.min() + free.max()), 6))
        side = "upper" if free[0] < limit else "lower"
        stop = tm.Impact.at_limit(cut, restitution=0.6, **{side: limit})
        runs.append(mech.simulate((0, 0.5), state, rtol=1e-10, events=stop))
        assert runs[-1].success, runs[-1].message
    ours, cut_run = runs
    assert len(ours.events[0].t) >= 1
    assert_allclose(cut_run.events[0].t, ours.events[0].t, atol=1e-7)
    for name in "ABCD":
        assert_allclose(cut_run.connection(name).u[-1], ours.connection(name).u[-1], atol=1e-5)
    before, after = cut_run.events[0].states[0], cut_run.events[0].after[0]
    assert_allclose(after.cut[cut][1], -0.6 * before.cut[cut][1], rtol=1e-9)


# ---------------------------------------------------------------- functions that turn between two samples
def test_balls_that_would_pass_through_each_other_within_a_step_meet():
    run = balls([1.0, 2.0], [1.0, 0.0], 1.0)
    assert run.statistics["steps"] < 8 and len(run.events[0].t) == 1
    assert_allclose(run.u[-1], [-1 / 3, 2 / 3], atol=1e-12)


def test_a_function_that_dips_below_zero_between_samples_is_found():
    system = tm.System("line", gravity=(0, 0, 0))
    system.connect("x", tm.Prismatic("x"), system.ground, system.body("cart", 1.0, (1, 1, 1)))
    mech = system.build()

    def dip(t, state):
        return (state.q[0] - 0.41) ** 2 - 1e-4

    run = mech.simulate((0, 1), mech.state(u={"x": 1.0}), events=dip, first_step=0.9, rtol=1e-3)
    assert_allclose(run.events[0].t, [0.40, 0.42], atol=1e-12)


def test_a_run_with_joint_impacts_goes_on_from_its_checkpoint(tmp_path):
    mech, impacts = box(CORNERS, 0.7)
    options = {"rtol": 1e-9, "events": impacts}

    def stop(done):
        if done > 0.6:
            raise KeyboardInterrupt

    whole = mech.simulate((0, 1.2), **options)
    mech.simulate((0, 1.2), checkpoint=tmp_path / "box", progress=stop, **options)
    rest = mech.simulate((0, 1.2), resume=tmp_path / "box", **options)
    assert np.array_equal(rest.q, whole.q) and all(len(e.t) >= 2 for e in rest.events)
    for one, two in zip(rest.events, whole.events, strict=True):
        assert np.array_equal(one.t, two.t)


def test_a_terminal_impact_ends_the_run_though_another_one_came_first():
    mech, impacts = box(EDGE, 0.7)
    for k in range(2):
        ending = [replace(impact, terminal=j == k) for j, impact in enumerate(impacts)]
        run = mech.simulate((0, 2), events=ending)
        assert run.success and f"'corner {k}' ended the run" in run.message
        assert [len(e.t) for e in run.events] == [1, 1] and run.u[-1, 2] > 0.0


# ---------------------------------------------------------------- resting chords let go
def rocking(inertia, half=0.1, mass=2.0):
    """A block that has been tilted about its left corner, without friction; its corners are unilateral constraints."""
    system = tm.System("block", gravity=(0, 0, -G))
    body = system.body("block", mass, (inertia, inertia, inertia))
    system.connect("flight", tm.Planar("y"), system.ground, body)
    for name, x in (("left", -half), ("right", half)):
        system.connect(name, tm.InPlane(unilateral=True), system.ground, body.at((x, 0, -0.5)))
    mech = system.build()
    upwards = np.array([mech.energy(mech.state(q=np.eye(3)[k])).potential for k in range(3)]) / (mass * G)
    for turn in (0.05, -0.05):
        q = 0.5 * upwards + [0, 0, turn]
        q = q - upwards * mech.constraints(mech.state(q=q)).residual.min()
        if abs(mech.constraints(mech.state(q=q)).residual[0]) < 1e-12:
            return mech, mech.state(q=q), upwards
    raise AssertionError


@pytest.mark.parametrize("method", ["DOP853", "Radau"])
@pytest.mark.parametrize("e", [0.0, 0.3])
@pytest.mark.parametrize("inertia", [0.2, 0.05])
def test_a_block_rocks_from_corner_to_corner(inertia, e, method):
    """The corner that rested only pushes: the impact of the other one lifts it. w+ = w (I - e m b^2 ...) by hand."""
    (mech, start, upwards), b, m = rocking(inertia), 0.1, 2.0
    impacts = [tm.Impact.of(name, restitution=e) for name in ("left", "right")]
    run = mech.simulate((0, 0.5), start, method, rtol=1e-9, events=impacts)
    assert run.success, run.message
    before, after = run.events[1].states[0].u, run.events[1].after[0].u
    w = abs(before[2])
    J = (1 + e) * 2 * b * w / (1 / m + b * b / inertia)
    assert_allclose(upwards @ before, -b * w, rtol=1e-6)
    assert_allclose(abs(after[2]), abs(w - J * b / inertia), rtol=1e-6)
    assert_allclose(upwards @ after, J / m - b * w, rtol=1e-6)
    here = [s for s in run.switched if s.t == run.events[1].t[0]]
    assert ("left", False) in [(s.name, s.holds) for s in here]
    assert len([s for s in run.switched if s.name == "left" and s.holds]) >= 1  # and it comes back
    energy = run.energy.total
    assert np.all(np.diff(energy) < 1e-7 * abs(energy[0]))


def test_a_block_that_rocks_ever_less_comes_to_rest_on_both_corners():
    mech, start, _ = rocking(
        0.05
    )  # 3/7 of the speed is left after each impact: infinitely many of them in 0.3 s
    run = mech.simulate((0, 1), start, rtol=1e-8)
    assert run.success and 10 < len(run.switched) < 100
    assert_allclose(run.u[-1], 0.0, atol=1e-9)
    for name in ("left", "right"):
        assert_allclose(run.connection(name).force[-1], [0, 0, G], atol=1e-6)


def test_a_flat_block_stops_where_both_corners_push():
    mech, start, _ = rocking(0.005)  # I < m b^2: the impact presses the other corner down
    run = mech.simulate((0, 0.2), start, rtol=1e-9)
    assert run.success and [(s.name, s.holds) for s in run.switched] == [("right", True)]
    assert_allclose(run.u[-1], 0.0, atol=1e-9)


def test_without_impacts_the_block_rocks_as_well():
    mech, start, _ = rocking(0.2)
    plain = mech.simulate((0, 0.5), start, rtol=1e-9)
    struck = mech.simulate(
        (0, 0.5), start, rtol=1e-9, events=[tm.Impact.of(name, restitution=0.0) for name in ("left", "right")]
    )
    assert [(s.name, s.holds) for s in plain.switched] == [(s.name, s.holds) for s in struck.switched]
    assert_allclose([s.t for s in plain.switched], [s.t for s in struck.switched], atol=1e-6)
    assert_allclose(plain.q[-1], struck.q[-1], atol=1e-6)
