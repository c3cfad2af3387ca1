"""Compiled functions of this folder: C functions by address, kept on disk under a hash of their sources."""

import hashlib
from collections.abc import Callable
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from treemech.elements.native.cache import numba_cache
from treemech.elements.native.place import cache_root
from treemech.elements.native.sources import core_hash
from treemech.topology.arrays import address


@cache
def folder() -> Path:
    """Return the folder of compiled code that belongs to the present sources of the core and of this folder."""
    h = hashlib.sha256(core_hash().encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        h.update(path.read_bytes())
    place = cache_root() / f"formulations-{h.hexdigest()[:16]}"
    place.mkdir(parents=True, exist_ok=True)
    return place


@contextmanager
def own_cache() -> Any:
    """Compile with numba's cache in our folder."""
    with numba_cache():
        from numba import config

        before, config.CACHE_DIR = config.CACHE_DIR, str(folder())
        try:
            yield
        finally:
            config.CACHE_DIR = before


class Compiled:
    """A function of numbers and addresses as a C function; compiled when its address is first asked for."""

    def __init__(self, function: Callable[..., Any], signature: str) -> None:
        self.function, self.signature = function, signature
        self._made: Any = None

    @property
    def made(self) -> Any:
        if self._made is None:
            with own_cache():
                from numba import cfunc

                self._made = cfunc(self.signature, cache=True, error_model="numpy")(self.function)
        return self._made

    @property
    def address(self) -> int:
        return int(self.made.address)

    def __call__(self, *args: Any) -> int:
        return int(self.made.ctypes(*args))


def c_function(signature: str) -> Callable[[Callable[..., Any]], Compiled]:
    """Decorate a function: ``@c_function("int32(float64, int64, int64, int64)")``."""
    return lambda function: Compiled(function, signature)


RHS = "int32(float64, int64, int64, int64)"


def data(array: NDArray[Any]) -> int:
    """Return the address of a contiguous array. The caller keeps the array alive."""
    if not array.flags.c_contiguous:
        raise AssertionError("compiled code takes contiguous arrays only")
    return address(array)


@cache
def lapack(name: str) -> int:
    """Return the address of a LAPACK function of scipy."""
    import ctypes

    from scipy.linalg import cython_lapack

    capsule = cython_lapack.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return int(api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule)))
