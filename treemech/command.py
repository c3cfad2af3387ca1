"""The command line: finds the command, prints what it found, and returns the exit code.

Each command is a file of treemech/commands/, found by looking. Exit codes: 0 done; 1 the answer is no (see the help of the command);
2 wrong use, or something named is not there; 130 interrupted.
"""

import json
import os
import sys
from argparse import SUPPRESS, ArgumentParser, HelpFormatter, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from .commands import DONE, INTERRUPTED, WRONG, Outcome

EXIT_CODES = {DONE: "done", WRONG: "wrong use, or a file or name that is not there"}


def commands() -> dict[str, ModuleType]:
    """Return all commands by name: the files of treemech/commands/."""
    package = import_module(".commands", __package__)
    names = sorted(
        module.name for module in iter_modules(package.__path__) if not module.name.startswith("_")
    )
    return {name.replace("_", "-"): import_module(f".commands.{name}", __package__) for name in names}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code."""
    found = commands()
    given = _parser(found).parse_args(argv)
    as_json = bool(getattr(given, "json", False))
    try:
        # A program that reads the answer wants nothing else on the stream
        with redirect_stdout(sys.stderr) if as_json else nullcontext():
            outcome = _run(found, given)
        if as_json:
            print(json.dumps(plain(outcome.data), indent=1))
        elif outcome.lines:
            print("\n".join(outcome.lines))
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough: `treemech elements | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return outcome.code


def _run(found: dict[str, ModuleType], given: Namespace) -> Outcome:
    """Run the command, or the greeting; what goes wrong is one line."""
    import logging

    from treemech.topology import TreemechError

    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s", stream=sys.stderr)
    try:
        if given.command is None:
            from .commands._greeting import run

            return run(given)
        outcome: Outcome = found[given.command].run(given)
    except BrokenPipeError:
        raise
    except (TreemechError, OSError) as error:
        print(f"treemech: {error}", file=sys.stderr)
        return Outcome([], {"error": str(error)}, WRONG)
    except KeyboardInterrupt:
        print("treemech: interrupted", file=sys.stderr)
        return Outcome([], {"error": "interrupted"}, INTERRUPTED)
    return outcome


def _formatter(prog: str) -> HelpFormatter:
    """Return a formatter that keeps the lines of descriptions and gives every command one line."""
    return RawDescriptionHelpFormatter(prog, max_help_position=22, width=120)


def _parser(found: dict[str, ModuleType]) -> ArgumentParser:
    from . import __version__

    parser = ArgumentParser(
        prog="treemech",
        usage="treemech [-h] [--version] [--json] COMMAND ...",
        description="Kinematics and dynamics of multibody systems with arbitrary connections.",
        epilog="treemech COMMAND --help tells more, with examples. Without a command: what to try first.",
        formatter_class=_formatter,
    )
    parser.add_argument("--version", action="version", version=f"treemech {__version__}")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    column = "COMMAND".ljust(max(map(len, found)) + 2)  # argparse forgets that the list is indented
    several = parser.add_subparsers(dest="command", metavar=column, title="commands", prog="treemech")
    for name, module in found.items():
        text = (module.__doc__ or "").strip()
        codes = EXIT_CODES | getattr(module, "CODES", {})
        epilog = "\n".join([
            "examples:", *(f"  {line}" for line in module.EXAMPLES), "",
            "exit codes:", *(f"  {code}  {codes[code]}" for code in sorted(codes)),
        ])  # fmt: skip
        sub = several.add_parser(
            name, help=text.splitlines()[0], description=text, epilog=epilog, formatter_class=_formatter
        )  # fmt: skip
        sub.add_argument("--json", action="store_true", default=SUPPRESS, help="print the answer as JSON")
        module.arguments(sub)
    return parser


def plain(thing: Any) -> Any:
    """Return data as JSON has it: arrays as lists, numbers that are none as null, keys as texts.

    >>> plain({"a": (1.0, float("nan")), 2: None})
    {'a': [1.0, None], '2': None}
    """
    if isinstance(thing, dict):
        return {str(key): plain(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [plain(value) for value in thing]
    if hasattr(thing, "tolist"):
        return plain(thing.tolist())
    if isinstance(thing, float):
        return thing if abs(thing) < float("inf") else None
    return thing if thing is None or isinstance(thing, (bool, int, str)) else str(thing)
