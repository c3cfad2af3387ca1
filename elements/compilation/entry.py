"""From a method of an element to an address the compiled core can call.

Every element is one C function::

    int32 element(double *a, double *b, double t, double *parameters, double *out)      1 = ok

a, b and out mean q, u, motion record (hinge); -, -, value record (signal); end motion, end load (load); relative
motion, s and s', rows (constraint); q, u, rows (coupling); motion of the ends, -, loads (energetic). Three ways lead there: the built library (built-in
elements, no numba), numba (the method compiled as it stands, `self` a record of its parameters), or, for what
cannot be compiled, a Python callback with one warning.

Its part "dual" is the same function for numbers that carry their derivative along one direction: a, b, parameters and
out are pairs (number, derivative). A method that cannot be compiled with such parameters sees plain ones ("derivatives_held"); what
cannot be compiled for such numbers at all has no derivatives, and is differenced.
"""

import hashlib
import importlib.util
import inspect
import linecache
import os
import re
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError, TreemechError

from ..element import Element, kinds, parameters, record
from ..native import library
from ..native.cache import cache_folder, log, numba_cache
from .callback import C_ELEMENT, Entry, by_python, catching, python_entry
from .methods import (
    DUAL_PART,
    HELD_PART,
    check_methods,
    is_dual_part,
    members_of,
    methods_of,
    place_of,
    role_of,
    sizes,
)
from .source import entry_source


class ElementCompileWarning(UserWarning):
    """An element runs as Python because its method could not be compiled."""


_compiled: dict[tuple[Any, ...], Any] = {}
_warned: set[type] = set()


def make_entry(element: Element, part: str = "") -> Entry:
    """The element, or its `remember`, as an address, by the fastest way there is."""
    check_methods(element)
    address = library_address(element, part)
    if address is not None:
        return Entry(address, "library", None)
    if os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0"):
        try:
            compiled = compile_entry(element, part)
            return Entry(compiled.address, "numba", compiled)
        except Exception as error:  # numba raises many kinds
            _cannot_compile(element, error, part)
    return python_entry(element, part)


def make_dual_entry(element: Element) -> Entry | None:
    """The element on numbers with a derivative as an address; None if it has no such form."""
    members = [make_dual_entry(member) for _, member in members_of(element)]
    if None in members:
        return None
    dual = all(entry.dual for entry in members if entry)
    address = library_address(element, DUAL_PART)
    if address is not None:
        return Entry(address, "library", None, dual)
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


def library_name(cls: type, part: str = "") -> str:
    return f"element_{cls.__name__}" + (f"_{part}" if part else "")


def library_address(element: Element, part: str = "") -> int | None:
    """Address of a built-in element in the built library, if its parameters are of the kinds built in."""
    cls = type(element)
    built = library.manifest().get("elements", {})
    name = library_name(cls, part)
    if not cls.__module__.startswith("treemech.elements.") or not isinstance(built, dict):
        return None
    if sizes(element) != sizes(cls):  # it was built for the sizes of the class
        return None
    if built.get(name) != list(kinds(element)):
        return None
    return library.symbol(name)


def entry_globals(element: Element, part: str = "") -> tuple[dict[str, Any], set[Callable[..., Any]]]:
    """Names the entry source uses, and the author's functions among them. Imports numba."""
    from . import numba_side as compiling

    seen: dict[Callable[..., Any], Any] = {}
    derivatives, found = is_dual_part(part), methods_of(element, part)
    methods = {name: compiling.with_helpers(f, seen, derivatives) for name, f in found.items()}
    return compiling.scope(element, methods, derivatives, part == HELD_PART), set(seen)


def compile_entry(element: Element, part: str = "") -> Any:
    """A numba cfunc of the element's method, from the disk cache if its source has not changed."""
    key = (type(element), part, *methods_of(element, part).values(), kinds(element), sizes(element))
    if key in _compiled:
        return _compiled[key]
    with numba_cache():
        from . import numba_side as compiling

        started = time.process_time()
        scope, functions = entry_globals(element, part)
        source = entry_source(element, part)
        if keepable(functions):
            digest = hashlib.sha256(
                "\n".join(
                    (source, type(element).__qualname__, sources_of(functions), constants_of(functions))
                ).encode()
            ).hexdigest()[:16]
            compiled = compiling.as_cfunc(load_entry(f"{element.kind}_{digest}", source, scope), digest)
        else:
            exec(compile(source, f"<entry of {element.kind}>", "exec"), scope)
            compiled = compiling.as_cfunc(scope["entry"])
        if not getattr(compiled, "cache_hits", 0):
            log.info("compiled %s in %.1f s", element.kind, time.process_time() - started)
    _compiled[key] = compiled
    return compiled


def keepable(functions: set[Callable[..., Any]]) -> bool:
    """Whether compiled code may go to the disk: every function from a file that can be imported, no closures."""

    def from_file(function: Callable[..., Any]) -> bool:
        module = sys.modules.get(function.__module__)
        return (
            getattr(module, "__dict__", None) is function.__globals__
            and Path(inspect.getsourcefile(function) or "").is_file()
            and not function.__closure__
        )

    return all(from_file(f) for f in functions)


def sources_of(functions: set[Callable[..., Any]]) -> str:
    """The whole files of the functions, and which of their lines are meant; compiled code also knows their modules by name.

    A line may hold several lambdas, and a loop makes many of one that differ in their defaults: code and defaults count.
    """
    files = sorted({inspect.getsourcefile(f) or "" for f in functions})
    lines = sorted(
        (f.__module__, f.__qualname__, f.__code__.co_firstlineno, _code(f.__code__), *_defaults(f))
        for f in functions
    )
    return "\n".join([*(Path(f).read_text() for f in files), repr(lines)])


def _code(code: CodeType) -> str:
    """What a function does, whatever it is called and wherever it stands."""
    constants = [_code(c) if inspect.iscode(c) else repr(c) for c in code.co_consts]
    return repr((code.co_code.hex(), code.co_names, code.co_varnames, constants))


def _defaults(function: Callable[..., Any]) -> list[str]:
    """Values of arguments that are not given, which compiled code holds frozen."""
    values = [
        *(function.__defaults__ or ()),
        *(x for _, x in sorted((function.__kwdefaults__ or {}).items())),
    ]
    return [
        f"{x.shape} {x.dtype} {hashlib.sha256(x.tobytes()).hexdigest()}"
        if isinstance(x, np.ndarray)
        else repr(x)
        for x in values
    ]


def constants_of(functions: set[Callable[..., Any]]) -> str:
    """The module constants the functions use, which compiled code holds frozen: they may stand in any file."""
    from .numba_side import names_in

    found = []
    for function in functions:
        names = sorted(names_in(function.__code__))
        for name in names:
            value = function.__globals__.get(name)
            values = [(name, value)]
            if inspect.ismodule(value):
                values = [(f"{name}.{n}", getattr(value, n, None)) for n in names]
            for label, x in values:
                if isinstance(x, np.ndarray):
                    found.append(
                        f"{function.__qualname__} {label}: {x.shape} {hashlib.sha256(x.tobytes()).hexdigest()}"
                    )
                elif isinstance(x, (int, float, complex, str, tuple, np.generic)):
                    found.append(f"{function.__qualname__} {label}: {x!r}")
    return "\n".join(sorted(found))


def load_entry(name: str, source: str, scope: dict[str, Any]) -> Any:
    """The entry function of generated source, executed as a module in a real file: numba's cache wants one."""
    path = cache_folder() / f"{name}.py"
    if not path.exists():
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(source)
        os.replace(temporary, path)
    spec = importlib.util.spec_from_file_location(f"treemech_entry_{name}", path)
    if spec is None or spec.loader is None:
        raise TreemechError(
            f"the generated file {path.name} cannot be loaded: clear the cache and try again."
        )
    module = importlib.util.module_from_spec(spec)
    module.__dict__.update(scope)
    sys.modules[spec.name] = module  # before execution, else numba stores the module as '<dynamic>'
    spec.loader.exec_module(module)
    return module.entry


def _cannot_compile(element: Element, error: Exception, part: str = "") -> None:
    """Warn once that the element runs as Python; raise where that is no way out."""
    for name, function in methods_of(element, part).items():
        line, cause = explain(function, error)
        if line is not None:
            break
    else:
        if role_of(element) == "signal":  # it is compiled, but what it gives is no number
            raise ElementError(
                f"{element.kind} ({place_of(element, function)}) gives no number of time: {explain(function, error)[1]}"
            ) from None
        raise error  # not the author's fault
    file = Path(inspect.getsourcefile(function) or "?")
    text = linecache.getline(str(file), line).strip()
    message = f"{element.kind}.{name} cannot be compiled: {file.name}, line {line}: `{text}`: {cause}"
    if not by_python(element, part):
        raise ElementError(
            f"{message}. A {name} needs numba for its derivatives: write evaluate() with partials instead, "
            "or use plain scalar Python here."
        ) from None
    if "Unknown attribute" in cause and "of type Self" in cause:
        fields = ", ".join(p.name for p in parameters(element))
        raise ElementError(f"{message}. The numeric fields are: {fields or 'none'}.") from None
    if type(element) not in _warned:
        _warned.add(type(element))
        rates = ", its rates by differences" if name == "value" else ""
        warnings.warn(
            f"{message}; it runs as a Python callback{rates} (about 1000 ns per call instead of 10).",
            ElementCompileWarning,
            stacklevel=2,
        )


_DROP = (
    "During:",
    "Failed in",
    "File ",
    "There are",
    "- of which",
    "Overload",
    "Known signatures",
    ">>>",
    "^",
)
_CAUSE = re.compile(
    r"Unknown attribute|Untyped global|NameError|Cannot unify|No implementation|not supported|unsupported"
    r"|Use of|No conversion|annot|Invalid"
)


def explain(function: Callable[..., Any], error: Exception) -> tuple[int | None, str]:
    """(line of the author's method, cause in one sentence); the line is None if it lies elsewhere."""
    try:
        file = os.path.basename(inspect.getsourcefile(function) or "")
        first = function.__code__.co_firstlineno
        last = first + len(inspect.getsourcelines(function)[0])
    except (TypeError, OSError, AttributeError):
        return None, str(error)
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    found = re.findall(r'File "([^"]+)", line (\d+)', text) + re.findall(r"(\S+\.py) \((\d+)\)", text)
    lines = [int(line) for name, line in found if os.path.basename(name) == file]
    location = getattr(error, "loc", None)
    if location is not None and os.path.basename(location.filename or "") == file:
        lines.append(location.line)
    inside = [line for line in lines if first <= line < last]
    messages = [m.strip() for m in text.splitlines() if m.strip()]
    causes = [m for m in messages if _CAUSE.search(m) and not m.startswith(("Failed", "During", "There"))]
    rest = [m for m in messages if not m.startswith(_DROP)]
    cause = re.sub(r"\.? ?Raised from .*", "", (causes or rest or messages or ["?"])[0])
    return (inside[-1] if inside else None), cause


def moves_by_differences(signal: Element) -> bool:
    """Whether its rates would be differences, though others are compiled: not good enough for what moves something."""
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
        addresses = [x.__array_interface__["data"][0] for x in pointers]
        status = C_ELEMENT(entry.address)(addresses[0], addresses[1], float(t), addresses[2], addresses[3])
    if status != 1:
        raise ElementError(f"{element.kind} failed at t = {t:.6g}.") from failure.exception
