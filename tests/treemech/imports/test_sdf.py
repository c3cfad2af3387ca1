"""SDF in other words: the same mechanism, said with other frames, models inside, older versions, gives the same motion."""

import warnings
from math import cos, degrees, sin

import numpy as np
import pytest

import treemech as tm

MASS = "<inertial><pose>0.1 0 0.2 0 0 0</pose><mass>2</mass><inertia><ixx>0.2</ixx><iyy>0.3</iyy><izz>0.25</izz></inertia></inertial>"
TURNED = (0.3, -0.2, 0.5)
PLAIN = f"""<sdf version="1.9"><model name="m">
<link name="a"><pose>0 0 1 0.3 -0.2 0.5</pose>{MASS}</link>
<link name="b"><pose>0.5 0 1 0.1 0 0</pose>{MASS}</link>
<frame name="tip" attached_to="b"><pose>0 0 0.4 0 0 1</pose></frame>
<joint name="A" type="revolute"><parent>world</parent><child>a</child><axis><xyz>0 1 0</xyz><dynamics><damping>0.3</damping></dynamics></axis></joint>
<joint name="B" type="revolute"><parent>a</parent><child>b</child><pose>0 0 -0.1 0 0 0.4</pose><axis><xyz>1 0 0</xyz></axis></joint>
</model></sdf>"""


def read(text, tmp_path):
    file = tmp_path / "model.sdf"
    file.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tm.read(file)


def motion(system):
    mech = system.build()
    names = mech.speeds
    found = [
        mech.forward_dynamics(mech.state(q=dict.fromkeys(names, 0.3 * k), u=dict.fromkeys(names, 1.0))).ud
        for k in range(3)
    ]
    tip = next(name for name in system.frames if name.endswith("tip"))
    place = mech.pose(tip, mech.state(q=dict.fromkeys(names, 0.4)))
    return np.concatenate((*found, place.position, place.rotation.ravel()))


def matrix():
    from scipy.spatial.transform import Rotation

    return Rotation.from_euler("xyz", TURNED)


def in_model(vector):
    return " ".join(repr(float(x)) for x in matrix().apply(vector))


def quaternion():
    return " ".join(repr(float(x)) for x in matrix().as_quat())


# what is said in another way: (words, other words)
OTHERS = {
    "version 1.4: axes in the model": [
        ('version="1.9"', 'version="1.4"'), ("<xyz>0 1 0</xyz>", f"<xyz>{in_model((0, 1, 0))}</xyz>"),
        ('<joint name="B" type="revolute"><parent>a</parent><child>b</child><pose>0 0 -0.1 0 0 0.4</pose><axis><xyz>1 0 0</xyz>',
         '<joint name="B" type="revolute"><parent>a</parent><child>b</child><pose>0 0 -0.1 0 0 0.4</pose><axis>'
         f"<xyz>{cos(0.4)!r} {sin(0.4) * cos(0.1)!r} {sin(0.4) * sin(0.1)!r}</xyz>"),
    ],
    "version 1.6: the flag": [
        ('version="1.9"', 'version="1.6"'),
        ("<xyz>0 1 0</xyz>", f"<xyz>{in_model((0, 1, 0))}</xyz><use_parent_model_frame>1</use_parent_model_frame>"),
    ],
    "version 1.12": [('version="1.9"', 'version="1.12"')],
    "expressed in": [("<xyz>0 1 0</xyz>", f'<xyz expressed_in="__model__">{in_model((0, 1, 0))}</xyz>')],
    "a quaternion": [
        ("<pose>0 0 1 0.3 -0.2 0.5</pose>", f'<pose rotation_format="quat_xyzw">0 0 1 {quaternion()}</pose>')
    ],
    "degrees": [("<pose>0.5 0 1 0.1 0 0</pose>", f'<pose degrees="true">0.5 0 1 {degrees(0.1)!r} 0 0</pose>')],
    "relative to a frame": [
        ('<link name="b"><pose>0.5 0 1 0.1 0 0</pose>', '<frame name="f"><pose>0 0 1 0 0 0</pose></frame>'
         '<link name="b"><pose relative_to="f">0.5 0 0 0.1 0 0</pose>')
    ],
    "a placement frame": [
        ('<model name="m">', '<model name="m" placement_frame="f"><pose>0 0.2 0 0 0 0</pose><frame name="f"><pose>0 0.2 0 0 0 0</pose></frame>')
    ],
    "a model inside": [
        (f'<link name="b"><pose>0.5 0 1 0.1 0 0</pose>{MASS}</link>\n<frame name="tip" attached_to="b">',
         f'<model name="in"><pose>0.5 0 0 0.1 0 0</pose><link name="b"><pose>0 {sin(0.1)!r} {cos(0.1)!r} 0 0 0</pose>{MASS}</link>'
         '<frame name="of b" attached_to="b"/></model>\n<frame name="tip" attached_to="in::of b">'),
        ("<child>b</child>", "<child>in::b</child>"),
    ],
    "two models inside each other": [
        (f'<link name="b"><pose>0.5 0 1 0.1 0 0</pose>{MASS}</link>\n',
         '<model name="out"><pose>0.5 0 0 0 0 0</pose><frame name="up"><pose>0 0 1 0 0 0</pose></frame>'
         f'<model name="in"><pose relative_to="up">0 0 0 0.1 0 0</pose><link name="b">{MASS}</link></model></model>'),
        ('attached_to="b"', 'attached_to="out::in::b"'), ("<child>b</child>", "<child>out::in::b</child>"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("way", OTHERS)
def test_the_same_in_other_words_moves_the_same(way, tmp_path):
    text = PLAIN
    for words, other in OTHERS[way]:
        assert words in text, words
        text = text.replace(words, other)
    assert np.allclose(motion(read(text, tmp_path)), motion(read(PLAIN, tmp_path)), rtol=0, atol=1e-12)


def test_a_joint_mimics_another_less_a_reference(tmp_path):
    text = PLAIN.replace(
        "<axis><xyz>1 0 0</xyz>",
        '<axis><xyz>1 0 0</xyz><mimic joint="A"><multiplier>2</multiplier><offset>0.5</offset><reference>0.1</reference></mimic>',
    )
    mech = read(text, tmp_path).build()
    assert mech.assemble(fix={"A": 0.3})["B"][0][0] == pytest.approx(2.0 * (0.3 - 0.1) + 0.5, abs=1e-12)


def test_a_static_model_does_not_move(tmp_path):
    system = read(PLAIN.replace('<link name="a">', '<static>true</static><link name="a">'), tmp_path)
    assert len(system.bodies) == 1 and set(system.frames) == {"a", "b", "tip"}


UNREAD = {
    "auto": ("<inertial>", '<inertial auto="true">'),
    "fluid_added_mass": ("<mass>2</mass>", "<mass>2</mass><fluid_added_mass/>"),
    "relative_to of <inertial>": (
        "<pose>0.1 0 0.2 0 0 0</pose>",
        '<pose relative_to="b">0.1 0 0.2 0 0 0</pose>',
    ),
    "<initial_position>": ("<xyz>0 1 0</xyz>", "<xyz>0 1 0</xyz><initial_position>1</initial_position>"),
    "<limit> of <axis> of joint 'B'": (
        'name="B" type="revolute"><parent>a</parent><child>b</child><pose>0 0 -0.1 0 0 0.4</pose><axis>',
        'name="B" type="ball"><parent>a</parent><child>b</child><pose>0 0 -0.1 0 0 0.4</pose><axis><limit/>',
    ),
    "<include>": ('<frame name="tip"', '<include/><frame name="tip"'),
}


@pytest.mark.parametrize("what", UNREAD)
def test_what_is_not_read_is_listed(what, tmp_path):
    assert UNREAD[what][0] in PLAIN
    assert any(what in line for line in read(PLAIN.replace(*UNREAD[what]), tmp_path).unsupported)


WRONG = {
    "mimics the second axis": ("<xyz>0 1 0</xyz>", '<xyz>0 1 0</xyz><mimic joint="B" axis="axis2"/>'),
    "has no link": ('<frame name="tip"', '<model name="empty"/><frame name="tip"'),
    "is static": ('<frame name="tip"', '<model name="x"><static>1</static><link name="y"/></model><frame name="tip"'),
    "quaternion of a pose is zero": ("<pose>0 0 1 0.3 -0.2 0.5</pose>", '<pose rotation_format="quat_xyzw">0 0 1 0 0 0 0</pose>'),
    "no link or frame 'x::c'": ("<child>b</child>", "<child>x::c</child>"),
}  # fmt: skip


@pytest.mark.parametrize("said", WRONG)
def test_what_cannot_be_is_refused_with_its_line(said, tmp_path):
    assert WRONG[said][0] in PLAIN
    with pytest.raises(tm.TreemechError, match=rf"model\.sdf, line \d+: .*{said}"):
        read(PLAIN.replace(*WRONG[said]), tmp_path)
