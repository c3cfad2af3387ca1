"""Inertias that stay physical: ten parameters of a body, and the log-Cholesky map of its pseudo-inertia.

The ten numbers are those in which the equations of motion are linear: mass m, first moments h = m c, and the
inertia J about the origin of the body. They belong to a mass distribution if and only if the pseudo-inertia::

    P = [[S, h], [h^T, m]],   S = 1/2 tr(J) 1 - J

is positive definite (Wensing, Kim, Slotine 2018). P = U U^T with an upper triangular U, whose diagonal is written
with exponentials (Rucker, Wensing 2022), gives all of these and no others for any ten real numbers theta::

    U = e^a [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.topology import ElementError, unknown
from treemech.topology.arrays import Floats
from treemech.topology.parameter import Parameter

from ..description.parameters import origin_of

if TYPE_CHECKING:
    from ..mechanism import Mechanism

PARTS = ("m", "hx", "hy", "hz", "Jxx", "Jyy", "Jzz", "Jxy", "Jxz", "Jyz")
_PLACES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # of the entries of J
_THIN = 1e-6  # smallest eigenvalue of a pseudo-inertia relative to the largest, as a start


def inertial_parameters(name: str, mass: float, inertia: Any, com: Any = (0.0, 0.0, 0.0)) -> dict[str, Any]:
    """Return mass, com and inertia of a body as functions of ten parameters, for ``system.body(name, **...)``.

    The parameters are NAME_m, NAME_hx, NAME_hy, NAME_hz (mass times centre of mass) and NAME_Jxx, ..., NAME_Jyz (inertia about
    the origin of the body). `fit` keeps ten parameters with such names physical, all together.

    >>> sorted(inertial_parameters("rod", 2.0, (0, 1, 1), (0.5, 0, 0)))
    ['com', 'inertia', 'mass']
    """
    start = about_origin(name, mass, inertia, com)
    m, hx, hy, hz, *J = (Parameter(n, x) for n, x in zip(part_names(name), start.tolist(), strict=True))
    squares = (hy * hy + hz * hz, hx * hx + hz * hz, hx * hx + hy * hy)
    about_com = [J[k] - squares[k] / m for k in range(3)]
    about_com += [J[3] + hx * hy / m, J[4] + hx * hz / m, J[5] + hy * hz / m]
    return {"mass": m, "com": (hx / m, hy / m, hz / m), "inertia": about_com}


def about_origin(name: str, mass: float, inertia: Any, com: Any) -> Floats:
    """Return the ten numbers of a body described by mass, inertia about the centre of mass, and com."""
    from treemech.topology.body import make_body

    body = make_body(name, mass, inertia, com)
    if body.mass <= 0.0:
        raise ElementError(f"body {name!r} has no mass: its inertia cannot be fitted.")
    c = body.com
    J = body.inertia + body.mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([body.mass, *(body.mass * c), *(J[place] for place in _PLACES)])


def part_names(name: str) -> list[str]:
    """Return the names of the ten parameters of a body."""
    stem = re.sub(r"\W", "_", name)
    stem = stem if stem.isidentifier() else f"_{stem}"
    return [f"{stem}_{part}" for part in PARTS]


def with_inertial_parameters(mech: "Mechanism", bodies: Iterable[str]) -> "Mechanism":
    """Build a mechanism again; the bodies named have ten inertial parameters each, which start at their values."""
    origin, chosen = origin_of(mech), [bodies] if isinstance(bodies, str) else list(bodies)
    known = {body.name: body for body in mech.tree.bodies}
    calls, values = list(origin.calls), dict(origin.values)
    for name in chosen:
        if name not in known or name == "ground":
            raise ElementError(unknown("body", name, [n for n in known if n != "ground"]))
        if part_names(name)[0] in values:
            continue
        body = known[name]
        places = [k for k, call in enumerate(calls) if call.method == "body" and _owner(call) == name]
        if not places:
            raise ElementError(f"body {name!r} was not described by system.body(...): it cannot be fitted.")
        made = inertial_parameters(name, body.mass, body.inertia, body.com)
        call = calls[places[0]]
        later = dict(zip(("mass", "inertia", "com", "shapes", "pose"), call.args[1:], strict=False))
        calls[places[0]] = call._replace(
            args=(name,), options={**call.options, **later, **made, "name": name}
        )
        calls[places[0]].options.pop("name")
        values |= {
            p: v
            for p, v in zip(
                part_names(name), about_origin(name, body.mass, body.inertia, body.com).tolist(), strict=True
            )
        }
    return origin._replace(calls=tuple(calls), values=values).build({})


def _owner(call: Any) -> Any:
    return call.args[0] if call.args else call.options.get("name")


class Group(NamedTuple):
    """Ten parameters of one body, by their places among the unknowns."""

    stem: str
    places: list[int]


def groups(names: list[str]) -> list[Group]:
    """Return the complete groups of inertial parameters among some names."""
    found = []
    for name in names:
        if name.endswith("_m"):
            wanted = [f"{name[:-2]}_{part}" for part in PARTS]
            if all(w in names for w in wanted):
                found.append(Group(name[:-2], [names.index(w) for w in wanted]))
    return found


def pseudo_inertia(numbers: Floats) -> Floats:
    """Return P (4, 4) of the ten numbers.

    >>> float(pseudo_inertia(np.array([2.0, 0, 0, 0, 2.0, 3.0, 4.0, 0, 0, 0]))[0, 0])  # (Jyy + Jzz - Jxx) / 2
    2.5
    """
    J = np.zeros((3, 3))
    for place, x in zip(_PLACES, numbers[4:], strict=True):
        J[place] = J[place[::-1]] = x
    P = np.zeros((4, 4))
    P[:3, :3] = 0.5 * np.trace(J) * np.eye(3) - J
    P[3, :3] = P[:3, 3] = numbers[1:4]
    P[3, 3] = numbers[0]
    return P


def numbers_of(P: Floats) -> Floats:
    """Return the ten numbers of a pseudo-inertia; linear in it."""
    J = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
    return np.array([P[3, 3], *P[:3, 3], *(J[place] for place in _PLACES)])


def _factor(theta: Floats) -> tuple[Floats, list[Floats]]:
    """Return U of theta, and its derivatives."""
    a, d, s, t = theta[0], theta[1:4], theta[4:7], theta[7:10]
    inner = np.eye(4)
    inner[[0, 1, 2], [0, 1, 2]] = np.exp(d)
    inner[0, 1], inner[1, 2], inner[0, 2] = s
    inner[:3, 3] = t
    U, by = np.exp(a) * inner, [np.exp(a) * inner]
    for k, place in enumerate([(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)]):
        E = np.zeros((4, 4))
        E[place] = np.exp(a) * (np.exp(d[k]) if k < 3 else 1.0)
        by.append(E)
    return U, by


def from_theta(theta: Floats) -> tuple[Floats, Floats]:
    """Return the ten numbers (10,) of theta (10,), and their derivatives (10, 10)."""
    U, by = _factor(theta)
    columns = [numbers_of(E @ U.T + U @ E.T) for E in by]
    return numbers_of(U @ U.T), np.array(columns).T


def to_theta(numbers: Floats) -> Floats:
    """Return theta of ten numbers; thin bodies are thickened a little, bodies that cannot exist are refused."""
    P = pseudo_inertia(numbers)
    values, vectors = np.linalg.eigh(P)
    if values[0] < -1e-6 * values[-1]:
        raise ElementError(
            f"the inertial parameters {numbers.round(6).tolist()} (mass, first moments, inertia about the origin) belong to no "
            f"mass distribution: the smallest eigenvalue of their pseudo-inertia is {values[0]:.3g}."
        )
    P = (vectors * np.maximum(values, _THIN * values[-1])) @ vectors.T
    turned = np.linalg.cholesky(P[::-1, ::-1])[::-1, ::-1]  # upper triangular
    a = np.log(turned[3, 3])
    inner = turned / turned[3, 3]
    return np.array([a, *np.log(np.diag(inner)[:3]), inner[0, 1], inner[1, 2], inner[0, 2], *inner[:3, 3]])
