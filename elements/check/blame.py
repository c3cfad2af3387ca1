"""Explain an exception in an author's method: where it was raised, what was found and what was wanted."""

import linecache
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple

import numpy as np

from treemech.topology.errors import unknown

from ..compilation.callback import _WithSignals
from ..compilation.methods import _ARGUMENTS, methods_of, place_of, role_of
from ..constraint import Constraint
from ..coupling import Coupling
from ..element import Element, parameters
from ..energetic import Energetic

# In which count of the contract the author says how long an array is
COUNT = {
    "hinge": {"q": "n_coordinates", "u": "n_coordinates", "translation_partials": "n_coordinates",
              "rotation_partials": "n_coordinates"},
    "constraint": {"s": "n_auxiliary", "s_rate": "n_auxiliary", "auxiliary": "n_auxiliary"},
    "coupling": {"q": "n_arguments", "u": "n_arguments", "partials": "n_arguments"},
    "energetic": {"q": "n_coordinates", "u": "n_coordinates", "load": "n_coordinates", "position": "n_ends",
                  "rotation": "n_ends", "velocity": "n_ends", "angular_velocity": "n_ends", "force": "n_ends",
                  "moment": "n_ends", "x": "n_states", "rates": "n_states", "inputs": "input_names",
                  "memory": "n_memory", "reaction": "n_reactions", "deformation": "n_deformations",
                  "rate": "n_deformations", "eps": "n_deformations", "effort": "n_deformations",
                  "f": "n_deformations"},
}  # fmt: skip
MEANING = {
    "offset": "the connection vector (c, 3.3.23)",
    "rotation": "the connection tensor (C, 3.3.23)",
    "translation_partials": "one row per {row} (v, 3.3.32)",
    "rotation_partials": "one row per {row} (w, 3.3.28)",
    "translation_drift": "the velocity left when u = 0 (v0, 3.3.31)",
    "rotation_drift": "the angular velocity left when u = 0 (w0, 3.3.28)",
    "translation_bias": "the acceleration left when ud = 0 (v00, 3.3.34)",
    "rotation_bias": "the angular acceleration left when ud = 0 (w00, 3.3.30)",
    "q": "one number per coordinate",
    "u": "one number per speed",
    "out": "value, rate, acceleration",
    "force": "components in the world",
    "moment": "components in the world",
    "f": "one number per equation",
}
MEANING_IN_ROWS = {
    "residual": "one number per row (f, 5.3.17)",
    "drift": "one number per row, what remains without velocity (P0, 5.3.17)",
    "bias": "one number per row, what remains without acceleration (P00, 5.3.17)",
    "force": "one row per equation, on end b in the base of end a",
    "moment": "one row per equation, on end b in the base of end a",
    "auxiliary": "one row per equation, one column per auxiliary unknown",
    "partials": "one row per equation, one column per coordinate (P, 5.3.17)",
}

MEANING_AT_ENDS = {
    "position": "one row per end, components in the world",
    "rotation": "the base of every end in the world",
    "velocity": "one row per end, components in the world",
    "angular_velocity": "one row per end, components in the world",
    "force": "one row per end, on its body, components in the world",
    "moment": "one row per end, on its body, components in the world",
    "load": "one number per hinge coordinate",
    "deformation": "one number per deformation",
    "rate": "one number per deformation",
    "eps": "one number per deformation",
    "effort": "one number per deformation",
    "f": "one number per deformation",
    "x": "one number per state",
    "rates": "one number per state",
    "inputs": "one number per input",
    "memory": "the numbers that it remembers",
    "energy": "one number, energy[0]",
    "dissipated": "one number, dissipated[0]",
    "supplied": "one number, supplied[0]",
}


# ---------------------------------------------------------------- origin of an exception
class _Place(NamedTuple):
    frame: FrameType
    line: int
    text: str

    def __str__(self) -> str:
        file = Path(self.frame.f_code.co_filename).name
        return f"{file}, line {self.line}" + (f": `{self.text}`" if self.text else "")


def by_the_author(error: BaseException) -> bool:
    """Tell whether the exception comes from a `raise` statement in the author's source."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or _is_library(last.tb_frame):
        return False
    import dis

    code = last.tb_frame.f_code.co_code
    return dis.opname[code[last.tb_lasti]] == "RAISE_VARARGS"


def _is_library(frame: FrameType) -> bool:
    top = str(frame.f_globals.get("__name__", "")).split(".")[0]
    return top in ("numpy", "scipy", "numba") or top in sys.stdlib_module_names - {"__main__"}


def _frames(error: BaseException, function: Callable[..., Any]) -> tuple[FrameType | None, _Place | None]:
    """Return the frame of the author's method and the innermost place in the author's code."""
    method, inner = None, None
    at: TracebackType | None = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code is getattr(function, "__code__", None):
            method = at.tb_frame
        if method is not None and not _is_library(at.tb_frame):
            text = linecache.getline(at.tb_frame.f_code.co_filename, at.tb_lineno).strip()
            inner = _Place(at.tb_frame, at.tb_lineno, text)
        at = at.tb_next
    return method, inner


# ---------------------------------------------------------------- explanation of an exception
def blame(element: Element, error: BaseException) -> str:
    """Describe an error in one sentence: class, method, file, line, what was found and what was wanted."""
    for name, function in _author_methods(element).items():
        method, place = _frames(error, function)
        if method is not None and place is not None:
            label = f"{element.kind}.{name}"
            return _special(element, name, method, place, error) or (
                f"{label} ({place}) raised {type(error).__name__}: {error}."
            )
    name, function = next(iter(methods_of(element).items()))
    return f"{element.kind}.{name} ({place_of(element, function)}) raised {type(error).__name__}: {error}."


def _author_methods(element: Element) -> dict[str, Callable[..., Any]]:
    """Return the methods in use, remember, and residual and slip written for the check beside evaluate."""
    cls, beside = type(element), {}
    if isinstance(element, Energetic) and hasattr(cls, "remember"):
        beside = methods_of(element, "remember")
    if isinstance(element, (Constraint, Coupling)):
        beside = {name: getattr(cls, name) for name in ("residual", "slip") if hasattr(cls, name)}
    return {**methods_of(element), **beside}


def _special(
    element: Element, name: str, method: FrameType, place: _Place, error: BaseException
) -> str | None:
    """Return the sentence for common mistakes: wrong index, wrong shape, wrong name, writing to q."""
    text, label = str(error), f"{element.kind}.{name}"
    known = _arguments(element, name, method)
    used = _used(known, place)
    left = place.text.split("=")[0] if re.search(r"(?<![=<>!])=(?!=)", place.text) else ""
    if isinstance(error, IndexError):
        bounds = re.search(r"axis (\d+) with size (\d+)", text)
        indexed = [x for x in used if re.search(re.escape(x[0]) + r"\s*\[", place.text)]
        for word, quantity, array in indexed:
            axis = int(bounds[1]) if bounds else -1
            if not bounds or (axis < array.ndim and array.shape[axis] == int(bounds[2])):
                index = re.search(re.escape(word) + r"\s*(\[[^\]]*\])", place.text)
                verb = "wrote" if re.search(rf"(?<!\w){re.escape(word)}\s*\[", left) else "read"
                which = quantity + (index[1] if index else "")
                return f"{label} {verb} {which}, outside it; wanted {_wanted(element, quantity, array)} ({place})."
    if isinstance(error, ValueError) and (
        got := re.search(r"from shape (\([^)]*\)) into shape (\([^)]*\))", text)
    ):
        got_shape, shape = (tuple(int(n) for n in re.findall(r"\d+", g)) for g in got.groups())
        written = [x for x in used if x[0] in left] or used
        for _, quantity, array in written:
            if array.shape == shape or len(written) == 1:
                part = "" if array.shape == shape else "a part of "
                wanted = _wanted(element, quantity, array)
                return f"{label} wrote {part}{quantity} of shape {got_shape}; wanted {wanted} ({place})."
    if isinstance(error, ValueError) and "read-only" in text:
        names = [quantity for _, quantity, array in used if not array.flags.writeable] or ["q or u"]
        inputs = "the motion is" if role_of(element) in ("constraint", "energetic") else "q and u are"
        return f"{label} changes {names[0]} ({place}); {inputs} for reading only: copy what has to change."
    if isinstance(error, AttributeError):
        return _attribute(element, name, place, error)
    return None


def _attribute(element: Element, method: str, place: _Place, error: AttributeError) -> str | None:
    label = f"{element.kind}.{method}"
    replaced = re.match(r"\s*(\w+)\.(\w+)\s*(?:[-+*/]?=)(?!=)", place.text)
    owner: Any = place.frame.f_locals.get(replaced[1]) if replaced else None
    if replaced and replaced[2] in getattr(owner, "_fields", ()):
        what = f"{replaced[1]}.{replaced[2]}"
        wanted = _wanted(element, replaced[2], getattr(owner, replaced[2]))
        return f"{label} replaces {what} ({place}); write into it, {what}[...] = ...; wanted {wanted}."
    obj: Any = getattr(error, "obj", None)
    name = getattr(error, "name", "") or ""
    fields = [p.name for p in parameters(element)]
    if isinstance(obj, (Element, _WithSignals)):
        there = f"The numeric fields are: {', '.join(fields) or 'none'}."
        return f"{label} ({place}): {unknown('field', name, fields) if fields else repr(name)} {there}"
    if hasattr(obj, "_fields"):
        return f"{label} ({place}): {unknown('quantity', name, obj._fields)}"
    if isinstance(obj, float) and name in ("value", "rate", "acceleration"):
        return (
            f"{label} ({place}): .{name} of a number; in a {method} a signal field is a plain number already."
        )
    return None


def _arguments(element: Element, name: str, method: FrameType) -> list[tuple[str, Any]]:
    """Return (quantity, array) for all arguments of the method, by the names of the contract."""
    names = _ARGUMENTS[role_of(element), name]
    given = method.f_code.co_varnames[: len(names)]
    known: list[tuple[str, Any]] = []
    for name, own in zip(names[1:], given[1:], strict=False):
        value: Any = method.f_locals.get(own)
        if hasattr(value, "_fields"):
            known += [(field, getattr(value, field)) for field in value._fields]
        elif isinstance(value, np.ndarray):
            known.append((name, value))
    return known


def _used(known: list[tuple[str, Any]], place: _Place) -> list[tuple[str, str, Any]]:
    """Return (word, quantity, array) for the given arrays that the line names, under any alias."""
    found = []
    for word in dict.fromkeys(re.findall(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", place.text)):
        value: Any = place.frame.f_locals.get(word.split(".")[0])
        for attribute in word.split(".")[1:]:
            value = getattr(value, attribute, None)
        if isinstance(value, np.ndarray):
            meant = [(word, quantity, array) for quantity, array in known if _same(array, value)]
            found += [x for x in meant if word.endswith(x[1])] or meant  # empty arrays share one address
    return found


def _same(a: Any, b: Any) -> bool:
    return a is b or (a.shape == b.shape and a.__array_interface__["data"] == b.__array_interface__["data"])


def _wanted(element: Element, quantity: str, array: Any) -> str:
    row = "speed" if getattr(element, "euler_parameters", None) is not None else "coordinate"
    meaning = MEANING.get(quantity)
    if role_of(element) in ("constraint", "coupling"):
        meaning = MEANING_IN_ROWS.get(quantity, meaning)
    elif role_of(element) == "energetic":
        meaning = MEANING_AT_ENDS.get(quantity, meaning)
    count = COUNT.get(role_of(element), {}).get(quantity)
    told = f" ({count} is {getattr(element, count)!r})" if count else ""
    return f"{array.shape}" + (f": {meaning.format(row=row)}" if meaning else "") + told
