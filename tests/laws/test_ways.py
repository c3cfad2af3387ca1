"""One source, three ways: built library, jit, plain Python give the same numbers."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tests.support.places import ROOT

SCRIPT = """
import json, sys
import numpy as np
from tests.support.models import random_state, random_system
from treemech.dynamics.native import entry_points as native
system = random_system(4, n=int(sys.argv[1]))
mech = system.build()
state = random_state(mech, 4)
out = {"way": native.way(), "numba": "numba" in sys.modules}
out["ud"] = mech.forward_dynamics(state).ud.tolist()
out["A"] = mech.mass_matrix(state).tolist()
out["Q"] = mech.load_column(state).tolist()
run = mech.simulate((state.t, state.t + 0.02), state, rtol=1e-8, t_eval=[state.t + 0.01, state.t + 0.02])
out["q"] = run.q.tolist()
out["force"] = run.connection("h3").force.tolist()
out["numba"] = "numba" in sys.modules
print(json.dumps(out))
"""


def numbers(n, **environment):
    env = {k: v for k, v in os.environ.items() if k not in ("TREEMECH_JIT", "NUMBA_DISABLE_JIT")}
    env.update(environment, PYTHONPATH=str(ROOT))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(n)], env=env, cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def same(one, other):
    for key in ("ud", "A", "Q", "q", "force"):
        a, b = np.array(one[key]), np.array(other[key])
        assert np.max(np.abs(a - b)) < 1e-9 * max(1.0, float(np.max(np.abs(a)))), key


def test_the_jit_gives_what_the_default_way_gives():
    default, jit = numbers(14), numbers(14, TREEMECH_JIT="1")
    assert jit["way"] == "jit"
    same(default, jit)


def test_the_built_library_runs_without_numba():
    default = numbers(14)
    if default["way"] != "library":
        pytest.skip("no library was built for these sources (make library)")
    assert not default["numba"]


def test_plain_python_gives_the_same():
    default, plain = numbers(5), numbers(5, NUMBA_DISABLE_JIT="1")
    assert plain["way"] == "python"
    same(default, plain)
