"""Methods of an author's element evaluated in plain Python, and random motions to evaluate them at."""

from typing import Any

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from ..compilation.callback import _WithSignals, python_self
from ..compilation.methods import methods_of
from ..constraint import Constraint, RelativeMotion
from ..coupling import Coupling
from ..element import parameters
from ..energetic import Deformed, Effort, Energetic, load_views, motion_views
from ..hinge import Hinge
from ..load import EndMotion
from .report import locked, shown


def python_pose(hinge: Hinge, q: Floats, t: float) -> tuple[Floats, Floats]:
    """Return (offset, rotation) of a pose-only hinge by plain Python; signals in the pose are numbers."""
    values = {p.name: p.value.at(t).value for p in parameters(hinge) if p.kind == "signal"}
    offset, rotation = np.zeros(3), np.eye(3)
    cls: Any = type(hinge)
    cls.pose(_WithSignals(hinge, values) if values else hinge, q, float(t), offset, rotation)
    return offset, rotation


def sampled(element: Constraint | Coupling, rng: np.random.Generator, t: float) -> tuple[Floats, ...]:
    """Return (offset, rotation, s) or (q,) of a random position from the element's sample(); read only."""
    if isinstance(element, Constraint):
        na, start = element.n_auxiliary, np.asarray(element.auxiliary(), dtype=np.float64)
        if start.shape != (na,):
            raise ElementError(f"{element.kind}.auxiliary() is {shown(start)}; wanted {na} numbers.")
        given: Any = element.sample(rng, t)
        shapes: list[tuple[int, ...]] = [(3,), (3, 3), (na,)]
    else:
        given, shapes = (element.sample(rng, t),), [(n_rates(element),)]
    place = tuple(locked(np.array(x, dtype=np.float64)) for x in given)
    if [x.shape for x in place] != shapes or not all(np.all(np.isfinite(x)) for x in place):
        raise ElementError(f"{element.kind}.sample(rng, t) gives {given!r}; wanted shapes {shapes}.")
    return place


def resting_end() -> EndMotion:
    """Return the motion of an end at the origin, at rest."""
    return EndMotion(*(locked(x) for x in (np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3))))


def sampled_motion(element: Energetic, rng: np.random.Generator, t: float) -> Floats:
    """Return a random motion record from the element's sample(); read only."""
    given, size = element.sample(rng, t), element.n.motion_size
    record = locked(np.array(given, dtype=np.float64))
    if record.shape != (size,) or not np.all(np.isfinite(record)):
        raise ElementError(f"{element.kind}.sample(rng, t) gives {given!r}; wanted {size} finite numbers.")
    return record


def python_eps(element: Energetic, record: Floats, t: float) -> Floats:
    """Return the deformations by plain Python; signals in them are numbers."""
    n, methods = element.n, methods_of(element)
    motion, eps = motion_views(record, n), np.zeros(n.deformations)
    if "deformation" not in methods:
        return motion.q.copy()
    values = {p.name: p.value.at(t).value for p in parameters(element) if p.kind == "signal"}
    me = _WithSignals(element, values) if values else element
    methods["deformation"](me, motion.position, motion.rotation, t, eps)
    return eps


def python_load(
    element: Energetic, record: Floats, t: float, rate: Floats | None = None, effort: Floats | None = None
) -> Floats:
    """Return the load record by plain Python.

    Without `evaluate` it holds only the part that effort or balance fills in. The rate of eps and the
    solution of an implicit law are 0 unless given.
    """
    n, methods = element.n, methods_of(element)
    out = np.zeros(n.load_size)
    motion, load = motion_views(record, n), load_views(out, n)
    me = python_self(element, t)
    if "evaluate" in methods:
        methods["evaluate"](me, motion, t, load)
        return out
    load.deformation[:] = python_eps(element, record, t)
    now, to = deformed(element, record, load.deformation, rate), Effort(load.effort, *load[3:7])
    if "effort" in methods:
        methods["effort"](me, now, t, to)
        return out
    if effort is not None:
        load.effort[:] = effort
    methods["law"](me, now, locked(load.effort), t, np.zeros(n.deformations))
    if "balance" in methods:
        methods["balance"](me, now, t, to)
    return out


def python_law(element: Energetic, record: Floats, t: float, rate: Floats | None, effort: Floats) -> Floats:
    """Return f of an implicit law by plain Python."""
    f = np.zeros(element.n_deformations)
    now = deformed(element, record, python_eps(element, record, t), rate)
    methods_of(element)["law"](python_self(element, t), now, locked(effort), t, f)
    return f


def python_memory(element: Energetic, record: Floats, t: float) -> Floats:
    """Return the memory after a step that ends in this motion, by plain Python."""
    motion = motion_views(record, element.n)
    memory = motion.memory.copy()
    methods_of(element, "remember")["remember"](python_self(element, t), motion, t, memory)
    return memory


def deformed(element: Energetic, record: Floats, eps: Floats, rate: Floats | None) -> Deformed:
    """Return the argument of an effort; the rate of hinge coordinates is their speed."""
    motion = motion_views(record, element.n)
    if "deformation" not in methods_of(element):
        rate = motion.u
    elif rate is None:
        rate = np.zeros(len(eps))
    return Deformed(locked(eps), locked(rate), motion.x, motion.inputs, motion.memory)


def n_rates(element: Constraint | Coupling) -> int:
    """Return the number of rates: of v, w and s', or of u."""
    return 6 + element.n_auxiliary if isinstance(element, Constraint) else element.n_arguments or 0


def relative_motion(place: tuple[Floats, ...], rates: Floats) -> RelativeMotion:
    """Return the motion of a constraint at (offset, rotation, s) with rates (v, w, s')."""
    return RelativeMotion(place[0], place[1], rates[:3], rates[3:6], place[2], rates[6:])


def python_equations(
    element: Constraint | Coupling, place: tuple[Floats, ...], rates: Floats, t: float
) -> tuple[Floats | None, Floats | None]:
    """Return (residual, slip) by plain Python, None for a missing method; signals in them are numbers."""
    values = {p.name: p.value.at(t).value for p in parameters(element) if p.kind == "signal"}
    me: Any = _WithSignals(element, values) if values else element
    cls: Any = type(element)
    n_velocity = element.n_nonholonomic
    f, g = np.zeros(element.n_rows - n_velocity), np.zeros(n_velocity)
    has_residual, has_slip = hasattr(cls, "residual") and len(f) > 0, hasattr(cls, "slip") and len(g) > 0
    if isinstance(element, Coupling):
        if has_residual:
            cls.residual(me, *place, float(t), f)
        if has_slip:
            cls.slip(me, *place, rates, float(t), g)
    else:
        offset, rotation, s = place
        if has_residual:
            cls.residual(me, offset, rotation, s, float(t), f)
        if has_slip:
            cls.slip(me, offset, rotation, rates[:3], rates[3:6], s, float(t), g)
    return f if has_residual else None, g if has_slip else None
