"""Work over precision: CPU time over error of the candidates of a comparison."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..results.comparison import order
from .pictures import picture_path, pyplot, save_picture

if TYPE_CHECKING:
    from ..results.comparison import Comparison

_MARKS = "osv^<>DPX*"
_LEAST = 1e-16  # an error of 0 on a logarithmic axis


def plot_comparison(
    comparison: "Comparison", path: str | Path | None = None, most: int = 12, axes: Any = None
) -> Any:
    """Draw CPU time over error of the best candidates; return the Axes."""
    target = None if path is None else picture_path(path, "comparison.plot")
    plt = pyplot()
    names = list(order(comparison))
    shown = names[: max(int(most), 1)]
    if axes is None:
        figure, made = plt.subplots(figsize=(9.0, 5.5), layout="constrained")
    else:
        figure, made = axes.figure, axes
    for k, name in enumerate(shown):
        points = sorted(
            (max(row.error, _LEAST), 1e3 * row.cpu_s)
            for row in comparison
            if row.label == name and row.error is not None and row.cpu_s is not None
        )
        made.loglog(
            *zip(*points, strict=True), marker=_MARKS[k % len(_MARKS)], color=plt.get_cmap("tab20")(k % 20), label=name, lw=1, ms=5,
        )  # fmt: skip
    limit = comparison.reference.uncertainty
    if limit > 0.0:
        made.axvline(max(limit, _LEAST), color="grey", lw=0.8, ls=":", label="uncertainty of the reference")
    made.set(xlabel="error", ylabel="CPU time [ms]")
    made.grid(True, alpha=0.25)
    if axes is None:
        left = f" ({len(shown)} of {len(names)} candidates)" if len(shown) < len(names) else ""
        made.set_title(f"{comparison.model}: work and precision{left}")
    if shown:
        made.legend(fontsize=7, bbox_to_anchor=(1.01, 1.0), loc="upper left")
    if target is not None:
        save_picture(figure, target, close=axes is None)
    return made
