"""Jets for elements that are given by their pose, deformation or residual alone, over floats and complex numbers.

The library differentiates such elements on numbers compiled for it (elements.dual); here is another form of the same
idea: a value, its first and second derivative along the motion, and its partials by number of the lane.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .number import NUMBERS, OF_COMPLEX, Number, _real, atan2, is_plain, value


class Jet:
    """Value v, derivatives a and b along the motion, partials g: a dict, as most are zero."""

    __slots__ = ("a", "b", "g", "v")
    __array_ufunc__ = None

    def __init__(self, v: Any, a: Any = 0.0, b: Any = 0.0, g: dict[int, Any] | None = None):
        self.v, self.a, self.b, self.g = v, a, b, g or {}

    def _combine(self, other: "Jet", p: Any, r: Any) -> dict[int, Any]:
        """Return the partials of p self + r other."""
        g = {k: p * x for k, x in self.g.items()}
        for k, x in other.g.items():
            g[k] = g[k] + r * x if k in g else r * x
        return g

    def __add__(self, other):
        y = as_jet(other)
        return Jet(self.v + y.v, self.a + y.a, self.b + y.b, self._combine(y, 1.0, 1.0))

    __radd__ = __add__

    def __neg__(self):
        return Jet(-self.v, -self.a, -self.b, {k: -x for k, x in self.g.items()})

    def __pos__(self):
        return self

    def __sub__(self, other):
        return self + -as_jet(other)

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, other):
        y = as_jet(other)
        b = self.b * y.v + 2.0 * self.a * y.a + self.v * y.b
        return Jet(self.v * y.v, self.a * y.v + self.v * y.a, b, self._combine(y, y.v, self.v))

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self * reciprocal(as_jet(other))

    def __rtruediv__(self, other):
        return reciprocal(self) * other

    def __pow__(self, p):
        if isinstance(p, Jet):
            return exp(log(self) * p)
        if is_plain(p) and p == int(p):
            p = int(p)
            if p == 0:
                return Jet(1.0)
            if p == 1:
                return self
            if p == 2:
                return self * self
        f1 = p * self.v ** (p - 1)
        return self.chain(self.v**p, f1, p * (p - 1) * self.v ** (p - 2))

    def __rpow__(self, base):
        return exp(self * math.log(base))

    def chain(self, f: Any, f1: Any, f2: Any) -> "Jet":
        """Return f(self), from f and its derivatives at the value."""
        b = f1 * self.b + f2 * self.a * self.a
        return Jet(f, f1 * self.a, b, {k: f1 * x for k, x in self.g.items()})

    def __abs__(self):
        return -self if self.v < 0.0 else self

    def __mod__(self, other):
        return self - math.floor(value(self.v) / value_of(other)) * other

    def __lt__(self, other):
        return self.v < plain(other)

    def __le__(self, other):
        return self.v <= plain(other)

    def __gt__(self, other):
        return self.v > plain(other)

    def __ge__(self, other):
        return self.v >= plain(other)

    def __eq__(self, other):
        return self.v == plain(other)

    def __ne__(self, other):
        return self.v != plain(other)

    __hash__ = None

    def __float__(self):
        return float(self.v)

    def __int__(self):
        return int(self.v)

    def __floor__(self):
        return math.floor(float(self.v))


def as_jet(x: Any) -> Jet:
    return x if type(x) is Jet else Jet(x)


def plain(x: Any) -> Any:
    return x.v if type(x) is Jet else x


def value_of(x: Any) -> float:
    return value(plain(x))


def reciprocal(y: Jet) -> Jet:
    r = 1.0 / y.v
    return y.chain(r, -r * r, 2.0 * r * r * r)


# ---------------------------------------------------------------- functions: f, f', f'' at a value, by functions that take complex numbers
def _root(x):
    s = math.sqrt(x)
    return s, 0.5 / s, -0.25 / (s * x)


def _arc(x):
    return 1.0 / math.sqrt(1.0 - x * x)


RULES: dict[str, Callable[[Any], tuple[Any, Any, Any]]] = {
    "sin": lambda x: (math.sin(x), math.cos(x), -math.sin(x)),
    "cos": lambda x: (math.cos(x), -math.sin(x), -math.cos(x)),
    "tan": lambda x: (t := math.tan(x), 1.0 + t * t, 2.0 * t * (1.0 + t * t)),
    "asin": lambda x: (math.asin(x), d := _arc(x), x * d * d * d),
    "acos": lambda x: (math.acos(x), -(d := _arc(x)), -x * d * d * d),
    "atan": lambda x: (math.atan(x), d := 1.0 / (1.0 + x * x), -2.0 * x * d * d),
    "sinh": lambda x: (math.sinh(x), math.cosh(x), math.sinh(x)),
    "cosh": lambda x: (math.cosh(x), math.sinh(x), math.cosh(x)),
    "tanh": lambda x: (t := math.tanh(x), 1.0 - t * t, -2.0 * t * (1.0 - t * t)),
    "asinh": lambda x: (math.asinh(x), d := 1.0 / math.sqrt(1.0 + x * x), -x * d * d * d),
    "acosh": lambda x: (math.acosh(x), d := 1.0 / math.sqrt(x * x - 1.0), -x * d * d * d),
    "atanh": lambda x: (math.atanh(x), d := 1.0 / (1.0 - x * x), 2.0 * x * d * d),
    "exp": lambda x: (math.exp(x),) * 3,
    "expm1": lambda x: (math.expm1(x), math.exp(x), math.exp(x)),
    "log": lambda x: (math.log(x), 1.0 / x, -1.0 / (x * x)),
    "log1p": lambda x: (math.log1p(x), 1.0 / (1.0 + x), -1.0 / ((1.0 + x) * (1.0 + x))),
    "sqrt": _root,
}


def exp(x: Jet) -> Jet:
    return x.chain(*RULES["exp"](x.v))


def log(x: Jet) -> Jet:
    return x.chain(*RULES["log"](x.v))


def teach() -> None:
    """Let the functions of `math` take jets and complex numbers. Do it before anything imports them by name."""
    taught: dict[str, Callable] = {name: _of_one(name, _real[name]) for name in {*OF_COMPLEX, *RULES}}
    for name in ("floor", "ceil", "trunc", "isnan", "isinf", "isfinite"):
        taught[name] = lambda x, of=_real[name]: of(value_of(x))
    taught |= {
        "fabs": lambda x: abs(x),
        "atan2": _atan2,
        "hypot": lambda *x: math.sqrt(sum(y * y for y in x)),
        "pow": lambda x, p: x**p,
        "copysign": lambda x, y: abs(x) if _real["copysign"](1.0, value_of(y)) > 0.0 else -abs(x),
        "fmod": lambda x, y: x - math.trunc(value_of(x) / value_of(y)) * y,
    }
    for name, function in taught.items():
        function.__module__, function.__name__ = "math", name  # numba looks functions up by their names
        setattr(math, name, function)


def _of_one(name: str, real: Callable) -> Callable:
    def function(x, *base):
        if type(x) is Jet:
            return x.chain(*RULES[name](x.v))
        if type(x) in NUMBERS:
            return Number(OF_COMPLEX[name](x.z))
        return real(x, *base)

    return function


def _atan2(y: Any, x: Any) -> Any:
    if type(x) is Jet or type(y) is Jet:
        y, x = as_jet(y), as_jet(x)
        angle = math.atan2(y.v, x.v)
        c, s = _real["cos"](float(angle)), _real["sin"](float(angle))
        small = (y * c - x * s) / (x * c + y * s)
        return Jet(angle) + small.chain(0.0, 1.0 / (1.0 + small.v * small.v), -2.0 * small.v)
    if type(x) in NUMBERS or type(y) in NUMBERS:
        return atan2(y, x)
    return _real["atan2"](y, x)


# ---------------------------------------------------------------- in place of the functions of elements.dual.numbers
def jet_seed(K: int, v: Any, rate: Any, lane: int) -> Jet:
    return Jet(v, rate, 0.0, {lane: 1.0})


def jet_number(K: int, v: Any, rate: Any, second: Any) -> Jet:
    return Jet(v, rate, second)


def jet_signal(K: int, v: Any, rate: Any, second: Any, lane: int) -> Jet:
    return Jet(v, rate, second, {lane: rate})


def dual_seed(K: int, v: Any, lane: int) -> Jet:
    return Jet(v, 0.0, 0.0, {lane: 1.0})


def lane(x: Any, k: int) -> Any:
    return x.g.get(k, 0.0) if type(x) is Jet else 0.0


def rate(x: Any) -> Any:
    return as_jet(x).a


def second(x: Any) -> Any:
    return as_jet(x).b


def with_partial(x: Any, k: int, partial: Any) -> Jet:
    y = as_jet(x)
    return Jet(y.v, y.a, y.b, {**y.g, k: partial})


class JetArray(np.ndarray):
    """An array whose numbers are all jets."""

    def __setitem__(self, at, x):
        super().__setitem__(at, x if isinstance(x, np.ndarray) else as_jet(x))


def stack_array(kind: str, K: int, shape: tuple[int, ...]) -> Any:
    """Return an array of zeros of a kind."""
    if kind in ("jet", "dual"):
        zeros = np.empty(shape, dtype=object).view(JetArray)
        zeros.fill(Jet(0.0))
        return zeros
    return np.full(shape, 0.0, dtype=object)
