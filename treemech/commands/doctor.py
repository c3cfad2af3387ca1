"""Look for faults of the set-up: versions, core, CPU, cache, compiler, and a self-test with timing.

Each finding says what to do. What is merely slower or missing for some uses is a warning.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any, NamedTuple

from . import DONE, NO, Outcome
from ._core import core, line, versions

EXAMPLES = ("treemech doctor", "treemech doctor --json", "treemech doctor --no-self-test")
CODES = {NO: "something does not work; warnings alone give 0"}
ENOUGH = 200e6  # bytes free for the cache: compiled code of a version takes up to 100 MB
SELF_TEST = """
import json, sys, time
started = time.perf_counter()
import numpy
numpy_ready = time.perf_counter()
import treemech as tm
system = tm.System("oscillator", gravity=(0, 0, 0))
cart = system.body("cart", mass=2.0, inertia=(1, 1, 1))
system.connect("rail", tm.Prismatic("x"), system.ground, cart)
system.connect("spring", tm.Spring(stiffness=8.0, length=1.0), cart, system.ground.at((-3, 0, 0)))
mech = system.build()
run = mech.simulate((0, 5), mech.state(q={"rail": -1.5}), rtol=1e-10)
error = abs(run.q[-1, 0] - (-2.0 + 0.5 * numpy.cos(2.0 * 5.0)))
ready = time.perf_counter()
print(json.dumps({"numpy": numpy_ready - started, "first_result": ready - started, "error": error,
                  "success": run.success, "numba": "numba" in sys.modules}))
"""


class Finding(NamedTuple):
    """One thing that was looked at: state is "ok", "warn" or "FAIL"."""

    name: str
    state: str
    text: str
    advice: str = ""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--no-self-test", action="store_true", help="look only; simulate nothing")


def run(given: Namespace) -> Outcome:
    findings = [*packages(), running(), cpu(), cache(), compiler(), *environment()]
    if not given.no_self_test:
        findings += self_test()
    lines = []
    for f in findings:
        lines.append(f"{f.state:<4}  {f.name:<11} {f.text}")
        lines += [f"{'':18}-> {f.advice}"] if f.advice else []
    faults, warnings = (sum(f.state == state for f in findings) for state in ("FAIL", "warn"))
    lines += ["", f"{faults} faults, {warnings} warnings."]
    data = {
        "findings": [f._asdict() for f in findings],
        "faults": faults,
        "warnings": warnings,
        "versions": versions(),
    }
    return Outcome(lines, data, NO if faults else DONE)


# ---------------------------------------------------------------- what is there
def packages() -> Iterator[Finding]:
    """Look at the versions of what the package needs, and at what only some uses need."""
    from importlib.util import find_spec

    from treemech.dynamics.native import entry_points as native
    from treemech.elements.native.numba_version import numba_fault

    found = versions()
    missing = [
        name for name, version in found.items() if version is None and name not in ("numba", "llvmlite")
    ]
    text = ", ".join(f"{name} {version}" for name, version in found.items() if version)
    yield Finding(
        "versions", "FAIL" if missing else "ok", text + "".join(f"; {name} is missing" for name in missing),
        f"pip install {' '.join(missing)}" if missing else "",
    )  # fmt: skip
    wrong = numba_fault()
    if wrong:
        library = native.way() == "library"
        meaning = (
            "only elements of your own need it, which run as Python"
            if library
            else "all runs as Python, slowly"
        )
        yield Finding("numba", "warn" if library else "FAIL", f"{wrong[0]}; {meaning}", wrong[1])
    extras = {"matplotlib": "plot", "xarray": "xarray", "sksundae": "sundials"}
    absent = [f"{name} (treemech[{extra}])" for name, extra in extras.items() if find_spec(name) is None]
    yield Finding("extras", "ok", f"not installed: {', '.join(absent)}" if absent else "all installed")


def running() -> Finding:
    """Look at the compiled core."""
    state = core()
    if state["way"] == "library":
        return Finding(
            "core", "warn" if state["fault"] else "ok", line(state), state["fault"] and "install it again"
        )
    switched_off = state["fault"].endswith("is set")
    advice = (
        "" if switched_off else "a wheel, or make library in a checkout, saves about 10 s at the first use"
    )
    return Finding("core", "warn", line(state), advice)


def cpu() -> Finding:
    """Look at the processor, and at which of the built libraries it can run."""
    import os
    import platform

    from treemech.elements.native import library

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    text = f"{platform.machine()}, {usable} of {os.cpu_count()} processors, {platform.platform(terse=True)}"
    opened = library.open_library()
    if opened is None:
        return Finding("cpu", "ok", text)
    fast = bool(opened.treemech_cpu_v3())
    return Finding("cpu", "ok", f"{text}; {'AVX2 and FMA (x86-64-v3)' if fast else 'the base instructions'}")


def cache() -> Finding:
    """Look at the folder that keeps compiled code."""
    import shutil
    import tempfile

    from treemech.elements.native.place import cache_root

    folder = cache_root()
    advice = "set TREEMECH_CACHE_DIR to a folder you can write to"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(1 << 16))
    except OSError as error:
        return Finding("cache", "warn", f"{folder} cannot be written ({error.strerror or error})", advice)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    free = shutil.disk_usage(folder).free
    text = f"{folder}, {size / 1e6:.0f} MB in use, {free / 1e9:.1f} GB free"
    if free < ENOUGH:
        return Finding("cache", "warn", text, f"make room, treemech clear-cache, or {advice}")
    return Finding("cache", "ok", text)


def compiler() -> Finding:
    """Look at what building the library needs."""
    from treemech.dynamics.native import build, entry_points

    obstacle = build.obstacle()
    if not obstacle:
        return Finding("compiler", "ok", "the library can be built here")
    needed = (
        "not needed, the library is there"
        if entry_points.way() == "library"
        else "numba compiles on first use instead"
    )
    return Finding("compiler", "ok", f"the library cannot be built here: {obstacle} ({needed})")


def environment() -> Iterator[Finding]:
    """Look at variables that change how treemech runs."""
    import os

    given = {name: value for name, value in os.environ.items() if name.startswith(("TREEMECH_", "NUMBA_"))}
    if given:
        slow = given.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
        yield Finding(
            "environment", "warn" if slow else "ok", ", ".join(f"{name}={value}" for name, value in sorted(given.items())),
            "unset NUMBA_DISABLE_JIT, or everything runs as plain Python" if slow else "",
        )  # fmt: skip


# ---------------------------------------------------------------- what it does
def self_test() -> Iterator[Finding]:
    """Simulate an oscillator in a new process, against its closed form and the time numpy takes, and an example in this one."""
    import time

    result = _first_result()
    if "failure" in result:
        yield Finding(
            "first run", "FAIL", result["failure"], "see the message; treemech clear-cache often helps"
        )
    else:
        ratio = result["first_result"] / result["numpy"]
        text = (
            f"{result['first_result']:.2f} s from the start to the first result, {ratio:.1f} times import numpy; "
            f"error {result['error']:.1e}; numba {'was' if result['numba'] else 'not'} imported"
        )
        right = result["success"] and result["error"] < 1e-7
        yield Finding(
            "first run",
            "ok" if right else "FAIL",
            text,
            "" if right else "the result is wrong: please report it",
        )
    from .. import examples

    started = time.perf_counter()
    example = examples.find("four_bar")
    far = [name for name, part in example.deviations().items() if not part <= 1.0]
    text = f"four_bar: {example.run().message} {time.perf_counter() - started:.2f} s"
    if far or not example.run().success:
        yield Finding(
            "example", "FAIL", f"{text} Wrong: {', '.join(far)}", "the result is wrong: please report it"
        )
    else:
        yield Finding("example", "ok", f"{text}; all {len(example.known)} known values reached")


def _first_result() -> dict[str, Any]:
    """Return what the self-test in a new process says, or its last line of failure."""
    import json
    import os
    import subprocess
    import sys
    from pathlib import Path

    package = Path(sys.modules["treemech"].__path__[0])
    path = os.pathsep.join(p for p in (str(package.parent), os.environ.get("PYTHONPATH")) if p)
    done = subprocess.run(
        [sys.executable, "-c", SELF_TEST],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    try:
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        last = (done.stderr.strip().splitlines() or [f"the process ended with code {done.returncode}"])[-1]
        return {"failure": last}
    return found
