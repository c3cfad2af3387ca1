"""Triangle in plane stress or plane strain between three points (3.4.20-22)."""

from dataclasses import dataclass, field
from math import atan2, cos, sin, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError
from treemech.topology.parameter import as_float

from ..element import structure
from ..energetic import Deformed, Effort, Energetic, motion_views
from ..fields import as_numbers, make_numbers, refuse_unless_positive


@dataclass(frozen=True, eq=False)
class PlaneElement(Energetic):
    """Massless elastic triangle of constant strain between three points, which may move anywhere in space.

    In the plane of the points, with the origin in the first one and the x axis through the second, the other
    two are (c12, 0) and (c13, c23)::

        eps = (c12 - l1, c23 - l2, c13 - l3)        (3.4.20)

    These give the upper triangular deformation gradient. Its rotation is removed (polar decomposition), the
    stress is linear in the remaining strain (U - 1), and F is the derivative of the energy: K eps near rest
    (3.4.22). So rotations may be large, and where the strain is uniform the result depends neither on the
    numbering of the points nor on the mesh.

    Parameters
    ----------
    points : array (3, 2)
        The unloaded triangle [m].
    young : float [N/m2]
    poisson : float
    thickness : float [m]
    state : "stress" or "strain"
        Plane stress (a thin sheet) or plane strain (a slice of a long body).
    damping : float [s]
        Proportional to the stiffness at rest.

    Examples
    --------
    >>> sheet = PlaneElement([(0, 0), (1, 0), (0, 1)], young=2e9, poisson=0.3, thickness=0.01)
    >>> sheet.stress([0.0, 0.0, 0.0]).tolist()
    [0.0, 0.0, 0.0]
    """

    points: ArrayLike = structure()
    young: float = structure()
    poisson: float = structure()
    thickness: float = structure()
    state: str = structure(default="stress")
    damping: float = 0.0
    edges: Any = field(default=None, init=False, repr=False)  # l1, l2, l3
    direct: float = field(default=0.0, init=False, repr=False)  # stress = direct strain + cross other strain
    cross: float = field(default=0.0, init=False, repr=False)
    shear: float = field(default=0.0, init=False, repr=False)
    volume: float = field(default=0.0, init=False, repr=False)
    n_ends = 3
    n_deformations = 3

    @classmethod
    def example(cls) -> "PlaneElement":
        return cls([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)], young=1e3, poisson=0.3, thickness=0.01)

    def __post_init__(self) -> None:
        make_numbers(self, "young", "poisson", "thickness", "damping")
        refuse_unless_positive(self, "young", "thickness")
        points = as_numbers(self.points, f"{self.kind}.points", "three points (x, y)", (3, 2))
        if self.state not in ("stress", "strain"):
            raise ElementError(f"{self.kind}.state is {self.state!r}; wanted 'stress' or 'strain'.")
        limit = 1.0 if self.state == "stress" else 0.5
        if not -1.0 < self.poisson < limit or self.damping < 0.0:
            raise ElementError(
                f"{self.kind}: poisson {self.poisson:g} and damping {self.damping:g}; wanted -1 < poisson < {limit:g} in plane "
                f"{self.state}, and damping of at least 0."
            )
        b, c = points[1] - points[0], points[2] - points[0]
        l1, area = np.hypot(*b), 0.5 * (b[0] * c[1] - b[1] * c[0])
        if abs(area) <= 1e-12 * (b @ b + c @ c):
            raise ElementError(f"{self.kind}.points lie on a line: they make no triangle.")
        e, v = self.young, self.poisson
        if self.state == "stress":
            direct, cross = e / (1 - v * v), e * v / (1 - v * v)
        else:
            direct, cross = e * (1 - v) / ((1 + v) * (1 - 2 * v)), e * v / ((1 + v) * (1 - 2 * v))
        edges = np.array([l1, 2.0 * abs(area) / l1, (b @ c) / l1])
        for name, value in (
            ("edges", edges),
            ("direct", direct),
            ("cross", cross),
            ("shear", e / (1 + v)),
            ("volume", as_float(abs(area) * self.thickness)),
        ):
            object.__setattr__(self, name, value)

    def stress(self, deformation: ArrayLike) -> Floats:
        """Return (xx, yy, xy) [N/m2] in the axes of the given points, which rotate with the element."""
        eps = np.asarray(deformation, dtype=np.float64)
        _, strain = biot_strain(self.edges, eps)
        xx, yy, xy = stress_of(self.direct, self.cross, self.shear, *strain)
        points = np.asarray(self.points, dtype=np.float64)
        b, c = points[1] - points[0], points[2] - points[0]
        flip = np.sign(b[0] * c[1] - b[1] * c[0])
        turn = np.array([[b[0], -flip * b[1]], [b[1], flip * b[0]]]) / np.hypot(*b)
        S = turn @ np.array([[xx, xy], [xy, yy]]) @ turn.T
        return np.array([S[0, 0], S[1, 1], S[0, 1]])

    def sample(self, rng: "np.random.Generator", t: float) -> Floats:
        """Return a random motion anywhere in space, the points displaced by a tenth of the size."""
        record = super().sample(rng, t)
        motion = motion_views(record, self.n)
        l1, l2, l3 = self.edges
        rest = np.array([(0.0, 0.0, 0.0), (l1, 0.0, 0.0), (l3, l2, 0.0)])
        place = motion.position[0].copy()
        motion.position[:] = (
            place + (rest + 0.1 * min(l1, l2) * rng.uniform(-1, 1, (3, 3))) @ motion.rotation[0].T
        )
        return record

    def deformation(self, position: Floats, rotation: Floats, t: float, eps: Floats) -> None:
        p = position
        bx, by, bz = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
        cx, cy, cz = p[2, 0] - p[0, 0], p[2, 1] - p[0, 1], p[2, 2] - p[0, 2]
        base = sqrt(bx * bx + by * by + bz * bz)
        nx, ny, nz = by * cz - bz * cy, bz * cx - bx * cz, bx * cy - by * cx
        eps[0] = base - self.edges[0]
        eps[1] = sqrt(nx * nx + ny * ny + nz * nz) / base - self.edges[1]
        eps[2] = (bx * cx + by * cy + bz * cz) / base - self.edges[2]

    def effort(self, now: Deformed, t: float, out: Effort) -> None:
        l1, l2, l3 = self.edges[0], self.edges[1], self.edges[2]
        angle, strain = biot_strain(self.edges, now.deformation)
        xx, yy, xy = stress_of(self.direct, self.cross, self.shear, strain[0], strain[1], strain[2])
        c, s = cos(angle), sin(angle)
        # first Piola-Kirchhoff stress of the rotated material, times the volume
        p11, p12, p22 = c * xx - s * xy, c * xy - s * yy, s * xy + c * yy
        out.effort[0] = self.volume * (p11 - p12 * l3 / l2) / l1
        out.effort[1] = self.volume * p22 / l2
        out.effort[2] = self.volume * p12 / l2
        out.energy[0] = 0.5 * self.volume * (xx * strain[0] + yy * strain[1] + 2.0 * xy * strain[2])
        # the damper: the same law with the strain rate at rest
        r1, r2, r3 = now.rate[0] / l1, now.rate[1] / l2, 0.5 * (now.rate[2] - now.rate[0] * l3 / l1) / l2
        xx, yy, xy = stress_of(self.direct, self.cross, self.shear, r1, r2, r3)
        size = self.damping * self.volume
        out.effort[0] += size * (xx - xy * l3 / l2) / l1
        out.effort[1] += size * yy / l2
        out.effort[2] += size * xy / l2
        out.dissipated[0] = size * (xx * r1 + yy * r2 + 2.0 * xy * r3)


def biot_strain(edges, eps):  # type: ignore[no-untyped-def]
    """Return (angle, (xx, yy, xy)): rotation and U - 1 of the upper triangular deformation gradient."""
    f11, f22 = 1.0 + eps[0] / edges[0], 1.0 + eps[1] / edges[1]
    f12 = (eps[2] - edges[2] * eps[0] / edges[0]) / edges[1]
    angle = atan2(-f12, f11 + f22)
    c, s = cos(angle), sin(angle)
    return angle, (c * f11 - 1.0, c * f22 - s * f12 - 1.0, 0.5 * (c * f12 + s * f22 - s * f11))


def stress_of(direct, cross, shear, xx, yy, xy):  # type: ignore[no-untyped-def]
    """Return the stress of a strain."""
    return direct * xx + cross * yy, cross * xx + direct * yy, shear * xy
