"""Results of many runs on the disk: a folder with a description, and one NetCDF file for every block of runs.

A block is written whole or not at all, so whatever ends the work, the blocks that are there are good, and the rest can be
computed later. Other programs read the folder too: ``xarray.open_mfdataset("study/*.nc", combine="nested",
concat_dim="run")``.
"""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from treemech.topology import TreemechError

from ..files.atomic import atomic

_SCHEMA, _HEADER = "treemech-runs-1", "study.json"


class Store:
    """Folder with the blocks of one study."""

    def __init__(self, folder: Path, header: dict[str, Any]) -> None:
        self.folder, self.header = folder, header

    @classmethod
    def open(cls, path: str | Path, header: dict[str, Any]) -> Store:
        """Make a folder, or go on with one that holds the same study."""
        folder, header = Path(path), json.loads(json.dumps({"schema": _SCHEMA, **header}))
        if folder.is_file():
            raise TreemechError(f"{folder.name!r} is a file; wanted a folder for the blocks of results.")
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / _HEADER
        if file.exists():
            there = cls.read(folder).header
            for name in {**there["identity"], **header["identity"]}:
                if there["identity"].get(name) != header["identity"].get(name):
                    raise TreemechError(
                        f"{folder.name!r} holds the results of other runs: {name} is another one. Take another folder, or "
                        "remove this one."
                    )
            return cls(folder, there)
        if any(folder.glob("block-*.nc")):
            raise TreemechError(
                f"{folder.name!r} has blocks of results, but no {_HEADER}: take another folder."
            )
        with atomic(file) as stream:
            stream.write(json.dumps(header, indent=1).encode())
        return cls(folder, header)

    @classmethod
    def read(cls, path: str | Path) -> Store:
        """Open a folder that is there."""
        folder = Path(path)
        try:
            header = json.loads((folder / _HEADER).read_text())
        except (OSError, ValueError) as error:
            raise TreemechError(f"{folder.name!r} is no folder of runs: {error}") from None
        if header.get("schema") != _SCHEMA:
            raise TreemechError(
                f"{folder.name!r} was written by another version: schema {header.get('schema')!r}."
            )
        return cls(folder, header)

    def path(self, number: int) -> Path:
        return self.folder / f"block-{number:06d}.nc"

    def has(self, number: int) -> bool:
        return self.path(number).exists()

    def write(self, number: int, block: dict[str, Any], given: dict[str, Any], first: int) -> None:
        """Write a block of results, and the parameters of its runs."""
        content = encoded(block, given, first, self.header)
        with atomic(self.path(number)) as stream:
            stream.write(content)

    def load(self, number: int, names: set[str] | None = None) -> dict[str, Any]:
        """Return a block, or some of its variables."""
        return decoded(self.path(number), names)


def encoded(block: dict[str, Any], given: dict[str, Any], first: int, header: dict[str, Any]) -> bytes:
    """Return a block as a NetCDF file."""
    from scipy.io import netcdf_file

    raw = BytesIO()
    file = netcdf_file(raw, "w", version=2)
    messages = [m.encode() for m in block["message"]]
    count, width = len(messages), max([1, *map(len, messages)])
    file.createDimension("run", count)
    file.createDimension("letter", width)
    own = {"run": np.arange(first, first + count, dtype=np.float64), **given}
    text = np.zeros((count, width), dtype="S1")
    for k, message in enumerate(messages):
        text[k, : len(message)] = np.frombuffer(message, dtype="S1")
    variable = file.createVariable("message", "c", ("run", "letter"))
    variable[:] = text
    variable._Encoding = "utf-8"
    times = header.get("time")
    if times is not None:
        file.createDimension("time", len(times))
        file.createVariable("time", "d", ("time",))[:] = np.array(times)
    labels = header.get("labels", {})
    for name, array in {**own, **{k: v for k, v in block.items() if k != "message"}}.items():
        numbers = np.asarray(array)
        numbers = numbers.astype(np.int32 if numbers.dtype.kind in "bi" else np.float64)
        dimensions = ["run"]
        for axis, size in enumerate(numbers.shape[1:], 1):
            known = header.get("dimensions", {}).get(name, [])
            dimension = known[axis - 1] if len(known) == numbers.ndim - 1 else f"{name}_{axis}"
            dimensions.append(_safe(dimension))
            if _safe(dimension) not in file.dimensions:
                file.createDimension(_safe(dimension), size)
        variable = file.createVariable(
            _safe(name), numbers.dtype.char if numbers.dtype.kind == "f" else "i", tuple(dimensions)
        )
        variable[...] = numbers
        variable.long_name = name
        for dimension in dimensions[1:]:
            if dimension in labels:
                setattr(variable, f"{dimension}_names", ", ".join(labels[dimension]))
    file.flush()
    return raw.getvalue()


def decoded(path: Path, names: set[str] | None = None) -> dict[str, Any]:
    """Return the variables of a block by their names."""
    from scipy.io import netcdf_file

    found: dict[str, Any] = {}
    with netcdf_file(str(path), "r", mmap=False) as file:
        for key, variable in file.variables.items():
            name = variable.long_name.decode() if hasattr(variable, "long_name") else key
            if names is not None and name not in names:
                continue
            if key == "message":
                found[name] = [b"".join(row).rstrip(b"\0").decode() for row in np.array(variable[:])]
            else:
                numbers = np.array(variable[...])
                found[name] = numbers.astype(np.int64 if numbers.dtype.kind == "i" else np.float64)
    return found


def _safe(name: str) -> str:
    """Return a name that NetCDF takes; the name itself is the attribute long_name."""
    return "".join(c if c.isalnum() or c in "_.-@+ ()," else "_" for c in name).strip() or "_"
