"""The oil film of a journal bearing against numerical solutions of Reynolds' equation, and its energy."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.sparse.linalg import spsolve

import treemech as tm
from tests.support.balance import assert_balance

RADIUS, CLEARANCE, VISCOSITY = 6e-3, 6e-6, 1.7e-2
AXIAL = [0.5 * x for x in np.polynomial.legendre.leggauss(100)]
AROUND = [0.5 * np.pi * x for x in np.polynomial.legendre.leggauss(250)]


def bearing(slenderness):
    return tm.JournalBearing(RADIUS, 2 * RADIUS * slenderness, CLEARANCE, VISCOSITY)


def film_force(slenderness, e, v, turn=0.0):
    """Force of the element on the journal at eccentricity e, moving with v, turning in a bush at rest."""
    element = bearing(slenderness)
    motion = tm.EndsMotion(
        np.array([[0, 0, 0], [*e, 0.0]]), np.array([np.eye(3)] * 2), np.array([[0, 0, 0], [*v, 0.0]]),
        np.array([[0, 0, 0], [0, 0, turn]], dtype=float), *[np.zeros(0)] * 5, np.zeros((0, 6)),
    )  # fmt: skip
    return element.at(motion).force[1, :2]


def reynolds(slenderness, eps, angle, nt=160, nz=32):
    """Force per viscosity, speed, length and (radius / c)^3 from finite differences, on the half film that a squeeze
    velocity along `angle` closes; eccentricity along x."""
    a = angle - np.pi / 2 + (np.arange(nt) + 0.5) * np.pi / nt
    da, dz = np.pi / nt, 1.0 / nz  # half the length: symmetric
    right, left, here = ((1 - eps * np.cos(x)) ** 3 for x in (a + da / 2, a - da / 2, a))
    around = sp.diags([left[1:], -(left + right), right[:-1]], [-1, 0, 1]).tolil()
    around[0, 0] -= left[0]  # p = 0 on the rim, half a cell away
    around[-1, -1] -= right[-1]
    along = sp.diags([np.ones(nz - 1), -2 * np.ones(nz), np.ones(nz - 1)], [-1, 0, 1]).tolil()
    along[0, 0], along[-1, -1] = -1.0, -3.0
    A = sp.kron(around / da**2, sp.eye(nz)) + sp.kron(sp.diags(here), along) / (slenderness * dz) ** 2
    p = spsolve(A.tocsc(), np.repeat(-12.0 * np.cos(a - angle), nz)).reshape(nt, nz).mean(axis=1)
    return -np.array([p @ np.cos(a), p @ np.sin(a)]) * da


@pytest.mark.parametrize("slenderness", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("eps", [0.0, 0.4, 0.7, 0.9])
def test_film_force_is_near_the_solution_of_reynolds_equation(slenderness, eps):
    v = 1e-3
    unit = VISCOSITY * v * 2 * RADIUS * slenderness * (RADIUS / CLEARANCE) ** 3
    for angle in np.radians([0.0, 60.0, 90.0, 135.0, 180.0]):
        force = film_force(slenderness, (eps * CLEARANCE, 0.0), (v * np.cos(angle), v * np.sin(angle)))
        want = unit * reynolds(slenderness, eps, angle)
        assert np.linalg.norm(force - want) < 0.05 * np.linalg.norm(want)


def ritz(slenderness, eps, angle):
    """Force of the same Ritz functions, per viscosity, speed, length and (radius / c)^3, by quadratures of many nodes."""
    ea, eb = eps * np.cos(angle), -eps * np.sin(angle)  # eccentricity along v, and across it
    m = max(0.95 * slenderness * (1 - eps if ea >= 0 else 1 - abs(eb)) ** (-2 / 3), 0.3)
    z, wz = AXIAL
    axial, bend = 1 - np.cosh(2 * m * z) / np.cosh(m), m * np.sinh(2 * m * z) / np.cosh(m) / slenderness
    a, w = AROUND
    c, s = np.cos(a), np.sin(a)
    H, dH = 1 - ea * c - eb * s, ea * s - eb * c
    p = np.array([c / H**3, c / H**2, s * c / H**2])
    slope = (
        np.array([-s, -s, c * c - s * s]) * np.array([1 / H**3, 1 / H**2, 1 / H**2])
        - p * np.array([[3], [2], [2]]) * dH / H
    )
    K = np.einsum("ik,jk,k->ij", slope, slope, w * H**3) * np.sum(wz * axial**2)
    K += np.einsum("ik,jk,k->ij", p, p, w * H**3) * np.sum(wz * bend**2)
    weights = np.linalg.lstsq(K, np.einsum("ik,k->i", p, w * c), rcond=1e-14)[0]
    x = 12 * np.sum(wz * axial) ** 2 * w * np.einsum("i,ik->k", weights, p)
    along, across = np.sum(x * c), np.sum(x * s)
    return -np.array(
        [along * np.cos(angle) - across * np.sin(angle), along * np.sin(angle) + across * np.cos(angle)]
    )


@pytest.mark.parametrize("eps", [0.1, 0.5, 0.6, 0.8, 0.9, 0.98])
def test_quadrature_around_the_film_leaves_no_error(eps):
    """It left out the ends of the half film: up to 6 % of the force across the motion."""
    v = 1e-3
    for slenderness in (0.2, 1.67):
        unit = VISCOSITY * v * 2 * RADIUS * slenderness * (RADIUS / CLEARANCE) ** 3
        for angle in np.radians([0.0, 60.0, 90.0, 135.0, 180.0]):
            force = film_force(slenderness, (eps * CLEARANCE, 0.0), (v * np.cos(angle), v * np.sin(angle)))
            want = unit * ritz(slenderness, eps, angle)
            assert np.linalg.norm(force - want) < 1e-7 * np.linalg.norm(want)


@pytest.mark.parametrize("eps", [0.2, 0.5, 0.8])
def test_short_bearing_carries_what_ocvirk_says(eps):
    """Steady rotation: components along and across the eccentricity in closed form."""
    slenderness, turn = 0.02, 300.0
    L = 2 * RADIUS * slenderness
    force = film_force(slenderness, (eps * CLEARANCE, 0.0), (0.0, 0.0), turn)
    unit = VISCOSITY * RADIUS * L**3 * turn / CLEARANCE**2
    along = -unit * eps**2 / (1 - eps**2) ** 2
    across = unit * np.pi * eps / 4 / (1 - eps**2) ** 1.5
    assert_allclose(force, (along, across), rtol=0.01)


def test_a_turning_journal_settles_where_its_load_is_carried():
    """A loaded journal spirals to the eccentricity whose film carries it."""
    load, turn = 40.0, 100.0
    system = tm.System("rotor", gravity=(0, 0, 0))
    shaft = system.body("shaft", mass=5.0, inertia=(1e-3, 1e-3, 1e-3))
    plane = system.connect("plane", tm.Planar("z"), system.ground, shaft)
    system.connect("film", bearing(1.0), system.ground, shaft)
    system.load("weight", tm.Force(0.0, -load, 0.0), shaft)
    system.prescribe(plane, lambda t: 100.0 * t, coordinate=2)
    mech = system.build()
    run = mech.simulate((0, 0.8), mech.assemble(rates={"plane": [0, 0, turn]}), rtol=1e-7, audit=True)
    assert run.success, run.message
    e = run.body("shaft").position[-1, :2]
    assert_allclose(film_force(1.0, e, (0, 0), turn), (0, load), atol=1e-2 * load)
    assert 0.05 < np.linalg.norm(e) / CLEARANCE < 0.9
    assert e[0] > 0.0 > e[1]  # it climbs in the direction of rotation
    assert np.all(np.diff(run.audit["film"].dissipated) > 0.0)


def test_friction_at_the_centre_is_petroffs():
    element = bearing(1.0)
    motion = tm.EndsMotion(
        np.zeros((2, 3)), np.array([np.eye(3)] * 2), np.zeros((2, 3)),
        np.array([[0, 0, 0], [0, 0, 50.0]]), *[np.zeros(0)] * 5, np.zeros((0, 6)),
    )  # fmt: skip
    out = element.at(motion)
    want = 2 * np.pi * VISCOSITY * RADIUS**3 * 2 * RADIUS / CLEARANCE * 50.0
    assert_allclose(out.moment[:, 2], (want, -want))
    assert out.dissipated[0] == pytest.approx(want * 50.0)


def test_power_balance():
    def within(motion, rng):
        motion.position[1] = motion.position[0] + rng.uniform(-1, 1, 3) * 2e-6
        return motion

    assert_balance(bearing(1.2), within)


def test_bad_numbers_are_named():
    with pytest.raises(tm.ElementError, match="JournalBearing.clearance"):
        tm.JournalBearing(RADIUS, RADIUS, 0.0, VISCOSITY)


def loaded(load, mass=0.5, viscosity=VISCOSITY, **options):
    system = tm.System("loaded", gravity=(0, 0, 0))
    shaft = system.body("shaft", mass, (1e-3, 1e-3, 1e-3))
    system.connect("plane", tm.Planar("z"), system.ground, shaft)
    system.connect(
        "film", tm.JournalBearing(RADIUS, 2 * RADIUS, CLEARANCE, viscosity, **options), system.ground, shaft
    )
    system.load("weight", tm.Force(0.0, -load, 0.0), shaft)
    return system.build()


@pytest.mark.parametrize("load, roughness", [(5.0, 6e-8), (500.0, 6e-8), (5e4, 6e-7)])
def test_a_journal_at_rest_is_carried_by_the_wall(load, roughness):
    """A film carries nothing at rest: the journal sinks until N = k d / (1 - d/r), d = N / (k + N/r)."""
    mech = loaded(load, roughness=roughness)
    run = mech.simulate((0, 100.0), mech.state(), "Radau", 1e-8)
    assert run.success, run.message
    e = np.linalg.norm(run.element("film").deformation, axis=1)
    k = np.pi / 4 * 1.154e11 * 2 * RADIUS
    assert_allclose(e[-1], CLEARANCE - roughness + load / (k + load / roughness), rtol=1e-6)
    assert np.all(e < CLEARANCE)
    assert_allclose(run.element("film").effort[-1], (0.0, -load), atol=1e-3 * load)


@pytest.mark.parametrize("method", ["DOP853", "Radau", "Adams"])
def test_a_journal_thrown_at_the_wall_returns_with_its_energy(method):
    """Thin oil: the wall is elastic and no step of any method passes through it."""
    mech = loaded(0.0, viscosity=1e-7, roughness=0.3 * CLEARANCE)
    speed = 0.1
    run = mech.simulate((0, 3e-4), mech.state(u=[speed, 0.5 * speed, 0.0]), method, 1e-9, 1e-16, audit=True)
    assert run.success, run.message
    e = np.linalg.norm(run.element("film").deformation, axis=1)
    assert 0.8 * CLEARANCE < e.max() < CLEARANCE
    assert np.ptp(np.sign(run.u[:, 0])) == 2.0  # it bounced
    lost = run.audit["film"].dissipated
    assert_allclose(run.energy.total + lost, run.energy.total[0], rtol=1e-5)


def test_a_start_outside_the_bush_is_refused_by_name():
    mech = loaded(1.0)
    outside = mech.state(q=[1.26 * CLEARANCE, 0.0, 0.0])
    with pytest.raises(
        tm.ElementError, match=r"'film' \(JournalBearing\).*outside its bush, at 1.26 of the clearance"
    ):
        mech.forward_dynamics(outside)
    with pytest.raises(tm.ElementError, match="outside its bush"):
        mech.simulate((0, 1.0), outside)


def test_power_balance_in_the_wall():
    element = tm.JournalBearing.example()  # clearance 1, wall from 0.7

    def near(motion, rng):
        angle, ratio = rng.uniform(0, 2 * np.pi), rng.uniform(0.72, 0.98)
        motion.position[1] = motion.position[0] + motion.rotation[0] @ (
            ratio * np.cos(angle),
            ratio * np.sin(angle),
            0.3,
        )
        assert element.at(motion).energy[0] > 0.0
        return motion

    assert_balance(element, near)


def test_a_roughness_beyond_the_clearance_is_refused():
    with pytest.raises(
        tm.ElementError, match="JournalBearing.roughness is 6e-06: wanted less than the clearance"
    ):
        tm.JournalBearing(RADIUS, RADIUS, CLEARANCE, VISCOSITY, roughness=CLEARANCE)
