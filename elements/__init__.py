"""Elements (ch. 3): what joins and drives bodies. One file each; none has a door an author outside has not."""

from .actuator import HydraulicActuator
from .ball import Ball
from .ball_bryant import BallBryant
from .beam import Beam, CorotationalBeam
from .belt import Belt
from .bushing import Bushing
from .constant_velocity import ConstantVelocity
from .constraint import Constraint, RelativeMotion, Rows
from .contact import SpherePlane, SphereSphere, hertz_stiffness, restitution_damping
from .contractile import ContractileElement
from .coupling import Coupling, CouplingRows
from .curve import Curve
from .curve_contact import CamFollower, CurveOnCurve
from .cylindrical import Cylindrical
from .differential_gear import Differential
from .directions import AtRotation, Parallel, Perpendicular
from .drag import Drag
from .drivers import RelativeAngle, RelativeDistance, RelativeOffset
from .ehd_traction import EhdTraction
from .element import Element, SignalValue, structure
from .energetic import Deformed, Effort, EndsLoad, EndsMotion, Energetic
from .free import Free
from .friction import BristleFriction, Friction
from .fung import Fung, FungHistory
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
from .hinge_stop import HingeStop
from .implicit_surface import PointOnImplicitSurface
from .in_plane import InLine, InPlane
from .journal_bearing import JournalBearing
from .knife_edge import KnifeEdge
from .load import EndLoad, EndMotion, Force, Load, Moment
from .load_function import ForceFunction, MomentFunction
from .mimic import Mimic
from .motor import ElectricMotor
from .moving import Moving
from .muscle import Muscle, MusclePath
from .path import Path
from .pid import Pid
from .planar import Planar
from .plane_element import PlaneElement
from .point_on_curve import PointOnCurve
from .point_on_surface import PointOnSurface
from .polar import Polar
from .prescribed_pose import PrescribedPose
from .prismatic import Prismatic
from .profile import Profile
from .rack import RackAndPinion
from .ramberg_osgood import RambergOsgood
from .relation import Relation, VelocityRelation
from .revolute import Revolute
from .rigid import Rigid
from .rod import Distance
from .rolling import RollingBall, RollingDisk
from .rolling_wheel import RollingWheel
from .rotational_spring import RotationalSpring
from .screw import Screw
from .series import Member, Series
from .series_rows import SeriesRows
from .servo import PositionServo
from .signal import Constant, Function, Harmonic, Polynomial, Signal, Spline, as_signal
from .spring import Spring
from .table_spring import TableSpring
from .tendon import Tendon
from .tire import Tire
from .translation import Translation
from .universal import Universal
from .viscoelastic import Viscoelastic
from .wrapping import WrapCylinder, WrapSphere

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
ENERGETIC = (
    Spring, TableSpring, RotationalSpring, HingeStop, Bushing, Beam, CorotationalBeam, PlaneElement, Drag,
    HydraulicActuator, ElectricMotor, PositionServo, Pid, Tendon, ContractileElement, Muscle,
    Viscoelastic, Fung, FungHistory, Friction, BristleFriction, SpherePlane, SphereSphere, EhdTraction, JournalBearing,
    Tire, RambergOsgood,
)  # fmt: skip
ASSEMBLED = (Series, SeriesRows)

__all__ = [
    "ASSEMBLED",
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
    "Beam",
    "Belt",
    "BristleFriction",
    "Bushing",
    "CamFollower",
    "Constant",
    "ConstantVelocity",
    "Constraint",
    "ContractileElement",
    "CorotationalBeam",
    "Coupling",
    "CouplingRows",
    "Curve",
    "CurveOnCurve",
    "Cylindrical",
    "Deformed",
    "Differential",
    "Distance",
    "Drag",
    "Effort",
    "EhdTraction",
    "ElectricMotor",
    "Element",
    "EndLoad",
    "EndMotion",
    "EndsLoad",
    "EndsMotion",
    "Energetic",
    "Force",
    "ForceFunction",
    "Free",
    "Friction",
    "Function",
    "Fung",
    "FungHistory",
    "Gear",
    "Harmonic",
    "Hinge",
    "HingeStop",
    "HydraulicActuator",
    "InLine",
    "InPlane",
    "JournalBearing",
    "KnifeEdge",
    "Load",
    "Member",
    "Mimic",
    "Moment",
    "MomentFunction",
    "Motion",
    "Moving",
    "Muscle",
    "MusclePath",
    "Parallel",
    "Path",
    "Perpendicular",
    "Pid",
    "Planar",
    "PlaneElement",
    "PointOnCurve",
    "PointOnHeightField",
    "PointOnImplicitSurface",
    "PointOnSurface",
    "Polar",
    "Polynomial",
    "PositionServo",
    "PrescribedPose",
    "Prismatic",
    "Profile",
    "RackAndPinion",
    "RambergOsgood",
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
    "RotationalSpring",
    "Rows",
    "Screw",
    "Series",
    "SeriesRows",
    "Signal",
    "SignalValue",
    "SpherePlane",
    "SphereSphere",
    "SphericalSpherical",
    "Spline",
    "Spring",
    "Strut",
    "TableSpring",
    "Tendon",
    "Tire",
    "Translation",
    "Universal",
    "VelocityRelation",
    "Viscoelastic",
    "WrapCylinder",
    "WrapSphere",
    "as_signal",
    "axis_field",
    "hertz_stiffness",
    "restitution_damping",
    "structure",
]
