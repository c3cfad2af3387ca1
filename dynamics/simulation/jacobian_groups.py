"""Groups of state numbers that are moved together for a Jacobian by differences (Curtis, Powell, Reid).

Parts of a model that nothing joins (no hinge except to the ground, no chord, coupling or element) are
independent: one number of each part can be moved at a time. So a Jacobian takes as many evaluations as its
largest part has numbers.
"""

from collections.abc import Iterable

import numpy as np

from treemech.kinematics.plan.columns import body, chord, effort, point, speed
from treemech.topology.arrays import Ints

from ..model.core import Core


class Components:
    """Independent part of the model for every body, element and chord; -1 for the ground."""

    def __init__(self, core: Core) -> None:
        plan, chords = core.layout.plan, core.layout.chords.plan
        self.core, rows = core, len(plan.body)
        self.owner = np.arange(rows + len(plan.efforts) + len(plan.composites))
        self.coordinate_owner = np.zeros(core.nq, dtype=np.int64)
        self.speed_owner = np.zeros(core.nu, dtype=np.int64)
        for i, row in enumerate(plan.body):
            self.coordinate_owner[row[body.Q] : row[body.Q] + row[body.NQ]] = i
            self.speed_owner[row[body.U] : row[body.U] + row[body.NU]] = i
            self._join([i, int(row[body.PARENT])])
        self.chord_bodies = [
            plan.dof[
                chords.path[row[chord.PATH_START] : row[chord.PATH_END], chord.SPEED], speed.OWNER
            ].tolist()
            if row[chord.KIND] == chord.COUPLING
            else row[[chord.BODY_A, chord.BODY_B]].tolist()
            for row in chords.chord
        ]
        for bodies in self.chord_bodies:
            self._join(bodies)
        for e, row in enumerate(plan.efforts):
            self._join([rows + e, *self._seen_by(row)])
        for c, row in enumerate(plan.composites):
            parts = range(row[point.FIRST_PART], row[point.FIRST_PART] + row[point.N_PARTS])
            line = [int(plan.ends[row[k], 0]) for k in (point.LINE_A, point.LINE_B)]
            self._join([rows + len(plan.efforts) + c, *(rows + e for e in parts), *line])
        roots = [self._root(k) for k in range(len(self.owner))]
        names = {root: k for k, root in enumerate(sorted({r for r in roots if r > 0}))}
        self.parts = np.array([names.get(root, -1) for root in roots], dtype=np.int64)
        self.efforts = self.parts[rows : rows + len(plan.efforts)]
        self.composites = self.parts[rows + len(plan.efforts) :]
        self.chords = np.array(
            [max(self.parts[b] for b in bodies) for bodies in self.chord_bodies], dtype=np.int64
        )

    def _root(self, k: int) -> int:
        while self.owner[k] != k:
            k = int(self.owner[k])
        return k

    def _join(self, nodes: Iterable[int]) -> None:
        """Join nodes into one part.

        The ground and internal points (which belong to their composite) join nothing.
        """
        roots = [self._root(k) for k in nodes if k > 0]
        for root in roots[1:]:
            self.owner[self._root(root)] = self._root(roots[0])

    def _seen_by(self, row: Ints) -> list[int]:
        """Return the bodies whose motion an element sees or that it acts on."""
        plan = self.core.layout.plan
        found = plan.ends[row[effort.FIRST_END] : row[effort.FIRST_END] + row[effort.N_ENDS], 0].tolist()
        acted = plan.acted[
            row[effort.FIRST_ACTED] : row[effort.FIRST_ACTED] + row[effort.N_ACTED], effort.ACTED_U
        ]
        found += self.speed_owner[acted].tolist()
        for kind, index in plan.sources[
            row[effort.FIRST_INPUT] : row[effort.FIRST_INPUT] + row[effort.N_INPUTS]
        ]:
            if kind in (effort.FROM_Q, effort.FROM_U):
                found.append(
                    int((self.coordinate_owner if kind == effort.FROM_Q else self.speed_owner)[index])
                )
        return [*found, *(self.chord_bodies[row[effort.REACTION]] if row[effort.REACTION] >= 0 else [])]

    def states(self) -> Ints:
        """Return the parts (nx,) of the states of elements and of internal points."""
        plan, found = self.core.layout.plan, np.full(self.core.nx, -1, dtype=np.int64)
        for row, part in zip(plan.efforts, self.efforts, strict=True):
            found[row[effort.FIRST_STATE] : row[effort.FIRST_STATE] + row[effort.N_STATES]] = part
        for row, part in zip(plan.composites, self.composites, strict=True):
            for count, at, _ in plan.points[
                row[point.FIRST_POINT] : row[point.FIRST_POINT] + row[point.N_POINTS]
            ]:
                if at >= 0:
                    found[at : at + count] = part
        return found


def components(core: Core) -> Components:
    """Return the components of a model, found once."""
    core.components = core.components or Components(core)
    found: Components = core.components
    return found


def state_groups(core: Core) -> Ints:
    """Return the table for the integrator's y.

    Prescribed numbers, audit, memory and cut hinges influence nothing.
    """
    found, prescribed = components(core), core.layout.plan.prescribed
    q, u = found.parts[found.coordinate_owner], found.parts[found.speed_owner]
    cut = np.full(core.n_cut, -1, dtype=np.int64)
    for row, part in zip(core.layout.chords.plan.chord, found.chords, strict=True):
        cut[row[chord.FIRST_Q] : row[chord.FIRST_Q] + row[chord.NQ]] = part
    moving, x = np.concatenate((q, u)), found.states()
    moving[prescribed[:, speed.PRESCRIBED_Q]] = -1
    moving[core.nq + prescribed[:, speed.PRESCRIBED_U]] = -1
    audit = np.repeat(found.efforts, effort.N_AUDIT)[: core.n_audit]
    rest = np.concatenate((audit, np.full(core.nz - core.nx, -1, dtype=np.int64), cut))
    return _table(np.concatenate((q, u, x, rest)), np.concatenate((moving, x)))


def residual_groups(core: Core) -> Ints:
    """Return the table for the residual of generalized-alpha.

    Columns: displacements along the speeds, speeds, states.
    """
    found, prescribed = components(core), core.layout.plan.prescribed
    u, x, rows = found.parts[found.speed_owner], found.states(), np.zeros(0, dtype=np.int64)
    if core.loops is not None:
        of_chords = core.layout.chords.plan.chord
        rows = np.repeat(found.chords, of_chords[np.argsort(of_chords[:, chord.FIRST_ROW]), chord.N_ROWS])[
            core.loops.kept
        ]
    moving = u.copy()
    moving[prescribed[:, speed.PRESCRIBED_U]] = -1
    return _table(np.concatenate((u, x, rows)), np.concatenate((moving, moving, x)))


def _table(rows: Ints, columns: Ints) -> Ints:
    """Return one array: groups, parts, part of every row, then the members (groups, parts).

    A member is the column that moves in a part, or -1.
    """
    parts = int(max(rows.max(initial=-1), columns.max(initial=-1))) + 1
    own = [np.flatnonzero(columns == part) for part in range(parts)]
    groups = max((len(x) for x in own), default=0)
    members = np.full((groups, parts), -1, dtype=np.int64)
    for part, moved in enumerate(own):
        members[: len(moved), part] = moved
    return np.concatenate(([groups, parts], rows, members.ravel(), [0])).astype(np.int64)
