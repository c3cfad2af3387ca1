"""Call the members of an assembled element by their addresses, which stand in its record.

The functions here are the plain Python forms. Compiled methods use the forms of `numba_side.REPLACED`.
"""

import ctypes

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.arrays import address as start_of

_ELEMENT = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p
)


def call_element(
    address: int,
    a: Floats,
    ia: int,
    b: Floats,
    ib: int,
    t: float,
    parameters: Floats,
    ip: int,
    out: Floats,
    io: int,
) -> int:
    """Call element(&a[ia], &b[ib], t, &parameters[ip], &out[io]). Returns its status: 1 = ok."""
    status: int = _ELEMENT(int(address))(_at(a, ia), _at(b, ib), t, _at(parameters, ip), _at(out, io))
    return status


def address_at(numbers: Floats, at: int) -> int:
    """Return the address of a member.

    Where the numbers are dual numbers, the compiled form returns the address for dual numbers: it stands in
    the place of the derivative.
    """
    return int(numbers[at])


def stack_array(kind: str, K: int, shape: tuple[int, ...]) -> Floats:
    """Return an array of zeros that lives as long as the function that makes it."""
    return np.zeros(shape)


def _at(array: Floats, k: int) -> int:
    return start_of(array) + 8 * int(k)
