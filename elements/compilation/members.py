"""Elements made of others: members called by their addresses, which stand in the record of the whole.

The functions here are the plain Python forms; compiled methods use those of `compiling.REPLACED`.
"""

import ctypes
from typing import Any

import numpy as np

from treemech.topology.arrays import Floats

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
    """status = element(&a[ia], &b[ib], t, &parameters[ip], &out[io]); 1 = ok."""
    status: int = _ELEMENT(int(address))(_data(a, ia), _data(b, ib), t, _data(parameters, ip), _data(out, io))
    return status


def address_at(numbers: Floats, at: int) -> int:
    """Address of a member; of its derivatives where the numbers are pairs, whose second part it is there."""
    return int(numbers[at])


def stack_array(kind: str, K: int, shape: tuple[int, ...]) -> Floats:
    """Room for numbers as long as the function runs."""
    return np.zeros(shape)


def _data(array: Any, k: int) -> int:
    start: int = array.__array_interface__["data"][0]
    return start + 8 * int(k)
