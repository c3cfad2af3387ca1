"""treemech: kinematics and dynamics of multibody systems with arbitrary connections, after E. J. Sol (1983)."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

_here = Path(__file__).parent
if not (_here / "topology").is_dir():  # a checkout without links: the folders stand beside this one
    __path__.append(str(_here.parent))

__version__ = "0.1.0"

# name -> module it comes from; loaded on first use, so that the import itself costs nothing
_NAMES = {
    "System": "system",
    "Mechanism": "mechanism",
    "State": "state",
    "Run": "run",
    "read": "files",
    "check": "elements.check",
    "solids": "topology.solids",
    "TreemechError": "topology",
    "TopologyError": "topology",
    "ElementError": "topology",
    "SingularError": "topology",
    "ConvergenceError": "topology",
    "ElementCompileWarning": "elements.entry",
    **dict.fromkeys(
        (
            "Hinge", "AxialHinge", "axis_field", "structure", "Motion",
            "Rigid", "Revolute", "Prismatic", "Cylindrical", "Screw", "Universal", "Planar", "Translation",
            "Ball", "BallBryant", "Free", "Polar", "Curve", "Moving",
            "Constraint", "RelativeMotion", "Rows", "Distance", "InPlane", "InLine", "Parallel", "Perpendicular",
            "AtRotation", "ConstantVelocity", "RelativeOffset", "RelativeAngle", "RelativeDistance", "PrescribedPose",
            "SphericalSpherical", "Strut", "RevoluteSpherical", "RevoluteRevolute", "RevoluteRevoluteOrthogonal",
            "RevoluteCylindrical", "RevoluteTranslational", "PointOnSurface", "PointOnImplicitSurface",
            "PointOnHeightField", "PointOnCurve", "CamFollower", "CurveOnCurve", "Profile", "KnifeEdge", "RollingDisk",
            "RollingBall", "RollingWheel",
            "Coupling", "CouplingRows", "Gear", "RackAndPinion", "Belt", "Differential", "Mimic", "Relation",
            "VelocityRelation",
            "Signal", "Constant", "Polynomial", "Harmonic", "Spline", "Function",
            "Load", "Force", "Moment",
        ),
        "elements",
    ),
}  # fmt: skip
__all__ = [
    "AtRotation",
    "AxialHinge",
    "Ball",
    "BallBryant",
    "Belt",
    "CamFollower",
    "Constant",
    "ConstantVelocity",
    "Constraint",
    "ConvergenceError",
    "Coupling",
    "CouplingRows",
    "Curve",
    "CurveOnCurve",
    "Cylindrical",
    "Differential",
    "Distance",
    "ElementCompileWarning",
    "ElementError",
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
    "Mechanism",
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
    "Run",
    "Screw",
    "Signal",
    "SingularError",
    "SphericalSpherical",
    "Spline",
    "State",
    "Strut",
    "System",
    "TopologyError",
    "Translation",
    "TreemechError",
    "Universal",
    "VelocityRelation",
    "__version__",
    "axis_field",
    "check",
    "read",
    "solids",
    "structure",
]

if TYPE_CHECKING:
    from .elements import (
        AtRotation,
        AxialHinge,
        Ball,
        BallBryant,
        Belt,
        CamFollower,
        Constant,
        ConstantVelocity,
        Constraint,
        Coupling,
        CouplingRows,
        Curve,
        CurveOnCurve,
        Cylindrical,
        Differential,
        Distance,
        Force,
        Free,
        Function,
        Gear,
        Harmonic,
        Hinge,
        InLine,
        InPlane,
        KnifeEdge,
        Load,
        Mimic,
        Moment,
        Motion,
        Moving,
        Parallel,
        Perpendicular,
        Planar,
        PointOnCurve,
        PointOnHeightField,
        PointOnImplicitSurface,
        PointOnSurface,
        Polar,
        Polynomial,
        PrescribedPose,
        Prismatic,
        Profile,
        RackAndPinion,
        Relation,
        RelativeAngle,
        RelativeDistance,
        RelativeMotion,
        RelativeOffset,
        Revolute,
        RevoluteCylindrical,
        RevoluteRevolute,
        RevoluteRevoluteOrthogonal,
        RevoluteSpherical,
        RevoluteTranslational,
        Rigid,
        RollingBall,
        RollingDisk,
        RollingWheel,
        Rows,
        Screw,
        Signal,
        SphericalSpherical,
        Spline,
        Strut,
        Translation,
        Universal,
        VelocityRelation,
        axis_field,
        structure,
    )
    from .elements.check import check
    from .elements.entry import ElementCompileWarning
    from .files import read
    from .mechanism import Mechanism
    from .run import Run
    from .state import State
    from .system import System
    from .topology import (
        ConvergenceError,
        ElementError,
        SingularError,
        TopologyError,
        TreemechError,
        solids,
    )


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'treemech' has no attribute {name!r}")
    module = import_module(f".{_NAMES[name]}", __name__)
    value = (
        module if _NAMES[name].endswith("." + name) and not hasattr(module, name) else getattr(module, name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
