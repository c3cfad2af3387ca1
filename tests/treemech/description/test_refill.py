"""A refilled mechanism equals the one that is built anew, to the bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treemech as tm
from tests.support import parametric
from tests.treemech.many.models import closed, floating, four_bar, pendulum
from treemech.description.refill import confirmed
from treemech.files.checkpoint import fingerprint
from treemech.kinematics.layout.refill import same_structure

MAKERS = {
    "pendulum": pendulum, "four_bar": four_bar, "floating": floating, "parametric four-bar": lambda: parametric.four_bar().build(),
    "parametric tree": lambda: parametric.tree().build(),
}  # fmt: skip


@pytest.fixture(scope="module")
def mechanisms():
    return {name: make() for name, make in MAKERS.items()}


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(MAKERS)), st.data())
def test_a_refill_is_a_mechanism_built_anew(mechanisms, name, data):
    mech = mechanisms[name]
    names = data.draw(st.sets(st.sampled_from(sorted(mech.parameters)), min_size=1, max_size=3))
    values = {n: mech.parameters[n] * data.draw(st.floats(0.5, 1.6)) for n in names}
    mech._refilling.announce(names)
    new, anew = mech.with_parameters(**values), mech._origin.build(values)
    assert same_structure(new._layout, anew._layout)
    assert new.parameters == anew.parameters and fingerprint(new) == fingerprint(anew)
    if new._core.loops is not None:
        a, b = new._core.loops, anew._core.loops
        assert np.array_equal(a.work.scale, b.work.scale) and np.array_equal(a.vanishing, b.vanishing)
        assert np.array_equal(a.usual, b.usual)
        assert all(np.array_equal(x, y) for x, y in zip(a.plan, b.plan, strict=True))


def test_masses_lengths_and_springs_can_be_refilled(mechanisms):
    for name in ("pendulum", "four_bar", "floating"):
        mech = mechanisms[name]
        for parameter in mech.parameters:
            assert confirmed(mech, frozenset([parameter])) is not None, (name, parameter)


def test_runs_of_refilled_designs_are_those_of_new_ones(mechanisms):
    mech = mechanisms["four_bar"]
    mech._refilling.announce(["l", "k"])
    for length in (0.95, 1.02, 1.1):
        new, anew = mech.with_parameters(l=length, k=35.0), mech._origin.build({"l": length, "k": 35.0})
        assert mech._refilling.refill(["l", "k"]) is not None
        runs = [m.simulate((0, 0.5), closed(m), rtol=1e-8) for m in (new, anew)]
        assert np.array_equal(runs[0].q, runs[1].q) and np.array_equal(runs[0].ud, runs[1].ud)
        assert np.array_equal(runs[0].element("spring").effort, runs[1].element("spring").effort)
        assert np.array_equal(runs[0].body("crank").position, runs[1].body("crank").position)


def test_designs_of_designs_keep_all_values(mechanisms):
    mech = mechanisms["pendulum"]
    for x in (1.1, 1.2, 1.3, 1.4):
        twice = mech.with_parameters(l1=x).with_parameters(m2=2 * x)
        assert twice.parameters == {"l1": x, "m2": 2 * x}
        assert same_structure(twice._layout, mech._origin.build({"l1": x, "m2": 2 * x})._layout)


def test_what_cannot_be_refilled_is_built_anew():
    w, system = tm.Parameter("w", 2.0), tm.System("driven")
    bob = system.body("bob", mass=1.0, inertia=(1, 1, 1))
    system.connect("A", tm.Revolute("y"), system.ground, bob)
    system.prescribe("A", tm.Harmonic(amplitude=0.1, frequency=w))
    mech = system.build()
    assert confirmed(mech, frozenset(["w"])) is None
    found = [mech.with_parameters(w=x).kinematics([0.3]).u[0, 0] for x in (1.0, 2.0, 3.0, 4.0)]
    assert len(set(found)) == 4


def test_bad_values_are_refused_as_by_a_new_model(mechanisms):
    mech = mechanisms["pendulum"]
    mech._refilling.announce(["m2", "l1"])
    for values in ({"m2": -1.0}, {"l1": 0.0}):
        with pytest.raises(tm.TreemechError) as anew:
            mech._origin.build(values)
        with pytest.raises(type(anew.value)) as refused:
            mech.with_parameters(**values)
        assert str(refused.value) == str(anew.value)
