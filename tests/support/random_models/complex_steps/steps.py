"""Derivatives of the equations of motion along one random direction, by one evaluation on complex numbers."""

from typing import Any, NamedTuple

import numpy as np

from treemech.analyses.small_motions import ready
from treemech.dynamics.entries.table import ENTRIES
from treemech.dynamics.equations import watch
from treemech.kinematics.kernel.language import ints
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.layout.plan_derivatives import numbers_of
from treemech.kinematics.plan.arrays import N_CONTEXT
from treemech.kinematics.plan.columns import row
from treemech.kinematics.tree.sweep import coordinate_rates
from treemech.results.state import State

from ..blueprint import Blueprint
from . import memory
from .number import NUMBERS, STEP, Number


class Along(NamedTuple):
    """A direction in the state and the loads, and the derivatives along it."""

    displacement: Any  # (nu,) as the speeds measure it
    speeds: Any  # (nu,)
    x: Any  # (nx,) states of elements
    loads: Any  # (nu,) on the speeds
    parameter: float  # 0 without one
    ud: Any  # (nu,) derivative of the accelerations
    multipliers: Any  # (m,)
    x_rates: Any  # (nx,)
    ud_here: Any  # (nu,) the accelerations themselves


def derivative(recipe: Any, numbers: dict[str, Any], seed: int) -> Along:
    """Return the derivatives of a mechanism at a state along a direction that keeps its chains closed."""
    mech = Blueprint(recipe).mech
    state = State(**numbers, coordinates=mech._lagrange)
    with ready(mech, state, "derivatives", None) as (t, q, u):
        core, rng = mech._core, np.random.default_rng(seed)
        free = core.free_speeds()
        v, w, tau = (free * rng.normal(size=core.nu) for _ in range(3))
        x = rng.normal(size=core.nx)
        change = _Change(v, w, x, tau, *_by_mass(mech, rng) if recipe.parameters else (0.0, {}))
        if core.loops is None:
            return _tree(core, t, q, u, change)
        chosen = core.loops.kept[core.loops.work.masked[: core.loops.n_kept] == 0]
        P = core.constraints(t, q, u).partials[chosen][:, free]
        v[free] -= np.linalg.lstsq(P, P @ v[free], rcond=1e-9)[0]
        _, opening = _closed(core, t, q, u, change)
        w[free] -= np.linalg.lstsq(P, opening[chosen], rcond=1e-9)[0]
        return _closed(core, t, q, u, change)[0]


class _Change(NamedTuple):
    """What changes: the first five of `Along`, and derivatives of the numbers of the Plan, by array."""

    displacement: Any
    speeds: Any
    x: Any
    loads: Any
    parameter: float
    plan: dict[str, Any]


def _by_mass(mech: Any, rng: Any) -> tuple[float, dict[str, Any]]:
    """Return a change of the mass, and that of the numbers of the Plan, which are linear in it: no step is too large."""
    size, mass = float(rng.normal()), float(mech.parameters["mass"])
    own, other = (numbers_of(m._core.layout) for m in (mech, mech.with_parameters(mass=2.0 * mass)))
    return size, {
        name: size * (other[name] - own[name]) / mass for name in ("constants", "places", "end_points")
    }


def _moving(core: Any, q: Any, v: Any) -> Any:
    """Return the rates of the coordinates at speeds v."""
    rates, speeds = np.zeros(core.nq), v.copy()
    coordinate_rates(ints(core.context_address, N_CONTEXT), q, speeds, rates)
    return rates


def _tree(core: Any, t: float, q: Any, u: Any, change: _Change) -> Along:
    given = (np.array([t]), q, u, np.zeros(core.nu), np.zeros(core.nu))
    with_steps = (
        np.zeros(1),
        _moving(core, q, change.displacement),
        change.speeds,
        change.loads,
        np.zeros(core.nu),
    )
    numbers, own = _run(core, "forward_dynamics", given, with_steps, (), core.context_address, change)
    ud = numbers[4]
    return Along(
        *change[:5], steps_of(ud), np.zeros(0), steps_of(own.of(core.work.zd)[: core.nx]), values_of(ud)
    )


def _closed(core: Any, t: float, q: Any, u: Any, change: _Change) -> tuple[Along, Any]:
    """Return the derivatives, and those of the speeds at which the constraints open."""
    loops, cut, n = core.loops, core.chord_work, core.nu
    nc, elements = len(core.layout.chords.plan.chord), len(core.work.effort_records)
    # as `Loops.solve` does, on the rows that were chosen
    loops.work.monitor[[watch.GAIN, watch.PARTITIONED]] = 0.0
    largest, loops.work.monitor[watch.LARGEST_PIVOT] = loops.work.monitor[watch.LARGEST_PIVOT], 1e300
    given = (
        np.array([t]), q, u, cut.q.copy(), np.zeros(n), np.zeros(n), np.zeros(loops.n_rows), np.zeros(3),
        np.zeros(len(cut.u)), np.zeros(len(cut.u)), np.zeros((nc, 6)), np.zeros(n), np.zeros(elements),
    )  # fmt: skip
    with_steps = [np.zeros(array.shape) for array in given]
    with_steps[1], with_steps[2], with_steps[4] = (
        _moving(core, q, change.displacement),
        change.speeds,
        change.loads,
    )
    numbers, own = _run(
        core, "loop_dynamics", given, with_steps, (5, loops.selected), memory.address(loops.context), change
    )
    loops.work.monitor[watch.LARGEST_PIVOT] = largest
    opening = steps_of(own.of(core.chord_work.row)[:, row.VELOCITY])
    ud, multipliers = numbers[5], numbers[6]
    found = Along(
        *change[:5],
        steps_of(ud),
        steps_of(multipliers),
        steps_of(own.of(core.work.zd)[: core.nx]),
        values_of(ud),
    )
    return found, opening


def _run(
    core: Any, name: str, given: Any, with_steps: Any, more: Any, context: int, change: _Change
) -> tuple[list[Any], memory.Memory]:
    """Run an entry point on numbers with steps. `more` = (k, value) is an argument before the k-th array."""
    own = memory.Memory(core)
    numbers = [own.add(np.ascontiguousarray(array)) for array in given]
    for array, steps in zip(numbers, with_steps, strict=True):
        add_steps(array, steps)
    add_steps(own.of(core.work.z)[: core.nx], change.x)
    for array, steps in change.plan.items():
        add_steps(own.of(numbers_of(core.layout)[array]), steps)
    arguments = [memory.address(array) if array.size else 0 for array in numbers]
    if more:
        arguments.insert(*more)
    memory.active.append(own)
    with core.guard() as failure:
        status = ENTRIES[name][0](1, *arguments, context)
    memory.active.clear()
    if status != OK:
        core.fail(status, 0.0, failure)
    return numbers, own


def add_steps(numbers: Any, derivatives: Any) -> None:
    """Make numbers complex, with these derivatives."""
    flat = numbers.reshape(-1)
    for k, d in enumerate(np.ravel(derivatives)):
        if d != 0.0:
            flat[k] = Number(complex(flat[k], STEP * d))


def steps_of(numbers: Any) -> Any:
    """Return the derivatives of numbers."""
    return np.array([x.derivative if type(x) in NUMBERS else 0.0 for x in np.ravel(numbers)])


def values_of(numbers: Any) -> Any:
    """Return the numbers as floats."""
    return np.array([float(x) for x in np.ravel(numbers)])
