"""Systems as files: what is written is read back the same, to the last bit of a run; nothing is executed on reading."""

import ast
import json
import re
import sys
from copy import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import treemech as tm
from tests.laws.test_active_elements import MODELS as ACTIVE
from tests.support.mechanisms import random_mechanism
from tests.support.models import random_state, random_system, rotation
from tests.support.places import ROOT
from treemech import elements
from treemech.elements.assembled.rows import SeriesEnd
from treemech.elements.element import example_of
from treemech.files.elements import built_in


# ---------------------------------------------------------------- equality, judged from outside
def assert_alike(a, b, where="system"):
    """The same types and the same bits all the way down; a tuple may stand for a list or an array of numbers."""
    if isinstance(a, (list, tuple, range, np.ndarray)) and not hasattr(a, "_fields"):
        assert len(a) == len(b), where
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            assert a.tobytes() == b.tobytes() and a.shape == b.shape, where
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_alike(x, y, f"{where}[{k}]")
    elif isinstance(a, dict):
        assert list(a) == list(b), where
        for key, x in a.items():
            assert_alike(x, b[key], f"{where}[{key!r}]")
    elif hasattr(a, "_fields"):
        assert type(a) is type(b), where
        for name, x in a._asdict().items():
            assert_alike(x, getattr(b, name), f"{where}.{name}")
    elif type(a).__module__.startswith("treemech") and hasattr(a, "__dict__"):
        assert type(a) is type(b), where
        # functions of measures; compiled code; how a thing was made, judged by what comes of it
        skipped = (
            "of",
            "_entries",
            "_entry",
            "calls",
            "_made_with",
            "declared_gravity",
            "declared",
            "parameters",
        )
        mine, other = ({n: x for n, x in vars(y).items() if n not in skipped} for y in (a, b))
        assert_alike(dict(sorted(mine.items())), dict(sorted(other.items())), where)
    elif callable(a):
        assert type(a) is type(b), where
    else:
        assert a == b, where


def again(system, folder):
    """The system written, read and compared."""
    path = system.save(folder / "model")
    assert path.name == "model.json" and [p.name for p in folder.glob("*")] == ["model.json"]
    back = tm.read(path)
    assert_alike(system, back)
    assert back.save(folder / "again").read_text() == path.read_text()
    return back


def assert_same_run(system, back, state, span=0.3, **options):
    """Bit-identical runs."""
    one, other = (m.simulate((0.0, span), state(m), **options) for m in (system.build(), back.build()))
    assert one.success and len(one.t) > 2 and np.ptp(one.q, axis=0).max() > 1e-6
    for name in ("t", "q", "u", "z", "ud"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert one._info == other._info
    for e in one._info.elements:
        assert one.element(e.name).effort.tobytes() == other.element(e.name).effort.tobytes()
    for name in one._measures:
        assert one.measure(name).tobytes() == other.measure(name).tobytes()


# ---------------------------------------------------------------- every element
POSE = tm.PrescribedPose(
    x=tm.Harmonic(0.1, 2.0), rotation=((1, 2, 3), tm.Spline(np.linspace(0, 1, 4), [0, 1, 2, 1]))
)
WRAPS = {1: tm.WrapCylinder(0.1, side=-1), 3: tm.WrapSphere(0.2)}
CAM = tm.Profile.polar([1.0, 1.1, 1.25, 1.1, 1.0, 0.9])
SLOT = (
    tm.Profile.arc((1, 0), 0.5, -np.pi / 2, np.pi / 2)
    + tm.Profile.line((1, 0.5), (-1, 0.5))
    + tm.Profile.arc((-1, 0), 0.5, np.pi / 2, 3 * np.pi / 2)
    + tm.Profile.line((-1, -0.5), (1, -0.5))
).closed()
RNG = np.random.default_rng(5)
SERIES = (
    tm.Series(tm.Revolute((1, 2, 3)), ((0, 0.1, 0.2), Rotation.from_rotvec((0.3, 0.4, -0.2))), tm.Screw(0.1)),
    tm.Series(tm.Ball(), (0.1, 0.2, 0.5), tm.Ball(), names=("A", "B")),
    tm.Series(tm.Series(tm.Revolute("z"), (1, 0, 0), tm.Prismatic("x")), tm.Ball(), (0, 0, 0.3)),
    tm.Series(tm.Moving(z=tm.Harmonic(0.1, 2.0)), tm.Universal(), (0.1, 0.2, 0), tm.Screw(0.2)),
)
FURTHER = [
    *SERIES,
    tm.SeriesRows(tm.Distance(tm.Harmonic(0.1, 1.0, offset=1.0)), SERIES[0], SeriesEnd(0, np.ones(3), np.eye(3)), SeriesEnd(2, np.zeros(3), rotation(RNG))),
    *(tm.Perpendicular(RNG.normal(size=3), RNG.normal(size=3)) for _ in range(20)),
    tm.RelativeOffset(RNG.normal(size=3), tm.Polynomial(np.array([1.0, 2.0]))),
    tm.Revolute(RNG.normal(size=3)),
    POSE,
    tm.CamFollower(CAM, follower="roller", radius=0.1, start=0.3),
    tm.CurveOnCurve(CAM, SLOT, start=(0.1, 0.2)),
    tm.Path(stiffness=3.0, wraps=WRAPS),
    tm.MusclePath(wraps={1: tm.WrapSphere(0.1)}),
    tm.Friction(0.1, static=0.2), tm.Friction(0.1, load=3.0), tm.Friction(0.1, static=0.3, load=tm.Harmonic(1.0, 2.0)),
    tm.EhdTraction(0.01, 0.02, load=4.0), tm.BristleFriction(0.2, load=0.0, damping=1.0),
    tm.TableSpring(np.array([(0.0, -1.0), (1.0, 1.0), (2.0, 5.0)]), interpolation="linear", force=2.0),
    tm.RotationalSpring(table=[(0, 0), (1, 1)], torque=tm.Harmonic(1, 2)),
    tm.Tire(1.0, 1.0, friction_lateral=0.4), tm.Spring(10.0, length=1.0, only="tension"),
    tm.Curve(np.cumsum(RNG.uniform(0.1, 0.5, size=(8, 3)), axis=0), normal=RNG.normal(size=3)),
    tm.PointOnSurface("torus", radius=2.0, tube=0.5), tm.Gear.of_teeth(20, 37, internal=True),
    tm.Spline(np.linspace(0, 2, 7), np.sin(np.linspace(0, 2, 7)), ends="natural"),
    tm.Polynomial((0, 1, 3)), tm.Constant(1 / 3), tm.Pid(3.0, 1.0, limit=np.float64(2.0)),
    tm.Force(x=tm.Spline([0, 1], [2, 3]), frame="body"), tm.Bushing(np.diag([1.0, 2, 3, 4, 5, 6]), damping=[0.1] * 6),
]  # fmt: skip


def system_with(element):
    """A system in which an element has a place."""
    rng = np.random.default_rng(3)
    system = tm.System("one of all", gravity=rng.normal(size=3))
    arm = system.body("arm", 1.1, np.diag(rng.uniform(1, 1.5, 3)), com=rng.normal(size=3))
    arm2 = system.body("arm 2", 0.3, (0.1, 0.1, 0.1))
    other = system.body("other", 2.0, (0.1, 0.1, 0.1), pose=(rng.normal(size=3), rotation(rng)))
    last = system.body("last", 2.0, (0.1, 0.1, 0.1), pose=(1, 2, 3))
    A = system.connect("A", tm.Revolute("y"), system.ground, arm)
    system.connect("B", tm.Prismatic("x"), arm.at(rng.normal(size=3)), arm2)
    system.connect("C", tm.Cylindrical("x"), arm.at(rng.normal(size=3), rotation(rng)), last)
    places = [system.ground.at((0.1, 0, 0)), arm2, other.at(rng.normal(size=3), rotation(rng)), last, arm]
    if isinstance(element, (tm.Hinge, tm.Constraint)):
        system.connect("tested", element, places[0], places[2])
    elif isinstance(element, tm.Coupling):
        names = ["A", "B", "C[0]", "C[1]"]
        system.couple("tested", element, *names[: element.n_arguments or 2])
    elif isinstance(element, tm.Signal):
        system.prescribe(A, element)
        system.prescribe("C", copy(element), 1)  # one signal in two places would be two when read
        system.input("i(t)", copy(element))
        system.connect("motor", tm.ElectricMotor(), "B", inputs={"voltage": "i(t)"})
    elif isinstance(element, tm.RotorInertia):
        system.connect("tested", element, "B")
    elif isinstance(element, tm.Load):
        system.load("A", element, arm.at((1, 2, 3)))
    else:
        n = 5 if element.n_ends is None else element.n_ends
        system.connect(
            "tested", element, *places[:n], *["B", "C[1]"][: element.n_coordinates],
            inputs=dict(zip(element.input_names, [0.25, tm.Harmonic(1, 2), "A.q"])),
            reaction_of="A" if element.n_reactions else None,
        )  # fmt: skip
    return system


SAMPLES = [example_of(cls) for cls in built_in().values() if issubclass(cls, elements.Element)]


@pytest.mark.parametrize("element", [*SAMPLES, *FURTHER], ids=lambda e: e.kind)
def test_every_element_comes_back_the_same(element, tmp_path):
    system = system_with(element)
    back = again(system, tmp_path)
    for one, other in zip(plan_of(system), plan_of(back), strict=True):
        assert one.tobytes() == other.tobytes()


def plan_of(system):
    layout = system.build()._core.layout
    return [
        x
        for x in (*layout.plan, layout.parameters, *layout.chords.plan)
        if isinstance(x, np.ndarray) and x.dtype == float
    ]


def test_the_samples_are_all_there_is_in_the_library():
    classes = [
        x
        for x in map(elements.__dict__.get, elements.__all__)
        if isinstance(x, type) and issubclass(x, elements.Element)
    ]
    made_of_functions = {
        elements.Relation,
        elements.VelocityRelation,
        elements.ForceFunction,
        elements.MomentFunction,
        elements.PointOnImplicitSurface,
        elements.Function,
    }
    contracts = {
        elements.Element,
        tm.Hinge,
        tm.AxialHinge,
        tm.Constraint,
        tm.Coupling,
        tm.Energetic,
        tm.Load,
        tm.Signal,
    }
    assert {type(e) for e in SAMPLES} == set(classes) - made_of_functions - contracts


# ---------------------------------------------------------------- whole systems, and their runs
@pytest.mark.parametrize("seed", range(4))
def test_random_trees_run_the_same(seed, tmp_path):
    system = random_system(seed, n=16)
    assert_same_run(system, again(system, tmp_path), lambda m: random_state(m, seed))


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_closed_chains_run_the_same(seed, planar, tmp_path):
    system, q, _ = random_mechanism(seed, planar, n_loops=2)
    assert_same_run(system, again(system, tmp_path), lambda m: m.assemble(guess=q), rtol=1e-8)


@pytest.mark.parametrize("name", ACTIVE)
def test_active_elements_run_the_same(name, tmp_path):
    system, fixed = ACTIVE[name]()
    assert_same_run(system, again(system, tmp_path), lambda m: m.assemble(fix=fixed), rtol=1e-8, audit=True)


def crane():
    """Poses, shapes, at=, axis=, roles, a composite with a loaded point, inputs, measures, friction of a hinge, couplings."""
    system = tm.System("Kran Nr. 1/2 \u2211", gravity=(0, 0.1, -9.81))
    rod = tm.solids.rod((0, 0, 0), (0, 0, -1.0), mass=2.0)
    jib = system.body("jib", **rod.properties, pose=((0, 0, 2), Rotation.from_rotvec((0.1, 0.2, 0.3))))
    hook = system.body(
        "hook", mass=1.0, inertia=[[0.1, 0.01, 0], [0.01, 0.1, 0], [0, 0, 0.1]], pose=(0, 0.2, 1)
    )
    drum = system.body("drum", mass=1.0, inertia=(0.1, 0.1, 0.1))
    foot = system.body("foot", mass=1.0, inertia=(0.1, 0.1, 0.1))
    ground = system.ground
    mast = system.connect("mast", tm.Revolute("y"), ground.at((0, 0, 2)), jib)
    knee = system.connect("knee", tm.Revolute((0.1, 1, 0)), jib, hook, at=(0, 0.1, 1), axis=(0, 1, 0.2))
    system.connect("axle", tm.Revolute("y"), ground.at((1, 0, 0)), drum)
    system.couple("gear", tm.Gear.of_teeth(20, 40), mast, "axle")
    skate = tm.Composite(frames=("blade",))
    skate.connect("ice", tm.Planar("z"), "a", "blade")
    skate.connect(
        "edge", tm.KnifeEdge(), "a", skate.at("blade", (0.1, 0, 0), rotation(np.random.default_rng(0)))
    )
    skate.connect("ankle", tm.Revolute("x"), skate.at("blade", (0, 0, 0.1)), "b")
    system.connect("skate", skate, ground, foot)
    skate.connect("more", tm.Distance(1.0), "a", skate.at("blade"))  # too late to count
    system.couple("mimic", tm.Mimic(0.5), "skate[3]", "skate[2]")
    rope = tm.Composite(ends=("top", "bottom"), points={"n": 3}, start={"n": (0.3, 0.1, 1)})
    rope.connect("upper", tm.Spring(50.0, length=0.5), "top", "n")
    rope.connect("lower", tm.Spring(40.0, length=0.2), "n", "bottom")
    rope = system.connect("rope", rope, ground.at((0.5, 0.1, 2)), hook.at((0, 0, -0.2)))
    damper = tm.Composite(points={"n": 1}, viscous=("n",), start={"n": [0.4]})
    damper.connect("stiff", tm.Spring(30.0, length=0.2), "a", "n")
    damper.connect("soft", tm.Spring(20.0, damping=3.0, length=0.5), "n", "b")
    system.connect("damper", damper, ground.at((0, 1, 1)), hook)
    system.load("knee", tm.Moment(y=tm.Harmonic(0.3, 4.0)), hook)  # a load may have the name of a hinge
    system.load("dirt", tm.Force(z=-0.5), rope.point("n"))
    system.connect("rub", tm.Friction(0.2, radius=0.02), knee)
    system.input("throttle", tm.Spline([0, 0.2, 1], [0, 1, 0.5]))
    system.connect("motor", tm.ElectricMotor(0.1, 2.0, 0.05), "axle", inputs={"voltage": "throttle"})
    system.connect("servo", tm.PositionServo(3.0, 0.1, 2.0, 0.05), "mast", inputs={"setpoint": "axle.q"})
    system.measure("height", "hook.position[2]")
    system.measure("load of the knee", "knee.force[0]")
    return system


def test_a_system_with_all_that_there_is_runs_the_same(tmp_path):
    system = crane()
    back = again(system, tmp_path)
    assert [s["kind"] for s in back.bodies[1].shapes] == [s["kind"] for s in system.bodies[1].shapes]
    assert list(back.couplings) == ["gear", "skate.edge", "mimic"]
    fixed = {"mast": 0.1, "skate[0]": 0.2, "skate[2]": 0.3}
    assert_same_run(system, back, lambda m: m.assemble(fix=fixed, rates={"skate[0]": 1.0}), rtol=1e-7)


def test_prescribed_motion_and_poses_run_the_same(tmp_path):
    system = tm.System("driven")
    table = system.body("table", mass=1.0, inertia=(1, 1, 1))
    cart = system.body("cart", mass=1.0, inertia=(1, 1, 1))
    ball = system.body("ball", mass=1.0, inertia=(1, 1, 1))
    system.connect("turn", tm.Cylindrical("z"), system.ground, table)
    system.connect("slide", tm.Prismatic("x"), table, cart)
    system.prescribe("turn", tm.Polynomial([0.0, 0.3, 1.0]))
    system.prescribe("turn", tm.Spline([0, 1, 2], [0, 0.2, 0.1]), coordinate=1)
    system.prescribe_pose("guide", ball.at((0, 0, 0.1)), cart, x=tm.Harmonic(0.1, 2.0), y=0.0, z=0.1)
    assert_same_run(system, again(system, tmp_path), lambda m: m.assemble(rates={"slide": 0.1}))


def test_a_hinge_as_an_end_is_written_by_its_name(tmp_path):
    data = json.loads(crane().save(tmp_path / "crane").read_text())
    (rub,) = (s for s in data["model"] if s.get("connect") == "rub")
    assert rub["ends"] == [{"hinge": "knee"}] and "reaction_of" not in rub


def test_the_file_is_for_reading(tmp_path):
    system = tm.System("pendulum")
    bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -1))
    system.connect("Gelenk \u00e4", tm.Revolute("y"), system.ground.at((0, 0, 2)), bob)
    assert system.save(tmp_path / "pendulum.json").read_text(encoding="utf-8") == PENDULUM


PENDULUM = """\
{
  "schema": "treemech-model-1",
  "name": "pendulum",
  "gravity": [0.0, 0.0, -9.81],
  "model": [
    {"body": "bob", "mass": 1.0, "inertia": [0, 0, 0], "com": [0, 0, -1]},
    {
      "connect": "Gelenk \u00e4",
      "element": {"kind": "Revolute", "axis": "y"},
      "ends": [{"body": "ground", "offset": [0.0, 0.0, 2.0]}, "bob"]
    }
  ]
}
"""


def test_the_page_shows_what_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "files.md").read_text()
    first, *rest = re.findall(r"```python\n(.*?)```", page, re.S)
    scope = {}
    exec(first, scope)
    assert Path("pendulum.json").read_text() == re.search(r"```json\n(.*?)```", page, re.S)[1]
    for code in rest:
        exec(code, scope)
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2 and all(f"# {line}\n" in page for line in said)


# ---------------------------------------------------------------- what cannot be written
@dataclass(frozen=True)
class Foreign(tm.Hinge):
    """A hinge no package brings."""

    angle: float = 0.0
    n_coordinates = 1

    def evaluate(self, q, u, t, motion):
        motion.offset[0] = q[0]
        motion.translation_partials[0, 0] = 1.0


def pendulum():
    system = tm.System("pendulum")
    bob = system.body("bob", mass=1.0, inertia=(1, 1, 1))
    system.connect("pin", tm.Revolute("y"), system.ground, bob)
    system.connect("motor", tm.ElectricMotor(), "pin", inputs={"voltage": "u"})
    system.input("u", 1.0)
    return system, bob


REFUSED = {
    "controller 'regulator' is a function.*after reading": lambda s, b: s.controller(
        "regulator", lambda t: 0.0, period=0.1, inputs=["i"]
    ),
    "measure 'power' is a function.*'A.q": lambda s, b: s.measure("power", lambda run: run.t),
    "input 'wave': signal is a function.*Spline": lambda s, b: s.input("wave", lambda t: t),
    "prescribe 'pin': motion is a function": lambda s, b: s.prescribe("pin", lambda t: t),
    "load 'push': x is made of a function": lambda s, b: s.load("push", tm.Force(x=lambda t: t), b),
    "connect 'm2': inputs 'voltage' is a function": lambda s, b: s.connect(
        "m2", tm.ElectricMotor(), "pin", inputs={"voltage": lambda t: t}
    ),
    "couple 'rel' is made of a function": lambda s, b: s.couple("rel", tm.Relation(lambda q, t: q[0]), "pin"),
    "'wind' is made of a function": lambda s, b: s.load("wind", tm.ForceFunction(lambda t, q, u: (0, 0, t)), b),
    "connect 'own' is a Foreign of the module.*entry point": lambda s, b: s.connect(
        "own", Foreign(), b, s.body("b2", 1.0, (1, 1, 1))
    ),
    "shapes.*: a file holds numbers, texts": lambda s, b: s.body("b3", 1.0, (1, 1, 1), shapes=[{"kind": "box", "size": object()}]),
    "shapes.* finite numbers": lambda s, b: s.body("b3", 1.0, (1, 1, 1), shapes=[{"kind": "box", "size": np.inf}]),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_what_a_file_cannot_hold_is_refused_by_name_before_anything_is_touched(message, tmp_path):
    system, bob = pendulum()
    path = system.save(tmp_path / "model")
    before = path.read_text()
    REFUSED[message](system, bob)
    with pytest.raises(tm.TreemechError, match=message):
        system.save(path)
    with pytest.raises(tm.TreemechError):
        system.save(tmp_path / "new")
    assert path.read_text() == before and [p.name for p in tmp_path.iterdir()] == ["model.json"]


def test_a_name_means_what_it_meant_when_it_was_given(tmp_path):
    system, bob = pendulum()
    ball, other = (system.body(n, mass=1.0, inertia=(1, 1, 1)) for n in ("ball", "other"))
    system.connect("C", tm.Cylindrical("z"), bob, ball)
    system.couple("g", tm.Gear(1.0), "C[1]", "pin")
    system.connect("C[1]", tm.Revolute("z"), bob, other)
    assert again(system, tmp_path).couplings["g"].arguments == (("C", 1), ("pin", 0))


# ---------------------------------------------------------------- elements of other packages
THEIRS = '''
from dataclasses import dataclass, field
import numpy as np
import treemech as tm

LOADED = True

@dataclass(frozen=True)
class Slide(tm.Hinge):
    """A slide along a table of directions."""
    table: np.ndarray
    scale: float = 1.0
    n_coordinates = 1

    def evaluate(self, q, u, t, motion):
        for k in range(3):
            motion.offset[k] = self.scale * self.table[0, k] * q[0]
            motion.translation_partials[0, k] = self.scale * self.table[0, k]

@dataclass(frozen=True)
class Degrees(tm.Hinge):
    """It changes its own field, so that what it holds is not what it was made of."""
    angle: float
    n_coordinates = 0

    def __post_init__(self):
        object.__setattr__(self, "angle", self.angle * np.pi / 180)

    def evaluate(self, q, u, t, motion):
        pass
'''


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    info = folder / "theirs-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "their_hinges.py").write_text(THEIRS)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[treemech.elements]\nRutsche = their_hinges:Slide\nDegrees = their_hinges:Degrees\nLost = no_such_module:Lost\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    yield
    sys.modules.pop("their_hinges", None)


def test_elements_of_packages_come_back_by_their_entry_points(theirs, tmp_path):
    import their_hinges

    system, bob = pendulum()
    table = np.array([[1.0, 0.5, 0.0]])
    system.connect("slide", their_hinges.Slide(table), bob, system.body("b2", 1.0, (1, 1, 1)))
    path = system.save(tmp_path / "model")
    assert {"kind": "Rutsche", "from": "theirs", "table": {"array": table.tolist()}, "scale": 1.0} in [
        s.get("element") for s in json.loads(path.read_text())["model"]
    ]
    back = tm.read(path)
    assert isinstance(back.connections["slide"].element.table, np.ndarray)
    assert_same_run(system, back, lambda m: m.state(q={"pin": 0.3}))


def test_an_element_that_would_not_read_back_the_same_is_refused(theirs, tmp_path):
    import their_hinges

    system, bob = pendulum()
    system.connect("bend", their_hinges.Degrees(30.0), bob, system.body("b2", 1.0, (1, 1, 1)))
    with pytest.raises(
        tm.TreemechError, match="connect 'bend' .Degrees. would not read back the same from its fields angle"
    ):
        system.save(tmp_path / "model")


def test_only_the_entry_point_that_is_named_is_loaded(theirs, tmp_path):
    system, _ = pendulum()
    path = system.save(tmp_path / "model")
    tm.read(path)
    assert "their_hinges" not in sys.modules
    path.write_text(path.read_text().replace('"kind": "Revolute"', '"kind": "Rutsche", "from": "others"'))
    with pytest.raises(tm.TreemechError, match="no installed package 'others' brings the element 'Rutsche'"):
        tm.read(path)
    assert "their_hinges" not in sys.modules
    path.write_text(path.read_text().replace('"Rutsche", "from": "others"', '"Lost", "from": "theirs"'))
    with pytest.raises(tm.TreemechError, match=r"element.kind: .*no_such_module"):
        tm.read(path)


# ---------------------------------------------------------------- reading what is wrong
def edited(path, *keys, value=None, drop=False):
    """A file with one place in it changed."""
    data = json.loads(path.read_text())
    located = data
    for key in keys[:-1]:
        located = located[key]
    if drop:
        del located[keys[-1]]
    else:
        located[keys[-1]] = value
    path.write_text(json.dumps(data))
    return path


BAD = [
    (("schema",), "treemech-model-2", "m.json: schema: is 'treemech-model-2'; treemech .* reads 'treemech-model-1'. A newer"),
    (("schema",), "treemech-model-0", "schema: is 'treemech-model-0'; treemech .* reads 'treemech-model-1'.$"),
    (("schema",), 3, "m.json: the file: is no treemech model: its schema is 3"),
    (("colour",), "red", "m.json: colour: there is no field 'colour'"),
    (("gravity",), [1, 2], "m.json: gravity: system 'pendulum': gravity is .*wanted 3 numbers"),
    (("model",), {}, r"m.json: model: is {}; wanted a list"),
    (("model", 0), 7, r"m.json: model\[0\]: is 7; wanted an object"),
    (("model", 0), {"bdy": "x"}, r"model\[0\]: there is no statement 'bdy': did you mean 'body'"),
    (("model", 0, "connect"), "x", r"model\[0\]: wanted one of .*; there are body, connect"),
    (("model", 0, "mass"), "heavy", r"model\[0\]: mass of body 'bob' is 'heavy'; wanted a number"),
    (("model", 0, "mas"), 1.0, r"model\[0\].mas: there is no field 'mas': did you mean 'mass'"),
    (("model", 0, "body"), 1.0, r"model\[0\].body: is 1.0; wanted a text"),
    (("model", 0, "body"), "ground", r"model\[0\]: two bodies are named 'ground'"),
    (("model", 1, "element"), None, r"model\[1\].element: is null; wanted an object"),
    (("model", 1, "element"), {}, r"model\[1\].element: the field 'kind' is missing"),
    (("model", 1, "element", "kind"), "Revolut", r"element.kind: there is no kind of element 'Revolut': did you mean 'Revolute'"),
    (("model", 1, "element", "kind"), "Spline", r"element.kind: Spline cannot stand here; wanted a Hinge"),
    (("model", 1, "element", "kind"), "Screw", r"model\[1\].element: the field 'pitch' is missing"),
    (("model", 1, "element", "axis"), "w", r"model\[1\].*axis is 'w'"),
    (("model", 1, "element", "axes"), "x", r"element.axes: there is no field 'axes': did you mean 'axis'"),
    (("model", 1, "ends", 1), "bab", r"model\[1\].ends\[1\]: there is no body 'bab': did you mean 'bob'"),
    (("model", 1, "ends", 1), {"body": "bob", "offset": [1, 2]}, r"ends\[1\]: offset of an attachment of body 'bob' is .*wanted 3 numbers"),
    (("model", 1, "ends", 1), {"point": "n", "of": "rope"}, r"ends\[1\].of: there is no composite 'rope'"),
    (("model", 1, "ends", 1), {"hinge": "pen"}, r"ends\[1\].hinge: there is no hinge 'pen'"),
    (("model", 1, "ends"), ["ground"], r"model\[1\]: hinge 'pin' has 1 ends; wanted 2"),
    (("model", 1, "role"), "trunk", r"model\[1\]: hinge 'pin': role is 'trunk'"),
    (("model", 2, "element", "constant"), "big", r"model\[2\].element.constant: is \"big\"; wanted a number"),
    (("model", 2, "element", "constant"), True, r"model\[2\].element.constant: is true; wanted a number"),
    (("model", 2, "element", "constant"), [1, 2], r"model\[2\].element.constant: is \[1, 2\]; wanted a number"),
    (("model", 2, "ends", 0), {"coordinate": "pan"}, r"model\[2\]: .*there is no hinge 'pan'"),
    (("model", 2, "inputs", "voltage"), [1], r"model\[2\].inputs.voltage: is \[1\]; wanted a number, a signal or a name"),
    (("model", 3, "signal"), {"kind": "Harmonic", "amplitude": "x", "frequency": 1.0}, r"model\[3\].signal.amplitude: is \"x\""),
    (("model", 3, "signal"), {"kind": "Ball"}, r"model\[3\]: input 'u' is Ball"),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "value", "message"), BAD)
def test_a_mistake_is_told_with_file_and_place(keys, value, message, tmp_path):
    path = edited(pendulum()[0].save(tmp_path / "m"), *keys, value=value)
    with pytest.raises(tm.TreemechError, match=message) as caught:
        tm.read(path)
    assert str(caught.value).startswith("m.json: ")


@pytest.mark.parametrize(
    "keys", [("name",), ("gravity",), ("model",), ("model", 0, "mass"), ("model", 1, "ends")]
)
def test_a_missing_field_is_named(keys, tmp_path):
    with pytest.raises(tm.TreemechError, match=f"the field '{keys[-1]}' is missing"):
        tm.read(edited(pendulum()[0].save(tmp_path / "m"), *keys, drop=True))


TEXTS = {
    '{"schema": ': "line 1, column 12: Expecting value",
    '{"schema": 1, "schema": 2}': "'schema' is given twice",
    '{"schema": NaN}': "NaN is not a finite number",
    '{"schema": 1e999}': "1e999 is not a finite number",
    '{"a": ' + "[" * 100000: "nested too deeply|Expecting value",
    "[1, 2]": "neither a treemech run .* nor a treemech model",
    "": "neither a treemech run",
    '{"a": "\udcff"}': "no text in UTF-8",
}


@pytest.mark.parametrize("text", TEXTS, ids=lambda t: t[:20].encode("ascii", "replace").decode())
def test_texts_that_are_no_model(text, tmp_path):
    path = tmp_path / "m.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(tm.TreemechError, match=TEXTS[text]) as caught:
        tm.read(path)
    assert str(caught.value).startswith("m.json")


def places(data, path=()):
    """All places in nested data."""
    for key in range(len(data)) if isinstance(data, list) else list(data):
        yield (*path, key)
        if isinstance(data[key], (list, dict)):
            yield from places(data[key], (*path, key))


JUNK = [None, True, -1, 1e300, "", "x", [], {}, [[1, 2], 3], {"kind": "Ball"}, {"kind": "Series"}, {"array": "x"}, {"by number": {"x": 1}}]  # fmt: skip


def test_no_change_of_a_file_leads_to_anything_but_a_system_or_a_named_error(tmp_path):
    system = crane()
    for k, element in enumerate(FURTHER[:5]):
        if isinstance(element, tm.Hinge):
            system.connect(f"s{k}", element, system.ground, system.body(f"s{k}", 1.0, (1, 1, 1)))
    path = system.save(tmp_path / "m")
    text, rng = path.read_text(), np.random.default_rng(0)
    everywhere = list(places(json.loads(text)))
    for _ in range(150):
        path.write_text(text)
        keys = everywhere[rng.integers(len(everywhere))]
        junk = JUNK[rng.integers(len(JUNK))]
        edited(path, *keys, value=junk, drop=bool(rng.uniform() < 0.2))
        try:
            with np.errstate(over="ignore"):
                back = tm.read(path)
        except tm.TreemechError as error:
            assert str(error).startswith("m.json: "), (keys, junk)
        else:
            assert isinstance(back, tm.System)


# ---------------------------------------------------------------- nothing is executed
@pytest.mark.parametrize(
    "kind", ["os.system", "os:system", "Function", "Relation", "ForceFunction", "HINGES", "as_signal", "Element", "Hinge", "__class__", "Motion", ""]
)  # fmt: skip
@pytest.mark.parametrize("package", [None, "os", "treemech"])
def test_only_elements_are_kinds(kind, package, tmp_path):
    element = {"kind": kind} | ({} if package is None else {"from": package})
    with pytest.raises(
        tm.TreemechError, match=r"element.kind: (there is no kind of element|no installed package)"
    ):
        tm.read(edited(pendulum()[0].save(tmp_path / "m"), "model", 1, "element", value=element))


@pytest.mark.parametrize("name", ["models", "elements", "located", "statements", "read"])
def test_the_readers_have_no_way_to_run_code(name):
    tree = ast.parse((ROOT / "treemech" / "files" / f"{name}.py").read_text())
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | {
        n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)
    }
    assert not used & {"eval", "exec", "compile", "__import__", "import_module", "pickle", "get_type_hints"}
