"""Compile every entry point now; needed only where there is no built library."""

import sys
import time
from argparse import ArgumentParser, Namespace

from . import Outcome

EXAMPLES = ("treemech warmup",)


def arguments(parser: ArgumentParser) -> None:
    """There are none."""


def run(given: Namespace) -> Outcome:
    from treemech.dynamics.native import entry_points as native

    started, seconds = time.perf_counter(), {}
    for number, name in enumerate(native.PROTOTYPES):
        begun = time.perf_counter()
        native.address(name)
        seconds[name] = round(time.perf_counter() - begun, 3)
        if seconds[name] > 0.1:
            print(f"{number + 1} of {len(native.PROTOTYPES)}: {name} {seconds[name]:.1f} s", file=sys.stderr)
    total = time.perf_counter() - started
    line = f"{len(seconds)} entry points ready ({native.way()}) after {total:.1f} s"
    return Outcome([line], {"way": native.way(), "seconds": round(total, 3), "entries": seconds})
