"""Elements (ch. 3): what joins and drives bodies. One file each; none has a door an author outside has not."""

from .ball import Ball
from .ball_bryant import BallBryant
from .constraint import Constraint, RelativeMotion, Rows
from .coupling import Coupling, CouplingRows
from .curve import Curve
from .cylindrical import Cylindrical
from .element import Element, SignalValue, structure
from .free import Free
from .hinge import AxialHinge, Hinge, Motion, axis_field
from .load import EndLoad, EndMotion, Force, Load, Moment
from .moving import Moving
from .planar import Planar
from .polar import Polar
from .prismatic import Prismatic
from .revolute import Revolute
from .rigid import Rigid
from .screw import Screw
from .signal import Constant, Function, Harmonic, Polynomial, Signal, Spline, as_signal
from .translation import Translation
from .universal import Universal

HINGES = (
    Rigid, Revolute, Prismatic, Cylindrical, Screw, Universal, Planar, Translation, Ball, BallBryant,
    Free, Polar, Curve, Moving,
)  # fmt: skip
SIGNALS = (Constant, Polynomial, Harmonic, Spline)
LOADS = (Force, Moment)

__all__ = [
    "HINGES",
    "LOADS",
    "SIGNALS",
    "AxialHinge",
    "Ball",
    "BallBryant",
    "Constant",
    "Constraint",
    "Coupling",
    "CouplingRows",
    "Curve",
    "Cylindrical",
    "Element",
    "EndLoad",
    "EndMotion",
    "Force",
    "Free",
    "Function",
    "Harmonic",
    "Hinge",
    "Load",
    "Moment",
    "Motion",
    "Moving",
    "Planar",
    "Polar",
    "Polynomial",
    "Prismatic",
    "RelativeMotion",
    "Revolute",
    "Rigid",
    "Rows",
    "Screw",
    "Signal",
    "SignalValue",
    "Spline",
    "Translation",
    "Universal",
    "as_signal",
    "axis_field",
    "structure",
]
