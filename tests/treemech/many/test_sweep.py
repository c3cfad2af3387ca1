"""Sweeps, samples, indices, studies and objectives over several workers."""

import numpy as np
import pytest
from scipy import stats

import treemech as tm
from tests.treemech.many.models import closed, four_bar, last_torque, pendulum


@pytest.fixture(scope="module")
def mech():
    return pendulum()


@pytest.fixture(scope="module")
def swing(mech):
    return tm.Experiment(t_span=(0, 0.5), start=mech.state(q={"A": 0.8}), rtol=1e-7)


def test_a_grid_has_the_order_of_a_design_study(mech, swing):
    designs = {"l1": [0.8, 1.0], "m2": [0.5, 1.0, 2.0]}
    table = tm.design_study(mech, swing, designs, ["final A.q", "max B.u"])
    runs = tm.sweep(mech, swing, designs, ["final A.q", "max B.u"], workers=2, block=2)
    for name in ("l1", "m2", "final A.q", "max B.u"):
        assert np.array_equal(runs[name], table[name])


def test_a_study_does_not_depend_on_workers():
    mech, experiment = four_bar(), tm.Experiment(t_span=(0, 0.3), start=closed)
    designs = {"l": [0.98, 9.0, 1.0, 1.02]}
    one, more = (
        tm.design_study(mech, experiment, designs, ["final A.q"], derivatives=True, workers=w) for w in (1, 3)
    )
    assert str(one) == str(more) and len(one.failures) == len(more.failures) == 1
    assert np.array_equal(one["final A.q/l"], more["final A.q/l"], equal_nan=True)


def test_a_kinematic_experiment_is_swept():
    l, system = tm.Parameter("l", 0.2), tm.System("crank", gravity=(0, 0, 0))
    bob = system.body("bob", mass=1.0, inertia=(1, 1, 1), com=(0, 0, -l))
    system.connect("A", tm.Revolute("y"), system.ground, bob)
    system.prescribe("A", tm.Harmonic(amplitude=1.0, frequency=2.0))
    experiment = tm.Experiment(cycle=np.linspace(0, 1, 9))
    table = tm.design_study(system.build(), experiment, {"l": [0.2, 0.4]}, ["max bob.com[0]"])
    runs = tm.sweep(system.build(), experiment, {"l": [0.2, 0.4]}, ["max bob.com[0]"])
    assert np.array_equal(runs["max bob.com[0]"], table["max bob.com[0]"])


@pytest.mark.parametrize("method", ["random", "latin", "sobol", "halton"])
def test_samples_have_their_distribution(method):
    found = tm.sample({"a": (2.0, 4.0), "b": stats.norm(10.0, 0.5)}, 512, method, seed=3)
    assert found.count == 512 and found["a"].min() >= 2.0 and found["a"].max() <= 4.0
    assert stats.kstest(found["a"], stats.uniform(2.0, 2.0).cdf).pvalue > 1e-3
    assert stats.kstest(found["b"], stats.norm(10.0, 0.5).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(found["a"], found["b"])[0, 1]) < 0.15
    again = tm.sample({"a": (2.0, 4.0), "b": stats.norm(10.0, 0.5)}, 512, method, seed=3)
    assert np.array_equal(again["b"], found["b"])
    assert method == "random" or abs(found["a"].mean() - 3.0) < 0.01  # better than chance, 0.026


def test_objectives_share_parameters_and_designs():
    mech = four_bar()
    experiment = tm.Experiment(t_span=(0, 0.4), start=closed)
    one, shared = (tm.Objective(mech, experiment, "max B.q", ["l", "k"], workers=w) for w in (1, 2))
    value, gradient = one([1.0, 40.0])
    value_2, gradient_2 = shared([1.0, 40.0])
    assert value_2 == value
    np.testing.assert_allclose(gradient_2, gradient, rtol=1e-7)
    X = [[1.0, 40.0], [9.0, 40.0], [1.02, 30.0]]
    found = shared.values(X)
    assert found[0] == one.value(X[0]) and found[2] == one.value(X[2]) and np.isnan(found[1])
    with pytest.raises(tm.TreemechError, match="l = 9"):
        shared([9.0, 40.0])


def test_pictures_show_columns(mech, swing):
    pytest.importorskip("matplotlib").use("Agg")
    runs = tm.sweep(
        mech, swing, tm.sample({"l1": (0.5, 1.5), "m2": (0.1, 3.0)}, 32, seed=1), ["max B.u", "final A.q"]
    )
    axes = runs.scatter("l1", "max B.u", "m2")
    assert axes.get_xlabel() == "l1" and len(axes.collections[0].get_offsets()) == 32
    axes = runs.parallel_coordinates("max B.u")
    assert [t.get_text() for t in axes.get_xticklabels()] == ["l1", "m2", "max B.u", "final A.q"]
    assert len(axes.collections[0].get_segments()) == 32
    with pytest.raises(tm.TreemechError, match="'nothing'"):
        runs.scatter("l1", "nothing")


def test_bad_ranges_are_named(mech, swing):
    with pytest.raises(tm.TreemechError, match="range of 'l1'"):
        tm.sample({"l1": (2.0, 1.0)}, 4)
    with pytest.raises(tm.TreemechError, match="method is 'dice'"):
        tm.sample({"l1": (1.0, 2.0)}, 4, "dice")
    with pytest.raises(tm.TreemechError, match="no tm.Experiment"):
        tm.sweep(mech, "swing", {"l1": [1.0]}, ["final A.q"])


@pytest.mark.extras
def test_sobol_indices_of_a_sum_are_known(mech):
    """The period of small swings of a spring: x = g / (k / m) does not depend on what is not in it."""
    pytest.importorskip("SALib")
    a, b, c = (tm.Parameter(n, 1.0) for n in "abc")
    system = tm.System("sum", gravity=(0, 0, 0))
    body = system.body("body", mass=1.0, inertia=(1, 1, 1))
    system.connect("A", tm.Prismatic("x"), system.ground, body)
    system.load("push", tm.Force(x=3.0 * a + 1.0 * b + 0.0 * c), body)
    experiment = tm.Experiment(t_span=(0, 1))
    found = tm.sobol_indices(
        system.build(), experiment, {n: (0.0, 1.0) for n in "abc"}, last_torque, n=256, seed=1, workers=2
    )
    np.testing.assert_allclose(
        found.first, [0.9, 0.1, 0.0], atol=0.03
    )  # linear: parts of the variance 9 : 1 : 0
    np.testing.assert_allclose(found.total, [0.9, 0.1, 0.0], atol=0.03)
    with pytest.raises(tm.TreemechError, match="the same number in all runs"):
        tm.sobol_indices(system.build(), experiment, {"c": (0.0, 1.0)}, "final A.q", n=4, seed=1)
    assert len(found.runs) == 256 * 5 and "0.9" in str(found)
