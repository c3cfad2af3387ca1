"""The live view: the server's handles are driven in this process, as its page does."""

import sys

import numpy as np
import pytest

import treemech as tm

from .test_puppet import four_bar, opening


def test_without_viser_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    mech, start = four_bar()
    with pytest.raises(tm.TreemechError, match=r"pip install treemech\[view\]"):
        mech.live(start)


extras = pytest.mark.extras


@pytest.fixture
def view():
    pytest.importorskip("viser")
    mech, start = four_bar()
    turning = mech.assemble(fix={"A": 0.3}, guess={"B": 0.8, "D": 1.8}, rates={"A": 2.0})
    run = mech.simulate((0.0, 1.0), turning, t_eval=np.linspace(0.0, 1.0, 21))
    found = mech.live(start, run=run, port=8321)
    yield found
    found.close()


def pose(view, name):
    k = 1 + [part.name for part in view.nodes.scene.parts].index(name)
    return view.nodes.frames[k]


def shown(view, name, point):
    """Return where a point of a body is on the page."""
    frame = pose(view, name)
    w, x, y, z = frame.wxyz
    R = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    return np.asarray(frame.position) + R @ np.asarray(point)


def gaps(view):
    """Return how far the pins of the loop gape on the page."""
    l = view.puppet.mech.parameters["l"]
    return (
        np.linalg.norm(shown(view, "crank", (l, 0, 0)) - shown(view, "coupler", (0, 0, 0))),
        np.linalg.norm(shown(view, "coupler", (1.4, 0, 0)) - shown(view, "follower", (1.5, 0, 0))),
        np.linalg.norm(shown(view, "follower", (0, 0, 0)) - (1.6, 0, 0)),
    )


@extras
def test_a_slider_moves_the_bodies_and_all_other_sliders(view):
    assert list(view.sliders) == [h.name for h in view.puppet.mech._info.hinges] and max(gaps(view)) < 1e-6
    before = np.array(pose(view, "follower").wxyz)
    others = [s.value for name, s in view.sliders.items() if name != "A"]
    view.sliders["A"].value = 1.3
    assert view.state["A"][0][0] == 1.3 and max(gaps(view)) < 1e-6
    assert np.linalg.norm(np.array(pose(view, "follower").wxyz) - before) > 0.02
    assert others != [s.value for name, s in view.sliders.items() if name != "A"]
    assert opening(view.puppet.mech, view.state) < 1e-12


@extras
def test_a_point_is_dragged_by_its_handle(view):
    label = next(name for name in view.ends if name.startswith("crank (0.4"))
    view.point.value = label
    assert np.allclose(view.gizmo.position, view.puppet.mech.pose(view.ends[label], view.state).position)
    wanted = (0.4 * np.cos(1.1), 0.4 * np.sin(1.1), 0.0)
    view._dragged(wanted)  # what the handle calls
    assert np.allclose(shown(view, "crank", (0.4, 0, 0)), wanted, atol=1e-6) and max(gaps(view)) < 1e-6
    assert view.sliders["A"].value == pytest.approx(1.1, abs=1e-6)
    view._dragged((0.0, 3.0, 0.0))
    assert "out of reach" in view.text.content
    view.sliders["A"].value = 0.5  # the handle follows its point
    assert np.allclose(view.gizmo.position, (0.4 * np.cos(0.5), 0.4 * np.sin(0.5), 0.0), atol=1e-6)
    view.point.value = "none"
    assert view.gizmo is None


@extras
def test_a_parameter_is_a_slider(view):
    view.knobs["l"].value = 0.3
    assert view.puppet.mech.parameters == {"l": 0.3} and max(gaps(view)) < 1e-6
    assert np.linalg.norm(shown(view, "coupler", (0, 0, 0))) == pytest.approx(0.3, abs=1e-6)


@extras
def test_time_is_a_slider_and_runs_play(view):
    import time

    view.time.value = 0.5
    k = int(np.argmin(np.abs(view.run.t - 0.5)))
    assert np.array_equal(view.state.q, view.run.state(k).q) and max(gaps(view)) < 1e-6
    view.play()
    seen = set()
    for _ in range(40):
        time.sleep(0.02)
        seen.add(view.state.t)
    view.pause()
    assert len(seen) > 3
    view.move("A", 0.2)
    view.simulate(0.3)
    view.pause()
    assert view.run.t[-1] == pytest.approx(view.run.t[0] + 0.3)


@extras
def test_springs_stretch_and_cords_bend():
    """Parts that follow from points of others, and lines, are where the state says."""
    pytest.importorskip("viser")
    ex = tm.examples.leg_swing()
    view = ex.mechanism.live(ex.state, port=8331)
    try:
        before = {k: np.array(line.points) for k, line in view.nodes.lines.items()}
        assert before
        view.move("knee", view.puppet.value("knee") - 0.4)
        assert any(np.max(np.abs(np.array(view.nodes.lines[k].points) - p)) > 1e-3 for k, p in before.items())
    finally:
        view.close()


@extras
def test_a_run_of_another_mechanism_is_refused():
    pytest.importorskip("viser")
    mech, start = four_bar()
    other = tm.examples.four_bar()
    with pytest.raises(tm.TreemechError, match="not of 'bars'"):
        mech.live(start, run=other.run())
