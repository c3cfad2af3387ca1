# mypy: ignore-errors
"""Numbers that carry their derivatives through compiled code: ``Dual(K)``, ``Jet(K)`` and ``Tangent(K)``.

A function written for floats and compiled for these types returns its derivatives beside its value, exact to
rounding. They are numba types, so ordinary source works: ``s = 0.0; s += x * y``, ``a[i] = 2 * x``,
``if x > 0``. Sines, powers and the like are in ``functions.py``; import that module to teach them to numba.

``Dual(K)``
    value ``v`` and ``K`` first partials ``g``. Partials add under a product as usual: (xy).g = x.g y + x y.g.

``Jet(K)``
    the same, and the first and second derivative ``a``, ``b`` *along the motion* (q + e u, t + e; e -> 0)::

        (x y).a = x.a y + x y.a         (x y).b = x.b y + 2 x.a y.a + x y.b
        f(x).a  = f' x.a                f(x).b  = f' x.b + f'' x.a^2

    A bias (index 00) is the second derivative along the motion with constant rates, that is ``b``: no matrix
    of second partials is needed.

``Tangent(K)``
    a jet x and its derivative x* along one more direction, in which every given number may change: partials,
    rates and biases are differentiated once more. Both halves are jets, so one rule for each operation is
    enough::

        (x y)* = x* y + x y*        f(x)* = f'(x) x*

    ``Dual(1)`` is a plain number with its derivative along that direction; it mixes with tangent numbers.

The partials sit in one SIMD vector. In memory a number is a row of doubles, v (a b) g[0] .. g[K-1], so that
an array of duals is a float64 array with one more index (``as_dual``). Nothing allocates or calls Python.
"""

import math
import operator
from typing import NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.imputils import impl_ret_borrowed
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import (
    intrinsic,
    lower_builtin,
    lower_cast,
    make_attribute_wrapper,
    models,
    overload,
    register_model,
)
from numba.np.arrayobj import populate_array

DOUBLE = ir.DoubleType()
INDEX = ir.IntType(64)
PLAIN = (types.Float, types.Integer, types.Boolean)  # numbers that may be mixed with dual numbers


# ------------------------------------------------------------------------------------------------ types


class Partials(types.Type):
    """``K`` doubles in one SIMD vector; read one with ``lane``."""

    def __init__(self, K: int):
        self.K = K
        super().__init__(name=f"Partials({K})")


class DualNumber(types.Type):
    """Base of the three types: the scalars come first, then K partials ``g``."""

    scalars: tuple[str, ...]
    vectors: tuple[str, ...] = ("g",)
    # Of one state: the type of a part, of a comparison, and the numbers that mix with it. Jets on lanes have others.
    states, part, truth, mixes = 1, types.float64, types.boolean, PLAIN

    def __init__(self, K: int):
        self.K = K
        super().__init__(name=f"{type(self).__name__}({K})")

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.scalars, *self.vectors)

    def can_convert_from(self, typingctx, other):
        """Allow plain numbers: they are constants, with all derivatives zero."""
        return Conversion.safe if isinstance(other, self.mixes) else None

    def unify(self, typingctx, other):
        return self if isinstance(other, self.mixes) else None


class Dual(DualNumber):
    """Value ``v`` and K first partials ``g``."""

    scalars = ("v",)


class Jet(DualNumber):
    """Value ``v``, first and second derivative along the motion ``a``, ``b``, and K first partials ``g``."""

    scalars = ("v", "a", "b")


class Tangent(DualNumber):
    """Jet, and the derivative of each of its parts along one direction."""

    scalars = ("v", "a", "b", "dv", "da", "db")
    vectors = ("g", "dg")

    def can_convert_from(self, typingctx, other):
        return Conversion.safe if other == DUAL_1 else super().can_convert_from(typingctx, other)

    def unify(self, typingctx, other):
        return self if other == DUAL_1 else super().unify(typingctx, other)


DUAL_1 = Dual(1)  # a plain number with its derivative along that direction
KINDS = {"dual": Dual, "jet": Jet, "tangent": Tangent}


@register_model(Partials)
class PartialsModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.VectorType(DOUBLE, fe_type.K))


def copy_members(builder, value, struct):
    """Copy the members to another struct type."""
    members = cgutils.unpack_tuple(builder, value)
    return cgutils.make_anonymous_struct(builder, members, struct)


@register_model(Dual)
@register_model(Jet)
@register_model(Tangent)
class DualNumberModel(models.StructModel):
    """Scalars and vectors in registers; packed doubles in memory, with the alignment of a double."""

    def __init__(self, dmm, fe_type):
        members = [(name, fe_type.part) for name in fe_type.scalars]
        members += [(name, Partials(fe_type.K * fe_type.states)) for name in fe_type.vectors]
        super().__init__(dmm, fe_type, members)

    def get_data_type(self):
        return ir.LiteralStructType(self.get_value_type().elements, packed=True)

    def as_data(self, builder, value):
        return copy_members(builder, value, self.get_data_type())

    def from_data(self, builder, value):
        return copy_members(builder, value, self.get_value_type())

    def as_return(self, builder, value):
        return self.as_data(builder, value)

    def from_return(self, builder, value):
        return self.from_data(builder, value)

    def load_from_data_pointer(self, builder, ptr, align=None):
        value = self.get_value_type()(ir.Undefined)
        for i in range(len(value.type.elements)):
            member = cgutils.gep_inbounds(builder, ptr, 0, i)
            value = builder.insert_value(value, builder.load(member, align=align or 8), i)
        return value


for _kind in KINDS.values():
    for _name in (*_kind.scalars, *_kind.vectors):
        make_attribute_wrapper(_kind, _name, _name)


# ------------------------------------------------------------------------------------------- arithmetic


class Term:
    """A double or a vector of doubles while code is being generated: ``x * y`` writes the instruction.

    A term without instructions (``value=None``) is an exact zero and disappears from sums and products, so
    that one rule serves duals, jets and plain numbers alike.
    """

    def __init__(self, builder, value=None):
        self.builder = builder
        self.value = value

    def _emit(self, instruction, other):
        x, y = self.value, other.value
        if count(y.type) < count(x.type):
            y = broadcast(self.builder, y, x.type)
        elif count(x.type) < count(y.type):
            x = broadcast(self.builder, x, y.type)
        return Term(self.builder, instruction(x, y))

    def __add__(self, other):
        if self.value is None or other.value is None:
            return other if self.value is None else self
        return self._emit(self.builder.fadd, other)

    def __sub__(self, other):
        if self.value is None or other.value is None:
            return -other if self.value is None else self
        return self._emit(self.builder.fsub, other)

    def __mul__(self, other):
        if self.value is None or other.value is None:
            return Term(self.builder)
        return self._emit(self.builder.fmul, other)

    def __truediv__(self, other):
        return Term(self.builder) if self.value is None else self._emit(self.builder.fdiv, other)

    def plus_product(self, x, y):
        """Return self + x y, rounded once where the processor can: fused here, and not by the compiler's choice."""
        if self.value is None or x.value is None or y.value is None:
            return self + x * y
        kind = max((self.value.type, x.value.type, y.value.type), key=count)
        a, b, c = (
            v if v.type == kind else broadcast(self.builder, v, kind) for v in (x.value, y.value, self.value)
        )
        name = f"llvm.fmuladd.{f'v{kind.count}' if count(kind) else ''}f64"
        function = cgutils.get_or_insert_function(
            self.builder.module, ir.FunctionType(kind, [kind] * 3), name
        )
        return Term(self.builder, self.builder.call(function, [a, b, c]))

    def __neg__(self):
        return Term(self.builder, None if self.value is None else self.builder.fneg(self.value))


class Parts(NamedTuple):
    """Parts v, a, b, g of one number; parts that the number does not have are zero."""

    v: Term
    a: Term
    b: Term
    g: Term


class Halves(NamedTuple):
    """Number, and its derivative along the direction of tangent numbers."""

    here: Parts
    star: Parts


def count(kind):
    """Return how many doubles a vector has; 0 for a double."""
    return getattr(kind, "count", 0)


def broadcast(builder, x, vector):
    """Return a vector with the double x in every lane, or with the vector x over and over again."""
    lanes = ir.VectorType(ir.IntType(32), vector.count)
    if x.type != DOUBLE:
        again = lanes([k % x.type.count for k in range(vector.count)])
        return builder.shuffle_vector(x, x.type(ir.Undefined), again)
    first = builder.insert_element(vector(ir.Undefined), x, ir.IntType(32)(0))
    return builder.shuffle_vector(first, vector(ir.Undefined), lanes([0] * vector.count))


def take_apart(context, builder, kind, value, wanted) -> Halves:
    """Return the parts of a dual or plain number, for a result of the wanted kind."""
    terms = dict.fromkeys(("v", "a", "b", "g", "dv", "da", "db", "dg"), Term(builder))
    if kind == DUAL_1 and isinstance(wanted, Tangent):
        terms["v"] = Term(builder, builder.extract_value(value, 0))
        derivative = builder.extract_element(builder.extract_value(value, 1), ir.IntType(32)(0))
        terms["dv"] = Term(builder, derivative)
    elif isinstance(kind, DualNumber):
        for i, name in enumerate(kind.names):
            terms[name] = Term(builder, builder.extract_value(value, i))
    else:
        terms["v"] = Term(builder, context.cast(builder, value, kind, wanted.part))
    return Halves(*(Parts(*(terms[mark + name] for name in Parts._fields)) for mark in ("", "d")))


def put_together(context, builder, kind, halves):
    """Return a number of the given kind; parts that the kind does not have are dropped."""
    struct = context.get_value_type(kind)
    terms = {mark + n: term for mark, half in zip(("", "d"), halves) for n, term in half._asdict().items()}
    found = [terms[name].value for name in kind.names]
    members = [zero(None) if term is None else term for zero, term in zip(struct.elements, found)]
    return cgutils.make_anonymous_struct(builder, members, struct)


def nothing(builder) -> Parts:
    return Parts(*[Term(builder)] * 4)


def add(x, y):
    return Parts(x.v + y.v, x.a + y.a, x.b + y.b, x.g + y.g)


def subtract(x, y):
    return Parts(x.v - y.v, x.a - y.a, x.b - y.b, x.g - y.g)


def multiply(x, y):
    rates = x.a * y.a
    a = (x.v * y.a).plus_product(x.a, y.v)
    b = (rates + rates).plus_product(x.v, y.b).plus_product(x.b, y.v)
    return Parts(x.v * y.v, a, b, (y.g * x.v).plus_product(x.g, y.v))


def divide(x, y):
    """Return z = x / y; its derivatives follow from those of x = z y."""
    one = Term(x.v.builder, DOUBLE(1.0))
    z, inverse = x.v / y.v, one / y.v
    back = -z
    a = x.a.plus_product(back, y.a) * inverse
    rates = a * y.a
    b = (x.b - (rates + rates)).plus_product(back, y.b)
    return Parts(z, a, b * inverse, x.g.plus_product(y.g, back) * inverse)


def negate(x):
    return Parts(-x.v, -x.a, -x.b, -x.g)


# Derivatives along the direction: rule(x, y) -> z* from x, y, z and x*, y*
STARS = {
    add: lambda x, y, z: add(x.star, y.star),
    subtract: lambda x, y, z: subtract(x.star, y.star),
    multiply: lambda x, y, z: add(multiply(x.star, y.here), multiply(x.here, y.star)),
    divide: lambda x, y, z: divide(subtract(x.star, multiply(z, y.star)), y.here),
    negate: lambda x, z: negate(x.star),
}


def one_kind(args):
    """Return the dual type among the arguments, or None if there is none, or several that do not mix."""
    kinds = {kind for kind in args if isinstance(kind, DualNumber)}
    if any(isinstance(kind, Tangent) for kind in kinds):
        kinds.discard(DUAL_1)
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    return kind if all(isinstance(a, (DualNumber, *kind.mixes)) for a in args) else None


OPERATORS = []  # (operator, what generates its code) of two arguments


def declare_operator(function, lower, n_arguments, compares=False):
    """Teach numba a Python operator on dual numbers; ``lower`` generates its code."""

    @infer_global(function)
    class Template(AbstractTemplate):
        def generic(self, args, kws):
            kind = one_kind(args)
            if kind is not None and len(args) == n_arguments:
                return signature(kind.truth if compares else kind, *args)

    if n_arguments == 1:
        lower_builtin(function, DualNumber)(lower)
        return
    OPERATORS.append((function, lower))
    lower_builtin(function, DualNumber, DualNumber)(lower)
    for plain in PLAIN:
        lower_builtin(function, DualNumber, plain)(lower)
        lower_builtin(function, plain, DualNumber)(lower)


def declare_arithmetic(rule, n_arguments, *functions):
    """Teach numba operators by their rule on parts."""

    def lower(context, builder, sig, args):
        kind = sig.return_type
        numbers = [take_apart(context, builder, k, value, kind) for k, value in zip(sig.args, args)]
        here, star = rule(*(x.here for x in numbers)), nothing(builder)
        if isinstance(kind, Tangent):
            star = STARS[rule](*numbers, here)
        return put_together(context, builder, kind, Halves(here, star))

    for function in functions:
        declare_operator(function, lower, n_arguments)


def declare_comparison(function, symbol):
    """Teach numba a comparison. It compares the values, so that jets take the same branch as floats."""

    def lower(context, builder, sig, args):
        kind = next(k for k in sig.args if isinstance(k, DualNumber))
        x, y = (take_apart(context, builder, k, value, kind).here.v.value for k, value in zip(sig.args, args))
        compare = builder.fcmp_unordered if symbol == "!=" else builder.fcmp_ordered  # nan != nan is true
        return compare(symbol, x, y)

    declare_operator(function, lower, 2, compares=True)


declare_arithmetic(add, 2, operator.add, operator.iadd)
declare_arithmetic(subtract, 2, operator.sub, operator.isub)
declare_arithmetic(multiply, 2, operator.mul, operator.imul)
declare_arithmetic(divide, 2, operator.truediv, operator.itruediv)
declare_arithmetic(negate, 1, operator.neg)
for _function, _symbol in zip(
    (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
    ("<", "<=", ">", ">=", "==", "!="),
):
    declare_comparison(_function, _symbol)


@lower_cast(types.Float, DualNumber)
@lower_cast(types.Integer, DualNumber)
@lower_cast(types.Boolean, DualNumber)
@lower_cast(Dual, Tangent)
def constant(context, builder, fromty, toty, value):
    return put_together(context, builder, toty, take_apart(context, builder, fromty, value, toty))


@infer_global(operator.pos)
@infer_global(float)
class Unchanged(AbstractTemplate):
    """Type of +x and float(x), which are x itself with all derivatives."""

    def generic(self, args, kws):
        if len(args) == 1 and isinstance(args[0], DualNumber):
            return signature(args[0], *args)


@lower_builtin(operator.pos, DualNumber)
@lower_builtin(float, DualNumber)
def unchanged(context, builder, sig, args):
    return args[0]


@infer_global(int)
class Whole(AbstractTemplate):
    """Type of int(x), which has no derivatives."""

    def generic(self, args, kws):
        if len(args) == 1 and isinstance(args[0], DualNumber) and args[0].states == 1:
            return signature(types.intp, *args)


@lower_builtin(int, DualNumber)
def whole(context, builder, sig, args):
    return builder.fptosi(take_apart(context, builder, sig.args[0], args[0], sig.args[0]).here.v.value, INDEX)


@intrinsic
def chain(typingctx, x, f, f1, f2, f3):
    """Return f(x) for a dual number x, from f and its first three derivatives at the value of x."""
    if not isinstance(x, DualNumber):
        raise TypingError(f"chain: wanted a Dual, Jet or Tangent number, got {x}")

    def generate(context, builder, sig, args):
        p, star = take_apart(context, builder, x, args[0], x)
        f, f1, f2, f3 = (Term(builder, value) for value in args[1:])
        rates = p.a * p.a
        here = Parts(f, f1 * p.a, (f2 * rates).plus_product(f1, p.b), f1 * p.g)
        if isinstance(x, Tangent):
            star = multiply(Parts(f1, f2 * p.a, (f3 * rates).plus_product(f2, p.b), f2 * p.g), star)
        return put_together(context, builder, x, Halves(here, star))

    return x(x, *[x.part] * 4), generate


def value_of(x):
    """Return the plain value of a number, dual or not."""
    return float(x)


@overload(value_of)
def _value_of(x):
    if isinstance(x, DualNumber):
        return lambda x: x.v
    return lambda x: 1.0 * x


# ----------------------------------------------------------------------------------------------- seeding


def literal(name, argument):
    """Return the value of an argument that must be a constant in the source."""
    if not isinstance(argument, types.Literal):
        raise TypingError(f"{name} must be a constant, got {argument}")
    return argument.literal_value


def number(context, builder, kind, sig, args, k=None, derivative=None):
    """Return a number of a kind with the given v (a, b), each a plain or a dual number.

    If k is given, partial k is the derivative, a plain or a dual number too.
    """
    wanted = Tangent(1) if kind.states == 1 else kind
    given = [take_apart(context, builder, t, x, wanted) for t, x in zip(sig, args)]
    halves = []
    for half in Halves._fields:
        terms = dict(zip(("v", "a", "b"), (getattr(x, half).v for x in given)))
        if k is not None:
            n = kind.K * kind.states
            partials = Term(builder, ir.VectorType(DOUBLE, n)([0.0] * n))
            terms["g"] = _with_lane(builder, partials, k, getattr(derivative, half).v, kind.states)
        halves.append(nothing(builder)._replace(**terms))
    return put_together(context, builder, kind, Halves(*halves))


def _one(context, builder):
    return take_apart(context, builder, types.float64, DOUBLE(1.0), Tangent(1))


@intrinsic(prefer_literal=True)
def dual_seed(typingctx, K, value, k):
    """Return independent variable number k: value, partial k = 1."""
    kind = Dual(literal("K", K))

    def generate(context, builder, sig, args):
        return number(context, builder, kind, sig.args[1:2], args[1:2], args[2], _one(context, builder))

    return kind(K, types.float64, types.intp), generate


def plain_or_dual(x):
    """Return the type Dual(1) for a Dual(1), and double for all other types."""
    return DUAL_1 if x == DUAL_1 else types.float64


def seeds(family):
    """Return (seed, signal, number) of jets, or of tangent numbers, which are made from dual numbers."""

    def given(*numbers):
        return [plain_or_dual(x) if family is Tangent else family.part for x in numbers]

    @intrinsic(prefer_literal=True)
    def seed(typingctx, K, value, rate, k):
        """Return independent variable number k: value, derivative along the motion, partial k = 1."""
        kind = family(literal("K", K))

        def generate(context, builder, sig, args):
            return number(context, builder, kind, sig.args[1:3], args[1:3], args[3], _one(context, builder))

        return kind(K, *given(value, rate), types.intp), generate

    @intrinsic(prefer_literal=True)
    def signal(typingctx, K, value, rate, acceleration, k):
        """Return a function of time: value, rate, acceleration; its partial to time (lane k) is the rate."""
        kind = family(literal("K", K))

        def generate(context, builder, sig, args):
            rate = take_apart(
                context, builder, sig.args[2], args[2], Tangent(1) if kind.states == 1 else kind
            )
            return number(context, builder, kind, sig.args[1:4], args[1:4], args[4], rate)

        return kind(K, *given(value, rate, acceleration), types.intp), generate

    @intrinsic(prefer_literal=True)
    def plain(typingctx, K, value, rate, acceleration):
        """Return a number with given derivatives along the motion, without partials."""
        kind = family(literal("K", K))

        def generate(context, builder, sig, args):
            return number(context, builder, kind, sig.args[1:], args[1:])

        return kind(K, *given(value, rate, acceleration)), generate

    return seed, signal, plain


jet_seed, jet_signal, jet_number = seeds(Jet)
tangent_seed, tangent_signal, tangent_number = seeds(Tangent)


@intrinsic
def dual_number(typingctx, value, derivative):
    """Return the dual number of a value and its derivative along the direction."""

    def generate(context, builder, sig, args):
        derivative = take_apart(context, builder, types.float64, args[1], Tangent(1))
        return number(context, builder, DUAL_1, sig.args[:1], args[:1], ir.IntType(32)(0), derivative)

    return DUAL_1(types.float64, types.float64), generate


@intrinsic
def with_partial(typingctx, x, k, derivative):
    """Return the number x with partial k = derivative, which for tangent numbers may be a dual number."""
    if not isinstance(x, DualNumber):
        raise TypingError(f"with_partial: wanted a Dual, Jet or Tangent number, got {x}")

    def generate(context, builder, sig, args):
        halves = take_apart(context, builder, x, args[0], x)
        derivatives = take_apart(context, builder, sig.args[2], args[2], x)
        found = [
            half._replace(g=_with_lane(builder, half.g, args[1], s.v, x.states))
            for half, s in zip(halves, derivatives)
        ]
        return put_together(context, builder, x, Halves(*found))

    return x(x, types.intp, plain_or_dual(derivative) if x.states == 1 else x.part), generate


def _places(builder, k, states):
    """Return where partial k stands among the partials: one place for each state."""
    if states == 1:
        return [k]
    first = builder.mul(builder.sext(k, INDEX) if k.type != INDEX else k, INDEX(states))
    return [builder.add(first, INDEX(j)) for j in range(states)]


def _with_lane(builder, g, k, derivative, states):
    if g.value is None or derivative.value is None:
        return g
    value = g.value
    for j, place in enumerate(_places(builder, k, states)):
        own = derivative.value
        if own.type != DOUBLE:
            own = builder.extract_element(own, ir.IntType(32)(j))
        value = builder.insert_element(value, own, place)
    return Term(builder, value)


def out_of_jet(context, builder, x, here, star):
    """Return a double for a part of a jet, a dual number for a part of a tangent number."""
    if not isinstance(x, Tangent):
        return here
    g = builder.insert_element(ir.VectorType(DOUBLE, 1)([0.0]), star, ir.IntType(32)(0))
    return cgutils.make_anonymous_struct(builder, [here, g], context.get_value_type(DUAL_1))


@intrinsic
def lane(typingctx, x, k):
    """Return partial k of x: a double, or for a tangent number a dual number."""
    if not isinstance(x, DualNumber):
        raise TypingError(f"lane: wanted a Dual, Jet or Tangent number, got {x}")

    def generate(context, builder, sig, args):
        here, star = take_apart(context, builder, x, args[0], x)
        found = [
            _lane(builder, half.g.value, args[1], x.states)
            for half in (here, star)
            if half.g.value is not None
        ]
        return out_of_jet(context, builder, x, found[0], found[-1])

    return (DUAL_1 if isinstance(x, Tangent) else x.part)(x, types.intp), generate


def _lane(builder, g, k, states):
    """Return partial k: a double, or a vector with that of each state."""
    found = [builder.extract_element(g, place) for place in _places(builder, k, states)]
    if states == 1:
        return found[0]
    value = ir.VectorType(DOUBLE, states)(ir.Undefined)
    for j, own in enumerate(found):
        value = builder.insert_element(value, own, ir.IntType(32)(j))
    return value


def reader(name):
    """Return the function that reads v, a or b: a double of a jet, a dual number of a tangent number."""

    @intrinsic
    def read(typingctx, x):
        if not isinstance(x, (Jet, Tangent)):
            raise TypingError(f"wanted a Jet or Tangent number, got {x}")

        def generate(context, builder, sig, args):
            here, star = take_apart(context, builder, x, args[0], x)
            return out_of_jet(context, builder, x, getattr(here, name).value, getattr(star, name).value)

        return (DUAL_1 if isinstance(x, Tangent) else x.part)(x), generate

    return read


value, rate, second = reader("v"), reader("a"), reader("b")


# ------------------------------------------------------------------------------------------------ arrays


def array_on(context, builder, array_type, data, shape, meminfo=None, parent=None):
    """Return a C-ordered array of dual numbers on existing memory."""
    number = context.get_data_type(array_type.dtype)
    size = INDEX(context.get_abi_sizeof(number))
    strides = [size]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], extent))
    array = context.make_array(array_type)(context, builder)
    data = builder.bitcast(data, number.as_pointer())
    populate_array(array, data, shape, strides[: len(shape)], size, meminfo, parent)
    return array._getvalue()


def on_stack(number, kind, K, shape):
    """Return (signature, code) of an array of numbers on the stack, filled with zeros."""
    extents = [literal("shape", n) for n in (shape if isinstance(shape, types.BaseTuple) else (shape,))]
    array_type = types.Array(number, len(extents), "C")

    def generate(context, builder, sig, args):
        memory = ir.ArrayType(context.get_data_type(number), math.prod(extents))
        data = cgutils.alloca_once(builder, memory)
        cgutils.memset(builder, data, INDEX(context.get_abi_sizeof(memory)), 0)
        return array_on(context, builder, array_type, data, [INDEX(n) for n in extents])

    return array_type(kind, K, shape), generate


@intrinsic(prefer_literal=True)
def stack_array(typingctx, kind, K, shape):
    """Return an array of zeros on the stack.

    Its numbers are of the kind ``'float'`` or one of KINDS. The shape is a constant.
    The array lives as long as the function that makes it: pass it down, never return it.
    """
    name = literal("kind", kind)
    return on_stack(types.float64 if name == "float" else KINDS[name](literal("K", K)), kind, K, shape)


@intrinsic(prefer_literal=True)
def dual_stack_array(typingctx, kind, K, shape):
    """Return what `stack_array` returns, with Dual(1) in place of 'float'."""
    return on_stack(DUAL_1, kind, K, shape)


@intrinsic(prefer_literal=True)
def as_dual(typingctx, array, K):
    """Return a view of a float64 array [..., 1 + K] as an array [...] of Dual(K), without a copy."""
    kind = Dual(literal("K", K))
    if not (
        isinstance(array, types.Array)
        and array.dtype == types.float64
        and array.layout == "C"
        and array.ndim > 1
    ):
        raise TypingError(f"as_dual: wanted a C-ordered float64 array [..., 1 + K], got {array}")
    array_type = types.Array(kind, array.ndim - 1, "C")

    def generate(context, builder, sig, args):
        floats = context.make_array(array)(context, builder, args[0])
        shape = cgutils.unpack_tuple(builder, floats.shape, array.ndim)[:-1]
        duals = array_on(context, builder, array_type, floats.data, shape, floats.meminfo, floats.parent)
        return impl_ret_borrowed(context, builder, array_type, duals)

    return array_type(array, K), generate
