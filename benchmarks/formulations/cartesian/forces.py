"""The force elements of a System for formulations in Cartesian coordinates: ends, and the coordinates they act on."""

from typing import Any

import numpy as np

import treemech as tm
from treemech.kinematics.layout.efforts import FromHinge
from treemech.kinematics.plan.columns import effort

from ..formulation import Inexpressible, refuse_composites, refuse_memory
from .elements import Measured
from .joint_rows import Row


class ForceElements:
    """Tables for `force_kernels`; what is not there raises by name.

    States of elements are integrated along. A memory, a reaction the load depends on, the inputs of controllers and
    composites have no form here.
    """

    def __init__(self, system: tm.System, mech: tm.Mechanism, coordinates: Measured) -> None:
        refuse_composites(system)
        refuse_memory(system)
        self.measured = coordinates
        self.layout = mech._core.layout.efforts
        acted: list[int] = []
        sources: list[int] = []
        ends: list[Any] = []
        touched: list[list[int]] = []
        for a in self.layout.applied:
            what = f"element {a.name!r} ({a.element.kind})"

            own = [coordinates.row_of(*c, what) for c in a.coordinates]
            acted += own
            for source in a.inputs:
                is_coordinate = isinstance(source, FromHinge)
                sources.append(coordinates.row_of(source.hinge, source.number, what) if is_coordinate else -1)  # type: ignore[union-attr]
            ends += a.ends
            rows = [coordinates.rows[r - coordinates.n_rows] for r in own]
            bodies = [e.body.number for e in a.ends] + [i for row in rows for i in (row.i, row.j)]  # type: ignore[union-attr]
            touched.append(sorted(set(bodies) - {0}))
        places = np.zeros((len(ends), 12))
        for line, end in zip(places, ends, strict=True):
            line[:9], line[9:] = end.rotation.ravel(), end.offset - end.body.com
        self.touched = touched
        whole = {
            "end_bodies": [end.body.number for end in ends],
            "acted_rows": acted,
            "source_rows": sources,
            "touched": [i for own in touched for i in own],
            "touched_from": np.cumsum([0, *map(len, touched)]),
        }
        self.arrays: dict[str, Any] = {name: np.array(given, dtype=np.int64) for name, given in whole.items()}
        self.arrays["end_points"] = places

    def __len__(self) -> int:
        return len(self.layout.applied)

    @property
    def nx(self) -> int:
        """Return the number of states of elements."""
        return self.layout.nx

    def refuse_states(self, name: str) -> None:
        """Refuse elements with states, for formulations that have none."""
        for a in self.layout.applied:
            if a.sizes.states:
                raise Inexpressible(f"element {a.name!r} ({a.element.kind}) has states, {name} has none.")

    def on_coordinates(self, mech: tm.Mechanism) -> list[tuple[int, Row, float]]:
        """Return (row, what it measures, load) of elements on hinge coordinates, as last evaluated."""
        records, found = mech._core.work.effort_records, []
        for line in self.layout.rows:
            for n in range(line[effort.N_ACTED]):
                number = int(self.arrays["acted_rows"][line[effort.FIRST_ACTED] + n])
                load = float(records[line[effort.LOAD_RECORD] + 6 * line[effort.N_ENDS] + n])
                found.append((number, self.measured.rows[number - self.measured.n_rows], load))
        return found

    def derivative_entries(self, n: int) -> tuple[list[int], list[int]]:
        """Return the places of the derivatives of loads in a matrix with n unknowns a body."""
        rows: list[int] = []
        cols: list[int] = []
        for own in self.touched:
            for b in own:
                for j in range(n):
                    rows += [n * (a - 1) + c for a in own for c in range(n)]
                    cols += [n * (b - 1) + j] * (n * len(own))
        return rows, cols
