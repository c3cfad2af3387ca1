"""Driven closed chains take the steps that their motion asks for, whatever the drive (5.4, 8.4)."""

import numpy as np
import pytest

import treemech as tm

UNIT = (1.0, (0.1, 0.1, 0.1))
STEPS = 1.3  # steps beyond those of scipy's method of the same name on the same right-hand side


def rod(system, name, length, mass=1.0):
    J = mass * length**2 / 12
    return system.body(name, mass, (0.01 * J, J, J), com=(length / 2, 0, 0))


def beside_a_chain(signal, load=None):
    """Return an arm, driven by a signal or a load, with a pendulum, and beside it a closed chain at rest."""
    system = tm.System("beside")
    arm, bob = system.body("arm", *UNIT), system.body("bob", *UNIT, com=(0, 0, -0.5))
    system.connect("drive", tm.Revolute("z"), system.ground, arm)
    system.connect("swing", tm.Revolute("y"), arm.at((0.3, 0, 0)), bob)
    if load is None:
        system.prescribe("drive", signal)
    else:
        system.load("motor", tm.Moment(z=load), arm)
    slider = system.body("slider", *UNIT)
    system.connect("guide", tm.Prismatic("x"), system.ground.at((0, 0, 5)), slider)
    system.connect("rod", tm.Distance(1.0), system.ground.at((1, 0, 5)), slider)
    mech, (q, u, _) = system.build(), signal.at(0.0)
    given = ({}, {}) if load is None else ({"drive": q}, {"drive": u})
    return mech, mech.assemble(fix={"swing": 0.5} | given[0], rates={"swing": 0.0} | given[1])


def four_bar(signal, turned=False, constraint=False):
    """Return a crank-rocker with a driven crank and a pendulum on its coupler; `turned`: on a turntable."""
    system = tm.System("four-bar", gravity=(0, -9.81, 0))
    base = system.ground
    if turned:
        base = system.body("table", *UNIT)
        system.connect("spin", tm.Revolute("y"), system.ground, base)
        system.prescribe("spin", tm.Polynomial([0.0, 40.0]))
    crank, coupler, rocker = (
        rod(system, "crank", 0.5),
        rod(system, "coupler", 1.5),
        rod(system, "rocker", 1.2),
    )
    bob = system.body("bob", 0.5, (0.01, 0.01, 0.01), com=(0, -0.4, 0))
    system.connect("drive", tm.Revolute("z"), base, crank)
    system.connect("B", tm.Revolute("z"), crank.at((0.5, 0, 0)), coupler)
    system.connect("D", tm.Revolute("z"), base.at((1.6, 0, 0)), rocker)
    system.connect("C", tm.Revolute("z"), coupler.at((1.5, 0, 0)), rocker.at((1.2, 0, 0)))
    system.connect("swing", tm.Revolute("z"), coupler.at((0.7, 0, 0)), bob)
    if constraint:
        system.connect("driver", tm.RelativeAngle(signal), base, crank)
    else:
        system.prescribe("drive", signal)
    mech = system.build()
    given = {"drive": signal.at(0.0).value} if constraint else {}
    return mech, mech.assemble(fix=given | {"swing": 0.0}, guess={"B": 0.6, "D": 1.6})


def snakeboard(signal):
    """Return a board on two steered axles; the rotor and both axles are driven, the motion is nonholonomic."""
    system = tm.System("snakeboard", gravity=(0, 0, -9.81))
    board, rotor = system.body("board", 5.0, (0.1, 0.5, 0.5)), system.body("rotor", 1.0, (0.2, 0.2, 0.3))
    system.connect("pose", tm.Planar(), system.ground, board)
    system.connect("rotor", tm.Revolute("z"), board, rotor)
    for name, x, sign in (("front", 0.5, 1.0), ("back", -0.5, -1.0)):
        axle = system.body(name, 0.2, (0.01, 0.01, 0.01))
        system.connect(f"{name} steering", tm.Revolute("z"), board.at((x, 0, 0)), axle)
        system.prescribe(f"{name} steering", tm.Harmonic(amplitude=0.4 * sign, frequency=2.0, phase=0.5))
        system.connect(f"{name} edge", tm.KnifeEdge(), system.ground, axle)
    system.prescribe("rotor", signal)
    mech = system.build()
    return mech, mech.assemble()


def geared(signal):
    """Return a fast driven shaft geared to the slow crank of a slider-crank, with a pendulum on the rod."""
    system = tm.System("geared", gravity=(0, -9.81, 0))
    shaft, crank, link = system.body("shaft", *UNIT), rod(system, "crank", 0.3), rod(system, "rod", 1.0)
    slider = system.body("slider", *UNIT)
    fast = system.connect("drive", tm.Revolute("z"), system.ground.at((0, 0, 1)), shaft)
    slow = system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.couple("gear", tm.Gear(0.01), fast, slow)
    system.connect("B", tm.Revolute("z"), crank.at((0.3, 0, 0)), link)
    system.connect("S", tm.Prismatic("x"), system.ground, slider)
    system.connect("C", tm.Revolute("z"), link.at((1.0, 0, 0)), slider)
    bob = system.body("bob", 0.5, (0.01, 0.01, 0.01), com=(0, -0.4, 0))
    system.connect("swing", tm.Revolute("z"), slider, bob)
    system.prescribe("drive", signal)
    mech = system.build()
    return mech, mech.assemble(fix={"swing": 0.3}, guess={"S": 1.2})


def platform(signal):
    """Return a platform whose pose is prescribed, with a closed slider-crank and a pendulum on it."""
    system = tm.System("platform", gravity=(0, -9.81, 0))
    base = system.body("platform", *UNIT)
    system.connect("float", tm.Free(), system.ground, base)
    system.prescribe_pose("drive", base, x=signal, y=0.0, z=0.0, rotation=(0.0, 0.0, signal))
    crank, link, slider = rod(system, "crank", 0.3), rod(system, "rod", 1.0), system.body("slider", *UNIT)
    system.connect("A", tm.Revolute("z"), base, crank)
    system.connect("B", tm.Revolute("z"), crank.at((0.3, 0, 0)), link)
    system.connect("S", tm.Prismatic("x"), base, slider)
    system.connect("C", tm.Revolute("z"), link.at((1.0, 0, 0)), slider)
    mech = system.build()
    return mech, mech.assemble(fix={"A": 0.5}, guess={"S": 1.2})


SLOW, SHIFTED = tm.Polynomial([0.0, 3.0]), tm.Polynomial([20 * np.pi, 3.0])
WAVE, FAST = tm.Harmonic(amplitude=1.0, frequency=5.0), tm.Harmonic(amplitude=0.1, frequency=628.0)
CASES = {
    "beside a chain": (beside_a_chain, SLOW, 5.0), "beside a chain, fast": (beside_a_chain, FAST, 0.5),
    "crank": (four_bar, SLOW, 5.0), "crank, shaken": (four_bar, FAST, 0.2), "crank, swung": (four_bar, WAVE, 3.0),
    "on a turntable": (lambda s: four_bar(s, turned=True), SLOW, 2.0),
    "constraint as driver": (lambda s: four_bar(s, constraint=True), SLOW, 3.0),
    "snakeboard": (snakeboard, WAVE, 5.0), "geared": (geared, tm.Polynomial([0.0, 300.0]), 3.0),
    "platform": (platform, WAVE, 3.0), "platform, shaken": (platform, FAST, 0.2),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("method", ["DOP853", "Radau"])
def test_driven_chains_take_the_steps_of_scipy(name, method):
    make, signal, end = CASES[name]
    mech, start = make(signal)
    for rtol in (1e-3, 1e-4, 1e-5, 1e-8) if method == "DOP853" else (1e-5,):
        run = mech.simulate((0.0, end), start, method=method, rtol=rtol)
        want = mech.simulate((0.0, end), start, method=f"scipy:{method}", rtol=rtol)
        assert run.success and want.success, (run.message, want.message)
        assert run.statistics["steps"] <= STEPS * want.statistics["steps"]


@pytest.mark.parametrize("method", ["DOP853", "DP5", "Radau", "Adams", "alpha3", "alpha2"])
@pytest.mark.parametrize("make", [beside_a_chain, four_bar, snakeboard])
def test_a_constant_added_to_a_motion_changes_no_step(make, method):
    ends = []
    for signal in (SLOW, SHIFTED):
        mech, start = make(signal)
        # with a sharper atol the rounding of the larger angle counts in the estimates of the error
        run = mech.simulate((0.0, 1.0), start, method=method, rtol=1e-6, atol=1e-6)
        assert run.success, run.message
        ends.append((run.statistics["steps"], run.q[-1] - start.q))
    assert ends[0][0] == ends[1][0]
    assert (
        np.abs(ends[0][1] - ends[1][1]).max() < 1e-9
    )  # rounding of cos and sin of the larger angle, amplified


@pytest.mark.parametrize("method", ["DOP853", "Radau", "Adams", "alpha3"])
def test_outputs_between_steps_cost_no_steps_and_are_right(method):
    mech, start = beside_a_chain(FAST)
    times = np.linspace(0.0, 0.1, 31)
    runs = [
        mech.simulate((0.0, 0.1), start, method=method, rtol=1e-6, **how)
        for how in ({}, {"t_eval": times}, {"dense_output": True})
    ]
    assert len({run.statistics["steps"] for run in runs}) == 1
    exact = FAST.amplitude * np.sin(FAST.frequency * times)
    assert np.abs(runs[1].connection("drive").q - exact).max() < 1e-14
    want = mech.simulate((0.0, 0.1), start, rtol=1e-11, t_eval=times).connection("swing").q
    assert np.abs(runs[1].connection("swing").q - want).max() < (1e-3 if method == "alpha3" else 1e-4)


@pytest.mark.parametrize("signal", [WAVE, FAST], ids=["slow", "fast"])
@pytest.mark.parametrize("method", ["Adams", "alpha3", "alpha2"])
def test_a_drive_takes_the_steps_of_its_load(method, signal):
    """With the drive replaced by the load it needs, the same method has the same motion to follow."""
    end = 2.0 if signal is WAVE else 0.05
    mech, start = beside_a_chain(signal)
    fine = mech.simulate((0.0, end), start, rtol=1e-10, t_eval=np.linspace(0.0, end, 801))
    loaded, state = beside_a_chain(signal, tm.Spline(fine.t, fine.drive("drive"), ends="not-a-knot"))
    want = loaded.simulate((0.0, end), state, method=method, rtol=1e-6)
    run = mech.simulate((0.0, end), start, method=method, rtol=1e-6)
    assert run.success and want.success
    assert abs(want.connection("drive").q[-1] - signal.at(end).value) < 1e-3
    assert run.statistics["steps"] <= STEPS * want.statistics["steps"]
