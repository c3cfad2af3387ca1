"""Copies of mechanisms and runs, and what another process gets of them."""

import copy
import gc
import pickle
import subprocess
import sys

import numpy as np
import pytest

import treemech as tm
from tests.support.driven import chains_system, rubbing_system
from tests.support.mechanisms import random_mechanism
from tests.support.models import random_system, rotation


def slider_crank():
    """With a chord, a parameter, a state, a measure and an event."""
    l = tm.Parameter("l", 0.3)
    system = tm.System("slider-crank")
    crank = system.body("crank", 1.0, (0.01, 0.01, 0.01), com=(l / 2, 0, 0))
    rod = system.body("rod", 2.0, (0.02, 0.05, 0.05), com=(0.5, 0, 0))
    block = system.body("block", 1.0, (0.01, 0.01, 0.01))
    system.connect("A", tm.Revolute("y"), system.ground, crank)
    system.connect("B", tm.Revolute("y"), crank.at((l, 0, 0)), rod)
    system.connect("C", tm.Revolute("y"), rod.at((1, 0, 0)), block)
    system.connect("D", tm.Prismatic("x"), system.ground, block)
    system.connect("motor", tm.ElectricMotor(0.5, 1.0, 0.1), "A", inputs={"voltage": tm.Harmonic(3.0, 2.0)})
    system.measure("stroke", "D.q")
    return system.build()


def simulate(mech):
    start = mech.assemble(fix={"A": 0.4}, guess={"B": -0.5}, states={"motor": [1.0]})
    return mech.simulate((0, 0.5), start, events="A.u > 1", audit=True)


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_of_a_mechanism_moves_as_it_does_and_outlives_it(how):
    mech = slider_crank().with_parameters(l=0.35)
    want = simulate(mech)
    want.connection("D")
    other = how(mech)
    del mech
    gc.collect()
    run = simulate(other)
    assert np.array_equal(run.q, want.q) and other.parameters == {"l": 0.35}


@pytest.mark.parametrize("how", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_of_a_run_knows_what_it_knows(how):
    mech = slider_crank()
    run = simulate(mech)
    other = how(simulate(mech))
    for part in ("t", "q", "u", "z", "ud", "multipliers"):
        assert np.array_equal(getattr(other, part), getattr(run, part))
    assert np.array_equal(other.connection("D").force, run.connection("D").force)
    assert np.array_equal(other.measure("stroke"), run.measure("stroke"))
    assert np.array_equal(other.audit["motor"].supplied, run.audit["motor"].supplied)
    assert np.array_equal(other.events[0].t, run.events[0].t)
    assert other.statistics == run.statistics and other.message == run.message
    again = mech.simulate((0.5, 0.6), other.state())
    assert np.array_equal(again.q, mech.simulate((0.5, 0.6), run.state()).q)
    assert np.array_equal(how(other).energy.total, run.energy.total)


def test_another_process_can_use_a_mechanism(tmp_path):
    mech, file = slider_crank(), tmp_path / "mech.pickle"
    file.write_bytes(pickle.dumps(mech))
    code = (
        "import pickle, sys, pathlib; mech = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes());"
        "print(repr(mech.simulate((0, 0.5), mech.assemble(fix={'A': 0.4}, guess={'B': -0.5})).q[-1].tolist()))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True)
    want = mech.simulate((0, 0.5), mech.assemble(fix={"A": 0.4}, guess={"B": -0.5})).q[-1]
    assert done.stdout.strip() == repr(want.tolist())


def sent(system, mech, folder):
    return pickle.loads(pickle.dumps(mech))


def written(system, mech, folder):
    """Return a mechanism that was read from the file of its system."""
    return tm.read(system.save(folder / "model.json")).build()


def plan_numbers(mech):
    """Return all numbers of the description; addresses are others in every process."""
    layout = mech._core.layout
    plan, chords = layout.plan, layout.chords
    return [
        x.tobytes()
        for x in (
            plan.constants, plan.frames, plan.gravity, plan.dof, plan.end_points, chords.plan.place, chords.start,
            layout.efforts.start,
        )
    ]  # fmt: skip


@pytest.mark.parametrize("how", [sent, written])
@pytest.mark.parametrize("seed", range(12))
def test_a_model_that_was_sent_or_read_has_the_same_numbers(how, seed, tmp_path):
    rng = np.random.default_rng(seed)
    system = random_system(seed, n=5) if seed % 2 else random_mechanism(seed, False, 2).system
    other = system.body("other", 1.3, (0.1, 0.1, 0.12), com=rng.normal(size=3))
    place = system.bodies[0].at(rng.normal(size=3), rotation(rng)).at(rng.normal(size=3), rotation(rng))
    system.connect("more", tm.Revolute(rng.normal(size=3)), place.at((0.1, 0.2, 0.3)), other)
    mech = system.build()
    assert plan_numbers(how(system, mech, tmp_path)) == plan_numbers(mech)


@pytest.mark.parametrize("how", [sent, written])
@pytest.mark.parametrize(
    ("make", "seed"),
    [
        (rubbing_system, 0),
        (rubbing_system, 48),
        (rubbing_system, 60),
        (chains_system, 15),
        (chains_system, 107),
    ],
)
def test_a_model_that_was_sent_or_read_runs_the_same_to_the_bit(how, make, seed, tmp_path):
    system, start_of = make(seed)
    mech = system.build()
    start = start_of(mech)
    _ = mech.simulate((0, 0.3), start, rtol=1e-5).ud  # the first one is in use already
    other = how(system, mech, tmp_path)
    runs = [m.simulate((0, 0.3), start, rtol=1e-5) for m in (mech, other)]
    for part in ("t", "q", "u", "ud", "multipliers"):
        assert np.array_equal(*(getattr(run, part) for run in runs)), part
