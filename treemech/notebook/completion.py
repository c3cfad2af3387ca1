"""Completion of the names of a model in IPython: ``run.connection("<Tab>``, ``run.plot("<Tab>``, ``mech.state(q={"<Tab>``."""

import re
import sys
from typing import Any

_CALL = re.compile(r"([A-Za-z_][\w.]*)\.(\w+)\(.*?([\"'])([^\"']*)$", re.DOTALL)
_OF_RUN = {
    "connection": lambda info: [c.name for c in info.connections],
    "hinge": lambda info: [c.name for c in info.hinges],
    "chord": lambda info: [c.name for c in info.chords],
    "body": lambda info: [b.name for b in info.bodies],
    "point": lambda info: [b.name for b in info.bodies],
    "element": lambda info: [e.name for e in info.elements],
    "drive": lambda info: list(dict.fromkeys(name for name, _, _ in info.prescribed)),
    "input": lambda info: list(dict.fromkeys(name for name, _, _ in info.inputs)),
}
_OF_MECHANISM = (
    "state",
    "assemble",
    "assemblies",
    "linearize",
    "inverse_dynamics",
    "drive_loads",
    "forward_dynamics",
)


def install() -> bool:
    """Add the completion to a running IPython; return whether there is one. A second call changes nothing."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return False
    matchers = shell.Completer.custom_matchers
    if not any(getattr(m, "_treemech", False) for m in matchers):

        def matcher(text: str) -> list[str]:
            line = shell.Completer.line_buffer or text
            return complete(line, shell.user_ns, text)

        matcher._treemech = True  # type: ignore[attr-defined]
        matchers.append(matcher)
    return True


def complete(line: str, namespace: dict[str, Any], text: str | None = None) -> list[str]:
    """Return what the text at the end of a line may become: names of the run or mechanism that is called.

    IPython replaces `text`, the last word, so names are given from where it begins; without it they are whole.
    """
    found = _CALL.search(line)
    owner = None if found is None else _value(found[1], namespace)
    if found is None or owner is None:
        return []
    typed = found[4]
    offered = [name for name in names(owner, found[2]) if name.startswith(typed)]
    start = len(typed) - len(text) if text is not None and typed.endswith(text) else 0
    return [name[start:] for name in offered]


def names(owner: Any, method: str) -> list[str]:
    """Return the names that a method of a run, a mechanism or a state takes."""
    from ..mechanism import Mechanism
    from ..results.run import Run

    if isinstance(owner, Run):
        if method in ("plot", "phase"):
            from ..plots.signals import names as signals

            return signals(owner)
        if method == "measure":
            return list(owner._measures)
        return list(_OF_RUN[method](owner._info)) if method in _OF_RUN else []
    if isinstance(owner, Mechanism) and method in _OF_MECHANISM:
        return [c.name for c in owner._info.connections if c.nq]
    return []


def _value(path: str, namespace: dict[str, Any]) -> Any:
    """Return the object that a dotted name stands for; None if there is none. No property of a class is evaluated."""
    first, *rest = path.split(".")
    value = namespace.get(first)
    for name in rest:
        if value is None or isinstance(getattr(type(value), name, None), property):
            return None
        value = getattr(value, name, None)
    return value
