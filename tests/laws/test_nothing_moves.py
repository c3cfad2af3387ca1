"""Models without a single speed: welds, and nothing at all."""

import numpy as np
import pytest

import treemech as tm


@pytest.mark.parametrize("method", ["DOP853", "Adams", "Radau", "auto"])
@pytest.mark.parametrize("bodies", [0, 1])
def test_a_run_in_which_nothing_moves_has_its_times(bodies, method):
    system = tm.System("still", gravity=(0, 0, -9.81))
    for k in range(bodies):
        system.connect("weld", tm.Rigid(), system.ground, system.body(f"body {k}", 2.0, (1, 1, 1)))
    mech = system.build()
    run = mech.simulate((0, 1), method=method)
    assert run.success and run.t[0] == 0.0 and run.t[-1] == 1.0 and np.isfinite(run.t).all()
    assert np.array_equal(mech.simulate((0, 1), t_eval=[0.0, 0.5, 1.0], method=method).t, [0.0, 0.5, 1.0])
    if bodies:
        assert np.allclose(run.connection("weld").force, (0, 0, 2.0 * 9.81), rtol=0, atol=1e-12)


@pytest.mark.parametrize("audit", [False, True])
@pytest.mark.parametrize("method", ["DOP853", "Adams", "Radau", "auto", "alpha3", "DP5", "RK4"])
def test_an_element_that_remembers_is_followed_where_nothing_moves_by_itself(method, audit):
    """Only the memory of an element changes: Adams, Radau and alpha3 made steps without end."""
    system = tm.System("carried", gravity=(0, 0, -9.81))
    body = system.body("body", 2.0, (1, 1, 1))
    system.connect("lift", tm.Moving(z=tm.Polynomial([1.0, 0.3])), system.ground, body)
    tissue = tm.FungHistory(50.0, [0.0, 0.1, 1.0], [1.0, 0.7, 0.5], span=1.0, length=0.9, samples=40)
    system.connect("tissue", tissue, system.ground, body)
    run = system.build().simulate((0, 1), method=method, audit=audit, max_step=0.05)
    assert run.success and run.t[-1] == 1.0
    assert abs(run.element("tissue").deformation[-1] - 0.4) < 1e-12


def test_a_chain_of_welds_is_refused_by_name():
    system = tm.System("welds", gravity=(0, 0, -9.81))
    a, b = system.body("a", 1.0, (1, 1, 1)), system.body("b", 1.0, (1, 1, 1))
    system.connect("W", tm.Rigid(), system.ground, a)
    system.connect("V", tm.Rigid(), a.at((1, 0, 0)), b)
    system.connect("Z", tm.Rigid(), system.ground.at((1, 0, 0)), b)
    mech = system.build()
    for analysis in (mech.reactions, mech.forward_dynamics, lambda state: mech.simulate((0, 1), state)):
        with pytest.raises(tm.TreemechError, match="closes a chain of rigid hinges"):
            analysis(mech.assemble())
