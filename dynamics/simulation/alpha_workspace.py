"""Workspace of generalized-alpha, in addition to that of all methods."""

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.plan.columns import body, effort, speed
from treemech.topology.arrays import address, addresses

from ..integrators.alpha import layout as m
from ..model.core import Core
from ..native import entry_points as native
from .jacobian_groups import residual_groups


class AlphaWorkspace:
    """Arrays, and the table with their addresses."""

    def __init__(self, core: Core, n: int) -> None:
        loops, plan_body = core.loops, core.layout.plan.body
        reaction_dependent = np.any(core.layout.plan.efforts[:, effort.REACTION] >= 0)
        moves = np.full(core.nu, m.EULER, dtype=np.int64)
        turns: list[tuple[int, int, int]] = []
        for row in plan_body[1:]:
            q, u, euler = row[body.Q], row[body.U], row[body.EULER]
            for k in range(row[body.NU]):
                if euler < 0 or k < euler:
                    moves[u + k] = q + k
                elif k >= euler + 3:
                    moves[u + k] = q + k + 1
            if euler >= 0:
                turns.append((q + euler, u + euler, row[body.REVERSED] != 0))
        moves[core.layout.plan.prescribed[:, speed.PRESCRIBED_U]] = m.PRESCRIBED
        count = 0 if loops is None else loops.n_kept
        kept = np.zeros(0, dtype=bool) if loops is None else core.layout.chords.nonholonomic[loops.kept]
        self.numbers = np.zeros(m.workspace_size(n, core.nu, core.nx, count))
        self._arrays: tuple[NDArray[np.int64], ...] = (
            moves,
            np.array([*turns, (0, 0, 0)], dtype=np.int64),
            np.array([*kept, 0], dtype=np.int64),
            np.zeros(0, dtype=np.int64) if core.has_jacobian else residual_groups(core),
        )
        at_moves, at_turns, at_rows, at_groups = addresses(self._arrays)
        self.table = np.array(
            [
                address(self.numbers), core.nq, core.nu, core.nx, count,
                0 if loops is None else native.address("loop_residual"), at_moves, len(turns), at_turns, at_rows,
                at_groups, reaction_dependent,
            ],
            dtype=np.int64,
        )  # fmt: skip
