"""Analyses that stand on exact derivatives, by the user's names: derivatives, linearization, equilibrium, sensitivities.

What they are made of is loaded when one is asked for: a simulation does without.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from treemech.kinematics.closure import close_positions
from treemech.topology import ConvergenceError, ElementError
from treemech.topology.arrays import Floats

from ..description.parameters import directions
from ..results.state import State, fill
from .assembly import cut_partials, cut_speed_names, not_cut
from .contacts import contacts, misjudged, open_contacts, unilateral, without

if TYPE_CHECKING:
    from treemech.dynamics.analyses.derivatives import Derivatives
    from treemech.dynamics.analyses.equilibrium import Equilibrium, Motion
    from treemech.dynamics.analyses.linearization import CutSpeeds, Linearization
    from treemech.dynamics.model.tree_derivatives import TreeDerivatives

    from ..design.sensitivities import Sensitivities, Start
    from ..mechanism import Mechanism


class Analyses:
    """Methods of a Mechanism."""

    _tree_derivatives: "TreeDerivatives | None" = None

    def derivatives(
        self, state: State | tuple[Any, ...], loads: Any = None, parameters: Sequence[str] = ()
    ) -> "Derivatives":
        """ud, multipliers and their derivatives by q, u, loads on the speeds, states and inputs of elements; x' and its own.

        Inputs are known by the names `system.input` and controllers gave them; one given as it stands is "element.input".
        Directions in q are those of the speeds, q' = N(q) u: plain partial derivatives where u = q', rotations as the
        relative angular velocity measures them (base of end a) for Euler parameters. Rows of prescribed speeds are zero.
        Derivatives by `parameters` are those at fixed q, u; prescribed coordinates follow their signals.
        """
        from treemech.dynamics.analyses.derivatives import derivatives

        mech = cast("Mechanism", self)
        room = derivative_room(mech)
        tau, by = mech._loads(loads), directions(mech, parameters)
        with _ready(mech, state, "derivatives", tau) as (t, q, u):
            return derivatives(mech.core, room, t, q, u, tau, None, element_inputs(mech), by)

    def linearize(
        self,
        state: State | tuple[Any, ...],
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        hold: Sequence[str] = (),
        loads: Any = None,
    ) -> "Linearization":
        """A, B, C, D of small motions about a state, in independent coordinates and states of elements; eigenvalues, modes.

        `inputs`: speeds that carry a load, and inputs of elements, `outputs`: speeds whose displacement is seen, by name, those
        of cut hinges too; default: all speeds of the tree. `hold`:
        coordinates that keep to their motion; `loads` on the speeds act on all states alike.
        """
        from treemech.dynamics.analyses.linearization import linearize

        mech = cast("Mechanism", self)
        known = element_inputs(mech)
        acting: list[int | str] | None = None if inputs is None else []
        for name in inputs or ():
            cast("list[int | str]", acting).extend([name] if name in known else _all_numbers(mech, [name]))
        seen = None if outputs is None else _all_numbers(mech, outputs)
        held = None
        if hold:
            held = np.zeros(mech.nu, dtype=bool)
            held[_numbers(mech, hold)] = True
        room = derivative_room(mech)
        tau = mech._loads(loads)
        with _ready(mech, state, "linearize", tau) as (t, q, u):
            cut = _cut_speeds(mech, t, q)
            return linearize(mech.core, room, t, q, u, held, acting, seen, tau, known, cut)

    def equilibrium(
        self,
        state: State | None = None,
        fix: Mapping[str, Any] | None = None,
        rates: Mapping[str, Any] | None = None,
        free: Sequence[str] = (),
        method: str = "Newton",
    ) -> "Equilibrium":
        """A position in which nothing accelerates, next to `state` (default: the reference position, closed).

        `fix`: coordinates held where they are given, by loads the result names. `rates`: coordinates driven at constant
        rates, which stay where the state has them (relative equilibrium). `free`: of those, rates that are sought
        themselves, from the given ones on; as there are no loads then, what is fixed must balance as well.
        States of elements are at rest there, x' = 0.

        `method`: "Newton" finds the balance near the state, stable or not, with shortened steps; "energy" goes against the
        loads, to a place of least energy, a stable balance if there is any; "settling" lets the mechanism go, simulates it,
        and stops it at every peak of its kinetic energy until it stays.
        """
        from .settling import settle

        mech = cast("Mechanism", self)
        if method not in ("Newton", "energy", "settling"):
            raise ElementError(f"equilibrium: method is {method!r}; wanted 'Newton', 'energy' or 'settling'.")
        if method == "settling" and (fix or rates or free):
            raise ElementError(
                "equilibrium: settling lets everything go; with fix=, rates= or free= use method='Newton' or 'energy'."
            )
        for name, what in (("fix", fix), ("rates", rates)):
            if what is not None and not isinstance(what, Mapping):
                raise ElementError(f"equilibrium: {name} is {what!r}; wanted numbers by name, {{'A': 0.3}}.")
        start, given, speeds = state, dict(fix or {}), dict(rates or {})
        not_cut(mech, [*given, *speeds])
        if start is None or given:
            guess = {} if start is None else {c.name: start.q[c.q_slice] for c in mech.lagrange.hinges}
            start = mech.assemble(0.0 if start is None else start.t, fix=given, guess=guess)
        if method == "settling":
            start = state = settle(mech, start)
        z = None if state is None or not mech.core.nx else state.z
        off = set(open_contacts(mech, *mech._unpack(start, "equilibrium")[:2], np.zeros(mech.nu)))
        for _ in range(2 + 2 * len(unilateral(mech))):
            with without(mech, off):
                found = _balanced(mech, start, z, given, speeds, free, method == "energy")
            other = misjudged(mech, found.state, found.multipliers, off)
            if other is None:
                return found
            off ^= {other}
            start, z = found.state, found.state.z if mech.core.nx else None
        raise ConvergenceError(
            f"no equilibrium found in which every contact holds or is open: {other!r} is neither. Try method='settling'."
        )

    def sensitivities(
        self,
        t_span: tuple[float, float],
        start: "Start" = None,
        parameters: Sequence[str] | None = None,
        t_eval: ArrayLike | None = None,
        rtol: float = 1e-8,
    ) -> "Sensitivities":
        """A simulation and how it changes with parameters (default: all).

        `start`: a state that does not depend on the parameters, or a function of the mechanism that makes it,
        ``lambda mech: mech.assemble(fix={"A": 0.3})``: with closed chains the function says what stays when a parameter
        changes. First the motion is integrated, then, along it, the differentiated equations of motion
        (dynamics.analyses.sensitivity), each to rtol. The motion must be smooth: no contact that switches, no singular position
        passed, no prescribed rate that jumps, no element that remembers. Output at `t_eval`, default the steps of the motion.
        """
        from ..design.sensitivities import sensitivities

        return sensitivities(cast("Mechanism", self), t_span, start, parameters, t_eval, rtol)

    def kinematic_sensitivities(
        self, t_eval: ArrayLike, start: "Start" = None, parameters: Sequence[str] | None = None
    ) -> "Sensitivities":
        """A kinematic run over given times (`kinematics`), and how it changes with parameters (default: all).

        Every position follows from the constraints, and so do its derivatives: exact but for rounding.
        """
        from ..design.sensitivities import kinematic_sensitivities

        return kinematic_sensitivities(cast("Mechanism", self), t_eval, start, parameters)


def derivative_room(mech: "Mechanism") -> "TreeDerivatives":
    """Room for exact derivatives, made once."""
    from treemech.dynamics.model.tree_derivatives import TreeDerivatives

    if mech._tree_derivatives is None:
        mech._tree_derivatives = TreeDerivatives(mech.core)
    return mech._tree_derivatives


def element_inputs(mech: "Mechanism") -> dict[str, list[tuple[int, int]]]:
    """Of every input by name the elements that take it: (number of the element, number of its input)."""
    found: dict[str, list[tuple[int, int]]] = {}
    wiring, find = mech.wiring, mech.core.layout.efforts.find
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


def _chosen(mech: "Mechanism", state: State | tuple[Any, ...], what: str) -> tuple[float, Floats, Floats]:
    """t, q, u of a state, its independent rows chosen and its cut hinges in place."""
    if mech.core.loops is None:
        t, q, u = mech._unpack(state, what)
        return float(t), q, u
    times, qs, us = mech._rows(state, what)
    mech.core.loops.choose(float(times[0]), qs[0])
    mech._unpack(state, what)
    return float(times[0]), qs[0], us[0]


@contextmanager
def _ready(
    mech: "Mechanism", state: State | tuple[Any, ...], what: str, loads: Floats | None
) -> Iterator[tuple[float, Floats, Floats]]:
    """As `_chosen`; within, unilateral constraints that are open have let go."""
    with contacts(mech, *mech._unpack(state, what), loads):
        yield _chosen(mech, state, what)


def _balanced(
    mech: "Mechanism",
    start: State,
    z: Floats | None,
    fix: dict[str, Any],
    rates: dict[str, Any],
    free: Sequence[str],
    downhill: bool,
) -> "Equilibrium":
    """The balance next to a start, with the unilateral constraints that hold now."""
    from treemech.dynamics.analyses.equilibrium import Equilibrium, balance
    from treemech.dynamics.analyses.linearization import linearize

    room, t = derivative_room(mech), start.t
    motion = _motion(mech, start.u, fix, rates, _numbers(mech, free))

    def close(near: Floats) -> Floats:
        if mech.core.loops is None:
            return near
        rows = mech.core.layout.chords.rows
        return close_positions(mech.lagrange, mech._holonomic(t), rows, near, motion.movable, mech._scale())

    if unilateral(mech):  # one that was open may have to touch
        start = mech._state(t, close(start.q), start.u, start.z)
    _, q, _ = _chosen(mech, start, "equilibrium")
    if z is not None:
        mech.core.work.z[:] = z
    found = balance(mech.core, room, t, q, motion, close, downhill and not motion.sought)
    there = mech._state(t, found.q, found.u, found.z)
    _chosen(mech, there, "equilibrium")
    held = ~motion.balanced & mech._free({}) if not np.all(motion.balanced) else None
    small = linearize(mech.core, room, t, found.q, found.u, held, cut=_cut_speeds(mech, t, found.q))
    loads = {mech.speeds[k]: float(found.loads[k]) for k in np.flatnonzero(~motion.balanced)}
    return Equilibrium(there, loads, found.multipliers, small, found.iterations)


def _motion(
    mech: "Mechanism", u: Floats, fix: dict[str, Any], rates: dict[str, Any], sought: list[int]
) -> "Motion":
    """What moves, what balances, what is driven (prescribed coordinates, and those with given rates)."""
    from treemech.dynamics.analyses.equilibrium import Motion

    loose, fixed = mech._free(rates), ~mech._free(fix, driven=False)
    for k in sought:
        if loose[k]:
            raise ElementError(f"equilibrium: {mech.speeds[k]!r} is free; give a start for it in rates=.")
    balanced = loose & ~fixed if not sought else loose.copy()
    balanced[sought] = True
    speeds = fill(mech.lagrange, np.where(mech._free({}), 0.0, u), rates, "u")
    return Motion(loose & ~fixed, balanced, speeds, ~loose, sought)


def _cut_speeds(mech: "Mechanism", t: float, q: Floats) -> "CutSpeeds | None":
    """How the speeds of cut hinges follow from those of the tree, where the cut hinges stand."""
    from treemech.dynamics.analyses.linearization import CutSpeeds

    if mech.core.loops is None:
        return None
    work = mech.core.chord_work
    near = work.q.copy()
    V = cut_partials(mech.core, t, q)
    work.q[:] = near
    return CutSpeeds(cut_speed_names(mech), V)


def _all_numbers(mech: "Mechanism", names: Sequence[str]) -> list[int]:
    """As `_numbers`; speeds of cut hinges count on behind those of the tree."""
    known, found = cut_speed_names(mech), list[int]()
    for name in names:
        own = [k for k, n in enumerate(known) if name in (n, n.partition("[")[0])]
        found += [mech.nu + k for k in own] or _numbers(mech, [name])
    return found


def _numbers(mech: "Mechanism", names: Sequence[str]) -> list[int]:
    """Numbers of the speeds with these names, in their order; a hinge means all of its speeds."""
    not_cut(mech, names)
    return [int(k) for name in names for k in np.flatnonzero(~mech._free({name: None}, driven=False))]
