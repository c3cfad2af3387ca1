"""Inertia of a coordinate: rotors behind gears, the diagonal of A in every analysis, open and closed chains."""

import numpy as np
import pytest

import treemech as tm
from tests.support.models import random_state, random_system
from treemech.benchmarks.formulations import formulations
from treemech.benchmarks.formulations.formulation import Inexpressible


def close(a, b, tolerance=1e-10):
    return np.max(np.abs(np.asarray(a) - b), initial=0.0) <= tolerance * (
        1.0 + np.max(np.abs(b), initial=0.0)
    )


def fits(hinge):
    return hinge.n_speeds == 1 or isinstance(hinge, tm.Ball)


def with_rotors(seed, prescribe=False):
    """Return a random tree twice, without rotors and with one on every hinge that may have one, and the diagonal they add."""
    found = []
    for rotors in (False, True):
        system, rng = random_system(seed, n=14), np.random.default_rng(seed)
        own = {}
        for name, c in system.connections.items():
            if fits(c.element):
                own[name] = float(rng.uniform(0.1, 2.0))
                if rotors:
                    system.connect(f"rotor {name}", tm.RotorInertia(own[name]), name)
        if prescribe:
            system.prescribe(
                next(n for n in own if system.connections[n].element.n_speeds == 1), tm.Harmonic(0.3, 2.0)
            )
        found.append(system.build())
    plain, mech = found
    D = np.zeros(mech.nu)
    for c in mech._lagrange.hinges:
        D[c.u : c.u + c.hinge.n_speeds] = own.get(c.name, 0.0)
    return plain, mech, np.diag(D)


@pytest.mark.parametrize("seed", range(4))
def test_rotors_stand_on_the_diagonal_of_the_mass_matrix(seed):
    plain, mech, D = with_rotors(seed)
    assert np.count_nonzero(D) > 6
    state = random_state(mech, seed)
    before = plain.state(t=state.t, q=state.q, u=state.u)
    A, Q = plain.mass_matrix(before) + D, plain.load_column(before)
    assert close(mech.mass_matrix(state), A, 1e-12) and close(mech.load_column(state), Q, 1e-12)
    ud = np.linalg.solve(A, Q)
    assert close(mech.forward_dynamics(state).ud, ud)
    wanted = np.random.default_rng(seed).normal(size=mech.nu)
    assert close(mech.inverse_dynamics(state, wanted), A @ wanted - Q)
    more = mech.energy(state).kinetic - plain.energy(before).kinetic
    assert more == pytest.approx(0.5 * state.u @ D @ state.u, rel=1e-12)
    assert close(mech.momentum(state).linear, plain.momentum(before).linear, 1e-14)


def test_rotors_of_prescribed_hinges_load_their_drive():
    plain, mech, D = with_rotors(2, prescribe=True)
    with pytest.warns(UserWarning, match="its prescribed motion gives"):
        state = random_state(mech, 3)
    before = plain.state(t=state.t, q=state.q, u=state.u)
    free = mech._core.free_speeds()
    ud, A = mech.forward_dynamics(state).ud, plain.mass_matrix(before) + D
    left = A @ ud - plain.load_column(before)
    assert close(left[free], 0.0 * left[free], 1e-9) and abs(left[~free][0]) > 1e-3
    assert close(mech.inverse_dynamics(state, ud), left, 1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_derivatives_and_many_states_are_exact_with_rotors(seed):
    plain, mech, D = with_rotors(seed)
    state = random_state(mech, seed)
    found = mech.derivatives(state)
    A = plain.mass_matrix(plain.state(t=state.t, q=state.q, u=state.u)) + D
    assert close(found.ud_load, np.linalg.inv(A), 1e-9)

    def ud_of(u):
        return mech.forward_dynamics(mech.state(t=state.t, q=state.q, u=u)).ud

    for k in (0, mech.nu // 2, mech.nu - 1):
        e = np.eye(mech.nu)[k]
        beside = {h: ud_of(state.u + h * e) for h in (-2e-3, -1e-3, 1e-3, 2e-3)}
        slope = (8.0 * (beside[1e-3] - beside[-1e-3]) - (beside[2e-3] - beside[-2e-3])) / 12e-3
        assert close(found.ud_u[:, k], slope, 1e-8)
    q, u = np.tile(state.q, (5, 1)), state.u + np.random.default_rng(1).normal(size=(5, mech.nu))
    many = mech.state(t=state.t, q=q, u=u)
    assert close(mech.forward_dynamics(many).ud, [ud_of(row) for row in u], 1e-13)
    assert close(
        mech.energy(many).kinetic,
        [mech.energy(mech.state(t=state.t, q=q[0], u=row)).kinetic for row in u],
        1e-13,
    )


def geared(ratio, rotor, mount):
    """An arm of two links; the rotor of its second hinge turns `ratio` times as fast, as a body on the ground or on the first link."""
    system = tm.System("arm", gravity=(0, 0, -9.81))
    a = system.body("a", 1.0, (0.02, 0.03, 0.04), com=(0.2, 0, 0))
    b = system.body("b", 0.8, (0.01, 0.03, 0.02), com=(0.15, 0, 0.02))
    system.connect("A", tm.Revolute("y"), system.ground, a)
    system.connect("B", tm.Revolute((0, 1, 0.3)), a.at((0.4, 0, 0)), b)
    if mount is None:
        system.connect("rotor A", tm.RotorInertia(rotor, ratio), "A")
        system.connect("rotor B", tm.RotorInertia(rotor, ratio), "B")
        return system
    for name, base in (("A", system.ground), ("B", mount(system, a))):
        disk = system.body(f"disk {name}", 0.0, (rotor, rotor, rotor))
        system.connect(f"spin {name}", tm.Revolute((0, 1, 0.3) if name == "B" else "y"), base, disk)
        system.couple(f"gear {name}", tm.Mimic(ratio), name, f"spin {name}")
    return system


def acceleration(system):
    mech = system.build()
    q, u = {"A": 0.3, "B": 0.7}, {"A": 1.0, "B": -2.0}
    for name in "AB" if system.couplings else "":
        ratio = system.couplings[f"gear {name}"].element.factor
        q[f"spin {name}"], u[f"spin {name}"] = ratio * q[name], ratio * u[name]
    ud = mech.forward_dynamics(mech.state(q=q, u=u)).ud
    return np.array([ud[mech.speeds.index(n)] for n in "AB"])


@pytest.mark.filterwarnings("ignore:q of 'spin")  # many turns
def test_a_rotor_is_the_limit_of_a_geared_body():
    """On the ground a geared disk is the same to rounding; on a link that turns, its spin adds terms that fall with 1 / ratio."""
    reflected = 0.3
    wanted = acceleration(geared(1.0, reflected, None))
    assert close(acceleration(geared(7.0, reflected / 49.0, None)), wanted, 1e-13)
    apart = []
    for ratio in (1e3, 1e4, 1e5):
        exact = acceleration(geared(ratio, reflected / ratio**2, lambda system, a: a))
        apart.append(np.max(np.abs(exact - wanted)))
    assert apart[0] > 1e-5 and apart[1] == pytest.approx(apart[0] / 10, rel=0.05)
    assert apart[2] == pytest.approx(apart[1] / 10, rel=0.05)


def test_a_disk_on_the_ground_is_its_rotor():
    both = []
    for rotor in (True, False):
        system = tm.System("wheel", gravity=(0, 0, -9.81))
        link = system.body("link", 1.0, (0.1, 0.2, 0.1), com=(0.5, 0, 0))
        system.connect("A", tm.Revolute("y"), system.ground, link)
        if rotor:
            system.connect("rotor", tm.RotorInertia(1e-3, 20.0), "A")
        else:
            disk = system.body("disk", 0.5, (1e-3, 1e-3, 1e-3))
            system.connect("spin", tm.Revolute("y"), system.ground, disk)
            system.couple("gear", tm.Mimic(20.0), "A", "spin")
        mech = system.build()
        start = mech.assemble(fix={"A": 0.2}, rates={"A": 1.0})
        both.append(mech.simulate((0, 2), start, rtol=1e-11, t_eval=[0, 1, 2]).connection("A").q)
    assert close(both[0], both[1], 1e-8)


def four_bar(rotors, role=None):
    system = tm.System("four-bar", gravity=(0, 0, -9.81))
    links = [system.body(f"link {k}", 1.0, (0.01, 0.05, 0.05), com=(0.3, 0, 0)) for k in range(3)]
    system.connect("A", tm.Revolute("y"), system.ground, links[0])
    system.connect("B", tm.Revolute("y"), links[0].at((0.3, 0, 0)), links[1])
    system.connect("D", tm.Revolute("y"), system.ground.at((0.8, 0, 0)), links[2])
    system.connect("C", tm.Revolute("y"), links[1].at((0.7, 0, 0)), links[2].at((0.6, 0, 0)), role=role)
    for name, inertia in rotors.items():
        system.connect(f"rotor {name}", tm.RotorInertia(inertia), name)
    return system.build()


@pytest.mark.parametrize("on", ["A", "C"])
def test_rotors_in_a_closed_chain_keep_its_energy(on):
    """The hinge stays a branch, or a frame carries its coordinate; the rotor slows the chain down."""
    plain, mech = four_bar({}), four_bar({on: 0.5}, "chord" if on == "C" else None)
    start = mech.assemble(fix={"A": 0.4}, guess={"B": 0.36, "D": 1.6}, rates={"A": 2.0})
    speed = start[on][1][0]
    before = plain.assemble(fix={"A": 0.4}, guess={"B": 0.36, "D": 1.6}, rates={"A": 2.0})
    assert mech.energy(start).kinetic == pytest.approx(
        plain.energy(before).kinetic + 0.25 * speed**2, rel=1e-10
    )
    run = mech.simulate((0, 3), start, rtol=1e-11, audit=True)
    assert np.ptp(run.energy.total) < 1e-7 and np.max(run.residual.position) < 1e-10
    # one freedom: the generalised inertia is twice the kinetic energy at unit rate
    by_rate = plain.forward_dynamics(before).ud / mech.forward_dynamics(start).ud[: plain.nu]
    assert not close(by_rate, np.ones(plain.nu), 1e-3)
    P, A, Q = mech.constraints(start).partials, mech.mass_matrix(start), mech.load_column(start)
    m = len(P)
    K = np.block([[A, P.T], [P, np.zeros((m, m))]])
    ud = np.linalg.lstsq(K, np.concatenate((Q, -mech.constraints(start).bias)), rcond=1e-12)[0][: mech.nu]
    assert close(mech.forward_dynamics(start).ud, ud, 1e-9)


@pytest.mark.parametrize("method", ["DOP853", "Radau", "Adams", "RK4"])
def test_every_integrator_keeps_the_energy(method):
    _, mech, _ = with_rotors(5)
    system = tm.System("arm", gravity=(0, 0, -9.81))
    body = system.body("b", 1.0, (0.1, 0.1, 0.1), com=(0.3, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, body)
    system.connect("rotor", tm.RotorInertia(0.4), "A")
    mech = system.build()
    options = {"max_step": 1e-3} if method == "RK4" else {"rtol": 1e-9}
    run = mech.simulate((0, 2), mech.state(q={"A": 0.2}), method=method, **options)
    assert np.ptp(run.energy.total) < 1e-6
    period = 2 * np.pi * np.sqrt((0.1 + 0.09 + 0.4) / (9.81 * 0.3))  # of small swings about the rest, hanging
    small = mech.simulate((0, period), mech.state(q={"A": np.pi / 2 + 1e-4}), method=method, **options)
    assert small.connection("A").q[-1] - np.pi / 2 == pytest.approx(1e-4, rel=1e-4)


def test_a_rotor_with_parameters_is_differentiated_and_kept_in_files(tmp_path):
    system = tm.System("p", gravity=(0, 0, -9.81))
    J, n = tm.Parameter("J", 1e-3), tm.Parameter("n", 20.0)
    body = system.body("b", 1.0, (0.1, 0.1, 0.1), com=(0.3, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, body)
    system.connect("rotor", tm.RotorInertia(J, n), "A")
    mech = system.build()
    state = mech.state(q={"A": 0.2})
    ud = mech.forward_dynamics(state).ud[0]
    total = 0.1 + 0.09 + 0.4
    found = mech.derivatives(state, parameters=["J", "n"])
    assert close(np.ravel(found.ud_p), [-ud * 400.0 / total, -ud * 2 * 1e-3 * 20 / total], 1e-10)
    for k in range(4):  # from the third on they are refilled, if they can be
        other = mech.with_parameters(n=10.0 + k)
        assert other.forward_dynamics(state).ud[0] == pytest.approx(
            ud * total / (0.19 + 1e-3 * (10.0 + k) ** 2), rel=1e-12
        )
    again = tm.read(system.save(tmp_path / "p.json"))
    assert again.build().forward_dynamics(state).ud[0] == ud
    assert again.wiring.elements["rotor"].element.ratio == 20.0


def test_rotors_on_one_hinge_add_up_and_a_link_without_mass_may_have_one():
    system = tm.System("light", gravity=(0, 0, -9.81))
    a, b = system.body("a", 0.0, (0, 0, 0)), system.body("b", 1.0, (0.1, 0.1, 0.1), com=(0.3, 0, 0))
    system.connect("A", tm.Revolute("x"), system.ground, a)
    system.connect("B", tm.Revolute("y"), a, b)
    for k in range(2):
        system.connect(f"rotor {k}", tm.RotorInertia(0.2), "A")
    alone = system.build()
    assert alone.mass_matrix(alone.state())[0, 0] == pytest.approx(0.1 + 0.4)


def test_what_cannot_have_a_rotor_is_refused():
    system = tm.System("s")
    body = system.body("b", 1.0, (1, 1, 1))
    system.connect("A", tm.Cylindrical(), system.ground, body)
    with pytest.raises(tm.ElementError, match="hinge 'A' .* has 2 speeds; wanted a hinge of one freedom"):
        system.connect("r", tm.RotorInertia(0.1), "A")
    with pytest.raises(tm.TopologyError, match="no hinge 'B'"):
        system.connect("r", tm.RotorInertia(0.1), "B")
    with pytest.raises(tm.TopologyError, match="has 2 ends"):
        system.connect("r", tm.RotorInertia(0.1), system.ground, body)
    with pytest.raises(tm.ElementError, match="inertia"):
        tm.RotorInertia(-0.1)
    with pytest.raises(tm.ElementError):
        system.connect("r", tm.RotorInertia(0.1), "A", inputs={"x": 1.0})


def test_other_formulations_refuse_it_by_name():
    system = tm.System("s", gravity=(0, 0, -9.81))
    body = system.body("b", 1.0, (1, 1, 1), com=(0.3, 0, 0))
    system.connect("A", tm.Revolute("z"), system.ground, body)
    system.connect("gear", tm.RotorInertia(0.1), "A")
    mech, told = system.build(), []
    state = mech.state(q={"A": 0.3})
    for name, formulation in formulations().items():
        try:
            made = formulation(system)
        except Inexpressible as error:
            told.append(str(error))
            continue
        y = made.initial(state)  # the engine's own equations have it
        assert name == "relative-recursion" and close(
            made.rhs(0.0, y)[-1], mech.forward_dynamics(state).ud[0]
        ), name
    assert sum("gear" in line for line in told) > 5, told
