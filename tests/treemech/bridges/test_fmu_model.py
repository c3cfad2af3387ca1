"""What an FMU computes, without FMI tools: its differential equation and its steps are the motion of `simulate`."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import treemech as tm
from tests.support import parametric
from tests.support.arrays_of_state import driven_arm, driven_four_bar
from treemech.bridges.fmu_model import FmuModel


def arm():
    mech = driven_arm().build()
    start = mech.state(q={"A": [0.8, 0.2, -0.5, 0.3], "B": 0.4}, u={"A": [1.0, 2.0, -1.0], "B": 3.0})
    return mech, start, None, {"k": 35.0}


def four_bar():
    mech = driven_four_bar().build()
    return mech, parametric.four_bar_start(mech), ("A",), {"k": 35.0, "l": 1.02}


def model(case):
    mech, start, independent, changed = case()
    return FmuModel(
        mech, start, ("torque",), tuple(changed), tuple(mech._wiring.measures), independent
    ), changed


def reference(case):
    """Return the run of the mechanism with the changed parameters."""
    mech, start, independent, changed = case()
    other = mech.with_parameters(**changed)
    if independent:
        start = other.assemble(fix={"A": start["A"][0][0]}, rates={"A": start["A"][1][0]})
    held = other.stepper(start, 0.5, rtol=1e-10)
    return other, held.step({"torque": 2.0}).state


@pytest.mark.parametrize("case", [arm, four_bar])
def test_the_continuous_states_make_the_motion(case):
    it, changed = model(case)
    for name, value in changed.items():
        it.set_parameter(name, value)
    it.set_input("torque", 2.0)

    def rates(t, y):
        it.set_time(t)
        for k, value in zip(it.own.tolist(), y, strict=True):
            it.set_number(k, value)
        return it.rates()[it.own]

    it.state()
    found = solve_ivp(rates, (0.0, 0.5), it.y[it.own], method="DOP853", rtol=1e-9, atol=1e-11)
    rates(0.5, found.y[:, -1])
    there, (_, wanted) = it.state(), reference(case)
    assert np.allclose(there.q, wanted.q, rtol=0, atol=1e-7) and np.allclose(
        there.u, wanted.u, rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("case", [arm, four_bar])
def test_steps_make_the_motion(case):
    it, changed = model(case)
    for name, value in changed.items():
        it.set_parameter(name, value)
    it.set_input("torque", 2.0)
    for k in range(5):
        it.step(0.1 * k, 0.1)
    mech, wanted = reference(case)
    assert np.allclose(it.state().q, wanted.q, rtol=0, atol=1e-6)
    if it.outputs:
        run = mech.simulate((0.5, 0.6), wanted, t_eval=[0.5])
        assert abs(it.measure("height") - run.measure("height")[0]) < 1e-6


def test_what_an_fmu_cannot_hold_is_refused_by_name(tmp_path):
    mech, start, _, _ = four_bar()
    with pytest.raises(tm.TreemechError, match="'torqe'.*'torque'"):
        FmuModel(mech, start, ("torqe",), (), ())
    with pytest.raises(tm.TreemechError, match="'heigth'.*'height'"):
        FmuModel(mech, start, (), (), ("heigth",))
    with pytest.raises(tm.TreemechError, match=r"ending \.fmu"):
        mech.to_fmu(tmp_path / "x.zip")
    with pytest.raises(tm.TreemechError, match="wanted 'model exchange'"):
        mech.to_fmu(tmp_path / "x.fmu", kinds=("me",))
    with pytest.raises(tm.TreemechError, match="no method 'Euler'"):
        FmuModel(mech, start, (), (), (), ("A",), method="Euler")
    with pytest.raises(tm.TreemechError, match="rtol is -1"):
        FmuModel(mech, start, (), (), (), ("A",), rtol=-1)
    spatial = parametric.spatial().build()
    with pytest.raises(tm.TreemechError, match="attitude"):
        FmuModel(spatial, parametric.spatial_start(spatial), (), (), (), ("B[0]",))
