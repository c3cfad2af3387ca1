"""run.animate, run.show, mech.show: what is written, what is refused, and that nothing is half-written."""

import re
import shutil
import sys

import numpy as np
import pytest

import treemech as tm
from treemech.view import animate


def crank(name="crank", body="arm"):
    system = tm.System(name)
    arm = system.body(body, 1.0, (0.1, 0.1, 0.1), com=(0.4, 0, 0))
    system.connect("pin", tm.Revolute("y"), system.ground, arm)
    system.connect(
        "spring",
        tm.Spring(stiffness=30.0, damping=0.5, length=0.5),
        arm.at((0.8, 0, 0)),
        system.ground.at((1, 0, 1)),
    )
    return system.build()


@pytest.fixture(scope="module")
def mech():
    return crank()


@pytest.fixture(scope="module")
def run(mech):
    return mech.simulate((0, 1), rtol=1e-6)


def test_one_self_contained_page_is_written(run, tmp_path):
    page = run.animate(tmp_path / "a.html")
    text = page.read_text()
    assert text.startswith("<!DOCTYPE html>") and "http" not in text
    assert not re.search(r"<(link|img|script)[^>]*(src|href)=\"(?!data:)", text)
    assert [p.name for p in tmp_path.iterdir()] == ["a.html"]


def test_the_ending_decides_and_unknown_ones_are_refused(run, tmp_path):
    assert run.animate(tmp_path / "a").name == "a.html"
    assert run.animate(tmp_path / "b.htm").read_text().startswith("<!DOCTYPE")
    for name in ("a.mov", "a.json", "a.webm"):
        with pytest.raises(tm.TreemechError, match=r"run\.animate.*\.html.*\.gif.*\.mp4"):
            run.animate(tmp_path / name)
    assert not (tmp_path / "a.mov").exists()


@pytest.mark.parametrize(
    "name",
    ["</script><script>alert(1)</script>", "<b>a</b> & \"b\" 'c'", "%%DATA%%", "机构 é \ud800", "x" * 300],
)
def test_names_cannot_break_the_page(name, tmp_path):
    clean = name.encode("utf-8", "ignore").decode() or "x"
    text = crank(clean, clean + "1").simulate((0, 0.2), rtol=1e-4).animate(tmp_path / "a.html").read_text()
    assert text.count("<script") == 2 and "<b>a</b>" not in text and "%%SIZE%%" not in text


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_computed(run, tmp_path, monkeypatch):
    monkeypatch.setattr(animate.os, "access", lambda *_: False)
    monkeypatch.setattr(animate, "compose", lambda *_: pytest.fail("computed"))
    for name in ("a.html", "a.gif"):
        with pytest.raises(tm.TreemechError, match="cannot be written"):
            run.animate(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_films_without_their_programs_are_refused(run, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(tm.TreemechError, match="ffmpeg, which is not on the path"):
        run.animate(tmp_path / "a.mp4")
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(tm.TreemechError, match="pip install matplotlib"):
        run.animate(tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options, told",
    [
        ({"shw": ["forces"]}, "show"), ({"show": "force"}, "forces"), ({"view": "above"}, "'above'"), ({"theme": "grey"}, "'grey'"),
        ({"colors": {"arm": "red"}}, "#rrggbb"), ({"colors": {"leg": "#ff0000"}}, "'leg'"), ({"follow": "leg"}, "'leg'"), ({"speed": 0}, "positive"),
        ({"signals": "pin.w"}, r"pin\.w"), ({"signals": "pin.q[3]"}, "1 numbers"), ({"traces": "leg"}, "'leg'"), ({"traces": [("arm", (1, 2))]}, "three numbers"),
        ({"max_frames": 1}, "max_frames"), ({"size": (4, 4)}, "pixels"),
    ],
)  # fmt: skip
def test_wrong_options_are_told_by_name(run, tmp_path, options, told):
    with pytest.raises(tm.TreemechError, match=told):
        run.animate(tmp_path / "a.html", **options)
    assert not list(tmp_path.iterdir())


def test_a_run_from_a_file_is_drawn_as_before(run, tmp_path):
    from treemech.view.compose import compose
    from treemech.view.scene.options import Options

    again = tm.read(run.save(tmp_path / "a.npz"))
    first, second = compose(run, Options()), compose(again, Options())
    assert [(i.part, i.colour, i.layer) for i in first.items] == [
        (i.part, i.colour, i.layer) for i in second.items
    ]
    assert [d.kind for d in first.derived] == [d.kind for d in second.derived]
    assert all(np.allclose(a.matrix, b.matrix) for a, b in zip(first.items, second.items, strict=True))


def test_show_opens_the_page_and_says_where_it_is(run, mech, monkeypatch, capsys):
    opened = []
    monkeypatch.setattr(animate.webbrowser, "open", lambda address: opened.append(address) or False)
    page = run.show(theme="dark")
    assert page.exists() and opened == [page.as_uri()] and str(page) in capsys.readouterr().out
    assert mech.show(mech.state(q={"pin": 0.3})).exists() and len(opened) == 2


def test_a_state_of_a_closed_chain_is_shown(tmp_path):
    system = tm.System("triangle")
    a, b = (system.body(n, 1.0, (0.1, 0.1, 0.1)) for n in "ab")
    system.connect("A", tm.Revolute("y"), system.ground, a)
    system.connect("B", tm.Revolute("y"), a.at((1, 0, 0)), b)
    system.connect("C", tm.Revolute("y"), system.ground.at((1, 0, 0)), b.at((1, 0, 0)))
    mech = system.build()
    assert mech.show(mech.assemble(guess={"A": -0.5}), tmp_path / "a.html").stat().st_size > 10_000
