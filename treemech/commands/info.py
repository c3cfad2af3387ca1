"""Tell versions and how the compiled core runs."""

from argparse import ArgumentParser, Namespace

from . import Outcome
from ._core import core, line, versions

EXAMPLES = ("treemech info", "treemech info --json")


def arguments(parser: ArgumentParser) -> None:
    """There are none."""


def run(given: Namespace) -> Outcome:
    found, state = versions(), core()
    lines = [f"treemech {found['treemech']}, Python {found['python']}"]
    lines += [f"  {name} {version or 'is not installed'}" for name, version in list(found.items())[2:]]
    lines += [line(state), f"sources {state['sources']}, cache in {state['cache']}"]
    return Outcome(lines, {"versions": found, "core": state})
