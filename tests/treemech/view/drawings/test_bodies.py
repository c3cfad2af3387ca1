"""Bodies without shapes are drawn through all their attachments."""

import numpy as np
import pytest

import treemech as tm
from treemech.view.drawings.bodies import link_shapes
from treemech.view.drawings.sketch import sketch


def link(*points, com=None):
    x = [np.array(p, dtype=float) for p in points]
    return link_shapes(x, None if com is None else np.array(com, dtype=float), 0.03, 1.0)


def test_two_attachments_give_a_bar_between_them():
    (bar,) = link((0, 0, 0), (1, 0, 0), com=(0.5, 0, 0))
    assert bar["kind"] == "capsule" and bar["length"] == 1.0 and bar["offset"] == [0.5, 0, 0]


def test_attachments_in_a_line_give_the_longest_bar():
    (bar,) = link((0.2, 0, 0), (1, 0, 0), (-1, 0, 0), com=(0, 0, 0))
    assert bar["length"] == 2.0


def test_three_attachments_give_a_plate():
    (plate,) = link((0, 0, 0), (1, 0, 0), (0, 0, 1), com=(0.3, 0, 0.3))
    assert plate["kind"] == "polygon"
    R, d = np.array(plate["rotation"]), np.array(plate["offset"])
    outline = d + np.column_stack((plate["points"], np.zeros(len(plate["points"])))) @ R.T
    assert np.abs(outline[:, 1]).max() < 1e-12 and np.linalg.det(R) > 0.999
    for corner in ((0, 0, 0), (1, 0, 0), (0, 0, 1)):
        assert np.linalg.norm(outline - corner, axis=1).min() < 0.05


def test_attachments_in_space_give_bars_to_their_middle():
    shapes = link((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), com=(0.25, 0.25, 0.25))
    assert [s["kind"] for s in shapes] == ["capsule"] * 4 + ["sphere"]


def test_one_attachment_is_joined_to_the_centre_of_mass():
    bar, bob = link((0, 0, 0), com=(0, 0, -1))
    assert bar["kind"] == "capsule" and bob["kind"] == "sphere" and bob["offset"] == [0, 0, -1]


@pytest.mark.parametrize("points", [(), ((1, 2, 3),)])
def test_a_body_without_extent_is_seen(points):
    (cube,) = link(*points, com=(1, 2, 3))
    assert cube["kind"] == "box" and cube["offset"] == [1, 2, 3]
    (ball,) = link(*points)
    assert ball["kind"] == "sphere"


def marks(system, **start):
    mech = system.build()
    run = mech.simulate((0, 0.2), mech.state(**start))
    return {m["owner"][0]: m for m in sketch(run)[1] if m["owner"][1] == "body"}


def test_bodies_that_turn_about_their_centre_are_disks_and_gimbals_rings_around_them():
    system = tm.System("gyroscope")
    outer, inner, rotor = (system.body(name, 1.0, (0.1, 0.1, 0.2)) for name in ("outer", "inner", "rotor"))
    system.connect("yaw", tm.Revolute("z"), system.ground.at((0, 0, 1)), outer)
    system.connect("tilt", tm.Revolute("x"), outer, inner)
    system.connect("spin", tm.Revolute("y"), inner, rotor)
    found = marks(system, u={"spin": 20.0})
    assert [found[name]["kind"] for name in ("outer", "inner", "rotor")] == ["torus", "torus", "cylinder"]
    assert found["outer"]["radius"] > 1.2 * found["inner"]["radius"] > 1.4 * found["rotor"]["radius"]
    assert abs(np.array(found["rotor"]["rotation"])[1, 2]) > 0.999  # about y
    for name, axes in (("outer", np.eye(3)[[0, 2]]), ("inner", np.eye(3)[:2])):  # the axes lie in the ring
        assert np.abs(axes @ np.array(found[name]["rotation"])[:, 2]).max() < 1e-9


def test_disks_in_one_place_are_steps():
    system = tm.System("clutch")
    for name in ("engine", "machine"):
        system.connect(name, tm.Revolute("z"), system.ground, system.body(name, 1.0, (0.1, 0.1, 0.2)))
    found = marks(system)
    assert found["engine"]["radius"] > found["machine"]["radius"]
    assert found["engine"]["length"] < found["machine"]["length"]


def test_a_wheel_that_a_constraint_draws_needs_no_other_symbol():
    system = tm.System("coin")
    disk = system.body("disk", 1.0, (0.01, 0.01, 0.02))
    system.connect("flight", tm.Free(), system.ground, disk)
    system.connect("rolls", tm.RollingDisk(radius=0.3), system.ground, disk)
    run = system.build()
    state = run.assemble(guess={"flight": [0, 0, 0.3, np.cos(np.pi / 4), np.sin(np.pi / 4), 0, 0]})
    found = sketch(run.simulate((0, 0.1), state))[1]
    assert not [m for m in found if m["owner"] == ["disk", "body"]]
    assert [m for m in found if m["kind"] == "torus"]
