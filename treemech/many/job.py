"""What one worker needs to compute runs, and the runs of one block."""

from __future__ import annotations

import hashlib
import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.integrators import layout
from treemech.topology import ElementError, TreemechError
from treemech.topology.arrays import Floats

from ..design.experiment import Quantity, is_statistic, value
from ..design.study import told
from ..results.state import State

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from ..results.run import Run

Block = dict[str, Any]  # results by variable, a row for every run
_MOST = 4  # jobs that a worker keeps


@dataclass(frozen=True, eq=False)
class Job:
    """Runs of one mechanism over one span: everything but the numbers in which they differ."""

    mech: Mechanism
    t_span: tuple[float, float]
    start: Callable[[Mechanism], Any] | None  # makes the start of a run, where states are not given
    t_eval: Floats | None
    measures: Mapping[str, Quantity] | None
    options: Mapping[str, Any]  # of simulate
    kinematic: bool = False  # follow the prescribed motion over t_eval
    _blocks: dict[str, Any] = field(
        default_factory=dict
    )  # what computes runs without Python, made in every process
    _lock: Any = field(default_factory=Lock)

    def __reduce__(self) -> Any:
        own = (self.mech, self.t_span, self.start, self.t_eval, self.measures, self.options, self.kinematic)
        return Job, own

    def block(self, rows: Rows) -> Block:
        """Return the results of these runs."""
        quick = self._quickly(rows)
        if quick is not None:
            return quick
        found = [self.one(rows, k) for k in range(rows.count)]
        return self._table(found)

    def _table(self, found: list[tuple[dict[str, Any], dict[str, Any]]]) -> Block:
        """Return the results of runs as columns."""
        names = ("success", "message", "t_reached", "steps", "evaluations")
        block: Block = {name: np.array([r[0][name] for r in found]) for name in names if name != "message"}
        block["message"] = [r[0]["message"] for r in found]
        for name, shape in self.shapes(found).items():
            block[name] = np.array([_shaped(r[1].get(name), shape) for r in found])
        return block

    def _quickly(self, rows: Rows) -> Block | None:
        """Return the results of runs that take no Python; None if this job has others."""
        from .block_runs import BlockRuns, takes

        if not takes(self, rows):
            return None
        with self._lock:
            runs = self._blocks.get("runs") or self._blocks.setdefault(
                "runs", BlockRuns(self, rows.parameters)
            )
        computed = runs.block(rows)
        if computed is None:
            return None
        values, counts, good = computed
        block: Block = {
            "success": good, "message": [""] * rows.count, "t_reached": np.full(rows.count, self.t_span[1]),
            "steps": counts[:, layout.STEPS].copy(), "evaluations": counts[:, layout.EVALUATIONS].copy(), **values,
        }  # fmt: skip
        for k in np.flatnonzero(~good).tolist():
            about, alone = self.one(rows, k)
            for name, x in {**about, **{name: alone.get(name, np.nan) for name in values}}.items():
                block[name][k] = x
        return block

    def shapes(self, found: list[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, tuple[int, ...]]:
        """Return the shape of every variable of one run."""
        times = () if self.t_eval is None else (len(self.t_eval),)
        if self.measures is None:
            return {"q": (*times, self.mech.nq), "u": (*times, self.mech.nu)}
        shapes: dict[str, tuple[int, ...]] = {}
        for name, what in self.measures.items():
            known = [np.shape(values[name]) for _, values in found if name in values]
            series = isinstance(what, str) and not is_statistic(what)
            shapes[name] = known[0] if known else times if series else ()
        return shapes

    def one(self, rows: Rows, k: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return how run k of the rows went, and its results."""
        about: dict[str, Any] = {
            "success": False,
            "message": "",
            "t_reached": np.nan,
            "steps": 0,
            "evaluations": 0,
        }
        values: dict[str, Any] = {}
        try:
            own = rows.parameters_of(k)
            mech = self.mech.with_parameters(**own) if own else self.mech
            state = rows.start(mech, k, self.start)
            run = (
                mech.kinematics(self.t_eval, state)  # type: ignore[arg-type]
                if self.kinematic
                else mech.simulate(self.t_span, state, t_eval=self.t_eval, **self.options)
            )
        except Exception as error:  # Ctrl-C is no failure
            about["message"] = told(error)
            return about, values
        about |= {
            "success": run.success, "message": "" if run.success else run.message,
            "t_reached": float(run.t[-1]) if run.success or not len(run.t) else float(run.report.t if run.report else run.t[-1]),
            "steps": run.statistics.get("steps", 0), "evaluations": run.statistics.get("evaluations", 0),
        }  # fmt: skip
        if run.success:
            try:
                values = self.results(run)
            except Exception as error:
                about |= {"success": False, "message": told(error)}
        return about, values

    def results(self, run: Run) -> dict[str, Any]:
        """Return what is kept of a run."""
        if self.measures is None:
            last = () if self.t_eval is not None else (-1,)
            return {"q": run.q[last], "u": run.u[last]}
        found = {}
        for name, what in self.measures.items():
            try:
                found[name] = (
                    run.measure(what)
                    if isinstance(what, str) and not is_statistic(what)
                    else value(what, run)
                )
            except Exception as error:
                raise ElementError(f"measure {name!r}: {told(error)}") from error
        return found


@dataclass(frozen=True, eq=False)
class Rows:
    """Numbers in which runs differ, a row for each; None where they do not."""

    count: int
    parameters: Mapping[str, Floats]
    inputs: Mapping[str, Floats]
    q: Floats | None = None
    u: Floats | None = None
    x: Floats | None = None
    memory: Floats | None = None

    def part(self, first: int, last: int) -> Rows:
        """Return the rows from one to another."""
        return self._cut(slice(first, last), last - first)

    def some(self, which: Sequence[int]) -> Rows:
        """Return rows by their numbers."""
        return self._cut(which, len(which))

    def _cut(self, which: Any, count: int) -> Rows:
        def cut(array: Floats | None) -> Floats | None:
            return None if array is None else array[which]

        return Rows(
            count, {n: x[which] for n, x in self.parameters.items()},
            {n: x[which] for n, x in self.inputs.items()}, cut(self.q), cut(self.u), cut(self.x), cut(self.memory),
        )  # fmt: skip

    def parameters_of(self, k: int) -> dict[str, float]:
        return {name: float(x[k]) for name, x in self.parameters.items()}

    def start(self, mech: Mechanism, k: int, make: Callable[[Mechanism], Any] | None) -> Any:
        """Return the start of run k; None if `simulate` is to find it."""
        if self.q is not None:
            state = mech.state(
                q=self.q[k], u=None if self.u is None else self.u[k], x=None if self.x is None else self.x[k]
            )
            if self.memory is not None:
                state = replace(state, memory=self.memory[k])
        elif make is not None:
            state = make(mech)
        elif self.inputs:
            state = mech.assemble()
        else:
            return None
        return with_inputs(mech, state, {name: float(x[k]) for name, x in self.inputs.items()})


def with_inputs(mech: Mechanism, state: Any, inputs: Mapping[str, float]) -> Any:
    """Return a state with inputs that are held."""
    if not inputs:
        return state
    if not isinstance(state, State):
        t, q, u = (0.0, *state) if len(state) == 2 else state
        state = mech.state(t, q=q, u=u)
    efforts, nx = mech._core.layout.efforts, mech._core.nx
    memory = state.memory.copy() if len(state.memory) else efforts.start[nx:].copy()
    for name, number in inputs.items():
        memory[efforts.held[name] - nx] = number
    x = state.x if len(state.x) == nx else efforts.start[:nx].copy()
    return replace(state, x=x, memory=memory)


def _shaped(given: Any, shape: tuple[int, ...]) -> Any:
    if given is None:
        return np.full(shape, np.nan)
    if np.shape(given) != shape:
        raise TreemechError(
            f"a measure gives numbers of shape {np.shape(given)} in one run, {shape} in another."
        )
    return given


# ---------------------------------------------------------------- other processes
_jobs: OrderedDict[str, Any] = OrderedDict()


def packed(job: Any) -> tuple[str, bytes]:
    """Return a job as bytes, with their digest."""
    try:
        content = pickle.dumps(job)
    except TreemechError:
        raise
    except Exception as error:  # pickle raises many kinds
        try:
            import importlib

            content = importlib.import_module("cloudpickle").dumps(job)
        except Exception:
            raise TreemechError(
                f"the runs cannot be sent to other processes: {error}. Define start and measures at the top of a module, or install "
                "cloudpickle, which sends their code."
            ) from error
    return hashlib.sha256(content).hexdigest(), content


def ready(digest: str, content: bytes) -> str:
    """Make a job known to this worker. Return "", or what it cannot find."""
    try:
        _job(digest, content)
    except ModuleNotFoundError as error:
        return f"there is no module {error.name!r} there"
    except AttributeError as error:
        return str(error)
    except TreemechError as error:
        return str(error)
    return ""


def run_there(digest: str, content: bytes, rows: Any) -> Any:
    """Return the results of a block; the mechanism is built once in every process."""
    return _job(digest, content).block(rows)


def _job(digest: str, content: bytes) -> Any:
    job = _jobs.get(digest)
    if job is None:
        job = pickle.loads(content)
        _jobs[digest] = job
        while len(_jobs) > _MOST:
            _jobs.popitem(last=False)
    return job
