"""Elements (ch. 3): what joins and drives bodies. One file each; none has a door an author outside has not.

A file is loaded when one of its names is asked for: a model of two hinges waits for two hinges.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# file -> what it brings
_FILES = {
    "actuator": ("HydraulicActuator",),
    "ball": ("Ball",),
    "ball_bryant": ("BallBryant",),
    "beam": ("Beam", "CorotationalBeam"),
    "belt": ("Belt",),
    "bushing": ("Bushing",),
    "constant_velocity": ("ConstantVelocity",),
    "constraint": ("Constraint", "RelativeMotion", "Rows"),
    "contact": ("SpherePlane", "SphereSphere", "hertz_stiffness", "restitution_damping"),
    "contractile": ("ContractileElement",),
    "coupling": ("Coupling", "CouplingRows"),
    "curve": ("Curve",),
    "curve_contact": ("CamFollower", "CurveOnCurve"),
    "cylindrical": ("Cylindrical",),
    "differential_gear": ("Differential",),
    "directions": ("AtRotation", "Parallel", "Perpendicular"),
    "drag": ("Drag",),
    "drivers": ("RelativeAngle", "RelativeDistance", "RelativeOffset"),
    "ehd_traction": ("EhdTraction",),
    "element": ("Element", "SignalValue", "structure"),
    "energetic": ("Deformed", "Effort", "EndsLoad", "EndsMotion", "Energetic"),
    "free": ("Free",),
    "friction": ("BristleFriction", "Friction"),
    "fung": ("Fung", "FungHistory"),
    "gear": ("Gear",),
    "haug_composites": (
        "RevoluteCylindrical",
        "RevoluteRevolute",
        "RevoluteRevoluteOrthogonal",
        "RevoluteSpherical",
        "RevoluteTranslational",
        "SphericalSpherical",
        "Strut",
    ),
    "height_field": ("PointOnHeightField",),
    "hinge": ("AxialHinge", "Hinge", "Motion", "axis_field"),
    "hinge_stop": ("HingeStop",),
    "implicit_surface": ("PointOnImplicitSurface",),
    "in_plane": ("InLine", "InPlane"),
    "journal_bearing": ("JournalBearing",),
    "knife_edge": ("KnifeEdge",),
    "load": ("EndLoad", "EndMotion", "Force", "Load", "Moment"),
    "load_function": ("ForceFunction", "MomentFunction"),
    "mimic": ("Mimic",),
    "motor": ("ElectricMotor",),
    "moving": ("Moving",),
    "muscle": ("Muscle", "MusclePath"),
    "path": ("Path",),
    "pid": ("Pid",),
    "planar": ("Planar",),
    "plane_element": ("PlaneElement",),
    "point_on_curve": ("PointOnCurve",),
    "point_on_surface": ("PointOnSurface",),
    "polar": ("Polar",),
    "prescribed_pose": ("PrescribedPose",),
    "prismatic": ("Prismatic",),
    "profile": ("Profile",),
    "rack": ("RackAndPinion",),
    "ramberg_osgood": ("RambergOsgood",),
    "relation": ("Relation", "VelocityRelation"),
    "revolute": ("Revolute",),
    "rigid": ("Rigid",),
    "rod": ("Distance",),
    "rolling": ("RollingBall", "RollingDisk"),
    "rolling_wheel": ("RollingWheel",),
    "rotational_spring": ("RotationalSpring",),
    "screw": ("Screw",),
    "series": ("Member", "Series"),
    "series_rows": ("SeriesRows",),
    "servo": ("PositionServo",),
    "signal": ("Constant", "Function", "Harmonic", "Polynomial", "Signal", "Spline", "as_signal"),
    "spring": ("Spring",),
    "table_spring": ("TableSpring",),
    "tendon": ("Tendon",),
    "tire": ("Tire",),
    "translation": ("Translation",),
    "universal": ("Universal",),
    "viscoelastic": ("Viscoelastic",),
    "wrapping": ("WrapCylinder", "WrapSphere"),
}
# what is built into the library (dynamics.build), by role
_GROUPS = {
    "HINGES": (
        "Rigid", "Revolute", "Prismatic", "Cylindrical", "Screw", "Universal", "Planar", "Translation", "Ball",
        "BallBryant", "Free", "Polar", "Curve", "Moving",
    ),
    "SIGNALS": (
        "Constant", "Polynomial", "Harmonic", "Spline",
    ),
    "LOADS": (
        "Force", "Moment",
    ),
    "CONSTRAINTS": (
        "Distance", "InPlane", "InLine", "Parallel", "Perpendicular", "AtRotation", "ConstantVelocity",
        "RelativeOffset", "RelativeAngle", "PrescribedPose", "RevoluteSpherical", "RevoluteRevolute",
        "RevoluteRevoluteOrthogonal", "RevoluteCylindrical", "RevoluteTranslational", "PointOnSurface",
        "PointOnHeightField", "PointOnCurve", "CamFollower", "CurveOnCurve", "KnifeEdge", "RollingDisk",
        "RollingBall", "RollingWheel",
    ),
    "COUPLINGS": (
        "Gear", "RackAndPinion", "Belt", "Differential", "Mimic",
    ),
    "ENERGETIC": (
        "Spring", "TableSpring", "RotationalSpring", "HingeStop", "Bushing", "Beam", "CorotationalBeam",
        "PlaneElement", "Drag", "HydraulicActuator", "ElectricMotor", "PositionServo", "Pid", "Tendon",
        "ContractileElement", "Muscle", "Viscoelastic", "Fung", "FungHistory", "Friction", "BristleFriction",
        "SpherePlane", "SphereSphere", "EhdTraction", "JournalBearing", "Tire", "RambergOsgood",
    ),
    "ASSEMBLED": (
        "Series", "SeriesRows",
    ),
}  # fmt: skip
_FILE_OF = {name: file for file, names in _FILES.items() for name in names}

if TYPE_CHECKING:
    from .actuator import HydraulicActuator as HydraulicActuator
    from .ball import Ball as Ball
    from .ball_bryant import BallBryant as BallBryant
    from .beam import Beam as Beam
    from .beam import CorotationalBeam as CorotationalBeam
    from .belt import Belt as Belt
    from .bushing import Bushing as Bushing
    from .constant_velocity import ConstantVelocity as ConstantVelocity
    from .constraint import Constraint as Constraint
    from .constraint import RelativeMotion as RelativeMotion
    from .constraint import Rows as Rows
    from .contact import SpherePlane as SpherePlane
    from .contact import SphereSphere as SphereSphere
    from .contact import hertz_stiffness as hertz_stiffness
    from .contact import restitution_damping as restitution_damping
    from .contractile import ContractileElement as ContractileElement
    from .coupling import Coupling as Coupling
    from .coupling import CouplingRows as CouplingRows
    from .curve import Curve as Curve
    from .curve_contact import CamFollower as CamFollower
    from .curve_contact import CurveOnCurve as CurveOnCurve
    from .cylindrical import Cylindrical as Cylindrical
    from .differential_gear import Differential as Differential
    from .directions import AtRotation as AtRotation
    from .directions import Parallel as Parallel
    from .directions import Perpendicular as Perpendicular
    from .drag import Drag as Drag
    from .drivers import RelativeAngle as RelativeAngle
    from .drivers import RelativeDistance as RelativeDistance
    from .drivers import RelativeOffset as RelativeOffset
    from .ehd_traction import EhdTraction as EhdTraction
    from .element import Element as Element
    from .element import SignalValue as SignalValue
    from .element import structure as structure
    from .energetic import Deformed as Deformed
    from .energetic import Effort as Effort
    from .energetic import EndsLoad as EndsLoad
    from .energetic import EndsMotion as EndsMotion
    from .energetic import Energetic as Energetic
    from .free import Free as Free
    from .friction import BristleFriction as BristleFriction
    from .friction import Friction as Friction
    from .fung import Fung as Fung
    from .fung import FungHistory as FungHistory
    from .gear import Gear as Gear
    from .haug_composites import RevoluteCylindrical as RevoluteCylindrical
    from .haug_composites import RevoluteRevolute as RevoluteRevolute
    from .haug_composites import RevoluteRevoluteOrthogonal as RevoluteRevoluteOrthogonal
    from .haug_composites import RevoluteSpherical as RevoluteSpherical
    from .haug_composites import RevoluteTranslational as RevoluteTranslational
    from .haug_composites import SphericalSpherical as SphericalSpherical
    from .haug_composites import Strut as Strut
    from .height_field import PointOnHeightField as PointOnHeightField
    from .hinge import AxialHinge as AxialHinge
    from .hinge import Hinge as Hinge
    from .hinge import Motion as Motion
    from .hinge import axis_field as axis_field
    from .hinge_stop import HingeStop as HingeStop
    from .implicit_surface import PointOnImplicitSurface as PointOnImplicitSurface
    from .in_plane import InLine as InLine
    from .in_plane import InPlane as InPlane
    from .journal_bearing import JournalBearing as JournalBearing
    from .knife_edge import KnifeEdge as KnifeEdge
    from .load import EndLoad as EndLoad
    from .load import EndMotion as EndMotion
    from .load import Force as Force
    from .load import Load as Load
    from .load import Moment as Moment
    from .load_function import ForceFunction as ForceFunction
    from .load_function import MomentFunction as MomentFunction
    from .mimic import Mimic as Mimic
    from .motor import ElectricMotor as ElectricMotor
    from .moving import Moving as Moving
    from .muscle import Muscle as Muscle
    from .muscle import MusclePath as MusclePath
    from .path import Path as Path
    from .pid import Pid as Pid
    from .planar import Planar as Planar
    from .plane_element import PlaneElement as PlaneElement
    from .point_on_curve import PointOnCurve as PointOnCurve
    from .point_on_surface import PointOnSurface as PointOnSurface
    from .polar import Polar as Polar
    from .prescribed_pose import PrescribedPose as PrescribedPose
    from .prismatic import Prismatic as Prismatic
    from .profile import Profile as Profile
    from .rack import RackAndPinion as RackAndPinion
    from .ramberg_osgood import RambergOsgood as RambergOsgood
    from .relation import Relation as Relation
    from .relation import VelocityRelation as VelocityRelation
    from .revolute import Revolute as Revolute
    from .rigid import Rigid as Rigid
    from .rod import Distance as Distance
    from .rolling import RollingBall as RollingBall
    from .rolling import RollingDisk as RollingDisk
    from .rolling_wheel import RollingWheel as RollingWheel
    from .rotational_spring import RotationalSpring as RotationalSpring
    from .screw import Screw as Screw
    from .series import Member as Member
    from .series import Series as Series
    from .series_rows import SeriesRows as SeriesRows
    from .servo import PositionServo as PositionServo
    from .signal import Constant as Constant
    from .signal import Function as Function
    from .signal import Harmonic as Harmonic
    from .signal import Polynomial as Polynomial
    from .signal import Signal as Signal
    from .signal import Spline as Spline
    from .signal import as_signal as as_signal
    from .spring import Spring as Spring
    from .table_spring import TableSpring as TableSpring
    from .tendon import Tendon as Tendon
    from .tire import Tire as Tire
    from .translation import Translation as Translation
    from .universal import Universal as Universal
    from .viscoelastic import Viscoelastic as Viscoelastic
    from .wrapping import WrapCylinder as WrapCylinder
    from .wrapping import WrapSphere as WrapSphere

    HINGES: tuple[type[Hinge], ...]
    SIGNALS: tuple[type[Signal], ...]
    LOADS: tuple[type[Load], ...]
    CONSTRAINTS: tuple[type[Constraint], ...]
    COUPLINGS: tuple[type[Coupling], ...]
    ENERGETIC: tuple[type[Energetic], ...]
    ASSEMBLED: tuple[type[Element], ...]

else:  # as type checkers do not see it: to them the names above are all there are
    __all__ = sorted([*_GROUPS, *_FILE_OF])


def __getattr__(name: str) -> Any:
    value: Any
    if name in _GROUPS:
        value = tuple(__getattr__(element) for element in _GROUPS[name])
    elif name in _FILE_OF:
        value = getattr(import_module(f".{_FILE_OF[name]}", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_GROUPS, *_FILE_OF})
