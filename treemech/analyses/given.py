"""Check numbers that a user gives by name: prescribed coordinates, and angles that look like degrees."""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import ElementError

from ..results.naming import as_place
from ..results.state import State, find

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def refuse_contradictions(mech: "Mechanism", state: State, q: Any, u: Any) -> None:
    """Refuse given numbers of prescribed coordinates that differ from their signals; warn where all are given at once."""
    for p in mech._prescriptions:
        c = find(mech._lagrange, p.hinge)
        for letter, given, place, numbers in (("q", q, c.q, state.q), ("u", u, c.u, state.u)):
            met = _given(given, p.hinge, p.coordinate, place)
            want = float(numbers[place + p.coordinate])
            if met is None or abs(met - want) <= 1e-6 * (1.0 + abs(want)):
                continue
            message = (
                f"{letter} of {p.hinge!r} is {met:.9g}, but its prescribed motion gives {want:.9g} at t = {state.t:.6g} s: leave it "
                "out, change the signal, or give another time t."
            )
            if isinstance(given, Mapping):
                raise ElementError(message)
            warnings.warn(message, stacklevel=4)


def _given(given: Any, hinge: str, coordinate: int, place: int) -> float | None:
    """Return the number given for a coordinate, by name or among all of them; None if there is none."""
    if isinstance(given, Mapping):
        for key, value in given.items():
            named = as_place(str(key), {hinge})
            if named.owner == hinge and named.number in (None, coordinate):
                numbers = np.atleast_1d(np.asarray(value, dtype=np.float64))
                return float(numbers[coordinate if named.index is None else 0])
        return None
    return None if given is None else float(np.asarray(given, dtype=np.float64)[place + coordinate])


def warn_of_degrees(mech: "Mechanism", given: Any) -> None:
    """Warn of angles that look like degrees: multiples of 5 from 15 on, more than two turns in radians."""
    if not isinstance(given, Mapping):
        return
    hinges = {c.name: c.hinge for c in mech._lagrange.hinges}
    hinges |= {c.name: c.element for c in mech.tree.chords if c.is_hinge}
    for key, value in given.items():
        place = as_place(str(key), hinges)
        hinge = hinges.get(place.owner)
        if hinge is None or hinge.euler_parameters is not None or isinstance(value, (str, bytes)):
            continue
        numbers = np.atleast_1d(np.asarray(value, dtype=object)).ravel()
        first = place.number or 0
        for k, number in enumerate(numbers):
            if _typed_in_degrees(number) and first + k < hinge.n_speeds and _is_angle(hinge, first + k):
                warnings.warn(
                    f"q of {str(key)!r} is {float(number):g} rad, {float(number) / (2 * np.pi):.3g} turns: angles are in radians. "
                    f"Is np.deg2rad({float(number):g}) = {np.deg2rad(float(number)):.6g} meant?",
                    stacklevel=4,
                )
                return


def _typed_in_degrees(number: Any) -> bool:
    return (
        isinstance(number, (int, float, np.number))
        and abs(float(number)) >= 15.0
        and float(number) % 5.0 == 0.0
    )


def _is_angle(hinge: Any, k: int) -> bool:
    """Tell whether a coordinate of a hinge turns it by one radian per unit."""
    return abs(float(np.linalg.norm(hinge.motion(hinge.reference()).rotation_partials[k])) - 1.0) < 1e-6
