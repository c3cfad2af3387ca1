"""Constraint elements and couplings in the core: their rows, their effect on a mechanism, simulation with them."""

import os
import subprocess
import sys
from dataclasses import dataclass
from math import cos, pi, sin, sqrt

import numpy as np
import pytest

import treemech as tm
from tests.laws.test_built_in_constraints import COUPLINGS, JOINTS, OTHERS, WAVE
from tests.support.models import inertia, rotation
from tests.support.tolerances import DIFF, ROUND
from treemech.analyses.states import left_free

H = 1e-5  # step of central differences: third derivatives of order 10 leave 1e-9, rounding 1e-11
CONSTRAINTS = {name: (j.constraint, j.place) for name, j in JOINTS.items()} | {
    name: (c, None) for name, c in OTHERS.items()
}


def two_bodies(seed, gravity=(0.3, -0.5, -9.0)):
    """Return (system, bodies): one body on a Ball hinge whose end b is on the ground, one on a Free hinge."""
    rng = np.random.default_rng(seed)
    system = tm.System("pair", gravity=gravity)
    one, two = (system.body(n, 1.0, inertia(rng, 1.0), com=rng.uniform(-0.2, 0.2, 3)) for n in ("one", "two"))
    system.connect("ball", tm.Ball(), one.at((0.1, 0.2, 0), rotation(rng)), system.ground.at((0, 0, 0.3)))
    ends = system.ground.at((0.2, 0, 0), rotation(rng)), two.at((0, 0.1, 0))
    system.connect("free", tm.Free(), *ends, role="branch")
    return system, (one, two)


def closed(element, place, seed, swap, n_freedoms=6):
    """Join two bodies by the constraint, satisfied at a random state. Return (mechanism, t, q, u)."""
    rng = np.random.default_rng(seed)
    system, bodies = two_bodies(seed)
    a, b = bodies[::-1] if swap else bodies
    tree = system.build()
    q = np.concatenate([c.hinge.sample(rng) for c in tree._lagrange.hinges])
    t, u = 0.4, rng.normal(size=tree.nu)
    poses = tree.attitude(tree.state(t, q, u))
    number = tree.tree.numbers
    (pa, Ra), (pb, Rb) = (
        (poses.position[number[x.name] - 1], poses.rotation[number[x.name] - 1]) for x in (a, b)
    )
    c, C, s = element.sample(rng, t) if place is None else place(rng.uniform(-0.6, 0.6, n_freedoms), t)
    Ba, ba = rotation(rng), rng.uniform(-0.3, 0.3, 3)
    end_b = b.at(Rb.T @ (pa + Ra @ (ba + Ba @ c) - pb), Rb.T @ Ra @ Ba @ C)
    system.connect("between", element, a.at(ba, Ba), end_b)
    mech = system.build()
    mech._core.reset_chords({"between": s})
    return mech, t, q, u


def moved(mech, t, q, u, ud, s):
    """Return the constraints a time s later, along the motion with accelerations ud."""
    steps = [
        c.hinge.move(q[c.q_slice], s * u[c.u_slice] + 0.5 * s * s * ud[c.u_slice])
        for c in mech._lagrange.hinges
    ]
    return mech._core.constraints(t + s, np.concatenate(steps), u + s * ud)


def rates(mech, t, q, u, ud):
    """Return time derivatives of residual and velocity by differences."""
    after, before = (moved(mech, t, q, u, ud, s) for s in (H, -H))
    return (after.residual - before.residual) / (2 * H), (after.velocity - before.velocity) / (2 * H)


# ---------------------------------------------------------------- rows of every built-in
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_rows_of_every_constraint_are_the_derivatives_of_its_residual(name, swap):
    element, place = CONSTRAINTS[name]
    mech, t, q, u = closed(element, place, len(name), swap)
    at, rng = mech._core.constraints, np.random.default_rng(1)
    now, ud = at(t, q, u), rng.normal(size=mech.nu)
    holonomic = ~mech._core.layout.chords.nonholonomic
    assert len(now.residual) == element.n_holonomic + element.n_nonholonomic
    assert np.sum(holonomic) == element.n_holonomic and np.all(now.residual[~holonomic] == 0.0)
    assert np.max(np.abs(now.residual)) < 1e-13 or place is None
    if element.n_auxiliary:  # net rows combine the element's, in a way that changes: exact where they hold
        u = u - np.linalg.pinv(now.partials) @ now.velocity
        now = at(t, q, u)
        ud = ud - np.linalg.pinv(now.partials) @ at(t, q, u, ud).bias
    drift = now.velocity - now.partials @ u
    np.testing.assert_allclose(at(t, q, -2.0 * u).velocity + 2.0 * now.partials @ u, drift, atol=1e-11)
    want = at(t, q, u, ud).bias
    np.testing.assert_allclose(now.bias + now.partials @ ud, want, atol=1e-11)
    rate, acceleration = rates(mech, t, q, u, ud)
    scale = 1.0 + float(np.max(np.abs(want)))
    assert np.max(np.abs(rate - now.velocity)[holonomic], initial=0.0) < DIFF * scale
    assert np.max(np.abs(acceleration - want)) < DIFF * scale


def hinges(seed=3, driven=False):
    """Return (system, names of coordinates): a chain of hinges to couple, some of them reversed."""
    rng = np.random.default_rng(seed)
    system = tm.System("chain", gravity=(0.3, -0.5, -9.0))
    last = system.ground
    for k, hinge in enumerate((tm.Revolute("x"), tm.Prismatic("y"), tm.Cylindrical("z"), tm.Free())):
        body = system.body(f"b{k}", 1.0, inertia(rng, 1.0), com=rng.uniform(-0.2, 0.2, 3))
        ends = [last.at(rng.uniform(-0.3, 0.3, 3), rotation(rng)), body.at(rng.uniform(-0.3, 0.3, 3))]
        system.connect(f"h{k}", hinge, *(ends[::-1] if k in (1, 3) else ends))
        last = body
    if driven:
        system.prescribe("h0", WAVE)
    return system, ["h0", "h2[1]", "h3[2]", "h1"]


@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize("name", COUPLINGS)
def test_rows_of_every_coupling_are_the_derivatives_of_its_residual(name, driven):
    element, (system, names) = COUPLINGS[name], hinges(driven=driven)
    system.couple("joined", element, *names[: element.n_arguments or 3])
    mech, rng = system.build(), np.random.default_rng(5)
    t, q = 0.4, np.concatenate([c.hinge.sample(rng) for c in mech._lagrange.hinges])
    u, ud = rng.normal(size=mech.nu), rng.normal(size=mech.nu)
    at = mech._core.constraints
    if driven:
        q[0], u[0], ud[0] = WAVE.at(t)
    now, want = at(t, q, u), at(t, q, u, ud).bias
    np.testing.assert_allclose(now.bias + now.partials @ ud, want, atol=1e-12)
    rate, acceleration = rates(mech, t, q, u, ud)
    holonomic = ~mech._core.layout.chords.nonholonomic
    assert np.all(holonomic) == (name != "VelocityRelation")
    assert np.max(np.abs(rate - now.velocity)[holonomic], initial=0.0) < DIFF
    assert np.max(np.abs(acceleration - want)) < DIFF
    used = {mech.speeds.index(n) for n in names[: element.n_arguments or 3]}
    assert set(np.flatnonzero(now.partials[0])) == used


def test_constraints_and_couplings_solve_the_augmented_equations():
    mech, t, q, u = closed(*CONSTRAINTS["CamFollower, roller"], 7, False)
    solve_and_check(mech, t, q, u)
    system, names = hinges(driven=True)
    system.couple("sum", tm.Relation(lambda q, t: q[0] + 2.0 * q[1] - q[2] - 0.1 * t), *names[:3])
    mech = system.build()
    state = mech.assemble(t=0.4, guess={"h1": 0.2})
    solve_and_check(mech, state.t, state.q, state.u)


def solve_and_check(mech, t, q, u):
    free = left_free(mech, {})
    c = mech._core.constraints(t, q, u)
    u = u - free * (np.linalg.pinv(c.partials * free) @ c.velocity)
    state = mech.state(t, q, u)
    c = mech._core.constraints(t, q, u)
    ud, multipliers = mech.forward_dynamics(state)
    left = mech.mass_matrix(state) @ ud - mech.load_column(state) - c.partials.T @ multipliers  # (6.3.4)
    scale = 1.0 + float(np.max(np.abs(mech.load_column(state))))
    assert np.max(np.abs(left[free])) < 1e2 * ROUND * scale
    assert np.max(np.abs(c.partials @ ud + c.bias)) < 1e2 * ROUND * scale  # (6.3.5)
    assert np.max(np.abs(multipliers)) > 1e-3


# ---------------------------------------------------------------- elements of other people
@dataclass(frozen=True)
class RollingOnParabola(tm.Constraint):
    """Hold a point of b on the curve (s, s^2) in the x,y plane of a, with s' = turning rate; all rows written out."""

    n_holonomic, n_auxiliary, n_nonholonomic = 1, 1, 1

    def evaluate(self, motion, t, rows):
        s, rate = motion.s[0], motion.s_rate[0]
        rows.residual[0] = motion.offset[0] - s
        rows.force[0, 0] = 1.0
        rows.auxiliary[0, 0] = -1.0
        rows.residual[1] = motion.offset[1] - s * s
        rows.force[1, 1] = 1.0
        rows.auxiliary[1, 0] = -2.0 * s
        rows.bias[1] = -2.0 * rate * rate
        rows.moment[2, 2] = -1.0
        rows.auxiliary[2, 0] = 1.0


@dataclass(frozen=True)
class RollingOnGraph(tm.Constraint):
    """The same constraint without an auxiliary unknown."""

    n_holonomic = 1
    n_nonholonomic = 1

    def residual(self, offset, rotation, s, t, f):
        f[0] = offset[1] - offset[0] * offset[0]

    def slip(self, offset, rotation, velocity, angular_velocity, s, t, f):
        f[0] = velocity[0] - angular_velocity[2]


CURVES = """
import sys
from dataclasses import dataclass
import numpy as np
from treemech.elements import Constraint, RelativeMotion

@dataclass(frozen=True)
class OnGraph(Constraint):
    n_holonomic = 1
    def residual(self, offset, rotation, s, t, f):
        f[0] = offset[1] - offset[0] * offset[0]

@dataclass(frozen=True)
class OnLines(Constraint):
    n_holonomic = 2
    def residual(self, offset, rotation, s, t, f):
        f[0] = offset[2] + offset[0]
        f[1] = offset[1]

if __name__ == "__main__":
    import curves
    motion = RelativeMotion(np.array([0.5, 0.0, 0.0]), np.eye(3), *np.zeros((2, 3)), *np.zeros((2, 0)))
    print(*(getattr(curves, name)().rows(motion).force.tolist() for name in sys.argv[1:]))
"""


def test_what_two_processes_compiled_is_not_mixed_up_in_a_third(tmp_path):
    """Numba numbers functions anew in every process: two functions must not share a name in the disk cache."""
    (tmp_path / "curves.py").write_text(CURVES)
    environment = {**os.environ, "TREEMECH_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}

    def rows(*names):
        command = [sys.executable, str(tmp_path / "curves.py"), *names]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()

    graph, lines = "[[-1.0, 1.0, 0.0]]", "[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]"
    assert [rows("OnGraph"), rows("OnLines")] == [graph, lines]
    assert rows("OnLines", "OnGraph") == f"{lines} {graph}"


def test_auxiliary_unknowns_are_eliminated_from_equations_on_velocity_too():
    found = []
    for element in (RollingOnParabola(), RollingOnGraph()):
        mech, t, q, u = closed(
            element, lambda p, t: (np.array([0.4, 0.16, 0.3]), np.eye(3), [0.4]), 12, False
        )
        c = mech._core.constraints(t, q, u)
        u = u - np.linalg.pinv(c.partials) @ c.velocity
        load = mech.reactions((t, q, u))["between"]
        found.append((mech.forward_dynamics((t, q, u)).ud, u, load.force, load.moment))
        if element.n_auxiliary:
            mech._core.constraints(t, q, u)
            assert abs(mech._core.chord_work.q[0] - 0.4) < 1e-14
            a, b = (
                mech._core.trace(np.array([t]), q[None].copy(), u[None].copy(), 0.0 * u[None])[0][0, k]
                for k in (1, 2)
            )
            R = a[:9].reshape(3, 3) @ mech.tree.chords[0].ends[0].rotation
            assert abs(mech._core.chord_work.u[0] - R[:, 2] @ (b[12:15] - a[12:15])) < 1e-12
    for got, want in zip(*found, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-11)


# ---------------------------------------------------------------- the same joint said otherwise
EQUAL = {
    "Cylindrical": (tm.Cylindrical("z"), [tm.InLine(), tm.Parallel()]),
    "Planar": (tm.Planar("z"), [tm.InPlane(), tm.Parallel()]),
    "Translation": (tm.Translation(), [tm.AtRotation()]),
    "Ball": (tm.Ball(), [tm.PrescribedPose(x=0.0, y=0.0, z=0.0)]),
    "Revolute": (tm.Revolute("z"), [tm.InPlane(), tm.InLine(), tm.Parallel()]),
    "Prismatic": (tm.Prismatic("z"), [tm.InLine(), tm.AtRotation()]),
    "on a sphere": (tm.Ball(), [tm.InLine(), tm.InPlane()]),
}


@pytest.mark.parametrize("name", EQUAL)
def test_constraints_that_make_a_hinge_move_and_load_as_the_hinge_cut(name):
    hinge, parts = EQUAL[name]
    system, (one, two) = two_bodies(4)
    rng = np.random.default_rng(4)
    q0, ends = (
        hinge.reference(),
        (one.at((0.3, 0, 0.1), rotation(rng)), two.at((0.1, -0.2, 0), rotation(rng))),
    )
    moving = hinge.move(q0, rng.uniform(-0.3, 0.3, hinge.n_speeds))
    system.connect("cut", hinge, *ends, role="chord")
    cut = system.build()
    cut._core.reset_chords({"cut": moving})
    state = cut.assemble(guess={"free": [0.3, 0.1, 0.2, 1, 0, 0, 0], "cut": moving}, rates={})
    u = np.random.default_rng(6).normal(size=cut.nu)
    c = cut._core.constraints(0.0, state.q, u)
    u = u - np.linalg.pinv(c.partials) @ c.velocity
    want, load = cut.forward_dynamics((state.q, u)).ud, cut.reactions((state.q, u))
    system.connections.pop("cut")
    for k, part in enumerate(parts):
        system.connect(f"part{k}", part, *ends)
    mech = system.build()
    now = mech._core.constraints(0.0, state.q, u)
    assert max(np.max(np.abs(now.residual)), np.max(np.abs(now.velocity))) < 1e-12
    got, found = mech.forward_dynamics((state.q, u)).ud, mech.reactions((state.q, u))
    np.testing.assert_allclose(got, want, atol=1e-10 * np.max(np.abs(want)))
    for level in ("force", "moment"):
        total = sum(getattr(found[f"part{k}"], level) for k in range(len(parts)))
        np.testing.assert_allclose(total, getattr(load["cut"], level), atol=1e-9)
        for h in ("ball", "free"):
            np.testing.assert_allclose(getattr(found[h], level), getattr(load[h], level), atol=1e-9)


def test_a_distance_is_the_limit_of_a_light_rod_between_two_balls():
    def joined(mass):
        system, (one, two) = two_bodies(8)
        ends = one.at((0.3, 0, 0)), two.at((0, 0, -0.1))
        if mass:
            rod = system.body("rod", mass, (mass / 100, mass / 12, mass / 12))
            system.connect("near", tm.Ball(), ends[0], rod.at((-0.5, 0, 0)))
            system.connect("far", tm.Ball(), rod.at((0.5, 0, 0)), ends[1])
        else:
            system.connect("rod", tm.Distance(1.0), *ends)
        return system.build()

    mech = joined(0.0)
    rates = {"ball": [0.3, -0.5, 0.8], "free[1]": -0.1, "free[3]": 0.6, "free[4]": -0.9}
    state = mech.assemble(guess={"free": [0.9, 0.7, 0.3, 1, 0, 0, 0]}, rates=rates)
    want, errors = mech.forward_dynamics(state).ud, []
    for mass in (1e-3, 1e-4):
        heavy = joined(mass)
        start = heavy.assemble(
            fix={h: state[h][0] for h in ("ball", "free")}, rates={h: state[h][1] for h in ("ball", "free")}
        )
        ud = dict(zip(heavy.speeds, heavy.forward_dynamics(start).ud, strict=True))
        errors.append(max(abs(ud[n] - x) for n, x in zip(mech.speeds, want, strict=True)))
    assert errors[1] < 1e-3 * np.max(np.abs(want))
    assert abs(errors[0] / errors[1] - 10.0) < 0.5  # of first order in the mass of the rod


# ---------------------------------------------------------------- closed forms
def shafts(element, *ratio, names=("A", "B")):
    system = tm.System("shafts", gravity=(0, 0, 0))
    for k, n in enumerate(names):
        body = system.body(n.lower(), 1.0, (k + 1.0,) * 3)
        ends = [system.ground.at((k, 0, 0)), body]
        system.connect(n, tm.Revolute("z"), *(ends[::-1] if k == 1 else ends))
    system.couple("mesh", element, *names)
    return system.build()


@pytest.mark.parametrize(
    "element, ratio",
    [(tm.Gear(0.4), -0.4), (tm.Gear(0.4, internal=True), 0.4), (tm.Belt(0.3, 0.2), 1.5), (tm.Mimic(-2.0, 0.3), -2.0)],
)  # fmt: skip
def test_a_gear_pair_has_the_reduced_inertia(element, ratio):
    mech = shafts(element)
    state = mech.assemble(fix={"A": 0.7}, rates={"A": 1.2})
    assert abs(state.u[1] - ratio * 1.2) < 1e-14
    ud = mech.forward_dynamics(state, loads={"A": 3.0}).ud
    np.testing.assert_allclose(ud, 3.0 / (1.0 + 2.0 * ratio**2) * np.array([1.0, ratio]), rtol=1e-13)
    assert mech.mobility(state).dof == 1


def test_a_differential_shares_its_torque_equally():
    mech = shafts(tm.Differential(4.0), names=("A", "B", "C"))
    ud, multipliers = mech.forward_dynamics(mech.assemble(), loads={"A": 5.0})
    torque = mech._core.constraints(0.0, np.zeros(3), np.zeros(3)).partials.T @ multipliers
    np.testing.assert_allclose(torque[1], torque[2], rtol=1e-13)
    np.testing.assert_allclose(ud[0], 2.0 * (ud[1] + ud[2]), rtol=1e-13)
    np.testing.assert_allclose(1.0 * ud[0] - 5.0, -torque[1] / 2.0, rtol=1e-13)


def test_a_rack_and_its_pinion_fall_as_one():
    system = tm.System("rack", gravity=(0, 0, -9.81))
    pinion, rack = system.body("pinion", 1.0, (0.5, 0.5, 0.5)), system.body("rack", 2.0, (1, 1, 1))
    system.connect("turn", tm.Revolute("y"), system.ground, pinion)
    system.connect("slide", tm.Prismatic("z"), system.ground.at((0.1, 0, 0)), rack)
    system.couple("mesh", tm.RackAndPinion(0.1), "turn", "slide")
    mech = system.build()
    ud = mech.forward_dynamics(mech.assemble()).ud
    want = -2.0 * 9.81 / (2.0 + 0.5 / 0.1**2)
    np.testing.assert_allclose(ud, [want / 0.1, want], rtol=1e-13)


@pytest.mark.parametrize("bend", [0.2, 0.9])
def test_a_constant_velocity_joint_makes_one_inertia_of_two_shafts(bend):
    system = tm.System("cv", gravity=(0, 0, 0))
    one, two = system.body("one", 1.0, (1, 1, 1)), system.body("two", 1.0, (3, 3, 3))
    tilted = np.array([[1, 0, 0], [0, cos(bend), -sin(bend)], [0, sin(bend), cos(bend)]])
    system.connect("A", tm.Revolute("z"), system.ground, one)
    system.connect("B", tm.Revolute("z"), system.ground.at((0, 0, 0), tilted), two)
    system.connect("joint", tm.ConstantVelocity(), one, two)
    mech = system.build()
    for angle in (0.0, 0.8):
        state = mech.assemble(fix={"A": angle}, guess={"B": angle}, rates={"A": 2.0})
        np.testing.assert_allclose(state.q, angle, atol=1e-12)
        np.testing.assert_allclose(state.u, 2.0, rtol=1e-12)
        ud = mech.forward_dynamics(state, loads={"A": 2.0}).ud
        np.testing.assert_allclose(ud, 0.5, rtol=1e-11)


def rolling(
    element, radius=0.3, mass=2.0, moments=(0.05, 0.05, 0.09), gravity=(1.0, 0.0, -9.81), upright=True
):
    """Return a body that rolls on the plane; its Free hinge starts with the axis z along y (upright) or along z."""
    system = tm.System("rolling", gravity=gravity)
    body = system.body("body", mass, moments)
    system.connect("free", tm.Free(), system.ground, body)
    system.connect("roll", element, system.ground, body)
    mech = system.build()
    half = sqrt(0.5)
    pose = [0, 0, radius, half, half, 0, 0] if upright else [0, 0, radius, 1, 0, 0, 0]
    return mech, pose


def test_a_disk_rolls_down_a_slope_with_its_inertia_and_that_of_its_path():
    mech, pose = rolling(tm.RollingDisk(0.3))
    state = mech.assemble(guess={"free": pose}, rates={"free[4]": 2.0})
    np.testing.assert_allclose(state.u[:3], [0.6, 0.0, 0.0], atol=1e-13)
    m = mech.mobility(state)
    assert (m.dof, m.admissible) == (5, 3)
    ud = mech.forward_dynamics(state).ud
    want = 2.0 * 1.0 / (2.0 + 0.09 / 0.3**2)
    np.testing.assert_allclose(ud, [want, 0, 0, 0, want / 0.3, 0], atol=1e-12)
    force = mech.reactions(state)["roll"].force
    np.testing.assert_allclose(force, [2.0 * (want - 1.0), 0.0, 2.0 * 9.81], atol=1e-11)


def test_a_ball_on_a_turning_table_runs_in_circles_at_two_sevenths_of_its_rate():
    system = tm.System("table", gravity=(0, 0, -9.81))
    table, ball = system.body("table", 1.0, (1, 1, 1)), system.body("ball", 1.0, (0.4 * 0.2**2,) * 3)
    system.connect("turn", tm.Revolute("z"), system.ground, table)
    system.prescribe("turn", tm.Polynomial([0.0, 3.0]))
    system.connect("free", tm.Free(), system.ground, ball)
    system.connect("roll", tm.RollingBall(0.2), table, ball)
    mech = system.build()
    state = mech.assemble(
        fix={"free[0]": 1.0, "free[1]": 0.0}, guess={"free[2]": 0.2}, rates={"free[0]": 0.5, "free[1]": 0.0}
    )
    run = mech.simulate((0, 2 * pi / (3.0 * 2 / 7)), state, rtol=1e-10)
    assert run.success
    velocity = run.u[:, mech.speeds.index("free[0]") :][:, :2]
    angle = 3.0 * 2 / 7 * run.t
    np.testing.assert_allclose(velocity, 0.5 * np.column_stack((np.cos(angle), np.sin(angle))), atol=1e-8)
    np.testing.assert_allclose(run.body("ball").position[-1], run.body("ball").position[0], atol=1e-8)


# ---------------------------------------------------------------- simulation
def cam():
    system = tm.System("cam", gravity=(-3.0, 0, 0))
    disk, follower = (
        system.body("disk", 1.0, (1, 1, 0.02), com=(0.1, 0, 0)),
        system.body("follower", 0.5, (1, 1, 1)),
    )
    system.connect("A", tm.Revolute("z"), system.ground, disk)
    system.connect("B", tm.Prismatic("x"), system.ground, follower)
    profile = tm.Profile.polar(0.5 + 0.1 * np.cos(np.linspace(0, 2 * pi, 24, endpoint=False)))
    system.connect("contact", tm.CamFollower(profile, "roller", radius=0.1), disk, follower)
    mech = system.build()
    return mech, mech.assemble(fix={"A": 0.0}, guess={"B": 0.7}, rates={"A": 4.0})


def gears():
    system = tm.System("gears", gravity=(0, -9.81, 0))
    sun, planet = (
        system.body("sun", 1.0, (1, 1, 0.1), com=(0.1, 0, 0)),
        system.body("planet", 0.5, (1, 1, 0.05), com=(0, 0.1, 0)),
    )
    system.connect("A", tm.Revolute("z"), system.ground, sun)
    system.connect("B", tm.Revolute("z"), system.ground.at((1, 0, 0)), planet)
    system.couple("mesh", tm.Relation(lambda q, t: q[1] + 0.5 * q[0] + 0.2 * q[0] * q[0]), "A", "B")
    mech = system.build()
    return mech, mech.assemble(fix={"A": 0.3}, rates={"A": 1.0})


def disk():
    mech, pose = rolling(tm.RollingDisk(0.3), gravity=(0, 0, -9.81))
    return mech, mech.assemble(guess={"free": pose}, rates={"free[3]": 0.3, "free[4]": 6.0, "free[5]": 1.0})


def sleigh():
    system = tm.System("sleigh", gravity=(2.0, 0, 0))
    body = system.body("body", 1.0, (1, 1, 0.1), com=(0.2, 0, 0))
    system.connect("ice", tm.Planar("z"), system.ground, body)
    system.connect("blade", tm.KnifeEdge(), system.ground, body)
    mech = system.build()
    return mech, mech.assemble(fix={"ice": [0, 0, 0.4]}, rates={"ice[2]": 2.0})


def rods():
    system = tm.System("rods", gravity=(0, 0, -9.81))
    plate = system.body("plate", 1.0, (0.1, 0.2, 0.25), com=(0.05, 0, 0))
    points = [(0.5, 0, 0), (-0.3, 0.4, 0), (-0.3, -0.4, 0)]
    for k, x in enumerate(points):
        system.connect(f"rod{k}", tm.Distance(1.0), system.ground.at(x), plate.at(x))
    mech = system.build()
    state = mech.assemble(
        guess={"free plate": [0.2, 0.1, -0.97, 1, 0, 0, 0]},
        rates={"free plate[0]": 0.5, "free plate[5]": 0.6},
    )
    return mech, state


@pytest.mark.parametrize("model", [cam, gears, disk, sleigh, rods])
def test_simulations_keep_the_energy_and_the_constraints(model):
    mech, state = model()
    run = mech.simulate((0, 3), state, rtol=1e-11)
    assert run.success, run.message
    energy = run.energy
    assert np.ptp(energy.total) < 1e-9 * np.max(energy.kinetic)
    assert np.ptp(energy.kinetic) > 1e-3 * np.max(energy.kinetic)
    for t, q, u in zip(run.t, run.q, run.u, strict=True):
        now = mech._core.constraints(t, q, u)
        assert np.max(np.abs(now.residual)) < 1e-12
        assert np.max(np.abs(now.velocity)) < 1e-12 * (1.0 + np.max(np.abs(u)))


def test_the_place_of_contact_is_a_result_over_several_turns():
    mech, state = cam()
    run = mech.simulate((0, 5), state, rtol=1e-10, t_eval=np.linspace(0, 5, 2001))
    contact, length = run.connection("contact"), mech._core.layout.chords.elements[0].profile.length
    s, rate, acceleration = (np.ravel(x) for x in (contact.q, contact.u, contact.ud))
    turns = (run.q[:, 0] - run.q[0, 0]) / (2 * pi)
    assert turns[-1] > 1.5
    assert (
        np.max(np.abs(s + turns * length)) < 0.5 * length
    )  # it runs backwards on the cam, and is not wrapped
    step = run.t[1] - run.t[0]

    def slope(x):  # of fourth order
        return (8.0 * (x[3:-1] - x[1:-3]) - (x[4:] - x[:-4])) / (12.0 * step)

    assert np.max(np.abs(slope(s) - rate[2:-2])) < 1e-5 * np.max(np.abs(rate))
    assert np.max(np.abs(slope(rate) - acceleration[2:-2])) < 1e-4 * np.max(np.abs(acceleration))
