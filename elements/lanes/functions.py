# mypy: ignore-errors
"""Elementary functions of lanes: one lane after the other, by what numba makes of them for doubles.

So their values are those of a single state to the bit. Sines of the kernels (kinematics.kernel.vector) are evaluated
in all lanes at once.
"""

import math
import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing import signature as typed
from numba.extending import lower_builtin

from .numbers import DOUBLE, INT, Lanes, alike, declare


def by_lane(function):
    """Return what generates a function of numbers, lane by lane; plain arguments keep their types."""

    def lower(context, builder, sig, args):
        kind = sig.return_type
        plain = [types.float64 if isinstance(a, Lanes) else a for a in sig.args]
        scalar = context.get_function(function, typed(types.float64, *plain))
        out = ir.VectorType(DOUBLE, kind.L)(ir.Undefined)
        for k in range(kind.L):
            own = [
                builder.extract_element(v, INT(k)) if isinstance(a, Lanes) else v
                for a, v in zip(sig.args, args)
            ]
            out = builder.insert_element(out, scalar(builder, own), INT(k))
        return out

    return lower


for _name in (
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "exp",
    "expm1",
    "log",
    "log1p",
):
    declare(getattr(math, _name), by_lane(getattr(math, _name)), 1)
for _function in (math.atan2, math.hypot, math.copysign, math.pow, operator.pow, operator.ipow, operator.mod):
    declare(_function, by_lane(_function), 2)


def _floor(context, builder, sig, args):
    kind = args[0].type
    name = f"llvm.floor.v{kind.count}f64"
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind]), name)
    return builder.call(function, args)


declare(math.floor, _floor, 1)


def _int_power(a, b):
    """Multiply as numba does for a whole exponent of a double."""
    r = alike(1.0, a)
    if b < 0:
        invert, exponent = True, -b
    else:
        invert, exponent = False, b
    if exponent > 0x10000:
        return math.pow(a, float(b))
    while exponent != 0:
        if exponent & 1:
            r *= a
        exponent >>= 1
        a *= a
    return 1.0 / r if invert else r


@lower_builtin(operator.pow, Lanes, types.Integer)
@lower_builtin(operator.ipow, Lanes, types.Integer)
def _whole_power(context, builder, sig, args):
    return context.compile_internal(builder, _int_power, sig, args)
