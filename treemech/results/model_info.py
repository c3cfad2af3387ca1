"""Names and constants of a model that results need; plain data, so that they can be saved with a run."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from treemech.dynamics.model import trace as columns
from treemech.kinematics.layout.lagrange import Coordinates, Lagrange
from treemech.kinematics.layout.layout import Layout, Prescription
from treemech.kinematics.plan.columns import chord, effort
from treemech.topology import Tree
from treemech.topology.arrays import Floats


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


@dataclass(frozen=True)
class ChordInfo:
    """A cut hinge, a constraint or a coupling: the indices of its coordinates among those of the chords."""

    name: str
    q: int
    nq: int
    u: int
    nu: int


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


def hinge_info(tree: Tree, c: Coordinates) -> HingeInfo:
    a, b = c.connection.ends
    return HingeInfo(
        c.name, c.hinge.kind, c.q, c.hinge.n_coordinates, c.u, c.hinge.n_speeds, c.forward,
        tree.numbers[a.body.name], a.offset.tolist(), tree.numbers[b.body.name], b.offset.tolist(),
        c.hinge.euler_parameters,
    )  # fmt: skip


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
        [hinge_info(tree, c) for c in lagrange.hinges],
        [(p.hinge, p.coordinate, places[p.hinge] + p.coordinate) for p in prescriptions],
        [
            ChordInfo(name, *(int(row[k]) for k in (chord.FIRST_Q, chord.NQ, chord.FIRST_U, chord.NU)))
            for name, row in zip(layout.chords.names, layout.chords.plan.chord, strict=True)
        ],
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


def rotations(row: Floats) -> Floats:
    return row[:, columns.ROTATION].reshape(-1, 3, 3)


def energies(trace: Floats, info: ModelInfo) -> tuple[Floats, Floats]:
    """Return kinetic (6.2.13) and potential energy of all bodies over a trace.

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
    potential = -np.einsum("b,nbi,i->n", mass, trace[:, :, columns.POSITION] + arm, np.array(info.gravity))
    return kinetic, potential
