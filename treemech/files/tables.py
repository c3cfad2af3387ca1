"""Runs as tables: one row for every output, one column for every number, by name."""

import csv
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from ..results.measures import all_measures
from ..results.naming import numbered
from .atomic import atomic, with_suffix

if TYPE_CHECKING:
    from ..results.run import Run


def columns(run: "Run") -> dict[str, Floats]:
    """Return the columns of a run by name: "t", "A.q", "A.u", "A.ud", "A.force.x", ..., "energy.total"."""
    return dict(_columns(run))


def _columns(run: "Run") -> Iterator[tuple[str, Floats]]:
    yield "t", run.t
    info = run._info
    for connection in info.connections:
        motion = run.connection(connection.name)
        for what in ("q", "u", "ud"):
            if getattr(connection, "nq" if what == "q" else "nu"):
                yield from _split(f"{connection.name}.{what}", np.asarray(getattr(motion, what)), "")
    for body in info.bodies[1:]:
        moving = run.body(body.name)
        for what in ("position", "velocity"):
            yield from _split(f"{body.name}.{what}", getattr(moving, what), "xyz")
    for connection in info.connections:
        motion = run.connection(connection.name)
        for what in ("force", "moment"):
            yield from _split(f"{connection.name}.{what}", getattr(motion, what), "xyz")
    for hinge, k, _ in info.prescribed:
        yield f"{hinge}.drive[{k}]", run.drive(hinge, k)
    for element in info.elements:
        seen = run.element(element.name)
        for what in ("deformation", "effort", "x"):
            yield from _split(f"{element.name}.{what}", np.asarray(getattr(seen, what)), "")
        yield f"{element.name}.power", seen.power
    for name in dict.fromkeys(name for name, _, _ in info.inputs):
        yield name, run.input(name)
    yield from all_measures(run).items()
    for part in ("kinetic", "potential", "stored", "total"):
        yield f"energy.{part}", getattr(run.energy, part)


def _split(name: str, values: Floats, axes: str) -> Iterator[tuple[str, Floats]]:
    """Yield one column for every component."""
    rows = values.reshape(len(values), -1)
    labels = [f"{name}.{axis}" for axis in axes] or numbered(name, rows.shape[1])
    yield from zip(labels, rows.T, strict=True)


def to_pandas(run: "Run") -> Any:
    """Return the table of a run, with time as its index."""
    found = columns(run)
    return pandas().DataFrame(
        {name: values for name, values in found.items() if name != "t"}, index=_index(found["t"])
    )


def _index(t: Floats) -> Any:
    return pandas().Index(t, name="t")


def pandas() -> Any:
    """Return pandas; say what to install if it is missing."""
    try:
        import pandas
    except ImportError:
        raise TreemechError(
            "tables need pandas: pip install treemech[pandas]. run.to_csv(path) needs nothing."
        ) from None
    return pandas


def to_csv(run: "Run", path: str | Path) -> Path:
    """Write the table of a run with all digits; the file appears whole or not at all."""
    target, text, found = with_suffix(path, ".csv", "run.to_csv"), StringIO(newline=""), columns(run)
    writer = csv.writer(text)
    writer.writerow(found)
    writer.writerows([repr(float(x)) for x in row] for row in zip(*found.values(), strict=True))
    with atomic(target) as stream:
        stream.write(text.getvalue().encode())
    return target
