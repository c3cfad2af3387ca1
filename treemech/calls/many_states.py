"""Many states at once: numbers with leading axes, in full or by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import ElementError
from treemech.topology.arrays import Floats
from treemech.topology.parameter import as_floats

from ..analyses.cut_hinges import CutMotion
from ..analyses.element_states import placed_points
from ..analyses.states import make_state
from ..results.naming import as_place
from ..results.state import ROUNDED, State, reference_state

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def leading_axes_of(mech: Mechanism, t: Any, q: Any, u: Any, x: Any = None) -> tuple[int, ...]:
    """Return the leading axes of given numbers; () if they are those of one state."""
    shapes = [_shape(t), *_shapes(mech, q, 0), *_shapes(mech, u, 1)]
    if x is not None and not isinstance(x, Mapping):
        shapes.append(_shape(x)[:-1])
    try:
        return tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        names = ["t", *_labels(q, "q"), *_labels(u, "u"), "x"]
        told = ", ".join(f"{name} {s}" for name, s in zip(names, shapes, strict=False) if s)
        raise ElementError(f"the leading axes of many states do not fit together: {told}.") from None


def _labels(given: Any, what: str) -> list[str]:
    return [f"{what} of {key!r}" for key in given] if isinstance(given, Mapping) else [what]


def _shape(given: Any) -> tuple[int, ...]:
    try:
        return np.shape(given) if isinstance(given, np.ndarray | list | tuple) else ()
    except ValueError:
        raise ElementError(f"a state is given {given!r}; wanted rows of one length.") from None


def _shapes(mech: Mechanism, given: Any, which: int) -> list[tuple[int, ...]]:
    if not isinstance(given, Mapping):
        return [_shape(given)[:-1]]
    counts = {c.name: (c.hinge.n_coordinates, c.hinge.n_speeds)[which] for c in mech._lagrange.hinges}
    counts |= {c.name: (c.nq, c.nu)[which] for c in mech._info.chords}
    found = []
    for key, value in given.items():
        shape, place = _shape(value), as_place(str(key), counts)
        one = place.index is not None or counts.get(place.owner, 1) == 1
        if not one and which == 0 and shape[-2:] == (3, 3):
            shape = shape[:-1]  # a rotation
        found.append(() if shape in ((), (1,)) else shape if one else shape[:-1])
    return found


def many_states(
    mech: Mechanism, lead: tuple[int, ...], t: Any, q: Any, u: Any, x: Any, kept: bool = True
) -> State:
    """Return states with leading axes: t (...), q (..., nq), u (..., nu).

    States that are not kept may have the arrays that are given in place of copies.
    """
    try:
        times = np.array(np.broadcast_to(as_floats(t), lead))
    except (TypeError, ValueError):
        raise ElementError(f"t is {t!r}; wanted a number, or one for every state.") from None
    chords, own = {c.name for c in mech._info.chords}, {c.name for c in mech._lagrange.hinges}
    cut = any(
        as_place(str(key), own | chords).owner in chords
        for given in (q, u) if isinstance(given, Mapping) for key in given
    )  # fmt: skip
    if (
        mech._prescriptions
        or cut
        or x is not None
        or mech._points_to_place
        or not _numeric(q)
        or not _numeric(u)
    ):
        return _one_by_one(mech, lead, times, q, u, x)
    if not np.all(np.isfinite(times)):
        raise ElementError("t has numbers that are not finite.")
    changed = bool(mech._lagrange.euler_parameters)  # which are normalised in place
    full_q = _filled(mech, lead, reference_state(mech._lagrange, 0.0).q, q, "q", kept or changed)
    full_u = _filled(mech, lead, np.zeros(mech.nu), u, "u", kept)
    if q is not None:
        _normalise(mech, full_q)
    start, nx = mech._core.layout.efforts.start, mech._core.nx
    z = np.broadcast_to(start[: mech._core.nz], (*lead, mech._core.nz)).copy()
    own_t: Any = times
    found: Any = CutMotion(mech, own_t, full_q, full_u) if chords else {}
    time: Any = times if np.ndim(t) else float(t)
    return State(time, full_q, full_u, z[..., :nx], z[..., nx:], coordinates=mech._lagrange, cut=found)


def _numeric(given: Any) -> bool:
    """Tell whether everything given is an array of numbers, and no rotation."""
    values = given.values() if isinstance(given, Mapping) else [given]
    return not any(hasattr(v, "as_matrix") or _shape(v)[-2:] == (3, 3) for v in values)


def _filled(
    mech: Mechanism, lead: tuple[int, ...], start: Floats, given: Any, what: str, own: bool
) -> Floats:
    """Return all numbers: those given, others from a start; in an array of their own if asked for."""
    names = mech.coordinates if what == "q" else mech.speeds
    shape = (*lead, len(start))
    try:
        numbers = None if given is None or isinstance(given, Mapping) else given
        if numbers is not None and (
            own or not isinstance(numbers, np.ndarray) or numbers.dtype != np.float64
        ):
            numbers = as_floats(numbers)  # a new array
        if numbers is not None and numbers.shape == shape and numbers.dtype == np.float64:
            values = numbers
        else:
            values = np.broadcast_to(start, shape).copy()  # every state in one piece
        if isinstance(given, Mapping):
            for key, value in mech._numbered(given).items():
                first, n = _where(mech, str(key), what)
                numbers = as_floats(value)
                values[..., first : first + n] = (
                    numbers[..., None] if n == 1 and numbers.shape[-1:] != (1,) else numbers
                )
        elif numbers is not None and values is not numbers:
            values[...] = numbers
    except (TypeError, ValueError):
        raise ElementError(
            f"{what} is given numbers of another shape; wanted {shape}, the leading axes first: "
            f"{', '.join(names[:12])}{', ...' if len(names) > 12 else '.'}"
        ) from None
    with np.errstate(invalid="ignore", over="ignore"):
        sound = bool(np.isfinite(values.sum()))  # sums are finite where all numbers are, but for huge ones
    bad = [] if sound else np.argwhere(~np.isfinite(values)).tolist()
    if bad:
        at = tuple(bad[0])
        raise ElementError(
            f"{what} of {names[at[-1]]!r} is {values[at]} in state {at[:-1]}; wanted a finite number."
        )
    return values


def _where(mech: Mechanism, key: str, what: str) -> tuple[int, int]:
    """Return the first place of what a name stands for, and how many numbers it has."""
    from ..results.state import find

    place = as_place(key, {c.name for c in mech._lagrange.hinges})
    c = find(mech._lagrange, place.owner)
    first, n = (c.q, c.hinge.n_coordinates) if what == "q" else (c.u, c.hinge.n_speeds)
    if place.index is None:
        return first, n
    k = place.below(n)
    if k is None:
        raise ElementError(
            f"{key!r}: hinge {place.owner!r} ({c.hinge.kind}) has {n} numbers in {what}, from 0."
        )
    return first + k, 1


def _normalise(mech: Mechanism, q: Floats) -> None:
    """Normalise Euler parameters to length 1, in place, as for one state."""
    for a in mech._lagrange.euler_parameters:
        e0, e1, e2, e3 = np.moveaxis(q[..., a : a + 4], -1, 0)
        length = np.sqrt(e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3)
        if not np.all(np.abs(length - 1.0) < ROUNDED):
            worst = float(length.flat[int(np.argmax(np.abs(length - 1.0)))])
            raise ElementError(
                f"the Euler parameters at {mech.coordinates[a]!r} have length {worst:.6g} in one of the states; wanted length 1, the "
                "scalar first."
            )
        q[..., a : a + 4] /= length[..., None]


def _one_by_one(mech: Mechanism, lead: tuple[int, ...], t: Floats, q: Any, u: Any, x: Any) -> State:
    """Make every state by itself: motions are prescribed, cut hinges or states of elements given."""
    made = []
    for k in np.ndindex(*lead):
        own_x = (
            x[k] if x is not None and not isinstance(x, Mapping) and np.shape(x)[: len(lead)] == lead else x
        )
        one = make_state(mech, float(t[k]), _own(mech, q, lead, k, 0), _own(mech, u, lead, k, 1), own_x)
        made.append(placed_points(mech._core, one) if mech._points_to_place else one)

    def joined(arrays: list[Any]) -> Any:
        return np.array(arrays).reshape(*lead, *np.shape(arrays[0]))

    cut = {
        name: (joined([s.cut[name][0] for s in made]), joined([s.cut[name][1] for s in made]))
        for name in made[0].cut
    }
    time: Any = t
    return State(
        time, joined([s.q for s in made]), joined([s.u for s in made]), joined([s.x for s in made]),
        joined([s.memory for s in made]), coordinates=mech._lagrange, cut=cut,
    )  # fmt: skip


def _own(mech: Mechanism, given: Any, lead: tuple[int, ...], k: tuple[int, ...], which: int) -> Any:
    """Return the numbers of one state."""
    if isinstance(given, Mapping):
        shapes = _shapes(mech, given, which)
        return {
            key: np.broadcast_to(x, (*lead, *np.shape(x)[len(s) :]))[k] if s else x
            for (key, x), s in zip(mech._numbered(given).items(), shapes, strict=True)
        }
    if given is None or np.ndim(given) < 2:
        return given
    return np.broadcast_to(given, (*lead, np.shape(given)[-1]))[k]
