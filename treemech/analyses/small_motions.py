"""Exact derivatives and linearization of a Mechanism by the user's names."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.calls.calls import Differentials
from treemech.dynamics.model.inertia_check import refuse_weightless
from treemech.topology.arrays import Floats

from ..description.parameters import directions
from ..results.naming import as_names, as_place
from ..results.run import Run
from ..results.state import State
from .contacts import contacts
from .cut_hinges import connection_names, cut_partials, cut_speed_names, not_cut
from .states import as_rows, left_free, loads_on_speeds, unpack

if TYPE_CHECKING:
    from treemech.dynamics.analyses.derivatives import Derivatives
    from treemech.dynamics.analyses.linearization import CutSpeeds, Linearization
    from treemech.dynamics.analyses.modes import Mover
    from treemech.dynamics.model.tree_derivatives import TreeDerivatives

    from ..mechanism import Mechanism


def derivatives(
    mech: "Mechanism",
    state: State | tuple[Any, ...],
    loads: Any = None,
    parameters: Sequence[str] = (),
    threads: int | None = None,
) -> "Derivatives":
    """Return accelerations, multipliers and their derivatives, see `Mechanism.derivatives`.

    A tree without inputs and parameters takes one call of the compiled core, for many states too.
    """
    parameters = as_names(parameters, "derivatives: parameters")
    if not parameters and mech._fast.table("derivatives") is not None and not element_inputs(mech):
        quick = mech._home.derivatives(state, loads)
        if quick is None:
            quick = mech._general("derivatives", _differentials, state, (loads,), None, threads)
        return _named(mech, quick)
    found: Derivatives = mech._general(
        "", partial(_derivatives, parameters=parameters), state, (loads,), None, threads
    )
    return found


def _derivatives(
    mech: "Mechanism", state: State | tuple[Any, ...], loads: Any, parameters: Sequence[str]
) -> "Derivatives":
    from treemech.dynamics.analyses.derivatives import derivatives as differentiate

    workspace = derivative_workspace(mech)
    tau, by = loads_on_speeds(mech, loads), directions(mech, parameters)
    with ready(mech, state, "derivatives", tau) as (t, q, u):
        return differentiate(mech._core, workspace, t, q, u, tau, None, element_inputs(mech), by)


def _differentials(mech: "Mechanism", state: State | tuple[Any, ...], loads: Any) -> Differentials:
    """Return the derivatives of a tree as its workspace holds them."""
    work, tau = derivative_workspace(mech), loads_on_speeds(mech, loads)
    with ready(mech, state, "derivatives", tau) as (t, q, u):
        work.forward(t, q, u, tau)
        if not np.all(np.isfinite(work.ud)):
            refuse_weightless(mech._core, t, q)
    rates = mech._core.work.zd[: mech._core.nx]
    held = (work.ud, work.out, work.inverse, work.ud_x, rates, work.rates, work.rates_x)
    return Differentials(*(array.copy() for array in held))


def _named(mech: "Mechanism", found: Differentials) -> "Derivatives":
    """Return derivatives in the public order, of what a workspace held at one state or at many."""
    from treemech.dynamics.analyses.derivatives import Derivatives

    ud, by, inverse, by_x, rates, rates_by, rates_by_x = found
    n, nx, order, lead = mech.nu, mech._core.nx, derivative_workspace(mech).order, ud.shape[:-1]
    if order is not None:
        n_first = np.concatenate((order, n + order))
        by, inverse = by[..., order, :][..., n_first], inverse[..., order, :][..., order]
        by_x, rates_by = by_x[..., order, :], rates_by[..., n_first]
    none, of_rows, columns = _empty((*lead, 0)), _empty((*lead, 0, n)), _empty((*lead, n, 0))
    no_x, x_columns = _empty((*lead, 0, nx)), _empty((*lead, nx, 0))
    x_load, none2 = np.zeros((*lead, nx, n)) if nx else of_rows, _empty((*lead, 0, 0))
    return Derivatives(
        ud, none, by[..., :n], by[..., n:], inverse, of_rows, of_rows, of_rows, by_x, no_x, rates, rates_by[..., :n],
        rates_by[..., n:], rates_by_x, x_load, (), columns, none2, x_columns, columns, none2, x_columns,
    )  # fmt: skip


@lru_cache(64)
def _empty(shape: tuple[int, ...]) -> Floats:
    """Return an array without numbers, which all results may share."""
    return np.zeros(shape)


def linearize(
    mech: "Mechanism",
    state: State | tuple[Any, ...],
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    hold: Sequence[str] = (),
    loads: Any = None,
    coordinates: Sequence[str] | None = None,
) -> "Linearization":
    """Linearize the motion about a state, see `Mechanism.linearize`."""
    from treemech.dynamics.analyses.linearization import linearize as linearized

    known = element_inputs(mech)
    acting: list[int | str] | None = None
    if inputs is not None:
        acting = []
        for name in as_names(inputs, "linearize: inputs"):
            acting.extend([name] if name in known else _all_numbers(mech, [name]))
    seen = None if outputs is None else _all_numbers(mech, as_names(outputs, "linearize: outputs"))
    wanted = (
        None if coordinates is None else _all_numbers(mech, as_names(coordinates, "linearize: coordinates"))
    )
    held = None
    hold = as_names(hold, "linearize: hold")
    if hold:
        held = np.zeros(mech.nu, dtype=bool)
        held[speed_numbers(mech, hold)] = True
    workspace = derivative_workspace(mech)
    tau = loads_on_speeds(mech, loads)
    with ready(mech, state, "linearize", tau) as (t, q, u):
        cut = cut_speeds(mech, t, q)
        found = linearized(mech._core, workspace, t, q, u, held, acting, seen, tau, known, cut, wanted)
    return replace(
        found, mover=mover(mech, q.copy(), cut=mech._core.chord_work.q.copy(), z=mech._core.work.z.copy())
    )


def mover(mech: "Mechanism", q: Floats, cut: Floats, z: Floats) -> "Mover":
    """Return a function that makes a run of small motions about the position q."""

    def moving(t: Floats, steps: Floats, speeds: Floats) -> Run:
        from treemech.dynamics.analyses.displacement import displaced

        from .evaluation import results_of_states

        core, n = mech._core, len(t)
        path = displaced(core, np.tile(q, (n, 1)), steps)
        if core.loops is not None:
            closed = [closed_again(mech, time, *state) for time, *state in zip(t, path, speeds, strict=True)]
            path, speeds = (np.array([state[k] for state in closed]) for k in (0, 1))
        return Run(
            mech._info, t, path, speeds, True, "a mode of small motions", "mode", {"steps": n - 1},
            lambda *states: results_of_states(mech, *states), None, np.tile(cut, (n, 1)), np.tile(z[: core.nz], (n, 1)),
            core=lambda: mech._core,
        )  # fmt: skip

    return moving


def closed_again(mech: "Mechanism", t: float, q: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Return the closed position next to q, and the speeds next to u that the chains allow there."""
    from treemech.kinematics.closure import close_positions, close_velocities

    from .constraints import holonomic, size

    core, free = mech._core, mech._core.free_speeds()
    rows, evaluate = core.layout.chords.rows, holonomic(mech, float(t))
    q = close_positions(mech._lagrange, evaluate, rows, q, free, size(mech))
    return q, close_velocities(partial(core.constraints, float(t)), rows, q, u, free)


def derivative_workspace(mech: "Mechanism") -> "TreeDerivatives":
    """Return the workspace for exact derivatives, made once in every thread."""
    return mech._workspaces.own.derivatives


def element_inputs(mech: "Mechanism") -> dict[str, list[tuple[int, int]]]:
    """Return for every input by name the elements that take it: (number of the element, number of its input)."""
    found: dict[str, list[tuple[int, int]]] = {}
    wiring, find = mech._wiring, mech._core.layout.efforts.find
    known = {*wiring.inputs, *wiring.held()}
    takers = [(e.name, e.element, e.inputs) for e in wiring.elements.values()]
    takers += [
        (f"{c.name}.{part.name}", part.element, part.inputs)
        for c in wiring.composites.values()
        for part in c.composite.parts
    ]
    for name, element, given in takers:
        for k, own in enumerate(getattr(element, "input_names", ())):
            if not isinstance(given[own], str):
                found.setdefault(f"{name}.{own}", []).append((find(name), k))
            elif given[own] in known:
                found.setdefault(given[own], []).append((find(name), k))
    return found


def chosen(mech: "Mechanism", state: State | tuple[Any, ...], what: str) -> tuple[float, Floats, Floats]:
    """Return t, q, u of a state; its independent rows are chosen and its cut hinges are in place."""
    if mech._core.loops is None:
        t, q, u = unpack(mech, state, what)
        return float(t), q, u
    times, qs, us = as_rows(mech, state, what)
    mech._core.loops.choose(float(times[0]), qs[0], us[0])
    unpack(mech, state, what)
    return float(times[0]), qs[0], us[0]


@contextmanager
def ready(
    mech: "Mechanism", state: State | tuple[Any, ...], what: str, loads: Floats | None
) -> Iterator[tuple[float, Floats, Floats]]:
    """Yield `chosen`; within the context unilateral constraints that are open are released."""
    with contacts(mech, *unpack(mech, state, what), loads):
        yield chosen(mech, state, what)


def cut_speeds(mech: "Mechanism", t: float, q: Floats) -> "CutSpeeds | None":
    """Return how the speeds of cut hinges follow from those of the tree, at their present position."""
    from treemech.dynamics.analyses.linearization import CutSpeeds

    if mech._core.loops is None:
        return None
    work = mech._core.chord_work
    near = work.q.copy()
    V = cut_partials(mech._core, t, q)
    work.q[:] = near
    return CutSpeeds(cut_speed_names(mech), V)


def _all_numbers(mech: "Mechanism", names: Sequence[str]) -> list[int]:
    """Return `speed_numbers`; the speeds of cut hinges are numbered after those of the tree."""
    speeds, connections, found = cut_speed_names(mech), connection_names(mech), list[int]()
    for name in names:
        own = [k for k, n in enumerate(speeds) if name in (n, as_place(n, connections).owner)]
        found += [mech.nu + k for k in own] or speed_numbers(mech, [name])
    return found


def speed_numbers(mech: "Mechanism", names: Sequence[str]) -> list[int]:
    """Return the numbers of the speeds with these names, in their order; a hinge means all of its speeds."""
    not_cut(mech, names)
    return [int(k) for name in names for k in np.flatnonzero(~left_free(mech, {name: None}, driven=False))]
