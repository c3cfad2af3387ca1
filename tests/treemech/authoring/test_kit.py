"""The author's kit: skeletons that pass as they stand, checks of a file, the list of elements."""

import os
import subprocess
import sys

import pytest
from numba import config

from tests.support.places import ROOT
from treemech import elements
from treemech.authoring.skeletons import SKELETONS
from treemech.command import main

jit = pytest.mark.skipif(config.DISABLE_JIT, reason="compiles")

GOOD = '''
from dataclasses import dataclass
import treemech as tm

@dataclass(frozen=True)
class Slide(tm.Hinge):
    """A slide."""
    n_coordinates = 1

    def evaluate(self, q, u, t, motion):
        motion.offset[0] = q[0]
        motion.translation_partials[0, 0] = 1.0
'''
BAD = (
    GOOD
    + """
@dataclass(frozen=True)
class Wrong(Slide):
    factor: float

    def evaluate(self, q, u, t, motion):
        motion.offset[0] = q[0]
        motion.translation_partials[0, 0] = self.factor

right, wrong = Wrong(1.0), Wrong(2.0)
"""
)


@pytest.fixture
def file(tmp_path, monkeypatch):
    before = set(sys.modules)

    def write(text):
        path = tmp_path / "own_elements.py"
        path.write_text(text)
        return str(path)

    yield write
    for name in set(sys.modules) - before:
        if name == "own_elements":
            del sys.modules[name]


# ---------------------------------------------------------------- new
@jit
@pytest.mark.slow
def test_every_skeleton_passes_its_test_and_its_check_as_it_stands(tmp_path):
    for kind in SKELETONS:
        assert main(["new", kind, f"my-{kind}", "--out", str(tmp_path)]) == 0
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error:.*runs as a Python callback", str(tmp_path)],
        capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert main(["check", str(tmp_path / "my_active.py")]) == 0


@jit
def test_a_skeleton_is_checked_from_the_command_line(tmp_path, capsys):
    assert main(["new", "spring", "AchillesTendon", "--out", str(tmp_path)]) == 0
    assert {p.name for p in tmp_path.iterdir()} == {"achilles_tendon.py", "test_achilles_tendon.py"}
    assert "from achilles_tendon import AchillesTendon" in (tmp_path / "test_achilles_tendon.py").read_text()
    assert main(["check", str(tmp_path / "achilles_tendon.py")]) == 0
    told = capsys.readouterr().out
    assert "AchillesTendon keeps its contract (20 samples, runs by way of numba)" in told
    assert "derivatives: exact, from the same source" in told
    text = (tmp_path / "achilles_tendon.py").read_text()
    head, body = text.split("    def effort(self, now, t, out):\n")
    (tmp_path / "floats.py").write_text(
        "import numpy\n" + head + "    def effort(self, now, t, out):\n        kept = numpy.zeros(1)\n"
        "        kept[0] = now.deformation[0]\n" + body
    )
    assert main(["check", str(tmp_path / "floats.py")]) == 0
    assert "derivatives: by differences; its methods work with floats only" in capsys.readouterr().out
    (tmp_path / "held.py").write_text(
        "import numpy\n" + head + "    def effort(self, now, t, out):\n        kept = numpy.zeros(1)\n"
        "        kept[0] = self.stiffness\n" + body
    )
    assert main(["check", str(tmp_path / "held.py")]) == 0
    assert "derivatives: exact, but for those by its own parameters" in capsys.readouterr().out


@pytest.mark.parametrize("kind", SKELETONS)
def test_skeletons_are_commented_and_short(kind):
    source, test, imports = SKELETONS[kind]
    assert source.count("# ") >= 2 and '"""' in source and len(source.splitlines()) < 60
    compile(source, kind, "exec")
    compile(imports + test, kind, "exec")


def test_nothing_is_overwritten_and_bad_names_are_refused(tmp_path, capsys):
    assert main(["new", "hinge", "Cam", "--out", str(tmp_path)]) == 0
    before = (tmp_path / "cam.py").read_text()
    assert main(["new", "load", "cam", "--out", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err and (tmp_path / "cam.py").read_text() == before
    for name, said in (
        ("signal", "would hide Python's own module signal"),
        ("2nd", "is no name"),
        ("!", "is no name"),
    ):
        assert main(["new", "load", name, "--out", str(tmp_path)]) == 2
        assert said in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["new", "wheel", "Cam"])


# ---------------------------------------------------------------- check
def test_a_file_of_good_elements_passes(file, capsys):
    assert main(["check", file(GOOD)]) == 0
    out = capsys.readouterr().out
    assert (
        out.startswith("ok   Slide keeps its contract")
        and "1 of 1 elements keep their contract, 0 do not" in out
    )


def test_what_is_wrong_is_named_and_the_exit_code_says_so(file, capsys):
    assert main(["check", file(BAD)]) == 1
    out = capsys.readouterr().out
    assert "ok   right (Wrong) keeps its contract" in out
    assert "FAIL wrong (Wrong) breaks its contract.\n  check: translation_partials of Wrong differs" in out
    assert "2 of 3 elements keep their contract, 1 do not" in out


def test_elements_that_cannot_be_made_are_said(file, capsys):
    assert main(["check", file(BAD.split("right,")[0])]) == 0
    assert "skip Wrong needs factor: give defaults, or make one, x = Wrong(...)" in capsys.readouterr().out
    assert main(["check", file("import treemech as tm\nimport math\n")]) == 1
    assert "0 of 0 elements" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [("1 / 0", "cannot be imported: ZeroDivisionError"), ("x =", "cannot be imported: SyntaxError")],
)
def test_files_that_cannot_be_imported_are_said(file, text, said, capsys):
    assert main(["check", file(text)]) == 2
    assert said in capsys.readouterr().err


def test_a_missing_file_is_said(tmp_path, capsys):
    assert main(["check", str(tmp_path / "none.py")]) == 2
    assert "there is no file" in capsys.readouterr().err


# ---------------------------------------------------------------- elements
def test_all_elements_are_listed_with_a_line_each(capsys):
    assert main(["elements"]) == 0
    lines = capsys.readouterr().out.splitlines()
    words = {
        line.split()[0]: line.split(maxsplit=1)[1]
        for line in lines
        if line.startswith("  ") and len(line.split()) > 1
    }
    for group in ("HINGES", "CONSTRAINTS", "COUPLINGS", "ENERGETIC", "SIGNALS", "LOADS"):
        for cls in getattr(elements, group):
            assert len(words[cls.__name__]) > 5
    assert "Hinge" not in words and "Energetic" not in words
    assert "  none" in lines


def test_elements_of_other_packages_are_listed(tmp_path, monkeypatch, capsys):
    (tmp_path / "their_elements.py").write_text(GOOD)
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[treemech.elements]\nSlide = their_elements:Slide\nLost = their_elements:Lost\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["elements"]) == 0
    out = capsys.readouterr().out
    assert "[theirs] hinge: A slide." in out
    assert "[theirs] cannot be loaded: AttributeError" in out
