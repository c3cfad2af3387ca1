"""Build step beside pyproject.toml: the compiled core as shared libraries inside the package (dynamics/native/build.py).

The step is a bonus. Where it cannot run, or with TREEMECH_NO_LIBRARY=1, the package is built without it and
compiles the core with numba on first use.
"""

import os
import shutil
import sys
from functools import cache
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))


FOLDERS = ("topology", "elements", "kinematics", "dynamics", "benchmarks")  # installed inside treemech


def packages() -> dict[str, str]:
    """Find every package and the folder it stands in: the facade's own folders, then those beside it."""
    facade = [i.parent for i in sorted((ROOT / "treemech").rglob("__init__.py"))]
    own = [f for f in facade if not {*FOLDERS} & {*f.relative_to(ROOT / "treemech").parts[:1]}]
    beside = [i.parent for top in FOLDERS for i in sorted((ROOT / top).rglob("__init__.py"))]
    found = {".".join(f.relative_to(ROOT).parts): f for f in own}
    found |= {".".join(("treemech", *f.relative_to(ROOT).parts)): f for f in beside}
    return {name: folder.relative_to(ROOT).as_posix() for name, folder in found.items()}


def say(line: str) -> None:
    print(f"treemech: {line}", file=sys.stderr, flush=True)


@cache
def obstacle() -> str:
    """Why the libraries are not built; empty if they are."""
    if os.environ.get("TREEMECH_NO_LIBRARY", "0") not in ("", "0"):
        return "TREEMECH_NO_LIBRARY is set"
    try:
        from treemech.dynamics.native import build

        return build.obstacle()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def build_core(folder: Path) -> str:
    """Build the libraries into the folder unless they are there; why not, or empty."""
    if obstacle():
        return obstacle()
    try:
        from treemech.dynamics.native import build

        if build.up_to_date(folder):
            say("the compiled core is up to date")
        else:
            build.build_library(folder, log=say)
    except Exception as error:
        return " ".join(f"{type(error).__name__}: {error}".split())
    return ""


def build_caller(folder: Path) -> None:
    """Build the extension that calls the core with little overhead; without it ctypes does."""
    if not obstacle():
        from treemech.dynamics.native import caller

        if caller.build_caller(folder) is None:
            say(f"calls go by ctypes ({caller.obstacle() or 'the C compiler refused caller.c'}).")


class BuildPackage(build_py):
    """Copy the package, then add the libraries; in an editable install they go into the source tree."""

    def run(self) -> None:
        super().run()
        folder = Path(ROOT if self.editable_mode else self.build_lib, "treemech", "_library")
        reason = build_core(folder)
        build_caller(folder)
        if reason:
            if not self.editable_mode:  # what the source tree held is for other sources
                shutil.rmtree(folder, ignore_errors=True)
            say(
                f"the compiled core was not built ({reason}). The package works all the same; "
                "the first use compiles it with numba (about 10 s, once)."
            )


class PlatformWheel(bdist_wheel):
    """With the libraries a wheel belongs to a platform, but to no version of Python: they do not know Python."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


class PlatformDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return not obstacle()


setup(
    packages=list(packages()),
    package_dir=packages(),
    cmdclass={"build_py": BuildPackage, "bdist_wheel": PlatformWheel},
    distclass=PlatformDistribution,
)
