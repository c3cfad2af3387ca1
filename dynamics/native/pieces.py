"""The pieces of the compiled core: what one source file exports, compiled and kept by itself.

A piece is named by its file. Its key is a hash of the code of all files that it is compiled from, so a piece
that was built before is found in the cache, whatever else has changed. The forms of elements for dual numbers
are pieces of their own; with the entry points of derivatives they make up a second library, of which nothing is
needed before somebody differentiates. Entry points on lanes are a third one, built last: without it many states
are computed one by one, with the same results.
"""

import ast
import hashlib
import json
import platform
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from treemech.elements.native.sources import code_hash, core_sources, root

# file -> entry points; the worker holds the list against dynamics.entries.table
ENTRIES_OF = {
    "dynamics/entries/tree.py": (
        "rhs", "forward_dynamics", "inverse_dynamics", "remember", "mass_matrix", "positions",
    ),
    "dynamics/integrators/runge_kutta.py": ("integrate", "loop_integrate"),
    "dynamics/entries/parts.py": (
        "general_hinge", "applied_loads", "composite", "reactions", "chord_element",
    ),
    "dynamics/entries/results.py": ("states", "elements", "trace"),
    "dynamics/entries/bodies.py": ("pose", "velocity", "end_jacobian", "energy", "momentum", "carry_chord_loads"),
    "dynamics/entries/reach.py": ("reach",),
    "dynamics/entries/drives.py": ("given_accelerations", "consistent", "drive_loads"),
    "dynamics/entries/loops.py": (
        "constraints", "loop_rhs", "loop_residual", "loop_project", "loop_switch", "loop_tangent", "loop_dynamics",
    ),
    "dynamics/integrators/alpha/loop.py": ("alpha_integrate",),
    "dynamics/integrators/radau.py": ("radau_integrate",),
    "dynamics/integrators/adams.py": ("adams_integrate",),
    "dynamics/entries/derivatives.py": (
        "derivatives", "row_derivatives", "jacobian", "loop_jacobian", "residual_jacobian", "chord_duals",
    ),
    "dynamics/entries/duals.py": ("dual_hinge", "dual_loads", "dual_composite", "dual_chord", "dual_equations"),
    "dynamics/entries/lanes.py": (
        "lane_forward_dynamics", "lane_inverse_dynamics", "lane_mass_matrix", "lane_pose", "lane_energy", "lane_hinge",
        "lane_loads", "lane_rhs", "varied_hinge", "varied_loads", "varied_rhs", "lane_rk4", "lane_integrate",
    ),
    "dynamics/entries/lane_loops.py": (
        "lane_chord", "lane_loop_rhs", "lane_loop_project", "lane_loop_dynamics", "lane_loop_rk4", "lane_loop_integrate",
    ),
}  # fmt: skip
_OF_DERIVATIVES = ("dynamics/entries/derivatives.py", "dynamics/entries/duals.py")
_OF_LANES = ("dynamics/entries/lanes.py", "dynamics/entries/lane_loops.py")
# What the first simulations need: of open and closed chains, of the demonstration
_OF_A_FIRST_RUN = (
    "dynamics/entries/tree.py", "dynamics/entries/loops.py", "dynamics/entries/parts.py", "dynamics/entries/results.py",
    "dynamics/entries/bodies.py", "dynamics/integrators/runge_kutta.py", "dynamics/integrators/radau.py",
)  # fmt: skip
_ELEMENTS_OF_A_FIRST_RUN = (
    "elements/hinges/", "elements/signals/", "elements/loads/force.py", "elements/springs/spring.py",
    "elements/constraints/point.py", "elements/constraints/curve_contact.py", "elements/contact/journal_bearing.py",
    "elements/contact/ehd_traction.py",
)  # fmt: skip
# Elements by jets whose forms for lanes are worth a second of the build; with all of them lanes would take half as long again
_JETS_ON_LANES = (
    "Distance", "InPlane", "InLine", "Parallel", "Perpendicular", "AtRotation", "RelativeAngle", "RelativeOffset", "PointOnSurface",
    "KnifeEdge", "ConstantVelocity", "Gear", "RackAndPinion", "Belt", "Differential", "Mimic", "Bushing",
)  # fmt: skip
# How far a library was built; each stage contains those before it
STAGES = ("first", "core", "derivatives", "all")
STAGE_OF_PART = {"dual": "derivatives", "lanes": "all"}  # forms of elements for other numbers
# What every element is compiled with, besides its own file
_COMPILER = (
    "elements/compilation/numba_side.py",
    "elements/compilation/source.py",
    "elements/compilation/entry.py",
)
_LANE_COMPILER = tuple(f"elements/lane_forms/{n}.py" for n in ("entry", "numba_side", "jets"))
_LOWERING = tuple(f"elements/compilation/{n}.py" for n in ("lowering", "llvm_text", "machine", "quicker"))


class Piece(NamedTuple):
    """What one file exports to the library."""

    name: str
    file: str
    stage: str
    entries: tuple[str, ...]
    elements: dict[str, list[str]]  # name -> kinds of its parameters
    key: str  # hash of all that it is compiled from

    @property
    def exported(self) -> tuple[str, ...]:
        return (*self.entries, *self.elements)

    @property
    def family(self) -> str:
        """Return which pieces share helper functions with this one."""
        of = "" if self.library == "core" else f" of {self.library}"
        return ("entries" if self.entries else "elements") + of

    @property
    def library(self) -> str:
        """Return the name of the library that holds the piece."""
        return {"derivatives": "derivatives", "all": "lanes"}.get(self.stage, "core")


def builtin_elements() -> list[Any]:
    """Return one example of every form of the built-in elements, except those that hold an author's function.

    The compiled method depends on the class, on the kinds of the parameters and on counts, not on numbers. A class
    whose instances differ in their counts has `examples()`, one of each, or finds the counts in its record.
    """
    from treemech import elements as e
    from treemech.elements.compilation.methods import form_of
    from treemech.elements.element import example_of

    groups = (e.HINGES, e.SIGNALS, e.LOADS, e.CONSTRAINTS, e.COUPLINGS, e.ASSEMBLED, e.ENERGETIC)
    classes = [cls for group in groups for cls in group]
    several = [element for cls in classes if hasattr(cls, "examples") for element in cls.examples()]
    one = [example_of(cls) for cls in classes if not hasattr(cls, "examples")]
    many_ends = [example_of(cls).joining(2) for cls in (e.Path, e.MusclePath)]
    return [*(x for x in one if form_of(x) == form_of(type(x))), *several, *many_ends]


def file_of(element: Any) -> str:
    """Return the source file of an element, relative to the root."""
    return "/".join(type(element).__module__.split(".")[1:]) + ".py"


def element_parts() -> list[tuple[str, Any, str]]:
    """Return (exported name, element, part) of everything to compile for the elements."""
    from treemech.elements.compilation.entry import library_name
    from treemech.elements.compilation.methods import DUAL_PART
    from treemech.elements.lane_forms.entry import LANE_PART

    built = builtin_elements()
    parts = [(e, part) for part in ("", DUAL_PART) for e in built]
    parts += [(e, "remember") for e in built if hasattr(type(e), "remember")]
    parts += [(e, LANE_PART) for e in built if built_for_lanes(e)]
    return [(library_name(e, part), e, part) for e, part in parts]


def built_for_lanes(element: Any) -> bool:
    """Tell whether the library has the form of a built-in element for lanes; others are called lane by lane."""
    from treemech.elements.compilation.methods import methods_of
    from treemech.elements.lane_forms.entry import may_go_on_lanes

    plain = set(methods_of(element)) in ({"evaluate"}, {"effort"})
    return may_go_on_lanes(element) and (plain or type(element).__name__ in _JETS_ON_LANES)


def piece_of(element: Any, part: str) -> str:
    """Return the name of the piece that holds a part of an element: its file, and the numbers it is compiled for."""
    return file_of(element).removesuffix(".py") + (f"+{part}" if part in STAGE_OF_PART else "")


def pieces(stage: str = "all") -> list[Piece]:
    """Return the pieces up to a stage, those that are needed first at the front."""
    from treemech.elements.element import kinds

    found = []
    for file, entries in ENTRIES_OF.items():
        of = "first" if file in _OF_A_FIRST_RUN else "core"
        of = "derivatives" if file in _OF_DERIVATIVES else "all" if file in _OF_LANES else of
        found.append(Piece(file.removesuffix(".py"), file, of, entries, {}, key_of((file,), entries)))
    elements: dict[str, dict[str, list[str]]] = {}
    for name, element, part in element_parts():
        elements.setdefault(piece_of(element, part), {})[name] = list(kinds(element))
    for name, named in elements.items():
        file, _, part = name.partition("+")
        file += ".py"
        of = "first" if file.startswith(_ELEMENTS_OF_A_FIRST_RUN) else "core"
        of = STAGE_OF_PART.get(part, of)
        more = _LANE_COMPILER if of == "all" else ()
        key = key_of((file, *_COMPILER, *more), [f"{n} {k}" for n, k in named.items()])
        found.append(Piece(name, file, of, (), named, key))
    wanted = STAGES[: STAGES.index(stage) + 1]
    return sorted((p for p in found if p.stage in wanted), key=lambda p: STAGES.index(p.stage))


# ---------------------------------------------------------------- keys
def key_of(files: Iterable[str], exported: Iterable[str]) -> str:
    """Return the key of what some files export: a hash of all that it is compiled from."""
    h = hashlib.sha256("\n".join((_tools(), *exported)).encode())
    for name in sorted(closure((*files, *_LOWERING))):
        h.update(f"{name} {_code(name)}\n".encode())
    return h.hexdigest()[:20]


@cache
def _tools() -> str:
    """Return what compiles: the builder itself, numba, LLVM, Python, the kind of machine."""
    worker = code_hash([("worker", Path(__file__).with_name("worker.py").read_text(encoding="utf-8"))])
    tools = [f"{name} {version(name)}" for name in ("numba", "llvmlite")]
    return json.dumps([worker, *tools, sys.version_info[:2], sysconfig.get_platform(), platform.machine()])


def closure(files: Iterable[str]) -> set[str]:
    """Return the files of the core that these files need: what they import, however deep."""
    found: set[str] = set()
    todo = list(files)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += _imported(name)
    return found


@cache
def _core_names() -> frozenset[str]:
    return frozenset(path.relative_to(root()).as_posix() for path in core_sources())


@cache
def _text(name: str) -> str:
    return (root() / name).read_text(encoding="utf-8")


@cache
def _code(name: str) -> str:
    return code_hash([(name, _text(name))])


@cache
def _imported(name: str) -> tuple[str, ...]:
    """Return the files of the core that a file imports, anywhere in it."""
    folder, found = name.split("/")[:-1], list[str]()
    for node in ast.walk(ast.parse(_text(name))):
        if isinstance(node, ast.Import):
            modules = [(alias.name.split("."), list[str]()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            before = ["treemech", *folder[: len(folder) - node.level + 1]] if node.level else []
            modules = [([*before, *(node.module or "").split(".")], [alias.name for alias in node.names])]
        else:
            continue
        for module, names in modules:
            if module[0] == "treemech":
                path = "/".join(part for part in module[1:] if part)
                found += [f"{path}.py", f"{path}/__init__.py", *(f"{path}/{n}.py" for n in names)]
    return tuple(f for f in found if f in _core_names())
