"""What is installed: version from the tag, a wheel that needs no compiler and no numba, an sdist that does without the library."""

import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.places import ROOT
from treemech.elements.native.library import open_library
from treemech.elements.native.sources import FOLDER, package_folder

README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = README.split("```python\n")[1].split("```")[0].replace('run.animate("swing.html")', "")
ALONE = EXAMPLE + "\nimport sys\nassert run.success and 'numba' not in sys.modules\nprint(tm.__file__)"
WAY = "from treemech.dynamics.native import entry_points as n; from treemech.elements.native import library as l; print(n.way(), l.fault())"


def run(*command, cwd=None, **environment):
    env = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTHONPATH", "TREEMECH_", "GIT_"))
    } | environment
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


# ---------------------------------------------------------------- version
@pytest.fixture
def checkout(tmp_path):
    """What setup.py looks at for the version."""
    pytest.importorskip("setuptools")
    shutil.copy(ROOT / "setup.py", tmp_path)
    (tmp_path / "treemech").mkdir()
    (tmp_path / "treemech" / "__init__.py").write_text('__version__ = "0.3.0"\n')
    return tmp_path


def version(folder):
    code = "import runpy, sys, setuptools\nsetuptools.setup = lambda **k: print(k['version'])\nrunpy.run_path('setup.py')"
    return run(sys.executable, "-c", code, cwd=folder).splitlines()[-1]


def git(folder, *arguments):
    who = {f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return run("git", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false", *arguments, cwd=folder, **who)


def test_without_git_it_is_the_version_under_way(checkout):
    assert version(checkout) == "0.3.0.dev0"


def test_an_sdist_knows_its_version(checkout):
    (checkout / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: treemech\nVersion: 0.2.9\n")
    assert version(checkout) == "0.2.9"


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_a_tag_is_the_version_and_commits_are_counted_from_it(checkout):
    (checkout / ".gitignore").write_text("__pycache__/\n")
    git(checkout, "init", "-q")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-qm", "one")
    commit = git(checkout, "rev-parse", "--short", "HEAD")
    assert version(checkout) == f"0.3.0.dev1+g{commit}"  # no tags, as in a shallow clone
    git(checkout, "tag", "v0.2.0")
    assert version(checkout) == "0.2.0"
    git(checkout, "commit", "-qm", "two", "--allow-empty")
    assert version(checkout).startswith("0.3.0.dev1+g")
    git(checkout, "tag", "v0.3.0")
    assert version(checkout) == "0.3.0"
    git(checkout, "commit", "-qm", "three", "--allow-empty")
    assert version(checkout).startswith("0.3.1.dev1+g")  # the version under way was not moved on
    (checkout / "treemech" / "__init__.py").write_text('__version__ = "0.4.0"\n')
    assert version(checkout).startswith("0.4.0.dev1+g") and version(checkout).endswith(".dirty")


def test_release_notes_are_the_section_of_the_changelog():
    notes = runpy.run_path(str(ROOT / ".ci" / "notes.py"))["notes"]
    text = "# Changelog\n\n## [0.2.0] - 2027-01-01\n\n### Added\n\n- New.\n\n## [0.1.0] - unreleased\n\n- First.\n"
    assert notes("0.2.0", text) == "### Added\n\n- New."
    with pytest.raises(SystemExit, match="unreleased"):
        notes("0.1.0", text)
    with pytest.raises(SystemExit, match="no section"):
        notes("0.3.0", text)


# ---------------------------------------------------------------- wheel and sdist
def sources(folder):
    """Copy what a checkout holds, without what was made in it."""
    skip = shutil.ignore_patterns(
        ".git", ".venv*", "__pycache__", "build", "dist", "out", "*.egg-info", ".*_cache", FOLDER
    )
    shutil.copytree(ROOT, folder, ignore=skip, symlinks=True)
    return folder


def wheel(folder, **environment):
    """Build a wheel of a folder, without a network; return it."""
    pytest.importorskip("setuptools")
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--no-input",
        "wheel",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        "-q",
    )
    run(*pip, "-w", folder / "dist", folder, **environment)
    (made,) = (folder / "dist").glob("*.whl")
    return made


def installed(place, made):
    """Install a wheel in an empty environment, which finds the other packages here; return its Python."""
    run(sys.executable, "-m", "venv", "--without-pip", place)
    python = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-deps", made)
    run(*pip)
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    Path(site, "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Python of an environment with a wheel that holds the built library, and the wheel."""
    if open_library() is None:
        pytest.skip("no library was built for these sources")
    folder = sources(tmp_path_factory.mktemp("wheel") / "sources")
    shutil.copytree(package_folder() / FOLDER, folder / "treemech" / FOLDER)
    made = wheel(folder)
    return installed(folder.parent / "venv", made), made


@pytest.mark.slow
def test_a_wheel_belongs_to_a_platform_and_to_no_version_of_python(environment):
    name = environment[1].name
    assert "-py3-none-" in name and not name.endswith("-any.whl") and "universal2" not in name


@pytest.mark.slow
def test_the_example_of_the_readme_runs_from_a_wheel_without_numba(environment, tmp_path):
    python, _ = environment
    assert "site-packages" in run(python, "-c", ALONE, cwd=tmp_path)
    assert run(python, "-c", WAY, cwd=tmp_path) == "library"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="CPU times of children are those of POSIX")
def test_a_first_result_takes_at_most_twice_the_time_of_import_numpy(environment, tmp_path):
    import resource

    def cpu(code):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(environment[0], "-c", code, cwd=tmp_path)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    times = [(cpu("import numpy"), cpu(ALONE)) for _ in range(8)]
    numpy, ours = (min(column) for column in zip(*times))
    assert ours < 2.0 * numpy


@pytest.mark.slow
def test_an_edited_source_of_an_installed_package_is_noticed(tmp_path, environment):
    python = installed(tmp_path / "venv", environment[1])
    file = Path(
        run(python, "-c", "import treemech.dynamics.entries as e; print(e.__path__[0])", cwd=tmp_path),
        "tree.py",
    )
    file.write_text(file.read_text() + "\nEDITED = 1\n")
    later = file.stat().st_mtime + 60.0
    os.utime(file, (later, later))
    assert run(python, "-c", WAY, cwd=tmp_path) != "library"


@pytest.mark.slow
def test_quick_tests_pass_against_the_wheel(environment, tmp_path):
    chosen = (
        "tests/test_readme.py",
        "tests/treemech/test_examples.py",
        "-k",
        "README or readme or page_runs_p0 or four_bar",
    )
    run(environment[0], ROOT / ".ci" / "installed.py", ROOT, *chosen)


@pytest.mark.slow
def test_without_a_compiler_the_wheel_says_so_and_numba_serves(tmp_path):
    made = wheel(sources(tmp_path / "sources"), CC="no-such-compiler")
    assert made.name.endswith("-py3-none-any.whl")
    python = installed(tmp_path / "venv", made)
    assert run(python, "-c", WAY, cwd=tmp_path) == "jit none was built: no C compiler found"
