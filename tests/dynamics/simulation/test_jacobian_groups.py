"""Jacobians by differences: independent parts of a model are moved together without loss."""

import numpy as np
import pytest

import treemech as tm
from tests.dynamics.analyses.test_derivatives import along
from tests.dynamics.derivatives.test_efforts import Muscle
from tests.dynamics.loads.test_reactions import Pin
from treemech.dynamics.simulation.external_methods import RightHandSide
from treemech.dynamics.simulation.jacobian_groups import Components, residual_groups, state_groups


def sprung(system, name, anchor, body):
    """Two springs in series: a composite, so that the core has no exact Jacobian."""
    series = tm.Composite(ends=("a", "b"), points={"knot": 3})
    series.connect("one", tm.Spring(400.0, 0.0, 0.1), "a", "knot")
    series.connect("two", tm.Spring(300.0, 0.0, 0.2), "knot", "b")
    return system.connect(name, series, anchor, body)


def four_bar(system, k):
    """A four-bar with a composite, a stiff damper, an element with two states: one mechanism of the system."""
    x, ground = 10.0 * k, system.ground
    crank, coupler, rocker = (
        system.body(f"{name} {k}", 1.0, (0, length**2 / 12, length**2 / 12), com=(length / 2, 0, 0))
        for name, length in (("crank", 1.0), ("coupler", 3.0), ("rocker", 2.5))
    )
    system.connect(f"A{k}", tm.Revolute("z"), ground.at((x, 0, 0)), crank)
    system.connect(f"B{k}", tm.Revolute("z"), crank.at((1, 0, 0)), coupler)
    system.connect(f"C{k}", tm.Revolute("z"), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)))
    system.connect(f"D{k}", tm.Revolute("z"), ground.at((x + 3.5, 0, 0)), rocker)
    sprung(system, f"series {k}", ground.at((x, 2.0, 0.3)), crank.at((0.8, 0, 0)))
    system.connect(f"damper {k}", tm.Spring(100.0, 2e3, 1.0), ground.at((x - 1, 2, 0)), crank.at((1, 0, 0)))
    inputs = {"drive": 0.3, "rate": 0.5}
    system.connect(f"muscle {k}", Muscle(4.0), ground.at((x, 1, 0)), coupler.at((1, 0, 0)), inputs=inputs)


def several(count, joined=False):
    system = tm.System("several", gravity=(0, -9.81, 0))
    for k in range(count):
        four_bar(system, k)
    if joined:
        ends = (b.at((0.5, 0, 0)) for b in system.bodies if b.name in ("rocker 0", "crank 1"))
        system.connect("joint", tm.Spring(10.0, 0.0, 1.0), *ends)
    mech = system.build()
    fix = {f"A{k}": 0.8 + 0.1 * (k % 2) for k in range(count)}
    return mech, mech.assemble(fix=fix, guess={f"B{k}": -0.5 for k in range(count)})


def test_what_nothing_joins_is_apart():
    for count, joined, parts in ((1, False, 1), (2, False, 2), (3, False, 3), (2, True, 1)):
        core = several(count, joined)[0]._core
        found = Components(core)
        assert (
            len(set(found.parts[1:].tolist())) == parts == state_groups(core)[1] == residual_groups(core)[1]
        )
        assert -1 not in found.parts[1:] and found.parts[0] == -1


@pytest.mark.parametrize("joining", ["hinge", "coupling", "input", "spring", "rod", "reaction"])
def test_whatever_joins_two_bodies_makes_them_one_part(joining):
    system = tm.System("two", gravity=(0, -9.81, 0))
    bodies = [system.body(n, 1.0, (0.1, 0.1, 0.1), com=(0.3, 0, 0)) for n in ("one", "two")]
    for k, body in enumerate(bodies):
        system.connect(f"p{k}", tm.Revolute("z"), system.ground.at((k, 0, 0)), body)
    assert Components(system.build()._core).parts.tolist() == [-1, 0, 1]
    if joining == "hinge":
        system.connect("h", tm.Cylindrical("z"), *(b.at((0.5, 0, 0)) for b in bodies))
    elif joining == "coupling":
        system.couple("c", tm.Gear(2.0), "p0", "p1")
    elif joining == "input":
        system.connect("m", Muscle(4.0), system.ground, bodies[0], inputs={"drive": "p1.q", "rate": 0.5})
    elif joining == "rod":
        system.connect("r", tm.Distance(1.0), *(b.at((0.5, 0, 0)) for b in bodies))
    elif joining == "reaction":
        system.connect("f", Pin(0.1, 0.05, 1e-2), system.ground, bodies[0], reaction_of="p1")
    else:
        system.connect("s", tm.Spring(1.0, 0.0, 1.0), bodies[0], bodies[1])
    parts = Components(system.build()._core).parts
    assert len({*parts[1:].tolist()}) == 1


@pytest.mark.parametrize("method", ["Radau", "alpha3", "alpha2", "scipy:Radau"])
def test_two_mechanisms_take_the_evaluations_of_one(method):
    """Equal parts have the same steps and iterations; single columns would take 8 evaluations more per Jacobian."""
    runs = []
    for count in (1, 2):
        mech, state = several(count)
        state = mech.assemble(
            fix={f"A{k}": 0.8 for k in range(count)}, guess={f"B{k}": -0.5 for k in range(count)}
        )
        runs.append(mech.simulate((0, 0.05), state, method, rtol=1e-6, atol=1e-6))
        assert runs[-1].success, runs[-1].message
    one, two = (run.statistics["evaluations"] for run in runs)
    assert abs(two - one) < 4, (one, two)
    np.testing.assert_allclose(runs[1].q[-1][:3], runs[0].q[-1], atol=1e-5)


def test_the_jacobian_of_two_mechanisms_is_that_of_single_columns():
    mech, state = several(2)
    core = mech._core
    core.loops.choose(state.t, state.q, state.u)
    x = np.random.default_rng(1).uniform(-0.5, 0.5, core.nx)
    y = core.pack(state.q, state.u, np.concatenate((x, state.z[core.nx :])), core.chord_work.q)
    rhs, n = RightHandSide(core, len(y)), core.nq + core.nu + core.nx
    want = along(lambda d: rhs(0.0, y + np.concatenate((d, np.zeros(len(y) - n)))), n)
    rhs.calls = 0
    found = rhs.jacobian(0.0, y)
    assert rhs.calls == 1 + n // 2
    assert np.max(np.abs(found[:, :n] - want)) < 1e-5 * np.max(np.abs(want))
