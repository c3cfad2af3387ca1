"""Copies of mechanisms and runs, and what another process gets of them."""

import copy
import gc
import pickle
import subprocess
import sys

import numpy as np
import pytest

import treemech as tm


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
