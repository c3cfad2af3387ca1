"""Tendons and actuators of MJCF move a model as MuJoCo does, for any controls; what is not read is listed."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import treemech as tm

mujoco = pytest.importorskip("mujoco")
MODEL = Path(__file__).parent / "models" / "driven.xml"
EXACT = 1e-9


def test_accelerations_with_controls_are_those_of_mujoco():
    system = tm.read(MODEL, strict=True)
    mech = system.build()
    model = mujoco.MjModel.from_xml_path(str(MODEL))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data, rng = mujoco.MjData(model), np.random.default_rng(3)
    names = [model.actuator(k).name for k in range(model.nu)]
    joints = ["a", "b", "c", "slide"]
    slack = set()
    for _ in range(20):
        q, v, ctrl = rng.uniform(-1, 1, 4), rng.normal(size=4), 3.0 * rng.normal(size=model.nu)
        for k, j in enumerate(joints):
            data.qpos[model.joint(j).qposadr[0]], data.qvel[model.joint(j).dofadr[0]] = q[k], v[k]
        data.ctrl[:] = ctrl
        mujoco.mj_forward(model, data)
        state = mech.state(q=dict(zip(joints, q)), u=dict(zip(joints, v)))
        held = mech.stepper(state, 1e-3).inputs
        assert set(held) == set(names)
        memory = np.array([ctrl[names.index(n)] for n in held])
        state = tm.State(state.t, state.q, state.u, state.x, memory, coordinates=state.coordinates)
        ud = mech.forward_dynamics(state).ud
        wanted = np.array([data.qacc[model.joint(j).dofadr[0]] for j in joints])
        assert np.max(np.abs(ud - wanted)) < EXACT * (1.0 + np.max(np.abs(wanted)))
        slack.add(bool(data.ten_length[model.tendon("slack").id] > 1.3))
    assert slack == {True, False}


BAD = {
    '<actuator><muscle name="m" joint="j"/></actuator>': "actuator 'm' <muscle> is not read",
    '<actuator><motor name="m" site="s"/></actuator>': "what it acts on",
    '<actuator><general name="m" joint="j" dyntype="filter"/></actuator>': "dynamics",
    '<actuator><position name="m" joint="j" forcerange="-1 1"/></actuator>': "forcerange is not kept",
    '<actuator><motor name="m" joint="j" delay="1"/></actuator>': "delay is not read",
    '<actuator><general name="m" joint="j" biastype="affine" biasprm="0 3"/></actuator>': "grows with position",
    '<tendon><fixed name="t" range="0 1"><joint joint="j" coef="1"/></fixed></tendon>': "its range is not kept",
    '<tendon><spatial name="t"><site site="s"/><geom geom="g"/><site site="s"/></spatial></tendon>': "runs over geom",
    '<tendon><spatial name="t" stiffness="1"><site site="s"/><site site="e"/></spatial></tendon>': "springlength",
}


def model_with(tmp_path, part):
    path = tmp_path / "model.xml"
    path.write_text(
        '<mujoco><worldbody><site name="s"/><body name="b"><joint name="j"/><site name="e" pos="1 0 0"/>'
        f'<geom name="g" size="0.1" contype="0" conaffinity="0"/></body></worldbody>{part}</mujoco>'
    )
    return path


@pytest.mark.parametrize("part", BAD)
def test_what_is_not_read_is_listed(part, tmp_path):
    path = model_with(tmp_path, part)
    with pytest.raises(tm.TreemechError, match=BAD[part]):
        tm.read(path, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert any(BAD[part] in line for line in tm.read(path).unsupported)


def test_unknown_joints_and_sites_are_errors(tmp_path):
    for part, match in (
        ('<actuator><motor joint="jj"/></actuator>', "'jj'.*'j'"),
        ('<tendon><spatial><site site="ss"/><site site="s"/></spatial></tendon>', "'ss'"),
    ):
        with pytest.raises(tm.TreemechError, match=match):
            tm.read(model_with(tmp_path, part))
