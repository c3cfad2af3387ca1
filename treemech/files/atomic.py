"""Files that appear whole or not at all."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from treemech.topology import TreemechError


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
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    except OSError as error:  # with the name of the file that was wanted, not of the temporary one
        raise type(error)(
            f"the folder {str(target.parent)!r} cannot be written ({error.strerror}), so {target.name!r} was not: choose another one."
        ) from None
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


def as_path(path: object, what: str) -> Path:
    """Return a path, or raise a TreemechError that says what was wanted. `what` starts the message: "run.save"."""
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise TreemechError(f"{what}: {path!r} is no path of a file; wanted a text or a pathlib.Path.")
    return Path(path)


def with_suffix(path: object, suffix: str, what: str, *others: str) -> Path:
    """Return the path, with this suffix added if it has none. `others` are suffixes that are kept too.

    A suffix that names another kind of file is refused: the content would not be what the name says.

    >>> with_suffix("crane.v2", ".json", "system.save").name
    'crane.v2.json'
    """
    target = as_path(path, what)
    if target.suffix in (suffix, *others):
        return target
    if re.fullmatch(r"\.(?!v\d)[A-Za-z][A-Za-z0-9]{1,4}", target.suffix):
        raise TreemechError(
            f"{what} writes {' or '.join((suffix, *others))} files, not {target.suffix}: {target.with_suffix(suffix).name!r} would be one."
        )
    return target.with_name(target.name + suffix)
