# mypy: ignore-errors
"""Numbers of several states at once: ``Lanes(L)``, a double of each of L states in one SIMD vector.

Arithmetic on lanes is that of doubles, lane by lane and to the bit. In memory a number is a row of L doubles, so an
array of lanes is a float64 array with one more index. Plain numbers mix with lanes: all states have them in common.

A comparison gives a ``Mask``. A mask has no truth value: ``if x > 0.0`` does not compile. Kernels choose with
``select(mask, a, b)`` and ask ``some(mask)``, ``every(mask)``, which on plain numbers are what they say.
"""

import math
import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, lower_cast, models, overload, register_model

LANES = 4  # states in a vector: four doubles fill a register of x86-64-v3
DOUBLE, LONG, BIT, INT = ir.DoubleType(), ir.IntType(64), ir.IntType(1), ir.IntType(32)
PLAIN = (types.Float, types.Integer, types.Boolean)  # numbers that may be mixed with lanes


# ------------------------------------------------------------------------------------------------ types
class Lanes(types.Type):
    """L doubles, one of each state; in the method of an author its masks may stand in conditions."""

    def __init__(self, L: int, authors: bool = False):
        self.L, self.authors = L, authors
        super().__init__(name=f"Lanes({L}, {authors})")

    def can_convert_from(self, typingctx, other):
        return Conversion.safe if isinstance(other, PLAIN) else None

    def unify(self, typingctx, other):
        return self if isinstance(other, PLAIN) else None


class Mask(types.Type):
    """L truth values."""

    def __init__(self, of: Lanes):
        self.of, self.L, self.authors = of, of.L, of.authors
        super().__init__(name=f"Mask({of.L}, {of.authors})")


@register_model(Mask)
class MaskModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.VectorType(BIT, fe_type.L))


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """A vector in registers; L doubles with the alignment of a double in memory."""

    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.VectorType(DOUBLE, fe_type.L))

    def get_data_type(self):
        return ir.LiteralStructType([self.get_value_type()], packed=True)

    def as_data(self, builder, value):
        return builder.insert_value(self.get_data_type()(ir.Undefined), value, 0)

    def from_data(self, builder, value):
        return builder.extract_value(value, 0)

    def load_from_data_pointer(self, builder, ptr, align=None):
        return builder.load(cgutils.gep_inbounds(builder, ptr, 0, 0), align=align or 8)


def broadcast(builder, x, L):
    """Return a vector with the double x in every lane."""
    vector = ir.VectorType(DOUBLE, L)
    first = builder.insert_element(vector(ir.Undefined), x, INT(0))
    return builder.shuffle_vector(first, vector(ir.Undefined), ir.VectorType(INT, L)([0] * L))


def as_lanes(context, builder, kind, value, L):
    """Return lanes or a plain number as a vector."""
    if isinstance(kind, Lanes):
        return value
    return broadcast(builder, context.cast(builder, value, kind, types.float64), L)


def lanes_among(args):
    """Return the type of lanes among the arguments, or None if there is none, or what does not mix with it."""
    found = {a for a in args if isinstance(a, Lanes)}
    mixable = all(isinstance(a, (Lanes, *PLAIN)) for a in args)
    return found.pop() if len(found) == 1 and mixable else None


# ------------------------------------------------------------------------------------------- arithmetic
def declare(function, lower, n_arguments, mask=False):
    """Teach numba a function of lanes and plain numbers; ``lower`` generates its code."""

    @infer_global(function)
    class Template(AbstractTemplate):
        def generic(self, args, kws):
            kind = lanes_among(args)
            if kind is not None and len(args) == n_arguments:
                return signature(Mask(kind) if mask else kind, *args)

    if n_arguments == 1:
        lower_builtin(function, Lanes)(lower)
        return
    lower_builtin(function, Lanes, Lanes)(lower)
    for plain in PLAIN:
        lower_builtin(function, Lanes, plain)(lower)
        lower_builtin(function, plain, Lanes)(lower)


def _vectors(context, builder, sig, args):
    L = sig.return_type.L
    return [as_lanes(context, builder, k, v, L) for k, v in zip(sig.args, args)]


def _declare_arithmetic(instruction, *functions):
    def lower(context, builder, sig, args):
        return getattr(builder, instruction)(*_vectors(context, builder, sig, args))

    for function in functions:
        declare(function, lower, 2)


def _declare_comparison(function, symbol):
    def lower(context, builder, sig, args):
        compare = builder.fcmp_unordered if symbol == "!=" else builder.fcmp_ordered
        return compare(symbol, *_vectors(context, builder, sig, args))

    declare(function, lower, 2, mask=True)


def _declare_choice(function, symbol):
    """Teach numba min or max of two; like that of floats it keeps the first where neither is smaller."""

    def lower(context, builder, sig, args):
        x, y = _vectors(context, builder, sig, args)
        return builder.select(builder.fcmp_ordered(symbol, y, x), y, x)

    declare(function, lower, 2)


_declare_arithmetic("fadd", operator.add, operator.iadd)
_declare_arithmetic("fsub", operator.sub, operator.isub)
_declare_arithmetic("fmul", operator.mul, operator.imul)
_declare_arithmetic("fdiv", operator.truediv, operator.itruediv)
declare(operator.neg, lambda context, builder, sig, args: builder.fneg(args[0]), 1)
declare(operator.pos, lambda context, builder, sig, args: args[0], 1)
for _function, _symbol in (
    (operator.lt, "<"), (operator.le, "<="), (operator.gt, ">"), (operator.ge, ">="), (operator.eq, "=="), (operator.ne, "!="),
):  # fmt: skip
    _declare_comparison(_function, _symbol)
_declare_choice(min, "<")
_declare_choice(max, ">")


def _instruction(name):
    """Return what generates an instruction of LLVM on one vector."""

    def lower(context, builder, sig, args):
        kind = args[0].type
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind]), f"llvm.{name}.v{kind.count}f64"
        )
        return builder.call(function, args)

    return lower


declare(math.sqrt, _instruction("sqrt"), 1)
declare(abs, _instruction("fabs"), 1)
declare(math.fabs, _instruction("fabs"), 1)


@lower_cast(types.Float, Lanes)
@lower_cast(types.Integer, Lanes)
@lower_cast(types.Boolean, Lanes)
def _constant(context, builder, fromty, toty, value):
    return as_lanes(context, builder, fromty, value, toty.L)


# ------------------------------------------------------------------------------------------------ masks
def select(mask, a, b):
    """Return a where the mask holds, b elsewhere. Both are evaluated."""
    return a if mask else b


def some(mask):
    """Return whether the mask holds in one state at least."""
    return mask


def every(mask):
    """Return whether the mask holds in all states."""
    return mask


def both(a, b):
    """Return the mask that holds where both do."""
    return a and b


def alike(value, x):
    """Return a plain number in the type of x."""
    return value


@intrinsic
def _select(typingctx, mask, a, b):
    def generate(context, builder, sig, args):
        a, b = (as_lanes(context, builder, k, v, mask.L) for k, v in zip(sig.args[1:], args[1:]))
        return builder.select(args[0], a, b)

    return mask.of(mask, a, b), generate


def _bits(builder, mask):
    return builder.bitcast(mask, ir.IntType(mask.type.count))


@intrinsic
def _some(typingctx, mask):
    def generate(context, builder, sig, args):
        bits = _bits(builder, args[0])
        return builder.icmp_unsigned("!=", bits, bits.type(0))

    return types.boolean(mask), generate


@intrinsic
def _every(typingctx, mask):
    def generate(context, builder, sig, args):
        bits = _bits(builder, args[0])
        return builder.icmp_unsigned("==", bits, bits.type(2**mask.L - 1))

    return types.boolean(mask), generate


@intrinsic
def _and(typingctx, a, b):
    return a(a, b), lambda context, builder, sig, args: builder.and_(args[0], args[1])


@intrinsic
def _alike(typingctx, value, x):
    return x(types.float64, x), lambda context, builder, sig, args: broadcast(builder, args[0], x.L)


@overload(select)
def _select_overload(mask, a, b):
    if isinstance(mask, Mask):
        return lambda mask, a, b: _select(mask, a, b)
    return lambda mask, a, b: a if mask else b


@overload(some)
def _some_overload(mask):
    return (lambda mask: _some(mask)) if isinstance(mask, Mask) else (lambda mask: mask)


@overload(every)
def _every_overload(mask):
    return (lambda mask: _every(mask)) if isinstance(mask, Mask) else (lambda mask: mask)


@overload(both)
def _both_overload(a, b):
    return (lambda a, b: _and(a, b)) if isinstance(a, Mask) else (lambda a, b: a and b)


@overload(alike)
def _alike_overload(value, x):
    return (lambda value, x: _alike(value, x)) if isinstance(x, Lanes) else (lambda value, x: value)


@intrinsic
def quadrant(typingctx, shifted, s, c):
    """Turn sine and cosine of a remainder to the quadrant that stands in the last bits of a shifted number."""

    def generate(context, builder, sig, args):
        vector, whole = args[1].type, ir.VectorType(LONG, args[1].type.count)

        def n(value):
            return whole([value] * whole.count)

        bits = builder.bitcast(args[0], whole)
        odd = builder.icmp_unsigned("!=", builder.and_(bits, n(1)), n(0))

        def signed(value, turns):
            sign = builder.shl(builder.and_(turns, n(2)), n(62))
            return builder.bitcast(builder.xor(builder.bitcast(value, whole), sign), vector)

        sine, cosine = builder.select(odd, args[2], args[1]), builder.select(odd, args[1], args[2])
        pair = [signed(sine, bits), signed(cosine, builder.add(bits, n(1)))]
        return context.make_tuple(builder, sig.return_type, pair)

    return types.UniTuple(s, 2)(shifted, s, c), generate


# ------------------------------------------------------------------------------------ single lanes, rows
@intrinsic
def lane_of(typingctx, x, k):
    """Return the number of state k."""
    return types.float64(x, types.intp), lambda context, builder, sig, args: builder.extract_element(*args)


def _row(builder, k, last):
    return builder.select(builder.icmp_signed("<", LONG(k), last), LONG(k), last)


@intrinsic
def from_rows(typingctx, address, stride, last):
    """Return the number at an address, of one state in each lane: the next stands `stride` bytes further.

    The lanes behind row `last` repeat it.
    """

    def generate(context, builder, sig, args):
        x = ir.VectorType(DOUBLE, LANES)(ir.Undefined)
        for k in range(LANES):
            at = builder.add(args[0], builder.mul(_row(builder, k, args[2]), args[1]))
            x = builder.insert_element(x, builder.load(builder.inttoptr(at, DOUBLE.as_pointer())), INT(k))
        return x

    return Lanes(LANES)(types.int64, types.int64, types.int64), generate


@intrinsic
def to_rows(typingctx, x, address, stride, last):
    """Write the number of each state up to row `last` to its place, `stride` bytes behind the one before."""

    def generate(context, builder, sig, args):
        for k in reversed(range(x.L)):  # copies of the last row first
            at = builder.add(args[1], builder.mul(_row(builder, k, args[3]), args[2]))
            builder.store(builder.extract_element(args[0], INT(k)), builder.inttoptr(at, DOUBLE.as_pointer()))
        return context.get_dummy_value()

    return types.void(x, types.int64, types.int64, types.int64), generate
