"""Assembly of a design on the branch of its reference design: that of the values that parameters were declared with.

Chains that close in several ways would otherwise close in one way for some designs of a study and in another way for
others. The reference design is assembled with the same arguments; its position is followed along the straight line of the
parameters (kinematics/branch.py). So the position depends on the design alone, not on what was computed before. Estimates
(`guess`, `poses`, `weights`) choose a branch by themselves.
"""

from collections.abc import Collection
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.branch import follow
from treemech.kinematics.closure import is_closed, nearest, nearest_positions
from treemech.kinematics.layout.lagrange import Lagrange
from treemech.topology import ConvergenceError, TreemechError
from treemech.topology.arrays import Floats

from ..description.parameters import reference_of
from ..results.state import State
from .assembly import Assembly

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_MOST = 64  # positions of a reference design that are kept


class Closed(NamedTuple):
    """Closed position of a reference design, with the numbers of its cut hinges."""

    q: Floats
    fitted: Floats


def assemble(mech: "Mechanism", open: Collection[str] = (), **given: Any) -> State:
    """Find a consistent state: positions (KSP/0), then velocities (KSP/1), see `Mechanism.assemble`."""
    sought = Assembly(mech, **given)
    with sought.searching(open):
        q = positions_on_branch(sought, open)
        u = sought.speeds.find(q, sought.start.u)
        sought.tell_what_is_left(q)
    return sought.state(q, u, open, sought.fitted)


def positions_on_branch(sought: Assembly, open: Collection[str]) -> Floats:
    """Return the closed position of a design on the branch of its reference design, or say where that ends."""
    mech = sought.mech
    reference = None if sought.chosen or not mech._info.chords else reference_of(mech)
    closed = None if reference is None else _reference_position(reference, sought, open)
    if reference is None or closed is None:
        return sought.positions()
    way = _Way(reference, sought, open, closed)
    found = follow(mech._lagrange, closed.q[None], way.evaluate)
    if found.reached[0] == 1.0:
        q = way.arrived(found.q[0])
        if q is not None:
            return q
    mech._core.reset_chords(sought.near)
    sought.positions()  # says so where no position closes at all
    raise ConvergenceError(_lost(mech, reference, float(found.reached[0])))


def _reference_position(reference: "Mechanism", sought: Assembly, open: Collection[str]) -> Closed | None:
    """Return the position of the reference design with the same arguments; None if there is none."""
    key = _key(sought, open)
    kept = reference._refilling.closed
    if key is not None and key in kept:
        found: Closed | None = kept[key]
        return found
    try:
        own = Assembly(reference, t=sought.t, fix=sought.fix_given)
        with own.searching(open):
            made: Closed | None = Closed(own.positions(), own.fitted.copy())
    except TreemechError:
        made = None
    if key is not None:
        while len(kept) >= _MOST:
            kept.pop(next(iter(kept)), None)
        kept[key] = made
    return made


def _key(sought: Assembly, open: Collection[str]) -> Any:
    """Return what tells the arguments of an assembly from others; None where they are no names."""
    given = sought.fix_given or {}
    if not all(isinstance(name, str) for name in given):
        return None
    fixed = tuple((name, np.asarray(x, dtype=np.float64).tobytes()) for name, x in given.items())
    return sought.t, fixed, tuple(open)


class _Way:
    """The designs between the reference design and another one."""

    def __init__(
        self, reference: "Mechanism", sought: Assembly, open: Collection[str], closed: Closed
    ) -> None:
        self.first, self.last = reference.parameters, sought.mech.parameters
        self.reference, self.sought, self.open = reference, sought, open
        self.fitted = {0.0: closed.fitted}  # numbers of cut hinges, by the part of the way
        self.made: dict[float, Assembly] = {1.0: sought}
        changed = [name for name, x in self.last.items() if x != self.first[name]]
        reference._refilling.announce(changed)
        self.changed = changed

    def evaluate(self, q: Floats, which: NDArray[np.int64], s: Floats) -> tuple[Floats, Floats]:
        """Return the constraints at a part of the way, and bring what is held up to date."""
        part = float(s[0])
        nu = self.sought.mech.nu
        refused = np.full((1, 1), np.nan), np.full((1, 1, nu), np.nan)
        try:
            own = self._design(part)
            with nullcontext() if own is self.sought else own.searching(self.open):
                own.mech._core.chord_work.q[:] = self._near(part)
                q[0] = held(own.mech._lagrange, own.start.q, q[0], own.free)
                now = own.constraints(q[0], np.zeros(nu))
                self.fitted[part] = own.mech._core.chord_work.q.copy()
        except TreemechError:
            return refused
        return now.residual[None].copy(), (now.partials * own.free)[None]

    def _design(self, part: float) -> Assembly:
        found = self.made.get(part)
        if found is None:
            first, last = self.first, self.last
            values = {name: first[name] + part * (last[name] - first[name]) for name in self.changed}
            mech = self.reference.with_parameters(**values)
            found = self.made[part] = Assembly(mech, t=self.sought.t, fix=self.sought.fix_given)
        return found

    def _near(self, part: float) -> Floats:
        """Return the numbers of cut hinges to start from: those nearest before on the way."""
        return (
            self.fitted[part] if part in self.fitted else self.fitted[max(x for x in self.fitted if x < part)]
        )

    def arrived(self, q: Floats) -> Floats | None:
        """Return the position at the end of the way, closed to rounding and nearest to described poses."""
        sought, lagrange = self.sought, self.sought.mech._lagrange
        found = nearest(lagrange, sought.constraints, q, sought.free, sought.scale)
        if not is_closed(found, sought.scale):
            return None
        q = found.q
        wishes = sought.deviation(sought.wished, sought.roots)
        if wishes is not None:
            q = nearest_positions(lagrange, sought.constraints, wishes, q, sought.free, sought.scale)
        sought.fit(q)
        return q


def held(lagrange: Lagrange, given: Floats, q: Floats, free: NDArray[np.bool_]) -> Floats:
    """Return coordinates of which those that are not free are the given ones."""
    found, places = q.copy(), lagrange.places
    kept = ~free[places.u]
    found[places.q[kept]] = given[places.q[kept]]
    for i, j in places.attitudes:
        if not np.any(free[j : j + 3]):
            found[i : i + 4] = given[i : i + 4]
    return found


def _lost(mech: "Mechanism", reference: "Mechanism", reached: float) -> str:
    """Say where the branch of the reference design ends."""
    first, last = reference.parameters, mech.parameters
    changed = [name for name, x in last.items() if x != first[name]]
    there = ", ".join(
        f"{name} = {first[name] + reached * (last[name] - first[name]):.4g}" for name in changed[:4]
    )
    more = ", ..." if len(changed) > 4 else ""
    return (
        f"this design closes, but not on the branch of the parameters' declared values: on the straight way from there the chains of "
        f"{mech.name!r} come to a singular position, or do not close, behind {there}{more} ({reached:.0%} of the way). Choose a position by "
        "guess=, or declare values that are nearer."
    )
