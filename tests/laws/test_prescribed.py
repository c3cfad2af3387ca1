"""Prescribed coordinates (5.4), (6.3.8): the partitioned equations, drive loads, signals and their breaks."""

import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import treemech as tm
from tests.dynamics.simulation.test_integrator import gauss
from tests.support.models import KINDS, any_hinge, inertia, random_state, random_system, rotation
from tests.support.tolerances import ROUND
from treemech.dynamics.model.trace import OMEGA, VELOCITY
from treemech.dynamics.simulation.driver import legs as _legs


def signals():
    """Return one of each kind, in turn."""
    return (
        tm.Constant(0.3),
        tm.Polynomial([0.2, -0.4, 0.3, 0.1]),
        tm.Harmonic(0.5, 3.0, 0.2, 0.1),
        tm.Spline([-0.5, 0.0, 0.4, 1.1, 2.0], [0.1, 0.3, -0.2, 0.4, 0.2]),
        tm.Function(lambda t: 0.3 * np.sin(2.0 * t) * np.exp(-0.2 * t)),
    )


def plain_coordinates(hinge):
    """Return coordinates that can be prescribed: all but Euler parameters."""
    return range(hinge.n_coordinates if hinge.euler_parameters is None else hinge.euler_parameters)


def driven(seed, share=0.5, n=16, kinds=KINDS):
    """Return (system with prescriptions, the same without): some plain coordinates, all kinds of signals."""
    system, bare = random_system(seed, n, kinds), random_system(seed, n, kinds)
    rng = np.random.default_rng(seed + 50)
    kind = seed
    for name, connection in system.connections.items():
        for k in plain_coordinates(connection.element):
            if rng.uniform() < share:
                system.prescribe(name, signals()[kind % 5], coordinate=k)
                kind += 1
    return system, bare


def split(mech):
    """Return masks (prescribed, free) over the speeds."""
    s = np.zeros(mech.nu, dtype=bool)
    for _, _, u in mech._info.prescribed:
        s[u] = True
    return s, ~s


SEEDS = range(8)


def test_the_models_prescribe_every_kind_both_ways_with_every_signal():
    seen, used, translations = set(), set(), 0
    for seed in SEEDS:
        mech = driven(seed, share=1.0)[0].build()
        by_name = {c.name: c for c in mech._lagrange.hinges}
        for p in mech._prescriptions:
            c = by_name[p.hinge]
            seen.add((c.hinge.kind, c.forward))
            used.add(p.signal.kind)
            translations += c.hinge.kind == "Free"
    kinds = {"Revolute", "Prismatic", "Cylindrical", "Universal", "Planar", "Free", "BallBryant"}
    assert {(kind, forward) for kind in kinds for forward in (True, False)} <= seen
    assert used == {"Constant", "Polynomial", "Harmonic", "Spline", "Function"}
    assert translations > 2


@pytest.mark.parametrize("share", [0.2, 0.6, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_forward_dynamics_and_drive_loads_are_those_of_the_partitioned_equations(seed, share):
    system, bare = (x.build() for x in driven(seed, share))
    s, f = split(system)
    state = random_state(system, seed + 7)
    for p in system._prescriptions:  # the state follows the signals
        q, u = state[p.hinge]
        now = p.signal.at(state.t)
        assert (q[p.coordinate], u[p.coordinate]) == (now.value, now.rate)
    A, Q = bare.mass_matrix(state), bare.load_column(state)
    ud = system.forward_dynamics(state).ud
    for p, (_, _, u) in zip(system._prescriptions, system._info.prescribed, strict=True):
        assert ud[u] == pytest.approx(p.signal.at(state.t).acceleration, rel=1e-13, abs=1e-13)
    scale = max(1.0, float(np.max(np.abs(Q))), float(np.max(np.abs(A) @ np.abs(ud))))
    # free rows: A_ff ud_f + A_fs ud_s = Q_f
    assert np.max(np.abs((A @ ud - Q)[f]), initial=0.0) < ROUND * scale
    dense = ud.copy()
    dense[f] = np.linalg.solve(A[np.ix_(f, f)], Q[f] - A[np.ix_(f, s)] @ ud[s])
    condition = np.linalg.cond(A[np.ix_(f, f)]) if np.any(f) else 1.0
    assert np.max(np.abs(ud - dense)) < ROUND * condition * max(1.0, float(np.max(np.abs(dense))))
    # prescribed rows: A_sf ud_f + A_ss ud_s - Q_s
    run = system.simulate((state.t, state.t), state)
    for hinge, coordinate, u in system._info.prescribed:
        assert abs(run.drive(hinge, coordinate)[0] - (A @ ud - Q)[u]) < ROUND * scale, (hinge, coordinate)


@pytest.mark.parametrize("seed", range(3))
def test_drive_loads_along_a_motion(seed):
    system, bare = (x.build() for x in driven(seed, 0.3))
    run = system.simulate(
        (0, 0.3), replace(random_state(system, seed, speed=0.3), t=0.0), t_eval=[0.0, 0.1, 0.3]
    )
    assert run.success
    for k, t in enumerate(run.t):
        state = (t, run.q[k], run.u[k])
        A, Q = bare.mass_matrix(state), bare.load_column(state)
        want = A @ run.ud[k] - Q
        scale = max(1.0, float(np.max(np.abs(Q))), float(np.max(np.abs(A) @ np.abs(run.ud[k]))))
        for hinge, coordinate, u in system._info.prescribed:
            assert abs(run.drive(hinge, coordinate)[k] - want[u]) < ROUND * scale


def test_drive_loads_put_on_the_free_system_make_the_same_motion():
    system, bare = (x.build() for x in driven(2, 0.5))
    state = random_state(system, 1)
    run = system.simulate((state.t, state.t), state)
    loads = np.zeros(bare.nu)
    for hinge, coordinate, u in system._info.prescribed:
        loads[u] = run.drive(hinge, coordinate)[0]
    ud = bare.forward_dynamics(state, loads).ud
    A = bare.mass_matrix(state)
    assert np.max(np.abs(A @ (ud - run.ud[0]))) < ROUND * float(np.max(np.abs(A) @ np.abs(ud)))


@pytest.mark.parametrize("direction", ["forward", "reversed"])
def test_prescribed_coordinates_of_cylindrical_and_free_hinges(direction):
    def model(prescribe):
        rng = np.random.default_rng(8)
        system = tm.System("drives")
        previous = system.ground
        for k, kind in enumerate(("Free", "Cylindrical", "Cylindrical", "Ball")):
            body = system.body(f"b{k}", 1.0, inertia(rng, 1.0), com=rng.uniform(-0.2, 0.2, 3))
            ends = [
                previous.at(rng.uniform(-0.3, 0.3, 3), rotation(rng)),
                body.at((0.1, 0, 0.3), rotation(rng)),
            ]
            system.connect(
                f"{kind} {k}", any_hinge(rng, kind), *(ends if direction == "forward" else ends[::-1])
            )
            previous = body
        if prescribe:
            one, two, three, four, five = signals()
            system.prescribe("Free 0", two, coordinate=0)
            system.prescribe("Free 0", four, coordinate=2)
            system.prescribe("Cylindrical 1", three, coordinate=1)
            system.prescribe("Cylindrical 2", five, coordinate=0)
        return system.build()

    mech, bare = model(True), model(False)
    s, f = split(mech)
    assert s.sum() == 4
    state = random_state(mech, 3)
    ud, A, Q = mech.forward_dynamics(state).ud, bare.mass_matrix(state), bare.load_column(state)
    free = np.linalg.solve(A[np.ix_(f, f)], Q[f] - A[np.ix_(f, s)] @ ud[s])
    assert np.max(np.abs(A[np.ix_(f, f)] @ (ud[f] - free))) < ROUND * max(1.0, np.max(np.abs(A) @ np.abs(ud)))


def test_euler_parameters_cannot_be_prescribed():
    system = tm.System("ball")
    system.connect("ball", tm.Ball(), system.ground, system.body("b", 1.0, (1, 1, 1)))
    with pytest.raises(tm.ElementError, match="BallBryant"):
        system.prescribe("ball", 0.0)


def test_an_unknown_drive_suggests_one():
    run = cart(tm.Harmonic(0.1, 2.0)).simulate((0, 0.1))
    with pytest.raises(tm.TopologyError, match="rail"):
        run.drive("rial")


# ---------------------------------------------------------------- cost
def long_chain(n, drives=10):
    system = tm.System(f"chain {n}")
    previous = system.ground.at()
    for k in range(n):
        body = system.body(f"b{k}", 1.0, (0.01, 0.01, 0.01), com=(0, 0, -0.05))
        system.connect(f"h{k}", tm.Revolute("y" if k % 2 else "x"), previous, body)
        previous = body.at((0, 0, -0.1))
    for k in range(drives):
        system.prescribe(f"h{(2 * k + 1) * n // (2 * drives)}", tm.Harmonic(0.1, 2.0 + k))
    return system.build()


def cost(mech, count=200):
    """Return CPU time of an evaluation, the least of a few."""
    rng, least = np.random.default_rng(1), np.inf
    q, u, t = rng.normal(size=(count, mech.nq)), rng.normal(size=(count, mech.nu)), np.zeros(count)
    for _ in range(8):
        began = time.process_time()
        mech._core.accelerations(t, q, u)
        least = min(least, time.process_time() - began)
    return least / count


def test_a_tree_with_drives_stays_of_order_n():
    short, long = long_chain(100), long_chain(300)
    ratio = min(cost(long) / cost(short) for _ in range(3))
    assert ratio < 3.5
    assert cost(long) < 1.5 * cost(long_chain(300, drives=0)) + 1e-6


# ---------------------------------------------------------------- signals along a motion
def cart(signal, **options):
    """Return a pendulum under a cart that is moved along a rail."""
    system = tm.System("cart")
    body = system.body("cart", 1.0, (0.1, 0.1, 0.1))
    bob = system.body("bob", 1.0, (0, 0, 0), com=(0, 0, -1.0))
    system.connect("rail", tm.Prismatic("x"), system.ground, body)
    system.connect("pin", tm.Revolute("y"), body, bob)
    system.prescribe("rail", signal)
    return system.build(**options)


def pieces(mech, signal, start, times, rtol=1e-12):
    """Return angle and rate at the end, by hand, piece by piece, so that no step ever meets a break."""
    from scipy.integrate import solve_ivp

    y = np.array(start, dtype=float)
    for a, b in pairwise(times):
        inside = (a + 1e-13, b - 1e-13)  # one-sided values of the signal at the breaks

        def slope(t, y, inside=inside):
            x = signal.at(min(max(t, inside[0]), inside[1])).acceleration
            # bob at (x - sin(angle), -cos(angle)): turning about y takes -z to -x
            return [y[1], x * np.cos(y[0]) - 9.81 * np.sin(y[0])]

        y = solve_ivp(slope, (a, b), y, "DOP853", rtol=rtol, atol=1e-14).y[:, -1]
    return y


SPLINE = tm.Spline([0.37, 0.5, 0.81], [0.0, 0.3, 0.5])


@pytest.mark.parametrize("method", ["DOP853", "DP5"])
def test_integration_across_the_ends_of_a_spline_is_as_good_as_piece_by_piece(method):
    mech = cart(SPLINE)
    want = pieces(mech, SPLINE, (0.3, 0.0), (0.0, 0.37, 0.5, 0.81, 1.5))
    for rtol in (1e-6, 1e-8, 1e-10):
        run = mech.simulate((0, 1.5), mech.state(q={"pin": 0.3}), method, rtol=rtol)
        got = np.array([run.connection("pin").q[-1], run.connection("pin").u[-1]])
        assert np.max(np.abs(got - want)) < 300 * rtol
        assert {0.37, 0.81} <= set(run.t)  # steps end there


def test_breaks_cost_no_small_steps():
    run = cart(SPLINE).simulate((0, 1.5), rtol=1e-9, dense_output=True)
    around = [k for b in (0.37, 0.81) for k in np.flatnonzero(run.t == b)]
    assert len(around) == 2 and min(run.t[k] - run.t[k - 1] for k in around) > 1e-4
    assert run.statistics["rejected"] < 20
    q, _ = run.sol(np.array([0.37, 0.81, 1.2]))
    np.testing.assert_allclose(q[:, 0], [SPLINE.at(t).value for t in (0.37, 0.81, 1.2)], atol=1e-15)


def test_breaks_are_met_backwards_and_at_the_ends_of_the_span():
    mech = cart(SPLINE)
    start = mech.state(q={"pin": 0.3})
    there = mech.simulate((0, 1.5), start, rtol=1e-11)
    back = mech.simulate((1.5, 0), (1.5, there.q[-1], there.u[-1]), rtol=1e-11)
    assert {0.37, 0.81} <= set(back.t)
    np.testing.assert_allclose(back.q[-1], start.q, atol=1e-9)
    # the span cut at the breaks, with output there
    state, last = start, None
    for a, b in ((0.0, 0.37), (0.37, 0.81), (0.81, 1.5)):
        last = mech.simulate((a, b), state, rtol=1e-11, t_eval=[a, b])
        assert last.success and last.t.tolist() == [a, b]
        assert last.statistics["rejected"] < 20
        state = mech.state(b, last.q[-1], last.u[-1])
    np.testing.assert_allclose(last.q[-1], there.q[-1], atol=1e-9)
    output = mech.simulate((0, 1.5), start, rtol=1e-11, t_eval=[0.0, 0.37, 0.81, 1.5])
    assert output.t.tolist() == [0.0, 0.37, 0.81, 1.5]
    np.testing.assert_allclose(output.q[-1], there.q[-1], atol=1e-12)


def test_legs_cover_the_span_whatever_the_breaks():
    assert _legs(0.0, 1.0, ()) == [(0.0, 1.0, 1.0)]
    assert _legs(1.0, 1.0, (1.0,)) == [(1.0, 1.0, 1.0)]
    close = (0.5, float(np.nextafter(0.5, 1.0)), 1.0, 0.0)
    for t0, t1 in ((0.0, 1.0), (1.0, 0.0)):
        legs = _legs(t0, t1, close)
        assert legs[-1][1:] == (t1, t1) and all((b - a) * (t1 - t0) >= 0 for a, b, _ in legs)
        assert sum(abs(b - a) for a, b, _ in legs) == pytest.approx(1.0, abs=1e-15)


def test_breaks_of_a_function_are_met():
    ramp = tm.Function(lambda t: 0.5 * (t - 0.4) ** 2 if t > 0.4 else 0.0, (0.4,))
    mech = cart(ramp)
    run = mech.simulate((0, 1), mech.state(q={"pin": 0.3}), rtol=1e-10)
    want = pieces(mech, ramp, (0.3, 0.0), (0.0, 0.4, 1.0))
    assert 0.4 in run.t and run.statistics["rejected"] < 12
    assert abs(run.connection("pin").q[-1] - want[0]) < 1e-8


def test_a_jump_of_the_prescribed_rate_strikes_the_free_speeds():
    mech = cart(tm.Spline([0.0, 0.5], [0.0, 0.5], ends="natural"))  # 1 m/s, then a dead stop
    run = mech.simulate((0, 0.6), rtol=1e-9)  # the bob hangs still in the cart until then
    assert run.energy.total[-1] == pytest.approx(0.5 * 1.0**2 - 9.81, abs=1e-6)  # and keeps its speed


def test_a_jump_of_the_rate_of_a_moving_hinge_strikes_as_the_same_jump_of_a_prescribed_coordinate():
    stop = tm.Spline([0.0, 0.5], [0.0, 0.5], ends="natural")
    system = tm.System("carried cart")
    frame = system.body("cart", 2.0, (1, 1, 1))
    bob = system.body("bob", 1.0, (0.1, 0.1, 0.1), com=(0, 0, -1.0))
    system.connect("rail", tm.Moving(x=stop), system.ground, frame)
    system.connect("pin", tm.Revolute("y"), frame, bob)
    moving = system.build().simulate((0, 0.8), rtol=1e-10, t_eval=[0.7, 0.8])
    system = tm.System("driven cart")
    frame = system.body("cart", 2.0, (1, 1, 1))
    bob = system.body("bob", 1.0, (0.1, 0.1, 0.1), com=(0, 0, -1.0))
    system.connect("rail", tm.Prismatic("x"), system.ground, frame)
    system.connect("pin", tm.Revolute("y"), frame, bob)
    system.prescribe("rail", stop)
    driven = system.build().simulate((0, 0.8), rtol=1e-10, t_eval=[0.7, 0.8])
    assert abs(moving.connection("pin").u[0]) > 0.5
    np.testing.assert_allclose(moving.connection("pin").q, driven.connection("pin").q, atol=1e-8)
    np.testing.assert_allclose(moving.connection("pin").u, driven.connection("pin").u, atol=1e-8)


def test_a_prescribed_motion_that_jumps_is_refused_with_its_time():
    mech = cart(tm.Function(lambda t: 0.0 if t < 0.5 else 1.0, break_times=(0.5,)))
    with pytest.raises(tm.TreemechError, match=r"jumps from 0 to 1 at t = 0\.5 s"):
        mech.simulate((0, 1))


@pytest.mark.parametrize("signal", signals(), ids=lambda s: s.kind)
def test_results_hold_the_prescribed_motion_before_anything_else_is_asked(signal):
    mech = cart(signal)
    for options in ({}, {"t_eval": np.linspace(0, 1, 7)}):
        run = mech.simulate((0, 1), **options)
        want = np.array([signal.at(t) for t in run.t])
        np.testing.assert_allclose(run.q[:, 0], want[:, 0], atol=1e-14)  # q first: nothing else computed yet
        np.testing.assert_allclose(run.u[:, 0], want[:, 1], atol=1e-14)
        np.testing.assert_allclose(run.connection("rail").ud, want[:, 2], atol=1e-13)
        np.testing.assert_allclose(run.body("cart").position[:, 0], want[:, 0], atol=1e-14)
        np.testing.assert_allclose(run.body("cart").velocity[:, 0], want[:, 1], atol=1e-14)
    q, u = mech.simulate((0, 1), dense_output=True).sol(0.3)
    np.testing.assert_allclose((q[0], u[0]), signal.at(0.3)[:2], atol=1e-14)


# ---------------------------------------------------------------- energy
SMOOTH = (tm.Polynomial([0.2, -0.4, 0.3, 0.1]), tm.Harmonic(0.5, 3.0, 0.2, 0.1))


@pytest.mark.parametrize("seed", range(4))
def test_work_of_drives_is_the_change_of_energy(seed):
    kinds = ("Revolute", "Prismatic", "Cylindrical", "Universal", "Planar", "Ball", "Free", "Screw")
    system = random_system(seed, n=8, kinds=kinds, loads=False)
    for j, (name, connection) in enumerate(system.connections.items()):
        if plain_coordinates(connection.element) and j % 2:
            system.prescribe(name, SMOOTH[j % 4 // 2], coordinate=plain_coordinates(connection.element)[-1])
    mech = system.build()
    assert mech._prescriptions
    nodes, weights = gauss(0.0, 0.5)
    start = replace(random_state(mech, seed, speed=0.5), t=0.0)
    run = mech.simulate((0, 0.5), start, rtol=1e-11, t_eval=[0.0, *nodes, 0.5])
    assert run.success
    power = sum(run.drive(hinge, k) * run.u[:, u] for hinge, k, u in mech._info.prescribed)
    energy = run.energy.total
    assert abs(energy[-1] - energy[0] - weights @ power[1:-1]) < 1e-9 * np.max(run.energy.kinetic)


@pytest.mark.parametrize("direction", ["forward", "reversed"])
def test_work_of_a_moving_hinge_is_the_change_of_energy(direction):
    rng = np.random.default_rng(2)
    system = tm.System("shaker")
    base = system.body("base", 1.0, inertia(rng, 1.0), com=(0.1, 0.0, 0.2))
    arm = system.body("arm", 0.7, inertia(rng, 0.7), com=(0, 0.1, -0.3))
    ends = [system.ground.at((0.1, 0.2, 0.3), rotation(rng)), base.at((0.05, 0, 0.1), rotation(rng))]
    system.connect("shaker", any_hinge(rng, "Moving"), *(ends if direction == "forward" else ends[::-1]))
    system.connect("ball", tm.Ball(), base.at((0, 0, -0.2)), arm)
    mech = system.build()
    nodes, weights = gauss(0.0, 1.0, panels=40)
    run = mech.simulate(
        (0, 1), mech.state(u={"ball": [0.3, -1.0, 0.5]}), rtol=1e-11, t_eval=[0.0, *nodes, 1.0]
    )
    shaker, body = run.connection("shaker"), run.body("base")
    sign, b = (1.0, ends[1].offset) if direction == "forward" else (-1.0, None)
    if b is not None:
        velocity = body.point(b).velocity
    else:  # end b is the ground's: the point of the base that passes there
        here = ends[0].offset
        velocity = body.velocity + np.cross(body.angular_velocity, here - body.position)
    power = sign * np.sum(shaker.force * velocity + shaker.moment * body.angular_velocity, axis=1)
    energy = run.energy.total
    assert np.ptp(energy) > 0.1
    assert abs(energy[-1] - energy[0] - weights @ power[1:-1]) < 1e-9 * np.max(run.energy.kinetic)


def test_a_moving_hinge_is_a_prescribed_one_without_coordinates():
    signal = tm.Harmonic(0.2, 5.0, 0.4)
    prescribed = cart(signal)
    system = tm.System("moved")
    body = system.body("cart", 1.0, (0.1, 0.1, 0.1))
    bob = system.body("bob", 1.0, (0, 0, 0), com=(0, 0, -1.0))
    system.connect("rail", tm.Moving(x=signal), system.ground, body)
    system.connect("pin", tm.Revolute("y"), body, bob)
    moved = system.build()
    one = prescribed.simulate((0, 2), prescribed.state(q={"pin": 0.5}), rtol=1e-11, t_eval=[1.0, 2.0])
    two = moved.simulate((0, 2), moved.state(q={"pin": 0.5}), rtol=1e-11, t_eval=[1.0, 2.0])
    np.testing.assert_allclose(one.connection("pin").q, two.connection("pin").q, atol=1e-9)
    np.testing.assert_allclose(one.drive("rail"), two.connection("rail").force[:, 0], atol=1e-8)


@pytest.mark.parametrize("method", ["DOP853", "Radau", "Adams", "alpha3"])
def test_without_coordinates_states_of_elements_still_move(method):
    """A moved body stretches a standard linear solid: every method finds its force, and there are derivatives."""
    signal = tm.Harmonic(0.2, 5.0, 0.4)
    system = tm.System("moved")
    body = system.body("cart", 1.0, (0.1, 0.1, 0.1))
    system.connect("rail", tm.Moving(x=signal), system.ground.at((0.5, 0, 0)), body)
    system.connect("slow", tm.Viscoelastic(0.0, [30.0], [0.1], length=0.2), system.ground, body)
    mech = system.build()
    run = mech.simulate((0, 2), method=method, rtol=1e-8)
    # d' + d / 0.1 = a' with the force 30 d: a sinusoid after a while
    stretch = 0.1 * 5.0 * 1j / (1.0 + 0.1 * 5.0 * 1j) * 0.2 * np.exp(1j * (5.0 * 2.0 + 0.4))
    assert run.element("slow").effort[-1] == pytest.approx(30.0 * stretch.imag, abs=1e-5)
    found = mech.derivatives(mech.state())
    assert found.ud_q.shape == (0, 0) and found.x_rates_x.shape == (1, 1)
    assert found.x_rates_x[0, 0] == pytest.approx(-10.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_partials_of_bodies_have_the_columns_of_prescribed_speeds(seed):
    """Z, z0, z00 and Jacobians do not ask who drives a coordinate: they equal those of the tree without drives."""
    system, bare = (s.build() for s in driven(seed))
    state = random_state(system, seed)
    same = bare.state(state.t, state.q, state.u)
    z, want = system.attitude(state), bare.attitude(same)
    for own, other in zip(z, want, strict=True):
        np.testing.assert_allclose(own, other, rtol=0, atol=ROUND * (1.0 + np.abs(other).max()))
    tip = system.tree.bodies[-1].at((0.3, -0.2, 0.5))
    np.testing.assert_allclose(system.jacobian(tip, state), bare.jacobian(tip, same), rtol=0, atol=1e-11)
    run = system._core.trace(
        np.array([state.t]), state.q[None].copy(), state.u[None].copy(), np.zeros((1, system.nu))
    )[0][0, 1:]
    rates = np.hstack((run[:, VELOCITY], run[:, OMEGA])).ravel()
    np.testing.assert_allclose(z.partials.T @ state.u + z.drift, rates, rtol=0, atol=1e-11)


@pytest.mark.parametrize("cut", ["B", "D"])
def test_the_drive_of_a_cut_hinge_loads_prescribed_coordinates_too(cut):
    """A five-bar with one prescribed hinge: loads do not depend on which hinge is cut."""

    def made(cut):
        system = tm.System("five-bar", gravity=(0, 0, -9.81))
        links = [system.body(f"link {k}", 1.0, (0.01, 0.05, 0.05), com=(0.3, 0, 0)) for k in range(4)]
        ends = {
            "A": (system.ground, links[0]),
            "B": (links[0].at((0.6, 0, 0)), links[1]),
            "C": (links[1].at((0.7, 0, 0)), links[2].at((0.7, 0, 0))),
            "D": (links[3].at((0.6, 0, 0)), links[2]),
            "E": (system.ground.at((0.8, 0, 0)), links[3]),
        }
        for name, (a, b) in ends.items():
            system.connect(name, tm.Revolute("y"), a, b, role="chord" if name == cut else "branch")
        system.prescribe("A", tm.Polynomial([-2.0, 1.0, 0.7]))
        return system.build()

    reference, mech = made("C"), made(cut)
    guess = {"B": 1.2, "D": -1.0}
    state = reference.assemble(fix={"E": -1.1}, guess=guess, rates={"E": -0.6})
    same = mech.assemble(fix={"E": -1.1}, guess={n: state[n][0] for n in "BCD"}, rates={"E": -0.6})
    np.testing.assert_allclose(same["D"][0], state["D"][0], atol=1e-9)
    ud, actuated = {"E": -1.0}, ["A", "E", cut]
    want, have = (m.drive_loads(s, ud, actuated) for m, s in ((reference, state), (mech, same)))
    for name in actuated:
        np.testing.assert_allclose(have[name], want[name], rtol=1e-9)
