# mypy: ignore-errors
"""Language of compiled code: the decorators, access to records, raw addresses.

A kernel is a plain function on scalars, tuples and arrays. Three ways lead from it to an address: into the
shared library when the package is built, by jit with a disk cache, or, with NUMBA_DISABLE_JIT=1, as plain
Python behind a ctypes callback. Therefore every helper here has a plain Python body. Compiled code uses the
intrinsic of the same name, which needs no compilation of its own (a jitted helper would be compiled once per
literal field offset). Arrays are views of memory the caller owns: no kernel counts references.
"""

import ctypes
import operator

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils, event
from numba.core.datamodel.models import ArrayModel
from numba.core.typing import signature as typed
from numba.extending import intrinsic, overload, register_model
from numba.np.arrayobj import populate_array

from treemech.elements.compilation.call import call_element as _call_element
from treemech.elements.compilation.members import call_element
from treemech.elements.dual import functions as elementary  # noqa: F401  teaches numba sin, exp, ... of dual numbers
from treemech.elements.dual.numbers import DUAL_1
from treemech.elements.lanes.calls import ROWS, call_on_lanes, rows_of_lanes
from treemech.elements.lanes.numbers import LANES, Lanes, lane_of
from treemech.topology.arrays import address as _start

OPTIONS = {"error_model": "numpy", "fastmath": {"contract", "nsz"}}
kernel = njit(**OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)
# For the few routines between an entry point and the sweeps: they become part of their caller
inlined = njit(**OPTIONS, inline="always", _nrt=False)
COMPILED = not config.DISABLE_JIT

_DOUBLE = ir.DoubleType()
_LONG = ir.IntType(64)


# ---------------------------------------------------------------- straight-line algebra
class _Term:
    """Number in compiled code; arithmetic on it emits instructions."""

    def __init__(self, context, builder, dtype, value):
        self.context, self.builder, self.dtype, self.value = context, builder, dtype, value

    def _with(self, op, other, swapped=False):
        if not isinstance(other, _Term):
            constant = self.context.get_constant(types.float64, float(other))
            other = _Term(self.context, self.builder, types.float64, constant)
        a, b = (other, self) if swapped else (self, other)
        lanes = next((x.dtype for x in (a, b) if isinstance(x.dtype, Lanes)), types.float64)
        if {a.dtype, b.dtype} <= {lanes, types.float64}:
            values = [self.context.cast(self.builder, x.value, x.dtype, lanes) for x in (a, b)]
            emit = {
                operator.add: "fadd",
                operator.sub: "fsub",
                operator.mul: "fmul",
                operator.truediv: "fdiv",
            }[op]
            value = getattr(self.builder, emit)(*values, flags=("contract", "nsz"))
            return _Term(self.context, self.builder, lanes, value)
        dtype = a.dtype if a.dtype != types.float64 else b.dtype
        function = self.context.get_function(op, typed(dtype, a.dtype, b.dtype))
        return _Term(self.context, self.builder, dtype, function(self.builder, (a.value, b.value)))

    def __add__(self, other):
        return self._with(operator.add, other)

    def __sub__(self, other):
        return self._with(operator.sub, other)

    def __mul__(self, other):
        return self._with(operator.mul, other)

    def __truediv__(self, other):
        return self._with(operator.truediv, other)

    def __radd__(self, other):
        return self._with(operator.add, other, True)

    def __rsub__(self, other):
        return self._with(operator.sub, other, True)

    def __rmul__(self, other):
        return self._with(operator.mul, other, True)

    def __rtruediv__(self, other):
        return self._with(operator.truediv, other, True)

    def __neg__(self):
        return 0.0 - self


def straight(function):
    """Compile a function of numbers and tuples of numbers, without branches, by running it on terms.

    The Python body is the only source. Its instructions are emitted in place, so that numba need not compile
    a function (16 helpers took 1.5 s).
    """
    if not COMPILED:
        return function
    # The helpers it calls run on terms too, by their Python bodies
    named = {n: _BODIES.get(id(function.__globals__.get(n))) for n in function.__code__.co_names}
    scope = {**function.__globals__, **{n: body for n, body in named.items() if body is not None}}
    function = type(function)(function.__code__, scope, function.__name__)

    def result_type(args):
        plain = [tuple([1.0] * len(a)) if isinstance(a, types.BaseTuple) else 1.0 for a in args]
        items = [x for a in args for x in (a if isinstance(a, types.BaseTuple) else (a,))]
        dtype = next((x for x in items if not isinstance(x, (types.Float, types.Integer))), types.float64)
        out = function(*plain)
        return types.UniTuple(dtype, len(out)) if isinstance(out, tuple) else dtype

    def type_and_code(args):
        def floating(a):
            if isinstance(a, types.BaseTuple):
                return types.Tuple([floating(x) for x in a])
            return types.float64 if isinstance(a, (types.Float, types.Integer)) else a

        args = [floating(a) for a in args]

        def generate(context, builder, signature, values):
            terms = []
            for a, value in zip(signature.args, values):
                if isinstance(a, types.BaseTuple):
                    parts = cgutils.unpack_tuple(builder, value, len(a))
                    terms.append(tuple(_Term(context, builder, t, v) for t, v in zip(a, parts)))
                else:
                    terms.append(_Term(context, builder, a, value))
            out = function(*terms)
            if isinstance(out, tuple):
                dtype = signature.return_type.dtype
                items = [context.cast(builder, x.value, x.dtype, dtype) for x in out]
                return context.make_tuple(builder, signature.return_type, items)
            return out.value

        return typed(result_type(args), *args), generate

    names = ", ".join(function.__code__.co_varnames[: function.__code__.co_argcount])
    scope = {"type_and_code": type_and_code}
    exec(f"def {function.__name__}(typing_context, {names}):\n    return type_and_code([{names}])", scope)
    compiled = intrinsic(scope[function.__name__])
    _BODIES[id(compiled)] = function
    return compiled


_BODIES = {}  # Python bodies of straight functions, by the id of their compiled form


# ---------------------------------------------------------------- tuples out of and into array rows
def load3(W, i, k):
    return (W[i, k], W[i, k + 1], W[i, k + 2])


def load6(W, i, k):
    return tuple(W[i, k + j] for j in range(6))


def load9(W, i, k):
    return tuple(W[i, k + j] for j in range(9))


def store(W, i, k, v):
    """Write the tuple v to W[i, k:k+len(v)]."""
    for j in range(len(v)):
        W[i, k + j] = v[j]


def accumulate(W, i, k, v):
    """Add the tuple v to W[i, k:k+len(v)]."""
    for j in range(len(v)):
        W[i, k + j] += v[j]


def _at(context, builder, array_type, array, i, k):
    """Return a pointer to array[i, k] of a C-contiguous matrix, without wrap-around of negative indices."""
    view = context.make_array(array_type)(context, builder, array)
    row = builder.mul(i, builder.extract_value(view.shape, 1))
    return builder.gep(view.data, [builder.add(row, k)])


def _item(builder, pointer, j):
    return builder.gep(pointer, [ir.Constant(_LONG, j)])


def _loader(n):
    @intrinsic
    def load(typing_context, W, i, k):
        def generate(context, builder, signature, args):
            pointer = _at(context, builder, signature.args[0], *args)
            model = context.data_model_manager[signature.args[0].dtype]
            items = [model.load_from_data_pointer(builder, _item(builder, pointer, j)) for j in range(n)]
            return context.make_tuple(builder, signature.return_type, items)

        return types.UniTuple(W.dtype, n)(W, types.intp, types.intp), generate

    return load


@intrinsic
def _store(typing_context, W, i, k, v):
    def generate(context, builder, signature, args):
        pointer = _at(context, builder, signature.args[0], *args[:3])
        dtype = signature.args[0].dtype
        for j, item in enumerate(cgutils.unpack_tuple(builder, args[3], len(signature.args[3]))):
            value = context.cast(builder, item, signature.args[3][j], dtype)
            context.pack_value(builder, dtype, value, _item(builder, pointer, j))
        return context.get_dummy_value()

    return types.void(W, types.intp, types.intp, v), generate


@intrinsic
def _accumulate(typing_context, W, i, k, v):
    def generate(context, builder, signature, args):
        pointer = _at(context, builder, signature.args[0], *args[:3])
        dtype = signature.args[0].dtype
        add = context.get_function(operator.add, typed(dtype, dtype, dtype))
        model = context.data_model_manager[dtype]
        for j, item in enumerate(cgutils.unpack_tuple(builder, args[3], len(signature.args[3]))):
            value = context.cast(builder, item, signature.args[3][j], dtype)
            place = _item(builder, pointer, j)
            total = add(builder, (model.load_from_data_pointer(builder, place), value))
            context.pack_value(builder, dtype, total, place)
        return context.get_dummy_value()

    return types.void(W, types.intp, types.intp, v), generate


# ---------------------------------------------------------------- addresses
def floats(address, n):
    """Return the n doubles at an address as an array."""
    n = int(n)
    return np.ctypeslib.as_array((ctypes.c_double * n).from_address(int(address))) if n else np.zeros(0)


def floats2(address, n, m):
    return floats(address, n * m).reshape(n, m)


def ints(address, n):
    n = int(n)
    return (
        np.ctypeslib.as_array((ctypes.c_int64 * n).from_address(int(address))) if n else np.zeros(0, np.int64)
    )


def ints2(address, n, m):
    return ints(address, n * m).reshape(n, m)


def duals(address, n):
    """Return the n dual numbers at an address as an array; in compiled code only."""
    raise NotImplementedError("numbers with a derivative exist in compiled code only")


def duals2(address, n, m):
    """Return the n x m dual numbers at an address as a matrix; in compiled code only."""
    raise NotImplementedError("numbers with a derivative exist in compiled code only")


def _array(context, builder, array_type, address, shape):
    """Make an array at an address; it does not own its memory."""
    array = context.make_array(array_type)(context, builder)
    item = context.get_data_type(array_type.dtype)
    size = ir.Constant(_LONG, context.get_abi_sizeof(item))
    strides, stride = [], size
    for n in reversed(shape):
        strides.insert(0, stride)
        stride = builder.mul(stride, n)
    populate_array(
        array, data=builder.inttoptr(address, item.as_pointer()), shape=shape, strides=strides,
        itemsize=size, meminfo=None,
    )  # fmt: skip
    return array._getvalue()


def _viewer(dtype, ndim, readonly=False):
    """Make an intrinsic that returns the array of `dtype` at an address; the shape follows the address."""
    result = types.Array(dtype, ndim, "C", readonly=readonly)

    def generate(context, builder, signature, args):
        return _array(context, builder, result, args[0], list(args[1:]))

    if ndim == 1:

        @intrinsic
        def view(typing_context, address, n):
            return result(types.int64, types.int64), generate
    else:

        @intrinsic
        def view(typing_context, address, n, m):
            return result(types.int64, types.int64, types.int64), generate

    return view


def dual_context(address, n):
    """Return a context whose arrays hold dual numbers in place of numbers; in compiled code only.

    Its type is that of a read-only array. Kernels are compiled once more for it and then run on dual numbers.
    """
    raise NotImplementedError("numbers with a derivative exist in compiled code only")


class LaneContext(types.Array):
    """Type of a context whose arrays hold lanes in place of numbers.

    The numbers of the model itself are common to all states, unless the context is `varied`.
    """

    def __init__(self, varied):
        self.varied = varied
        super().__init__(types.int64, 1, "C", name=f"LaneContext({varied})")

    @property
    def key(self):
        return (*super().key, "lanes", self.varied)


register_model(LaneContext)(ArrayModel)


def number_of(plan):
    """Return the type of the numbers that stand behind a context."""
    if isinstance(plan, LaneContext):
        return Lanes(LANES)
    return types.float64 if plan.mutable else DUAL_1


def lane_context(address, n):
    """Return a context of lanes; in compiled code only."""
    raise NotImplementedError("lanes exist in compiled code only")


def varied_context(address, n):
    """Return a context of lanes whose model has numbers of its own in each; in compiled code only."""
    raise NotImplementedError("lanes exist in compiled code only")


def _contexts(varied):
    @intrinsic
    def view(typing_context, address, n):
        result = LaneContext(varied)

        def generate(context, builder, signature, args):
            return _array(context, builder, result, args[0], [args[1]])

        return result(types.int64, types.int64), generate

    return view


def numbers(plan, address, n):
    """Return the n numbers at an address, of the type behind the context."""
    return floats(address, n)


def number_size(plan):
    """Return how many bytes a number has."""
    return 8


@intrinsic
def _numbers(typing_context, plan, address, n):
    result = types.Array(number_of(plan), 1, "C")

    def generate(context, builder, signature, args):
        return _array(context, builder, result, args[1], [args[2]])

    return result(plan, types.int64, types.int64), generate


@intrinsic
def _number_size(typing_context, plan):
    def generate(context, builder, signature, args):
        return ir.Constant(_LONG, context.get_abi_sizeof(context.get_data_type(number_of(plan))))

    return types.int64(plan), generate


def member(dtype, at, *shape, common=False, stride=None):
    """Make a function of the context that returns one of its arrays; context[at] is the address.

    An entry of the shape is a number, or a tuple (place of a size in the context, number to add). A context
    of dual numbers gives arrays of dual numbers, one of lanes arrays of lanes, unless all states have the
    numbers in common (`common`: the numbers of the model itself). With a `stride`, the place of a number of bytes in the context, lanes have a row of plain
    numbers each.
    """

    def sizes(plan):
        return [plan[n[0]] + n[1] if isinstance(n, tuple) else n for n in shape]

    if not COMPILED:
        make = {
            ("float64", 1): floats,
            ("float64", 2): floats2,
            ("int64", 1): ints,
            ("int64", 2): ints2,
            ("uint64", 1): ints,
            ("Dual(1)", 1): duals,
        }
        view = make[str(dtype), len(shape)]
        return lambda plan: view(plan[at], *sizes(plan))

    @intrinsic
    def get(typing_context, plan):
        shared = dtype != types.float64 or (common and isinstance(plan, LaneContext) and not plan.varied)
        rows = stride is not None and isinstance(plan, LaneContext)
        result = ROWS if rows else types.Array(dtype if shared else number_of(plan), len(shape), "C")

        def generate(context, builder, signature, args):
            data = context.make_array(signature.args[0])(context, builder, args[0]).data

            def number(k):
                return builder.load(_item(builder, data, k))

            lengths = [
                builder.add(number(n[0]), ir.Constant(_LONG, n[1]))
                if isinstance(n, tuple)
                else ir.Constant(_LONG, n)
                for n in shape
            ]
            if rows:
                return rows_of_lanes(context, builder, number(at), number(stride), lengths[0])
            return _array(context, builder, result, number(at), lengths)

        return result(plan), generate

    return get


def link(record, at, values, i):
    """Copy the values of signal i to a record, at a place `at`."""
    for j in range(3):
        record[at + j] = values[i, j]


@overload(link, inline="always", jit_options=OPTIONS)
def _link(record, at, values, i):
    if not isinstance(values.dtype, Lanes):

        def one(record, at, values, i):
            for j in range(3):
                record[at + j] = values[i, j]

        return one

    def each(record, at, values, i):
        for j in range(3):
            for k in range(LANES):
                record[k, at + j] = lane_of(values[i, j], k)

    return each


def address_of(array):
    """Return the address of the first item of an array."""
    return _start(array)


@intrinsic
def _address_of(typing_context, array):
    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(data, _LONG)

    return types.int64(array), generate


# ---------------------------------------------------------------- calls by address
_PART = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_double, ctypes.c_int64)
_DERIVATIVES = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_double, ctypes.c_int64, ctypes.c_int64)
_RHS = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_double, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


def _data(array, k):
    return _start(array) + 8 * int(k)


def call_part(address, i, t, plan):
    """Call an entry point from within the core: status = part(i, t, context). Returns a status, 1 = ok.

    A part on lanes takes the address of t.
    """
    return _PART(int(address))(int(i), t, _data(plan, 0))


def apply_element(address, a, ia, na, b, ib, nb, t, parameters, ip, out, io, no):
    """Call an element as `call_element` does, on numbers of any type.

    It reads na numbers of a, nb of b and writes `no`; if nb is 0, b stands among the numbers of a.
    """
    return call_element(address, a, ia, b, ib, t, parameters, ip, out, io)


@overload(apply_element, inline="always", jit_options=OPTIONS)
def _apply_element(address, a, ia, na, b, ib, nb, t, parameters, ip, out, io, no):
    if isinstance(out.dtype, Lanes):
        return lambda address, a, ia, na, b, ib, nb, t, parameters, ip, out, io, no: call_on_lanes(
            address, a, ia, na, b, ib, nb, t, parameters, ip, out, io, no
        )
    return lambda address, a, ia, na, b, ib, nb, t, parameters, ip, out, io, no: _call_element(
        address, a, ia, b, ib, t, parameters, ip, out, io
    )


def call_derivatives(address, t, a, b):
    """Call an entry point of derivatives: status = derivatives(t, a, b). Returns a status, 1 = ok."""
    return _DERIVATIVES(int(address))(t, int(a), int(b))


def call_rates(address, t, y, dy, context):
    """Call an entry point of rates as `call_rhs` does; on lanes it takes the address of t."""
    return _RHS(int(address))(t, int(y), int(dy), int(context))


def call_rhs(address, t, y, dy, context):
    """Call status = rhs(t, y, dy, context) with raw addresses. Returns a status, 1 = ok."""
    return _RHS(int(address))(t, int(y), int(dy), int(context))


@intrinsic
def _call_part(typing_context, address, i, t, plan):
    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[3])(context, builder, args[3]).data
        time = args[2]
        if isinstance(t, Lanes):
            time = builder.ptrtoint(cgutils.alloca_once_value(builder, time), _LONG)
        function = ir.FunctionType(ir.IntType(32), [_LONG, time.type, _LONG])
        callee = builder.inttoptr(args[0], function.as_pointer())
        return builder.call(callee, [args[1], time, builder.ptrtoint(data, _LONG)])

    return types.int32(types.int64, types.int64, t if isinstance(t, Lanes) else types.float64, plan), generate


def _generate_call(context, builder, signature, args):
    """Emit a call of the address args[0] with the numbers that follow it."""
    function = ir.FunctionType(ir.IntType(32), [a.type for a in args[1:]])
    return builder.call(builder.inttoptr(args[0], function.as_pointer()), list(args[1:]))


@intrinsic
def _call_derivatives(typing_context, address, t, a, b):
    n = types.int64
    return types.int32(n, types.float64, n, n), _generate_call


@intrinsic
def _call_rhs(typing_context, address, t, y, dy, context_address):
    n = types.int64
    return types.int32(n, types.float64, n, n, n), _generate_call


@intrinsic
def _call_rates(typing_context, address, t, y, dy, context_address):
    def generate(context, builder, signature, args):
        if isinstance(t, Lanes):
            args = [args[0], builder.ptrtoint(cgutils.alloca_once_value(builder, args[1]), _LONG), *args[2:]]
        return _generate_call(context, builder, signature, args)

    n = types.int64
    return types.int32(n, t if isinstance(t, Lanes) else types.float64, n, n, n), generate


def _generate_void_call(context, builder, signature, args):
    """Generate a call of the routine at the address args[0], which has no result."""
    function = ir.FunctionType(ir.VoidType(), [a.type for a in args[1:]])
    builder.call(builder.inttoptr(args[0], function.as_pointer()), list(args[1:]))
    return context.get_constant(types.int64, 0)


def routine_call(n):
    """Return call(address, a_1, ..., a_n): call a routine without result, such as those of LAPACK, by its address.

    The n arguments are addresses themselves. The call returns 0.
    """
    if not COMPILED:
        form = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * n)
        return lambda address, *args: form(int(address))(*map(int, args)) or 0
    numbers = types.int64(*[types.int64] * (n + 1))
    scope = {"numbers": numbers, "generate": _generate_void_call}
    names = ", ".join(f"a{k}" for k in range(1, n + 1))
    exec(f"def call(typing_context, address, {names}):\n    return numbers, generate", scope)
    return intrinsic(scope["call"])


def evaluate_signal(address, t, record, first, values, k):
    """Evaluate a signal by its address at t into row k of the values. Returns whether it worked."""
    return call_element(address, record, 0, record, 0, t, record, first, values, 3 * k) == 1


@overload(evaluate_signal, inline="always", jit_options=OPTIONS)
def _evaluate_signal(address, t, record, first, values, k):
    if isinstance(values.dtype, Lanes):
        return lambda address, t, record, first, values, k: (
            call_on_lanes(address, values, 0, 0, values, 0, 0, t, record, first, values, 3 * k, 3) == 1
        )
    return lambda address, t, record, first, values, k: (
        _call_element(address, record, 0, record, 0, t, record, first, values, 3 * k) == 1
    )


# ---------------------------------------------------------------- what numba does
def compilations():
    """Return a context manager that records all compilations of numba in its `buffer`."""
    return event.install_recorder("numba:compile")


if COMPILED:
    load3, load6, load9 = _loader(3), _loader(6), _loader(9)
    store, accumulate = _store, _accumulate
    floats, floats2 = _viewer(types.float64, 1), _viewer(types.float64, 2)
    ints, ints2 = _viewer(types.int64, 1), _viewer(types.int64, 2)
    # plain Python has no dual numbers
    duals, duals2 = _viewer(DUAL_1, 1), _viewer(DUAL_1, 2)
    dual_context = _viewer(types.int64, 1, readonly=True)
    lane_context, varied_context = _contexts(False), _contexts(True)
    numbers, number_size = _numbers, _number_size
    address_of = _address_of
    call_element, call_part, call_rhs = _call_element, _call_part, _call_rhs
    call_derivatives, call_rates = _call_derivatives, _call_rates
