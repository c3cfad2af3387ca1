"""Rows that switch off: a constraint that can only push lets go, and holds again where the gap closes (3.3)."""

import numpy as np
import pytest
from scipy.optimize import brentq

import treemech as tm

G, SIZE, OMEGA = 9.81, 0.1, 14.0


def platform(unilateral=True):
    """Return a mass on a platform that moves up and down faster than gravity allows it to follow."""
    system = tm.System("platform", gravity=(0, 0, -G))
    mass = system.body("mass", 2.0, (0.1, 0.1, 0.1))
    system.connect("guide", tm.Prismatic("z"), system.ground, mass)
    lift = tm.Harmonic(SIZE, OMEGA)
    system.connect("platform", tm.InPlane(distance=lift, unilateral=unilateral), system.ground, mass)
    mech = system.build()
    return mech, mech.assemble()


def flight():
    """Closed form: (time of lift-off, time of landing) of the first flight."""
    off = np.arcsin(G / (SIZE * OMEGA**2)) / OMEGA
    z, v = SIZE * np.sin(OMEGA * off), SIZE * OMEGA * np.cos(OMEGA * off)

    def gap(t):
        return z + v * (t - off) - 0.5 * G * (t - off) ** 2 - SIZE * np.sin(OMEGA * t)

    return off, brentq(gap, off + 0.05, off + 0.5, xtol=1e-14)


def test_a_mass_leaves_its_platform_and_lands_again():
    mech, state = platform()
    off, on = flight()
    run = mech.simulate((0.0, on + 0.02), state, rtol=1e-9, max_step=0.02)
    assert run.success, run.message
    (t0, name, holds0), (t1, _, holds1) = run.switched
    assert name == "platform" and not holds0 and holds1
    assert abs(t0 - off) < 1e-8 and abs(t1 - on) < 1e-7
    flying = (run.t > t0) & (run.t < t1)
    force = run.connection("platform").force[:, 2]
    assert np.all(force[flying] == 0.0) and np.all(force[~flying] > -1e-6)
    z, t = run.body("mass").position[:, 2], run.t
    assert np.all(z - SIZE * np.sin(OMEGA * t) > -1e-8)
    exact = SIZE * np.sin(OMEGA * t0) + SIZE * OMEGA * np.cos(OMEGA * t0) * (t - t0) - 0.5 * G * (t - t0) ** 2
    assert np.abs(z - exact)[flying].max() < 1e-8
    assert run.residual.position.max() < 1e-8
    landed = run.t > t1
    assert landed.any() and np.abs(z - SIZE * np.sin(OMEGA * t))[landed].max() < 1e-9


def test_outputs_and_files_know_it_too(tmp_path):
    mech, state = platform()
    off, on = flight()
    times = np.linspace(0.0, on + 0.02, 60)
    run = mech.simulate((0.0, times[-1]), state, rtol=1e-9, max_step=0.02, t_eval=times)
    assert len(run.switched) == 2 and len(run.t) == 60
    again = tm.read(run.save(tmp_path / "flight"))
    assert again.switched == run.switched
    assert np.array_equal(again.connection("platform").force, run.connection("platform").force)


def test_without_it_the_platform_pulls():
    mech, state = platform(unilateral=False)
    run = mech.simulate((0.0, 0.4), state, rtol=1e-9)
    assert not run.switched and run.connection("platform").force[:, 2].min() < -1.0


def test_a_cam_follower_floats():
    """A roller pressed on an eccentric by its weight alone: it lifts off where the cam falls away faster than it falls."""
    system = tm.System("cam", gravity=(0, -G, 0))
    cam = system.body("cam", 1.0, (0.01, 0.01, 0.01))
    follower = system.body("follower", 0.5, (0.01, 0.01, 0.01))
    eccentricity, radius, roller, speed = 0.02, 0.05, 0.01, 40.0
    outline = tm.Profile.circle(radius, centre=(eccentricity, 0.0))
    system.connect("shaft", tm.Revolute("z"), system.ground, cam)
    system.connect("guide", tm.Prismatic("y"), system.ground, follower)
    contact = tm.CamFollower(outline, "roller", radius=roller, start=radius * np.pi / 2, unilateral=True)
    system.connect("contact", contact, cam, follower)
    system.prescribe("shaft", lambda t: speed * t)
    mech = system.build()
    state = mech.assemble(guess={"guide": radius + roller})

    def lift(angle):  # height of the roller's centre above the shaft while it touches
        return eccentricity * np.sin(angle) + np.sqrt(
            (radius + roller) ** 2 - (eccentricity * np.cos(angle)) ** 2
        )

    def press(t, h=1e-4):  # its acceleration, less that of free fall
        return (lift(speed * (t + h)) - 2 * lift(speed * t) + lift(speed * (t - h))) / h**2 + G

    off = brentq(press, 0.001, 0.5 * np.pi / speed)
    run = mech.simulate((0.0, off + 0.005), state, rtol=1e-9, max_step=0.002)
    assert run.success, run.message
    assert len(run.switched) == 1 and not run.switched[0].holds
    assert abs(run.switched[0].t - off) < 1e-5
    touching = run.t < off
    assert np.abs(run.body("follower").position[touching, 1] - lift(speed * run.t[touching])).max() < 1e-9
    assert run.connection("contact").force[touching, 1].min() > -1e-3


@pytest.mark.parametrize("stabilisation", ["baumgarte", "none"])
def test_ways_that_do_not_project_cannot_switch(stabilisation):
    mech, state = platform()
    with pytest.raises(tm.TreemechError, match="'platform' is unilateral"):
        mech.simulate((0.0, 0.1), state, stabilisation=stabilisation)


@pytest.mark.parametrize("method", ["DOP853", "Radau", "Adams", "auto"])
def test_a_time_without_any_contact_is_no_singular_position(method):
    """With every row released there is no pivot; its stand-in made each landing look singular, and Radau gave way to DOP853."""
    mech, state = platform()
    _, on = flight()
    run = mech.simulate((0.0, on + 0.02), state, method, rtol=1e-7, max_step=0.02)
    assert run.success and [s.holds for s in run.switched] == [False, True]
    assert not run.singular and abs(run.switched[1].t - on) < 1e-5
    assert method == "auto" or run.statistics["steps"] < 200


def test_the_audit_of_a_flight_is_that_of_a_flight():
    """Outputs and work of drives between the steps were projected on the contact that had let go."""
    mech, state = platform()
    off, on = flight()
    times = np.linspace(0.0, on + 0.02, 100)
    plain, audited = (
        mech.simulate((0.0, times[-1]), state, rtol=1e-10, max_step=0.02, t_eval=times, audit=audit)
        for audit in (False, True)
    )
    assert np.max(np.abs(plain.q - audited.q)) < 1e-8
    left = audited.energy.kinetic + audited.energy.potential
    left = left - left[0] - sum(part.work for part in audited.audit.values())
    k = int(np.searchsorted(times, on))
    assert np.max(np.abs(left[:k])) < 1e-7 and np.max(np.abs(left[k:] - left[k])) < 1e-7
    speed = SIZE * OMEGA * np.cos(OMEGA * off) - G * (
        on - off
    )  # of the mass, before the platform takes it along
    assert left[k] == pytest.approx(
        0.5 * 2.0 * ((SIZE * OMEGA * np.cos(OMEGA * on)) ** 2 - speed**2), rel=1e-6
    )
