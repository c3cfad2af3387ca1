"""Matplotlib, an extra: loaded when something is drawn, and the files it writes."""

from pathlib import Path
from typing import Any

from treemech.topology import TreemechError

from ..files.atomic import as_path, atomic


def pyplot() -> Any:
    """Return matplotlib.pyplot; say what to install if it is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise TreemechError("pictures need matplotlib: pip install treemech[plot].") from None
    return plt


def picture_path(path: object, what: str) -> Path:
    """Return the path of a picture, with .png added if it has no suffix; refuse suffixes matplotlib does not write."""
    target = as_path(path, what)
    if not target.suffix:
        return target.with_name(target.name + ".png")
    pyplot()  # says what is missing
    from matplotlib.backend_bases import FigureCanvasBase

    kinds = sorted(FigureCanvasBase.get_supported_filetypes())
    if target.suffix[1:].lower() not in kinds:
        raise TreemechError(
            f"{what}: {target.name!r} is no picture that matplotlib writes; the first argument is a path that ends in "
            f"{', '.join('.' + kind for kind in kinds)}."
        )
    return target


def save_picture(figure: Any, target: Path, dpi: int = 120, close: bool = True) -> Path:
    """Write a figure to a file, which appears whole or not at all; close the figure, also if that fails."""
    try:
        with atomic(target) as stream:
            figure.savefig(stream, format=target.suffix[1:].lower(), dpi=dpi, bbox_inches="tight")
    finally:
        if close:
            pyplot().close(figure)
    return target
