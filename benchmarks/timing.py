"""CPU times, what they were measured on, and tables of them.

Times are CPU time of this thread, the least of many short blocks: other work on the machine takes time away
from the clock on the wall, not from this one.
"""

import gc
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

Work = Callable[[], Any]


def cpu_seconds(work: Work) -> float:
    """Return the CPU time of one call."""
    started = time.thread_time_ns()
    work()
    return 1e-9 * (time.thread_time_ns() - started)


def least_times(works: dict[str, Work], blocks: int = 40, block: float = 2e-3) -> dict[str, float]:
    """Measure CPU seconds per call of each work, in turns: the least of `blocks` blocks of about `block`."""
    repeats = {}
    for name, work in works.items():
        work()
        once = max(min(cpu_seconds(work) for _ in range(3)), 1e-7)
        repeats[name] = max(1, round(block / once))
    best = dict.fromkeys(works, float("inf"))
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(blocks):
            for name, work in works.items():
                n = repeats[name]
                started = time.thread_time_ns()
                for _ in range(n):
                    work()
                best[name] = min(best[name], 1e-9 * (time.thread_time_ns() - started) / n)
    finally:
        if enabled:
            gc.enable()
    return best


def machine() -> dict[str, Any]:
    """Return CPU, system and versions; nothing that names the machine."""
    model = platform.processor() or platform.machine()
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
        model = found[1].strip() if found else model
    except OSError:
        pass
    versions = {"python": platform.python_version()}
    for name in ("treemech", "numpy", "scipy", "numba", "pin", "mujoco"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "absent"
    if versions["treemech"] == "absent":
        import treemech

        versions["treemech"] = treemech.__version__
    return {"cpu": model, "cores": os.cpu_count(), "system": platform.system(), "versions": versions}


def fresh_process(code: str, **environment: str) -> tuple[float, str]:
    """Run `code` in a new Python with our sys.path; return (CPU seconds, what it printed).

    It keeps its bytecode, as an installed package has it: numpy's is there, and so must ours be.
    """
    path = os.pathsep.join(p for p in [os.getcwd(), *sys.path] if p)
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**inherited, "PYTHONPATH": path, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    printed = child.stdout.read()
    child.stdout.close()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"a fresh process failed with status {child.returncode}")
    return usage.ru_utime + usage.ru_stime, printed


def table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table; numbers with three digits, None as a dash.

    >>> print(table(["model", "us"], [["chain 7", 0.12345], ["chain 8", None]]))
    | model | us |
    |---|---|
    | chain 7 | 0.123 |
    | chain 8 | - |
    """
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def say(text: str) -> None:
    """Print a line of progress."""
    print(text, file=sys.stderr, flush=True)
