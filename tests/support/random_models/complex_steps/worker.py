"""The process that takes complex steps: reads requests from its standard input, and writes answers to its output."""

import os

os.environ["NUMBA_DISABLE_JIT"] = "1"

import pickle
import signal
import sys
import warnings
from typing import Any, BinaryIO

import numba  # noqa: F401  before functions of `math` are replaced: it knows them by their names
import numpy as np

from . import jets

jets.teach()

from treemech.elements.compilation import entry, members  # noqa: E402

from . import elements, memory  # noqa: E402

elements.teach()
entry.python_entry = elements.python_entry
members.stack_array = memory.stack_array

from treemech.kinematics.kernel import language  # noqa: E402

language.floats, language.floats2 = memory.floats, memory.floats2

from .steps import derivative  # noqa: E402

SECONDS = 20.0  # of CPU for one answer


class TooSlow(Exception):
    """An answer took too long."""


def _stop(*_: Any) -> None:
    raise TooSlow(f"more than {SECONDS:.0f} s of CPU")


def answer(request: Any) -> Any:
    """Return ("found", numbers), or ("failed", why)."""
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        return "found", derivative(*request)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        memory.active.clear()


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    signal.signal(signal.SIGVTALRM, _stop)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        pickle.dump(answer(request), answers)
        answers.flush()


if __name__ == "__main__":
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints does not disturb the answers
    serve(sys.stdin.buffer, output)
