"""Runs for other programs: data sets with the names the user gave, and NetCDF files of them."""

import builtins
from pathlib import Path

import numpy as np
import pytest

import treemech as tm
from treemech.files.dataset import to_xarray


@pytest.fixture(scope="module")
def run():
    system = tm.System("Kran 1/2", gravity=(0, 0, -9.81))
    ground = system.ground
    arm = system.body("Arm/links ä", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0, 0))
    rod = system.body("rod", mass=1.0, inertia=(0.1, 0.1, 0.1))
    ball = system.body("ball", mass=0.5, inertia=(0.1, 0.1, 0.1))
    system.connect("A", tm.Revolute("y"), ground, arm)
    system.connect("lift", tm.Cylindrical("z"), ground.at((0, 3, 0)), system.body("cage", 1.0, (1, 1, 1)))
    system.connect("B", tm.Revolute("y"), arm.at((1, 0, 0)), rod)
    slot = tm.Series(tm.Prismatic("x"), tm.Revolute("y"))
    system.connect("C", slot, ground, rod.at((1.5, 0, 0)), role="chord")
    system.connect("wrist", tm.Ball(), arm.at((0.3, 0, 0)), ball.at((0, 0, 0.2)))
    system.connect("spring", tm.Spring(40.0, length=0.8), ground.at((0.5, 0, 1)), arm.at((1, 0, 0)))
    system.connect("bush", tm.Bushing([1.0] * 6), arm, ball)
    system.connect("motor", tm.ElectricMotor(0.1, 2.0, 0.05), "A", inputs={"voltage": "throttle"})
    system.input("throttle", tm.Harmonic(1.0, 3.0))
    system.measure("height of the arm", f"{arm.name}.position[2]")
    system.prescribe("lift", tm.Harmonic(0.1, 2.0), coordinate=1)
    mech = system.build()
    return mech.simulate(
        (0, 0.3), mech.assemble(fix={"A": 0.3}, guess={"B": -0.5}), rtol=1e-8, t_eval=np.linspace(0, 0.3, 7)
    )


@pytest.fixture(scope="module")
def data(run):
    pytest.importorskip("xarray")
    return run.to_xarray()


def test_what_a_run_says_by_name_is_found_by_name(run, data):
    arm = "Arm/links ä"
    np.testing.assert_array_equal(data.time, run.t)
    np.testing.assert_array_equal(data.q.sel(coordinate="A"), run.connection("A").q)
    np.testing.assert_array_equal(
        data.q.sel(coordinate=["wrist[0]", "wrist[3]"]), run.connection("wrist").q[:, [0, 3]]
    )
    np.testing.assert_array_equal(data.u.sel(speed="lift[1]"), run.connection("lift").u[:, 1])
    np.testing.assert_array_equal(data.ud, run.ud)
    np.testing.assert_array_equal(data.cut_q.sel(cut_coordinate=["C[0]", "C[1]"]), run.connection("C").q)
    for name in (
        "position",
        "velocity",
        "angular_velocity",
        "acceleration",
        "angular_acceleration",
        "rotation",
    ):
        np.testing.assert_array_equal(data[name].sel(body=arm), getattr(run.body(arm), name))
    np.testing.assert_array_equal(data.position.sel(body="rod", axis="z"), run.body("rod").position[:, 2])
    for name in ("A", "C", "wrist"):
        np.testing.assert_array_equal(data.force.sel(connection=name), run.connection(name).force)
        np.testing.assert_array_equal(data.moment.sel(connection=name), run.connection(name).moment)
    np.testing.assert_array_equal(data.drive.sel(prescribed="lift[1]"), run.drive("lift", 1))
    total = data.kinetic_energy + data.potential_energy + data.stored_energy
    np.testing.assert_allclose(total, run.energy.total, rtol=1e-15)
    np.testing.assert_array_equal(data.effort.sel(effort_of="spring"), run.element("spring").effort)
    np.testing.assert_array_equal(data.effort.sel(effort_of="bush[4]"), run.element("bush").effort[:, 4])
    np.testing.assert_array_equal(data.element_power.sel(element="motor"), run.element("motor").power)
    np.testing.assert_array_equal(data.input.sel(input_name="throttle"), run.input("throttle"))
    np.testing.assert_array_equal(
        data.measure.sel(measure_name="height of the arm"), run.measure("height of the arm")
    )


def test_units_and_attributes_go_with_them(run, data):
    units = {name: str(x) for name, x in zip(data.coordinate.values, data.coordinate_units.values)}
    assert (units["A"], units["lift[0]"], units["lift[1]"], units["wrist[2]"]) == ("rad", "rad", "m", "1")
    units = {name: str(x) for name, x in zip(data.speed.values, data.speed_units.values)}
    assert (units["A"], units["lift[1]"], units["wrist[2]"]) == ("rad/s", "m/s", "rad/s")
    assert data.time.units == "s" and data.velocity.units == "m/s" and data.moment.units == "N m"
    assert (
        data.attrs["title"] == "Kran 1/2"
        and data.attrs["success"] == 1
        and data.attrs["message"] == run.message
    )
    assert data.attrs["statistics_steps"] == run.statistics["steps"]


def test_netcdf_keeps_all_of_it(run, data, tmp_path):
    path = run.save(tmp_path / "run.nc")
    back = tm.read(path)
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]
    assert back.identical(data)
    other = path.rename(tmp_path / "no name to go by")  # the content decides
    assert tm.read(other).identical(data)


def test_a_run_read_from_npz_gives_the_same_data(run, data, tmp_path):
    assert tm.read(run.save(tmp_path / "run")).to_xarray().identical(data)


def test_a_run_that_never_started_has_a_data_set(run, data, tmp_path):
    results = run._results()
    empty = type(results)(*(x[:0] for x in results))._replace(unique=results.unique)
    none = tm.Run(run._info, run.t[:0], run.q[:0], run.u[:0], False, "failed", computed=empty)
    back = tm.read(none.save(tmp_path / "none.nc"))
    assert back.sizes["time"] == 0 and back.attrs["success"] == 0


def test_a_system_without_coordinates_and_elements_has_a_data_set(tmp_path):
    pytest.importorskip("xarray")
    system = tm.System("still")
    system.connect(
        "weld", tm.Moving(x=tm.Harmonic(1.0, 2.0)), system.ground, system.body("b", 1.0, (1, 1, 1))
    )
    mech = system.build()
    run = mech.simulate((0, 0.1), mech.state())
    back = tm.read(run.save(tmp_path / "still.nc"))
    np.testing.assert_array_equal(back.position.sel(body="b"), run.body("b").position)
    assert "q" not in back and "effort" not in back


def test_without_xarray_the_message_says_what_to_install(run, tmp_path, monkeypatch):
    imported = builtins.__import__

    def refuse(name, *rest):
        if name.partition(".")[0] == "xarray":
            raise ImportError(name)
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(tm.TreemechError, match=r"pip install treemech\[xarray\]"):
        to_xarray(run)
    with pytest.raises(tm.TreemechError, match=r"pip install treemech\[xarray\]"):
        run.save(tmp_path / "run.nc")
    Path(tmp_path / "old.nc").write_bytes(b"CDF\x01")
    with pytest.raises(tm.TreemechError, match=r"pip install treemech\[xarray\]"):
        tm.read(tmp_path / "old.nc")


def test_a_torn_netcdf_file_is_refused_by_name(run, data, tmp_path):
    path = run.save(tmp_path / "run.nc")
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(tm.TreemechError, match=r"run.nc cannot be read as NetCDF"):
        tm.read(path)
