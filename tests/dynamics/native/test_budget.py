"""The cost of building the core stays what it was when it was written down, or is written down again on purpose."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from treemech.dynamics.native import budget, build, pieces
from treemech.elements.native.sources import FOLDER, MANIFEST, core_hash, package_folder, root


@pytest.fixture
def figures():
    """What the library of these sources cost."""
    try:
        manifest = json.loads((package_folder() / FOLDER / MANIFEST).read_text())
    except (OSError, ValueError):
        pytest.skip("no library was built")
    if manifest.get("hash") != core_hash() or manifest.get("stage") != "all":
        pytest.skip("no whole library was built for these sources: make library")
    if manifest["targets"] != list(build.TARGETS):
        pytest.skip("the record is of both targets")
    return manifest["figures"]


def test_the_library_is_no_larger_than_recorded(figures):
    wrong = budget.excess(figures, ("lowered", "machine"))
    assert not wrong, (
        f"{wrong}: if it is worth it, write it down: python -m treemech.dynamics.native.build --record"
    )


@pytest.mark.slow
def test_the_build_takes_no_longer_than_recorded(figures):
    """Seconds over those of a fixed piece of work in the same processes, from when each piece was compiled."""
    wrong = budget.excess(figures, ("cost",))
    assert not wrong, (
        f"{wrong}: if it is worth it, write it down: python -m treemech.dynamics.native.build --record"
    )


QUIET = 0.00265  # unit() in seconds on the machine of docs/measured.md, idle


@pytest.mark.slow
def test_one_edited_element_is_rebuilt_in_ten_seconds(tmp_path):
    """CPU seconds of the whole command, which a build on a quiet machine takes at most; both targets and derivatives are linked again."""
    if build.obstacle():
        pytest.skip(build.obstacle())
    for name in ("topology", "elements", "kinematics", "dynamics", "benchmarks", "treemech"):
        shutil.copytree(
            root() / name,
            tmp_path / name,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__", "_library"),
        )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def built():
        before = os.times()
        command = [sys.executable, "-m", "treemech.dynamics.native.build", "--out", str(tmp_path / "library")]
        said = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert said.returncode == 0, said.stdout + said.stderr
        after = os.times()
        spent = sum(after[2:4]) - sum(before[2:4])
        return spent * QUIET / min(budget.unit() for _ in range(5)), said.stdout

    built()
    edited = tmp_path / "elements" / "springs" / "spring.py"
    edited.write_text(edited.read_text() + f"\n\n_EDITED = {str(tmp_path)!r}\n")
    seconds, said = built()
    assert "1/1 elements/springs/spring" in said and "1/1 elements/springs/spring+dual" in said
    assert seconds < 10.0


def test_every_piece_is_recorded():
    assert set(budget.record()["seconds"]) == {piece.name for piece in pieces.pieces()}
    assert all(budget.library_of(piece.name) == piece.library for piece in pieces.pieces())


def test_a_build_that_grew_is_named():
    kept = budget.record()["totals"]["core"]
    one = {
        "piece": {
            "seconds": {"lower": 1.0},
            "unit": 1.0,
            "sizes": {"lowered": 0, "v3": 1.2 * kept["machine"]},
        }
    }
    assert budget.excess(one, ("machine",)) and not budget.excess(one, ("lowered",))


def test_the_table_has_every_piece_and_the_sums():
    one = {
        "elements/a": {
            "seconds": {"lower": 1.0, "v3": 0.5},
            "unit": 0.01,
            "sizes": {"lowered": 10, "v3": 2000},
        }
    }
    lines = budget.table(one).splitlines()
    assert lines[1].split() == ["elements/a", "1.5", "2"] and lines[-1].startswith("core: 2 CPU s, 2 kB")
    assert budget.totals(one)["core"]["cost"] == pytest.approx(150.0)


def test_expected_seconds_are_those_recorded():
    assert budget.expected(["dynamics/entries/tree"]) == budget.record()["seconds"]["dynamics/entries/tree"]
    assert budget.expected(["a new file"]) > 0.0
