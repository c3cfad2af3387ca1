"""Runs for other programs: xarray data sets, and NetCDF files of them.

All names of the user are labels of coordinates: ``data.position.sel(body="rod", axis="x")``. A data set holds
the results of a run by name; the complete run is saved in an npz file.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from .. import __version__
from ..results.measures import all_measures
from ..results.model_info import HingeInfo
from ..results.naming import Place, numbered
from ..results.run import Run
from ..results.units import UNKNOWN, unit_of
from .atomic import atomic

_INSTALL = "pip install treemech[xarray]"
_BODY = {
    "position": "m",
    "rotation": "1",
    "velocity": "m/s",
    "angular_velocity": "rad/s",
    "acceleration": "m/s2",
    "angular_acceleration": "rad/s2",
}
_ELEMENT = {"energy": "J", "dissipated": "W", "supplied": "W", "power": "W"}


def to_xarray(run: Run) -> Any:
    """Return a data set of a run over time, labelled by body, connection, coordinate, element, input and measure."""
    data = xarray().Dataset(attrs=_attributes(run))
    data.coords["time"] = ("time", run.t, {"units": "s"})
    n, info, results, axes = len(run.t), run._info, run._results(), {"axis": ["x", "y", "z"]}

    def put(name: str, labels: Mapping[str, Sequence[str]], columns: Any, units: str, what: str) -> None:
        """Add a variable over time and these labels; add nothing if there are no labels."""
        if not all(labels.values()):
            return
        data.coords.update({dimension: list(names) for dimension, names in labels.items()})
        attributes = {"long_name": what} | ({"units": units} if units else {})
        numbers = np.reshape(np.asarray(columns, dtype=np.float64), (n, *map(len, labels.values())))
        data[name] = (("time", *labels), numbers, attributes)

    coordinates, speeds = _labels(info.hinges, "q"), _labels(info.hinges, "u")
    put("q", {"coordinate": coordinates}, run.q, "", "Lagrange coordinates, in coordinate_units")
    put("u", {"speed": speeds}, run.u, "", "speeds, in speed_units")
    put("ud", {"speed": speeds}, run.ud, "", "rates of the speeds, in speed_units per s")
    if speeds:
        data.coords["coordinate_units"] = ("coordinate", _units(info.hinges, "q"))
        data.coords["speed_units"] = ("speed", _units(info.hinges, "u"))
    cut = {"cut_coordinate": _labels(info.chords, "q")}
    put("cut_q", cut, results.cut_q, "", "coordinates of cut hinges [rad, m]")

    bodies = [b.name for b in info.bodies[1:]]
    motions = [run.body(b) for b in bodies]
    for name, units in _BODY.items():
        labels = {"body": bodies} | axes | ({"body_axis": axes["axis"]} if name == "rotation" else {})
        put(
            name,
            labels,
            _stacked([getattr(m, name) for m in motions]),
            units,
            f"{name} of bodies, world axes",
        )
    connections = [h.name for h in info.hinges] + [c.name for c in info.chords]
    loads = [run.connection(c) for c in connections]
    for name, units in (("force", "N"), ("moment", "N m")):
        what = f"{name} on the body of end b, at that end, world axes"
        labels = {"connection": connections} | axes
        put(name, labels, _stacked([getattr(load, name) for load in loads]), units, what)
    drives = {str(Place(h, str(k))): run.drive(h, k) for h, k, _ in info.prescribed}
    put(
        "drive", {"prescribed": list(drives)}, _stacked(list(drives.values())), "", "loads of drives [N m, N]"
    )

    for name in ("kinetic", "potential", "stored"):
        put(f"{name}_energy", {}, getattr(run.energy, name), "J", f"{name} energy")
    elements = {e.name: run.element(e.name) for e in info.elements}
    for name, units in _ELEMENT.items():
        columns = _stacked([getattr(e, name) for e in elements.values()])
        put(f"element_{name}", {"element": list(elements)}, columns, units, f"{name} of elements")
    for name in ("deformation", "effort"):
        found = {e: np.atleast_2d(getattr(motion, name).T) for e, motion in elements.items()}
        rows = {n: row for e, x in found.items() for n, row in zip(numbered(e, len(x)), x, strict=True)}
        put(name, {f"{name}_of": list(rows)}, _stacked(list(rows.values())), "", f"{name} of elements")
    inputs = {name: run.input(name) for name, _, _ in info.inputs}
    put("input", {"input_name": list(inputs)}, _stacked(list(inputs.values())), "", "inputs of elements")
    measures = all_measures(run)
    put("measure", {"measure_name": list(measures)}, _stacked(list(measures.values())), "", "measures")
    return data


def save_netcdf(run: Run, target: Path) -> Path:
    """Write the data set of a run as NetCDF 3; the file appears whole or not at all."""
    content = to_xarray(run).to_netcdf(engine="scipy")
    with atomic(target) as stream:
        stream.write(bytes(content))
    return target


def read_netcdf(path: Path) -> Any:
    """Return the data set of a NetCDF file, in memory."""
    try:
        return xarray().load_dataset(path)
    except Exception as error:  # its backends may raise anything
        raise TreemechError(f"{path.name} cannot be read as NetCDF: {error}") from None


def xarray() -> Any:
    try:
        import xarray
    except ImportError:
        raise TreemechError(f"data sets and NetCDF files need xarray: {_INSTALL}.") from None
    return xarray


def _attributes(run: Run) -> dict[str, Any]:
    return {
        "title": run._info.name,
        "source": f"treemech {__version__}",
        "method": run.method,
        "success": int(run.success),
        "message": run.message,
        "gravity": np.array(run._info.gravity),
        **{f"statistics_{name}": int(n) for name, n in run.statistics.items()},
    }


def _labels(infos: Sequence[Any], what: str) -> list[str]:
    """Return the names of all coordinates or speeds, in the order of the columns: "A", "C[0]", "C[1]"."""
    named = []
    for info in sorted(infos, key=lambda i: getattr(i, what)):
        named += numbered(info.name, getattr(info, f"n{what}"))
    return named


def _units(hinges: Sequence[HingeInfo], what: str) -> list[str]:
    return [
        unit_of(h.units, h.euler_parameters, what, k) or UNKNOWN
        for h in sorted(hinges, key=lambda h: getattr(h, what))
        for k in range(getattr(h, f"n{what}"))
    ]


def _stacked(columns: Sequence[Floats]) -> Any:
    """Return arrays, one for each label, stacked along an axis after time."""
    return np.stack(columns, axis=1) if columns else ()
