"""The facade: public names, states by name, results by name, files."""

import subprocess
import sys

import numpy as np
import pytest

import treemech as tm
from tests.support.driven import MODELS
from tests.support.models import random_state, random_system
from tests.support.reference import dense
from tests.support.tolerances import DIFF, ROUND


@pytest.fixture(scope="module")
def pendulum():
    system = tm.System("pendulum", gravity=(0, 0, -9.81))
    arm = system.body("arm", 2.0, (0.1, 0.2, 0.15), com=(0, 0, -0.6))
    system.connect("pin", tm.Revolute("y"), system.ground.at((0, 0, 1.0)), arm)
    return system.build()


def test_the_public_names_are_these():
    assert set(tm.__all__) >= {
        "AtRotation", "AxialHinge", "Ball", "BallBryant", "Belt", "CamFollower", "Constant",
        "ConstantVelocity", "Constraint", "ConvergenceError", "Coupling", "CouplingRows", "Curve",
        "CurveOnCurve", "Cylindrical", "Differential", "Distance", "ElementCompileWarning", "ElementError",
        "Force", "Free", "Function", "Gear", "Harmonic", "Hinge", "InLine", "InPlane", "KnifeEdge", "Load",
        "Mechanism", "Mimic", "Moment", "Motion", "Moving", "Parallel", "Perpendicular", "Planar",
        "PointOnCurve", "PointOnHeightField", "PointOnImplicitSurface", "PointOnSurface", "Polar",
        "Polynomial", "PrescribedPose", "Prismatic", "Profile", "RackAndPinion", "Relation", "RelativeAngle",
        "RelativeDistance", "RelativeMotion", "RelativeOffset", "Revolute", "RevoluteCylindrical",
        "RevoluteRevolute", "RevoluteRevoluteOrthogonal", "RevoluteSpherical", "RevoluteTranslational",
        "Rigid", "RollingBall", "RollingDisk", "RollingWheel", "Rows", "Run", "Screw", "Signal",
        "SingularError", "SphericalSpherical", "Spline", "State", "Strut", "System", "TopologyError",
        "Translation", "TreemechError", "Universal", "VelocityRelation", "__version__", "axis_field", "check",
        "read", "solids", "structure",
    }  # fmt: skip
    assert set(tm.__all__) >= {"Composite", "Energetic", "Spring", *tm._NAMES}
    assert not [name for name in tm.__all__ if name.isupper()]
    for name in tm.__all__:
        assert getattr(tm, name) is not None
    with pytest.raises(AttributeError, match="Revolut"):
        tm.Revolut


def test_namespaces_offer_public_names_only():
    import treemech.command  # a module that is loaded is not offered either

    assert {name for name in dir(tm) if not name.startswith("__")} == set(tm.__all__) - {"__version__"}
    assert treemech.command.main and "command" not in dir(tm)
    assert {"rod", "Solid"} < set(dir(tm.solids))
    assert not {"np", "cast", "annotations", "TypedDict", "plain", "Array"} & set(dir(tm.solids))
    system = tm.System("pair")
    system.connect("rail", tm.Prismatic("x"), system.ground, system.body("body", 1.0, (1, 1, 1)))
    mech = system.build()
    data = {
        mech: {"name", "tree", "nq", "nu"},
        mech.simulate((0, 0.01)): {
            "t", "q", "u", "z", "success", "message", "method", "statistics", "singular", "switched", "events", "report",
        },
    }  # fmt: skip
    for thing, attributes in data.items():
        assert {name for name in vars(thing) if not name.startswith("_")} == attributes
        for name in set(dir(thing)) - attributes:
            assert name.startswith("_") or getattr(type(thing), name).__doc__, name


def test_a_hinge_coordinate_measures_end_b_relative_to_end_a_whichever_way_the_tree_runs():
    system = tm.System("pair")
    body = system.body("body", 1.0, (1, 1, 1))
    system.connect("rail", tm.Prismatic("x"), body, system.ground)  # end b is the ground
    mech = system.build()
    run = mech.simulate((0, 0.01), mech.state(q={"rail": 0.4}), t_eval=[0.0])
    assert run.body("body").position[0].tolist() == [-0.4, 0.0, 0.0]


def test_states_by_name_by_index_and_by_rotation():
    system = tm.System("s")
    a, b = system.body("a", 1.0, (1, 1, 1)), system.body("b", 1.0, (1, 1, 1))
    system.connect("slide", tm.Cylindrical("z"), system.ground, a)
    system.connect("ball", tm.Ball(), a, b)
    mech = system.build()
    state = mech.state(q={"slide[1]": 0.5, "ball": [[0, -1, 0], [1, 0, 0], [0, 0, 1]]}, u={"ball": [1, 2, 3]})
    assert mech.coordinates == ["slide[0]", "slide[1]", *(f"ball[{k}]" for k in range(4))]
    np.testing.assert_allclose(state.q, [0, 0.5, np.sqrt(0.5), 0, 0, np.sqrt(0.5)], atol=1e-15)
    np.testing.assert_array_equal(state["ball"][1], [1, 2, 3])
    from scipy.spatial.transform import Rotation

    other = mech.state(q={"slide[1]": 0.5, "ball": Rotation.from_euler("z", 90, degrees=True)})
    np.testing.assert_allclose(other.q, state.q, atol=1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_assembly_from_poses_finds_the_coordinates_again(seed):
    kinds = (
        "Revolute",
        "Prismatic",
        "Cylindrical",
        "Screw",
        "Universal",
        "Planar",
        "Translation",
        "Ball",
        "Free",
    )
    mech = random_system(seed, n=9, kinds=kinds).build()
    state = random_state(mech, seed)
    ref = dense(mech, state.t, state.q, state.u)
    poses = {b.name: (ref.r[k], ref.R[k]) for k, b in enumerate(mech.tree.bodies) if k}
    again = mech.assemble(
        t=state.t, poses=poses, guess={c.name: state.q[c.q_slice] for c in mech._lagrange.hinges}
    )
    found = dense(mech, again.t, again.q, again.u)
    np.testing.assert_allclose(found.r, ref.r, atol=1e-9)
    np.testing.assert_allclose(np.array(found.R), np.array(ref.R), atol=1e-9)


def test_assembly_from_a_pose_outside_the_motion_names_the_body(pendulum):
    with pytest.warns(UserWarning, match="the guess of body 'arm' was left by 0.5 "):
        pendulum.assemble(poses={"arm": (0, 0.5, 1.0)})


def test_hinges_placed_in_the_world_have_zero_coordinates_at_the_reference_pose():
    from scipy.spatial.transform import Rotation

    R = Rotation.from_euler("xyz", [0.3, -0.5, 0.8]).as_matrix()
    system = tm.System("placed")
    a = system.body("a", 1.0, (1, 1, 1), pose=((1, 2, 3), R))
    b = system.body("b", 1.0, (1, 1, 1), pose=((0, 1, 0), R.T))
    system.connect("one", tm.Revolute("x"), system.ground, a, at=(1, 1, 1), axis=(0, 1, 1))
    system.connect("two", tm.Universal(), a, b, at=(0, 1, 2))
    mech = system.build()
    ref = dense(mech, 0.0, mech.state().q, mech.state().u)
    for name, position, rotation in (("a", (1, 2, 3), R), ("b", (0, 1, 0), R.T)):
        k = mech.tree.numbers[name]
        np.testing.assert_allclose(ref.r[k], position, atol=1e-14)
        np.testing.assert_allclose(ref.R[k], rotation, atol=1e-14)
    turned = mech.attitude(mech.state(u={"one": 1.0}))
    omega = (turned.partials.T @ [1, 0, 0] + turned.drift).reshape(-1, 6)[mech.tree.numbers["a"] - 1, 3:]
    np.testing.assert_allclose(omega, np.array([0, 1, 1]) / np.sqrt(2), atol=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_reactions_balance_every_free_body(seed):
    """Newton and Euler for each body alone: the loads of its hinges are all that acts besides gravity."""
    mech = random_system(seed, n=8, loads=False).build()
    state = random_state(mech, seed)
    run = mech.simulate((state.t, state.t + 1e-3), state, t_eval=[state.t])
    reactions = mech.reactions(state)
    g = np.array(mech._info.gravity)
    for k, body in enumerate(mech.tree.bodies):
        if not k:
            continue
        motion = run.body(body.name)
        R, w, dw = motion.rotation[0], motion.angular_velocity[0], motion.angular_acceleration[0]
        J = R @ body.inertia @ R.T
        force = body.mass * (motion.point(body.com).acceleration[0] - g)
        moment = J @ dw + np.cross(w, J @ w)
        centre = motion.position[0] + R @ body.com
        for hinge in mech._info.hinges:
            F, M = reactions[hinge.name]
            for number, _, sign in (
                (hinge.body_a, hinge.offset_a, -1),
                (hinge.body_b, hinge.offset_b, 1),
            ):
                if number == k:
                    at_b = run.point(mech.tree.bodies[hinge.body_b].name, hinge.offset_b).position[0]
                    force = force - sign * F
                    moment = moment - sign * (M + np.cross(at_b - centre, F))
        scale = 1.0 + float(np.max(np.abs(run._results()[1][0, :, 24:])))
        assert np.max(np.abs(force)) < 1e-11 * scale, body.name
        assert np.max(np.abs(moment)) < 1e-11 * scale, body.name


def test_the_jacobian_of_a_point_and_its_frame_is_their_velocity_per_speed():
    mech = random_system(3, n=8).build()
    state = random_state(mech, 3)
    body = mech.tree.bodies[5]
    end = body.at((0.1, 0.2, 0.3))
    J = mech.jacobian(end, state)
    run = mech.simulate((state.t, state.t + 1e-3), state, t_eval=[state.t])
    rest = mech.simulate((state.t, state.t + 1e-3), mech.state(state.t, state.q), t_eval=[state.t])
    got = J[:3] @ state.u + rest.point(body.name, end.offset).velocity[0]
    np.testing.assert_allclose(got, run.point(body.name, end.offset).velocity[0], atol=1e-12)
    turning = J[3:] @ state.u + rest.body(body.name).angular_velocity[0]
    np.testing.assert_allclose(turning, run.body(body.name).angular_velocity[0], atol=1e-12)
    assert np.max(np.abs(J[3:])) > 0.1


@pytest.mark.parametrize("seed", range(3))
def test_momentum_changes_by_the_impulse_of_gravity_and_the_ground(seed):
    kinds = ("Revolute", "Ball", "Universal", "Prismatic")
    mech = random_system(seed, n=7, kinds=kinds, loads=False).build()
    state, h = random_state(mech, seed), 1e-6
    ud = mech.forward_dynamics(state).ud

    def moved(s):
        q = np.concatenate([
            c.hinge.move(state.q[c.q_slice], s * state.u[c.u_slice] + 0.5 * s * s * ud[c.u_slice])
            for c in mech._lagrange.hinges
        ])  # fmt: skip
        return mech.momentum(mech.state(state.t, q, state.u + s * ud))

    before, after = moved(-h), moved(h)
    mass = sum(b.mass for b in mech.tree.bodies)
    force = mass * np.array(mech._info.gravity)
    for hinge in mech._info.hinges:
        if 0 in (hinge.body_a, hinge.body_b):
            force = force + (1 if hinge.body_a == 0 else -1) * mech.reactions(state)[hinge.name].force
    rate = (after.linear - before.linear) / (2 * h)
    assert np.max(np.abs(rate - force)) < DIFF * (1 + np.max(np.abs(force)))


def test_a_run_survives_the_disk(tmp_path, pendulum):
    run = pendulum.simulate((0, 1), pendulum.state(q={"pin": 0.5}), rtol=1e-8)
    path = run.save(tmp_path / "run")
    assert path.name == "run.npz"
    back = tm.read(path)
    assert back.success and back.message == run.message and back.statistics == run.statistics
    for one, other in (
        (run.t, back.t),
        (run.connection("pin").force, back.connection("pin").force),
        (run.body("arm").com, back.body("arm").com),
        (run.energy.total, back.energy.total),
        (run.ud, back.ud),
    ):
        np.testing.assert_array_equal(one, other)
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_reading_what_is_no_run(tmp_path):
    bad = tmp_path / "bad.npz"
    bad.write_bytes(b"no zip")
    with pytest.raises(tm.TreemechError, match=r"bad\.npz"):
        tm.read(bad)
    np.savez(
        bad,
        header=np.array('{"schema": "other-9"}'),
        **{k: np.zeros(1) for k in ("t", "q", "u", "ud", "trace", "tau")},
    )
    with pytest.raises(tm.TreemechError, match="other-9"):
        tm.read(bad)
    np.savez(bad, header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(tm.TreemechError):
        tm.read(bad)  # pickled content is not executed
    with pytest.raises(FileNotFoundError):
        tm.read(tmp_path / "none.npz")


def test_results_can_be_looked_at(tmp_path, pendulum):
    run = pendulum.simulate((0, 1), pendulum.state(q={"pin": 0.5}))
    page = run.animate(tmp_path / "p.html").read_text()
    assert "pendulum" in page and "http" not in page
    run.plot(tmp_path / "p.png")
    pendulum.draw(str(tmp_path / "tree.png"))
    assert (tmp_path / "p.png").stat().st_size > 1000 and (tmp_path / "tree.png").stat().st_size > 1000
    assert "arm" in pendulum.draw() and "pin" in pendulum.draw()


def test_energy_of_a_pendulum_by_hand(pendulum):
    q, u = 0.4, 1.3
    energy = pendulum.energy(pendulum.state(q={"pin": q}, u={"pin": u}))
    assert abs(energy.kinetic - 0.5 * (0.2 + 2.0 * 0.36) * u * u) < ROUND * 10
    assert abs(energy.potential - 2.0 * 9.81 * (1.0 - 0.6 * np.cos(q))) < ROUND * 100
    assert energy.total == energy.kinetic + energy.potential


def test_importing_treemech_imports_neither_numba_nor_scipy():
    code = (
        "import sys, treemech; bad = {'numba', 'scipy', 'networkx'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_matrices_and_graph_of_the_topology():
    mech = random_system(2, n=9).build()
    L, T = mech.location_matrix(), mech.tree_matrix()
    np.testing.assert_array_equal(L[1:] @ T, np.eye(9, dtype=int))
    assert mech.graph.number_of_nodes() == 10 and mech.graph.number_of_edges() == 9
    assert mech.location_matrix(chords=True).shape == (10, 0)


def test_a_run_goes_on_from_its_last_state():
    """With states of elements, what they remember, held inputs of controllers and cut hinges."""
    for model in ("four_bar", "elements", "tree"):
        mech, start = MODELS[model]()
        t, middle, end = start.t, start.t + 0.3, start.t + 0.5
        whole = mech.simulate((t, end), start, rtol=1e-10)
        first = mech.simulate((t, middle), start, rtol=1e-10)
        state = first.state()
        assert (
            state.t == middle
            and np.array_equal(state.q, first.q[-1])
            and np.array_equal(state.u, first.u[-1])
        )
        rest = mech.simulate((middle, end), state, rtol=1e-10)
        np.testing.assert_allclose(rest.q[-1], whole.q[-1], atol=1e-7)
        np.testing.assert_allclose(rest.z[-1], whole.z[-1], atol=1e-6)
        assert first.state(0).t == t and state["A" if model == "four_bar" else mech._info.hinges[0].name]
    with pytest.raises(tm.TreemechError, match="asked for number"):
        first.state(10_000)


def test_results_of_the_things_themselves():
    system = tm.System("pendulum")
    bob = system.body("bob", 1.0, (0.1, 0.1, 0.1), com=(0, 0, -1))
    pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
    spring = system.connect("spring", tm.RotationalSpring(1.0), pin)
    run = system.build().simulate((0, 0.1))
    assert np.array_equal(run.connection(pin).q, run.connection("pin").q)
    assert np.array_equal(run.body(bob).position, run.body("bob").position)
    assert np.array_equal(run.point(bob, (0, 0, -1)).velocity, run.point("bob", (0, 0, -1)).velocity)
    assert np.array_equal(run.element(spring).effort, run.element("spring").effort)
