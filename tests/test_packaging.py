"""What is installed, what an import loads, and whether the built library is the one of these sources."""

import ast
import ctypes
import json
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from tests.support.places import ROOT
from tests.support.source_files import module_of, sources
from treemech import elements
from treemech.dynamics.native import build, pieces
from treemech.dynamics.native import entry_points as native
from treemech.elements import (
    ASSEMBLED,
    CONSTRAINTS,
    COUPLINGS,
    ENERGETIC,
    HINGES,
    LOADS,
    SIGNALS,
    Constraint,
    Coupling,
    Energetic,
    Friction,
    Fung,
    Hinge,
    PrescribedPose,
    RollingBall,
)
from treemech.elements.check.python_forms import python_load
from treemech.elements.compilation.callback import C_ELEMENT, python_self
from treemech.elements.compilation.entry import compile_entry, library_name, make_dual_entry, make_entry
from treemech.elements.compilation.methods import methods_of
from treemech.elements.constraint import rows_size
from treemech.elements.coupling import coupling_size
from treemech.elements.element import kinds, record
from treemech.elements.hinge import motion_views
from treemech.elements.load import EndLoad, EndMotion
from treemech.elements.native import sources as sources_of_core
from treemech.topology.arrays import address, addresses

FUSED = 1e-14  # same arithmetic, except that v3 fuses products and sums
AMPLIFIED = {"JournalBearing": 1e-12}  # rounding goes through Ritz' equations and thin films


# ---------------------------------------------------------------- packages
@cache
def pyproject():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_version_is_the_same_everywhere():
    import treemech

    text = (ROOT / "treemech" / "__init__.py").read_text()
    (version,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert pyproject()["project"]["dynamic"] == ["version"]  # of the tag, by setup.py
    assert treemech.__version__.startswith(version)
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text()


# ---------------------------------------------------------------- imports
def loaded_by(statement, **environment):
    """Names and files of the modules a fresh process holds after a statement."""
    code = (
        f"{statement}\nimport json, sys\n"
        "print(json.dumps({n: getattr(m, '__file__', None) for n, m in list(sys.modules.items())}))"
    )
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "statement", ["import treemech", "import treemech.elements, treemech.dynamics.native.entry_points"]
)
def test_import_is_cheap(statement):
    loaded = loaded_by(statement)
    assert not {"numba", "scipy", "networkx", "matplotlib"} & set(loaded)


FIRST_TREE = """
import treemech as tm
system = tm.System("pendulum")
bob = system.body("bob", 1.0, (0.1, 0.1, 0.1), com=(0, 0, -0.5))
system.connect("A", tm.Revolute("y"), system.ground, bob)
mech = system.build()
assert mech.simulate((0, 1), mech.state(q={"A": 0.3})).success
"""
# what only an analysis, a failure, a file or a compilation asks for
NOT_FOR_A_TREE = {
    "scipy", "networkx", "matplotlib", "logging", "tempfile", "difflib", "zipfile", "numpy.random",
    "treemech.design.sensitivities", "treemech.files.checkpoint", "treemech.simulation.events", "treemech.description.kinematic_assembly",
    "treemech.dynamics.analyses.derivatives", "treemech.dynamics.analyses.equilibrium", "treemech.dynamics.analyses.linearization",
    "treemech.dynamics.simulation.external_methods", "treemech.dynamics.derivatives.rows", "treemech.kinematics.kinematic_simulation",
    "treemech.topology.dual", "treemech.elements.shared.splines", "treemech.kinematics.layout.plan_derivatives",
    "treemech.calls.reactions", "treemech.analyses.closed_chains", "treemech.dynamics.model.loops", "treemech.dynamics.calls.lanes",
    "treemech.elements.springs.spring", "treemech.elements.assembled.series", "treemech.elements.constraints.prescribed_pose",
}  # fmt: skip


@pytest.mark.skipif(native.way() != "library", reason="numba imports most of it")
def test_the_first_simulation_of_a_tree_loads_what_it_needs():
    loaded = set(loaded_by(FIRST_TREE))
    assert not loaded & {*NOT_FOR_A_TREE, "numba"}
    assert "treemech.elements.hinges.revolute" in loaded


def test_element_files_are_listed_as_type_checkers_see_them():
    tree = ast.parse((ROOT / "elements" / "__init__.pyi").read_text())
    seen = {
        alias.asname: f".{n.module}" for n in tree.body if isinstance(n, ast.ImportFrom) for alias in n.names
    }
    groups = {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)}
    assert seen == elements._FILE_OF
    assert groups == set(elements._GROUPS)
    assert sorted(elements.__all__) == sorted([*seen, *groups])
    assert set(elements._GROUPS.values()) <= set(seen)


def test_every_element_class_is_listed():
    """Without its line in elements/__init__.pyi nobody would find it."""
    found = set()
    for path in sources("elements"):
        module = import_module(module_of(path))
        found |= {cls for cls in vars(module).values() if cls.__class__ is type(elements.Element)}
    listed = {getattr(elements, name) for name in elements._FILE_OF}
    bases = {base for cls in listed if isinstance(cls, type) for base in cls.__mro__}  # of several elements
    assert not {cls.__name__ for cls in found - bases if "__dataclass_fields__" in vars(cls)}


def test_every_element_can_be_asked_for_by_name():
    code = (
        "from treemech import elements as e\nassert set(e.__all__) <= set(dir(e))\nfrom treemech.elements import *\n"
        "assert Spring is e.Spring and Spring in ENERGETIC\nassert all(getattr(e, n) is not None for n in e.__all__)"
    )
    assert loaded_by(code)
    with pytest.raises(AttributeError, match="'treemech.elements' has no attribute 'Sprung'"):
        elements.Sprung


def test_a_name_made_of_others_offers_them():
    with pytest.raises(AttributeError, match="no attribute 'SpringDamper'; there is Spring"):
        import_module("treemech").SpringDamper


def test_hash_covers_every_source_of_the_core():
    loaded = loaded_by("import treemech.dynamics.entries.table", TREEMECH_JIT="1")
    packages = (
        "treemech",
        "treemech.kinematics",
        "treemech.dynamics",
    )  # their __init__ holds nothing that is compiled
    core = {
        Path(file).resolve()
        for name, file in loaded.items()
        if name.split(".")[0] == "treemech" and not name.startswith("treemech.topology")
        if name not in packages and file
    }
    assert core - set(sources_of_core.core_sources()) == set()


# ---------------------------------------------------------------- the built library
def test_every_builtin_element_has_a_sample_to_build_from():
    elements = pieces.builtin_elements()
    classes = (*HINGES, *SIGNALS, *LOADS, *CONSTRAINTS, *COUPLINGS, *ASSEMBLED, *ENERGETIC)
    assert {type(e).__name__ for e in elements} == {"Path", "MusclePath", *(c.__name__ for c in classes)}
    for several in (
        PrescribedPose,
        RollingBall,
        Friction,
        Fung,
    ):  # a form for every number of rows, states, loads
        assert sum(type(e) is several for e in elements) > 1


def test_prototypes_are_those_of_the_entries():
    from treemech.dynamics.entries.table import ENTRIES

    words = {"float64": ctypes.c_double, "int64": ctypes.c_int64}
    compiled = {name: [words[str(t)] for t in signature.args] for name, (_, signature) in ENTRIES.items()}
    assert compiled == native.PROTOTYPES


def test_a_build_without_the_base_target_is_refused(tmp_path):
    with pytest.raises(build.BuildError):
        build.build_library(tmp_path, targets=("v3",))
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def built():
    """Folder and manifest of the library for these sources."""
    folder = sources_of_core.package_folder() / sources_of_core.FOLDER
    if not (folder / sources_of_core.MANIFEST).exists():
        pytest.skip("no library was built")
    manifest = json.loads((folder / sources_of_core.MANIFEST).read_text())
    if manifest["hash"] != sources_of_core.core_hash():
        pytest.skip("the library was built from other sources: make library")
    return folder, manifest


def test_library_answers_for_every_entry_and_element(built):
    folder, manifest = built
    assert manifest["entries"] == list(native.PROTOTYPES)
    built_in = pieces.builtin_elements()
    parts = {name: list(kinds(e)) for name, e, _ in pieces.element_parts()}
    assert manifest["elements"] == parts and len(parts) >= 2 * len(built_in)
    for target in manifest["targets"]:
        opened = {of: ctypes.CDLL(str(folder / build.file_name(target, of))) for of in build.LIBRARIES}
        assert hasattr(opened["core"], "treemech_cpu_v3")
        for name in (*manifest["entries"], *manifest["elements"]):
            of = next((of for of in build.LIBRARIES[1:] if name in manifest[of]), "core")
            assert hasattr(opened[of], f"treemech_{name}"), f"{target} lacks {name}"


def test_pieces_name_every_entry_where_it_is_defined():
    from treemech.dynamics.entries.table import ENTRIES

    where = {
        name: f"{f.__module__.removeprefix('treemech.').replace('.', '/')}.py"
        for name, (f, _) in ENTRIES.items()
    }
    assert {name: file for file, names in pieces.ENTRIES_OF.items() for name in names} == where


# One compiled form, or one of each, for every number of ends, inputs, memory and rows
OF_ANY_SIZE = [
    elements.Path.example().joining(3),
    elements.Path(30.0, 0.5, 0.2, {1: elements.WrapCylinder(0.1), 3: elements.WrapSphere(0.1)}, True).joining(
        5
    ),
    elements.MusclePath(max_force=800.0, optimal_length=0.1, tendon_length=0.2).joining(7),
    elements.PrescribedPose(y=0.1, rotation=("z", 0.3)),
    elements.PrescribedPose(x=lambda t: 0.1 * t, rotation=(None, 0.2, None)),
    elements.RollingBall(0.3, pivoting=False),
    elements.CamFollower(elements.Profile.circle(0.4), "flat", rolling=True),
]


@pytest.mark.parametrize("element", OF_ANY_SIZE, ids=lambda e: e.kind)
def test_every_size_comes_from_the_library(built, element):
    assert make_entry(element).way == "library"
    assert make_dual_entry(element).way == "library"
    if hasattr(element, "remember"):
        assert make_entry(element, "remember").way == "library"


@pytest.mark.parametrize("target", build.TARGETS)
@pytest.mark.parametrize("element", [*pieces.builtin_elements(), *OF_ANY_SIZE], ids=lambda e: e.kind)
def test_library_elements_equal_their_python(built, target, element):
    folder, manifest = built
    base = ctypes.CDLL(str(folder / build.file_name("base")))
    if target not in manifest["targets"] or (target == "v3" and not base.treemech_cpu_v3()):
        pytest.skip(f"no {target} here")
    opened = ctypes.CDLL(str(folder / build.file_name(target)))
    symbol = getattr(opened, f"treemech_{library_name(element)}")
    function = C_ELEMENT(ctypes.cast(symbol, ctypes.c_void_p).value)
    rng = np.random.default_rng(5)
    for _ in range(20):
        t = rng.uniform(-0.5, 2.0)
        a, b, out, wanted = python_call(element, t, rng)
        numbers, signals = record(element)
        for at, signal in signals:
            numbers[at : at + 3] = signal.at(t)
        assert function(*addresses((a, b)), t, address(numbers), address(out)) == 1
        allowed = AMPLIFIED.get(element.kind, FUSED)
        np.testing.assert_allclose(
            out[: len(wanted)], wanted, rtol=allowed, atol=allowed * (1.0 + np.abs(wanted).max())
        )


def python_call(element, t, rng):
    """Arguments for a C call of the element, and what its Python method makes of them."""
    if isinstance(element, Hinge):
        q, u = element.sample(rng), rng.normal(size=element.n_speeds)
        out = np.zeros(24 + 6 * element.n_speeds)
        motion_views(out, element.n_speeds).rotation[:] = np.eye(3)
        return q, u, out, np.concatenate([x.ravel() for x in element.motion(q, u, t)])
    if isinstance(element, Energetic) and "evaluate" in methods_of(element):
        a = element.sample(rng, t)
        n = element.n  # the loads, then their derivatives by the load of a hinge
        return a, a, np.zeros(n.load_size + 6 * (6 * n.ends + n.coordinates)), python_load(element, a, t)
    if isinstance(
        element, (Constraint, Coupling, Energetic)
    ):  # their rows need numba in any case: as it compiles them here
        if isinstance(element, Energetic):
            a = b = element.sample(rng, t)
            size = element.n.load_size
        elif isinstance(element, Constraint):
            offset, rotation, s = element.sample(rng, t)
            a = np.concatenate((offset, rotation.ravel(), rng.normal(size=6)))
            b = np.concatenate((s, rng.normal(size=len(s)), [0.0]))
            size = rows_size(element.n_rows, element.n_auxiliary)
        else:
            a, b = element.sample(rng, t), rng.normal(size=element.n_arguments)
            size = coupling_size(element.n_rows, element.n_arguments)
        numbers, signals = record(element)
        for at, signal in signals:
            numbers[at : at + 3] = signal.at(t)
        wanted = np.zeros(size)
        compiled = C_ELEMENT(compile_entry(element).address)
        assert compiled(address(a), address(b), t, address(numbers), address(wanted)) == 1
        return a, b, np.zeros(size), wanted
    if getattr(element, "is_signal", False):
        return np.zeros(1), np.zeros(1), np.zeros(3), np.array(element.at(t))
    pose, speed, wanted = rng.normal(size=12), rng.normal(size=6), np.zeros(6)
    end = EndMotion(pose[:3], pose[3:].reshape(3, 3), speed[:3], speed[3:])
    type(element).evaluate(python_self(element, t), end, t, EndLoad(wanted[:3], wanted[3:]))
    return pose, speed, np.zeros(6), wanted
