"""URDF: random trees move as in Pinocchio; what is not read is listed, what is no URDF is refused."""

import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import treemech as tm

pin = pytest.importorskip("pinocchio")
EXACT = 1e-9


def read(text, tmp_path, **options):
    file = tmp_path / "robot.urdf"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tm.read(file, **options)


class Writer:
    """Writes random trees: all joints, links with and without mass, axes of any length, joints before links."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def numbers(self, values):
        return " ".join(f"{x:.8g}" for x in values)

    def origin(self, size):
        r = self.rng
        return f'<origin xyz=" {self.numbers(size * r.normal(size=3))} " rpy="{self.numbers(r.uniform(-4, 4, 3))}"/>'

    def link(self, name, massless):
        if massless:
            return f'<link name="{name}"/>'
        a, b, c = self.rng.uniform(0.05, 0.3, 3)
        R = Rotation.random(random_state=int(self.rng.integers(10**6))).as_matrix()
        M = R @ np.diag((a + b, b + c, a + c)) @ R.T
        entries = " ".join(f'i{"xyz"[i]}{"xyz"[j]}="{M[i, j]:.10g}"' for i in range(3) for j in range(i, 3))
        return f'<link name="{name}"><inertial>{self.origin(0.2)}<mass value="{self.rng.uniform(0.2, 3):.5g}"/><inertia {entries}/></inertial></link>'

    def model(self):
        r, kinds = (
            self.rng,
            ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "revolute"),
        )
        links, joints = [self.link("L0", False)], []
        for k in range(1, int(r.integers(3, 9))):
            kind = kinds[r.integers(len(kinds))]
            axis = (
                (0, 0, 1) if kind == "planar" else 2.0 * r.normal(size=3)
            )  # Pinocchio: planes are normal to z
            more = f'<axis xyz="{self.numbers(axis)}"/>'
            if kind in ("revolute", "prismatic"):
                more += '<limit lower="-1" upper="2" effort="3" velocity="4"/>'
            links.append(self.link(f"L{k}", kind == "fixed" and r.random() < 0.7))
            joints.append(
                f'<joint name="L{k}" type="{kind}">{self.origin(0.4)}<parent link="L{r.integers(k)}"/><child link="L{k}"/>{more}</joint>'
            )
        parts = [*links, *joints] if r.random() < 0.5 else [*joints, *links]
        return f'<?xml version="1.0" encoding="utf-8"?><!-- made --><robot name="random">{"".join(parts)}</robot>'


def planar(a):
    return np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("seed", range(16))
def test_random_trees_move_as_in_pinocchio(seed, floating, tmp_path):
    text = Writer(seed).model()
    system = read(text, tmp_path, floating=floating)
    mech, root = system.build(), [pin.JointModelFreeFlyer()] * floating
    model = pin.buildModelFromXML(text, *root)
    data, rng, there = model.createData(), np.random.default_rng(seed), pin.neutral(model)
    v, q, u, back = rng.normal(size=model.nv), {}, {}, {}
    for joint, name in zip(model.joints[1:], list(model.names)[1:], strict=True):
        name, at, n, i = "free L0" if name == "root_joint" else name, joint.idx_q, joint.nq, joint.idx_v
        own = v[i : i + joint.nv]
        if joint.nv == 6:  # Pinocchio: velocities in the axes of the child
            R, p = Rotation.random(random_state=seed + i), rng.normal(size=3)
            there[at : at + 7] = *p, *R.as_quat()
            q[name], u[name] = [*p, *np.roll(R.as_quat(), 1)], [*R.apply(own[:3]), *R.apply(own[3:])]
            back[name] = lambda a, R=R, v=own: [*R.apply(a[:3] + np.cross(v[3:], v[:3])), *R.apply(a[3:])]
        elif joint.nv == 3:
            x, y, angle = rng.normal(size=3)
            there[at : at + 4] = x, y, np.cos(angle), np.sin(angle)
            q[name], u[name] = [x, y, angle], [*(planar(angle) @ own[:2]), own[2]]
            back[name] = lambda a, R=planar(angle), v=own: [*(R @ (a[:2] + v[2] * np.array((-v[1], v[0])))), a[2]]  # fmt: skip
        else:
            x = rng.normal()
            there[at : at + n] = [x] if n == 1 else [np.cos(x), np.sin(x)]
            q[name], u[name], back[name] = x, own[0], lambda a: a
    wanted = pin.aba(model, data, there, v, np.zeros(model.nv))
    pin.framesForwardKinematics(model, data, there)
    state = mech.state(q=q, u=u)
    for link in (f.name for f in model.frames if f.type == pin.FrameType.BODY and f.name != "universe"):
        placed = data.oMf[model.getFrameId(link, pin.FrameType.BODY)]
        position, rotation = mech.pose(link, state)
        assert np.allclose(position, placed.translation, atol=EXACT)
        assert np.allclose(rotation, placed.rotation, atol=EXACT)
    ud, owners = mech.forward_dynamics(state).ud, [s.split("[")[0] for s in mech.speeds]
    for joint, name in zip(model.joints[1:], list(model.names)[1:], strict=True):
        first = owners.index("free L0" if name == "root_joint" else name)
        exact = back[owners[first]](wanted[joint.idx_v : joint.idx_v + joint.nv])
        assert np.allclose(ud[first : first + joint.nv], exact, atol=EXACT * (1 + np.abs(wanted).max())), name


MASS = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
TWO = f'<robot name="r"><link name="a"/><link name="b">{MASS}{{link}}</link><joint name="j" type="{{kind}}"><parent link="a"/><child link="b"/>{{joint}}</joint>{{robot}}</robot>'


def two(**parts):
    return TWO.format(**{"link": "", "joint": "", "robot": "", "kind": "revolute"} | parts)


UNREAD = {
    "<contact> of link 'b'": {"link": "<contact/>"},
    "<dynamics> of planar joint 'j'": {"kind": "planar", "joint": '<dynamics damping="1"/>'},
    "<limit> of floating joint 'j'": {"kind": "floating", "joint": '<limit lower="1"/>'},
    "<safety_controller> of joint 'j'": {"joint": "<safety_controller/>"},
    "<gazebo>": {"robot": "<gazebo/>"},
}


@pytest.mark.parametrize("what", UNREAD)
def test_what_is_not_read_is_listed(what, tmp_path):
    assert any(what in line for line in read(two(**UNREAD[what]), tmp_path).unsupported)


WRONG = {
    "of xacro: expand": two(robot="<xacro:arm/>").replace("<robot", '<robot xmlns:xacro="http://x"'),
    "by xacro first": two(joint='<origin xyz="${x} 0 0"/>'),
    "unknown encoding: klingon": b'<?xml version="1.0" encoding="klingon"?><robot/>',
    "its axis is.*wanted a direction": two(kind="planar", joint='<axis xyz="0 0 0"/>'),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_is_no_robot_is_refused_by_name(said, tmp_path):
    with pytest.raises(tm.TreemechError, match=rf"robot\.urdf.*{said}"):
        read(WRONG[said], tmp_path)


def test_links_are_ends_by_name_also_the_root_and_those_that_are_fixed(tmp_path):
    more = f'<link name="tool">{MASS}</link><joint name="k" type="fixed"><origin xyz="0 0 0.5"/><parent link="b"/><child link="tool"/></joint>'
    mech = read(two(robot=more), tmp_path).build()
    state = mech.state(q={"j": np.pi / 2}, u={"j": 2.0})
    assert np.allclose(mech.pose("tool", state).position, (0, -0.5, 0))
    assert np.allclose(mech.velocity("tool", state).linear, (0, 0, -1.0))
    assert not mech.pose("a", state).position.any() and not mech.jacobian("a", state).any()
    again = tm.read(mech.to_urdf(tmp_path / "again.urdf")).build()
    assert np.allclose(
        again.jacobian("tool", again.state(q={"j": 1.0})), mech.jacobian("tool", mech.state(q={"j": 1.0}))
    )


@pytest.mark.parametrize(
    "words", ["closed_loop: [[b, tip]]", "closed_loop:\n  - [b, tip]\nmotors: {a: 1}\ntype:\n- 6d"]
)
def test_side_files_are_read_as_people_write_them(words, tmp_path):
    (tmp_path / "side.yaml").write_text(words)
    robot = read(two(robot='<link name="tip"/><joint name="k" type="fixed"><parent link="a"/><child link="tip"/></joint>'), tmp_path, loops=tmp_path / "side.yaml")  # fmt: skip
    assert robot.build().mobility(robot.build().assemble()).dof == 0
