"""Motion of connections, bodies and points over a run.

Every quantity is computed when it is first asked for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from treemech.dynamics.model import trace as columns
from treemech.dynamics.model.core import Core
from treemech.topology import as_vector
from treemech.topology.arrays import Floats
from treemech.topology.rotation import euler_parameters

from .computed import Unique
from .model_info import BodyInfo
from .text import contents

_BLOCK = 256  # states whose trace is held at once; larger blocks are not faster
N_SWEPT = columns.VELOCITY.stop  # columns of a trace that need no accelerations


def sweep(core: Core, t: Floats, q: Floats, u: Floats) -> Floats:
    """Return rotations, positions and velocities of all bodies (n, nb+1, 18): the first columns of a trace.

    No load of an element is evaluated and no equation is solved. The entry "positions" of the core leaves the
    poses of one state only: called state by state it takes as long as this sweep, which finds the velocities
    too.
    """
    found = np.empty((len(t), core.rows, N_SWEPT))
    with core.unloaded():
        for start in range(0, len(t), _BLOCK):
            own = slice(start, start + _BLOCK)
            # The core writes prescribed values back: it gets copies.
            times, rest = t[own], np.zeros((len(t[own]), core.nu))
            trace, _ = core.trace(times, np.array(q[own], order="C"), np.array(u[own], order="C"), rest)
            found[own] = trace[:, :, :N_SWEPT]
    return found


class Lazy:
    """Base of dataclasses whose fields are computed on first use; a copy has all of them."""

    @classmethod
    def lazily(cls, known: Mapping[str, Any], finders: Mapping[str, Callable[[], Any]]) -> Self:
        """Make an instance from the fields that are known and a function for each of the others."""
        made = object.__new__(cls)
        made.__dict__.update(known, _finders=finders)
        return made

    if not TYPE_CHECKING:  # a type checker sees the fields only

        def __getattr__(self, name: str) -> Any:
            finders = self.__dict__.get("_finders", {})
            if name not in finders:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            value = self.__dict__[name] = finders[name]()
            return value

    def __repr__(self) -> str:
        return contents(self, [f.name for f in fields(self)])  # type: ignore[arg-type]

    def __dir__(self) -> list[str]:
        shown = {*super().__dir__(), *(f.name for f in fields(self))} - {"lazily"}  # type: ignore[arg-type]
        return sorted(shown)

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False, repr=False)
class PointMotion(Lazy):
    """Motion of a point over a run, world components, rows over time."""

    position: Floats
    velocity: Floats
    acceleration: Floats


@dataclass(frozen=True, eq=False, repr=False)
class ConnectionMotion(Lazy):
    """A connection over a run. Force and moment act on the body of end b, at the point of end b, world axes.

    A hinge with one coordinate has q and u as columns (n,), others as (n, nq), (n, nu). `local_force` and
    `local_moment` are in the axes of end b. Where `unique` is False, as a whole or for a component
    (`unique.force[0]`, world axes; `local_unique` for the axes of end b), the constraints are redundant: of
    the possible loads the smallest one is given (dynamics.analyses.reactions). A coupling has no force:
    `loads` has its load on every coordinate that it joins, by name (n,).
    """

    name: str
    q: Floats
    u: Floats
    ud: Floats
    force: Floats
    moment: Floats
    unique: Unique
    local_force: Floats
    local_moment: Floats
    local_unique: Unique
    loads: Mapping[str, Floats]

    def _coordinate(self, k: int, name: str) -> "ConnectionMotion":
        """Return the motion with one coordinate, number k, as if it were the only one."""

        def found(field: str) -> Any:
            whole = getattr(self, field)
            return whole[:, k] if field in ("q", "u", "ud") and whole.ndim == 2 else whole

        others = [f.name for f in fields(self) if f.name != "name"]
        return ConnectionMotion.lazily({"name": name}, {field: partial(found, field) for field in others})


class BodyMotion:
    """Motion of the origin of a body over a run, world components, rows over time."""

    def __init__(self, row: Callable[[slice], Floats], info: BodyInfo) -> None:
        """Take a function that returns columns of the body's trace."""
        self.name, self._row, self._info = info.name, row, info

    def __repr__(self) -> str:
        return contents(self, self._quantities())

    @classmethod
    def _quantities(cls) -> list[str]:
        return [n for n, member in vars(cls).items() if isinstance(member, (cached_property, property))]

    @classmethod
    def of_trace(cls, row: Floats, info: BodyInfo) -> "BodyMotion":
        """Make the motion from a trace of the body (n, 30)."""
        return cls(lambda part: row[:, part], info)

    @cached_property
    def position(self) -> Floats:
        return self._row(columns.POSITION)

    @cached_property
    def rotation(self) -> Floats:
        return self._row(columns.ROTATION).reshape(-1, 3, 3)

    @cached_property
    def velocity(self) -> Floats:
        return self._row(columns.VELOCITY)

    @cached_property
    def angular_velocity(self) -> Floats:
        return self._row(columns.OMEGA)

    @cached_property
    def acceleration(self) -> Floats:
        return self._row(columns.ACCELERATION)

    @cached_property
    def angular_acceleration(self) -> Floats:
        return self._row(columns.ALPHA)

    @cached_property
    def euler_parameters(self) -> Floats:
        """Euler parameters of the rotation (n, 4), scalar first; their signs change continuously along the run."""
        found = euler_parameters(self.rotation)
        same = (
            np.einsum("ni,ni->n", found[1:], found[:-1]) >= 0.0
        )  # or the opposite, which is the same rotation
        found[1:] *= np.cumprod(np.where(same, 1.0, -1.0))[:, None]
        return found

    @property
    def com(self) -> Floats:
        """Position of the centre of mass."""
        return self.point(self._info.com).position

    def point(self, offset: ArrayLike) -> PointMotion:
        """Return the motion of a point fixed in the body."""
        place = as_vector(offset, f"point of body {self.name!r}")

        def arm() -> Floats:
            return np.asarray(self.rotation @ place)

        def velocity() -> Floats:
            return self.velocity + np.cross(self.angular_velocity, arm())

        def acceleration() -> Floats:
            w, r = self.angular_velocity, arm()
            return self.acceleration + np.cross(self.angular_acceleration, r) + np.cross(w, np.cross(w, r))

        finders = {
            "position": lambda: self.position + arm(),
            "velocity": velocity,
            "acceleration": acceleration,
        }
        return PointMotion.lazily({}, finders)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy gets: all quantities, but not the run."""
        quantities = [n for n, member in vars(type(self)).items() if isinstance(member, cached_property)]
        return {"name": self.name, "_info": self._info} | {n: getattr(self, n) for n in quantities}
