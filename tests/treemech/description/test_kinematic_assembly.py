"""Kinematic assemblies (7.2): hinges and constraints between massless frames, as one hinge."""

from dataclasses import dataclass
from math import cos, sin

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import treemech as tm

TIMES = np.linspace(0.0, 1.0, 6)
SAME = 1e-9  # two formulations at rtol 1e-12


def box(system, name="body", mass=1.3):
    return system.body(name, mass=mass, inertia=(0.02, 0.05, 0.04), com=(0.03, -0.05, 0.08))


def same_motion(one, two, bodies):
    assert one.success and two.success, (one.message, two.message)
    for name in bodies:
        a, b = one.body(name), two.body(name)
        np.testing.assert_allclose(a.position, b.position, atol=SAME, err_msg=name)
        np.testing.assert_allclose(a.rotation, b.rotation, atol=SAME, err_msg=name)
        np.testing.assert_allclose(a.velocity, b.velocity, atol=10 * SAME, err_msg=name)


def run_of(mech, state):
    return mech.simulate((0.0, 1.0), state, rtol=1e-12, t_eval=TIMES)


def rod(length=0.5, axis=(0, 0, 1)):
    """Ball - rod - ball (figure 7.2)."""
    link = tm.Composite(frames=("rod",))
    link.connect("A", tm.Ball(), "a", "rod")
    link.connect("B", tm.Ball(), link.at("rod", length * np.array(axis) / np.linalg.norm(axis)), "b")
    return link


# ---------------------------------------------------------------- reduction
@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 0, 0), (0, -1, 0), (0.3, -0.5, 0.7)], ids=str)
def test_the_spin_of_a_rod_between_two_balls_is_redundant(axis):
    found = rod(axis=axis).report()
    assert (found.rank, found.freedoms, found.admissible) == (5, 5, 5)
    assert found.redundant == ("A[2]",) and found.hinge.n_speeds == 5 and found.hinge.n_coordinates == 6
    rng = np.random.default_rng(0)
    for _ in range(5):  # the ends keep their distance, every way of turning is left
        q = found.hinge.sample(rng)
        motion = found.hinge.motion(q)
        assert np.linalg.norm(motion.offset) == pytest.approx(0.5, abs=1e-14)
        assert np.linalg.matrix_rank(motion.rotation_partials, tol=1e-9) == 3
        assert np.linalg.matrix_rank(motion.translation_partials, tol=1e-9) == 2


def test_more_than_six_coordinates_leave_six():
    arm = tm.Series(
        tm.Revolute("z"), (0, 0, 0.2), tm.Revolute("y"), (0.3, 0, 0), tm.Revolute("y"), (0.3, 0, 0), tm.Revolute("z"),
        (0, 0.1, 0), tm.Revolute("y"), (0.1, 0, 0), tm.Revolute("x"), (0.2, 0, 0.1), tm.Prismatic("z"),
    )  # fmt: skip
    assert arm.rank == 6 and arm.n_speeds == 6 and len(arm.redundant) == 1


@pytest.mark.parametrize(
    "series",
    [
        tm.Series(tm.Ball(), (0.1, 0.2, 0.5), tm.Ball()),
        tm.Series(tm.Revolute("y"), ((0.5, 0, 0), Rotation.from_rotvec((0.3, 0.4, -0.2))), tm.Cylindrical("x"), (0, 0.1, 0)),
        tm.Series(tm.Moving(z=tm.Harmonic(amplitude=0.1, frequency=2.0)), tm.Universal(), (0.1, 0.2, 0), tm.Screw(0.2)),
        tm.Series(tm.Series(tm.Revolute("z"), (1, 0, 0), tm.Prismatic("x")), tm.Ball(), (0, 0, 0.3)),
    ],
    ids=repr,
)  # fmt: skip
def test_a_series_keeps_the_contract_of_a_hinge(series):
    assert tm.check(series, samples=4)


def test_hinges_passed_from_their_second_end_keep_the_contract():
    turn = Rotation.from_rotvec((0.2, -0.4, 0.5)).as_matrix()
    link = tm.Composite(frames=("f", "g"))
    link.connect("1", tm.Universal(), link.at("f", (0.1, 0, 0.2), turn), link.at("a", (0, 0.3, 0)))
    link.connect("2", tm.Free(), link.at("g", (0.3, 0, 0), turn), "f")
    link.connect("3", tm.Screw(0.2, axis="x"), "g", link.at("b", (0, 0, 0.4)))
    hinge = link.report().hinge
    assert tm.check(hinge, samples=3)


# ---------------------------------------------------------------- as branch and as chord
def twin(constraint, hinge, seed, role):
    """A body on a hinge, and a free body on the constraint it should be equal to (or on the hinge as a chord)."""
    rng = np.random.default_rng(seed)
    one = tm.System("hinge")
    body = box(one)
    one.connect("h", hinge, one.ground.at((0.1, 0.2, 0.3)), body.at((0, 0.1, 0)))
    mech = one.build()
    n = mech.nu
    q = mech._lagrange.hinges[0].hinge.move(mech.state().q, rng.uniform(-0.4, 0.4, n))
    start = mech.state(q=q, u=rng.normal(size=n))
    run = run_of(mech, start)
    two = tm.System("constraint")
    body = box(two)
    two.connect("free", tm.Free(), two.ground, body, role="branch")
    ends = two.ground.at((0.1, 0.2, 0.3)), body.at((0, 0.1, 0))
    if role == "chord":
        two.connect("h", hinge, *ends, role="chord")
    else:
        two.connect("h", constraint, *ends)
    other = two.build()
    at = run.body("body")
    e = Rotation.from_matrix(at.rotation[0]).as_quat(scalar_first=True)
    guess = {"free": [*at.position[0], *e]}
    if role == "chord":
        guess["h"] = start.q
    state = other.assemble(fix={"free": guess["free"]}, guess={k: v for k, v in guess.items() if k == "h"},
                           rates={"free": [*at.velocity[0], *at.angular_velocity[0]]})  # fmt: skip
    return run, run_of(other, state)


LINKS = {
    "ball ball": (tm.Distance(0.5), tm.Series(tm.Ball(), (0, 0, 0.5), tm.Ball())),
    "ball ball slanted": (tm.Distance(0.5), tm.Series(tm.Ball(), (0.3, 0, -0.4), tm.Ball())),
    "revolute ball": (tm.RevoluteSpherical(0.5), tm.Series(tm.Revolute("z"), (0.5, 0, 0), tm.Ball())),
    "revolute revolute": (
        tm.RevoluteRevolute(0.5),
        tm.Series(tm.Revolute("z"), (0.5, 0, 0), tm.Revolute("z")),
    ),
    "revolute revolute orthogonal": (
        tm.RevoluteRevoluteOrthogonal(0.5),
        tm.Series(
            tm.Revolute("z"), ((0.5, 0, 0), np.array([[0, 0, 1.0], [1, 0, 0], [0, 1, 0]])), tm.Revolute("z")
        ),
    ),
    "revolute cylindrical": (
        tm.RevoluteCylindrical(0.2),
        tm.Series(tm.Revolute("z"), ((0, 0.2, 0), np.array([[0, 0, 1.0], [1, 0, 0], [0, 1, 0]])), tm.Cylindrical("z")),
    ),
    "revolute translational": (
        tm.RevoluteTranslational(0.2),
        tm.Series(tm.Revolute("z"), ((0, 0.2, 0), np.array([[0, 0, 1.0], [0, -1, 0], [1, 0, 0]])), tm.Prismatic("z")),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LINKS)
def test_two_hinges_on_a_coupler_are_haugs_composite_joint(name):
    run, other = twin(*LINKS[name], seed=1, role=None)
    same_motion(run, other, ["body"])


@pytest.mark.parametrize("name", ["ball ball slanted", "revolute cylindrical"])
def test_the_same_hinge_serves_as_a_chord(name):
    run, other = twin(*LINKS[name], seed=2, role="chord")
    same_motion(run, other, ["body"])
    np.testing.assert_allclose(other.connection("h").q, run.connection("h").q, atol=SAME)


def test_a_rod_closes_a_chain_as_a_distance_does():
    runs, start = [], None
    for link in (rod(0.6, (1, 0, 0)), tm.Distance(0.6)):
        system = tm.System("two pendulums")
        one, two = box(system, "one"), box(system, "two", 0.8)
        system.connect("P", tm.Ball(), system.ground, one)
        system.connect("Q", tm.Universal(), system.ground.at((0.6, 0, 0)), two)
        options = {"role": "chord"} if isinstance(link, tm.Composite) else {}
        system.connect("rod", link, one.at((0, 0, -0.4)), two.at((0, 0, -0.4)), **options)
        mech = system.build()
        if start is None:
            start = mech.assemble(rates={"P": (0.5, 0.3, -1.0)}, fix={"Q": (0.3, 0.1)})
        q, u = ({n: start[n][k] for n in "PQ"} for k in range(2))
        state = mech.assemble(fix=q, rates=u)
        assert mech.mobility(state).dof == 4 and mech.mobility(state).rank == 1
        runs.append(run_of(mech, state))
    same_motion(*runs, ["one", "two"])
    np.testing.assert_allclose(
        np.linalg.norm(runs[0].connection("rod").force, axis=1), np.abs(runs[1].multipliers[:, 0]), atol=1e-8
    )


# ---------------------------------------------------------------- constraints inside
def skate(massless):
    """A body on an ankle above a blade on ice: Planar, knife edge, revolute; the blade has no mass."""
    system = tm.System("skate", gravity=(0, 1.5, -9.0))
    body = system.body("body", mass=2.0, inertia=(0.1, 0.2, 0.15), com=(0.05, 0.02, 0.4))
    if massless:
        blade = system.body("blade", mass=0.0, inertia=(0, 0, 0))
        system.connect("ice", tm.Planar("z"), system.ground, blade)
        system.connect("edge", tm.KnifeEdge(), system.ground, blade.at((0.1, 0, 0)))
        system.connect("ankle", tm.Revolute("x"), blade.at((0, 0, 0.1)), body)
        return system.build()
    foot = tm.Composite(frames=("blade",))
    foot.connect("ice", tm.Planar("z"), "a", "blade")
    foot.connect("edge", tm.KnifeEdge(), "a", foot.at("blade", (0.1, 0, 0)))
    foot.connect("ankle", tm.Revolute("x"), foot.at("blade", (0, 0, 0.1)), "b")
    assert (foot.report().rank, foot.report().freedoms, foot.report().admissible) == (4, 4, 3)
    system.connect("foot", foot, system.ground, body)
    return system.build()


def test_a_knife_edge_inside_an_assembly_is_that_on_a_body_without_mass():
    whole = skate(massless=True)
    q = {"ice": (0.1, -0.2, 0.3), "ankle": 0.05}
    start = whole.assemble(fix=q, rates={"ice[0]": 1.0, "ice[2]": 1.5, "ankle": 0.3})
    other = skate(massless=False)
    state = other.assemble(
        fix={"foot": (0.1, -0.2, 0.3, 0.05)}, rates={"foot[0]": 1.0, "foot[2]": 1.5, "foot[3]": 0.3}
    )
    np.testing.assert_allclose(state.u, start.u, atol=1e-12)
    assert abs(start.u[1]) > 0.1
    one, two = run_of(whole, start), run_of(other, state)
    same_motion(one, two, ["body"])
    assert np.max(two.residual.velocity) < 1e-11
    np.testing.assert_allclose(two.multipliers, one.multipliers[:, -1:], atol=1e-7)


def test_the_equations_of_an_assembly_keep_the_contract_of_a_coupling():
    link = tm.Composite(frames=("f",))
    turn = Rotation.from_rotvec((0.3, 0.1, -0.4)).as_matrix()
    link.connect("1", tm.Cylindrical("x"), link.at("a", (0.1, 0, 0), turn), "f")
    link.connect("2", tm.Universal(), link.at("f", (0.2, 0.1, 0)), link.at("b", (0, 0, 0.4), turn))
    link.connect("edge", tm.KnifeEdge(), link.at("b", (0.1, 0.2, 0)), link.at("f", (0, 0.3, 0.1), turn))
    link.connect("length", tm.Distance(length=lambda t: 0.5 + 0.1 * t), "a", link.at("b", (0.3, 0, 0)))
    found = link.report()
    assert (found.freedoms, found.admissible) == (3, 2)
    for _, rows in found.rows:
        assert tm.check(rows, samples=4)


def test_a_holonomic_constraint_with_a_signal_inside_is_that_on_a_body_without_mass():
    def length(t):
        return 0.5 + 0.05 * sin(3.0 * t)

    runs = []
    for massless in (True, False):
        system = tm.System("boom")
        load = box(system, "load")
        if massless:
            boom = system.body("boom", mass=0.0, inertia=(0, 0, 0))
            system.connect("slew", tm.Revolute("z"), system.ground, boom)
            system.connect("luff", tm.Universal(), boom.at((0.4, 0, 0)), load)
            system.connect(
                "cylinder", tm.Distance(length), system.ground.at((0, 0, 0.3)), load.at((0.3, 0, 0.2))
            )
        else:
            link = tm.Composite(frames=("boom",))
            link.connect("slew", tm.Revolute("z"), "a", "boom")
            link.connect("luff", tm.Universal(), link.at("boom", (0.4, 0, 0)), "b")
            link.connect(
                "cylinder", tm.Distance(length), link.at("a", (0, 0, 0.3)), link.at("b", (0.3, 0, 0.2))
            )
            assert (link.report().freedoms, link.report().redundant) == (2, ())
            system.connect("crane", link, system.ground, load)
        mech = system.build()
        guess = {"slew": 0.2, "luff": (0.3, -2.0)} if massless else {"crane": (0.2, 0.3, -2.0)}
        rates = {"slew": 0.7} if massless else {"crane[0]": 0.7}
        runs.append(run_of(mech, mech.assemble(guess=guess, rates=rates)))
    same_motion(*runs, ["load"])
    assert np.ptp(runs[0].body("load").position) > 0.1


@dataclass(frozen=True)
class Spiral(tm.Hinge):
    """A foreign hinge, by its pose alone."""

    pitch: float
    n_coordinates = 1

    def pose(self, q, t, offset, rotation):
        offset[0] = self.pitch * q[0] * cos(q[0])
        offset[1] = self.pitch * q[0] * sin(q[0])
        offset[2] = 0.05 * sin(2.0 * t)


def test_foreign_hinges_and_signals_move_a_series():
    runs = []
    for massless in (True, False):
        system = tm.System("foreign")
        body = box(system)
        members = [Spiral(0.3), tm.Moving(x=tm.Harmonic(amplitude=0.1, frequency=3.0)), tm.Revolute("y")]
        if massless:
            end = system.ground
            for k, hinge in enumerate(members):
                far = body if k == 2 else system.body(f"b{k}", mass=0.0, inertia=(0, 0, 0))
                system.connect(f"h{k}", hinge, end, far)
                end = far.at((0.1, 0, 0))
        else:
            system.connect(
                "h",
                tm.Series(members[0], (0.1, 0, 0), members[1], (0.1, 0, 0), members[2]),
                system.ground,
                body,
            )
        mech = system.build()
        q = {"h0": 1.0, "h2": 0.4} if massless else {"h": (1.0, 0.4)}
        u = {"h0": 0.5, "h2": -1.0} if massless else {"h": (0.5, -1.0)}
        runs.append(run_of(mech, mech.state(q=q, u=u)))
    same_motion(*runs, ["body"])


def test_coordinates_of_an_assembly_are_driven_and_sprung_as_any_other():
    system = tm.System("driven", gravity=(0, 0, 0))
    body = box(system)
    link = tm.Series(tm.Revolute("z"), (0.5, 0, 0), tm.Revolute("z"))
    system.connect("link", link, system.ground, body)
    system.prescribe("link", tm.Polynomial([0.0, 2.0]), coordinate=0)
    mech = system.build()
    run = run_of(mech, mech.state(u={"link": (2.0, 0.5)}))
    np.testing.assert_allclose(run.connection("link").q[:, 0], 2.0 * TIMES, atol=1e-12)
    assert np.max(np.abs(run.drive("link"))) > 1e-3


# ---------------------------------------------------------------- bad input
def test_what_cannot_be_reduced_is_refused():
    link = tm.Composite(frames=("rod",))
    with pytest.raises(tm.TopologyError, match="no end or frame 'rood'"):
        link.connect("A", tm.Ball(), "a", "rood")
    with pytest.raises(tm.TopologyError, match="wanted two different ends or frames"):
        link.connect("A", tm.Ball(), "a", "a")
    link.connect("A", tm.Ball(), "a", "rod")
    with pytest.raises(tm.TopologyError, match="no hinges lead from 'a' to 'b'"):
        link.report()
    link.connect("B", tm.Ball(), link.at("rod", (0, 0, 0.5)), "b")
    link.connect("edge", tm.KnifeEdge(), "a", link.at("rod", (0.1, 0, 0)))
    assert "edge depends on A[2], which the ends do not decide" in str(link.report())
    side = tm.Composite(frames=("rod", "side"))
    side.connect("A", tm.Ball(), "a", "rod")
    side.connect("B", tm.Ball(), side.at("rod", (0, 0, 1)), "b")
    side.connect("C", tm.Revolute("x"), "rod", "side")
    assert "C not on the way from a to b" in str(side.report())
    system = tm.System("side")
    system.connect("link", side, system.ground, box(system))
    with pytest.raises(tm.SingularError, match="'link.C'.*'link.side'"):  # nothing holds the frame beside
        system.build()
    mixed = rod()
    mixed.connect("s", tm.Spring(stiffness=1.0, length=1.0), "a", "b")
    with pytest.raises(tm.ElementError, match="mixes hinges and constraints with energetic elements"):
        mixed.report()
    curve = tm.Composite(frames=("f",))
    curve.connect("1", tm.Revolute("x"), "a", "f")
    curve.connect("2", tm.Revolute("z"), "f", "b")
    curve.connect("wire", tm.PointOnCurve([(0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 1, 1)], degree=3), "a", "f")
    with pytest.raises(tm.ElementError, match="PointOnCurve cannot stand inside an assembly"):
        curve.report()


def test_a_member_that_fails_is_named_with_its_cause():
    @dataclass(frozen=True)
    class Picky(tm.Hinge):
        n_coordinates = 1

        def evaluate(self, q, u, t, motion):
            if t > 0.4:
                raise ValueError("not after 0.4 s")
            motion.offset[0] = q[0]
            motion.translation_partials[0, 0] = 1.0

    system = tm.System("picky")
    system.connect("h", tm.Series(Picky(), tm.Revolute("y")), system.ground, box(system))
    mech = system.build()
    with pytest.raises(tm.ElementError, match="'h'") as found:
        mech.simulate((0, 1), mech.state())
    assert "not after 0.4 s" in str(found.value.__cause__)


# ---------------------------------------------------------------- assemblies that are no row of hinges
def caster(trail):
    """A cart on a fork without mass, whose knife edge trails behind the pivot."""
    fork = tm.Composite(frames=("fork",))
    fork.connect("P", tm.Planar("z"), "a", "fork")
    fork.connect("edge", tm.KnifeEdge(), "a", fork.at("fork", (-trail, 0, 0)))
    fork.connect("Q", tm.Revolute("z"), "fork", "b")
    return fork


def test_a_knife_edge_whose_heading_the_ends_do_not_decide_is_refused_by_name():
    assert "edge depends on" in str(caster(0.0).report())
    system = tm.System("caster", gravity=(0, 0, 0))
    system.connect("L", caster(0.0), system.ground, system.body("cart", 1.0, (1, 1, 1)))
    with pytest.raises(tm.SingularError, match=r"'L\.(P|Q)'"):
        system.build()


def test_a_redundant_coordinate_that_a_knife_edge_decides_is_integrated():
    system = tm.System("caster", gravity=(0, 0, 0))
    handle = system.connect("L", caster(0.1), system.ground, system.body("cart", 1.0, (1, 1, 1)))
    assert list(handle.frames) == ["fork"] and list(handle.connections) == ["P", "edge", "Q"]
    mech = system.build()
    state = mech.assemble(fix={"L.P": [0, 0, 0.5], "L.Q": -0.5}, rates={"L.P[0]": 1.0, "L.P[1]": 0.2})
    run = mech.simulate((0, 1), state, rtol=1e-11, t_eval=TIMES)
    two = tm.System("explicit", gravity=(0, 0, 0))
    cart, fork = two.body("cart", 1.0, (1, 1, 1)), two.body("fork", 0.0, (0, 0, 0))
    two.connect("P", tm.Planar("z"), two.ground, cart)
    two.connect("Q", tm.Revolute("z"), cart, fork)
    two.connect("edge", tm.KnifeEdge(), two.ground, fork.at((-0.1, 0, 0)))
    other = two.build()
    start = other.assemble(
        fix={"P": [0, 0, 0], "Q": 0.5},
        rates={
            "P": run.body("cart").velocity[0][[0, 1]].tolist() + [run.body("cart").angular_velocity[0][2]]
        },
    )
    same_motion(run, other.simulate((0, 1), start, rtol=1e-11, t_eval=TIMES), ["cart"])


def test_a_side_branch_without_mass_changes_nothing():
    def pendulum(beside):
        system = tm.System("pendulum")
        bob = box(system)
        link = tm.Composite(frames=("rod", "arm") if beside else ("rod",))
        link.connect("A", tm.Revolute("y"), "a", "rod")
        link.connect("B", tm.Revolute("y"), link.at("rod", (0, 0, -0.5)), "b")
        if beside:  # an inner loop: an arm on the rod, led by a strut
            link.connect("C", tm.Revolute("y"), link.at("rod", (0, 0, -0.2)), "arm")
            link.connect("strut", tm.Distance(0.4), link.at("a", (0.5, 0, 0)), link.at("arm", (0.3, 0, 0)))
        system.connect("link", link, system.ground, bob)
        mech = system.build()
        if not beside:
            return run_of(mech, mech.state(q={"link": [0.3, 0.2]}, u={"link": [0.5, -0.4]}))
        fix = {"link.A": 0.3, "link.B": 0.2}
        return run_of(mech, mech.assemble(fix=fix, rates={"link.A": 0.5, "link.B": -0.4}))

    same_motion(pendulum(False), pendulum(True), ["body"])


def test_an_assembly_with_three_ends_is_its_parts():
    def star(composite):
        system = tm.System("star")
        one, two = box(system, "one"), box(system, "two")
        joints = (
            ("A", tm.Ball(), (0, 0, 0)),
            ("B", tm.Revolute("y"), (0.2, 0, 0)),
            ("C", tm.Universal(), (0, 0.2, 0)),
        )
        if composite:
            hub = tm.Composite(ends=("a", "b", "c"), frames=("hub",))
            for end, (name, hinge, offset) in zip("abc", joints):
                hub.connect(name, hinge, *(("a", "hub") if end == "a" else (hub.at("hub", offset), end)))
            system.connect("hub", hub, system.ground, one, two)
        else:
            body = system.body("hub.hub", 0.0, (0, 0, 0))
            for end, (name, hinge, offset) in zip((None, one, two), joints):
                system.connect(
                    f"hub.{name}", hinge, *((system.ground, body) if end is None else (body.at(offset), end))
                )
        mech = system.build()
        return run_of(mech, mech.state(u={"hub.A": [0.3, 0.2, 0.1], "hub.C": [1.0, 0.5]}))

    same_motion(star(False), star(True), ["one", "two"])


def test_a_model_with_an_expanded_assembly_comes_back_from_its_file(tmp_path):
    system = tm.System("caster", gravity=(0, 0, 0))
    system.connect("L", caster(0.1), system.ground, system.body("cart", 1.0, (1, 1, 1)))
    again = tm.read(system.save(tmp_path / "caster"))
    assert again.build().coordinates == system.build().coordinates


def test_coordinates_of_a_series_have_names():
    pose = tm.Series(tm.Revolute("z"), tm.Prismatic("y"), tm.Revolute("x"), names=("yaw", "way", "roll"))
    system = tm.System("named")
    body = box(system)
    system.connect("pose", pose, system.ground, body)
    system.connect("spring", tm.RotationalSpring(stiffness=3.0), "pose.roll")
    system.measure("lean", "pose.roll.q")
    system.prescribe("pose", tm.Polynomial([0.1, 0.2]), coordinate=0)
    mech = system.build()
    state = mech.state(q={"pose.roll": 0.3, "pose.way": 0.5}, u={"pose.roll": 0.1})
    assert state.q.tolist() == [0.1, 0.5, 0.3] and state.u.tolist() == [0.2, 0.0, 0.1]
    assert np.array_equal(mech.assemble(fix={"pose.way": 0.5}, guess={"pose.roll": 0.3}).q, state.q)
    run = mech.simulate((0, 1), state, events="pose.roll.q > 0.31", t_eval=TIMES)
    roll = run.connection("pose.roll")
    assert roll.name == "pose.roll" and np.array_equal(roll.q, run.connection("pose").q[:, 2])
    assert np.array_equal(roll.ud, run.ud[:, 2]) and np.array_equal(roll.force, run.connection("pose").force)
    assert np.array_equal(run.measure("lean"), roll.q) and len(run.events[0].t) > 0
    with pytest.raises(tm.TopologyError, match="'pose.pitch'"):
        mech.state(q={"pose.pitch": 0.3})


def test_names_of_coordinates_come_back_with_a_saved_run(tmp_path):
    system = tm.System("named")
    system.connect(
        "pose",
        tm.Series(tm.Revolute("z"), tm.Revolute("x"), names=("yaw", "roll")),
        system.ground,
        box(system),
    )
    run = system.build().simulate((0, 0.1))
    again = tm.read(run.save(tmp_path / "run"))
    assert np.array_equal(again.connection("pose.roll").q, run.connection("pose").q[:, 1])
    assert tm.read(system.save(tmp_path / "model")).build().state(q={"pose.roll": 0.2}).q[1] == 0.2


def test_two_constrained_assemblies_carry_one_body():
    """Two cranes, each a boom without mass with a strut inside, hold a load between them: both stand in one loop."""

    def cranes(composite):
        system = tm.System("cranes", gravity=(0.8, 0.3, -9.81))
        load = box(system, "load")
        for name, side, height, length in (("one", -1.0, 0.1, 0.69), ("two", 1.0, -0.1, 0.83)):
            post = system.ground.at((side, 0, 0))
            foot = (0.0, 0.2, 0.5) if name == "one" else (0.0, 0.3, 0.4)
            beside = np.array((0.0, 0.2, 0.1) if name == "one" else (0.0, -0.15, -0.1))
            tip, hook = beside - (0.4 * side, 0, 0), beside + (0.6 * side, 0, 0)
            held, strut = load.at(hook), load.at((0.3 * side, 0, height))
            if not composite:
                boom = system.body(f"boom {name}", 0.0, (0, 0, 0))
                system.connect(f"slew {name}", tm.Cylindrical("z"), post, boom)
                system.connect(f"luff {name}", tm.BallBryant(), boom.at(tip), held)
                system.connect(
                    f"strut {name}",
                    tm.Distance(np.sqrt(length)),
                    system.ground.at((side, foot[1], foot[2])),
                    strut,
                )
                continue
            link = tm.Composite(frames=("boom",))
            link.connect("slew", tm.Cylindrical("z"), "a", "boom")
            link.connect("luff", tm.BallBryant(), link.at("boom", tip), "b")
            inside = link.at("b", np.array((0.3 * side, 0, height)) - hook)
            link.connect("strut", tm.Distance(np.sqrt(length)), link.at("a", foot), inside)
            assert link.report().freedoms == 4
            system.connect(name, link, post, held)
        mech = system.build()
        state = mech.assemble()
        assert mech.mobility(state).dof == 2
        return run_of(mech, state)

    plain, composite = cranes(False), cranes(True)
    same_motion(plain, composite, ["load"])
    assert np.ptp(plain.body("load").position, axis=0).max() > 0.01
    assert np.max(composite.residual.position) < 1e-10


# ---------------------------------------------------------------- speeds beside Euler parameters
@pytest.mark.parametrize("method", ["DOP853", "Radau", "alpha3"])
def test_a_run_starts_with_the_speeds_it_is_given(method):
    """The attitude of a series is not that of its Euler parameters alone: speeds must be turned by the latter."""
    system = tm.System("rod", gravity=(0, 0, -9.81))
    system.connect("rod", rod(), system.ground, box(system).at((0.1, 0, 0)))
    mech = system.build()
    hinge, rng = mech._lagrange.hinges[0].hinge, np.random.default_rng(3)
    state = mech.state(q=hinge.sample(rng), u=rng.normal(size=mech.nu))
    run = mech.simulate((0.0, 0.1), state, method=method, rtol=1e-8)
    np.testing.assert_allclose(run.u[0], state.u, atol=1e-14)
    np.testing.assert_allclose(run.energy.total, mech.energy(state).total, rtol=1e-5)
    rates = (hinge.move(state.q, 1e-6 * state.u) - hinge.move(state.q, -1e-6 * state.u)) / 2e-6
    early = mech.simulate((0.0, 1e-5), state, method=method, rtol=1e-8)
    np.testing.assert_allclose((early.q[-1] - early.q[0]) / 1e-5, rates, atol=1e-3)
