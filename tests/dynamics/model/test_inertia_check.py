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
