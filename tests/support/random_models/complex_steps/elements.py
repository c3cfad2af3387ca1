"""Elements as plain Python behind a callback, those too whose derivatives the library leaves to compiled numbers."""

import ctypes
from math import prod
from typing import Any

from treemech.elements.compilation import callback, effort, motion, numba_side
from treemech.elements.compilation.callback import C_ELEMENT, Entry, in_python
from treemech.elements.compilation.methods import methods_of
from treemech.elements.compilation.source import entry_source

from . import jets
from .memory import floats


class Pointer:
    """The address of numbers."""

    __slots__ = ("at",)

    def __init__(self, at: int):
        self.at = at

    def __getitem__(self, k: int) -> Any:
        return floats(self.at + 8 * k, 1)[0]


def shift(pointer: Pointer, k: int) -> Pointer:
    return Pointer(pointer.at + 8 * k)


def carray(pointer: Pointer, shape: tuple[int, ...]) -> Any:
    numbers = floats(pointer.at, prod(shape))
    return numbers if len(shape) == 1 else numbers.reshape(shape)


def python_entry(element: Any, part: str = "") -> Entry:
    """Return the entry of an element, made of the same source as the compiled one."""
    scope = numba_side.scope(element, methods_of(element, part))
    exec(compile(entry_source(element, part), f"<{element.kind}>", "exec"), scope)
    entry = scope["entry"]

    def call(a: int, b: int, t: float, numbers: int, out: int) -> int:
        found: int = entry(Pointer(a or 0), Pointer(b or 0), t, Pointer(numbers or 0), Pointer(out or 0))
        return found

    pointer = C_ELEMENT(in_python(call))
    return Entry(ctypes.cast(pointer, ctypes.c_void_p).value or 0, "python", pointer)


def teach() -> None:
    """Let elements run as plain Python on any numbers. Do it before elements are imported."""
    numba_side.shift, numba_side.carray = shift, carray
    numba_side.FLOATS = motion.Scalars("float", "jet", jets.jet_seed, jets.jet_signal, jets.jet_number)
    for name in ("lane", "rate", "second", "stack_array", "with_partial"):
        setattr(motion, name, getattr(jets, name))
    motion.value = jets.plain
    for name in ("dual_seed", "lane", "rate", "stack_array", "with_partial"):
        setattr(effort, name, getattr(jets, name))
    effort.value = jets.plain
    callback.by_python = lambda element, part="": True
