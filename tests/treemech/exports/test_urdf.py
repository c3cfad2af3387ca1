"""URDF of a tree: read back, and read by Pinocchio, it moves as before; what URDF cannot say is listed."""

import numpy as np
import pytest

import treemech as tm
from tests.support.tolerances import PEER, ROUND


def random_tree(seed):
    """Return a tree of revolute, prismatic, rigid and free hinges, run through both ways, with placements turned at random."""
    rng = np.random.default_rng(seed)
    system = tm.System(f"tree {seed}", gravity=(0, 0, -9.81))

    def turn():
        return np.linalg.qr(rng.normal(size=(3, 3)))[0] * np.array([1, 1, 1.0])

    def rotation():
        R = turn()
        return R if np.linalg.det(R) > 0 else R[:, [1, 0, 2]]

    bodies = [system.ground]
    for k in range(7):
        A = rng.normal(size=(3, 3))
        J = A @ A.T
        body = system.body(
            f"b{k}",
            rng.uniform(0.5, 2),
            np.trace(J) * np.eye(3) - J,
            com=rng.normal(size=3),
            shapes=[{"kind": "box", "size": [0.1, 0.2, 0.3]}],
        )
        kinds = [
            tm.Revolute(rng.normal(size=3)),
            tm.Prismatic(rng.normal(size=3)),
            tm.Revolute("y"),
            tm.Rigid(),
        ]
        hinge = tm.Free() if k == 4 else kinds[rng.integers(4)]
        parent = system.ground if k == 4 else bodies[rng.integers(len(bodies))]
        ends = [parent.at(rng.normal(size=3), rotation()), body.at(rng.normal(size=3), rotation())]
        if rng.random() < 0.5 and k != 4:
            ends.reverse()
        system.connect(f"h{k}", hinge, *ends)
        if isinstance(hinge, tm.Revolute):
            system.connect(f"h{k}.damping", tm.RotationalSpring(damping=rng.uniform(0, 1)), f"h{k}")
            system.limit(f"h{k}", lower=-1.5, upper=2.0, effort=10.0, velocity=3.0)
        bodies.append(body)
    return system


@pytest.mark.parametrize("seed", range(6))
def test_a_tree_read_back_moves_as_before(seed, tmp_path):
    mech = random_tree(seed).build()
    path = mech.to_urdf(tmp_path / "tree.urdf")
    again = tm.read(path, strict=True)
    other, rng = again.build(), np.random.default_rng(seed)
    assert other.name == mech.name and set(other.speeds) == set(mech.speeds)
    for _ in range(2):
        q, u = rng.normal(size=mech.nq), rng.normal(size=mech.nu)
        free = mech._lagrange.euler_parameters[0]
        q[free : free + 4] /= np.linalg.norm(q[free : free + 4])
        names = [c.name for c in mech._lagrange.hinges if c.hinge.n_coordinates]
        state = mech.state(q=q, u=u)
        there = other.state(q={n: state[n][0] for n in names}, u={n: state[n][1] for n in names})
        one, two = mech.forward_dynamics(state).ud, other.forward_dynamics(there).ud
        moved = np.array([two[other.speeds.index(n)] for n in mech.speeds])
        assert np.max(np.abs(moved - one)) < ROUND * np.max(np.abs(one))
    limits = again.limits
    for name, limit in mech._wiring.limits.items():
        assert limits[name[0]] == limit


def test_pinocchio_reads_what_is_written(tmp_path):
    pin = pytest.importorskip("pinocchio")
    system = tm.System("arm", gravity=(0, 0, -9.81))
    upper = system.body("upper", 2.0, (0.1, 0.2, 0.15, 0.01, 0.02, -0.01), com=(0.2, 0.01, 0.02))
    lower = system.body("lower", 1.0, (0.05, 0.07, 0.04), com=(0, 0.1, 0.3))
    slide = system.body("slide", 0.5, (0.01, 0.02, 0.03))
    system.connect("A", tm.Revolute((1, 2, 0.5)), system.ground.at((0, 0, 1)), upper.at((0.1, 0, 0)))
    system.connect("B", tm.Revolute("z"), lower.at((0, 0.2, 0)), upper.at((0.5, 0, 0.1)))
    system.connect("C", tm.Prismatic((0, 1, 1)), lower.at((0, 0, 0.6)), slide)
    mech = system.build()
    model = pin.buildModelFromUrdf(str(mech.to_urdf(tmp_path / "arm.urdf")))
    data, rng = model.createData(), np.random.default_rng(1)
    for _ in range(3):
        values, rates = rng.normal(size=(2, 3))
        q, v = pin.neutral(model), np.zeros(model.nv)
        for name, x, w in zip("ABC", values, rates, strict=True):
            joint = model.joints[model.getJointId(name)]
            q[joint.idx_q : joint.idx_q + joint.nq] = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
            v[joint.idx_v] = w
        wanted = pin.aba(model, data, q, v, np.zeros(model.nv))
        ud = mech.forward_dynamics(mech.state(q=values, u=rates)).ud
        found = [wanted[model.joints[model.getJointId(n)].idx_v] for n in mech.speeds]
        assert np.max(np.abs(ud - found)) < PEER * np.max(np.abs(ud))


def test_what_urdf_cannot_say_is_listed(tmp_path):
    system = random_tree(1)
    system.connect("spring", tm.Spring(10.0), system.ground, system.bodies[2])
    system.load("push", tm.Force(x=1.0), system.bodies[3])
    system.prescribe("h0", 0.1) if "h0" in system.connections else None
    mech = system.build()
    with pytest.raises(tm.TreemechError, match="(?s)'spring'.*'push'"):
        mech.to_urdf(tmp_path / "x.urdf")
    assert not (tmp_path / "x.urdf").exists() and mech.to_urdf(tmp_path / "x.urdf", strict=False).exists()
    loop = tm.examples.four_bar().mechanism
    with pytest.raises(tm.TreemechError, match="URDF holds trees"):
        loop.to_urdf(tmp_path / "y.urdf")
    with pytest.raises(tm.TreemechError, match=r"ending \.urdf"):
        mech.to_urdf(tmp_path / "y.json")
    ball = tm.System("ball")
    ball.connect("socket", tm.Ball(), ball.ground, ball.body("b", 1.0, (1, 1, 1)))
    with pytest.raises(tm.TreemechError, match=r"'socket' \(Ball\)"):
        ball.build().to_urdf(tmp_path / "z.urdf")


def test_followers_and_friction_come_back(tmp_path):
    from tests.treemech.imports.test_reader import MODELS, read

    first = read("gripper.urdf").build()
    again = tm.read(first.to_urdf(tmp_path / "gripper.urdf", strict=False)).build()
    assert again.speeds == first.speeds
    one, two = (m.forward_dynamics(m.assemble()).ud for m in (first, again))
    assert np.allclose(one, two, rtol=1e-12, atol=1e-12) and MODELS.is_dir()
