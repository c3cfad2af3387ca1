"""Closed chains: rows of every hinge as a chord, the solver, assembly, mobility, loads."""

import numpy as np
import pytest

import treemech as tm
from tests.support.models import KINDS, any_hinge, random_state, random_system, rotation
from tests.support.reference import dense
from tests.support.tolerances import ROUND

TREE = ("Revolute", "Ball", "Cylindrical", "Universal", "Prismatic", "Planar")
CUT = tuple(k for k in KINDS if k not in ("Free", "Moving", "Rigid"))


def closed(kind, seed, n=8):
    """Return (mechanism, t, q, u): a random tree with a chord of a kind, made to fit at this state."""
    rng = np.random.default_rng(seed)
    system = random_system(seed, n=n, kinds=TREE, loads=True)
    open_mech = system.build()
    state = random_state(open_mech, seed + 1)
    d = dense(open_mech, state.t, state.q, state.u)
    hinge = any_hinge(rng, kind)
    qh = hinge.sample(rng)
    pose, G = hinge.motion(qh, t=state.t), hinge.base()
    a, b = system.bodies[0], system.bodies[n]
    i, j = open_mech.tree.numbers[a.name], open_mech.tree.numbers[b.name]
    Ba, ba = rotation(rng), rng.uniform(-0.3, 0.3, 3)
    R = d.R[i] @ Ba @ G
    point = d.r[i] + d.R[i] @ ba + R @ pose.offset
    end_b = b.at(d.R[j].T @ (point - d.r[j]), d.R[j].T @ R @ pose.rotation @ G.T)
    system.connect("cut", hinge, a.at(ba, Ba), end_b, role="chord")
    mech = system.build()
    mech._core.reset_chords({"cut": qh})
    return mech, state.t, state.q, state.u


@pytest.mark.parametrize("kind", CUT)
@pytest.mark.parametrize("seed", range(2))
def test_rows_of_any_cut_hinge_are_consistent_over_all_three_levels(kind, seed):
    mech, t, q, u = closed(kind, seed)
    at = mech._core.constraints
    first = at(t, q, u)
    assert np.max(np.abs(first.residual)) < 1e-13
    assert len(first.residual) == 6 - mech.tree.chords[0].element.n_speeds
    solve = np.linalg.pinv(first.partials)
    if np.linalg.matrix_rank(first.partials) < len(first.partials):
        pytest.skip("this random chain is redundant: its rates cannot be chosen freely")
    u = u - solve @ first.velocity
    ud = -solve @ at(t, q, u).bias
    assert np.max(np.abs(at(t, q, u, ud).bias)) < 1e-11
    h = 1e-5

    def moved(s):
        steps = [
            c.hinge.move(q[c.q_slice], s * u[c.u_slice] + 0.5 * s * s * ud[c.u_slice])
            for c in mech._lagrange.hinges
        ]
        return at(t + s, np.concatenate(steps), u + s * ud)

    after, before = moved(h), moved(-h)
    scale = 1.0 + float(np.max(np.abs(ud)))
    assert np.max(np.abs(after.residual - before.residual)) / (2 * h) < 1e-7 * scale
    assert np.max(np.abs(after.velocity - before.velocity)) / (2 * h) < 1e-6 * scale


@pytest.mark.parametrize("kind", ["Rigid", "Moving", *CUT])
def test_the_residual_of_any_cut_hinge_changes_at_the_rate_it_says(kind):
    """No rates have to be chosen, so this holds also for chords that remove all freedoms."""
    mech, t, q, u = closed(kind, 3)
    at, h = mech._core.constraints, 1e-6

    def moved(s):
        return at(
            t + s,
            np.concatenate([c.hinge.move(q[c.q_slice], s * u[c.u_slice]) for c in mech._lagrange.hinges]),
            u,
        )

    rate = (moved(h).residual - moved(-h).residual) / (2 * h)
    now = at(t, q, u)
    assert np.max(np.abs(now.residual)) < 1e-13
    assert np.max(np.abs(rate - now.velocity)) < 1e-7 * (1.0 + np.max(np.abs(now.velocity)))


@pytest.mark.parametrize("kind", CUT)
@pytest.mark.parametrize("seed", range(2))
def test_accelerations_and_multipliers_solve_the_augmented_equations(kind, seed):
    mech, t, q, u = closed(kind, seed)
    c = mech._core.constraints(t, q, u)
    if np.linalg.matrix_rank(c.partials) < len(c.partials):
        pytest.skip("this random chain is redundant")
    state = mech.state(t, q, u - np.linalg.pinv(c.partials) @ c.velocity)
    c = mech.constraints(state)
    ud, multipliers = mech.forward_dynamics(state)
    A, P = mech.mass_matrix(state), c.partials
    want = -c.loads + P.T @ multipliers  # (6.3.4)
    scale = max(float(np.max(np.abs(A) @ np.abs(ud))), float(np.max(np.abs(want))))
    assert np.max(np.abs(A @ ud - want)) < ROUND * scale
    assert np.max(np.abs(P @ ud + c.bias)) < ROUND * max(1.0, float(np.max(np.abs(c.bias))))  # (6.3.5)


def four_bar(roles=None, ground=3.5):
    system = tm.System("four-bar", gravity=(0, 0, -9.81))
    crank = system.body("crank", 1.0, (0, 1 / 12, 1 / 12), com=(0.5, 0, 0))
    coupler = system.body("coupler", 3.0, (0, 9 / 4, 9 / 4), com=(1.5, 0, 0))
    rocker = system.body("rocker", 2.5, (0, 1.3, 1.3), com=(1.25, 0, 0))
    role = roles or {}
    system.connect("A", tm.Revolute("y"), system.ground, crank, role=role.get("A"))
    system.connect("B", tm.Revolute("y"), crank.at((1, 0, 0)), coupler, role=role.get("B"))
    system.connect("C", tm.Revolute("y"), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)), role=role.get("C"))
    system.connect("D", tm.Revolute("y"), system.ground.at((ground, 0, 0)), rocker, role=role.get("D"))
    return system.build()


def test_the_four_bar_of_plain_revolutes_has_one_degree_of_freedom_and_names_its_redundancy():
    mech = four_bar()
    state = mech.assemble(fix={"A": -0.6}, rates={"A": 2.0})
    assert state["A"][0][0] == -0.6 and state["A"][1][0] == 2.0
    c = mech.constraints(state)
    assert np.max(np.abs(c.residual)) < 1e-12 and np.max(np.abs(c.velocity)) < 1e-12
    found = mech.mobility(state)
    assert found.dof == 1 and found.gruebler == -2 and found.rank == 2
    assert set(found.redundant) == {mech.tree.chords[0].name} and len(found.suitable) == 1
    assert "1 degree of freedom" in str(found)


@pytest.mark.parametrize("cut", ["A", "B", "C", "D"])
def test_cutting_another_hinge_changes_no_motion_and_no_load(cut):
    reference, mech = four_bar(), four_bar({cut: "chord"})
    assert [c.name for c in mech.tree.chords] == [cut]
    first = reference.assemble(fix={"A": -0.6}, rates={"A": 2.0})
    poses = reference.attitude(first)
    names = [b.name for b in reference.tree.bodies[1:]]
    given = {n: (p, R) for n, p, R in zip(names, poses.position, poses.rotation, strict=True)}
    rates = {}
    velocity = (poses.partials.T @ first.u + poses.drift).reshape(-1, 6)
    turn = {n: v[4] for n, v in zip(names, velocity, strict=True)} | {"ground": 0.0}
    for c in mech._lagrange.hinges:
        a, b = (end.body.name for end in c.connection.ends)
        rates[c.name] = turn[b] - turn[a]
    state = mech.assemble(poses=given, rates=rates)
    want, got = reference.reactions(first), mech.reactions(state)
    for name in "ABCD":
        np.testing.assert_allclose(got[name].force, want[name].force, atol=1e-9)
        np.testing.assert_allclose(got[name].moment[1], want[name].moment[1], atol=1e-9)


def test_reactions_with_chords_balance_every_body():
    mech = four_bar()
    state = mech.assemble(fix={"A": -0.6}, rates={"A": 2.0})
    ud = mech.forward_dynamics(state).ud
    trace, _ = mech._core.trace(
        np.array([state.t]), state.q[None].copy(), state.u[None].copy(), ud[None].copy()
    )
    reactions = mech.reactions(state)
    ends = {
        name: connection.ends for name, connection in ((c.name, c.connection) for c in mech._lagrange.hinges)
    }
    ends.update({c.name: c.ends for c in mech.tree.chords})
    for k, body in enumerate(mech.tree.bodies):
        if not k:
            continue
        row = trace[0, k]
        R, w, dw = row[:9].reshape(3, 3), row[12:15], row[18:21]
        arm = R @ body.com
        force = body.mass * (
            row[21:24] + np.cross(dw, arm) + np.cross(w, np.cross(w, arm)) - mech._info.gravity
        )
        J = R @ body.inertia @ R.T
        moment = J @ dw + np.cross(w, J @ w)
        for name, (a, b) in ends.items():
            F, M = reactions[name]
            n = mech.tree.numbers[b.body.name]
            at_b = trace[0, n, 9:12] + trace[0, n, :9].reshape(3, 3) @ b.offset
            for end, sign in ((a, -1.0), (b, 1.0)):
                if end.body is body:
                    force = force - sign * F
                    moment = moment - sign * (M + np.cross(at_b - row[9:12] - arm, F))
        assert np.max(np.abs(force)) < 1e-10 and np.max(np.abs(moment)) < 1e-10, body.name


def test_a_parallelogram_of_spatial_revolutes_is_solved_by_rank():
    """Make three bars between two equal cranks: one loop is redundant, its rows depend on the others."""
    system = tm.System("parallelogram", gravity=(0, -9.81, 0))
    cranks = [system.body(f"crank{k}", 1.0, (0, 1 / 12, 1 / 12), com=(0.5, 0, 0)) for k in range(3)]
    rod = system.body("rod", 1.0, (0, 1 / 3, 1 / 3), com=(1, 0, 0))
    for k, crank in enumerate(cranks):
        system.connect(f"A{k}", tm.Revolute("z"), system.ground.at((k, 0, 0)), crank)
        system.connect(f"B{k}", tm.Revolute("z"), crank.at((1, 0, 0)), rod.at((k, 0, 0)))
    mech = system.build()
    state = mech.assemble(
        fix={"A0": 1.0}, guess={c.name: 1.0 if c.name[0] == "A" else -1.0 for c in mech._lagrange.hinges if c.name != "A0"},
        rates={"A0": 2.0},
    )  # fmt: skip
    assert mech.mobility(state).dof == 1
    ud, _ = mech.forward_dynamics(state)
    # three cranks (J = 1/3 each) and a rod that moves on a circle without turning
    want = -9.81 * np.cos(1.0) * (3 * 0.5 + 1.0) / (3 / 3 + 1.0)
    assert abs(ud[mech.speeds.index("A0")] - want) < 1e-10


def test_a_chain_that_cannot_close_names_the_joint_and_the_gap():
    mech = four_bar(ground=9.0)  # longer than all links together
    with pytest.raises(tm.ConvergenceError, match=rf"'{mech.tree.chords[0].name}'.*gap of 2\.5"):
        mech.assemble(fix={"A": 0.0})


def test_what_does_not_fit_is_refused_by_name():
    mech = four_bar()
    other = next(c.name for c in mech._lagrange.hinges if c.name != "A")
    with pytest.raises(tm.ConvergenceError, match="given rates do not fit"):
        mech.assemble(fix={"A": -0.6}, rates={c.name: 1.0 for c in mech._lagrange.hinges})
    with pytest.raises(tm.TreemechError, match=r"open by .* mech\.assemble"):
        mech.forward_dynamics(mech.state(q={"A": -0.6, other: 0.1}))
    cut = mech.tree.chords[0].name
    with pytest.raises(tm.ConvergenceError, match="does not close at"):
        mech.assemble(fix={cut: 0.0})  # coupler and rocker in line reach too far
    closed_state = mech.assemble(fix={"A": -0.6})
    opening = mech.state(q=closed_state.q, u=np.ones(mech.nu))
    with pytest.raises(tm.TreemechError, match=r"opening at a rate of .* mech\.assemble"):
        mech.simulate((0, 1), opening)


def test_a_cut_hinge_can_be_fixed_and_given_a_rate_like_any_other():
    mech = four_bar()
    cut = mech.tree.chords[0].name
    start = mech.assemble(fix={"A": -0.6}, rates={"A": 1.3})
    q, u = start[cut]
    again = mech.assemble(
        fix={cut: q}, guess={c.name: start[c.name][0] + 0.05 for c in mech._lagrange.hinges}, rates={cut: u}
    )
    assert np.max(np.abs(again.q - start.q)) < 1e-9 and np.max(np.abs(again.u - start.u)) < 1e-9
    tip = mech.tree.bodies[mech.tree.numbers["rocker"]]
    velocity = mech.jacobian(tip.at((2.5, 0, 0)), start)[:3] @ start.u
    third = mech.assemble(fix={"A": -0.6}, rates={tip.at((2.5, 0, 0)): (velocity[0], None, None)})
    assert np.max(np.abs(third.u - start.u)) < 1e-9


def test_a_tree_has_all_its_speeds_as_degrees_of_freedom():
    mech = random_system(1, n=6).build()
    state = random_state(mech, 1)
    assert mech.mobility(state).dof == mech.nu
    assert mech.constraints(state).partials.shape == (0, mech.nu)


def test_a_chord_that_restricts_nothing_leaves_the_motion_of_the_tree():
    """A Planar hinge closes a chain that moves in its plane anyway: all of its rows vanish."""
    runs = []
    for closed in (True, False):
        system = tm.System("chain", gravity=(0, 0, -9.81))
        previous = system.ground
        for k in range(3):
            rod = system.body(f"rod{k}", mass=1.0 + k, inertia=(0, 0.2, 0.2), com=(0.5, 0, 0))
            system.connect(f"H{k}", tm.Revolute("y"), previous, rod)
            previous = rod.at((1, 0, 0))
        if closed:
            system.connect("plane", tm.Planar("y"), system.ground.at((3.0, 0, 0)), previous)
        mech = system.build()
        runs.append(mech.simulate((0, 1), mech.assemble(fix={"H0": 0.3, "H1": 0.2}), rtol=1e-10))
        assert mech.mobility(mech.assemble()).dof == 3
    np.testing.assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=1e-8)
    np.testing.assert_allclose(runs[0].connection("plane").force, 0.0, atol=1e-12)


def arm_with_an_observer(observed=True):
    """Make a spatial arm with a free hinge between the ground and its tip, which only measures its motion."""
    system = tm.System("arm", gravity=(0, 0, -9.81))
    last = system.ground
    for k, hinge in enumerate((tm.Revolute("y"), tm.Universal(), tm.Revolute("z"))):
        body = system.body(f"b{k}", 1.0, (0.2, 0.3, 0.4), com=(0.3, 0, 0.1))
        system.connect(f"h{k}", hinge, last.at((0.5 * (k > 0), 0, 0)), body)
        last = body
    if observed:
        system.connect("seen", tm.Free(), system.ground, last.at((0.1, 0.2, 0.3)))
    return system.build()


@pytest.mark.parametrize("method", ["DOP853", "Radau", "alpha3"])
def test_a_model_whose_only_chord_restricts_nothing_moves_as_without_it_and_sees_it(method, tmp_path):
    mech, plain = arm_with_an_observer(), arm_with_an_observer(observed=False)
    options = {"rtol": 1e-8, "atol": 1e-11, "method": method, "t_eval": np.linspace(0, 1, 5)}
    run, want = (m.simulate((0, 1), m.state(), **options) for m in (mech, plain))
    assert np.allclose(run.q, want.q, atol=1e-5)
    for one in (run, tm.read(run.save(tmp_path / "run"))):
        seen, tip = one.connection("seen"), one.point("b2", (0.1, 0.2, 0.3))
        assert np.allclose(seen.q[:, :3], tip.position, atol=1e-12)
        assert np.allclose(seen.u[:, :3], tip.velocity, atol=1e-12)
        assert not seen.force.any() and not seen.moment.any()
    state = run.state()
    assert np.allclose(mech.forward_dynamics(state).ud, run.ud[-1])
    assert not mech.reactions(state)["seen"].force.any()
    ud = np.arange(1.0, 1.0 + mech.nu)
    assert np.allclose(mech.inverse_dynamics(state, ud), plain.inverse_dynamics((state.q, state.u), ud))
    assert mech.mobility(state).dof == plain.mobility(plain.state()).dof


def test_room_for_the_choice_of_speeds_is_there_without_rows_to_choose_by():
    """A plane constraint on a body that moves in that plane: its only row vanishes everywhere."""
    system = tm.System("plane", gravity=(0, -9.81, 0))
    body = system.body("body", 1.0, (0.2, 0.3, 0.4), com=(0.3, 0, 0))
    system.connect("A", tm.Planar("z"), system.ground, body)
    system.connect("C", tm.InPlane(), system.ground, body.at((0.1, 0.2, 0)))
    mech = system.build()
    work = mech._core.loops.work
    assert mech._core.loops.n_kept == 0 and len(work.workspace_rows) >= len(work.masked) * mech.nu
    assert mech.simulate((0, 1), mech.state(), stabilisation="partitioning").success
