"""List all elements, built in and brought by other packages."""

from argparse import ArgumentParser, Namespace

from . import Outcome

EXAMPLES = ("treemech elements", "treemech elements --json")


def arguments(parser: ArgumentParser) -> None:
    """There are none."""


def run(given: Namespace) -> Outcome:
    from ..authoring.kit import GROUP, built_in, installed

    groups = {
        "energetic and active" if role == "energetic" else role + "s": list(found)
        for role, found in built_in().items()
    }
    foreign = list(installed())
    lines = []
    for title, found in {
        **groups,
        f"from other packages (entry points {GROUP!r})": foreign or [("none", "")],
    }.items():
        lines += [title, *(f"  {name:<26} {what}".rstrip() for name, what in found)]
    return Outcome(
        lines,
        {**{title: dict(found) for title, found in groups.items()}, "from other packages": dict(foreign)},
    )
