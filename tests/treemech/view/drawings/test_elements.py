"""Every built-in element has a drawing, and each is made without an error in a model."""

import numpy as np
import pytest

import treemech as tm
from treemech.elements import CONSTRAINTS, COUPLINGS, ENERGETIC, Energetic
from treemech.view.compose import compose
from treemech.view.drawings.elements import DRAWINGS
from treemech.view.drawings.sketch import sketch
from treemech.view.scene.options import Options

LOADS = {"Drag", "ForceFunction", "MomentFunction"}  # arrows, on demand


def two_bodies():
    system = tm.System("two", gravity=(0, 0, 0))
    a, b = (system.body(n, 1.0, (0.1, 0.1, 0.1)) for n in "ab")
    system.connect("A", tm.Free(), system.ground, a)
    system.connect("B", tm.Free(), system.ground, b)
    return system, a, b


@pytest.mark.parametrize("kind", ENERGETIC, ids=lambda kind: kind.__name__)
def test_energetic_elements_are_drawn(kind):
    name, element = kind.__name__, getattr(kind, "example", kind)()
    assert isinstance(element, Energetic)
    assert any(c.__name__ in DRAWINGS for c in type(element).__mro__) or name in LOADS
    n = 3 if element.n_ends is None else element.n_ends
    if element.n_ends is None:
        element = element.joining(n)
    system, a, b = two_bodies()
    points = [system.ground.at((0, 0, 1)), a.at((0.1, 0, 0)), b.at((0, 0.1, 0))]
    if n == 0:
        hinge = system.connect("hinge", tm.Revolute("z"), a, system.body("c", 1.0, (0.1, 0.1, 0.1)))
        ends = [hinge]
    else:
        ends = points[-n:] if n < 3 else points
    inputs = {i: 0.0 for i in element.input_names}
    connect = system.load if n == 1 else system.connect
    try:
        connect("it", element, *ends, **({"inputs": inputs} if inputs else {}))
        mech = system.build()
        q = {"A": [0.0, 0.0, 0.5, 1, 0, 0, 0], "B": [1.0, 0.4, 0.3, 1, 0, 0, 0]}
        run = mech.simulate((0, 1e-4), mech.state(q=q), rtol=1e-3)
    except tm.TreemechError as error:
        pytest.skip(f"needs another model: {error}")
    scene = compose(run, Options())
    drawn = [x for x in (*scene.items, *scene.curves) if scene.owners[x.owner] == ("it", "element")]
    assert drawn or name in (*LOADS, "Friction", "BristleFriction", "HingeStop"), "nothing is drawn"


@pytest.mark.parametrize("kind", [*CONSTRAINTS, *COUPLINGS], ids=lambda kind: kind.__name__)
def test_constraints_have_a_drawing(kind):
    assert any(c.__name__ in DRAWINGS for c in kind.__mro__)


def drawn(element, place_b, rotation=None):
    """Return the kinds of meshes that are drawn of a constraint between the ground and a body."""
    system = tm.System("one", gravity=(0, 0, 0))
    body = system.body("b", 1.0, (0.1, 0.1, 0.1))
    system.connect("free", tm.Free(), system.ground, body)
    system.connect("it", element, system.ground.at((0, 0, 0.2)), body)
    mech = system.build()
    q = [*place_b, 1, 0, 0, 0] if rotation is None else [*place_b, *rotation]
    state = mech.assemble(guess={"free": q})
    scene = compose(mech.simulate((0, 0.01), state, rtol=1e-4), Options())
    return [x for x in scene.items if scene.owners[x.owner][0] == "it"], scene


PROFILE = tm.Profile.polar(0.3 + 0.05 * np.cos(np.linspace(0, 2 * np.pi, 24, endpoint=False)))


@pytest.mark.parametrize(
    "element, place",
    [
        (tm.Distance(0.5), (0.5, 0, 0.2)), (tm.InPlane(0.1), (0.3, 0.2, 0.3)), (tm.InLine("x"), (0.3, 0, 0.2)),
        (tm.PointOnSurface("sphere", 0.5), (0.5, 0, 0.2)), (tm.PointOnSurface("cylinder", 0.5), (0.5, 0, 0.2)),
        (tm.PointOnSurface("torus", 0.5, 0.1), (0.6, 0, 0.2)), (tm.RollingBall(0.2), (0, 0, 0.4)),
        (tm.CamFollower(PROFILE, "roller", 0.05), (0.45, 0, 0.2)), (tm.PointOnCurve.example(), (0, 0, 0.2)),
        (tm.PointOnHeightField.example(), (0.1, 0.1, 0.3)), (tm.ConstantVelocity(), (0, 0, 0.2)), (tm.KnifeEdge(), (0, 0, 0.2)),
    ],
)  # fmt: skip
def test_constraints_are_drawn_in_a_model(element, place):
    items, _ = drawn(element, place)
    assert items


def test_level_planes_of_the_ground_are_the_floor():
    items, scene = drawn(tm.RollingBall(0.2), (0, 0, 0.4))
    assert len(items) == 1 and abs(scene.floor - 0.2) < 1e-12


@pytest.mark.parametrize(
    "coupling",
    [tm.Gear(0.5), tm.Gear(0.5, internal=True), tm.Belt(0.1, 0.2), tm.Belt(0.1, 0.2, crossed=True)],
)
def test_couplings_are_drawn_on_their_axes(coupling):
    system = tm.System("gears", gravity=(0, 0, 0))
    for name, x in (("A", 0.0), ("B", 0.6)):
        system.connect(
            name,
            tm.Revolute("y"),
            system.ground.at((x, 0, 0)),
            system.body(name.lower(), 1.0, (0.1, 0.1, 0.1)),
        )
    system.couple("it", coupling, "A", "B")
    mech = system.build()
    scene = compose(mech.simulate((0, 0.1), mech.assemble(rates={"A": 1.0}), rtol=1e-4), Options())
    wheels = [x for x in scene.items if scene.owners[x.owner] == ("it", "coupling")]
    assert len(wheels) >= 2


def test_points_of_a_composite_move_with_it():
    system = tm.System("chain of springs")
    body = system.body("b", 1.0, (0.1, 0.1, 0.1))
    system.connect("slide", tm.Prismatic("z"), system.ground, body)
    soft = tm.Composite(ends=("a", "b"), points={"n": 3})
    soft.connect("one", tm.Spring(stiffness=100.0, length=0.4), "a", "n")
    soft.connect("two", tm.Spring(stiffness=300.0, length=0.4), "n", "b")
    system.connect("soft", soft, system.ground.at((0, 0, 1)), body)
    mech = system.build()
    run = mech.simulate((0, 1), mech.state(q={"slide": 0.0}), rtol=1e-6, t_eval=np.linspace(0, 1, 601))
    scene = compose(run, Options())
    inner = [k + 1 for k, part in enumerate(scene.parts) if not part.is_body]
    assert inner and sum(spot.part in inner for d in scene.derived for spot in d.spots) >= 2
    rows = np.searchsorted(run.t, scene.frames.t)
    wanted = run.element("soft.one").position[rows, 1]
    assert np.allclose(scene.frames.position[:, inner[0] - 1], wanted)


def test_the_spring_of_a_slide_is_a_coil_between_its_bodies():
    """It was a short coil at the zero of the coordinate, far from the body."""
    for start, kind in ((0.5, "coil"), (0.0, "line")):
        system = tm.System("slide", gravity=(0, 0, 0))
        body = system.body("b", 1.0, (0.1, 0.1, 0.1))
        slide = system.connect("slide", tm.Prismatic("y"), system.ground, body)
        system.connect("spring", tm.RotationalSpring(stiffness=50.0, angle=start + 0.1), slide)
        mech = system.build()
        run = mech.simulate((0, 2), mech.state(q={"slide": start}), rtol=1e-6)
        (mark,) = (m for m in sketch(run)[1] if m["owner"][0] == "spring")
        assert mark["kind"] == kind
        if kind == "coil":
            assert [end[0] for end in mark["ends"]] == [0, 1]
