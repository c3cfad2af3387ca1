"""Models with parameters as files: what is read takes other values as the system that was written does."""

import json

import numpy as np
import pytest

import treemech as tm
from tests.support.parametric import four_bar, four_bar_start, spatial, tree
from tests.treemech.files.test_models import assert_alike, edited

OTHER = {"g": 9.6, "l": 0.97, "m": 1.4, "k": 33.0, "c": 0.5, "a": 0.23, "w": 2.2}


def places():
    """Return a system with parameters in poses, at=, axis=, attachments, series, assemblies, composites, inputs, solids."""
    l, m, a = tm.Parameter("l", 1.0), tm.Parameter("m", 1.3), tm.Parameter("a", 0.2)
    system = tm.System("places", gravity=np.array([0.0, a, -9.81]))
    ground = system.ground
    turn = [[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]]
    arm = system.body("arm", m, (m, 1, 1), pose=((l, 0, 2), turn))
    tip = system.body("tip", m / 2, (1, 1, 1), pose=(2 * l, 0, 2))
    hull = tm.solids.box((l, 1, 2), mass=m).moved((a, 0, 0)) - tm.solids.cylinder(0.1, 0.1, mass=0.2)
    cart = system.body("cart", **hull.properties)
    both = tm.solids.composite(tm.solids.sphere(0.2, mass=1.0), tm.solids.point(m, at=(0, l, 0)))
    bob = system.body("bob", **{**both.properties, "com": (0, 0, 0.1)})
    system.connect("A", tm.Revolute("y"), ground, arm, at=(0, a, 2 + l), axis=(0, 1, a))
    knee = system.connect(
        "knee", tm.Revolute("y"), arm.at((l, 0, 0), turn).at((0, a, 0)), tip.at((0, 0.1, 0)).at((0, 0, l))
    )
    system.connect("rub", tm.RotationalSpring(torque=m), knee)
    link = tm.Composite(frames=("rod",))
    link.connect("a", tm.Ball(), "a", "rod")
    link.connect("b", tm.Revolute((0, 1, a)), link.at("rod", (0, 0, l)), "b")
    system.connect("link", link, ground.at((0, 3, 0)), cart)
    system.connect(
        "S", tm.Series(tm.Prismatic("x"), (0, l, 0), tm.Screw(0.1 * a), names=("P", "Q")), cart, bob
    )
    rope = tm.Composite(points={"n": 3}, start={"n": (0.3, a, 1)})
    rope.connect("upper", tm.Spring(50.0 * m, length=0.5), "a", "n")
    rope.connect("lower", tm.Spring(40.0, length=0.2 * l), "n", "b")
    system.connect("rope", rope, ground.at((0.5, 0.1, 2)), tip)
    system.input("u", tm.Spline([0, l], [0, m]))
    system.input("constant", 2 * m)
    system.connect("motor", tm.ElectricMotor(), "A", inputs={"voltage": "u"})
    system.connect("other", tm.ElectricMotor(constant=a), knee, inputs={"voltage": m + l})
    system.prescribe_pose(
        "guide", bob.at((0, 0, l)), cart, x=tm.Harmonic(a, 2.0), rotation=((0, a, 1), 0.1 * l)
    )
    system.prescribe(knee, tm.Polynomial([0.1, a]))
    return system


def plan_of(mech):
    layout = mech._core.layout
    arrays = [*layout.plan, layout.parameters, *layout.chords.plan]
    return [x for x in arrays if isinstance(x, np.ndarray) and x.dtype == float]


@pytest.mark.parametrize("model", [tree, four_bar, spatial, places])
def test_what_is_read_has_the_same_parameters_everywhere(model, tmp_path):
    system = model()
    back = tm.read(system.save(tmp_path / "model"))
    assert_alike(system, back)
    assert {n: p.value for n, p in back.parameters.items()} == {
        n: p.value for n, p in system.parameters.items()
    }
    assert back.save(tmp_path / "again").read_text() == (tmp_path / "model.json").read_text()
    one, other = system.build(), back.build()
    values = {n: x for n, x in OTHER.items() if n in one.parameters}
    assert one.parameters == other.parameters and values
    for a, b in (
        (one, other),
        *((one.with_parameters(**{n: x}), other.with_parameters(**{n: x})) for n, x in values.items()),
    ):
        for x, y in zip(plan_of(a), plan_of(b), strict=True):
            assert x.tobytes() == y.tobytes()
    for n, x in values.items():  # and every one of them counts
        changed = plan_of(one.with_parameters(**{n: x}))
        assert any(p.tobytes() != q.tobytes() for p, q in zip(plan_of(one), changed, strict=True)), n


def test_runs_with_other_values_are_the_same(tmp_path):
    system = four_bar()
    back = tm.read(system.save(tmp_path / "model"))
    one, other = (s.build().with_parameters(l=1.03, k=20.0) for s in (system, back))
    runs = [m.simulate((0, 0.3), four_bar_start(m), rtol=1e-7) for m in (one, other)]
    assert runs[0].success and runs[0].q.tobytes() == runs[1].q.tobytes()


def test_parameters_stand_in_a_table_and_by_name(tmp_path):
    data = json.loads(four_bar().save(tmp_path / "model").read_text())
    assert data["parameters"]["l"] == 1.0
    (crank,) = (s for s in data["model"] if s.get("body") == "crank")
    assert crank["mass"] == {"op": "*", "args": [{"parameter": "m"}, {"parameter": "l"}]}


BAD = [
    (("parameters", "l"), "long", "model.json: parameters.l: parameter 'l' is 'long'; wanted a number"),
    (("parameters", "2l"), 1.0, "model.json: parameters.2l: a parameter is named '2l'"),
    (("model", 0, "mass"), {"parameter": "ll"}, r"model\[0\].mass.parameter: there is no parameter 'll': did you mean 'l'"),
    (("model", 0, "mass"), {"op": "exec", "args": ["x"]}, r"model\[0\].mass: there is no operation 'exec'"),
    (("model", 0, "mass"), {"op": "+", "args": [1, "x"]}, r"model\[0\].mass: TypeError: 'x' cannot be an argument"),
    (("model", 0, "mass"), {"op": "+"}, r"model\[0\].mass: the field 'args' is missing"),
    (("model", 0, "solid"), {"make": "os"}, r"model\[0\].solid.make: there is no solid 'os'"),
    (("model", 0, "solid"), {"make": "box", "sizes": 1}, r"model\[0\].solid.sizes: there is no field 'sizes': did you mean 'size'"),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "value", "message"), BAD)
def test_a_mistake_is_told_with_its_place(keys, value, message, tmp_path):
    with pytest.raises(tm.TreemechError, match=message):
        tm.read(edited(four_bar().save(tmp_path / "model"), *keys, value=value))
