"""Compile pieces of the core, one after another, in a process of its own.

Each line on standard input is a job; each line on standard output the report of one. A job names a piece, the
file of its lowered code if that is known already, and the targets. When the input ends, so does the process, even
in the middle of a job: whoever started it is gone.
"""

import json
import os
import sys
import threading
import time
import zlib
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

# Features of x86-64-v3; the CPU test in linking.py asks for the same
_V3 = "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt,+xsave"


class Cpu(NamedTuple):
    name: str
    features: str


def cpus(x86: bool) -> dict[str, Cpu]:
    """Return the CPU of every target."""
    return {"base": Cpu("x86-64" if x86 else "generic", ""), "v3": Cpu("x86-64-v3", _V3)}


def functions(piece: str, file: str) -> dict[str, tuple[Any, Any]]:
    """Return (Python function, C signature) by exported name of what a piece holds."""
    from treemech.elements.compilation.entry import entry_globals
    from treemech.elements.compilation.numba_side import SIGNATURE
    from treemech.elements.compilation.source import entry_source
    from treemech.elements.lane_forms.entry import LANE_PART

    from . import pieces

    if file in pieces.ENTRIES_OF:
        from ..entries.table import ENTRIES

        return {name: ENTRIES[name] for name in pieces.ENTRIES_OF[file]}
    found: dict[str, tuple[Any, Any]] = {}
    for name, element, part in pieces.element_parts():
        if pieces.piece_of(element, part) != piece:
            continue
        if part == LANE_PART:
            from treemech.elements.lane_forms.numba_side import on_lanes

            found[name] = on_lanes(element)
            continue
        scope, _ = entry_globals(element, part)
        exec(entry_source(element, part), scope)
        found[name] = scope["entry"], SIGNATURE
    return found


def lowered(piece: str, file: str) -> bytes:
    """Return the code of a piece before any optimisation, as bitcode."""
    from treemech.elements.compilation import lowering, machine

    lowering.start()
    inner, wrappers = [], []
    for name, (function, signature) in functions(piece, file).items():
        inner.append(lowering.lower(function, signature))
        wrappers.append(machine.c_function(f"treemech_{name}", inner[-1], signature.args))
    lowering.collect_garbage()
    text = lowering.DEFINITIONS.module(inner, "".join(wrappers))
    return machine.parsed(text)


def work(job: dict[str, Any], folder: Path, x86: bool) -> dict[str, Any]:
    """Compile one piece for its targets. Leaves the files in the folder; returns what it took."""
    from treemech.elements.compilation import machine

    from .budget import unit

    key, seconds = job["key"], {}
    started = time.process_time()
    if job["lowered"]:
        bitcode = zlib.decompress(Path(job["lowered"]).read_bytes())
    else:
        bitcode = lowered(job["name"], job["file"])
        (folder / f"{key}.bc").write_bytes(zlib.compress(bitcode, 1))
        seconds["lower"] = time.process_time() - started
    machine.prepare()
    sizes = {"lowered": len(bitcode)}
    for target in job["targets"]:
        started = time.process_time()
        code = machine.emitted(bitcode, *cpus(x86)[target])
        (folder / f"{key}-{target}.o").write_bytes(code)
        seconds[target], sizes[target] = time.process_time() - started, len(code)
    return {"name": job["name"], "seconds": seconds, "sizes": sizes, "unit": unit()}


def main() -> None:
    folder, x86 = Path(sys.argv[1]), sys.argv[2] == "x86"
    jobs: SimpleQueue[str] = SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            jobs.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        job = json.loads(jobs.get())
        try:
            report = work(job, folder, x86)
        except Exception as error:
            report = {"name": job["name"], "error": f"{type(error).__name__}: {error}"}
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
