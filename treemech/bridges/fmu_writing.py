"""Write an FMU (FMI 3.0) of a mechanism (needs pythonfmu3)."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from treemech.topology import TreemechError

from ..description.parameters import Parameter, origin_of
from ..results.state import State
from .fmu_model import FmuModel

if TYPE_CHECKING:
    from ..mechanism import Mechanism

KINDS = {
    frozenset({"model exchange", "co-simulation"}): "Both",
    frozenset({"model exchange"}): "Exchange",
    frozenset({"co-simulation"}): "Steps",
}
_SCRIPT = '''"""Runs inside the FMU; needs treemech and pythonfmu3 in the Python that runs it."""

from pythonfmu3 import Fmi3SlaveBase

from treemech.bridges.fmu_slave import {kind}


class {identifier}({kind}, Fmi3SlaveBase):
    pass
'''


def write_fmu(
    mech: "Mechanism",
    path: str | Path,
    state: State | None = None,
    inputs: Sequence[str] | None = None,
    parameters: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    kinds: Sequence[str] = ("model exchange", "co-simulation"),
    independent: Sequence[str] | None = None,
    method: str = "DOP853",
    rtol: float = 1e-8,
) -> Path:
    """Write an FMU, see `Mechanism.to_fmu`."""
    path = Path(path)
    kind = KINDS.get(frozenset((kinds,) if isinstance(kinds, str) else kinds))
    if kind is None:
        raise TreemechError(f"kinds is {kinds!r}; wanted 'model exchange', 'co-simulation', or both.")
    if path.suffix != ".fmu":
        raise TreemechError(f"{path}: an FMU is a file with the ending .fmu.")
    try:
        from pythonfmu3 import FmuBuilder
    except ModuleNotFoundError:
        raise TreemechError("FMUs need pythonfmu3: pip install treemech[fmi].") from None
    origin = origin_of(mech)
    begun = mech.assemble() if state is None else state
    told = {
        "identifier": identifier(path.stem),
        "build": dict(origin.options),
        "values": dict(origin.values),
        "t": float(begun.t),
        "q": begun.q.tolist(),
        "u": begun.u.tolist(),
        "x": begun.x.tolist(),
        "inputs": list(mech._wiring.opened if inputs is None else inputs),
        "parameters": list(mech.parameters if parameters is None else parameters),
        "outputs": list(mech._wiring.measures if outputs is None else outputs),
        "independent": None if independent is None else list(independent),
        "method": method,
        "rtol": rtol,
    }
    FmuModel(  # refuses by name what cannot be
        mech,
        begun,
        told["inputs"],
        told["parameters"],
        told["outputs"],
        independent,
        kind != "Steps",
        method,
        rtol,
    )
    with TemporaryDirectory() as made:
        folder = Path(made)
        system = origin.system()
        # the same calls as they were made: with parameters, not with their values
        system.calls, system.declared_gravity = list(origin.calls), origin.gravity
        system.parameters = {name: Parameter(name, value) for name, value in origin.values.items()}
        system.save(folder / "model.json")
        (folder / "fmu.json").write_text(json.dumps(told), encoding="utf-8")
        script = folder / f"{told['identifier']}_fmu.py"
        script.write_text(_SCRIPT.format(kind=kind, identifier=told["identifier"]), encoding="utf-8")
        files = [folder / "model.json", folder / "fmu.json"]
        built = FmuBuilder.build_FMU(script, dest=folder / "built", project_files=files)
        shutil.copyfile(built, path)
    return path


def identifier(name: str) -> str:
    """Return a name that programs accept.

    >>> identifier("2 four-bars")
    'model_2_four_bars'
    """
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return plain if re.match(r"[A-Za-z]", plain) else f"model_{plain}"
