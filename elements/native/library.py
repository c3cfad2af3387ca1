"""Find and open the compiled core as a shared library, if one was built for this CPU.

Two libraries are built with the package (dynamics.native.build): one for x86-64-v3 (AVX2, FMA), one for any
x86-64. They are valid only for the sources from which they were built; in a checkout with edited sources they
are ignored and the core is jitted.
"""

import ctypes
import os
import sys
from functools import cache

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
    return content if content.get("hash") == core_hash() else {}


@cache
def open_library() -> ctypes.CDLL | None:
    """Open the library for this CPU. Returns None if there is none."""
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
    """Return the address of a function of the built library, or None."""
    library = open_library()
    if library is None or name in jitted():
        return None
    try:
        return ctypes.cast(getattr(library, "treemech_" + name), ctypes.c_void_p).value
    except AttributeError:
        return None
