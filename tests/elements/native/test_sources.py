"""The hash of the core: it changes with the code, and with nothing else."""

import os

import pytest

from treemech.elements.native import sources
from treemech.elements.native.sources import code_hash

SOURCE = '''
"""What this is."""
# a comment
class A:
    """A class."""

    x = 1

    def f(self, y):
        """A method."""
        return self.x + y  # their sum
'''


def hashed(text, name="a.py"):
    return code_hash([(name, text)])


@pytest.mark.parametrize(
    ("old", "new"),
    [("What this is", "Something else"), ("# a comment", ""), ("A class.", "A class with\n\n    two lines."),
     ("A method.", "Other words."), ("  # their sum", ""), ("self.x + y", "self.x  +  y")],
)  # fmt: skip
def test_words_and_layout_do_not_count(old, new):
    assert old in SOURCE and hashed(SOURCE.replace(old, new)) == hashed(SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [("x = 1", "x = 2"), ("+ y", "- y"), ("def f", "def g"), ("x = 1", "x = 1\n    z = 'A class.'")],
)
def test_code_counts(old, new):
    assert old in SOURCE and hashed(SOURCE.replace(old, new)) != hashed(SOURCE)


def test_the_place_of_a_file_counts():
    assert hashed(SOURCE, "plan/layout.py") != hashed(SOURCE, "integrators/layout.py")


def test_a_file_younger_than_the_library_counts_as_changed(tmp_path):
    names = ("a.py", "b.py")
    for name in (*names, "core.json"):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (1e9, 1e9 + (sources.INSTALLING if name == "a.py" else 0.0)))
    manifest = str(tmp_path / "core.json")
    assert sources.untouched(str(tmp_path), names, manifest)
    os.utime(tmp_path / "b.py", (1e9, 1e9 + 2.0 * sources.INSTALLING))
    assert not sources.untouched(str(tmp_path), names, manifest)
    assert not sources.untouched(str(tmp_path), (*names, "c.py"), manifest)
    assert not sources.untouched(str(tmp_path), names, manifest + "s")


def test_sources_of_a_checkout_are_always_read():
    assert not sources._as_installed()
