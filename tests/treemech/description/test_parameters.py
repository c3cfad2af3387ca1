"""Parameters of systems: other values without compilation, equal to rebuilding; errors by name."""

import inspect
import time

import numpy as np
import pytest
from numba import config

import treemech as tm
from tests.support.parametric import (
    VALUES,
    four_bar,
    four_bar_start,
    spatial,
    spatial_start,
    tree,
    tree_start,
)

OTHER = {"g": 9.6, "l": 0.77, "m": 1.4, "k": 33.0, "c": 0.5, "a": 0.23, "w": 2.2}
MODELS = [
    pytest.param(tree, tree_start, id="tree"),
    pytest.param(four_bar, four_bar_start, id="four-bar"),
    pytest.param(spatial, spatial_start, id="spatial"),
]


def same(a, b):
    return all(np.array_equal(x, y) for x, y in ((a.t, b.t), (a.q, b.q), (a.u, b.u), (a.ud, b.ud)))


@pytest.mark.parametrize(("model", "start"), MODELS)
def test_new_values_equal_rebuilding_bit_for_bit(model, start):
    mech, other = model().build(), {**OTHER, "l": 1.03} if model is not tree else OTHER
    changed, plain = mech.with_parameters(**other), model(plain=True, **other).build()
    built, begin = model(**other).build(), start(plain)
    runs = [m.simulate((0, 0.5), (begin.q, begin.u), rtol=1e-7) for m in (changed, plain, built)]
    assert runs[0].success and same(runs[0], runs[1]) and same(runs[0], runs[2])
    # an assembly of new values comes from that of the declared ones: the same position, to rounding
    np.testing.assert_allclose(start(changed).q, begin.q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(start(changed).u, begin.u, rtol=0, atol=1e-12)
    assert changed.parameters == other
    back = changed.with_parameters(**mech.parameters)
    assert same(back.simulate((0, 0.5), start(back)), mech.simulate((0, 0.5), start(mech)))


def test_values_given_one_after_the_other_stay():
    mech = four_bar().build().with_parameters(k=12.0).with_parameters(m=2.0)
    assert (mech.parameters["k"], mech.parameters["m"], mech.parameters["l"]) == (12.0, 2.0, 1.0)
    assert "k" not in tm.System("none").build().parameters


def test_a_system_changed_after_building_leaves_the_mechanism_alone():
    system = four_bar()
    mech = system.build()
    bob = system.body("bob", 1.0, (0, 0, 0), com=(0, 0, -1.0))
    system.connect("pin", tm.Revolute("y"), system.ground, bob)
    assert mech.with_parameters(k=1.0).nu == mech.nu == system.build().nu - 1
    system.gravity = (0, 0, tm.Parameter("moon", -1.62))
    assert system.build().with_parameters(moon=-1.6)._info.gravity[2] == -1.6
    assert mech.with_parameters(k=1.0)._info.gravity[2] == -VALUES["g"]


def test_arrays_the_user_changes_later_do_not_count():
    system, com = tm.System("pendulum"), np.array([0.0, 0.0, -1.0])
    bob = system.body("bob", tm.Parameter("m", 1.0), (0, 0, 0), com=com)
    com[2] = 5.0
    system.connect("pin", tm.Revolute("y"), system.ground, bob)
    assert system.build().with_parameters(m=2.0).tree.bodies[1].com.tolist() == [0, 0, -1]


def test_parameters_reach_placed_ends_couplings_assemblies_composites_inputs_and_poses():
    def model(number):
        a, k = number("a", 0.4), number("k", 50.0)
        system = tm.System("all")
        arm = system.body("arm", 1.0, (0.1, 0.1, 0.1), pose=(a, 0, 0))
        wheel = system.body("wheel", 1.0, (0.1, 0.1, 0.1), pose=(2 * a, 0, 0))
        foot = system.body("foot", 1.0, (0.1, 0.1, 0.1))
        system.connect("A", tm.Revolute(), system.ground, arm, at=(0, a, 0), axis=(0, 1, a))
        system.connect("B", tm.Revolute(), arm, wheel, at=(a, a, 0), axis="y")
        system.couple("mesh", tm.Gear(ratio=a), "A", "B")
        link = tm.Composite(frames=("rod",))
        link.connect("u", tm.Universal(), "a", "rod")
        link.connect("s", tm.Ball(), link.at("rod", (0, 0, a)), "b")
        system.connect("link", link, system.ground, foot.at((0, a, 0)))
        pull = tm.Composite(points={"n": 3}, start={"n": (a, 0, 0.1)})
        pull.connect("one", tm.Spring(stiffness=k, length=a), "a", "n")
        pull.connect("two", tm.Spring(stiffness=2 * k, length=a), "n", "b")
        system.connect("pull", pull, system.ground.at((0, 0, 1)), foot)
        system.input("level", tm.Polynomial([0.0, k]))
        system.connect(
            "ram",
            tm.HydraulicActuator(area=1e-3 * a),
            system.ground.at((0, 1, 1)),
            arm,
            inputs={"pressure": "level"},
        )
        return system.build()

    mech = model(tm.Parameter).with_parameters(a=0.45, k=60.0)
    values = {"a": 0.45, "k": 60.0}
    plain = model(lambda name, _: values[name])
    assert np.array_equal(mech._core.layout.plan.constants, plain._core.layout.plan.constants)
    assert np.array_equal(mech._core.layout.parameters, plain._core.layout.parameters)
    assert same(mech.simulate((0, 0.1)), plain.simulate((0, 0.1)))


def test_errors_name_parameters_bodies_and_elements():
    mech = four_bar().build()
    with pytest.raises(
        tm.ElementError, match="there is no parameter 'l1': there are 'a', 'c', 'g', 'k', 'l', 'm', 'w'"
    ):
        mech.with_parameters(l1=0.3)
    with pytest.raises(tm.ElementError, match="mass of body 'crank' is -2; wanted zero or more"):
        mech.with_parameters(m=-2.0)
    with pytest.raises(tm.ElementError, match="parameter 'l' is inf; wanted a finite number"):
        mech.with_parameters(l=np.inf)
    system, r = tm.System("ramp"), tm.Parameter("r", 0.2)
    bob = system.body("bob", 1.0, (1, 1, 1))
    system.connect("A", tm.Revolute("z"), system.ground, bob)
    system.load("push", tm.Moment(z=tm.Spline([0, r], [0, 1])), bob)
    with pytest.raises(tm.ElementError, match="load 'push': Spline: times .* increasing"):
        system.build().with_parameters(r=-1.0)
    with pytest.raises(
        tm.ElementError, match="'third': two parameters are named 'r', with the values 0.2 and 0.3"
    ):
        system.body("third", tm.Parameter("r", 0.3), (0, 0, 0))
    with pytest.raises(tm.ElementError, match="wanted a number"):
        system.body("fourth", "heavy", (0, 0, 0))


@pytest.mark.skipif(config.DISABLE_JIT, reason="counts compilations")
def test_a_sweep_compiles_nothing_with_an_element_of_somebody_else():
    from treemech.kinematics.kernel.language import compilations

    mech = tree(foreign=True).build()
    mech.simulate((0, 0.05), tree_start(mech))
    with compilations() as compiled:
        for k in np.linspace(20.0, 40.0, 20):
            changed = mech.with_parameters(k=k, l=0.7 + k / 1000)
            assert changed.simulate((0, 0.05), tree_start(changed)).success
    assert not compiled.buffer
    plain = tree(plain=True, foreign=True, k=40.0, l=0.74).build()
    assert same(
        changed.simulate((0, 0.05), tree_start(changed)), plain.simulate((0, 0.05), tree_start(plain))
    )


def test_new_values_cost_no_more_than_a_few_builds():
    system = four_bar()
    mech = system.build()

    def least(f):
        times = []
        for _ in range(8):
            start = time.process_time()
            f()
            times.append(time.process_time() - start)
        return min(times)

    assert least(lambda: mech.with_parameters(k=31.0)) < 4 * least(system.build)


def test_elements_show_their_own_fields_to_help():
    assert str(inspect.signature(tm.Spring)).startswith("(stiffness")
    assert list(inspect.signature(tm.Revolute).parameters) == ["axis"]
