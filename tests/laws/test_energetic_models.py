"""The laws energetic elements obey in any model: virtual work, power balance, states, inputs, memory, failures."""

from dataclasses import dataclass
from math import exp, sqrt

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import treemech as tm
from tests.support.models import random_state, random_system


@dataclass(frozen=True)
class JetSpring(tm.Energetic):
    """As tm.Spring, by its deformation alone."""

    stiffness: float
    damping: float
    length: float
    n_deformations = 1

    def deformation(self, position, rotation, t, eps):
        s = 0.0
        for k in range(3):
            s += (position[1, k] - position[0, k]) ** 2
        eps[0] = sqrt(s) - self.length

    def effort(self, now, t, out):
        out.effort[0] = self.stiffness * now.deformation[0] + self.damping * now.rate[0]
        out.energy[0] = 0.5 * self.stiffness * now.deformation[0] ** 2
        out.dissipated[0] = self.damping * now.rate[0] ** 2


@dataclass(frozen=True)
class Frame(tm.Energetic):
    """An elastic law on position and turn of three ends: every partial counts."""

    stiffness: float
    n_ends = 3
    n_deformations = 2

    def deformation(self, position, rotation, t, eps):
        a = 0.0
        for k in range(3):
            arm = position[2, k] + 0.3 * rotation[2, k, 0] - position[0, k] - 0.2 * rotation[0, k, 1]
            a += arm * (position[1, k] - position[0, k]) + 0.1 * rotation[1, k, 2] * rotation[2, k, 1]
        eps[0] = a
        b = 0.0
        for k in range(3):
            b += rotation[0, k, 0] * rotation[1, k, 1]
        eps[1] = b

    def effort(self, now, t, out):
        for k in range(2):
            out.effort[k] = self.stiffness * now.deformation[k] ** 3
            out.energy[0] += 0.25 * self.stiffness * now.deformation[k] ** 4


@dataclass(frozen=True)
class Angle(tm.Energetic):
    """A spring on a hinge coordinate."""

    stiffness: float
    n_ends = 0
    n_coordinates = 1
    n_deformations = 1

    def effort(self, now, t, out):
        out.effort[0] = self.stiffness * now.deformation[0]
        out.energy[0] = 0.5 * self.stiffness * now.deformation[0] ** 2


FLAT = (
    "Revolute",
    "Prismatic",
    "Cylindrical",
    "Screw",
    "Universal",
    "Planar",
    "Translation",
    "BallBryant",
    "Polar",
)


def sprung(seed, element, n_ends, n=10):
    """Return a random tree, and the same with an element between random places."""
    rng = np.random.default_rng(seed + 1000)
    bodies = rng.choice(n, size=n_ends, replace=False) + 1
    places = [rng.uniform(-0.3, 0.3, 3) for _ in bodies]
    plain, other = (random_system(seed, n=n, kinds=FLAT) for _ in range(2))
    turns = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in bodies]
    turns = [T * np.sign(np.linalg.det(T)) for T in turns]
    ends = [other.bodies[b].at(x, T) for b, x, T in zip(bodies, places, turns, strict=True)]
    other.connect("element", element, *ends)
    return plain.build(), other.build()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "element", [tm.Spring(stiffness=30.0, length=0.4), JetSpring(30.0, 0.0, 0.4), Frame(5.0)]
)
def test_loads_are_the_gradient_of_the_stored_energy(seed, element):
    plain, mech = sprung(seed, element, element.n_ends)
    state = random_state(mech, seed)
    loads = mech.load_column(state) - plain.load_column(plain.state(t=state.t, q=state.q, u=state.u))

    def stored(q):
        return mech.energy(mech.state(q=q)).stored

    h, gradient = 1e-3, np.zeros(mech.nu)
    for k in range(mech.nq):
        e = np.eye(mech.nq)[k] * h
        side = [stored(state.q + j * e) - stored(state.q - j * e) for j in (1, 2, 3)]
        gradient[k] = (1.5 * side[0] - 0.3 * side[1] + side[2] / 30.0) / (2.0 * h)
    np.testing.assert_allclose(loads, -gradient, atol=1e-8 * max(1.0, np.abs(gradient).max()))


@pytest.mark.parametrize("seed", range(3))
def test_a_deformation_does_what_the_formula_does(seed):
    _, formula = sprung(seed, tm.Spring(stiffness=30.0, damping=2.0, length=0.4), 2)
    _, jets = sprung(seed, JetSpring(30.0, 2.0, 0.4), 2)
    state = random_state(formula, seed)
    a = formula.forward_dynamics(state).ud
    b = jets.forward_dynamics(jets.state(t=state.t, q=state.q, u=state.u)).ud
    np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-10 * np.abs(a).max())


@pytest.mark.parametrize("seed", range(4))
def test_energy_and_dissipation_balance_over_a_run(seed):
    rng = np.random.default_rng(seed)
    system = random_system(seed, n=8, loads=False)
    for k in range(4):
        a, b = rng.choice(9, size=2, replace=False)
        system.connect(
            f"s{k}", tm.Spring(stiffness=40.0, damping=0.5, length=0.3, force=tm.Harmonic(2.0, 3.0)),
            system.bodies[a].at(rng.uniform(-0.5, 0.5, 3)), system.bodies[b].at(rng.uniform(-0.5, 0.5, 3)),
        )  # fmt: skip
    moving = [c.name for c in system.connections.values() if type(c.element).__name__ == "Moving"]
    if moving:
        pytest.skip("a moving hinge does work of its own")
    mech = system.build()
    run = mech.simulate((0, 1), random_state(mech, seed, 0.3), rtol=1e-11, audit=True)
    lost = sum(a.dissipated for a in run.audit.values())
    given = sum(a.supplied for a in run.audit.values())
    scale = np.abs(run.energy.kinetic).max()
    np.testing.assert_allclose(run.energy.total + lost - given, run.energy.total[0], atol=1e-8 * scale)
    for name, a in run.audit.items():
        energy = run.element(name).energy
        balance = a.work + energy - energy[0] + a.dissipated - a.supplied
        np.testing.assert_allclose(balance, 0.0, atol=1e-8 * scale)


def test_a_spring_on_a_hinge_is_a_load_on_its_coordinate():
    system = random_system(3, n=6, kinds=("Revolute", "Universal"))
    mech = system.build()
    state = random_state(mech, 3)
    name = next(c.name for c in mech._lagrange.hinges if c.hinge.n_coordinates == 2)
    sprung_system = random_system(3, n=6, kinds=("Revolute", "Universal"))
    sprung_system.connect("angle", Angle(7.0), f"{name}[1]")
    other = sprung_system.build()
    c = next(c for c in other._lagrange.hinges if c.name == name)
    same = other.state(t=state.t, q=state.q, u=state.u)
    want = mech.load_column(state)
    want[c.u + 1] -= 7.0 * state.q[c.q + 1]
    np.testing.assert_allclose(other.load_column(same), want, atol=1e-10)
    loads = np.zeros(mech.nu)
    loads[c.u + 1] = -7.0 * state.q[c.q + 1]
    np.testing.assert_allclose(
        other.forward_dynamics(same).ud, mech.forward_dynamics(state, loads).ud, rtol=1e-9, atol=1e-9
    )


# ---------------------------------------------------------------- states, inputs, memory
@dataclass(frozen=True)
class Filtered(tm.Energetic):
    """A drive behind two filters, of an input."""

    rate: float
    n_ends = 0
    n_coordinates = 1
    n_deformations = 1
    n_states = 2
    input_names = ("command",)

    def effort(self, now, t, out):
        out.effort[0] = -now.x[1]
        out.rates[0] = self.rate * (now.inputs[0] - now.x[0])
        out.rates[1] = self.rate * (now.x[0] - now.x[1])
        out.supplied[0] = now.x[1] * now.rate[0]

    def initial(self):
        return [0.1, 0.2]


def wheel(**inputs):
    system = tm.System("wheel", gravity=(0, 0, 0))
    disk = system.body("disk", mass=1.0, inertia=(1, 1, 2.0))
    axle = system.connect("axle", tm.Revolute("z"), system.ground, disk)
    system.connect("drive", Filtered(4.0), axle, inputs=inputs)
    return system


def test_states_of_an_element_are_integrated_with_the_motion():
    mech = wheel(command=tm.Harmonic(3.0, 2.0)).build()
    run = mech.simulate((0, 2), rtol=1e-10)

    def rhs(t, y):
        return [y[1], y[3] / 2.0, 4.0 * (3.0 * np.sin(2.0 * t) - y[2]), 4.0 * (y[2] - y[3])]

    want = solve_ivp(rhs, (0, 2), [0, 0, 0.1, 0.2], rtol=1e-12, atol=1e-12, method="DOP853").y[:, -1]
    got = [run.q[-1, 0], run.u[-1, 0], *run.element("drive").x[-1]]
    np.testing.assert_allclose(got, want, atol=1e-8)


def test_states_by_name():
    mech = wheel(command=0.0).build()
    assert mech.state().x.tolist() == [0.1, 0.2]
    assert mech.state(x=[1.0, 2.0]).x.tolist() == [1.0, 2.0]
    assert mech.assemble(states={"drive[1]": 5.0}).x.tolist() == [0.1, 5.0]
    with pytest.raises(tm.ElementError, match="wanted 2"):
        mech.state(x=[1.0])
    with pytest.raises(tm.TopologyError, match="did you mean 'drive'"):
        mech.assemble(states={"drve": 1.0})


def test_an_input_has_a_name_and_may_be_a_coordinate():
    system = wheel(command="torque")
    system.input("torque", lambda t: 2.0 * t)
    run = system.build().simulate((0, 1), rtol=1e-9)
    np.testing.assert_allclose(run.input("torque"), 2.0 * run.t, atol=1e-12)
    follows = wheel(command="axle.u").build().simulate((0, 1), rtol=1e-9)
    np.testing.assert_allclose(follows.element("drive").inputs[:, 0], follows.u[:, 0], atol=1e-14)


def test_missing_and_unknown_inputs_are_named():
    with pytest.raises(tm.ElementError, match=r"'drive' \(Filtered\) needs its input 'command'"):
        wheel()
    with pytest.raises(tm.ElementError, match="there is no input 'comand'"):
        wheel(command=1.0, comand=2.0)
    with pytest.raises(tm.TopologyError, match="input 'command' of element 'drive'.*'torque'"):
        wheel(command="torque").build()


@dataclass(frozen=True)
class Counter(tm.Energetic):
    """Remembers how many steps there were, when the last was, and the largest angle."""

    n_ends = 0
    n_coordinates = 1
    n_memory = 3

    def evaluate(self, motion, t, out):
        out.load[0] = 1.0

    def remember(self, motion, t, memory):
        memory[0] += 1.0
        memory[1] = t
        memory[2] = max(memory[2], motion.q[0])

    def memory(self):
        return [0.0, -1.0, 0.0]


@pytest.mark.parametrize("closed", [False, True])
def test_memory_changes_at_accepted_steps_only(closed):
    system = tm.System("wheel", gravity=(0, 0, 0))
    disk = system.body("disk", mass=1.0, inertia=(1, 1, 2.0))
    axle = system.connect("axle", tm.Revolute("z"), system.ground, disk)
    if closed:
        system.connect("again", tm.Revolute("z"), system.ground, disk)
    system.connect("counter", Counter(), axle)
    mech = system.build()
    run = mech.simulate((0, 2), mech.assemble(rates={"axle": -1.0}))
    at = mech._core.nx
    np.testing.assert_allclose(run.z[:, at], 1.0 + np.arange(len(run.t)))  # once at the start
    np.testing.assert_allclose(run.z[:, at + 1], run.t)
    np.testing.assert_allclose(
        run.z[:, at + 2], np.maximum.accumulate(np.maximum(run.q[:, 0], 0.0)), atol=1e-14
    )


# ---------------------------------------------------------------- failures
@dataclass(frozen=True)
class Breaks(tm.Energetic):
    """Something goes wrong at 0.4 s."""

    how: float
    n_ends = 0
    n_coordinates = 1

    def evaluate(self, motion, t, out):
        if t > 0.4:
            if self.how < 0.5:
                raise ValueError("worn out")
            out.load[0] = sqrt(0.4 - t)


def breaking(how):
    system = tm.System("wheel", gravity=(0, 0, 0))
    disk = system.body("disk", mass=1.0, inertia=(1, 1, 2.0))
    axle = system.connect("axle", tm.Revolute("z"), system.ground, disk)
    system.connect("old spring", Breaks(how), axle)
    return system.build()


def test_an_exception_names_element_and_time_and_keeps_the_run():
    with pytest.raises(
        tm.ElementError, match=r"element 'old spring' \(Breaks\) failed at t = 0\.4.*worn out"
    ) as caught:
        breaking(0.0).simulate((0, 1), max_step=0.01)
    assert 0.38 < caught.value.partial.t[-1] <= 0.4


def test_an_effort_that_is_no_number_is_named_with_its_time():
    with pytest.raises(
        tm.ElementError, match=r"'old spring' \(Breaks\) gives a load or a rate that is not.* t = 0\.4"
    ) as caught:
        breaking(1.0).simulate((0, 1), max_step=0.01)
    assert caught.value.partial.t[-1] == pytest.approx(0.4, abs=1e-9)


def test_ends_and_coordinates_are_counted():
    system = tm.System("pair")
    a = system.body("a", 1.0, (1, 1, 1))
    hinge = system.connect("hinge", tm.Revolute("z"), system.ground, a)
    with pytest.raises(tm.TopologyError, match=r"'s' \(Spring\) has 1 ends; wanted 2"):
        system.connect("s", tm.Spring(stiffness=1.0), a)
    with pytest.raises(tm.TopologyError, match="acts on 0 hinge coordinates; wanted 1"):
        system.connect("s", Angle(1.0))
    with pytest.raises(tm.TopologyError, match="two connections are named 'hinge'"):
        system.connect("hinge", Angle(1.0), hinge)
    system.connect("s", Angle(1.0), hinge)
    with pytest.raises(tm.TopologyError, match="an element is named 's' already"):
        system.connect("s", Angle(1.0), hinge)


def test_a_law_is_solved_to_rounding():
    @dataclass(frozen=True)
    class Law(tm.Energetic):
        n_ends = 0
        n_coordinates = 1
        n_deformations = 1

        def law(self, now, effort, t, f):
            f[0] = effort[0] + 0.1 * effort[0] ** 3 + 0.01 * exp(effort[0]) - 5.0 * now.deformation[0]

    system = tm.System("wheel", gravity=(0, 0, 0))
    disk = system.body("disk", mass=1.0, inertia=(1, 1, 2.0))
    axle = system.connect("axle", tm.Revolute("z"), system.ground, disk)
    system.connect("law", Law(), axle)
    mech = system.build()
    for q in (0.3, -2.0, 5.0):
        F = -2.0 * mech.forward_dynamics(mech.state(q=[q])).ud[0]
        assert F + 0.1 * F**3 + 0.01 * np.exp(F) == pytest.approx(5.0 * q, abs=1e-13 * max(1, abs(5 * q)))


# ---------------------------------------------------------------- elements see states of the motion only, never speeds nobody has
@dataclass(frozen=True)
class Relative(tm.Energetic):
    """A damper that is finite while both ends move alike, and overflows where one of them stands still."""

    n_deformations = 1

    def deformation(self, position, rotation, t, eps):
        eps[0] = position[1, 0] - position[0, 0]

    def effort(self, now, t, out):
        out.effort[0] = now.rate[0]
        if abs(now.rate[0]) > 0.5:
            out.effort[0] = exp(1e4 * abs(now.rate[0]))
        out.dissipated[0] = out.effort[0] * now.rate[0]


def convoy(link):
    """Return three slides, the first driven at 1 m/s, the others moving with it; with `link` a chord joins them."""
    system = tm.System("convoy", gravity=(0, 0, 0))
    bodies = [system.body(name, 1.0, (1, 1, 1)) for name in "abc"]
    for name, body in zip("ABC", bodies, strict=True):
        system.connect(name, tm.Prismatic("x"), system.ground, body)
    if link:
        system.connect("link", tm.Distance(1.0), *bodies[1:])
        system.connect("link too", tm.Distance(1.0), *bodies[1:])  # rows have to be chosen
    system.prescribe("A", tm.Polynomial([0.0, 1.0]))
    system.connect("damper", Relative(), *bodies[:2])
    mech = system.build()
    return mech, mech.assemble(guess={"C": 1.0}, rates={"B": 1.0, "C": 1.0})


ANALYSES = {
    "forward_dynamics": lambda mech, state: mech.forward_dynamics(state).ud,
    "inverse_dynamics": lambda mech, state: mech.inverse_dynamics(
        state, np.zeros(3), ["A", "B"] if mech.info.chords else None
    ),
    "constraints": lambda mech, state: mech.constraints(state).velocity,
    "attitude": lambda mech, state: mech.attitude(state).partials,
    "momentum": lambda mech, state: mech.momentum(state).linear,
    "jacobian": lambda mech, state: mech.jacobian(mech.tree.bodies[2], state),
    "mass_matrix": lambda mech, state: mech.mass_matrix(state),
    "load_column": lambda mech, state: mech.load_column(state),
    "derivatives": lambda mech, state: mech.derivatives(state).ud_u,
    "energy": lambda mech, state: np.array([mech.energy(state).kinetic]),
    "mobility": lambda mech, state: np.array([mech.mobility(state).dof]),
    "reactions": lambda mech, state: mech.reactions(state)["B"].force,
    "run": lambda mech, state: mech.simulate((0, 1), state).ud[-1],
    "loads": lambda mech, state: mech.simulate((0, 1), state).connection("B").force[-1],
}


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize("name", ANALYSES)
def test_no_evaluation_at_speeds_nobody_has(name, link):
    mech, state = convoy(link)
    assert np.all(np.isfinite(ANALYSES[name](mech, state)))
