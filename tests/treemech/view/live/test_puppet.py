"""A mechanism moved by hand stays closed and on its branch, stops at dead points, and says so."""

import numpy as np
import pytest

import treemech as tm
from treemech.view.live.puppet import Puppet


def four_bar(rocker=1.5):
    """Return a four-bar with a crank that turns all around (Grashof), or, with a short rocker, one that does not."""
    l = tm.Parameter("l", 0.4)
    system = tm.System("bars", gravity=(0, 0, 0))
    crank, coupler, follower = (
        system.body(n, 1.0, (0.1, 0.1, 0.1)) for n in ("crank", "coupler", "follower")
    )
    system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.connect("B", tm.Revolute("z"), crank.at((l, 0, 0)), coupler)
    system.connect("C", tm.Revolute("z"), coupler.at((1.4, 0, 0)), follower.at((rocker, 0, 0)))
    system.connect("D", tm.Revolute("z"), system.ground.at((1.6, 0, 0)), follower)
    mech = system.build()
    return mech, mech.assemble(guess={"A": 0.3, "B": 0.8, "D": 1.8})


def opening(mech, state):
    return np.max(np.abs(mech._core.constraints(state.t, state.q, 0.0 * state.u).residual))


def test_a_coordinate_moves_and_the_loop_stays_closed_on_its_branch():
    mech, start = four_bar()
    puppet = Puppet(mech, start)
    signs = []
    for angle in (1.0, 2.0, 4.0, 6.5, -3.0):  # jumps of up to 9.5 rad, gone in strides
        assert puppet.move("A", angle) and puppet.value("A") == angle and puppet.message == ""
        assert opening(mech, puppet.state) < 1e-12
        b, c = (mech.pose(mech.tree.bodies[k], puppet.state).position for k in (2, 3))
        tip = mech.pose(mech.tree.bodies[3].at((1.5, 0, 0)), puppet.state).position
        signs.append(np.sign(np.cross(c - b, tip - b)[2]))
    assert len(set(signs)) == 1  # the knee of coupler and follower never turns over


def test_it_stops_where_the_chain_does_not_close_beyond():
    """A crank of 1.2 in a frame of 1.6: coupler and follower are straight at cos A = (1.2^2 + 1.6^2 - 1.7^2) / (2 1.2 1.6)."""
    mech, start = four_bar(rocker=0.3)
    mech = mech.with_parameters(l=1.2)
    puppet = Puppet(mech, mech.assemble(guess={"A": 0.9, "B": 0.0, "D": 2.0}))
    assert not puppet.move("A", 3.0)
    assert puppet.value("A") == pytest.approx(
        np.arccos((1.2**2 + 1.6**2 - 1.7**2) / (2 * 1.2 * 1.6)), abs=1e-3
    )
    assert "A stops at" in puppet.message and opening(mech, puppet.state) < 1e-12
    assert puppet.move("A", 0.9) and puppet.message == ""


def test_points_are_dragged_or_as_near_as_they_come():
    mech, start = four_bar()
    puppet, crank = Puppet(mech, start), mech.tree.bodies[1]
    tip = crank.at((0.4, 0, 0))
    assert puppet.drag(tip, (0.4 * np.cos(1.2), 0.4 * np.sin(1.2), 0.0))
    assert puppet.value("A") == pytest.approx(1.2, abs=1e-8)
    assert not puppet.drag(tip, (0.0, 2.0, 0.0)) and "out of reach" in puppet.message
    assert puppet.value("A") == pytest.approx(np.pi / 2, abs=1e-6) and opening(mech, puppet.state) < 1e-9


def test_parameters_change_and_it_closes_again():
    puppet = Puppet(*four_bar())
    assert puppet.change(l=0.3) and puppet.mech.parameters == {"l": 0.3}
    assert opening(puppet.mech, puppet.state) < 1e-10
    before = puppet.state
    assert not puppet.change(l=9.0) and puppet.message and puppet.state is before
    assert puppet.mech.parameters == {"l": 0.3}


def test_trees_prescribed_coordinates_and_names():
    system = tm.System("arm", gravity=(0, 0, 0))
    a, b, c = (system.body(n, 1.0, (0.1, 0.1, 0.1)) for n in "abc")
    system.connect("A", tm.Revolute("z"), system.ground, a)
    system.connect("B", tm.Cylindrical("z"), a, b)
    system.connect("C", tm.Ball(), b, c)
    system.prescribe("A", lambda t: 0.5 + t)
    puppet = Puppet(system.build())
    assert list(puppet.coordinates) == ["B[0]", "B[1]"] and puppet.unit("B[1]") == "m"
    assert puppet.move("B[1]", 0.7) and puppet.value("B[1]") == 0.7 and puppet.state["A"][0][0] == 0.5
    with pytest.raises(tm.TreemechError, match="there is no coordinate .A.: there are"):
        puppet.move("A", 0.0)
    with pytest.raises(tm.TreemechError, match="finite"):
        puppet.move("B[0]", np.nan)
