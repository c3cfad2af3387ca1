"""Blocks of results as chunks of a Zarr store: ``xarray.open_zarr("study.zarr")`` reads all runs as one set, piece by piece.

Every variable has one chunk for every block, and every chunk is a file that appears whole or not at all. "success" is
written last: a block counts once that is there. What is not there yet has no number (nan), and neither has its success. Format
2 of Zarr, which every reader knows, with the metadata of all variables in one file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemech.topology import TreemechError

from .store import Store, as_numbers, dimensions_of, plain_name

_STUDY = "treemech_study"  # attribute with the header
_LAST = "success"


class ZarrStore(Store):
    """Group of arrays over all runs."""

    def __init__(self, folder: Path, header: dict[str, Any]) -> None:
        super().__init__(folder, header)
        self._zarr = _zarr()
        self._group = self._zarr.open_group(folder, mode="r+", use_consolidated=False)
        self._arrays: dict[str, Any] = dict(self._group.arrays())
        self._consolidate()  # a process that was killed may have left it undone
        self._there = self._written()

    @classmethod
    def kept(cls, folder: Path) -> dict[str, Any] | None:
        zarr = _zarr()
        if not folder.is_dir():
            return None
        if not (folder / ".zgroup").exists():
            if any(folder.iterdir()):
                raise TreemechError(f"{folder.name!r} has files, but no Zarr store: take another folder.")
            return None
        attributes = zarr.open_group(folder, mode="r", use_consolidated=False).attrs
        if _STUDY not in attributes:
            if any(path.is_dir() for path in folder.iterdir()):
                raise TreemechError(
                    f"{folder.name!r} is a Zarr store of something else than runs: take another folder."
                )
            return None
        header: dict[str, Any] = json.loads(str(attributes[_STUDY]))
        return header

    @classmethod
    def begun(cls, folder: Path, header: dict[str, Any]) -> ZarrStore:
        named = [name for name in map(plain_name, header["varied"]) if " " not in name]
        attributes: dict[str, Any] = {name: header[name] for name in ("title", "source") if name in header}
        attributes |= {"coordinates": " ".join(named), _STUDY: json.dumps(header)}
        _zarr().open_group(folder, mode="a", zarr_format=2).attrs.update(attributes)
        return cls(folder, header)

    # ------------------------------------------------------------ blocks
    def has(self, number: int) -> bool:
        return bool(self._there[number])

    def write(self, number: int, block: dict[str, Any], given: dict[str, Any], first: int) -> None:
        columns = {**given, **block}
        columns["message"] = np.array(columns["message"], dtype=object)
        rows = slice(first, first + len(columns["message"]))
        numbers = {n: x if n == "message" else as_numbers(x) for n, x in columns.items()}
        numbers = {n: x for n, x in numbers.items() if self._tells(n, x)}
        new = [n for n in numbers if plain_name(n) not in self._arrays]
        for name in new:
            self._make(name, numbers[name])
        if new:
            self._make_labels()
            self._consolidate()
        for name in sorted(numbers, key=lambda n: n == _LAST):
            self._arrays[plain_name(name)][rows] = numbers[name]
        self._there[number] = True

    def load(self, number: int, names: set[str] | None = None) -> dict[str, Any]:
        header = self.header
        first = number * header["block"]
        rows = slice(first, min(first + header["block"], header["count"]))
        found: dict[str, Any] = {}
        for key, array in self._arrays.items():
            name = array.attrs.get("long_name", key)
            if array.attrs["_ARRAY_DIMENSIONS"][:1] != ["run"] or (names is not None and name not in names):
                continue
            numbers = array[rows]
            if name == "message":
                found[name] = [str(text) for text in numbers]
            else:
                found[name] = numbers.astype(np.int64 if numbers.dtype.kind == "i" else np.float64)
        for name in (names or set()) - found.keys():  # no run has had it so far
            found[name] = np.full(rows.stop - rows.start, np.nan)
        return found

    # ------------------------------------------------------------ arrays
    def _written(self) -> NDArray[np.bool_]:
        """Return which blocks are there."""
        count, size = self.header["count"], self.header["block"]
        if _LAST not in self._arrays:
            return np.zeros(-(-count // size), dtype=bool)
        return np.asarray(self._arrays[_LAST][:][::size] >= 0)

    def _tells(self, name: str, numbers: Any) -> bool:
        """Tell whether the shape of a result is known: a function of the run says it by its first result."""
        known = plain_name(name) in self._arrays or name in self.header["varied"]
        fixed = known or self.header.get("dimensions", {}).get(name) or numbers.dtype.kind != "f"
        if known and numbers.shape[1:] != self._shape(name, numbers)[1:]:
            return False  # all runs of the block have failed
        return bool(fixed or np.isfinite(numbers).any())

    def _shape(self, name: str, numbers: Any) -> tuple[int, ...]:
        array = self._arrays.get(plain_name(name))
        return numbers.shape if array is None else array.shape  # type: ignore[no-any-return]

    def _make(self, name: str, numbers: Any) -> None:
        """Make the array of a result over all runs."""
        header, kind = self.header, numbers.dtype.kind
        dimensions = dimensions_of(name, numbers.shape, header)
        fill = {"O": "not run", "i": -1}.get(kind, np.nan)
        shape, chunks = (header["count"], *numbers.shape[1:]), (header["block"], *numbers.shape[1:])
        self._add(
            plain_name(name), str if kind == "O" else numbers.dtype, shape, chunks, dimensions, fill, name
        )

    def _make_labels(self) -> None:
        """Make the coordinates of the dimensions that are used."""
        header = self.header
        labels: dict[str, Any] = {"run": np.arange(header["count"])}
        if header.get("time") is not None:
            labels["time"] = np.array(header["time"])
        labels |= {n: np.array(x, dtype=object) for n, x in header.get("labels", {}).items() if len(x)}
        used = {d for a in self._arrays.values() for d in a.attrs["_ARRAY_DIMENSIONS"]}
        for name in (used & labels.keys()) - self._arrays.keys():
            numbers = labels[name]
            kind = str if numbers.dtype == object else numbers.dtype
            self._add(name, kind, numbers.shape, numbers.shape, [name], None, name)[:] = numbers
        if "time" in self._arrays:
            self._arrays["time"].attrs["units"] = "s"

    def _add(
        self, name: str, dtype: Any, shape: tuple[int, ...], chunks: tuple[int, ...], dimensions: list[str], fill: Any, long: str
    ) -> Any:  # fmt: skip
        attributes = {"_ARRAY_DIMENSIONS": dimensions, "long_name": long}
        array = self._group.create_array(
            name, shape=shape, chunks=tuple(max(1, c) for c in chunks), dtype=dtype, fill_value=fill, attributes=attributes
        )  # fmt: skip
        self._arrays[name] = array
        return array

    def _consolidate(self) -> None:
        self._zarr.consolidate_metadata(self.folder, zarr_format=2)


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise TreemechError(
            "Zarr stores need zarr: pip install treemech[zarr]. A path without .zarr gives NetCDF files, which need nothing else."
        ) from None
    return zarr
