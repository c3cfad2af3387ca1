"""Batch: many motions of one mechanism, in arrays with a row for each, stepped together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treemech.dynamics.calls.row_steps import RowSteps
from treemech.dynamics.calls.steps import EXPLICIT
from treemech.topology import ElementError, TopologyError, TreemechError, unknown
from treemech.topology.arrays import Floats
from treemech.topology.body import as_number

from ..calls.rows import Rows, leading_axes, row_of, shared
from ..results.naming import as_place
from ..results.state import State
from ..simulation.simulate import tolerances
from .row_numbers import RowNumbers

if TYPE_CHECKING:
    from ..mechanism import Mechanism


_EVALUATIONS = 4  # of forward dynamics in a step, or more


class Part:
    """Columns of a batch that belong to one connection: live views, (B,) of one number, else (B, n)."""

    def __init__(self, name: str, q: Floats, u: Floats | None) -> None:
        self.name, self.q, self._u = name, q, u

    @property
    def u(self) -> Floats:
        """Speeds."""
        if self._u is None:
            raise ElementError(
                f"batch: {self.name!r} is a cut hinge, its speeds follow from the others: forward with mech.state, or "
                "build with role='branch' for it."
            )
        return self._u

    def __repr__(self) -> str:
        return f"Part({self.name!r}, q {self.q.shape})"


class Batch:
    """Motions of one mechanism, one in every row. Made by `Mechanism.batch`.

    Attributes
    ----------
    t, q, u, x : arrays (B,), (B, nq), (B, nu), (B, nx)
        Live views: what is written there is where the next step starts. Chains that are written open are
        refused by the step, as a failed row.
    inputs : dict of arrays (B,)
        Inputs declared without a signal, ``system.input("torque")``, by name; they hold until they are written
        again.
    parameters : dict of arrays (B,)
        Parameters of the mechanism by name, each row with its own values.
    failed : dict
        Rows that failed, and why; they stay where they were until `reset`.

    ``batch["A"].q`` and ``.u`` are the columns of a connection.
    """

    def __init__(
        self,
        mech: Mechanism,
        size: int,
        state: State | tuple[Any, ...] | None = None,
        method: str = "RK4",
        rtol: float = 1e-6,
        atol: Any = None,
        threads: int | None = None,
    ) -> None:
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise TreemechError(f"batch: the number of rows is {size!r}; wanted a whole number from 1.")
        if method not in EXPLICIT:
            raise TreemechError(f"batch: method is {method!r}; wanted one of {', '.join(EXPLICIT)}.")
        if not (isinstance(rtol, int | float) and 0.0 < rtol < 1.0):
            raise TreemechError(f"batch: rtol is {rtol!r}; wanted a number between 0 and 1.")
        self._mech, self.method, self._rtol, self._atol, self._threads = mech, method, rtol, atol, threads
        core = mech._core
        nq, nu, nx, nz = core.nq, core.nu, core.nx, core.nz
        self._y = np.zeros((int(size), nq + nu + nz + core.n_cut))
        self._aim = np.zeros((int(size), 3))
        self.t, self.q, self.x = self._aim[:, 0], self._y[:, :nq], self._y[:, nq + nu : nq + nu + nx]
        self._memory, self._cut = self._y[:, nq + nu + nx : nq + nu + nz], self._y[:, nq + nu + nz :]
        # speeds that go with Euler parameters are kept in another base in y
        turned = any(c.hinge.euler_parameters is not None and c.forward for c in core.coordinates.hinges)
        self.u = np.zeros((int(size), nu)) if turned else self._y[:, nq : nq + nu]
        self._seen = (np.zeros((int(size), nq)), np.zeros((int(size), nu))) if turned else None
        held = core.layout.efforts.held
        self.inputs: Mapping[str, Floats] = _Named(
            {name: self._y[:, nq + nu + at] for name, at in held.items()}, "input"
        )
        self.failed: dict[int, str] = {}
        self._dt = 0.0  # of the step that is taken
        self._steps: dict[int, RowSteps] = {}
        self._plain = is_plain(mech)
        self._numbers: RowNumbers | None = None
        self._start = mech.assemble() if state is None else state
        self.reset(None, self._start)

    def __len__(self) -> int:
        return len(self._y)

    def __repr__(self) -> str:
        return f"Batch({len(self)} of {self._mech.name!r}, {self.method}{f', {len(self.failed)} failed' if self.failed else ''})"

    @property
    def parameters(self) -> Mapping[str, Floats]:
        """Parameters by name, (B,) each."""
        if self._numbers is None:
            self._numbers = RowNumbers(self._mech, len(self))
            self._steps.clear()
        return _Named(self._numbers.values, "parameter")

    def __getitem__(self, name: str) -> Part:
        mech = self._mech
        for h in mech._info.hinges:
            if h.name == name:
                q, u = self.q[:, h.q : h.q + h.nq], self.u[:, h.u : h.u + h.nu]
                return Part(name, q[:, 0] if h.nq == 1 else q, u[:, 0] if h.nu == 1 else u)
        for c in mech._info.chords:
            if c.name == name and c.nq:
                q = self._cut[:, c.q : c.q + c.nq]
                return Part(name, q[:, 0] if c.nq == 1 else q, None)
        known = [*(h.name for h in mech._info.hinges), *(c.name for c in mech._info.chords if c.nq)]
        raise TopologyError(unknown("connection", as_place(str(name), set(known)).owner, known))

    # ------------------------------------------------------------ states
    def reset(self, rows: Any = None, state: State | tuple[Any, ...] | None = None) -> None:
        """Bring rows (numbers, a mask, a slice; default: all) to a state, or to states, one for each.

        Default: the state the batch began with. Rows that had failed take part again.
        """
        try:
            which = np.atleast_1d(
                np.arange(len(self))[
                    slice(None) if rows is None else np.asarray(rows) if np.ndim(rows) else rows
                ]
            )
        except IndexError as error:
            raise ElementError(f"batch: there are {len(self)} rows, 0 to {len(self) - 1}: {error}.") from None
        mech, core = self._mech, self._mech._core
        given = self._start if state is None else state
        lead = leading_axes(given)
        if lead is not None:
            if lead != which.shape and not (state is None and lead == (len(self),)):
                raise ElementError(f"batch: {len(which)} rows are reset to states with leading axes {lead}.")
            found = Rows.of(mech, given, lead, (), "batch").state
            states = [
                row_of(found, lead, k) for k in (which.tolist() if state is None else range(len(which)))
            ]
        else:
            if not isinstance(given, State):
                if not isinstance(given, tuple) or len(given) not in (2, 3):
                    raise ElementError(f"batch: {given!r} is no state; wanted a State, (q, u) or (t, q, u).")
                t, q, u = (0.0, *given) if len(given) == 2 else given
                given = mech.state(t, q=q, u=u)
            states = [given]
        one = len(states) == 1
        for k, own in zip([which] if one else which.tolist(), states, strict=True):
            self._write(k, own, core)
        for row in which.tolist():
            self.failed.pop(row, None)

    def _write(self, k: Any, state: State, core: Any) -> None:
        from ..analyses.states import as_rows

        t, q, u = as_rows(
            self._mech, state, "batch"
        )  # refuses wrong sizes; z and cut hinges are in the core then
        self.t[k] = t[0]
        self._y[k] = core.pack(q[0], u[0], core.work.z[: core.nz], core.chord_work.q)
        if self._seen is not None:
            self.u[k] = u[0]
            self._seen[0][k], self._seen[1][k] = self.q[k], self.u[k]

    def state(self, row: int) -> State:
        """Return the state of a row."""
        from ..analyses.cut_hinges import CutMotion

        mech, t, q, u = self._mech, float(self.t[row]), self.q[row].copy(), self.u[row].copy()
        cut: Any = CutMotion(mech, t, q, u, self._cut[row].copy()) if mech._info.chords else {}
        return State(
            t, q, u, self.x[row].copy(), self._memory[row].copy(), coordinates=mech._lagrange, cut=cut
        )

    # ------------------------------------------------------------ steps
    def step(self, dt: float, n: int = 1) -> Batch:
        """Move all rows on by dt, n times. A row has then what ``mech.step(batch.state(row), dt)`` gives.

        That is to the bit in trees, to rounding in closed chains. It does not depend on other rows or on threads, to the bit.

        A row that fails keeps its state and is named in `failed`; the others go on.
        """
        dt = as_number(dt, "dt")
        if not (np.isfinite(dt) and dt > 0.0):
            raise TreemechError(f"dt is {dt!r}; wanted a positive time [s].")
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise TreemechError(f"batch: the number of steps is {n!r}; wanted a whole number from 0.")
        for _ in range(n):
            self._step(dt)
        return self

    def _step(self, dt: float) -> None:
        if self._numbers is not None:
            before = self._numbers.version
            self.failed.update(self._numbers.refresh(self.failed))
            if self._numbers.version != before:
                self._steps.clear()
        if self._seen is not None:
            self._pack_changed()
        aim, self._dt = self._aim, dt
        np.add(aim[:, 0], dt, out=aim[:, 1])
        aim[:, 2] = 0.0
        if self.method == "RK4":
            np.subtract(aim[:, 1], aim[:, 0], out=aim[:, 2])
        self._skipped = sorted(self.failed)
        shared(self._compute, len(self), self._threads, _EVALUATIONS * len(self) * self._mech.nu)
        if self.failed:
            moved = np.ones(len(self), dtype=bool)
            moved[list(self.failed)] = False
            np.copyto(aim[:, 0], aim[:, 1], where=moved)
        else:
            aim[:, 0] = aim[:, 1]
        if self._seen is not None:
            self._seen[0][:], self._seen[1][:] = self.q, self.u

    def _compute(self, first: int, last: int) -> None:
        """Move rows on, in this thread."""
        steps = self._own_steps() if self._plain else None
        for k in self._skipped:
            if first <= k < last:
                self._stretch(steps, first, k)
                first = k + 1
        self._stretch(steps, first, last)

    def _stretch(self, steps: RowSteps | None, first: int, last: int) -> None:
        """Move rows on: on lanes, those that are left one by one."""
        left = None
        if steps is not None:
            table = None if self._numbers is None else self._numbers.table
            left = steps.on_lanes(first, last, self._aim, self._dt, self._y, self.u, table)
        if left is None:
            self._one_by_one(steps, first, last)
            return
        for k in left:
            self._one_by_one(steps, k, k + 1)

    def _one_by_one(self, steps: RowSteps | None, first: int, last: int) -> None:
        while first < last:
            if steps is not None:
                first = steps.take(
                    first,
                    last,
                    self._aim,
                    self._y,
                    self.u,
                    None if self._numbers is None else self._numbers.table,
                )
            if first < last:
                self._alone(first)
                first += 1

    def _alone(self, k: int) -> None:
        """Move one row on as `Mechanism.step` does: it passes singular positions, and names what is wrong."""
        mech, aim = self._mech, self._aim
        start, end = float(aim[k, 0]), float(aim[k, 1])
        try:
            if not (np.isfinite(self._y[k]).all() and np.isfinite(self.u[k]).all()):
                raise ElementError("the state has numbers that are not finite.")
            own = mech if self._numbers is None else self._numbers.mechanism(k)
            after = own.step(self.state(k), end - start, None, self.method, self._rtol, self._atol)
        except (TreemechError, ArithmeticError) as error:
            self.failed[k] = f"t = {start:.9g} s: {error}"
            return
        self._write_after(k, after)

    def _write_after(self, k: int, after: State) -> None:
        t = self._aim[k].copy()
        self._write(k, after, self._mech._core)
        self._aim[k] = t  # the time of all rows moves on together

    def _own_steps(self) -> RowSteps:
        """Return the steps of this thread."""
        from threading import get_ident

        mine = get_ident()
        found = self._steps.get(mine)
        if found is None:
            spaces = self._mech._workspaces.by_depth
            core = spaces.make()
            atol = tolerances(self._mech, self._atol, self._rtol)
            rtol = max(self._rtol, 100 * np.finfo(float).eps)
            numbers = None if self._numbers is None else self._numbers.of(core)
            found = self._steps[mine] = RowSteps(core, spaces.calls(core), self.method, rtol, atol, numbers)
        return found

    def _pack_changed(self) -> None:
        """Bring what was written to q and u into y, where y has other numbers."""
        assert self._seen is not None
        q, u = self._seen
        changed = np.flatnonzero((self.q != q).any(axis=1) | (self.u != u).any(axis=1))
        core = self._mech._core
        for k in changed.tolist():
            rest = core.unpack(self._y[k])
            self._y[k] = core.pack(self.q[k].copy(), self.u[k].copy(), rest.z, rest.cut)


class _Named(Mapping[str, NDArray[np.float64]]):
    """Arrays by name, with a hint where a name is wrong."""

    def __init__(self, arrays: Mapping[str, Floats], what: str) -> None:
        self._arrays, self._what = arrays, what

    def __getitem__(self, name: str) -> Floats:
        try:
            return self._arrays[name]
        except KeyError:
            raise TopologyError(unknown(self._what, name, self._arrays)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


def is_plain(mech: Mechanism) -> bool:
    """Tell whether plain steps are all that rows take; else every row goes the way of `Mechanism.step`."""
    core = mech._core
    breaks = any(len(signal.breaks) for signal in core.layout.signals)
    return not (
        breaks
        or core.interpreted
        or mech._wiring.controllers
        or core.remembers
        or len(core.layout.plan.points)
    )
