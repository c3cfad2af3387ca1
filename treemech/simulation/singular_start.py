"""Start in a singular position (8.2): the given rates decide the branch, and the motion is found on both sides of it.

Where the constraints lose rank they do not decide the accelerations. Next to it, on the branch, they do. So the
accelerations around the start are a polynomial of the time that satisfies the equations of motion at times
before and after it (collocation); the integrator starts at the last of these times.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treemech.kinematics.closure import is_closed, nearest
from treemech.kinematics.manifold import move
from treemech.topology import SingularError
from treemech.topology.arrays import Floats

from ..analyses.constraints import holonomic, size
from ..analyses.states import left_free

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_NODES = np.array([-2.0, -1.0, 1.0, 2.0])  # times of the collocation, in units of the step
_REACH = 5e-3  # [rad, m] motion in one step
_FITS = 1e-6  # a violation of the condition of second order, relative to the squares of the rates


class Departure(NamedTuple):
    """Motion around a singular start: the step, and ud = sum of terms[j] (time / step)^j."""

    t: float
    q: Floats
    u: Floats
    step: float
    terms: Floats
    z: Floats
    cut: Floats  # coordinates of the cut hinges at the start
    name: str  # of a connection whose rows depend on others there

    @property
    def end(self) -> float:
        """The time at which the integrator takes over."""
        return self.t + float(_NODES[-1]) * self.step


def depart(
    mech: "Mechanism", t: float, end: float, q: Floats, u: Floats, refusal: SingularError
) -> Departure:
    """Find the motion around a start in a singular position.

    Raise the refusal if nothing moves, and an error if the rates lead onto no branch: P u + P0 = 0, and l (P00
    + P ud) = l P00 = 0 for all l with l P = 0.
    """
    core, free = mech._core, left_free(mech, {})
    assert core.loops is not None
    fastest = float(np.max(np.abs(u), initial=0.0))
    if fastest < 1e-9:
        raise SingularError(f"{refusal} Or give rates that decide the branch.")
    cut, z = core.chord_work.q.copy(), core.work.z[: core.nz].copy()
    with core.unloaded():
        now = core.constraints(t, q, u)
    U, s, _ = np.linalg.svd(now.partials[:, free], full_matrices=True)
    rank = int(np.sum(s > 1e-6 * s[0]))
    rows, lost = core.layout.chords.rows, U[:, rank:]
    left = float(np.max(np.abs(lost.T @ now.bias), initial=0.0))
    if left > _FITS * (1.0 + fastest**2):
        k = int(np.argmax(np.abs(lost @ (lost.T @ now.bias))))
        raise SingularError(
            f"{refusal} The given rates lead onto no branch: {rows[k][0]!r} would open with {left:.3g} "
            "(m/s^2, rad/s^2). Give rates of one branch, by a run or an assembly next to this position."
        )
    step = float(np.copysign(min(_REACH / fastest, 0.1 * abs(end - t)), end - t))
    name = rows[int(np.argmax(np.sum(lost**2, axis=1)))][0]
    made = Departure(t, q, u, step, np.zeros((len(_NODES), mech.nu)), z, cut, name)
    powers, change = np.vander(_NODES, increasing=True), np.inf
    for attempt in range(20):
        states = [state_on(mech, made, t + x * step) for x in _NODES]
        if attempt == 0:
            core.loops.choose(made.end, *states[-1][:2])  # the rank next to the start
        times, Q, V, C = t + _NODES * step, *(np.array([x[k] for x in states]) for k in range(3))
        with core.seeing(np.tile(z, (len(times), 1)) if core.nz else None):
            ud = core.loops.solve(times, Q, V, C).ud
        terms = np.asarray(np.linalg.solve(powers, ud), dtype=np.float64)
        before, change = change, float(np.max(np.abs(terms - made.terms)))
        made = made._replace(terms=terms)
        if not np.isfinite(change) or change > max(before, 1e3 * (1.0 + fastest**2)):
            raise refusal
        if change < 1e-10 * (1.0 + float(np.max(np.abs(terms)))) or (attempt > 3 and change > 0.5 * before):
            break
    return made


def state_on(mech: "Mechanism", departure: Departure, t: float) -> tuple[Floats, Floats, Floats]:
    """Return (q, u, coordinates of cut hinges) of the motion around a singular start, on its branch."""
    core, x, h, j = mech._core, t - departure.t, departure.step, np.arange(len(departure.terms))
    weights = (x / h) ** j
    u = departure.u + (weights * x / (j + 1)) @ departure.terms
    way = departure.u * x + (weights * x * x / ((j + 1) * (j + 2))) @ departure.terms
    for c in mech._lagrange.hinges:  # an angular velocity that turns: the first term of Magnus
        k = c.hinge.euler_parameters
        if k is not None:
            at = slice(c.u + k, c.u + k + 3)
            way[at] -= x**3 / 12.0 * np.cross(departure.u[at], departure.terms[0, at])
    core.chord_work.q[:] = departure.cut
    q = move(mech._lagrange, departure.q, way)
    free, evaluate = left_free(mech, {}), holonomic(mech, t)
    if x:
        found = nearest(mech._lagrange, evaluate, q, free, size(mech))
        if not is_closed(found, size(mech)):
            raise SingularError(
                f"the start at t = {departure.t:.6g} s is a singular position, and the branch of the given rates does not "
                "close next to it. Start a little before or after it."
            )
        q = found.q
        with core.unloaded():
            now = core.constraints(t, q, u)
        u = u - free * np.linalg.lstsq(now.partials * free, now.velocity, rcond=1e-10)[0]
    with core.unloaded():
        core.constraints(t, q, u)
    return q, u, core.chord_work.q.copy()
