"""Build the compiled core into plain shared libraries, one per target CPU, and the manifest beside them.

Numba compiles every entry point to LLVM code. All of it is linked into one module, gets C functions without
any Python, is optimised once more as a whole and emitted as an object file, which the C compiler links. The
result needs neither Python nor numba (elements.native.library opens it by ctypes). The link fails if a symbol
of Python is left: entry points allocate nothing and raise nothing.

The target CPU must be known before numba is imported, so each target is compiled by a process of its own::

    python -m treemech.dynamics.native.build --target v3 --out FOLDER
"""

import argparse
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from treemech.elements.native import library
from treemech.elements.native.sources import (
    FOLDER,
    MANIFEST,
    core_hash,
    package_folder,
    read_manifest,
    source_hash,
)
from treemech.topology.errors import TreemechError

TARGETS = ("base", "v3")
# Features of x86-64-v3; the CPU test below asks for the same
_V3 = "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt,+xsave"
_C_SOURCE = """
#include <math.h>
/* what numba's own C library would give */
__attribute__((visibility("hidden"))) double numba_nextafter(double x, double y) { return nextafter(x, y); }

#if defined(__x86_64__)
#include <cpuid.h>
int treemech_cpu_v3(void)
{
    unsigned a, b, c, d;
    __builtin_cpu_init();  /* avx2: asks whether the system saves the wide registers, too */
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi")
        || !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
        return 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 22 & 1) || !(c >> 29 & 1))  /* movbe, f16c */
        return 0;
    return __get_cpuid(0x80000001u, &a, &b, &c, &d) && (c >> 5 & 1);  /* lzcnt */
}
#else
int treemech_cpu_v3(void) { return 0; }
#endif
"""


class BuildError(TreemechError):
    """The compiled core could not be built; the package works without it."""


# ---------------------------------------------------------------- the parent: one process per target
def machine_targets() -> tuple[str, ...]:
    """Return the targets that make sense on this machine."""
    return TARGETS if platform.machine().lower() in ("x86_64", "amd64") else TARGETS[:1]


def compiler() -> list[str] | None:
    """Return the command of the C compiler: the variable CC, else the first of cc, gcc, clang that exists."""
    given = shlex.split(os.environ.get("CC", ""))
    candidates = [given] if given else [["cc"], ["gcc"], ["clang"]]
    return next((c for c in candidates if shutil.which(c[0])), None)


def obstacle() -> str:
    """Say why no library can be built here; return an empty text if one can."""
    if sys.platform == "win32":
        return "not supported on Windows yet"
    if compiler() is None:
        return "no C compiler found"
    missing = [name for name in ("numba", "scipy") if find_spec(name) is None]
    return f"{' and '.join(missing)} not installed" if missing else ""


def fingerprint() -> dict[str, str]:
    """Return what a built library depends on: it is up to date if its manifest has the same entries."""
    return {
        "hash": core_hash(),
        "builder": hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16],
        "platform": sysconfig.get_platform(),
    }


def up_to_date(folder: Path, targets: Iterable[str] | None = None) -> bool:
    """Tell whether the folder holds what build_library would write there."""
    targets = machine_targets() if targets is None else targets
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
    except (OSError, ValueError):
        return False
    files = all((folder / file_name(target)).exists() for target in targets)
    return files and all(manifest.get(k) == v for k, v in fingerprint().items())


def file_name(target: str) -> str:
    return f"core-{target}{library.SUFFIX}"


def build_library(
    folder: str | Path, targets: Iterable[str] | None = None, log: Callable[[str], object] = print
) -> list[Path]:
    """Build the libraries for the targets (default: those of this machine) and the manifest.

    Return the files.

    Every file is replaced as a whole, the manifest last, so that simultaneous builds do no harm.
    """
    reason = obstacle()
    if reason:
        raise BuildError(reason)
    supported = machine_targets()
    targets = [t for t in (supported if targets is None else targets) if t in supported or t not in TARGETS]
    unknown = sorted(set(targets) - set(TARGETS))
    if unknown or "base" not in targets:
        raise BuildError(f"targets are {list(targets)}; wanted 'base' and, on x86-64, perhaps 'v3'.")
    folder, started = Path(folder).absolute(), time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as temporary:
        reports = _run_children(list(targets), temporary, log)
        if any(report != reports[0] for report in reports):
            raise BuildError("the sources changed during the build")
        manifest = {**fingerprint(), **reports[0], "targets": list(targets)}
        Path(temporary, MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
        names = [*(file_name(t) for t in targets), MANIFEST]
        for target in set(TARGETS) - set(targets):
            (folder / file_name(target)).unlink(missing_ok=True)
        for name in names:
            os.replace(Path(temporary, name), folder / name)
    read_manifest.cache_clear()
    library.manifest.cache_clear()
    log(f"compiled core built in {time.perf_counter() - started:.0f} s")
    return [folder / name for name in names]


def _run_children(targets: list[str], folder: str, log: Callable[[str], object]) -> list[dict[str, Any]]:
    """Compile all targets at the same time. Return the report of each."""
    root = str(package_folder().parent)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    environment["PYTHONPATH"] = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH")) if p)
    environment["PYTHONUNBUFFERED"] = "1"
    children, readers = [], []
    last: dict[str, str] = {}

    def listen(target: str, stream: Any) -> None:
        for line in stream:
            last[target] = line.strip() or last.get(target, "")
            log(f"core-{target}: {line.rstrip()}")

    try:
        for target in targets:
            command = [
                sys.executable,
                "-m",
                "treemech.dynamics.native.build",
                "--target",
                target,
                "--out",
                folder,
            ]
            child = subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            reader = threading.Thread(target=listen, args=(target, child.stdout), daemon=True)
            reader.start()
            children.append(child)
            readers.append(reader)
        while any(child.poll() is None for child in children):
            if any(child.poll() not in (None, 0) for child in children):
                break
            time.sleep(0.05)
    finally:
        for child in children:
            if child.poll() is None:
                child.terminate()
            child.wait()
        for reader in readers:
            reader.join()
    for target, child in zip(targets, children, strict=True):
        if child.returncode > 0:
            raise BuildError(f"compiling core-{target} failed: {last.get(target, 'no message')}")
    if any(child.returncode for child in children):
        raise BuildError("compiling was interrupted")
    return [json.loads(Path(folder, f"core-{target}.json").read_text()) for target in targets]


# ---------------------------------------------------------------- the child: numba, LLVM, linker
def builtin_elements() -> list[Any]:
    """Return one example of every built-in element, except those whose number of rows depends on the instance.

    The compiled method depends on the class and on the kinds of the parameters, not on their numbers.
    """
    from treemech import elements as e
    from treemech.elements.compilation.methods import sizes
    from treemech.elements.element import example_of

    groups = (e.HINGES, e.SIGNALS, e.LOADS, e.CONSTRAINTS, e.COUPLINGS, e.ASSEMBLED, e.ENERGETIC)
    examples = [example_of(cls) for classes in groups for cls in classes]
    return [element for element in examples if sizes(element) == sizes(type(element))]


def functions() -> Iterator[tuple[str, Any, Any]]:
    """Yield (exported name, Python function, C signature) of everything to compile."""
    from treemech.elements.compilation.entry import entry_globals
    from treemech.elements.compilation.numba_side import SIGNATURE
    from treemech.elements.compilation.source import entry_source

    from ..entries.table import ENTRIES

    for name, (function, signature) in ENTRIES.items():
        yield name, function, signature
    for name, element, part in element_parts():
        scope, _ = entry_globals(element, part)
        exec(entry_source(element, part), scope)
        yield name, scope["entry"], SIGNATURE


def element_parts() -> list[tuple[str, Any, str]]:
    """Return (exported name, element, part) of everything to compile for the elements."""
    from treemech.elements.compilation.entry import library_name
    from treemech.elements.compilation.methods import DUAL_PART

    built = builtin_elements()
    return [(library_name(type(e), part), e, part) for part in ("", DUAL_PART) for e in built]


def native(function: Any, signature: Any) -> tuple[str, str]:
    """Return (LLVM code, name) of numba's form of a function: int32 f(result *, exception **, arguments)."""
    from numba.core import compiler as numba_compiler
    from numba.core.registry import cpu_target

    flags = numba_compiler.Flags()
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.nrt = True
    flags.error_model = "numpy"
    result = numba_compiler.compile_extra(
        cpu_target.typing_context, cpu_target.target_context, function, signature.args,
        signature.return_type, flags, {},
    )  # fmt: skip
    return result.library.get_llvm_str(), result.fndesc.llvm_func_name


def c_function(name: str, target: str, signature: Any) -> str:
    """Return LLVM code of the exported C function: it returns the result of numba's, or 0 if that raised."""
    words = {"float64": "double", "int64": "i64", "int32": "i32"}
    arguments = ", ".join(f"{words.get(str(t), 'ptr')} %a{k}" for k, t in enumerate(signature.args))
    return f"""
define i32 @{name}({arguments}) {{
  %result = alloca i32
  %exception = alloca ptr
  store i32 0, ptr %result
  %status = call i32 @"{target}"(ptr %result, ptr %exception, {arguments})
  %ok = icmp eq i32 %status, 0
  %value = load i32, ptr %result
  %answer = select i1 %ok, i32 %value, i32 0
  ret i32 %answer
}}
"""


def without_counting(code: str) -> str:
    """Return LLVM code without reference counting.

    Code that allocates nothing has nothing to count. If something does allocate, its symbol makes the link
    fail.
    """
    return re.sub(
        r"^define [^\n]*@(NRT_incref|NRT_decref)\(.*?^}$",
        r"define void @\1(ptr %counted) {\n  ret void\n}",
        code,
        flags=re.MULTILINE | re.DOTALL,
    )


def compile_target(target: str, folder: Path) -> None:
    """Compile everything for one CPU. Run this in a process of its own, before anything imports numba."""
    if "numba" in sys.modules:
        raise BuildError("numba is already imported: its target CPU cannot be changed any more.")
    x86 = machine_targets() == TARGETS
    cpu, features = {"v3": ("x86-64-v3", _V3), "base": ("x86-64" if x86 else "generic", "")}[target]
    os.environ.update(NUMBA_CPU_NAME=cpu, NUMBA_CPU_FEATURES=features, NUMBA_DISABLE_INTEL_SVML="1")
    sources = source_hash()

    import gc

    import llvmlite.binding as llvm
    import numba

    from ..entries.table import ENTRIES

    gc.disable()  # it would run all the time; collected below, else the memory grows to 4 GB
    # A row of the mass matrix reads nine arrays: by default LLVM stops vectorising after eight overlap tests
    llvm.set_option("treemech", "--runtime-memory-check-threshold=32")
    module: Any = None
    wrappers, exported = [], {}
    for name, function, signature in functions():
        started = time.perf_counter()
        code, inner = native(function, signature)
        parsed = llvm.parse_assembly(code)
        if module is None:
            module = parsed
        else:
            module.link_in(parsed)
        exported[name] = f"treemech_{name}"
        wrappers.append(c_function(exported[name], inner, signature))
        print(f"{name} {time.perf_counter() - started:.1f} s", flush=True)
        if len(exported) % 20 == 0:
            gc.collect()
    started = time.perf_counter()
    module = llvm.parse_assembly(without_counting(str(module)) + "".join(wrappers))
    for symbol in (*module.functions, *module.global_variables):
        if not symbol.is_declaration and symbol.name not in exported.values():
            symbol.linkage = "internal"
    machine = llvm.Target.from_triple(module.triple).create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default"
    )
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization, tuning.slp_vectorization = True, False  # slp makes 3-vectors slower (+20 %)
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    objects = folder / f"core-{target}.o"
    objects.write_bytes(machine.emit_object(module))
    print(f"optimised as a whole {time.perf_counter() - started:.1f} s", flush=True)
    link(objects, folder / file_name(target))
    if source_hash.__wrapped__() != sources:
        raise BuildError("the sources changed during the build")
    from treemech.elements.element import kinds

    report = {
        "hash": core_hash(),
        "sources": sources,
        "numba": numba.__version__,
        "entries": list(ENTRIES),
        "elements": {name: list(kinds(e)) for name, e, _ in element_parts()},
    }
    (folder / f"core-{target}.json").write_text(json.dumps(report))


def link(objects: Path, out: Path) -> None:
    """Link the shared library. Only symbols of the C library may be left undefined."""
    source = objects.with_suffix(".c")
    source.write_text(_C_SOURCE)
    options = [] if sys.platform == "darwin" else ["-Wl,-z,defs", "-s"]
    command = [
        *(compiler() or ["cc"]), "-O2", "-fPIC", "-shared", "-o", str(out), str(objects), str(source), *options, "-lm",
    ]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        left = sorted(set(re.findall(r"undefined reference to `(.+?)'", done.stdout)))
        what = f"symbols left without a definition: {', '.join(left)}" if left else done.stdout.strip()
        raise BuildError(f"{command[0]}: {what}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the compiled core of treemech as shared libraries.")
    parser.add_argument("--out", type=Path, help="folder to write to (default: inside the package)")
    parser.add_argument("--target", choices=TARGETS, help="compile for this one only, without the manifest")
    parser.add_argument("--if-changed", action="store_true", help="do nothing if the library is up to date")
    arguments = parser.parse_args()
    folder = arguments.out or package_folder() / FOLDER
    if arguments.if_changed and up_to_date(folder):
        return
    try:
        if arguments.target:
            compile_target(arguments.target, folder)
        else:
            build_library(folder)
    except BuildError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
