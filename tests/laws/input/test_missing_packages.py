"""Without an extra package: one sentence that says what to install, and nothing half-written."""

import sys

import pytest

import treemech as tm


@pytest.fixture(scope="module")
def run():
    ex = tm.examples.four_bar()
    return ex.mechanism.simulate((0.0, 0.2), ex.state, rtol=1e-6)


@pytest.fixture
def without(monkeypatch):
    """Return a function that makes a package impossible to import."""

    def hide(name):
        for loaded in [m for m in sys.modules if m == name or m.startswith(name + ".")]:
            monkeypatch.delitem(sys.modules, loaded)
        monkeypatch.setitem(sys.modules, name, None)

    return hide


def test_plots_without_matplotlib(run, without, tmp_path):
    without("matplotlib")
    for draw in (
        lambda: run.plot("A.q", path=tmp_path / "x.png"),
        lambda: run.energy.plot(),
        lambda: run.phase("A"),
    ):
        with pytest.raises(tm.TreemechError, match=r"pip install treemech\[plot\]"):
            draw()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".gif", ".png"])
def test_films_without_pillow(run, without, tmp_path, suffix):
    without("PIL")
    with pytest.raises(tm.TreemechError, match=r"Pillow.*treemech\[plot\].*A page \(.html\) needs nothing"):
        run.animate(tmp_path / f"x{suffix}")
    assert not list(tmp_path.iterdir())


def test_meshes_without_trimesh(without, tmp_path):
    file = tmp_path / "part.stl"
    file.write_bytes(b"solid part\nendsolid part\n")
    system = tm.System("mesh")
    part = system.body("part", 1.0, (0.1, 0.1, 0.1), shapes=[{"kind": "mesh", "path": str(file)}])
    system.connect("A", tm.Revolute("z"), system.ground, part)
    mech = system.build()
    run = mech.simulate((0.0, 0.1), mech.state(u={"A": 1.0}))
    without("trimesh")
    with pytest.raises(tm.TreemechError, match=r"needs trimesh: pip install trimesh, or treemech\[mesh\]"):
        run.animate(tmp_path / "x.html")
    assert [path.name for path in tmp_path.iterdir()] == ["part.stl"]


def test_tables_without_pandas(run, without):
    without("pandas")
    with pytest.raises(tm.TreemechError, match="pandas"):
        run.to_pandas()
