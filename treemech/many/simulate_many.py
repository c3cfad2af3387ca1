"""Many simulations of one mechanism: from the user's arguments to blocks of runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.simulation.integrator import NAMES, radius
from treemech.topology import ElementError, TopologyError, TreemechError, unknown
from treemech.topology.arrays import Floats
from treemech.topology.parameter import as_floats

from .. import __version__
from ..analyses.evaluation import empty_run
from ..calls.rows import Rows as StateRows
from ..calls.rows import leading_axes
from ..description.parameters import origin_of
from ..design.experiment import check_quantity, is_statistic
from ..design.study import wanted_quantities
from ..results.measures import as_measure, check_measures
from ..results.naming import as_numbers_by_name
from ..results.state import State
from ..simulation.simulate import output_times
from .block_runs import takes
from .job import Block, Job, Rows
from .rate import RateBar
from .runs import ManyRuns
from .schedule import compute, executing
from .storage.store import opened

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_BLOCK = 1000  # runs in a block at most
_FEWEST = 32  # blocks, where there are enough runs
# of `simulate`, but for those that are about the files and the progress of one run
_OPTIONS = (
    "method", "rtol", "atol", "events", "max_step", "first_step", "dense_output", "stabilisation", "on_singular", "audit", "max_steps",
)  # fmt: skip
_QUICK = 100  # runs in a block that take no Python: what a block costs besides is shared by them


def simulate_many(
    mech: Mechanism,
    t_span: tuple[float, float],
    states: Any = None,
    parameters: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    t_eval: Any = None,
    measures: Any = None,
    executor: Any = None,
    workers: int | None = None,
    path: str | Path | None = None,
    progress: bool | Callable[[float], None] = False,
    block: int | None = None,
    options: Mapping[str, Any] | None = None,
    cycle: Floats | None = None,
) -> ManyRuns:
    """Simulate many motions, see `Mechanism.simulate_many`; with a cycle follow a prescribed motion over these times."""
    _check_options(options or {})
    _check_events(mech, (options or {}).get("events"), float(t_span[1]) >= float(t_span[0]))
    own = dict(as_numbers_by_name(parameters, "simulate_many: parameters"))
    origin_of(mech, own)
    varied = {name: _column(name, x, "parameter") for name, x in own.items()}
    held = mech._core.layout.efforts.held
    given = {
        name: _column(name, x, "input")
        for name, x in as_numbers_by_name(inputs, "simulate_many: inputs").items()
    }
    for name in given:
        if name not in held:
            raise TopologyError(unknown("input without a signal", name, held))
        if name in varied:
            raise TreemechError(f"{name!r} is a parameter and an input: give one of them another name.")
    start, arrays, count = _starts(mech, states)
    counts = {len(x) for x in (*varied.values(), *given.values())} | ({count} if count else set())
    if len(counts) != 1:
        raise ElementError(
            "simulate_many: give states, parameters or inputs with a row for every run"
            + (f"; they have {', '.join(map(str, sorted(counts)))} rows." if counts else ".")
        )
    (n,) = counts
    if n == 0:
        raise ElementError("simulate_many: there are no runs.")
    rows = Rows(n, varied, given, **arrays)
    times = cycle if t_eval is None else output_times(t_eval, float(t_span[0]), float(t_span[1]))
    wanted = None if measures is None else wanted_quantities(measures)
    _check_measures(mech, wanted, times)
    job = Job(
        mech,
        (float(t_span[0]), float(t_span[1])),
        start,
        times,
        wanted,
        dict(options or {}),
        cycle is not None,
    )
    size = max(_QUICK if takes(job, rows) else 1, min(_BLOCK, n // _FEWEST)) if block is None else block
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
        raise TreemechError(f"block is {block!r}; wanted a number of runs from 1.")
    header = _header(job, rows, size)
    store = None if path is None else opened(path, header)
    if store is not None and store.header["block"] != size:
        size = int(store.header["block"])
    blocks: dict[int, Block] | None = {} if store is None else None
    total = -(-n // size)
    todo = [k for k in range(total) if store is None or not store.has(k)]
    found = ManyRuns(n, {**varied, **given}, header if store is None else store.header, blocks, store)
    _compute(mech, job, rows, size, todo, found, executor, workers, progress)
    return found


def _compute(
    mech: Mechanism, job: Job, rows: Rows, size: int, todo: Sequence[int], found: ManyRuns, executor: Any, workers: int | None,
    progress: Any,
) -> None:  # fmt: skip
    n, store, blocks = rows.count, found._store, found._blocks
    done = n - sum(min(size, n - k * size) for k in todo)
    bar = RateBar(mech.name, n, done) if progress is True else None

    def part(k: int) -> Rows:
        return rows.part(k * size, min((k + 1) * size, n))

    def keep(k: int, block: Block) -> None:
        nonlocal done
        if store is None:
            assert blocks is not None
            blocks[k] = block
        else:
            own = part(k)
            store.write(k, block, {**own.parameters, **own.inputs}, k * size)
        done += len(block["message"])
        if bar is not None:
            bar(done)
        elif callable(progress):
            progress(done / n)

    if rows.parameters:
        mech._refilling.announce(rows.parameters)
    if not todo:
        return
    try:
        with executing(executor, workers) as team:
            team.use(job)
            compute(team, todo, part, keep)
    finally:
        if bar is not None:
            bar.close()


def _check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that no run could have, before anything runs."""
    for name in options:
        if name not in _OPTIONS:
            raise TreemechError(f"simulate_many: {unknown('option', name, _OPTIONS)}")
    method, rtol = options.get("method", "DOP853"), options.get("rtol", 1e-6)
    kind, _ = radius(method)
    if kind not in NAMES:
        raise TreemechError(f"simulate_many: {unknown('method', str(method), NAMES)}")
    if not (isinstance(rtol, int | float) and 0.0 < rtol < 1.0):
        raise TreemechError(f"simulate_many: rtol is {rtol!r}; wanted a number between 0 and 1.")


def _check_events(mech: Mechanism, events: Any, ahead: bool) -> None:
    """Refuse events that no run of this mechanism could have, before anything runs."""
    if events is not None:
        from ..simulation.events import Watch, as_events

        if listed := as_events(events):
            Watch(mech, listed, 1.0 if ahead else -1.0)


def _column(name: str, given: Any, what: str) -> Floats:
    try:
        numbers = as_floats(given)
    except (TypeError, ValueError):
        raise ElementError(
            f"simulate_many: {what} {name!r} is {given!r}; wanted a number for every run."
        ) from None
    if numbers.ndim != 1:
        raise ElementError(
            f"simulate_many: {what} {name!r} has shape {numbers.shape}; wanted (N,), a number for every run."
        )
    if not np.all(np.isfinite(numbers)):
        raise ElementError(f"simulate_many: {what} {name!r} has numbers that are not finite.")
    return np.ascontiguousarray(numbers)


def _starts(mech: Mechanism, states: Any) -> tuple[Any, dict[str, Floats | None], int]:
    """Return a function that makes starts, or arrays of them with their number."""
    if states is None or callable(states):
        return states, {}, 0
    if (
        isinstance(states, Sequence)
        and not isinstance(states, tuple)
        and all(isinstance(s, State) for s in states)
    ):
        times: Any = np.array([s.t for s in states])
        states = State(
            times, np.array([s.q for s in states]), np.array([s.u for s in states]),
            np.array([s.x for s in states]), np.array([s.memory for s in states]), coordinates=mech._lagrange,
        )  # fmt: skip
    lead = leading_axes(states)
    if lead is None:  # one for all
        one = states
        if not isinstance(one, State):
            if not isinstance(one, Sequence) or isinstance(one, (str, bytes)) or len(one) not in (2, 3):
                raise ElementError(
                    f"simulate_many: states is {one!r}; wanted a State, a list of them, (q, u), (t, q, u) or a function."
                )
            t, q, u = (0.0, *one) if len(one) == 2 else one
            one = mech.state(t, q=q, u=u)
        return _Same(one.q, one.u, one.x), {}, 0
    if len(lead) != 1:
        raise ElementError(
            f"simulate_many: states have leading axes {lead}; wanted one, a row for every run."
        )
    found = StateRows.of(mech, states, lead, (), "simulate_many")
    nx = mech._core.nx
    x = found.z[:, :nx] if nx else None
    memory = found.z[:, nx:] if mech._core.nz > nx else None
    return None, {"q": found.q, "u": found.u, "x": x, "memory": memory}, lead[0]


class _Same:
    """Start that all runs have in common."""

    def __init__(self, q: Floats, u: Floats, x: Floats) -> None:
        self.q, self.u, self.x = q, u, x

    def __call__(self, mech: Mechanism) -> State:
        return mech.state(q=self.q, u=self.u, x=self.x if len(self.x) else None)


def _check_measures(mech: Mechanism, wanted: Mapping[str, Any] | None, times: Floats | None) -> None:
    """Refuse measures that runs of this mechanism do not have, before anything runs."""
    for name, what in (wanted or {}).items():
        if isinstance(what, str) and not is_statistic(what):
            if times is None:
                raise ElementError(
                    f"simulate_many: {what!r} is a measure over time: give t_eval=, or ask for 'final {what}', 'max {what}', ..."
                )
            known = mech._wiring.measures.get(what)
            if known is None:
                check_measures([as_measure(name, what)], empty_run(mech))
        else:
            check_quantity(mech, what)


def _header(job: Job, rows: Rows, size: int) -> dict[str, Any]:
    """Return what the results are and of what."""
    mech, times = job.mech, job.t_eval
    axis = [] if times is None else ["time"]
    labels: dict[str, list[str]] = {}
    dimensions: dict[str, list[str]] = {}
    variables = ["q", "u"] if job.measures is None else list(job.measures)
    if job.measures is None:
        labels = {"coordinate": mech.coordinates, "speed": mech.speeds}
        dimensions = {"q": [*axis, "coordinate"], "u": [*axis, "speed"]}
    else:
        for name, what in job.measures.items():
            dimensions[name] = axis if isinstance(what, str) and not is_statistic(what) else []
    return {
        "title": mech.name,
        "source": f"treemech {__version__}",
        "count": rows.count,
        "block": size,
        "time": None if times is None else times.tolist(),
        "varied": [*rows.parameters, *rows.inputs],
        "variables": variables,
        "labels": labels,
        "dimensions": dimensions,
        "identity": _identity(job, rows),
    }


def _identity(job: Job, rows: Rows) -> dict[str, Any]:
    from ..files.checkpoint import digest, fingerprint

    def known(array: Floats | None) -> str | None:
        return None if array is None else digest(array)

    return {
        "model": fingerprint(job.mech), "t_span": list(job.t_span), "t_eval": known(job.t_eval), "number of runs": rows.count,
        "parameters": {n: digest(x) for n, x in rows.parameters.items()}, "inputs": {n: digest(x) for n, x in rows.inputs.items()},
        "states": [known(x) for x in (rows.q, rows.u, rows.x, rows.memory)], "start": _code(job.start),
        "measures": None if job.measures is None else {n: _code(w) for n, w in job.measures.items()},
        "kinematic": job.kinematic, "options": {n: _code(x) for n, x in job.options.items()},
    }  # fmt: skip


def _code(thing: Any) -> Any:
    """Return what tells one function or option from another."""
    if thing is None or isinstance(thing, str | int | float | bool):
        return thing
    if isinstance(thing, _Same):
        return [x.tolist() for x in (thing.q, thing.u, thing.x)]
    if hasattr(thing, "__code__"):
        code = thing.__code__
        text = repr(
            (
                code.co_code.hex(),
                [c for c in code.co_consts if isinstance(c, str | int | float)],
                code.co_names,
            )
        )
        return f"{thing.__qualname__} {hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if isinstance(thing, list | tuple):
        return [_code(x) for x in thing]
    if isinstance(thing, Mapping):
        return {str(k): _code(x) for k, x in thing.items()}
    if isinstance(thing, np.ndarray):
        return thing.tolist()
    return type(thing).__qualname__
