"""Checkpoints of long simulations: npz with numbers and one JSON text, to continue bit by bit the same.

Nothing is executed on reading; writing is atomic. A file identifies its model, start and options: another
simulation is refused by name.
"""

import hashlib
import json
import os
import time
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treemech.dynamics.integrators.layout import WRITTEN
from treemech.dynamics.simulation.driver import Driver
from treemech.dynamics.simulation.event_search import Occurrence
from treemech.dynamics.simulation.integrator import Switch
from treemech.dynamics.simulation.snapshot import Snapshot
from treemech.kinematics.plan.columns import body, chord, effort, signal
from treemech.topology import TreemechError

from .atomic import as_path, atomic

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_SCHEMA = "treemech-checkpoint-1"


class Checkpoint:
    """File in which a simulation is saved and from which it continues (`dynamics.simulation.integrate.Keeper`)."""

    def __init__(
        self, path: str | Path | None, every: float, resume: str | Path | None, identity: dict[str, Any]
    ) -> None:
        if not isinstance(every, (int, float)) or not every >= 0.0:
            raise TreemechError(f"checkpoint_every is {every!r}; wanted seconds, not negative.")
        self.path, self.every, self.source = path, every, resume
        if path is not None:
            _check_writable(path)
        self.identity = json.loads(json.dumps(identity))
        self.last = time.monotonic()

    def keep(self, driver: Driver, at_once: bool) -> None:
        """Write the file, if it is time to."""
        late = time.monotonic() - self.last >= self.every
        if self.path is None or driver.mark is None or not (at_once or late):
            return
        header = {
            "schema": _SCHEMA,
            "identity": self.identity,
            "place": driver.mark.place,
            "memory": driver.mark.memory.place,
            "switched": driver.switched,
            "singular": driver.singular,
        }
        try:
            with atomic(Path(self.path)) as stream:
                np.savez(stream, header=np.array(json.dumps(header)), **_numbers(driver, driver.mark.memory))  # type: ignore[arg-type]
        except OSError as error:
            warnings.warn(
                f"checkpoint {str(self.path)!r} cannot be written, the run goes on without: {error}",
                stacklevel=2,
            )
        self.last = time.monotonic()

    def resume(self, driver: Driver) -> None:
        """Bring the driver to the state in the file."""
        if self.source is None:
            return
        header, numbers = _read(as_path(self.source, "simulate: resume"))
        for name, own in self.identity.items():
            other = header["identity"].get(name)
            if other != own:
                raise TreemechError(
                    f"{Path(self.source).name} is of another simulation: {_differs(name, other, own)}"
                )
        for name, array in driver.memory.arrays.items():
            if numbers[name].shape != array.shape:
                raise TreemechError(
                    f"{Path(self.source).name} is of another version of treemech: {name} differs in size."
                )
        driver.t, driver.y = [numbers["t"]], [numbers["y"]]
        driver.tables = [numbers["tables"]] if len(numbers["tables"]) else []
        driver.y_out[: len(numbers["y_out"])] = numbers["y_out"]
        driver.switched = [Switch(float(t), str(name), bool(holds)) for t, name, holds in header["switched"]]
        driver.singular = [(float(t), str(name)) for t, name in header["singular"]]
        driver.happened = [
            Occurrence(int(e), float(t), y, after, bool(inside))
            for e, t, y, after, inside in zip(
                *(numbers[f"events.{k}"] for k in ("event", "t", "y", "after", "inside")), strict=True
            )
        ]
        arrays = [numbers[name] for name in driver.memory.arrays]
        driver.resume(Snapshot(arrays, header["memory"]), header["place"])


def _check_writable(path: str | Path) -> None:
    """Refuse a path that cannot be written, before hours are spent on the simulation."""
    if not isinstance(path, (str, os.PathLike)):
        raise TreemechError(f"checkpoint is {path!r}; wanted the path of a file.")
    target = Path(path)
    if target.is_dir():
        raise TreemechError(f"checkpoint {str(path)!r} is a directory; wanted the path of a file in it.")
    if not target.parent.is_dir():
        raise TreemechError(
            f"checkpoint {str(path)!r}: there is no directory {str(target.parent)!r}; make it first."
        )
    if not os.access(target.parent, os.W_OK):
        raise TreemechError(
            f"checkpoint {str(path)!r}: the directory {str(target.parent)!r} cannot be written to."
        )


def _differs(name: str, there: Any, here: Any) -> str:
    if name in ("model", "start", "atol", "t_eval"):
        return f"its {name} is another one."
    return f"{name} is {there!r} there, {here!r} here."


def _numbers(driver: Driver, kept: Snapshot) -> dict[str, NDArray[Any]]:
    n, memory = driver.run.n, dict(zip(driver.memory.arrays, kept.arrays, strict=True))
    happened = driver.happened
    return memory | {
        "t": np.concatenate(driver.t),
        "y": np.concatenate(driver.y),
        "tables": np.concatenate(driver.tables) if driver.tables else np.zeros((0, 8 * n)),
        "y_out": driver.y_out[: int(memory["run.count"][WRITTEN])],
        "events.event": np.array([e.event for e in happened], dtype=np.int64),
        "events.t": np.array([e.t for e in happened]),
        "events.y": np.array([e.y for e in happened]).reshape(-1, n),
        "events.after": np.array([e.after for e in happened]).reshape(-1, n),
        "events.inside": np.array([e.inside for e in happened], dtype=np.int64),
    }


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    if path.is_file() and not zipfile.is_zipfile(path):
        raise TreemechError(f"{path.name} is no checkpoint of treemech, or a torn one.")
    try:
        with np.load(path, allow_pickle=False) as content:
            header = json.loads(str(content["header"]))
            if header.get("schema") != _SCHEMA:
                raise TreemechError(
                    f"{path.name} has schema {header.get('schema')!r}; this version reads {_SCHEMA!r}."
                )
            return header, {name: content[name] for name in content.files if name != "header"}
    except FileNotFoundError:
        raise TreemechError(f"there is no checkpoint {path.name!r} to resume from.") from None
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise TreemechError(f"{str(path)!r} is no checkpoint: {error}") from None


def digest(*arrays: NDArray[Any]) -> str:
    """Return a hash of numbers."""
    h = hashlib.sha256()
    for array in arrays:
        h.update(f"{array.dtype.str}{array.shape}".encode())
        h.update(np.ascontiguousarray(array).tobytes())
    return h.hexdigest()[:16]


def fingerprint(mech: "Mechanism") -> str:
    """Return a hash of names, structure and numbers of a model; not of the code of its elements."""
    layout = mech._core.layout
    plan, chords = layout.plan, layout.chords.plan
    elements = [*(c.hinge for c in mech._lagrange.hinges), *layout.chords.elements]
    members = [e.address for x in elements for e in getattr(x, "_entries", ()) if e is not None]
    parameters = np.where(np.isin(layout.parameters, members), 0.0, layout.parameters)
    bare = plan._replace(
        body=_without(np.delete(plan.body, body.DUAL, axis=1), body.ADDRESS),
        signals=_without(plan.signals, signal.ADDRESS),
        efforts=_without(np.delete(plan.efforts, effort.DUAL, axis=1), effort.ADDRESS, effort.REMEMBER),
    )
    names = json.dumps(mech._info.as_dict(), default=repr)
    plan_chord = _without(np.delete(chords.chord, chord.DUAL, axis=1), chord.ADDRESS)
    numbers = (*bare, parameters, plan_chord, chords.place, chords.path, layout.efforts.start)
    return hashlib.sha256((names + digest(*numbers)).encode()).hexdigest()[:16]


def _without(table: NDArray[Any], *columns: int) -> NDArray[Any]:
    """Return a table in which addresses are replaced by flags: present or not."""
    table = table.copy()
    for k in columns:
        table[:, k] = table[:, k] != 0
    return table
