"""MJCF: settings and random models move as in MuJoCo itself; what is not read is listed."""

import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import treemech as tm

mujoco = pytest.importorskip("mujoco")
EXACT = 1e-9


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """MuJoCo writes its warnings into a file where it runs."""
    monkeypatch.chdir(tmp_path)


def read(text, tmp_path):
    file = tmp_path / "model.xml"
    file.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tm.read(file)


def compare(text, tmp_path, seed=0):
    """Compare accelerations, places of bodies and sites, and limits with MuJoCo at a random state. Return the system."""
    system = read(text, tmp_path)
    mech, rng = system.build(), np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # angles like degrees
        state = mech.state(q=q, u=u)
    ud, owners = mech.forward_dynamics(state).ud, [s.split("[")[0] for s in mech.speeds]
    scale = 1.0 + max(np.max(np.abs(a)) for a in wanted.values())
    for name, a in wanted.items():
        first = owners.index(name)
        assert np.max(np.abs(ud[first : first + np.size(a)] - a)) < EXACT * scale, name
    places = [data.body(k) for k in range(1, model.nbody)] + [data.site(k) for k in range(model.nsite)]
    for there in places:
        position, rotation = mech.pose(there.name, state)
        assert np.allclose(position, there.xpos, atol=EXACT)
        assert np.allclose(rotation, there.xmat.reshape(3, 3), atol=EXACT)
    for name, limit in system.limits.items():
        j = model.joint(name)
        assert np.allclose((limit.lower, limit.upper), j.range - model.qpos0[j.qposadr[0]])
    return system


def test_balls_have_springs_and_dampers(tmp_path):
    inner = '<body name="c" pos="0 0 .4" euler="10 20 30"><joint name="k" type="ball" stiffness="7" damping="1.5"/><geom size=".1" pos=".1 0 0"/></body>'
    for seed in range(3):
        system = compare(one(inner=inner), tmp_path, seed)
    assert system.wiring.elements["k.spring"].element == tm.BallSpring(7.0, 1.5)


@pytest.mark.parametrize("kind", ["hinge", "slide", "ball"])
def test_armature_is_the_inertia_of_a_rotor(kind, tmp_path):
    inner = f'<body name="c" pos="0 0 .4"><joint name="k" type="{kind}" axis="1 0 .3" armature=".7"/><geom size=".1" pos=".1 0 0"/></body>'
    system = compare(one(joint='armature="2"', inner=inner), tmp_path)
    rotors = {name: e.element.reflected for name, e in system.wiring.elements.items()}
    assert rotors == {"j.rotor": 2.0, "k.rotor": 0.7} and not any("armature" in x for x in system.unsupported)


ONE = (
    '<mujoco>{top}<worldbody><body name="b" pos="0 0 1" {place}><joint name="j" axis="0 1 0" {joint}/>'
    '<geom name="g" type="box" size=".1 .2 .3" pos=".3 0 .1" {geom}/>{inner}</body></worldbody>{end}</mujoco>'
)


def one(**parts):
    return ONE.format(**dict.fromkeys(("top", "place", "joint", "geom", "inner", "end"), "") | parts)


SETTINGS = {
    "boundmass": '<compiler boundmass="100"/>',
    "boundinertia": '<compiler boundinertia="100"/>',
    "balanceinertia": '<compiler balanceinertia="true" boundinertia="1"/>',
    "settotalmass": '<compiler settotalmass="10"/>',
    "inertiagrouprange": '<compiler inertiagrouprange="1 2"/>',
    "gravity": '<option gravity="1 2 3"><flag gravity="disable"/></option>',
    "order": '<compiler eulerseq="xYz"/>',
    "other order": '<compiler eulerseq="ZyX" angle="radian"/>',
    "twice": '<compiler angle="radian"/><compiler eulerseq="zxz"/>',
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_the_compiler_count_as_in_mujoco(name, tmp_path):
    flat = '<inertial pos="0 .1 0" mass="1" diaginertia="1 1 3"/>' if name == "balanceinertia" else ""
    more = f'<geom size=".1" pos=".1 0 0" group="1"/><site name="s" euler="1 2 -1.5"/>{flat}'
    compare(one(top=SETTINGS[name], place='euler="20 1 2"', inner=more), tmp_path)


UNREAD = {
    "stiffness of joint 'j': only the first coefficient, 3,": {"joint": 'stiffness="3 1 2"'},
    "damping of free joint 'f'": {"end": '<worldbody><body><joint name="f" type="free" damping="1"/><geom size=".1"/></body></worldbody>'},
    "armature of free joint 'f'": {"end": '<worldbody><body><joint name="f" type="free" armature="1"/><geom size=".1"/></body></worldbody>'},
    "shellinertia": {"geom": 'shellinertia="true"'},
    'spring="disable"': {"top": '<option><flag spring="disable"/></option>'},
    'equality="disable"': {"top": '<option><flag equality="disable"/></option>'},
    "site 'b' has the name of a body: it is the frame 'b site'": {"inner": '<site name="b"/>'},
    "fitted to a mesh": {"inner": '<geom type="box" mesh="m"/>'},
    "<replicate>": {"inner": '<replicate count="3"><geom size=".1"/></replicate>'},
    "gravcomp": {"place": 'gravcomp="1"'},
}  # fmt: skip


@pytest.mark.parametrize("what", UNREAD)
def test_what_is_not_read_is_listed(what, tmp_path):
    assert any(what in line for line in read(one(**UNREAD[what]), tmp_path).unsupported)


WRONG = {
    "no site 't'": '<equality><connect site1="s" site2="t"/></equality>',
    "eulerseq is 'xy'": '<compiler eulerseq="xy"/><worldbody><body euler="1 2 3"/></worldbody>',
    "axis that is zero": '<worldbody><body axisangle="0 0 0 1"/></worldbody>',
    "inertiagrouprange=.*wanted": '<compiler inertiagrouprange="a"/>',
}


@pytest.mark.parametrize("said", WRONG)
def test_what_cannot_be_is_refused(said, tmp_path):
    with pytest.raises(tm.TreemechError, match=said):
        read(one(inner='<site name="s"/>', end=WRONG[said]), tmp_path)


def test_equalities_have_defaults_and_sites_keep_their_name_in_them(tmp_path):
    off = '<default><equality active="false"/></default>'
    assert (
        not read(one(top=off, end='<equality><joint joint1="j"/></equality>'), tmp_path).build().tree.chords
    )
    sites = '<site name="b" pos="0 0 -.4"/><site name="c" pos=".1 0 0"/>'
    tendon = '<tendon><spatial name="t" stiffness="9" springlength=".2"><site site="b"/><site site="w"/></spatial></tendon><worldbody><site name="w"/></worldbody>'
    system = read(one(inner=sites, end=tendon), tmp_path)
    assert np.array_equal(system.frames["b site"].offset, [0, 0, -0.4]) and "c" in system.frames
    assert system.build().nu == 1


class Writer:
    """Writes random models: bodies in bodies and frames, all joints, geoms, orientations, and classes."""

    def __init__(self, seed):
        self.rng, self.count = np.random.default_rng(seed), 0
        self.degrees = self.rng.random() < 0.5

    def numbers(self, values):
        return " ".join(f"{x:.6g}" for x in np.atleast_1d(values))

    def turn(self):
        r, unit = self.rng, 57.3 if self.degrees else 1.0
        return (
            "", f'quat="{self.numbers(r.normal(size=4))}"', f'euler="{self.numbers(unit * r.uniform(-3, 3, 3))}"',
            f'axisangle="{self.numbers(r.normal(size=3))} {unit * r.uniform(-3, 3):.5g}"', f'xyaxes="{self.numbers(r.normal(size=6))}"',
            f'zaxis="{self.numbers(r.normal(size=3))}"',
        )[r.integers(6)]  # fmt: skip

    def place(self, size=0.3):
        return f'pos="{self.numbers(size * self.rng.normal(size=3))}" {self.turn()}'

    def geom(self):
        r = self.rng
        kind = r.choice(["sphere", "capsule", "cylinder", "box", "ellipsoid"])
        mass = ("", f'mass="{r.uniform(0.2, 2):.4g}"', f'density="{r.uniform(500, 2000):.5g}"')[r.integers(3)]
        if kind != "sphere" and r.random() < 0.4:
            return f'<geom type="{kind}" size="{r.uniform(0.05, 0.1):.4g}" fromto="{self.numbers(0.2 * r.normal(size=6))}" {mass}/>'
        return (
            f'<geom type="{kind}" size="{self.numbers(r.uniform(0.05, 0.2, 3))}" {self.place(0.2)} {mass}/>'
        )

    def joint(self, name, kind):
        r, unit = self.rng, 57.3 if self.degrees and kind == "hinge" else 1.0
        said = f'pos="{self.numbers(0.1 * r.normal(size=3))}" '
        if kind != "free" and r.random() < 0.4:
            said += f'armature="{r.uniform(0, 2):.5g}" '
        if kind == "free":
            return f'<joint name="{name}" type="free" stiffness="0" damping="0"/>'
        if kind == "ball":
            return f'<joint name="{name}" type="ball" stiffness="{r.uniform(0, 9):.4g}" damping="{r.uniform(0, 2):.4g}" {said}/>'
        for attribute, value in (("ref", unit * r.normal()), ("springref", unit * r.normal()), ("stiffness", r.uniform(0, 9)), ("damping", r.uniform(0, 2))):  # fmt: skip
            if r.random() < 0.4:
                said += f'{attribute}="{value:.5g}" '
        if r.random() < 0.3:
            said += f'range="{self.numbers(np.sort(unit * r.normal(size=2)))}" '
        if r.random() < 0.3:
            said += 'class="soft" '
        return f'<joint name="{name}" type="{kind}" axis="{self.numbers(r.normal(size=3))}" {said}/>'

    def body(self, depth, top=False):
        r, name = self.rng, f"b{self.count}"
        self.count += 1
        own = "" if r.random() < 0.8 else 'childclass="soft"'
        said = f'<body name="{name}" {self.place()} {own}>'
        kinds = list(r.choice(["hinge", "slide"], r.integers(0, 3))) + ["ball"] * int(r.random() < 0.2)
        if top and r.random() < 0.3:
            kinds = ["free"]
        said += "".join(self.joint(f"{name}.{k}", kind) for k, kind in enumerate(kinds)) + self.geom()
        if r.random() < 0.3:
            a, b, c = r.uniform(0.02, 0.1, 3)
            said += f'<inertial {self.place(0.1)} mass="{r.uniform(0.3, 2):.4g}" diaginertia="{self.numbers((a + b, b + c, a + c))}"/>'
        said += f'<site name="s of {name}" {self.place(0.1)}/>'
        for _ in range(r.integers(0, 3) if depth else 0):
            inner = self.body(depth - 1)
            said += inner if r.random() < 0.7 else f"<frame {self.place(0.2)}>{self.geom()}{inner}</frame>"
        return said + "</body>"

    def model(self):
        order = self.rng.choice(["xyz", "zyx", "XYZ", "ZXY", "zxz", "xYz", "Xyz", "ZyX"])
        angle = "degree" if self.degrees else "radian"
        return (
            f'<mujoco><compiler angle="{angle}" eulerseq="{order}"/><option gravity="{self.numbers(5 * self.rng.normal(size=3))}"/>'
            '<default><joint damping="0.1"/><geom density="800"/><default class="soft"><joint stiffness="3"/><geom density="600"/></default>'
            f"</default><worldbody>{self.body(2, True)}{self.body(1, True)}</worldbody></mujoco>"
        )


@pytest.mark.parametrize("seed", range(24))
def test_random_models_move_as_in_mujoco(seed, tmp_path):
    text = Writer(seed).model()
    try:
        moves = mujoco.MjModel.from_xml_string(text).nv
    except ValueError as error:  # an inertia that no body can have
        pytest.skip(str(error).splitlines()[0])
    if moves:
        compare(text, tmp_path, seed)
