"""Entry points of the core by name: addresses from the built library, the jit, or plain Python."""

import ctypes
import gc
import time
from functools import cache
from typing import Any

from treemech.elements.compilation.callback import in_python
from treemech.elements.native import library
from treemech.elements.native.cache import cache_folder, compiling, kept, numba_cache
from treemech.elements.native.messages import log
from treemech.elements.native.numba_version import plain_python

_N, _F = ctypes.c_int64, ctypes.c_double
# C prototypes, the same as in dynamics.entries.table.ENTRIES, which cannot be read without importing numba
PROTOTYPES: dict[str, list[Any]] = {
    "rhs": [_F, _N, _N, _N],
    "general_hinge": [_N, _F, _N],
    "applied_loads": [_N, _F, _N],
    "composite": [_N, _F, _N],
    "reactions": [_N, _F, _N],
    "chord_element": [_N, _F, _N],
    "states": [_N] * 6,
    "forward_dynamics": [_N] * 7,
    "inverse_dynamics": [_N] * 7,
    "constraints": [_F, *[_N] * 5],
    "given_accelerations": [_F, _N, _N, _N],
    "consistent": [_N] * 6,
    "drive_loads": [_N] * 9,
    "loop_rhs": [_F, _N, _N, _N],
    "loop_residual": [_F, *[_N] * 3],
    "loop_project": [_F, *[_N] * 3],
    "loop_switch": [_F, *[_N] * 3],
    "loop_tangent": [_F, *[_N] * 3],
    "loop_dynamics": [_N] * 16,
    "elements": [_N] * 6,
    "remember": [_F, *[_N] * 3],
    "mass_matrix": [_N] * 6,
    "positions": [_N] * 5,
    "trace": [_N] * 8,
    "pose": [_N] * 8,
    "velocity": [_N] * 8,
    "end_jacobian": [_N] * 8,
    "energy": [_N] * 8,
    "momentum": [_N] * 6,
    "carry_chord_loads": [_N] * 9,
    "reach": [_F, *[_N] * 3],
    "integrate": [_N] * 20,
    "loop_integrate": [_N] * 20,
    "adams_integrate": [_N] * 20,
    "radau_integrate": [_N] * 20,
    "alpha_integrate": [_N] * 20,
    "derivatives": [_F, _N, _N],
    "row_derivatives": [_F, _N, _N],
    "jacobian": [_F, *[_N] * 3],
    "loop_jacobian": [_F, *[_N] * 3],
    "residual_jacobian": [_F, *[_N] * 3],
    "chord_duals": [_F, *[_N] * 3],
    "dual_hinge": [_N, _F, _N],
    "dual_loads": [_N, _F, _N],
    "dual_composite": [_N, _F, _N],
    "dual_chord": [_N, _F, _N],
    "dual_equations": [_F, *[_N] * 5],
    "lane_forward_dynamics": [_N] * 9,
    "lane_inverse_dynamics": [_N] * 9,
    "lane_mass_matrix": [_N] * 9,
    "lane_pose": [_N] * 10,
    "lane_energy": [_N] * 10,
    "lane_hinge": [_N] * 3,
    "lane_loads": [_N] * 3,
    "lane_rhs": [_N] * 4,
    "varied_hinge": [_N] * 3,
    "varied_loads": [_N] * 3,
    "varied_rhs": [_N] * 4,
    "lane_rk4": [_N] * 14,
    "lane_integrate": [_N] * 23,
    "lane_loop_rhs": [_N] * 4,
    "lane_loop_dynamics": [_N] * 11,
    "lane_chord": [_N] * 3,
    "lane_loop_project": [_N] * 4,
    "lane_loop_rk4": [_N] * 14,
    "lane_loop_integrate": [_N] * 23,
}
FIRST_SIMULATION = ("rhs", "integrate")


def way() -> str:
    """Return how the core runs in this process: "library", "jit" or "python"."""
    if library.open_library() is not None:
        return "library"
    return "python" if plain_python() else "jit"


@cache
def address(name: str) -> int:
    """Return the address of an entry point. Compile it if the library does not have it."""
    with compiling:
        return _make(name)[0]


@cache
def entry(name: str) -> Any:
    """Return an entry point to call from Python, with plain numbers and addresses."""
    return ctypes.CFUNCTYPE(ctypes.c_int32, *PROTOTYPES[name])(address(name))


@cache
def _announce() -> None:
    """Say once why the first use takes long: there is no library, and nothing in the cache yet."""
    if library.open_library() is None and next(cache_folder().rglob("*.nbi"), None) is None:
        log.warning(
            "no built library of the core (%s): numba compiles what is needed now, some 10 s%s",
            library.fault(),
            ", and keeps it" if kept() else "",
        )


@cache
def _make(name: str) -> tuple[int, object]:
    built = library.symbol(name) if way() == "library" else None
    if built is not None:
        return built, None
    with numba_cache():
        started = time.process_time()
        from numba import cfunc

        from ..entries.table import ENTRIES

        function: Any
        function, signature = ENTRIES[name]
        if way() == "python":
            pointer = ctypes.CFUNCTYPE(ctypes.c_int32, *PROTOTYPES[name])(in_python(function))
            return ctypes.cast(pointer, ctypes.c_void_p).value or 0, pointer
        _announce()
        collecting = gc.isenabled()
        gc.disable()  # the compiler makes millions of objects and no cycles worth looking for
        try:
            compiled = cfunc(signature, cache=True, error_model="numpy")(function)
        finally:
            if collecting:
                gc.enable()
        if not compiled.cache_hits:
            log.warning(
                "compiled the core's %s in %.1f s of CPU time (%s for the next process)",
                name,
                time.process_time() - started,
                "kept" if kept() else "not kept",
            )
        return compiled.address, compiled
