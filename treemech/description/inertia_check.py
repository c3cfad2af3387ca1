"""Check of a built model: every free hinge direction must meet some inertia."""

from typing import TYPE_CHECKING

import numpy as np

from treemech.dynamics.model.inertia_check import speed_without_inertia
from treemech.elements import Hinge
from treemech.topology import ElementError, SingularError
from treemech.topology.arrays import Floats

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def check_inertia(mech: "Mechanism") -> None:
    """Raise SingularError if a free hinge direction meets no inertia at two general positions."""
    if not mech.nu:
        return
    for place in (_generic_place, _random_place):
        q = np.concatenate([np.zeros(0), *place([c.hinge for c in mech._lagrange.hinges])])
        try:
            weak = speed_without_inertia(mech._core, q)
        except ElementError:
            return  # an element refuses a random position; the analysis will name it
        if weak is None:
            return
        number, column = weak
    c = next(c for c in mech._lagrange.hinges if c.number == number)
    bodies = [mech.tree.bodies[j].name for j in range(number, int(mech.tree.subtree_end[number]))]
    listed = ", ".join(map(repr, bodies[:4])) + (", ..." if len(bodies) > 4 else "")
    which = f"speed {column} of hinge" if c.hinge.n_speeds > 1 else "hinge"
    raise SingularError(
        f"{which} {c.name!r} ({c.hinge.kind}) moves no inertia: {listed} can follow it without any mass or "
        "moment of inertia moving. Give one of them mass or inertia in that direction, prescribe the "
        "coordinate, or use a hinge without it."
    )


def _generic_place(hinges: list[Hinge]) -> list[Floats]:
    """Return coordinates in general positions, by golden sections of the domains.

    numpy.random would take longer than the build.
    """
    if any(type(hinge).sample is not Hinge.sample for hinge in hinges):
        return _random_place(hinges)
    found, k = [], 1
    for hinge in hinges:
        low, high = (np.asarray(x, dtype=np.float64) for x in hinge.domain())
        q = low + (high - low) * np.mod(0.6180339887498949 * np.arange(k, k + hinge.n_coordinates), 1.0)
        if hinge.euler_parameters is not None:
            e = q[hinge.euler_parameters : hinge.euler_parameters + 4]
            e /= np.linalg.norm(e)
        found.append(q)
        k += hinge.n_coordinates
    return found


def _random_place(hinges: list[Hinge]) -> list[Floats]:
    """Return random coordinates."""
    rng = np.random.default_rng(1)
    return [hinge.sample(rng) for hinge in hinges]
