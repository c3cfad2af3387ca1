"""How the compiled core runs here: shared by the greeting, `info` and `doctor`."""

import sys
from typing import Any

WAYS = {
    "library": "built library; nothing is compiled, numba is imported only for elements of your own",
    "jit": "numba compiles it on first use and keeps it in the cache",
    "python": "plain Python: slow, for debugging",
}
PACKAGES = ("numpy", "scipy", "networkx", "numba", "llvmlite")


def core() -> dict[str, Any]:
    """Return way, target, fault, hash of the sources and cache folder."""
    from treemech.dynamics.native import entry_points as native
    from treemech.elements.native import library
    from treemech.elements.native.place import cache_root
    from treemech.elements.native.sources import core_hash

    way = native.way()
    return {
        "way": way, "meaning": WAYS[way], "fault": library.fault(), "sources": core_hash(), "cache": str(cache_root()),
        "targets": library.manifest().get("targets", []),
    }  # fmt: skip


def line(found: dict[str, Any]) -> str:
    """Return the state of the core in one line."""
    fault = f" ({found['fault']})" if found["fault"] else ""
    return f"compiled core: {found['way']}, {found['meaning']}{fault}"


def versions() -> dict[str, str | None]:
    """Return the versions of Python, this package and what it needs; None for what is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    from .. import __version__

    found: dict[str, str | None] = {"treemech": __version__, "python": sys.version.split()[0]}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found
