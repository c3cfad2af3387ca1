"""What notebooks show for a System, Mechanism, State and Run: small tables, the animation, no scripts of other places."""

import tempfile
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..description.listing import counted, element_lines
from ..results.naming import numbered
from ..results.units import unit_of
from . import completion

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from ..results.run import Run
    from ..results.state import State
    from ..system import System

_MOST = 40  # rows of one table
_HEIGHT = 420  # of an animation [pixels]


def table_html(rows: Sequence[Sequence[Any]], caption: str = "") -> str:
    """Return a table; the first row is its head. Rows that are empty are left out."""
    head, *body = rows
    shown = [row for row in body if any(str(cell) for cell in row)]
    lines = ["<table>", f"<caption style='text-align:left'>{escape(caption)}</caption>" if caption else ""]
    lines.append("<tr>" + "".join(f"<th>{escape(str(cell))}</th>" for cell in head) + "</tr>")
    for row in shown[:_MOST]:
        cells = (f"<td style='text-align:left'>{escape(str(cell))}</td>" for cell in row)
        lines.append("<tr>" + "".join(cells) + "</tr>")
    lines.append("</table>")
    if len(shown) > _MOST:
        lines.append(f"<p>... and {len(shown) - _MOST} rows more</p>")
    return "".join(lines)


def system_html(system: "System") -> str:
    """Return the bodies, connections and elements of a system."""
    completion.install()
    bodies = [("body", "mass [kg]")] + [(b.name, _number(b.mass)) for b in system.bodies[1:]]
    joined = [("connection", "element", "joins")]
    for c in system.connections.values():
        joined.append((c.name, type(c.element).__name__, " - ".join(end.body.name for end in c.ends)))
    for coupling in system.couplings.values():
        joined.append(
            (coupling.name, type(coupling.element).__name__, ", ".join(map(str, coupling.arguments)))
        )
    rest = "".join(f"<div>{escape(line)}</div>" for line in element_lines(system.wiring))
    return f"{_title(system.name, counted(system))}{table_html(bodies)}{table_html(joined)}{rest}"


def mechanism_html(mech: "Mechanism") -> str:
    """Return the tree of a mechanism, its coordinates and its freedoms at the reference position."""
    completion.install()
    info, rows = mech._info, [("hinge", "kind", "coordinates", "units")]
    for hinge in info.hinges:
        if hinge.nq:
            rows.append(
                (hinge.name, hinge.kind, ", ".join(numbered(hinge.name, hinge.nq)), ", ".join(hinge.units))
            )
    what = f"{len(info.bodies) - 1} bodies, {len(info.chords)} chords, nq = {mech.nq}, nu = {mech.nu}"
    return f"{_title(mech.name, what)}<pre>{escape(str(mech.draw()))}</pre>{table_html(rows)}"


def state_html(state: "State") -> str:
    """Return coordinates and speeds of a state by name."""
    completion.install()
    if state.coordinates is None:
        return f"<pre>{escape(repr(state))}</pre>"
    rows: list[tuple[str, ...]] = [("hinge", "q", "u")]
    for c in state.coordinates.hinges:
        rows.append((c.name, *(_numbers(x) for x in state[c.name])))
    rows += [(f"{name} (cut)", *(_numbers(x) for x in state.cut[name])) for name in state.cut]
    return table_html(rows, f"state at t = {state.t:.6g} s")


def run_html(run: "Run") -> str:
    """Return how a run ended, its animation, and the coordinates at its end."""
    completion.install()
    end = "" if run.success else f" - {run.message}"
    text = _title(run._info.name, f"{run!r}{end}")
    rows = [("coordinate", "start", "end", "unit")]
    for hinge in run._info.hinges:
        for k, name in enumerate(numbered(hinge.name, hinge.nq)):
            column, unit = run.q[:, hinge.q + k], unit_of(hinge.units, hinge.euler_parameters, "q", k)
            if len(column):
                rows.append((name, _number(column[0]), _number(column[-1]), unit))
    return text + _animation(run) + table_html(rows)


def _animation(run: "Run") -> str:
    """Return the page of the animation in a frame of its own."""
    if len(run.t) < 2:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        page = run.animate(Path(folder, "run.html")).read_text(encoding="utf-8")
    return (
        f'<iframe srcdoc="{escape(page, quote=True)}" sandbox="allow-scripts" width="100%" height="{_HEIGHT}" '
        'style="border:1px solid #ccc"></iframe>'
    )


def _title(name: str, what: str) -> str:
    return f"<div><b>{escape(name)}</b>: {escape(what)}</div>"


def _number(x: Any) -> str:
    return f"{float(x):.6g}"


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(_number(x) for x in np.atleast_1d(np.asarray(values)))
