"""Calls of one core by the C extension (native/caller.c): tables of what each analysis sets, calls, checks and returns.

A call reads a plain state, one crossing does the rest. It returns None for everything else; the general way in
Python is then taken, and gives the same numbers to the bit. Without the extension every call returns None.
"""

from collections.abc import Callable, Sequence
from threading import get_ident
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.layout.chords import by_address
from treemech.kinematics.plan.columns import chord, effort, row
from treemech.topology.arrays import address
from treemech.topology.user_code import user_code

from ..equations import watch
from ..model.core import Core
from ..model.trace import N_TRACE
from ..native import entry_points as native
from ..native.caller import caller
from .driven import Driven, driven, key_of

_SINGLE, _TUPLE, _FLOATS, _PAIR = range(4)  # how caller.c returns results
FINITE, AT_MOST, ABOVE = range(3)  # what it checks

_NUMBERS = ("numbers",)  # of a result whose parts are views of one array
_MOST_ENDS = 512  # ends whose calls are kept

One = Callable[..., Any]
Step = tuple[int, bool, tuple[int, ...]]


class Differentials(NamedTuple):
    """What `TreeDerivatives.forward` leaves at one state: speeds in regular order, but for ud."""

    ud: NDArray  # (nu,)
    by: NDArray  # (nu, 2 nu) d ud/d(q, u)
    inverse: NDArray  # (nu, nu)
    by_x: NDArray  # (nu, nx)
    rates: NDArray  # (nx,)
    rates_by: NDArray  # (nx, 2 nu)
    rates_by_x: NDArray  # (nx, nx)


class Kinds(NamedTuple):
    """Classes of a state and of results with several parts: those of the layer above."""

    state: type
    forward_dynamics: type
    constraints: type
    momentum: type
    energy: type
    loads: type
    pose: type
    velocity: type


class States(NamedTuple):
    """What is needed to make states from plain numbers."""

    euler_parameters: tuple[int, ...]  # where they start in q
    rounded: float  # by how much they may miss length 1
    most: float  # numbers by name from here on are looked at more closely
    reference: NDArray[np.float64]  # q if nothing is given
    places: tuple[dict[str, int], dict[str, int]]  # name -> first + 2^32 count, in q and in u
    active: NDArray[np.bool_]
    cut: type | None  # of the motion of cut hinges
    mechanism: Any  # a weak reference, for the cut hinges
    coordinates: Any


class Table(NamedTuple):
    """The call of an analysis: with a kind its results are fields of that, else there is one array."""

    c: Any  # of caller.c: one(state, ...), many(first, last, ...)
    inputs: tuple[NDArray, ...]
    results: tuple[NDArray, ...]
    kind: type | None
    names: tuple[str, ...]  # of the fields, if the numbers of one array are the fields
    near: list[
        tuple[str, int, int]
    ]  # cut hinges that are sought where the state has them: name, address, count

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the results at one state."""
        return [x.shape for x in self.results]


def never(*_: object) -> None:
    """Take the place of a call where there is none."""


class NoCalls:
    """Take the place of calls that were not made yet: they take no state."""

    def __init__(self) -> None:
        self.poses: dict[Any, One] = {}
        self.velocities: dict[Any, One] = {}
        self.jacobians: dict[Any, One] = {}

    def __getattr__(self, name: str) -> One:
        return never

    def end(self, name: str, end: Any) -> One:
        """Return a call that takes no state."""
        return never

    def with_drives(self, actuated: Any, weights: Any, name: Any) -> One:
        """Return a call that takes no state."""
        return never


NO_CALLS = NoCalls()


class Calls:
    """Calls of one core, made when they are first used."""

    forward_dynamics: One
    inverse_dynamics: One
    mass_matrix: One
    load_column: One
    constraints: One
    momentum: One
    energy: One
    reactions: One
    derivatives: One
    state: One

    def __init__(
        self,
        core: Core,
        kinds: Callable[[], Kinds],
        known: list[Any],
        states: Callable[[], States | None],
        place: Callable[[str, Any], tuple[int, NDArray]],
    ) -> None:
        self._core, self._kinds, self._known = core, kinds, known
        self._states, self._place, self._thread = states, place, get_ident()
        self._pack: Pack | None = None
        self._tables: dict[Any, Table | None] = {}
        self.steppers: dict[Any, Any] = {}  # by method and tolerance, made by the layer above
        # calls for one state, by end
        self.poses: dict[Any, One] = {}
        self.velocities: dict[Any, One] = {}
        self.jacobians: dict[Any, One] = {}
        self._seen: set[tuple[str, Any]] = set()  # ends that were asked for
        self._borrowed: dict[tuple[str, int], tuple[NDArray, One]] = {}
        self._driven: dict[Any, One] = {}  # of inverse dynamics, by what the user gave

    def __getattr__(self, name: str) -> One:
        if name == "state":
            one = self._state()
        elif name in _MAKERS:
            table = self.table(name)
            one = self._one(table)
        else:
            raise AttributeError(name)
        setattr(self, name, one)
        return one

    def one(self, name: Any) -> One:
        """Return the call of an analysis for one state."""
        if isinstance(name, Driven):
            return self._one(self.table(name))
        if isinstance(name, tuple):
            return self.end(*name)
        found: One = getattr(self, name) if name in _MAKERS else never
        return found

    def place(self, name: str, end: Any) -> tuple[int, NDArray]:
        """Return the body of an end, and where the end is in it. Refuse what is no end, in the words of an analysis."""
        return self._place(name, end)

    def end(self, name: str, end: Any) -> One:
        """Return the call of `name` (pose, velocity, end_jacobian) for an end, to be taken at once.

        An end has a call of its own from the second time on. The first time it borrows one that all ends of its body share.
        """
        number, place = self._place(name, end)  # refuses what is no end
        if (name, end) not in self._seen:
            if len(self._seen) >= _MOST_ENDS:
                self._seen.clear()
            self._seen.add((name, end))
            borrowed = self._borrowed.get((name, number)) or self._borrow(name, number)
            borrowed[0][:] = place
            return borrowed[1]
        own = {"pose": self.poses, "velocity": self.velocities, "end_jacobian": self.jacobians}[name]
        if len(own) >= _MOST_ENDS:
            own.clear()
            self._tables = {key: table for key, table in self._tables.items() if isinstance(key, str)}
        table = self.table((name, end))
        own[end] = one = self._one(table)
        return one

    def _borrow(self, name: str, number: int) -> tuple[NDArray, One]:
        """Return a call of an end of a body, and the array in which it finds where the end is."""
        place, pack = np.zeros(12), self.pack
        one = self._one(None if pack is None else _end(pack, name, number, place))
        self._borrowed[name, number] = place, one
        return place, one

    def with_drives(self, actuated: Any, weights: Any, name: Callable[[], Any]) -> One:
        """Return the call of inverse dynamics with drives. `name` tells which it is: a `Driven`, or "" for none."""
        try:
            key = key_of(actuated, weights)
            one = self._driven.get(key)
        except TypeError:  # it cannot be looked up
            return never
        if one is None:
            if len(self._driven) >= _MOST_ENDS:
                self._driven.clear()
            self._driven[key] = one = self.one(name())
        return one

    def _one(self, table: "Table | None") -> One:
        """Return the call for one state. Where an element may raise, the general way takes it, which catches that."""
        return never if table is None or self._core.foreign else table.c.one

    def _state(self) -> One:
        """Return the function state(t, q, u)."""
        pack = self.pack
        given = None if pack is None else self._states()
        if pack is None or given is None:
            return never
        maker: One = pack.module.Maker(
            pack.c, given.euler_parameters, given.rounded, given.most, address(pack.keep(given.reference)), *given.places,
            given.active, given.cut, given.mechanism, given.coordinates,
        ).state  # fmt: skip
        return maker

    def table(self, name: Any) -> "Table | None":
        """Return what computes an analysis of one state or of many; None if there is nothing.

        The name of what is computed of an end is a pair: ("pose", end).
        """
        pack = self.pack
        if isinstance(name, Driven):
            if name not in self._tables:
                self._tables[name] = None if pack is None else driven(pack, name)
        elif isinstance(name, tuple):
            number, place = self._place(*name)  # refuses what is no end
            if name not in self._tables:
                self._tables[name] = None if pack is None else _end(pack, name[0], number, place)
        elif name not in self._tables:
            maker = _MAKERS.get(name)
            self._tables[name] = None if pack is None or maker is None else maker(pack)
        return self._tables[name]

    @property
    def pack(self) -> "Pack | None":
        """What all calls have in common; None if the core cannot be called this way."""
        if self._pack is None and (module := caller()) is not None and _is_plain(self._core):
            self._pack = Pack(module, self._core, self._kinds(), self._known, self._thread)
        return self._pack


def _is_plain(core: Core) -> bool:
    """Tell whether one evaluation is all that an analysis takes: nothing in Python, nothing that switches or iterates."""
    if core.interpreted or not core.nu or not core.nq or len(core.layout.plan.composites):
        return False
    if np.any(core.layout.plan.efforts[:, effort.REACTION] >= 0):
        return False
    return core.loops is None or not len(core.loops.plan.unilateral)


class Pack:
    """Arrays for the state of one core, and the tables that fill them."""

    def __init__(self, module: ModuleType, core: Core, kinds: Kinds, known: list[Any], thread: int) -> None:
        self.module, self.core, self.kinds = module, core, kinds
        self.kept: list[Any] = []  # arrays whose addresses are in use
        self.t, self.q, self.u = self.zeros(1), self.zeros(core.nq), self.zeros(core.nu)
        near: list[tuple[str, int, int]] = []
        copies: tuple[tuple[int, int, int], ...] = ()
        if core.loops is not None:
            chords, work = core.layout.chords, core.chord_work
            copies = self.copy(work.q, self.keep(chords.start.copy()))
            copies += self.copy(work.pivot, self.keep(np.full_like(work.pivot, -1)))
            for name, element, index in zip(chords.names, chords.elements, chords.plan.chord, strict=True):
                first, n = int(index[chord.FIRST_Q]), int(index[chord.NQ])
                if n and by_address(element):
                    near.append((name, address(work.q[first:]), n))
        self.near = near
        self.c = module.Pack(
            kinds.state, known, (core.nq, core.nu, core.nx, core.nz),
            (address(self.t), address(self.q), address(self.u), address(core.work.z), address(core.layout.efforts.start)),
            copies, tuple(near), not near, user_code.inside, thread, self.kept,
        )  # fmt: skip

    def keep(self, array: NDArray) -> NDArray:
        self.kept.append(array)
        return array

    def zeros(self, *shape: int) -> NDArray:
        return self.keep(np.zeros(shape))

    def copy(self, to: NDArray, source: NDArray) -> tuple[tuple[int, int, int], ...]:
        """Return the table entry that copies an array before a call."""
        return ((address(to), address(source), to.nbytes),) if to.nbytes else ()

    def step(self, name: str, *arguments: Any, with_time: bool = False) -> Step:
        """Return the table entry of an entry point, or of a step of the extension itself."""
        own = getattr(self.module, name, None)
        values = tuple(address(a) if isinstance(a, np.ndarray) else int(a) for a in arguments)
        return (native.address(name) if own is None else own, with_time, values)

    def call(
        self,
        steps: Sequence[Step],
        results: Sequence[NDArray],
        kind: type | None = None,
        inputs: Sequence[NDArray] = (),
        copies: Sequence[tuple[int, int, int]] = (),
        checks: Sequence[tuple[int, int, int, float]] = (),
        names: tuple[str, ...] = (),
    ) -> Table:
        """Return the call of an analysis."""
        form = _SINGLE if kind is None else _PAIR if names == _NUMBERS else _FLOATS if names else _TUPLE
        self.kept.extend((*results, *inputs))
        c = self.module.Call(
            self.c, tuple(copies), tuple(steps), tuple(checks), tuple((address(a), a.shape) for a in inputs),
            tuple((address(a), a.shape) for a in results), form, kind or object, names,
        )  # fmt: skip
        return Table(c, tuple(inputs), tuple(results), kind, names, self.near)


class _Forward(NamedTuple):
    """Steps of forward dynamics, what must be set before and hold after them, and their arrays."""

    steps: list[Step]
    copies: tuple[tuple[int, int, int], ...]
    checks: list[tuple[int, int, int, float]]
    tau: NDArray
    ud: NDArray
    multipliers: NDArray
    loads: NDArray  # (nc, 6) of the chords


def forward(p: "Pack") -> _Forward:
    core = p.core
    tau, ud = p.zeros(core.nu), p.zeros(core.nu)
    finite = (address(ud), core.nu, FINITE, 0.0)
    if core.loops is None:
        step = p.step("forward_dynamics", 1, p.t, p.q, p.u, tau, ud, core.context_address)
        return _Forward([step], (), [finite], tau, ud, p.zeros(0), p.zeros(0, 6))
    from ..model.loops import OPEN, REGULAR

    loops, cut = core.loops, p.zeros(len(core.chord_work.q))
    multipliers, residual, n_cut = p.zeros(loops.n_rows), p.zeros(3), len(core.chord_work.u)
    loads, cut_motion = p.zeros(len(core.layout.chords.plan.chord), 6), (p.zeros(n_cut), p.zeros(n_cut))
    rest = (p.zeros(core.nu), p.zeros(len(core.work.effort_records)))
    before, after, pivot = p.zeros(watch.STAGE_PIVOTS), p.zeros(1), loops.work.monitor[watch.LAST_PIVOT :]
    before[watch.LARGEST_PIVOT] = 1e300  # always refine
    made = (ud, multipliers, residual, *cut_motion, loads, *rest, loops.context)
    steps = [
        p.step("loop_dynamics", 1, p.t, p.q, p.u, cut, tau, 0, *made),
        p.step("gather", 1, after, 1, loops.work.monitor[watch.LARGEST_PIVOT :]),
    ]
    copies = (
        *p.copy(loops.work.monitor[: len(before)], before), *p.copy(cut, p.keep(np.full_like(cut, np.nan))),
        *p.copy(loops.work.masked, p.keep(np.zeros_like(loops.work.masked))),
    )  # fmt: skip
    checks = [finite, (address(residual), 1, AT_MOST, OPEN), (address(pivot), 1, ABOVE, REGULAR)]
    return _Forward(steps, copies, checks, tau, ud, multipliers, loads)


def _forward_dynamics(p: "Pack") -> Table:
    f = forward(p)
    return p.call(f.steps, (f.ud, f.multipliers), p.kinds.forward_dynamics, (f.tau,), f.copies, f.checks)


def _reactions(p: "Pack") -> Table:
    """Return motion of the bodies with hinge loads, loads of the chords, multipliers."""
    core, f = p.core, forward(p)
    trace, tau = p.zeros(core.rows, N_TRACE), p.zeros(core.nu)
    steps = [*f.steps, p.step("trace", 1, p.t, p.q, p.u, f.ud, tau, trace, core.context_address)]
    if core.loops is not None:
        ends = [p.keep(x) for x in core.chord_ends]
        steps.append(p.step("carry_chord_loads", 1, f.loads, trace, len(ends[0]), *ends, core.rows))
    copies = (*f.copies, *p.copy(f.tau, p.zeros(core.nu)))
    return p.call(steps, (trace, f.loads, f.multipliers), p.kinds.loads, (), copies, f.checks)


def _momentum(p: "Pack") -> Table:
    out = p.zeros(6)
    step = p.step("momentum", 1, p.t, p.q, p.u, out, p.core.context_address)
    return p.call([step], (out,), p.kinds.momentum, names=_NUMBERS)


def _energy(p: "Pack") -> Table:
    places, out = p.keep(p.core.energy_places), p.zeros(3)
    step = p.step("energy", 1, p.t, p.q, p.u, len(places), places, out, p.core.context_address)
    return p.call([step], (out,), p.kinds.energy, names=("kinetic", "potential", "stored"))


def _end(p: "Pack", name: str, number: int, place: NDArray) -> Table:
    """Return pose, velocity or Jacobian of an end of a body."""
    out = p.zeros({"pose": 12, "velocity": 6}.get(name, 6 * p.core.nu))
    step = p.step(name, 1, p.t, p.q, p.u, number, p.keep(place), out, p.core.context_address)
    if name == "end_jacobian":
        return p.call([step], (out.reshape(6, p.core.nu),))
    kind = p.kinds.pose if name == "pose" else p.kinds.velocity
    return p.call([step], (out,), kind, names=_NUMBERS)


def _inverse_dynamics(p: Pack) -> Table | None:
    if len(p.core.layout.chords.rows):  # the prescribed speeds are driven
        held = tuple(np.flatnonzero(~p.core.free_speeds()).tolist())
        return driven(p, Driven(held, (1.0,) * len(held))) if held else None
    ud, tau = p.zeros(p.core.nu), p.zeros(p.core.nu)
    step = p.step("inverse_dynamics", 1, p.t, p.q, p.u, ud, tau, p.core.context_address)
    return p.call([step], (tau,), inputs=(ud,))


def _load_column(p: Pack) -> Table:
    rest, tau = p.zeros(p.core.nu), p.zeros(p.core.nu)
    step = p.step("inverse_dynamics", 1, p.t, p.q, p.u, rest, tau, p.core.context_address)
    return p.call([step, p.step("negate", p.core.nu, tau)], (tau,))


def _mass_matrix(p: Pack) -> Table:
    nu = p.core.nu
    lower, full, zero = p.zeros(nu, nu), p.zeros(nu, nu), p.zeros(nu, nu)
    rest, order = p.zeros(nu), p.keep(p.core.public_order.copy())
    steps = [
        p.step("mass_matrix", 1, p.t, p.q, rest, lower, p.core.context_address),
        p.step("symmetric", nu, lower, order, full),
    ]
    return p.call(steps, (full,), copies=p.copy(lower, zero))


def _constraints(p: Pack) -> Table:
    core = p.core
    rest, tau = p.zeros(core.nu), p.zeros(core.nu)
    if core.loops is None:
        step = p.step("inverse_dynamics", 1, p.t, p.q, p.u, rest, tau, core.context_address)
        none = p.zeros(0)
        return p.call([step], (none, p.zeros(0, core.nu), none, none, tau), p.kinds.constraints)
    m, work, places = core.loops.n_rows, core.chord_work, core.entry_places
    P, flat = p.zeros(m, core.nu), p.keep(places[0] * core.nu + places[1])
    residual, velocity, bias = (p.zeros(m) for _ in range(3))
    levels = ((row.POSITION, residual), (row.VELOCITY, velocity), (row.BIAS, bias))
    steps = [
        p.step("constraints", p.q, p.u, rest, tau, core.chord_context, with_time=True),
        p.step("scatter", len(flat), work.partials, flat, P),
        *(p.step("gather", m, work.row.reshape(-1)[at:], row.N_COLUMNS, to) for at, to in levels),
    ]
    return p.call(steps, (residual, P, velocity, bias, tau), p.kinds.constraints)


def _derivatives(p: Pack) -> Table | None:
    """Return the derivatives of forward dynamics of a tree, in a workspace of their own."""
    core = p.core
    if core.loops is not None or core.foreign:
        return None
    from ..model.tree_derivatives import TreeDerivatives

    work, rates = TreeDerivatives(core), core.work.zd[: core.nx]
    work.read_from(p.q, p.u)
    p.kept.append(work)
    results = Differentials(work.ud, work.out, work.inverse, work.ud_x, rates, work.rates, work.rates_x)
    return p.call(
        [p.step("derivatives", 1, work.address, with_time=True)],
        results,
        Differentials,
        (work.tau,),
        checks=[(address(work.ud), core.nu, FINITE, 0.0)],
    )


_MAKERS: dict[str, Callable[[Pack], Table | None]] = {
    "forward_dynamics": _forward_dynamics,
    "inverse_dynamics": _inverse_dynamics,
    "mass_matrix": _mass_matrix,
    "load_column": _load_column,
    "constraints": _constraints,
    "momentum": _momentum,
    "energy": _energy,
    "reactions": _reactions,
    "derivatives": _derivatives,
}
