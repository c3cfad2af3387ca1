"""Progress of many runs: how many a second, and how long the rest takes."""

import sys
import time
from collections import deque

_OFTEN = 0.2  # seconds between two writings of the line
_RECENT = 30.0  # seconds over which the rate is taken


class RateBar:
    """A line on stderr: part done, runs a second, time left."""

    def __init__(self, label: str, count: int, done: int = 0) -> None:
        self.label, self.count, self.written = label, count, 0.0
        self.recent = deque([(time.perf_counter(), done)])

    def __call__(self, done: int) -> None:
        now = time.perf_counter()
        self.recent.append((now, done))
        while len(self.recent) > 2 and now - self.recent[0][0] > _RECENT:
            self.recent.popleft()
        if now - self.written < _OFTEN and done < self.count:
            return
        self.written = now
        sys.stderr.write(f"\r{self.text(done)} ")
        sys.stderr.flush()

    def text(self, done: int) -> str:
        """Return the line."""
        (t0, first), (t1, last) = self.recent[0], self.recent[-1]
        rate = (last - first) / (t1 - t0) if t1 > t0 else 0.0
        left = f"{duration((self.count - done) / rate)} left" if rate > 0.0 else "..."
        filled = int(30 * done / max(self.count, 1))
        part = f"[{'#' * filled}{'.' * (30 - filled)}] {done}/{self.count}"
        return f"{self.label} {part}, {rate:.3g} runs/s, {left}"

    def close(self) -> None:
        sys.stderr.write("\n")


def duration(seconds: float) -> str:
    """Return a time for people.

    >>> duration(7.2), duration(95), duration(7500)
    ('7 s', '1 min 35 s', '2 h 5 min')
    """
    s = round(seconds)
    if s < 60:
        return f"{s} s"
    return f"{s // 60} min {s % 60} s" if s < 3600 else f"{s // 3600} h {s % 3600 // 60} min"
