# mypy: ignore-errors
"""Call an element on lanes by its address.

The address of an element in a model on lanes is that of a pair: its C function for one state, and that for lanes. No element has
the second one yet: it is 0. A function for lanes takes pointers to lanes, t as well, and returns PARTED where the
lanes want different branches. There, and where there is no function for lanes, the element is called lane by lane. The
records of parameters are an array (L, n); its rows are one and the same where all lanes have the numbers in common.
"""

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from .numbers import DOUBLE, INT, LANES, LONG, lane_of

PARTED = 2  # a status: the lanes take different branches
_POINTER = DOUBLE.as_pointer()
ROWS = types.Array(types.float64, 2, "A")  # plain numbers, a row for each lane
_OPTIONS = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}


def array_at(context, builder, kind, data, shape, strides=None):
    """Make an array of LLVM values; it does not own its memory."""
    array = context.make_array(kind)(context, builder)
    item = context.get_data_type(kind.dtype)
    size = LONG(context.get_abi_sizeof(item))
    if strides is None:
        strides, stride = [], size
        for n in reversed(shape):
            strides.insert(0, stride)
            stride = builder.mul(stride, n)
    data = builder.bitcast(data, item.as_pointer())
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
    return array._getvalue()


@intrinsic
def _stack(typingctx, n):
    """Return n doubles on the stack, as they are."""
    kind = types.Array(types.float64, 1, "C")

    def generate(context, builder, sig, args):
        return array_at(context, builder, kind, builder.alloca(DOUBLE, args[0]), [args[0]])

    return kind(types.intp), generate


@intrinsic
def _as_floats(typingctx, array):
    """Return an array of lanes as the doubles it consists of."""
    kind = types.Array(types.float64, 1, "C")

    def generate(context, builder, sig, args):
        lanes = context.make_array(array)(context, builder, args[0])
        n = builder.mul(LONG(array.dtype.L), builder.extract_value(lanes.shape, 0))
        return array_at(context, builder, kind, lanes.data, [n])

    return kind(array), generate


@intrinsic
def _width(typingctx, array):
    return types.intp(array), lambda context, builder, sig, args: LONG(array.dtype.L)


@intrinsic
def _word(typingctx, address, k):
    """Return word k at an address."""

    def generate(context, builder, sig, args):
        return builder.load(builder.gep(builder.inttoptr(args[0], LONG.as_pointer()), [args[1]]))

    return types.int64(types.int64, types.int64), generate


def _record(context, builder, kind, array, lane, first):
    """Return a pointer to the parameters of an element in one lane."""
    rows = context.make_array(kind)(context, builder, array)
    at = builder.mul(lane, builder.extract_value(rows.strides, 0))
    row = builder.inttoptr(builder.add(builder.ptrtoint(rows.data, LONG), at), _POINTER)
    return builder.gep(row, [first])


@intrinsic
def _in_common(typingctx, parameters):
    """Return whether all lanes have the same record."""

    def generate(context, builder, sig, args):
        rows = context.make_array(parameters)(context, builder, args[0])
        stride = builder.extract_value(rows.strides, 0)
        return builder.icmp_unsigned("==", stride, stride.type(0))

    return types.boolean(parameters), generate


@intrinsic
def _call_whole(typingctx, address, a, ia, b, ib, t, parameters, ip, out, io):
    """Return status = element(&a[ia], &b[ib], &t, &parameters[0, ip], &out[io]) of a function for lanes."""
    n = types.intp

    def generate(context, builder, sig, args):
        def at(k):
            view = context.make_array(sig.args[k])(context, builder, args[k])
            return builder.bitcast(builder.gep(view.data, [args[k + 1]]), _POINTER)

        time = builder.bitcast(cgutils.alloca_once_value(builder, args[5]), _POINTER)
        record = _record(context, builder, sig.args[6], args[6], LONG(0), args[7])
        callee = builder.inttoptr(args[0], ir.FunctionType(INT, [_POINTER] * 5).as_pointer())
        return builder.call(callee, [at(1), at(3), time, record, at(8)])

    return types.int32(n, a, n, b, n, t, parameters, n, out, n), generate


@intrinsic
def _call_one(typingctx, address, room, a, b, out, t, parameters, lane, ip):
    """Return status = element(&room[a], &room[b], t, &parameters[lane, ip], &room[out])."""
    n = types.intp

    def generate(context, builder, sig, args):
        data = context.make_array(room)(context, builder, args[1]).data
        record = _record(context, builder, parameters, args[6], args[7], args[8])
        function = ir.FunctionType(INT, [_POINTER, _POINTER, DOUBLE, _POINTER, _POINTER])
        callee = builder.inttoptr(args[0], function.as_pointer())
        a, b, out = (builder.gep(data, [k]) for k in args[2:5])
        return builder.call(callee, [a, b, args[5], record, out])

    return types.int32(n, room, n, n, n, types.float64, parameters, n, n), generate


@njit(**_OPTIONS)
def call_on_lanes(address, a, ia, na, b, ib, nb, t, parameters, ip, out, io, no):
    """Call an element on lanes: na and nb numbers are read, `no` are written. Returns its status, 1 = ok.

    If nb is 0, b stands among the numbers of a, or nothing of it is read.
    """
    x, y, z, L = _as_floats(a), _as_floats(b), _as_floats(out), _width(out)
    room = _stack(na + nb + (1 + L) * no)
    first, kept = na + nb, na + nb + no
    one, whole = _word(address, 0), _word(address, 1)
    for j in range(L * no):
        room[kept + j] = z[L * io + j]
    if whole != 0 and _in_common(parameters):
        status = _call_whole(whole, a, ia, b, ib, t, parameters, ip, out, io)
        if status != PARTED:
            return status
    at_b = na if nb > 0 else ib - ia
    for k in range(L):
        for j in range(na):
            room[j] = x[L * (ia + j) + k]
        for j in range(nb):
            room[na + j] = y[L * (ib + j) + k]
        for j in range(no):
            room[first + j] = room[kept + L * j + k]
        status = _call_one(one, room, 0, at_b, first, lane_of(t, k), parameters, k, ip)
        if status != 1:
            return status
        for j in range(no):
            z[L * (io + j) + k] = room[first + j]
    return status


def rows_of_lanes(context, builder, address, stride, n):
    """Return the records of parameters (L, n) at an address; rows stand `stride` bytes apart, 0: they are common."""
    data = builder.inttoptr(address, _POINTER)
    return array_at(context, builder, ROWS, data, [LONG(LANES), n], [stride, LONG(8)])
