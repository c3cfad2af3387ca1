"""Motion and loads of energetic elements and loads over a run, from their records."""

from dataclasses import dataclass, fields
from math import prod

import numpy as np

from treemech.elements.energetic import Sizes
from treemech.topology import TopologyError, unknown
from treemech.topology.arrays import Floats

from .model_info import ElementInfo, ModelInfo
from .text import contents


@dataclass(frozen=True, eq=False)
class Audit:
    """Energies of an element since the start [J]: work on the bodies, dissipated energy, energy supplied to it."""

    work: Floats
    dissipated: Floats
    supplied: Floats


@dataclass(frozen=True, eq=False, repr=False)
class ElementMotion:
    """An energetic element or a load over time, world components; rows over time.

    ``position``, ``velocity`` of its ends, ``force``, ``moment`` on their bodies: (n, ends, 3); of a load (n,
    3). ``deformation``, ``effort``: (n,) if there is one number. ``power`` is the power given to the bodies.
    """

    name: str
    position: Floats
    velocity: Floats
    force: Floats
    moment: Floats
    load: Floats
    x: Floats
    inputs: Floats
    deformation: Floats
    effort: Floats
    energy: Floats
    dissipated: Floats
    supplied: Floats
    power: Floats

    def __repr__(self) -> str:
        return contents(self, [f.name for f in fields(self)])


def _part(records: Floats, start: int, places: list[tuple[str, tuple[int, ...], int]], name: str) -> Floats:
    shape, at = next((s, a) for n, s, a in places if n == name)
    return records[:, start + at : start + at + prod(shape)].reshape(len(records), *shape)


def stored_energy(records: Floats, info: ModelInfo) -> Floats:
    """Return the energy stored in all elements."""
    total = np.zeros(len(records))
    for e in info.elements:
        total += _part(records, e.load, Sizes(*e.sizes).load, "energy")[:, 0]
    return total


def element_motion(info: ModelInfo, records: Floats, name: str) -> ElementMotion:
    """Return the motion and loads of an element by its name."""
    found: ElementInfo | None = next((e for e in info.elements if e.name == name), None)
    if found is None:
        raise TopologyError(unknown("element", name, [e.name for e in info.elements]))
    e, sizes = found, Sizes(*found.sizes)

    def sees(what: str) -> Floats:
        return _part(records, e.motion, sizes.motion, what)

    def does(what: str) -> Floats:
        return _part(records, e.load, sizes.load, what)

    power = np.sum(does("force") * sees("velocity") + does("moment") * sees("angular_velocity"), axis=(1, 2))
    power = power + np.sum(does("load") * sees("u"), axis=1)
    one = sizes.ends == 1
    position, velocity, force, moment = (
        x[:, 0] if one else x for x in (sees("position"), sees("velocity"), does("force"), does("moment"))
    )
    deformation, effort = (x[:, 0] if x.shape[1] == 1 else x for x in (does("deformation"), does("effort")))
    energy, dissipated, supplied = (does(n)[:, 0] for n in ("energy", "dissipated", "supplied"))
    return ElementMotion(
        name, position, velocity, force, moment, does("load"), sees("x"), sees("inputs"), deformation, effort, energy,
        dissipated, supplied, power,
    )  # fmt: skip
