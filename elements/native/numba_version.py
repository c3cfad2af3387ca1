"""Which numba the core is compiled by: parts of it that no release promises to keep are used, so only versions that were tested."""

import sys
from functools import cache

FIRST, BEYOND = (0, 68), (0, 69)  # as in pyproject.toml


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
