"""Films: as long as the motion, with pictures that change, or a clear error."""

import shutil
import subprocess

import numpy as np
import pytest

import treemech as tm

Image = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def run():
    system = tm.System("pendulum")
    system.connect(
        "pin",
        tm.Revolute("y"),
        system.ground,
        system.body("rod", **tm.solids.rod((0, 0, 0), (1, 0, 0), mass=1.0).properties),
    )
    return system.build().simulate((0, 0.4), rtol=1e-6)


def test_a_gif_has_the_pictures_of_the_motion(run, tmp_path):
    with Image.open(run.animate(tmp_path / "a.gif", size=(160, 120), fps=10, speed=1.0)) as film:
        assert film.size == (160, 120) and film.n_frames == 5
        film.seek(0)
        first = np.asarray(film.convert("RGB"), dtype=int)
        film.seek(4)
        last = np.asarray(film.convert("RGB"), dtype=int)
    assert (np.abs(first - last).max(axis=2) > 40).sum() > 100


def test_a_picture_shows_the_body_in_its_colour(run, tmp_path):
    with Image.open(
        run.animate(tmp_path / "a.png", size=(200, 150), colors={"rod": "#ff0000"}, view="front")
    ) as picture:
        x = np.asarray(picture.convert("RGB"), dtype=int)
    red = (x[..., 0] > 120) & (x[..., 1] < 90) & (x[..., 2] < 90)
    rows, columns = np.nonzero(red)
    assert np.ptp(columns) > 60 and np.ptp(rows) < 20  # a level rod


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="there is no ffmpeg")
def test_an_mp4_is_written_by_ffmpeg(run, tmp_path):
    film = run.animate(tmp_path / "a.mp4", size=(161, 121), fps=10)  # odd sizes too
    told = subprocess.run(["ffmpeg", "-i", str(film)], capture_output=True, text=True).stderr
    assert ("162x122" in told and "h264" in told) or "mpeg4" in told


def test_a_film_that_would_never_end_is_refused(run, tmp_path):
    with pytest.raises(tm.TreemechError, match="at most 3000"):
        run.animate(tmp_path / "a.gif", speed=1e-4)
    assert not list(tmp_path.iterdir())
