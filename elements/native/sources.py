"""Name the sources of the compiled core by a hash of their code.

Docstrings, comments and layout do not count, because they change no machine code. Parsing all sources takes a
second, so the hash of the code is stored under the hash of the bytes: in the manifest of a built library and
in the user's cache folder. Sources that were installed with their library and are no younger are not even read.
"""

import os
import sys
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from .place import cache_root

if TYPE_CHECKING:  # like ast and hashlib, only where a source is read
    from pathlib import Path

# The compiled core: these folders and their subfolders, without the Python folders among them
CORE_FOLDERS = (
    "elements", "kinematics/kernel", "kinematics/plan", "kinematics/tree", "kinematics/chords", "dynamics/equations",
    "dynamics/loads", "dynamics/derivatives", "dynamics/integrators", "dynamics/entries",
)  # fmt: skip
PYTHON_FOLDERS = ("elements/check", "elements/native")
FOLDER = "_library"
MANIFEST = "core.json"
INSTALLING = 10.0  # seconds that the files of one installation may lie apart


def package_folder() -> "Path":
    """Return the folder of the facade package."""
    from pathlib import Path

    return Path(sys.modules["treemech"].__path__[0])


def library_file(name: str) -> str:
    """Return the path of a file of the built library, which need not be there."""
    return os.path.join(sys.modules["treemech"].__path__[0], FOLDER, name)


@cache
def _start() -> str:
    """Return the folder that holds elements/, kinematics/ and dynamics/."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def root() -> "Path":
    """Return the folder that holds elements/, kinematics/ and dynamics/."""
    from pathlib import Path

    return Path(_start())


@cache
def core_sources() -> "tuple[Path, ...]":
    """List the files from which the core is compiled, in a fixed order."""
    return tuple(root() / name for name in _names())


@cache
def _names() -> tuple[str, ...]:
    """Return the names of these files relative to the root, sorted.

    Every process asks for them, so they are strings: paths would take ten times as long.
    """
    found, folders = [], list(CORE_FOLDERS)
    while folders:
        folder = folders.pop()
        for entry in os.scandir(f"{_start()}/{folder}"):
            name = f"{folder}/{entry.name}"
            if entry.name.endswith(".py"):
                found.append(name)
            elif entry.is_dir() and entry.name != "__pycache__" and name not in PYTHON_FOLDERS:
                folders.append(name)
    return tuple(sorted(found))


@cache
def source_hash() -> str:
    """Hash the sources of the core byte by byte."""
    import hashlib

    h, start = hashlib.sha256(), _start()
    for name in _names():
        h.update(name.encode())
        with open(f"{start}/{name}", "rb", buffering=0) as file:
            h.update(file.read())
    return h.hexdigest()[:16]


def untouched(folder: str, names: Iterable[str], manifest: str) -> bool:
    """Return whether no file was changed since the library was installed with it."""
    try:
        latest = os.stat(manifest).st_mtime + INSTALLING
        return all(os.stat(f"{folder}/{name}").st_mtime <= latest for name in names)
    except OSError:
        return False


def _as_installed() -> bool:
    """Return whether the sources are a copy that came with the library, as it came. Those of a checkout never are."""
    folder = sys.modules["treemech"].__path__[0]
    return _start() == os.path.realpath(folder) and untouched(folder, _names(), library_file(MANIFEST))


def code_hash(texts: Iterable[tuple[str, str]]) -> str:
    """Hash the code of (name, source) pairs, without docstrings and comments.

    >>> code_hash([("a", "x = 1")]) == code_hash([("a", '\"\"\"Text.\"\"\"\\nx  =  1  # one')])
    True
    """
    import ast
    import hashlib

    h = hashlib.sha256()
    for name, text in texts:
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if (
                isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
                and ast.get_docstring(node) is not None
            ):
                node.body = node.body[1:]
        h.update(name.encode())
        h.update(ast.dump(tree).encode())
    return h.hexdigest()[:16]


@cache
def core_hash() -> str:
    """Hash the code of the core. The hash names the jit cache and marks the built library."""
    known = read_manifest()
    if known.get("hash") and (_as_installed() or known.get("sources") == source_hash()):
        return str(known["hash"])
    kept = cache_root() / "hashes" / source_hash()
    try:
        return kept.read_text()
    except OSError:
        found = code_hash((name, (root() / name).read_text(encoding="utf-8")) for name in _names())
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        temporary = kept.with_suffix(f".{os.getpid()}")
        temporary.write_text(found)
        os.replace(temporary, kept)
    except OSError:
        pass  # the hash is computed again by the next process
    return found


@cache
def read_manifest() -> dict[str, object]:
    """Return the manifest of the library in the package, or {} if there is none."""
    import json

    try:
        with open(library_file(MANIFEST), encoding="utf-8") as file:
            content: dict[str, object] = json.load(file)
    except (OSError, ValueError):
        return {}
    return content
