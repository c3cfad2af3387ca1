"""Traction in an elasto-hydrodynamic film: limits of the law, kinematics of the contact, two disks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import treemech as tm
from tests.support.balance import assert_balance, random_motion

RADIUS, OTHER, WIDTH, LOAD = 0.012, 0.016, 0.014, 3000.0


def disks(spin_a, spin_b, load=LOAD, **options):
    """Roller b above disk a, both turning about z in place."""
    if load is not None:
        options["load"] = load
    element = tm.EhdTraction(RADIUS, WIDTH, 1 / OTHER, **options)
    motion = tm.EndsMotion(
        np.array([[0, 0, 0], [0, RADIUS + OTHER, 0]]), np.array([np.eye(3)] * 2), np.zeros((2, 3)),
        np.array([[0, 0, spin_a], [0, 0, spin_b]], dtype=float), *[np.zeros(0)] * 5,
        np.array([[0, LOAD, 0, 0, 0, 0]] if load is None else np.zeros((0, 6)), dtype=float),
    )  # fmt: skip
    return element, element.at(motion)


def hertz():
    """Half width and mean pressure of the line contact; film thickness per speed^0.7."""
    e = tm.EhdTraction(RADIUS, WIDTH)
    R, w = 1 / (1 / RADIUS + 1 / OTHER), LOAD / WIDTH
    b = np.sqrt(4 * w * R / (np.pi * e.modulus))
    G, W, u = 2 * e.alpha * e.modulus, w / (2 * e.modulus * R), e.viscosity / (2 * e.modulus * R)
    return b, w / (2 * b), 2.65 * R * G**0.54 * u**0.7 / W**0.13


def test_rolling_without_slip_gives_no_traction():
    _, out = disks(100.0, -100.0 * OTHER / RADIUS)
    assert_allclose(out.force, 0.0, atol=1e-9)


def test_small_slip_shears_the_film_like_a_newtonian_oil():
    b, p, film = hertz()
    speed, slip = 2.0, 1e-9
    element, out = disks(speed / OTHER, -(speed + slip) / RADIUS, roughness=1e-12)
    eta = element.viscosity * np.exp(element.alpha * p)
    want = eta * slip / (film * speed**0.7) * 2 * b * WIDTH
    # the surface of the roller moves along -x, faster than the other: it is held back
    assert_allclose(out.force[1], (want, 0, 0), rtol=1e-4, atol=1e-12)  # slip is a difference of speeds


def test_large_slip_follows_eyrings_logarithm():
    b, p, film = hertz()
    speed, slip = 2.0, 0.2
    element, out = disks((speed - slip / 2) / OTHER, -(speed + slip / 2) / RADIUS, roughness=1e-12)
    shear = element.viscosity * np.exp(element.alpha * p) * slip / (film * speed**0.7)
    want = element.tau_0 * np.log(2 * shear / element.tau_0) * 2 * b * WIDTH
    assert_allclose(out.force[1, 0], want, rtol=1e-4)
    assert 0.01 < want / LOAD < 0.12  # a traction coefficient as measured


def test_the_load_of_a_hinge_counts_like_a_given_one():
    _, given = disks(120.0, -170.0)
    _, reacted = disks(120.0, -170.0, load=None)
    assert_allclose(reacted.force, given.force, rtol=1e-9)
    assert_allclose(reacted.moment, given.moment, rtol=1e-9, atol=1e-12)


def test_a_roller_on_a_turning_plane_takes_its_film_along():
    """On a plane the film speed is that of the surfaces past the contact, wherever the roller goes itself."""
    element = tm.EhdTraction(RADIUS, WIDTH, 0.0, load=LOAD)
    forces = []
    for carried in (0.0, 0.7):  # everything moves along as well
        v, spin = 1.0, 1.1 / RADIUS
        motion = tm.EndsMotion(
            np.array([[0, -1.0, 0], [0, RADIUS, 0]]), np.array([np.eye(3)] * 2),
            np.array([[v + carried, 0, 0], [carried, 0, 0]]), np.array([[0, 0, 0], [0, 0, spin]]),
            *[np.zeros(0)] * 5, np.zeros((0, 6)),
        )  # fmt: skip
        forces.append(element.at(motion).force[1, 0])
    assert forces[0] == pytest.approx(forces[1], rel=1e-9)
    assert forces[0] < 0.0


def test_a_disk_spins_up_a_roller_until_it_rolls():
    system = tm.System("disks")
    disk = system.body("disk", mass=1.0, inertia=(1e-3,) * 3)
    roller = system.body("roller", mass=0.06, inertia=(1e-5, 1e-5, 4.3e-6))
    shaft = system.connect("shaft", tm.Revolute("z"), system.ground, disk)
    system.connect("axle", tm.Revolute("z"), system.ground.at((0, RADIUS + OTHER, 0)), roller)
    system.connect("film", tm.EhdTraction(RADIUS, WIDTH, 1 / OTHER, load=LOAD), disk, roller)
    system.prescribe(shaft, lambda t: 104.7 * t)
    mech = system.build()
    start = {"shaft": 104.7, "axle": -139.0}
    run = mech.simulate((0, 1e-3), mech.assemble(rates=start), rtol=1e-6, audit=True)
    assert run.connection("axle").u[-1] == pytest.approx(-104.7 * OTHER / RADIUS, rel=1e-6)
    gained = run.energy.kinetic[-1] - run.energy.kinetic[0]
    lost = run.audit["film"].dissipated[-1]
    assert -run.audit["film"].work[-1] == pytest.approx(lost, rel=1e-6)
    assert lost > 0.0 and gained > 0.0


@pytest.mark.parametrize("load", [None, 500.0])
def test_power_balance(load):
    def pressed(motion, rng):
        motion.reaction[:] *= 500.0
        return motion

    assert_balance(tm.EhdTraction(RADIUS, WIDTH, 1 / OTHER, load=load), pressed)


def test_slopes_with_respect_to_the_reaction():
    """The solver uses exact slopes: the load must be smooth in the reaction, down to none."""
    element = tm.EhdTraction(RADIUS, WIDTH, 1 / OTHER)
    motion = random_motion(element, np.random.default_rng(0), 0.0)
    motion.reaction[:] = 0.0
    assert np.all(np.isfinite(element.at(motion).force))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: tm.EhdTraction(0.0, 0.1), "EhdTraction.radius"),
        (lambda: tm.EhdTraction(0.1, 0.1, curvature=-20.0), "hollow"),
        (lambda: tm.EhdTraction(0.1, 0.1, load=-5.0), "EhdTraction.load"),
    ],
)
def test_bad_numbers_are_named(make, message):
    with pytest.raises(tm.ElementError, match=message):
        make()


def rolling_on(element, centre, normal, spin_a=50.0, spin_b=-70.0):
    """Load of the element on a roller with this centre that a contact presses along this normal."""
    motion = tm.EndsMotion(
        np.array([[0, 0, 0], [*centre, 0]]), np.array([np.eye(3)] * 2), np.zeros((2, 3)),
        np.array([[0, 0, spin_a], [0, 0, spin_b]], dtype=float), *[np.zeros(0)] * 5,
        np.array([[*(LOAD * np.asarray(normal)), 0, 0, 0, 0]], dtype=float),
    )  # fmt: skip
    return element.at(motion)


def ellipse(angle, a=0.03, b=0.02):
    """Point, outward normal and curvature of an ellipse."""
    c, s = np.cos(angle), np.sin(angle)
    size = np.hypot(b * c, a * s)
    return np.array((a * c, b * s)), np.array((b * c, a * s)) / size, a * b / size**3


def test_curvature_is_taken_from_the_profile_at_the_contact():
    """An ellipse: at every place the film is that of a disk with its radius of curvature there."""
    corners = np.array([ellipse(a)[0] for a in np.linspace(0, 2 * np.pi, 120, endpoint=False)])
    element = tm.EhdTraction(RADIUS, WIDTH, profile=tm.Profile.spline(corners, closed=True))
    for angle in (0.0, 0.4, 1.2, 3.0, 5.5):
        point, normal, bend = ellipse(angle)
        centre = point + RADIUS * normal
        given = tm.EhdTraction(RADIUS, WIDTH, curvature=bend)
        assert_allclose(element.profile.curvature(*point), bend, rtol=1e-4)
        assert_allclose(
            rolling_on(element, centre, normal).force,
            rolling_on(given, centre, normal).force,
            rtol=1e-4,
            atol=1e-6,
        )


def test_the_curvature_of_a_cam_of_lines_and_arcs_jumps_where_they_join():
    arc, line = tm.Profile.arc((0.0, 0.0), 0.016, -2.0, 0.0), tm.Profile.line((0.016, 0.0), (0.016, 0.03))
    profile = arc + line
    for angle in (-1.9, -1.0, -0.01):
        assert profile.curvature(0.02 * np.cos(angle), 0.02 * np.sin(angle)) == pytest.approx(1 / 0.016)
    for y in (0.001, 0.02):
        assert profile.curvature(0.02, y) == 0.0
    clockwise = tm.Profile.arc((0.0, 0.0), 0.05, 4.0, 1.0)  # works on its inner side: hollow
    assert clockwise.curvature(-0.04, 0.01) == pytest.approx(-1 / 0.05)


@pytest.mark.parametrize(
    "options, said",
    [
        ({"curvature": 3.0}, "leave out curvature and load"),
        ({"load": 10.0}, "leave out curvature and load"),
        ({"profile": [(0, 0), (1, 1)]}, "wanted a Profile"),
        (
            {"profile": tm.Profile.arc((0, 0), 0.01, 3.0, 1.0)},
            "hollow of radius 0.01: wanted wider than the roller",
        ),
    ],
)
def test_a_profile_goes_without_curvature_and_load_and_without_narrow_hollows(options, said):
    with pytest.raises(tm.ElementError, match=said):
        tm.EhdTraction(RADIUS, WIDTH, **{"profile": tm.Profile.circle(0.016), **options})


def test_a_traction_with_a_profile_keeps_its_contract():
    tm.check(tm.EhdTraction(0.5, 0.3, profile=tm.Profile.circle(0.7)))


# ---------------------------------------------------------------- high pressures
def traction_coefficient(load, slip, speed=2.0, **options):
    element = tm.EhdTraction(RADIUS, WIDTH, 1 / OTHER, load=load, roughness=1e-12, **options)
    motion = tm.EndsMotion(
        np.array([[0, 0, 0], [0, RADIUS + OTHER, 0]]), np.array([np.eye(3)] * 2), np.zeros((2, 3)),
        np.array([[0, 0, (speed - slip / 2) / OTHER], [0, 0, -(speed + slip / 2) / RADIUS]]), *[np.zeros(0)] * 5,
        np.zeros((0, 6)),
    )  # fmt: skip
    return element.at(motion).force[1, 0] / load


def contact(load, speed=2.0):
    """Half width, mean pressure and film thickness."""
    e = tm.EhdTraction(RADIUS, WIDTH)
    R, w = 1 / (1 / RADIUS + 1 / OTHER), load / WIDTH
    b = np.sqrt(4 * w * R / (np.pi * e.modulus))
    G, W, u = 2 * e.alpha * e.modulus, w / (2 * e.modulus * R), e.viscosity * speed / (2 * e.modulus * R)
    return b, w / (2 * b), 2.65 * R * G**0.54 * u**0.7 / W**0.13


@pytest.mark.parametrize("load", [50.0, 3e3, 1e5])
def test_roelands_viscosity_at_small_slip(load):
    """In the form it is usually printed: ln eta + 9.67 grows as (1 + 5.1e-9 p)^z."""
    b, p, film = contact(load)
    e = tm.EhdTraction(RADIUS, WIDTH)
    known = np.log(e.viscosity) + 9.67
    z = e.alpha / (5.1e-9 * known)
    eta = np.exp(known * (1 + 5.1e-9 * p) ** z - 9.67)
    slip = 1e-4 * e.tau_0 * film / eta
    if slip > 1e-12:  # less is lost in the difference of speeds
        want = eta * slip / film * 2 * b * WIDTH / load
        assert traction_coefficient(load, slip, viscosity_law="roelands") == pytest.approx(want, rel=2e-3)
    assert eta < e.viscosity * np.exp(e.alpha * p)


def test_roelands_law_begins_like_barus():
    low = [traction_coefficient(1e-2, 1e-3, viscosity_law=law) for law in ("barus", "roelands")]
    assert low[0] == pytest.approx(low[1], rel=1e-3)


def test_a_limit_is_reached_and_never_passed():
    for law in ("barus", "roelands"):
        found = [traction_coefficient(3e4, s, viscosity_law=law, limit=0.02) for s in (1e-9, 1e-3, 0.1, 1.0)]
        assert np.all(np.diff(found) > 0.0)
        assert 0.019 < found[-1] <= 0.02
    far, free = (traction_coefficient(50.0, 1e-4, limit=limit) for limit in (5.0, 0.0))
    assert far == pytest.approx(free, rel=1e-3)


@pytest.mark.parametrize("load", [3e4, 3e5])
def test_creep_of_the_surfaces_is_carters(load):
    """Where the film is much stiffer than steel, slip / speed = tau 4 / (pi E); both parts of the slip add up."""
    b, p, film = contact(load)
    e = tm.EhdTraction(RADIUS, WIDTH)
    speed = 2.0
    slip = 1e-4
    mu = traction_coefficient(load, slip, creep=True)
    stress = mu * load / (2 * b * WIDTH)
    shear = e.viscosity * np.exp(e.alpha * p) / film
    oil = e.tau_0 / shear * np.sinh(stress / e.tau_0)
    assert oil + 4 * speed * stress / (np.pi * e.modulus) == pytest.approx(slip, rel=1e-6)
    assert stress == pytest.approx(slip * np.pi * e.modulus / (4 * speed), rel=1e-2)


def test_creep_does_not_matter_in_a_soft_film():
    with_creep, without = (traction_coefficient(50.0, 1e-3, creep=creep) for creep in (True, False))
    assert with_creep == pytest.approx(without, rel=1e-3)
    assert with_creep < without


@pytest.mark.parametrize(
    "options",
    [
        {"viscosity_law": "roelands"},
        {"limit": 0.07},
        {"creep": True},
        {"viscosity_law": "roelands", "limit": 0.07, "creep": True},
    ],
    ids=str,
)
def test_laws_for_high_pressures_keep_the_contract(options):
    tm.check(tm.EhdTraction(0.5, 0.3, **options))

    def pressed(motion, rng):
        motion.reaction[:] *= 3e4
        return motion

    assert_balance(tm.EhdTraction(RADIUS, WIDTH, 1 / OTHER, **options), pressed)


@pytest.mark.parametrize(
    "options, said",
    [
        ({"viscosity_law": "barrus"}, "viscosity_law is 'barrus': wanted one of barus, roelands"),
        ({"limit": -0.1}, "EhdTraction.limit"),
        ({"viscosity_law": "roelands", "viscosity": 1e-5}, "Roelands' law wants more than"),
    ],
)
def test_doubtful_laws_are_refused(options, said):
    with pytest.raises(tm.ElementError, match=said):
        tm.EhdTraction(RADIUS, WIDTH, **options)
