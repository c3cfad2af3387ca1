"""What one evaluation costs: many calls from compiled code, so that crossing over from Python does not count."""

import time

import numpy as np

from treemech.kinematics.kernel.language import call_rhs
from treemech.kinematics.kernel.status import OK
from treemech.topology.arrays import Floats

from .compiled import c_function, data

_BLOCKS, _BLOCK = 9, 1e-3  # blocks of about so many seconds; the least counts


@c_function("int32(int64, int64, float64, int64, int64, int64)")
def repeated(function, count, t, y, what, context):  # type: ignore[no-untyped-def]
    """Call a function of the signature of right-hand sides many times."""
    status = OK
    for _ in range(count):
        status = call_rhs(function, t, y, what, context)
    return np.int32(status)


def seconds(function: int, t: float, y: Floats, what: int, context: int) -> float:
    """Return the CPU seconds of one call of the function at an address."""
    state = np.ascontiguousarray(y)
    call, arguments = repeated.made.ctypes, (t, data(state), what, context)
    call(function, 1, *arguments)
    began = time.thread_time()
    call(function, 3, *arguments)
    count = max(1, round(3 * _BLOCK / max(time.thread_time() - began, 1e-7)))
    best = float("inf")
    for _ in range(_BLOCKS):
        began = time.thread_time()
        call(function, count, *arguments)
        best = min(best, (time.thread_time() - began) / count)
    return best
