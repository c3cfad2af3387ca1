"""Find and open the compiled core as a shared library, if one was built for this CPU.

Libraries are built with the package (dynamics.native.build) for x86-64-v3 (AVX2, FMA) and for any x86-64: the
core, the derivatives and the entry points on lanes, which are opened on first need. They are valid only for the sources from which they were built; in a checkout with edited sources they
are ignored and the core is jitted.
"""

import ctypes
import os
import sys
from functools import cache

from .faults import BUILD_AGAIN, absence, damage
from .messages import log
from .numba_version import without_jit
from .sources import core_hash, library_file, read_manifest

# Libraries beside the core, and what takes their place where one cannot be opened
_ASIDE = {
    "derivatives": "numba compiles the derivatives instead",
    "lanes": "many states are computed one by one instead",
}
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
        # Each of the two tells, by plain instructions, whether this CPU has those of the faster one
        library, wrong = _open("v3") if os.path.exists(library_file(_name("v3"))) else (None, "")
        if library is None or not library.treemech_cpu_v3():
            slower, why = _open("base")
            wrong = why or (wrong if slower is not None and slower.treemech_cpu_v3() else "")
            library = slower
    if wrong:
        instead = "numba compiles the core instead" if library is None else "the slower one is used"
        log.warning("the built library of the core: %s; %s. To mend it, %s", wrong, instead, BUILD_AGAIN)
    if library is None:
        without_jit()
    return library, wrong


def _aside(name: str) -> ctypes.CDLL | None:
    """Return the library beside the core, for the same CPU, that holds this name. It is opened on first need."""
    for of, instead in _ASIDE.items():
        names = manifest().get(of)
        if isinstance(names, list) and name in names:
            target = "v3" if open_library() is _open("v3")[0] else "base"
            library, wrong = _open(target, of)
            if wrong:
                _tell_once(wrong, instead)
            return library
    return None


@cache
def _tell_once(wrong: str, instead: str) -> None:
    log.warning("%s; %s. To mend it, %s", wrong, instead, BUILD_AGAIN)


def _name(target: str, of: str = "core") -> str:
    return f"{of}-{target}{SUFFIX}"


@cache
def _open(target: str, of: str = "core") -> tuple[ctypes.CDLL | None, str]:
    """Open one file of the library if it is the one that was built; else say why not."""
    name = _name(target, of)
    wrong = damage(name)
    if wrong:
        return None, wrong
    try:
        opened = ctypes.CDLL(library_file(name))
        opened.treemech_cpu_v3  # noqa: B018  a library of ours has it
        return opened, ""
    except (OSError, AttributeError) as error:
        return None, f"{name} cannot be opened here ({error})"


@cache
def symbol(name: str) -> int | None:
    """Return the address of a function of the built library, or None."""
    library = open_library()
    if library is None or name in jitted():
        return None
    found = getattr(library, "treemech_" + name, None)
    if found is None:
        found = getattr(_aside(name), "treemech_" + name, None)
    return None if found is None else ctypes.cast(found, ctypes.c_void_p).value
