"""Newton and Euler for every body, with all reaction loads as unknowns."""

from itertools import permutations
from typing import Any

import numpy as np

import treemech as tm
from treemech.kinematics.kernel.status import split
from treemech.kinematics.plan.columns import chord, speed
from treemech.topology.arrays import Floats

from .. import sparse_lu
from ..cartesian.kernels import SINGULAR
from ..compiled import data
from ..formulation import Inexpressible
from . import kernels as k
from .relative import OwnSolution

_CROSS = list(permutations(range(3), 2))  # entries of a x off the diagonal, by rows
SOURCE = "Sol (6.1.1); J. J. Uicker, T. Andrews and H. K. Kesavan, VECNET (1975), for the tableau"


class Dense(OwnSolution):
    """One matrix for the accelerations of all bodies (6 b), the loads of all hinges (6 b), ud and the multipliers of chords.

    Equations: (6.1.1) of every body; the acceleration of a body from that of the one before it; a hinge does no work;
    chords. Size 12 b + nu + m. LU with partial pivoting (LAPACK).
    """

    name = "newton-euler-dense"
    source = SOURCE
    mode = k.NEWTON_EULER
    assembly_note = ""

    def __init__(self, system: tm.System) -> None:
        for name, coupled in system.couplings.items():
            raise Inexpressible(f"coupling {name!r} ({coupled.element.kind}) has no load on two bodies.")
        super().__init__(system)

    def _pattern(self, kept: int) -> None:
        self._layout(np.zeros(0, np.int64))

    def initial(self, state: tm.State) -> Floats:
        y = super().initial(state)
        loops = self.core.loops
        if loops is not None:
            self._layout(loops.kept[loops.work.masked[: loops.n_kept] == 0])
        while True:
            dy = np.zeros(len(y))
            code, why = split(self._call(self.RHS, state.t, y, data(dy), fail=False))
            if code != SINGULAR or why != 1:
                return y
            self._workspaces(self.size, 2 * len(self.arrays["Li"]))

    def _layout(self, chosen: Any) -> None:
        """Lay out the entries in the order of the kernel, their places, and memory for the factors."""
        tree, plan, A = self.mech.tree, self.core.layout.plan, self.arrays
        nb, nu, rows, cols = len(tree.bodies) - 1, self.mech.nu, list[int](), list[int]()

        def three(row: int, col: int, down: int = 1, across: int = 1) -> None:
            rows.extend(row + down * j for j in range(3))
            cols.extend(col + across * j for j in range(3))

        def cross(row: int, col: int) -> None:
            rows.extend(row + a for a, _ in _CROSS)
            cols.extend(col + b for _, b in _CROSS)

        load, at_speed = 6 * nb, 12 * nb
        for i in range(nb):
            at, p = 6 * i, 6 * (int(tree.parent[i + 1]) - 1)
            three(at, at)
            cross(at, at + 3)
            cross(at + 3, at)
            for j in range(3):
                three(at + 3 + j, at + 3, down=0)
            three(at, load + at)
            three(at + 3, load + at + 3)
            if p >= 0:
                three(p, load + at)
                three(p + 3, load + at + 3)
                cross(p + 3, load + at)
            three(load + at, at)
            three(load + at + 3, at + 3)
            if p >= 0:
                three(load + at, p)
                cross(load + at, p + 3)
                three(load + at + 3, p + 3)
        for d in range(nu):
            at = 6 * (int(plan.dof[d, speed.OWNER]) - 1)
            three(load + at, at_speed + d, across=0)
            three(load + at + 3, at_speed + d, across=0)
            three(at_speed + d, load + at, down=0)
            three(at_speed + d, load + at + 3, down=0)
            rows.append(at_speed + d)
            cols.append(at_speed + d)
        first = at_speed + nu
        for r, number in enumerate(chosen.tolist()):
            for c in self.core.layout.chords.plan.chord:
                if not c[chord.FIRST_ROW] <= number < c[chord.FIRST_ROW] + c[chord.N_ROWS]:
                    continue
                for i in (int(c[chord.BODY_B]) - 1, int(c[chord.BODY_A]) - 1):
                    if i >= 0:
                        three(6 * i, first + r, across=0)
                        three(6 * i + 3, first + r, across=0)
                        three(first + r, 6 * i, down=0)
                        three(first + r, 6 * i + 3, down=0)
        n = first + len(chosen)
        self.size, self.nonzeros = n, len(set(zip(rows, cols, strict=True)))
        A["values"] = np.zeros(len(rows))
        if self.sparse:
            A["Ap"], A["Ai"], A["slot"], A["order"] = sparse_lu.analyse(n, rows, cols)
            A["matrix"] = np.zeros(len(A["Ai"]))
            self._workspaces(n, 8 * len(A["Ai"]) + 4 * n)
        else:
            A["slot"] = np.array(rows, np.int64) * n + np.array(cols, np.int64)
            A["matrix"] = np.zeros(n * n)
            self._workspaces(n)

    def reactions(self, t: float, y: Floats) -> dict[str, tuple[Floats, Floats]]:
        """Return the reactions, which the solution has."""
        q, u, ud = self._ud(t, y)
        x, nb = self.arrays["right"].copy(), len(self.mech.tree.bodies) - 1
        trace, _ = self.core.trace(np.array([t]), q[None].copy(), u[None].copy(), ud[None].copy())
        loads = x[6 * nb : 12 * nb].reshape(nb, 6)
        trace[0, 1:, 27:30], trace[0, 1:, 24:27] = loads[:, :3], loads[:, 3:]
        found = {h.name: tuple(v[0] for v in h.load(trace)) for h in self.mech._info.hinges}
        loops = self.core.loops
        if loops is not None:
            chosen = loops.kept[loops.work.masked[: loops.n_kept] == 0]
            lam = np.zeros(loops.n_rows)
            lam[chosen] = x[12 * nb + self.mech.nu :]
            wrench = self.core.chord_work.row[:, :6] * lam[:, None]
            for n, c in enumerate(self.core.layout.chords.plan.chord):
                total = wrench[c[chord.FIRST_ROW] : c[chord.FIRST_ROW] + c[chord.N_ROWS]].sum(axis=0)
                found[self.mech._info.chords[n].name] = total[:3], total[3:]
        return found  # type: ignore[return-value]


class Sparse(Dense):
    """The same matrix, factorised on its pattern (sparse_lu)."""

    name = "newton-euler-sparse"
    sparse = True
