"""Run a model that comes with the library and compare it with what is known; without a name, list them."""

from argparse import ArgumentParser, Namespace
from ast import literal_eval
from typing import Any

from . import DONE, NO, Outcome

EXAMPLES = (
    "treemech example",
    "treemech example four_bar",
    "treemech example four_bar --set stiffness=60 --out results",
)
CODES = {NO: "the simulation did not reach its end, or a value is farther from the known one than allowed"}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="of the example; leave it out for a list")
    parser.add_argument(
        "--out", default="out", help="folder for animation, table and pictures (default: out)"
    )
    parser.add_argument("--case", help="which start, of an example that has several")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="give a parameter of the example another value",
    )


def run(given: Namespace) -> Outcome:
    from .. import examples

    if given.name is None:
        return _list()
    options = dict(map(_parameter, given.set))
    if given.case is not None:
        options["case"] = given.case
    example = examples.find(given.name, **options)
    made = example.run()
    written = example.save(given.out)
    ours, deviations = example.measured(), example.deviations()
    far = {name: part for name, part in deviations.items() if not part <= 1.0}
    lines = [*example.table().splitlines(), "", *(f"  {path}  {what}" for path, what in written)]
    lines += [
        f"{name}: {part:.3g} times as far from the known value as allowed" for name, part in far.items()
    ]
    data = {
        "name": example.name, "group": example.group, "description": example.description, "parameters": example.parameters,
        "case": example.case, "success": made.success, "message": made.message, "statistics": made.statistics,
        "imbalance": example.imbalance(), "ours": ours,
        "known": {name: {**known._asdict(), "deviation": deviations.get(name)} for name, known in example.known.items()},
        "files": {str(path): what for path, what in written},
    }  # fmt: skip
    return Outcome(lines, data, DONE if made.success and not far else NO)


def _list() -> Outcome:
    from .. import examples

    found = examples.listed()
    width = max(len(entry.name) for entry in found)
    lines, data = [], []
    for group in sorted({entry.group for entry in found}):
        lines.append(group)
        for entry in (e for e in found if e.group == group):
            lines.append(f"  {entry.name:<{width}}  {entry.title}")
            data.append({"name": entry.name, "group": group, "title": entry.title})
    return Outcome([*lines, "", "treemech example NAME runs one."], data)


def _parameter(text: str) -> tuple[str, Any]:
    """Return name and value of "stiffness=60"; a value that is no Python literal stays a text."""
    from treemech.topology import TreemechError

    name, separator, value = text.partition("=")
    if not separator:
        raise TreemechError(f"--set {text}: wanted NAME=VALUE.")
    try:
        return name.strip(), literal_eval(value)
    except (ValueError, SyntaxError):
        return name.strip(), value
