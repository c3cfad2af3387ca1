"""The compiled core as a plain shared library, if one was built: found, chosen for this CPU, opened.

Two libraries are built with the package (dynamics.native.build): one for x86-64-v3 (AVX2, FMA), one for any x86-64.
They answer for exactly the sources they were made from; in a checkout with edited sources they are passed
over and the core is jitted.
"""

import ctypes
import hashlib
import json
import os
import sys
from functools import cache
from pathlib import Path

FOLDER = "_library"
MANIFEST = "core.json"
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
# Every source the compiled core is made of: these folders with all they hold, less the Python folders among them
CORE_FOLDERS = (
    "elements", "kinematics/kernel", "kinematics/plan", "kinematics/tree", "kinematics/chords", "dynamics/equations",
    "dynamics/loads", "dynamics/derivatives", "dynamics/integrators", "dynamics/entries",
)  # fmt: skip
PYTHON_FOLDERS = ("elements/check", "elements/native")


def package_folder() -> Path:
    """The folder of the facade package."""
    return Path(sys.modules["treemech"].__path__[0])


@cache
def core_sources() -> tuple[Path, ...]:
    """List the files the core is compiled from, in a fixed order."""
    root = Path(__file__).resolve().parents[2]
    files = {f for folder in CORE_FOLDERS for f in (root / folder).rglob("*.py")}
    files -= {f for folder in PYTHON_FOLDERS for f in (root / folder).rglob("*.py")}
    return tuple(sorted(files, key=lambda f: f.relative_to(root).as_posix()))


@cache
def core_hash() -> str:
    """Hash the sources of the core, by relative path: it names the jit cache and marks the built library."""
    h, root = hashlib.sha256(), Path(__file__).resolve().parents[2]
    for path in core_sources():
        h.update(path.relative_to(root).as_posix().encode())
        h.update(path.read_bytes())
    return h.hexdigest()[:16]


def wanted() -> bool:
    """Whether a built library may be used at all: TREEMECH_JIT=1 forces the jit."""
    return all(os.environ.get(name, "0") in ("", "0") for name in ("TREEMECH_JIT", "NUMBA_DISABLE_JIT"))


@cache
def manifest() -> dict[str, object]:
    """What the built library says about itself; empty if there is none for these sources."""
    path = package_folder() / FOLDER / MANIFEST
    try:
        content: dict[str, object] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return content if content.get("hash") == core_hash() else {}


@cache
def open_library() -> ctypes.CDLL | None:
    """The library for this CPU, or None."""
    if not wanted() or not manifest():
        return None
    folder = package_folder() / FOLDER
    try:
        base = ctypes.CDLL(str(folder / f"core-base{SUFFIX}"))
        if base.treemech_cpu_v3() and (folder / f"core-v3{SUFFIX}").exists():
            return ctypes.CDLL(str(folder / f"core-v3{SUFFIX}"))
    except (OSError, AttributeError):
        return None
    return base


@cache
def symbol(name: str) -> int | None:
    """Address of a function of the built library, or None."""
    library = open_library()
    if library is None:
        return None
    try:
        return ctypes.cast(getattr(library, "treemech_" + name), ctypes.c_void_p).value
    except AttributeError:
        return None
