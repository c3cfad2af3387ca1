"""Recipes: what a random mechanism is made of, in words. The numbers follow from the seed and the place of each part."""

import zlib
from dataclasses import dataclass, fields, replace

import numpy as np
from hypothesis import strategies as st

from . import more_constraints, more_elements

FREEDOMS = {
    "Rigid": 0, "Revolute": 1, "Prismatic": 1, "Screw": 1, "Curve": 1, "Cylindrical": 2, "Universal": 2, "Polar": 2,
    "Planar": 3, "Translation": 3, "Ball": 3, "BallBryant": 3, "Free": 6, "Moving": 0,
    "Series": 2, "Assembly": 5, "Swivel": 2,
}  # fmt: skip
BRANCHES = tuple(FREEDOMS)
CHAINED = tuple(kind for kind in FREEDOMS if kind not in ("Rigid", "Free", "Moving"))
IN_PLANE = ("Revolute", "Revolute", "Revolute", "Prismatic")

SPATIAL = (
    "Distance", "InPlane", "InLine", "Parallel", "Perpendicular", "AtRotation", "RelativeOffset", "PointOnSurface",
    "RollingBall", "RollingDisk", "KnifeEdge", "ConstantVelocity", *more_constraints.SPATIAL,
)  # fmt: skip
PLANAR = more_constraints.PLANAR
UNILATERAL = more_constraints.UNILATERAL
COUPLINGS = (
    "Mimic", "Gear", "Belt", "Differential", "RackAndPinion", "Parabola", "VelocityRelation", "CoordinateGear",
)  # fmt: skip
SMOOTH = (
    "Spring", "TableSpring", "Viscoelastic", "Fung", "RambergOsgood", "Bushing", "Beam", "CorotationalBeam", "PlaneElement",
    "RotationalSpring", "ElectricMotor", "PositionServo", "Pid", "HydraulicActuator", "Muscle", "Path", "Drag", "Force",
    "Moment", "Composite", "ViscousComposite", "FramedComposite", *more_elements.SMOOTH,
)  # fmt: skip
CORNERED = (
    "TensionSpring",
    "HingeStop",
    "Friction",
    "ReactionFriction",
    "BristleFriction",
    "SpherePlane",
    "SphereSphere",
    *more_elements.CORNERED,
)
REMEMBERING = ("FungHistory", "Controller")
FOREIGN_ELEMENTS = ("Band", "LaggingDrive", "Wind")
FOREIGN = (*FOREIGN_ELEMENTS, "Swivel", "Parabola")  # written outside the library
ELEMENTS = SMOOTH + CORNERED + REMEMBERING + FOREIGN_ELEMENTS
DRIVES = ("Harmonic", "Polynomial", "Spline")


@dataclass(frozen=True)
class Recipe:
    """What a mechanism is made of.

    `branches` are the hinges of open trees, each on a body chosen by the seed; `chains` are hinges from one
    body to another with new bodies in between, so each closes a loop. A part draws its numbers from the
    seed, its kind of part and its place in the list: parts that are left out change nothing in the others.
    """

    seed: int
    branches: tuple[str, ...] = ()
    chains: tuple[tuple[str, ...], ...] = ()
    constraints: tuple[str, ...] = ()
    couplings: tuple[str, ...] = ()
    elements: tuple[str, ...] = ()
    drives: tuple[str, ...] = ()
    on_coordinates: tuple[str, ...] = ()  # drives on one coordinate of a hinge of several
    planar: bool = False
    floating: bool = False  # joined to nothing, without gravity
    parameters: bool = False

    def stream(self, part: str, place: int = 0) -> np.random.Generator:
        """Return the random numbers of one part."""
        return np.random.default_rng([self.seed, zlib.crc32(part.encode()), place])

    @property
    def kinds(self) -> "set[str]":
        """The kinds of its parts."""
        chained = [kind for chain in self.chains for kind in chain]
        lists = (self.branches, chained, self.constraints, self.couplings, self.elements, self.drives)
        return {kind for one in lists for kind in one} | {
            f"{kind} on a coordinate" for kind in self.on_coordinates
        }

    def smaller(self) -> "list[Recipe]":
        """Return the recipes with one part less."""
        found = []
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, tuple):
                found += [
                    replace(self, **{field.name: value[:k] + value[k + 1 :]}) for k in range(len(value))
                ]
            elif value is True:
                found.append(replace(self, **{field.name: False}))
        return [r for r in found if r.branches or r.chains]

    def __repr__(self) -> str:
        given = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self)[1:] if getattr(self, f.name)]
        return f"Recipe({', '.join([str(self.seed), *given])})"


class Chooser:
    """Makes choices with a random generator."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng

    def number(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def one(self, options):
        return options[self.number(0, len(options) - 1)]


class HypothesisChooser(Chooser):
    """Makes choices that hypothesis draws, and shrinks."""

    def __init__(self, draw):
        self.draw = draw

    def number(self, low, high):
        return self.draw(st.integers(low, high))


def make_recipe(choose, branches=True, loops=True, elements=ELEMENTS, drives=True, floating=True):
    """Make a recipe by choices: trees, loops, elements, drives, or what is asked for of them."""
    planar = loops and choose.number(0, 2) == 0
    kinds = IN_PLANE if planar else CHAINED
    chains = []
    for k in range(choose.number(1 if not branches else 0, 2) if loops else 0):
        wanted = (3 if planar else 6) + (1 if k == 0 else choose.number(0, 1))
        chain: list[str] = []
        while len(chain) < 3 or sum(FREEDOMS[kind] for kind in chain) < wanted:
            chain.append(choose.one(kinds))
        chains.append(tuple(chain))
    open_kinds = IN_PLANE if planar else BRANCHES
    n = choose.number(0 if chains else 1, 4 if chains else 8) if branches else 0
    trees = tuple(choose.one(open_kinds) for _ in range(n))
    afloat = floating and not planar and not chains and choose.number(0, 5) == 0
    if afloat:
        trees = ("Free", *trees)
    own = elements if not afloat else tuple(k for k in elements if k in INTERNAL)
    return Recipe(
        seed=choose.number(0, 2**31 - 1),
        branches=trees,
        chains=tuple(chains),
        constraints=tuple(choose.one(PLANAR if planar else SPATIAL) for _ in range(_few(choose)))
        if loops
        else (),
        couplings=tuple(choose.one(COUPLINGS) for _ in range(_few(choose))) if loops else (),
        elements=tuple(choose.one(own) for _ in range(choose.number(0, 5))) if own else (),
        drives=tuple(choose.one(DRIVES) for _ in range(_few(choose))) if drives and not afloat else (),
        on_coordinates=tuple(choose.one(DRIVES) for _ in range(_few(choose)))
        if drives and not afloat and not planar
        else (),
        planar=planar,
        floating=afloat,
        parameters=choose.number(0, 3) == 0,
    )


def _few(choose):
    """Return 0 in three of four cases, else 1."""
    return int(choose.number(0, 3) == 3)


# Elements whose loads cancel: they act between bodies
INTERNAL = (
    "Spring", "TableSpring", "Viscoelastic", "Fung", "RambergOsgood", "Bushing", "PlaneElement", "RotationalSpring",
    "ElectricMotor", "Pid", "HydraulicActuator", "Muscle", "Path", "TensionSpring", "Friction", "Composite",
    "CorotationalBeam", "Beam", "BristleFriction", "HingeStop", "Band", "LaggingDrive", "FramedComposite",
    "Tire", "JournalBearing", "EhdTraction", "WrapCylinder", "WrapSphere", "WrappedMuscle", "MusclePath", "CoordinateSpring",
    "CoordinateMotor",
)  # fmt: skip


@st.composite
def recipes(draw, **options):
    """Draw a recipe; `options` are those of `make_recipe`."""
    return make_recipe(HypothesisChooser(draw), **options)


def numbered_recipe(seed, number, **options):
    """Return recipe `number` of a series."""
    return make_recipe(Chooser(np.random.default_rng([seed, number])), **options)
