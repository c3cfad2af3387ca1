"""Find and open the compiled core as a shared library, if one was built for this CPU.

Two libraries are built with the package (dynamics.native.build): one for x86-64-v3 (AVX2, FMA), one for any
x86-64. They are valid only for the sources from which they were built; in a checkout with edited sources they
are ignored and the core is jitted.
"""

import ctypes
import os
import sys
from functools import cache

from .faults import BUILD_AGAIN, absence, damage
from .messages import log
from .numba_version import without_jit
from .sources import FOLDER, core_hash, package_folder, read_manifest

SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


def wanted() -> bool:
    """Tell whether a built library may be used; TREEMECH_JIT=1 forces the jit."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0") and "1" not in jitted()


@cache
def jitted() -> frozenset[str]:
    """Return the entry points that the jit compiles although the library has them.

    TREEMECH_JIT=loop_rhs,radau_integrate names them: for work on a kernel that only they reach.
    """
    return frozenset(os.environ.get("TREEMECH_JIT", "").split(",")) - {"", "0"}


@cache
def manifest() -> dict[str, object]:
    """Return the manifest of the built library, or {} if there is none for these sources."""
    content = read_manifest()
    if content.get("hash") == core_hash():
        return content
    without_jit()
    return {}


def open_library() -> ctypes.CDLL | None:
    """Open the library for this CPU. Returns None if there is none, or if it is damaged."""
    return _opened()[0]


def fault() -> str:
    """Say why the built library is not used, or not the faster one; return an empty text if all is well."""
    return absence() or _opened()[1]


@cache
def _opened() -> tuple[ctypes.CDLL | None, str]:
    """Return the library, and what is wrong with it. A fault is told in one line."""
    library, wrong = None, ""
    if wanted() and manifest():
        library, wrong = _open("base")
        if (
            library is not None
            and library.treemech_cpu_v3()
            and (package_folder() / FOLDER / _name("v3")).exists()
        ):
            faster, wrong = _open("v3")
            library = faster or library
    if wrong:
        instead = "numba compiles the core instead" if library is None else "the slower one is used"
        log.warning("the built library of the core: %s; %s. To mend it, %s", wrong, instead, BUILD_AGAIN)
    if library is None:
        without_jit()
    return library, wrong


def _name(target: str) -> str:
    return f"core-{target}{SUFFIX}"


def _open(target: str) -> tuple[ctypes.CDLL | None, str]:
    """Open one file of the library if it is the one that was built; else say why not."""
    wrong = damage(_name(target))
    if wrong:
        return None, wrong
    try:
        opened = ctypes.CDLL(str(package_folder() / FOLDER / _name(target)))
        opened.treemech_cpu_v3  # noqa: B018  a library of ours has it
        return opened, ""
    except (OSError, AttributeError) as error:
        return None, f"{_name(target)} cannot be opened here ({error})"


@cache
def symbol(name: str) -> int | None:
    """Return the address of a function of the built library, or None."""
    library = open_library()
    if library is None or name in jitted():
        return None
    try:
        return ctypes.cast(getattr(library, "treemech_" + name), ctypes.c_void_p).value
    except AttributeError:
        return None
