"""The page of an animation: whole, self-contained, and true to the poses it was given."""

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from treemech.view.animate import default_shapes, write_page

SINGLE = 1e-5  # poses are stored in single precision, relative to the centre of the scene
UNIT_BOX = {"kind": "box", "size": [1.0, 1.0, 1.0]}


def random_rotations(rng: np.random.Generator, n: int) -> np.ndarray:
    q = rng.normal(size=(n, 4))
    return rotation_of(q / np.linalg.norm(q, axis=1, keepdims=True))


def rotation_of(q: np.ndarray) -> np.ndarray:
    w, x, y, z = np.moveaxis(np.asarray(q, dtype=float), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def make_scene(n: int = 50, names: tuple[str, ...] = ("arm", "hand"), **changes: Any) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    bodies = [
        {
            "name": name,
            "position": rng.normal(size=(n, 3)),
            "rotation": random_rotations(rng, n),
            "shapes": [UNIT_BOX, {"kind": "sphere", "radius": 0.1, "offset": np.array([0.0, 0.0, 1.0])}],
        }
        for name in names
    ]
    points = [
        {"name": "pin", "body": -1, "offset": [0, 0, 0]},
        {"name": "pin", "body": 0, "offset": np.ones(3)},
    ]
    scene = {"name": "robot", "gravity": [0, 0, -9.81], "t": np.linspace(0.0, 2.0, n)}
    return {**scene, "bodies": bodies, "points": points, **changes}


class Page(HTMLParser):
    """What a browser finds in the page: title, scripts, and the addresses it would load."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.text = path.read_text(encoding="utf-8")
        self.title, self.open_tag = "", ""
        self.scripts: list[str] = []
        self.loads: list[str | None] = []
        self.feed(self.text)
        self.data = json.loads(self.scripts[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open_tag = tag
        self.loads += [value for key, value in attrs if key in ("src", "href")]
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.open_tag = ""

    def handle_data(self, data: str) -> None:
        if self.open_tag == "script":
            self.scripts[-1] += data
        elif self.open_tag == "title":
            self.title += data

    def poses(self) -> np.ndarray:
        flat = np.frombuffer(base64.b64decode(self.data["poses"]), dtype="<f4").astype(float)
        return flat.reshape(len(self.times()), -1, 7)

    def times(self) -> np.ndarray:
        return np.frombuffer(base64.b64decode(self.data["time"]), dtype="<f8")


def write(folder: Path, scene: dict[str, Any], **options: Any) -> Page:
    return Page(write_page(folder / "page.html", scene, **options))


def test_one_self_contained_page_is_written(tmp_path):
    page = write(tmp_path, make_scene())
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    assert not re.search("https?://", page.text)
    assert page.loads == [] and "import(" not in page.text and "@import" not in page.text
    assert page.title == page.data["name"] == "robot"
    assert "%%" not in page.text
    assert len(page.scripts) == 2


def test_existing_page_survives_a_scene_that_is_refused(tmp_path):
    path = write_page(tmp_path / "page.html", make_scene())
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"position of body 'arm' has shape \(50, 3\); wanted \(49, 3\)"):
        write_page(path, make_scene(t=np.arange(49.0)))
    assert path.read_bytes() == before
    write_page(path, make_scene(name="other"))
    assert path.read_bytes() != before
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("far", [0.0, 1e7])
def test_poses_return_from_the_page(tmp_path, far):
    scene = make_scene()
    for body in scene["bodies"]:
        body["position"] = body["position"] + far
    scene["points"] = []
    page = write(tmp_path, scene)
    poses = page.poses()
    assert_allclose(page.times(), scene["t"], rtol=0, atol=0)
    for i, body in enumerate(scene["bodies"]):
        assert_allclose(poses[:, i, :3] + page.data["centre"], body["position"], rtol=0, atol=SINGLE)
        assert_allclose(rotation_of(poses[:, i, 3:]), body["rotation"], rtol=0, atol=SINGLE)


def test_half_turns_have_quaternions_too(tmp_path):
    turns = np.array([np.diag(d) for d in ([1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1])], dtype=float)
    body = {"name": "b", "position": np.zeros((4, 3)), "rotation": turns, "shapes": [UNIT_BOX]}
    page = write(
        tmp_path, {"name": "turns", "gravity": [0, 0, 0], "t": range(4), "bodies": [body], "points": []}
    )
    assert_allclose(rotation_of(page.poses()[:, 0, 3:]), turns, rtol=0, atol=SINGLE)


@pytest.mark.parametrize(
    "name", ["</script><script>alert(1)</script>", "<!-- <script>", "a & b \"c\" 'd' \\", "%%DATA%%"]
)
def test_names_cannot_break_the_page(tmp_path, name):
    scene = make_scene(names=(name, "plain"), name=name)
    scene["points"][0]["name"] = name
    page = write(tmp_path, scene)
    assert page.title == name
    assert page.data["name"] == page.data["bodies"][0]["name"] == page.data["points"][0]["name"] == name
    assert len(page.scripts) == 2


def test_names_of_any_alphabet_are_kept(tmp_path):
    page = write(tmp_path, make_scene(names=("bras supérieur", "腕 \u2028 \ud800"), name="mécanisme"))
    assert [body["name"] for body in page.data["bodies"]] == ["bras supérieur", "腕 \u2028 \ud800"]
    assert page.title == "mécanisme"


def test_long_motion_is_thinned_by_index(tmp_path):
    n = 12_345
    scene = make_scene(n, t=np.linspace(0.0, 1.0, n) ** 2)
    page = write(tmp_path, scene)
    times = page.times()
    assert 1900 <= len(times) <= 2000
    assert times[0] == 0.0 and times[-1] == 1.0
    rows = np.searchsorted(scene["t"], times)
    assert set(np.diff(rows)) <= {6, 7}
    expected = scene["bodies"][1]["position"][rows]
    assert_allclose(page.poses()[:, 1, :3] + page.data["centre"], expected, rtol=0, atol=SINGLE)
    assert len(write(tmp_path, scene, max_frames=10).times()) == 10


def test_frames_without_numbers_are_marked_as_lost(tmp_path):
    scene = make_scene()
    scene["bodies"][0]["position"][3, 1] = np.nan
    scene["bodies"][0]["rotation"][5, 2, 2] = np.inf
    scene["bodies"][1]["position"][7] = 1e300  # beyond single precision
    scene["bodies"][1]["position"][8:] = np.nan
    page = write(tmp_path, scene)
    lost = np.isnan(page.poses())
    assert set(np.flatnonzero(lost[:, 0].all(axis=1))) == {3, 5}
    assert not lost[[0, 1, 2, 4, 6], 0].any()
    assert lost[8:, 1].all() and lost[7, 1].all()
    assert np.isfinite(page.data["radius"])


def test_body_that_is_never_a_number_leaves_a_valid_page(tmp_path):
    scene = make_scene(points=[])
    for body in scene["bodies"]:
        body["position"][:] = np.nan
    page = write(tmp_path, scene)
    assert np.isnan(page.poses()).all()
    assert page.data["centre"] == [0.0, 0.0, 0.0] and page.data["radius"] > 0.0


@pytest.mark.parametrize("n", [1, 2])
def test_short_scenes_and_empty_scenes_are_fine(tmp_path, n):
    assert len(write(tmp_path, make_scene(n)).times()) == n
    empty = {"name": "", "gravity": [0, 0, 0], "t": [0.0], "bodies": [], "points": []}
    assert write(tmp_path, empty).data["bodies"] == []


@pytest.mark.parametrize(
    "gravity, up",
    [([0, 0, 0], [0, 0, 1]), ([0, 0, -9.81], [0, 0, 1]), ([0, -9.81, 0], [0, 1, 0]), ([3, 0, 4], None)],
)
def test_up_is_opposite_to_gravity(tmp_path, gravity, up):
    basis = np.array(write(tmp_path, make_scene(gravity=gravity)).data["basis"])
    assert_allclose(basis[2], up or [-0.6, 0, -0.8], atol=1e-12)
    assert_allclose(basis @ basis.T, np.eye(3), atol=1e-12)
    assert_allclose(np.linalg.det(basis), 1.0)


def test_view_holds_every_corner_of_every_shape(tmp_path):
    scene = make_scene(gravity=[1.0, -2.0, 0.5])
    data = write(tmp_path, scene).data
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    for body in scene["bodies"]:
        world = body["position"][:, None] + np.einsum("nij,kj->nki", body["rotation"], corners)
        inside = np.abs((world - data["centre"]) @ np.array(data["basis"]).T) <= np.array(data["half"]) + 1e-9
        assert inside.all()


def test_body_resting_on_the_world_plane_stands_on_the_floor(tmp_path):
    wheel = {"kind": "cylinder", "radius": 0.3, "length": 0.1, "rotation": [[1, 0, 0], [0, 0, -1], [0, 1, 0]]}
    position = np.column_stack([np.linspace(0, 1, 5), np.zeros(5), np.full(5, 0.3)])
    body = {
        "name": "wheel",
        "position": position,
        "rotation": np.tile(np.eye(3), (5, 1, 1)),
        "shapes": [wheel],
    }
    page = write(
        tmp_path, {"name": "w", "gravity": [0, 0, -9.81], "t": range(5), "bodies": [body], "points": []}
    )
    assert_allclose(page.data["floor"] + page.data["centre"][2], 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "shape",
    [
        {"kind": "teapot", "offset": [1, 2, 3]},
        {"kind": "box", "offset": [1, 2, 3]},
        {"kind": "box", "size": [1, np.nan, 1], "offset": [1, 2, 3]},
        {"kind": "sphere", "radius": "big", "offset": [1, 2, 3]},
        {"kind": "line", "points": [[0, 0]], "offset": [1, 2, 3]},
        {"offset": [1, 2, 3]},
    ],
)
def test_shapes_that_are_not_understood_become_a_cross(tmp_path, shape):
    scene = make_scene()
    scene["bodies"][0]["shapes"] = [shape, None]
    first, second = write(tmp_path, scene).data["bodies"][0]["shapes"]
    assert first["kind"] == second["kind"] == "cross"
    assert first["offset"] == [1, 2, 3]


def test_wrong_times_and_points_are_named(tmp_path):
    with pytest.raises(ValueError, match="no times"):
        write(tmp_path, make_scene(0))
    with pytest.raises(ValueError, match="up and down"):
        write(tmp_path, make_scene(3, t=[0.0, 2.0, 1.0]))
    with pytest.raises(ValueError, match="point 'pin' lies on body 2; there are 2"):
        write(tmp_path, make_scene(points=[{"name": "pin", "body": 2, "offset": [0, 0, 0]}]))


def test_motion_computed_backwards_plays_forwards(tmp_path):
    scene = make_scene(4, t=[3.0, 2.0, 1.0, 0.0])
    page = write(tmp_path, scene)
    assert page.times().tolist() == [0.0, 1.0, 2.0, 3.0]
    first = page.poses()[0, 0, :3] + page.data["centre"]
    assert_allclose(first, scene["bodies"][0]["position"][3], atol=SINGLE)


def ends(box: dict[str, Any]) -> np.ndarray:
    """Both ends of a slender box."""
    axis = np.array(box["rotation"])[:, 2] * box["size"][2] / 2
    return np.array([np.array(box["offset"]) - axis, np.array(box["offset"]) + axis])


def test_default_shape_of_a_body_without_extent_is_a_small_box():
    for points in (np.zeros((0, 3)), [[1.0, 2.0, 3.0]]):
        (box,) = default_shapes(points, [1.0, 2.0, 3.0], mass=2.0)
        assert box["kind"] == "box" and box["offset"] == [1.0, 2.0, 3.0]
        assert min(box["size"]) > 0.0
    assert default_shapes([], [0, 0, 0], mass=0.0)[0]["size"][0] > 0.0


def test_default_shape_with_one_point_reaches_the_centre_of_mass():
    link, ball = default_shapes([[1.0, 0.0, 0.0]], [1.0, 2.0, 0.0], mass=2.0)
    assert_allclose(ends(link), [[1, 0, 0], [1, 2, 0]], atol=1e-12)
    assert ball["kind"] == "sphere" and ball["offset"] == [1.0, 2.0, 0.0]


def test_default_shape_with_two_points_joins_them():
    link, ball = default_shapes([[0, 0, 0], [0, 0, 2]], [0, 0, 1], mass=2.0)
    assert_allclose(ends(link), [[0, 0, 0], [0, 0, 2]], atol=1e-12)
    assert ball["radius"] > link["size"][0] / 2
    link, stub, ball = default_shapes([[0, 0, 0], [0, 0, 2]], [1, 0, 0.5], mass=2.0)
    assert_allclose(ends(stub), [[0, 0, 0.5], [1, 0, 0.5]], atol=1e-12)
    assert (
        len(default_shapes([[0, 0, 0], [0, 0, 2]], [1, 0, 0.5], mass=0.0)) == 1
    )  # no mass, no centre of mass


def test_default_shape_with_three_points_is_a_star():
    points = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    *links, ball = default_shapes(points, [0, 0, 0], mass=2.0)
    assert_allclose([ends(link)[0] for link in links], points, atol=1e-12)
    assert_allclose([ends(link)[1] for link in links], np.zeros((3, 3)), atol=1e-12)
    for link in links:
        assert_allclose(np.linalg.det(link["rotation"]), 1.0)
    assert len(default_shapes([*points, [0, 0, 0]], [0, 0, 0], mass=2.0)) == 4  # nothing from com to com


def test_default_shapes_scale_with_the_body():
    points, com = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([0.3, 0.3, 0.0])
    small, large = default_shapes(points, com, 1.0), default_shapes(1e3 * points, 1e3 * com, 1.0)
    for a, b in zip(small[:-1], large[:-1], strict=True):
        assert_allclose(1e3 * np.array(a["size"]), b["size"])


def test_box_without_extent_is_fitted_to_the_scene(tmp_path):
    scene = make_scene()
    for body in scene["bodies"]:
        body["position"] = 1e-3 * body["position"]
        body["shapes"] = default_shapes([], [0, 0, 0], mass=5.0)
    scene["points"] = []
    data = write(tmp_path, scene).data
    side = data["bodies"][0]["shapes"][0]["size"][0]
    assert 0.01 < side / data["radius"] < 0.2
