"""All closed positions of mechanisms whose number of positions is known."""

import numpy as np
import pytest
from scipy.optimize import fsolve

import treemech as tm

from .test_targets import closed, four_bar, off, stewart, turn, wrap


@pytest.mark.parametrize("cut", ["A", "B", "C", "D"])
@pytest.mark.parametrize("A", [0.6, -2.0])
def test_a_four_bar_has_its_two_positions_whichever_hinge_is_cut(cut, A):
    mech = four_bar(cut)[0]
    found = mech.assemblies(fix={"A": A}, guess={"D": 1.5})
    assert len(found) == 2
    for want in closed(A):
        assert min(off(state, want) for state in found) < 1e-12
    assert abs(wrap(found[0]["D"][0][0] - 1.5)) < abs(wrap(found[1]["D"][0][0] - 1.5))  # the nearest first


def three_rrr():
    """A plate on three arms of two links each, in the plane."""
    s = tm.System("3-RRR")
    plate = s.body("plate", 1.0, (0.1, 0.1, 0.1))
    for k in range(3):
        a = 2 * np.pi * k / 3 + np.pi / 2
        base, tip = np.array([np.cos(a), np.sin(a), 0.0]), 0.3 * np.array([np.cos(a), np.sin(a), 0.0])
        inner, outer = s.body(f"inner{k}", 1.0, (0.1, 0.1, 0.1)), s.body(f"outer{k}", 1.0, (0.1, 0.1, 0.1))
        s.connect(f"A{k}", tm.Revolute("z"), s.ground.at(base), inner)
        s.connect(f"B{k}", tm.Revolute("z"), inner.at((0.6, 0, 0)), outer)
        s.connect(f"C{k}", tm.Revolute("z"), outer.at((0.6, 0, 0)), plate.at(tip))
    return s.build(), plate


def test_a_plate_on_three_arms_has_eight_working_modes_and_its_assembly_modes():
    mech, plate = three_rrr()
    found = mech.assemblies(fix={plate: ((0.05, 0.02, 0.0), turn(0.1))}, attempts=80)
    elbows = {tuple(np.sign([state[f"B{k}"][0][0] for k in range(3)])) for state in found}
    assert len(found) == 8 == len(elbows)  # each elbow up or down
    inputs = {f"A{k}": found[0][f"A{k}"][0][0] for k in range(3)}
    modes = mech.assemblies(fix=inputs, attempts=80)
    ends = [
        np.array([np.cos(a) + 0.6 * np.cos(inputs[f"A{k}"]), np.sin(a) + 0.6 * np.sin(inputs[f"A{k}"])])
        for k, a in enumerate(2 * np.pi * np.arange(3) / 3 + np.pi / 2)
    ]

    def gaps(x):
        tips = [
            x[:2] + 0.3 * np.array([np.cos(x[2] + a), np.sin(x[2] + a)])
            for a in 2 * np.pi * np.arange(3) / 3 + np.pi / 2
        ]
        return [np.sum((tip - end) ** 2) - 0.36 for tip, end in zip(tips, ends)]

    rng, known = np.random.default_rng(0), []
    for _ in range(400):
        x, _, ok, _ = fsolve(gaps, rng.uniform([-1, -1, -np.pi], [1, 1, np.pi]), full_output=True)
        x[2] = wrap(x[2])
        if ok == 1 and np.max(np.abs(gaps(x))) < 1e-9 and all(np.max(np.abs(x - y)) > 1e-5 for y in known):
            known.append(x)
    number = mech.tree.numbers["plate"] - 1
    places = [mech.attitude(state) for state in modes]
    mine = [
        (*z.position[number][:2], np.arctan2(z.rotation[number][1, 0], z.rotation[number][0, 0]))
        for z in places
    ]
    assert len(modes) == len(known) <= 6
    for x in known:
        assert min(np.max(np.abs(np.array(y) - x)) for y in mine) < 1e-7


def test_positions_of_a_platform_come_in_pairs_above_and_below_its_flat_base():
    system, plate = stewart()
    mech = system.build()
    start = mech.assemble(poses={plate: ((0.1, -0.05, 1.1), turn(0.1))})
    legs = {f"L{k}": start[f"L{k}"][0][0] for k in range(6)}
    found = mech.assemblies(fix=legs, attempts=60)
    number = mech.tree.numbers["plate"] - 1
    heights = {tuple(np.round(mech.attitude(s).position[number], 6)) for s in found}
    assert len(heights) >= 4
    for state in found:
        assert all(state[name][0][0] == length for name, length in legs.items())
        assert np.max(np.abs(mech.constraints(state).residual)) < 1e-12
        for k in range(6):  # lengths, from the poses alone
            z, j = mech.attitude(state), mech.tree.numbers["plate"] - 1
            a = 2 * np.pi * (k // 2) / 3 + (0.2 if k % 2 else -0.2)
            b = 2 * np.pi * (k // 2) / 3 + (0.85 if k % 2 else -0.85)
            tip = z.position[j] + z.rotation[j] @ (0.6 * np.cos(b), 0.6 * np.sin(b), 0.0)
            assert abs(np.linalg.norm(tip - (np.cos(a), np.sin(a), 0)) - abs(legs[f"L{k}"])) < 1e-11
    assert any((x, y, -z) in heights for x, y, z in heights)
    again = mech.assemblies(fix=legs, attempts=60)
    assert all(np.array_equal(a.q, b.q) for a, b in zip(found, again, strict=True))


def test_where_nothing_closes_it_says_why():
    mech = four_bar()[0]
    with pytest.raises(tm.ConvergenceError, match="does not close at 'C'"):
        mech.assemblies(fix={"A": 0.5, "D": 3.0})
