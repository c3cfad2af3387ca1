"""Workspaces of one model: every thread that uses it computes with arrays of its own."""

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from treemech.topology.user_code import user_code

from .core import Core

if TYPE_CHECKING:
    from .tree_derivatives import TreeDerivatives


class Workspace:
    """A core, and what is made once for it when derivatives are asked for."""

    def __init__(self, core: Core, calls: Any) -> None:
        self.core, self.calls = core, calls
        self.by_parameter: Any = None  # treemech.description.parameters.ByParameter, on first use

    @cached_property
    def derivatives(self) -> "TreeDerivatives":
        """Workspace for exact derivatives."""
        from .tree_derivatives import TreeDerivatives

        return TreeDerivatives(self.core)


class Workspaces(threading.local):
    """Workspaces of one model, made on first use and forgotten with their thread.

    A thread has one for every depth of `user_code`: a function of the user that is called in the middle of a
    computation may use the same mechanism, and finds arrays that nobody is using.
    """

    def __init__(
        self, make: Callable[[], Core], calls: Callable[[Core], Any]
    ) -> None:  # called once in every thread that asks
        self.by_depth = _ByDepth(make, calls)

    @property
    def own(self) -> Workspace:
        """The workspace of this thread, at this depth."""
        return self.by_depth[user_code.depth]


class _ByDepth(dict[int, Workspace]):
    def __init__(self, make: Callable[[], Core], calls: Callable[[Core], Any]) -> None:
        self.make, self.calls = make, calls

    def __missing__(self, depth: int) -> Workspace:
        found = self[depth] = Workspace(core := self.make(), self.calls(core))
        return found
