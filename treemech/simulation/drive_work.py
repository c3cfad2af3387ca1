"""Work of the drives of a run: of prescribed coordinates (6.3.8), and of constraints that move.

The power of a drive is its load times the speed it prescribes. It is integrated over every step by Gauss's
rule on the interpolants of the integrator.
"""

from typing import TYPE_CHECKING

import numpy as np

from treemech.dynamics.model.core import Core
from treemech.dynamics.native import entry_points as native
from treemech.dynamics.simulation.dense_output import interpolate
from treemech.dynamics.simulation.integrate import Integration
from treemech.dynamics.simulation.integrator import Released
from treemech.elements import Constant
from treemech.elements.element import record
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.plan.columns import chord
from treemech.topology.arrays import Floats, address

from ..analyses.evaluation import results_of_states
from ..results.naming import numbered

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_X, _WEIGHTS = np.polynomial.legendre.leggauss(5)
_LEVELS = 12
_ROUNDING = 1e-13  # of the largest load times the rate: a power below it is rounding
_MOST = 16  # intervals in place of one, on average: more are needed for rounding only
_BLOCK = 4096  # times whose results of all bodies are held at once


def moving_chords(core: Core) -> dict[str, slice]:
    """Return the chords whose constraints depend on time through a signal that may change, with their rows."""
    layout = core.layout.chords
    return {
        name: slice(int(row[chord.FIRST_ROW]), int(row[chord.FIRST_ROW] + row[chord.N_ROWS]))
        for name, element, row in zip(layout.names, layout.elements, layout.plan.chord, strict=True)
        if any(not isinstance(signal, Constant) for _, signal in record(element)[1])
    }


def has_drives(mech: "Mechanism") -> bool:
    """Tell whether something moves the mechanism: a prescribed coordinate, or a constraint."""
    return bool(mech._prescriptions) or bool(moving_chords(mech._core))


def states_between(core: Core, result: Integration, method: str, times: Floats, released: Released) -> Floats:
    """Return integrator states at any times of a run, closed, from the interpolants of its steps."""
    assert result.dense is not None and result.nodes is not None
    if not len(times):
        return np.zeros((0, result.y.shape[1]))
    euler = list(core.coordinates.euler_parameters)
    y = np.ascontiguousarray(interpolate(method, result.nodes, result.dense, times, euler))
    if core.loops is not None:
        project, context = native.entry("loop_project"), address(core.loops.context)
        held: tuple[str, ...] | None = None
        for t, row in zip(times.tolist(), y, strict=True):
            names = next(names for start, names in reversed(released) if t >= start)
            if names != held and len(core.loops.plan.unilateral):
                _hold_all_but(core, names, t, row.copy())
            held = names
            open_ = row.copy()
            if project(t, address(row), -1, context) != OK:
                row[:] = open_
        core.loops.release(())
    return y


def _hold_all_but(core: Core, names: tuple[str, ...], t: float, y: Floats) -> None:
    """Release exactly these unilateral chords, and choose independent rows of the others next to a state, which changes."""
    loops = core.loops
    assert loops is not None
    loops.release(names)
    loops.work.masked[: loops.n_kept] = loops.work.off[loops.kept]
    core.chord_work.q[:] = core.unpack(y).cut
    if native.entry("loop_project")(t, address(y), -1, address(loops.context)) == OK:
        (q,), (u,) = core.states(np.array([t]), y[None])
        loops.choose(t, q, u)


def keep_outputs(
    core: Core, result: Integration, method: str, asked: Floats, ahead: float, released: Released
) -> None:
    """Replace the steps of a run, kept with their interpolants, by the output times that it reached."""
    assert result.dense is not None
    made = bool(len(result.dense))
    reached = asked[ahead * asked <= ahead * result.t[-1]] if made else result.t[np.isin(result.t, asked)]
    if made:
        result.y = states_between(core, result, method, reached, released)
    else:
        result.y = result.y[np.isin(result.t, asked)]
    result.t = reached


def drive_work(
    mech: "Mechanism", result: Integration, method: str, rtol: float, released: Released
) -> dict[str, Floats]:
    """Return the work of every drive on the mechanism since the start, at the outputs of a run.

    Every interval between steps and outputs is halved until both halves together give what the whole gave, up
    to rounding: the load of a drive is as accurate as the largest load, so its power may be rounding alone.
    """
    core = mech._core
    assert result.nodes is not None
    ahead = 1.0 if result.nodes[-1] >= result.nodes[0] else -1.0
    grid = ahead * np.unique(ahead * np.concatenate((result.nodes, result.t)))
    widths = {h.name: h.nu for h in mech._info.hinges}
    names = [numbered(hinge, widths[hinge])[k] for hinge, k, _ in mech._info.prescribed]
    moving = moving_chords(core)

    def power(times: Floats) -> tuple[Floats, Floats]:
        """Return the power of every drive, and at each time the largest load times the rates of all drives.

        Block by block, so that the results of all bodies at millions of times are never held at once.
        """
        blocks = [_power(times[k : k + _BLOCK]) for k in range(0, max(len(times), 1), _BLOCK)]
        return np.concatenate([own for own, _ in blocks], axis=1), np.concatenate(
            [size for _, size in blocks]
        )

    def _power(times: Floats) -> tuple[Floats, Floats]:
        """Return the same at the times of one block."""
        y = states_between(core, result, method, times, released)
        (q, u), rest = core.states(times, y), core.unpack(y)
        found = results_of_states(mech, times, q, u, rest.cut, rest.z, released)
        places = [place for _, _, place in mech._info.prescribed]
        own = [found.tau[:, place] * u[:, place] for place in places]
        rate = np.sum(np.abs(u[:, places]), axis=1)
        if moving:
            with core.unloaded():  # P u = -P0: exactly zero while the signal of a row rests
                rates = np.array(
                    [
                        -core.constraints(float(t), x, 0.0 * v).velocity
                        for t, x, v in zip(times, q, u, strict=True)
                    ]
                )
            each = found.multipliers * rates  # of the loads P^T lambda, row by row
            for rows in moving.values():
                own.append(each[:, rows].sum(axis=1))
                rate += np.sum(np.abs(rates[:, rows]), axis=1)
        loads = np.concatenate((found.multipliers, found.tau), axis=1)
        return np.array(own), rate * np.max(np.abs(loads), axis=1, initial=0.0)

    def work(a: Floats, b: Floats) -> tuple[Floats, float]:
        """Return the work of every drive in the intervals from a to b, and the size of its rounding."""
        times = (a[:, None] + 0.5 * (b - a)[:, None] * (1.0 + _X)).ravel()
        order = np.argsort(ahead * times, kind="stable")
        values, size = np.empty((len(names) + len(moving), len(times))), np.empty(len(times))
        values[:, order], size[order] = power(times[order])
        integrals = 0.5 * (b - a) * (values.reshape(len(values), -1, len(_X)) @ _WEIGHTS)
        return np.asarray(integrals), float(np.abs(0.5 * (b - a)) @ (size.reshape(-1, len(_X)) @ _WEIGHTS))

    a, b, interval = grid[:-1], grid[1:], np.arange(len(grid) - 1)
    whole, size = work(a, b)
    total = np.zeros((len(names) + len(moving), len(interval)))
    enough, most = 0.01 * rtol * float(np.sum(np.abs(whole))) + _ROUNDING * size, _MOST * len(grid)
    for level in range(_LEVELS):
        middle = 0.5 * (a + b)
        halves, _ = work(np.concatenate((a, middle)), np.concatenate((middle, b)))
        halves = halves.reshape(len(total), 2, -1)
        split = np.any(np.abs(halves.sum(axis=1) - whole) > enough, axis=0) & (level < _LEVELS - 1)
        split &= 2 * np.sum(split) < most
        for k in range(len(total)):
            np.add.at(total[k], interval[~split], halves[k].sum(axis=0)[~split])
        if not np.any(split):
            break
        a, b = np.concatenate((a[split], middle[split])), np.concatenate((middle[split], b[split]))
        interval, whole = np.tile(interval[split], 2), halves[:, :, split].reshape(len(total), -1)
    at = np.searchsorted(ahead * grid, ahead * result.t)
    since = np.concatenate((np.zeros((len(total), 1)), np.cumsum(total, axis=1)), axis=1)[:, at]
    return dict(zip([*names, *moving], since, strict=True))
