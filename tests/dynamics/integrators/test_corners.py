"""Steps end at the corners of one-sided elements: contacts, stops, slack ropes."""

from dataclasses import dataclass
from math import cos, pi, sin, sqrt

import numpy as np
import pytest

import treemech as tm


def slide(*elements, gravity=0.0):
    system = tm.System("slide", gravity=(-gravity, 0, 0))
    block = system.body("block", 1.0, (0.1, 0.1, 0.1))
    system.connect("A", tm.Prismatic("x"), system.ground, block)
    for name, element, *ends in elements:
        system.connect(name, element, *(ends or ("A",)))
    return system


def between_springs(t, v, low, high, k):
    """Return position and speed of a mass of 1 kg that starts at 0 and bounces between two linear springs."""
    w, x, direction = sqrt(k), 0.0, 1.0
    limits = {1.0: high, -1.0: low}
    while True:
        flight = abs(limits[direction] - x) / v
        if t <= flight:
            return x + direction * v * t, direction * v
        t, x = t - flight, limits[direction]
        if t <= pi / w:
            return x + direction * v / w * sin(w * t), direction * v * cos(w * t)
        t, direction = t - pi / w, -direction


@pytest.mark.parametrize("method", ["DOP853", "DP5"])
def test_a_mass_between_two_stops_keeps_to_the_closed_form(method):
    worst = []
    for k in range(40):  # a tolerance missed by chance only: one case shows nothing
        rng = np.random.default_rng(k)
        v, stiffness = rng.uniform(0.5, 6.0), 10 ** rng.uniform(3, 6)
        stop = tm.HingeStop(lower=-0.5, upper=0.7, stiffness=stiffness, exponent=1.0)
        mech = slide(("stop", stop)).build()
        run = mech.simulate((0, 3), mech.state(u={"A": v}), method=method, rtol=1e-9)
        _, wanted = between_springs(3.0, v, -0.5, 0.7, stiffness)
        worst.append(abs(run.energy.total[-1] / (0.5 * v * v) - 1.0))
        # the phase of the last bounce grows with their number; the speed between bounces does not
        if abs(wanted) == v:
            assert abs(abs(run.q[-1, 0] - between_springs(3.0, v, -0.5, 0.7, stiffness)[0])) < 3e-7
    assert max(worst) < 1e-7, max(worst)  # 4e-5 of the energy before, with DOP853


def test_bounces_of_a_ball_lose_no_energy_but_what_they_dissipate():
    for k in range(20):
        rng = np.random.default_rng(k)
        system = tm.System("ball")
        ball = system.body("ball", 1.0, (0.004, 0.004, 0.004))
        system.connect("flight", tm.Free(), system.ground, ball)
        touch = tm.SpherePlane(
            0.1, stiffness=10 ** rng.uniform(3, 6), damping=rng.uniform(0, 0.3), friction=0.3, slip_speed=1e-2
        )
        system.connect("touch", touch, system.ground, ball)
        mech = system.build()
        start = mech.state(
            q={"flight": (0, 0, rng.uniform(0.5, 1.2), 1, 0, 0, 0)}, u={"flight": (1, 0, 0, 0, 3, 0)}
        )
        run = mech.simulate((0, 2), start, rtol=1e-9, audit=True)
        balance = run.energy.total + run.audit["touch"].dissipated
        assert np.abs(balance - balance[0]).max() < 3e-7  # 1e-5 before


def test_a_stop_in_a_closed_chain_costs_no_accuracy():
    system = tm.System("four-bar")
    bars = [
        system.body(name, **tm.solids.rod((0, 0, 0), (length, 0, 0), mass=1.0).properties)
        for name, length in (("crank", 1.0), ("coupler", 3.0), ("rocker", 2.5))
    ]
    system.connect("A", tm.Revolute("y"), system.ground, bars[0])
    system.connect("B", tm.Revolute("y"), bars[0].at((1, 0, 0)), bars[1])
    system.connect("C", tm.Revolute("y"), bars[1].at((3, 0, 0)), bars[2].at((2.5, 0, 0)))
    system.connect("D", tm.Revolute("y"), system.ground.at((3.5, 0, 0)), bars[2])
    system.connect("stop", tm.HingeStop(lower=-1.2, upper=0.4, stiffness=1e5, damping=0.1), "A")
    mech = system.build()
    for speed in np.linspace(1.0, 5.0, 9):
        start = mech.assemble(fix={"A": -0.6}, guess={"B": 0.3, "D": -1.5}, rates={"A": speed})
        run = mech.simulate((0, 2), start, rtol=1e-9, audit=True)
        balance = run.energy.total + run.audit["stop"].dissipated
        assert np.abs(balance - balance[0]).max() < 1e-6  # 4e-5 before
        assert run.residual.position.max() < 1e-12


@dataclass(frozen=True)
class Buffer(tm.Energetic):
    """A foreign buffer, which says that it is one-sided."""

    stiffness: float = 1e4
    begin: float = 0.5
    n_ends = 0
    n_coordinates = n_deformations = 1
    one_sided = True

    def effort(self, now, t, out):
        depth = now.deformation[0] - self.begin
        if depth > 0.0:
            out.effort[0] = self.stiffness * depth
            out.energy[0] = 0.5 * self.stiffness * depth * depth


@dataclass(frozen=True)
class SilentBuffer(Buffer):
    """The same, which does not say so."""

    one_sided = False


def test_elements_of_others_may_say_that_they_are_one_sided():
    errors = {}
    for kind in (Buffer, SilentBuffer):
        errors[kind] = []
        for speed in np.linspace(1.0, 4.0, 30):
            mech = slide(("buffer", kind())).build()
            run = mech.simulate((0, 1), mech.state(u={"A": speed}), rtol=1e-9, atol=1e-12)
            errors[kind].append(abs(run.u[-1, 0] / speed + 1.0))
    assert max(errors[Buffer]) < 1e-8 < 1e-7 < max(errors[SilentBuffer])


def test_a_rope_with_an_actuator_pulls_while_it_is_slack_and_has_its_corner_nevertheless():
    errors = []
    for speed in np.linspace(1.0, 4.0, 30):
        system = tm.System("rope", gravity=(0, 0, 0))
        block = system.body("block", 1.0, (0.1, 0.1, 0.1))
        system.connect("A", tm.Prismatic("x"), system.ground, block)
        rope = tm.Spring(stiffness=1e4, length=10.5, force=1.0, only="tension")
        system.connect("rope", rope, system.ground.at((-10, 0, 0)), block)
        mech = system.build()
        run = mech.simulate((0, 1), mech.state(u={"A": speed}), rtol=1e-9, atol=1e-12)
        energy = 0.5 * run.u[:, 0] ** 2 + run.q[:, 0] + run.element("rope").energy
        errors.append(np.abs(energy - energy[0]).max() / energy[0])
    assert max(errors) < 1e-8


def test_a_start_on_the_corner_and_a_touch_at_rest_cost_nothing():
    stop = tm.HingeStop(upper=0.0, stiffness=1e4)
    mech = slide(("stop", stop)).build()
    for q, u in ((0.0, 1.0), (0.0, -1.0), (0.0, 0.0), (-1e-12, 1.0), (1e-12, -1.0)):
        run = mech.simulate((0, 0.5), mech.state(q={"A": q}, u={"A": u}), rtol=1e-9)
        assert run.success and run.report.steps < 300, run.message
        assert abs(abs(run.u[-1, 0]) - abs(u)) < 1e-7


@pytest.mark.parametrize("method", ["DOP853", "DP5"])
def test_rows_of_many_runs_and_batches_are_those_of_one_run_to_the_bit(method):
    stop = tm.HingeStop(lower=-0.5, upper=0.5, stiffness=tm.Parameter("k", 1e4), damping=0.1)
    mech, t, stiff = slide(("stop", stop)).build(), np.linspace(0, 1, 5), np.linspace(1e3, 1e5, 9)

    def start(mech):
        return mech.state(u={"A": 2.0})

    options = {"method": method, "rtol": 1e-8}
    many = mech.simulate_many((0, 1), start, {"k": stiff}, t_eval=t, **options)
    batch = mech.batch(9, start(mech), **options)
    for _ in range(4):
        batch.step(0.25)
    state = start(mech)
    for _ in range(4):
        state = mech.step(state, 0.25, **options)
    assert np.array_equal(batch.q, np.tile(state.q, (9, 1)))
    for k, stiffness in enumerate(stiff):
        other = mech.with_parameters(k=stiffness)
        run = other.simulate((0, 1), start(other), t_eval=t, **options)
        assert np.array_equal(many["q"][k], run.q)


def test_looking_events_and_checkpoints_leave_a_run_over_corners_as_it_is(tmp_path):
    mech = slide(("stop", tm.HingeStop(lower=-0.5, upper=0.5, stiffness=1e4, damping=0.1))).build()
    start = mech.state(u={"A": 2.0})
    plain = mech.simulate((0, 2), start, rtol=1e-9, t_eval=[0, 1, 2])
    looking = mech.simulate((0, 2), start, rtol=1e-9, t_eval=[0, 1, 2], events=["A.q > 0.1"])
    assert np.array_equal(plain.q, looking.q) and len(looking.events[0].t) > 1

    def interrupt(fraction):
        if fraction > 0.5:
            raise KeyboardInterrupt

    options = {"rtol": 1e-9, "t_eval": [0, 1, 2], "events": ["A.q > 0.1"]}
    path = tmp_path / "half.ckpt"
    part = mech.simulate((0, 2), start, checkpoint=path, progress=interrupt, **options)
    whole = mech.simulate((0, 2), start, resume=path, **options)
    assert not part.success and np.array_equal(whole.q, plain.q)


def test_models_without_one_sided_elements_have_nothing_to_look_for():
    from treemech.dynamics.simulation.integrator import one_sided_table

    assert one_sided_table(slide(("spring", tm.RotationalSpring(3.0))).build()._core) is None
    assert not tm.Spring(stiffness=1.0).one_sided and tm.Spring(stiffness=1.0, only="tension").one_sided
