"""Let numba go on where a file of its cache cannot be read or written: it compiles again, or does not keep what it compiled.

By itself it would raise: on a full disk, after a compilation of minutes; on a file that was cut short, in every process from then on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .messages import log

if TYPE_CHECKING:
    from pathlib import Path

_told: "dict[Path, bool]" = {}  # folders of which something was told: whether what is compiled is kept there


def keeping() -> bool:
    """Tell whether what was compiled until now could be written to the cache."""
    return all(_told.values())


@contextmanager
def forgiving() -> Iterator[None]:
    """Make numba's cache forgive its files inside the context. Numba must be imported."""
    from numba.core.caching import Cache

    own = Cache._guard_against_spurious_io_errors
    Cache._guard_against_spurious_io_errors = _guard
    try:
        yield
    finally:
        Cache._guard_against_spurious_io_errors = own


@contextmanager
def _guard(cache: Any) -> Iterator[None]:
    """Stand around numba's reading and writing of one function. What fails is told; a file that cannot be read is emptied."""
    from pathlib import Path

    try:
        yield
    except Exception as error:  # a damaged pickle may raise anything
        what = (
            error.strerror
            if isinstance(error, OSError) and error.strerror
            else f"{type(error).__name__}: {error}"
        )
        folder = Path(cache._cache_path).parent  # of all files: one line for a full disk, not one for each
        if folder not in _told:
            log.warning(
                "a file of the cache in %s cannot be used (%s): what it should hold is compiled by each process. To mend it, make "
                "room, or treemech clear-cache", folder, what,
            )  # fmt: skip
        _told[folder] = _told.get(folder, True) and not isinstance(error, OSError)
        if not isinstance(error, OSError):
            try:
                cache._cache_file.flush()  # the next to be compiled is kept again
            except OSError:
                pass
