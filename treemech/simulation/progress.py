"""Progress of long work."""

import sys
import time


class ProgressBar:
    """A bar on stderr: fraction done, time left. tqdm if it is installed."""

    def __init__(self, label: str) -> None:
        self.started, self.label, self.bar = time.perf_counter(), label, None
        try:
            from tqdm import tqdm

            self.bar = tqdm(total=1.0, desc=label, unit="s", bar_format="{l_bar}{bar}| {elapsed}<{remaining}")
        except ImportError:
            pass

    def __call__(self, fraction: float) -> None:
        if self.bar is not None:
            self.bar.update(fraction - self.bar.n)
            return
        elapsed = time.perf_counter() - self.started
        left = elapsed * (1.0 - fraction) / fraction if fraction > 0 else float("nan")
        filled = int(30 * fraction)
        sys.stderr.write(
            f"\r{self.label} [{'#' * filled}{'.' * (30 - filled)}] {100 * fraction:3.0f}% {left:.1f} s left "
        )
        sys.stderr.flush()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
        else:
            sys.stderr.write("\n")
