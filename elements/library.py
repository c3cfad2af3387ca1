"""The compiled core as a plain shared library, if one was built: found, chosen for this CPU, opened.

Two libraries are built with the package (dynamics.build): one for x86-64-v3 (AVX2, FMA), one for any x86-64.
They answer for exactly the sources they were made from; in a checkout with edited sources they are passed
over and the core is jitted.
"""

import ctypes
import hashlib
import json
import os
import sys
from functools import cache
from pathlib import Path

FOLDER = "_library"
MANIFEST = "core.json"
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
# Every source the compiled core is made of: these folders but for what never meets the compiler, and the kernels
# of dynamics
CORE_FOLDERS = ("elements", "kinematics")
NOT_CORE = (
    "assembly",
    "cache",
    "check",
    "check_constraint",
    "check_coupling",
    "check_energetic",
    "check_equations",
    "check_hinge",
    "check_load",
    "check_signal",
    "check_slopes",
    "differences",
    "library",
    "plan_slopes",
    "probe",
    "report",
    "trajectory",
)
CORE_FILES = (
    "adams", "alpha", "alpha_error", "alpha_memory", "alpha_passage", "alpha_reactions", "alpha_residual", "alpha_state",
    "alpha_step", "applied_loads", "articulated", "closed_steps", "collocation", "composites", "derivative_entries",
    "derivative_plan", "effort_derivatives", "effort_partials", "efforts", "entries", "entry_state",
    "inverse_matrix", "kkt", "loop_derivatives", "loop_plan", "loop_views", "loops", "lu", "ordering", "radau",
    "reaction_loads", "relative_derivatives", "residual_derivatives", "row_derivatives", "runge_kutta", "spatial",
    "stages", "state_jacobian", "step_memory", "step_output", "tableau", "tree_derivatives", "varied_entries",
    "varied_points", "virtual_work",
)  # fmt: skip


def package_folder() -> Path:
    """The folder of the facade package."""
    return Path(sys.modules["treemech"].__path__[0])


@cache
def core_sources() -> tuple[Path, ...]:
    """The files the core is compiled from, in a fixed order."""
    root = Path(__file__).resolve().parent.parent
    files = [f for folder in CORE_FOLDERS for f in (root / folder).glob("*.py") if f.stem not in NOT_CORE]
    return tuple(sorted([*files, *(root / "dynamics" / f"{name}.py" for name in CORE_FILES)]))


@cache
def core_hash() -> str:
    """Hash of the sources of the core: names the jit cache and marks the built library."""
    h = hashlib.sha256()
    for path in core_sources():
        h.update(path.name.encode())
        h.update(path.read_bytes())
    return h.hexdigest()[:16]


def wanted() -> bool:
    """Whether a built library may be used at all: TREEMECH_JIT=1 forces the jit."""
    return all(os.environ.get(name, "0") in ("", "0") for name in ("TREEMECH_JIT", "NUMBA_DISABLE_JIT"))


@cache
def manifest() -> dict[str, object]:
    """What the built library says about itself; empty if there is none for these sources."""
    path = package_folder() / FOLDER / MANIFEST
    try:
        content: dict[str, object] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return content if content.get("hash") == core_hash() else {}


@cache
def open_library() -> ctypes.CDLL | None:
    """The library for this CPU, or None."""
    if not wanted() or not manifest():
        return None
    folder = package_folder() / FOLDER
    try:
        base = ctypes.CDLL(str(folder / f"core-base{SUFFIX}"))
        if base.treemech_cpu_v3() and (folder / f"core-v3{SUFFIX}").exists():
            return ctypes.CDLL(str(folder / f"core-v3{SUFFIX}"))
    except (OSError, AttributeError):
        return None
    return base


@cache
def symbol(name: str) -> int | None:
    """Address of a function of the built library, or None."""
    library = open_library()
    if library is None:
        return None
    try:
        return ctypes.cast(getattr(library, "treemech_" + name), ctypes.c_void_p).value
    except AttributeError:
        return None
