"""Depth of functions of the user in this thread: elements in Python, events, controllers, progress.

The core calls such a function while its arrays hold a computation that is not finished. A mechanism that is
used inside it therefore works on other arrays: one set for every thread and depth
(dynamics.model.workspaces).
"""

import threading
from typing import ClassVar


class UserCode(threading.local):
    """Context around a call of a function of the user; `depth` counts the calls that are under way.

    Examples
    --------
    >>> with user_code:
    ...     user_code.depth
    1
    >>> user_code.depth
    0
    """

    depth = 0
    inside: ClassVar[set[int]] = set()  # the threads with a depth above 0; looked at from all of them

    def __enter__(self) -> None:
        self.inside.add(threading.get_ident())
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
        if not self.depth:
            self.inside.discard(threading.get_ident())


user_code = UserCode()
