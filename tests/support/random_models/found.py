"""Every failure that random mechanisms have shown, made small: a regression case for ever."""

from typing import NamedTuple

from .recipe import Recipe


class Found(NamedTuple):
    """A recipe that broke a law once; `open` says why it still does, "" if it is mended."""

    law: str
    recipe: Recipe
    open: str = ""


FOUND = (
    # mobility evaluated elements whose states were not known yet
    Found("other_cut", Recipe(0, chains=(("Revolute", "Revolute", "Cylindrical", "Planar"),
                                         ("Revolute", "Revolute", "Cylindrical", "Cylindrical")),
                              constraints=("InLine",), elements=("ViscousComposite",))),
    # composites and implicit laws started from where the last evaluation had left them
    Found("twice", Recipe(1480561764, branches=("Translation",), elements=("Composite",))),
    Found("twice", Recipe(2076257697, branches=("Revolute", "Revolute"), elements=("Force", "ViscousComposite"), planar=True)),
    Found("twice", Recipe(1698171929, branches=("Prismatic", "Revolute", "Prismatic", "Revolute", "Revolute"),
                          elements=("Friction", "RambergOsgood"), planar=True)),
    # without coordinates there is no error to choose a step by
    Found("other_method", Recipe(1221571297, branches=("Rigid",), elements=("FungHistory",))),
    # a composite with two internal equilibria
    Found("energy", Recipe(277278181, chains=(("Planar", "Curve", "Cylindrical", "Universal"),),
                           elements=("RotationalSpring", "Composite", "Muscle"))),
    Found("newton_euler", Recipe(1572023775, branches=("Prismatic", "Free", "BallBryant", "Translation"),
                                 chains=(("Universal", "Cylindrical", "Polar", "Curve"), ("Polar", "Planar", "Ball")),
                                 elements=("PositionServo", "Composite"))),
    # the audit halved intervals without end for the work of a belt, which was rounding
    Found("energy", Recipe(1234040416, branches=("Revolute", "Revolute", "Revolute", "Revolute"), couplings=("Belt",),
                           elements=("Muscle", "Muscle"), planar=True)),
    # Radau, Adams and scipy crept towards the end of the travel of a driven chain
    Found("other_method", Recipe(2087550546, branches=("Ball",), drives=("Harmonic",), elements=("Composite", "Path"),
                                 chains=(("Ball", "Universal", "Revolute", "Curve"), ("Revolute", "Ball", "Universal")))),
    # the law did not know frames that carry the coordinates of a cut hinge
    Found("newton_euler", Recipe(1446567078, chains=(("Planar", "Revolute", "Universal", "BallBryant"),),
                                 couplings=("Differential",),
                                 elements=("ReactionFriction", "Moment", "RotationalSpring", "SphereSphere"))),
    Found("newton_euler", Recipe(651302253, chains=(("Prismatic", "Polar", "Translation", "Planar"),),
                                 elements=("ReactionFriction", "Controller"))),
    Found("newton_euler", Recipe(1224618426, branches=("Revolute", "Polar", "Rigid", "Rigid"),
                                 chains=(("Universal", "Ball", "Universal"),), constraints=("PointOnSurface",),
                                 elements=("RotationalSpring", "HingeStop", "PlaneElement", "ReactionFriction"))),
    # loads of hinges of a run were read from memory that had been freed, wherever a coupling was declared
    Found("other_order", Recipe(380866584, chains=(("BallBryant", "Revolute", "Polar", "Ball"),
                                                   ("Revolute", "Translation", "Screw", "Screw")),
                                constraints=("Perpendicular",), couplings=("Gear",))),
    Found("other_cut", Recipe(1026484249, chains=(("Polar", "Universal", "Revolute", "Translation"),
                                                  ("Revolute", "Revolute", "Polar", "Universal")),
                              constraints=("Distance",), couplings=("Gear",))),
    # histories were stored at the steps of the integrator, so that the motion depended on them
    Found("other_tolerance", Recipe(40204697, branches=("Prismatic", "Screw", "Revolute"),
                                    chains=(("Revolute", "Ball", "Planar"),), constraints=("AtRotation",),
                                    couplings=("Belt",), elements=("FungHistory", "ViscousComposite", "PlaneElement"))),
    # the law's differences were too wide: a corner was 6e-6 m away
    Found("derivatives", Recipe(881480835, branches=("Revolute", "Revolute", "Prismatic"), planar=True,
                                elements=("TableSpring", "Path", "SphereSphere"))),
    Found("derivatives", Recipe(24786639, branches=("Revolute", "Screw", "Cylindrical", "Translation", "Polar", "Rigid", "Revolute", "Ball"),
                                constraints=("InLine",), elements=("Fung", "Bushing", "SphereSphere", "BristleFriction", "HingeStop"))),
    # Radau hung at the end of the travel: the steps it was allowed at once grew beyond what 64 bits hold
    Found("other_method", Recipe(2106346401, branches=("Prismatic",), planar=True, couplings=("Differential",), drives=("Harmonic",),
                                 chains=(("Revolute", "Revolute", "Revolute", "Revolute"),
                                         ("Prismatic", "Revolute", "Prismatic", "Revolute")))),
    # no speeds: the attitude could not be asked for
    Found("calls", Recipe(529215017, branches=("Moving",), elements=("Fung",), parameters=True)),
    # multipliers of rows that are left out were minus zero in rows of states
    Found("calls", Recipe(1234231135, branches=("Revolute", "Revolute", "Prismatic", "Revolute"), planar=True, parameters=True,
                          chains=(("Prismatic", "Revolute", "Revolute", "Revolute"),
                                  ("Revolute", "Revolute", "Prismatic", "Prismatic")))),
    # without coordinates compiled derivatives gave up: none of accelerations, none of states of elements for implicit methods
    Found("derivatives", Recipe(925854678, branches=("Rigid",))),
    Found("other_method", Recipe(2119052711, branches=("Rigid", "Moving"), elements=("SphereSphere", "Fung", "ReactionFriction"))),
    # alpha let the position of a rolling ball drift: its row was left out as redundant, beside those of the rates that it implies
    Found("other_method", Recipe(551374383, branches=("Ball",), constraints=("RollingBall",), drives=("Polynomial",),
                                 elements=("Drag", "Pid", "TensionSpring"))),
    # friction by a load that redundant constraints leave open: which hinge is cut decided, without a word
    Found("other_cut", Recipe(578850694, branches=("Revolute", "Revolute", "Revolute"), planar=True,
                              chains=(("Revolute", "Revolute", "Revolute", "Revolute"),),
                              elements=("ViscousComposite", "ReactionFriction", "HydraulicActuator"))),
    # the law did not count the 63 J that a spring held in between against the balance of the 1.7 J left at the end
    Found("energy", Recipe(960099315, branches=("Polar", "Translation", "Prismatic"), drives=("Spline",),
                           chains=(("Curve", "Translation", "Prismatic", "Universal"),),
                           elements=("Drag", "RambergOsgood", "PlaneElement", "Path"))),
    # the law placed free bodies of planar mechanisms in the axes of their plane
    Found("energy", Recipe(474622598, branches=("Revolute",), elements=("ReactionFriction",), planar=True)),
    # the law asked nothing to be actuated where couplings are all that closes a chain
    Found("inverse_of_forward", Recipe(75334616, branches=("Revolute", "Revolute"), couplings=("Belt",), planar=True)),
    # the speeds of a rod between two balls were turned at the start by the attitude of the whole assembly
    Found("other_order", Recipe(1000, branches=("Revolute", "Assembly"))),
    # a state did not take back the unknown of a constraint
    Found("energy", Recipe(1000, branches=("Revolute", "Ball"), constraints=("PointOnCurve",))),
    # a step that ends at a corner is too short to move the state beyond it by a digit, again and again
    Found("energy", Recipe(587497365, branches=("Curve",), elements=("MusclePath", "TensionSpring")),
          open="corner_within ends steps of 7e-16 s, which leave q = 3.4 as it is; the run stops and names the spring"),
)  # fmt: skip
