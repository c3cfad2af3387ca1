"""Hinges in closed chains without another hinge to cut: elements, drives and couplings on every coordinate."""

from dataclasses import dataclass
from math import atan2

import numpy as np
import pytest

import treemech as tm
from tests.laws.derivatives.test_reaction_derivatives import check
from tests.support.tolerances import ROUND

LENGTHS = {"crank": 0.3, "coupler": 1.0, "rocker": 0.8}
START = {"fix": {"A": 0.5}, "guess": {"B": -1.5, "C": 1.04, "D": -2.0}, "rates": {"A": 2.0}}


@dataclass(frozen=True)
class Between(tm.Energetic):
    """Spring and damper between two ends that turn about y, without a hinge."""

    stiffness: float
    damping: float
    angle: float

    def evaluate(self, motion, t, out):
        R, S, w = motion.rotation[0], motion.rotation[1], motion.angular_velocity
        cosine = R[0, 0] * S[0, 0] + R[1, 0] * S[1, 0] + R[2, 0] * S[2, 0]
        sine = R[0, 0] * S[0, 2] + R[1, 0] * S[1, 2] + R[2, 0] * S[2, 2]
        gap, rate = atan2(sine, cosine) - self.angle, w[1, 1] - w[0, 1]
        moment = self.stiffness * gap + self.damping * rate
        out.moment[1, 1], out.moment[0, 1] = -moment, moment
        out.energy[0] = 0.5 * self.stiffness * gap * gap
        out.dissipated[0] = self.damping * rate * rate


def four_bar(springs, roles=None):
    system, body, roles = tm.System("four-bar"), {}, roles or {}
    for name, length in LENGTHS.items():
        inertia = (1e-3, length**3 / 12, length**3 / 12)
        body[name] = system.body(name, mass=length, inertia=inertia, com=(length / 2, 0, 0))
    ends = {
        "A": (system.ground, body["crank"]),
        "B": (body["crank"].at((0.3, 0, 0)), body["coupler"]),
        "C": (body["coupler"].at((1.0, 0, 0)), body["rocker"].at((0.8, 0, 0))),
        "D": (system.ground.at((1.1, 0, 0)), body["rocker"]),
    }
    for name, pair in ends.items():
        system.connect(name, tm.Revolute("y"), *pair, role=roles.get(name))
    for name in springs:
        system.connect(f"spring {name}", tm.RotationalSpring(3.0, damping=0.1, angle=0.2), name)
    return system, ends


def reference():
    """Return the four-bar with hinge C cut and a spring between its ends."""
    system, ends = four_bar("ABD")
    system.connect("spring C", Between(3.0, 0.1, 0.2), *ends["C"])
    mech = system.build()
    return mech, mech.assemble(fix=START["fix"], guess={"B": -1.5, "D": -2.0}, rates=START["rates"])


@pytest.mark.parametrize("cut", [None, "B", "C", "D"])
def test_springs_on_every_hinge_of_a_closed_chain(cut):
    mech = four_bar("ABCD", {cut: "chord"})[0].build()
    other, there = reference()
    state = mech.assemble(**START)
    ud = dict(zip(mech.speeds, mech.forward_dynamics(state).ud, strict=True))
    for name, want in zip(other.speeds, other.forward_dynamics(there).ud, strict=True):
        np.testing.assert_allclose(ud[name], want, rtol=ROUND)
    assert mech.energy(state).stored == pytest.approx(other.energy(there).stored, rel=ROUND)
    assert mech.mobility(state).dof == 1
    have, want = mech.reactions(state), other.reactions(there)
    for name in "ABCD":  # the least loads share the out-of-plane part in another way
        np.testing.assert_allclose(have[name].force[[0, 2]], want[name].force[[0, 2]], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("method", ["DOP853", "Radau", "Adams", "alpha3"])
def test_all_methods_follow_springs_on_every_hinge(method):
    mech, (other, there) = four_bar("ABCD")[0].build(), reference()
    given = {"t_eval": np.linspace(0.0, 0.5, 6), "rtol": 1e-8, "method": method}
    run = mech.simulate((0, 0.5), mech.assemble(**START), audit=True, **given)
    same, want = (
        other.simulate((0, 0.5), there, **given),
        other.simulate((0, 0.5), there, **{**given, "rtol": 1e-11}),
    )
    assert run.success, run.message
    error, usual = (
        max(np.abs(r.connection(n).q - want.connection(n).q).max() for n in "ABCD") for r in (run, same)
    )
    assert error <= 3.0 * usual + 1e-8
    energy = run.energy.total + sum(a.dissipated for a in run.audit.values())
    np.testing.assert_allclose(energy, energy[0], atol=2e-5 * energy[0])


def test_the_derivatives_with_springs_on_every_hinge_are_exact():
    mech = four_bar("ABCD")[0].build()
    check(mech, mech.assemble(**START))


def test_a_coupling_and_springs_share_a_closed_chain():
    """A parallelogram whose opposite cranks are geared keeps its motion: the gear carries no load."""
    plain, geared = (tm.System(name) for name in ("plain", "geared"))
    found = []
    for system in (plain, geared):
        left, right = (system.body(n, 1.0, (0.01, 0.1, 0.1), com=(0.25, 0, 0)) for n in ("left", "right"))
        bar = system.body("bar", 2.0, (0.01, 0.2, 0.2), com=(0.5, 0, 0))
        system.connect("A", tm.Revolute("y"), system.ground, left)
        system.connect("B", tm.Revolute("y"), left.at((0.5, 0, 0)), bar)
        system.connect("C", tm.Revolute("y"), bar.at((1, 0, 0)), right.at((0.5, 0, 0)))
        system.connect("D", tm.Revolute("y"), system.ground.at((1, 0, 0)), right)
        system.connect("spring", tm.RotationalSpring(2.0, angle=0.3), "B")
        if system is geared:
            system.connect("damper", tm.RotationalSpring(damping=0.0), "C")
            system.couple("gear", tm.Mimic(1.0), "A", "D")
        mech = system.build()
        state = mech.assemble(fix={"A": 0.7}, guess={"B": -0.7, "C": 0.7, "D": 0.7}, rates={"A": 1.5})
        found.append(mech.forward_dynamics(state).ud[0])
    assert found[0] == pytest.approx(found[1], rel=1e-10)


# ---------------------------------------------------------------- friction and something else in one hinge
HINGES = {
    "revolute": tm.Revolute("y"), "prismatic": tm.Prismatic((1, 0.3, 0.2)), "cylindrical": tm.Cylindrical("x"),
    "planar": tm.Planar("z"), "universal": tm.Universal(), "screw": tm.Screw(0.2), "bryant": tm.BallBryant(),
}  # fmt: skip


def rubbed(hinge, acted, radius):
    system = tm.System("rubbed", gravity=(0.4, -0.7, -9.81))
    base = system.body("base", 2.0, (0.2, 0.3, 0.4), com=(0.1, 0.0, 0.2))
    rod = system.body("rod", 1.5, (0.1, 0.2, 0.15), com=(0.5, 0.1, -0.2))
    system.connect("turn", tm.Revolute((0.2, 0.1, 1.0)), system.ground, base)
    joint = system.connect("joint", hinge, base.at((0.3, 0.1, 0.2)), rod)
    system.connect("friction", tm.Friction(0.2, radius=radius, span=0.4, threshold=0.3), joint)
    for k in acted:
        stiffness = 0.0 if len(acted) > 1 or acted[0] is None else 2.0
        system.connect(
            f"spring {k}", tm.RotationalSpring(stiffness, damping=stiffness / 5), f"joint[{k or 0}]"
        )
    return system.build()


def placed(mech, hinge):
    n = hinge.n_coordinates
    q, u = np.array([0.3, -0.4, 0.5])[:n], np.array([0.8, -0.6, 0.4])[:n]
    every = {f"joint[{k}]" if n > 1 else "joint": q[k] for k in range(n)}
    rates = {f"joint[{k}]" if n > 1 else "joint": u[k] for k in range(n)}
    return mech.assemble(fix={"turn": 0.2, **every}, rates={"turn": 1.3, **rates})


@pytest.mark.parametrize("radius", [0.0, 0.05])
@pytest.mark.parametrize("name", HINGES)
def test_an_element_without_effect_beside_friction_changes_nothing(name, radius):
    """The frame that carries the coordinates leaves the load that friction sees as it is."""
    hinge = HINGES[name]
    plain, carried = rubbed(hinge, (), radius), rubbed(hinge, (None,), radius)
    assert plain.nu + hinge.n_speeds == carried.nu
    at, there = placed(plain, hinge), placed(carried, hinge)
    want, have = plain.forward_dynamics(at), carried.forward_dynamics(there)
    k, j = plain.speeds.index("turn"), carried.speeds.index("turn")
    assert have.ud[j] == pytest.approx(want.ud[k], rel=1e-10)
    bodies = [dict(zip(m.speeds, f.ud, strict=True)) for m, f in ((plain, want), (carried, have))]
    for speed in (s for s in plain.speeds if s.startswith("free")):
        assert bodies[0][speed] == pytest.approx(bodies[1][speed], rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("name", ["revolute", "prismatic", "universal", "screw"])
def test_derivatives_with_friction_and_a_spring_in_one_hinge(name):
    mech = rubbed(HINGES[name], (0,), 0.05)
    check(mech, placed(mech, HINGES[name]))


def test_a_motor_along_a_guide_does_not_press_on_it():
    """A block on a rough incline, pulled along it: friction sees the normal load only."""
    slope, mu, pull = 0.4, 0.3, 7.0
    system = tm.System("incline", gravity=(0, 0, -9.81))
    block = system.body("block", 3.0, (1, 1, 1))
    way = system.connect("way", tm.Prismatic((np.cos(slope), 0, -np.sin(slope))), system.ground, block)
    system.connect("friction", tm.Friction(mu, threshold=1e-6, soft=1e-6), way)
    system.connect("pull", tm.RotationalSpring(torque=-pull), "way")
    mech = system.build()
    state = mech.assemble(rates={"way": 2.0})
    ud = dict(zip(mech.speeds, mech.forward_dynamics(state).ud, strict=True))["way"]
    assert ud == pytest.approx(9.81 * (np.sin(slope) - mu * np.cos(slope)) + pull / 3.0, abs=1e-6)


def test_a_prescribed_hinge_may_rub():
    """A rod driven at constant speed: its drive overcomes gravity and the friction under the load of the pin."""
    rate, mu, radius = 2.0, 0.3, 0.05
    system = tm.System("driven", gravity=(0, 0, -9.81))
    rod = system.body("rod", mass=2.0, inertia=(0.1, 0.2, 0.1), com=(0.5, 0, 0))
    pin = system.connect("pin", tm.Revolute("y"), system.ground, rod)
    system.connect("friction", tm.Friction(mu, radius=radius, threshold=1e-6, soft=1e-6), pin)
    system.prescribe(pin, tm.Polynomial([0.0, rate]))
    mech = system.build()
    run = mech.simulate((0, 1), mech.assemble(), t_eval=[0.0, 0.5, 1.0])
    assert run.success, run.message
    q = rate * run.t
    force = 2.0 * np.stack((-0.5 * rate**2 * np.cos(q), 9.81 + 0.5 * rate**2 * np.sin(q)))
    want = -2.0 * 9.81 * 0.5 * np.cos(q) + mu * radius * np.linalg.norm(force, axis=0)
    np.testing.assert_allclose(run.connection("pin").moment[:, 1], want, rtol=1e-5)
    np.testing.assert_allclose(run.connection("pin").q, q, rtol=1e-12)


def test_friction_a_damper_and_a_motor_in_one_hinge_of_a_closed_chain():
    system, _ = four_bar("ABCD")
    for name in "AC":
        system.connect(f"friction {name}", tm.Friction(0.2, radius=0.05), system.connections[name])
    mech = system.build()
    run = mech.simulate((0, 0.4), mech.assemble(**START), rtol=1e-9, audit=True)
    assert run.success, run.message
    energy = run.energy.total + sum(a.dissipated for a in run.audit.values())
    np.testing.assert_allclose(energy, energy[0], rtol=1e-7)
    for name in "AC":
        moment = np.linalg.norm(run.element(f"friction {name}").moment[:, 1], axis=1)
        assert np.all(moment <= 0.2 * 0.05 * np.linalg.norm(run.connection(name).force, axis=1) * (1 + 1e-9))
        assert moment.max() > 0.0


@pytest.mark.parametrize("cut", "ABD")
def test_another_hinge_may_be_cut_beside_one_with_friction_and_a_spring(cut):
    """Two cuts in one chain: the part between them gets coordinates of its own."""
    ends = []
    for roles in ({}, {cut: "chord"}):
        system, _ = four_bar("C", roles)
        system.connect("friction C", tm.Friction(0.2, radius=0.05), system.connections["C"])
        mech = system.build()
        run = mech.simulate((0, 0.3), mech.assemble(**START), rtol=1e-10, t_eval=[0.3])
        assert run.success, run.message
        ends.append([run.body(name).position[0] for name in LENGTHS] + [run.connection("D").force[0]])
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-7, atol=1e-7)
