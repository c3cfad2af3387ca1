"""What a system or mechanism consists of, as lines of text."""

from typing import TYPE_CHECKING

from treemech.topology import Attachment

from .wiring import ElementHandle, Wiring

if TYPE_CHECKING:
    from ..system import System


def joined_bodies(element: ElementHandle) -> list[str]:
    """Return the names of the bodies on which an element acts at its ends; points of composites have none."""
    return [end.body.name for end in element.ends if isinstance(end, Attachment)]


def element_line(element: ElementHandle) -> str:
    """Return what an element joins: "spring: Spring, ground - rod", "motor: ElectricMotor on A".

    >>> from treemech import Spring, System
    >>> system = System("s")
    >>> handle = system.connect("k", Spring(10.0), system.ground, system.body("b", 1.0, (1, 1, 1)))
    >>> element_line(handle)
    'k: Spring, ground ╌╌ b'
    """
    bodies, hinges = joined_bodies(element), list(dict.fromkeys(name for name, _ in element.coordinates))
    where = [f", {' ╌╌ '.join(bodies)}"] if bodies else []
    where += [f" on {', '.join(hinges)}"] if hinges else []
    return f"{element.name}: {element.element.kind}{''.join(where)}"


def element_lines(wiring: Wiring, most: int = 200) -> list[str]:
    """Return a line for every energetic element, load and composite, under a heading; nothing if there are none."""
    lines = [element_line(e) for e in wiring.elements.values()]
    lines += [
        f"{c.name}: Composite, {' ╌╌ '.join(end.body.name for end in c.ends.values())}"
        for c in wiring.composites.values()
    ]
    shown = lines[:most] + ([f"... and {len(lines) - most} more"] if len(lines) > most else [])
    return ["springs, motors, loads", *(f"    {line}" for line in shown)] if lines else []


def counted(system: "System") -> str:
    """Return how many bodies, connections, couplings, springs and loads a system has, as it was described."""
    wiring = system.wiring
    numbers = {
        "bodies": len(system.bodies) - 1,
        "connections": len(system.connections),
        "couplings": len(system.couplings),
        "springs, motors and loads": len(wiring.elements) + len(wiring.composites),
        "controllers": len(wiring.controllers),
    }
    first = ("bodies", "connections")
    return ", ".join(f"{n} {what}" for what, n in numbers.items() if n or what in first)
