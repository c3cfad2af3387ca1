"""Springs in models with known answers: a chain of masses, the flyball governor, Haug's coil spring with impact."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from scipy.spatial.transform import Rotation

import treemech as tm
from treemech.benchmarks.problems import load


def masses_on_a_line(system, masses):
    """Add bodies on guides along x of the ground; their coordinates are their places. Returns their handles."""
    bodies = [system.body(f"m{k}", mass=m, inertia=(1, 1, 1)) for k, m in enumerate(masses, 1)]
    for k, body in enumerate(bodies, 1):
        system.connect(f"x{k}", tm.Prismatic("x"), system.ground, body)
    return bodies


def test_chain_of_masses_between_walls():
    reference = load("spring_damper_chain")
    p, gap = reference.parameters, 1.0
    n = p["n"]
    system = tm.System(reference.name, gravity=reference.gravity)
    ends = [
        system.ground,
        *masses_on_a_line(system, [p["mass"]] * n),
        system.ground.at(((n + 1) * gap, 0, 0)),
    ]
    spring = tm.Spring(stiffness=p["stiffness"], damping=p["damping"], length=gap)
    for k in range(n + 1):
        system.connect(f"spring{k}", spring, ends[k], ends[k + 1])
    mech = system.build()
    rest = gap * np.arange(1, n + 1)
    start = mech.state(q=rest + reference.initial["displacements"], u=reference.initial["velocities"])
    run = mech.simulate((0, 3), start, rtol=1e-11, atol=1e-13, t_eval=[1.0, 3.0])
    for row, key in zip(run.q - rest, ("displacements(t=1)", "displacements(t=3)"), strict=True):
        assert_allclose(row, reference.expect[key], atol=1e-10)


def test_stiff_flyball_governor():
    reference = load("A05_flyball_governor")
    p = reference.parameters
    system = tm.System(reference.name, gravity=reference.gravity)
    rod_mass, cube = p["density"] * 1e-4, p["density"] * 1e-3
    thin, thick = rod_mass * 2e-4 / 12, rod_mass * (1 + 1e-4) / 12
    shaft = system.body("shaft", mass=rod_mass, inertia=(thick, thick, thin), com=(0, 0, 0.5))
    slider = system.body("slider", mass=cube, inertia=(cube * 0.02 / 12,) * 3)
    system.connect("spin", tm.Revolute("z"), system.ground, shaft)
    system.connect("s", tm.Prismatic("z"), shaft, slider)
    spring = tm.Spring(
        stiffness=p["spring_stiffness"], damping=p["spring_damping"], length=p["spring_free_length"]
    )
    ball = p["point_mass_at_rod_ends"]
    total = rod_mass + ball
    com = (0.5 * rod_mass + ball) / total
    across = thick + rod_mass * (com - 0.5) ** 2 + ball * (1 - com) ** 2
    for k, side in enumerate((1.0, -1.0), 1):
        outward = Rotation.from_rotvec((0, 0, 0 if side > 0 else np.pi)).as_matrix()
        rod = system.body(f"rod{k}", mass=total, inertia=(thin, across, across), com=(com, 0, 0))
        system.connect(f"alpha{k}", tm.Revolute("y"), shaft.at((0.05 * side, 0, 1), outward), rod)
        system.connect(f"spring{k}", spring, slider.at((0.05 * side, 0, 0)), rod.at((0.5, 0, 0)))
    mech = system.build()
    angle = np.radians(reference.initial["rod_angle_below_horizontal_deg"])
    start = mech.state(
        q={"s": reference.initial["s"], "alpha1": angle, "alpha2": angle},
        u={"spin": reference.initial["shaft_rate"]},
    )
    run = mech.simulate((0, 1), start, rtol=1e-10, atol=1e-12, t_eval=[0.5, 1.0])
    names = {
        "slider_s": run.connection("s").q,
        "slider_velocity": run.connection("s").u,
        "rod_angle_alpha": run.connection("alpha1").q,
        "shaft_angle": run.connection("spin").q,
        "shaft_rate": run.connection("spin").u,
    }
    for name, values in names.items():
        for value, t in zip(values, ("0.5", "1"), strict=True):
            assert_allclose(value, reference.expect[f"{name}(t={t})"], rtol=1e-8, err_msg=name)


def coil(stiffness, mass=0.0, contact=1e4):
    """Haug's coil spring (8.4): six masses of 2.5 kg from the ground on, free lengths 0.2; a mass that may hit the last."""
    system = tm.System("coil", gravity=(0, 0, 0))
    bodies = masses_on_a_line(system, [2.5] * 6 + ([mass] if mass else []))
    ends = [system.ground, *bodies[:6]]
    for k in range(6):
        system.connect(f"spring{k}", tm.Spring(stiffness=stiffness, length=0.2), ends[k], ends[k + 1])
    if mass:
        touch = tm.Spring(stiffness=contact, length=0.2, only="compression")
        system.connect("contact", touch, bodies[5], bodies[6])
    return system.build()


def test_surge_wave_is_the_modal_solution():
    mech, k, m = coil(200.0), 200.0, 2.5
    rest = 0.2 * np.arange(1, 7)
    K = k * (2 * np.eye(6) - np.eye(6, k=1) - np.eye(6, k=-1))
    K[5, 5] = k
    squares, modes = eigh(K, m * np.eye(6))
    w = np.sqrt(squares)
    assert_allclose(w, 2 * np.sqrt(k / m) * np.sin((2 * np.arange(1, 7) - 1) * np.pi / 26), rtol=1e-12)
    run = mech.simulate((0, 5), mech.state(q=rest, u={"x6": -0.1}), rtol=1e-10, atol=1e-13)
    amplitude = modes.T @ (m * np.array([0, 0, 0, 0, 0, -0.1])) / w
    assert_allclose(run.q - rest, (np.sin(np.outer(run.t, w)) * amplitude) @ modes.T, atol=1e-9)


@pytest.mark.parametrize(
    "stiffness, time, place", [(50.0, 11.86, 1.271), (40.0, 13.27, 1.281), (30.0, 15.32, 1.294)]
)
def test_mass_thrown_upon_the_coil_leaves_it(stiffness, time, place):
    """Haug's answers, recomputed with this contact; it chatters, so they move by percents with its stiffness.

    A contact lasts 50 ms and begins and ends in a corner of the load: steps of 5 ms at most do not pass over one by luck.
    """
    mech = coil(stiffness, mass=100.0)
    rest = 0.2 * np.arange(1, 8)
    run = mech.simulate((0, 20), mech.state(q=rest, u={"x7": -0.1}), rtol=1e-9, atol=1e-11, max_step=0.005)
    moved = run.q[:, 6] - rest[6]
    touching = np.flatnonzero(run.element("contact").effort < 0.0)[-1]
    assert_allclose(run.t[touching], time, rtol=1e-3)
    assert_allclose(run.q[touching, 5], place, rtol=1e-3)
    if stiffness == 50.0:
        assert_allclose(-moved.min(), 0.3290, rtol=1e-3)
    total = run.energy.total
    assert np.ptp(total) < 1e-6 * total.max()
