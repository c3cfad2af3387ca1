"""The model of a Mechanism in Pinocchio and in MuJoCo, and the maps between their coordinates and ours.

A hinge becomes a sequence of elementary joints (turn, slide, screw, ball, free) between the bases of its two
ends; a hinge the tree runs through backwards becomes the reversed sequence of the inverted joints. So both
peers have every hinge that is such a sequence, in either direction. Speeds differ linearly::

    u_peer = S(q) u      ud_peer = S ud + s(q, u)      tau = S^T tau_peer      A = S^T A_peer S

Ours: angular velocity in the base of end a. Both peers: in the base of the moving end. A free joint: Pinocchio
has its velocity in the moving base, MuJoCo in the world (and only on the ground: elsewhere three slides and
a ball take its place).
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import treemech as tm
from treemech.kinematics.layout.lagrange import Coordinates
from treemech.topology.arrays import Floats
from treemech.topology.rotation import euler_parameters

_X, _Y, _Z = np.eye(3)


class NoSuchJoint(tm.TreemechError):
    """A hinge the peer library has nothing for."""


class Pose(NamedTuple):
    """Position and rotation of a base in another."""

    p: Floats
    R: Floats

    def __matmul__(self, other: "Pose") -> "Pose":  # type: ignore[override]
        return Pose(self.p + self.R @ other.p, self.R @ other.R)

    def inverse(self) -> "Pose":
        return Pose(-self.R.T @ self.p, self.R.T)


@dataclass(frozen=True, eq=False)
class Joint:
    """An elementary joint. `row`: its coordinate as a combination of the hinge's (turn, slide, screw)."""

    kind: str
    row: tuple[float, ...] = ()
    axis: Any = None
    pitch: float = 0.0
    inverted: bool = False  # of a ball
    start: int = 0  # of a ball or free joint: its first coordinate and speed in the hinge

    def backwards(self) -> "Joint":
        axis = None if self.axis is None else -self.axis
        return Joint(self.kind, self.row, axis, self.pitch, not self.inverted, self.start)

    @property
    def nq(self) -> int:
        return {"ball": 4, "free": 7}.get(self.kind, 1)

    @property
    def nu(self) -> int:
        return {"ball": 3, "free": 6}.get(self.kind, 1)


def joints_of(c: Coordinates, free_joint: bool, peer: str) -> list[Joint]:
    """Return the hinge as elementary joints, from the ground side outwards."""
    hinge: Any = c.hinge
    n = hinge.n_coordinates
    unit = [tuple(row) for row in np.eye(n)]

    def slides() -> list[Joint]:
        return [Joint("slide", unit[k], axis) for k, axis in enumerate((_X, _Y, _Z))]

    makers: dict[type, Callable[[], list[Joint]]] = {
        tm.Rigid: lambda: [],
        tm.Revolute: lambda: [Joint("turn", unit[0], _Z)],
        tm.Prismatic: lambda: [Joint("slide", unit[0], _Z)],
        tm.Screw: lambda: [Joint("screw", unit[0], _Z, hinge.pitch)],
        tm.Cylindrical: lambda: [Joint("turn", unit[0], _Z), Joint("slide", unit[1], _Z)],
        tm.Universal: lambda: [Joint("turn", unit[0], _X), Joint("turn", unit[1], _Y)],
        tm.Planar: lambda: [
            Joint("slide", unit[0], _X), Joint("slide", unit[1], _Y), Joint("turn", unit[2], _Z),
        ],
        tm.Polar: lambda: [
            Joint("turn", unit[0], _Z), Joint("slide", unit[1], _X), Joint("turn", (-1.0, 0.0, 1.0), _Z),
        ],
        tm.Translation: slides,
        tm.BallBryant: lambda: [Joint("turn", unit[k], axis) for k, axis in enumerate((_X, _Y, _Z))],
        tm.Ball: lambda: [Joint("ball")],
        tm.Free: lambda: [Joint("free")] if free_joint and c.forward else [*slides(), Joint("ball", start=3)],
    }  # fmt: skip
    if type(hinge) not in makers:
        raise NoSuchJoint(f"hinge {c.name!r} ({hinge.kind}): {peer} has no such joint.")
    joints: list[Joint] = makers[type(hinge)]()
    return joints if c.forward else [joint.backwards() for joint in reversed(joints)]


class Peer(ABC):
    """A peer's model of a mechanism, asked and answering in our coordinates.

    `frames[k]` is the base of the hinge end on body k, in which the peer describes the body. `places` says
    for every elementary joint which hinge it belongs to and where its q and u start in the peer's.
    """

    name = ""
    closes = False  # whether a subclass adds the chords

    def __init__(self, mech: tm.Mechanism) -> None:
        closed = mech._core.loops is not None and not self.closes
        if closed or mech._prescriptions or mech._core.layout.efforts.applied:
            raise NoSuchJoint(f"{self.name}: only trees without prescribed motion and loads are mapped.")
        self.mech = mech
        self.places: list[tuple[Coordinates, Joint, int, int]] = []
        by_number = {c.number: c for c in mech._lagrange.hinges}
        self.hinges = [by_number[k] for k in range(1, len(mech.tree.bodies))]
        self.frames, self.placements = [Pose(np.zeros(3), np.eye(3))], [Pose(np.zeros(3), np.eye(3))]
        for c in self.hinges:
            a, b = c.connection.ends
            outer, inner = (a, b) if c.forward else (b, a)
            base = c.hinge.base()
            parent = int(mech.tree.parent[c.number])
            on_parent = Pose(outer.offset, outer.rotation @ base)
            self.placements.append(self.frames[parent].inverse() @ on_parent)
            self.frames.append(Pose(inner.offset, inner.rotation @ base))

    def inertia(self, k: int) -> tuple[float, Floats, Floats]:
        """Return mass, centre of mass and inertia of body k in its frame."""
        body, frame = self.mech.tree.bodies[k], self.frames[k]
        return body.mass, frame.R.T @ (body.com - frame.p), frame.R.T @ body.inertia @ frame.R

    # what a peer answers, in its own coordinates
    nq = nu = 0

    @abstractmethod
    def _positions(self, q: Floats) -> list[Pose]:
        """Return the poses of the frames of bodies 1, 2, ..."""

    @abstractmethod
    def _inverse(self, q: Floats, u: Floats, ud: Floats) -> Floats: ...

    @abstractmethod
    def _mass_matrix(self, q: Floats) -> Floats: ...

    @abstractmethod
    def _forward(self, q: Floats, u: Floats, tau: Floats) -> Floats: ...

    # in ours
    def positions(self, q: Floats) -> tuple[Floats, Floats]:
        """Return position (nb, 3) and rotation (nb, 3, 3) of bodies 1, 2, ... as `Mechanism.attitude` does."""
        poses = [
            x @ f.inverse()
            for x, f in zip(self._positions(self.coordinates(q)), self.frames[1:], strict=True)
        ]
        return np.array([x.p for x in poses]), np.array([x.R for x in poses])

    def inverse_dynamics(self, q: Floats, u: Floats, ud: Floats) -> Floats:
        S, s = self.speed_map(q, u)
        return np.asarray(S.T @ self._inverse(self.coordinates(q), S @ u, S @ ud + s))

    def mass_matrix(self, q: Floats) -> Floats:
        S, _ = self.speed_map(q, np.zeros(self.mech.nu))
        return np.asarray(S.T @ self._mass_matrix(self.coordinates(q)) @ S)

    def forward_dynamics(self, q: Floats, u: Floats, tau: Floats) -> Floats:
        S, s = self.speed_map(q, u)
        ud = self._forward(
            self.coordinates(q), S @ u, np.asarray(np.linalg.solve(S.T, tau), dtype=np.float64)
        )
        return np.asarray(np.linalg.solve(S, ud - s))

    # the maps
    def coordinates(self, q: Floats) -> Floats:
        """Return the peer's coordinates at our q."""
        out = np.zeros(self.nq)
        for c, joint, at, _ in self.places:
            out[at : at + joint.nq] = self._joint_coordinates(c, joint, q[c.q_slice])
        return out

    def _joint_coordinates(self, c: Coordinates, joint: Joint, q: Floats) -> Floats:
        if joint.kind == "ball":
            e = q[joint.start : joint.start + 4] / np.linalg.norm(q[joint.start : joint.start + 4])
            return self._quaternion(e * (1, -1, -1, -1) if joint.inverted else e)
        if joint.kind == "free":
            return self._free_coordinates(c, q[:3], q[3:] / np.linalg.norm(q[3:]))
        return np.asarray(joint.row) @ q

    def speed_map(self, q: Floats, u: Floats) -> tuple[Floats, Floats]:
        """Return S (nu, nu) and s (nu,) of the module's head."""
        S, s = np.zeros((self.nu, self.mech.nu)), np.zeros(self.nu)
        for c, joint, _, at in self.places:
            columns = slice(c.u + joint.start, c.u + joint.start + joint.nu)
            if joint.kind == "ball":
                e = q[c.q + joint.start : c.q + joint.start + 4]
                S[at : at + 3, columns] = -np.eye(3) if joint.inverted else rotation_of(e).T
            elif joint.kind == "free":
                C = rotation_of(q[c.q + 3 : c.q + 7])
                block, bias = self._free_speeds(c, C, u[c.u_slice])
                S[at : at + 6, columns] = block
                s[at : at + 6] = bias
            else:
                S[at, c.u_slice] = np.asarray(joint.row)[: c.hinge.n_speeds]
        return S, s

    def _quaternion(self, e: Floats) -> Floats:
        """Return a unit quaternion, scalar first, in the peer's order."""
        return e

    @abstractmethod
    def _free_coordinates(self, c: Coordinates, offset: Floats, e: Floats) -> Floats: ...

    @abstractmethod
    def _free_speeds(self, c: Coordinates, C: Floats, u: Floats) -> tuple[Floats, Floats]: ...


def rotation_of(e: Floats) -> Floats:
    """Return the rotation of Euler parameters."""
    return tm.Ball().motion(q=e).rotation


def product(a: Floats, b: Floats) -> Floats:
    """Return the quaternion product, scalar first."""
    return np.concatenate(
        ([a[0] * b[0] - a[1:] @ b[1:]], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))
    )


class PinModel(Peer):
    """A mechanism in Pinocchio; `model` and `data` are Pinocchio's own."""

    name = "Pinocchio"
    MOST = 300  # joints; its Data takes 32 n^3 bytes

    def __init__(self, mech: tm.Mechanism) -> None:
        import pinocchio as pin

        super().__init__(mech)
        if len(self.hinges) > self.MOST:
            raise NoSuchJoint(
                f"Pinocchio: {len(self.hinges)} joints; above {self.MOST} its Data is too large."
            )
        self.pin, self.model = pin, pin.Model()
        self.model.gravity = pin.Motion(mech._core.layout.plan.gravity.copy(), np.zeros(3))
        self.joint: list[tuple[int, Pose]] = [
            (0, self.placements[0])
        ]  # of each body, and its frame in the joint
        for k, c in enumerate(self.hinges, start=1):
            joint, frame = self.joint[int(mech.tree.parent[k])]
            place = frame @ self.placements[k]
            parts = joints_of(c, True, self.name)
            if parts:
                joint = self.model.addJoint(joint, self._joint(parts), pin.SE3(place.R, place.p), c.name)
                place = self.placements[0]
                at, on = self.model.joints[joint].idx_q, self.model.joints[joint].idx_v
                for part in parts:
                    self.places.append((c, part, at, on))
                    at, on = at + part.nq, on + part.nu
            mass, com, J = self.inertia(k)
            self.model.appendBodyToJoint(joint, pin.Inertia(mass, com, J), pin.SE3(place.R, place.p))
            self.joint.append((joint, place))
        self.nq, self.nu = self.model.nq, self.model.nv
        self.data = self.model.createData()

    def _joint(self, parts: list[Joint]) -> Any:
        if len(parts) == 1:
            return self._elementary(parts[0])
        composite = self.pin.JointModelComposite()
        for part in parts:
            composite.addJoint(self._elementary(part), self.pin.SE3.Identity())
        return composite

    def _elementary(self, joint: Joint) -> Any:
        pin = self.pin
        if joint.kind == "ball":
            return pin.JointModelSpherical()
        if joint.kind == "free":
            return pin.JointModelFreeFlyer()
        if joint.kind == "screw":
            return pin.JointModelHelicalUnaligned(joint.axis, joint.pitch)
        if joint.axis @ (1.0, 1.0, 1.0) < 0:
            kind = {"turn": pin.JointModelRevoluteUnaligned, "slide": pin.JointModelPrismaticUnaligned}
            return kind[joint.kind](joint.axis)
        letter = "XYZ"[int(np.argmax(joint.axis))]
        return getattr(pin, "JointModel" + {"turn": "R", "slide": "P"}[joint.kind] + letter)()

    def _quaternion(self, e: Floats) -> Floats:
        return e[[1, 2, 3, 0]]

    def _free_coordinates(self, c: Coordinates, offset: Floats, e: Floats) -> Floats:
        return np.concatenate((offset, self._quaternion(e)))

    def _free_speeds(self, c: Coordinates, C: Floats, u: Floats) -> tuple[Floats, Floats]:
        zero = np.zeros((3, 3))
        return np.block([[C.T, zero], [zero, C.T]]), np.concatenate(
            (-C.T @ np.cross(u[3:], u[:3]), np.zeros(3))
        )

    def _positions(self, q: Floats) -> list[Pose]:
        self.pin.forwardKinematics(self.model, self.data, q)
        poses = []
        for joint, place in self.joint[1:]:
            x = self.data.oMi[joint]
            poses.append(Pose(x.translation.copy(), x.rotation.copy()) @ place)
        return poses

    def _inverse(self, q: Floats, u: Floats, ud: Floats) -> Floats:
        return np.array(self.pin.rnea(self.model, self.data, q, u, ud))

    def _mass_matrix(self, q: Floats) -> Floats:
        A = np.triu(self.pin.crba(self.model, self.data, q))
        return np.asarray(A + np.triu(A, 1).T)

    def _forward(self, q: Floats, u: Floats, tau: Floats) -> Floats:
        return np.array(self.pin.aba(self.model, self.data, q, u, tau))


class MujocoModel(Peer):
    """A mechanism in MuJoCo; `model` and `data` are MuJoCo's own. Contacts and constraints are off."""

    name = "MuJoCo"

    def __init__(self, mech: tm.Mechanism) -> None:
        import mujoco

        super().__init__(mech)
        self.mujoco = mujoco
        spec = mujoco.MjSpec()
        spec.compiler.degree = False
        spec.option.gravity = mech._core.layout.plan.gravity
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
        off = mujoco.mjtDisableBit
        spec.option.disableflags = int(
            off.mjDSBL_CONSTRAINT | off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS
            | off.mjDSBL_EULERDAMP | off.mjDSBL_SENSOR
        )  # fmt: skip
        bodies, names = [spec.worldbody], []
        for k, c in enumerate(self.hinges, start=1):
            parent, place = int(mech.tree.parent[k]), self.placements[k]
            mass, com, J = self.inertia(k)
            body = bodies[parent].add_body(name=f"body{k}", pos=place.p, quat=euler_parameters(place.R))
            body.explicitinertial = True
            body.mass, body.ipos = mass, com
            body.fullinertia = J[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
            for j, part in enumerate(joints_of(c, parent == 0, self.name)):
                names.append((c, part, f"joint{k}.{j}"))
                self._elementary(c, body, part, names[-1][2])
            bodies.append(body)
        self._finish(spec)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # at q = 0 a Polar hinge is singular, which is no concern of ours
            self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        for c, part, name in names:
            at = self.model.joint(name)
            self.places.append((c, part, int(at.qposadr[0]), int(at.dofadr[0])))
        self.rows = [self.model.body(f"body{k}").id for k in range(1, len(bodies))]
        self.nq, self.nu = self.model.nq, self.model.nv

    def _finish(self, spec: Any) -> None:
        """Add what a subclass needs before the model is compiled."""

    def _elementary(self, c: Coordinates, body: Any, joint: Joint, name: str) -> None:
        kinds = self.mujoco.mjtJoint
        if joint.kind == "screw":
            raise NoSuchJoint(f"hinge {c.name!r} (Screw): MuJoCo has no such joint.")
        kind = {
            "turn": kinds.mjJNT_HINGE, "slide": kinds.mjJNT_SLIDE, "ball": kinds.mjJNT_BALL, "free": kinds.mjJNT_FREE,
        }[joint.kind]  # fmt: skip
        added = body.add_joint(name=name, type=kind)
        if joint.axis is not None:
            added.axis = joint.axis

    def _free_coordinates(self, c: Coordinates, offset: Floats, e: Floats) -> Floats:
        place = self.placements[c.number]
        return np.concatenate((place.p + place.R @ offset, product(euler_parameters(place.R), e)))

    def _free_speeds(self, c: Coordinates, C: Floats, u: Floats) -> tuple[Floats, Floats]:
        zero = np.zeros((3, 3))
        return np.block([[self.placements[c.number].R, zero], [zero, C.T]]), np.zeros(6)

    def _set(
        self, q: Floats, u: Floats | None = None, ud: Floats | None = None, tau: Floats | None = None
    ) -> None:
        d = self.data
        d.qpos[:] = q
        d.qvel[:] = 0.0 if u is None else u
        d.qacc[:] = 0.0 if ud is None else ud
        d.qfrc_applied[:] = 0.0 if tau is None else tau

    def _positions(self, q: Floats) -> list[Pose]:
        self._set(q)
        self.mujoco.mj_kinematics(self.model, self.data)
        return [Pose(self.data.xpos[k].copy(), self.data.xmat[k].reshape(3, 3).copy()) for k in self.rows]

    def _inverse(self, q: Floats, u: Floats, ud: Floats) -> Floats:
        self._set(q, u, ud)
        self.mujoco.mj_inverse(self.model, self.data)
        return np.array(self.data.qfrc_inverse)

    def _mass_matrix(self, q: Floats) -> Floats:
        self._set(q)
        m, d, A = self.model, self.data, np.zeros((self.nu, self.nu))
        self.mujoco.mj_kinematics(m, d)
        self.mujoco.mj_comPos(m, d)
        self.mujoco.mj_makeM(m, d)
        self.mujoco.mj_fullM(m, d, A)
        return A

    def _forward(self, q: Floats, u: Floats, tau: Floats) -> Floats:
        self._set(q, u, tau=tau)
        self.mujoco.mj_forward(self.model, self.data)
        return np.array(self.data.qacc)


def pin_model(mech: tm.Mechanism) -> PinModel:
    """Return the mechanism in Pinocchio; raise NoSuchJoint with the name of a hinge it lacks."""
    return PinModel(mech)


def mujoco_model(mech: tm.Mechanism) -> MujocoModel:
    """Return the mechanism in MuJoCo; raise NoSuchJoint with the name of a hinge it lacks."""
    return MujocoModel(mech)
