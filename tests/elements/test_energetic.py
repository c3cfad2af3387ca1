"""Every passive element keeps the laws: power balance, objectivity, equilibrium of its loads."""

import numpy as np
import pytest

import treemech as tm
from tests.support.energetic_laws import balance_error, objectivity_error, resultant_error
from tests.support.tolerances import DIFF
from treemech.elements import energetic
from treemech.elements.energetic import motion_views

rng = np.random.default_rng(11)
root = rng.normal(size=(6, 6))
swing = tm.Harmonic(amplitude=2.0, frequency=3.0)
ROWS = [(-1.0, -3.0), (0.2, 0.0), (0.9, 4.0), (1.5, 5.0), (2.5, 30.0)]
ELEMENTS = [
    tm.Spring(stiffness=40.0, damping=3.0, length=1.0, force=swing),
    tm.Spring(stiffness=40.0, damping=3.0, length=1.0, only="tension"),
    tm.Spring(stiffness=40.0, damping=3.0, length=1.0, force=swing, only="compression"),
    tm.TableSpring(ROWS, damping_table=[(-2.0, -5.0), (0.0, 0.0), (1.0, 1.0), (2.0, 8.0)], force=swing),
    tm.TableSpring(ROWS, interpolation="linear", damping=2.0, only="tension"),
    tm.RotationalSpring(stiffness=4.0, damping=0.3, angle=0.2, torque=swing),
    tm.RotationalSpring(table=ROWS, damping=0.3, angle=0.4),
    tm.HingeStop(lower=-0.4, upper=0.3, stiffness=800.0, damping=0.4),
    tm.HingeStop(upper=0.3, stiffness=800.0, exponent=1.0),
    tm.Bushing(root @ root.T, damping=rng.uniform(0, 1, 6)),
    tm.Beam(
        length=1.3, axial_stiffness=50.0, bending_stiffness=(2.0, 3.0), torsion_stiffness=4.0, damping=0.1
    ),
    tm.CorotationalBeam(
        length=1.3, axial_stiffness=50.0, bending_stiffness=(2.0, 3.0), torsion_stiffness=4.0, damping=0.1
    ),
    tm.PlaneElement([(0, 0), (1.1, 0.2), (0.3, 0.9)], 30.0, 0.3, 1.0, damping=0.1),
    tm.PlaneElement([(0, 0), (0.3, 0.9), (1.1, 0.2)], 30.0, 0.4, 1.0, state="strain"),
    tm.Drag(linear=0.3, coefficient=2.0, area=0.5, wind_x=3.0, wind_z=swing),
    tm.ForceFunction(lambda t, q, u: (q[0], t * u[1], 2.0), frame="body").reading(2),
    tm.MomentFunction(lambda t, q, u: (q[0], t * u[1], 2.0)).reading(2),
]


@pytest.mark.parametrize("element", ELEMENTS, ids=lambda e: e.kind)
def test_power_balance(element):
    rng = np.random.default_rng(3)
    assert max(balance_error(element, rng) for _ in range(40)) < DIFF


@pytest.mark.parametrize("element", [e for e in ELEMENTS if e.n.ends and not e.world], ids=lambda e: e.kind)
def test_loads_follow_a_rigid_motion_and_balance(element):
    rng = np.random.default_rng(4)
    assert max(objectivity_error(element, rng) for _ in range(20)) < 1e-11  # sums of some hundred products
    assert max(resultant_error(element, rng) for _ in range(20)) < 1e-11


@pytest.mark.parametrize("element", ELEMENTS, ids=lambda e: e.kind)
def test_dissipation_is_not_negative(element):
    rng = np.random.default_rng(5)
    for _ in range(100):
        assert element.at(motion_views(element.sample(rng, 0.0), element.n)).dissipated[0] >= 0.0


# ---------------------------------------------------------------- records
@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_core_and_the_views_agree_where_numbers_of_the_ends_stand(n):
    sizes = energetic.Sizes(n, 2, 1, 1, 3, 1, 1)
    motion, load = ({name: at for name, _, at in layout} for layout in (sizes.motion, sizes.load))
    assert motion["rotation"] == n * energetic.ROTATION and motion["velocity"] == n * energetic.VELOCITY
    assert motion["angular_velocity"] == n * energetic.ANGULAR_VELOCITY
    assert motion["q"] == n * energetic.MOTION_PER_END and motion["reaction"] + 6 == sizes.motion_size
    assert load["moment"] == n * energetic.MOMENT and load["load"] == n * energetic.LOAD_PER_END
    assert load["effort"] + 1 == sizes.load_size
