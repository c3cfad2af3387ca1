"""Every quantity of a run costs what it needs, and is the one of the full evaluation."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import treemech as tm
from tests.support.mechanisms import random_mechanism
from tests.support.models import random_state, random_system
from treemech.analyses import evaluation
from treemech.dynamics.model import trace as columns
from treemech.dynamics.model.core import Core
from treemech.results.computed import Unique
from treemech.results.model_info import energies, rotations
from treemech.results.motions import BodyMotion, ConnectionMotion, PointMotion

CONNECTION = (
    "q", "u", "ud", "force", "moment", "unique", "local_force", "local_moment", "local_unique", "loads",
)  # fmt: skip
BODY = ("position", "rotation", "velocity", "angular_velocity", "acceleration", "angular_acceleration")
SWEPT = BODY[:4]


def tree(seed=3):
    mech = random_system(seed, n=14).build()
    return mech.simulate((0.0, 0.02), random_state(mech, seed), t_eval=np.linspace(0.0, 0.02, 301))


def driven():
    """A tree with a prescribed hinge, and attitudes by Euler parameters."""
    system = tm.System("driven")
    arm, top = (system.body(n, 1.0, (0.1, 0.2, 0.2), com=(0.1, 0.2, 0.0)) for n in ("arm", "top"))
    system.connect("A", tm.Revolute("z"), system.ground, arm)
    system.connect("B", tm.Ball(), arm.at((1, 0, 0)), top.at((0, 0, -0.3)))
    system.prescribe("A", tm.Harmonic(0.5, 3.0))
    return system.build().simulate((0.0, 1.0))


def closed(seed=1):
    made = random_mechanism(seed, planar=True)
    mech = made.system.build()
    start = mech.assemble(guess=made.q)
    return mech.simulate((0.0, 0.3), start)


RUNS = {"tree": tree, "driven": driven, "closed": closed}


@pytest.fixture
def calls(monkeypatch):
    """Count the full evaluations, and the states of the traces."""
    count = {"results": 0, "states": 0}
    full, trace = evaluation.results_of_states, Core.trace

    def counted_results(*given, **named):
        count["results"] += 1
        return full(*given, **named)

    def counted_trace(self, t, *given):
        count["states"] += len(t)
        return trace(self, t, *given)

    monkeypatch.setattr(evaluation, "results_of_states", counted_results)
    monkeypatch.setattr(Core, "trace", counted_trace)
    return count


def full_connection(run, name):
    """Every attribute of a connection from the full evaluation, as numbers."""
    found, info = run._results(), run._info
    names = [h.name for h in info.hinges] + [c.name for c in info.chords]
    k, chord = names.index(name), names.index(name) - len(info.hinges)
    if chord >= 0:
        at, motion = info.chords[chord], (found.cut_q, found.cut_u, found.cut_ud)
        load = found.chord_loads[:, chord, :3], found.chord_loads[:, chord, 3:]
    else:
        at, motion = info.hinges[k], (run.q, run.u, found.ud)
        load = at.load(found.trace)
    places = (at.q, at.nq), (at.u, at.nu), (at.u, at.nu)
    parts = [x[:, a : a + n] for x, (a, n) in zip(motion, places, strict=True)]
    if at.nq == at.nu == 1:
        parts = [x[:, 0] for x in parts]
    unique = [Unique.of(x) for x in np.split(found.unique[k], 2)]
    told = (*parts, *load, unique[0], *at.local(found.trace, *load), unique[1], {})
    return dict(zip(CONNECTION, told, strict=True))


def full_body(run, number):
    row = run._results().trace[:, number]
    parts = [columns.POSITION, None, columns.VELOCITY, columns.OMEGA, columns.ACCELERATION, columns.ALPHA]
    return {n: rotations(row) if p is None else row[:, p] for n, p in zip(BODY, parts, strict=True)}


def same(a, b):
    return type(a) is type(b) and np.array_equal(a, b) and np.shape(a) == np.shape(b)


@pytest.mark.parametrize("kind", RUNS)
def test_every_quantity_is_the_one_of_the_full_evaluation(kind):
    asked, whole = RUNS[kind](), RUNS[kind]()
    whole._results()
    for number, body in enumerate(whole._info.bodies):
        motion, want = asked.body(body.name), full_body(whole, number)
        offset = np.array([0.3, -0.2, 0.5])
        arm, w = want["rotation"] @ offset, want["angular_velocity"]
        point = asked.point(body.name, offset)
        for name in SWEPT:
            assert same(getattr(motion, name), want[name]), (body.name, name)
        assert same(point.position, want["position"] + arm)
        assert same(point.velocity, want["velocity"] + np.cross(w, arm))
        assert same(motion.com, whole.body(body.name).com)
    energy = energies(whole._results().trace, whole.u, whole._info)
    if not asked._info.elements:
        assert same(asked.energy.kinetic, energy[0]) and same(asked.energy.potential, energy[1])
    assert asked._computed is None  # all so far from the sweep
    for number, body in enumerate(whole._info.bodies):
        motion, want = asked.body(body.name), full_body(whole, number)
        for name in BODY:
            assert same(getattr(motion, name), want[name]), (body.name, name)
        arm, w = want["rotation"] @ offset, want["angular_velocity"]
        acceleration = want["acceleration"] + np.cross(want["angular_acceleration"], arm)
        assert same(asked.point(body.name, offset).acceleration, acceleration + np.cross(w, np.cross(w, arm)))
    for connection in (*whole._info.hinges, *whole._info.chords):
        motion, want = RUNS[kind]().connection(connection.name), full_connection(whole, connection.name)
        for name in CONNECTION:
            assert same(getattr(motion, name), want[name]), (connection.name, name)
    assert same(asked.energy.stored, whole.energy.stored)


@pytest.mark.parametrize("kind", RUNS)
def test_coordinates_and_speeds_of_hinges_evaluate_nothing(kind, calls):
    run = RUNS[kind]()
    calls.update(results=0, states=0)
    for hinge in run._info.hinges:
        motion = run.connection(hinge.name)
        assert np.shares_memory(motion.q, run.q) or not hinge.nq
        assert np.shares_memory(motion.u, run.u) or not hinge.nu
        assert run._info.chords or motion.unique
    assert calls == {"results": 0, "states": 0} and run._swept is None
    assert bool(run._info.chords) == (kind == "closed")


@pytest.mark.parametrize("kind", RUNS)
def test_positions_and_velocities_cost_one_sweep_and_everything_else_one_evaluation(kind, calls):
    run = RUNS[kind]()
    calls.update(results=0, states=0)
    for body in run._info.bodies:
        motion = run.body(body.name)
        for name in (*SWEPT, "com"):
            getattr(motion, name)
        motion.point((1.0, 0.0, 0.0)).velocity
    assert calls == {"results": 0, "states": len(run.t)}
    for _ in range(2):
        for body in run._info.bodies:
            run.body(body.name).acceleration
        for connection in (*run._info.hinges, *run._info.chords):
            run.connection(connection.name).force
        run.multipliers, run.ud, run.residual
    assert calls["results"] == 1 and run._swept is None
    states = calls["states"]
    run.body(run._info.bodies[-1].name).position
    assert calls["states"] == states


def test_a_sweep_changes_nothing_in_the_run():
    run = driven()
    q, u = run.q.copy(), run.u.copy()
    run.body("top").velocity
    assert np.array_equal(run.q, q) and np.array_equal(run.u, u)


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("kind", ["tree", "closed"])
def test_copies_of_motions_hold_all_quantities(kind, how):
    run = RUNS[kind]()
    body = run._info.bodies[-1].name
    connection = (*run._info.hinges, *run._info.chords)[-1].name
    point = (0.1, 0.2, 0.3)
    for motion, names in (
        (run.connection(connection), CONNECTION),
        (run.body(body), (*BODY, "com")),
        (run.point(body, point), ("position", "velocity", "acceleration")),
    ):
        other = how(motion)
        assert type(other) is type(motion)
        for name in names:
            assert same(getattr(other, name), getattr(motion, name)), name
    assert same(how(run.body(body)).point(point).acceleration, run.point(body, point).acceleration)


def test_motions_are_what_they_were_to_their_readers():
    run = driven()
    connection, body, point = run.connection("A"), run.body("arm"), run.point("arm")
    assert (type(connection), type(body), type(point)) == (ConnectionMotion, BodyMotion, PointMotion)
    assert [f.name for f in dataclasses.fields(connection)] == ["name", *CONNECTION]
    assert {n for n in dir(connection) if not n.startswith("_")} == {"name", *CONNECTION}
    assert {n for n in dir(body) if not n.startswith("_")} >= {"name", "com", "point", *BODY}
    assert np.array_equal(dataclasses.asdict(connection)["force"], connection.force)
    for motion in (connection, body, point):  # a repr names what there is and computes nothing
        assert len(repr(motion)) < 250 and "array" not in repr(motion)
    assert repr(connection).startswith("ConnectionMotion('A': q, u, ud, force")
    with pytest.raises(dataclasses.FrozenInstanceError):
        connection.q = 0.0
    with pytest.raises(AttributeError, match="'ConnectionMotion' object has no attribute 'speed'"):
        connection.speed
