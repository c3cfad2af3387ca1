"""Cams, curves, rolling, gears, couplings and general hinges in Cartesian and planar coordinates: as in relative ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import treemech as tm
from tests.benchmarks.formulations.cartesian.contacts import CASES, FREE, PLANE, mesh, train
from tests.benchmarks.formulations.test_formulation import (
    AGREE,
    FORMULATIONS,
    LOADS,
    Reference,
    agreement,
)
from treemech.benchmarks.formulations import Inexpressible
from treemech.benchmarks.formulations.cartesian.joint_rows import ELEMENT, FITTED, JOINED, coordinate_row
from treemech.benchmarks.problems.catalogue import catalogue

CARTESIAN = [name for name in FORMULATIONS if name.split("-")[0] in ("nikravesh", "augmented", "index")]
PLANAR = [name for name in FORMULATIONS if name.startswith("planar")]
QUICK = (
    "nikravesh-3-sparse",
    "augmented-lagrangian-sparse",
    "index-3-bdf",
    "planar-park",
    "planar-partitioning",
)


def some(kinds):
    return [pytest.param(k, marks=() if k in QUICK else pytest.mark.slow) for k in kinds]


@pytest.fixture(scope="module")
def reference():
    known = {}

    def get(name, cases):
        key = name, cases is PLANE
        if key not in known:
            known[key] = Reference(name, own=cases[name])
        return known[key]

    return get


@pytest.mark.parametrize("kind", some(CARTESIAN))
@pytest.mark.parametrize("name", CASES)
def test_bodies_move_and_carry_as_in_relative_coordinates(reference, name, kind):
    compare(reference(name, CASES), kind)


@pytest.mark.parametrize("kind", some(PLANAR))
@pytest.mark.parametrize("name", PLANE)
def test_bodies_in_a_plane_move_and_carry_as_in_relative_coordinates(reference, name, kind):
    compare(reference(name, PLANE), kind)


def compare(ref, kind):
    assert agreement(kind, ref) < (10 * AGREE if kind.startswith("index-3") else AGREE)
    made = FORMULATIONS[kind](ref.make())
    assert {row.kind for row in made.rows} & {ELEMENT, JOINED, FITTED}
    found = made.reactions(ref.span, made.initial(ref.end))
    scale = max(1.0, *(np.abs(load.force).max() for load in ref.loads.values()))
    axes = np.eye(3) if kind not in PLANAR else made.E
    for connection, wanted in ref.loads.items():
        if connection not in found:
            assert connection in made.system.couplings
            continue
        for mine, theirs, known in zip(found[connection], wanted, ((0, 1), (2,)), strict=True):
            gap = axes @ (np.asarray(mine) - theirs)
            gap = gap[list(known)] if kind in PLANAR else gap
            assert np.max(np.abs(gap)) < LOADS * scale, connection


@pytest.mark.parametrize("name", FREE)
@pytest.mark.parametrize(
    "kind", some(["nikravesh-3-sparse", "augmented-lagrangian-sparse", "planar-park", "nikravesh-1-dense"])
)
def test_what_only_transmits_keeps_the_energy(name, kind):
    """No spring, no drive: only gravity has a potential, and no constraint does any work."""
    make, start, _ = (PLANE if kind in PLANAR else CASES)[name]
    system = make()
    made = FORMULATIONS[kind](system)
    solution = made.simulate((0.0, 0.5), start(made.mech), 1e-11, np.linspace(0, 0.5, 6))
    energy = solution.energy(system)
    assert np.ptp(energy) < 1e-8 * np.abs(energy).max()
    assert np.ptp(solution.bodies.angular_velocity) > 1.0


# ---------------------------------------------------------------- turns
@pytest.mark.parametrize("kind", some([*CARTESIAN, *PLANAR]))
def test_turns_are_counted_between_outputs_that_are_far_apart(kind):
    """Wheels that turn six times between outputs: the gears fit at each of them, though no state says how often they turned."""
    for make, start, _ in (train(tm.Gear(2.0), "A", "B", plane=True), mesh(tm.GearPair(0.2, 0.1), 0.3, True)):
        made = FORMULATIONS[kind](make())
        state = start(made.mech)
        setting = 1e-9 if made.setting == "rtol" else 1e-4
        solution = made.simulate((0.0, 3.0), state, setting, np.array([0.0, 1.5, 3.0]))
        assert solution.integration.success, solution.integration.message
        assert solution.residual[:, 0].max() < (1e-5 if kind == "planar-baumgarte" else 1e-7)


@pytest.mark.parametrize("name", ["GearPair", "CamFollower roller", "Gear", "CurveOnCurve"])
def test_an_evaluation_does_not_depend_on_those_before(name):
    make, start, span = CASES[name]
    made = FORMULATIONS["nikravesh-3-sparse"](make())
    state = start(made.mech)
    solution = made.simulate((0.0, span), state, 1e-9, np.array([0.0, span]))
    first, last = solution.integration.y
    there = made.rhs(span, last)
    made.rhs(0.0, first)
    assert_allclose(made.rhs(span, last), there, rtol=1e-9, atol=1e-9 * np.abs(there).max())


def test_a_redundant_coupling_is_left_out():
    """Two gears in place of one: the same motion, one row less than there are."""
    make, start, span = train(tm.Gear(2.0), "A", "B", plane=False)

    def twice():
        system = make()
        system.couple("again", tm.Gear(2.0), "A", "B")
        return system

    ref = Reference("twice", own=(make, start, span))
    made = FORMULATIONS["nikravesh-3-sparse"](twice())
    solution = made.simulate((0.0, span), start(made.mech), 1e-11, ref.times)
    assert solution.error(ref.bodies) < AGREE
    assert len(made.active) == len(made.rows) - 1


# ---------------------------------------------------------------- the gallery
#: examples with gears, cams, curves, surfaces or rolling in them, and the part of their duration that is compared
CONTACTS = {
    "epicyclic_gear": 0.05,
    "geneva_drive": 0.05,
    "haug_gear_slider": 0.05,
    "haug_rack_and_pinion": 0.05,
    "haug_valve_lifter": 0.2,
    "knee_contact": 0.1,
    "knee_curve": 0.2,
    "rolling_disk": 0.02,
    "skate_on_incline": 0.1,
    "whipple_bicycle": 0.02,
}
REFUSED = {
    "leg_swing": "'rectus femoris' .MusclePath. remembers its history",
    "pump": "'cam' .CamFollower. may open",
    "robot_arm": "controller 'computed torque' acts between steps",
}


def example(name, part):
    """Return an example as a reference: its motion over a part of its duration."""
    found = getattr(tm.examples, name)()
    module = catalogue()[name].module()
    return Reference(name, own=(lambda: found.system, module.state, part * (found.duration or 1.0)))


@pytest.mark.parametrize("name", CONTACTS)
def test_examples_with_contacts_move_as_in_relative_coordinates(name):
    ref = example(name, CONTACTS[name])
    assert agreement("nikravesh-3-sparse", ref) < AGREE


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(catalogue()))
def test_every_example_is_expressed_or_refused_for_a_reason(name):
    found = getattr(tm.examples, name)()
    for kind in ("nikravesh-3-sparse", "augmented-lagrangian-sparse"):
        if name in REFUSED:
            with pytest.raises(Inexpressible, match=REFUSED[name]):
                FORMULATIONS[kind](found.system)
            continue
        made = FORMULATIONS[kind](found.system)
        assert np.all(np.isfinite(made.rhs(found.state.t, made.initial(found.state))))


# ---------------------------------------------------------------- what stays refused, and why
def pushed(system, a, b):
    system.connect("C", tm.PointOnSurface("plane", unilateral=True), a, b)


def rubbed(system, a, b):
    system.connect("C", tm.Friction(0.2), "B", reaction_of="B")


@pytest.mark.parametrize(
    ("add", "why"),
    [
        (pushed, "'C' .PointOnSurface. may open, and no event is looked for"),
        (rubbed, "'C' .Friction. depends on the reaction of 'B'"),
    ],
)
def test_what_has_no_form_is_refused_by_name(add, why):
    system = tm.System("refused")
    a, b = system.body("a", 1.0, (1, 1, 1)), system.body("b", 1.0, (1, 1, 1))
    system.connect("A", tm.Revolute("z"), system.ground, a)
    system.connect("B", tm.Revolute("z"), a.at((1, 0, 0)), b)
    add(system, a, b.at((0, 0, 0.1)))
    for kind in ("nikravesh-3-dense", "augmented-lagrangian-dense", "planar-park"):
        with pytest.raises(Inexpressible, match=why):
            FORMULATIONS[kind](system)


def test_a_coordinate_that_is_an_euler_parameter_is_refused_by_name():
    joint = tm.System("ball")
    joint.connect("A", tm.Ball(), joint.ground, joint.body("a", 1.0, (1, 1, 1)))
    with pytest.raises(
        Inexpressible, match="the servo needs coordinate 2 of hinge 'A' .Ball., an Euler parameter"
    ):
        coordinate_row(joint.connections["A"], 2, "the servo")


def test_coordinates_of_a_cut_hinge_are_coupled():
    """All hinges of a four-bar are coupled, so the engine carries one of them in a frame; here it is a hinge like others."""

    def make():
        system = tm.examples.four_bar().system
        pin = system.connections["A"].element
        system.connect("W", pin, system.ground, system.body("wheel", 1.0, (0.1, 0.1, 0.1)))
        system.couple("mesh", tm.Relation(lambda q, t: q[4] + q[0] + 2.0 * q[1] * q[3] - q[2]), *"ABCDW")
        return system

    def start(mech):
        return mech.assemble(fix={"A": -0.6}, guess={"B": -0.1, "D": -1.7}, rates={"A": 3.0})

    ref = Reference("cut", own=(make, start, 0.2))
    assert any(c.closes for c in ref.mech.tree.chords)
    for kind in ("nikravesh-3-sparse", "planar-park"):
        assert agreement(kind, ref) < AGREE
