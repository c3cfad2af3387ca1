"""Runs as files: what elements saw, did and remember comes back with them."""

from dataclasses import dataclass, fields

import numpy as np
import pytest

import treemech as tm


@dataclass(frozen=True)
class Lagging(tm.Energetic):
    """A force along the line of its two points that follows its input with a delay: x' = (i - x) / delay."""

    delay: float = 0.1
    n_ends = 2
    n_states = 1
    input_names = ("wanted",)
    n_deformations = 1

    def initial(self):
        return np.array([0.3])

    def deformation(self, position, rotation, t, eps):
        square = 0.0
        for k in range(3):
            square += (position[1, k] - position[0, k]) ** 2
        eps[0] = square**0.5

    def effort(self, now, t, out):
        out.effort[0] = now.x[0]
        out.rates[0] = (now.inputs[0] - now.x[0]) / self.delay


@pytest.fixture(scope="module")
def run():
    system = tm.System("kept", gravity=(0, 0, -9.81))
    arm = system.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, arm)
    anchor = system.ground.at((0.5, 0, 1))
    system.connect("spring", tm.Spring(stiffness=40.0, damping=0.5, length=0.8), anchor, arm.at((1, 0, 0)))
    system.connect(
        "puller", Lagging(), system.ground.at((1, 0, 1)), arm.at((1, 0, 0)), inputs={"wanted": "command"}
    )
    between = tm.Composite(points={"n": 1}, viscous=("n",))
    between.connect("stiff", tm.Spring(stiffness=30.0, length=0.2), "a", "n")
    between.connect("soft", tm.Spring(stiffness=20.0, damping=3.0, length=0.5), "n", "b")
    system.connect("between", between, system.ground.at((0, 0, 1)), arm.at((0.7, 0, 0)))
    system.controller("regulator", lambda t, q: -2.0 * q, period=0.05, measures=["angle"], inputs=["command"])
    system.measure("angle", "A.q")
    system.measure("height", lambda run: run.point("arm", (1, 0, 0)).position[:, 2])
    mech = system.build()
    return mech.simulate((0, 0.4), mech.assemble(fix={"A": 0.2}), rtol=1e-8, audit=True)


def test_elements_states_audit_inputs_and_measures_come_back(run, tmp_path):
    back = tm.read(run.save(tmp_path / "kept"))
    np.testing.assert_array_equal(back.z, run.z)
    assert run.z.shape[1] > 1 and np.ptp(run.z[:, 0]) > 1e-3
    for e in run._info.elements:
        before, after = run.element(e.name), back.element(e.name)
        for f in fields(before):
            np.testing.assert_array_equal(getattr(after, f.name), getattr(before, f.name), e.name)
        for name in ("work", "dissipated", "supplied"):
            np.testing.assert_array_equal(
                getattr(back.audit[e.name], name), getattr(run.audit[e.name], name), e.name
            )
    np.testing.assert_array_equal(back.input("command"), run.input("command"))
    assert len(np.unique(run.input("command"))) > 4
    for name in ("angle", "height", "puller.x[0]"):
        np.testing.assert_array_equal(back.measure(name), run.measure(name), name)
    np.testing.assert_array_equal(back.energy.total, run.energy.total)


def test_a_run_read_can_be_written_again(run, tmp_path):
    once = tm.read(run.save(tmp_path / "once"))
    twice = tm.read(once.save(tmp_path / "twice"))
    np.testing.assert_array_equal(twice.measure("height"), run.measure("height"))
    np.testing.assert_array_equal(twice.z, run.z)


def test_without_an_audit_there_is_none_after_reading_either(run, tmp_path):
    system = tm.System("plain")
    bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -1))
    pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
    system.connect("spring", tm.RotationalSpring(2.0), pin)
    mech = system.build()
    back = tm.read(mech.simulate((0, 0.1), mech.state(q={"pin": 0.3})).save(tmp_path / "plain"))
    assert back.z.shape == (len(back.t), 0)
    with pytest.raises(tm.TreemechError, match="no energy audit"):
        _ = back.audit


def test_a_run_from_a_file_tells_states_from_memory_and_has_its_report(tmp_path):
    system = tm.System("relaxing")
    body = system.body("body", 1.0, (1, 1, 1))
    system.connect("slide", tm.Prismatic("x"), system.ground, body)
    history = tm.FungHistory(10.0, [0.0, 0.5, 1.0], [1.0, 0.8, 0.7], 1.0, length=0.1)
    system.connect("tissue", history, body, system.ground.at((1, 0, 0)))
    system.connect("motor", tm.ElectricMotor(), "slide", inputs={"voltage": 1.0})
    mech = system.build()
    run = mech.simulate((0, 0.5), mech.assemble())
    again = tm.read(run.save(tmp_path / "run"))
    state, want = again.state(), run.state()
    assert len(want.x) == 1 and len(want.memory) > 1
    assert np.array_equal(state.x, want.x) and np.array_equal(state.memory, want.memory)
    assert again.report._asdict().keys() == run.report._asdict().keys()
    assert str(again.report) == again.message == run.message and again.report.steps == run.report.steps
