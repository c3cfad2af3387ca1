"""Ask the process that takes complex steps; it is started by the first question."""

import atexit
import os
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[4]


class NotPossible(Exception):
    """There is no complex step here; the text says why."""


class Client:
    """The other process, one for each process that asks."""

    def __init__(self) -> None:
        self.process: Any = None

    def ask(self, *request: Any) -> Any:
        """Return the answer to a request. Raise NotPossible if there is none."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
                cwd=ROOT,
            )
        pickle.dump(request, self.process.stdin)
        self.process.stdin.flush()
        try:
            kind, found = pickle.load(self.process.stdout)
        except EOFError:
            raise NotPossible("the process died") from None
        if kind == "failed":
            raise NotPossible(found)
        return found

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@cache
def client() -> Client:
    """Return the client of this process."""
    made = Client()
    atexit.register(made.stop)
    return made
