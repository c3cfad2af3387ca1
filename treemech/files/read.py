"""Files: runs as npz with numbers and one JSON text; the reader of all kinds of files.

Reading executes nothing.
"""

import json
import zipfile
import zlib
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import numpy as np

from treemech.dynamics.simulation.integrator import Switch
from treemech.dynamics.simulation.report import Report
from treemech.topology import TreemechError

from ..results.computed import Results
from ..results.measures import all_measures, known_measure
from ..results.model_info import ModelInfo
from ..results.run import Run
from ..simulation.events import EventPoints
from .atomic import as_path, atomic, with_suffix

_SCHEMA = "treemech-run-2"
_ARRAYS = ("t", "q", "u", "z", "audit", "measures", *Results._fields)
_NEW = ("couplings",)  # which files of older versions do not have


def save_run(run: Run, path: str | Path) -> Path:
    """Write a run, whole, as npz, or what it says by name as NetCDF; the file appears whole or not at all."""
    target = with_suffix(path, ".npz", "run.save", ".nc")
    if target.suffix == ".nc":
        from .dataset import save_netcdf

        return save_netcdf(run, target)
    results = run._results()
    measures = all_measures(run)
    header = json.dumps(
        {
            "schema": _SCHEMA,
            "model": run._info.as_dict(),
            "success": run.success,
            "message": run.message,
            "method": run.method,
            "statistics": run.statistics,
            "singular": run.singular,
            "switched": run.switched,
            "measures": list(measures),
            "events": [points.as_dict() for points in run.events],
            "states": run._nx,
            "work": {name: work.tolist() for name, work in run._work.items()},
            "drawing": run._sketch(),
            "report": None if run.report is None else run.report._asdict(),
        }
    )
    arrays: dict[str, Any] = {
        "t": run.t,
        "q": run.q,
        "u": run.u,
        "z": run.z,
        "audit": run._audit,
        "measures": np.array([*measures.values()]).reshape(-1, len(run.t)),
    } | results._asdict()
    with atomic(target) as stream:
        np.savez_compressed(stream, header=np.array(header), **arrays)
    return target


def read(path: str | Path, **options: Any) -> Any:
    """Read what `Run.save` or `System.save` wrote, or the model of another program.

    A run (npz), a system (JSON), an xarray data set (NetCDF); a robot as URDF, MJCF or SDF becomes a System; the folder
    or Zarr store of a study, `ManyRuns`. The content
    decides, not the name. Executes nothing: numbers, texts and names of elements only.

    For robots: ``strict=True`` makes an error of anything that the file says and the system would not have (else it is in
    ``system.unsupported``, with a warning). URDF: ``floating=True`` gives the root link a free hinge, ``loops="robot.yaml"`` names a
    side file with loops to close; one beside the file, of the same name, is found by itself.
    """
    path = as_path(path, "read")
    if path.is_dir():
        from ..many.runs import ManyRuns
        from ..many.storage.store import is_study

        if is_study(path):
            return ManyRuns.read(path)
    with open(path, "rb") as stream:
        start = stream.read(4096)
    if start.removeprefix(BOM_UTF8).lstrip().startswith(b"<"):
        from ..imports.reader import read_robot

        return read_robot(Path(path), **options)
    if options:
        raise TreemechError(
            f"read: {Path(path).name} takes no options; {', '.join(options)} is for robots (URDF, MJCF, SDF)."
        )
    if start.startswith(b"PK"):
        return read_run(path)
    if start.startswith((b"CDF", b"\x89HDF")):
        from .dataset import read_netcdf

        return read_netcdf(Path(path))
    if start.removeprefix(BOM_UTF8).lstrip().startswith(b"{"):
        from .models import read_system

        try:
            return read_system(Path(path).read_text(encoding="utf-8-sig"), Path(path).name)
        except UnicodeDecodeError as error:
            raise TreemechError(f"{Path(path).name} is no text in UTF-8: {error}") from None
    raise TreemechError(
        f"{Path(path).name} is neither a treemech run (npz, nc) nor a treemech model (json), nor a robot (URDF, MJCF, SDF)."
    )


def read_run(path: str | Path) -> Run:
    """Return a run from an npz file."""
    name = Path(path).name
    try:
        with np.load(path, allow_pickle=False) as content:
            header = json.loads(str(content["header"]))
            if header.get("schema") != _SCHEMA:
                raise TreemechError(
                    f"{name} has schema {header.get('schema')!r}; this version reads {_SCHEMA!r}."
                )
            none = np.zeros((len(content["t"]), 0))
            arrays = [
                none
                if array in _NEW and array not in content
                else np.asarray(content[array], dtype=np.float64)
                for array in _ARRAYS
            ]
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise TreemechError(f"{name} is not a treemech run: {error}") from None
    t, q, u, z, audit, measures, *results = arrays
    run = Run(
        ModelInfo.from_dict(header["model"]),
        t,
        q,
        u,
        bool(header["success"]),
        str(header["message"]),
        str(header["method"]),
        dict(header["statistics"]),
        computed=Results(*results),
        z=z,
        audit=audit,
        singular=[(float(t), str(name)) for t, name in header["singular"]],
        switched=[Switch(float(t), str(name), bool(holds)) for t, name, holds in header["switched"]],
        measures={n: known_measure(n, row) for n, row in zip(header["measures"], measures, strict=True)},
    )
    run.events = [EventPoints.from_dict(points, run._info) for points in header.get("events", ())]
    run._nx = header.get("states")  # older files have neither
    run._drawing = header.get("drawing")
    run._work = {str(n): np.array(x, dtype=np.float64) for n, x in header.get("work", {}).items()}
    if header.get("report"):
        run.report = Report(**header["report"] | {"advice": tuple(header["report"]["advice"])})
    return run
