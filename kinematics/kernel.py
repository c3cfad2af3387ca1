# mypy: ignore-errors
"""How compiled code is written here: the decorator, record access, raw addresses.

A kernel is a plain function on scalars, tuples and arrays. Three ways lead from it to an address: into the
shared library when the package is built, by jit with a disk cache, or, with NUMBA_DISABLE_JIT=1, as plain
Python behind a ctypes callback. So every helper here has a plain Python body; the compiled one beside it is
an intrinsic, because a jitted helper would be compiled once per literal field offset (19 s -> 7 s).
"""

import ctypes

import numpy as np
from llvmlite import ir
from numba import carray, config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

OPTIONS = {"error_model": "numpy", "fastmath": {"contract", "nsz"}}
kernel = njit(**OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True)
COMPILED = not config.DISABLE_JIT

_DOUBLE = ir.DoubleType()
_LONG = ir.IntType(64)


# ---------------------------------------------------------------- tuples out of and into array rows
def load3(W, i, k):
    return (W[i, k], W[i, k + 1], W[i, k + 2])


def load6(W, i, k):
    return (W[i, k], W[i, k + 1], W[i, k + 2], W[i, k + 3], W[i, k + 4], W[i, k + 5])


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
    """Pointer to array[i, k] of a C-contiguous matrix, without wrap-around of negative indices."""
    view = context.make_array(array_type)(context, builder, array)
    row = builder.mul(i, builder.extract_value(view.shape, 1))
    return builder.gep(view.data, [builder.add(row, k)])


def _loader(n):
    @intrinsic
    def load(typing_context, W, i, k):
        def generate(context, builder, signature, args):
            pointer = _at(context, builder, signature.args[0], *args)
            model = context.data_model_manager[signature.args[0].dtype]
            items = [
                model.load_from_data_pointer(builder, builder.gep(pointer, [ir.Constant(_LONG, j)]))
                for j in range(n)
            ]
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
            context.pack_value(builder, dtype, value, builder.gep(pointer, [ir.Constant(_LONG, j)]))
        return context.get_dummy_value()

    return types.void(W, types.intp, types.intp, v), generate


for _plain, _n in ((load3, 3), (load6, 6), (load9, 9)):

    def _overload(plain=_plain, load=_loader(_n)):
        @overload(plain)
        def compiled(W, i, k):
            return lambda W, i, k: load(W, i, k)

    _overload()


@overload(store)
def _store_overload(W, i, k, v):
    return lambda W, i, k, v: _store(W, i, k, v)


@overload(accumulate)
def _accumulate_overload(W, i, k, v):
    n = len(v)
    if n == 3:
        return lambda W, i, k, v: _store(W, i, k, (W[i, k] + v[0], W[i, k + 1] + v[1], W[i, k + 2] + v[2]))

    def compiled(W, i, k, v):
        for j in range(n):
            W[i, k + j] += v[j]

    return compiled


# ---------------------------------------------------------------- addresses
def floats(address, n):
    """The n doubles at an address, as an array."""
    return np.ctypeslib.as_array((ctypes.c_double * int(n)).from_address(int(address))) if n else np.zeros(0)


def floats2(address, n, m):
    return floats(address, n * m).reshape(n, m)


def ints2(address, n, m):
    if n * m == 0:
        return np.zeros((n, m), np.int64)
    return np.ctypeslib.as_array((ctypes.c_int64 * int(n * m)).from_address(int(address))).reshape(n, m)


def ints(address, n):
    return ints2(address, n, 1).reshape(n)


def _pointer(numba_type, llvm_type):
    @intrinsic
    def cast(typing_context, address):
        def generate(context, builder, signature, args):
            return builder.inttoptr(args[0], llvm_type)

        return numba_type(types.int64), generate

    return cast


_as_floats = _pointer(types.CPointer(types.float64), _DOUBLE.as_pointer())
_as_ints = _pointer(types.CPointer(types.int64), _LONG.as_pointer())


@overload(floats)
def _floats(address, n):
    return lambda address, n: carray(_as_floats(address), (n,))


@overload(floats2)
def _floats2(address, n, m):
    return lambda address, n, m: carray(_as_floats(address), (n, m))


@overload(ints)
def _ints(address, n):
    return lambda address, n: carray(_as_ints(address), (n,))


@overload(ints2)
def _ints2(address, n, m):
    return lambda address, n, m: carray(_as_ints(address), (n, m))


# ---------------------------------------------------------------- calls by address
_ELEMENT = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p
)
_RHS = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_double, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


def _data(array, k):
    return array.__array_interface__["data"][0] + 8 * int(k)


def call_element(address, a, ia, b, ib, t, parameters, ip, out, io):
    """status = element(&a[ia], &b[ib], t, &parameters[ip], &out[io]); 1 = ok."""
    return _ELEMENT(int(address))(_data(a, ia), _data(b, ib), t, _data(parameters, ip), _data(out, io))


def call_rhs(address, t, y, dy, context):
    """status = rhs(t, y, dy, context) with raw addresses; 1 = ok."""
    return _RHS(int(address))(t, int(y), int(dy), int(context))


@intrinsic
def _call_element(typing_context, address, a, ia, b, ib, t, parameters, ip, out, io):
    n = types.intp
    signature = types.int32(n, a, n, b, n, types.float64, parameters, n, out, n)

    def generate(context, builder, signature, args):
        pointer = _DOUBLE.as_pointer()
        function = ir.FunctionType(ir.IntType(32), [pointer, pointer, _DOUBLE, pointer, pointer])

        def at(k):
            view = context.make_array(signature.args[k])(context, builder, args[k])
            return builder.gep(view.data, [args[k + 1]])

        callee = builder.inttoptr(args[0], function.as_pointer())
        return builder.call(callee, [at(1), at(3), args[5], at(6), at(8)])

    return signature, generate


@overload(call_element)
def _call_element_overload(address, a, ia, b, ib, t, parameters, ip, out, io):
    return lambda address, a, ia, b, ib, t, parameters, ip, out, io: _call_element(
        address, a, ia, b, ib, t, parameters, ip, out, io
    )


@intrinsic
def _call_rhs(typing_context, address, t, y, dy, context_address):
    n = types.int64
    signature = types.int32(n, types.float64, n, n, n)

    def generate(context, builder, signature, args):
        function = ir.FunctionType(ir.IntType(32), [_DOUBLE, _LONG, _LONG, _LONG])
        return builder.call(builder.inttoptr(args[0], function.as_pointer()), list(args[1:]))

    return signature, generate


@overload(call_rhs)
def _call_rhs_overload(address, t, y, dy, context):
    return lambda address, t, y, dy, context: _call_rhs(address, t, y, dy, context)
