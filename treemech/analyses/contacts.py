"""Unilateral constraints in analyses of one state: they hold if they touch and push, or are released."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from treemech.topology import ConvergenceError, TopologyError, unknown
from treemech.topology.arrays import Floats

from ..results.naming import as_names
from ..results.state import State
from .closed_chains import closed_motion

if TYPE_CHECKING:
    from ..mechanism import Mechanism


_OPEN = 1e-6  # [m, m/s] a larger gap counts as open, a larger rate as opening


def unilateral(mech: "Mechanism") -> dict[str, int]:
    """Return the unilateral constraints by name, each with its first row: the gap, whose multiplier only pushes."""
    loops = mech._core.loops
    firsts = [] if loops is None else loops.plan.unilateral[::2].tolist()
    return {mech._core.layout.chords.rows[first][0]: first for first in firsts}


def open_contacts(mech: "Mechanism", t: float, q: Floats, u: Floats) -> tuple[str, ...]:
    """Return the unilateral constraints that do not hold at a state: their gap is open, or opens."""
    own = unilateral(mech)
    if not own:
        return ()
    now = mech._core.constraints(t, q, u)
    return tuple(
        name
        for name, k in own.items()
        if now.residual[k] > _OPEN or (now.residual[k] > -_OPEN and now.velocity[k] > _OPEN)
    )


@contextmanager
def without(mech: "Mechanism", names: Collection[str]) -> Iterator[None]:
    """Release exactly these unilateral constraints within the context."""
    loops, own, names = mech._core.loops, unilateral(mech), as_names(names, "open")
    for name in names:
        if name not in own:
            raise TopologyError(unknown("unilateral constraint", name, own))
    if loops is None or not own:
        yield
        return
    before = loops.released()
    loops.release(names)
    try:
        with mech._core.leaving_out(loops.work.off[: loops.n_rows] == 1):
            yield
    finally:
        loops.release(before)


@contextmanager
def contacts(
    mech: "Mechanism", t: float, q: Floats, u: Floats, loads: Floats | None = None
) -> Iterator[None]:
    """Release, within the context, unilateral constraints that are open, open, or would pull under these loads.

    The state must have been unpacked before (`states.unpack`).
    """
    if not unilateral(mech):
        yield
        return
    q, u = np.asarray(q, dtype=np.float64), np.asarray(u, dtype=np.float64)
    near = mech._core.chord_work.q.copy()
    off = set(open_contacts(mech, t, q, u))
    while True:
        mech._core.chord_work.q[:] = near
        with without(mech, off):
            name = pulling(mech, t, q, u, loads)
            if name is None:
                mech._core.chord_work.q[:] = near
                yield
                return
        off.add(name)


def pulling(mech: "Mechanism", t: float, q: Floats, u: Floats, loads: Floats | None) -> str | None:
    """Return the active unilateral constraint that pulls most; None if all push."""
    loops = mech._core.loops
    if loops is None:
        return None
    loops.choose(t, q, u)
    multipliers = closed_motion(mech._core, np.array([t]), q[None], u[None], loads).multipliers[0]
    held = {name: multipliers[k] for name, k in unilateral(mech).items() if not loops.work.off[k]}
    worst = min(held, key=lambda name: held[name], default=None)
    tiny = 1e-12 * float(np.max(np.abs(multipliers), initial=0.0))
    return worst if worst is not None and held[worst] < -tiny else None


@contextmanager
def hinting(mech: "Mechanism") -> Iterator[None]:
    """Add a hint to errors of chains that do not close at a unilateral constraint: it may be meant to be open."""
    try:
        yield
    except ConvergenceError as error:
        for name in unilateral(mech):
            if f"at {name!r}" in str(error):
                raise ConvergenceError(
                    f"{error} {name!r} is unilateral: open=[{name!r}] leaves it open."
                ) from None
        raise


def misjudged(mech: "Mechanism", state: State, multipliers: Floats, off: Collection[str]) -> str | None:
    """Return the worst unilateral constraint that pulls, or that is released and passed through.

    Returns None if there is none.
    """
    own = unilateral(mech)
    if not own:
        return None
    gaps = mech._core.constraints(state.t, state.q, state.u).residual
    tiny = 1e-9 * float(np.max(np.abs(multipliers), initial=0.0))
    passed = {name: gaps[k] for name, k in own.items() if name in off and gaps[k] < -_OPEN}
    pulls = {name: multipliers[k] for name, k in own.items() if name not in off and multipliers[k] < -tiny}
    for wrong in (passed, pulls):
        if wrong:
            return min(wrong, key=lambda name: wrong[name])
    return None


def refuse_passed(mech: "Mechanism", state: State, names: Collection[str]) -> None:
    """Refuse a position on the wrong side of unilateral constraints that may be open there."""
    if not names:
        return
    gaps = mech._core.constraints(state.t, state.q, state.u).residual
    for name, k in unilateral(mech).items():
        if name in names and gaps[k] < -_OPEN:
            raise ConvergenceError(
                f"{name!r} is to be open, but is passed by {-gaps[k]:.3g} m there. Give another guess, or leave it out of open="
                " to have it touch."
            )
