"""From a fresh process: CPU time to a first result, and the memory of a large one."""

import json
import tempfile
from typing import Any

from ..timing import fresh_process, say

FIRST_RESULT = """
import treemech as tm
system = tm.System("double pendulum")
upper = system.body("upper", 1.0, (1 / 12, 1 / 12, 0), com=(0, 0, -0.5))
lower = system.body("lower", 1.0, (1 / 12, 1 / 12, 0), com=(0, 0, -0.5))
system.connect("A", tm.Revolute("y"), system.ground, upper)
system.connect("B", tm.Revolute("y"), upper.at((0, 0, -1)), lower)
mech = system.build()
run = mech.simulate((0, 10), mech.state(q={"A": 0.8, "B": -0.3}), rtol=1e-9)
assert run.success
print(float(run.q[-1, 0]))
"""
LARGE = """
import json, resource, time
import numpy as np
import treemech as tm
from treemech.benchmarks.families.trees import hanging_chain, raised

def peak():
    try:  # of this process; ru_maxrss also counts the one that started it
        return 1024 * int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

tm.System, tm.Mechanism
before = peak()
a = time.process_time()
mech = hanging_chain({n}).build()
b = time.process_time()
run = mech.simulate((0, 0.05), raised(mech), rtol=1e-6, t_eval=np.linspace(0, 0.05, 10))
c = time.process_time()
assert run.success, run.message
print(json.dumps(dict(build_s=b - a, simulate_s=c - b, evaluations=run.statistics["evaluations"],
                      steps=run.statistics["steps"], memory_mb=(peak() - before) / 1e6)))
"""


def first_results(repeats: int, jit: bool = True, cold: bool = False) -> dict[str, Any]:
    """Measure CPU seconds of fresh processes, the least of `repeats`; ratios to `import numpy`."""
    runs: dict[str, tuple[str, dict[str, str]]] = {
        "import numpy": ("import numpy", {}),
        "import treemech": ("import treemech as tm; tm.System", {}),
        "as installed": (FIRST_RESULT, {}),
    }
    if jit:
        runs["warm jit"] = (FIRST_RESULT, {"TREEMECH_JIT": "1"})
    best: dict[str, float] = {}
    for name, (code, environment) in runs.items():
        fresh_process(code, **environment)  # writes what is kept between processes
        best[name] = min(fresh_process(code, **environment)[0] for _ in range(repeats))
    if cold:
        say("first result, cold jit")
        with tempfile.TemporaryDirectory() as folder:
            best["cold jit"], _ = fresh_process(FIRST_RESULT, TREEMECH_JIT="1", TREEMECH_CACHE_DIR=folder)
    return {"seconds": best, "ratio": {name: s / best["import numpy"] for name, s in best.items()}}


def large_chain(n: int) -> dict[str, Any]:
    """Measure a chain of n links in a fresh process: CPU seconds, and peak memory above the import."""
    _, printed = fresh_process(LARGE.replace("{n}", str(n)))
    return {"links": n, **json.loads(printed.splitlines()[-1])}
