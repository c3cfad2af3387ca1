"""Start and cache: what is compiled when, where it is kept, and who disturbs whom."""

import json
import os
import subprocess
import sys

import pytest

from tests.support.places import ROOT
from treemech.command import main
from treemech.dynamics.native.entry_points import way
from treemech.elements.native.cache import cache_folder, clear_cache
from treemech.elements.native.place import cache_root
from treemech.elements.native.sources import core_hash

BUILT_IN = """
import treemech as tm
system = tm.System("screws")
body = system.body("nut", 1.0, (1, 1, 1))
system.connect("thread", tm.Screw(pitch=0.1), system.ground, body)
system.load("push", tm.Force(z=1.0), body)
run = system.build().simulate((0, 0.1))
print(run.q[-1, 0])
"""
FOREIGN = """
from dataclasses import dataclass
from math import cos, sin
import treemech as tm

@dataclass(frozen=True)
class MyScrew(tm.Hinge):
    pitch: float
    n_coordinates = 1

    def pose(self, q, t, offset, rotation):
        offset[2] = self.pitch * q[0]
        rotation[0, 0] = cos(q[0])
        rotation[0, 1] = -sin(q[0])
        rotation[1, 0] = sin(q[0])
        rotation[1, 1] = cos(q[0])

@dataclass(frozen=True)
class MyPush(tm.Load):
    size: float

    def evaluate(self, end, t, load):
        load.force[2] = self.size

system = tm.System("screws")
body = system.body("nut", 1.0, (1, 1, 1))
system.connect("thread", MyScrew(pitch=0.1), system.ground, body)
system.load("push", MyPush(1.0), body)
run = system.build().simulate((0, 0.1))
print(run.q[-1, 0])
"""


def process(tmp_path, source, **environment):
    script = tmp_path / "script.py"
    script.write_text(source)
    env = {k: v for k, v in os.environ.items() if k not in ("TREEMECH_JIT", "NUMBA_DISABLE_JIT")}
    env.update(environment, PYTHONPATH=str(ROOT))
    done = subprocess.run(
        [sys.executable, str(script)], env=env, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout.split()[-1]), done.stderr


def test_foreign_elements_leave_the_cached_core_untouched(tmp_path):
    own = {"TREEMECH_JIT": "1", "TREEMECH_CACHE_DIR": str(tmp_path / "cache")}  # no other test writes there
    process(tmp_path, BUILT_IN, **own)  # whatever the core needs is in the cache now
    kept = (tmp_path / "cache" / "treemech" / core_hash()).rglob("*.nbc")
    before = {p: p.stat().st_mtime_ns for p in kept if "entry" not in p.parent.name}
    assert len(before) >= 4
    want, errors = process(tmp_path, BUILT_IN, **own)
    assert "compiled" not in errors
    got, errors = process(tmp_path, FOREIGN, **own)
    assert "compiled the core" not in errors
    assert {p: p.stat().st_mtime_ns for p in before} == before
    assert abs(got - want) < 1e-12


def test_something_compiled_says_so_in_one_line(tmp_path):
    _, errors = process(tmp_path, BUILT_IN, NUMBA_DISABLE_JIT="1")
    assert "compiled" not in errors
    folder = tmp_path / "cache"
    source = BUILT_IN.split("run =")[0] + "mech = system.build(); print(mech.mass_matrix(mech.state())[0, 0])"
    _, errors = process(tmp_path, source, TREEMECH_JIT="1", TREEMECH_CACHE_DIR=str(folder))
    lines = [line for line in errors.splitlines() if "compiled the core's mass_matrix" in line]
    assert len(lines) == 1 and "s of CPU time" in lines[0]
    assert list((folder / "treemech" / core_hash()).rglob("*.nbi"))
    _, errors = process(tmp_path, source, TREEMECH_JIT="1", TREEMECH_CACHE_DIR=str(folder))
    assert "compiled" not in errors


@pytest.mark.skipif(way() != "library", reason="the library is not built")
def test_chosen_entry_points_are_jitted_beside_the_library(tmp_path):
    source = BUILT_IN.split("run =")[0] + "mech = system.build(); print(mech.mass_matrix(mech.state())[0, 0])"
    want, errors = process(tmp_path, source)
    assert "compiled" not in errors
    got, errors = process(
        tmp_path, source, TREEMECH_JIT="mass_matrix", TREEMECH_CACHE_DIR=str(tmp_path / "c")
    )
    lines = [line for line in errors.splitlines() if "compiled the core" in line]
    assert len(lines) == 1 and "mass_matrix" in lines[0]
    assert abs(got - want) < 1e-12


def test_where_nothing_can_be_written_it_works_all_the_same(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    source = (
        "from treemech.elements.native.cache import cache_folder; f = cache_folder(); print(f.exists(), 1.0)"
    )
    _, errors = process(tmp_path, source, TREEMECH_CACHE_DIR=str(blocked))
    assert "not kept" in errors


def test_the_cache_is_named_by_the_sources_and_can_be_cleared(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TREEMECH_CACHE_DIR", str(tmp_path))
    cache_folder.cache_clear()
    try:
        assert cache_folder() == cache_root() / core_hash()
        (cache_folder() / "old.nbi").write_text("x")
        assert main(["clear-cache"]) == 0
        assert "removed 1 files" in capsys.readouterr().out
        assert not cache_root().exists() and clear_cache() == 0
    finally:
        cache_folder.cache_clear()


def test_numba_keeps_its_own_cache_setting(tmp_path):
    source = (
        BUILT_IN
        + "\nfrom numba import config; assert 'treemech' not in str(config.CACHE_DIR), config.CACHE_DIR"
    )
    process(tmp_path, source, TREEMECH_JIT="1")


def test_info_says_how_the_core_runs(capsys):
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert "compiled core:" in out and core_hash() in out


def test_the_demo_leaves_results_and_names_them(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path), "--time", "1"]) == 0
    out = capsys.readouterr().out
    for name in ("pump.html", "pump.npz", "four_bar.html", "four_bar.npz", "demo.txt", "demo.json"):
        assert name in out and (tmp_path / name).stat().st_size > 0
    summary = json.loads((tmp_path / "demo.json").read_text())
    assert summary["success"]
    assert round(summary["pump"]["values"]["roller at the top [rad/s]"]) == 332  # printed
    assert "printed 332" in out and len(out.split("Try next:\n")[1].splitlines()) == 3


@pytest.mark.slow
def test_two_processes_that_compile_at_once_do_no_harm(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(BUILT_IN)
    env = {
        **os.environ,
        "TREEMECH_JIT": "1",
        "TREEMECH_CACHE_DIR": str(tmp_path / "c"),
        "PYTHONPATH": str(ROOT),
    }
    both = [
        subprocess.Popen([sys.executable, str(script)], env=env, stdout=subprocess.PIPE, text=True)
        for _ in "ab"
    ]
    results = [p.communicate()[0] for p in both]
    assert results[0] == results[1] and [p.returncode for p in both] == [0, 0]
    again, errors = process(tmp_path, BUILT_IN, TREEMECH_JIT="1", TREEMECH_CACHE_DIR=str(tmp_path / "c"))
    assert again == float(results[0]) and "compiled" not in errors
