"""Turn an element into an address that the compiled core can call.

Every element is one C function::

    int32 element(double *a, double *b, double t, double *parameters, double *out)      1 = ok

The arguments a, b and out depend on the role:

| role | a | b | out |
|---|---|---|---|
| hinge | q | u | motion record |
| signal | - | - | value record |
| load | place of the end | its velocities | end load |
| constraint | relative motion | s and s' | rows |
| coupling | q | u | rows |
| energetic | motion of the ends | - | loads |

There are three ways to such a function: the built library (built-in elements, without numba), numba (the
author's method, with `self` as a record of its parameters), or a Python callback with one warning, for a
method that cannot be compiled.

The part "dual" is the same function for dual numbers: a, b, parameters and out hold (number, derivative along
one direction). If a method cannot be compiled with dual parameters, its parameters are plain numbers (part
"dual_held"). An element that cannot be compiled for dual numbers at all is differenced.
"""

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from treemech.topology.arrays import Floats, addresses
from treemech.topology.errors import ElementError, TreemechError

from ..element import Element, kinds, record
from ..native import library
from ..native.messages import log
from .callback import C_ELEMENT, Entry, catching, python_entry
from .methods import DUAL_PART, HELD_PART, check_methods, form_of, is_dual_part, members_of, methods_of

_compiled: dict[tuple[Any, ...], Any] = {}


def make_entry(element: Element, part: str = "") -> Entry:
    """Return the entry of the element, or of its `remember`, by the fastest way there is."""
    check_methods(element)
    built = library_address(element, part)
    if built is not None:
        return Entry(built, "library", None)
    if os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0"):
        try:
            compiled = compile_entry(element, part)
            return Entry(compiled.address, "numba", compiled)
        except Exception as error:  # numba raises many kinds
            from .explain import cannot_compile

            cannot_compile(element, error, part)
    return python_entry(element, part)


def make_dual_entry(element: Element) -> Entry | None:
    """Return the entry of the element for dual numbers, or None if it has no such form."""
    members = [make_dual_entry(member) for _, member in members_of(element)]
    if None in members:
        return None
    dual = all(entry.dual for entry in members if entry)
    built = library_address(element, DUAL_PART)
    if built is not None:
        return Entry(built, "library", None, dual)
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") or make_entry(element).way == "python":
        return None
    for part in (DUAL_PART,) if members else (DUAL_PART, HELD_PART):
        try:
            compiled = compile_entry(element, part)
        except Exception as error:  # numba raises many kinds
            what = "is differenced" if part == HELD_PART else "is differenced by its parameters"
            log.info("%s %s: %s", element.kind, what, str(error).splitlines()[0])
            continue
        return Entry(compiled.address, "numba", compiled, part == DUAL_PART and dual)
    return None


def library_name(element: Element, part: str = "") -> str:
    """Return the name of an element in the built library; it names the counts that are not those of the class."""
    cls = type(element)
    form = form_of(element)
    counts = (
        [str(len(n) if isinstance(n, tuple) else n) for n in form if n is not None]
        if form != form_of(cls)
        else []
    )
    return "_".join(("element", cls.__name__, *counts, *([part] if part else [])))


def library_address(element: Element, part: str = "") -> int | None:
    """Return the address of a built-in element in the library, or None if it holds no form of these kinds."""
    cls = type(element)
    built = library.manifest().get("elements", {})
    if not cls.__module__.startswith("treemech.elements.") or not isinstance(built, dict):
        return None
    name = library_name(element, part)
    if built.get(name) != list(kinds(element)):
        return None
    return library.symbol(name)


def entry_globals(element: Element, part: str = "") -> tuple[dict[str, Any], set[Callable[..., Any]]]:
    """Return the names that the entry source uses, and the author's functions among them. Imports numba."""
    from . import numba_side

    seen: dict[Callable[..., Any], Any] = {}
    dual, found = is_dual_part(part), methods_of(element, part)
    methods = {name: numba_side.with_helpers(f, seen, dual) for name, f in found.items()}
    return numba_side.scope(element, methods, dual, part == HELD_PART), set(seen)


def compile_entry(element: Element, part: str = "") -> Any:
    """Return the element's method as a numba cfunc, from the disk cache if its source has not changed."""
    form = (type(element), part, *methods_of(element, part).values(), kinds(element), form_of(element))
    if form in _compiled:
        return _compiled[form]
    from ..native.cache import compiling  # like all that compiles, not for elements of the library

    with compiling:
        if form not in _compiled:  # another thread may have compiled it meanwhile
            _compiled[form] = _compile(element, part)
    return _compiled[form]


def _compile(element: Element, part: str) -> Any:
    from ..native.cache import numba_cache
    from .cache_key import cache_key, keepable
    from .source import entry_source

    with numba_cache():
        from . import numba_side

        started = time.process_time()
        scope, functions = entry_globals(element, part)
        source = entry_source(element, part)
        if keepable(functions):
            key = cache_key(source, type(element), functions)
            compiled = numba_side.as_cfunc(load_entry(f"{element.kind}_{key}", source, scope), key)
        else:
            exec(compile(source, f"<entry of {element.kind}>", "exec"), scope)
            compiled = numba_side.as_cfunc(scope["entry"])
        if not getattr(compiled, "cache_hits", 0):
            log.info("compiled %s in %.1f s", element.kind, time.process_time() - started)
    return compiled


def load_entry(name: str, source: str, scope: dict[str, Any]) -> Any:
    """Return the entry function of generated source, run as a module in a file, which numba's cache needs."""
    from importlib.util import module_from_spec, spec_from_file_location

    from ..native.cache import cache_folder

    path = cache_folder() / f"{name}.py"
    if not path.exists():
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(source)
        os.replace(temporary, path)
    spec = spec_from_file_location(f"treemech_entry_{name}", path)
    if spec is None or spec.loader is None:
        raise TreemechError(
            f"the generated file {path.name} cannot be loaded: clear the cache and try again."
        )
    module = module_from_spec(spec)
    module.__dict__.update(scope)
    sys.modules[spec.name] = module  # before execution, else numba stores the module as '<dynamic>'
    spec.loader.exec_module(module)
    return module.entry


def moves_by_differences(signal: Element) -> bool:
    """Tell whether the rates of a signal would be differences while compiled code is available.

    They are not accurate enough for a signal that prescribes a motion.
    """
    compiling = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
    return compiling and "value" in methods_of(signal) and make_entry(signal).way == "python"


def call(element: Element, role: str, a: Floats, b: Floats, t: float, out: Floats) -> None:
    """Call an element once through its address (checks, single evaluations)."""
    entry = make_entry(element)
    numbers, signals = record(element)
    for at, signal in signals:
        numbers[at : at + 3] = signal.at(t)
    pointers = [
        np.ascontiguousarray(x, dtype=np.float64) if x is not out else out for x in (a, b, numbers, out)
    ]
    with catching() as failure:
        at_a, at_b, at_numbers, at_out = addresses(pointers)
        status = C_ELEMENT(entry.address)(at_a, at_b, float(t), at_numbers, at_out)
    if status != 1:
        raise ElementError(f"{element.kind} failed at t = {t:.6g}.") from failure.exception
