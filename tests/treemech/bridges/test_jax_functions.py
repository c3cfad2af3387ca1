"""JAX: jit, vmap in one crossing, gradients; float32; clear errors (needs jax: make test-extras)."""

import numpy as np
import pytest

import treemech as tm
from tests.support import parametric
from tests.support.arrays_of_state import differences, driven_arm, driven_four_bar
from tests.support.tolerances import DIFF, ROUND

jax = pytest.importorskip("jax")
jnp = jax.numpy
pytestmark = pytest.mark.extras


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def arm():
    mech = driven_arm().build()
    return mech, mech.state(q={"A": [0.8, 0.2, -0.5, 0.3], "B": 0.4}, u={"A": [1.0, 2.0, -1.0], "B": 3.0})


def four_bar():
    mech = driven_four_bar().build()
    return mech, parametric.four_bar_start(mech)


def functions(mech):
    names = ("m", "k") if "m" in mech.parameters and "l" not in mech.parameters else ("l", "k")
    return mech.to_jax(names, independent=None if not mech.tree.chords else ("A",))


@pytest.mark.parametrize("model", [arm, four_bar])
def test_gradients_of_the_accelerations_are_the_derivatives_of_the_mechanism(model):
    mech, state = model()
    f = functions(mech)
    by = jax.jacrev(
        lambda u, loads: f.forward_dynamics(state.q, u, loads=loads, x=state.x).ud, argnums=(0, 1)
    )
    of_u, of_loads = jax.jit(by)(jnp.array(state.u), jnp.zeros(mech.nu))
    d = mech.derivatives(state)
    assert np.max(np.abs(of_loads - d.ud_load)) < ROUND * np.max(np.abs(d.ud_load))
    if not mech.tree.chords:  # in closed chains other speeds follow
        assert np.max(np.abs(of_u - d.ud_u)) < ROUND * np.max(np.abs(d.ud_u))
    assert np.array_equal(f.forward_dynamics(state.q, state.u, x=state.x).ud, mech.forward_dynamics(state).ud)


@pytest.mark.parametrize("model", [arm, four_bar])
def test_gradients_by_everything_agree_with_extrapolated_differences(model):
    mech, state = model()
    f, times = functions(mech), (0.0, 0.1, 0.3)

    def cost(q, u, inputs, p):
        y = f.simulate(q, u, times, inputs=inputs, parameters=p)
        return jnp.sum(jnp.sin(y.q)) + jnp.sum(y.u[-1] ** 2) + jnp.sum(y.x**2)

    given = [jnp.array(a) for a in (state.q, state.u, [1.0], f._model.nominal)]
    found = jax.jit(jax.grad(cost, argnums=(0, 1, 2, 3)))(*given)
    size = max(float(jnp.max(jnp.abs(a))) for a in found)
    for k in range(4):
        wanted = differences(
            lambda *a: np.array([float(cost(*map(jnp.asarray, a)))]), [np.array(a) for a in given], k
        )
        assert np.max(np.abs(found[k] - wanted[0])) < DIFF * size


def test_vmap_crosses_once_and_gives_the_rows(monkeypatch):
    mech, state = arm()
    f, calls = functions(mech), []
    us = jnp.array(state.u) * jnp.linspace(0.5, 1.5, 7)[:, None]
    one = lambda u: f.forward_dynamics(state.q, u, x=state.x).ud  # noqa: E731
    one(us[0])
    operation = f._made["forward"].operation
    plain = operation.values
    monkeypatch.setattr(operation, "values", lambda *a: calls.append(a[0].shape) or plain(*a))
    many = jax.jit(jax.vmap(one))(us)
    assert calls == [(7, mech.nq)]
    assert np.allclose(many, np.array([one(u) for u in us]), rtol=ROUND)
    gradients = jax.vmap(jax.grad(lambda u: jnp.sum(f.step(state.q, u, 0.05, x=state.x).q ** 2)))(us)
    alone = [jax.grad(lambda u: jnp.sum(f.step(state.q, u, 0.05, x=state.x).q ** 2))(u) for u in us]
    assert np.allclose(gradients, np.array(alone), rtol=1e-10, atol=1e-14)


def test_steps_chain_in_a_scan():
    mech, state = four_bar()
    f = mech.to_jax(())
    torques = jnp.array([1.0, -2.0, 0.5])

    def by_steps(torques):
        def one(y, torque):
            q, u, t = y
            after = f.step(q, u, 0.1, inputs=torque[None], t=t)
            return (after.q, after.u, t + 0.1), after.q

        return jax.lax.scan(one, (jnp.array(state.q), jnp.array(state.u), 0.0), torques)[1]

    def at_once(torques):
        return f.simulate(state.q, state.u, (0.0, 0.1, 0.2, 0.3), inputs=torques[:, None]).q[1:]

    assert np.allclose(by_steps(torques), at_once(torques), rtol=0, atol=1e-9)
    one, other = jax.jacrev(by_steps)(torques), jax.jacrev(at_once)(torques)
    assert np.max(np.abs(one - other)) < 1e-9 * np.max(np.abs(other))


def test_numbers_of_single_precision_are_computed_in_double_and_rounded():
    mech, state = four_bar()
    f = functions(mech)
    exact = jax.grad(lambda u: jnp.sum(f.step(state.q, u, 0.1).q))(jnp.array(state.u))
    q, u = (jnp.array(a, dtype=jnp.float32) for a in (state.q, state.u))
    y = f.step(q, u, 0.1)
    assert y.q.dtype == jnp.float32
    rough = jax.grad(lambda u: jnp.sum(f.step(q, u, 0.1).q))(u)
    assert rough.dtype == jnp.float32 and np.allclose(rough, exact, rtol=1e-4)
    closed = mech.forward_dynamics(state).ud  # the chain of rounded numbers is closed again
    assert np.allclose(f.forward_dynamics(q, u).ud, closed, rtol=1e-4)
    with jax.enable_x64(False):
        assert f.step(state.q, state.u, 0.1).q.dtype == jnp.float32


def test_names_and_leading_axes():
    mech, state = arm()
    f = functions(mech)
    one = f.step(state.q, state.u, 0.1, inputs={"torque": 2.0}, parameters={"k": 31.0}, x=state.x)
    other = f.step(
        state.q, state.u, 0.1, inputs=jnp.array([2.0]), parameters=jnp.array([1.3, 31.0]), x=state.x
    )
    assert np.array_equal(one.q, other.q)
    rows = f.step(
        jnp.tile(state.q, (3, 1)),
        state.u,
        0.1,
        inputs=jnp.array([[2.0], [0.0], [1.0]]),
        parameters={"k": 31.0},
        x=state.x,
    )
    assert rows.q.shape == (3, mech.nq) and np.allclose(rows.q[0], one.q, rtol=0, atol=1e-12)
    of_dict = jax.grad(lambda p: jnp.sum(f.step(state.q, state.u, 0.1, parameters=p, x=state.x).u))(
        {"k": 30.0}
    )
    assert set(of_dict) == {"k"} and float(of_dict["k"]) != 0.0


def test_errors_name_what_is_wrong():
    mech, state = arm()
    f = functions(mech)
    with pytest.raises(tm.TreemechError, match=r"q has shape \(3,\); wanted \(\.\.\., 5\)"):
        f.step(jnp.zeros(3), state.u, 0.1)
    with pytest.raises(tm.TreemechError, match="'troque'.*'torque'"):
        f.step(state.q, state.u, 0.1, inputs={"troque": 1.0})
    with pytest.raises(tm.TreemechError, match="dt is traced"):
        jax.grad(lambda dt: jnp.sum(f.step(state.q, state.u, dt).q))(0.1)
    with pytest.raises(tm.TreemechError, match="each later"):
        f.simulate(state.q, state.u, (0.0, 0.0))
    with pytest.raises(tm.TreemechError, match="one for every interval"):
        f.simulate(state.q, state.u, (0.0, 0.1, 0.2), inputs=jnp.zeros((3, 1)))
    for twice in (jax.hessian, lambda g: jax.grad(jax.grad(g))):
        with pytest.raises(tm.TreemechError, match="differentiate once"):
            twice(lambda k: f.step(state.q, state.u, 0.1, parameters={"k": k}).q[0])(30.0)
    with pytest.raises(Exception, match="'m'.*mass|mass.*wanted|negative"):  # from the host
        f.step(state.q, state.u, 0.1, parameters={"m": -1.0})
