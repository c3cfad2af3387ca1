"""The compiled integrator: order, output, laws along a motion, and reports when it cannot go on."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

import treemech as tm
from tests.support.models import KINDS, any_hinge, inertia, random_state, random_system, rotation
from treemech.simulation.simulate import tolerances

SCLERONOMIC = tuple(kind for kind in KINDS if kind != "Moving")
FLAT = tuple(
    kind for kind in SCLERONOMIC if kind != "Curve"
)  # a table of points is smooth piece by piece only


@pytest.fixture(scope="module")
def chain():
    """Revolute, ball, free: Euler parameters and plain coordinates; and a lively state."""
    rng = np.random.default_rng(3)
    system = tm.System("chain")
    previous = system.ground
    for k, kind in enumerate(("Revolute", "Ball", "Cylindrical", "Free")):
        body = system.body(f"b{k}", 1.0, inertia(rng, 1.0), com=rng.uniform(-0.2, 0.2, 3))
        system.connect(
            kind,
            any_hinge(rng, kind),
            previous.at(rng.uniform(-0.3, 0.3, 3), rotation(rng)),
            body.at((0, 0, 0.3)),
        )
        previous = body
    mech = system.build()
    return mech, replace(random_state(mech, 4), t=0.0)


@pytest.fixture(scope="module")
def fine(chain):
    mech, state = chain
    return mech.simulate((0, 1), state, rtol=1e-13, atol=1e-15, t_eval=np.linspace(0, 1, 11))


def distance(a, b):
    return float(np.max(np.abs(np.hstack((a.q[-1] - b.q[-1], a.u[-1] - b.u[-1])))))


# ---------------------------------------------------------------- order
@pytest.mark.parametrize("method, order, counts", [("DOP853", 8, (20, 40, 80)), ("DP5", 5, (40, 80, 160))])
def test_errors_fall_with_the_order_of_the_method(chain, fine, method, order, counts):
    mech, state = chain
    errors = []
    for count in counts:  # a tolerance that accepts everything, so that max_step is the step
        run = mech.simulate(
            (0, 1), state, method, rtol=0.5, atol=1e9, max_step=1 / count, first_step=1 / count
        )
        assert count <= run.statistics["steps"] <= count + 1 and run.statistics["rejected"] == 0
        errors.append(distance(run, fine))
    slopes = np.diff(np.log(errors)) / np.diff(np.log(1 / np.array(counts)))
    assert errors[-1] > 1e-13, "at the floor: the slope says nothing"
    assert slopes[-1] > order - 0.5, (errors, slopes)


@pytest.mark.parametrize("method", ["DOP853", "DP5"])
def test_errors_follow_the_tolerance(chain, fine, method):
    mech, state = chain
    errors = [
        distance(mech.simulate((0, 1), state, method, rtol=rtol), fine) for rtol in (1e-4, 1e-6, 1e-8, 1e-10)
    ]
    assert all(b < 0.1 * a for a, b in pairwise(errors)), errors


# ---------------------------------------------------------------- output
@pytest.mark.parametrize("method", ["DOP853", "DP5"])
def test_output_at_step_ends_is_the_step_itself(chain, method):
    mech, state = chain
    steps = mech.simulate((0, 1), state, method, rtol=1e-8)
    output = mech.simulate((0, 1), state, method, rtol=1e-8, t_eval=steps.t)
    np.testing.assert_array_equal(output.t, steps.t)
    np.testing.assert_array_equal(output.q, steps.q)
    np.testing.assert_array_equal(output.u, steps.u)
    assert output.statistics["steps"] == steps.statistics["steps"]


@pytest.mark.parametrize("method", ["DOP853", "DP5"])
@pytest.mark.parametrize("span", [(0.0, 1.0), (0.0, -1.0)])
def test_dense_output_agrees_with_output_times_and_step_ends(chain, method, span):
    mech, state = chain
    times = np.linspace(*span, 57)
    run = mech.simulate(span, state, method, rtol=1e-8, dense_output=True)
    output = mech.simulate(span, state, method, rtol=1e-8, t_eval=times)
    q, u = run.sol(times)
    np.testing.assert_allclose(q, output.q, atol=1e-12)
    np.testing.assert_allclose(u, output.u, atol=1e-11)
    q, u = run.sol(run.t)
    np.testing.assert_allclose(q, run.q, atol=1e-12)
    np.testing.assert_allclose(u, run.u, atol=1e-11)
    one_q, one_u = run.sol(times[20])
    assert one_q.shape == (mech.nq,) and one_u.shape == (mech.nu,)


@pytest.mark.parametrize("method", ["DOP853", "DP5"])
def test_interpolated_output_is_as_accurate_as_the_steps(chain, fine, method):
    mech, state = chain
    run = mech.simulate((0, 1), state, method, rtol=1e-8, t_eval=fine.t)
    errors = np.max(np.abs(run.q - fine.q), axis=1)
    assert np.max(errors) < 10 * max(errors[-1], 1e-9)


def test_backward_integration_returns_to_the_start(chain):
    mech, state = chain
    there = mech.simulate((0, 1.5), state, rtol=1e-11)
    back = mech.simulate((1.5, 0), (1.5, there.q[-1], there.u[-1]), rtol=1e-11)
    assert back.success and back.t[0] == 1.5 and back.t[-1] == 0.0
    assert np.max(np.abs(back.q[-1] - state.q)) < 1e-8
    assert np.max(np.abs(back.u[-1] - state.u)) < 1e-8


@pytest.mark.parametrize("method", ["DOP853", "DP5"])
def test_euler_parameters_keep_their_length(chain, method):
    mech, state = chain
    starts = mech._lagrange.euler_parameters
    assert len(starts) == 2
    run = mech.simulate((0, 3), state, method, rtol=1e-4, dense_output=True)
    output = mech.simulate((0, 3), state, method, rtol=1e-4, t_eval=np.linspace(0, 3, 100))
    for q in (run.q, output.q, run.sol(np.linspace(0, 3, 100))[0]):
        for a in starts:
            assert np.max(np.abs(np.linalg.norm(q[:, a : a + 4], axis=1) - 1.0)) < 1e-14


def test_a_state_of_any_length_of_euler_parameters_starts_normalised(chain):
    mech, state = chain
    q = state.q.copy()
    a = next(iter(mech._lagrange.euler_parameters))
    q[a : a + 4] *= 1.5
    run, same = mech.simulate((0, 0.2), (q, state.u)), mech.simulate((0, 0.2), state)
    np.testing.assert_allclose(run.q[-1], same.q[-1], atol=1e-12)


def test_a_span_without_length_gives_the_start(chain):
    mech, state = chain
    run = mech.simulate((0, 0), state, dense_output=True)
    assert run.success and len(run.t) == 1
    with pytest.raises(tm.TreemechError, match="no step"):
        run.sol(0.0)
    assert len(mech.simulate((0, 0), state, t_eval=[0.0]).t) == 1


# ---------------------------------------------------------------- laws
@pytest.mark.parametrize("seed", range(6))
def test_energy_is_conserved_without_loads(seed):
    mech = random_system(seed, n=13, kinds=SCLERONOMIC, loads=False).build()
    run = mech.simulate((0, 0.3), random_state(mech, seed, speed=0.5), rtol=1e-11)
    total = run.energy.total
    assert run.success
    assert np.max(np.abs(total - total[0])) < 1e-9 * np.max(np.abs(run.energy.kinetic))


def floating(seed):
    """A random tree whose bodies hang on a base that floats; no gravity."""
    system = random_system(seed, n=8, kinds=FLAT, loads=False, gravity=(0, 0, 0))
    base = system.body("base", 1.3, (0.1, 0.2, 0.25), com=(0.1, 0.0, -0.1))
    for name, connection in system.connections.items():
        ends = tuple(
            base.at(end.offset, end.rotation) if end.body is system.ground else end for end in connection.ends
        )
        system.connections[name] = replace(connection, ends=ends)
    return system


@pytest.mark.parametrize("seed", range(4))
def test_momentum_of_a_floating_system_is_conserved(seed):
    mech = floating(seed).build()
    state = random_state(mech, seed, speed=0.5)
    run = mech.simulate((0, 0.5), state, rtol=1e-11)
    assert run.success
    first, last = (mech.momentum((run.t[k], run.q[k], run.u[k])) for k in (0, -1))
    scale = max(np.linalg.norm(first.linear), np.linalg.norm(first.angular))
    assert np.max(np.abs(last.linear - first.linear)) < 1e-9 * scale
    assert np.max(np.abs(last.angular - first.angular)) < 1e-9 * scale


def gauss(t0, t1, panels=20, points=8):
    """Nodes and weights of a composite Gauss rule."""
    x, w = np.polynomial.legendre.leggauss(points)
    edges = np.linspace(t0, t1, panels + 1)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (x + 1)).ravel(), (half * w).ravel()


@pytest.mark.parametrize("seed", range(4))
def test_work_of_loads_is_the_change_of_energy(seed):
    system = random_system(seed, n=12, kinds=FLAT)
    mech = system.build()
    state = random_state(mech, seed, speed=0.5)
    nodes, weights = gauss(0.0, 0.5)
    run = mech.simulate((0, 0.5), state, rtol=1e-11, t_eval=[0.0, *nodes, 0.5])
    assert run.success
    power = np.zeros(len(run.t))
    for load in system.wiring.elements.values():
        (end,), element = load.ends, load.element
        body = run.body(end.body.name)
        vector = np.array([[s.at(t).value for s in (element.x, element.y, element.z)] for t in run.t])
        if element.frame == "body":
            vector = np.einsum("nij,nj->ni", body.rotation @ end.rotation, vector)
        along = body.point(end.offset).velocity if element.kind == "Force" else body.angular_velocity
        power += np.sum(vector * along, axis=1)
    energy = run.energy.total
    assert abs(energy[-1] - energy[0] - weights @ power[1:-1]) < 1e-9 * np.max(np.abs(run.energy.kinetic))


# ---------------------------------------------------------------- failure
@dataclass(frozen=True)
class Runaway(tm.Load):
    """A force that grows with the cube of the way: x'' = x^3 ends at a finite time."""

    strength: float

    def evaluate(self, end, t, load):
        load.force[0] = self.strength * end.position[0] ** 3


@dataclass(frozen=True)
class Nothing(tm.Load):
    """Load that is not a number."""

    huge: float

    def evaluate(self, end, t, load):
        load.force[0] = self.huge * self.huge - self.huge * self.huge


def cart(load=None):
    system = tm.System("cart")
    body = system.body("cart", 1.0, (0.1, 0.1, 0.1))
    bob = system.body("bob", 0.1, (0.1, 0.1, 0.1))
    system.connect("rail", tm.Prismatic("x"), system.ground, body)
    system.connect("swing", tm.Revolute("x"), body, bob)
    if load is not None:
        system.load("push", load, body)
    return system.build()


@pytest.mark.parametrize("method", ["DOP853", "DP5"])
def test_a_solution_that_blows_up_is_reported_with_coordinate_and_time(method):
    mech = cart(Runaway(1.1))  # the cart and the bob weigh 1.1
    run = mech.simulate((0, 3), mech.state(q={"rail": 1.0}, u={"rail": np.sqrt(0.5)}), method)
    assert not run.success
    assert "rail" in run.message and "swing" not in run.message and "1.414" in run.message, run.message
    assert run.t[-1] == pytest.approx(np.sqrt(2.0), abs=1e-3)
    x = 1.0 / (1.0 - run.t / np.sqrt(2.0))
    early = run.t < 1.3
    np.testing.assert_allclose(
        run.connection("rail").q[early], x[early], rtol=1e-3 if method == "DP5" else 1e-4
    )


def test_a_rate_that_is_no_number_at_the_start_is_reported():
    mech = cart(Nothing(1e200))
    with pytest.raises(
        tm.ElementError, match=r"load 'push' \(Nothing\).*not a finite number at t = 0\.25 s"
    ) as caught:
        mech.simulate((0.25, 1), mech.state(0.25))
    assert len(caught.value.partial.t) == 1


def test_a_state_that_is_no_number_is_refused():
    mech = cart()
    with pytest.raises(tm.ElementError, match="rail"):
        mech.state(q={"rail": np.nan})
    with pytest.raises(tm.ElementError, match="u of 'rail' is inf"):
        mech.simulate((0, 1), ([0.0, 0.0], [np.inf, 0.0]))


def test_an_unknown_method_suggests_one():
    with pytest.raises(tm.TreemechError, match="DOP853"):
        cart().simulate((0, 1), method="DOP835")


@pytest.mark.parametrize(
    "t_eval", [[0.0, 1.1], [-0.1, 0.5], [0.5, 0.2], [0.1, 0.1], [0.0, np.nan]], ids=lambda x: str(x)
)
def test_output_times_outside_or_out_of_order_are_refused(t_eval):
    with pytest.raises(tm.TreemechError, match="t_eval"):
        cart().simulate((0, 1), t_eval=t_eval)


@pytest.mark.parametrize(
    "options, word",
    [
        ({"rtol": 0.0}, "rtol"),
        ({"rtol": 2.0}, "rtol"),
        ({"atol": -1.0}, "atol"),
        ({"atol": np.ones(3)}, "atol"),
        ({"atol": {"rial": 1e-3}}, "rail"),
        ({"max_step": 0.0}, "max_step"),
        ({"first_step": -0.1}, "first_step"),
        ({"t_eval": [0.5], "dense_output": True}, "dense_output"),
        ({"stabilisation": "hope"}, "wanted one of default"),
    ],
    ids=str,
)
def test_wrong_options_are_refused_by_name(options, word):
    with pytest.raises(tm.TreemechError, match=word):
        cart().simulate((0, 1), **options)


@pytest.mark.parametrize("span", [(0,), (0, 1, 2), (0, np.nan), (0, np.inf), 3.0, ("a", "b")], ids=str)
def test_wrong_spans_are_refused(span):
    with pytest.raises(tm.TreemechError, match="t_span"):
        cart().simulate(span)


def test_states_of_wrong_shape_are_refused():
    mech = cart()
    for state in ((np.zeros(3), np.zeros(2)), (np.zeros(2), np.zeros((1, 2))), np.zeros(4), "start"):
        with pytest.raises(tm.TreemechError):
            mech.simulate((0, 1), state)


def test_tolerances_by_name_reach_their_coordinates(chain):
    mech, state = chain
    values = tolerances(mech, {"Ball": 1e-2, "Free.u": 1e-3}, 1e-6)
    names = [f"{n}.q" for n in mech.coordinates] + [f"{n}.u" for n in mech.speeds]
    for name, value in zip(names, values, strict=True):
        want = (
            1e-2
            if name.startswith("Ball")
            else 1e-3
            if name.startswith("Free") and name.endswith("u")
            else 1e-9
        )
        assert value == want, name
    few = mech.simulate(
        (0, 1), state, atol={name: 1e3 for name in ("Revolute", "Ball", "Cylindrical", "Free")}
    )
    many = mech.simulate((0, 1), state)
    assert few.statistics["steps"] < 0.5 * many.statistics["steps"]


@pytest.mark.parametrize("t_eval", [None, np.linspace(0, 1000, 5001)], ids=["steps", "output"])
def test_an_interrupted_run_keeps_what_was_computed(t_eval):
    mech = cart()
    state = mech.state(u={"rail": 0.3, "swing": 1.0})
    seen = []

    def stop(fraction):
        seen.append(fraction)
        if len(seen) == 3:
            raise KeyboardInterrupt

    run = mech.simulate((0, 1000), state, max_step=0.1, t_eval=t_eval, progress=stop)
    assert not run.success and "interrupted" in run.message
    assert 100 < len(run.t) < 5000 and 0 < run.t[-1] < 999
    assert 0.0 < seen[-1] < 1.0 and seen == sorted(seen)
    np.testing.assert_allclose(run.connection("rail").q, 0.3 * run.t, atol=1e-9)


def test_an_error_in_an_element_carries_what_was_computed():
    @dataclass(frozen=True)
    class Late(tm.Load):
        limit: float

        def evaluate(self, end, t, load):
            if t > self.limit:
                raise ValueError("too late")

    mech = cart(Late(0.5))
    with pytest.raises(tm.ElementError, match=r"'push'.*0\.5") as caught:
        mech.simulate((0, 1), mech.state(u={"swing": 1.0}), max_step=0.05)
    assert 0.4 < caught.value.partial.t[-1] <= 0.5


def test_fixed_steps_stay_so_after_the_break_of_a_signal():
    """Each leg of RK4 begins with its step, not with one chosen by an error that nobody controls."""
    system = tm.System("pushed")
    body = system.body("body", 1.0, (1, 1, 1))
    system.connect("rail", tm.Prismatic("x"), system.ground, body)
    system.load("push", tm.Force(x=tm.Function(lambda t: 1.0 if t < 0.5 else 0.0, break_times=(0.5,))), body)
    run = system.build().simulate((0, 1), method="RK4", max_step=0.1)
    assert np.allclose(np.diff(run.t), 0.1, rtol=1e-9) and len(run.t) == 11
