"""Sensitivities of whole runs against differences of whole runs, and of anything computed from them."""

from math import pi

import numpy as np
import pytest
from scipy.optimize import minimize

import treemech as tm
from tests.dynamics.analyses.test_parameter_derivatives import by_differences
from tests.support.parametric import four_bar, four_bar_start, spatial, spatial_start, tree, tree_start
from treemech.description.parameters import directions
from treemech.dynamics.analyses import dual_model as varied_model
from treemech.dynamics.analyses.displacement import difference
from treemech.dynamics.analyses.dual_model import DualModel
from treemech.dynamics.analyses.parameter_derivatives import Stencil

RUN = 1e-7  # sensitivities to rtol 1e-10, differences of runs to rtol 1e-12 (1e-12 / 0.002); far better than 1e-6 asked for


def final(run):
    return np.concatenate((run.q[-1], run.u[-1]))


MODELS = [
    pytest.param(tree, tree_start, ("l", "m", "a", "w", "k"), id="tree"),
    pytest.param(four_bar, four_bar_start, ("l", "k", "a", "w"), id="four-bar"),
    pytest.param(spatial, spatial_start, ("l", "a", "m", "c"), id="spatial"),
]


@pytest.mark.parametrize(("model", "start", "names"), MODELS)
def test_motion_and_functions_of_a_run_match_differences_of_runs(model, start, names):
    mech, span, times = model().build(), (0.0, 0.6), np.linspace(0.0, 0.6, 7)
    found = mech.sensitivities(span, start, names, times, rtol=1e-10)
    body = mech.tree.bodies[-1].name
    hinge = mech._lagrange.hinges[0].name

    def judged(run):
        """A coordinate, a force, an energy and an integral."""
        height, load = run.body(body).com[:, 2], run.connection(hinge).force
        squares = np.sum(height**2)
        return np.array([height[-1], load[-1, 2], run.energy.total[-1], squares])

    derivatives = found.of(judged)
    for j, name in enumerate(names):

        def whole(m):
            run = m.simulate(span, start(m), rtol=1e-12, atol=1e-13, t_eval=times)
            step = difference(m._core, found.run.q[-1], run.q[-1])
            return np.concatenate((step, run.u[-1], judged(run)))

        want = by_differences(mech, name, whole, 5e-4)  # motions bend more than equations do
        n, size = mech.nu, np.max(np.abs(want[: 2 * mech.nu]))
        assert np.max(np.abs(found.q[-1, :, j] - want[:n])) < RUN * size, name
        assert np.max(np.abs(found.u[-1, :, j] - want[n : 2 * n])) < RUN * size, name
        error = np.abs(derivatives[:, j] - want[2 * n :])
        assert np.all(error < RUN * np.maximum(np.abs(want[2 * n :]), size)), name


def test_differences_of_whole_models_give_the_same(monkeypatch):
    """What is left where an element has no slopes."""
    mech, other = four_bar().build(), four_bar().build()
    exact = mech.sensitivities((0, 0.3), four_bar_start, ["l", "k"], rtol=1e-9)
    assert all(isinstance(x, DualModel) for x in directions(mech, ["l", "k"]))
    monkeypatch.setattr(varied_model, "obstacle", lambda *_: "nothing")
    found = other.sensitivities((0, 0.3), four_bar_start, ["l", "k"], rtol=1e-9)
    assert all(isinstance(x, Stencil) for x in directions(other, ["l", "k"]))
    assert np.max(np.abs(found.q - exact.q)) < 1e-8 * np.max(np.abs(exact.q))
    assert np.max(np.abs(found.u - exact.u)) < 1e-8 * np.max(np.abs(exact.u))


def test_a_pendulum_in_closed_form():
    """Small swings from rest: q = q0 cos(sqrt(g/l) t)."""
    l, system = tm.Parameter("l", 1.7), tm.System("pendulum", gravity=(0, 0, -tm.Parameter("g", 9.81)))
    bob = system.body("bob", 1.0, (0, 0, 0), com=(0, 0, -l))
    system.connect("pin", tm.Revolute("y"), system.ground, bob)
    mech = system.build()
    times = np.linspace(0, 2, 21)
    found = mech.sensitivities((0, 2), mech.state(q={"pin": 1e-5}), ["g", "l"], times, rtol=1e-10)
    w = np.sqrt(9.81 / 1.7)
    want = -1e-5 * times * np.sin(w * times)
    size = np.max(np.abs(want)) * w
    assert np.max(np.abs(found.of("pin.q")[:, 0] - want * w / 2 / 9.81)) < 1e-8 * size
    assert np.max(np.abs(found.of("pin.q")[:, 1] + want * w / 2 / 1.7)) < 1e-8 * size


def test_states_of_elements_and_their_sensitivities():
    system, k = tm.System("lag"), tm.Parameter("k", 40.0)
    bob = system.body("bob", tm.Parameter("m", 1.0), (0.1, 0.1, 0.1))
    system.connect("pin", tm.Prismatic("z"), system.ground, bob)
    system.connect("solid", tm.Viscoelastic(k, [2 * k], [0.3], length=1.5), bob, system.ground.at((0, 0, 2)))
    mech, times = system.build(), np.linspace(0, 1, 5)

    def start(m):
        return m.state(q={"pin": 0.3})

    found = mech.sensitivities((0, 1), start, ["k", "m"], times, rtol=1e-9)
    for j, name in enumerate(("k", "m")):
        want = by_differences(
            mech,
            name,
            lambda m: (r := m.simulate((0, 1), start(m), rtol=1e-12, t_eval=times)).z[:, 0] + r.q[:, 0],
        )
        assert np.max(np.abs(found.x[:, 0, j] + found.q[:, 0, j] - want)) < RUN * np.max(np.abs(want))


def slider_crank():
    """Driven, with offset: x = r cos q + sqrt(l^2 - (r sin q - e)^2)."""
    r, l, e, w = (tm.Parameter(n, v) for n, v in (("r", 0.3), ("l", 0.9), ("e", 0.1), ("w", 2 * pi)))
    system = tm.System("slider-crank", gravity=(0, 0, 0))
    crank = system.body("crank", 1.0, (0.1, 0.1, 0.1))
    rod = system.body("rod", 1.0, (0.1, 0.1, 0.1), com=(l / 2, 0, 0))
    slider = system.body("slider", 1.0, (0.1, 0.1, 0.1))
    system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.connect("B", tm.Revolute("z"), crank.at((r, 0, 0)), rod)
    system.connect("S", tm.Prismatic("x"), system.ground.at((0, e, 0)), slider)
    system.connect("C", tm.Revolute("z"), rod.at((l, 0, 0)), slider, role="chord")
    system.prescribe("A", tm.Polynomial([0.0, w]))
    return system.build()


def test_a_kinematic_cycle_in_closed_form_with_rates_accelerations_and_drive():
    mech, times = slider_crank(), np.linspace(0.0, 1.0, 13)

    def start(m):
        return m.assemble(guess={"S": 1.2})

    found = mech.kinematic_sensitivities(times, start)
    names = found.parameters
    assert names == ["e", "l", "r", "w"]
    r, l, e = 0.3, 0.9, 0.1
    q = 2 * pi * times
    h, D = r * np.sin(q) - e, np.sqrt(l**2 - (r * np.sin(q) - e) ** 2)
    x_q = -r * np.sin(q) - h * r * np.cos(q) / D
    want = np.column_stack((h / D, l / D, np.cos(q) - h * np.sin(q) / D, x_q * times))
    assert np.max(np.abs(found.of("S.q") - want)) < 1e-10

    def rest(run):
        """Rates, accelerations, and the load of the drive."""
        return np.array([run.measure("S.u"), run.measure("S.ud"), run.measure("B.u"), run.drive("A")])

    derivatives = found.of(rest)
    for j, name in enumerate(names):
        other = by_differences(mech, name, lambda m: rest(m.kinematics(times, start(m))))
        size = np.max(np.abs(other), axis=1)[:, None]
        assert np.all(np.abs(derivatives[..., j] - other) < 1e-9 * size), name


def test_what_has_no_sensitivities_says_why():
    mech = four_bar().build()
    with pytest.raises(tm.TreemechError, match="with closed chains a start cannot stay as it is"):
        mech.sensitivities((0, 1), four_bar_start(mech), ["l"])
    with pytest.raises(tm.ElementError, match="there is no parameter 'spam'"):
        mech.sensitivities((0, 1), four_bar_start, ["spam"])
    system = tm.System("held")
    bob = system.body("bob", tm.Parameter("m", 1.0), (1, 1, 1))
    system.connect("pin", tm.Revolute("z"), system.ground, bob)
    rest, end = tm.Parameter("end", 0.5), tm.Parameter("level", 1.0)
    system.load("step", tm.Moment(z=tm.Spline([0.0, rest], [0.0, end])), bob)
    moved = system.build()
    with pytest.raises(tm.TreemechError, match="no sensitivities by 'end': it moves a time"):
        moved.sensitivities((0, 1), None, ["end"])
    level = moved.sensitivities((0, 1), None, ["level"], [0.0, 0.25, 0.7, 1.0])
    want = by_differences(
        moved, "level", lambda m: m.simulate((0, 1), rtol=1e-12, t_eval=[0.0, 0.25, 0.7, 1.0]).q[:, 0]
    )
    assert np.max(np.abs(level.q[:, 0, 0] - want)) < RUN * np.max(want)


def test_a_prescribed_rate_that_jumps_is_refused():
    system = tm.System("jump")
    bob = system.body("bob", tm.Parameter("m", 1.0), (1, 1, 1))
    system.connect("pin", tm.Revolute("z"), system.ground, bob)
    system.prescribe("pin", tm.Function(lambda t: t if t < 0.5 else 0.5, (0.5,)))
    with pytest.raises(tm.TreemechError, match="a prescribed rate jumps at t = 0.5 s"):
        system.build().sensitivities((0, 1))


# ---------------------------------------------------------------- objectives
@pytest.mark.parametrize(
    "what", ["final height", "max height", "min height", "mean coupler.velocity[2]", "rms A.q"]
)
def test_statistics_of_measures_and_their_gradients(what):
    mech = four_bar().build()
    experiment = tm.Experiment((0, 0.8), start=four_bar_start, t_eval=np.linspace(0, 0.8, 81), rtol=1e-9)
    objective = tm.Objective(mech, experiment, what, ["l", "k"])
    value, gradient = objective(objective.x0)
    assert abs(value - objective.value(objective.x0)) < 1e-7 * abs(value)
    for j, h in enumerate(1e-4 * objective.x0):
        step = h * np.eye(2)[j]
        there, back = objective.value(objective.x0 + step), objective.value(objective.x0 - step)
        assert abs(gradient[j] - (there - back) / (2 * h)) < 1e-5 * max(abs(gradient[j]), 1e-2)


def test_a_peak_between_samples_is_found():
    from treemech.design.experiment import _statistic

    t = np.linspace(0, 3, 31)
    value, weights = _statistic("max", t, np.sin(t))
    assert abs(value - 1.0) < 1e-8 and abs(weights @ np.sin(t) - value) < 1e-12
    assert _statistic("max", t, t)[0] == 3.0 and _statistic("min", t, np.cos(t))[0] == pytest.approx(
        np.cos(3.0)
    )


def test_an_objective_for_scipy_and_its_errors():
    """The stiffness with which a swing arrives where it should, found with the gradient."""
    mech = four_bar().build()
    experiment = tm.Experiment((0, 0.4), start=four_bar_start, rtol=1e-8)
    target = tm.Objective(mech, experiment, "final A.q", ["k"]).value([35.0])
    objective = tm.Objective(mech, experiment, lambda run: (run.q[-1, 0] - target) ** 2, ["k"])
    found = minimize(objective, objective.x0, jac=True, method="BFGS", options={"gtol": 1e-10})
    assert abs(found.x[0] - 35.0) < 1e-3
    with pytest.raises(tm.TreemechError, match="l = 9: the chain does not close"):
        tm.Objective(mech, experiment, "final A.q", ["l"]).value([9.0])
    with pytest.raises(tm.ElementError, match="'A.q' is not one number of a run"):
        tm.Objective(mech, experiment, "A.q", ["l"]).value([1.0])
    with pytest.raises(tm.ElementError, match="give t_span"):
        tm.Experiment()


def test_inputs_that_are_held_are_no_memory():
    """A motor whose input nobody sets changes nothing."""

    def crank(driven):
        k, system = tm.Parameter("k", 40.0), tm.System("crank", gravity=(0, 0, -9.81))
        arm = system.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.4, 0, 0))
        system.connect("A", tm.Revolute("y"), system.ground, arm)
        system.connect("spring", tm.Spring(k, 0.3, 0.5), arm.at((0.5, 0, 0)), system.ground.at((0, 0, 1)))
        if driven:
            system.connect("motor", tm.Actuator(), "A", inputs={"command": "torque"})
            system.input("torque")
        return system.build()

    free, held = (
        mech.sensitivities((0, 0.5), mech.state(q={"A": 0.3}), t_eval=[0.25, 0.5], rtol=1e-10)
        for mech in (crank(False), crank(True))
    )
    assert np.allclose(free.q, held.q, rtol=1e-9, atol=1e-14) and np.max(np.abs(free.q)) > 1e-3


@pytest.mark.parametrize("viscous", [(), ("n",)])
def test_internal_points_are_no_memory(viscous):
    """Where a point was sought from is kept from call to call, and changes nothing; models with composites were refused."""
    system = tm.System("forearm", gravity=(0, 0, -9.81))
    arm = system.body("arm", 1.0, (0.1, 0.1, 0.1), com=(0.3, 0, 0))
    system.connect("elbow", tm.Revolute("y"), system.ground, arm)
    link = tm.Composite(ends=("a", "b"), points={"n": 1}, viscous=viscous)
    k, d = tm.Parameter("k", 200.0), tm.Parameter("d", 5.0)
    link.connect("near", tm.Spring(30.0, d if viscous else 0.0, 0.3), "a", "n")
    link.connect("far", tm.Spring(k, length=0.3), "n", "b")
    system.connect("link", link, system.ground.at((0, 0, 1)), arm.at((0.6, 0, 0)))
    mech = system.build()

    def start(mech):
        return mech.assemble(fix={"elbow": 0.2})

    def run(**values):
        other = mech.with_parameters(**values)
        return other.simulate((0, 0.5), start(other), rtol=1e-12, atol=1e-13, t_eval=[0.5])

    found = mech.sensitivities((0, 0.5), start, t_eval=[0, 0.5])
    effort = found.of(lambda run: run.element("link.far").effort[-1])
    for j, name in enumerate(found.parameters):
        step = 1e-5 * mech.parameters[name]
        above, below = (run(**{name: mech.parameters[name] + sign * step}) for sign in (1.0, -1.0))
        assert abs(found.q[-1, 0, j] - (above.q - below.q)[0, 0] / (2 * step)) < 1e-8
        efforts = [r.element("link.far").effort[-1] for r in (above, below)]
        assert abs(effort[..., j].squeeze() - np.squeeze(efforts[0] - efforts[1]) / (2 * step)) < 1e-6


def rope(damping):
    """A mass that tightens a rope: its load begins without or, with damping, with a jump."""
    system = tm.System("rope", gravity=(0, 0, 0))
    mass = system.body("mass", 1.0, (0.1, 0.1, 0.1))
    system.connect("A", tm.Prismatic("x"), system.ground, mass)
    k, length = tm.Parameter("k", 400.0), tm.Parameter("length", 0.7)
    pull = tm.Spring(k, damping, length, only="tension")
    system.connect("rope", pull, system.ground.at((-0.2, 0, 0)), mass)
    return system.build()


def fast(mech):
    return mech.state(u={"A": 2.0})


def by_runs(mech, name, end):
    return by_differences(mech, name, lambda m: final(m.simulate((0, end), fast(m), rtol=1e-12, atol=1e-13)))


def test_a_load_that_begins_without_a_jump_is_smooth_enough():
    mech = rope(0.0)
    found = mech.sensitivities((0, 0.35), fast, t_eval=[0, 0.35], rtol=1e-9)
    for j, name in enumerate(found.parameters):
        here = np.concatenate((found.q[-1, :, j], found.u[-1, :, j]))
        assert np.allclose(here, by_runs(mech, name, 0.35), rtol=1e-6)


def test_a_load_that_jumps_with_the_state_is_refused_by_name():
    """Their sensitivities jump too: 1.2948 was given for 1.4128, with an error of 7e-9."""
    with pytest.raises(tm.TreemechError, match="the load of 'rope' jumps at t = 0.25 s"):
        rope(3.0).sensitivities((0, 0.35), fast)
    assert rope(3.0).sensitivities((0, 0.2), fast).q.shape[1:] == (1, 2)  # not before it is tight
    system = tm.System("switched", gravity=(0, 0, 0))
    mass = system.body("mass", 1.0, (0.1, 0.1, 0.1))
    system.connect("A", tm.Prismatic("x"), system.ground, mass)
    system.connect(
        "spring", tm.Spring(tm.Parameter("k", 4.0), length=0.5), system.ground.at((-1, 0, 0)), mass
    )
    system.load("wind", tm.ForceFunction(lambda t, q, u: (-5.0 if q[0] > 0.1 else 0.0, 0.0, 0.0)), mass, "A")
    with pytest.raises(tm.TreemechError, match="the load of 'wind' jumps at t = 0.05"):
        system.build().sensitivities((0, 0.35), fast)


def test_a_stop_after_hertz_has_sensitivities():
    """Its stiffness begins like a square root: pieces of time get shorter towards the corner, where they did not settle before."""
    system = tm.System("stop", gravity=(0, 0, 0))
    mass = system.body("mass", 1.0, (0.1, 0.1, 0.1))
    system.connect("A", tm.Prismatic("x"), system.ground, mass)
    stop = tm.HingeStop(upper=tm.Parameter("upper", 0.5), stiffness=tm.Parameter("k", 1e4))
    system.connect("stop", stop, "A")
    mech = system.build()
    found = mech.sensitivities((0, 0.6), fast, t_eval=[0, 0.26, 0.6], rtol=1e-8)
    assert np.all(found.error < 1e-8)
    for j, name in enumerate(found.parameters):
        inside = np.array([found.q[1, 0, j], found.u[1, 0, j]])
        assert np.allclose(inside, by_runs(mech, name, 0.26), rtol=3e-6), name
        here = np.array([found.q[2, 0, j], found.u[2, 0, j]])
        # errors are parts of the largest derivative by the parameter, some hundreds within the contact
        assert np.allclose(here, by_runs(mech, name, 0.6), rtol=3e-6, atol=3e-7), name
