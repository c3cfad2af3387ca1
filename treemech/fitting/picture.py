"""Picture and page of a fit: measured and fitted values, and residuals over their standard deviation."""

from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files.atomic import atomic, with_suffix
from ..plots.pictures import picture_path, pyplot, save_picture

if TYPE_CHECKING:
    from .result import Fit


def draw(fit: "Fit", path: str | Path | None, most: int) -> Any:
    """Draw the first measured numbers; return the axes (rows, 2)."""
    target = None if path is None else picture_path(path, "fit.plot")
    figure, axes = _drawn(fit, most)
    if target is not None:
        save_picture(figure, target)
    return axes


def _drawn(fit: "Fit", most: int) -> tuple[Any, Any]:
    plt, shown = pyplot(), fit.channels[: max(most, 1)]
    figure, axes = plt.subplots(
        len(shown),
        2,
        squeeze=False,
        figsize=(10.0, 1.0 + 2.0 * len(shown)),
        layout="constrained",
        width_ratios=(3, 2),
    )
    for (left, right), c in zip(axes, shown, strict=True):
        left.plot(c.t, c.measured, ".", ms=3, color="0.55", label="measured")
        left.plot(c.t, c.fitted, lw=1.2, label="fitted")
        left.set_ylabel(c.label)
        right.axhspan(-1.96, 1.96, color="0.92")
        right.plot(c.t, c.residual / c.sigma, ".", ms=3)
        right.set_ylabel("residual / sigma")
        for one in (left, right):
            one.grid(True, alpha=0.25)
    several = len({c.experiment for c in shown}) > 1
    for (left, _), c in zip(axes, shown, strict=True):
        if several:
            left.set_title(c.experiment, fontsize=8, loc="left")
    axes[0, 0].legend(fontsize=8)
    for one in axes[-1]:
        one.set_xlabel("t [s]")
    figure.suptitle(f"fit of {fit.name}")
    return figure, axes


def page(fit: "Fit", path: str | Path) -> Path:
    """Write table, remarks and picture as one HTML page."""
    target, stream = with_suffix(path, ".html", "fit.save_html"), BytesIO()
    figure, _ = _drawn(fit, 12)
    figure.savefig(stream, format="png", dpi=110)
    pyplot().close(figure)
    picture = b64encode(stream.getvalue()).decode()
    text = (
        "<!doctype html><meta charset='utf-8'><style>body{font:14px sans-serif;margin:2em}td,th{padding:2px 10px}</style>"
        f"{fit._repr_html_()}<img alt='measured and fitted' src='data:image/png;base64,{picture}' style='max-width:100%'>"
    )
    with atomic(target) as out:
        out.write(text.encode())
    return target
