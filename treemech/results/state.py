"""State: time, coordinates, speeds, states of elements, as numbers and by name."""

from collections.abc import Collection, Mapping
from dataclasses import field
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treemech.elements import Hinge
from treemech.kinematics.layout.lagrange import Coordinates, Lagrange
from treemech.topology import ElementError, TopologyError, unknown
from treemech.topology.arrays import Floats
from treemech.topology.deferred import dataclass
from treemech.topology.parameter import as_float, as_floats
from treemech.topology.rotation import euler_parameters

from .naming import as_place, named_coordinates

if TYPE_CHECKING:
    from .model_info import ModelInfo


SHOWN = 8  # hinges that repr(state) names
ROUNDED = 0.1  # Euler parameters that are guessed or typed with few digits may miss length 1 by this


@dataclass(frozen=True, eq=False)
class State:
    """A state of a mechanism: t, q, u in the public order, element states x, memory, active rows.

    Memory (histories, held inputs) and the mask of active rows change only at accepted steps; both are empty
    for plain hinges. `cut`: coordinates and speeds of cut hinges, by name; they follow from q and u except
    for whole turns.
    """

    t: float
    q: Floats
    u: Floats
    x: Floats = field(default_factory=lambda: np.zeros(0))
    memory: Floats = field(default_factory=lambda: np.zeros(0))
    active: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    cut: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict)
    coordinates: "Lagrange | ModelInfo | None" = field(default=None, repr=False)

    @property
    def z(self) -> Floats:
        """States and memory of elements, in the order of the core."""
        if self.memory.shape[-1:] == (0,):
            return self.x.copy()
        return np.concatenate((self.x, self.memory), axis=-1)

    def check_sizes(self, nq: int, nu: int, nz: int, chords: Collection[str], what: str) -> None:
        """Refuse a state of another mechanism."""
        has, wanted = (np.shape(self.q), np.shape(self.u)), ((nq,), (nu,))
        if has != wanted:
            if has[0][-1:] == wanted[0] and has[1][-1:] == wanted[1] and has[0][:-1] == has[1][:-1]:
                raise ElementError(
                    f"{what} takes one state, and these are {' x '.join(map(str, has[0][:-1]))}. Go through them: "
                    "mech.state(q=states.q[k], u=states.u[k])."
                )
            raise ElementError(
                f"{what}: q, u have shapes {has[0]}, {has[1]}; wanted {wanted[0]}, {wanted[1]}. Is it a state of another mechanism?"
            )
        if len(self.z) not in (0, nz):
            raise ElementError(
                f"{what}: x and memory have {len(self.z)} numbers; wanted {nz}. Is it a state of another mechanism?"
            )
        for name in self.cut:
            if name not in chords:
                raise ElementError(
                    f"{what}: no hinge {name!r} is cut here. Is it a state of another mechanism?"
                )

    def __repr__(self) -> str:
        """Return the numbers by name, six digits, as `mech.state` takes them; cut hinges too."""
        parts = [f"t={self.t:.6g}" if np.ndim(self.t) == 0 else f"t of shape {np.shape(self.t)}"]
        if self.coordinates is None or self.q.ndim > 1:
            shown = ((name, getattr(self, name)) for name in ("q", "u"))
            parts += [f"{name}={_short(a)}" for name, a in shown]
        else:
            names = [*(c.name for c in self.coordinates.hinges), *self.cut]
            for k, letter in enumerate("qu"):
                numbers = ((name, self[name][k]) for name in names[:SHOWN])
                named = [f"{name!r}: {_short(a)}" for name, a in numbers if len(a)]
                rest = [f"... {len(names) - SHOWN} hinges more"] if len(names) > SHOWN else []
                parts.append(f"{letter}={{{', '.join(named + rest)}}}")
        parts += [f"{name}={_short(a)}" for name in ("x", "memory") if np.size(a := getattr(self, name))]
        return f"State({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Return the numbers by name, for notebooks."""
        from ..notebook.html import state_html

        return state_html(self)

    def _ipython_key_completions_(self) -> list[str]:
        """Return the names that ``state["<Tab>`` completes."""
        known = [] if self.coordinates is None else [c.name for c in self.coordinates.hinges]
        return [*known, *self.cut]

    def _named(self) -> dict[str, str]:
        """Return the names that elements give to coordinates, "pose.roll", and what they stand for, "pose[4]"."""
        if isinstance(self.coordinates, Lagrange):
            each = [named_coordinates(c.name, c.hinge) for c in self.coordinates.hinges]
            return {alias: place for names in each for alias, place in names.items()}
        infos = () if self.coordinates is None else self.coordinates.connections  # of a run that was read
        return {f"{c.name}.{own}": f"{c.name}[{k}]" for c in infos for k, own in enumerate(c.coordinates)}

    def __getitem__(self, name: str) -> tuple[Floats, Floats]:
        """Return (q, u) of a hinge, or of one of its coordinates: "A[1]", or by the name it has, "pose.roll"."""
        if name in self.cut:
            return self.cut[name]
        if self.coordinates is None:
            raise ElementError("this state does not know its mechanism: index q and u by number.")
        for c in self.coordinates.hinges:
            if c.name == name:
                return self.q[..., c.q_slice], self.u[..., c.u_slice]
        known = {c.name for c in self.coordinates.hinges}
        place = as_place(self._named().get(name, str(name)))
        if place.index is not None and (place.owner in known or place.owner in self.cut):
            q, u = self[place.owner]
            k = place.below(u.shape[-1])
            if k is None or q.shape != u.shape:
                raise ElementError(
                    f"state[{name!r}]: hinge {place.owner!r} has no coordinate {place.index} that is no attitude."
                )
            return q[..., k : k + 1], u[..., k : k + 1]
        raise TopologyError(unknown("hinge", name, [*(c.name for c in self.coordinates.hinges), *self.cut]))


def _short(numbers: Any) -> str:
    """Return numbers with six digits: one alone, some in brackets, many states by their shape.

    >>> _short([0.1]), _short([1, 2 / 3]), _short(np.zeros((5, 2)))
    ('0.1', '[1, 0.666667]', '(5, 2) numbers')
    """
    array = np.asarray(numbers)
    if array.ndim > 1 or array.size > 4 * SHOWN:
        return f"{array.shape} numbers"
    digits = [f"{x:.6g}" for x in np.atleast_1d(array)]
    return digits[0] if len(digits) == 1 else f"[{', '.join(digits)}]"


def find(coordinates: Lagrange, name: str) -> Coordinates:
    """Return the coordinates of a hinge by name."""
    for c in coordinates.hinges:
        if c.name == name:
            return c
    raise TopologyError(unknown("hinge", name, [c.name for c in coordinates.hinges]))


def reference_state(coordinates: Lagrange, t: float) -> State:
    """Return the state with every hinge in its reference position, at rest."""
    q = np.concatenate([np.zeros(0), *(c.hinge.reference() for c in coordinates.hinges)])
    return State(float(t), q, np.zeros(coordinates.nu), coordinates=coordinates)


def fill(coordinates: Lagrange, start: Floats, given: Any, what: str) -> Floats:
    """Return all numbers: those given by name or in full, others from a start. `what` is "q" or "u"."""
    values = np.array(start, dtype=np.float64)
    if given is None:
        return values
    if isinstance(given, Mapping):
        for key, value in given.items():
            _fill_one(coordinates, values, str(key), value, what)
    else:
        try:
            array = as_floats(given)
        except (TypeError, ValueError):
            raise ElementError(f"{what} is {given!r}; wanted numbers, in full or by name.") from None
        if array.shape != values.shape:
            names = coordinates.q_names if what == "q" else coordinates.u_names
            raise ElementError(
                f"{what} has shape {array.shape}; wanted ({len(values)},): {', '.join(names[:12])}"
                + (", ..." if len(names) > 12 else ".")
            )
        values[:] = array
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        names = coordinates.q_names if what == "q" else coordinates.u_names
        raise ElementError(f"{what} of {names[bad[0]]!r} is {values[bad[0]]}; wanted a finite number.")
    if what == "q":
        normalise(coordinates, values)
    return values


def normalise(coordinates: Lagrange, q: Floats) -> None:
    """Normalise Euler parameters to length 1, in place."""
    for c in coordinates.hinges:
        if c.hinge.euler_parameters is not None:
            a = c.q + c.hinge.euler_parameters
            e0, e1, e2, e3 = q[a : a + 4].tolist()
            length = sqrt(e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3)
            if not abs(length - 1.0) < ROUNDED:
                raise ElementError(
                    f"the Euler parameters of hinge {c.name!r} are {q[a : a + 4].tolist()}, of length {length:.6g}; wanted length 1, "
                    "the scalar first: (cos(angle / 2), sin(angle / 2) axis)."
                )
            q[a : a + 4] /= length


def _fill_one(coordinates: Lagrange, values: Floats, key: str, value: Any, what: str) -> None:
    place = as_place(key, {c.name for c in coordinates.hinges})
    name = place.owner
    c = find(coordinates, name)
    n = c.hinge.n_coordinates if what == "q" else c.hinge.n_speeds
    start = c.q if what == "q" else c.u
    if place.index is not None:
        k = place.below(n)
        if k is None:
            raise ElementError(f"{key!r}: hinge {name!r} ({c.hinge.kind}) has {n} numbers in {what}, from 0.")
        try:
            values[start + k] = as_float(value)
        except (TypeError, ValueError):
            raise ElementError(f"{what} of {key!r} is {value!r}; wanted a number.") from None
        return
    numbers = hinge_numbers(value, c.hinge, c.name, what)
    if numbers.shape != (n,):
        raise ElementError(
            f"{what} of hinge {name!r} ({c.hinge.kind}) is given {numbers.size} numbers; wanted {n}."
        )
    values[start : start + n] = numbers


def hinge_numbers(value: Any, hinge: Hinge, name: str, what: str) -> Floats:
    """Return the numbers of one hinge, or unknowns of a constraint; the attitude of a ball may be given as a rotation."""
    if what == "q" and getattr(hinge, "euler_parameters", None) == 0 and hinge.n_coordinates == 4:
        matrix = value.as_matrix() if hasattr(value, "as_matrix") else np.asarray(value, dtype=np.float64)
        if np.shape(matrix) == (3, 3):
            e = euler_parameters(matrix)
            return np.asarray(-e if e[0] < 0 else e)
    try:
        return np.atleast_1d(as_floats(value))
    except (TypeError, ValueError):
        raise ElementError(f"{what} of hinge {name!r} is {value!r}; wanted numbers.") from None
