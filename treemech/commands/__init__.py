"""The commands of `treemech`, one file each: `treemech clear-cache` is clear_cache.py. They are found by looking.

A file holds

    a docstring                         what the command does; its first line is shown in the list of commands
    EXAMPLES = ("treemech new ...",)    shown by --help
    CODES = {1: "when"}                 exit codes besides 0 (done) and 2 (wrong use, or a file or name that is not there)
    arguments(parser)                   adds its arguments to an argparse parser
    run(given) -> Outcome               does it; prints nothing but progress

and loads what it needs inside these functions, since every start of the program reads every file. `--json` is given to all.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

DONE, NO, WRONG, INTERRUPTED = 0, 1, 2, 130  # exit codes


class Outcome(NamedTuple):
    """What a command found: lines for people, data for programs (--json), and the exit code."""

    lines: Sequence[str]
    data: Any
    code: int = DONE
