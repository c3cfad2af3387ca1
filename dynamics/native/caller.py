"""Build and open the C extension that calls the core from Python with little overhead (caller.c).

It is optional: without it ctypes calls the same entry points, with the same numbers, some microseconds later.
The name of the file holds a hash of its source and one of its contents, so one that was built from other code, or was cut short
since, is never opened: it could end the process.
"""

import importlib.machinery
import importlib.util
import os
import sys
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from treemech.elements.native import library
from treemech.elements.native.faults import BUILD_AGAIN, checksum
from treemech.elements.native.messages import log
from treemech.elements.native.sources import library_file

if TYPE_CHECKING:
    from pathlib import Path

NAME = "treemech_caller"
_SOURCE = os.path.join(os.path.dirname(__file__), "caller.c")


def _checksum_of(path: "str | Path") -> str:
    with open(path, "rb", buffering=0) as file:
        return checksum(file.read())


def built(folder: "str | Path") -> str | None:
    """Return the file in the folder that was built from this source; None if there is none. It may be damaged."""
    start = f"caller-{_checksum_of(_SOURCE)}-"
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return next((os.path.join(folder, name) for name in names if name.startswith(start)), None)


def sound(path: "str | Path") -> bool:
    """Tell whether a file has the contents that its name says."""
    return os.path.basename(path).split("-")[-1] == f"{_checksum_of(path)}.abi3.so"


def obstacle() -> str:
    """Say why the extension cannot be built here; return an empty text if it can."""
    import sysconfig
    from pathlib import Path

    from .linking import compiler

    if sys.platform == "win32":
        return "ctypes does it on Windows"
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "it needs CPython with its interpreter lock"
    if compiler() is None:
        return "no C compiler found"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "the headers of Python are not installed"
    return ""


def build_caller(folder: "str | Path") -> "Path | None":
    """Compile caller.c into the folder, unless it is there and sound. Return the file; None if it cannot be built here."""
    import subprocess
    import sysconfig
    import tempfile
    from pathlib import Path

    import numpy

    from .linking import compiler

    folder = Path(folder)
    there = built(folder)
    if there is not None and sound(there):
        return Path(there)
    command = compiler()
    if obstacle() or command is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    undefined = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
    headers = [f"-I{sysconfig.get_path('include')}", f"-I{numpy.get_include()}"]
    with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as temporary:
        made = Path(temporary, "caller.abi3.so")
        options = ["-O2", "-fPIC", "-shared", "-ffp-contract=off", *undefined, *headers]
        done = subprocess.run(
            [*command, *options, _SOURCE, "-o", str(made), "-lm"], capture_output=True, text=True
        )
        if done.returncode:
            return None
        out = folder / f"caller-{_checksum_of(_SOURCE)}-{_checksum_of(made)}.abi3.so"
        for old in folder.glob("caller-*.abi3.so"):
            old.unlink(missing_ok=True)
        os.replace(made, out)
    return out


@cache
def caller() -> ModuleType | None:
    """Open the extension. Return None if it was not built, or TREEMECH_JIT or NUMBA_DISABLE_JIT pass over the library."""
    if not library.wanted():
        return None
    path = built(library_file(""))
    if path is None:
        return None
    if not sound(path):
        name = os.path.basename(path)
        log.warning("%s is truncated or damaged: calls go by ctypes. To mend it, %s", name, BUILD_AGAIN)
        return None
    loader = importlib.machinery.ExtensionFileLoader(NAME, path)
    spec = importlib.util.spec_from_file_location(NAME, path, loader=loader)
    if spec is None:
        return None
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        module.open()
    except (ImportError, RuntimeError):  # RuntimeError: a numpy that does not fit the headers of the build
        return None
    return module


def main() -> None:
    """Build the extension inside the package."""
    if build_caller(library_file("")) is None:
        print(f"calls go by ctypes: {obstacle() or 'the C compiler refused caller.c'}")


if __name__ == "__main__":
    main()
