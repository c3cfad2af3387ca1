"""Sol's fuel injection pump: the formulas of chapter 9 written out, and a second model by hand."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import treemech as tm
from tests.support.pump_by_hand import Pump
from treemech.benchmarks.problems.machines import pump
from treemech.benchmarks.problems.machines.pump_results import film, radius, rolling, shape

RATE = 1000 * np.pi / 30
TURNS = np.radians(
    [
        100.0,
        104.0,
        120.0,
        137.0,
        138.0,
        150.0,
        157.0,
        159.0,
        180.0,
        200.0,
        203.0,
        215.0,
        222.0,
        223.0,
        240.0,
        256.0,
        300.0,
        410.0,
    ]
)


@pytest.fixture(scope="module")
def kinematic():
    return pump.system(films=False).build()


@pytest.fixture(scope="module")
def run():
    """A revolution of the dynamic model."""
    mech = pump.system().build()
    return mech.simulate((0.0, 0.06), pump.state(mech), "Radau", 1e-8, t_eval=np.linspace(0.0, 0.06, 121))


# ---------------------------------------------------------------- topology
def test_graph_and_matrices_are_those_of_9_2_1_with_its_first_chord_corrected(kinematic):
    """Printed, the first column of S^C joins B0 and B1; constraint C1 joins the cam B1 and the roller B2."""
    S, SC = kinematic.location_matrix(), kinematic.location_matrix(chords=True)
    assert_array_equal(S, [[-1, 0, -1], [1, -1, 0], [0, 1, 0], [0, 0, 1]])
    assert_array_equal(SC[0], [0, 0])
    assert_array_equal(SC[1:], [[-1, 0], [1, -1], [0, 1]])
    printed = np.array([[1, 0], [0, -1], [0, 1]])
    assert_array_equal(SC[1:, 1], printed[:, 1])
    assert np.any(SC[1:, 0] != printed[:, 0])
    assert_array_equal(kinematic.tree_matrix(), [[1, 1, 0], [0, 1, 0], [0, 0, 1]])
    assert_array_equal(kinematic.tree.parent[1:], [0, 1, 0])
    assert [c.name for c in kinematic.tree.chords] == ["cam", "pin"]
    assert kinematic.coordinates == ["shaft", "roller[0]", "roller[1]", "roller[2]", "plunger"]


def test_with_films_only_the_contact_is_left_of_the_chords():
    mech = pump.system().build()
    assert [c.name for c in mech.tree.chords] == ["cam"]
    assert_array_equal(mech.location_matrix(chords=True)[:, 0], [0, -1, 1, 0])


def test_freedoms_are_those_of_9_2_13(kinematic):
    """Two of position, of which the shaft is prescribed; the nonholonomic row leaves none of velocity."""
    mobility = kinematic.mobility(pump.state(kinematic))
    assert mobility.rank == 3
    assert 5 - mobility.rank == 2
    assert (mobility.dof, mobility.admissible) == (1, 0)


# ---------------------------------------------------------------- kinematics, section 9.2
def by_the_thesis(turn, rate):
    """q, q', q'' after (9.2.15) to (9.2.18), q4 left out; q1 = -turn, q1'' = 0, and the terms these use."""
    q1, u1, a1 = -turn, -rate, 0.0
    q2 = np.pi / 2 - q1  # (9.2.15)
    r = radius(turn)
    q3, q5 = r.value, r.value - (pump.BASE + pump.ROLLER)
    c12, s12 = np.cos(q1 + q2), np.sin(q1 + q2)
    UT14 = UT24 = -s12 * q3  # (9.2.6)
    UT16 = UT26 = c12 * q3
    UT34, UT36 = c12, s12
    P12 = r.slope
    u2 = -UT14 * u1 / (UT24 + UT34 * P12)  # (9.2.17)
    u3 = P12 * u2
    size = np.hypot(q3, r.slope)
    P22, P23 = q3 * q3 / size, r.slope / size  # along the tangent: r' e_r + r e_phi
    u4 = (P22 * u2 + P23 * u3) / pump.ROLLER
    u5 = UT16 * u1 + UT26 * u2 + UT36 * u3
    P001 = r.bend * u2**2
    TU004 = -q3 * c12 * (u1 + u2) ** 2 - 2 * s12 * (u1 + u2) * u3
    TU006 = -q3 * s12 * (u1 + u2) ** 2 + 2 * c12 * (u1 + u2) * u3
    a2 = -(UT14 * a1 + TU004 + UT34 * P001) / (UT24 + UT34 * P12)  # (9.2.18)
    a3 = P12 * a2 + P001
    d_size = (q3 * r.slope + r.slope * r.bend) / size
    dP22 = (2 * q3 * r.slope - P22 * d_size) / size * u2
    dP23 = (r.bend - P23 * d_size) / size * u2
    P002 = dP22 * u2 + dP23 * u3
    a4 = (P22 * a2 + P23 * a3 + P002) / pump.ROLLER
    a5 = UT16 * a1 + TU006 + UT26 * a2 + UT36 * a3
    rows = np.array([
        [0, P12, -1, 0, 0], [UT14, UT24, UT34, 0, 0], [UT16, UT26, UT36, 0, -1], [0, P22, P23, -pump.ROLLER, 0]
    ])  # fmt: skip
    return (q1, q2, q3, q5), (u1, u2, u3, u4, u5), (a1, a2, a3, a4, a5), rows, (P001, TU004, TU006, P002)


def test_the_motion_is_that_of_9_2_15_to_9_2_18(kinematic):
    run = kinematic.kinematics((TURNS - pump.START) / RATE, pump.state(kinematic))
    assert run.success, run.message
    for k, turn in enumerate(TURNS):
        q, u, a, _, _ = by_the_thesis(turn, RATE)
        assert_allclose(run.q[k, [0, 1, 2, 4]], q, rtol=1e-10, atol=1e-13)
        assert_allclose(run.u[k], u, rtol=1e-10, atol=1e-11)
        assert_allclose(
            run.ud[k], a, rtol=1e-10, atol=1e-7
        )  # of 1e4: the biases are differences of terms like that


def test_the_rows_span_those_of_9_2_10_to_9_2_12(kinematic):
    """The library's rows are normalized and turned; the accelerations they leave free are the same."""
    run = kinematic.kinematics((TURNS - pump.START) / RATE, pump.state(kinematic))
    for k, turn in enumerate(TURNS):
        _, u, _, rows, bias = by_the_thesis(turn, RATE)
        found = kinematic.constraints(run.state(k))
        P = found.partials
        assert np.linalg.matrix_rank(P, tol=1e-9) == np.linalg.matrix_rank(rows[:3]) + 1 == 4
        combination = np.linalg.lstsq(rows.T, P.T, rcond=None)[0].T
        assert_allclose(combination @ rows, P, atol=1e-10)
        assert_allclose(rows @ u, 0.0, atol=1e-10)
        assert_allclose(combination @ np.array(bias), found.bias, rtol=1e-10, atol=1e-9 * RATE**2)


def test_speeds_between_print_and_closed_form(kinematic):
    """What section 9.2 says of figures 9.6 and 9.7, and the closed forms of the extremes."""
    s, R, r = shape(), pump.BASE + pump.ROLLER, pump.ROLLER
    speed = {turn: RATE * rolling(turn)[0] for turn in (1.0, s.line_ends - 1e-9, np.pi)}
    assert_allclose(list(speed.values()), [RATE * R / r, 360.0, RATE * (R + pump.LIFT) / r], rtol=1e-6)
    psi = s.line_ends - pump.LINE
    assert radius(s.line_ends - 1e-12).bend * RATE**2 == pytest.approx(
        R / np.cos(psi) * (1 + 2 * np.tan(psi) ** 2) * RATE**2
    )
    assert radius(pump.LINE + 1e-12).bend * RATE**2 == pytest.approx(307.05, abs=0.01)
    assert radius(s.line_ends - 1e-12).bend * RATE**2 == pytest.approx(725.52, abs=0.01)
    assert radius(s.line_ends + 1e-9).bend * RATE**2 == pytest.approx(-842.58, abs=0.01)
    assert radius(s.top_begins - 1e-9).bend * RATE**2 == pytest.approx(-679.46, abs=0.01)


@pytest.mark.parametrize("turn", [1.0, 2.0, 2.2, 2.5, 2.7, 3.0, 3.6, 3.7, 4.2, 4.4])
def test_derivatives_of_the_radius(turn):
    h = 1e-5
    low, here, high = radius(turn - h), radius(turn), radius(turn + h)
    assert here.slope == pytest.approx((high.value - low.value) / (2 * h), abs=1e-8)
    assert here.bend == pytest.approx((high.slope - low.slope) / (2 * h), abs=1e-7)
    assert rolling(turn)[1] == pytest.approx(
        (rolling(turn + h)[0] - rolling(turn - h)[0]) / (2 * h), abs=1e-7
    )


def test_the_profile_touches_the_roller_where_the_radius_says():
    cam = pump.cam()
    for turn in TURNS:
        phi, r = turn + np.pi / 2, radius(turn)
        x, y = r.value * np.cos(phi), r.value * np.sin(phi)
        assert cam.curvature(x, y) == pytest.approx(r.curvature, abs=1e-9)
        gaps = [np.hypot(*np.subtract(cam.point(s)[:2], (x, y))) for s in np.linspace(0, cam.length, 4001)]
        assert min(gaps) == pytest.approx(pump.ROLLER, abs=1e-7)


# ---------------------------------------------------------------- dynamics, section 9.3
def test_films_of_the_run_are_those_by_hand(run):
    hand, traction, bearing = Pump(pump), run.element("ehd"), run.element("hd")
    for k in range(1, len(run.t), 4):
        q, u = run.q[k], run.u[k]
        # q3 as it is: closed to 2e-15 m, where 1e-15 m change the film's force by 1e-9
        _, l = hand.loads(run.t[k], np.array([*q[[1, 3, 4]], *u[[1, 3, 4]]]), q[2])
        assert_allclose(bearing.force[k, 1, :2], l["hd"], atol=1e-9 * np.linalg.norm(l["hd"]))
        # slip is a difference of speeds of 4 m/s: under the fuel's pressure 1e-12 m/s of it carry 1e-6 N
        assert_allclose(np.linalg.norm(traction.force[k, 1]), abs(l["traction"]), rtol=1e-8, atol=3e-6)
        assert_allclose(np.linalg.norm(run.connection("cam").force[k]), l["contact"], rtol=1e-9)


def test_equations_of_motion_are_those_of_9_3_3_to_9_3_7(run):
    """Under the loads of the films; the multiplier of the thesis is -cos(alpha - q2) times the normal load."""
    mech, hand = pump.system().build(), Pump(pump)
    m2, J2, m3 = hand.m2, hand.J2, hand.m3
    cam, found = mech.info.bodies[1], run.connection("cam").force
    J1 = cam.inertia[2][2] + cam.mass * (cam.com[0] ** 2 + cam.com[1] ** 2)
    ehd, hd, drive = run.element("ehd"), run.element("hd"), run.drive("shaft")
    for k in range(1, len(run.t), 4):
        q, u = run.q[k], run.u[k]
        q3, u3, swing = q[2], u[2], u[0] + u[1]
        A = np.array([
            [m2 * q3**2 + J1 + J2, m2 * q3**2, 0, J2, 0], [m2 * q3**2, m2 * q3**2, 0, 0, 0],
            [0, 0, m2, 0, 0], [J2, 0, 0, J2, 0], [0, 0, 0, 0, m3],
        ])  # (9.3.3)  # fmt: skip
        assert_allclose(mech.mass_matrix(run.state(k)), A, rtol=1e-10, atol=1e-18)
        r = radius(q[1] - np.pi / 2)
        P001, P12, size = r.bend * u[1] ** 2, r.slope, np.hypot(r.value, r.slope)
        cos_a, sin_a = r.value / size, -r.slope / size  # of alpha - q2
        c12, s12 = np.cos(q[0] + q[1]), np.sin(q[0] + q[1])
        along = np.array([P12 * c12 - q3 * s12, P12 * s12 + q3 * c12]) / size
        F, B = -ehd.force[k, 1, :2] @ along, hd.force[k, 0, :2]  # on the roller: F against `along`
        moment = hd.moment[k, 0, 2]
        around = B[1] * c12 - B[0] * s12
        inertia = np.array([-2 * m2 * q3 * u3 * swing, m2 * q3 * swing**2, 0.0, 0.0])
        internal = np.array([  # (9.3.5); printed, the bearing's terms of the first row have the other sign
            q3 * (-F * cos_a + around), F * sin_a + B[0] * c12 + B[1] * s12, pump.ROLLER * F + moment,
            -B[1] - 30e3 * (q[4] + 0.01),
        ])  # fmt: skip
        Q = inertia + internal + [0, 0, 0, -float(hand.fuel(-q[0]))]
        # (9.3.7) with q1'' = 0, and beta = 0: the library closes the chain at every step
        multiplier = (-m2 * q3**2 * P001 + q3**2 * Q[1] - P12 * Q[0]) / (P12**2 + q3**2)
        ud = np.array([
            (P12 * multiplier + Q[0]) / (m2 * q3**2), (Q[1] - multiplier) / m2, Q[2] / J2, Q[3] / m3
        ])  # fmt: skip
        scale = np.array([1e3 / (m2 * q3), 1e3 / m2, 1.0 / J2, 1e3 / m3])  # of 1000 N and of 1 N m
        assert np.max(np.abs(run.ud[k, 1:] - ud) / scale) < 1e-10
        # (9.3.9) says -load; so it is on the circles, where cos = 1
        assert multiplier == pytest.approx(-np.linalg.norm(found[k]) * cos_a, rel=1e-10)
        Q1 = m2 * q3**2 * ud[0] + J2 * ud[2]  # the total load, (6.3.8)
        wanted = Q1 - inertia[0] - q3 * around - moment
        assert drive[k] == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_the_multiplier_does_not_depend_on_the_traction(run):
    """What (9.3.11) leaves of the traction: q3^2 Q3 - P12 Q2 has q3 F (q3 sin + P12 cos), which is zero. So Newton needs one step."""
    hand = Pump(pump)
    for k in range(0, len(run.t), 10):
        q, u = run.q[k].copy(), run.u[k].copy()
        loads = []
        for faster in (0.9, 1.0, 1.1):  # another slip
            y = np.array([*q[[1, 3, 4]], u[1], faster * u[3], u[4]])
            _, l = hand.loads(run.t[k], y)
            r = radius(q[1] - np.pi / 2)
            size = np.hypot(r.value, r.slope)
            Q2, Q3 = -r.value * l["traction"] * r.value / size, -l["traction"] * r.slope / size
            loads.append(l["traction"])
            assert abs(r.value**2 * Q3 - r.slope * Q2) < 1e-12 * max(abs(l["traction"]), 1e-3)
        assert loads[0] > loads[1] > loads[2]


def test_second_model_by_hand_agrees():
    """Through tangent line, transition circle and pressure pulse; other coordinates, Newton's equations, scipy."""
    mech = pump.system().build()
    start, times = pump.state(mech), np.linspace(0.0, 9e-3, 10)
    ours = mech.simulate((0.0, times[-1]), start, "Radau", 1e-10, t_eval=times)
    compare(ours, start, times, 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"clearance": 12e-6}], ids=str)
def test_second_model_by_hand_agrees_over_the_whole_lift(options):
    mech = pump.system(**options).build()
    start, times = pump.state(mech), np.linspace(0.0, 28e-3, 29)
    ours = mech.simulate((0.0, times[-1]), start, "Radau", 1e-10, t_eval=times)
    compare(ours, start, times, 1e-8, **options)


def compare(ours, start, times, rtol, **options):
    assert ours.success, ours.message
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # scipy's differences of an angle overflow
        y = Pump(pump, **options).simulate(start, times, rtol)
    q, u = ours.q[:, [1, 3, 4]], ours.u[:, [1, 3, 4]]
    assert np.max(np.abs(y[:, :3] - q) / np.max(np.abs(q), axis=0)) < 1e-6
    assert np.max(np.abs(y[:, 3:] - u) / np.max(np.abs(u), axis=0)) < 1e-6
    e = ours.element("hd").deformation
    by_hand = [Pump(pump, **options).loads(t, row)[1]["e"] for t, row in zip(times, y, strict=True)]
    assert_allclose(np.linalg.norm(by_hand, axis=1), np.linalg.norm(e, axis=1), rtol=1e-6)


def test_the_films_only_lose_energy():
    mech = pump.system().build()
    run = mech.simulate(
        (0.0, 0.06), pump.state(mech), "Radau", 1e-8, t_eval=np.linspace(0.0, 0.06, 61), audit=True
    )
    for name in ("ehd", "hd"):
        assert np.all(np.diff(run.audit[name].dissipated) >= 0.0)
    assert run.audit["shaft"].supplied[-1] > 0.0


def test_slip_of_a_third_at_the_top_is_out_of_reach():
    """The roller never turns faster than the fastest rolling, 360: slip backwards at the top is 12 % of the film's speed at most."""
    r, top = pump.ROLLER, (pump.BASE + pump.LIFT) * RATE  # speed of the cam's surface
    fastest = r * (pump.FASTEST - RATE)
    assert 2 * (fastest - top) / (fastest + top) == pytest.approx(0.118, abs=1e-3)
    # forwards: the roller would still turn at 267 rad/s, having come from 245, and would not have been overtaken at -145 degrees
    slow = top * (2 - 0.33) / (2 + 0.33)
    assert slow / r + RATE == pytest.approx(267, abs=1)


@pytest.mark.parametrize("pressure", [20e6, 80e6])
def test_usual_fuel_pressures_take_no_more_steps(pressure):
    """Barus' law alone makes the film so stiff from 20 MPa that the integration crawls."""
    steps, stress = [], []
    for p in (4.7e6, pressure):
        mech = pump.system(pressure=p).build()
        run = mech.simulate(
            (0.0, 0.06), pump.state(mech), "Radau", 1e-7, t_eval=np.linspace(0.0, 0.06, 361), max_steps=5000
        )
        assert run.success, run.message
        steps.append(run.statistics["steps"])
        stress.append(np.max(film(run).stress))
        assert np.max(np.abs(run.element("hd").deformation)) < 6e-6
    assert steps[1] < 1.5 * steps[0]
    # the load is spring, inertia and fuel: Hertz's stress grows with its root
    assert stress[1] == pytest.approx(np.sqrt(stress[0] ** 2 + (pressure - 4.7e6) * AREA), rel=0.02)


AREA = np.pi * 5e-3**2 / pump.WIDTH * (1 / pump.ROLLER + 1 / shape().small) * 1.154e11 / np.pi


# ---------------------------------------------------------------- the cam only pushes
FAST = 1500.0  # rpm at which the spring is too weak


def load_of_a_cam_that_pulls(rpm):
    mech = pump.system(rpm=rpm, lifts=False).build()
    end = 0.008 * 1000.0 / rpm
    run = mech.simulate((0.0, end), pump.state(mech), "Radau", 1e-8, t_eval=np.linspace(0.0, end, 801))
    roller = run.body("roller")
    outward = roller.position / np.linalg.norm(roller.position, axis=1)[:, None]
    return run.t, np.sum(run.connection("cam").force * outward, axis=1)


def gap(q):
    """Distance of the roller from its path around the cam, along the normal of the path, by the closed forms."""
    path = radius(q[1] - np.pi / 2)
    return (q[2] - path.value) * path.value / np.hypot(path.value, path.slope)


def normal_speed(q, u):
    """Return the speed at which the gap opens, and the speed of the cam's surface along the normal, there."""
    path = radius(q[1] - np.pi / 2)
    size = np.hypot(path.value, path.slope)
    return (u[2] - path.slope * u[1]) * path.value / size, -u[0] * path.slope * path.value / size


@pytest.fixture(scope="module")
def flying():
    """A revolution at which the roller leaves the cam and lands, twice."""
    mech, end = pump.system(rpm=FAST).build(), 60.0 / FAST
    times = np.linspace(0.0, end, 721)
    return mech.simulate((0.0, end), pump.state(mech), "Radau", 1e-8, t_eval=times, audit=True)


def test_where_contact_holds_nothing_changes():
    """At 1000 rpm the load stays above 249 N: the run is that of a cam that might pull, to the bit."""
    runs = []
    for lifts in (True, False):
        mech = pump.system(lifts=lifts).build()
        times = np.linspace(0.0, 0.03, 31)
        runs.append(mech.simulate((0.0, 0.03), pump.state(mech), "Radau", 1e-8, t_eval=times))
    assert not runs[0].switched
    assert_array_equal(runs[0].q, runs[1].q)
    assert_array_equal(runs[0].u, runs[1].u)


def test_the_roller_leaves_the_cam_where_it_would_have_to_pull(flying):
    t, load = load_of_a_cam_that_pulls(FAST)
    first = np.flatnonzero(load < 0.0)[0]
    assert [s.holds for s in flying.switched] == [False, True, False, True]
    assert t[first - 1] <= flying.switched[0].t <= t[first] and load[first - 1] > 500.0
    # the load jumps to a pull where the tangent line ends and deceleration begins
    turn = 100.0 + 6.0 * FAST * flying.switched[0].t
    assert turn == pytest.approx(np.degrees(shape().line_ends), abs=0.01)


def test_it_flies_above_the_cam_and_lands_on_it(flying):
    off, on = flying.switched[0].t, flying.switched[1].t
    gaps = np.array([gap(q) for q in flying.q])
    force = np.linalg.norm(flying.connection("cam").force, axis=1)
    in_air = np.zeros(len(flying.t), bool)
    for a, b in zip(flying.switched[::2], flying.switched[1::2], strict=True):
        in_air |= (flying.t > a.t) & (flying.t < b.t)
    assert np.max(gaps[(flying.t > off) & (flying.t < on)]) > 5e-5 and np.min(gaps) > -1e-11
    assert np.all(force[in_air] == 0.0) and np.all(force[~in_air] > 0.0)
    assert np.max(np.abs(gaps[~in_air])) < 1e-11
    # no tie, no traction: the moment on the roller is the drag of the oil in the bearing, and it turns on by inertia
    own = flying.connection("roller").ud[:, 2]
    drag = flying.element("hd").moment[:, 0, 2]
    inertia = pump.system().build().info.bodies[2].inertia[2][2]
    assert_allclose(own[in_air] * inertia, drag[in_air], rtol=1e-4, atol=1e-6)


def test_power_balance_in_contact_and_in_flight_and_what_a_landing_takes(flying):
    """A landing is an impact without rebound on the roller alone: E+ - E- = m (Vc^2 - w^2) / 2 along the normal."""
    stored = flying.energy.kinetic + flying.energy.potential
    left = stored - sum(part.work for part in flying.audit.values())
    scale = float(np.max(flying.energy.kinetic))
    at = np.searchsorted(flying.t, [s.t for s in flying.switched if s.holds])
    smooth = np.delete(np.diff(left), at - 1)
    assert np.max(np.abs(smooth)) < 1e-6 * scale
    mass = flying.info.bodies[2].mass
    for k, landing in zip(at, [s.t for s in flying.switched if s.holds], strict=True):
        mech = pump.system(rpm=FAST).build()
        before = mech.simulate((0.0, landing - 1e-9), pump.state(mech), "Radau", 1e-8)
        rate, cam = normal_speed(before.q[-1], before.u[-1])
        assert rate < -0.1
        assert left[k] - left[k - 1] == pytest.approx(0.5 * mass * (cam**2 - (cam + rate) ** 2), rel=2e-3)


@pytest.mark.parametrize("rpm, rtol", [(1350.0, 1e-7), (1800.0, 1e-8), (2300.0, 1e-8)])
def test_the_instant_of_letting_go_may_lie_between_two_ticks_of_time(rpm, rtol):
    """At the end of the top circle the load falls by 1e10 N/s: a billionth of a usual step is finer than time is."""
    mech = pump.system(rpm=rpm).build()
    run = mech.simulate((0.0, 60.0 / rpm), pump.state(mech), "Radau", rtol, max_steps=5000)
    assert run.success, run.message
    assert [s.holds for s in run.switched] == [False, True, False, True]
    edges = np.degrees([shape().line_ends, 2 * np.pi - shape().top_begins])
    off = [100.0 + 6.0 * rpm * s.t for s in run.switched[::2]]
    assert off[0] == pytest.approx(edges[0], abs=0.01) and off[1] > edges[1] - 0.01
    assert min(gap(q) for q in run.q) > -1e-11
    outward = run.body("roller").position / np.linalg.norm(run.body("roller").position, axis=1)[:, None]
    assert np.min(np.sum(run.connection("cam").force * outward, axis=1)) >= 0.0


@pytest.mark.parametrize("restitution", [0.0, 0.3])
def test_a_landing_follows_the_law_of_impact(restitution):
    """Small rebounds are left out: the plunger's film throws the light roller back ever sooner."""
    mech = pump.system(rpm=FAST).build()
    landing = tm.Impact.of("cam", restitution=restitution, at_rest=0.05)
    run = mech.simulate((0.0, 0.007), pump.state(mech), "Radau", 1e-8, events=landing)
    assert run.success and [s.holds for s in run.switched] == [False, True]
    event = run.events[0]
    before, after = event.states[0], event.after[0]
    was, _ = normal_speed(before.q, before.u)
    now, _ = normal_speed(after.q, after.u)
    assert was < -0.1 and now == pytest.approx(-restitution * was, abs=1e-9)
    # the plunger is not struck: the film between it and the roller carries no impulse
    assert before["plunger"][1] == after["plunger"][1]
    assert len(event.t) == (1 if restitution == 0.0 else 2)  # the rebound lands, and rests


def test_a_faster_shaft_lets_go_sooner():
    """At 1350 rpm the spring holds the roller for a while on the transition circle; faster, it lets go where that begins."""
    turns = []
    for rpm in (1350.0, 1500.0, 3000.0):
        mech, end = pump.system(rpm=rpm).build(), 12.0 / rpm
        run = mech.simulate((0.0, end), pump.state(mech), "Radau", 1e-7)
        turns.append(100.0 + 6.0 * rpm * run.switched[0].t)
    edge = np.degrees(shape().line_ends)
    assert turns[0] > edge and turns[1:] == pytest.approx([edge, edge], abs=0.05)
