"""Turn the status codes of the core (kernel.status) into errors with the user's names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from treemech.elements import Energetic
from treemech.elements.compilation.methods import role_of
from treemech.elements.energetic import motion_views
from treemech.kinematics.kernel.status import (
    CHORD_FAILED,
    EFFORT_NOT_FINITE,
    HINGE_FAILED,
    LOAD_FAILED,
    POINT_LOST,
    REACTION_LOST,
    SIGNAL_FAILED,
    split,
)
from treemech.kinematics.plan.columns import effort, speed
from treemech.topology import Attachment, ElementError

if TYPE_CHECKING:
    from .core import Core

_WHAT = {
    EFFORT_NOT_FINITE: "gives a load or a rate that is not a finite number",
    REACTION_LOST: "and the load it depends on have no common solution",
    POINT_LOST: "has no internal equilibrium near the last one: look at the stiffness behind its points,",
}


def fail(core: Core, status: int, t: float, failure: Any, partial: Any = None) -> None:
    """Raise ElementError for the element that a status names."""
    error = ElementError(
        f"{culprit(core, status)} {_WHAT.get(split(status)[0], 'failed')} at t = {t:.6g} s{_reason(core, status)}."
    )
    cause = getattr(failure, "exception", None) if split(status)[0] not in _WHAT else None
    if cause is not None:
        error = ElementError(
            f"{culprit(core, status)} failed at t = {t:.6g} s: {type(cause).__name__}: {cause}"
        )
    error.partial = partial
    raise error from cause


def _reason(core: Core, status: int) -> str:
    """Explain a load that is not finite; return an empty text if the element cannot tell why."""
    code, index = split(status)
    if code == REACTION_LOST:
        return (
            ": what it does raises the load that it follows from, without bound. Friction that does so jams: make its "
            "coefficient or its radius smaller, or let something give way (a spring, a Bushing) where the load arises"
        )
    if code != EFFORT_NOT_FINITE:
        return ""
    applied, first = (
        core.layout.efforts.applied[index],
        core.layout.efforts.rows[index][effort.MOTION_RECORD],
    )
    if not isinstance(applied.element, Energetic):
        return ""
    seen = motion_views(core.work.effort_records[first : first + applied.sizes.motion_size], applied.sizes)
    told = applied.element.obstacle(seen)
    ends = (end.body.name if isinstance(end, Attachment) else end.name for end in applied.ends)
    return f": {told} (its ends: {', '.join(f'{k} {n!r}' for k, n in enumerate(ends))})" if told else ""


def _owners(core: Core, signal: Any) -> Iterator[str]:
    """Yield the user's names of everything that uses this signal."""

    def has(element: Any) -> bool:
        return any(value is signal for value in getattr(element, "__dict__", {}).values())

    for applied in core.layout.efforts.applied:
        if has(applied.element) or any(given is signal for given in applied.inputs):
            yield f"{'load' if role_of(applied.element) == 'load' else 'element'} {applied.name!r}"
    for branch in core.tree.branches:
        if has(branch.connection.element):
            yield f"hinge {branch.connection.name!r}"
    for name, element in zip(core.layout.chords.names, core.layout.chords.elements, strict=True):
        if has(element):
            yield f"{role_of(element)} {name!r}"
    for entry in core.layout.plan.prescribed:
        if core.layout.signals[entry[speed.PRESCRIBED_SIGNAL]] is signal:
            yield f"the prescribed {core.coordinates.u_names[entry[speed.PRESCRIBED_U]]!r}"


def culprit(core: Core, status: int) -> str:
    """Name the element that a status is about, as the user named it."""
    code, index = split(status)
    if code == HINGE_FAILED:
        connection = core.tree.branches[index - 1].connection
        return f"hinge {connection.name!r} ({type(connection.element).__name__})"
    if code == CHORD_FAILED:
        element = core.layout.chords.elements[index]
        return f"{role_of(element)} {core.layout.chords.names[index]!r} ({element.kind})"
    if code in (LOAD_FAILED, EFFORT_NOT_FINITE, REACTION_LOST):
        applied = core.layout.efforts.applied[index]
        return f"{'load' if role_of(applied.element) == 'load' else 'element'} {applied.name!r} ({applied.element.kind})"
    if code == POINT_LOST:
        return f"composite {core.layout.efforts.composites[index].name!r}"
    if code == SIGNAL_FAILED:
        signal = core.layout.signals[index]
        owners = " and ".join(_owners(core, signal))
        return f"signal of {owners} ({type(signal).__name__})" if owners else f"signal {signal!r}"
    return f"the core (status {status})"
