"""Results of many runs, in memory or in blocks on the disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.topology import TopologyError, unknown
from treemech.topology.arrays import Floats

from .storage.store import Store, read

_ABOUT = ("success", "message", "t_reached", "steps", "evaluations")


class Failure(NamedTuple):
    """A run that did not reach its end."""

    run: int
    message: str
    t: float  # reached [s]; nan if it did not start
    parameters: dict[str, float]


class ManyRuns:
    """Results of many runs, a row for each in the order in which they were given.

    ``runs["max A.q"]`` is a variable: (N,) of scalars, (N, times) of measures over time, (N, ..., nq) of "q". A run that failed
    has nan there, and a record in `failures`.

    Attributes
    ----------
    parameters : dict of arrays (N,)
        Parameters and inputs in which the runs differ.
    time : array or None
        Output times.
    complete : bool
        False if the work was interrupted: runs that are missing have failed with the message "not run".
    """

    def __init__(
        self,
        count: int,
        parameters: Mapping[str, Floats],
        header: dict[str, Any],
        blocks: dict[int, dict[str, Any]] | None,
        store: Store | None,
    ) -> None:
        self.parameters, self.time = (
            dict(parameters),
            None if header.get("time") is None else np.array(header["time"]),
        )
        self._count, self._header, self._blocks, self._store = count, header, blocks, store
        self._size = int(header["block"])
        self._cache: dict[str, Any] = {}

    @classmethod
    def read(cls, path: str | Path) -> ManyRuns:
        """Read results from a folder; variables are read when they are asked for."""
        store = read(path)
        found = cls(int(store.header["count"]), {}, store.header, None, store)
        found.parameters = {name: found._joined(name) for name in store.header["varied"]}
        return found

    @property
    def n_blocks(self) -> int:
        return -(-self._count // self._size)

    def has(self, number: int) -> bool:
        """Tell whether a block is there."""
        return (
            number in self._blocks
            if self._blocks is not None
            else self._store is not None and self._store.has(number)
        )

    def block(self, number: int) -> dict[str, Any]:
        """Return the variables of a block of runs: for results that are larger than the memory."""
        if self._blocks is not None:
            return self._blocks[number]
        assert self._store is not None
        return self._store.load(number)

    def blocks(self) -> Iterator[dict[str, Any]]:
        """Go through the blocks that are there."""
        return (self.block(k) for k in range(self.n_blocks) if self.has(k))

    @property
    def complete(self) -> bool:
        return all(self.has(k) for k in range(self.n_blocks))

    @property
    def variables(self) -> list[str]:
        """Names of the results."""
        return list(self._header["variables"])

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, name: str) -> Floats:
        if name in self.parameters:
            return self.parameters[name]
        known = [*self.variables, *_ABOUT]
        if name not in known:
            raise TopologyError(unknown("result", name, [*self.parameters, *known]))
        found: Floats = self._joined(name)
        return found

    def _joined(self, name: str) -> Any:
        if name in self._cache:
            return self._cache[name]
        parts = [self._part(k, name) for k in range(self.n_blocks)]
        if name == "message":
            found: Any = [m for part in parts for m in part]
        else:  # a function of the Run says its shape where it has a result
            shape = max((np.shape(part)[1:] for part in parts), key=len)
            whole = [x if np.shape(x)[1:] == shape else np.full((len(x), *shape), np.nan) for x in parts]
            found = np.concatenate(whole)
        if name == "success":
            found = found.astype(bool)
        if self._store is None or name in _ABOUT or np.size(found) < 2_000_000:
            self._cache[name] = found
        return found

    def _part(self, number: int, name: str) -> Any:
        """Return a variable of one block."""
        size = min(self._size, self._count - number * self._size)
        if not self.has(number):
            blank = 0 if name in ("success", "steps", "evaluations") else np.nan
            return ["not run"] * size if name == "message" else np.full(size, blank)
        return self.block(number)[name] if self._store is None else self._store.load(number, {name})[name]

    @property
    def success(self) -> NDArray[np.bool_]:
        """Which runs reached their end."""
        found: Any = self["success"]
        return np.asarray(found, dtype=bool)

    @property
    def failures(self) -> list[Failure]:
        """Runs that did not reach their end, and why."""
        message, t = self["message"], self["t_reached"]
        return [
            Failure(k, str(message[k]), float(t[k]), {n: float(x[k]) for n, x in self.parameters.items()})
            for k in np.flatnonzero(~self.success).tolist()
        ]

    @property
    def summary(self) -> str:
        """How many runs failed, and why, in one line."""
        from collections import Counter

        reasons = Counter(f.message for f in self.failures).most_common()
        told = " ".join(m if n == 1 else f"{n} times: {m}" for m, n in reasons[:3])
        more = f" ... ({len(reasons) - 3} more reasons)" if len(reasons) > 3 else ""
        return f"{sum(n for _, n in reasons)} of {len(self)} runs failed" + (
            f": {told}{more}" if reasons else "."
        )

    def __repr__(self) -> str:
        failed = int(np.sum(~self.success))
        return f"ManyRuns({len(self)} runs, {failed} failed; {', '.join(self.variables)})"

    # ------------------------------------------------------------ other programs
    def to_xarray(self) -> Any:
        """Return a data set over run, and time where there is one, with the names of coordinates."""
        from ..files.dataset import xarray

        data = xarray().Dataset(attrs={"title": self._header["title"], "source": self._header["source"]})
        data.coords["run"] = np.arange(len(self))
        if self.time is not None:
            data.coords["time"] = ("time", self.time, {"units": "s"})
        for dimension, names in self._header["labels"].items():
            data.coords[dimension] = list(names)
        for name, x in self.parameters.items():
            data.coords[name] = ("run", x)
        for name in (*_ABOUT, *self.variables):
            values = self[name]
            dimensions = self._header["dimensions"].get(name, [])
            ndim = np.ndim(values)
            if len(dimensions) != ndim - 1:
                dimensions = [f"{name}_{k}" for k in range(1, ndim)]
            data[name] = (("run", *dimensions), np.asarray(values))
        return data

    def to_pandas(self) -> Any:
        """Return a table with a row for every run: parameters, results that are one number, how it went."""
        from ..files.tables import pandas

        columns: dict[str, Any] = dict(self.parameters)
        for name in self.variables:
            values, labels = self[name], self._header["dimensions"].get(name, [])
            if np.ndim(values) == 1:
                columns[name] = values
            elif np.ndim(values) == 2 and labels and labels[0] in self._header["labels"]:
                for k, label in enumerate(self._header["labels"][labels[0]]):
                    columns[f"{label}.{name}"] = values[:, k]
        return pandas().DataFrame(columns | {"success": self.success, "message": self["message"]})

    def scatter(self, x: str, y: str, color: str | None = None, ax: Any = None) -> Any:
        """Draw one column over another, coloured by a third (needs matplotlib). Return the axes."""
        from ..plots.studies import scatter

        return scatter(self, x, y, color, ax)

    def parallel_coordinates(self, color: str, columns: Any = None, ax: Any = None) -> Any:
        """Draw every run as a line over its parameters and results, coloured by one of them. Return the axes."""
        from ..plots.studies import parallel_coordinates

        return parallel_coordinates(self, color, columns, ax)
