"""Kinematic simulation of closed chains: closed forms, branches, drives, loads, and what is refused."""

import numpy as np
import pytest

import treemech as tm


def slider_crank(crank=2.0, rod=3.5, motion=None, driven="A", gravity=(0, 0, 0), roles=None):
    """Crank about z, slider along x; uniform bars in the plane."""
    system, role = tm.System("slider-crank", gravity=gravity), roles or {}
    first = system.body("crank", 2.0, (0, 0.7, 0.7), com=(crank / 2, 0, 0))
    second = system.body("rod", 3.0, (0, 3.1, 3.1), com=(rod / 2, 0, 0))
    slider = system.body("slider", 1.5, (0.1, 0.1, 0.1))
    system.connect("A", tm.Revolute("z"), system.ground, first, role=role.get("A"))
    system.connect("B", tm.Revolute("z"), first.at((crank, 0, 0)), second, role=role.get("B"))
    system.connect("C", tm.Revolute("z"), second.at((rod, 0, 0)), slider, role=role.get("C"))
    system.connect("D", tm.Prismatic("x"), system.ground, slider, role=role.get("D"))
    if motion is not None:
        system.prescribe(driven, motion)
    return system.build()


def slider_motion(crank, rod, a, a1=1.0, a2=0.0):
    """x, x', x'' of the slider for crank angles a, rates, accelerations."""
    s = np.sqrt(rod**2 - (crank * np.sin(a)) ** 2)
    s1 = -(crank**2) * np.sin(a) * np.cos(a) / s
    s2 = (-(crank**2) * np.cos(2 * a) - s1**2) / s
    first = -crank * np.sin(a) + s1
    return crank * np.cos(a) + s, first * a1, (-crank * np.cos(a) + s2) * a1**2 + first * a2


def four_bar(motion=None, roles=None, gravity=(0, -9.81, 0), lengths=(1.0, 3.0, 2.5, 3.5)):
    """Crank, coupler, rocker, ground."""
    system, role = tm.System("four-bar", gravity=gravity), roles or {}
    bodies = [
        system.body(name, m, (0, m * l**2 / 12, m * l**2 / 12), com=(l / 2, 0, 0))
        for name, m, l in zip(("crank", "coupler", "rocker"), (1.0, 3.0, 2.5), lengths)
    ]
    system.connect("A", tm.Revolute("z"), system.ground, bodies[0], role=role.get("A"))
    system.connect("B", tm.Revolute("z"), bodies[0].at((lengths[0], 0, 0)), bodies[1], role=role.get("B"))
    ends = bodies[1].at((lengths[1], 0, 0)), bodies[2].at((lengths[2], 0, 0))
    system.connect("C", tm.Revolute("z"), *ends, role=role.get("C"))
    system.connect("D", tm.Revolute("z"), system.ground.at((lengths[3], 0, 0)), bodies[2], role=role.get("D"))
    if motion is not None:
        system.prescribe("A", motion)
    return system.build()


WAVE = tm.Harmonic(0.8, 3.0, 0.2, 0.5)


@pytest.mark.parametrize("motion", [tm.Polynomial([0.4, 5.0]), WAVE])
def test_a_slider_crank_moves_as_its_closed_form_says(motion):
    mech = slider_crank(motion=motion)
    times = np.linspace(0.0, 2.0, 60)
    run = mech.kinematics(times, mech.assemble(guess={"B": -0.6, "D": 5.0}))
    a, a1, a2 = np.array([motion.at(t) for t in times]).T
    x, v, acc = slider_motion(2.0, 3.5, a, a1, a2)
    slider = run.connection("D")
    assert run.success and np.array_equal(run.t, times)
    assert np.max(np.abs(slider.q - x)) < 1e-12
    assert np.max(np.abs(slider.u - v)) < 1e-11
    assert np.max(np.abs(slider.ud - acc)) < 1e-10
    assert np.max(np.abs(run.body("slider").acceleration[:, 0] - acc)) < 1e-10


@pytest.mark.parametrize("branch", [1, -1])
def test_a_four_bar_keeps_its_branch_on_any_grid(branch):
    l1, l2, l3, l4 = 1.0, 3.0, 2.5, 3.5
    motion = tm.Polynomial([0.6, 7.0])
    mech = four_bar(motion)

    def rocker(a):  # position analysis: triangle of the diagonal from the crank pin to D
        x, y = l1 * np.cos(a) - l4, l1 * np.sin(a)
        d = np.hypot(x, y)
        return np.arctan2(y, x) - branch * np.arccos((l3**2 + d**2 - l2**2) / (2 * l3 * d))

    start = mech.assemble(guess={"B": branch * 0.6, "D": float(rocker(0.6))})
    for times in (np.linspace(0, 2, 3), np.linspace(0, 2, 150), np.array([0.0, 1.9])):
        run = mech.kinematics(times, start)
        error = run.connection("D").q - rocker(0.6 + 7.0 * times)
        assert np.max(np.abs((error + np.pi) % (2 * np.pi) - np.pi)) < 1e-12
    back = mech.kinematics(times[::-1], mech.state(1.9, run.q[-1]))
    assert np.max(np.abs(back.q[::-1] - run.q)) < 1e-10 and np.max(np.abs(back.ud[::-1] - run.ud)) < 1e-8


@pytest.mark.parametrize("cut", ["B", "C", "D"])
def test_which_hinge_is_cut_changes_no_motion_and_no_load(cut):
    times = np.linspace(0.0, 1.0, 8)
    reference = four_bar(WAVE, {"C": "chord"})
    run = reference.kinematics(times, reference.assemble(guess={"B": 0.6, "D": 1.6}))
    mech = four_bar(WAVE, {cut: "chord"})
    first = {n: (run.body(n).position[0], run.body(n).rotation[0]) for n in ("crank", "coupler", "rocker")}
    other = mech.kinematics(times, mech.assemble(poses=first))
    for name in first:
        assert np.max(np.abs(other.body(name).position - run.body(name).position)) < 1e-12
        assert np.max(np.abs(other.body(name).acceleration - run.body(name).acceleration)) < 1e-9
    for name in "ABCD":
        assert np.max(np.abs(other.connection(name).force - run.connection(name).force)) < 1e-8
    assert np.max(np.abs(other.drive("A") - run.drive("A"))) < 1e-9


@pytest.mark.parametrize("make", [four_bar, slider_crank])
def test_the_power_of_the_drive_is_the_rate_of_the_energy(make):
    mech = (
        make(WAVE, gravity=(1.0, -9.81, 0)) if make is four_bar else make(motion=WAVE, gravity=(1, -9.81, 0))
    )
    h, times = 1e-4, np.linspace(0.1, 2.0, 25)
    grid = np.sort(np.concatenate([times + k * h for k in (-2, -1, 0, 1, 2)]))
    run = mech.kinematics(
        grid, mech.assemble(float(grid[0]), guess={"B": -0.4, "D": 1.6 if make is four_bar else 5.0})
    )
    E = run.energy.total.reshape(-1, 5)
    rate = (E[:, 0] - 8 * E[:, 1] + 8 * E[:, 3] - E[:, 4]) / (12 * h)
    power = (run.drive("A") * run.connection("A").u)[2::5]
    assert np.max(np.abs(power - rate)) < 1e-8 * np.max(np.abs(power))


def test_loads_of_the_run_are_those_of_the_equations_of_motion():
    """Forward dynamics with the drive still prescribed: same accelerations, same loads."""
    mech = four_bar(WAVE)
    run = mech.kinematics(np.linspace(0, 1, 4), mech.assemble(guess={"B": 0.6, "D": 1.6}))
    for k in range(4):
        state = mech.state(run.t[k], run.q[k], run.u[k])
        assert np.max(np.abs(mech.forward_dynamics(state).ud - run.ud[k])) < 1e-10
        loads = mech.reactions(state)
        for name in "ABCD":
            assert np.max(np.abs(loads[name].force - run.connection(name).force[k])) < 1e-9
    state = mech.state(run.t[2], run.q[2], run.u[2])
    assert abs(mech.inverse_dynamics(state, {})[0] - run.drive("A")[2]) < 1e-10


def spatial(motion, roles=None):
    """Crank about x, rod between a ball and a universal hinge, slider along x: Euler parameters in the tree or cut."""
    system, role = tm.System("spatial slider-crank", gravity=(0, 0, -9.81)), roles or {}
    crank = system.body("crank", 0.12, (1e-4, 1e-4, 1e-4), com=(0, 0.04, 0))
    rod = system.body("rod", 0.5, (4e-4, 4e-3, 4e-3))
    slider = system.body("slider", 2.0, (1e-4, 1e-4, 1e-4))
    system.connect("A", tm.Revolute("x"), system.ground.at((0, 0.1, 0.12)), crank)
    system.connect("B", tm.Ball(), crank.at((0, 0.08, 0)), rod.at((-0.15, 0, 0)), role=role.get("B"))
    system.connect("C", tm.Universal(), slider, rod.at((0.15, 0, 0)), role=role.get("C"))
    system.connect("D", tm.Prismatic("x"), system.ground, slider)
    system.prescribe("A", motion)
    return system.build()


@pytest.mark.parametrize("cut", ["B", "C"])
def test_a_spatial_chain_with_euler_parameters_moves_as_its_closed_form_says(cut):
    w = 2 * np.pi
    mech = spatial(tm.Polynomial([np.pi / 2, w]), {cut: "chord"})
    R = np.column_stack(([2 / 3, -1 / 3, -2 / 3], [0, 2 / np.sqrt(5), -1 / np.sqrt(5)], [0, 0, 0]))
    R[:, 2] = np.cross(R[:, 0], R[:, 1])
    poses = {
        "rod": ((0.1, 0.05, 0.1), R),
        "slider": (0.2, 0, 0),
        "crank": ((0, 0.1, 0.12), _turn_x(np.pi / 2)),
    }
    times = np.linspace(0.0, 1.0, 31)
    run = mech.kinematics(times, mech.assemble(poses=poses))
    a = np.pi / 2 + w * times
    y, z = 0.1 + 0.08 * np.cos(a), 0.12 + 0.08 * np.sin(a)
    x = np.sqrt(0.09 - y**2 - z**2)
    y1, z1, y2, z2 = -0.08 * w * np.sin(a), 0.08 * w * np.cos(a), -(y - 0.1) * w**2, -(z - 0.12) * w**2
    v = -(y * y1 + z * z1) / x
    acc = -(y1**2 + z1**2 + y * y2 + z * z2 + v**2) / x
    slider = run.connection("D")
    assert run.success
    assert np.max(np.abs(slider.q - x)) < 1e-12
    assert np.max(np.abs(slider.u - v)) < 1e-11
    assert np.max(np.abs(slider.ud - acc)) < 1e-9
    power = np.trapezoid(run.drive("A") * w, times)  # a whole turn: no work is left
    assert abs(power) < 1e-3 * np.max(np.abs(run.drive("A") * w))


def _turn_x(a):
    return np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])


def test_a_parallelogram_passes_both_flat_positions_and_says_so():
    mech = four_bar(tm.Polynomial([0.3, 2 * np.pi]), lengths=(1.0, 2.0, 1.0, 2.0), gravity=(0, 0, 0))
    start = mech.assemble(guess={"B": -0.3, "D": 0.3})
    flat = (np.array([np.pi, 2 * np.pi]) - 0.3) / (2 * np.pi)
    for times in (np.linspace(0, 1, 5), np.array([0.0, *flat, 1.0]), np.linspace(0, 1, 200)):
        run = mech.kinematics(times, start)
        assert run.success and "Singular positions were passed at t = 0.452254, 0.952254 s" in run.message
        assert np.max(np.abs(run.connection("D").q - 0.3 - 2 * np.pi * times)) < 1e-11
        assert np.max(np.abs(run.connection("D").u - 2 * np.pi)) < 1e-9
        assert np.max(np.abs(run.connection("D").ud)) < 1e-6
        assert np.max(np.abs(run.drive("A"))) < 1e-6  # constant rate, no weight


def test_loads_without_a_finite_value_are_nan_and_not_numbers():
    """The follower of a flat parallelogram cannot be accelerated through its coupler."""
    mech = four_bar(tm.Polynomial([0.3, 1.0, 0.5]), lengths=(1.0, 2.0, 1.0, 2.0), gravity=(0, 0, 0))
    t = -1.0 + np.sqrt(1.0 + 2.0 * (np.pi - 0.3))  # 0.3 + t + t^2/2 = pi
    run = mech.kinematics(np.array([0.0, t, 2.5]), mech.assemble(guess={"B": -0.3, "D": 0.3}))
    assert np.max(np.abs(run.connection("D").ud - 1.0)) < 1e-6
    assert np.isnan(run.drive("A")[1]) and np.all(np.isfinite(run.drive("A")[[0, 2]]))


def bennett(motion):
    """Four revolutes, neither parallel nor meeting in a point: a plain count leaves it rigid."""
    system, a, b, twist = tm.System("Bennett", gravity=(0, 0, -9.81)), 1.0, 1.5, 0.6
    links = [system.ground, *(system.body(f"link{k}", 1.0, (1, 1, 1), com=(0.3, 0, 0)) for k in range(3))]
    twists = (twist, np.arcsin(np.sin(twist) * b / a))
    for k in range(4):
        end = links[k].at(((a, b)[k % 2], 0, 0), _turn_x(twists[k % 2]))
        system.connect(f"J{k}", tm.Revolute("z"), end, links[(k + 1) % 4])
    system.prescribe("J0", motion)
    return system.build()


def three_cranks(motion):
    """One crank more than a parallelogram needs."""
    system = tm.System("three cranks", gravity=(0, -9.81, 0))
    bar = system.body("bar", 1.0, (1, 1, 1))
    for k in range(3):
        crank = system.body(f"crank{k}", 1.0, (1, 1, 1))
        system.connect(f"A{k}", tm.Revolute("z"), system.ground.at((k, 0, 0)), crank)
        system.connect(f"B{k}", tm.Revolute("z"), crank.at((1, 0, 0)), bar.at((k, 0, 0)))
    system.prescribe("A0", motion)
    return system.build()


@pytest.mark.parametrize("make", [bennett, three_cranks])
def test_redundant_chains_move_with_all_their_rows_satisfied(make):
    motion = tm.Polynomial([0.5, 2.0])
    mech = make(motion)
    # near the branch on which opposite angles (Bennett) or all cranks are equal
    start = {
        c.name: 3.0 if make is bennett else 0.5 if c.name[0] == "A" else -0.5 for c in mech._lagrange.hinges
    }
    start.pop("J0" if make is bennett else "A0")
    run = mech.kinematics(np.linspace(0, 4, 30), mech.assemble(guess=start))
    assert run.success and mech.mobility(mech.state(0.0, run.q[0])).redundant
    for t, q, u, ud in zip(run.t, run.q, run.u, run.ud):
        rows = mech._core.constraints(t, q, u, ud)
        assert np.max(np.abs(rows.residual)) < 1e-13
        assert np.max(np.abs(rows.velocity)) < 1e-12
        assert np.max(np.abs(rows.bias)) < 1e-10
    if make is three_cranks:
        assert np.max(np.abs(run.body("bar").position[:, 0] - np.cos(0.5 + 2 * run.t))) < 1e-12
    # drive power against the rate of the energy, over the whole run by Simpson's rule
    times = np.linspace(0, 1, 201)
    run = mech.kinematics(times, mech.assemble(guess=start))
    power = run.drive(next(iter(mech._info.prescribed))[0]) * 2.0
    work = np.sum(power[:-2:2] + 4 * power[1:-1:2] + power[2::2]) * 0.005 / 3
    change = run.energy.total[-1] - run.energy.total[0]
    assert abs(work - change) < 1e-7 * (1.0 + np.max(np.abs(power)))


def test_random_drives_through_singular_positions_never_leave_their_branch():
    rng = np.random.default_rng(3)
    for _ in range(12):
        rate, turn = float(rng.uniform(1, 20) * rng.choice([-1, 1])), float(rng.uniform(0.1, 1.3))
        times = np.linspace(0.0, float(rng.uniform(0.2, 3.0)), int(rng.integers(2, 30)))
        mech = four_bar(tm.Polynomial([turn, rate]), lengths=(1.0, 2.0, 1.0, 2.0))
        run = mech.kinematics(times, mech.assemble(guess={"B": -turn, "D": turn}))
        assert np.max(np.abs(run.connection("D").q - turn - rate * times)) < 1e-9
        mech = slider_crank(2.0, 2.0, tm.Polynomial([turn, rate]))
        run = mech.kinematics(times, mech.assemble(guess={"B": -2 * turn, "D": 4 * np.cos(turn)}))
        assert np.max(np.abs(run.connection("D").q - 4 * np.cos(turn + rate * times))) < 1e-9


def test_rates_that_jump_are_met_exactly():
    """A drive that is held before and after its table: straight in between."""
    motion = tm.Spline([0.5, 0.8, 1.1], [0.4, 1.0, 1.6], ends="natural")
    mech = slider_crank(motion=motion)
    times = np.linspace(0.0, 1.6, 17)
    assert motion.breaks
    run = mech.kinematics(times, mech.assemble(guess={"B": -0.6, "D": 5.0}))
    a, a1, a2 = np.array([motion.at(t) for t in times]).T
    x, v, acc = slider_motion(2.0, 3.5, a, a1, a2)
    assert np.max(np.abs(run.connection("D").q - x)) < 1e-12
    assert np.max(np.abs(run.connection("D").u - v)) < 1e-11
    assert np.max(np.abs(run.connection("D").ud - acc)) < 1e-10


def test_a_tree_whose_coordinates_are_all_prescribed_needs_no_chains():
    system = tm.System("arm", gravity=(0, -9.81, 0))
    one = system.body("one", 1.0, (0, 0.1, 0.1), com=(0.5, 0, 0))
    two = system.body("two", 1.0, (0, 0.1, 0.1), com=(0.5, 0, 0))
    system.connect("A", tm.Revolute("z"), system.ground, one)
    system.connect("B", tm.Revolute("z"), one.at((1, 0, 0)), two)
    system.prescribe("A", tm.Polynomial([0.1, 2.0]))
    with pytest.raises(tm.SingularError, match=r"1 degree of freedom stay open.*'B'"):
        system.build().kinematics([0.0, 1.0])
    system.prescribe("B", WAVE)
    mech = system.build()
    times = np.linspace(0, 1, 7)
    run = mech.kinematics(times)
    a, b = 0.1 + 2 * times, np.array([WAVE.at(t).value for t in times])
    assert np.max(np.abs(run.point("two", (1, 0, 0)).position[:, 0] - np.cos(a) - np.cos(a + b))) < 1e-14
    for k in (0, 6):
        want = mech.inverse_dynamics((times[k], run.q[k], run.u[k]), run.ud[k])
        assert abs(run.drive("A")[k] - want[0]) < 1e-12 and abs(run.drive("B")[k] - want[1]) < 1e-12


# ---------------------------------------------------------------- what is refused
def test_a_mechanism_that_is_not_driven_is_told_what_to_prescribe():
    mech = slider_crank()
    with pytest.raises(
        tm.SingularError, match=r"1 degree of freedom stay open.*Prescribe '[ABD]' \(system.prescribe\)"
    ):
        mech.kinematics([0.0, 1.0], mech.assemble(fix={"A": 0.5}, guess={"D": 5.0, "B": -0.8}))


def test_an_over_constrained_drive_names_its_joints():
    mech = slider_crank(motion=tm.Constant(0.4))
    fits = mech.assemble(guess={"B": -0.6, "D": 5.0})["B"][0][0]
    for second in (tm.Polynomial([float(fits), 1.0]), tm.Constant(float(fits)), tm.Constant(0.3)):
        system = tm.System("twice", gravity=(0, 0, 0))
        crank, rod = system.body("crank", 1.0, (1, 1, 1)), system.body("rod", 1.0, (1, 1, 1))
        slider = system.body("slider", 1.0, (1, 1, 1))
        system.connect("A", tm.Revolute("z"), system.ground, crank)
        system.connect("B", tm.Revolute("z"), crank.at((2, 0, 0)), rod)
        system.connect("C", tm.Revolute("z"), rod.at((3.5, 0, 0)), slider)
        system.connect("D", tm.Prismatic("x"), system.ground, slider)
        system.prescribe("A", tm.Constant(0.4))
        system.prescribe("B", second)
        with pytest.raises(
            tm.TreemechError, match=r"2 coordinates are (fixed or )?prescribed.*1 degree of freedom"
        ) as caught:
            system.build().kinematics([0.0, 0.1])
        assert "'A'" in str(caught.value) and "'B'" in str(caught.value)


def test_an_unsuitable_coordinate_is_refused_where_it_decides_nothing():
    """At its dead point the slider cannot drive the crank."""
    mech = slider_crank(driven="D", motion=tm.Polynomial([5.5, -1.0]))
    with pytest.raises(tm.SingularError, match=r"prescribing 'D' is unsuitable.*Prescribe '[AB]' instead"):
        mech.kinematics([0.0, 0.1], mech.state(0.0, {"A": 0.0, "B": 0.0}))


def test_a_drive_out_of_reach_at_the_start_names_the_joint():
    mech = slider_crank(rod=1.0, motion=tm.Constant(1.5))
    with pytest.raises(tm.ConvergenceError, match=r"does not close at 'C'"):
        mech.kinematics([0.0, 1.0])


def test_bad_grids_are_refused():
    mech = slider_crank(motion=WAVE)
    with pytest.raises(tm.TreemechError, match="t_eval is empty"):
        mech.kinematics([])
    with pytest.raises(tm.TreemechError, match="t_eval"):
        mech.kinematics([0.0, 0.2, 0.1])
    with pytest.raises(tm.TreemechError, match="t_eval"):
        mech.kinematics([0.0, np.nan])


# ---------------------------------------------------------------- mobility
def test_mobility_says_where_a_position_is_singular():
    mech = four_bar(lengths=(1.0, 2.0, 1.0, 2.0))
    turned = mech.mobility(mech.assemble(fix={"A": 0.7}, guess={"B": -0.7, "D": 0.7}))
    assert (turned.dof, turned.admissible, turned.singular) == (1, 1, []) and len(turned.suitable) == 1
    flat = mech.mobility(mech.state(q={"A": 0.0, "B": 0.0, "D": 0.0}))
    assert flat.dof == 2 and len(flat.suitable) == 2 and flat.singular == flat.suitable[1:]
    assert "singular position" in str(flat)
    near = mech.mobility(mech.assemble(fix={"A": 0.01}, guess={"B": -0.01, "D": 0.01}))
    assert near.dof == 1 and near.ratio < 0.05 * turned.ratio


def test_suitable_coordinates_are_suitable():
    for mech in (four_bar(), slider_crank()):
        state = mech.assemble(
            fix={"A": 0.5}, guess={"B": 0.6, "D": 1.6} if mech.name == "four-bar" else {"D": 5.0, "B": -0.8}
        )
        found = mech.mobility(state)
        P = mech.constraints(state).partials
        rest = [k for k, name in enumerate(mech.speeds) if name not in found.suitable]
        assert np.linalg.matrix_rank(P[:, rest]) == len(rest) == found.rank


def test_the_compiled_way_and_point_by_point_give_the_same_motion(monkeypatch):
    from treemech.simulation import kinematics as module

    times = np.linspace(0, 3, 200)
    for make, guess in ((four_bar, {"D": 1.6}), (bennett, {"J1": 3.0, "J2": 5.8})):
        mech = make(tm.Harmonic(amplitude=0.9, frequency=4.0, offset=0.5))
        start = mech.assemble(guess=guess)
        fast = mech.kinematics(times, start)
        with monkeypatch.context() as patch:
            patch.setattr(module, "_integrated", lambda *_: None)
            slow = mech.kinematics(times, start)
        for x, y in ((fast.q, slow.q), (fast.u, slow.u), (fast.ud, slow.ud)):
            np.testing.assert_allclose(x, y, atol=1e-10 * (1 + np.max(np.abs(y))))
        assert fast.success and slow.statistics["points"] > 200 == fast.statistics["points"]


def test_a_smooth_motion_costs_no_more_than_three_simulations():
    from time import process_time

    mech = four_bar(tm.Polynomial([0.3, 6.0]))
    start, times = mech.assemble(guess={"D": 1.6}), np.linspace(0, 3, 2161)
    spent = {}
    for _ in range(5):
        for name, call in (
            ("kinematics", lambda: mech.kinematics(times, start)),
            ("simulate", lambda: mech.simulate((0, 3), start, t_eval=times)),
        ):
            before = process_time()
            call()
            spent[name] = min(spent.get(name, np.inf), process_time() - before)
    assert spent["kinematics"] < 3 * spent["simulate"]


def test_singular_positions_passed_are_listed_with_their_connection():
    mech = four_bar(tm.Polynomial([0.3, 5.0]), lengths=(1.0, 2.0, 1.0, 2.0))
    run = mech.kinematics(np.linspace(0, 4, 50), mech.assemble(guess={"B": -0.3, "D": 0.3}))
    passed = [(k * np.pi - 0.3) / 5.0 for k in range(1, 7)]  # stretched or folded at every half turn
    np.testing.assert_allclose([t for t, _ in run.singular], [t for t in passed if t < 4], atol=1e-6)
    assert {name for _, name in run.singular} == {"C"}


def test_a_lock_up_names_the_constraint_that_drives():
    system = tm.System("stretched")
    one, two = (system.body(n, 1.0, (0.1, 0.1, 0.1)) for n in ("one", "two"))
    system.connect("A", tm.Revolute("z"), system.ground, one)
    system.connect("B", tm.Revolute("z"), one.at((1, 0, 0)), two)
    system.connect("x", tm.RelativeOffset("x", tm.Polynomial([1.0, 0.5])), system.ground, two.at((1, 0, 0)))
    system.connect("y", tm.RelativeOffset("y", 0.3), system.ground, two.at((1, 0, 0)))
    mech = system.build()
    run = mech.kinematics(np.linspace(0, 4, 20), mech.assemble(guess={"A": -0.8, "B": 1.8}))
    assert not run.success
    assert "locks at t = 1.95" in run.message and "Prescribe a motion of 'x' that" in run.message
    assert (
        abs(run.report.t - 2.0 * (np.sqrt(4.0 - 0.3**2) - 1.0)) < 1e-6 and run.report.message == run.message
    )


def test_gears_keep_count_of_their_turns_where_the_smooth_way_ends_in_a_lock_up():
    """The angles of gears are auxiliary unknowns: the point by point search starts with those of the start."""
    system = tm.System("gears", gravity=(0, 0, 0))
    one, two, link = (system.body(n, 1.0, (0.1, 0.1, 0.1)) for n in ("one", "two", "link"))
    system.connect("one", tm.Revolute("z"), system.ground, one)
    system.connect("two", tm.Revolute("z"), system.ground.at((3, 0, 0)), two)
    system.connect("mesh", tm.GearPair(2.0, 1.0), one, two)
    system.connect("link", tm.Revolute("z"), system.ground.at((3, 3, 0)), link)
    system.connect("rope", tm.Distance(4.0), one.at((0.0, 2.0, 0)), link.at((2.0, 0, 0)))
    system.prescribe("two", tm.Polynomial([0.0, -1.0]))
    mech = system.build()
    run = mech.kinematics(np.linspace(0, 20, 41), mech.assemble(guess={"link": 2.0}))
    assert (
        not run.success and abs(run.report.t - 2.0 * (np.pi / 4 + np.arcsin(7.0 / 6.0 / np.sqrt(2.0)))) < 1e-6
    )
    assert np.max(np.abs(run.connection("one").q + 0.5 * run.connection("two").q)) < 1e-9


def test_a_tree_follows_any_motion_there_is_nothing_to_close():
    """Where a step is refused for its bend there was no chord to name (R9)."""
    system = tm.System("arm")
    one = system.body("one", 1.0, (0.1, 0.1, 0.1))
    system.connect("A", tm.Revolute("z"), system.ground, one)
    system.prescribe("A", lambda t: abs(t - 1.0) ** 1.5)
    run = system.build().kinematics(np.linspace(0, 2, 21))
    assert run.success
    np.testing.assert_allclose(run.q[:, 0], np.abs(run.t - 1.0) ** 1.5, atol=1e-12)
