"""Where a search for closed positions starts: hinge coordinates from estimated poses of bodies (8.3)."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from treemech.dynamics.model.trace import POSITION, ROTATION
from treemech.topology.arrays import Floats
from treemech.topology.body import Pose

from ..analyses.body_motion import trace_of
from ..results.state import State

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_THERE = 1e-9  # [m, rad] a hinge whose bodies stand this near to their poses is left as it is


def place(mech: "Mechanism", t: float, q: Floats) -> tuple[Floats, Floats]:
    """Return positions (nb + 1, 3) and rotations (nb + 1, 3, 3) of all bodies, the ground first."""
    with mech._core.unloaded():
        trace = trace_of(mech, State(t, q, np.zeros(mech.nu)), None, "assemble")[0][0]
    return trace[:, POSITION], trace[:, ROTATION].reshape(-1, 3, 3)


def coordinates_from_poses(
    mech: "Mechanism", t: float, q: Floats, poses: Mapping[str, Pose], keep: Collection[str]
) -> Floats:
    """Return coordinates that bring bodies near their poses, from the ground outwards.

    A hinge takes the coordinates that fit best between the pose of its outer body and that of its inner body:
    the given one, or the one that the hinges before lead to. Hinges whose outer body has no pose, and those
    to `keep`, stay as they are.
    """
    q = np.array(q)
    for c in sorted(mech._lagrange.hinges, key=lambda c: c.number):
        outer = mech.tree.bodies[c.number].name
        if c.name in keep or outer not in poses:
            continue
        positions, rotations = place(mech, t, q)
        base, ends = c.hinge.base(), []
        for end in c.connection.ends:
            k = mech.tree.numbers[end.body.name]
            p, R = poses.get(end.body.name, (positions[k], rotations[k]))
            ends.append((p + R @ end.offset, R @ end.rotation @ base))
        (pa, A), (pb, B) = ends
        offset, rotation = A.T @ (pb - pa), A.T @ B
        now = c.hinge.motion(q[c.q_slice], t=t)
        far = np.max(np.abs(now.offset - offset)) + np.max(np.abs(now.rotation - rotation))
        if far > _THERE:
            q[c.q_slice] = c.hinge.nearest_coordinates(offset, rotation, q[c.q_slice], t)[0]
    return q
