"""Find the folder in which this machine keeps compiled code and computed hashes."""

import os
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it takes long to load, and a process that compiles nothing needs none of this
    from pathlib import Path


def cache_root() -> "Path":
    """Return the folder that holds one folder per version of the sources.

    It is TREEMECH_CACHE_DIR or NUMBA_CACHE_DIR if one of them is set, else the user's cache directory, or, for a user without a home, a
    temporary folder of this process.
    """
    from pathlib import Path

    given = os.environ.get("TREEMECH_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return Path(given) / "treemech"
    try:
        return _of_the_user() / "treemech"
    except RuntimeError:  # HOME is unset, and nobody knows this user
        return temporary_folder()


def _of_the_user() -> "Path":
    """Return the user's cache directory. Raises RuntimeError if there is no home."""
    from pathlib import Path

    if sys.platform == "win32":
        given = os.environ.get("LOCALAPPDATA")
        return Path(given) if given else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    given = os.environ.get("XDG_CACHE_HOME")
    return Path(given) if given else Path.home() / ".cache"


@cache
def temporary_folder() -> "Path":
    """Make a folder that lasts as long as this process."""
    import atexit
    import shutil
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp(prefix="treemech-cache-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
