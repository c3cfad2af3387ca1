"""Signals of a run by name, with their labels and units: "A.q", "A.force[2]", "rod.position", "energy.total"."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.topology import ElementError, TopologyError, unknown
from treemech.topology.arrays import Floats

from ..results.naming import as_place, as_quantity, numbered
from ..results.units import QUANTITIES, unit_of

if TYPE_CHECKING:
    from ..results.model_info import ModelInfo
    from ..results.run import Run

_ENERGIES = ("kinetic", "potential", "stored", "total")


class Signal(NamedTuple):
    """One curve: its name, its unit ("" if unknown) and its values over the times of the run."""

    label: str
    unit: str
    values: Floats


def signals(run: "Run", name: str) -> list[Signal]:
    """Return the curves that a name stands for: several if it names a vector, or a hinge with several coordinates.

    A name is that of a connection ("A": its coordinates; "A[1]"), of an input or a measure, "t", or a quantity of a
    connection, body or element with its place ("A.q", "rod.position[2]"), or of "energy" and "residual".
    """
    if not isinstance(name, str):
        raise ElementError(
            f"signal {name!r}: wanted a text such as 'A.q', 'rod.position[2]' or 'energy.total'."
        )
    info = run._info
    if name == "t":
        return [Signal("t", "s", run.t)]
    inputs = [known for known, _, _ in info.inputs]
    if name in inputs:
        return [Signal(name, "", run.input(name))]
    if name in run._measures:
        return [Signal(name, "", run.measure(name))]
    asked = as_quantity(name)
    connections = {c.name: c for c in info.connections}
    place = as_place(name, connections)
    if place.owner in connections and (asked is None or place.index is not None or name in connections):
        return _of_connection(
            run, connections[place.owner], "q", () if place.index is None else (place.index,), name
        )
    if asked is None or asked.owner not in _owners(info):
        owner = name if asked is None else asked.owner
        known = [*_owners(info), *inputs, *run._measures]
        raise TopologyError(
            f"signal {name!r}: {unknown('connection, body, element, input or measure', owner, known)}"
        )
    owner, quantity, indices = asked
    if owner in connections and quantity in ("q", "u", "ud"):
        return _of_connection(run, connections[owner], quantity, tuple(map(str, indices)), name)
    thing = _thing(run, owner)
    offered = [n for n in dir(thing) if not n.startswith("_") and not callable(getattr(type(thing), n, None))]
    if quantity not in offered:
        raise ElementError(f"signal {name!r}: {unknown('quantity', quantity, offered)}")
    values = _array(getattr(thing, quantity), len(run.t), name)
    unit = "" if owner == "residual" else QUANTITIES.get(quantity, "")
    return _split(f"{owner}.{quantity}", unit, values, indices, name)


def names(run: "Run") -> list[str]:
    """Return the names of everything that can be drawn without a place: connections, inputs, measures, energies."""
    info = run._info
    found = [c.name for c in info.connections if c.nq] + [n for n, _, _ in info.inputs] + list(run._measures)
    return found + [f"energy.{part}" for part in _ENERGIES]


def _owners(info: "ModelInfo") -> list[str]:
    named = [f"{c.name}.{own}" for c in info.connections for own in c.coordinates]
    things = [*info.connections, *info.bodies, *info.elements]
    return [*dict.fromkeys(thing.name for thing in things), *named, "energy", "residual"]


def _of_connection(
    run: "Run", connection: Any, quantity: str, indices: tuple[str, ...], name: str
) -> list[Signal]:
    """Return coordinates, speeds or accelerations of a hinge, all or one of them."""
    values = np.asarray(getattr(run.connection(connection.name), quantity))
    columns = values[:, None] if values.ndim == 1 else values
    count = columns.shape[1]
    if count == 0:
        raise ElementError(f"signal {name!r}: connection {connection.name!r} has no coordinates.")
    try:
        chosen = range(count) if not indices else [range(count)[int(indices[0])]]
    except (ValueError, IndexError):
        raise ElementError(
            f"signal {name!r}: connection {connection.name!r} has {count} numbers in {quantity}, from 0."
        ) from None
    labels = numbered(f"{connection.name}.{quantity}", count)
    return [
        Signal(labels[k], unit_of(connection.units, connection.euler_parameters, quantity, k), columns[:, k])
        for k in chosen
    ]


def _thing(run: "Run", owner: str) -> Any:
    """Return the motion of a connection, a body or an element, or the energies or residuals of the run."""
    info = run._info
    if owner in [b.name for b in info.bodies]:
        return run.body(owner)
    if owner in [e.name for e in info.elements]:
        return run.element(owner)
    if owner in ("energy", "residual") and owner not in [c.name for c in info.connections]:
        return getattr(run, owner)
    return run.connection(owner)


def _array(values: Any, count: int, name: str) -> Floats:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.ndim == 0 or found.shape[0] != count:
        raise ElementError(f"signal {name!r} is not a number over time and cannot be drawn.")
    return found


def _split(label: str, unit: str, values: Floats, indices: tuple[int, ...], name: str) -> list[Signal]:
    """Return one curve for every component that is meant."""
    if values.ndim == 1 and indices == (0,):  # the only number has the index 0
        indices = ()
    place: tuple[Any, ...] = (slice(None), *indices)
    try:
        part = values[place]
    except IndexError:
        raise ElementError(
            f"signal {name!r}: there is no place {list(indices)} in {values.shape[1:]}."
        ) from None
    label += "".join(f"[{k}]" for k in indices)
    if part.ndim == 1:
        return [Signal(label, unit, part)]
    if part.ndim > 2:
        raise ElementError(
            f"signal {name!r} has {part.shape[1:]} numbers: add the place of one row, {name}[0]."
        )
    axes = "xyz" if part.shape[1] == 3 else None
    return [
        Signal(f"{label}.{axes[k]}" if axes else f"{label}[{k}]", unit, part[:, k])
        for k in range(part.shape[1])
    ]
