"""Curves of a run: signals by name with their units, smooth between the steps."""

import sys

import numpy as np
import pytest

import treemech as tm
from treemech.plots.signals import names, signals

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def run():
    system = tm.System("slider-crank")
    crank = system.body("crank", **tm.solids.rod((0, 0, 0), (0.3, 0, 0), mass=1.0).properties)
    rod = system.body("rod", **tm.solids.rod((0, 0, 0), (0.8, 0, 0), mass=1.0).properties)
    slider = system.body("slider", 1.0, (0.1, 0.1, 0.1))
    system.connect("A", tm.Revolute("y"), system.ground, crank)
    system.connect("B", tm.Revolute("y"), crank.at((0.3, 0, 0)), rod)
    system.connect("C", tm.Revolute("y"), rod.at((0.8, 0, 0)), slider)
    system.connect("D", tm.Prismatic("x"), system.ground, slider)
    system.connect("k", tm.Spring(30.0, 0.5, 1.0), system.ground, slider)
    system.measure("tip", "rod.position[2]")
    mech = system.build()
    return mech.simulate((0, 2), mech.assemble(fix={"A": -1.0}, guess={"D": 0.9}))


def test_a_signal_has_the_values_of_the_run_and_a_unit(run):
    (angle,), (place,) = signals(run, "A"), signals(run, "D")
    assert (angle.label, angle.unit) == ("A.q", "rad") and np.array_equal(angle.values, run.connection("A").q)
    assert (
        place.unit == "m"
        and signals(run, "D.u")[0].unit == "m/s"
        and signals(run, "A.ud[0]")[0].unit == "rad/s²"
    )
    force = signals(run, "C.force")
    assert [s.label for s in force] == ["C.force.x", "C.force.y", "C.force.z"] and {
        s.unit for s in force
    } == {"N"}
    assert np.array_equal(force[2].values, run.connection("C").force[:, 2])
    assert np.array_equal(signals(run, "rod.position[0]")[0].values, run.body("rod").position[:, 0])
    assert np.array_equal(signals(run, "tip")[0].values, run.measure("tip"))
    assert np.array_equal(signals(run, "energy.total")[0].values, run.energy.total)
    assert signals(run, "k.power")[0].unit == "W"
    for name in names(run):
        assert signals(run, name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("A.w", "quantity 'w'"), ("Z.q", "'Z'"), ("A[3]", "1 numbers"), ("k.position", r"k\.position\[0\]"),
        ("rod.rotation", r"rod\.rotation\[0\]"), ("C.loads", "not a number"), ("B.force[7]", "no place"), (3, "wanted a text"),
    ],
)  # fmt: skip
def test_a_name_that_is_no_signal_is_told(run, name, said):
    with pytest.raises(tm.TreemechError, match=said):
        signals(run, name)


def test_a_load_without_numbers_of_that_name_is_told():
    """matplotlib said 'Number of rows must be a positive integer, not 0'."""
    system = tm.System("loaded")
    body = system.body("body", 1.0, (1, 1, 1))
    system.connect("pin", tm.Revolute("z"), system.ground, body)
    system.load("motor", tm.Moment(z=1.0), body)
    mech = system.build()
    with pytest.raises(tm.TreemechError, match="'motor.effort' has no numbers"):
        mech.simulate((0, 1), mech.state()).plot("motor.effort")


def test_arguments_are_signals_and_axes_come_back(run):
    axes = run.plot("A.q", "B.q")
    assert axes.get_ylabel() == "q [rad]" and len(axes.lines) == 2 and axes.get_xlabel() == "t [s]"
    several = run.plot("A.q", "D.q", "k.power")
    assert [a.get_ylabel() for a in several] == ["A.q [rad]", "D.q [m]", "k.power [W]"]
    across = run.plot("C.force[0]", x="A.q")
    assert across.get_xlabel() == "A.q [rad]"
    own = matplotlib.pyplot.figure().add_subplot()
    assert run.plot("A.q", axes=own) is own
    phase = run.phase("A")
    assert (phase.get_xlabel(), phase.get_ylabel()) == ("A.q [rad]", "A.u [rad/s]")
    energy = run.energy.plot()
    assert len(energy.lines) == 4 and energy.get_ylabel() == "energy [J]"
    matplotlib.pyplot.close("all")


def test_the_overview_shows_cut_hinges_and_stored_energy(run):
    panels = run.plot()
    labels = [line.get_label() for axes in panels for line in axes.lines]
    assert {"A.q", "B.q", "C.q", "D.q", "energy.stored"} <= set(labels)
    matplotlib.pyplot.close("all")


def test_curves_go_through_the_outputs_and_fill_the_steps(run):
    line = run.plot("A.q").lines[0]
    x, y = line.get_data()
    assert len(x) > 500 and set(run.t) <= set(x)
    assert np.array_equal(y[np.searchsorted(x, run.t)], run.connection("A").q)
    plain = run.plot("A.q", smooth=False).lines[0]
    assert len(plain.get_xdata()) == len(run.t)
    matplotlib.pyplot.close("all")


def test_a_name_of_a_picture_is_a_path(run, tmp_path):
    for name in ("a.png", "b.svg"):
        run.plot(str(tmp_path / name))
        assert (tmp_path / name).stat().st_size > 1000
    run.plot("A.q", path=tmp_path / "c.pdf")
    assert (tmp_path / "c.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(FileNotFoundError):
        run.plot("A.q", path=tmp_path / "none" / "c.png")
    with pytest.raises(tm.TreemechError, match="picture"):
        run.plot("A.q", path=tmp_path / "c.txt")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "b.svg", "c.pdf"]
    assert not matplotlib.pyplot.get_fignums()


def test_the_total_energy_is_drawn_as_constant_as_the_run_kept_it():
    """Between the outputs of a closed chain the polynomials would show their own error, a thousand times that of the run."""
    system = tm.System("four-bar")
    crank = system.body("crank", **tm.solids.rod((0, 0, 0), (1, 0, 0), mass=1.0).properties)
    coupler = system.body("coupler", **tm.solids.rod((0, 0, 0), (3, 0, 0), mass=3.0).properties)
    rocker = system.body("rocker", **tm.solids.rod((0, 0, 0), (2.5, 0, 0), mass=2.5).properties)
    system.connect("A", tm.Revolute("y"), system.ground, crank)
    system.connect("B", tm.Revolute("y"), crank.at((1, 0, 0)), coupler)
    system.connect("C", tm.Revolute("y"), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)))
    system.connect("D", tm.Revolute("y"), system.ground.at((3.5, 0, 0)), rocker)
    mech = system.build()
    run = mech.simulate((0, 2), mech.assemble(fix={"A": -0.6}, rates={"A": 4.0}), rtol=1e-9)
    (line,) = run.plot("energy.total").get_lines()
    (closed,) = run.plot("residual.position").get_lines()
    assert len(line.get_xdata()) > 2 * len(run.t)
    assert np.ptp(line.get_ydata()) < 1.01 * np.ptp(run.energy.total) < 1e-6
    assert closed.get_ydata().max() <= run.residual.position.max()


def test_pictures_without_matplotlib_are_refused_and_nothing_is_left(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (
        lambda path: run.plot("A.q", path=path),
        lambda path: run.energy.plot(path=path),
        lambda path: run.phase("A", path=path),
        run.plot,
    ):
        with pytest.raises(tm.TreemechError, match=r"pip install treemech\[plot\]"):
            draw(tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_a_picture_that_fails_leaves_nothing(run, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        run.plot("A.q", path=tmp_path / "nowhere" / "a.png")

    def full(self, stream, **_):
        stream.write(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", full)
    with pytest.raises(OSError, match="no space"):
        run.plot("A.q", path=tmp_path / "a.png")
    assert not list(tmp_path.iterdir())
