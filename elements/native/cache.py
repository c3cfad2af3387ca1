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
from typing import TYPE_CHECKING

from treemech.topology.errors import TreemechError

from .messages import log as log
from .numba_files import forgiving, keeping
from .numba_version import require_numba
from .place import cache_root, temporary_folder
from .sources import core_hash

if TYPE_CHECKING:
    from pathlib import Path

compiling = threading.RLock()  # one thread compiles at a time: numba's settings are those of the process


@cache
def cache_folder() -> "Path":
    """Return the folder for the present sources; make it if necessary."""
    import tempfile  # like logging, only where something is compiled

    try:
        folder = cache_root() / core_hash()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(1 << 16))  # on a full disk a file can still be made
    except OSError as error:
        folder = temporary_folder()
        log.warning(
            "the cache folder cannot be written (%s): compiled code goes to %s and is not kept. To mend it, set TREEMECH_CACHE_DIR",
            error, folder,
        )  # fmt: skip
    return folder


def kept() -> bool:
    """Tell whether the next process finds what this one compiled."""
    return keeping() and (not temporary_folder.cache_info().currsize or cache_folder() != temporary_folder())


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
    require_numba()
    if sys.modules.get("numba") is None:
        before = os.environ.get("NUMBA_CACHE_DIR")
        os.environ["NUMBA_CACHE_DIR"] = folder
        try:
            import numba  # noqa: F401
        except ImportError as error:  # such as one that is older than numpy
            raise TreemechError(f"numba cannot be imported: {error}. See: treemech doctor") from error
        finally:
            if before is None:
                del os.environ["NUMBA_CACHE_DIR"]
            else:
                os.environ["NUMBA_CACHE_DIR"] = before
        from numba import config

        config.reload_config()  # else its first compilation would, and forget the folder that is set below
    from numba import config

    previous, config.CACHE_DIR = config.CACHE_DIR, folder
    try:
        if config.DISABLE_JIT:
            yield
            return
        from .late import late_machine_code

        with forgiving(), late_machine_code():
            yield
    finally:
        config.CACHE_DIR = previous
