"""Small motions: closed forms, differences of the reduced equations, and the motion itself."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import treemech as tm
from tests.laws.test_random_loops import moving
from tests.support.mechanisms import random_mechanism
from treemech.elements.check.differences import differences


@dataclass(frozen=True)
class ToWorld(tm.Load):
    """Spring and damper along x to a point of the world."""

    stiffness: float
    damping: float
    at: float

    def evaluate(self, end, t, load):
        load.force[0] = -self.stiffness * (end.position[0] - self.at) - self.damping * end.velocity[0]


def spring_chain(n=5):
    """Masses on one line, each on a spring and a damper of its own, in relative coordinates."""
    system = tm.System("springs", gravity=(0, 0, 0))
    last, masses, stiffness, damping = system.ground, [], [], []
    for k in range(n):
        m, s, c = 1.0 + 0.3 * k, 40.0 + 13.0 * k * k, 0.4 * k
        body = system.body(f"m{k}", m, (0.1, 0.1, 0.1))
        system.connect(f"x{k}", tm.Prismatic("x"), last.at((0.5, 0, 0)), body)
        system.load(f"s{k}", ToWorld(s, c, 0.5 * (k + 1)), body)
        masses, stiffness, damping = [*masses, m], [*stiffness, s], [*damping, c]
        last = body
    return system.build(), np.array(masses), np.array(stiffness), np.array(damping)


def by_size(values):
    return np.array(sorted(np.asarray(values, dtype=complex), key=lambda z: (round(z.real, 9), z.imag)))


def test_eigenvalues_of_springs_have_their_closed_form():
    mech, m, k, c = spring_chain()
    small = mech.linearize(mech.state())
    roots = np.sqrt(c**2 - 4 * m * k + 0j)
    want = by_size(np.concatenate(((-c + roots) / (2 * m), (-c - roots) / (2 * m))))
    np.testing.assert_allclose(by_size(small.eigenvalues), want, rtol=0, atol=1e-10 * np.abs(want).max())
    assert not small.ud.any()


def test_modes_are_named_and_move_as_their_eigenvalues_say():
    mech, *_ = spring_chain()
    small = mech.linearize(mech.state())
    assert [m.eigenvalue for m in small.modes] == pytest.approx(small.eigenvalues.tolist())
    found = mech.derivatives(mech.state())
    for value, shape in small.modes:
        x = np.array([shape[name] for name in mech.speeds])
        assert np.max(np.abs(x)) == pytest.approx(1.0)
        left = value**2 * x - found.ud_q @ x - value * (found.ud_u @ x)
        assert np.max(np.abs(left)) < 1e-9 * abs(value) ** 2


def test_state_space_answers_a_load_as_the_simulation_does():
    mech, *_ = spring_chain(3)
    small = mech.linearize(mech.state(), inputs=["x1"], outputs=["x0", "x2"])
    assert small.B.shape == (6, 1) and small.C.shape == (2, 6) and not small.D.any()
    assert (small.inputs, small.outputs) == (["x1"], ["x0", "x2"])
    from scipy.signal import step

    t = np.linspace(0.0, 1.0, 21)
    _, y = step(small.state_space, T=t)
    pushed = mech.linearize(mech.state(), loads={"x1": 1.0})
    n = len(small.A)
    grown = np.zeros((n + 1, n + 1))
    grown[:n, :n], grown[:n, n:] = small.A, small.B
    want = np.array([small.C @ expm(grown * s)[:n, n] for s in t])
    np.testing.assert_allclose(y, want, atol=1e-9)
    np.testing.assert_allclose(pushed.ud, small.B[3:, 0][np.argsort(small.states[:3])], atol=1e-12)


# seeds whose independent coordinates have rotations of a ball among them, which cannot be fixed by name
ROTATIONS = {11, 13}


@pytest.mark.parametrize("seed", sorted(set(range(18)) - ROTATIONS))
def test_closed_chains_agree_with_differences_of_their_independent_motion(seed):
    """x' as a function of the independent coordinates and rates, chains closed anew, also far from an equilibrium."""
    mechanism = random_mechanism(seed, seed % 2 == 0, 1 + (seed // 2) % 3)
    mech = mechanism.system.build()
    state = moving(mechanism, mech, seed)
    small = mech.linearize(state)
    n = len(small.states) // 2
    names = small.states[:n]
    assert small.states[n:] == [name + "'" for name in names]
    assert set(names) <= set(
        mech.coordinates
    )  # no rotation of a ball among them, which could not be fixed by name
    numbers = [mech.speeds.index(name) for name in names]
    places = [mech.coordinates.index(name) for name in names]
    guess = {c.name: state.q[c.q_slice] for c in mech._lagrange.hinges}
    guess |= {name: q for name, (q, _) in state.cut.items()}

    def rates(x):
        fix = dict(zip(names, state.q[places] + x[:n], strict=True))
        speeds = dict(zip(names, state.u[numbers] + x[n:], strict=True))
        there = mech.assemble(state.t, fix=fix, guess=guess, rates=speeds)
        return np.concatenate((there.u[numbers], mech.forward_dynamics(there).ud[numbers]))

    want = np.array(
        [differences(lambda h, e=e: rates(h * e), (2 * n,), orders=1).first for e in np.eye(2 * n)]
    ).T
    assert np.max(np.abs(small.A - want)) < 1e-7 * np.max(np.abs(want))  # assembled to 1e-12


def test_rotations_of_a_turning_ball_follow_the_angular_velocity():
    """A ball of equal inertias turns steadily: small motions have constant coefficients."""
    system = tm.System("globe", gravity=(0, 0, 0))
    system.connect("centre", tm.Ball(), system.ground, system.body("globe", 1.0, (0.4, 0.4, 0.4)))
    mech = system.build()
    omega, T, eps = np.array([0.7, -1.1, 0.5]), 1.3, 1e-4
    small = mech.linearize(mech.state(u=omega))
    x = np.array([0.3, -0.5, 0.8, 0.2, 0.6, -0.4]) * eps
    order = [mech.speeds.index(name) for name in small.states[:3]]
    ends = []
    for sign in (1.0, -1.0):
        e = Rotation.from_rotvec(sign * x[:3]).as_quat()[[3, 0, 1, 2]]
        run = mech.simulate(
            (0, T), mech.state(q={"centre": e}, u=omega + sign * x[3:]), rtol=1e-12, atol=1e-13
        )
        ends.append(Rotation.from_matrix(run.body("globe").rotation[-1]))
    theta = (ends[0] * ends[1].inv()).as_rotvec() / 2
    start = np.concatenate((x[:3][order], x[3:][order]))
    want = (expm(small.A * T) @ start)[:3]
    np.testing.assert_allclose(theta[order], want, atol=1e-6 * eps)


def rolling_disk(axial, across, m=1.3, r=0.4, g=9.81):
    system = tm.System("disk", gravity=(0, 0, -g))
    disk = system.body("disk", m, (across, axial, across))
    system.connect("free", tm.Free(), system.ground, disk)
    turned = Rotation.from_euler("x", -90, degrees=True)
    system.connect("rolling", tm.RollingDisk(r), system.ground, disk.at(rotation=turned))
    return system.build()


@pytest.mark.parametrize(("axial", "across"), [(1.0, 0.5), (0.5, 0.25), (0.7, 0.4)])
def test_a_rolling_disk_stays_upright_above_its_critical_speed(axial, across):
    """Straight rolling: A (A + m r^2) s^2 + C (C + m r^2) w^2 - A m g r = 0 (hoop: v^2 = g r / 4, disk: g r / 3)."""
    m, r, g = 1.3, 0.4, 9.81
    C, A = axial * m * r * r, across * m * r * r
    mech = rolling_disk(C, A, m, r, g)
    critical = np.sqrt(A * m * g * r / (C * (C + m * r * r)))
    for factor in (0.7, 0.98, 1.02, 1.5):
        w = factor * critical
        state = mech.assemble(fix={"free": [0, 0, r, 1, 0, 0, 0]}, rates={"free": [w * r, 0, 0, 0, w, 0]})
        small = mech.linearize(state)
        assert len(small.states) == 5 + 3  # five places, three rates
        square = (A * m * g * r - C * (C + m * r * r) * w * w) / (A * (A + m * r * r))
        pair = np.sqrt(square + 0j)
        values = small.eigenvalues
        for want in (pair, -pair):
            assert np.min(np.abs(values - want)) < 1e-8
        others = sorted(values, key=lambda z: min(abs(z - pair), abs(z + pair)))[2:]
        assert np.max(np.abs(others)) < 1e-3  # zero, several times: no more than a root of rounding
        assert (np.max(values.real) > 1e-2) == (factor < 1.0)


def test_held_coordinates_do_not_move():
    system = tm.System("two pendulums", gravity=(0, 0, -9.81))
    a = system.body("a", 1.0, (0.1, 0.1, 0.1), com=(0, 0, -0.5))
    b = system.body("b", 2.0, (0.1, 0.1, 0.1), com=(0, 0, -0.5))
    system.connect("A", tm.Revolute("y"), system.ground, a)
    system.connect("B", tm.Revolute("y"), a.at((0, 0, -1)), b)
    mech = system.build()
    small = mech.linearize(mech.state(), hold=["A"])
    assert small.states == ["B", "B'"]
    want = 1j * np.sqrt(2.0 * 9.81 * 0.5 / (0.1 + 2.0 * 0.25))
    np.testing.assert_allclose(small.eigenvalues, [-want, want], atol=1e-12)


def four_bar(cut):
    """A four-bar with springs at two of its hinges, cut at the given hinge."""
    system = tm.System("four-bar", gravity=(0, 0, -9.81))
    crank = system.body("crank", mass=1.0, inertia=(0.01, 0.1, 0.1), com=(0.5, 0, 0))
    coupler = system.body("coupler", mass=3.0, inertia=(0.02, 2.25, 2.25), com=(1.5, 0, 0))
    rocker = system.body("rocker", mass=2.5, inertia=(0.01, 1.3, 1.3), com=(1.25, 0, 0))
    ends = {
        "A": (system.ground, crank),
        "B": (crank.at((1, 0, 0)), coupler),
        "C": (coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0))),
        "D": (system.ground.at((3.5, 0, 0)), rocker),
    }
    for name, (a, b) in ends.items():
        system.connect(name, tm.Revolute("y"), a, b, role="chord" if name == cut else "branch")
    system.connect(
        "spring", tm.Spring(400.0, 3.0, 1.2), coupler.at((1, 0, 0.2)), system.ground.at((0.5, 0, 1))
    )
    return system.build()


def balanced(cut):
    mech = four_bar(cut)
    start = mech.assemble(fix={"A": -0.6}, guess={"B": 0.3, "C": 1.2, "D": 1.4})
    return mech, mech.equilibrium(start, method="energy")


@pytest.mark.parametrize("cut", ["B", "C", "D"])
def test_modes_name_cut_hinges_and_do_not_depend_on_the_cut(cut):
    (_, first), (mech, other) = balanced("A"), balanced(cut)
    assert cut not in mech.speeds
    np.testing.assert_allclose(other.eigenvalues, first.eigenvalues, rtol=1e-9)
    for a, b in zip(first.linearization.modes, other.linearization.modes, strict=True):
        assert set(a.shape) == set(b.shape) == set("ABCD")
        ratio = b.shape["A"] / a.shape["A"]  # conjugate pairs may come with another phase
        assert abs(abs(ratio) - 1.0) < 1e-9 and max(map(abs, b.shape.values())) == pytest.approx(1.0)
        for name in "ABCD":
            assert abs(b.shape[name] - ratio * a.shape[name]) < 1e-8


@pytest.mark.parametrize("cut", ["B", "C", "D"])
def test_loads_on_cut_hinges_and_their_displacements_are_inputs_and_outputs(cut):
    """The response of every hinge to a sinusoidal load in every hinge does not depend on the cut."""
    answers = []
    for name in ("A", cut):
        mech, rest = balanced(name)
        small = mech.linearize(rest.state, inputs=list("ABCD"), outputs=list("DCBA"))
        assert (small.inputs, small.outputs) == (list("ABCD"), list("DCBA"))
        answers.append(small.C @ np.linalg.solve(3j * np.eye(len(small.A)) - small.A, small.B))
    np.testing.assert_allclose(answers[1], answers[0], atol=1e-9 * np.max(np.abs(answers[0])))


def test_shares_of_a_cut_ball_are_those_of_its_motion():
    """Displacements of a cut hinge with several speeds, against assemblies next to the state."""
    system = tm.System("spatial", gravity=(0, 0, -9.81))
    crank = system.body("crank", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.2, 0, 0))
    rod = system.body("rod", mass=2.0, inertia=(0.2, 0.2, 0.2), com=(0.4, 0, 0))
    slider = system.body("slider", mass=1.5, inertia=(0.1, 0.1, 0.1))
    system.connect("A", tm.Revolute("x"), system.ground.at((0, 0.1, 0.12)), crank)
    system.connect("B", tm.Universal(), crank.at((0, 0, 0.08)), rod)
    system.connect("C", tm.BallBryant(), slider, rod.at((0.3, 0, 0)), role="chord")
    system.connect("D", tm.Prismatic("x"), system.ground, slider)
    mech = system.build()
    state = mech.assemble(fix={"A": 0.4}, guess={"D": 0.2})
    small = mech.linearize(state, outputs=["C", "D"])
    (own,) = small.states[:1]
    assert small.outputs == ["C[0]", "C[1]", "C[2]", "D"]
    guess = {c.name: state.q[c.q_slice] for c in mech._lagrange.hinges} | {"C": state.cut["C"][0]}
    number = mech.speeds.index(own)
    beside = []
    for h in (1e-5, -1e-5):
        there = mech.assemble(fix={own: state.q[number] + h}, guess=guess)
        beside.append(np.append(there.cut["C"][0], there["D"][0]))
    np.testing.assert_allclose(small.C[:, 0], (beside[0] - beside[1]) / 2e-5, rtol=1e-7, atol=1e-9)


def test_an_output_nobody_knows_is_refused_by_name():
    mech, rest = balanced("D")
    with pytest.raises(tm.TreemechError, match="there is no hinge 'E'"):
        mech.linearize(rest.state, outputs=["E"])


# ---------------------------------------------------------------- independent coordinates by name
def two_four_bars():
    """Two four-bars, one on the coupler's pin of the other: two freedoms, springs hold both."""
    system = tm.System("pair", gravity=(0, 0, -9.81))
    for side, x in (("L", 0.0), ("R", 5.0)):
        crank = system.body(f"crank {side}", 1.0, (0, 1 / 12, 1 / 12), com=(0.5, 0, 0))
        coupler = system.body(f"coupler {side}", 3.0, (0, 9 / 4, 9 / 4), com=(1.5, 0, 0))
        rocker = system.body(f"rocker {side}", 2.5, (0, 1.3, 1.3), com=(1.25, 0, 0))
        system.connect(f"A{side}", tm.Revolute("y"), system.ground.at((x, 0, 0)), crank)
        system.connect(f"B{side}", tm.Revolute("y"), crank.at((1, 0, 0)), coupler)
        system.connect(
            f"C{side}", tm.Revolute("y"), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)), role="chord"
        )
        system.connect(f"D{side}", tm.Revolute("y"), system.ground.at((x + 3.5, 0, 0)), rocker)
        system.connect(
            f"spring {side}", tm.Spring(stiffness=140.0, length=0.5), coupler, system.ground.at((x, 0, 3))
        )
    system.connect(
        "tie", tm.Spring(stiffness=60.0, damping=1.0, length=1.0), system.bodies[2], system.bodies[5]
    )
    mech = system.build()
    guess = {"BL": 0.9, "DL": -1.2, "BR": 0.9, "DR": -1.2}
    return mech, mech.assemble(fix={"AL": -1.4, "AR": -1.1}, guess=guess, rates={"AL": 0.7, "AR": -0.4})


@pytest.mark.parametrize("names", [["AL", "AR"], ["DR", "AL"], ["BL", "DR"], ["DL", "BR"]])
def test_independent_coordinates_are_those_that_are_named(names):
    mech, state = two_four_bars()
    small = mech.linearize(state, coordinates=names)
    assert small.states == [*names, *(n + "'" for n in names)]
    numbers = [mech.speeds.index(n) for n in names]
    guess = {c.name: state.q[c.q_slice] for c in mech._lagrange.hinges}

    def rates(x):
        fix = dict(zip(names, state.q[numbers] + x[:2], strict=True))
        speeds = dict(zip(names, state.u[numbers] + x[2:], strict=True))
        there = mech.assemble(state.t, fix=fix, guess=guess, rates=speeds)
        return np.concatenate((there.u[numbers], mech.forward_dynamics(there).ud[numbers]))

    want = np.array([differences(lambda h, e=e: rates(h * e), (4,), orders=1).first for e in np.eye(4)]).T
    assert np.max(np.abs(small.A - want)) < 1e-7 * np.max(np.abs(want))


@pytest.mark.parametrize("names", [["AL", "AR"], ["CL", "AR"], ["CR", "DL"]])
def test_small_motions_at_rest_do_not_depend_on_the_coordinates_that_are_named(names):
    """Cut hinges may be named in an equilibrium: eigenvalues and the answer of outputs to inputs are the same."""
    mech, state = two_four_bars()
    rest = mech.equilibrium(state).state
    where = {"inputs": ["AL", "CR"], "outputs": ["DR", "CL"]}
    want, small = mech.linearize(rest, **where), mech.linearize(rest, coordinates=names, **where)
    assert small.states[:2] == names
    np.testing.assert_allclose(
        small.eigenvalues, want.eigenvalues, rtol=0, atol=1e-8 * np.abs(want.eigenvalues).max()
    )
    for s in (0.3j, 2.0 + 5.0j):
        answer, other = (x.C @ np.linalg.solve(s * np.eye(4) - x.A, x.B) for x in (small, want))
        np.testing.assert_allclose(answer, other, rtol=0, atol=1e-9 * np.abs(other).max())
    chosen = small.displacements[[small.names.index(n) for n in names], :2]
    np.testing.assert_allclose(chosen, np.eye(2), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (
            ["AL", "BL"],
            r"'BL' is not independent of 'AL' in this position. Independent would be 'AL', '[ABCD]R'",
        ),
        (["AL"], r"names 1 of 2 independent coordinates. Name '[ABCD]R' as well"),
        (["AL", "AL"], "'AL' is named twice"),
        (["AL", "CR"], "'CR' is cut, and the state is not at rest"),
        (["X"], "there is no hinge 'X'"),
    ],
)
def test_coordinates_that_are_not_independent_are_refused_by_name(names, words):
    mech, state = two_four_bars()
    with pytest.raises(tm.TreemechError, match=words):
        mech.linearize(state, coordinates=names)
    if names == ["AL"]:
        with pytest.raises(tm.ElementError, match="'AL' cannot be an independent coordinate: it is held"):
            mech.linearize(state, coordinates=["AL"], hold=["AL"])


def test_rolling_takes_named_coordinates_for_displacements_and_rates():
    mech = rolling_disk(0.5, 0.25)
    state = mech.assemble(guess={"free": [0, 0, 0.4, 1, 0, 0, 0]})
    plain = mech.linearize(state)
    x = [n for n in plain.states if not n.endswith("'")]
    other = mech.linearize(state, coordinates=x[::-1])
    assert other.states[: len(x)] == x[::-1]
    np.testing.assert_allclose(
        np.sort_complex(other.eigenvalues), np.sort_complex(plain.eigenvalues), rtol=0, atol=1e-6
    )


@pytest.mark.extras
def test_python_control_gets_the_matrices_and_the_names():
    control = pytest.importorskip("control")
    system = tm.System("pendulum", gravity=(0, 0, -9.81))
    bob = system.body("bob", 2.0, (0.1, 0.1, 0.1), com=(0, 0, -0.5))
    system.connect("pin", tm.Revolute("y"), system.ground, bob)
    system.connect("drive", tm.Actuator(gain=3.0), "pin", inputs={"command": "torque"})
    system.input("torque")
    mech = system.build()
    small = mech.linearize(mech.state(), inputs=["torque"])
    plant = small.to_control()
    assert isinstance(plant, control.StateSpace)
    assert (plant.state_labels, plant.input_labels, plant.output_labels) == (
        ["pin", "pin'"],
        ["torque"],
        ["pin"],
    )
    assert np.array_equal(plant.A, small.A) and np.array_equal(plant.B, small.B)
    assert np.allclose(plant(2.0j), 3.0 / (0.6 * (2.0j) ** 2 + 9.81), rtol=1e-12)  # 0.1 + 2 0.5^2 = 0.6
