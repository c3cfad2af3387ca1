"""A run with more outputs: states between those of the run, so that curves are smooth.

Between two steps q is the polynomial of degree 5 through the coordinates, their rates and their second derivatives at
both ends (Hermite): its error is of order 6 in the step. Where the run has an interpolant of its own, that is used.
A run whose outputs were asked for (`t_eval`) may jump over what happens between them: it is left as it is.
"""

from typing import TYPE_CHECKING

import numpy as np

from treemech.kinematics.coordinate_rates import CoordinateRates
from treemech.kinematics.plan.columns import speed
from treemech.topology.arrays import Floats, Ints

if TYPE_CHECKING:
    from .run import Run

POINTS = 1000  # outputs of a smooth curve, about


def refined(run: "Run", points: int = POINTS) -> "Run":
    """Return a run with about so many outputs, those of the given run among them; the same run if it has enough."""
    steps = np.diff(run.t)
    span = float(np.sum(np.abs(steps)))
    if (
        len(run.t) > points
        or span == 0.0
        or run._core is None
        or run._tracer is None
        or not _follows_steps(run)
    ):
        return run
    parts = np.maximum(1, np.ceil(np.abs(steps) * (points / span))).astype(np.int64)
    k = np.repeat(np.arange(len(steps)), parts)
    x = (np.arange(len(k)) - (np.cumsum(parts) - parts)[k]) / parts[k]
    t = np.append(run.t[k] + x * steps[k], run.t[-1])
    q, u = (np.vstack((a, b[-1:])) for a, b in zip(_between(run, k, x), (run.q, run.u), strict=True))
    at_output = np.append(x == 0.0, True)
    q[at_output], u[at_output] = run.q, run.u
    found = run._sibling(t, q, u, *(_line(values, k, x) for values in (run._cut, run.z, run._audit)))
    found._work = {name: _line(work[:, None], k, x)[:, 0] for name, work in run._work.items()}
    return found


def _follows_steps(run: "Run") -> bool:
    """Tell whether the outputs lie as close as the steps of the integrator."""
    if run._dense is not None:
        return True
    steps = run.statistics.get("steps", 0)
    return steps > 0 and len(run.t) - 1 >= steps


def _between(run: "Run", k: Ints, x: Floats) -> tuple[Floats, Floats]:
    """Return (q, u) in the steps k, at the fractions x of them."""
    assert run._core is not None
    core = run._core()
    h = np.diff(run.t)[k]
    if run._dense is not None:
        q, u = run.sol(np.where(x == 0.0, run.t[k], run.t[k] + x * h))
    else:
        rates = CoordinateRates(core.coordinates)
        at = [rates.derivatives(*state) for state in zip(run.q, run.u, run.ud, strict=True)]
        d1, d2 = (np.array([pair[n] for pair in at]).reshape(run.q.shape) for n in (0, 1))
        curve = _quintic(run.q, d1, d2, k, x[:, None], h[:, None])
        states = [rates.speeds(*values) for values in zip(*curve, strict=True)]
        q, u = (np.array([state[n] for state in states]).reshape(len(k), -1) for n in (0, 1))
    prescribed = core.layout.plan.prescribed
    if len(prescribed):  # their signals give them, whatever the steps are
        asked = np.ascontiguousarray(np.hstack((q, u)))
        exact_q, exact_u = np.zeros_like(q), np.zeros_like(u)
        core.many("states", run.t[k] + x * h, asked, exact_q, exact_u)
        places_q, places_u = prescribed[:, speed.PRESCRIBED_Q], prescribed[:, speed.PRESCRIBED_U]
        q[:, places_q], u[:, places_u] = exact_q[:, places_q], exact_u[:, places_u]
    return q, u


def _quintic(
    y: Floats, d1: Floats, d2: Floats, k: Ints, x: Floats, h: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the Hermite polynomial of degree 5 and its two derivatives, in the steps k at the fractions x."""
    h = np.where(h == 0.0, 1.0, h)
    a0, a1, a2 = y[k], h * d1[k], 0.5 * h**2 * d2[k]
    rest = y[k + 1] - a0 - a1 - a2, h * d1[k + 1] - a1 - 2 * a2, h**2 * d2[k + 1] - 2 * a2
    a3 = 10 * rest[0] - 4 * rest[1] + 0.5 * rest[2]
    a4 = -15 * rest[0] + 7 * rest[1] - rest[2]
    a5 = 6 * rest[0] - 3 * rest[1] + 0.5 * rest[2]
    value = a0 + x * (a1 + x * (a2 + x * (a3 + x * (a4 + x * a5))))
    first = (a1 + x * (2 * a2 + x * (3 * a3 + x * (4 * a4 + x * 5 * a5)))) / h
    second = (2 * a2 + x * (6 * a3 + x * (12 * a4 + x * 20 * a5))) / h**2
    return value, first, second


def _line(values: Floats, k: Ints, x: Floats) -> Floats:
    """Return values on straight lines between the outputs."""
    inside = values[k] + x[:, None] * (values[k + 1] - values[k])
    return np.vstack((inside, values[-1:]))
