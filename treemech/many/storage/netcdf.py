"""Blocks of results as NetCDF files, one for each, beside a description of the study.

A file appears whole or not at all. Other programs read the folder too: ``xarray.open_mfdataset("study/*.nc", combine="nested",
concat_dim="run")``.
"""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from treemech.topology import TreemechError

from ...files.atomic import atomic
from .store import Store, as_numbers, dimensions_of, plain_name

_HEADER = "study.json"


class NetcdfBlocks(Store):
    """Folder with a description, and one NetCDF file for every block."""

    @classmethod
    def kept(cls, folder: Path) -> dict[str, Any] | None:
        file = folder / _HEADER
        if not file.exists():
            if any(folder.glob("block-*.nc")):
                raise TreemechError(
                    f"{folder.name!r} has blocks of results, but no {_HEADER}: take another folder."
                )
            return None
        try:
            header: dict[str, Any] = json.loads(file.read_text())
        except (OSError, ValueError) as error:
            raise TreemechError(f"{folder.name!r} is no folder of runs: {error}") from None
        return header

    @classmethod
    def begun(cls, folder: Path, header: dict[str, Any]) -> NetcdfBlocks:
        with atomic(folder / _HEADER) as stream:
            stream.write(json.dumps(header, indent=1).encode())
        return cls(folder, header)

    def path(self, number: int) -> Path:
        return self.folder / f"block-{number:06d}.nc"

    def has(self, number: int) -> bool:
        return self.path(number).exists()

    def write(self, number: int, block: dict[str, Any], given: dict[str, Any], first: int) -> None:
        content = encoded(block, given, first, self.header)
        with atomic(self.path(number)) as stream:
            stream.write(content)

    def load(self, number: int, names: set[str] | None = None) -> dict[str, Any]:
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
        numbers = as_numbers(array)
        dimensions = dimensions_of(name, numbers.shape, header)
        for dimension, size in zip(dimensions, numbers.shape, strict=True):
            if dimension not in file.dimensions:
                file.createDimension(dimension, size)
        variable = file.createVariable(
            plain_name(name), numbers.dtype.char if numbers.dtype.kind == "f" else "i", tuple(dimensions)
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
