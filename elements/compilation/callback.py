"""Run elements as Python behind a ctypes callback, and carry exceptions out of the core."""

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError, TreemechError
from treemech.topology.user_code import user_code

from ..constraint import Constraint, RelativeMotion, rows_size, rows_views
from ..coupling import Coupling, coupling_size, coupling_views
from ..element import Element, parameters, record
from ..energetic import Deformed, Effort, Energetic
from ..energetic import load_views as ends_load_views
from ..energetic import motion_views as ends_motion_views
from ..hinge import Hinge, motion_views
from ..load import EndLoad, EndMotion
from .methods import is_function, methods_of, role_of

C_ELEMENT = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p
)


class Entry(NamedTuple):
    """An element as the core calls it. Its way is "library", "numba" or "python"."""

    address: int
    way: str
    keep: object  # what must stay alive while the address is in use
    dual: bool = True  # in an entry for dual numbers: whether its parameters are dual numbers too


class Failure(threading.local):
    """Exception of the element that failed last in this thread, caught on its way out of the core."""

    exception: BaseException | None = None


_failure = Failure()
_MOST_VIEWS = 256  # arrays of a callback that are kept: threads come and go, each with arrays of its own


def python_self(element: Element, t: float) -> Any:
    """Return the element with its signals replaced by their values at t, as a compiled method sees them."""
    if getattr(element, "sizes_at", ()):  # assembled: the record holds addresses and signals of its members
        numbers, inner = record(element)
        for at, signal in inner:
            numbers[at : at + 3] = signal.at(t)
        return _WithSignals(element, {"numbers": numbers[1:]})
    signals = [p for p in parameters(element) if p.kind == "signal"]
    if not signals:
        return element
    return _WithSignals(element, {p.name: p.value.at(t) for p in signals})


class _WithSignals:
    def __init__(self, element: Element, values: Mapping[str, Any]) -> None:
        self._element = element
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._element, name)


def _doubles(address: int | None, n: int) -> Floats:
    return np.ctypeslib.as_array((ctypes.c_double * n).from_address(address or 0)) if n else np.zeros(0)


def by_python(element: Element, part: str = "") -> bool:
    """Tell whether the element can run as Python, because nothing in it needs derivatives."""
    names = set(methods_of(element, part))
    return bool(names <= {"evaluate", "value", "effort", "remember"}) and not getattr(
        element, "n_reactions", 0
    )


def value_and_rates(function: Callable[[float], Any], t: float, h: float = 1e-3) -> Floats:
    """Return the value, rate and acceleration of a function of time, by differences of sixth order.

    >>> value_and_rates(lambda t: t**3, 2.0).round(6).tolist()
    [8.0, 12.0, 12.0]
    """
    x = np.array([float(function(t + k * h)) for k in range(-3, 4)])
    rate = np.array([-1, 9, -45, 0, 45, -9, 1]) @ x / (60.0 * h)
    acceleration = np.array([2, -27, 270, -490, 270, -27, 2]) @ x / (180.0 * h * h)
    return np.array([x[3], rate, acceleration])


def python_entry(element: Element, part: str = "") -> Entry:
    """Return the element's method behind a ctypes callback. Exceptions are stored for the core's caller."""
    free = is_function(element)
    role, (name, function) = role_of(element), next(iter(methods_of(element, part).items()))
    if not by_python(element, part):
        raise ElementError(
            f"{element.kind}.{name} needs numba for its derivatives: unset NUMBA_DISABLE_JIT, or write evaluate()."
        )
    views: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def look(a: int, b: int, out: int) -> tuple[Any, ...]:
        if isinstance(element, Hinge):
            n, m = element.n_coordinates, element.n_speeds
            return _doubles(a, n), _doubles(b, m), motion_views(_doubles(out, 24 + 6 * m), m)
        if isinstance(element, Constraint):
            n, na = element.n_rows, element.n_auxiliary
            pose = _doubles(a, 18)
            s = _doubles(b, 2 * na)
            motion = RelativeMotion(
                pose[:3], pose[3:12].reshape(3, 3), pose[12:15], pose[15:], s[:na], s[na:]
            )
            return motion, rows_views(_doubles(out, rows_size(n, na)), n, na)
        if isinstance(element, Coupling):
            n, k = element.n_rows, element.n_arguments or 0
            return _doubles(a, k), _doubles(b, k), coupling_views(_doubles(out, coupling_size(n, k)), n, k)
        if isinstance(element, Energetic):
            motion_ = ends_motion_views(_doubles(a, element.n.motion_size), element.n)
            if part:
                return motion_, _doubles(out, element.n_memory)
            load = ends_load_views(_doubles(out, element.n.load_size), element.n)
            if name == "effort":
                now = Deformed(load.deformation, motion_.u, motion_.x, motion_.inputs, motion_.memory)
                return motion_, load, now, Effort(load.effort, *load[3:7])
            return motion_, load
        if role == "signal":
            return (_doubles(out, 3),)
        end = EndMotion(
            _doubles(a, 3), _doubles(a + 24, 9).reshape(3, 3), _doubles(b, 3), _doubles(b + 24, 3)
        )
        return end, EndLoad(_doubles(out, 3), _doubles(out + 24, 3))

    def callback(a: int, b: int, t: float, par: int, out: int) -> int:
        try:
            key = (a, b, out)
            seen = views.get(key)
            if seen is None:
                if len(views) >= _MOST_VIEWS:
                    views.clear()
                seen = views[key] = look(a, b, out)
            with user_code:
                if role in ("hinge", "coupling"):
                    q, u, filled = seen
                    function(python_self(element, t), q, u, t, filled)
                elif name == "value":
                    value = function if free else partial(function, element)
                    seen[0][:] = value_and_rates(value, t)
                elif role == "signal":
                    function(element, t, seen[0])
                elif name == "effort":
                    motion, load, now, effort = seen
                    load.deformation[:] = motion.q
                    load.effort[:] = 0.0
                    function(python_self(element, t), now, t, effort)
                    load.load[:] = -load.effort
                else:
                    function(python_self(element, t), seen[0], t, seen[1])
            return 1
        except BaseException as error:
            _failure.exception = error
            return 0

    pointer = C_ELEMENT(callback)
    address = ctypes.cast(pointer, ctypes.c_void_p).value
    if address is None:
        raise TreemechError(f"{element.kind}: no callback could be made.")
    return Entry(address, "python", pointer)


def in_python(function: Callable[..., Any]) -> Callable[..., int]:
    """Return a function for a ctypes callback: if it raises, it stores the exception and returns 0."""

    def guarded(*args: Any) -> int:
        try:
            return int(function(*args))
        except BaseException as error:
            _failure.exception = error
            return 0

    return guarded


@contextmanager
def catching() -> Iterator[Failure]:
    """Store the exception of a failing element while the core runs.

    A compiled method that raises returns 0 to the core; the exception itself arrives at sys.unraisablehook,
    in the thread that runs the core. All threads share one hook, which is there while one of them needs it.
    """
    _failure.exception = None
    _hook.enter()
    try:
        yield _failure
    finally:
        _hook.leave()


class _Hook:
    """Hook for exceptions of compiled methods, in place of the one that was there before."""

    def __init__(self) -> None:
        self.lock, self.users, self.before = threading.Lock(), 0, sys.unraisablehook

    def enter(self) -> None:
        with self.lock:
            if not self.users:
                self.before, sys.unraisablehook = sys.unraisablehook, self
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if not self.users and sys.unraisablehook is self:
                sys.unraisablehook = self.before

    def __call__(self, event: Any) -> None:
        if "CPUContext" in str(event.object) or "numba" in str(event.object):
            # in an assembled element the exception of the member comes first
            _failure.exception = _failure.exception or event.exc_value
        else:
            self.before(event)


_hook = _Hook()
