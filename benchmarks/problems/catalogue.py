"""The files of this folder's groups, found by looking: nothing is registered, and nothing is imported to list them."""

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

_SYSTEM = re.compile(r"^def system\(", re.MULTILINE)


class Entry(NamedTuple):
    """A model of a group: the file `<group>/<name>.py`, or `<group>/<subgroup>/<name>.py`."""

    name: str
    group: str
    folder: str

    def module(self) -> ModuleType:
        """Import the file."""
        return import_module(f".{self.folder}.{self.name}", __package__)

    def title(self) -> str:
        """Return the first line of the file's docstring, without importing it."""
        path = Path(__file__).parent.joinpath(*self.folder.split("."), f"{self.name}.py")
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or self.name
        return text.splitlines()[0]


@cache
def catalogue() -> dict[str, Entry]:
    """Return all models by name: every file of a group that defines `system`.

    >>> catalogue()["haug_four_bar"]
    Entry(name='haug_four_bar', group='mechanisms', folder='mechanisms.haug')
    """
    found: dict[str, Entry] = {}
    here = Path(__file__).parent
    for path in sorted((*here.glob("*/*.py"), *here.glob("*/*/*.py")), key=lambda path: path.stem):
        if path.stem.startswith("_") or not _SYSTEM.search(path.read_text(encoding="utf-8")):
            continue
        folders = path.parent.relative_to(here).parts
        entry = Entry(path.stem, folders[0], ".".join(folders))
        if path.stem in found:
            raise ValueError(f"{entry} and {found[path.stem]} have the same name: rename one of the files.")
        found[path.stem] = entry
    return found
