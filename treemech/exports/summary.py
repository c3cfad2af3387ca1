"""A model on one page: bodies, tree and chords, coordinates, elements, mobility, sizes of the equations."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treemech.topology import TreemechError

from ..description.listing import joined_bodies
from ..results.text import Text

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from ..results.state import State

_ESCAPED = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


class Table(NamedTuple):
    """A heading, the names of columns, and rows of texts."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def summary(mech: "Mechanism", style: str = "markdown", state: "State | None" = None) -> Text:
    """Return the tables of a mechanism as text, see `Mechanism.summary`."""
    written = {"markdown": _markdown, "latex": _latex}.get(str(style))
    if written is None:
        raise TreemechError(f"style is {style!r}; wanted 'markdown' or 'latex'.")
    return Text(written(mech.name, [t for t in tables(mech, state) if t.rows]))


def tables(mech: "Mechanism", state: "State | None" = None) -> list[Table]:
    """Return the tables: sizes, bodies, connections, couplings and constraints, elements, parameters."""
    at = mech.assemble() if state is None else state
    mobility, tree = mech.mobility(at), mech.tree
    driven = [f"{p.hinge}[{p.coordinate}]" if p.coordinate else p.hinge for p in mech._prescriptions]
    rows = 0 if mech._core.loops is None else len(mech._core.layout.chords.rows)
    sizes = [
        ("bodies", str(len(tree.branches))),
        ("branches, chords", f"{len(tree.branches)}, {len(tree.chords)}"),
        ("coordinates q, speeds u", f"{mech.nq}, {mech.nu}"),
        ("prescribed", f"{len(driven)}" + (f": {', '.join(driven)}" if driven else "")),
        ("constraint rows", f"{rows}, of rank {mobility.rank}" if rows else "0"),
        ("degrees of freedom", str(mobility.dof)),
        ("states of elements", str(mech._core.nx)),
        ("equations", f"A {mech.nu} x {mech.nu}, P {rows} x {mech.nu}"),
    ]
    if mobility.redundant:
        sizes.append(("redundant rows", ", ".join(dict.fromkeys(mobility.redundant))))
    bodies = [
        (b.name, _short(b.mass), _row(b.com.tolist()), _row(_entries(b.inertia))) for b in tree.bodies[1:]
    ]
    hinges = [
        (c.name, c.hinge.kind, f"{c.connection.ends[0].body.name} - {c.connection.ends[1].body.name}", "branch", str(c.hinge.n_speeds))
        for c in mech._lagrange.hinges
    ]  # fmt: skip
    chords = [
        (c.name, c.element.kind, " - ".join(end.body.name for end in c.ends), "chord", str(c.n_coordinates) if c.is_hinge else "")
        for c in tree.chords
    ]  # fmt: skip
    elements = [
        (e.name, e.element.kind, ", ".join([*joined_bodies(e), *dict.fromkeys(n for n, _ in e.coordinates)]))
        for e in mech._wiring.elements.values()
    ]
    parameters = list(mech.parameters.items()) if mech._origin is not None else []
    return [
        Table("Sizes", ("what", "number"), sizes),
        Table(
            "Bodies",
            ("body", "mass [kg]", "centre of mass [m]", "inertia xx, yy, zz, xy, xz, yz [kg m2]"),
            bodies,
        ),
        Table("Connections", ("name", "element", "joins", "role", "freedoms"), [*hinges, *chords]),
        Table("Coordinates", ("number", "q", "u"), _coordinates(mech)),
        Table("Elements and loads", ("name", "element", "acts on"), elements),
        Table("Parameters", ("name", "value"), [(n, _short(x)) for n, x in parameters]),
    ]


def _coordinates(mech: "Mechanism") -> list[tuple[str, str, str]]:
    q, u = mech.coordinates, mech.speeds
    count = max(len(q), len(u))
    each = zip([*q, *[""] * (count - len(q))], [*u, *[""] * (count - len(u))], strict=True)
    return [(str(k), *names) for k, names in enumerate(each)]


def _entries(J: "np.ndarray") -> list[float]:
    return [float(J[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]


def _short(x: float) -> str:
    return f"{float(x):.6g}"


def _row(numbers: Sequence[float]) -> str:
    return ", ".join(_short(x + 0.0) for x in numbers)


def _markdown(name: str, found: Sequence[Table]) -> str:
    def cells(row: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"

    lines = [f"# {name}"]
    for table in found:
        lines += ["", f"## {table.title}", "", cells(table.head), cells(["---"] * len(table.head))]
        lines += [cells(row) for row in table.rows]
    return "\n".join(lines) + "\n"


def _latex(name: str, found: Sequence[Table]) -> str:
    def cells(row: Sequence[str]) -> str:
        return " & ".join("".join(_ESCAPED.get(c, c) for c in cell) for cell in row) + r" \\"

    lines = [rf"\section*{{{''.join(_ESCAPED.get(c, c) for c in name)}}}"]
    for table in found:
        lines += [
            "",
            rf"\subsection*{{{table.title}}}",
            rf"\begin{{tabular}}{{{'l' * len(table.head)}}}",
            cells(table.head),
            r"\hline",
            *(cells(row) for row in table.rows),
            r"\end{tabular}",
        ]
    return "\n".join(lines) + "\n"
