"""Rest position of a released mechanism: it is simulated, and stopped at every peak of its kinetic energy."""

from typing import TYPE_CHECKING

import numpy as np

from treemech.topology import ConvergenceError

from ..results.state import State
from .states import state_at

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_FALLS, _LONGEST = 500, 1e4  # number of stops; longest time of gaining speed [s]
_REST = 1e-8  # kinetic energy relative to the largest one
_STILL = 1e-12  # [m, rad] a smaller motion in a fall is rounding


def release_until_rest(mech: "Mechanism", state: State) -> State:
    """Return a state at rest next to the stable balance to which the mechanism falls from `state`.

    Time is that of `state`, except for signals during the falls.
    """
    t, span, largest = state.t, 0.1, 0.0
    here = state_at(mech, t, state.q, np.zeros(mech.nu), state.z, {n: q for n, (q, _) in state.cut.items()})
    for _ in range(_FALLS):
        run = mech.simulate((t, t + span), here, rtol=1e-7)
        if not run.success:
            raise ConvergenceError(f"settling did not come to an end: {run.message}")
        if float(np.max(np.abs(run.u), initial=0.0)) * span < _STILL:
            return here
        kinetic = run.energy.kinetic
        falls = np.flatnonzero(np.diff(kinetic) < 0.0)
        if not len(falls) and kinetic[-1] > _REST * largest:  # it still gains speed
            span *= 4.0
            if span > _LONGEST:
                raise ConvergenceError(
                    f"settling: {mech.name!r} still gains speed after {span / 4.0:.3g} s. Nothing holds it."
                )
            continue
        k = int(falls[0]) if len(falls) else len(kinetic) - 1
        cut = {c.name: np.atleast_1d(run.connection(c.name).q[k]) for c in mech._info.chords}
        here = state_at(mech, t, run.q[k], np.zeros(mech.nu), run.z[k], cut)
        largest = max(largest, float(kinetic[k]))
        if kinetic[k] <= _REST * largest or largest == 0.0:
            return here
        span = 4.0 * float(run.t[k] - t)
    raise ConvergenceError(
        f"settling: {mech.name!r} still moves after it was stopped {_FALLS} times. It has to come to rest within one fall: with "
        "loads or inputs that change with time it does not; method='energy' has them as they are at the state's time."
    )
