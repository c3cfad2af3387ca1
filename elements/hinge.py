"""Hinge elements (3.3.23-35): the relative motion of two ends as a function of coordinates and time."""

from math import prod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology.arrays import Floats
from treemech.topology.body import as_axis, as_vector
from treemech.topology.errors import ConvergenceError, ElementError
from treemech.topology.parameter import plain
from treemech.topology.rotation import rotation_vector

from .element import Element, structure

_FITS = 1e-10  # a pose that is met to this part of its distance is taken


class Motion(NamedTuple):
    """Motion of end b of a hinge, in the base of end a. Arrives zeroed, with rotation = 1."""

    offset: Floats  # c (3,)
    rotation: Floats  # C (3, 3)
    translation_partials: Floats  # v (nu, 3), one row per speed
    rotation_partials: Floats  # w (nu, 3)
    translation_drift: Floats  # v0 (3,)
    rotation_drift: Floats  # w0 (3,)
    translation_bias: Floats  # v00 (3,)
    rotation_bias: Floats  # w00 (3,)


def motion_layout(n_speeds: int) -> list[tuple[str, tuple[int, ...], int]]:
    """Return (name, shape, start) of each quantity in the flat motion record."""
    layout, start = [], 0
    for name in Motion._fields:
        shape: tuple[int, ...] = (n_speeds, 3) if name.endswith("partials") else (3,)
        if name == "rotation":
            shape = (3, 3)
        layout.append((name, shape, start))
        start += prod(shape)
    return layout


def motion_views(record: Floats, n_speeds: int) -> Motion:
    """Return the flat motion record as a Motion of views."""
    return Motion(
        *(record[start : start + prod(shape)].reshape(shape) for _, shape, start in motion_layout(n_speeds))
    )


class Hinge(Element):
    """The contract of a hinge. A subclass is a frozen dataclass; its fields are its parameters.

    1. ``n_coordinates`` is the number of coordinates q. The speeds u are their rates, with one exception:
       with ``euler_parameters = k`` the four numbers q[k:k+4] are Euler parameters (scalar first) and
       u[k:k+3] is the relative angular velocity in the base of end a.
    2. Write ``evaluate(self, q, u, t, motion)``. It fills in the motion of end b, in the base of end a::

           offset c, rotation C                      c = c(q, t), C = C(q, t)          (3.3.23)
           translation_partials v, rotation_partials w      v_k = dc/dq_k              (3.3.28), (3.3.32)
           translation_drift v0, rotation_drift w0          velocity left when u = 0   (3.3.31)
           translation_bias v00, rotation_bias w00          acceleration left when ud = 0 (3.3.30), (3.3.34)

       `motion` arrives zeroed with rotation = identity: write only the entries that differ. C maps components
       in the base of end b to components in the base of end a.
    3. Or write ``pose(self, q, t, offset, rotation)`` alone: the rest follows exactly from the same source
       compiled for jet numbers (elements.compilation.motion).
    4. Plain scalar Python is enough and best: numbers, loops, math functions, helper functions, fields of
       self. The method is compiled without changes. It must depend on its arguments and fields only.
    5. The speeds must be necessary and independent: [v w] has rank nu everywhere in the domain (3.3.36).
    6. Optional: ``domain()`` (where to sample q), ``coordinates(offset, rotation)`` (the inverse),
       ``reference()`` (q of the reference position), ``base()`` (a constant rotation of both end bases in
       which evaluate is written; axial hinges use it to be written about z).

    `tm.check(hinge)` checks all of this. A hinge then serves as branch, in either direction, and as chord.
    """

    n_coordinates: ClassVar[int] = 0
    euler_parameters: ClassVar[int | None] = None
    is_hinge: ClassVar[bool] = True
    author_methods = ("pose",)

    @property
    def n_speeds(self) -> int:
        return self.n_coordinates - (self.euler_parameters is not None)

    def evaluate(self, q: Floats, u: Floats, t: float, motion: Motion) -> None:
        raise ElementError(f"{self.kind} has neither evaluate() nor pose(): write one of them.")

    def base(self) -> Floats:
        return np.eye(3)

    def reference(self) -> Floats:
        """Return the coordinates of the reference position: zero, or the identity for Euler parameters."""
        q = np.zeros(self.n_coordinates)
        if self.euler_parameters is not None:
            q[self.euler_parameters] = 1.0
        return q

    def domain(self) -> tuple[ArrayLike, ArrayLike]:
        """Return the lowest and highest coordinates at which checks sample the hinge."""
        return -np.ones(self.n_coordinates), np.ones(self.n_coordinates)

    def sample(self, rng: "np.random.Generator") -> Floats:
        """Return random coordinates in the domain."""
        low, high = (np.asarray(x, dtype=np.float64) for x in self.domain())
        q = np.asarray(rng.uniform(low, high, self.n_coordinates), dtype=np.float64)
        if self.euler_parameters is not None:
            e = rng.normal(size=4)
            q[self.euler_parameters : self.euler_parameters + 4] = e / np.linalg.norm(e)
        return q

    def move(self, q: ArrayLike, step: ArrayLike) -> Floats:
        """Return the coordinates after the small motion `step` (speed times time), by the retraction."""
        q, step = np.array(q, dtype=np.float64), np.asarray(step, dtype=np.float64)
        k = self.euler_parameters
        if k is None:
            return np.asarray(q + step, dtype=np.float64)
        q[:k] += step[:k]
        q[k + 4 :] += step[k + 3 :]
        angle = float(np.linalg.norm(step[k : k + 3]))
        half = 0.5 * np.sinc(0.5 * angle / np.pi) * step[k : k + 3]  # sin(angle/2)/angle * step
        a, b = np.cos(0.5 * angle), half
        e0, e = q[k], q[k + 1 : k + 4].copy()
        q[k] = a * e0 - b @ e
        q[k + 1 : k + 4] = a * e + e0 * b + np.cross(b, e)
        return q

    def motion(
        self, q: ArrayLike, u: ArrayLike | None = None, t: float = 0.0, kind: Any = np.float64
    ) -> Motion:
        """Evaluate the motion at q, u, t once and return it; `kind` is the dtype of its numbers.

        Python evaluates it, or the compiled function if the author wrote only the pose.
        """
        numbers = as_vector(q, f"{self.kind}: q", self.n_coordinates)
        speeds = np.zeros(self.n_speeds) if u is None else as_vector(u, f"{self.kind}: u", self.n_speeds)
        record = np.zeros(24 + 6 * self.n_speeds, dtype=kind)
        motion = motion_views(record, self.n_speeds)
        motion.rotation[:] = np.eye(3)
        if has_pose(self):
            from .compilation.entry import call  # imported here because it compiles

            call(self, "hinge", numbers, speeds, t, record)
        else:
            from .compilation.callback import python_self

            type(self).evaluate(python_self(self, t), numbers, speeds, t, motion)
        return motion

    def coordinates(
        self, offset: ArrayLike, rotation: ArrayLike, guess: ArrayLike | None = None, t: float = 0.0
    ) -> Floats:
        """Return the q nearest to the guess that brings end b to this pose: Gauss-Newton, several starts."""
        best, gap = self.nearest_coordinates(offset, rotation, guess, t)
        if gap < _FITS * (1.0 + float(np.linalg.norm(offset))):
            return best
        raise ConvergenceError(
            f"{self.kind} cannot take the pose asked for: the nearest found is {gap:.2g} away "
            f"(at q = {np.array2string(best, precision=4)}). The offset or rotation is outside its motion."
        )

    def nearest_coordinates(
        self,
        offset: ArrayLike,
        rotation: ArrayLike,
        guess: ArrayLike | None = None,
        t: float = 0.0,
        attempts: int = 12,
    ) -> tuple[Floats, float]:
        """Return (q, gap): the coordinates that bring end b nearest to this pose, and what is left [m, rad]."""
        c, C = as_vector(offset, f"{self.kind}: offset"), np.asarray(rotation, dtype=np.float64)
        rng = np.random.default_rng(0)
        first = self.reference() if guess is None else np.asarray(guess, dtype=np.float64)
        best, best_gap = first, np.inf
        for attempt in range(attempts):
            q = first.copy() if attempt == 0 else self.sample(rng)
            for _ in range(60):
                m = self.motion(q, t=t)
                turn = C @ m.rotation.T
                gap = np.concatenate((c - m.offset, rotation_vector(turn)))
                if not self.n_speeds:
                    break
                J = np.hstack((m.translation_partials, m.rotation_partials))
                step = np.linalg.lstsq(J.T, gap, rcond=1e-12)[0]
                q = self.move(q, step)
                if np.linalg.norm(step) < 1e-14 * (1.0 + np.linalg.norm(q)):
                    break
            m = self.motion(q, t=t)
            size = float(np.linalg.norm(c - m.offset) + np.linalg.norm(rotation_vector(C @ m.rotation.T)))
            if size < best_gap:
                best, best_gap = q, size
            if best_gap < _FITS * (1.0 + float(np.linalg.norm(c))):
                break
        return best, best_gap


class AxialHinge(Hinge):
    """Hinge written about its third axis; `axis` gives the direction of this axis in the two end bases."""

    axis: Any

    def base(self) -> Floats:
        return axis_base(self.axis, self.kind)


def axis_field() -> Any:
    """Declare the `axis` field of an axial hinge: "x", "y", "z" or a vector."""
    return structure(default="z")


_BASES = {
    "x": ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    "y": ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
    "z": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
}


def axis_base(axis: Any, what: str) -> Floats:
    """Return a rotation whose third column is the axis.

    >>> axis_base("y", "hinge")[:, 2].tolist()
    [0.0, 1.0, 0.0]
    """
    if isinstance(axis, str):
        if axis not in _BASES:
            raise ElementError(
                f"{what}: axis is {axis!r}; wanted 'x', 'y', 'z' or a vector of three numbers."
            )
        return np.array(_BASES[axis])
    z = as_axis(axis, f"{what}: axis")
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(plain(z))))])
    x /= np.linalg.norm(x)
    return np.column_stack((x, np.cross(z, x), z))


def has_pose(hinge: Hinge) -> bool:
    """Return whether the author wrote only the pose."""
    return hasattr(type(hinge), "pose") and type(hinge).evaluate is Hinge.evaluate
