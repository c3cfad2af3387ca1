"""Link object files to shared libraries with the C compiler of this machine."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from treemech.topology.errors import TreemechError

_C_SOURCE = """
#include <math.h>
/* what numba's own C library would give */
__attribute__((visibility("hidden"))) double numba_nextafter(double x, double y) { return nextafter(x, y); }
"""
_C_CPU = """
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


def compiler() -> list[str] | None:
    """Return the command of the C compiler: the variable CC, else the first of cc, gcc, clang that exists."""
    given = shlex.split(os.environ.get("CC", ""))
    candidates = [given] if given else [["cc"], ["gcc"], ["clang"]]
    return next((c for c in candidates if shutil.which(c[0])), None)


def link(objects: Sequence[Path], out: Path) -> None:
    """Link a shared library, which can also tell the CPU. Only symbols of the C library may be left undefined."""
    source = out.with_suffix(".c")
    source.write_text(_C_SOURCE + _C_CPU)
    options = [] if sys.platform == "darwin" else ["-Wl,-z,defs", "-s"]
    command = [
        *(compiler() or ["cc"]), "-O2", "-fPIC", "-shared", "-o", str(out), *map(str, objects), str(source),
        *options, "-lm",
    ]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    source.unlink()
    if done.returncode:
        left = sorted(set(re.findall(r"undefined reference to `(.+?)'", done.stdout)))
        what = f"symbols left without a definition: {', '.join(left)}" if left else done.stdout.strip()
        raise BuildError(f"{command[0]}: {what}")
