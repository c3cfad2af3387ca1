"""Foreign elements in whole analyses: what is wrong is said at build(), what they raise reaches the user."""

import math
from dataclasses import dataclass

import pytest

import treemech as tm


@dataclass(frozen=True)
class Fragile(tm.Hinge):
    """A slide that breaks beyond a limit."""

    limit: float
    n_coordinates = 1

    def evaluate(self, q, u, t, motion):
        if q[0] > self.limit:
            raise ValueError("beyond its limit")
        motion.offset[0] = q[0]
        motion.translation_partials[0, 0] = 1.0


@dataclass(frozen=True)
class FragilePython(Fragile):
    """The same, but not compilable."""

    def evaluate(self, q, u, t, motion):
        if float(f"{q[0]:.9f}") > self.limit:
            raise ValueError("beyond its limit")
        motion.offset[0] = q[0]
        motion.translation_partials[0, 0] = 1.0


@dataclass(frozen=True)
class FragileLoad(tm.Load):
    until: float

    def evaluate(self, end, t, load):
        if t > self.until:
            raise ValueError("worn out")
        load.force[0] = 1.0


@dataclass(frozen=True)
class WrongShape(tm.Hinge):
    n_coordinates = 1

    def evaluate(self, q, u, t, motion):
        motion.rotation_partials[1, 2] = 1.0


@dataclass(frozen=True)
class NothingWritten(tm.Hinge):
    n_coordinates = 1


@dataclass(frozen=True)
class WrongArguments(tm.Hinge):
    n_coordinates = 1

    def evaluate(self, q, motion):
        motion.offset[0] = q[0]


def slide(hinge, load=None):
    system = tm.System("slide", gravity=(0, 0, 0))
    body = system.body("sledge", 1.0, (1, 1, 1))
    system.connect("rail", hinge, system.ground, body)
    if load is not None:
        system.load("push", load, body)
    return system


@pytest.mark.parametrize("hinge", [Fragile(limit=0.8), FragilePython(limit=0.8)], ids=["compiled", "Python"])
@pytest.mark.filterwarnings("ignore::treemech.elements.compilation.explain.ElementCompileWarning")
def test_a_hinge_that_raises_stops_the_run_with_its_name_the_time_and_what_was_computed(hinge):
    mech = slide(hinge).build()
    with pytest.raises(tm.ElementError, match="'rail'.*at t = 0\\.[45]") as caught:
        mech.simulate((0, 1), mech.state(u={"rail": 2.0}), max_step=0.02)  # reaches 0.8 at 0.4 s
    assert isinstance(caught.value.__cause__, ValueError) and "beyond its limit" in str(
        caught.value.__cause__
    )
    run = caught.value.partial
    assert not run.success and 0.3 < run.t[-1] <= 0.4 and abs(run.q[-1, 0] - 2.0 * run.t[-1]) < 1e-9


def test_a_load_that_raises_is_named_too():
    mech = slide(tm.Prismatic("x"), FragileLoad(until=0.4)).build()
    with pytest.raises(tm.ElementError, match="load 'push' \\(FragileLoad\\).*worn out"):
        mech.simulate((0, 1), max_step=0.02)


def test_single_evaluations_raise_as_well():
    mech = slide(Fragile(limit=0.8)).build()
    with pytest.raises(tm.ElementError, match="'rail'"):
        mech.forward_dynamics(mech.state(q={"rail": 1.0}))
    assert math.isclose(mech.mass_matrix(mech.state())[0, 0], 1.0)


@pytest.mark.parametrize(
    "hinge, words",
    [
        (WrongShape(), r"WrongShape.*line \d+"),
        (NothingWritten(), "NothingWritten.*neither evaluate"),
        (WrongArguments(), r"WrongArguments.*line \d+.*wanted evaluate\(self, q, u, t, motion\)"),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, tm.Hinge) else "",
)
def test_shapes_and_missing_pieces_are_reported_at_build(hinge, words):
    with pytest.raises(tm.ElementError, match=f"(?s){words}"):
        slide(hinge).build()
