"""Massless links of closed chains: the limit of light ones, whichever hinge is cut."""

import numpy as np
import pytest

import treemech as tm

LENGTHS = {"a": 1.0, "b": 3.0, "c": 2.5}


def four_bar(light, cut=None, part=0.0):
    """A four-bar in which one link has only this part of the mass of the others."""
    s = tm.System("four-bar", gravity=(0, -9.81, 0))
    links = {}
    for name, length in LENGTHS.items():
        m = 2.0 * (part if name == light else 1.0)
        J = m * length**2 / 12
        links[name] = s.body(name, m, (0, J, J), com=(length / 2, 0, 0))
    a, b, c = links.values()
    role = {pin: "chord" if pin == cut else None for pin in "ABCD"}
    s.connect("A", tm.Revolute("z"), s.ground, a, role=role["A"])
    s.connect("B", tm.Revolute("z"), a.at((1, 0, 0)), b, role=role["B"])
    s.connect("C", tm.Revolute("z"), b.at((3, 0, 0)), c.at((2.5, 0, 0)), role=role["C"])
    s.connect("D", tm.Revolute("z"), s.ground.at((3.5, 0, 0)), c, role=role["D"])
    return s.build()


def motion(mech):
    start = mech.assemble(fix={"A": 0.6}, guess={"D": 1.6}, rates={"A": 1.0})
    run = mech.simulate((0, 1), start, rtol=1e-9)
    assert run.success
    return np.concatenate([(run.connection(p).q[-1], *run.connection(p).force[-1]) for p in "ABCD"])


@pytest.mark.parametrize("light", "abc")
def test_a_massless_link_is_the_limit_of_a_light_one_whichever_hinge_is_asked_to_be_cut(light):
    inside = {"a": "D", "b": "A", "c": "A"}[light]  # a cut for which a light link costs no digits
    want = motion(four_bar(light, inside, part=1e-9))
    for cut in (None, *"ABCD"):
        np.testing.assert_allclose(motion(four_bar(light, cut)), want, rtol=0.0, atol=1e-5)


def test_a_hinge_that_is_asked_to_be_cut_is_cut():
    s = tm.System("triangle")
    frame, rod = s.body("frame", 0.0, (0, 0, 0)), s.body("rod", 1.0, (0.01, 0.1, 0.1), com=(0.5, 0, 0))
    s.connect("A", tm.Revolute("z"), s.ground, frame)
    s.connect("B", tm.Revolute("z"), frame.at((1, 0, 0)), rod, role="chord")
    s.connect("C", tm.Revolute("z"), s.ground.at((1.5, 0, 0)), rod.at((1, 0, 0)))
    mech = s.build()
    assert [c.name for c in mech.tree.chords] == ["B"]
    assert mech.mobility(mech.assemble(guess={"A": 0.5})).dof == 0


def test_a_massless_tip_that_nothing_holds_is_refused_as_before():
    s = tm.System("loose")
    rod, flag = s.body("rod", 1.0, (0.1, 0.1, 0.1)), s.body("flag", 0.0, (0, 0, 0))
    s.connect("A", tm.Revolute("z"), s.ground, rod)
    s.connect("B", tm.Revolute("z"), rod.at((1, 0, 0)), flag)
    with pytest.raises(tm.SingularError, match="'B'.*moves no inertia"):
        s.build()
