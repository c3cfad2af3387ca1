"""Pieces of the core: their keys follow the sources they are compiled from, and a build goes on where one stopped."""

import json
import os
from itertools import pairwise

import pytest

from treemech.dynamics.native import build, pieces
from treemech.elements.native.faults import digests
from treemech.elements.native.sources import core_sources, root

SPRING, GEAR = "elements/springs/spring", "elements/couplings/gear"


def keys():
    return {piece.name: piece.key for piece in pieces.pieces()}


@pytest.fixture
def edited(monkeypatch):
    """Pretend that the code of a file is another one."""

    def edit(name):
        code = pieces._code
        monkeypatch.setattr(pieces, "_code", lambda file: "another" if file == name else code(file))

    return edit


def test_every_file_of_an_element_makes_a_piece_of_its_own():
    found = {piece.name: piece for piece in pieces.pieces()}
    assert len(found) == len(pieces.pieces())
    assert found[SPRING].elements.keys() >= {"element_Spring"}
    assert found[f"{SPRING}+dual"].library == "derivatives" and found[SPRING].library == "core"
    names = [name for piece in found.values() for name in piece.exported]
    assert len(names) == len(set(names))


def test_an_edited_element_changes_its_own_pieces_only(edited):
    before = keys()
    edited("elements/couplings/gear.py")
    after = keys()
    assert {name for name in before if before[name] != after[name]} == {GEAR, f"{GEAR}+dual", f"{GEAR}+lanes"}


def test_an_edited_kernel_changes_the_entry_points_that_use_it(edited):
    before = keys()
    edited("dynamics/integrators/radau_step.py")
    after = keys()
    assert {name for name in before if before[name] != after[name]} == {"dynamics/integrators/radau"}


def test_dual_numbers_are_part_of_everything(edited):
    before = keys()
    edited("elements/dual/numbers.py")
    assert not set(before.values()) & set(keys().values())


def test_every_kernel_is_part_of_a_piece():
    used = set().union(*(pieces.closure((file,)) for file in pieces.ENTRIES_OF))
    kernels = {path.relative_to(root()).as_posix() for path in core_sources()}
    idle = {name for name in kernels - used if name.startswith(("kinematics/", "dynamics/"))}
    assert not [name for name in idle if not name.endswith(("__init__.py", "entries/table.py"))]


def test_stages_contain_each_other():
    built = [[piece.name for piece in pieces.pieces(stage)] for stage in pieces.STAGES]
    for before, after in pairwise(built):
        assert set(before) < set(after) and after[: len(before)] == before


# ---------------------------------------------------------------- a small build
@pytest.fixture
def small(monkeypatch, tmp_path):
    """Build a library of two elements in a folder, with a cache of its own."""
    if build.obstacle():
        pytest.skip(build.obstacle())
    monkeypatch.setenv("TREEMECH_CACHE_DIR", str(tmp_path / "cache"))
    every = pieces.pieces()
    chosen = [
        piece for piece in every if piece.name in ("elements/couplings/rack", "elements/couplings/mimic+dual")
    ]
    monkeypatch.setattr(build.parts, "pieces", lambda stage: chosen)
    said = []

    def run():
        said.clear()
        return [
            p.name for p in build.build_library(tmp_path / "library", targets=("base",), log=said.append)
        ], said

    return run


def test_a_second_build_compiles_nothing(small, tmp_path):
    files, said = small()
    assert files == [build.file_name("base"), build.file_name("base", "derivatives"), "core.json"]
    assert any("mimic" in line for line in said)
    files, said = small()
    assert not any("mimic" in line or "rack" in line for line in said)
    manifest = json.loads((tmp_path / "library" / "core.json").read_text())
    assert manifest["stage"] == "all" and manifest["derivatives"] == ["element_Mimic_dual"]
    assert manifest["files"] == digests(tmp_path / "library", files[:-1])
    assert not list((tmp_path / "library").glob(".build-*"))


def test_a_damaged_piece_is_compiled_again(small, tmp_path):
    small()
    for path in build.kept_folder().glob("*-base.o"):
        path.write_bytes(path.read_bytes()[:100])
    _, said = small()
    assert any("mimic" in line for line in said)


def test_pieces_that_nobody_uses_leave_the_cache(small, tmp_path):
    small()
    old, kept = build.kept_folder() / "old-base.o", len(list(build.kept_folder().iterdir()))
    old.write_bytes(b"")
    os.utime(old, (0.0, 0.0))
    small()
    assert len(list(build.kept_folder().iterdir())) == kept


def test_a_cache_that_cannot_be_written_costs_only_time(small, tmp_path):
    (tmp_path / "cache").write_text("a file where a folder should be")
    files, _ = small()
    assert "core.json" in files


def test_a_build_that_fails_leaves_no_library(small, monkeypatch, tmp_path):
    monkeypatch.setattr(build, "_link_all", lambda *_: (_ for _ in ()).throw(build.BuildError("no linker")))
    with pytest.raises(build.BuildError, match="no linker"):
        small()
    assert not list((tmp_path / "library").iterdir())
