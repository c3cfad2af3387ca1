"""Elements (ch. 3), which join and drive bodies. Built-in elements use no API that user elements cannot use.

A file is loaded when one of its names is first used, so a model with two hinges loads two hinges only.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# file -> the names that it defines
_FILES = {
    "actuators.hydraulic": ("HydraulicActuator",),
    "hinges.ball": ("Ball",),
    "hinges.ball_bryant": ("BallBryant",),
    "springs.beam": ("Beam", "CorotationalBeam"),
    "couplings.belt": ("Belt",),
    "springs.bushing": ("Bushing",),
    "constraints.constant_velocity": ("ConstantVelocity",),
    "constraint": ("Constraint", "RelativeMotion", "Rows"),
    "contact.spheres": ("SpherePlane", "SphereSphere", "hertz_stiffness", "restitution_damping"),
    "muscles.contractile": ("ContractileElement",),
    "coupling": ("Coupling", "CouplingRows"),
    "hinges.curve": ("Curve",),
    "constraints.curve_contact": ("CamFollower", "CurveOnCurve"),
    "hinges.cylindrical": ("Cylindrical",),
    "couplings.differential": ("Differential",),
    "constraints.orientation": ("AtRotation", "Parallel", "Perpendicular"),
    "loads.drag": ("Drag",),
    "constraints.drivers": ("RelativeAngle", "RelativeDistance", "RelativeOffset"),
    "contact.ehd_traction": ("EhdTraction",),
    "element": ("Element", "SignalValue", "structure"),
    "energetic": ("Deformed", "Effort", "EndsLoad", "EndsMotion", "Energetic"),
    "hinges.free": ("Free",),
    "contact.friction": ("BristleFriction", "Friction"),
    "springs.fung": ("Fung", "FungHistory"),
    "couplings.gear": ("Gear",),
    "constraints.composite_joints": (
        "RevoluteCylindrical",
        "RevoluteRevolute",
        "RevoluteRevoluteOrthogonal",
        "RevoluteSpherical",
        "RevoluteTranslational",
        "SphericalSpherical",
        "Strut",
    ),
    "constraints.height_field": ("PointOnHeightField",),
    "hinge": ("AxialHinge", "Hinge", "Motion", "axis_field"),
    "springs.hinge_stop": ("HingeStop",),
    "constraints.implicit_surface": ("PointOnImplicitSurface",),
    "constraints.point": ("InLine", "InPlane"),
    "contact.journal_bearing": ("JournalBearing",),
    "constraints.knife_edge": ("KnifeEdge",),
    "load": ("EndLoad", "EndMotion", "Force", "Load", "Moment"),
    "loads.functions": ("ForceFunction", "MomentFunction"),
    "couplings.mimic": ("Mimic",),
    "actuators.motor": ("ElectricMotor",),
    "hinges.moving": ("Moving",),
    "muscles.muscle": ("Muscle", "MusclePath"),
    "cords.path": ("Path",),
    "actuators.pid": ("Pid",),
    "hinges.planar": ("Planar",),
    "springs.plane_element": ("PlaneElement",),
    "constraints.point_on_curve": ("PointOnCurve",),
    "constraints.point_on_surface": ("PointOnSurface",),
    "hinges.polar": ("Polar",),
    "constraints.prescribed_pose": ("PrescribedPose",),
    "hinges.prismatic": ("Prismatic",),
    "constraints.profile": ("Profile",),
    "couplings.rack": ("RackAndPinion",),
    "springs.ramberg_osgood": ("RambergOsgood",),
    "couplings.relation": ("Relation", "VelocityRelation"),
    "hinges.revolute": ("Revolute",),
    "hinges.rigid": ("Rigid",),
    "constraints.distance": ("Distance",),
    "constraints.rolling": ("RollingBall", "RollingDisk"),
    "constraints.rolling_wheel": ("RollingWheel",),
    "springs.rotational_spring": ("RotationalSpring",),
    "hinges.screw": ("Screw",),
    "assembled.series": ("Member", "Series"),
    "assembled.rows": ("SeriesRows",),
    "actuators.servo": ("PositionServo",),
    "signal": ("Constant", "Function", "Harmonic", "Polynomial", "Signal", "Spline", "as_signal"),
    "springs.spring": ("Spring",),
    "springs.table_spring": ("TableSpring",),
    "muscles.tendon": ("Tendon",),
    "contact.tire": ("Tire",),
    "hinges.translation": ("Translation",),
    "hinges.universal": ("Universal",),
    "springs.viscoelastic": ("Viscoelastic",),
    "cords.wrapping": ("WrapCylinder", "WrapSphere"),
}
# Elements that are built into the library (dynamics.native.build), by role
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
    from .actuators.hydraulic import HydraulicActuator as HydraulicActuator
    from .actuators.motor import ElectricMotor as ElectricMotor
    from .actuators.pid import Pid as Pid
    from .actuators.servo import PositionServo as PositionServo
    from .assembled.rows import SeriesRows as SeriesRows
    from .assembled.series import Member as Member
    from .assembled.series import Series as Series
    from .constraint import Constraint as Constraint
    from .constraint import RelativeMotion as RelativeMotion
    from .constraint import Rows as Rows
    from .constraints.composite_joints import RevoluteCylindrical as RevoluteCylindrical
    from .constraints.composite_joints import RevoluteRevolute as RevoluteRevolute
    from .constraints.composite_joints import RevoluteRevoluteOrthogonal as RevoluteRevoluteOrthogonal
    from .constraints.composite_joints import RevoluteSpherical as RevoluteSpherical
    from .constraints.composite_joints import RevoluteTranslational as RevoluteTranslational
    from .constraints.composite_joints import SphericalSpherical as SphericalSpherical
    from .constraints.composite_joints import Strut as Strut
    from .constraints.constant_velocity import ConstantVelocity as ConstantVelocity
    from .constraints.curve_contact import CamFollower as CamFollower
    from .constraints.curve_contact import CurveOnCurve as CurveOnCurve
    from .constraints.distance import Distance as Distance
    from .constraints.drivers import RelativeAngle as RelativeAngle
    from .constraints.drivers import RelativeDistance as RelativeDistance
    from .constraints.drivers import RelativeOffset as RelativeOffset
    from .constraints.height_field import PointOnHeightField as PointOnHeightField
    from .constraints.implicit_surface import PointOnImplicitSurface as PointOnImplicitSurface
    from .constraints.knife_edge import KnifeEdge as KnifeEdge
    from .constraints.orientation import AtRotation as AtRotation
    from .constraints.orientation import Parallel as Parallel
    from .constraints.orientation import Perpendicular as Perpendicular
    from .constraints.point import InLine as InLine
    from .constraints.point import InPlane as InPlane
    from .constraints.point_on_curve import PointOnCurve as PointOnCurve
    from .constraints.point_on_surface import PointOnSurface as PointOnSurface
    from .constraints.prescribed_pose import PrescribedPose as PrescribedPose
    from .constraints.profile import Profile as Profile
    from .constraints.rolling import RollingBall as RollingBall
    from .constraints.rolling import RollingDisk as RollingDisk
    from .constraints.rolling_wheel import RollingWheel as RollingWheel
    from .contact.ehd_traction import EhdTraction as EhdTraction
    from .contact.friction import BristleFriction as BristleFriction
    from .contact.friction import Friction as Friction
    from .contact.journal_bearing import JournalBearing as JournalBearing
    from .contact.spheres import SpherePlane as SpherePlane
    from .contact.spheres import SphereSphere as SphereSphere
    from .contact.spheres import hertz_stiffness as hertz_stiffness
    from .contact.spheres import restitution_damping as restitution_damping
    from .contact.tire import Tire as Tire
    from .cords.path import Path as Path
    from .cords.wrapping import WrapCylinder as WrapCylinder
    from .cords.wrapping import WrapSphere as WrapSphere
    from .coupling import Coupling as Coupling
    from .coupling import CouplingRows as CouplingRows
    from .couplings.belt import Belt as Belt
    from .couplings.differential import Differential as Differential
    from .couplings.gear import Gear as Gear
    from .couplings.mimic import Mimic as Mimic
    from .couplings.rack import RackAndPinion as RackAndPinion
    from .couplings.relation import Relation as Relation
    from .couplings.relation import VelocityRelation as VelocityRelation
    from .element import Element as Element
    from .element import SignalValue as SignalValue
    from .element import structure as structure
    from .energetic import Deformed as Deformed
    from .energetic import Effort as Effort
    from .energetic import EndsLoad as EndsLoad
    from .energetic import EndsMotion as EndsMotion
    from .energetic import Energetic as Energetic
    from .hinge import AxialHinge as AxialHinge
    from .hinge import Hinge as Hinge
    from .hinge import Motion as Motion
    from .hinge import axis_field as axis_field
    from .hinges.ball import Ball as Ball
    from .hinges.ball_bryant import BallBryant as BallBryant
    from .hinges.curve import Curve as Curve
    from .hinges.cylindrical import Cylindrical as Cylindrical
    from .hinges.free import Free as Free
    from .hinges.moving import Moving as Moving
    from .hinges.planar import Planar as Planar
    from .hinges.polar import Polar as Polar
    from .hinges.prismatic import Prismatic as Prismatic
    from .hinges.revolute import Revolute as Revolute
    from .hinges.rigid import Rigid as Rigid
    from .hinges.screw import Screw as Screw
    from .hinges.translation import Translation as Translation
    from .hinges.universal import Universal as Universal
    from .load import EndLoad as EndLoad
    from .load import EndMotion as EndMotion
    from .load import Force as Force
    from .load import Load as Load
    from .load import Moment as Moment
    from .loads.drag import Drag as Drag
    from .loads.functions import ForceFunction as ForceFunction
    from .loads.functions import MomentFunction as MomentFunction
    from .muscles.contractile import ContractileElement as ContractileElement
    from .muscles.muscle import Muscle as Muscle
    from .muscles.muscle import MusclePath as MusclePath
    from .muscles.tendon import Tendon as Tendon
    from .signal import Constant as Constant
    from .signal import Function as Function
    from .signal import Harmonic as Harmonic
    from .signal import Polynomial as Polynomial
    from .signal import Signal as Signal
    from .signal import Spline as Spline
    from .signal import as_signal as as_signal
    from .springs.beam import Beam as Beam
    from .springs.beam import CorotationalBeam as CorotationalBeam
    from .springs.bushing import Bushing as Bushing
    from .springs.fung import Fung as Fung
    from .springs.fung import FungHistory as FungHistory
    from .springs.hinge_stop import HingeStop as HingeStop
    from .springs.plane_element import PlaneElement as PlaneElement
    from .springs.ramberg_osgood import RambergOsgood as RambergOsgood
    from .springs.rotational_spring import RotationalSpring as RotationalSpring
    from .springs.spring import Spring as Spring
    from .springs.table_spring import TableSpring as TableSpring
    from .springs.viscoelastic import Viscoelastic as Viscoelastic

    HINGES: tuple[type[Hinge], ...]
    SIGNALS: tuple[type[Signal], ...]
    LOADS: tuple[type[Load], ...]
    CONSTRAINTS: tuple[type[Constraint], ...]
    COUPLINGS: tuple[type[Coupling], ...]
    ENERGETIC: tuple[type[Energetic], ...]
    ASSEMBLED: tuple[type[Element], ...]

else:  # type checkers skip this branch and use the names above
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
