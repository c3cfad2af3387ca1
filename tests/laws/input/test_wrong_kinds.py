"""Arguments of the wrong kind: every call refuses them by an error of our own."""

import numpy as np
import pytest

import treemech as tm
from tests.support import driven


@pytest.fixture(scope="module")
def four_bar():
    return driven.four_bar()


def named(given):
    """Return the name of a case: the same in every process, so without an address."""
    return "object" if type(given) is object else repr(given)


NO_NAMES = (3, None, 1.5, [[1, 2], [3]], [3], {3: 4}, b"A", object())


@pytest.mark.parametrize("given", NO_NAMES[:1] + NO_NAMES[2:], ids=named)
@pytest.mark.parametrize(
    "call",
    [
        lambda m, s, x: m.drive_loads(s, np.zeros(m.nu), actuated=x),
        lambda m, s, x: m.inverse_dynamics(s, np.zeros(m.nu), actuated=x),
        lambda m, s, x: m.equilibrium(s, free=x), lambda m, s, x: m.linearize(s, hold=x),
        lambda m, s, x: m.linearize(s, inputs=x), lambda m, s, x: m.linearize(s, outputs=x),
        lambda m, s, x: m.linearize(s, coordinates=x), lambda m, s, x: m.derivatives(s, parameters=x),
        lambda m, s, x: m.sensitivities((0, 1), parameters=x), lambda m, s, x: m.assemble(open=x),
        lambda m, s, x: m.kinematic_sensitivities([0, 1], parameters=x),
    ],
)  # fmt: skip
def test_lists_of_names_that_are_none(call, given, four_bar):
    mech, state = four_bar
    with pytest.raises(tm.TreemechError):
        call(mech, state, given)


def test_one_name_stands_for_a_list_of_it(four_bar):
    mech, state = four_bar
    assert np.array_equal(
        mech.drive_loads(state, {"A": 0.0}, actuated="A"), mech.drive_loads(state, {"A": 0.0}, actuated=["A"])
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda m, s: m.pose([], s), lambda m, s: m.velocity({}, s), lambda m, s: m.jacobian([1], s),
        lambda m, s: m.assemblies(attempts=None), lambda m, s: m.assemblies(attempts=10**40),
        lambda m, s: m.assemble(rate_weights=3), lambda m, s: m.assemble(t=10**400),
        lambda m, s: m.simulate((0, 1), s, resume=3), lambda m, s: m.simulate((0, 1), s, t_eval=10**400),
        lambda m, s: m.simulate((0, 1), s, atol=10**400),
        lambda m, s: m.simulate((0, 0.01), s, dense_output=True).sol("x"),
        lambda m, s: m.simulate((0, 0.01), s).phase(None), lambda m, s: m.simulate((0, 0.01), s).plot("A", axes=3),
        lambda m, s: m.simulate((0, 0.01), s).measure([]), lambda m, s: m.sensitivities(None, s),
        lambda m, s: m.sensitivities((0, "x"), s), lambda m, s: m.sensitivities((0, 1), 3),
        lambda m, s: m.sensitivities((0, 1), lambda mech: 3), lambda m, s: m.sensitivities((0, 1), None, t_eval=[2.0]),
        lambda m, s: m.sensitivities((0, 1), None, t_eval="x"), lambda m, s: m.step(s, 0.1, rtol=None),
        lambda m, s: m.step(s, 0.1, method=[]), lambda m, s: m.summary(style=[]), lambda m, s: m.to_urdf(3),
        lambda m, s: m.simulate_many(states=3, t_span=(0, 1)), lambda m, s: m.simulate_many(states="x", t_span=(0, 1)),
        lambda m, s: m.simulate_many(states=[s], t_span=(0, 1), inputs=3),
        lambda m, s: m.simulate_many(states=[s], t_span=(0, 1), parameters="x"),
        lambda m, s: m.state(x="x"), lambda m, s: m.state(t=[[1, 2], [3]]), lambda m, s: m.state(q=10**400),
    ],
)  # fmt: skip
def test_arguments_of_the_wrong_kind_are_refused_by_our_own_errors(call, four_bar):
    mech, state = four_bar
    with pytest.raises(tm.TreemechError):
        call(mech, state)


@pytest.mark.parametrize("name", [3, None, [], {}, object()], ids=named)
def test_names_that_are_no_texts(name):
    system = tm.System("nameless")
    body = system.body("b", 1.0, (1, 1, 1))
    hinge = system.connect("A", tm.Revolute("z"), system.ground, body)
    for call in (
        lambda: system.connect(name, tm.Revolute("z"), system.ground, body), lambda: system.load(name, tm.Force(x=1.0), body),
        lambda: system.measure(name, "A.q"), lambda: system.frame(name, body), lambda: system.input(name, 1.0),
        lambda: system.couple(name, tm.Mimic(2.0), hinge, hinge), lambda: system.prescribe(name, 1.0),
        lambda: system.limit(name, -1.0, 1.0), lambda: system.controller(name, abs, 0.1, ("A.q",), ("y",)),
    ):  # fmt: skip
        with pytest.raises(tm.TreemechError):
            call()
