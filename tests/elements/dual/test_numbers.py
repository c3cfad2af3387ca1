"""Dual and jet numbers: every operator and function against differences of the same source run on floats."""

import math
import os
import subprocess
import sys
from collections import namedtuple
from functools import cache

import numpy as np
import pytest
from numba import TypingError, config, njit

from treemech.elements.compilation.motion import JIT_OPTIONS, compile_pose, compile_signal, jet_width
from treemech.elements.dual import functions as elementary  # noqa: F401
from treemech.elements.dual.numbers import as_dual, dual_seed, jet_signal, lane, stack_array
from treemech.topology.errors import ElementError

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="jets exist in compiled code only")

EXACT = 1e-14  # same formulas, other order of rounding
FIRST, SECOND = 1e-10, 1e-7  # eighth-order differences, step 1e-2


# ---------------------------- author's code: plain Python, for x, y near 0.6, 0.8 (away from the kinks)


def functions(x, y, out):
    """Every elementary function, in both spellings somewhere."""
    out[0] = math.sin(x)
    out[1] = np.cos(x)
    out[2] = math.tan(x)
    out[3] = math.asin(x)
    out[4] = math.acos(x)
    out[5] = np.arctan(x)
    out[6] = math.sinh(x)
    out[7] = np.cosh(x)
    out[8] = math.tanh(x)
    out[9] = math.asinh(x)
    out[10] = np.arccosh(x + 1.0)
    out[11] = math.atanh(x)
    out[12] = math.exp(x)
    out[13] = np.expm1(x)
    out[14] = math.log(x + 1)
    out[15] = math.log1p(x)
    out[16] = np.log10(x + 1.0)
    out[17] = math.log2(x + 1.0)
    out[18] = math.sqrt(x)
    out[19] = abs(x) + abs(x - 2.0) * math.fabs(y) + np.fabs(-y) * np.abs(-x)
    out[20] = math.degrees(x)
    out[21] = np.radians(x * 100.0)
    out[22] = np.square(x)
    out[23] = math.floor(3.0 * x) + np.ceil(-y) + np.sign(-x) + x * math.ceil(3.0 * y)
    out[24] = math.atan2(y, x) + math.atan2(-y, -x) * math.atan2(1.0, x) + np.arctan2(x, -2)
    out[25] = math.hypot(x, y) + np.hypot(3.0, x)
    out[26] = math.fmod(-7.3 * x, y) + math.fmod(5.2, y) + np.fmod(9.0 * y, 2.0)
    out[27] = (-7.3 * x) % y + np.mod(3.0 * x, 0.7) + (4.7 * x) // y * y
    out[28] = math.copysign(x, -y) + math.copysign(-3.0, y) * x + np.copysign(-x * y, 1.0)
    out[29] = min(x, y, 2.0) * max(x, y) + max(0.0, -x, y, 0) + min(3, y)
    out[30] = np.minimum(x, y) * np.maximum(x, 0.5 * y)
    out[31] = x**0 + x**1 + x**2 * y + x**3 + x**-3
    out[32] = x**2.5 + x**-0.5 + x**2.0 + math.pow(x, 3.5)
    out[33] = x**y + 2.0**x + 3**y + pow(x, 2) + np.power(y, x)


def operators(x, y, out):
    """Sums, products and quotients in all mixtures with floats, integers and truth values."""
    out[0] = x + y + (x + 1.5) + (2.5 + x) + (x + 2) + (3 + y)
    out[1] = (x - y) * (x - 1.5) + (2.5 - x) * (x - 2) + (3 - y)
    out[2] = x * y * (x * 1.5) + (2.5 * x) * (y * 2) + 3 * y * x
    out[3] = x / y + x / 1.5 + 2.5 / x + x / 2 + 3 / y
    out[4] = -x * +y + (x > 0.1) * y + x * True
    s = 0.0
    for k in range(4):
        s += y * x**k
    out[5] = s
    p = 1
    for _ in range(3):
        p *= x
    out[6] = p
    z = x
    z += y
    z -= 0.3
    z *= 2
    z /= x
    z **= 2
    z %= 10.0
    out[7] = z
    if x > y:
        w = 1.0
    elif x <= y and x < 5 and 0.0 < y and y >= x and x != y and not x == y:
        w = x * y
    else:
        w = 7.0
    out[8] = w
    out[9] = 3.5
    out[10] = 2
    out[11] = math.sin(x * y) ** 2 + math.cos(x * y) ** 2
    out[12] = math.exp(math.log(x)) - x + math.sqrt(x) ** 2 - x


@cache
def compile_for_jets_and_duals(function, n):
    """v, a, b, g0, g1 of the jets and v, g0, g1 of the duals for curves x(s), y(s) with given derivatives."""
    source = njit(**JIT_OPTIONS)(function)

    @njit(**JIT_OPTIONS)
    def run(x, y, jets, duals):
        out = stack_array("jet", 2, (n,))
        source(jet_signal(2, x[0], x[1], x[2], 0), jet_signal(2, y[0], y[1], y[2], 1), out)
        dual_out = as_dual(duals, 4)
        source(dual_seed(4, x[0], 0), dual_seed(4, y[0], 1), dual_out)
        for i in range(n):
            r = out[i]
            jets[i, 0], jets[i, 1], jets[i, 2], jets[i, 3], jets[i, 4] = (
                r.v,
                r.a,
                r.b,
                lane(r, 0),
                lane(r, 1),
            )

    return run


def differences(f):
    """First and second derivative of f at 0, eighth order."""
    h = 0.01
    f0 = f(0.0)
    pairs = [(f(k * h), f(-k * h)) for k in (1, 2, 3, 4)]
    first = sum(w * (p - m) for w, (p, m) in zip((4 / 5, -1 / 5, 4 / 105, -1 / 280), pairs)) / h
    second = sum(w * (p + m - 2 * f0) for w, (p, m) in zip((8 / 5, -1 / 5, 8 / 315, -1 / 560), pairs)) / h**2
    return f0, first, second


@pytest.mark.parametrize(("function", "n"), [(functions, 34), (operators, 13)])
def test_derivatives_match_differences_of_the_same_source_on_floats(function, n):
    x, y = np.array([0.6, 0.7, -1.2]), np.array([0.8, -0.4, 0.9])
    jets, duals = np.full((n, 5), np.nan), np.full((n, 5), np.nan)
    compile_for_jets_and_duals(function, n)(x, y, jets, duals)

    def on_floats(dx, dy):
        out = np.full(n, np.nan)
        function(x[0] + dx, y[0] + dy, out)
        return out

    def along(s):
        return on_floats(x[1] * s + x[2] * s * s / 2, y[1] * s + y[2] * s * s / 2)

    value, first, second = differences(along)
    by_x, by_y = differences(lambda s: on_floats(s, 0.0))[1], differences(lambda s: on_floats(0.0, s))[1]
    size = 1.0 + abs(value) + abs(first) + abs(second)

    def wrong(got, wanted, tolerance):
        """Numbers of the rows (functions) that fail."""
        return np.flatnonzero(~(abs(got - wanted) <= tolerance * size)).tolist()

    assert wrong(jets[:, 0], value, EXACT) == []
    assert wrong(jets[:, 1], first, FIRST) == []
    assert wrong(jets[:, 2], second, SECOND) == []
    assert wrong(jets[:, 3], x[1] * by_x, FIRST) == []
    assert wrong(jets[:, 4], y[1] * by_y, FIRST) == []
    assert wrong(duals[:, 0], value, EXACT) == []
    assert wrong(duals[:, 1] * x[1], jets[:, 3], EXACT) == []
    assert wrong(duals[:, 2] * y[1], jets[:, 4], EXACT) == []
    assert not duals[:, 3:].any()


def test_constants_have_no_derivatives_and_identities_keep_none():
    x = np.array([0.6, 0.7, -1.2])
    jets, duals = np.full((13, 5), np.nan), np.full((13, 5), np.nan)
    compile_for_jets_and_duals(operators, 13)(x, x[::-1].copy() + 2.0, jets, duals)
    assert jets[9].tolist() == [3.5, 0.0, 0.0, 0.0, 0.0]
    assert jets[10].tolist() == [2.0, 0.0, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(jets[11], [1, 0, 0, 0, 0], atol=EXACT)  # sin^2 + cos^2
    np.testing.assert_allclose(jets[12], 0, atol=EXACT)  # exp log x - x


@njit(**JIT_OPTIONS)
def special_points(zero, nan, jets, answers):
    x = jet_signal(2, zero, 3.0, 5.0, 0)
    out = stack_array("jet", 2, (8,))
    exponent = 2.0 + zero
    n = 2 + int(zero)
    out[0] = x**0 + x ** (n - 2)
    out[1] = x**1 + x ** (n - 1)
    out[2] = x**2 + x**n
    out[3] = x ** (exponent - 2.0)
    out[4] = x ** (exponent - 1.0)
    out[5] = x**exponent
    out[6] = x**3
    out[7] = x / 2.0
    for i in range(8):
        jets[i, 0], jets[i, 1], jets[i, 2], jets[i, 3] = out[i].v, out[i].a, out[i].b, lane(out[i], 0)
    y = jet_signal(2, nan, 1.0, 1.0, 0)
    answers[0] = y == y
    answers[1] = y != y
    answers[2] = y < 1.0
    answers[3] = 1 >= x and x <= 0 and 2.0 > x and not (x > 0 or x < 0)
    answers[4] = math.isnan(y) and math.isfinite(x)


def test_powers_at_zero_are_exact_and_nan_compares_as_a_float_does():
    jets, answers = np.full((8, 4), np.nan), np.zeros(5, np.bool_)
    special_points(0.0, np.nan, jets, answers)
    assert jets[0].tolist() == [2, 0, 0, 0]
    assert jets[1].tolist() == [0, 6, 10, 6]
    assert jets[2].tolist() == [0, 0, 36, 0]  # (x^2)'' = 2 x'^2 at x = 0
    assert jets[3].tolist() == [1, 0, 0, 0]
    assert jets[4].tolist() == [0, 3, 5, 3]
    assert jets[5].tolist() == [0, 0, 18, 0]
    assert jets[6].tolist() == [0, 0, 0, 0]
    assert jets[7].tolist() == [0, 1.5, 2.5, 1.5]
    assert answers.tolist() == [False, True, False, True, True]


# ------------------------------------------------------------------------------------------- pose-only hinges

Motion = namedtuple(
    "Motion",
    "offset rotation translation_partials rotation_partials "
    "translation_drift rotation_drift translation_bias rotation_bias",
)
Screw = namedtuple("Screw", "pitch")
Ball = namedtuple("Ball", "")
Cam = namedtuple("Cam", "radius lift width")
Arm = namedtuple("Arm", "reach angle")


def motion(n, fill=np.nan):
    shapes = (3,), (3, 3), (n, 3), (n, 3), (3,), (3,), (3,), (3,)
    return Motion(*(np.full(shape, fill) for shape in shapes))


def screw_pose(self, q, t, offset, rotation):
    s, c = math.sin(q[0]), math.cos(q[0])
    offset[2] = self.pitch * q[0]
    rotation[0, 0] = c
    rotation[0, 1] = -s
    rotation[1, 0] = s
    rotation[1, 1] = c


def screw_by_hand(self, q, u, t, m):
    s, c = math.sin(q[0]), math.cos(q[0])
    m.offset[2] = self.pitch * q[0]
    m.rotation[:] = [[c, -s, 0], [s, c, 0], [0, 0, 1]]
    m.translation_partials[0, 2] = self.pitch
    m.rotation_partials[0, 2] = 1.0


def ball_pose(self, q, t, offset, rotation):
    sa, ca, sb, cb = math.sin(q[0]), math.cos(q[0]), math.sin(q[1]), math.cos(q[1])
    sc, cc = math.sin(q[2]), math.cos(q[2])
    rotation[0, 0] = cb * cc
    rotation[0, 1] = -cb * sc
    rotation[0, 2] = sb
    rotation[1, 0] = ca * sc + sa * sb * cc
    rotation[1, 1] = ca * cc - sa * sb * sc
    rotation[1, 2] = -sa * cb
    rotation[2, 0] = sa * sc - ca * sb * cc
    rotation[2, 1] = sa * cc + ca * sb * sc
    rotation[2, 2] = ca * cb


def ball_by_hand(self, q, u, t, m):
    ball_pose(self, q, t, m.offset, m.rotation)
    (sa, sb, _), (ca, cb, _), (a, b, c) = np.sin(q), np.cos(q), u
    m.rotation_partials[:] = [[1, 0, 0], [0, ca, sa], [sb, -sa * cb, ca * cb]]
    m.rotation_bias[0] = cb * b * c
    m.rotation_bias[1] = -sa * a * b + (-ca * cb * a + sa * sb * b) * c
    m.rotation_bias[2] = ca * a * b + (-sa * cb * a - ca * sb * b) * c


def cam_pose(self, q, t, offset, rotation):
    r = (
        self.radius * (1.0 + self.lift * math.exp(-((q[0] / self.width) ** 2)))
        + 0.01 * math.sin(3.0 * t) * q[0]
    )
    offset[0] = r * math.cos(q[0])
    offset[1] = r * math.sin(q[0])
    if r < 0:
        offset[2] = 1.0


def cam_by_hand(self, q, u, t, m):
    x, d, k = q[0], u[0], 1.0 / self.width**2
    e = self.radius * self.lift * math.exp(-k * x * x)
    drive, drive_t, drive_tt = 0.01 * math.sin(3 * t), 0.03 * math.cos(3 * t), -0.09 * math.sin(3 * t)
    r, r_q, r_qq = self.radius + e + drive * x, drive - 2 * x * k * e, (4 * x * x * k * k - 2 * k) * e
    r_t, r_qt, r_tt = drive_t * x, drive_t, drive_tt * x
    rate, acceleration = r_q * d + r_t, r_qq * d * d + 2 * r_qt * d + r_tt
    radial, across = np.array([math.cos(x), math.sin(x), 0]), np.array([-math.sin(x), math.cos(x), 0])
    m.offset[:] = r * radial
    m.rotation[:] = np.eye(3)
    m.translation_partials[0] = r_q * radial + r * across
    m.translation_drift[:] = r_t * radial
    m.translation_bias[:] = (acceleration - r * d * d) * radial + 2 * rate * d * across


@pytest.mark.parametrize(
    ("pose", "by_hand", "self", "n"),
    [
        (screw_pose, screw_by_hand, Screw(0.3), 1),
        (ball_pose, ball_by_hand, Ball(), 3),
        (cam_pose, cam_by_hand, Cam(0.2, 0.4, 0.7), 1),
    ],
    ids=["screw", "ball", "cam"],
)
def test_pose_yields_the_records_written_by_hand(pose, by_hand, self, n):
    rng = np.random.default_rng(5)
    q, u, t = rng.uniform(-1, 1, n), rng.normal(size=n), 0.37
    jet, hand = motion(n), motion(n, fill=0.0)
    compile_pose(pose, n, JIT_OPTIONS)(self, q, u, t, jet)
    by_hand(self, q, u, t, hand)
    for name, got, wanted in zip(Motion._fields, jet, hand):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=EXACT, err_msg=name)


def turning_arm(self, q, t, offset, rotation):
    """Driven altogether: no coordinates. ``angle`` is a signal, a jet when it arrives here."""
    s, c = math.sin(self.angle), math.cos(self.angle)
    offset[0] = self.reach[0] * c - self.reach[1] * s
    offset[1] = self.reach[0] * s + self.reach[1] * c
    rotation[0, 0] = c
    rotation[0, 1] = -s
    rotation[1, 0] = s
    rotation[1, 1] = c


def test_signals_in_self_drive_a_pose_without_coordinates():
    pose = compile_pose(turning_arm, 0)

    @njit(**JIT_OPTIONS)
    def evaluate(reach, angle, rate, acceleration, q, t, m):
        pose(Arm(reach, jet_signal(2, angle, rate, acceleration, 0)), q, q, t, m)

    reach, m = np.array([0.5, 0.2]), motion(0)
    evaluate(reach, 0.4, 1.5, -0.7, np.zeros(0), 0.1, m)
    c, s = math.cos(0.4), math.sin(0.4)
    arm = np.array([c * reach[0] - s * reach[1], s * reach[0] + c * reach[1], 0])
    across = np.cross([0, 0, 1], arm)
    np.testing.assert_allclose(m.offset, arm, atol=EXACT)
    np.testing.assert_allclose(m.translation_drift, 1.5 * across, atol=EXACT)
    np.testing.assert_allclose(m.translation_bias, -0.7 * across - 1.5**2 * arm, atol=EXACT)
    np.testing.assert_allclose(m.rotation_drift, [0, 0, 1.5], atol=EXACT)
    np.testing.assert_allclose(m.rotation_bias, [0, 0, -0.7], atol=EXACT)


def test_width_leaves_a_lane_for_time():
    assert [jet_width(n) for n in (0, 1, 2, 3, 4, 7)] == [2, 2, 4, 4, 8, 8]
    with pytest.raises(ElementError, match="0 to 7 coordinates, got 8"):
        jet_width(8)


def test_signal_yields_value_rate_and_acceleration():
    def wave(self, t):
        return self.radius * math.sin(self.width * t) if t > 0 else 0.0

    def level(self, t):
        return 7

    self, out = Cam(0.2, 0.4, 3.0), np.full(3, np.nan)
    signal = compile_signal(wave)
    signal(self, 0.3, out)
    np.testing.assert_allclose(
        out, [0.2 * math.sin(0.9), 0.6 * math.cos(0.9), -1.8 * math.sin(0.9)], rtol=EXACT
    )
    signal(self, -0.3, out)
    assert out.tolist() == [0, 0, 0]
    compile_signal(level)(self, 0.3, out)
    assert out.tolist() == [7, 0, 0]


def test_function_without_derivative_is_refused_with_its_line():
    def pose(self, q, t, offset, rotation):
        offset[0] = q[0]
        offset[1] = math.gamma(q[0])

    line = pose.__code__.co_firstlineno + 2
    with pytest.raises(TypingError, match="gamma") as caught:
        compile_pose(pose, 1)(Ball(), np.ones(1), np.ones(1), 0.0, motion(1))
    assert f'test_numbers.py", line {line}' in str(caught.value)


# ------------------------------------------------------------------------------------------------- caching

CACHED = """
import math
from numba import carray, cfunc, njit, types
from treemech.elements.dual import functions as elementary
from treemech.elements.dual.numbers import dual_seed, jet_seed, lane

OPTIONS = dict(error_model="numpy", fastmath={"contract", "nsz"})

@cfunc(types.float64(types.float64), cache=True, **OPTIONS)
def second_derivative(x):
    y = jet_seed(2, x, 1.0, 0)
    return (y * math.sin(y)).b + lane(dual_seed(4, x, 3) ** 2, 3)

print(second_derivative.cache_hits, second_derivative.ctypes(0.5))
"""


def test_compiled_code_is_found_in_the_cache_by_the_next_process(tmp_path):
    script = tmp_path / "cached.py"
    script.write_text(CACHED)
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }

    def run():
        hits, value = subprocess.check_output([sys.executable, script], env=environment, text=True).split()
        return int(hits), float(value)

    wanted = 2 * math.cos(0.5) - 0.5 * math.sin(0.5) + 1.0
    assert run() == (0, pytest.approx(wanted, rel=EXACT))
    assert run() == (1, pytest.approx(wanted, rel=EXACT))
