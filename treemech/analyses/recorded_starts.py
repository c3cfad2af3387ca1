"""Record of the calls of `assemble` that a start function makes: what it fixes, and the state it got for it."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec

from ..results.state import State

Arguments = ParamSpec("Arguments")


class Reached(BaseException):
    """Ends a start function at the call whose arguments are wanted; no `except Exception` of it gets in the way."""


class Recorder:
    """Calls in their order: arguments, and the state found. The call number `stop` is not carried out."""

    def __init__(self, stop: int | None) -> None:
        self.stop, self.given, self.found = stop, list[Mapping[str, Any]](), list[State]()


_RECORDER: ContextVar[Recorder | None] = ContextVar("recorder of starts", default=None)


@contextmanager
def recording(stop: int | None = None) -> Iterator[Recorder]:
    """Record calls within the context, in this thread."""
    recorder = Recorder(stop)
    token = _RECORDER.set(recorder)
    try:
        yield recorder
    except Reached:
        pass
    finally:
        _RECORDER.reset(token)


def recorded(method: Callable[Arguments, State]) -> Callable[Arguments, State]:
    """Let calls of a method that makes a state be recorded."""

    @wraps(method)
    def call(*args: Arguments.args, **options: Arguments.kwargs) -> State:
        recorder = _RECORDER.get()
        if recorder is None:
            return method(*args, **options)
        given = dict(inspect.signature(method).bind(*args, **options).arguments)
        recorder.given.append({name: value for name, value in given.items() if name != "self"})
        if recorder.stop == len(recorder.given) - 1:
            raise Reached
        token = _RECORDER.set(None)  # calls on the way are not those of the start function
        try:
            found = method(*args, **options)
        finally:
            _RECORDER.reset(token)
        recorder.found.append(found)
        return found

    return call
