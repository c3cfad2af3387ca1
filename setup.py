"""Build step beside pyproject.toml: version from the tag, and the compiled core as shared libraries inside the package.

The libraries (dynamics/native/build.py) are a bonus. Where they cannot be built, or with TREEMECH_NO_LIBRARY=1, the package is built
without them and compiles the core with numba on first use.
"""

import json
import os
import platform
import re
import shutil
import subprocess
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


# ---------------------------------------------------------------- version
def version() -> str:
    """Return the version: that of an sdist, of the tag, or of the commits since; the one under way where there is no git.

    The one under way stands in treemech/__init__.py. A commit with the tag v1.2.3 is 1.2.3; others are 1.2.3.dev42+gabcdef, 42 commits
    after the last tag. So neither an sdist nor a checkout without tags needs anything.
    """
    described = ROOT / "PKG-INFO"
    if described.exists():  # an sdist
        return re.findall(r"^Version: (.+)$", described.read_text(encoding="utf-8"), re.MULTILINE)[0]
    text = (ROOT / "treemech" / "__init__.py").read_text(encoding="utf-8")
    under_way = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)[0]
    if not (ROOT / ".git").exists():
        return f"{under_way}.dev0"
    tag = git("describe", "--tags", "--long", "--dirty", "--match", "v[0-9]*")
    found = re.fullmatch(r"v([0-9.]+)-([0-9]+)-(g[0-9a-f]+)(-dirty)?", tag)
    if not found:
        count, commit = git("rev-list", "--count", "HEAD"), git("rev-parse", "--short", "HEAD")
        return f"{under_way}.dev{count or 0}" + (f"+g{commit}" if commit else "")
    last, distance, commit, dirty = found.groups()
    if distance == "0" and not dirty:
        return last
    after = [int(n) for n in last.split(".")]
    if [int(n) for n in under_way.split(".")] <= after:  # it was not moved on after the tag
        under_way = ".".join(map(str, [*after[:-1], after[-1] + 1]))
    return f"{under_way}.dev{distance}+{commit}" + (".dirty" if dirty else "")


def git(*arguments: str) -> str:
    """Return what git answers about this folder; an empty text if it does not."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


# ---------------------------------------------------------------- the compiled core
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

        stage = os.environ.get(
            "TREEMECH_STAGE", "core"
        )  # wheels hold all; an install compiles derivatives on first need
        if build.up_to_date(folder, stage=stage):
            say("the compiled core is up to date")
        else:
            build.build_library(folder, log=say, stage=stage)
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
        if not self.editable_mode:
            (Path(self.build_lib) / "treemech" / "_version.py").write_text(
                f'version = "{self.distribution.get_version()}"\n'
            )
        if reason:
            if not self.editable_mode:  # what the source tree held is for other sources
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()  # the reason is told again at the first use: pip does not show it
                (folder / "core.json").write_text(json.dumps({"obstacle": reason}))
            say(
                f"the compiled core was not built ({reason}). The package works all the same; "
                "the first use compiles it with numba (about 10 s, once)."
            )


class PlatformWheel(bdist_wheel):
    """A wheel with the libraries is py3-none-<platform>: it belongs to a platform, but to no version of Python.

    The libraries are plain C functions that ctypes opens: they know no Python. The one file that does, caller-*.abi3.so, keeps to
    the limited interface and is passed over where it cannot be opened. Without the libraries the wheel is py3-none-any.
    """

    def get_tag(self) -> tuple[str, str, str]:
        tag = super().get_tag()[2]
        # Python may be built for two kinds of processors at once; the libraries are for the one they were built on
        return "py3", "none", tag.replace("universal2", platform.machine())


class PlatformDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return not obstacle()


setup(
    version=version(),
    packages=list(packages()),
    package_dir=packages(),
    cmdclass={"build_py": BuildPackage, "bdist_wheel": PlatformWheel},
    distclass=PlatformDistribution,
)
