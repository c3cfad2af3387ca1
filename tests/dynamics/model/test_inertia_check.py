"""Positions in which a speed meets no inertia: an error with its name, never NaN or an exception of numpy."""

import numpy as np
import pytest

import treemech as tm


def rod_on_universal(closed=False):
    """A rod along the first axis of its universal joint."""
    system = tm.System("rod", gravity=(0, 0, -9.81))
    rod = system.body("rod", **tm.solids.rod((0, 0, 0), (1, 0, 0), mass=1.0).properties)
    system.connect("socket", tm.Universal(), system.ground, rod)
    if closed:
        for name in ("first", "second"):  # redundant, so that independent rows have to be chosen
            system.connect(name, tm.InPlane(), system.ground, rod.at((1, 0, 0)))
    return system.build()


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("analysis", ["forward_dynamics", "derivatives", "linearize"])
def test_a_speed_without_inertia_in_one_position_is_named(analysis, closed):
    mech = rod_on_universal(closed)
    with pytest.raises(tm.SingularError, match=r"'socket\[0\]' meets no inertia"):
        getattr(mech, analysis)(mech.state())


def test_next_to_that_position_there_is_an_acceleration():
    mech = rod_on_universal()
    assert np.isfinite(mech.forward_dynamics(mech.state(q={"socket": [0.0, 0.01]})).ud).all()


@pytest.mark.parametrize("seed", range(12))
def test_a_slender_rod_on_a_free_hinge_is_refused_whichever_way_it_is_placed(seed):
    """The last pivot is rounding divided by small pivots before it: it says nothing by itself."""
    rng = np.random.default_rng(seed)
    start, way = rng.normal(size=3), 10.0 ** rng.uniform(-3, 2) * rng.normal(size=3)
    system = tm.System("rod")
    rod = system.body("rod", **tm.solids.rod(start, start + way, mass=10.0 ** rng.uniform(-6, 3)).properties)
    system.connect("joint", tm.Free(), *((rod, system.ground) if seed % 2 else (system.ground, rod)))
    with pytest.raises(tm.SingularError, match=r"hinge 'joint' \(Free\) moves no inertia"):
        system.build()


def test_the_rod_of_the_audit_is_refused():
    start, way = np.array([-0.5, -0.6, -0.7]), np.array([-1.15, 1.78, -0.02])
    system = tm.System("rod")
    rod = system.body("rod", **tm.solids.rod(start, start + way, mass=1.0).properties)
    system.connect("joint", tm.Free(), rod, system.ground)
    with pytest.raises(tm.SingularError, match="'joint'"):
        system.build()


def test_a_thin_rod_with_a_radius_is_built():
    system = tm.System("rod")
    rod = system.body("rod", 1.0, (5e-11, 1 / 12, 1 / 12), com=(0.3, 0.2, 0.1))
    system.connect("joint", tm.Free(), rod, system.ground)
    assert system.build().nu == 6
