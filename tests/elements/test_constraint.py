"""Constraints and couplings of an author: every way to write one gives the same rows, every planted error is named."""

import importlib.util
import sys
import textwrap
import warnings
from dataclasses import dataclass
from math import cos, sin
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import config
from numpy.testing import assert_allclose

from treemech.elements import Constraint, Coupling, Harmonic, Polynomial, RelativeMotion, as_signal
from treemech.elements.check.checks import check
from treemech.elements.check.probe import probe
from treemech.elements.compilation.callback import python_entry
from treemech.elements.compilation.entry import call, compile_entry, make_entry
from treemech.elements.compilation.explain import ElementCompileWarning
from treemech.elements.constraint import rows_size, rows_views
from treemech.elements.coupling import coupling_size, coupling_views
from treemech.topology.errors import ElementError

jit = pytest.mark.skipif(config.DISABLE_JIT, reason="compiles")
ROUND = 1e-12  # two routes to one number
QUANTITIES = ("residual", "force", "moment", "auxiliary", "drift", "bias")


# ---------------------------------------------------------------- helpers an author would write
def point(c, C, r, p):
    """p = c + C r, the point r of the body of end b"""
    for i in range(3):
        p[i] = c[i] + C[i, 0] * r[0] + C[i, 1] * r[1] + C[i, 2] * r[2]


def cross(a, b, i):
    j, k = (i + 1) % 3, (i + 2) % 3
    return a[j] * b[k] - a[k] * b[j]


def carried(w, a, i):
    """Component i of w x (w x a)"""
    j, k = (i + 1) % 3, (i + 2) % 3
    return w[j] * cross(w, a, k) - w[k] * cross(w, a, j)


# ---------------------------------------------------------------- three elements, in short and by hand
@dataclass(frozen=True)
class Rod(Constraint):
    """Origin of a and point r of b are `length` apart: (p . p - l l) / 2 = 0"""

    length: Any
    r: Any = (0.3, -0.2, 0.5)
    n_holonomic = 1

    def __post_init__(self):
        object.__setattr__(self, "length", as_signal(self.length, "Rod.length"))

    def residual(self, offset, rotation, s, t, f):
        for i in range(3):
            p = offset[i]
            for j in range(3):
                p += rotation[i, j] * self.r[j]
            f[0] += 0.5 * p * p
        f[0] -= 0.5 * self.length * self.length


def rod_rows(length, r, motion, rows):
    c, C, v, w = motion.offset, motion.rotation, motion.velocity, motion.angular_velocity
    rows.residual[0] = -0.5 * length.value**2
    rows.drift[0] = -length.value * length.rate
    rows.bias[0] = -(length.rate**2) - length.value * length.acceleration
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        a = (C[i, 0] * r[0] + C[i, 1] * r[1] + C[i, 2] * r[2], C[j, 0] * r[0] + C[j, 1] * r[1] + C[j, 2] * r[2],
             C[k, 0] * r[0] + C[k, 1] * r[1] + C[k, 2] * r[2])  # fmt: skip
        p = c[i] + a[0]
        dot = w[i] * a[0] + w[j] * a[1] + w[k] * a[2]
        speed = v[i] + w[j] * a[2] - w[k] * a[1]
        rows.residual[0] += 0.5 * p * p
        rows.force[0, i] = p
        rows.moment[0, i] = a[1] * (c[k] + a[2]) - a[2] * (c[j] + a[1])
        rows.bias[0] += speed * speed + p * (w[i] * dot - (w[0] ** 2 + w[1] ** 2 + w[2] ** 2) * a[0])


@dataclass(frozen=True)
class RodByHand(Rod):
    def evaluate(self, motion, t, rows):
        rod_rows(self.length, self.r, motion, rows)


@dataclass(frozen=True)
class RodInPython(Rod):
    def evaluate(self, motion, t, rows):
        label = f"{t:.3f}"
        assert label
        rod_rows(self.length, self.r, motion, rows)


@dataclass(frozen=True)
class Skate(Constraint):
    """The end does not slip along its own y axis, over a floor that moves with the speed `belt`: n . v = belt"""

    belt: Any
    n_nonholonomic = 1

    def __post_init__(self):
        object.__setattr__(self, "belt", as_signal(self.belt, "Skate.belt"))

    def slip(self, offset, rotation, velocity, angular_velocity, s, t, f):
        f[0] = -self.belt
        for i in range(3):
            f[0] += rotation[i, 1] * velocity[i] + offset[i] * t * angular_velocity[i]


def skate_rows(belt, motion, t, rows):
    c, C, v, w = motion.offset, motion.rotation, motion.velocity, motion.angular_velocity
    rows.drift[0] = -belt.value
    rows.bias[0] = -belt.rate
    for i in range(3):
        rows.force[0, i] = C[i, 1]
        rows.moment[0, i] = c[i] * t
        rows.bias[0] += cross(w, C[:, 1], i) * v[i] + (v[i] * t + c[i]) * w[i]


@dataclass(frozen=True)
class SkateByHand(Skate):
    def evaluate(self, motion, t, rows):
        skate_rows(self.belt, motion, t, rows)


@dataclass(frozen=True)
class SkateInPython(Skate):
    def evaluate(self, motion, t, rows):
        assert f"{t:.3f}"
        skate_rows(self.belt, motion, t, rows)


@dataclass(frozen=True)
class OnCircle(Constraint):
    """End b lies on a circle about z of end a, at the angle s: c = radius (cos s, sin s, 0)"""

    radius: float
    n_holonomic = 2
    n_auxiliary = 1

    def residual(self, offset, rotation, s, t, f):
        f[0] = offset[0] - self.radius * cos(s[0])
        f[1] = offset[1] - self.radius * sin(s[0])
        f[2] = offset[2]

    def auxiliary(self):
        return np.array([0.25])


def circle_rows(radius, motion, rows):
    x, y, rate = radius * cos(motion.s[0]), radius * sin(motion.s[0]), motion.s_rate[0]
    rows.residual[0] = motion.offset[0] - x
    rows.residual[1] = motion.offset[1] - y
    rows.residual[2] = motion.offset[2]
    for i in range(3):
        rows.force[i, i] = 1.0
    rows.auxiliary[0, 0] = y
    rows.auxiliary[1, 0] = -x
    rows.bias[0] = x * rate * rate
    rows.bias[1] = y * rate * rate


@dataclass(frozen=True)
class OnCircleByHand(OnCircle):
    def evaluate(self, motion, t, rows):
        circle_rows(self.radius, motion, rows)


@dataclass(frozen=True)
class OnCircleInPython(OnCircle):
    def evaluate(self, motion, t, rows):
        assert f"{t:.3f}"
        circle_rows(self.radius, motion, rows)


@dataclass(frozen=True)
class OnBall(Constraint):
    """A point of b lies on a ball whose centre is end a, at longitude and latitude s: sixteen lanes of jets."""

    radius: Any
    n_holonomic = 1
    n_auxiliary = 2

    def __post_init__(self):
        object.__setattr__(self, "radius", as_signal(self.radius, "OnBall.radius"))

    def residual(self, offset, rotation, s, t, f):
        f[0] = offset[0] + rotation[0, 2] - self.radius * cos(s[0]) * cos(s[1])
        f[1] = offset[1] + rotation[1, 2] - self.radius * sin(s[0]) * cos(s[1])
        f[2] = offset[2] + rotation[2, 2] - self.radius * sin(s[1])


LENGTH = Polynomial([1.0, 0.3, -0.2])
BELT = Harmonic(0.4, 3.0)
WAYS = {
    "rod": (Rod(LENGTH), RodByHand(LENGTH), RodInPython(LENGTH)),
    "skate": (Skate(BELT), SkateByHand(BELT), SkateInPython(BELT)),
    "circle": (OnCircle(0.7), OnCircleByHand(0.7), OnCircleInPython(0.7)),
}


def random_motion(constraint, rng, t=0.0):
    offset, rotation, s = constraint.sample(rng, t)
    v, w, s_rate = rng.normal(size=3), rng.normal(size=3), rng.normal(size=len(s))
    return RelativeMotion(offset, rotation, v, w, s, s_rate)


def through_address(constraint, motion, t):
    n, na = constraint.n_rows, constraint.n_auxiliary
    record = np.zeros(rows_size(n, na))
    call(
        constraint,
        "constraint",
        np.concatenate([x.ravel() for x in motion[:4]]),
        np.concatenate(motion[4:]),
        t,
        record,
    )
    return rows_views(record, n, na)


@jit
@pytest.mark.parametrize("name", WAYS)
@pytest.mark.filterwarnings("ignore::treemech.elements.compilation.explain.ElementCompileWarning")
def test_residual_evaluate_and_python_give_the_same_rows(name):
    short, by_hand, in_python = WAYS[name]
    assert [make_entry(x).way for x in WAYS[name]] == ["numba", "numba", "python"]
    rng = np.random.default_rng(3)
    for _ in range(5):
        t = rng.uniform(0.0, 2.0)
        motion = random_motion(short, rng)
        expected = by_hand.rows(motion, t)
        for element in WAYS[name]:
            for got in (through_address(element, motion, t), element.rows(motion, t)):
                for quantity, x, y in zip(expected._fields, got, expected, strict=True):
                    assert_allclose(x, y, rtol=ROUND, atol=ROUND, err_msg=f"{element} {quantity}")


@jit
@pytest.mark.parametrize(
    "element", [*(way[k] for way in WAYS.values() for k in (0, 1)), OnBall(BELT)], ids=repr
)
def test_examples_keep_their_contract(element):
    probe(element)
    assert check(element, samples=4).way == "numba"


# ---------------------------------------------------------------- planted errors
@dataclass(frozen=True)
class Alone(Constraint):
    """Rod, circle and skate in one: five rows of all kinds, by evaluate alone."""

    length: Any = LENGTH
    belt: Any = BELT
    r: Any = (0.3, -0.2, 0.5)
    radius: float = 0.7
    n_holonomic = 3
    n_auxiliary = 1
    n_nonholonomic = 1

    def evaluate(self, motion, t, rows):
        rod_rows(self.length, self.r, motion, type(rows)(*(x[:1] for x in rows)))
        circle_rows(self.radius, motion, type(rows)(*(x[1:4] for x in rows)))
        skate_rows(self.belt, motion, t, type(rows)(*(x[4:] for x in rows)))
        self.spoil(motion, t, rows)

    def spoil(self, motion, t, rows):
        pass


@dataclass(frozen=True)
class Linkage(Alone):
    """The same with its equations beside it."""

    def residual(self, offset, rotation, s, t, f):
        Rod.residual(self, offset, rotation, s, t, f[:1])
        OnCircle.residual(self, offset, rotation, s, t, f[1:])

    def slip(self, offset, rotation, velocity, angular_velocity, s, t, f):
        Skate.slip(self, offset, rotation, velocity, angular_velocity, s, t, f)


def spoilt(change, base=Linkage):
    @dataclass(frozen=True)
    class Spoilt(base):
        def spoil(self, motion, t, rows):
            change(motion, t, rows)

    return Spoilt()


def failure(element, samples=2):
    with pytest.raises(ElementError) as caught:
        check(element, samples=samples)
    return str(caught.value)


def sign(name, row):
    def change(motion, t, rows):
        getattr(rows, name)[row] *= -1.0

    return change


def missing(name, row):
    """Without the terms of the angle s, of time, or of the first component"""

    def change(motion, t, rows):
        x = getattr(rows, name)
        lost = {
            "residual": 0.5 * motion.offset[0] ** 2,
            "bias": motion.angular_velocity[0] * motion.velocity[1],
        }
        if x.ndim == 2:
            x[row, 0] = 0.0
        else:
            x[row] -= lost.get(name, 0.3 * t)

    return change


def transposed(name, row):
    """In the base of end b instead of end a; two rows exchanged"""

    def change(motion, t, rows):
        x = getattr(rows, name)
        x[row] = motion.rotation.T @ x[row] if name in ("force", "moment") else x[row - 1]

    return change


def matters(change):
    """Whether the error changes more than zeros."""
    motion = random_motion(Alone(), np.random.default_rng(0))
    pairs = zip(Alone().rows(motion, 0.7), spoilt(change).rows(motion, 0.7), strict=True)
    return any(np.any(x != y) for x, y in pairs)


ERRORS = [
    pytest.param(error(name, row), name, row, id=f"{error.__name__} {name} {row}")
    for error in (sign, missing, transposed)
    for name in QUANTITIES
    for row in (0, 1, 4)
    if matters(error(name, row))
]


@pytest.mark.parametrize(("change", "name", "row"), ERRORS)
def test_every_planted_error_is_named(change, name, row):
    said = failure(spoilt(change))
    assert said.startswith(f"check: {name} of Spoilt differs from"), said
    assert f"row {row}" in said and "Also wrong" not in said, said


@pytest.mark.parametrize(("change", "name", "row"), [e for e in ERRORS if e.values[2] == 0])
def test_every_planted_error_on_position_is_found_without_residual(change, name, row):
    said = failure(spoilt(change, Alone))
    assert "of Spoilt" in said and name in said.split(" at ")[0], said


@pytest.mark.parametrize(("change", "name", "row"), [e for e in ERRORS if e.values[2] == 4])
def test_every_planted_error_on_velocity_is_found_without_slip(change, name, row):
    said = failure(spoilt(change, Alone))
    assert name in said.split(" at ")[0] and "of Spoilt" in said and "row 4" in said, said


@pytest.mark.filterwarnings("ignore::treemech.elements.compilation.explain.ElementCompileWarning")
@pytest.mark.parametrize("element", [Alone(), Linkage()], ids=["alone", "with its equations"])
def test_unspoilt_it_passes(element):
    assert len(check(element, samples=3).rows) > 8


def test_equations_that_do_not_fit_evaluate_are_named():
    @dataclass(frozen=True)
    class Shorter(Linkage):
        def residual(self, offset, rotation, s, t, f):
            Linkage.residual(self, offset, rotation, s, t, f)
            f[0] += 0.1 * offset[0] ** 2

    @dataclass(frozen=True)
    class Turned(Linkage):
        def slip(self, offset, rotation, velocity, angular_velocity, s, t, f):
            Linkage.slip(self, offset, rotation.T, velocity, angular_velocity, s, t, f)

    assert "check: residual of Shorter does not fit its derivatives" in failure(Shorter())
    assert "check: force of Turned differs from the derivative of slip with respect to velocity" in failure(
        Turned()
    )


def test_a_wrong_residual_of_evaluate_alone_is_named():
    def change(motion, t, rows):
        rows.residual[0] += 0.1 * motion.offset[0] ** 2 * t

    assert "check: residual of Spoilt does not fit its derivatives" in failure(spoilt(change, Alone))


def test_wrong_sign_and_wrong_base_are_hinted_at():
    assert "its sign looks wrong" in failure(
        spoilt(lambda motion, t, rows: np.negative(rows.moment, rows.moment))
    )
    turned = spoilt(lambda motion, t, rows: np.copyto(rows.moment, rows.moment @ motion.rotation))
    assert "in the base of end b" in failure(turned)


def test_other_broken_duties_are_named():
    def on_velocity(motion, t, rows):
        rows.force[0, 1] += motion.velocity[0]

    def asked(motion, t, rows):
        rows.bias[0] += np.random.default_rng().random()

    def endless(motion, t, rows):
        rows.bias[0] = np.nan

    @dataclass(frozen=True)
    class Friction(Skate):
        def slip(self, offset, rotation, velocity, angular_velocity, s, t, f):
            f[0] = velocity[0] + 0.01 * velocity[1] ** 2

    @dataclass(frozen=True)
    class Twice(Constraint):
        n_holonomic = 2

        def evaluate(self, motion, t, rows):
            rows.residual[:] = motion.offset[0]
            rows.force[:, 0] = 1.0

    @dataclass(frozen=True)
    class Idle(Constraint):
        n_holonomic = 2
        n_auxiliary = 1

        def evaluate(self, motion, t, rows):
            rows.residual[:] = motion.offset
            rows.force[:] = np.eye(3)

    assert "force of Spoilt depends on velocity" in failure(spoilt(on_velocity))
    assert "not the same when asked twice" in failure(spoilt(asked))
    assert "bias of Spoilt is [nan" in failure(spoilt(endless))
    assert "rows of Twice are not independent: rank 1, wanted 2" in failure(Twice())
    assert "columns of auxiliary of Idle are not independent: rank 0, wanted 1" in failure(Idle())
    if not config.DISABLE_JIT:
        assert "slip of Friction is not linear in velocity and angular_velocity" in failure(Friction(1.0))


# ---------------------------------------------------------------- couplings
@dataclass(frozen=True)
class Cam(Coupling):
    """q0 + lift sin q1 + q1 q2 = drive(t)"""

    lift: float
    drive: Any
    n_arguments = 3

    def residual(self, q, t, f):
        f[0] = q[0] + self.lift * sin(q[1]) + q[1] * q[2] - self.drive


def cam_rows(lift, drive, q, u, rows):
    rows.residual[0] = q[0] + lift * sin(q[1]) + q[1] * q[2] - drive.value
    rows.drift[0] = -drive.rate
    rows.bias[0] = 2.0 * u[1] * u[2] - lift * sin(q[1]) * u[1] ** 2 - drive.acceleration
    rows.partials[0, 0] = 1.0
    rows.partials[0, 1] = lift * cos(q[1]) + q[2]
    rows.partials[0, 2] = q[1]


@dataclass(frozen=True)
class CamByHand(Cam):
    def evaluate(self, q, u, t, rows):
        cam_rows(self.lift, self.drive, q, u, rows)


@dataclass(frozen=True)
class CamInPython(Cam):
    def evaluate(self, q, u, t, rows):
        assert f"{t:.3f}"
        cam_rows(self.lift, self.drive, q, u, rows)


@dataclass(frozen=True)
class Variator(Coupling):
    """Wheels whose ratio is a coordinate, on a belt: u0 = q2 u1 + t u2 + drive(t)"""

    drive: Any
    n_holonomic = 0
    n_nonholonomic = 1
    n_arguments = 3

    def slip(self, q, u, t, f):
        f[0] = u[0] - q[2] * u[1] - t * u[2] - self.drive


def variator_rows(drive, q, u, t, rows):
    rows.drift[0] = -drive.value
    rows.bias[0] = -u[2] * u[1] - u[2] - drive.rate
    rows.partials[0, 0] = 1.0
    rows.partials[0, 1] = -q[2]
    rows.partials[0, 2] = -t


@dataclass(frozen=True)
class VariatorByHand(Variator):
    def evaluate(self, q, u, t, rows):
        variator_rows(self.drive, q, u, t, rows)


@dataclass(frozen=True)
class VariatorInPython(Variator):
    def evaluate(self, q, u, t, rows):
        assert f"{t:.3f}"
        variator_rows(self.drive, q, u, t, rows)


@dataclass(frozen=True)
class Ring(Coupling):
    """The squares of any number of coordinates add up to one."""

    def residual(self, q, t, f):
        f[0] = -1.0
        for k in range(len(q)):
            f[0] += q[k] * q[k]


COUPLINGS = {
    "cam": (Cam(0.3, BELT), CamByHand(0.3, BELT), CamInPython(0.3, BELT)),
    "variator": (Variator(BELT), VariatorByHand(BELT), VariatorInPython(BELT)),
}


def coupling_through_address(coupling, q, u, t):
    n, k = coupling.n_rows, coupling.n_arguments
    record = np.zeros(coupling_size(n, k))
    call(coupling, "coupling", q, u, t, record)
    return coupling_views(record, n, k)


@jit
@pytest.mark.parametrize("name", COUPLINGS)
@pytest.mark.filterwarnings("ignore::treemech.elements.compilation.explain.ElementCompileWarning")
def test_all_ways_to_write_a_coupling_give_the_same_rows(name):
    assert [make_entry(x).way for x in COUPLINGS[name]] == ["numba", "numba", "python"]
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, u, t = rng.normal(size=3), rng.normal(size=3), rng.uniform(0.0, 2.0)
        expected = COUPLINGS[name][1].rows(q, u, t)
        for element in COUPLINGS[name]:
            for got in (coupling_through_address(element, q, u, t), element.rows(q, u, t)):
                for quantity, x, y in zip(expected._fields, got, expected, strict=True):
                    assert_allclose(x, y, rtol=ROUND, atol=ROUND, err_msg=f"{element} {quantity}")
    for element in COUPLINGS[name]:
        probe(element)
        check(element, samples=4)


@jit
def test_a_coupling_of_any_number_of_coordinates_is_compiled_for_each_number():
    for k in (2, 3, 9):
        ring, q, u = Ring().joining(k), np.arange(k) + 1.0, np.ones(k)
        got = coupling_through_address(ring, q, u, 0.0)
        assert_allclose(got.partials[0], 2.0 * q, rtol=ROUND)
        assert_allclose([got.residual[0], got.bias[0]], [q @ q - 1.0, 2.0 * k], rtol=ROUND)
    assert compile_entry(Ring().joining(2)) is compile_entry(Ring().joining(2))
    assert compile_entry(Ring().joining(2)) is not compile_entry(Ring().joining(3))
    assert "runs by way of numba" in str(check(Ring(), samples=3))
    with pytest.raises(ElementError, match="Cam joins 3 coordinates, got 2"):
        Cam(0.3, BELT).joining(2)
    with pytest.raises(ElementError, match=r"Ring.n_arguments is None: say how many .*Ring\(...\).joining"):
        make_entry(Ring())


@pytest.mark.parametrize("beside", [True, False], ids=["with its equations", "alone"])
@pytest.mark.parametrize("error", ["sign", "missing", "exchanged"])
@pytest.mark.parametrize("name", ["residual", "partials", "drift", "bias"])
@pytest.mark.parametrize("row", [0, 1])
def test_every_planted_error_of_a_coupling_is_named(name, error, beside, row):
    @dataclass(frozen=True)
    class Spoilt(Coupling):
        lift: float = 0.3
        drive: Any = BELT
        n_arguments = 3
        n_nonholonomic = 1

        def evaluate(self, q, u, t, rows):
            cam_rows(self.lift, self.drive, q, u, type(rows)(*(x[:1] for x in rows)))
            variator_rows(self.drive, q, u, t, type(rows)(*(x[1:] for x in rows)))
            x = getattr(rows, name)
            if error == "sign":
                x[row] *= -1.0
            elif error == "missing":
                x[row] -= q[1] * t * u[0] if name == "bias" else q[1] * t
            else:
                x[row] = x[1 - row].copy() if name != "partials" else x[row, ::-1].copy()

        if beside:

            def residual(self, q, t, f):
                Cam.residual(self, q, t, f)

            def slip(self, q, u, t, f):
                Variator.slip(self, q, u, t, f)

    if (name, error, row) == ("residual", "sign", 1):
        return  # it is zero
    said = failure(Spoilt())
    assert "of Spoilt" in said and f"row {row}" in said and name in said.split(" at ")[0], said
    if beside:
        assert said.startswith(f"check: {name} of Spoilt differs from"), said


# ---------------------------------------------------------------- an author's file
HEAD = """
from dataclasses import dataclass
from math import cos, sin
from typing import Any
from treemech.elements import Constraint, Coupling
"""


@pytest.fixture
def author(tmp_path):
    """Write a file of an author and import it."""

    def write(source):
        path = tmp_path / "mine.py"
        path.write_text(HEAD + textwrap.dedent(source))
        spec = importlib.util.spec_from_file_location(f"mine_{tmp_path.name}", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    return write


def line_of(module, text):
    return next(n for n, line in enumerate(Path(module.__file__).read_text().splitlines(), 1) if text in line)


@jit
def test_what_cannot_be_compiled_runs_as_python_with_one_warning(author):
    mine = author("""
        @dataclass(frozen=True)
        class Plane(Constraint):
            n_holonomic = 1
            def evaluate(self, motion, t, rows):
                label = f"{t:.3f}"
                rows.residual[0] = motion.offset[2]
                rows.force[0, 2] = 1.0

        @dataclass(frozen=True)
        class Gear(Coupling):
            n_arguments = 2
            def evaluate(self, q, u, t, rows):
                label = f"{t:.3f}"
                rows.residual[0] = q[0] - q[1]
                rows.partials[0, 0] = 1.0
                rows.partials[0, 1] = -1.0
        """)
    for element, way in ((mine.Plane(), "Plane"), (mine.Gear(), "Gear")):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert [make_entry(element).way for _ in range(2)] == ["python", "python"]
            check(element, samples=3)
        said = [str(w.message) for w in caught if w.category is ElementCompileWarning]
        assert len(said) == 1 and f"{way}.evaluate cannot be compiled: mine.py, line" in said[0]


@jit
@pytest.mark.parametrize("method", ["residual", "slip"])
def test_an_equation_that_cannot_be_compiled_is_refused_with_its_line(author, method):
    mine = author(
        """
        class Wheel(Constraint):
            n_holonomic = 1
            n_nonholonomic = 1
            def residual(self, offset, rotation, s, t, f):
                f[0] = offset[0]  # residual
            def slip(self, offset, rotation, velocity, angular_velocity, s, t, f):
                f[0] = velocity[1]  # slip
        """.replace(f"# {method}", f'+ len(f"{{t:.3f}}")  # {method}')
    )
    with pytest.raises(
        ElementError, match=rf"Wheel.{method} cannot be compiled: mine.py, line \d+.*needs numba"
    ) as e:
        make_entry(mine.Wheel())
    assert f"line {line_of(mine, f'# {method}')}" in str(e.value)


@jit
@pytest.mark.parametrize("talks", [False, True], ids=["compiled", "python"])
@pytest.mark.filterwarnings("ignore::treemech.elements.compilation.explain.ElementCompileWarning")
def test_exception_of_a_method_is_carried_out(author, talks):
    mine = author(f"""
        class Track(Constraint):
            n_holonomic = 1
            def evaluate(self, motion, t, rows):
                if motion.offset[0] > 1.0:
                    raise ArithmeticError("the end leaves its track")
                {'label = f"{t:.3f}"' if talks else "pass"}
                rows.residual[0] = motion.offset[2]

        class Rack(Coupling):
            n_arguments = 1
            def residual(self, q, t, f):
                if q[0] > 1.0:
                    raise ArithmeticError("the rack ends")
                f[0] = q[0]
        """)
    track = mine.Track()
    assert make_entry(track).way == ("python" if talks else "numba")
    still = random_motion(track, np.random.default_rng(0))
    with pytest.raises(ElementError, match="Track failed at t = 0.25") as caught:
        through_address(track, still._replace(offset=np.array([2.0, 0.0, 0.0])), 0.25)
    assert "leaves its track" in str(caught.value.__cause__)
    through_address(track, still, 0.0)  # and it works again
    with pytest.raises(ElementError, match="Rack failed at t = 0.5") as caught:
        coupling_through_address(mine.Rack(), np.array([2.0]), np.zeros(1), 0.5)
    assert "the rack ends" in str(caught.value.__cause__)


SLIPS = {  # source of the class, what is said
    "class X(Constraint): n_holonomic = 1": r"X has neither evaluate\(\) nor residual\(self, offset, rotation, s, t, f\)",
    "class X(Coupling): n_arguments = 2": r"X has neither evaluate\(\) nor residual\(self, q, t, f\)",
    "class X(Constraint):\n def residual(self, offset, rotation, s, t, f): pass": "X has no equations: set n_holonomic",
    "class X(Constraint):\n n_holonomic = 1\n def residual(self, offset, t, f): pass": (
        r"X.residual \(mine.py, line 8\) takes 4 arguments; wanted residual\(self, offset, rotation, s, t, f\)"
    ),
    "class X(Constraint):\n n_holonomic = -1\n def residual(self, offset, rotation, s, t, f): pass": (
        "X.n_holonomic is -1; wanted an integer of at least 0"
    ),
    "class X(Constraint):\n n_holonomic = 1\n n_nonholonomic = 2\n def residual(self, offset, rotation, s, t, f): pass": (
        r"X has n_nonholonomic = 2 and no slip\(self, offset, rotation, velocity"
    ),
    "class X(Coupling):\n n_arguments = 2\n def residual(self, q, t, f): pass\n def slip(self, q, u, t, f): pass": (
        r"X has slip\(\) \(mine.py, line 9\) and n_nonholonomic = 0"
    ),
    "class X(Constraint):\n n_holonomic = 1\n def residual(self, offset, rotation, s, t, f):\n  f[1] = offset[0]": (
        r"X.residual wrote f\[1\], outside it; wanted \(1,\): one number per equation \(mine.py, line 9"
    ),
    "class X(Constraint):\n n_holonomic = 1\n def evaluate(self, motion, t, rows):\n  rows.force[0] = motion.offset[:2]": (
        r"X.evaluate wrote a part of force of shape \(2,\); wanted \(1, 3\): one row per equation, on end b"
    ),
    "class X(Constraint):\n n_holonomic = 1\n def evaluate(self, motion, t, rows):\n  rows.auxiliary[0, 0] = 1.0": (
        r"X.evaluate wrote auxiliary\[0, 0\], outside it; wanted \(1, 0\): one row per equation, one column per"
    ),
    "class X(Constraint):\n n_holonomic = 1\n def evaluate(self, motion, t, rows):\n  rows.forces[0, 0] = 1.0": (
        "X.evaluate .*no quantity 'forces': did you mean 'force'"
    ),
    "class X(Constraint):\n n_holonomic = 1\n def residual(self, offset, rotation, s, t, f):\n  offset[0] = 1.0": (
        r"X.residual changes offset \(mine.py, line 9.*the motion is for reading only"
    ),
    "class X(Constraint):\n n_nonholonomic = 1\n def slip(self, offset, rotation, velocity, angular_velocity, s, t, f):"
    "\n  f[0] = velocity[3]": r"X.slip .*velocity\[3\], outside it; wanted \(3,\)",
    "class X(Coupling):\n n_arguments = 2\n def residual(self, q, t, f):\n  f[0] = q[2]": (
        r"X.residual read q\[2\], outside it; wanted \(2,\): one number per coordinate"
    ),
    "class X(Coupling):\n n_arguments = 2\n def evaluate(self, q, u, t, rows):\n  rows.partials[0] = [1.0, 2.0, 3.0]": (
        r"X.evaluate wrote a part of partials of shape \(3,\); wanted \(1, 2\): one row per equation, one column per coord"
    ),
    "class X(Constraint):\n n_holonomic = 1\n n_auxiliary = 1\n def auxiliary(self): return [0.0, 1.0]\n"
    " def evaluate(self, motion, t, rows): pass": r"X.auxiliary\(\) is \[0, 1\]; wanted 1 numbers",
}


@pytest.mark.parametrize("source", SLIPS)
def test_slips_of_the_author_are_named_with_class_and_line(author, source):
    with pytest.raises(ElementError, match=SLIPS[source]):
        probe(author(source).X())
    with pytest.raises(ElementError, match=SLIPS[source]):
        check(author(source).X())


def test_misspelt_fields_and_signals_taken_twice_are_named(author):
    mine = author("""
        @dataclass(frozen=True)
        class Rope(Constraint):
            length: Any
            n_holonomic = 1
            def residual(self, offset, rotation, s, t, f):
                f[0] = offset[0] - self.lenght
        """)
    with pytest.raises(ElementError, match=r"Rope.residual .*no field 'lenght': did you mean 'length'"):
        probe(mine.Rope(1.0))
    with pytest.raises(
        ElementError, match=r"\.value of a number; in a residual a signal field is a plain number"
    ):
        probe(author(Path(mine.__file__).read_text().replace("self.lenght", "self.length.value")).Rope(BELT))


def test_sizes_may_depend_on_structure(author):
    mine = author("""
        from treemech.elements import structure
        @dataclass(frozen=True)
        class Pin(Constraint):
            rows_wanted: int = structure(default=2)
            @property
            def n_holonomic(self):
                return self.rows_wanted
            def evaluate(self, motion, t, rows):
                for k in range(len(rows.residual)):
                    rows.residual[k] = motion.offset[k]
                    rows.force[k, k] = 1.0
        """)
    for n in (2, 3, 1):
        pin = mine.Pin(n)
        motion = random_motion(pin, np.random.default_rng(n))
        assert_allclose(through_address(pin, motion, 0.0).residual, motion.offset[:n], rtol=ROUND)
        check(pin, samples=2)


def test_without_jit_equations_are_refused_and_evaluate_runs(monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    for element in (Rod(1.0), Skate(1.0), Ring().joining(2)):
        with pytest.raises(ElementError, match="needs numba for its derivatives"):
            make_entry(element)
    assert make_entry(RodByHand(1.0)).way == python_entry(CamByHand(0.1, BELT)).way == "python"
