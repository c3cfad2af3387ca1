"""Runs of closed chains without Python in every run: each is that of `simulate`, start and design included."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import treemech as tm
from tests.treemech.many.models import closed, four_bar, last_torque, pendulum
from treemech.design.experiment import value
from treemech.many.block_runs import BlockRuns, takes
from treemech.many.job import Job, Rows


def spatial():
    """Return a crank and a rocker with axes that cross, joined by a rod with a ball at one end and a universal at the other."""
    a, b = tm.Parameter("a", 0.3), tm.Parameter("b", 1.2)
    system = tm.System("spatial", gravity=(0, 0, -9.81))
    crank = system.body("crank", **tm.solids.rod((0, 0, 0), (0, 0, a), mass=1.0).properties)
    rod = system.body("rod", mass=0.8, inertia=(0.2, 0.2, 0.01), com=(0, 0, b / 2))
    rocker = system.body("rocker", mass=1.5, inertia=(0.1, 0.2, 0.15), com=(0, 0, 0.4))
    system.connect("A", tm.Revolute("x"), system.ground, crank)
    system.connect("B", tm.Ball(), crank.at((0, 0, a)), rod)
    system.connect("C", tm.Universal(), rod.at((0, 0, b)), rocker.at((0, 0, 0.8)))
    system.connect("D", tm.Revolute((0.1, 1.0, 0)), system.ground.at((1.0, 0.4, 0)), rocker)
    system.connect(
        "spring", tm.Spring(stiffness=30.0, damping=1.0, length=0.5), rod, system.ground.at((0, 0.5, 1))
    )
    return system.build()


def fixed_by_parameter(mech):
    """Return a start that depends on the design."""
    return mech.assemble(fix={"A": -0.6 * mech.parameters["l"]}, rates={"A": 2.0})


def assembled(mech):
    return mech.assemble(fix={"A": 0.4}, rates={"A": 1.0})


def guessed(mech):
    return mech.assemble(guess={"A": -0.6})


def nosy(mech):
    """Return a start by another way than `assemble` alone."""
    return mech.assemble(fix={"A": 0.1 * len(mech.tree.bodies) - 1.0})


def compare(mech, start, designs, **options):
    """Compare runs with those of mechanisms made one by one. Return which were done without Python."""
    count = len(next(iter(designs.values())))
    job, rows = Job(mech, (0.0, 0.3), start, None, None, options), Rows(count, designs, {})
    assert takes(job, rows)
    _, _, quick = BlockRuns(job, designs).block(rows)
    runs = mech.simulate_many((0, 0.3), start, designs, block=3, workers=2, **options)
    for k in range(count):
        try:
            own = mech.with_parameters(**{n: float(x[k]) for n, x in designs.items()})
            run = own.simulate((0, 0.3), start(own) if callable(start) else start, **options)
        except tm.TreemechError as error:
            assert not runs.success[k] and runs["message"][k] == str(error)
            continue
        assert runs.success[k]
        # Starts differ by rounding, and so do the estimated errors of the first steps, which are little more: the sizes of
        # later steps differ visibly. Of 3,000 such runs the worst end differed by 2e-9 at rtol 1e-7.
        bound = 0.1 * options.get("rtol", 1e-6)
        np.testing.assert_allclose(runs["q"][k], run.q[-1], rtol=bound, atol=bound)
        np.testing.assert_allclose(runs["u"][k], run.u[-1], rtol=bound, atol=10.0 * bound)
        assert abs(runs["steps"][k] - run.statistics["steps"]) <= 1
    return quick


@pytest.fixture(scope="module")
def mech():
    return four_bar()


@settings(max_examples=4, deadline=None, phases=[Phase.generate])
@given(
    st.integers(0, 999),
    st.sampled_from(["DP5", "DOP853"]),
    st.sampled_from([closed, fixed_by_parameter, None]),
)
def test_closed_chains_are_those_of_simulate(mech, seed, method, start):
    rng = np.random.default_rng(seed)
    designs = {"l": rng.uniform(0.9, 1.1, 5), "k": rng.uniform(20, 60, 5)}
    assert compare(mech, start, designs, method=method, rtol=1e-7).all()


def test_euler_parameters_and_cut_hinges():
    mech, rng = spatial(), np.random.default_rng(3)
    designs = {"a": rng.uniform(0.25, 0.35, 4), "b": rng.uniform(1.15, 1.25, 4)}
    assert compare(mech, assembled, designs).all()


def test_what_needs_more_than_the_search_goes_the_way_of_simulate(mech):
    designs = {"l": np.array([1.0, 1.02])}
    for start in (guessed, nosy):
        assert not compare(mech, start, designs).any()


def test_designs_that_do_not_close_are_failures_with_the_message_of_assemble(mech):
    quick = compare(mech, closed, {"l": np.array([1.0, 9.0, -1.0, 1.01])})
    assert quick[[0, 3]].all() and not quick[1]


def test_states_that_are_open_for_a_design_are_failures(mech):
    quick = compare(mech, closed(mech), {"l": np.array([1.0, 1.1])})
    assert quick.tolist() == [True, False]


def test_a_row_that_vanishes_in_the_model_alone_is_noticed():
    """With axes that are not parallel a planar chain is stiff: other rows count, and nothing moves."""
    tilt, system = tm.Parameter("tilt", 0.0), tm.System("tilted", gravity=(0, 0, -9.81))
    one = system.body("one", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0, 0))
    two = system.body("two", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, one)
    system.connect("B", tm.Revolute("y"), one.at((1, 0, 0)), two)
    system.connect("C", tm.Revolute("y"), two.at((1.2, tilt, 0)), system.ground.at((1.5, 0, 0)))
    mech = system.build()
    quick = compare(mech, lambda m: m.assemble(), {"tilt": np.array([0.0, 0.01])})
    assert quick.tolist() == [True, False]


def test_output_times_and_starts_of_trees(mech):
    times = np.linspace(0, 0.3, 4)
    runs = mech.simulate_many((0, 0.3), closed, {"l": [0.95, 1.05]}, t_eval=times)
    for k, l in enumerate((0.95, 1.05)):
        own = mech.with_parameters(l=l)
        np.testing.assert_allclose(
            runs["q"][k], own.simulate((0, 0.3), closed(own), t_eval=times).q, rtol=0, atol=1e-11
        )
    tree = pendulum()
    job = Job(tree, (0.0, 0.3), assembled, None, None, {})
    assert takes(job, Rows(2, {}, {}))
    runs = tree.simulate_many((0, 0.3), assembled, {"l1": [0.9, 1.1]})
    own = tree.with_parameters(l1=1.1)
    np.testing.assert_allclose(runs["q"][1], own.simulate((0, 0.3), assembled(own)).q[-1], rtol=1e-12)


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("model", ["tree", "chain"])
def test_measures_of_coordinates_are_those_of_runs(mech, model, sampled):
    made, start = (mech, closed) if model == "chain" else (pendulum(), assembled)
    times = np.linspace(0, 0.3, 7) if sampled else None
    designs = {"l": [0.97, 1.0, 1.04]} if model == "chain" else {"l1": [0.9, 1.0, 1.2]}
    wanted = ["final A.q", "max B.q", "min B.u", "mean A.u", "rms A.q", *(["A.q"] if sampled else [])]
    job = Job(made, (0.0, 0.3), start, times, {w: w for w in wanted}, {})
    assert takes(job, Rows(3, {}, {}))
    runs = made.simulate_many((0, 0.3), start, designs, t_eval=times, measures=wanted)
    ((name, values),) = designs.items()
    for k, x in enumerate(values):
        own = made.with_parameters(**{name: x})
        run = own.simulate((0, 0.3), start(own), t_eval=times)
        for w in wanted:
            expected = run.measure(w) if w == "A.q" else value(w, run)
            np.testing.assert_allclose(runs[w][k], expected, rtol=1e-7, atol=1e-10)


def test_measures_that_need_more_go_the_way_of_simulate(mech):
    rows = Rows(1, {}, {})
    for what in ("max crank.position[0]", "final C.q", "max spring.length", last_torque):
        assert not takes(Job(mech, (0.0, 0.3), closed, None, {"x": what}, {}), rows)
    runs = mech.simulate_many((0, 0.3), closed, {"l": [1.0]}, measures=["max coupler.position[0]"])
    own = mech.with_parameters(l=1.0)
    assert runs["max coupler.position[0]"][0] == value(
        "max coupler.position[0]", own.simulate((0, 0.3), closed(own))
    )


@pytest.mark.parametrize("closes", [False, True])
def test_parameters_that_change_no_number_leave_runs_alone(closes):
    idle, system = tm.Parameter("idle", 1.0), tm.System("idle", gravity=(0, 0, -9.81))
    arm = system.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0, 0.0 * idle))
    system.connect("A", tm.Revolute("y"), system.ground, arm)
    if closes:
        rod = system.body("rod", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0, 0))
        system.connect("B", tm.Revolute("y"), arm.at((1, 0, 0)), rod)
        slider = system.body("slider", mass=1.0, inertia=(0.1, 0.1, 0.1))
        system.connect("C", tm.Revolute("y"), rod.at((2, 0, 0)), slider)
        system.connect("D", tm.Prismatic("x"), system.ground, slider)
    mech = system.build()

    def start(own):
        return own.assemble(fix={"A": 0.3})

    alone = mech.simulate((0, 0.2), start(mech)).q[-1]
    for base in (mech, mech.with_parameters(idle=3.0)):
        runs = base.simulate_many((0, 0.2), start, {"idle": [1.0, 2.0, 5.0]})
        assert runs.success.all()
        np.testing.assert_allclose(runs["q"], np.tile(alone, (3, 1)), rtol=1e-9, atol=1e-12)
