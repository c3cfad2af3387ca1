"""Batches: a row has what `Mechanism.step` gives, whatever stands beside it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treemech as tm
from tests.treemech.many.models import closed, floating, four_bar, pendulum

MODELS = {"pendulum": pendulum, "floating": floating, "four_bar": four_bar}


@pytest.fixture(scope="module")
def mechanisms():
    return {name: make() for name, make in MODELS.items()}


def starts(mech, name, seed, count):
    rng = np.random.default_rng(seed)
    if name == "four_bar":
        return [
            mech.assemble(fix={"A": a}, rates={"A": w})
            for a, w in zip(rng.uniform(-1, 0, count), rng.normal(size=count))
        ]
    found = []
    for _ in range(count):
        q = mech.state().q + 0.4 * rng.normal(size=mech.nq)
        for k in mech._lagrange.euler_parameters:
            q[k : k + 4] /= np.linalg.norm(q[k : k + 4])
        found.append(mech.state(q=q, u=rng.normal(size=mech.nu)))
    return found


def equal(a, b):
    return np.array_equal(a.q, b.q) and np.array_equal(a.u, b.u) and np.array_equal(a.z, b.z)


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(sorted(MODELS)), st.sampled_from(["RK4", "DP5", "DOP853"]), st.integers(1, 9), st.integers(1, 3),
    st.integers(0, 1000),
)  # fmt: skip
def test_rows_are_those_of_step_to_the_bit(mechanisms, name, method, size, threads, seed):
    mech, dt = mechanisms[name], 0.004
    begin = starts(mech, name, seed, size)
    batch = mech.batch(size, method=method, threads=threads)
    for k, state in enumerate(begin):
        batch.reset([k], state)
    want = begin
    for _ in range(2):
        want = [mech.step(state, dt, method=method) for state in want]
        batch.step(dt)
        again = [batch.state(k) for k in range(size)]
        assert not batch.failed
        if (
            name == "floating"
        ):  # the state of a row is where mech.step starts: angular speeds in another base, rounded
            np.testing.assert_allclose([s.q for s in again], [s.q for s in want], rtol=0, atol=1e-13)
            np.testing.assert_allclose([s.u for s in again], [s.u for s in want], rtol=0, atol=1e-12)
        else:
            assert all(map(equal, again, want))


def test_views_are_live_and_inputs_act(mechanisms):
    mech = mechanisms["pendulum"]
    batch = mech.batch(3)
    batch["A"].q[:] = [0.1, 0.2, 0.3]
    batch.inputs["torque"][:] = [0.0, 1.0, -2.0]
    batch.step(0.01)
    want = [
        mech.step(mech.state(q={"A": a}), 0.01, {"torque": m}, method="RK4")
        for a, m in zip((0.1, 0.2, 0.3), (0.0, 1.0, -2.0))
    ]
    assert np.array_equal(batch.q, [s.q for s in want]) and np.array_equal(
        batch["A"].u, [s.u[0] for s in want]
    )
    assert np.array_equal(batch.t, [0.01] * 3)


def test_written_angular_speeds_act(mechanisms):
    mech = mechanisms["floating"]
    batch = mech.batch(4)
    batch["ball"].u[2] = [1.0, 2.0, 3.0]
    batch.step(0.01)
    want = mech.step(mech.state(u={"ball": [1.0, 2.0, 3.0]}), 0.01, method="RK4")
    np.testing.assert_allclose(batch.u[2], want.u, rtol=0, atol=1e-13)
    still = mech.step(mech.state(), 0.01, method="RK4")
    np.testing.assert_allclose(batch.u[1], still.u, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["pendulum", "four_bar"])
def test_parameters_are_those_of_each_row(mechanisms, name):
    mech = mechanisms[name]
    start = mech.state(q={"A": 0.7}) if name == "pendulum" else None
    batch = mech.batch(4, start, method="DOP853")
    varied = "m2" if name == "pendulum" else "k"  # a length would open the chain
    values = mech.parameters[varied] * np.array([1.0, 1.1, 0.7, 2.0])
    batch.parameters[varied][:] = values
    batch.step(0.01).step(0.02)
    for k, x in enumerate(values):
        own = mech.with_parameters(**{varied: x})
        state = own.state(q={"A": 0.7}) if name == "pendulum" else own.assemble()
        want = own.step(own.step(state, 0.01), 0.02)
        assert np.array_equal(batch.q[k], want.q) and np.array_equal(batch.u[k], want.u)


def test_a_row_that_fails_is_named_and_the_others_go_on(mechanisms):
    mech = mechanisms["four_bar"]
    batch = mech.batch(5, closed(mech))
    before = batch.q.copy()
    batch.q[3, 0] += 0.3  # opens the chain
    open_ = batch.q[3].copy()
    batch.step(0.01).step(0.01)
    assert list(batch.failed) == [3] and "open" in batch.failed[3] and "t = 0 s" in batch.failed[3]
    want = closed(mech)
    for _ in range(2):
        want = mech.step(want, 0.01, method="RK4")
    assert all(np.array_equal(batch.q[k], want.q) for k in (0, 1, 2, 4))
    assert np.array_equal(batch.q[3], open_) and batch.t[3] == 0.0
    batch.reset([3])
    batch.step(0.01)
    assert not batch.failed and not np.array_equal(batch.q[3], before[3])


def test_designs_together_are_those_alone(mechanisms):
    """Some parameters, others later, and back again: rows have the numbers of a batch that got them one at a time."""
    mech, rng = mechanisms["four_bar"], np.random.default_rng(2)
    together, alone = mech.batch(4), mech.batch(4)
    for names in (["k"], ["k"], ["l", "k"], []):
        for name in mech.parameters:
            spread = rng.uniform(0.9, 1.1, 4) if name in names else np.ones(4)
            together.parameters[name][:] = mech.parameters[name] * spread
            for k in range(4):
                alone.parameters[name][k] = mech.parameters[name] * spread[k]
        for k in range(4):
            now = {name: float(together.parameters[name][k]) for name in mech.parameters}
            start = mech.with_parameters(**now).assemble(fix={"A": -0.5})
            state = mech.state(q=start.q, u=start.u)
            together.reset([k], state)
            alone.reset([k], state)
        together.step(0.01)
        numbers = alone._numbers
        for k in range(4):  # one changed row at a time is built by itself
            kept = {name: numbers.values[name].copy() for name in numbers.values}
            for name, x in numbers.values.items():
                x[:] = numbers._seen[name]
                x[k] = kept[name][k]
            assert not numbers.refresh([])
            for name, x in numbers.values.items():
                x[:] = kept[name]
        alone._steps.clear()
        alone.step(0.01)
        assert not together.failed and not alone.failed
        np.testing.assert_allclose(together.q, alone.q, rtol=0, atol=1e-14)
        np.testing.assert_allclose(together.u, alone.u, rtol=0, atol=1e-12)


def test_a_design_that_cannot_be_built_is_a_failed_row(mechanisms):
    batch = mechanisms["pendulum"].batch(3)
    batch.parameters["l1"][:] = [1.0, 0.0, 2.0]
    batch.step(0.01)
    assert list(batch.failed) == [1] and "no inertia" in batch.failed[1]


def test_elements_in_python_go_the_way_of_step():
    system = tm.System("own", gravity=(0, 0, -9.81))
    bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -1.0))
    system.connect("A", tm.Revolute("y"), system.ground, bob)
    table = {"k": 3.0}
    system.load("wind", tm.Force(x=lambda t: table["k"] * t), bob)
    with pytest.warns(UserWarning):
        mech = system.build()
    batch = mech.batch(2, mech.state(q={"A": 0.3})).step(0.01)
    want = mech.step(mech.state(q={"A": 0.3}), 0.01, method="RK4")
    assert np.array_equal(batch.q, [want.q, want.q])


def test_steps_allocate_nothing_that_grows_with_the_rows(mechanisms):
    import tracemalloc

    batch = mechanisms["pendulum"].batch(20_000)
    batch.step(1e-3)
    tracemalloc.start()
    batch.step(1e-3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000


def test_bad_arguments_are_named(mechanisms):
    mech = mechanisms["pendulum"]
    with pytest.raises(tm.TreemechError, match="rows is 0"):
        mech.batch(0)
    with pytest.raises(tm.TreemechError, match="method is 'Radau'"):
        mech.batch(2, method="Radau")
    with pytest.raises(tm.TreemechError, match="'C'"):
        mech.batch(2)["C"]
    with pytest.raises(tm.TreemechError, match="'force'"):
        mech.batch(2).inputs["force"]
    with pytest.raises(tm.TreemechError, match="dt is -1"):
        mech.batch(2).step(-1.0)
    with pytest.raises(tm.TreemechError, match="2 rows, 0 to 1: index 7"):
        mech.batch(2).reset([7])
    with pytest.raises(tm.TreemechError, match="is no state"):
        mech.batch(2).reset([1], [0.3])
    for steps in (1.5, -1, True):
        with pytest.raises(tm.TreemechError, match="number of steps"):
            mech.batch(2).step(1e-3, steps)
