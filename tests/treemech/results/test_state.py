"""What a state says of itself."""

import numpy as np
import pytest

import treemech as tm


def linkage():
    """A four-bar with a spring hinge in which C is cut."""
    system = tm.System("four-bar", gravity=(0, 0, -9.81))
    links = [system.body(name, mass=1.0, inertia=(0, 0.1, 0.1), com=(x, 0, 0))
             for name, x in (("crank", 0.5), ("coupler", 1.5), ("rocker", 1.25))]  # fmt: skip
    ends = [
        system.ground,
        links[0],
        links[0].at((1, 0, 0)),
        links[1],
        links[1].at((3, 0, 0)),
        links[2].at((2.5, 0, 0)),
    ]
    for name, a, b in zip("ABC", ends[::2], ends[1::2]):
        system.connect(name, tm.Revolute("y"), a, b, role="chord" if name == "C" else None)
    system.connect("D", tm.Revolute("y"), system.ground.at((3.5, 0, 0)), links[2])
    return system.build()


def test_a_state_says_its_numbers_as_mech_state_takes_them():
    mech = linkage()
    state = mech.assemble(fix={"A": -0.6})
    said = eval(repr(state).replace("State(", "dict(", 1))
    assert set(said) == {"t", "q", "u"} and set(said["q"]) == {"A", "B", "C", "D"}
    for name in "ABCD":
        assert said["q"][name] == pytest.approx(state[name][0][0], rel=1e-5)
    np.testing.assert_allclose(mech.assemble(guess=said["q"]).q, state.q, atol=1e-4)


def test_long_and_many_states_are_shortened():
    system = tm.System("chain")
    last = system.ground
    for k in range(20):
        link = system.body(f"l{k}", mass=1.0, inertia=(1, 1, 1))
        system.connect(f"h{k}", tm.Revolute("y"), last, link)
        last = link
    mech = system.build()
    assert "12 hinges more" in repr(mech.state()) and "h19" not in repr(mech.state())
    assert "(3, 20) numbers" in repr(mech.state(q=np.zeros((3, 20))))


def test_what_holds_a_state_is_no_state_and_says_so():
    mech = linkage()
    found = mech.equilibrium(mech.assemble(fix={"A": -0.6}))
    with pytest.raises(tm.TreemechError, match=r"energy: .* kind Equilibrium, .* give its \.state"):
        mech.energy(found)
