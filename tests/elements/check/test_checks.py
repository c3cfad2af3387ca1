"""`tm.check` and `probe`: what is right passes, and every planted error is named."""

from dataclasses import dataclass, field
from math import cos, sin
from typing import Any

import numpy as np
import pytest
from numba import config

from treemech.elements import (
    Constant,
    Force,
    Harmonic,
    Hinge,
    Load,
    Moment,
    Polynomial,
    Signal,
    Spline,
    structure,
)
from treemech.elements.check.checks import check
from treemech.elements.check.probe import probe
from treemech.elements.compilation.entry import call
from treemech.elements.hinges.ball_bryant import bryant_bias, bryant_partials, bryant_rotation
from treemech.topology.errors import ElementError

jit = pytest.mark.skipif(config.DISABLE_JIT, reason="compiles")
ROUND = 1e-12  # two routes to one number
QUANTITIES = (
    "offset", "rotation", "translation_partials", "rotation_partials", "translation_drift", "rotation_drift",
    "translation_bias", "rotation_bias",
)  # fmt: skip


# ---------------------------------------------------------------- a hinge in which nothing is zero
def rich(q, u, t, motion):
    """c = (s cos a, s sin a + t^2 b, s b + sin t), C = Bryant angles (a, b, s + 0.3 t^2), q = (a, b, s)"""
    a, b, s = q[0], q[1], q[2]
    motion.offset[0] = s * cos(a)
    motion.offset[1] = s * sin(a) + t * t * b
    motion.offset[2] = s * b + sin(t)
    bryant_rotation(a, b, s + 0.3 * t * t, motion.rotation)
    v, w = motion.translation_partials, motion.rotation_partials
    v[0, 0], v[0, 1] = -s * sin(a), s * cos(a)
    v[1, 1], v[1, 2] = t * t, s
    v[2, 0], v[2, 1], v[2, 2] = cos(a), sin(a), b
    bryant_partials(a, b, w)
    motion.translation_drift[1] = 2.0 * t * b
    motion.translation_drift[2] = cos(t)
    motion.translation_bias[0] = -s * cos(a) * u[0] ** 2 - 2.0 * sin(a) * u[0] * u[2]
    motion.translation_bias[1] = (
        -s * sin(a) * u[0] ** 2 + 2.0 * cos(a) * u[0] * u[2] + 4.0 * t * u[1] + 2.0 * b
    )
    motion.translation_bias[2] = 2.0 * u[1] * u[2] - sin(t)
    bryant_bias(a, b, u[0], u[1], u[2] + 0.6 * t, motion.rotation_bias)
    for k in range(3):
        motion.rotation_drift[k] = w[2, k] * 0.6 * t
        motion.rotation_bias[k] += w[2, k] * 0.6


@dataclass(frozen=True)
class Rich(Hinge):
    n_coordinates = 3

    def evaluate(self, q, u, t, motion):
        rich(q, u, t, motion)


def mutant(change):
    """A hinge whose records are those of Rich, changed."""

    @dataclass(frozen=True)
    class Mutant(Rich):
        def evaluate(self, q, u, t, motion):
            rich(q, u, t, motion)
            change(q, u, t, motion)

    return Mutant()


def add(name, index, term):
    def change(q, u, t, motion):
        getattr(motion, name)[index] += term(q, u, t)

    return change


def flip(name, index):
    def change(q, u, t, motion):
        getattr(motion, name)[index] *= -1.0

    return change


def order(name, new):
    def change(q, u, t, motion):
        x = getattr(motion, name)
        x[...] = x[..., new]

    return change


def transpose(name):
    def change(q, u, t, motion):
        x = getattr(motion, name)
        x[:] = x.T.copy()

    return change


def opposite_turn(q, u, t, motion):
    bryant_rotation(-q[0], q[1], q[2] + 0.3 * t * t, motion.rotation)


MUTATIONS = {
    "offset sign": flip("offset", 1),
    "offset missing term": add("offset", 2, lambda q, u, t: -sin(t)),
    "offset swapped": order("offset", [1, 0, 2]),
    "rotation sign": flip("rotation", (0, 1)),
    "rotation missing term": add("rotation", (1, 0), lambda q, u, t: -cos(q[0]) * sin(q[2] + 0.3 * t * t)),
    "rotation transposed": transpose("rotation"),
    "rotation swapped": order("rotation", [1, 0, 2]),
    "rotation opposite angle": opposite_turn,
    "translation_partials sign": flip("translation_partials", (0, 1)),
    "translation_partials missing term": add("translation_partials", (1, 1), lambda q, u, t: -t * t),
    "translation_partials transposed": transpose("translation_partials"),
    "translation_partials swapped": order("translation_partials", [1, 0, 2]),
    "rotation_partials sign": flip("rotation_partials", (2, 0)),
    "rotation_partials missing term": add("rotation_partials", (1, 2), lambda q, u, t: -sin(q[0])),
    "rotation_partials transposed": transpose("rotation_partials"),
    "rotation_partials swapped": order("rotation_partials", [1, 0, 2]),
    "translation_drift sign": flip("translation_drift", 2),
    "translation_drift missing term": add("translation_drift", 1, lambda q, u, t: -2.0 * t * q[1]),
    "translation_drift swapped": order("translation_drift", [0, 2, 1]),
    "rotation_drift sign": flip("rotation_drift", 0),
    "rotation_drift missing term": add("rotation_drift", 0, lambda q, u, t: -sin(q[1]) * 0.6 * t),
    "rotation_drift swapped": order("rotation_drift", [1, 0, 2]),
    "translation_bias sign": flip("translation_bias", 0),
    "translation_bias missing term": add("translation_bias", 1, lambda q, u, t: -4.0 * t * u[1]),
    "translation_bias half a term": add("translation_bias", 2, lambda q, u, t: -u[1] * u[2]),
    "translation_bias swapped": order("translation_bias", [1, 0, 2]),
    "rotation_bias sign": flip("rotation_bias", 2),
    "rotation_bias missing term": add("rotation_bias", 0, lambda q, u, t: -sin(q[1]) * 0.6),
    "rotation_bias swapped": order("rotation_bias", [1, 0, 2]),
}


def failure(element, **options):
    with pytest.raises(ElementError) as caught:
        check(element, **options)
    return str(caught.value)


def test_the_unchanged_hinge_passes_and_the_report_lists_every_quantity():
    text = str(check(Rich()))
    assert text.startswith("Rich keeps its contract (20 samples")
    for name in QUANTITIES:
        assert name in text


@pytest.mark.parametrize("name", MUTATIONS)
def test_planted_error_is_named(name):
    quantity = name.split()[0]
    message = failure(mutant(MUTATIONS[name]), samples=6)
    assert message.startswith(f"check: {quantity} of Mutant"), message
    assert " at q = [" in message and "u = [" in message and "Also wrong" not in message


def test_every_quantity_has_planted_errors_of_three_kinds():
    for quantity in QUANTITIES:
        assert sum(name.split()[0] == quantity for name in MUTATIONS) >= 3


@pytest.mark.parametrize("seed", range(3))
def test_small_errors_are_found_too(seed):
    for quantity in QUANTITIES[2:]:
        index = 1 if quantity.endswith(("drift", "bias")) else (1, 1)
        size = 1e-4 if quantity.endswith("bias") else 1e-6
        message = failure(mutant(add(quantity, index, lambda q, u, t, size=size: size)), samples=2, seed=seed)
        assert f"{quantity} of Mutant differs" in message and "(component 1" in message


def test_size_component_and_row_of_a_deviation_are_stated():
    message = failure(mutant(add("rotation_bias", 1, lambda q, u, t: 0.31)))
    assert (
        "differs from the derivative of rotation_partials and rotation_drift by 0.31 (component 1) at q"
        in message
    )
    message = failure(mutant(add("translation_partials", (2, 0), lambda q, u, t: 0.25)))
    assert "differs from the derivative of offset by 0.25 (component 0 of row 2) at q" in message


def test_the_most_basic_of_several_errors_comes_first():
    def change(q, u, t, motion):
        motion.rotation_bias[0] += 1.0
        motion.translation_drift[0] += 2.0
        motion.rotation_partials[0, 0] += 3.0

    message = failure(mutant(change), samples=3)
    assert message.startswith("check: rotation_partials of Mutant")
    first, others = message.split("Also wrong: ")
    assert "bias" not in first and others.index("translation_drift (by 2") < others.index("rotation_bias")


def test_wrong_rotation_comes_before_wrong_partials():
    def change(q, u, t, motion):
        motion.rotation[0, 0] += 0.1
        motion.translation_partials[0, 0] += 1.0

    message = failure(mutant(change), samples=3)
    assert message.startswith("check: rotation of Mutant is not orthonormal")
    assert "Also wrong: translation_partials" in message


def test_transposed_rotation_is_recognised():
    message = failure(mutant(transpose("rotation")))
    assert "rotation looks transposed: it fits the transpose of C" in message and "wrong sign" not in message


def test_transposed_turn_about_one_axis_may_also_be_a_wrong_sign():
    @dataclass(frozen=True)
    class Backwards(Hinge):
        n_coordinates = 1

        def evaluate(self, q, u, t, motion):
            bryant_rotation(-q[0], 0.0, 0.0, motion.rotation)
            motion.rotation_partials[0, 0] = 1.0

    message = failure(Backwards())
    assert "rotation looks transposed" in message and "or rotation_partials has the wrong sign" in message


# ---------------------------------------------------------------- the printed slips of the thesis
@dataclass(frozen=True)
class Printed(Hinge):
    """(3.3.41-43) letter by letter; the two slips can be mended one at a time."""

    transposed: float
    factor: float
    n_coordinates = 3

    def domain(self):
        return (-3.0, -1.2, -3.0), (3.0, 1.2, 3.0)

    def evaluate(self, q, u, t, motion):
        bryant_rotation(q[0], q[1], q[2], motion.rotation)
        if self.transposed:
            for i in range(3):
                for j in range(i):
                    a, b = motion.rotation[i, j], motion.rotation[j, i]
                    motion.rotation[i, j], motion.rotation[j, i] = b, a
        bryant_partials(q[0], q[1], motion.rotation_partials)
        bryant_bias(q[0], q[1], u[0], u[1], u[2], motion.rotation_bias)
        if not self.factor:
            motion.rotation_bias[0] = cos(q[1]) * u[1]


def test_printed_3_3_41_is_the_transpose():
    message = failure(Printed(transposed=1.0, factor=1.0))
    assert message.startswith("check: rotation of Printed") and "it fits the transpose of C" in message


def test_printed_3_3_43_lacks_a_factor():
    message = failure(Printed(transposed=0.0, factor=0.0))
    assert message.startswith(
        "check: rotation_bias of Printed differs from the derivative of rotation_partials by"
    )
    assert "(component 0)" in message


# ---------------------------------------------------------------- duties other than derivatives
CALLS = [0]


@dataclass(frozen=True)
class Impure(Hinge):
    n_coordinates = 1

    def evaluate(self, q, u, t, motion):
        CALLS[0] += 1
        motion.offset[0] = q[0] + 1e-9 * CALLS[0]
        motion.translation_partials[0, 0] = 1.0


def test_impure_hinge_is_caught():
    message = failure(Impure())
    assert "offset of Impure is not the same when asked twice" in message and "fields only" in message


@dataclass(frozen=True)
class Dependent(Hinge):
    n_coordinates = 2

    def evaluate(self, q, u, t, motion):
        motion.offset[0] = q[0] + 2.0 * q[1]
        motion.translation_partials[0, 0] = 1.0
        motion.translation_partials[1, 0] = 2.0


def test_dependent_coordinates_are_caught():
    message = failure(Dependent())
    assert (
        "has rank 1, wanted 2 (3.3.36)" in message
        and "the speeds [1, -0.5] move nothing" in message.replace("[-1, 0.5]", "[1, -0.5]")
    )


def test_unnecessary_coordinate_is_caught():
    @dataclass(frozen=True)
    class Idle(Hinge):
        n_coordinates = 1

        def evaluate(self, q, u, t, motion):
            pass

    assert "has rank 0, wanted 1" in failure(Idle())


def test_kinked_pose_is_not_smooth():
    @dataclass(frozen=True)
    class Saw(Hinge):
        n_coordinates = 1

        def evaluate(self, q, u, t, motion):
            motion.offset[0] = (q[0] * 1.2345e5) % 1.0
            motion.translation_partials[0, 0] = 1.2345e5

    assert "the pose of Saw is not twice differentiable" in failure(Saw(), samples=2)


def variant(**members: Any) -> Hinge:
    """A slider with some members replaced."""

    def evaluate(self, q, u, t, motion):
        motion.offset[0] = q[0]
        motion.translation_partials[0, 0] = 1.0

    members = {"n_coordinates": 1, "evaluate": evaluate, **members}
    return dataclass(frozen=True)(type("Variant", (Hinge,), members))()


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"domain": lambda self: (1.0, -1.0)}, "domain() runs from [1] to [-1]"),
        ({"domain": lambda self: ((0.0, 0.0), (1.0, 1.0))}, "wanted lowest and highest q, 1 numbers each"),
        ({"reference": lambda self: np.zeros(2)}, "reference() is [0, 0]; wanted 1 numbers"),
        ({"base": lambda self: np.diag([1.0, 1.0, -1.0])}, "base() is not a rotation"),
        ({"coordinates": lambda self, offset, rotation: np.array([2.0 * offset[0]])}, "whose pose is"),
        ({"coordinates": lambda self, offset, rotation: offset}, "wanted 1 numbers"),
        ({"coordinates": lambda self, offset, rotation, guess: 1 / 0}, "raised ZeroDivisionError"),
        ({"n_coordinates": 8}, "wanted an integer from 0 to 7"),
        ({"euler_parameters": 0}, "does not fit 1 coordinates"),
        (
            {"evaluate": lambda self, q, u, motion: None},
            "takes 4 arguments; wanted evaluate(self, q, u, t, motion)",
        ),
        ({"evaluate": Hinge.evaluate}, "has neither evaluate() nor pose"),
    ],
)
def test_wrong_descriptions_are_refused(members, said):
    assert said in failure(variant(**members))


def test_own_inverse_with_two_arguments_will_do():
    report = check(variant(coordinates=lambda self, offset, rotation: offset[:1]), samples=3)
    assert any(row.duty == "coordinates() inverts the pose" for row in report.rows)


# ---------------------------------------------------------------- mistakes of programming, by their line
def writes_outside(self, q, u, t, motion):
    motion.rotation_partials[1, 0] = 1.0


def writes_outside_by_alias(self, q, u, t, motion):
    w = motion.rotation_partials
    w[0, 3] = 1.0


def helper_writes_outside(self, q, u, t, m):
    bryant_partials(q[0], 0.0, m.rotation_partials)


def writes_wrong_shape(self, q, u, t, motion):
    motion.rotation_partials[:] = np.ones((3, 1))


def reads_outside(self, q, u, t, motion):
    motion.offset[2] = q[1]


def replaces(self, q, u, t, motion):
    motion.offset = q


def misspells_quantity(self, q, u, t, motion):
    motion.rotaton[0, 0] = 1.0


def misspells_field(self, q, u, t, motion):
    motion.offset[0] = self.pich * q[0]


def misspells_name(self, q, u, t, motion):
    motion.offset[0] = cosine(q[0])  # noqa: F821


def changes_q(self, q, u, t, motion):
    q[0] = 0.0


MISTAKES = [
    (writes_outside, "Broken.evaluate wrote rotation_partials[1, 0], outside it; wanted (1, 3): one row per "
     "coordinate (w, 3.3.28) (n_coordinates is 1) (test_checks.py, line {line}: `motion.rotation_partials[1, 0] = 1.0`)"),
    (writes_outside_by_alias, "wrote rotation_partials[0, 3], outside it; wanted (1, 3): one row per coordinate"),
    (helper_writes_outside, "wrote rotation_partials[1, 1], outside it; wanted (1, 3)"),
    (writes_wrong_shape, "Broken.evaluate wrote rotation_partials of shape (3, 1); wanted (1, 3): one row per "
     "coordinate (w, 3.3.28) (n_coordinates is 1) (test_checks.py, line {line}"),
    (reads_outside, "Broken.evaluate read q[1], outside it; wanted (1,): one number per coordinate"),
    (replaces, "replaces motion.offset (test_checks.py, line {line}: `motion.offset = q`); write into it"),
    (misspells_quantity, "line {line}: `motion.rotaton[0, 0] = 1.0`): there is no quantity 'rotaton': did you mean "
     "'rotation'?"),
    (misspells_field, "there is no field 'pich': did you mean 'pitch'? The numeric fields are: pitch."),
    (misspells_name, "line {line}: `motion.offset[0] = cosine(q[0])  # noqa: F821`) raised NameError"),
    (changes_q, "Broken.evaluate changes q (test_checks.py, line {line}: `q[0] = 0.0`)"),
]  # fmt: skip


def broken(method: Any, **members: Any) -> Any:
    members = {
        "__annotations__": {"pitch": float},
        "pitch": 0.1,
        "n_coordinates": 1,
        "evaluate": method,
        **members,
    }
    return dataclass(frozen=True)(type("Broken", (Hinge,), members))()


@pytest.mark.parametrize("way", [check, probe])
@pytest.mark.parametrize(("method", "said"), MISTAKES, ids=lambda x: getattr(x, "__name__", ""))
def test_mistakes_of_programming_are_named_with_their_line(method, said, way):
    last = method.__code__.co_firstlineno + (2 if method is writes_outside_by_alias else 1)
    with pytest.raises(ElementError) as caught:
        way(broken(method))
    assert said.format(line=last) in str(caught.value)
    assert isinstance(caught.value.__cause__, Exception)
    assert ("at q = [" in str(caught.value)) == (way is check)


def test_probe_passes_what_is_right():
    assert probe(Rich()) is None  # type: ignore[func-returns-value]
    assert probe(Lift(1.0, Harmonic(0.1, 2.0))) is None  # type: ignore[func-returns-value]


def refuses(self, q, u, t, motion):
    if q[0] < 0.5:
        raise ValueError("the pin leaves its slot")


def square_root(self, q, u, t, motion):
    motion.offset[0] = np.sqrt(1.0) / q[0]


def domain_of_math(self, q, u, t, motion):
    from math import sqrt

    motion.offset[0] = sqrt(q[0] - 0.5)


@pytest.mark.parametrize("method", [refuses, square_root, domain_of_math])
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_probe_leaves_physical_refusals_for_run_time(method):
    probe(broken(method))


def test_check_reports_what_the_method_raises_with_coordinates_and_cause():
    with pytest.raises(
        ElementError, match=r"raised ValueError: the pin leaves its slot. Met at q = \[.*t = "
    ) as caught:
        check(broken(refuses))
    assert isinstance(caught.value.__cause__, ValueError) and "line" in str(caught.value)


def not_a_number(self, q, u, t, motion):
    motion.offset[0] = np.nan


def test_not_finite_is_named():
    assert "offset of Broken is [nan, 0.0, 0.0] at q = [" in failure(broken(not_a_number))


def test_probe_names_a_wrong_number_of_arguments():
    with pytest.raises(ElementError, match=r"Broken.evaluate \(test_checks.py, line \d+\) takes 3 arguments"):
        probe(broken(lambda self, q, u: None))


# ---------------------------------------------------------------- pose only, compiled form
@dataclass(frozen=True)
class Lift(Hinge):
    """Pose only: turns about z and rises with a signal."""

    gain: float
    height: Any
    n_coordinates = 1

    def pose(self, q, t, offset, rotation):
        offset[2] = self.height + self.gain * sin(q[0]) * t
        rotation[0, 0] = cos(q[0])
        rotation[0, 1] = -sin(q[0])
        rotation[1, 0] = sin(q[0])
        rotation[1, 1] = cos(q[0])


@jit
def test_pose_only_hinge_with_a_signal_passes():
    report = check(Lift(0.5, Harmonic(0.2, 3.0)), samples=5)
    assert report.way == "numba"


@dataclass(frozen=True)
class Skewed(Hinge):
    """Pose only, and no rotation."""

    n_coordinates = 1

    def pose(self, q, t, offset, rotation):
        rotation[0, 1] = q[0]


@jit
def test_pose_that_is_no_rotation_is_caught():
    assert failure(Skewed(), samples=3).startswith("check: rotation of Skewed is not orthonormal")


def writes_outside_rotation(self, q, t, offset, rotation):
    rotation[3, 0] = offset[0]


def takes_value_of_number(self, q, t, offset, rotation):
    offset[0] = self.pitch.value


@pytest.mark.parametrize("way", [check, probe])
@pytest.mark.parametrize(
    ("pose", "said"),
    [
        (
            writes_outside_rotation,
            "Broken.pose wrote rotation[3, 0], outside it; wanted (3, 3): the connection tensor",
        ),
        (takes_value_of_number, ": .value of a number; in a pose a signal field is a plain number already."),
    ],
)
def test_mistakes_in_a_pose_are_found_before_it_is_compiled(pose, said, way):
    with pytest.raises(ElementError) as caught:
        way(broken(Hinge.evaluate, pose=pose))
    assert said in str(caught.value) and f"line {pose.__code__.co_firstlineno + 1}" in str(caught.value)


def test_pose_with_euler_parameters_is_refused():
    hinge = broken(
        Hinge.evaluate, pose=lambda self, q, t, offset, rotation: None, euler_parameters=0, n_coordinates=4
    )
    with pytest.raises(ElementError, match="write evaluate"):
        check(hinge)


FROZEN = 1.0


@dataclass(frozen=True)
class Scaled(Hinge):
    n_coordinates = 1

    def evaluate(self, q, u, t, motion):
        motion.offset[0] = FROZEN * q[0]
        motion.translation_partials[0, 0] = FROZEN


@jit
def test_constant_changed_after_compilation_is_noticed(monkeypatch):
    hinge = Scaled()
    record = np.zeros(30)
    call(hinge, "hinge", np.array([0.5]), np.zeros(1), 0.0, record)
    monkeypatch.setitem(globals(), "FROZEN", 2.0)
    assert failure(hinge, samples=3).startswith(
        "check: compiled, offset of Scaled differs from the same source"
    )


# ---------------------------------------------------------------- signals
@pytest.mark.parametrize(
    "signal",
    [
        Constant(2.0),
        Polynomial([1.0, -2.0, 0.5, 0.1]),
        Harmonic(2.0, 40.0, 0.3, 1.0),
        Spline([0.0, 0.5, 2.0, 3.0], [0.0, 1.0, -1.0, 2.0]),
        Spline([0.0, 0.5, 2.0, 3.0], [0.0, 1.0, -1.0, 0.0], ends="periodic"),
    ],
    ids=repr,
)
def test_signals_keep_their_contract(signal):
    assert "rate is the derivative of value" in str(check(signal))


@dataclass(frozen=True)
class Ramp(Signal):
    """Rises from t = start on; `wrong` spoils one of the three numbers."""

    start: float = 4.0
    jump: float = 0.0
    wrong: float = -1.0
    known: tuple[float, ...] = structure(default=())

    @property
    def breaks(self):
        return self.known

    def evaluate(self, t, out):
        x = t - self.start
        if x > 0.0:
            out[0] = x * x * x + self.jump
            out[1] = 3.0 * x * x
            out[2] = 6.0 * x
        if self.wrong >= 0.0:
            out[int(self.wrong)] += 0.01 * t


@pytest.mark.parametrize(("wrong", "name"), [(0, "rate"), (1, "rate"), (2, "acceleration")])
def test_wrong_rates_of_a_signal_are_named(wrong, name):
    assert failure(Ramp(wrong=wrong)).startswith(f"check: {name} of Ramp differs from the")


def test_jump_of_a_signal_away_from_its_breaks_is_found():
    message = failure(Ramp(jump=0.5), samples=3)
    assert "value of Ramp jumps by 0.5 at t = 4, which is not among its breaks ()" in message


def test_declared_jump_of_a_signal_is_allowed():
    @dataclass(frozen=True)
    class Step(Signal):
        def evaluate(self, t, out):
            if t > 4.0:
                out[0] = 0.5

        @property
        def breaks(self):
            return (4.0,)

    check(Step(), samples=3)


# ---------------------------------------------------------------- loads
@pytest.mark.parametrize("load", [Force(x=1.0, z=Harmonic(2.0, 3.0)), Moment(y=2.0, frame="body")], ids=repr)
def test_loads_keep_their_contract(load):
    check(load, samples=5)


@pytest.mark.parametrize("kind", [Force, Moment])
@pytest.mark.parametrize("frame", ["body", "world"])
def test_a_body_fixed_load_turns_with_its_end(kind, frame, rng=np.random.default_rng(3)):
    load = kind(x=1.0, y=-2.0, z=Polynomial([0.0, 1.0]), frame=frame)
    R, S = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2))
    results = []
    for turn in (R, S @ R):
        out = np.zeros(6)
        call(load, "load", np.concatenate((np.zeros(3), turn.ravel())), np.zeros(6), 3.0, out)
        results.append(out.reshape(2, 3))
    expected = results[0] @ S.T if frame == "body" else results[0]
    np.testing.assert_allclose(results[1], expected, atol=ROUND)
    here = np.array([1.0, -2.0, 3.0])
    np.testing.assert_allclose(
        results[0][int(kind is Moment)], R @ here if frame == "body" else here, atol=ROUND
    )


@dataclass(frozen=True)
class Odd(Load):
    calls: Any = field(default_factory=lambda: [0.0])

    def evaluate(self, end, t, load):
        self.calls[0] += 1.0
        load.force[0] = self.calls[0]


@dataclass(frozen=True)
class Infinite(Load):
    def evaluate(self, end, t, load):
        load.moment[1] = np.inf


@dataclass(frozen=True)
class Outside(Load):
    def evaluate(self, end, t, load):
        load.force[3] = 1.0


def test_broken_loads_are_named():
    assert "Odd is not the same when asked twice" in failure(Odd())
    assert "Infinite gives force [0, 0, 0], moment [0, inf, 0]" in failure(Infinite())
    assert "Outside.evaluate wrote force[3], outside it; wanted (3,)" in failure(Outside())


def test_check_wants_an_element():
    assert "is a class; wanted an element, Rich(...)" in failure(Rich)
    assert "is not an element" in failure(3.0)
    assert "wanted at least 1" in failure(Rich(), samples=0)
