"""Assembly with weights: the closed position and the rates nearest to what is wished."""

import numpy as np
import pytest
from scipy.optimize import minimize

import treemech as tm
from tests.support.mechanisms import random_mechanism

LENGTHS = (1.0, 1.2, 0.9, 1.1)  # of the bars of a five-bar chain, ground hinges 1.5 apart
PINS = ("A", "B", "C", "D", "E")
GUESS = {"A": 1.4, "B": -0.9, "C": -1.2, "D": -0.8, "E": 2.0}


def five_bar(cut="E"):
    """Two freedoms; every angle is relative to the bar before, the last one that of the ground to the last bar."""
    system = tm.System("five-bar")
    end = system.ground.at()
    for pin, length in zip(PINS, LENGTHS):
        bar = system.body(f"bar {pin}", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(length / 2, 0, 0))
        system.connect(pin, tm.Revolute("z"), end, bar, role="chord" if pin == cut else None)
        end = bar.at((length, 0, 0))
    system.connect(
        "E", tm.Revolute("z"), end, system.ground.at((1.5, 0, 0)), role="chord" if cut == "E" else None
    )
    return system.build()


def angles(state):
    return np.array([state[pin][0][0] for pin in PINS])


def gap(q):
    """How far the chain is from closing, written down anew."""
    directions = np.cumsum(q[:4])
    tip = sum(L * np.array([np.cos(a), np.sin(a)]) for L, a in zip(LENGTHS, directions))
    return np.array([tip[0] - 1.5, tip[1], np.sin(0.5 * np.sum(q))])


def nearest(weights, guess=GUESS):
    """The same by scipy."""
    w, q0 = np.array([weights.get(pin, 1.0) for pin in PINS]), np.array([guess[pin] for pin in PINS])
    found = minimize(
        lambda q: w @ (q - q0) ** 2, q0, jac=lambda q: 2 * w * (q - q0), method="SLSQP",
        constraints={"type": "eq", "fun": gap}, options={"ftol": 1e-15, "maxiter": 500},
    )  # fmt: skip
    return found.x


@pytest.mark.parametrize("weights", [{}, {"A": 10.0, "C": 0.1}, {"B": 0.0, "E": 5.0}, {"D": 1e4}], ids=str)
def test_the_nearest_closed_position_is_that_of_a_general_optimiser(weights):
    found = angles(five_bar().assemble(guess=GUESS, weights=weights))
    np.testing.assert_allclose(gap(found), 0.0, atol=1e-12)
    np.testing.assert_allclose(found, nearest(weights), atol=2e-6)  # what SLSQP reaches


@pytest.mark.parametrize("weights", [{"A": 10.0, "C": 0.1}, {"B": 0.0, "E": 5.0}, {"D": 1e4}], ids=str)
def test_the_conditions_of_a_minimum_hold(weights):
    """grad of the sum of squares is a combination of the rows of the constraints (Karush, Kuhn, Tucker)."""
    q = angles(five_bar().assemble(guess=GUESS, weights=weights))
    w = np.array([weights.get(pin, 1.0) for pin in PINS])
    pull = w * (q - np.array([GUESS[pin] for pin in PINS]))
    h = 1e-20
    rows = np.array([gap(q + 1j * h * e).imag / h for e in np.eye(5)]).T
    left = pull - rows.T @ np.linalg.lstsq(rows.T, pull)[0]
    assert np.max(np.abs(left)) < 1e-11 * max(1.0, np.max(np.abs(pull)))


@pytest.mark.parametrize("cut", PINS)
def test_the_same_position_is_found_whichever_hinge_is_cut(cut):
    weights = {"A": 3.0, "D": 0.2}
    state = five_bar(cut).assemble(guess=GUESS, weights=weights)
    np.testing.assert_allclose(
        angles(state), angles(five_bar().assemble(guess=GUESS, weights=weights)), atol=1e-11
    )


def test_a_large_weight_keeps_the_guess_and_none_gives_it_up():
    mech = five_bar()
    moved = [
        np.abs(angles(mech.assemble(guess=GUESS, weights={"A": w}))[0] - GUESS["A"])
        for w in (1e8, 1e2, 1.0, 0.0)
    ]
    assert moved[0] < 1e-7 and moved[0] < moved[1] < moved[2] < moved[3]
    free = mech.assemble(guess=GUESS, weights={"A": 0.0})
    elsewhere = mech.assemble(guess={**GUESS, "A": GUESS["A"] + 0.2}, weights={"A": 0.0})
    np.testing.assert_allclose(angles(elsewhere), angles(free), atol=1e-10)  # nobody looks at the guess of A


def test_what_is_fixed_stays_fixed_among_weights():
    found = five_bar().assemble(fix={"A": 1.3}, guess=GUESS, weights={"C": 0.1})
    want = nearest({"A": 1e9, "C": 0.1}, {**GUESS, "A": 1.3})
    assert found["A"][0][0] == 1.3
    np.testing.assert_allclose(angles(found), want, atol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_no_closed_position_around_is_nearer_in_spatial_chains(seed):
    made, rng = random_mechanism(seed, planar=False), np.random.default_rng(seed)
    mech = made.system.build()
    guess = {n: q + 0.05 * rng.normal(size=len(q)) for n, q in made.q.items()}
    for name, q in guess.items():
        if made.system.connections[name].element.euler_parameters == 0:
            q /= np.linalg.norm(q)
    weights = {n: rng.uniform(0.1, 5.0) for n in made.q}
    state = mech.assemble(guess=guess, weights=weights)

    def size(state):
        total = 0.0
        for name, target in guess.items():
            q, hinge = state[name][0], made.system.connections[name].element
            if hinge.euler_parameters is None:
                total += weights[name] * np.sum((q - target) ** 2)
            else:  # four times the square of the sine of half the angle between them
                total += weights[name] * 4.0 * (1.0 - (q @ target) ** 2 / (target @ target))
        return total

    least = size(state)
    P = mech.constraints(state).partials
    N = np.linalg.svd(P)[2][np.linalg.matrix_rank(P, tol=1e-9) :].T
    for h in (1e-3, 1e-4):
        for direction in (*N.T, *-N.T):
            q = np.concatenate(
                [c.hinge.move(state.q[c.q_slice], h * direction[c.u_slice]) for c in mech._lagrange.hinges]
            )
            cut = {c.name: state[c.name][0] for c in mech.tree.chords}
            other = mech.assemble(guess={**{c.name: q[c.q_slice] for c in mech._lagrange.hinges}, **cut})
            assert size(other) > least - 1e-12, direction


def test_rates_with_weights_are_wished_for_and_not_held():
    mech = five_bar()
    fix = {"A": 1.4, "B": -0.9}
    wishes = {"A": 1.0, "C": -0.4, "E": 0.3}
    state = mech.assemble(fix=fix, guess=GUESS, rates=wishes, rate_weights={"A": 4.0, "C": 1.0, "E": 0.5})
    u = np.array([state[pin][1][0] for pin in PINS])
    q, h = angles(state), 1e-20
    rows = np.array([gap(q + 1j * h * e).imag / h for e in np.eye(5)]).T
    np.testing.assert_allclose(rows @ u, 0.0, atol=1e-12)
    N = np.linalg.svd(rows)[2][3:].T
    root = np.sqrt([4.0, 1.0, 1.0, 1.0, 0.5])
    y = np.linalg.lstsq(root[:, None] * N, root * np.array([1.0, 0, -0.4, 0, 0.3]))[0]
    np.testing.assert_allclose(u, N @ y, atol=1e-11)
    held = mech.assemble(fix=fix, guess=GUESS, rates={"A": 1.0}, rate_weights={"C": 2.0})
    assert held["A"][1][0] == 1.0


@pytest.mark.parametrize(
    "options, message",
    [
        ({"weights": {"Q": 1.0}}, "weight of 'Q'.*no hinge 'Q'"),
        ({"weights": {"A": -1.0}}, "the weight of 'A' is -1.0; wanted a number of at least 0"),
        ({"weights": {"A[2]": 1.0}}, "'A' has 1 speeds"),
        ({"weights": {"A": 1.0}, "fix": {"A": 0.3}}, "'A' is fixed and has a weight"),
    ],
)
def test_weights_that_make_no_sense_are_refused(options, message):
    with pytest.raises(tm.TreemechError, match=message):
        five_bar().assemble(guess={}, **options)


@pytest.mark.parametrize("angle", [0.3, 1.5, 2.9])
def test_gears_assembled_more_than_half_a_turn_away_keep_their_turns(angle):
    """The turns that a gear pair counts belong to the state: it can be simulated, and every state of the run too."""
    system = tm.System("planet", gravity=(0, 0, 0))
    sun, wheel = (system.body(n, 1.0, (0.1, 0.1, 0.1)) for n in ("sun", "wheel"))
    system.connect("sun", tm.Revolute("z"), system.ground, sun)
    system.connect("wheel", tm.Planar("z"), system.ground, wheel)
    system.connect("arm", tm.Distance(0.3), sun, wheel)
    system.connect("mesh", tm.GearPair(0.2, 0.1), sun, wheel)
    system.prescribe("sun", tm.Polynomial([0.0, 1.0]))
    mech = system.build()
    place = 0.3 * np.array([np.cos(angle), np.sin(angle)])
    near = {"wheel[0]": place[0], "wheel[1]": place[1]}
    for start in (mech.assemble(guess=near), mech.assemblies(guess=near)[0]):
        assert np.max(np.abs(start["wheel"][0][:2] - place)) < 0.01  # the second wishes for an angle too
        run = mech.simulate((0, 1), start, rtol=1e-9)
        again = mech.simulate((1, 2), run.state(), rtol=1e-9)
        assert run.success and again.success
        q = again.connection("wheel").q[-1]
        turned = 3.0 * np.arctan2(q[1], q[0]) - 2.0 * again.t[-1]  # of the wheel, as the meshes let it
        assert abs(np.sin(0.5 * (q[2] - turned))) < 1e-7
