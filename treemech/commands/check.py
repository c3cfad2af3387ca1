"""Hold the elements of a Python file to their contracts."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from . import DONE, NO, Outcome

EXAMPLES = ("treemech check cam_hinge.py",)
CODES = {NO: "an element does not keep its contract, or the file holds none that could be checked"}
MARKS = {True: "ok  ", False: "FAIL", None: "skip"}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", help="Python file with elements")


def run(given: Namespace) -> Outcome:
    from ..authoring.kit import check_file

    verdicts = check_file(Path(given.file))
    lines = [f"{MARKS[v.kept]} {v.text}" for v in verdicts]
    kept, broken = (sum(v.kept is x for v in verdicts) for x in (True, False))
    lines.append(f"{given.file}: {kept} of {len(verdicts)} elements keep their contract, {broken} do not.")
    data = {"file": given.file, "elements": [v._asdict() for v in verdicts], "kept": kept, "broken": broken}
    return Outcome(lines, data, DONE if kept and not broken else NO)
