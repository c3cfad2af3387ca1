"""Springs between points: closed forms, tables, one-sided ones, and ends that coincide."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.interpolate import CubicSpline

import treemech as tm
from tests.support.energetic_laws import at_rest
from tests.support.tolerances import ROUND

INTEGRATION = 1e-7  # runs at rtol 1e-10, a few periods
ROWS = np.array([(0.5, -7.0), (0.8, -2.0), (1.1, 0.5), (1.3, 4.0), (2.0, 6.0)])


def slider(element, mass=2.0, at=1.5, speed=0.0, gravity=0.0, t=3.0, **options):
    """A mass on a straight guide along x, joined to the origin of the ground by the element."""
    system = tm.System("slider", gravity=(-gravity, 0, 0))
    body = system.body("mass", mass=mass, inertia=(1, 1, 1))
    system.connect("S", tm.Prismatic("x"), system.ground, body)
    system.connect("spring", element, system.ground, body)
    mech = system.build()
    return mech.simulate((0, t), mech.state(q={"S": at}, u={"S": speed}), rtol=1e-10, atol=1e-12, **options)


def tension(element, length):
    """Tension of an element whose ends rest at a distance."""
    return -element.at(at_rest(element, [(0, 0, 0), (length, 0, 0)])).force[1, 0]


def test_damped_oscillation_about_a_loaded_length():
    m, k, c, force, l0 = 2.0, 50.0, 3.0, 4.0, 1.0
    run = slider(
        tm.Spring(stiffness=k, damping=c, length=l0, force=force), m, at=1.5, t_eval=np.linspace(0, 3, 31)
    )
    rest, a = l0 - force / k, c / (2 * m)
    w = np.sqrt(k / m - a * a)
    x0 = 1.5 - rest
    x = rest + np.exp(-a * run.t) * x0 * (np.cos(w * run.t) + a / w * np.sin(w * run.t))
    assert_allclose(run.connection("S").q, x, atol=INTEGRATION)
    assert_allclose(run.element("spring").deformation, x - l0, atol=INTEGRATION)


def test_rope_is_slack_then_half_a_period_tight():
    m, k, v, gap = 2.0, 50.0, 1.2, 0.6
    out = slider(
        tm.Spring(stiffness=k, length=1.0, only="tension"), m, at=1.0 - gap, speed=v, t=2.0, max_step=0.01
    )
    tight = np.pi * np.sqrt(m / k)
    back = out.t > gap / v + tight + 0.01
    assert back.any()
    assert_allclose(out.connection("S").u[back], -v, rtol=1e-6)  # the load has a corner at the rope's length
    line = 1.0 - v * (out.t[back] - gap / v - tight)
    assert_allclose(out.connection("S").q[back], line, atol=1e-6)


@pytest.mark.parametrize("only, sign", [("tension", 1.0), ("compression", -1.0)])
def test_one_sided_spring_never_acts_the_other_way_damper_included(only, sign):
    spring = tm.Spring(stiffness=10.0, damping=5.0, length=1.0, only=only)
    rng = np.random.default_rng(1)
    seen = []
    for _ in range(200):
        motion = at_rest(spring, [(0, 0, 0), (rng.uniform(0.5, 1.5), 0, 0)])
        motion.velocity[1, 0] = rng.normal()
        load = spring.at(motion)
        seen.append(sign * load.effort[0])
        if sign * load.deformation[0] < 0:
            assert load.effort[0] == 0.0 and load.energy[0] == 0.0
    assert min(seen) >= 0.0 and max(seen) > 1.0


def test_buffer_dropped_upon_stops_at_the_height_of_its_energy():
    m, k, g, height = 1.5, 400.0, 9.81, 0.4
    run = slider(
        tm.Spring(stiffness=k, length=1.0, only="compression"),
        m,
        at=1.0 + height,
        gravity=g,
        t=0.5,
        max_step=0.005,
    )
    depth = (m * g + np.sqrt((m * g) ** 2 + 2 * k * m * g * height)) / k
    assert_allclose(run.connection("S").q.min(), 1.0 - depth, atol=1e-4)  # the lowest of samples 5 ms apart
    total = run.energy.total
    assert np.ptp(total) < 1e-6 * np.abs(total).max()


def test_straight_table_is_a_linear_spring():
    line = tm.TableSpring([(0.5, -20.0), (1.5, 20.0)])
    spring = tm.Spring(stiffness=40.0, length=1.0)
    assert line.length == pytest.approx(1.0, rel=ROUND)
    for length in (0.1, 0.5, 0.9, 1.4, 3.0):
        motion = at_rest(line, [(0, 0, 0), (length, 0, 0)])
        assert_allclose(line.at(motion).force, spring.at(motion).force, atol=40 * ROUND)
        assert_allclose(line.at(motion).energy, spring.at(motion).energy, atol=40 * ROUND)


def test_spline_goes_through_its_table_and_is_smooth():
    spring = tm.TableSpring(ROWS)
    spline = CubicSpline(*ROWS.T, bc_type="natural")
    for length in np.linspace(0.5, 2.0, 40):
        assert_allclose(tension(spring, length), spline(length), rtol=1e-11, atol=1e-11)
    h = 1e-3
    for knot in ROWS[:, 0]:  # C2, also where the straight continuation begins
        second = [
            (tension(spring, x - h) - 2 * tension(spring, x) + tension(spring, x + h)) / h**2
            for x in (knot - h, knot + h)
        ]
        assert abs(second[1] - second[0]) < 3 * h * np.abs(spline.c[0]).max() * 6


def test_linear_table_is_linear_between_rows_and_beyond():
    spring = tm.TableSpring(ROWS, interpolation="linear")
    for x in (0.5, 0.7, 1.0, 1.25, 1.7, 2.0):
        assert_allclose(tension(spring, x), np.interp(x, *ROWS.T), atol=10 * ROUND)
    assert_allclose(tension(spring, 3.0), 6.0 + 2.0 / 0.7, rtol=ROUND)
    assert_allclose(tension(spring, 0.2), -7.0 - 0.3 * 5.0 / 0.3, rtol=ROUND)


@pytest.mark.parametrize("interpolation", ["spline", "linear"])
def test_energy_of_a_table_is_its_integral(interpolation):
    spring = tm.TableSpring(ROWS, interpolation=interpolation)
    for x in (0.3, 0.9, 1.6, 2.4):
        knots = [k for k in ROWS[:, 0] if min(x, spring.length) < k < max(x, spring.length)]
        work = quad(lambda l: tension(spring, l), spring.length, x, points=knots or None)[0]
        assert_allclose(spring.at(at_rest(spring, [(0, 0, 0), (0, x, 0)])).energy[0], work, atol=1e-9)


def test_duffing_oscillator_from_a_table_has_the_period_of_its_energy():
    stretch = np.linspace(-1, 1, 401)
    table = np.column_stack((3.0 + stretch, 8.0 * stretch + 20.0 * stretch**3))
    amplitude, m = 0.5, 2.0

    def slowness(angle):  # dt = dx / v with x = A sin(angle), v^2 = (A^2 - x^2) (8 + 10 (A^2 + x^2)) / m
        x2 = (amplitude * np.sin(angle)) ** 2
        return np.sqrt(m / (8.0 + 10.0 * (amplitude**2 + x2)))

    period = 4 * quad(slowness, 0, np.pi / 2)[0]
    run = slider(tm.TableSpring(table), m, at=3.0 + amplitude, t=3 * period, t_eval=[3 * period])
    assert_allclose(
        run.connection("S").q[-1], 3.5, atol=1e-6
    )  # the natural end of the spline, 0.005 wide, is off
    assert_allclose(run.connection("S").u[-1], 0.0, atol=1e-5)


def test_damping_table_acts_on_the_rate():
    spring = tm.TableSpring(
        [(0.0, 0.0), (1.0, 0.0)], damping_table=[(-1, -2), (0, 0), (1, 6), (2, 7)], interpolation="linear"
    )
    for rate, wanted in ((-0.5, -1.0), (0.5, 3.0), (1.5, 6.5), (3.0, 8.0)):
        motion = at_rest(spring, [(0, 0, 0), (0, 0, 1)])
        motion.velocity[1, 2] = rate
        load = spring.at(motion)
        assert_allclose(load.force[1, 2], -wanted, rtol=ROUND)
        assert_allclose(load.dissipated[0], wanted * rate, rtol=ROUND)


def joined(element):
    """A free point mass at the place where the ground end of the element is."""
    system = tm.System("coincident", gravity=(0, 0, 0))
    body = system.body("mass", mass=2.0, inertia=(1, 1, 1))
    system.connect("T", tm.Translation(), system.ground, body)
    system.connect("strut", element, system.ground, body)
    return system.build()


@pytest.mark.parametrize(
    "element",
    [tm.Spring(stiffness=5.0, length=1.0), tm.Spring(stiffness=5.0, damping=0.1), tm.TableSpring(ROWS)],
    ids=["length", "damping", "table"],
)
def test_spring_whose_ends_coincide_at_the_start_is_refused_by_name(element):
    mech = joined(element)
    with pytest.raises(
        tm.ElementError, match=r"'strut' \(\w*Spring\).* at t = 0 s: two of its ends coincide"
    ):
        mech.simulate((0, 1), mech.state())


def test_spring_of_length_zero_passes_through_the_point_where_its_ends_coincide():
    mech = joined(tm.Spring(stiffness=8.0))
    run = mech.simulate(
        (0, 4), mech.state(u={"T": (0.3, -0.2, 0.1)}), rtol=1e-10, atol=1e-12, t_eval=np.linspace(0, 4, 9)
    )
    assert_allclose(
        run.connection("T").q, np.outer(np.sin(2 * run.t) / 2, (0.3, -0.2, 0.1)), atol=INTEGRATION
    )


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: tm.Spring(stiffness="soft"), "Spring.stiffness is 'soft'"),
        (lambda: tm.Spring(only="pull"), "Spring.only is 'pull'; wanted 'tension', 'compression' or None"),
        (
            lambda: tm.TableSpring([(0, 1), (2, 3), (1, 4)]),
            "TableSpring.table is not increasing: row 2 has 1 after 2",
        ),
        (lambda: tm.TableSpring([(0, 1)]), "TableSpring.table has one row"),
        (
            lambda: tm.TableSpring([(0, 1), (1, np.nan)]),
            "TableSpring.table holds numbers that are not finite",
        ),
        (lambda: tm.TableSpring("stiff"), "TableSpring.table is 'stiff': wanted at least two rows"),
        (lambda: tm.TableSpring(ROWS, interpolation="cubic"), "interpolation is 'cubic'"),
        (lambda: tm.TableSpring(ROWS, damping_table=[(-1, 1), (1, -1)]), "damping_table drives"),
        (lambda: tm.TableSpring(ROWS, damping_table=[(-1, 0), (1, 1)]), "damping_table drives"),
        (lambda: tm.TableSpring([(0, 1), (1, 2)], only="tension"), "no zero between its rows"),
        (lambda: tm.TableSpring([(0, -1), (1, 2), (2, -1)], only="tension"), "changes sign twice"),
    ],
)
def test_bad_springs_are_refused(make, message):
    with pytest.raises(tm.ElementError, match=message):
        make()
