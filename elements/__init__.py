"""Elements (ch. 3): what joins and drives bodies. One file each; none has a door an author outside has not."""

from .ball import Ball
from .ball_bryant import BallBryant
from .belt import Belt
from .constant_velocity import ConstantVelocity
from .constraint import Constraint, RelativeMotion, Rows
from .coupling import Coupling, CouplingRows
from .curve import Curve
from .curve_contact import CamFollower, CurveOnCurve
from .cylindrical import Cylindrical
from .differential_gear import Differential
from .directions import AtRotation, Parallel, Perpendicular
from .drivers import RelativeAngle, RelativeDistance, RelativeOffset
from .element import Element, SignalValue, structure
from .energetic import Deformed, Effort, EndsLoad, EndsMotion, Energetic
from .free import Free
from .gear import Gear
from .haug_composites import (
    RevoluteCylindrical,
    RevoluteRevolute,
    RevoluteRevoluteOrthogonal,
    RevoluteSpherical,
    RevoluteTranslational,
    SphericalSpherical,
    Strut,
)
from .height_field import PointOnHeightField
from .hinge import AxialHinge, Hinge, Motion, axis_field
from .implicit_surface import PointOnImplicitSurface
from .in_plane import InLine, InPlane
from .knife_edge import KnifeEdge
from .load import EndLoad, EndMotion, Force, Load, Moment
from .mimic import Mimic
from .moving import Moving
from .planar import Planar
from .point_on_curve import PointOnCurve
from .point_on_surface import PointOnSurface
from .polar import Polar
from .prescribed_pose import PrescribedPose
from .prismatic import Prismatic
from .profile import Profile
from .rack import RackAndPinion
from .relation import Relation, VelocityRelation
from .revolute import Revolute
from .rigid import Rigid
from .rod import Distance
from .rolling import RollingBall, RollingDisk
from .rolling_wheel import RollingWheel
from .screw import Screw
from .signal import Constant, Function, Harmonic, Polynomial, Signal, Spline, as_signal
from .spring import Spring
from .translation import Translation
from .universal import Universal

HINGES = (
    Rigid, Revolute, Prismatic, Cylindrical, Screw, Universal, Planar, Translation, Ball, BallBryant,
    Free, Polar, Curve, Moving,
)  # fmt: skip
SIGNALS = (Constant, Polynomial, Harmonic, Spline)
LOADS = (Force, Moment)
CONSTRAINTS = (
    Distance, InPlane, InLine, Parallel, Perpendicular, AtRotation, ConstantVelocity, RelativeOffset, RelativeAngle,
    PrescribedPose, RevoluteSpherical, RevoluteRevolute, RevoluteRevoluteOrthogonal, RevoluteCylindrical,
    RevoluteTranslational, PointOnSurface, PointOnHeightField, PointOnCurve, CamFollower, CurveOnCurve, KnifeEdge,
    RollingDisk, RollingBall, RollingWheel,
)  # fmt: skip
COUPLINGS = (Gear, RackAndPinion, Belt, Differential, Mimic)
ENERGETIC = (Spring,)

__all__ = [
    "CONSTRAINTS",
    "COUPLINGS",
    "ENERGETIC",
    "HINGES",
    "LOADS",
    "SIGNALS",
    "AtRotation",
    "AxialHinge",
    "Ball",
    "BallBryant",
    "Belt",
    "CamFollower",
    "Constant",
    "ConstantVelocity",
    "Constraint",
    "Coupling",
    "CouplingRows",
    "Curve",
    "CurveOnCurve",
    "Cylindrical",
    "Deformed",
    "Differential",
    "Distance",
    "Effort",
    "Element",
    "EndLoad",
    "EndMotion",
    "EndsLoad",
    "EndsMotion",
    "Energetic",
    "Force",
    "Free",
    "Function",
    "Gear",
    "Harmonic",
    "Hinge",
    "InLine",
    "InPlane",
    "KnifeEdge",
    "Load",
    "Mimic",
    "Moment",
    "Motion",
    "Moving",
    "Parallel",
    "Perpendicular",
    "Planar",
    "PointOnCurve",
    "PointOnHeightField",
    "PointOnImplicitSurface",
    "PointOnSurface",
    "Polar",
    "Polynomial",
    "PrescribedPose",
    "Prismatic",
    "Profile",
    "RackAndPinion",
    "Relation",
    "RelativeAngle",
    "RelativeDistance",
    "RelativeMotion",
    "RelativeOffset",
    "Revolute",
    "RevoluteCylindrical",
    "RevoluteRevolute",
    "RevoluteRevoluteOrthogonal",
    "RevoluteSpherical",
    "RevoluteTranslational",
    "Rigid",
    "RollingBall",
    "RollingDisk",
    "RollingWheel",
    "Rows",
    "Screw",
    "Signal",
    "SignalValue",
    "SphericalSpherical",
    "Spline",
    "Spring",
    "Strut",
    "Translation",
    "Universal",
    "VelocityRelation",
    "as_signal",
    "axis_field",
    "structure",
]
