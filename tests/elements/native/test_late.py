"""Machine code is made once for a C function and all it calls; numba's own compilations stay what they are."""

import json
import os
import subprocess
import sys
import textwrap

import numba
import numpy as np
import pytest

import treemech as tm
from treemech.dynamics.native.budget import unit
from treemech.elements.compilation.entry import call, make_entry
from treemech.elements.native import late

if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
    pytest.skip("nothing is compiled", allow_module_level=True)

QUIET = 0.00265  # unit() in seconds on the machine of docs/measured.md, idle: bounds below are seconds there


@numba.njit
def cubed(x):
    return x * x * x


def value(function, t):
    out = np.zeros(3)
    call(tm.Function(function), "signal", np.zeros(0), np.zeros(0), t, out)
    return out


def test_a_jitted_function_of_an_element_is_still_pythons():
    """Lowered in an element, it is compiled by numba in its own way when Python or another jitted function calls it."""
    assert value(lambda t: cubed(t) + 1.0, 2.0).tolist() == [9.0, 12.0, 12.0]
    assert cubed(2.0) == 8.0 and cubed(3) == 27
    assert numba.njit(lambda x: cubed(x) + 0.5)(2.0) == 8.5
    assert value(lambda t: cubed(t) - 1.0, 2.0).tolist() == [7.0, 12.0, 12.0]


def test_a_jitted_function_may_have_been_compiled_before():
    @numba.njit
    def early(x):
        return np.sin(x) * 2.0

    assert early(0.5) == 2.0 * np.sin(0.5)
    assert value(lambda t: early(t), 0.5)[0] == pytest.approx(2.0 * np.sin(0.5), abs=1e-15)
    assert early(0.25) == 2.0 * np.sin(0.25)


def test_code_lowered_for_an_element_can_be_linked_by_numba():
    """Rules of dual numbers are numba's overloads: those lowered here may be met again in an ordinary compilation."""
    value(lambda t: np.hypot(t, 2.0) + max(t, 0.5) ** 3, 1.5)
    other = numba.njit(lambda x: np.hypot(x, 2.0) + max(x, 0.5) ** 3)
    assert other(1.5) == pytest.approx(np.hypot(1.5, 2.0) + 1.5**3, rel=1e-15)


def test_arrays_may_be_allocated():
    def allocates(t):
        a = np.zeros(3)
        a[1] = 2.0
        b = a + 1.0
        return b[1] * t

    assert value(allocates, 2.0).tolist() == [6.0, 3.0, 0.0]


def raises_plain(t):
    if t > 1.0:
        raise ValueError("too late for this signal")
    return 0.0 * t


def allocates_first(t):
    kept = np.zeros(4)
    for k in range(4):
        kept[k] = 0.5 * k
    return t * (kept * 2.0).sum()


@pytest.mark.parametrize("way", ["compiled", "from the cache"])
def test_a_new_process_allocates_and_hears_what_a_method_raises(way, tmp_path):
    code = """
    import numpy as np, treemech as tm
    from treemech.elements.compilation.entry import call
    from tests.elements.native.test_late import allocates_first, raises_plain
    out = np.zeros(3)
    call(tm.Function(allocates_first), "signal", np.zeros(0), np.zeros(0), 2.0, out)  # the first thing that is compiled
    print(out.tolist())
    try:
        call(tm.Function(raises_plain), "signal", np.zeros(0), np.zeros(0), 2.0, np.zeros(3))
    except tm.ElementError as error:
        print(repr(error.__cause__))
    """
    environment = {**os.environ, "TREEMECH_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    for _ in range(1 if way == "compiled" else 2):
        found = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True
        )
    assert found.stdout.splitlines() == ["[12.0, 6.0, 0.0]", "ValueError('too late for this signal')"], (
        found.stderr
    )


def test_numba_is_as_before_outside():
    usual = {**late._REPLACED, **dict.fromkeys(late._SLOW)}
    before = late._now(usual)
    with late.late_machine_code():
        assert type(cubed).compile is late._compile
        inside = late._now(usual)
    assert late._now(usual) == before and not set(map(id, inside.values())) & set(map(id, before.values()))


def test_one_module_for_an_element(monkeypatch):
    made = []
    finish = late.LateLibrary._finalize_specific
    monkeypatch.setattr(
        late.LateLibrary, "_finalize_specific", lambda self: (made.append(self.name), finish(self))
    )
    assert make_entry(tm.Function(lambda t: np.exp(-t) * np.cos(3.0 * t) + np.arctan2(t, 1.0))).way == "numba"
    assert len(made) == 1, made


MODELS = """
import time, json
import numpy as np
from math import cos, sin
from dataclasses import dataclass
import treemech as tm
from treemech.elements.compilation.entry import make_entry
from treemech.dynamics.native.budget import unit
{body}
"""
ELEMENTS = """
@dataclass(frozen=True)
class Turn(tm.Hinge):
    pitch: float = 0.1
    n_coordinates = 1
    def pose(self, q, t, offset, rotation):
        offset[2] = self.pitch * q[0]
        rotation[0, 0] = cos(q[0]); rotation[0, 1] = -sin(q[0])
        rotation[1, 0] = sin(q[0]); rotation[1, 1] = cos(q[0])

@dataclass(frozen=True)
class Strut(tm.Energetic):
    k: float = 100.0
    n_ends = 2
    n_deformations = 1
    def deformation(self, position, rotation, t, eps):
        x, y, z = position[1, 0] - position[0, 0], position[1, 1] - position[0, 1], position[1, 2] - position[0, 2]
        eps[0] = (x * x + y * y + z * z) ** 0.5
    def effort(self, now, t, out):
        out.effort[0] = self.k * (now.deformation[0] - 0.3)

import numba  # its import (0.15 s) counts apart
units = [unit()]
def took(what):
    started = time.process_time(); what(); spent = time.process_time() - started
    units.append(unit())
    return spent
"""
FOREIGN = (
    MODELS.format(body=ELEMENTS)
    + """
spent = {name: took(what) for name, what in (
    ("pose", lambda: make_entry(Turn())), ("effort", lambda: make_entry(Strut())), ("check", lambda: tm.check(Strut())),
    ("signal", lambda: make_entry(tm.Function(lambda t: 0.3 * np.sin(2.0 * t)))),
    ("relation", lambda: make_entry(tm.Relation(lambda q, t: q[0] + sin(q[1]) - q[2] * q[3]).joining(4))),
    ("surface", lambda: make_entry(tm.PointOnImplicitSurface.example())),
    ("next 1", lambda: make_entry(tm.Function(lambda t: 0.3 * np.sin(3.0 * t) + 0.1 * t))),
    ("next 2", lambda: make_entry(tm.Function(lambda t: 0.3 * np.exp(-t) * np.sin(3.0 * t)))),
    ("next 3", lambda: make_entry(tm.Function(lambda t: 0.5 * t * t if t < 1.0 else t - 0.5))),
)}
spent["next signal"] = sum(spent.pop(f"next {k}") for k in (1, 2, 3)) / 3
print(json.dumps([spent, min(units)]))
"""
)
COLD = MODELS.format(
    body="""
system = tm.System("cold")
arm = system.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1))
system.connect("pivot", tm.Revolute("x"), system.ground, arm.at((0, 0, 0.5)))
mech = system.build()
mech.simulate((0, 1), mech.state(q={"pivot": [0.9]}), rtol=1e-9)
spent = time.process_time()
print(json.dumps([{"first result": spent}, min(unit() for _ in range(5))]))
"""
)
BOUNDS = {
    "pose": 1.5,
    "effort": 1.5,
    "check": 3.0,
    "signal": 0.5,
    "next signal": 0.1,
    "relation": 0.25,
    "surface": 0.4,
    "first result": 7.0,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "code, jit", [(FOREIGN, "0"), (COLD, "1")], ids=["own elements", "whole core by jit"]
)
def test_first_contact_without_any_cache_is_quick(code, jit, tmp_path):
    """CPU seconds of a quiet machine: those taken, times what a fixed piece of work takes there over what it takes here."""
    best = {}
    for k in range(2):
        environment = {
            **os.environ, "TREEMECH_CACHE_DIR": str(tmp_path / str(k)), "TREEMECH_JIT": jit, "PYTHONPATH": os.pathsep.join(sys.path),
        }  # fmt: skip
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        spent, here = json.loads(done.stdout)
        best = {name: min(x * QUIET / here, best.get(name, np.inf)) for name, x in spent.items()}
    late_ones = {name: round(x, 3) for name, x in best.items() if x > BOUNDS[name]}
    assert not late_ones, f"{late_ones} of {BOUNDS}"


def test_the_unit_is_measured_here():
    assert 0.0 < unit() < 1.0
