"""<include> of MJCF: the model that MuJoCo makes of the same files; what is no file of the model's folder is refused."""

import warnings

import numpy as np
import pytest

import treemech as tm

mujoco = pytest.importorskip("mujoco")

MAIN = (
    '<mujoco><include file="parts/settings.xml"/><default><geom mass="2"/></default><worldbody><body name="a" pos="0 0 1">'
    '<include file="parts/inner.xml"/><geom size=".1" pos=".2 0 .1"/></body></worldbody></mujoco>'
)
FILES = {
    "parts/settings.xml": '<mujoco><compiler angle="radian"/><option gravity="1 2 -3"/><default><joint damping=".3" armature=".2"/></default></mujoco>',
    "parts/inner.xml": '<mujocoinclude><joint name="A" axis="0 1 .2" stiffness="3" springref=".4"/><include file="parts/deep.xml"/></mujocoinclude>',
    "parts/deep.xml": '<x><body name="b" pos=".3 0 0" euler=".1 .2 .3"><joint name="B" axis="1 0 0"/><geom type="box" size=".1 .2 .1" pos="0 .1 .1"/></body></x>',
}  # fmt: skip


def write(folder, main=MAIN, **files):
    (folder / "parts").mkdir(exist_ok=True)
    for name, text in (FILES | files | {"main.xml": main}).items():
        (folder / name).write_text(text)
    return folder / "main.xml"


def test_a_model_of_several_files_moves_as_in_mujoco(tmp_path):
    file = write(tmp_path)
    system = tm.read(file, strict=False)
    mech, model = system.build(), mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = (0.3, -0.5), (1.0, 2.0)
    mujoco.mj_forward(model, data)
    ud = mech.forward_dynamics(mech.state(q={"A": 0.3, "B": -0.5}, u={"A": 1.0, "B": 2.0})).ud
    assert mech.speeds == ["A", "B"] and list(system.gravity) == [1, 2, -3]
    assert np.allclose(ud, data.qacc, rtol=0, atol=1e-9 * np.max(np.abs(ud)))


WRONG = {
    "there is no such file": '<include file="gone.xml"/>',
    "leads out of the folder": '<include file="../secret.xml"/>',
    "relative to the model": '<include file="/etc/passwd"/>',
    "nothing is fetched": '<include file="http://x/y.xml"/>',
    "read already": '<include file="main.xml"/>',
    "included once": '<include file="parts/deep.xml"/><include file="parts/deep.xml"/>',
    "says more": '<include file="parts/deep.xml" prefix="x"/>',
    "no attribute 'file'": "<include/>",
    "DOCTYPE": '<include file="bomb.xml"/>',
    "at most": '<include file="large.xml"/>',
}


@pytest.mark.parametrize("said", WRONG)
def test_what_is_no_file_of_the_model_is_refused_with_its_line(said, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    file = write(
        folder,
        f"<mujoco>\n<worldbody>{WRONG[said]}</worldbody></mujoco>",
        **{"bomb.xml": '<!DOCTYPE r [<!ENTITY a "x">]><r/>'},
    )
    with open(folder / "large.xml", "wb") as large:
        large.truncate(60_000_000)
    with pytest.raises(tm.TreemechError, match=rf"line \d+: .*{said}"):
        tm.read(file)


def test_files_that_include_each_other_end(tmp_path):
    files = {
        "parts/inner.xml": '<x><include file="parts/deep.xml"/></x>',
        "parts/deep.xml": '<x><include file="parts/inner.xml"/></x>',
    }
    with pytest.raises(tm.TreemechError, match=r"deep\.xml, line 1: .*'parts/inner.xml'.*read already"):
        tm.read(write(tmp_path, **files))


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    file = write(tmp_path / "model", '<mujoco><include file="link.xml"/></mujoco>')
    (tmp_path / "model" / "link.xml").symlink_to(tmp_path / "secret.xml")
    with warnings.catch_warnings(), pytest.raises(tm.TreemechError, match="leads out"):
        tm.read(file)
