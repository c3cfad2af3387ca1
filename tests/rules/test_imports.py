"""Imports point one way: between the folders, and between the packages inside each folder."""

import ast

import pytest

from tests.support.source_files import FOLDERS, imported, modules, package_of, parsed, relative, sources

RANK = {name: rank for rank, name in enumerate(FOLDERS)}
# Files of the facade that run benchmarks when asked to: inside a function, since the facade stands below them
MAY_RUN_BENCHMARKS = (
    "treemech/__main__.py", "treemech/command.py", "treemech/comparison.py", "treemech/examples.py", "treemech/view/demo.py",
)  # fmt: skip

# Packages that count as one, with all below them
WHOLE = ("benchmarks/formulations", "benchmarks/problems")
# What the files of a package may import from other packages of the same folder when they are loaded
EDGES = {
    # elements: the contracts (elements/*.py) in the middle. Concrete elements know their contract and shared parts.
    "elements": (),
    "elements/native": (),
    "elements/dual": ("elements",),
    "elements/lanes": (),
    "elements/compilation": ("elements", "elements/dual", "elements/native", "elements/signals"),
    "elements/lane_forms": (
        "elements", "elements/dual", "elements/native", "elements/lanes", "elements/compilation",
    ),
    "elements/check": ("elements", "elements/compilation"),
    "elements/shared": ("elements",),
    "elements/signals": ("elements", "elements/shared"),
    "elements/hinges": ("elements", "elements/shared"),
    "elements/couplings": ("elements", "elements/shared"),
    "elements/constraints": ("elements", "elements/hinges", "elements/couplings", "elements/shared"),
    "elements/assembled": ("elements", "elements/hinges", "elements/compilation"),
    "elements/springs": ("elements", "elements/shared"),
    "elements/contact": ("elements", "elements/constraints", "elements/shared", "elements/signals"),
    "elements/actuators": ("elements", "elements/shared"),
    "elements/cords": ("elements", "elements/shared"),
    "elements/muscles": ("elements", "elements/cords", "elements/shared"),
    "elements/loads": ("elements", "elements/couplings", "elements/shared"),
    # kinematics, compiled: kernel <- plan <- tree <- chords; Python: plan <- layout <- the files above
    "kinematics/kernel": (),
    "kinematics/plan/columns": (),
    "kinematics/plan": ("kinematics/kernel", "kinematics/plan/columns"),
    "kinematics/tree": ("kinematics/kernel", "kinematics/plan", "kinematics/plan/columns"),
    "kinematics/chords": (
        "kinematics/kernel", "kinematics/plan", "kinematics/plan/columns", "kinematics/tree",
    ),
    "kinematics/layout": ("kinematics/plan", "kinematics/plan/columns"),
    "kinematics": ("kinematics/kernel", "kinematics/layout", "kinematics/plan", "kinematics/plan/columns"),
    # dynamics, compiled: equations <- loads <- derivatives, integrators <- entries
    "dynamics/equations": (),
    "dynamics/loads": ("dynamics/equations",),
    "dynamics/derivatives": ("dynamics/equations", "dynamics/loads"),
    "dynamics/integrators": ("dynamics/equations",),
    "dynamics/integrators/alpha": ("dynamics/equations", "dynamics/integrators"),
    "dynamics/entries": (
        "dynamics/equations", "dynamics/loads", "dynamics/derivatives", "dynamics/integrators",
        "dynamics/integrators/alpha",
    ),
    # dynamics, Python: native <- model <- simulation <- analyses; of compiled packages they take layouts only
    "dynamics/native": (),
    "dynamics/model": ("dynamics/native", "dynamics/equations", "dynamics/derivatives"),
    "dynamics/simulation": (
        "dynamics/native", "dynamics/model", "dynamics/equations", "dynamics/integrators",
        "dynamics/integrators/alpha",
    ),
    "dynamics/analyses": ("dynamics/native", "dynamics/model", "dynamics/equations", "dynamics/simulation"),
    "dynamics/calls": (
        "dynamics/native", "dynamics/model", "dynamics/equations", "dynamics/simulation", "dynamics/integrators",
    ),
    "dynamics": (),
    # treemech: results, description <- analyses <- assembly, simulation <- mechanism, system <- files, view, design
    "treemech/results": (),
    "treemech/description": ("treemech/results",),
    "treemech/authoring": (),
    "treemech/analyses": ("treemech/results", "treemech/description"),
    "treemech/assembly": ("treemech/results", "treemech/description", "treemech/analyses"),
    "treemech/inverse_kinematics": ("treemech/results", "treemech/analyses", "treemech/assembly"),
    "treemech/simulation": ("treemech/results", "treemech/description", "treemech/analyses"),
    "treemech/calls": ("treemech/results", "treemech/analyses"),
    "treemech": (
        "treemech/results", "treemech/description", "treemech/analyses", "treemech/calls", "treemech/assembly", "treemech/simulation",
        "treemech/commands",
    ),
    "treemech/files": (
        "treemech", "treemech/results", "treemech/description", "treemech/simulation", "treemech/authoring",
    ),
    "treemech/imports": ("treemech",),
    "treemech/plots": ("treemech/results", "treemech/description", "treemech/files"),
    "treemech/notebook": ("treemech/results", "treemech/description"),
    # view: meshes <- motion <- scene <- drawings; page, film
    "treemech/view/meshes": (),
    "treemech/view/motion": (),
    "treemech/view/scene": ("treemech/view/meshes", "treemech/view/motion"),
    "treemech/view/drawings": (
        "treemech/results", "treemech/view/meshes", "treemech/view/motion", "treemech/view/scene",
    ),
    "treemech/view/page": ("treemech/files", "treemech/view/scene"),
    "treemech/view/film": ("treemech/files", "treemech/view/meshes", "treemech/view/scene"),
    "treemech/view": (
        "treemech", "treemech/results", "treemech/analyses", "treemech/files", "treemech/plots", "treemech/view/meshes", "treemech/view/motion", "treemech/view/scene",
        "treemech/view/drawings", "treemech/view/page", "treemech/view/film",
    ),
    "treemech/view/live": (
        "treemech", "treemech/results", "treemech/view", "treemech/view/meshes", "treemech/view/motion", "treemech/view/scene",
        "treemech/view/drawings",
    ),
    "treemech/design": (
        "treemech", "treemech/results", "treemech/description", "treemech/analyses", "treemech/simulation",
        "treemech/files",
    ),
    "treemech/fitting": (
        "treemech", "treemech/results", "treemech/description", "treemech/analyses", "treemech/design", "treemech/plots", "treemech/files",
    ),
    # many: batches, and runs of studies
    "treemech/many/storage": ("treemech/files",),
    "treemech/many": (
        "treemech/many/storage",
        "treemech", "treemech/results", "treemech/description", "treemech/analyses", "treemech/simulation", "treemech/calls",
        "treemech/files", "treemech/design",
    ),
    "treemech/exports": ("treemech/results", "treemech/description", "treemech/files"),
    "treemech/bridges": (
        "treemech", "treemech/results", "treemech/description", "treemech/analyses", "treemech/design", "treemech/simulation",
    ),
    "treemech/trajectory": (
        "treemech", "treemech/results", "treemech/description", "treemech/analyses", "treemech/design", "treemech/plots",
    ),
    "treemech/commands": (),
    # benchmarks: problems <- families, peers, formulations <- runs
    "benchmarks": (),
    "benchmarks/problems": ("benchmarks",),
    "benchmarks/families": ("benchmarks", "benchmarks/problems"),
    "benchmarks/formulations": ("benchmarks",),
    "benchmarks/peers": ("benchmarks", "benchmarks/problems", "benchmarks/families"),
    "benchmarks/runs": (
        "benchmarks", "benchmarks/problems", "benchmarks/families", "benchmarks/formulations", "benchmarks/peers",
    ),
    "benchmarks/runs/many": ("benchmarks", "benchmarks/problems", "benchmarks/families", "benchmarks/peers", "benchmarks/runs"),
    "topology/deferred": (),
    "topology": ("topology/deferred",),
}  # fmt: skip
# Imports against the direction of EDGES, inside a function: what only some calls need
WHEN_CALLED = {
    # a contract compiles its element, a number becomes a signal
    "elements": ("elements/compilation", "elements/shared", "elements/signals"),
    "elements/native": ("elements/compilation",),  # how numba is made quicker, where it compiles
    "dynamics/native": ("dynamics/entries",),  # the jit and the build reach for the source
    # run.save, run.animate, run.plot; what notebooks show
    "treemech/results": (
        "treemech/files",
        "treemech/view",
        "treemech/view/drawings",
        "treemech/plots",
        "treemech/notebook",
    ),
    "treemech/notebook": ("treemech", "treemech/plots"),  # completion of names
    "treemech/fitting": ("treemech/notebook",),
    "treemech/design": ("treemech/notebook", "treemech/plots", "treemech/many"),
    "treemech/many": ("treemech/plots",),
    "treemech/description": ("treemech",),  # mechanisms by a refill
    "treemech/view/motion": ("treemech/results",),
    "treemech/analyses": ("treemech/design", "treemech/simulation", "treemech"),  # derivatives by parameters
    "treemech/files": (
        "treemech/imports",
        "treemech/many",
        "treemech/many/storage",
    ),  # robots of other programs, folders of runs
    "treemech/simulation": ("treemech/files", "treemech/design", "treemech"),  # checkpoints
    "treemech": (
        "treemech/bridges",
        "treemech/exports",
        "treemech/files",
        "treemech/inverse_kinematics",
        "treemech/view",
        "treemech/view/live",
        "treemech/plots",
        "treemech/notebook",
        "treemech/design",
        "treemech/many",
        "treemech/authoring",
    ),  # methods that delegate
    "treemech/commands": ("treemech", "treemech/view", "treemech/authoring", "treemech/files"),
    "benchmarks": ("benchmarks/runs",),  # the command line
}


# ---------------------------------------------------------------- between folders
@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_point_one_way_between_folders(folder):
    wrong = []
    for path in sources(folder):
        for line, name, kind in imported(path):
            parts = name.split(".")
            if parts[0] != "treemech" or len(parts) < 2:
                continue
            target = parts[1] if parts[1] in RANK else "treemech"
            lazily = kind == "function" and target == "benchmarks" and relative(path) in MAY_RUN_BENCHMARKS
            if RANK[target] > RANK[folder] and not lazily:
                wrong.append(f"{relative(path)}, line {line}: {name}")
    assert not wrong, f"{wrong}: imports point one way, {' <- '.join(FOLDERS)}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_relative_imports_stay_in_their_folder(folder):
    wrong = [
        f"{relative(path)}, line {node.lineno}"
        for path in sources(folder)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ImportFrom) and node.level > len(relative(path).split("/")) - 1
    ]
    assert not wrong, f"{wrong}: between folders write `from treemech.folder import name`"


def test_nothing_imports_a_folder_by_its_bare_name():
    wrong = [
        f"{relative(path)}, line {line}: {name}"
        for path in sources(*FOLDERS, "tests")
        for line, name, _ in imported(path)
        if name.split(".")[0] in FOLDERS and name.split(".")[0] != "treemech"
    ]
    assert not wrong, f"{wrong}: write treemech.folder"


# ---------------------------------------------------------------- inside a folder
def package(path):
    """Return the package of a file as the table names it."""
    folder = package_of(path)
    return next((whole for whole in WHOLE if folder == whole or folder.startswith(whole + "/")), folder)


def edges_inside(folder):
    """Yield (package, imported package, kind, place) of the imports between packages of one folder."""
    for path in sources(folder):
        for line, name, kind in imported(path):
            file = modules().get(name)
            if file is None or relative(file).split("/")[0] != folder:
                continue
            if package(path) != package(file):
                yield package(path), package(file), kind, f"{relative(path)}, line {line}: {name}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_packages_import_what_their_table_allows(folder):
    wrong = []
    for source, target, kind, place in edges_inside(folder):
        allowed = EDGES[source] if source in EDGES else ()
        if kind == "function":
            allowed = (*allowed, *WHEN_CALLED.get(source, ()))
        if kind != "types" and target not in allowed:
            wrong.append(f"{place} ({source} -> {target}, in a {kind})")
    assert not wrong, (
        f"{wrong}: move the file or the import; an edge that belongs there goes into EDGES "
        "(when the file is loaded) or WHEN_CALLED (inside a function) of tests/rules/test_imports.py"
    )


def test_every_package_is_in_the_table():
    packages = {package(path) for path in sources(*FOLDERS)}
    assert packages - set(EDGES) == set(), "give each new package a line in EDGES"


def test_the_table_has_no_cycle():
    left = {name: set(targets) for name, targets in EDGES.items()}
    while left:
        bottom = {name for name, targets in left.items() if not targets & set(left)}
        assert bottom, f"these packages import each other in a circle: {sorted(left)}"
        left = {name: targets for name, targets in left.items() if name not in bottom}
