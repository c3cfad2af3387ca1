"""Rigid bodies (ch. 2) and their attachments b, B for connections (5.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import Floats
from .declared import Declaration, depends, remade
from .deferred import dataclass
from .errors import ElementError, unknown
from .parameter import Expression, as_float, as_floats, decided, finite, plain

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Pose = tuple[Vector, Matrix]

INERTIA_TOLERANCE = 1e-9  # relative to the largest moment: six printed digits would be refused, nine pass
UNIT_TOLERANCE = 1e-15  # of n.n - 1: a normalised vector passes unchanged
ROTATION_TOLERANCE = 1e-8  # of R^T R - 1: a matrix from a file in single precision does not pass
UNTURNED: Matrix = np.eye(3)  # the rotation of what is not turned
UNTURNED.setflags(write=False)
_PLAIN = {float, int, np.float64}  # types of numbers that are neither parameters nor have derivatives
# kinds of shapes for pictures -> the measures they must have
_MEASURES: dict[str, tuple[str, ...]] = {
    "line": ("points",), "box": ("size",), "sphere": ("radius",), "ellipsoid": ("semi_axes",), "hemisphere": ("radius",),
    "cylinder": ("radius", "length"), "cone": ("radius", "length"), "torus": ("radius", "tube_radius"),
    "capsule": ("radius", "length"), "polygon": ("points",), "mesh": (),
}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Body:
    """Rigid body, checked by :func:`make_body`.

    Attributes
    ----------
    mass : float
        m [kg].
    inertia : (3, 3) array
        J about the centre of mass, in body axes [kg m2].
    com : (3,) array
        Centre of mass from the body origin, in body axes [m].
    shapes : tuple
        For viewing only; not used here.
    pose : (position (3,), rotation (3, 3)) or None
        Reference pose in the world, if the user gave one.
    number : int
        Place in the order of declaration; the ground is 0.
    """

    name: str
    mass: float
    inertia: Matrix
    com: Vector
    shapes: tuple[object, ...] = ()
    pose: Pose | None = None
    number: int = 0

    def at(self, offset: object = (0.0, 0.0, 0.0), rotation: object = None) -> Attachment:
        """Return an attachment for a connection to this body: point b and base B (5.2).

        Parameters
        ----------
        offset : 3 numbers
            b, from the body origin in body axes [m].
        rotation : 3x3 or scipy Rotation, optional
            B: maps components in the attachment base to components in the body base.

        Examples
        --------
        >>> make_body("crank", 1.0, (0, 1, 1)).at((1, 0, 0))
        Attachment('crank', offset=[1.0, 0.0, 0.0])
        """
        if rotation is None and (point := _plain_point(offset)) is not None:
            return Attachment(self, point, UNTURNED)
        of = f"of an attachment of body {self.name!r}"
        b, B = remade((offset, rotation), {})
        declared = Declaration(_attach, (self, offset, rotation), {}) if depends((offset, rotation)) else None
        return Attachment(self, as_vector(b, f"offset {of}"), as_rotation(B, f"rotation {of}"), declared)

    def __repr__(self) -> str:
        return f"Body({self.name!r}, mass={self.mass:g})"


@dataclass(frozen=True, eq=False, repr=False)
class Attachment:
    """Point b and base B of a body, where a connection ends (5.2).

    ``rotation`` maps components in the attachment base to components in the body base.
    """

    body: Body
    offset: Vector
    rotation: Matrix
    declared: Declaration | None = None  # with parameters: how it was made

    def at(self, offset: object = (0.0, 0.0, 0.0), rotation: object = None) -> Attachment:
        """Return another attachment of the same body, placed relative to this one and in its base."""
        step = self.body.at(offset, rotation)
        there = self.body.at(self.offset + self.rotation @ step.offset, self.rotation @ step.rotation)
        if self.declared is None and step.declared is None:
            return there
        return replace(there, declared=Declaration(_attach, (self, offset, rotation), {}))

    def __repr__(self) -> str:
        turned = "" if np.array_equal(self.rotation, np.eye(3)) else f", rotation={self.rotation.tolist()}"
        return f"Attachment({self.body.name!r}, offset={self.offset.tolist()}{turned})"


def _plain_point(offset: object) -> Vector | None:
    """Return three finite plain numbers as an array; None for everything else, which `as_vector` looks at."""
    if isinstance(offset, np.ndarray):
        if offset.dtype != np.float64 or offset.shape != (3,):
            return None
    elif type(offset) is not tuple or len(offset) != 3 or not _PLAIN.issuperset(map(type, offset)):
        return None
    x, y, z = offset
    try:
        return _frozen(np.array((x, y, z), dtype=np.float64)) if isfinite(x + y + z) else None
    except OverflowError:
        return None


def _attach(start: Body | Attachment, offset: object, rotation: object) -> Attachment:
    return start.at(offset, rotation)


def make_body(
    name: str,
    mass: object,
    inertia: object,
    com: object = (0.0, 0.0, 0.0),
    shapes: object = (),
    pose: object = None,
    number: int = 0,
    checked: bool = True,
) -> Body:
    """Make a body and check every value; the ground is ``make_body("ground", 0, (0, 0, 0))``.

    Parameters
    ----------
    mass : number
        Zero is legal here (a massless carrier); whether the motion stays determined is known only later.
    inertia : 3, 6 or 3x3 numbers
        About the centre of mass, in body axes: the diagonal; or (xx, yy, zz, xy, xz, yz), the entries of the
        matrix, so J_xy = - integral of x y dm; or the whole matrix. :func:`planar_inertia` makes it from the
        one moment that a plane motion needs.
    pose : (position, rotation) or position, optional
        Reference pose in the world.
    checked : bool
        False accepts a negative mass and any symmetric inertia, for difference steps next to the limits.

    Examples
    --------
    >>> make_body("rod", 1.0, (0, 1/12, 1/12), com=(0.5, 0, 0)).inertia.diagonal().round(3).tolist()
    [0.0, 0.083, 0.083]
    """
    if not isinstance(name, str) or not name:
        raise ElementError(f"a body is named {_shown(name)}; wanted a string that is not empty.")
    of = f"of body {name!r}"
    m = as_number(mass, f"mass {of}")
    if checked and m < 0.0:
        raise ElementError(
            f"mass {of} is {m:g}; wanted zero or more. To take material away use tm.solids voids."
        )
    return Body(
        name=name,
        mass=m,
        inertia=as_inertia(inertia, f"inertia {of}", checked),
        com=as_vector(com, f"com {of}"),
        shapes=as_shapes(shapes, f"shapes {of}"),
        pose=None if pose is None else as_pose(pose, f"pose {of}"),
        number=number,
    )


def as_number(value: object, what: str) -> float:
    """Return a finite float, or raise an ElementError that explains the fault.

    Accepts anything with ``__float__``. ``what`` starts the message: "mass of body 'arm'".
    """
    try:
        if isinstance(value, (bool, np.bool_)):  # an answer, no number
            raise TypeError
        number = as_float(value)
    except (TypeError, ValueError):
        raise ElementError(f"{what} is {_shown(value)}; wanted a number.") from None
    if not finite(number):
        raise ElementError(f"{what} is {number}; wanted a finite number.")
    return number


def as_vector(value: object, what: str, size: int = 3) -> Vector:
    """Return ``size`` finite floats, read-only, or raise an ElementError that explains the fault.

    >>> as_vector((1, 2, 3), "com of body 'arm'").tolist()
    [1.0, 2.0, 3.0]
    """
    wanted = f"{size} numbers"
    array = _as_floats(value, what, wanted)
    if array.shape != (size,):
        raise ElementError(f"{what} is {_shown(value)}, of shape {array.shape}; wanted {wanted}.")
    return _frozen(array)


def as_axis(value: object, what: str) -> Vector:
    """Return a unit vector from "x", "y", "z" or any vector that is not zero.

    >>> as_axis("y", "axis of hinge 'A'").tolist(), as_axis((0, 0, -2), "axis of hinge 'A'").tolist()
    ([0.0, 1.0, 0.0], [0.0, 0.0, -1.0])
    """
    if isinstance(value, str):
        if value not in ("x", "y", "z"):
            raise ElementError(f"{what} is {value!r}; wanted 'x', 'y', 'z' or 3 numbers.")
        return _frozen(np.eye(3)["xyz".index(value)])
    vector = as_vector(value, what)
    if vector.dtype != object and abs(vector @ vector - 1.0) < UNIT_TOLERANCE:
        return vector  # with a derivative it would be that of a vector of any length
    if not decided(_some, vector):
        raise ElementError(
            f"{what} is (0, 0, 0); wanted a direction: 'x', 'y', 'z' or a vector that is not zero."
        )
    if vector.dtype != object:
        vector = vector / np.abs(vector).max()  # first, so that neither 1e-200 nor 1e200 spoils the norm
    return _frozen(vector / np.sqrt(vector @ vector))


def as_rotation(value: object, what: str) -> Matrix:
    """Return a right-handed orthonormal 3x3 array, read-only; None is the identity.

    Accepts a matrix or an object with ``as_matrix`` (a scipy Rotation). Errors of the matrix up to the
    tolerance of 1e-8 are removed; otherwise constraints could not be closed exactly.
    """
    if value is None:
        return UNTURNED
    wanted = "a 3x3 rotation matrix or a scipy Rotation"
    as_matrix = getattr(value, "as_matrix", None)
    rotation = _as_floats(value if as_matrix is None else as_matrix(), what, wanted)
    if rotation.shape != (3, 3):
        raise ElementError(f"{what} is {_shown(value)}, of shape {rotation.shape}; wanted {wanted}.")
    square = rotation.T @ rotation
    if not decided(_orthonormal, square):
        error = float(np.abs(plain(square) - np.eye(3)).max())
        raise ElementError(
            f"{what} is not orthonormal: R^T R differs from 1 by {error:.3g}; wanted at most "
            f"{ROTATION_TOLERANCE:g}. Give more digits, or make it with scipy Rotation."
        )
    if decided(_left_handed, rotation):
        raise ElementError(
            f"{what} is left-handed (determinant -1); wanted +1. Change the sign of one column."
        )
    if not decided(_exact, square):
        rotation = rotation @ (
            1.5 * np.eye(3) - 0.5 * square
        )  # one step of Newton: the error squared remains
    return _frozen(rotation)


def as_pose(value: object, what: str) -> Pose:
    """Return (position, rotation) from such a pair, or from a position alone."""
    try:
        parts: tuple[object, ...] = tuple(value)  # type: ignore[arg-type]
    except TypeError:
        parts = ()
    if len(parts) == 3 and not any(hasattr(part, "__len__") for part in parts):
        parts = (parts, None)
    if len(parts) != 2:
        raise ElementError(f"{what} is {_shown(value)}; wanted (position, rotation).")
    return as_vector(parts[0], f"position in {what}"), as_rotation(parts[1], f"rotation in {what}")


def as_inertia(value: object, what: str, checked: bool = True) -> Matrix:
    """Return a physically possible 3x3 inertia matrix, read-only; any symmetric one if not `checked`.

    Principal moments must not be negative and satisfy the triangle inequality, to 1e-9 of the largest one.
    The limits are legal: (0, a, a) is a rod, all zero a point.
    """
    wanted = "3 numbers (diagonal), 6 (xx, yy, zz, xy, xz, yz) or 3x3"
    array = _as_floats(value, what, wanted)
    if array.shape == (3,):
        matrix = np.diag(array)
    elif array.shape == (6,):
        xx, yy, zz, xy, xz, yz = array.tolist()
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    elif array.shape == (3, 3):
        matrix = array
    else:
        raise ElementError(f"{what} is {_shown(value)}, of shape {array.shape}; wanted {wanted}.")

    if not decided(_symmetric, matrix):
        skew = float(np.abs(plain(matrix - matrix.T)).max())
        raise ElementError(
            f"{what} is not symmetric: J - J^T has an entry of {skew:.3g}; wanted zero. "
            "Give the 6 numbers (xx, yy, zz, xy, xz, yz) instead."
        )
    matrix = 0.5 * (matrix + matrix.T)
    if not checked:
        return _frozen(matrix)
    diagonal = array.shape == (3,)
    if decided(_possible_diagonal, array) if diagonal else decided(_possible, matrix):
        return _frozen(matrix)
    moments = np.sort(plain(array)) if diagonal else np.linalg.eigvalsh(plain(matrix))
    low, middle, high = moments.tolist()
    shown = f"{what} has principal moments {low:.6g}, {middle:.6g}, {high:.6g}"
    if low < -INERTIA_TOLERANCE * float(np.abs(plain(matrix)).max()):
        raise ElementError(f"{shown}: wanted none negative. Give it about the centre of mass, in SI units.")
    raise ElementError(
        f"{shown}: no body has {low:.6g} + {middle:.6g} < {high:.6g} (triangle inequality). "
        "Give it about the centre of mass, with xy = - integral of x y dm. A body that moves in a plane needs one moment "
        f"only: inertia=tm.planar_inertia({high:.6g}), with axis= for a plane other than x,y."
    )


# ---------------------------------------------------------------- conditions on one array of numbers, or on a stack of them
def _some(vector: Floats) -> Any:
    return np.abs(vector).max(axis=-1) != 0.0


def _gap(square: Floats) -> Any:
    return np.abs(square - np.eye(3)).max(axis=(-2, -1))


def _orthonormal(square: Floats) -> Any:
    return _gap(square) <= ROTATION_TOLERANCE


def _exact(square: Floats) -> Any:
    return _gap(square) <= 1e-14


def _left_handed(rotation: Floats) -> Any:
    return np.linalg.det(rotation) < 0.0


def _symmetric(matrix: Floats) -> Any:
    skew = np.abs(matrix - np.swapaxes(matrix, -1, -2)).max(axis=(-2, -1))
    return skew <= INERTIA_TOLERANCE * np.abs(matrix).max(axis=(-2, -1))


def _possible(matrix: Floats) -> Any:
    if not np.isfinite(matrix).all():  # a design among many; the others are looked at
        whole = np.asarray(np.isfinite(matrix).all(axis=(-2, -1)))
        return whole & _possible(np.where(whole[..., None, None], matrix, 0.0))
    return _are_possible(np.linalg.eigvalsh(matrix), np.abs(matrix).max(axis=(-2, -1)))


def _possible_diagonal(moments: Floats) -> Any:
    return _are_possible(np.sort(moments, axis=-1), np.abs(moments).max(axis=-1))


def _are_possible(moments: Any, largest: Any) -> Any:
    low, middle, high = np.moveaxis(moments, -1, 0)
    slack = INERTIA_TOLERANCE * largest
    return (low >= -slack) & (low + middle >= high - slack)


def planar_inertia(moment: Any, axis: object = "z") -> Any:
    """Return an inertia with this moment about an axis, for a body that moves in the plane normal to it.

    A plane motion depends on no other moment. The others are those of a lamina in the plane, half of the
    moment in every direction, so that the body is possible in space as well.

    Parameters
    ----------
    moment : number or Parameter
        J about the centre of mass [kg m2].
    axis : "x", "y", "z" or vector
        Normal of the plane, in body axes.

    Examples
    --------
    >>> planar_inertia(0.016)
    (0.008, 0.008, 0.016)
    """
    n = as_axis(axis, "axis of planar_inertia")
    if not isinstance(moment, Expression) and as_number(moment, "moment of planar_inertia") < 0.0:
        raise ElementError(f"moment of planar_inertia is {moment:g}; wanted zero or more.")
    share = 0.5 * (np.eye(3) + np.outer(plain(n), plain(n)))
    if isinstance(axis, str):
        return tuple(float(part) * moment for part in share.diagonal())
    return tuple(tuple(float(part) * moment for part in row) for row in share)


def as_shapes(given: Any, what: str) -> tuple[Mapping[str, Any], ...]:
    """Return shapes as a tuple, or raise an ElementError that explains the fault; one shape may stand alone.

    >>> as_shapes({"kind": "sphere", "radius": 0.1}, "shapes of body 'bob'")[0]["radius"]
    0.1
    """
    wanted = "a list of shapes, [{'kind': 'sphere', 'radius': 0.1}]; tm.solids makes them"
    if isinstance(given, Mapping):
        given = (given,)
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ElementError(f"{what} is {given!r}; wanted {wanted}.")
    shapes = tuple(given)
    for shape in shapes:
        if not isinstance(shape, Mapping) or not isinstance(shape.get("kind"), str):
            raise ElementError(f"{what} holds {shape!r}; wanted {wanted}.")
        kind = shape["kind"]
        if kind not in _MEASURES:
            raise ElementError(f"{what}: {unknown('kind of shape', kind, _MEASURES)}")
        missing = [name for name in _MEASURES[kind] if name not in shape]
        if missing:
            raise ElementError(f"{what}: a {kind} needs {', '.join(missing)}; there is {shape!r}.")
    return shapes


def _as_floats(value: object, what: str, wanted: str) -> NDArray[np.float64]:
    """Return a finite float array of any shape, which shares no memory with the caller's."""
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "fiuO":  # texts, answers and complex numbers would be converted somehow
            raise TypeError
        array = as_floats(raw)
    except (TypeError, ValueError):
        raise ElementError(f"{what} is {_shown(value)}; wanted {wanted}.") from None
    if not finite(array):
        raise ElementError(f"{what} is {array.tolist()}; wanted finite numbers only.")
    return array


def _frozen(array: NDArray[np.float64]) -> NDArray[np.float64]:
    array.setflags(write=False)
    return array


def _shown(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."
