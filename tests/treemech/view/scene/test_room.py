"""The camera goes with a mechanism that travels, and stays where one stands."""

import numpy as np
import pytest

import treemech as tm
from treemech.view.compose import compose
from treemech.view.scene.options import Options
from treemech.view.scene.room import Room
from treemech.view.scene.scene import horizontal


def room(run, **options):
    scene = compose(run, Options(**options))
    return scene, Room(scene, horizontal(scene.up), options.get("follow"))


def thrown(speed):
    system = tm.System("hammer", gravity=(0, 0, 0))
    head = system.body("head", **tm.solids.box((0.2, 0.1, 0.1), mass=2.0).properties)
    handle = system.body("handle", **tm.solids.rod((0, 0, 0), (0, 0, 0.5), mass=0.5).properties)
    system.connect("flight", tm.Free(), system.ground, head)
    system.connect("pin", tm.Revolute("x"), head, handle)
    mech = system.build()
    return mech.simulate((0, 2), mech.state(u={"flight": [speed, 0, 0, 0, 0, 1], "pin": 2.0}))


def test_a_mechanism_that_travels_is_followed_at_its_own_size():
    scene, seen = room(thrown(20.0))
    assert scene.parts[seen.follow].name == "head"
    assert 0.3 < seen.radius < 1.5 and np.ptp((seen.low[0], seen.high[0])) > 40.0


def test_one_that_stays_is_not_followed_unless_asked_for():
    run = thrown(0.2)
    _, seen = room(run)
    assert seen.follow == -1
    scene, seen = room(run, follow="handle")
    assert scene.parts[seen.follow].name == "handle"


def test_supports_on_the_ground_stay_in_the_picture():
    system = tm.System("gantry")
    trolley = system.body("trolley", **tm.solids.box((0.2, 0.1, 0.1), mass=2.0).properties)
    system.connect("rail", tm.Prismatic("x"), system.ground, trolley)
    mech = system.build()
    _, seen = room(mech.simulate((0, 2), mech.state(u={"rail": 10.0})))
    assert seen.follow == -1 and seen.radius > 9.0


def test_a_turn_of_few_frames_is_seen_all_the_way_round():
    """A bar that turns evenly needs two frames, in which it hangs down; the camera looked at those alone."""
    system = tm.System("clock", gravity=(0, 0, 0))
    hand = system.body("hand", **tm.solids.rod((0, 0, 0), (0, 0, -1), mass=1.0).properties)
    system.connect("pin", tm.Revolute("y"), system.ground, hand)
    system.prescribe("pin", tm.Polynomial([0.0, 2 * np.pi]))
    mech = system.build()
    scene, seen = room(mech.simulate((0, 1), mech.state()))
    assert len(scene.frames.t) < 10
    assert seen.low[0] < -0.99 and seen.high[0] > 0.99 and seen.low[2] < -0.99 and seen.high[2] > 0.99


@pytest.mark.parametrize("duration, speed", [(0.0, 1.0), (0.018, 0.01), (0.9, 0.5), (1.5, 1.0), (100.0, 1.0)])
def test_short_motions_are_shown_slowly(duration, speed):
    assert Options().pace(duration) == pytest.approx(speed)
    assert Options(speed=3.0).pace(duration) == 3.0


def test_the_outline_is_what_is_drawn_and_not_the_box_around_it():
    """A disk seen from the corner of its box would be small."""
    system = tm.System("disk")
    disk = system.body("disk", **tm.solids.cylinder(radius=1.0, length=0.1, mass=1.0).properties)
    system.connect("axle", tm.Revolute("z"), system.ground, disk)
    mech = system.build()
    _, seen = room(mech.simulate((0, 3), mech.state(u={"axle": 2.0}), rtol=1e-4))
    assert np.all(np.abs(seen.outline) <= seen.half + 1e-9) and len(seen.outline) < 127
    for axis in range(3):
        assert np.isclose(seen.outline[:, axis].max(), seen.half[axis])
