"""Robots of other programs: the same equations as in the program they come from."""

import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import treemech as tm

pin = pytest.importorskip("pinocchio")
mujoco = pytest.importorskip("mujoco")
MODELS = Path(__file__).parent / "models"
EXACT = 1e-9


def read(name, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return tm.read(MODELS / name, **options)


def close(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return np.max(np.abs(a - b)) <= EXACT * (1.0 + np.max(np.abs(b)))


# ---------------------------------------------------------------- Pinocchio
def in_pinocchio(model, names, values):
    """Return q of Pinocchio: joints without limits have cosine and sine."""
    q = pin.neutral(model)
    for name, x in zip(names, values, strict=True):
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q : joint.idx_q + joint.nq] = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
    return q


@pytest.mark.parametrize("name", ["arm7", "quadruped"])
def test_trees_move_as_in_pinocchio(name):
    mech, rng = read(f"{name}.urdf").build(), np.random.default_rng(3)
    model = pin.buildModelFromUrdf(str(MODELS / f"{name}.urdf"))
    data, names = model.createData(), list(model.names[1:])
    assert sorted(names) == sorted(mech.speeds)
    order = [mech.speeds.index(n) for n in names]
    for _ in range(3):
        q, v, tau = rng.normal(size=(3, model.nv))
        there = in_pinocchio(model, names, q)
        state = mech.state(q=dict(zip(names, q)), u=dict(zip(names, v)))
        ud = mech.forward_dynamics(state, loads=dict(zip(names, tau))).ud
        assert close(ud[order], pin.aba(model, data, there, v, tau))
        assert close(
            mech.mass_matrix(state)[np.ix_(order, order)],
            np.tril(pin.crba(model, data, there)) + np.tril(data.M, -1).T,
        )
        pin.framesForwardKinematics(model, data, there)
        run = mech.simulate((0, 1e-9), state)
        for link, end in mech_frames(name).items():
            placed = data.oMf[model.getFrameId(link, pin.FrameType.BODY)]
            body = run.body(end.body.name)
            assert close(body.position[0] + body.rotation[0] @ end.offset, placed.translation)
            assert close(body.rotation[0] @ end.rotation, placed.rotation)


def mech_frames(name):
    return {k: v for k, v in read(f"{name}.urdf").frames.items() if v.body.name != "ground"}


def test_a_floating_base_has_a_free_hinge():
    mech = read("quadruped.urdf", floating=True).build()
    model = pin.buildModelFromUrdf(str(MODELS / "quadruped.urdf"), pin.JointModelFreeFlyer())
    data, rng = model.createData(), np.random.default_rng(1)
    names = list(model.names[2:])
    q, v = rng.normal(size=(2, len(names)))
    R, p, w, vel = Rotation.random(random_state=2), *rng.normal(size=(3, 3))
    full = pin.neutral(model)
    full[:3], full[3:7] = p, R.as_quat()
    full[7:] = q
    # Pinocchio: velocities of the base in its own axes; ours: in those of the ground
    a = pin.aba(model, data, full, np.concatenate((R.inv().apply(vel), w, v)), np.zeros(model.nv))
    e = np.roll(R.as_quat(), 1)
    state = mech.state(
        q={"free trunk": [*p, *e]} | dict(zip(names, q)),
        u={"free trunk": [*vel, *R.apply(w)]} | dict(zip(names, v)),
    )
    ud = mech.forward_dynamics(state).ud
    base = mech.speeds.index("free trunk[0]")
    assert close(ud[base + 3 : base + 6], R.apply(a[3:6]))
    assert close(ud[base : base + 3], R.apply(a[:3] + np.cross(w, R.inv().apply(vel))))
    assert close([ud[mech.speeds.index(n)] for n in names], a[6:])


def test_a_joint_mimics_another():
    system = read("gripper.urdf")
    mech = system.build()
    model = pin.buildModelFromUrdf(str(MODELS / "gripper.urdf"), mimic=False)
    data, names = model.createData(), list(model.names[1:])
    state = mech.assemble(fix={"turn": 0.3, "left_slide": 0.01}, rates={"turn": 0.5, "left_slide": 0.2})
    q = np.array([state[n][0][0] for n in names])
    v = np.array([state[n][1][0] for n in names])
    assert q[names.index("right_slide")] == pytest.approx(-0.01 + 0.001, abs=1e-12)
    M = np.tril(pin.crba(model, data, q)) + np.tril(data.M, -1).T
    h = pin.rnea(model, data, q, v, np.zeros(3))
    h[names.index("turn")] += 0.3 * v[names.index("turn")]  # its damping
    P = np.zeros((1, 3))
    P[0, names.index("left_slide")] = P[0, names.index("right_slide")] = 1.0
    exact = np.linalg.solve(np.block([[M, P.T], [P, np.zeros((1, 1))]]), np.concatenate((-h, [0.0])))[:3]
    ud = mech.forward_dynamics(state).ud
    assert close([ud[mech.speeds.index(n)] for n in names], exact)
    assert system.limits["left_slide"].upper == 0.04 and system.limits["turn"].effort == 5.0
    assert any("transmission" in line for line in system.unsupported)
    assert any("collision" in line and "'left'" in line for line in system.unsupported)


def test_a_side_file_closes_loops():
    mech = read("fivebar.urdf").build()
    model = pin.buildModelFromUrdf(str(MODELS / "fivebar.urdf"))
    data, names = model.createData(), list(model.names[1:])
    state = mech.assemble(guess={"A1": 2.0, "A2": -1.2, "B1": 1.1, "B2": 1.2})
    assert mech.mobility(state).dof == 2
    q = in_pinocchio(model, names, [state[n][0][0] for n in names])
    M = np.tril(pin.crba(model, data, q)) + np.tril(data.M, -1).T
    h = pin.rnea(model, data, q, np.zeros(4), np.zeros(4))
    pin.computeJointJacobians(model, data, q)
    pin.framesForwardKinematics(model, data, q)
    a, b = (model.getFrameId(f"{n}_tip") for n in "ab")
    assert close(data.oMf[a].translation, data.oMf[b].translation)
    J = (pin.getFrameJacobian(model, data, a, pin.LOCAL_WORLD_ALIGNED) - pin.getFrameJacobian(model, data, b, pin.LOCAL_WORLD_ALIGNED))[:2]  # fmt: skip
    exact = np.linalg.solve(np.block([[M, J.T], [J, np.zeros((2, 2))]]), np.concatenate((-h, [0.0, 0.0])))[:4]
    ud = mech.forward_dynamics(mech.assemble(fix={n: state[n][0] for n in names[:2]}, guess=dict(zip(names, [state[n][0] for n in names])))).ud  # fmt: skip
    assert close([ud[mech.speeds.index(n)] for n in names], exact)


def test_a_side_file_makes_a_delta_robot():
    """Three arms, six rods, a platform that stays level: three freedoms; accelerations by Pinocchio's matrices with its 18 rows."""
    mech = read("delta.urdf").build()
    angles = dict(zip(("motor0", "motor1", "motor2"), (0.4, 0.5, 0.65), strict=True))
    guess = {f"swing{k}{side}": 0.6 for k in range(3) for side in "lr"}
    guess["carriage"] = [0, 0, -0.6, 1, 0, 0, 0]
    state = mech.assemble(fix=angles, guess=guess)
    assert mech.mobility(state).dof == 3
    pose = mech.pose("platform", state)
    assert pose.position[2] < -0.4 and close(pose.rotation, np.eye(3))
    model = pin.buildModelFromUrdf(str(MODELS / "delta.urdf"))
    data, names = model.createData(), list(model.names[1:])
    q = pin.neutral(model)
    for name in names:
        joint, own = model.joints[model.getJointId(name)], state[name][0]
        x = [*own[:3], *np.roll(own[3:], -1)] if name == "carriage" else [np.cos(own[0]), np.sin(own[0])]
        q[joint.idx_q : joint.idx_q + joint.nq] = x
    M = np.tril(pin.crba(model, data, q)) + np.tril(data.M, -1).T
    h = pin.rnea(model, data, q, np.zeros(model.nv), np.zeros(model.nv))
    pin.computeJointJacobians(model, data, q)
    pin.framesForwardKinematics(model, data, q)
    rows = []
    for k in range(3):
        for side in "lr":
            a, b = (model.getFrameId(f"{end}{k}{side}") for end in ("end", "ball"))
            assert close(data.oMf[a].translation, data.oMf[b].translation)
            one, other = (pin.getFrameJacobian(model, data, f, pin.LOCAL_WORLD_ALIGNED)[:3] for f in (a, b))
            rows.append(one - other)
    J = np.vstack(rows)
    n, m = model.nv, len(J)
    K = np.block([[M, J.T], [J, np.zeros((m, m))]])
    exact = np.linalg.lstsq(K, np.concatenate((-h, np.zeros(m))), rcond=1e-12)[0][:n]
    ud = mech.forward_dynamics(state).ud
    own = [name for name in names if name in mech.speeds]  # the carriage is cut here
    assert len(own) >= 12
    wanted = [exact[model.joints[model.getJointId(name)].idx_v] for name in own]
    assert close([ud[mech.speeds.index(name)] for name in own], wanted)


# ---------------------------------------------------------------- MuJoCo
def in_mujoco(name):
    model = mujoco.MjModel.from_xml_path(str(MODELS / name))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    return model, mujoco.MjData(model)


def test_masses_joints_and_springs_are_those_of_mujoco():
    mech, rng = read("arm.xml").build(), np.random.default_rng(5)
    model, data = in_mujoco("arm.xml")
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    plain = ["shoulder_z", "shoulder_y", "elbow", "roll", "slide"]
    for _ in range(3):
        q, v = rng.normal(size=(2, 5))
        turn, w = Rotation.random(random_state=int(rng.integers(99))), rng.normal(size=3)
        e = np.roll(turn.as_quat(), 1)
        for name, x, rate in zip(plain, q, v, strict=True):
            joint = model.joint(name)
            data.qpos[joint.qposadr], data.qvel[joint.dofadr] = x, rate
        socket = model.joint("socket")
        data.qpos[socket.qposadr[0] : socket.qposadr[0] + 4] = e
        data.qvel[socket.dofadr[0] : socket.dofadr[0] + 3] = turn.inv().apply(
            w
        )  # MuJoCo: in the axes of the child
        mujoco.mj_forward(model, data)
        state = mech.state(q=dict(zip(plain, q)) | {"socket": e}, u=dict(zip(plain, v)) | {"socket": w})
        ud = mech.forward_dynamics(state).ud
        assert close(
            [ud[mech.speeds.index(n)] for n in plain], [data.qacc[model.joint(n).dofadr[0]] for n in plain]
        )
        at = mech.speeds.index("socket[0]")
        first = socket.dofadr[0]
        assert close(ud[at : at + 3], turn.apply(data.qacc[first : first + 3]))
        end = read("arm.xml").frames["tip"]
        body = mech.simulate((0, 1e-9), state).body("hand")
        assert close(body.position[0] + body.rotation[0] @ end.offset, data.site("tip").xpos)
        assert close(body.rotation[0] @ end.rotation, data.site("tip").xmat.reshape(3, 3))


def constrained_acceleration(model, data):
    """Return MuJoCo's acceleration with its equality rows exactly kept, at rest."""
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, M, data.qM) if not hasattr(data, "M") else mujoco.mj_fullM(model, data, M)
    J = np.asarray(data.efc_J).reshape(-1, model.nv)[: data.ne]
    n = len(J)
    held = np.block([[M, J.T], [J, np.zeros((n, n))]])
    right = np.concatenate((data.qfrc_passive - data.qfrc_bias, np.zeros(n)))
    return np.linalg.lstsq(held, right, rcond=1e-12)[0][: model.nv]


def test_a_connected_loop_is_that_of_mujoco():
    mech = read("four_bar.xml").build()
    state = mech.assemble()
    assert mech.mobility(state).dof == 1 and all(abs(x) < 1e-9 for x in state.q)
    model, data = in_mujoco("four_bar.xml")
    mujoco.mj_forward(model, data)
    ud = mech.forward_dynamics(state).ud
    exact = constrained_acceleration(model, data)
    names = [n for n in ("A", "B", "D") if n in mech.speeds]
    assert len(names) >= 2 and close(
        [ud[mech.speeds.index(n)] for n in names], [exact[model.joint(n).dofadr[0]] for n in names]
    )


def test_frames_references_and_joints_beside_the_origin_are_those_of_mujoco():
    """Nested defaults, coordinate frames, two joints of one body, springs with `ref`, all forms of geoms and orientations."""
    system = read("frames.xml")
    mech, rng = system.build(), np.random.default_rng(8)
    model, data = in_mujoco("frames.xml")
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    assert not any("<frame>" in line for line in system.unsupported)
    for _ in range(3):
        data.qpos[:], data.qvel[:] = rng.normal(size=model.nq), rng.normal(size=model.nv)
        mujoco.mj_normalizeQuat(model, data.qpos)
        mujoco.mj_forward(model, data)
        q, u, wanted = {}, {}, {}
        for j in map(model.joint, range(model.njnt)):
            x, v, a = data.qpos[j.qposadr[0] :], data.qvel[j.dofadr[0] :], data.qacc[j.dofadr[0] :]
            if model.jnt_type[j.id] in (2, 3):  # slide, hinge
                q[j.name], u[j.name], wanted[j.name] = x[0] - model.qpos0[j.qposadr[0]], v[0], a[0]
                continue
            at, n = (3, 6) if model.jnt_type[j.id] == 0 else (0, 3)
            turn = Rotation.from_quat(np.roll(x[at : at + 4], -1))  # MuJoCo: rates in the axes of the child
            q[j.name] = x[: at + 4].copy()
            u[j.name], wanted[j.name] = (np.append(r[:at], turn.apply(r[at:n])) for r in (v, a))
        state = mech.state(q=q, u=u)
        ud = mech.forward_dynamics(state).ud
        for name, a in wanted.items():
            first = next(k for k, s in enumerate(mech.speeds) if s.split("[")[0] == name)
            assert close(ud[first : first + np.size(a)], a), name
        position, rotation = mech.pose(system.frames["tip"], state)
        assert close(position, data.site("tip").xpos)
        assert close(rotation, data.site("tip").xmat.reshape(3, 3))


def test_a_floating_quadruped_with_a_coupling_is_that_of_mujoco():
    system = read("quadruped.xml")
    mech = system.build()
    state = mech.assemble(fix={"fr_knee": 0.3, "fl_flexion": 0.2, "rr_abduction": -0.1})
    model, data = in_mujoco("quadruped.xml")
    names = [n for n in mech.speeds if "float" not in n]
    for name in names:
        data.qpos[model.joint(name).qposadr[0]] = state[name][0][0]
    assert state["fl_knee"][0][0] == pytest.approx(0.1 - 0.3)
    free = model.joint("float").qposadr[0]
    data.qpos[free : free + 7] = state["float"][0]
    mujoco.mj_forward(model, data)
    exact, ud = constrained_acceleration(model, data), mech.forward_dynamics(state).ud
    assert close([ud[mech.speeds.index(n)] for n in names], [exact[model.joint(n).dofadr[0]] for n in names])
    assert state["float"][0][2] == pytest.approx(0.5)  # the trunk starts where the file has it
    assert system.limits["fl_abduction"].lower == -0.8


# ---------------------------------------------------------------- SDF, against models made by hand
def placed(numbers):
    return pin.SE3(Rotation.from_euler("xyz", numbers[3:]).as_matrix(), np.array(numbers[:3]))


def sdf_inertia(name, link):
    """Return what the file says of a link, read with Python's own XML reader."""
    import xml.etree.ElementTree as ET

    node = next(n for n in ET.parse(MODELS / name).iter("link") if n.get("name") == link).find("inertial")
    d = {k: float(node.find("inertia").find(k).text) for k in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")}
    matrix = np.array(
        [[d["ixx"], d["ixy"], d["ixz"]], [d["ixy"], d["iyy"], d["iyz"]], [d["ixz"], d["iyz"], d["izz"]]]
    )
    pose = placed([float(x) for x in node.find("pose").text.split()])
    return pin.Inertia(
        float(node.find("mass").text), pose.translation, pose.rotation @ matrix @ pose.rotation.T
    )


def test_an_arm_of_gazebo_moves_as_made_by_hand():
    mech, rng = read("arm3.sdf").build(), np.random.default_rng(2)
    own = placed([0.1, 0.2, 0.3, 0, 0, 0.5])
    at = {"base": placed([0] * 6), "upper": placed([0, 0, 0.3, 0.2, 0, 0]), "lower": placed([0.1, 0, 0.7, 0, -0.3, 0]), "slider": placed([0.1, 0, 1.0, 0, 0, 0.4])}  # fmt: skip
    joint_b = at["lower"] * placed([0.02, 0, -0.05, 0.3, 0, 0])
    axes = {
        "A": np.array([0, 1, 0.2]) / np.linalg.norm([0, 1, 0.2]),
        "B": joint_b.rotation.T @ [0, 1, 0],
        "C": np.array([0, 0, 1.0]),
    }
    model = pin.Model()
    last, before = 0, pin.SE3.Identity()
    for name, place, link, kind in (
        ("A", at["upper"], "upper", pin.JointModelRevoluteUnaligned), ("B", joint_b, "lower", pin.JointModelRevoluteUnaligned),
        ("C", at["slider"], "slider", pin.JointModelPrismaticUnaligned),
    ):  # fmt: skip
        last = model.addJoint(last, kind(np.asarray(axes[name])), before.inverse() * (own * place), name)
        model.appendBodyToJoint(last, sdf_inertia("arm3.sdf", link), place.inverse() * at[link])
        before = own * place
    data = model.createData()
    for _ in range(3):
        q, v = rng.normal(size=(2, 3))
        tau = np.array([-0.4 * v[0], 0.0, -40.0 * (q[2] - 0.05)])
        state = mech.state(q=dict(zip("ABC", q)), u=dict(zip("ABC", v)))
        ud = mech.forward_dynamics(state).ud
        assert close([ud[mech.speeds.index(n)] for n in "ABC"], pin.aba(model, data, q, v, tau))


def test_a_loop_of_gazebo_is_closed_where_it_stands():
    system = read("loop.sdf")
    mech = system.build()
    assert list(system.gravity) == [0, 0, -9.8]
    state = mech.assemble(guess={"A": 0.0, "B": 0.0, "D": 0.0})
    assert mech.mobility(state).dof == 1
    run = mech.simulate((0, 1), state, rtol=1e-9)
    assert run.success and np.ptp(run.energy.total) < 1e-6 and np.max(run.residual.position) < 1e-12
    # the ends of the coupler and of the rocker stay together, as the file has them at the start
    tip = np.array([0.3 + 0.5 * np.cos(0.5), 0.0, 0.5 * np.sin(0.5)])
    on_rocker = Rotation.from_euler("y", -1.2).inv().apply(tip - [0.7, 0, 0])
    assert close(run.point("coupler", (0.5, 0, 0)).position, run.point("rocker", on_rocker).position)


# ---------------------------------------------------------------- what is not supported, and bad files
def test_strict_reading_lists_everything():
    with pytest.raises(tm.TreemechError) as told:
        tm.read(MODELS / "gripper.urdf", strict=True)
    assert "transmission" in str(told.value) and str(told.value).count("collision") == 2
    with pytest.warns(UserWarning, match="transmission"):
        tm.read(MODELS / "gripper.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tm.read(MODELS / "arm7.urdf", strict=True)


ROBOT = '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>{}</robot>'
JOINT = '<joint name="j" type="{}"><parent link="a"/><child link="{}"/>{}</joint>'
BAD = {
    "no xml": ("<robot><link>", "no XML"),
    "bomb": ('<!DOCTYPE r [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><robot>&b;</robot>', "DOCTYPE"),
    "outside": ('<!DOCTYPE r SYSTEM "http://x/y"><robot/>', "DOCTYPE"),
    "other": ("<svg/>", "wanted <robot>"),
    "kind": (ROBOT.format(JOINT.format("wobbly", "b", "")), "type of joint 'wobbly'"),
    "link": (ROBOT.format(JOINT.format("fixed", "c", "")), "link 'c'"),
    "number": (ROBOT.format(JOINT.format("revolute", "b", '<axis xyz="0 x 1"/>')), "wanted numbers"),
    "count": (ROBOT.format(JOINT.format("revolute", "b", '<axis xyz="0 1"/>')), "wanted 3"),
    "axis": (ROBOT.format(JOINT.format("revolute", "b", '<axis xyz="0 0 0"/>')), "wanted a direction"),
    "infinite": (ROBOT.format(JOINT.format("revolute", "b", '<origin xyz="0 0 inf"/>')), "finite"),
    "twice": (ROBOT.format(JOINT.format("fixed", "b", "") + JOINT.format("fixed", "b", "")), "two joints are named 'j'"),
    "roots": (ROBOT.format(""), "several roots"),
    "mimic": (ROBOT.format(JOINT.format("revolute", "b", '<mimic joint="k"/>')), "'k'"),
    "mjcf kind": ("<mujoco><worldbody><body><joint type='x'/></body></worldbody></mujoco>", "type of joint 'x'"),
    "mjcf class": ("<mujoco><worldbody><body><joint class='x'/></body></worldbody></mujoco>", "class 'x'"),
    "mjcf body": ("<mujoco><worldbody/><equality><weld body1='q'/></equality></mujoco>", "body 'q'"),
    "mjcf size": ("<mujoco><worldbody><body><geom type='box' size='1 1'/></body></worldbody></mujoco>", "size"),
    "sdf": ("<sdf><world/></sdf>", "no <model>"),
    "sdf circle": ("<sdf><model name='m'><link name='a'><pose relative_to='a'/></link></model></sdf>", "circle"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_told_with_its_line(case, tmp_path):
    text, said = BAD[case]
    (tmp_path / "bad.xml").write_text(text)
    with pytest.raises(tm.TreemechError, match=said) as told:
        tm.read(tmp_path / "bad.xml")
    assert "bad.xml" in str(told.value)


def test_deep_files_end(tmp_path):
    (tmp_path / "deep.xml").write_text("<robot>" + "<a>" * 5000 + "</a>" * 5000 + "</robot>")
    with pytest.raises(tm.TreemechError, match="deeper"):
        tm.read(tmp_path / "deep.xml")


def test_options_of_another_kind_of_file_are_refused(tmp_path):
    with pytest.raises(tm.TreemechError, match="'floating'"):
        tm.read(MODELS / "arm.xml", floating=True)
    read("arm7.urdf").save(tmp_path / "arm.json")
    with pytest.raises(tm.TreemechError, match="strict"):
        tm.read(tmp_path / "arm.json", strict=True)


def test_missing_meshes_are_told_and_present_ones_drawn(tmp_path):
    mesh = '<visual><geometry><mesh filename="package://mine/{}.stl" scale="2 2 2"/></geometry></visual>'
    text = ROBOT.format(JOINT.format("revolute", "b", '<axis xyz="0 0 1"/>')).replace(
        "</inertial></link>", "</inertial>" + mesh.format("there") + mesh.format("gone") + "</link>"
    )
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "there.stl").write_text("solid x\nendsolid x\n")
    (tmp_path / "mine" / "r.urdf").write_text(text)
    with pytest.warns(UserWarning, match=r"gone\.stl"):
        system = tm.read(tmp_path / "mine" / "r.urdf")
    shapes = system.bodies[1].shapes
    assert len(shapes) == 1 and shapes[0]["kind"] == "mesh" and shapes[0]["scale"] == [2.0, 2.0, 2.0]


def test_frames_and_limits_are_kept_in_files(tmp_path):
    system = read("arm7.urdf")
    again = tm.read(system.save(tmp_path / "arm.json"))
    assert again.limits == system.limits and set(again.frames) == set(system.frames)
    assert np.array_equal(again.frames["tool"].offset, system.frames["tool"].offset)


def test_limits_that_contradict_are_refused():
    system = tm.System("s")
    system.connect("A", tm.Revolute("z"), system.ground, system.body("b", 1.0, (1, 1, 1)))
    with pytest.raises(tm.ElementError, match="lower <= upper"):
        system.limit("A", lower=1.0, upper=0.0)
    with pytest.raises(tm.TopologyError, match="'B'"):
        system.limit("B", lower=0.0)
    with pytest.raises(tm.TopologyError, match="two frames"):
        system.frame("tool", system.bodies[1])
        system.frame("tool", system.bodies[1])


def test_the_command_line_tells_what_a_robot_is(capsys):
    from treemech.command import main

    assert main(["info", str(MODELS / "gripper.urdf")]) == 0
    told = capsys.readouterr().out
    assert "left_slide" in told and "transmission" in told and "upper 0.04" in told


@pytest.mark.slow
@pytest.mark.extras
def test_the_robots_of_example_robot_data_move_as_in_pinocchio():
    """Every URDF of the package that both read: the same joints, masses, and accelerations."""
    try:
        found = metadata.distribution("example-robot-data")
    except metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    folder = Path(str(found.locate_file("cmeel.prefix/share/example-robot-data/robots")))
    files = sorted(folder.rglob("*.urdf"))
    assert len(files) > 50
    told, seen = [], 0
    for file in files:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                mech = tm.read(file).build()
            except tm.TreemechError as error:
                told.append(f"{file.name}: {str(error)[:150]}")
                continue
            model = pin.buildModelFromUrdf(str(file), mimic=False)
        names = list(model.names[1:])
        if not names or set(names) != {c.name for c in mech._lagrange.hinges if c.hinge.n_speeds}:
            told.append(f"{file.name}: {len(names)} joints of Pinocchio, {mech.nu} speeds here")
            continue
        rng = np.random.default_rng(len(names))
        x, v, data = rng.uniform(-1, 1, len(names)), rng.normal(size=len(names)), model.createData()
        if model.nv != len(names) or mech.nu != len(names):
            told.append(f"{file.name}: joints of several freedoms")
            continue
        order = [mech.speeds.index(n) for n in names]
        state = (0.0, x[np.argsort(order)], v[np.argsort(order)])  # mimics need not fit
        loads = mech.load_column(state)
        h = pin.rnea(model, data, in_pinocchio(model, names, x), v, np.zeros(model.nv))
        M = np.tril(pin.crba(model, data, in_pinocchio(model, names, x)))
        M = M + np.tril(M, -1).T
        place = [model.joints[model.getJointId(n)].idx_v for n in names]
        A = mech.mass_matrix(state)[np.ix_(order, order)]
        assert close(A, M[np.ix_(place, place)]), file.name
        friction = file.read_text(encoding="utf-8", errors="replace").count("<dynamics")
        if not friction:
            assert close(-loads[order], h[place]), file.name
        seen += 1
    print("\n".join(told))
    assert seen >= 60, told
