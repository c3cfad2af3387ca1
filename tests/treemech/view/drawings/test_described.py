"""`drawing(self)` of a user's element, and what is told of one that is wrong."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import treemech as tm
from treemech.view.compose import compose
from treemech.view.scene.options import Options


@dataclass(frozen=True)
class Band(tm.Energetic):
    stiffness: float = 10.0
    n_deformations = 1

    def deformation(self, position, rotation, t, eps):
        eps[0] = position[1, 2] - position[0, 2]

    def effort(self, now, t, out):
        out.effort[0] = self.stiffness * now.deformation[0]
        out.energy[0] = 0.5 * self.stiffness * now.deformation[0] ** 2


def scene_of(band) -> Any:
    system = tm.System("band")
    body = system.body("body", 1.0, (0.1, 0.1, 0.1))
    system.connect("slide", tm.Prismatic("z"), system.ground, body)
    system.connect("band", band, system.ground.at((0.2, 0, 1)), body.at((0.2, 0, 0)))
    return compose(system.build().simulate((0, 1), rtol=1e-6), Options())


def drawn(description):
    kind = type("Drawn", (Band,), {"drawing": lambda self: description})
    return scene_of(dataclass(frozen=True)(kind)())


def test_without_a_drawing_it_is_a_line_between_its_ends():
    (curve,) = scene_of(Band()).curves
    assert curve.kind == "way" and [s.part for s in curve.spots] == [0, 1]


def test_a_coil_and_a_solid_at_an_end():
    scene = drawn(
        [
            {"kind": "coil"},
            {"kind": "sphere", "end": 1, "radius": 0.1, "offset": (0, 0, 0.3), "color": "#ff0000"},
        ]
    )
    assert [d.kind for d in scene.derived] == ["stretch"]
    (ball,) = [item for item in scene.items if item.colour == "#ff0000"]
    assert ball.part == 1 and np.allclose(ball.offset, (0.2, 0, 0.3))


def test_a_path_of_points_is_followed_over_the_frames():
    def points(position, rotation, x, inputs, memory, t):
        return np.array([position[0], 0.5 * (position[0] + position[1]) + (0.1, 0, 0), position[1]])

    scene = drawn([{"kind": "path", "points": points, "tint": "effort"}])
    (curve,) = scene.curves
    assert curve.points.shape == (len(scene.frames.t), 3, 3)
    end = scene.position(curve.spots[1])
    assert np.allclose(curve.points[:, 2], end, atol=1e-9) and np.allclose(curve.points[:, 1, 0], 0.3)
    assert scene.tints[curve.tint].values.max() == 1.0


@pytest.mark.parametrize(
    "description, told",
    [
        ("coil", "wanted a list"), (["coil"], "wanted a dict"), ([{"kind": "spirale"}], "there is no kind 'spirale'"),
        ([{"kind": "coil", "ends": (0, 5)}], "no end 5"), ([{"kind": "coil", "ends": (0,)}], "between 2 ends"),
        ([{"kind": "sphere"}], "sphere"), ([{"kind": "cord", "tint": "colour"}], "tinted by 'colour'"),
        ([{"kind": "path", "points": lambda *a: 1 / 0}], "ZeroDivisionError"), ([{"kind": "path", "points": lambda *a: np.zeros(3)}], r"\(3,\)"),
    ],
)  # fmt: skip
def test_wrong_drawings_are_told_by_name(description, told):
    with pytest.raises(tm.ElementError, match=told) as error:
        drawn(description)
    assert "band" in str(error.value)


def test_a_drawing_that_fails_does_not_keep_results_from_being_saved(tmp_path):
    kind = dataclass(frozen=True)(type("Broken", (Band,), {"drawing": lambda self: 1 / 0}))
    system = tm.System("band")
    body = system.body("body", 1.0, (0.1, 0.1, 0.1))
    system.connect("slide", tm.Prismatic("z"), system.ground, body)
    system.connect("band", kind(), system.ground.at((0.2, 0, 1)), body)
    run = system.build().simulate((0, 1), rtol=1e-6)
    with pytest.warns(UserWarning, match="saved without its drawing"):
        run.save(tmp_path / "a.npz")
    assert tm.read(tmp_path / "a.npz").animate(tmp_path / "a.html").exists()
