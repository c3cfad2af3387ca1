"""Runs as files: npz with numbers and one JSON text; nothing is executed on reading, writing is atomic."""

import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemech.dynamics.integrator import Switch
from treemech.topology import TreemechError

from .events import EventPoints
from .measures import Measure
from .model_info import ModelInfo
from .run import Results, Run

Floats = NDArray[np.float64]
_SCHEMA = "treemech-run-2"
_ARRAYS = ("t", "q", "u", "z", "audit", "measures", *Results._fields)


def save_run(run: Run, path: str | Path) -> Path:
    """Write a run; the file appears whole or not at all."""
    target = Path(path)
    if target.suffix != ".npz":
        target = target.with_name(target.name + ".npz")
    results = run._results()
    measures = np.array([run.measure(name) for name in run._measures]).reshape(-1, len(run.t))
    header = json.dumps(
        {
            "schema": _SCHEMA,
            "model": run.info.as_dict(),
            "success": run.success,
            "message": run.message,
            "method": run.method,
            "statistics": run.statistics,
            "singular": run.singular,
            "switched": run.switched,
            "measures": list(run._measures),
            "events": [points.as_dict() for points in run.events],
        }
    )
    arrays: dict[str, Any] = {
        "t": run.t,
        "q": run.q,
        "u": run.u,
        "z": run.z,
        "audit": run._audit,
        "measures": measures,
    } | results._asdict()
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            np.savez_compressed(stream, header=np.array(header), **arrays)
            stream.flush()
            os.fsync(stream.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # mkstemp makes files for the owner only
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target


def read(path: str | Path) -> Run:
    """Read a run written by `Run.save`. Executes nothing: arrays and text only."""
    name = Path(path).name
    try:
        with np.load(path, allow_pickle=False) as content:
            header = json.loads(str(content["header"]))
            if header.get("schema") != _SCHEMA:
                raise TreemechError(
                    f"{name} has schema {header.get('schema')!r}; this version reads {_SCHEMA!r}."
                )
            arrays = [np.asarray(content[array], dtype=np.float64) for array in _ARRAYS]
    except FileNotFoundError:
        raise
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
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
        measures={n: _kept(n, row) for n, row in zip(header["measures"], measures, strict=True)},
    )
    run.events = [EventPoints.from_dict(points) for points in header.get("events", ())]
    return run


def _kept(name: str, values: Floats) -> Measure:
    """A measure that is known by its values."""
    return Measure(name, lambda run: values)
