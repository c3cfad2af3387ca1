"""Input that used to be accepted without a word, or to end in a bare Python error: refused by name, or warned of."""

import warnings

import numpy as np
import pytest

import treemech as tm

UNIT = (1.0, (0.1, 0.1, 0.1))


def pendulum(change=lambda system, bob, pin: None):
    system = tm.System("pendulum")
    bob = system.body("bob", *UNIT, com=(0, 0, -1))
    pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
    change(system, bob, pin)
    return system.build()


@pytest.fixture(scope="module")
def mech():
    return pendulum()


@pytest.fixture(scope="module")
def run(mech):
    return mech.simulate((0, 0.1), mech.state(q={"pin": 0.3}))


def four_bar():
    system = tm.System("four-bar", gravity=(0, -9.81, 0))
    a, b, c = (system.body(name, *UNIT, com=(0.5, 0, 0)) for name in "abc")
    system.connect("A", tm.Revolute("z"), system.ground, a)
    system.connect("B", tm.Revolute("z"), a.at((1, 0, 0)), b)
    system.connect("C", tm.Revolute("z"), b.at((3, 0, 0)), c.at((2.5, 0, 0)))
    system.connect("D", tm.Revolute("z"), system.ground.at((3.5, 0, 0)), c)
    return system.build()


def refused(*words, error=tm.TreemechError):
    return pytest.raises(error, match="(?s)" + "".join(f"(?=.*{word})" for word in words))


# ---------------------------------------------------------------- texts and answers for numbers
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tm.Spring(stiffness="100", length=1.0), ("Spring.stiffness", "'100'")),
        (lambda: tm.RotationalSpring(stiffness="100"), ("RotationalSpring.stiffness", "'100'")),
        (lambda: tm.Gear("2"), ("Gear.ratio", "'2'")),
        (lambda: tm.Force(z="3"), ("Force.z", "'3'")),
        (lambda: tm.Parameter("l", "3"), ("'l'", "'3'")),
        (lambda: tm.Parameter("l", True), ("'l'", "True")),
        (lambda: tm.Spring(stiffness=True), ("Spring.stiffness", "True")),
        (lambda: tm.System("s").body("b", True, (1, 1, 1)), ("'b'", "mass", "True")),
        (lambda: tm.System("s").body("b", 1.0, [True, True, True]), ("'b'", "inertia", "True")),
        (lambda: tm.System("s").body("b", "1", (1, 1, 1)), ("'b'", "mass", "'1'")),
        (lambda: tm.Constant("2"), ("Constant.level", "'2'")),
        (lambda: tm.Harmonic(1.0, "3"), ("Harmonic.frequency", "'3'")),
        (lambda: tm.Polynomial("abc"), ("Polynomial.coefficients", "'abc'")),
        (lambda: tm.Polynomial(["1", "2"]), ("Polynomial.coefficients",)),
        (lambda: tm.Polynomial(3.0), ("Polynomial.coefficients",)),
        (lambda: tm.Polynomial([]), ("Polynomial.coefficients", "empty")),
        (lambda: tm.Polynomial([0.0, np.nan]), ("Polynomial.coefficients", "finite")),
        (lambda: tm.Spline("ab", [1, 2]), ("Spline.times", "'ab'")),
        (lambda: four_bar().assemble(t="now"), ("t is 'now'",)),
        (lambda: four_bar().assemble(fix={"A": "0.3"}), ("'A'", "'0.3'")),
    ],
)
def test_texts_and_answers_are_no_numbers(make, words):
    with refused(*words):
        make()


def test_texts_are_no_numbers_in_states_and_spans(mech):
    for make, words in (
        (lambda: mech.state(t="0.5"), ("t is '0.5'",)),
        (lambda: mech.state(q={"pin": "0.3"}), ("'pin'", "'0.3'")),
        (lambda: mech.state(q=["0.3"]), ("q is",)),
        (lambda: mech.simulate(("0", "1"), mech.state()), ("t_span",)),
        (lambda: mech.simulate("01", mech.state()), ("t_span",)),
        (lambda: mech.mass_matrix(("0", np.zeros(1), np.zeros(1))), ("mass_matrix", "'0'")),
        (lambda: mech.kinematics("abc"), ("t_eval",)),
    ):
        with refused(*words):
            make()


# ---------------------------------------------------------------- shapes
@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (3, ("shapes of body 'b'", "3")),
        ("box", ("shapes of body 'b'", "'box'")),
        ([3], ("shapes of body 'b'", "3")),
        ([{"kind": "bx"}], ("'bx'", "'box'")),
        ([{"kind": "box"}], ("box needs size",)),
        ([{"size": (1, 1, 1)}], ("shapes of body 'b'",)),
    ],
)
def test_shapes_that_nothing_draws(shapes, words):
    with refused(*words):
        tm.System("s").body("b", *UNIT, shapes=shapes)


def test_shapes_of_every_solid_are_accepted():
    s = tm.solids
    for k, solid in enumerate(
        (
            s.rod((0, 0, 0), (1, 0, 0), mass=1.0), s.box((1, 1, 1), mass=1.0), s.ellipsoid((1, 1, 2), mass=1.0),
            s.sphere(1.0, mass=1.0), s.hemisphere(1.0, mass=1.0), s.cylinder(1.0, 2.0, mass=1.0),
            s.cone(1.0, 2.0, mass=1.0), s.torus(2.0, 0.3, mass=1.0), s.ring(1.0, mass=1.0), s.plate((1.0, 2.0), mass=1.0),
        )
    ):  # fmt: skip
        tm.System("s").body(f"b{k}", **solid.properties)
    tm.System("s").body("b", *UNIT, shapes={"kind": "sphere", "radius": 0.1})


# ---------------------------------------------------------------- states
def test_nan_in_a_state_made_by_hand(mech):
    for call in (mech.mass_matrix, mech.reactions, mech.energy, mech.forward_dynamics):
        for state in (
            (0.0, np.array([np.nan]), np.zeros(1)),
            tm.State(0.0, np.zeros(1), np.array([np.inf])),
        ):
            with refused("'pin'", "finite"):
                call(state)


def test_a_state_of_another_mechanism_of_the_same_size(mech):
    system = tm.System("slider")
    system.connect("rail", tm.Prismatic("x"), system.ground, system.body("b", *UNIT))
    with refused("another mechanism", "'rail'"):
        mech.simulate((0, 0.1), system.build().state(q={"rail": 0.2}))


def test_states_fit_copies_of_a_mechanism(mech, run):
    again = pendulum()
    again.simulate((0, 0.1), mech.state(q={"pin": 0.2}))
    again.simulate((0, 0.1), run.state())


def test_a_number_against_its_prescribed_motion():
    mech = pendulum(lambda s, b, h: s.prescribe("pin", tm.Polynomial([1.0, 2.0])))
    with refused("'pin'", "0.3", "prescribed", "1"):
        mech.state(q={"pin": 0.3})
    with refused("'pin'", "u of", "2"):
        mech.state(u={"pin": 0.3})
    with pytest.warns(UserWarning, match="'pin'.*prescribed"):
        mech.state(q=[0.3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mech.state(t=0.5, q={"pin": 2.0}, u=[2.0]).q[0] == 2.0


def test_euler_parameters_that_are_not_of_length_one():
    system = tm.System("ball")
    system.connect("A", tm.Ball(), system.ground, system.body("b", *UNIT))
    mech = system.build()
    with refused("'A'", "length 2"):
        mech.state(q={"A": [2.0, 0, 0, 0]})
    with refused("'A'", "length 0"):
        mech.state(q=np.zeros(4))
    rounded = mech.state(q={"A": [0.7071, 0.7071, 0, 0]}).q
    assert np.linalg.norm(rounded) == pytest.approx(1.0, abs=1e-15)


def test_mobility_takes_a_state_as_a_tuple():
    mech = four_bar()
    state = mech.assemble(fix={"A": 0.5})
    assert mech.mobility((state.q, state.u)).dof == mech.mobility(state).dof == 1


def test_output_times_in_a_matrix(mech):
    grid = np.array([[0.0, 0.5], [0.7, 1.0]])
    with refused("t_eval", r"\(2, 2\)"):
        mech.simulate((0, 1), mech.state(), t_eval=grid)
    driven = pendulum(lambda s, b, h: s.prescribe("pin", tm.Polynomial([1.0, 1.0])))
    with refused("t_eval", r"\(2, 2\)"):
        driven.kinematics(grid)


@pytest.mark.parametrize("angle", [90, -45.0, 180.0])
def test_angles_that_look_like_degrees(mech, angle):
    with pytest.warns(UserWarning, match=f"'pin'.*radians.*deg2rad\\({angle:g}\\)"):
        mech.state(q={"pin": angle})
    with pytest.warns(UserWarning, match="'pin'.*radians"):
        mech.assemble(fix={"pin": angle})


def test_angles_of_many_turns_and_long_ways_are_no_degrees(mech):
    system = tm.System("rail")
    system.connect("x", tm.Prismatic("x"), system.ground, system.body("b", *UNIT))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mech.state(q={"pin": 20 * np.pi})
        mech.state(q={"pin": 6.0})
        system.build().state(q={"x": 90.0})


# ---------------------------------------------------------------- elements and motions
def test_negative_lengths_are_refused():
    for make in (
        lambda: tm.Spring(stiffness=1.0, length=-1.0),
        lambda: tm.RambergOsgood(50.0, yield_force=10.0, length=-0.7),
        lambda: tm.Viscoelastic(stiffness=100.0, branches=[50.0], times=[0.2], length=-1.0),
        lambda: tm.Fung(stiffness=200.0, weights=[0.3], times=[0.1], length=-1.0),
    ):
        with refused("length", "-"):
            make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: tm.Spring(stiffness=-1.0, length=1.0),
        lambda: tm.Spring(stiffness=1.0, damping=-1.0, length=1.0),
        lambda: tm.RotationalSpring(stiffness=-1.0),
        lambda: tm.RotationalSpring(damping=-1.0),
    ],
)
def test_negative_stiffness_and_damping_are_warned_of(make):
    with pytest.warns(UserWarning, match="negative"):
        make()


def test_an_element_within_one_body():
    spring = tm.Spring(stiffness=1.0, length=1.0)
    with pytest.warns(UserWarning, match="'k'.*'bob'.*two bodies"):
        pendulum(lambda s, b, h: s.connect("k", spring, b.at((0, 0, 1)), b.at((1, 0, 0))))
    with pytest.warns(UserWarning, match="'k'.*'ground'.*two bodies"):
        pendulum(lambda s, b, h: s.connect("k", spring, s.ground.at((0, 0, 1)), s.ground))


@pytest.mark.parametrize(
    ("motion", "words"),
    [
        (lambda t: 0.0 if t < 0.305 else 1.0, ("'pin'", "value", "jumps", "0.305")),
        (lambda t: t % 0.4, ("'pin'", "value", "jumps", "0.4")),
        (lambda t: 0.0 if t < 0.305 else t - 0.305, ("'pin'", "rate", "jumps", "0.305", "break_times")),
        (lambda t: np.sqrt(np.abs(t - 0.4)), ("'pin'", "rate", "0.4")),
        (lambda t: np.sqrt(t), ("'pin'", "finite")),
    ],
)
def test_motions_that_jump(motion, words):
    mech = pendulum(lambda s, b, h: s.prescribe("pin", motion))
    with refused(*words):
        mech.simulate((0, 1))
    with refused(*words):
        mech.kinematics(np.linspace(0, 1, 11))


@pytest.mark.parametrize(
    "motion",
    [
        lambda t: np.sin(628.0 * t),
        lambda t: np.tanh(1000.0 * (t - 0.4)),
        lambda t: 0.0 if t < 0.3 else (t - 0.3) ** 2,
        tm.Function(lambda t: 0.0 if t < 0.3 else t - 0.3, break_times=(0.3,)),
    ],
)
def test_fast_motions_and_known_breaks_do_not_jump(motion):
    mech = pendulum(lambda s, b, h: s.prescribe("pin", motion))
    assert mech.simulate((0, 0.5), t_eval=[0.0, 0.5]).success
    assert mech.simulate((0.5, 1.0), t_eval=[0.5, 1.0]).success


def test_a_jump_beyond_the_first_run_is_found():
    mech = pendulum(lambda s, b, h: s.prescribe("pin", lambda t: 0.0 if t < 0.305 else 1.0))
    assert mech.simulate((0, 0.2)).success
    with refused("jumps", "0.305"):
        mech.simulate((0.2, 0.4))


# ---------------------------------------------------------------- results and files
def test_results_are_asked_for_by_whole_numbers(run):
    for k in (0.5, "a", None):
        with refused("run.state", "number"):
            run.state(k)
    assert run.state(np.int64(1)).t == run.t[1]


def test_paths_that_are_no_paths_and_suffixes_of_other_files(run, tmp_path):
    with refused("run.save", "None"):
        run.save(None)
    with refused("read", "3"):
        tm.read(3)
    with refused("run.animate", "None"):
        run.animate(None)
    for name in ("a.txt", "a.csv", "a.json"):
        with refused("run.save", r"\.npz", name[1:]):
            run.save(tmp_path / name)
    with refused("run.animate", r"\.html", r"\.mov"):
        run.animate(tmp_path / "a.mov")
    with refused("system.save", r"\.json", r"\.txt"):
        tm.System("s").save(tmp_path / "a.txt")
    assert not list(tmp_path.iterdir())
    assert run.save(tmp_path / "pump.v2").name == "pump.v2.npz"


def test_pictures_of_unknown_kinds(run, tmp_path):
    pytest.importorskip("matplotlib")
    for name in ("A.q", "a.doc"):
        with refused("run.plot", "picture", r"\.png"):
            run.plot(tmp_path / name)
    with refused("run.plot", "3"):
        run.plot(3)
    run.plot(tmp_path / "curves")
    assert (tmp_path / "curves.png").exists()


def test_a_measure_that_raises_is_named():
    mech = pendulum(lambda s, b, h: s.measure("ratio", lambda run: 1 / 0))
    with refused("'ratio'", "ZeroDivisionError"):
        mech.simulate((0, 0.1)).measure("ratio")


def test_a_measure_of_the_wrong_shape_is_named():
    mech = pendulum(lambda s, b, h: s.measure("all", lambda run: run.q))
    with refused("'all'", r"\(\d+, 1\)"):
        mech.simulate((0, 0.1)).measure("all")


# ---------------------------------------------------------------- worth a word
def test_inputs_that_no_element_takes():
    with pytest.warns(UserWarning, match="'wind'"):
        pendulum(lambda s, b, h: s.input("wind", 3.0))
    with pytest.warns(UserWarning, match="'torque'"):
        pendulum(lambda s, b, h: s.controller("c", lambda t: 1.0, 0.1, [], ["torque"]))


def test_a_system_that_is_changed_after_it_was_built():
    system = tm.System("s")
    bob = system.body("bob", *UNIT, com=(0, 0, -1))
    pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
    mech = system.build()
    system.measure("angle", "pin.q")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mech.simulate((0, 0.1), mech.state())
    system.connect("spring", tm.RotationalSpring(stiffness=1.0), pin)
    with pytest.warns(UserWarning, match="connect\\('spring'.*build"):
        mech.simulate((0, 0.1), t_eval=[0.1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mech.simulate((0, 0.1), mech.state())  # once is enough
        system.build().simulate((0, 0.1))


@pytest.mark.parametrize("method", ["DOP853", "Radau", "scipy:DOP853"])
@pytest.mark.parametrize("t_eval", [None, np.linspace(0, 0.3, 7)])
def test_an_input_has_the_value_of_its_controller_from_the_start(method, t_eval):
    def driven(system, bob, pin):
        system.controller("constant", lambda t: 40.0, 0.1, [], ["voltage"])
        motor = tm.ElectricMotor(constant=0.1, resistance=2.0, inductance=1e-3)
        system.connect("motor", motor, pin, inputs={"voltage": "voltage"})

    run = pendulum(driven).simulate((0, 0.3), method=method, t_eval=t_eval)
    assert np.all(run.input("voltage") == 40.0)
