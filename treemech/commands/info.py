"""Tell versions and how the compiled core runs, or what is in a file."""

from argparse import ArgumentParser, Namespace

from . import Outcome
from ._core import core, line, versions

EXAMPLES = ("treemech info", "treemech info --json")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="a model (json, urdf, xml, sdf) or a run (npz)")


def run(given: Namespace) -> Outcome:
    if given.file is not None:
        return _file(given.file)
    found, state = versions(), core()
    lines = [f"treemech {found['treemech']}, Python {found['python']}"]
    lines += [f"  {name} {version or 'is not installed'}" for name, version in list(found.items())[2:]]
    lines += [line(state), f"sources {state['sources']}, cache in {state['cache']}"]
    return Outcome(lines, {"versions": found, "core": state})


def _file(path: str) -> Outcome:
    """Tell what a file holds: a system with its tree, or a run."""
    import warnings

    from ..files.read import read
    from ..system import System

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is not supported is listed below
        found = read(path)
    if not isinstance(found, System):
        return Outcome([repr(found)], {"kind": type(found).__name__, "text": repr(found)})
    mech = found.build()
    limits = [
        f"  {name}: {', '.join(f'{k} {x:g}' for k, x in limit._asdict().items() if x is not None)}"
        for name, limit in found.limits.items()
    ]
    lines = [repr(found), repr(mech), *str(mech.draw()).splitlines()]
    lines += ["limits", *limits] if limits else []
    lines += ["not supported", *(f"  {what}" for what in found.unsupported)] if found.unsupported else []
    data = {
        "kind": "System", "name": found.name, "bodies": [b.name for b in found.bodies[1:]], "coordinates": mech.coordinates,
        "chords": [c.name for c in mech.info.chords], "limits": {n: limit._asdict() for n, limit in found.limits.items()},
        "unsupported": found.unsupported,
    }  # fmt: skip
    return Outcome(lines, data)
