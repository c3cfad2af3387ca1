"""Targets of an assembly (8.3): numbers of hinges, cut or not, and places of ends, fixed or wished for.

The distance from a target is measured in metres and radians, and 1 m counts as much as 1 rad: differences of
hinge coordinates; world components of a point; the vector 2 sin(angle / 2) n of the rotation from the wanted
attitude to the attitude, for Euler parameters and poses.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.elements import Hinge
from treemech.kinematics.manifold import distance, turned, turns
from treemech.topology import Attachment, Body, ElementError, TopologyError, unknown
from treemech.topology.arrays import Floats
from treemech.topology.body import as_pose, as_rotation
from treemech.topology.rotation import euler_parameters

from ..analyses.body_motion import Attitude, attitude
from ..analyses.cut_hinges import cut_partials
from ..results.state import State

if TYPE_CHECKING:
    from ..mechanism import Mechanism

Measured = tuple[Floats, Floats]  # gaps, their partials by the speeds


@dataclass(frozen=True, eq=False)
class HingeTarget:
    """Wanted coordinates of a hinge; nan where nothing is wanted."""

    name: str
    hinge: Hinge
    wanted: Floats
    q: slice  # among the coordinates of the tree, or of the cut hinges
    u: slice
    cut: bool
    turning: Floats  # 2 pi for coordinates that are the same after a turn, else 0

    @property
    def label(self) -> str:
        return repr(self.name)

    @property
    def count(self) -> int:
        """Number of wanted numbers, as motions in the speeds."""
        return int(np.sum(~np.isnan(distance(self.hinge, self.hinge.reference(), self.wanted)[0])))


@dataclass(frozen=True, eq=False)
class EndTarget:
    """Wanted world position of a point of a body, nan where free, and wanted rotation of its base, or None."""

    label: str
    end: Attachment
    number: int  # of the body
    position: Floats
    rotation: Floats | None

    @property
    def lengths(self) -> int:
        """Number of wanted components of the position."""
        return int(np.sum(~np.isnan(self.position)))

    @property
    def count(self) -> int:
        """Number of wanted numbers."""
        return self.lengths + 3 * (self.rotation is not None)

    def is_at(self, end: Attachment) -> bool:
        """Tell whether this is the place of the same point and base of the same body."""
        mine = self.end
        same = np.array_equal(mine.offset, end.offset) and np.array_equal(mine.rotation, end.rotation)
        return mine.body.name == end.body.name and same


Target = HingeTarget | EndTarget


def end_label(end: Body | Attachment) -> str:
    """Name the end of a target in a message."""
    if isinstance(end, Body):
        return f"body {end.name!r}"
    return f"the point {end.offset.tolist()} of body {end.body.name!r}"


def ends_of(mech: "Mechanism", given: Mapping[Any, Any] | None, what: str) -> list[EndTarget]:
    """Return the wanted places of ends among what is given; the others are names of hinges."""
    return [end_target(mech, k, v, what) for k, v in (given or {}).items() if not isinstance(k, str)]


def end_target(mech: "Mechanism", key: Any, value: Any, what: str) -> EndTarget:
    """Read the wanted place of an end: three numbers, None for free ones, or (position, rotation)."""
    end, label = as_end(mech, key, what), end_label(key)
    position, rotation = value, None
    if isinstance(value, Sequence) and len(value) == 2 and not isinstance(value[1], int | float):
        position, rotation = value[0], as_rotation(value[1], f"{what}: rotation of {label}")
    try:
        numbers = np.array(
            [np.nan if x is None else float(x) for x in (3 * [None] if position is None else position)]
        )
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if numbers.shape != (3,) or np.any(np.isinf(numbers)):
        raise ElementError(
            f"{what} of {label} is {value!r}; wanted its position, three numbers or None for free ones, or (position, rotation)."
        )
    return EndTarget(label, end, mech.tree.numbers[end.body.name], numbers, rotation)


def pose_target(mech: "Mechanism", key: Any, value: Any) -> EndTarget:
    """Read the wanted pose of a body, named or given, or of an attachment."""
    if isinstance(key, str):
        names = [body.name for body in mech.tree.bodies]
        if key not in names:
            raise TopologyError(unknown("body", key, names))
        key = mech.tree.bodies[names.index(key)]
    end = as_end(mech, key, "poses")
    position, rotation = as_pose(value, f"pose of {end_label(key)}")
    return EndTarget(end_label(key), end, mech.tree.numbers[end.body.name], position, rotation)


def as_end(mech: "Mechanism", key: Any, what: str) -> Attachment:
    """Return the attachment of a body or an attachment of this mechanism."""
    end = key.at() if isinstance(key, Body) else key
    if not isinstance(end, Attachment):
        raise ElementError(
            f"{what}: {key!r} is neither the name of a hinge nor a body or attachment, body.at(...)."
        )
    if end.body.name not in mech.tree.numbers:
        raise TopologyError(f"{what}: {unknown('body', end.body.name, mech.tree.numbers)}")
    return end


def hinge_targets(
    mech: "Mechanism", branches: Mapping[str, Floats], cut: Mapping[str, Floats]
) -> list[HingeTarget]:
    """Return targets of hinges by name, each with all its coordinates, nan where nothing is wanted."""
    found = [
        HingeTarget(
            c.name, c.hinge, branches[c.name], c.q_slice, c.u_slice, False, np.zeros(c.hinge.n_coordinates)
        )
        for c in mech._lagrange.hinges
        if c.name in branches
    ]
    elements = {c.name: c.element for c in mech.tree.chords if c.is_hinge}
    for c in (c for c in mech._info.chords if c.name in cut):
        hinge, q, u = elements[c.name], slice(c.q, c.q + c.nq), slice(c.u, c.u + c.nu)
        found.append(HingeTarget(c.name, hinge, cut[c.name], q, u, True, turns(hinge)))
    return found


def measure(mech: "Mechanism", t: float, targets: Sequence[Target]) -> Callable[[Floats], list[Measured]]:
    """Return a function of q that gives gaps and partials of every target, without what is not wanted."""
    core = mech._core
    any_cut = any(isinstance(x, HingeTarget) and x.cut for x in targets)
    any_end = any(isinstance(x, EndTarget) for x in targets)

    def measured(q: Floats) -> list[Measured]:
        found, here, speeds, z = [], np.zeros(0), np.zeros((0, mech.nu)), None
        if any_cut:
            core.constraints(t, q, np.zeros(mech.nu))
            here, speeds = core.chord_work.q.copy(), cut_partials(core, t, q)
        if any_end:
            with core.unloaded():
                z = attitude(mech, State(t, q, np.zeros(mech.nu)))
        for x in targets:
            if isinstance(x, HingeTarget):
                found.append(_of_hinge(x, here if x.cut else q, speeds, mech.nu))
            else:
                assert z is not None
                found.append(_of_end(x, z, mech.nu))
        return found

    return measured


def _of_hinge(target: HingeTarget, q: Floats, speeds: Floats, nu: int) -> Measured:
    gap, slope = distance(target.hinge, q[target.q], target.wanted)
    wanted = ~np.isnan(gap)
    for k in np.flatnonzero(target.turning):
        gap[k] -= target.turning[k] * np.round(gap[k] / target.turning[k])
    if target.cut:
        return gap[wanted], (slope @ speeds[target.u])[wanted]
    partials = np.zeros((len(gap), nu))
    partials[:, target.u] = slope
    return gap[wanted], partials[wanted]


def _of_end(target: EndTarget, z: Attitude, nu: int) -> Measured:
    position, rotation, block = np.zeros(3), np.eye(3), np.zeros((nu, 6))
    if target.number:
        position, rotation = z.position[target.number - 1], z.rotation[target.number - 1]
        block = z.partials[:, 6 * (target.number - 1) : 6 * target.number]
    arm, wanted = rotation @ target.end.offset, ~np.isnan(target.position)
    gaps = [(position + arm - target.position)[wanted]]
    partials = [(block[:, :3].T + np.cross(block[:, 3:], arm).T)[wanted]]
    if target.rotation is not None:
        e = euler_parameters(rotation @ target.end.rotation @ target.rotation.T)
        gap, slope = turned(e)
        gaps.append(gap)
        partials.append(slope @ block[:, 3:].T)
    return np.concatenate(gaps), np.vstack(partials)


def stacked(measured: Iterable[Measured], nu: int) -> Measured:
    """Return the gaps and partials of all targets in one."""
    gaps, partials = [np.zeros(0)], [np.zeros((0, nu))]
    for gap, slope in measured:
        gaps.append(gap)
        partials.append(slope)
    return np.concatenate(gaps), np.vstack(partials)
