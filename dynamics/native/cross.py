"""Emit and link the library for another machine, from the lowered code of this one: a check of what a wheel would hold there.

The lowered code (`worker.py`) knows no machine beyond 64-bit addresses, so LLVM turns it into object files for any processor it knows.
Linking them by that machine's cross compiler shows that nothing is left undefined::

    python -m treemech.dynamics.native.cross aarch64-linux-gnu --out FOLDER
"""

import argparse
import subprocess
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from .linking import _C_CPU, _C_SOURCE, BuildError, definitions


class Machine(NamedTuple):
    """Another machine: how LLVM calls it, its processor, its C compiler, and what links a shared library there."""

    triple: str
    cpu: str
    compiler: str
    options: tuple[str, ...]
    suffix: str


MACHINES = {
    "aarch64-linux-gnu": Machine(
        "aarch64-unknown-linux-gnu", "generic", "aarch64-linux-gnu-gcc", ("-fPIC", "-Wl,-z,defs"), ".so"
    ),
    # Objects as numba emits them on Windows, for Microsoft's linker; GNU's takes them, too
    "x86_64-w64-mingw32": Machine(
        "x86_64-pc-windows-msvc", "x86-64", "x86_64-w64-mingw32-gcc", ("-static-libgcc",), ".dll"
    ),
}


def emitted(bitcode: bytes, machine: Machine) -> bytes:
    """Return lowered code as an object file for another machine, optimised as a whole."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module: Any = llvm.parse_bitcode(bitcode)
    target = llvm.Target.from_triple(machine.triple).create_target_machine(
        cpu=machine.cpu, features="", opt=3, reloc="pic", codemodel="default"
    )
    module.triple, module.data_layout = machine.triple, str(target.target_data)
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(target, tuning)
    builder.getModulePassManager().run(module, builder)
    code: bytes = target.emit_object(module)
    return code


def cross_build(
    name: str, lowered: Iterable[Path], folder: Path, *sources: Path, exported: Iterable[str] = ()
) -> Path:
    """Emit and link files of lowered code, and C sources beside them. Return the library, or the program if a source has `main`.

    A library for Windows exports the functions of these names.
    """
    machine = MACHINES[name]
    objects = []
    for path in lowered:
        objects.append(folder / f"{path.stem}-{name}.o")
        objects[-1].write_bytes(emitted(zlib.decompress(path.read_bytes()), machine))
    own = folder / "own.c"
    own.write_text(_C_SOURCE + _C_CPU)
    program = any("int main" in source.read_text() for source in sources)
    out = folder / ("program" if program else f"core-base{machine.suffix}")
    kind: tuple[Any, ...] = ("-static",) if program else ("-shared", *machine.options)
    if machine.suffix == ".dll" and not program:
        names = folder / "own.def"
        names.write_text(definitions(exported))
        kind = (*kind, names)
    command = [machine.compiler, "-O2", *kind, "-o", out, *objects, own, *sources, "-lm"]
    done = subprocess.run(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        raise BuildError(f"{machine.compiler}: {done.stdout.strip()}")
    return out


def main() -> None:
    from .build import kept_folder
    from .pieces import pieces

    parser = argparse.ArgumentParser(description="Emit and link the compiled core for another machine.")
    parser.add_argument("machine", choices=MACHINES)
    parser.add_argument("--out", type=Path, required=True, help="folder for object files and library")
    parser.add_argument("--stage", default="core", help="how much of it (default: core, without derivatives)")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    wanted = pieces(given.stage)
    lowered = [kept_folder() / f"{piece.key}.bc" for piece in wanted]
    missing = [path.name for path in lowered if not path.exists()]
    if missing:
        sys.exit(f"{len(missing)} pieces are not in the cache: build the library first (make library).")
    try:
        exported = [name for piece in wanted for name in piece.exported]
        print(cross_build(given.machine, lowered, given.out, exported=exported))
    except BuildError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
