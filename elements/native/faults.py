"""Say why the built library is not used: not built, built from other sources, damaged, not for this machine.

A library is opened only if every file is the one that was built: a damaged one could crash the process, or give wrong numbers. The
builder writes the checksum of each file into the manifest.
"""

import os
from binascii import crc32
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from .sources import MANIFEST, core_hash, library_file, read_manifest

if TYPE_CHECKING:
    from pathlib import Path

BUILD_AGAIN = "build it again (make library in a checkout, pip install --force-reinstall treemech otherwise)"


def checksum(content: bytes) -> str:
    """Return the CRC-32 of the contents of a file: it finds damage, and no process has to load hashlib for it.

    >>> checksum(b"treemech")
    'b5cd10ce'
    """
    return f"{crc32(content):08x}"


def digests(folder: "Path", names: Iterable[str]) -> dict[str, str]:
    """Return what the manifest keeps of each file, for its entry "files"."""
    return {name: checksum((folder / name).read_bytes()) for name in names}


@cache
def damage(name: str) -> str:
    """Say what is wrong with a file of the library; return an empty text if it is the one that was built."""
    kept = read_manifest().get("files")
    wanted = kept.get(name) if isinstance(kept, dict) else None
    try:
        with open(library_file(name), "rb", buffering=0) as file:
            content = file.read()
    except OSError as error:
        return f"{name} cannot be read ({error.strerror or error})"
    if not content:
        return f"{name} is empty"
    if wanted is not None and checksum(content) != wanted:
        return f"{name} is not the file that was built ({len(content)} bytes; truncated, replaced or damaged)"
    return ""


def absence() -> str:
    """Say why there is no library for these sources; return an empty text if there is one, which may be damaged."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return "NUMBA_DISABLE_JIT is set"
    if "1" in os.environ.get("TREEMECH_JIT", "").split(","):
        return "TREEMECH_JIT=1 is set"
    content = read_manifest()
    if not content:
        manifest = library_file(MANIFEST)
        there = os.path.exists(manifest)
        return f"its manifest {manifest} cannot be read: {BUILD_AGAIN}" if there else "none was built"
    if "obstacle" in content:  # setup.py
        return f"none was built: {content['obstacle']}"
    if content.get("hash") != core_hash():
        return f"it was built from other sources: {BUILD_AGAIN}"
    return ""
