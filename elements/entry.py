"""From a method of an element to an address the compiled core can call.

Every element is one C function::

    int32 element(double *a, double *b, double t, double *parameters, double *out)      1 = ok

a, b and out mean q, u, motion record (hinge); -, -, value record (signal); end motion, end load (load); relative
motion, s and s', rows (constraint); q, u, rows (coupling); motion of the ends, -, loads (energetic). Three ways lead there: the built library (built-in
elements, no numba), numba (the method compiled as it stands, `self` a record of its parameters), or, for what
cannot be compiled, a Python callback with one warning.

Its part "slopes" is the same function for numbers that carry their derivative along one direction: a, b, parameters and
out are pairs (number, derivative). A method that cannot be compiled with such parameters sees plain ones ("slopes_held"); what
cannot be compiled for such numbers at all has no slopes, and is differenced.
"""

import ctypes
import hashlib
import importlib.util
import inspect
import linecache
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from treemech.topology.errors import ElementError, TreemechError

from . import library
from .cache import cache_folder, log, numba_cache
from .constraint import Constraint, RelativeMotion, rows_layout, rows_size, rows_views
from .coupling import Coupling, coupling_layout, coupling_size, coupling_views
from .element import Element, Floats, kinds, parameters, record
from .energetic import Deformed, Effort, Energetic
from .energetic import load_views as ends_load_views
from .energetic import motion_views as ends_motion_views
from .hinge import Hinge, has_pose, motion_layout, motion_views
from .load import EndLoad, EndMotion
from .signal import Function, Signal

C_ELEMENT = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p
)


class ElementCompileWarning(UserWarning):
    """An element runs as Python because its method could not be compiled."""


class Entry(NamedTuple):
    """An element as the core calls it. `way`: "library", "numba" or "python"."""

    address: int
    way: str
    keep: object  # what must stay alive while the address is in use
    varied: bool = True  # of slopes: whether they follow its parameters too


class Failure:
    """The exception of the element that failed last, caught on its way out of the core."""

    exception: BaseException | None = None


SLOPES, HELD = "slopes", "slopes_held"
_GIVEN_SLOPES = ("stiffness_matrix", "damping_matrix")
ROLES = ("hinge", "constraint", "coupling", "energetic", "signal", "load")
_SIZES = ("n_holonomic", "n_nonholonomic", "n_auxiliary", "n_arguments")
_COUNTS = ("n_ends", "n_coordinates", "n_states", "input_names", "n_memory", "n_reactions", "n_deformations")
_failure = Failure()
_compiled: dict[tuple[Any, ...], Any] = {}
_warned: set[type] = set()


def role_of(element: Element) -> str:
    """ "hinge", "constraint", "coupling", "energetic", "signal" or "load"."""
    for role in ROLES:
        if getattr(element, "is_" + role, False):
            return role
    raise ElementError(f"{element.kind} is no {', '.join(ROLES[:-1])} or {ROLES[-1]}: subclass one of them.")


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


def make_slopes(element: Element) -> Entry | None:
    """The element on numbers with a derivative as an address; None if it has no such form."""
    members = [make_slopes(member) for _, member in members_of(element)]
    if None in members:
        return None
    varied = all(entry.varied for entry in members if entry)
    address = library_address(element, SLOPES)
    if address is not None:
        return Entry(address, "library", None, varied)
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") or make_entry(element).way == "python":
        return None
    for part in (SLOPES,) if members else (SLOPES, HELD):
        try:
            compiled = compile_entry(element, part)
        except Exception as error:  # numba raises many kinds
            what = "is differenced" if part == HELD else "is differenced by its parameters"
            log.info("%s %s: %s", element.kind, what, str(error).splitlines()[0])
            continue
        return Entry(compiled.address, "numba", compiled, part == SLOPES and varied)
    return None


def members_of(element: Any) -> list[tuple[int, Element]]:
    """Of an element made of others these, each with the place of its address in the record of the whole."""
    found: list[tuple[int, Element]] = element.members_at(0) if getattr(element, "sizes_at", ()) else []
    return found


def is_sloped(part: str) -> bool:
    """Whether it is a form for numbers with a derivative."""
    return part in (SLOPES, HELD)


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


def sizes(element: Any) -> tuple[Any, ...]:
    """What shapes the compiled form beside class and kinds: numbers of rows, auxiliary unknowns, arguments, ends, ..."""
    names = _COUNTS if getattr(element, "is_energetic", False) else _SIZES
    if getattr(element, "sizes_at", ()):  # they stand in the record
        return ()
    return tuple(getattr(element, name, None) for name in names)


# ---------------------------------------------------------------- the author's method
def methods_of(element: Element, part: str = "") -> dict[str, Callable[..., Any]]:
    """What the author wrote, by name: evaluate, or pose / value alone, or residual and slip, or deformation and effort."""
    cls: Any = type(element)
    if part and not is_sloped(part):
        return {part: getattr(cls, part)}
    if isinstance(element, Function):
        return {"value": element.function}
    if isinstance(element, Energetic) and cls.evaluate is Energetic.evaluate:
        names = ["deformation", "effort"] if hasattr(cls, "effort") else ["deformation", "law", "balance"]
        names += _GIVEN_SLOPES if part else ()
        found = {name: getattr(cls, name) for name in names if hasattr(cls, name)}
        return found or {"evaluate": cls.evaluate}
    if isinstance(element, Hinge) and has_pose(element):
        return {"pose": cls.pose}
    if isinstance(element, Signal) and cls.evaluate is Signal.evaluate and hasattr(cls, "value"):
        return {"value": cls.value}
    if getattr(cls, "evaluate", None) in (Constraint.evaluate, Coupling.evaluate):
        equations = {name: getattr(cls, name) for name in ("residual", "slip") if hasattr(cls, name)}
        return equations or {"evaluate": cls.evaluate}
    return {"evaluate": cls.evaluate}


_SLIP = ("offset", "rotation", "velocity", "angular_velocity", "s", "t", "f")
_ARGUMENTS = {
    ("hinge", "evaluate"): ("self", "q", "u", "t", "motion"),
    ("hinge", "pose"): ("self", "q", "t", "offset", "rotation"),
    ("signal", "evaluate"): ("self", "t", "out"),
    ("signal", "value"): ("self", "t"),
    ("load", "evaluate"): ("self", "end", "t", "load"),
    ("energetic", "evaluate"): ("self", "motion", "t", "out"),
    ("energetic", "deformation"): ("self", "position", "rotation", "t", "eps"),
    ("energetic", "effort"): ("self", "now", "t", "out"),
    ("energetic", "law"): ("self", "now", "effort", "t", "f"),
    ("energetic", "balance"): ("self", "now", "t", "out"),
    ("energetic", "remember"): ("self", "motion", "t", "memory"),
    ("energetic", "stiffness_matrix"): ("self", "now", "t", "out"),
    ("energetic", "damping_matrix"): ("self", "now", "t", "out"),
    ("constraint", "evaluate"): ("self", "motion", "t", "rows"),
    ("constraint", "residual"): ("self", "offset", "rotation", "s", "t", "f"),
    ("constraint", "slip"): ("self", *_SLIP),
    ("coupling", "evaluate"): ("self", "q", "u", "t", "rows"),
    ("coupling", "residual"): ("self", "q", "t", "f"),
    ("coupling", "slip"): ("self", "q", "u", "t", "f"),
}


def place_of(element: Element, function: Callable[..., Any]) -> str:
    """`file.py, line N` of a method."""
    try:
        return f"{Path(inspect.getsourcefile(function) or '?').name}, line {function.__code__.co_firstlineno}"
    except (TypeError, AttributeError):
        return f"class {element.kind}"


def check_methods(element: Element) -> None:
    """Refuse an element that lacks a method, or whose method takes other arguments, naming class and line."""
    role, methods = role_of(element), methods_of(element)
    other = {"hinge": "pose", "signal": "value", "constraint": "residual", "coupling": "residual",
             "energetic": "effort"}.get(role)  # fmt: skip
    base: Any = {"hinge": Hinge, "signal": Signal, "constraint": Constraint, "coupling": Coupling,
                 "energetic": Energetic}.get(role)  # fmt: skip
    if base is not None and methods.get("evaluate") is base.evaluate:
        raise ElementError(
            f"{element.kind} has neither evaluate() nor {other}({', '.join(_ARGUMENTS[role, str(other)])}): "
            "write one of them."
        )
    if isinstance(element, Function):
        return
    if isinstance(element, Energetic):
        check_counts(element, methods)
    for name, function in (
        *methods_of(element, SLOPES).items(),
        *(methods_of(element, "remember").items() if remembers(element) else ()),
    ):
        wanted = _ARGUMENTS[role, name]
        try:
            count = len(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            continue
        if count != len(wanted):
            raise ElementError(
                f"{element.kind}.{name} ({place_of(element, function)}) takes {count} arguments; "
                f"wanted {name}({', '.join(wanted)})."
            )
    if isinstance(element, (Constraint, Coupling)):
        check_sizes(element, methods)
    if isinstance(element, Hinge):
        name = next(iter(methods))
        n, k = element.n_coordinates, element.euler_parameters
        if not isinstance(n, int) or not 0 <= n <= 7 or element.n_speeds > 6:
            raise ElementError(f"{element.kind}.n_coordinates is {n!r}; wanted an integer from 0 to 7.")
        if k is not None and name == "pose":
            raise ElementError(
                f"{element.kind} has euler_parameters and a pose alone: a pose has u = q'; write evaluate()."
            )
        if k is not None and not 0 <= k <= n - 4:
            raise ElementError(
                f"{element.kind}.euler_parameters is {k}: q[{k}:{k + 4}] does not fit {n} coordinates."
            )


def remembers(element: Element) -> bool:
    """Whether it writes down something after every accepted step."""
    return bool(getattr(element, "n_memory", 0)) and hasattr(type(element), "remember")


def check_counts(element: Energetic, methods: Mapping[str, Callable[..., Any]]) -> None:
    """Refuse counts that are none, and methods that do not go with them."""
    kind = element.kind
    for name, n in zip(_COUNTS, sizes(element), strict=True):
        if name == "input_names":
            if not isinstance(n, tuple) or not all(isinstance(x, str) for x in n):
                raise ElementError(f"{kind}.input_names is {n!r}; wanted a tuple of names.")
        elif not (n is None and name == "n_ends") and (
            not isinstance(n, int) or isinstance(n, bool) or n < 0
        ):
            raise ElementError(f"{kind}.{name} is {n!r}; wanted an integer of at least 0.")
    for name, given, wanted in (
        ("initial", element.initial(), element.n_states),
        ("memory", element.memory(), element.n_memory),
    ):
        if np.shape(given) != (wanted,) or not np.all(np.isfinite(np.asarray(given, dtype=np.float64))):
            raise ElementError(f"{kind}.{name}() is {given!r}; wanted {wanted} finite numbers.")
    if any(k not in range(element.n_states) for k in element.settled):
        raise ElementError(
            f"{kind}.settled is {element.settled!r}; it has {element.n_states} states, from 0."
        )
    if "evaluate" in methods:
        return
    if element.n_deformations < 1:
        raise ElementError(
            f"{kind}.n_deformations is {element.n_deformations}: say how many deformations it has."
        )
    if element.n_reactions:
        raise ElementError(f"{kind} depends on a reaction: write evaluate(self, motion, t, out).")
    if "effort" not in methods and "law" not in methods:
        raise ElementError(f"{kind} has deformation() and neither effort() nor law(): write one of them.")
    if "deformation" not in methods and (element.n_ends or element.n_coordinates != element.n_deformations):
        raise ElementError(
            f"{kind} has no deformation(self, position, rotation, t, eps): write it, or set n_ends = 0 and n_coordinates = "
            "n_deformations to deform with hinge coordinates."
        )


def check_sizes(element: Constraint | Coupling, methods: Mapping[str, Callable[..., Any]]) -> None:
    """Refuse numbers of rows that are none, and rows without the method that fills them."""
    counts = {name: n for name in _SIZES if (n := getattr(element, name, None)) is not None}
    for name, n in counts.items():
        if not isinstance(n, int) or isinstance(n, bool) or n < 0:
            raise ElementError(f"{element.kind}.{name} is {n!r}; wanted an integer of at least 0.")
    if isinstance(element, Coupling) and not element.n_arguments:
        raise ElementError(
            f"{element.kind}.n_arguments is {element.n_arguments}: say how many coordinates it joins, "
            f"{element.kind}(...).joining(2)."
        )
    if element.n_holonomic + element.n_nonholonomic == 0:
        raise ElementError(f"{element.kind} has no equations: set n_holonomic or n_nonholonomic.")
    position = "n_holonomic + n_auxiliary" if isinstance(element, Constraint) else "n_holonomic"
    n_velocity = element.n_nonholonomic
    for name, number, n in (
        ("residual", position, element.n_rows - n_velocity),
        ("slip", "n_nonholonomic", n_velocity),
    ):
        if "evaluate" in methods or (n > 0) == (name in methods):
            continue
        wanted = f"{name}({', '.join(_ARGUMENTS[role_of(element), name])})"
        raise ElementError(
            f"{element.kind} has {number} = {n} and no {wanted}: write it, or evaluate()."
            if n
            else f"{element.kind} has {name}() ({place_of(element, methods[name])}) and {number} = 0: say how many "
            "equations it has."
        )


# ---------------------------------------------------------------- compiled by numba
def _view(pointer: str, at: int | str, shape: Iterable[int | str], part: str) -> str:
    """Source of an array on the memory behind a pointer; of the slopes an array of pairs."""
    extents = "".join(f"{n}, " for n in shape)
    if not is_sloped(part):
        return f"carray(shift({pointer}, {at}), ({extents}))"
    return f"as_dual(carray(shift({pointer}, 2 * ({at})), ({extents}2)), 1)"


def entry_source(element: Element, part: str = "") -> str:
    """Source of the C function around the author's method."""
    role, names = role_of(element), "/".join(methods_of(element, part))
    jet = names not in ("evaluate", "value") and role != "energetic"
    lines, items, jets = _self_lines(element, "self", {SLOPES: SLOPES, HELD: "plain"}.get(part, ""), jet)
    if is_sloped(part) and isinstance(element, Energetic) and "evaluate" not in methods_of(element, part):
        more, _, _ = _self_lines(element, "plain", "plain", False)
        lines += [*more, "both = Both(self, plain)"]

    def views(places: Iterable[tuple[str, tuple[int, ...], int]], pointer: str = "out_") -> str:
        return ", ".join(_view(pointer, at, shape, part) for _, shape, at in places)

    if isinstance(element, Energetic):
        lines += _energetic_lines(element, part, items, jets)
    elif getattr(element, "sizes_at", ()):
        lines += _assembled_lines(element, part)
    elif isinstance(element, Hinge):
        n, m = element.n_coordinates, element.n_speeds
        lines.append(f"q = {_view('a_', 0, (n,), part)}")
        lines.append(f"u = {_view('b_', 0, (m,), part)}")
        lines.append(f"method(self, q, u, t, Motion({views(motion_layout(m))}))")
    elif isinstance(element, Constraint):
        na = element.n_auxiliary
        pose = (("", (3,), 0), ("", (3, 3), 3), ("", (3,), 12), ("", (3,), 15))
        own = (("", (na,), 0), ("", (na,), na))
        lines.append(f"motion = RelativeMotion({views(pose, 'a_')}, {views(own, 'b_')})")
        lines.append(f"method(self, motion, t, Rows({views(rows_layout(element.n_rows, na))}))")
    elif isinstance(element, Coupling):
        k = element.n_arguments or 0
        q, u = _view("a_", 0, (k,), part), _view("b_", 0, (k,), part)
        lines.append(f"method(self, {q}, {u}, t, CouplingRows({views(coupling_layout(element.n_rows, k))}))")
    elif role == "signal":
        lines.append(f"method(self, t, {_view('out_', 0, (3,), part)})")
    else:
        place, two = (("", (3,), 0), ("", (3, 3), 3)), (("", (3,), 0), ("", (3,), 3))
        lines.append(f"end = EndMotion({views(place, 'a_')}, {views(two, 'b_')})")
        lines.append(f"method(self, end, t, EndLoad({views(two)}))")
    body = "\n".join("    " + line for line in lines)
    head = f"# C entry of {element.kind}.{names}" + (
        f", sizes {sizes(element)}" if any(sizes(element)) else ""
    )
    return f"{head}\ndef entry(a_, b_, t, par_, out_):\n{body}\n    return 1\n"


def _self_lines(
    element: Element, name: str, form: str, jet: bool
) -> tuple[list[str], list[str], dict[int, str]]:
    """Source of the author's `self` from the record: lines, items, and those that are jets where a jet is wanted.

    form "": plain numbers in a plain record; SLOPES: pairs; "plain": the numbers alone out of pairs.
    """
    one = {"": "par_[{}]", SLOPES: "pair(par_, {})", "plain": "par_[2 * ({})]"}[form]
    size, view = {
        "": ("par_[{}]", "carray(shift(par_, {at}), {shape})"),
        SLOPES: ("par_[2 * ({})]", "as_dual(carray(shift(par_, 2 * ({at})), {shape} + (2,)), 1)"),
        "plain": ("par_[2 * ({})]", "carray(shift(par_, 2 * ({at})), {shape} + (2,))[..., 0]"),
    }[form]
    lines, items, jets, start, arrays = list[str](), list[str](), dict[int, str](), 0, list[int]()
    for p in parameters(element):
        if p.kind == "scalar":
            items.append(one.format(start))
            start += 1
        elif p.kind == "signal":
            three = ", ".join(one.format(start + j) for j in range(3))
            jets[len(items)] = f"jet_signal(WIDTH, {three}, N)"
            items.append(jets[len(items)] if jet else f"SignalValue({three})")
            start += 3
        else:
            arrays.append(int(p.kind[5:]))
    if arrays:
        lines.append(f"at = {start}")
    for k, ndim in enumerate(arrays):
        own = f"{name}_{k}"
        extents = [f"int({size.format(f'at + {j}')})" for j in range(ndim)]
        lines.append(f"shape = ({', '.join(extents)},)")
        lines.append(f"{own} = {view.format(at=f'at + {ndim}', shape='shape')}")
        lines.append(f"at = at + {ndim} + {' * '.join(f'shape[{j}]' for j in range(ndim))}")
        items.append(own)
    return [*lines, f"{name} = Self({', '.join(items)})" if items else f"{name} = 0"], items, jets


def _assembled_lines(element: Any, part: str) -> list[str]:
    """The call of an element made of others: one compiled form, the sizes stand in its record."""
    sizes = [f"int(par_[{2 * at if is_sloped(part) else at}])" for at in element.sizes_at]
    call = f"method(self, {_view('a_', 0, (8,), part)}, {_view('b_', 0, (8,), part)}, t, "
    if isinstance(element, Hinge):
        views = [
            _view(
                "out_", f"{start} + {one - start} * m", ("m", 3) if name.endswith("partials") else shape, part
            )
            for (name, shape, start), (_, _, one) in zip(motion_layout(0), motion_layout(1), strict=True)
        ]
        return [f"m = {sizes[0]}", f"{call}Motion({', '.join(views)}))"]
    views = [_view("out_", f"{k} * n", ("n",), part) for k in range(3)]
    views.append(_view("out_", "3 * n", ("n", "k"), part))
    return [f"n, k = {', '.join(sizes)}", f"{call}CouplingRows({', '.join(views)}))"]


def _energetic_lines(element: Energetic, part: str, items: list[str], jets: dict[int, str]) -> list[str]:
    """The call of an energetic element: views on its two records, then the method."""
    n, methods = element.n, methods_of(element, part)

    def views(name: str, pointer: str, places: list[tuple[str, tuple[int, ...], int]]) -> str:
        return f"{name} = {name.title()}({', '.join(_view(pointer, k, s, part) for _, s, k in places)})"

    lines = [views("motion", "a_", n.motion)]
    if part == "remember":
        return [*lines, f"method(self, motion, t, carray(out_, ({n.memory},)))"]
    lines.append(views("load", "out_", n.load))
    if "law" not in methods:
        lines += [f"for k in range({n.deformations}):", "    load.effort[k] = 0.0"]
    if n.reactions and not is_sloped(part):
        slopes = f"carray(shift(out_, {n.load_size}), ({6 * n.ends + n.coordinates}, 6))"
        return [*lines, f"method(self, motion, t, load, {slopes})"]
    if "evaluate" in methods:
        return [*lines, "method(self, motion, t, load)"]
    with_jets = ", ".join(jets.get(k, item) for k, item in enumerate(items))
    lines.append(f"jets = Self({with_jets})" if jets else "jets = self")
    return [*lines, f"method({'both' if is_sloped(part) else 'self'}, jets, motion, t, load)"]


def entry_globals(element: Element, part: str = "") -> tuple[dict[str, Any], set[Callable[..., Any]]]:
    """Names the entry source uses, and the author's functions among them. Imports numba."""
    from . import compiling

    seen: dict[Callable[..., Any], Any] = {}
    slopes, found = is_sloped(part), methods_of(element, part)
    methods = {name: compiling.with_helpers(f, seen, slopes) for name, f in found.items()}
    return compiling.scope(element, methods, slopes, part == HELD), set(seen)


def compile_entry(element: Element, part: str = "") -> Any:
    """A numba cfunc of the element's method, from the disk cache if its source has not changed."""
    key = (type(element), part, *methods_of(element, part).values(), kinds(element), sizes(element))
    if key in _compiled:
        return _compiled[key]
    with numba_cache():
        from . import compiling

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
    from .compiling import names_in

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
    for name, function in methods_of(element, part).items():  # noqa: B007
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
        warnings.warn(
            f"{message}; it runs as a Python callback (about 1000 ns per call instead of 10).",
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


# ---------------------------------------------------------------- as Python
def python_self(element: Element, t: float) -> Any:
    """The element with its signals replaced by their values at t, as a compiled method sees them."""
    if getattr(element, "sizes_at", ()):  # made of others: their addresses, and their signals at t
        numbers, inner = record(element)
        for at, signal in inner:
            numbers[at : at + 3] = signal.at(t)
        return _WithSignals(element, {"numbers": numbers[1:]})
    signals = [p for p in parameters(element) if p.kind == "signal"]
    if not signals:
        return element
    return _WithSignals(element, {p.name: p.value.at(t) for p in signals})


class _WithSignals:
    def __init__(self, element: Element, values: Mapping[str, Any]) -> None:
        self._element = element
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._element, name)


def _doubles(address: int | None, n: int) -> Floats:
    return np.ctypeslib.as_array((ctypes.c_double * n).from_address(address or 0)) if n else np.zeros(0)


def by_python(element: Element, part: str = "") -> bool:
    """Whether the element can run as Python: nothing in it needs derivatives."""
    names = set(methods_of(element, part))
    return bool(names <= {"evaluate", "value", "effort", "remember"}) and not getattr(
        element, "n_reactions", 0
    )


def value_and_rates(function: Callable[[float], Any], t: float, h: float = 1e-3) -> Floats:
    """A function of time that cannot be compiled, its rate and acceleration by differences of sixth order.

    >>> value_and_rates(lambda t: t**3, 2.0).round(6).tolist()
    [8.0, 12.0, 12.0]
    """
    x = np.array([float(function(t + k * h)) for k in range(-3, 4)])
    rate = np.array([-1, 9, -45, 0, 45, -9, 1]) @ x / (60.0 * h)
    acceleration = np.array([2, -27, 270, -490, 270, -27, 2]) @ x / (180.0 * h * h)
    return np.array([x[3], rate, acceleration])


def moves_by_differences(signal: Element) -> bool:
    """Whether its rates would be differences, though others are compiled: not good enough for what moves something."""
    compiling = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
    return compiling and "value" in methods_of(signal) and make_entry(signal).way == "python"


def python_entry(element: Element, part: str = "") -> Entry:
    """The element's method behind a ctypes callback; exceptions are kept for the driver."""
    role, (name, function) = role_of(element), next(iter(methods_of(element, part).items()))
    if not by_python(element, part):
        raise ElementError(
            f"{element.kind}.{name} needs numba for its derivatives: unset NUMBA_DISABLE_JIT, or write evaluate()."
        )
    views: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def look(a: int, b: int, out: int) -> tuple[Any, ...]:
        if isinstance(element, Hinge):
            n, m = element.n_coordinates, element.n_speeds
            return _doubles(a, n), _doubles(b, m), motion_views(_doubles(out, 24 + 6 * m), m)
        if isinstance(element, Constraint):
            n, na = element.n_rows, element.n_auxiliary
            pose = _doubles(a, 18)
            s = _doubles(b, 2 * na)
            motion = RelativeMotion(
                pose[:3], pose[3:12].reshape(3, 3), pose[12:15], pose[15:], s[:na], s[na:]
            )
            return motion, rows_views(_doubles(out, rows_size(n, na)), n, na)
        if isinstance(element, Coupling):
            n, k = element.n_rows, element.n_arguments or 0
            return _doubles(a, k), _doubles(b, k), coupling_views(_doubles(out, coupling_size(n, k)), n, k)
        if isinstance(element, Energetic):
            motion_ = ends_motion_views(_doubles(a, element.n.motion_size), element.n)
            if part:
                return motion_, _doubles(out, element.n_memory)
            load = ends_load_views(_doubles(out, element.n.load_size), element.n)
            if name == "effort":
                now = Deformed(load.deformation, motion_.u, motion_.x, motion_.inputs, motion_.memory)
                return motion_, load, now, Effort(load.effort, *load[3:7])
            return motion_, load
        if role == "signal":
            return (_doubles(out, 3),)
        end = EndMotion(
            _doubles(a, 3), _doubles(a + 24, 9).reshape(3, 3), _doubles(b, 3), _doubles(b + 24, 3)
        )
        return end, EndLoad(_doubles(out, 3), _doubles(out + 24, 3))

    def callback(a: int, b: int, t: float, par: int, out: int) -> int:
        try:
            key = (a, b, out)
            if key not in views:
                views[key] = look(a, b, out)
            if role in ("hinge", "coupling"):
                q, u, filled = views[key]
                function(python_self(element, t), q, u, t, filled)
            elif name == "value":
                value = function if isinstance(element, Function) else partial(function, element)
                views[key][0][:] = value_and_rates(value, t)
            elif role == "signal":
                function(element, t, views[key][0])
            elif name == "effort":
                motion, load, now, effort = views[key]
                load.deformation[:] = motion.q
                load.effort[:] = 0.0
                function(python_self(element, t), now, t, effort)
                load.load[:] = -load.effort
            else:
                function(python_self(element, t), views[key][0], t, views[key][1])
            return 1
        except BaseException as error:
            _failure.exception = error
            return 0

    pointer = C_ELEMENT(callback)
    address = ctypes.cast(pointer, ctypes.c_void_p).value
    if address is None:
        raise TreemechError(f"{element.kind}: no callback could be made.")
    return Entry(address, "python", pointer)


# ---------------------------------------------------------------- exceptions on their way out
def in_python(function: Callable[..., Any]) -> Callable[..., int]:
    """A function behind a ctypes callback: what it raises is kept for the driver, and its status is 0."""

    def guarded(*args: Any) -> int:
        try:
            return int(function(*args))
        except BaseException as error:
            _failure.exception = error
            return 0

    return guarded


@contextmanager
def catching() -> Iterator[Failure]:
    """Keep the exception of a failing element while the core runs.

    A compiled method that raises returns 0 to the core; the exception itself arrives at sys.unraisablehook.
    """
    _failure.exception = None
    before = sys.unraisablehook

    def hook(event: Any) -> None:
        if "CPUContext" in str(event.object) or "numba" in str(event.object):
            # of an element made of others the member's exception comes first
            _failure.exception = _failure.exception or event.exc_value
        else:
            before(event)

    sys.unraisablehook = hook
    try:
        yield _failure
    finally:
        sys.unraisablehook = before


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
