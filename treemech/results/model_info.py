"""Names and constants of a model that results need; plain data, so that they can be saved with a run."""

from collections.abc import Sequence
from dataclasses import asdict, field
from typing import Any

import numpy as np

from treemech.dynamics.model import trace as columns
from treemech.kinematics.layout.lagrange import Coordinates, Lagrange
from treemech.kinematics.layout.layout import Layout, Prescription
from treemech.kinematics.plan.columns import body, chord, effort, speed
from treemech.topology import Tree
from treemech.topology.arrays import Floats
from treemech.topology.deferred import dataclass

from .units import hinge_units


@dataclass(frozen=True)
class BodyInfo:
    """A body, by regular number in ModelInfo.bodies."""

    name: str
    mass: float
    inertia: list[list[float]]
    com: list[float]
    shapes: list[Any]


@dataclass(frozen=True)
class HingeInfo:
    """A branch: the indices of its numbers, its ends, and the direction in which the tree passes it."""

    name: str
    kind: str
    q: int
    nq: int
    u: int
    nu: int
    forward: bool
    body_a: int
    offset_a: list[float]
    body_b: int
    offset_b: list[float]
    euler_parameters: int | None
    rotation_b: list[list[float]] | None = None  # of end b in its body; None: that of the body
    coordinates: tuple[str, ...] | list[str] = ()  # names an element gives its coordinates: Series
    units: tuple[str, ...] | list[str] = ()  # of the speeds, times seconds (results.units)
    rotor: float = 0.0  # inertia on its speeds

    @property
    def q_slice(self) -> slice:
        """Indices of its coordinates in q."""
        return slice(self.q, self.q + self.nq)

    @property
    def u_slice(self) -> slice:
        """Indices of its speeds in u."""
        return slice(self.u, self.u + self.nu)

    @property
    def number(self) -> int:
        """Number of the body in which the branch ends."""
        return self.body_b if self.forward else self.body_a

    def load(self, trace: Floats) -> tuple[Floats, Floats]:
        """Return (force, moment) on the body of end b, at the point of end b, world components, over a trace."""
        force, moment = trace[:, self.number, columns.FORCE], trace[:, self.number, columns.MOMENT]
        if self.forward:
            return force, moment
        # The tree passes the hinge from b to a: reverse the load on a and move it to the point of b.
        arm = point(trace, self.body_a, self.offset_a) - point(trace, self.body_b, self.offset_b)
        return -force, -(moment + np.cross(arm, force))

    def local(self, trace: Floats, *vectors: Floats) -> list[Floats]:
        """Return vectors in the axes of end b, over a trace."""
        return in_axes(trace, self.body_b, self.rotation_b, vectors)


@dataclass(frozen=True)
class ChordInfo:
    """A cut hinge, a constraint or a coupling: the indices of its coordinates among those of the chords."""

    name: str
    q: int
    nq: int
    u: int
    nu: int
    body_b: int = 0
    rotation_b: list[list[float]] | None = None
    joins: list[str] = field(default_factory=list)  # the coordinates of a coupling
    first: int = 0  # place of its first load among those of all couplings
    coordinates: tuple[str, ...] | list[str] = ()
    euler_parameters: int | None = None
    units: tuple[str, ...] | list[str] = ()

    def local(self, trace: Floats, *vectors: Floats) -> list[Floats]:
        """Return vectors in the axes of end b, over a trace."""
        return in_axes(trace, self.body_b, self.rotation_b, vectors)


@dataclass(frozen=True)
class ElementInfo:
    """An energetic element or a load: where its records and states stand."""

    name: str
    kind: str
    sizes: list[int]  # elements.energetic.Sizes
    motion: int  # start of its motion record among those of all elements
    load: int
    state: int  # of its first state in z


@dataclass(frozen=True)
class ModelInfo:
    """Names and constants of a model."""

    name: str
    gravity: list[float]
    bodies: list[BodyInfo]
    hinges: list[HingeInfo]
    prescribed: list[tuple[str, int, int]]  # hinge, coordinate, place in u
    chords: list[ChordInfo]
    elements: list[ElementInfo]
    inputs: list[tuple[str, str, int]]  # name, element, number among its inputs

    @property
    def connections(self) -> "list[HingeInfo | ChordInfo]":
        """Branches, then chords."""
        return [*self.hinges, *self.chords]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "ModelInfo":
        return cls(
            str(content["name"]),
            [float(g) for g in content["gravity"]],
            [BodyInfo(**body) for body in content["bodies"]],
            [HingeInfo(**hinge) for hinge in content["hinges"]],
            [(str(n), int(k), int(u)) for n, k, u in content["prescribed"]],
            [ChordInfo(**chord) for chord in content["chords"]],
            [ElementInfo(**element) for element in content["elements"]],
            [(str(n), str(e), int(k)) for n, e, k in content["inputs"]],
        )


def hinge_info(tree: Tree, c: Coordinates, rotor: float = 0.0) -> HingeInfo:
    a, b = c.connection.ends
    return HingeInfo(
        c.name, c.hinge.kind, c.q, c.hinge.n_coordinates, c.u, c.hinge.n_speeds, c.forward,
        tree.numbers[a.body.name], a.offset.tolist(), tree.numbers[b.body.name], b.offset.tolist(),
        c.hinge.euler_parameters, turned(b.rotation), _coordinate_names(c.hinge), hinge_units(c.hinge), rotor,
    )  # fmt: skip


def chord_infos(tree: Tree, lagrange: Lagrange, layout: Layout) -> list[ChordInfo]:
    """Return the chords: connections of the tree first, then couplings."""
    found, rows, first = list[ChordInfo](), layout.chords.plan.chord, 0
    for k, (name, row) in enumerate(zip(layout.chords.names, rows, strict=True)):
        q, nq, u, nu = (int(row[column]) for column in (chord.FIRST_Q, chord.NQ, chord.FIRST_U, chord.NU))
        if k < len(tree.chords):
            end = tree.chords[k].ends[1]
            at_b = tree.numbers[end.body.name], turned(end.rotation)
            known = _coordinates_of(tree.chords[k].element) if tree.chords[k].is_hinge else {}
            found.append(ChordInfo(name, q, nq, u, nu, *at_b, **known))
            continue
        own = layout.chords.plan.path[row[chord.PATH_START] : row[chord.PATH_END], chord.SPEED]
        joins = [lagrange.u_names[i] for i in layout.plan.dof[own, speed.PUBLIC]]
        found.append(ChordInfo(name, q, nq, u, nu, joins=joins, first=first))
        first += len(joins)
    return found


def _coordinates_of(hinge: Any) -> dict[str, Any]:
    """Return names, Euler parameters and units of the coordinates of a cut hinge."""
    return {
        "coordinates": _coordinate_names(hinge),
        "euler_parameters": hinge.euler_parameters,
        "units": hinge_units(hinge),
    }


def turned(rotation: Floats) -> list[list[float]] | None:
    """Return a rotation as data; None if there is none."""
    given: list[list[float]] = rotation.tolist()
    return None if np.array_equal(rotation, np.eye(3)) else given


def _coordinate_names(element: Any) -> tuple[str, ...]:
    """Return the names an element gives its coordinates, if there is one for every speed."""
    return tuple(getattr(element, "coordinate_names", ())) if element.euler_parameters is None else ()


def model_info(
    name: str,
    tree: Tree,
    lagrange: Lagrange,
    layout: Layout,
    prescriptions: tuple[Prescription, ...],
    inputs: list[tuple[str, str, int]],
) -> ModelInfo:
    """Return the description of a built system."""
    places = {c.name: c.u for c in lagrange.hinges}
    return ModelInfo(
        name,
        layout.plan.gravity.tolist(),
        [
            BodyInfo(b.name, float(b.mass), b.inertia.tolist(), b.com.tolist(), list(b.shapes))
            for b in tree.bodies
        ],
        [hinge_info(tree, c, float(layout.plan.constants[c.number, body.ROTOR])) for c in lagrange.hinges],
        [(p.hinge, p.coordinate, places[p.hinge] + p.coordinate) for p in prescriptions],
        chord_infos(tree, lagrange, layout),
        [
            ElementInfo(
                a.name,
                a.element.kind,
                list(a.sizes),
                *(int(row[k]) for k in (effort.MOTION_RECORD, effort.LOAD_RECORD, effort.FIRST_STATE)),
            )
            for a, row in zip(layout.efforts.applied, layout.efforts.rows, strict=True)
        ],
        inputs,
    )


def point(trace: Floats, number: int, offset: Any) -> Floats:
    """Return the world position of a point of a body over a trace."""
    row = trace[:, number]
    return np.asarray(row[:, columns.POSITION] + rotations(row) @ np.asarray(offset, dtype=np.float64))


def in_axes(trace: Floats, number: int, rotation: Any, vectors: Sequence[Floats]) -> list[Floats]:
    """Return vectors (n, 3) in axes that a rotation places in a body, over a trace of n states or of one."""
    axes = rotations(trace[:, number])
    if rotation is not None:
        axes = axes @ np.asarray(rotation, dtype=np.float64)
    return [np.einsum("nij,ni->nj", np.broadcast_to(axes, (len(v), 3, 3)), v) for v in vectors]


def rotations(row: Floats) -> Floats:
    return row[:, columns.ROTATION].reshape(-1, 3, 3)


def energies(trace: Floats, u: Floats, info: ModelInfo) -> tuple[Floats, Floats]:
    """Return kinetic (6.2.13) and potential energy of all bodies and rotors over a trace.

    Heights count from the world origin.
    """
    mass = np.array([b.mass for b in info.bodies])
    com = np.array([b.com for b in info.bodies])
    inertia = np.array([b.inertia for b in info.bodies])
    R = trace[:, :, columns.ROTATION].reshape(*trace.shape[:2], 3, 3)
    arm = np.einsum("nbij,bj->nbi", R, com)
    w = trace[:, :, columns.OMEGA]
    v = trace[:, :, columns.VELOCITY] + np.cross(w, arm)
    wb = np.einsum("nbji,nbj->nbi", R, w)
    kinetic = 0.5 * (np.einsum("b,nbi,nbi->n", mass, v, v) + np.einsum("nbi,bij,nbj->n", wb, inertia, wb))
    for hinge in info.hinges:
        if hinge.rotor:
            kinetic = kinetic + 0.5 * hinge.rotor * np.sum(u[:, hinge.u_slice] ** 2, axis=1)
    potential = -np.einsum("b,nbi,i->n", mass, trace[:, :, columns.POSITION] + arm, np.array(info.gravity))
    return kinetic, potential
