"""The picture of the tree: every body, branch, chord and element is in it."""

import re
from itertools import pairwise

import pytest

import treemech as tm

pytest.importorskip("matplotlib")


def texts(path):
    """Return the texts of an SVG picture whose text is kept as text."""
    return set(re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text()))


@pytest.fixture(autouse=True)
def text_as_text():
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        yield


def test_everything_is_drawn(tmp_path):
    system = tm.System("loop")
    a, b = (system.body(n, 1.0, (0.1, 0.1, 0.1)) for n in ("crank", "rocker"))
    system.connect("A", tm.Revolute("y"), system.ground, a)
    system.connect("B", tm.Revolute("y"), a.at((1, 0, 0)), b)
    system.connect("C", tm.Revolute("y"), b.at((1, 0, 0)), system.ground.at((1, 0, 1)))
    system.connect("k", tm.Spring(10.0), system.ground, b)
    system.connect("rub", tm.RotationalSpring(1.0), "A")
    system.load("push", tm.Force(x=1.0), b)
    mech = system.build()
    mech.draw(str(tmp_path / "tree.svg"))
    seen = {text.strip() for text in texts(tmp_path / "tree.svg")}
    assert {"ground", "crank", "rocker", "0", "1", "2"} <= seen
    assert {"k: Spring", "rub: RotationalSpring", "push: Force"} <= seen
    assert {"A: Revolute", "B: Revolute", "C: Revolute"} <= {
        text.removesuffix(" (reversed)") for text in seen
    }
    told = mech.draw()
    assert (
        "k: Spring, ground ╌╌ rocker" in told
        and "rub: RotationalSpring on A" in told
        and "push: Force" in told
    )
    assert repr(told) == told
    assert "3 springs, motors and loads" in repr(system)


def test_sixty_links_in_a_row_fit_on_a_page(tmp_path):
    system = tm.System("chain")
    last = system.ground
    for k in range(60):
        link = system.body(f"link{k}", 0.1, (0.01, 0.01, 0.01))
        system.connect(f"h{k}", tm.Revolute("y"), last.at((0, 0, -0.1)), link)
        last = link
    system.build().draw(str(tmp_path / "chain.svg"))
    page = (tmp_path / "chain.svg").read_text()
    width, height = (float(x) / 72 for x in re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', page).groups())
    assert width < 14 and height < 14 and {f"link{k}" for k in range(60)} <= texts(tmp_path / "chain.svg")


def test_a_tree_with_many_leaves_lies_on_its_side(tmp_path):
    """Names of forty bodies side by side would cover each other: they stand below each other, and no text lies on them."""
    system = tm.System("centipede")
    spine = system.body("spine", 1.0, (0.1, 0.1, 0.1))
    system.connect("walk", tm.Planar(), system.ground, spine)
    for k in range(20):
        thigh, shin = (system.body(f"{n} number {k}", 1.0, (0.1, 0.1, 0.1)) for n in ("thigh", "shin"))
        system.connect(f"hip {k}", tm.Revolute("y"), spine.at((k, 0, 0)), thigh)
        system.connect(f"knee {k}", tm.Revolute("y"), thigh.at((0, 0, -1)), shin)
    system.build().draw(tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    wide, high = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text).groups())
    assert 0.7 < wide / high < 1.6
    found = re.findall(r'x="([\d.]+)" y="([\d.]+)"[^>]*>shin', text)
    heights = sorted(float(y) for _, y in found)
    assert len(heights) == 20 and min(b - a for a, b in pairwise(heights)) > 20.0
    assert len({x for x, _ in found}) == 1
