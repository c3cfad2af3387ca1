"""Reports of runs that do not reach their end: what failed, where, and what to try, in words and as data."""

from dataclasses import dataclass
from math import sin

import numpy as np
import pytest

import treemech as tm
from tests.dynamics.simulation.test_integrator import cart
from tests.laws.test_singular import slider_crank
from tests.treemech.simulation.test_kinematics import slider_crank as driven_slider_crank


@dataclass(frozen=True)
class Pole(tm.Load):
    """Force towards x = 1 without bound."""

    strength: float

    def evaluate(self, end, t, load):
        load.force[0] = -self.strength / (end.position[0] - 1.0)


@dataclass(frozen=True)
class Noisy(tm.Load):
    """A weak spring with the rounding errors of large numbers."""

    large: float

    def evaluate(self, end, t, load):
        x = 0.1 * sin(end.position[0] + t)
        load.force[0] = (self.large + x) - self.large - x - end.position[0]


@dataclass(frozen=True)
class Runaway(tm.Load):
    """Force that grows with the speed."""

    strength: float

    def evaluate(self, end, t, load):
        load.force[0] = self.strength * end.velocity[0] ** 2


@pytest.mark.parametrize("method", ["DOP853", "Adams", "Radau"])
def test_an_unbounded_load_is_named(method):
    mech = cart(Pole(1.0))
    run = mech.simulate((0, 5), mech.state(q={"rail": 0.5}, u={"rail": 0.1}), method, rtol=1e-8)
    found = run.report
    assert not run.success and run.message == found.message == str(found)
    assert found.t == run.t[-1] and found.step < 1e-12 and found.rejected > 0
    assert found.steps == run.statistics["steps"]
    assert found.coordinate == "rail.u" and found.load == "push"
    assert found.conditioning == pytest.approx(1.0, abs=3.0)
    assert "'push'" in found.advice[0] and "unbounded" in found.advice[0] and found.advice[0] in run.message


def test_coordinates_that_lose_their_inertia_are_named():
    """A bead in polar coordinates that all but meets the origin."""
    system = tm.System("polar", gravity=(0, 0, 0))
    arm, bead = system.body("arm", 0.0, (0, 0, 0)), system.body("bead", 1.0, (0, 0, 0))
    system.connect("turn", tm.Revolute("z"), system.ground, arm)
    system.connect("slide", tm.Prismatic("x"), arm, bead)
    mech = system.build()
    run = mech.simulate((0, 3), mech.state(q={"slide": 1.0}, u={"slide": -1.0, "turn": 1e-15}), rtol=1e-9)
    assert not run.success and run.report.weakest == "turn" and run.report.conditioning > 1e20
    assert "singular" in run.report.advice[0] and run.report.load == ""
    assert run.t[-1] == pytest.approx(1.0, abs=1e-9)


def test_a_tolerance_below_rounding_is_told():
    mech = cart(Noisy(1e8))
    run = mech.simulate((0, 1), mech.state(q={"swing": 0.3}), rtol=1e-12, atol={"rail": 0.0})
    assert not run.success and run.report.coordinate.startswith("rail")
    assert "below the rounding" in run.report.advice[0] and "atol" in run.report.advice[0]


def stiff():
    system = tm.System("stiff", gravity=(0, 0, -9.81))
    block = system.body("block", 1.0, (1, 1, 1))
    system.connect("slide", tm.Prismatic("z"), system.ground, block)
    system.connect("spring", tm.Spring(1e8, 1e6, 0.1), system.ground.at((0, 0, -1)), block)
    return system.build()


def test_who_interrupts_a_stiff_run_hears_of_implicit_methods():
    calls = []

    def stop(fraction):
        calls.append(fraction)
        if len(calls) > 2:
            raise KeyboardInterrupt

    mech = stiff()
    run = mech.simulate((0, 10), mech.state(q={"slide": -0.9}), rtol=1e-8, progress=stop)
    assert not run.success and "interrupted" in run.message
    assert "stiff" in run.report.advice[0] and "Radau" in run.report.advice[0]


def test_a_soft_model_is_not_called_stiff():
    def stop(fraction):
        raise KeyboardInterrupt

    mech = cart()
    run = mech.simulate((0, 1e6), mech.state(u={"swing": 1.0}), max_step=0.1, progress=stop)
    assert not run.success and run.report.advice == () and run.report.conditioning < 100.0


# ---------------------------------------------------------------- closed chains
def test_a_chain_driven_beyond_its_reach_names_the_joint_that_opens():
    """A crank longer than its rod turns to sin A = rod / crank and no further."""
    mech = driven_slider_crank(crank=2.0, rod=1.5, motion=tm.Polynomial([0.2, 1.0]))
    run = mech.simulate((0.0, 2.0), mech.assemble(guess={"B": -0.5, "D": 3.0}), rtol=1e-8)
    found = run.report
    assert not run.success and found.t < np.arcsin(0.75) - 0.2
    assert found.t == pytest.approx(np.arcsin(0.75) - 0.2, abs=0.02)
    assert found.connection in "ABCD" and repr(found.connection) in run.message
    assert "end of" in found.advice[0] and found.advice[0] in run.message


def test_a_singular_position_is_reported_with_its_conditioning():
    mech, fix, guess, rates = slider_crank()
    state = mech.assemble(fix=fix, guess=guess, rates=rates)
    regular = mech.simulate((0.0, 0.2), state, rtol=1e-9).report
    assert np.isnan(regular.conditioning) and regular.advice == () and regular.steps > 0
    for method in ("DOP853", "Adams"):
        run = mech.simulate((0.0, 3.0), state, method, rtol=1e-9, on_singular="stop")
        assert not run.success and "lose rank" in run.message
        assert run.report.conditioning > 100.0 and run.report.weakest in "ABCS"
        assert run.report.residual < 1e-9 and run.report.connection in "ABCS"
    assert "on_singular='pass'" in run.report.advice[0]


def test_an_unbounded_load_in_a_closed_chain_tells_how_well_it_was_closed():
    system = tm.System("slider-crank", gravity=(0, 0, 0))
    crank = system.body("crank", 1.0, (0.1, 0.1, 0.1), com=(0.2, 0, 0))
    rod = system.body("rod", 1.0, (0.1, 0.1, 0.1), com=(0.5, 0, 0))
    block = system.body("block", 1.0, (0.1, 0.1, 0.1))
    system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.connect("B", tm.Revolute("z"), crank.at((0.4, 0, 0)), rod)
    system.connect("C", tm.Revolute("z"), rod.at((1.0, 0, 0)), block)
    system.connect("S", tm.Prismatic("x"), system.ground, block)
    system.load("pole", Pole(1.0), block)
    mech = system.build()
    run = mech.simulate((0, 5), mech.assemble(fix={"A": 0.8}, guess={"B": -1.0, "S": 1.2}), rtol=1e-8)
    assert not run.success and run.report.load == "pole" and "'pole'" in run.report.advice[0]
    assert run.report.connection in "ABCS" and run.report.residual < 1e-9
    assert "worst met" in run.message


@pytest.mark.parametrize("method", ["scipy:DOP853", "scipy:Radau", "scipy:BDF"])
def test_methods_of_other_libraries_report_what_the_state_they_reached_tells(method):
    """1.1 x'' = 3 x'^2, x'(0) = 1: the speed is infinite at t = 1.1 / 3."""
    mech = cart(Runaway(3.0))
    run = mech.simulate((0, 1), mech.state(u={"rail": 1.0}), method=method, rtol=1e-6)
    found = run.report
    assert not run.success and found.message == run.message
    assert found.t == pytest.approx(1.1 / 3, abs=1e-3) and found.steps > 10
    assert found.coordinate == "rail.u" and found.value > 1e3 and 1.0 <= found.conditioning < 1e3
    assert "rail.u" in run.message and found.advice
