"""Setup of all tests."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def threads_whatever_the_work() -> Iterator[None]:
    """Let calls take the threads they are given, however little there is to do: tests are small."""
    from treemech.calls import rows

    kept, rows._FEWEST_SPEEDS = rows._FEWEST_SPEEDS, 1
    yield
    rows._FEWEST_SPEEDS = kept
