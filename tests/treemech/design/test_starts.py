"""Starts by the implicit function theorem: closed forms next to dead points, differences elsewhere."""

import numpy as np
import pytest

import treemech as tm
from tests.dynamics.analyses.test_parameter_derivatives import by_differences
from treemech.description.parameters import directions, neighbours
from treemech.design.starts import start_derivative
from treemech.dynamics.analyses.displacement import difference

UNIT = (1.0, (0.1, 0.1, 0.1))


def slider_crank(length):
    """Crank of length 1 that stands upright: x = sqrt(l^2 - 1), singular at l = 1."""
    l, w = tm.Parameter("l", length), tm.Parameter("w", 0.3)
    system = tm.System("slider-crank", gravity=(0, 0, 0))
    a, b = system.body("a", *UNIT), system.body("b", *UNIT)
    system.connect("A", tm.Revolute("z"), system.ground, a)
    system.connect("D", tm.Prismatic("x"), system.ground, b)
    system.connect("rod", tm.Distance(l), a.at((1, 0, 0)), b)
    system.load("T", tm.Moment(z=1.0 + 0.0 * w), a)
    return system.build()


def derivative(mech, start, names):
    found = start_derivative(mech, start, 0.0, neighbours(mech, names), directions(mech, names), names)
    return found.state, found.s, found.error


def by_neighbours(mech, start, name, step=5e-4):
    here = start(mech)

    def whole(m):
        x = start(m)
        return np.concatenate((difference(m._core, here.q, x.q), x.u, x.x))

    return by_differences(mech, name, whole, step)


@pytest.mark.parametrize("length", [1.5, 1.02, 1.002, 1.0001])
def test_the_start_next_to_a_dead_point_has_all_its_digits(length):
    mech = slider_crank(length)

    def start(m):
        rates = {"A": m.parameters["w"]}
        return m.assemble(fix={"A": np.pi / 2}, guess={"D": np.sqrt(length**2 - 1.0)}, rates=rates)

    state, s, error = derivative(mech, start, ["l", "w"])
    x = np.sqrt(length**2 - 1.0)
    assert not error.any() and state["D"][0][0] == pytest.approx(x, rel=1e-10)
    # x' = -w (upright crank: the pin moves by -w along x, and the rod keeps its length)
    np.testing.assert_allclose(s[:2, 0], [0.0, length / x], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(s[2:, 1], [1.0, -1.0], rtol=1e-9)
    assert abs(s[:2, 1]).max() < 1e-12
    assert s[2, 0] == pytest.approx(0.0, abs=1e-10) and s[3, 0] == pytest.approx(
        0.0, abs=1e-8 * length / x**2
    )


@pytest.mark.parametrize("length", [1.05, 1.005, 1.002])
def test_sensitivities_next_to_a_dead_point_match_differences_of_short_steps(length):
    mech = slider_crank(length)

    def start(m):
        near = np.sqrt(m.parameters["l"] ** 2 - 1.0)
        return m.assemble(fix={"A": np.pi / 2}, guess={"D": near}, rates={"A": 0.3})

    found = mech.sensitivities((0, 0.2), start, ["l"], [0.0, 0.2], rtol=1e-10)

    def end(h):
        m = mech.with_parameters(l=length + h)
        return m.simulate((0, 0.2), start(m), rtol=1e-13, atol=1e-13, t_eval=[0, 0.2]).q[-1]

    h = 1e-4 * (length - 1.0)
    want = (8.0 * (end(h) - end(-h)) - (end(2 * h) - end(-2 * h))) / (12.0 * h)
    np.testing.assert_allclose(found.q[-1, :, 0], want, rtol=1e-6)
    assert found.error.shape == (1,) and found.error[0] <= 1e-10


def four_bar(cut="C"):
    l, angle = tm.Parameter("l", 1.0), tm.Parameter("angle", -0.9)
    system = tm.System("four-bar", gravity=(0, 0, -9.81))
    crank = system.body("crank", 1.0, (0, 1 / 12, 1 / 12), com=(0.5 * l, 0, 0))
    coupler = system.body("coupler", 3.0, (0, 9 / 4, 9 / 4), com=(1.5, 0, 0))
    rocker = system.body("rocker", 2.5, (0, 1.3, 1.3), com=(1.25, 0, 0))
    ends = {
        "A": (system.ground, crank),
        "B": (crank.at((l, 0, 0)), coupler),
        "C": (coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0))),
        "D": (system.ground.at((3.5, 0, 0)), rocker),
    }
    for name, (a, b) in ends.items():
        system.connect(name, tm.Revolute("y"), a, b, role="chord" if name == cut else "branch")
    system.load("turn", tm.Moment(y=1.0 + 0.0 * angle), crank)
    return system.build()


STARTS = {
    "fixed by a branch": lambda m: m.assemble(fix={"A": -0.9}, guess={"B": 0.9, "D": -1.2}, rates={"A": 2.0}),
    "numbers of the parameters": lambda m: m.assemble(
        fix={"A": m.parameters["angle"] * m.parameters["l"]},
        guess={"B": 0.9, "D": -1.2},
        rates={"D": 3.0 * m.parameters["angle"] ** 2},
    ),
    "fixed by a cut hinge": lambda m: m.assemble(
        fix={"C": -1.13}, guess={"A": -0.9, "B": 0.3, "D": -1.73}, rates={"A": 2.0}
    ),
    "rate of a cut hinge": lambda m: m.assemble(
        fix={"A": -0.9}, guess={"B": 0.9, "D": -1.2}, rates={"C": 1.5}
    ),
    "two calls": lambda m: m.assemble(
        fix={"A": -0.9},
        guess={"B": m.assemble(fix={"A": -0.8}, guess={"B": 0.9, "D": -1.2})["B"][0], "D": -1.2},
    ),
}


@pytest.mark.parametrize("kind", STARTS)
def test_starts_match_differences(kind):
    mech, start = four_bar(), STARTS[kind]
    _, s, error = derivative(mech, start, ["l", "angle"])
    assert not error.any()
    for j, name in enumerate(("l", "angle")):
        want = by_neighbours(mech, start, name)
        np.testing.assert_allclose(s[:, j], want, rtol=0, atol=1e-8 * (1.0 + np.abs(want).max()))


def test_free_rates_are_the_least_ones_and_change_so():
    """A five-bar with one of two rates given: the other rates have the least sum of squares, also next to it."""
    l = tm.Parameter("l", 0.6)
    system = tm.System("five-bar", gravity=(0, 0, -9.81))
    links = [system.body(f"link {k}", 1.0, (0.01, 0.05, 0.05), com=(0.3, 0, 0)) for k in range(4)]
    system.connect("A", tm.Revolute("y"), system.ground, links[0])
    system.connect("B", tm.Revolute("y"), links[0].at((l, 0, 0)), links[1])
    system.connect("E", tm.Revolute("y"), system.ground.at((0.8, 0, 0)), links[3])
    system.connect("D", tm.Revolute("y"), links[3].at((0.6, 0, 0)), links[2])
    system.connect("C", tm.Revolute("y"), links[1].at((0.7, 0, 0)), links[2].at((0.7, 0, 0)), role="chord")
    mech = system.build()

    def start(m):
        return m.assemble(fix={"A": -2.0, "E": -1.1}, guess={"B": 1.2, "D": -1.0}, rates={"A": 1.0})

    _, s, error = derivative(mech, start, ["l"])
    want = by_neighbours(mech, start, "l")
    assert not error.any()
    np.testing.assert_allclose(s[:, 0], want, rtol=0, atol=1e-8 * np.abs(want).max())


def test_a_start_that_was_searched_for_is_differenced_with_its_error():
    mech = four_bar()

    def start(m):
        return m.equilibrium(m.assemble(fix={"A": -0.9}, guess={"B": 0.9, "D": -1.2})).state

    _, s, error = derivative(mech, start, ["l"])
    assert 0.0 < error[0] < 1e-6
    want = by_neighbours(mech, start, "l", 1e-4)
    assert np.max(np.abs(s[:, 0] - want)) < 1e-7 * np.abs(want).max()
    near = slider_crank(1.0025)

    def bent(m):
        return m.state(q={"A": np.pi / 2, "D": np.sqrt(m.parameters["l"] ** 2 - 1.0)})

    with pytest.raises(tm.TreemechError, match="the start bends too much with 'l' to be differenced"):
        derivative(near, bent, ["l"])


def test_stiff_motions_take_a_stiff_method():
    k, system = tm.Parameter("k", 1.0), tm.System("stiff", gravity=(0, 0, -9.81))
    body = system.body("b", *UNIT)
    system.connect("p", tm.Prismatic("z"), system.ground, body)
    spring = tm.Spring(stiffness=k * 1e3, damping=1e6, length=1.0)
    system.connect("d", spring, system.ground.at((0, 0, -2.0)), body)
    mech, times = system.build(), np.linspace(0, 10, 6)
    found = mech.sensitivities((0, 10), mech.state(), ["k"], times, 1e-8, "Radau", 1e-12)
    assert found.run.method == "Radau" and found.run.statistics["steps"] < 400
    # 1e6 v + 1e3 k (q + 1) + 9.81 = 0 on the slow motion: q = (q_e - q_e exp(-k t / 1000)), q_e = -1 - 9.81e-3 / k
    slow = np.exp(-times / 1000.0)
    want = 9.81e-3 * (1.0 - slow) + (-1.0 - 9.81e-3) * times / 1000.0 * slow
    np.testing.assert_allclose(found.q[:, 0, 0], want, rtol=0, atol=1e-5 * np.abs(want).max())
    one = tm.Experiment((0, 10), start=lambda m: m.state(), t_eval=times, method="Radau", atol=1e-12)
    value, gradient = tm.Objective(mech, one, "final p.q", ["k"])([1.0])
    assert gradient[0] == pytest.approx(found.q[-1, 0, 0], rel=1e-7)
    table = tm.design_study(mech, one, {"k": [1.0, 2.0]}, ["final p.q"], derivatives=True)
    assert not table.failures and table["final p.q/k"][0] == pytest.approx(gradient[0], rel=1e-7)
    assert one.run(mech).method == "Radau" and value == pytest.approx(table["final p.q"][0], rel=1e-7)
