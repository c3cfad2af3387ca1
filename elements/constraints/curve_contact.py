"""Contact of plane curves that slide freely: cam and follower, curve on curve (Haug 3.4.2)."""

from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from ..constraint import Constraint
from ..element import structure
from ..fields import make_signals, refuse_unless_positive
from .profile import Profile, profile_point

FOLLOWERS = ("roller", "flat", "knife")


@dataclass(frozen=True, eq=False)
class CamFollower(Constraint):
    """A follower on end b keeps touching a cam on end a, in the x,y plane of end a.

    One net holonomic row. The contact parameter s on the cam r(s) is an auxiliary unknown, so there are two
    equations. With the tangent r', the outward normal n (right of r') and x, y components only::

        knife     n . (c - r(s)) = 0,           r' . (c - r(s)) = 0     the point of end b is on the cam
        roller    n . (c - r(s)) - radius = 0,  r' . (c - r(s)) = 0     the point of end b is its centre
        flat      e_y . (c - r(s)) = 0,         e_y . r'(s) = 0         the face is the x axis of end b

    where e_y is the y axis of end b. With `rolling` end b does not slip on the cam, and there is one
    nonholonomic row more, the slip of body b at the point of contact (for a roller r' . v - radius w_z, the
    row of Sol's pump, 9.2)::

        r' . (v + w x (r(s) - c)) = 0

    Other connections must keep the z axes of both ends parallel. A roller must be smaller than any hollow of
    the cam. A flat face needs a cam without hollows and straight parts, where the contact point is not
    unique.

    Parameters
    ----------
    profile : Profile
        Outline of the cam, in the x,y plane of end a [m].
    follower : "roller", "flat" or "knife"
    radius : signal or number
        Radius of the roller [m], positive.
    start : float
        First guess of s, the place of contact on the profile [m]. A flat face can touch a closed cam on two
        sides: the nearer side is found.
    unilateral : bool
        Whether the cam can only push: the follower then lifts off when it would have to pull, and returns.
        The y axis of a flat follower must then point away from the cam.
    rolling : bool
        Whether end b rolls on the cam; a roller is then the body of end b and turns. Not with `unilateral`.

    Examples
    --------
    >>> cam = Profile.circle(0.05, centre=(0.01, 0.0))
    >>> CamFollower(cam, "roller", radius=0.01).n_holonomic
    1
    """

    profile: Profile = structure()
    follower: str = structure(default="knife")
    radius: Any = 0.0
    start: float = structure(default=0.0)
    unilateral: bool = structure(default=False)
    rolling: bool = structure(default=False)
    pieces: Any = field(default=None, init=False, repr=False)
    flat: float = field(default=0.0, init=False, repr=False)
    n_holonomic = 1
    n_auxiliary = 1

    @classmethod
    def example(cls) -> "CamFollower":
        return cls(Profile.circle(1.0))

    @classmethod
    def examples(cls) -> "list[CamFollower]":
        """Return one that may slip and one that rolls: the library holds both."""
        return [cls.example(), cls(Profile.circle(1.0), "roller", radius=0.2, rolling=True)]

    def __post_init__(self) -> None:
        if not isinstance(self.profile, Profile):
            raise ElementError(f"CamFollower.profile is {self.profile!r}: wanted a Profile.")
        if self.follower not in FOLLOWERS:
            raise ElementError(
                f"CamFollower.follower is {self.follower!r}; wanted one of {', '.join(FOLLOWERS)}."
            )
        make_signals(self, "radius")
        if self.follower == "roller":
            refuse_unless_positive(self, "radius", instead="a roller of radius 0 is a knife")
        elif getattr(self.radius, "level", None) != 0.0:
            raise ElementError(f"CamFollower: a {self.follower} follower has no radius; leave it out.")
        if self.rolling and (self.follower == "knife" or self.unilateral):
            raise ElementError(
                "CamFollower: rolling needs a roller or a flat face that keeps touching; leave out "
                f"{'unilateral' if self.unilateral else 'rolling'}."
            )
        object.__setattr__(self, "n_nonholonomic", int(self.rolling))
        object.__setattr__(self, "pieces", self.profile.pieces)
        object.__setattr__(self, "flat", float(self.follower == "flat"))

    def auxiliary(self) -> Floats:
        return np.array([self.start], dtype=np.float64)

    def sample(self, rng: "np.random.Generator", t: float) -> tuple[Floats, Floats, Floats]:
        offset, rotation, _ = super().sample(rng, t)
        return offset, rotation, rng.uniform(0.0, self.profile.length, 1)

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        x, y, dx, dy = profile_point(self.pieces, s[0])
        if self.flat > 0.5:
            f[0] = rotation[0, 1] * (offset[0] - x) + rotation[1, 1] * (offset[1] - y)
            f[1] = rotation[0, 1] * dx + rotation[1, 1] * dy
        else:
            speed = sqrt(dx * dx + dy * dy)
            f[0] = (dy * (offset[0] - x) - dx * (offset[1] - y)) / speed - self.radius
            f[1] = (dx * (offset[0] - x) + dy * (offset[1] - y)) / speed

    def slip(
        self,
        offset: Floats,
        rotation: Floats,
        velocity: Floats,
        angular_velocity: Floats,
        s: Floats,
        t: float,
        f: Floats,
    ) -> None:
        x, y, dx, dy = profile_point(self.pieces, s[0])
        turn = angular_velocity[2]
        vx, vy = velocity[0] - turn * (y - offset[1]), velocity[1] + turn * (x - offset[0])
        f[0] = (dx * vx + dy * vy) / sqrt(dx * dx + dy * dy)


@dataclass(frozen=True, eq=False)
class CurveOnCurve(Constraint):
    """A profile on end b keeps touching a profile on end a, in the x,y plane of end a.

    One net holonomic row. The contact parameters s_0 and s_1 on the two profiles are auxiliary unknowns, so
    there are three equations (Haug 3.4.20), in x and y components only::

        c + C r_b(s_1) - r_a(s_0) = 0          the points of contact coincide (along normal and tangent of a)
        r_a'(s_0) x C r_b'(s_1) = 0            the tangents are parallel

    Other connections must keep the z axes of both ends parallel. Outlines that touch with equal curvature (a
    wheel in a ring of the same size) have no unique point of contact.

    Parameters
    ----------
    profile_a, profile_b : Profile
        The outlines, each in the x,y plane of its own end [m].
    start : (s_0, s_1)
        First guess of the places of contact on the profiles [m].
    unilateral : bool
        Whether the outlines can only push: they then separate when they would have to pull, and meet again.

    Examples
    --------
    >>> CurveOnCurve(Profile.circle(0.2), Profile.circle(0.1)).n_auxiliary
    2
    """

    profile_a: Profile = structure()
    profile_b: Profile = structure()
    start: Any = structure(default=(0.0, 0.0))
    unilateral: bool = structure(default=False)
    pieces_a: Any = field(default=None, init=False, repr=False)
    pieces_b: Any = field(default=None, init=False, repr=False)
    n_holonomic = 1
    n_auxiliary = 2

    @classmethod
    def example(cls) -> "CurveOnCurve":
        return cls(Profile.circle(1.0), Profile.circle(1.0))

    def __post_init__(self) -> None:
        for name in ("profile_a", "profile_b"):
            profile = getattr(self, name)
            if not isinstance(profile, Profile):
                raise ElementError(f"CurveOnCurve.{name} is {profile!r}: wanted a Profile.")
            object.__setattr__(self, name.replace("profile", "pieces"), profile.pieces)
        if np.shape(self.start) != (2,):
            raise ElementError(
                f"CurveOnCurve.start is {self.start!r}: wanted two numbers, s on each profile."
            )

    def auxiliary(self) -> Floats:
        return np.array(self.start, dtype=np.float64)

    def sample(self, rng: "np.random.Generator", t: float) -> tuple[Floats, Floats, Floats]:
        offset, rotation, _ = super().sample(rng, t)
        return offset, rotation, rng.uniform(0.0, (self.profile_a.length, self.profile_b.length))

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        x, y, dx, dy = profile_point(self.pieces_a, s[0])
        bx, by, ex, ey = profile_point(self.pieces_b, s[1])
        gap_x = offset[0] + rotation[0, 0] * bx + rotation[0, 1] * by - x
        gap_y = offset[1] + rotation[1, 0] * bx + rotation[1, 1] * by - y
        speed = sqrt(dx * dx + dy * dy)
        f[0] = (dy * gap_x - dx * gap_y) / speed
        f[1] = (dx * gap_x + dy * gap_y) / speed
        f[2] = dx * (rotation[1, 0] * ex + rotation[1, 1] * ey) - dy * (
            rotation[0, 0] * ex + rotation[0, 1] * ey
        )
