"""Addresses of elements compiled for dual numbers (elements.compilation.entry, part "dual")."""

from treemech.elements.compilation.callback import Entry
from treemech.elements.compilation.entry import make_dual_entry
from treemech.elements.compilation.methods import members_of
from treemech.elements.element import Element
from treemech.topology.arrays import Floats

from ..plan.columns import body, chord, effort
from . import chords as chord_plan
from .layout import Layout


def serve_dual_addresses(layout: Layout, duals: Floats) -> list[Entry]:
    """Fill in the columns DUAL of hinges, efforts and chords called by address.

    Return the entries, which must stay alive.

    They are made when derivatives are asked for, because a foreign element is compiled once more for them.
    Zero means that the element has no such form; it is differenced. duals: the records of all elements as
    dual numbers. An assembled element finds the dual addresses of its members there, as the derivatives of
    their plain addresses.
    """
    entries = list[Entry]()

    def address(element: Element, start: int) -> int:
        entry = make_dual_entry(element)
        if entry is None:
            return 0
        entries.append(entry)
        for place, member in members_of(element):
            own = make_dual_entry(member)
            if own is not None:
                entries.append(own)
                duals[start + place, 1] = own.address
        return entry.address

    for number, hinge in layout.hinges.items():
        row = layout.plan.body[number]
        row[body.DUAL] = address(hinge, row[body.PARAMETER])
    for row, applied in zip(layout.plan.efforts, layout.efforts.applied, strict=True):
        row[effort.DUAL] = address(applied.element, row[effort.PARAMETER])
    for row, element in zip(layout.chords.plan.chord, layout.chords.elements, strict=True):
        if chord_plan.by_address(element):
            row[chord.DUAL] = address(element, row[chord.PARAMETER])
    return entries
