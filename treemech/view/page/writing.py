"""Write the page of a scene: one file, no network, no other file."""

import html
import re
from functools import cache
from pathlib import Path

from ...files.atomic import atomic
from ..scene.scene import Scene
from .packing import packed

VIEWER = Path(__file__).with_name("viewer")
SCRIPTS = ("inflate", "data", "motion", "geometry", "camera", "gl", "canvas", "chart", "interface", "main")


def write_page(path: Path, scene: Scene) -> Path:
    """Write the page; it appears whole or not at all."""
    content = page(scene).encode("utf-8", errors="replace")
    with atomic(path) as stream:
        stream.write(content)
    return path


def page(scene: Scene) -> str:
    """Return the text of the page."""
    data, size = packed(scene)
    parts = {
        "%%TITLE%%": html.escape(str(scene.name or "mechanism")),
        "%%STYLE%%": _file("viewer.css"),
        "%%SCRIPT%%": "\n".join(_bare(_file(f"{name}.js")) for name in SCRIPTS),
        "%%SIZE%%": str(size),
        "%%DATA%%": data,
    }
    # one pass, so that a name that looks like a placeholder stays a name
    return re.sub("|".join(parts), lambda found: parts[found[0]], _file("viewer.html"))


@cache
def _file(name: str) -> str:
    return (VIEWER / name).read_text(encoding="utf-8")


def _bare(script: str) -> str:
    """Return a script without indentation and lines of comment."""
    lines = (line.strip() for line in script.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))
