# mypy: ignore-errors
"""Elementary functions of dual numbers: those that ``math`` and ``numpy`` offer for floats.

Importing this module teaches numba ``math.sin(x)``, ``np.exp(x)``, ``x**p``, ``max(x, 0.0)``, ... for
``Dual``, ``Jet`` and ``Tangent`` arguments; floats keep numba's own functions. A function of one variable is
written as f and its first three derivatives at the value of x; the chain rule does the rest (``chain`` in
``numbers.py``).

At a kink (``abs``, ``min``, ``max``, ``fmod``) the derivative is that of the branch on which the value lies.
Where no finite derivative exists (``sqrt`` at 0, ``atan2`` at the origin) it is inf or nan; the value is
correct.
"""

import math
import operator
from collections.abc import Callable

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from .numbers import PLAIN, DualNumber, chain, one_kind, value_of

# Division by zero gives inf or nan, as in C: no Python exception may be left in compiled code.
OPTIONS = {"error_model": "numpy"}

LOG10_E = math.log10(math.e)
LOG2_E = math.log2(math.e)
TWO_BY_ROOT_PI = 2.0 / math.sqrt(math.pi)
DEGREES = 180.0 / math.pi
RADIANS = math.pi / 180.0


# --------------------------------------------------------------------------- functions of one variable


def elementary(*functions: Callable):
    """Register ``derivatives(x) -> f, f', f'', f'''`` (on floats) as the rule for these functions."""

    def register(derivatives):
        rule = register_jitable(derivatives)

        def apply(x):
            f, f1, f2, f3 = rule(x.v)
            return chain(x, f, f1, f2, f3)

        for function in functions:

            @overload(function, jit_options=OPTIONS)
            def of_dual(x):
                return apply if isinstance(x, DualNumber) else None

        return derivatives

    return register


@elementary(math.sin, np.sin)
def sin(x):
    s, c = math.sin(x), math.cos(x)
    return s, c, -s, -c


@elementary(math.cos, np.cos)
def cos(x):
    s, c = math.sin(x), math.cos(x)
    return c, -s, -c, s


@elementary(math.tan, np.tan)
def tan(x):
    t = math.tan(x)
    d = 1.0 + t * t
    return t, d, 2.0 * t * d, 2.0 * d * (d + 2.0 * t * t)


@elementary(math.asin, np.arcsin)
def asin(x):
    k = 1.0 / ((1.0 - x) * (1.0 + x))
    d = math.sqrt(k)
    return math.asin(x), d, x * d * k, d * k * (1.0 + 3.0 * x * x * k)


@elementary(math.acos, np.arccos)
def acos(x):
    k = 1.0 / ((1.0 - x) * (1.0 + x))
    d = math.sqrt(k)
    return math.acos(x), -d, -x * d * k, -d * k * (1.0 + 3.0 * x * x * k)


@elementary(math.atan, np.arctan)
def atan(x):
    d = 1.0 / (1.0 + x * x)
    return math.atan(x), d, -2.0 * x * d * d, d * d * (8.0 * x * x * d - 2.0)


@elementary(math.sinh, np.sinh)
def sinh(x):
    s, c = math.sinh(x), math.cosh(x)
    return s, c, s, c


@elementary(math.cosh, np.cosh)
def cosh(x):
    s, c = math.sinh(x), math.cosh(x)
    return c, s, c, s


@elementary(math.tanh, np.tanh)
def tanh(x):
    t = math.tanh(x)
    d = 1.0 - t * t
    return t, d, -2.0 * t * d, d * (4.0 * t * t - 2.0 * d)


@elementary(math.asinh, np.arcsinh)
def asinh(x):
    k = 1.0 / (1.0 + x * x)
    d = math.sqrt(k)
    return math.asinh(x), d, -x * d * k, d * k * (3.0 * x * x * k - 1.0)


@elementary(math.acosh, np.arccosh)
def acosh(x):
    k = 1.0 / ((x - 1.0) * (x + 1.0))
    d = math.sqrt(k)
    return math.acosh(x), d, -x * d * k, d * k * (3.0 * x * x * k - 1.0)


@elementary(math.atanh, np.arctanh)
def atanh(x):
    d = 1.0 / ((1.0 - x) * (1.0 + x))
    return math.atanh(x), d, 2.0 * x * d * d, d * d * (2.0 + 8.0 * x * x * d)


@elementary(math.exp, np.exp)
def exp(x):
    e = math.exp(x)
    return e, e, e, e


@elementary(math.expm1, np.expm1)
def expm1(x):
    e = math.exp(x)
    return math.expm1(x), e, e, e


@elementary(math.log, np.log)
def log(x):
    d = 1.0 / x
    return math.log(x), d, -d * d, 2.0 * d * d * d


@elementary(math.log1p, np.log1p)
def log1p(x):
    d = 1.0 / (1.0 + x)
    return math.log1p(x), d, -d * d, 2.0 * d * d * d


@elementary(math.log10, np.log10)
def log10(x):
    d = 1.0 / x
    return math.log10(x), d * LOG10_E, -d * d * LOG10_E, 2.0 * d * d * d * LOG10_E


@elementary(math.log2, np.log2)
def log2(x):
    d = 1.0 / x
    return math.log2(x), d * LOG2_E, -d * d * LOG2_E, 2.0 * d * d * d * LOG2_E


@elementary(math.sqrt, np.sqrt)
def sqrt(x):
    s = math.sqrt(x)
    d = 0.5 / s
    return s, d, -0.5 * d / x, 0.75 * d / (x * x)


@elementary(abs, math.fabs, np.abs, np.fabs)
def absolute(x):
    return math.fabs(x), math.copysign(1.0, x), 0.0, 0.0


@elementary(math.erf)
def erf(x):
    d = TWO_BY_ROOT_PI * math.exp(-x * x)
    return math.erf(x), d, -2.0 * x * d, (4.0 * x * x - 2.0) * d


@elementary(math.erfc)
def erfc(x):
    d = -TWO_BY_ROOT_PI * math.exp(-x * x)
    return math.erfc(x), d, -2.0 * x * d, (4.0 * x * x - 2.0) * d


@elementary(math.degrees, np.degrees, np.rad2deg)
def degrees(x):
    return math.degrees(x), DEGREES, 0.0, 0.0


@elementary(math.radians, np.radians, np.deg2rad)
def radians(x):
    return math.radians(x), RADIANS, 0.0, 0.0


@elementary(np.square)
def square(x):
    return x * x, 2.0 * x, 2.0, 0.0


def piecewise_constant(function):
    """Register a function whose derivatives are zero: it returns the plain number for the value of x."""

    @overload(function, jit_options=OPTIONS)
    def of_dual(x):
        if isinstance(x, DualNumber):
            return lambda x: function(x.v)


for _function in (math.floor, math.ceil, math.trunc, np.floor, np.ceil, np.trunc, np.rint, np.sign):
    piecewise_constant(_function)
for _function in (math.isnan, math.isinf, math.isfinite, np.isnan, np.isinf, np.isfinite):
    piecewise_constant(_function)


# -------------------------------------------------------------------------- functions of two variables


def binary(*functions):
    """Register ``rule(x, y)``, written in dual arithmetic; x or y may be a plain number."""

    def register(rule):
        for function in functions:

            @overload(function, jit_options=OPTIONS)
            def of_dual(x, y):
                return rule if one_kind((x, y)) else None

        return rule

    return register


@binary(math.atan2, np.arctan2)
def atan2(x, y):
    # The angle with sine x / r, cosine y / r. Turn the axes until it is zero: then it is atan(z) with z = 0,
    # atan' = 1, atan'' = 0, atan''' = -2.
    r = math.hypot(value_of(x), value_of(y))
    s, c = value_of(x) / r, value_of(y) / r
    return chain((x * c - y * s) / (y * c + x * s), math.atan2(value_of(x), value_of(y)), 1.0, 0.0, -2.0)


@binary(math.hypot, np.hypot)
def hypot(x, y):
    return math.sqrt(x * x + y * y)


@binary(math.fmod, np.fmod)
def fmod(x, y):
    remainder = np.fmod(value_of(x), value_of(y))
    turns = np.rint((value_of(x) - remainder) / value_of(y))
    return chain(x - turns * y, remainder, 1.0, 0.0, 0.0)


@overload(math.fmod, jit_options=OPTIONS)
def fmod_of_floats(x, y):
    """Teach numba ``math.fmod`` of floats; it knows ``np.fmod`` only."""
    if isinstance(x, PLAIN) and isinstance(y, PLAIN):
        return lambda x, y: np.fmod(1.0 * x, 1.0 * y)


@binary(operator.mod, operator.imod, np.mod)
def modulo(x, y):
    remainder = value_of(x) % value_of(y)
    turns = np.rint((value_of(x) - remainder) / value_of(y))
    return chain(x - turns * y, remainder, 1.0, 0.0, 0.0)


@binary(operator.floordiv, operator.ifloordiv)
def floor_divide(x, y):
    return value_of(x) // value_of(y)


def copysign(x, y):
    """Return |x| with the sign of y; the derivatives of y have no influence."""
    if not one_kind((x, y)):
        return None
    if not isinstance(x, DualNumber):
        return lambda x, y: math.copysign(x, y.v)

    def signed(x, y):
        result = math.copysign(x.v, value_of(y))
        return chain(x, result, math.copysign(1.0, x.v) * math.copysign(1.0, result), 0.0, 0.0)

    return signed


for _function in (math.copysign, np.copysign):
    overload(_function, jit_options=OPTIONS)(copysign)


def power(x, p):
    """Return the rule for x**p. The powers 0, 1, 2 are exact at x = 0 too, for integer and float exponents."""
    if not one_kind((x, p)):
        return None
    if isinstance(p, DualNumber):
        return power_of_dual
    return power_of_integer if isinstance(p, (types.Integer, types.Boolean)) else power_of_float


def power_of_integer(x, p):
    if p == 0:
        return chain(x, 1.0, 0.0, 0.0, 0.0)
    if p == 1:
        return x
    if p == 2:
        return x * x
    f1, f2 = p * x.v ** (p - 1), p * (p - 1) * x.v ** (p - 2)
    return chain(x, x.v**p, f1, f2, p * (p - 1) * (p - 2) * x.v ** (p - 3))


def power_of_float(x, p):
    f = x.v**p
    if x.v != 0.0:
        f1 = p * f / x.v
        f2 = (p - 1.0) * f1 / x.v
        return chain(x, f, f1, f2, (p - 2.0) * f2 / x.v)
    f1 = 0.0 if p == 0.0 else p * x.v ** (p - 1.0)
    f2 = 0.0 if p == 0.0 or p == 1.0 else p * (p - 1.0) * x.v ** (p - 2.0)
    f3 = 0.0 if p == 0.0 or p == 1.0 or p == 2.0 else p * (p - 1.0) * (p - 2.0) * x.v ** (p - 3.0)
    return chain(x, f, f1, f2, f3)


def power_of_dual(x, p):
    # exp(p log x), so the base must be positive; the value itself is computed directly.
    f = value_of(x) ** p.v
    return chain(p * math.log(x), f, f, f, f)


for _function in (operator.pow, operator.ipow, pow, math.pow, np.power):
    overload(_function, jit_options=OPTIONS)(power)


# ------------------------------------------------------------------------------------ the smaller, the larger


@register_jitable
def smaller(x, y):
    return y if y < x else x


@register_jitable
def larger(x, y):
    return y if y > x else x


binary(np.minimum)(smaller)
binary(np.maximum)(larger)


def fold(function, of_two):
    """Register min or max of two or more arguments from that of two."""

    def two(*x):
        return of_two(x[0], x[1])

    def more(*x):
        return of_two(x[0], function(*x[1:]))

    @overload(function, jit_options=OPTIONS)
    def of_dual(*x):
        if len(x) < 2 or not one_kind(x):
            return None
        return two if len(x) == 2 else more


fold(min, smaller)
fold(max, larger)
