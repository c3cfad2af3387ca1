"""Blocks of runs over an executor: a few at a time, written down as they arrive; what fails on the way is done again.

A job has the method `block`, which computes one block, and its mechanism in `mech`. Any `concurrent.futures.Executor` will do. Threads use the mechanism as it is; for every other executor the job travels as
bytes (`job.packed`), and a worker makes it once.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from treemech.topology import TreemechError

from .job import packed, ready, run_there

_TRIES = 4  # of a block whose worker dies
_AHEAD = 3  # blocks for every worker that are handed out at once


def own_executor(kind: str, workers: int) -> Executor:
    """Make threads or processes."""
    if kind == "threads":
        return ThreadPoolExecutor(workers, thread_name_prefix="treemech-runs")
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


@contextmanager
def executing(given: Any, workers: int | None) -> Iterator[Workers]:
    """Yield the workers that an argument `executor` means; those made here end with the block."""
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise TreemechError(f"workers is {workers!r}; wanted a whole number from 1.")
    count = workers or _cores()
    if given is None or isinstance(given, str):
        kind = given or "threads"
        if kind not in ("threads", "processes"):
            raise TreemechError(f"executor is {given!r}; wanted 'threads', 'processes' or an Executor.")
        found = Workers(own_executor(kind, count), count, kind)
        try:
            yield found
        finally:
            found.executor.shutdown(wait=True, cancel_futures=True)
        return
    if not hasattr(given, "submit"):
        raise TreemechError(
            f"executor is {given!r}; wanted 'threads', 'processes', or an object with the method submit of concurrent.futures.Executor: "
            "client.get_executor() of a dask.distributed.Client is one."
        )
    yield Workers(given, workers or _count_of(given))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _count_of(executor: Any) -> int:
    """Return how many workers an executor has, as far as it says."""
    client = getattr(executor, "_client", None)
    if client is not None:
        return max(1, int(sum(client.ncores().values())))
    known = getattr(executor, "_max_workers", None)
    return known if isinstance(known, int) and known > 0 else _cores()


class Workers:
    """An executor, how many workers it has, and, if it was made here, of which kind."""

    def __init__(self, executor: Any, count: int, kind: str = "") -> None:
        self.executor, self.count, self.kind = executor, count, kind

    def use(self, job: Any) -> None:
        """Get ready for a job; refuse it before anything runs if workers cannot make it."""
        self.job = job
        self.sent = None if isinstance(self.executor, ThreadPoolExecutor) else packed(job)
        if self.sent is not None:
            missing = self.executor.submit(ready, *self.sent).result()
            if missing:
                raise TreemechError(
                    f"the workers cannot make mechanism {job.mech.name!r}: {missing}. Modules with elements, start functions and "
                    "measures of your own have to be importable where the workers run."
                )

    def submit(self, rows: Any) -> Future[Any]:
        """Hand out a block."""
        if self.sent is None:
            return self.executor.submit(self.job.block, rows)  # type: ignore[no-any-return]
        return self.executor.submit(run_there, *self.sent, rows)  # type: ignore[no-any-return]

    def renew(self, error: BaseException) -> None:
        """Take the place of a pool that has lost a worker, and with it all others."""
        if self.kind != "processes":
            raise TreemechError(
                f"a worker process ended and took its pool with it: {error}. What was finished is kept; with path= the same call goes "
                "on from there."
            ) from error
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = own_executor(self.kind, self.count)


def compute(
    workers: Workers,
    numbers: Iterable[int],
    rows_of: Callable[[int], Any],
    keep: Callable[[int, Any], None],
) -> bool:
    """Compute blocks and hand them to `keep` as they arrive. Return False if Ctrl-C ended the work."""
    waiting, tries = deque(numbers), dict[int, int]()
    running: dict[Future[Any], int] = {}
    try:
        while waiting or running:
            while waiting and len(running) < _AHEAD * workers.count:
                number = waiting.popleft()
                try:
                    running[workers.submit(rows_of(number))] = number
                except BrokenProcessPool as error:
                    waiting.appendleft(number)
                    _again(workers, running, waiting, tries, error)
            done = wait(running, return_when=FIRST_COMPLETED).done
            lost: BaseException | None = None
            for future in done:
                number = running.pop(future)
                fault = future.exception()
                if fault is None:
                    keep(number, future.result())
                elif isinstance(fault, KeyboardInterrupt):
                    raise fault
                elif isinstance(fault, TreemechError):
                    raise fault
                else:
                    lost = fault
                    waiting.appendleft(number)
                    tries[number] = tries.get(number, 0) + 1
                    if tries[number] >= _TRIES and not isinstance(fault, BrokenProcessPool):
                        raise fault
            if isinstance(lost, BrokenProcessPool):
                _again(workers, running, waiting, tries, lost)
    except KeyboardInterrupt:
        for future in running:
            future.cancel()
        return False
    except BaseException:
        for future in running:
            future.cancel()
        raise
    return True


def _again(
    workers: Workers,
    running: dict[Future[Any], int],
    waiting: deque[int],
    tries: dict[int, int],
    error: BaseException,
) -> None:
    """Start a new pool, and hand out anew what the old one had."""
    for number in running.values():
        waiting.appendleft(number)
    running.clear()
    tries[-1] = tries.get(-1, 0) + 1
    if tries[-1] > _TRIES:
        raise TreemechError(
            f"worker processes ended {tries[-1]} times: {error}. Memory may be short, or an element of your own ends the process."
        ) from error
    workers.renew(error)
