"""Axes of hinges from their motion space: known hinges, hinges of a user's own, branches and cut hinges alike."""

from dataclasses import dataclass
from math import cos, sin

import numpy as np
import pytest

import treemech as tm
from treemech.view.drawings.axes import axes, centre, curve_points
from treemech.view.drawings.hinges import hinge_marks
from treemech.view.drawings.model import Model


@dataclass(frozen=True)
class Offset(tm.Hinge):
    """Turns about a line parallel to y at x = 0.3 of end a: a revolute hinge in foreign words."""

    n_coordinates = 1

    def evaluate(self, q, u, t, motion):
        c, s = cos(q[0]), sin(q[0])
        motion.offset[0], motion.offset[2] = 0.3 - 0.3 * c, 0.3 * s
        motion.rotation[0, 0], motion.rotation[0, 2], motion.rotation[2, 0], motion.rotation[2, 2] = (
            c,
            s,
            -s,
            c,
        )
        motion.translation_partials[0, 0], motion.translation_partials[0, 2] = 0.3 * s, 0.3 * c
        motion.rotation_partials[0, 1] = 1.0
        motion.translation_bias[0], motion.translation_bias[2] = 0.3 * c * u[0] ** 2, -0.3 * s * u[0] ** 2


def model(hinge, q=None, offset=(0, 0, 0)):
    system = tm.System("one")
    body = system.body("body", 1.0, (0.1, 0.1, 0.1))
    system.connect("h", hinge, system.ground.at(offset), body)
    mech = system.build()
    run = mech.simulate(
        (0, 0.5), mech.state(q={"h": q} if q is not None else None, u=np.full(mech.nu, 0.4)), rtol=1e-6
    )
    return Model(run)


@pytest.mark.parametrize("axis", ["x", "y", "z", (1, 2, 2)])
def test_a_revolute_hinge_has_its_axis(axis):
    m = model(tm.Revolute(axis), offset=(1, 2, 3))
    (found,) = axes(m.joined[0], m.frames.t)
    n = np.array({"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}.get(axis, axis), dtype=float)
    assert found.turns and found.place.part == 0 and abs(found.pitch) < 1e-12
    assert np.allclose(found.place.offset, (1, 2, 3)) and np.allclose(
        found.place.rotation[:, 2], n / np.linalg.norm(n)
    )


def test_an_axis_away_from_the_point_is_found():
    m = model(Offset())
    (found,) = axes(m.joined[0], m.frames.t)
    assert found.place.part == 0
    assert np.allclose(found.place.offset, (0.3, 0, 0)) and np.allclose(
        np.abs(found.place.rotation[:, 2]), (0, 1, 0)
    )


def test_a_screw_advances():
    m = model(tm.Screw(pitch=0.05))
    (found,) = axes(m.joined[0], m.frames.t)
    assert found.turns and abs(found.pitch - 0.05) < 1e-12


def test_a_slide_has_the_length_of_its_motion():
    m = model(tm.Prismatic("x"), q=0.2)
    (found,) = axes(m.joined[0], m.frames.t)
    x = m.run.q[:, 0]
    assert (
        not found.turns
        and np.allclose(found.moves, (x.min(), x.max()))
        and np.allclose(found.place.rotation[:, 2], (1, 0, 0))
    )


def test_axes_of_a_cross_stand_on_both_bodies():
    m = model(tm.Universal())
    first, second = axes(m.joined[0], m.frames.t)
    assert first.place.part == 0 and second.place.part == 1


@pytest.mark.parametrize(
    "hinge, rank", [(tm.Ball(), 3), (tm.BallBryant(), 3), (tm.Universal(), 2), (tm.Prismatic("x"), 0)]
)
def test_the_rank_of_rotations(hinge, rank):
    assert centre(hinge, hinge.sample(np.random.default_rng(1)), 0.0)[0] == rank


def test_a_curve_is_drawn_as_itself():
    points = [(0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 1, 1), (4, 0, 1), (5, 0, 0)]
    m = model(tm.Curve(points), offset=(0, 0, 1))
    (found,) = axes(m.joined[0], m.frames.t)
    line = curve_points(m.joined[0], 0.0)
    assert found.place is None
    for p in points:
        assert np.linalg.norm(line - (np.array(p) + (0, 0, 1)), axis=1).min() < 0.05


def kinds(m):
    return [mark["kind"] for mark in hinge_marks(m) if mark["layer"] == "hinges"]


@pytest.mark.parametrize(
    "hinge, wanted",
    [
        (tm.Revolute("x"), ["cylinder", "cylinder"]), (tm.Prismatic("z"), ["box", "box"]), (tm.Ball(), ["sphere"]), (tm.Free(), []),
        (tm.Universal(), ["sphere", "cylinder", "cylinder"]), (tm.Rigid(), ["box"]),
    ],
)  # fmt: skip
def test_what_is_drawn_of_a_hinge(hinge, wanted):
    assert kinds(model(hinge)) == wanted


def four_bar(cut):
    system = tm.System("four-bar")
    crank = system.body("crank", 1.0, (0, 1 / 12, 1 / 12), com=(0.5, 0, 0))
    coupler = system.body("coupler", 3.0, (0, 9 / 4, 9 / 4), com=(1.5, 0, 0))
    rocker = system.body("rocker", 2.5, (0, 1.3, 1.3), com=(1.25, 0, 0))
    ends = {
        "A": (system.ground, crank), "B": (crank.at((1, 0, 0)), coupler), "C": (coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0))),
        "D": (system.ground.at((3.5, 0, 0)), rocker),
    }  # fmt: skip
    for name, (a, b) in ends.items():
        system.connect(name, tm.Revolute("y"), a, b, role="chord" if name == cut else None)
    mech = system.build()
    return Model(mech.simulate((0, 0.3), mech.assemble(fix={"A": -0.6}), rtol=1e-6))


@pytest.mark.parametrize("cut", ["B", "C", "D"])
def test_a_cut_hinge_is_drawn_as_a_branch_is(cut):
    owners = [mark["owner"][0] for mark in hinge_marks(four_bar(cut)) if mark["layer"] == "hinges"]
    assert sorted(owners) == sorted("ABCD" * 2)


def test_the_ground_is_marked_where_bodies_meet_it():
    supports = [mark for mark in hinge_marks(four_bar("C")) if mark["layer"] == "ground"]
    places = np.array([mark["at"][1] for mark in supports])
    assert len(supports) == 6 and sorted(set(np.round(places[:, 0], 6))) == [0.0, 3.5]
