"""Mass properties of common solids, placed and put together; for example

``system.body("rod", **solids.rod((0, 0, 0), (1, 0, 0), mass=2.0).properties)``.

Every function gives a :class:`Solid` and takes its ``mass`` [kg] or its ``density``, one of them by name. The
density is per volume [kg/m3] for bulky solids, per area for plates and shells, per length for rods and rings.
Solids stand around the origin, with ``axis`` ("x", "y", "z" or a vector) as their axis where they have one;
cones and hemispheres stand with the centre of their base on it. ``moved`` places them, ``+`` joins them,
``-`` cuts a void.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import hypot, pi
from typing import NamedTuple, TypedDict, cast

import numpy as np

from .arrays import Floats
from .body import as_axis, as_inertia, as_number, as_rotation, as_vector
from .declared import Declaration, Property, declarable
from .deferred import dataclass
from .errors import ElementError
from .parameter import component, pictured, plain

__all__ = [
    "PrincipalAxes", "Properties", "Solid", "box", "composite", "cone", "conical_shell", "cylinder", "cylindrical_shell", "disk",
    "ellipsoid", "hemisphere", "plate", "point", "polygon", "principal_axes", "ring", "rod", "sphere",
    "spherical_shell", "torus",
]  # fmt: skip

Shape = Mapping[str, object]


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__


class Properties(TypedDict):
    """Arguments of ``system.body`` that a solid provides."""

    mass: float
    inertia: Floats
    com: Floats
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, eq=False)
class Solid:
    """Mass, inertia (3x3, about the centre of mass), centre of mass and shapes for the viewer.

    A shape is a dict with a ``kind``, its measures, and ``offset`` and ``rotation``, where it stands in the
    body.
    """

    mass: float
    inertia: Floats
    com: Floats
    shapes: tuple[Shape, ...] = ()
    declared: Declaration | None = None  # with parameters: how it was made

    @property
    def properties(self) -> Properties:
        """Return mass, inertia, com and shapes as arguments of ``system.body``; they follow parameters."""
        if self.declared is not None:
            return cast(Properties, {name: Property(self, name) for name in Properties.__annotations__})
        return {"mass": self.mass, "inertia": self.inertia, "com": self.com, "shapes": self.shapes}

    @declarable
    def moved(self, offset: object = (0.0, 0.0, 0.0), rotation: object = None) -> Solid:
        """Return the same solid, first turned about the origin, then shifted."""
        shift = as_vector(offset, "offset of a moved solid")
        turn = as_rotation(rotation, "rotation of a moved solid")
        return Solid(
            self.mass,
            turn @ self.inertia @ turn.T,
            shift + turn @ self.com,
            tuple(_moved_shape(shape, pictured(shift), pictured(turn)) for shape in self.shapes),
        )

    def inertia_about(self, point: object) -> Floats:
        """Return the inertia about another point, in the same axes: J + m (d.d 1 - d d^T) (parallel axes)."""
        return self.inertia + self.mass * _spread(self.com - as_vector(point, "point of inertia_about"))

    @declarable
    def __add__(self, other: Solid) -> Solid:
        return composite(self, other)

    @declarable
    def __sub__(self, void: Solid) -> Solid:
        return composite(self, voids=[void])


@declarable
def composite(*solids: Solid, voids: Sequence[Solid] = ()) -> Solid:
    """Combine several solids to one, minus the voids; a void is a solid of the missing material.

    Shapes of voids are not kept: a viewer that draws surfaces cannot subtract.

    >>> plate = box((1, 1, 0.1), density=10) - cylinder(0.2, 0.1, density=10)
    >>> round(plate.mass, 4)
    0.8743
    """
    if not solids:
        raise ElementError("a composite of no solids; wanted at least one.")
    signed = [(1.0, solid) for solid in solids] + [(-1.0, void) for void in voids]
    added = sum(solid.mass for solid in solids)
    mass = sum(sign * solid.mass for sign, solid in signed)
    if mass < -1e-12 * added:
        raise ElementError(
            f"voids of {added - mass:g} kg in {added:g} kg; wanted less. A void takes mass away."
        )
    if mass <= 1e-12 * added:  # nothing left, or nothing there: the centre of mass is undefined
        if not isinstance(mass, float):
            raise ElementError("a composite whose mass vanishes here only: its centre has no derivative.")
        mass, com = 0.0, np.mean([solid.com for solid in solids], axis=0)
    else:
        com = sum((sign * solid.mass * solid.com for sign, solid in signed), np.zeros(3)) / mass
    inertia = sum((sign * solid.inertia_about(com) for sign, solid in signed), np.zeros((3, 3)))
    if voids:
        try:
            as_inertia(inertia, "inertia of a composite")
        except ElementError as error:
            raise ElementError(
                f"{error} Its voids must lie inside the material and have its density."
            ) from None
    return Solid(mass, inertia, com, tuple(shape for solid in solids for shape in solid.shapes))


@declarable
def point(mass: object, at: object = (0.0, 0.0, 0.0)) -> Solid:
    """Return a point mass."""
    m = _mass("point", 1.0, mass, None)
    return Solid(m, np.zeros((3, 3)), np.array(as_vector(at, "place of a point")), ())


@declarable
def rod(start: object, end: object, *, mass: object = None, density: object = None) -> Solid:
    """Return a thin straight rod between two points; density per length.

    >>> rod((0, 0, 0), (2, 0, 0), mass=3.0).inertia.diagonal().tolist()
    [0.0, 1.0, 1.0]
    """
    a, b = as_vector(start, "start of a rod"), as_vector(end, "end of a rod")
    length = np.sqrt((b - a) @ (b - a))
    m = _mass("rod", _positive(length, "length of a rod"), mass, density)
    shape = _shape("line", points=[a.tolist(), b.tolist()])
    return Solid(m, m / 12.0 * _spread(b - a), 0.5 * (a + b), (shape,))


@declarable
def box(size: object, *, mass: object = None, density: object = None) -> Solid:
    """Return a solid box with edges (x, y, z).

    >>> box((1, 2, 3), mass=12.0).inertia.diagonal().tolist()
    [13.0, 10.0, 5.0]
    """
    edges = as_vector(size, "size of a box")
    x, y, z = (_positive(edge, "edge of a box") for edge in edges.tolist())
    m = _mass("box", x * y * z, mass, density)
    xx, yy, zz = x * x / 12, y * y / 12, z * z / 12
    return _centred(m, (yy + zz, xx + zz, xx + yy), _shape("box", size=[x, y, z]))


@declarable
def ellipsoid(semi_axes: object, *, mass: object = None, density: object = None) -> Solid:
    """Return a solid ellipsoid with semi-axes along (x, y, z)."""
    a, b, c = (
        _positive(s, "semi-axis of an ellipsoid") for s in as_vector(semi_axes, "semi-axes of an ellipsoid")
    )
    m = _mass("ellipsoid", 4 / 3 * pi * a * b * c, mass, density)
    moments = ((b * b + c * c) / 5, (a * a + c * c) / 5, (a * a + b * b) / 5)
    return _centred(m, moments, _shape("ellipsoid", semi_axes=[a, b, c]))


@declarable
def sphere(
    radius: object, *, inner_radius: object = 0.0, mass: object = None, density: object = None
) -> Solid:
    """Return a sphere, solid or with a concentric hollow."""
    r, inner = _radii(radius, inner_radius, "sphere")
    m = _mass("sphere", 4 / 3 * pi * (r**3 - inner**3), mass, density)
    j = 0.4 * (r**5 - inner**5) / (r**3 - inner**3)
    return _centred(m, (j, j, j), _shape("sphere", radius=r))


@declarable
def spherical_shell(radius: object, *, mass: object = None, density: object = None) -> Solid:
    """Return a thin spherical shell; density per area."""
    r = _positive(radius, "radius of a spherical shell")
    m = _mass("spherical shell", 4 * pi * r * r, mass, density)
    j = 2 / 3 * r * r
    return _centred(m, (j, j, j), _shape("sphere", radius=r))


@declarable
def hemisphere(radius: object, *, axis: object = "z", mass: object = None, density: object = None) -> Solid:
    """Return a solid half sphere with its base on the origin and its dome along the axis."""
    r = _positive(radius, "radius of a hemisphere")
    m = _mass("hemisphere", 2 / 3 * pi * r**3, mass, density)
    lateral = (0.4 - 9 / 64) * r * r
    return _axial(m, lateral, 0.4 * r * r, 3 / 8 * r, axis, "hemisphere", _shape("hemisphere", radius=r))


@declarable
def cylinder(
    radius: object,
    length: object,
    *,
    inner_radius: object = 0.0,
    axis: object = "z",
    mass: object = None,
    density: object = None,
) -> Solid:
    """Return a cylinder, solid or hollow.

    >>> cylinder(1.0, 3.0, mass=4.0).inertia.diagonal().tolist()
    [4.0, 4.0, 2.0]
    """
    r, inner = _radii(radius, inner_radius, "cylinder")
    h = _positive(length, "length of a cylinder")
    m = _mass("cylinder", pi * (r * r - inner * inner) * h, mass, density)
    polar = 0.5 * (r * r + inner * inner)
    shape = _shape("cylinder", radius=r, length=h, inner_radius=inner)
    return _axial(m, 0.5 * polar + h * h / 12, polar, 0.0, axis, "cylinder", shape)


@declarable
def cylindrical_shell(
    radius: object, length: object, *, axis: object = "z", mass: object = None, density: object = None
) -> Solid:
    """Return a thin cylindrical shell, open at both ends; density per area."""
    r, h = (
        _positive(radius, "radius of a cylindrical shell"),
        _positive(length, "length of a cylindrical shell"),
    )
    m = _mass("cylindrical shell", 2 * pi * r * h, mass, density)
    shape = _shape("cylinder", radius=r, length=h, inner_radius=r)
    return _axial(m, 0.5 * r * r + h * h / 12, r * r, 0.0, axis, "cylindrical shell", shape)


@declarable
def cone(
    radius: object,
    height: object,
    *,
    top_radius: object = 0.0,
    axis: object = "z",
    mass: object = None,
    density: object = None,
) -> Solid:
    """Return a solid cone or frustum with its base on the origin and its top along the axis."""
    r, t, h = _cone_measures(radius, top_radius, height, "cone")
    s = r * r + r * t + t * t
    m = _mass("cone", pi * h * s / 3, mass, density)
    polar = 0.3 * (r**4 + r**3 * t + r * r * t * t + r * t**3 + t**4) / s
    centre = h * (r * r + 2 * r * t + 3 * t * t) / (4 * s)
    along = h * h * (r * r + 3 * r * t + 6 * t * t) / (10 * s) - centre**2
    shape = _shape("cone", radius=r, top_radius=t, length=h)
    return _axial(m, 0.5 * polar + along, polar, centre, axis, "cone", shape)


@declarable
def conical_shell(
    radius: object,
    height: object,
    *,
    top_radius: object = 0.0,
    axis: object = "z",
    mass: object = None,
    density: object = None,
) -> Solid:
    """Return the thin lateral surface of a cone or frustum, placed as :func:`cone`; density per area."""
    r, t, h = _cone_measures(radius, top_radius, height, "conical shell")
    m = _mass("conical shell", pi * (r + t) * _hypot(h, r - t), mass, density)
    polar = 0.5 * (r * r + t * t)
    centre = h * (r + 2 * t) / (3 * (r + t))
    along = h * h * (r + 3 * t) / (6 * (r + t)) - centre**2
    shape = _shape("cone", radius=r, top_radius=t, length=h)
    return _axial(m, 0.5 * polar + along, polar, centre, axis, "conical shell", shape)


@declarable
def ring(radius: object, *, axis: object = "z", mass: object = None, density: object = None) -> Solid:
    """Return a thin circular ring; density per length."""
    r = _positive(radius, "radius of a ring")
    m = _mass("ring", 2 * pi * r, mass, density)
    return _axial(m, 0.5 * r * r, r * r, 0.0, axis, "ring", _shape("torus", radius=r, tube_radius=0.0))


@declarable
def torus(
    radius: object, tube_radius: object, *, axis: object = "z", mass: object = None, density: object = None
) -> Solid:
    """Return a solid ring of circular section; ``radius`` reaches to the middle of the tube."""
    r, a = _positive(radius, "radius of a torus"), _positive(tube_radius, "tube radius of a torus")
    if a > r:
        raise ElementError(f"tube radius of a torus is {a:g}; wanted at most its radius, {r:g}.")
    m = _mass("torus", 2 * pi * pi * r * a * a, mass, density)
    shape = _shape("torus", radius=r, tube_radius=a)
    return _axial(m, 0.5 * r * r + 0.625 * a * a, r * r + 0.75 * a * a, 0.0, axis, "torus", shape)


@declarable
def disk(
    radius: object,
    *,
    inner_radius: object = 0.0,
    axis: object = "z",
    mass: object = None,
    density: object = None,
) -> Solid:
    """Return a thin round plate, whole or with a concentric hole; density per area."""
    r, inner = _radii(radius, inner_radius, "disk")
    m = _mass("disk", pi * (r * r - inner * inner), mass, density)
    polar = 0.5 * (r * r + inner * inner)
    shape = _shape("cylinder", radius=r, length=0.0, inner_radius=inner)
    return _axial(m, 0.5 * polar, polar, 0.0, axis, "disk", shape)


@declarable
def plate(size: object, *, axis: object = "z", mass: object = None, density: object = None) -> Solid:
    """Return a thin rectangular plate with its normal along the axis; density per area.

    The two edges follow the axis in the order x, y, z, x, ...: (x, y) for "z", (y, z) for "x", (z, x) for
    "y".
    """
    a, b = (_positive(edge, "edge of a plate") for edge in as_vector(size, "size of a plate", 2).tolist())
    m = _mass("plate", a * b, mass, density)
    flat = _centred(m, (b * b / 12, a * a / 12, (a * a + b * b) / 12), _shape("box", size=[a, b, 0.0]))
    return flat.moved(rotation=_turn(axis, "plate"))


@declarable
def polygon(
    points: object,
    *,
    thickness: object = 0.0,
    holes: Sequence[object] = (),
    axis: object = "z",
    mass: object = None,
    density: object = None,
) -> Solid:
    """Return a flat plate with a polygonal outline, and polygonal holes, where its corners say.

    Its normal is along the axis and it reaches half its thickness to either side. The density is per volume;
    without thickness the plate is thin and the density is per area.

    Parameters
    ----------
    points : array (n, 2)
        Corners in order around the outline, either way round; (x, y) for "z", (y, z) for "x", (z, x) for "y".
    holes : sequence of arrays (n, 2)
        Outlines of the holes, inside the outline.

    Examples
    --------
    >>> frame = polygon([(0, 0), (4, 0), (4, 2), (0, 2)], holes=[[(1, 0.5), (3, 0.5), (3, 1.5), (1, 1.5)]], density=1.0)
    >>> frame.mass, frame.com.tolist(), frame.inertia[2, 2].round(3).item()
    (6.0, [2.0, 1.0, 0.0], 12.5)
    """
    from .polygon import as_outline, integrals, refuse_misplaced_holes

    h = as_number(thickness, "thickness of a polygon")
    if h < 0.0:
        raise ElementError(f"thickness of a polygon is {h:g}; wanted zero (thin) or more.")
    outer = as_outline(points, "outline of a polygon")
    inner = [as_outline(hole, f"hole {k} of a polygon") for k, hole in enumerate(holes)]
    refuse_misplaced_holes(outer, inner)
    whole, voids = integrals(outer), [integrals(hole) for hole in inner]
    area = whole.area - sum(void.area for void in voids)
    x, y = (whole.first - sum(void.first for void in voids)) / area
    xx, yy, xy = (whole.second - sum(void.second for void in voids)) / area
    xx, yy, xy, zz = xx - x * x, yy - y * y, xy - x * y, h * h / 12.0
    m = _mass("polygon", as_number(area, "area of a polygon") * (h if plain(h) > 0.0 else 1.0), mass, density)
    inertia = m * np.array([[yy + zz, -xy, 0.0], [-xy, xx + zz, 0.0], [0.0, 0.0, xx + yy]])
    rings = [plain(ring).tolist() for ring in (outer, *inner)]
    shape = _shape("polygon", points=rings[0], holes=rings[1:], thickness=float(plain(h)))
    flat = Solid(m, inertia, np.array((x, y, 0.0 * x)), (shape,))
    return flat.moved(rotation=_turn(axis, "polygon"))


class PrincipalAxes(NamedTuple):
    """Principal moments of inertia in rising order, and the rotation whose columns are their axes."""

    moments: Floats
    rotation: Floats


def principal_axes(thing: object) -> PrincipalAxes:
    """Return the principal moments [kg m2] and axes of a solid, a body, or an inertia of 3, 6 or 3x3 numbers.

    The columns of the right-handed rotation are the axes, in the axes of the body; with moments J the inertia
    is rotation J rotation^T. ``solid.moved(rotation=rotation.T)`` turns a solid so that its inertia is
    diagonal, and ``body.at(body.com, rotation)`` is the attachment with the principal axes. Axes of equal
    moments are not unique.

    >>> moments, rotation = principal_axes(box((3, 1, 2), mass=12.0))
    >>> moments.tolist(), rotation[:, 0].tolist()
    ([5.0, 10.0, 13.0], [1.0, 0.0, 0.0])
    """
    matrix = plain(as_inertia(getattr(thing, "inertia", thing), "inertia of principal_axes"))
    moments, axes = np.linalg.eigh(matrix)
    for k in range(2):  # the largest component of an axis is positive
        axes[:, k] *= np.sign(axes[np.abs(axes[:, k]).argmax(), k])
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    return PrincipalAxes(moments, axes + 0.0)


def _mass(kind: str, measure: float, mass: object, density: object) -> float:
    if (mass is None) == (density is None):
        given = "neither" if mass is None else "both"
        raise ElementError(f"{kind}: {given} of mass and density given; wanted exactly one.")
    what = "mass" if density is None else "density"
    value = as_number(mass if density is None else density, f"{what} of a {kind}")
    if value < 0.0:
        raise ElementError(
            f"{what} of a {kind} is {value:g}; wanted zero or more. Cut a void with solid - void."
        )
    return value if density is None else value * measure


def _positive(value: object, what: str) -> float:
    number = as_number(value, what)
    if number <= 0.0:
        raise ElementError(f"{what} is {number:g}; wanted more than zero.")
    return number


def _radii(radius: object, inner_radius: object, kind: str) -> tuple[float, float]:
    r, inner = _positive(radius, f"radius of a {kind}"), as_number(inner_radius, f"inner radius of a {kind}")
    if not 0.0 <= inner < r:
        raise ElementError(
            f"inner radius of a {kind} is {inner:g}; wanted from 0 to less than its radius, {r:g}."
        )
    return r, inner


def _cone_measures(
    radius: object, top_radius: object, height: object, kind: str
) -> tuple[float, float, float]:
    r, t = _positive(radius, f"radius of a {kind}"), as_number(top_radius, f"top radius of a {kind}")
    if t < 0.0:
        raise ElementError(f"top radius of a {kind} is {t:g}; wanted zero or more.")
    return r, t, _positive(height, f"height of a {kind}")


def _centred(mass: float, moments: tuple[float, float, float], shape: Shape) -> Solid:
    """Return a solid around the origin; moments per unit of mass."""
    return Solid(mass, mass * np.diag(moments), np.zeros(3), (shape,))


def _axial(
    mass: float, lateral: float, polar: float, height: float, axis: object, kind: str, shape: Shape
) -> Solid:
    """Return a solid of revolution; moments per unit of mass, ``height`` of the centre of mass along the axis."""
    upright = Solid(mass, mass * np.diag((lateral, lateral, polar)), np.array((0.0, 0.0, height)), (shape,))
    return upright.moved(rotation=_turn(axis, kind))


def _turn(axis: object, kind: str) -> Floats:
    """Return a rotation that brings z to the axis; for "x" and "y" the cyclic one."""
    n = as_axis(axis, f"axis of a {kind}")
    helper = np.eye(3)[(component(n, np.argmax) + 2) % 3]
    first = np.cross(helper, n)
    first /= np.sqrt(first @ first)
    return np.column_stack((first, np.cross(n, first), n))


def _hypot(x: float, y: float) -> float:
    """Return the hypotenuse by math, or by numpy for dual numbers."""
    length: float = hypot(x, y) if isinstance(x, float) and isinstance(y, float) else np.hypot(x, y)
    return length


def _spread(d: Floats) -> Floats:
    """Return d.d 1 - d d^T, the inertia of a unit mass at d."""
    return np.asarray((d @ d) * np.eye(3) - np.outer(d, d))


def _shape(kind: str, **measures: object) -> Shape:
    return {"kind": kind, **measures, "offset": [0.0, 0.0, 0.0], "rotation": np.eye(3).tolist()}


def _moved_shape(shape: Shape, shift: Floats, turn: Floats) -> Shape:
    offset = shift + turn @ np.asarray(shape["offset"], dtype=np.float64)
    rotation = turn @ np.asarray(shape["rotation"], dtype=np.float64)
    return {**shape, "offset": offset.tolist(), "rotation": rotation.tolist()}
