"""Analyses of one state in the general way, and of states with leading axes row by row.

A state with leading axes has q (..., nq) and u (..., nu); every array of a result has the same axes in front.
The rows are computed on SIMD lanes (`lane_rows.py`) or else by the C extension, in one crossing and without the
interpreter lock; a row that neither takes (and all rows, where there is no extension or no table for the analysis)
goes the way of a single state, in Python. So every row has the numbers that its state has alone, to the bit (forward dynamics of
closed chains on lanes: to rounding), for any number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.topology import ElementError
from treemech.topology.arrays import Floats, address

from ..analyses.cut_hinges import CutMotion
from ..results.computed import Pair
from ..results.state import State
from .lane_rows import left_by_lanes
from .many_states import leading_axes_of, many_states

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from treemech.dynamics.calls.calls import Table

    from ..mechanism import Mechanism


_SPEEDS_OF_A_THREAD = 30_000  # about a millisecond of forward dynamics
_FEWEST_SPEEDS = 10_000  # of a thread that is asked for: it takes some 0.1 ms until it has woken up


def answer(
    mech: Mechanism,
    name: Any,
    one: Callable[..., Any],
    state: State | tuple[Any, ...],
    inputs: Sequence[Any] = (),
    out: Any = None,
    threads: int | None = None,
    many: Callable[..., Any] | None = None,
) -> Any:
    """Return an analysis of a state, or of each of many; write its first array to `out` if that is given.

    `many(mech, rows, threads)` returns that of all rows, or None if it cannot.
    """
    lead = leading_axes(state)
    if lead is None:
        found = one(mech, state, *inputs)
        return found if out is None else _written(found, out, _what(name))
    rows = Rows.of(mech, state, lead, inputs, _what(name))
    found = None if many is None or not len(rows.t) else many(mech, rows, threads)
    return of_rows(mech, name, one, rows, out, threads) if found is None else found


def _what(name: Any) -> str:
    """Return the name of an analysis; that of an end is a pair."""
    return str(name[0]).removeprefix("end_") if isinstance(name, tuple) else str(name)


def leading_axes(state: Any) -> tuple[int, ...] | None:
    """Return the leading axes of a state; None if there are none.

    >>> leading_axes((np.zeros((5, 7)), np.zeros((5, 7)))), leading_axes((np.zeros(7), np.zeros(7)))
    ((5,), None)
    """
    if isinstance(state, State):
        q = state.q
    elif isinstance(state, tuple) and len(state) in (2, 3):
        q = state[-2]
    else:
        return None
    shape = np.shape(q)
    return shape[:-1] if len(shape) > 1 else None


class Rows(NamedTuple):
    """Many states and inputs, row by row."""

    lead: tuple[int, ...]
    t: Floats  # (n,)
    q: Floats  # (n, nq)
    u: Floats
    z: Floats  # (n, nz)
    state: State  # with the leading axes
    inputs: tuple[Any, ...]  # arrays (n, .), or what all rows have in common

    @classmethod
    def of(cls, mech: Mechanism, state: Any, lead: tuple[int, ...], inputs: Sequence[Any], what: str) -> Rows:
        """Take a state with leading axes, and inputs with or without them, apart; refuse other shapes."""
        if not isinstance(state, State):
            t, q, u = (0.0, *state) if len(state) == 2 else state
            mech._warn_of_changes()
            state = many_states(mech, leading_axes_of(mech, t, q, u), t, q, u, None, kept=False)
        n, core = int(np.prod(lead)), mech._core
        for letter, numbers, size in (("q", state.q, mech.nq), ("u", state.u, mech.nu)):
            if np.shape(numbers) != (*lead, size):
                raise ElementError(
                    f"{what}: {letter} has shape {np.shape(numbers)}; wanted {(*lead, size)}: the leading axes of q, then "
                    f"the {size} numbers of this mechanism."
                )
        z = np.broadcast_to(
            state.z if state.z.size else core.layout.efforts.start[: core.nz], (*lead, core.nz)
        )
        t = np.broadcast_to(np.asarray(state.t, dtype=np.float64), lead)
        return cls(
            lead, _rows(t, n), _rows(state.q, n, mech.nq), _rows(state.u, n, mech.nu), _rows(z, n, core.nz), state,
            tuple(_input(x, lead, n) for x in inputs),
        )  # fmt: skip

    def row(self, k: int) -> tuple[State, list[Any]]:
        """Return state k and its inputs."""
        inputs = [x[k] if isinstance(x, _Each) else x for x in self.inputs]
        return row_of(self.state, self.lead, k), inputs


class _Each(list[Any]):
    """Inputs of every row."""


def _rows(array: Any, *shape: int) -> Floats:
    return np.ascontiguousarray(array, dtype=np.float64).reshape(shape)


def _input(given: Any, lead: tuple[int, ...], n: int) -> Any:
    """Return an input of every row where it has the leading axes, by name or in full; else as it is."""
    if isinstance(given, Mapping):
        return _Each([{key: _at(x, lead, k) for key, x in given.items()} for k in range(n)])
    if (
        isinstance(given, np.ndarray | list | tuple)
        and np.shape(given)[: len(lead)] == lead
        and np.ndim(given) > len(lead)
    ):
        return _Each(_rows(given, n, np.shape(given)[-1]))
    return given


def _at(value: Any, lead: tuple[int, ...], k: int) -> Any:
    has = isinstance(value, np.ndarray) and value.shape[: len(lead)] == lead
    return value[np.unravel_index(k, lead)] if has else value


def row_of(state: State, lead: tuple[int, ...], k: int) -> State:
    """Return one of many states, by its number in the order of the rows."""
    at = np.unravel_index(k, lead)

    def own(array: Any) -> Any:
        return array[at] if np.shape(array)[: len(lead)] == lead and np.ndim(array) > len(lead) else array

    t = float(state.t if np.ndim(state.t) == 0 else np.asarray(state.t)[at])
    if isinstance(state.cut, CutMotion) and state.cut.found is None:  # this row alone
        cut: Any = CutMotion(state.cut.mechanism, t, own(state.q), own(state.u))
    else:
        cut = {name: (own(q), own(u)) for name, (q, u) in state.cut.items()}
    return replace(
        state, t=t, q=own(state.q), u=own(state.u), x=own(state.x), memory=own(state.memory), cut=cut
    )


def of_rows(
    mech: Mechanism, name: Any, one: Callable[..., Any], rows: Rows, out: Any, threads: int | None
) -> Any:
    """Return an analysis of many states: by its table where there is one, else row by row."""
    n = len(rows.t)
    table = mech._fast.table(name)
    if table is None or not _takes(table, rows):
        return _written(
            stacked([one(mech, *_flat(rows.row(k))) for k in range(n)], rows.lead), out, _what(name)
        )
    results = [np.empty((n, *shape)) for shape in table.shapes]
    if out is not None:
        results[0] = _checked(out, (*rows.lead, *table.shapes[0]), _what(name)).reshape(n, *table.shapes[0])

    def compute(first: int, last: int) -> None:
        left = left_by_lanes(mech, name, rows, results, first, last)
        for k in _left_over(mech, name, rows, results, first, last) if left is None else left.tolist():
            parts = _parts(one(mech, *_flat(rows.row(k))), table)
            for to, part in zip(results, parts, strict=True):
                to[k] = part

    if n:
        shared(compute, n, _cores(n * mech.nu) if threads is None else threads, n * mech.nu)
    shaped = [x.reshape(*rows.lead, *shape) for x, shape in zip(results, table.shapes, strict=True)]
    if out is not None:
        shaped[0] = out
    if table.kind is None:
        return shaped[0]
    if issubclass(table.kind, Pair):
        return table.kind(shaped[0])
    return table.kind(*(np.moveaxis(shaped[0], -1, 0) if table.names else shaped))


def _flat(row: tuple[State, list[Any]]) -> tuple[Any, ...]:
    return (row[0], *row[1])


def _takes(table: Table, rows: Rows) -> bool:
    """Tell whether the inputs are arrays as the extension takes them."""
    for given, array in zip(rows.inputs, table.inputs, strict=True):
        if isinstance(given, _Each):
            if any(isinstance(x, Mapping) or np.shape(x) != array.shape for x in given[:1]):
                return False
        elif given is not None and np.shape(given) != array.shape:
            return False
    return True


def _left_over(
    mech: Mechanism, name: Any, rows: Rows, results: list[Floats], first: int, last: int
) -> Iterator[int]:
    """Compute rows first to last in this thread, and yield those that the extension does not take."""
    table = mech._fast.table(name)
    assert table is not None
    n, zeros, kept = len(rows.t), np.zeros(1), []
    near = np.zeros((n, sum(size for _, _, size in table.near)))
    at = 0
    places = {c.name: c.q for c in mech._info.chords}
    for chord, _, size in table.near:
        start = mech._core.layout.chords.start[places[chord] : places[chord] + size]
        given = rows.state.cut[chord][0] if chord in rows.state.cut else np.tile(start, (n, 1))
        near[:, at : at + size] = np.asarray(given).reshape(n, size)
        at += size
    inputs = []
    for given, array in zip(rows.inputs, table.inputs, strict=True):
        numbers = np.zeros(array.shape) if given is None else np.array(given, dtype=np.float64)
        kept.append(numbers := np.ascontiguousarray(numbers))
        inputs.append((address(numbers), array.size if isinstance(given, _Each) else 0))
    finite = np.isfinite(rows.q).all(axis=1) & np.isfinite(rows.u).all(axis=1) & np.isfinite(rows.t)
    where = [
        (address(x), x.size // n) if x.size else (address(zeros), 0)
        for x in (rows.t, rows.q, rows.u, rows.z, near)
    ]
    to = tuple((address(x) if x.size else address(zeros), x[0].size) for x in results)
    while first < last:
        stop = next(iter(np.flatnonzero(~finite[first:last]).tolist()), last - first) + first
        with mech._core.guard():
            done = table.c.many(first, stop, *where, tuple(inputs), to)
        if done >= last:
            return
        yield done
        first = done + 1


def _cores(speeds: int) -> int:
    """Return how many threads pay for themselves, by the speeds of all states together."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, speeds // _SPEEDS_OF_A_THREAD))


def shared(compute: Callable[[int, int], None], n: int, threads: int | None, speeds: int) -> None:
    """Compute n rows by one thread, or by at most so many that take equal parts; this one takes the last part.

    `speeds` says how much work it is, in evaluations of forward dynamics times speeds. A thread that would have too little of it to
    make up for waking it is left asleep.
    """
    count = min(1 if threads is None else int(threads), n)
    if count < 1:
        raise ElementError(f"threads is {threads!r}; wanted a number from 1.")
    count = max(1, min(count, speeds // _FEWEST_SPEEDS))
    if count == 1:
        compute(0, n)
        return
    from concurrent.futures import wait

    edges = sorted({4 * (n * k // (4 * count)) for k in range(count)} | {n})  # whole blocks of lanes
    pool = _pool(os.getpid(), count - 1)
    others = [pool.submit(compute, a, b) for a, b in pairwise(edges[:-1])]
    try:
        compute(edges[-2], n)
    finally:
        wait(others)
    for other in others:
        other.result()


@cache
def _pool(process: int, count: int) -> ThreadPoolExecutor:
    """Return threads that stay, with the arrays they have made. A process that was forked starts its own."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(count, thread_name_prefix="treemech")


def _parts(found: Any, table: Table) -> list[Any]:
    """Return the results of one state in the order of the table."""
    if table.kind is None:
        return [found]
    if isinstance(found, Pair):
        return [found.numbers]
    return [[getattr(found, n) for n in table.names]] if table.names else list(found)


def stacked(results: Sequence[Any], lead: tuple[int, ...]) -> Any:
    """Return one result whose arrays have leading axes, of the results of every state.

    >>> stacked([{"A": 1.0}, {"A": 2.0}], (2,))
    {'A': array([1., 2.])}
    """
    first = results[0] if results else np.zeros(0)
    if isinstance(first, np.ndarray | float | int | np.number) and not isinstance(first, bool):
        if any(np.shape(r) != np.shape(first) for r in results):
            return list(results)
        return np.array(results).reshape(*lead, *np.shape(first))
    if isinstance(first, Pair):
        return type(first)(stacked([r.numbers for r in results], lead))
    if isinstance(first, Mapping):
        return {key: stacked([r[key] for r in results], lead) for key in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(stacked([r[k] for r in results], lead) for k in range(len(first))))
    if is_dataclass(first) and not isinstance(first, type):
        own = {f.name: stacked([getattr(r, f.name) for r in results], lead) for f in fields(first) if f.init}
        return type(first)(**own)
    same = (
        all(r == first for r in results[1:])
        if not isinstance(first, tuple)
        else all(r == first for r in results)
    )
    return first if same else list(results)


def _written(found: Any, out: Any, name: str) -> Any:
    """Write the first array of a result to `out`. Return the result with `out` in its place."""
    if out is None:
        return found
    first = found if isinstance(found, np.ndarray) else found[0]
    if not isinstance(out, np.ndarray) or out.dtype != np.float64 or out.shape != first.shape:
        raise ElementError(
            f"{name}: out is {_described(out)}; wanted an array of float64 of shape {first.shape}."
        )
    out[...] = first
    return out if isinstance(found, np.ndarray) else found._replace(**{found._fields[0]: out})


def _checked(out: Any, shape: tuple[int, ...], name: str) -> Floats:
    if (
        not isinstance(out, np.ndarray)
        or out.dtype != np.float64
        or out.shape != shape
        or not out.flags.c_contiguous
    ):
        raise ElementError(
            f"{name}: out is {_described(out)}; wanted a C-contiguous array of float64 of shape {shape}."
        )
    return out


def _described(out: Any) -> str:
    return f"an array of {out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else repr(out)
