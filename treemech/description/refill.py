"""Refill a mechanism: other values of its parameters by replaying only what depends on them.

The calls that contain the parameters make their bodies, attachments and elements again; the numbers of the Plan that
these reach are filled in by the formulas that filled them first (kinematics/layout/refill.py). Everything else is
taken over. A refill is compared with a mechanism built anew, bit by bit, before it is used: where another thing than
such numbers depends on a parameter (a function, a signal, a place in world coordinates), there is none, and
mechanisms are built anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from treemech.elements import Energetic, Hinge, Load
from treemech.elements.loads.functions import LoadFunction
from treemech.kinematics.layout.lagrange import Coordinates, Lagrange
from treemech.kinematics.layout.layout import Layout
from treemech.kinematics.layout.refill import Changed, reach, refilled, same_structure
from treemech.topology import Attachment, Body, Connection, Tree, TreemechError
from treemech.topology.body import as_vector, make_body
from treemech.topology.declared import Declaration, depends, mapped, parameters_in, remade

from .composite import Composite

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from .parameters import Origin
    from .recording import Call
    from .wiring import Wiring


T = TypeVar("T")


class NoRefill(Exception):
    """Something else than numbers depends on a parameter."""


class Parts:
    """Parts of a mechanism with other numbers."""

    def __init__(self, tree: Tree, coordinates: Lagrange, layout: Layout, wiring: Wiring) -> None:
        self.tree, self.coordinates, self.layout, self.wiring = tree, coordinates, layout, wiring


class Refill:
    """Makes the parts of a mechanism with other values of some parameters."""

    def __init__(self, mech: Mechanism, origin: Origin, names: Iterable[str]) -> None:
        self.mech, self.origin, self.names = mech, origin, frozenset(names)
        self.calls = [
            c for c in origin.calls if any(p.name in self.names for p in parameters_in((c.args, c.options)))
        ]
        self.gravity = depends(origin.gravity)
        tree, layout, wiring = mech.tree, mech._layout, mech._wiring
        if layout.efforts.composites or any(c.closes for c in tree.chords):
            raise NoRefill("composites or carried coordinates")
        self.branches = {b.connection.name: k + 1 for k, b in enumerate(tree.branches)}
        self.chords = {c.name: k for k, c in enumerate(tree.chords)}
        self.applied = {a.name: k for k, a in enumerate(layout.efforts.applied)}
        self.places = {c.name: k for k, c in enumerate(mech._lagrange.hinges)}
        placed = any(
            c.options.get("at") is not None or c.options.get("axis") is not None for c in origin.calls
        )
        bodies = {c.args[0] if c.args else c.options["name"] for c in self.calls if c.method == "body"}
        hinges = set[str]()
        for call in self.calls:
            self._refuse(call, placed)
            if call.method == "connect" and _name(call) not in self.applied:
                hinges.add(_name(call))
        for call in origin.calls:
            read = [x for x in _leaves((call.args, call.options)) if isinstance(x, Connection)]
            if any(x.name in hinges for x in read) and call.method in ("connect", "load"):
                raise NoRefill(f"{call.method} {_name(call)!r} is placed by a hinge that changes")
        self.bodies = bodies
        # attachments of bodies that are made again
        self.joined = [
            c.name for c in (*(b.connection for b in tree.branches), *tree.chords)
            if any(e.body.name in bodies for e in c.ends)
        ]  # fmt: skip
        self.loaded = [
            a.name for a in layout.efforts.applied
            if any(isinstance(e, Attachment) and e.body.name in bodies for e in a.ends)
        ]  # fmt: skip
        if any(f.body.name in bodies for f in wiring.frames.values()):
            raise NoRefill("a frame is on a body that changes")

    def _refuse(self, call: Call, placed: bool) -> None:
        if call.method == "body":
            if depends(call.options.get("pose", call.args[5] if len(call.args) > 5 else None)) and placed:
                raise NoRefill("a pose places connections")
            return
        if call.method not in ("connect", "load") or depends(call.options) or not call.args:
            raise NoRefill(f"{call.method} depends on a parameter")
        name, element = call.args[0], call.args[1]
        if isinstance(element, Composite | LoadFunction) or not isinstance(name, str):
            raise NoRefill(f"{name!r} is made of several parts, or of a function")
        if isinstance(element, Energetic | Load):
            if name not in self.applied:
                raise NoRefill(f"{name!r} is no element of the model")
        elif name not in self.branches and name not in self.chords:
            raise NoRefill(f"{name!r} is no connection of the model")
        elif call.options.get("at") is not None or call.options.get("axis") is not None:
            raise NoRefill(f"{name!r} is placed in the world")

    def __call__(self, values: Mapping[str, Any], kind: Any = np.float64) -> Parts:
        """Return the parts with all these values; kind=object: with recorded ones (many/recorded.py)."""
        mech, tree, layout = self.mech, self.mech.tree, self.mech._layout
        things: dict[
            int, Any
        ] = {}  # what is declared once is made once: a rod gives mass, inertia and centre

        def making(declared: Declaration, values: Mapping[str, float]) -> Any:
            if id(declared) not in things:
                args, options = (remade(part, values, making) for part in (declared.args, declared.options))
                things[id(declared)] = declared.make(*args, **options)
            return things[id(declared)]

        made: dict[str, Body] = {}
        old = {b.name: b for b in tree.bodies}
        numbers = tree.numbers
        bodies, hinges, chords, chord_elements, ends, elements = (set[int]() for _ in range(6))
        moved = set[int]()
        for call in self.calls:
            if call.method == "body":
                args = [remade(x, values, making) if depends(x) else x for x in call.args]
                options = {
                    key: remade(x, values, making) if depends(x) else x for key, x in call.options.items()
                }
                body = _body(*args, **options)
                made[body.name] = _with(body, number=old[body.name].number)
                bodies.add(numbers[body.name])

        def own(body: Body) -> Body:
            return made.get(body.name, body)

        def end_of(given: Any) -> Attachment:
            """Return an end as it was described, with these values."""
            if isinstance(given, Attachment):
                if given.declared is None:
                    return Attachment(own(old[given.body.name]), given.offset, given.rotation)
                start, offset, rotation = given.declared.args
                there = end_of(start) if isinstance(start, Attachment) else own(old[start.name])
                return there.at(remade(offset, values), remade(rotation, values))
            return own(old[given if isinstance(given, str) else given.name]).at()

        def kept(end: Any) -> Any:
            return (
                _with(end, body=own(end.body))
                if isinstance(end, Attachment) and end.body.name in made
                else end
            )

        connections: dict[str, Connection] = {}
        for name in self.joined:
            c = self._connection(name)
            connections[name] = _with(c, ends=tuple(kept(e) for e in c.ends))
        applied = list(layout.efforts.applied)
        for name in self.loaded:
            k = self.applied[name]
            applied[k] = applied[k]._replace(ends=tuple(kept(e) for e in applied[k].ends))
        changed_hinge: dict[str, Hinge] = {}
        for call in self.calls:
            if call.method == "body":
                continue
            name, element, given = call.args[0], call.args[1], call.args[2:]
            new = remade(element, values, making) if depends(element) else None
            if name in self.applied:
                k = self.applied[name]
                if new is not None:
                    if isinstance(new, Energetic) and new.n_ends is None:
                        new = new.joining(len(applied[k].ends))
                    applied[k] = applied[k]._replace(element=new)
                    elements.add(k)
                if depends(given):
                    if any(isinstance(e, Connection) for e in given):
                        raise NoRefill(f"{name!r} has a hinge among its ends")
                    applied[k] = applied[k]._replace(ends=tuple(end_of(e) for e in given))
                    ends.add(k)
                continue
            c = connections.get(name) or self._connection(name)
            if depends(given):
                c = _with(c, ends=tuple(end_of(e) for e in given))
            if new is not None:
                c = _with(c, element=new)
            connections[name] = c
            if name in self.branches:
                number = self.branches[name]
                bodies.add(number)
                if depends(given) or not _same_base(self._connection(name).element, c.element):
                    moved.add(number)
                if new is not None:
                    hinges.add(number)
                    changed_hinge[name] = new
            else:
                chords.add(self.chords[name])
                if new is not None:
                    chord_elements.add(self.chords[name])
        new_tree = _with(
            tree,
            bodies=tuple(own(b) for b in tree.bodies),
            branches=tuple(
                _with(b, connection=connections.get(b.connection.name, b.connection)) for b in tree.branches
            ),
            chords=tuple(connections.get(c.name, c) for c in tree.chords),
        )
        lagrange = mech._lagrange
        coordinates = Lagrange(
            tuple(self._coordinates(c, connections, changed_hinge) for c in lagrange.hinges),
            lagrange.nq,
            lagrange.nu,
        )
        changed = reach(tree, layout, Changed(bodies, hinges, chords, chord_elements, ends, elements), moved)
        gravity = layout.plan.gravity
        if self.gravity:
            gravity = as_vector(remade(self.origin.gravity, values), f"system {mech.name!r}: gravity")
        found = refilled(layout, new_tree, tuple(applied), gravity, changed, kind)
        return Parts(new_tree, coordinates, found, self._wiring(applied))

    def mechanism(self, origin: Origin) -> Mechanism:
        """Return the mechanism of an origin with other values of these parameters."""
        from ..mechanism import Mechanism

        mech, parts = self.mech, self(origin.values)
        loops = mech._core.loops
        pattern = None if loops is None else loops.pattern
        made = Mechanism(
            mech.name, parts.tree, parts.coordinates, parts.layout, mech._prescriptions, parts.wiring, pattern
        )
        made._origin = origin
        return made

    def _connection(self, name: str) -> Connection:
        tree = self.mech.tree
        if name in self.branches:
            return tree.branches[self.branches[name] - 1].connection
        return tree.chords[self.chords[name]]

    @staticmethod
    def _coordinates(
        c: Coordinates, connections: Mapping[str, Connection], hinges: Mapping[str, Hinge]
    ) -> Coordinates:
        if c.name not in connections:
            return c
        return _with(c, connection=connections[c.name], hinge=hinges.get(c.name, c.hinge))

    def _wiring(self, applied: list[Any]) -> Wiring:
        wiring, old = self.mech._wiring, self.mech._layout.efforts.applied
        new = {a.name: a for a, b in zip(applied, old, strict=True) if a is not b}
        handles = {
            name: handle._replace(element=new[name].element, ends=new[name].ends) if name in new else handle
            for name, handle in wiring.elements.items()
        }
        return _with(wiring, elements=handles)


def confirmed(mech: Mechanism, names: frozenset[str]) -> Refill | None:
    """Return a refill whose mechanisms equal those built anew, bit by bit; None if there is none."""
    origin = mech._origin
    assert origin is not None
    try:
        refill = Refill(mech, origin, names)
        for factor in (1.0 + 2.0**-7, 1.0 - 2.0**-9):
            values = {name: beside(origin.values[name], factor) for name in names}
            new = origin.build(values)
            parts = refill({**origin.values, **values})
            if not same_structure(parts.layout, new._layout) or not _same_model(parts, new):
                return None
    except (TreemechError, NoRefill, ArithmeticError, TypeError, ValueError, LookupError):
        return None
    return refill


def beside(value: float, factor: float) -> float:
    """Return a value next to another one."""
    return value * factor if value else abs(factor - 1.0)


def _same_model(parts: Parts, new: Mechanism) -> bool:
    from ..results.model_info import model_info

    seen = parts.wiring.seen()
    own = model_info(new.name, parts.tree, parts.coordinates, parts.layout, new._prescriptions, seen)
    return repr(own.as_dict()) == repr(new._info.as_dict())


def _with(thing: T, **changes: Any) -> T:
    """Return a copy of a checked dataclass with other fields; it is not checked again."""
    made = object.__new__(type(thing))
    made.__dict__.update(thing.__dict__)
    made.__dict__.update(changes)
    return made


def _same_base(a: Any, b: Any) -> bool:
    return bool((a.base() == b.base()).all())


def _body(
    name: str, mass: Any, inertia: Any, com: Any = (0.0, 0.0, 0.0), shapes: Any = (), pose: Any = None
) -> Body:
    return make_body(name, mass, inertia, com, shapes, pose, 0, True)


def _name(call: Call) -> str:
    return str(call.args[0] if call.args else call.options.get("name"))


def _leaves(thing: Any) -> Iterator[Any]:
    found: list[Any] = []
    keep: Callable[[Any], Any] = found.append
    mapped(thing, keep)
    yield from found
