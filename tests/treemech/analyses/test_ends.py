"""Pose, velocity and Jacobian of ends, against the attitude of all bodies and against differences."""

import numpy as np
import pytest

import treemech as tm
from tests.support.general_way import PLAIN, general_way, same
from tests.support.tolerances import ROUND
from treemech.results.computed import Energy

TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize("name", PLAIN)
def test_ends_move_as_the_attitude_of_their_bodies_says(name):
    mech, state = PLAIN[name]()
    z = mech.attitude(state)
    rates = (z.partials.T @ state.u + z.drift).reshape(-1, 2, 3)
    for k, body in enumerate(mech.tree.bodies[1:]):
        end = body.at((0.1, -0.2, 0.3), TURN)
        arm = z.rotation[k] @ end.offset
        position, rotation = mech.pose(end, state)
        linear, angular = mech.velocity(end, state)
        assert np.allclose(position, z.position[k] + arm, atol=ROUND)
        assert np.allclose(rotation, z.rotation[k] @ TURN, atol=ROUND)
        assert np.allclose(linear, rates[k, 0] + np.cross(rates[k, 1], arm), atol=10 * ROUND)
        assert np.allclose(angular, rates[k, 1], atol=10 * ROUND)
        J, block = mech.jacobian(end, state), z.partials[:, 6 * k : 6 * k + 6]
        assert np.allclose(J[3:], block[:, 3:].T, atol=ROUND)
        assert np.allclose(J[:3], block[:, :3].T + np.cross(block[:, 3:], arm).T, atol=ROUND)


@pytest.mark.parametrize("name", PLAIN)
def test_ends_are_the_same_in_the_general_way_and_over_rows(name):
    mech, state = PLAIN[name]()
    body = mech.tree.bodies[-1]
    calls = [
        lambda s, **k: mech.pose(body.at((0.1, 0, 0)), s, **k),
        lambda s, **k: mech.velocity(body.name, s, **k),
        lambda s, **k: mech.jacobian(body, s, **k),
        lambda s, **k: mech.energy(s, **k),
        lambda s, **k: mech.momentum(s, **k),
    ]
    many = tm.State(
        state.t,
        np.tile(state.q, (3, 1)),
        np.tile(state.u, (3, 1)),
        np.tile(state.x, (3, 1)),
        coordinates=state.coordinates,
    )
    for call in calls:
        one, rows = call(state), call(many, threads=2)
        with general_way(mech):
            assert same(one, call(state)) and same(rows, call(many))
        if isinstance(one, np.ndarray):
            assert same(rows[1], one)
        elif isinstance(one, Energy):
            assert rows.total.shape == (3,) and rows.total[2] == one.total
        else:
            assert all(
                same(np.ascontiguousarray(a[1]), np.ascontiguousarray(b))
                for a, b in zip(rows, one, strict=True)
            )


def test_the_ground_stands_still_and_what_is_no_end_is_named():
    mech, state = PLAIN["tree"]()
    ground = mech.tree.bodies[0]
    assert same(np.array(mech.pose(ground.at((1.0, 2.0, 3.0)), state).position), np.array([1.0, 2.0, 3.0]))
    assert not mech.jacobian(ground, state).any() and not mech.velocity(ground.name, state).numbers.any()
    other = tm.System("other").body("stranger", 1.0, (1, 1, 1))
    for wrong in (other, other.at((1, 0, 0)), "stranger"):
        with pytest.raises(tm.TopologyError, match="stranger"):
            mech.pose(wrong, state)
    for name in ("pose", "velocity", "jacobian"):  # the message begins with the call
        with pytest.raises(tm.TopologyError, match=f"^{name}: 3.0 is neither a body nor an attachment"):
            getattr(mech, name)(3.0, state)
        with pytest.raises(tm.TopologyError, match=f"^{name}: .*'stranger'"):
            getattr(mech, name)("stranger", state)
        with general_way(mech), pytest.raises(tm.TopologyError, match=f"^{name}: .*'stranger'"):
            getattr(mech, name)("stranger", state)
    with pytest.raises(tm.ElementError, match="jacobian: out is"):
        mech.jacobian(ground, state, out=np.zeros(3))


def test_a_frame_is_an_end_by_its_name_and_goes_before_a_body_of_that_name():
    system = tm.System("arm", gravity=(0, 0, -9.81))
    length = tm.Parameter("length", 2.0)
    link = system.body("link", 1.0, (0.1, 0.1, 0.1), com=(0, 0, -0.3))
    system.connect("A", tm.Revolute("y"), system.ground, link)
    tool = system.frame("tool", link.at((0, 0, -length), TURN))
    system.frame("link", link.at((0.5, 0, 0)))
    mech = system.build()
    state = mech.state(q={"A": 0.3}, u={"A": 2.0})
    for call in (mech.pose, mech.velocity, mech.jacobian):
        assert same(call("tool", state), call(tool, state))
        with general_way(mech):
            assert same(call("tool", state), call(tool, state))
    assert np.allclose(mech.pose("link", state).position, mech.pose(link.at((0.5, 0, 0)), state).position)
    longer = mech.with_parameters(length=3.0)
    assert np.allclose(longer.pose("tool", state).position, 1.5 * mech.pose("tool", state).position)
    with pytest.raises(tm.TopologyError, match="no frame or body 'tol': did you mean 'tool'"):
        mech.pose("tol", state)


def test_out_of_a_jacobian():
    mech, state = PLAIN["tree"]()
    out = np.zeros((6, mech.nu))
    assert mech.jacobian(mech.tree.bodies[-1], state, out=out) is out
    assert same(out, mech.jacobian(mech.tree.bodies[-1].name, state))


def test_new_attachments_have_the_numbers_of_those_that_are_kept():
    """The first time an end is asked for it borrows a call: two ends of a body in turn, and each again."""
    mech, state = PLAIN["tree"]()
    body, other = mech.tree.bodies[-1], mech.tree.bodies[-2]
    for call in (mech.pose, mech.velocity, mech.jacobian):
        kept = [body.at((0.1, 0.2, 0.3)), body.at((0.1, -0.2, 3), TURN), other.at((0.1, 0.2, 0.3))]
        first = [call(end, state) for end in kept]
        for _ in range(3):
            assert all(same(call(end, state), found) for end, found in zip(kept, first, strict=True))
            assert same(call(body.at((0.1, 0.2, 0.3)), state), first[0])
            assert same(call(body.at((0.1, -0.2, 3), TURN), state), first[1])
        with general_way(mech):
            assert all(same(call(end, state), found) for end, found in zip(kept, first, strict=True))


@pytest.mark.parametrize(
    "offset", [(10**400, 0, 0), (np.inf, 0, 0), (10**400, -(10**400), 0), ("1", 0, 0), (0, 0)]
)
def test_offsets_that_are_no_points_are_refused(offset):
    with pytest.raises(tm.ElementError, match="offset of an attachment of body 'b'"):
        tm.System("s").body("b", 1.0, (1, 1, 1)).at(offset)
