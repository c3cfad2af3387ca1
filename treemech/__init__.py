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
            "Signal", "Constant", "Polynomial", "Harmonic", "Spline", "Function",
            "Load", "Force", "Moment",
        ),
        "elements",
    ),
}  # fmt: skip
__all__ = [
    "AxialHinge",
    "Ball",
    "BallBryant",
    "Constant",
    "ConvergenceError",
    "Curve",
    "Cylindrical",
    "ElementCompileWarning",
    "ElementError",
    "Force",
    "Free",
    "Function",
    "Harmonic",
    "Hinge",
    "Load",
    "Mechanism",
    "Moment",
    "Motion",
    "Moving",
    "Planar",
    "Polar",
    "Polynomial",
    "Prismatic",
    "Revolute",
    "Rigid",
    "Run",
    "Screw",
    "Signal",
    "SingularError",
    "Spline",
    "State",
    "System",
    "TopologyError",
    "Translation",
    "TreemechError",
    "Universal",
    "__version__",
    "axis_field",
    "check",
    "read",
    "solids",
    "structure",
]

if TYPE_CHECKING:
    from .elements import (
        AxialHinge,
        Ball,
        BallBryant,
        Constant,
        Curve,
        Cylindrical,
        Force,
        Free,
        Function,
        Harmonic,
        Hinge,
        Load,
        Moment,
        Motion,
        Moving,
        Planar,
        Polar,
        Polynomial,
        Prismatic,
        Revolute,
        Rigid,
        Screw,
        Signal,
        Spline,
        Translation,
        Universal,
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
