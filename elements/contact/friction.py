"""Dry friction between the two ends of a hinge: smoothed Coulomb and Stribeck, and bristles, which stick."""

from dataclasses import dataclass, field
from math import exp, sqrt
from typing import Any

from treemech.topology.errors import ElementError

from ..energetic import EndsLoad, EndsMotion, Energetic
from ..fields import make_numbers, make_signals, refuse_unless_positive
from ..shared.two_ends import push, twist, velocity_between
from ..signals.formulas import Constant


@dataclass(frozen=True)
class Friction(Energetic):
    """Coulomb friction with the Stribeck effect between the two ends of a hinge, smooth in the slip.

    The slip v is the velocity of end b relative to end a (translation: Prismatic, Planar, ...), or radius
    times the relative angular velocity (rotation: Revolute, Ball, ...; radius > 0). With the normal load N::

        F = -N mu(|v|) v / sqrt(|v|^2 + threshold^2) - viscous v      mu = coulomb + (static - coulomb) exp(-(|v| / stribeck)^2)

    acts on end b and its opposite on end a; in rotation, the moment radius F does. N is given, or it is the
    load of a hinge or constraint (`reaction_of`; by default the one between the same ends): N =
    sqrt(|force|^2 + soft^2) - soft + 2 |moment| / span. Below the threshold it creeps: see `BristleFriction`.

    Parameters
    ----------
    coulomb : float
        Coefficient of sliding friction.
    static : float
        Coefficient at the onset of sliding; default coulomb.
    radius : float [m]
        Of the bearing; 0 for translation.
    load : number, signal or function of t [N]
        Normal load; default the reaction of the hinge.
    threshold : float [m/s]
        Slip below which friction decreases to zero.
    stribeck : float [m/s]
        Slip over which static friction decreases to sliding friction.
    viscous : float [N s/m]
    span : float [m]
        Length of the guide, which carries transverse moments by a pair of forces; 0: moments do not count.
    soft : float [N]
        The load is rounded off below this size, so that it is differentiable everywhere.

    Examples
    --------
    >>> Friction(0.2, radius=0.01).n_reactions, Friction(0.2, load=50.0).n_reactions
    (1, 0)
    """

    coulomb: float
    static: Any = None
    radius: float = 0.0
    load: Any = None
    threshold: float = 1e-3
    stribeck: float = 1e-2
    viscous: float = 0.0
    span: float = 0.0
    soft: float = 1e-3
    given: float = field(default=0.0, init=False, repr=False)

    @classmethod
    def example(cls) -> "Friction":
        return cls(coulomb=0.1)

    @classmethod
    def examples(cls) -> "list[Friction]":
        """Return one under a reaction and one under a given load: the library holds both."""
        return [cls.example(), cls(coulomb=0.1, load=100.0)]

    def __post_init__(self) -> None:
        check_friction(self)
        make_numbers(self, "threshold", "viscous")
        refuse_unless_positive(self, "threshold")

    @property
    def n_reactions(self) -> int:  # type: ignore[override]
        return 0 if self.given else 1

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        vx, vy, vz = slip_of(motion, self.radius)
        speed2 = vx * vx + vy * vy + vz * vz
        mu = stribeck_curve(self.coulomb, self.static, self.stribeck, speed2)
        N = normal_load(motion, self.given, self.load.value, self.span, self.soft)
        c = N * mu / sqrt(speed2 + self.threshold * self.threshold) + self.viscous
        rub(motion, out, self.radius, -c * vx, -c * vy, -c * vz)
        out.dissipated[0] = c * speed2


@dataclass(frozen=True)
class BristleFriction(Energetic):
    """Friction that sticks: elastic bristles that slide when bent too far (LuGre, elasto-plastic, Dupont).

    With the slip v as in `Friction`, in components in the base of end a, and the deflection z of the bristles
    [m]::

        z' = v - a(z, v) |v| s z / mu(|v|)        s = static / presliding
        F = -N (s z + d(|v|) z') - viscous v      d = damping / (1 + (|v| / stribeck)^2)

    a = 0 if z is below `elastic` times its sliding value, and where the bristles unbend: there they are
    springs and nothing creeps. a = 1 at full sliding, and smooth in between. Under a constant load below
    static N the contact comes to rest after a displacement below `presliding`, and vibration does not make it
    creep. The energy of the bristles is N s z^2 / 2. If N is the load of a hinge, its rate is unknown, and
    the energy exchanged by a change of N counts as supplied. Dissipation is never negative: damping is
    limited to 8 coulomb / stribeck.

    Parameters
    ----------
    coulomb, static, radius, load, stribeck, viscous, span, soft
        As in `Friction`.
    presliding : float [m]
        Displacement at which sliding starts.
    damping : float [s/m]
        Of the bristles, per normal load; default coulomb / stribeck.
    elastic : float
        Part of the full deflection that is elastic, from 0 (LuGre's model) to below 1.

    Examples
    --------
    >>> BristleFriction(0.3, static=0.4, load=10.0).n_states
    3
    """

    coulomb: float
    static: Any = None
    radius: float = 0.0
    load: Any = None
    presliding: float = 1e-4
    stribeck: float = 1e-2
    viscous: float = 0.0
    damping: Any = None
    elastic: float = 0.7
    span: float = 0.0
    soft: float = 1e-3
    given: float = field(default=0.0, init=False, repr=False)
    n_states = 3

    @classmethod
    def example(cls) -> "BristleFriction":
        return cls(coulomb=0.1)

    @classmethod
    def examples(cls) -> "list[BristleFriction]":
        """Return one under a reaction and one under a given load: the library holds both."""
        return [cls.example(), cls(coulomb=0.1, load=100.0)]

    def __post_init__(self) -> None:
        check_friction(self)
        if self.damping is None:
            object.__setattr__(self, "damping", self.coulomb / self.stribeck)
        make_numbers(self, "presliding", "viscous", "damping", "elastic")
        refuse_unless_positive(self, "presliding")
        if not 0.0 <= self.elastic < 1.0:
            raise ElementError(f"BristleFriction.elastic is {self.elastic:g}: wanted at least 0 and below 1.")
        if not 0.0 <= self.damping <= 8.0 * self.coulomb / self.stribeck:
            raise ElementError(
                f"BristleFriction.damping is {self.damping:g}: wanted 0 to 8 coulomb / stribeck = "
                f"{8.0 * self.coulomb / self.stribeck:g} s/m; with more it would gain energy."
            )

    @property
    def n_reactions(self) -> int:  # type: ignore[override]
        return 0 if self.given else 1

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        R, x = motion.rotation, motion.x
        gx, gy, gz = slip_of(motion, self.radius)
        vx = R[0, 0, 0] * gx + R[0, 1, 0] * gy + R[0, 2, 0] * gz
        vy = R[0, 0, 1] * gx + R[0, 1, 1] * gy + R[0, 2, 1] * gz
        vz = R[0, 0, 2] * gx + R[0, 1, 2] * gy + R[0, 2, 2] * gz
        speed2, bend2 = vx * vx + vy * vy + vz * vz, x[0] * x[0] + x[1] * x[1] + x[2] * x[2]
        speed, s = sqrt(speed2), self.static / self.presliding
        mu = stribeck_curve(self.coulomb, self.static, self.stribeck, speed2)
        a = 0.0
        if x[0] * vx + x[1] * vy + x[2] * vz > 0.0:
            a = smooth_step((s * sqrt(bend2) / mu - self.elastic) / (1.0 - self.elastic))
        back = a * speed * s / mu
        zx, zy, zz = vx - back * x[0], vy - back * x[1], vz - back * x[2]
        d = self.damping / (1.0 + speed2 / (self.stribeck * self.stribeck))
        N = normal_load(motion, self.given, self.load.value, self.span, self.soft)
        fx = -N * (s * x[0] + d * zx) - self.viscous * vx
        fy = -N * (s * x[1] + d * zy) - self.viscous * vy
        fz = -N * (s * x[2] + d * zz) - self.viscous * vz
        rub(
            motion,
            out,
            self.radius,
            R[0, 0, 0] * fx + R[0, 0, 1] * fy + R[0, 0, 2] * fz,
            R[0, 1, 0] * fx + R[0, 1, 1] * fy + R[0, 1, 2] * fz,
            R[0, 2, 0] * fx + R[0, 2, 1] * fy + R[0, 2, 2] * fz,
        )
        out.rates[0] = zx
        out.rates[1] = zy
        out.rates[2] = zz
        elastic = x[0] * zx + x[1] * zy + x[2] * zz
        out.dissipated[0] = -fx * vx - fy * vy - fz * vz - N * s * elastic
        if self.given > 0.5:
            out.energy[0] = 0.5 * N * s * bend2
            out.supplied[0] = 0.5 * self.load.rate * s * bend2
        else:
            out.supplied[0] = -N * s * elastic


def check_friction(element: Any) -> None:
    """Check the numbers of a friction element and whether its load is given."""
    if element.static is None:
        object.__setattr__(element, "static", element.coulomb)
    object.__setattr__(element, "given", float(element.load is not None))
    if element.load is None:
        object.__setattr__(element, "load", 0.0)
    make_numbers(element, "coulomb", "static", "radius", "stribeck", "span", "soft")
    make_signals(element, "load")
    refuse_unless_positive(element, "coulomb", "stribeck", "soft")
    for name in ("radius", "span"):
        if getattr(element, name) < 0.0:
            raise ElementError(f"{element.kind}.{name} is {getattr(element, name):g}: wanted 0 or more.")
    if element.static < element.coulomb:
        raise ElementError(
            f"{element.kind}.static is {element.static:g}: wanted at least coulomb, {element.coulomb:g}."
        )
    if isinstance(element.load, Constant) and element.load.level < 0.0:
        raise ElementError(f"{element.kind}.load is {element.load.level:g}: wanted 0 or more, it presses.")


def slip_of(motion: Any, radius: float) -> tuple[float, float, float]:
    """Return the slip of b on a in world components: a velocity, or radius times the angular velocity."""
    if radius > 0.0:
        w = motion.angular_velocity
        return radius * (w[1, 0] - w[0, 0]), radius * (w[1, 1] - w[0, 1]), radius * (w[1, 2] - w[0, 2])
    p = motion.position
    return velocity_between(motion, p[1, 0], p[1, 1], p[1, 2])


def rub(motion: Any, out: Any, radius: float, fx: Any, fy: Any, fz: Any) -> None:
    """Apply the friction force to b and its opposite to a, or their moments."""
    if radius > 0.0:
        twist(out, radius * fx, radius * fy, radius * fz)
    else:
        p = motion.position
        push(motion, out, p[1, 0], p[1, 1], p[1, 2], fx, fy, fz)


def normal_load(motion: Any, given: float, load: float, span: float, soft: float) -> Any:
    """Return N: as given, or from the load of the hinge."""
    if given > 0.5:
        return load
    r = motion.reaction
    N = sqrt(r[0, 0] * r[0, 0] + r[0, 1] * r[0, 1] + r[0, 2] * r[0, 2] + soft * soft) - soft
    if span > 0.0:
        arm = soft * span
        N += 2.0 / span * (sqrt(r[0, 3] * r[0, 3] + r[0, 4] * r[0, 4] + r[0, 5] * r[0, 5] + arm * arm) - arm)
    return N


def stribeck_curve(coulomb: float, static: float, stribeck: float, speed2: float) -> float:
    """Return mu for the square of the slip."""
    return coulomb + (static - coulomb) * exp(-speed2 / (stribeck * stribeck))


def smooth_step(x: float) -> float:
    """Return 0 below 0, 1 above 1, and a smooth transition between."""
    x = min(max(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)
