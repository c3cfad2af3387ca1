"""Write films (GIF by Pillow, MP4 by ffmpeg) and pictures; whole, or not at all."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from ...files.atomic import atomic
from ..scene.options import Options
from ..scene.scene import Scene
from .pictures import Painter

LONGEST = 3000  # pictures
Picture = NDArray[np.uint8]


def refuse_unless_there(suffix: str, what: str) -> None:
    """Refuse a kind of film that needs something that is not installed, before anything is computed."""
    if suffix in (".gif", ".png"):
        try:
            import PIL.Image  # noqa: F401
        except ImportError:
            raise TreemechError(
                f"{what}: {suffix} files need Pillow, which comes with matplotlib: pip install matplotlib, or treemech[plot]. "
                "A page (.html) needs nothing."
            ) from None
    elif suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise TreemechError(
            f"{what}: .mp4 files need the program ffmpeg, which is not on the path: install it (apt install ffmpeg, "
            "brew install ffmpeg), or write a .gif or a page (.html)."
        )


def write_film(path: Path, scene: Scene) -> Path:
    """Write a film of the whole motion."""
    options: Options = scene.options["options"]
    times = film_times(scene.frames.t, options)
    pictures = Painter(scene, options).pictures(times)
    return (
        write_gif(path, pictures, options.fps)
        if path.suffix == ".gif"
        else write_mp4(path, pictures, options)
    )


def write_picture(path: Path, scene: Scene) -> Path:
    """Write a picture of the first frame."""
    from PIL import Image

    picture = Painter(scene, scene.options["options"]).picture(float(scene.frames.t[0]))
    with atomic(path) as stream:
        Image.fromarray(picture).save(stream, format="PNG", optimize=True)
    return path


def film_times(t: Floats, options: Options) -> Floats:
    """Return the times of the pictures."""
    duration = float(t[-1] - t[0])
    speed = options.pace(duration)
    count = int(np.floor(duration / speed * options.fps + 1e-9)) + 1
    if count > LONGEST:
        raise TreemechError(
            f"a film of {duration:.6g} s at {options.fps:g} pictures a second and speed={speed:g} has {count} pictures; "
            f"wanted at most {LONGEST}. Give a larger speed or a smaller fps."
        )
    return np.asarray(np.minimum(t[0] + np.arange(count) * speed / options.fps, t[-1]))


def write_gif(path: Path, pictures: Iterator[Picture], fps: float) -> Path:
    from PIL import Image

    frames = [
        Image.fromarray(x).quantize(192, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        for x in pictures
    ]
    with atomic(path) as stream:
        frames[0].save(
            stream,
            format="GIF",
            save_all=True,
            append_images=frames[1:],
            duration=max(20, round(1000.0 / fps)),
            loop=0,
            optimize=True,
        )
    return path


def write_mp4(path: Path, pictures: Iterator[Picture], options: Options) -> Path:
    width, height = (int(x) for x in options.size)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "film.mp4"
        command = [
            "ffmpeg", "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{options.fps:g}",
            "-i", "-", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(made),
        ]  # fmt: skip
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdin is not None and process.stderr is not None
        try:
            for picture in pictures:
                process.stdin.write(picture.tobytes())
            process.stdin.close()
        except BrokenPipeError:
            pass  # ffmpeg says why
        except BaseException:
            process.kill()
            process.wait()
            raise
        told = process.stderr.read().decode(errors="replace").strip()
        if process.wait() or not made.exists():
            raise TreemechError(f"ffmpeg wrote no film {path.name}: {told or 'it gave no reason'}.")
        content = made.read_bytes()
    with atomic(path) as stream:
        stream.write(content)
    return path
