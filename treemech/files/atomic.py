"""Files that appear whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def atomic(target: Path) -> Iterator[IO[bytes]]:
    """Yield a stream; at the end its content replaces the target at once.

    If anything fails, the target is unchanged and nothing is left beside it. A process that is killed leaves
    the target unchanged, and a hidden temporary file.
    """
    if target.is_dir():
        raise IsADirectoryError(f"{str(target)!r} is a directory; wanted the path of a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"there is no directory {str(target.parent)!r} for {target.name!r}: make it first."
        )
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # mkstemp makes files for the owner only
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def with_suffix(path: str | Path, suffix: str) -> Path:
    """Return the path, with this suffix added if it has another one.

    >>> with_suffix("crane.v2", ".json").name
    'crane.v2.json'
    """
    target = Path(path)
    return target if target.suffix == suffix else target.with_name(target.name + suffix)
