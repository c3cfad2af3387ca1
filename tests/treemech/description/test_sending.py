"""What a mechanism holds that another process cannot find is named, or sent as code."""

import copy
import pickle
import sys
import types
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

import treemech as tm


def arm():
    system = tm.System("arm")
    body = system.body("body", 1.0, (0.1, 0.1, 0.1), com=(0.3, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, body)
    return system, body


def prescribed():
    system, _ = arm()
    system.prescribe("A", lambda t: 0.1 * t)
    return system


def controlled():
    system, _ = arm()
    system.controller("hold", lambda t: 1.0, 0.1, (), ("volts",))
    system.connect("motor", tm.ElectricMotor(0.3, 1.5, 0.03), "A", inputs={"voltage": "volts"})
    return system


def measured():
    system, _ = arm()
    system.measure("angle", lambda run: run.q[:, 0])
    return system


def fed():
    system, _ = arm()
    system.input("volts", lambda t: 2.0)
    system.connect("motor", tm.ElectricMotor(0.3, 1.5, 0.03), "A", inputs={"voltage": "volts"})
    return system


def pushed():
    system, body = arm()
    system.load("push", tm.Force(lambda t: 2.0 * t, 0.0, 0.0), body)
    return system


def local_class():
    @dataclass(frozen=True)
    class Push(tm.Load):
        size: float

        def evaluate(self, end, t, load):
            load.force[0] = self.size

    system, body = arm()
    system.load("push", Push(1.0), body)
    return system


MODELS = {
    prescribed: "prescribe 'A'", controlled: "controller 'hold'", measured: "measure 'angle'", fed: "input 'volts'",
    pushed: "load 'push'", local_class: "load 'push'",
}  # fmt: skip


def without_cloudpickle(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)


@pytest.mark.parametrize("make", MODELS)
def test_what_cannot_be_sent_is_named(make, monkeypatch):
    without_cloudpickle(monkeypatch)
    mech = make().build()
    with pytest.raises(tm.TreemechError) as told:
        pickle.dumps(mech)
    text = str(told.value)
    assert MODELS[make] in text and "'arm'" in text and "top of a module" in text and "cloudpickle" in text
    assert ("Push" if make is local_class else "test_sending.py, line") in text


@pytest.mark.parametrize("make", MODELS)
def test_a_copy_in_the_same_process_keeps_its_functions(make):
    mech = make().build()
    want = mech.simulate((0, 0.2)).q
    for how in (copy.copy, copy.deepcopy):
        assert np.array_equal(how(mech).simulate((0, 0.2)).q, want)


def test_a_pool_of_processes_gives_the_same_error(monkeypatch):
    without_cloudpickle(monkeypatch)
    mech = measured().build()
    with ProcessPoolExecutor(1) as pool, pytest.raises(tm.TreemechError, match="measure 'angle' holds"):
        pool.submit(repr, mech).result()


def test_with_cloudpickle_functions_are_sent_as_code(monkeypatch):
    """Its two functions that matter, in a form for this process only."""
    kept = []
    known = types.ModuleType("cloudpickle")
    known.dumps = lambda thing: kept.append(thing) or pickle.dumps(len(kept) - 1)
    monkeypatch.setitem(sys.modules, "cloudpickle", known)
    data = pickle.dumps(measured().build())
    assert len(kept) == 1 and kept[0].name == "arm" and isinstance(data, bytes)
