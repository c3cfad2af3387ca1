"""The data of a page: small, and true to the motion."""

import base64
import json
import re
import zlib

import numpy as np
import pytest

import treemech as tm
from treemech.view.page.packing import LOST, TYPES

LARGEST = 350_000  # bytes, of ten bodies over ten seconds


def unpacked(path):
    """Return header and a function that reads the arrays, as the page does."""
    text = re.search(r'id="data" data-size="(\d+)">([^<]*)<', path.read_text())
    content = zlib.decompress(base64.b64decode(text[2]), -15)
    assert len(content) == int(text[1])
    head = int.from_bytes(content[:4], "little")
    header = json.loads(content[4 : 4 + head])

    def array(ref):
        kind, start, count = ref
        width = np.dtype(TYPES[kind]).itemsize
        raw = np.frombuffer(content, np.uint8, count * width, 4 + head + start)
        return np.frombuffer(raw.reshape(width, count).T.tobytes(), TYPES[kind])

    return header, array


def chain(n):
    system, end = tm.System("chain"), None
    for k in range(n):
        link = system.body(f"link {k}", 1.0, (0.01, 0.02, 0.02), com=(0.2, 0, 0))
        system.connect(
            f"hinge {k}", tm.Revolute("y" if k % 2 else "z"), system.ground if end is None else end, link
        )
        end = link.at((0.4, 0, 0))
    return system.build()


@pytest.fixture(scope="module")
def run():
    mech = chain(10)
    return mech.simulate(
        (0, 10), mech.state(q=0.2 * np.arange(10)), rtol=1e-6, t_eval=np.linspace(0, 10, 601)
    )


def test_ten_bodies_over_ten_seconds_stay_small(run, tmp_path):
    path = run.animate(tmp_path / "a.html")
    assert path.stat().st_size < LARGEST


def test_poses_return_from_the_page(run, tmp_path):
    header, array = unpacked(run.animate(tmp_path / "a.html"))
    t = array(header["frames"]["t"])
    rows = np.searchsorted(run.t, t)
    assert np.array_equal(run.t[rows], t)
    p = (
        array(header["frames"]["position"]).reshape(len(t), 3, 10).transpose(0, 2, 1)
        * header["frames"]["unit"]
        + header["centre"]
    )
    e = array(header["frames"]["attitude"]).reshape(len(t), 4, 10).transpose(0, 2, 1) / 32767.0
    names = [part["name"] for part in header["parts"]]
    for k, name in enumerate(names):
        body = run.body(name)
        assert np.abs(p[:, k] - body.position[rows]).max() < 1e-5
        same = np.abs(np.sum(e[:, k] * body.euler_parameters[rows], axis=1))
        assert np.abs(same - 1.0).max() < 1e-4


def test_up_is_opposite_to_gravity(tmp_path):
    for gravity, up in (((0, -9.81, 0), (0, 1, 0)), ((0, 0, 0), (0, 0, 1)), ((3, 0, 4), (-0.6, 0, -0.8))):
        system = tm.System("s", gravity=gravity)
        system.connect("c", tm.Revolute("y"), system.ground, system.body("b", 1.0, (1, 1, 1)))
        header, _ = unpacked(system.build().simulate((0, 0.1), rtol=1e-4).animate(tmp_path / "a.html"))
        basis = np.array(header["basis"])
        assert (
            np.allclose(basis[2], up) and np.allclose(basis @ basis.T, np.eye(3)) and np.linalg.det(basis) > 0
        )


def test_signals_and_the_floor_are_those_that_are_asked_for(run, tmp_path):
    header, array = unpacked(
        run.animate(tmp_path / "a.html", signals=["link 3.position", "energy.total"], floor=-2.0)
    )
    shown = [s["name"] for s in header["signals"] if s["shown"]]
    assert shown == ["link 3.position.x", "link 3.position.y", "link 3.position.z", "energy.total"]
    assert abs(header["floor"] + header["centre"][2] + 2.0) < 1e-9
    assert [s["unit"] for s in header["signals"] if s["shown"]] == ["m", "m", "m", "J"]
    signal = next(s for s in header["signals"] if s["name"] == "energy.total")
    y = signal["middle"] + signal["step"] * array(signal["y"])
    assert np.allclose([y.min(), y.max()], [run.energy.total.min(), run.energy.total.max()], rtol=1e-3)


def test_elements_without_efforts_offer_no_curve_of_them(tmp_path):
    header, _ = unpacked(tm.examples.find("pump").run().animate(tmp_path / "a.html"))
    names = {s["name"].partition("[")[0] for s in header["signals"]}
    assert "spring.effort" in names and "ehd.effort" not in names


def test_a_motion_that_is_lost_leaves_a_valid_page(tmp_path):
    mech = chain(2)
    run = mech.simulate((0, 1), rtol=1e-4, t_eval=np.linspace(0, 1, 11))
    run.q[4:] = np.nan
    header, array = unpacked(run.animate(tmp_path / "a.html"))
    p = array(header["frames"]["position"])
    assert (p == LOST).any() and not (p == LOST).all() and np.isfinite(header["radius"])


def test_the_page_of_a_wild_long_motion_is_small_enough(tmp_path):
    """Ten links that fall from the level and never come to rest: the steps of the integrator are thousands."""
    system, end = tm.System("whip"), None
    for k in range(10):
        link = system.body(f"link {k}", 0.1, (1e-5, 1e-4, 1e-4), com=(0.05, 0, 0))
        system.connect(f"hinge {k}", tm.Revolute("y"), system.ground if end is None else end, link)
        end = link.at((0.1, 0, 0))
    run = system.build().simulate((0, 10), rtol=1e-6)
    assert len(run.t) > 1500
    assert run.animate(tmp_path / "a.html").stat().st_size < LARGEST
