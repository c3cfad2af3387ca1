"""Elements from an author's own file: compiled as they stand, or refused with their line."""

import importlib.util
import json
import os
import subprocess
import sys
import textwrap
import warnings
from math import cos, sin
from pathlib import Path

import numpy as np
import pytest
from numba import config
from numpy.testing import assert_allclose

from tests.support.places import ROOT
from treemech.elements import Force, Harmonic, Polar, Polynomial, Revolute
from treemech.elements.check.checks import check
from treemech.elements.check.probe import probe
from treemech.elements.compilation.entry import call, make_entry
from treemech.elements.compilation.explain import ElementCompileWarning
from treemech.topology.errors import ElementError

jit = pytest.mark.skipif(config.DISABLE_JIT, reason="compiles")
ROUND = 1e-12  # two routes to one number

HEAD = """
from dataclasses import dataclass
from math import cos, sin
from typing import Any
from treemech.elements import Hinge, Signal, Load
"""

MINE = (
    HEAD
    + """
LEAD = 0.5


def turn(angle, C):
    C[0, 0] = cos(angle)
    C[0, 1] = -sin(angle)
    C[1, 0] = sin(angle)
    C[1, 1] = cos(angle)


def lift(angle):
    return LEAD * profile(angle)


def profile(angle):
    return 1.0 - cos(angle)


@dataclass(frozen=True)
class Screw(Hinge):
    pitch: float
    n_coordinates = 1

    def evaluate(self, q, u, t, motion):
        motion.offset[2] = LEAD * self.pitch * q[0]
        turn(q[0], motion.rotation)
        motion.translation_partials[0, 2] = LEAD * self.pitch
        motion.rotation_partials[0, 2] = 1.0


@dataclass(frozen=True)
class Cam(Hinge):
    size: float
    push: Any
    n_coordinates = 1

    def pose(self, q, t, offset, rotation):
        offset[0] = self.size * lift(q[0]) + self.push * q[0]
        turn(q[0], rotation)
"""
)


@pytest.fixture
def author(tmp_path):
    """Write a file of an author and import it."""

    def write(source, name="mine"):
        path = tmp_path / f"{name}.py"
        path.write_text(textwrap.dedent(source))
        spec = importlib.util.spec_from_file_location(f"{name}_{tmp_path.name}", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    return write


def line_of(module, text):
    return next(n for n, line in enumerate(Path(module.__file__).read_text().splitlines(), 1) if text in line)


def through_address(element, q, u, t=0.0):
    record = np.zeros(24 + 6 * len(u))
    record[3:12:4] = 1.0
    call(element, "hinge", np.array(q, float), np.array(u, float), t, record)
    return record


# ---------------------------------------------------------------- what works
@jit
def test_foreign_hinges_are_compiled_and_keep_their_contract(author):
    mine = author(MINE)
    screw, cam = mine.Screw(0.2), mine.Cam(0.3, Harmonic(0.1, 2.0))
    for hinge in (screw, cam):
        probe(hinge)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ElementCompileWarning)
            assert check(hinge, samples=4).way == "numba"
    assert_allclose(through_address(screw, [0.7], [1.0])[2], 0.5 * 0.2 * 0.7, rtol=ROUND)


@jit
def test_signal_in_a_pose_brings_its_rate_and_acceleration(author):
    cam = author(MINE).Cam(0.3, Polynomial([1.0, 2.0, 3.0]))
    q, u, t = 0.4, 0.9, 0.5
    motion = cam.motion([q], [u], t)
    assert_allclose(motion.offset[0], 0.3 * 0.5 * (1 - cos(q)) + (1 + 2 * t + 3 * t * t) * q, rtol=ROUND)
    assert_allclose(motion.translation_drift[0], (2 + 6 * t) * q, rtol=ROUND)
    bias = 0.3 * 0.5 * cos(q) * u * u + 2 * (2 + 6 * t) * u + 6 * q
    assert_allclose(motion.translation_bias[0], bias, rtol=ROUND)


@jit
def test_instances_share_one_compiled_method(author):
    mine = author(MINE)
    entries = [make_entry(mine.Screw(pitch)) for pitch in (0.1, 0.2)]
    assert entries[0].address == entries[1].address
    values = [through_address(mine.Screw(pitch), [1.0], [0.0])[2] for pitch in (0.1, 0.2)]
    assert_allclose(values, [0.05, 0.1], rtol=ROUND)


# ---------------------------------------------------------------- what cannot be compiled
@jit
def test_what_cannot_be_compiled_runs_as_python_with_one_warning(author):
    mine = author(
        HEAD
        + """
@dataclass(frozen=True)
class Talker(Hinge):
    n_coordinates = 1

    def evaluate(self, q, u, t, motion):
        label = f"{q[0]:.3f}"
        motion.offset[0] = q[0] + 0.0 * len(label)
        motion.translation_partials[0, 0] = 1.0
"""
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ways = [make_entry(mine.Talker()).way for _ in range(2)]
        check(mine.Talker(), samples=3)
    said = [str(w.message) for w in caught if w.category is ElementCompileWarning]
    assert ways == ["python", "python"] and len(said) == 1
    line = line_of(mine, "label = f")
    assert f'Talker.evaluate cannot be compiled: mine.py, line {line}: `label = f"{{q[0]:.3f}}"`: ' in said[0]
    assert said[0].split("`: ")[1].split(";")[0].strip()  # a cause
    assert_allclose(through_address(mine.Talker(), [0.7], [1.0])[0], 0.7, rtol=ROUND)


@jit
def test_misspelt_field_is_refused_and_the_fields_named(author):
    mine = author(MINE.replace("LEAD * self.pitch * q[0]", "LEAD * self.pich * q[0]"))
    with pytest.raises(ElementError, match=r"mine.py, line \d+: .*The numeric fields are: pitch\.") as caught:
        make_entry(mine.Screw(0.2))
    assert f"line {line_of(mine, 'self.pich')}" in str(caught.value)
    with pytest.raises(ElementError, match="no field 'pich': did you mean 'pitch'"):
        probe(mine.Screw(0.2))


@jit
def test_pose_that_cannot_be_compiled_is_refused(author):
    mine = author(
        HEAD
        + """
@dataclass(frozen=True)
class Chatty(Hinge):
    n_coordinates = 1

    def pose(self, q, t, offset, rotation):
        label = f"{q[0]:.3f}"
        offset[0] = q[0] + 0.0 * len(label)
"""
    )
    with pytest.raises(ElementError, match=r"Chatty.pose cannot be compiled: mine.py, line \d+.*needs numba"):
        make_entry(mine.Chatty())


@jit
def test_the_same_source_in_a_module_of_another_name_is_compiled_anew(author):
    source = (
        HEAD
        + """
@dataclass(frozen=True)
class Rail(Hinge):
    n_coordinates = 1

    def evaluate(self, q, u, t, motion):
        if q[0] > 1.0:
            raise ArithmeticError("beyond the rail")
        motion.offset[0] = q[0]
        motion.translation_partials[0, 0] = 1.0
"""
    )
    first = author(source, "first")
    assert make_entry(first.Rail()).way == "numba"
    del sys.modules[first.__name__]  # as in another process, after the file was renamed
    second = author(source, "second")
    assert make_entry(second.Rail()).way == "numba"
    np.testing.assert_allclose(through_address(second.Rail(), [0.5], [1.0])[:1], 0.5)


@jit
@pytest.mark.parametrize("talks", [False, True], ids=["compiled", "python"])
@pytest.mark.filterwarnings("ignore::treemech.elements.compilation.explain.ElementCompileWarning")
def test_exception_of_a_method_is_carried_out(author, talks):
    mine = author(
        HEAD
        + f"""
@dataclass(frozen=True)
class Slot(Hinge):
    n_coordinates = 1

    def evaluate(self, q, u, t, motion):
        if q[0] > 1.0:
            raise ArithmeticError("the pin leaves its slot")
        {'label = f"{q[0]:.3f}"' if talks else "pass"}
        motion.offset[0] = q[0]
        motion.translation_partials[0, 0] = 1.0
"""
    )
    slot = mine.Slot()
    assert make_entry(slot).way == ("python" if talks else "numba")
    with pytest.raises(ElementError, match="Slot failed at t = 0.25") as caught:
        through_address(slot, [2.0], [0.0], 0.25)
    assert isinstance(caught.value.__cause__, ArithmeticError)
    assert "the pin leaves its slot" in str(caught.value.__cause__)
    through_address(slot, [0.5], [0.0])  # and it works again
    with pytest.raises(ArithmeticError):
        slot.motion([2.0])


# ---------------------------------------------------------------- wrong arguments
WRONG = {
    "Evaluate": "class Evaluate(Hinge):\n    def evaluate(self, q, u, motion): pass",
    "Pose": "class Pose(Hinge):\n    def pose(self, q, offset, rotation): pass",
    "Rates": "class Rates(Signal):\n    def evaluate(self, out): pass",
    "Value": "class Value(Signal):\n    def value(self): return 0.0",
    "Push": "class Push(Load):\n    def evaluate(self, end, load): pass",
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_number_of_arguments_is_named_with_class_and_line(author, name):
    mine = author(HEAD + WRONG[name] + "\n")
    method = WRONG[name].split("def ")[1].split("(")[0]
    count = WRONG[name].split("(")[2].split(")")[0].count(",") + 1
    line = line_of(mine, f"def {method}")
    expected = rf"{name}\.{method} \(mine.py, line {line}\) takes {count} arguments; wanted {method}\(self, "
    for way in (make_entry, check):
        with pytest.raises(ElementError, match=expected):
            way(getattr(mine, name)())


@pytest.mark.parametrize("base", ["Hinge", "Signal"])
def test_class_without_a_method_is_refused(author, base):
    mine = author(HEAD + f"class Empty({base}): pass\n")
    with pytest.raises(ElementError, match=r"Empty has neither evaluate\(\) nor (pose|value)"):
        make_entry(mine.Empty())


# ---------------------------------------------------------------- between processes
RUN = """
import json, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import mine
from treemech.elements.compilation.entry import call, compile_entry
results = {}
for name in sys.argv[2:]:
    element = {"screw": mine.Screw(0.2), "cam": mine.Cam(0.3, 0.1)}[name]
    record = np.zeros(30)
    call(element, "hinge", np.array([1.0]), np.ones(1), 0.0, record)
    results[name] = [compile_entry(element).cache_hits, *record[:12].tolist()]
print(json.dumps(results))
"""


def in_new_process(code, *arguments, **environment):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@jit
def test_unchanged_source_is_found_in_the_cache_and_changed_source_is_not(tmp_path):
    (tmp_path / "mine.py").write_text(MINE.replace("LEAD = 0.5", "from numbers_of_mine import LEAD, EXTRA"))
    (tmp_path / "numbers_of_mine.py").write_text("LEAD = 0.5\nEXTRA = 1\n")

    def run(*names):
        return in_new_process(RUN, tmp_path, *names, TREEMECH_CACHE_DIR=str(tmp_path / "cache"))

    first = run("screw", "cam")
    assert first["screw"][0] == first["cam"][0] == 0
    assert_allclose(first["screw"][3], 0.5 * 0.2, rtol=ROUND)
    assert_allclose(first["cam"][1], 0.3 * 0.5 * (1 - cos(1.0)) + 0.1, rtol=ROUND)
    second = run("screw", "cam")
    assert second["screw"][0] == second["cam"][0] == 1
    assert second["screw"][1:] == first["screw"][1:] and second["cam"][1:] == first["cam"][1:]

    # A constant in another file of the author: only its value tells
    (tmp_path / "numbers_of_mine.py").write_text("LEAD = 0.7\nEXTRA = 1\n")
    hits, *record = run("screw")["screw"]
    assert hits == 0
    assert_allclose(record[2], 0.7 * 0.2, rtol=ROUND)

    # A number inside a helper of the author's own file
    source = (tmp_path / "mine.py").read_text()
    (tmp_path / "mine.py").write_text(source.replace("C[1, 1] = cos(angle)", "C[1, 1] = 3.0"))
    hits, *record = run("screw")["screw"]
    assert hits == 0 and record[7] == 3.0


BY_PYTHON = """
import json
import numpy as np
from treemech.elements import Force, Polar, Revolute
from treemech.elements.check.checks import check
from treemech.elements.compilation.entry import call, make_entry
record = np.zeros(42)
record[3:12:4] = 1.0
call(Polar(), "hinge", np.array([0.3, 2.0, 0.5]), np.array([1.0, 2.0, 3.0]), 0.0, record)
load = np.zeros(6)
call(Force(x=2.0), "load", np.concatenate((np.zeros(3), np.eye(3).ravel())), np.zeros(6), 0.0, load)
print(json.dumps([make_entry(Polar()).way, check(Revolute(), samples=2).way, record.tolist(), load.tolist()]))
"""


def test_without_jit_built_in_elements_run_as_python_through_their_address():
    way, checked, record, load = in_new_process(BY_PYTHON, NUMBA_DISABLE_JIT="1")
    assert way == checked == "python"
    motion = Polar().motion([0.3, 2.0, 0.5], [1.0, 2.0, 3.0])
    assert_allclose(record, np.concatenate([x.ravel() for x in motion]), rtol=ROUND)
    assert load == [2.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def test_a_pose_without_jit_is_refused(author, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    with pytest.raises(ElementError, match=r"Cam.pose needs numba"):
        make_entry(author(MINE).Cam(0.3, 0.1))


@jit
@pytest.mark.parametrize("value", ["0", ""])
def test_jit_not_disabled_means_jit(monkeypatch, value):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", value)
    assert make_entry(Revolute()).way in ("numba", "library")


def test_built_in_elements_use_the_same_door():
    record = through_address(Revolute(), [0.3], [1.0])
    assert_allclose(record[3:12].reshape(3, 3)[1], [sin(0.3), cos(0.3), 0.0], rtol=ROUND)
    assert make_entry(Force(x=1.0)).address
