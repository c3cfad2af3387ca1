"""SDF files as Drake imports them: the same poses, mass matrices and accelerations, closed chains by its matrices and rows."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import treemech as tm

pytestmark = [pytest.mark.slow, pytest.mark.extras]
MODELS = Path(__file__).parents[2] / "treemech" / "imports" / "models"
EXACT = 1e-9
JOINTS = {
    "arm3": ("A", "B", "C"),
    "loop": ("A", "B", "D"),
    "carrier": ("gimbal", "slide", "wrist ball", "gripper::left turn", "gripper::right turn"),
}


def close(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return np.max(np.abs(a - b)) <= EXACT * (1.0 + np.max(np.abs(b)))


class InDrake:
    """A model as Drake's parser reads it, with the names of joints and links that SDF gives them."""

    def __init__(self, text, gravity, kind="sdf"):
        pytest.importorskip("pydrake")
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant

        self.plant = MultibodyPlant(0.0)
        Parser(self.plant).AddModelsFromString(text, kind)
        self.plant.mutable_gravity_field().set_gravity_vector(gravity)
        self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()
        self.nv = self.plant.num_velocities()

    def joint(self, name):
        found = (self.plant.get_joint(k) for k in self.plant.GetJointIndices())
        return next(joint for joint in found if joint.name() == name.rpartition("::")[2])

    def frame(self, name):
        from pydrake.multibody.tree import FrameIndex

        found = (self.plant.get_frame(FrameIndex(k)) for k in range(self.plant.num_frames()))
        return next(frame for frame in found if frame.name() == name.rpartition("::")[2])

    def set(self, q, v):
        self.plant.SetPositions(self.context, q)
        self.plant.SetVelocities(self.context, v)

    def mass_matrix(self):
        return self.plant.CalcMassMatrixViaInverseDynamics(self.context)

    def accelerations(self):
        return self.plant.EvalTimeDerivatives(self.context).get_generalized_velocity().CopyToVector()

    def pose(self, name):
        return self.frame(name).CalcPoseInWorld(self.context)


def sdf(name):
    return (MODELS / f"{name}.sdf").read_text()


def ours(name):
    return read(MODELS / f"{name}.sdf")


def read(file):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return tm.read(file)


def test_an_arm_of_gazebo_moves_as_in_drake():
    system = ours("arm3")
    mech, peer, names = system.build(), InDrake(sdf("arm3"), system.gravity), JOINTS["arm3"]
    assert peer.nv == mech.nu == 3
    place = [peer.joint(n).velocity_start() for n in names]
    order, rng = [mech.speeds.index(n) for n in names], np.random.default_rng(5)
    for _ in range(5):
        x, v, q, u = *rng.uniform(-1, 1, size=(2, 3)), np.zeros(3), np.zeros(3)
        q[place], u[place] = x, v
        peer.set(q, u)
        state = mech.state(q=dict(zip(names, x)), u=dict(zip(names, v)))
        same(mech, state, peer, order, place)
        for link in ("upper", "lower", "slider"):
            found, there = mech.pose(link, state), peer.pose(link)
            assert close(found.position, there.translation()) and close(
                found.rotation, there.rotation().matrix()
            )


def same(mech, state, peer, order, place, closed=False):
    """Compare mass matrix, accelerations, and loads by inverse dynamics for random accelerations."""
    there, rng = np.ix_(place, place), np.random.default_rng(len(place))
    assert close(mech.mass_matrix(state)[np.ix_(order, order)], peer.mass_matrix()[there])
    # all loads of springs, dampers, gravity and inertia together make its accelerations
    assert close(mech.load_column(state)[order], (peer.mass_matrix() @ peer.accelerations())[place])
    if closed:
        return
    assert close(mech.forward_dynamics(state).ud[order], peer.accelerations()[place])
    ud, full = rng.normal(size=mech.nu), np.zeros(peer.nv)
    full[place] = ud[order]
    assert close(
        mech.inverse_dynamics(state, ud)[order],
        (peer.mass_matrix() @ (full - peer.accelerations()))[place],
    )


def test_a_free_carrier_with_a_model_inside_moves_as_in_drake():
    """A universal and a ball joint, a fixed link, a nested model, poses in degrees and quaternions, a spring with damping."""
    system = ours("carrier")
    mech, peer, names, rng = (
        system.build(), InDrake(sdf("carrier"), system.gravity), JOINTS["carrier"], np.random.default_rng(8),
    )  # fmt: skip
    free = next(c.name for c in mech._lagrange.hinges if c.hinge.n_speeds == 6)
    assert peer.nv == mech.nu == 6 + 2 + 1 + 3 + 2
    hull = peer.frame("hull").body()
    for _ in range(5):
        q, u = np.zeros(peer.plant.num_positions()), np.zeros(peer.nv)
        given_q, given_u, order, place = {}, {}, [], []
        R, turn = Rotation.random(random_state=rng), rng.uniform(-0.8, 0.8, size=3)
        p, w, vel = rng.normal(size=(3, 3))
        at = hull.floating_positions_start()
        q[at : at + 4], q[at + 4 : at + 7] = np.roll(R.as_quat(), 1), p
        at = hull.floating_velocities_start_in_v()
        u[at : at + 3], u[at + 3 : at + 6] = w, vel  # in axes of the world, as ours, but for the order
        given_q[free], given_u[free] = [*p, *q[hull.floating_positions_start() :][:4]], [*vel, *w]
        first = mech.speeds.index(f"{free}[0]")
        order += range(first, first + 6)
        place += [at + 3, at + 4, at + 5, at, at + 1, at + 2]
        for name in names:
            joint = peer.joint(name)
            n, start = joint.num_velocities(), joint.velocity_start()
            v = rng.normal(size=n)
            u[start : start + n] = v
            if (
                n == 3
            ):  # roll, pitch, yaw there; speeds are the angular velocity in axes of the parent on both sides
                q[joint.position_start() :][:3] = turn
                given_q[name] = np.roll(Rotation.from_euler("xyz", turn).as_quat(), 1)
            else:
                x = rng.uniform(-0.8, 0.8, size=n)
                q[joint.position_start() :][:n] = x
                given_q[name] = x if n > 1 else x[0]
            given_u[name] = v if n > 1 else v[0]
            one = mech.speeds.index(name if n == 1 else f"{name}[0]")
            order += range(one, one + n)
            place += range(start, start + n)
        peer.set(q, u)
        state = mech.state(q=given_q, u=given_u)
        same(mech, state, peer, order, place)
        for end in ("hull", "boom", "lamp", "deck", "gripper::left", "gripper::right", "gripper::between"):
            found, there = mech.pose(end, state), peer.pose(end)
            assert close(found.position, there.translation()), end
            assert close(found.rotation, there.rotation().matrix()), end


def test_a_loop_of_gazebo_moves_as_by_drakes_matrices():
    """Drake reads no loops: without joint C it has the tree, and C holds a point of the coupler on the rocker by its Jacobians."""
    text, n_removed = re.subn(r'<joint name="C".*?</joint>', "", sdf("loop"), flags=re.DOTALL)
    system, names = ours("loop"), JOINTS["loop"]
    mech, peer = system.build(), InDrake(text, system.gravity)
    assert n_removed == 1 and peer.nv == mech.nu == 3 and [c.name for c in mech.tree.chords] == ["C"]
    from pydrake.multibody.tree import JacobianWrtVariable

    order, place = [mech.speeds.index(n) for n in names], [peer.joint(n).velocity_start() for n in names]
    coupler, rocker, world = peer.frame("coupler"), peer.frame("rocker"), peer.plant.world_frame()
    kind, tip = JacobianWrtVariable.kV, np.array([0.5, 0.0, 0.0])  # C in the coupler
    # where the file has it in the rocker: it is at one place at the start
    at_start = [0.3 + 0.5 * np.cos(0.5), 0.0, 0.5 * np.sin(0.5)]
    on_rocker = Rotation.from_euler("y", -1.2).inv().apply(np.subtract(at_start, [0.7, 0.0, 0.0]))
    start = mech.assemble(guess=dict.fromkeys(names, 0.0), rates={"A": 1.3})
    run = mech.simulate((0, 0.5), start, rtol=1e-11, t_eval=[0.0, 0.2, 0.5])
    for k in range(3):
        state = run.state(k)
        q, v = np.zeros(3), np.zeros(3)
        q[place], v[place] = (np.array([state[n][level][0] for n in names]) for level in (0, 1))
        peer.set(q, v)
        same(mech, state, peer, order, place, closed=True)
        ends = ((coupler, tip), (rocker, on_rocker))
        a, b = (peer.plant.CalcPointsPositions(peer.context, f, x, world).ravel() for f, x in ends)
        assert close(a, b)
        P, bias = (
            np.subtract(*(f(peer.context, kind, frame, x, world, world).reshape(3, -1) for frame, x in ends))
            for f in (
                peer.plant.CalcJacobianTranslationalVelocity,
                peer.plant.CalcBiasTranslationalAcceleration,
            )
        )
        P, bias = P[[0, 2]], bias[[0, 2], 0]
        M, zero = peer.mass_matrix(), np.zeros((2, 2))
        right = np.concatenate((M @ peer.accelerations(), -bias))
        exact = np.linalg.solve(np.block([[M, P.T], [P, zero]]), right)[:3]
        assert np.max(np.abs(bias)) > 0.1
        assert close(mech.forward_dynamics(state).ud[order], exact[place])


@pytest.mark.parametrize(
    "name", ["acrobot/Acrobot.sdf", "multibody/cart_pole/cart_pole.sdf", "pendulum/Pendulum.urdf"]
)
def test_models_of_drakes_wheel_move_as_there(name):
    file = Path(pytest.importorskip("pydrake").__file__).parent / "share/drake/examples" / name
    system = read(file)
    mech, rng = system.build(), np.random.default_rng(2)
    peer = InDrake(file.read_text(), system.gravity, file.suffix[1:])
    names = list(mech.speeds)
    place = [peer.joint(n).velocity_start() for n in names]
    x, v, q, u = *rng.uniform(-1, 1, size=(2, mech.nu)), np.zeros(peer.nv), np.zeros(peer.nv)
    q[place], u[place] = x, v
    peer.set(q, u)
    same(mech, mech.state(q=x, u=v), peer, np.arange(mech.nu), place)
