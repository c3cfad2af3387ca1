# mypy: ignore-errors
"""The numba side of elements.lane_forms.entry: branches of an author on lanes, and the names that the entry uses."""

import math
import operator
from itertools import count

from llvmlite import ir
from numba import cfunc, njit, types
from numba.core import cgutils
from numba.core.bytecode import FunctionIdentity
from numba.core.errors import TypingError
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, overload, register_model

from ..compilation import members, numba_side
from ..compilation.methods import methods_of
from ..compilation.motion import JIT_OPTIONS
from ..compilation.source import entry_source
from ..dual.numbers import on_stack
from ..lanes.calls import PARTED, array_at
from ..lanes.functions import by_lane
from ..lanes.numbers import BIT, DOUBLE, INT, LANES, LONG, Lanes, Mask, declare
from ..native.late import lowered
from .jets import KIND, LANE_SCALARS

_P = types.CPointer(types.float64)
SIGNATURE = types.int32(_P, _P, _P, _P, types.int64, _P)
declare(float, lambda context, builder, sig, args: args[0], 1)
for _name in (
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "log10",
    "log2",
    "gamma",
    "lgamma",
    "degrees",
    "radians",
):
    declare(getattr(math, _name), by_lane(getattr(math, _name)), 1)


def _leave_if(context, builder, parted):
    """Leave the function with an error where lanes part."""
    with cgutils.if_unlikely(builder, parted):
        context.call_conv.return_user_exc(builder, ArithmeticError, ("lanes part",))


@intrinsic
def _taken(typingctx, mask):
    """Return the branch that all lanes take; leave the function with an error where they differ."""

    def generate(context, builder, sig, args):
        bits = builder.bitcast(args[0], ir.IntType(mask.L))
        none, every = (builder.icmp_unsigned("==", bits, bits.type(k)) for k in (0, 2**mask.L - 1))
        _leave_if(context, builder, builder.not_(builder.or_(none, every)))
        return every

    return types.boolean(mask), generate


def _authors(x):
    return isinstance(x, Mask) and x.authors


@overload(bool)
def _truth(x):
    return (lambda x: _taken(x)) if _authors(x) else None


@overload(operator.not_)
def _not(x):
    return (lambda x: not _taken(x)) if _authors(x) else None


@intrinsic
def _whole(typingctx, x):
    """Return the whole number int(x) that all lanes have in common."""

    def generate(context, builder, sig, args):
        whole = builder.fptosi(args[0], ir.VectorType(LONG, x.L))
        first = builder.extract_element(whole, INT(0))
        for k in range(1, x.L):
            other = builder.extract_element(whole, INT(k))
            _leave_if(context, builder, builder.icmp_unsigned("!=", first, other))
        return first

    return types.intp(x), generate


@infer_global(int)
class Whole(AbstractTemplate):
    """Type of int(x)."""

    def generic(self, args, kws):
        if len(args) == 1 and args[0] == KIND:
            return signature(types.intp, *args)


@lower_builtin(int, Lanes)
def _int(context, builder, sig, args):
    return context.compile_internal(builder, lambda x: _whole(x), sig, args)


class Records(types.Type):
    """The parameters of one element in all lanes: rows of doubles, as far apart as one says (0: one row for all)."""


RECORDS = Records(name="Records")


@register_model(Records)
class RecordsModel(models.StructModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, [("data", _P), ("stride", types.int64)])


@intrinsic
def _parameter(typingctx, records, k):
    """Return parameter k: a number of each lane."""

    def generate(context, builder, sig, args):
        own = cgutils.create_struct_proxy(RECORDS)(context, builder, args[0])
        at, stride = builder.ptrtoint(builder.gep(own.data, [args[1]]), LONG), own.stride
        x = ir.VectorType(DOUBLE, LANES)(ir.Undefined)
        for lane in range(LANES):
            place = builder.add(at, builder.mul(LONG(lane), stride))
            x = builder.insert_element(
                x, builder.load(builder.inttoptr(place, DOUBLE.as_pointer())), INT(lane)
            )
        return x

    return KIND(records, types.intp), generate


@overload(operator.getitem)
def _getitem(records, k):
    return (lambda records, k: _parameter(records, k)) if isinstance(records, Records) else None


@intrinsic
def shift(typingctx, pointer, k):
    """Return a pointer, or the records, k numbers further."""

    def generate(context, builder, sig, args):
        if pointer != RECORDS:
            return builder.gep(args[0], [args[1]])
        own = cgutils.create_struct_proxy(RECORDS)(context, builder, args[0])
        own.data = builder.gep(own.data, [args[1]])
        return own._getvalue()

    return pointer(pointer, types.intp), generate


def _differ(builder, data, stride, n):
    """Return whether arrays of n numbers, one of each lane, differ."""
    differ = cgutils.alloca_once_value(builder, BIT(0))
    with builder.if_then(builder.icmp_unsigned("!=", stride, LONG(0))):
        first = builder.bitcast(data, LONG.as_pointer())
        with cgutils.for_range(builder, n) as loop:
            one = builder.load(builder.gep(first, [loop.index]))
            for lane in range(1, LANES):
                at = builder.add(builder.ptrtoint(first, LONG), builder.mul(LONG(lane), stride))
                own = builder.gep(builder.inttoptr(at, first.type), [loop.index])
                unlike = builder.icmp_unsigned("!=", one, builder.load(own))
                builder.store(builder.or_(builder.load(differ), unlike), differ)
    return builder.load(differ)


@intrinsic
def carray(typingctx, pointer, shape):
    """Return the array at a pointer. Lanes part where they have different arrays among their parameters."""
    kind = types.Array(types.float64 if pointer == RECORDS else KIND, len(shape), "C")

    def generate(context, builder, sig, args):
        data = args[0]
        extents = [
            context.cast(builder, builder.extract_value(args[1], k), n, types.intp)
            for k, n in enumerate(shape)
        ]
        if pointer == RECORDS:
            own = cgutils.create_struct_proxy(RECORDS)(context, builder, data)
            data, total = own.data, LONG(1)
            for extent in extents:
                total = builder.mul(total, extent)
            _leave_if(context, builder, _differ(builder, data, own.stride, total))
        return array_at(context, builder, kind, data, extents)

    return kind(pointer, shape), generate


@intrinsic
def attempt(typingctx, function, a, b, t, parameters, stride, out):
    """Call a compiled entry on lanes at these pointers. Returns its status, PARTED if it was left with an error."""
    lanes = types.CPointer(KIND)
    inner = function.get_call_type(typingctx, (lanes, lanes, KIND, RECORDS, lanes), {})

    def generate(context, builder, sig, args):
        item = context.get_data_type(KIND).as_pointer()
        a, b, t, out = (builder.bitcast(args[k], item) for k in (1, 2, 3, 6))
        time = context.data_model_manager[KIND].load_from_data_pointer(builder, t)
        records = cgutils.create_struct_proxy(RECORDS)(context, builder)
        records.data, records.stride = args[4], args[5]
        compiled = lowered(function.dispatcher, inner.args)
        context.add_linking_libs([compiled.library])
        status, _ = context.call_internal_no_propagate(
            builder, compiled.fndesc, inner, (a, b, time, records._getvalue(), out)
        )
        return builder.select(status.is_ok, INT(1), INT(PARTED))

    return types.int32(function, a, b, t, parameters, stride, out), generate


@intrinsic(prefer_literal=True)
def lane_stack_array(typingctx, kind, K, shape):
    """Return what `stack_array` returns, with lanes in place of 'float'."""
    if kind.literal_value != "float":
        raise TypingError("an author's own jets have no form for lanes")
    return on_stack(KIND, kind, K, shape)


@intrinsic
def _no_call(typingctx, *args):
    raise TypingError("an element that calls others by address has no form for lanes")


def lane_source(element):
    """Return the source of the C function: that of the element for one state, called with pointers to lanes."""
    inner = entry_source(element).replace("def entry(", "@njit(**OPTIONS)\ndef inner(", 1)
    return f"{inner}\n\ndef entry(a_, b_, t_, par_, stride_, out_):\n    return attempt(inner, a_, b_, t_, par_, stride_, out_)\n"


def lane_globals(element):
    """Return the names that the source uses, and the author's functions among them."""
    given = {members.stack_array: lane_stack_array, members.call_element: _no_call}
    seen = dict(given)
    methods = {name: numba_side.with_helpers(f, seen) for name, f in methods_of(element).items()}
    scope = numba_side.scope(element, methods, scalars=LANE_SCALARS)
    scope |= {"attempt": attempt, "carray": carray, "shift": shift, "njit": njit, "OPTIONS": JIT_OPTIONS}
    return scope, set(seen) - set(given)


def on_lanes(element):
    """Return the entry of an element for lanes as (Python function, C signature)."""
    scope, _ = lane_globals(element)
    exec(lane_source(element), scope)
    return scope["entry"], SIGNATURE


def as_cfunc(entry, key=None):
    """Return the entry as a C function; with a cache key it is kept on the disk (see compilation.numba_side)."""
    if key is None:
        return cfunc(SIGNATURE, **JIT_OPTIONS)(entry)
    before = FunctionIdentity._unique_ids
    FunctionIdentity._unique_ids = count(int(key[:15], 16) ^ 1)
    try:
        return cfunc(SIGNATURE, cache=True, **JIT_OPTIONS)(entry)
    finally:
        FunctionIdentity._unique_ids = before
