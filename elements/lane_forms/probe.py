"""Hold the form of an element for lanes against its form for one state, before it is used.

Both are the same source; but which products the compiler fuses with sums may differ, and with it the last digit. So a form
for lanes is used only if it gives every number of the form for one state, to the bit, at random states.
"""

import ctypes
from typing import Any

import numpy as np

from treemech.topology.arrays import Floats, address

from ..compilation.callback import C_ELEMENT, catching
from ..constraint import Constraint, rows_size
from ..coupling import Coupling, coupling_size
from ..element import Element, record
from ..energetic import Energetic
from ..hinge import Hinge

LANES, PARTED = 4, 2  # as in elements.lanes.numbers and calls, which cannot be read without importing numba
LANE_ELEMENT = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 4, ctypes.c_int64, ctypes.c_void_p)
_TRIALS = 24


def sample(element: Any, rng: "np.random.Generator") -> tuple[Floats, Floats, float, Floats, Floats]:
    """Return a, b, t, the record, and what the element finds in its results, of one random state."""
    t = float(rng.uniform(0.0, 1.0))
    numbers, signals = record(element)
    for at, signal in signals:
        numbers[at : at + 3] = signal.at(t)
    if isinstance(element, Hinge):
        out = np.zeros(24 + 6 * element.n_speeds)
        out[[3, 7, 11]] = 1.0
        return element.sample(rng), rng.normal(size=element.n_speeds), t, numbers, out
    if isinstance(element, Energetic):
        a = element.sample(rng, t)
        return a, a, t, numbers, np.zeros(element.n.load_size)
    if isinstance(element, Constraint):
        offset, rotation, s = element.sample(rng, t)
        na = element.n_auxiliary
        a = np.concatenate((offset, np.ravel(rotation), rng.normal(size=6)))
        return (
            a,
            np.concatenate((s, rng.normal(size=na))),
            t,
            numbers,
            np.zeros(rows_size(element.n_rows, na)),
        )
    if isinstance(element, Coupling):
        k = element.n_arguments or 0
        return rng.normal(size=k), rng.normal(size=k), t, numbers, np.zeros(coupling_size(element.n_rows, k))
    return (
        rng.normal(size=12),
        rng.normal(size=6),
        t,
        numbers,
        np.zeros(6),
    )  # a load; a signal reads and writes less


def call_both(one: int, lanes: int, rows: list[Any], common: bool = True) -> tuple[int, Floats, Floats]:
    """Call both forms by address at LANES states. Return the status on lanes, 0 if one state failed, and both results."""
    a, b, t, numbers, out = zip(*rows, strict=True)
    records = np.array([numbers[0] if common else x for x in numbers])
    wanted = np.array(out)
    for k in range(LANES):
        own = [np.ascontiguousarray(x, dtype=np.float64) for x in (a[k], b[k])]
        to = address(wanted) + k * wanted.strides[0]
        if C_ELEMENT(one)(*map(address, own), t[k], address(records) + k * records.strides[0], to) != 1:
            return 0, wanted, wanted
    wide = [np.array(np.array(x, dtype=np.float64).T, order="C") for x in (a, b, [[x] for x in t], out)]
    found = wide[3]
    stride = 0 if common else records.strides[0]
    status = LANE_ELEMENT(lanes)(*map(address, wide[:3]), address(records), stride, address(found))
    return status, np.ascontiguousarray(found.T), wanted


def agrees(element: Element, one: int, lanes: int) -> bool:
    """Tell whether the form for lanes gave every number of the form for one state, at random states."""
    rng, seen = np.random.default_rng(1), 0
    with catching():
        for _ in range(_TRIALS):
            rows = [sample(element, rng) for _ in range(LANES)]
            for block in (rows, [rows[0]] * LANES):  # where states differ lanes may part
                status, found, wanted = call_both(one, lanes, block)
                if status == 1 and not same(found, wanted):
                    return False
                seen += status == 1
    return seen > 0


def same(found: Floats, wanted: Floats) -> bool:
    """Tell whether numbers are the same to the bit, where they are numbers."""
    bits = found.view(np.int64) == wanted.view(np.int64)
    return bool(np.all(bits | (np.isnan(found) & np.isnan(wanted))))
