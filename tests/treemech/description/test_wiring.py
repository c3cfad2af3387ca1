"""Constraints and couplings as a user writes them: names, ends, coordinates, and what is refused."""

from dataclasses import dataclass

import numpy as np
import pytest

import treemech as tm
from tests.support.models import rotation


@pytest.fixture
def system():
    """Hinges of several kinds on bodies of their own."""
    made = tm.System("shop", gravity=(0, 0, -9.81))
    for name, hinge in {
        "turn": tm.Revolute("z"), "slide": tm.Prismatic("x"), "both": tm.Cylindrical("z"), "free": tm.Free(), "ball": tm.Ball(),
    }.items():  # fmt: skip
        made.connect(name, hinge, made.ground, made.body(f"{name} body", 1.0, (1, 1, 1)))
    return made


def body(system, name):
    return next(b for b in system.bodies if b.name == name)


# ---------------------------------------------------------------- what works
def test_coordinates_are_named_indexed_or_given_by_their_hinge(system):
    turn = system.connections["turn"]
    made = system.couple("sum", tm.Relation(lambda q, t: q[0] + q[1] + q[2]), turn, "both[1]", "free[2]")
    assert made.arguments == (("turn", 0), ("both", 1), ("free", 2)) and made.element.n_arguments == 3
    state = system.build().assemble(fix={"turn": 0.2, "both[1]": 0.3})
    assert abs(state["free"][0][2] + 0.5) < 1e-14


def test_a_state_is_a_guess_by_name(system):
    """Whatever closes the chains: what a state says about constraints and couplings (nothing) is no mistake."""
    system.couple("teeth", tm.Gear(ratio=2.0), "turn", "both[0]")
    system.connect("track", tm.InPlane(), system.ground, body(system, "ball body").at((0, 0, 1)))
    mech = system.build()
    state = mech.assemble(fix={"turn": 0.4}, guess={"ball": [0.8, 0.6, 0, 0]})
    guess = {c.name: state[c.name][0] for c in mech._lagrange.hinges} | {
        n: q for n, (q, _) in state.cut.items()
    }
    assert np.allclose(mech.assemble(guess=guess).q, state.q, rtol=0, atol=1e-12)
    with pytest.raises(tm.TreemechError, match="teeth"):
        mech.assemble(guess={"teeth": 0.1})


def test_a_coupled_hinge_stays_a_branch():
    def loop(couple):
        system = tm.System("loop")
        a, b = system.body("a", 1.0, (1, 1, 1)), system.body("b", 1.0, (1, 1, 1))
        system.connect("A", tm.Revolute("z"), system.ground, a)
        system.connect("B", tm.Revolute("z"), a.at((1, 0, 0)), b)
        system.connect("C", tm.Cylindrical("z"), system.ground.at((1, 1, 0)), b.at((1, 0, 0)))
        if couple:
            system.couple("lift", tm.Relation(lambda q, t: q[0] - 0.1 * t), "C[1]")
        return [c.name for c in system.build().tree.chords]

    assert loop(False) == ["C"]
    assert "C" not in loop(True) and len(loop(True)) == 1


def test_bodies_held_by_constraints_alone_get_a_free_hinge():
    system = tm.System("hung")
    lamp = system.body("lamp", 1.0, (1, 1, 1))
    system.connect("rope", tm.Distance(2.0), system.ground, lamp)
    mech = system.build()
    assert mech.tree.free_bodies == ("lamp",) and [c.name for c in mech.tree.chords] == ["rope"]
    state = mech.assemble(guess={"free lamp[2]": -2.0})
    np.testing.assert_allclose(state.q[:3], [0, 0, -2.0], atol=1e-12)
    np.testing.assert_allclose(mech.reactions(state)["rope"].force, [0, 0, 9.81], atol=1e-11)
    assert mech.mobility(state).dof == 5
    with pytest.raises(tm.TopologyError, match="no hinge joins {'lamp'}"):
        system.build(free_isolated=False)


def test_ends_of_a_constraint_can_be_placed_in_the_world():
    system, rng = tm.System("placed"), np.random.default_rng(2)
    poses = {"one": ((0.1, 0.2, 0.3), rotation(rng)), "two": ((1.0, -0.2, 0.4), rotation(rng))}
    one, two = (system.body(n, 1.0, (1, 1, 1), pose=p) for n, p in poses.items())
    system.connect("line", tm.InLine(), one, two, at=(0.5, 0.6, 0.7), axis=(1, 2, 2))
    system.connect("axes", tm.Parallel(), one, two, axis=(1, 2, 2))
    mech = system.build()
    state = mech.assemble(poses={n: (np.array(p), R) for n, (p, R) in poses.items()})
    assert np.max(np.abs(mech._core.constraints(0.0, state.q, state.u).residual)) < 1e-14
    moved = state.q.copy()
    moved[:3] += 0.01 * np.array([1, 2, 2]) / 3.0  # along the line: it may slide
    assert np.max(np.abs(mech._core.constraints(0.0, moved, state.u).residual)) < 1e-14
    moved[0] += 0.01
    assert np.max(np.abs(mech._core.constraints(0.0, moved, state.u).residual)) > 1e-3


def test_prescribed_poses_follow_their_signals():
    system = tm.System("held", gravity=(0, 0, -9.81))
    plate = system.body("plate", 2.0, (1, 1, 1))
    base = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    system.prescribe_pose(
        "hand", plate.at((0.1, 0, 0)), relative_to=system.ground.at((0, 0, 1), base), x=lambda t: 0.5 * t, y=0.0, z=tm.Harmonic(0.1, 3.0),
        rotation=("z", lambda t: t * t),
    )  # fmt: skip
    mech = system.build()
    state = mech.assemble(t=0.7)
    where = mech.attitude(state)
    c, s = np.cos(0.49), np.sin(0.49)
    np.testing.assert_allclose(where.rotation[0], base @ [[c, -s, 0], [s, c, 0], [0, 0, 1]], atol=1e-12)
    point = where.position[0] + where.rotation[0] @ [0.1, 0, 0]
    np.testing.assert_allclose(point, [0, 0.35, 1 + tm.Harmonic(0.1, 3.0).at(0.7).value], atol=1e-12)
    w = mech.jacobian(plate, state)[3:] @ state.u
    np.testing.assert_allclose(w, [0, 0, 1.4], atol=1e-12)
    assert mech.mobility(state).dof == 0
    force = mech.reactions(state)["hand"].force
    acceleration = (mech.jacobian(plate, state) @ mech.forward_dynamics(state).ud)[:3] + where.bias[:3]
    np.testing.assert_allclose(force, 2.0 * (acceleration + [0, 0, 9.81]), atol=1e-10)


def test_rows_of_couplings_have_names_and_stand_behind_those_of_the_tree(system):
    system.connect(
        "rod", tm.Distance(1.0), body(system, "turn body").at((1, 0, 0)), body(system, "free body")
    )
    system.connect("skate", tm.KnifeEdge(), system.ground, body(system, "free body"))
    system.couple("mesh", tm.RackAndPinion(0.1), "turn", "slide")
    chords = system.build()._core.layout.chords
    assert chords.rows == [("rod", 0), ("skate", 0), ("mesh", 0)]
    assert chords.nonholonomic.tolist() == [False, True, False] and chords.names == ["rod", "skate", "mesh"]


# ---------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    "coordinates, message",
    [
        (("turm", "slide"), "coupling 'c': there is no hinge 'turm': did you mean 'turn'"),
        (("turn", "both"), r"'both' \(Cylindrical\) has 2 coordinates; say which, 'both\[0\]'"),
        (
            ("turn", "both[2]"),
            r"'both' \(Cylindrical\) has no coordinate 2 that can be coupled; there are \[0, 1\]",
        ),
        (
            ("turn", "free[4]"),
            r"'free' \(Free\) has no coordinate 4.*\[0, 1, 2\]. Euler parameters.*BallBryant",
        ),
        (("turn", "ball[1]"), "there are none"),
        (("turn", "turn"), "joins coordinate 0 of hinge 'turn' twice"),
        (("turn",), r"'c' \(Gear\) gets 1 coordinates; wanted 2"),
        (("turn", "slide", "both[0]"), r"'c' \(Gear\) gets 3 coordinates; wanted 2"),
        ((), "gets 0 coordinates"),
    ],
)
def test_coordinates_that_cannot_be_coupled_are_refused_by_name(system, coordinates, message):
    with pytest.raises(tm.TreemechError, match=message):
        system.couple("c", tm.Gear(2.0), *coordinates)
    assert not system.couplings


def test_a_constraint_has_no_coordinates_to_couple_or_prescribe(system):
    system.connect("rod", tm.Distance(1.0), system.ground, body(system, "free body"))
    with pytest.raises(tm.TopologyError, match="no hinge 'rod'"):
        system.couple("c", tm.Mimic(), "turn", "rod")
    with pytest.raises(tm.TopologyError, match="no hinge 'rod'"):
        system.prescribe("rod", 0.0)


def test_connections_and_couplings_share_their_names(system):
    system.couple("c", tm.Mimic(), "turn", "slide")
    with pytest.raises(tm.TopologyError, match="coupling is named 'c' already: ground-free body"):
        system.connect("c", tm.InPlane(), system.ground, body(system, "free body"))
    with pytest.raises(tm.TopologyError, match="coupling is named 'c' already: the coupling of turn, slide"):
        system.couple("c", tm.Mimic(), "turn", "slide")
    with pytest.raises(tm.TopologyError, match="two connections are named 'turn'"):
        system.couple("turn", tm.Mimic(), "turn", "slide")


@pytest.mark.parametrize(
    "element, ends, message",
    [
        (tm.Distance(1.0), ("free body", "free body"), "constraint 'x' joins body 'free body' to itself"),
        (tm.Distance(1.0), ("free body",), "constraint 'x' has 1 ends; wanted 2"),
        (tm.Distance, ("ground", "free body"), r"'x': Distance is a class; wanted Distance\(...\)"),
        (tm.Gear(1.0), ("ground", "free body"), r"'x': Gear is not a hinge.*system.couple\(\)"),
    ],
)
def test_connections_that_make_no_sense_are_refused_by_name(system, element, ends, message):
    with pytest.raises(tm.TreemechError, match=message):
        system.connect("x", element, *(body(system, n) for n in ends))


def test_other_misuse_is_refused_by_name(system):
    ends = system.ground, body(system, "free body")
    with pytest.raises(
        tm.ElementError, match="constraint 'x' has role='branch'; a constraint is always a chord"
    ):
        system.connect("x", tm.InPlane(), *ends, role="branch")
    with pytest.raises(tm.ElementError, match="Distance.length is 0: wanted a positive number"):
        system.connect("x", tm.Distance(0.0), *ends)
    with pytest.raises(tm.TopologyError, match="constraint 'x': at= and axis= need the reference pose"):
        system.connect("x", tm.InLine(), *ends, at=(0, 0, 1))
    with pytest.raises(tm.ElementError, match="coupling 'x': InPlane is not a coupling"):
        system.couple("x", tm.InPlane(), "turn")
    with pytest.raises(tm.ElementError, match="prescribes nothing"):
        system.prescribe_pose("x", ends[1])
    system.connect(
        "loop", tm.Revolute("z"), body(system, "turn body"), body(system, "slide body"), role="chord"
    )
    system.connect(
        "cut", tm.Cylindrical("z"), body(system, "turn body"), body(system, "both body"), role="chord"
    )
    system.couple("x", tm.Mimic(), "turn", "cut[0]")
    assert {"closure of cut", "loop"} <= {c.name for c in system.build().tree.chords}


@dataclass(frozen=True)
class Many(tm.Constraint):
    rows_wanted: int = tm.structure(default=7)

    @property
    def n_holonomic(self):
        return self.rows_wanted

    def residual(self, offset, rotation, s, t, f):
        for k in range(len(f)):
            f[k] = offset[k % 3]


@dataclass(frozen=True)
class Moody(tm.Constraint):
    """Fails where it is too far away."""

    n_holonomic = 1

    def evaluate(self, motion, t, rows):
        if motion.offset[0] > 5.0:
            raise ValueError("out of reach")
        rows.residual[0] = motion.offset[2]
        rows.force[0, 2] = 1.0


@dataclass(frozen=True)
class Mistaken(tm.Coupling):
    n_arguments = 2

    def residual(self, q, t, f):
        f[1] = q[0] - q[1]


def test_more_rows_than_two_bodies_can_have_are_refused(system):
    system.connect("x", Many(), system.ground, body(system, "free body"))
    with pytest.raises(tm.ElementError, match=r"constraint 'x' \(Many\) has n_holonomic = 7; at most 6"):
        system.build()


def test_what_a_constraint_raises_arrives_with_its_name(system):
    system.connect("x", Moody(), system.ground, body(system, "free body"))
    mech = system.build()
    assert mech.assemble(guess={"free[2]": 0.3})["free"][0][2] == 0.0
    with pytest.raises(
        tm.ElementError, match=r"constraint 'x' \(Moody\) failed at t = 0 s: ValueError: out of reach"
    ):
        mech.assemble(fix={"free[0]": 6.0})


def test_a_mistake_in_a_coupling_is_found_when_the_system_is_built(system):
    system.couple("x", Mistaken(), "turn", "slide")
    with pytest.raises(tm.ElementError, match="Mistaken.residual"):
        system.build()
