"""The model of a Mechanism in Drake: a MultibodyPlant, continuous for trees, discrete for closed chains.

Drake integrates trees in continuous time (Runge-Kutta 5(3) with error control). Constraints between bodies only exist in its
discrete solver (SAP), whose steps are of first order; a cut pin becomes a ball constraint there.
"""

import time
from typing import Any

import numpy as np

import treemech as tm
from treemech.kinematics.layout.lagrange import Coordinates
from treemech.topology.arrays import Floats

from .loops import TooSlow
from .models import NoSuchJoint, Peer, Pose, joints_of

_LONGEST = (
    0.1  # s, its own default; a first step of 1 s on the long chain gives no number, and it never returns
)


class DrakeModel(Peer):
    """A mechanism as a MultibodyPlant with its own default context; `step` 0: continuous time."""

    name = "Drake"
    closes = True

    def __init__(self, mech: tm.Mechanism, step: float = 0.0) -> None:
        from pydrake.math import RigidTransform, RotationMatrix
        from pydrake.multibody.plant import MultibodyPlant
        from pydrake.multibody.tree import FixedOffsetFrame, PrismaticJoint, RevoluteJoint, SpatialInertia

        super().__init__(mech)
        if mech.tree.chords and step == 0.0:
            raise NoSuchJoint(
                f"Drake: {mech.tree.chords[0].name!r} closes a chain, which needs discrete time."
            )
        self.plant = plant = MultibodyPlant(step)
        plant.mutable_gravity_field().set_gravity_vector(mech._core.layout.plan.gravity.copy())

        def frame(body: Any, pose: Pose, name: str) -> Any:
            X = RigidTransform(RotationMatrix(pose.R), pose.p)
            return plant.AddFrame(FixedOffsetFrame(name, body.body_frame(), X))

        bodies, joints = [plant.world_body()], []
        for k, c in enumerate(self.hinges, start=1):
            mass, com, J = self.inertia(k)
            inertia = SpatialInertia.MakeFromCentralInertia(mass, com, _rotational(J))
            bodies.append(plant.AddRigidBody(f"body{k}", inertia))
            parts = joints_of(c, False, self.name)
            if len(parts) != 1 or parts[0].kind not in ("turn", "slide"):
                raise NoSuchJoint(f"Drake: hinge {c.name!r} ({c.hinge.kind}) is not mapped.")
            place = frame(bodies[int(mech.tree.parent[k])], self.placements[k], f"place{k}")
            kind = {"turn": RevoluteJoint, "slide": PrismaticJoint}[parts[0].kind]
            joint = plant.AddJoint(kind(f"joint{k}", place, bodies[k].body_frame(), parts[0].axis))
            joints.append((c, parts[0], joint))
        for chord in mech.tree.chords:
            if not isinstance(chord.element, tm.Revolute):
                raise NoSuchJoint(
                    f"Drake: the cut hinge {chord.name!r} ({chord.element.kind}) is not mapped."
                )
            numbers = [mech.tree.numbers[end.body.name] for end in chord.ends]
            points = [
                self.frames[k].R.T @ (end.offset - self.frames[k].p)
                for k, end in zip(numbers, chord.ends, strict=True)
            ]
            plant.AddBallConstraint(bodies[numbers[0]], points[0], bodies[numbers[1]], points[1])
        plant.Finalize()
        self.places = [(c, part, j.position_start(), j.velocity_start()) for c, part, j in joints]
        self.bodies, self.context = bodies, plant.CreateDefaultContext()
        self.nq, self.nu = plant.num_positions(), plant.num_velocities()

    def _set(self, q: Floats, u: Floats | None = None) -> None:
        self.plant.SetPositions(self.context, q)
        self.plant.SetVelocities(self.context, np.zeros(self.nu) if u is None else u)

    def _positions(self, q: Floats) -> list[Pose]:
        self._set(q)
        poses = [self.plant.EvalBodyPoseInWorld(self.context, body) for body in self.bodies[1:]]
        return [Pose(np.array(X.translation()), np.array(X.rotation().matrix())) for X in poses]

    def _inverse(self, q: Floats, u: Floats, ud: Floats) -> Floats:
        from pydrake.multibody.tree import MultibodyForces

        self._set(q, u)
        forces = MultibodyForces(self.plant)
        self.plant.CalcForceElementsContribution(self.context, forces)
        return np.array(self.plant.CalcInverseDynamics(self.context, ud, forces))

    def _mass_matrix(self, q: Floats) -> Floats:
        self._set(q)
        return np.array(self.plant.CalcMassMatrix(self.context))

    def _forward(self, q: Floats, u: Floats, tau: Floats) -> Floats:
        bias = self._inverse(q, u, np.zeros(self.nu))
        return np.asarray(np.linalg.solve(self._mass_matrix(q), tau - bias))

    def _free_coordinates(self, c: Coordinates, offset: Floats, e: Floats) -> Floats:
        raise NoSuchJoint(f"Drake: hinge {c.name!r} ({c.hinge.kind}) is not mapped.")

    def _free_speeds(self, c: Coordinates, C: Floats, u: Floats) -> tuple[Floats, Floats]:
        raise NoSuchJoint(f"Drake: hinge {c.name!r} ({c.hinge.kind}) is not mapped.")

    def start(self, state: tm.State) -> None:
        """Return the context at a state of ours."""
        S, _ = self.speed_map(state.q, state.u)
        self.context.SetTime(0.0)
        self._set(self.coordinates(state.q), S @ state.u)

    def bodies_at(self, q: Floats) -> Floats:
        """Return the origins of our bodies at the peer's q."""
        poses = [x @ f.inverse() for x, f in zip(self._positions(q), self.frames[1:], strict=True)]
        return np.array([x.p for x in poses])


def _rotational(J: Floats) -> Any:
    """Return an inertia as Drake takes it."""
    from pydrake.multibody.tree import RotationalInertia

    return RotationalInertia(J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])


class Simulation:
    """solve(setting) -> q at the end: a tolerance for trees, a step for closed chains; `prepare(setting)` builds."""

    def __init__(self, mech: tm.Mechanism, state: tm.State, end: float, allowed: float) -> None:
        import pydrake  # noqa: F401

        self.mech, self.state, self.end, self.allowed = mech, state, end, allowed
        self.setting = "step" if mech.tree.chords else "rtol"
        self.note = "ball constraints in discrete time (SAP), first order" if mech.tree.chords else ""
        self.made: dict[float, tuple[DrakeModel, Any]] = {}

    def prepare(self, setting: float) -> None:
        """Make the plant (its step is part of it) and its simulator."""
        from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator

        if setting in self.made:
            return
        step = self.end / round(self.end / setting) if self.setting == "step" else 0.0
        model = DrakeModel(self.mech, step)
        simulator = Simulator(model.plant, model.context)
        if step == 0.0:
            integrator = ResetIntegratorFromFlags(simulator, "runge_kutta5", _LONGEST)
            integrator.set_target_accuracy(setting)
        self.made[setting] = model, simulator

    def __call__(self, setting: float) -> Floats:
        from pydrake.systems.framework import EventStatus

        model, simulator = self.made[setting]
        until, going = time.process_time() + self.allowed, EventStatus.DidNothing()

        def watch(context: Any) -> Any:
            late = time.process_time() > until
            return EventStatus.ReachedTermination(model.plant, "too slow") if late else going

        model.start(self.state)
        simulator.set_monitor(watch)
        simulator.Initialize()
        simulator.AdvanceTo(self.end)
        if model.context.get_time() < self.end * (1.0 - 1e-9):
            raise TooSlow
        return np.array(model.plant.GetPositions(model.context))

    def answer(self, q: Floats) -> Floats:
        """Return the origins of the bodies at the end of a run."""
        model, _ = next(iter(self.made.values()))
        return model.bodies_at(q)
