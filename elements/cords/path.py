"""Cord through several bodies: via points, and wrapping on cylinders and spheres, without friction."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from treemech.topology.errors import ElementError

from ..element import structure
from ..energetic import EndsLoad, EndsMotion, Energetic, motion_views
from ..fields import make_numbers, refuse_negative
from .wrapping import SPHERE, WrapCylinder, WrapSphere, angle_round, straight, wrap

# Fraction of the radius: the last step before a point enters a surface ends this close to it
ENTERED = 1e-6


def unit_tension(motion: EndsMotion, surfaces: Any, out: EndsLoad) -> tuple[float, float]:
    """Return the length of a cord over all ends and its rate; write its loads at a tension of 1 into `out`.

    surfaces: rows (end, radius, side). The rate follows from virtual work: it is the power that a tension of
    1 takes from the bodies.
    """
    n, m, k, length, power = motion.position.shape[0], 0, 0, 0.0, 0.0
    while k < n - 1:
        if m < surfaces.shape[0] and surfaces[m, 0] == k + 1:
            length += wrap(motion, k + 1, surfaces[m, 1], surfaces[m, 2], m, out)
            m += 1
            k += 2
        else:
            length += straight(motion, k, k + 1, out)
            k += 1
    for k in range(n):
        for i in range(3):
            power += out.force[k, i] * motion.velocity[k, i]
            power += out.moment[k, i] * motion.angular_velocity[k, i]
    return length, -power


def pull(out: EndsLoad, tension: float) -> None:
    """Scale the loads of a tension of 1 to those of the tension."""
    for k in range(out.force.shape[0]):
        for i in range(3):
            out.force[k, i] *= tension
            out.moment[k, i] *= tension


def remember_turns(motion: EndsMotion, surfaces: Any, memory: Any) -> None:
    """Store 1 and the angle of the cord around it for every cylinder among the surfaces."""
    for m in range(surfaces.shape[0]):
        if surfaces[m, 2] != SPHERE:
            angle = angle_round(motion, int(surfaces[m, 0]), surfaces[m, 1], surfaces[m, 2], m)
            memory[2 * m] = 1.0
            memory[2 * m + 1] = angle


def surface_rows(element: Energetic, wraps: Any) -> Any:
    """Return the surfaces {end: WrapCylinder or WrapSphere} as rows of numbers, in the order of the ends."""
    rows = []
    for end, surface in sorted(dict(wraps or {}).items()):
        if not isinstance(surface, (WrapCylinder, WrapSphere)):
            raise ElementError(
                f"{element.kind}.wraps[{end!r}] is {surface!r}; wanted a WrapCylinder or WrapSphere."
            )
        rows.append((float(end), *surface.numbers))
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def refuse_misplaced(element: Any, n_ends: int) -> None:
    """Refuse a surface that is not between two points."""
    if n_ends < 2:
        raise ElementError(f"{element.kind} has {n_ends} ends; wanted at least 2.")
    ends = [int(row[0]) for row in element.surfaces]
    for end in ends:
        if not 0 < end < n_ends - 1:
            raise ElementError(
                f"{element.kind}.wraps names end {end} of {n_ends}, from 0; wanted one between two points."
            )
        if end + 1 in ends:
            raise ElementError(
                f"{element.kind}.wraps names ends {end} and {end + 1}: put a via point between two surfaces."
            )


def surface_entered(motion: EndsMotion, surfaces: Any) -> str:
    """Describe a point that lies inside the adjacent surface or leaves the cord no way around it.

    Returns an empty string if there is none.
    """
    for end, radius, side in surfaces:
        k, shape = int(end), "sphere" if side == SPHERE else "cylinder"
        apart = [motion.position[m] - motion.position[k] for m in (k - 1, k + 1)]
        across = apart if side == SPHERE else [(motion.rotation[k].T @ x)[:2] for x in apart]
        for m, x in zip((k - 1, k + 1), across, strict=True):
            distance = float(np.linalg.norm(x))
            if distance < radius * (1.0 + ENTERED):
                return (
                    f"end {m} enters the {shape} at end {k}: it is {distance:.6g} m from its "
                    f"{'centre' if side == SPHERE else 'axis'}, the radius is {radius:g} m. Keep it outside, by a smaller radius or a stop"
                )
        if side == SPHERE and np.linalg.norm(np.cross(*apart)) <= ENTERED * np.prod(
            np.linalg.norm(apart, axis=1)
        ):
            return (
                f"ends {k - 1} and {k + 1} are opposite each other about the sphere at end {k}, and all ways round it are "
                "equally long. Start from another position"
            )
    return ""


def points_outside(record: Any, element: Any) -> Any:
    """Return a sampled motion in which the points before and after every surface lie outside of it."""
    motion = motion_views(record, element.n)
    for end, radius, side in element.surfaces:
        k = int(end)
        for m in (k - 1, k + 1):
            apart = motion.position[m] - motion.position[k]
            across = apart if side == SPHERE else (motion.rotation[k].T @ apart)[:2]
            motion.position[m] = motion.position[k] + apart * max(1.0, 1.5 * radius / np.linalg.norm(across))
    return record


@dataclass(frozen=True, eq=False)
class Path(Energetic):
    """Cord from its first end to its last, through all ends between: a spring and a damper that only pull.

    Its tension is stiffness eps + damping eps' (never less than 0) where the stretch eps = l - length is
    positive, plus the input ``tension`` [N] if it is actuated. An intermediate end is a via point, through
    which the cord slides. If `wraps` names it, it is a cylinder about the z axis of that end or a sphere
    about its point; the cord lies on this surface where it would otherwise pass through it.

    Parameters
    ----------
    stiffness, damping : float [N/m], [N s/m]
    length : float [m]
        Of the slack cord.
    wraps : dict
        {number of the end, from 0: WrapCylinder(...) or WrapSphere(...)}
    actuated : bool
        Whether it has the input ``tension``.

    Examples
    --------
    >>> Path(actuated=True).input_names
    ('tension',)
    """

    stiffness: float = 0.0
    damping: float = 0.0
    length: float = 0.0
    wraps: Any = structure(default=None)
    actuated: bool = structure(default=False)
    surfaces: Any = field(default=None, init=False, repr=False)
    ends: float = field(default=0.0, init=False, repr=False)
    given: float = field(default=0.0, init=False, repr=False)
    remembered: float = field(default=0.0, init=False, repr=False)
    n_ends = None
    n_deformations = 1
    one_sided = True
    counted: ClassVar[dict[str, str]] = {"n_ends": "ends", "input_names": "given", "n_memory": "remembered"}

    @classmethod
    def example(cls) -> "Path":
        return cls(stiffness=30.0, damping=0.5, length=0.2)

    def __post_init__(self) -> None:
        make_numbers(self, "stiffness", "damping", "length")
        refuse_negative(self, "stiffness", "damping", "length")
        object.__setattr__(self, "surfaces", surface_rows(self, self.wraps))
        object.__setattr__(self, "given", float(len(self.input_names)))
        object.__setattr__(self, "remembered", float(self.n_memory))

    @property
    def input_names(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("tension",) if self.actuated else ()

    @property
    def n_memory(self) -> int:  # type: ignore[override]
        return 2 * len(self.surfaces)

    def joining(self, n_ends: int) -> Self:
        refuse_misplaced(self, n_ends)
        other = super().joining(n_ends)
        object.__setattr__(other, "ends", float(n_ends))
        return other

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        length, rate = unit_tension(motion, self.surfaces, out)
        stretch, elastic, passive, given = length - self.length, 0.0, 0.0, 0.0
        if stretch > 0.0:
            elastic = self.stiffness * stretch
            passive = max(elastic + self.damping * rate, 0.0)
            out.energy[0] = 0.5 * elastic * stretch
        for k in range(motion.inputs.shape[0]):
            given += motion.inputs[k]
        pull(out, passive + given)
        out.dissipated[0] = (passive - elastic) * rate
        out.supplied[0] = -given * rate
        out.deformation[0] = stretch
        out.effort[0] = passive + given

    def remember(self, motion: EndsMotion, t: float, memory: Any) -> None:
        remember_turns(motion, self.surfaces, memory)

    def obstacle(self, motion: EndsMotion) -> str:
        return surface_entered(motion, self.surfaces) or super().obstacle(motion)

    def sample(self, rng: "np.random.Generator", t: float) -> Any:
        return points_outside(super().sample(rng, t), self)
