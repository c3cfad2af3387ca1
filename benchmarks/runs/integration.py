"""The compiled integrator against scipy's DOP853 on the same compiled right-hand side."""

from typing import Any

import numpy as np

import treemech as tm
from treemech.dynamics.native import entry_points as native
from treemech.topology.arrays import address

from ..families.trees import double_pendulum, hanging_chain, raised
from ..timing import cpu_seconds

CASES = {
    "double pendulum 100 s": (double_pendulum, 100.0, 1001),
    "chain 30, 10 s": (lambda: hanging_chain(30), 10.0, 1001),
}
TINY = {"double pendulum 1 s": (double_pendulum, 1.0, 11)}
TOLERANCE = 1e-9


def start_of(mech: tm.Mechanism) -> tm.State:
    """Return the start: a chain at 30 degrees; the double pendulum at 45 and 30 degrees to the vertical."""
    if mech.nq == 2:
        return mech.state(q=np.radians([45.0, -15.0]))
    return raised(mech)


def right_hand_side(mech: tm.Mechanism) -> Any:
    """Return y' for scipy, by one ctypes call on arrays at fixed addresses."""
    n = mech.nq + mech.nu
    y_in, dy = np.zeros(n), np.zeros(n)
    entry, at, to, context = native.entry("rhs"), address(y_in), address(dy), mech._core.context_address

    def fun(t: float, y: Any) -> Any:
        y_in[:] = y
        entry(t, at, to, context)
        return dy.copy()  # scipy keeps it

    return fun


def measure(tiny: bool, repeats: int) -> list[dict[str, Any]]:
    """Measure CPU seconds of both, the ratio, and the distance of the results, per case."""
    from scipy.integrate import solve_ivp

    rows = []
    for name, (make, end, points) in (TINY if tiny else CASES).items():
        mech = make().build()
        state, times = start_of(mech), np.linspace(0.0, end, points)
        fun, y0 = right_hand_side(mech), mech._core.pack(state.q, state.u)
        ours: Any = None
        theirs: Any = None

        def simulate(mech=mech, end=end, state=state, times=times):
            nonlocal ours
            ours = mech.simulate((0.0, end), state, rtol=TOLERANCE, atol=TOLERANCE, t_eval=times)

        def solve(fun=fun, end=end, y0=y0, times=times):
            nonlocal theirs
            theirs = solve_ivp(
                fun, (0.0, end), y0, method="DOP853", rtol=TOLERANCE, atol=TOLERANCE, t_eval=times
            )

        simulate()
        ours_s = min(cpu_seconds(simulate) for _ in range(3 * repeats))
        scipy_s = min(cpu_seconds(solve) for _ in range(repeats))
        early = times <= 0.1 * end  # later a double pendulum magnifies every difference
        apart = np.max(np.abs(ours.q[early] - theirs.y[: mech.nq].T[early]))
        rows.append({
            "case": name, "ours_s": ours_s, "scipy_s": scipy_s, "ratio": scipy_s / ours_s,
            "evaluations": ours.statistics["evaluations"], "scipy_evaluations": int(theirs.nfev),
            "apart_in_first_tenth": float(apart),
        })  # fmt: skip
    return rows
