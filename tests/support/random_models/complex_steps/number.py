"""Complex numbers that plain Python kernels take for floats: f(x + i h e) has the derivative of f along e as its imaginary part.

With h = 1e-30 nothing is lost: the squares of imaginary parts are far below rounding (Squire and Trapp, 1998). They are
compared by their real parts, so that a kernel takes the branch that it takes on floats, but for two comparisons by
which iterations end: see `Number.__lt__` and `Magnitude`.
"""

import cmath
import math
from collections.abc import Callable
from typing import Any

STEP = 1e-30
ROUNDING = 1e-8  # what is asked to be smaller than this, or is this small, belongs to an iteration


def step(derivative: float) -> complex:
    return complex(0.0, STEP * derivative)


class Number:
    """A complex number in the place of a float."""

    __slots__ = ("z",)

    def __init__(self, z: complex):
        self.z = z

    @property
    def value(self) -> float:
        return self.z.real

    @property
    def derivative(self) -> float:
        return self.z.imag / STEP

    @property
    def size(self) -> float:
        return max(abs(self.z.real), abs(self.z.imag) / STEP)

    def __repr__(self) -> str:
        return f"Number({self.value!r}, {self.derivative!r})"

    # ------------------------------------------------------------ arithmetic
    def _other(self, other: Any) -> Any:
        if type(other) in NUMBERS:
            return other.z
        return float(other) if is_plain(other) else None

    def __add__(self, other):
        w = self._other(other)
        return NotImplemented if w is None else Number(self.z + w)

    __radd__ = __add__

    def __sub__(self, other):
        w = self._other(other)
        return NotImplemented if w is None else Number(self.z - w)

    def __rsub__(self, other):
        w = self._other(other)
        return NotImplemented if w is None else Number(w - self.z)

    def __mul__(self, other):
        w = self._other(other)
        return NotImplemented if w is None else Number(self.z * w)

    __rmul__ = __mul__

    def __truediv__(self, other):
        w = self._other(other)
        return NotImplemented if w is None else Number(self.z / w)

    def __rtruediv__(self, other):
        w = self._other(other)
        return NotImplemented if w is None else Number(w / self.z)

    def __pow__(self, p):
        if type(p) in NUMBERS:
            return Number(cmath.exp(cmath.log(self.z) * p.z))
        if not is_plain(p):
            return NotImplemented
        return Number(self.z ** (int(p) if p == int(p) else float(p)))

    def __rpow__(self, base):
        return Number(cmath.exp(cmath.log(base) * self.z)) if is_plain(base) else NotImplemented

    def __neg__(self):
        return Number(-self.z)

    def __pos__(self):
        return self

    def __abs__(self):
        return Magnitude(-self.z if self.z.real < 0.0 else self.z)

    def __mod__(self, other):
        return self - math.floor(self.z.real / value(other)) * other

    def __floordiv__(self, other):
        return float(math.floor(self.z.real / value(other)))

    # ------------------------------------------------------------ comparisons
    def _less(self, other: Any, bound: float) -> bool:
        """Tell whether this is less than a bound. One that is as small as rounding ends an iteration: then the derivative has to be as small."""
        if not 0.0 < bound <= ROUNDING or not self.z.real < bound or self.z.real < -bound:
            return self.z.real < bound
        return abs(self.z.imag) / STEP < bound

    def __lt__(self, other):
        return self._less(other, value(other))

    def __le__(self, other):
        bound = value(other)
        return self.z.real == bound == 0.0 or self._less(other, bound) or self.z.real == bound

    def __gt__(self, other):
        """Compare the real parts. Sums of squares that are both rounding do not grow: no step of an iteration is taken back for that."""
        bound = value(other)
        noise = type(other) in NUMBERS and max(abs(self.z.real), abs(bound)) < ROUNDING**2
        return not noise and self.z.real > bound

    def __ge__(self, other):
        return self.z.real >= value(other)

    def __eq__(self, other):
        return self.z.real == value(other)

    def __ne__(self, other):
        return self.z.real != value(other)

    __hash__ = None

    def __bool__(self):
        return self.z.real != 0.0

    def __float__(self):
        return self.z.real

    def __int__(self):
        return int(self.z.real)

    def __floor__(self):
        return math.floor(self.z.real)


class Magnitude(Number):
    """An absolute value. Among values as small as rounding the largest is that with the largest derivative, else an iteration would not see it."""

    __slots__ = ()

    def __gt__(self, other):
        bound = value(other)
        if max(self.z.real, bound) > ROUNDING or not (type(other) in NUMBERS or bound == 0.0):
            return self.z.real > bound
        return self.size > (other.size if type(other) in NUMBERS else bound)


NUMBERS = (Number, Magnitude)


def is_plain(x: Any) -> bool:
    """Tell whether x is a number of Python or numpy."""
    return isinstance(x, (float, int)) or (hasattr(x, "dtype") and x.ndim == 0 and x.dtype.kind in "fiub")


def value(x: Any) -> float:
    """Return the real part, which decides comparisons."""
    return x.z.real if type(x) in NUMBERS else x if type(x) is float else float(x)


# ---------------------------------------------------------------- functions
def _by_slope(f: Callable, slope: Callable) -> Callable:
    """Return a function that `cmath` does not have, on complex numbers with a tiny imaginary part."""
    return lambda z: complex(f(z.real), z.imag * slope(z.real))


_real = {name: getattr(math, name) for name in dir(math)}
OF_COMPLEX: dict[str, Callable] = {
    name: getattr(cmath, name)
    for name in "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp sqrt log log10".split()
} | {
    "expm1": _by_slope(_real["expm1"], _real["exp"]),
    "log1p": _by_slope(_real["log1p"], lambda x: 1.0 / (1.0 + x)),
    "log2": _by_slope(_real["log2"], lambda x: 1.0 / (x * _real["log"](2.0))),
    "erf": _by_slope(_real["erf"], lambda x: 2.0 / _real["sqrt"](_real["pi"]) * _real["exp"](-x * x)),
    "erfc": _by_slope(_real["erfc"], lambda x: -2.0 / _real["sqrt"](_real["pi"]) * _real["exp"](-x * x)),
}


def atan2(y: Any, x: Any) -> Number:
    """Return the angle of (x, y): turned by its real part, what is left is the tangent of a tiny angle."""
    angle = _real["atan2"](value(y), value(x))
    c, s = _real["cos"](angle), _real["sin"](angle)
    small = (y * c - x * s) / (x * c + y * s)
    return Number(complex(angle, small.z.imag))
