"""Tests find their file: every source file has a test file of its name, or a line that says what covers it."""

from tests.support.covered_by import COVERED_BY
from tests.support.places import ROOT
from tests.support.source_files import FOLDERS, relative, sources


def own_test(name):
    """Return the test file a source file should have.

    >>> own_test("topology/tree.py").relative_to(ROOT).as_posix()
    'tests/topology/test_tree.py'
    """
    folder, _, file = name.rpartition("/")
    return ROOT / "tests" / folder / f"test_{file}"


def files_without_a_test():
    names = [relative(path) for path in sources(*FOLDERS) if path.name != "__init__.py"]
    return [name for name in names if not own_test(name).exists()]


def entry_for(name):
    """Return the most precise key of COVERED_BY for a source file, or None."""
    keys = [key for key in COVERED_BY if name == key or (key.endswith("/") and name.startswith(key))]
    return max(keys, key=len, default=None)


def test_every_source_file_is_tested():
    left = [name for name in files_without_a_test() if entry_for(name) is None]
    assert not left, "\n".join(
        f"{name}: write {relative(own_test(name))}, or name the tests that cover it in tests/support/covered_by.py"
        for name in left
    )


def test_every_entry_is_needed():
    used = {entry_for(name) for name in files_without_a_test()}
    idle = {}
    for key in set(COVERED_BY) - used:
        if not (ROOT / key).exists():
            idle[key] = "is no longer there"
        else:
            idle[key] = f"has its own test {relative(own_test(key))}" if key[-1] != "/" else "needs no entry"
    assert not idle, f"take these out of tests/support/covered_by.py, or put in their new names: {idle}"


def test_the_tests_named_exist():
    gone = {
        key: [t for t in tests if not (ROOT / "tests" / t).is_file()] for key, tests in COVERED_BY.items()
    }
    gone = {key: tests for key, tests in gone.items() if tests}
    assert all(COVERED_BY.values())
    assert not gone, (
        f"these test files have moved; write their new names into tests/support/covered_by.py: {gone}"
    )


def test_test_files_stand_beside_a_source_of_their_name():
    """A test below tests/<folder>/ is named after a file or a package there; others belong to tests/laws/."""
    tests = [
        path for path in sources(*(f"tests/{folder}" for folder in FOLDERS)) if path.name.startswith("test_")
    ]
    strangers = []
    for path in tests:
        name = relative(path).removeprefix("tests/").replace("/test_", "/")
        if not (ROOT / name).is_file() and not (ROOT / name.removesuffix(".py")).is_dir():
            strangers.append(relative(path))
    assert not strangers, f"{strangers}: rename them with their source file, or move them to tests/laws/"
