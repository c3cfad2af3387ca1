"""The files of this folder's groups, found by looking: nothing is registered, and nothing is imported to list them."""

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

_SYSTEM = re.compile(r"^def system\(", re.MULTILINE)


class Entry(NamedTuple):
    """A model of a group: the file `<group>/<name>.py`."""

    name: str
    group: str

    def module(self) -> ModuleType:
        """Import the file."""
        return import_module(f".{self.group}.{self.name}", __package__)


@cache
def catalogue() -> dict[str, Entry]:
    """Return all models by name: every file of a group that defines `system`.

    >>> catalogue()["four_bar"]
    Entry(name='four_bar', group='mechanisms')
    """
    found: dict[str, Entry] = {}
    for path in sorted(Path(__file__).parent.glob("*/*.py"), key=lambda path: path.stem):
        if path.stem.startswith("_") or not _SYSTEM.search(path.read_text(encoding="utf-8")):
            continue
        entry = Entry(path.stem, path.parent.name)
        if path.stem in found:
            raise ValueError(f"{entry} and {found[path.stem]} have the same name: rename one of the files.")
        found[path.stem] = entry
    return found
