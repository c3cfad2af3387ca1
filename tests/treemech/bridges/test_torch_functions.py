"""PyTorch: autograd, torch.func, batches; the same numbers as JAX's host functions (needs torch: make test-extras)."""

import numpy as np
import pytest

import treemech as tm
from tests.support import parametric
from tests.support.arrays_of_state import differences, driven_arm, driven_four_bar
from tests.support.tolerances import DIFF, ROUND

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.extras


def tensors(*given):
    return [torch.tensor(np.asarray(a), dtype=torch.float64, requires_grad=True) for a in given]


def arm():
    mech = driven_arm().build()
    state = mech.state(q={"A": [0.8, 0.2, -0.5, 0.3], "B": 0.4}, u={"A": [1.0, 2.0, -1.0], "B": 3.0})
    return mech.to_torch(("m", "k")), state


def four_bar():
    mech = driven_four_bar().build()
    return mech.to_torch(("l", "k"), independent=("A",)), parametric.four_bar_start(mech)


def test_gradients_by_parameters_are_the_sensitivities():
    mech, times = parametric.four_bar().build(), np.linspace(0, 0.6, 4)
    state = parametric.four_bar_start(mech)
    f = mech.to_torch(("l", "k"), independent=("A",), rtol=1e-12)
    (p,) = tensors(f._model.nominal)
    u = f.simulate(torch.tensor(state.q), torch.tensor(state.u), times, parameters=p).u
    found = np.array([[torch.autograd.grad(x, p, retain_graph=True)[0].numpy() for x in row] for row in u])
    start = lambda m: m.assemble(fix={"A": -0.6}, rates={"A": 2.0})  # noqa: E731
    wanted = mech.sensitivities((0, 0.6), start, ["l", "k"], times, rtol=1e-12).u
    assert np.max(np.abs(found - wanted)) < ROUND * np.max(np.abs(wanted))


@pytest.mark.parametrize("model", [arm, four_bar])
def test_gradients_agree_with_extrapolated_differences(model):
    f, state = model()

    def cost(q, u, inputs, p):
        y = f.simulate(q, u, (0.0, 0.1, 0.3), inputs=inputs, parameters=p)
        now = f.forward_dynamics(q, u, inputs=inputs[0], parameters=p)
        return torch.sin(y.q).sum() + (y.u[-1] ** 2).sum() + 0.01 * (now.ud**2).sum()

    given = tensors(state.q, state.u, [[1.0], [-1.0]], f._model.nominal)
    found = torch.autograd.grad(cost(*given), given)
    size = max(float(a.abs().max()) for a in found)
    for k in range(4):
        wanted = differences(
            lambda *a: np.array([float(cost(*map(torch.tensor, a)))]), [a.detach().numpy() for a in given], k
        )
        assert np.max(np.abs(found[k].numpy().ravel() - wanted[0])) < DIFF * size


def test_batches_and_torch_func():
    f, state = arm()
    q, us = (
        torch.tensor(state.q),
        torch.tensor(state.u) * torch.linspace(0.5, 1.5, 4, dtype=torch.float64)[:, None],
    )
    cost = lambda u: (f.step(q, u, 0.05).q ** 2).sum()  # noqa: E731
    us.requires_grad_()
    (together,) = torch.autograd.grad((f.step(q, us, 0.05).q ** 2).sum(), us)
    by_func = torch.func.vmap(torch.func.grad(cost))(us.detach())
    assert torch.allclose(together, by_func, rtol=1e-10, atol=1e-14)
    assert torch.allclose(torch.func.grad(cost)(us[1].detach()), together[1], rtol=1e-10, atol=1e-14)


def test_numbers_of_single_precision_and_what_is_refused():
    f, state = four_bar()
    q, u = (torch.tensor(a, dtype=torch.float32, requires_grad=True) for a in (state.q, state.u))
    after = f.step(q, u, 0.1)
    assert after.q.dtype == torch.float32
    (gradient,) = torch.autograd.grad(after.q.sum(), u)
    assert gradient.dtype == torch.float32 and bool(torch.isfinite(gradient).all())
    with pytest.raises(tm.TreemechError, match="dt requires a gradient"):
        f.step(q, u, torch.tensor(0.1, requires_grad=True))
    (first,) = torch.autograd.grad((f.step(q, u, 0.1).q ** 2).sum(), u, create_graph=True)
    with pytest.raises(Exception, match="differentiate once"):
        torch.autograd.grad(first.sum(), u)
    assert not f.step(q.detach(), u.detach(), 0.1).q.requires_grad
