"""Bad input: every refusal names the user's object and says what to do."""

import math

import numpy as np
import pytest

import treemech as tm

NAN = float("nan")


@pytest.fixture
def system():
    system = tm.System("arm")
    upper = system.body("upper", 1.0, (0.1, 0.1, 0.1), com=(0.5, 0, 0))
    lower = system.body("lower", 1.0, (0.1, 0.1, 0.1), com=(0.5, 0, 0))
    system.connect("shoulder", tm.Revolute("y"), system.ground, upper)
    system.connect("elbow", tm.Universal(), upper.at((1, 0, 0)), lower)
    return system


@pytest.fixture
def mech(system):
    return system.build()


def refused(error, *words):
    """Expect that the call raises `error` and that its message holds every word."""
    return pytest.raises(error, match="(?s)" + "".join(f"(?=.*{word})" for word in words))


def test_two_bodies_with_one_name(system):
    with refused(tm.TopologyError, "'upper'"):
        system.body("upper", 1.0, (1, 1, 1))


def test_two_connections_with_one_name(system):
    with refused(tm.TopologyError, "'elbow'", "upper-lower", "ground-lower"):
        system.connect("elbow", tm.Ball(), system.ground, system.bodies[2])


def test_two_loads_with_one_name(system):
    system.load("push", tm.Force(x=1.0), system.bodies[1])
    with refused(tm.TopologyError, "'push'"):
        system.load("push", tm.Force(x=1.0), system.bodies[1])


def test_an_unknown_body_by_name_suggests_the_nearest(system):
    with refused(tm.TopologyError, "'wrist'", "'lowr'", "'lower'"):
        system.connect("wrist", tm.Ball(), "lowr", system.ground)


def test_a_body_of_another_system(system):
    other = tm.System("other").body("stranger", 1.0, (1, 1, 1))
    with refused(tm.TopologyError, "'stranger'", "'arm'"):
        system.connect("wrist", tm.Ball(), other, system.ground)


def test_a_hinge_from_a_body_to_itself(system):
    upper = system.bodies[1]
    with refused(tm.TopologyError, "'loop'", "'upper'", "itself"):
        system.connect("loop", tm.Ball(), upper, upper.at((1, 0, 0)))


def test_a_class_instead_of_an_element(system):
    with refused(tm.ElementError, "'wrist'", "Ball"):
        system.connect("wrist", tm.Ball, system.ground, system.bodies[2])


def test_something_that_is_no_element(system):
    with refused(tm.ElementError, "'wrist'", "not a hinge"):
        system.connect("wrist", 3.0, system.ground, system.bodies[2])


def test_negative_mass():
    with refused(tm.ElementError, "'bob'", "-1"):
        tm.System("s").body("bob", -1.0, (1, 1, 1))


def test_inertia_against_the_triangle_inequality():
    with refused(tm.ElementError, "'bob'", "triangle"):
        tm.System("s").body("bob", 1.0, (1, 1, 3))


def test_inertia_that_is_not_symmetric():
    with refused(tm.ElementError, "'bob'", "symmetric"):
        tm.System("s").body("bob", 1.0, [[1, 0.2, 0], [0, 1, 0], [0, 0, 1]])


def test_rotation_that_is_not_orthonormal(system):
    with refused(tm.ElementError, "'upper'", "ortho"):
        system.bodies[1].at((0, 0, 0), [[1, 0, 0], [0, 1, 0], [0, 0.1, 1]])


@pytest.mark.parametrize(
    "make",
    [
        lambda s: s.body("bob", NAN, (1, 1, 1)),
        lambda s: s.body("bob", 1.0, (NAN, 1, 1)),
        lambda s: s.body("bob", 1.0, (1, 1, 1), com=(0, NAN, 0)),
        lambda s: s.body("bob", 1.0, (1, 1, 1)).at((NAN, 0, 0)),
        lambda s: s.body("bob", 1.0, (1, 1, 1)).at((0, 0, 0), np.full((3, 3), NAN)),
        lambda s: tm.System("bob", gravity=(0, 0, NAN)),
        lambda s: s.body("bob", 1.0, (1, 1, 1), pose=(0, NAN, 0)),
    ],
)
def test_nan_in_the_description(make, system):
    with refused(tm.ElementError, "'bob'"):
        make(system)


def test_nan_in_an_element(system):
    body = system.body("bob", 1.0, (1, 1, 1))
    system.connect("thread", tm.Screw(pitch=NAN), system.ground, body)
    with refused(tm.ElementError, "Screw.pitch", "nan"):
        system.build()


def test_nan_in_a_signal():
    with refused(tm.ElementError, "Moving.x"):
        tm.Moving(x=NAN)


def test_nan_in_a_state(mech):
    with refused(tm.ElementError, "q of 'shoulder'", "nan"):
        mech.state(q={"shoulder": NAN})
    with refused(tm.ElementError, r"u of 'elbow\[1\]'", "inf"):
        mech.state(u={"elbow": [0.0, math.inf]})
    with refused(tm.ElementError, "t is nan"):
        mech.state(t=NAN)


def test_wrong_number_of_coordinates(mech):
    with refused(tm.ElementError, "'elbow'", "Universal", "3", "2"):
        mech.state(q={"elbow": [1, 2, 3]})
    with refused(tm.ElementError, r"q has shape \(2,\)", r"\(3,\)", "shoulder"):
        mech.state(q=[1, 2])
    with refused(tm.ElementError, r"'elbow\[5\]'"):
        mech.state(q={"elbow[5]": 1.0})


def test_fix_of_a_name_that_does_not_exist_suggests_the_nearest(mech):
    with refused(tm.TopologyError, "'shoulde'", "'shoulder'"):
        mech.assemble(fix={"shoulde": 0.3})


def test_results_of_a_name_that_does_not_exist(mech):
    run = mech.simulate((0, 0.1))
    with refused(tm.TopologyError, "'elbw'", "'elbow'"):
        run.connection("elbw")
    with refused(tm.TopologyError, "'uper'", "'upper'"):
        run.body("uper")
    with refused(tm.TopologyError, "shoulder"):
        run.drive("shoulder")


def test_an_unreachable_body_when_free_hinges_are_not_wanted(system):
    drone = system.body("drone", 1.0, (1, 1, 1))
    camera = system.body("camera", 1.0, (1, 1, 1))
    system.connect("gimbal", tm.Ball(), drone, camera)
    with refused(tm.TopologyError, "'drone'", "'camera'", "free_isolated=True"):
        system.build(free_isolated=False)
    assert "free drone[0]" in system.build().coordinates


@pytest.mark.parametrize(
    "hinge, inertia, com",
    [
        (tm.Revolute("x"), (0, 0, 0), (1.0, 0, 0)),  # a point mass on its own axis
        (tm.Ball(), (0, 0.1, 0.1), (0.5, 0, 0)),  # a thin rod has no inertia about itself
        (tm.Free(), (0, 0, 0), (0, 0, 0)),  # a point mass cannot be turned
        (tm.Cylindrical("x"), (0, 0, 0), (0, 0, 0)),
    ],
)
def test_a_hinge_direction_without_inertia(hinge, inertia, com):
    system = tm.System("s")
    system.connect("joint", hinge, system.ground, system.body("bob", 1.0, inertia, com=com))
    with refused(tm.SingularError, "'joint'", "'bob'", "inertia"):
        system.build()


def test_a_massless_last_body():
    system = tm.System("s")
    arm = system.body("arm", 1.0, (1, 1, 1))
    system.connect("a", tm.Revolute("x"), system.ground, arm)
    system.connect("b", tm.Revolute("y"), arm, system.body("ghost", 0.0, (0, 0, 0)))
    with refused(tm.SingularError, "'b'", "'ghost'"):
        system.build()


def test_prescribing_what_cannot_be_prescribed(system):
    with refused(tm.TopologyError, "'elbo'", "'elbow'"):
        system.prescribe("elbo", 0.3)
    with refused(tm.ElementError, "'elbow'", "5"):
        system.prescribe("elbow", 0.3, coordinate=5)
    system.connect("wrist", tm.Ball(), system.bodies[2], system.body("hand", 1.0, (1, 1, 1)))
    with refused(tm.ElementError, "'wrist'", "BallBryant"):
        system.prescribe("wrist", 0.3)
    system.prescribe("shoulder", 0.3)
    with refused(tm.TopologyError, "'shoulder'", "twice"):
        system.prescribe("shoulder", 0.4)
    with refused(tm.ElementError, "'elbow'", "wanted a signal"):
        system.prescribe("elbow", "fast")


def test_placing_a_hinge_in_the_world_needs_reference_poses(system):
    with refused(tm.TopologyError, "'w'", "'lower'", "pose"):
        system.connect("w", tm.Revolute(), system.ground, system.bodies[2], at=(0, 0, 0))


def test_loads_that_are_none(system):
    with refused(tm.ElementError, "'push'"):
        system.load("push", 3.0, system.bodies[1])
    with refused(tm.TopologyError, "'push'", "ground"):
        system.load("push", tm.Force(x=1.0), system.ground)
    with refused(tm.ElementError, "frame", "'earth'"):
        tm.Force(x=1.0, frame="earth")


def test_a_state_that_is_none(mech):
    with refused(tm.ElementError, "not a state"):
        mech.forward_dynamics("here")
    with refused(tm.ElementError, r"\(3,\)"):
        mech.mass_matrix((np.zeros(2), np.zeros(3)))


def test_bad_simulation_arguments(mech):
    with refused(tm.TreemechError, "t_span"):
        mech.simulate((0, NAN))
    with refused(tm.TreemechError, "DOP835", "DOP853"):
        mech.simulate((0, 1), method="DOP835")
    with refused(tm.TreemechError, "rtol"):
        mech.simulate((0, 1), rtol=-1.0)
    with refused(tm.TreemechError, "t_eval"):
        mech.simulate((0, 1), t_eval=[2.0])
    with refused(tm.TreemechError, "max_step"):
        mech.simulate((0, 1), max_step=0.0)
    with refused(tm.TreemechError, "atol"):
        mech.simulate((0, 1), atol=[1e-3])
    with refused(tm.TopologyError, "'elbw'", "'elbow'"):
        mech.simulate((0, 1), atol={"elbw": 1e-3})


def test_closed_chains_say_where_they_are_cut(system):
    system.connect("hand", tm.Revolute("y"), system.bodies[2].at((1, 0, 0)), system.ground.at((1, 0, 0)))
    mech = system.build()
    assert mech.tree.chords
    with refused(tm.TreemechError, "the chain is open by", repr(mech.tree.chords[0].name), "mech.assemble"):
        mech.simulate((0, 1), mech.state())


@pytest.mark.parametrize(
    "options",
    [
        {"rtol": "fine"},
        {"atol": "fine"},
        {"atol": NAN},
        {"atol": {"shoulder": "fine"}},
        {"max_step": "short"},
        {"t_eval": "x"},
    ],
    ids=str,
)
def test_options_of_a_simulation_that_are_no_numbers(mech, options):
    (name,) = options
    with refused(tm.TreemechError, name, "(fine|nan|short|x)", "wanted"):
        mech.simulate((0, 1), **options)


def test_a_state_of_another_mechanism(mech):
    other = tm.System("other")
    bodies = [other.body(n, 1.0, (0.1, 0.1, 0.1), com=(0.5, 0, 0)) for n in "ab"]
    other.connect("A", tm.Revolute("y"), other.ground, bodies[0])
    other.connect("B", tm.Universal(), bodies[0].at((1, 0, 0)), bodies[1])
    other.connect("C", tm.Ball(), bodies[1].at((1, 0, 0)), other.ground.at((1, 0, 0)))
    state = other.build().assemble()
    with refused(tm.ElementError, "simulate", "('C'|shapes)", "another mechanism"):
        mech.simulate((0, 1), state)
    with refused(tm.ElementError, "forward_dynamics", "another mechanism"):
        mech.forward_dynamics(state)
    with refused(tm.ElementError, "simulate", "3 numbers; wanted 0", "another mechanism"):
        mech.simulate((0, 1), tm.State(0.0, mech.state().q, mech.state().u, np.zeros(3)))


@pytest.mark.parametrize("what", [lambda run: run.q, lambda run: None, lambda run: "text"])
def test_a_measure_that_is_not_one_number_for_every_time(system, what):
    system.measure("odd", what)
    run = system.build().simulate((0, 0.1))
    with refused(tm.ElementError, "measure 'odd'", "one number for each"):
        run.measure("odd")


@pytest.mark.parametrize(
    "what, said",
    [
        ("shoulder.name", "'shoulder.name' is no number"),
        ("shoulder.angle", "'shoulder' has no 'angle'"),
        ("lower.position", r"add its place, lower.position\[0\]"),
        ("lower.position[3]", r"there is no place \[3\]"),
    ],
)
def test_a_measure_of_what_is_no_number_is_refused_by_build(system, what, said):
    system.measure("odd", what)
    with refused(tm.ElementError, "measure 'odd'", said):
        system.build()


def test_a_run_is_kept_whatever_becomes_of_a_measure(system, tmp_path):
    system.measure("high", "lower.position[2]")
    system.measure("odd", lambda run: 1 / 0)
    run = system.build().simulate((0, 0.1))
    with pytest.warns(UserWarning, match="left out: measure 'odd' fails: ZeroDivisionError"):
        again = tm.read(run.save(tmp_path / "run"))
    assert np.array_equal(again.q, run.q) and np.array_equal(again.measure("high"), run.measure("high"))


def test_the_one_state_of_an_element_needs_no_place():
    system = tm.System("motor")
    wheel = system.body("wheel", mass=1.0, inertia=(1, 1, 1))
    system.connect("axle", tm.Revolute("z"), system.ground, wheel)
    system.connect("motor", tm.ElectricMotor(), "axle", inputs={"voltage": 1.0})
    system.measure("current", "motor.x")
    run = system.build().simulate((0, 0.1))
    assert np.array_equal(run.measure("current"), run.element("motor").x[:, 0])


def test_a_body_by_its_right_name(system):
    with refused(tm.TopologyError, "'wrist'", "'lower' is a name", "Pass the body itself"):
        system.connect("wrist", tm.Ball(), "lower", system.ground)


def test_the_jacobian_of_a_name_or_of_a_stranger(mech):
    with refused(tm.TopologyError, "no body 'louwer'", "'lower'"):
        mech.jacobian("louwer", mech.state())
    with refused(tm.TopologyError, "no body 'stranger'", "'upper'"):
        mech.jacobian(tm.System("other").body("stranger", 1.0, (1, 1, 1)), mech.state())


def test_an_equilibrium_with_names_alone(mech):
    with refused(tm.ElementError, "fix", "'shoulder'", "by name"):
        mech.equilibrium(mech.state(), fix=["shoulder"])


def test_files_in_directories_that_are_not_there(system, tmp_path):
    for path in (tmp_path / "missing" / "arm.json", tmp_path / "arm.json" / "more.json"):
        with refused(FileNotFoundError, "no directory", path.parent.name, path.name):
            system.save(path)
    (tmp_path / "folder.json").mkdir()
    with refused(IsADirectoryError, "folder.json", "directory"):
        system.save(tmp_path / "folder.json")
    assert [p.name for p in tmp_path.iterdir()] == ["folder.json"]


def test_numbers_of_another_size_are_not_stretched(mech):
    for analysis in (mech.forward_dynamics, mech.energy, mech.mass_matrix):
        with refused(tm.ElementError, r"shapes \(1,\), \(1,\)", r"wanted \(3,\), \(3,\)"):
            analysis((0.0, [1.0], [2.0]))


def test_an_axis_that_is_none_is_told_with_its_hinge(system):
    for axis in ("w", (0, 0, 0)):
        with refused(tm.ElementError, "hinge 'wrist'", "axis is"):
            system.connect(
                "wrist", tm.Revolute(axis), system.bodies[2], system.body(f"hand {axis}", 1.0, (1, 1, 1))
            )


def test_a_measure_of_nobody_is_refused_by_build(system):
    system.measure("height", "lowr.position[2]")
    with refused(tm.TopologyError, "measure 'height'", "'lowr'", "did you mean 'lower'"):
        system.build()


def test_a_progress_that_is_none(mech):
    with refused(tm.TreemechError, "progress is 'yes'", "a function"):
        mech.simulate((0, 1), progress="yes")


def test_momentum_of_what_is_no_state(mech):
    with refused(tm.ElementError, "momentum: None is not a state"):
        mech.momentum(None)


def test_a_misspelt_element_has_a_neighbour():
    with pytest.raises(AttributeError) as told:
        tm.Spirng
    assert told.value.name == "Spirng" and told.value.obj is tm  # from which Python suggests Spring


def test_an_animation_in_a_directory_that_is_not_there(mech, tmp_path):
    run = mech.simulate((0, 0.1))
    with refused(FileNotFoundError, "there is no directory", "make it first"):
        run.animate(tmp_path / "no" / "run.html")
    assert not list(tmp_path.iterdir())


def test_a_disk_that_lies_flat_is_told_by_its_name():
    system = tm.System("wheel")
    wheel = system.body("wheel", 1.0, (0.1, 0.1, 0.1))
    system.connect("plane", tm.Planar("z"), system.ground.at((0, 0, 0.1)), wheel)
    system.connect("roll", tm.RollingDisk(0.1), system.ground, wheel)
    mech = system.build()
    with refused(tm.ConvergenceError, "'roll' has no finite equations", "turn the base"):
        mech.assemble()
    with refused(tm.SingularError, "'roll' has no finite equations"):
        mech.mobility(mech.state())


def test_poses_may_be_given_by_the_bodies_themselves(system, mech):
    pose = ((0.0, 0.0, 0.0), [[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    state = mech.assemble(poses={system.bodies[1]: pose})
    assert state["shoulder"][0] == pytest.approx(math.pi / 2)
    assert np.array_equal(state.q, mech.assemble(poses={"upper": pose}).q)


def late(t):
    if t > 0.3:
        raise ValueError("too late")
    return 1.0


@pytest.mark.parametrize(
    ("given", "owner"),
    [
        (lambda s, h: s.load("push", tm.Force(x=late), s.bodies[1].at((0, 0, -1))), "load 'push'"),
        (lambda s, h: s.prescribe("A", late), "the prescribed 'A'"),
        (
            lambda s, h: s.connect("motor", tm.ElectricMotor(1, 1, 1), h, inputs={"voltage": late}),
            "element 'motor'",
        ),
        (
            lambda s, h: s.connect("rod", tm.Distance(late), s.ground.at((0, 0, 1)), s.bodies[1]),
            "constraint 'rod'",
        ),
    ],
    ids=["load", "prescribed", "input", "constraint"],
)
@pytest.mark.parametrize("method", ["DOP853", "scipy:RK45"])
def test_a_signal_that_raises_is_told_by_whoever_has_it(given, owner, method):
    system = tm.System("pendulum")
    bob = system.body("bob", 1.0, (0.1, 0.1, 0.1), com=(0, 0, -1))
    given(system, system.connect("A", tm.Revolute("y"), system.ground, bob))
    with refused(tm.ElementError, f"signal of {owner}", "ValueError: too late") as told:
        system.build().simulate((0, 1), method=method)
    assert isinstance(told.value.__cause__, ValueError)


@pytest.mark.parametrize("what", ["fix", "guess", "poses", "rates", "states"])
def test_assembly_from_a_list(mech, what):
    with refused(tm.ElementError, "assemble", what, "by name"):
        mech.assemble(**{what: ["elbow"]})


@pytest.mark.parametrize("given", ["text", {"shoulder": "text"}, {"elbow[1]": "text"}, {"elbow[1]": None}])
def test_coordinates_that_are_no_numbers(mech, given):
    with refused(tm.ElementError, "q ", "(text|None)", "wanted"):
        mech.state(q=given)


def closed():
    """Return a parallelogram."""
    system = tm.System("closed")
    bars = [system.body(f"bar {k}", 1.0, (0.1, 0.1, 0.1)) for k in range(3)]
    system.connect("A", tm.Revolute("y"), system.ground, bars[0])
    system.connect("B", tm.Revolute("y"), bars[0].at((0, 0, 1)), bars[1])
    system.connect("C", tm.Revolute("y"), bars[1].at((2, 0, 0)), bars[2].at((0, 0, 1)), role="chord")
    system.connect("D", tm.Revolute("y"), system.ground.at((2, 0, 0)), bars[2])
    return system


@pytest.mark.parametrize("given", [None, 3, ("baumgarte", 1, 2), ("baumgarte", "x"), ("gear", 1.0)])
def test_stabilisation_that_is_none(given):
    mech = closed().build()
    with refused(tm.TreemechError, "tabilisation"):
        mech.simulate((0, 1), mech.assemble(fix={"A": 0.3}), stabilisation=given)


def test_a_cut_hinge_is_not_called_unknown():
    mech = closed().build()
    state = mech.assemble(fix={"A": 0.3})
    with refused(tm.ElementError, "'C' is cut"):
        mech.forward_dynamics(state, loads={"C": 1.0})
    with refused(tm.ElementError, "'C' is cut"):
        mech.simulate((0, 1), state, atol={"C.q": 1e-6})
    with refused(tm.TreemechError, "atol of 'A'", "one number"):
        mech.simulate((0, 1), state, atol={"A": [1.0, 2.0, 3.0]})


def test_a_hinge_with_a_motor_may_be_cut():
    system = closed()
    system.connect("motor", tm.ElectricMotor(), "C", inputs={"voltage": 1.0})
    mech = system.build()
    assert np.all(np.isfinite(mech.forward_dynamics(mech.assemble()).ud))


@pytest.mark.parametrize("period", ["x", None, 0.0, -1.0, np.nan])
def test_the_period_of_a_controller(system, period):
    with refused(tm.ElementError, "controller 'hold'", "period", "positive time"):
        system.controller("hold", lambda t: 1.0, period, inputs=["u"])


def test_what_a_controller_wants_and_gives_is_named_with_it(system):
    system.connect("motor", tm.ElectricMotor(), "shoulder", inputs={"voltage": "u"})
    system.controller("hold", lambda t, x: "full", 0.1, ["shoulder.q"], ["u"])
    with refused(tm.ElementError, "controller 'hold'", "'full'", "1 finite numbers: u"):
        system.build().simulate((0, 1))
    other = tm.System("other")
    wheel = other.body("wheel", 1.0, (1, 1, 1))
    other.connect("axle", tm.Revolute("z"), other.ground, wheel)
    other.connect("motor", tm.ElectricMotor(), "axle", inputs={"voltage": "u"})
    other.controller("hold", lambda t, x: x, 0.1, ["angle"], ["u"])
    with refused(tm.ElementError, "controller 'hold'", "no measure 'angle'"):
        other.build().simulate((0, 1))
