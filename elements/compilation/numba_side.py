# mypy: ignore-errors
"""Compile an author's method with numba: types, helpers, and the names that the generated entry uses."""

import inspect
from collections import namedtuple
from itertools import count

from numba import carray, cfunc, njit, types
from numba.core.bytecode import FunctionIdentity
from numba.extending import intrinsic

from ..constraint import Constraint, RelativeMotion, Rows
from ..coupling import Coupling, CouplingRows
from ..dual.numbers import DUAL_1, as_dual, dual_stack_array, lane, stack_array
from ..element import SignalValue, parameters
from ..energetic import EndsLoad, EndsMotion, Energetic
from ..hinge import Motion
from ..load import EndLoad, EndMotion
from ..signals.function import Function
from . import call, members
from .effort import compile_effort, compile_reaction, effort_width, plain_answer
from .effort_dual import Both, dual_answer
from .motion import (
    DUALS,
    FLOATS,
    JIT_OPTIONS,
    compile_constraint,
    compile_coupling,
    compile_pose,
    compile_signal,
    constraint_width,
    coupling_width,
    jet_width,
)

_P = types.CPointer(types.float64)
SIGNATURE = types.int32(_P, _P, types.float64, _P, _P)
# Plain functions that compiled methods use in another form
REPLACED = {members.call_element: call.call_element, members.stack_array: stack_array}
DUAL_REPLACED = {
    members.call_element: call.call_element,
    members.stack_array: dual_stack_array,
    members.address_at: njit(**JIT_OPTIONS)(lambda numbers, at: int(lane(numbers[at], 0))),
}


@intrinsic
def shift(typing_context, pointer, k):
    """Return pointer + k doubles. A carray of it costs nothing; a slice would."""

    def generate(context, builder, signature, args):
        return builder.gep(args[0], [args[1]])

    return pointer(pointer, types.intp), generate


@intrinsic
def dual_at(typing_context, pointer, k):
    """Return dual number k, (number, derivative), of those at a pointer."""

    def generate(context, builder, signature, args):
        item = context.get_data_type(DUAL_1).as_pointer()
        place = builder.gep(builder.bitcast(args[0], item), [args[1]])
        return context.data_model_manager[DUAL_1].load_from_data_pointer(builder, place)

    return DUAL_1(pointer, types.intp), generate


def with_helpers(function, seen, dual=False):
    """Compile a plain function with all plain functions that it names, so that authors need no decorator."""
    replaced = DUAL_REPLACED if dual else REPLACED
    if function in replaced:
        seen.setdefault(function, replaced[function])  # numbers on lanes have forms of their own
    if function in seen:
        return seen[function]
    if hasattr(function, "py_func"):
        seen[function.py_func] = function
        for name in names_in(function.py_func.__code__):  # its helpers are part of the cache key too
            helper = function.py_func.__globals__.get(name)
            if hasattr(helper, "py_func") and helper.py_func not in seen:
                with_helpers(helper, seen, dual)
        return function
    scope = dict(function.__globals__)
    for name in names_in(function.__code__):
        helper = scope.get(name)
        if inspect.isfunction(helper) and helper is not function:
            scope[name] = with_helpers(helper, seen, dual)
    copy = type(function)(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    seen[function] = njit(**JIT_OPTIONS)(copy)
    return seen[function]


def names_in(code):
    """Return the global and attribute names that a function and its inner functions use."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if inspect.iscode(constant):
            names |= names_in(constant)
    return names


def scope(element, methods, dual=False, held=False, scalars=None):
    """Return the globals of the generated entry around the author's compiled methods.

    With `dual` it is compiled for dual numbers; with `held` its parameters are plain numbers even so. Other
    `scalars` are numbers of their own kind.
    """
    method, width, lanes = methods.get("evaluate"), 0, 0
    scalars = scalars or (DUALS if dual else FLOATS)
    if "pose" in methods:
        lanes = element.n_coordinates
        width, method = jet_width(lanes), compile_pose(methods["pose"], lanes, JIT_OPTIONS, scalars)
    elif "value" in methods:
        method = methods["value"]
        if isinstance(element, Function):
            plain = method
            method = njit(**JIT_OPTIONS)(lambda self, t: plain(t))
        method = compile_signal(method, JIT_OPTIONS, scalars)
    elif isinstance(element, Energetic):
        n = element.n
        if "remember" in methods:
            method = methods["remember"]
        elif n.reactions and not dual:
            method = compile_reaction(method, n, JIT_OPTIONS)
        elif method is None:
            width, lanes = effort_width(n.ends), 6 * n.ends
            answer = (
                dual_answer(methods, n, JIT_OPTIONS, held) if dual else plain_answer(methods, n, JIT_OPTIONS)
            )
            method = compile_effort(methods.get("deformation"), answer, n, JIT_OPTIONS, scalars)
    elif method is None:
        both = methods.get("residual"), methods.get("slip")
        n_velocity = element.n_nonholonomic
        n_position = element.n_rows - n_velocity
        if isinstance(element, Constraint):
            lanes = 6 + element.n_auxiliary
            width = constraint_width(element.n_auxiliary)
            method = compile_constraint(
                *both, n_position, n_velocity, element.n_auxiliary, JIT_OPTIONS, scalars
            )
        elif isinstance(element, Coupling):
            lanes = element.n_arguments
            width = coupling_width(lanes)
            method = compile_coupling(*both, n_position, n_velocity, lanes, JIT_OPTIONS, scalars)
    names = [p.name for p in parameters(element)]
    return {
        "carray": carray,
        "shift": shift,
        "method": method,
        "Motion": EndsMotion if isinstance(element, Energetic) else Motion,
        "Load": EndsLoad,
        "SignalValue": SignalValue,
        "EndMotion": EndMotion,
        "EndLoad": EndLoad,
        "RelativeMotion": RelativeMotion,
        "Rows": Rows,
        "CouplingRows": CouplingRows,
        "Self": namedtuple("Self", names) if names else None,
        "jet_signal": scalars.signal,
        "as_dual": as_dual,
        "dual_at": dual_at,
        "Both": Both,
        "WIDTH": width,  # of the jets
        "N": lanes,  # the lane of time
    }


def as_cfunc(entry, key=None):
    """Return the entry as a C function; with a cache key it is kept on the disk.

    Numba names compiled functions by their name and a running number. Inner functions of the same name from
    several processes would get the same number, and a process that loads both would call the first in place
    of the second. So the numbers of functions that go to the disk start from their key.
    """
    if key is None:
        return cfunc(SIGNATURE, **JIT_OPTIONS)(entry)
    before = FunctionIdentity._unique_ids
    FunctionIdentity._unique_ids = count(int(key[:15], 16))
    try:
        return cfunc(SIGNATURE, cache=True, **JIT_OPTIONS)(entry)
    finally:
        FunctionIdentity._unique_ids = before
