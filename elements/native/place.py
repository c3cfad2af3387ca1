"""Find the folder in which this machine keeps compiled code and computed hashes."""

import os
import sys
from pathlib import Path


def cache_root() -> Path:
    """Return the folder that holds one folder per version of the sources.

    It is TREEMECH_CACHE_DIR or NUMBA_CACHE_DIR if one of them is set, else the user's cache directory.
    """
    given = os.environ.get("TREEMECH_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return Path(given) / "treemech"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "treemech"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "treemech"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "treemech"
