"""Link object files to shared libraries with the C compiler of this machine."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from treemech.topology.errors import TreemechError

_C_SOURCE = """
#include <math.h>
#ifndef _WIN32
__attribute__((visibility("hidden")))
#endif
/* what numba's own C library would give */
double numba_nextafter(double x, double y) { return nextafter(x, y); }
#ifdef __MINGW32__
/* what touches the pages of a large frame, by the name that Microsoft's compilers call it by */
__asm__(".globl __chkstk\\n__chkstk:\\n\\tjmp ___chkstk_ms\\n");
#endif
"""
# Plain instructions: the compilers' own tests need a library that not every linker finds on Windows
_C_CPU = """
#if defined(__x86_64__)
#include <cpuid.h>
int treemech_cpu_v3(void)
{
    unsigned a, b, c, d, low, high, wanted = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return 0;
    wanted = 1u << 12 | 1u << 22 | 1u << 23 | 1u << 27 | 1u << 28 | 1u << 29;  /* fma, movbe, popcnt, osxsave, avx, f16c */
    if ((c & wanted) != wanted)
        return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));  /* whether the system saves the wide registers, too */
    if ((low & 6u) != 6u || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 0;
    wanted = 1u << 3 | 1u << 5 | 1u << 8;  /* bmi, avx2, bmi2 */
    if ((b & wanted) != wanted)
        return 0;
    return __get_cpuid(0x80000001u, &a, &b, &c, &d) && (c >> 5 & 1);  /* lzcnt */
}
#else
int treemech_cpu_v3(void) { return 0; }
#endif
"""
_WINDOWS = sys.platform == "win32"


class BuildError(TreemechError):
    """The compiled core could not be built; the package works without it."""


def compiler() -> list[str] | None:
    """Return the command of the C compiler: the variable CC, else the first of cc, gcc, clang that exists.

    On Windows clang comes first: it links Microsoft's C library, the one of Python.
    """
    given = shlex.split(os.environ.get("CC", ""), posix=not _WINDOWS)
    names = ("clang", "gcc", "cc") if _WINDOWS else ("cc", "gcc", "clang")
    candidates = [given] if given else [[name] for name in names]
    return next((c for c in candidates if shutil.which(c[0])), None)


def link(objects: Sequence[Path], out: Path, exported: Iterable[str] = ()) -> None:
    """Link a shared library, which can also tell the CPU. Only symbols of the C library may be left undefined.

    Windows wants the names of the functions that the library exports.
    """
    source, names = out.with_suffix(".c"), out.with_suffix(".def")
    source.write_text(_C_SOURCE + _C_CPU)
    command = compiler() or ["cc"]
    if _WINDOWS:
        names.write_text(definitions(exported))
        options = windows_options(command, names)
    else:
        options = ["-fPIC", *([] if sys.platform == "darwin" else ["-Wl,-z,defs", "-s"]), "-lm"]
    line = [*command, "-O2", "-shared", "-o", str(out), *map(str, objects), str(source), *options]
    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    source.unlink()
    names.unlink(missing_ok=True)
    if done.returncode:
        left = sorted(set(re.findall(r"undefined (?:reference to|symbol:) [`']?([\w.$]+)", done.stdout)))
        what = f"symbols left without a definition: {', '.join(left)}" if left else done.stdout.strip()
        raise BuildError(f"{command[0]}: {what}")


def definitions(exported: Iterable[str]) -> str:
    """Return the text of the file that tells a linker for Windows which functions to export."""
    names = ("cpu_v3", *exported)
    return "\n".join(["EXPORTS", *(f"    treemech_{name}" for name in names), ""])


def windows_options(command: Sequence[str], names: Path) -> list[str]:
    """Return the options of a compiler that makes a DLL which needs no library beyond those of Windows.

    GNU compilers take the file of names as it is; clang for Microsoft's linker hands it on.
    """
    asked = subprocess.run([*command, "-dumpmachine"], capture_output=True, text=True)
    if "msvc" in asked.stdout:
        return [f"-Wl,-def:{names}"]
    return [str(names), "-static-libgcc", "-s"]
