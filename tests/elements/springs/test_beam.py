"""Beams: cantilever formulas, elastica, roll-up into a circle, a mass on a cantilever."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import treemech as tm
from tests.support.energetic_laws import at_rest, at_rest_often

EA, EIY, EIZ, GJ = 1e6, 30.0, 50.0, 20.0


def loads(element, positions, turns):
    """Loads (n, 6) of a chain of equal elements on its nodes."""
    out = np.zeros((len(positions), 6))
    for k in range(len(positions) - 1):
        load = element(positions[k : k + 2], turns[k : k + 2])
        out[k : k + 2] += np.hstack((load.force, load.moment))
    return out


def displaced(positions, turns, change):
    """Nodes 1, 2, ... moved and turned by (n, 6) small numbers."""
    positions, turns = positions.copy(), turns.copy()
    positions[1:] += change[:, :3]
    turns[1:] = Rotation.from_rotvec(change[:, 3:]).as_matrix() @ turns[1:]
    return positions, turns


def equilibrium(beam, n, applied, steps=1, h=1e-6):
    """Positions and rotations of the nodes of a cantilever of n beams: Newton's method, differences of element loads.

    `applied(scale)` gives force and moment on the tip.
    """
    positions = np.column_stack((np.arange(n + 1) * beam.length, np.zeros((n + 1, 2))))
    turns = np.repeat(np.eye(3)[None], n + 1, axis=0)
    element = at_rest_often(beam)
    for scale in np.linspace(0, 1, steps + 1)[1:]:
        for _ in range(40):
            residual = loads(element, positions, turns)[1:]
            residual[-1] += applied(scale)
            J = np.zeros((6 * n, 6 * n))
            for node in range(n):
                low, high = max(0, node), min(n + 1, node + 3)  # an end moves its two neighbours only
                for k in range(6):
                    columns = []
                    for sign in (1, -1):
                        change = np.zeros((n, 6))
                        change[node, k] = sign * h
                        p, R = displaced(positions, turns, change)
                        part = np.zeros((n + 1, 6))
                        part[low:high] = loads(element, p[low:high], R[low:high])
                        columns.append(part[1:].ravel())
                    J[:, 6 * node + k] = (columns[0] - columns[1]) / (2 * h)
            change = np.linalg.solve(J, -residual.ravel()).reshape(n, 6)
            positions, turns = displaced(positions, turns, change)
            if np.abs(change).max() < 1e-10:
                break
        else:
            raise AssertionError("no equilibrium")
    return positions, turns


@pytest.mark.parametrize("kind", [tm.Beam, tm.CorotationalBeam])
@pytest.mark.parametrize("n", [1, 3])
def test_cantilever_tip_under_small_loads(kind, n):
    L, small = 2.0, 1e-4
    beam = kind(length=L / n, axial_stiffness=EA, bending_stiffness=(EIY, EIZ), torsion_stiffness=GJ)
    forces = {
        0: (L / EA, 0, 0, 0, 0, 0),
        1: (0, L**3 / (3 * EIZ), 0, 0, 0, L**2 / (2 * EIZ)),
        2: (0, 0, L**3 / (3 * EIY), 0, -(L**2) / (2 * EIY), 0),
        3: (0, 0, 0, L / GJ, 0, 0),
        4: (0, 0, -(L**2) / (2 * EIY), 0, L / EIY, 0),
        5: (0, L**2 / (2 * EIZ), 0, 0, 0, L / EIZ),
    }
    for k, wanted in forces.items():
        load = np.zeros(6)
        load[k] = small
        positions, turns = equilibrium(beam, n, lambda scale, load=load: load)
        found = np.concatenate((positions[-1] - (L, 0, 0), Rotation.from_matrix(turns[-1]).as_rotvec()))
        assert_allclose(found / small, wanted, atol=1e-4 * np.abs(wanted).max())  # the second order of 1e-5


@pytest.mark.parametrize("n", [4, 8])
def test_end_moment_rolls_a_chain_into_a_full_circle(n):
    """M = 2 pi EI / L: any number of elements closes, about either axis; the circle becomes the exact one as 1/n^2."""
    L = 2.0
    beam = tm.CorotationalBeam(
        length=L / n, axial_stiffness=EA, bending_stiffness=(EIY, EIZ), torsion_stiffness=GJ
    )
    for axis, bending, up in ((5, EIZ, 1), (4, EIY, 2)):
        moment = np.zeros(6)
        moment[axis] = 2 * np.pi * bending / L
        positions, turns = equilibrium(beam, n, lambda scale, m=moment: scale * m, steps=6)
        assert_allclose(positions[-1], 0.0, atol=1e-8 * L)
        assert_allclose(turns[-1], np.eye(3), atol=1e-8)
        diameter = abs(positions[n // 2, up])
        polygon = L / n / np.sin(np.pi / n)  # corners of a regular polygon with sides L / n
        assert_allclose(diameter, polygon, rtol=1e-8)
        assert abs(diameter / (L / np.pi) - 1) < np.pi**2 / 6 / n**2 * 1.1


def elastica(load):
    """(shortening, deflection) of the tip of a cantilever, L = EI = 1, force across: theta'' = -load cos(theta)."""

    def shoot(curvature):
        return solve_ivp(
            lambda s, y: (y[1], -load * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])),
            (0, 1), (0, curvature, 0, 0), rtol=1e-11, atol=1e-12,
        ).y[:, -1]  # fmt: skip

    tip = shoot(brentq(lambda c: shoot(c)[1], 0.5 * load / (1 + 0.3 * load), load, xtol=1e-12))
    return 1 - tip[2], tip[3]


def test_elastica_under_a_dead_force_converges_with_the_square_of_the_number():
    load = 5.0
    wanted = elastica(load)
    assert wanted[1] > 0.7  # far from small
    errors = []
    for n in (4, 8):
        beam = tm.CorotationalBeam(
            length=1 / n, axial_stiffness=1e5, bending_stiffness=1.0, torsion_stiffness=1.0
        )
        positions, _ = equilibrium(beam, n, lambda s: s * np.array([0, load, 0, 0, 0, 0]), steps=3)
        errors.append(np.hypot(1 - positions[-1, 0] - wanted[0], positions[-1, 1] - wanted[1]))
    assert errors[1] < 2e-3
    assert 3.0 < errors[0] / errors[1] < 5.0


def test_beams_are_alike_for_small_deformations_and_neither_end_of_the_corotational_one_is_preferred():
    fields = dict(length=1.3, axial_stiffness=50.0, bending_stiffness=(2.0, 3.0), torsion_stiffness=4.0)
    linear, corotational = tm.Beam(**fields), tm.CorotationalBeam(**fields)
    rng = np.random.default_rng(8)
    base = Rotation.random(random_state=4).as_matrix()
    small = 1e-6 * rng.normal(size=6)
    ends = [np.zeros(3), base @ (small[:3] + (1.3, 0, 0))]
    turns = [base, base @ Rotation.from_rotvec(small[3:]).as_matrix()]
    a, b = (beam.at(at_rest(beam, ends, turns)) for beam in (linear, corotational))
    assert_allclose(a.force, b.force, atol=1e-4 * np.abs(a.force).max())
    assert_allclose(a.moment, b.moment, atol=1e-4 * np.abs(a.moment).max())

    large = [np.zeros(3), base @ (1.2, 0.2, -0.1)]
    turns[1] = base @ Rotation.from_rotvec((0.3, -0.4, 0.2)).as_matrix()
    one = corotational.at(at_rest(corotational, large, turns))
    about = np.diag([-1.0, 1.0, -1.0])  # a turn of half about y exchanges the ends of the rest shape
    two = corotational.at(at_rest(corotational, large[::-1], [turns[1] @ about, turns[0] @ about]))
    assert_allclose(two.force[::-1], one.force, atol=1e-11)
    assert_allclose(two.moment[::-1], one.moment, atol=1e-11)


@pytest.mark.parametrize("kind", [tm.Beam, tm.CorotationalBeam])
def test_mass_on_a_cantilever_swings_with_the_frequency_of_its_stiffness(kind):
    L, m = 1.5, 2.0
    system = tm.System("cantilever", gravity=(0, 0, 0))
    tip = system.body("tip", mass=m, inertia=(1e-4, 1e-4, 1e-4))
    beam = kind(length=L, axial_stiffness=2e3, bending_stiffness=(EIY, EIZ), torsion_stiffness=GJ)
    system.connect("beam", beam, system.ground, tip)
    system.connect("F", tm.Free(), system.ground, tip)
    mech = system.build()
    w, v = np.sqrt(3 * EIZ / (m * L**3)), 1e-4
    # in the first mode the deflection 1 comes with the slope 3 / (2 L)
    state = mech.assemble(poses={"tip": (L, 0, 0)}, rates={"F": (0, v, 0, 0, 0, 1.5 * v / L)})
    run = mech.simulate((0, 2 * np.pi / w), state, rtol=1e-9, atol=1e-13)
    # the small inertia of the mass, and its own fast mode, are there: some 1e-4
    assert_allclose(run.body("tip").position[:, 1], v / w * np.sin(w * run.t), atol=1e-3 * v / w)


@pytest.mark.parametrize(
    "changed, message",
    [
        (dict(length=0.0), "length is 0: wanted a positive number"),
        (dict(bending_stiffness=(1, 2, 3)), r"bending_stiffness has shape \(3,\)"),
        (dict(axial_stiffness=-1.0), "at least 0"),
        (dict(torsion_stiffness="stiff"), "torsion_stiffness is 'stiff'"),
    ],
)
def test_bad_beams_are_refused(changed, message):
    fields = dict(length=1.0, axial_stiffness=1.0, bending_stiffness=1.0, torsion_stiffness=1.0)
    with pytest.raises(tm.ElementError, match=message):
        tm.CorotationalBeam(**{**fields, **changed})
