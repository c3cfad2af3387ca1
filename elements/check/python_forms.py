"""Run an author's methods once as plain Python and explain errors in the author's terms."""

import linecache
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError, unknown

from ..compilation.callback import _WithSignals, python_self
from ..compilation.methods import _ARGUMENTS, check_methods, methods_of, place_of, remembers, role_of
from ..constraint import Constraint, RelativeMotion
from ..coupling import Coupling
from ..element import Element, parameters
from ..energetic import Deformed, Effort, Energetic, load_views, motion_views
from ..hinge import Hinge, has_pose
from ..load import EndLoad, EndMotion, Load
from .report import locked, shown

MISTAKES = (IndexError, ValueError, AttributeError, TypeError, NameError)  # programming errors, not physics
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
    "deformation": "one number per deformation (n_deformations)",
    "rate": "one number per deformation (n_deformations)",
    "eps": "one number per deformation (n_deformations)",
    "effort": "one number per deformation (n_deformations)",
    "f": "one number per deformation (n_deformations)",
    "x": "one number per state (n_states)",
    "rates": "one number per state (n_states)",
    "inputs": "one number per input (input_names)",
    "memory": "n_memory numbers",
    "energy": "one number, energy[0]",
    "dissipated": "one number, dissipated[0]",
    "supplied": "one number, supplied[0]",
}


def probe(element: Hinge | Constraint | Coupling | Energetic | Load) -> None:
    """Run the author's methods once in Python at one position; refuse programming errors.

    Compiled code checks no bounds, so an index out of range is found here or never. Exceptions that the
    author raises with `raise` are left for run time: the position may lie outside the element's physics.
    """
    check_methods(element)
    rng = np.random.default_rng(0)
    place: tuple[Floats, ...] = ()
    if isinstance(element, (Constraint, Coupling)):
        place = sampled(element, rng, 0.0)
    try:
        if isinstance(element, Energetic):
            motion = sampled_motion(element, rng, 0.0)
            python_load(element, motion, 0.0)
            if remembers(element):
                python_memory(element, motion, 0.0)
        elif isinstance(element, Load):
            type(element).evaluate(
                python_self(element, 0.0), resting_end(), 0.0, EndLoad(np.zeros(3), np.zeros(3))
            )  # type: ignore[arg-type]
        elif isinstance(element, Hinge):
            q = element.reference()
            if has_pose(element):
                python_pose(element, q, 0.0)
            else:
                element.motion(q, np.zeros(element.n_speeds), 0.0)
        elif "evaluate" not in methods_of(element):
            python_equations(element, place, locked(np.zeros(n_rates(element))), 0.0)
        elif isinstance(element, Constraint):
            element.rows(relative_motion(place, locked(np.zeros(n_rates(element)))))
        else:
            element.rows(place[0])
    except ElementError:
        raise
    except MISTAKES as error:
        if not by_the_author(error) and not (isinstance(error, ValueError) and _PHYSICS.search(str(error))):
            raise ElementError(blame(element, error)) from error
    except Exception:
        return


def python_pose(hinge: Hinge, q: Floats, t: float) -> tuple[Floats, Floats]:
    """Return (offset, rotation) of a pose-only hinge by plain Python; signals in the pose are numbers."""
    values = {p.name: p.value.at(t).value for p in parameters(hinge) if p.kind == "signal"}
    offset, rotation = np.zeros(3), np.eye(3)
    cls: Any = type(hinge)
    cls.pose(_WithSignals(hinge, values) if values else hinge, q, float(t), offset, rotation)
    return offset, rotation


def sampled(element: Constraint | Coupling, rng: np.random.Generator, t: float) -> tuple[Floats, ...]:
    """Return (offset, rotation, s) or (q,) of a random position from the element's sample(); read only."""
    if isinstance(element, Constraint):
        na, start = element.n_auxiliary, np.asarray(element.auxiliary(), dtype=np.float64)
        if start.shape != (na,):
            raise ElementError(f"{element.kind}.auxiliary() is {shown(start)}; wanted {na} numbers.")
        given: Any = element.sample(rng, t)
        shapes: list[tuple[int, ...]] = [(3,), (3, 3), (na,)]
    else:
        given, shapes = (element.sample(rng, t),), [(n_rates(element),)]
    place = tuple(locked(np.array(x, dtype=np.float64)) for x in given)
    if [x.shape for x in place] != shapes or not all(np.all(np.isfinite(x)) for x in place):
        raise ElementError(f"{element.kind}.sample(rng, t) gives {given!r}; wanted shapes {shapes}.")
    return place


def resting_end() -> EndMotion:
    """Return the motion of an end at the origin, at rest."""
    return EndMotion(*(locked(x) for x in (np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3))))


def sampled_motion(element: Energetic, rng: np.random.Generator, t: float) -> Floats:
    """Return a random motion record from the element's sample(); read only."""
    given, size = element.sample(rng, t), element.n.motion_size
    record = locked(np.array(given, dtype=np.float64))
    if record.shape != (size,) or not np.all(np.isfinite(record)):
        raise ElementError(f"{element.kind}.sample(rng, t) gives {given!r}; wanted {size} finite numbers.")
    return record


def python_eps(element: Energetic, record: Floats, t: float) -> Floats:
    """Return the deformations by plain Python; signals in them are numbers."""
    n, methods = element.n, methods_of(element)
    motion, eps = motion_views(record, n), np.zeros(n.deformations)
    if "deformation" not in methods:
        return motion.q.copy()
    values = {p.name: p.value.at(t).value for p in parameters(element) if p.kind == "signal"}
    me = _WithSignals(element, values) if values else element
    methods["deformation"](me, motion.position, motion.rotation, t, eps)
    return eps


def python_load(
    element: Energetic, record: Floats, t: float, rate: Floats | None = None, effort: Floats | None = None
) -> Floats:
    """Return the load record by plain Python.

    Without `evaluate` it holds only the part that effort or balance fills in. The rate of eps and the
    solution of an implicit law are 0 unless given.
    """
    n, methods = element.n, methods_of(element)
    out = np.zeros(n.load_size)
    motion, load = motion_views(record, n), load_views(out, n)
    me = python_self(element, t)
    if "evaluate" in methods:
        methods["evaluate"](me, motion, t, load)
        return out
    load.deformation[:] = python_eps(element, record, t)
    now, to = deformed(element, record, load.deformation, rate), Effort(load.effort, *load[3:7])
    if "effort" in methods:
        methods["effort"](me, now, t, to)
        return out
    if effort is not None:
        load.effort[:] = effort
    methods["law"](me, now, locked(load.effort), t, np.zeros(n.deformations))
    if "balance" in methods:
        methods["balance"](me, now, t, to)
    return out


def python_law(element: Energetic, record: Floats, t: float, rate: Floats | None, effort: Floats) -> Floats:
    """Return f of an implicit law by plain Python."""
    f = np.zeros(element.n_deformations)
    now = deformed(element, record, python_eps(element, record, t), rate)
    methods_of(element)["law"](python_self(element, t), now, locked(effort), t, f)
    return f


def python_memory(element: Energetic, record: Floats, t: float) -> Floats:
    """Return the memory after a step that ends in this motion, by plain Python."""
    motion = motion_views(record, element.n)
    memory = motion.memory.copy()
    methods_of(element, "remember")["remember"](python_self(element, t), motion, t, memory)
    return memory


def deformed(element: Energetic, record: Floats, eps: Floats, rate: Floats | None) -> Deformed:
    """Return the argument of an effort; the rate of hinge coordinates is their speed."""
    motion = motion_views(record, element.n)
    if "deformation" not in methods_of(element):
        rate = motion.u
    elif rate is None:
        rate = np.zeros(len(eps))
    return Deformed(locked(eps), locked(rate), motion.x, motion.inputs, motion.memory)


def n_rates(element: Constraint | Coupling) -> int:
    """Return the number of rates: of v, w and s', or of u."""
    return 6 + element.n_auxiliary if isinstance(element, Constraint) else element.n_arguments or 0


def relative_motion(place: tuple[Floats, ...], rates: Floats) -> RelativeMotion:
    """Return the motion of a constraint at (offset, rotation, s) with rates (v, w, s')."""
    return RelativeMotion(place[0], place[1], rates[:3], rates[3:6], place[2], rates[6:])


def python_equations(
    element: Constraint | Coupling, place: tuple[Floats, ...], rates: Floats, t: float
) -> tuple[Floats | None, Floats | None]:
    """Return (residual, slip) by plain Python, None for a missing method; signals in them are numbers."""
    values = {p.name: p.value.at(t).value for p in parameters(element) if p.kind == "signal"}
    me: Any = _WithSignals(element, values) if values else element
    cls: Any = type(element)
    n_velocity = element.n_nonholonomic
    f, g = np.zeros(element.n_rows - n_velocity), np.zeros(n_velocity)
    has_residual, has_slip = hasattr(cls, "residual") and len(f) > 0, hasattr(cls, "slip") and len(g) > 0
    if isinstance(element, Coupling):
        if has_residual:
            cls.residual(me, *place, float(t), f)
        if has_slip:
            cls.slip(me, *place, rates, float(t), g)
    else:
        offset, rotation, s = place
        if has_residual:
            cls.residual(me, offset, rotation, s, float(t), f)
        if has_slip:
            cls.slip(me, offset, rotation, rates[:3], rates[3:6], s, float(t), g)
    return f if has_residual else None, g if has_slip else None


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
    for name, function in author_methods(element).items():
        method, place = _frames(error, function)
        if method is not None and place is not None:
            label = f"{element.kind}.{name}"
            return _special(element, name, method, place, error) or (
                f"{label} ({place}) raised {type(error).__name__}: {error}."
            )
    name, function = next(iter(methods_of(element).items()))
    return f"{element.kind}.{name} ({place_of(element, function)}) raised {type(error).__name__}: {error}."


def author_methods(element: Element) -> dict[str, Callable[..., Any]]:
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
                verb = "wrote" if word in left else "read"
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
    return f"{array.shape}" + (f": {meaning.format(row=row)}" if meaning else "")
