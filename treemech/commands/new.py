"""Write an element of your own to start from, with its test."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from . import Outcome

EXAMPLES = ("treemech new hinge CamHinge", "treemech new spring AirSpring --out src")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("kind", choices=("hinge", "constraint", "coupling", "spring", "active", "load"))
    parser.add_argument("name", help="of the element, like CamHinge")
    parser.add_argument("--out", default=".", help="folder for the two files (default: here)")


def run(given: Namespace) -> Outcome:
    from ..authoring.kit import write_skeleton

    source, test = write_skeleton(given.kind, given.name, Path(given.out))
    lines = [
        f"{source}  the element; hold it to its contract with: treemech check {source}",
        f"{test}  its test; run: pytest {test}",
    ]
    return Outcome(lines, {"element": str(source), "test": str(test)})
