"""Elasto-hydrodynamic traction between a roller and another surface (9.1.4): the force of film slip."""

from dataclasses import dataclass, field
from math import asinh, cosh, exp, log, pi, sinh, sqrt, tanh
from typing import Any

import numpy as np

from treemech.topology.errors import ElementError
from treemech.topology.parameter import plain

from ..constraints.profile import Profile, curvature_near
from ..element import structure
from ..energetic import EndsLoad, EndsMotion, Energetic
from ..fields import make_numbers, make_signals, refuse_negative, refuse_unless_positive
from ..shared.two_ends import push, velocity_between
from ..signals.formulas import Constant

TINY = 1e-9  # [m/s], so that the film thickness is differentiable at rest
MOST = (
    300.0  # exponent of the viscosity, beyond any pressure that steel carries: iterations must not overflow
)
LAWS = ("barus", "roelands")
POLE, THIN = (
    5.1e-9,
    6.31e-5,
)  # Roelands: [1/Pa], and the viscosity [Pa s] that oils have in common at a pressure of -1 / POLE


@dataclass(frozen=True)
class EhdTraction(Energetic):
    """Traction of an oil film between a roller (end b) and a surface on end a.

    The axes are parallel to the z axis of end a. Another element keeps them in contact (CamFollower, a
    carrier of two disks); its load on the roller is the normal load L. With the slip s at the contact, the
    mean speed U of the film and 1/R = 1/radius + curvature::

        F = tau 2 b width              tau = tau_0 asinh(eta s / (tau_0 h))        eta = eta_0 exp(alpha p)        (Barus)
        b = sqrt(4 w R / (pi E))       p = w / 2b                                  w = L / width        (Hertz, line contact)
        h = roughness + 2.65 R G^0.54 u^0.7 W^-0.13        G = 2 alpha E      u = eta_0 U / 2 E R      W = w / 2 E R

    so F = f_t(s, L) L (9.1.4). Ree-Eyring's shear law with the viscosity at the mean Hertz pressure replaces
    Houpert's expression [1980], which the thesis uses but does not print. The film thickness is that of
    Dowson and Higginson.

    Above some 0.5 GPa there is more to say. Barus' law overestimates the viscosity; Roelands' has the same slope alpha at no
    pressure. A solidified oil carries a shear stress up to a `limit`. And the steel yields sooner than the film: with `creep` the
    elastic creep of the rolling surfaces (Carter, line contact) is part of the slip. Without it a film at 1 GPa and more is so stiff
    that integration crawls::

        eta = eta_0 exp(g ((1 + p / p_0)^z - 1))      g = ln(eta_0 / 6.31e-5)      p_0 = 1 / 5.1e-9      z = alpha p_0 / g
        s = (tau_0 h / eta) sinh(tau / tau_0) + 4 U tau / (pi E)      then tau = limit p tanh(tau / (limit p))

    The normal points from a to b: along the force of the named hinge or constraint on the roller
    (`reaction_of`), or, with a given load, from the point of end a to the point of end b (two disks).

    Parameters
    ----------
    radius : float [m]
        Of the roller; the point of end b is its centre.
    width : float [m]
    curvature : number, signal or function of t [1/m]
        Curvature of the other surface at the contact: 1/radius for a disk, 0 for a plane, negative if hollow.
    profile : Profile, optional
        Outline of the other surface, in the x,y plane of end a, in place of a given curvature: that of the
        cam with which the roller is in contact, ``cam.profile``. The curvature is taken where they touch.
    load : number, signal or function of t [N]
        Normal load; default the reaction.
    modulus : float [Pa]
        E of the contact: 1/E = (1 - nu_a^2)/E_a + (1 - nu_b^2)/E_b. Default two bodies of steel.
    viscosity, alpha, tau_0 : float [Pa s], [1/Pa], [Pa]
        eta_0, its pressure coefficient and Eyring's stress. Defaults: the engine oil at 90 C of (9.3).
    viscosity_law : "barus" or "roelands"
        How the viscosity grows with pressure.
    limit : float
        Largest shear stress relative to the mean pressure, 0.05 to 0.1 for oils; 0 for none.
    creep : bool
        Whether the elastic creep of the surfaces is part of the slip.
    roughness : float [m]
        Film thickness at rest.
    soft : float [N]
        The load is rounded off below this size.

    Examples
    --------
    >>> EhdTraction(radius=0.012, width=0.014, curvature=1 / 0.016).n_reactions
    1
    """

    radius: float
    width: float
    curvature: Any = 0.0
    load: Any = None
    modulus: float = 1.154e11
    viscosity: float = 1.7e-2
    alpha: float = 1.85e-8
    tau_0: float = 5.0e6
    roughness: float = 1e-8
    soft: float = 1e-3
    profile: Any = structure(default=None)
    viscosity_law: str = structure(default="barus")
    limit: float = 0.0
    creep: bool = structure(default=False)
    pieces: Any = field(default=None, init=False, repr=False)
    given: float = field(default=0.0, init=False, repr=False)
    roelands: float = field(default=0.0, init=False, repr=False)
    creeps: float = field(default=0.0, init=False, repr=False)

    @classmethod
    def example(cls) -> "EhdTraction":
        return cls(radius=0.01, width=0.01)

    @classmethod
    def examples(cls) -> "list[EhdTraction]":
        """Return one under a reaction and one under a given load: the library holds both."""
        return [cls.example(), cls(radius=0.01, width=0.01, load=100.0)]

    def __post_init__(self) -> None:
        object.__setattr__(self, "given", float(self.load is not None))
        if self.load is None:
            object.__setattr__(self, "load", 0.0)
        self._take_profile()
        self._take_law()
        make_numbers(self, "radius", "width", "modulus", "viscosity", "alpha", "tau_0", "roughness", "soft")
        make_signals(self, "curvature", "load")
        refuse_unless_positive(
            self, "radius", "width", "modulus", "viscosity", "alpha", "tau_0", "roughness", "soft"
        )
        if isinstance(self.curvature, Constant) and 1.0 / self.radius + self.curvature.level <= 0.0:
            raise ElementError(
                f"EhdTraction.curvature is {self.curvature.level:g}: a hollow must be wider than the roller, above "
                f"{-1.0 / self.radius:g} 1/m."
            )
        if isinstance(self.load, Constant) and self.load.level < 0.0:
            raise ElementError(f"EhdTraction.load is {self.load.level:g}: wanted 0 or more, it presses.")

    def _take_profile(self) -> None:
        """Store the pieces of the profile, none without a profile; refuse a hollow narrower than the roller."""
        profile = self.profile
        object.__setattr__(
            self, "pieces", np.zeros((1, 1)) if profile is None else getattr(profile, "pieces", None)
        )
        if profile is None:
            return
        if not isinstance(profile, Profile):
            raise ElementError(f"EhdTraction.profile is {profile!r}: wanted a Profile, cam.profile.")
        if self.given or not (isinstance(self.curvature, (int, float)) and self.curvature == 0.0):
            raise ElementError(
                "EhdTraction: with a profile the curvature follows from it, and load and normal from the contact; leave out "
                "curvature and load, and say reaction_of= the contact."
            )
        least = profile.least_curvature()
        if 1.0 / float(self.radius) + least <= 0.0:
            raise ElementError(
                f"EhdTraction.profile has a hollow of radius {-1.0 / least:g}: wanted wider than the roller, {self.radius:g}."
            )

    def _take_law(self) -> None:
        """Store law and creep as numbers; refuse other laws, and oils too thin for Roelands'."""
        if self.viscosity_law not in LAWS:
            raise ElementError(
                f"EhdTraction.viscosity_law is {self.viscosity_law!r}: wanted one of {', '.join(LAWS)}."
            )
        object.__setattr__(self, "roelands", float(self.viscosity_law == "roelands"))
        object.__setattr__(self, "creeps", float(bool(self.creep)))
        make_numbers(self, "viscosity", "limit")
        refuse_negative(self, "limit")
        if self.roelands and not plain(self.viscosity) > THIN:
            raise ElementError(
                f"EhdTraction.viscosity is {self.viscosity:g}: Roelands' law wants more than {THIN:g} Pa s."
            )

    @property
    def n_reactions(self) -> int:  # type: ignore[override]
        return 0 if self.given else 1

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        p, w, R = motion.position, motion.angular_velocity, motion.rotation[0]
        kx, ky, kz = R[0, 2], R[1, 2], R[2, 2]
        nx, ny, nz, L = normal_and_load(motion, self.given, self.load.value, self.soft)
        tx, ty, tz = ky * nz - kz * ny, kz * nx - kx * nz, kx * ny - ky * nx
        x, y, z = p[1, 0] - self.radius * nx, p[1, 1] - self.radius * ny, p[1, 2] - self.radius * nz
        vx, vy, vz = velocity_between(motion, x, y, z)
        slip = vx * tx + vy * ty + vz * tz
        turn = kx * (w[1, 0] - w[0, 0]) + ky * (w[1, 1] - w[0, 1]) + kz * (w[1, 2] - w[0, 2])
        curvature = 1.0 / self.radius + self.curvature.value
        if len(self.pieces) > 1:
            dx, dy, dz = x - p[0, 0], y - p[0, 1], z - p[0, 2]
            curvature += curvature_near(
                self.pieces,
                R[0, 0] * dx + R[1, 0] * dy + R[2, 0] * dz,
                R[0, 1] * dx + R[1, 1] * dy + R[2, 1] * dz,
            )
        # the contact point moves along a at (turn + slip / radius) / curvature, along b at that minus slip
        mean = (turn + slip / self.radius) / curvature - 0.5 * slip
        mean = sqrt(mean * mean + TINY * TINY)
        stress, half_width = traction_stress(
            slip, mean, L / self.width, 1.0 / curvature, self.modulus, self.viscosity, self.alpha, self.tau_0, self.roughness,
            self.roelands, self.limit, self.creeps,
        )  # fmt: skip
        F = stress * 2.0 * half_width * self.width
        push(motion, out, x, y, z, -F * tx, -F * ty, -F * tz)
        out.dissipated[0] = F * slip


def normal_and_load(motion: Any, given: float, load: float, soft: float) -> Any:
    """Return the normal from a to b and the load along it: given (along the centres), or of the hinge."""
    if given > 0.5:
        p = motion.position
        x, y, z = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
        size = sqrt(x * x + y * y + z * z)
        return x / size, y / size, z / size, sqrt(load * load + soft * soft)
    r = motion.reaction
    size = sqrt(r[0, 0] * r[0, 0] + r[0, 1] * r[0, 1] + r[0, 2] * r[0, 2] + soft * soft)
    return r[0, 0] / size, r[0, 1] / size, r[0, 2] / size, size


def traction_stress(
    slip: Any, mean: Any, w: Any, R: float, E: float, viscosity: float, alpha: float, tau_0: float, roughness: float,
    roelands: float, limit: float, creeps: float,
) -> Any:  # fmt: skip
    """Return the mean shear stress in the film and half the width of the Hertz contact."""
    b = sqrt(4.0 * w * R / (pi * E))
    film = 2.65 * R * (2.0 * alpha * E) ** 0.54 * (viscosity * mean / (2.0 * E * R)) ** 0.7
    film = roughness + film * (w / (2.0 * E * R)) ** (-0.13)
    pressure = w / (2.0 * b)
    growth = alpha * pressure
    if roelands > 0.5:
        size = log(viscosity / THIN)
        growth = size * (exp(alpha / (POLE * size) * log(1.0 + POLE * pressure)) - 1.0)
    growth = min(growth, MOST + 0.0 * growth)
    shear = viscosity * exp(growth) / film  # of the film, per slip
    stress = tau_0 * asinh(shear * slip / tau_0)
    if creeps > 0.5:
        stress = with_creep(slip, stress, shear, 4.0 * mean / (pi * E), tau_0)
    if limit > 0.0:
        stress = limit * pressure * tanh(stress / (limit * pressure))
    return stress, b


def with_creep(slip: Any, stress: Any, shear: Any, compliance: Any, tau_0: float) -> Any:
    """Return the stress at which film and surfaces slip by `slip` together, less than `stress` of the film alone.

    Newton's method from a stress that is too large: the sum of both is convex, so it comes down to the solution.
    """
    elastic = slip / compliance
    if abs(elastic) < abs(stress):
        stress = elastic
    for _ in range(12):
        x = stress / tau_0
        rest = tau_0 / shear * sinh(x) + compliance * stress - slip
        stress = stress - rest / (cosh(x) / shear + compliance)
    return stress
