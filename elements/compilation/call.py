# mypy: ignore-errors
"""Call an element by its address from compiled code."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_DOUBLE = ir.DoubleType()


@intrinsic
def call_element(typing_context, address, a, ia, b, ib, t, parameters, ip, out, io):
    """Call element(&a[ia], &b[ib], t, &parameters[ip], &out[io]). Returns its status: 1 = ok."""
    n = types.intp
    signature = types.int32(n, a, n, b, n, types.float64, parameters, n, out, n)

    def generate(context, builder, signature, args):
        pointer = _DOUBLE.as_pointer()
        function = ir.FunctionType(ir.IntType(32), [pointer, pointer, _DOUBLE, pointer, pointer])

        def at(k):
            view = context.make_array(signature.args[k])(context, builder, args[k])
            return builder.bitcast(
                builder.gep(view.data, [args[k + 1]]), pointer
            )  # of doubles or of dual numbers

        callee = builder.inttoptr(args[0], function.as_pointer())
        return builder.call(callee, [at(1), at(3), args[5], at(6), at(8)])

    return signature, generate
