"""Haug's constraints in Cartesian coordinates: the motion and the loads of the relative ones."""

import numpy as np
import pytest

import treemech as tm
from tests.benchmarks.formulations.test_formulation import (
    AGREE,
    FORMULATIONS,
    LOADS,
    Reference,
    agreement,
    made_for,
)
from treemech.benchmarks.formulations import Inexpressible
from treemech.benchmarks.formulations.cartesian.joint_rows import _CONSTRAINTS

KINDS = ("nikravesh-3-sparse", "augmented-lagrangian-sparse", "index-3-bdf")
OTHERS = ("nikravesh-1-dense", "nikravesh-2-sparse", "newton-euler-sparse")
CONSTRAINTS = {
    "Distance": tm.Distance(lambda t: 0.9 + 0.2 * t * t),
    "Perpendicular": tm.Perpendicular("x", (1, 2, 0)),
    "InPlane": tm.InPlane(lambda t: 0.2 + 0.3 * t * t),
    "Parallel": tm.Parallel(),
    "InLine": tm.InLine((1, 0.5, 0.2)),
    "AtRotation": tm.AtRotation(),
    "RevoluteSpherical": tm.RevoluteSpherical(0.9),
    "RevoluteRevolute": tm.RevoluteRevolute(lambda t: 0.9 + 0.2 * t * t),
    "RevoluteRevoluteOrthogonal": tm.RevoluteRevoluteOrthogonal(0.8),
    "RevoluteCylindrical": tm.RevoluteCylindrical(lambda t: 0.2 - 0.1 * t * t),
    "RevoluteTranslational": tm.RevoluteTranslational(0.15),
    "RelativeOffset": tm.RelativeOffset((1, 1, 0), lambda t: 0.3 + 0.2 * t * t),
    "RelativeAngle": tm.RelativeAngle(lambda t: 0.4 + t),
    "PrescribedPose": tm.PrescribedPose(x=0.4, z=lambda t: 0.1 * t),
}


def held(constraint):
    """Return a pendulum and a body on a bushing, with the constraint between them."""

    def make():
        system = tm.System("held", gravity=(0.5, -0.3, -9.81))
        a = system.body("a", 1.3, (0.2, 0.3, 0.25), com=(0.1, -0.05, -0.3))
        b = system.body("b", 0.8, (0.1, 0.15, 0.2), com=(0.05, 0.1, 0.0))
        system.connect("A", tm.Universal(), system.ground, a)
        system.connect("free", tm.Free(), system.ground, b)
        system.connect(
            "K", tm.Bushing((30.0, 40.0, 50.0, 4.0, 4.0, 4.0)), system.ground.at((0.6, 0.3, -0.4)), b
        )
        system.connect("C", constraint, a.at((0.1, 0.0, -0.3)), b.at((-0.05, 0.1, 0.05)))
        return system

    def start(mech):
        place = [0.7, 0.3, -0.2, 0.9, 0.3, 0.2, -0.25]
        place[3:] = place[3:] / np.linalg.norm(place[3:])
        return mech.assemble(guess={"A": [0.3, -0.2], "free": place}, rates={"A": [0.6, -0.4]})

    return make, start, 0.2


@pytest.fixture(scope="module")
def reference():
    known = {}

    def get(name):
        if name not in known:
            known[name] = Reference(name, own=held(CONSTRAINTS[name]))
        return known[name]

    return get


def test_every_row_is_tried():
    assert set(CONSTRAINTS) == {kind.__name__ for kind in _CONSTRAINTS}


@pytest.mark.parametrize("kind", [*KINDS, *(pytest.param(kind, marks=pytest.mark.slow) for kind in OTHERS)])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints_move_and_carry_as_relative_ones(reference, name, kind):
    ref = reference(name)
    assert agreement(kind, ref) < (AGREE if kind != "index-3-bdf" else 10 * AGREE)
    made, _ = made_for(kind, ref)
    found = made.reactions(ref.span, made.initial(ref.end))
    scale = max(1.0, *(np.abs(load.force).max() for load in ref.loads.values()))
    for connection, wanted in ref.loads.items():
        for mine, theirs in zip(found[connection], wanted, strict=True):
            assert np.max(np.abs(np.asarray(mine) - theirs)) < LOADS * scale, connection


def flat(name):
    """Return a plane mechanism with Haug's constraints; or one that is none, with the constraint of this name."""

    def make():
        system = tm.System("flat", gravity=(0.5, -9.81, 0))
        crank, slider, link, float_ = (
            system.body(n, 1.0 + 0.2 * k, (0.1, 0.1, 0.1), com=(0.1, 0.05, 0))
            for k, n in enumerate(("crank", "slider", "link", "float"))
        )
        upper, height = crank.at((0.4, 0, 0)), 0.1 if name == "heights" else 0.0
        system.connect("A", tm.Revolute("z"), system.ground, crank)
        for body in (slider, link, float_):
            system.connect(f"free {body.name}", tm.Planar(), system.ground, body)
        system.connect(
            "rod",
            tm.RevoluteRevolute(0.9) if not height else tm.Distance(0.9),
            upper,
            slider.at((0, 0, height)),
        )
        system.connect("level", tm.AtRotation(), system.ground, slider)
        direction = (1, 1, 1) if name == "oblique" else (0, 1, 0)
        system.connect(
            "height", tm.RelativeOffset(direction, lambda t: 0.1 + 0.2 * t * t), system.ground, slider
        )
        system.connect("guide", tm.InLine((1, 0.2, 0)), crank.at((0.1, 0.1, 0)), link)
        system.connect("turn", tm.RelativeAngle(lambda t: 0.3 + t * t), system.ground, link)
        system.connect("pose", tm.PrescribedPose(x=lambda t: 0.4 + 0.1 * t), system.ground, float_)
        system.connect(
            "K", tm.Spring(30.0, 0.5, 0.3), system.ground.at((0.3, 0.5, 0)), float_.at((0.1, 0, 0))
        )
        return system

    def start(mech):
        guess = {
            "A": 0.5,
            "free slider": [1.2, 0.1, 0],
            "free link": [0.3, 0.3, 0.3],
            "free float": [0.4, 0.3, 0.2],
        }
        return mech.assemble(guess=guess, rates={"A": 1.0, "free float[2]": 0.7})

    return make, start, 0.2


@pytest.mark.parametrize("kind", ["planar-partitioning", "planar-baumgarte", "planar-park"])
def test_plane_constraints_move_as_relative_ones(kind):
    assert agreement(kind, Reference("flat", own=flat("plane"))) < AGREE


@pytest.mark.parametrize(
    ("name", "said"),
    [("oblique", "'height' has a vector that is oblique"), ("heights", "'rod' joins points at two heights")],
)
def test_what_is_not_plane_is_refused_by_name(name, said):
    make, start, _ = flat(name)
    system = make()
    mech = system.build()
    state = mech.state(q={"A": 0.5})
    with pytest.raises(Inexpressible, match=said):
        FORMULATIONS["planar-park"](system).initial(state)


def test_a_constraint_that_may_open_is_refused_by_name():
    with pytest.raises(Inexpressible, match="'C' .InPlane. may open"):
        FORMULATIONS["nikravesh-3-dense"](held(tm.InPlane(unilateral=True))[0]())
