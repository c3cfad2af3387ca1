"""Derivatives of the numbers of a Plan: exact, and equal to differences between models."""

from dataclasses import dataclass, field
from math import cos, exp, sin

import numpy as np
import pytest

import treemech as tm
from tests.support.parametric import VALUES, four_bar, spatial, tree
from treemech.description.parameters import plan_derivatives
from treemech.dynamics.analyses.parameter_derivatives import sum_of, weights
from treemech.elements.hinge import AxialHinge
from treemech.kinematics.layout.layout import make_layout
from treemech.kinematics.layout.plan_derivatives import numbers_of
from treemech.kinematics.plan.columns import body

NODES = (-4, -3, -2, -1, 1, 2, 3, 4)
STEP = 2e-3  # of the value: eighth order leaves rounding, 1e-16 / STEP
TIGHT = 1e-9  # of the largest derivative in an array
ADDRESS = 2.0**40  # larger numbers are addresses of members; they may differ in a neighbouring model


def differences(mech, name, step=STEP):
    value = mech.parameters[name]
    step = step * (abs(value) or 1.0)
    near = [mech._origin._replace(values={**mech.parameters, name: value + k * step}) for k in NODES]
    arrays = [numbers_of(make_layout(origin.system(checked=False).description())) for origin in near]
    return {part: sum_of(weights(NODES) / step, tuple(a[part] for a in arrays)) for part in arrays[0]}


def compare(mech, name, exact=True, step=STEP):
    """Return the derivatives of a mechanism after comparing them with differences."""
    (found,) = plan_derivatives(mech, [name])
    assert found.exact is exact
    for part, wanted in differences(mech, name, step).items():
        derivative = getattr(found, part)
        if part == "parameters":
            wanted[np.abs(mech._core.layout.parameters) > ADDRESS] = 0.0
        assert derivative.dtype == np.float64 and derivative.shape == wanted.shape
        np.testing.assert_allclose(
            derivative, wanted, rtol=0, atol=TIGHT * np.max(np.abs(wanted), initial=0.0)
        )
    return found


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("model", [tree, four_bar, spatial])
def test_derivatives_of_whole_models_are_those_of_differences(model, name):
    found = compare(model().build(), name)
    moved = {"g": "gravity", "m": "constants", "k": "parameters", "c": "parameters"}.get(name)
    assert moved is None or np.any(getattr(found, moved))


def test_derivatives_of_a_model_with_a_foreign_element_are_exact():
    for name in ("k", "l"):
        compare(tree(foreign=True).build(), name)


def test_derivatives_are_made_once_and_belong_to_the_values_of_the_mechanism():
    mech = four_bar().build()
    found = plan_derivatives(mech, ["l", "m"])
    assert plan_derivatives(mech, iter(["m"]))[0] is found[1]
    longer = plan_derivatives(mech.with_parameters(l=1.3), ["l"])[0]
    assert not np.array_equal(longer.constants, found[0].constants)


def test_unknown_names_are_refused():
    with pytest.raises(tm.ElementError, match="there is no parameter 'l1': there are 'a', 'c'"):
        plan_derivatives(four_bar().build(), ["l", "l1"])


# ---------------------------------------------------------------- bodies and solids
TURN = [[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]]
p, r = tm.Parameter("p", 0.4), tm.Parameter("r", 1.3)
TURNED = [[np.cos(p), -np.sin(p), 0], [np.sin(p), np.cos(p), 0], [0, 0, 1]]
AXIS = (1.0, p, 0.3)
s = tm.solids
SOLIDS = {
    "point": s.point(p, at=(r, 0, p)),
    "rod": s.rod((0, p, 0), (r, 0, 1), density=p),
    "box": s.box((p, r, 1.1), density=r),
    "ellipsoid": s.ellipsoid((p, r, 1.1), mass=2 * p),
    "sphere": s.sphere(r, inner_radius=p, density=3.0),
    "spherical_shell": s.spherical_shell(r, density=p),
    "hemisphere": s.hemisphere(r, axis=AXIS, density=p),
    "cylinder": s.cylinder(r, p, inner_radius=p / 2, axis=AXIS, density=1.2),
    "cylindrical_shell": s.cylindrical_shell(r, p, axis="x", density=1.2),
    "cone": s.cone(r, p, top_radius=p / 3, axis=AXIS, density=1.2),
    "conical_shell": s.conical_shell(r, p, top_radius=p / 3, axis="y", density=1.2),
    "ring": s.ring(r, axis=AXIS, density=p),
    "torus": s.torus(r, p, axis=AXIS, density=1.2),
    "disk": s.disk(r, inner_radius=p, axis="y", density=1.2),
    "plate": s.plate((p, r), axis=AXIS, density=1.2),
    "polygon": s.polygon([(0, 0), (p, 0), (p, r), (0, r + p)], thickness=0.1 * p, axis=AXIS, density=1.2),
    "moved": s.box((1, 2, r), mass=3.0).moved((p, 0, r)).moved(rotation=TURNED),
    "turned": s.box((1, 2, r), mass=p).moved((p, 0, 1), TURN),
    "sum": s.box((1, 2, r), density=p) + s.sphere(p, mass=1.1).moved((r, p, 0)),
    "composite": s.composite(
        s.box((2, 2, r), density=2.0), s.point(p, (0, 0, r)), voids=[s.sphere(p / 2, density=2.0).moved((p, 0, 0))]
    ),
    "difference": s.box((2, 2, r), density=p) - s.cylinder(p, r, density=p),
}  # fmt: skip


def pendulum(**properties):
    system = tm.System("pendulum")
    bob = system.body("bob", **properties)
    system.connect("pin", tm.Revolute("y"), system.ground, bob.at((0.1, 0.2, 0), TURN))
    return system.build()


@pytest.mark.parametrize("name", SOLIDS)
def test_derivatives_of_solids(name):
    mech = pendulum(**SOLIDS[name].properties)
    assert any([np.any(compare(mech, parameter).constants) for parameter in mech.parameters])


def test_every_function_of_solids_is_looked_at():
    functions = {
        name
        for name, f in vars(s).items()
        if getattr(f, "__module__", "") == s.__name__ and name[0].islower()
    }
    assert {name for name in functions if name[0] != "_"} - {"principal_axes"} <= set(SOLIDS)


@pytest.mark.parametrize(
    "inertia", [(p, r, 1.1), (1.0, r, 1.1, p / 9, 0.01, 0), [[1.0, p / 9, 0], [p / 9, 1 + r, 0], [0, 0, 2.1]]]
)
def test_derivatives_of_inertias(inertia):
    mech = pendulum(mass=p * r, inertia=inertia, com=np.array([0, np.sqrt(p), 1 / r]))
    for parameter in mech.parameters:
        compare(mech, parameter)


def test_a_mass_that_is_zero_here_only_is_differenced():
    system, nothing = tm.System("nothing"), s.point(tm.Parameter("m", 0.0), (1, 0, 0)) + s.point(0.0)
    arm, load = system.body("arm", 1.0, (1, 1, 1)), system.body("load", **nothing.properties)
    system.connect("pin", tm.Revolute("y"), system.ground, arm)
    system.connect("fixed", tm.Rigid(), arm, load)
    (found,) = plan_derivatives(system.build(), ["m"])
    assert found.exact is False
    np.testing.assert_allclose(found.constants[2, body.MASS], 1.0, rtol=TIGHT)


# ---------------------------------------------------------------- places
def test_derivatives_of_ends_placed_in_the_world_and_one_behind_the_other():
    system = tm.System("places", gravity=np.array([p, 0, -9.81 * r]))
    arm = system.body("arm", 1.0, (0.1, 0.1, 0.1), pose=((p, 0, 0), TURNED))
    wheel = system.body("wheel", 1.0, (0.1, 0.1, 0.1), pose=(2 * p, r, 0))
    foot = system.body("foot", 1.0, (0.1, 0.1, 0.1))
    system.connect("A", tm.Revolute(), system.ground, arm, at=(0, p, 0), axis=(0.2, 1, p))
    system.connect("B", tm.Revolute("x"), arm, wheel, at=(p, r, 0), axis="y")
    chain = wheel.at((p, 0, 0), TURNED).at((0, 0, r)).at((1, 0, 0), TURN).at((p * r, 0, 0))
    system.connect("C", tm.Universal(), chain, foot.at((0, 0, p), TURNED))
    system.connect("D", tm.Ball(), foot.at((0, p, 0)), arm.at((r, 0, 0)).at((0, p, 0)), role="chord")
    system.connect("E", tm.Cylindrical((p, 1, r)), foot, system.ground.at((r, p, 0), TURN), role="chord")
    mech = system.build()
    for parameter in mech.parameters:
        found = compare(mech, parameter)
        assert np.any(found.gravity) and np.any(found.places) and np.any(found.constants)


def test_a_base_chosen_by_the_least_component_stays_the_one_of_the_mechanism():
    """Neighbouring models choose another base, so that only the law of rotations can be compared."""
    system, q = tm.System("tie"), tm.Parameter("q", 0.0)
    bob = system.body("bob", 1.0, (1, 1, 1))
    system.connect("pin", tm.Revolute((1, q, 0)), system.ground, bob)
    mech = system.build()
    (found,) = plan_derivatives(mech, ["q"])
    R, dR = mech._core.layout.plan.constants[1, :9].reshape(3, 3), found.constants[1, :9].reshape(3, 3)
    np.testing.assert_allclose(dR[:, 2], (0, 1, 0), atol=1e-15)
    np.testing.assert_allclose(R.T @ dR + dR.T @ R, 0, atol=1e-15)


def test_derivatives_of_everything_a_system_takes():
    k = 50 * r
    system = tm.System("all")
    arm = system.body("arm", 1.0, (0.1, 0.1, 0.1), pose=(p, 0, 0))
    wheel = system.body("wheel", 1.0, (0.1, 0.1, 0.1), pose=(2 * p, 0, 0))
    foot, plate, crank = (system.body(n, 1.0, (0.1, 0.1, 0.1)) for n in ("foot", "plate", "crank"))
    system.connect("A", tm.Revolute(), system.ground, arm, at=(0, p, 0), axis=(0.3, 1, p))
    system.connect("B", tm.Revolute(), arm, wheel, at=(p, p, 0), axis="y")
    system.couple("mesh", tm.Gear(ratio=p), "A", "B")
    link = tm.Composite(frames=("rod",))
    link.connect("u", tm.Universal(), link.at("a", (p, 0, 0), TURNED), "rod")
    link.connect("s", tm.Cylindrical((0.2, 1, r)), link.at("rod", (0, 0, p)), link.at("b", (r, p, 0)))
    link.connect("d", tm.Distance(p + 0.8), link.at("a", (0, 0, r)), link.at("rod", (p, 0, 0)))
    system.connect("link", link, system.ground, foot.at((0, p, 0)))
    pull = tm.Composite(points={"n": 3}, start={"n": (p, 0, 0.1)}, viscous=("n",))
    pull.connect("one", tm.Spring(stiffness=k, damping=p, length=p), "a", "n")
    pull.connect("two", tm.Spring(stiffness=2 * k, length=p), "n", "b")
    pull.connect("three", tm.HydraulicActuator(area=p), "n", "b", inputs={"pressure": p * r})
    system.connect("pull", pull, system.ground.at((0, 0, r)), foot)
    system.input("level", tm.Polynomial([p, k]))
    system.connect(
        "ram",
        tm.HydraulicActuator(area=1e-3 * p),
        system.ground.at((0, 1, r)),
        arm,
        inputs={"pressure": "level"},
    )
    system.connect("servo", tm.PositionServo(gain=p, constant=r), "B", inputs={"setpoint": "held"})
    system.controller("slow", lambda t, q: 0.1 * q, p, measures="A.q", inputs="held")
    system.load("push", tm.Force(x=tm.Harmonic(p, r), y=r), arm.at((0, p, 0)))
    system.load("twist", tm.Moment(z=tm.Spline([0, p, r], [0, r, p])), wheel)
    system.connect("C", tm.Revolute("z"), system.ground, crank)
    system.prescribe("C", tm.Harmonic(p, r, phase=p * r))
    system.prescribe_pose(
        "path", plate, wheel.at((p, 0, r)), x=tm.Polynomial([p, r]), y=r, rotation=((1, p, 0), p)
    )
    system.measure("height", "foot.position[2]")
    mech = system.build()
    for parameter in mech.parameters:
        compare(mech, parameter)


# ---------------------------------------------------------------- refusals
@dataclass(frozen=True)
class Bent(tm.Energetic):
    """Foreign spring, prepared with functions of math."""

    stiffness: float
    angle: float
    factor: float = field(default=0.0, init=False)
    n_deformations = 1

    def __post_init__(self):
        object.__setattr__(self, "factor", self.stiffness * sin(self.angle))

    def deformation(self, position, rotation, t, eps):
        eps[0] = position[1, 0] - position[0, 0]

    def effort(self, now, t, out):
        out.effort[0] = self.factor * now.deformation[0]


@dataclass(frozen=True)
class Doubled(tm.Energetic):
    """Foreign spring that treats numbers of unknown type differently."""

    stiffness: object
    n_deformations = 1

    def __post_init__(self):
        if not isinstance(self.stiffness, float):
            object.__setattr__(self, "stiffness", 2 * self.stiffness)

    deformation = Bent.deformation

    def effort(self, now, t, out):
        out.effort[0] = self.stiffness * now.deformation[0]


@pytest.mark.parametrize("element", [Bent(30 * p, p), Doubled(p), Bent(tm.Parameter("k", 1.0), 0.3)])
def test_what_refuses_a_varying_number_is_differenced(element, caplog):
    system = tm.System("bent", gravity=(0, 0, -10 * p * p))
    bob = system.body("bob", p, (p, p, p), com=(0, 0, -np.sin(p)))
    system.connect("pin", tm.Revolute("z"), system.ground, bob)
    system.connect("x", element, system.ground.at((p, 0, 0)), bob)
    mech = system.build()
    exact = not isinstance(element, Doubled) and "k" in mech.parameters
    with caplog.at_level("INFO", logger="treemech"):
        found = compare(mech, "p", exact=exact)
    assert exact or type(element).__name__ in caplog.text or "it is another" in caplog.text
    assert found.gravity[2] == -20 * 0.4  # to the bit: the rest stays exact
    assert found.constants[1, body.COM + 2] == -np.cos(0.4)


def test_a_number_that_no_neighbour_has_is_refused():
    system, w = tm.System("split"), tm.Parameter("w", 0.0)
    bob = system.body("bob", 1.0, (1, 1, 1))
    system.connect("pin", tm.Revolute("y"), system.ground, bob)
    system.load("push", tm.Force(x=tm.Spline([0, 1, 2], [w, 1, 0], ends="periodic")), bob)
    with pytest.raises(tm.ElementError, match="no derivative by 'w': values next to 0 are refused"):
        plan_derivatives(system.build(), ["w"])


@dataclass(frozen=True)
class Slanted(AxialHinge):
    """Foreign hinge: its axis comes from functions of math."""

    angle: float
    axis: object = tm.structure(default="z")
    n_coordinates = 1

    def __post_init__(self):
        object.__setattr__(self, "axis", (cos(self.angle), 0.2, sin(self.angle)))

    def evaluate(self, q, u, t, motion):
        motion.offset[2] = self.angle * q[0]
        motion.translation_partials[0, 2] = self.angle


@dataclass(frozen=True)
class Chirp(tm.Signal):
    """Foreign signal."""

    rate: float

    def __post_init__(self):
        object.__setattr__(self, "rate", exp(self.rate))

    def value(self, t):
        return self.rate * t * t


@dataclass(frozen=True)
class Apart(tm.Constraint):
    """Foreign constraint."""

    length: float
    n_holonomic = 1

    def __post_init__(self):
        object.__setattr__(self, "length", exp(self.length))

    def residual(self, offset, rotation, s, t, f):
        f[0] = offset[0] * offset[0] + offset[1] * offset[1] + offset[2] * offset[2] - self.length


def test_elements_of_somebody_else_are_differenced_wherever_they_stand():
    system = tm.System("strange")
    bodies = [system.body(f"b{k}", p, (1, p, 1)) for k in range(3)]
    system.connect("A", Slanted(p), system.ground.at((p, 0, 0)), bodies[0])
    system.connect("B", tm.Revolute("y"), bodies[0].at((p, 0, 0)), bodies[1])
    system.load("push", tm.Force(x=Chirp(p), y=p), bodies[1].at((0, p, 0)))
    link = tm.Composite(frames=("rod",))
    link.connect("u", tm.Universal(), link.at("a", (p, 0, 0)), "rod")
    link.connect("s", tm.Cylindrical((0.2, 1, p)), link.at("rod", (0, 0, p)), "b")
    link.connect("d", Apart(p), link.at("a", (0, 0, 1.3)), link.at("rod", (p, 0, 0)))
    system.connect("link", link, system.ground, bodies[2])
    compare(system.build(), "p", exact=False)
