"""Elements whose rows are computed from the element itself, and measured hinge coordinates: their tables for `element_rows`."""

from typing import Any, NamedTuple

import numpy as np

import treemech as tm
from treemech.dynamics.native import entry_points as native
from treemech.kinematics.layout.chords import Coordinate, make_chord_layout
from treemech.kinematics.layout.work import make_chord_context, make_chord_work, make_context
from treemech.kinematics.plan.chord_arrays import CHORD_ELEMENT
from treemech.kinematics.plan.columns import body, chord, speed
from treemech.results.state import find
from treemech.topology import Connection
from treemech.topology.arrays import Floats, address

from .joint_rows import ANGLE, ELEMENT, FITTED, JOINED, Row, coordinate_row


class Measured:
    """Hinge coordinates that elements ask for, each with the row that measures it, behind the rows of the constraints."""

    def __init__(self, system: tm.System, n_rows: int) -> None:
        self.system, self.n_rows = system, n_rows
        self.coordinates: dict[tuple[str, int], int] = {}  # (hinge, number) -> row
        self.rows: list[Row] = []

    def row_of(self, hinge: str, number: int, what: str) -> int:
        """Return the row of a coordinate; `what` needs it."""
        if (hinge, number) not in self.coordinates:
            row = coordinate_row(self.system.connections[hinge], number, what)
            self.coordinates[hinge, number] = self.n_rows + len(self.rows)
            self.rows.append(row)
        return self.coordinates[hinge, number]

    @property
    def turns(self) -> list[int]:
        """Return the rows of angles, which are counted beyond half a turn."""
        return [self.n_rows + k for k, row in enumerate(self.rows) if row.kind == ANGLE]

    def at(self, mech: tm.Mechanism, state: tm.State) -> Floats:
        """Return the counted angles of a state."""
        places = {row: key for key, row in self.coordinates.items()}
        keys = [places[row] for row in self.turns]
        return np.array([state.q[find(mech._lagrange, hinge).q + number] for hinge, number in keys])


class _Loose(NamedTuple):
    """What the engine's layout of chords asks of a tree, where every body is loose: no hinge leads to any."""

    chords: list[Connection]
    numbers: dict[str, int]

    def path(self, number: int) -> tuple[int, ...]:
        return ()


class Elements:
    """The chords of a Cartesian model: the engine's tables and workspace, with bodies and coordinates of our own.

    Nothing of the engine's tree is in them but the address of each element and the place of its numbers.
    """

    def __init__(self, system: tm.System, mech: tm.Mechanism, rows: list[Row], measured: Measured) -> None:
        self.measured, self.core, self.context = measured, mech._core, np.zeros(1, dtype=np.int64)
        couplings = list(system.couplings.values())
        for c in couplings:
            for hinge, number in c.arguments:
                measured.row_of(hinge, number, f"coupling {c.name!r} ({c.element.kind})")
        own = dict.fromkeys(
            row.connection for row in (*rows, *measured.rows) if row.kind in (ELEMENT, FITTED)
        )
        connections = [system.connections[name] for name in own]
        described: list[Any] = [*connections, *couplings]
        joined = {key: row - measured.n_rows for key, row in measured.coordinates.items()}
        tree: Any = _Loose(connections, {b.name: i for i, b in enumerate(system.bodies)})
        self.layout = make_chord_layout(
            tree, self.core.layout.plan, {i: (np.eye(3), b.com) for i, b in enumerate(system.bodies)},
            {c.name: self._record(mech, c.name, c.element) for c in described},
            couplings, {key: Coordinate(k, k) for key, k in joined.items()},
        )  # fmt: skip
        ours = {name: iter([r for r, row in enumerate(rows) if row.connection == name and row.kind in (ELEMENT, JOINED)])
                for name in self.layout.names}  # fmt: skip
        #: our number of every row of the layout; -1 where a hinge is here to be measured only
        self.numbers = np.array([next(ours[name], -1) for name, _ in self.layout.rows], dtype=np.int64)
        #: bodies of the rows of a coupling, and for each argument which of them its row moves
        self.bodies: dict[str, list[int]] = {}
        blocks: list[tuple[int, int]] = []
        for c in couplings:
            pairs = [(row.i, row.j) for row in (measured.rows[joined[key]] for key in c.arguments)]
            found = self.bodies[c.name] = sorted({i for pair in pairs for i in pair if i})
            blocks += [tuple(found.index(i) if i else -1 for i in pair) for pair in pairs]  # type: ignore[misc]
        self.blocks = np.array(blocks, dtype=np.int64).reshape(-1, 2)
        self.work = make_chord_work(self.layout)
        if self.layout.names:
            self._make_context(len(joined))

    def chord_of(self, row: Row) -> int:
        """Return the chord of a row that is fitted; 0 for others."""
        return self.layout.names.index(row.connection) if row.kind == FITTED else 0

    def _make_context(self, n: int) -> None:
        """Make the table by which compiled code finds the chords; the coordinates they join are ours."""
        core, dof = self.core, np.zeros((n, speed.N_COLUMNS), dtype=np.int64)
        dof[:, speed.PUBLIC] = np.arange(n)
        self.coordinates = [np.zeros(max(n, 1)) for _ in range(3)]
        plan = core.layout.plan._replace(dof=dof)
        q, u, ud = self.coordinates
        work = core.work._replace(q=q, u=u, ud=ud)
        self._kept = plan, work, make_context(plan, work, n)
        self.context = make_chord_context(address(self._kept[2]), self.layout, self.work)
        self.context[CHORD_ELEMENT] = native.address("chord_element")

    def _record(self, mech: tm.Mechanism, name: str, element: Any) -> tuple[int, int]:
        """Return (address, start of its numbers) of an element of the engine's model."""
        layout, tree = self.core.layout, mech.tree
        for k, (known, other) in enumerate(zip(layout.chords.names, layout.chords.elements, strict=True)):
            if known == name and other is element:
                line = layout.chords.plan.chord[k]
                return int(line[chord.ADDRESS]), int(line[chord.PARAMETER])
        for number in range(1, len(tree.bodies)):
            if tree.branches[number - 1].connection.element is element:
                line = layout.plan.body[number]
                return int(line[body.ADDRESS]), int(line[body.PARAMETER])
        raise AssertionError(name)

    @property
    def address(self) -> int:
        """Return the address of the table; 0 where no rows come from elements."""
        return address(self.context) if self.layout.names else 0

    @property
    def carried(self) -> int:
        """Return how many numbers are carried along: counted angles, unknowns of chords."""
        return len(self.measured.turns) + len(self.work.q)

    def start(self, mech: tm.Mechanism, state: tm.State) -> Floats:
        """Return what is carried at a state."""
        self.work.pivot[:] = -1
        places = self.layout.start.copy()
        tree = {c.name: c for c in mech._lagrange.hinges}
        for line, name in zip(self.layout.plan.chord, self.layout.names, strict=True):
            own = slice(int(line[chord.FIRST_Q]), int(line[chord.FIRST_Q] + line[chord.NQ]))
            if name in tree:
                places[own] = state.q[tree[name].q_slice]
            elif name in state.cut:
                given = np.asarray(state.cut[name][0])
                places[own] = np.where(np.isnan(given), places[own], given)
        return np.concatenate((self.measured.at(mech, state), places))

    def on_coordinates(self, multipliers: Floats) -> list[tuple[int, Row, float]]:
        """Return (row, what it measures, load) of couplings on the coordinates they join."""
        found: list[tuple[int, Row, float]] = []
        for line in self.layout.plan.chord[self.layout.plan.chord[:, chord.KIND] == chord.COUPLING]:
            first, count = int(line[chord.PATH_START]), int(line[chord.N_ROWS])
            for a in range(first, int(line[chord.PATH_END])):
                number = int(self.layout.plan.path[a, chord.COORDINATE])
                at = int(line[chord.FIRST_ENTRY]) + count * (a - first)
                own = self.numbers[line[chord.FIRST_ROW] : line[chord.FIRST_ROW] + count]
                load = float(self.work.partials[at : at + count] @ multipliers[own])
                found.append((self.measured.n_rows + number, self.measured.rows[number], load))
        return found
