"""Derivatives of the records of all built-in elements by every number they are made of."""

import numpy as np
import pytest

import treemech as tm
from tests.kinematics.layout.test_plan_derivatives import compare
from treemech import elements as e

POINTS = [(0, 0, 0.1), (1, 0.2, 0), (2, 1, 0.3), (3, 1.1, 1), (4, 0.3, 1.2), (5.1, 0, 0.4), (4.6, -1.3, 0.2)]
TABLE = [(-0.4, -1.1), (0.1, -0.3), (0.5, 0.4), (0.9, 1.1), (1.4, 3.0)]
DAMPING = [(-1.1, -2.0), (0.0, 0.0), (0.8, 1.3)]
CONTACT = {"stiffness": 1.2, "exponent": 1.4, "damping": 0.3, "friction": 0.2, "slip_speed": 0.002}
FRICTION = {
    "coulomb": 0.31,
    "static": 0.41,
    "radius": 0.2,
    "stribeck": 0.011,
    "viscous": 0.02,
    "soft": 0.0012,
}
MUSCLE = {
    "max_force": 1.1, "optimal_length": 0.9, "max_velocity": 9.0, "damping": 0.06, "width": 0.63, "curvature": 0.27,
    "eccentric": 1.5, "rise_time": 0.011, "fall_time": 0.042,
}  # fmt: skip
BEAM = {"length": 1.3, "axial_stiffness": 2.1, "torsion_stiffness": 0.7, "damping": 0.2}
AXIS = (0.3, -0.8, 0.5)
cases = [
    (tm.Rigid, {}), (tm.Revolute, {"axis": AXIS}), (tm.Revolute, {"axis": (1.0, 0.02, 0.0)}), (tm.Prismatic, {"axis": AXIS}),
    (tm.Cylindrical, {"axis": AXIS}), (tm.Screw, {"pitch": 0.2, "axis": AXIS}), (tm.Universal, {}), (tm.Planar, {"axis": AXIS}),
    (tm.Translation, {}), (tm.Ball, {}), (tm.BallBryant, {}), (tm.Free, {}), (tm.Polar, {"axis": AXIS}),
    (tm.Curve, {"points": POINTS, "normal": (0.1, 0.2, 1.0)}), (tm.Curve, {"points": POINTS[:5], "degree": 3}),
    (tm.Curve, {"points": POINTS, "degree": 5, "closed": True}), (tm.Curve, {"points": POINTS[:5], "degree": 3, "closed": True}),
    (tm.Curve, {"points": POINTS[:5], "degree": 3, "parameters": [0.1, 1.0, 2.3, 3.1, 4.0]}),
    (tm.Moving, {"x": 0.1, "y": 0.2, "z": -0.3, "turn_x": 0.4, "turn_y": 0.3, "turn_z": 0.2}),
    (tm.Steps, {"times": [0.1, 0.2, 1.6], "values": [0.3, 1.2, -0.4]}), (tm.Constant, {"level": 1.2}), (tm.Polynomial, {"coefficients": [0.3, 1.2, 0.0, 2.0]}),
    (tm.Harmonic, {"amplitude": 1.1, "frequency": 2.0, "phase": 0.3, "offset": 0.2}),
    *((tm.Spline, {"times": [0.1, 1.0, 1.6, 2.7, 3.1][:n], "values": [0.3, 1.2, -0.4, 0.6, 0.9][:n], "ends": ends})
      for ends in ("clamped", "natural", "not-a-knot") for n in (2, 3, 5)),
    (tm.Force, {"x": 1.1, "y": 2.0, "z": 0.3, "frame": "body"}), (tm.Moment, {"x": 1.1, "y": 2.0, "z": 0.3}),
    (tm.Distance, {"length": 1.2}), (tm.InPlane, {"distance": 0.3}), (tm.InLine, {}), (tm.Parallel, {}),
    (tm.Perpendicular, {"axis_a": AXIS, "axis_b": (0.0, 1.0, 0.0)}), (tm.AtRotation, {}), (tm.ConstantVelocity, {}),
    (tm.RelativeOffset, {"direction": AXIS, "value": 0.3}), (tm.RelativeAngle, {"angle": 0.4}),
    (tm.PrescribedPose, {"x": 0.3, "z": 0.2, "rotation": (0.1, 0.2, 0.3)}), (tm.PrescribedPose, {"rotation": (AXIS, 0.3)}),
    (tm.RevoluteSpherical, {"length": 1.1}), (tm.RevoluteRevolute, {"length": 1.1}),
    (tm.RevoluteRevoluteOrthogonal, {"length": 1.1}), (tm.RevoluteCylindrical, {"length": 0.2}),
    (tm.RevoluteTranslational, {"length": 0.2}), (tm.PointOnSurface, {"surface": "torus", "radius": 1.1, "tube": 0.2}),
    (tm.PointOnHeightField, {"x": [0.0, 1.1, 2.0, 3.2, 4.0], "y": [0.1, 1.0, 1.5, 3.0],
                             "heights": np.sin(np.arange(20.0)).reshape(5, 4)}),
    (tm.PointOnCurve, {"points": POINTS, "start": 0.4}), (tm.PointOnCurve, {"points": POINTS, "closed": True}),
    (tm.CamFollower, {"profile": tm.Profile.circle(1.1), "follower": "roller", "radius": 0.2, "start": 0.1}),
    (tm.CurveOnCurve, {"profile_a": tm.Profile.circle(1.1), "profile_b": tm.Profile.circle(0.4), "start": (0.1, 0.2)}),
    (tm.KnifeEdge, {}), (tm.RollingDisk, {"radius": 0.7}), (tm.RollingBall, {"radius": 0.7}),
    (tm.RollingWheel, {"radius_a": 0.7, "radius_b": -1.2}),
    (tm.Gear, {"ratio": 0.7, "phase": 0.1}), (tm.Gear, {"ratio": 0.7, "internal": True}),
    (tm.RackAndPinion, {"radius": 0.3, "offset": 0.1}), (tm.Belt, {"radius_a": 0.3, "radius_b": 0.4, "offset": 0.1}),
    (tm.Differential, {"ratio": 0.9, "phase": 0.1}), (tm.Mimic, {"factor": 0.7, "offset": 0.1}),
    (tm.Spring, {"stiffness": 1.2, "damping": 0.3, "length": 0.4, "force": 0.1, "only": "tension"}),
    (tm.GearPair, {"radius_a": 0.3, "radius_b": 0.4, "phase": 0.2}), (tm.RackPair, {"radius": 0.3, "offset": 0.1}),
    (tm.TableSpring, {"table": TABLE, "damping_table": DAMPING, "damping": 0.1, "force": 0.2}),
    (tm.TableSpring, {"table": TABLE, "interpolation": "linear", "only": "tension"}),
    (tm.RotationalSpring, {"stiffness": 1.2, "damping": 0.3, "angle": 0.41, "torque": 0.2, "table": TABLE}),
    (tm.RotationalSpring, {"angle": 0.41, "table": TABLE, "interpolation": "linear"}),
    (tm.HingeStop, {"lower": -0.3, "upper": 0.8, "stiffness": 1.2, "damping": 0.1, "exponent": 1.4}),
    (tm.HingeStop, {"upper": 0.8}),
    (tm.Bushing, {"stiffness": [1.0, 2.0, 3.0, 1.1, 1.2, 1.3], "damping": [0.1, 0.2, 0.3, 0.1, 0.2, 0.3]}),
    (tm.BallSpring, {"stiffness": 1.2, "damping": 0.3}),
    (tm.Beam, {**BEAM, "bending_stiffness": 0.9}), (tm.Beam, {**BEAM, "bending_stiffness": (0.9, 1.2)}),
    (tm.CorotationalBeam, {**BEAM, "bending_stiffness": (0.9, 1.2)}),
    (tm.PlaneElement, {"points": [(0.1, 0.0), (1.0, 0.2), (0.1, 1.1)], "young": 2.0, "poisson": 0.31, "thickness": 0.2, "damping": 0.1}),
    (tm.PlaneElement, {"points": [(0.1, 0.0), (0.1, 1.1), (1.0, 0.2)], "young": 2.0, "poisson": 0.31, "thickness": 0.2,
                       "state": "strain"}),
    (tm.Drag, {"linear": 0.3, "coefficient": 0.4, "area": 0.2, "density": 1.2, "wind_x": 1.0, "wind_y": 0.2, "wind_z": 0.1}),
    (tm.HydraulicActuator, {"area": 0.2, "damping": 0.3}),
    (tm.ElectricMotor, {"constant": 0.3, "resistance": 1.2, "inductance": 0.4}),
    (tm.PositionServo, {"gain": 2.0, "constant": 0.3, "resistance": 1.2, "inductance": 0.4}),
    (tm.Actuator, {"gain": 2.0, "lower": -3.0, "upper": 5.0}), (tm.Actuator, {"gain": 2.0, "upper": 5.0}),
    (tm.Pid, {"proportional": 2.0, "integral": 0.4, "derivative": 0.3, "filter": 0.02, "limit": 20.0}),
    (tm.Pid, {"proportional": 2.0, "integral": 0.4, "tracking": 0.7}),
    (tm.Tendon, {"force": 1.2, "length": 0.8, "strain": 0.05}), (tm.ContractileElement, MUSCLE),
    (tm.Muscle, {**MUSCLE, "tendon_length": 0.8, "tendon_strain": 0.05, "passive_strain": 0.55, "pennation": 0.3}),
    (e.MusclePath, {**MUSCLE, "tendon_length": 0.8}), (tm.Path, {"stiffness": 2.0, "damping": 0.3, "length": 0.9}),
    (tm.Viscoelastic, {"stiffness": 1.2, "branches": [0.5, 0.3], "times": [0.2, 1.1], "length": 0.3, "damping": 0.1}),
    (tm.Fung, {"stiffness": 1.2, "weights": [0.5, 0.3], "times": [0.2, 1.1], "length": 0.3, "stiffening": 0.2}),
    (tm.Fung, {"stiffness": 1.2, "weights": [0.5, 0.3], "times": [0.2, 1.1], "length": 0.3, "stiffening": 0.0}),
    (tm.FungHistory, {"stiffness": 1.2, "times": [0.0, 0.4, 1.0, 2.0], "relaxation": [1.0, 0.8, 0.57, 0.3], "span": 3.0,
                      "length": 0.3, "stiffening": 0.2, "samples": 20}),
    (tm.FungHistory, {"stiffness": 1.2, "times": [0.0, 0.3, 0.4, 2.2], "relaxation": [1.0, 0.9, 0.3, 0.29], "span": 3.0,
                      "samples": 20}),
    (tm.FungHistory, {"stiffness": 1.2, "times": [0.0, 0.9], "relaxation": [1.0, 0.8], "span": 3.0, "samples": 20}),
    (tm.Friction, {**FRICTION, "threshold": 0.0013, "span": 0.3}), (tm.Friction, {**FRICTION, "load": 3.0}),
    (tm.BristleFriction, {**FRICTION, "presliding": 1.1e-4, "damping": 20.0, "elastic": 0.6}),
    (tm.BristleFriction, {**FRICTION, "load": 3.0}),
    (tm.SpherePlane, {"radius": 0.3, **CONTACT}), (tm.SphereSphere, {"radius_a": 0.3, "radius_b": 0.4, **CONTACT}),
    (tm.EhdTraction, {"radius": 0.02, "width": 0.01, "curvature": 3.0, "load": 2.0, "modulus": 1.1e11, "viscosity": 0.018,
                      "alpha": 1.8e-8, "tau_0": 5.1e6, "roughness": 1.1e-8, "soft": 0.0011}),
    (tm.EhdTraction, {"radius": 0.02, "width": 0.01}),
    (tm.JournalBearing, {"radius": 0.03, "length": 0.04, "clearance": 5e-5, "viscosity": 0.02}),
    (tm.Tire, {"radius": 0.3, "stiffness": 2.0, "damping": 0.2, "longitudinal": 3.0, "lateral": 2.0, "friction": 0.9, "creep": 0.11}),
    (tm.Tire, {"radius": 0.3, "stiffness": 2.0, "friction_lateral": 0.7, "road": [(-1.0, 0.1), (0.2, 0.3), (1.1, 0.2)]}),
    (tm.RambergOsgood, {"stiffness": 2.0, "yield_force": 1.2, "softening": 0.4, "exponent": 4.5, "length": 0.3}),
]  # fmt: skip
# numbers that may take one value only
FIXED = {
    ("FungHistory", "times[0]"),
    ("TableSpring", "damping_table[1][0]"),
    ("TableSpring", "damping_table[1][1]"),
}


def leaves(thing, path=""):
    """Return (path, number) of all numbers in nested sequences."""
    if isinstance(thing, (tuple, list, np.ndarray)):
        for k, x in enumerate(thing):
            yield from leaves(x, f"{path}[{k}]")
    elif isinstance(thing, (float, np.floating)) or (isinstance(thing, int) and not isinstance(thing, bool)):
        yield path, float(thing)


def replaced(thing, path, number, here=""):
    """Return a copy with another number at the path."""
    if here == path:
        return number
    if isinstance(thing, (tuple, list, np.ndarray)):
        return [replaced(x, path, number, f"{here}[{k}]") for k, x in enumerate(thing)]
    return thing


def numbers():
    for k, (cls, options) in enumerate(cases):
        for name, given in options.items():
            if name in ("degree", "samples"):  # they shape it
                continue
            for path, value in leaves(given, name):
                if (cls.__name__, path) not in FIXED:
                    yield pytest.param(cls, options, name, path, value, id=f"{cls.__name__}-{k}-{path}")


def mechanism(element):
    """Return a mechanism with the element in it."""
    system = tm.System("one")
    bodies = [system.body(f"b{k}", 1.0 + k, (0.1, 0.1, 0.1), com=(0.1, 0, 0.2)) for k in range(3)]
    turn = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    if isinstance(element, tm.Signal):
        element = tm.Force(x=element)
    if isinstance(element, (tm.Hinge, tm.Constraint)):
        system.connect("x", element, system.ground.at((0.1, 0.2, 0.3), turn), bodies[0].at((0.3, 0.1, 0)))
    elif isinstance(element, tm.Load):
        system.load("x", element, bodies[0].at((0.3, 0.1, 0)))
    else:
        hinges = [system.connect(f"h{k}", tm.Revolute(), system.ground, b) for k, b in enumerate(bodies)]
        if isinstance(element, tm.Coupling):
            system.couple("x", element, *hinges[: element.n_arguments])
        else:
            ends = [b.at((0.3, 0.1, 0)) for b in bodies[: 2 if element.n_ends is None else element.n_ends]]
            ends = hinges[:1] if element.n_reactions else ends
            inputs = {name: 0.3 for name in element.input_names}
            system.connect("x", element, *ends, *hinges[: element.n_coordinates], inputs=inputs)
    return system.build()


@pytest.mark.parametrize(("cls", "options", "name", "path", "value"), list(numbers()))
def test_slopes_of_an_element_by_each_of_its_numbers(cls, options, name, path, value):
    given = {**options, name: replaced(options[name], path, tm.Parameter("p", value), name)}
    compare(mechanism(cls(**given)), "p")


def test_all_elements_are_looked_at():
    groups = (e.HINGES, e.SIGNALS, e.LOADS, e.CONSTRAINTS, e.COUPLINGS, e.ENERGETIC)
    assert {cls for group in groups for cls in group} <= {cls for cls, _ in cases}


def test_slopes_of_a_symmetric_matrix():
    p = tm.Parameter("p", 0.3)
    K = np.diag([3.0, 2.0, 4.0, 1.0, 2.0, 3.0]).astype(object)
    K[0, 1] = K[1, 0] = p
    K[2, 2] = 4 + p * p
    found = compare(mechanism(tm.Bushing(K, damping=0.1 * K)), "p")
    assert np.count_nonzero(found.parameters) == 6


@pytest.mark.parametrize("n", [2, 3, 5])
def test_slopes_of_a_periodic_spline(n):
    p, q = tm.Parameter("p", 0.3), tm.Parameter("q", 1.3)
    times, values = [0.1, q, 1.6, 2.7, 2 * q + 0.4], [p, 1.2 * p, -0.4, 0.6, p]
    mech = mechanism(tm.Spline([*times[: n - 1], times[-1]], [*values[: n - 1], values[-1]], ends="periodic"))
    for name in mech.parameters:
        compare(mech, name)


def test_a_unit_axis_that_grows_does_not_turn():
    system, p = tm.System("one"), tm.Parameter("p", 1.0)
    body = system.body("b", 1.0, (1, 1, 1))
    system.connect("A", tm.Revolute((p, 0.0, 0.0)), system.ground, body)
    assert not np.any(compare(system.build(), "p").constants)


SERIES = {
    "rod between balls": lambda p: tm.Series(tm.Ball(), (0.1, p, 0.5), tm.Ball()),
    "rod turned": lambda p: tm.Series(
        tm.Ball(), ((0, 0.2, p), [[np.cos(p), 0, np.sin(p)], [0, 1, 0], [-np.sin(p), 0, np.cos(p)]]), tm.Ball()
    ),
    "screw before a rod": lambda p: tm.Series(tm.Screw(p, axis=(1, p, 0)), (0, p, 0), tm.Revolute("y"), (0.2, 0, 0), tm.Revolute("x")),
    "screw and rod": lambda p: tm.Series(tm.Ball(), (0.1, p, 0.5), tm.BallBryant(), (p, 0, 0), tm.Screw(p)),
    "free": lambda p: tm.Series(tm.Revolute((1, p, 0)), (p, 0, 0.1), tm.Prismatic((0, 1, p))),
    "moving": lambda p: tm.Series(tm.Moving(x=p, turn_y=0.3), (0, p, 0), tm.Revolute()),
    "curve": lambda p: tm.Series(tm.Curve([(x, y * p, z) for x, y, z in POINTS]), (0, p, 0), tm.Ball()),
}  # fmt: skip


@pytest.mark.parametrize("name", SERIES)
def test_slopes_of_hinges_in_series(name):
    compare(mechanism(SERIES[name](tm.Parameter("p", 0.4))), "p")


def test_the_spin_of_a_rod_points_the_same_way_in_all_models_of_it():
    """Its sign is no matter of the decomposition it comes from."""
    values = 0.4 + 5e-4 * np.arange(-20, 21)
    rods = [tm.Series(tm.Ball(), (0.1, p, 0.5), tm.Ball()) for p in values.tolist()]
    axes = np.array([rod.reduced[0].axes()[:, 2] for rod in rods])
    assert np.max(np.abs(np.diff(axes, axis=0))) < 1e-2
