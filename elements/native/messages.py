"""The logger of the package; logging is imported only when a message is written, which is rare."""

from typing import Any


class _Log:
    """Logger "treemech"."""

    def __getattr__(self, name: str) -> Any:
        import logging

        return getattr(logging.getLogger("treemech"), name)


log = _Log()
