"""Impacts with restitution: closed forms, momentum and constraints on both sides of a blow."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

import treemech as tm
from tests.support.driven import four_bar
from tests.treemech.simulation.test_events import METHODS

G, E = 9.81, 0.9


def bounces(count, height=1.0, restitution=E):
    """Closed form: times of the impacts of a ball that is dropped."""
    first = np.sqrt(2 * height / G)
    flights = 2 * first * restitution ** np.arange(1, count)
    return first + np.concatenate(([0.0], np.cumsum(flights)))


def ball(radius=0.1, restitution=E):
    """A free ball, and the ground below it."""
    system = tm.System("ball", gravity=(0, 0, -G))
    body = system.body("ball", 0.5, (0.002, 0.002, 0.002))
    system.connect("flight", tm.Free(), system.ground, body)
    impact = tm.Impact.between(
        system.ground, body, normal=(0, 0, 1), distance=radius, restitution=restitution
    )
    mech = system.build()
    state = mech.state(q={"flight": [0, 0, 1 + radius, 1, 0, 0, 0]}, u={"flight": [0.3, -0.2, 0, 1, 2, 3]})
    return mech, state, impact


@pytest.mark.parametrize("method", METHODS)
def test_the_first_twenty_bounces_of_a_ball_come_in_time(method):
    mech, state, impact = ball()
    options = {"max_step": 0.05} if method == "RK4" else {"rtol": 1e-9}
    run = mech.simulate((0, bounces(21)[-1]), state, method, events=impact, **options)
    assert_allclose(run.events[0].t[:20], bounces(20), atol=1e-9, rtol=0)
    height = run.body("ball").position[:, 2]
    assert height.min() > 0.1 - 1e-12
    for before, after in zip(run.events[0].states, run.events[0].after, strict=True):
        assert_allclose(after.u[2], -E * before.u[2], rtol=1e-14)
        assert_allclose(np.delete(after.u, 2), np.delete(before.u, 2), atol=1e-14)
        loss = mech.energy(before).kinetic - mech.energy(after).kinetic
        assert_allclose(loss, 0.5 * 0.5 * before.u[2] ** 2 * (1 - E**2), rtol=1e-12)


def test_a_ball_that_comes_to_rest_ends_the_run_with_a_word():
    mech, state, impact = ball(restitution=0.5)
    run = mech.simulate((0, 10), state, events=impact)
    end = np.sqrt(2 / G) * 1.5 / 0.5
    assert not run.success and "'impact of ground and ball' comes to rest" in run.message
    assert abs(run.t[-1] - end) < 1e-5 and run.body("ball").position[:, 2].min() > 0.1 - 1e-12


def floor(restitution):
    """A mass above a unilateral constraint."""
    system = tm.System("floor", gravity=(0, 0, -G))
    mass = system.body("mass", 2.0, (0.1, 0.1, 0.1))
    system.connect("guide", tm.Prismatic("z"), system.ground, mass)
    system.connect("floor", tm.InPlane(unilateral=True), system.ground, mass)
    mech = system.build()
    return mech, mech.state(q={"guide": 1.0}), tm.Impact.of("floor", restitution=restitution, at_rest=0.01)


def test_a_unilateral_constraint_rebounds_and_holds_at_rest():
    mech, state, impact = floor(E)
    run = mech.simulate((0, 9), state, rtol=1e-10, events=impact)
    assert run.success, run.message
    assert_allclose(run.events[0].t[:20], bounces(20), atol=1e-9, rtol=0)
    ((t, name, holds),) = run.switched
    assert name == "floor" and holds
    assert (
        0.0 < np.sqrt(2 / G) * (1 + E) / (1 - E) - t < 2 * 0.01 / G / (1 - E)
    )  # what is left of the bounces
    rest = run.t > t
    force = run.connection("floor").force[:, 2]
    assert rest.any() and np.all(force[run.t < t] == 0.0)
    assert_allclose(force[rest], 2.0 * G, rtol=1e-9)
    assert np.abs(run.q[rest]).max() < 1e-12 and np.abs(run.u[rest]).max() < 1e-12


def test_without_an_impact_a_unilateral_constraint_takes_all_of_the_blow():
    mech, state, impact = floor(0.0)
    plain = mech.simulate((0, 1), state, rtol=1e-9)
    plastic = mech.simulate((0, 1), state, rtol=1e-9, events=impact)
    for run in (plain, plastic):
        assert run.success and len(run.switched) == 1
        assert abs(run.switched[0].t - bounces(1)[0]) < 1e-8 and abs(run.u[-1, 0]) < 1e-12
    assert len(plastic.events[0].t) == 1


def test_a_mass_bounces_on_a_moving_platform():
    """The rate of the gap counts, not that of the mass; by hand until the second blow."""
    system = tm.System("platform", gravity=(0, 0, -G))
    mass = system.body("mass", 2.0, (0.1, 0.1, 0.1))
    system.connect("guide", tm.Prismatic("z"), system.ground, mass)
    lift = tm.Polynomial([0.0, 0.5])
    system.connect("platform", tm.InPlane(distance=lift, unilateral=True), system.ground, mass)
    mech = system.build()
    run = mech.simulate(
        (0, 1.2), mech.state(q={"guide": 1.0}), rtol=1e-10, events=tm.Impact.of("platform", restitution=0.5)
    )
    first = (-0.5 + np.sqrt(0.25 + 2 * G)) / G
    closing = G * first + 0.5
    assert_allclose(run.events[0].t[:2], [first, first + 2 * 0.5 * closing / G], atol=1e-9)
    assert_allclose(run.events[0].after[0].u, 0.5 + 0.5 * closing, rtol=1e-9)


def test_balls_on_a_line_exchange_their_speeds():
    """Equal masses, no loss: the last one leaves with the speed of the first, through those at rest in contact."""
    system = tm.System("cradle", gravity=(0, 0, 0))
    balls = [system.body(f"b{k}", 1.5, (0.1, 0.1, 0.1)) for k in range(4)]
    for k, body in enumerate(balls):
        system.connect(f"x{k}", tm.Prismatic("x"), system.ground, body)
    impacts = [tm.Impact.between(a, b, distance=0.2) for a, b in pairwise(balls)]
    mech = system.build()
    start = mech.state(q={"x0": -1.0, "x1": 0.0, "x2": 0.2, "x3": 0.4}, u={"x0": 2.0})
    run = mech.simulate((0, 1), start, rtol=1e-9, events=impacts)
    assert run.success, run.message
    assert [len(e.t) for e in run.events] == [1, 1, 1]
    assert_allclose([e.t[0] for e in run.events], 0.4, atol=1e-9)
    assert_allclose(run.u[-1], [0, 0, 0, 2.0], atol=1e-12)


def test_two_bodies_that_turn_keep_their_momenta():
    rng = np.random.default_rng(4)
    system = tm.System("collision", gravity=(0, 0, 0))
    a, b = (
        system.body(n, m, (0.3 * m, 0.4 * m, 0.5 * m), com=(0.1, -0.05, 0.02))
        for n, m in (("a", 1.0), ("b", 3.0))
    )
    for body in (a, b):
        system.connect(f"free {body.name}", tm.Free(), system.ground, body)
    impact = tm.Impact.between(
        a.at((0.5, 0.1, 0)), b.at((-0.4, 0.2, 0.1)), normal=(1, 0.2, 0), restitution=0.6
    )
    mech = system.build()
    q = {"free a": [0, 0, 0, 1, 0, 0, 0], "free b": [3, 0, 0, 1, 0, 0, 0]}
    u = {"free a": [1.0, 0, 0, *rng.normal(size=3)], "free b": [-2.0, 0, 0, *rng.normal(size=3)]}
    run = mech.simulate((0, 2), mech.state(q=q, u=u), rtol=1e-10, events=impact)
    assert len(run.events[0].t) >= 1
    for before, after in zip(run.events[0].states, run.events[0].after, strict=True):
        for old, new in zip(mech.momentum(before), mech.momentum(after), strict=True):
            assert_allclose(new, old, atol=1e-12)
        assert mech.energy(after).kinetic < mech.energy(before).kinetic
    energy = run.energy.kinetic
    steps = np.diff(run.t) > 0
    assert np.abs(np.diff(energy)[steps]).max() < 1e-7  # it changes in blows alone


@pytest.mark.parametrize("where", ["limit", "wall"])
def test_a_blow_on_a_closed_chain_obeys_the_dense_equations(where):
    mech, state = four_bar()
    tip = next(b for b in mech.tree.bodies if b.name == "rocker").at((1.5, 0, 0))
    if where == "limit":
        impact, e = tm.Impact.at_limit("A", upper=0.5, restitution=0.4), 0.4
    else:
        impact, e = (
            tm.Impact.between(mech.tree.bodies[0], tip, normal=(1, 0, 0), distance=2.8, restitution=0.7),
            0.7,
        )
    run = mech.simulate((0, 0.9), state, rtol=1e-9, events=impact)
    assert run.success and len(run.events[0].t) >= (2 if where == "limit" else 1)
    for before, after in zip(run.events[0].states, run.events[0].after, strict=True):
        J = np.array([[-1.0, 0, 0]]) if where == "limit" else mech.jacobian(tip, before)[:1]
        P, A = mech.constraints(before).partials, mech.mass_matrix(before)
        B = np.vstack((J, P))
        kkt = np.block([[A, B.T], [B, np.zeros((len(B), len(B)))]])
        right = np.concatenate((A @ before.u, -e * J @ before.u, np.zeros(len(P))))
        assert_allclose(after.u, np.linalg.lstsq(kkt, right, rcond=1e-12)[0][:3], atol=1e-10)
        assert_allclose(J @ after.u, -e * J @ before.u, atol=1e-11)
        assert np.abs(mech.constraints(mech.state(after.t, after.q, after.u)).velocity).max() < 1e-11
    assert run.residual.velocity.max() < 1e-9
    gap = (
        0.5 - run.connection("A").q
        if where == "limit"
        else run.point("rocker", (1.5, 0, 0)).position[:, 0] - 2.8
    )
    assert gap.min() > -1e-12


def test_limits_of_a_pendulum_keep_its_energy_without_loss():
    system = tm.System("pendulum", gravity=(0, 0, -G))
    bob = system.body("bob", 1.3, (0, 0, 0), com=(0, 0, -0.7))
    system.connect("A", tm.Revolute("y"), system.ground, bob)
    mech = system.build()
    stops = [tm.Impact.at_limit("A", upper=0.5), tm.Impact.at_limit("A", lower=-0.3)]
    run = mech.simulate((0, 5), mech.state(u={"A": 3.0}), rtol=1e-10, events=stops)
    assert min(len(e.t) for e in run.events) > 3
    assert_allclose(run.energy.total, run.energy.total[0], rtol=1e-8)
    assert run.q.min() > -0.3 - 1e-12 and run.q.max() < 0.5 + 1e-12


def test_a_ball_that_lies_on_the_ground_does_not_fall_through():
    mech, _, impact = ball()
    run = mech.simulate((0, 1), mech.state(q={"flight": [0, 0, 0.1, 1, 0, 0, 0]}), events=impact)
    assert not run.success and "comes to rest" in run.message and run.t[-1] < 1e-6


@pytest.mark.parametrize(
    ("impact", "message"),
    [
        (lambda: tm.Impact.at_limit("B", upper=1.0), "there is no hinge 'B'"),
        (lambda: tm.Impact.at_limit("A"), "upper= or lower="),
        (lambda: tm.Impact.at_limit("A", lower=0.0, restitution=1.2), "restitution of 'limit of A' is 1.2"),
        (lambda: tm.Impact.of("A", restitution=0.5), "unilateral constraint 'A'"),
        (lambda: tm.Impact("A.q > 0"), "made by Impact.at_limit"),
    ],
    ids=["hinge", "limit", "restitution", "unilateral", "plain"],
)
def test_impacts_that_mean_nothing_are_refused_by_name(impact, message):
    system = tm.System("pendulum")
    bob = system.body("bob", 1.3, (0, 0, 0), com=(0, 0, -0.7))
    system.connect("A", tm.Revolute("y"), system.ground, bob)
    with pytest.raises(tm.TreemechError, match=message):
        system.build().simulate((0, 1), events=impact())


def test_a_driven_coordinate_cannot_rebound():
    system = tm.System("driven")
    bob = system.body("bob", 1.3, (0, 0, 0), com=(0, 0, -0.7))
    system.connect("A", tm.Revolute("y"), system.ground, bob)
    system.prescribe("A", lambda t: 2.0 * t)
    with pytest.raises(tm.ElementError, match="'limit of A' cannot rebound"):
        system.build().simulate((0, 1), events=tm.Impact.at_limit("A", upper=1.0))


def test_a_run_backwards_leads_to_its_start():
    mech, state, impact = ball()
    there = mech.simulate((0, 3), state, rtol=1e-11, events=impact)
    back = mech.simulate((3, 0), mech.state(3.0, there.q[-1], there.u[-1]), rtol=1e-11, events=impact)
    assert len(there.events[0].t) > 2
    assert_allclose(back.events[0].t[::-1], there.events[0].t, atol=1e-9)
    assert_allclose(back.q[-1], state.q, atol=1e-8)
    assert_allclose(back.u[-1], state.u, atol=1e-8)


# ---------------------------------------------------------------- mistakes are told
def body():
    return tm.System("any").body("stone", 1.0, (1, 1, 1))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: tm.Impact.at_limit("A", upper=1.0, restitution="much"),
            "restitution of 'limit of A' is 'much'",
        ),
        (lambda: tm.Impact.at_limit("A", upper=1.0, at_rest=np.nan), "at_rest of 'limit of A'"),
        (lambda: tm.Impact.at_limit("A", upper=np.nan), "limit of 'A' is nan"),
        (lambda: tm.Impact.at_limit("A", lower="low"), "limit of 'A' is 'low'"),
        (lambda: tm.Impact.between("floor", body(), normal=(0, 0, 1)), "'floor' is neither a body"),
        (lambda: tm.Impact.between(body(), body(), normal=(0, 0, 0)), r"normal .*\(0, 0, 0\)"),
        (lambda: tm.Impact.between(body(), body(), distance=np.inf), "distance .* inf"),
    ],
)
def test_an_impact_that_means_nothing_is_refused_when_it_is_made(make, words):
    with pytest.raises(tm.TreemechError, match=words):
        make()


@pytest.mark.parametrize("place", ["D[-1]", "D[x]", "D[1]", "D[]"])
def test_a_limit_of_a_coordinate_that_is_not_there_is_refused(place):
    mech, state = four_bar()
    with pytest.raises(tm.ElementError, match="wanted one of its 1 coordinates"):
        mech.simulate((0, 1), state, events=tm.Impact.at_limit(place, upper=9.0))


def test_a_speed_of_a_cut_hinge_is_not_given_by_an_action():
    mech, state = four_bar()
    (cut,) = (c.name for c in mech._info.chords)
    halt = tm.Event(lambda t, state: t - 0.2, action=lambda t, state: {f"{cut}.u": 0.0}, name="halt")
    with pytest.raises(tm.ElementError, match=f"action of event 'halt'.*{cut!r} is cut"):
        mech.simulate((0, 1), state, events=halt)


def test_a_start_beyond_a_limit_is_refused_unless_it_comes_back():
    mech, state = four_bar()
    angle, limit = state["A"][0][0], state["A"][0][0] - 0.1  # and it turns on, upwards
    with pytest.raises(tm.ElementError, match=r"'limit of A'.*beyond it by 0\.1 "):
        mech.simulate((0, 1), state, events=tm.Impact.at_limit("A", upper=limit))
    back = mech.assemble(fix={"A": angle}, rates={"A": -6.0})
    run = mech.simulate((0, 0.1), back, events=tm.Impact.at_limit("A", upper=limit))
    assert run.success and not len(run.events[0].t) and run.connection("A").q[-1] < limit


def test_rest_comes_as_it_does_however_long_the_run_is_to_be():
    """Rebounds that follow each other within a small part of the whole run are no accumulation."""
    mech, state, _ = floor(0.9)
    found = []
    for span in (10.0, 1e5):
        run = mech.simulate((0, span), state, events=tm.Impact.of("floor", restitution=0.9))
        assert run.success and run.switched[-1].holds
        found.append(run.events[0].t)
    assert_allclose(found[0], found[1], atol=1e-6)
