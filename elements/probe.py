"""An author's method run once as plain Python, and what went wrong with it said in the author's terms."""

import linecache
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple

import numpy as np

from treemech.topology.errors import ElementError, unknown

from .element import Element, Floats, parameters
from .entry import _ARGUMENTS, _WithSignals, check_methods, method_of, place_of, role_of
from .hinge import Hinge, has_pose

MISTAKES = (IndexError, ValueError, AttributeError, TypeError, NameError)  # of a program, not of physics
_PHYSICS = re.compile(
    r"math (domain|range) error|expected a (non|pos|fin|num)"
)  # ValueError of math.sqrt(-1.0)

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
}


def probe(hinge: Hinge) -> None:
    """Run evaluate, or pose, once in Python at the reference coordinates; refuse what is a mistake of programming.

    Compiled code checks no bounds, so an index out of range is found here or never. What the author raises
    with `raise` is left for run time: the reference position may lie outside the hinge's physics.
    """
    check_methods(hinge)
    try:
        q = hinge.reference()
        if has_pose(hinge):
            python_pose(hinge, q, 0.0)
        else:
            hinge.motion(q, np.zeros(hinge.n_speeds), 0.0)
    except ElementError:
        raise
    except MISTAKES as error:
        if not by_the_author(error) and not (isinstance(error, ValueError) and _PHYSICS.search(str(error))):
            raise ElementError(blame(hinge, error)) from error
    except Exception:
        return


def python_pose(hinge: Hinge, q: Floats, t: float) -> tuple[Floats, Floats]:
    """(offset, rotation) of a pose-only hinge by plain Python; a signal in the pose is a number."""
    values = {p.name: p.value.at(t).value for p in parameters(hinge) if p.kind == "signal"}
    offset, rotation = np.zeros(3), np.eye(3)
    cls: Any = type(hinge)
    cls.pose(_WithSignals(hinge, values) if values else hinge, q, float(t), offset, rotation)
    return offset, rotation


# ---------------------------------------------------------------- whose exception, from which line
class _Place(NamedTuple):
    frame: FrameType
    line: int
    text: str

    def __str__(self) -> str:
        file = Path(self.frame.f_code.co_filename).name
        return f"{file}, line {self.line}" + (f": `{self.text}`" if self.text else "")


def by_the_author(error: BaseException) -> bool:
    """Whether the exception comes from a `raise` statement in the author's source."""
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
    """The frame of the author's method, and the innermost place in the author's code."""
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


# ---------------------------------------------------------------- what it was about
def blame(element: Element, error: BaseException) -> str:
    """One sentence: class, method, file, line, what was written there and what was wanted."""
    name, function = method_of(element)
    label = f"{element.kind}.{name}"
    method, place = _frames(error, function)
    if method is None or place is None:
        return f"{label} ({place_of(element, function)}) raised {type(error).__name__}: {error}."
    return _special(element, label, method, place, error) or (
        f"{label} ({place}) raised {type(error).__name__}: {error}."
    )


def _special(
    element: Element, label: str, method: FrameType, place: _Place, error: BaseException
) -> str | None:
    """The sentence for the usual slips: wrong index, wrong shape, wrong name, writing to q."""
    text = str(error)
    known = _arguments(element, method)
    used = _used(known, place)
    if isinstance(error, IndexError):
        bounds = re.search(r"axis (\d+) with size (\d+)", text)
        indexed = [x for x in used if re.search(re.escape(x[0]) + r"\s*\[", place.text)]
        for word, quantity, array in indexed:
            axis = int(bounds[1]) if bounds else -1
            if not bounds or (axis < array.ndim and array.shape[axis] == int(bounds[2])):
                index = re.search(re.escape(word) + r"\s*(\[[^\]]*\])", place.text)
                left = place.text.split("=")[0] if re.search(r"(?<![=<>!])=(?!=)", place.text) else ""
                verb = "wrote" if word in left else "read"
                which = quantity + (index[1] if index else "")
                return f"{label} {verb} {which}, outside it; wanted {_wanted(element, quantity, array)} ({place})."
    if isinstance(error, ValueError) and (
        got := re.search(r"from shape (\([^)]*\)) into shape (\([^)]*\))", text)
    ):
        got_shape, shape = (tuple(int(n) for n in re.findall(r"\d+", g)) for g in got.groups())
        for _, quantity, array in used:
            if array.shape == shape or len(used) == 1:
                part = "" if array.shape == shape else "a part of "
                wanted = _wanted(element, quantity, array)
                return f"{label} wrote {part}{quantity} of shape {got_shape}; wanted {wanted} ({place})."
    if isinstance(error, ValueError) and "read-only" in text:
        names = [quantity for _, quantity, array in used if not array.flags.writeable] or ["q or u"]
        return f"{label} changes {names[0]} ({place}); q and u are for reading only: copy what has to change."
    if isinstance(error, AttributeError):
        return _attribute(element, label, method, place, error)
    return None


def _attribute(
    element: Element, label: str, method: FrameType, place: _Place, error: AttributeError
) -> str | None:
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
        return f"{label} ({place}): .{name} of a number; in a pose a signal field is a plain number already."
    return None


def _arguments(element: Element, method: FrameType) -> list[tuple[str, Any]]:
    """(quantity, array) of everything the method was given, by the names of the contract."""
    names = _ARGUMENTS[role_of(element), method_of(element)[0]]
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
    """(word in the line, quantity, array) of the given arrays which that line names, under any alias."""
    found = []
    for word in dict.fromkeys(re.findall(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", place.text)):
        value: Any = place.frame.f_locals.get(word.split(".")[0])
        for attribute in word.split(".")[1:]:
            value = getattr(value, attribute, None)
        if isinstance(value, np.ndarray):
            found += [(word, quantity, array) for quantity, array in known if _same(array, value)]
    return found


def _same(a: Any, b: Any) -> bool:
    return a is b or (a.shape == b.shape and a.__array_interface__["data"] == b.__array_interface__["data"])


def _wanted(element: Element, quantity: str, array: Any) -> str:
    row = "speed" if getattr(element, "euler_parameters", None) is not None else "coordinate"
    meaning = MEANING.get(quantity)
    return f"{array.shape}" + (f": {meaning.format(row=row)}" if meaning else "")
