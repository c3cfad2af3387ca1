"""Explain to the author of an element why numba could not compile a method: file, line and cause."""

import ast
import inspect
import linecache
import os
import re
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treemech.topology.errors import ElementError

from ..element import Element, parameters
from .callback import by_python
from .methods import methods_of, place_of, role_of


class ElementCompileWarning(UserWarning):
    """An element runs as Python because its method could not be compiled."""


_warned: set[tuple[Any, ...]] = set()


def cannot_compile(element: Element, error: Exception, part: str = "") -> None:
    """Warn once that the element runs as Python. Raise an explained error if it cannot run as Python."""
    methods = methods_of(element, part)
    for name, function in methods.items():
        line, cause = explain(function, error)
        if line is None and _is_unplaced(error):
            function, line = unsupported(function)
        if line is not None:
            break
    else:
        if role_of(element) == "signal":  # it was compiled, but it returns no number
            raise ElementError(
                f"{element.kind} ({place_of(element, function)}) gives no number of time: {explain(function, error)[1]}"
            ) from None
        raise error  # not the author's fault
    file = Path(inspect.getsourcefile(function) or "?")
    text = linecache.getline(str(file), line).strip()
    message = f"{element.kind}.{name} cannot be compiled: {file.name}, line {line}: `{text}`: {cause}"
    if not by_python(element, part):
        instead = "" if name == "evaluate" else "write evaluate() with partials instead, or "
        raise ElementError(
            f"{message}. It needs numba for its derivatives: {instead}use plain scalar Python here."
        ) from None
    if "Unknown attribute" in cause and "of type Self" in cause:
        fields = ", ".join(p.name for p in parameters(element))
        raise ElementError(f"{message}. The numeric fields are: {fields or 'none'}.") from None
    if (type(element), *methods.values()) not in _warned:
        _warned.add((type(element), *methods.values()))
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
    """Return (line of the author's method, cause in one sentence); the line is None if it lies elsewhere."""
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
    cause = re.sub(r"\.? ?Raised from .*", "", (causes or rest or messages or ["?"])[0]).rstrip(". ")
    return (inside[-1] if inside else None), cause


def _is_unplaced(error: Exception) -> bool:
    """Tell whether numba refused a statement without saying where it stands."""
    return type(error).__name__ == "UnsupportedBytecodeError" and getattr(error, "loc", None) is None


def unsupported(function: Callable[..., Any]) -> tuple[Callable[..., Any], int | None]:
    """Find the statement that numba refuses without a place, ``with ... as``, in a method or its helpers.

    Returns the function that holds it, and its line; None if there is no such statement.
    """
    from .numba_side import names_in

    waiting, seen = [function], set[Any]()
    while waiting:
        own = waiting.pop()
        seen.add(own)
        try:
            lines, first = inspect.getsourcelines(own)
            tree = ast.parse(textwrap.dedent("".join(lines)))
        except (TypeError, OSError, SyntaxError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.With) and any(item.optional_vars for item in node.items):
                return own, first + node.lineno - 1
        helpers = (own.__globals__.get(name) for name in sorted(names_in(own.__code__)))
        waiting += [h for h in helpers if inspect.isfunction(h) and h not in seen]
    return function, None
