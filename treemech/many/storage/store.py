"""What keeps the blocks of one study on the disk, whatever their format.

A block counts once all of it is written, so whatever ends the work, the blocks that count are good, and the rest can be
computed later. The header says what the results are and of what; another study is refused by name.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

SCHEMA = "treemech-runs-1"


class Store(ABC):
    """Folder with the blocks of one study."""

    def __init__(self, folder: Path, header: dict[str, Any]) -> None:
        self.folder, self.header = folder, header

    @classmethod
    @abstractmethod
    def kept(cls, folder: Path) -> dict[str, Any] | None:
        """Return the header of a study that is there; None if there is none."""

    @classmethod
    @abstractmethod
    def begun(cls, folder: Path, header: dict[str, Any]) -> Store:
        """Begin a study in a folder that is there."""

    @abstractmethod
    def has(self, number: int) -> bool:
        """Tell whether a block is there."""

    @abstractmethod
    def write(self, number: int, block: dict[str, Any], given: dict[str, Any], first: int) -> None:
        """Write a block of results, and the parameters of its runs, of which the first has this number."""

    @abstractmethod
    def load(self, number: int, names: set[str] | None = None) -> dict[str, Any]:
        """Return a block, or some of its variables."""


def opened(path: str | Path, header: dict[str, Any]) -> Store:
    """Begin a study in a folder, or go on with one that is there and the same. A folder `*.zarr` is a Zarr store."""
    folder, header = Path(path), json.loads(json.dumps({"schema": SCHEMA, **header}))
    if folder.is_file():
        raise TreemechError(f"{folder.name!r} is a file; wanted a folder for the blocks of results.")
    kind = _kind(folder)
    there = kind.kept(folder)
    if there is None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TreemechError(f"the folder {str(folder)!r} cannot be made: {error.strerror}.") from None
        return kind.begun(folder, header)
    _refuse_schema(folder, there)
    for name in {**there["identity"], **header["identity"]}:
        if there["identity"].get(name) != header["identity"].get(name):
            raise TreemechError(
                f"{folder.name!r} holds the results of other runs: {name} is another one. Take another folder, or "
                "remove this one."
            )
    return kind(folder, there)


def read(path: str | Path) -> Store:
    """Open a study that is there."""
    folder = Path(path)
    kind = _kind(folder)
    header = kind.kept(folder)
    if header is None:
        raise TreemechError(f"{folder.name!r} is no folder of runs: it has no description of a study.")
    _refuse_schema(folder, header)
    return kind(folder, header)


def is_study(path: Path) -> bool:
    """Tell whether a path is a folder that looks like a study."""
    return (path / "study.json").is_file() or (path.suffix == ".zarr" and path.is_dir())


def _refuse_schema(folder: Path, header: dict[str, Any]) -> None:
    if header.get("schema") != SCHEMA:
        raise TreemechError(
            f"{folder.name!r} was written by another version: schema {header.get('schema')!r}."
        )


def _kind(folder: Path) -> type[Store]:
    if folder.suffix == ".zarr":
        from .zarr_store import ZarrStore

        return ZarrStore
    from .netcdf import NetcdfBlocks

    return NetcdfBlocks


def plain_name(name: str) -> str:
    """Return a name that files take; the name itself is the attribute long_name.

    >>> plain_name("max A.q/l")
    'max A.q_l'
    """
    return "".join(c if c.isalnum() or c in "_.-@+ ()," else "_" for c in name).strip() or "_"


def as_numbers(array: Any) -> Floats:
    """Return a result as the numbers that are written: whole ones of 4 bytes, others of 8."""
    numbers = np.asarray(array)
    return numbers.astype(np.int32 if numbers.dtype.kind in "bi" else np.float64)


def dimensions_of(name: str, shape: tuple[int, ...], header: dict[str, Any]) -> list[str]:
    """Return the names of the dimensions of a result over the runs."""
    known = header.get("dimensions", {}).get(name, [])
    own = known if len(known) == len(shape) - 1 else [f"{name}_{k}" for k in range(1, len(shape))]
    return ["run", *map(plain_name, own)]
