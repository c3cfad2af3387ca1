"""Jacobians of closed chains for integrators: of the rates (Radau) and of the residual (generalized-alpha).

They are compared with differences. The rates are smooth functions of any coordinates and speeds, closed or
open, so plain differences are right for them; the residual is differentiated along its own steps (q o
exp(step), angular speeds in the base of the outer body).
"""

import numpy as np
import pytest

import treemech as tm
from tests.dynamics.analyses.test_derivatives import agrees, along, constrained
from tests.dynamics.derivatives.test_efforts import Muscle
from tests.dynamics.derivatives.test_rows import CUT, ROUGH, cut_hinge
from tests.dynamics.integrators.alpha.test_loop import driven
from tests.dynamics.loads.test_reactions import incline
from tests.dynamics.model.test_composite_derivatives import join
from tests.laws.test_random_loops import moving
from tests.support.mechanisms import random_mechanism
from treemech.benchmarks.problems.classics import rolling_disk
from treemech.benchmarks.runs.stiff_chains import measure, windows
from treemech.dynamics.equations import watch
from treemech.dynamics.integrators.alpha import layout as alpha_memory
from treemech.dynamics.model.tree_derivatives import TreeDerivatives
from treemech.dynamics.native import entry_points as native
from treemech.dynamics.simulation.alpha_workspace import AlphaWorkspace
from treemech.kinematics.plan.columns import row, speed
from treemech.topology.arrays import address


def random_loops(seed):
    """Make a random closed chain with hinges in both directions; every third has springs and states.

    Planar chains have redundant rows, others Euler parameters.
    """
    mechanism = random_mechanism(seed, seed % 2 == 0, 1 + (seed // 2) % 3)
    rng, system = np.random.default_rng(seed), mechanism.system
    if seed % 3 == 0:
        bodies = [system.bodies[k] for k in rng.choice(len(system.bodies), 2, replace=False)]
        ends = [b.at(rng.uniform(-0.3, 0.3, 3)) for b in bodies]
        system.connect("spring", tm.Spring(30.0, 0.7, 0.2), *ends)
        inputs = {"drive": 0.3, "rate": 0.5}
        system.connect("muscle", Muscle(4.0), system.ground.at((0, 0, 1)), ends[0], inputs=inputs)
    mech = system.build()
    state = moving(mechanism, mech, seed)
    return mech, mech.state(t=0.0, q=state.q, u=state.u, x=rng.uniform(-0.5, 0.5, mech._core.nx))


def cut(kind, seed):
    """Make a chord with rates that keep it closed, on a Ball hinge from end b and a Free hinge."""
    mech, t, q, u = cut_hinge(kind, seed, seed % 2 == 0)
    now = mech._core.constraints(t, q, u)
    return mech, mech.state(t=t, q=q, u=u - np.linalg.pinv(now.partials) @ now.velocity)


def cart():
    mech = constrained()
    rates = {"A": 0.7, "planar[2]": 0.9}
    return mech, mech.assemble(fix={"A": 0.3, "planar": [0.2, 0.1, 0.4]}, rates=rates)


def disk():
    mech = rolling_disk.system().build()
    return mech, rolling_disk.state(mech)


def released():
    """Make two arms, a rod that holds their tip, and a plane that has let go of it."""
    system = tm.System("arms", gravity=(0, -9.81, 0))
    one, two = (system.body(n, 1.0, (0.1, 0.1, 0.1), com=(0.4, 0, 0)) for n in ("one", "two"))
    system.connect("A", tm.Revolute("z"), system.ground, one)
    system.connect("B", tm.Revolute("z"), one.at((1, 0, 0)), two)
    system.connect("rod", tm.Distance(1.3), system.ground.at((2.0, 1.0, 0)), two.at((0.8, 0, 0)))
    system.connect("plane", tm.InPlane(unilateral=True), system.ground.at((0, -3, 0)), two.at((0.8, 0, 0)))
    mech = system.build()
    mech._core.loops.release(["plane"])
    state = mech.assemble(guess={"A": 0.3, "B": 0.4}, rates={"A": 0.8})
    assert mech._core.loops.released() == ("plane",)
    return mech, state


MODELS = {
    **{f"random {seed}": (random_loops, seed) for seed in range(12)},
    **{f"cut {kind}": (cut, kind, len(kind)) for kind in CUT},
    "cart": (cart,), "rolling disk": (disk,), "driven": (driven,), "released": (released,),
}  # fmt: skip


class Closed:
    """Closed chain at a state, as an integrator meets it."""

    def __init__(self, name, gain=0.0):
        make, *arguments = MODELS[name]
        self.mech, self.state = make(*arguments)
        core, t = self.mech._core, self.state.t
        core.loops.choose(t, self.state.q, self.state.u)
        core.loops.stabilise(("baumgarte", gain) if gain else "projection")
        core.loops.work.monitor[watch.LARGEST_PIVOT] = (
            1e300  # refine always: differences show the regularisation
        )
        self.y = core.pack(self.state.q, self.state.u, self.state.z, core.chord_work.q)
        self.n, self.core, self.t = len(self.y) - core.n_cut, core, t
        self.call("loop_rhs", self.y, np.zeros(len(self.y)))  # makes choices that hold from now on

    def call(self, name, y, out):
        status = native.entry(name)(self.t, address(y), address(out), address(self.core.loops.context))
        assert status == 1
        return out

    def moved(self, x):
        y = self.y.copy()
        y[: self.n] += x
        return y

    def rates(self, x):
        return self.call("loop_rhs", self.moved(x), np.zeros(len(self.y)))[: self.n]


@pytest.mark.parametrize("name", MODELS)
def test_the_jacobian_of_the_rates_agrees_with_differences(name):
    closed = Closed(name)
    assert closed.core.has_jacobian
    want, n = along(closed.rates, closed.n), closed.n
    for rough, tolerance in ((False, 1e-9), (True, ROUGH)):
        found = TreeDerivatives(closed.core, rough).jacobian(closed.t, closed.y)
        assert agrees(found[:n, :n], want, tolerance)
        assert not found[n:].any() and not found[:, n:].any()


@pytest.mark.parametrize("name", ["random 1", "cart", "driven"])
def test_baumgartes_terms_are_differentiated_along(name):
    plain, stabilised = Closed(name), Closed(name, gain=10.0)
    want = along(stabilised.rates, stabilised.n)
    assert not agrees(
        TreeDerivatives(plain.core).jacobian(plain.t, plain.y)[: plain.n, : plain.n], want, 1e-3
    )
    found = TreeDerivatives(stabilised.core).jacobian(stabilised.t, stabilised.y)
    assert agrees(found[: stabilised.n, : stabilised.n], want)


class Residual(Closed):
    """Equations that generalized-alpha solves, made from `loop_residual`."""

    def __init__(self, name):
        super().__init__(name)
        core, rng = self.core, np.random.default_rng(1)
        self.workspace = AlphaWorkspace(core, len(self.y))
        moves, turns, *_ = self.workspace._arrays
        self.moves, self.turns = moves, turns[:-1]
        self.fixed = np.flatnonzero(moves == alpha_memory.PRESCRIBED)
        self.masked = core.loops.work.masked[: core.loops.n_kept] == 1
        self.ud, self.multipliers = rng.normal(size=core.nu), rng.normal(size=core.loops.n_kept)
        self.ns = core.nu + core.nx

    def displaced(self, step):
        q = self.y[: self.core.nq].copy()
        for j, place in enumerate(self.moves):
            if place >= 0:
                q[place] += step[j]
        for a, j, left in self.turns:
            e, half = self.y[a : a + 4], 0.5 * step[j : j + 3]
            p = np.array([np.cos(np.linalg.norm(half)), *half * np.sinc(np.linalg.norm(half) / np.pi)])
            p, e = (p, e) if left else (e, p)
            q[a : a + 4] = [
                p[0] * e[0] - p[1:] @ e[1:],
                *(p[0] * e[1:] + e[0] * p[1:] + np.cross(p[1:], e[1:])),
            ]
        return q

    def __call__(self, x):
        core, nq, nu = self.core, self.core.nq, self.core.nu
        y, out = self.y.copy(), np.zeros(len(self.y))
        y[:nq] = self.displaced(x[:nu])
        y[nq : nq + self.ns] += x[nu:]
        out[nq : nq + nu] = self.ud
        self.call("loop_residual", y, out)
        loops, P = core.loops, np.zeros((core.loops.n_kept, nu))
        public = core.layout.plan.dof[:, speed.PUBLIC]
        for k, (r, d) in enumerate(zip(loops.plan.entry_row, loops.plan.entry_speed, strict=True)):
            if loops.plan.kept[r] >= 0:
                P[loops.plan.kept[r], public[d]] += core.chord_work.partials[k]
        for c in core.coordinates.hinges:
            k = c.hinge.euler_parameters
            if k is not None and c.forward:
                at = slice(c.u + k, c.u + k + 3)
                P[:, at] = P[:, at] @ c.hinge.motion(y[:nq][c.q_slice]).rotation
        multipliers = np.where(self.masked, 0.0, self.multipliers)
        lack = out[nq : nq + nu] - P.T @ multipliers
        lack[self.fixed] = 0.0
        velocity = np.where(self.masked, 0.0, core.chord_work.row[loops.kept, row.VELOCITY])
        return np.concatenate((lack, -out[nq + nu : nq + self.ns], velocity))

    def jacobian(self, rough):
        G = np.zeros((self.core.nu + self.ns, self.ns + len(self.masked)))
        given = np.concatenate((self.ud, self.multipliers))
        G.reshape(-1)[: len(given)] = given
        workspace = TreeDerivatives(self.core, rough)
        workspace.serve(residual=True)
        return self.call("residual_jacobian", self.y, G).T


@pytest.mark.parametrize("name", MODELS)
def test_the_jacobian_of_the_residual_agrees_with_differences(name):
    residual = Residual(name)
    want = along(residual, residual.core.nu + residual.ns)
    for k in residual.fixed:
        want[:, [k, residual.core.nu + k]] = 0.0
    assert agrees(residual.jacobian(rough=False), want)
    assert agrees(residual.jacobian(rough=True), want, ROUGH)


@pytest.mark.parametrize("method", ["Radau", "alpha3", "alpha2", "scipy:Radau", "scipy:BDF"])
def test_a_stiff_closed_chain_takes_fewer_evaluations_and_is_as_accurate(method):
    """The error of one run varies at random by a factor of 10, so the mean over nine runs counts."""
    ratios = []
    for n in (2, 3, 4):
        for rtol in (1e-5, 1e-6, 1e-7):
            exact, plain = measure(windows(n), method, rtol, repeats=1)
            assert exact["evaluations"] < 0.95 * plain["evaluations"]
            ratios.append(max(exact["error"], 1e-7) / max(plain["error"], 1e-7))
    assert np.exp(np.mean(np.log(ratios))) < 2.0, ratios


def test_elements_that_wait_for_a_reaction_and_internal_points_keep_to_differences():
    system = random_mechanism(0, planar=True).system
    join(system, np.random.default_rng(0))
    assert not system.build()._core.has_jacobian and not incline(0.3, 0.1)._core.has_jacobian
