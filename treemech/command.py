"""The command line: a demonstration, elements of your own, the compiled core's state, warm-up and cache."""

import argparse
import logging
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    parser = argparse.ArgumentParser(prog="treemech", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="simulate a built-in model and leave the results in a folder")
    demo.add_argument("--out", default="out", help="folder for the results (default: out)")
    demo.add_argument("--time", type=float, default=10.0, help="simulated time [s]")
    new = commands.add_parser("new", help="write an element of your own to start from, with its test")
    new.add_argument("kind", choices=("hinge", "constraint", "coupling", "spring", "active", "load"))
    new.add_argument("name", help="of the element, like CamHinge")
    new.add_argument("--out", default=".", help="folder for the two files (default: here)")
    check = commands.add_parser("check", help="hold the elements of a Python file to their contracts")
    check.add_argument("file")
    commands.add_parser("elements", help="list all elements, built in and brought by other packages")
    commands.add_parser("info", help="versions, and how the compiled core runs here")
    commands.add_parser("warmup", help="compile every entry point now (needed only without a built library)")
    commands.add_parser("clear-cache", help="remove all cached compiled code")
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s", stream=sys.stderr)
    run = {
        "demo": _demo,
        "new": _new,
        "check": _check,
        "elements": _elements,
        "info": _info,
        "warmup": _warmup,
        "clear-cache": _clear,
    }
    try:
        code = run[arguments.command](arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough: `treemech elements | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    return code


def _demo(arguments: argparse.Namespace) -> int:
    from .view.demo import run_demo

    for path, what in run_demo(Path(arguments.out), arguments.time):
        print(f"  {path}  {what}")
    return 0


def _new(arguments: argparse.Namespace) -> int:
    from treemech.topology import TreemechError

    from .authoring.kit import write_skeleton

    try:
        source, test = write_skeleton(arguments.kind, arguments.name, Path(arguments.out))
    except TreemechError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{source}  the element; hold it to its contract with: treemech check {source}")
    print(f"{test}  its test; run: pytest {test}")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    from treemech.topology import TreemechError

    from .authoring.kit import check_file

    try:
        verdicts = check_file(Path(arguments.file))
    except TreemechError as error:
        print(error, file=sys.stderr)
        return 2
    for verdict in verdicts:
        print({True: "ok  ", False: "FAIL", None: "skip"}[verdict.kept], verdict.text)
    kept, broken = (sum(v.kept is x for v in verdicts) for x in (True, False))
    print(f"{arguments.file}: {kept} of {len(verdicts)} elements keep their contract, {broken} do not.")
    return 0 if kept and not broken else 1


def _elements(arguments: argparse.Namespace) -> int:
    from .authoring.kit import GROUP, built_in, installed

    lists = {
        "energetic and active" if r == "energetic" else r + "s": found for r, found in built_in().items()
    }
    lists[f"from other packages (entry points {GROUP!r})"] = list(installed()) or [("none", "")]
    for title, found in lists.items():
        print(title)
        for name, what in found:
            print(f"  {name:<26} {what}".rstrip())
    return 0


def _info(arguments: argparse.Namespace) -> int:
    from importlib.metadata import PackageNotFoundError, version

    from treemech.dynamics.native import entry_points as native
    from treemech.elements.native.place import cache_root
    from treemech.elements.native.sources import core_hash

    from . import __version__

    print(f"treemech {__version__}, Python {sys.version.split()[0]}")
    for name in ("numpy", "scipy", "networkx", "numba"):
        try:
            print(f"  {name} {version(name)}")
        except PackageNotFoundError:
            print(f"  {name} is not installed")
    ways = {
        "library": "built shared library; numba is imported only for elements of your own",
        "jit": "jitted by numba and kept in the cache",
        "python": "plain Python (NUMBA_DISABLE_JIT is set): slow, for debugging",
    }
    print(f"compiled core: {native.way()} ({ways[native.way()]})")
    print(f"sources {core_hash()}, cache in {cache_root()}")
    return 0


def _warmup(arguments: argparse.Namespace) -> int:
    from treemech.dynamics.native import entry_points as native

    started = time.perf_counter()
    for name in native.PROTOTYPES:
        print(f"{name} ...", end=" ", flush=True)
        begun = time.perf_counter()
        native.address(name)
        print(f"{time.perf_counter() - begun:.1f} s")
    print(f"ready ({native.way()}) after {time.perf_counter() - started:.1f} s")
    return 0


def _clear(arguments: argparse.Namespace) -> int:
    from treemech.elements.native.cache import clear_cache

    print(f"removed {clear_cache()} files of cached code")
    return 0
