"""A folder is either compiled or Python, small, and a package; numba's private interface stays in a few files."""

import ast

import pytest

from tests.support.places import ROOT
from tests.support.source_files import FOLDERS, imported, package_of, parsed, relative, sources
from treemech.elements.native.sources import CORE_FOLDERS, PYTHON_FOLDERS, core_sources

MOST_FILES = 16  # in a folder, besides __init__.py: a listing that is read at one glance
COMPILED = {"kernel", "inlined", "straight", "njit", "intrinsic", "overload", "cfunc"}
LIBRARY = FOLDERS[:-1]  # benchmarks are never built into the core and compile their own formulations

# These may change with every release of numba: what needs them stands behind a few files. numba.extending is public.
PRIVATE = ("llvmlite", "numba.core", "numba.np", "numba.cpython", "numba.misc", "numba.parfors")
PRIVATE_NUMBA = (
    "kinematics/kernel/language.py", "elements/dual/", "elements/lanes/", "elements/lane_forms/", "elements/compilation/",
    "elements/native/numba_files.py", "elements/native/late.py",
    "dynamics/native/cross.py",
)  # fmt: skip


def lies_in(name, folders):
    return any(name.startswith(folder + "/") for folder in folders)


def decorators(path):
    """Return the names of all decorators in a file, called or not."""
    for node in ast.walk(parsed(path)):
        for decorator in getattr(node, "decorator_list", ()):
            plain = decorator.func if isinstance(decorator, ast.Call) else decorator
            yield plain.attr if isinstance(plain, ast.Attribute) else getattr(plain, "id", "")


# ---------------------------------------------------------------- compiled or Python
@pytest.mark.parametrize("folder", LIBRARY)
def test_compiled_functions_lie_in_compiled_folders(folder):
    wrong = [
        f"{relative(path)}: @{', @'.join(sorted(COMPILED & set(decorators(path))))}"
        for path in sources(folder)
        if COMPILED & set(decorators(path))
        if not lies_in(relative(path), CORE_FOLDERS) or lies_in(relative(path), PYTHON_FOLDERS)
    ]
    assert not wrong, (
        f"{wrong}: move compiled functions to a folder of CORE_FOLDERS (elements/native/sources.py), "
        "or the core's hash does not see them"
    )


def test_the_core_is_what_lies_in_compiled_folders():
    inside = {
        path
        for path in sources(*LIBRARY)
        if lies_in(relative(path), CORE_FOLDERS) and not lies_in(relative(path), PYTHON_FOLDERS)
    }
    assert set(core_sources()) == inside
    assert all((ROOT / folder / "__init__.py").exists() for folder in (*CORE_FOLDERS, *PYTHON_FOLDERS))


def test_compiled_folders_compile_something():
    compiled = {package_of(path) for path in core_sources() if COMPILED & set(decorators(path))}
    idle = [f for f in CORE_FOLDERS if not any(c == f or c.startswith(f + "/") for c in compiled)]
    assert not idle, f"{idle}: nothing in them is compiled; take them out of CORE_FOLDERS"


# ---------------------------------------------------------------- size
def test_every_folder_with_a_source_is_a_package():
    folders = {path.parent for path in sources(*FOLDERS, "tests")}
    assert not [f for f in folders if not (f / "__init__.py").exists()]


def test_no_folder_is_crowded():
    count = {}
    for path in sources(*FOLDERS, "tests"):
        count[package_of(path)] = count.get(package_of(path), 0) + (path.name != "__init__.py")
    crowded = {folder: n for folder, n in count.items() if n > MOST_FILES}
    assert not crowded, f"{crowded}: more than {MOST_FILES} files; give one concept a folder of its own"


# ---------------------------------------------------------------- numba's private interface
def needs_private_numba(path):
    return any(f"{name}.".startswith(f"{module}.") for _, name, _ in imported(path) for module in PRIVATE)


def test_private_numba_stays_behind_the_kernel_language():
    users = [relative(path) for path in sources(*FOLDERS, "tests") if needs_private_numba(path)]
    wrong = [name for name in users if not name.startswith(PRIVATE_NUMBA)]
    assert not wrong, f"{wrong}: put what needs numba.core or llvmlite into kinematics/kernel/language.py"
