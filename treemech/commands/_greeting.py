"""What `treemech` alone says: version, state of the core, and three things to try."""

from argparse import Namespace
from pathlib import Path

from . import Outcome
from ._core import core, line

TRY = {
    "treemech example four_bar": "simulates a four-bar with a spring, and leaves an animation in out/",
    "treemech new hinge MyHinge": "writes a hinge of your own to start from, with its test",
}


def run(given: Namespace) -> Outcome:
    from .. import __version__

    state, tips = core(), dict(TRY)
    where, what = documentation()
    tips[where] = what
    width = max(map(len, tips))
    lines = [
        f"treemech {__version__}: kinematics and dynamics of multibody systems with arbitrary connections",
        line(state),
        "",
        *(f"  {text:<{width}}  {meaning}" for text, meaning in tips.items()),
        "",
        "treemech --help lists all commands; treemech doctor looks for faults of the set-up.",
    ]
    return Outcome(lines, {"version": __version__, "core": state, "try": tips})


def documentation() -> tuple[str, str]:
    """Return where the documentation is and what it is: the pages of a checkout, else what is installed."""
    pages = Path(__file__).resolve().parents[2] / "docs"
    if (pages / "architecture.md").exists():
        return str(pages), "the documentation; begin with README.md beside it"
    return "python -m pydoc treemech.System", "the documentation, class by class"
