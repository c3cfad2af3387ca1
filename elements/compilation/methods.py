"""Find the role and the methods of an author's element, and refuse methods that do not fit the contract."""

import inspect
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from treemech.topology.errors import ElementError

from ..constraint import Constraint
from ..coupling import Coupling
from ..element import Element
from ..energetic import Energetic
from ..hinge import Hinge, has_pose
from ..signal import Signal

if TYPE_CHECKING:
    from ..signals.function import Function

DUAL_PART, HELD_PART = "dual", "dual_held"
_GIVEN_DERIVATIVES = ("stiffness_matrix", "damping_matrix")
ROLES = ("hinge", "constraint", "coupling", "energetic", "signal", "load")
_SIZES = ("n_holonomic", "n_nonholonomic", "n_auxiliary", "n_arguments")
_COUNTS = ("n_ends", "n_coordinates", "n_states", "input_names", "n_memory", "n_reactions", "n_deformations")


def role_of(element: Element) -> str:
    """Return "hinge", "constraint", "coupling", "energetic", "signal" or "load"."""
    for role in ROLES:
        if getattr(element, "is_" + role, False):
            return role
    raise ElementError(f"{element.kind} is no {', '.join(ROLES[:-1])} or {ROLES[-1]}: subclass one of them.")


def members_of(element: Any) -> list[tuple[int, Element]]:
    """Return the members of an assembled element, each with the index of its address in the record."""
    found: list[tuple[int, Element]] = element.members_at(0) if getattr(element, "sizes_at", ()) else []
    return found


def is_dual_part(part: str) -> bool:
    """Tell whether this part is a form for dual numbers."""
    return part in (DUAL_PART, HELD_PART)


def sizes(element: Any) -> tuple[Any, ...]:
    """Return the counts on which the compiled form depends: rows, unknowns, arguments, ends, ..."""
    names = _COUNTS if getattr(element, "is_energetic", False) else _SIZES
    if getattr(element, "sizes_at", ()):  # the counts stand in the record
        return ()
    return tuple(getattr(element, name, None) for name in names)


def form_of(element: Any) -> tuple[Any, ...]:
    """Return the counts on which the compiled form depends: all but those that the record holds (`counted`)."""
    counts = sizes(element)
    counted = getattr(element, "counted", {})
    return (
        tuple(None if name in counted else n for name, n in zip(_COUNTS, counts, strict=True))
        if counted
        else counts
    )


def is_function(element: Element) -> "TypeGuard[Function]":
    """Tell whether the author's function is a field of the element, tm.Function, not a method."""
    if not isinstance(element, Signal):
        return False
    from ..signals.function import Function

    return isinstance(element, Function)


def methods_of(element: Element, part: str = "") -> dict[str, Callable[..., Any]]:
    """Return the author's methods by name.

    They are evaluate, or pose or value alone, or residual and slip, or deformation and effort.
    """
    cls: Any = type(element)
    if part and not is_dual_part(part):
        return {part: getattr(cls, part)}
    if is_function(element):
        return {"value": element.function}
    if isinstance(element, Energetic) and cls.evaluate is Energetic.evaluate:
        names = ["deformation", "effort"] if hasattr(cls, "effort") else ["deformation", "law", "balance"]
        names += _GIVEN_DERIVATIVES if part else ()
        found = {name: getattr(cls, name) for name in names if hasattr(cls, name)}
        return found or {"evaluate": cls.evaluate}
    if isinstance(element, Hinge) and has_pose(element):
        return {"pose": cls.pose}
    if isinstance(element, Signal) and cls.evaluate is Signal.evaluate and hasattr(cls, "value"):
        return {"value": cls.value}
    if getattr(cls, "evaluate", None) in (Constraint.evaluate, Coupling.evaluate):
        equations = {name: getattr(cls, name) for name in ("residual", "slip") if hasattr(cls, name)}
        if vars(element).get("n_nonholonomic") == 0:  # this one is made without its equations on velocity
            equations.pop("slip", None)
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
    """Return `file.py, line N` of a method."""
    try:
        return f"{os.path.basename(inspect.getsourcefile(function) or '?')}, line {function.__code__.co_firstlineno}"
    except (TypeError, AttributeError):
        return f"class {element.kind}"


def check_methods(element: Element) -> None:
    """Refuse an element that lacks a method, or whose method takes other arguments; name class and line."""
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
    if is_function(element):
        return
    for flag in ("unilateral", "world"):
        if hasattr(base, flag) and not isinstance(getattr(element, flag), bool):
            raise ElementError(f"{element.kind}.{flag} is {getattr(element, flag)!r}; wanted True or False.")
    if isinstance(element, Energetic):
        check_counts(element, methods)
    for name, function in (
        *methods_of(element, DUAL_PART).items(),
        *(methods_of(element, "remember").items() if remembers(element) else ()),
    ):
        wanted = _ARGUMENTS[role, name]
        try:
            count = len(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            continue
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            raise ElementError(
                f"{element.kind}.{name} ({place_of(element, function)}) has a yield or is async: it would never run. Write a plain "
                f"{name}({', '.join(wanted)})."
            )
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
        if not any(
            "n_coordinates" in vars(x) for x in (element, *type(element).__mro__) if x not in (Hinge, object)
        ):
            raise ElementError(
                f"{element.kind} does not say how many coordinates q it has: write n_coordinates = 1 (or 2, ..., 0 for a hinge "
                "that does not move) in the class."
            )
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
    """Tell whether the element stores numbers after every accepted step."""
    return bool(getattr(element, "n_memory", 0)) and hasattr(type(element), "remember")


def check_counts(element: Energetic, methods: Mapping[str, Callable[..., Any]]) -> None:
    """Refuse counts that are not whole numbers, and methods that do not fit the counts."""
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
    if not isinstance(element.settled, tuple):
        raise ElementError(f"{kind}.settled is {element.settled!r}; wanted a tuple of indices of states.")
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
    """Refuse counts of rows that are not whole numbers, and rows without the method that fills them."""
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
