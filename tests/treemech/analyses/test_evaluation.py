"""Loads of connections: which components the model decides, in which axes, and those of couplings."""

import pickle

import numpy as np
import pytest

import treemech as tm
from tests.support.driven import four_bar_system
from tests.support.models import rotation
from tests.support.tolerances import ROUND


def turned_four_bar(R):
    """Return the four-bar linkage in a plane turned by R: four plain revolutes, three of its freedoms redundant."""
    system = tm.System("four-bar", gravity=R @ (0, 0, -9.81))
    lengths = {"crank": 1.0, "coupler": 3.0, "rocker": 2.5}
    crank, coupler, rocker = (
        system.body(n, l, (0.01, l**3 / 12, l**3 / 12), com=(l / 2, 0, 0)) for n, l in lengths.items()
    )
    system.connect("A", tm.Revolute("y"), system.ground.at((0, 0, 0), R), crank)
    system.connect("B", tm.Revolute("y"), crank.at((1, 0, 0)), coupler)
    system.connect("C", tm.Revolute("y"), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)))
    system.connect("D", tm.Revolute("y"), system.ground.at(R @ (3.5, 0, 0), R), rocker)
    return system.build()


def decided(mech, state, axes):
    """Return by name which components of the loads Newton and Euler's equations of all bodies decide.

    Unknowns are the five components that a revolute transmits, in its own axes, at the point of its end b.
    """
    run = mech.simulate((state.t, state.t + 1e-9), state)
    bodies = [b.name for b in mech.info.bodies[1:]]
    hinges = [*mech._lagrange.hinges]
    ends = {c.name: c.connection.ends for c in hinges} | {c.name: c.ends for c in mech.tree.chords}
    columns, loads = [], []
    for name, (a, b) in ends.items():
        place = run.body(b.body.name)
        R = place.rotation[0] @ b.rotation
        point = place.position[0] + place.rotation[0] @ b.offset
        for k in range(6):
            if k == 4:  # the axis y carries no moment
                continue
            force, moment = R[:, k % 3] * (k < 3), R[:, k % 3] * (k >= 3)
            column = np.zeros((len(bodies), 6))
            for body, sign in ((b.body.name, 1.0), (a.body.name, -1.0)):
                if body in bodies:
                    column[bodies.index(body)] += sign * np.concatenate(
                        (force, moment + np.cross(point, force))
                    )
            columns.append(column.ravel())
            local = np.eye(6)[k]
            loads.append((name, local if axes == "local" else np.concatenate((force, moment))))
    _, values, V = np.linalg.svd(np.array(columns).T)
    null = V[int(np.sum(values > 1e-9 * values[0])) :]
    found = {}
    for name in ends:
        own = [k for k, (n, _) in enumerate(loads) if n == name]
        found[name] = np.all(np.abs(null[:, own] @ np.array([loads[k][1] for k in own])) < 1e-7, axis=0)
    return found


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_the_components_that_are_unique_are_those_that_all_equations_of_motion_decide(seed):
    R = np.eye(3) if seed is None else rotation(np.random.default_rng(seed))
    mech = turned_four_bar(R)
    state = mech.assemble(fix={"A": -0.6}, rates={"A": 2.0})
    loads, run = mech.reactions(state), mech.simulate((0, 0.1), state)
    for axes in ("world", "local"):
        for name, want in decided(mech, state, axes).items():
            for source in (loads[name], run.connection(name)):
                unique = source.unique if axes == "world" else source.local_unique
                assert [*unique.force, *unique.moment] == want.tolist(), (axes, name)
                assert not unique
    for (
        load
    ) in loads.values():  # the forces in the plane are known in the axes of the pins, whatever the plane
        assert load.local_unique.force == (True, False, True) and load.local_unique.moment == (
            False,
            True,
            False,
        )


def test_a_tree_and_a_statically_determinate_loop_are_unique():
    system = four_bar_system()
    mech = system.build()
    assert not mech.reactions(mech.assemble(fix={"A": -0.6}))["A"].unique
    system = tm.System("spatial four-bar")
    crank = system.body("crank", 1.0, (0.1, 0.1, 0.1), com=(0.5, 0, 0))
    coupler = system.body("coupler", 3.0, (0.2, 2.0, 2.0), com=(1.5, 0, 0))
    rocker = system.body("rocker", 2.5, (0.1, 1.3, 1.3), com=(1.25, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, crank)
    system.connect("B", tm.Universal(), crank.at((1, 0, 0)), coupler)
    system.connect("C", tm.Ball(), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)))
    system.connect("D", tm.Revolute("y"), system.ground.at((3.5, 0, 0)), rocker)
    mech = system.build()
    for load in mech.reactions(mech.assemble(fix={"A": -0.6})).values():
        assert load.unique and load.local_unique


def test_loads_in_the_axes_of_an_end():
    rng = np.random.default_rng(3)
    system = tm.System("two links")
    a, b = (system.body(n, 1.0, (0.1, 0.2, 0.2), com=(0.5, 0, 0)) for n in "ab")
    B = rotation(rng)
    system.connect("A", tm.Revolute("y"), system.ground, a)
    system.connect("B", tm.Revolute("z"), a.at((1, 0, 0), rotation(rng)), b.at((0.1, 0, 0.2), B))
    system.connect("C", tm.Revolute("z"), b.at((1, 0, 0), B), system.body("c", 1.0, (0.1, 0.1, 0.1)))
    mech = system.build()
    state = mech.state(q={"A": 0.4, "B": 1.0}, u={"A": 2.0, "B": -1.0})
    run = mech.simulate((0, 1), state)
    joint, base = run.connection("B"), run.body("b").rotation @ B
    np.testing.assert_allclose(
        joint.local_force, np.einsum("nji,nj->ni", base, joint.force), rtol=ROUND, atol=1e-10
    )
    np.testing.assert_allclose(np.einsum("nij,nj->ni", base, joint.local_moment), joint.moment, atol=1e-10)
    assert np.abs(joint.local_moment[:, 2]).max() < 1e-9  # a revolute about z carries no moment there
    first = mech.reactions(state)["B"]
    np.testing.assert_allclose(first.local_force, joint.local_force[0], rtol=1e-9)
    np.testing.assert_allclose(first.local_moment, joint.local_moment[0], rtol=1e-9, atol=1e-9)


def geared(ratio=2.5):
    system = tm.System("gears", gravity=(0, 0, 0))
    wheels = [system.body(n, 1.0, (1, 1, J)) for n, J in (("one", 0.3), ("two", 0.7))]
    for name, wheel in zip("AB", wheels, strict=True):
        system.connect(name, tm.Revolute("z"), system.ground, wheel)
    system.load("turn", tm.Moment(0.0, 0.0, 4.0), wheels[0])
    system.couple("gear", tm.Gear(ratio), "A", "B")
    return system.build()


def test_a_gear_loads_the_coordinates_it_joins():
    mech = geared()
    run = mech.simulate((0, 1))
    gear, ud = run.connection("gear"), {n: run.connection(n).ud for n in "AB"}
    assert list(gear.loads) == ["A", "B"]
    np.testing.assert_allclose(gear.loads["A"], 0.3 * ud["A"] - 4.0, rtol=1e-10)
    np.testing.assert_allclose(gear.loads["B"], 0.7 * ud["B"], rtol=1e-10)
    power = sum(gear.loads[n] * run.connection(n).u for n in "AB")
    assert np.abs(power).max() < 1e-9 and np.abs(gear.loads["B"]).min() > 0.1
    single = mech.reactions(run.state())["gear"]
    assert single.loads == pytest.approx({n: gear.loads[n][-1] for n in "AB"}) and gear.unique
    assert run.connection("A").loads == {}


def test_loads_of_couplings_are_kept_in_files_and_copies(tmp_path):
    run = geared().simulate((0, 1))
    for other in (tm.read(run.save(tmp_path / "run.npz")), pickle.loads(pickle.dumps(run))):
        assert np.array_equal(other.connection("gear").loads["B"], run.connection("gear").loads["B"])
        assert other.connection("A").unique == run.connection("A").unique
        assert np.array_equal(other.connection("A").local_force, run.connection("A").local_force)


def test_a_driven_coupling_is_loaded_in_kinematics_as_in_a_simulation():
    system = tm.System("driven gears", gravity=(0, 0, 0))
    wheels = [system.body(n, 1.0, (1, 1, J)) for n, J in (("one", 0.3), ("two", 0.7))]
    for name, wheel in zip("AB", wheels, strict=True):
        system.connect(name, tm.Revolute("z"), system.ground, wheel)
    system.couple("gear", tm.Gear(2.0), "A", "B")
    system.prescribe("A", tm.Harmonic(0.5, 3.0))
    mech = system.build()
    times = np.linspace(0, 1, 5)
    moved, simulated = mech.kinematics(times), mech.simulate((0, 1), t_eval=times)
    for run in (moved, simulated):
        np.testing.assert_allclose(
            run.connection("gear").loads["B"], 0.7 * run.connection("B").ud, rtol=1e-8, atol=1e-8
        )


def test_euler_parameters_of_a_body_turn_without_a_jump():
    system = tm.System("top", gravity=(0, 0, 0))
    body = system.body("top", 1.0, (0.1, 0.2, 0.29))
    system.connect("free", tm.Ball(), system.ground, body)
    mech = system.build()
    run = mech.simulate(
        (0, 10), mech.state(u={"free": (0.3, 3.0, 0.2)}), rtol=1e-9, t_eval=np.linspace(0, 10, 400)
    )
    e = run.body("top").euler_parameters
    assert e.shape == (400, 4) and np.abs(np.linalg.norm(e, axis=1) - 1.0).max() < 1e-12
    assert np.abs(np.diff(e, axis=0)).max() < 0.1 and np.any(e[:, 0] < -0.5)
    s, v = e[:, 0, None, None], e[:, 1:]
    skew = np.cross(v[:, None, :], np.eye(3)).transpose(0, 2, 1)  # columns v x e_i
    R = (2 * s**2 - 1) * np.eye(3) + 2 * v[:, :, None] * v[:, None, :] + 2 * s * skew
    np.testing.assert_allclose(run.body("top").rotation, R, atol=1e-12)
