"""Animations: `run.animate`, `run.show` and `mech.show`. The ending of the path decides what is written."""

import os
import tempfile
import webbrowser
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import TreemechError

from ..files.atomic import as_path, with_suffix
from .compose import compose
from .page.writing import write_page
from .scene.options import Options

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from ..results.run import Run
    from ..results.state import State

FILMS = (".gif", ".mp4")


def animate_run(run: "Run", path: str | os.PathLike[str], what: str = "run.animate", **given: Any) -> Path:
    """Write a page (.html), a film (.gif, .mp4) or a picture of the first frame (.png); return its path."""
    options = Options.of(given, what)
    target = with_suffix(path, ".html", what, ".htm", *FILMS, ".png")
    _refuse_unwritable(target)
    if target.suffix in (".html", ".htm"):
        return write_page(target, compose(run, options))
    from .film.writing import refuse_unless_there, write_film, write_picture

    refuse_unless_there(target.suffix, what)
    scene = compose(run, options)
    return write_picture(target, scene) if target.suffix == ".png" else write_film(target, scene)


def show_run(run: "Run", path: Any = None, what: str = "run.show", **given: Any) -> Path:
    """Write a page, by default in a folder for temporary files, and open it in the browser."""
    if path is None:
        folder = Path(tempfile.mkdtemp(prefix="treemech-"))
        name = "".join(c if c.isalnum() or c in "-_" else "-" for c in run._info.name)[:60] or "run"
        path = folder / f"{name}.html"
    page = animate_run(run, path, what, **given)
    if not webbrowser.open(page.resolve().as_uri()):
        print(f"no browser was found; the page is {page}")
    return page


def show_state(mech: "Mechanism", state: "State | None", path: Any = None, **given: Any) -> Path:
    """Write a page with one state, and open it unless a path is given."""
    run = run_of_state(mech, mech.state() if state is None else state)
    if path is not None:
        return animate_run(run, path, "mech.show", **given)
    return show_run(run, None, "mech.show", **given)


def run_of_state(mech: "Mechanism", state: "State") -> "Run":
    """Return a run of one state."""
    from ..analyses.evaluation import results_of_states
    from ..analyses.states import unpack
    from ..results.run import Run

    t, q, u = unpack(mech, state, "show")
    core = mech._core
    cut = np.zeros((1, core.n_cut))
    for chord in mech._info.chords:
        if chord.name in state.cut:
            cut[0, chord.q : chord.q + chord.nq] = state.cut[chord.name][0]
    z = state.z if len(state.z) else np.array(core.layout.efforts.start)
    return Run(
        mech._info, np.array([t]), q[None].copy(), u[None].copy(), True, "", tracer=partial(results_of_states, mech),
        cut=cut if state.cut else None, z=z[None].copy(), measures=mech._wiring.measures, core=lambda: mech._core,
    )  # fmt: skip


def _refuse_unwritable(target: Path) -> None:
    """Refuse a folder that cannot be written before anything is computed."""
    as_path(target, "animate")
    if target.parent.is_dir() and not os.access(target.parent, os.W_OK):
        raise TreemechError(f"the folder {str(target.parent)!r} cannot be written: choose another one.")
