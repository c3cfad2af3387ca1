"""Addresses of elements on numbers with a derivative (elements.entry, part "slopes"), for whoever differentiates."""

from treemech.elements.element import Element
from treemech.elements.entry import Entry, make_slopes

from . import chord_plan, plan
from .layout import Layout


def serve_slopes(layout: Layout) -> list[Entry]:
    """Fill in the columns SLOPES of hinges, efforts and chords called by address; what must stay alive.

    They are made when somebody asks for derivatives, since a foreign element is compiled once more for them. Zero
    means that the element has no such form: it is differenced.
    """
    entries = list[Entry]()

    def address(element: Element) -> int:
        entry = make_slopes(element)
        if entry is None:
            return 0
        entries.append(entry)
        return entry.address

    for number, hinge in layout.hinges.items():
        layout.plan.body[number, plan.SLOPES] = address(hinge)
    for row, applied in zip(layout.plan.efforts, layout.efforts.applied, strict=True):
        row[plan.EFFORT_SLOPES] = address(applied.element)
    for row, element in zip(layout.chords.plan.chord, layout.chords.elements, strict=True):
        if chord_plan.by_address(element):
            row[chord_plan.SLOPES] = address(element)
    return entries
