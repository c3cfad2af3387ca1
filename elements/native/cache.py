"""Folder that keeps jitted code between processes; its name is the hash of the core's sources.

Numba keeps a cached caller even when a callee in another file has changed; one folder per state of the
sources avoids this. The folder is TREEMECH_CACHE_DIR, NUMBA_CACHE_DIR, the user's cache directory, or, if
none of them can be written, a temporary one. Numba's own setting is changed only while our modules are being
loaded.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from .place import cache_root
from .sources import core_hash


class _Log:
    """Logger "treemech"; logging is imported only when a message is written, which is rare."""

    def __getattr__(self, name: str) -> Any:
        import logging

        return getattr(logging.getLogger("treemech"), name)


log = _Log()
compiling = threading.RLock()  # one thread compiles at a time: numba's settings are those of the process


@cache
def cache_folder() -> Path:
    """Return the folder for the present sources; make it if necessary."""
    import tempfile  # like logging, only where something is compiled

    try:
        folder = cache_root() / core_hash()
        folder.mkdir(parents=True, exist_ok=True)
        probe = tempfile.NamedTemporaryFile(dir=folder, delete=True)
        probe.close()
    except (OSError, RuntimeError):
        folder = Path(tempfile.mkdtemp(prefix="treemech-cache-"))
        log.warning("no cache folder can be written: compiled code goes to %s and is not kept", folder)
    return folder


def clear_cache() -> int:
    """Remove all cached code of every version. Returns the number of files removed."""
    root = cache_root()
    files = sum(1 for path in root.rglob("*") if path.is_file()) if root.exists() else 0
    import shutil

    shutil.rmtree(root, ignore_errors=True)
    cache_folder.cache_clear()
    return files


@contextmanager
def numba_cache() -> Iterator[None]:
    """Set numba's cache to our folder for the imports and compilations inside the context.

    The caller holds the lock `compiling`.
    """
    folder = str(cache_folder())
    if "numba" not in sys.modules:
        before = os.environ.get("NUMBA_CACHE_DIR")
        os.environ["NUMBA_CACHE_DIR"] = folder
        try:
            import numba  # noqa: F401
        finally:
            if before is None:
                del os.environ["NUMBA_CACHE_DIR"]
            else:
                os.environ["NUMBA_CACHE_DIR"] = before
        from numba import config

        config.CACHE_DIR = before or ""
    from numba import config

    previous, config.CACHE_DIR = config.CACHE_DIR, folder
    try:
        yield
    finally:
        config.CACHE_DIR = previous
