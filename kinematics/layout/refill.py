"""Refill a layout: the numbers of bodies, ends and elements that have changed, the structure as it was.

The formulas are those of `layout.py`, `chords.py` and `efforts.py`, applied to the rows that a change reaches, so
a refilled layout has the numbers of a new one to the bit.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from treemech.elements import Energetic
from treemech.elements.element import Element, record
from treemech.topology import Attachment, Tree
from treemech.topology.arrays import Floats, Ints
from treemech.topology.parameter import as_floats

from ..plan.columns import body, chord, effort, signal
from .chords import place_chord, start_of
from .efforts import Applied, place_of
from .layout import Layout, place_body


class Changed(NamedTuple):
    """Numbers of the rows whose objects are others now."""

    bodies: Collection[
        int
    ]  # bodies with other mass properties, or at the end of a branch with other ends or hinge
    hinges: Collection[int]  # branches with other hinges
    chords: Collection[int]  # chords and couplings with other ends
    chord_elements: Collection[int]  # with other elements
    ends: Collection[int]  # elements with other ends
    elements: Collection[int]  # with other elements


def reach(tree: Tree, layout: Layout, changed: Changed, moved: Collection[int]) -> Changed:
    """Return all rows that a change reaches, if the base of the core moves in some bodies."""
    bodies = {
        *changed.bodies,
        *(k for k in range(1, len(tree.bodies)) if k in moved or int(tree.parent[k]) in moved),
    }
    rows = layout.chords.plan.chord
    chords = {
        k for k in range(len(tree.chords))
        if k in changed.chords or k in changed.chord_elements or int(rows[k, chord.BODY_A]) in moved or int(rows[k, chord.BODY_B]) in moved
    }  # fmt: skip
    on = layout.plan.ends[:, 0]
    ends = {
        k for k, a in enumerate(layout.efforts.applied)
        if k in changed.ends or any(int(on[j]) in moved for j in _ends(layout, k, a))
    }  # fmt: skip
    return changed._replace(bodies=sorted(bodies), chords=sorted(chords), ends=sorted(ends))


def _ends(layout: Layout, k: int, a: Applied) -> range:
    first = int(layout.efforts.rows[k, effort.FIRST_END])
    return range(first, first + len(a.ends))


def refilled(
    layout: Layout,
    tree: Tree,
    applied: tuple[Applied, ...],
    gravity: Floats,
    changed: Changed,
    numbers: Any = np.float64,
) -> Layout:
    """Return a layout with the numbers of this tree and these elements in the rows that have changed.

    With numbers=object they may be recorded ones (many/recorded.py); such a layout cannot be evaluated.
    """
    plan, chords, efforts = layout.plan, layout.chords, layout.efforts
    constants, frames, points = (
        plan.constants.astype(numbers),
        plan.frames.astype(numbers),
        dict(layout.points),
    )
    for number in changed.bodies:
        place_body(tree, number, constants, frames, points)
    parameters = layout.parameters.astype(numbers)

    signals, linked = list(layout.signals), {int(to): int(number) for number, to in plan.links}

    def write(element: Element, start: int) -> None:
        """Write the record of an element, and those of its signals, over those that are there."""
        if start >= 0:
            found, own = record(element)
            parameters[start : start + len(found)] = found
            for at, given in own:
                number = linked[start + at]
                signals[number] = given
                write(given, int(plan.signals[number, signal.PARAMETER]))

    hinges = dict(layout.hinges)
    for number in changed.hinges:
        element = tree.branches[number - 1].connection.element
        if number in hinges:
            hinges[number] = element
            write(element, int(plan.body[number, body.PARAMETER]))
    place, start, own = chords.plan.place.astype(numbers), chords.start.astype(numbers), list(chords.elements)
    for k in changed.chord_elements:
        row = chords.plan.chord[k]
        own[k] = tree.chords[k].element
        if row[chord.ADDRESS]:
            write(own[k], int(row[chord.PARAMETER]))
        start[row[chord.FIRST_Q] : row[chord.FIRST_Q] + row[chord.NQ]] = start_of(chords.names[k], own[k])
    for k in changed.chords:
        connection = tree.chords[k]
        place_chord(
            place[k],
            connection.element,
            connection.ends,
            [tree.numbers[e.body.name] for e in connection.ends],
            points,
        )
    end_points, z = plan.end_points.astype(numbers), efforts.start.astype(numbers)
    for k in changed.ends:
        for j, end in zip(_ends(layout, k, applied[k]), applied[k].ends, strict=True):
            if isinstance(end, Attachment):
                end_points[j] = place_of(end, *points[tree.numbers[end.body.name]])
    for k in changed.elements:
        a, row = applied[k], efforts.rows[k]
        write(a.element, int(row[effort.PARAMETER]))
        if isinstance(a.element, Energetic):
            x, first = as_floats(a.element.initial()), int(row[effort.FIRST_STATE])
            z[first : first + len(x)] = x
            if a.sizes.memory:
                memory, first = as_floats(a.element.memory()), int(row[effort.FIRST_MEMORY])
                z[first : first + len(memory)] = memory
    new = plan._replace(
        constants=constants, frames=frames, end_points=end_points, gravity=np.array(gravity, dtype=numbers)
    )
    return replace(
        layout,
        plan=new,
        parameters=parameters,
        signals=tuple(signals),
        hinges=hinges,
        points=points,
        chords=chords._replace(plan=chords.plan._replace(place=place), start=start, elements=own),
        efforts=replace(efforts, applied=applied, end_points=end_points, start=z),
    )


def same_structure(a: Layout, b: Layout) -> bool:
    """Tell whether two layouts agree in everything, to the bit, but for the addresses of elements."""
    pairs = [
        *((x, y) for name, x, y in zip(a.plan._fields, a.plan, b.plan, strict=True) if name not in ("body", "signals", "efforts")),
        *zip((a.parameters, a.chords.start, a.efforts.start), (b.parameters, b.chords.start, b.efforts.start), strict=True),
        (a.chords.plan.place, b.chords.plan.place), (a.chords.plan.path, b.chords.plan.path),
        (_without(a.plan.body, body.ADDRESS), _without(b.plan.body, body.ADDRESS)),
        (_without(a.chords.plan.chord, chord.ADDRESS, chord.SKIP), _without(b.chords.plan.chord, chord.ADDRESS, chord.SKIP)),
        (_without(a.efforts.rows, effort.ADDRESS), _without(b.efforts.rows, effort.ADDRESS)),
        (a.plan.signals[:, 1:], b.plan.signals[:, 1:]),
    ]  # fmt: skip
    return all(x.shape == y.shape and np.array_equal(x, y, equal_nan=x.dtype == np.float64) for x, y in pairs)


def _without(array: Ints, *columns: int) -> Ints:
    return np.delete(array, columns, axis=1)
