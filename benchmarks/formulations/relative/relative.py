"""Relative coordinates: what the formulations in the coordinates of this engine share."""

import math
import time
from typing import Any, ClassVar

import numpy as np

import treemech as tm
from treemech.analyses.constraints import nonholonomic
from treemech.analyses.states import keep_near, left_free
from treemech.dynamics.model import trace as columns
from treemech.dynamics.native import entry_points as native
from treemech.dynamics.simulation.integrate import integrate as integrate_engine
from treemech.dynamics.simulation.integrator import Closure
from treemech.kinematics.kernel.language import call_rhs, ints
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.plan.columns import chord, row, speed
from treemech.simulation.simulate import check_start
from treemech.topology.arrays import Floats

from ..compiled import RHS, c_function, data
from ..compiled_formulation import CompiledFormulation
from ..cost import seconds
from ..formulation import Bodies, Formulation, Inexpressible, Integration, TooSlow, refuse_memory
from . import kernels as k


class Relative(Formulation):
    """The engine's own equations and its own integrator; a subclass says how chains are kept closed.

    y: coordinates q, speeds u, and the coordinates of the cut hinges.
    """

    stabilisation: ClassVar[str | tuple[str, float]] = "default"
    trees: ClassVar[bool] = True
    loops: ClassVar[bool] = True

    def __init__(self, system: tm.System) -> None:
        super().__init__(system)
        self.mech = system.build()
        self.core = self.mech._core
        closed = self.core.loops is not None
        if closed and not self.loops:
            names = ", ".join(repr(c.name) for c in self.mech._info.chords[:3])
            raise Inexpressible(f"{self.name} is for trees; {names} close chains.")
        if not closed and not self.trees:
            raise Inexpressible(f"{self.name} is for closed chains; this is a tree.")
        self.size, self.nonzeros = self.mech.nu, 0
        if self.core.loops is not None:
            plan = self.core.loops.plan
            self.size, self.nonzeros = len(plan.perm), 2 * len(plan.Ai) - len(plan.perm)

    def initial(self, state: tm.State) -> Floats:
        if self.core.loops is not None:
            self.core.loops.release(())
            self.core.reset_chords({name: q for name, (q, _) in state.cut.items()})
            check_start(self.mech, state.t, state.q, state.u)
        return self.core.pack(state.q, state.u, state.z, self.core.chord_work.q)

    def rhs(self, t: float, y: Floats) -> Floats:
        loops, dy, state = self.core.loops, np.zeros(len(y)), np.ascontiguousarray(y)
        name, context = (
            ("rhs", self.core.context_address) if loops is None else ("loop_rhs", data(loops.context))
        )
        if native.entry(name)(float(t), data(state), data(dy), context) != OK:
            raise tm.SingularError(f"{self.name} fails at t = {t:.6g} s.")
        return dy

    def integrate(
        self,
        t_span: tuple[float, float],
        y0: Floats,
        setting: float,
        t_eval: Floats,
        allowed: float = math.inf,
    ) -> Integration:
        until = time.process_time() + allowed

        def watch(fraction: float) -> None:
            if time.process_time() > until:
                raise TooSlow

        breaks = tuple(b for signal in self.core.layout.signals for b in signal.breaks)
        found = integrate_engine(
            self.core, t_span, y0, "DOP853", setting, np.full(self.mech.nq + self.mech.nu, setting), np.asarray(t_eval),
            breaks=breaks, progress=watch, closure=Closure(self.stabilisation),
        )  # fmt: skip
        return Integration(
            found.t, found.y, found.n_evaluations, found.n_steps, found.n_rejected, found.status == OK, found.message
        )  # fmt: skip

    def work(self, state: tm.State) -> dict[str, float]:
        y, loops = self.initial(state), self.core.loops
        if loops is not None:
            loops.stabilise(self.stabilisation)
        name, context = (
            ("rhs", self.core.context_address) if loops is None else ("loop_rhs", data(loops.context))
        )
        dy = np.zeros(len(y))  # must stay alive while it is written to
        return {"evaluation": seconds(native.address(name), state.t, y, data(dy), context)}

    def states(self, t: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return q, u in the public conventions."""
        return self.core.states(np.asarray(t, dtype=np.float64), np.ascontiguousarray(y))

    def bodies(self, t: Floats, y: Floats) -> Bodies:
        q, u = self.states(t, y)
        trace, _ = self.core.trace(np.asarray(t, dtype=np.float64), q, u, np.zeros_like(u))
        own = trace[:, [self.mech.tree.numbers[b.name] for b in self.system.bodies[1:]]]
        return Bodies(
            own[:, :, columns.POSITION], own[:, :, columns.ROTATION].reshape(*own.shape[:2], 3, 3),
            own[:, :, columns.VELOCITY], own[:, :, columns.OMEGA],
        )  # fmt: skip

    def reactions(self, t: float, y: Floats) -> dict[str, tuple[Floats, Floats]]:
        q, u = (x[0] for x in self.states(np.array([t]), y[None]))
        rest, nx = self.core.unpack(y), self.core.nx
        cut = rest.cut
        state = tm.State(
            t,
            q,
            u,
            rest.z[:nx],
            rest.z[nx:],
            cut={c.name: (cut[c.q : c.q + c.nq], np.zeros(c.nu)) for c in self.mech._info.chords},
        )
        keep_near(self.mech, state)
        return {name: (r.force, r.moment) for name, r in self.mech.reactions(state).items()}

    def residuals(self, t: Floats, y: Floats) -> Floats:
        if self.core.loops is None:
            return np.zeros((len(t), 2))
        q, u = self.states(t, y)
        found = np.zeros((len(t), 2))
        holonomic = ~nonholonomic(self.mech)
        for n in range(len(t)):
            self.core.chord_work.q[:] = self.core.unpack(y[n]).cut
            now = self.core.constraints(float(t[n]), q[n], u[n])
            found[n] = np.max(np.abs(now.residual) * holonomic), np.max(np.abs(now.velocity))
        return found


# ---------------------------------------------------------------- other ways to solve them
@c_function(RHS)
def motion(t, y, dy, context):  # type: ignore[no-untyped-def]
    """Write y' of the integrator state."""
    return np.int32(k.motion(ints(context, k.N_RELATIVE), t, y, dy))


@c_function(RHS)
def project(t, y, rank, context):  # type: ignore[no-untyped-def]
    """Project as the engine does; the rows chosen at the start stay."""
    D = ints(context, k.N_RELATIVE)
    return call_rhs(D[k.PROJECT], t, y, 0 if rank >= 0 else -1, D[k.LOOPS])


@c_function(RHS)
def part(t, y, what, context):  # type: ignore[no-untyped-def]
    """Compute a part, for timing: 1 kinematics and the terms or entries of the matrix, 2 also the solution."""
    D = ints(context, k.N_RELATIVE)
    status = k.evaluate(D, t, y)
    m = k.choose(D)
    if D[k.MODE] == k.NEWTON_EULER:
        if what == 1:
            k.newton_euler(D, m)
        else:
            status = k.tableau(D, m)
        return np.int32(status)
    k.terms(D, m)
    if what == 2:
        status = k.schur(D, m) if D[k.MODE] == k.SCHUR or m == 0 else k.null_space(D, m)
    return np.int32(status)


class OwnSolution(CompiledFormulation, Relative):
    """The engine's terms, another solution of the equations, the engine's projection after every step."""

    mode: ClassVar[int] = k.SCHUR
    assembly_note = "all bodies and elements are swept for a matrix with a row for each coordinate only"
    sparse: ClassVar[bool] = False
    RHS = motion
    PROJECT = project
    PART = part

    def __init__(self, system: tm.System) -> None:
        super().__init__(system)
        core, loops = self.core, self.core.loops
        refuse_memory(system)
        nu, kept = self.mech.nu, 0 if loops is None else loops.n_rows
        fixed = np.zeros(max(nu, 1), np.int64)
        fixed[core.layout.plan.prescribed[:, speed.PRESCRIBED_DOF]] = 1
        self.context = np.zeros(k.N_RELATIVE, np.int64)
        self.arrays = {"fixed": fixed, "chosen": np.zeros(max(kept, 1), np.int64)}
        self.arrays |= {"bias": np.zeros(max(kept, 1)), "whole": np.zeros(8, np.int64)}
        for name in ("load", "z", "tau"):
            self.arrays[name] = np.zeros(max(nu, kept, 1))
        dense = self.mode != k.NEWTON_EULER
        for name, size in (
            ("A", nu * nu),
            ("B", nu * nu),
            ("P", kept * nu),
            ("X", kept * nu),
            ("S", kept * kept),
        ):
            self.arrays[name] = np.zeros(max(size, 1) if dense else 1)
        self.m = self.size - nu if loops is not None else 0
        self._pattern(kept)

    def _pattern(self, kept: int) -> None:
        """Allocate the arrays that the mode needs."""
        nu, A = self.mech.nu, self.arrays
        self.size, self.nonzeros = nu, nu * nu
        A["values"], A["slot"], A["matrix"] = np.zeros(0), np.zeros(0, np.int64), np.zeros(2 * nu * nu + 1)
        self._workspaces(max(kept, nu, 1))

    def _workspaces(self, n: int, capacity: int = 1) -> None:
        A = self.arrays
        for name in ("right", "workspace"):
            A[name] = np.zeros(n)
        A["pivots"], A["mark"], A["pinv"], A["stack"] = (np.zeros(c * n + 1, np.int64) for c in (1, 1, 2, 3))
        for name in ("Lp", "Up"):
            A[name] = np.zeros(n + 1, np.int64)
        self.allocate_factors(capacity)
        for name in ("order", "Ap", "Ai"):
            A.setdefault(name, np.zeros(n + 1, np.int64))
        self._address(n)

    def _address(self, n: int) -> None:
        A, D, loops = self.arrays, self.context, self.core.loops
        D[k.CORE] = self.core.context_address
        D[k.LOOPS] = 0 if loops is None else data(loops.context)
        D[k.PROJECT] = 0 if loops is None else native.address("loop_project")
        D[[k.MODE, k.SPEEDS, k.KEPT, k.SIZE, k.ENTRIES, k.MATRIX, k.CAPACITY, k.SPARSE, k.FACTORED, k.FULL, k.WIDE, k.TALL]] = (
            self.mode, self.mech.nu, len(A["chosen"]), n, len(A["values"]), len(A["matrix"]), len(A["Li"]), self.sparse, 0,
            len(A["S"]), len(A["A"]), len(A["P"]),
        )  # fmt: skip
        D[k.BODIES] = len(self.system.bodies) - 1
        self.write_addresses(k)

    def options(self, setting: float) -> dict[str, Any]:
        return {
            "project": 0 if self.core.loops is None else self.PROJECT.address,
            "euler": tuple(self.mech._lagrange.euler_parameters),
            "controlled": self.mech.nq + self.mech.nu,
        }

    def work_of_parts(self, t: float, y: Floats) -> dict[str, float]:
        """Return the CPU seconds of assembly, and of the solution: here part 2 runs both."""
        address, context = part.address, data(self.context)
        assembly = seconds(address, t, y, 1, context)
        solution = max(seconds(address, t, y, 2, context) - assembly, 0.0)
        return {"assembly": assembly, "factorization": solution}

    def _ud(self, t: float, y: Floats) -> tuple[Floats, Floats, Floats]:
        """Return q, u, ud in the public conventions."""
        q, u = (x[0] for x in self.states(np.array([t]), y[None]))
        self.rhs(t, y)
        ud = np.zeros(self.mech.nu)
        public = self.core.layout.plan.dof[:, speed.PUBLIC]
        ud[public] = self.core.work.ud[: self.mech.nu][public] + self.arrays["z"][: self.mech.nu]
        return q, u, ud

    def reactions(self, t: float, y: Floats) -> dict[str, tuple[Floats, Floats]]:
        q, u, ud = self._ud(t, y)
        return loads_of(self.mech, t, q, u, ud, self.core.unpack(y).cut)


def loads_of(mech: tm.Mechanism, t: float, q: Floats, u: Floats, ud: Floats, cut: Floats) -> dict[str, Any]:
    """Return the loads of the connections for given accelerations: multipliers first, then hinge by hinge
    (8.5).
    """
    core, loops = mech._core, mech._core.loops
    trace, _ = core.trace(np.array([t]), q[None].copy(), u[None].copy(), ud[None].copy())
    found: dict[str, tuple[Floats, Floats]] = {}
    if loops is not None:
        core.chord_work.q[:] = cut
        now = core.constraints(t, q, u, ud, loaded=True)
        chosen = loops.kept[loops.work.masked[: loops.n_kept] == 0]
        free = left_free(mech, {})
        lam = np.zeros(len(now.residual))
        lam[chosen] = np.linalg.lstsq(now.partials[chosen][:, free].T, now.loads[free], rcond=None)[0]
        wrench = core.chord_work.row[:, row.F : row.F + 6] * lam[:, None]
        chords = core.layout.chords.plan.chord
        loads = np.array(
            [wrench[c[chord.FIRST_ROW] : c[chord.FIRST_ROW] + c[chord.N_ROWS]].sum(axis=0) for c in chords]
        )
        core.carry_chord_loads(loads[None], trace)
        found = {c.name: (loads[n, :3], loads[n, 3:]) for n, c in enumerate(mech._info.chords)}
    for h in mech._info.hinges:
        force, moment = h.load(trace)
        found[h.name] = force[0], moment[0]
    return found
