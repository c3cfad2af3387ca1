"""Which numba the core is compiled by: parts of it that no release promises to keep are used, so only versions that were tested."""

import os
import sys
from functools import cache

from treemech.topology.errors import TreemechError

from .messages import log

FIRST, BEYOND = (0, 68), (0, 69)  # as in pyproject.toml


class UnsuitableNumba(TreemechError):
    """Something is to be compiled, and numba is missing or was not tested."""


@cache
def numba_fault() -> tuple[str, str] | tuple[()]:
    """Return what is wrong with the installed numba and what to do about it, or an empty tuple. Numba is not imported."""
    wanted = f"numba>={'.'.join(map(str, FIRST))},<{'.'.join(map(str, BEYOND))}"
    mend = f"{sys.executable} -m pip install '{wanted}'"
    found = _installed()
    if found is None:
        return "numba is not installed", mend
    if not FIRST <= _numbers(found) < BEYOND:
        return f"numba {found} is not one this version was tested with ({wanted})", mend
    return ()


def require_numba() -> None:
    """Raise an error if numba is missing, or if it is to compile and its version is not one that was tested."""
    found = numba_fault()
    if found and (_installed() is None or not plain_python()):
        raise UnsuitableNumba(f"{found[0]}. To mend it: {found[1]}")


def plain_python() -> bool:
    """Tell whether everything runs as plain Python."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def without_jit() -> bool:
    """Switch this process to plain Python if there is a numba that must not compile, and say so; tell whether it was."""
    found = numba_fault()
    if not found or _installed() is None:
        return False
    if not plain_python():
        log.warning(
            "%s, and there is no built library: all runs as plain Python, slowly. To mend it: %s", *found
        )
        os.environ["NUMBA_DISABLE_JIT"] = "1"  # read wherever something could be compiled, and by numba
        if "numba" in sys.modules:
            from numba import config

            config.DISABLE_JIT = 1
    return True


def _installed() -> str | None:
    """Return the version of numba, of the module if it is loaded."""
    loaded = getattr(sys.modules.get("numba"), "__version__", None)
    if loaded is not None:
        return str(loaded)
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("numba")
    except PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version.

    >>> _numbers("0.68.0rc1")
    (0, 68)
    """
    digits = ["".join(c for c in part if c.isdigit()) for part in version.split(".")[:2]]
    return tuple(int(d or 0) for d in digits)
